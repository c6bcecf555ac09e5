"""Censored times: the estimate of Kaplan and Meier, and events over those expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import (
    ColumnPanel,
    EventCurve,
    SurvivalCurve,
    overall_curves,
    part_rows,
    subgroup_curves,
)
from condgof.check.kinds import CensoredRows
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
from condgof.result import number

#: About as many steps are in the table.
TABLE_STEPS = 12
#: Points of the model's curve.
CURVE_POINTS = 161


def survival(checked: CensoredRows, part: Slice | None = None) -> Chart | None:
    """Draw the estimate of Λ, unit exponential under the model, with a band around that."""
    curves = overall_curves(checked) if part is None else subgroup_curves(checked, part)
    count = int(part_rows(checked, part).sum())
    return _survival_chart(curves.get("survival"), count)


def events(checked: CensoredRows, part: Slice | None = None) -> Chart | None:
    """Draw events observed and expected up to each time, with a band around the latter."""
    curves = overall_curves(checked) if part is None else subgroup_curves(checked, part)
    curve = curves.get("events")
    return None if curve is None else _event_chart(checked, curve)


def _event_chart(checked: CensoredRows, curve: EventCurve) -> Chart:
    times = np.append(0.0, curve.times)
    steps_x = np.repeat(times, 2)[1:]
    steps_y = np.repeat(np.append(0.0, curve.observed), 2)[:-1]
    top = 1.05 * float(max(curve.high[-1], curve.observed[-1]))
    return Chart(
        title=(
            f"{curve.observed[-1]:,} events observed, {curve.expected[-1]:,.1f} expected"
        ),
        x=c.numeric(checked.y_name, (min(0.0, float(times.min())), float(times[-1]))),
        y=c.numeric("events up to then", (0.0, top)),
        marks=(
            c.Band(curve.times, curve.low, curve.high),
            c.Line(times, np.append(0.0, curve.expected)),
            c.Line(steps_x, steps_y, "data"),
        ),
        table=c.table(
            {
                f"{checked.y_name} up to": curve.times,
                "observed": curve.observed,
                "expected": curve.expected,
                "95% band for all": c.spans(curve.low, curve.high),
            }
        ),
        legend=c.keys(
            "line data observed; line model expected; box band90 95% band if the model is"
            " right"
        ),
        size=(540, 330),
        spots=c.Spots.between(curve.times),
    )


def _survival_chart(curve: SurvivalCurve | None, count: int) -> Chart | None:
    """Draw the curve of `count` rows."""
    if curve is None:
        return None
    at = curve.hazard
    last = float(at[-1])
    grid = np.linspace(0.0, last, CURVE_POINTS)
    steps_x = np.repeat(np.append(0.0, at), 2)[1:]
    steps_y = np.repeat(np.append(1.0, curve.survival), 2)[:-1]
    title = "Share without event"
    if curve.outside.any():
        distance = np.abs(curve.survival - curve.expected)
        k = int(np.argmax(np.where(curve.outside, distance, 0.0)))
        share = number(curve.survival[k], 2)
        expected = number(curve.expected[k], 2)
        title = f"{share} of the rows survive, {expected} are predicted"
    some = slice(None, None, max(1, len(at) // TABLE_STEPS))
    return Chart(
        title=title,
        x=c.numeric("cumulative hazard of the model, −log P(Y > y|x)", (0.0, 1.02 * last)),
        y=c.numeric("share without event", (0.0, 1.03), 5),
        marks=(
            c.Band(at, curve.low, curve.high),
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
            f"line data Kaplan-Meier estimate of {count:,} rows;"
            " line model the model; box band90 95% band if it is right"
        ),
        size=(540, 330),
    )


@first_pictures.register
def _(checked: CensoredRows, check: Check) -> list[Chart | None]:
    return [events(checked) or survival(checked)]


@available_pictures.register
def _(checked: CensoredRows) -> dict[str, Picture]:
    def draw_survival(check: Check, part: Slice | None = None) -> Chart | None:
        return events(checked, part) or survival(checked, part)

    return {"survival": draw_survival}


@slice_picture.register
def _(checked: CensoredRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    if curves.get("events") is not None:
        return _event_chart(checked, curves["events"])
    return _survival_chart(curves.get("survival"), part.n)


@slice_quantiles.register
def _(checked: CensoredRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: CensoredRows, panel: ColumnPanel) -> ProfileDrawing:
    profile = panel.profile
    words = ""
    at = profile.furthest
    if at is not None:
        ratio = number(profile.estimate[at, 0], 2)
        words = f"{ratio} times the events expected at {panel.bins[at]}"
    ways = "dot high more than expected; dot low fewer"
    return ProfileDrawing(
        colours=side_colours(profile.side),
        heads=profile.names,
        words=words,
        label=profile.names[0],
        legend=f"dashed model of the model; dot even the data; {ways}",
    )


@slice_facts.register
def _(checked: CensoredRows, rows: IntArray) -> list[str]:
    return []
