"""MMD: a two-sample test of the data against samples of the model (paper, Section 5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine
from condgof.errors import ShapeError
from condgof.kernels import CovariateKernel, Gaussian, Gram, Kernel, OnColumns, resolve_x, resolve_y
from condgof.laws import as_model, drawn
from condgof.methods._rows import read_sample, refuse_source
from condgof.null import check_n_boot, permutation_weights, pvalue, settle_ties
from condgof.result import GofResult
from condgof.sample import RngLike, Seed, Use
from condgof.stein import DEFAULT_MEMORY, check_memory, numbered, sweep


def mmd(
    model: Any,
    x: Any,
    y: Any,
    *,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    n_boot: int = 1000,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test a conditional density model against samples of it, with the maximum mean discrepancy.

    H0: p(y|x) is the true conditional density for almost all x. The sample is split at random into
    halves of n₁ and n₂ rows. The first keeps its y; for the second y' is drawn from the model given
    its x. Under H0 the pairs z = (x, y) and z' = (x, y') have the same distribution, which is tested
    with the kernel K(z, z') = k(x, x')·l(y, y') and random permutations of all n pairs. The statistic is
    n/2 times the unbiased

        MMD² = Σ_{i≠j} K(z_i, z_j)/(n₁(n₁−1)) + Σ_{i≠j} K(z'_i, z'_j)/(n₂(n₂−1))
               − 2 Σ_{i,j} K(z_i, z'_j)/(n₁n₂).

    Permutations keep the level exactly, in samples of any size. (With equal halves the biased MMD²
    gives the same p-value: the two differ by a factor and a constant that no permutation changes.)

    Do not use it where the model has scores or a CDF and power counts: half of the data goes, samples
    of the model add noise, and the paper found it weaker than the other tests. It is here as the
    paper's baseline, and for models that can do nothing but sample. Nor should it be used when
    parameters of the model were fitted on this same sample, or when rows are dependent. It takes
    n_boot·n² operations.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which must have a sampler; a tuple (mean, std) will do, scores will not.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates. String and category columns of a frame get a categorical kernel.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; they may be bounded or discrete.
    kernel_x, kernel_y : Kernel
        Kernels on x and y, with a number or ``"median"`` as the bandwidth: the median distance in the
        two halves together. No derivative is taken, so that Laplace may serve on y too.
    scale_x : {"none", "std", "ranks"}
        How numeric columns of x are compared, as in `kcsd`.
    n_boot : int
        Number of permutations.
    missing, rng, engine, memory
        As in `kcsd`; the split, the model's samples and the permutations are random.

    Returns
    -------
    GofResult
        Its ``details`` hold ``n1``, ``n2`` (the rows of the two halves; the first has one more when n
        is odd) and ``mmd2``, the unbiased estimate of MMD².

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 400)
    >>> y = x + x**2 + rng.standard_normal(400)
    >>> line = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> cg.mmd(line, x, y, rng=1).reject(alpha=0.01)
    True
    """
    refuse_source("mmd", x, y)
    n_boot, memory, threads = check_n_boot(n_boot), check_memory(memory), as_engine(engine)
    seed = Seed.of(rng)
    law, sample = read_sample(as_model(model), x, y, missing)
    units, n = sample.units(scale_x), sample.n
    if n < 4:
        raise ShapeError(f"mmd splits the rows in halves of at least 2, so it needs 4 rows, got {n}.")
    order, n1 = seed.stream(Use.SPLIT).permutation(n), (n + 1) // 2
    first, second = np.sort(order[:n1]), np.sort(order[n1:])
    sample = numbered(law, sample)
    of_model = drawn(law.take(second), sample.d_y, seed.stream(Use.MODEL_SAMPLE))
    pooled_x = units.apply(sample.x)[np.concatenate([first, second])]
    pooled_y = np.concatenate([sample.y[first], of_model])
    ready_y = resolve_y(kernel_y, pooled_y, seed, stein=False)
    ready_x = resolve_x(kernel_x, pooled_x, sample.x_columns, seed)
    of_y = OnColumns(ready_y, tuple(range(sample.d_x, sample.d_x + sample.d_y)))
    product = CovariateKernel((*ready_x.factors, of_y))
    gram = Gram.of(product, np.concatenate([pooled_x, pooled_y], axis=1))
    values, rounding = permuted_mmd2(gram, n1, n_boot, seed, threads, memory)
    statistic = 0.5 * n * float(values[0])
    draws = settle_ties(statistic, 0.5 * n * values[1:], 0.5 * n * rounding)
    notes = (*sample.notes(), *law.notes)
    details = {"n1": n1, "n2": n - n1, "mmd2": float(values[0])}
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
        details={**details, **({"notes": notes} if notes else {})},
    )


def permuted_mmd2(
    gram: Gram, n1: int, n_boot: int, seed: Seed, engine: Engine, memory: int
) -> tuple[FloatArray, float]:
    """Return MMD² of the first n₁ rows against the others, as they are and permuted, and its rounding.

    With S₁, S₂ and C the off-diagonal sums of the matrix within and between the groups, it is
    A·S₁ + B·S₂ − 2c·C, A = 1/(n₁(n₁−1)), B = 1/(n₂(n₂−1)), c = 1/(n₁n₂). No permutation changes
    S = S₁ + S₂ + 2C, and for γ = (AB − c²)/(A + B + 2c) what is left, (A−γ)·S₁ + (B−γ)·S₂ − 2(c+γ)·C,
    is a quadratic form: its weights are (A + c)/√(A + B + 2c) in the first group and
    −(B + c)/√(A + B + 2c) in the second.
    """
    n2 = gram.n - n1
    a, b, c = 1.0 / (n1 * (n1 - 1)), 1.0 / (n2 * (n2 - 1)), 1.0 / (n1 * n2)
    whole = a + b + 2.0 * c
    high, low = (a + c) / math.sqrt(whole), -(b + c) / math.sqrt(whole)
    weights = permutation_weights(gram.n, n1, n_boot, seed, high=high, low=low).keeping(memory // 8)
    sums = sweep(gram, weights, engine=engine, memory=memory)
    gamma = (a * b - c * c) / whole
    return sums.forms + gamma * sums.total, 1e-12 * abs(high * low) * sums.total
