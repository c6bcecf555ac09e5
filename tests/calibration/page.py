"""The page of calibration, made from stored results alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from calibration.design import Design
from calibration.results import NOT_RUN, REFUSED, UNFINISHED, ClaimCount, Result
from calibration.sequential import (
    CONSERVATIVE,
    FAILS,
    FAILS_ERROR,
    HOLDS,
    HOLDS_ERROR,
    LEVEL_01,
    LEVEL_05,
    OPEN,
    POWER_TOLERANCE,
    confidence_interval,
)
from calibration.table import SECTIONS

Results = Mapping[str, Result | None]

# The worst verdict of several first.
ORDER = (FAILS, OPEN, UNFINISHED, REFUSED, CONSERVATIVE, HOLDS)


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


def page(designs: list[Design], results: Results) -> str:
    """Return the page: what fails or is open, a summary, then tables."""
    rows: list[Row] = []
    missing: list[Design] = []
    for design in designs:
        result = results.get(design.name)
        if result is None:
            missing.append(design)
        else:
            rows.extend(rows_of(design, result))
    stored = [one for one in results.values() if one is not None]
    parts = [
        ["# Calibration", ""],
        findings_lines(rows, missing, stored),
        summary_lines(designs, rows, stored),
        method_lines(),
        *(section_lines(section, rows) for section in SECTIONS),
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
    unfinished = dict.fromkeys(row.design.name for row in rows if row.verdict == UNFINISHED)
    samples = {one.design: one.samples for one in stored}
    lines += names_lines(
        f"What is {UNFINISHED}",
        [f"{name} ({samples[name]} samples)" for name in unfinished],
    )
    lines += names_lines(f"What has {NOT_RUN}", [design.name for design in missing])
    return lines


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


def names_lines(title: str, names: list[str]) -> list[str]:
    """Return a section that lists names, [] where there are none."""
    if not names:
        return []
    count = "1 cell" if len(names) == 1 else f"{len(names)} cells"
    return [f"## {title}", "", f"{count}: {'; '.join(names)}.", ""]


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
        "## Summary",
        "",
        f"{len(stored)} of {len(designs)} cells have run: {samples:,} samples, {hours:.1f}"
        f" hours of one core. Verdicts on {len(rows)} claims: {shown or 'none'}.",
        "",
        f"Version of the code, a hash of the sources of `condgof`: {code or 'none'}.",
        "",
    ]


def method_lines() -> list[str]:
    return [
        "## How to read the tables",
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
