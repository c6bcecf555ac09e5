"""Angles: residual angles against the predicted density, and the bias along columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel, overall_curves, subgroup_curves
from condgof.check.kinds import AngleHistogram, CircularRows, CircularScoreRows
from condgof.report import _chart as c
from condgof.report._bins import side_colours
from condgof.report._chart import Chart
from condgof.report._dispatch import (
    Picture,
    ProfileDrawing,
    available_pictures,
    first_pictures,
    profile_drawing,
    slice_facts,
    slice_picture,
    slice_quantiles,
)

#: The most rows of a subgroup that are named because they are furthest from the model.
MOST_NAMED = 5


def angles(checked: CircularRows, part: Slice | None = None) -> Chart | None:
    """Draw residual angles as a histogram, with what the model predicts of each bar."""
    curves = overall_curves(checked) if part is None else subgroup_curves(checked, part)
    return _angle_chart(checked, curves.get("angles"))


def _angle_chart(checked: CircularRows, bars: AngleHistogram | None) -> Chart | None:
    if bars is None:
        return None
    ends = (float(bars.edges[0]), float(bars.edges[-1]))
    middle = 0.5 * (bars.edges[1:] + bars.edges[:-1])
    outside = bars.side != 0
    title = f"{checked.y_name}: all {len(middle)} bars are inside the band"
    if outside.any():
        worst = int(np.argmax(np.where(outside, np.abs(bars.rows - bars.expected), 0.0)))
        text = checked.unit.text(float(middle[worst]))
        title = (
            f"{checked.y_name}: {bars.rows[worst]:,} rows at {text} from the predicted"
            f" direction, where the model expects {bars.expected[worst]:,.1f}"
        )
    top = 1.08 * float(max(bars.rows.max(), bars.high.max()))
    band = c.Boxes(
        left=bars.edges[:-1],
        right=bars.edges[1:],
        low=bars.low,
        high=bars.high,
        kinds=("band90",) * len(middle),
    )
    kinds = tuple(np.where(outside, "barx", "bar").tolist())
    return Chart(
        title=title,
        x=c.numeric(f"{checked.y_name} less its predicted direction, {bars.unit}", ends, 4),
        y=c.numeric("rows", (0.0, top), 4),
        marks=(
            c.bars(bars.edges, bars.rows, kinds),
            band,
            c.Line(middle, bars.expected),
        ),
        table=c.table(
            {
                "residual": c.spans(bars.edges[:-1], bars.edges[1:]),
                "rows": bars.rows,
                "expected": bars.expected,
            }
        ),
        legend=c.keys(
            f"box bar {bars.rows.sum():,} rows; box barx outside the band; line model what"
            " the model expects; box band90 where all bars end if it is right"
        ),
        size=(540, 330),
    )


@first_pictures.register
def _(checked: CircularRows, check: Check) -> list[Chart | None]:
    return [angles(checked)]


@first_pictures.register
def _(checked: CircularScoreRows, check: Check) -> list[Chart | None]:
    return []


@available_pictures.register
def _(checked: CircularRows) -> dict[str, Picture]:
    def draw_angles(check: Check, part: Slice | None = None) -> Chart | None:
        return angles(checked, part)

    return {"angles": draw_angles}


@available_pictures.register
def _(checked: CircularScoreRows) -> dict[str, Picture]:
    return {}


@slice_picture.register
def _(checked: CircularRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return _angle_chart(checked, curves.get("angles"))


@slice_picture.register
def _(checked: CircularScoreRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@slice_quantiles.register(CircularRows)
@slice_quantiles.register(CircularScoreRows)
def _(
    checked: CircularRows | CircularScoreRows, part: Slice, curves: Mapping[str, Any]
) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: CircularRows, panel: ColumnPanel) -> ProfileDrawing:
    """Draw the bias in each bin of a column."""
    profile = panel.profile
    words = ""
    at = profile.furthest
    if at is not None:
        bias = checked.unit.text(float(profile.estimate[at, 0]))
        words = f"observed less predicted {bias} at {panel.bins[at]}"
    name = f"observed less predicted, {checked.unit.name}"
    return ProfileDrawing(
        colours=side_colours(profile.side),
        heads=profile.names,
        words=words,
        label=name,
        legend=(
            "dashed model of the model; dot even the data; dot high predicted too small;"
            " dot low predicted too large"
        ),
    )


@profile_drawing.register
def _(checked: CircularScoreRows, panel: ColumnPanel) -> ProfileDrawing:
    raise AssertionError("Stein scores have no estimates along columns.")


@slice_facts.register
def _(checked: CircularRows, rows: IntArray) -> list[str]:
    furthest = rows[np.argsort(-np.abs(checked.angle[rows]), kind="stable")[:MOST_NAMED]]
    numbers = ", ".join(str(row) for row in checked.rows[furthest])
    return [f"Rows farthest from the predicted direction, counted from 0: {numbers}."]


@slice_facts.register
def _(checked: CircularScoreRows, rows: IntArray) -> list[str]:
    return []
