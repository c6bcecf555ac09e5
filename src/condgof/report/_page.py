"""The pages: one file each that needs nothing else; of a check, and of a comparison or a ranking."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from condgof.check._comparison import Comparison, Ranking
from condgof.check._record import Check, Slice
from condgof.check._text import headline, listed, searched_slices
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report import _findings as pieces
from condgof.report import _text as text
from condgof.report._chart import chart_style, draw, legend, themed
from condgof.report._panels import FEWEST, MOST, forest, intervals, panels
from condgof.report._pictures import first_pictures, null_picture
from condgof.report._text import bullets, html, minus, paragraph, sentence, shorten, table
from condgof.result import number, pvalue_number, pvalue_words

#: Panels of columns that are open, and that there are at all.
OPEN_PANELS, MOST_PANELS = 6, 18
#: What to try where some kind of finding stands out in slices of the columns {}, and in all
#: rows.
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
    "class": (
        "A term for {} in the probabilities",
        "Recalibrate class by class: vector scaling",
    ),
    "coverage": ("Conformal intervals, by {}", "Recalibrate: conformal prediction"),
    "events": (
        "A term for {} in the hazard",
        "Another family of times, or a free baseline hazard",
    ),
    "quantile": ("Let the quantiles depend on {}", "Recalibrate: conformal prediction"),
}
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
    "surprises": "rows that lie too far out",
    "slices": "the search for slices",
}
#: How to read the page, for someone who has never seen one.
READING = (
    (
        "A model here is a claim about the whole spread of y at each x, not only about its"
        " mean. The page asks whether the data could have come from it."
    ),
    (
        "Grey is data: points and bars. Green is the model: lines and bands. Where they"
        " differ, orange is for data that lie higher or spread more than the model says,"
        " blue for the other way."
    ),
    (
        "The p-value says how sure we can be that something is off. The size says how much,"
        " and does not grow with the number of rows: judge by it whether the misfit matters"
        " to you."
    ),
    (
        "A slice is a set of rows that its words name. All numbers beside it are of exactly"
        " these rows. Its interval and p-value allow for the search: they hold for what was"
        " found."
    ),
    (
        "PIT: the share of its own distribution that the model puts below what happened. If"
        " the model is right, all values are equally frequent, and the bars end within the"
        " band."
    ),
    (
        "No evidence is no proof that the model is right: the page says how large a misfit"
        " is detectable."
    ),
)


def section(heading: str, key: str, *body: str) -> str:
    head = (
        f'<section id="{key}" aria-labelledby="{key}-h"><h2'
        f' id="{key}-h">{html(heading)}</h2>'
    )
    return f"{head}{''.join(body)}</section>"


def overview(check: Check) -> str:
    """Return the first pictures that anyone draws, and all rows in numbers."""
    drawn = [
        pieces.figure(chart, f"all{i}") for i, chart in enumerate(first_pictures(check))
    ]
    if not drawn:
        drawn = [
            paragraph(
                "Scores of the model are all that is known: nothing predicted can be drawn."
            )
        ]
    looked, findings = check.looked, [f for f in check.overall if f.kind != "wild"]
    robust, several = (
        looked.kind in ("continuous", "several", "moments"),
        len(check.y_columns) > 1,
    )
    of = (
        "all rows"
        if looked.all_rows
        else f"{looked.n:,} of {looked.whole:,} rows, taken at random"
    )
    overall = pieces.tiles(f"Of {of}", findings, several, robust)
    overall += "".join(
        paragraph(sentence(f.words), "small") for f in check.overall if f.kind == "wild"
    )
    if len(drawn) == 1 and overall:  # there is room beside it
        drawn, overall = [*drawn, f"<div>{overall}</div>"], ""
    pictures = f'<div class="pair">{"".join(drawn)}</div>'
    return section("What the model says, and what happened", "all", pictures, overall)


def where(check: Check) -> str:
    """Return the slices; without any, the message says so."""
    if not check.slices:
        return ""
    count = searched_slices(check)
    among = f"Found among {count:,} slices; intervals" if count else "Intervals"
    caption = (
        "Open a row for its pictures. Line: what the model says; dot and bar: the data and"
        " their "
    )
    caption += f"interval. {among} and p-values allow for the search."
    return section("Where", "where", pieces.slices_table(check, check.slices, "s", caption))


def groups(check: Check) -> str:
    """Return all groups on one axis, and as a table."""
    parts, by, drawn = check.groups, _by(check), ""
    if not parts:
        return ""
    what = "groups" if by else "slices"
    caption = f"{len(parts):,} {what}; intervals and p-values allow for their number."
    if len(parts) > (most := pieces.MOST_ROWS):
        caption += (
            f" The {most} most certain are listed, all are in the picture and in to_dict()."
        )
    if len(parts) > 12 and (chart := forest(parts)) is not None:
        drawn = f'<div class="pair">{pieces.figure(chart, "forest")}</div>'
    rows = pieces.slices_table(check, parts, "g", caption)
    return section(
        f"By {shorten(by, 60)}" if by else "The slices you named", "groups", drawn, rows
    )


def _by(check: Check) -> str:
    """Return the column that groups are by; "" where slices were named in another way."""
    names = {c.column for part in check.groups for c in part.conditions}
    return names.pop() if len(names) == 1 else ""


def columns(check: Check) -> str:
    charts = panels(check, MOST_PANELS)
    if not charts:
        return ""
    body = legend(charts[0].legend)  # of all
    drawn = [
        pieces.figure(replace(chart, legend=()), f"col{i}")
        for i, chart in enumerate(charts)
    ]
    body += f'<div class="panels">{"".join(drawn[:OPEN_PANELS])}</div>'
    rest, left_out = drawn[OPEN_PANELS:], len(check.looked.axes) - len(drawn)
    if rest:
        summary = f"<summary>{len(rest)} more column{'s' * (len(rest) > 1)}</summary>"
        body += f'<details>{summary}<div class="panels">{"".join(rest)}</div></details>'
    if left_out > 0 and len(drawn) == MOST_PANELS:
        rest_words = f"{left_out:,} more columns explain less and are not drawn"
        body += paragraph(f'{rest_words}: report.plot("column", column=…).', "small")
    return section("Column by column", "columns", body)


def to_try(check: Check) -> str:
    """Return what would mend what was found, and nothing else."""
    page = "the page “What to try when a model does not fit” of condgof's documentation"
    more, items = paragraph(f"How to do each of these: {page}.", "small"), ""
    for what, seen in advices(check):
        items += f"<li><b>{html(what)}</b> <span>({html(seen)})</span></li>"
    return (
        section("What to try", "try", f'<ul class="try">{items}</ul>{more}')
        if items
        else ""
    )


def advices(check: Check) -> list[tuple[str, str]]:
    """Return what the findings support: an advice, and where that was found."""
    if not check.rejected:
        return []
    kind, advised = check.looked.kind, []
    cells = kind in ("quantiles", "intervals")
    overall = {
        f.kind: f for f in check.overall if f.telling and (cells or f.kind != "coverage")
    }
    at: dict[str, dict[int, Slice]] = {}
    for i, part in enumerate(check.slices, 1):
        named = "spread" if part.kind == "coverage" and not cells else part.kind
        at.setdefault(named, {})[i] = part
    for name, (there, everywhere) in ADVICE.items():
        finding, slices = overall.get(name), at.get(name, {})
        if name == "tails" and finding is not None and finding.estimate < finding.expected:
            finding = None  # light tails: the spread says it
        if finding is not None and (
            not slices or name == "confidence" or there == everywhere
        ):
            if name == "spread" and kind == "counts" and finding.estimate > 1:
                everywhere = "A family that spreads more, such as the negative binomial"
            advised.append(
                (everywhere.format(pieces.value_of(finding, finding.estimate)), "all rows")
            )
        elif slices:
            found = [c.column for part in slices.values() for c in part.conditions]
            names = (
                "the prediction" if c == "predicted" else shorten(c, 60) for c in found
            )
            about = listed(list(dict.fromkeys(names))) if found else "x"
            where = f"slice{'s' * (len(slices) > 1)} {', '.join(map(str, slices))}"
            advised.append((there.format(about), where))
    return advised


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
        drawn += f"<div>{table(caption, ['looks at', 'p'], rows)}</div>"
    drawn += pieces.figure(chart, "null") if chart is not None else ""
    return f'{body}<div class="two">{drawn}</div>'


def run(check: Check, command: str | None, notes: Sequence[str]) -> str:
    """Return notes, the lines that give the page again, and what was run."""
    result = check.result
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    facts = {
        "rows": f"{result.n:,}",
        "x": listed(check.x_columns, 30),
        "y": listed(check.y_columns, 30),
        "test": f"{result.method}, {result.null}" + (f", {draws:,} draws" if draws else ""),
        "statistic": number(result.statistic, 5),
        "p-value": f"{check.pvalue:.6g}",
        "level": f"{check.alpha:g}",
        "searched": _facts(check.details.get("searched", {})),
        "seed": str(result.seed),
        "versions": _facts(check.details.get("versions", {})),
    }
    terms = "".join(
        f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in facts.items()
    )
    remarks = bullets(
        dict.fromkeys((*notes, *check.notes, *result.details.get("notes", ())))
    )
    again = "".join(pieces.code(text) for text in (command, python_lines(check)) if text)
    return f"{remarks}<p>To get this page again:</p>{again}<dl>{terms}</dl>"


def python_lines(check: Check) -> str:
    """Return the Python that gives a check again, given the model and the data."""
    details, by = check.result.details, _by(check)
    options = f", by={by!r}" if by else ", slices=slices" if check.groups else ""
    options += "" if check.tolerance is None else f", tolerance={check.tolerance.allowed:g}"
    options += "" if check.alpha == 0.05 else f", alpha={check.alpha:g}"
    if "block_length" in details:
        options += f", dependence={details['block_length']}"
    elif "groups" in details:
        options += ", groups=groups"
    return (
        f"import condgof as cg\nreport = cg.check(model, x, y{options},"
        f' rng={check.result.seed})\nopen("report.html", "w",'
        ' encoding="utf-8").write(report.to_html())'
    )


def holds(check: Check) -> str:
    """Say what of the data is in the file."""
    held = [
        (
            f"Names of columns and classes, and of at most {MOST} levels of a column, of"
            f" {FEWEST} rows or more each; the levels and bounds that slices and groups"
            " name."
        ),
        "The ends of bins, of numbers above 100,000 with four digits.",
        (
            "Points in pictures: y, or its residual, of single rows, and what it is drawn"
            " against."
        ),
        "Numbers of rows that lie far from the model, not what is in them.",
        (
            "Histograms, quantiles by bin, shares and means of all rows and of slices or"
            " groups."
        ),
        (
            "The results of the check as JSON with six digits, in the element with the id"
            " numbers."
        ),
        "Nothing else of the data; and the file sends nothing anywhere.",
    ]
    return bullets(held if check.looked.z is not None else held[:2] + held[4:])


def folds(check: Check, command: str | None, notes: Sequence[str]) -> str:
    """Return what does not change a decision, folded away; what was run is on paper too."""
    inside = ""
    for name, kind, body in (
        ("How sure, in detail", "", sure(check)),
        (
            "What was run, and how to run it again",
            ' class="printed"',
            run(check, command, notes),
        ),
        ("What this file holds of your data", "", holds(check)),
        ("How to read this page", "", bullets(READING)),
    ):
        inside += f"<details{kind}><summary><h2>{name}</h2></summary>{body}</details>"
    return f'<div class="folds">{inside}</div>'


def _facts(value: object) -> str:
    if not isinstance(value, Mapping):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return ", ".join(f"{name} {_facts(one)}" for name, one in value.items()) or "–"


#: Groups that are in the numbers for machines, how long a list may be, and what has x of
#: single rows.
MOST_GROUPS, LONG = 200, 200
SINGLE_ROWS = ("null_distribution", "locations", "strongest_location", "location_labels")


def check_page(
    check: Check,
    *,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    given, rows = pieces.given(check), f"{check.result.n:,} rows"
    heading, below = (given, rows) if title is None else (title, f"{given} · {rows}")
    parts = (pieces.message, overview, where, groups, columns, to_try)
    body = "".join(part(check) for part in parts) + folds(check, command, notes)
    return page(heading, below, f"{headline(check)} · {heading}", body, numbers(check))


def numbers(check: Check) -> Any:
    """Return the numbers of a check with six digits and without what is long, for machines."""
    results = check.to_dict()
    result = results["result"]
    for place in (result, result["details"], results["details"]):
        for name, value in list(place.items()):
            if name in SINGLE_ROWS or (isinstance(value, list) and len(value) > LONG):
                del place[name]
    if len(results["groups"]) > 20:
        results["groups_left_out"] = max(len(results["groups"]) - MOST_GROUPS, 0)
        some = results["groups"][:MOST_GROUPS]
        results["groups"] = [{**group, "findings": group["findings"][:1]} for group in some]
    return json.loads(
        json.dumps(results), parse_float=lambda text: float(f"{float(text):.6g}")
    )


def page(heading: str, below: str, tab: str, body: str, machine: dict[str, Any]) -> str:
    """Put a body into a page, with style, script and the policy that allows just these; and JSON."""
    colours, rules = themed("page.css")
    style = f"{colours}{chart_style()}{rules}"
    script = (files("condgof.report") / "page.js").read_text("utf-8")
    known = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()
        for t in (style, script)
    ]
    policy = (
        f"default-src 'none'; style-src 'sha256-{known[0]}'; script-src"
        f" 'sha256-{known[1]}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer"'
        ' content="no-referrer">\n'
        f"<title>{html(tab)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the message</a>\n'
        f"<header><h1>{html(heading)}</h1><p>{html(below)}</p></header>\n"
        f'<main id="main">{body}</main>\n'
        "<footer>Made by condgof. This file needs no network.</footer>\n"
        '<script type="application/json"'
        f' id="numbers">{text.script_json(machine)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def compared_chart(result: Comparison | Ranking) -> c.Chart | None:
    """Draw the difference over all rows and in slices; or how much worse models are than the first."""
    parts: list[tuple[str, float, c.Ends]] = []
    if isinstance(result, Ranking):
        first, sign = result.names[0], -1.0 if result.better == "higher" else 1.0
        errors = {
            frozenset((one.better, one.worse)): one.standard_error for one in result.pairs
        }
        for name, mean in zip(result.names[1:], result.means[1:], strict=True):
            apart, reach = (
                sign * (mean - result.means[0]),
                1.96 * errors[frozenset((first, name))],
            )
            parts.append((name, apart, (apart - reach, apart + reach)))
        title, axis = f"how much worse than {first}, by {result.name}", "worse →"
    else:
        parts = [(f"all {result.n:,} rows", result.difference, result.interval)]
        for s in result.slices:
            lead = s.findings[0]
            name = f"{s.words} · {s.n:,} rows, {pvalue_words(s.pvalue, s.pvalue_floor)}"
            parts.append((name, lead.estimate, lead.interval))
        (p, q), score = result.names, result.score
        title = f"{score.name} of {p} less that of {q} ({score.better} is better)"
        left, right = (q, p) if score.better == "higher" else (p, q)
        axis = f"← {left} better · {right} better →"
    shown = [part for part in parts if np.isfinite([part[1], *part[2]]).all()]
    if not shown:
        return None
    numbers = np.array([[value, *ends, 0.0] for _, value, ends in shown])
    names, title = [name for name, _, _ in shown], shorten(title, 120)
    return intervals(axis, names, numbers, wide=860, title=title)


def plot_compared(result: Comparison | Ranking, ax: object = None) -> Any:
    chart = compared_chart(result)
    if chart is None:
        raise InputError("The difference is infinite: there is nothing to draw.")
    return draw(chart, ax)


def compared_page(result: Comparison | Ranking, command: str | None = None) -> str:
    ranked, chart = isinstance(result, Ranking), compared_chart(result)
    heading = f"{len(result.names)} models" if ranked else " and ".join(result.names)
    body = "" if chart is None else pieces.figure(chart, "difference")
    body += pieces.records_table("Means over all rows", result.records())
    if isinstance(result, Ranking):
        shown = ("better", "worse", "difference", "pvalue")
        pairs = [{name: getattr(pair, name) for name in shown} for pair in result.pairs]
        body += pieces.records_table(
            "All pairs; p-values are corrected for their number", pairs
        )
    body += bullets(result.details.get("notes", ()))
    body += f"<p>To get this page again:</p>{pieces.code(command)}" if command else ""
    whole = section(
        "Which predicts better", "verdict", paragraph(minus(result.words)), body
    )
    plain = result.to_dict()
    plain.pop("null_distribution", None)
    return page(heading, f"{result.n:,} rows", f"Comparison · {heading}", whole, plain)
