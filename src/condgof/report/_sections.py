"""The sections of a report below its message, in the order in which a reader needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from condgof.check._record import Check, Slice
from condgof.report._chart import Chart, Intervals
from condgof.report._escape import html, shorten, visible
from condgof.report._forest import forest
from condgof.report._html import bullets, folded, paragraph, table
from condgof.report._message import expected_of, name_of, range_of, value_of
from condgof.report._numbers import number
from condgof.report._panels import panel_keys, panels
from condgof.report._pen_svg import legend
from condgof.report._pictures import fit, null_picture, pit
from condgof.report._shares import classes, coverage, reliability, rootogram
from condgof.report._survival import survival, thirds
from condgof.report._where import MOST_ROWS, ROOM, code, figure, numbers_table, slices_table
from condgof.result import pvalue_number

#: Panels of columns that are open, and that there are at all; more findings than tiles are a table.
OPEN_PANELS, MOST_PANELS, MOST_TILES = 6, 18, 8
#: The first pictures of each kind of y.
PICTURES: dict[str, tuple[Callable[[Check], Chart | None], ...]] = {
    "classes": (reliability, classes),
    "censored": (survival, thirds),
    "counts": (fit, rootogram),
    "quantiles": (coverage, fit),
    "intervals": (coverage, fit),
}
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
    "No evidence is not proof that the model is right: the page says what could have been seen.",
)


def section(heading: str, key: str, *body: str) -> str:
    """Return a section with its heading."""
    head = f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{html(heading)}</h2>'
    return f"{head}{''.join(body)}</section>"


def overview(check: Check) -> str:
    """Return the first pictures that anyone draws, and all rows in numbers."""
    first = PICTURES.get(check.looked.kind, (fit, pit))
    charts = [chart for draw in first if (chart := draw(check)) is not None]
    drawn = [figure(chart, f"all{i}") for i, chart in enumerate(charts)]
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
    found = [f for f in check.overall if f.kind != "wild"]
    looked = check.looked
    robust = looked.kind in ("continuous", "several", "moments")
    of = "all rows" if looked.all_rows else f"{looked.n:,} of {looked.whole:,} rows, taken at random"
    if len(found) > MOST_TILES:
        return numbers_table(f"Of {of}", found, len(check.y_columns) > 1, robust)
    tiles = "".join(
        f"<li{' class=telling' if f.telling else ''}><span>{html(name_of(f, overall=robust))}</span>"
        f"<b>{value_of(f, f.estimate)}</b><small>{range_of(f)}</small>"
        f"<small>model {expected_of(f)}</small></li>"
        for f in found
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
        said = f"{left_out:,} more columns explain less and are not drawn"
        body += paragraph(f'{said}: report.plot("column", column=…).', "small")
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
    kind, found = check.looked.kind, []
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
            found.append((everywhere.format(value_of(finding, finding.estimate)), "all rows"))
        elif name in at:
            numbers = ", ".join(str(i) for i, _ in at[name])
            slices = f"slice{'s' * (len(at[name]) > 1)} {numbers}"
            found.append((there.format(_columns_of(part for _, part in at[name])), slices))
    return found


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
    looked = check.looked
    said = ["Names of columns, and of the levels that are drawn or that a slice names."]
    if looked.z is not None:
        said.append(
            "Points in pictures: y, or its residual, of single rows, and what it is drawn against."
        )
        said.append("Numbers of rows that lie far from the model, and how far, not what is in them.")
    said.append("Histograms, quantiles by bin, shares and means of all rows and of slices or groups.")
    said.append("Nothing else of the data; and the file sends nothing anywhere.")
    return bullets(said)


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
