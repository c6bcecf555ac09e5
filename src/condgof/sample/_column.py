"""One column of x or y: its name, its kind, and how its values are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError


@dataclass(frozen=True)
class Column:
    """One column of x or y.

    Parameters
    ----------
    name : str
        The user's name for it, or a made-up one for arrays.
    levels : tuple of str, optional
        The levels of a categorical column, whose numbers are positions in it; None if numeric.
    constant : bool
        Whether all rows are equal: such a column carries nothing.
    dates : bool
        Whether the numbers are days since 1970-01-01 UTC.
    ordered : bool
        Whether the levels have an order of their own, in which they are listed.
    boolean : bool
        Whether the numbers are 1 for true and 0 for false.
    """

    name: str
    levels: tuple[str, ...] | None = None
    constant: bool = False
    dates: bool = False
    ordered: bool = False
    boolean: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the column holds levels rather than numbers."""
        return self.levels is not None

    @property
    def kind(self) -> str:
        """What the column holds, in a word: text, dates or numbers."""
        return "text" if self.categorical else "dates" if self.dates else "numbers"

    def text(self, value: float) -> str:
        """Write a value of the column as a person would.

        Examples
        --------
        >>> Column("day", dates=True).text(18322.0), Column("day", dates=True).text(18322.6042)
        ('2020-03-01', '2020-03-01 14:30')
        >>> [Column("size").text(v) for v in (12345.0, 2103.4, 0.12345, -0.5, 3.2e-7)]
        ['12,345', '2,103', '0.1235', '-0.5', '3.2e-07']
        >>> Column("town", ("Oslo", "Rome")).text(1.0)
        'Rome'
        """
        if self.levels is not None:
            return self.levels[int(value)]
        return _moment(value) if self.dates and math.isfinite(value) else _number(value)


def _moment(days: float) -> str:
    day, time = str(np.datetime64(round(days * 24 * 60), "m")).split("T")
    return day if time == "00:00" else f"{day} {time}"


def _number(value: float) -> str:
    """Write a whole number with all its digits, and any other with up to four significant ones."""
    if not math.isfinite(value):
        return str(value)
    if value == round(value) and abs(value) < 1e15:
        return f"{value + 0.0:,.0f}"  # no negative zero
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    places = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def encode_levels(raw: AnyArray, column: Column, label: str) -> FloatArray:
    """Turn levels given by name into the numbers that `column` has for them."""
    levels = column.levels or ()
    known = {level: float(i) for i, level in enumerate(levels)}
    unknown = [str(value) for value in raw if str(value) not in known]
    if unknown:
        raise InputError(
            f"{label}: {unknown[0]!r} is not a level of column {column.name!r}. "
            f"Its levels are {', '.join(levels[:10])}{', ...' if len(levels) > 10 else ''}."
        )
    return np.array([known[str(value)] for value in raw], dtype=np.float64)
