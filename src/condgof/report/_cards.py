"""Results in notebooks: small tables, escaped, in the notebook's own colours, without matplotlib."""

from __future__ import annotations

import numpy as np

from condgof.locate import Check, Finding, GroupedChecks
from condgof.methods import Comparison
from condgof.report._escape import html, shorten
from condgof.report._numbers import number, size
from condgof.report._verdict import headline
from condgof.result import GofResult, pvalue_number

# Inline, because a style sheet would reach the rest of the notebook; colours come from the notebook.
_BOX = "max-width:46em;line-height:1.5"
_LINE = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def result_card(result: GofResult) -> str:
    """Return a test result as a small table with its null distribution as a sparkline."""
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    how = (
        f" ({draws:,} {result.null} draws)"
        if draws
        else f" ({result.null} limit)"
        if result.null
        else ""
    )
    rows = [
        ("p-value", f"{pvalue_number(result.pvalue, result.pvalue_floor)}{how}"),
        ("statistic", number(result.statistic, 4)),
        ("rows", f"{result.n:,}"),
    ]
    rows += [
        (f"kernel {side}", str(k)) for side, k in (("x", result.kernel_x), ("y", result.kernel_y)) if k
    ]
    rows += [("note", str(note)) for note in result.details.get("notes", ())]
    word = "evidence" if result.reject() else "no evidence"
    said = f"{word} against the model at the 5% level"
    if isinstance(result, Comparison):
        said = result.words()
    head = f"{result.method}: {said}"
    return _box(head, _spark(result) + _table(rows), result.reject())


def check_card(check: Check) -> str:
    """Return a check as a verdict, its numbers and its locations."""
    able, much = check.detectable, check.effect.interval
    rows = [
        ("p-value", pvalue_number(check.pvalue, check.details.get("pvalue_floor", 0.0))),
        (
            "effect size",
            f"{size(much.estimate)} ({size(much.low)} to {size(much.high)}) {check.effect.unit}",
        ),
        ("could have seen", able.words),
        ("rows", f"{check.result.n:,}"),
    ]
    places = "".join(
        f'<tr><td style="{_LINE}">{"●" if place.named else "○"}&nbsp;{i}</td>'
        f'<td style="{_LINE}">{html(shorten(place.where, 120))}</td>'
        f'<td style="{_LINE}">{pvalue_number(place.pvalue)}</td>'
        f'<td style="{_LINE}">{html(_found(place.findings))}</td></tr>'
        for i, place in enumerate(check.locations, 1)
    )
    listed = ""
    if places:
        heads = "".join(f'<th style="{_LINE}">{name}</th>' for name in ("", "where", "p", "how"))
        listed = (
            f"<table><thead><tr>{heads}</tr></thead><tbody>{places}</tbody></table>"
            "<div>● evidence by itself, ○ only where to look; <code>to_html()</code> has the whole "
            "report.</div>"
        )
    body = f"<div>{html(check.words)}</div>{_table(rows)}{listed}"
    return _box(headline(check), body, check.rejects)


def groups_card(grouped: GroupedChecks, most: int = 20) -> str:
    """Return checks by group as a table, smallest p-value first."""
    ordered = sorted(grouped.checks.items(), key=lambda item: (item[1].pvalue, item[0]))
    lines = "".join(
        f'<tr><td style="{_LINE}">{"✗" if check.rejects else "○"} {html(shorten(name, 60))}</td>'
        f'<td style="{_LINE}">{pvalue_number(check.pvalue)}</td>'
        f'<td style="{_LINE}">{size(check.effect.interval.estimate)}</td>'
        f'<td style="{_LINE}">{check.result.n:,}</td></tr>'
        for name, check in ordered[:most]
    )
    heads = "".join(
        f'<th style="{_LINE}">{html(n)}</th>'
        for n in (grouped.by, "p, corrected", "effect size", "rows")
    )
    more = f"<div>and {len(ordered) - most:,} more groups</div>" if len(ordered) > most else ""
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>{more}"
    return _box(grouped.words, body, bool(grouped.rejected))


def _found(findings: tuple[Finding, ...]) -> str:
    return "; ".join(finding.words for finding in findings if finding.named) or "–"


def _box(head: str, body: str, bad: bool) -> str:
    return f'<div style="{_BOX}"><strong>{"✗" if bad else "○"} {html(head)}</strong>{body}</div>'


def _table(rows: list[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row" style="{_LINE}">{html(name)}</th>'
        f'<td style="{_LINE}">{html(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><tbody>{lines}</tbody></table>"


def _spark(result: GofResult) -> str:
    """Draw the null distribution and the statistic in one line, in the colour of the text."""
    draws = result.null_distribution
    if draws is None or len(draws) < 2:
        return ""
    high = max(float(draws.max()), result.statistic)
    low = min(float(draws.min()), result.statistic)
    counts, _ = np.histogram(draws, 40, (low, high if high > low else low + 1.0))
    tall = counts / counts.max()
    bars = "".join(f"M{5 * i + 0.5:g} 34v{-30 * t:.1f}h4V34z" for i, t in enumerate(tall) if t)
    at = 200 * (result.statistic - low) / ((high - low) or 1.0)
    said = f"null distribution, and the statistic {number(result.statistic)} as a line"
    return (
        f'<svg width="208" height="38" viewBox="-4 0 208 38" role="img" aria-label="{html(said)}" '
        f'style="display:block;margin:4px 0"><path d="{bars}" fill="currentColor" fill-opacity="0.35"/>'
        f'<path d="M{at:.1f} 36V0" stroke="currentColor" stroke-width="2.5"/></svg>'
    )
