"""Tables of subgroups and groups: all on shared axes, each opening a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from condgof.check import (
    NUMBER_FORMATS,
    Check,
    Finding,
    Slice,
    finding_row,
    pvalue_cell,
    searched_slices,
)
from condgof.check.curves import MOST_DRAWN, SubgroupPictures, part_y
from condgof.report import _text as text
from condgof.report._bins import sides
from condgof.report._chart import Chart, Ends, robust_ends
from condgof.report._dispatch import slice_facts, slice_picture, slice_quantiles
from condgof.report._figure import figure
from condgof.report._fit import fit
from condgof.report._forest import forest, kind_name, more_is_less, unit_of
from condgof.report._maps import map_of
from condgof.report._overview import numbers_table
from condgof.report._panels import column_panel
from condgof.report._text import code, html, paragraph, section, sentence, shorten
from condgof.result import number

#: Most rows that the picture of a card draws, at random: there are several cards.
CARD_POINTS = 120
#: More groups than this are drawn on one axis as well.
FEW_GROUPS = 12
#: Most rows of a table of subgroups.
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
        if finding.kind != self.kind or finding.kind not in NUMBER_FORMATS:
            return '<td class="axis none" data-v=""></td>'
        label = ""
        if finding.label:
            label = f"<small>{html(shorten(finding.label, 24))}</small>"
        row = finding_row(finding)
        interval = f"{row.interval}; model {row.model}"
        drawn = self._drawn(finding)
        return (
            f'<td class="axis" data-v="{finding.estimate:.6g}"><b>{html(row.data)}{label}'
            "</b><span"
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


def subgroups(check: Check) -> str:
    """Return the extremes of the effects; without any, the message says so."""
    if not check.slices:
        return ""
    count = searched_slices(check)
    among = f"Found among {count:,} subgroups; intervals" if count else "Intervals"
    caption = (
        "The extremes of the effects. Open a row for its pictures. Line: what the model"
        f" predicts; dot and bar: the data and their interval. {among} and p-values allow"
        " for the search."
    )
    return section("Subgroups", "subgroups", slices_table(check, "subgroup", caption))


def groups(check: Check) -> str:
    """Return all groups on one axis, and as a table."""
    parts = check.groups
    if not parts:
        return ""
    by = column_of_groups(check)
    what = "groups" if by else "subgroups"
    caption = f"{len(parts):,} {what}; intervals and p-values allow for their number."
    if len(parts) > MOST_ROWS:
        caption += (
            f" The {MOST_ROWS} most certain are listed, all are in the picture and"
            " in to_dict()."
        )
    drawn = ""
    chart = forest(parts) if len(parts) > FEW_GROUPS else None
    if chart is not None:
        drawn = f'<div class="pair">{figure(chart, "forest")}</div>'
    heading = f"By {shorten(by, 60)}" if by else "The subgroups you named"
    return section(heading, "groups", drawn, slices_table(check, "group", caption))


def column_of_groups(check: Check) -> str:
    """Return the column that groups are by; "" where they were named in another way."""
    names: set[str] = set()
    for part in check.groups:
        names.update(one.column for one in part.conditions)
    return names.pop() if len(names) == 1 else ""


def slices_table(check: Check, key: str, caption: str) -> str:
    """Return a table of slices, or of groups; they open a card under their row.

    The `key` says which: "subgroup" or "group". Ids of cards begin with it.
    """
    parts = check.slices if key == "subgroup" else check.groups
    is_searched = key == "subgroup"
    pictures = check.pictures.slices if is_searched else check.pictures.groups
    shown = parts[:MOST_ROWS]
    axes = _shared_axes(shown)
    bodies = ""
    for i, part in enumerate(shown):
        name = f"{key}-{i + 1}"
        sure = part.pvalue <= check.alpha or part.findings[0].telling
        card = ""
        if i < MOST_CARDS:
            drawn = pictures[i] if i < len(pictures) else None
            card = _card(check, part, name, sure, drawn)
        row = _row(part, axes, i + 1, name if card else "", sure)
        bodies += f'<tbody id="{name}">{row}{card}</tbody>'
    if len(shown) > MOST_DRAWN:
        caption += f" The first {MOST_DRAWN} have pictures."
    heads = "".join(axis.head() for axis in axes)
    more = ""
    if len(shown) > MOST_CARDS:
        more = f'<button type="button" class="all">All {len(shown)} rows</button>'
    return (
        f'<table class="slices sortable k{len(axes)}"><caption>{html(caption)}</caption>'
        '<thead><tr><th scope="col">no.</th><th scope="col">where</th><th scope="col"'
        ' data-first="down" class="n">rows</th><th scope="col">the model is</th>'
        f'{heads}<th scope="col" class="n">p</th></tr></thead>{bodies}</table>{more}'
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
        more = f'class="open" aria-expanded="true" aria-controls="{key}-card"'
        words = f'<button type="button" {more}>{words}</button>'
    percent = 100 * part.share
    share = f"{percent:.0f}%" if part.share >= 0.01 else f"{number(percent, 1)}%"
    direction = part.direction if sure else "–"
    opens = f' opens" data-key="{key}"' if key else '"'
    return (
        f'<tr class="slice{opens}><td class="i">{rank}</td><th'
        f' scope="row">{words}</th><td class="n" data-v="{part.n}">{part.n:,}<small>'
        f' {share}</small></td><td><span class="side'
        f' {side(part.findings[0])}">{html(direction)}</span></td>{cells}<td'
        f' class="n p" data-v="{part.pvalue:.6g}">'
        f"{html(pvalue_cell(part.pvalue, part.pvalue_floor))}</td></tr>"
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
    findings = part.findings[:MOST_FINDINGS]
    numbers = numbers_table(caption, findings, several=len(check.y_columns) > 1)
    words = part.message if sure else f"no evidence: {part.findings[0].words}"
    pictures = "" if drawn is None else _pictures(check, part, key, drawn)
    return (
        f'<tr class="more"><td colspan="9"><div class="card" id="{key}-card">'
        f'{paragraph(sentence(words), "lead")}<div class="two">{pictures}<div'
        ' class="beside">'
        f"<div>{numbers}</div><div>{beside}</div></div></div></div></td></tr>"
    )


def _pictures(check: Check, part: Slice, key: str, numbers: SubgroupPictures) -> str:
    """Draw the residuals of a slice's rows, and its columns with the slice shaded."""
    checked = check.checked
    drawn = (
        slice_picture(checked, part, numbers.curves),
        slice_quantiles(checked, part, numbers.curves),
        _among_all(check, part, numbers),
    )
    return "".join(
        figure(chart.narrow or chart, f"{key}-{i}")
        for i, chart in enumerate(drawn)
        if chart is not None
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
        chart = fit(
            check, numbers.fit.column, part, y=y, numbers=numbers.fit, points=CARD_POINTS
        )
    elif numbers.panel is not None:
        named = (numbers.panel.column,)
        axis = axes[numbers.panel.column]
        chart = column_panel(check, axis, part, wide=True, numbers=numbers.panel)
    if chart is None:
        return None
    titles = " and ".join(shorten(axes[name].label or name, 40) for name in named)
    return replace(chart, title=f"The slice among all rows, along {titles}")
