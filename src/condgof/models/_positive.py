"""Families on half a line: Exponential, Gamma and LogNormal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError
from condgof.models._normal import LOG_2PI
from condgof.models._parameters import Parameter
from condgof.models._parametric import Independent, Values, log_of


class _Positive(Independent):
    """A family on (loc, ∞); `loc` is the last of its parameters."""

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[-1], np.array(np.inf)


class _Scaled(_Positive):
    """A family on (loc, ∞) whose scale may be given as a rate."""

    def _at(self, x: Any, n: int, d_y: int) -> Values:
        """Return the parameters with the scale in place of the rate."""
        values = dict(zip(self._parameters(), super()._at(x, n, d_y), strict=True))
        if "rate" in values:
            return tuple(1.0 / v if name == "rate" else v for name, v in values.items())
        return tuple(values.values())


def _one_of(scale: Any, rate: Any, name: str) -> None:
    if (scale is None) == (rate is None):
        raise InputError(f"{name} needs exactly one of scale= and rate=.")


@dataclass(frozen=True, eq=False, init=False)
class Exponential(_Scaled):
    """Exponential model, p(y|x) = exp(−(y − loc)/scale) / scale for y > loc.

    The coordinates of y are independent given x.

    Parameters
    ----------
    scale, rate : float, (d_y,) array or callable
        One of the mean distance from `loc` and its inverse, or a function x → (n,) or (n, d_y).
    loc : float, (d_y,) array or callable
        Where the support begins.

    Examples
    --------
    >>> Exponential(scale=lambda x: x).score(np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    array([[-0.5 ],
           [-0.25]])
    """

    scale: Parameter | None
    rate: Parameter | None
    loc: Parameter

    POSITIVE = ("scale", "rate")

    def __init__(self, scale: Any = None, rate: Any = None, loc: Any = 0.0) -> None:
        _one_of(scale, rate, "Exponential")
        self._read(scale=scale, rate=rate, loc=loc)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        scale, loc = p
        return -(y - loc) / scale - np.log(scale)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        return np.broadcast_to(-1.0 / p[0], y.shape)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        scale, loc = p
        z = (y - loc) / scale
        return log_of(-np.expm1(-z)), -z

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        scale, loc = p
        return loc + rng.exponential(scale)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        scale, loc = p
        return loc + scale, scale


@dataclass(frozen=True, eq=False, init=False)
class Gamma(_Scaled):
    """Gamma model: y − loc has density t^(shape−1) exp(−t/scale) / (Γ(shape) scale^shape) for t > 0.

    The coordinates of y are independent given x.

    Parameters
    ----------
    shape : float, (d_y,) array or callable
        A constant, or a function x → (n,) or (n, d_y).
    scale, rate : float, (d_y,) array or callable
        One of the two, the inverse of each other, as for `shape`.
    loc : float, (d_y,) array or callable
        Where the support begins.

    Examples
    --------
    >>> Gamma(shape=3.0, scale=lambda x: x).score(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    array([[1.5 ],
           [0.75]])
    """

    shape: Parameter
    scale: Parameter | None
    rate: Parameter | None
    loc: Parameter

    POSITIVE = ("shape", "scale", "rate")

    def __init__(self, shape: Any, scale: Any = None, rate: Any = None, loc: Any = 0.0) -> None:
        _one_of(scale, rate, "Gamma")
        self._read(shape=shape, scale=scale, rate=rate, loc=loc)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import gammaln, xlogy

        shape, scale, loc = p
        z = (y - loc) / scale
        values: FloatArray = xlogy(shape - 1.0, z) - z - gammaln(shape) - np.log(scale)
        return values

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """(shape − 1)/(y − loc) − 1/scale."""
        shape, scale, loc = p
        return (shape - 1.0) / (y - loc) - 1.0 / scale

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        from scipy.special import gammainc, gammaincc

        shape, scale, loc = p
        z = (y - loc) / scale
        return log_of(gammainc(shape, z)), log_of(gammaincc(shape, z))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        shape, scale, loc = p
        return loc + rng.gamma(shape, scale)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        shape, scale, loc = p
        return loc + shape * scale, np.sqrt(shape) * scale


@dataclass(frozen=True, eq=False, init=False)
class LogNormal(_Positive):
    """Log-normal model: log(y − loc) given x is N(mu(x), sigma(x)²).

    The coordinates of y are independent given x.

    Parameters
    ----------
    mu, sigma : float, (d_y,) array or callable
        Mean and standard deviation of the logarithm, or functions x → (n,) or (n, d_y).
    loc : float, (d_y,) array or callable
        Where the support begins.

    Examples
    --------
    >>> LogNormal(mu=lambda x: x, sigma=1.0).normal_scores(np.array([1.0]), np.array([2.0]))
    array([[-2.]])
    """

    mu: Parameter
    sigma: Parameter
    loc: Parameter

    POSITIVE = ("sigma",)

    def __init__(self, mu: Any = 0.0, sigma: Any = 1.0, loc: Any = 0.0) -> None:
        self._read(mu=mu, sigma=sigma, loc=loc)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        mu, sigma, loc = p
        log = np.log(y - loc)
        z = (log - mu) / sigma
        return -0.5 * (z * z + LOG_2PI) - np.log(sigma) - log

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """−(1 + (log(y − loc) − mu)/sigma²) / (y − loc)."""
        mu, sigma, loc = p
        return -(1.0 + (np.log(y - loc) - mu) / sigma**2) / (y - loc)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        from scipy.special import log_ndtr

        mu, sigma, loc = p
        z = (np.log(y - loc) - mu) / sigma
        return np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        mu, sigma, loc = p
        return loc + rng.lognormal(mu, sigma)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        mu, sigma, loc = p
        mean = np.exp(mu + 0.5 * sigma**2)
        return loc + mean, mean * np.sqrt(np.expm1(sigma**2))

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the median, and the scale that is sigma on the logarithmic scale, (n, d_y) each."""
        mu, sigma, loc = self._at(x, self._size(x, n), self._d_y(x))
        return loc + np.exp(mu), sigma * np.exp(mu)
