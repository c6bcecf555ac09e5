"""Results of cells: the p-values of all samples, in one small JSON file a problem."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kept import code_version
from rivals.design import Cell, Problem, Table

FOLDER = Path(__file__).parent.parent / "results" / "rivals"
DIGITS = 5  # of p-values that are kept


@dataclass
class Result:
    """What a test said of the samples of a problem."""

    definition: str  # version of the cell
    code: str  # version of the library; "" for a rival
    values: list[float] = field(default_factory=list)  # by sample
    seconds: float = 0.0  # of processor time

    def rejected(self, level: float = 0.05) -> int:
        return int((np.array(self.values) <= level).sum())


def version_of(cell: Cell) -> str:
    """Return the version of the library that a cell's result belongs to."""
    return code_version() if cell.test.ours else ""


def slug(name: str) -> str:
    """Return a name without what file systems do not like."""
    plain = unicodedata.normalize("NFKD", name.replace("×", "x").replace("|", "-"))
    return re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-")


def path_of(table: Table, problem: Problem, folder: Path) -> Path:
    return folder / table.name / f"{slug(problem.name)}.json"


def read_results(table: Table, problem: Problem, folder: Path) -> dict[str, Result]:
    """Return what is kept of a problem, by the name of the cell."""
    path = path_of(table, problem, folder)
    if not path.exists():
        return {}
    return {name: Result(**one) for name, one in json.loads(path.read_text()).items()}


def read_result(cell: Cell, folder: Path) -> Result | None:
    return read_results(cell.table, cell.problem, folder).get(cell.name)


def write_result(cell: Cell, result: Result, folder: Path) -> None:
    """Keep a result; a kill leaves the file before or the file after."""
    results = read_results(cell.table, cell.problem, folder)
    record = asdict(result)
    record["values"] = [round(value, DIGITS) for value in result.values]
    record["seconds"] = round(result.seconds, 1)
    records = {name: asdict(one) for name, one in results.items()} | {cell.name: record}
    path = path_of(cell.table, cell.problem, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text_of(records))
    unfinished.replace(path)


def text_of(records: dict[str, dict[str, object]]) -> str:
    """Return JSON with one line a cell."""
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(record)}"
        for name, record in records.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
