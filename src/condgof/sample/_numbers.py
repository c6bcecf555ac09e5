"""Reading whatever a user has as an array of real numbers; dates as days since 1970-01-01 UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputTypeError, NumericalError

#: What Python or pandas would turn into a float, and is not meant as one.
NO_NUMBERS = (str, bytes, date, time, timedelta)
EPOCH = datetime(1970, 1, 1)
#: What has to do with time and is no date, by the name of its type.
NO_DATES = {
    "timedelta": "lengths of time. Pass them as numbers, such as .dt.total_seconds().",
    "time": "times of day. Pass them as numbers, such as hours since midnight.",
    "Period": "periods. Pass the start of each as a date, .dt.to_timestamp(), or numbers.",
}
NO_DATES["Timedelta"] = NO_DATES["timedelta64"] = NO_DATES["timedelta"]


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


def as_days(raw: AnyArray, label: str) -> FloatArray | None:
    """Return dates as days since 1970-01-01 UTC, NaN where missing; None if `raw` holds other things.

    Dates without a time zone are taken as UTC. Lengths of time, times of day and periods are refused.

    Examples
    --------
    >>> as_days(np.array(["1970-01-02T12:00", "NaT"], dtype="M8[s]"), "x")
    array([1.5, nan])
    """
    if raw.dtype.kind == "M":
        ticks = raw.astype("M8[us]").astype(np.int64)
        return np.where(np.isnat(raw), np.nan, ticks / 86_400e6)
    kinds = {raw.dtype.type} if raw.dtype.kind == "m" else set()
    if raw.dtype.kind == "O":
        kinds = {type(value) for value in raw.ravel() if not is_missing(value)}
    for kind in kinds:
        if kind.__name__ in NO_DATES:
            raise InputTypeError(f"{label} holds {NO_DATES[kind.__name__]}")
    if not kinds or not all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        return None
    days = [np.nan if is_missing(value) else _days(value) for value in raw.ravel()]
    return np.array(days).reshape(raw.shape)


def _days(value: Any) -> float:
    if isinstance(value, datetime):
        start = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=UTC)
        return float((value - start).total_seconds() / 86_400)
    return float((np.datetime64(value, "us") - np.datetime64(EPOCH)) / np.timedelta64(1, "D"))
