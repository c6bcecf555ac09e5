"""The frame of a check: x, y, what is predicted, and residuals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray
from condgof.check._axes import WHOLE, moments, prefixed_names, unique_names
from condgof.check.kinds import CheckedRows, FrameColumn
from condgof.sample import Column, FrameOrigin


class FrameParts(NamedTuple):
    """The columns of the frame of a check, by the names that they have there."""

    x: dict[str, FrameColumn]
    y: dict[str, FrameColumn]
    predicted: dict[str, FrameColumn]
    #: What y is compared with its law by: residuals, and whether an interval covers y.
    comparison: dict[str, FrameColumn]


def frame_of(checked: CheckedRows) -> Any:
    """Return x, y, what is predicted, and residuals as a frame of the user's library.

    Frames of pandas and modin have the labels of the user's rows as their index, or the
    number of each row in the data where the user's rows have no labels.
    """
    parts = name_columns(checked)
    columns = {**parts.x, **parts.y, **parts.predicted, **parts.comparison}
    return checked.table.origin.build(columns, checked.rows)


def numbered_frame(checked: CheckedRows) -> Any:
    """Return x and what is predicted, all that is known before y, as a frame of pandas.

    Its index is the number of each row in the data, whatever labels the user's rows have,
    so that rows that a query selects can be found.
    """
    parts = name_columns(checked)
    return FrameOrigin().build({**parts.x, **parts.predicted}, checked.rows)


def name_columns(checked: CheckedRows) -> FrameParts:
    """Name the columns of the frame, those of the user first.

    Columns of x and y keep their names, as far as `DataFrame.query` can tell these apart
    (see `unique_names`); columns of condgof's own give way to them (see `prefixed_names`).
    """
    x = [
        FrameColumn(column, values)
        for column, values in zip(checked.x_columns, checked.x.T, strict=True)
    ]
    y = list(checked.y_frame_columns())
    predicted = list(checked.predicted_columns())
    comparison = list(checked.comparison_columns())
    if checked.weights is not None:
        comparison.append(FrameColumn(Column("weight"), checked.weights))

    x_names = unique_names(_wanted_names(x), ())
    y_names = unique_names(_wanted_names(y), x_names)
    # Columns of 0 and 1 that are one category have one more name, which subgroups use.
    searched = [axis.name for axis in checked.axes if not axis.predicted]
    ours = prefixed_names(
        _wanted_names([*predicted, *comparison]), [*x_names, *y_names, *searched]
    )
    return FrameParts(
        x=dict(zip(x_names, x, strict=True)),
        y=dict(zip(y_names, y, strict=True)),
        predicted=dict(zip(ours[: len(predicted)], predicted, strict=True)),
        comparison=dict(zip(ours[len(predicted) :], comparison, strict=True)),
    )


def _wanted_names(columns: Iterable[FrameColumn]) -> list[str]:
    return [part.column.name for part in columns]


def column_values(column: Column, values: AnyArray) -> AnyArray:
    """Return the values of a column as users know them: labels, dates, whole numbers."""
    if column.levels is not None:
        return np.array(column.levels, dtype=object)[values.astype(np.int64)]
    if column.dates:
        return moments(values).astype("M8[us]")
    if column.boolean:
        return values.astype(bool)
    whole = np.all(np.abs(values) < WHOLE) and np.all(values == np.floor(values))
    return values.astype(np.int64) if whole else values
