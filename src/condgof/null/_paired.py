"""Differences against a normal limit, and means of paired ones: of rows, groups, blocks of time.

Student's t is anti-conservative where differences are skewed, and a correction for their
skewness (Hall, 1992) where tails are heavy: the larger p-value counts, and the interval
that neither rejects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError
from condgof.null._bootstrap import normal_pvalue
from condgof.null._dependence import Dependence

#: The smallest p-value: nothing is smaller.
SMALLEST = normal_pvalue(math.inf)
#: Differences below this share of what they are differences of are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Difference:
    """An estimated difference with what its sampling distribution needs.

    The studentised t = (difference − truth)/error of a U-statistic has an Edgeworth
    expansion with the two numbers below (Helmers 1991). Hall's (1992) monotone cubic takes
    that term out,

        z = t + A t² + A² t³/3 + B,   A = (2·cube + 3·cross)/6,   B = (cube + 3·cross)/6.

    Of a U-statistic z is compared with the normal distribution; of the mean of `count`
    units the smaller of |t| and |z| with Student's. Swapping the models changes every sign.
    """

    #: The difference and its standard error; 0 where the two statistics are one and the
    #: same.
    value: float
    error: float
    #: E g³/σ³ and E g g'φ/σ³, over √n, for the projection g and the rest φ of the matrix.
    cube: float = 0.0
    cross: float = 0.0
    count: int | None = None

    @classmethod
    def of(cls, d: FloatArray, rows: Dependence | None = None) -> Difference:
        """Study differences d (n,), which may depend on each other in blocks or groups of rows.

        In blocks of length L the variance is 2·V(2L) − V(L): the error of V(L) is of order
        1/L.
        """
        if not np.isfinite(d).all():
            with np.errstate(invalid="ignore"):
                return cls(
                    float(np.sum(d)), 0.0
                )  # NaN where both models have what is infinite
        value = float(d.mean())
        if rows is None or rows.independent:
            return cls._of_units(value, d - value, len(d))
        if rows.codes is not None:
            return cls._of_units(value, np.bincount(rows.codes, d - value), len(d))
        lengths, number = (rows.length or 1, 2 * (rows.length or 1)), np.arange(len(d))
        sums = (np.bincount(number // length, d - value) for length in lengths)
        one, two = (cls._of_units(value, own, len(d)) for own in sums)
        error = math.sqrt(
            max(2.0 * two.error**2 - one.error**2, one.error**2, two.error**2)
        )
        return replace(two, error=error)

    @classmethod
    def by_units(cls, d: FloatArray, units: AnyArray) -> Difference:
        """Study differences of which those of one unit, (n,), depend on each other."""
        return cls.of(d, Dependence(codes=np.unique(units, return_inverse=True)[1].ravel()))

    @classmethod
    def _of_units(cls, value: float, sums: AnyArray, n: int) -> Difference:
        """Take the sums of n centred differences over units that are independent."""
        count = len(sums)
        if count < 2:
            raise InputError(
                "One block or group of rows tells nothing of how much a difference varies."
                " Pass a shorter block length (dependence=), or more rows."
            )
        square = float(np.square(sums).sum())
        if square == 0:
            return cls(value, 0.0, count=count)
        skew = (
            float((sums * sums * sums).sum())
            / count
            / (square / count) ** 1.5
            / math.sqrt(count)
        )
        return cls(value, math.sqrt(count / (count - 1) * square) / n, skew, count=count)

    @property
    def _bend(self) -> tuple[float, float]:
        return (2.0 * self.cube + 3.0 * self.cross) / 6.0, (
            self.cube + 3.0 * self.cross
        ) / 6.0

    @property
    def _bent(self) -> float:
        (a, b), t = self._bend, self.value / self.error
        return t + a * t * t + a * a * t**3 / 3.0 + b

    @property
    def pvalue(self) -> float:
        """Of no difference, two-sided; never 0, and 1 where there is none at all."""
        if self.error == 0:
            return SMALLEST if self.value and not math.isnan(self.value) else 1.0
        if self.count is None:
            return min(1.0, 2.0 * normal_pvalue(abs(self._bent)))
        least = min(abs(self.value / self.error), abs(self._bent))
        return max(float(2.0 * stdtr(self.count - 1, -least)), SMALLEST)

    @property
    def z(self) -> float:
        """What is compared with the normal distribution, or the p-value as such a number."""
        if self.count is None and self.error:
            return self._bent
        return (
            math.copysign(-float(ndtri(self.pvalue / 2.0)), self.value)
            if self.pvalue < 1
            else 0.0
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        if self.error == 0:
            return self.value, self.value
        upper, few = 0.5 + level / 2.0, self.count
        far = float(ndtri(upper) if few is None else stdtrit(few - 1, upper))
        high, low = self._at(far), self._at(-far)
        if few is not None:
            high, low = max(high, far), min(low, -far)
        return self.value - self.error * high, self.value - self.error * low

    def _at(self, z: float) -> float:
        """Return the t that has this z."""
        a, b = self._bend
        return (
            z - b if abs(a) < 1e-8 else (float(np.cbrt(1.0 + 3.0 * a * (z - b))) - 1.0) / a
        )


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first − second, (n,): 0 where that is rounding, NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        d = first - second
        rounding = np.isfinite(d) & (
            np.abs(d) <= ROUNDING * (np.abs(first) + np.abs(second))
        )
    return np.where(rounding, 0.0, d)
