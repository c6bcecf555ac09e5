"""What every Stein test does first: check the sample, score it, make the kernels ready."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError
from condgof.kernels import (
    Cells,
    CovariateKernel,
    FiniteLocations,
    ResponseKernel,
    resolve_cells,
    resolve_x,
    resolve_y,
)
from condgof.laws import Outcomes, as_model, law_of
from condgof.sample import Sample, Seed
from condgof.stein import (
    STANDARDIZED_BY,
    ArrayRows,
    SteinOperator,
    choose_coordinates,
    coordinates_of,
    numbered,
)


@dataclass(frozen=True)
class Units:
    """In which units a user wants x and y to be compared.

    Parameters
    ----------
    scale_x : {"none", "std"}
        What each numeric column of x is divided by.
    standardize : str
        What y is standardised by; see `condgof.stein.choose_coordinates`.
    """

    scale_x: str = "none"
    standardize: str = "none"


@dataclass(frozen=True, eq=False)
class Scored:
    """A sample with its scores: all that the linear algebra needs.

    Parameters
    ----------
    sample : Sample
        The checked sample.
    y, scores : ndarrays of shape (n, d_y)
        Responses as the kernel sees them, and the scores in those coordinates; for a discrete y its
        residuals (n, cells), which may be made only when rows are taken.
    x : ndarray of shape (n, d_x)
        Covariates as the kernel sees them: each column divided by its scale.
    scales : ndarray of shape (d_x,)
        Those scales.
    by : str
        What y is standardised by.
    score_error : float, optional
        Largest estimated error of scores that were differentiated numerically.
    reparametrized : str, optional
        How y was brought from a bounded support to the whole line.
    model_notes : tuple of str
        What the model says of itself.
    cells : Cells, optional
        What the residuals are of, where y is discrete.
    outcomes : Outcomes, optional
        From which y can be drawn anew given x, where it is discrete.
    """

    sample: Sample
    y: FloatArray
    scores: FloatArray
    x: FloatArray
    scales: FloatArray
    by: str = "none"
    score_error: float | None = None
    reparametrized: str | None = None
    model_notes: tuple[str, ...] = ()
    cells: Cells | None = None
    outcomes: Outcomes | None = None

    @classmethod
    def of(cls, model: Any, sample: Sample, units: Units = Units()) -> Scored:
        """Score a sample with a model, or with the law of its rows."""
        scales = sample.scales(units.scale_x)
        law = law_of(as_model(model), sample)
        by = choose_coordinates(law, sample.d_y, units.standardize)
        sample = numbered(law, sample)
        seen = coordinates_of(law, sample, by)
        return cls(
            sample=sample,
            y=seen.u,
            scores=seen.scores,
            x=sample.x / scales,
            scales=scales,
            by=by,
            score_error=seen.error,
            reparametrized=seen.reparametrized,
            model_notes=(*law.notes, *seen.notes),
            cells=seen.cells,
            outcomes=seen.outcomes,
        )

    def take(self, rows: IntArray) -> Scored:
        """Return some rows; scales stay those of the whole sample."""
        return replace(
            self,
            sample=self.sample.take(rows),
            y=self.y[rows],
            scores=self.scores[rows],
            x=self.x[rows],
            outcomes=None if self.outcomes is None else self.outcomes.take(rows),
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
        """The rows in memory, from which bandwidths and landmarks come: here, all of them."""
        return self

    def rows(self) -> ArrayRows:
        """Return the rows, for sums over them."""
        return ArrayRows(self.x, self.y, self.scores)

    def operator(
        self, kernel_x: CovariateKernel | FiniteLocations, kernel_y: ResponseKernel
    ) -> SteinOperator:
        """Return the Stein matrix as a lazy operator."""
        return SteinOperator.of(self.x, self.y, self.scores, kernel_x, kernel_y)

    def details(self) -> dict[str, Any]:
        """What a result says of the coordinates of y, where they are not y itself."""
        if self.cells is not None:
            return {"standardized_by": self.cells.words}
        details = {} if self.by == "none" else {"standardized_by": STANDARDIZED_BY[self.by]}
        if self.reparametrized is not None:
            details["reparametrized"] = self.reparametrized
        return details

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data and how they were compared."""
        notes = (*self.sample.notes(), *self.model_notes)
        if self.reparametrized is None:
            return notes
        bounded = f"the model's support is bounded, so y was compared as {self.reparametrized}"
        return (*notes, bounded)

    def to_user(self, locations: FloatArray) -> FloatArray:
        """Bring locations from the kernel's units back to the user's."""
        return np.array(locations * self.scales)


def check_count(count: Any, name: str) -> int:
    """Check a number of things that must be at least 1."""
    try:
        number = operator.index(count)
    except TypeError as error:
        raise InputError(f"{name} must be an integer, got {count!r}.") from error
    if number < 1:
        raise InputError(f"{name} must be at least 1, got {number}.")
    return number


def check_reg(reg: Any) -> float:
    """Check the constant that is added to σ̂_V."""
    if isinstance(reg, bool) or not isinstance(reg, (int, float, np.floating, np.integer)):
        raise InputError(f"reg must be a number, got {reg!r}.")
    if not 0 <= reg < np.inf:
        raise InputError(f"reg must be finite and not negative, got {reg!r}.")
    return float(reg)


def train_size(n: int, train_fraction: float, most: int) -> int:
    """Check the share of rows to train on, and return their number.

    Parameters
    ----------
    n : int
        Number of rows.
    train_fraction : float
        Share of the training part.
    most : int
        The training part never takes more rows than this.
    """
    number = isinstance(train_fraction, (int, float, np.floating))
    if isinstance(train_fraction, bool) or not number or not 0 < train_fraction < 1:
        raise InputError(f"train_fraction must be a number between 0 and 1, got {train_fraction!r}.")
    size = min(round(train_fraction * n), most)
    if size < 5 or n - size < 5:
        raise InputError(
            f"train_fraction = {train_fraction} leaves {size} of {n} rows to train on and {n - size} "
            "to test on; both need at least 5. Change train_fraction, or pass locations='random'."
        )
    return size


def split(
    n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split n rows at random into a training part and a test part; see `train_size`."""
    size = train_size(n, train_fraction, most)
    order = rng.permutation(n)
    return np.sort(order[:size]), np.sort(order[size:])
