"""The paper's baselines (Section 5).

MMD compares the data with samples of the model; Zheng's test looks at the model's CDF.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from condgof import kernels
from condgof._typing import FloatArray, TableLike
from condgof.engine import Engine
from condgof.errors import NumericalError, ShapeError, check_choice
from condgof.kernels import CovariateKernel, Gaussian, Gram, Kernel, OnColumns
from condgof.laws import Law, as_model, cdf_rows, drawn
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    read_options,
    spelled_out,
)
from condgof.null import (
    RowWeights,
    check_dependence,
    dependence_of,
    normal_pvalue,
    permutation_weights,
    pvalue,
    settle_ties,
)
from condgof.residuals import numbered
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Use
from condgof.stein import read_sample, sweep

#: Values of the CDF to ask a model for at a time.
CDF_VALUES = 2**18
#: Rows of a tile of K and G.
TILE = 256
#: Rounding error of MMD²: draws that differ from the statistic by less are tied with it.
MMD_ROUNDING = 1e-12
#: The same for Zheng's T, absolute, as T has about unit variance.
ZHENG_ROUNDING = 1e-11


class LabelWeights(NamedTuple):
    """MMD² as a quadratic form in one weight for each half of the rows.

    With S₁, S₂ and C the off-diagonal sums of K within and between the halves, MMD² is
    a·S₁ + b·S₂ − 2c·C. No permutation changes S = S₁ + S₂ + 2C. For γ = (ab − c²)/(a + b +
    2c) the rest, (a−γ)·S₁ + (b−γ)·S₂ − 2(c+γ)·C, is Σ_{i≠j} w_i w_j K_ij, where w is `high`
    in the first half and `low` in the second.
    """

    high: float
    low: float
    gamma: float

    @classmethod
    def from_halves(cls, n1: int, n2: int) -> Self:
        """Return the weights of halves of n1 and n2 rows."""
        a = 1.0 / (n1 * (n1 - 1))
        b = 1.0 / (n2 * (n2 - 1))
        c = 1.0 / (n1 * n2)
        whole = a + b + 2.0 * c
        return cls(
            high=(a + c) / math.sqrt(whole),
            low=-(b + c) / math.sqrt(whole),
            gamma=(a * b - c * c) / whole,
        )

    def weights(self, labels: FloatArray) -> FloatArray:
        """Return the weights of labels 1 (first half) and −1, of any shape."""
        return (self.high - self.low) / 2.0 * labels + (self.high + self.low) / 2.0


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
    """Test a model against samples of it, with the maximum mean discrepancy.

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
    units = sample.units(scale_x)
    n = sample.n
    if n < 4:
        raise ShapeError(
            f"mmd splits the rows in halves of at least 2, so it needs 4 rows, got {n}."
        )
    order = seed.stream(Use.SPLIT).permutation(n)
    n1 = (n + 1) // 2
    first = np.sort(order[:n1])
    second = np.sort(order[n1:])
    sample = numbered(law, sample)
    model_y = drawn(law.take(second), sample.d_y, seed.stream(Use.MODEL_SAMPLE))
    pooled_x = units.apply(sample.x)[np.concatenate([first, second])]
    pooled_y = law.embed(np.concatenate([sample.y[first], model_y]))
    ready_y = kernels.resolve_y(kernel_y, pooled_y, seed, stein=False)
    ready_x = kernels.resolve_x(kernel_x, pooled_x, sample.x_columns, seed)
    last = sample.d_x + pooled_y.shape[1]
    on_y = OnColumns(ready_y, tuple(range(sample.d_x, last)))
    product = CovariateKernel((*ready_x.factors, on_y))
    gram = Gram.from_sample(product, np.concatenate([pooled_x, pooled_y], axis=1))
    memory = options.memory
    labels = permutation_weights(n, n1, options.n_boot, seed).keeping(memory // 8)
    by_label = LabelWeights.from_halves(n1, n - n1)

    def weights(start: int, stop: int) -> FloatArray:
        return by_label.weights(labels.block(start, stop))

    total, forms = sweep(gram, weights, labels.m, engine=options.engine, memory=memory)
    values = forms + by_label.gamma * total
    rounding = MMD_ROUNDING * abs(by_label.high * by_label.low) * total
    statistic = 0.5 * n * float(values[0])
    draws = settle_ties(statistic, 0.5 * n * values[1:], 0.5 * n * rounding)
    details: dict[str, Any] = {"n1": n1, "n2": n - n1, "mmd2": float(values[0])}
    notes = (*sample.notes(), *law.notes)
    if notes:
        details["notes"] = notes
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method="mmd",
        n=n,
        null_distribution=draws,
        null="permutation",
        kernel_x=ready_x.shown(sample.d_x),
        kernel_y=ready_y,
        seed=seed.value,
        details=details,
    )


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
    """Test a model of one response through its CDF, with Zheng's statistic.

    H0: F(y|x) is the true conditional distribution function for almost all x. Residuals of
    the CDF at all observed y are compared between rows that are near in x. With sums over i
    ≠ j,

        D_ik = 1{y_i ≤ y_k} − F(y_k|x_i),   G = DDᵀ/n,
        K_ij = exp(−½ Σ_c ((x_ic − x_jc)/h_c)²),
        A = Σ K_ij G_ij / (n(n−1)),   B = 2 Σ K_ij² G_ij² / (n(n−1)),   T = n·A/√B,

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
    options = Options(n_boot=n_boot, engine=engine).checked()
    length = check_dependence(dependence, groups, null)
    seed = Seed.of(rng)
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
    n = sample.n
    m = options.n_boot
    wild = null == "wild"
    depend = dependence_of(length, groups, n, x, m, sample)
    weights = depend.weights(null, n, m, seed) if wild else None
    smooth = smoother(sample)
    residuals = cdf_residuals(law, sample)
    sums = cdf_sums(smooth.gram, residuals, weights, options.engine)
    A = sums.total / (n * (n - 1))
    B = 2.0 * sums.squares / (n * (n - 1))
    if not B > 0:
        raise NumericalError(
            "Zheng's statistic is 0/0: no two rows are near enough in x to be compared"
            " (with very many columns all of K is 0 in double precision), or the residuals"
            " of the CDF are 0. Use fewer columns of x, or kcsd."
        )
    T = n * A / math.sqrt(B)
    details: dict[str, Any] = {
        "A": A,
        "B": B,
        "bandwidths": smooth.bandwidths,
        **depend.details(),
    }
    notes = (*sample.notes(), *law.notes, *depend.notes)
    if notes:
        details["notes"] = notes
    draws = None
    p = normal_pvalue(T)
    if wild:
        draws = settle_ties(T, sums.forms / ((n - 1) * math.sqrt(B)), ZHENG_ROUNDING)
        p = pvalue(T, draws)
    return GofResult(
        statistic=T,
        pvalue=p,
        method="zheng",
        n=n,
        null_distribution=draws,
        null=depend.named(null) if wild else null,
        seed=seed.value,
        details=details,
    )


class Smoother(NamedTuple):
    """K, and the bandwidths h_c of its Gaussian factors."""

    gram: Gram
    #: One for each column of x; None where the column is constant or has categories.
    bandwidths: tuple[float | None, ...]


def smoother(sample: Sample) -> Smoother:
    """Return K, with h_c = ŝ_c·n^(−1/(12 d_x)) for the d_x numeric columns that vary."""
    varying = [i for i, column in enumerate(sample.x_columns) if not column.constant]
    categorical = tuple(i for i in varying if sample.x_columns[i].categorical)
    numeric = [i for i in varying if i not in categorical]
    shrink = sample.n ** (-1.0 / (12 * max(1, len(numeric))))
    spread = sample.units("std").scales * shrink
    factors = [OnColumns(Gaussian(float(spread[i])), (i,)) for i in numeric]
    if categorical:
        factors.append(OnColumns(kernels.Categorical(), categorical))
    bandwidths = tuple(float(h) if i in numeric else None for i, h in enumerate(spread))
    gram = Gram.from_sample(CovariateKernel(tuple(factors)), sample.x)
    return Smoother(gram, bandwidths)


def cdf_residuals(law: Law, sample: Sample) -> FloatArray:
    """Return D_ik = 1{y_i ≤ y_k} − F(y_k|x_i), (n, n), with a few rows of F at a time."""
    y = sample.y[:, 0]
    out = np.empty((sample.n, sample.n))
    step = max(1, CDF_VALUES // sample.n)
    for start in range(0, sample.n, step):
        stop = min(start + step, sample.n)
        cdf = cdf_rows(law, sample, np.arange(start, stop))
        np.subtract(y[start:stop, None] <= y, cdf, out=out[start:stop])
    return out


class CdfSums(NamedTuple):
    """Sums over i ≠ j."""

    total: float  #: Σ K_ij G_ij.
    squares: float  #: Σ K_ij² G_ij².
    forms: FloatArray  #: Σ w_i w_j K_ij G_ij for each column w of m weights, (m,).


class StripSums(NamedTuple):
    """Sums of a strip of rows from the diagonal on; the lists have one number a tile."""

    totals: list[float]
    squares: list[float]
    forms: FloatArray


def cdf_sums(
    gram: Gram, residuals: FloatArray, weights: RowWeights | None, engine: Engine
) -> CdfSums:
    """Sum K_ij G_ij, its square, and K_ij G_ij under each of m sets of weights.

    Sums of tiles are added without rounding, so that the number of threads does not matter.
    """
    n = gram.n
    m = 0 if weights is None else weights.m
    tiles = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]

    def weights_of(rows: slice) -> FloatArray:
        if weights is None:
            return np.empty((rows.stop - rows.start, 0))
        return weights.block(rows.start, rows.stop)

    def sum_strip(number: int) -> StripSums:
        rows = tiles[number]
        totals = []
        squares = []
        products = np.zeros((rows.stop - rows.start, m))
        for columns in tiles[number:]:
            block = residuals[rows] @ residuals[columns].T
            block *= 1.0 / n
            block *= gram.block(rows, columns)
            mirror = 2.0  # a tile off the diagonal stands for its mirror image too
            if rows == columns:
                np.fill_diagonal(block, 0.0)
                mirror = 1.0
            totals.append(mirror * float(block.sum()))
            squares.append(mirror * float(np.square(block).sum()))
            block *= mirror
            products += block @ weights_of(columns)
        return StripSums(totals, squares, np.einsum("ij,ij->j", weights_of(rows), products))

    totals: list[float] = []
    squares: list[float] = []
    forms = np.zeros(m)
    for strip in engine.local.map(sum_strip, range(len(tiles))):
        totals += strip.totals
        squares += strip.squares
        forms += strip.forms
    return CdfSums(math.fsum(totals), math.fsum(squares), forms)
