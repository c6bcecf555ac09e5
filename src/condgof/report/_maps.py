"""Maps: two columns in cells, coloured by what is off there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check import Axis, Check, Slice
from condgof.check.curves import (
    FEW_ROWS,
    MOST_MAP_BINS,
    ColumnBins,
    ColumnMap,
    MapCells,
    bins_of,
    column_map,
    names_column,
    part_rows,
)
from condgof.report import _chart as c
from condgof.report._bins import bin_scale
from condgof.report._chart import Chart, Ends
from condgof.report._text import minus
from condgof.result import rounded

#: Half the width of a cell, in distances of neighbouring cells.
HALF_CELL = 0.5
#: Half the width of a cell with few rows, whose estimate is uncertain.
HALF_SMALL_CELL = 0.2
#: The least difference that has the strongest colour.
LEAST_TOP = 0.1


class Ways(NamedTuple):
    """What the model is where data are less than it predicts, and where they are more."""

    low: str
    high: str


#: By what a map shows, `ColumnMap.quantity`.
WAYS = {
    "shift": Ways("too high", "too low"),
    "spread": Ways("too wide", "too narrow"),
    "class": Ways("too high", "too low"),
    "confidence": Ways("underconfident", "overconfident"),
    "quantile": Ways("too high", "too low"),
    "coverage": Ways("too wide", "too narrow"),
    "direction": Ways("too large", "too small"),
}


def map_of(
    check: Check,
    a: Axis,
    b: Axis,
    part: Slice | None = None,
    *,
    numbers: ColumnMap | None = None,
) -> Chart | None:
    """Draw two columns in cells, coloured by what a slice is about, or what is most off.

    `numbers` are those of the cells, where they are known already.
    """
    if numbers is None:
        numbers = column_map(check, a, b, part)
    if numbers is None:
        return None
    first = bins_of(a, check, part, MOST_MAP_BINS)
    second = bins_of(b, check, part, MOST_MAP_BINS)
    cells = numbers.cells
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
    names_a = [numbers.first_bins[k] for k in cells.first]
    names_b = [numbers.second_bins[k] for k in cells.second]
    texts = [_written(numbers, value) for value in cells.estimate]
    title = "No cell differs from the model by more than chance"
    if cells.differ:
        at = cells.furthest
        ways = WAYS[numbers.quantity]
        way = ways.high if cells.estimate[at] > 0 else ways.low
        where = f"{a.title} {names_a[at]} and {b.title} {names_b[at]}"
        title = f"The model is {way} above all at {where}: {texts[at]}"
    return Chart(
        title=title,
        x=bin_scale(first),
        y=bin_scale(second),
        marks=tuple(marks),
        table=c.table(
            {a.title: names_a, b.title: names_b, "data to model": texts, "rows": cells.rows}
        ),
        legend=_legend(numbers, top, kinds),
        size=(460, 340),
        spots=c.Spots(x - 0.5, x + 0.5, y - 0.5, y + 0.5),
    )


def _top(cells: MapCells) -> float:
    """Return the difference that has the strongest colour."""
    large = np.abs(cells.estimate[~cells.are_few])
    return max(float(np.quantile(large, 0.9)) if len(large) else 0.0, LEAST_TOP)


def _colours(cells: MapCells, top: float) -> tuple[str, ...]:
    steps = np.clip(np.rint(cells.estimate / top * c.STEPS), -c.STEPS, c.STEPS)
    return tuple(f"s{step}" for step in steps.astype(int))


def _unit(numbers: ColumnMap) -> str:
    return f" {numbers.unit}" if numbers.unit else ""


def _written(numbers: ColumnMap, value: float) -> str:
    shown = float(np.exp(value) if numbers.of_spread else value)
    return f"{minus(rounded(shown))}{_unit(numbers)}"


def _edges(axis: Axis, bins: ColumnBins, part: Slice | None, inside: AnyArray) -> Ends:
    """Return between which ends of a column the rows of a slice lie."""
    ranges = bins.extent(axis, inside) if names_column(part, axis) else []
    return (ranges[0][0], ranges[-1][1]) if ranges else bin_scale(bins).ends


def _legend(numbers: ColumnMap, top: float, kinds: tuple[str, ...]) -> tuple[c.Key, ...]:
    ways = WAYS[numbers.quantity]
    unit = _unit(numbers)
    low: float | FloatArray = np.exp(-top) if numbers.of_spread else top
    high: float | FloatArray = np.exp(top) if numbers.of_spread else top
    low_sign = "≤" if numbers.of_spread else "≥"
    low_words = f"{ways.low}, {low_sign} {rounded(float(low))}{unit}"
    high_words = f"≥ {rounded(float(high))}{unit}, {ways.high}"
    legend = [c.Key("ramp", "s0", f"{low_words}|{high_words}")]
    are_few = numbers.cells.are_few
    if are_few.any():
        kind = kinds[int(np.argmax(are_few))]
        legend.append(c.Key("small", kind, f"fewer than {FEW_ROWS} rows"))
    return tuple(legend)
