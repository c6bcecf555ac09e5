"""Reading whatever a user has as an array of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputTypeError


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
    try:
        # A torch tensor that takes part in gradients, or is on another device, is no array yet.
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except Exception as error:  # whatever an object's __array__ may raise
        raise InputTypeError(
            f"{what} cannot be read as an array ({type(value).__name__}: {error}). {advice}"
        ) from error
    if array.dtype.kind == "O" and hasattr(value, "to_numpy") and not holds_text(array):
        array = nullable_numbers(value, array)
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
        if all(entry is None or isinstance(entry, number) for entry in array.ravel()):
            return array.astype(np.float64)
    except (ValueError, OverflowError):  # rows of different lengths; an integer beyond all doubles
        pass
    return value


def holds_text(values: AnyArray) -> bool:
    """Whether any entry of an object array is a string."""
    return any(isinstance(value, str) for value in values.ravel())


def nullable_numbers(data: Any, fallback: AnyArray) -> AnyArray:
    """Read a Series or frame of a nullable number type, its missing values as NaN."""
    try:
        return np.asarray(data.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        return fallback
