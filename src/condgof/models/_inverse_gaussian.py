"""The inverse Gaussian family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.models._normal import LOG_2PI
from condgof.models._parameters import Parameter
from condgof.models._parametric import Independent, Values


@dataclass(frozen=True, eq=False, init=False)
class InverseGaussian(Independent):
    """Inverse Gaussian model, p(y|x) = √(shape/2πy³) exp(−shape (y − mean)²/(2 mean² y)) for y > 0.

    The coordinates of y are independent given x.

    Parameters
    ----------
    mean, shape : float, (d_y,) array or callable
        Constants, or functions x → (n,) or (n, d_y). The variance is mean³/shape.

    Examples
    --------
    >>> InverseGaussian(mean=1.0, shape=2.0).score(np.array([1.0, 2.0]), None)
    array([[-1.5],
           [-1.5]])
    """

    mean: Parameter
    shape: Parameter

    POSITIVE = ("mean", "shape")

    def __init__(self, mean: Any, shape: Any = 1.0) -> None:
        self._read(mean=mean, shape=shape)

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return np.array(0.0), np.array(np.inf)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        mean, shape = p
        squared = shape * (y - mean) ** 2 / (mean**2 * y)
        values: FloatArray = 0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(y) - squared)
        return values

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """−3/(2y) − shape/(2 mean²) + shape/(2y²)."""
        mean, shape = p
        return -1.5 / y - 0.5 * shape / mean**2 + 0.5 * shape / y**2

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = √(shape/y) (±y/mean − 1)."""
        from scipy.special import log_ndtr

        mean, shape = p
        root = np.sqrt(shape / y)
        a, b = root * (y / mean - 1.0), -root * (y / mean + 1.0)
        second = 2.0 * shape / mean + log_ndtr(b)
        first = log_ndtr(-a)
        # The upper tail is a difference: e^second is below e^first, and both may be tiny.
        gap = np.minimum(second - first, -np.finfo(np.float64).eps)
        return np.minimum(np.logaddexp(log_ndtr(a), second), 0.0), first + np.log(-np.expm1(gap))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.wald(*p)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        mean, shape = p
        return mean, np.sqrt(mean**3 / shape)
