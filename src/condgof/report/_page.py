"""The pages: one file each that needs nothing else; of a check, and of a comparison or a ranking."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np

from condgof.check._comparison import Comparison, Ranking
from condgof.check._record import Check, Slice
from condgof.check._text import headline
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._binned import FEWEST, MOST, sides
from condgof.report._chart import Chart, Intervals
from condgof.report._findings import (
    MOST_ROWS,
    ROOM,
    code,
    expected_of,
    figure,
    given,
    message,
    name_of,
    numbers_table,
    range_of,
    slices_table,
    value_of,
)
from condgof.report._panels import forest, panel_keys, panels
from condgof.report._pen_pyplot import draw
from condgof.report._pen_svg import chart_style, legend
from condgof.report._pictures import first_pictures, null_picture
from condgof.report._text import (
    bullets,
    folded,
    html,
    paragraph,
    script_json,
    shorten,
    table,
    visible,
)
from condgof.result import number, pvalue_number, sized

#: Panels of columns that are open, and that there are at all; more findings than tiles are a table.
OPEN_PANELS, MOST_PANELS, MOST_TILES = 6, 18, 8
#: What to try where some kind of finding stands out in slices of the columns {}, and in all rows.
ADVICE = {
    "wild": ("Look at the wild rows first: they may be errors in the data",) * 2,
    "spread": ("Let the spread depend on {}", "Multiply the standard deviation by {}"),
    "shift": ("A term for {} in the mean", "Move the mean by {} standard deviations"),
    "tails": ("A Student t, or another family with heavier tails",) * 2,
    "skew": ("A skewed family, or a transform of y such as the logarithm",) * 2,
    "zeros": ("A zero-inflated family, or a hurdle",) * 2,
    "correlation": ("Let the columns of y depend on each other",) * 2,
    "confidence": (
        "Recalibrate by {}, or let the classifier know it",
        "Recalibrate: temperature scaling",
    ),
    "class": ("A term for {} in the probabilities", "Recalibrate class by class: vector scaling"),
    "coverage": ("Conformal intervals, by {}", "Recalibrate: conformal prediction"),
    "events": ("A term for {} in the hazard", "Another family of times, or a free baseline hazard"),
    "quantile": ("Let the quantiles depend on {}", "Recalibrate: conformal prediction"),
}
#: Where to read on about that.
DOCS = "docs/mending.md"
#: What the families of the verdict look at.
FAMILIES = {
    "x": "x as a whole, at several scales",
    "columns": "single columns",
    "categories": "single levels of columns",
    "spread by category": "spread in single levels of columns",
    "level": "mean and spread of all rows",
    "constant": "all rows together",
    "locations": "single places in x",
    "pairs": "pairs of columns",
    "surprises": "the largest surprises",
    "slices": "the search for slices",
}
#: How to read the page, for someone who has never seen one.
READING = (
    "A model here is a claim about the whole spread of y at each x, not only about its mean. The page "
    "asks whether the data could have come from it.",
    "Grey is data: points and bars. Green is the model: lines and bands. Where they differ, orange is "
    "for data that lie higher or spread more than the model says, blue for the other way.",
    "The p-value says how sure we can be that something is off. The size says how much, and does not "
    "grow with the number of rows: judge by it whether the misfit matters to you.",
    "A slice is a set of rows that its words name. All numbers beside it are of exactly these rows. "
    "Its interval and p-value allow for the search: they hold for what was found.",
    "PIT: the share of its own distribution that the model puts below what happened. If the model is "
    "right, all values are equally frequent, and the bars end within the band.",
    "No evidence is no proof that the model is right: the page says how large a misfit is detectable.",
)


def section(heading: str, key: str, *body: str) -> str:
    """Return a section with its heading."""
    head = f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{html(heading)}</h2>'
    return f"{head}{''.join(body)}</section>"


def overview(check: Check) -> str:
    """Return the first pictures that anyone draws, and all rows in numbers."""
    drawn = [figure(chart, f"all{i}") for i, chart in enumerate(first_pictures(check))]
    if not drawn:
        drawn = [paragraph("Scores of the model are all that is known: nothing predicted can be drawn.")]
    wild = [f"{f.words[:1].upper()}{f.words[1:]}." for f in check.overall if f.kind == "wild"]
    overall = _overall(check) + "".join(paragraph(words, "small") for words in wild)
    if len(drawn) == 1 and overall:  # there is room beside it
        drawn, overall = [*drawn, f"<div>{overall}</div>"], ""
    pictures = f'<div class="pair">{"".join(drawn)}</div>'
    return section("What the model says, and what happened", "all", pictures, overall)


def _overall(check: Check) -> str:
    """Return what is said of all rows, side by side, or where that is much as a table."""
    findings = [f for f in check.overall if f.kind != "wild"]
    looked = check.looked
    robust = looked.kind in ("continuous", "several", "moments")
    of = "all rows" if looked.all_rows else f"{looked.n:,} of {looked.whole:,} rows, taken at random"
    if len(findings) > MOST_TILES:
        return numbers_table(f"Of {of}", findings, len(check.y_columns) > 1, robust)
    tiles = "".join(
        f"<li{' class=telling' if f.telling else ''}><span>{html(name_of(f, overall=robust))}</span>"
        f"<b>{value_of(f, f.estimate)}</b><small>{range_of(f)}</small>"
        f"<small>model {expected_of(f)}</small></li>"
        for f in findings
    )
    return f'<p class="of">Of {of}</p><ul class="tiles">{tiles}</ul>' if tiles else ""


def where(check: Check) -> str:
    """Return the slices; without any, the message says so."""
    if not check.slices:
        return ""
    searched = check.details.get("searched", {})
    count = searched.get("slices", 0) if isinstance(searched, Mapping) else searched
    among = f"Found among {count:,} slices; intervals" if count else "Intervals"
    caption = (
        "Open a row for its pictures. Line: what the model says; dot and bar: the data and their "
        f"interval. {among} and p-values allow for the search."
    )
    room = ROOM // 2 if check.groups else ROOM
    return section("Where", "where", slices_table(check, check.slices, "s", caption, room))


def groups(check: Check) -> str:
    """Return all groups on one axis, and as a table."""
    parts = check.groups
    if not parts:
        return ""
    by = _by(check)
    caption = (
        f"{len(parts):,} {'groups' if by else 'slices'}; intervals and p-values allow for their number."
    )
    if len(parts) > MOST_ROWS:
        caption += f" The {MOST_ROWS} most certain are listed, all are in the picture and in to_dict()."
    drawn, chart = "", forest(parts) if len(parts) > 12 else None
    if chart is not None:
        if len(parts) > MOST_ROWS:  # words for each would take too much room
            bare = (replace(m, tips=()) if isinstance(m, Intervals) else m for m in chart.marks)
            chart = replace(chart, marks=tuple(bare))
        drawn = f'<div class="pair">{figure(chart, "forest")}</div>'
    listed = slices_table(check, parts, "g", caption, ROOM // 3 if check.slices else ROOM)
    return section(f"By {shorten(by, 60)}" if by else "The slices you named", "groups", drawn, listed)


def _by(check: Check) -> str:
    """Return the column that groups are by; "" where slices were named in another way."""
    names = {c.column for part in check.groups for c in part.conditions}
    return names.pop() if len(names) == 1 else ""


def columns(check: Check) -> str:
    """Return a small panel for each column, the ones that explain most first."""
    drawn = [figure(chart, f"col{i}") for i, (_, chart) in enumerate(panels(check, MOST_PANELS))]
    if not drawn:
        return ""
    body = f'{legend(panel_keys(check))}<div class="panels">{"".join(drawn[:OPEN_PANELS])}</div>'
    rest, left_out = drawn[OPEN_PANELS:], len(check.looked.axes) - len(drawn)
    if rest:
        more = f'<div class="panels">{"".join(rest)}</div>'
        body += folded(f"{len(rest)} more column{'s' * (len(rest) > 1)}", more)
    if left_out > 0 and len(drawn) == MOST_PANELS:
        rest_words = f"{left_out:,} more columns explain less and are not drawn"
        body += paragraph(f'{rest_words}: report.plot("column", column=…).', "small")
    return section("Column by column", "columns", body)


def to_try(check: Check) -> str:
    """Return what would mend what was found, and nothing else."""
    items = "".join(
        f"<li><b>{html(advice)}</b> <span>({html(seen)})</span></li>" for advice, seen in advices(check)
    )
    more = paragraph(f"How to do each of these: {DOCS} of condgof.", "small")
    return section("What to try", "try", f'<ul class="try">{items}</ul>{more}') if items else ""


def advices(check: Check) -> list[tuple[str, str]]:
    """Return what the findings support: an advice, and where that was found."""
    if not check.rejected:
        return []
    kind, advised = check.looked.kind, []
    cells = kind in ("quantiles", "intervals")
    overall = {f.kind: f for f in check.overall if f.telling and (cells or f.kind != "coverage")}
    at: dict[str, list[tuple[int, Slice]]] = {}
    for i, part in enumerate(check.slices, 1):
        named = "spread" if part.kind == "coverage" and not cells else part.kind
        at.setdefault(named, []).append((i, part))
    for name, (there, everywhere) in ADVICE.items():
        finding = overall.get(name)
        if name == "tails" and finding is not None and finding.estimate < finding.expected:
            finding = None  # light tails: the spread says it
        if finding is not None and (name not in at or name == "confidence" or there == everywhere):
            if name == "spread" and kind == "counts" and finding.estimate > 1:
                everywhere = "A family that spreads more, such as the negative binomial"
            advised.append((everywhere.format(value_of(finding, finding.estimate)), "all rows"))
        elif name in at:
            numbers = ", ".join(str(i) for i, _ in at[name])
            slices = f"slice{'s' * (len(at[name]) > 1)} {numbers}"
            advised.append((there.format(_columns_of(part for _, part in at[name])), slices))
    return advised


def _columns_of(parts: Any) -> str:
    """Name the columns of slices."""
    columns = (c.column for part in parts for c in part.conditions)
    names = list(
        dict.fromkeys("the prediction" if c == "predicted" else shorten(c, 60) for c in columns)
    )
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "x"


def sure(check: Check) -> str:
    """Return how the verdict came about: each family, and the null distribution."""
    families = check.result.details.get("families", {})
    rows = [(FAMILIES.get(str(f), str(f)), pvalue_number(p)) for f, p in families.items()]
    body = paragraph(f"The misfit is {check.effect.words}.")
    if check.tolerance is not None and check.power.words not in check.words:
        body += paragraph(check.power.words)
    chart, drawn = null_picture(check.result), ""
    if rows:
        caption = "p-value of each part of the test; the verdict combines them"
        drawn += f"<div>{table(caption, ['looks at', 'p'], rows, numeric=(1,))}</div>"
    if chart is not None:
        drawn += figure(chart, "null")
    return f'{body}<div class="two">{drawn}</div>'


def run(check: Check, command: str | None, notes: Sequence[str]) -> str:
    """Return notes, the lines that give the page again, and what was run."""
    result, d = check.result, check.effect.discrepancy
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    versions = check.details.get("versions", {})
    facts = {
        "rows": f"{result.n:,}",
        "x": _names(check.x_columns),
        "y": _names(check.y_columns),
        "test": f"{result.method}, {result.null}" + (f", {draws:,} draws" if draws else ""),
        "statistic": number(result.statistic, 5),
        "p-value": f"{check.pvalue:.6g}",
        "level": f"{check.alpha:g}",
        "discrepancy": f"{number(d.estimate)} ({number(d.low)} to {number(d.high)})",
        "searched": _facts(check.details.get("searched", {})),
        "seed": str(result.seed),
        "versions": _facts(versions),
    }
    listed = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in facts.items())
    all_notes = (*notes, *check.notes, *result.details.get("notes", ()))
    remarks = bullets(dict.fromkeys(visible(note) for note in all_notes))
    again = "".join(code(text) for text in (command, python_lines(check)) if text)
    return f"{remarks}<p>To get this page again:</p>{again}<dl>{listed}</dl>"


def python_lines(check: Check) -> str:
    """Return the Python that gives a check again, given the model and the data."""
    details, by = check.result.details, _by(check)
    options = f", by={by!r}" if by else ", slices=slices" if check.groups else ""
    if check.tolerance is not None:
        options += f", tolerance={check.tolerance.allowed:g}"
    if check.alpha != 0.05:
        options += f", alpha={check.alpha:g}"
    if "block_length" in details:
        options += f", dependence={details['block_length']}"
    elif "groups" in details:
        options += ", groups=groups"
    call = f"report = cg.check(model, x, y{options}, rng={check.result.seed})"
    written = 'open("report.html", "w", encoding="utf-8").write(report.to_html())'
    return f"import condgof as cg\n{call}\n{written}"


def holds(check: Check) -> str:
    """Say what of the data is in the file."""
    sentences = [
        f"Names of columns and classes, and of at most {MOST} levels of a column, of {FEWEST} rows or "
        "more each; the levels and bounds that slices and groups name.",
        "The ends of bins, of numbers above 100,000 with four digits.",
    ]
    if check.looked.z is not None:
        sentences.append(
            "Points in pictures: y, or its residual, of single rows, and what it is drawn against."
        )
        sentences.append(
            "Numbers of rows that lie far from the model, and how far, not what is in them."
        )
    sentences.append(
        "Histograms, quantiles by bin, shares and means of all rows and of slices or groups."
    )
    sentences.append(
        "The results of the check as JSON with six digits, in the element with the id numbers."
    )
    sentences.append("Nothing else of the data; and the file sends nothing anywhere.")
    return bullets(sentences)


def folds(check: Check, command: str | None, notes: Sequence[str]) -> str:
    """Return what does not change a decision, folded away; what was run is on paper too."""
    parts = (
        ("How sure, in detail", "", sure(check)),
        ("What was run, and how to run it again", ' class="printed"', run(check, command, notes)),
        ("What this file holds of your data", "", holds(check)),
        ("How to read this page", "", bullets(READING)),
    )
    inside = "".join(
        f"<details{kind}><summary><h2>{name}</h2></summary>{body}</details>"
        for name, kind, body in parts
    )
    return f'<div class="folds">{inside}</div>'


def _facts(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return ", ".join(f"{name} {_facts(one)}" for name, one in value.items()) or "–"


def _names(columns: Sequence[str], most: int = 30) -> str:
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(shorten(name, 80) for name in columns[:most]) + more


#: Groups that are in the numbers for machines, and how long a list there may be.
MOST_GROUPS, LONG = 200, 200


def check_page(
    check: Check, *, title: str | None = None, command: str | None = None, notes: Sequence[str] = ()
) -> str:
    """Write the report of one check."""
    heading = given(check) if title is None else title
    below = [given(check)] * (title is not None) + [f"{check.result.n:,} rows"]
    parts = (message, overview, where, groups, columns, to_try)
    body = "".join(part(check) for part in parts) + folds(check, command, notes)
    return page(heading, " · ".join(below), f"{headline(check)} · {heading}", body, numbers(check))


def numbers(check: Check) -> dict[str, Any]:
    """Return the numbers of a check with six digits and without what is long, for machines."""
    results = check.to_dict()
    for name in ("null_distribution", "locations"):
        results["result"].pop(name, None)
    for name in ("strongest_location", "location_labels"):  # x of single rows
        results["result"]["details"].pop(name, None)
    for place in (results["result"]["details"], results["details"]):
        for name in [n for n, value in place.items() if isinstance(value, list) and len(value) > LONG]:
            del place[name]
    if len(results["groups"]) > 20:
        results["groups_left_out"] = max(len(results["groups"]) - MOST_GROUPS, 0)
        results["groups"] = [
            {**g, "findings": g["findings"][:1]} for g in results["groups"][:MOST_GROUPS]
        ]
    rounded: dict[str, Any] = _rounded(results)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def page(heading: str, below: str, tab: str, body: str, machine: dict[str, Any]) -> str:
    """Put a body into a page, with style and script and the policy that allows just these two.

    `machine` is there for machines, as JSON in the element with the id "numbers".
    """
    style, script = _style(), _read("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{html(tab)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the message</a>\n'
        f"<header><div><h1>{html(heading)}</h1><p>{html(below)}</p></div>"
        '<button class="theme" type="button" aria-label="Switch between light and dark">Dark</button>'
        f'</header>\n<main id="main">{body}</main>\n'
        "<footer>Made by condgof. This file needs no network.</footer>\n"
        f'<script type="application/json" id="numbers">{script_json(machine)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@functools.cache
def _read(name: str) -> str:
    return resources.files("condgof.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _style() -> str:
    """Return the style sheet: colours in light, the same in dark where that is wanted, and rules."""
    light, dark, rules = _read("page.css").split("/* --- */")
    wanted = f'@media screen {{ :root[data-theme="dark"] {{{dark}}} }}'
    system = f'(prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{{dark}}} }}'
    return f"{light}@media screen and {system}\n{wanted}{chart_style()}{rules}"


def _digest(text: str) -> str:
    """Return the hash by which a browser knows the one script and the one style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def comparison_chart(result: Comparison) -> Chart | None:
    """Draw the difference of the measure of the verdict, over all rows and in slices."""
    parts = [(f"all {result.n:,} rows", result.difference, result.interval)]
    for s in result.slices:
        label = f"{shorten(s.words, 60)} · {s.n:,} rows"
        parts.append((label, s.findings[0].estimate, s.findings[0].interval))
    p, q = result.names
    name = f"{result.score.name} of {p} less that of {q} ({result.score.better} is better)"
    left, right = (q, p) if result.score.better == "higher" else (p, q)
    return _forest(parts, name, f"← {left} better · {right} better →", result.words)


def ranking_chart(result: Ranking) -> Chart | None:
    """Draw how much worse each model is than the first."""
    first, sign = result.names[0], -1.0 if result.better == "higher" else 1.0
    pairs = {frozenset((one.better, one.worse)): one for one in result.pairs}
    parts = []
    for name, mean in zip(result.names[1:], result.means[1:], strict=True):
        one, apart = pairs[frozenset((first, name))], sign * (mean - result.means[0])
        reach = 1.96 * one.standard_error
        parts.append((shorten(name, 60), apart, (apart - reach, apart + reach)))
    return _forest(parts, f"how much worse than {first}, by {result.name}", "worse →", result.words)


def _forest(
    parts: Sequence[tuple[str, float, tuple[float, float]]], name: str, axis: str, words: str
) -> Chart | None:
    """Draw estimates with intervals, one under the other."""
    shown = [part for part in parts[::-1] if np.isfinite([part[1], *part[2]]).all()]
    if not shown:
        return None
    at, estimate = np.arange(len(shown)) * 1.0, np.array([part[1] for part in shown])
    low, high = np.array([part[2] for part in shown]).T
    kinds, spans = sides(low, high, np.zeros(len(low))), c.spans(low, high)
    ends = c.robust_ends(np.append(low, high), [0.0, *estimate], 0.06)
    tips = tuple(f"{part[0]}: {span}" for part, span in zip(shown, spans, strict=True))
    marks: list[c.Mark] = [c.Rule(0.0, False, dashed=True)]
    marks.append(c.Intervals(at, estimate, low, high, kinds, True, 8.0, tips))
    marks += [c.Text(ends[0], float(i), part[0], "start", 11.0) for i, part in enumerate(shown)]
    numbers = c.table({"where": [part[0] for part in shown], "difference": estimate, "interval": spans})
    scale = c.Scale("", (-0.5, len(shown) - 0.3))
    size = (860, 60 + 44 * len(shown))
    return Chart(
        shorten(name, 120), words, c.numeric(axis, ends), scale, tuple(marks), numbers, (), size
    )


def plot_compared(result: Comparison | Ranking, ax: Any = None) -> Any:
    """Draw a comparison or a ranking with matplotlib; see their `plot`."""
    chart = ranking_chart(result) if isinstance(result, Ranking) else comparison_chart(result)
    if chart is None:
        raise InputError("The difference is infinite: there is nothing to draw.")
    return draw(chart, ax)


def compared_page(result: Comparison | Ranking, command: str | None = None) -> str:
    """Write the report of a comparison or a ranking."""
    heading, body, chart = _ranking(result) if isinstance(result, Ranking) else _comparison(result)
    drawn = "" if chart is None else figure(chart, "difference")
    notes = bullets(visible(note) for note in result.details.get("notes", ()))
    again = f"<p>To get this page again:</p>{code(command)}" if command else ""
    verdict = paragraph(getattr(result, "verdict", result.words))
    whole = section("Which predicts better", "verdict", verdict, drawn, body, notes, again)
    plain = result.to_dict()
    plain.pop("null_distribution", None)
    return page(heading, f"{result.n:,} rows", f"Comparison · {heading}", whole, plain)


def _comparison(result: Comparison) -> tuple[str, str, Chart | None]:
    """Return heading, tables (each measure, and where) and picture of a comparison."""
    p, q = result.names
    rows = [
        (f"{s.name} ({s.better} is better)", f"{s.means[0]:.5g}", f"{s.means[1]:.5g}",
         *sized(s.difference, *s.interval), pvalue_number(s.pvalue))
        for s in result.measures
    ]  # fmt: skip
    header = ["measure", p, q, f"{p} less {q}", "95% interval", "p"]
    body = table("Means over all rows", header, rows, numeric=(1, 2, 3, 4, 5))
    where = [
        (s.words, f"{s.n:,}", s.findings[0].words, pvalue_number(s.pvalue, s.pvalue_floor))
        for s in result.slices
    ]
    if where:
        heads = ["where", "rows", "", "p, corrected for the search"]
        body += table("Where the difference is another", heads, where, numeric=(1, 3))
    return f"{p} and {q}", body, comparison_chart(result)


def _ranking(result: Ranking) -> tuple[str, str, Chart | None]:
    """Return heading, tables (the models, and all pairs) and picture of a ranking."""
    best = result.best()
    rows = [
        (name, f"{mean:.5g}", *(f"{values[i]:.5g}" for values in result.others.values()),
         "yes" if name in best else "no")
        for i, (name, mean) in enumerate(zip(result.names, result.means, strict=True))
    ]  # fmt: skip
    header = ["model", f"{result.name} ({result.better} is better)", *result.others, "may be the best"]
    numeric = tuple(range(1, 2 + len(result.others)))
    body = table("Means over all rows", header, rows, numeric=numeric)
    pairs = [(f"{o.better} against {o.worse}", f"{o.difference:.4g}", pvalue_number(o.pvalue))
             for o in result.pairs]  # fmt: skip
    body += table("All pairs", ["better against worse", "by", "p, corrected for all pairs"], pairs,
                  numeric=(1, 2))  # fmt: skip
    return f"{len(result.names)} models", body, ranking_chart(result)
