"""The middle of a report: where the model misfits, and at each place how."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from condgof._typing import FloatArray
from condgof.locate import Check, Finding, Location, Panel
from condgof.report._chart_classes import classes_chart, classes_table
from condgof.report._chart_how import (
    model_words,
    pair_chart,
    panel_chart,
    quantile_chart,
    residual_chart,
)
from condgof.report._chart_null import interval_chart
from condgof.report._chart_where import where_charts
from condgof.report._escape import html
from condgof.report._html import Safe, bullets, figure, folded, paragraph, table
from condgof.report._levels import written
from condgof.report._numbers import number, size
from condgof.report._reduce import are_normal, quantiles
from condgof.result import pvalue_number

KINDS = {
    "shift": "shift",
    "width": "spread",
    "skew": "skew",
    "tails": "tails",
    "correlation": "correlation",
    "class": "share",
    "confidence": "most probable class right",
    "quantile": "share above a quantile",
    "coverage": "coverage",
}
#: What a number about a class, a count, a quantile or an interval is called.
LABELLED = {
    "quantile": "share above the {} quantile",
    "coverage": "coverage of the {} interval",
}
#: What a number of each kind is.
UNITS = {
    "shift": "data minus model, in model standard deviations",
    "width": "standard deviation of the data over the model's",
    "skew": "third standardised moment",
    "tails": "excess kurtosis",
    "correlation": "correlation of the residuals",
    "class": "how often it was observed, between 0 and 1, beside the mean of what the model predicts",
    "confidence": "how often the class with the largest probability was the observed one, beside the "
    "mean of that probability",
    "quantile": "how often y was above the predicted quantile, between 0 and 1, beside what it says",
    "coverage": "how often the predicted interval covered y, between 0 and 1, beside what it says",
}
#: Kinds that are shares of the rows.
SHARES = ("class", "confidence", "quantile", "coverage")
#: Columns of y that have their own pictures.
MOST_COLUMNS = 4
CLASSES = (
    "Bars: how often each came among the rows near this place, the nearer the heavier. Dashed marks: "
    "what the model says of the same rows."
)
ALL_CLASSES = "Bars: how often each came. Dashed marks: what the model says of the same rows."
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
ONLY_SCORES = (
    "This model gave only scores (slopes of its log-density), which have no residuals to draw. With a "
    "CDF, or a mean and a "
    "standard deviation, there would be a picture here."
)
#: Rows of the table of findings; there are d_y² of them.
MOST_FINDINGS = 24
#: Rows of the table of the map.
MOST_ROWS = 20


def where_and_how(check: Check, key: str) -> str:
    """Return the map of misfit with the locations, and a panel for each of them."""
    charts = where_charts(check, f"{key}-where")
    maps = "".join(figure(drawn.svg, drawn.caption) for drawn in charts)
    panels = "".join(_panel(check, i, key) for i in range(1, len(check.locations) + 1))
    if not panels and maps:
        panels = paragraph(
            "No place stood out on the rows that were set aside to look for one.", "means"
        )
    return (
        f'<section class="where" aria-labelledby="{key}-w"><h2 id="{key}-w">Where, and how</h2>'
        f"{paragraph(_introduction(check))}"
        f'<div class="two"><div class="maps">{maps}{_map_table(check)}</div>'
        f'<div class="panels">{_tabs(check, key)}{panels}</div></div></section>'
    )


def _introduction(check: Check) -> str:
    named = sum(location.named for location in check.locations)
    if not np.isfinite(check.landscape.values).any():
        return (
            "There were too few rows to set some aside for places in x: the verdict is about all of x."
        )
    if not check.locations:
        return "The map shows how clearly a misfit would show around each place."
    ways = "Point at a number, click it or reach it with the Tab key to see what is wrong there."
    if named:
        those = (
            "The place with a solid number" if named == 1 else f"The {named} places with a solid number"
        )
        verb = "is" if named == 1 else "are each"
        dashed = " Places with a dashed number are only where to look." * (named < len(check.locations))
        return (
            f"{those} {verb} evidence by itself: some rows chose it, and other rows tested it.{dashed} "
            f"{ways}"
        )
    rejected = check.rejects
    because = (
        "no single place is evidence by itself" if rejected else "there is no evidence against the model"
    )
    return (
        f"These are only the places to look at first; {because}, so do not read much into them. {ways}"
    )


def _tabs(check: Check, key: str) -> str:
    items = "".join(
        f'<li><a class="tab" href="#{key}-loc{i}" data-loc="{key}-loc{i}">'
        f"<b>{i}</b> p = {pvalue_number(location.pvalue)}</a></li>"
        for i, location in enumerate(check.locations, 1)
    )
    return f'<ul class="tabs" aria-label="Locations">{items}</ul>' if items else ""


def _panel(check: Check, i: int, key: str) -> str:
    location = check.locations[i - 1]
    here = f"{key}-loc{i}"
    evidence = "Evidence by itself." if location.named else "Not evidence by itself, only where to look."
    near = number(location.rows, 2 if location.rows < 100 else 3)
    facts = (
        f"{evidence} p = {pvalue_number(location.pvalue)}, corrected for the search and for looking at "
        f"{len(check.locations)} places ({pvalue_number(location.raw_pvalue)} before the latter); about "
        f"{near} rows are near."
    )
    return (
        f'<section class="panel" id="{here}" tabindex="-1" aria-labelledby="{here}-h">'
        f'<h3 id="{here}-h"><span class="badge{" named" if location.named else ""}">{i}</span>'
        f"<span>{html(location.where)}</span></h3>"
        f"{paragraph(_without_where(location))}{_pictures(check, location, here)}"
        f"{_findings(location, here)}"
        f"{paragraph(facts, 'means')}</section>"
    )


def _without_where(location: Location) -> str:
    """Return the words of a location without the place, which stands above them."""
    head, found, rest = location.words.partition(f"{location.where}: ")
    if not found or len(head) > 6:
        return location.words
    plain = rest.startswith(
        ("the ", "where ", "class ")
    )  # what begins with a user's name stays as it is
    return f"{rest[0].upper()}{rest[1:]}" if plain else rest


def _pictures(check: Check, location: Location, here: str) -> str:
    panel = location.panel
    if not len(panel.values):
        return ""
    if panel.kind == "classes":
        chart = classes_chart(panel, f"{here}-y0", f"rows near {location.where}")
        return figure(chart, CLASSES) + classes_table(panel)
    normal = are_normal(check.landscape)
    caption = (
        f"Bars: rows near this place, the nearer the heavier. Dashed line: {model_words(panel, normal)}."
    )
    drawn = [
        figure(panel_chart(panel, c, f"{here}-y{c}", location.where, normal), caption)
        for c in range(min(panel.values.shape[1], MOST_COLUMNS))
    ]
    pair = _pair(location)
    if pair is not None:
        also = "; in the other colour, draws from the model" if panel.samples is not None else ""
        drawn.append(
            figure(
                pair_chart(panel, pair, f"{here}-pair", location.where),
                f"Each dot is a row near this place, the nearer the stronger{also}.",
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
    shown = location.findings[:MOST_FINDINGS]  # the most telling come first
    rows = [_finding_row(f, several, f"{here}-f{i}") for i, f in enumerate(shown)]
    kinds = ["clear" if f.named else "" for f in shown]
    header = ["what", "data", f"{level}% interval", "model", ""]
    rest = len(location.findings) - len(shown)
    caption = "What was measured here; ▸ in bold: clearly off" + (
        f" ({rest:,} more left out)" if rest else ""
    )
    listed = table(caption, header, rows, kind="findings", kinds=kinds, numeric=(1, 3))
    meanings = bullets(
        f"{KINDS.get(kind, kind)}: {UNITS.get(kind, '')}"
        for kind in dict.fromkeys(f.kind for f in location.findings)
    )
    return listed + folded("What these numbers are", meanings)


def _finding_row(finding: Finding, several: bool, key: str) -> tuple[object, ...]:
    name = KINDS.get(finding.kind, finding.kind)
    if finding.label:
        name = LABELLED.get(finding.kind, f"{name} of {{}}").format(finding.label)
    elif several:
        name = f"{name} of {' and '.join(finding.columns)}"
    found, expected = finding.interval, finding.expected
    return (
        f"▸\u00a0{name}" if finding.named else name,
        size(found.estimate),
        Safe(f'<span class="whole">{size(found.low)} to {size(found.high)}</span>'),
        size(expected) if finding.kind in SHARES else number(expected),
        Safe(interval_chart(found, expected, key, f"{name}: {size(found.estimate)}")),
    )


def _map_table(check: Check) -> str:
    """Return the rows of the map at which the misfit shows most, as a table."""
    scape = check.landscape
    if not np.isfinite(scape.values).any():
        return ""
    best = np.argsort(-np.nan_to_num(scape.values), kind="stable")[:MOST_ROWS]
    columns = scape.columns[:12]
    rows = []
    for i in best:
        cells: list[object] = [
            written(scape, c, float(scape.points[i, c]), 4) for c in range(len(columns))
        ]
        rows.append((number(float(scape.values[i])), *cells))
    caption = (
        f"The {len(best)} of {len(scape.points):,} rows of the map around which a misfit shows most"
    )
    return folded(
        "Numbers of the map",
        table(caption, ["evidence", *columns], rows, numeric=range(len(columns) + 1)),
    )


def residuals(check: Check, key: str) -> str:
    """Return all residuals against what the model says: a histogram and a quantile plot a column."""
    scape = check.landscape
    head = f'<section aria-labelledby="{key}-r"><h2 id="{key}-r">All rows at once</h2>'
    if scape.overall is not None:
        return f"{head}{_overall(check, scape.overall, key)}</section>"
    if scape.residuals is None:
        return f"{head}{paragraph(ONLY_SCORES)}</section>"
    normal = are_normal(scape)
    kind = f" ({scape.residual_kind})" if scape.residual_kind else ""
    text = (
        f"Residuals{kind} are {'standard normal' if normal else 'about 0'} if the model is right. A "
        "model can look fine "
        "here and still fail in some part of x; the map is for that."
    )
    parts, rows = [], []
    for i, name in enumerate(check.y_columns):
        z = scape.residuals[:, i]
        z = z[np.isfinite(z)]
        if not len(z):
            continue
        if i < MOST_COLUMNS:
            parts += _residual_figures(z, name, f"{key}-res{i}", normal)
        at = np.quantile(z, QUANTILES)
        rows.append((name, *(f"{v:.2f}".replace("-", "−") for v in (z.mean(), z.std(), *at))))
    if normal:
        rows.append(
            ("model says", *(f"{v:.2f}".replace("-", "−") for v in (0.0, 1.0, *ndtri(QUANTILES))))
        )
    header = ["", "mean", "s.d.", *(f"{share:.0%}" for share in QUANTILES)]
    listed = table(f"{len(scape.residuals):,} rows", header, rows, numeric=range(1, len(header)))
    return (
        f'{head}{paragraph(text)}<div class="two">{"".join(parts)}</div>'
        f"{folded('Numbers of these pictures', listed)}</section>"
    )


def _overall(check: Check, panel: Panel, key: str) -> str:
    """Return a discrete y of all rows as bars, and beside them the residuals of counts."""
    text = (
        "A model can be right about these shares over all rows and still fail in some part of x; the "
        "map is for that."
    )
    chart = classes_chart(panel, f"{key}-all", "all rows")
    parts = [f"<div>{figure(chart, ALL_CLASSES)}{classes_table(panel)}</div>"]
    residuals = check.landscape.residuals
    if residuals is not None:
        z = residuals[:, 0][np.isfinite(residuals[:, 0])]
        caption = (
            "Bars: Pearson residuals, (y − mean)/standard deviation. Dashed line: 0, their mean if the "
            f"model is right; their standard deviation is then 1, and here {number(float(z.std()), 3)}."
        )
        parts.append(figure(residual_chart(z, check.y_columns[0], f"{key}-res0", False), caption))
    return f'{paragraph(text)}<div class="two">{"".join(parts)}</div>'


def _residual_figures(z: FloatArray, name: str, key: str, normal: bool) -> list[str]:
    if not normal:
        return [figure(residual_chart(z, name, key, normal), "Bars: residuals. Dashed line: 0.")]
    outside = quantiles(z).outside
    seen = "All dots lie in it." if not outside else f"{outside:,} of {len(z):,} dots lie outside."
    caption = (
        "Dots on the dashed line: as the model says. The band holds all of them 95 times in 100 if it "
        "is right. "
        f"{seen}"
    )
    return [
        figure(residual_chart(z, name, key, normal), "Bars: residuals. Dashed line: standard normal."),
        figure(quantile_chart(z, name, f"{key}q"), caption),
    ]
