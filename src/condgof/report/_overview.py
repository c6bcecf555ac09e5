"""All rows: one table of numbers, and the pictures that anyone draws first."""

from __future__ import annotations

from collections.abc import Sequence

from condgof.check import NUMBER_FORMATS, Check, Finding, finding_row, outlier_words
from condgof.report._chart import without_rows
from condgof.report._figure import figure
from condgof.report._pictures import drawn_first
from condgof.report._text import html, paragraph, section, sentence

#: Most pictures of all rows.
MOST_PICTURES = 3


def overview(check: Check, *, points: bool = True) -> str:
    """Return all rows in numbers, with the pictures that come first beside them.

    Without `points`, pictures have no single rows.
    """
    drawn = [
        figure(chart if points else without_rows(chart), f"all{i}")
        for i, chart in enumerate(drawn_first(check)[:MOST_PICTURES])
    ]
    if not drawn:
        words = "Scores of the model are all that is known: nothing predicted can be drawn."
        drawn = [paragraph(words)]
    numbers = _numbers(check)
    return section(
        "Overall", "overall", f'<div class="overall">{numbers}{"".join(drawn)}</div>'
    )


def _numbers(check: Check) -> str:
    """Return the table of all rows, and their outliers in words."""
    checked = check.checked
    of = "All rows"
    if not checked.all_rows:
        of = f"{checked.n:,} of {checked.whole:,} rows, taken at random"
    outliers = "".join(
        paragraph(sentence(outlier_words(finding)), "small")
        for finding in check.overall
        if finding.kind == "wild"
    )
    several = len(check.y_columns) > 1
    numbers = numbers_table(of, check.overall, several=several)
    return f"<div>{numbers}{outliers}</div>" if numbers or outliers else ""


def numbers_table(caption: str, findings: Sequence[Finding], *, several: bool) -> str:
    """Return findings as a table: the data, their interval, and what is predicted.

    Those of `several` columns of y are named with their column.
    """
    rows = "".join(
        _row(finding, several) for finding in findings if finding.kind in NUMBER_FORMATS
    )
    if not rows:
        return ""
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{html(caption)}">'
        f'<table class="findings"><caption>{html(caption)}; bold where'
        ' the interval excludes the model</caption><thead><tr><th scope="col"><span'
        ' class="unseen">number</span></th><th scope="col" class="n">data</th>'
        '<th scope="col" class="n">95% CI</th><th scope="col" class="n">model</th></tr>'
        "</thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(finding: Finding, several: bool) -> str:
    row = finding_row(finding, several=several)
    telling = ' class="telling"' if finding.telling and not finding.set_by_fit else ""
    return (
        f'<tr{telling}><th scope="row">{html(row.name)}</th><td class="n">{html(row.data)}'
        f'</td><td class="n">{html(row.interval)}</td><td class="n">{html(row.model)}</td>'
        "</tr>"
    )
