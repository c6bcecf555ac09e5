"""Landmarks of a kernel: rows through which all others are seen, by randomly pivoted Cholesky.

k ≈ k(·, S) k(S, S)⁻¹ k(S, ·) for landmark rows S. Each block of pivots is drawn with probability
proportional to what is left of the diagonal (Chen, Epperly, Tropp and Webber).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray

#: Pivots that are drawn together.
BLOCK = 24
#: A pivot below this share of its own diagonal entry is numerically a copy of others.
SMALLEST_PIVOT = 1e-10
#: Directions below this share of the largest are left out of what is computed in single precision.
SINGLE = 1e-6


@dataclass(frozen=True, eq=False)
class Pivots:
    """Rows that were chosen, and the share of the (weighted) trace that they leave."""

    index: IntArray
    residual: float


def choose_pivots(
    kernel: Callable[[FloatArray, FloatArray], FloatArray],
    points: FloatArray,
    rng: np.random.Generator,
    *,
    tolerance: float,
    cap: int,
    weight: FloatArray | None = None,
) -> Pivots:
    """Choose rows until at most a share `tolerance` of the trace of a kernel's matrix is left."""
    n, cap = len(points), min(cap, len(points))
    left, chosen = np.ones(n), np.empty(0, dtype=np.int64)
    weight = np.ones(n) if weight is None else weight / weight.max()
    total, features = float(weight.sum()), np.empty((n, cap))
    while len(chosen) < cap and float(weight @ left) > tolerance * total:
        k, open_ = len(chosen), np.where(left > SMALLEST_PIVOT, weight * left, 0.0)
        size = min(BLOCK, cap - k, int(np.count_nonzero(open_)))
        if not size:
            break
        drawn = rng.choice(n, size, replace=False, p=open_ / open_.sum())
        new = kernel(points, points[drawn]) - features[:, :k] @ features[drawn, :k].T
        kept, factor = _small_cholesky(new[drawn])
        columns = slice(k, k + len(kept))
        features[:, columns] = np.linalg.solve(factor, new[:, kept].T).T
        chosen = np.concatenate([chosen, drawn[kept]])
        left = np.maximum(left - np.square(features[:, columns]).sum(axis=1), 0.0)
        left[chosen] = 0.0
    return Pivots(chosen, float(weight @ left) / total if total else 0.0)


def _small_cholesky(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Factor a small positive semi-definite matrix, largest pivot first, leaving out near copies."""
    left, size = np.diag(matrix).copy(), len(matrix)
    floor, factor = 1e-3 * float(left.max()), np.zeros((size, size))
    kept: list[int] = []
    for k in range(size):
        pivot = int(np.argmax(left))
        if kept and left[pivot] <= floor:
            break
        kept.append(pivot)
        column = matrix[:, pivot] - factor[:, :k] @ factor[pivot, :k]
        factor[:, k] = column / np.sqrt(max(left[pivot], SMALLEST_PIVOT))
        left = left - factor[:, k] ** 2
        left[kept] = -np.inf
    order = np.array(kept, dtype=np.int64)
    return order, np.tril(factor[order][:, : len(order)])


def whitening(matrix: FloatArray, smallest: float = 1e-9, *, single: bool = False) -> AnyArray:
    """Return W (r, r') with W Wᵀ ≈ matrix⁻¹, leaving out directions below a share of the largest.

    In single precision these are more directions: W multiplies rounding errors by 1/√smallest.

    Examples
    --------
    >>> matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    >>> w = whitening(matrix)
    >>> np.round(w.T @ matrix @ w, 12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > (max(smallest, SINGLE) if single else smallest) * values[-1]
    white: FloatArray = axes[:, kept] / np.sqrt(values[kept])
    return np.ascontiguousarray(white[:, ::-1], dtype=np.float32 if single else np.float64)
