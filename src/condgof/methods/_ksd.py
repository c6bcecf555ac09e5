"""KSD, the unconditional ancestor of KCSD (paper, Section 2.1)."""

from __future__ import annotations

from typing import Any

from condgof.engine import as_engine
from condgof.kernels import CovariateKernel, Gaussian, Kernel, resolve_y
from condgof.methods._prepare import Scored, check_solver
from condgof.methods._test import run_test
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed
from condgof.stein import DEFAULT_MEMORY, check_memory, sweep


def ksd(
    model: Any,
    y: Any,
    *,
    kernel_y: Kernel = Gaussian("median"),
    solver: str = "auto",
    null: str = "wild",
    n_boot: int = 1000,
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test an unconditional density model with the kernel Stein discrepancy.

    The statistic is n times (1/(n(n−1))) Σ_{i≠j} h_p(y_i, y_j).

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model, which gets x = None; an array of scores (n, d_y), or `from_score` of a function of
        y alone, will do.
    y : array_like or frame of shape (n,) or (n, d_y)
        The sample.
    kernel_y, solver, null, n_boot, rng, engine, memory
        As in `kcsd`.

    Returns
    -------
    GofResult

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> y = np.random.default_rng(0).standard_t(3, size=300)
    >>> cg.ksd(cg.models.Normal(mean=0.0, std=1.0), y, rng=1).reject()
    True
    """
    solver, memory, threads = check_solver(solver), check_memory(memory), as_engine(engine)
    seed = Seed.of(rng)
    scored = Scored.of(model, Sample.unconditional(y))
    ready = resolve_y(kernel_y, scored.sample.y, seed)
    operator = scored.operator(CovariateKernel(()), ready)
    return run_test(
        "ksd",
        scored,
        lambda weights: sweep(operator, weights, engine=threads, memory=memory),
        null=null,
        n_boot=n_boot,
        seed=seed,
        kernel_x=None,
        kernel_y=ready,
        solver=solver,
    )
