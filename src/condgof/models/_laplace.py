"""The Laplace distribution with any location and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.models._parameters import Parameter
from condgof.models._parametric import Independent, Values


@dataclass(frozen=True, eq=False, init=False)
class Laplace(Independent):
    """Laplace model, p(y|x) = exp(−|y − loc(x)| / scale(x)) / (2 scale(x)).

    The coordinates of y are independent given x.

    Parameters
    ----------
    loc, scale : float, (d_y,) array or callable
        Location and scale, or functions x → (n,) or (n, d_y).

    Examples
    --------
    >>> Laplace(loc=lambda x: x, scale=2.0).score(np.array([1.0, 0.0]), np.array([0.0, 3.0]))
    array([[-0.5],
           [ 0.5]])
    """

    loc: Parameter
    scale: Parameter

    POSITIVE = ("scale",)

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._read(loc=loc, scale=scale)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        loc, scale = p
        return -np.abs(y - loc) / scale - np.log(2.0 * scale)

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        loc, scale = p
        return -np.sign(y - loc) / scale

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        loc, scale = p
        z = (y - loc) / scale
        small = np.log(0.5) - np.abs(z)
        large = np.log1p(-0.5 * np.exp(-np.abs(z)))
        return np.where(z < 0, small, large), np.where(z < 0, large, small)

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.laplace(*p)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        loc, scale = p
        return loc, np.sqrt(2.0) * scale
