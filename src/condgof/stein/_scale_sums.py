"""Sums over the Stein matrices of all scales, without draws, for many samples that share their x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from condgof._typing import FloatArray
from condgof.stein._scales import ScaleKernel, ScaleRows
from condgof.stein._sweep import check_overflow

#: Rows and columns of a tile.
TILE = 128


@dataclass(frozen=True, eq=False)
class ScaleTiles:
    """The upper half of the matrix in tiles, with the factor of x where it is kept.

    Parameters
    ----------
    n : int
        Number of rows.
    on_x : tuple of ndarrays of shape (A, rows, columns), optional
        k at each of the A scales of x for each tile: 0 on the diagonal of the matrix, and twice what it
        is right of the diagonal, where a tile stands for its mirror image too.
    """

    n: int
    on_x: tuple[FloatArray, ...] | None

    @classmethod
    def of(cls, kernel: ScaleKernel, rows: ScaleRows, memory: int) -> ScaleTiles:
        """Compare the rows of x once and for all, if that fits into `memory` bytes."""
        n = len(rows)
        if 8 * len(kernel.x_scales) * n * (n + TILE) // 2 > memory:
            return cls(n, None)
        return cls(n, tuple(_on_x(kernel, rows, a, b) for a, b in _tiles(n)))

    def sums(self, kernel: ScaleKernel, rows: ScaleRows) -> FloatArray:
        """Sum the off-diagonal Stein matrices of all scales, on this thread, (K,)."""
        totals = np.zeros((len(kernel.y_scales), len(kernel.x_scales)))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # checked below
            for number, (a, b) in enumerate(_tiles(self.n)):
                k = _on_x(kernel, rows, a, b) if self.on_x is None else self.on_x[number]
                flat = k.reshape(len(k), -1)
                for scale, h in enumerate(kernel.factors_y(rows.take(a), rows.take(b))):
                    totals[scale] += flat @ h.ravel()
        check_overflow(totals)
        return totals.ravel()


def _tiles(n: int) -> Iterator[tuple[slice, slice]]:
    cuts = list(pairwise([*range(0, n, TILE), n]))
    for i, own in enumerate(cuts):
        for other in cuts[i:]:
            yield slice(*own), slice(*other)


def _on_x(kernel: ScaleKernel, rows: ScaleRows, a: slice, b: slice) -> FloatArray:
    k = np.stack(kernel.factors_x(rows.take(a), rows.take(b)))
    if a == b:
        for square in k:
            np.fill_diagonal(square, 0.0)
    else:
        k *= 2.0
    return k
