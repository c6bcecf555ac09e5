"""One pass over the rows with landmark features: sums of size r, linear in n.

Rows come in pieces that are cut by global row number, and pieces are added up in order: results do
not depend on threads, files or chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.stein._features import settle
from condgof.stein._kernel import Prepared
from condgof.stein._landmarks import Landmarks
from condgof.stein._rows import Piece, Rows
from condgof.stein._sum import Arrays, sum_over
from condgof.stein._sweep import Sums, Weights, check_overflow

#: Rows that are compared with the landmarks at a time: the tile should stay in the cache.
TILE = 256


@dataclass(frozen=True, eq=False)
class Moments:
    """What the spectral null needs: the off-diagonal sum of ΦΦᵀ and the eigenvalues of ΦᵀΦ/n."""

    n: int
    total: float
    eigenvalues: FloatArray


def tile_of(landmarks: Landmarks, piece: Piece, rows: Prepared, part: slice) -> FloatArray:
    """Compare a tile of a piece with the landmarks, (r, b); rows that do not count are 0."""
    tile = landmarks.compare(rows.take(part))
    if piece.keep is not None:
        tile *= piece.keep[part]
    return tile


def moments(landmarks: Landmarks, rows: Rows, engine: Engine) -> Moments:
    """Sum comparisons with the landmarks over all rows; L⁻¹ is applied once, at the end.

    Parameters
    ----------
    landmarks : Landmarks
        The low-rank factor.
    rows : Rows
        The rows.
    engine : Engine
        Where the work runs.
    """

    def task(piece: Piece, rows: Prepared) -> Arrays:
        one, two = np.zeros(landmarks.rank), np.zeros((landmarks.rank, landmarks.rank))
        for part in tiles_of(len(rows)):
            tile = tile_of(landmarks, piece, rows, part)
            one += tile.sum(axis=1)
            two += tile @ tile.T
        count = len(rows) if piece.keep is None else int(piece.keep.sum())
        return np.array(float(count)), one, two

    counted, first, second = sum_over(landmarks.kernel, rows, engine, task)
    n = int(counted)
    check_overflow(first, second)
    sums = landmarks.whiten(first)
    gram = landmarks.whiten(landmarks.whiten(second).T)
    total = float(sums @ sums - np.trace(gram))
    eigenvalues = np.maximum(np.linalg.eigvalsh((gram + gram.T) / 2) / n, 0.0)
    return Moments(n, total, eigenvalues)


def forms(landmarks: Landmarks, rows: Rows, weights: Weights, engine: Engine) -> Sums:
    """Sum ΦΦᵀ off its diagonal, plainly and under m sets of weights.

    Parameters
    ----------
    landmarks : Landmarks
        The low-rank factor.
    rows : Rows
        The rows.
    weights : Weights
        The weights, (n, m).
    engine : Engine
        Where the work runs.
    """

    def task(piece: Piece, rows: Prepared) -> Arrays:
        w = weights.block(piece.start, piece.stop)
        one, square = np.zeros(landmarks.rank), 0.0
        product, product_square = np.zeros((landmarks.rank, weights.m)), np.zeros(weights.m)
        for part in tiles_of(len(rows)):
            features = landmarks.whiten(tile_of(landmarks, piece, rows, part))
            squares = np.square(features).sum(axis=0)
            one += features.sum(axis=1)
            square += float(squares.sum())
            product += features @ w[part]
            product_square += squares @ np.square(w[part])
        return one, np.array(square), product, product_square

    plain, own_plain, weighted, own_weighted = sum_over(landmarks.kernel, rows, engine, task)
    check_overflow(plain, weighted)
    own = float(own_plain)
    whole, squares = float(plain @ plain), np.square(weighted).sum(axis=0)
    return Sums(
        float(settle(whole - own, whole + own)),
        settle(squares - own_weighted, squares + own_weighted),
    )


def tiles_of(n: int, size: int = TILE) -> Iterator[slice]:
    """Yield the tiles of a piece of n rows."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
