"""Reading whatever a user has as an array of real numbers."""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray
from condgof.errors import InputTypeError, NumericalError

#: What Python or pandas would turn into a float, and is not meant as one.
NO_NUMBERS = (str, bytes, date, time, timedelta)


def as_array(value: Any, what: str, advice: str = "Pass numbers.") -> AnyArray:
    """Return what the user passed as a NumPy array of whatever type."""
    try:
        # A torch tensor that takes part in gradients, or is on another device, is no array yet.
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except Exception as error:  # whatever an object's __array__ may raise
        raise InputTypeError(
            f"{what} cannot be read as an array ({type(value).__name__}: {error}). {advice}"
        ) from error


def as_numbers(
    value: Any, what: str, *, verb: str = "must be", advice: str = "Pass numbers."
) -> AnyArray:
    """Return real numbers as a NumPy array of a real type; what is masked becomes NaN.

    Parameters
    ----------
    value : array_like
        What the user passed or a user's function returned.
    what : str
        What it is, for messages.
    verb, advice : str
        How the message goes on, and ends.

    Examples
    --------
    >>> as_numbers([1, 2], "mean")
    array([1, 2])
    """
    array = as_array(value, what, advice)
    if array.dtype.kind == "O" and hasattr(value, "to_numpy"):
        array = boxed_numbers(value, array, what)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(
            f"{what} {verb} real numbers, got an array of {array.dtype} values. {advice}"
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), np.nan, array)
    return array


def unboxed(value: Any) -> Any:
    """Return an object array of numbers, as labels often come, as numbers; anything else as it is.

    None is a missing value, NaN.
    """
    number = (int, float, np.integer, np.floating, np.bool_)
    try:
        array = np.asarray(value) if isinstance(value, (np.ndarray, list, tuple)) else None
        if array is None or array.dtype.kind != "O" or not array.ndim:
            return value
        if all(isinstance(entry, number) or is_missing(entry) for entry in array.ravel()):
            return np.where(missing_in(array), np.nan, array).astype(np.float64)
    except (ValueError, OverflowError):  # rows of different lengths; an integer beyond all doubles
        pass
    return value


def holds(values: AnyArray, kinds: type | tuple[type, ...]) -> bool:
    """Whether any entry of an object array that is not missing is of one of these types."""
    return any(isinstance(value, kinds) and not is_missing(value) for value in values.ravel())


def boxed_numbers(data: Any, raw: AnyArray, what: str) -> AnyArray:
    """Return numbers that a Series or frame has as the objects `raw`, missing ones as NaN.

    What holds anything else is returned as it is.
    """
    if holds(raw, NO_NUMBERS):  # before any conversion, which would read "02139" as a number
        return raw
    try:
        return np.where(missing_in(data), np.nan, raw).astype(np.float64)
    except (TypeError, ValueError):
        return raw
    except OverflowError as error:
        raise NumericalError(f"{what} holds an integer beyond 1e308. Rescale it.") from error


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing value: None, NaN, pandas' NaT and NA.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "", float("inf"))]
    [True, True, True, False, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.generic, Decimal)) and bool(value != value)


def missing_in(data: Any) -> NDArray[np.bool_]:
    """Mark the missing values of a Series or an array.

    Examples
    --------
    >>> missing_in(np.array([1.0, np.nan]))
    array([False,  True])
    """
    for name in ("isna", "is_null"):
        if hasattr(data, name):
            return np.asarray(getattr(data, name)(), dtype=bool)
    array = np.asarray(data)
    if array.dtype.kind in "fcmM":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.ravel()], dtype=bool).reshape(array.shape)
    return np.zeros(array.shape, dtype=bool)
