"""The report of several groups: a table of all, and a section for each as far as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from condgof.locate import SCHEMA, Check, GroupedChecks
from condgof.report._escape import html
from condgof.report._html import Safe, folded, paragraph, table
from condgof.report._numbers import size
from condgof.report._page import page, section
from condgof.report._run_notes import group_facts, what_was_run
from condgof.report._verdict import headline, sign
from condgof.result import pvalue_number

#: Bytes that the sections of groups may fill; a page stays below two million.
ROOM = 1_600_000
#: Rows of the table of groups.
MOST_ROWS = 1000


def groups_page(
    grouped: GroupedChecks,
    *,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Write the report of a check by groups.

    Parameters
    ----------
    grouped : GroupedChecks
        From `check_groups`.
    title, command, notes
        As in `check_page`.

    Returns
    -------
    str
        HTML, one file below 2 MB: where there are many groups, those with the smallest p-values have
        their pictures, and the others only a line in the table.
    """
    order = sorted(grouped.checks, key=lambda name: (grouped.checks[name].pvalue, name))
    shown = _sections(grouped, order)
    heading = title if title is not None else f"Does the model fit, by {grouped.by}?"
    rows = sum(check.result.n for check in grouped.checks.values())
    below = f"{rows:,} rows in {len(grouped.checks):,} groups of {grouped.by}"
    bad = bool(grouped.rejected)
    head = "Evidence against the model" if bad else "No evidence against the model"
    top = (
        f'<section class="verdict{" bad" if bad else ""}" aria-labelledby="all-v"><h2 id="all-v">'
        f"{sign(bad)}<span>{head}</span></h2>{paragraph(grouped.words)}</section>"
    )
    body = (
        top
        + _listing(grouped, order, shown)
        + "".join(shown.values())
        + _run(grouped, order, command, notes)
    )
    return page(heading, below, f"{head} · {heading}", body, _summary(grouped))


def _summary(grouped: GroupedChecks) -> dict[str, Any]:
    """Return the verdicts of all groups, for machines that read a page."""
    groups = {
        name: {
            "n": check.result.n,
            "pvalue": check.result.pvalue,
            "corrected_pvalue": check.corrected_pvalue,
            "effect": check.effect.interval.to_dict(),
        }
        for name, check in grouped.checks.items()
    }
    left_out = dict(grouped.left_out)
    return {
        "schema": SCHEMA,
        "by": grouped.by,
        "alpha": grouped.alpha,
        "groups": groups,
        "left_out": left_out,
    }


def _sections(grouped: GroupedChecks, order: Sequence[str]) -> dict[str, str]:
    """Return the sections that there is room for, smallest p-value first."""
    left, shown = ROOM, {}
    for i, name in enumerate(order):
        text = _section(grouped, name, f"g{i}")
        left -= len(text.encode())
        if left < 0:
            break
        shown[name] = text
    return shown


def _section(grouped: GroupedChecks, name: str, key: str) -> str:
    check = grouped.checks[name]
    inside = section(check, key, level=3)
    heading = f"{grouped.by} = {name}"
    if len(grouped.checks) > 4:  # a long page: the table leads to what a reader wants to see
        inside = folded(f"Pictures and numbers ({headline(check).lower()})", inside)
    return (
        f'<section class="group" id="{key}" aria-labelledby="{key}-name">'
        f'<h2 id="{key}-name">{html(heading)}</h2>{inside}</section>'
    )


def _listing(grouped: GroupedChecks, order: Sequence[str], shown: dict[str, str]) -> str:
    lines = [
        _line(grouped.checks[name], name, f"g{i}" if name in shown else "")
        for i, name in enumerate(order[:MOST_ROWS])
    ]
    header = [grouped.by, "verdict", "p-value", "corrected", "effect size (interval)", "rows"]
    caption = (
        f"Groups, smallest p-value first. Corrected: for looking at {len(grouped.checks):,} groups; "
        "at or below "
        f"{grouped.alpha:g} is evidence."
    )
    text = table(caption, header, lines, numeric=(2, 3, 5)) if lines else ""
    if len(shown) < len(order):
        text += paragraph(
            f"The {len(shown):,} groups with the smallest p-values have pictures below; there is no "
            "room for all in one "
            "page. Report the others by themselves to see theirs.",
            "means",
        )
    if grouped.left_out:
        left_out = list(grouped.left_out.items())[:MOST_ROWS]
        text += folded(
            f"{len(grouped.left_out):,} group{'s were' if len(grouped.left_out) > 1 else ' was'} left "
            "out",
            table("Groups that could not be checked", [grouped.by, "why"], left_out),
        )
    return f'<section aria-labelledby="groups"><h2 id="groups">Groups</h2>{text}</section>'


def _line(check: Check, name: str, key: str) -> tuple[object, ...]:
    much = check.effect.interval
    link = Safe(f'<a href="#{key}">{html(name)}</a>') if key else name
    return (
        link,
        "✗ evidence against" if check.rejects else "○ no evidence",
        pvalue_number(check.result.pvalue),
        pvalue_number(check.pvalue),
        f"{size(much.estimate)} ({size(much.low)} to {size(much.high)})",
        f"{check.result.n:,}",
    )


def _run(grouped: GroupedChecks, order: Sequence[str], command: str | None, notes: Sequence[str]) -> str:
    if not order:
        return ""
    first = grouped.checks[order[0]]
    return what_was_run(group_facts(grouped, first), "all", command, _python(grouped), notes)


def _python(grouped: GroupedChecks) -> str:
    level = "" if grouped.alpha == 0.05 else f", alpha={grouped.alpha:g}"
    seed = grouped.details.get("seed")
    return f"import condgof as cg\ncg.check_groups(model, x, y, by={grouped.by!r}{level}, rng={seed})"
