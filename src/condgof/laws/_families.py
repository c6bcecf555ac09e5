"""Closed forms of a continuous y: Gaussians, their mixtures, families on any interval.

A family is a class; its formulas are methods that get y and the parameters, (n, d_y) each:
`_log_density`, `_score`, `_log_tails`, `_draw`, `_moments`, and `_crps` where the CRPS has
a closed form (those of Jordan, Krüger and Lerch, Journal of Statistical Software, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    LogTails,
    Moments,
    Values,
    check_positive,
    family,
)

LOG_2PI = float(np.log(2.0 * np.pi))
#: Largest difference between cov and its transpose, relative to its largest entry.
ASYMMETRY = 1e-8
#: How far from 1 weights of a mixture may sum, before they are scaled to sum to 1.
WEIGHT_ROUNDING = 1e-6


def mean_distance(z: FloatArray) -> FloatArray:
    """Return E|z + Z| = z (2Φ(z) − 1) + 2φ(z) for a standard normal Z."""
    return np.asarray(
        z * (2.0 * special.ndtr(z) - 1.0) + np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)
    )


def log_of(tail: AnyArray) -> FloatArray:
    """Return the log of a probability; one that rounds to 0 counts as `TINY`."""
    return np.asarray(np.log(np.maximum(tail, TINY)))


@dataclass(frozen=True, eq=False)
class DiagonalScale:
    """The scale of independent coordinates: y = mean + std · z, std (n, d_y)."""

    array: FloatArray

    def std(self) -> FloatArray:
        return self.array

    def standardise(self, residual: FloatArray) -> FloatArray:
        """Return z of y − mean, (n, d_y)."""
        return residual / self.array

    def multiply(self, z: FloatArray) -> FloatArray:
        """Return y − mean of z, (n, d_y)."""
        return self.array * z

    def score(self, z: FloatArray) -> FloatArray:
        """Return −Σ⁻¹ (y − mean) of z, (n, d_y)."""
        return -z / self.array

    def log_det(self) -> FloatArray:
        """Return ½ log det Σ, (n,)."""
        return np.asarray(np.log(self.array).sum(axis=1))


@dataclass(frozen=True, eq=False)
class CholeskyScale:
    """The scale of dependent coordinates: y = mean + L z, L Lᵀ = cov (n, d_y, d_y)."""

    cov: FloatArray
    array: FloatArray

    @classmethod
    def from_cov(cls, cov: FloatArray) -> CholeskyScale:
        """Factor covariance matrices, which must be symmetric and positive definite."""
        asymmetry = np.abs(cov - cov.transpose(0, 2, 1)).max(axis=(1, 2))
        bad = np.flatnonzero(asymmetry > ASYMMETRY * np.abs(cov).max(axis=(1, 2)))
        if len(bad):
            raise InputError(f"cov is not symmetric, first in row {bad[0]}.")
        try:
            factor = np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError("cov is not positive definite in some row.") from error
        return cls(cov, factor)

    def std(self) -> FloatArray:
        return np.sqrt(np.diagonal(self.cov, axis1=1, axis2=2))

    def standardise(self, residual: FloatArray) -> FloatArray:
        """Return z = L⁻¹ (y − mean), (n, d_y)."""
        return _solve(self.array, residual)

    def multiply(self, z: FloatArray) -> FloatArray:
        """Return y − mean = L z, (n, d_y)."""
        return np.asarray((self.array @ z[:, :, None])[:, :, 0])

    def score(self, z: FloatArray) -> FloatArray:
        """Return −Σ⁻¹ (y − mean) = −L⁻ᵀ z, (n, d_y)."""
        return -_solve(self.array.transpose(0, 2, 1), z)

    def log_det(self) -> FloatArray:
        """Return ½ log det Σ = Σ_k log L_kk, (n,)."""
        return np.asarray(np.log(np.diagonal(self.array, axis1=1, axis2=2)).sum(axis=1))


def _solve(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the solutions a of M a = v for matrices (n, d, d) and vectors (n, d)."""
    solutions = np.linalg.solve(matrices, vectors[:, :, None])
    return np.asarray(solutions[:, :, 0], dtype=np.float64)


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
    >>> law = Normal(mean=lambda x: 2 * x, std=0.5)(np.array([0.5, 1.0]))
    >>> law.score(np.array([1.5, 2.5]))[:, 0]
    array([-2., -2.])
    """

    mean: Any
    std: Any = None
    cov: Any = field(default=None, kw_only=True)

    EITHER = ("std", "cov")
    PLAIN: ClassVar = {"cov": 2}

    def _mean_and_scale(
        self, n: int, d_y: int
    ) -> tuple[FloatArray, DiagonalScale | CholeskyScale]:
        """Return the mean (n, d_y) and the scale at n rows, checked."""
        mean = np.array(self.mean.values(n, (d_y,)))
        if self.cov is None:
            std = check_positive(self.std.values(n, (d_y,)), "std")
            return mean, DiagonalScale(np.array(std))
        if self.cov.value.ndim == 0:
            raise ShapeError(
                "cov must be a matrix, got a number. Pass std= for equal variances."
            )
        return mean, CholeskyScale.from_cov(self.cov.values(n, (d_y, d_y)))

    def _standardise(self, y: AnyArray) -> tuple[FloatArray, DiagonalScale | CholeskyScale]:
        """Return the standardised residuals z (n, d_y) of y, and the scale."""
        y = as_rows(y)
        mean, scale = self._mean_and_scale(self._size(y), y.shape[1])
        return scale.standardise(y - mean), scale

    def _mean_and_std(self, n: int, d_y: int) -> Moments:
        mean, scale = self._mean_and_scale(n, d_y)
        return Moments(mean, scale.std())

    def score(self, y: AnyArray) -> FloatArray:
        """Return −Σ⁻¹(y − mean), (n, d_y)."""
        z, scale = self._standardise(y)
        return scale.score(z)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return −½ Σ_k (z_k² + log 2π) − ½ log det Σ, (n,)."""
        z, scale = self._standardise(y)
        return np.asarray(-0.5 * (z * z + LOG_2PI).sum(axis=1) - scale.log_det())

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        mean, std = self._mean_and_std(self._size(y), 1)
        z = (y - mean) / std
        return np.asarray(special.ndtr(-z if upper else z))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        z, _ = self._standardise(y)
        return z

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = as_rows(y)
        mean, std = self._mean_and_std(self._size(y), y.shape[1])
        u = (y - mean) / std
        return u, 1.0 / std, -u / std

    def crps(self, y: AnyArray) -> FloatArray:
        """Return std (z (2Φ(z) − 1) + 2φ(z) − 1/√π), (n,)."""
        z = self.normal_scores(self._columns(y))
        std = self._mean_and_std(len(z), 1).std
        return np.asarray(std * (mean_distance(z) - 1.0 / np.sqrt(np.pi)))[:, 0]

    def quantile(self, levels: object) -> FloatArray:
        mean, std = self._mean_and_std(self._size(), 1)
        return mean + std * np.asarray(special.ndtri(check_levels(levels)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._mean_and_std(self._size(), self._d_y)
        return mean, std

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        mean, scale = self._mean_and_scale(self._size(), self._d_y)
        return mean, scale.array

    def sample(self, rng: np.random.Generator) -> FloatArray:
        mean, scale = self._mean_and_scale(self._size(), self._d_y)
        z = rng.standard_normal(mean.shape)
        return np.asarray(mean + scale.multiply(z))


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
        raise InputTypeError(
            "mean and std are single numbers, which say nothing of rows. Pass arrays of n"
            " rows, or use condgof.models.Normal for the same law at every x."
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
        """Return the checked parameters at n rows; without n and d_y, those of the law."""
        if n is None:
            n = self._size()
        if d_y is None:
            d_y = self._d_y
        components = self.weights.width
        if components is None:
            raise InputError("weights must have one number for each component.")
        weights = self.weights.values(n, (components,))
        sums = weights.sum(axis=1, keepdims=True)
        sums_to_one = np.allclose(sums, 1.0, rtol=0, atol=WEIGHT_ROUNDING)
        if (weights < 0).any() or not sums_to_one:
            raise InputError("weights must not be negative and must sum to 1 in every row.")
        means = self.means.values(n, (components, d_y))
        stds = check_positive(self.stds.values(n, (components, d_y)), "stds")
        return Parts(weights / sums, means, stds)

    @property
    def _d_y(self) -> int:
        shapes = (parameter.value.shape for parameter in (self.means, self.stds))
        return next((shape[-1] for shape in shapes if len(shape) == 3), 1)

    def _standardise(self, y: AnyArray) -> tuple[FloatArray, Parts]:
        """Return the residuals z of y from each component, (n, C, d_y), and the parts."""
        y = as_rows(y)
        parts = self.parts(self._size(y), y.shape[1])
        return (y[:, None, :] - parts.means) / parts.stds, parts

    def score(self, y: AnyArray) -> FloatArray:
        """Return Σ_c r_c(y) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
        z, parts = self._standardise(y)
        r = special.softmax(_log_joint(z, parts), axis=1)
        return np.asarray(np.einsum("nc,ncd->nd", r, -z / parts.stds))

    def log_prob(self, y: AnyArray) -> FloatArray:
        z, parts = self._standardise(y)
        return np.asarray(np.logaddexp.reduce(_log_joint(z, parts), axis=1))

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        weights, means, stds = self.parts(self._size(y), 1)
        z = (y[:, None, :] - means) / stds
        tails = special.ndtr(-z if upper else z)
        return np.asarray((weights[:, :, None] * tails).sum(axis=1))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the CRPS of a mixture, (n,); A(m, s) = E|m + sZ| for a standard normal Z.

        It is Σ_c w_c A(y − m_c, s_c) − ½ Σ_cd w_c w_d A(m_c − m_d, √(s_c² + s_d²)).
        """
        z, parts = self._standardise(self._columns(y))
        w = parts.weights
        m = parts.means[:, :, 0]
        s = parts.stds[:, :, 0]
        crps = (w * s * mean_distance(z[:, :, 0])).sum(axis=1)
        for c in range(w.shape[1]):
            s_pair = np.hypot(s, s[:, [c]])
            pairs = w * s_pair * mean_distance((m - m[:, [c]]) / s_pair)
            crps -= 0.5 * w[:, c] * pairs.sum(axis=1)
        return np.asarray(crps)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        z, parts = self._standardise(y)
        log_weights = safe_log(parts.weights)
        d_y = z.shape[2]
        u = np.empty((len(z), d_y))
        # Given the coordinates before it, a coordinate is again a mixture: its weights are
        # multiplied by the components' densities of those coordinates.
        for k in range(d_y):
            u[:, k] = _mixture_scores(log_weights, z[:, :, k])
            log_weights = log_weights - 0.5 * z[:, :, k] ** 2 - np.log(parts.stds[:, :, k])
            log_weights -= special.logsumexp(log_weights, axis=1, keepdims=True)
        return u

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z, parts = self._standardise(y)
        log_weights = safe_log(parts.weights)[:, :, None]
        u = _mixture_scores(log_weights, z)
        log_joint = log_weights - 0.5 * (z * z + LOG_2PI) - np.log(parts.stds)
        log_density = special.logsumexp(log_joint, axis=1)
        r = np.exp(log_joint - log_density[:, None, :])
        slope = np.exp(log_density + 0.5 * (u * u + LOG_2PI))
        score = (r * (-z / parts.stds)).sum(axis=1)
        return u, slope, score

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, cov = self.mean_cov()
        return mean, np.sqrt(np.diagonal(cov, axis1=1, axis2=2))

    def mean_cov(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean (n, d_y) and the covariance matrix (n, d_y, d_y) of each row."""
        weights, means, stds = self.parts()
        mean = np.einsum("nc,ncd->nd", weights, means)
        deviations = means - mean[:, None, :]
        cov = np.einsum("nc,nci,ncj->nij", weights, deviations, deviations)
        diagonal = np.arange(mean.shape[1])
        cov[:, diagonal, diagonal] += np.einsum("nc,nci->ni", weights, stds**2)
        return mean, cov

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        if self._d_y == 1:
            return self.mean_std()
        mean, cov = self.mean_cov()
        return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        n = self._size()
        uniform = rng.random((n, 1))
        standard_normal = rng.standard_normal((n, self._d_y))
        return self.sample_from_noise(uniform, standard_normal)

    def sample_from_noise(self, uniform: FloatArray, normal: FloatArray) -> FloatArray:
        """Return a draw for each row, (n, d_y), from its noise (n, 1) and (n, d_y)."""
        weights, means, stds = self.parts()
        component = (uniform > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows = np.arange(len(weights))
        return np.asarray(means[rows, component] + stds[rows, component] * normal)


def safe_log(weights: FloatArray) -> FloatArray:
    """Return log weights; a component of weight 0 is absent, and its logarithm −∞."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def _log_joint(z: FloatArray, parts: Parts) -> FloatArray:
    """Return log π_c N(y; mean_c, std_c) of residuals z (n, C, d_y), (n, C)."""
    log_density = -(0.5 * (z * z + LOG_2PI) + np.log(parts.stds)).sum(axis=2)
    return np.asarray(safe_log(parts.weights) + log_density)


def _mixture_scores(log_weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return normal scores of mixtures, whose components are along the second axis."""
    log_lower = special.logsumexp(log_weights + special.log_ndtr(z), axis=1)
    log_upper = special.logsumexp(log_weights + special.log_ndtr(-z), axis=1)
    return log_tail_scores(log_lower, log_upper)


class _Positive(Independent):
    """A family on (loc, ∞); `loc` is the last of its parameters."""

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        loc = p[-1]
        return loc, np.array(np.inf)


@family
class Gamma(_Positive):
    """Gamma model on (loc, ∞): y − loc = t > 0 with two parameters.

    p(t) = t^(shape−1) exp(−t/scale) / (Γ(shape) scale^shape).

    Parameters
    ----------
    shape : number, array (n,) or (n, d_y), or function of x
        Positive; coordinates of y are independent.
    scale, rate : as `shape`, optional
        Positive; exactly one of scale and rate = 1/scale is given.
    loc : as `shape`, optional
        The lower end of the support.

    Examples
    --------
    >>> law = Gamma(shape=3.0, scale=lambda x: x)(np.array([2.0, 4.0]))
    >>> law.score(np.array([1.0, 2.0]))[:, 0]
    array([1.5 , 0.75])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    EITHER = ("scale", "rate")

    def _log_density(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray(
            special.xlogy(shape - 1.0, z) - z - special.gammaln(shape) - np.log(scale)
        )

    def _score(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        return (shape - 1.0) / (y - loc) - 1.0 / scale

    def _log_tails(self, y: Array, shape: Array, scale: Array, loc: Array) -> LogTails:
        z = (y - loc) / scale
        lower = log_of(special.gammainc(shape, z))
        upper = log_of(special.gammaincc(shape, z))
        return LogTails(lower, upper)

    def _draw(
        self, rng: np.random.Generator, shape: Array, scale: Array, loc: Array
    ) -> Array:
        return np.asarray(loc + rng.gamma(shape, scale))

    def _moments(self, shape: Array, scale: Array, loc: Array) -> Moments:
        return Moments(mean=loc + shape * scale, std=np.sqrt(shape) * scale)

    def _crps(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        """CRPS / scale = z (2F_k(z) − 1) − k (2F_{k+1}(z) − 1) − 1/B(½, k), k = shape."""
        z = (y - loc) / scale
        F_k = special.gammainc(shape, np.maximum(z, 0.0))
        F_k1 = special.gammainc(shape + 1.0, np.maximum(z, 0.0))
        spread = np.exp(-special.betaln(0.5, shape))
        return np.asarray(
            scale * (z * (2.0 * F_k - 1.0) - shape * (2.0 * F_k1 - 1.0) - spread)
        )


@family
class Weibull(_Positive):
    """Weibull model: P(y > t|x) = exp(−((t − loc)/scale)^shape) for t > loc.

    Parameters
    ----------
    shape : number, array (n,) or (n, d_y), or function of x
        Positive; coordinates of y are independent.
    scale, rate : as `shape`, optional
        Positive; exactly one of scale and rate = 1/scale is given.
    loc : as `shape`, optional
        The lower end of the support.

    Examples
    --------
    >>> law = Weibull(shape=2.0, scale=lambda x: x)(np.array([2.0, 4.0]))
    >>> law.sf(np.array([2.0, 0.0])).round(4)
    array([0.3679, 1.    ])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    EITHER = ("scale", "rate")

    def _log_density(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray(np.log(shape / scale) + special.xlogy(shape - 1.0, z) - z**shape)

    def _score(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray((shape - 1.0 - shape * z**shape) / (y - loc))

    def _log_tails(self, y: Array, shape: Array, scale: Array, loc: Array) -> LogTails:
        cumulative_hazard = ((y - loc) / scale) ** shape
        return LogTails(
            lower=log_of(-np.expm1(-cumulative_hazard)), upper=-cumulative_hazard
        )

    def _draw(
        self, rng: np.random.Generator, shape: Array, scale: Array, loc: Array
    ) -> Array:
        return np.asarray(loc + scale * rng.weibull(shape))

    def _moments(self, shape: Array, scale: Array, loc: Array) -> Moments:
        log_gamma_1 = special.gammaln(1.0 + 1.0 / shape)
        log_gamma_2 = special.gammaln(1.0 + 2.0 / shape)
        mean = loc + scale * np.exp(log_gamma_1)
        std = scale * np.sqrt(np.exp(log_gamma_2) - np.exp(2.0 * log_gamma_1))
        return Moments(mean, std)


@family
class Exponential(Weibull):
    """Exponential model, p(y|x) = exp(−(y − loc)/scale) / scale for y > loc.

    Parameters
    ----------
    scale, rate : number, array (n,) or (n, d_y), or function of x
        Positive; exactly one of scale and rate = 1/scale is given. Coordinates of y are
        independent.
    loc : as `scale`, optional
        The lower end of the support.

    Examples
    --------
    >>> law = Exponential(scale=lambda x: x)(np.array([2.0, 4.0]))
    >>> law.score(np.array([1.0, 3.0]))[:, 0]
    array([-0.5 , -0.25])
    """

    # The Weibull of shape 1. A default that a factory makes keeps the place of `shape` in
    # the order of the parameters, though it is no argument.
    shape: Any = field(default_factory=lambda: 1.0, init=False, repr=False)

    def _crps(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        """CRPS / scale = |z| + 2 exp(−z₊) − 3/2 with z₊ = max(z, 0)."""
        z = (y - loc) / scale
        return np.asarray(scale * (np.abs(z) + 2.0 * np.expm1(-np.maximum(z, 0.0)) + 0.5))


@family
class LogNormal(_Positive):
    """Log-normal model: log(y − loc) given x is N(mu(x), sigma(x)²).

    Parameters
    ----------
    mu, sigma : number, array (n,) or (n, d_y), or function of x
        Mean and standard deviation of log(y − loc); coordinates of y are independent.
    loc : as `mu`, optional
        The lower end of the support.

    Examples
    --------
    >>> law = LogNormal(mu=lambda x: x, sigma=1.0)(np.array([2.0]))
    >>> law.normal_scores(np.array([1.0]))
    array([[-2.]])
    """

    mu: Any = 0.0
    sigma: Any = 1.0
    loc: Any = 0.0

    def _log_density(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        log_t = np.log(y - loc)
        z = (log_t - mu) / sigma
        return np.asarray(-0.5 * (z * z + LOG_2PI) - np.log(sigma) - log_t)

    def _score(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        log_t = np.log(y - loc)
        return np.asarray(-(1.0 + (log_t - mu) / sigma**2) / (y - loc))

    def _log_tails(self, y: Array, mu: Array, sigma: Array, loc: Array) -> LogTails:
        z = (np.log(y - loc) - mu) / sigma
        return LogTails(
            lower=np.asarray(special.log_ndtr(z)), upper=np.asarray(special.log_ndtr(-z))
        )

    def _draw(self, rng: np.random.Generator, mu: Array, sigma: Array, loc: Array) -> Array:
        return np.asarray(loc + rng.lognormal(mu, sigma))

    def _moments(self, mu: Array, sigma: Array, loc: Array) -> Moments:
        mean = np.exp(mu + 0.5 * sigma**2)
        return Moments(mean=loc + mean, std=mean * np.sqrt(np.expm1(sigma**2)))

    def _crps(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        """CRPS = t (2Φ(z) − 1) − 2m (Φ(z − sigma) − Φ(−sigma/√2)), m the mean of t."""
        z = (np.log(np.maximum(y - loc, 0.0)) - mu) / sigma
        inner = special.ndtr(z - sigma) - special.ndtr(-sigma / np.sqrt(2.0))
        mean = np.exp(mu + 0.5 * sigma**2)
        return np.asarray((y - loc) * (2.0 * special.ndtr(z) - 1.0) - 2.0 * mean * inner)

    def location_scale(self) -> tuple[Array, Array]:
        """Return the median and, to first order in sigma, the standard deviation."""
        mu, sigma, loc = self._at(self._size(), self._d_y)
        return loc + np.exp(mu), sigma * np.exp(mu)


@family
class InverseGaussian(_Positive):
    """Inverse Gaussian model of t = y − loc > 0.

    p(t) = √(shape/2πt³) exp(−shape (t/mean − 1)²/(2t)).

    Parameters
    ----------
    mean : number, array (n,) or (n, d_y), or function of x
        Positive: the mean of y − loc. Coordinates of y are independent.
    shape : as `mean`, optional
        Positive: the variance is mean³/shape.
    loc : as `mean`, optional
        The lower end of the support.

    Examples
    --------
    >>> InverseGaussian(mean=1.0, shape=2.0).score(np.array([1.0, 2.0]))[:, 0]
    array([-1.5, -1.5])
    """

    mean: Any
    shape: Any = 1.0
    loc: Any = 0.0

    def _log_density(self, y: Array, mean: Array, shape: Array, loc: Array) -> Array:
        t = y - loc
        squared = shape * (t - mean) ** 2 / (mean**2 * t)
        return np.asarray(0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(t) - squared))

    def _score(self, y: Array, mean: Array, shape: Array, loc: Array) -> Array:
        t = y - loc
        return -1.5 / t - 0.5 * shape / mean**2 + 0.5 * shape / t**2

    def _log_tails(self, y: Array, mean: Array, shape: Array, loc: Array) -> LogTails:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = ±√(shape/t) (t/mean ∓ 1)."""
        t = y - loc
        root = np.sqrt(shape / t)
        a = root * (t / mean - 1.0)
        b = -root * (t / mean + 1.0)
        log_second = 2.0 * shape / mean + special.log_ndtr(b)
        lower = np.minimum(np.logaddexp(special.log_ndtr(a), log_second), 0.0)
        # 1 − F = Φ(−a) − exp(2 shape/mean) Φ(b). The first term is the larger one, and both
        # may be tiny: their difference is taken in logarithms.
        log_first = special.log_ndtr(-a)
        gap = np.minimum(log_second - log_first, -np.finfo(np.float64).eps)
        upper = log_first + np.log(-np.expm1(gap))
        return LogTails(lower, upper)

    def _draw(
        self, rng: np.random.Generator, mean: Array, shape: Array, loc: Array
    ) -> Array:
        return np.asarray(loc + rng.wald(mean, shape))

    def _moments(self, mean: Array, shape: Array, loc: Array) -> Moments:
        return Moments(mean=loc + mean, std=np.sqrt(mean**3 / shape))


@family
class Beta(Independent):
    """Beta model of v = (y − low)/(high − low): p(v) = v^(a−1) (1−v)^(b−1) / B(a, b).

    Parameters
    ----------
    a, b : number, array (n,) or (n, d_y), or function of x
        Positive shapes; coordinates of y are independent.
    low, high : as `a`, optional
        The ends of the support, low < high.

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
        a, b, low, high = super()._at(n, d_y)
        check_positive(high - low, "high − low")
        return a, b, low, high

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        _, _, low, high = p
        return low, high

    def _log_density(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        width = high - low
        log_v = special.xlogy(a - 1.0, (y - low) / width)
        log_1v = special.xlogy(b - 1.0, (high - y) / width)
        return np.asarray(log_v + log_1v - special.betaln(a, b) - np.log(width))

    def _score(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        return (a - 1.0) / (y - low) - (b - 1.0) / (high - y)

    def _log_tails(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> LogTails:
        v = (y - low) / (high - low)
        one_minus_v = (high - y) / (high - low)
        return LogTails(
            lower=log_of(special.betainc(a, b, v)),
            upper=log_of(special.betainc(b, a, one_minus_v)),
        )

    def _draw(
        self, rng: np.random.Generator, a: Array, b: Array, low: Array, high: Array
    ) -> Array:
        return low + (high - low) * rng.beta(a, b)

    def _moments(self, a: Array, b: Array, low: Array, high: Array) -> Moments:
        width = high - low
        share = a / (a + b)
        mean = low + width * share
        std = width * np.sqrt(share * (b / (a + b)) / (a + b + 1.0))
        return Moments(mean, std)

    def _crps(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        """Return the CRPS, where width = high − low and B = B(a, b).

        CRPS / width = v (2F_a(v) − 1) − a/(a+b) (2F_{a+1}(v) − 1 + 2B(2a, 2b)/(a B²)).
        """
        v = (y - low) / (high - low)
        F_a = special.betainc(a, b, np.clip(v, 0.0, 1.0))
        F_a1 = special.betainc(a + 1.0, b, np.clip(v, 0.0, 1.0))
        log_ratio = special.betaln(2.0 * a, 2.0 * b) - 2.0 * special.betaln(a, b)
        spread = 2.0 * np.exp(log_ratio) / a
        share = a / (a + b)
        inner = v * (2.0 * F_a - 1.0) - share * ((2.0 * F_a1 - 1.0) + spread)
        return np.asarray((high - low) * inner)


@family
class Uniform(Beta):
    """Uniform model on (low(x), high(x)).

    Its score is 0; the Stein tests see it on the logit scale, where it is that of a
    logistic density.

    Parameters
    ----------
    low, high : number, array (n,) or (n, d_y), or function of x
        The ends of the support, low < high. Coordinates of y are independent.

    Examples
    --------
    >>> law = Uniform(low=lambda x: x, high=lambda x: x + 2)(np.array([0.0, 0.5]))
    >>> law.cdf(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """

    # The Beta of shapes 1 and 1; see `Exponential` for the factories.
    a: Any = field(default_factory=lambda: 1.0, init=False, repr=False)
    b: Any = field(default_factory=lambda: 1.0, init=False, repr=False)

    def _draw(
        self, rng: np.random.Generator, a: Array, b: Array, low: Array, high: Array
    ) -> Array:
        return rng.uniform(low, high)


@family
class StudentT(Independent):
    """Student-t model: z = (y − loc)/scale has p(z) ∝ (1 + z²/df)^(−(df+1)/2).

    Parameters
    ----------
    df : number, array (n,) or (n, d_y), or function of x
        Degrees of freedom, positive; coordinates of y are independent.
    loc : as `df`, optional
        The centre.
    scale : as `df`, optional
        Positive; the standard deviation is scale · √(df/(df − 2)) for df > 2.

    Examples
    --------
    >>> law = StudentT(df=3, loc=lambda x: x, scale=1.0)(np.array([0.0]))
    >>> law.score(np.array([1.0]))
    array([[-1.]])
    """

    df: Any
    loc: Any = 0.0
    scale: Any = 1.0

    def _log_density(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        constant = (
            special.gammaln(0.5 * (df + 1))
            - special.gammaln(0.5 * df)
            - 0.5 * np.log(df * np.pi)
        )
        return np.asarray(constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df))

    def _score(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        return -(df + 1.0) * z / ((df + z * z) * scale)

    def _log_tails(self, y: Array, df: Array, loc: Array, scale: Array) -> LogTails:
        z = (y - loc) / scale
        return LogTails(
            lower=log_of(special.stdtr(df, z)), upper=log_of(special.stdtr(df, -z))
        )

    def _draw(self, rng: np.random.Generator, df: Array, loc: Array, scale: Array) -> Array:
        return loc + scale * rng.standard_t(df)

    def _moments(self, df: Array, loc: Array, scale: Array) -> Moments:
        if not (df > 2).all():
            raise UnsupportedModelError("A t distribution has a variance only for df > 2.")
        return Moments(mean=loc, std=scale * np.sqrt(df / (df - 2.0)))

    def location_scale(self) -> tuple[Array, Array]:
        _, loc, scale = self._at(self._size(), self._d_y)
        return np.array(loc), np.array(scale)

    def crps(self, y: AnyArray) -> Array:
        df, _, _ = self._at(self._size(as_rows(y)), self._d_y)
        if (df > 1.0).all():
            return super().crps(y)
        # Without a mean the closed form is ∞ − ∞, though the CRPS is finite.
        return Law.crps(self, y)

    def _crps(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        """Return the CRPS, where f and F are the density and the CDF of z.

        CRPS / scale = z (2F(z) − 1) + 2 (f(z) (df + z²) − S) / (df − 1),
        S = √df B(½, df − ½) / B(½, df/2)².
        """
        z = (y - loc) / scale
        density = np.exp(self._log_density(z, df, np.zeros(1), np.ones(1)))
        log_ratio = special.betaln(0.5, df - 0.5) - 2.0 * special.betaln(0.5, 0.5 * df)
        spread = np.sqrt(df) * np.exp(log_ratio)
        tails = 2.0 * (density * (df + z * z) - spread) / (df - 1.0)
        return np.asarray(scale * (z * (2.0 * special.stdtr(df, z) - 1.0) + tails))


@family
class Laplace(Independent):
    """Laplace model, p(y|x) = exp(−|y − loc(x)| / scale(x)) / (2 scale(x)).

    Parameters
    ----------
    loc : number, array (n,) or (n, d_y), or function of x
        The centre; coordinates of y are independent.
    scale : as `loc`, optional
        Positive; the standard deviation is √2 · scale.

    Examples
    --------
    >>> law = Laplace(loc=lambda x: x, scale=2.0)(np.array([0.0, 3.0]))
    >>> law.score(np.array([1.0, 0.0]))[:, 0]
    array([-0.5,  0.5])
    """

    loc: Any = 0.0
    scale: Any = 1.0

    def _log_density(self, y: Array, loc: Array, scale: Array) -> Array:
        return np.asarray(-np.abs(y - loc) / scale - np.log(2.0 * scale))

    def _score(self, y: Array, loc: Array, scale: Array) -> Array:
        return np.asarray(-np.sign(y - loc) / scale)

    def _log_tails(self, y: Array, loc: Array, scale: Array) -> LogTails:
        z = (y - loc) / scale
        small = np.log(0.5) - np.abs(z)
        large = np.log1p(-0.5 * np.exp(-np.abs(z)))
        return LogTails(
            lower=np.where(z < 0, small, large), upper=np.where(z < 0, large, small)
        )

    def _draw(self, rng: np.random.Generator, loc: Array, scale: Array) -> Array:
        return rng.laplace(loc, scale)

    def _moments(self, loc: Array, scale: Array) -> Moments:
        return Moments(mean=loc, std=np.sqrt(2.0) * scale)

    def _crps(self, y: Array, loc: Array, scale: Array) -> Array:
        """CRPS / scale = |z| + exp(−|z|) − 3/4."""
        z = np.abs(y - loc) / scale
        return np.asarray(scale * (z + np.exp(-z) - 0.75))
