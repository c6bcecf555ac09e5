"""The rows that were looked at as a pandas frame, on which every query of a slice is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray
from condgof.check._axes import WHOLE, moments, unique_names
from condgof.check._looked import Looked
from condgof.errors import require
from condgof.sample import Column

#: A column of the frame, and its values: numbers, or positions of levels.
Part: TypeAlias = tuple[Column, AnyArray]


def frame_of(looked: Looked) -> Any:
    """Return x, y, what is predicted, and residuals; the index is the number of each row in the data."""
    pandas = require("pandas", "frames", "A frame of the rows")
    seen = [(Column(axis.name, axis.levels), axis.values) for axis in looked.axes if axis.predicted]
    x = list(zip(looked.x_columns, looked.x.T, strict=True))
    y = list(zip(looked.y_columns, looked.y.T, strict=True))
    if looked.kind == "classes" and looked.codes is not None:
        y = [(Column(looked.y_columns[0].name, looked.class_names), looked.codes)]
    others = [part for part in _predicted(looked) if not any(_same(part, other) for other in seen)]
    others = [*y, *others, *_residuals(looked)]
    # What slices can name has the first choice of names.
    x_names = unique_names([column.name for column, _ in x], ())
    names = [*x_names, *(column.name for column, _ in seen)]
    other_names = unique_names([column.name for column, _ in others], names)
    parts = zip([*names, *other_names], x + seen + others, strict=True)
    values = {name: _values(pandas, column, numbers) for name, (column, numbers) in parts}
    order = dict.fromkeys([*x_names, *other_names[: len(y)], *values])
    frame = pandas.DataFrame({name: values[name] for name in order})
    frame.index = pandas.Index(looked.rows)
    return frame


def _predicted(looked: Looked) -> Iterator[Part]:
    """List what the model predicts of each row."""
    if looked.kind == "classes" and looked.probabilities is not None:
        p = np.asarray(looked.probabilities, dtype=np.float64)
        yield Column("predicted", looked.class_names), p.argmax(axis=1)
        yield Column("confidence"), p.max(axis=1)
    scale = "predicted_width" if looked.events else "predicted_sd"
    for name, values in (("predicted", looked.location), (scale, looked.scale)):
        yield from _each(looked, name, values)


def _residuals(looked: Looked) -> Iterator[Part]:
    """List how y compares with what the model says."""
    if looked.event is not None and looked.hazard is not None and looked.before is not None:
        yield Column("event"), looked.event.astype(np.int64)
        yield Column("cumulative_hazard"), looked.hazard
        if looked.before.any():
            yield Column("hazard_at_entry"), looked.before
    yield from _each(looked, "pit", looked.pit)
    yield from _each(looked, "z", looked.z)
    for event in looked.events:
        if looked.codes is not None:
            below = event.kind == "quantile"
            name = f"below_q{event.level:g}" if below else f"covered_{100 * event.level:g}"
            happened = event.happened(looked.codes)  # of a quantile: that y exceeds it
            yield Column(name, boolean=True), ~happened if below else happened


def _each(looked: Looked, name: str, values: AnyArray | None) -> Iterator[Part]:
    """List the columns of some values (n, d_y), named after columns of y if there are several."""
    for i, column in enumerate(looked.y_columns if values is not None else ()):
        single = len(looked.y_columns) == 1
        yield Column(name if single else f"{name}_{column.name}"), np.asarray(values)[:, i]


def _same(part: Part, other: Part) -> bool:
    return part[0].levels == other[0].levels and np.array_equal(part[1], other[1])


def _values(pandas: Any, column: Column, values: AnyArray) -> Any:
    """Return the values of a column as a user has them."""
    if column.levels is not None:
        codes = values.astype(np.int64)
        if column.ordered:
            return pandas.Categorical.from_codes(codes, list(column.levels), ordered=True)
        return pandas.Series(np.array(column.levels, dtype=object)[codes], dtype=object)
    if column.dates:
        return moments(values).astype("M8[us]")
    if column.boolean:
        return values.astype(bool)
    whole = np.all(np.abs(values) < WHOLE) and np.all(values == np.floor(values))
    return values.astype(np.int64) if whole else values
