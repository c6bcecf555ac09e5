"""Zheng's test of a conditional distribution function (paper, Section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import as_engine
from condgof.errors import NumericalError, ShapeError
from condgof.kernels import Categorical, CovariateKernel, Gaussian, Gram, OnColumns
from condgof.laws import Law, as_model, cdf_rows
from condgof.methods._cdf_sums import CdfSums, cdf_sums
from condgof.methods._dependence import Asked, given_dependence
from condgof.methods._stream import read_sample, refuse_source
from condgof.null import Dependence, check_null, normal_pvalue, pvalue, settle_ties
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed
from condgof.stein import DEFAULT_MEMORY, check_memory, numbered

#: Values of the CDF to ask a model for at a time.
CDF_VALUES = 2**18


def zheng(
    model: Any,
    x: Any,
    y: Any,
    *,
    null: str = "normal",
    n_boot: int = 1000,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test a conditional density model of one response through its CDF, with Zheng's statistic.

    H0: F(y|x) is the true conditional distribution function for almost all x. Residuals of the CDF
    at all observed y are compared between rows that are near in x. With sums over i ≠ j,

        D_ik = 1{y_i ≤ y_k} − F(y_k|x_i),   G = DDᵀ/n,   K_ij = exp(−½ Σ_c ((x_ic − x_jc)/h_c)²),
        A = Σ K_ij G_ij / (n(n−1)),   B = 2 Σ K_ij² G_ij² / (n(n−1)),   T = n·A/√B,

    with bandwidths h_c = ŝ_c·n^(−1/(12 d_x)), ŝ_c the standard deviation of column c (the paper's
    choice, like the Gaussian kernel in place of Zheng's own). T is standard normal in the limit of
    bandwidths that shrink; these shrink so slowly that T stays skewed to the right, and the normal
    null rejects true models too often when α is small. ``null="wild"`` does not lean on the limit.

    Do not use it when x has many columns (rows are then all far from each other, and power is lost),
    or when parameters of the model were fitted on this same sample; rows that depend on each other need
    ``null="wild"`` with ``dependence=`` or ``groups=``. It is for one column of y. It takes n³
    operations, and is for n up to about 10,000; beyond, use `kcsd`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which must have a CDF; a tuple (mean, std) will do, scores will not. Each row's CDF
        is evaluated at all n values of y.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates. Constant columns are left out; string and category columns of a frame multiply
        K by 1 where they agree and by 0.5 where they do not (`Categorical`). d_x in h_c counts the
        numeric columns that vary.
    y : array_like or frame of shape (n,) or (n, 1)
        Responses; they may be bounded or discrete.
    null : {"normal", "wild"}
        The upper tail of the normal limit (the paper's), or random signs, n_boot draws
        n/√B · Σ ε_i ε_j K_ij G_ij / (n(n−1)).
    n_boot : int
        Number of draws for ``null="wild"``.
    dependence, groups
        As in `kcsd`, for ``null="wild"`` only (there is no "auto": a CDF has no scores to look at).
    missing : {"refuse", "drop", "level"}
        What to do about missing values: refuse them, leave their rows out, or make "missing" a level of
        the column of x. The result says how many there were.
    rng : int, numpy.random.Generator or None
        Where the signs come from; nothing else is random.
    engine : None, int or dask.distributed.Client
        Number of threads; None takes all cores. (The work stays on this machine.)
    memory : int
        Bytes to work in. D takes 8n²; where that is more than half of `memory` its rows are computed
        again for each part of it that fits. It needs at least about 4,000·n bytes and some MB.

    Returns
    -------
    GofResult
        With T as the statistic; ``null_distribution`` is None with the normal null, kernels are None
        always. Its ``details`` hold ``A``, ``B`` and ``bandwidths``, h_c for each column of x (None for
        those that have none).

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 300)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(300)
    >>> line = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> cg.zheng(line, x, y).reject(alpha=0.01)
    True
    """
    refuse_source("zheng", x, y)
    check_null(null, n_boot, ("normal", "wild"))
    asked = Asked.of(dependence, groups, null)
    memory, threads = check_memory(memory), as_engine(engine)
    seed = Seed.of(rng)
    law, sample = read_sample(as_model(model), x, y, missing)
    if sample.d_y != 1:
        raise ShapeError(
            f"zheng is for one column of y, and y has {sample.d_y}: it compares distribution functions. "
            "Use kcsd, fscd or mmd, or test the columns of y one at a time."
        )
    sample = numbered(law, sample)
    if not law.can("cdf"):
        law.lacks("cdf")
    depend = given_dependence(asked, sample.n, x, int(n_boot), sample)
    weights = None
    if null == "wild":
        weights = depend.weights(null, sample.n, int(n_boot), seed, memory // 8)
    smoother = Smoother.of(sample)
    residuals = cdf_residuals(law, sample)
    sums = cdf_sums(smoother.gram, residuals, weights, engine=threads, memory=memory)
    notes = (*sample.notes(), *law.notes, *depend.notes)
    return _result(sample, sums, smoother.bandwidths, null, seed, notes, depend)


@dataclass(frozen=True, eq=False)
class Smoother:
    """K, with its bandwidths for each column of x (None for those that have none)."""

    gram: Gram
    bandwidths: tuple[float | None, ...]

    @classmethod
    def of(cls, sample: Sample) -> Smoother:
        """Choose the bandwidths: h_c = ŝ_c·n^(−1/(12 d_x)) over the d_x numeric columns that vary."""
        varying = [i for i, column in enumerate(sample.x_columns) if not column.constant]
        levels = [i for i in varying if sample.x_columns[i].categorical]
        numeric = [i for i in varying if i not in levels]
        stds = sample.scales("std")
        shrink = sample.n ** (-1.0 / (12 * max(1, len(numeric))))
        factors = [OnColumns(Gaussian(float(stds[i]) * shrink), (i,)) for i in numeric]
        if levels:
            factors.append(OnColumns(Categorical(), tuple(levels)))
        bandwidths = tuple(float(s) * shrink if i in numeric else None for i, s in enumerate(stds))
        return cls(Gram.of(CovariateKernel(tuple(factors)), sample.x), bandwidths)


def cdf_residuals(law: Law, sample: Sample) -> Callable[[int, int], FloatArray]:
    """Return the function (start, stop) → D_ik = 1{y_i ≤ y_k} − F(y_k|x_i), (stop − start, n)."""
    y = sample.y[:, 0]
    step = max(1, CDF_VALUES // sample.n)

    def residuals(start: int, stop: int) -> FloatArray:
        out = np.empty((stop - start, sample.n))
        for first in range(start, stop, step):
            rows = np.arange(first, min(first + step, stop))
            part = out[first - start : first - start + len(rows)]
            np.subtract(y[rows, None] <= y, cdf_rows(law, sample, rows), out=part)
        return out

    return residuals


def _result(
    sample: Sample,
    sums: CdfSums,
    bandwidths: tuple[float | None, ...],
    null: str,
    seed: Seed,
    notes: tuple[str, ...],
    depend: Dependence,
) -> GofResult:
    n = sample.n
    pairs = n * (n - 1)
    A, B = sums.total / pairs, 2.0 * sums.squares / pairs
    if not B > 0:
        raise NumericalError(
            "Zheng's statistic is 0/0: no two rows are near enough in x to be compared (with very many "
            "columns all of K is 0 in double precision), or the residuals of the CDF are 0. "
            "Use fewer columns of x, or kcsd."
        )
    T = n * A / math.sqrt(B)
    details: dict[str, Any] = {"A": A, "B": B, "bandwidths": bandwidths, **depend.details()}
    draws = None
    if null == "wild":
        # T has about unit variance, so that rounding is absolute.
        draws = settle_ties(T, sums.forms / ((n - 1) * math.sqrt(B)), 1e-11)
    return GofResult(
        statistic=T,
        pvalue=normal_pvalue(T) if draws is None else pvalue(T, draws),
        method="zheng",
        n=n,
        null_distribution=draws,
        null=null if draws is None else depend.named(null),
        seed=seed.value,
        details={**details, **({"notes": notes} if notes else {})},
    )
