"""The common end of the Stein tests: sums over the matrix become a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condgof.kernels import CovariateKernel, FiniteLocations, Radial
from condgof.methods._prepare import Scored
from condgof.null import RowWeights, bootstrap_weights, pvalue
from condgof.result import GofResult
from condgof.sample import Seed
from condgof.stein import Sums

NULL_NAMES = {"wild": "wild bootstrap", "multinomial": "multinomial bootstrap"}


def run_test(
    method: str,
    scored: Scored,
    sums: Callable[[RowWeights], Sums],
    *,
    null: str,
    n_boot: int,
    seed: Seed,
    kernel_x: CovariateKernel | FiniteLocations | None,
    kernel_y: Radial,
    solver: str,
    locations: Any = None,
    details: dict[str, Any] | None = None,
    share: float = 1.0,
) -> GofResult:
    """Draw the weights, sum over the Stein matrix, and put the result together.

    Parameters
    ----------
    method : str
        Name of the test.
    scored : Scored
        The sample that is tested.
    sums : callable
        From weights to the sums over the Stein matrix.
    null, n_boot, seed : str, int, Seed
        Which null distribution, how many draws, and from where.
    kernel_x, kernel_y, solver, locations, details
        For the result.
    share : float
        A constant factor of the matrix that `sums` leaves out.
    """
    n = scored.sample.n
    weights = bootstrap_weights(null, n, n_boot, seed)
    found = sums(weights)
    statistic = share * found.total / (n - 1)
    draws = share * weights.factor * found.forms
    # A draw whose signs are all equal is the statistic itself, up to rounding: make it a tie, so
    # that the p-value of a tiny sample does not hang on the last bit.
    draws[np.isclose(draws, statistic, rtol=1e-11, atol=0.0)] = statistic
    base = kernel_x.kernel if isinstance(kernel_x, FiniteLocations) else kernel_x
    notes = scored.sample.notes()
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method=method,
        n=n,
        null_distribution=draws,
        null=NULL_NAMES[null],
        kernel_x=None if base is None else base.shown(scored.sample.d_x),
        kernel_y=kernel_y,
        solver=solver,
        locations=locations,
        seed=seed.value,
        details={**(details or {}), **({"notes": notes} if notes else {})},
    )
