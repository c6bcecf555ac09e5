"""Effects at other rows: which cell a row is in, and so by how much its law is corrected.

Cells of numbers and dates are told apart by the bounds that the report states, categories
by their names. The rows of the check are in the cells that they were learned in. A row with
a category, or a missing value, that the check had no rows of is not corrected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.check._axes import Axis, Cut, moments
from condgof.check.effects._analysis import Analysis
from condgof.check.effects._stages import Stage
from condgof.check.effects._tilts import ErrorKind
from condgof.errors import InputError
from condgof.sample import CodedColumn, Column, Sample, Variables, read_table

#: The code of a row that is in no cell.
NO_CELL = -1


class AxisValues(NamedTuple):
    """The values of one axis at some rows."""

    #: Numbers, days since 1970, or positions in `levels`, (n,); NaN where there is none.
    values: FloatArray
    levels: tuple[str, ...] | None  #: Categories; None of numbers and dates.


@dataclass(frozen=True, eq=False)
class AxisCells:
    """The cells of one axis."""

    count: int  #: Their number.
    #: Where each cell but the first begins, (count − 1,); None of categories.
    bounds: AnyArray | None
    dates: bool  #: Whether bounds are microseconds, and values days.
    code_by_name: Mapping[str, int]  #: The cell of each category; empty of numbers.

    @classmethod
    def from_cut(cls, axis: Axis, cut: Cut) -> AxisCells:
        """Return the cells that an axis was cut into."""
        if axis.levels is None:
            bounds = axis.bounds(cut)
            return cls(cut.count, bounds, axis.kind == "dates", code_by_name={})
        if axis.unordered:
            codes = _codes_of_categories(axis, cut)
        else:
            positions = np.arange(len(axis.levels))
            codes = np.searchsorted(cut.low[1:], positions, side="right")
        named = zip(axis.levels, codes.tolist(), strict=True)
        by_name = {name: code for name, code in named if code != NO_CELL}
        return cls(cut.count, bounds=None, dates=False, code_by_name=by_name)

    def codes(self, at: AxisValues) -> IntArray:
        """Return the cell of each row, (n,), `NO_CELL` where there is none."""
        is_known = ~np.isnan(at.values)
        values = np.where(is_known, at.values, 0.0)
        if self.bounds is not None:
            places: AnyArray = moments(values) if self.dates else values
            codes = np.searchsorted(self.bounds, places, side="right")
        else:
            names = at.levels or ()
            by_level = [self.code_by_name.get(name, NO_CELL) for name in names]
            codes = np.array([*by_level, NO_CELL])[values.astype(np.int64)]
        return np.where(is_known, codes, NO_CELL)


def _codes_of_categories(axis: Axis, cut: Cut) -> IntArray:
    """Return the cell of each category of an axis, `NO_CELL` of those without rows."""
    assert axis.levels is not None
    places = axis.values.astype(np.int64)
    codes = np.full(len(axis.levels), NO_CELL)
    codes[places] = cut.codes
    return codes


@dataclass(frozen=True, eq=False)
class EffectRule:
    """One effect as a function of the values of its axes."""

    kind: ErrorKind
    number: int  #: The position of the kind among those of the tilt.
    axes: tuple[Axis, ...]  #: None, one or two.
    cells: tuple[AxisCells, ...]  #: Those of each axis.
    theta: FloatArray  #: θ of each cell, of the first axis one after the other.
    rows: FloatArray  #: The rows of each cell in the check, as many numbers.

    @classmethod
    def from_stage(cls, analysis: Analysis, stage: Stage) -> EffectRule:
        """Return the rule of an effect, as it was learned."""
        cells = analysis.state.cells
        candidate = stage.candidate
        partition = cells.partitions[candidate.partition]
        axes = tuple(analysis.axes[a] for a in partition.axes)
        cuts = zip(axes, partition.cuts, strict=True)
        return cls(
            kind=analysis.state.tilt.kinds[candidate.kind],
            number=candidate.kind,
            axes=axes,
            cells=tuple(AxisCells.from_cut(axis, cut) for axis, cut in cuts),
            theta=np.asarray(stage.fit.theta, dtype=np.float64),
            rows=cells.rows[cells.of_partition(candidate.partition)],
        )

    def codes_at(self, values: Sequence[AxisValues], n: int) -> IntArray:
        """Return the cell of n rows from the values of the rule's axes, (n,).

        `NO_CELL` where a row is in none.
        """
        code = np.zeros(n, dtype=np.int64)
        has_cell = np.ones(n, dtype=bool)
        for cells, at in zip(self.cells, values, strict=True):
            own = cells.codes(at)
            has_cell &= own != NO_CELL
            code = code * cells.count + np.maximum(own, 0)
        return np.where(has_cell, code, NO_CELL)

    def theta_at(self, values: Sequence[AxisValues], n: int) -> FloatArray:
        """Return θ of n rows from the values of the rule's axes, (n,)."""
        codes = self.codes_at(values, n)
        return np.where(codes != NO_CELL, self.theta[codes], 0.0)

    @property
    def occupied(self) -> FloatArray:
        """θ of the cells that have rows in the check."""
        return self.theta[self.rows > 0]


class CheckedColumn(NamedTuple):
    """A column as the check had it, and where it comes from."""

    column: Column
    given: int  #: The position of the user's column.
    is_indicator: bool  #: Whether it says where values of the user's column are missing.
    #: What stands for a missing value: a number, or the position of a category; NaN where
    #: none was missing.
    filling: float
    low: float  #: The smallest value in the check.
    high: float  #: The largest.


@dataclass(frozen=True, eq=False)
class AxisReader:
    """Reads the values of axes at other rows, from x and from what is predicted."""

    names: tuple[str, ...]  #: The user's columns of x.
    columns: tuple[CheckedColumn, ...]  #: Those of the check.

    @classmethod
    def from_sample(cls, sample: Sample) -> AxisReader:
        """Learn how the columns of a check come from those of the user."""
        table = read_table(sample.x_given, "x")
        columns: list[CheckedColumn] = []
        for given, values in enumerate(table.values.T):
            is_missing = np.isnan(values)
            own = sample.x_columns[len(columns)]
            own_values = sample.x[:, len(columns)]
            one = CheckedColumn(
                column=own,
                given=given,
                is_indicator=False,
                filling=float(own_values[is_missing][0]) if is_missing.any() else np.nan,
                low=float(own_values.min()),
                high=float(own_values.max()),
            )
            columns.append(one)
            if is_missing.any() and own.levels is None:
                indicator = sample.x_columns[len(columns)]
                columns.append(one._replace(column=indicator, is_indicator=True))
        return cls(tuple(column.name for column in table.columns), tuple(columns))

    def read(self, x: TableLike) -> Variables:
        """Read x at other rows, by the names of its columns or else by their position."""
        table = read_table(x, "x")
        names = [column.name for column in table.columns]
        order = list(range(len(self.names)))
        if all(name in names for name in self.names):
            order = [names.index(name) for name in self.names]
        elif len(names) != len(self.names):
            raise InputError(
                f"The repair was learned on the columns {', '.join(self.names)} of x, and"
                f" x has {', '.join(names)}. Pass x with the same columns."
            )
        columns = tuple(table.columns[i] for i in order)
        return replace(table, values=table.values[:, order], columns=columns)

    def at(
        self, axis: Axis, table: Variables, predictions: Sequence[CodedColumn]
    ) -> AxisValues:
        """Return the values of an axis.

        `table` is x of other rows, from `read`, and `predictions` are what their law
        predicts.
        """
        if axis.predicted:
            column, values = predictions[axis.source[0]]
            return AxisValues(np.asarray(values, dtype=np.float64), column.levels)
        each = [self._column(self.columns[i], table) for i in axis.source]
        if len(each) > 1:
            return _category_of_dummies(axis, np.column_stack([one.values for one in each]))
        if axis.kind == "two":
            checked = self.columns[axis.source[0]]
            return _one_of_two(axis, each[0].values, checked.low, checked.high)
        return each[0]

    def values_at(self, table: Variables) -> list[AxisValues]:
        """Return all columns of the check at the rows of `table`, from `read`."""
        return [self._column(column, table) for column in self.columns]

    def _column(self, checked: CheckedColumn, table: Variables) -> AxisValues:
        """Return one column of the check at the rows of `table`."""
        column = table.columns[checked.given]
        values = table.values[:, checked.given]
        is_missing = np.isnan(values)
        if checked.is_indicator:
            return AxisValues(is_missing.astype(np.float64), checked.column.levels)
        if column.kind != checked.column.kind and not is_missing.all():
            raise InputError(
                f"x column {self.names[checked.given]!r} held {checked.column.kind}, and"
                f" now holds {column.kind}."
            )
        if checked.column.levels is None:
            return AxisValues(np.where(is_missing, checked.filling, values), None)
        # The categories of these rows, and after them that of missing values.
        levels = column.levels or ()
        missing = np.nan
        if not np.isnan(checked.filling):
            missing = float(len(levels))
            levels = (*levels, checked.column.levels[int(checked.filling)])
        return AxisValues(np.where(is_missing, missing, values), levels)


def _category_of_dummies(axis: Axis, values: FloatArray) -> AxisValues:
    """Return the category of columns of 0 and 1, (n, k).

    NaN where several are 1, or any is another number or missing.
    """
    is_dummy = ((values == 0.0) | (values == 1.0)).all(axis=1)
    total = values.sum(axis=1)
    position = np.where(total == 0, values.shape[1], values.argmax(axis=1))
    is_known = is_dummy & (total <= 1)
    # Rows of no category are one more category, if the check had such rows.
    is_known &= position < len(axis.levels or ())
    return AxisValues(np.where(is_known, position, np.nan), axis.levels)


def _one_of_two(axis: Axis, values: FloatArray, low: float, high: float) -> AxisValues:
    """Return which of its two values a column (n,) has; NaN where it has another."""
    is_known = (values == low) | (values == high)
    position = (values == high).astype(np.float64)
    return AxisValues(np.where(is_known, position, np.nan), axis.levels)
