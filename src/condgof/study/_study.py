"""What a study gives back: the outcome of each trial, and rejection rates."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.result import Shown, share_interval
from condgof.study._names import title_of

#: What a spreadsheet takes for the start of a formula, also as full-width characters.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


#: Digits of records: what is left of an exact interval after another version of SciPy
#: computed it.
RECORD_DIGITS = 6


class Cell(NamedTuple):
    """A problem at a sample size, and the test that it is given to."""

    problem: str
    n: int
    method: str


class Trial(NamedTuple):
    """The coordinates of a trial: a cell, and the number of the sample."""

    problem: str
    n: int
    method: str
    trial: int

    def __str__(self) -> str:
        return f"{self.problem}, n = {self.n}, {self.method}, trial {self.trial}"


@dataclass(frozen=True)
class Outcome:
    """What a trial gave: a p-value, or the error that it ended in."""

    at: Trial
    pvalue: float | None
    statistic: float | None
    seconds: float
    error: str | None = None
    #: Why there was no test: observations outside the model's support refute it.
    note: str | None = None


@dataclass(frozen=True)
class Topic:
    """A problem as a study's tables and figures name it."""

    name: str
    title: str
    h0: bool

    @property
    def heading(self) -> str:
        """Its title, with the hypothesis that holds."""
        return f"{self.title} ({'H0' if self.h0 else 'H1'})"


@dataclass(frozen=True)
class Row:
    """How often one test rejected one problem at one size."""

    problem: str
    n: int
    method: str
    #: Trials that gave a p-value.
    trials: int
    #: Trials whose p-value is at most alpha.
    rejections: int
    #: rejections / trials; None without trials.
    rate: float | None
    #: Lower end of the exact (Clopper–Pearson) 95% interval of the rate.
    low: float
    #: Upper end of that interval.
    high: float
    #: Trials that ended in an error; they count in nothing else.
    failed: int

    @classmethod
    def from_pvalues(cls, cell: Cell, pvalues: Sequence[float | None], alpha: float) -> Row:
        """Count the rejections among p-values; None stands for a trial that failed."""
        valid = [p for p in pvalues if p is not None]
        rejections = sum(p <= alpha for p in valid)
        interval = share_interval(rejections, len(valid))
        return cls(
            problem=cell.problem,
            n=cell.n,
            method=cell.method,
            trials=len(valid),
            rejections=rejections,
            rate=rejections / len(valid) if valid else None,
            low=float(interval.low),
            high=float(interval.high),
            failed=len(pvalues) - len(valid),
        )

    def __str__(self) -> str:
        if self.rate is None:
            return f"all {self.failed} failed" if self.failed else "–"
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.rate:.3f} ({self.low:.3f} to {self.high:.3f}{failed})"


@dataclass(frozen=True, eq=False, repr=False)
class Study(Shown):
    """Rejection rates of tests on problems, from `run_study`."""

    #: The problems.
    topics: tuple[Topic, ...]
    #: Sample sizes of each problem, by its name.
    sizes: Mapping[str, tuple[int, ...]]
    #: Names of the tests.
    methods: tuple[str, ...]
    #: Samples of each problem and size, which all tests see.
    trials: int
    #: A test rejects where its p-value is at most alpha.
    alpha: float
    #: Passing it as ``rng=`` gives this very study.
    seed: int
    #: The outcome of each trial.
    outcomes: Mapping[Trial, Outcome]

    def pvalues(self, problem: str, n: int, method: str) -> FloatArray:
        """Return the p-values of one cell, (trials,), by trial; NaN where one failed."""
        if method not in self.methods or n not in self.sizes.get(problem, ()):
            raise InputError(f"The study has no cell {problem!r}, n = {n}, {method!r}.")
        return np.array(self._pvalues(Cell(problem, n, method)), dtype=float)

    def table(self) -> tuple[Row, ...]:
        """Return one row a cell: rejections, their share and its exact 95% interval."""
        return tuple(
            Row.from_pvalues(cell, self._pvalues(cell), self.alpha) for cell in self.cells()
        )

    def cells(self) -> list[Cell]:
        """Return (problem, n, method) of all cells, in order."""
        sizes = {topic.name: self.sizes[topic.name] for topic in self.topics}
        return list_cells(sizes, self.methods)

    def failures(self) -> list[Outcome]:
        """Return the trials that ended in an error."""
        return [o for o in self.outcomes.values() if o.error is not None]

    def refuted(self) -> list[Outcome]:
        """Return the trials with observations outside the model's support.

        They count as rejections.
        """
        return [o for o in self.outcomes.values() if o.note is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the options and the table as plain objects, ready for JSON."""
        return {
            "alpha": self.alpha,
            "seed": self.seed,
            "trials": self.trials,
            "interval": "Clopper-Pearson, 95%",
            "problems": {t.name: {"title": t.title, "h0": t.h0} for t in self.topics},
            "table": self.records(),
        }

    def records(self) -> list[dict[str, Any]]:
        """Return the table as plain objects, one a cell; what `to_frame` is made of."""
        return [_record(row) for row in self.table()]

    def to_csv(self) -> str:
        """Return the table as CSV, one line a cell."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(Row.__dataclass_fields__)
        writer.writerows(map(csv_cell, record.values()) for record in self.records())
        return out.getvalue()

    def to_markdown(self) -> str:
        """Return the table as Markdown, one a problem."""
        rates = self._rates()
        tables = []
        for topic in self.topics:
            lines = [f"**{_markdown(topic.heading)}**", ""]
            sizes = self.sizes[topic.name]
            lines.append(_markdown_line(["test", *(f"n = {n}" for n in sizes)]))
            lines.append("|---" * (1 + len(sizes)) + "|")
            for method, texts in rates[topic.name].items():
                lines.append(_markdown_line([_markdown(title_of(method)), *texts]))
            tables.append("\n".join(lines))
        return "\n\n".join(tables)

    def write(self, folder: Path) -> None:
        """Write the table as table.txt, .csv, .json and .md."""
        files = {
            "table.txt": f"{self}\n",
            "table.csv": self.to_csv(),
            "table.json": json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n",
            "table.md": f"{self.to_markdown()}\n",
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")

    def _pvalues(self, cell: Cell) -> list[float | None]:
        """Return the p-values of a cell in the order of trials; None where one failed."""
        return [self.outcomes[Trial(*cell, i)].pvalue for i in range(self.trials)]

    def _rates(self) -> dict[str, dict[str, list[str]]]:
        """Return problem → method → its rate at each size, as text."""
        rates: dict[str, dict[str, list[str]]] = {}
        for row in self.table():
            rates.setdefault(row.problem, {}).setdefault(row.method, []).append(str(row))
        return rates

    def __repr__(self) -> str:
        counts = (
            f"{len(self.topics)} problems, {len(self.methods)} methods, {self.trials}"
            " trials"
        )
        return f"Study({counts}, seed={self.seed})"

    @property
    def words(self) -> str:
        """What the numbers of the table are."""
        rejects = f"the test rejects at alpha = {self.alpha:g} (exact 95% interval)"
        return f"Share of {self.trials} samples in which {rejects}"

    def __str__(self) -> str:
        rates = self._rates()
        blocks = [self.words]
        for topic in self.topics:
            table = [["", *(f"n = {n}" for n in self.sizes[topic.name])]]
            for method, texts in rates[topic.name].items():
                table.append([method, *texts])
            heading = f"{topic.name}: {topic.heading}"
            blocks.append("\n".join([heading, *_aligned(table)]))
        return "\n\n".join(blocks)


def list_cells(sizes: Mapping[str, Sequence[int]], methods: Iterable[str]) -> list[Cell]:
    """Return all cells: by problem, then by size, then by method."""
    names = list(methods)
    cells = []
    for problem, counts in sizes.items():
        for n in counts:
            cells += [Cell(problem, n, method) for method in names]
    return cells


def _record(row: Row) -> dict[str, Any]:
    """Return a row as plain objects, rounded."""
    record = asdict(row)
    for name, value in record.items():
        if isinstance(value, float):
            record[name] = round(value, RECORD_DIGITS)
    return record


def _aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table of texts with their columns aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]


def _markdown_line(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def csv_cell(value: object) -> object:
    """Put an apostrophe before what a spreadsheet would run as a formula."""
    formula = isinstance(value, str) and value.lstrip(" ").startswith(FORMULA_STARTS)
    return f"'{value}" if formula else value


def _markdown(text: str) -> str:
    """Escape the characters that Markdown would read."""
    return re.sub(r"([\\|*_`<[])", r"\\\1", text)
