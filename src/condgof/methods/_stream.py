"""A sample that stays in files: a subsample in memory, and pieces that stream through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.engine import with_progress
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.methods._prepare import Scored
from condgof.models import ColumnsModel, ConditionalModel, as_model, scores_of
from condgof.sample import Block, Sample, Seed, Source, Use
from condgof.stein import PIECE, Piece

#: Rows of the subsample, from which bandwidths and landmarks come.
SUBSAMPLE = 4096


@dataclass(frozen=True, eq=False)
class Stream:
    """A source with its model.

    Parameters
    ----------
    source : Source
        Where the rows are.
    model : ConditionalModel
        Scores chunks of rows, is bound to all rows, or names columns of the source.
    subsample : Scored
        Rows drawn uniformly over all row numbers, scored, in memory.
    left_out : ndarray of int, sorted
        Global numbers of rows that are not tested (they were trained on).
    """

    source: Source
    model: ConditionalModel
    subsample: Scored
    left_out: IntArray

    @classmethod
    def of(cls, model: Any, source: Source, seed: Seed, scale_x: str = "none") -> Stream:
        """Draw and score the subsample."""
        model = as_model(model)
        if isinstance(model, ColumnsModel):
            source = source.with_extra(model.names)
        if model.rows is not None and model.rows != source.n:
            raise ShapeError(f"The model is bound to {model.rows} rows and the source has {source.n}.")
        rows = np.arange(source.n)
        if source.n > SUBSAMPLE:
            rng = seed.stream(Use.LANDMARKS, 1)
            rows = np.sort(rng.choice(source.n, SUBSAMPLE, replace=False))
        scored = score_block(model, source, source.take(rows), rows, scale_x)
        return cls(source, model, scored, np.empty(0, dtype=np.int64))

    @property
    def n(self) -> int:
        """Number of rows that are tested."""
        return self.source.n - len(self.left_out)

    def without(self, rows: IntArray) -> Stream:
        """Return the stream with some rows left out."""
        return replace(self, left_out=rows)

    def train(self, size: int, rng: np.random.Generator, scale_x: str) -> tuple[Scored, IntArray]:
        """Draw rows to train on, uniformly over all row numbers."""
        rows = np.sort(rng.choice(self.source.n, size, replace=False))
        return score_block(self.model, self.source, self.source.take(rows), rows, scale_x), rows

    def pieces(self) -> Iterator[Piece]:
        """Read and score all rows in pieces; rows that are left out count for nothing."""
        total = -(-self.source.n // PIECE)
        for block in with_progress(self.source.blocks(PIECE), total, "condgof"):
            rows = np.arange(block.start, block.start + block.n)
            if self.source.d_x:
                sample = Sample.of(block.x, block.y, to_test=False)
            else:
                sample = Sample.unconditional(block.y, to_test=False)
            scores, _ = scores_of(_of_rows(self.model, block, rows), sample)
            keep = None
            if len(self.left_out):
                keep = ~np.isin(rows, self.left_out)
            yield Piece(block.start, block.x / self.subsample.scales, block.y, scores, keep)


def _of_rows(model: ConditionalModel, block: Block, rows: IntArray) -> ConditionalModel:
    if isinstance(model, ColumnsModel):
        return model.bind(block.extra)
    return model.take(rows) if model.rows is not None else model


def score_block(
    model: ConditionalModel, source: Source, block: Block, rows: IntArray, scale_x: str
) -> Scored:
    """Check and score rows that were read from a source, under the names it has for columns."""
    sample = Sample.of(block.x, block.y) if source.d_x else Sample.unconditional(block.y)
    sample = sample.renamed(source.x_names, source.y_names)
    return Scored.of(_of_rows(model, block, rows), sample, scale_x)


def in_memory(model: Any, source: Source, scale_x: str = "none") -> Scored:
    """Read a whole (small) source, for the exact solver."""
    model = as_model(model)
    if isinstance(model, ColumnsModel):
        source = source.with_extra(model.names)
    block = source.block_range(0, source.n)
    if model.rows is not None and model.rows != source.n:
        raise ShapeError(f"The model is bound to {model.rows} rows and the source has {source.n}.")
    return score_block(model, source, block, np.arange(source.n), scale_x)


def check_source_call(x: Any, y: Any, solver: str) -> bool:
    """Tell whether x is a source, and refuse what does not go with one."""
    if not isinstance(x, Source):
        if y is None:
            raise InputTypeError(
                "y is missing. Pass y, or a source from condgof.scan(...) as x, which brings its own y."
            )
        return False
    if y is not None:
        raise InputError("A source brings its own y: leave y out.")
    if solver == "exact" and x.n > SUBSAMPLE:
        raise InputError("solver='exact' needs the sample in memory; a source is for 'lowrank'.")
    return True
