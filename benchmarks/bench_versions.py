"""This version beside 0.1, and for each kind of y beside 0.2."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from typing import NamedTuple

import condgof as cg
import samples
from measuring import (
    CLAIMS,
    MAX_ROWS,
    VERSION_01,
    VERSION_02,
    Beside,
    Task,
    TaskError,
    alternately,
    beside,
    capped,
    claim,
    seconds_of,
)
from samples import Sample

#: Rows of a sample that is tested before the clock starts, so that everything is loaded.
WARM_UP_ROWS = 300


# Beside version 0.1.

#: Rows → the least ratio of processor times, 0.1 / now, that is asked of `adaptive`.
ADAPTIVE_01 = {300: 0.5, 3000: 3, 10_000: 6, 30_000: 6, 100_000: 4, 1_000_000: 4}
#: Rows at which `check` is compared with `adaptive`.
CHECK_ROWS = (3000, 10_000, 30_000, 100_000)


def prepare_version(test: str, n: int) -> Callable[[], object]:
    """What versions have in common: a test of a model (mean, std)."""
    run = getattr(cg, test)
    warm_up = samples.normal_law(WARM_UP_ROWS)
    run(warm_up.model, warm_up.x, warm_up.y, rng=0)
    model, x, y, _ = samples.normal_law(capped(n))
    return lambda: run(model, x, y, rng=0)


def prepare_digits() -> Callable[[], object]:
    warm_up = samples.normal_law(WARM_UP_ROWS)
    cg.check(warm_up.model, warm_up.x, warm_up.y, rng=0)
    model, x, y, _ = samples.digits()
    return lambda: cg.check(model, x, y, rng=0)


TASKS_01 = {
    f"{test}-of-{n}": Task(partial(prepare_version, test, n), repeats=3 if n <= 3000 else 1)
    for test in ("adaptive", "check")
    for n in ADAPTIVE_01
}
TASKS_01["digits"] = Task(prepare_digits, repeats=1)


def bench_versions() -> None:
    """Processor time beside version 0.1, the two in turn, and of `check` by `adaptive`."""
    print(
        "\n### Beside version 0.1: processor seconds of both, three columns of x, (mean,"
        " std)\n"
    )
    print(CLAIMS)
    for n, least in ADAPTIVE_01.items():
        name = f"adaptive-of-{n}"
        rounds = 1 if n == 10**6 else 3
        old, now = alternately((name, VERSION_01), name, rounds=rounds)
        claim(
            f"adaptive, n = {n:,}: 0.1 / now",
            f"{old.processor:.3g}, {now.processor:.3g}",
            old.processor / now.processor,
            least=least,
        )
    for n in CHECK_ROWS:
        check, test = alternately(f"check-of-{n}", f"adaptive-of-{n}")
        claim(
            f"check / adaptive, n = {n:,}",
            f"{check.processor:.3g}, {test.processor:.3g}",
            check.processor / test.processor,
            most=1.5,
        )
    old, now = alternately(("digits", VERSION_01), "digits", rounds=1)
    claim("check, 900 × 64, 10 classes: seconds", seconds_of(old, now), now.seconds, most=5)


# Beside version 0.2.

#: Rounds in which each cell is measured under both versions; fewer for trying it out.
ROUNDS = int(os.environ.get("CONDGOF_BENCH_ROUNDS", 7))

ROWS_UP_TO_1E5 = (300, 3000, 30_000, 100_000)
ROWS_UP_TO_1E6 = (*ROWS_UP_TO_1E5, 1_000_000)


class Kind(NamedTuple):
    """A kind of y: how to draw n rows of it, and the numbers of rows that are measured."""

    draw: Callable[[int], Sample]
    rows: tuple[int, ...]


KINDS = {
    "normal": Kind(samples.normal_law, ROWS_UP_TO_1E6),
    "several": Kind(samples.several_columns, ROWS_UP_TO_1E6),
    "counts": Kind(samples.counts, ROWS_UP_TO_1E5),
    "classes": Kind(samples.classes, ROWS_UP_TO_1E5),
    "quantiles": Kind(samples.quantiles, ROWS_UP_TO_1E5),
    "intervals": Kind(samples.intervals, ROWS_UP_TO_1E5),
    "censored": Kind(samples.censored, ROWS_UP_TO_1E5),
    "draws": Kind(samples.draws, ROWS_UP_TO_1E5),
    "scores": Kind(samples.scores, ROWS_UP_TO_1E6),
}


def run_kcsd(sample: Sample) -> object:
    """Times that are censored are tested as if they were not: `kcsd` knows no events."""
    return cg.kcsd(sample.model, sample.x, sample.y, rng=0)


def run_adaptive(sample: Sample) -> object:
    return cg.adaptive(sample.model, sample.x, sample.y, event=sample.event, rng=0)


def run_check(sample: Sample) -> object:
    return cg.check(sample.model, sample.x, sample.y, event=sample.event, rng=0)


TESTS = {"kcsd": run_kcsd, "adaptive": run_adaptive, "check": run_check}


class Cell(NamedTuple):
    """A test of a kind of y at a number of rows."""

    test: str
    kind: str
    n: int

    @property
    def name(self) -> str:
        """What ``--only`` and ``--task`` call the cell."""
        return f"versions02/{self.test}/{self.kind}/{self.n}"

    def matches(self, pattern: str) -> bool:
        """Whether a pattern is the cell's name, or whole words at its beginning."""
        return fnmatch(self.name, pattern) or fnmatch(self.name, f"{pattern}/*")

    def prepare(self) -> Callable[[], object]:
        """Draw the sample, and return its test."""
        run = TESTS[self.test]
        draw = KINDS[self.kind].draw
        run(draw(WARM_UP_ROWS))
        sample = draw(self.n)
        return lambda: run(sample)

    @property
    def repeats(self) -> int:
        """How often a process repeats the test: short times are noisy."""
        if self.n <= 300:
            return 15
        if self.n <= 3000:
            return 5
        return 3 if self.n <= 30_000 else 1


def all_cells() -> list[Cell]:
    """Return all cells: by kind of y, then by test, then by rows."""
    cells = []
    for kind, (_, rows) in KINDS.items():
        for test in TESTS:
            cells += [Cell(test, kind, n) for n in rows]
    return cells


CELLS = all_cells()
TASKS_02 = {cell.name: Task(cell.prepare, repeats=cell.repeats) for cell in CELLS}


def bench_versions02(only: str = "versions02") -> None:
    """Processor time and peak memory beside version 0.2, for each kind of y.

    `only` is a cell's name, or the beginning of one, with * for anything:
    versions02/adaptive/counts or versions02/*/draws/300.
    """
    chosen = [cell for cell in CELLS if cell.n <= MAX_ROWS and cell.matches(only)]
    print(
        f"\n### Beside version 0.2: processor seconds and peak memory, now / 0.2, median of"
        f" {ROUNDS} rounds\n"
    )
    print("| test | y | n | seconds, now and 0.2 | ratio | MB, now and 0.2 | ratio |")
    print("|---|---|---|---|---|---|---|")
    measured: dict[Cell, Beside] = {}
    failed = []
    for cell in chosen:
        begin = f"| {cell.test} | {cell.kind} | {cell.n:,} |"
        try:
            pair = beside(cell.name, VERSION_02, ROUNDS)
        except TaskError as error:
            failed.append(cell)
            print(f"{begin} failed: {error} | | | |", flush=True)
            continue
        measured[cell] = pair
        seconds = f"{pair.now.processor:.3g}, {pair.earlier.processor:.3g}"
        memory = f"{pair.now.peak:.0f}, {pair.earlier.peak:.0f}"
        print(
            f"{begin} {seconds} | {pair.processor_ratio:.3f} | {memory}"
            f" | {pair.memory_ratio:.3f} |",
            flush=True,
        )
    print_worst(measured)
    if failed:
        names = ", ".join(cell.name for cell in failed)
        print(f"Failed: {names}.", file=sys.stderr)


def print_worst(measured: dict[Cell, Beside]) -> None:
    """Print the largest ratio of processor times and that of memory, with their cells."""
    if not measured:
        return
    slowest = max(measured, key=lambda cell: measured[cell].processor_ratio)
    largest = max(measured, key=lambda cell: measured[cell].memory_ratio)
    print(
        f"\nWorst ratio, now / 0.2: processor time"
        f" {measured[slowest].processor_ratio:.3f} ({slowest.name}), peak memory"
        f" {measured[largest].memory_ratio:.3f} ({largest.name}).",
        flush=True,
    )


TASKS = {**TASKS_01, **TASKS_02}
