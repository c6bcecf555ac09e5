"""Results in notebooks: cards that need no style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from condgof.check import (
    NUMBER_FORMATS,
    Check,
    Comparison,
    Finding,
    Slice,
    finding_name,
    headline,
)
from condgof.report._text import ROW, html, minus, shorten, table
from condgof.report._verdict import three_numbers
from condgof.result import GofResult, Shown, number, pvalue_number, pvalue_words

# Styles of a report in a notebook are inline, because a style sheet would reach the rest of
# the notebook; colours are those of the notebook.
#: The style of the whole report.
_BOX = "max-width:52em;line-height:1.5"
#: The style of a cell of its table.
_LINE = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
#: Most rows of its table.
MOST_LINES = 12


class Card(NamedTuple):
    """What a notebook shows of a result."""

    head: str
    body: str
    is_bad: bool = False


def card(result: Shown) -> str:
    """Return what a notebook shows of a result."""
    shown = _card_of(result)
    return (
        f'<div style="{_BOX}"><strong>{"✗" if shown.is_bad else "○"}'
        f" {html(shown.head)}</strong>{shown.body}</div>"
    )


def _card_of(result: Shown) -> Card:
    if isinstance(result, Check):
        return _check_card(result)
    if isinstance(result, Slice):
        return _slice_card(result)
    if isinstance(result, GofResult) and not isinstance(result, Comparison):
        return _test_card(result)
    return _records_card(result)


def _check_card(check: Check) -> Card:
    rows = []
    for part in (*check.slices, *check.groups):
        certain = pvalue_words(part.pvalue, part.pvalue_floor)
        sure = part.pvalue <= check.alpha or part.findings[0].telling
        words = shorten(part.message, 200) if sure else "–"
        rows.append((shorten(part.words, 120), f"{part.n:,}", words, certain))
    numbers = [
        (f"{one.text} {one.interval}".strip(), one.meaning) for one in three_numbers(check)
    ]
    where = _lines(rows, ("where", "rows", "the model is", "how certain"))
    more = "<div><code>to_html()</code> has the whole report.</div>"
    return Card(
        head=f"{headline(check)}, {check.result.n:,} rows",
        body=f"<div>{html(check.words)}</div>{_lines(numbers)}{where}{more}",
        is_bad=check.rejected,
    )


def _slice_card(part: Slice) -> Card:
    certain = pvalue_words(part.pvalue, part.pvalue_floor)
    findings = [(_name(finding), finding.words) for finding in part.findings]
    return Card(
        head=f"{part.words}: {part.direction}, {certain}",
        body=_lines([("rows", f"{part.n:,}"), *findings]),
        is_bad=True,
    )


def _name(finding: Finding) -> str:
    """Name the number of a finding; the difference of two models has no other name."""
    return finding_name(finding) if finding.kind in NUMBER_FORMATS else finding.kind


def _test_card(result: GofResult) -> Card:
    facts = result.facts()
    rows = [*facts[:2], ("rows", f"{result.n:,}"), *facts[2:]]
    return Card(
        head=f"{result.method}: {result.verdict}",
        body=_lines(rows),
        is_bad=result.reject(),
    )


def _records_card(result: Shown) -> Card:
    """Return the rows of any other result as a table."""
    head = str(getattr(result, "words", ""))
    records = result.records()
    names = tuple(records[0]) if records else ()
    rows = [[_written(*cell) for cell in record.items()] for record in records]
    body = _lines(rows, names)
    for note in getattr(result, "details", {}).get("notes", ()):
        body += f"<div>{html(note)}</div>"
    return Card(
        head=minus(head) if isinstance(result, Comparison) else head,
        body=body,
        is_bad=bool(getattr(result, "alarm", False)),
    )


def records_table(caption: str, records: Sequence[dict[str, Any]]) -> str:
    rows = [[_written(*cell) for cell in record.items()] for record in records]
    return table(caption, list(records[0]), rows) if records else ""


def _written(name: str, value: object) -> str:
    """Write a cell of a table of records."""
    if isinstance(value, float):
        return pvalue_number(value) if name == "pvalue" else number(value, 4)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else shorten(value, 200)


def _lines(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return a small table: the first rows under their heads, or names and values."""
    if not rows:
        return ""

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} style="{_LINE}">{html(value)}</{tag[:2]}>' for value in values
        )

    first = "td" if heads else ROW
    most = MOST_LINES if heads else len(rows)
    lines = [
        f"<tr>{cells(row[:1], first)}{cells(row[1:], 'td')}</tr>" for row in rows[:most]
    ]
    head = f"<thead><tr>{cells(heads, 'th')}</tr></thead>" if heads else ""
    more = f"<div>and {len(rows) - most:,} more</div>" if len(rows) > most else ""
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>{more}"
