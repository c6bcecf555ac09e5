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
    """Inverse Gaussian model: t = y − loc > 0 has density √(shape/2πt³) exp(−shape (t/mean − 1)²/(2t)).

    The coordinates of y are independent given x.

    Parameters
    ----------
    mean, shape : float, (d_y,) array or callable
        Constants, or functions x → (n,) or (n, d_y). `mean` is that of y − loc, and mean³/shape its
        variance.
    loc : float, (d_y,) array or callable
        Where the support begins.

    Examples
    --------
    >>> InverseGaussian(mean=1.0, shape=2.0).score(np.array([1.0, 2.0]), None)
    array([[-1.5],
           [-1.5]])
    """

    mean: Parameter
    shape: Parameter
    loc: Parameter

    POSITIVE = ("mean", "shape")

    def __init__(self, mean: Any, shape: Any = 1.0, loc: Any = 0.0) -> None:
        self._read(mean=mean, shape=shape, loc=loc)

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return p[2], np.array(np.inf)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        mean, shape, loc = p
        t = y - loc
        squared = shape * (t - mean) ** 2 / (mean**2 * t)
        values: FloatArray = 0.5 * (np.log(shape) - LOG_2PI - 3.0 * np.log(t) - squared)
        return values

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """−3/(2t) − shape/(2 mean²) + shape/(2t²) with t = y − loc."""
        mean, shape, loc = p
        t = y - loc
        return -1.5 / t - 0.5 * shape / mean**2 + 0.5 * shape / t**2

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        """F = Φ(a) + exp(2 shape/mean) Φ(b) with a, b = √(shape/t) (±t/mean − 1), t = y − loc."""
        from scipy.special import log_ndtr

        mean, shape, loc = p
        t = y - loc
        root = np.sqrt(shape / t)
        a, b = root * (t / mean - 1.0), -root * (t / mean + 1.0)
        second = 2.0 * shape / mean + log_ndtr(b)
        first = log_ndtr(-a)
        # The upper tail is a difference: e^second is below e^first, and both may be tiny.
        gap = np.minimum(second - first, -np.finfo(np.float64).eps)
        return np.minimum(np.logaddexp(log_ndtr(a), second), 0.0), first + np.log(-np.expm1(gap))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        mean, shape, loc = p
        return loc + rng.wald(mean, shape)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        mean, shape, loc = p
        return loc + mean, np.sqrt(mean**3 / shape)
