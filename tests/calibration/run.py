"""Run the calibration cells: resumable, on all cores, results as JSON lines and as a table.

    python tests/calibration/run.py --out .calibration --only level.lgm --table
    calibration.md

A trial is seeded by its own coordinates, so that stopping, going on and picking cells
change nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core is parallel enough

sys.path.insert(0, str(Path(__file__).parent))
from censoring import CENSORED_CHECKS
from circular import CIRCULAR_CHECKS
from counts import COUNT_CHECKS
from directions import DIRECTION_CHECKS
from effects import EFFECT_CHECKS
from evidence import EVIDENCE_CHECKS
from families import FAMILY_CHECKS
from findable import FINDABLE_CHECKS
from grouped import GROUP_CHECKS
from monitoring import MONITOR_CHECKS
from repairs import REPAIR_CHECKS
from shared_errors import SHARED_ERROR_CHECKS
from sizes import SIZE_CHECKS
from tuning import TUNING_CHECKS

from cells import Cell, all_cells
from checks import CHECKS
from composite_cells import COMPOSITE, COMPOSITE_CHECKS
from kinds import KIND_CHECKS
from report import cell_sections, page
from studies import CLAIMS


def finished(path: Path) -> dict[int, float]:
    """Read the trials of a cell; a last line torn by a kill is left out and done again."""
    done: dict[int, float] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
                done[int(row["trial"])] = float(row["pvalue"])
            except (ValueError, KeyError, TypeError):
                print(f"{path.name}: torn line left out: {line!r}")
    return done


def run_cell(cell: Cell, out: Path, pool: ProcessPoolExecutor) -> dict[int, float]:
    path = out / f"{cell.name}.jsonl"
    done = finished(path)
    missing = [trial for trial in range(cell.trials) if trial not in done]
    if missing:
        start = time.perf_counter()
        with path.open("a") as file:
            file.write("\n" if done else "")  # ends a torn line
            for trial, pvalue in zip(
                missing, pool.map(cell.pvalue, missing, chunksize=4), strict=True
            ):
                done[trial] = pvalue
                file.write(json.dumps({"trial": trial, "pvalue": pvalue}) + "\n")
                file.flush()
        seconds = time.perf_counter() - start
        rate = sum(p <= 0.05 for p in done.values()) / cell.trials
        print(
            f"{cell.name}: {rate:.3f} at 0.05, {len(missing)} trials in {seconds:.0f} s",
            flush=True,
        )
    return {trial: done[trial] for trial in range(cell.trials)}


def with_sections(text: str, sections: list[str]) -> str:
    """Put sections in the place of those of the same title, or before the last line."""
    for section in sections:
        title = section.splitlines()[0]
        parts = re.split(r"(?m)^(?=## )", text)
        places = [i for i, part in enumerate(parts) if part.startswith(title + "\n")]
        if places:
            rest = (
                parts[places[0]].rsplit("\n\n", 1)[1] if places[0] == len(parts) - 1 else ""
            )
            parts[places[0]] = section + "\n" + rest
        else:
            parts.insert(1, section + "\n")
        text = "".join(parts)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(".calibration"))
    parser.add_argument("--only", default="", help="run only what this expression finds")
    parser.add_argument(
        "--table", type=Path, help="write the table here (all cells must be run)"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    wanted = re.compile(options.only).search
    cells = [cell for cell in all_cells() if wanted(cell.name)]
    claims = {
        name: claim for name, claim in {**CLAIMS, **COMPOSITE}.items() if wanted(name)
    }
    every = {
        **CHECKS,
        **SIZE_CHECKS,
        **KIND_CHECKS,
        **EVIDENCE_CHECKS,
        **FAMILY_CHECKS,
        **DIRECTION_CHECKS,
        **EFFECT_CHECKS,
        **MONITOR_CHECKS,
        **COMPOSITE_CHECKS,
        **SHARED_ERROR_CHECKS,
        **CENSORED_CHECKS,
        **CIRCULAR_CHECKS,
        **COUNT_CHECKS,
        **REPAIR_CHECKS,
        **TUNING_CHECKS,
        **FINDABLE_CHECKS,
        **GROUP_CHECKS,
    }
    checks = {name: claim for name, claim in every.items() if wanted(name)}
    if not cells and not claims and not checks:
        print(f"nothing is named like {options.only!r}; there are:")
        print(
            "\n".join([*CLAIMS, *COMPOSITE, *every, *(cell.name for cell in all_cells())])
        )
        return 2
    results: dict[str, dict[int, float]] = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for cell in cells:
            results[cell.name] = run_cell(cell, options.out, pool)
    sections = []
    failures: list[str] = []
    for name, claim in claims.items():
        section, failed = claim.run(options.out / (claim.folder or name), options.processes)
        sections.append(section)
        failures += failed
    for name, check in checks.items():
        section, failed = check.run(options.out / name, options.processes)
        sections.append(section)
        failures += failed
    # Of cells that belong to one table all must be there.
    missing = {cell.kind for cell in all_cells() if cell.name not in results}
    some = [cell for cell in cells if cell.kind not in missing]
    sections += cell_sections(some, results, failures)
    text = page(sections, failures)
    print(text)
    if options.table and not options.only:
        options.table.write_text(text)
    elif options.table and sections:
        options.table.write_text(with_sections(options.table.read_text(), sections))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
