"""What a study gives back."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.study import _table
from condgof.study._methods import TITLES
from condgof.study._table import csv_cell
from condgof.study._trial import Outcome, Trial


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


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Rejection rates of tests on problems, from `run_study`.

    Parameters
    ----------
    topics : tuple of Topic
        The problems.
    sizes : mapping of str to tuple of int
        Sample sizes of each problem.
    methods : tuple of str
        The tests.
    trials : int
        Samples of each problem and size; all tests see the same ones.
    alpha : float
        Level at which p-values count as rejections.
    seed : int
        The seed.
    outcomes : mapping of Trial to Outcome
        What each trial gave.
    """

    topics: tuple[Topic, ...]
    sizes: Mapping[str, tuple[int, ...]]
    methods: tuple[str, ...]
    trials: int
    alpha: float
    seed: int
    outcomes: Mapping[Trial, Outcome]

    def pvalues(self, problem: str, n: int, method: str) -> FloatArray:
        """Return the p-values of one cell, (trials,), in the order of trials; NaN where one failed."""
        if method not in self.methods or n not in self.sizes.get(problem, ()):
            raise InputError(f"The study has no cell {problem!r}, n = {n}, {method!r}.")
        found = [outcome.pvalue for outcome in self._cell(problem, n, method)]
        return np.array([np.nan if p is None else p for p in found])

    def table(self) -> tuple[_table.Row, ...]:
        """Return one row a cell: rejections, their share and its exact 95% interval."""
        return tuple(
            _table.make_row(*cell, [o.pvalue for o in self._cell(*cell)], self.alpha)
            for cell in self.cells()
        )

    def cells(self) -> list[tuple[str, int, str]]:
        """Return (problem, n, method) of all cells, in order."""
        return [(t.name, n, m) for t in self.topics for n in self.sizes[t.name] for m in self.methods]

    def failures(self) -> list[Outcome]:
        """Return the trials that ended in an error."""
        return [o for cell in self.cells() for o in self._cell(*cell) if o.error is not None]

    def refuted(self) -> list[Outcome]:
        """Return the trials with observations outside the model's support: they count as rejections."""
        return [o for cell in self.cells() for o in self._cell(*cell) if o.note is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the options and the table as plain objects, ready for JSON."""
        return {
            "alpha": self.alpha,
            "seed": self.seed,
            "trials": self.trials,
            "interval": "Clopper-Pearson, 95%",
            "problems": {t.name: {"title": t.title, "h0": t.h0} for t in self.topics},
            "table": _table.to_dicts(self.table()),
        }

    def to_csv(self) -> str:
        """Return the table as CSV, one line a cell."""
        return _table.to_csv(self.table())

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return _table.to_markdown(self.table(), {t.name: t.heading for t in self.topics}, TITLES)

    def times_csv(self) -> str:
        """Return the median seconds a trial took, as CSV; they differ from run to run."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["problem", "n", "method", "median_seconds"])
        for cell in self.cells():
            taken = [o.seconds for o in self._cell(*cell)]
            writer.writerow([*map(csv_cell, cell), f"{statistics.median(taken):.4g}"])
        return out.getvalue()

    def write(self, folder: Path) -> None:
        """Write the table as table.txt, .csv, .json and .md, and the times as times.csv."""
        files = {
            "table.txt": f"{self}\n",
            "table.csv": self.to_csv(),
            "table.json": json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n",
            "table.md": f"{self.to_markdown()}\n",
            "times.csv": self.times_csv(),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")

    def _cell(self, problem: str, n: int, method: str) -> list[Outcome]:
        return [self.outcomes[Trial(problem, n, method, i)] for i in range(self.trials)]

    def __repr__(self) -> str:
        return (
            f"Study({len(self.topics)} problems, {len(self.methods)} methods, {self.trials} trials, "
            f"seed={self.seed})"
        )

    def __str__(self) -> str:
        head = (
            f"Share of {self.trials} samples in which the test rejects at alpha = {self.alpha:g} "
            "(exact 95% interval)"
        )
        titles = {t.name: f"{t.name}: {t.heading}" for t in self.topics}
        return f"{head}\n\n{_table.to_text(self.table(), titles)}"
