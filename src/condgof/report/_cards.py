"""Results in notebooks: small tables, escaped, in the notebook's own colours, without matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from condgof.check._comparison import Comparison, Ranking
from condgof.check._record import Check, Slice
from condgof.check._text import headline
from condgof.report._findings import chips, name_of
from condgof.report._text import html, shorten
from condgof.result import GofResult, Shown, number, pvalue_words, sized

# Inline, because a style sheet would reach the rest of the notebook; colours come from the notebook.
_BOX = "max-width:52em;line-height:1.5"
_LINE = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
#: Rows of a table, and letters of a cell.
MOST, LONGEST = 12, 200


def card(result: Shown) -> str:
    """Return any result as a card: what it says, and its numbers."""
    if isinstance(result, Check):
        return _check(result)
    if isinstance(result, Comparison):
        return _comparison(result)
    if isinstance(result, Ranking):
        return _ranking(result)
    if isinstance(result, Slice):
        about = [("rows", f"{result.n:,}"), *((name_of(f), f.words) for f in result.findings)]
        certain = pvalue_words(result.pvalue, result.pvalue_floor)
        return box(f"{result.words}: {result.direction}, {certain}", lines(about), True)
    if isinstance(result, GofResult):
        rows = [*result.facts()[:2], ("rows", f"{result.n:,}"), *result.facts()[2:]]
        return box(f"{result.method}: {result.verdict}", _spark(result) + lines(rows), result.reject())
    records = [dict(record) for record in result.records()]
    texts = [[_written(value) for value in record.values()] for record in records[:MOST]]
    heads = list(records[0]) if records else []
    bad = bool(getattr(result, "alarm", False))
    return box(str(getattr(result, "words", "")), _table(heads, texts, len(records)), bad)


def _check(check: Check) -> str:
    """Return a check as its message, the three numbers, and its slices or groups."""
    rows = [
        (name, f"{value} {meaning}" if i == 1 else value)
        for i, (name, value, meaning) in enumerate(chips(check))
    ]
    rows.append(("Rows", f"{check.result.n:,}"))
    listed = _slices(check.slices, "where") + _slices(check.groups, "group")
    more = "<div><code>to_html()</code> has the whole report.</div>"
    body = f"<div>{html(check.words)}</div>{lines(rows)}{listed}{more}"
    return box(headline(check), body, check.rejected)


def _comparison(result: Comparison) -> str:
    """Return the verdict, a line for each measure, and where the difference is another."""
    rows = [
        (s.name, f"difference {' ('.join(sized(s.difference, *s.interval))}), {pvalue_words(s.pvalue)}")
        for s in result.measures
    ]
    rows.append(("rows", f"{result.n:,}"))
    rows += [("where", f"{one.words}: {one.findings[0].words}") for one in result.slices]
    rows += [("note", str(note)) for note in result.details.get("notes", ())]
    return box(result.verdict, lines(rows), result.reject(result.alpha))


def _ranking(result: Ranking) -> str:
    """Return the words, and a line for each model."""
    best = result.best()
    listed = [
        (name, f"{mean:.5g}{', may be the best' if name in best else ''}")
        for name, mean in zip(result.names, result.means, strict=True)
    ]
    return box(result.words, lines([*listed, ("rows", f"{result.n:,}")]), len(best) < len(result.names))


def _slices(parts: Sequence[Slice], name: str) -> str:
    cells = [
        (shorten(part.words, 120), f"{part.n:,}", shorten(part.message, LONGEST),
         pvalue_words(part.pvalue, part.pvalue_floor))
        for part in parts[:MOST]
    ]  # fmt: skip
    return _table([name, "rows", "the model is", "how certain"], cells, len(parts))


def _written(value: Any) -> str:
    """Write a value of a record."""
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else "" if value is None else shorten(value, LONGEST)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """Return the first of `count` rows under their heads; nothing for no rows."""
    if not count:
        return ""
    head = "".join(f'<th style="{_LINE}">{html(name)}</th>' for name in heads)
    cells = ("".join(f'<td style="{_LINE}">{html(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<div>and {count - MOST:,} more</div>" if count > MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def box(head: str, body: str, bad: bool) -> str:
    """Return a heading with what is under it."""
    return f'<div style="{_BOX}"><strong>{"✗" if bad else "○"} {html(head)}</strong>{body}</div>'


def lines(rows: Iterable[tuple[str, str]]) -> str:
    """Return a small table of names and values."""
    listed = "".join(
        f'<tr><th scope="row" style="{_LINE}">{html(name)}</th>'
        f'<td style="{_LINE}">{html(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><tbody>{listed}</tbody></table>"


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
    words = f"null distribution, and the statistic {number(result.statistic)} as a line"
    return (
        f'<svg width="208" height="38" viewBox="-4 0 208 38" role="img" aria-label="{html(words)}" '
        f'style="display:block;margin:4px 0"><path d="{bars}" fill="currentColor" fill-opacity="0.35"/>'
        f'<path d="M{at:.1f} 36V0" stroke="currentColor" stroke-width="2.5"/></svg>'
    )
