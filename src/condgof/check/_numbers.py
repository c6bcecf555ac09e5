"""How numbers of findings and effects are written: units, signs, digits.

A number is always written beside what it is compared with, and with as many digits as show
how the two differ: 3.5% and 2.7%, not 3% and 3%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

#: Most decimals of a number; differences that need more are not worth showing.
MOST_DECIMALS = 6
#: Smaller differences are not shown: with most decimals, both numbers look the same.
LEAST_DIFFERENCE = 10.0**-MOST_DECIMALS
#: Percentages have one decimal more where they differ by less than this many units of the
#: last place: 93% and 90%, 3.5% and 2.7%.
LAST_PLACES = 3.0
#: Shares of fewer rows than this are written as their number: "1 of 117 rows".
FEW_ROWS = 10
#: What stands in tables and sentences for a number that does not exist.
ABSENT = "–"


#: The lower and the upper end of an interval.
Ends: TypeAlias = tuple[float, float]


class NumberPair(NamedTuple):
    """A number and what the model predicts, with the same digits."""

    estimate: str
    expected: str


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of one quantity are written."""

    unit: str = ""  #: What follows the number: " SD", "×", "%".
    factor: float = 1.0  #: What the number is multiplied by: 100 for percentages.
    signed: bool = False  #: Whether positive numbers have a plus sign.
    #: Whether as many digits are shown as tell the number from the prediction, and no
    #: more; else two significant figures of their difference are shown.
    coarse: bool = False
    least_decimals: int = 0

    def decimals(
        self, estimate: float, expected: float, interval: Ends | None = None
    ) -> int:
        """Return with how many decimals a number and its prediction are written.

        As many as show how the two differ, and where an interval holds the prediction, no
        more than its width tells.
        """
        wanted = self._decimals_of(abs(estimate - expected), coarse=self.coarse)
        if interval is not None and interval[0] <= expected <= interval[1]:
            half_width = 0.5 * (interval[1] - interval[0])
            wanted = min(wanted, self._decimals_of(half_width, coarse=True))
            return max(wanted, self.least_decimals)
        while wanted < MOST_DECIMALS and self._same(estimate, expected, wanted):
            wanted += 1
        return wanted

    def _decimals_of(self, difference: float, *, coarse: bool) -> int:
        """Return how many decimals show a difference: two figures unless `coarse`."""
        scaled = difference * self.factor
        if not math.isfinite(scaled) or scaled < LEAST_DIFFERENCE:
            return max(self.least_decimals, 0 if coarse else 2)
        if coarse:
            wanted = math.ceil(math.log10(LAST_PLACES / scaled))
        else:
            wanted = 1 - math.floor(math.log10(scaled))
        return min(max(wanted, self.least_decimals), MOST_DECIMALS)

    def _same(self, estimate: float, expected: float, decimals: int) -> bool:
        difference = abs(estimate - expected) * self.factor
        if not math.isfinite(difference) or difference < LEAST_DIFFERENCE:
            return False
        return self.text(estimate, decimals) == self.text(expected, decimals)

    def text(self, value: float, decimals: int) -> str:
        """Write a number with its sign and unit."""
        return f"{self.bare(value, decimals)}{self.unit}"

    def bare(self, value: float, decimals: int) -> str:
        """Write a number without its unit."""
        if math.isnan(value):
            return ABSENT
        scaled = self.factor * value
        if math.isinf(scaled):
            return "∞" if scaled > 0 else "−∞"
        digits = f"{abs(scaled):,.{decimals}f}"
        if not any(character in "123456789" for character in digits):
            return digits
        if scaled < 0:
            return f"−{digits}"
        return f"+{digits}" if self.signed else digits

    def size(self, value: float, expected: float, interval: Ends | None = None) -> str:
        """Write how large a number is, without its sign."""
        decimals = self.decimals(value, expected, interval)
        return f"{self.bare(abs(value), decimals).lstrip('+')}{self.unit}"

    def pair(
        self, estimate: float, expected: float, interval: Ends | None = None
    ) -> NumberPair:
        """Write a number and what the model predicts, whose zeros at the end are left."""
        decimals = self.decimals(estimate, expected, interval)
        shown = decimals
        if expected != 0.0 and math.isfinite(expected):
            # A small prediction, such as 0.1%, is not written as 0.
            first_figure = -math.floor(math.log10(abs(expected) * self.factor))
            shown = min(max(decimals, first_figure), MOST_DECIMALS)
        return NumberPair(
            estimate=self.text(estimate, decimals),
            expected=f"{trimmed(self.bare(expected, shown))}{self.unit}",
        )

    def interval(self, low: float, high: float, decimals: int) -> str:
        """Write an interval: "[−2.4, −2.0]"; only percentages keep their unit."""
        unit = self.unit if self.unit == "%" else ""
        return f"[{self.bare(low, decimals)}{unit}, {self.bare(high, decimals)}{unit}]"


def trimmed(text: str) -> str:
    """Drop zeros at the end of decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


#: Distances in predicted standard deviations.
IN_SD = NumberFormat(unit=" SD", signed=True)
#: Differences of directions, of times of the day, and of other values on a circle.
IN_DEGREES = NumberFormat(unit="°", signed=True, least_decimals=1)
IN_HOURS = NumberFormat(unit=" h", signed=True, least_decimals=1)
IN_UNIT_OF_Y = NumberFormat(signed=True)
#: Ratios of the data to the model.
RATIO = NumberFormat(unit="×", least_decimals=1)
#: Shares of rows.
SHARE = NumberFormat(unit="%", factor=100.0, coarse=True)
#: A difference of two shares of rows.
SHARE_DIFFERENCE = NumberFormat(unit="%", factor=100.0, signed=True, coarse=True)
#: Correlations, and lengths between 0 and 1.
UNIT_FREE = NumberFormat(least_decimals=2)
#: Numbers of rows.
COUNT = NumberFormat()


def rows_text(count: int) -> str:
    """Write a number of rows: "1 row", "1,204 rows"."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def percent_label(label: str) -> str:
    """Write the level of a statement as a percentage: "5%" of "0.05", "90%" of "90%"."""
    try:
        level = float(label)
    except ValueError:
        return label
    return f"{100.0 * level:g}%"
