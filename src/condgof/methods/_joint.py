"""Several models on one sample: checked, scored and standardised by one map for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import CondgofError, NumericalError, SupportError
from condgof.kernels import CovariateKernel, Radial, ResponseKernel, resolve_x, resolve_y
from condgof.laws import Law
from condgof.sample import Sample, Seed
from condgof.stein import ArrayRows, Common, SteinKernel, SteinOperator, common_coordinates

#: Correlations of y above this are not taken out: what is left would be rounding.
SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Affine:
    """The one map u → L⁻¹(u − b) of a comparison: constant, so that it favours no model.

    Parameters
    ----------
    shift : ndarray of shape (d_y,)
        b.
    factor : ndarray of shape (d_y, d_y)
        L, lower triangular.
    """

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

    def apply(self, u: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return L⁻¹(u − b), (n, d_y), and the scores Lᵀs side by side, (n, K·d_y)."""
        values = np.linalg.solve(self.factor, (u - self.shift).T).T
        carried: FloatArray = scores @ self.factor
        return np.ascontiguousarray(values, dtype=np.float64), carried.reshape(len(u), -1)


@dataclass(frozen=True, eq=False)
class Joint:
    """A sample in memory with the scores of K models.

    Parameters
    ----------
    sample : Sample
        The checked sample.
    names : tuple of str
        What the models are called.
    x : ndarray of shape (n, d_x)
        Covariates as the kernel sees them.
    y : ndarray of shape (n, d_y)
        Responses, standardised by `affine`.
    scores : ndarray of shape (n, K·d_y)
        Scores of all models in those coordinates, side by side.
    scales : ndarray of shape (d_x,)
        What columns of x were divided by.
    affine : Affine
        The map.
    common : Common
        What came before the map.
    model_notes : tuple of str
        What the models say of themselves.
    """

    sample: Sample
    names: tuple[str, ...]
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    scales: FloatArray
    affine: Affine
    common: Common
    model_notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, laws: Sequence[Law], names: Sequence[str], sample: Sample, scale_x: str) -> Joint:
        """Score a sample with the laws of all models."""
        scales = sample.scales(scale_x)
        common = score_all(laws, names, sample)
        affine = Affine.of(common.u)
        y, scores = affine.apply(common.u, common.scores)
        notes = tuple(
            f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes
        )
        return cls(sample, tuple(names), sample.x / scales, y, scores, scales, affine, common, notes)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sample.n

    @property
    def subsample(self) -> Joint:
        """The rows in memory: here, all of them."""
        return self

    @property
    def each(self) -> list[FloatArray]:
        """The scores of each model, (n, d_y)."""
        d_y = self.sample.d_y
        return [self.scores[:, k * d_y : (k + 1) * d_y] for k in range(len(self.names))]

    def rows(self) -> ArrayRows:
        """Return the rows, for sums over them."""
        return ArrayRows(self.x, self.y, self.scores)

    def kernels(
        self, kernel_x: Any, kernel_y: Any, seed: Seed
    ) -> tuple[CovariateKernel, ResponseKernel]:
        """Make the kernels ready: one of each, for all models."""
        ready_y = resolve_y(kernel_y, self.y, seed)
        return resolve_x(kernel_x, self.x, self.sample.x_columns, seed), ready_y

    def operators(self, kernel_x: CovariateKernel, kernel_y: ResponseKernel) -> list[SteinOperator]:
        """Return the Stein matrix of each model."""
        assert isinstance(kernel_y, Radial)
        kernel = SteinKernel.amid(self.x, self.y, kernel_x, kernel_y)
        return [SteinOperator(kernel, kernel.rows(self.x, self.y, s)) for s in self.each]

    def coordinates(self) -> dict[str, Any]:
        """What a result says of how y was seen."""
        found: dict[str, Any] = {"standardized_by": "one affine map for all models"}
        if self.common.reparametrized is not None:
            found["reparametrized"] = self.common.reparametrized
        return found

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data and how models were compared."""
        notes = [*self.sample.notes(), *self.model_notes]
        if self.common.reparametrized is not None:
            notes.append(f"the support is bounded, so y was compared as {self.common.reparametrized}")
        if self.common.differ:
            notes.append(
                "the models' supports differ: they were compared where all of them have a density"
            )
        return tuple(notes)


def score_all(laws: Sequence[Law], names: Sequence[str], sample: Sample) -> Common:
    """Score a sample with all laws; an error says which of them it is about."""
    try:
        return common_coordinates(laws, sample)
    except SupportError:
        raise
    except CondgofError:
        # Once more, one by one: an error among several models must say whose it is.
        for name, law in zip(names, laws, strict=True):
            with named(name):
                common_coordinates([law], sample)
        raise


@contextmanager
def named(name: str) -> Iterator[None]:
    """Let an error say which model it is about."""
    try:
        yield
    except SupportError:
        raise
    except CondgofError as error:
        error.args = (f"Model {name!r}: {error}", *error.args[1:])
        raise
