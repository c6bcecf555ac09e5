"""Quantiles and intervals: how often each statement held."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import coverage_curve, share_profile
from condgof.check.kinds import IntervalRows, QuantileRows, StatementRows
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
    words = statement_words(checked)
    curve = coverage_curve(checked, part_rows(checked, part))
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


@row_residuals.register
def _(checked: StatementRows) -> RowResiduals | None:
    return None


@first_pictures.register
def _(checked: StatementRows, check: Check) -> list[Chart | None]:
    return [coverage(checked)]


@available_pictures.register
def _(checked: StatementRows) -> dict[str, Picture]:
    def draw_coverage(check: Check, part: Slice | None = None) -> Chart | None:
        return coverage(checked, part)

    return {"coverage": draw_coverage}


@slice_picture.register
def _(checked: StatementRows, check: Check, part: Slice) -> Chart | None:
    return coverage(checked, part)


@slice_quantiles.register
def _(checked: StatementRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: StatementRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    """Draw the first, the middle and the last statement."""
    last = len(checked.statements) - 1
    chosen = sorted({0, len(checked.statements) // 2, last})
    statements = [checked.statements[k] for k in chosen]
    words = statement_words(checked)
    profile = share_profile(
        happened=[statement.happened(checked.codes) for statement in statements],
        probability=[np.full(checked.n, statement.level) for statement in statements],
        bins=bins.rows,
        as_difference=False,
    )
    ways = f"dot high {words.high_way}; dot low {words.low_way}"
    labels = [checked.statement_label(statement) for statement in statements]
    return share_drawing(
        profile,
        bins,
        heads=tuple(words.head.format(label) for label in labels),
        label=words.share,
        legend=f"dashed model of the model; dot even the data; {ways}",
    )


@differences.register
def _(checked: StatementRows, part: Slice | None) -> Differences | None:
    """Show the statement that a slice is about; else the one furthest out."""
    label = "" if part is None else part.findings[0].label
    named = [one for one in checked.statements if checked.statement_label(one) == label]
    statement = max(named or checked.statements, key=lambda one: abs(one.level - 0.5))
    words = statement_words(checked)
    return Differences(
        values=statement.level - statement.happened(checked.codes),
        low_way=words.low_way,
        high_way=words.high_way,
    )


@slice_facts.register
def _(checked: StatementRows, rows: IntArray) -> list[str]:
    return []
