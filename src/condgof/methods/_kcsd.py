"""KCSD: the kernel conditional Stein discrepancy (paper, Section 3)."""

from __future__ import annotations

from typing import Any

from condgof.kernels import Gaussian, Kernel
from condgof.methods._options import Options, prepare
from condgof.methods._rows import Units
from condgof.methods._solve import make_result, solve
from condgof.result import GofResult
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY


def kcsd(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    standardize: str = "none",
    solver: str = "auto",
    null: str = "auto",
    n_boot: int = 1000,
    precision: float | None = None,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test a conditional density model with the kernel conditional Stein discrepancy.

    H0: p(y|x) is the true conditional density for almost all x. The statistic is n·D̂ with

        D̂ = (1/(n(n−1))) Σ_{i≠j} k(x_i, x_j) h_p(i, j),

    a U-statistic that sees the model only through the scores ∇_y log p(y|x), so that the model need
    not be normalised. It is good at differences spread over all of x; for local ones see `fscd`.

    Where the model's support is bounded (a Gamma, a Beta, whatever says so with ``support=``) y is
    compared on the whole line, as log(y − low) and its like, which changes neither the hypothesis nor
    the level; ``details["reparametrized"]`` says so.

    A discrete y (labels, ordered categories, counts: `probabilities`, classifiers, count models) has no
    score. In place of h_p then stands l(y, y') less its means under the model, which is a product of
    residuals: with the kernel of labels, ⟨e_y − p(x), e_y' − p(x')⟩. Counts are compared in standard
    deviations of the model, and models known by ratios through a difference Stein operator
    (`from_ratio`).

    Do not use it when parameters of the model were fitted on this same sample (the level is then
    another: usually lower, so that misfit stays hidden), or with plain scores of a bounded y whose
    support was not declared. Rows that depend on each other need ``dependence=`` or ``groups=``: without
    it the test rejects right models. Where scores are correlated along the rows, there is an
    `errors.DependenceWarning`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates. String and category columns of a frame get a categorical kernel. A source from
        `scan` streams its rows through, and brings its own y. x and y may also be Dask arrays.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    kernel_x, kernel_y : Kernel
        Kernels on x and y, with a number or ``"median"`` as the bandwidth. On a discrete y:
        `Categorical` for classes, `Ordinal` (or a radial kernel of steps) for ordered ones, a radial
        kernel for counts; the default stands for the first that fits.
    scale_x : {"none", "std", "ranks"}
        How numeric columns of x are compared: as they are (the paper), in standard deviations, or by
        normal scores of their ranks. Bandwidths are in these units.
    standardize : {"none", "auto", "cdf", "marginals", "mean_std"}
        What y is standardised by, given x, before the kernel compares it: nothing (the paper), normal
        scores Φ⁻¹(F(y|x)) of the model's CDF, of its marginal CDFs, its location and scale, or the
        best of these that the model offers. The bandwidth of y is then in those units.
    solver : {"auto", "exact", "lowrank"}
        "exact" costs n_boot·n² operations and sweeps the matrix in tiles, never building it; "lowrank"
        factors each side of it, k by landmarks in x and h by landmarks in y, and is linear in n; "auto"
        is exact while n_boot·n² is at most 2.5e10 (n = 5,000 for 1,000 draws).
    null : {"auto", "wild", "multinomial", "spectral", "model"}
        Random signs ("wild": it keeps its level in small samples), the paper's multinomial bootstrap,
        which rejects too often when n is small, or the limit Σ λ_j(χ²_j − 1). Above 4,096 rows the
        low-rank solver gives signs to at most 2,048 blocks of rows. A discrete y is drawn anew from the
        model ("model"), which is exact in samples of any size. "auto" is "model" where y is discrete,
        and "wild" otherwise; the result says which ran.
    n_boot : int
        Number of draws of the null distribution.
    precision : float, optional
        Relative residual of the kernels that the low-rank solver is to reach (1e-3, with at most 400
        functions
        of x); ``details["precision"]`` is what was reached. The level holds for any, power may be lost.
    dependence : int or "auto", optional
        For rows that are ordered in time: a block length. Each draw cuts the rows into blocks, of random
        lengths with this mean, and gives one sign to each; the statistic stays as it is. Choose some
        multiple of the time over which errors are correlated (too long is safe, and costs power), or
        leave it to "auto". A model of the next value given all of the past needs none: its errors are
        independent.
    groups : array_like or Series of shape (n,), or str, optional
        For rows that come in groups (patients, schools) that are independent of each other: the group of
        each row, or the name of a column of x, or of the source. One sign is drawn for each group.
    missing : {"refuse", "drop", "level"}
        What to do about missing values: refuse them, leave their rows out, or make "missing" a level of
        the column of x. The result says how many there were.
    rng : int, numpy.random.Generator or None
        Where randomness comes from. The same rng gives the same result on any number of threads.
    engine : None, int or dask.distributed.Client
        Number of threads; None takes all cores. A client spreads the work over a Dask cluster, with
        the same result.
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
    >>> line = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> cg.kcsd(line, x, y, rng=1).reject(alpha=0.01)
    True
    """
    options = Options.of(solver, null, n_boot, precision, dependence, groups, missing, engine, memory)
    seed = Seed.of(rng)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)
    options = options.for_rows(scored, x)
    ready_x, ready_y = scored.subsample.kernels(kernel_x, kernel_y, seed)
    solution = solve(scored, ready_x, ready_y, options, seed)
    return make_result(
        "kcsd",
        scored,
        solution,
        seed=seed,
        kernel_x=ready_x,
        kernel_y=ready_y,
        dependence=options.rows,
    )
