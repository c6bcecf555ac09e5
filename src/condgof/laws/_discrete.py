"""A discrete y: labels, ordered categories, counts, and cells of any y that have known probabilities.

There is no score ∇_y log p. Its place take residuals r(y, x) over a fixed set of cells, which under the
model have mean 0 given any x, exactly; kernels (`condgof.kernels`) make features of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol, cast

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
    refuse_rows,
)
from condgof.kernels import Cells
from condgof.laws._law import Law, refuse_outside
from condgof.sample import as_numbers

#: Which residuals a test may ask for: those of y itself, or with them all that the model can be held to.
PLAIN, FULL = "plain", "full"
#: Above this many numbers residuals are made only when rows are taken.
HELD = 2**23
#: How far from 1 the probabilities of a row may sum up, and how far below 0 rounding may leave one.
TOLERANCE, ROUNDED = 1e-3, 1e-6
#: The residuals of rows with such probabilities (b, K) and observed cells (b,).
Make = Callable[[FloatArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of a large array, all unless there is an index, copied only when they are looked at."""

    whole: AnyArray
    index: IntArray | None = None

    def take(self, rows: Any) -> SomeRows:
        if self.index is not None:
            return SomeRows(self.whole, self.index[rows])
        return SomeRows(self.whole[rows]) if isinstance(rows, slice) else SomeRows(self.whole, rows)

    @property
    def values(self) -> AnyArray:
        return np.asarray(self.whole if self.index is None else self.whole[self.index])


class Outcomes(Protocol):
    """What a model says of the cells of each row: enough to draw them anew, with their residuals."""

    @property
    def probabilities(self) -> AnyArray:
        """Probabilities of the cells, (n, K)."""

    @property
    def observed(self) -> IntArray:
        """The cells that were observed, (n,)."""

    @property
    def linear(self) -> bool:
        """Whether residuals are e_y − p and nothing else."""

    @property
    def plain(self) -> int:
        """How many of the first columns of residuals are those of e_y − p."""

    def take(self, rows: IntArray) -> Outcomes:
        """Return those of some rows."""

    def of(self, codes: IntArray) -> FloatArray:
        """Return the residuals of cells (n,), (n, width)."""


@dataclass(frozen=True, eq=False)
class CellOutcomes:
    """Outcomes with known probabilities, in the user's own array, which is never copied as a whole.

    Turned into an array it is the residuals of the observed cells, which are made only then.
    """

    rows: SomeRows
    #: Makes residuals of some rows, with `width` columns.
    make: Make
    width: int
    observed: IntArray

    @property
    def probabilities(self) -> AnyArray:
        return self.rows.values

    @property
    def linear(self) -> bool:
        return self.make is one_hot_less

    @property
    def plain(self) -> int:
        return int(self.rows.whole.shape[1])

    def take(self, rows: Any) -> CellOutcomes:
        return replace(self, rows=self.rows.take(rows), observed=self.observed[rows])

    def of(self, codes: IntArray) -> FloatArray:
        made = replace(self, observed=codes)
        if len(codes) * self.width <= HELD:
            return np.asarray(made)
        # It is taken by rows and turned into an array like any other, and so passes for one.
        return cast(FloatArray, made)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array of residuals."""
        return len(self.observed), self.width

    def __len__(self) -> int:
        return len(self.observed)

    def __getitem__(self, rows: Any) -> CellOutcomes:
        return self.take(rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        made = self.make(normalised(self.probabilities), self.observed)
        return made if dtype is None else made.astype(dtype, copy=False)


def normalised(probabilities: AnyArray) -> FloatArray:
    """Return probabilities as doubles that sum to 1 in each row, as a new array."""
    values: FloatArray = np.array(probabilities, dtype=np.float64)
    values /= values.sum(axis=1, keepdims=True)
    return values


def one_hot_less(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return e_y − p, (n, K); the probabilities are written over.

    Examples
    --------
    >>> one_hot_less(np.array([[0.25, 0.75]]), np.array([1]))
    array([[-0.25,  0.25]])
    """
    np.negative(probabilities, out=probabilities)
    probabilities[np.arange(len(codes)), codes] += 1.0
    return probabilities


def check_probabilities(p: AnyArray, what: str, advice: str) -> AnyArray:
    """Check that the rows of an array (n, K) are probabilities; what rounding left below 0 becomes 0."""
    with np.errstate(invalid="ignore"):
        sums, least = p.sum(axis=1, dtype=np.float64), p.min(axis=1)
    broken = ~np.isfinite(sums)
    refuse_rows(broken, f"{what} has NaN or infinite values", "Check the model there.", NonFiniteError)
    bad = np.flatnonzero((least < -ROUNDED) | (np.abs(sums - 1.0) > TOLERANCE))
    if len(bad):
        raise InputError(
            f"{what} must hold probabilities, which must not be negative and must sum to 1 in each row; "
            f"row {bad[0]} (counted from 0) has the sum {sums[bad[0]]:.6g} and the smallest entry "
            f"{least[bad[0]]:.3g}. {advice}"
        )
    return np.maximum(p, 0) if least.min() < 0 else p


@dataclass(frozen=True, eq=False)
class Residuals:
    """What kernels see of a discrete y."""

    #: y as they compare it, (n, 1).
    u: FloatArray
    #: The residuals, of mean 0 given x under the model, (n, cells).
    values: FloatArray
    #: From which y can be drawn anew, for the null distribution.
    outcomes: Outcomes | None = None


class Discrete(Law):
    """A law of a discrete y in one column.

    A subclass writes `numbers`, `cells` and `residuals`, and what else it has (`log_prob`, `cdf`,
    `sample`, `mean_std`).
    """

    discrete = True
    #: What y calls the classes, in the order of their probabilities; None for counts.
    class_names: tuple[str, ...] | None = None

    def numbers(self, y: AnyArray) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        raise NotImplementedError

    def cells(self, by: str) -> Cells:
        """Return what the columns of the residuals are of."""
        raise NotImplementedError

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        raise NotImplementedError

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        """What a reader of a result should know of these observations, a sentence each."""
        return ()

    def lacks(self, ability: str) -> NoReturn:
        if ability == "score":
            raise UnsupportedModelError(
                f"{self.name} is a model of a discrete y, which has no score ∇_y log p(y|x). The tests "
                "see its residuals instead: adaptive, kcsd, fscd and calibration take it as it is."
            )
        super().lacks(ability)


def flat(y: AnyArray) -> AnyArray:
    """Return a y of one column as (n,)."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    if y.ndim != 1:
        raise ShapeError(
            f"A model of a discrete y is for one column of y, got shape {y.shape}. Pass one label or "
            "count for each row."
        )
    return y


def whole_numbers(y: AnyArray, low: AnyArray, high: AnyArray, model: str) -> FloatArray:
    """Check counts: whole numbers from `low` to `high`, which broadcast to (n,)."""
    if np.asarray(y).dtype.kind in "OUS":
        raise InputTypeError(f"{model} is a model of counts, and y holds text. Pass numbers.")
    values = flat(as_numbers(y, "y")).astype(np.float64)
    refuse_rows(
        values != np.floor(values),
        f"{model} is a model of counts, and y is not a whole number",
        "A continuous y needs another model.",
    )
    refuse_outside((values < low) | (values > high), model)
    return values


def refuse_standardizing(standardize: str) -> NoReturn:
    """Refuse to standardise a discrete y by anything but what its model does by itself."""
    raise InputError(
        f"standardize={standardize!r} is for a continuous y: the CDF of a discrete one takes steps. Use "
        "'auto' or 'none'; counts are compared in the model's own standard deviations with either."
    )
