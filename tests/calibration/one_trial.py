"""Run one trial of each calibration cell, or list where two such runs differ.

    python tests/calibration/one_trial.py before.json
    python tests/calibration/one_trial.py after.json --only level.lgm
    python tests/calibration/one_trial.py --compare before.json after.json

The first two write a JSON object from the name of a cell to the numbers of its first trial:
its p-value, or all numbers that the trial returns. They go on where they were stopped. The
sources are those on PYTHONPATH. To run another version, name its folder of cells as well::

    PYTHONPATH=old/src python tests/calibration/one_trial.py old.json \
        --folder old/tests/calibration

A trial is seeded by its own coordinates: a change of the library that should not change
any result leaves every number as it is, to the last digit. Cells whose trial takes longer
than a minute (`--seconds`) are written as null.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# One thread: sums of several threads may differ in the last digit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: The numbers of a trial by name, or its p-value; None if it took too long.
Numbers = dict[str, float] | float | None
#: The trial that is run.
FIRST = 0


class Cell(NamedTuple):
    """A calibration cell, whatever its table."""

    name: str
    first_trial: Callable[[], Numbers]


class TookTooLongError(BaseException):
    """No `Exception`: a study takes those for the outcome of a trial."""


def all_cells(folder: Path) -> Iterator[Cell]:
    """Yield the cells of all tables that ``run.py`` of a folder lists."""
    sys.path.insert(0, str(folder))
    run = importlib.import_module("run")
    sizes = importlib.import_module("sizes")
    # The true size of a misfit that varies with x takes 120 samples of 16,000 rows. The
    # estimate and the bounds of a trial do not depend on it.
    sizes.truth = lambda name: 0.0  # type: ignore[attr-defined]
    for cell in run.all_cells():
        yield Cell(cell.name, partial(cell.pvalue, FIRST))
    for table_name, table in vars(run).items():
        if not (table_name.isupper() and isinstance(table, dict)):
            continue
        for name, claim in table.items():
            if hasattr(claim, "cells"):
                yield from check_cells(name, claim)
            else:
                yield from study_cells(name, claim)


def check_cells(name: str, claim: Any) -> Iterator[Cell]:
    """Yield the cells of a `CheckClaim`: a trial is a function of its number."""
    for cell_name, (trial, _) in claim.cells.items():
        yield Cell(f"{name}: {cell_name}", partial(trial, FIRST))


def study_cells(name: str, claim: Any) -> Iterator[Cell]:
    """Yield the cells of a `Claim`: a problem, a size and a method of a study each."""
    for problem in claim.problems:
        problem_name = problem if isinstance(problem, str) else problem.name
        for n in claim.n[problem_name]:
            for method in claim.methods:
                yield Cell(
                    f"{name}: {problem_name}, n = {n}, {method}",
                    partial(study_trial, claim, problem, n, method),
                )


def study_trial(claim: Any, problem: Any, n: int, method: str) -> Numbers:
    """Return the p-value of the first trial of a study."""
    from condgof.study import run_study

    problem_name = problem if isinstance(problem, str) else problem.name
    methods = claim.methods
    chosen = {method: methods[method]} if isinstance(methods, dict) else [method]
    study = run_study([problem], chosen, {problem_name: (n,)}, trials=1, engine=1)
    if study.failures():  # such as of a test that takes one column of y alone
        return {"failed": 1.0}
    (pvalue,) = study.pvalues(problem_name, n, method)
    return float(pvalue)


def within(seconds: float, trial: Callable[[], Numbers]) -> Numbers:
    """Run a trial; return None if it takes longer."""

    def stop(*_: object) -> None:
        raise TookTooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return trial()
    except TookTooLongError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def run_cells(out: Path, folder: Path, only: str, seconds: float) -> None:
    """Run the cells that are not in the file yet, and write it after each."""
    numbers: dict[str, Numbers] = json.loads(out.read_text()) if out.exists() else {}
    wanted = re.compile(only).search
    for cell in all_cells(folder):
        if cell.name in numbers or not wanted(cell.name):
            continue
        start = time.perf_counter()
        numbers[cell.name] = within(seconds, cell.first_trial)
        took = time.perf_counter() - start
        print(f"{cell.name}: {took:.1f} s", flush=True)
        part = out.with_suffix(".part")
        part.write_text(json.dumps(numbers, indent=1) + "\n")
        part.replace(out)


def differences(first: Path, second: Path) -> list[str]:
    """Return a line for each cell whose numbers differ, or that one file lacks."""
    before = json.loads(first.read_text())
    after = json.loads(second.read_text())
    lines = []
    for name in before | after:
        if name not in before or name not in after:
            lines.append(f"{name}: only in {first if name in before else second}")
        elif before[name] is None or after[name] is None:
            lines.append(f"{name}: not compared, a trial took too long")
        elif json.dumps(before[name]) != json.dumps(after[name]):  # NaN is like NaN
            lines.append(f"{name}: {before[name]} and {after[name]}")
    return lines


def main() -> int:
    """Run cells, or compare two runs; the status is 1 where cells differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, nargs="?", help="the JSON file to write")
    parser.add_argument(
        "--compare", type=Path, nargs=2, metavar="JSON", help="list cells that differ"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(__file__).parent,
        help="where the cells are (this folder)",
    )
    parser.add_argument("--only", default="", help="run only what this expression finds")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="longest time of a trial (60)"
    )
    options = parser.parse_args()
    if options.compare:
        lines = differences(*options.compare)
        print("\n".join(lines) or "no cell differs")
        return 1 if lines else 0
    if options.out is None:
        parser.error("name the JSON file to write")
    run_cells(options.out, options.folder.resolve(), options.only, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
