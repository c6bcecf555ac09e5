"""Discrepancies at many single locations in x: the paper's FSCD statistic with J = 1, for each of them.

At a location v the matrix k(x_i, v) k(x_j, v) h_ij factors once h does: with h_ij ≈ ψ_i·ψ_j of low
rank, a location has the features k(x_i, v) ψ_i, and sums are linear in n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray, SingleArray
from condgof.engine import Engine, single_threaded_blas
from condgof.kernels import CovariateKernel
from condgof.stein._features import settle
from condgof.stein._landmarks import Landmarks
from condgof.stein._rows import Piece, Rows
from condgof.stein._scale_sweep import ScaleSums
from condgof.stein._sum import Arrays, sum_over
from condgof.stein._sweep import Weights, check_overflow

#: Locations whose draws are one matrix product.
GROUP = 8
#: Rows whose squares are multiplied by those of the weights at a time.
ROWS = 1024
#: A location sees the rows with k above this share of the largest.
SEEN = 1e-5


@dataclass(frozen=True, eq=False)
class LocalKernel:
    """Stein kernels at single locations.

    Parameters
    ----------
    kernel_x : CovariateKernel
        k.
    locations : ndarray of shape (L, d_x)
        V, in the kernel's units.
    factors : tuple of Landmarks
        Low-rank factors of h, one for each bandwidth on y.
    """

    kernel_x: CovariateKernel
    locations: FloatArray
    factors: tuple[Landmarks, ...]

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> LocalRows:
        """Compare rows with the locations, and factor their h."""
        features = tuple(
            np.ascontiguousarray(factor.whiten(factor.compare(factor.kernel.rows(x, y, scores))))
            for factor in self.factors
        )
        return LocalRows(self.kernel_x(self.locations, x), features)


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows as the locations see them.

    Parameters
    ----------
    near : ndarray of shape (L, n)
        k(v, x_i).
    features : tuple of ndarrays of shape (r, n)
        ψ for each bandwidth on y.
    """

    near: FloatArray
    features: tuple[FloatArray, ...]


def local_totals(kernel: LocalKernel, rows: Rows, engine: Engine) -> FloatArray:
    """Sum the off-diagonal matrix of each bandwidth on y and each location, over all rows, (S·L,)."""

    def task(piece: Piece, rows: LocalRows) -> Arrays:
        near = rows.near if piece.keep is None else rows.near * piece.keep
        return _plain(near, rows.features)

    return _totals(sum_over(kernel, rows, engine, task))


def _plain(near: FloatArray, features: tuple[FloatArray, ...]) -> Arrays:
    """Return, for each bandwidth, Σ_i k_i ψ_i and Σ_i k_i² ‖ψ_i‖² of each location."""
    sums: list[FloatArray] = [near @ psi.T for psi in features]
    squares = np.square(near)
    own: list[FloatArray] = [squares @ np.square(psi).sum(axis=0) for psi in features]
    return (*sums, *own)


def _totals(parts: Arrays) -> FloatArray:
    check_overflow(*parts)
    half = len(parts) // 2
    whole = np.concatenate([np.square(sums).sum(axis=1) for sums in parts[:half]])
    own = np.concatenate(parts[half:])
    return settle(whole - own, whole + own)


def local_forms(
    kernel: LocalKernel,
    x: FloatArray,
    y: FloatArray,
    scores: FloatArray,
    weights: Weights,
    engine: Engine,
) -> ScaleSums:
    """Sum the off-diagonal matrices of all locations, plainly and under m sets of weights.

    Returns
    -------
    ScaleSums
        With K = S·L: all locations at the first bandwidth on y, then at the next.
    """
    # One BLAS thread: results must not depend on cores; sums are checked for overflow.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        rows = kernel.rows(x, y, scores)
        parts = _plain(rows.near, rows.features)
        totals = _totals(parts)
    single = weights.block(0, len(y)).astype(np.float32)
    task = _group(rows, single, np.square(single))
    starts = [
        (s, start)
        for s in range(len(kernel.factors))
        for start in range(0, len(kernel.locations), GROUP)
    ]
    forms = np.concatenate(list(engine.local.map(task, starts)))
    check_overflow(forms)
    forms[np.tile(~_has_neighbours(rows.near), len(kernel.factors))] = 0.0
    return ScaleSums(totals, forms, np.concatenate(parts[len(parts) // 2 :]))


def _has_neighbours(near: FloatArray) -> NDArray[np.bool_]:
    """Tell which locations (L,) see two rows or more, by their k(v, x_i) (L, n).

    At the others the draws are differences of equal numbers, whose rounding must not pass for spread.
    """
    squares = np.square(near)
    largest = squares.max(axis=1)
    seen: NDArray[np.bool_] = (largest > SEEN**8) & (squares.sum(axis=1) - largest > SEEN**2 * largest)
    return seen


def _group(
    rows: LocalRows, weights: SingleArray, squares: SingleArray
) -> Callable[[tuple[int, int]], FloatArray]:
    """Return the task that makes the draws of some locations at one bandwidth."""

    def task(item: tuple[int, int]) -> FloatArray:
        s, start = item
        near, psi = rows.near[start : start + GROUP], rows.features[s]
        unit = float(np.sqrt(np.square(psi).sum(axis=0).max())) or 1.0  # single must not overflow
        features = (near[:, None, :] * (psi / unit)).astype(np.float32)
        products = features.reshape(-1, features.shape[2]) @ weights
        forms = np.square(products, dtype=np.float64).reshape(len(near), len(psi), -1).sum(axis=1)
        # In double precision: the square of an outlier must cancel to the last digit.
        for row in range(0, len(squares), ROWS):
            part = slice(row, row + ROWS)
            own = np.square(features[:, :, part], dtype=np.float64).sum(axis=1)
            forms -= own @ squares[part]
        scaled: FloatArray = forms * unit**2
        return scaled

    return task
