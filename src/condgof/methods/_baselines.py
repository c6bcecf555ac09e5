"""The paper's baselines (Section 5): MMD against samples of the model, and Zheng's test of its CDF."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from condgof import kernels
from condgof._typing import FloatArray, TableLike
from condgof.engine import Engine
from condgof.errors import NumericalError, ShapeError, check_choice
from condgof.kernels import CovariateKernel, Gaussian, Gram, Kernel, OnColumns
from condgof.laws._as_model import as_model, cdf_rows, drawn
from condgof.laws._law import Law
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    read_options,
    spelled_out,
)
from condgof.methods._scored import numbered, read_sample
from condgof.null._bootstrap import (
    RowWeights,
    normal_pvalue,
    permutation_weights,
    pvalue,
    settle_ties,
)
from condgof.null._dependence import check_dependence, dependence_of
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Use
from condgof.stein._matrix import sweep


@spelled_out("n_boot", "missing", "rng", "engine", "memory")
def mmd(
    model: object,
    x: TableLike,
    y: TableLike,
    *,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model against samples of it, with the maximum mean discrepancy.

    H0: p(y|x) is the true conditional density for almost all x. The sample is split at
    random into halves of n₁ and n₂ rows. The first keeps its y; for the second y' is drawn
    from the model given its x. Under H0 the pairs z = (x, y) and z' = (x, y') have the same
    distribution, which is tested with the kernel K(z, z') = k(x, x')·l(y, y') and random
    permutations of all n pairs. The statistic is n/2 times the unbiased

        MMD² = Σ_{i≠j} K(z_i, z_j)/(n₁(n₁−1)) + Σ_{i≠j} K(z'_i, z'_j)/(n₂(n₂−1))
               − 2 Σ_{i,j} K(z_i, z'_j)/(n₁n₂).

    Permutations keep the level exactly, in samples of any size. It is the paper's baseline,
    and for models that can do nothing but sample. Do not use it where the model has scores
    or a CDF and power counts (half of the data goes, samples of the model add noise), when
    parameters of the model were fitted on this same sample, or when rows are dependent. It
    takes n_boot·n² operations.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which must have a sampler; a tuple (mean, std) will do, scores will not.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates. String and category columns of a frame get a categorical kernel.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; they may be bounded or discrete.
    kernel_x, kernel_y : Kernel
        Kernels on x and y, with a number or ``"median"`` as the bandwidth: the median
        distance in the two halves together. Matern12 may serve on y too.
    n_boot : int
        Number of permutations.
    scale_x, missing, rng, engine, memory
        As in `kcsd`; the split, the model's samples and the permutations are random.

    Returns
    -------
    GofResult
        Its ``details`` hold ``n1``, ``n2`` (the rows of the two halves) and ``mmd2``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 400)
    >>> y = x + x**2 + rng.standard_normal(400)
    >>> cg.mmd(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1).reject(alpha=0.01)
    True
    """
    needs_memory("mmd", x, y)
    options, seed = read_options(mmd, how)
    law, sample = read_sample(as_model(model), x, y, options.missing)
    units, n = sample.units(scale_x), sample.n
    if n < 4:
        raise ShapeError(
            f"mmd splits the rows in halves of at least 2, so it needs 4 rows, got {n}."
        )
    order, n1 = seed.stream(Use.SPLIT).permutation(n), (n + 1) // 2
    first, second = np.sort(order[:n1]), np.sort(order[n1:])
    sample = numbered(law, sample)
    of_model = drawn(law.take(second), sample.d_y, seed.stream(Use.MODEL_SAMPLE))
    pooled_x = units.apply(sample.x)[np.concatenate([first, second])]
    pooled_y = np.concatenate([sample.y[first], of_model])
    ready_y = kernels.resolve_y(kernel_y, pooled_y, seed, stein=False)
    ready_x = kernels.resolve_x(kernel_x, pooled_x, sample.x_columns, seed)
    of_y = OnColumns(ready_y, tuple(range(sample.d_x, sample.d_x + sample.d_y)))
    product = CovariateKernel((*ready_x.factors, of_y))
    gram = Gram.of(product, np.concatenate([pooled_x, pooled_y], axis=1))
    # With S₁, S₂ and C the off-diagonal sums within and between the halves, MMD² is A·S₁ +
    # B·S₂ − 2c·C. No permutation changes S = S₁ + S₂ + 2C, and for γ = (AB − c²)/(A + B +
    # 2c) what is left, (A−γ)·S₁ + (B−γ)·S₂ − 2(c+γ)·C, is a quadratic form, with two
    # weights.
    a, b, c = 1.0 / (n1 * (n1 - 1)), 1.0 / ((n - n1) * (n - n1 - 1)), 1.0 / (n1 * (n - n1))
    whole = a + b + 2.0 * c
    high, low = (a + c) / math.sqrt(whole), -(b + c) / math.sqrt(whole)
    memory = options.memory
    labels = permutation_weights(n, n1, options.n_boot, seed).keeping(memory // 8)

    def weights(start: int, stop: int) -> FloatArray:
        return (high - low) / 2.0 * labels.block(start, stop) + (high + low) / 2.0

    total, forms = sweep(gram, weights, labels.m, engine=options.engine, memory=memory)
    values, rounding = (
        forms + (a * b - c * c) / whole * total,
        1e-12 * abs(high * low) * total,
    )
    statistic = 0.5 * n * float(values[0])
    draws = settle_ties(statistic, 0.5 * n * values[1:], 0.5 * n * rounding)
    notes, p = (*sample.notes(), *law.notes), pvalue(statistic, draws)
    details = {
        "n1": n1,
        "n2": n - n1,
        "mmd2": float(values[0]),
        **({"notes": notes} if notes else {}),
    }
    shown: Any = {"kernel_x": ready_x.shown(sample.d_x), "kernel_y": ready_y}
    said: Any = {"null_distribution": draws, "null": "permutation", "seed": seed.value}
    return GofResult(statistic, p, "mmd", n, **said, **shown, details=details)


#: Values of the CDF to ask a model for at a time; rows of a tile.
CDF_VALUES, TILE = 2**18, 256


def zheng(
    model: object,
    x: TableLike,
    y: TableLike,
    *,
    null: str = "normal",
    n_boot: int = 1000,
    dependence: object = None,
    groups: TableLike | None = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: object = None,
) -> GofResult:
    """Test a conditional density model of one response through its CDF, with Zheng's statistic.

    H0: F(y|x) is the true conditional distribution function for almost all x. Residuals of
    the CDF at all observed y are compared between rows that are near in x. With sums over i
    ≠ j,

        D_ik = 1{y_i ≤ y_k} − F(y_k|x_i),   G = DDᵀ/n,   K_ij = exp(−½ Σ_c ((x_ic −
        x_jc)/h_c)²), A = Σ K_ij G_ij / (n(n−1)),   B = 2 Σ K_ij² G_ij² / (n(n−1)),   T =
        n·A/√B,

    with bandwidths h_c = ŝ_c·n^(−1/(12 d_x)), ŝ_c the standard deviation of column c (the
    paper's choice, like the Gaussian kernel). They shrink so slowly that T stays skewed to
    the right, and its normal limit rejects true models too often when α is small;
    ``null="wild"`` does not lean on it.

    Do not use it when x has many columns (rows are then all far from each other), or when
    parameters of the model were fitted on this same sample; rows that depend on each other
    need ``null="wild"`` with ``dependence=`` or ``groups=``. It takes n³ operations; beyond
    about 10,000 rows, use `kcsd`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which must have a CDF; a tuple (mean, std) will do, scores will not.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates. Constant columns are left out, and not counted by d_x; string and
        category columns of a frame multiply K by 1 where they agree and by 0.5 where they
        do not (`Categorical`).
    y : array_like or frame of shape (n,) or (n, 1)
        Responses; they may be bounded or discrete.
    null : {"normal", "wild"}
        The upper tail of the normal limit (the paper's), or random signs, n_boot draws
        n/√B · Σ ε_i ε_j K_ij G_ij / (n(n−1)).
    n_boot, dependence, groups
        As in `kcsd`, for ``null="wild"`` only (there is no "auto": a CDF has no scores to
        look at).
    missing, rng, engine
        As in `kcsd`; nothing but the signs is random, and the work stays on this machine. D
        takes 8n² bytes.

    Returns
    -------
    GofResult
        With T as the statistic; ``null_distribution`` is None with the normal null. Its
        ``details`` hold ``A``, ``B`` and ``bandwidths``, h_c for each column of x (None for
        those that have none).

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 300)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(300)
    >>> cg.zheng(cg.models.Normal(mean=lambda x: x, std=1.0), x, y).reject(alpha=0.01)
    True
    """
    needs_memory("zheng", x, y)
    check_choice(null, "null", ("normal", "wild"))
    options = Options.of(n_boot=n_boot, engine=engine)
    length, seed = check_dependence(dependence, groups, null), Seed.of(rng)
    law, sample = read_sample(as_model(model), x, y, missing)
    if sample.d_y != 1:
        raise ShapeError(
            f"zheng is for one column of y, and y has {sample.d_y}: it compares"
            " distribution functions. Use kcsd, fscd or mmd, or test the columns of y one"
            " at a time."
        )
    sample = numbered(law, sample)
    if not law.can("cdf"):
        law.lacks("cdf")
    n, m, wild = sample.n, options.n_boot, null == "wild"
    depend = dependence_of(length, groups, n, x, m, sample)
    weights = depend.weights(null, n, m, seed) if wild else None
    gram, bandwidths = smoother(sample)
    total, squares, forms = cdf_sums(
        gram, cdf_residuals(law, sample), weights, options.engine
    )
    A, B = total / (n * (n - 1)), 2.0 * squares / (n * (n - 1))
    if not B > 0:
        raise NumericalError(
            "Zheng's statistic is 0/0: no two rows are near enough in x to be compared"
            " (with very many columns all of K is 0 in double precision), or the residuals"
            " of the CDF are 0. Use fewer columns of x, or kcsd."
        )
    T = n * A / math.sqrt(B)
    # T has about unit variance, so that rounding is absolute.
    draws = settle_ties(T, forms / ((n - 1) * math.sqrt(B)), 1e-11) if wild else None
    notes = (*sample.notes(), *law.notes, *depend.notes)
    details: dict[str, Any] = {"A": A, "B": B, "bandwidths": bandwidths, **depend.details()}
    details |= {"notes": notes} if notes else {}
    p, name = (
        (normal_pvalue(T), null)
        if draws is None
        else (pvalue(T, draws), depend.named(null))
    )
    said: Any = {
        "null_distribution": draws,
        "null": name,
        "seed": seed.value,
        "details": details,
    }
    return GofResult(T, p, "zheng", n, **said)


def smoother(sample: Sample) -> tuple[Gram, tuple[float | None, ...]]:
    """Return K, and h_c = ŝ_c·n^(−1/(12 d_x)) of the d_x numeric columns that vary; None for others."""
    varying = [i for i, column in enumerate(sample.x_columns) if not column.constant]
    levels = tuple(i for i in varying if sample.x_columns[i].categorical)
    numeric = [i for i in varying if i not in levels]
    spread = sample.units("std").scales * sample.n ** (-1.0 / (12 * max(1, len(numeric))))
    factors = [OnColumns(Gaussian(float(spread[i])), (i,)) for i in numeric]
    factors += [OnColumns(kernels.Categorical(), levels)] if levels else []
    bandwidths = tuple(float(h) if i in numeric else None for i, h in enumerate(spread))
    return Gram.of(CovariateKernel(tuple(factors)), sample.x), bandwidths


def cdf_residuals(law: Law, sample: Sample) -> FloatArray:
    """Return D_ik = 1{y_i ≤ y_k} − F(y_k|x_i), (n, n); the model is asked for some rows at a time."""
    y, out, step = (
        sample.y[:, 0],
        np.empty((sample.n, sample.n)),
        max(1, CDF_VALUES // sample.n),
    )
    for start in range(0, sample.n, step):
        rows = np.arange(start, min(start + step, sample.n))
        np.subtract(
            y[rows, None] <= y, cdf_rows(law, sample, rows), out=out[rows[0] : rows[-1] + 1]
        )
    return out


def cdf_sums(
    gram: Gram, residuals: FloatArray, weights: RowWeights | None, engine: Engine
) -> tuple[float, float, FloatArray]:
    """Sum K_ij G_ij, its square, and w_i w_j K_ij G_ij for each column w of the weights, over i ≠ j.

    Sums of tiles are added without rounding, so that threads do not matter.
    """
    n, m = gram.n, 0 if weights is None else weights.m
    tiles = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]
    totals, squares, forms = [], [], np.zeros(m)

    def weights_of(some: slice) -> FloatArray:
        size = some.stop - some.start
        return (
            np.empty((size, 0)) if weights is None else weights.block(some.start, some.stop)
        )

    def strip(number: int) -> tuple[list[float], list[float], FloatArray]:
        """Sum the tiles of a strip of rows from the diagonal on."""
        across, totals, squares = tiles[number], [], []
        products = np.zeros((across.stop - across.start, m))
        for down in tiles[number:]:
            block = residuals[across] @ residuals[down].T
            block *= 1.0 / n
            block *= gram.block(across, down)
            mirror = 2.0  # a tile off the diagonal stands for its mirror image too
            if across == down:
                np.fill_diagonal(block, 0.0)
                mirror = 1.0
            totals.append(mirror * float(block.sum()))
            squares.append(mirror * float(np.square(block).sum()))
            block *= mirror
            products += block @ weights_of(down)
        return totals, squares, np.einsum("ij,ij->j", weights_of(across), products)

    for part in engine.local.map(strip, range(len(tiles))):
        totals += part[0]
        squares += part[1]
        forms += part[2]
    return math.fsum(totals), math.fsum(squares), forms
