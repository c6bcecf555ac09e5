"""Dask arrays as a sample: a source whose spans are the arrays' own chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from condgof._typing import FloatArray
from condgof.engine import Deferred
from condgof.laws import ModelLike, Scores, as_model, columns
from condgof.methods._source_rows import SourceRows, Span, read_span
from condgof.sample import ArraySource, is_lazy, names_of
from condgof.stein import Piece


def lay_out(model: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Turn Dask arrays into a source, and a model of Dask arrays into columns of it.

    Anything else is returned as it is. x is None in an unconditional test.
    """
    if not (is_lazy(x) or is_lazy(y)):
        return model, x, y
    arrays = {"y": y} if x is None else {"y": y, "x": x}
    if isinstance(model, Scores) and is_lazy(model.values):
        arrays["score"] = model.values
        source = ArraySource.of(arrays)
        return columns(score=_names(source, "score")), source, None
    if isinstance(model, tuple) and len(model) == 2 and any(map(is_lazy, model)):
        arrays["mean"], arrays["std"] = model
        source = ArraySource.of(arrays)
        return columns(mean=_names(source, "mean"), std=_names(source, "std")), source, None
    return as_model(model), ArraySource.of(arrays), None


def _names(source: ArraySource, name: str) -> list[str]:
    return list(names_of(name, source.arrays[name].shape[1]))


@dataclass(frozen=True, eq=False)
class ChunkRows(SourceRows):
    """All rows of Dask arrays; a worker gets a chunk that it has, or computes it."""

    source: ArraySource

    def cuts(self, size: int) -> Sequence[int]:
        """Cut where the chunks are cut."""
        return self.source.cuts

    def part(self, start: int, stop: int) -> Any:
        """Return a chunk that is still to be computed, and what else a worker has to know."""
        return Deferred(super().part(start, stop), self.source.chunk(start))

    @property
    def reader(self) -> Callable[[Any], Iterator[Piece]]:
        """What scores a chunk."""
        functional = None if self._bound else self.model
        return partial(read_chunk, tuple(self.source.arrays), functional, self.scales, self.by)

    def pieces(self) -> Iterator[Piece]:
        """Compute and score all rows in pieces."""
        whole = SourceRows(self.source, self.model, self.scales, self.left_out, self.by)
        return whole.pieces()


def read_chunk(
    names: tuple[str, ...],
    functional: ModelLike | None,
    scales: FloatArray,
    by: str,
    item: tuple[Span, tuple[FloatArray, ...]],
) -> Iterator[Piece]:
    """Score the rows of a chunk in pieces."""
    span, arrays = item
    source = ArraySource(dict(zip(names, arrays, strict=True)), span.start)
    return read_span(source, functional, scales, by, span)
