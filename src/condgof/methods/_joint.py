"""Several models on one sample, on the same ground for all of them: in memory, in files, on Dask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import CondgofError, NumericalError, SupportError
from condgof.kernels import CovariateKernel, Radial, ResponseKernel
from condgof.laws import Law, ModelLike, as_model, law_of
from condgof.methods._options import Options
from condgof.methods._rows import (
    Scored,
    StreamedRows,
    _take,
    check_source_call,
    law_of_rows,
    lay_out,
    rows_named,
    sampled_rows,
    with_columns,
)
from condgof.sample import Sample, Seed, XUnits
from condgof.stein import ArrayRows, Common, SteinOperator, common_coordinates

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
    #: The rows in memory under each model: they differ in their scores alone.
    each: tuple[Scored, ...]
    #: What a result says of the coordinates of y.
    details: dict[str, Any]
    #: The map to those coordinates.
    affine: Affine
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
        details: dict[str, Any] = {"standardized_by": "one affine map for all models"}
        affine = Affine.of(common.u[some])
        y, scores = affine.apply(common)
        if common.reparametrized is not None:
            details["reparametrized"] = common.reparametrized
            notes.append(f"the support is bounded, so y was compared as {common.reparametrized}")
        if common.differ:
            notes.append("the models' supports differ: they were compared where all have a density")
        errors = [error for error in common.errors if error is not None]
        if errors:
            details["score_error"] = max(errors)
        units = XUnits.of(sample.x[some], sample.x_columns, scale_x)
        x, own = units.apply(sample.x), tuple(notes)
        each = [Scored(sample, y, s, x, units, model_notes=own) for s in scores]
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


def operator_of(scored: Scored, kernel_x: CovariateKernel, kernel_y: ResponseKernel) -> SteinOperator:
    """Return the matrix H of a model."""
    assert isinstance(kernel_y, Radial)
    return SteinOperator.of(scored.x, scored.y, scored.scores, kernel_x, kernel_y)


def common_ground(laws: Sequence[Law], names: Sequence[str], sample: Sample) -> Common:
    """Bring all laws to the same ground; an error says which of them it is about."""
    try:
        return common_coordinates(laws, sample)
    except SupportError:
        raise
    except CondgofError:
        for_each(
            names, laws, lambda law: common_coordinates([law], sample)
        )  # once more, to know whose error it is
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
    names, (ready, x, y) = tuple(models), read_models(models, x, y)
    if not check_source_call(x, y, options.solver, options.missing):
        laws, sample = read_sample(ready, names, x, y, options.missing)
        many = options.chosen(sample.n) == "lowrank"
        return Joint.of(laws, names, sample, scale_x, seed if many else None)
    source, drawn = with_columns(ready, x), sampled_rows(x.n, seed)
    rows = np.arange(source.n) if drawn is None else drawn
    block = source.block_range(0, source.n) if drawn is None else _take(source, rows, options.engine)
    sample = Sample.of(block.x, block.y).renamed(source.x_names, source.y_names)
    with rows_named(rows):
        laws = [law_of_rows(model, block, sample, rows) for model in ready]
        joint = Joint.of(laws, names, sample, scale_x, None)
    if drawn is None:
        return joint
    none, units = np.empty(0, dtype=np.int64), joint.each[0].units
    return replace(joint, source=JointRows(source, tuple(ready), units, none, names, joint.affine))


def read_models(models: Mapping[str, Any], x: Any, y: Any) -> tuple[list[ModelLike], Any, Any]:
    """Make models of what a user has; Dask arrays become a source, and models of them columns of it."""
    given, x, y = lay_out(list(models.values()), x, y)
    return for_each(tuple(models), given, as_model), x, y


def read_sample(
    models: list[ModelLike], names: tuple[str, ...], x: Any, y: Any, missing: str
) -> tuple[list[Law], Sample]:
    """Check x and y, and call all models with x."""
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    laws = for_each(names, models, lambda model: law_of(model, sample))
    return laws, sample.ready(discrete=any(law.discrete for law in laws))


@dataclass(frozen=True, eq=False)
class JointRows(StreamedRows):
    """All rows of a source, with the scores of several models side by side."""

    names: tuple[str, ...]
    affine: Affine

    def seen(self, sample: Sample, laws: list[Law]) -> tuple[Any, Any, Any, None]:
        """Bring y to the ground that all models share."""
        y, scores = self.affine.apply(common_ground(laws, self.names, sample))
        return self.units.apply(sample.x), y, np.concatenate(scores, axis=1), None
