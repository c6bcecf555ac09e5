"""Parameters of closed-form models: the same for all rows, functions of x, or bound to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError, ShapeError, check_finite
from condgof.sample import as_numbers


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a model.

    Parameters
    ----------
    name : str
        For messages.
    value : float, ndarray or callable
        A constant, an array with one row for each observation, or a function of x.
    bound : bool
        Whether `value` has one row for each observation.
    """

    name: str
    value: Any
    bound: bool = False

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def constant_or_function(cls, name: str, value: Any) -> Parameter:
        """Read a number, a vector (the same for all rows) or a function of x; a `Parameter` stays."""
        if isinstance(value, Parameter):
            return value
        if callable(value):
            return cls(name, value)
        return cls(name, _numbers(name, value))

    @classmethod
    def rowwise(cls, name: str, value: Any, n: int) -> Parameter:
        """Read an array with one row for each of n observations, or a number for all of them."""
        array = _numbers(name, value)
        if array.ndim == 0:
            return cls(name, array)
        if len(array) != n:
            raise ShapeError(f"{name} has {len(array)} rows, and {n} were expected.")
        return cls(name, array, bound=True)

    def take(self, rows: IntArray) -> Parameter:
        """Return the parameter of some rows."""
        return Parameter(self.name, self.value[rows], True) if self.bound else self

    def width(self, x: Any) -> int | None:
        """Return how many columns of y the parameter speaks of, or None when any would fit."""
        per_row = self.bound or callable(self.value)
        value = np.asarray(self.value(x)) if callable(self.value) else self.value
        shape = value.shape[1:] if per_row else value.shape
        return int(shape[-1]) if shape else None

    def at(self, x: Any, n: int, shape: tuple[int, ...], *, finite: bool = True) -> FloatArray:
        """Evaluate at all rows: an array of shape (n, *shape).

        A last dimension of 1 may be left out, and a single number serves for all rows. With `finite`
        NaN and infinite values are refused.
        """
        shapes = [shape, shape[:-1]] if shape[-1] == 1 else [shape]
        per_row = self.bound or callable(self.value)
        array = self.value
        if callable(array):
            array = _numbers(f"{self.name}(x)", array(x))
        allowed = [(n, *s) for s in shapes] if per_row else shapes
        if array.ndim and array.shape not in allowed:
            wanted = " or ".join(map(str, allowed))
            hint = ""
            if not per_row and len(array) == n:
                hint = (
                    " For one value an observation use condgof.normal(mean=..., std=...), or "
                    "bound(...) of the model's class."
                )
            raise ShapeError(f"{self.name} must have shape {wanted}, got {array.shape}.{hint}")
        if finite:
            check_finite(np.atleast_1d(array), self.name, "Check the model at those rows.")
        if array.ndim and per_row:
            values: FloatArray = array.reshape(n, *shape)
            return values
        return np.broadcast_to(array.reshape(shape) if array.ndim else array, (n, *shape))


def _numbers(name: str, value: Any) -> FloatArray:
    return as_numbers(value, name).astype(np.float64)


def check_positive(values: FloatArray, name: str) -> FloatArray:
    """Raise when any value is not positive."""
    bad = ~(values > 0)
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
        raise InputError(
            f"{name} must be positive, and is not in {len(rows)} of {len(values)} rows, "
            f"the first in row {rows[0]} (counted from 0). Check the model at those rows."
        )
    return values
