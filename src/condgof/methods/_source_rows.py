"""Rows of a source: read, scored and cut into pieces, here or on a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import with_progress
from condgof.errors import SupportError
from condgof.laws import Columns, Law, ModelLike, law_of
from condgof.sample import ArraySource, Block, Sample, Source
from condgof.stein import PIECE, Piece, coordinates_of, even_cuts


@dataclass(frozen=True, eq=False)
class Span:
    """What is sent to a worker for some rows of a source.

    Parameters
    ----------
    start, stop : int
        Global numbers of the first row and of the row after the last.
    bound : ModelLike or None
        The model of these rows, where it is bound to rows; a functional one goes with the task.
    left_out : ndarray of int
        Those of these rows that count for nothing.
    """

    start: int
    stop: int
    bound: ModelLike | None
    left_out: IntArray


@dataclass(frozen=True, eq=False)
class SourceRows:
    """All rows of a source; workers read theirs from the files.

    Parameters
    ----------
    source : Source or ArraySource
        Where the rows are.
    model : ModelLike
        Scores chunks of rows, is bound to all rows, or names columns of the source.
    scales : ndarray of shape (d_x,)
        What columns of x are divided by.
    left_out : ndarray of int, sorted
        Global numbers of rows that count for nothing.
    by : str
        What y is standardised by.
    """

    source: Source | ArraySource
    model: ModelLike
    scales: FloatArray
    left_out: IntArray
    by: str = "none"

    @property
    def total(self) -> int:
        """Number of rows, counting those that are left out."""
        return self.source.n

    def pieces(self) -> Iterator[Piece]:
        """Read and score all rows in pieces."""
        whole = Span(0, self.total, self.model if self._bound else None, self.left_out)
        return with_progress(self.reader(whole), -(-self.total // PIECE), "condgof")

    def cuts(self, size: int) -> Sequence[int]:
        """Return where to cut spans."""
        return even_cuts(self.total, size)

    def part(self, start: int, stop: int) -> Span:
        """Return what a worker has to know of some rows: their numbers, in the main."""
        first, last = np.searchsorted(self.left_out, [start, stop])
        bound = self.model.take(np.arange(start, stop)) if self._bound else None
        return Span(start, stop, bound, self.left_out[first:last])

    @property
    def reader(self) -> Callable[[Span], Iterator[Piece]]:
        """What reads and scores a span."""
        functional = None if self._bound else self.model
        return partial(read_span, self.source, functional, self.scales, self.by)

    @property
    def _bound(self) -> bool:
        return self.model.rows is not None


def read_span(
    source: Source | ArraySource,
    functional: ModelLike | None,
    scales: FloatArray,
    by: str,
    span: Span,
) -> Iterator[Piece]:
    """Read and score the rows of a span in pieces."""
    model = span.bound if functional is None else functional
    assert model is not None
    for block in source.blocks(PIECE, span.start, span.stop):
        rows = np.arange(block.start, block.start + block.n)
        if source.d_x:
            sample = Sample.of(block.x, block.y, to_test=False)
        else:
            sample = Sample.unconditional(block.y, to_test=False)
        with rows_named(rows):
            seen = coordinates_of(law_of_rows(model, block, sample, rows, span.start), sample, by)
        keep = ~np.isin(rows, span.left_out) if len(span.left_out) else None
        yield Piece(block.start, block.x / scales, seen.u, seen.scores, keep)


@contextmanager
def rows_named(rows: IntArray | None) -> Iterator[None]:
    """Let an error name a row by its number in the whole source; None where it has that already."""
    try:
        yield
    except SupportError as error:
        if rows is None:
            raise
        first = int(rows[error.first_row])
        raise SupportError(error.model, error.count, error.n, first) from error


def law_of_rows(model: ModelLike, block: Block, sample: Sample, rows: IntArray, first: int = 0) -> Law:
    """Return the law of rows of a source; a model that is bound to rows has those from `first` on."""
    if isinstance(model, Columns):
        return model.bind(block.extra, rows, sample.x_given)
    return law_of(model.take(rows - first) if model.rows is not None else model, sample)
