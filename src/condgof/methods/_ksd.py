"""KSD, the unconditional ancestor of KCSD (paper, Section 2.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from condgof.kernels import CovariateKernel, Gaussian, Kernel, resolve_y
from condgof.methods._lazy import lay_out
from condgof.methods._prepare import Scored
from condgof.methods._solve import Options, solve
from condgof.methods._stream import Stream, check_source_call, in_memory
from condgof.methods._test import make_result
from condgof.result import GofResult
from condgof.sample import ArraySource, RngLike, Sample, Seed, Source, is_lazy
from condgof.stein import DEFAULT_MEMORY


def ksd(
    model: Any,
    y: Any,
    *,
    kernel_y: Kernel = Gaussian("median"),
    solver: str = "auto",
    null: str = "wild",
    n_boot: int = 1000,
    rank: int | None = None,
    tolerance: float | None = None,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test an unconditional density model with the kernel Stein discrepancy.

    The statistic is n times (1/(n(n−1))) Σ_{i≠j} h_p(y_i, y_j).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which gets x = None; `from_scores` of an array, or `from_score` of a function of y
        alone, will do.
    y : array_like or frame of shape (n,) or (n, d_y), or Source
        The sample; the x columns of a source are not read.
    kernel_y, solver, null, n_boot, rank, tolerance, dependence, groups, rng, engine, memory
        As in `kcsd`; `groups` may name a column of y. For the draws of a Markov chain, pass
        `dependence`.
    missing : {"refuse", "drop"}
        What to do about missing values: refuse them, or leave their rows out. The result says how many.

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
    options = Options.of(
        solver=solver,
        null=null,
        n_boot=n_boot,
        rank=rank,
        tolerance=tolerance,
        engine=engine,
        memory=memory,
        dependence=dependence,
        groups=groups,
        missing=missing,
    )
    seed = Seed.of(rng)
    scored: Scored | Stream
    if is_lazy(y):
        model, y, _ = lay_out(model, None, y)
    if isinstance(y, (Source, ArraySource)):
        y = replace(y, x_names=()) if isinstance(y, Source) else y
        small = options.chosen(y.n) == "exact"
        check_source_call(y, None, options.solver, missing)
        scored = in_memory(model, y)[1] if small else Stream.of(model, y, seed, options.engine)
    else:
        scored = Scored.of(model, Sample.unconditional(y, missing=missing))
    options = options.for_rows(scored, y)
    rows = scored.subsample
    if rows.cells is not None:
        ready = rows.kernel_on_y(kernel_y, seed)
    else:
        ready = resolve_y(kernel_y, rows.y if rows.by == "cdf" else rows.sample.y, seed)
    solution = solve(scored, CovariateKernel(()), ready, options, seed)
    return make_result(
        "ksd",
        scored,
        solution,
        seed=seed,
        kernel_x=None,
        kernel_y=ready,
        dependence=options.rows,
    )
