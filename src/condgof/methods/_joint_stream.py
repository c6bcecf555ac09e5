"""Several models on a sample that stays in files or Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Deferred, Engine, with_progress
from condgof.errors import ShapeError, SupportError
from condgof.laws import Columns, ModelLike, Scores, as_model, columns
from condgof.methods._joint import Affine, Joint, score_all
from condgof.methods._joint_discrete import joint_of
from condgof.methods._source_rows import law_of_rows, rows_named
from condgof.methods._stream import SUBSAMPLE, _take
from condgof.sample import ArraySource, Block, Sample, Seed, Source, Use, is_lazy, names_of
from condgof.stein import PIECE, Piece, even_cuts, outside_support


def lay_out_all(models: Sequence[Any], x: Any, y: Any) -> tuple[list[Any], Any, Any]:
    """Turn Dask arrays into a source, and models of Dask arrays into columns of it."""
    if not (is_lazy(x) or is_lazy(y)):
        return list(models), x, y
    arrays, places = {"y": y, "x": x}, []
    for k, model in enumerate(models):
        parts = {}
        if isinstance(model, Scores) and is_lazy(model.values):
            parts = {"score": f"model {k} score"}
            arrays[parts["score"]] = model.values
        elif isinstance(model, tuple) and len(model) == 2 and any(map(is_lazy, model)):
            parts = {"mean": f"model {k} mean", "std": f"model {k} std"}
            arrays[parts["mean"]], arrays[parts["std"]] = model
        places.append(parts)
    source = ArraySource.of(arrays)
    laid: list[Any] = []
    for model, parts in zip(models, places, strict=True):
        named: dict[str, Any] = {
            key: list(names_of(at, source.arrays[at].shape[1])) for key, at in parts.items()
        }
        laid.append(columns(**named) if named else as_model(model))
    return laid, source, None


def with_columns(models: Sequence[ModelLike], source: Source | ArraySource) -> Any:
    """Return the source with the columns that any of the models asks for."""
    for model in models:
        if model.rows is not None and model.rows != source.n:
            raise ShapeError(f"A model is bound to {model.rows} rows and the source has {source.n}.")
    wanted = [name for model in models if isinstance(model, Columns) for name in model.names]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


def joint_block(
    models: Sequence[ModelLike],
    names: Sequence[str],
    source: Source | ArraySource,
    block: Block,
    rows: IntArray,
    scale_x: str,
) -> Joint:
    """Check and score rows that were read from a source, under the names it has for columns."""
    sample = Sample.of(block.x, block.y).renamed(source.x_names, source.y_names)
    with rows_named(rows):
        laws = [law_of_rows(model, block, sample, rows) for model in models]
        return joint_of(laws, names, sample, scale_x, streamed=True)


@dataclass(frozen=True, eq=False)
class JointStream:
    """A source with several models.

    Parameters
    ----------
    source : Source or ArraySource
        Where the rows are.
    models : tuple of ModelLike
        Score chunks of rows, are bound to all rows, or name columns of the source.
    subsample : Joint
        Rows drawn uniformly over all row numbers, scored, in memory; they set the affine map.
    """

    source: Source | ArraySource
    models: tuple[ModelLike, ...]
    subsample: Joint

    @classmethod
    def of(
        cls,
        models: Sequence[ModelLike],
        names: Sequence[str],
        source: Source | ArraySource,
        seed: Seed,
        engine: Engine,
        scale_x: str,
    ) -> JointStream:
        """Draw and score the subsample."""
        source = with_columns(models, source)
        rows = np.arange(source.n)
        if source.n > SUBSAMPLE:
            rng = seed.stream(Use.LANDMARKS, 1)
            rows = np.sort(rng.choice(source.n, SUBSAMPLE, replace=False))
        block = _take(source, rows, engine)
        scored = joint_block(models, names, source, block, rows, scale_x)
        return cls(source, tuple(models), scored)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.source.n

    def rows(self) -> JointRows:
        """Return the rows, for sums over them."""
        part = self.subsample
        return JointRows(self.source, self.models, part.names, part.scales, part.affine)


@dataclass(frozen=True, eq=False)
class Span:
    """What is sent to a worker for some rows: their numbers, and models that are bound to them."""

    start: int
    stop: int
    bound: tuple[ModelLike | None, ...]


@dataclass(frozen=True, eq=False)
class JointRows:
    """All rows of a source, with the scores of several models; workers read theirs by themselves."""

    source: Source | ArraySource
    models: tuple[ModelLike, ...]
    names: tuple[str, ...]
    scales: FloatArray
    affine: Affine

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.source.n

    def pieces(self) -> Iterator[Piece]:
        """Read and score all rows in pieces."""
        whole = self._span(0, self.total, whole=True)
        read = _read(self.source, self._functional, self.names, self.scales, self.affine, whole)
        return with_progress(read, -(-self.total // PIECE), "condgof")

    def cuts(self, size: int) -> Sequence[int]:
        """Return where to cut spans: where Dask's chunks are cut, or evenly."""
        if isinstance(self.source, ArraySource):
            return self.source.cuts
        return even_cuts(self.total, size)

    def part(self, start: int, stop: int) -> Any:
        """Return what a worker has to know of some rows."""
        span = self._span(start, stop)
        return Deferred(span, self.source.chunk(start)) if isinstance(self.source, ArraySource) else span

    @property
    def reader(self) -> Callable[[Any], Iterator[Piece]]:
        """What reads and scores a span."""
        rest = (self._functional, self.names, self.scales, self.affine)
        if isinstance(self.source, ArraySource):
            return partial(_read_chunk, tuple(self.source.arrays), *rest)
        return partial(_read, self.source, *rest)

    @property
    def _functional(self) -> tuple[ModelLike | None, ...]:
        return tuple(model if model.rows is None else None for model in self.models)

    def _span(self, start: int, stop: int, whole: bool = False) -> Span:
        rows = np.arange(start, stop)
        bound = (m if m.rows is None or whole else m.take(rows) for m in self.models)
        return Span(start, stop, tuple(None if m.rows is None else m for m in bound))


def _read(
    source: Source | ArraySource,
    functional: tuple[ModelLike | None, ...],
    names: tuple[str, ...],
    scales: FloatArray,
    affine: Affine,
    span: Span,
) -> Iterator[Piece]:
    """Read and score the rows of a span in pieces."""
    models = [f if b is None else b for f, b in zip(functional, span.bound, strict=True)]
    for block in source.blocks(PIECE, span.start, span.stop):
        rows = np.arange(block.start, block.start + block.n)
        sample = Sample.of(block.x, block.y, to_test=False)
        with rows_named(rows):
            of_these = (law_of_rows(m, block, sample, rows, span.start) for m in models if m is not None)
            common = score_all(list(of_these), names, sample)
        y, scores = affine.apply(common.u, common.scores)
        yield Piece(block.start, block.x / scales, y, scores)


def _read_chunk(
    arrays: tuple[str, ...],
    functional: tuple[ModelLike | None, ...],
    names: tuple[str, ...],
    scales: FloatArray,
    affine: Affine,
    item: tuple[Span, tuple[FloatArray, ...]],
) -> Iterator[Piece]:
    """Score the rows of a chunk of Dask arrays in pieces."""
    span, values = item
    source = ArraySource(dict(zip(arrays, values, strict=True)), span.start)
    return _read(source, functional, names, scales, affine, span)


def refuted_by_rows(
    models: Sequence[ModelLike], source: Source | ArraySource
) -> list[SupportError | None]:
    """Read all rows for those that models hold to be impossible: one error a model, or None."""
    source = with_columns(models, source)
    found: list[tuple[str, int, int]] = [("", 0, -1)] * len(models)
    for block in source.blocks(PIECE):
        rows = np.arange(block.start, block.start + block.n)
        sample = Sample.of(block.x, block.y, to_test=False)
        for k, model in enumerate(models):
            error = outside_support(law_of_rows(model, block, sample, rows), sample)
            if error is not None:
                _, count, first = found[k]
                first = int(rows[error.first_row]) if first < 0 else first
                found[k] = (error.model, count + error.count, first)
    return [
        SupportError(name, count, source.n, first) if count else None for name, count, first in found
    ]
