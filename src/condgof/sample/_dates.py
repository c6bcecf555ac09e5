"""Dates as numbers: days since 1970-01-01 UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputTypeError
from condgof.sample._numbers import is_missing

EPOCH = datetime(1970, 1, 1)
#: What has to do with time and is no date, by the name of its type.
NO_DATES = {
    "timedelta": "lengths of time. Pass them as numbers, such as .dt.total_seconds().",
    "time": "times of day. Pass them as numbers, such as hours since midnight.",
    "Period": "periods. Pass the start of each as a date, .dt.to_timestamp(), or numbers.",
}
NO_DATES["Timedelta"] = NO_DATES["timedelta64"] = NO_DATES["timedelta"]


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
