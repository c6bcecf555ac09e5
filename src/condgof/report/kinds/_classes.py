"""Classes: how often the most probable one was right, and how often each came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import (
    MOST_CLASSES,
    ClassShares,
    ColumnPanel,
    ReliabilityCurve,
    class_shares,
    confidence_of,
    part_rows,
    reliability_curve,
)
from condgof.check.kinds import ClassRows
from condgof.report import _chart as c
from condgof.report._bins import sides
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
from condgof.report._forest import intervals
from condgof.report._shares import DIAGONAL, share_drawing
from condgof.result import rounded

#: The height of the highest bar of confidence, as a share of the picture's.
CONFIDENCE_HEIGHT = 0.15
#: The top of the picture: a little above 1.
TOP = 1.03
#: The least width of a bin's range of chance.
LEAST_WIDTH = 0.004


def reliability(checked: ClassRows, part: Slice | None = None) -> Chart | None:
    """Draw how often the most probable class was right against its probability."""
    confidence = confidence_of(checked).take(part_rows(checked, part))
    return _reliability_chart(reliability_curve(confidence))


def _reliability_chart(curve: ReliabilityCurve) -> Chart:
    foot = float(curve.edges[0])
    base = float(np.floor(10 * min(curve.low.min(), curve.chance_low.min())) / 10)
    base -= 0.1
    tall = base + CONFIDENCE_HEIGHT * (TOP - base) * curve.bars / curve.bars.max()
    bars = len(curve.bars)
    marks = (
        c.Boxes(
            left=curve.edges[:-1],
            right=curve.edges[1:],
            low=np.full(bars, base),
            high=tall,
            kinds=("bar",) * bars,
        ),
        c.Boxes(
            left=curve.first,
            right=np.maximum(curve.last, curve.first + LEAST_WIDTH),
            low=curve.chance_low,
            high=curve.chance_high,
            kinds=("band90",) * len(curve.rows),
        ),
        DIAGONAL,
        c.Intervals(
            at=curve.predicted,
            estimate=curve.right,
            low=curve.low,
            high=curve.high,
            kinds=sides(curve.low, curve.high, curve.predicted, turned=True),
        ),
    )
    mean = rounded(float(np.average(curve.predicted, weights=curve.rows)))
    often = rounded(float(np.average(curve.right, weights=curve.rows)))
    ways = "dot even how often it was right; dot high too sure; dot low not sure enough"
    return Chart(
        title=f"The model says {mean} and is right in {often} of the rows",
        x=c.numeric("how sure the model was", (foot - 0.01, 1.01)),
        y=c.numeric("share in which it was right", (base, TOP)),
        marks=marks,
        table=c.table(
            {
                "confidence": c.spans(curve.first, curve.last),
                "rows": curve.rows,
                "mean": curve.predicted,
                "right": curve.right,
                "95% interval for all": c.spans(curve.low, curve.high),
            }
        ),
        legend=c.keys(f"{ways}; box band90 if the model is right; box bar rows"),
        size=(540, 330),
    )


def classes(checked: ClassRows, part: Slice | None = None) -> Chart | None:
    """Draw how often each class was observed, and how often it was predicted."""
    shares = class_shares(checked, part_rows(checked, part)).furthest(MOST_CLASSES)
    return _class_chart(shares, len(checked.class_names))


def _class_chart(shares: ClassShares, count: int) -> Chart:
    """Draw the shares of some of `count` classes."""
    kinds = sides(shares.low, shares.high, shares.predicted)
    title = "Each class came as often as the model says"
    if set(kinds) != {"even"}:
        worst = shares.by_distance[0]
        observed = rounded(shares.observed[worst])
        predicted = rounded(shares.predicted[worst])
        often = f"{observed} of the rows; the model says {predicted}"
        title = f"{shares.names[worst]} came in {often}"
    drawn = len(shares.names)
    some = f", {drawn} of {count} classes" if count > drawn else ""
    rows = zip(shares.names, shares.rows, strict=True)
    return intervals(
        axis=f"share of the rows{some}",
        names=[f"{name} · {number:,} rows" for name, number in rows],
        numbers=np.column_stack(
            [shares.observed, shares.low, shares.high, shares.predicted]
        ),
        wide=420,
        title=title,
        legend=c.keys(
            "pin model predicted; dot even observed; dot high more often;"
            " dot low less often"
        ),
    )


@first_pictures.register
def _(checked: ClassRows, check: Check) -> list[Chart | None]:
    return [reliability(checked), classes(checked)]


@available_pictures.register
def _(checked: ClassRows) -> dict[str, Picture]:
    def draw_reliability(check: Check, part: Slice | None = None) -> Chart | None:
        return reliability(checked, part)

    def draw_classes(check: Check, part: Slice | None = None) -> Chart | None:
        return classes(checked, part)

    return {"reliability": draw_reliability, "classes": draw_classes}


@slice_picture.register
def _(checked: ClassRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    if "classes" in curves:
        return _class_chart(curves["classes"], len(checked.class_names))
    return _reliability_chart(curves["reliability"])


@slice_quantiles.register
def _(checked: ClassRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: ClassRows, panel: ColumnPanel) -> ProfileDrawing:
    return share_drawing(
        panel,
        heads=panel.profile.names,
        label=panel.profile.names[0],
        legend="dot even the data; dot high too sure; dot low not sure enough",
    )


@slice_facts.register
def _(checked: ClassRows, rows: IntArray) -> list[str]:
    return []
