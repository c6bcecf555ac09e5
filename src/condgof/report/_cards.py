"""Results in notebooks: small tables, escaped, in the notebook's own colours, without matplotlib."""

from __future__ import annotations

import numpy as np

from condgof.check._record import Check, Slice
from condgof.check._text import headline
from condgof.report._escape import html, shorten
from condgof.report._message import chips
from condgof.report._numbers import number
from condgof.result import GofResult, pvalue_number, pvalue_words

# Inline, because a style sheet would reach the rest of the notebook; colours come from the notebook.
_BOX = "max-width:52em;line-height:1.5"
_LINE = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
#: Rows of a table.
MOST = 12


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
    return box(f"{result.method}: {said}", _spark(result) + lines(rows), result.reject())


def check_card(check: Check) -> str:
    """Return a check as its message, the three numbers, and its slices or groups."""
    rows = [
        (name, f"{value} {meaning}" if i == 1 else value)
        for i, (name, value, meaning) in enumerate(chips(check))
    ]
    rows.append(("Rows", f"{check.result.n:,}"))
    listed = _slices(check.slices, "where") + _slices(check.groups, "group")
    body = f"<div>{html(check.words)}</div>{lines(rows)}{listed}"
    return box(
        headline(check), f"{body}<div><code>to_html()</code> has the whole report.</div>", check.rejected
    )


def _slices(parts: tuple[Slice, ...], name: str) -> str:
    if not parts:
        return ""
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_LINE}">{html(cell)}</td>'
            for cell in (
                shorten(part.words, 120),
                f"{part.n:,}",
                shorten(part.message, 200),
                pvalue_words(part.pvalue, part.pvalue_floor),
            )
        )
        + "</tr>"
        for part in parts[:MOST]
    )
    heads = "".join(
        f'<th style="{_LINE}">{head}</th>' for head in (name, "rows", "the model is", "how certain")
    )
    more = f"<div>and {len(parts) - MOST:,} more</div>" if len(parts) > MOST else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>{more}"


def box(head: str, body: str, bad: bool) -> str:
    """Return a heading with what is under it."""
    return f'<div style="{_BOX}"><strong>{"✗" if bad else "○"} {html(head)}</strong>{body}</div>'


def lines(rows: list[tuple[str, str]]) -> str:
    """Return a small table of names and values."""
    found = "".join(
        f'<tr><th scope="row" style="{_LINE}">{html(name)}</th>'
        f'<td style="{_LINE}">{html(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><tbody>{found}</tbody></table>"


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
