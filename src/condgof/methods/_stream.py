"""A sample that stays in files: a subsample in memory, and pieces that stream through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Engine
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.laws import Columns, Law, ModelLike, as_model, law_of
from condgof.methods._lazy import ChunkRows
from condgof.methods._prepare import Scored, Units
from condgof.methods._source_rows import SourceRows, law_of_rows, rows_named
from condgof.sample import ArraySource, Block, Sample, Seed, Source, Use, is_lazy

#: Rows of the subsample, from which bandwidths and landmarks come.
SUBSAMPLE = 4096
#: Into how many tasks the reading of such rows is cut on a cluster.
TAKES = 64


@dataclass(frozen=True, eq=False)
class Stream:
    """A source with its model.

    Parameters
    ----------
    source : Source or ArraySource
        Where the rows are.
    model : ModelLike
        Scores chunks of rows, is bound to all rows, or names columns of the source.
    subsample : Scored
        Rows drawn uniformly over all row numbers, scored, in memory.
    left_out : ndarray of int, sorted
        Global numbers of rows that are not tested (they were trained on).
    sampled : ndarray of int, sorted
        Global numbers of the rows of the subsample.
    """

    source: Source | ArraySource
    model: ModelLike
    subsample: Scored
    left_out: IntArray
    sampled: IntArray

    @classmethod
    def of(
        cls,
        model: Any,
        source: Source | ArraySource,
        seed: Seed,
        engine: Engine,
        units: Units = Units(),
    ) -> Stream:
        """Draw and score the subsample."""
        model = as_model(model)
        if isinstance(model, Columns):
            source = source.with_extra(model.names)
        if model.rows is not None and model.rows != source.n:
            raise ShapeError(f"The model is bound to {model.rows} rows and the source has {source.n}.")
        rows = np.arange(source.n)
        if source.n > SUBSAMPLE:
            rng = seed.stream(Use.LANDMARKS, 1)
            rows = np.sort(rng.choice(source.n, SUBSAMPLE, replace=False))
        block = _take(source, rows, engine)
        scored = score_rows(model, source, block, rows, units)[1]
        return cls(source, model, scored, np.empty(0, dtype=np.int64), rows)

    @property
    def n(self) -> int:
        """Number of rows that are tested."""
        return self.source.n - len(self.left_out)

    def without(self, rows: IntArray) -> Stream:
        """Return the stream with some rows left out."""
        return replace(self, left_out=rows)

    def train(self, size: int, rng: np.random.Generator, engine: Engine) -> tuple[Scored, IntArray]:
        """Draw rows to train on, uniformly over all row numbers."""
        rows = np.sort(rng.choice(self.source.n, size, replace=False))
        return self.at(rows, engine), rows

    def at(self, rows: IntArray, engine: Engine) -> Scored:
        """Read and score rows by their global numbers, in the units of the subsample."""
        return self.with_model(rows, engine)[0]

    def with_model(self, rows: IntArray, engine: Engine) -> tuple[Scored, Law]:
        """Read and score rows as `at` does, and return them with their law."""
        scales, units = self.subsample.scales, Units(standardize=self.subsample.by)
        block = _take(self.source, rows, engine)
        law, part = score_rows(self.model, self.source, block, rows, units)
        return replace(part, x=part.sample.x / scales, scales=scales), law

    def rows(self) -> SourceRows:
        """Return the rows, for sums over them."""
        scales, by = self.subsample.scales, self.subsample.by
        if isinstance(self.source, ArraySource):
            return ChunkRows(self.source, self.model, scales, self.left_out, by)
        return SourceRows(self.source, self.model, scales, self.left_out, by)


def _take(source: Source | ArraySource, rows: IntArray, engine: Engine) -> Block:
    """Read some rows; in a large source they lie in so many places that a cluster reads them better."""
    if not engine.remote or isinstance(source, ArraySource):  # which Dask computes where it is
        return source.take(rows)
    blocks = list(engine.map(source.take, np.array_split(rows, min(TAKES, len(rows)))))
    return Block(
        int(rows[0]),
        np.concatenate([block.x for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        {name: np.concatenate([b.extra[name] for b in blocks]) for name in source.extra_names},
    )


def score_rows(
    model: ModelLike, source: Source | ArraySource, block: Block, rows: IntArray, units: Units
) -> tuple[Law, Scored]:
    """Check and score rows that were read from a source, under the names it has for columns."""
    if source.d_x:
        sample = Sample.of(block.x, block.y, to_test=False)
    else:
        sample = Sample.unconditional(block.y, to_test=False)
    sample = sample.renamed(source.x_names, source.y_names).ready(discrete=True)
    with rows_named(rows):
        law = law_of_rows(model, block, sample, rows)
        return law, Scored.of(law, sample.ready(discrete=law.discrete), units)


def in_memory(model: Any, source: Source | ArraySource, units: Units = Units()) -> tuple[Law, Scored]:
    """Read a whole (small) source, for the exact solver, with the law of its rows."""
    model = as_model(model)
    if isinstance(model, Columns):
        source = source.with_extra(model.names)
    block = source.block_range(0, source.n)
    if model.rows is not None and model.rows != source.n:
        raise ShapeError(f"The model is bound to {model.rows} rows and the source has {source.n}.")
    return score_rows(model, source, block, np.arange(source.n), units)


def refuse_source(test: str, x: Any, y: Any) -> None:
    """Refuse a source or Dask arrays, for a test that needs the sample in memory."""
    if isinstance(x, (Source, ArraySource)) or is_lazy(x) or is_lazy(y):
        raise InputTypeError(
            f"{test} needs the sample in memory, and takes no source (condgof.scan) and no Dask arrays. "
            "kcsd, fscd and adaptive take them; or pass NumPy arrays or a frame."
        )


def read_sample(model: ModelLike, x: Any, y: Any, missing: str = "refuse") -> tuple[Law, Sample]:
    """Check x and y, and call the model with x: its law tells whether y is discrete."""
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    law = law_of(model, sample)
    return law, sample.ready(discrete=law.discrete)


def check_source_call(x: Any, y: Any, solver: str, missing: str = "refuse") -> bool:
    """Tell whether x is a source, and refuse what does not go with one."""
    if not isinstance(x, (Source, ArraySource)):
        if y is None:
            raise InputTypeError(
                "y is missing. Pass y, or a source from condgof.scan(...) as x, which brings its own y."
            )
        return False
    if y is not None:
        raise InputError("A source brings its own y: leave y out.")
    if missing != "refuse":
        raise InputError(
            f"missing={missing!r} is for rows in memory: leave rows with missing values out of "
            "the source first, or use condgof check --drop-nulls."
        )
    if solver == "exact" and x.n > SUBSAMPLE:
        raise InputError("solver='exact' needs the sample in memory; a source is for 'lowrank'.")
    return True
