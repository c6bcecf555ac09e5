"""From several models on one sample to their discrepancies and the differences of each pair.

D_a is the KCSD of model a, a U-statistic of H^a. For a pair, M = H^a − H^b, and with the row means
g_i = (1/(n−1)) Σ_{j≠i} M_ij the variance of D_a − D_b is

    4·Var(g)/n,   but at least   2·Σ_{i≠j} M_ij² / (n(n−1))²,

what it would be if g vanished (the models cannot be told apart to first order). The first alone is near
0 by chance then, and would let such a pair be told apart by noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, ResponseKernel
from condgof.methods._joint import Joint
from condgof.methods._joint_stream import JointStream
from condgof.methods._solve import Options
from condgof.methods._stream import SUBSAMPLE
from condgof.null import Difference
from condgof.sample import Seed, Use
from condgof.stein import (
    ArrayWeights,
    SteinOperator,
    choose_shared,
    joint_sweep,
    shared_moments,
    shared_sums,
    sweep,
    totals_of,
)

#: "auto" is exact up to this many rows.
EXACT_ROWS = 5000
#: Rows from which the low-rank solver takes the size of M, and its own residual.
SQUARE_ROWS, PROBE = 1024, 400
#: Two matrices nearer to each other than this, relative to their size, are one and the same, if their
#: row means (whose rounding is larger) are, too.
SAME, SAME_SUMS = 1e-12, 1e-10


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Discrepancies of K models and the differences of all pairs.

    Parameters
    ----------
    discrepancies : ndarray of shape (K,)
        D of each model.
    pairs : dict of (int, int) to Difference
        D_a − D_b for a < b.
    covariance : ndarray of shape (K, K)
        Estimated covariance of the discrepancies.
    solver : str
        Which solver ran.
    details : dict
        Rank and residual of the low-rank solver.
    """

    discrepancies: FloatArray
    pairs: dict[tuple[int, int], Difference]
    covariance: FloatArray
    solver: str
    details: dict[str, Any]


def contrast(
    joint: Joint | JointStream,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Contrasts:
    """Compute the discrepancies of all models and the differences of all pairs."""
    if isinstance(joint, Joint) and chosen(options, joint.n) == "exact":
        return _exact(joint, kernel_x, kernel_y, options)
    return _lowrank(joint, kernel_x, kernel_y, options, seed)


def chosen(options: Options, n: int) -> str:
    """Return the solver that runs: a fixed rule in n."""
    if options.solver != "auto":
        return options.solver
    if options.rank is not None or options.tolerance is not None:
        return "lowrank"
    return "exact" if n <= EXACT_ROWS else "lowrank"


def _exact(
    joint: Joint, kernel_x: CovariateKernel, kernel_y: ResponseKernel, options: Options
) -> Contrasts:
    n, operators = joint.n, joint.operators(kernel_x, kernel_y)
    sums = joint_sweep(operators, engine=options.engine, memory=options.memory)
    g = sums.rows / (n - 1)
    means = g.mean(axis=1)
    centred = g - means[:, None]
    pairs = list(combinations(range(len(operators)), 2))
    powers, forms = np.zeros((2, len(pairs))), np.zeros(len(pairs))
    weights = np.column_stack([centred[a] - centred[b] for a, b in pairs]) if pairs else None
    if weights is not None:
        powers = np.stack([(weights**2).sum(axis=0), (weights**3).sum(axis=0)])
        for a, operator in enumerate(operators):
            of_a = [k for k, pair in enumerate(pairs) if a in pair]
            form = sweep(
                operator, ArrayWeights(weights[:, of_a]), engine=options.engine, memory=options.memory
            )
            forms[of_a] += np.where([pairs[k][0] == a for k in of_a], form.forms, -form.forms)
    share = 1.0 / (n * (n - 1))
    return _put_together(
        n,
        means,
        centred @ centred.T,
        powers,
        forms,
        share * sums.squares,
        share * sums.apart,
        ("exact", {}),
    )


def _lowrank(
    joint: Joint | JointStream,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Contrasts:
    n, some, engine = joint.n, joint.subsample, options.engine
    rng = seed.stream(Use.LANDMARKS)
    taken = np.arange(some.n)
    if some.n > SUBSAMPLE:
        taken = np.sort(rng.choice(some.n, SUBSAMPLE, replace=False))
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        features = choose_shared(
            kernel_x,
            kernel_y,
            some.x[taken],
            some.y[taken],
            rng,
            tolerance=options.tolerance or 1e-4,
            cap=options.rank or (500 if n <= 50_000 else 300),
        )
    shape = (len(some.names), features.coordinates, 1)
    rows = joint.rows()
    sums, own = shared_sums(features, rows, lambda x: np.ones((len(x), 1)), shape, engine)
    means = totals_of(sums, own)[:, 0] / (float(n) * (n - 1))
    products, powers, forms = shared_moments(features, rows, sums[..., 0], means, engine)
    few = np.sort(rng.choice(some.n, min(some.n, SQUARE_ROWS), replace=False))
    kernel_rows = [
        SteinOperator.of(some.x[few], some.y[few], s[few], kernel_x, kernel_y) for s in some.each
    ]
    squares = joint_sweep(kernel_rows, engine=engine.local, memory=options.memory)
    share = 1.0 / (len(few) * (len(few) - 1))
    details: dict[str, Any] = {
        "rank": features.rank,
        "residual": _residual(features, some, kernel_rows, few),
    }
    if features.capped:
        details["notes"] = (
            f"rank stopped at {features.rank}; the models are compared through fewer functions than the "
            f"kernels have (relative residual {details['residual']:.1g}), the same for all of them "
            "(raise rank=)",
        )
    return _put_together(
        n,
        means,
        products,
        powers,
        forms,
        share * squares.squares,
        share * squares.apart,
        ("lowrank", details),
    )


def _residual(features: Any, some: Joint, operators: list[SteinOperator], few: Any) -> float:
    """Estimate ‖H − ΞΞᵀ‖_F / ‖H‖_F off the diagonal: the largest of all models."""
    at, largest = few[:PROBE], 0.0
    with single_threaded_blas():
        tile = features.rows(some.x[at], some.y[at], some.scores[at])
        values, gradients = features.compare(tile)
        zeta = features.inverse @ values
        bent = None if gradients is None else features.inverse @ gradients
        for a, operator in enumerate(operators):
            target, s = operator.block(slice(0, len(at)), slice(0, len(at))), tile.scores[:, a]
            if bent is None:
                rest = target - (zeta.T @ zeta) * (s @ s.T)
            else:
                xi = s.T[:, None, :] * zeta + bent
                rest = target - np.einsum("crb,crd->bd", xi, xi)
            np.fill_diagonal(target, 0.0)
            np.fill_diagonal(rest, 0.0)
            size = float(np.linalg.norm(target))
            largest = max(largest, float(np.linalg.norm(rest)) / size if size else 0.0)
    return largest


def _put_together(
    n: int,
    means: FloatArray,
    products: FloatArray,
    powers: FloatArray,
    forms: FloatArray,
    squares: FloatArray,
    apart: FloatArray,
    how: tuple[str, dict[str, Any]],
) -> Contrasts:
    """Make the differences.

    Parameters
    ----------
    n : int
        Number of rows.
    means, products : ndarrays of shape (K,), (K, K)
        Mean row means, and sums of products of the centred ones.
    powers, forms : ndarrays of shape (2, P), (P,)
        Σ g² and Σ g³, and Σ_{i≠j} g_i g_j M_ij of each pair, g centred.
    squares, apart : ndarrays of shape (K,), (P,)
        Means over pairs of rows of H² and of M².
    how : tuple
        Solver and details.
    """
    pairs = {}
    for k, (a, b) in enumerate(combinations(range(len(means)), 2)):
        value, (total, cubes) = float(means[a] - means[b]), (float(power) for power in powers[:, k])
        size = float(squares[a] + squares[b])
        # Both: models may differ in a few rows that are not among those that `apart` comes from.
        if apart[k] <= SAME**2 * size and total <= n * SAME_SUMS**2 * size:
            pairs[a, b] = Difference(0.0, 0.0)
            continue
        variance = max(4.0 * total / (n * (n - 1.0)), 2.0 * float(apart[k]) / (n * (n - 1.0)))
        # g of unit variance in the units of the variance that is used.
        unit = (n * variance / 4.0) ** 1.5
        cross = (float(forms[k]) + 2.0 * cubes + value * total) / (n * (n - 1.0))
        root = float(np.sqrt(n))
        pairs[a, b] = Difference(
            value, float(np.sqrt(variance)), cubes / n / unit / root, cross / unit / root
        )
    covariance = 4.0 * products / (n * (n - 1.0))
    return Contrasts(means, pairs, covariance, *how)
