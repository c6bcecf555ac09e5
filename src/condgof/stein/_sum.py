"""Sums over all rows, in one order whatever the engine: pieces into spans, spans into the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, with_progress
from condgof.stein._rows import PIECE, Piece, Rows

Arrays: TypeAlias = tuple[FloatArray, ...]
Prepared = TypeVar("Prepared")
Prepared_co = TypeVar("Prepared_co", covariant=True)

#: A span is at most this many pieces (262,144 rows): what a worker has to do again when one dies.
MAX_SPAN = 64


def span_of(total: int) -> int:
    """Return the number of pieces in a span, by a fixed rule in the number of rows.

    About 64 spans, so that some tens of workers have something to do; more of them only above 16
    million rows. Neither workers nor threads enter, so that results do not depend on them.

    Examples
    --------
    >>> span_of(100_000), span_of(10**7), span_of(10**9)
    (1, 38, 64)
    """
    return min(MAX_SPAN, max(1, total // (64 * PIECE)))


class Prepares(Protocol[Prepared_co]):
    """What prepares rows for comparison: a `SteinKernel` or a `ScaleKernel`."""

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> Prepared_co:
        """Prepare rows x (n, d_x), y and scores (n, d_y)."""
        ...


def sum_over(
    kernel: Prepares[Prepared],
    rows: Rows,
    engine: Engine,
    task: Callable[[Piece, Prepared], Arrays],
) -> Arrays:
    """Apply a task to every piece of the rows and add up what it returns.

    On threads, pieces are read by the caller while others are computed on. A cluster gets whole
    spans, which a worker reads, computes on and adds up by itself: only sums travel back.

    Parameters
    ----------
    kernel : SteinKernel or ScaleKernel
        Prepares the rows.
    rows : Rows
        The rows.
    engine : Engine
        Where the work runs.
    task : callable
        From a piece and its prepared rows to a tuple of arrays. It is sent to workers: it should
        hold what it needs and no more.
    """

    def of_piece(piece: Piece) -> Arrays:
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked at the end
            return task(piece, kernel.rows(piece.x, piece.y, piece.scores))

    count = span_of(rows.total)
    if not engine.remote:
        values = engine.map(of_piece, rows.pieces())
        spans = range(0, rows.total, count * PIECE)
        return _add_up(_add_up(islice(values, count)) for _ in spans)
    read = rows.reader

    def of_span(part: Any) -> Arrays:
        return _add_up(map(of_piece, read(part)))

    cuts = rows.cuts(count * PIECE)
    parts = (rows.part(start, stop) for start, stop in pairwise(cuts))
    return _add_up(engine.map(of_span, with_progress(parts, len(cuts) - 1, "condgof")))


def _add_up(values: Iterable[Arrays]) -> Arrays:
    each: Iterator[Arrays] = iter(values)
    sums = tuple(np.array(value) for value in next(each))
    for value in each:
        for one, other in zip(sums, value, strict=True):
            np.add(one, other, out=one)
    return sums
