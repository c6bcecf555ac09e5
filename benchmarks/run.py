"""Speed and memory as ratios in one run on one machine; see RESULTS.md for what it printed.

    python benchmarks/run.py --only exact                    # one part
    python benchmarks/run.py --only versions02/adaptive      # some cells of that part
    python benchmarks/run.py --only 'versions02/*/counts/300'

To try a part out: CONDGOF_BENCH_MAX_ROWS=300 caps all samples, CONDGOF_BENCH_ROUNDS=1 is
the number of rounds of versions02 (7 otherwise).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import bench_fscd
import bench_kcsd
import bench_programs
import bench_tests
import bench_versions
from measuring import print_measurement, run_task

#: Name → what ``--task`` measures in a process of its own.
TASKS = {
    **bench_kcsd.TASKS,
    **bench_fscd.TASKS,
    **bench_tests.TASKS,
    **bench_programs.TASKS,
    **bench_versions.TASKS,
}

#: The part that has cells, which ``--only`` can pick.
CELLS_PART = "versions02"

#: Name → what prints a part, in the order in which they run.
PARTS: dict[str, Callable[[], None]] = {
    "versions": bench_versions.bench_versions,
    CELLS_PART: bench_versions.bench_versions02,
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


def run_parts(names: list[str]) -> int:
    """Run parts, each in a process of its own; return 0 if all of them ended well.

    Some parts compute in their own process and make it large, and the tasks that a large
    process starts would begin with its peak of memory (see `measuring.peak_memory`).
    """
    codes = []
    for name in names:
        command = [sys.executable, __file__, "--only", name]
        codes.append(subprocess.run(command).returncode)
    return max(codes)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        default="",
        help=f"one of {', '.join(PARTS)}, or some cells: {CELLS_PART}/test/y/n",
    )
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print_measurement(run_task(TASKS[options.task]))
        return 0
    if options.only.startswith(f"{CELLS_PART}/"):
        bench_versions.bench_versions02(options.only)
        return 0
    names = chosen_parts(options.only)
    if not names:
        return 2
    if len(names) > 1:
        return run_parts(names)
    PARTS[names[0]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
