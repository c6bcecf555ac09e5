"""Rows that are not in memory: in files (`scan`) or on Dask, read and scored in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Deferred, Engine, with_progress
from condgof.errors import InputError, InputTypeError, ShapeError, check_object
from condgof.laws._as_model import Columns, as_model, columns, law_of
from condgof.laws._discrete import Outcomes
from condgof.laws._functions import Scores
from condgof.laws._law import Law, ModelLike
from condgof.methods import _scored as scoring
from condgof.methods._scored import SUBSAMPLE, Scored, Units, rows_named
from condgof.sample import ArraySource, Block, Sample, Seed, Source, XUnits, is_lazy, names_of
from condgof.stein._sum import PIECE, Piece, even_cuts

#: Rows that are read, looked over and given to models at a time.
READ = 4 * PIECE
#: Into how many tasks the reading of single rows is cut on a cluster.
TAKES = 64
#: x and y as kernels see them, scores, and from what a discrete y can be drawn anew.
Seen: TypeAlias = tuple[Any, Any, Any, Outcomes | None]


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """All rows of a source; workers read theirs from the files, or have chunks of Dask arrays."""

    source: Any
    #: Each scores chunks of rows, is bound to all rows, or names columns of the source.
    models: tuple[ModelLike, ...]
    see: Callable[[Sample, Sequence[Law]], Seen]  #: How rows are seen, given the law of each model.
    #: Global numbers of rows that are not tested (they were trained on).
    left_out: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def total(self) -> int:
        return int(self.source.n)

    @property
    def n(self) -> int:
        return self.total - len(self.left_out)

    def pieces(self) -> Iterator[Piece]:
        read = self.score(self.source, self.models, 0, self.total, self.left_out)
        return with_progress(read, -(-self.total // PIECE), "condgof")

    def cuts(self, size: int) -> Sequence[int]:
        """Return where to cut spans: evenly, or where Dask's chunks are cut."""
        return self.source.cuts if isinstance(self.source, ArraySource) else even_cuts(self.total, size)

    def part(self, start: int, stop: int) -> Any:
        """Return what a worker has to know: the numbers of rows, and models that are bound to them."""
        first, last = np.searchsorted(self.left_out, [start, stop])
        rows = np.arange(start, stop)
        bound = tuple(None if m.rows is None else m.take(rows) for m in self.models)
        span = start, stop, bound, self.left_out[first:last]
        return Deferred(span, self.source.chunk(start)) if isinstance(self.source, ArraySource) else span

    @property
    def reader(self) -> Callable[[Any], Iterator[Piece]]:
        """What reads and scores a part; models that are bound to no rows go with it."""
        models: Any = tuple(m if m.rows is None else None for m in self.models)
        sent = replace(self, models=models, left_out=self.left_out[:0])
        if isinstance(self.source, ArraySource):
            return partial(_read, replace(sent, source=None), tuple(self.source.arrays))
        return partial(_read, sent, None)

    def score(
        self, source: Any, models: Sequence[ModelLike], start: int, stop: int, left_out: IntArray
    ) -> Iterator[Piece]:
        """Read and score some rows; models that are bound to rows have those from `start` on."""
        for sample, laws, rows in read_laws(source, models, start, stop, READ):
            with rows_named(rows):
                x, y, scores, outcomes = self.see(sample, laws)
            keep = ~np.isin(rows, left_out) if len(left_out) else None
            yield from Piece(x, y, scores, outcomes, int(rows[0]), keep).pieces()


def _read(rows: StreamedRows, names: tuple[str, ...] | None, part: Any) -> Iterator[Piece]:
    """Read and score a part on a worker; of Dask arrays, those of its chunk come with it."""
    (start, stop, bound, left_out), arrays = (part, ()) if names is None else part
    source = rows.source if names is None else ArraySource(dict(zip(names, arrays, strict=True)), start)
    models = [m if own is None else own for m, own in zip(rows.models, bound, strict=True)]
    return rows.score(source, models, start, stop, left_out)


def read_laws(
    source: Any, models: Sequence[ModelLike], start: int, stop: int, size: int = PIECE
) -> Iterator[tuple[Sample, list[Law], IntArray]]:
    """Read some rows at a time: the sample, the law of each model, and the numbers of the rows."""
    for block in source.blocks(size, start, stop):
        rows = np.arange(block.start, block.start + block.n)
        sample = source.sample(block)
        with rows_named(rows):
            laws = [law_of_rows(model, block, sample, rows, start) for model in models]
        yield sample, laws, rows


def with_columns(models: Sequence[ModelLike], source: Any) -> Any:
    """Let a source read the columns that models name; refuse a model of another number of rows."""
    for model in models:
        if model.rows is not None and model.rows != source.n:
            one = "The" if len(models) == 1 else "A"
            raise ShapeError(f"{one} model is bound to {model.rows} rows and the source has {source.n}.")
    wanted = [name for model in models if isinstance(model, Columns) for name in model.names]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


def take_rows(source: Source | ArraySource, rows: IntArray, engine: Engine) -> Block:
    """Read some rows; in a large source they lie in so many places that a cluster reads them better."""
    if not engine.remote or isinstance(source, ArraySource):  # which Dask computes where it is
        return source.take(rows)
    blocks = list(engine.map(source.take, np.array_split(rows, min(TAKES, len(rows)))))
    x, y = (np.concatenate([getattr(block, name) for block in blocks]) for name in "xy")
    extra = {name: np.concatenate([b.extra[name] for b in blocks]) for name in source.extra_names}
    return Block(int(rows[0]), x, y, extra)


def law_of_rows(model: ModelLike, block: Block, sample: Sample, rows: IntArray, first: int = 0) -> Law:
    """Return the law of rows of a source; a model that is bound to rows has those from `first` on."""
    if isinstance(model, Columns):
        return model.bind(block.extra, rows, sample.x_given)
    return law_of(model.take(rows - first) if model.rows is not None else model, sample)


def elsewhere(x: Any, y: Any) -> bool:
    """Tell whether x or y is a source or a Dask array; refuse x in memory without y."""
    check_object(x, "x")
    check_object(y, "y")
    if any(isinstance(part, (Source, ArraySource)) or is_lazy(part) for part in (x, y)):
        return True
    if y is None:
        raise InputTypeError(
            "y is missing. Pass y, or a source from condgof.scan(...) as x, which brings its own y."
        )
    return False


def refuse_source(test: str, x: Any, y: Any) -> None:
    """Refuse a source or Dask arrays, for a test that needs the sample in memory."""
    if elsewhere(x, y):
        raise InputTypeError(
            f"{test} needs the sample in memory, and takes no source (condgof.scan) and no Dask arrays. "
            "kcsd, fscd and adaptive take them; or pass NumPy arrays or a frame."
        )


def prepare_source(
    model: Any, x: Any, y: Any, units: Units, options: Any, seed: Seed
) -> tuple[ModelLike, Scored]:
    """Score a small source in memory; of a large one, or of Dask arrays, some rows, for a stream."""
    (given,), source = open_source([model], x, y, options.missing, options.solver)
    model = as_model(given)
    source = with_columns((model,), source)
    whole = options.chosen(source.n) == "exact" and not units.predictions
    rows, block = read_some(source, None if whole else seed, options.engine)
    law, scored = _score_rows(model, source, block, rows, units)
    if len(rows) == source.n:
        return law, scored
    streamed = StreamedRows(source, (model,), partial(_see, scored.units, scored.by))
    return model, replace(scored, some=scored, source=streamed)


def _see(units: XUnits, by: str, sample: Sample, laws: Sequence[Law]) -> Seen:
    seen = scoring.coordinates_of(laws[0], sample, by)
    x = scoring.covariates(sample.x, laws[0], len(units.scales) > sample.d_x)
    return units.apply(x), seen.y, seen.scores, seen.outcomes


def score_rows(scored: Scored, rows: IntArray, engine: Engine) -> tuple[Scored, Law]:
    """Read and score rows of a stream by their global numbers, in its units, with their law."""
    few, streamed = scored.subsample, scored.source
    units = Units(standardize=few.by, predictions=few.x.shape[1] > few.sample.d_x)
    block = take_rows(streamed.source, rows, engine)
    law, part = _score_rows(streamed.models[0], streamed.source, block, rows, units)
    x = few.units.apply(scoring.covariates(part.sample.x, law, units.predictions))
    return replace(part, x=x, units=few.units), law


def _score_rows(
    model: ModelLike, source: Source | ArraySource, block: Block, rows: IntArray, units: Units
) -> tuple[Law, Scored]:
    """Check and score rows that were read from a source, under the names it has for columns."""
    sample = source.sample(block).ready(discrete=True)
    with rows_named(rows):
        law = law_of_rows(model, block, sample, rows)
        return law, Scored.of(law, sample.ready(discrete=law.discrete), units)


def read_some(source: Any, seed: Seed | None, engine: Engine) -> tuple[IntArray, Block]:
    """Read the rows that units and landmarks come from; all of a small source, and without a seed."""
    rows = None if seed is None else scoring.sampled_rows(source.n, seed)
    if rows is None:
        return np.arange(source.n), source.block_range(0, source.n)
    return rows, take_rows(source, rows, engine)


def open_source(
    models: Sequence[Any], x: Any, y: Any, missing: str, solver: str
) -> tuple[list[Any], Any]:
    """Return what models are of, and the source; of Dask arrays, as columns of it. x may be None."""
    given = list(models)
    if is_lazy(x) or is_lazy(y):
        arrays = {"y": y} if x is None else {"y": y, "x": x}
        for k, model in enumerate(given):
            own = f"model {k} " if len(given) > 1 else ""
            pair = isinstance(model, tuple) and len(model) == 2
            parts = dict(zip(("mean", "std"), model, strict=True)) if pair else {}
            parts = {"score": model.values} if isinstance(model, Scores) else parts
            if any(map(is_lazy, parts.values())):
                arrays |= {own + part: values for part, values in parts.items()}
                wide = {part: 1 if np.ndim(v) < 2 else np.shape(v)[1] for part, v in parts.items()}
                named: Any = {part: list(names_of(own + part, width)) for part, width in wide.items()}
                given[k] = columns(**named)
        x, y = ArraySource.of(arrays), None
    if not isinstance(x, (Source, ArraySource)):
        raise InputTypeError("y is a source: pass it as x, and leave y out.")
    if y is not None:
        raise InputError("A source brings its own y: leave y out.")
    if missing != "refuse":
        raise InputError(
            f"missing={missing!r} is for rows in memory: leave rows with missing values out of "
            "the source first, or use condgof check --drop-nulls."
        )
    if solver == "exact" and x.n > SUBSAMPLE:
        raise InputError("solver='exact' needs the sample in memory; a source is for 'lowrank'.")
    return given, x
