"""NumPy arrays of what users bring: which values are missing, and dates as days."""

from __future__ import annotations

from datetime import UTC, date
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputTypeError

BoolArray: TypeAlias = NDArray[np.bool_]

#: Dates are read as days, and kept by frames and NumPy in microseconds.
MICROSECONDS_PER_DAY = 86_400e6


def as_array(value: object, what: str, advice: str) -> AnyArray:
    """Return a NumPy array of `value`, or raise an error that says what it was."""
    try:
        # A torch tensor that takes part in gradients, or lies on another device, has to be
        # detached and moved before NumPy can read it.
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except Exception as error:  # whatever an object's __array__ may raise
        reason = f"{type(value).__name__}: {error}"
        raise InputTypeError(
            f"{what} cannot be read as an array ({reason}). {advice}"
        ) from error


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: None, NaN, pandas' NaT and NA."""
    # pandas is not imported to ask this: its two missing values are known by their classes.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.generic, Decimal)) and bool(value != value)


def missing_in_array(array: AnyArray) -> BoolArray:
    """Return where an array of any shape holds a missing value, in the same shape."""
    if array.dtype.kind in "fcmM":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        flags = [is_missing(value) for value in array.ravel()]
        return np.array(flags, dtype=bool).reshape(array.shape)
    return np.zeros(array.shape, dtype=bool)


def as_days(raw: AnyArray) -> FloatArray | None:
    """Return dates as days since 1970-01-01 UTC, or None where `raw` holds anything else.

    Dates without a time zone are taken as UTC. Missing dates become NaN.

    Parameters
    ----------
    raw : array of any shape
        ``datetime64`` values, or objects that are all dates or missing.

    Returns
    -------
    array of the same shape, or None
    """
    if raw.dtype.kind == "O":
        known = [value for value in raw.ravel() if not is_missing(value)]
        classes = {type(value) for value in known}
        if not classes or not all(issubclass(c, (date, np.datetime64)) for c in classes):
            return None
        moments = [None if is_missing(value) else _in_utc(value) for value in raw.ravel()]
        raw = np.array(moments, dtype="M8[us]").reshape(raw.shape)
    elif raw.dtype.kind != "M":
        return None
    microseconds = raw.astype("M8[us]").astype(np.int64)
    return np.where(np.isnat(raw), np.nan, microseconds / MICROSECONDS_PER_DAY)


def as_moments(days: FloatArray) -> AnyArray:
    """Return days since 1970-01-01 UTC as dates, to the microsecond: undo `as_days`."""
    return np.rint(days * MICROSECONDS_PER_DAY).astype("M8[us]")


def _in_utc(value: Any) -> Any:
    """Return a date or time without its time zone, if it has one, moved to UTC."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(UTC).replace(tzinfo=None)


def objects_have_zone(raw: AnyArray) -> bool:
    """Whether any of an array's objects is a time with a time zone."""
    if raw.dtype.kind != "O":
        return False
    return any(getattr(value, "tzinfo", None) is not None for value in raw.ravel())
