"""Student's t with any location and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import UnsupportedModelError
from condgof.models._parameters import Parameter
from condgof.models._parametric import Independent, Values, log_of


@dataclass(frozen=True, eq=False, init=False)
class StudentT(Independent):
    """Student-t model: (y − loc(x)) / scale(x) has a t distribution with df(x) degrees of freedom.

    The coordinates of y are independent given x.

    Parameters
    ----------
    df : float, (d_y,) array or callable
        Degrees of freedom, or a function x → (n,) or (n, d_y).
    loc, scale : float, (d_y,) array or callable
        Location and scale, as for `df`.

    Examples
    --------
    >>> model = StudentT(df=3, loc=lambda x: x, scale=1.0)
    >>> model.score(np.array([1.0]), np.array([0.0]))
    array([[-1.]])
    """

    df: Parameter
    loc: Parameter
    scale: Parameter

    POSITIVE = ("df", "scale")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self._read(df=df, loc=loc, scale=scale)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import gammaln

        df, loc, scale = p
        z = (y - loc) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        values: FloatArray = constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df)
        return values

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        """−(df + 1) z / (df + z²) / scale with z = (y − loc)/scale."""
        df, loc, scale = p
        z = (y - loc) / scale
        return -(df + 1.0) * z / ((df + z * z) * scale)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        from scipy.special import stdtr

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

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return location and scale, which are there for any df, (n, d_y) each."""
        _, loc, scale = self._at(x, self._size(x, n), self._d_y(x))
        return np.array(loc), np.array(scale)
