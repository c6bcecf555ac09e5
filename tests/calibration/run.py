"""Run the calibration cells, and make the page of their results.

    PYTHONPATH=tests:docs/_ext python -m calibration.run --only "AR|groups" --page page.md

A sample is seeded by the name of its cell and its number. A cell ends when the verdicts on
all of its claims are clear, or after its largest number of samples. Results are stored
after every batch, so that a run that was killed goes on where it was and ends with the same
result. A cell is run anew if its definition or the library has changed since.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

# One process a core is parallel enough. Before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from calibration.design import Design
from calibration.page import write_page
from calibration.results import (
    FOLDER,
    Result,
    code_version,
    read_result,
    write_result,
)
from calibration.table import all_designs
from condgof.errors import CondgofError

BATCH = 20  # samples between two writes of a result; results do not depend on it
MOST_ERRORS = 5  # a cell ends after so many samples that raised: something is broken


@dataclass
class Outcome:
    """What the procedures returned on one sample."""

    pvalues: dict[str, float] = field(default_factory=dict)  # by claim
    refused: list[str] = field(default_factory=list)  # claims
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_sample(design: Design, procedures: tuple[int, ...], number: int) -> Outcome:
    """Draw one sample, and run those procedures of a design that are still open."""
    start = time.process_time()
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in procedures:
            procedure = design.procedures[index]
            # Drawn again for each, so that none sees what another has done to the sample.
            data = design.draw(design.rng(number))
            try:
                outcome.pvalues.update(procedure.run(data, number))
            except CondgofError:
                outcome.refused.extend(procedure.claims)
            except Exception as error:  # a bug, which the page reports
                outcome.errors.append(f"sample {number}: {error!r}")
    outcome.seconds = time.process_time() - start
    return outcome


def add_outcome(design: Design, result: Result, outcome: Outcome) -> None:
    for one in result.claims(design):
        if one.claim in outcome.pvalues:
            one.count.add(one.limit, outcome.pvalues[one.claim])
    for claim in outcome.refused:
        result.refused[claim] = result.refused.get(claim, 0) + 1
    result.errors.extend(outcome.errors)
    result.samples += 1
    result.seconds += outcome.seconds


Map = Callable[[Callable[[int], Outcome], Iterable[int]], Iterable[Outcome]]


@contextmanager
def mapper(processes: int) -> Iterator[Map]:
    """Yield a `map` in this process, or over several."""
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes) as pool:
        yield pool.map


def current_result(design: Design, folder: Path) -> Result | None:
    """Return what is stored of a cell as it is defined now, of any version of the code."""
    result = read_result(design, folder)
    if result is None or result.definition != design.version:
        return None
    return result


def run_design(
    design: Design,
    *,
    version: str,
    folder: Path,
    code: str,
    run_all: Map,
    most: int,
    deadline: float,
) -> Result:
    """Go on with a cell until it is finished, or until the deadline."""
    result = read_result(design, folder)
    if result is None or (result.definition, result.code) != (version, code):
        result = Result(design=design.name, definition=version, code=code)
    last = min(most, design.most)
    while not result.is_finished(design) and result.samples < last:
        if time.monotonic() >= deadline or len(result.errors) >= MOST_ERRORS:
            break
        still_open = tuple(
            index
            for index, procedure in enumerate(design.procedures)
            if result.is_open(procedure)
        )
        numbers = range(result.samples, min(result.samples + BATCH, last))
        for outcome in run_all(partial(run_sample, design, still_open), numbers):
            if result.is_finished(design):
                break
            add_outcome(design, result, outcome)
        write_result(design, result, folder)
    return result


def run_designs(
    designs: list[Design], *, folder: Path, processes: int, most: int, minutes: float
) -> bool:
    """Run cells in their order; return whether any has failed."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60.0 * minutes
    # Of the sources as they are imported: they may be edited while cells run.
    code = code_version()
    versions = {design.name: design.version for design in designs}
    failed = False
    with mapper(processes) as run_all:
        for design in designs:
            start = time.monotonic()
            result = run_design(
                design,
                version=versions[design.name],
                folder=folder,
                code=code,
                run_all=run_all,
                most=most,
                deadline=deadline,
            )
            shown = ", ".join(
                f"{one.claim} {one.count.rejected}/{one.count.samples} at"
                f" {one.limit.alpha:g} {one.count.verdict}"
                for one in result.claims(design)
            )
            took = time.monotonic() - start
            print(f"{design.name} ({took:.0f} s): {shown}", flush=True)
            failed = failed or bool(result.failures(design)) or bool(result.errors)
            if time.monotonic() >= deadline:
                print("The time is over; the next run goes on from here.")
                break
    return failed


def parse_options(arguments: list[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="run only cells that this finds")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of results")
    parser.add_argument("--page", type=Path, help="write the page of all results here")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--samples", type=int, default=sys.maxsize, help="stop cells after so many"
    )
    parser.add_argument(
        "--budget-minutes", type=float, default=float("inf"), help="stop after this time"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run cells; the status is 1 if any has failed, and 2 if none has the name."""
    options = parse_options(arguments)
    designs = all_designs()
    wanted = [one for one in designs if re.search(options.only, one.name)]
    if not wanted:
        print(f"No cell is named like {options.only!r}. There are:")
        print("\n".join(one.name for one in designs))
        return 2
    failed = run_designs(
        wanted,
        folder=options.results,
        processes=options.processes,
        most=options.samples,
        minutes=options.budget_minutes,
    )
    if options.page:
        results = {one.name: current_result(one, options.results) for one in designs}
        write_page(designs, results, options.page)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
