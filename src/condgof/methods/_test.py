"""The common end of the tests: a solution becomes a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel, Radial
from condgof.methods._prepare import Scored
from condgof.methods._solve import Solution
from condgof.methods._stream import Stream
from condgof.null import pvalue
from condgof.result import GofResult
from condgof.sample import Seed


def make_result(
    method: str,
    scored: Scored | Stream,
    solution: Solution,
    *,
    seed: Seed,
    kernel_x: CovariateKernel | None,
    kernel_y: Radial,
    locations: FloatArray | None = None,
    details: dict[str, Any] | None = None,
    share: float = 1.0,
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
    """
    n = scored.n
    rows = scored.subsample
    statistic = share * solution.total / (n - 1)
    draws = share * solution.draws
    # A draw whose signs are all equal is the statistic itself, up to rounding: make it a tie, so
    # that the p-value of a tiny sample does not hang on the last bit.
    draws[np.isclose(draws, statistic, rtol=1e-11, atol=0.0)] = statistic
    details = {**rows.details(), **(details or {}), **solution.details}
    if rows.score_error is not None:
        details["score_error"] = rows.score_error
    notes = (*rows.notes(), *solution.details.get("notes", ()))
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method=method,
        n=n,
        null_distribution=draws,
        null=solution.null,
        kernel_x=None if kernel_x is None else kernel_x.shown(rows.sample.d_x),
        kernel_y=kernel_y,
        solver=solution.solver,
        locations=locations,
        seed=seed.value,
        details={**details, **({"notes": notes} if notes else {})},
    )
