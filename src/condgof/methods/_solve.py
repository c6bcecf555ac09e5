"""The tests of one pair of kernels: their sum, its null distribution, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, Radial, ResponseKernel
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._draw import MILDER, Ran, draw, milder, refuse_redraw
from condgof.methods._options import Options
from condgof.methods._rows import Scored, Stream
from condgof.null import Dependence, pvalue, settle_ties
from condgof.result import GofResult
from condgof.sample import Seed, Use
from condgof.stein import (
    CellEvidence,
    Features,
    Given,
    Nystrom,
    Plan,
    SteinEvidence,
    SteinOperator,
    sweep,
)

#: Relative residual that features reach unless asked otherwise, up to 50,000 rows and above.
PRECISION, PRECISION_ABOVE = 2e-4, 1e-3
#: Wider plans are turned to the directions that hold all but a share of the size of FᵀF and ξᵀξ.
WIDEST, TAIL = 8192, 1e-3
#: The largest numbers of landmarks in x and in y, up to 50,000 rows and above.
CAPS, CAPS_ABOVE = (400, 120), (250, 80)
#: A discrete y of few rows is summed exactly: a residual that is rounding, and as many landmarks as
#: rows.
EXACT, EXACT_ROWS = 1e-12, 2500
#: A sum that is as near as this to the exact one is called exact.
NEAR = 1e-6
#: A draw nearer to the statistic than this share of it is a tie.
TIE = 1e-11
#: Rows whose pairs tell what residual was reached.
PROBE = 400


@dataclass(frozen=True, eq=False)
class Solution:
    """The off-diagonal sum of the Stein matrix, draws of the statistic, and how they were made."""

    total: float
    draws: FloatArray
    solver: str
    null: str
    details: dict[str, Any] = field(default_factory=dict)

    def rank(self, n: int) -> float:
        """Return which share of the draws is at least as large as the statistic of n rows."""
        statistic = self.total / (n - 1)
        return float(np.mean(settle_ties(statistic, self.draws, TIE * abs(statistic)) >= statistic))


def solve(
    scored: Scored | Stream,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Solution:
    """Sum over the Stein matrix of a sample and draw from the null distribution."""
    exact = isinstance(scored, Scored) and options.chosen(scored.n) == "exact"
    if exact and isinstance(scored, Scored) and isinstance(kernel_y, Radial):
        if options.null == "model":
            refuse_redraw()
        keep = options.memory // 8  # of the budget, what tiles leave
        weights = options.rows.weights(options.null, scored.n, options.n_boot, seed, keep)
        operator = scored.operator(kernel_x, kernel_y)
        sums = sweep(operator, weights, engine=options.engine, memory=options.memory)
        return Solution(
            sums.total, weights.factor * sums.forms, "exact", options.rows.named(options.null)
        )
    plan, details = plan_of(scored, kernel_x, kernel_y, options, seed)
    found = _solution(draw(plan, scored, options, seed), scored.n, details)
    again = milder(options, scored, plan)
    if again is None:
        return found
    other = _solution(draw(plan, scored, again, seed), scored.n, details)
    return max(found, other, key=lambda one: one.rank(scored.n))


def _solution(ran: Ran, n: int, details: dict[str, Any]) -> Solution:
    draws = ran.drawn.draws[0] / (n - 1)
    solver = "exact" if details["precision"] <= NEAR else "lowrank"
    return Solution(float(ran.drawn.statistics[0]), draws, solver, ran.null, {**details, **ran.details})


def plan_of(
    scored: Scored | Stream,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> tuple[Plan, dict[str, Any]]:
    """Factor both kernels, each on its own, and return the plan with what a result says of it."""
    rows, n = scored.subsample, scored.n
    caps = CAPS if n <= 50_000 else CAPS_ABOVE
    precision = options.precision or (PRECISION if n <= 50_000 else PRECISION_ABOVE)
    single = n > 50_000
    small = isinstance(kernel_y, CellKernel) and n <= EXACT_ROWS and options.precision is None
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        if isinstance(kernel_x, FiniteLocations):
            maker: Any = Given(kernel_x.features, len(kernel_x.locations))
        else:
            rng = seed.stream(Use.LANDMARKS)
            target, cap = (EXACT, n) if small else (precision, caps[0])
            maker = Nystrom.on(kernel_x, rows.x, rng, precision=target, cap=cap, single=single)
        if isinstance(kernel_y, CellKernel):
            evidence: Any = CellEvidence((kernel_y,))
        else:
            rng = seed.stream(Use.LANDMARKS, 2)
            finer: Any = {"precision": precision / 10, "cap": caps[1], "single": single}
            evidence, _ = SteinEvidence.on((kernel_y,), rows.y, rows.scores, rng, **finer)
        plan = Plan(Features((maker,)), evidence)
        if plan.features.width * evidence.blocks[-1].columns.stop > WIDEST and not small:
            plan = _turned(plan, rows)
        reached = residual(plan, rows, kernel_x, kernel_y)
    details: dict[str, Any] = {
        "precision": reached,
        "landmarks": (plan.features.width, plan.evidence.blocks[-1].columns.stop),
    }
    if not small and reached > max(10 * precision, 5e-3):
        details["notes"] = (
            f"the kernels were seen through {plan.features.width} functions of x, to a residual "
            f"of {reached:.1g} (asked: {precision:g}): the level holds, power may be lost",
        )
    return plan, details


def _turned(plan: Plan, rows: Scored) -> Plan:
    """Turn both sides to their main directions on some rows, which signs of rows do not change."""
    (maker,), evidence = plan.features.makers, plan.evidence
    if isinstance(maker, Nystrom):
        maker = replace(maker, white=maker.white @ _main(plan.features.of(rows.x)))
    if isinstance(evidence, SteinEvidence):
        evidence = replace(evidence, turn=_main(evidence.of(rows.y, rows.scores)))
    return Plan(Features((maker,)), evidence, plan.panels)


def _main(values: FloatArray) -> FloatArray:
    squares, axes = np.linalg.eigh(values.T @ values)
    left = np.sqrt(np.cumsum(squares**2) / np.square(squares).sum())
    return np.ascontiguousarray(axes[:, left > TAIL][:, ::-1])


def residual(
    plan: Plan, rows: Scored, kernel_x: CovariateKernel | FiniteLocations, kernel_y: ResponseKernel
) -> float:
    """Estimate ‖H − (FFᵀ)∘(ξξᵀ)‖_F / ‖H‖_F off the diagonal, on some rows."""
    some = slice(0, min(rows.n, PROBE))
    x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
    features, xi = plan.features.of(x), plan.evidence.of(y, scores)
    h = xi @ xi.T
    near = (features @ features.T) * h
    if isinstance(kernel_y, CellKernel):
        exact = near if isinstance(kernel_x, FiniteLocations) else kernel_x(x, x) * h
    else:
        exact = SteinOperator.of(x, y, scores, kernel_x, kernel_y).block(slice(None), slice(None))
    for matrix in (near, exact):
        np.fill_diagonal(matrix, 0.0)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(near - exact)) / size if size else 0.0


def make_result(
    method: str,
    scored: Scored | Stream,
    solution: Solution,
    *,
    seed: Seed,
    kernel_x: CovariateKernel | None,
    kernel_y: ResponseKernel,
    locations: FloatArray | None = None,
    details: dict[str, Any] | None = None,
    share: float = 1.0,
    dependence: Dependence = INDEPENDENT,
) -> GofResult:
    """Put a result together."""
    n, rows = scored.n, scored.subsample
    statistic = share * solution.total / (n - 1)
    draws = settle_ties(statistic, share * solution.draws, TIE * abs(statistic))
    details = {**rows.details(), **dependence.details(), **(details or {}), **solution.details}
    if rows.score_error is not None:
        details["score_error"] = rows.score_error
    notes = (*rows.notes(), *dependence.notes, *solution.details.get("notes", ()))
    if solution.details.get("null") == "model" and not dependence.independent:
        notes += (MILDER,)
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method=method,
        n=n,
        null_distribution=draws,
        null=solution.null,
        kernel_x=None if kernel_x is None else kernel_x.shown(rows.sample.d_x),
        kernel_y=getattr(kernel_y, "shown", kernel_y),  # of a discrete y, what a reader knows it by
        solver=solution.solver,
        locations=locations,
        seed=seed.value,
        details={**details, **({"notes": notes} if notes else {})},
    )
