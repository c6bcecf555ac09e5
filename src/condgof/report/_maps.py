"""Maps: two columns in cells, coloured by what is off there."""

from __future__ import annotations

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check import Axis, Check, Slice
from condgof.check.curves import FEW_ROWS, MapCells, map_cells
from condgof.report import _chart as c
from condgof.report._bins import ColumnBins, bins_of, names_column, part_rows
from condgof.report._chart import Chart, Ends
from condgof.report._dispatch import Differences, differences
from condgof.report._text import minus
from condgof.result import rounded

#: Most bins of each of the two columns.
MOST_BINS = 7
#: Half the width of a cell, in distances of neighbouring cells.
HALF_CELL = 0.5
#: Half the width of a cell with few rows, whose estimate is uncertain.
HALF_SMALL_CELL = 0.2
#: The least difference that has the strongest colour.
LEAST_TOP = 0.1


def map_of(check: Check, a: Axis, b: Axis, part: Slice | None = None) -> Chart | None:
    """Draw two columns in cells, coloured by what a slice is about, or what is most off."""
    shown = differences(check.checked, part)
    if shown is None:
        return None
    first = bins_of(a, check, part, MOST_BINS)
    second = bins_of(b, check, part, MOST_BINS)
    cells = map_cells(shown.values, first.codes, second.codes, of_spread=shown.of_spread)
    if cells is None:
        return None
    top = _top(cells)
    kinds = _colours(cells, top)
    half = np.where(cells.are_few, HALF_SMALL_CELL, HALF_CELL)
    x = cells.first * 1.0
    y = cells.second * 1.0
    marks: list[c.Mark] = [c.Boxes(x - half, x + half, y - half, y + half, kinds)]
    if names_column(part, a) or names_column(part, b):
        inside = part_rows(check.checked, part)
        left, right = _edges(a, first, part, inside)
        low, high = _edges(b, second, part, inside)
        outline_x = np.array([left, right, right, left, left])
        outline_y = np.array([low, low, high, high, low])
        marks.append(c.Line(outline_x, outline_y, "ink"))
    names_a = [first.names[k] for k in cells.first]
    names_b = [second.names[k] for k in cells.second]
    texts = [_written(shown, value) for value in cells.estimate]
    title = "No cell differs from the model by more than chance"
    if cells.differ:
        at = cells.furthest
        way = shown.high_way if cells.estimate[at] > 0 else shown.low_way
        where = f"{a.title} {names_a[at]} and {b.title} {names_b[at]}"
        title = f"The model is {way} above all at {where}: {texts[at]}"
    return Chart(
        title=title,
        x=first.scale,
        y=second.scale,
        marks=tuple(marks),
        table=c.table(
            {a.title: names_a, b.title: names_b, "data to model": texts, "rows": cells.rows}
        ),
        legend=_legend(shown, cells, top, kinds),
        size=(460, 340),
    )


def _top(cells: MapCells) -> float:
    """Return the difference that has the strongest colour."""
    large = np.abs(cells.estimate[~cells.are_few])
    return max(float(np.quantile(large, 0.9)) if len(large) else 0.0, LEAST_TOP)


def _colours(cells: MapCells, top: float) -> tuple[str, ...]:
    steps = np.clip(np.rint(cells.estimate / top * c.STEPS), -c.STEPS, c.STEPS)
    return tuple(f"s{step}" for step in steps.astype(int))


def _written(shown: Differences, value: float) -> str:
    number = float(np.exp(value) if shown.of_spread else value)
    return f"{minus(rounded(number))}{shown.unit}"


def _edges(axis: Axis, bins: ColumnBins, part: Slice | None, inside: AnyArray) -> Ends:
    """Return between which ends of a column the rows of a slice lie."""
    ranges = bins.extent(axis, inside) if names_column(part, axis) else []
    return (ranges[0][0], ranges[-1][1]) if ranges else bins.scale.ends


def _legend(
    shown: Differences, cells: MapCells, top: float, kinds: tuple[str, ...]
) -> tuple[c.Key, ...]:
    low: float | FloatArray = np.exp(-top) if shown.of_spread else top
    high: float | FloatArray = np.exp(top) if shown.of_spread else top
    low_sign = "≤" if shown.of_spread else "≥"
    low_words = f"{shown.low_way}, {low_sign} {rounded(float(low))}{shown.unit}"
    high_words = f"≥ {rounded(float(high))}{shown.unit}, {shown.high_way}"
    legend = [c.Key("ramp", "s0", f"{low_words}|{high_words}")]
    if cells.are_few.any():
        kind = kinds[int(np.argmax(cells.are_few))]
        legend.append(c.Key("small", kind, f"fewer than {FEW_ROWS} rows"))
    return tuple(legend)
