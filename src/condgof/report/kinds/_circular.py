"""Angles: residual angles against the predicted density, and the bias along columns."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.kinds import CircularRows, CircularScoreRows
from condgof.report import _chart as c
from condgof.report._bins import ColumnBins, part_rows, side_colours
from condgof.report._chart import Chart
from condgof.report._dispatch import (
    Differences,
    Picture,
    ProfileDrawing,
    RowResiduals,
    along_column,
    available_pictures,
    differences,
    first_pictures,
    row_residuals,
    slice_facts,
    slice_picture,
    slice_quantiles,
)

#: The most rows of a subgroup that are named because they are furthest from the model.
MOST_NAMED = 5


def angles(checked: CircularRows, part: Slice | None = None) -> Chart | None:
    """Draw residual angles as a histogram, with what the model predicts of each bar."""
    rows = np.flatnonzero(part_rows(checked, part))
    if not len(rows):
        return None
    bars = checked.histogram(rows)
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
            f"box bar {len(rows):,} rows; box barx outside the band; line model what the"
            " model expects; box band90 where all bars end if it is right"
        ),
        size=(540, 330),
    )


@row_residuals.register(CircularRows)
@row_residuals.register(CircularScoreRows)
def _(checked: CircularRows | CircularScoreRows) -> RowResiduals | None:
    return None


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
def _(checked: CircularRows, check: Check, part: Slice) -> Chart | None:
    return angles(checked, part)


@slice_picture.register
def _(checked: CircularScoreRows, check: Check, part: Slice) -> Chart | None:
    return None


@slice_quantiles.register(CircularRows)
@slice_quantiles.register(CircularScoreRows)
def _(checked: CircularRows | CircularScoreRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: CircularRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    """Draw the bias in each bin of a column."""
    profile = checked.bias_profile(bins.rows)
    words = ""
    if profile.side.any():
        at = int(np.argmax(np.where(profile.side != 0, np.abs(profile.estimate), -1.0)))
        bias = checked.unit.text(float(profile.estimate[at]))
        words = f"observed less predicted {bias} at {bins.names[at]}"
    name = f"observed less predicted, {checked.unit.name}"
    return ProfileDrawing(
        values=profile.estimate[:, None],
        low=profile.low[:, None],
        high=profile.high[:, None],
        expected=(0.0,),
        colours=side_colours(profile.side[:, None]),
        heads=("bias",),
        words=words,
        label=name,
        legend=(
            "dashed model of the model; dot even the data; dot high predicted too small;"
            " dot low predicted too large"
        ),
    )


@along_column.register
def _(checked: CircularScoreRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    return None


@differences.register
def _(checked: CircularRows, part: Slice | None) -> Differences | None:
    return Differences(
        values=checked.unit.from_radians(checked.angle),
        low_way="too large",
        high_way="too small",
        unit=f" {checked.unit.name}",
    )


@differences.register
def _(checked: CircularScoreRows, part: Slice | None) -> Differences | None:
    return None


@slice_facts.register
def _(checked: CircularRows, rows: IntArray) -> list[str]:
    furthest = rows[np.argsort(-np.abs(checked.angle[rows]), kind="stable")[:MOST_NAMED]]
    numbers = ", ".join(str(row) for row in checked.rows[furthest])
    return [f"Rows farthest from the predicted direction, counted from 0: {numbers}."]


@slice_facts.register
def _(checked: CircularScoreRows, rows: IntArray) -> list[str]:
    return []
