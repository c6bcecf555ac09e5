"""Choosing and running a solver: exact sums over tiles, or a low-rank factor that is linear in n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine, as_engine, single_threaded_blas
from condgof.errors import InputError
from condgof.kernels import CovariateKernel, FiniteLocations, ResponseKernel
from condgof.laws import Law, ModelLike, as_model
from condgof.methods._dependence import INDEPENDENT, Asked, dependence_of
from condgof.methods._lazy import lay_out
from condgof.methods._prepare import Scored, Units, check_count
from condgof.methods._redraw import law_is_known, redraw
from condgof.methods._source_rows import rows_named
from condgof.methods._stream import SUBSAMPLE, Stream, check_source_call, in_memory, read_sample
from condgof.null import NULLS, Dependence, check_null, spectral_draws
from condgof.sample import Seed, Use
from condgof.stein import (
    Landmarks,
    SteinOperator,
    check_memory,
    choose_landmarks,
    forms,
    moments,
    sweep,
)


class Drawn(Protocol):
    """What a test found, with the null that ran."""

    @property
    def null(self) -> str:
        """As a result calls it."""
        ...


T = TypeVar("T", bound=Drawn)
SOLVERS = ("auto", "exact", "lowrank")
#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10
#: Above this many rows the null of the low-rank solver comes from the spectrum.
SPECTRAL_ROWS = 100_000
#: Said where rows depend on each other and the null is that of y drawn anew.
MILDER = (
    "of two p-values, by signs that groups or blocks share and by drawing y anew from the model, the "
    "larger one counts: here the latter"
)


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, checked.

    Parameters
    ----------
    solver, null : str
        As asked for.
    n_boot : int
        Number of draws.
    rank, tolerance : int or None, float or None
        Cap and target of the low-rank solver; None for rules in n.
    engine : Engine
        Where the work runs.
    memory : int
        Budget of the exact solver, in bytes.
    asked : Asked
        What was said of how rows depend on each other.
    rows : Dependence
        How they do; known once the sample is (`for_rows`).
    missing : str
        What to do about missing values.
    """

    solver: str
    null: str
    n_boot: int
    rank: int | None
    tolerance: float | None
    engine: Engine
    memory: int
    asked: Asked
    rows: Dependence = INDEPENDENT
    missing: str = "refuse"

    @classmethod
    def of(
        cls,
        *,
        solver: Any,
        null: Any,
        n_boot: Any,
        rank: Any = None,
        tolerance: Any = None,
        engine: Any = None,
        memory: Any = None,
        dependence: Any = None,
        groups: Any = None,
        missing: str = "refuse",
    ) -> Options:
        """Check what a user passed."""
        if not isinstance(solver, str) or solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}.")
        check_null(null, n_boot)
        if null == "spectral" and solver == "exact":
            raise InputError("null='spectral' needs solver='lowrank' (or 'auto').")
        if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
            raise InputError(f"tolerance must be between 0 and 1, got {tolerance!r}.")
        return cls(
            solver,
            null,
            int(n_boot),
            None if rank is None else check_count(rank, "rank"),
            tolerance,
            as_engine(engine),
            check_memory(memory),
            Asked.of(dependence, groups, null),
            missing=missing,
        )

    def for_rows(self, scored: Scored | Stream, data: Any) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        found = dependence_of(self.asked, scored, data, self.engine, self.n_boot)
        return replace(self, rows=found)

    def with_groups(self, groups: IntArray) -> Options:
        """Return the same for other rows, which come in these groups."""
        return replace(self, asked=replace(self.asked, groups=groups))

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        if self.null == "spectral" or self.rank is not None or self.tolerance is not None:
            return "lowrank"
        return "exact" if float(n) * n * self.n_boot <= EXACT_WORK else "lowrank"

    def rank_cap(self, n: int) -> int:
        """Return the largest rank: what a pass over many rows can afford is less."""
        return self.rank or (1000 if n <= 50_000 else 500)

    def target(self, n: int) -> float:
        """Return the relative residual to reach."""
        return self.tolerance or (2e-4 if n <= 5000 else 1e-3 if n <= 50_000 else 2e-3)


def prepare(model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed) -> Scored | Stream:
    """Check and score a sample: arrays or a small source in memory, a large one as a stream."""
    return prepare_with_model(model, x, y, units, options, seed)[1]


def prepare_with_model(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[Law, Scored] | tuple[ModelLike, Stream]:
    """Do the same, and return the law of rows in memory, or the model of a stream."""
    model, x, y = lay_out(model, x, y)
    model = as_model(model)
    if not check_source_call(x, y, options.solver, options.missing):
        law, sample = read_sample(model, x, y, options.missing)
        with rows_named(sample.kept if sample.left_out else None):
            return law, Scored.of(law, sample, units)
    if options.chosen(x.n) == "exact":
        return in_memory(model, x, units)
    stream = Stream.of(model, x, seed, options.engine, units)
    return stream.model, stream


@dataclass(frozen=True, eq=False)
class Solution:
    """The off-diagonal sum of the Stein matrix, draws of the statistic, and how they were made."""

    total: float
    draws: FloatArray
    solver: str
    null: str
    details: dict[str, Any]

    def rank(self, n: int) -> float:
        """Return which share of the draws is at least as large as the statistic of n rows."""
        return float(np.mean(self.draws >= self.total / (n - 1)))


def solve(
    scored: Scored | Stream,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Solution:
    """Sum over the Stein matrix of a sample and draw from the null distribution.

    Parameters
    ----------
    scored : Scored or Stream
        The sample with its scores, in memory or in files.
    kernel_x, kernel_y : CovariateKernel or FiniteLocations, ResponseKernel
        Kernels that are ready.
    options : Options
        How.
    seed : Seed
        The source of randomness.
    """

    def test(how: Options) -> Solution:
        return _solve(scored, kernel_x, kernel_y, how, seed)

    return larger_pvalue(test, options, scored, lambda found: found.rank(scored.n))


def larger_pvalue(
    test: Callable[[Options], T], options: Options, scored: Scored | Stream, pvalue: Callable[[T], float]
) -> T:
    """Run a test; for rows of a discrete y that depend on each other twice, and return the milder one.

    Signs of groups or blocks see no more than the residuals that are there, and those of a model that is
    nearly certain, and right, are tiny and point one way: alone they would reject it. Against drawing y
    anew, row by row, such residuals are what was to be expected; but that does not see the dependence.
    The larger of both p-values keeps its level where either does.
    """
    found = test(options)
    if options.rows.independent:
        return found
    alone = replace(options, rows=INDEPENDENT)
    if not law_is_known(scored, options.null, options.chosen(scored.n), INDEPENDENT):
        return found
    again = test(alone)
    # Where drawing anew was too much work, signs of single rows ran, which say nothing here.
    return max(found, again, key=pvalue) if again.null == NULLS["model"] else found


def _solve(
    scored: Scored | Stream,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Solution:
    n = scored.n
    if law_is_known(scored, options.null, options.chosen(n), options.rows) and isinstance(
        scored, Scored
    ):
        found = redraw(scored, kernel_x, kernel_y, options.null, options.n_boot, seed, options.engine)
        if found is not None:
            return Solution(found[0], found[1] / (n - 1), "exact", NULLS["model"], {"null": "model"})
    if isinstance(scored, Scored) and options.chosen(n) == "exact":
        keep = options.memory // 8  # of the budget, what tiles leave
        weights = options.rows.weights(options.null, n, options.n_boot, seed, keep)
        operator = scored.operator(kernel_x, kernel_y)
        sums = sweep(operator, weights, engine=options.engine, memory=options.memory)
        draws = weights.factor * sums.forms
        return Solution(sums.total, draws, "exact", options.rows.named(options.null), {})
    return _solve_lowrank(scored, kernel_x, kernel_y, options, seed)


def _solve_lowrank(
    scored: Scored | Stream,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Solution:
    n = scored.n
    rows = scored.subsample
    landmarks = find_landmarks(
        rows, kernel_x, kernel_y, seed, cap=options.rank_cap(n), tolerance=options.target(n)
    )
    details: dict[str, Any] = {"rank": landmarks.rank, "residual": landmarks.residual}
    if landmarks.capped:
        details["notes"] = (
            f"rank stopped at {landmarks.rank} with a relative residual of {landmarks.residual:.1g}: "
            "the level holds, some power may be lost (raise rank=)",
        )
    null = options.null
    if null == "wild" and n > SPECTRAL_ROWS and options.rows.independent:  # else the limit is another
        null = "spectral"
    details["null"] = null
    if null == "spectral":
        found = moments(landmarks, scored.rows(), options.engine)
        draws = spectral_draws(found.eigenvalues, options.n_boot, seed)
        return Solution(found.total, draws, "lowrank", NULLS[null], details)
    last = n if isinstance(scored, Scored) else scored.source.n
    weights = options.rows.weights(null, last, options.n_boot, seed)
    sums = forms(landmarks, scored.rows(), weights, options.engine)
    factor = weights.factor * (last - 1) / (n - 1)  # rows left out make the sample smaller
    return Solution(sums.total, factor * sums.forms, "lowrank", options.rows.named(null), details)


def find_landmarks(
    scored: Scored,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    seed: Seed,
    *,
    cap: int,
    tolerance: float,
) -> Landmarks:
    """Choose landmarks among at most `SUBSAMPLE` rows, drawn at random."""
    rng = seed.stream(Use.LANDMARKS)
    n = scored.sample.n
    rows = np.arange(n)
    if n > SUBSAMPLE:
        rows = np.sort(rng.choice(n, SUBSAMPLE, replace=False))
    x, y, scores = scored.x[rows], scored.y[rows], scored.scores[rows]
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        operator = SteinOperator.of(x, y, scores, kernel_x, kernel_y)
        return choose_landmarks(operator, rng, tolerance=tolerance, cap=cap)
