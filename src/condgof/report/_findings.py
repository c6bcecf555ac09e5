"""Findings in HTML: names and numbers, the message, the table of slices; and cards for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from condgof.check._comparison import Comparison
from condgof.check._record import Check, Finding, Slice
from condgof.check._text import headline, listed
from condgof.report import _text as text
from condgof.report._chart import Chart, Ends, robust_ends, svg
from condgof.report._panels import (
    KINDS,
    TURNED,
    column_panel,
    kind_name,
    map_of,
    part_y,
    sides,
)
from condgof.report._pictures import fit, slice_qq, slice_residuals
from condgof.report._text import html, minus, once_in, paragraph, sentence, shorten, table
from condgof.result import (
    GofResult,
    Shown,
    number,
    pvalue_number,
    pvalue_words,
    rounded,
    short,
    sized,
)

#: The sign before the headline, where there is evidence against the model and where not.
SIGNS = {True: '<path d="M6 6L18 18M18 6L6 18"/>', False: '<circle cx="12" cy="12" r="8"/>'}
#: A message of more letters is set smaller.
LONG = 130
#: Of all rows, where they are other numbers.
OVERALL = {"shift": "shift of the median", "spread": "width of the middle half"}


def given(check: Check) -> str:
    """Say what is predicted from what: "wage given age, education and 5 more"."""
    both = filter(None, (check.y_columns, check.x_columns))
    return " given ".join(
        listed([shorten(name, 60) for name in columns]) for columns in both
    )


def name_of(finding: Finding, several: bool = False, overall: bool = False) -> str:
    """Name a finding: "inside the 90% interval"; of several columns of y, with its column."""
    if finding.kind == "correlation":
        return f"correlation of {finding.column}"
    name = kind_name(finding.kind, finding.label)
    name = OVERALL.get(finding.kind, name) if overall else name
    return f"{finding.column}: {name}" if several else name


def value_of(finding: Finding, value: float) -> str:
    """Write a value of a finding as its words do, and no finer than its interval is."""
    if finding.kind == "tails":
        return "under 0.01%" if 0.0 < value < 1e-4 else f"{number(100 * value, 2)}%"
    coarse = abs(value) < 100 and finding.interval[1] - finding.interval[0] > 0.01
    text = (f"{value + 0.0:.2f}" if coarse else rounded(value)).replace("-", "−")
    text = "0.00" if text == "−0.00" else text
    signed = (
        finding.kind in ("shift", "skew", "correlation") and value > 0 and text != "0.00"
    )
    return f"+{text}" if signed else text


def expected_of(finding: Finding) -> str:
    """Write what the model says: 1, 0.5, 0.1%; of what differs from row to row the mean, 0.30."""
    text = value_of(finding, finding.expected)
    fixed = "." in text and finding.kind not in ("confidence", "class", "zeros")
    return text.rstrip("0").rstrip(".") if fixed else text


def range_of(finding: Finding) -> str:
    return " to ".join(value_of(finding, end) for end in finding.interval)


def chips(check: Check) -> list[tuple[str, str, str]]:
    """Return how certain, how much, whether it is enough: a name, a value and what it means, each."""
    much, power, p = check.effect.interval, check.power, check.result.pvalue_words
    often = once_in(check.pvalue).replace("about", "at most" if "≤" in p else "about")
    seen, ends = sized(much.estimate, much.low, much.high)
    between = f"{seen}, between {ends.replace('to', 'and')}"
    found = between if much.low > 0 else f"at most {short(much.high)}"
    if check.tolerance is not None:
        allowed = f"the {check.tolerance.allowed:g} you allow"
        verdict = {
            "worse than you allow": f"worse than {allowed}",
            "good enough": f"good enough: below {allowed}",
        }.get(check.tolerance.verdict, f"{check.tolerance.verdict} about {allowed}")
        last = "Is it enough", verdict, check.tolerance.words
    else:
        able = "not known" if power.size is None else f"{short(power.size)} or more"
        last = "Detectable", able, power.words
    said = last[2].rstrip(".") in check.words  # once is enough
    return [
        (
            "How certain",
            p,
            f"If {check.subject} were right, data this far off would come up {often}.",
        ),
        ("How much", found, f"{check.effect.unit}; 0 is a perfect fit"),
        (*last[:2], "" if said else last[2]),
    ]


def message(check: Check) -> str:
    """Return the message, large, and the chips; "open" is the look of a tolerance that is undecided."""
    bad, looks = check.rejected, {"worse than you allow": "bad", "good enough": "good"}
    verdict = None if check.tolerance is None else check.tolerance.verdict
    look = looks.get(verdict, "open") if verdict else "bad" if bad else "good"
    items = "".join(
        f"<li><span>{html(name)}</span><b>{html(value)}</b>{paragraph(meaning) if meaning else ''}</li>"
        for name, value, meaning in chips(check)
    )
    words = paragraph(check.words, "words long" if len(check.words) > LONG else "words")
    return (
        f'<section class="message {look}" aria-labelledby="verdict"><h2 id="verdict">'
        f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{SIGNS[bad]}</svg>'
        f"{html(headline(check))}</h2>{words}"
        f'<ul class="chips">{items}</ul></section>'
    )


#: Rows of a table, kinds of findings that have a column of their own there, rows of a
#: card's table.
MOST_ROWS, MOST_KINDS, MOST_FINDINGS = 200, 3, 16
#: Cards with pictures, of slices and of groups, and cards at all: a page stays below 1 MB.
MOST_DRAWN, MOST_CARDS = 8, 20
#: How far apart numbers on an axis stand, in percent of its width for each character.
APART = 7.0


class Shared(NamedTuple):
    """The axis that all intervals of one kind share; a few may reach beyond."""

    kind: str
    ends: Ends

    def at(self, value: float) -> float:
        """Return a place on the axis in percent of its width, a margin at both ends."""
        low, high = self.ends
        value = low if np.isnan(value) else float(np.clip(value, low, high))
        return round(4.0 + 92.0 * (value - low) / (high - low), 1)

    def head(self) -> str:
        """Return the head of its column: what it is, its unit, and ticks."""
        at = text.ticks(*self.ends, 3)
        at = at[:: -(-len(at) // 3)]
        texts = text.tick_texts([100 * t for t in at] if self.kind == "tails" else at)
        marks, last = "", -100.0
        for place, words in zip(map(self.at, at), texts, strict=True):
            words += "%" * (self.kind == "tails")
            if place - last >= APART * len(words):
                marks += (
                    f'<text x="{place}%" y="11" text-anchor="middle">{html(words)}</text>'
                )
                last = place
        return (
            f'<th scope="col" class="axis"><span>{html(kind_name(self.kind))}</span> '
            f"<small>{html(''.join(KINDS.get(self.kind, ())[1:]))}</small>"
            '<svg aria-hidden="true" focusable="false" width="100%"'
            f' height="15">{marks}</svg></th>'
        )

    def cell(self, finding: Finding) -> str:
        """Return an estimate and its interval, if it is of this kind; the line is the model's."""
        if finding.kind != self.kind:
            return '<td class="axis none"></td>'
        low, high = map(self.at, finding.interval)
        drawn = (
            f'<rect class="model" x="{self.at(finding.expected)}%" width="1.5"'
            f' height="100%"/><g class="{side(finding)}"><rect x="{low}%"'
            f' width="{max(high - low, 0.3):.1f}%" y="50%" height="2.4"/><circle'
            f' cx="{self.at(finding.estimate)}%" cy="50%" r="4.6"/></g>'
        )
        (first, last), (low, high) = finding.interval, self.ends
        for goes_on, x, arrow in ((first < low, 1, "‹"), (last > high, 99, "›")):
            if goes_on:
                drawn += (
                    f'<text x="{x}%" y="50%" dy="5" text-anchor="middle">{arrow}</text>'
                )
        label = (
            f"<small>{html(shorten(finding.label, 24))}</small>" if finding.label else ""
        )
        interval = f"{range_of(finding)}; the model says {expected_of(finding)}"
        return (
            f'<td class="axis"><b>{value_of(finding, finding.estimate)}{label}</b><span'
            f' class="unseen"> ({html(interval)})</span><svg aria-hidden="true"'
            f' focusable="false" width="100%" height="100%">{drawn}</svg></td>'
        )


def side(finding: Finding) -> str:
    """Return the colour of a finding: which way the data differ from the model."""
    low, high = np.array(finding.interval)[:, None]
    return sides(low, high, np.array(finding.expected), finding.kind in TURNED)[0]


def slices_table(check: Check, parts: Sequence[Slice], key: str, caption: str) -> str:
    """Return a table of slices or groups; they open a card under their row."""
    shown, axes, bodies = parts[:MOST_ROWS], [], ""
    for kind in list(dict.fromkeys(part.kind for part in shown))[:MOST_KINDS]:
        same = [part.findings[0] for part in shown if part.kind == kind]
        always = [v for f in same for v in (f.estimate, f.expected)]
        axes.append(
            Shared(
                kind, robust_ends(np.array([f.interval for f in same]).ravel(), always, 0.0)
            )
        )
    worst = {
        id(part): i for i, part in enumerate(sorted(shown, key=lambda part: -part.severity))
    }
    for i, part in enumerate(shown):
        name, sure = f"{key}{i + 1}", part.pvalue <= check.alpha or part.findings[0].telling
        card = _card(check, part, name, sure, i < MOST_DRAWN) if i < MOST_CARDS else ""
        row = _row(part, axes, i + 1, name if card else "", sure)
        bodies += (
            f'<tbody data-certain="{i}" data-worst="{worst[id(part)]}">{row}{card}</tbody>'
        )
    if len(shown) > MOST_DRAWN:
        caption += f" The first {MOST_DRAWN} have pictures."
    orders = "".join(
        f'<button type="button" aria-pressed="{pressed}" data-by="{by}">{words}</button>'
        for by, words, pressed in (
            ("certain", "most certain", "true"),
            ("worst", "worst", "false"),
        )
    )
    heads = "".join(axis.head() for axis in axes)
    more = f'<button type="button" class="all">All {len(shown)} rows</button>'
    return (
        f'<div class="sort" role="group" aria-label="Order">{orders}</div><table'
        f' class="slices k{len(axes)}"><caption>{html(caption)}</caption><thead><tr><th'
        ' scope="col"></th><th scope="col">where</th><th scope="col"'
        f' class="n">rows</th><th scope="col">the model is</th>{heads}<th scope="col"'
        ' class="n">how'
        f" certain</th></tr></thead>{bodies}</table>{more * (len(shown) > MOST_CARDS)}"
    )


def _row(part: Slice, axes: Sequence[Shared], rank: int, key: str, sure: bool) -> str:
    """Return one row; it opens the card with the id `key`, and says what is wrong if that is sure."""
    cells = "".join(axis.cell(part.findings[0]) for axis in axes)
    words = html(shorten(part.words, 240))
    if key:
        more = f'class="open" aria-expanded="true" aria-controls="{key}"'
        words = f'<button type="button" {more}>{words}</button>'
    share = (
        f"{100 * part.share:.0f}%"
        if part.share >= 0.01
        else f"{number(100 * part.share, 1)}%"
    )
    return (
        f'<tr class="slice{" opens" if key else ""}"><td class="i">{rank}</td><th'
        f' scope="row">{words}</th><td class="n">{part.n:,}<small>'
        f' {share}</small></td><td><span class="side'
        f' {side(part.findings[0])}">{html(part.direction if sure else "–")}</span></td>{cells}<td'
        f' class="n p">{html(pvalue_words(part.pvalue, part.pvalue_floor))}</td></tr>'
    )


def _card(check: Check, part: Slice, key: str, sure: bool, drawn: bool) -> str:
    """Return the row that opens: what is wrong, pictures, all numbers, which rows, and the query."""
    looked, beside = check.looked, ""
    inside = np.flatnonzero(np.isin(looked.rows, part.rows))
    if looked.location is not None and looked.kind in ("continuous", "counts", "moments"):
        y, predicted = (
            number(float(v[inside, 0].mean()), 4) for v in (looked.y, looked.location)
        )
        name = shorten(check.y_columns[0], 60)
        beside += paragraph(f"Mean {name} {y}, mean prediction {predicted}.", "small")
    if looked.z is not None:
        far = np.abs(looked.z[inside]).max(axis=1)
        first = ", ".join(
            map(str, looked.rows[inside[np.argsort(-far, kind="stable")[:5]]])
        )
        beside += paragraph(
            f"Rows farthest from the model, counted from 0: {first}.", "small"
        )
    if part.query:
        beside += paragraph("These rows in Python:", "small")
        beside += code(f"report.frame().query({part.query!r})")
    left_out = len(part.findings) - MOST_FINDINGS
    caption = f"These {part.n:,} rows" + f" ({left_out:,} more in to_dict())" * (
        left_out > 0
    )
    numbers = tiles(caption, part.findings[:MOST_FINDINGS], len(check.y_columns) > 1)
    words = part.message if sure else f"no evidence: {part.findings[0].words}"
    pictures = _pictures(check, part, key) if drawn else ""
    return (
        f'<tr class="more"><td colspan="9"><div class="card" id="{key}">'
        f'{paragraph(sentence(words), "lead")}<div class="two">{pictures}<div'
        ' class="beside">'
        f"<div>{numbers}</div><div>{beside}</div></div></div></div></td></tr>"
    )


def tiles(
    of: str, findings: Sequence[Finding], several: bool, overall: bool = False
) -> str:
    """Return findings of some rows, a tile each: the data, their interval, and what the model says."""
    items = "".join(
        f"<li{' class=telling' * f.telling}>"
        f"<span>{html(name_of(f, several, overall))}</span>"
        f"<b>{value_of(f, f.estimate)}</b>"
        f"<small>{range_of(f)}</small>"
        f"<small>model {expected_of(f)}</small></li>"
        for f in findings
    )
    return f'<p class="of">{html(of)}</p><ul class="tiles">{items}</ul>' if items else ""


def _pictures(check: Check, part: Slice, key: str) -> str:
    """Draw the residuals of a slice's rows, and its columns with the slice shaded."""
    by_name = {axis.name: axis for axis in check.looked.axes}
    named = [
        by_name[c] for c in dict.fromkeys(c.column for c in part.conditions) if c in by_name
    ]
    drawn, along = [slice_residuals(check, part), slice_qq(check, part)], None
    y = part_y(check.looked, part)
    if len(named) == 2:
        along = map_of(check, named[0], named[1], part=part)
    elif named:
        along = fit(check, named[0].name, part, y=y)
        along = along or column_panel(check, named[0], part, y=y, wide=True)
    if along is not None:
        columns = " and ".join(shorten(axis.label or axis.name, 40) for axis in named)
        drawn.append(replace(along, title=f"The slice among all rows, along {columns}"))
    return "".join(
        figure(chart, f"{key}-{i}") for i, chart in enumerate(drawn) if chart is not None
    )


def figure(chart: Chart, key: str) -> str:
    header, rows = chart.table
    left_out = f" (the first {MOST_ROWS} of {len(rows):,})" * (len(rows) > MOST_ROWS)
    caption = f"Numbers of this picture{left_out}"
    return (
        "<figure"
        f' class="w{chart.size[0] // 10}"><figcaption>{html(chart.title)}</figcaption>'
        f'{svg(chart, key)}<details class="behind"><summary>Numbers</summary>'
        f"{table(caption, header, rows[:MOST_ROWS])}</details></figure>"
    )


def code(text: str) -> str:
    """Return lines of code with a button that copies them; line ends stay."""
    lines = "\n".join(map(html, text.splitlines()))
    button = '<button type="button" class="copy">Copy</button>'
    return f'<div class="code"><pre><code>{lines}</code></pre>{button}</div>'


# Inline, because a style sheet would reach the rest of the notebook; colours come from the
# notebook.
_BOX = "max-width:52em;line-height:1.5"
_LINE = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
#: Rows of a card's table.
MOST = 12


def card(result: Shown) -> str:
    head, bad = str(getattr(result, "words", "")), bool(getattr(result, "alarm", False))
    count = ("rows", f"{getattr(result, 'n', 0):,}")
    if isinstance(result, Check):
        head, bad, rows = (
            f"{headline(result)}, {result.result.n:,} rows",
            result.rejected,
            [],
        )
        for part in (*result.slices, *result.groups):
            certain = pvalue_words(part.pvalue, part.pvalue_floor)
            sure = part.pvalue <= result.alpha or part.findings[0].telling
            said = shorten(part.message, 200) if sure else "–"
            rows.append((shorten(part.words, 120), f"{part.n:,}", said, certain))
        where = _lines(rows, ("where", "rows", "the model is", "how certain"))
        more = "<div><code>to_html()</code> has the whole report.</div>"
        body = f"<div>{html(result.words)}</div>{_lines(chips(result))}{where}{more}"
    elif isinstance(result, Slice):
        certain_words = pvalue_words(result.pvalue, result.pvalue_floor)
        head, bad = f"{result.words}: {result.direction}, {certain_words}", True
        body = _lines([count, *((name_of(f), f.words) for f in result.findings)])
    elif isinstance(result, GofResult) and not isinstance(result, Comparison):
        head, bad, facts = (
            f"{result.method}: {result.verdict}",
            result.reject(),
            result.facts(),
        )
        body = _lines([*facts[:2], count, *facts[2:]])
    else:
        records, head = (
            result.records(),
            minus(head) if isinstance(result, Comparison) else head,
        )
        heads = tuple(records[0]) if records else ()
        body = _lines(
            [[_written(*cell) for cell in record.items()] for record in records], heads
        )
        for note in getattr(result, "details", {}).get("notes", ()):
            body += f"<div>{html(note)}</div>"
    return (
        f'<div style="{_BOX}"><strong>{"✗" if bad else "○"}'
        f" {html(head)}</strong>{body}</div>"
    )


def records_table(caption: str, records: Sequence[dict[str, Any]]) -> str:
    rows = [[_written(*cell) for cell in record.items()] for record in records]
    return table(caption, list(records[0]), rows) if records else ""


def _written(name: str, value: object) -> str:
    if isinstance(value, float):
        return pvalue_number(value) if name == "pvalue" else number(value, 4)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}"
        if isinstance(value, int)
        else ""
        if value is None
        else shorten(value, 200)
    )


def _lines(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return a small table: the first rows under their heads, or names and values."""

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} style="{_LINE}">{html(value)}</{tag[:2]}>' for value in values
        )

    first, most = ("td", MOST) if heads else ('th scope="row"', len(rows))
    lines = (
        f"<tr>{cells(row[:1], first)}{cells(row[1:], 'td')}</tr>" for row in rows[:most]
    )
    head = f"<thead><tr>{cells(heads, 'th')}</tr></thead>" if heads else ""
    more = f"<div>and {len(rows) - most:,} more</div>" if len(rows) > most else ""
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>{more}" if rows else ""
