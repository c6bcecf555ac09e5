"""KCSD (paper, Section 3), KSD without x, and what tests of a pair of kernels share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

from condgof._typing import FloatArray, TableLike
from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
)
from condgof.laws import as_model, law_of
from condgof.methods._options import (
    HowToTest,
    Options,
    comes_from_source,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._plan import plan_kernels
from condgof.null import Dependence, pvalue, refuse_resampling, settle_ties
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Source
from condgof.stein import PreparedRows, RowsInMemory, Units, subsample_numbers, sweep

#: A draw that differs from the statistic by at most this share of the statistic is a tie:
#: it is what products of matrices lose (`condgof.kernels._kernel.PRODUCT_LIMIT`).
TIE_TOLERANCE = 1e-11
#: A factored sum whose relative residual is at most this is reported as solver="exact".
EXACT_PRECISION = 1e-6
#: From this many rows on, the exact solver multiplies the Stein matrix with the weights in
#: single precision. Draws then move by at most 7e-7 null standard deviations, in two thirds
#: of the time (docs/dev/numerics.md).
SINGLE_PRECISION_FROM_ROWS = 2048
#: Single precision is not used where an entry of the Stein matrix may be larger than this.
#: Single precision ends at 3e38, so that a factor of 1e8 is left for sums over rows. The
#: matrix is positive semi-definite: no entry is larger than the largest of its diagonal.
LARGEST_SINGLE_ENTRY = 1e30
#: Bootstrap weights are kept while they fit into `memory` divided by this; else they are
#: made again whenever they are needed. The tiles get the larger part of the memory.
WEIGHTS_MEMORY_DIVISOR = 8


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
    weights: TableLike | None = None,
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
    weights : array_like or Series of shape (n,), or str, optional
        Weights w of rows, which must be functions of x: survey weights, importance,
        exposures. A string names a column of x, or of the source. Pairs of rows are
        weighted by w_i w_j, in the statistic and in its draws. Only ratios of weights
        matter; rows of weight 0 are left out. See docs/have/weights.md.
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
        independent: it needs none. "auto" estimates over how many rows residuals are
        correlated, without what columns of x explain of them. It is conservative where
        fewer than about 10 blocks fit into the sample: with n rows and blocks of l, no
        p-value can be much below exp(−n/2l). For trends and for long memory, of which the
        correlations have no finite sum, no length is right: see docs/dev/dependence.md for
        how often true models are rejected then.
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
    units = Units(scale_x, standardize)
    rows = prepare(model, x, y, units, options, seed, weights).rows
    options = options.for_rows(rows, x)
    ready = rows.subsample.kernels(kernel_x, kernel_y, seed)
    return solve("kcsd", rows, ready.on_x, ready.on_y, options, seed)


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
    rows: PreparedRows
    if comes_from_source(None, y):
        if isinstance(y, Source):
            rows = prepare(
                model, replace(y, x_columns=()), None, Units(), options, seed
            ).rows
        else:
            rows = prepare(model, None, y, Units(), options, seed).rows
    else:
        sample = Sample.unconditional(y, missing=options.missing)
        is_lowrank = options.chosen_solver(sample.n) == "lowrank"
        subsample = subsample_numbers(sample.n, seed) if is_lowrank else None
        law = law_of(as_model(model), sample)
        rows = RowsInMemory.from_law(law, sample, Units(), subsample)
    options = options.for_rows(rows, y)
    kernel = rows.subsample.residuals.ready_kernel(kernel_y, seed)
    result = solve("ksd", rows, CovariateKernel(()), kernel, options, seed)
    return replace(result, kernel_x=None)


class Reported(NamedTuple):
    """What a result says beside its statistic."""

    seed: Seed
    kernel_x: Kernel | None
    kernel_y: ResponseKernel
    #: Test locations of FSCD and FSSD in the user's units, (J, d_x) and (J, d_y).
    locations: FloatArray | None = None
    #: What a sum over the Stein matrix is multiplied by. Statistics of FSCD and FSSD are
    #: means over J locations and d_y columns of y: 1/d_y for FSCD, whose features have the
    #: 1/J in them (`FiniteLocations`), and 1/(J·d_y) for FSSD.
    share: float = 1.0


def solve(
    method: str,
    rows: PreparedRows,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
    *,
    details: Mapping[str, Any] | None = None,
    locations: FloatArray | None = None,
    share: float = 1.0,
) -> GofResult:
    """Sum over the Stein matrix of a sample and draw from the null distribution.

    The exact solver sweeps the matrix. Everything else goes through features F of x and
    test functions ξ of y. Where `Options.nulls` chooses two nulls, both are drawn, and the
    result with the larger p-value is returned.

    Parameters
    ----------
    method : str
        The name of the test in the result.
    rows : PreparedRows
        The n rows, in the units of the kernels.
    kernel_x, kernel_y
        Kernels whose bandwidths are known.
    options, seed
        The user's options, checked and with `row_dependence`; the seed of all draws.
    details : mapping, optional
        What the method adds to ``GofResult.details``.
    locations, share
        See `Reported`.
    """
    on_x = kernel_x.kernel if isinstance(kernel_x, FiniteLocations) else kernel_x
    reported = Reported(
        seed=seed,
        kernel_x=on_x.shown(rows.sample.d_x),
        kernel_y=kernel_y,
        locations=locations,
        share=share,
    )
    is_exact = options.chosen_solver(rows.n) == "exact"
    if is_exact and isinstance(rows, RowsInMemory) and isinstance(kernel_y, Radial):
        return _solve_exactly(
            method, rows, kernel_x, kernel_y, options, reported, details or {}
        )
    # Many rows, streams and every kernel on y that is not radial (cells, angles) are summed
    # through features of x and test functions of y.
    planned = plan_kernels(rows, kernel_x, kernel_y, options, seed)
    solver = "exact" if planned.precision <= EXACT_PRECISION else "lowrank"
    results = []
    for null in options.nulls(planned.plan, rows):
        drawn = null.draw(planned.plan, rows, options.n_boot, seed, options.engine)
        kernel_pair = drawn.first(rows.n)  # one pair of kernels has one statistic
        results.append(
            make_result(
                method,
                rows,
                null.dependence,
                total=kernel_pair.total,
                draws=kernel_pair.draws,
                solver=solver,
                null=null.label,
                reported=reported,
                details={**(details or {}), **planned.details(), **drawn.details},
            )
        )
    return max(results, key=lambda result: result.pvalue)


def _solve_exactly(
    method: str,
    rows: RowsInMemory,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: Radial,
    options: Options,
    reported: Reported,
    details: Mapping[str, Any],
) -> GofResult:
    """Sweep the Stein matrix tile by tile, for the statistic and every draw together."""
    if options.null == "model":
        refuse_resampling()
    weights = options.row_dependence.weights(
        options.null,
        rows.n,
        options.n_boot,
        reported.seed,
        keep=options.memory // WEIGHTS_MEMORY_DIVISOR,
    )
    operator = rows.operator(kernel_x, kernel_y)
    # Where rows depend on each other there are few patterns of signs, and some draws are
    # the statistic itself. Only double precision keeps these ties.
    single = (
        rows.n >= SINGLE_PRECISION_FROM_ROWS
        and options.row_dependence.independent
        and float(operator.diag().max()) < LARGEST_SINGLE_ENTRY
    )
    total, forms = sweep(
        operator,
        weights.block,
        options.n_boot,
        engine=options.engine,
        memory=options.memory,
        single=single,
    )
    return make_result(
        method,
        rows,
        options.row_dependence,
        total=total,
        draws=weights.factor * forms,
        solver="exact",
        null=options.row_dependence.named(options.null),
        reported=reported,
        details=details,
    )


def make_result(
    method: str,
    rows: PreparedRows,
    dependence: Dependence,
    *,
    total: float,
    draws: FloatArray,
    solver: str,
    null: str,
    reported: Reported,
    details: Mapping[str, Any],
) -> GofResult:
    """Assemble a result from the off-diagonal sum of the Stein matrix and its draws.

    Parameters
    ----------
    total : float
        Σ_{i≠j} H_ij; the statistic is share·total/(n − 1).
    draws : ndarray of shape (m,)
        Draws of Σ_{i≠j} H_ij/(n − 1) under the null hypothesis: divided already.
    solver, null : str
        What the result calls the solver and the null distribution.
    """
    subsample = rows.subsample
    statistic = reported.share * total / (rows.n - 1)
    settled = settle_ties(statistic, reported.share * draws, TIE_TOLERANCE * abs(statistic))
    all_details = {
        **subsample.details(),
        **rows.weight_details(),
        **dependence.details(),
        **details,
    }
    notes = (*subsample.notes(), *dependence.notes, *all_details.get("notes", ()))
    if notes:
        all_details["notes"] = notes
    kernel_y = reported.kernel_y
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, settled),
        method=method,
        n=rows.n,
        null_distribution=settled,
        null=null,
        kernel_x=reported.kernel_x,
        # A result shows the kernel on a discrete y as a user would write it.
        kernel_y=kernel_y.shown if isinstance(kernel_y, CellKernel) else kernel_y,
        solver=solver,
        locations=reported.locations,
        seed=reported.seed.value,
        details=all_details,
    )
