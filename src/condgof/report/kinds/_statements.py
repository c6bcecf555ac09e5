"""Quantiles and intervals: how often each statement held."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import (
    ColumnPanel,
    CoverageCurve,
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
from condgof.report._shares import DIAGONAL, share_drawing
from condgof.result import number


class StatementWords(NamedTuple):
    """How pictures name statements, and what they say of the rows in which one holds."""

    what: str  #: What a statement is: "quantile".
    verb: str  #: What a statement does with the rows in which it holds: "holds".
    name: str  #: The name of one statement; {} is the label of its findings.
    head: str  #: The name of its column in a table; {} is the label of its findings.
    holds: str  #: Where the rows are in which it holds: "inside it".
    share: str  #: What the share of these rows is called.
    low_way: str  #: What the model is where that share is less than stated.
    high_way: str  #: What the model is where that share is more than stated.


QUANTILES = StatementWords(
    what="quantile",
    verb="is not below",
    name="{} quantile",
    head="not above the {} quantile",
    holds="not above it",
    share="share not above",
    low_way="too high",
    high_way="too low",
)
INTERVALS = StatementWords(
    what="interval",
    verb="holds",
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
        words.name.format(checked.statement_label(statement))
        for statement in checked.statements
    ]
    title = f"Each {words.what} {words.verb} as many rows as it says"
    if set(kinds) != {"even"}:
        error = np.sqrt(curve.levels * (1 - curve.levels))
        worst = int(np.argmax(np.abs(curve.observed - curve.levels) / error))
        share = number(100 * curve.observed[worst], 2)
        title = f"The {names[worst]} {words.verb} {share}% of the rows"
    ways = f"dot high {words.high_way}; dot low {words.low_way}"
    return Chart(
        title=title,
        x=c.numeric(f"what the {words.what} says", (0.0, 1.0)),
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
        legend=c.keys(f"line model what it says; dot even observed; {ways}"),
        size=(420, 330),
    )


@first_pictures.register
def _(checked: StatementRows, check: Check) -> list[Chart | None]:
    return [coverage(checked)]


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
