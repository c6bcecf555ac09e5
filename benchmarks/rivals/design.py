"""What `make rivals` runs: tables of problems, and the tests that see their samples."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Rng = np.random.Generator
HASH_DIGITS = 12
HERE = Path(__file__).resolve().parent.parent


class Sample(NamedTuple):
    """A model and the rows that it is tested on."""

    law: Any  # predictive distribution of the rows
    x: Any  # (n, d_x) array, or a frame
    y: np.ndarray  # (n,) or (n, d_y)
    fitted: Any = None  # what textbook tests of the fitted model need

    def resampled(self, rng: Rng) -> Sample:
        """Return the sample with y drawn from the law: the same problem, and no misfit."""
        y = self.law.sample(rng)
        return self._replace(y=y if np.ndim(self.y) == 2 else y[:, 0])


Draw = Callable[[Rng], Sample]
Run = Callable[[Sample, Rng], float]


@dataclass(frozen=True)
class Procedure:
    """A test: sample → p-value (or a number of which small values reject)."""

    name: str
    run: Run
    ours: bool = False  # then its results belong to a version of the library
    #: The level is not exact: its power is also given at the quantile of its own numbers
    #: on samples whose y is drawn from the law.
    adjusted: bool = False


@dataclass(frozen=True)
class Problem:
    """One row of a table, or one point of its figure."""

    name: str
    draw: Draw
    at: float | None = None  # where the point stands along the axis of the figure
    is_null: bool = False  # the model is right: rejections should be 5%
    published: Mapping[str, float] = field(default_factory=dict)  # test → power
    remark: str = ""  # what is published where it is no power


@dataclass(frozen=True)
class Table:
    """A rival's experiment: problems, and tests of each."""

    name: str  # of the folder of its results
    title: str
    source: str  # where the problem, and what is published, comes from
    about: str  # the problem by its formula
    problems: tuple[Problem, ...]
    tests: tuple[Procedure, ...]
    samples: int
    axis: str = ""  # label of the axis of the figure
    remark: str = ""  # what a reader must know before comparing
    #: Rows before a change: results are rows until a report then, not p-values.
    change_after: int = 0


class Cell(NamedTuple):
    """A test of the samples of a problem; `null` where y is drawn from the law."""

    table: Table
    problem: Problem
    test: Procedure
    null: bool

    @property
    def name(self) -> str:
        return f"{self.problem.name} | {self.test.name}{' | right model' * self.null}"

    @property
    def definition(self) -> str:
        """Version of the cell: changes with the code of its problem and of its test."""
        parts = [self.name, source_of(self.problem.draw), source_of(self.test.run)]
        return hash_of("\n".join(parts))

    def rng(self, number: int, purpose: str) -> Rng:
        """Return the generator of a sample: the same sample for all tests of a problem."""
        name = f"{self.table.name} {self.problem.name} {purpose}"
        seed = hashlib.sha256(name.encode()).digest()[:8]
        return np.random.default_rng([number, int.from_bytes(seed)])

    def value(self, number: int) -> float:
        """Return what the test says of sample `number`."""
        sample = self.problem.draw(self.rng(number, "sample"))
        if self.null:
            sample = sample.resampled(self.rng(number, "right model"))
        return float(self.test.run(sample, self.rng(number, self.test.name)))


def cells_of(table: Table) -> list[Cell]:
    """Return all cells of a table, those with the level of a test last."""
    pairs = [(problem, test) for problem in table.problems for test in table.tests]
    cells = [Cell(table, problem, test, null=False) for problem, test in pairs]
    nulls = [
        Cell(table, problem, test, null=True)
        for problem, test in pairs
        if test.adjusted and not problem.is_null
    ]
    return cells + nulls


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function and of all that it calls in the benchmarks.

    The arguments that a `partial` has fixed belong to it.
    """
    fixed: list[str] = []
    pending = [function]
    sources: dict[str, str] = {}
    while pending:
        one = pending.pop()
        if isinstance(one, partial):
            arguments = [*one.args, *(value for _, value in sorted(one.keywords.items()))]
            fixed += [repr(value) for value in arguments if not callable(value)]
            pending += [one.func, *(value for value in arguments if callable(value))]
        elif is_ours(one) and (source := inspect.getsource(one)) not in sources:
            sources[source] = one.__qualname__
            if code := getattr(one, "__code__", None):
                named = [one.__globals__.get(name) for name in code.co_names]
                pending += [other for other in named if callable(other)]
    return "\n".join([*sorted(sources), *fixed])


def is_ours(function: Any) -> bool:
    """Whether a function or a class is defined in these benchmarks."""
    try:
        return HERE in Path(inspect.getsourcefile(function) or "").resolve().parents
    except TypeError:  # of something that is built in
        return False


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
