"""Classes: how often the most probable one was right, and how often each came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check import Check, Slice, percent
from condgof.check.curves import (
    MOST_CLASSES,
    ClassShares,
    ColumnPanel,
    ReliabilityCurve,
    class_shares,
    confidence_of,
    overall_curves,
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
    ways = "dot even accuracy; dot high overconfident; dot low underconfident"
    return Chart(
        title=f"Mean confidence {mean}, accuracy {often}",
        x=c.numeric("confidence", (foot - 0.01, 1.01)),
        y=c.numeric("accuracy", (base, TOP)),
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


#: Classes of a smaller mean probability are drawn on logarithmic axes.
RARE = 0.1
#: The smallest share on a logarithmic axis, in shares of one row.
LEAST_OF_ROW = 0.3


def class_reliability(checked: ClassRows, label: str) -> Chart:
    """Draw how often a class came against its predicted probability."""
    curve = overall_curves(checked)["class reliability"][label]
    is_rare = float(np.average(curve.predicted, weights=curve.rows)) < RARE
    least = LEAST_OF_ROW / checked.n
    if is_rare:
        positive = np.concatenate([curve.predicted, curve.right[curve.right > 0]])
        least = max(least, 0.5 * float(positive.min()))

    def at(values: FloatArray) -> FloatArray:
        return np.log10(np.maximum(values, least)) if is_rare else np.asarray(values)

    scale = _log_scale(curve, least) if is_rare else c.numeric("", (-0.02, 1.02))
    kinds = sides(curve.low, curve.high, curve.predicted)
    ends = np.array(scale.ends)
    marks = (
        c.Boxes(
            left=at(curve.first),
            right=np.maximum(at(curve.last), at(curve.first) + LEAST_WIDTH),
            low=at(curve.chance_low),
            high=at(curve.chance_high),
            kinds=("band90",) * len(curve.rows),
        ),
        c.Line(ends, ends),
        c.Intervals(
            at=at(curve.predicted),
            estimate=at(curve.right),
            low=at(curve.low),
            high=at(curve.high),
            kinds=kinds,
        ),
    )
    hits = int(np.rint(curve.right * curve.rows).sum())
    mean = float((curve.predicted * curve.rows).sum())
    ways = "dot even observed; dot high more often than predicted; dot low less often"
    return Chart(
        title=f"{label}: {hits:,} rows, {mean:,.1f} expected",
        x=scale._replace(name=f"predicted P({label})"),
        y=scale._replace(name=f"share of rows that are {label}"),
        marks=marks,
        table=c.table(
            {
                f"P({label})": c.spans(curve.first, curve.last),
                "rows": curve.rows,
                "mean prediction": curve.predicted,
                f"share {label}": curve.right,
                "95% interval for all": c.spans(curve.low, curve.high),
            }
        ),
        legend=c.keys(f"line model as predicted; {ways}; box band90 if the model is right"),
        size=(540, 330),
        spots=c.Spots.between(at(curve.predicted)),
    )


def _log_scale(curve: ReliabilityCurve, least: float) -> c.Scale:
    """Return a logarithmic axis of probabilities, with ticks at 1, 2 and 5 times 10^k."""
    top = min(1.0, 1.3 * float(max(curve.high.max(), curve.predicted.max())))
    powers = range(int(np.floor(np.log10(least))), 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    kept = [tick for tick in ticks if least <= tick <= top]
    if len(kept) > MOST_LOG_TICKS:
        kept = [tick for tick in kept if np.isclose(np.log10(tick) % 1.0, 0.0)]
    return c.Scale(
        name="",
        ends=(float(np.log10(least)), float(np.log10(top))),
        at=tuple(float(np.log10(tick)) for tick in kept),
        texts=tuple(percent(tick) for tick in kept),
    )


#: Most ticks of a logarithmic axis; of more, powers of ten alone.
MOST_LOG_TICKS = 7


def strongest_class(check: Check, checked: ClassRows) -> str:
    """Return the class that the first effect of a class is about, or that is most off."""
    curves = overall_curves(checked)["class reliability"]
    for effect in check.effects:
        if effect.kind == "class" and effect.label in curves:
            return effect.label
    shares = class_shares(checked, np.ones(checked.n, bool))
    names = [shares.names[k] for k in shares.by_distance]
    return next(str(name) for name in names if name in curves)


def classes(checked: ClassRows, part: Slice | None = None) -> Chart | None:
    """Draw how often each class was observed, and how often it was predicted."""
    shares = class_shares(checked, part_rows(checked, part)).furthest(MOST_CLASSES)
    return _class_chart(shares, len(checked.class_names))


def _class_chart(shares: ClassShares, count: int) -> Chart:
    """Draw the shares of some of `count` classes."""
    kinds = sides(shares.low, shares.high, shares.predicted)
    title = "Share of each class"
    if set(kinds) != {"even"}:
        worst = shares.by_distance[0]
        observed = rounded(shares.observed[worst])
        predicted = rounded(shares.predicted[worst])
        often = f"{observed} of the rows ({predicted} predicted)"
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
        wide=540,
        title=title,
        name="classes",
        legend=c.keys(
            "pin model predicted; dot even observed; dot high more often;"
            " dot low less often"
        ),
    )


@first_pictures.register
def _(checked: ClassRows, check: Check) -> list[Chart | None]:
    by_class = class_reliability(checked, strongest_class(check, checked))
    if len(checked.class_names) == 2:
        return [by_class]
    if check.effects and check.effects[0].kind == "confidence":
        return [reliability(checked), by_class]
    return [by_class, classes(checked)]


@available_pictures.register
def _(checked: ClassRows) -> dict[str, Picture]:
    def draw_reliability(check: Check, part: Slice | None = None) -> Chart | None:
        return reliability(checked, part)

    def draw_classes(check: Check, part: Slice | None = None) -> Chart | None:
        return classes(checked, part)

    def draw_class(check: Check, label: str | None = None) -> Chart | None:
        return class_reliability(checked, label or strongest_class(check, checked))

    return {
        "reliability": draw_reliability,
        "classes": draw_classes,
        "class": draw_class,
    }


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
        legend="dot even the data; dot high overconfident; dot low underconfident",
    )


@slice_facts.register
def _(checked: ClassRows, rows: IntArray) -> list[str]:
    return []
