"""Censored times: the estimate of Kaplan and Meier, and events over those expected."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import event_profile, survival_curve, thinned_steps
from condgof.check.kinds import CensoredRows
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
from condgof.result import number

#: The most steps of an estimate that are drawn.
MOST_STEPS = 400
#: About as many steps are in the table.
TABLE_STEPS = 12
#: Points of the model's curve.
CURVE_POINTS = 161


def survival(checked: CensoredRows, part: Slice | None = None) -> Chart | None:
    """Draw the estimate of Λ, unit exponential under the model, with a band around that."""
    rows = np.flatnonzero(part_rows(checked, part))
    curve = survival_curve(checked, rows)
    if curve is None:
        return None
    at = curve.hazard
    last = float(at[-1])
    few = thinned_steps(len(at), MOST_STEPS)
    grid = np.linspace(0.0, last, CURVE_POINTS)
    steps_x = np.repeat(np.append(0.0, at[few]), 2)[1:]
    steps_y = np.repeat(np.append(1.0, curve.survival[few]), 2)[:-1]
    title = "Rows survive as long as the model says"
    if curve.outside.any():
        distance = np.abs(curve.survival - curve.expected)
        k = int(np.argmax(np.where(curve.outside, distance, 0.0)))
        share = number(curve.survival[k], 2)
        expected = number(curve.expected[k], 2)
        title = f"{share} of the rows survive where the model says {expected}"
    some = few[:: max(1, len(few) // TABLE_STEPS)]
    return Chart(
        title=title,
        x=c.numeric("cumulative hazard of the model, −log P(Y > y|x)", (0.0, 1.02 * last)),
        y=c.numeric("share without event", (0.0, 1.03), 5),
        marks=(
            c.Band(at[few], curve.low[few], curve.high[few]),
            c.Line(grid, np.exp(-grid)),
            c.Line(steps_x, steps_y, "data"),
        ),
        table=c.table(
            {
                "events expected by then": at[some],
                "survive": curve.survival[some],
                "model": curve.expected[some],
            }
        ),
        legend=c.keys(
            f"line data Kaplan-Meier estimate of {len(rows):,} rows;"
            " line model the model; box band90 95% band if it is right"
        ),
        size=(540, 330),
    )


@row_residuals.register
def _(checked: CensoredRows) -> RowResiduals | None:
    return None


@first_pictures.register
def _(checked: CensoredRows, check: Check) -> list[Chart | None]:
    return [survival(checked)]


@available_pictures.register
def _(checked: CensoredRows) -> dict[str, Picture]:
    def draw_survival(check: Check, part: Slice | None = None) -> Chart | None:
        return survival(checked, part)

    return {"survival": draw_survival}


@slice_picture.register
def _(checked: CensoredRows, check: Check, part: Slice) -> Chart | None:
    return survival(checked, part)


@slice_quantiles.register
def _(checked: CensoredRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: CensoredRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    profile = event_profile(checked, bins.rows)
    words = ""
    at = profile.furthest
    if at is not None:
        ratio = number(profile.estimate[at, 0], 2)
        words = f"{ratio} times the events expected at {bins.names[at]}"
    name = "events / expected"
    ways = "dot high more than expected; dot low fewer"
    return ProfileDrawing(
        values=profile.estimate,
        low=profile.low,
        high=profile.high,
        expected=profile.expected,
        colours=side_colours(profile.side),
        heads=(name,),
        words=words,
        label=name,
        legend=f"dashed model of the model; dot even the data; {ways}",
    )


@differences.register
def _(checked: CensoredRows, part: Slice | None) -> Differences | None:
    return None


@slice_facts.register
def _(checked: CensoredRows, rows: IntArray) -> list[str]:
    return []
