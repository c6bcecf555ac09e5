"""Rows of a sample in pieces, cut by global row number, and how spans of them reach a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray
from condgof.laws import Outcomes
from condgof.sample import Seed, Use

#: Rows of a piece. A fixed number: results must not depend on the machine or the budget.
PIECE = 4096
#: Bytes of rows that travel with one item; Dask warns above 10 MB.
MAX_SENT = 8 * 10**6


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows of a sample with their scores."""

    #: Global number of the first row.
    start: int
    #: The rows, x as the kernel sees it, (b, d_x), (b, d_y), (b, d_y).
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    #: Which rows count; all of them if None.
    keep: NDArray[np.bool_] | None = None
    #: From which a discrete y can be drawn anew.
    outcomes: Outcomes | None = None

    @property
    def stop(self) -> int:
        """Global number of the row after the last."""
        return self.start + len(self.y)


class Rows(Protocol):
    """All rows of a sample, wherever they are."""

    @property
    def total(self) -> int:
        """Number of rows, counting those that are left out."""

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows in pieces of `PIECE` rows."""

    def cuts(self, size: int) -> Sequence[int]:
        """Return the global row numbers at which to cut spans of about `size` rows, from 0 to n."""

    def part(self, start: int, stop: int) -> Any:
        """Return what is sent to a worker for the rows from `start` to `stop`."""

    @property
    def reader(self) -> Callable[[Any], Iterator[Piece]]:
        """What turns a part into pieces on a worker; it is sent once, with the task."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows in memory; a worker gets those of its span and no others."""

    #: The rows, x as the kernel sees it, (n, d_x), (n, d_y), (n, d_y).
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    #: From which a discrete y can be drawn anew.
    outcomes: Outcomes | None = None

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self.y)

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows in pieces."""
        return cut(self.part(0, self.total))

    def cuts(self, size: int) -> Sequence[int]:
        """Return where to cut spans, of whole pieces, that are not too large to be sent."""
        width = self.x.shape[1] + self.y.shape[1] + self.scores.shape[1]
        return even_cuts(self.total, min(size, max(1, MAX_SENT // (8 * width * PIECE)) * PIECE))

    def part(self, start: int, stop: int) -> Piece:
        """Return the rows from `start` to `stop` as one piece."""
        rows = slice(start, stop)
        own = None if self.outcomes is None else self.outcomes.take(np.arange(start, stop))
        return Piece(start, self.x[rows], self.y[rows], self.scores[rows], None, own)

    @property
    def reader(self) -> Callable[[Piece], Iterator[Piece]]:
        """Cut what was sent."""
        return cut


def row_uniforms(seed: Seed, start: int, stop: int, *key: int) -> FloatArray:
    """Draw one uniform number for each row from `start` to `stop`, by global number: (stop − start,).

    They belong to canonical blocks of `PIECE` rows, however rows are cut into pieces.
    """
    blocks = range(start // PIECE, (stop - 1) // PIECE + 1)
    made = np.concatenate([seed.stream(Use.ROWS, *key, block).random(PIECE) for block in blocks])
    return made[start - blocks[0] * PIECE : stop - blocks[0] * PIECE]


def even_cuts(total: int, size: int) -> Sequence[int]:
    """Cut a number of rows into spans of `size` rows.

    Examples
    --------
    >>> even_cuts(10, 4)
    (0, 4, 8, 10)
    """
    return (*range(0, total, size), total)


def cut(rows: Piece) -> Iterator[Piece]:
    """Cut a large piece into pieces of `PIECE` rows."""
    for start in range(0, len(rows.y), PIECE):
        part = slice(start, start + PIECE)
        own = rows.outcomes
        if own is not None:
            own = own.take(np.arange(start, min(start + PIECE, len(rows.y))))
        yield Piece(rows.start + start, rows.x[part], rows.y[part], rows.scores[part], None, own)
