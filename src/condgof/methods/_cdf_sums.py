"""Sums over pairs for Zheng's test: K_ij G_ij with G = DDᵀ/n, in tiles and slabs of rows.

D is n×n. A slab of its rows is held at a time (all of them where they fit into the budget), with a tile
of the rows below it; products are cut into tiles of a fixed size. What a tile gives depends neither on
the slabs nor on the threads, and the sums of tiles are added up without rounding: the statistic is the
same for any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.kernels import Gram
from condgof.stein import Weights

TILE = 256


@dataclass(frozen=True, eq=False)
class CdfSums:
    """Sums over i ≠ j.

    Parameters
    ----------
    total, squares : float
        Σ K_ij G_ij and Σ (K_ij G_ij)².
    forms : ndarray of shape (m,)
        Σ w_i w_j K_ij G_ij for each column w of the weights.
    """

    total: float
    squares: float
    forms: FloatArray


def cdf_sums(
    gram: Gram,
    residuals: Callable[[int, int], FloatArray],
    weights: Weights | None,
    *,
    engine: Engine,
    memory: int,
) -> CdfSums:
    """Sum K∘G, its square, and K∘G under m sets of weights, over all pairs of different rows.

    Parameters
    ----------
    gram : Gram
        K, (n, n).
    residuals : callable
        (start, stop) → those rows of D, (stop − start, n). It is called on this thread alone, once for
        each row where D fits into the budget.
    weights : Weights, optional
        The weights, (n, m).
    engine : Engine
        Where the work runs: always on this machine, next to D.
    memory : int
        Budget in bytes.
    """
    n, m = gram.n, 0 if weights is None else weights.m
    rows = slab_rows(n, memory)
    threads = max(1, memory // (2 * 8 * (4 * TILE * TILE + 4 * TILE * m)))
    totals, squares, forms = [], [], np.zeros(m)
    for top, upper, left, lower in _slabs(n, rows, residuals):
        strip = _strip(gram, weights, (top, upper), (left, lower))
        for part in engine.local.map(strip, range(0, len(upper), TILE), most=threads):
            totals += part[0]
            squares += part[1]
            forms += part[2]
    return CdfSums(math.fsum(totals), math.fsum(squares), forms)


def slab_rows(n: int, memory: int) -> int:
    """Return how many rows of D to hold: whole tiles, with those of one more in half of the budget.

    Examples
    --------
    >>> slab_rows(1000, 2**29), slab_rows(10_000, 2**29), slab_rows(10_000, 2**20)
    (1024, 3072, 256)
    """
    if 8 * n * n <= memory // 2:
        return -(-n // TILE) * TILE
    return max(1, memory // 2 // (8 * n * TILE) - 1) * TILE


def _slabs(
    n: int, rows: int, residuals: Callable[[int, int], FloatArray]
) -> Iterator[tuple[int, FloatArray, int, FloatArray]]:
    """Yield each slab with itself and with each tile of the rows below it; each has its first row."""
    for top in range(0, n, rows):
        upper = residuals(top, min(top + rows, n))
        yield top, upper, top, upper
        for left in range(top + rows, n, TILE):
            yield top, upper, left, residuals(left, min(left + TILE, n))


def _strip(
    gram: Gram, weights: Weights | None, upper: tuple[int, FloatArray], lower: tuple[int, FloatArray]
) -> Callable[[int], tuple[list[float], list[float], FloatArray]]:
    """Return the task that sums the tiles right of the diagonal in a strip of rows of the upper slab."""
    (top, D_upper), (left, D_lower) = upper, lower
    n = gram.n

    def task(offset: int) -> tuple[list[float], list[float], FloatArray]:
        own = D_upper[offset : offset + TILE]
        rows = slice(top + offset, top + offset + len(own))
        totals, squares = [], []
        products = None if weights is None else np.zeros((len(own), weights.m))
        for other in range(offset if left == top else 0, len(D_lower), TILE):
            part = D_lower[other : other + TILE]
            columns = slice(left + other, left + other + len(part))
            block = own @ part.T
            block *= 1.0 / n
            block *= gram.block(rows, columns)
            mirror = 2.0  # a tile off the diagonal stands for its mirror image too
            if rows == columns:
                np.fill_diagonal(block, 0.0)
                mirror = 1.0
            totals.append(mirror * float(block.sum()))
            squares.append(mirror * float(np.square(block).sum()))
            if products is not None and weights is not None:
                block *= mirror
                products += block @ weights.block(columns.start, columns.stop)
        if products is None or weights is None:
            return totals, squares, np.zeros(0)
        return totals, squares, np.einsum("ij,ij->j", weights.block(rows.start, rows.stop), products)

    return task
