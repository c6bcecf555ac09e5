"""Parameters of closed-form models: the same for all rows, functions of x, or bound to rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, ShapeError, check_finite


def call_user(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a user's function, by name where its parameters have our names.

    A function of (y, x) that is written as (x, y) would swap them silently if it were called by
    position; its parameters' names tell. A function of fewer parameters gets the first ones.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in callables have no signature
        return function(*arguments.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return function(*arguments.values())
    wanted = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    wanted += [p for p in parameters if p.default is not p.empty and p.name in arguments]
    # Each argument goes to the parameter of its name; what has no name of ours gets the rest in order.
    rest = [name for name in arguments if name not in {p.name for p in wanted}]
    by_name: dict[str, Any] = {}
    by_position: list[Any] = []
    for parameter in wanted:
        if parameter.name in arguments:
            name = parameter.name
        elif rest:
            name = rest.pop(0)
        else:
            break
        if parameter.kind is parameter.POSITIONAL_ONLY:
            by_position.append(arguments[name])
        else:
            by_name[parameter.name] = arguments[name]
    return function(*by_position, **by_name)


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

    @classmethod
    def constant_or_function(cls, name: str, value: Any) -> Parameter:
        """Read a number, a vector (the same for all rows) or a function of x."""
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
        value = np.asarray(call_user(self.value, x=x)) if callable(self.value) else self.value
        shape = value.shape[1:] if per_row else value.shape
        return int(shape[-1]) if shape else None

    def at(self, x: Any, n: int, shape: tuple[int, ...]) -> FloatArray:
        """Evaluate at all rows: an array of shape (n, *shape).

        A last dimension of 1 may be left out, and a single number serves for all rows.
        """
        shapes = [shape, shape[:-1]] if shape[-1] == 1 else [shape]
        per_row = self.bound or callable(self.value)
        array = self.value
        if callable(array):
            array = _numbers(f"{self.name}(x)", call_user(array, x=x))
        allowed = [(n, *s) for s in shapes] if per_row else shapes
        if array.ndim and array.shape not in allowed:
            wanted = " or ".join(map(str, allowed))
            hint = ""
            if not per_row and len(array) == n:
                hint = (
                    " For one value an observation use condgof.normal(mean=..., std=...) or the "
                    "tuple (mean, std)."
                )
            raise ShapeError(f"{self.name} must have shape {wanted}, got {array.shape}.{hint}")
        check_finite(np.atleast_1d(array), self.name, "Check the model at those rows.")
        if array.ndim and per_row:
            values: FloatArray = array.reshape(n, *shape)
            return values
        return np.broadcast_to(array.reshape(shape) if array.ndim else array, (n, *shape))


def _numbers(name: str, value: Any) -> FloatArray:
    try:
        array: AnyArray = np.asarray(value)
    except Exception as error:
        raise InputTypeError(f"{name} cannot be read as numbers: {error}.") from error
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{name} must be real numbers, got {type(value).__name__}.")
    return array.astype(np.float64)


def check_positive(values: FloatArray, name: str) -> FloatArray:
    """Raise when any value is not positive."""
    bad = ~(values > 0)
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
        raise InputError(
            f"{name} must be positive, and is not in {len(rows)} of {len(values)} rows, "
            f"the first in row {rows[0]} (counted from 0)."
        )
    return values
