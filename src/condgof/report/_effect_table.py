"""What is wrong: the effects as a table, the first one drawn, the others to open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condgof.check import (
    CORRECTION_NOTE,
    NUMBER_FORMATS,
    Check,
    Effect,
    EffectCell,
    advice_texts,
    cell_text,
    deviation,
    effect_range,
    finding_row,
    gain_words,
    pvalue_cell,
    share_text,
)
from condgof.report._chart import Chart
from condgof.report._effects import effect_chart
from condgof.report._figure import figure
from condgof.report._text import html, paragraph, section, sentence, table
from condgof.result import pvalue_words

#: Effects, the first ones, that have a picture.
DRAWN_EFFECTS = 8
#: Effects that are shown at once; the others are folded away.
OPEN_EFFECTS = 6
#: Cells of an effect that its card lists, those furthest from the prediction.
LISTED_CELLS = 6
#: The name of the page of the documentation that says how to make a change.
MENDING = "What to try when a model does not fit"


def effects(check: Check) -> str:
    """Return the table of effects beside the picture of the first one."""
    if not check.effects:
        return ""
    caption = (
        "Share: of what all corrections gain together in log score on held-out rows. Gain:"
        " in nats a row. Open a row for its cells."
    )
    if any(effect.given_before for effect in check.effects):
        caption += f" {CORRECTION_NOTE}."
    charts = effect_charts(check)
    bodies = [
        _body(check, effect, i, charts[i - 1] if 1 < i <= len(charts) else None)
        for i, effect in enumerate(check.effects, 1)
    ]
    hero = figure(charts[0], "hero")
    listed = (
        f'<div class="hero">{hero}</div><div class="list">{_table(caption, bodies)}'
        f"{to_try(check)}</div>"
    )
    return section("What is wrong", "effects", f'<div class="wrong">{listed}</div>')


def effect_charts(check: Check) -> list[Chart]:
    """Return the pictures of the first effects; the first has its name as its title."""
    charts = [
        replace(effect_chart(effect), name=f"effect {i}")
        for i, effect in enumerate(check.effects[:DRAWN_EFFECTS], 1)
    ]
    # The message has the sentence of the first effect.
    return [replace(charts[0], title=check.effects[0].name), *charts[1:]]


def _table(caption: str, bodies: Sequence[str]) -> str:
    head = (
        '<thead><tr><th scope="col">no.</th><th scope="col">effect</th><th scope="col"'
        ' class="share">share</th><th scope="col" class="n">from</th><th scope="col"'
        ' class="n">to</th><th scope="col" class="n">gain</th><th scope="col"'
        ' class="n">p</th></tr></thead>'
    )
    rest = bodies[OPEN_EFFECTS:]
    more = ""
    if rest:
        word = f"{len(rest)} more effect{'s' * (len(rest) > 1)}"
        more = (
            f'<details class="printed"><summary>{word}</summary><table class="effects">'
            f"<caption>Further effects</caption>{head}{''.join(rest)}</table></details>"
        )
    first = "".join(bodies[:OPEN_EFFECTS])
    return (
        f'<table class="effects"><caption>{html(caption)}</caption>{head}{first}</table>'
        f"{more}"
    )


def _body(check: Check, effect: Effect, number: int, chart: Chart | None) -> str:
    """Return the row of an effect, and the card that it opens."""
    key = f"effect-{number}"
    ends = effect_range(effect)
    width = max(100.0 * effect.share, 1.0)
    bar = (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none"'
        ' aria-hidden="true" focusable="false"><rect width="100" height="10"/><rect'
        f' class="in" width="{width:.0f}" height="10"/></svg>'
    )
    p = pvalue_cell(effect.pvalue, effect.pvalue_floor)
    gain = gain_words(effect.gain).removesuffix(" nats/row")
    card = _card(effect, key, chart, is_first=number == 1)
    return (
        f'<tbody id="{key}"><tr class="opens" data-key="{key}"><td class="i">{number}</td>'
        f'<th scope="row"><button type="button" class="open" aria-expanded="true"'
        f' aria-controls="{key}-card">{html(effect.name)}</button></th><td'
        f' class="share">{bar}<span>{share_text(effect)}</span></td><td'
        f' class="n">{html(ends.first)}</td><td class="n">{html(ends.last)}</td><td'
        f' class="n">{html(gain)}</td><td class="n">{html(p)}</td></tr><tr'
        f' class="more"><td colspan="7">{card}</td></tr></tbody>'
    )


def _card(effect: Effect, key: str, chart: Chart | None, *, is_first: bool) -> str:
    drawn = "" if chart is None else figure(chart.narrow or chart, f"{key}-picture")
    words = ""
    if chart is None and not is_first:  # the message has the sentence of the first effect
        words = paragraph(sentence(effect.words.rstrip(".")), "lead")
    p = pvalue_words(effect.pvalue, effect.pvalue_floor)
    gain = paragraph(f"Correcting it gains {gain_words(effect.gain)}; {p}.", "small")
    advice = ""
    if effect.advice is not None:
        measured = gain_words(effect.advice.gain)
        advice = (
            f'<p class="advice"><b>Try:</b> {html(effect.advice.words)}'
            f" <span>({html(measured)})</span></p>"
        )
    inside = f"{words}{drawn}{_cells(effect)}{gain}{advice}"
    return f'<div class="card" id="{key}-card">{inside}</div>'


def _cells(effect: Effect) -> str:
    """Return the cells furthest from the prediction, with rows and queries."""
    if not effect.columns:
        return ""
    furthest = sorted(
        effect.cells,
        key=lambda cell: (
            -abs(deviation(effect, cell.finding.estimate, cell.finding.expected))
        ),
    )[:LISTED_CELLS]
    rows = [_cell_row(effect, cell) for cell in furthest]
    caption = "Its cells"
    if len(effect.cells) > len(furthest):
        caption = f"{len(furthest)} of its {len(effect.cells):,} cells, furthest first"
    header = ["where", "rows", "data", "interval", "model"]
    queries = [
        f"report.frame().query({cell.query!r})" for cell in furthest[:1] if cell.query
    ]
    code = "".join(f"<pre><code>{html(query)}</code></pre>" for query in queries)
    return f"{table(caption, header, rows)}{code}"


def _cell_row(effect: Effect, cell: EffectCell) -> list[str]:
    finding = cell.finding
    if effect.given_before or finding.kind not in NUMBER_FORMATS:
        return [cell.words, f"{cell.n:,}", cell_text(effect, cell), "", ""]
    row = finding_row(finding)
    return [cell.words, f"{cell.n:,}", row.data, row.interval, row.model]


def to_try(check: Check) -> str:
    """Return the changes of the model that effects ask for, with what they gained."""
    items = "".join(
        f"<li><b>{html(advice.words)}</b> <span>({html(advice.gain)})</span></li>"
        for advice in advice_texts(check)
    )
    if not items:
        return ""
    words = (
        "Gains were measured on rows held out. How to do each of these: the page"
        f" “{MENDING}” of condgof's documentation."
    )
    return (
        '<section id="try" aria-labelledby="try-h"><h3 id="try-h">What to try</h3>'
        f'<ul class="try">{items}</ul>{paragraph(words, "small")}</section>'
    )
