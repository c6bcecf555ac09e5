"""Rows of a sample in pieces: x as kernels compare it, with the residuals of y."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.residuals import Residuals
from condgof.sample import Seed, Use

#: Rows of a piece. A fixed number: results must not depend on the machine or the budget.
PIECE_ROWS = 4096
#: Bytes of rows that travel to a worker with one item; Dask warns above 10 MB.
MAX_SENT_BYTES = 8 * 10**6


class Spans(NamedTuple):
    """All rows cut into parts that workers read and compute on."""

    #: What a worker does with its part: it yields the pieces of these rows.
    read: Callable[[Any], Iterator[Piece]]
    #: What makes each part, when it is time to send it.
    parts: Sequence[Callable[[], Any]]


class Rows(Protocol):
    """All rows of a sample, wherever they are."""

    @property
    def total(self) -> int:
        """Number of rows, counting those that are left out."""

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows in pieces of `PIECE_ROWS` rows."""

    def spans(self, size: int) -> Spans:
        """Cut all rows into spans of about `size` rows, for workers."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows in memory."""

    x: FloatArray  #: Covariates as kernels compare them, (b, d_x).
    residuals: Residuals  #: Of the same b rows.
    start: int = 0  #: Global number of the first row.
    keep: NDArray[np.bool_] | None = None  #: Which rows count, (b,); all of them if None.
    weights: FloatArray | None = None  #: Weights of the rows, (b,); all equal if None.

    @property
    def total(self) -> int:
        return self.residuals.n

    @property
    def stop(self) -> int:
        return self.start + self.total

    def take(self, rows: slice | IntArray, start: int) -> Piece:
        """Return some of the rows, or all in another order, from a global number on."""
        return Piece(
            x=self.x[rows],
            residuals=self.residuals.take(rows),
            start=start,
            keep=None if self.keep is None else self.keep[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def weighted(self, values: AnyArray) -> AnyArray:
        """Multiply values of the rows, (b, …), by the weights, in the values' precision."""
        if self.weights is None:
            return values
        shape = (len(values),) + (1,) * (values.ndim - 1)
        return np.asarray(values * self.weights.reshape(shape).astype(values.dtype))

    def pieces(self) -> Iterator[Piece]:
        """Yield the rows in pieces of `PIECE_ROWS`."""
        for start in range(0, self.total, PIECE_ROWS):
            yield self.take(slice(start, start + PIECE_ROWS), self.start + start)

    def spans(self, size: int) -> Spans:
        """Cut spans of whole pieces that are not too large to be sent."""
        row_bytes = 8 * (self.x.shape[1] + self.residuals.row_width)
        most = max(1, MAX_SENT_BYTES // (row_bytes * PIECE_ROWS)) * PIECE_ROWS
        cuts = even_cuts(self.total, min(size, most))
        parts = [
            partial(self.take, slice(start, stop), start) for start, stop in pairwise(cuts)
        ]
        return Spans(read=Piece.pieces, parts=parts)


class RowUse(IntEnum):
    """What a uniform number of each row is for: a stream within `Use.ROWS`.

    Append only: the numbers are part of every result.
    """

    GRAM_SAMPLE = 0  #: Whether the row is in the sample that FᵀF comes from.
    BLOCK_SIGN = 1  #: The sign of the row within its block.
    RESAMPLE = 2  #: The cell of y that is drawn, of each resample of a stratum.


def row_range_uniforms(
    seed: Seed, start: int, stop: int, use: RowUse, *key: int
) -> FloatArray:
    """Draw a uniform number for each row from `start` to `stop`, (stop − start,).

    A row has the same number however the rows are cut into pieces: a stream belongs to
    `PIECE_ROWS` rows, counted from the first row of all. `key` tells several numbers of one
    row for the same use apart.
    """
    blocks = range(start // PIECE_ROWS, (stop - 1) // PIECE_ROWS + 1)
    streams = [seed.stream(Use.ROWS, int(use), *key, block) for block in blocks]
    drawn = np.concatenate([stream.random(PIECE_ROWS) for stream in streams])
    first = blocks[0] * PIECE_ROWS
    return drawn[start - first : stop - first]


def even_cuts(total: int, size: int) -> Sequence[int]:
    """Return the numbers of rows at which spans of `size` rows begin, and the last end."""
    return (*range(0, total, size), total)
