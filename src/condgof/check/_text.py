"""A check as text that a person reads in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from condgof.result import pvalue_words

if TYPE_CHECKING:
    from condgof.check._record import Check, Slice

WIDTH = 100
#: At most so many groups are listed.
GROUPS = 12


def headline(check: Check) -> str:
    """Say whether there is evidence against the model."""
    return f"{'Evidence' if check.rejected else 'No evidence'} against {check.subject}"


def verdict_words(check: Check) -> str:
    """Say the same, with the p-value."""
    return f"{headline(check)} ({check.result.pvalue_words})"


def rest_words(one: Slice) -> str:
    """Say how many rows a slice has, what is wrong there, and the p-value."""
    return f" ({one.n:,} rows): {one.message}; {pvalue_words(one.pvalue, one.pvalue_floor)}"


class Line(NamedTuple):
    """A paragraph: what it is about, what comes first, and the rest."""

    head: str
    lead: str
    rest: str = ""


def title_of(check: Check) -> str:
    """Say what was checked: "Check of food given income, n = 117"."""
    return f"Check of {_all(check.y_columns)} given {_all(check.x_columns)}, n = {check.result.n:,}"


def lines_of(check: Check, order: str = "certain") -> list[Line]:
    """Say everything, a paragraph each; slices in one of the orders of `Check.slices_by`."""
    lines = [
        Line("verdict", verdict_words(check)),
        Line("message", check.words),
    ]
    if check.tolerance is not None:
        lines.append(Line("allowed", check.tolerance.words))
    if check.rejected:
        lines.append(Line("size", check.effect.words))
    if "fitted" in check.result.details:
        lines.append(Line("fitted", "", check.result.details["fitted"]))
    overall = (f.words for f in check.overall if f.kind not in ("correlation", "class") or f.telling)
    lines += [Line("all rows", "", words) for words in overall]
    lines += [Line("where", one.words, rest_words(one)) for one in check.slices_by(order)]
    if check.rejected and not check.slices:
        lines.append(Line("where", "", "no single column or pair of columns stands out"))
    lines += [Line("groups", one.words, rest_words(one)) for one in check.groups[:GROUPS]]
    if len(check.groups) > GROUPS:
        lines.append(Line("groups", "", f"and {len(check.groups) - GROUPS:,} more"))
    return lines + [Line("note", "", note) for note in check.notes]


def check_text(check: Check) -> str:
    """Write a check in some lines."""
    text, before = [title_of(check)], ""
    for line in lines_of(check):
        text += _hung(f"  {line.head if line.head != before else '':8} ", line.lead + line.rest)
        before = line.head
    return "\n".join(text)


def _all(columns: tuple[str, ...], most: int = 4) -> str:
    shown = list(columns[:most]) + ([f"{len(columns) - most} more"] if len(columns) > most else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "nothing"


def _hung(head: str, text: str) -> list[str]:
    """Wrap a text for a terminal, under its head."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )
