"""The middle of a report: where the model misfits, and at each place how."""

from __future__ import annotations

import numpy as np

from condgof.locate import Check, Finding, Location
from condgof.report._chart_how import (
    model_words,
    pair_chart,
    panel_chart,
    quantile_chart,
    residual_chart,
)
from condgof.report._chart_null import EXPECTED, interval_chart
from condgof.report._chart_where import where_charts
from condgof.report._escape import html
from condgof.report._html import Safe, bullets, figure, folded, paragraph, table
from condgof.report._numbers import number, pvalue
from condgof.report._reduce import quantiles
from condgof.report._verdict import is_rejected

KINDS = {"shift": "shift", "width": "spread", "skew": "skew", "tails": "tails", "correlation": "correlation"}
#: What a number of each kind is.
UNITS = {
    "shift": "data minus model, in model standard deviations",
    "width": "standard deviation of the data over the model's",
    "skew": "third standardised moment",
    "tails": "excess kurtosis",
    "correlation": "correlation of the residuals",
}
#: Columns of y that have their own pictures.
MOST_COLUMNS = 4
#: Rows of the table of the map.
MOST_ROWS = 40


def where_and_how(check: Check, key: str) -> str:
    """Return the map of misfit with the locations, and a panel for each of them."""
    charts = where_charts(check, f"{key}-where")
    maps = "".join(figure(drawn.svg, drawn.caption) for drawn in charts)
    panels = "".join(_panel(check, i, key) for i in range(1, len(check.locations) + 1))
    if not panels:
        panels = paragraph("No place stood out on the rows that were set aside to look for one.", "means")
    return (
        f'<section class="where" aria-labelledby="{key}-w"><h2 id="{key}-w">Where, and how</h2>'
        f"{paragraph(_introduction(check))}"
        f'<div class="two"><div class="maps">{maps}{_map_table(check)}</div>'
        f'<div class="panels">{_tabs(check, key)}{panels}</div></div></section>'
    )


def _introduction(check: Check) -> str:
    named = sum(location.named for location in check.locations)
    if not check.locations:
        return "The map shows how clearly a misfit would show around each place."
    ways = "Point at a number, click it or reach it with the Tab key to see what is wrong there."
    if named:
        those = "The numbered place" if named == 1 else f"The {named} places with a solid number"
        verb = "is" if named == 1 else "are each"
        return (
            f"{those} {verb} evidence by itself: some rows chose it, and other rows tested it. "
            f"Places with a dashed number are only where to look. {ways}"
        )
    rejected = is_rejected(check)
    because = "no single place is evidence by itself" if rejected else "there is no evidence against the model"
    return f"These are only the places to look at first; {because}, so do not read much into them. {ways}"


def _tabs(check: Check, key: str) -> str:
    items = "".join(
        f'<li><a class="tab" href="#{key}-loc{i}" data-loc="{key}-loc{i}">'
        f"<b>{i}</b> p = {pvalue(location.pvalue)}</a></li>"
        for i, location in enumerate(check.locations, 1)
    )
    return f'<ul class="tabs" aria-label="Locations">{items}</ul>' if items else ""


def _panel(check: Check, i: int, key: str) -> str:
    location = check.locations[i - 1]
    here = f"{key}-loc{i}"
    evidence = "Evidence by itself." if location.named else "Not evidence by itself, only where to look."
    near = number(location.rows, 2 if location.rows < 100 else 3)
    facts = (
        f"{evidence} p = {pvalue(location.pvalue)}, corrected for the search and for looking at "
        f"{len(check.locations)} places ({pvalue(location.raw_pvalue)} before the latter); about {near} rows are near."
    )
    named = [finding.words for finding in location.findings if finding.named]
    more = bullets(_sentence(words) for words in named) if len(named) > 1 else ""
    return (
        f'<section class="panel" id="{here}" tabindex="-1" aria-labelledby="{here}-h">'
        f'<h3 id="{here}-h"><span class="badge{" named" if location.named else ""}">{i}</span>'
        f"<span>{html(_sentence(location.where, stop=False))}</span></h3>"
        f"{paragraph(location.words)}{more}{_pictures(check, location, here)}{_findings(location, here)}"
        f"{paragraph(facts, 'means')}</section>"
    )


def _pictures(check: Check, location: Location, here: str) -> str:
    panel = location.panel
    if not len(panel.values):
        return ""
    normal = check.landscape.residuals is not None
    caption = (
        f"Bars: rows near this place, the nearer the heavier. Dashed line: {model_words(panel, normal)}."
    )
    drawn = [
        figure(panel_chart(panel, c, f"{here}-y{c}", location.where, normal), caption)
        for c in range(min(panel.values.shape[1], MOST_COLUMNS))
    ]
    pair = _pair(location)
    if pair is not None:
        scatter = "Each dot is a row near this place, the nearer the darker"
        drawn.append(
            figure(
                pair_chart(panel, pair, f"{here}-pair", location.where),
                f"{scatter}{'; in the other colour, draws from the model' if panel.samples is not None else ''}.",
            )
        )
    return "".join(drawn)


def _pair(location: Location) -> tuple[int, int] | None:
    """Return the two columns of y to draw against each other: those of the first correlation."""
    names = location.panel.columns
    if len(names) < 2:
        return None
    for finding in location.findings:
        if finding.kind == "correlation" and all(name in names for name in finding.columns):
            first, second = (names.index(name) for name in finding.columns[:2])
            return (first, second)
    return (0, 1)


def _findings(location: Location, here: str) -> str:
    if not location.findings:
        return ""
    several = len({f.columns for f in location.findings}) > 1
    level = number(100 * location.findings[0].interval.level)
    rows = [_finding_row(f, several, f"{here}-f{i}") for i, f in enumerate(location.findings)]
    kinds = ["" if f.named else "plain" for f in location.findings]
    header = ["what", f"data ({level}% interval)", "model", "", ""]
    caption = "What was measured here; in full ink, what is clearly off"
    listed = table(caption, header, rows, kind="findings", kinds=kinds)
    meanings = bullets(
        f"{KINDS.get(kind, kind)}: {UNITS.get(kind, '')}"
        for kind in dict.fromkeys(f.kind for f in location.findings)
    )
    return listed + folded("What these numbers are", meanings)


def _finding_row(finding: Finding, several: bool, key: str) -> tuple[object, ...]:
    name = KINDS.get(finding.kind, finding.kind)
    if several:
        name = f"{name} of {' and '.join(finding.columns)}"
    size, expected = finding.interval, EXPECTED.get(finding.kind, 0.0)
    chart = interval_chart(size, expected, key, f"{name}: {number(size.estimate)}")
    return (
        name,
        f"{number(size.estimate)} ({number(size.low)} to {number(size.high)})",
        number(expected),
        Safe(chart),
        "clear" if finding.named else "not clear",
    )


def _sentence(text: str, stop: bool = True) -> str:
    """Begin with a capital (names keep theirs: only a plain lower-case word is changed)."""
    end = "." if stop and not text.endswith((".", "!", "?")) else ""
    first = text[:1]
    return f"{first.upper() if stop else first}{text[1:]}{end}"


def _map_table(check: Check) -> str:
    """Return the rows of the map at which the misfit shows most, as a table."""
    scape = check.landscape
    if not len(scape.points):
        return ""
    best = np.argsort(-np.nan_to_num(scape.values), kind="stable")[:MOST_ROWS]
    columns = scape.columns[:12]
    rows = []
    for i in best:
        cells: list[object] = [
            scape.levels[name][int(v)] if name in scape.levels else number(float(v), 4)
            for name, v in zip(columns, scape.points[i], strict=False)
        ]
        rows.append((number(float(scape.values[i])), *cells))
    caption = f"The {len(best)} of {len(scape.points):,} rows of the map around which a misfit shows most"
    return folded(
        "Numbers of the map",
        table(caption, ["evidence", *columns], rows, numeric=range(len(columns) + 1)),
    )


def residuals(check: Check, key: str) -> str:
    """Return all residuals against what the model says: a histogram and a quantile plot for each column of y."""
    scape = check.landscape
    head = f'<section aria-labelledby="{key}-r"><h2 id="{key}-r">All rows at once</h2>'
    if scape.residuals is None:
        return head + paragraph(
            "This model gave only scores (the slope of its log-density), which have no residuals to draw. With a CDF, or "
            "a mean and a standard deviation, there would be a picture here."
        ) + "</section>"
    said = f"Residuals are {scape.residual_kind}: " if scape.residual_kind else "Residuals: "
    text = (
        f"{said}standard normal if the model is right. A good model can still look fine here and fail in some part of x; "
        "that is what the map above is for."
    )
    parts, rows = [], []
    for i, name in enumerate(check.y_columns):
        z = scape.residuals[:, i]
        z = z[np.isfinite(z)]
        if not len(z):
            continue
        if i < MOST_COLUMNS:
            parts.append(figure(residual_chart(z, name, f"{key}-res{i}"), "Bars: residuals. Dashed line: standard normal."))
            parts.append(figure(quantile_chart(z, name, f"{key}-qq{i}"), _quantile_words(z)))
        at = np.quantile(z, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99))
        rows.append((name, *(f"{v:.2f}".replace("-", "−") for v in (z.mean(), z.std(), *at))))
    rows.append(("model says", "0.00", "1.00", "−2.33", "−1.64", "−0.67", "0.00", "0.67", "1.64", "2.33"))
    header = ["", "mean", "s.d.", "1%", "5%", "25%", "50%", "75%", "95%", "99%"]
    listed = table(f"{len(scape.residuals):,} rows", header, rows, numeric=range(1, 10))
    return (
        f'{head}{paragraph(text)}<div class="two">{"".join(parts)}</div>'
        f"{folded('Numbers of these pictures', listed)}</section>"
    )


def _quantile_words(z: np.ndarray) -> str:  # type: ignore[type-arg]
    outside = quantiles(z).outside
    seen = "All dots lie in it." if not outside else f"{outside:,} of {len(z):,} dots lie outside."
    return f"Dots on the dashed line: as the model says. The band holds all of them 95 times in 100 if it is right. {seen}"
