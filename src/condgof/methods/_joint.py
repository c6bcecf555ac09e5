"""Several models on one sample, on the same ground for all of them: in memory, in files, on Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Deferred, with_progress
from condgof.errors import (
    CondgofError,
    NumericalError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
)
from condgof.kernels import CovariateKernel, Radial, ResponseKernel
from condgof.laws import Columns, Law, ModelLike, Scores, as_model, columns, law_of
from condgof.methods._options import Options
from condgof.methods._rows import Scored, _take, check_source_call, law_of_rows, rows_named, sampled_rows
from condgof.sample import ArraySource, Sample, Seed, Source, XUnits, is_lazy, names_of
from condgof.stein import (
    PIECE,
    ArrayRows,
    Common,
    Piece,
    SteinOperator,
    check_same_y,
    common_cells,
    common_coordinates,
    even_cuts,
    outside_support,
    with_probabilities,
)

#: Correlations of y above this are not taken out: what is left would be rounding.
SINGULAR = 1e-10
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, eq=False)
class Affine:
    """The one map u → L⁻¹(u − b) of a comparison: constant, so that it favours no model."""

    shift: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, u: FloatArray) -> Affine:
        """Take mean and covariance of a sample (n, d_y): in any affine units of y the same comes out."""
        with np.errstate(over="ignore", invalid="ignore"):
            shift, spread = u.mean(axis=0), u.std(axis=0, ddof=1)
        if not (np.isfinite(spread).all() and (spread > 0).all()):
            raise NumericalError("The standard deviation of y overflows or is 0. Rescale y.")
        scaled: FloatArray = (u - shift) / spread
        correlation = scaled.T @ scaled / (len(u) - 1)
        if np.linalg.eigvalsh(correlation)[0] <= SINGULAR:
            return cls(shift, np.diag(spread))
        return cls(shift, spread[:, None] * np.linalg.cholesky(correlation))

    def apply(self, common: Common) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        """Return L⁻¹(u − b), (n, d_y), and the scores Lᵀs of each model."""
        values = np.linalg.solve(self.factor, (common.u - self.shift).T).T
        return np.ascontiguousarray(values), tuple(s @ self.factor for s in common.scores)


@dataclass(frozen=True, eq=False)
class Joint:
    """A sample under K models."""

    names: tuple[str, ...]
    #: The rows in memory under each model: they differ in their scores, or residuals, alone.
    each: tuple[Scored, ...]
    #: What a result says of the coordinates of y.
    details: dict[str, Any]
    #: The map to those coordinates, where y is continuous.
    affine: Affine | None
    #: All rows, where those in memory are only some.
    source: JointRows | None = None

    @classmethod
    def of(
        cls, laws: Sequence[Law], names: tuple[str, ...], sample: Sample, scale_x: str, seed: Seed | None
    ) -> Joint:
        """Hold a sample against laws; with a seed, units come from the rows that a stream would draw."""
        common = common_ground(laws, names, sample)
        drawn = None if seed is None else sampled_rows(sample.n, seed)
        some = slice(None) if drawn is None else drawn
        notes = [f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes]
        if common.cells is None:
            details: dict[str, Any] = {"standardized_by": "one affine map for all models"}
            affine = Affine.of(common.u[some])
            y, scores = affine.apply(common)
        else:
            details, affine = {"standardized_by": common.cells.words}, None
            y, scores = common.u, common.scores
            sample = sample.with_numbers(y)
        if common.reparametrized is not None:
            details["reparametrized"] = common.reparametrized
            notes.append(f"the support is bounded, so y was compared as {common.reparametrized}")
        if common.differ:
            notes.append("the models' supports differ: they were compared where all have a density")
        errors = [error for error in common.errors if error is not None]
        if errors:
            details["score_error"] = max(errors)
        units = XUnits.of(sample.x[some], sample.x_columns, scale_x)
        x, own, cells = units.apply(sample.x), tuple(notes), common.cells
        each = [Scored(sample, y, s, x, units, model_notes=own, cells=cells) for s in scores]
        if drawn is not None:
            each = [replace(one, some=one.take(drawn)) for one in each]
        return cls(names, tuple(each), details, affine)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.each[0].n if self.source is None else self.source.total

    @property
    def some(self) -> tuple[Scored, ...]:
        """The rows in memory that bandwidths and landmarks come from, under each model."""
        return tuple(one.subsample for one in self.each)

    def rows(self) -> ArrayRows | JointRows:
        """Return all rows, the scores of all models side by side, for sums over them."""
        one, beside = self.each[0], Beside(tuple(other.scores for other in self.each))
        return self.source or ArrayRows(one.x, one.y, beside)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Beside:
    """Scores of several models side by side, which become an array only when rows are taken."""

    parts: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array that they would be."""
        return len(self.parts[0]), sum(part.shape[1] for part in self.parts)

    def __getitem__(self, rows: Any) -> Beside:
        return Beside(tuple(part[rows] for part in self.parts))

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        return np.concatenate([np.asarray(part) for part in self.parts], axis=1, dtype=dtype)


@dataclass(frozen=True, eq=False)
class CellMatrix:
    """The matrix k(x_i, x_j)·⟨ξ_i, ξ_j⟩ of a discrete y, never built."""

    kernel_x: CovariateKernel
    x: FloatArray
    xi: FloatArray

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.x)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        return self.kernel_x(self.x[rows], self.x[columns]) * (self.xi[rows] @ self.xi[columns].T)


def matrix_of(scored: Scored, kernel_x: CovariateKernel, kernel_y: ResponseKernel) -> Any:
    """Return the matrix H of a model, a `SteinOperator` or `CellMatrix`."""
    if isinstance(kernel_y, Radial):
        return SteinOperator.of(scored.x, scored.y, scored.scores, kernel_x, kernel_y)
    return CellMatrix(kernel_x, scored.x, kernel_y.features(np.asarray(scored.scores)))


def common_ground(laws: Sequence[Law], names: Sequence[str], sample: Sample) -> Common:
    """Bring all laws to the same ground; an error says which of them it is about."""
    kinds = {law.discrete: f"{name!r} ({law.name})" for name, law in zip(names, laws, strict=True)}
    if len(kinds) == 2:
        raise UnsupportedModelError(
            f"Model {kinds[True]} is of a discrete y and model {kinds[False]} of a continuous one: they "
            "have no probabilities in common to be compared by. Compare models of the same kind."
        )
    if True in kinds:
        check_same_y(for_each(names, laws, with_probabilities), names)
    ground = common_cells if True in kinds else common_coordinates
    try:
        return ground(laws, sample)
    except SupportError:
        raise
    except CondgofError:
        for_each(names, laws, lambda law: ground([law], sample))  # once more, to know whose error it is
        raise


def for_each(names: Sequence[str], items: Sequence[T], do: Callable[[T], U]) -> list[U]:
    """Do something for each model; an error says which of them it is about."""
    found = []
    for name, item in zip(names, items, strict=True):
        try:
            found.append(do(item))
        except SupportError:
            raise
        except CondgofError as error:
            error.args = (f"Model {name!r}: {error}", *error.args[1:])
            raise
    return found


def prepare_joint(
    models: Mapping[str, Any], x: Any, y: Any, scale_x: str, options: Options, seed: Seed
) -> Joint:
    """Check and score a sample: arrays or a small source in memory, a large one as a stream."""
    names, (ready, x, y) = tuple(models), _read_models(models, x, y)
    if not check_source_call(x, y, options.solver, options.missing):
        laws, sample = _read_sample(ready, names, x, y, options.missing)
        many = options.chosen(sample.n) == "lowrank"
        return Joint.of(laws, names, sample, scale_x, seed if many else None)
    source, drawn = _with_columns(ready, x), sampled_rows(x.n, seed)
    rows = np.arange(source.n) if drawn is None else drawn
    block = source.block_range(0, source.n) if drawn is None else _take(source, rows, options.engine)
    sample = Sample.of(block.x, block.y).renamed(source.x_names, source.y_names)
    with rows_named(rows):
        laws = [law_of_rows(model, block, sample, rows) for model in ready]
        if all(law.discrete for law in laws):
            raise UnsupportedModelError(
                f"{laws[0].name} is a model of a discrete y, and compare, rank and compare_map take "
                "such models for rows in memory only, not for a source (scan, Dask, a large table). "
                "Read the rows, or some of them, and pass x and y as arrays or frames."
            )
        joint = Joint.of(laws, names, sample, scale_x, None)
    if drawn is None:
        return joint
    units: Any = joint.each[0].units, joint.affine
    return replace(joint, source=JointRows(source, tuple(ready), names, *units))


def _read_models(models: Mapping[str, Any], x: Any, y: Any) -> tuple[list[ModelLike], Any, Any]:
    """Make models of what a user has; Dask arrays become a source, and models of them columns of it."""
    given = list(models.values())
    if is_lazy(x) or is_lazy(y):
        arrays = {"y": y, "x": x}
        for k, model in enumerate(given):
            pair = isinstance(model, tuple) and len(model) == 2
            parts = dict(zip(("mean", "std"), model, strict=True)) if pair else {}
            parts = {"score": model.values} if isinstance(model, Scores) else parts
            if any(map(is_lazy, parts.values())):
                wide = {part: 1 if np.ndim(v) < 2 else np.shape(v)[1] for part, v in parts.items()}
                arrays |= {f"model {k} {part}": values for part, values in parts.items()}
                named: Any = {p: list(names_of(f"model {k} {p}", w)) for p, w in wide.items()}
                given[k] = columns(**named)
        x, y = ArraySource.of(arrays), None
    return for_each(tuple(models), given, as_model), x, y


def _read_sample(
    models: list[ModelLike], names: tuple[str, ...], x: Any, y: Any, missing: str
) -> tuple[list[Law], Sample]:
    """Check x and y, and call all models with x."""
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    laws = for_each(names, models, lambda model: law_of(model, sample))
    return laws, sample.ready(discrete=any(law.discrete for law in laws))


def _with_columns(models: Sequence[ModelLike], source: Source | ArraySource) -> Any:
    """Return the source with the columns that any of the models asks for."""
    for model in models:
        if model.rows is not None and model.rows != source.n:
            raise ShapeError(f"A model is bound to {model.rows} rows and the source has {source.n}.")
    wanted = [name for model in models if isinstance(model, Columns) for name in model.names]
    return source.with_extra(tuple(dict.fromkeys(wanted))) if wanted else source


@dataclass(frozen=True, eq=False)
class JointRows:
    """All rows of a source, with the scores of several models; workers read theirs by themselves."""

    source: Any
    models: tuple[ModelLike, ...]
    names: tuple[str, ...]
    units: XUnits
    affine: Affine

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.source.n)

    def pieces(self) -> Iterator[Piece]:
        """Read and score all rows in pieces."""
        read = self.score(self.source, self.models, 0, self.total)
        return with_progress(read, -(-self.total // PIECE), "condgof")

    def cuts(self, size: int) -> Sequence[int]:
        """Return where to cut spans: where Dask's chunks are cut, or evenly."""
        return self.source.cuts if isinstance(self.source, ArraySource) else even_cuts(self.total, size)

    def part(self, start: int, stop: int) -> Any:
        """Return what a worker has to know: the numbers of rows, and models that are bound to them."""
        rows = np.arange(start, stop)
        span = start, stop, tuple(None if m.rows is None else m.take(rows) for m in self.models)
        return Deferred(span, self.source.chunk(start)) if isinstance(self.source, ArraySource) else span

    @property
    def reader(self) -> Callable[[Any], Iterator[Piece]]:
        """What reads and scores a part; models that are bound to no rows go with it."""
        models: Any = tuple(m if m.rows is None else None for m in self.models)
        if isinstance(self.source, ArraySource):
            return partial(_read, replace(self, models=models, source=None), tuple(self.source.arrays))
        return partial(_read, replace(self, models=models), None)

    def score(self, source: Any, models: Sequence[ModelLike], start: int, stop: int) -> Iterator[Piece]:
        """Read and score some rows; models that are bound to rows have those from `start` on."""
        for sample, laws, rows in _read_laws(source, models, start, stop):
            with rows_named(rows):
                common = common_ground(laws, self.names, sample)
            y, scores = self.affine.apply(common)
            yield Piece(int(rows[0]), self.units.apply(sample.x), y, np.concatenate(scores, axis=1))


def _read(rows: JointRows, names: tuple[str, ...] | None, part: Any) -> Iterator[Piece]:
    """Read and score a part on a worker; of Dask arrays, those of its chunk come with it."""
    (start, stop, bound), arrays = (part, ()) if names is None else part
    source = rows.source if names is None else ArraySource(dict(zip(names, arrays, strict=True)), start)
    models = [m if own is None else own for m, own in zip(rows.models, bound, strict=True)]
    return rows.score(source, models, start, stop)


def _read_laws(
    source: Any, models: Sequence[ModelLike], start: int, stop: int
) -> Iterator[tuple[Sample, list[Law], Any]]:
    """Read rows in pieces: the sample, the law of each model, and the numbers of the rows."""
    for block in source.blocks(PIECE, start, stop):
        rows = np.arange(block.start, block.start + block.n)
        sample = Sample.of(block.x, block.y, to_test=False)
        with rows_named(rows):
            laws = [law_of_rows(model, block, sample, rows, start) for model in models]
        yield sample, laws, rows


def refuted_models(
    models: Mapping[str, Any], x: Any, y: Any, missing: str = "refuse"
) -> dict[str, SupportError]:
    """Return the models that hold some observations to be impossible, each with the error."""
    ready, x, y = _read_models(models, x, y)
    if y is not None:
        laws, sample = _read_sample(ready, tuple(models), x, y, missing)
        pieces: Any = [(sample, laws, np.arange(sample.n))]
    else:
        pieces = _read_laws(_with_columns(ready, x), ready, 0, x.n)
    found, n = dict[str, SupportError](), x.n if y is None else sample.n
    for sample, laws, rows in pieces:
        for name, law in zip(models, laws, strict=True):
            error = outside_support(law, sample)
            if error is not None:
                first = found.get(name, SupportError(law.name, 0, n, int(rows[error.first_row])))
                found[name] = SupportError(law.name, first.count + error.count, n, first.first_row)
    return {name: found[name] for name in models if name in found}
