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
from condgof.sample import CONTENT_SEED, Seed
from condgof.stein import PreparedRows, RowsInMemory

#: Rows of a stream, drawn at random, from which all but the verdict is computed: they are
#: held in memory, and the verdict, which is computed by passes over the data, is of all.
STREAMED_ROWS = 20_000
#: The stream of random numbers (`Seed.stream`) that draws these rows. Each use of random
#: numbers in a check has a number of its own: 20, 23 and 24 are in
#: `condgof.check._better_where`, and 25 is in `condgof.check.kinds._bands`.
STREAMED_ROWS_STREAM = 26
#: Rows on which `is_monotone` is tried first. Most predictions are no function of a single
#: column, and these rows show it without sorting the whole sample.
SCREENING_ROWS = 64


class SelectedRows(NamedTuple):
    """The m rows that a check describes, in the three forms that it needs."""

    checked: CheckedRows  #: x, y, predictions and residuals, for numbers and pictures.
    law: Law  #: The predictive distribution of each of these rows.
    rows: RowsInMemory  #: The same rows as a test statistic takes them.


def select_rows(
    law_or_model: ModelLike, prepared: PreparedRows, seed: Seed, engine: Engine
) -> SelectedRows:
    """Take the rows of a check: all that are in memory, of a stream some at random.

    `law_or_model` is the law of all rows where they are in memory, else the model.
    """
    if isinstance(prepared, RowsInMemory):
        assert isinstance(law_or_model, Law)
        law = law_or_model
        rows = prepared
        kept = rows.sample.kept
        numbers = np.arange(rows.n) if kept is None else kept
    else:
        numbers = some_rows(prepared.n, STREAMED_ROWS, CONTENT_SEED, STREAMED_ROWS_STREAM)
        if len(prepared.left_out):
            kept = np.setdiff1d(np.arange(prepared.total), prepared.left_out)
            numbers = kept[numbers]
        law, rows = prepared.take(numbers, engine)
    checked = compare_rows(law, rows, numbers=numbers, whole=prepared.n)
    return SelectedRows(checked=checked.with_bands(law, seed), law=law, rows=rows)


def compare_rows(
    law: Law, rows: RowsInMemory, *, numbers: IntArray, whole: int
) -> CheckedRows:
    """Compare m rows with their law, and find the columns that subgroups can name.

    `numbers` (m,) are the numbers of the rows in the data, which has `whole` rows.
    """
    sample = rows.sample
    table = RowTable(
        rows=numbers,
        x_columns=sample.x_columns,
        x=sample.x,
        y_columns=sample.y_columns,
        y=sample.y,
        whole=whole,
        origin=sample.origin,
        weights=sample.weights,
    )
    checked = checked_rows(rows.residuals, table, law)
    predictions = checked.searched_predictions() if law.of_x else []
    axes = tuple(
        checked.query_predictions(axis) if axis.predicted else axis
        for axis in axes_of(sample.x_columns, sample.x, predictions, sample.y_columns)
    )
    return replace(checked, table=replace(table, axes=_without_redundant(axes)))


def _without_redundant(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Leave out predictions that are a monotone function of a single column of x.

    An interval of that column selects the same rows, in the user's own words.
    """
    columns = [axis.values for axis in axes if not axis.predicted and axis.levels is None]
    kept = []
    for axis in axes:
        is_predicted_number = axis.predicted and axis.levels is None
        if is_predicted_number and any(
            is_monotone(axis.values, values) for values in columns
        ):
            continue
        kept.append(axis)
    return tuple(kept)


def is_monotone(a: FloatArray, b: FloatArray) -> bool:
    """Whether a (n,) is an increasing or decreasing function of b (n,)."""
    few = np.linspace(0, len(a) - 1, min(len(a), SCREENING_ROWS)).astype(np.int64)
    return all(_is_monotone(a[some], b[some]) for some in (few, np.arange(len(a))))


def _is_monotone(a: FloatArray, b: FloatArray) -> bool:
    order = np.lexsort((a, b))
    steps = np.diff(a[order])
    # A function of b has one value where b has one.
    ties = np.diff(b[order]) == 0
    if (steps[ties] != 0).any():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all())
