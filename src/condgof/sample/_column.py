"""Columns of x and y: name, kind, how values are written, and units to compare them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError, check_choice
from condgof.sample._arrays import as_moments

#: How many levels a message lists.
LISTED_LEVELS = 10
MINUTES_PER_DAY = 24 * 60


class Kind(StrEnum):
    """What a column holds, in a word for messages."""

    NUMBERS = "numbers"
    TEXT = "text"
    DATES = "dates"
    #: Of a file: nothing but missing values.
    NOTHING = "nothing"
    #: Of a file: what cannot be read, such as lists.
    OTHER = "else"


@dataclass(frozen=True)
class Column:
    """One column of x or y, whose values are numbers: see `decode` for what they mean."""

    #: The user's name for it, or a made-up one for arrays.
    name: str
    #: The levels of a categorical column, whose numbers are positions in this tuple; None
    #: if the column is not categorical.
    levels: tuple[str, ...] | None = None
    #: Whether all rows are equal: such a column carries nothing.
    constant: bool = False
    #: Whether the numbers are days since 1970-01-01 UTC.
    dates: bool = False
    #: Whether these dates came with a time zone, so that a reader must be told that they
    #: are in UTC.
    utc: bool = False
    #: Whether the levels have an order of their own, in which they are listed.
    ordered: bool = False
    #: Whether the numbers 0 and 1 stand for false and true.
    boolean: bool = False

    @property
    def categorical(self) -> bool:
        return self.levels is not None

    @property
    def kind(self) -> Kind:
        """What the column holds: text, dates or numbers."""
        if self.categorical:
            return Kind.TEXT
        return Kind.DATES if self.dates else Kind.NUMBERS

    def text(self, value: float) -> str:
        """Write one value of a column of levels or dates, the latter to the minute."""
        if self.levels is not None:
            return self.levels[int(value)]
        moment = np.datetime64(round(value * MINUTES_PER_DAY), "m")
        day, time = str(moment).split("T")
        written = day if time == "00:00" else f"{day} {time}"
        return f"{written} UTC" if self.utc else written

    def decode(self, values: AnyArray) -> AnyArray:
        """Return numbers (n,) of this column as the user has them.

        Levels become text (an array of objects), days become ``datetime64[us]`` in UTC, 0
        and 1 of a boolean column become false and true, and numbers stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> Column("town", levels=("Oslo", "Rome")).decode(np.array([1.0, 0.0])).tolist()
        ['Rome', 'Oslo']
        """
        if self.levels is not None:
            return np.array(self.levels, dtype=object)[values.astype(np.int64)]
        if self.dates:
            return as_moments(values)
        return values.astype(bool) if self.boolean else values


def encode_levels(raw: AnyArray, column: Column, label: str) -> FloatArray:
    """Turn levels given by name (n,) into the numbers that `column` has for them."""
    levels = column.levels or ()
    positions = {level: float(i) for i, level in enumerate(levels)}
    names = [str(value) for value in raw]
    for name in names:
        if name not in positions:
            more = ", ..." if len(levels) > LISTED_LEVELS else ""
            listed = ", ".join(levels[:LISTED_LEVELS]) + more
            raise InputError(
                f"{label}: {name!r} is not a level of column {column.name!r}. Its levels"
                f" are {listed}."
            )
    return np.array([positions[name] for name in names], dtype=np.float64)


class RankScores(NamedTuple):
    """An increasing map of a column to normal scores, linear between the sorted values."""

    #: The distinct values of the column, sorted, (m,).
    values: FloatArray
    #: Φ⁻¹ of the mean rank of each of these values, divided by the number of rows, (m,).
    scores: FloatArray

    @classmethod
    def from_values(cls, values: FloatArray) -> RankScores:
        """Take the ranks of a column (n,); equal values share the middle of their ranks."""
        from scipy.special import ndtri

        distinct, counts = np.unique(values, return_counts=True)
        middle = np.cumsum(counts) - 0.5 * counts
        return cls(values=distinct, scores=np.asarray(ndtri(middle / len(values))))


@dataclass(frozen=True, eq=False)
class XUnits:
    """A map of x, column by column and increasing in each, to the units kernels compare."""

    #: What columns are divided by, (d_x,).
    scales: FloatArray
    #: The normal scores of columns that are compared by ranks, None for others. Any
    #: increasing change of such a column's unit leaves its scores alone, and an outlier is
    #: only the largest.
    knots: tuple[RankScores | None, ...]

    @classmethod
    def from_rows(cls, x: FloatArray, columns: Sequence[Column], scale_x: str) -> XUnits:
        """Take the units from rows x (n, d_x).

        Parameters
        ----------
        x : array, (n, d_x)
        columns : sequence of Column, d_x of them
            Levels and constant columns stay as they are.
        scale_x : {"ranks", "std", "none"}
            Normal scores of ranks, division by the standard deviation, or neither.
        """
        check_choice(scale_x, "scale_x", ("ranks", "std", "none"))
        scales = np.ones(x.shape[1])
        knots: list[RankScores | None] = [None] * x.shape[1]
        for i, column in enumerate(columns):
            if column.categorical or column.constant:
                continue
            if scale_x == "ranks":
                knots[i] = RankScores.from_values(x[:, i])
            elif scale_x == "std":
                with np.errstate(over="ignore", invalid="ignore"):
                    scales[i] = x[:, i].std(ddof=1)
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise NumericalError(
                "The standard deviation of a column of x overflows or is 0 to rounding."
                " Rescale x, or pass scale_x='ranks'."
            )
        return cls(scales, tuple(knots))

    def apply(self, x: FloatArray, back: bool = False) -> FloatArray:
        """Bring x (n, d_x) to these units, or from them `back` to the user's."""
        any_ranked = any(knot is not None for knot in self.knots)
        if not back and (self.scales == 1.0).all() and not any_ranked:
            return x
        out: FloatArray = x * self.scales if back else x / self.scales
        for i, knot in enumerate(self.knots):
            if knot is None:
                continue
            if back:
                out[:, i] = np.interp(x[:, i], knot.scores, knot.values)
            else:
                out[:, i] = np.interp(x[:, i], knot.values, knot.scores)
        return out

    def joined(self, other: XUnits) -> XUnits:
        """Return the units of x with the columns of `other` after its own."""
        return XUnits(np.append(self.scales, other.scales), (*self.knots, *other.knots))
