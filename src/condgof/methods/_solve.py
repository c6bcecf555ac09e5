"""Choosing and running a solver: exact sums over tiles, or a low-rank factor that is linear in n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine, single_threaded_blas
from condgof.errors import InputError
from condgof.kernels import CovariateKernel, FiniteLocations, ResponseKernel
from condgof.methods._lazy import lay_out
from condgof.methods._prepare import Scored, Units, check_count
from condgof.methods._redraw import law_is_known, redraw
from condgof.methods._stream import SUBSAMPLE, Stream, check_source_call, in_memory
from condgof.models import as_model
from condgof.null import NULLS, bootstrap_weights, check_null, spectral_draws
from condgof.sample import Sample, Seed, Use
from condgof.stein import (
    Landmarks,
    SteinOperator,
    check_memory,
    choose_landmarks,
    forms,
    moments,
    sweep,
)

SOLVERS = ("auto", "exact", "lowrank")
#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10
#: Above this many rows the null of the low-rank solver comes from the spectrum.
SPECTRAL_ROWS = 100_000


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
    """

    solver: str
    null: str
    n_boot: int
    rank: int | None
    tolerance: float | None
    engine: Engine
    memory: int

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
        )

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
    model, x, y = lay_out(model, x, y)
    if not check_source_call(x, y, options.solver):
        return Scored.of(model, Sample.of(x, y, discrete=as_model(model).discrete), units)
    if options.chosen(x.n) == "exact":
        return in_memory(model, x, units)
    return Stream.of(model, x, seed, options.engine, units)


@dataclass(frozen=True, eq=False)
class Solution:
    """The off-diagonal sum of the Stein matrix, draws of the statistic, and how they were made."""

    total: float
    draws: FloatArray
    solver: str
    null: str
    details: dict[str, Any]


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
    n = scored.n
    if law_is_known(scored, options.null, options.chosen(n), options) and isinstance(scored, Scored):
        found = redraw(scored, kernel_x, kernel_y, options.null, options.n_boot, seed, options.engine)
        if found is not None:
            return Solution(found[0], found[1] / (n - 1), "exact", NULLS["model"], {"null": "model"})
    if isinstance(scored, Scored) and options.chosen(n) == "exact":
        keep = options.memory // 8  # of the budget, what tiles leave
        weights = bootstrap_weights(options.null, n, options.n_boot, seed, keep)
        operator = scored.operator(kernel_x, kernel_y)
        sums = sweep(operator, weights, engine=options.engine, memory=options.memory)
        draws = weights.factor * sums.forms
        return Solution(sums.total, draws, "exact", NULLS[options.null], {})
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
    null = "spectral" if options.null == "wild" and n > SPECTRAL_ROWS else options.null
    details["null"] = null
    if null == "spectral":
        found = moments(landmarks, scored.rows(), options.engine)
        draws = spectral_draws(found.eigenvalues, options.n_boot, seed)
        return Solution(found.total, draws, "lowrank", NULLS[null], details)
    last = n if isinstance(scored, Scored) else scored.source.n
    weights = bootstrap_weights(null, last, options.n_boot, seed)
    sums = forms(landmarks, scored.rows(), weights, options.engine)
    factor = weights.factor * (last - 1) / (n - 1)  # rows left out make the sample smaller
    return Solution(sums.total, factor * sums.forms, "lowrank", NULLS[null], details)


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
