"""Classes: how often the most probable one was right, and how often each came."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import (
    MOST_CLASSES,
    Confidence,
    class_shares,
    confidence_of,
    reliability_curve,
    share_profile,
)
from condgof.check.kinds import ClassRows
from condgof.report import _chart as c
from condgof.report._bins import ColumnBins, part_rows, sides
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
from condgof.report._forest import intervals
from condgof.report._shares import DIAGONAL, share_drawing
from condgof.result import rounded

#: Bars of the histogram of confidence below a reliability curve.
CONFIDENCE_BARS = 24
#: The height of its highest bar, as a share of the picture's.
CONFIDENCE_HEIGHT = 0.15
#: The top of the picture: a little above 1.
TOP = 1.03
#: The least width of a bin's range of chance.
LEAST_WIDTH = 0.004


def reliability(checked: ClassRows, part: Slice | None = None) -> Chart | None:
    """Draw how often the most probable class was right against its probability."""
    inside = part_rows(checked, part)
    every_row = confidence_of(checked)
    confidence = Confidence(every_row.right[inside], every_row.probability[inside])
    curve = reliability_curve(confidence)
    sure = confidence.probability
    foot = float(np.floor(10 * sure.min()) / 10)
    base = float(np.floor(10 * min(curve.low.min(), curve.chance_low.min())) / 10)
    base -= 0.1
    counts, edges = np.histogram(sure, CONFIDENCE_BARS, (foot, 1.0))
    tall = base + CONFIDENCE_HEIGHT * (TOP - base) * counts / counts.max()
    marks = (
        c.Boxes(
            left=edges[:-1],
            right=edges[1:],
            low=np.full(CONFIDENCE_BARS, base),
            high=tall,
            kinds=("bar",) * CONFIDENCE_BARS,
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
    mean = rounded(float(sure.mean()))
    often = rounded(float(confidence.right.mean()))
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
    shares = class_shares(checked, part_rows(checked, part))
    count = len(shares.names)
    kinds = sides(shares.low, shares.high, shares.predicted)
    title = "Each class came as often as the model says"
    if set(kinds) != {"even"}:
        worst = shares.by_distance[0]
        observed = rounded(shares.observed[worst])
        predicted = rounded(shares.predicted[worst])
        often = f"{observed} of the rows; the model says {predicted}"
        title = f"{shares.names[worst]} came in {often}"
    some = f", {MOST_CLASSES} of {count} classes" if count > MOST_CLASSES else ""
    drawn = shares.furthest(MOST_CLASSES)
    rows = zip(drawn.names, drawn.rows, strict=True)
    return intervals(
        axis=f"share of the rows{some}",
        names=[f"{name} · {number:,} rows" for name, number in rows],
        numbers=np.column_stack([drawn.observed, drawn.low, drawn.high, drawn.predicted]),
        wide=420,
        title=title,
        legend=c.keys(
            "pin model predicted; dot even observed; dot high more often;"
            " dot low less often"
        ),
    )


@row_residuals.register
def _(checked: ClassRows) -> RowResiduals | None:
    return None


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
def _(checked: ClassRows, check: Check, part: Slice) -> Chart | None:
    picture = classes if part.kind == "class" else reliability
    return picture(checked, part)


@slice_quantiles.register
def _(checked: ClassRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: ClassRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    confidence = confidence_of(checked)
    profile = share_profile(
        happened=[confidence.right],
        probability=[confidence.probability],
        bins=bins.rows,
        as_difference=True,
    )
    name = "accuracy − confidence"
    return share_drawing(
        profile,
        bins,
        heads=(name,),
        label=name,
        legend="dot even the data; dot high too sure; dot low not sure enough",
    )


@differences.register
def _(checked: ClassRows, part: Slice | None) -> Differences | None:
    """Show the class that a slice is about; else how confident the model is."""
    if part is not None and part.kind == "class":
        label = part.findings[0].label
        if label in checked.class_names:
            k = checked.class_names.index(label)
            p = np.asarray(checked.probabilities, dtype=float)
            return Differences(
                values=(checked.codes == k) - p[:, k],
                low_way="too high",
                high_way="too low",
            )
    confidence = confidence_of(checked)
    return Differences(
        values=confidence.probability - confidence.right,
        low_way="not sure enough",
        high_way="too sure",
    )


@slice_facts.register
def _(checked: ClassRows, rows: IntArray) -> list[str]:
    return []
