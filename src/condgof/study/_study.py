"""What a study gives back: the outcome of each trial, and rejection rates with exact intervals."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.result import Shown, share_interval
from condgof.study._names import title_of

#: What a spreadsheet takes for the start of a formula, also in its wide form.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Trial(NamedTuple):
    """The coordinates of a trial."""

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
    #: What is special: observations outside the model's support, which refute it without a
    #: test.
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
    #: Trials that gave a p-value, and those of at most alpha.
    trials: int
    rejections: int
    #: Their share (None without trials) and its exact (Clopper–Pearson) 95% interval.
    rate: float | None
    low: float
    high: float
    #: Trials that ended in an error; they count in nothing else.
    failed: int

    @classmethod
    def of(
        cls, at: tuple[str, int, str], pvalues: Sequence[float | None], alpha: float
    ) -> Row:
        """Count the rejections among p-values; None stands for a trial that failed."""
        valid = [p for p in pvalues if p is not None]
        rejections = sum(p <= alpha for p in valid)
        low, high = (float(end) for end in share_interval(rejections, len(valid)))
        rate = rejections / len(valid) if valid else None
        return cls(*at, len(valid), rejections, rate, low, high, len(pvalues) - len(valid))

    def __str__(self) -> str:
        if self.rate is None:
            return f"all {self.failed} failed" if self.failed else "–"
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.rate:.3f} ({self.low:.3f} to {self.high:.3f}{failed})"


@dataclass(frozen=True, eq=False, repr=False)
class Study(Shown):
    """Rejection rates of tests on problems, from `run_study`."""

    #: The problems, the sample sizes of each, and the tests.
    topics: tuple[Topic, ...]
    sizes: Mapping[str, tuple[int, ...]]
    methods: tuple[str, ...]
    #: Samples of each problem and size, which all tests see; the level of rejections.
    trials: int
    alpha: float
    #: Passing it as ``rng=`` gives this very study.
    seed: int
    outcomes: Mapping[Trial, Outcome]

    def pvalues(self, problem: str, n: int, method: str) -> FloatArray:
        """Return the p-values of one cell, (trials,), in the order of trials; NaN where one failed."""
        if method not in self.methods or n not in self.sizes.get(problem, ()):
            raise InputError(f"The study has no cell {problem!r}, n = {n}, {method!r}.")
        return np.array([o.pvalue for o in self._cell(problem, n, method)], dtype=float)

    def table(self) -> tuple[Row, ...]:
        """Return one row a cell: rejections, their share and its exact 95% interval."""
        cells = ((cell, [o.pvalue for o in self._cell(*cell)]) for cell in self.cells())
        return tuple(Row.of(cell, pvalues, self.alpha) for cell, pvalues in cells)

    def cells(self) -> list[tuple[str, int, str]]:
        """Return (problem, n, method) of all cells, in order."""
        return [
            (t.name, n, m)
            for t in self.topics
            for n in self.sizes[t.name]
            for m in self.methods
        ]

    def failures(self) -> list[Outcome]:
        """Return the trials that ended in an error."""
        return [o for o in self.outcomes.values() if o.error is not None]

    def refuted(self) -> list[Outcome]:
        """Return the trials with observations outside the model's support: they count as rejections."""
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
        # Six digits: what is left of an exact interval after another version of SciPy
        # computed it.
        return [
            {
                name: round(v, 6) if isinstance(v, float) else v
                for name, v in asdict(row).items()
            }
            for row in self.table()
        ]

    def to_csv(self) -> str:
        """Return the table as CSV, one line a cell."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(Row.__dataclass_fields__)
        writer.writerows(map(csv_cell, record.values()) for record in self.records())
        return out.getvalue()

    def to_markdown(self) -> str:
        """Return the table as Markdown, one a problem."""
        blocks = []
        for topic, sizes, lines in self._blocks():
            head = (
                f"| test | {' | '.join(f'n = {n}' for n in sizes)}"
                f" |\n{'|---' * (1 + len(sizes))}|"
            )
            body = [
                f"| {_markdown(title_of(m))} | {' | '.join(cells)} |" for m, *cells in lines
            ]
            blocks.append("\n".join([f"**{_markdown(topic.heading)}**", "", head, *body]))
        return "\n\n".join(blocks)

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

    def _cell(self, problem: str, n: int, method: str) -> list[Outcome]:
        return [self.outcomes[Trial(problem, n, method, i)] for i in range(self.trials)]

    def _blocks(self) -> Iterator[tuple[Topic, tuple[int, ...], list[list[str]]]]:
        """Yield each problem with its sizes and lines: a method, and its rate at each size."""
        rates = {(row.problem, row.n, row.method): str(row) for row in self.table()}
        for topic in self.topics:
            sizes = self.sizes[topic.name]
            yield (
                topic,
                sizes,
                [[m, *(rates[topic.name, n, m] for n in sizes)] for m in self.methods],
            )

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
        blocks = [self.words]
        for topic, sizes, lines in self._blocks():
            listed = [["", *(f"n = {n}" for n in sizes)], *lines]
            widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
            texts = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in listed)
            blocks.append("\n".join([f"{topic.name}: {topic.heading}", *texts]))
        return "\n\n".join(blocks)


def csv_cell(value: object) -> object:
    """Keep a spreadsheet from running text: what looks like a formula gets an apostrophe in front."""
    formula = isinstance(value, str) and value.lstrip(" ").startswith(FORMULA)
    return f"'{value}" if formula else value


def _markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<[])", r"\\\1", text)
