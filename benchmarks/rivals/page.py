"""The page of `make rivals`: what condgof loses first, a figure each, and speed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import binomtest

from rivals import speed
from rivals.design import Cell, Problem, Procedure, Table, cells_of
from rivals.results import Result, read_result, version_of
from site_figures import COLOURS, Theme, picture_lines, save_figure

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "rivals.md"
PICTURES = "../images/measured"  # from the page
WIDTH = 6.6  # of figures, in inches: letters are large enough on a phone
LEGEND_COLUMNS = 2

ALPHA = 0.05
CERTAIN = 0.01  # paired tests between condgof and a rival are listed below this p-value
DASH = "–"


class Entry(NamedTuple):
    """What is kept of a test on a problem."""

    cell: Cell
    result: Result
    null: Result | None  # on samples without misfit, where the level is adjusted

    def power(self) -> float:
        return self.result.rejected(ALPHA) / len(self.result.values)

    def adjusted_level(self) -> float | None:
        """Return the level at which 5% of right models are rejected; None: 5% itself."""
        if self.null is None or not self.null.values:
            return None
        return float(np.quantile(self.null.values, ALPHA, method="inverted_cdf"))

    def decisions(self) -> np.ndarray:
        """Return which samples are rejected, at the adjusted level where there is one."""
        level = self.adjusted_level()
        return np.array(self.result.values) <= (ALPHA if level is None else level)


#: What is kept, by problem and test.
Entries: TypeAlias = Mapping[tuple[str, str], Entry]


def entries_of(table: Table, folder: Path) -> dict[tuple[str, str], Entry]:
    """Return what is kept of a table."""
    cells = cells_of(table)
    nulls = {(c.problem.name, c.test.name): c for c in cells if c.null}
    entries = {}
    for cell in cells:
        key = cell.problem.name, cell.test.name
        result = None if cell.null else read_result(cell, folder)
        if result is not None and result.values:
            null = nulls.get(key)
            entries[key] = Entry(cell, result, null and read_result(null, folder))
    return entries


def is_stale(entry: Entry) -> bool:
    """Whether the code of a cell, or the library, has changed since it ran."""
    current = entry.cell.definition, version_of(entry.cell)
    return (entry.result.definition, entry.result.code) != current


# The table of all cells

COLUMNS = (
    "table",
    "problem",
    "test",
    "samples",
    "rejected",
    "rejected at its own level",
    "published",
    "reported before a change",
    "found after it",
    "mean delay",
)


def csv_text(tables: Sequence[Table], folder: Path) -> str:
    """Return the table of all cells, and of what is published of tests that have none."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for table in tables:
        entries = entries_of(table, folder)
        for problem in table.problems:
            names = [test.name for test in table.tests]
            for test in (*names, *(n for n in problem.published if n not in names)):
                entry = entries.get((problem.name, test))
                published = problem.published.get(test, "")
                if entry is None and published == "":
                    continue
                row = {"table": table.name, "problem": problem.name, "test": test}
                writer.writerow({**row, "published": published, **numbers_of(entry)})
    return out.getvalue()


def numbers_of(entry: Entry | None) -> dict[str, object]:
    """Return the columns of a cell that are numbers of its samples."""
    if entry is None:
        return {}
    numbers: dict[str, object] = {"samples": len(entry.result.values)}
    if entry.cell.table.change_after:
        delay = delay_of(entry)
        numbers["reported before a change"] = delay.early
        numbers["found after it"] = delay.found
        numbers["mean delay"] = "" if delay.mean is None else f"{delay.mean:.1f}"
        return numbers
    numbers["rejected"] = f"{entry.power():.4f}"
    if entry.adjusted_level() is not None:
        numbers["rejected at its own level"] = f"{entry.decisions().mean():.4f}"
    return numbers


# Tables of delays


def delay_lines(table: Table, entries: dict[tuple[str, str], Entry]) -> list[str]:
    lines = [
        "| change | detector | streams | reported before | found after | mean delay |",
        "|---|---|---|---|---|---|",
    ]
    for problem in table.problems:
        for test in table.tests:
            entry = entries.get((problem.name, test.name))
            if entry is not None:
                lines.append(delay_line(problem, entry))
        lines.append(f"| {problem.name} | published: {problem.remark} | | | | |")
    return [*lines, ""]


class Delay(NamedTuple):
    """When a detector reports a change."""

    early: int  # streams with a report before the change
    found: int  # streams with a report after it
    mean: float | None  # rows between the change and the report; None without a report


def delay_of(entry: Entry) -> Delay:
    rows = np.array(entry.result.values)
    change = entry.cell.table.change_after
    late = rows[rows > change] - change
    mean = float(late.mean()) if len(late) else None
    return Delay(int(((rows >= 0) & (rows <= change)).sum()), len(late), mean)


def delay_line(problem: Problem, entry: Entry) -> str:
    delay = delay_of(entry)
    rows = DASH if delay.mean is None else f"{delay.mean:.0f} rows"
    return (
        f"| {problem.name} | {entry.cell.test.name} | {len(entry.result.values)}"
        f" | {delay.early} | {delay.found} | {rows} |"
    )


# What opens the page


def level_text(table: Table, entry: Entry) -> str | None:
    """Return a sentence on a test that does not keep its level on a right model."""
    rejected, samples = entry.result.rejected(ALPHA), len(entry.result.values)
    if binomtest(rejected, samples, ALPHA).pvalue > CERTAIN:
        return None
    test = entry.cell.test.name
    return (
        f"- {table.title}, {entry.cell.problem.name}:"
        f" {test} rejects {rejected} of {samples}."
    )


def loss_text(table: Table, ours: Entry, rival: Entry) -> str | None:
    """Return a sentence where a rival rejects more of the same samples, beyond chance."""
    shared = min(len(ours.result.values), len(rival.result.values))
    mine = ours.decisions()[:shared]
    theirs = rival.decisions()[:shared]
    only_theirs = int((theirs & ~mine).sum())
    discordant = int((theirs != mine).sum())
    if not discordant or 2 * only_theirs <= discordant:
        return None
    if binomtest(only_theirs, discordant).pvalue > CERTAIN:
        return None
    return (
        f"- {table.title}, {ours.cell.problem.name}: {rival.cell.test.name}"
        f" {theirs.mean():.2f}, {ours.cell.test.name} {mine.mean():.2f}."
    )


def shortfalls(table: Table, entries: dict[tuple[str, str], Entry]) -> list[str]:
    """Return what condgof loses in a table, and tests of right models off their level."""
    if table.change_after:
        return []
    lines = []
    for problem in table.problems:
        found = [entries.get((problem.name, test.name)) for test in table.tests]
        present = [one for one in found if one is not None]
        if problem.is_null:
            lines += [level_text(table, one) for one in present]
            continue
        ours = [one for one in present if one.cell.test.ours]
        if not ours:
            continue
        best = max(ours, key=lambda one: one.decisions().mean())
        rivals = [one for one in present if not one.cell.test.ours]
        lines += [loss_text(table, best, rival) for rival in rivals]
    return [line for line in lines if line]


def summary(tables: Sequence[Table], folder: Path) -> list[str]:
    entries = {table.name: entries_of(table, folder) for table in tables}
    losses = [line for table in tables for line in shortfalls(table, entries[table.name])]
    every = [entry for found in entries.values() for entry in found.values()]
    cells = sum(not c.null for table in tables for c in cells_of(table))
    seconds = sum(one.result.seconds for one in every)
    stale = sum(is_stale(one) for one in every)
    unfinished = sum(len(one.result.values) < one.cell.table.samples for one in every)
    return [
        "## What fails, and where rivals are ahead",
        "",
        "Tests that reject right models too often or too rarely, and problems on which a "
        "rival rejects more of the same samples than the best of condgof's tests in the "
        f"table (exact paired test, p ≤ {CERTAIN:g}; rivals without an exact level are "
        "taken at the level at which they reject 5% of right models).",
        "",
        *(losses or ["Nothing among the cells that have run."]),
        "",
        "## How it was run",
        "",
        f"`make rivals`: {len(every)} of {cells} cells have run, {unfinished} of them not "
        f"to their full number of samples; {seconds / 3600:.1f} hours of one core. "
        f"{stale} of them ran on an earlier version of the library or of the cell. "
        "All tests of a problem see the same samples. Rivals are written again from "
        "their formulas in `benchmarks/rivals/`; published figures are their authors'. "
        "All numbers, and those that were published: [rivals.csv](rivals.csv). Rates are "
        "at α = 0.05; the grey line is the level of a right model.",
        "",
    ]


# Figures


def draw_lines(table: Table, entries: Entries, figure: Any, theme: Theme) -> None:
    """Draw rejection rates along the axis of a table, a line a test."""
    panel = figure.subplots()
    points = [problem for problem in table.problems if problem.at is not None]
    for test, colour in coloured(table):
        drawn = [
            (problem.at, entries[problem.name, test.name].decisions().mean())
            for problem in points
            if (problem.name, test.name) in entries
        ]
        if drawn:
            at, rates = zip(*drawn, strict=True)
            style = {"lw": 2.4, "marker": "o"} if test.ours else {"ls": "--", "marker": "D"}
            panel.plot(at, rates, label=test.name, color=colour, ms=5, **style)
    own = {test.name for test in table.tests}
    for name in sorted({n for problem in points for n in problem.published} - own):
        known = [one for one in points if name in one.published]
        rates = [one.published[name] for one in known]
        at = [one.at for one in known]
        panel.plot(at, rates, "x:", label=f"{name}, published", color=theme.soft, ms=5)
    panel.axhline(ALPHA, color=theme.soft, lw=0.8)
    panel.set(xlabel=table.axis, ylabel="share rejected", ylim=(0, 1.02))
    figure.legend(loc="outside upper left", ncols=LEGEND_COLUMNS)


def draw_dots(table: Table, entries: Entries, figure: Any, theme: Theme) -> None:
    """Draw rejection rates of problems without an axis, one row a problem."""
    panel = figure.subplots()
    rows = drawn_problems(table, entries)
    for test, colour in coloured(table):
        drawn = [
            (place, entries[problem.name, test.name].decisions().mean())
            for place, problem in enumerate(rows)
            if (problem.name, test.name) in entries
        ]
        if drawn:
            places, rates = zip(*drawn, strict=True)
            style = {"s": 60} if test.ours else {"s": 40, "marker": "D"}
            panel.scatter(rates, places, label=test.name, color=colour, zorder=3, **style)
    panel.axvline(ALPHA, color=theme.soft, lw=0.8)
    panel.set(xlabel="share rejected", xlim=(-0.02, 1.02))
    panel.set_yticks(range(len(rows)), [problem.name for problem in rows])
    panel.invert_yaxis()
    panel.grid(axis="y", color=theme.band)
    figure.legend(loc="outside upper left", ncols=LEGEND_COLUMNS)


def coloured(table: Table) -> list[tuple[Procedure, str]]:
    """Return the tests of a table, those of condgof in front, and a colour each."""
    tests = sorted(table.tests, key=lambda test: not test.ours)
    return list(zip(tests, cycle(COLOURS), strict=False))


def drawn_problems(table: Table, entries: Entries) -> list[Problem]:
    """Return the problems with results."""
    known = {name for name, _ in entries}
    return [problem for problem in table.problems if problem.name in known]


def figure_lines(table: Table, entries: Entries, page: Path) -> list[str]:
    """Draw the rejection rates of a table; return the Markdown of the figure."""
    draw = draw_lines if table.axis else draw_dots
    height = 3.9 if table.axis else 1.4 + 0.32 * len(drawn_problems(table, entries))
    address = Path(PICTURES) / table.name
    save_figure(partial(draw, table, entries), page.parent / address, (WIDTH, height))
    alt = f"Share of samples that each test rejects: {table.title}"
    return picture_lines(address.as_posix(), alt)


# The page


def table_lines(table: Table, entries: Entries, page: Path) -> list[str]:
    lines = [f"## {table.title}", "", f"{table.about} From {table.source}.", ""]
    if table.change_after:
        lines += delay_lines(table, entries)
    else:
        lines += figure_lines(table, entries, page)
    return [*lines, table.remark, ""] if table.remark else lines


def write_page(
    tables: Sequence[Table],
    folder: Path,
    *,
    page: Path = PAGE,
    speed_results: Path = speed.RESULTS,
) -> None:
    """Write the page of what is kept, its figures, and the tables beside it."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.with_suffix(".csv").write_text(csv_text(tables, folder))
    found = {table.name: entries_of(table, folder) for table in tables}
    lines = [
        "# Power and speed",
        "",
        "Which test finds what, on problems of other tests' authors, and how long it takes."
        " What condgof loses comes first.",
        "",
        *summary(tables, folder),
    ]
    for table in tables:
        if found[table.name]:
            lines += table_lines(table, found[table.name], page)
    missing = [table for table in tables if not found[table.name]]
    if missing:
        lines += ["## Not run yet", ""]
        lines += [f"- {table.title}. {table.about}" for table in missing]
        lines.append("")
    lines += speed.page_lines(speed_results, page)
    page.write_text("\n".join(lines).rstrip() + "\n")
