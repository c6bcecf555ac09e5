"""Findings in a report: their names and numbers, the message, and the table of slices or groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from condgof.check._record import Check, Finding, Slice
from condgof.check._text import headline
from condgof.report._binned import sides
from condgof.report._chart import Chart, robust_ends
from condgof.report._panels import TURNED, column_panel, map_of
from condgof.report._pen_svg import svg
from condgof.report._pictures import fit, slice_qq, slice_residuals
from condgof.report._text import html, once_in, paragraph, shorten, table, tick_texts, ticks
from condgof.result import number, pvalue_words, rounded, short, sized

_CROSS = '<path d="M6 6L18 18M18 6L6 18"/>'
_RING = '<circle cx="12" cy="12" r="8"/>'
#: What each kind of finding is called, with its label if it has one, and its unit.
KINDS = {
    "shift": ("shift", "standard deviations"),
    "spread": ("spread", "times the model's"),
    "skew": ("skew", "share above less share below"),
    "tails": ("beyond the {} interval", "share of rows"),
    "coverage": ("inside the {} interval", "share of rows"),
    "correlation": ("correlation of {}", ""),
    "confidence": ("right", "share of rows"),
    "class": ("share of {}", "share of rows"),
    "zeros": ("zeros", "share of rows"),
    "quantile": ("not above the {} quantile", "share of rows"),
    "events": ("events, {}", "times what the model expects"),
}
#: A message of more letters is set smaller.
LONG = 130
#: Of all rows, where they are other numbers.
OVERALL = {"shift": "shift of the median", "spread": "width of the middle half"}
#: Kinds whose sign is written.
_SIGNED = ("shift", "skew", "correlation")


def given(check: Check) -> str:
    """Say what is predicted from what: "wage given age, education and 5 more columns"."""
    return (
        f"{_all(check.y_columns)} given {_all(check.x_columns)}"
        if check.x_columns
        else _all(check.y_columns)
    )


def name_of(finding: Finding, several: bool = False, overall: bool = False) -> str:
    """Name a finding: "inside the 90% interval"; of several columns of y, with its column."""
    kind, label = finding.kind, finding.label
    if kind == "correlation":
        return f"correlation of {finding.column}"
    if kind == "tails" and label == "largest":
        name = "counts of probability below 0.01"
    else:
        name = KINDS.get(kind, (kind, ""))[0].format(label) if label else kind_name(kind)
        name = OVERALL.get(kind, name) if overall else name
    return f"{finding.column}: {name}" if several else name


def kind_name(kind: str) -> str:
    """Name a kind of finding without a label."""
    name = KINDS.get(kind, (kind, ""))[0]
    return {"class": "share of a class", "events": "events"}.get(
        kind, name.replace(" the {}", " the").replace(" of {}", "")
    )


def value_of(finding: Finding, value: float) -> str:
    """Write a value of a finding as its words do, and no finer than its interval is."""
    if finding.kind == "tails":
        return f"{number(100 * value, 2)}%"
    coarse = abs(value) < 100 and finding.interval[1] - finding.interval[0] > 0.01
    text = (f"{value + 0.0:.2f}" if coarse else rounded(value)).replace("-", "−")
    text = text.replace("−0.00", "0.00") if text == "−0.00" else text
    return f"+{text}" if finding.kind in _SIGNED and value > 0 and text != "0.00" else text


def expected_of(finding: Finding) -> str:
    """Write what the model says: 1, 0.5, 0.1%; of what differs from row to row the mean, 0.30."""
    text = value_of(finding, finding.expected)
    fixed = "." in text and finding.kind not in ("confidence", "class", "zeros")
    return text.rstrip("0").rstrip(".") if fixed else text


def range_of(finding: Finding) -> str:
    """Write the interval of a finding."""
    low, high = finding.interval
    return f"{value_of(finding, low)} to {value_of(finding, high)}"


def chips(check: Check) -> list[tuple[str, str, str]]:
    """Return how certain, how much, whether it is enough: a name, a value and what it means, each."""
    much, power, p = check.effect.interval, check.power, check.result.pvalue_words
    often = once_in(check.pvalue).replace("about", "at most") if "≤" in p else once_in(check.pvalue)
    seen, ends = sized(much.estimate, much.low, much.high)
    value = (
        f"{seen}, between {ends.replace('to', 'and')}" if much.low > 0 else f"at most {short(much.high)}"
    )
    listed = [
        ("How certain", p, f"If {check.subject} were right, data this far off would come up {often}."),
        ("How much", value, f"{check.effect.unit}; 0 is a perfect fit"),
    ]
    if check.tolerance is not None:
        allowed = f"the {check.tolerance.allowed:g} you allow"
        value = {
            "worse than you allow": f"worse than {allowed}",
            "good enough": f"good enough: below {allowed}",
        }.get(check.tolerance.verdict, f"{check.tolerance.verdict} about {allowed}")
        listed.append(("Is it enough", value, _once(check.tolerance.words, check.words)))
    else:
        able = "not known" if power.size is None else f"{short(power.size)} or more"
        listed.append(("Detectable", able, _once(power.words, check.words)))
    return listed


def state(check: Check) -> str:
    """Return how the page is to look: "bad", "good", or "open" where a tolerance is undecided."""
    if check.tolerance is None:
        return "bad" if check.rejected else "good"
    return {"worse than you allow": "bad", "good enough": "good"}.get(check.tolerance.verdict, "open")


def message(check: Check) -> str:
    """Return the message, large, and the chips."""
    sign = _CROSS if check.rejected else _RING
    listed = "".join(
        f"<li><span>{html(name)}</span><b>{html(value)}</b>{paragraph(meaning) if meaning else ''}</li>"
        for name, value, meaning in chips(check)
    )
    words = paragraph(check.words, "words long" if len(check.words) > LONG else "words")
    return (
        f'<section class="message {state(check)}" aria-labelledby="verdict"><h2 id="verdict">'
        f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{sign}</svg>'
        f"{html(headline(check))}</h2>{words}"
        f'<ul class="chips">{listed}</ul></section>'
    )


def _once(words: str, before: str) -> str:
    """Return words, or nothing where they were said."""
    return "" if words.rstrip(".") in before else words


def _all(columns: Sequence[str], most: int = 4) -> str:
    names = [shorten(name, 60) for name in columns]
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more columns"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


#: Rows of a table, kinds of findings that have a column of their own there, rows of a card's table.
MOST_ROWS, MOST_KINDS, MOST_FINDINGS = 200, 3, 16
#: Bytes that the pictures of a table may fill after its first three cards; cards that may have none.
ROOM, MOST_CARDS = 400_000, 20
#: Findings that a slice has once, so that a row may show them beside the leading one.
SINGLE = ("shift", "spread", "skew", "confidence", "zeros")


@dataclass(frozen=True)
class Shared:
    """The axis that all intervals of one kind share."""

    kind: str
    low: float
    high: float

    @classmethod
    def of(cls, kind: str, findings: Sequence[Finding]) -> Shared:
        """Return the axis of these intervals and of what the model says; a few may reach beyond."""
        always = [v for f in findings for v in (f.estimate, f.expected)]
        return cls(kind, *robust_ends(np.array([f.interval for f in findings]).ravel(), always, 0.0))

    def at(self, value: float) -> float:
        """Return a place on the axis in percent of its width, a margin at both ends."""
        value = self.low if np.isnan(value) else float(np.clip(value, self.low, self.high))
        return round(4.0 + 92.0 * (value - self.low) / (self.high - self.low), 1)

    def head(self) -> str:
        """Return the head of its column: what it is, its unit, and ticks."""
        at = ticks(self.low, self.high, 3)
        at = at[:: -(-len(at) // 3)]
        texts = [f"{number(100 * t, 2)}%" for t in at] if self.kind == "tails" else tick_texts(at)
        marks = "".join(
            f'<text x="{self.at(t)}%" y="11" text-anchor="middle">{html(s)}</text>'
            for t, s in zip(at, texts, strict=True)
        )
        return (
            f'<th scope="col" class="axis"><span>{html(kind_name(self.kind))}</span> '
            f"<small>{html(KINDS.get(self.kind, ('', ''))[1])}</small>"
            f'<svg aria-hidden="true" focusable="false" width="100%" height="15">{marks}</svg></th>'
        )

    def cell(self, finding: Finding | None, leads: bool) -> str:
        """Return an estimate and its interval; the line is what the model says."""
        if finding is None:
            return '<td class="axis none"></td>'
        low, high = (self.at(v) for v in finding.interval)
        drawn = (
            f'<rect class="model" x="{self.at(finding.expected)}%" width="1.5" height="100%"/>'
            f'<g class="{side(finding)}"><rect x="{low}%" width="{max(high - low, 0.3):.1f}%" y="50%" '
            f'height="2.4"/><circle cx="{self.at(finding.estimate)}%" cy="50%" r="4.6"/></g>'
        )
        if finding.interval[0] < self.low:
            drawn += '<text x="1%" y="50%" dy="5" text-anchor="middle">‹</text>'
        if finding.interval[1] > self.high:
            drawn += '<text x="99%" y="50%" dy="5" text-anchor="middle">›</text>'
        label = f"<small>{html(shorten(finding.label, 24))}</small>" if finding.label else ""
        interval = f"{range_of(finding)}; the model says {expected_of(finding)}"
        return (
            f'<td class="axis{" leads" if leads else ""}">'
            f"<b>{value_of(finding, finding.estimate)}{label}</b>"
            f'<span class="unseen"> ({html(interval)})</span>'
            f'<svg aria-hidden="true" focusable="false" width="100%" height="100%">{drawn}</svg></td>'
        )


def side(finding: Finding) -> str:
    """Return the colour of a finding: which way the data differ from the model."""
    low, high, expected = np.array([[*finding.interval, finding.expected]]).T
    return sides(low, high, expected, finding.kind in TURNED)[0]


def slices_table(check: Check, parts: Sequence[Slice], key: str, caption: str, room: int = ROOM) -> str:
    """Return a table of slices or groups; they open a card under their row."""
    shown = parts[:MOST_ROWS]
    leading = list(dict.fromkeys(part.kind for part in shown))[:MOST_KINDS]
    axes = [Shared.of(kind, [f for part in shown if (f := _of(part, kind))]) for kind in leading]
    worst = {id(part): i for i, part in enumerate(sorted(shown, key=lambda part: -part.severity))}
    bodies = []
    for i, part in enumerate(shown):
        pictures = _pictures(check, part, f"{key}{i + 1}") if room > 0 else ""
        room -= len(pictures)
        if room < 0 and i >= 3:
            room, pictures = 0, ""
        card = _card(check, part, pictures, f"{key}{i + 1}") if pictures or i < MOST_CARDS else ""
        row = _row(part, axes, i + 1, f"{key}{i + 1}" if card else "", _sure(check, part))
        bodies.append(f'<tbody data-certain="{i}" data-worst="{worst[id(part)]}">{row}{card}</tbody>')
    if room <= 0:
        caption += " There is no room for the pictures of all."
    orders = "".join(
        f'<button type="button" aria-pressed="{pressed}" data-by="{by}">{words}</button>'
        for by, words, pressed in (("certain", "most certain", "true"), ("worst", "worst", "false"))
    )
    heads = "".join(axis.head() for axis in axes)
    more = f'<button type="button" class="all">All {len(shown)} rows</button>' * (
        len(shown) > MOST_CARDS
    )
    return (
        f'<div class="sort" role="group" aria-label="Order">{orders}</div>'
        f'<table class="slices k{len(axes)}"><caption>{html(caption)}</caption><thead><tr>'
        '<th scope="col"></th><th scope="col">where</th><th scope="col" class="n">rows</th>'
        f'<th scope="col">the model is</th>{heads}<th scope="col" class="n">how certain</th></tr>'
        f"</thead>{''.join(bodies)}</table>{more}"
    )


def _of(part: Slice, kind: str) -> Finding | None:
    """Return what a slice says of a kind: its leading finding, or the one that there is."""
    lead = part.findings[0]
    if lead.kind == kind:
        return lead
    same = [f for f in part.findings if (f.kind, f.column) == (kind, lead.column)]
    return same[0] if same and kind in SINGLE else None


def _sure(check: Check, part: Slice) -> bool:
    """Whether there is evidence against the model in a slice or group."""
    return part.pvalue <= check.alpha or part.findings[0].telling


def _row(part: Slice, axes: Sequence[Shared], rank: int, key: str, sure: bool) -> str:
    """Return one row; it opens the card with the id `key`, and says what is wrong if that is sure."""
    cells = "".join(axis.cell(_of(part, axis.kind), part.kind == axis.kind) for axis in axes)
    words = html(shorten(part.words, 240))
    if key:
        more = f'class="open" aria-expanded="true" aria-controls="{key}"'
        words = f'<button type="button" {more}>{words}</button>'
    direction = part.direction if sure else "–"
    share = f"{100 * part.share:.0f}%" if part.share >= 0.01 else f"{number(100 * part.share, 1)}%"
    return (
        f'<tr class="slice{" opens" if key else ""}"><td class="i">{rank}</td>'
        f'<th scope="row">{words}</th><td class="n">{part.n:,}<small> {share}</small></td>'
        f'<td><span class="side {side(part.findings[0])}">{html(direction)}</span></td>'
        f'{cells}<td class="n p">{pvalue_words(part.pvalue, part.pvalue_floor)}</td></tr>'
    )


def _card(check: Check, part: Slice, pictures: str, key: str) -> str:
    """Return the row that opens: what is wrong, pictures, all numbers, and the query."""
    shown, left_out = part.findings[:MOST_FINDINGS], len(part.findings) - MOST_FINDINGS
    caption = f"These {part.n:,} rows" + f" ({left_out:,} more in to_dict())" * (left_out > 0)
    beside = _of_rows(check, part)
    if part.query:
        beside += paragraph("These rows in Python:", "small") + code(
            f"report.frame().query({part.query!r})"
        )
    words = part.message if _sure(check, part) else f"no evidence: {part.findings[0].words}"
    lead = paragraph(f"{words[:1].upper()}{words[1:]}.", "lead")
    return (
        f'<tr class="more"><td colspan="9"><div class="card" id="{key}" tabindex="-1">{lead}'
        f'<div class="two">{pictures}<div class="beside">'
        f"<div>{numbers_table(caption, shown, len(check.y_columns) > 1)}</div>"
        f"<div>{beside}</div></div></div></div></td></tr>"
    )


def numbers_table(
    caption: str, findings: Sequence[Finding], several: bool, overall: bool = False
) -> str:
    """Return findings as a table: data, interval, and what the model says."""
    rows = [
        (name_of(f, several, overall), value_of(f, f.estimate), range_of(f), expected_of(f))
        for f in findings
    ]
    kinds = ["telling" if f.telling else "" for f in findings]
    header = ["", "data", "interval", "model"]
    return table(caption, header, rows, numeric=(1, 2, 3), kind="numbers", kinds=kinds)


def _pictures(check: Check, part: Slice, key: str) -> str:
    """Draw the residuals of a slice's rows, and its columns with the slice shaded."""
    by_name = {axis.name: axis for axis in check.looked.axes}
    named = [by_name[c] for c in dict.fromkeys(c.column for c in part.conditions) if c in by_name]
    drawn = [slice_residuals(check, part), slice_qq(check, part)]
    along: Chart | None = None
    if len(named) == 2:
        along = map_of(check, named[0], named[1], part=part)
    elif named:
        along = fit(check, named[0].name, part=part)
        along = along or column_panel(check, named[0], part=part, wide=True)
    if along is not None:
        columns = " and ".join(shorten(axis.label or axis.name, 40) for axis in named)
        drawn.append(replace(along, title=f"The slice among all rows, along {columns}"))
    return "".join(figure(chart, f"{key}-{i}") for i, chart in enumerate(drawn) if chart is not None)


def figure(chart: Chart, key: str) -> str:
    """Return a chart under what is seen in it, with its numbers behind a fold."""
    header, rows = chart.table
    left_out = f" (the first {MOST_ROWS} of {len(rows):,})" * (len(rows) > MOST_ROWS)
    numbers = table(
        f"Numbers of this picture{left_out}", header, rows[:MOST_ROWS], numeric=range(1, len(header))
    )
    return (
        f'<figure class="w{chart.size[0] // 10}"><figcaption>{html(chart.title)}</figcaption>'
        f'{svg(chart, key)}<details class="behind"><summary>Numbers</summary>{numbers}</details>'
        "</figure>"
    )


def code(text: str) -> str:
    """Return lines of code with a button that copies them; line ends stay."""
    lines = "\n".join(html(line) for line in text.splitlines())
    button = '<button type="button" class="copy">Copy</button>'
    return f'<div class="code"><pre><code>{lines}</code></pre>{button}</div>'


def _of_rows(check: Check, part: Slice) -> str:
    """Say means in the units of y, and which rows lie farthest from the model."""
    looked, sentences = check.looked, ""
    inside = np.flatnonzero(np.isin(looked.rows, part.rows))
    if looked.location is not None and looked.kind in ("continuous", "counts", "moments"):
        y, predicted = (float(v[inside, 0].mean()) for v in (looked.y, looked.location))
        means = f"Mean {shorten(check.y_columns[0], 60)} {number(y, 4)}"
        sentences += paragraph(f"{means}, mean prediction {number(predicted, 4)}.", "small")
    if looked.z is not None:
        far = np.abs(looked.z[inside]).max(axis=1)
        first = looked.rows[inside[np.argsort(-far, kind="stable")[:5]]]
        listed = ", ".join(map(str, first))
        sentences += paragraph(f"Rows farthest from the model, counted from 0: {listed}.", "small")
    return sentences
