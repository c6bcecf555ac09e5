"""A low-rank factor of the Stein matrix, from a few rows of it.

H ≈ H(·,S) H(S,S)⁻¹ H(S,·) for landmark rows S, which randomly pivoted Cholesky chooses: each block of
pivots is drawn with probability proportional to what is left of the diagonal (Chen, Epperly, Tropp and
Webber). Once S is known, a row z has the features L⁻¹H(S, z), where LLᵀ = H(S,S).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.stein._kernel import PairKernel, Prepared
from condgof.stein._kernel import Rows as Index
from condgof.stein._operator import SteinOperator
from condgof.stein._sweep import check_overflow

#: Pivots that are drawn together.
BLOCK = 48
#: Pairs of rows on which the relative residual is estimated, as rows of a square.
PROBE = 400
#: A pivot below this share of its own diagonal entry is numerically a duplicate of others. Not of the
#: largest entry: one observation that the model holds to be impossible must not hide all others.
SMALLEST_PIVOT = 1e-11


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmark rows with the factor that turns comparisons with them into features.

    Parameters
    ----------
    kernel : SteinKernel or CentredKernel
        How rows are compared.
    rows : SteinRows or CentredRows
        The r landmark rows.
    inverse : ndarray of shape (r, r)
        L⁻¹, lower triangular, with LLᵀ = H(S, S).
    residual : float
        Estimate of ‖H − ΦΦᵀ‖_F / ‖H‖_F off the diagonal.
    capped : bool
        Whether the rank stopped at its cap, above the tolerance.
    """

    kernel: PairKernel
    rows: Prepared
    inverse: FloatArray
    residual: float
    capped: bool

    @property
    def rank(self) -> int:
        """Number of landmarks."""
        return len(self.inverse)

    def compare(self, rows: Prepared) -> FloatArray:
        """Return H(S, z) for rows z, (r, len(rows))."""
        return self.kernel.block(self.rows, rows)

    def whiten(self, values: FloatArray) -> FloatArray:
        """Return L⁻¹ times values (r, ·)."""
        whitened: FloatArray = self.inverse @ values
        return whitened


class Matrix(Protocol):
    """A positive semi-definite matrix that is never built."""

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        ...

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        ...

    def block(self, rows: Index, columns: Index) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        ...


@dataclass(frozen=True, eq=False)
class Pivots:
    """Rows that randomly pivoted Cholesky chose.

    Parameters
    ----------
    index : ndarray of shape (r,)
        Their numbers, in the order of the factor.
    triangle : ndarray of shape (r, r)
        L with LLᵀ = H(S, S).
    residual : float
        Estimate of ‖H − ΦΦᵀ‖_F / ‖H‖_F off the diagonal.
    capped : bool
        Whether the rank stopped at its cap, above the tolerance.
    """

    index: IntArray
    triangle: FloatArray
    residual: float
    capped: bool


def choose_landmarks(
    operator: SteinOperator, rng: np.random.Generator, *, tolerance: float, cap: int
) -> Landmarks:
    """Choose landmarks among the rows of a (sub)sample; see `choose_pivots`."""
    pivots = choose_pivots(operator, rng, tolerance=tolerance, cap=cap)
    return Landmarks(
        operator.kernel,
        operator.sample.take(pivots.index),
        np.tril(np.linalg.inv(pivots.triangle)),
        pivots.residual,
        pivots.capped,
    )


def choose_pivots(operator: Matrix, rng: np.random.Generator, *, tolerance: float, cap: int) -> Pivots:
    """Choose rows of a matrix until the residual of the factor is small enough.

    Parameters
    ----------
    operator : Matrix
        The matrix of the (sub)sample, (n, n).
    rng : numpy.random.Generator
        Draws pivots and the pairs on which the residual is estimated.
    tolerance : float
        Stop when the estimated relative residual is at most this.
    cap : int
        Stop at this rank.
    """
    n, cap = operator.n, min(cap, operator.n)
    left = operator.diag()
    check_overflow(left)
    floor = SMALLEST_PIVOT * left
    probe = np.sort(rng.choice(n, min(n, PROBE), replace=False))
    target = operator.block(probe, probe)
    np.fill_diagonal(target, 0.0)
    norm = float(np.linalg.norm(target))
    features, pivots, residual = np.empty((n, cap)), np.empty(0, dtype=np.int64), 1.0
    while len(pivots) < cap:
        k = len(pivots)
        drawn = _draw(left, min(BLOCK, cap - k), floor, rng)
        if not len(drawn):
            break
        new = operator.block(slice(0, n), drawn)
        new -= features[:, :k] @ features[drawn, :k].T
        kept, factor = _pivoted_cholesky(new[drawn], floor[drawn])
        if not len(kept):  # rounding alone was left of them
            left[drawn] = 0.0
            continue
        pivots = np.concatenate([pivots, drawn[kept]])
        columns = slice(k, len(pivots))
        features[:, columns] = new[:, kept] @ np.linalg.inv(factor).T
        left -= np.square(features[:, columns]).sum(axis=1)
        left[drawn] = np.where(np.isin(drawn, pivots), 0.0, left[drawn])
        of_probe = features[probe, : len(pivots)]
        rest = target - of_probe @ of_probe.T
        np.fill_diagonal(rest, 0.0)
        residual = float(np.linalg.norm(rest)) / norm if norm else 0.0
        if residual <= tolerance:
            break
    # In exact arithmetic the features of the pivots are this triangle; rounding fills the rest.
    triangle = np.tril(features[pivots, : len(pivots)])
    return Pivots(pivots, triangle, residual, len(pivots) >= cap < n and residual > tolerance)


def _draw(left: FloatArray, count: int, floor: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw different rows with probability proportional to what is left of the diagonal."""
    weight = np.where(left > floor, left, 0.0)
    candidates = int(np.count_nonzero(weight))
    if not candidates:
        return np.empty(0, dtype=np.int64)
    size = min(count, candidates)
    return np.asarray(rng.choice(len(left), size, replace=False, p=weight / weight.sum()))


def _pivoted_cholesky(matrix: FloatArray, floor: FloatArray) -> tuple[IntArray, FloatArray]:
    """Factor a small positive semi-definite matrix, largest pivot first, leaving out duplicates.

    Returns
    -------
    kept : ndarray of shape (t,)
        The rows that were factored, in order.
    factor : ndarray of shape (t, t)
        Lower triangular, factor @ factor.T = matrix[kept][:, kept].
    """
    size = len(matrix)
    left = np.diag(matrix).copy()
    # Rows drawn together may be near copies of each other: one of them is enough for now.
    floor = np.maximum(floor, 1e-3 * float(left.max()) / size)
    factor, kept = np.zeros((size, size)), []
    for k in range(size):
        pivot = int(np.argmax(left))
        if left[pivot] <= floor[pivot]:
            break
        kept.append(pivot)
        column = matrix[:, pivot] - factor[:, :k] @ factor[pivot, :k]
        factor[:, k] = column / np.sqrt(left[pivot])
        left = left - factor[:, k] ** 2
        left[kept] = -np.inf
    order = np.array(kept, dtype=np.int64)
    return order, np.tril(factor[order][:, : len(order)])
