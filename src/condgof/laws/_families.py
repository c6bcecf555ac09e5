"""Closed forms of a continuous y: the Gaussian, mixtures of Gaussians, and families on any interval."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, InputTypeError, ShapeError, UnsupportedModelError
from condgof.laws._law import TINY, Law, as_rows, check_levels, log_tail_scores
from condgof.laws._parameters import (
    Array,
    ContinuousFamily,
    Independent,
    Values,
    check_positive,
    family,
)

LOG_2PI = float(np.log(2.0 * np.pi))


def mean_distance(z: FloatArray) -> FloatArray:
    """Return E|z + Z| for a standard normal Z."""
    return np.asarray(
        z * (2.0 * special.ndtr(z) - 1.0) + np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)
    )


def log_of(tail: AnyArray) -> FloatArray:
    """Return the log of a probability; one that rounds to 0 is taken as the smallest number."""
    return np.asarray(np.log(np.maximum(tail, TINY)))


@family
class Normal(ContinuousFamily):
    """Gaussian model y | x ~ N(mean(x), std(x)²), or N(mean(x), cov(x)).

    Parameters
    ----------
    mean : number, array (n,) or (n, d_y), or function of x
        Arrays have one row for each observation (or one row for all); a function returns
        such an array.
    std : as `mean`, optional
        Standard deviation of each coordinate (they are independent).
    cov : array (d_y, d_y) or (n, d_y, d_y), or function of x, optional
        Covariance matrix in place of `std`.

    Examples
    --------
    >>> Normal(mean=lambda x: 2 * x, std=0.5)(np.array([0.5, 1.0])).score(np.array([1.5, 2.5]))[:, 0]
    array([-2., -2.])
    """

    mean: Any
    std: Any = None
    cov: Any = field(default=None, kw_only=True)

    EITHER = ("std", "cov")
    PLAIN: ClassVar = {"cov": 2}

    def _placed(self, n: int, d_y: int) -> tuple[FloatArray, FloatArray]:
        """Return the mean and std (n, d_y), or the Cholesky factors of cov (n, d_y, d_y), checked."""
        mean = np.array(self.mean.values(n, (d_y,)))
        if self.cov is None:
            return mean, np.array(check_positive(self.std.values(n, (d_y,)), "std"))
        if self.cov.value.ndim == 0:
            raise ShapeError(
                "cov must be a matrix, got a number. Pass std= for equal variances."
            )
        cov = self.cov.values(n, (d_y, d_y))
        skew = np.abs(cov - cov.transpose(0, 2, 1)).max(axis=(1, 2))
        bad = np.flatnonzero(skew > 1e-8 * np.abs(cov).max(axis=(1, 2)))
        if len(bad):
            raise InputError(f"cov is not symmetric, first in row {bad[0]}.")
        try:
            return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError("cov is not positive definite in some row.") from error

    def _residual(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return standardised residuals z and the scale: std (n, d) or a Cholesky factor."""
        y = as_rows(y)
        mean, scale = self._placed(self._size(y), y.shape[1])
        return (y - mean) / scale if self.cov is None else _solve(scale, y - mean), scale

    def score(self, y: AnyArray) -> FloatArray:
        """Return −Σ⁻¹(y − mean), (n, d_y)."""
        z, scale = self._residual(y)
        return -z / scale if self.cov is None else -_solve(scale.transpose(0, 2, 1), z)

    def log_prob(self, y: AnyArray) -> FloatArray:
        z, scale = self._residual(y)
        diagonal = scale if self.cov is None else np.diagonal(scale, axis1=1, axis2=2)
        return np.asarray(
            -0.5 * (z * z + LOG_2PI).sum(axis=1) - np.log(diagonal).sum(axis=1)
        )

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        mean, std = self._moments(self._size(y), 1)
        z = (y - mean) / std
        return np.asarray(special.ndtr(-z if upper else z))

    def crps(self, y: AnyArray) -> FloatArray:
        z = self.normal_scores(self._columns(y))
        std = self._moments(len(z), 1)[1]
        return np.asarray(std * (mean_distance(z) - 1.0 / np.sqrt(np.pi)))[:, 0]

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._residual(y)[0]

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = as_rows(y)
        mean, std = self._moments(self._size(y), y.shape[1])
        u = (y - mean) / std
        return u, 1.0 / std, -u / std

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return self._placed(self._size(), self._d_y)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        mean, scale = self.location_scale()
        z = rng.standard_normal(mean.shape)
        return np.asarray(
            mean + (scale * z if self.cov is None else (scale @ z[:, :, None])[:, :, 0])
        )

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        return self._moments(self._size(), self._d_y)

    def _moments(self, n: int, d_y: int) -> tuple[FloatArray, FloatArray]:
        mean, scale = self._placed(n, d_y)
        if self.cov is not None:
            scale = np.sqrt(np.diagonal(self.cov.values(n, (d_y, d_y)), axis1=1, axis2=2))
        return mean, scale

    def quantile(self, levels: object) -> FloatArray:
        mean, std = self._moments(self._size(), 1)
        return mean + std * np.asarray(special.ndtri(check_levels(levels)))


def _solve(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(
        np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=np.float64
    )


def normal(mean: Any, std: Any = None, *, cov: Any = None) -> Normal:
    """Gaussian law from arrays of predictions, one row for each observation.

    Parameters
    ----------
    mean, std : array_like of shape (n,) or (n, d_y), or float
        Predicted means and standard deviations.
    cov : array_like of shape (n, d_y, d_y), optional
        Predicted covariance matrices, in place of `std`.

    Examples
    --------
    >>> normal(mean=[0.0, 1.0], std=[1.0, 2.0]).cdf(np.array([0.0, 1.0]))
    array([0.5, 0.5])
    """
    law = Normal(mean, std, cov=cov)
    if law.rows is None and not law._callable and np.ndim(mean) == 0:
        advice = (
            "Pass arrays of n rows, or use condgof.models.Normal for the same law at"
            " every x."
        )
        raise InputTypeError(
            f"mean and std are single numbers, which say nothing of rows. {advice}"
        )
    return law


class Parts(NamedTuple):
    """Weights (n, C), means and standard deviations (n, C, d_y) of one mixture a row."""

    weights: FloatArray
    means: FloatArray
    stds: FloatArray


@family
class NormalMixture(ContinuousFamily):
    """Mixture of C Gaussians, p(y|x) = Σ_c π_c(x) N(y; mean_c(x), diag std_c(x)²).

    Parameters
    ----------
    weights : array (C,) or (n, C), or function of x
        Mixing weights, which sum to 1.
    means : array (C,), (n, C) or (n, C, d_y), or function of x
        Component means: (C,) for the same at all rows and one column of y.
    stds : number, or as `means`
        Component standard deviations.

    Examples
    --------
    >>> model = NormalMixture(weights=[0.5, 0.5], means=[-1.0, 1.0], stds=1.0)
    >>> model.score(np.array([0.0]))
    array([[0.]])
    """

    weights: Any
    means: Any
    stds: Any

    PLAIN: ClassVar = {"weights": 1, "means": 1, "stds": 1}

    def parts(self, n: int | None = None, d_y: int | None = None) -> Parts:
        n, d_y = self._size() if n is None else n, self._d_y if d_y is None else d_y
        components = self.weights.width
        if components is None:
            raise InputError("weights must have one number for each component.")
        weights = self.weights.values(n, (components,))
        sums = weights.sum(axis=1, keepdims=True)
        if (weights < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise InputError("weights must not be negative and must sum to 1 in every row.")
        means = self.means.values(n, (components, d_y))
        stds = check_positive(self.stds.values(n, (components, d_y)), "stds")
        return Parts(weights / sums, means, stds)

    @property
    def _d_y(self) -> int:
        shapes = (parameter.value.shape for parameter in (self.means, self.stds))
        return next((shape[-1] for shape in shapes if len(shape) == 3), 1)

    def _placed(self, y: AnyArray) -> tuple[FloatArray, Parts]:
        """Return residuals z of y (n, C, d_y) and the parts."""
        y = as_rows(y)
        parts = self.parts(self._size(y), y.shape[1])
        return (y[:, None, :] - parts.means) / parts.stds, parts

    def _log_joint(self, y: AnyArray) -> tuple[FloatArray, FloatArray, Parts]:
        """Return log π_c N_c (n, C), residuals z (n, C, d_y) and the parts."""
        z, parts = self._placed(y)
        log_density = -(0.5 * (z * z + LOG_2PI) + np.log(parts.stds)).sum(axis=2)
        return safe_log(parts.weights) + log_density, z, parts

    def score(self, y: AnyArray) -> FloatArray:
        """Return Σ_c r_c(y) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
        log_joint, z, parts = self._log_joint(y)
        share = special.softmax(log_joint, axis=1)
        return np.asarray(np.einsum("nc,ncd->nd", share, -z / parts.stds))

    def log_prob(self, y: AnyArray) -> FloatArray:
        return np.asarray(np.logaddexp.reduce(self._log_joint(y)[0], axis=1))

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        weights, means, stds = self.parts(self._size(y), 1)
        z = (y[:, None, :] - means) / stds
        return np.asarray(
            (weights[:, :, None] * special.ndtr(-z if upper else z)).sum(axis=1)
        )

    def crps(self, y: AnyArray) -> FloatArray:
        """Return Σ_c w_c A(y − m_c, s_c) − ½ Σ_cd w_c w_d A(m_c − m_d, √(s_c² + s_d²)), A: E|m + sZ|."""
        z, (weights, means, stds) = self._placed(self._columns(y))
        m, s = means[:, :, 0], stds[:, :, 0]
        out = (weights * s * mean_distance(z[:, :, 0])).sum(axis=1)
        for c in range(weights.shape[1]):
            apart = np.hypot(s, s[:, [c]])
            pairs = weights * apart * mean_distance((m - m[:, [c]]) / apart)
            out -= 0.5 * weights[:, c] * pairs.sum(axis=1)
        return np.asarray(out)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        z, parts = self._placed(y)
        log_weights, u = safe_log(parts.weights), np.empty((len(z), z.shape[2]))
        # Given the coordinates before it, a coordinate is again a mixture: its weights are
        # multiplied by the components' densities of those coordinates.
        for k in range(z.shape[2]):
            u[:, k] = _scores(log_weights, z[:, :, k])
            log_weights = log_weights - 0.5 * z[:, :, k] ** 2 - np.log(parts.stds[:, :, k])
            log_weights -= special.logsumexp(log_weights, axis=1, keepdims=True)
        return u

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z, parts = self._placed(y)
        log_weights = safe_log(parts.weights)[:, :, None]
        u = _scores(log_weights, z)
        log_joint = log_weights - 0.5 * (z * z + LOG_2PI) - np.log(parts.stds)
        log_density = special.logsumexp(log_joint, axis=1)
        share = np.exp(log_joint - log_density[:, None, :])
        slope = np.exp(log_density + 0.5 * (u * u + LOG_2PI))
        return u, slope, (share * (-z / parts.stds)).sum(axis=1)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, cov = self.mean_cov()
        return mean, np.sqrt(np.diagonal(cov, axis1=1, axis2=2))

    def mean_cov(self) -> tuple[FloatArray, FloatArray]:
        weights, means, stds = self.parts()
        mean = np.einsum("nc,ncd->nd", weights, means)
        apart, diagonal = means - mean[:, None, :], np.arange(mean.shape[1])
        cov = np.einsum("nc,nci,ncj->nij", weights, apart, apart)
        cov[:, diagonal, diagonal] += np.einsum("nc,nci->ni", weights, stds**2)
        return mean, cov

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        if self._d_y == 1:
            return self.mean_std()
        mean, cov = self.mean_cov()
        return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self.turned(
            rng.random((self._size(), 1)), rng.standard_normal((self._size(), self._d_y))
        )

    def turned(self, uniform: FloatArray, normal: FloatArray) -> FloatArray:
        """Turn uniform (n, 1) and standard normal (n, d_y) numbers into one draw a row, (n, d_y)."""
        weights, means, stds = self.parts()
        chosen = (uniform > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows = np.arange(len(weights))
        return np.asarray(means[rows, chosen] + stds[rows, chosen] * normal)


def safe_log(weights: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # a weight of 0 is a component that is not there
        return np.log(weights)


def _scores(log_weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return normal scores of mixtures, whose components are along the second axis."""
    tails = (
        special.logsumexp(log_weights + special.log_ndtr(part), axis=1) for part in (z, -z)
    )
    return log_tail_scores(*tails)


class _Positive(Independent):
    """A family on (loc, ∞); `loc` is the last of its parameters."""

    FORMS = f"{Independent.FORMS} The support begins at `loc`."
    #: The method of a generator that draws y − loc, given the other parameters.
    DRAW: ClassVar[str]

    def _draw(self, rng: np.random.Generator, *p: Array) -> Array:
        return np.asarray(p[-1] + getattr(rng, self.DRAW)(*p[:-1]))

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[-1], np.array(np.inf)


@family
class Gamma(_Positive):
    """Gamma model: y − loc has density t^(shape−1) exp(−t/scale) / (Γ(shape) scale^shape) for t > 0.

    Examples
    --------
    >>> Gamma(shape=3.0, scale=lambda x: x)(np.array([2.0, 4.0])).score(np.array([1.0, 2.0]))[:, 0]
    array([1.5 , 0.75])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    EITHER, DRAW = ("scale", "rate"), "gamma"

    def _density(
        self, y: Array, shape: Array, scale: Array, loc: Array
    ) -> tuple[Array, Array]:
        z = (y - loc) / scale
        log_density = (
            special.xlogy(shape - 1.0, z) - z - special.gammaln(shape) - np.log(scale)
        )
        return log_density, (shape - 1.0) / (y - loc) - 1.0 / scale

    def _log_tails(
        self, y: Array, shape: Array, scale: Array, loc: Array
    ) -> tuple[Array, Array]:
        z = (y - loc) / scale
        return log_of(special.gammainc(shape, z)), log_of(special.gammaincc(shape, z))

    def _moments(self, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        return loc + shape * scale, np.sqrt(shape) * scale

    def _crps(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        this, other = (
            2.0 * special.gammainc(shape + k, np.maximum(z, 0.0)) - 1.0 for k in (0.0, 1.0)
        )
        return np.asarray(
            scale * (z * this - shape * other - np.exp(-special.betaln(0.5, shape)))
        )


@family
class Weibull(_Positive):
    """Weibull model: P(y > t|x) = exp(−((t − loc)/scale)^shape) for t > loc.

    Examples
    --------
    >>> Weibull(shape=2.0, scale=lambda x: x)(np.array([2.0, 4.0])).sf(np.array([2.0, 0.0])).round(4)
    array([0.3679, 1.    ])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    EITHER = ("scale", "rate")

    def _draw(self, rng: np.random.Generator, *p: Array) -> Array:
        shape, scale, loc = p
        return np.asarray(loc + scale * rng.weibull(shape))

    def _density(
        self, y: Array, shape: Array, scale: Array, loc: Array
    ) -> tuple[Array, Array]:
        z = (y - loc) / scale
        log_density = np.log(shape / scale) + special.xlogy(shape - 1.0, z) - z**shape
        return log_density, (shape - 1.0 - shape * z**shape) / (y - loc)

    def _log_tails(
        self, y: Array, shape: Array, scale: Array, loc: Array
    ) -> tuple[Array, Array]:
        hazard = ((y - loc) / scale) ** shape
        return log_of(-np.expm1(-hazard)), -hazard

    def _moments(self, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        first, second = (
            special.gammaln(1.0 + 1.0 / shape),
            special.gammaln(1.0 + 2.0 / shape),
        )
        return loc + scale * np.exp(first), scale * np.sqrt(
            np.exp(second) - np.exp(2.0 * first)
        )


@family
class Exponential(Weibull):
    """Exponential model, p(y|x) = exp(−(y − loc)/scale) / scale for y > loc: a Weibull of shape 1.

    Examples
    --------
    >>> Exponential(scale=lambda x: x)(np.array([2.0, 4.0])).score(np.array([1.0, 3.0]))[:, 0]
    array([-0.5 , -0.25])
    """

    # By a factory, which keeps its place among the parameters.
    shape: Any = field(default_factory=lambda: 1.0, init=False, repr=False)

    def _crps(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray(scale * (np.abs(z) + 2.0 * np.expm1(-np.maximum(z, 0.0)) + 0.5))


@family
class LogNormal(_Positive):
    """Log-normal model: log(y − loc) given x is N(mu(x), sigma(x)²).

    Examples
    --------
    >>> LogNormal(mu=lambda x: x, sigma=1.0)(np.array([2.0])).normal_scores(np.array([1.0]))
    array([[-2.]])
    """

    mu: Any = 0.0
    sigma: Any = 1.0
    loc: Any = 0.0

    DRAW = "lognormal"

    def _density(
        self, y: Array, mu: Array, sigma: Array, loc: Array
    ) -> tuple[Array, Array]:
        log = np.log(y - loc)
        z = (log - mu) / sigma
        log_density = -0.5 * (z * z + LOG_2PI) - np.log(sigma) - log
        return log_density, -(1.0 + (log - mu) / sigma**2) / (y - loc)

    def _log_tails(
        self, y: Array, mu: Array, sigma: Array, loc: Array
    ) -> tuple[Array, Array]:
        z = (np.log(y - loc) - mu) / sigma
        return np.asarray(special.log_ndtr(z)), np.asarray(special.log_ndtr(-z))

    def _moments(self, mu: Array, sigma: Array, loc: Array) -> tuple[Array, Array]:
        mean = np.exp(mu + 0.5 * sigma**2)
        return loc + mean, mean * np.sqrt(np.expm1(sigma**2))

    def _crps(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        z = (np.log(np.maximum(y - loc, 0.0)) - mu) / sigma
        inner = special.ndtr(z - sigma) - special.ndtr(-sigma / np.sqrt(2.0))
        mean = np.exp(mu + 0.5 * sigma**2)
        return np.asarray((y - loc) * (2.0 * special.ndtr(z) - 1.0) - 2.0 * mean * inner)

    def location_scale(self) -> tuple[Array, Array]:
        mu, sigma, loc = self._at(self._size(), self._d_y)
        return loc + np.exp(mu), sigma * np.exp(mu)


@family
class InverseGaussian(_Positive):
    """Inverse Gaussian model: t = y − loc > 0 has density √(shape/2πt³) exp(−shape (t/mean − 1)²/(2t)).

    `mean` is that of y − loc, and mean³/shape its variance.

    Examples
    --------
    >>> InverseGaussian(mean=1.0, shape=2.0).score(np.array([1.0, 2.0]))[:, 0]
    array([-1.5, -1.5])
    """

    mean: Any
    shape: Any = 1.0
    loc: Any = 0.0

    DRAW = "wald"

    def _density(
        self, y: Array, mean: Array, shape: Array, loc: Array
    ) -> tuple[Array, Array]:
        t = y - loc
        squared = shape * (t - mean) ** 2 / (mean**2 * t)
        log_density = 0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(t) - squared)
        return log_density, -1.5 / t - 0.5 * shape / mean**2 + 0.5 * shape / t**2

    def _log_tails(
        self, y: Array, mean: Array, shape: Array, loc: Array
    ) -> tuple[Array, Array]:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = √(shape/t) (±t/mean − 1), t = y − loc."""
        t = y - loc
        root = np.sqrt(shape / t)
        a, b = root * (t / mean - 1.0), -root * (t / mean + 1.0)
        first, second = special.log_ndtr(-a), 2.0 * shape / mean + special.log_ndtr(b)
        # The upper tail is a difference: e^second is below e^first, and both may be tiny.
        gap = np.minimum(second - first, -np.finfo(np.float64).eps)
        return np.minimum(np.logaddexp(special.log_ndtr(a), second), 0.0), first + np.log(
            -np.expm1(gap)
        )

    def _moments(self, mean: Array, shape: Array, loc: Array) -> tuple[Array, Array]:
        return loc + mean, np.sqrt(mean**3 / shape)


@family
class Beta(Independent):
    """Beta model: v = (y − low)/(high − low) has density v^(a−1) (1−v)^(b−1) / B(a, b) on (0, 1).

    Examples
    --------
    >>> Beta(a=2.0, b=lambda x: x)(np.array([1.0])).score(np.array([0.5]))
    array([[2.]])
    """

    a: Any
    b: Any
    low: Any = 0.0
    high: Any = 1.0

    def _at(self, n: int, d_y: int) -> Values:
        *shapes, low, high = super()._at(n, d_y)
        check_positive(high - low, "high − low")
        return *shapes, low, high

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[-2], p[-1]

    def _density(
        self, y: Array, a: Array, b: Array, low: Array, high: Array
    ) -> tuple[Array, Array]:
        width = high - low
        powers = special.xlogy(a - 1.0, (y - low) / width) + special.xlogy(
            b - 1.0, (high - y) / width
        )
        log_density = powers - special.betaln(a, b) - np.log(width)
        return log_density, (a - 1.0) / (y - low) - (b - 1.0) / (high - y)

    def _log_tails(
        self, y: Array, a: Array, b: Array, low: Array, high: Array
    ) -> tuple[Array, Array]:
        below, above = (y - low) / (high - low), (high - y) / (high - low)
        return log_of(special.betainc(a, b, below)), log_of(special.betainc(b, a, above))

    def _draw(
        self, rng: np.random.Generator, a: Array, b: Array, low: Array, high: Array
    ) -> Array:
        return low + (high - low) * rng.beta(a, b)

    def _moments(self, a: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array]:
        width, share = high - low, a / (a + b)
        return low + width * share, width * np.sqrt(share * (b / (a + b)) / (a + b + 1.0))

    def _crps(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        v = (y - low) / (high - low)
        this, other = (
            2.0 * special.betainc(a + k, b, np.clip(v, 0.0, 1.0)) - 1.0 for k in (0.0, 1.0)
        )
        apart = (
            2.0 * np.exp(special.betaln(2.0 * a, 2.0 * b) - 2.0 * special.betaln(a, b)) / a
        )
        return np.asarray((high - low) * (v * this - a / (a + b) * (other + apart)))


@family
class Uniform(Beta):
    """Uniform model on (low(x), high(x)): a Beta of shapes 1 and 1.

    Its score is 0; the Stein tests see it on the logit scale, where it is that of a
    logistic density.

    Examples
    --------
    >>> Uniform(low=lambda x: x, high=lambda x: x + 2)(np.array([0.0, 0.5])).cdf(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """

    a: Any = field(default_factory=lambda: 1.0, init=False, repr=False)
    b: Any = field(default_factory=lambda: 1.0, init=False, repr=False)

    def _draw(
        self, rng: np.random.Generator, a: Array, b: Array, low: Array, high: Array
    ) -> Array:
        return rng.uniform(low, high)


@family
class StudentT(Independent):
    """Student-t model: (y − loc(x)) / scale(x) has a t distribution with df(x) degrees of freedom.

    Examples
    --------
    >>> StudentT(df=3, loc=lambda x: x, scale=1.0)(np.array([0.0])).score(np.array([1.0]))
    array([[-1.]])
    """

    df: Any
    loc: Any = 0.0
    scale: Any = 1.0

    def _density(
        self, y: Array, df: Array, loc: Array, scale: Array
    ) -> tuple[Array, Array]:
        z = (y - loc) / scale
        constant = (
            special.gammaln(0.5 * (df + 1))
            - special.gammaln(0.5 * df)
            - 0.5 * np.log(df * np.pi)
        )
        log_density = constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df)
        return log_density, -(df + 1.0) * z / ((df + z * z) * scale)

    def _log_tails(
        self, y: Array, df: Array, loc: Array, scale: Array
    ) -> tuple[Array, Array]:
        z = (y - loc) / scale
        return log_of(special.stdtr(df, z)), log_of(special.stdtr(df, -z))

    def _draw(self, rng: np.random.Generator, df: Array, loc: Array, scale: Array) -> Array:
        return loc + scale * rng.standard_t(df)

    def _moments(self, df: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
        if not (df > 2).all():
            raise UnsupportedModelError("A t distribution has a variance only for df > 2.")
        return loc, scale * np.sqrt(df / (df - 2.0))

    def location_scale(self) -> tuple[Array, Array]:
        _, loc, scale = self._at(self._size(), self._d_y)
        return np.array(loc), np.array(scale)

    def crps(self, y: AnyArray) -> Array:
        # With df ≤ 1 there is no mean, and the closed form is ∞ − ∞ though the score is
        # finite.
        has_mean = bool((self._at(self._size(as_rows(y)), self._d_y)[0] > 1.0).all())
        return super().crps(y) if has_mean else Law.crps(self, y)

    def _crps(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        density = np.exp(self._log_density(z, df, np.zeros(1), np.ones(1)))
        apart = np.sqrt(df) * np.exp(
            special.betaln(0.5, df - 0.5) - 2.0 * special.betaln(0.5, 0.5 * df)
        )
        tails = 2.0 * (density * (df + z * z) - apart) / (df - 1.0)
        return np.asarray(scale * (z * (2.0 * special.stdtr(df, z) - 1.0) + tails))


@family
class Laplace(Independent):
    """Laplace model, p(y|x) = exp(−|y − loc(x)| / scale(x)) / (2 scale(x)).

    Examples
    --------
    >>> Laplace(loc=lambda x: x, scale=2.0)(np.array([0.0, 3.0])).score(np.array([1.0, 0.0]))[:, 0]
    array([-0.5,  0.5])
    """

    loc: Any = 0.0
    scale: Any = 1.0

    def _density(self, y: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
        return -np.abs(y - loc) / scale - np.log(2.0 * scale), -np.sign(y - loc) / scale

    def _log_tails(self, y: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
        z = (y - loc) / scale
        small, large = np.log(0.5) - np.abs(z), np.log1p(-0.5 * np.exp(-np.abs(z)))
        return np.where(z < 0, small, large), np.where(z < 0, large, small)

    def _draw(self, rng: np.random.Generator, loc: Array, scale: Array) -> Array:
        return rng.laplace(loc, scale)

    def _moments(self, loc: Array, scale: Array) -> tuple[Array, Array]:
        return loc, np.sqrt(2.0) * scale

    def _crps(self, y: Array, loc: Array, scale: Array) -> Array:
        z = np.abs(y - loc) / scale
        return np.asarray(scale * (z + np.exp(-z) - 0.75))
