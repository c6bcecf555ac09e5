"""What does not change a decision, folded away: how sure, how to run it again, words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condgof.check import Check, listed
from condgof.check.curves import FEWEST_ROWS, MOST_BINS
from condgof.report._figure import figure
from condgof.report._null import null_picture
from condgof.report._rows import PageRows
from condgof.report._subgroups import column_of_groups
from condgof.report._text import bullets, code, html, paragraph, table
from condgof.result import GofResult, number, pvalue_number

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
#: Words of the page.
GLOSSARY = {
    "avoidable loss": (
        "What correcting all effects would gain in log score, in nats a row, on rows that"
        " the corrections were not learned on. It does not grow with the number of rows."
    ),
    "bias": "How far y lies from the prediction, in predicted standard deviations (SD).",
    "coverage": "The share of rows that a predicted interval holds; 90% of a 90% interval.",
    "effect": (
        "One part of a misfit: a kind of error, and the columns that it depends on. Its"
        " share is its part of the avoidable loss."
    ),
    "effect size": (
        "The uniform bias, in predicted SD, that would be equally detectable. Unlike the"
        " p-value, it does not depend on sample size."
    ),
    "interval": (
        "95% confidence intervals. Those of subgroups and effects hold for all that were"
        " searched together."
    ),
    "minimum detectable effect": "The smallest misfit that is found with probability 0.8.",
    "model, data": (
        "Green is the model, grey the data. Orange: the data lie higher or spread more than"
        " predicted. Blue: lower, or less."
    ),
    "outliers": "Rows so far out that a right model has hardly any among as many rows.",
    "p-value": (
        "How often data of a right model would look as wrong as these. A small one says"
        " that something is off, not how much; a large one does not prove the model right."
    ),
    "PIT": (
        "The share of its distribution that the model puts below the observed y. Of a right"
        " model all values are equally frequent."
    ),
    "spread": "The width of the residuals over that predicted; 1× if the model is right.",
    "z": "The normal score of y under the model; N(0, 1) if the model is right.",
}


def sure(check: Check) -> str:
    """Return how the verdict came about: each family, and the null distribution."""
    body = paragraph(f"The misfit is {check.effect.words}.")
    if check.tolerance is not None and check.power.words not in check.words:
        body += paragraph(check.power.words)
    chart = null_picture(check.result)
    drawn = "" if chart is None else figure(chart, "null")
    return f'{body}<div class="two">{families_table(check.result)}{drawn}</div>'


def families_table(result: GofResult) -> str:
    """Return the p-value of each part of a test; "" where it has none."""
    families = result.details.get("families", {})
    rows = [(FAMILIES.get(str(f), str(f)), pvalue_number(p)) for f, p in families.items()]
    if not rows:
        return ""
    caption = "p-value of each part of the test; the verdict combines them"
    return f"<div>{table(caption, ['looks at', 'p'], rows)}</div>"


def run(check: Check, command: str | None) -> str:
    """Return notes of the test, the lines that give the page again, and what was run."""
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
        dict.fromkeys(
            note for note in result.details.get("notes", ()) if note not in check.notes
        )
    )
    again = "".join(code(text) for text in (command, python_lines(check)) if text)
    return f"{remarks}<p>To get this page again:</p>{again}<dl>{terms}</dl>"


def python_lines(check: Check) -> str:
    """Return the Python that gives a check again, given the model and the data."""
    details = check.result.details
    by = column_of_groups(check)
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


def holds(check: Check, page_rows: PageRows | None) -> str:
    """Say what of the data is in the file."""
    held = [
        (
            f"Names of columns and classes, and of at most {MOST_BINS} levels of a column,"
            f" of {FEWEST_ROWS} rows or more each; the levels and bounds that subgroups and"
            " groups name."
        ),
        "The ends of bins, of numbers above 100,000 with four digits.",
    ]
    if page_rows is not None and len(page_rows.rows):
        points = len(page_rows.shown.points)
        listed_rows = len(page_rows.shown.listed)
        named = "labels in your index" if _are_labelled(page_rows) else "numbers"
        held += [
            (
                f"Of {points:,} rows, all or a random sample, and of {listed_rows:,} rows"
                f" that lie far from the model: their {named}, y, what is predicted of it,"
                " and residuals, with four digits."
            ),
            (
                "Of the rows in the table also the columns of x that it shows, without"
                f" levels of fewer than {FEWEST_ROWS} rows. With to_html(rows=False) there"
                " are no single rows, with to_html(row_labels=False) no labels."
            ),
        ]
    outliers = [finding for finding in check.overall if finding.kind == "wild"]
    if any(finding.row_labels for finding in outliers):
        held.append("The labels of at most five outlying rows, and how far out they lie.")
    elif outliers:
        held.append("The numbers of at most five outlying rows, and how far out they lie.")
    held += [
        (
            "Histograms, quantiles by bin, shares and means of all rows and of subgroups or"
            " groups."
        ),
        (
            "The results of the check as JSON with six digits, in the element with the id"
            " numbers."
        ),
        "Nothing else of the data; and the file sends nothing anywhere.",
    ]
    return bullets(held)


def _are_labelled(page_rows: PageRows) -> bool:
    """Whether rows are called by labels of the user's index."""
    numbers = {f"{row:,}" for row in page_rows.rows}
    return not set(page_rows.labels) <= numbers


def glossary() -> str:
    """Return the words of the page, each with its meaning."""
    terms = "".join(
        f"<dt>{html(word)}</dt><dd>{html(meaning)}</dd>"
        for word, meaning in GLOSSARY.items()
    )
    return f"<dl>{terms}</dl>"


def folds(check: Check, command: str | None, page_rows: PageRows | None) -> str:
    """Return what does not change a decision; what was run is on paper too."""
    return folded(
        (
            ("How sure", "sure", sure(check)),
            ("How to run it again", "again", run(check, command)),
            ("What this file holds of your data", "holds", holds(check, page_rows)),
            ("Glossary", "glossary", glossary()),
        )
    )


def folded(parts: Sequence[tuple[str, str, str]]) -> str:
    """Return parts, each a heading, an id and a body, that open; "" without any."""
    if not parts:
        return ""
    inside = ""
    for name, key, body in parts:
        kind = ' class="printed"' if key == "again" else ""
        inside += (
            f'<details id="{key}"{kind}><summary><h2>{name}</h2></summary>{body}</details>'
        )
    return f'<div class="folds">{inside}</div>'


def _facts(value: object) -> str:
    if not isinstance(value, Mapping):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return ", ".join(f"{name} {_facts(one)}" for name, one in value.items()) or "–"
