"""Differences of two models: their standard error, p-value and interval.

A difference is of two U-statistics, or a mean of paired differences, of rows, groups or
blocks of time. Student's t is anti-conservative where paired differences are skewed, and a
correction for their skewness (Hall, 1992) where their tails are heavy. So the larger of the
two p-values is reported, and the interval of all values that neither test rejects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, option
from condgof.null._bootstrap import normal_pvalue
from condgof.null._dependence import Dependence, Groups
from condgof.null._units import mean_variance

#: The smallest p-value that is ever reported.
SMALLEST_PVALUE = normal_pvalue(math.inf)
#: A difference below this share of the two numbers that it is of is rounding.
ROUNDING = 1e-12
#: Below this |A| Hall's cubic is taken as the line z = t + B, as which it is inverted.
STRAIGHT = 1e-8


class EdgeworthTerms(NamedTuple):
    """The coefficients A and B of Hall's cubic, z = t + A t² + A² t³/3 + B."""

    A: float
    B: float

    def z_of_t(self, t: float) -> float:
        """Take the first Edgeworth term out of a studentised t."""
        A, B = self
        return t + A * t * t + A * A * t**3 / 3.0 + B

    def t_of_z(self, z: float) -> float:
        """Return the t that has this z; the cubic is monotone."""
        A, B = self
        if abs(A) < STRAIGHT:
            return z - B
        return (float(np.cbrt(1.0 + 3.0 * A * (z - B))) - 1.0) / A


@dataclass(frozen=True)
class Difference:
    """An estimated difference with what its sampling distribution needs.

    The studentised t = (difference − truth)/error of a U-statistic has an Edgeworth
    expansion with the two numbers `cube` and `cross` (Helmers 1991). Hall's (1992) monotone
    cubic takes that term out,

        z = t + A t² + A² t³/3 + B,   A = (2·cube + 3·cross)/6,   B = (cube + 3·cross)/6.

    The z of a U-statistic is compared with the normal distribution; for the mean of rows
    in units the smaller of |t| and |z| is compared with Student's t of `df` degrees of
    freedom. Swapping the two models changes every sign.
    """

    #: The first model's value minus the second's.
    value: float
    #: Its standard error; 0 where the two statistics are one and the same.
    error: float
    #: E g³/(σ³√n), for the projection g of the U-statistic, with standard deviation σ.
    cube: float = 0.0
    #: E g g'φ/(σ³√n), for the rest φ of the U-statistic's matrix; 0 for a mean.
    cross: float = 0.0
    #: Effective degrees of freedom of the error of a mean over independent units; None for
    #: a U-statistic.
    df: float | None = None

    @classmethod
    def from_rows(
        cls,
        d: FloatArray,
        rows: Dependence | None = None,
        least_variance: float = 0.0,
    ) -> Difference:
        """Estimate the mean of differences d (n,) of rows that may depend on each other.

        `least_variance` is a floor of the squared standard error.
        """
        return cls._from_rows(d, rows)._with_floor(least_variance)

    def _with_floor(self, least_variance: float) -> Difference:
        """Raise the squared error to a floor; `cube` is in units of the error, cubed."""
        if not self.error**2 < least_variance or not math.isfinite(self.value):
            return self
        error = math.sqrt(least_variance)
        return replace(self, error=error, cube=self.cube * (self.error / error) ** 3)

    @classmethod
    def _from_rows(cls, d: FloatArray, rows: Dependence | None) -> Difference:
        """Estimate the mean difference, and its error from the rows alone.

        The variance of rows in blocks of length L is 2·V(2L) − V(L), since the error of
        V(L) is of order 1/L; it is at least V(L) and V(2L).
        """
        if not np.isfinite(d).all():
            # The sum is NaN where both models have an infinite score.
            with np.errstate(invalid="ignore"):
                return cls(float(np.sum(d)), 0.0)
        value = float(d.mean())
        if rows is None or rows.independent:
            return cls._from_units(value, d, None)
        if isinstance(rows.units, Groups):
            return cls._from_units(value, d, rows.units.codes)
        length = rows.length or 1
        row = np.arange(len(d))
        single = cls._from_units(value, d, row // length)
        double = cls._from_units(value, d, row // (2 * length))
        variance = max(
            2.0 * double.error**2 - single.error**2, single.error**2, double.error**2
        )
        return replace(double, error=math.sqrt(variance))

    @classmethod
    def from_units(cls, d: FloatArray, units: AnyArray) -> Difference:
        """Estimate the mean of d (n,), of rows that depend where `units` (n,) are equal."""
        _, codes = np.unique(units, return_inverse=True)
        return cls.from_rows(d, Dependence(codes=codes.ravel()))

    @classmethod
    def _from_units(cls, value: float, d: FloatArray, units: IntArray | None) -> Difference:
        """Take differences d (n,), of mean `value`, in units (n,) that are independent."""
        variance, df, sums = mean_variance(d, units)
        if df == 0:
            raise InputError(
                "One block or group of rows tells nothing of how much a difference varies."
                f" Pass a shorter block length ({option('dependence')}), or more rows."
            )
        square = float(np.square(sums).sum())
        if square == 0:
            return cls(value, 0.0, df=df)
        cube = float((sums * sums * sums).sum()) / square**1.5
        return cls(value, math.sqrt(variance), cube=cube, df=df)

    @property
    def _edgeworth(self) -> EdgeworthTerms:
        return EdgeworthTerms(
            A=(2.0 * self.cube + 3.0 * self.cross) / 6.0,
            B=(self.cube + 3.0 * self.cross) / 6.0,
        )

    @property
    def _corrected_z(self) -> float:
        return self._edgeworth.z_of_t(self.value / self.error)

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of no difference; never 0, and 1 where there is none at all."""
        if self.error == 0:
            certain = self.value != 0 and not math.isnan(self.value)
            return SMALLEST_PVALUE if certain else 1.0
        if self.df is None:
            return min(1.0, 2.0 * normal_pvalue(abs(self._corrected_z)))
        smaller = min(abs(self.value / self.error), abs(self._corrected_z))
        return max(float(2.0 * stdtr(self.df, -smaller)), SMALLEST_PVALUE)

    @property
    def z(self) -> float:
        """The difference as a standard normal number: its z, or that of its p-value."""
        if self.df is None and self.error:
            return self._corrected_z
        if self.pvalue >= 1:
            return 0.0
        return math.copysign(-float(ndtri(self.pvalue / 2.0)), self.value)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided interval of the difference at this level."""
        if self.error == 0:
            return self.value, self.value
        upper = 0.5 + level / 2.0
        if self.df is None:
            quantile = float(ndtri(upper))
            high = self._edgeworth.t_of_z(quantile)
            low = self._edgeworth.t_of_z(-quantile)
        else:
            quantile = float(stdtrit(self.df, upper))
            high = max(self._edgeworth.t_of_z(quantile), quantile)
            low = min(self._edgeworth.t_of_z(-quantile), -quantile)
        return self.value - self.error * high, self.value - self.error * low


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first − second, (n,): 0 for rounding, NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        d = first - second
        scale = np.abs(first) + np.abs(second)
        rounding = np.isfinite(d) & (np.abs(d) <= ROUNDING * scale)
    return np.where(rounding, 0.0, d)
