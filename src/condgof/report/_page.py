"""The pages: one file each that needs nothing else; of a check, and of comparisons."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from condgof.check import (
    CORRECTION_NOTE,
    Check,
    Comparison,
    Ranking,
    advice_texts,
    effect_range,
    gain_words,
    headline,
    listed,
    searched_slices,
)
from condgof.check.curves import FEWEST_ROWS, MOST_BINS, MOST_PANELS, row_residuals
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report import _findings as pieces
from condgof.report import _text as text
from condgof.report._chart import chart_style, draw, legend, themed
from condgof.report._effects import effect_chart
from condgof.report._forest import forest, intervals
from condgof.report._null import null_picture
from condgof.report._panels import panels
from condgof.report._pictures import drawn_first
from condgof.report._text import bullets, html, minus, paragraph, sentence, shorten, table
from condgof.result import number, pvalue_number, pvalue_words

#: Panels of columns that are shown at once.
OPEN_PANELS = 6
#: Effects, the first ones, that have a picture.
DRAWN_EFFECTS = 4
#: More groups than this are drawn on one axis as well.
FEW_GROUPS = 12


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
    "triples": "products of three columns",
    "waves": "fine waves along single columns",
    "category columns": "all levels of a column together",
    "cells": "levels of two columns at once",
    "spread by cell": "spread in levels of two columns at once",
    "shapes": "the shape of y along single columns",
    "surprises": "rows that lie too far out",
    "staged gains": "steps in single columns, one after the other",
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
    drawn = [pieces.figure(chart, f"all{i}") for i, chart in enumerate(drawn_first(check))]
    if not drawn:
        words = "Scores of the model are all that is known: nothing predicted can be drawn."
        drawn = [paragraph(words)]
    overall = _overall_tiles(check)
    if len(drawn) == 1 and overall:  # there is room beside it
        drawn = [*drawn, f"<div>{overall}</div>"]
        overall = ""
    pictures = f'<div class="pair">{"".join(drawn)}</div>'
    return section("What the model says, and what happened", "all", pictures, overall)


def _overall_tiles(check: Check) -> str:
    """Return all rows in numbers, and their outliers in words."""
    checked = check.checked
    of = "all rows"
    if not checked.all_rows:
        of = f"{checked.n:,} of {checked.whole:,} rows, taken at random"
    numbers = [finding for finding in check.overall if finding.kind != "wild"]
    outliers = [finding for finding in check.overall if finding.kind == "wild"]
    overall = pieces.tiles(f"Of {of}", numbers, len(check.y_columns) > 1)
    for finding in outliers:
        overall += paragraph(sentence(finding.words), "small")
    return overall


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
    return section("Where", "where", pieces.slices_table(check, "s", caption))


def effects(check: Check) -> str:
    """Return what the misfit consists of: a table, and pictures of the first effects."""
    if not check.effects:
        return ""
    rows = []
    for effect in check.effects:
        ends = effect_range(effect)
        rows.append(
            (
                effect.name,
                f"{100 * effect.share:.0f}%",
                ends.first,
                ends.last,
                gain_words(effect.gain),
                pvalue_number(effect.pvalue, effect.pvalue_floor),
            )
        )
    caption = (
        "Kinds of error and the columns that they depend on. Share: of what all corrections"
        " together gain in log score on rows held out."
    )
    if any(effect.given_before for effect in check.effects):
        caption += f" {CORRECTION_NOTE}."
    header = ["effect", "share", "from", "to", "gain", "p"]
    charts = [effect_chart(effect) for effect in check.effects[:DRAWN_EFFECTS]]
    # The message has the sentence of the first effect.
    charts[0] = replace(charts[0], title=check.effects[0].name)
    drawn = [pieces.figure(chart, f"effect{i}") for i, chart in enumerate(charts)]
    pictures = f'<div class="pair">{"".join(drawn)}</div>'
    return section("What is wrong", "effects", table(caption, header, rows), pictures)


def groups(check: Check) -> str:
    """Return all groups on one axis, and as a table."""
    parts = check.groups
    if not parts:
        return ""
    by = _by(check)
    what = "groups" if by else "slices"
    caption = f"{len(parts):,} {what}; intervals and p-values allow for their number."
    if len(parts) > pieces.MOST_ROWS:
        caption += (
            f" The {pieces.MOST_ROWS} most certain are listed, all are in the picture and"
            " in to_dict()."
        )
    drawn = ""
    chart = forest(parts) if len(parts) > FEW_GROUPS else None
    if chart is not None:
        drawn = f'<div class="pair">{pieces.figure(chart, "forest")}</div>'
    heading = f"By {shorten(by, 60)}" if by else "The slices you named"
    rows = pieces.slices_table(check, "g", caption)
    return section(heading, "groups", drawn, rows)


def _by(check: Check) -> str:
    """Return the column that groups are by; "" where slices were named in another way."""
    names: set[str] = set()
    for part in check.groups:
        names.update(one.column for one in part.conditions)
    return names.pop() if len(names) == 1 else ""


def columns(check: Check) -> str:
    """Return the panels of columns, some of them folded away."""
    charts = panels(check, MOST_PANELS)
    if not charts:
        return ""
    body = legend(charts[0].legend)  # of all panels
    drawn = [
        pieces.figure(replace(chart, legend=()), f"col{i}")
        for i, chart in enumerate(charts)
    ]
    body += f'<div class="panels">{"".join(drawn[:OPEN_PANELS])}</div>'
    rest = drawn[OPEN_PANELS:]
    if rest:
        summary = f"<summary>{len(rest)} more column{'s' * (len(rest) > 1)}</summary>"
        body += f'<details>{summary}<div class="panels">{"".join(rest)}</div></details>'
    left_out = len(check.checked.axes) - len(drawn)
    if left_out > 0 and len(drawn) == MOST_PANELS:
        rest_words = f"{left_out:,} more columns explain less and are not drawn"
        body += paragraph(f'{rest_words}: report.plot("column", column=…).', "small")
    return section("Column by column", "columns", body)


def to_try(check: Check) -> str:
    """Return the changes of the model that effects ask for, with what they gained."""
    items = "".join(
        f"<li><b>{html(advice.words)}</b> <span>({html(advice.gain)})</span></li>"
        for advice in advice_texts(check)
    )
    if not items:
        return ""
    page = "the page “What to try when a model does not fit” of condgof's documentation"
    words = f"Gains were measured on rows held out. How to do each of these: {page}."
    more = paragraph(words, "small")
    return section("What to try", "try", f'<ul class="try">{items}</ul>{more}')


def sure(check: Check) -> str:
    """Return how the verdict came about: each family, and the null distribution."""
    families = check.result.details.get("families", {})
    rows = [(FAMILIES.get(str(f), str(f)), pvalue_number(p)) for f, p in families.items()]
    body = paragraph(f"The misfit is {check.effect.words}.")
    if check.tolerance is not None and check.power.words not in check.words:
        body += paragraph(check.power.words)
    drawn = ""
    if rows:
        caption = "p-value of each part of the test; the verdict combines them"
        drawn += f"<div>{table(caption, ['looks at', 'p'], rows)}</div>"
    chart = null_picture(check.result)
    if chart is not None:
        drawn += pieces.figure(chart, "null")
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
    details = check.result.details
    by = _by(check)
    options = ""
    if by:
        options += f", by={by!r}"
    elif check.groups:
        options += ", slices=slices"
    if check.tolerance is not None:
        options += f", tolerance={check.tolerance.option!r}"
    if check.alpha != 0.05:
        options += f", alpha={check.alpha:g}"
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
            f"Names of columns and classes, and of at most {MOST_BINS} levels of a column,"
            f" of {FEWEST_ROWS} rows or more each; the levels and bounds that slices and"
            " groups name."
        ),
        "The ends of bins, of numbers above 100,000 with four digits.",
    ]
    if row_residuals(check.checked) is not None:
        held += [
            (
                "Points in pictures: y, or its residual, of single rows, and what it is"
                " drawn against."
            ),
            "Numbers of rows that lie far from the model, not what is in them.",
        ]
    outliers = [finding for finding in check.overall if finding.kind == "wild"]
    if any(finding.row_labels for finding in outliers):
        held.append(
            "The labels of at most five outlying rows in your index, and how far out these"
            " rows lie. With to_html(row_labels=False) it is their numbers."
        )
    elif outliers:
        held.append(
            "The numbers of at most five outlying rows, and how far out these rows lie."
        )
    held += [
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
    return bullets(held)


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


#: Most groups in the JSON of a page.
MOST_GROUPS = 200
#: Of more groups than this, the JSON has the leading findings alone.
MOST_WHOLE_GROUPS = 20
#: Longer lists are left out of the JSON.
LONGEST_LIST = 200
#: Fields of a result that have x of single rows.
SINGLE_ROWS = ("null_distribution", "locations", "strongest_location", "location_labels")


def check_page(
    check: Check,
    *,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page of a check; see `Check.to_html`."""
    given = pieces.given(check)
    rows = f"{check.result.n:,} rows"
    heading = given if title is None else title
    below = rows if title is None else f"{given} · {rows}"
    parts = (pieces.message, effects, to_try, overview, where, groups, columns)
    body = "".join(part(check) for part in parts) + folds(check, command, notes)
    tab = f"{headline(check)} · {heading}"
    return page(heading, below, tab, body, numbers(check))


def numbers(check: Check) -> Any:
    """Return the numbers of a check for machines: six digits, no long lists."""
    results = check.to_dict()
    result = results["result"]
    for place in (result, result["details"], results["details"]):
        for name, value in list(place.items()):
            if name in SINGLE_ROWS or (
                isinstance(value, list) and len(value) > LONGEST_LIST
            ):
                del place[name]
    if len(results["groups"]) > MOST_WHOLE_GROUPS:
        results["groups_left_out"] = max(len(results["groups"]) - MOST_GROUPS, 0)
        some = results["groups"][:MOST_GROUPS]
        results["groups"] = [{**group, "findings": group["findings"][:1]} for group in some]
    return json.loads(
        json.dumps(results), parse_float=lambda text: float(f"{float(text):.6g}")
    )


def page(heading: str, below: str, tab: str, body: str, machine: dict[str, Any]) -> str:
    """Put a body into a page, with style, script, the policy for just these, and JSON."""
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


class Compared(NamedTuple):
    """A difference of two models, over some rows."""

    name: str
    difference: float
    interval: c.Ends

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite([self.difference, *self.interval]).all())


def compared_chart(result: Comparison | Ranking) -> c.Chart | None:
    """Draw the difference over all rows and in slices; or of models to the first."""
    if isinstance(result, Ranking):
        parts = _ranked(result)
        title = f"how much worse than {result.names[0]}, by {result.name}"
        axis = "worse →"
    else:
        parts = _compared(result)
        first, second = result.names
        score = result.score
        title = f"{score.name} of {first} less that of {second} ({score.better} is better)"
        left, right = (second, first) if score.better == "higher" else (first, second)
        axis = f"← {left} better · {right} better →"
    shown = [part for part in parts if part.is_finite]
    if not shown:
        return None
    numbers = [[part.difference, *part.interval, 0.0] for part in shown]
    return intervals(
        axis=axis,
        names=[part.name for part in shown],
        numbers=np.array(numbers),
        wide=860,
        title=shorten(title, 120),
    )


def _ranked(result: Ranking) -> list[Compared]:
    """Return how much worse each model is than the first."""
    first = result.names[0]
    sign = -1.0 if result.better == "higher" else 1.0
    errors = {
        frozenset((pair.better, pair.worse)): pair.standard_error for pair in result.pairs
    }
    parts = []
    for name, mean in zip(result.names[1:], result.means[1:], strict=True):
        difference = sign * (mean - result.means[0])
        half = 1.96 * errors[frozenset((first, name))]
        parts.append(Compared(name, difference, (difference - half, difference + half)))
    return parts


def _compared(result: Comparison) -> list[Compared]:
    """Return the difference over all rows, and in each slice."""
    parts = [Compared(f"all {result.n:,} rows", result.difference, result.interval)]
    for part in result.slices:
        lead = part.findings[0]
        certain = pvalue_words(part.pvalue, part.pvalue_floor)
        name = f"{part.words} · {part.n:,} rows, {certain}"
        parts.append(Compared(name, lead.estimate, lead.interval))
    return parts


def plot_compared(result: Comparison | Ranking, ax: object = None) -> Any:
    """Draw a comparison with matplotlib; see `Comparison.plot`."""
    chart = compared_chart(result)
    if chart is None:
        raise InputError("The difference is infinite: there is nothing to draw.")
    return draw(chart, ax)


def compared_page(result: Comparison | Ranking, command: str | None = None) -> str:
    """Return the page of a comparison or a ranking."""
    chart = compared_chart(result)
    body = "" if chart is None else pieces.figure(chart, "difference")
    body += pieces.records_table("Means over all rows", result.records())
    heading = " and ".join(result.names)
    if isinstance(result, Ranking):
        heading = f"{len(result.names)} models"
        shown = ("better", "worse", "difference", "pvalue")
        pairs = [{name: getattr(pair, name) for name in shown} for pair in result.pairs]
        caption = "All pairs; p-values are corrected for their number"
        body += pieces.records_table(caption, pairs)
    body += bullets(result.details.get("notes", ()))
    if command:
        body += f"<p>To get this page again:</p>{pieces.code(command)}"
    words = paragraph(minus(result.words))
    whole = section("Which predicts better", "verdict", words, body)
    plain = result.to_dict()
    plain.pop("null_distribution", None)
    return page(heading, f"{result.n:,} rows", f"Comparison · {heading}", whole, plain)
