"""The rows of a test: x in the kernels' units, y compared with its law.

Rows are in memory (`RowsInMemory`), or in files or on Dask (`RowsInStream`), and then read
and compared with their laws in pieces. Both are `condgof.null.TestedRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from condgof import errors, kernels
from condgof._typing import FloatArray, IntArray, TableLike
from condgof.engine import Deferred, Engine, with_progress
from condgof.errors import ShapeError
from condgof.kernels import CovariateKernel, FiniteLocations, Radial, ResponseKernel
from condgof.laws import (
    Columns,
    Law,
    ModelLike,
    law_of,
    predictions,
    undeclared_support_notes,
)
from condgof.residuals import (
    STRETCHES,
    Neighbours,
    Replicates,
    Resampler,
    Residuals,
    SteinResiduals,
    Stretch,
    TestFunctions,
    few_stretches,
    numbered,
    replicates_of,
    residual_class,
)
from condgof.sample import (
    ArraySource,
    Block,
    Column,
    RowWeights,
    Sample,
    Seed,
    Source,
    Use,
    XUnits,
    content_keys,
    content_order,
    effective_rows,
    rows_by_content,
    weights_remark,
    zero_weights_remark,
)
from condgof.stein._matrix import SteinOperator
from condgof.stein._rows import PIECE_ROWS, Piece, Spans, even_cuts

#: The result of a task on some rows.
T = TypeVar("T")

#: Most rows from which bandwidths, ranks and landmarks come. More rows would choose better
#: landmarks, in time and memory that grow with them.
SUBSAMPLE_ROWS = 4096
#: The stream of random numbers within `Use.LANDMARKS` that draws these rows. Landmarks in x
#: have the stream without a number, those in y `condgof.residuals.Y_LANDMARKS_STREAM`.
SUBSAMPLE_STREAM = 1
#: Rows that are read from a source, checked and given to models at a time. They are several
#: pieces, so that a model and a file are called less often.
READ_ROWS = 4 * PIECE_ROWS
#: How many times as many rows a worker of a cluster gets at once in `RowsInStream.fold`.
SPAN_READS = 4
#: Into how many tasks the reading of the subsample is cut on a cluster, where its rows lie
#: all over the files.
READ_TASKS = 64


@dataclass(frozen=True)
class Units:
    """In which units a user wants x and y to be compared."""

    scale_x: str = "none"  #: As `scale_x` of `kcsd`.
    standardize: str = "none"  #: As `standardize` of `kcsd`.
    #: Whether the model's predictions are further columns after those of x, as normal
    #: scores of their ranks.
    predictions: bool = False


class Kernels(NamedTuple):
    """Kernels on x and y whose bandwidths are known."""

    on_x: CovariateKernel
    on_y: ResponseKernel


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """All rows of a sample, compared with their law."""

    sample: Sample  #: The rows in the user's units.
    residuals: Residuals  #: y compared with its law.
    #: Covariates as kernels compare them, perhaps predictions after them, (n, d).
    x: FloatArray
    x_units: XUnits  #: How `x` comes from the user's units.
    law_notes: tuple[str, ...] = ()  #: What the law says that a reader should know.
    #: The rows that bandwidths, ranks and landmarks come from, where they were drawn at
    #: random; None where all rows serve (`subsample`).
    drawn_subsample: RowsInMemory | None = None
    #: Whole samples in place of y, where the law knows of any.
    replicates: Replicates | None = None
    is_stream = False

    @classmethod
    def from_law(
        cls, law: Law, sample: Sample, units: Units, subsample: IntArray | None = None
    ) -> RowsInMemory:
        """Compare a sample with its law.

        The units of x and the landmarks come from the rows of the `subsample`, their
        numbers (b,), or from all rows where there is none.
        """
        kind = residual_class(law, sample.d_y, units.standardize)
        sample = numbered(law, sample)
        residuals = kind.from_law(law, sample)
        covariates = with_predictions(sample.x, law) if units.predictions else sample.x
        chosen = np.arange(sample.n) if subsample is None else subsample
        chosen_x = covariates[chosen]
        d_x = sample.d_x
        x_units = XUnits.from_rows(chosen_x[:, :d_x], sample.x_columns, units.scale_x)
        prediction_count = covariates.shape[1] - d_x
        if prediction_count:
            predicted = [Column(f"prediction {i + 1}") for i in range(prediction_count)]
            ranks = XUnits.from_rows(chosen_x[:, d_x:], predicted, "ranks")
            x_units = x_units.joined(ranks)
        replicates = replicates_of(law, sample, residuals)
        rows = cls(
            sample=sample,
            residuals=residuals,
            x=x_units.apply(covariates),
            x_units=x_units,
            law_notes=(*law.notes, *undeclared_support_notes(law, sample.y)),
            replicates=replicates,
        )
        if len(chosen) == sample.n:
            return rows
        some_rows = rows.take(chosen)
        if replicates is not None:
            some_rows = replace(some_rows, replicates=replicates.take(chosen))
        return replace(rows, drawn_subsample=some_rows)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.sample.n

    @property
    def total(self) -> int:
        """The same: rows in memory that do not count have been left out already."""
        return self.sample.n

    @property
    def d_x(self) -> int:
        """The number of columns of x, without predictions."""
        return self.sample.d_x

    @property
    def d_y(self) -> int:
        return self.sample.d_y

    def take(self, rows: IntArray) -> RowsInMemory:
        """Return some rows, (b,), in the same units; landmarks then come from these.

        They have no replicates, which are of whole samples.
        """
        return replace(
            self,
            sample=self.sample.take(rows),
            residuals=self.residuals.take(rows),
            x=self.x[rows],
            drawn_subsample=None,
            replicates=None,
        )

    def in_content_order(self) -> RowsInMemory:
        """Return the rows in an order that x decides, and y where rows of x are equal."""
        return self.take(self.content_order())

    def content_order(self) -> IntArray:
        """Return an order of the rows that their values decide, (n,)."""
        return content_order(self.x[:, : self.d_x], self.sample.y)

    def content_seed(self) -> Seed:
        """Return a seed that is a hash of the data, the same for every order of the rows.

        It is a hash of the ranks of y along the rows in the order that x decides. So it is
        as good as random, and neither units nor a seed of a user's have a part in it.
        """
        y = self.residuals.content_values(self.sample.y)[self.content_order()]
        ranks = [np.unique(column, return_inverse=True)[1].ravel() for column in y.T]
        values = np.column_stack([np.arange(self.n), *ranks]).astype(np.float64)
        keys = content_keys(values, range(values.shape[1]))
        return Seed(int(keys.sum(dtype=np.uint64)))

    @property
    def subsample(self) -> RowsInMemory:
        """The rows that bandwidths and landmarks come from."""
        return self if self.drawn_subsample is None else self.drawn_subsample

    def pieces(self) -> Iterator[Piece]:
        return self._piece.pieces()

    def spans(self, size: int) -> Spans:
        return self._piece.spans(size)

    @property
    def _piece(self) -> Piece:
        return Piece(x=self.x, residuals=self.residuals, weights=self.sample.weights)

    @property
    def can_resample(self) -> bool:
        return self.residuals.can_resample

    @cached_property
    def are_drawn_together(self) -> bool:
        """Whether rows share an error, so that y must be compared with whole replicates."""
        if self.replicates is None:
            return False
        return self.replicates.are_needed(self.x[:, : self.d_x], self.sample.x_columns)

    def resampler(self, test_functions: TestFunctions, seed: Seed) -> Resampler:
        resampler = self.residuals.resampler(test_functions, self.neighbours(seed))
        assert resampler is not None
        return resampler

    def neighbours(self, seed: Seed) -> Neighbours:
        """Return where rows lie in x."""
        return Neighbours(x=self.x, columns=self.sample.x_columns, seed=seed)

    def kernels(self, on_x: object, on_y: object, seed: Seed) -> Kernels:
        """Check a user's kernels, and give them bandwidths from these rows."""
        # y first: a kernel that is not for y is refused before any distance is computed.
        ready_y = self.residuals.ready_kernel(on_y, seed)
        ready_x = kernels.resolve_x(on_x, self.x, self.sample.x_columns, seed)
        return Kernels(on_x=ready_x, on_y=ready_y)

    def operator(
        self, kernel_x: CovariateKernel | FiniteLocations, kernel_y: Radial
    ) -> SteinOperator:
        """Return the Stein matrix as a lazy operator; y is continuous.

        With weights w its entries are w_i w_j H_ij.
        """
        residuals = self.residuals
        assert isinstance(residuals, SteinResiduals)
        operator = SteinOperator.from_rows(
            self.x, residuals.u, residuals.scores, kernel_x, kernel_y
        )
        return replace(operator, weights=self.sample.weights)

    def stretches(self, size: int, engine: Engine) -> list[Stretch]:
        """Return consecutive rows, whose autocorrelation is examined.

        All rows, or a few stretches of `size` rows where all would take long. The engine is
        for streams.
        """
        cuts = self.residuals.stretches(size)
        if cuts == [slice(0, self.n)]:
            return [Stretch(self.residuals.dependence_values(), self.x)]
        numbers = np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts])
        return split_stretches(self.take(numbers), cuts)

    def weight_details(self) -> dict[str, Any]:
        """What a result says of weights of rows, if there are any."""
        if self.sample.weights is None:
            return {}
        return {"effective_rows": self.sample.effective_rows}

    def details(self) -> dict[str, Any]:
        """What a result says of the coordinates of x and y, where they are not x and y."""
        details = self.residuals.details()
        score_error = details.pop("score_error", None)
        if any(knot is not None for knot in self.x_units.knots[: self.d_x]):
            details["x_seen_as"] = "normal scores of the ranks of numeric columns"
        if score_error is not None:
            details["score_error"] = score_error
        return details

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data and their comparison."""
        notes = [*self.sample.notes(), *self.law_notes, *self.residuals.notes]
        reparametrized = self.residuals.details().get("reparametrized")
        if reparametrized is not None:
            notes.append(
                f"the model's support is bounded, so y was compared as {reparametrized}"
            )
        return tuple(notes)

    def to_kernel_units(self, locations: FloatArray) -> FloatArray:
        """Bring locations in x, (..., d_x), from the user's units to the kernel's."""
        return self._change_units(locations, back=False)

    def to_user_units(self, locations: FloatArray) -> FloatArray:
        """Bring locations in x, (..., d), from the kernel's units to the user's.

        Columns of predictions, after the d_x columns of x, are left out: (..., d_x).
        """
        return self._change_units(locations, back=True)

    def _change_units(self, locations: FloatArray, *, back: bool) -> FloatArray:
        d_x = self.d_x
        units = XUnits(self.x_units.scales[:d_x], self.x_units.knots[:d_x])
        flat = locations[..., :d_x].reshape(-1, d_x)
        return units.apply(flat, back=back).reshape(*locations.shape[:-1], d_x)


def split_stretches(rows: RowsInMemory, cuts: Sequence[slice]) -> list[Stretch]:
    """Split rows that are the stretches `cuts` of a sample, one after the other."""
    values = rows.residuals.dependence_values()
    stretches = []
    start = 0
    for cut in cuts:
        here = slice(start, start + cut.stop - cut.start)
        stretches.append(Stretch(values.take(here), rows.x[here]))
        start = here.stop
    return stretches


class ComparedRows(NamedTuple):
    """Rows of a stream, compared with the laws of its models."""

    x: FloatArray  #: In the kernels' units, (b, d).
    residuals: Residuals


@dataclass(frozen=True, eq=False)
class StreamReader:
    """Reads rows of a source and compares them with their laws, here or on a worker."""

    source: Any  #: A `Source` or an `ArraySource`.
    #: Each gives laws to chunks of rows, is bound to rows, or names columns of the source.
    models: tuple[Any, ...]
    #: Rows and the law of each model there → these rows in the units of the subsample.
    compare: Callable[[Sample, Sequence[Law]], ComparedRows]
    #: Weights of the rows of the source, (total,), 0 in rows that do not count; None where
    #: all are equal. A worker has those of its rows, from `first_weight` on.
    weights: FloatArray | None = None
    first_weight: int = 0

    def read(self, start: int, stop: int, left_out: IntArray) -> Iterator[Piece]:
        """Yield pieces of the rows from `start` to `stop`.

        `left_out` are the global numbers of rows that do not count (`Piece.keep`). A model
        that is bound to rows must be bound to those from `start` on.
        """
        for sample, laws, rows in read_laws(
            self.source, self.models, start, stop, READ_ROWS
        ):
            with row_numbers_in_errors(rows):
                x, residuals = self.compare(sample, laws)
            keep = ~np.isin(rows, left_out) if len(left_out) else None
            piece = Piece(
                x=x,
                residuals=residuals,
                start=int(rows[0]),
                keep=keep,
                weights=self.weights_of(rows),
            )
            yield from piece.pieces()

    def read_with_laws(
        self, start: int, stop: int, left_out: IntArray, x_units: XUnits
    ) -> Iterator[NumberedRows]:
        """Yield the rows from `start` to `stop` with the law of the only model.

        `x_units` are those of the subsample; `left_out` as in `read`.
        """
        for sample, (law,), rows in read_laws(
            self.source, self.models, start, stop, READ_ROWS
        ):
            with row_numbers_in_errors(rows):
                held = self.hold(sample, law, x_units, rows)
            if len(left_out):
                kept = np.flatnonzero(~np.isin(rows, left_out))
                yield NumberedRows(law.take(kept), held.take(kept), rows[kept])
            else:
                yield NumberedRows(law, held, rows)

    def weights_of(self, rows: IntArray) -> FloatArray | None:
        """Return the weights of rows by their global numbers, (b,)."""
        return None if self.weights is None else self.weights[rows - self.first_weight]

    def hold(
        self, sample: Sample, law: Law, x_units: XUnits, rows: IntArray
    ) -> RowsInMemory:
        """Compare rows, of global numbers `rows` (b,), with their law, and hold them."""
        sample = replace(numbered(law, sample), weights=self.weights_of(rows))
        compared = self.compare(sample, [law])
        return RowsInMemory(
            sample=sample,
            residuals=compared.residuals,
            x=compared.x,
            x_units=x_units,
            law_notes=law.notes,
            replicates=replicates_of(law, sample, compared.residuals),
        )


class LawAndRows(NamedTuple):
    """Rows in memory, with their law."""

    law: Law
    rows: RowsInMemory


class NumberedRows(NamedTuple):
    """Consecutive rows of a source in memory, with their law."""

    law: Law
    rows: RowsInMemory
    numbers: IntArray  #: Their global numbers, (b,).


@dataclass(frozen=True, eq=False)
class RowsInStream:
    """All rows of a source: workers read files, or have chunks of Dask arrays."""

    reader: StreamReader
    subsample: RowsInMemory  #: Some rows, from which bandwidths and landmarks come.
    #: Global numbers of rows that are not tested (they were trained on).
    left_out: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_stream = True

    @property
    def sample(self) -> Sample:
        """Some rows, which tell what the columns of x and y are."""
        return self.subsample.sample

    @property
    def total(self) -> int:
        """The number of rows of the source, counting those that are left out."""
        return int(self.reader.source.n)

    @property
    def n(self) -> int:
        """The number of rows that are tested."""
        return self.total - len(self.left_out)

    def weight_details(self) -> dict[str, Any]:
        """What a result says of weights of rows, if there are any."""
        weights = self.reader.weights
        if weights is None:
            return {}
        return {"effective_rows": effective_rows(np.delete(weights, self.left_out))}

    @property
    def can_resample(self) -> bool:
        return self.subsample.residuals.can_resample_streams

    @property
    def are_drawn_together(self) -> bool:
        return self.subsample.are_drawn_together

    def resampler(self, test_functions: TestFunctions, seed: Seed) -> Resampler:
        raise NotImplementedError("rows of a stream are not resampled all at once")

    def pieces(self) -> Iterator[Piece]:
        read = self.reader.read(0, self.total, self.left_out)
        return with_progress(read, -(-self.total // PIECE_ROWS), "condgof")

    def spans(self, size: int) -> Spans:
        """Cut rows for workers: every `size` rows, or at the chunks of Dask arrays."""
        spans = self._closed_spans(size)
        return Spans(read=partial(_read_span, spans.open), parts=spans.parts)

    def _closed_spans(self, size: int) -> _ClosedSpans:
        """Cut rows for workers, as `spans` does.

        A model that is bound to rows travels with each span, cut to its rows (`_Span`). A
        model that is bound to none is sent once, with the reader.
        """
        source = self.reader.source
        chunked = isinstance(source, ArraySource)
        cuts = source.cuts if chunked else even_cuts(self.total, size)
        sent = replace(
            self.reader,
            models=tuple(m if m.rows is None else None for m in self.reader.models),
            source=None if chunked else source,
            weights=None,  # each span has its own
        )
        names = tuple(source.arrays) if chunked else None
        return _ClosedSpans(
            open=partial(_open_span, sent, names),
            parts=[partial(self._span, start, stop) for start, stop in pairwise(cuts)],
        )

    def _span(self, start: int, stop: int) -> Any:
        """Return what a worker has to know of its rows."""
        first, last = np.searchsorted(self.left_out, [start, stop])
        rows = np.arange(start, stop)
        models = self.reader.models
        span = _Span(
            start=start,
            stop=stop,
            models=tuple(None if m.rows is None else m.take(rows) for m in models),
            left_out=self.left_out[first:last],
            weights=self.reader.weights_of(rows),
        )
        source = self.reader.source
        if isinstance(source, ArraySource):
            return Deferred(span, source.chunk(start))
        return span

    def take(self, rows: IntArray, engine: Engine) -> LawAndRows:
        """Read rows by their global numbers, in the units of the stream."""
        (model,) = self.reader.models
        source = self.reader.source
        block = read_rows(source, rows, engine)
        law, sample = _law_of_block(model, source, block, rows)
        with row_numbers_in_errors(rows):
            held = self.reader.hold(sample, law, self.subsample.x_units, rows)
        return LawAndRows(law=law, rows=held)

    def fold(
        self,
        task: Callable[[NumberedRows], T],
        merge: Callable[[Iterable[T]], T],
        engine: Engine,
    ) -> T:
        """Apply a task to all rows, with their laws, and merge its results in order.

        Unlike the pieces of `reduce`, these rows have their sample and their law. A cluster
        gets whole spans, which a worker reads, computes on and merges.

        Parameters
        ----------
        task : callable
            Some rows → their result.
        merge : callable
            Results, of rows or merged already, in order → one result of the same type.
        """
        x_units = self.subsample.x_units
        if not engine.remote:
            read = self.reader.read_with_laws(0, self.total, self.left_out, x_units)
            return merge(engine.map(task, read))
        spans = self._closed_spans(SPAN_READS * READ_ROWS)

        def on_span(part: object) -> T:
            reader, span = spans.open(part)
            blocks = reader.read_with_laws(span.start, span.stop, span.left_out, x_units)
            return merge(map(task, blocks))

        return merge(engine.map(on_span, (make() for make in spans.parts)))

    def stretches(self, size: int, engine: Engine) -> list[Stretch]:
        """Return consecutive rows, whose autocorrelation is examined.

        All rows, or `STRETCHES` stretches of `size` rows if the stream has more.
        """
        n = self.total
        cuts = [slice(0, n)] if n <= STRETCHES * size else few_stretches(n, size)
        numbers = np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts])
        return split_stretches(self.take(numbers, engine).rows, cuts)


class _Span(NamedTuple):
    """Consecutive rows of a source that a worker reads."""

    start: int
    stop: int
    #: Models bound to these rows; None for each model that was sent with the reader.
    models: tuple[ModelLike | None, ...]
    left_out: IntArray  #: Global numbers of the rows of this span that do not count.
    weights: FloatArray | None = None  #: Weights of the rows of this span.


class _OpenedSpan(NamedTuple):
    """What reads the rows of a span, and the span."""

    reader: StreamReader
    span: _Span


class _ClosedSpans(NamedTuple):
    """All rows cut into parts that workers open."""

    open: Callable[[Any], _OpenedSpan]
    parts: Sequence[Callable[[], Any]]  #: What makes each part, when it is to be sent.


def _read_span(open_part: Callable[[Any], _OpenedSpan], part: Any) -> Iterator[Piece]:
    """Yield the pieces of a span, on a worker."""
    reader, span = open_part(part)
    return reader.read(span.start, span.stop, span.left_out)


def _open_span(
    reader: StreamReader, names: tuple[str, ...] | None, part: Any
) -> _OpenedSpan:
    """Return what reads the rows of a span, on a worker.

    `part` is a `_Span`. With `names`, those of the columns of an `ArraySource`, it is a
    pair of a `_Span` and the arrays of its chunk.
    """
    if names is None:
        span = part
        source = reader.source
    else:
        span, arrays = part
        source = ArraySource(dict(zip(names, arrays, strict=True)), span.start)
    models = tuple(
        model if bound is None else bound
        for model, bound in zip(reader.models, span.models, strict=True)
    )
    opened = replace(
        reader,
        source=source,
        models=models,
        weights=span.weights,
        first_weight=span.start,
    )
    return _OpenedSpan(opened, span)


#: The rows of a test, wherever they are.
PreparedRows = RowsInMemory | RowsInStream


def subsample_numbers(n: int, seed: Seed) -> IntArray:
    """Return the numbers of the rows that units and landmarks come from, sorted, (b,).

    All n rows, or `SUBSAMPLE_ROWS` of them at random if there are more.
    """
    if n <= SUBSAMPLE_ROWS:
        return np.arange(n)
    rng = seed.stream(Use.LANDMARKS, SUBSAMPLE_STREAM)
    return np.sort(rng.choice(n, SUBSAMPLE_ROWS, replace=False))


def design_rows(sample: Sample) -> IntArray:
    """Return the numbers of the rows that a design in memory comes from, sorted, (b,).

    All rows, or `SUBSAMPLE_ROWS` of them if there are more. x alone decides which rows of x
    these are; of rows that are equal in x, y decides.
    """
    if sample.n <= SUBSAMPLE_ROWS:
        return np.arange(sample.n)
    return rows_by_content(
        sample.content_keys,
        SUBSAMPLE_ROWS,
        copies=content_keys(sample.y, range(sample.d_y)),
    )


class LawAndSample(NamedTuple):
    """A sample that was read, and the law of its rows."""

    law: Law
    sample: Sample


def read_sample(
    model: ModelLike,
    x: TableLike,
    y: TableLike,
    missing: str = "refuse",
    weights: TableLike | None = None,
) -> LawAndSample:
    """Check x and y, and call the model with x: its law tells whether y is discrete."""
    sample = Sample.from_data(x, y, to_test=False, missing=missing, weights=weights)
    sample = sample.ready(discrete=True)
    law = law_of(model, sample)
    return LawAndSample(law=law, sample=sample.ready(discrete=law.discrete))


@contextmanager
def row_numbers_in_errors(rows: IntArray | None) -> Iterator[None]:
    """Let errors that are raised within name a row by its number in all of the data.

    `rows` (b,) are these numbers; None where the rows within are all of the data.
    """
    try:
        yield
    except errors.SupportError as error:
        if rows is None:
            raise
        first = int(rows[error.first_row])
        raise errors.SupportError(error.model, error.count, error.n, first) from error


def with_predictions(x: FloatArray, law: Law) -> FloatArray:
    """Return x (n, d_x) and the columns that the law predicts, side by side, (n, d)."""
    predicted = predictions(law)
    return x if predicted is None else np.concatenate([x, predicted], axis=1)


class ReadRows(NamedTuple):
    """Some rows of a source, with the law of each model."""

    sample: Sample
    laws: list[Law]
    rows: IntArray  #: Their global numbers, (b,).


def read_laws(
    source: Any,
    models: Sequence[ModelLike],
    start: int,
    stop: int,
    size: int = PIECE_ROWS,
) -> Iterator[ReadRows]:
    """Read rows from `start` to `stop` of a source, `size` of them at a time."""
    for block in source.blocks(size, start, stop):
        rows = np.arange(block.start, block.start + block.n)
        sample = source.sample(block)
        with row_numbers_in_errors(rows):
            laws = [law_of_rows(model, block, sample, rows, start) for model in models]
        yield ReadRows(sample=sample, laws=laws, rows=rows)


def with_columns(models: Sequence[ModelLike], source: Any) -> Any:
    """Let a source read the columns that models name.

    A model of another number of rows is refused.
    """
    for model in models:
        if model.rows is not None and model.rows != source.n:
            one = "The" if len(models) == 1 else "A"
            raise ShapeError(
                f"{one} model is bound to {model.rows} rows and the source has {source.n}."
            )
    named = [model for model in models if isinstance(model, Columns)]
    wanted = [name for model in named for name in model.names]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


def read_rows(source: Source | ArraySource, rows: IntArray, engine: Engine) -> Block:
    """Read rows from many places of a large source; a cluster shares the work."""
    if not engine.remote or isinstance(source, ArraySource):  # Dask computes where it is
        return source.take(rows)
    parts = np.array_split(rows, min(READ_TASKS, len(rows)))
    blocks = list(engine.map(source.take, parts))
    return Block(
        int(rows[0]),
        np.concatenate([block.x for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        {
            name: np.concatenate([block.extra[name] for block in blocks])
            for name in source.extra_names
        },
    )


def law_of_rows(
    model: ModelLike, block: Block, sample: Sample, rows: IntArray, first: int = 0
) -> Law:
    """Return the law of rows of a source.

    A model that is bound to rows has those from `first` on.
    """
    if isinstance(model, Columns):
        return model.bind(block.extra, rows, sample.x_given)
    return law_of(model.take(rows - first) if model.rows is not None else model, sample)


class Prepared(NamedTuple):
    """The rows of a test, with their law; of a stream, with its model."""

    law_or_model: ModelLike
    rows: PreparedRows


def rows_of_source(
    model: ModelLike,
    source: Any,
    units: Units,
    seed: Seed,
    engine: Engine,
    *,
    all_rows: bool,
    weights: RowWeights | None = None,
) -> Prepared:
    """Read a source into memory where it is small or `all_rows` is set, else stream it.

    Rows of weight 0 are not read into memory, and do not count in a stream.
    """
    source = with_columns((model,), source)
    kept = None if weights is None else weights.kept
    rows, block = read_subsample(source, None if all_rows else seed, engine, kept)
    law, sample = _law_of_block(model, source, block, rows)
    counted = source.n if kept is None else len(kept)
    all_weights = None if weights is None else weights.of_all(source.n)
    if weights is not None:
        sample = with_row_weights(sample, weights, all_weights, rows, source.n)
    with row_numbers_in_errors(rows):
        held = RowsInMemory.from_law(law, sample, units)
    if len(rows) == counted:
        return Prepared(law_or_model=law, rows=held)
    compare = partial(_compare, type(held.residuals), held.x_units)
    reader = StreamReader(
        source=source, models=(model,), compare=compare, weights=all_weights
    )
    stream = RowsInStream(reader=reader, subsample=held)
    if kept is not None:
        stream = replace(stream, left_out=np.setdiff1d(np.arange(source.n), kept))
    return Prepared(law_or_model=model, rows=stream)


def with_row_weights(
    sample: Sample,
    weights: RowWeights,
    all_weights: FloatArray | None,
    rows: IntArray,
    total: int,
) -> Sample:
    """Give some rows of a source, of these global numbers (b,), their weights.

    `all_weights` are those of all rows of the source, (total,).
    """
    remarks = sample.remarks
    zeros = 0 if weights.kept is None else total - len(weights.kept)
    if zeros:
        remarks = (*remarks, zero_weights_remark(zeros, total))
    if weights.values is not None:
        remarks = (*remarks, weights_remark(weights.values))
    holds_all = len(rows) == total - zeros
    return replace(
        sample,
        weights=None if all_weights is None else all_weights[rows],
        kept=rows if zeros and holds_all else None,
        left_out=zeros if holds_all else 0,
        zero_weights=zeros if holds_all else 0,
        remarks=remarks,
    )


def _compare(
    kind: type[Residuals], x_units: XUnits, sample: Sample, laws: Sequence[Law]
) -> ComparedRows:
    """Compare rows with the law of one model, in the units of the subsample."""
    (law,) = laws
    x = sample.x
    if len(x_units.scales) > sample.d_x:
        x = with_predictions(x, law)
    return ComparedRows(
        x=x_units.apply(x), residuals=kind.from_law(law, numbered(law, sample))
    )


def _law_of_block(
    model: ModelLike, source: Source | ArraySource, block: Block, rows: IntArray
) -> LawAndSample:
    """Check rows that were read from a source, and call their model."""
    sample = source.sample(block).ready(discrete=True)
    with row_numbers_in_errors(rows):
        law = law_of_rows(model, block, sample, rows)
    return LawAndSample(law=law, sample=sample.ready(discrete=law.discrete))


class NumberedBlock(NamedTuple):
    """Rows that were read from a source, and where they are in it."""

    rows: IntArray  #: Their global numbers, (b,).
    block: Block


def read_subsample(
    source: Any, seed: Seed | None, engine: Engine, kept: IntArray | None = None
) -> NumberedBlock:
    """Read the rows that units and landmarks come from.

    These are all rows of a small source, and all rows where there is no seed to draw by.
    Where rows have weight 0, `kept` are the numbers of the others, of which alone some are
    read, (m,).
    """
    if kept is not None:
        if seed is None or len(kept) <= SUBSAMPLE_ROWS:
            return NumberedBlock(kept, read_rows(source, kept, engine))
        rows = kept[subsample_numbers(len(kept), seed)]
        return NumberedBlock(rows, read_rows(source, rows, engine))
    if seed is None or source.n <= SUBSAMPLE_ROWS:
        return NumberedBlock(np.arange(source.n), source.block_range(0, source.n))
    rows = subsample_numbers(source.n, seed)
    return NumberedBlock(rows, read_rows(source, rows, engine))
