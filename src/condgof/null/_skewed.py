"""The difference of two U-statistics against a normal limit, its skewness allowed for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof.errors import InputError
from condgof.null._pvalue import normal_pvalue

ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class Difference:
    """An estimated difference with what its sampling distribution needs.

    The studentised t = (difference − truth)/error of a U-statistic has an Edgeworth expansion with the
    two numbers below (Helmers 1991). Hall's (1992) monotone cubic takes that term out,

        z = t + A t² + A² t³/3 + B,   A = (2·cube + 3·cross)/6,   B = (cube + 3·cross)/6,

    and z is compared with the normal distribution. Swapping the models changes every sign.

    Examples
    --------
    >>> plain = Difference(0.3, 0.1)
    >>> round(plain.z, 6), plain.pvalue("greater") < 0.01, plain.interval(0.95)[0] > 0
    (3.0, True, True)
    """

    #: The difference and its standard error; 0 where the two statistics are one and the same.
    value: float
    error: float
    #: E g³/σ³ and E g g'φ/σ³, over √n, for the projection g and the rest φ of the matrix.
    cube: float = 0.0
    cross: float = 0.0

    @property
    def _bend(self) -> tuple[float, float]:
        return (2.0 * self.cube + 3.0 * self.cross) / 6.0, (self.cube + 3.0 * self.cross) / 6.0

    @property
    def z(self) -> float:
        """What is compared with a standard normal; 0 where there is no difference at all."""
        if self.error == 0:
            return 0.0
        (a, b), t = self._bend, self.value / self.error
        return t + a * t * t + a * a * t**3 / 3.0 + b

    def pvalue(self, alternative: str) -> float:
        """P-value of no difference; never 0, and exactly 1 for one and the same statistic."""
        if self.error == 0:
            return 1.0
        if alternative == "two-sided":
            return min(1.0, 2.0 * normal_pvalue(abs(self.z)))
        return normal_pvalue(self.z if alternative == "greater" else -self.z)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of all differences that the two-sided test does not reject."""
        from scipy.special import ndtri

        number = isinstance(level, (int, float, np.floating)) and not isinstance(level, bool)
        if not number or not 0 < level < 1:
            raise InputError(f"level must be a number between 0 and 1, got {level!r}.")
        half = float(ndtri(0.5 + level / 2.0))
        return self.value - self.error * self._t(half), self.value - self.error * self._t(-half)

    def _t(self, z: float) -> float:
        """Return the t that has a given z."""
        a, b = self._bend
        return z - b if abs(a) < 1e-8 else (float(np.cbrt(1.0 + 3.0 * a * (z - b))) - 1.0) / a


def check_alternative(alternative: object) -> str:
    """Check which side a user asked about."""
    if not isinstance(alternative, str) or alternative not in ALTERNATIVES:
        names = ", ".join(map(repr, ALTERNATIVES))
        raise InputError(f"alternative must be one of {names}, got {alternative!r}.")
    return alternative
