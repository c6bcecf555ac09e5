"""The common end of the tests: a solution becomes a result."""

from __future__ import annotations

from typing import Any

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel, ResponseKernel
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._prepare import Scored
from condgof.methods._solve import MILDER, Solution
from condgof.methods._stream import Stream
from condgof.null import Dependence, pvalue, settle_ties
from condgof.result import GofResult
from condgof.sample import Seed


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
    """Put a result together.

    Parameters
    ----------
    method : str
        Name of the test.
    scored : Scored or Stream
        The sample that was tested.
    solution : Solution
        Sums over its Stein matrix, and draws.
    seed, kernel_x, kernel_y, locations, details
        For the result.
    share : float
        A constant factor of the matrix that the solution leaves out.
    dependence : Dependence
        How rows depend on each other.
    """
    n = scored.n
    rows = scored.subsample
    statistic = share * solution.total / (n - 1)
    draws = settle_ties(statistic, share * solution.draws, 1e-11 * abs(statistic))
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
