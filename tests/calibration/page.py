"""The page of levels, its figure and its table, made from stored results alone."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibration.design import Design
from calibration.results import REFUSED, UNFINISHED, ClaimCount, Count, Result
from calibration.sequential import (
    CONSERVATIVE,
    FAILS,
    FAILS_ERROR,
    HOLDS,
    HOLDS_ERROR,
    INTERVAL_ERROR,
    LEVEL_01,
    LEVEL_05,
    OPEN,
    POWER_TOLERANCE,
    UNIFORM,
    Limit,
    confidence_interval,
    log_evidence,
)
from calibration.table import EFFECTS_SECTION, POWER_SECTION, SECTIONS
from site_figures import Theme, picture_lines, save_figure

Results = Mapping[str, Result | None]

# The worst verdict of several first.
ORDER = (FAILS, OPEN, UNFINISHED, REFUSED, CONSERVATIVE, HOLDS)
# Sections whose tables are on the page; those of all others are in the CSV file.
SHOWN_SECTIONS = (EFFECTS_SECTION, POWER_SECTION)

FIGURE = Path("../images/measured/levels")  # from the page, without theme and suffix
FIGURE_SIZE = (6.6, 6.4)  # inches: letters are large enough on a phone
# What is drawn, and the highest rate on the axis: dots above it are drawn at the top.
LEVELS = ((LEVEL_05, 0.25), (LEVEL_01, 0.1))
COLOURS_OF_VERDICTS = {
    HOLDS: "#0a8a7e",
    CONSERVATIVE: "#3f8fd0",
    OPEN: "#8d98a1",
    FAILS: "#d1442f",
}
DOT_AREA = 14.0  # of one claim, in square points
NAMES_FROM = 85.0  # where the names of cells that fail begin, in samples


class Row(NamedTuple):
    """One claim of one cell, with its counts at each α."""

    design: Design
    claim: str
    counts: list[ClaimCount]
    refused: int  # samples that were refused
    verdict: str

    def cell(self, alpha: float) -> str:
        """Return rejections and samples at α, "" where nothing is asked at it."""
        for one in self.counts:
            if one.limit.alpha == alpha:
                return f"{one.count.rejected}/{one.count.samples}"
        return ""

    def text(self) -> str:
        """Return the claim with the counts that are not clear or fail, and intervals."""
        parts = []
        for one in self.counts:
            if one.count.verdict == HOLDS:
                continue
            low, high = confidence_interval(one.count.rejected, one.count.samples)
            parts.append(
                f"{one.count.rejected} of {one.count.samples} at {one.limit.alpha:g}"
                f" ({low:.3f} to {high:.3f})"
            )
        return f"`{self.claim}` {', '.join(parts)}"


def rows_of(design: Design, result: Result) -> list[Row]:
    """Return a row for each claim of a cell."""
    by_claim: dict[str, list[ClaimCount]] = {}
    for one in result.claims(design):
        by_claim.setdefault(one.claim, []).append(one)
    rows = []
    for claim, counts in by_claim.items():
        refused = result.refused.get(claim, 0)
        verdicts = {one.count.verdict for one in counts}
        if refused and all(one.count.samples == 0 for one in counts):
            verdicts = {REFUSED}
        elif OPEN in verdicts and not result.is_finished(design):
            verdicts = (verdicts - {OPEN}) | {UNFINISHED}
        verdict = next(one for one in ORDER if one in verdicts)
        rows.append(Row(design, claim, counts, refused, verdict))
    return rows


class Stored(NamedTuple):
    """What a page is made of."""

    rows: list[Row]
    missing: list[Design]  # without results
    stored: list[Result]


def stored_rows(designs: list[Design], results: Results) -> Stored:
    """Return a row for each claim that has run, and what has not."""
    rows: list[Row] = []
    missing: list[Design] = []
    for design in designs:
        result = results.get(design.name)
        if result is None:
            missing.append(design)
        else:
            rows.extend(rows_of(design, result))
    return Stored(rows, missing, [one for one in results.values() if one is not None])


def write_page(designs: list[Design], results: Results, path: Path) -> None:
    """Write the page, the table of all cells beside it, and the figure."""
    rows = stored_rows(designs, results).rows
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(designs, results))
    path.with_suffix(".csv").write_text(csv_text(rows))
    save_figure(partial(draw_levels, rows), path.parent / FIGURE, FIGURE_SIZE)


def page(designs: list[Design], results: Results) -> str:
    """Return the page: what fails or is open, a figure of all cells, and a summary."""
    rows, missing, stored = stored_rows(designs, results)
    parts = [
        [
            "# Levels",
            "",
            "How often is a right model rejected? What fails comes first.",
            "",
        ],
        findings_lines(rows, missing, stored),
        figure_lines(rows),
        sections_lines(rows),
        *(section_lines(section, rows) for section in SHOWN_SECTIONS),
        summary_lines(designs, rows, stored),
        method_lines(),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def findings_lines(
    rows: list[Row], missing: list[Design], stored: list[Result]
) -> list[str]:
    """Return lists of what fails, is open, is conservative, or has not run."""
    lines = []
    for verdict, title, nothing in (
        (FAILS, "What fails", "No cell fails."),
        (OPEN, "What is open", "No cell is open at its largest number of samples."),
        (CONSERVATIVE, "What rejects too rarely", ""),
    ):
        found = cell_lines([row for row in rows if row.verdict == verdict])
        if found or nothing:
            lines += [f"## {title}", "", *(found or [nothing]), ""]
    errors = [f"- {one.design}: {one.errors[0]}" for one in stored if one.errors]
    if errors:
        lines += ["## What raised an error", "", *errors, ""]
    unfinished = {row.design.name for row in rows if row.verdict == UNFINISHED}
    not_done = []
    if unfinished:
        not_done.append(f"{cells_text(len(unfinished))} stopped before all was clear")
    if missing:
        not_done.append(f"{cells_text(len(missing))} not run")
    if not_done:
        lines += [
            "## What is not done",
            "",
            f"{' and '.join(not_done)} with this version of the cells:"
            " [calibration.csv](calibration.csv) has what is known of them so far.",
            "",
        ]
    return lines


def cells_text(count: int) -> str:
    return "1 cell was" if count == 1 else f"{count} cells were"


def cell_lines(rows: list[Row]) -> list[str]:
    """Return one line a cell, with all of its claims, and its note if it fails."""
    by_cell: dict[str, list[Row]] = {}
    for row in rows:
        by_cell.setdefault(row.design.name, []).append(row)
    lines = []
    for name, own in by_cell.items():
        note = own[0].design.note if own[0].verdict == FAILS else ""
        texts = "; ".join(row.text() for row in own)
        lines.append(f"- {name}: {texts}. {note}".rstrip())
    return lines


def draw_levels(rows: list[Row], figure: Any, theme: Theme) -> None:
    """Draw the rate of each claim against its samples, and the band of a right one."""
    panels = figure.subplots(len(LEVELS), 1)
    for panel, (limit, top) in zip(panels, LEVELS, strict=True):
        claims = [
            (row, one)
            for row in rows
            for one in row.counts
            if one.limit.alpha == limit.alpha
            and one.limit.allowed == limit.allowed
            and one.count.samples
        ]
        draw_band(panel, limit, top, theme)
        for verdict, colour in COLOURS_OF_VERDICTS.items():
            counts = Counter(
                (one.count.samples, one.count.rejected)
                for _, one in claims
                if one.count.verdict == verdict
            )
            if not counts:
                continue
            at = np.array(list(counts), dtype=float)
            panel.scatter(
                at[:, 0],
                np.minimum(at[:, 1] / at[:, 0], top),
                s=DOT_AREA * np.array(list(counts.values())),
                color=colour,
                alpha=0.8,
                linewidths=0.0,
                label=verdict,
                clip_on=False,
                zorder=3,
            )
        # Where several cells fail, each has a name at a height of its own.
        failed = [(row, one) for row, one in claims if one.count.verdict == FAILS]
        failed.sort(key=lambda pair: pair[1].count.rejected / pair[1].count.samples)
        for place, (row, one) in enumerate(failed, start=1):
            rate = one.count.rejected / one.count.samples
            height = top * (1.0 - 0.07 * (len(failed) - place))
            cell = row.design.name.partition(",")[0]
            test = row.claim.partition(",")[0]
            panel.annotate(
                f"{cell}: {test} {rate:.2f}",
                (one.count.samples, min(rate, top)),
                (NAMES_FROM, height),
                arrowprops={"arrowstyle": "-", "color": theme.soft, "lw": 0.6},
                fontsize=8.5,
                va="center",
                in_layout=False,
            )
        panel.axhline(limit.alpha, color=theme.soft, lw=1.0)
        panel.set(xscale="log", xlim=(10, 1100), ylim=(0.0, top))
        panel.set_xticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1,000"])
        panel.set_xticks([], minor=True)
        panel.set_ylabel(f"share rejected at α = {limit.alpha:g}")
    panels[-1].set_xlabel("samples until the verdict was clear, or so far")
    handles, labels = panels[0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([3 * DOT_AREA])


def draw_band(panel: Any, limit: Limit, top: float, theme: Theme) -> None:
    """Shade the rates at which a level of exactly α is not excluded."""
    samples = np.unique(np.geomspace(10, 1100, 200).astype(int))
    ends = []
    for m in samples:
        evidence = np.array(
            [log_evidence(k, int(m), limit.alpha, UNIFORM) for k in range(m + 1)]
        )
        inside = np.flatnonzero(evidence < math.log(1.0 / INTERVAL_ERROR))
        ends.append((inside[0] / m, inside[-1] / m))
    low, high = np.array(ends).T
    panel.fill_between(
        samples, low, np.minimum(high, top), color=theme.band, lw=0, label="right level"
    )


def figure_lines(rows: list[Row]) -> list[str]:
    """Return the figure of all levels, and how to read it."""
    counted = sum(bool(one.count.samples) for row in rows for one in row.counts)
    if not counted:
        return []
    return [
        "## All levels at once",
        "",
        *picture_lines(
            FIGURE.as_posix(),
            "Share of right models rejected, one dot a claim, against the number of"
            " samples, with the band of a claim whose level is exactly α",
        ),
        "A dot is a claim of a cell, such as `check` of Poisson counts; a larger one is"
        " several claims with the same counts. In the band, a level of exactly α is not"
        " excluded: such a claim ever leaves it with probability at most"
        f" {INTERVAL_ERROR:g}, however long it runs. Below it a claim is conservative,"
        " above it the level may be missed. All numbers:"
        " [calibration.csv](calibration.csv).",
        "",
    ]


def sections_lines(rows: list[Row]) -> list[str]:
    """Return how many claims of each section have which verdict."""
    shown = [one for one in reversed(ORDER) if any(row.verdict == one for row in rows)]
    lines = [
        "## By kind of cell",
        "",
        f"| cells | claims | {' | '.join(shown)} |",
        f"|---|---|{'---|' * len(shown)}",
    ]
    for section in SECTIONS:
        verdicts = Counter(row.verdict for row in rows if row.design.section == section)
        if verdicts:
            counts = " | ".join(f"{verdicts[one] or ''}" for one in shown)
            lines.append(f"| {section} | {verdicts.total()} | {counts} |")
    return [*lines, ""]


def csv_text(rows: list[Row]) -> str:
    """Return the table of all claims: counts, intervals and verdicts at each α."""
    alphas = (LEVEL_05.alpha, LEVEL_01.alpha)
    ends = ("rejected", "samples", "low", "high")
    heads = [f"{end} at {alpha:g}" for alpha in alphas for end in ends]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["section", "cell", "function", *heads, "refused", "verdict"])
    for row in rows:
        cells: list[object] = []
        for alpha in alphas:
            found = [one.count for one in row.counts if one.limit.alpha == alpha]
            cells += count_cells(found[0]) if found else [""] * len(ends)
        name = (row.design.section, row.design.name, row.claim)
        writer.writerow([*name, *cells, row.refused, row.verdict])
    return out.getvalue()


def count_cells(count: Count) -> list[object]:
    low, high = confidence_interval(count.rejected, count.samples)
    return [count.rejected, count.samples, f"{low:.4f}", f"{high:.4f}"]


def summary_lines(
    designs: list[Design], rows: list[Row], stored: list[Result]
) -> list[str]:
    """Return numbers of claims by verdict, of samples, and the versions of the code."""
    samples = sum(one.samples for one in stored)
    hours = sum(one.seconds for one in stored) / 3600.0
    versions = Counter(one.code for one in stored).most_common()
    verdicts = Counter(row.verdict for row in rows)
    shown = ", ".join(f"{one} {verdicts[one]}" for one in ORDER if verdicts[one])
    code = "; ".join(f"`{version}` ({count} cells)" for version, count in versions)
    return [
        "## How it was measured",
        "",
        f"{len(stored)} of {len(designs)} cells have run: {samples:,} samples, {hours:.1f}"
        f" hours of one core. Verdicts on {len(rows)} claims: {shown or 'none'}.",
        "",
        f"Version of the code, a hash of the sources of `condgof`: {code or 'none'}.",
        "",
    ]


def method_lines() -> list[str]:
    return [
        "## How to read the numbers",
        "",
        "Made by `make calibrate` (`tests/calibration/`) from the results in"
        " `tests/calibration/results/`. A cell is a design whose samples all functions in"
        " its rows see. Counts are samples with a p-value of at most α = 0.05 and 0.01, or"
        " in which the report says what the row names.",
        "",
        "Each count goes on until its verdict is clear, by a confidence sequence that is"
        " exact at every number of samples (derived in `tests/calibration/sequential.py`).",
        "",
        f"- **{HOLDS}**: the rate is shown to be below {LEVEL_05.tolerance:g} at α = 0.05"
        f" and below {LEVEL_01.tolerance:g} at 0.01. The chance to say so of a rate that is"
        f" not is at most {HOLDS_ERROR:g}. A power is shown to be no more than"
        f" {POWER_TOLERANCE:g} below the one that is asked for.",
        f"- **{FAILS}**: the rate is shown to be above α, or the power below what is asked"
        f" for; the chance to say so of a rate that is not is at most {FAILS_ERROR:g}.",
        f"- **{CONSERVATIVE}**: the rate is shown to be below α, and not to be above"
        f" {LEVEL_05.floor:g}, where the documentation does not say so. Where it says so,"
        " the verdict is that it holds.",
        f"- **{OPEN}**: none of these is clear at the largest number of samples of a cell."
        " Intervals have level 0.95 at all numbers of samples at once.",
        f"- **{UNFINISHED}**: the run was stopped before.",
        f"- **{REFUSED}**: the library refuses such samples, and says why.",
        "",
    ]


def section_lines(section: str, rows: list[Row]) -> list[str]:
    """Return the table of one section, [] where none of its cells has run."""
    own = [row for row in rows if row.design.section == section]
    if not own:
        return []
    lines = [
        f"## {section}",
        "",
        "| cell | function | at 0.05 | at 0.01 | verdict |",
        "|---|---|---|---|---|",
    ]
    previous = None
    for row in own:
        name = "" if row.design is previous else row.design.name
        previous = row.design
        verdict = f"**{row.verdict}**" if row.verdict in (FAILS, OPEN) else row.verdict
        if row.refused:
            verdict += f" ({row.refused} samples refused)"
        lines.append(
            f"| {name} | {row.claim} | {row.cell(0.05)} | {row.cell(0.01)} | {verdict} |"
        )
    return [*lines, ""]
