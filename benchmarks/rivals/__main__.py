"""Run rivals' problems with rivals' tests and condgof's, and make the page.

    export PYTHONPATH=benchmarks:docs/_ext
    python -m rivals --only ecmmd --minutes 30
    python -m rivals --who condgof   # after a change of the library
    python -m rivals --page          # the page alone: power, and speed from RESULTS.md

A sample is seeded by the names of its table and problem and by its number, so that all
tests see the same samples. Results are kept after every batch: a run that was killed goes
on where it was, and ends with the same results. A cell runs anew when the code of its
problem or of its test has changed; condgof's own cells also when the library has.

**To add a rival**: write its test as a function (sample, rng) → p-value, its problems as
functions rng → sample, and a table of both in `tables.py`.
"""

from __future__ import annotations

import argparse
import os
import sys

# One process a core is parallel enough. Before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from rivals.page import write_page
from rivals.results import FOLDER
from rivals.runner import WHO, run_tables
from rivals.tables import all_tables


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="tables whose names contain this")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--who", choices=WHO, default="all", help="whose cells")
    parser.add_argument("--page", action="store_true", help="make the page, run nothing")
    options = parser.parse_args()
    if not options.page:
        run_tables(
            [table for table in all_tables() if options.only in table.name],
            folder=FOLDER,
            processes=options.processes,
            minutes=options.minutes,
            who=options.who,
        )
    write_page(all_tables(), FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
