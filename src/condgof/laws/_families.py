"""Closed forms whose coordinates are independent given x, on the line, on half of it, on an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.special import betainc, betaln, gammainc, gammaincc, gammaln, log_ndtr, stdtr, xlogy

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.laws._law import TINY, as_rows, log_tail_scores
from condgof.laws._parameters import Parametric, check_positive, family

#: The parameters of a family at all rows, (n, d_y) each.
Values: TypeAlias = tuple[FloatArray, ...]
#: The smallest tail that is told from 0.
LOG_TINY = float(np.log(TINY))
LOG_2PI = float(np.log(2.0 * np.pi))


class Independent(Parametric):
    """A family whose coordinates are independent given x.

    A subclass writes these functions of arrays of shape (n, d_y), and `_ends` if it does not live on the
    whole line. They see values of y inside the support only.
    """

    POSITIVE = ("mean", "shape", "df", "scale", "rate", "sigma", "a", "b")

    _log_density: Callable[[FloatArray, Values], FloatArray]
    #: The derivative of that in y.
    _slope: Callable[[FloatArray, Values], FloatArray]
    #: log F and log(1 − F), each accurate where it is small.
    _log_tails: Callable[[FloatArray, Values], tuple[FloatArray, FloatArray]]
    _draw: Callable[[np.random.Generator, Values], FloatArray]
    _moments: Callable[[Values], tuple[FloatArray, FloatArray]]

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return np.array(-np.inf), np.array(np.inf)

    def score(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        return np.where(below | above, np.nan, self._slope(y, p))

    def log_prob(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        return np.asarray(np.where(below | above, -np.inf, self._log_density(y, p)).sum(axis=1))

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._tail(y, upper=False)

    def sf(self, y: AnyArray) -> FloatArray:
        return self._tail(y, upper=True)

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        p = self._at(self._size(), 1)
        y, below, above = self._moved_in(np.ravel(values), p)
        return np.where(below, 0.0, np.where(above, 1.0, np.exp(self._log_tails(y, p)[0])))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        p, y, below, above = self._placed(y)
        lower, upper = self._log_tails(y, p)
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
        return np.clip(self._draw(rng, p), least, np.nextafter(high, -np.inf))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._moments(self._at(self._size(), self._d_y))
        return np.array(mean), np.array(std)

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        p, y, below, above = self._placed(y)
        self._one_column(y.shape[1], "sf" if upper else "cdf")
        values = np.exp(self._log_tails(y, p)[upper])
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

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        scale, loc = p
        return -(y - loc) / scale - np.log(scale)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        return np.broadcast_to(-1.0 / p[0], y.shape)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        scale, loc = p
        z = (y - loc) / scale
        return log_of(-np.expm1(-z)), -z

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        scale, loc = p
        return loc + scale, scale


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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        shape, scale, loc = p
        z = (y - loc) / scale
        return np.asarray(xlogy(shape - 1.0, z) - z - gammaln(shape) - np.log(scale))

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        shape, scale, loc = p
        return (shape - 1.0) / (y - loc) - 1.0 / scale

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        shape, scale, loc = p
        z = (y - loc) / scale
        return log_of(gammainc(shape, z)), log_of(gammaincc(shape, z))

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        shape, scale, loc = p
        return loc + shape * scale, np.sqrt(shape) * scale


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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        mu, sigma, loc = p
        log = np.log(y - loc)
        z = (log - mu) / sigma
        return -0.5 * (z * z + LOG_2PI) - np.log(sigma) - log

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        mu, sigma, loc = p
        return -(1.0 + (np.log(y - loc) - mu) / sigma**2) / (y - loc)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        mu, sigma, loc = p
        z = (np.log(y - loc) - mu) / sigma
        return np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        mu, sigma, loc = p
        mean = np.exp(mu + 0.5 * sigma**2)
        return loc + mean, mean * np.sqrt(np.expm1(sigma**2))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        mean, shape, loc = p
        t = y - loc
        squared = shape * (t - mean) ** 2 / (mean**2 * t)
        return np.asarray(0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(t) - squared))

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        mean, shape, loc = p
        t = y - loc
        return -1.5 / t - 0.5 * shape / mean**2 + 0.5 * shape / t**2

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = √(shape/t) (±t/mean − 1), t = y − loc."""
        mean, shape, loc = p
        t = y - loc
        root = np.sqrt(shape / t)
        a, b = root * (t / mean - 1.0), -root * (t / mean + 1.0)
        first, second = log_ndtr(-a), 2.0 * shape / mean + log_ndtr(b)
        # The upper tail is a difference: e^second is below e^first, and both may be tiny.
        gap = np.minimum(second - first, -np.finfo(np.float64).eps)
        return np.minimum(np.logaddexp(log_ndtr(a), second), 0.0), first + np.log(-np.expm1(gap))

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        mean, shape, loc = p
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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        a, b, low, high = p
        width = high - low
        powers = xlogy(a - 1.0, (y - low) / width) + xlogy(b - 1.0, (high - y) / width)
        return np.asarray(powers - betaln(a, b) - np.log(width))

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        a, b, low, high = p
        return (a - 1.0) / (y - low) - (b - 1.0) / (high - y)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        a, b, low, high = p
        width = high - low
        return log_of(betainc(a, b, (y - low) / width)), log_of(betainc(b, a, (high - y) / width))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        a, b, low, high = p
        return low + (high - low) * rng.beta(a, b)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        a, b, low, high = p
        width, share = high - low, a / (a + b)
        return low + width * share, width * np.sqrt(share * (b / (a + b)) / (a + b + 1.0))


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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        return np.broadcast_to(-np.log(p[1] - p[0]), y.shape)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        return np.zeros(y.shape)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        low, high = p
        return np.log((y - low) / (high - low)), np.log((high - y) / (high - low))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.uniform(*p)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        low, high = p
        return 0.5 * (low + high), (high - low) / np.sqrt(12.0)


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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        df, loc, scale = p
        z = (y - loc) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        return np.asarray(constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df))

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        df, loc, scale = p
        z = (y - loc) / scale
        return -(df + 1.0) * z / ((df + z * z) * scale)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        df, loc, scale = p
        z = (y - loc) / scale
        return log_of(stdtr(df, z)), log_of(stdtr(df, -z))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        df, loc, scale = p
        return loc + scale * rng.standard_t(df)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        df, loc, scale = p
        if not (df > 2).all():
            raise UnsupportedModelError("A t distribution has a variance only for df > 2.")
        return loc, scale * np.sqrt(df / (df - 2.0))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        _, loc, scale = self._at(self._size(), self._d_y)
        return np.array(loc), np.array(scale)


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

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        loc, scale = p
        return -np.abs(y - loc) / scale - np.log(2.0 * scale)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        loc, scale = p
        return -np.sign(y - loc) / scale

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        loc, scale = p
        z = (y - loc) / scale
        small, large = np.log(0.5) - np.abs(z), np.log1p(-0.5 * np.exp(-np.abs(z)))
        return np.where(z < 0, small, large), np.where(z < 0, large, small)

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.laplace(*p)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        loc, scale = p
        return loc, np.sqrt(2.0) * scale
