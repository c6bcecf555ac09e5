"""Panels: what is off along each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condgof.check import Axis, Check, Slice
from condgof.check.curves import (
    ColumnPanel,
    Profile,
    bins_of,
    column_numbers,
    names_column,
    part_rows,
)
from condgof.report import _chart as c
from condgof.report._bins import bin_scale, shade
from condgof.report._chart import Chart, Ends
from condgof.report._dispatch import ProfileDrawing, profile_drawing

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


def column_panel(
    check: Check,
    axis: Axis,
    part: Slice | None = None,
    *,
    y: int | None = None,
    ends: Ends | None = None,
    wide: bool = False,
    numbers: ColumnPanel | None = None,
) -> Chart | None:
    """Draw residual quantiles, or shares, along a column by bin.

    `numbers` are those by bin, where they are known already.
    """
    if numbers is None:
        numbers = column_numbers(check, axis, part, y=y)
    if numbers is None:
        return None
    bins = bins_of(axis, check, part)
    drawing = profile_drawing(check.checked, numbers)
    up = ends or _ends([numbers])
    marks: list[c.Mark] = []
    if names_column(part, axis):
        marks.append(shade(bins.extent(axis, part_rows(check.checked, part)), up))
    marks += _profile_marks(numbers.profile, drawing, up)
    title = axis.title
    return Chart(
        title=f"{title}: {_panel_words(check, axis, drawing)}",
        x=bin_scale(bins),
        y=c.numeric(drawing.label, up, 5 if wide else 3),
        marks=tuple(marks),
        table=_profile_table(title, numbers, drawing),
        legend=c.keys(drawing.legend),
        size=WIDE_PANEL if wide else SMALL_PANEL,
        spots=c.Spots.places(len(numbers.bins)),
        name=f"column {axis.name}",
    )


def _profile_marks(profile: Profile, drawing: ProfileDrawing, up: Ends) -> list[c.Mark]:
    """Draw boxes if there are any, what is expected, and estimates with intervals."""
    at = np.arange(len(profile.estimate)) * 1.0
    last = len(profile.expected) - 1
    marks: list[c.Mark] = []
    if drawing.boxes:
        low, high = np.clip(profile.estimate[:, [0, last]].T, *up)
        marks.append(c.Boxes(at - HALF_BOX, at + HALF_BOX, low, high, drawing.boxes))
    # The first and the last estimate are the ends of boxes, where there are boxes.
    is_dot = [not drawing.boxes or 0 < k < last for k in range(last + 1)]
    for expected, dot in zip(profile.expected, is_dot, strict=True):
        marks.append(c.rule(expected, look="" if dot and drawing.boxes else "dashed"))
    for k in range(len(drawing.heads)):
        marks.append(
            c.Intervals(
                at=at,
                estimate=profile.estimate[:, k],
                low=profile.low[:, k],
                high=profile.high[:, k],
                kinds=tuple(drawing.colours[:, k]),
                size=DOT_SIZE if is_dot[k] else BOX_END_SIZE,
            )
        )
    return marks


def _profile_table(title: str, numbers: ColumnPanel, drawing: ProfileDrawing) -> c.Table:
    profile = numbers.profile
    columns: dict[str, Any] = {title: numbers.bins, "rows": numbers.rows}
    for k, head in enumerate(drawing.heads):
        columns[head] = profile.estimate[:, k]
        interval = c.spans(profile.low[:, k], profile.high[:, k])
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
    shown = check.pictures.columns[:most]
    if not shown:
        return []
    ends = _ends(shown)
    axes = {axis.name: axis for axis in check.checked.axes}
    charts = [
        column_panel(check, axes[one.column], ends=ends, wide=wide, numbers=one)
        for one in shown
    ]
    return [chart for chart in charts if chart is not None]


def _ends(shown: Sequence[ColumnPanel]) -> Ends:
    values = np.concatenate([one.profile.estimate.ravel() for one in shown])
    return c.robust_ends(values, shown[0].profile.expected, 0.15)
