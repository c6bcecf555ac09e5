"""Which rows a check compares: all in memory, of a stream some at random."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import Axis, axes_of
from condgof.check._sampled import some_rows
from condgof.check.kinds import CheckedRows, RowTable, checked_rows
from condgof.engine import Engine
from condgof.laws import Law, ModelLike
from condgof.sample import Seed
from condgof.stein import PreparedRows, RowsInMemory

#: Of a stream this many rows are compared; the verdict is of all.
STREAMED_ROWS = 20_000
#: The use of random numbers in a check for these rows; see `condgof.check._scan`.
STREAMED_ROWS_STREAM = 26
#: Rows that tell that a prediction is no function of one column, before all are compared.
FEW_ROWS = 64


class RowsOfCheck(NamedTuple):
    """The rows of a check, with their law, and as a test has them."""

    checked: CheckedRows
    law: Law
    rows: RowsInMemory


def look(
    law_or_model: ModelLike, prepared: PreparedRows, seed: Seed, engine: Engine
) -> RowsOfCheck:
    """Take the rows of a check: all that are in memory, of a stream some at random."""
    if isinstance(prepared, RowsInMemory):
        assert isinstance(law_or_model, Law)
        law = law_or_model
        rows = prepared
        kept = rows.sample.kept
        numbers = np.arange(rows.n) if kept is None else kept
    else:
        numbers = some_rows(prepared.n, STREAMED_ROWS, seed, STREAMED_ROWS_STREAM)
        law, rows = prepared.take(numbers, engine)
    checked = compare(law, rows, numbers=numbers, whole=prepared.n)
    return RowsOfCheck(checked=checked.with_bands(law, seed), law=law, rows=rows)


def compare(law: Law, rows: RowsInMemory, *, numbers: IntArray, whole: int) -> CheckedRows:
    """Compare rows with their law, and find the columns that subgroups can name."""
    sample = rows.sample
    table = RowTable(
        rows=numbers,
        x_columns=sample.x_columns,
        x=sample.x,
        y_columns=sample.y_columns,
        y=sample.y,
        whole=whole,
        origin=sample.origin,
    )
    checked = checked_rows(rows.residuals, table, law)
    predictions = checked.searched_predictions() if law.of_x else []
    axes = tuple(
        checked.query_predictions(axis) if axis.predicted else axis
        for axis in axes_of(sample.x_columns, sample.x, predictions, sample.y_columns)
    )
    return replace(checked, table=replace(table, axes=_without_told(axes)))


def _without_told(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Leave out predictions that a single column tells: its subgroups say it better."""
    columns = [axis.values for axis in axes if not axis.predicted and axis.levels is None]
    kept = []
    for axis in axes:
        is_number = axis.predicted and axis.levels is None
        if is_number and any(is_monotone(axis.values, values) for values in columns):
            continue
        kept.append(axis)
    return tuple(kept)


def is_monotone(a: FloatArray, b: FloatArray) -> bool:
    """Whether a (n,) is an increasing or decreasing function of b (n,)."""
    few = np.linspace(0, len(a) - 1, min(len(a), FEW_ROWS)).astype(np.int64)
    for some in (few, np.arange(len(a))):
        order = np.lexsort((a[some], b[some]))
        steps = np.diff(a[some][order])
        ties = np.diff(b[some][order]) == 0
        if not ((steps >= 0).all() or (steps <= 0).all()) or (steps[ties] != 0).any():
            return False
    return True
