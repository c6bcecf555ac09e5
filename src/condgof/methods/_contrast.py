"""From several models on one sample to their discrepancies and the differences of each pair.

D_a is the KCSD of model a, a U-statistic of H^a. For a pair, M = H^a − H^b, and with the row means
g_i = (1/(n−1)) Σ_{j≠i} M_ij the variance of D_a − D_b is

    4·Var(g)/n,   but at least   2·Σ_{i≠j} M_ij² / (n(n−1))²,

what it would be if g vanished (the models cannot be told apart to first order). The first alone is near
0 by chance then, and would let such a pair be told apart by noise.

Few rows are summed exactly, by tiles. Many are seen through functions that the models share: features
F of x, and the Stein operator of each model on the same functions of y, ξ^a: H^a ≈ (FFᵀ)∘(ξ^a ξ^aᵀ).
With S^a = Fᵀξ^a the row sums are (F_i S^a)·ξ^a_i − ‖F_i‖²‖ξ^a_i‖²: two passes over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.kernels import CovariateKernel, Radial, ResponseKernel
from condgof.methods._joint import Joint, operator_of
from condgof.methods._options import Options
from condgof.methods._solve import CAPS, CAPS_ABOVE, residual
from condgof.null import Difference
from condgof.sample import Seed, Use
from condgof.stein import (
    ArrayWeights,
    Features,
    Nystrom,
    Piece,
    Plan,
    SteinEvidence,
    added,
    check_overflow,
    matmul,
    reduce_over,
    sweep,
)

#: Relative residual that features of x reach unless asked otherwise, and above which a result says so.
PRECISION, COARSE = 1e-4, 5e-3
#: Rows that the sizes of H and M come from.
SQUARE_ROWS = 1024
#: Two matrices nearer to each other than this, relative to their size, are one and the same, if their
#: row means (whose rounding is larger) are, too.
SAME, SAME_SUMS = 1e-12, 1e-10
#: Mean row means (K,); of the centred ones, products (K, K); of their difference g in each pair, Σg² and
#: Σg³ (2, P), and Σ_{i≠j} g_i g_j M_ij (P,).
Moments: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What a measure says of K models."""

    #: D of each model, (K,).
    discrepancies: FloatArray
    #: D_a − D_b for a < b.
    pairs: dict[tuple[int, int], Difference]
    #: Estimated covariance of the discrepancies, (K, K).
    covariance: FloatArray
    #: Which solver ran, and what is special to it.
    solver: str | None
    details: dict[str, Any]


def contrast(
    joint: Joint, kernel_x: CovariateKernel, kernel_y: ResponseKernel, options: Options, seed: Seed
) -> Contrasts:
    """Compute the Stein discrepancies of all models and the differences of all pairs."""
    kernels, details = (kernel_x, kernel_y), dict[str, Any]()
    exact = joint.source is None and options.chosen(joint.n) == "exact"
    if exact:
        means, products, powers, forms = _exact(joint, *kernels, options)
    else:
        plan, details = _plan(joint, *kernels, options, seed)
        means, products, powers, forms = _lowrank(plan, joint, options.engine)
    squares, apart = _sizes(joint, *kernels, seed)
    n, pairs = joint.n, dict[tuple[int, int], Difference]()
    for k, (a, b) in enumerate(zip(*np.triu_indices(len(means), 1), strict=True)):
        value, (total, cubes) = float(means[a] - means[b]), map(float, powers[:, k])
        size = squares[a] + squares[b]
        # Both: models may differ in a few rows that are not among those that `apart` comes from.
        if apart[k] <= SAME**2 * size and total <= n * SAME_SUMS**2 * size:
            pairs[int(a), int(b)] = Difference(0.0, 0.0)
            continue
        variance = max(4.0 * total, 2.0 * float(apart[k])) / (n * (n - 1.0))
        # g of unit variance in the units of the variance that is used, times √n.
        unit = (n * variance / 4.0) ** 1.5 * n**0.5
        cross = (float(forms[k]) + 2.0 * cubes + value * total) / (n * (n - 1.0))
        pairs[int(a), int(b)] = Difference(value, variance**0.5, cubes / n / unit, cross / unit)
    solver = "exact" if exact else "lowrank"
    return Contrasts(means, pairs, 4.0 * products / (n * (n - 1.0)), solver, details)


def _powers(g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return differences of centred row means g (K, b) for all pairs (P, b), products and powers."""
    first, second = np.triu_indices(len(g), 1)
    apart = g[first] - g[second]
    return apart, g @ g.T, np.stack([(apart**2).sum(axis=1), (apart**3).sum(axis=1)])


def _exact(
    joint: Joint, kernel_x: CovariateKernel, kernel_y: ResponseKernel, options: Options
) -> Moments:
    n, count = joint.n, len(joint.names)
    how: Any = {"engine": options.engine, "memory": options.memory}
    matrices = [operator_of(one, kernel_x, kernel_y) for one in joint.each]
    g = np.stack([matmul(h, np.ones((n, 1)), **how)[:, 0] for h in matrices]) / (n - 1)
    means = g.mean(axis=1)
    apart, products, powers = _powers(g - means[:, None])
    first, second = np.triu_indices(count, 1)
    forms = np.zeros(len(first))
    for a, h in enumerate(matrices if count > 1 else ()):
        forms += ((first == a) * 1.0 - (second == a)) * sweep(h, ArrayWeights(apart.T), **how).forms
    return means, products, powers, forms


def _plan(
    joint: Joint, kernel_x: CovariateKernel, kernel_y: ResponseKernel, options: Options, seed: Seed
) -> tuple[Plan, dict[str, Any]]:
    """Factor both kernels, each on its own, and return what a result says of it."""
    assert isinstance(kernel_y, Radial)
    wanted, caps = options.precision or PRECISION, CAPS if joint.n <= 50_000 else CAPS_ABOVE
    x, y = joint.some[0].x, joint.some[0].y
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        rng = seed.stream(Use.LANDMARKS)
        maker = Nystrom.on(kernel_x, x, rng, precision=wanted, cap=caps[0])
        # Functions of y for all models alike: scores of none of them choose the landmarks.
        rng, none = seed.stream(Use.LANDMARKS, 2), np.zeros(y.shape)
        finer, cap = wanted / 10.0, caps[1]
        evidence, _ = SteinEvidence.on((kernel_y,), y, none, rng, precision=finer, cap=cap)
        plan = Plan(Features((maker,)), evidence)
        reached = max(residual(plan, one, kernel_x, kernel_y) for one in joint.some)
    shape = (plan.features.width, evidence.blocks[-1].columns.stop)
    details: dict[str, Any] = {"precision": reached, "landmarks": shape}
    if reached > max(wanted, COARSE):
        details["notes"] = (
            f"the models were compared through {shape[0]} functions of x, the same for all of them, to "
            f"a relative residual of {reached:.1g} (precision={wanted:g} was wanted)",
        )
    return plan, details


def seen(plan: Plan, piece: Piece, count: int) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """Return F (b, R) of a piece, and for each of `count` models ξ (b, q) and ‖ξ‖² (b, 1)."""
    each = [plan.evidence.of(piece.y, s) for s in np.split(np.asarray(piece.scores), count, axis=1)]
    return plan.features.of(piece.x), each, [np.square(xi).sum(axis=1, keepdims=True) for xi in each]


def _lowrank(plan: Plan, joint: Joint, engine: Engine) -> Moments:
    n, count, rows = float(joint.n), len(joint.names), joint.rows()
    first, second = np.triu_indices(count, 1)

    def add(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        sizes = np.square(f)
        return [np.stack([f.T @ xi for xi in each]), np.concatenate([s.T @ sizes for s in squares])]

    # Σ_i F_i⊗ξ_i (K, R, q) and Σ_i F_i²‖ξ_i‖² (K, R) of each model.
    sums, own = reduce_over(rows, engine, add, added)
    check_overflow(sums, own)
    means = (np.square(sums).sum(axis=(1, 2)) - own.sum(axis=1)) / (n * (n - 1.0))

    def task(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        norms = np.square(f).sum(axis=1) * np.concatenate(squares, axis=1).T
        whole = np.stack([((f @ s) * xi).sum(axis=1) for s, xi in zip(sums, each, strict=True)])
        apart, products, powers = _powers((whole - norms) / (n - 1.0) - means[:, None])
        weighted = np.zeros((len(first), 2, *sums.shape[1:]))
        for k, g in enumerate(apart):
            weighted[k] = [(f * g[:, None]).T @ each[a] for a in (first[k], second[k])]
        own = (np.square(apart) * (norms[first] - norms[second])).sum(axis=1)
        return [products, powers, weighted, own]

    products, powers, weighted, own = reduce_over(rows, engine, task, added)
    check_overflow(products, weighted)
    squares = np.square(weighted).sum(axis=(2, 3))
    return means, products, powers, squares[:, 0] - squares[:, 1] - own


def _sizes(
    joint: Joint, kernel_x: CovariateKernel, kernel_y: ResponseKernel, seed: Seed
) -> tuple[FloatArray, FloatArray]:
    """Return means over pairs of (some) rows of (H^a)² (K,) and of (H^a − H^b)² (P,)."""
    some, whole = joint.some, slice(None)
    if some[0].n > SQUARE_ROWS:
        few = seed.stream(Use.LANDMARKS, 3).choice(some[0].n, SQUARE_ROWS, replace=False)
        some = tuple(one.take(np.sort(few)) for one in some)
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        each = [operator_of(one, kernel_x, kernel_y).block(whole, whole) for one in some]
        for h in each:
            np.fill_diagonal(h, 0.0)
        squares = np.array([np.vdot(h, h) for h in each])
        # Not from products of sums: near models differ by less than what those would round off.
        pairs = zip(*np.triu_indices(len(each), 1), strict=True)
        apart = np.array([np.square(each[a] - each[b]).sum() for a, b in pairs])
    check_overflow(squares, apart)
    share = 1.0 / (some[0].n * (some[0].n - 1.0))
    return share * squares, share * apart
