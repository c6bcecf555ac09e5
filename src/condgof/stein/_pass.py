"""One pass over the rows with landmark features: sums of size r, linear in n.

Rows come in pieces that are cut by global row number, and pieces are added up in order: results do
not depend on threads, files or chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray
from condgof.engine import Threads
from condgof.stein._features import settle
from condgof.stein._kernel import SteinRows
from condgof.stein._landmarks import Landmarks
from condgof.stein._sweep import Sums, Weights, check_overflow

#: Rows of a piece. A fixed number: results must not depend on the machine or the budget.
PIECE = 4096
#: Rows that are compared with the landmarks at a time: the tile should stay in the cache.
TILE = 256

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows of a sample with their scores.

    Parameters
    ----------
    start : int
        Global number of the first row.
    x, y, scores : ndarrays of shape (b, d_x), (b, d_y), (b, d_y)
        The rows, x as the kernel sees it.
    keep : ndarray of bool, shape (b,), optional
        Which rows count; all of them if None.
    """

    start: int
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    keep: NDArray[np.bool_] | None = None

    @property
    def stop(self) -> int:
        """Global number of the row after the last."""
        return self.start + len(self.y)


def cut(x: FloatArray, y: FloatArray, scores: FloatArray) -> Iterator[Piece]:
    """Cut arrays into pieces."""
    for start in range(0, len(y), PIECE):
        rows = slice(start, start + PIECE)
        yield Piece(start, x[rows], y[rows], scores[rows])


@dataclass(frozen=True, eq=False)
class Moments:
    """What the spectral null needs: the off-diagonal sum of ΦΦᵀ and the eigenvalues of ΦᵀΦ/n."""

    n: int
    total: float
    eigenvalues: FloatArray


def over_pieces(
    landmarks: Landmarks,
    pieces: Iterable[Piece],
    engine: Threads,
    task: Callable[[Piece, SteinRows], Value],
) -> Iterator[Value]:
    """Apply a task to every piece, with its rows prepared, and yield the values in order."""

    def prepared(piece: Piece) -> Value:
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked at the end
            return task(piece, landmarks.kernel.rows(piece.x, piece.y, piece.scores))

    return engine.map(prepared, pieces)


def tile_of(landmarks: Landmarks, piece: Piece, rows: SteinRows, part: slice) -> FloatArray:
    """Compare a tile of a piece with the landmarks, (r, b); rows that do not count are 0."""
    tile = landmarks.compare(rows.take(part))
    if piece.keep is not None:
        tile *= piece.keep[part]
    return tile


def moments(landmarks: Landmarks, pieces: Iterable[Piece], engine: Threads) -> Moments:
    """Sum comparisons with the landmarks over all rows; L⁻¹ is applied once, at the end.

    Parameters
    ----------
    landmarks : Landmarks
        The low-rank factor.
    pieces : iterable of Piece
        The rows; while some are computed on, the next are read.
    engine : Threads
        Where the work runs.
    """

    def task(piece: Piece, rows: SteinRows) -> tuple[int, FloatArray, FloatArray]:
        one, two = np.zeros(landmarks.rank), np.zeros((landmarks.rank, landmarks.rank))
        for part in tiles_of(len(rows)):
            tile = tile_of(landmarks, piece, rows, part)
            one += tile.sum(axis=1)
            two += tile @ tile.T
        count = len(rows) if piece.keep is None else int(piece.keep.sum())
        return count, one, two

    n, first, second = 0, np.zeros(landmarks.rank), np.zeros((landmarks.rank, landmarks.rank))
    for count, one, two in over_pieces(landmarks, pieces, engine, task):
        n += count
        first += one
        second += two
    check_overflow(first, second)
    sums = landmarks.whiten(first)
    gram = landmarks.whiten(landmarks.whiten(second).T)
    total = float(sums @ sums - np.trace(gram))
    eigenvalues = np.maximum(np.linalg.eigvalsh((gram + gram.T) / 2) / n, 0.0)
    return Moments(n, total, eigenvalues)


def forms(landmarks: Landmarks, pieces: Iterable[Piece], weights: Weights, engine: Threads) -> Sums:
    """Sum ΦΦᵀ off its diagonal, plainly and under m sets of weights.

    Parameters
    ----------
    landmarks : Landmarks
        The low-rank factor.
    pieces : iterable of Piece
        The rows.
    weights : Weights
        The weights, (n, m).
    engine : Threads
        Where the work runs.
    """

    def task(piece: Piece, rows: SteinRows) -> tuple[FloatArray, float, FloatArray, FloatArray]:
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
        return one, square, product, product_square

    plain, own = np.zeros(landmarks.rank), 0.0
    weighted, own_weighted = np.zeros((landmarks.rank, weights.m)), np.zeros(weights.m)
    for one, square, product, product_square in over_pieces(landmarks, pieces, engine, task):
        plain += one
        own += square
        weighted += product
        own_weighted += product_square
    check_overflow(plain, weighted)
    whole, squares = float(plain @ plain), np.square(weighted).sum(axis=0)
    return Sums(
        float(settle(whole - own, whole + own)),
        settle(squares - own_weighted, squares + own_weighted),
    )


def tiles_of(n: int) -> Iterator[slice]:
    """Yield the tiles of a piece of n rows."""
    for start in range(0, n, TILE):
        yield slice(start, min(start + TILE, n))
