"""A sample as a Stein test sees it: x in the kernel's units, y in coordinates with their scores.

Rows are in memory, or in files (`scan`) or on Dask, and then read and scored in pieces.

For any smooth invertible u = T_x(y) that is chosen without looking at y, testing p(y|x) and
testing the density that it induces on u are the same hypothesis. Scores carry over by the
chain rule,

    ∇_u log p(u|x) = (∂y/∂u)ᵀ ∇_y log p(y|x) + ∇_u log |det ∂y/∂u|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condgof import errors, kernels
from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.engine import Deferred, Engine, with_progress
from condgof.errors import (
    InputError,
    ShapeError,
    UnsupportedModelError,
    check_choice,
    check_finite,
)
from condgof.kernels import Cells, CovariateKernel, FiniteLocations, Radial, ResponseKernel
from condgof.laws._as_model import Columns, as_model, law_of
from condgof.laws._discrete import FULL, PLAIN, Discrete, Outcomes, Probabilities
from condgof.laws._law import Law, Model, ModelLike, check_shape
from condgof.laws._line import Line
from condgof.laws._survival import Censored
from condgof.sample import (
    ArraySource,
    Block,
    Column,
    Sample,
    Seed,
    Source,
    Use,
    XUnits,
    as_numbers,
)
from condgof.stein._matrix import SteinOperator
from condgof.stein._sum import PIECE, Piece, Spans, even_cuts

#: Rows from which bandwidths, ranks and landmarks come; rows that `scores` gives to a
#: network at a time.
SUBSAMPLE, BLOCK = 4096, 8192
#: Rows that are read, looked over and given to models at a time.
READ = 4 * PIECE
#: Into how many tasks the reading of single rows is cut on a cluster.
TAKES = 64
#: Of more classes than this, the largest probability alone is a prediction.
MOST_PREDICTIONS = 12
#: What a user may standardise y by; what it is where some of y is censored, and where
#: several models are compared; what results say of it.
STANDARDIZE = ("auto", "cdf", "marginals", "mean_std", "none")
CENSORED, TOGETHER = "censored", "together"
STANDARDIZED_BY = {
    "cdf": "normal scores of the model's CDF",
    "marginals": "normal scores of the model's marginal CDFs",
    "mean_std": "location and scale of the model",
    CENSORED: "normal scores of the model's CDF, some of them censored",
    TOGETHER: "one affine map for all models",
    "none": "it is",
    PLAIN: "it is",
    FULL: "the model has it",
}


@dataclass(frozen=True)
class Units:
    """In which units a user wants x and y to be compared."""

    scale_x: str = "none"
    standardize: str = "none"
    predictions: bool = (
        False  #: Whether the model's predictions follow the columns of x, by ranks.
    )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """y in the coordinates that kernels compare."""

    y: FloatArray  #: y, or what it was turned into, (n, d_y).
    #: ∇_y log p in these coordinates, (n, d_y); of a discrete y its residuals (n, cells),
    #: which may be made only when rows are taken.
    scores: FloatArray
    #: Largest estimated error of scores that were differentiated numerically.
    score_error: float | None = None
    reparametrized: str | None = (
        None  #: How y was brought from a bounded support to the whole line.
    )
    #: What the residuals are of, and from what y can be drawn anew given x, where it is
    #: discrete.
    cells: Cells | None = None
    outcomes: Outcomes | None = None
    model_notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Scored(Coordinates):
    """A sample with its scores: all that the linear algebra needs."""

    sample: Sample
    #: Covariates as kernels see them, and perhaps predictions after them, (n, d_x) or
    #: wider.
    x: FloatArray
    units: XUnits
    by: str = "none"
    #: The rows that bandwidths, ranks and landmarks come from, where that is not all of
    #: them.
    some: Scored | None = None
    #: All rows of a large source (`StreamedRows`); the arrays are then those of `some`.
    source: StreamedRows | None = None

    @classmethod
    def of(
        cls,
        model: object,
        sample: Sample,
        units: Units | None = None,
        seed: Seed | None = None,
    ) -> Scored:
        """Score a sample with a model; with a seed, units are of the rows that a stream would draw."""
        law, units = law_of(as_model(model), sample), units or Units()
        by = choose_coordinates(law, sample.d_y, units.standardize)
        sample = numbered(law, sample)
        seen = coordinates_of(law, sample, by)
        whole = covariates(sample.x, law, units.predictions)
        rows = None if seed is None else sampled_rows(sample.n, seed)
        seen_x, d_x = whole if rows is None else whole[rows], sample.d_x
        x_units = XUnits.of(seen_x[:, :d_x], sample.x_columns, units.scale_x)
        predicted = [Column(f"prediction {i + 1}") for i in range(whole.shape[1] - d_x)]
        if predicted:
            x_units = x_units.joined(XUnits.of(seen_x[:, d_x:], predicted, "ranks"))
        told: Any = {**vars(seen), "model_notes": (*law.notes, *seen.model_notes)}
        made = cls(**told, sample=sample, x=x_units.apply(whole), units=x_units, by=by)
        return made if rows is None else replace(made, some=made.take(rows))

    def take(self, rows: IntArray) -> Scored:
        """Return some rows; units stay those of the whole sample."""
        outcomes = None if self.outcomes is None else self.outcomes.take(rows)
        each: Any = {name: getattr(self, name)[rows] for name in ("x", "y", "scores")}
        return replace(
            self, sample=self.sample.take(rows), outcomes=outcomes, some=None, **each
        )

    def by_model(self) -> list[Scored]:
        """Return the sample under each of several models whose scores it has, side by side."""
        each = np.split(self.scores, self.scores.shape[1] // self.y.shape[1], axis=1)
        return [replace(self, scores=np.ascontiguousarray(scores)) for scores in each]

    def kernels(
        self, on_x: object, on_y: object, seed: Seed
    ) -> tuple[CovariateKernel, ResponseKernel]:
        # y first: asking for Laplace on y is refused before any distance is computed.
        ready_y = self.kernel_on_y(on_y, seed)
        return kernels.resolve_x(on_x, self.x, self.sample.x_columns, seed), ready_y

    def kernel_on_y(self, kernel: object, seed: Seed) -> ResponseKernel:
        if self.cells is not None:
            return kernels.resolve_cells(kernel, self.cells)
        return kernels.resolve_y(kernel, self.y, seed)

    @property
    def n(self) -> int:
        return self.sample.n if self.source is None else int(self.source.n)

    @property
    def subsample(self) -> Scored:
        """The rows in memory from which bandwidths and landmarks come."""
        return self if self.some is None else self.some

    def rows(self) -> Piece | StreamedRows:
        return self.source or Piece(self.x, self.y, self.scores, self.outcomes)

    def operator(
        self, kernel_x: CovariateKernel | FiniteLocations, kernel_y: Radial
    ) -> SteinOperator:
        """Return the Stein matrix as a lazy operator; y is continuous."""
        return SteinOperator.of(self.x, self.y, self.scores, kernel_x, kernel_y)

    def details(self) -> dict[str, Any]:
        """What a result says of the coordinates of x and y, where they are not x and y themselves."""
        by = STANDARDIZED_BY[self.by] if self.cells is None else self.cells.words
        ranks = any(knot is not None for knot in self.units.knots[: self.sample.d_x])
        details = {
            "standardized_by": by if self.cells is not None or self.by != "none" else None,
            "reparametrized": self.reparametrized,
            "x_seen_as": "normal scores of the ranks of numeric columns" if ranks else None,
            "score_error": self.score_error,
        }
        return {name: said for name, said in details.items() if said is not None}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data and how they were compared."""
        line = f"the model's support is bounded, so y was compared as {self.reparametrized}"
        lines = () if self.reparametrized is None else (line,)
        return *self.sample.notes(), *self.model_notes, *lines

    def in_units(self, locations: FloatArray, back: bool = False) -> FloatArray:
        """Bring locations (..., d_x) to the kernel's units, or back to the user's."""
        d_x = self.sample.d_x
        own = XUnits(self.units.scales[:d_x], self.units.knots[:d_x])
        flat = locations[..., :d_x].reshape(-1, d_x)
        return own.apply(flat, back=back).reshape(*locations.shape[:-1], d_x)


def sampled_rows(n: int, seed: Seed) -> IntArray | None:
    """Return the numbers of the rows that units and landmarks come from, sorted; None for all."""
    if n <= SUBSAMPLE:
        return None
    return np.sort(seed.stream(Use.LANDMARKS, 1).choice(n, SUBSAMPLE, replace=False))


def read_sample(
    model: ModelLike, x: TableLike, y: TableLike, missing: str = "refuse"
) -> tuple[Law, Sample]:
    """Check x and y, and call the model with x: its law tells whether y is discrete."""
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    law = law_of(model, sample)
    return law, sample.ready(discrete=law.discrete)


@contextmanager
def rows_named(rows: IntArray | None) -> Iterator[None]:
    """Let an error name a row by its number in the whole source; None where it has that already."""
    try:
        yield
    except errors.SupportError as error:
        if rows is None:
            raise
        first = int(rows[error.first_row])
        raise errors.SupportError(error.model, error.count, error.n, first) from error


def choose_coordinates(law: Law, d_y: int, standardize: Any) -> str:
    """Check what a user asked for, and return the best that the model offers for "auto"."""
    if isinstance(law, Censored):
        if standardize in ("auto", "cdf", CENSORED):
            return CENSORED
        raise errors.InputError(
            f"With event= y is compared by the model's CDF; standardize={standardize!r} has"
            " no meaning. Leave it out."
        )
    if law.discrete and standardize in (PLAIN, FULL):  # chosen before, for other rows
        return str(standardize)
    check_choice(standardize, "standardize", STANDARDIZE)
    if law.discrete:
        if standardize not in ("auto", "none"):
            advice = (
                "Use 'auto' or 'none': counts are compared in the model's own standard"
                " deviations."
            )
            raise InputError(f"standardize={standardize!r} is for a continuous y. {advice}")
        return FULL if standardize == "auto" else PLAIN
    if standardize == "none" and law.can("score"):
        return "none"  # before a density is integrated to a CDF that is not asked for
    able = {
        "cdf": law.can("normal_scores") or (law.can("cdf") and d_y == 1),
        "marginals": law.can("marginals") and law.can("score"),
        "mean_std": (law.can("location_scale") or law.can("mean_std")) and law.can("score"),
        "none": law.can("score"),
    }
    if not any(able.values()) and law.can("cdf"):
        raise UnsupportedModelError(
            f"{law.name} has a CDF for one column of y, and y has {d_y}."
        )
    # A law without a score (draws, PITs, a histogram) is compared by what it has.
    if standardize == "auto" or (standardize == "none" and not able["none"]):
        return next((name for name, can in able.items() if can), "none")
    if not able[standardize]:
        offered = ", ".join(repr(name) for name, can in able.items() if can)
        raise UnsupportedModelError(
            f"standardize={standardize!r} needs more than {law.name} offers for d_y ="
            f" {d_y}. It can take: {offered}."
        )
    return str(standardize)


def coordinates_of(law: Law, sample: Sample, by: str) -> Coordinates:
    """Turn a sample into the coordinates of `choose_coordinates`: where a Stein test touches the law."""
    if isinstance(law, Discrete) and by in (PLAIN, FULL):
        seen, notes = law.residuals(sample.y_given, by), law.remarks(sample.y_given)
        said: Any = {
            "cells": law.cells(by),
            "outcomes": seen.outcomes,
            "model_notes": notes,
        }
        return Coordinates(seen.u, seen.values, **said)
    line = line_of(law, sample)
    if isinstance(law, Censored) or by == "cdf":
        u = checked(law.normal_scores(sample.y_given), sample)
        # A standard normal u has the score −u.
        return Coordinates(u, law.watched(u) if isinstance(law, Censored) else -u)
    scores, inexact = raw_scores(law, sample)
    u, words = sample.y, None
    if by == "marginals":
        u, slope, own = law.marginals(sample.y_given)
        u = checked(u, sample)
        scores = checked((scores - own) / slope - u, sample)
    elif line is not None:
        u, words = checked(line.forward(u), sample), line.words()
        scores = checked(line.scores(sample.y, scores), sample)
        inexact = None if inexact is None else inexact * line.slope(sample.y)
    if by == "mean_std":
        u, scores = _standardized(law, sample, u, scores, line)
    return Coordinates(
        u, scores, None if inexact is None else float(np.max(inexact)), words
    )


def numbered(law: Law, sample: Sample) -> Sample:
    """Return the sample with a discrete y as the numbers that its law has for it."""
    return (
        sample.with_numbers(law.numbers(sample.y_given))
        if isinstance(law, Discrete)
        else sample
    )


def line_of(law: Law, sample: Sample) -> Line | None:
    """Return the way from the law's support to the whole line; refuse what lies outside."""
    if type(law).support is Law.support:
        return None  # as most are
    line = Line.of(law.support, sample.n, sample.d_y)
    if line is not None:
        line.check(sample.y, law.name)
    return line


def raw_scores(law: Law, sample: Sample) -> tuple[FloatArray, AnyArray | None]:
    """Return the scores of y itself, checked, (n, d_y), and their errors where they are estimated."""
    if not law.can("score"):
        law.lacks("score")
    raw, inexact = law.score_and_error(sample.y_given)
    scores = check_shape(raw, sample.n, sample.d_y, "The scores")
    check_finite(
        scores,
        "The array of scores ∇_y log p(y|x)",
        "Check that the model's density is positive and smooth at those rows; a model of a"
        " bounded y must say so (support=).",
    )
    return scores, None if inexact is None else np.reshape(inexact, scores.shape)


def _standardized(
    law: Law, sample: Sample, u: FloatArray, scores: FloatArray, line: Line | None
) -> tuple[FloatArray, FloatArray]:
    """Return L⁻¹(u − location) with scores Lᵀs, for a scale L that is diagonal or triangular."""
    location, scale = map(np.asarray, law.location_scale())
    n, d_y = sample.y.shape
    columns = [
        (n, d_y),
        (n, 1),
    ]  # one column for all: closed forms that have numbers as parameters
    if location.shape not in columns or scale.shape not in [*columns, (n, d_y, d_y)]:
        raise errors.ShapeError(
            f"The model's location and scale must have shapes {(n, d_y)} and {(n, d_y)} or"
            f" {(n, d_y, d_y)}, got {location.shape} and {scale.shape}. Check mean_std of"
            " the model."
        )
    if line is not None:
        location, scale = line.place(location, scale)
    centred = u - location
    if scale.ndim == 2:
        return checked(centred / scale, sample), scale * scores
    turned = np.linalg.solve(scale, centred[:, :, None])[:, :, 0]
    return checked(turned, sample), np.einsum("nij,ni->nj", scale, scores)


def checked(values: AnyArray, sample: Sample) -> FloatArray:
    """Check what y was turned into."""
    u = np.asarray(as_numbers(values, "What standardises y"), dtype=np.float64)
    if u.shape != sample.y.shape:
        raise errors.NumericalError(
            f"Standardising y gave shape {u.shape} in place of {sample.y.shape}. Check the"
            " model."
        )
    failed, advice = ~np.isfinite(u), "Check the model there, or pass standardize='none'."
    errors.refuse_rows(
        failed, "Standardising y by the model failed", advice, errors.NumericalError
    )
    return u


def scores(model: object, x: Any, y: Any) -> FloatArray:
    """Scores ∇_y log p(y|x) of a sample, which are all that the Stein tests see of a model.

    They are those of y itself, which the tests turn into those of log(y − low) and its like
    where the model's support is bounded. An observation outside the support is an error.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.

    Returns
    -------
    ndarray of shape (n, d_y)

    Examples
    --------
    >>> import condgof as cg
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    >>> cg.scores(cg.models.Normal(mean=lambda x: x, std=1.0), x, y)[:, 0]
    array([-1., -0.,  2.])
    """
    model = as_model(model)

    def of(x: Any, y: Any) -> FloatArray:
        sample = Sample.of(x, y, to_test=False)
        law = law_of(model, sample)
        line_of(law, sample)
        return raw_scores(law, sample)[0]

    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and len(x) == len(y)
    if arrays and isinstance(model, Model) and model.batched and len(y) > BLOCK:
        # In blocks: a sample copies its x and y, which would outweigh a network's batches.
        cuts = [slice(start, start + BLOCK) for start in range(0, len(y), BLOCK)]
        try:
            return np.concatenate([of(x[rows], y[rows]) for rows in cuts])
        except errors.InputError:
            pass  # said below, for all rows together
    return of(x, y)


def covariates(x: FloatArray, law: Law, with_predictions: bool) -> FloatArray:
    predicted = predictions(law) if with_predictions else None
    return x if predicted is None else np.concatenate([x, predicted], axis=1)


def predictions(law: Law) -> FloatArray | None:
    """Return what a law predicts, (n, p): probabilities, or location and scale; None if nothing."""
    if not law.of_x:
        return None
    if isinstance(law, Probabilities):
        values = np.asarray(law.values, dtype=np.float64)
        if values.shape[1] == 2:
            return values[:, 1:]
        return (
            values
            if values.shape[1] <= MOST_PREDICTIONS
            else values.max(axis=1, keepdims=True)
        )
    ability = next((a for a in ("location_scale", "mean_std") if law.can(a)), None)
    if ability is None:
        return None
    try:
        location, scale = (
            np.asarray(part, dtype=np.float64) for part in getattr(law, ability)()
        )
    except (
        UnsupportedModelError
    ):  # a library's law that has no moments says so when it is asked
        return None
    both = side_by_side(location, scale)
    return (
        both
        if np.isfinite(both).all()
        else np.nan_to_num(both, posinf=1e300, neginf=-1e300)
    )


def side_by_side(location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return locations (n, d) and scales, (n, d) or factors of covariances (n, d, d), as columns."""
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    if scale.shape != location.shape:
        scale = np.broadcast_to(scale, location.shape)
    return np.concatenate([location, scale], axis=1)


def prediction_name(number: int, count: int, d_y: int) -> str:
    if count != 2 * d_y:
        return (
            f"predicted probability {number + 1}" if count > 1 else "predicted probability"
        )
    what = "location" if number < d_y else "scale"
    return f"predicted {what}" if d_y == 1 else f"predicted {what} of y{number % d_y + 1}"


#: x and y as kernels see them, scores, and from what a discrete y can be drawn anew.
Seen: TypeAlias = tuple[Any, Any, Any, Outcomes | None]


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """All rows of a source; workers read theirs from the files, or have chunks of Dask arrays."""

    source: Any
    #: Each scores chunks of rows, is bound to all rows, or names columns of the source.
    models: tuple[ModelLike, ...]
    see: Callable[
        [Sample, Sequence[Law]], Seen
    ]  #: How rows are seen, given the law of each model.
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

    def spans(self, size: int) -> Spans:
        """Cut evenly, or where Dask's chunks are cut; models that are bound to no rows are sent once."""
        chunked = isinstance(self.source, ArraySource)
        cuts = self.source.cuts if chunked else even_cuts(self.total, size)
        models: Any = tuple(m if m.rows is None else None for m in self.models)
        sent = replace(self, models=models, left_out=self.left_out[:0])
        sent = replace(sent, source=None) if chunked else sent
        read = partial(_read, sent, tuple(self.source.arrays) if chunked else None)
        return read, [partial(self._span, *cut) for cut in pairwise(cuts)]

    def _span(self, start: int, stop: int) -> Any:
        """Return what a worker has to know: the numbers of rows, and models that are bound to them."""
        first, last = np.searchsorted(self.left_out, [start, stop])
        rows = np.arange(start, stop)
        bound = tuple(None if m.rows is None else m.take(rows) for m in self.models)
        span = start, stop, bound, self.left_out[first:last]
        return (
            Deferred(span, self.source.chunk(start))
            if isinstance(self.source, ArraySource)
            else span
        )

    def score(
        self,
        source: object,
        models: Sequence[ModelLike],
        start: int,
        stop: int,
        left_out: IntArray,
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
    source = (
        rows.source
        if names is None
        else ArraySource(dict(zip(names, arrays, strict=True)), start)
    )
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
            raise ShapeError(
                f"{one} model is bound to {model.rows} rows and the source has {source.n}."
            )
    wanted = [
        name for model in models if isinstance(model, Columns) for name in model.names
    ]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


def take_rows(source: Source | ArraySource, rows: IntArray, engine: Engine) -> Block:
    """Read some rows; in a large source they lie in so many places that a cluster reads them better."""
    if not engine.remote or isinstance(
        source, ArraySource
    ):  # which Dask computes where it is
        return source.take(rows)
    blocks = list(engine.map(source.take, np.array_split(rows, min(TAKES, len(rows)))))
    x, y = (np.concatenate([getattr(block, name) for block in blocks]) for name in "xy")
    extra = {
        name: np.concatenate([b.extra[name] for b in blocks]) for name in source.extra_names
    }
    return Block(int(rows[0]), x, y, extra)


def law_of_rows(
    model: ModelLike, block: Block, sample: Sample, rows: IntArray, first: int = 0
) -> Law:
    """Return the law of rows of a source; a model that is bound to rows has those from `first` on."""
    if isinstance(model, Columns):
        return model.bind(block.extra, rows, sample.x_given)
    return law_of(model.take(rows - first) if model.rows is not None else model, sample)


def prepare_source(
    model: ModelLike, source: Any, units: Units, options: Any, seed: Seed
) -> tuple[ModelLike, Scored]:
    """Score a small source in memory; of a large one, or of Dask arrays, some rows, for a stream."""
    source = with_columns((model,), source)
    whole = options.chosen(source.n) == "exact" and not units.predictions
    rows, block = read_some(source, None if whole else seed, options.engine)
    law, scored = _score_rows(model, source, block, rows, units)
    if len(rows) == source.n:
        return law, scored
    streamed = StreamedRows(source, (model,), partial(_see, scored.units, scored.by))
    return model, replace(scored, some=scored, source=streamed)


def _see(units: XUnits, by: str, sample: Sample, laws: Sequence[Law]) -> Seen:
    seen = coordinates_of(laws[0], sample, by)
    x = covariates(sample.x, laws[0], len(units.scales) > sample.d_x)
    return units.apply(x), seen.y, seen.scores, seen.outcomes


def score_rows(scored: Scored, rows: IntArray, engine: Engine) -> tuple[Scored, Law]:
    """Read and score rows of a stream by their global numbers, in its units, with their law."""
    few, streamed = scored.subsample, scored.source
    assert streamed is not None
    units = Units(standardize=few.by, predictions=few.x.shape[1] > few.sample.d_x)
    block = take_rows(streamed.source, rows, engine)
    law, part = _score_rows(streamed.models[0], streamed.source, block, rows, units)
    x = few.units.apply(covariates(part.sample.x, law, units.predictions))
    return replace(part, x=x, units=few.units), law


def _score_rows(
    model: ModelLike,
    source: Source | ArraySource,
    block: Block,
    rows: IntArray,
    units: Units,
) -> tuple[Law, Scored]:
    """Check and score rows that were read from a source, under the names it has for columns."""
    sample = source.sample(block).ready(discrete=True)
    with rows_named(rows):
        law = law_of_rows(model, block, sample, rows)
        return law, Scored.of(law, sample.ready(discrete=law.discrete), units)


def read_some(source: Any, seed: Seed | None, engine: Engine) -> tuple[IntArray, Block]:
    """Read the rows that units and landmarks come from; all of a small source, and without a seed."""
    rows = None if seed is None else sampled_rows(source.n, seed)
    if rows is None:
        return np.arange(source.n), source.block_range(0, source.n)
    return rows, take_rows(source, rows, engine)
