"""The top of a report: the verdict, how sure, how much, and what could have been seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from condgof.locate import Check
from condgof.report._chart_null import effect_chart, null_chart
from condgof.report._escape import html
from condgof.report._html import figure, folded, paragraph, table
from condgof.report._numbers import number, once_in, size
from condgof.result import pvalue_number

_CROSS = '<path class="sign" d="M6 6L18 18M18 6L6 18"/>'
_RING = '<circle class="sign" cx="12" cy="12" r="8"/>'
#: p-values at or below these, and the class of their shade.
_STEPS = ((0.001, "h4"), (0.01, "h3"), (0.05, "h2"), (0.1, "h1"))


def sign(bad: bool) -> str:
    """Return a cross or a ring, so that the verdict is not told by colour alone."""
    return (
        f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{_CROSS if bad else _RING}</svg>'
    )


def headline(check: Check) -> str:
    """Return the verdict in a few words."""
    return "Evidence against the model" if check.rejects else "No evidence against the model"


def verdict(check: Check, key: str) -> str:
    """Return the verdict in a sentence, and three cards: p-value, effect, what could have been seen."""
    bad = check.rejects
    cards = "".join((_certainty(check), _size(check, key), _power(check)))
    return (
        f'<section class="verdict{" bad" if bad else ""}" aria-labelledby="{key}-v">'
        f'<h2 id="{key}-v">{sign(bad)}<span>{headline(check)}</span></h2>'
        f"{paragraph(check.words)}</section>"
        f'<div class="cards">{cards}</div>'
    )


def _card(name: str, big: str, small: str, *body: str) -> str:
    note = f'<p class="small">{html(small)}</p>' if small else ""
    return (
        f'<section class="card"><h3>{html(name)}</h3><p class="big">{html(big)}</p>{note}'
        f"{''.join(body)}</section>"
    )


def _certainty(check: Check) -> str:
    p, alpha = check.pvalue, check.alpha
    for_groups = "" if check.corrected_pvalue is None else ", corrected for the groups"
    return _card(
        "How sure?",
        pvalue_number(p, check.details.get("pvalue_floor", 0.0)),
        f"p-value{for_groups}; at or below {number(alpha)} is evidence",
        paragraph(
            f"If the model were right, data that look at least this wrong would come up {once_in(p)}. "
            "This says how sure "
            "we can be that something is off, not how much.",
            "means",
        ),
    )


def _size(check: Check, key: str) -> str:
    how_much = check.effect.interval
    small = ""
    classes = check.detectable.shift is None and check.detectable.probability is not None
    hard, plain = (0.01, 0.1) if classes else (0.1, 0.5)
    # Draws of several columns: how these go together is not in the number.
    each = " of each column" * (len(check.y_columns) > 1 and check.detectable.shift is None)
    if check.rejects and how_much.high < hard:
        small = " Many rows make even a trifle certain; this misfit is small."
    return _card(
        "How much?",
        size(how_much.estimate),
        f"effect size; {number(100 * how_much.level)}% interval {size(how_much.low)} to "
        f"{size(how_much.high)}",
        effect_chart(how_much, f"{key}-effect", plain),
        paragraph(
            f"The misfit is {check.effect.words}. 0 is a perfect fit{each}, {hard:g} is hard to see by "
            f"eye, {plain:g} is plain. It does not "
            f"grow with the number of rows.{small}",
            "means",
        ),
    )


def _power(check: Check) -> str:
    able = check.detectable
    width = f", or a spread wrong by {number(able.width, 3)} times" if able.width is not None else ""
    big, small = "unknown", ""
    if able.shift is not None:
        big, small = number(able.shift, 2), f"shift in model standard deviations{width}"
    elif able.probability is not None:
        big, small = number(able.probability, 2), "by which probabilities are off"
    return _card(
        "What could it have seen?",
        big,
        small,
        paragraph(able.words, "means"),
        "" if check.rejects else paragraph("Smaller misfits may be there and not show.", "means"),
    )


def evidence(check: Check, key: str) -> str:
    """Return how the verdict came about: the null distribution, and each scale."""
    result = check.result
    chart = null_chart(result, f"{key}-null")
    parts = []
    if chart:
        draws = result.null_distribution
        assert draws is not None
        caption = (
            f"Bars: the test statistic in {len(draws):,} repetitions in which the model is right. "
            "Line: this model. The "
            "share of bars at or right of the line is the p-value."
        )
        parts.append(figure(chart, caption) + _null_table(check))
    scales = _scales(check)
    if scales:
        parts.append(scales)
    if not parts:
        return ""
    columns = "".join(f"<div>{part}</div>" for part in parts)
    return (
        f'<section aria-labelledby="{key}-e"><h2 id="{key}-e">How the verdict came about</h2>'
        f'<div class="two">{columns}</div></section>'
    )


def _null_table(check: Check) -> str:
    draws = check.result.null_distribution
    assert draws is not None
    shares = (0.5, 0.9, 0.95, 0.99, 1.0)
    rows: list[tuple[object, ...]] = [
        (
            f"{share:.0%} of the draws are at most" if share < 1 else "largest draw",
            number(float(value), 4),
        )
        for share, value in zip(shares, np.quantile(draws, shares), strict=True)
    ]
    rows.append(("this model", number(check.result.statistic, 4)))
    return folded(
        "Numbers of this picture", table("The null distribution", ["", "statistic"], rows, numeric=(1,))
    )


#: What the families of the adaptive test look at.
FAMILIES = {
    "x": "x as a whole",
    "columns": "single columns",
    "level": "mean and spread of all rows",
    "constant": "all rows together",
    "locations": "single places in x",
    "pairs": "pairs of columns",
    "surprises": "the largest surprises",
}


def _scales(check: Check) -> str:
    """Return the p-value of each pair of bandwidths as a shaded table."""
    details = check.result.details
    scales = details.get("scales")
    if not scales:
        return ""
    across = sorted({s["bandwidth_x"] for s in scales}, key=lambda v: -(v or 0.0))
    down = _scales_of_y(scales)
    found = {(s["bandwidth_x"], _y_name(s)): s["pvalue"] for s in scales}
    best = details.get("strongest_scale", {})
    most = (best.get("bandwidth_x"), _y_name(best) if best else None)
    rows = []
    for y in down:
        cells = "".join(_shaded(found.get((x, y)), (x, y) == most) for x in across)
        rows.append(f'<tr><th scope="row">{html(y)}</th>{cells}</tr>')
    names = [number(x) if x is not None else "same level" for x in across]
    head = "".join(f'<th scope="col">{html(name)}</th>' for name in names)
    families = [f"{FAMILIES[f]} {pvalue_number(p)}" for f, p in details.get("families", {}).items()]
    together = f" By family: {', '.join(families)}." if families else ""
    return (
        '<h3>Scale by scale</h3><div class="wide"><table class="heat">'
        "<caption>p-value at each pair of scales: ranges of x (across), broad to narrow, and "
        f"{_what_y(scales)} (down)</caption>"
        f'<thead><tr><th scope="col">y \\ x</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        + paragraph(
            "The test looks at broad and at narrow patterns at once and pays for looking once. The "
            "stronger the colour, the smaller; the "
            "outlined ▸ scale carries most of the evidence: broad x means that the misfit is much the "
            "same "
            f"everywhere, narrow x that it is local.{together}",
            "means",
        )
    )


def _y_name(scale: Mapping[str, Any]) -> str:
    """Return what a scale looks at in y: a range, or what is seen of a class."""
    bandwidth = scale["bandwidth_y"]
    return str(scale["y"]) if bandwidth is None else number(float(bandwidth))


def _scales_of_y(scales: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of all scales of y: ranges from broad to narrow, others in their order."""
    broad = sorted(scales, key=lambda s: -(s["bandwidth_y"] or 0.0))
    return list(dict.fromkeys(map(_y_name, broad)))


def _what_y(scales: Sequence[Mapping[str, Any]]) -> str:
    if any(scale["bandwidth_y"] is None for scale in scales):
        return "what is seen of y"
    return "of y, broad to narrow"


def _shaded(p: float | None, most: bool) -> str:
    if p is None:
        return "<td>–</td>"
    shade = next((name for step, name in _STEPS if p <= step), "h0")
    return f'<td class="{shade}{" most" if most else ""}">{"▸ " if most else ""}{pvalue_number(p)}</td>'
