"""Residuals of a discrete y: one row for each observation, each with mean 0 given x under the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray

#: Above this many numbers residuals are made only when rows are taken.
HELD = 2**23
#: The residuals of rows with such probabilities (b, K) and observed cells (b,).
Make = Callable[[FloatArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of a large array, which are copied only when they are looked at.

    Parameters
    ----------
    whole : ndarray of shape (N, K)
        The array.
    index : ndarray of int, shape (n,), optional
        Which rows; None for all.
    """

    whole: AnyArray
    index: IntArray | None = None

    def take(self, rows: Any) -> SomeRows:
        """Return some of the rows."""
        if self.index is not None:
            return SomeRows(self.whole, self.index[rows])
        return SomeRows(self.whole[rows]) if isinstance(rows, slice) else SomeRows(self.whole, rows)

    @property
    def values(self) -> AnyArray:
        """The rows."""
        values: AnyArray = self.whole if self.index is None else self.whole[self.index]
        return values


@dataclass(frozen=True, eq=False)
class LazyResiduals:
    """Residuals that are made when an array of them is asked for: some rows at a time.

    Parameters
    ----------
    rows : SomeRows
        Probabilities (n, K) in the user's own array, which is never copied as a whole.
    codes : ndarray of int, shape (n,)
        The observed cells.
    make : callable
        Makes the residuals of some rows.
    width : int
        How many columns they have.
    """

    rows: SomeRows
    codes: IntArray
    make: Make
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array that they would be."""
        return len(self.codes), self.width

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> LazyResiduals:
        return replace(self, rows=self.rows.take(rows), codes=self.codes[rows])

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        made = self.make(normalised(self.rows.values), self.codes)
        return made if dtype is None else made.astype(dtype, copy=False)


class Law(Protocol):
    """What a model says of the cells of each row: enough to draw them anew."""

    @property
    def probabilities(self) -> AnyArray:
        """Probabilities of the cells, (n, K)."""
        ...

    @property
    def observed(self) -> IntArray:
        """The cells that were observed, (n,)."""
        ...

    @property
    def linear(self) -> bool:
        """Whether residuals are e_y − p and nothing else."""
        ...

    @property
    def plain(self) -> int:
        """How many of the first columns of residuals are those of e_y − p."""
        ...

    def take(self, rows: IntArray) -> Law:
        """Return the law of some rows."""
        ...

    def of(self, codes: IntArray) -> FloatArray:
        """Return the residuals of cells (n,), (n, width)."""
        ...


@dataclass(frozen=True, eq=False)
class CellLaw:
    """What a model says of the cells of each row: enough to draw them anew, and to have their residuals.

    Parameters
    ----------
    rows : SomeRows
        Probabilities of the cells, (n, K).
    make : callable
        Makes residuals.
    width : int
        How many columns they have.
    observed : ndarray of int, shape (n,)
        The cells that were observed.
    """

    rows: SomeRows
    make: Make
    width: int
    observed: IntArray

    @property
    def probabilities(self) -> AnyArray:
        """Probabilities of the cells, (n, K)."""
        return self.rows.values

    @property
    def linear(self) -> bool:
        """Whether residuals are e_y − p and nothing else."""
        return self.make is one_hot_less

    @property
    def plain(self) -> int:
        """How many of the first columns of residuals are those of e_y − p: one for each cell."""
        return int(self.probabilities.shape[1])

    def take(self, rows: IntArray) -> CellLaw:
        """Return the law of some rows."""
        return replace(self, rows=self.rows.take(rows), observed=self.observed[rows])

    def of(self, codes: IntArray) -> FloatArray:
        """Return the residuals of cells (n,), (n, width): an array, where that is not large."""
        lazy = LazyResiduals(self.rows, codes, self.make, self.width)
        if len(codes) * self.width <= HELD:
            return np.asarray(lazy)
        # It is taken by rows and turned into an array like any other, and so passes for one.
        return cast(FloatArray, lazy)


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
