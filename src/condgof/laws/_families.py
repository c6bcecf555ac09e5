"""Closed forms whose coordinates are independent given x, on the line, on half of it, on an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.special import betainc, betaln, gammainc, gammaincc, gammaln, log_ndtr, ndtr, stdtr, xlogy

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.laws._law import TINY, Law, as_rows, log_tail_scores
from condgof.laws._parameters import Continuous, check_positive, family

#: y, or a parameter of a family, at all rows, (n, d_y); and all parameters.
Array: TypeAlias = FloatArray
Values: TypeAlias = tuple[Array, ...]
#: The smallest tail that is told from 0.
LOG_TINY = float(np.log(TINY))
LOG_2PI = float(np.log(2.0 * np.pi))


class Independent(Continuous):
    """A family whose coordinates are independent given x.

    A subclass writes these functions of y and the parameters, (n, d_y) each, and `_ends` if it does not
    live on the whole line. They see values of y inside the support only.
    """

    POSITIVE = ("mean", "shape", "df", "scale", "rate", "sigma", "a", "b")

    _log_density: Callable[..., Array]
    #: The derivative of that in y.
    _slope: Callable[..., Array]
    #: log F and log(1 − F), each accurate where it is small.
    _log_tails: Callable[..., tuple[Array, Array]]
    #: It gets a generator in place of y, and `_moments` nothing.
    _draw: Callable[..., Array]
    _moments: Callable[..., tuple[Array, Array]]
    #: The CRPS at any y, inside the support or not; None where it is integrated.
    _crps: Callable[..., Array] | None = None

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return np.array(-np.inf), np.array(np.inf)

    def score(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        return np.where(below | above, np.nan, self._slope(y, *p))

    def log_prob(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        return np.asarray(np.where(below | above, -np.inf, self._log_density(y, *p)).sum(axis=1))

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        p = self._at(self._size(), 1)
        y, below, above = self._moved_in(np.ravel(values), p)
        return np.where(below, 0.0, np.where(above, 1.0, np.exp(self._log_tails(y, *p)[0])))

    def crps(self, y: AnyArray) -> FloatArray:
        y = as_rows(y)
        self._one_column(y.shape[1], "CRPS")
        if self._crps is None:
            return super().crps(y)
        return np.asarray(self._crps(y, *self._at(self._size(y), 1)))[:, 0]

    def normal_scores(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        lower, upper = self._log_tails(y, *p)
        # What cannot be is as far out as numbers go.
        lower = np.where(below, LOG_TINY, np.where(above, 0.0, lower))
        upper = np.where(above, LOG_TINY, np.where(below, 0.0, upper))
        return log_tail_scores(lower, upper)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        own = zip(self._parameters().values(), self._at(self._size(), self._d_y), strict=True)
        # A number stays one: what holds for all rows need not be looked up in each batch of a network.
        return self._ends(tuple(q.value if q.value.ndim == 0 else v for q, v in own))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        p = self._at(self._size(), self._d_y)
        low, high = self._ends(p)
        # A draw that rounds to an end of the support is put beside it; 1/1e-300 is still a number.
        least = np.maximum(np.nextafter(low, np.inf), low + 1e-300)
        return np.clip(self._draw(rng, *p), least, np.nextafter(high, -np.inf))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._moments(*self._at(self._size(), self._d_y))
        return np.array(mean), np.array(std)

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        p, y, below, above = self._placed(y)
        self._one_column(y.shape[1], "sf" if upper else "cdf")
        values = np.exp(self._log_tails(y, *p)[upper])
        zero, one = (above, below) if upper else (below, above)
        return np.where(zero, 0.0, np.where(one, 1.0, values))[:, 0]

    def _placed(self, y: AnyArray) -> tuple[Values, FloatArray, AnyArray, AnyArray]:
        """Return the parameters, and what `_moved_in` does."""
        y = as_rows(y)
        p = self._at(self._size(y), y.shape[1])
        return p, *self._moved_in(y, p)

    def _moved_in(self, y: FloatArray, p: Values) -> tuple[FloatArray, AnyArray, AnyArray]:
        """Return y with what is outside put inside, and what was below and above."""
        low, high = self._ends(p)
        below, above = y <= low, y >= high
        if below.any() or above.any():
            y = np.where(below | above, _inside(low, high), y)
        return y, below, above


def _inside(low: AnyArray, high: AnyArray) -> FloatArray:
    """Return some point of each interval."""
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    least, most = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    one = np.where(has_low, least + 1.0 + np.abs(least), most - 1.0 - np.abs(most))
    return np.where(has_low & has_high, 0.5 * (least + most), one)


def log_of(tail: AnyArray) -> FloatArray:
    """Return the log of a probability; one that rounds to 0 is taken as the smallest number."""
    return np.asarray(np.log(np.maximum(tail, TINY)))


class _Positive(Independent):
    """A family on (loc, ∞); `loc` is the last of its parameters."""

    #: The method of a generator that draws y − loc, given the other parameters.
    DRAW: ClassVar[str]

    def _draw(self, rng: np.random.Generator, *p: Array) -> Array:
        return np.asarray(p[-1] + getattr(rng, self.DRAW)(*p[:-1]))

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[-1], np.array(np.inf)


class _Scaled(_Positive):
    """A family on (loc, ∞) whose scale may be given as a rate."""

    EITHER = ("scale", "rate")

    def _at(self, n: int, d_y: int) -> Values:
        values = zip(self._parameters(), super()._at(n, d_y), strict=True)
        return tuple(1.0 / value if name == "rate" else value for name, value in values)


class _Between(Independent):
    """A family on (low, high), which are the last of its parameters."""

    def _at(self, n: int, d_y: int) -> Values:
        *others, low, high = super()._at(n, d_y)
        check_positive(high - low, "high − low")
        return *others, low, high

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[-2], p[-1]


@family
class Exponential(_Scaled):
    """Exponential model, p(y|x) = exp(−(y − loc)/scale) / scale for y > loc.

    Parameters
    ----------
    scale, rate, loc : number, array (n,) or (n, d_y), or function of x
        One of scale and rate = 1/scale; `loc` is where the support begins. Coordinates are independent.

    Examples
    --------
    >>> Exponential(scale=lambda x: x)(np.array([2.0, 4.0])).score(np.array([1.0, 3.0]))
    array([[-0.5 ],
           [-0.25]])
    """

    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    DRAW = "exponential"

    def _log_density(self, y: Array, scale: Array, loc: Array) -> Array:
        return -(y - loc) / scale - np.log(scale)

    def _slope(self, y: Array, scale: Array, loc: Array) -> Array:
        return np.broadcast_to(-1.0 / scale, y.shape)

    def _log_tails(self, y: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        z = (y - loc) / scale
        return log_of(-np.expm1(-z)), -z

    def _moments(self, scale: Array, loc: Array) -> tuple[Array, Array]:
        return loc + scale, scale

    def _crps(self, y: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray(scale * (np.abs(z) + 2.0 * np.expm1(-np.maximum(z, 0.0)) + 0.5))


@family
class Gamma(_Scaled):
    """Gamma model: y − loc has density t^(shape−1) exp(−t/scale) / (Γ(shape) scale^shape) for t > 0.

    Parameters
    ----------
    shape, scale, rate, loc : number, array (n,) or (n, d_y), or function of x
        One of scale and rate = 1/scale; `loc` is where the support begins. Coordinates are independent.

    Examples
    --------
    >>> Gamma(shape=3.0, scale=lambda x: x)(np.array([2.0, 4.0])).score(np.array([1.0, 2.0]))
    array([[1.5 ],
           [0.75]])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    DRAW = "gamma"

    def _log_density(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray(xlogy(shape - 1.0, z) - z - gammaln(shape) - np.log(scale))

    def _slope(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        return (shape - 1.0) / (y - loc) - 1.0 / scale

    def _log_tails(self, y: Array, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        z = (y - loc) / scale
        return log_of(gammainc(shape, z)), log_of(gammaincc(shape, z))

    def _moments(self, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        return loc + shape * scale, np.sqrt(shape) * scale

    def _crps(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        own, next_one = (2.0 * gammainc(shape + k, np.maximum(z, 0.0)) - 1.0 for k in (0.0, 1.0))
        return np.asarray(scale * (z * own - shape * next_one - np.exp(-betaln(0.5, shape))))


@family
class Weibull(_Scaled):
    """Weibull model: P(y > t|x) = exp(−((t − loc)/scale)^shape) for t > loc.

    Parameters
    ----------
    shape, scale, rate, loc : number, array (n,) or (n, d_y), or function of x
        One of scale and rate = 1/scale; `loc` is where the support begins. With a shape of 1 it is
        exponential. Coordinates are independent.

    Examples
    --------
    >>> Weibull(shape=2.0, scale=lambda x: x)(np.array([2.0, 4.0])).sf(np.array([2.0, 0.0])).round(4)
    array([0.3679, 1.    ])
    """

    shape: Any
    scale: Any = None
    rate: Any = None
    loc: Any = 0.0

    def _draw(  # type: ignore[override]
        self, rng: np.random.Generator, shape: Array, scale: Array, loc: Array
    ) -> Array:
        return np.asarray(loc + scale * rng.weibull(shape))

    def _log_density(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        log = np.log((y - loc) / scale)
        return np.asarray(np.log(shape / scale) + (shape - 1.0) * log - np.exp(shape * log))

    def _slope(self, y: Array, shape: Array, scale: Array, loc: Array) -> Array:
        z = (y - loc) / scale
        return np.asarray((shape - 1.0 - shape * z**shape) / (y - loc))

    def _log_tails(self, y: Array, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        hazard = ((y - loc) / scale) ** shape
        return log_of(-np.expm1(-hazard)), -hazard

    def _moments(self, shape: Array, scale: Array, loc: Array) -> tuple[Array, Array]:
        first, second = gammaln(1.0 + 1.0 / shape), gammaln(1.0 + 2.0 / shape)
        with np.errstate(over="ignore"):
            return loc + scale * np.exp(first), scale * np.sqrt(np.exp(second) - np.exp(2.0 * first))


@family
class LogNormal(_Positive):
    """Log-normal model: log(y − loc) given x is N(mu(x), sigma(x)²).

    Parameters
    ----------
    mu, sigma, loc : number, array (n,) or (n, d_y), or function of x
        `loc` is where the support begins. Coordinates are independent.

    Examples
    --------
    >>> LogNormal(mu=lambda x: x, sigma=1.0)(np.array([2.0])).normal_scores(np.array([1.0]))
    array([[-2.]])
    """

    mu: Any = 0.0
    sigma: Any = 1.0
    loc: Any = 0.0

    DRAW = "lognormal"

    def _log_density(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        log = np.log(y - loc)
        z = (log - mu) / sigma
        return -0.5 * (z * z + LOG_2PI) - np.log(sigma) - log

    def _slope(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        return -(1.0 + (np.log(y - loc) - mu) / sigma**2) / (y - loc)

    def _log_tails(self, y: Array, mu: Array, sigma: Array, loc: Array) -> tuple[Array, Array]:
        z = (np.log(y - loc) - mu) / sigma
        return np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))

    def _moments(self, mu: Array, sigma: Array, loc: Array) -> tuple[Array, Array]:
        mean = np.exp(mu + 0.5 * sigma**2)
        return loc + mean, mean * np.sqrt(np.expm1(sigma**2))

    def _crps(self, y: Array, mu: Array, sigma: Array, loc: Array) -> Array:
        with np.errstate(divide="ignore"):
            z = (np.log(np.maximum(y - loc, 0.0)) - mu) / sigma
        inner = ndtr(z - sigma) - ndtr(-sigma / np.sqrt(2.0))
        return np.asarray((y - loc) * (2.0 * ndtr(z) - 1.0) - 2.0 * np.exp(mu + 0.5 * sigma**2) * inner)

    def location_scale(self) -> tuple[Array, Array]:
        mu, sigma, loc = self._at(self._size(), self._d_y)
        return loc + np.exp(mu), sigma * np.exp(mu)


@family
class InverseGaussian(_Positive):
    """Inverse Gaussian model: t = y − loc > 0 has density √(shape/2πt³) exp(−shape (t/mean − 1)²/(2t)).

    Parameters
    ----------
    mean, shape, loc : number, array (n,) or (n, d_y), or function of x
        `mean` is that of y − loc, and mean³/shape its variance. Coordinates are independent.

    Examples
    --------
    >>> InverseGaussian(mean=1.0, shape=2.0).score(np.array([1.0, 2.0]))
    array([[-1.5],
           [-1.5]])
    """

    mean: Any
    shape: Any = 1.0
    loc: Any = 0.0

    DRAW = "wald"

    def _log_density(self, y: Array, mean: Array, shape: Array, loc: Array) -> Array:
        t = y - loc
        squared = shape * (t - mean) ** 2 / (mean**2 * t)
        return np.asarray(0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(t) - squared))

    def _slope(self, y: Array, mean: Array, shape: Array, loc: Array) -> Array:
        t = y - loc
        return -1.5 / t - 0.5 * shape / mean**2 + 0.5 * shape / t**2

    def _log_tails(self, y: Array, mean: Array, shape: Array, loc: Array) -> tuple[Array, Array]:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = √(shape/t) (±t/mean − 1), t = y − loc."""
        t = y - loc
        root = np.sqrt(shape / t)
        a, b = root * (t / mean - 1.0), -root * (t / mean + 1.0)
        first, second = log_ndtr(-a), 2.0 * shape / mean + log_ndtr(b)
        # The upper tail is a difference: e^second is below e^first, and both may be tiny.
        gap = np.minimum(second - first, -np.finfo(np.float64).eps)
        return np.minimum(np.logaddexp(log_ndtr(a), second), 0.0), first + np.log(-np.expm1(gap))

    def _moments(self, mean: Array, shape: Array, loc: Array) -> tuple[Array, Array]:
        return loc + mean, np.sqrt(mean**3 / shape)


@family
class Beta(_Between):
    """Beta model: v = (y − low)/(high − low) has density v^(a−1) (1−v)^(b−1) / B(a, b) on (0, 1).

    Parameters
    ----------
    a, b, low, high : number, array (n,) or (n, d_y), or function of x
        The two shapes and the ends of the support. Coordinates are independent.

    Examples
    --------
    >>> Beta(a=2.0, b=lambda x: x)(np.array([1.0])).score(np.array([0.5]))
    array([[2.]])
    """

    a: Any
    b: Any
    low: Any = 0.0
    high: Any = 1.0

    def _log_density(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        width = high - low
        powers = xlogy(a - 1.0, (y - low) / width) + xlogy(b - 1.0, (high - y) / width)
        return np.asarray(powers - betaln(a, b) - np.log(width))

    def _slope(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        return (a - 1.0) / (y - low) - (b - 1.0) / (high - y)

    def _log_tails(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array]:
        width = high - low
        return log_of(betainc(a, b, (y - low) / width)), log_of(betainc(b, a, (high - y) / width))

    def _draw(self, rng: np.random.Generator, a: Array, b: Array, low: Array, high: Array) -> Array:
        return low + (high - low) * rng.beta(a, b)

    def _moments(self, a: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array]:
        width, share = high - low, a / (a + b)
        return low + width * share, width * np.sqrt(share * (b / (a + b)) / (a + b + 1.0))

    def _crps(self, y: Array, a: Array, b: Array, low: Array, high: Array) -> Array:
        v = (y - low) / (high - low)
        own, next_one = (2.0 * betainc(a + k, b, np.clip(v, 0.0, 1.0)) - 1.0 for k in (0.0, 1.0))
        apart = 2.0 * np.exp(betaln(2.0 * a, 2.0 * b) - 2.0 * betaln(a, b)) / a
        return np.asarray((high - low) * (v * own - a / (a + b) * (next_one + apart)))


@family
class Uniform(_Between):
    """Uniform model on (low(x), high(x)).

    Its score is 0; the Stein tests see it on the logit scale, where it is that of a logistic density.

    Parameters
    ----------
    low, high : number, array (n,) or (n, d_y), or function of x
        The ends of the interval. Coordinates are independent.

    Examples
    --------
    >>> Uniform(low=lambda x: x, high=lambda x: x + 2)(np.array([0.0, 0.5])).cdf(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """

    low: Any = 0.0
    high: Any = 1.0

    def _log_density(self, y: Array, low: Array, high: Array) -> Array:
        return np.broadcast_to(-np.log(high - low), y.shape)

    def _slope(self, y: Array, low: Array, high: Array) -> Array:
        return np.zeros(y.shape)

    def _log_tails(self, y: Array, low: Array, high: Array) -> tuple[Array, Array]:
        return np.log((y - low) / (high - low)), np.log((high - y) / (high - low))

    def _draw(self, rng: np.random.Generator, low: Array, high: Array) -> Array:
        return rng.uniform(low, high)

    def _moments(self, low: Array, high: Array) -> tuple[Array, Array]:
        return 0.5 * (low + high), (high - low) / np.sqrt(12.0)

    def _crps(self, y: Array, low: Array, high: Array) -> Array:
        v = (y - low) / (high - low)
        inside = np.clip(v, 0.0, 1.0)
        return np.asarray((high - low) * (np.abs(v - inside) + inside * (inside - 1.0) + 1.0 / 3.0))


@family
class StudentT(Independent):
    """Student-t model: (y − loc(x)) / scale(x) has a t distribution with df(x) degrees of freedom.

    Parameters
    ----------
    df, loc, scale : number, array (n,) or (n, d_y), or function of x
        Degrees of freedom, location and scale. Coordinates are independent.

    Examples
    --------
    >>> StudentT(df=3, loc=lambda x: x, scale=1.0)(np.array([0.0])).score(np.array([1.0]))
    array([[-1.]])
    """

    df: Any
    loc: Any = 0.0
    scale: Any = 1.0

    def _log_density(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        return np.asarray(constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df))

    def _slope(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        return -(df + 1.0) * z / ((df + z * z) * scale)

    def _log_tails(self, y: Array, df: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
        z = (y - loc) / scale
        return log_of(stdtr(df, z)), log_of(stdtr(df, -z))

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
        # With df ≤ 1 there is no mean, and the closed form is ∞ − ∞ though the score is finite.
        has_mean = bool((self._at(self._size(as_rows(y)), self._d_y)[0] > 1.0).all())
        return super().crps(y) if has_mean else Law.crps(self, y)

    def _crps(self, y: Array, df: Array, loc: Array, scale: Array) -> Array:
        z = (y - loc) / scale
        density = np.exp(self._log_density(z, df, np.zeros(1), np.ones(1)))
        apart = np.sqrt(df) * np.exp(betaln(0.5, df - 0.5) - 2.0 * betaln(0.5, 0.5 * df))
        tails = 2.0 * (density * (df + z * z) - apart) / (df - 1.0)
        return np.asarray(scale * (z * (2.0 * stdtr(df, z) - 1.0) + tails))


@family
class Laplace(Independent):
    """Laplace model, p(y|x) = exp(−|y − loc(x)| / scale(x)) / (2 scale(x)).

    Parameters
    ----------
    loc, scale : number, array (n,) or (n, d_y), or function of x
        Location and scale. Coordinates are independent.

    Examples
    --------
    >>> Laplace(loc=lambda x: x, scale=2.0)(np.array([0.0, 3.0])).score(np.array([1.0, 0.0]))
    array([[-0.5],
           [ 0.5]])
    """

    loc: Any = 0.0
    scale: Any = 1.0

    def _log_density(self, y: Array, loc: Array, scale: Array) -> Array:
        return -np.abs(y - loc) / scale - np.log(2.0 * scale)

    def _slope(self, y: Array, loc: Array, scale: Array) -> Array:
        return -np.sign(y - loc) / scale

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
