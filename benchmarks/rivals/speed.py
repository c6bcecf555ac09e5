"""Speed on the page of `make rivals`: a figure of the table in RESULTS.md, and its rows."""

from __future__ import annotations

import csv
import io
import re
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from site_figures import COLOURS, Theme, picture_lines, save_figure

RESULTS = Path(__file__).parents[1] / "RESULTS.md"
FIGURE = Path("../images/measured/speed")  # from the page, without theme and suffix
FIGURE_SIZE = (6.6, 4.0)  # inches
LEGEND_COLUMNS = 5
#: The head of the table, as `bench_versions02` prints it.
HEAD = "| test | y | n | seconds, now and 0.2 | ratio | MB, now and 0.2 | ratio |"
#: The section of RESULTS.md that lists ratios that are asked for and not met.
SHORTFALLS = "## Where it falls short"
TESTS = ("kcsd", "adaptive", "check")


class Timing(NamedTuple):
    """A test of a kind of y with n rows, beside version 0.2."""

    test: str
    kind: str
    n: int
    seconds: float  # of processor time
    seconds_before: float  # by version 0.2
    ratio: float  # of the seconds: the median over rounds
    megabytes: float  # peak memory of the process
    megabytes_before: float


def read_timings(text: str) -> list[Timing]:
    """Return the rows of the table in RESULTS.md; cells that failed are left out."""
    timings = []
    for line in text.partition(HEAD)[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        seconds = cells[3].split(", ")
        memory = cells[5].split(", ")
        if len(seconds) == len(memory) == 2:
            numbers = [float(one) for one in (*seconds, cells[4], *memory)]
            timings.append(
                Timing(cells[0], cells[1], int(cells[2].replace(",", "")), *numbers)
            )
    return timings


def csv_text(timings: list[Timing]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "test",
            "y",
            "n",
            "seconds",
            "seconds of 0.2",
            "ratio",
            "peak MB",
            "peak MB of 0.2",
        ]
    )
    writer.writerows(timings)
    return out.getvalue()


def draw_speed(timings: list[Timing], figure: Any, theme: Theme) -> None:
    """Draw seconds against rows, a panel a test and a line a kind of y."""
    panels = figure.subplots(1, len(TESTS), sharex=True, sharey=True)
    kinds = list(dict.fromkeys(one.kind for one in timings))
    styles = list(zip(kinds, cycle(COLOURS), strict=False))
    for panel, test in zip(panels, TESTS, strict=True):
        for i, (kind, colour) in enumerate(styles):
            own = sorted(
                (t.n, t.seconds) for t in timings if (t.test, t.kind) == (test, kind)
            )
            if own:
                rows, seconds = zip(*own, strict=True)
                # Colours are fewer than kinds of y.
                style = "-" if i < len(COLOURS) else ":"
                panel.plot(
                    rows, seconds, style, color=colour, marker="o", ms=3.5, label=kind
                )
        panel.set(xscale="log", yscale="log", xlabel="rows")
        panel.set_title(test)
        panel.grid(color=theme.band, lw=0.8)
    panels[0].set_ylabel("processor seconds")
    shown = panels[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside upper left", ncols=LEGEND_COLUMNS)


def page_lines(results: Path, page: Path) -> list[str]:
    """Return the section on speed, and write its figure and its table."""
    text = results.read_text()
    timings = read_timings(text)
    if not timings:
        return []
    page.with_name("speed.csv").write_text(csv_text(timings))
    save_figure(partial(draw_speed, timings), page.parent / FIGURE, FIGURE_SIZE)
    day = re.search(r"`make bench ONLY=versions02`, (\d{4}-\d\d-\d\d)", text)
    made = f", {day[1]}" if day else ""
    ratios = sorted(one.ratio for one in timings)
    median = ratios[len(ratios) // 2]
    return [
        "## Speed",
        "",
        *shortfall_lines(text),
        "Compare lines, not seconds: they are of one shared machine with two cores. Each"
        " test has its defaults. All models are right: `check` of a wrong one also searches"
        " for effects, which takes longer.",
        "",
        *picture_lines(
            FIGURE.as_posix(),
            "Processor seconds of kcsd, adaptive and check against the number of rows, a"
            " line a kind of y, on logarithmic axes",
        ),
        f"`make bench ONLY=versions02`{made}: medians, beside version 0.2. Ratios of time"
        f" are {ratios[0]:.2f} to {ratios[-1]:.2f}, the median {median:.2f}. All numbers,"
        " with memory: [speed.csv](speed.csv). Everything that was measured, with how:"
        " `benchmarks/RESULTS.md` in the repository.",
        "",
    ]


def shortfall_lines(text: str) -> list[str]:
    """Return what RESULTS.md says falls short."""
    lines = text.partition(SHORTFALLS)[2].partition("\n## ")[0].strip().splitlines()
    return [*lines, ""] if lines else []
