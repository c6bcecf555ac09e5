"""Reading arrays, frames and series into numbers, without importing any frame library.

Frames are recognised by what they can do: pandas by ``iloc``, polars by ``get_column``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError, check_finite
from condgof.sample._numbers import as_numbers, holds_text, nullable_numbers

DROP = "Drop or fill those rows first."


@dataclass(frozen=True)
class Column:
    """One column of x or y.

    Parameters
    ----------
    name : str
        The user's name for it, or a made-up one for arrays.
    levels : tuple of str, optional
        The levels of a categorical column, whose numbers are positions in it; None if numeric.
    constant : bool
        Whether all rows are equal: such a column carries nothing.
    """

    name: str
    levels: tuple[str, ...] | None = None
    constant: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the column holds levels rather than numbers."""
        return self.levels is not None


def is_frame(data: Any) -> bool:
    """Whether `data` is a pandas or polars frame."""
    return hasattr(data, "columns") and (hasattr(data, "iloc") or hasattr(data, "get_column"))


def fresh(data: Any) -> Any:
    """Return a copy of the caller's data, so that a function that works in place changes only that."""
    if data is None or isinstance(data, np.ndarray):
        return None if data is None else data.copy()
    for copy in ("copy", "clone"):
        if hasattr(data, copy):
            return getattr(data, copy)()
    return data


def take_rows(data: Any, rows: IntArray) -> Any:
    """Take rows of an array or a frame, keeping its kind."""
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


def read(data: Any, what: str, *, text: bool) -> tuple[Any, FloatArray, tuple[Column, ...]]:
    """Read x or y.

    Parameters
    ----------
    data : array_like, Series or DataFrame
        What the user passed, (n,) or (n, d).
    what : {"x", "y"}
        For messages and made-up column names.
    text : bool
        Whether string and category columns of a frame are allowed.

    Returns
    -------
    given : array or frame
        The data as models should get them (frames stay frames, lists become arrays).
    values : ndarray of shape (n, d)
        The numbers; categorical columns hold the positions of their levels.
    columns : tuple of Column
        One for each column of `values`.
    """
    if hasattr(data, "to_frame") and not is_frame(data):  # a Series is a frame of one column
        _, values, columns = read(data.to_frame(), what, text=text)
        nameless = columns[0].name in ("0", "", "None")
        return fresh(data), values, (replace(columns[0], name=what),) if nameless else columns
    if is_frame(data):
        names = [str(name) for name in data.columns]
        if not names:
            raise ShapeError(f"{what} is a frame without columns. Pass at least one column.")
        if not len(data):
            raise ShapeError(f"{what} is empty. Pass at least 3 rows.")
        parts = [_frame_column(data, i, what, text) for i in range(len(names))]
        values = np.column_stack([numbers for numbers, _ in parts])
        columns = tuple(
            Column(name, levels, _constant(values[:, i]))
            for i, (name, (_, levels)) in enumerate(zip(names, parts, strict=True))
        )
        return fresh(data), values, columns
    return _read_array(data, what)


def _read_array(data: Any, what: str) -> tuple[AnyArray, FloatArray, tuple[Column, ...]]:
    # A copy, so that a model that writes into its x does not write into the caller's.
    given = np.array(_as_array(data, what))
    if given.ndim not in (1, 2):
        raise ShapeError(
            f"{what} must have shape (n,) or (n, d), got {given.shape}. "
            "Pass one row for each observation."
        )
    if given.ndim == 2 and given.shape[1] == 0:
        raise ShapeError(f"{what} has no columns, got shape {given.shape}. Pass at least one.")
    if not len(given):
        raise ShapeError(f"{what} is empty. Pass at least 3 rows.")
    # A copy, so that what the caller does to the array later cannot reach into a sample.
    values = np.array(given.reshape(len(given), -1), dtype=np.float64, order="C")
    check_finite(values, what, DROP)
    one = values.shape[1] == 1
    names = [what] if one else [f"{what}{i + 1}" for i in range(values.shape[1])]
    columns = tuple(Column(n, None, _constant(values[:, i])) for i, n in enumerate(names))
    return given, values, columns


def _as_array(data: Any, what: str) -> AnyArray:
    if data is None:
        raise InputTypeError(f"{what} is missing (None). Pass an array with one row an observation.")
    advice = (
        "Pass a NumPy array, a list of equal-length rows, or a pandas or polars frame; text columns "
        "of x are fine in a frame."
    )
    array = as_numbers(data, what, advice=advice)
    if array.ndim == 0:
        raise ShapeError(
            f"{what} must have shape (n,) or (n, d), got a single {type(data).__name__}. "
            "Pass one row for each observation."
        )
    return array


def _frame_column(
    frame: Any, i: int, what: str, text: bool
) -> tuple[FloatArray, tuple[str, ...] | None]:
    series = frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i)
    name = str(list(frame.columns)[i])
    dtype = str(series.dtype).lower()
    raw = np.asarray(series)
    if raw.ndim != 1:
        raise ShapeError(f"{what} column {name!r} holds arrays, not numbers. Make columns of them.")
    missing = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null(), dtype=bool)
    categorical = dtype in ("str", "string") or dtype.startswith(("categor", "enum", "string["))
    # Of y, categories that are numbers stay numbers: labels of a classifier, which alone takes them.
    labels = categorical and not text and raw.dtype.kind in "biuf"
    categorical = categorical and not labels
    if not categorical and raw.dtype.kind == "O":
        if holds_text(raw):  # before any conversion, which would read "02139" as a number
            categorical = all(isinstance(value, str) for value in raw[~missing])
        else:
            raw = nullable_numbers(series, raw)
            if raw.dtype.kind == "O" and all(isinstance(v, (bool, np.bool_)) for v in raw[~missing]):
                raw = np.where(missing, np.nan, raw == True)  # noqa: E712, a column of None and bools
    if categorical:
        if not text:
            raise InputTypeError(
                f"{what} column {name!r} holds text or categories, and {what} must be numeric. "
                "Pass numbers."
            )
        return encode(raw, missing, f"{what} column {name!r}")
    if raw.dtype.kind not in "biuf":
        raise InputTypeError(
            f"{what} column {name!r} is of type {series.dtype}, neither numeric nor text. "
            "Turn it into numbers or text first."
        )
    values = np.asarray(raw, dtype=np.float64)
    check_finite(values, f"{what} column {name!r}", DROP)
    return values, tuple(map(str, np.unique(raw))) if labels else None


def encode(raw: AnyArray, missing: NDArray[np.bool_], label: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Turn text (n,) into positions among its levels, and return both; refuse what is missing."""
    if missing.any():
        rows = np.flatnonzero(missing)
        raise NonFiniteError(
            f"{label} has missing values in {len(rows)} of {len(raw)} rows, the first in row "
            f"{rows[0]} (counted from 0). {DROP}",
            count=len(rows),
            first_row=int(rows[0]),
        )
    levels, codes = np.unique([str(value) for value in raw], return_inverse=True)
    return codes.astype(np.float64), tuple(str(level) for level in levels)


def _constant(values: FloatArray) -> bool:
    return len(values) > 0 and bool(values.min() == values.max())


def encode_levels(raw: AnyArray, column: Column, label: str) -> FloatArray:
    """Turn levels given by name into the numbers that `column` has for them."""
    levels = column.levels or ()
    known = {level: float(i) for i, level in enumerate(levels)}
    unknown = [str(value) for value in raw if str(value) not in known]
    if unknown:
        raise InputError(
            f"{label}: {unknown[0]!r} is not a level of column {column.name!r}. "
            f"Its levels are {', '.join(levels[:10])}{', ...' if len(levels) > 10 else ''}."
        )
    return np.array([known[str(value)] for value in raw], dtype=np.float64)
