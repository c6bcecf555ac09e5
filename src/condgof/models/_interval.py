"""Families on an interval: Beta and Uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.models._parameters import Parameter, check_positive
from condgof.models._parametric import Independent, Values, log_of


@dataclass(frozen=True, eq=False, init=False)
class Beta(Independent):
    """Beta model: v = (y − low)/(high − low) has density v^(a−1) (1−v)^(b−1) / B(a, b) on (0, 1).

    The coordinates of y are independent given x.

    Parameters
    ----------
    a, b : float, (d_y,) array or callable
        Constants, or functions x → (n,) or (n, d_y).
    low, high : float, (d_y,) array or callable
        The ends of the support.

    Examples
    --------
    >>> Beta(a=2.0, b=lambda x: x).score(np.array([0.5]), np.array([1.0]))
    array([[2.]])
    """

    a: Parameter
    b: Parameter
    low: Parameter
    high: Parameter

    POSITIVE = ("a", "b")

    def __init__(self, a: Any, b: Any, low: Any = 0.0, high: Any = 1.0) -> None:
        self._read(a=a, b=b, low=low, high=high)

    def _at(self, x: Any, n: int, d_y: int) -> Values:
        a, b, low, high = super()._at(x, n, d_y)
        check_positive(high - low, "high − low")
        return a, b, low, high

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[2], p[3]

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import betaln, xlogy

        a, b, low, high = p
        width = high - low
        powers = xlogy(a - 1.0, (y - low) / width) + xlogy(b - 1.0, (high - y) / width)
        return np.asarray(powers - betaln(a, b) - np.log(width), dtype=np.float64)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """(a − 1)/(y − low) − (b − 1)/(high − y)."""
        a, b, low, high = p
        return (a - 1.0) / (y - low) - (b - 1.0) / (high - y)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        from scipy.special import betainc

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


@dataclass(frozen=True, eq=False, init=False)
class Uniform(Independent):
    """Uniform model on (low(x), high(x)). The coordinates of y are independent given x.

    Its score is 0; the Stein tests see it on the logit scale, where it is that of a logistic density.

    Parameters
    ----------
    low, high : float, (d_y,) array or callable
        The ends of the interval, or functions x → (n,) or (n, d_y).

    Examples
    --------
    >>> Uniform(low=lambda x: x, high=lambda x: x + 2).cdf(np.array([1.0, 1.0]), np.array([0.0, 0.5]))
    array([0.5 , 0.25])
    """

    low: Parameter
    high: Parameter

    def __init__(self, low: Any = 0.0, high: Any = 1.0) -> None:
        self._read(low=low, high=high)

    def _at(self, x: Any, n: int, d_y: int) -> Values:
        low, high = super()._at(x, n, d_y)
        check_positive(high - low, "high − low")
        return low, high

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[0], p[1]

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        values: FloatArray = np.broadcast_to(-np.log(p[1] - p[0]), y.shape)
        return values

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
