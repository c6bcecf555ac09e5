"""The rows of a test, checked and scored: in memory, in files, on Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Deferred, Engine, with_progress
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
    check_object,
)
from condgof.kernels import (
    Cells,
    CovariateKernel,
    FiniteLocations,
    Radial,
    ResponseKernel,
    resolve_cells,
    resolve_x,
    resolve_y,
)
from condgof.laws import (
    Columns,
    Law,
    ModelLike,
    Outcomes,
    Probabilities,
    Scores,
    as_model,
    columns,
    law_of,
)
from condgof.sample import (
    ArraySource,
    Block,
    Column,
    Sample,
    Seed,
    Source,
    Use,
    XUnits,
    is_lazy,
    names_of,
)
from condgof.stein import (
    PIECE,
    STANDARDIZED_BY,
    ArrayRows,
    Piece,
    SteinOperator,
    choose_coordinates,
    coordinates_of,
    even_cuts,
    numbered,
)

#: Rows from which bandwidths, ranks and landmarks come, where there are more.
SUBSAMPLE = 4096
#: Into how many tasks the reading of such rows is cut on a cluster.
TAKES = 64
#: Of more classes than this, the largest probability alone is a prediction.
MOST_PREDICTIONS = 12


@dataclass(frozen=True)
class Units:
    """In which units a user wants x and y to be compared."""

    #: In which units columns of x are compared.
    scale_x: str = "none"
    #: What y is standardised by; see `condgof.stein.choose_coordinates`.
    standardize: str = "none"
    #: Whether the model's predictions follow the columns of x, by ranks.
    predictions: bool = False


#: As they are.
PLAIN = Units()


@dataclass(frozen=True, eq=False)
class Scored:
    """A sample with its scores: all that the linear algebra needs."""

    #: The checked sample.
    sample: Sample
    #: Responses as the kernel sees them, and the scores in those coordinates; for a discrete y its
    #: residuals (n, cells), which may be made only when rows are taken, (n, d_y).
    y: FloatArray
    scores: FloatArray
    #: Covariates as kernels see them, and perhaps predictions after them, (n, d_x) or wider.
    x: FloatArray
    #: The units of x.
    units: XUnits
    #: What y is standardised by.
    by: str = "none"
    #: Largest estimated error of scores that were differentiated numerically.
    score_error: float | None = None
    #: How y was brought from a bounded support to the whole line.
    reparametrized: str | None = None
    #: What the model says of itself.
    model_notes: tuple[str, ...] = ()
    #: What the residuals are of, where y is discrete.
    cells: Cells | None = None
    #: From which y can be drawn anew given x, where it is discrete.
    outcomes: Outcomes | None = None
    #: The rows that bandwidths, ranks and landmarks come from, where that is not all of them.
    some: Scored | None = None

    @classmethod
    def of(cls, model: Any, sample: Sample, units: Units = PLAIN, seed: Seed | None = None) -> Scored:
        """Score a sample with a model, or with the law of its rows.

        With a seed, units and whatever is chosen later come from some rows where there are many: the
        same that a stream of these rows would draw.
        """
        law = law_of(as_model(model), sample)
        by = choose_coordinates(law, sample.d_y, units.standardize)
        sample = numbered(law, sample)
        seen = coordinates_of(law, sample, by)
        whole = _covariates(sample.x, law, units.predictions)
        rows = None if seed is None else sampled_rows(sample.n, seed)
        few = whole if rows is None else whole[rows]
        x_units = _units_of(few, sample.x_columns, units.scale_x)
        made = cls(
            sample=sample,
            y=seen.u,
            scores=seen.scores,
            x=x_units.apply(whole),
            units=x_units,
            by=by,
            score_error=seen.error,
            reparametrized=seen.reparametrized,
            model_notes=(*law.notes, *seen.notes),
            cells=seen.cells,
            outcomes=seen.outcomes,
        )
        return made if rows is None else replace(made, some=made.take(rows))

    def take(self, rows: IntArray) -> Scored:
        """Return some rows; units stay those of the whole sample."""
        return replace(
            self,
            sample=self.sample.take(rows),
            y=self.y[rows],
            scores=self.scores[rows],
            x=self.x[rows],
            outcomes=None if self.outcomes is None else self.outcomes.take(rows),
            some=None,
        )

    def kernels(
        self, kernel_x: Any, kernel_y: Any, seed: Seed
    ) -> tuple[CovariateKernel, ResponseKernel]:
        """Make the kernels ready for this sample."""
        # y first: asking for Laplace on y is refused before any distance is computed.
        ready_y = self.kernel_on_y(kernel_y, seed)
        return resolve_x(kernel_x, self.x, self.sample.x_columns, seed), ready_y

    def kernel_on_y(self, kernel_y: Any, seed: Seed) -> ResponseKernel:
        """Make the kernel on y ready for this sample."""
        if self.cells is not None:
            return resolve_cells(kernel_y, self.cells)
        return resolve_y(kernel_y, self.y, seed)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sample.n

    @property
    def subsample(self) -> Scored:
        """The rows in memory from which bandwidths and landmarks come."""
        return self if self.some is None else self.some

    def rows(self) -> ArrayRows:
        """Return the rows, for sums over them."""
        return ArrayRows(self.x, self.y, self.scores, self.outcomes)

    def operator(self, kernel_x: CovariateKernel | FiniteLocations, kernel_y: Radial) -> SteinOperator:
        """Return the Stein matrix as a lazy operator; y is continuous."""
        return SteinOperator.of(self.x, self.y, self.scores, kernel_x, kernel_y)

    def details(self) -> dict[str, Any]:
        """What a result says of the coordinates of y, where they are not y itself."""
        if self.cells is not None:
            return {"standardized_by": self.cells.words, **self._by_ranks()}
        details = {} if self.by == "none" else {"standardized_by": STANDARDIZED_BY[self.by]}
        if self.reparametrized is not None:
            details["reparametrized"] = self.reparametrized
        return {**details, **self._by_ranks()}

    def _by_ranks(self) -> dict[str, Any]:
        """Say so where bandwidths on x are in normal scores of ranks."""
        ranked = any(knot is not None for knot in self.own_units.knots)
        return {"x_seen_as": "normal scores of the ranks of numeric columns"} if ranked else {}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data and how they were compared."""
        notes = (*self.sample.notes(), *self.model_notes)
        if self.reparametrized is None:
            return notes
        bounded = f"the model's support is bounded, so y was compared as {self.reparametrized}"
        return (*notes, bounded)

    def to_user(self, locations: FloatArray) -> FloatArray:
        """Bring locations from the kernel's units back to the user's, (m, d_x)."""
        points = np.atleast_2d(locations)[:, : self.sample.d_x]
        inverted = self.own_units.invert(points)
        return inverted if locations.ndim == 2 else np.asarray(inverted[0])

    def from_user(self, locations: FloatArray) -> FloatArray:
        """Bring locations (..., d_x) to the kernel's units."""
        flat = locations.reshape(-1, self.sample.d_x)
        return self.own_units.apply(flat).reshape(locations.shape)

    @property
    def own_units(self) -> XUnits:
        """The units of the columns of x alone."""
        d_x = self.sample.d_x
        return XUnits(self.units.scales[:d_x], self.units.knots[:d_x])


def _units_of(x: FloatArray, own: Sequence[Column], scale_x: str) -> XUnits:
    """Return units of the columns of x, and of predictions that follow them, which go by ranks."""
    units, d_x = XUnits.of(x[:, : len(own)], own, scale_x), len(own)
    others = [Column(f"prediction {i + 1}") for i in range(x.shape[1] - d_x)]
    return units if not others else units.joined(XUnits.of(x[:, d_x:], others, "ranks"))


def _covariates(x: FloatArray, law: Law, with_predictions: bool) -> FloatArray:
    """Return x, followed by what the law predicts."""
    seen = predictions(law) if with_predictions else None
    return x if seen is None else np.concatenate([x, seen], axis=1)


def predictions(law: Law) -> FloatArray | None:
    """Return what a law predicts, (n, p): probabilities, or location and scale; None if nothing."""
    if not law.of_x:
        return None
    if isinstance(law, Probabilities):
        values = np.asarray(law.values, dtype=np.float64)
        if values.shape[1] == 2:
            return values[:, 1:]
        return values if values.shape[1] <= MOST_PREDICTIONS else values.max(axis=1, keepdims=True)
    ability = next((a for a in ("location_scale", "mean_std") if law.can(a)), None)
    if ability is None:
        return None
    try:
        location, scale = (np.asarray(part, dtype=np.float64) for part in getattr(law, ability)())
    except UnsupportedModelError:  # a library's law that has no moments says so when it is asked
        return None
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    both = np.concatenate([location, np.broadcast_to(scale, location.shape)], axis=1)
    return np.asarray(np.nan_to_num(both, posinf=1e300, neginf=-1e300))


def prediction_name(number: int, count: int, d_y: int) -> str:
    """Return what to call one of so many columns of predictions."""
    if count != 2 * d_y:
        return f"predicted probability {number + 1}" if count > 1 else "predicted probability"
    what = "location" if number < d_y else "scale"
    return f"predicted {what}" if d_y == 1 else f"predicted {what} of y{number % d_y + 1}"


def sampled_rows(n: int, seed: Seed) -> IntArray | None:
    """Return the numbers of the rows that units and landmarks come from, sorted; None for all."""
    if n <= SUBSAMPLE:
        return None
    return np.sort(seed.stream(Use.LANDMARKS, 1).choice(n, SUBSAMPLE, replace=False))


@dataclass(frozen=True, eq=False)
class Stream:
    """A source with its model."""

    #: Where the rows are.
    source: Source | ArraySource
    #: Scores chunks of rows, is bound to all rows, or names columns of the source.
    model: ModelLike
    #: Rows drawn uniformly over all row numbers, scored, in memory.
    subsample: Scored
    #: Global numbers of rows that are not tested (they were trained on).
    left_out: IntArray

    @classmethod
    def of(
        cls,
        model: Any,
        source: Source | ArraySource,
        seed: Seed,
        engine: Engine,
        units: Units = PLAIN,
    ) -> Stream:
        """Draw and score the subsample."""
        model = as_model(model)
        source = with_columns((model,), source)
        rows = sampled_rows(source.n, seed)
        rows = np.arange(source.n) if rows is None else rows
        scored = score_rows(model, source, _take(source, rows, engine), rows, units)[1]
        return cls(source, model, scored, np.empty(0, dtype=np.int64))

    @property
    def n(self) -> int:
        """Number of rows that are tested."""
        return self.source.n - len(self.left_out)

    def without(self, rows: IntArray) -> Stream:
        """Return the stream with some rows left out."""
        return replace(self, left_out=rows)

    def at(self, rows: IntArray, engine: Engine) -> Scored:
        """Read and score rows by their global numbers, in the units of the subsample."""
        return self.with_model(rows, engine)[0]

    def with_model(self, rows: IntArray, engine: Engine) -> tuple[Scored, Law]:
        """Read and score rows as `at` does, and return them with their law."""
        few = self.subsample
        units = Units(standardize=few.by, predictions=few.x.shape[1] > few.sample.d_x)
        law, part = score_rows(self.model, self.source, _take(self.source, rows, engine), rows, units)
        x = few.units.apply(_covariates(part.sample.x, law, units.predictions))
        return replace(part, x=x, units=few.units), law

    def rows(self) -> SourceRows:
        """Return the rows, for sums over them."""
        few = self.subsample
        return SourceRows(self.source, (self.model,), few.units, self.left_out, few.by)


def with_columns(models: Sequence[ModelLike], source: Any) -> Any:
    """Let a source read the columns that models name; refuse a model of another number of rows."""
    for model in models:
        if model.rows is not None and model.rows != source.n:
            one = "The" if len(models) == 1 else "A"
            raise ShapeError(f"{one} model is bound to {model.rows} rows and the source has {source.n}.")
    wanted = [name for model in models if isinstance(model, Columns) for name in model.names]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


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
    sample = _sample_of(source, block).renamed(source.x_names, source.y_names).ready(discrete=True)
    with rows_named(rows):
        law = law_of_rows(model, block, sample, rows)
        return law, Scored.of(law, sample.ready(discrete=law.discrete), units)


def _sample_of(source: Source | ArraySource, block: Block) -> Sample:
    if source.d_x:
        return Sample.of(block.x, block.y, to_test=False)
    return Sample.unconditional(block.y, to_test=False)


def in_memory(model: Any, source: Source | ArraySource, units: Units = PLAIN) -> tuple[Law, Scored]:
    """Read a whole (small) source, for the exact solver, with the law of its rows."""
    model = as_model(model)
    source = with_columns((model,), source)
    block = source.block_range(0, source.n)
    return score_rows(model, source, block, np.arange(source.n), units)


def refuse_source(test: str, x: Any, y: Any) -> None:
    """Refuse a source or Dask arrays, for a test that needs the sample in memory."""
    if any(isinstance(part, (Source, ArraySource)) or is_lazy(part) for part in (x, y)):
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


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """All rows of a source; workers read theirs from the files, or have chunks of Dask arrays."""

    #: Where the rows are.
    source: Any
    #: Score chunks of rows, are bound to all rows, or name columns of the source.
    models: tuple[ModelLike, ...]
    #: The units of x, and of predictions that follow it.
    units: XUnits
    #: Global numbers of rows that count for nothing.
    left_out: IntArray

    def seen(self, sample: Sample, laws: list[Law]) -> tuple[Any, Any, Any, Outcomes | None]:
        """Return x and y as kernels see them, scores, and from what a discrete y can be drawn anew."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """Number of rows, counting those that are left out."""
        return int(self.source.n)

    def pieces(self) -> Iterator[Piece]:
        """Read and score all rows in pieces."""
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
        for sample, laws, rows in read_laws(source, models, start, stop):
            with rows_named(rows):
                x, y, scores, outcomes = self.seen(sample, laws)
            keep = ~np.isin(rows, left_out) if len(left_out) else None
            yield Piece(int(rows[0]), x, y, scores, keep, outcomes)


@dataclass(frozen=True, eq=False)
class SourceRows(StreamedRows):
    """All rows of a source with the scores of one model."""

    #: What y is standardised by.
    by: str

    def seen(self, sample: Sample, laws: list[Law]) -> tuple[Any, Any, Any, Outcomes | None]:
        """Standardise y, and append predictions to x where they are among the units."""
        found = coordinates_of(laws[0], sample, self.by)
        x = _covariates(sample.x, laws[0], len(self.units.scales) > sample.d_x)
        return self.units.apply(x), found.u, found.scores, found.outcomes


def _read(rows: StreamedRows, names: tuple[str, ...] | None, part: Any) -> Iterator[Piece]:
    """Read and score a part on a worker; of Dask arrays, those of its chunk come with it."""
    (start, stop, bound, left_out), arrays = (part, ()) if names is None else part
    source = rows.source if names is None else ArraySource(dict(zip(names, arrays, strict=True)), start)
    models = [m if own is None else own for m, own in zip(rows.models, bound, strict=True)]
    return rows.score(source, models, start, stop, left_out)


def read_laws(
    source: Any, models: Sequence[ModelLike], start: int, stop: int
) -> Iterator[tuple[Sample, list[Law], IntArray]]:
    """Read rows in pieces: the sample, the law of each model, and the numbers of the rows."""
    for block in source.blocks(PIECE, start, stop):
        rows = np.arange(block.start, block.start + block.n)
        sample = _sample_of(source, block)
        with rows_named(rows):
            laws = [law_of_rows(model, block, sample, rows, start) for model in models]
        yield sample, laws, rows


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


def lay_out(models: Sequence[Any], x: Any, y: Any) -> tuple[list[Any], Any, Any]:
    """Turn Dask arrays into a source, and models of Dask arrays into columns of it.

    Anything else is returned as it is. x is None in an unconditional test.
    """
    check_object(x, "x")
    check_object(y, "y")
    given = list(models)
    if not (is_lazy(x) or is_lazy(y)):
        return given, x, y
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
    return given, ArraySource.of(arrays), None
