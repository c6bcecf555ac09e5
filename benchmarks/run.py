"""Speed and memory as ratios in one run on one machine, kept by part.

    python benchmarks/run.py                                 # what is not kept yet
    python benchmarks/run.py --only exact                    # one part
    python benchmarks/run.py --only versions02/adaptive      # cells, printed and not kept
    python benchmarks/run.py --only 'versions02/*/counts/300'
    python benchmarks/run.py --page                          # RESULTS.md alone

Each part runs in a process of its own. What it prints and measures is kept in
``results/bench/<part>.json``, with the versions of the library and of the part, and
RESULTS.md is made from these files alone. After a kill the next run goes on with the first
part that is not kept. ``--again`` runs parts that are kept.

**To add a part**: write a function without arguments that prints a title (``### …``) and
Markdown tables, and name it in `PARTS`. Use `measuring.measure` and its like on tasks,
which go into the `TASKS` of its module, and `measuring.claim` for ratios that are asked
for: those that are not met open the page.

To try a part out: CONDGOF_BENCH_MAX_ROWS=300 caps all samples, CONDGOF_BENCH_ROUNDS=1 is
the number of rounds of versions02 (7 otherwise). Such results are printed and not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import bench_fscd
import bench_kcsd
import bench_kinds
import bench_programs
import bench_tests
import bench_versions
import kept
from measuring import print_measurement, recorded, run_task

#: Name → what ``--task`` measures in a process of its own.
TASKS = {
    **bench_kcsd.TASKS,
    **bench_fscd.TASKS,
    **bench_tests.TASKS,
    **bench_programs.TASKS,
    **bench_versions.TASKS,
    **bench_kinds.TASKS,
}

#: The part that has cells, which ``--only`` can pick.
CELLS_PART = "versions02"

#: Name → what prints a part, in the order in which they run.
PARTS: dict[str, Callable[[], None]] = {
    "versions": bench_versions.bench_versions,
    CELLS_PART: bench_versions.bench_versions02,
    "kinds": bench_kinds.bench_kinds,
    "separable": bench_kcsd.bench_separable,
    "exact": bench_kcsd.bench_exact,
    "optimize": bench_fscd.bench_optimize,
    "map": bench_fscd.bench_map,
    "taxi": bench_kcsd.bench_taxi_size,
    "scale": bench_kcsd.bench_scale,
    "torch-scores": bench_programs.bench_torch_scores,
    "import": bench_programs.bench_import,
    "adaptive": bench_tests.bench_adaptive,
    "check": bench_programs.bench_check,
    "monitor": bench_programs.bench_monitor,
    "dependence": bench_tests.bench_dependence,
    "compare": bench_tests.bench_compare,
    "discrete": bench_tests.bench_discrete,
    "power": bench_fscd.bench_power,
    "composite": bench_tests.bench_composite,
}


def chosen_parts(only: str) -> list[str]:
    """Return the part of that very name, else all whose names contain it."""
    return [only] if only in PARTS else [name for name in PARTS if only in name]


#: What is set in the environment when a part is only tried out.
TRIALS = ("CONDGOF_BENCH_MAX_ROWS", "CONDGOF_BENCH_ROUNDS")
#: The last line that a part prints in its process: its measurements as JSON.
MEASUREMENTS = "measurements: "


def run_part(name: str) -> None:
    """Run a part in this process; print what it prints, then its measurements."""
    PARTS[name]()
    print(f"{MEASUREMENTS}{json.dumps(recorded())}", flush=True)


def printed_by(name: str) -> str:
    """Run a part in a process of its own; show and return what it prints.

    Some parts compute in their own process and make it large, and the tasks that a large
    process starts would begin with its peak of memory (see `measuring.peak_memory`).
    """
    command = [sys.executable, __file__, "--part", name]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            lines.append(line)
            if not line.startswith(MEASUREMENTS):
                print(line, end="", flush=True)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return "".join(lines)


def keep_part(name: str, folder: Path, *, code: str, again: bool) -> None:
    """Run a part and keep its result, unless the result is kept already."""
    definition = kept.definition_of(PARTS[name])
    if not again and kept.is_current(kept.read_result(name, folder), definition, code):
        print(f"{name}: kept")
        return
    start = time.monotonic()
    printed, _, measurements = printed_by(name).partition(MEASUREMENTS)
    result = kept.PartResult(
        part=name,
        definition=definition,
        code=code,
        machine=kept.machine_kind(),
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(time.monotonic() - start, 1),
        printed=printed,
        measurements=json.loads(measurements),
    )
    kept.write_result(result, folder)


def keep_parts(names: list[str], folder: Path, page: Path, *, again: bool) -> int:
    """Run parts and make the page; return 0 if all of them ended well."""
    # Of the sources as they are now: they may be edited while parts run.
    code = kept.code_version()
    failed = []
    for name in names:
        try:
            keep_part(name, folder, code=code, again=again)
        except subprocess.CalledProcessError:
            failed.append(name)
        page.write_text(kept.page(list(PARTS), folder))
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        default="",
        help=f"one of {', '.join(PARTS)}, or some cells: {CELLS_PART}/test/y/n",
    )
    parser.add_argument("--again", action="store_true", help="run parts that are kept")
    parser.add_argument("--page", action="store_true", help="make RESULTS.md, run nothing")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print_measurement(run_task(TASKS[options.task]))
        return 0
    if options.part:
        run_part(options.part)
        return 0
    if options.only.startswith(f"{CELLS_PART}/"):
        bench_versions.bench_versions02(options.only)
        return 0
    if options.page:
        kept.PAGE.write_text(kept.page(list(PARTS)))
        return 0
    names = chosen_parts(options.only)
    if not names:
        return 2
    if any(name in os.environ for name in TRIALS):
        for name in names:
            printed_by(name)
        return 0
    return keep_parts(names, kept.FOLDER, kept.PAGE, again=options.again)


if __name__ == "__main__":
    sys.exit(main())
