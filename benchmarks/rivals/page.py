"""The page of `make rivals`: what condgof loses first, then a table and a figure each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from rivals.design import Cell, Problem, Table, cells_of
from rivals.results import Result, read_result, version_of

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "rivals.md"
PICTURES = Path(__file__).parents[2] / "docs" / "images" / "rivals"

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


def entries_of(table: Table, folder: Path) -> dict[tuple[str, str], Entry]:
    """Return what is kept of a table, by problem and test."""
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


# Tables of power


def power_text(entry: Entry | None, published: float | None) -> str:
    """Return 0.62 (adjusted 0.55; published 0.58)."""
    if entry is None:
        return DASH if published is None else f"{DASH} (published {published:g})"
    remarks = []
    if entry.null is not None and entry.null.values:
        remarks.append(f"at its level {entry.decisions().mean():.2f}")
    if published is not None:
        remarks.append(f"published {published:g}")
    return f"{entry.power():.2f}" + (f" ({'; '.join(remarks)})" if remarks else "")


def power_lines(table: Table, entries: dict[tuple[str, str], Entry]) -> list[str]:
    names = [test.name for test in table.tests]
    published = {name for problem in table.problems for name in problem.published}
    others = sorted(published - set(names))
    columns = [*names, *(f"{name}, published" for name in others)]
    lines = [
        f"| problem | samples | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 2)}",
    ]
    for problem in table.problems:
        found = [entries.get((problem.name, name)) for name in names]
        counts = sorted({len(one.result.values) for one in found if one is not None})
        texts = [
            power_text(one, problem.published.get(name))
            for one, name in zip(found, names, strict=True)
        ]
        texts += [f"{problem.published.get(name, DASH)}" for name in others]
        samples = (
            DASH if not counts else f"{counts[0]}" + f"–{counts[-1]}" * (len(counts) > 1)
        )
        lines.append(f"| {problem.name} | {samples} | {' | '.join(texts)} |")
    return [*lines, ""]


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


def delay_line(problem: Problem, entry: Entry) -> str:
    rows = np.array(entry.result.values)
    change = entry.cell.table.change_after
    early = (rows >= 0) & (rows <= change)
    late = rows[rows > change] - change
    delay = f"{late.mean():.0f} rows" if len(late) else DASH
    return (
        f"| {problem.name} | {entry.cell.test.name} | {len(rows)} | {early.sum()}"
        f" | {len(late)} | {delay} |"
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
        "Results: `benchmarks/results/rivals/`. Rates are at α = 0.05.",
        "",
    ]


# Figures


def figure(table: Table, entries: dict[tuple[str, str], Entry], folder: Path) -> str:
    """Draw the rejection rates of a table with an axis; return the Markdown of it."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    points = [problem for problem in table.problems if problem.at is not None]
    fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for test in table.tests:
        drawn = [
            (problem.at, entries[problem.name, test.name])
            for problem in points
            if (problem.name, test.name) in entries
        ]
        if drawn:
            rates = [entry.decisions().mean() for _, entry in drawn]
            style = {"linewidth": 2.2, "marker": "o"} if test.ours else {"linestyle": "--"}
            ax.plot([at for at, _ in drawn], rates, label=test.name, **style)
    ax.axhline(ALPHA, color="0.6", linewidth=0.8)
    ax.set(xlabel=table.axis, ylabel="rejected", ylim=(0, 1.02))
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return saved(fig, table, folder)


def bars(table: Table, entries: dict[tuple[str, str], Entry], folder: Path) -> str:
    """Draw the rejection rates of problems without an axis, one row a problem."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = [
        problem
        for problem in table.problems
        if any((problem.name, test.name) in entries for test in table.tests)
    ]
    height = 0.9 + 0.34 * len(rows)
    fig, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
    for test in table.tests:
        drawn = [
            (place, entries[problem.name, test.name].decisions().mean())
            for place, problem in enumerate(rows)
            if (problem.name, test.name) in entries
        ]
        if drawn:
            places, rates = zip(*drawn, strict=True)
            style = {"s": 46} if test.ours else {"s": 30, "marker": "D", "alpha": 0.75}
            ax.scatter(rates, places, label=test.name, **style)
    ax.axvline(ALPHA, color="0.6", linewidth=0.8)
    ax.set(xlabel="rejected", xlim=(-0.02, 1.02), yticks=range(len(rows)))
    ax.set_yticklabels([problem.name for problem in rows], fontsize=8)
    ax.invert_yaxis()
    ax.grid(axis="y", alpha=0.3)
    ax.legend(
        frameon=False,
        fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.12 / height * 6),
        ncols=2,
    )
    ax.spines[["top", "right"]].set_visible(False)
    return saved(fig, table, folder)


def saved(fig: object, table: Table, folder: Path) -> str:
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    fig.savefig(folder / f"{table.name}.png", dpi=150, metadata={"Software": None})
    plt.close(fig)
    alt = f"Rejection rates of each test on the problems of the table: {table.title}"
    return f"![{alt}](../images/rivals/{table.name}.png)"


# The page


def table_lines(table: Table, folder: Path, pictures: Path) -> list[str]:
    entries = entries_of(table, folder)
    lines = [f"## {table.title}", "", f"{table.about} From {table.source}.", ""]
    if not entries:
        return [*lines, "Not run.", ""]
    if table.change_after:
        lines += delay_lines(table, entries)
    else:
        lines += power_lines(table, entries)
        draw = figure if table.axis else bars
        lines += [draw(table, entries, pictures), ""]
    return [*lines, table.remark, ""] if table.remark else lines


def page(tables: Sequence[Table], folder: Path, pictures: Path) -> str:
    """Return the page of the results that are kept."""
    lines = [
        "# Beside its rivals",
        "",
        *summary(tables, folder),
    ]
    for table in tables:
        lines += table_lines(table, folder, pictures)
    return "\n".join(lines).rstrip() + "\n"


def write_page(tables: Sequence[Table], folder: Path) -> None:
    PAGE.write_text(page(tables, folder, PICTURES))
