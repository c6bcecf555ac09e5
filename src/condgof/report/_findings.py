"""Findings in HTML: the message, tiles, the table of slices; cards for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from condgof.check import Check, Comparison, Finding, Slice, headline, listed
from condgof.check.curves import MOST_DRAWN, SubgroupPictures, part_y
from condgof.report import _text as text
from condgof.report._bins import sides
from condgof.report._chart import Chart, Ends, robust_ends, svg
from condgof.report._dispatch import slice_facts, slice_picture, slice_quantiles
from condgof.report._fit import fit
from condgof.report._forest import kind_name, more_is_less, unit_of
from condgof.report._maps import map_of
from condgof.report._panels import column_panel
from condgof.report._text import (
    ROW,
    html,
    minus,
    once_in,
    paragraph,
    sentence,
    shorten,
    table,
)
from condgof.result import (
    GofResult,
    Shown,
    estimate_text,
    number,
    pvalue_number,
    pvalue_words,
    rounded,
    short,
)

#: The sign before the headline where there is evidence against the model: a cross.
EVIDENCE_SIGN = '<path d="M6 6L18 18M18 6L6 18"/>'
#: The sign where there is none: a circle.
NO_EVIDENCE_SIGN = '<circle cx="12" cy="12" r="8"/>'
#: A message of more letters is set smaller.
LONG_MESSAGE = 130
#: Names by `Finding.quantity`, where a kind of finding has another name overall.
OVERALL_NAMES = {
    "median": "median bias",
    "middle half": "width of the middle half",
}


def given(check: Check) -> str:
    """Say what is predicted from what: "wage given age, education and 5 more"."""
    both = filter(None, (check.y_columns, check.x_columns))
    return " given ".join(
        listed([shorten(name, 60) for name in columns]) for columns in both
    )


def name_of(finding: Finding, several: bool = False) -> str:
    """Name a finding: "inside the 90% interval"; of `several` columns, with its own."""
    if finding.kind == "correlation":
        return f"correlation of {finding.column}"
    name = OVERALL_NAMES.get(finding.quantity, kind_name(finding.kind, finding.label))
    return f"{finding.column}: {name}" if several else name


def value_of(finding: Finding, value: float) -> str:
    """Write a value of a finding as its words do, and no finer than its interval is."""
    if finding.kind == "tails":
        return "under 0.01%" if 0.0 < value < 1e-4 else f"{number(100 * value, 2)}%"
    low, high = finding.interval
    is_coarse = abs(value) < 100 and high - low > 0.01
    text = f"{value + 0.0:.2f}" if is_coarse else rounded(value)
    text = text.replace("-", "−")
    if text in ("0.00", "−0.00"):
        return "0.00"
    has_sign = finding.kind in ("shift", "skew", "correlation")
    return f"+{text}" if has_sign and value > 0 else text


def expected_of(finding: Finding) -> str:
    """Write what the model predicts: 1, 0.5, 0.1%; the mean, 0.30, where rows differ."""
    text = value_of(finding, finding.expected)
    differs_by_row = finding.kind in ("confidence", "class", "zeros")
    if "." not in text or differs_by_row:
        return text
    return text.rstrip("0").rstrip(".")


def range_of(finding: Finding) -> str:
    return " to ".join(value_of(finding, end) for end in finding.interval)


class Chip(NamedTuple):
    """One of the three answers below the message."""

    name: str
    value: str
    meaning: str


def chips(check: Check) -> list[Chip]:
    """Return how certain, how much, and whether it is enough."""
    last = _detectable(check) if check.tolerance is None else _enough(check)
    if last.meaning.rstrip(".") in check.words:  # once is enough
        last = last._replace(meaning="")
    return [_certainty(check), _size(check), last]


def _certainty(check: Check) -> Chip:
    p = check.result.pvalue_words
    often = once_in(check.pvalue)
    if "≤" in p:
        often = often.replace("about", "at most")
    meaning = f"If {check.subject} were right, data this far off would come up {often}."
    return Chip("How certain", p, meaning)


def _size(check: Check) -> Chip:
    size = check.effect.interval
    estimate, ends = estimate_text(size.estimate, size.low, size.high)
    value = f"at most {short(size.high)}"
    if size.low > 0:
        value = f"{estimate}, between {ends.replace('to', 'and')}"
    return Chip("How much", value, f"{check.effect.unit}; 0 is a perfect fit")


def _enough(check: Check) -> Chip:
    tolerance = check.tolerance
    assert tolerance is not None
    allowed = f"the {tolerance.allowed:g} you allow"
    verdicts = {
        "worse than you allow": f"worse than {allowed}",
        "good enough": f"good enough: below {allowed}",
    }
    value = verdicts.get(tolerance.verdict, f"{tolerance.verdict} about {allowed}")
    return Chip("Is it enough", value, tolerance.words)


def _detectable(check: Check) -> Chip:
    size = check.power.size
    value = "not known" if size is None else f"{short(size)} or more"
    return Chip("Detectable", value, check.power.words)


def message(check: Check) -> str:
    """Return the message, large, and the chips."""
    items = "".join(
        f"<li><span>{html(chip.name)}</span><b>{html(chip.value)}</b>"
        f"{paragraph(chip.meaning) if chip.meaning else ''}</li>"
        for chip in chips(check)
    )
    is_long = len(check.words) > LONG_MESSAGE
    words = paragraph(check.words, "words long" if is_long else "words")
    sign = EVIDENCE_SIGN if check.rejected else NO_EVIDENCE_SIGN
    return (
        f'<section class="message {_message_look(check)}" aria-labelledby="verdict"><h2'
        ' id="verdict">'
        f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{sign}</svg>'
        f"{html(headline(check))}</h2>{words}"
        f'<ul class="chips">{items}</ul></section>'
    )


def _message_look(check: Check) -> str:
    """Return the look of the message; "open" where a tolerance is undecided."""
    if check.tolerance is None:
        return "bad" if check.rejected else "good"
    looks = {"worse than you allow": "bad", "good enough": "good"}
    return looks.get(check.tolerance.verdict, "open")


#: Most rows of a table of slices.
MOST_ROWS = 200
#: Most kinds of findings that have a column of their own in a table of slices.
MOST_KINDS = 3
#: Most findings in the table of a card.
MOST_FINDINGS = 16
#: Most cards, with pictures or without.
MOST_CARDS = 20
#: How far apart numbers on an axis stand, in percent of its width for each character.
APART = 7.0
#: Where an axis begins, in percent of the width of its cell: there is a margin before it.
AXIS_START = 4.0
#: The width of an axis, in percent of the width of its cell: a margin is after it too.
AXIS_WIDTH = 92.0


class Shared(NamedTuple):
    """The axis that all intervals of one kind share; a few may reach beyond."""

    kind: str
    ends: Ends

    def at(self, value: float) -> float:
        """Return a place on the axis in percent of its width, a margin at both ends."""
        low, high = self.ends
        value = low if np.isnan(value) else float(np.clip(value, low, high))
        return round(AXIS_START + AXIS_WIDTH * (value - low) / (high - low), 1)

    def head(self) -> str:
        """Return the head of its column: what it is, its unit, and ticks."""
        at = text.ticks(*self.ends, 3)
        at = at[:: -(-len(at) // 3)]
        if self.kind == "tails":
            texts = [f"{tick}%" for tick in text.tick_texts([100 * t for t in at])]
        else:
            texts = text.tick_texts(at)
        marks = ""
        last = -100.0
        for place, words in zip(map(self.at, at), texts, strict=True):
            if place - last >= APART * len(words):
                marks += (
                    f'<text x="{place}%" y="11" text-anchor="middle">{html(words)}</text>'
                )
                last = place
        return (
            f'<th scope="col" class="axis"><span>{html(kind_name(self.kind))}</span> '
            f"<small>{html(unit_of(self.kind))}</small>"
            '<svg aria-hidden="true" focusable="false" width="100%"'
            f' height="15">{marks}</svg></th>'
        )

    def cell(self, finding: Finding) -> str:
        """Return an estimate, its interval and the model's line, if it is of this kind."""
        if finding.kind != self.kind:
            return '<td class="axis none"></td>'
        label = ""
        if finding.label:
            label = f"<small>{html(shorten(finding.label, 24))}</small>"
        interval = f"{range_of(finding)}; the model says {expected_of(finding)}"
        drawn = self._drawn(finding)
        return (
            f'<td class="axis"><b>{value_of(finding, finding.estimate)}{label}</b><span'
            f' class="unseen"> ({html(interval)})</span><svg aria-hidden="true"'
            f' focusable="false" width="100%" height="100%">{drawn}</svg></td>'
        )

    def _drawn(self, finding: Finding) -> str:
        """Draw the model's line, the interval, the estimate, and arrows beyond the axis."""
        first, last = finding.interval
        left = self.at(first)
        right = self.at(last)
        drawn = (
            f'<rect class="model" x="{self.at(finding.expected)}%" width="1.5"'
            f' height="100%"/><g class="{side(finding)}"><rect x="{left}%"'
            f' width="{max(right - left, 0.3):.1f}%" y="50%" height="2.4"/><circle'
            f' cx="{self.at(finding.estimate)}%" cy="50%" r="4.6"/></g>'
        )
        low, high = self.ends
        for goes_on, x, arrow in ((first < low, 1, "‹"), (last > high, 99, "›")):
            if goes_on:
                drawn += (
                    f'<text x="{x}%" y="50%" dy="5" text-anchor="middle">{arrow}</text>'
                )
        return drawn


def side(finding: Finding) -> str:
    """Return the colour of a finding: which way the data differ from the model."""
    low, high = np.array(finding.interval)[:, None]
    turned = more_is_less(finding.kind)
    return sides(low, high, np.array(finding.expected), turned=turned)[0]


def slices_table(check: Check, key: str, caption: str) -> str:
    """Return a table of slices, or of groups; they open a card under their row.

    The `key` says which: "s" or "g". Ids of cards begin with it.
    """
    parts = check.slices if key == "s" else check.groups
    pictures = check.pictures.slices if key == "s" else check.pictures.groups
    shown = parts[:MOST_ROWS]
    axes = _shared_axes(shown)
    by_severity = sorted(shown, key=lambda part: -part.severity)
    worst = {id(part): i for i, part in enumerate(by_severity)}
    bodies = ""
    for i, part in enumerate(shown):
        name = f"{key}{i + 1}"
        sure = part.pvalue <= check.alpha or part.findings[0].telling
        card = ""
        if i < MOST_CARDS:
            drawn = pictures[i] if i < len(pictures) else None
            card = _card(check, part, name, sure, drawn)
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
    more = ""
    if len(shown) > MOST_CARDS:
        more = f'<button type="button" class="all">All {len(shown)} rows</button>'
    return (
        f'<div class="sort" role="group" aria-label="Order">{orders}</div><table'
        f' class="slices k{len(axes)}"><caption>{html(caption)}</caption><thead><tr><th'
        ' scope="col"></th><th scope="col">where</th><th scope="col"'
        f' class="n">rows</th><th scope="col">the model is</th>{heads}<th scope="col"'
        ' class="n">how'
        f" certain</th></tr></thead>{bodies}</table>{more}"
    )


def _shared_axes(parts: Sequence[Slice]) -> list[Shared]:
    """Return the axes of the kinds of findings that lead first."""
    axes = []
    for kind in list(dict.fromkeys(part.kind for part in parts))[:MOST_KINDS]:
        same = [part.findings[0] for part in parts if part.kind == kind]
        always: list[float] = []
        for finding in same:
            always += [finding.estimate, finding.expected]
        ends = np.array([finding.interval for finding in same]).ravel()
        axes.append(Shared(kind, robust_ends(ends, always, 0.0)))
    return axes


def _row(part: Slice, axes: Sequence[Shared], rank: int, key: str, sure: bool) -> str:
    """Return one row, which opens the card with the id `key`."""
    cells = "".join(axis.cell(part.findings[0]) for axis in axes)
    words = html(shorten(part.words, 240))
    if key:
        more = f'class="open" aria-expanded="true" aria-controls="{key}"'
        words = f'<button type="button" {more}>{words}</button>'
    percent = 100 * part.share
    share = f"{percent:.0f}%" if part.share >= 0.01 else f"{number(percent, 1)}%"
    direction = part.direction if sure else "–"
    return (
        f'<tr class="slice{" opens" if key else ""}"><td class="i">{rank}</td><th'
        f' scope="row">{words}</th><td class="n">{part.n:,}<small>'
        f' {share}</small></td><td><span class="side'
        f' {side(part.findings[0])}">{html(direction)}</span></td>{cells}<td'
        f' class="n p">{html(pvalue_words(part.pvalue, part.pvalue_floor))}</td></tr>'
    )


def _card(
    check: Check, part: Slice, key: str, sure: bool, drawn: SubgroupPictures | None
) -> str:
    """Return the row that opens: what is wrong, pictures, numbers, rows and the query."""
    checked = check.checked
    inside = np.flatnonzero(np.isin(checked.rows, part.rows))
    facts = slice_facts(checked, inside)
    beside = "".join(paragraph(fact, "small") for fact in facts)
    if part.query:
        beside += paragraph("These rows in Python:", "small")
        beside += code(f"report.frame().query({part.query!r})")
    caption = f"These {part.n:,} rows"
    left_out = len(part.findings) - MOST_FINDINGS
    if left_out > 0:
        caption += f" ({left_out:,} more in to_dict())"
    numbers = tiles(caption, part.findings[:MOST_FINDINGS], len(check.y_columns) > 1)
    words = part.message if sure else f"no evidence: {part.findings[0].words}"
    pictures = "" if drawn is None else _pictures(check, part, key, drawn)
    return (
        f'<tr class="more"><td colspan="9"><div class="card" id="{key}">'
        f'{paragraph(sentence(words), "lead")}<div class="two">{pictures}<div'
        ' class="beside">'
        f"<div>{numbers}</div><div>{beside}</div></div></div></div></td></tr>"
    )


def tiles(caption: str, findings: Sequence[Finding], several: bool) -> str:
    """Return findings, a tile each: the data, their interval, and what the model says."""
    items = "".join(
        f"<li{' class=telling' * f.telling}>"
        f"<span>{html(name_of(f, several))}</span>"
        f"<b>{value_of(f, f.estimate)}</b>"
        f"<small>{range_of(f)}</small>"
        f"<small>model {expected_of(f)}</small></li>"
        for f in findings
    )
    if not items:
        return ""
    return f'<p class="of">{html(caption)}</p><ul class="tiles">{items}</ul>'


def _pictures(check: Check, part: Slice, key: str, numbers: SubgroupPictures) -> str:
    """Draw the residuals of a slice's rows, and its columns with the slice shaded."""
    checked = check.checked
    drawn = (
        slice_picture(checked, part, numbers.curves),
        slice_quantiles(checked, part, numbers.curves),
        _among_all(check, part, numbers),
    )
    return "".join(
        figure(chart, f"{key}-{i}") for i, chart in enumerate(drawn) if chart is not None
    )


def _among_all(check: Check, part: Slice, numbers: SubgroupPictures) -> Chart | None:
    """Draw a slice among all rows, along the columns that it names."""
    axes = {axis.name: axis for axis in check.checked.axes}
    y = part_y(check.checked, part)
    chart = None
    named: tuple[str, ...] = ()
    if numbers.map is not None:
        named = numbers.map.columns
        first, second = (axes[name] for name in named)
        chart = map_of(check, first, second, part, numbers=numbers.map)
    elif numbers.fit is not None:
        named = (numbers.fit.column,)
        chart = fit(check, numbers.fit.column, part, y=y, numbers=numbers.fit)
    elif numbers.panel is not None:
        named = (numbers.panel.column,)
        axis = axes[numbers.panel.column]
        chart = column_panel(check, axis, part, wide=True, numbers=numbers.panel)
    if chart is None:
        return None
    titles = " and ".join(shorten(axes[name].label or name, 40) for name in named)
    return replace(chart, title=f"The slice among all rows, along {titles}")


def figure(chart: Chart, key: str) -> str:
    """Return a chart with its title above it and its numbers below; `key` is an id."""
    header, rows = chart.table
    caption = "Numbers of this picture"
    if len(rows) > MOST_ROWS:
        caption += f" (the first {MOST_ROWS} of {len(rows):,})"
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
    where = _lines(rows, ("where", "rows", "the model is", "how certain"))
    more = "<div><code>to_html()</code> has the whole report.</div>"
    return Card(
        head=f"{headline(check)}, {check.result.n:,} rows",
        body=f"<div>{html(check.words)}</div>{_lines(chips(check))}{where}{more}",
        is_bad=check.rejected,
    )


def _slice_card(part: Slice) -> Card:
    certain = pvalue_words(part.pvalue, part.pvalue_floor)
    findings = [(name_of(finding), finding.words) for finding in part.findings]
    return Card(
        head=f"{part.words}: {part.direction}, {certain}",
        body=_lines([("rows", f"{part.n:,}"), *findings]),
        is_bad=True,
    )


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
