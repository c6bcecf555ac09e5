"""Columns in bins, and the rows of subgroups: what several curves share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check.curves._ranges import Ends
from condgof.check.kinds import CheckedRows
from condgof.errors import InputError
from condgof.result import number

if TYPE_CHECKING:
    from condgof.check._record import Check, Slice

#: A column is cut into at most this many bins, and at most this many levels are drawn.
MOST_BINS = 12
#: Rows of a bin, where the column has fewer than would fill the most bins.
ROWS_OF_BIN = 60
#: The fewest bins of a column with many values.
FEWEST_BINS = 4
#: The fewest rows of a level that is named: a report must not list the people of an id
#: column. Numbers of a bin with fewer rows are not in `Check.to_dict`.
FEWEST_ROWS = 5
#: Numbers from here on are rounded where they are ends of bins.
LONG_NUMBER = 1e5
#: Ranges of a slice that are closer than this, in widths of a bin, are drawn as one.
SAME_RANGE = 0.02


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """A column in B bins of about as many rows each, or in its levels."""

    codes: IntArray  #: The bin of each row, (n,); −1 for levels that are left out.
    names: tuple[str, ...]  #: (B,).
    title: str  #: The column, and how many of its levels these are.
    #: Where bins of many values begin, and where the last one ends, (B + 1,); () where
    #: each bin is one value.
    edges: tuple[str, ...] = ()
    #: The same as numbers; () where these are no numbers.
    values: tuple[float, ...] = ()

    @property
    def rows(self) -> list[IntArray]:
        """The positions of the rows of each bin."""
        return [np.flatnonzero(self.codes == b) for b in range(len(self.names))]

    @property
    def sizes(self) -> IntArray:
        """How many rows each bin has, (B,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def extent(self, axis: Axis, inside: AnyArray) -> list[Ends]:
        """Return the ranges that the rows `inside`, (n,) booleans, fill.

        Bin b reaches from b − ½ to b + ½.
        """
        ranges: list[Ends] = []
        for b, rows in enumerate(self.rows):
            values = axis.values[rows]
            within = values[inside[rows]] - values.min()
            if not len(within):
                continue
            width = float(np.ptp(values))
            left = within.min() / width if width else 0.0
            right = within.max() / width if width else 1.0
            start = b - 0.5 + float(left)
            if ranges and b - 0.5 + left - ranges[-1][1] < SAME_RANGE:
                start = ranges.pop()[0]
            ranges.append((start, b - 0.5 + float(right)))
        return ranges


def bins_of(
    axis: Axis, check: Check, part: Slice | None = None, most: int = MOST_BINS
) -> ColumnBins:
    """Cut a column: few values, and levels, each by itself; many values at quantiles."""
    if axis.levels is not None or len(np.unique(axis.values)) <= most:
        return _single_values(axis, check, part, most)
    return _ranges(axis, most)


def _single_values(axis: Axis, check: Check, part: Slice | None, most: int) -> ColumnBins:
    """Give each value its bin; of many those that subgroups name, and the largest."""
    distinct, inverse, sizes = np.unique(
        axis.values, return_inverse=True, return_counts=True
    )
    named_rows = [
        one.rows
        for one in (part, *check.slices)
        if one is not None and names_column(one, axis)
    ]
    rows = np.isin(check.checked.rows, np.concatenate([np.empty(0), *named_rows]))
    is_unnamed = ~np.isin(distinct, axis.values[rows])
    largest = np.sort(np.lexsort((-sizes, is_unnamed))[:most])
    if axis.levels is not None:
        largest = largest[sizes[largest] >= FEWEST_ROWS]
    place = np.full(len(distinct), -1)
    place[largest] = np.arange(len(largest))
    title = axis.title
    if len(largest) < len(distinct):
        title = f"{title}, {len(largest)} of {len(distinct):,} levels"
    return ColumnBins(
        codes=place[inverse],
        names=tuple(value_text(axis, float(distinct[k])) for k in largest),
        title=title,
    )


def _ranges(axis: Axis, most: int) -> ColumnBins:
    """Cut a column of many values at quantiles."""
    values = axis.values
    codes = axis.cut(int(np.clip(len(values) // ROWS_OF_BIN, FEWEST_BINS, most))).codes
    count = int(codes.max()) + 1
    low = [_end(axis, float(values[codes == b].min())) for b in range(count)]
    high = [_end(axis, float(values[codes == b].max())) for b in range(count)]
    return ColumnBins(
        codes=codes,
        names=tuple(a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)),
        title=axis.title,
        edges=(*low, high[-1]),
        values=_edge_values(axis, codes, count),
    )


def _edge_values(axis: Axis, codes: IntArray, count: int) -> tuple[float, ...]:
    """Return where bins of numbers begin, and where the last one ends; () of dates."""
    if axis.kind not in ("numbers", "integers"):
        return ()
    starts = [float(axis.values[codes == b].min()) for b in range(count)]
    return (*starts, float(axis.values[codes == count - 1].max()))


def _end(axis: Axis, value: float) -> str:
    """Write the end of a bin, which is the value of a row: long numbers are rounded."""
    is_long = axis.kind in ("numbers", "integers") and abs(value) >= LONG_NUMBER
    return value_text(axis, float(f"{value:.4g}") if is_long else value)


def value_text(axis: Axis, value: float) -> str:
    """Write a value of a column, with three digits where it is not whole."""
    return number(value) if axis.kind == "numbers" else axis.text(value)


def without_few(values: FloatArray, rows: IntArray) -> FloatArray:
    """Return values (B, …) with NaN for bins of fewer than `FEWEST_ROWS` of `rows` (B,)."""
    hidden = np.array(values, dtype=float)
    hidden[rows < FEWEST_ROWS] = np.nan
    return hidden


def names_column(part: Slice | None, axis: Axis) -> bool:
    """Whether the conditions of a subgroup name a column."""
    return part is not None and axis.name in [one.column for one in part.conditions]


def part_rows(checked: CheckedRows, part: Slice | None) -> AnyArray:
    """Return which rows of a check are in a subgroup, (n,) booleans; all without one."""
    if part is None:
        return np.ones(checked.n, bool)
    return np.isin(checked.rows, part.rows)


def part_y(checked: CheckedRows, part: Slice) -> int:
    """Return the column of y that the leading finding of a subgroup is about."""
    names = [column.name for column in checked.y_columns]
    lead = part.findings[0].column
    return names.index(lead) if lead in names else 0


def axis_of(checked: CheckedRows, column: str | None, y: int = 0) -> Axis | None:
    """Return the column that is named; else the only one of x, or what is predicted."""
    if column is not None:
        named = [axis for axis in checked.axes if column in (axis.name, axis.label)]
        if not named:
            names = ", ".join(repr(axis.name) for axis in checked.axes)
            raise InputError(f"There is no column {column!r} to draw. There are: {names}.")
        return named[0]
    of_x = [axis for axis in checked.axes if not axis.predicted]
    if len(of_x) == 1 or checked.moments is None:
        return of_x[0] if of_x else None
    label = f"predicted {checked.y_columns[y].name}"
    return Axis(
        name="predicted",
        kind="numbers",
        values=checked.moments.location[:, y],
        predicted=True,
        label=label,
    )
