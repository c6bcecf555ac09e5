"""KCSD (paper, Section 3), KSD, its ancestor without x, and what tests of a pair of kernels share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from condgof._typing import FloatArray, TableLike
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
)
from condgof.methods._lowrank import draw, nulls_of, plan_of, refuse_redraw
from condgof.methods._options import (
    HowToTest,
    Options,
    elsewhere,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._scored import Scored, Units
from condgof.null._bootstrap import pvalue, settle_ties
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Source
from condgof.stein._matrix import sweep

#: A draw nearer to the statistic than this share of it is a tie; a sum that near is called
#: exact.
TIE, NEAR = 1e-11, 1e-6
#: Of so many rows, draws are made of products in single precision, unless entries of H may
#: be so large.
MANY, HUGE = 2048, 1e30


@spelled_out()
def kcsd(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    standardize: str = "none",
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model with the kernel conditional Stein discrepancy.

    H0: p(y|x) is the true conditional density for almost all x. The statistic is n·D̂ with

        D̂ = (1/(n(n−1))) Σ_{i≠j} k(x_i, x_j) h_p(i, j),

    a U-statistic that sees the model only through the scores ∇_y log p(y|x), so that the
    model need not be normalised. It is good at differences spread over all of x; for local
    ones see `fscd`.

    Where the model's support is bounded (a Gamma, a Beta, whatever says so with
    ``support=``) y is compared on the whole line, as log(y − low) and its like. A discrete
    y (labels, ordered categories, counts) has no score: in place of h_p stands l(y, y')
    less its means under the model, a product of residuals; with the kernel of labels, ⟨e_y
    − p(x), e_y' − p(x')⟩. Counts are compared in standard deviations of the model, and
    models known by ratios by a difference Stein operator (`from_ratio`).

    Do not use it when parameters of the model were fitted on this same sample (misfit stays
    hidden then) or with plain scores of a bounded y whose support was not declared. Random
    signs need some tens of rows with large scores: a true Gamma law of shape 0.05 is
    rejected 0.11 to 0.14 of the time at α = 0.05 with 200 rows, and as it should be with
    1,000, or with ``standardize="cdf"``. Rows that depend on each other need
    ``dependence=`` or ``groups=``: right models are rejected without, and where scores are
    correlated along the rows there is an `errors.DependenceWarning`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates. String and category columns of a frame get a categorical kernel. A
        source from `scan` streams its rows through, and brings its own y. x and y may also
        be Dask arrays.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    kernel_x, kernel_y : Kernel
        Kernels on x and y, with a number or ``"median"`` as the bandwidth. On classes the
        default stands for `Categorical`, on ordered ones for `Ordinal` (or a radial kernel
        of steps).
    scale_x : {"none", "std", "ranks"}
        How numeric columns of x are compared: as they are (the paper), in standard
        deviations, or by normal scores of their ranks. Bandwidths are in these units.
    standardize : {"none", "auto", "cdf", "marginals", "mean_std"}
        What y is standardised by, given x: nothing (the paper), normal scores Φ⁻¹(F(y|x))
        of the model's CDF, of its marginal CDFs, its location and scale, or the best that
        the model offers. The bandwidth of y is then in those units.
    solver : {"auto", "exact", "lowrank"}
        "exact" sweeps the matrix in tiles, n_boot·n² operations; "lowrank" factors k by
        landmarks in x and h by landmarks in y, and is linear in n; "auto" is exact while
        n_boot·n² is at most 2.5e10 (n = 5,000 for 1,000 draws).
    null : {"auto", "wild", "multinomial", "spectral", "model"}
        Random signs ("wild": it keeps its level in small samples), the paper's multinomial
        bootstrap, which rejects too often when n is small, or the limit Σ λ_j(χ²_j − 1).
        Above 4,096 rows the low-rank solver gives signs to at most 2,048 blocks of rows.
        "auto" is "wild", but draws a discrete y anew from the model ("model"), which is
        exact in samples of any size.
    n_boot : int
        Number of draws of the null distribution.
    precision : float, optional
        Relative residual of the kernels that the low-rank solver is to reach (1e-3, with at
        most 400 functions of x); ``details["precision"]`` is what was reached. The level
        holds for any.
    dependence : int or "auto", optional
        For rows that are ordered in time: a block length. Each draw cuts the rows into
        blocks, of random lengths with this mean, and gives one sign to each. Choose some
        multiple of the time over which errors are correlated (too long is safe, and costs
        power), or "auto". The errors of a model of the next value given all of the past are
        independent: it needs none.
    groups : array_like or Series of shape (n,), or str, optional
        For rows in groups (patients, schools) that are independent of each other: the group
        of each row, or the name of a column of x, or of the source. One sign is drawn for
        each group.
    missing : {"refuse", "drop", "level"}
        Refuse missing values, leave their rows out, or make "missing" a level of the column
        of x. The result says how many there were.
    rng : int, numpy.random.Generator or None
        Where randomness comes from. The same rng gives the same result with any engine.
    engine : None, int or dask.distributed.Client
        Number of threads, None for all cores; or a cluster that the work is spread over.
    memory : int
        Bytes that the tiles of the exact solver may take.

    Returns
    -------
    GofResult

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 300)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(300)
    >>> cg.kcsd(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1).reject(alpha=0.01)
    True
    """
    options, seed = read_options(kcsd, how)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)[1]
    options = options.for_rows(scored, x)
    ready_x, ready_y = scored.subsample.kernels(kernel_x, kernel_y, seed)
    return solve("kcsd", scored, ready_x, ready_y, options, seed)


@spelled_out()
def ksd(
    model: object,
    y: TableLike,
    *,
    kernel_y: Kernel = Gaussian("median"),
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test an unconditional density model with the kernel Stein discrepancy.

    The statistic is n times (1/(n(n−1))) Σ_{i≠j} h_p(y_i, y_j).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which gets x = None; an array of scores (`from_scores`) will do.
    y : array_like or frame of shape (n,) or (n, d_y), or Source
        The sample; the x columns of a source are not read.
    kernel_y, solver, null, n_boot, precision, dependence, groups, rng, engine, memory
        As in `kcsd`; `groups` may name a column of y. For the draws of a Markov chain, pass
        `dependence`.
    missing : {"refuse", "drop"}
        Refuse missing values, or leave their rows out. The result says how many there were.

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
    options, seed = read_options(ksd, how)
    if elsewhere(None, y):
        x, rest = (replace(y, x_columns=()), None) if isinstance(y, Source) else (None, y)
        scored = prepare(model, x, rest, Units(), options, seed)[1]
    else:
        sample = Sample.unconditional(y, missing=options.missing)
        scored = Scored.of(
            model, sample, seed=seed if options.chosen(sample.n) == "lowrank" else None
        )
    options = options.for_rows(scored, y)
    ready = scored.subsample.kernel_on_y(kernel_y, seed)
    return replace(
        solve("ksd", scored, CovariateKernel(()), ready, options, seed), kernel_x=None
    )


def solve(
    method: str,
    scored: Scored,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
    *,
    details: dict[str, Any] | None = None,
    **said: Any,
) -> GofResult:
    """Sum over the Stein matrix of a sample and draw from the null distribution."""
    n, few = scored.n, options.chosen(scored.n) == "exact" and scored.source is None
    on_x = kernel_x.kernel if isinstance(kernel_x, FiniteLocations) else kernel_x
    said |= {"kernel_x": on_x.shown(scored.sample.d_x), "kernel_y": kernel_y, "seed": seed}
    if few and isinstance(kernel_y, Radial):
        if options.null == "model":
            refuse_redraw()
        keep = options.memory // 8  # of the budget, what tiles leave
        weights = options.rows.weights(options.null, n, options.n_boot, seed, keep)
        operator = scored.operator(kernel_x, kernel_y)
        # Groups have few patterns of signs: draws that equal the statistic must do so to
        # the last bit.
        single = (
            n >= MANY and options.rows.independent and float(operator.diag().max()) < HUGE
        )
        how: Any = {"engine": options.engine, "memory": options.memory, "single": single}
        total, forms = sweep(operator, weights.block, options.n_boot, **how)
        null, draws = options.rows.named(options.null), weights.factor * forms
        return make_result(
            method, scored, options, (total, draws), "exact", null, details, **said
        )
    # Of many rows, and of a discrete y: through features of x and evidence of y.
    plan, told = plan_of(scored, kernel_x, kernel_y, options, seed)
    solver, results = "exact" if told["precision"] <= NEAR else "lowrank", []
    for how in nulls_of(plan, scored, options):
        ran = draw(plan, scored, how, seed)
        more = {**(details or {}), **told, **ran.details}
        results.append(
            make_result(method, scored, how, ran.first(n), solver, ran.null, more, **said)
        )
    return max(results, key=lambda result: result.pvalue)


def make_result(
    method: str,
    scored: Scored,
    options: Options,
    sums: tuple[float, FloatArray],
    solver: str,
    null: str,
    details: dict[str, Any] | None = None,
    *,
    seed: Seed,
    kernel_x: Kernel | None,
    kernel_y: ResponseKernel,
    locations: FloatArray | None = None,
    share: float = 1.0,
) -> GofResult:
    """Put a result together: a share of the off-diagonal sum of the Stein matrix, and its draws."""
    rows, statistic = scored.subsample, share * sums[0] / (scored.n - 1)
    draws = settle_ties(statistic, share * sums[1], TIE * abs(statistic))
    details = {**rows.details(), **options.rows.details(), **(details or {})}
    notes = (*rows.notes(), *options.rows.notes, *details.get("notes", ()))
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method=method,
        n=scored.n,
        null_distribution=draws,
        null=null,
        kernel_x=kernel_x,
        kernel_y=getattr(
            kernel_y, "shown", kernel_y
        ),  # of a discrete y, what a reader knows it by
        solver=solver,
        locations=locations,
        seed=seed.value,
        details={**details, **({"notes": notes} if notes else {})},
    )
