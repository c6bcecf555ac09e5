"""Counts: residuals, and a rootogram of how often each count came."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel, Rootogram, rootogram_of
from condgof.check.kinds import CountRows
from condgof.report import _chart as c
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
from condgof.report._fit import fit
from condgof.report._residuals import (
    furthest_fact,
    histogram_picture,
    mean_drawing,
    mean_fact,
)
from condgof.result import number

#: Most names of counts on the axis of a rootogram: of more every second, third, … is there.
MOST_NAMES = 13
#: Half the width of a bar, in distances of neighbouring bars.
HALF_BAR = 0.42
#: Half the width of the range of chance at the end of a bar.
HALF_CHANCE = 0.5
#: Ticks of the axis of rows are at 1 and 4 times these powers of ten.
TICK_POWERS = range(9)
#: The lowest tick above 0, as a share of the height: lower ones are too close to 0.
LEAST_TICK = 0.12


def rootogram(checked: CountRows) -> Chart | None:
    """Draw counts hanging from what the model expects of them, as square roots."""
    curve = rootogram_of(checked)
    if curve is None:
        return None
    name = checked.y_name
    names = _bar_names(curve)
    count = len(names)
    at = np.arange(count) * 1.0
    colours = {1: "s2", -1: "s-2", 0: "bar"}
    kinds = tuple(colours[int(side)] for side in curve.side)
    top = np.sqrt(np.maximum(curve.expected, 0.0))
    hang = top - np.sqrt(curve.observed)
    floor = top - np.sqrt(curve.chance_high)
    ceiling = top - np.sqrt(curve.chance_low)
    ends = (1.1 * float(min(hang.min(), floor.min())), 1.06 * float(top.max()))
    step = -(-count // MOST_NAMES)
    # The last bar, of all larger counts, has a name in any case.
    ticks = [*range(0, count - 1 - step // 2, step), count - 1]
    ways = (
        "line model expected; box bar observed, hanging; box s2 more than expected; box s-2"
        " less"
    )
    return Chart(
        title=_rootogram_title(name, names, curve),
        x=c.Scale(
            name=name,
            ends=(-0.7, count - 0.3),
            at=tuple(float(place) for place in ticks),
            texts=tuple(names[place] for place in ticks),
            places=True,
        ),
        y=_square_root_scale(ends),
        marks=(
            c.Boxes(at - HALF_BAR, at + HALF_BAR, hang, top, kinds),
            c.Boxes(
                at - HALF_CHANCE, at + HALF_CHANCE, floor, ceiling, ("band90",) * count
            ),
            c.rule(0.0, kind="soft"),
            c.Line(at, top),
            c.Points(at, top, "model", size=5.0),
        ),
        table=c.table({name: names, "rows": curve.observed, "expected": curve.expected}),
        legend=c.keys(f"{ways}; box band90 where bars end if the model is right"),
        size=(540, 330),
        spots=c.Spots.places(count),
        name="rootogram",
    )


def _bar_names(curve: Rootogram) -> list[str]:
    """Name bars: "3", "4–5" for counts that are together, "60+" for the last."""
    names = [
        f"{start}" if following == start + 1 else f"{start}–{following - 1}"
        for start, following in pairwise(curve.starts)
    ]
    return [*names, f"{curve.starts[-1]}+"]


def _rootogram_title(name: str, names: list[str], curve: Rootogram) -> str:
    if not curve.side.any():
        return f"{name}: rows with each count"
    error = np.sqrt(np.maximum(curve.expected, 1))
    worst = int(np.argmax(np.abs(curve.observed - curve.expected) / error))
    usual = number(float(curve.expected[worst]))
    rows = f"{curve.observed[worst]:,} rows"
    return f"{name} was {names[worst]} in {rows}, where the model expects {usual}"


def _square_root_scale(ends: c.Ends) -> c.Scale:
    """Return the axis of rows, whose square roots are drawn."""
    ticks: list[float] = []
    for power in TICK_POWERS:
        for rows in (1 * 10.0**power, 4 * 10.0**power):
            if LEAST_TICK < rows**0.5 / ends[1] <= 1:
                ticks.append(rows)
    return c.Scale(
        name="rows (square roots)",
        ends=ends,
        at=(0.0, *np.sqrt(ticks)),
        texts=("0", *map(number, ticks)),
    )


@first_pictures.register
def _(checked: CountRows, check: Check) -> list[Chart | None]:
    return [fit(check, numbers=check.pictures.fit), rootogram(checked)]


@available_pictures.register
def _(checked: CountRows) -> dict[str, Picture]:
    def draw_rootogram(check: Check) -> Chart | None:
        return rootogram(checked)

    return {"rootogram": draw_rootogram}


@slice_picture.register
def _(checked: CountRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return histogram_picture(checked, part, curves.get("residuals"))


@slice_quantiles.register
def _(checked: CountRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: CountRows, panel: ColumnPanel) -> ProfileDrawing:
    return mean_drawing(panel)


@slice_facts.register
def _(checked: CountRows, rows: IntArray) -> list[str]:
    return [*mean_fact(checked, rows), furthest_fact(checked, rows)]
