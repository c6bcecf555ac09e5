"""Panels: what is off along each column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from condgof.check import Axis, Check, Slice
from condgof.report import _chart as c
from condgof.report._bins import ColumnBins, bins_of, names_column, part_rows, shade
from condgof.report._chart import Chart, Ends
from condgof.report._dispatch import ProfileDrawing, along_column, row_residuals
from condgof.report._residuals import strongest_column

#: Half the width of the box of a bin, in distances of neighbouring bins.
HALF_BOX = 0.34
#: Diameter of the dot of an estimate, in pixels.
DOT_SIZE = 6.5
#: Diameter of the dot at the end of a box, in pixels: the box itself shows that end.
BOX_END_SIZE = 1.0
#: Width and height of a panel by itself, in pixels.
WIDE_PANEL = (540, 320)
#: Width and height of a panel among others, in pixels.
SMALL_PANEL = (330, 210)


class _Panel(NamedTuple):
    """A column that can be drawn."""

    explained: float  #: The mean square of estimates between its bins.
    axis: Axis
    drawing: ProfileDrawing


def column_panel(
    check: Check,
    axis: Axis,
    part: Slice | None = None,
    *,
    y: int | None = None,
    ends: Ends | None = None,
    wide: bool = False,
) -> Chart | None:
    """Draw residual quantiles, or shares, along a column by bin."""
    bins = bins_of(axis, check, part)
    drawing = _drawing(check, bins, y)
    if drawing is None:
        return None
    up = ends or _ends([drawing])
    marks: list[c.Mark] = []
    if names_column(part, axis):
        marks.append(shade(bins.extent(axis, part_rows(check.checked, part)), up))
    marks += _profile_marks(drawing, up)
    title = axis.title
    return Chart(
        title=f"{title}: {_panel_words(check, axis, drawing)}",
        x=bins.scale,
        y=c.numeric(drawing.label, up, 5 if wide else 3),
        marks=tuple(marks),
        table=_profile_table(title, bins, drawing),
        legend=c.keys(drawing.legend),
        size=WIDE_PANEL if wide else SMALL_PANEL,
    )


def _drawing(check: Check, bins: ColumnBins, y: int | None) -> ProfileDrawing | None:
    """Return the estimates of column `y`, or of the column of y that is most off."""
    if not bins.names:
        return None
    checked = check.checked
    if y is None:
        y = strongest_column(row_residuals(checked))
    return along_column(checked, bins, y)


def _profile_marks(drawing: ProfileDrawing, up: Ends) -> list[c.Mark]:
    """Draw boxes if there are any, what is expected, and estimates with intervals."""
    at = np.arange(len(drawing.values)) * 1.0
    last = len(drawing.expected) - 1
    marks: list[c.Mark] = []
    if drawing.boxes:
        low, high = np.clip(drawing.values[:, [0, last]].T, *up)
        marks.append(c.Boxes(at - HALF_BOX, at + HALF_BOX, low, high, drawing.boxes))
    # The first and the last estimate are the ends of boxes, where there are boxes.
    is_dot = [not drawing.boxes or 0 < k < last for k in range(last + 1)]
    for expected, dot in zip(drawing.expected, is_dot, strict=True):
        marks.append(c.rule(expected, look="" if dot and drawing.boxes else "dashed"))
    for k in range(len(drawing.heads)):
        marks.append(
            c.Intervals(
                at=at,
                estimate=drawing.values[:, k],
                low=drawing.low[:, k],
                high=drawing.high[:, k],
                kinds=tuple(drawing.colours[:, k]),
                size=DOT_SIZE if is_dot[k] else BOX_END_SIZE,
            )
        )
    return marks


def _profile_table(title: str, bins: ColumnBins, drawing: ProfileDrawing) -> c.Table:
    columns: dict[str, Any] = {title: bins.names, "rows": bins.sizes}
    for k, head in enumerate(drawing.heads):
        columns[head] = drawing.values[:, k]
        interval = c.spans(drawing.low[:, k], drawing.high[:, k])
        columns[f"95% interval of {head}"] = interval
    return c.table(columns)


def _panel_words(check: Check, axis: Axis, drawing: ProfileDrawing) -> str:
    """Describe the first slice of this column alone; else the bin that stands out most."""
    for part in check.slices:
        if {one.column for one in part.conditions} == {axis.name}:
            return f"{part.direction} where {part.words}"
    return drawing.words or "no single bin differs significantly (5% for all bins together)"


def panels(check: Check, most: int = 12, *, wide: bool = False) -> list[Chart]:
    """Return panels of the columns that explain most, the first first, on one y axis."""
    y = strongest_column(row_residuals(check.checked))
    found: list[_Panel] = []
    for axis in check.checked.axes:
        bins = bins_of(axis, check)
        drawing = _drawing(check, bins, y)
        if drawing is not None:
            found.append(_Panel(_explained(bins, drawing), axis, drawing))
    found = sorted(found, key=lambda one: -one.explained)[:most]
    if not found:
        return []
    ends = _ends([one.drawing for one in found])
    charts = [column_panel(check, one.axis, y=y, ends=ends, wide=wide) for one in found]
    return [chart for chart in charts if chart is not None]


def _explained(bins: ColumnBins, drawing: ProfileDrawing) -> float:
    """Return what a column explains: the mean square between its bins."""
    n = np.array(bins.sizes)[:, None]
    values = drawing.values
    between = n * np.square(values - np.sum(n * values, axis=0) / n.sum())
    return float(between.sum() / max(len(n) - 1, 1))


def _ends(drawings: list[ProfileDrawing]) -> Ends:
    values = np.concatenate([one.values.ravel() for one in drawings])
    return c.robust_ends(values, drawings[0].expected, 0.15)
