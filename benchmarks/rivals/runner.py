"""Run cells batch by batch, and keep what they say."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rivals.design import Cell, Table, cells_of
from rivals.results import Result, read_result, version_of, write_result

WHO = ("all", "rivals", "condgof")
BATCH = 20  # samples between two writes of a result; results do not depend on it


def timed_value(cell: Cell, number: int) -> tuple[float, float]:
    """Return what a test says of one sample, and the processor seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = cell.value(number)
    return value, time.process_time() - start


def run_problem_cell(name: str, cell_index: int, number: int) -> tuple[float, float]:
    """Return `timed_value` in another process, which is sent names, not functions."""
    from rivals.tables import all_tables

    table = next(table for table in all_tables() if table.name == name)
    return timed_value(cells_of(table)[cell_index], number)


def current(cell: Cell, folder: Path) -> Result:
    """Return the kept result of a cell as it is defined now, or an empty one."""
    version = version_of(cell)
    kept = read_result(cell, folder)
    if kept is None or (kept.definition, kept.code) != (cell.definition, version):
        return Result(cell.definition, version)
    return kept


def run_cell(
    cell: Cell, index: int, *, folder: Path, pool: ProcessPoolExecutor | None, until: float
) -> bool:
    """Go on with a cell until it has all its samples; return False at the deadline."""
    result = current(cell, folder)
    wanted = cell.table.samples
    one = partial(run_problem_cell, cell.table.name, index)
    while len(result.values) < wanted:
        if time.monotonic() > until:
            return False
        done = len(result.values)
        numbers = range(done, min(done + BATCH, wanted))
        if pool is None:
            outcomes = [timed_value(cell, number) for number in numbers]
        else:
            outcomes = list(pool.map(one, numbers))
        result.values += [value for value, _ in outcomes]
        result.seconds += sum(seconds for _, seconds in outcomes)
        write_result(cell, result, folder)
    return True


def is_wanted(cell: Cell, who: str) -> bool:
    """Whether a cell is run: all, those of the library, or those of rivals."""
    return who == "all" or cell.test.ours == (who == "condgof")


def run_tables(
    tables: Sequence[Table], *, folder: Path, processes: int, minutes: float, who: str
) -> None:
    """Go on with all cells of tables until they are finished or the minutes are over."""
    until = time.monotonic() + 60 * minutes
    pool = ProcessPoolExecutor(processes) if processes > 1 else None
    for table in tables:
        for index, cell in enumerate(cells_of(table)):
            if not is_wanted(cell, who):
                continue
            if not run_cell(cell, index, folder=folder, pool=pool, until=until):
                print("The minutes are over; run again to go on.", file=sys.stderr)
                return
            print(f"{table.name}: {cell.name}", flush=True)
