"""Quantiles and intervals: how often each statement held."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice, percent, percent_label
from condgof.check.curves import (
    ColumnPanel,
    CoverageCurve,
    axis_of,
    coverage_curve,
    part_rows,
)
from condgof.check.kinds import IntervalRows, QuantileRows, StatementRows
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
from condgof.report._panels import column_panel
from condgof.report._shares import DIAGONAL, share_drawing


class StatementWords(NamedTuple):
    """How pictures name statements, and what they say of the rows in which one holds."""

    what: str  #: What a statement is: "quantile".
    neutral: str  #: The title of a picture in which nothing is off.
    worst: str  #: Its title where a statement, {0}, holds in the share {1} of rows.
    name: str  #: The name of one statement; {} is the label of its findings.
    head: str  #: The name of its column in a table; {} is the label of its findings.
    holds: str  #: Where the rows are in which it holds: "inside it".
    share: str  #: What the share of these rows is called.
    low_way: str  #: What the model is where that share is less than stated.
    high_way: str  #: What the model is where that share is more than stated.


QUANTILES = StatementWords(
    what="quantile",
    neutral="Share of rows below each quantile",
    worst="{1} of rows lie below the {0}",
    name="{} quantile",
    head="below the {} quantile",
    holds="below it",
    share="share below",
    low_way="too high",
    high_way="too low",
)
INTERVALS = StatementWords(
    what="interval",
    neutral="Share of rows in each interval",
    worst="The {0} holds {1} of rows",
    name="{} interval",
    head="inside {}",
    holds="inside it",
    share="share inside",
    low_way="too wide",
    high_way="too narrow",
)


@singledispatch
def statement_words(checked: StatementRows) -> StatementWords:
    raise NotImplementedError(f"no words are known for {type(checked).__name__}")


@statement_words.register
def _(checked: QuantileRows) -> StatementWords:
    return QUANTILES


@statement_words.register
def _(checked: IntervalRows) -> StatementWords:
    return INTERVALS


def coverage(checked: StatementRows, part: Slice | None = None) -> Chart | None:
    """Draw how often each statement held against how often it should."""
    return _coverage_chart(checked, coverage_curve(checked, part_rows(checked, part)))


def _coverage_chart(checked: StatementRows, curve: CoverageCurve) -> Chart:
    words = statement_words(checked)
    kinds = sides(curve.low, curve.high, curve.levels, turned=True)
    names = [
        words.name.format(percent_label(checked.statement_label(statement)))
        for statement in checked.statements
    ]
    title = words.neutral
    if set(kinds) != {"even"}:
        error = np.sqrt(curve.levels * (1 - curve.levels))
        worst = int(np.argmax(np.abs(curve.observed - curve.levels) / error))
        share = percent(curve.observed[worst])
        title = words.worst.format(names[worst], share)
    ways = f"dot high {words.high_way}; dot low {words.low_way}"
    return Chart(
        title=title,
        x=c.numeric(f"level of the {words.what}", (0.0, 1.0)),
        y=c.numeric(f"share of rows {words.holds}", (-0.02, 1.02)),
        marks=(
            DIAGONAL,
            c.Intervals(curve.levels, curve.observed, curve.low, curve.high, kinds),
        ),
        table=c.table(
            {
                words.what: names,
                "observed": curve.observed,
                "95% interval for all": c.spans(curve.low, curve.high),
            }
        ),
        legend=c.keys(f"line model as predicted; dot even observed; {ways}"),
        size=(540, 330),
        spots=c.Spots.between(curve.levels),
    )


@first_pictures.register
def _(checked: StatementRows, check: Check) -> list[Chart | None]:
    axis = axis_of(checked, None)
    along = None if axis is None else column_panel(check, axis, wide=True)
    return [coverage(checked), along]


@available_pictures.register
def _(checked: StatementRows) -> dict[str, Picture]:
    def draw_coverage(check: Check, part: Slice | None = None) -> Chart | None:
        return coverage(checked, part)

    return {"coverage": draw_coverage}


@slice_picture.register
def _(checked: StatementRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return _coverage_chart(checked, curves["coverage"])


@slice_quantiles.register
def _(checked: StatementRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: StatementRows, panel: ColumnPanel) -> ProfileDrawing:
    words = statement_words(checked)
    ways = f"dot high {words.high_way}; dot low {words.low_way}"
    return share_drawing(
        panel,
        heads=tuple(words.head.format(label) for label in panel.profile.names),
        label=words.share,
        legend=f"dashed model of the model; dot even the data; {ways}",
    )


@slice_facts.register
def _(checked: StatementRows, rows: IntArray) -> list[str]:
    return []
