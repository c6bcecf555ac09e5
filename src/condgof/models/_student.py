"""Student's t with any location and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.models._base import ConditionalModel, as_rows, row_count
from condgof.models._parameters import Parameter, check_positive


@dataclass(frozen=True, eq=False, init=False)
class StudentT(ConditionalModel):
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

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> None:
        for name, value in (("df", df), ("loc", loc), ("scale", scale)):
            object.__setattr__(self, name, Parameter.constant_or_function(name, value))

    def _parts(self, x: Any, n: int, d_y: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        return (
            check_positive(self.df.at(x, n, (d_y,)), "df"),
            self.loc.at(x, n, (d_y,)),
            check_positive(self.scale.at(x, n, (d_y,)), "scale"),
        )

    def _d_y(self, x: Any) -> int:
        return max(parameter.width(x) or 1 for parameter in (self.df, self.loc, self.scale))

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return −(df + 1) z / (df + z²) / scale with z = (y − loc)/scale, (n, d_y)."""
        y = as_rows(y)
        df, loc, scale = self._parts(x, *y.shape)
        z = (y - loc) / scale
        return -(df + 1.0) * z / ((df + z * z) * scale)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        from scipy.special import gammaln

        y = as_rows(y)
        df, loc, scale = self._parts(x, *y.shape)
        z = (y - loc) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        values: FloatArray = (constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z * z / df)).sum(
            axis=1
        )
        return values

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        from scipy.special import stdtr

        df, z = self._standardised(y, x, "cdf")
        return np.asarray(stdtr(df, z))

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, accurate far in the upper tail, (n,)."""
        from scipy.special import stdtr

        df, z = self._standardised(y, x, "sf")
        return np.asarray(stdtr(df, -z))

    def _standardised(self, y: AnyArray, x: Any, what: str) -> tuple[FloatArray, FloatArray]:
        """Return degrees of freedom and residuals, (n,) each, for d_y = 1."""
        y = as_rows(y)
        if y.shape[1] != 1:
            raise UnsupportedModelError(f"The {what} of a StudentT model is there for d_y = 1 only.")
        df, loc, scale = self._parts(x, *y.shape)
        return df[:, 0], ((y - loc) / scale)[:, 0]

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Φ⁻¹ of the CDF of each coordinate (they are independent), (n, d_y)."""
        from scipy.special import ndtri, stdtr

        y = as_rows(y)
        df, loc, scale = self._parts(x, *y.shape)
        z = (y - loc) / scale
        # The smaller tail, which keeps its digits; it is above 0 for all but the most absurd z.
        tail = np.maximum(stdtr(df, -np.abs(z)), np.finfo(np.float64).tiny)
        values: FloatArray = np.where(z < 0, ndtri(tail), -ndtri(tail))
        return values

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return location and scale, which are there for any df, (n, d_y) each."""
        n = row_count(x, n)
        _, loc, scale = self._parts(x, n, self._d_y(x))
        return np.array(loc), np.array(scale)

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, d_y = 1, (n, m)."""
        from scipy.special import stdtr

        df, loc, scale = self._parts(x, row_count(x, n), 1)
        return np.asarray(stdtr(df, (np.ravel(values) - loc) / scale))

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        n = row_count(x, n)
        df, loc, scale = self._parts(x, n, self._d_y(x))
        return loc + scale * rng.standard_t(df)

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each; it needs df > 2 in every row."""
        n = row_count(x, n)
        df, loc, scale = self._parts(x, n, self._d_y(x))
        if not (df > 2).all():
            raise UnsupportedModelError("A t distribution has a variance only for df > 2.")
        return np.array(loc), scale * np.sqrt(df / (df - 2.0))
