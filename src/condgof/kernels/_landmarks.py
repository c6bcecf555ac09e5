"""Landmarks: a few rows through which a kernel is seen, k ≈ k(·, S) k(S, S)⁻¹ k(S, ·).

Rows S are chosen by randomly pivoted Cholesky: each block of pivots is drawn with
probability proportional to what is left of the diagonal (Chen, Epperly, Tropp and Webber).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray

#: Pivots that are drawn together: one product of matrices serves them all.
PIVOTS_AT_ONCE = 24
#: A pivot below this share of its own diagonal entry is numerically a copy of others.
SMALLEST_PIVOT = 1e-10
#: Within a block, a pivot below this share of the largest waits for the next block.
SMALLEST_IN_BLOCK = 1e-3
#: W divides by roots of eigenvalues, and so multiplies rounding errors: eigenvectors whose
#: eigenvalue is below this share of the largest are left out in double precision.
SMALLEST_IN_DOUBLE = 1e-9
#: The same in single precision.
SMALLEST_IN_SINGLE = 1e-6


class Landmarks(NamedTuple):
    """Rows that were chosen as landmarks."""

    rows: IntArray  #: Their numbers, (r,), in the order in which they were chosen.
    residual: float  #: Share of the (weighted) trace of the kernel that they leave.


def choose_landmarks(
    kernel: Callable[[FloatArray, FloatArray], FloatArray],
    points: FloatArray,
    rng: np.random.Generator,
    *,
    tolerance: float,
    cap: int,
    weight: FloatArray | None = None,
) -> Landmarks:
    """Choose rows until a share `tolerance` of the (weighted) trace is left.

    Parameters
    ----------
    kernel : callable
        (a, d) and (b, d) → (a, b), with ones on its diagonal.
    points : ndarray of shape (n, d)
        The rows to choose from.
    tolerance, cap : float, int
        The share of Σ_i w_i k(i, i) at which to stop, and the largest number of landmarks.
    weight : ndarray of shape (n,), optional
        w: how much each row counts; 1 unless given.
    """
    n = len(points)
    cap = min(cap, n)
    weight = np.ones(n) if weight is None else weight / weight.max()
    total = float(weight.sum())
    factor = np.empty((n, cap))  # the Cholesky factor so far: k ≈ factor·factorᵀ
    left = np.ones(n)  # what is left of the diagonal
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < cap and float(weight @ left) > tolerance * total:
        count = len(chosen)
        chance = np.where(left > SMALLEST_PIVOT, weight * left, 0.0)
        size = min(PIVOTS_AT_ONCE, cap - count, int(np.count_nonzero(chance)))
        if not size:
            break
        pivots = rng.choice(n, size, replace=False, p=chance / chance.sum())
        known = factor[:, :count] @ factor[pivots, :count].T
        columns = kernel(points, points[pivots]) - known  # what is left of these, (n, size)
        kept, root = _small_cholesky(columns[pivots])
        new = slice(count, count + len(kept))
        factor[:, new] = np.linalg.solve(root, columns[:, kept].T).T
        chosen = np.concatenate([chosen, pivots[kept]])
        left = np.maximum(left - np.square(factor[:, new]).sum(axis=1), 0.0)
        left[chosen] = 0.0
    residual = float(weight @ left) / total if total else 0.0
    return Landmarks(rows=chosen, residual=residual)


class _SmallFactor(NamedTuple):
    """The Cholesky factor of the pivots of a block that are no near copies of others."""

    order: IntArray  #: The pivots that were kept, (r,), largest first.
    root: FloatArray  #: Lower triangular, (r, r): root·rootᵀ is the matrix of the kept.


def _small_cholesky(matrix: FloatArray) -> _SmallFactor:
    """Factor a positive semi-definite matrix, largest pivot first, without near copies."""
    size = len(matrix)
    left = np.diag(matrix).copy()
    floor = SMALLEST_IN_BLOCK * float(left.max())
    factor = np.zeros((size, size))
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
    return _SmallFactor(order=order, root=np.tril(factor[order][:, : len(order)]))


def whitening(
    matrix: FloatArray, smallest: float = SMALLEST_IN_DOUBLE, *, single: bool = False
) -> AnyArray:
    """Return W (r, r') with W Wᵀ ≈ matrix⁻¹, for a positive semi-definite matrix (r, r).

    Eigenvectors whose eigenvalue is below a share `smallest` of the largest are left out;
    with `single` W is in single precision, and more of them are.
    """
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    floor = max(smallest, SMALLEST_IN_SINGLE) if single else smallest
    kept = values > floor * values[-1]
    white: FloatArray = axes[:, kept] / np.sqrt(values[kept])
    return np.ascontiguousarray(white[:, ::-1], dtype=np.float32 if single else np.float64)
