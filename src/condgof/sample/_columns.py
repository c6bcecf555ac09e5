"""Reading arrays, frames and series into numbers, without importing any frame library.

Frames are recognised by what they can do: pandas by ``iloc``, polars by ``get_column``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    check_finite,
    check_object,
    refuse_rows,
)
from condgof.sample._column import Column
from condgof.sample._numbers import as_array, as_days, as_numbers, boxed_numbers, holds, missing_in

DROP = "Drop or fill those rows first."
INFINITE = (
    "An infinite value is not a missing one and is refused whatever `missing` is: correct it first."
)
#: Text in more rows than this, no two of them alike, is no category.
FEW_ROWS = 20


@dataclass(frozen=True, eq=False)
class Variables:
    """x or y as it was read, before anything is done about missing values."""

    #: "x" or "y", for messages; and a copy of what the user passed (lists become arrays).
    what: str
    given: Any
    #: The numbers, (n, d): levels of categorical columns by position; NaN is a missing value.
    values: FloatArray
    columns: tuple[Column, ...]

    def plain(self) -> AnyArray:
        """Return a copy of the numbers in the shape the user passed: (n,) stays (n,)."""
        one = len(getattr(self.given, "shape", (0, 0))) == 1
        return self.values.reshape(-1 if one else self.values.shape).copy()

    def check_infinite(self) -> None:
        """Raise if any value is infinite."""
        self._check(np.where(np.isnan(self.values), 0.0, self.values), "")

    def check_complete(self, advice: str) -> None:
        """Raise if any value is infinite or missing."""
        self._check(self.values, advice)

    def _check(self, values: FloatArray, advice: str) -> None:
        if isinstance(self.given, np.ndarray) and all(c.kind == "numbers" for c in self.columns):
            check_finite(values, self.what, INFINITE if np.isinf(values).any() else advice)
            return
        for column, numbers in zip(self.columns, values.T, strict=True):
            label = f"{self.what} column {column.name!r}"
            if column.kind != "numbers":
                refuse_rows(np.isnan(numbers), f"{label} has missing values", advice, NonFiniteError)
            check_finite(numbers, label, INFINITE if np.isinf(numbers).any() else advice)

    def check_categories(self) -> None:
        """Raise if a text column has as many levels as rows, unless they have an order."""
        for column, codes in zip(self.columns, self.values.T, strict=True):
            levels = column.levels or ()
            if column.ordered or len(levels) <= FEW_ROWS:
                continue
            rows = np.count_nonzero(~np.isnan(codes))
            if len(levels) < rows:
                continue
            head = f"{self.what} column {column.name!r} holds text that is different in all {rows} rows"
            if all(re.fullmatch(r"\s*[-+]?[\d.]*\d,\d+\s*", level) for level in levels):
                raise InputError(
                    f"{head} and looks like numbers with decimal commas, such as {levels[0]!r}. Make "
                    "numbers of it, for instance by reading the file with decimal=','."
                )
            raise InputError(
                f"{head}, such as {levels[0]!r}: it looks like an identifier, not a category. Leave it "
                "out, or make numbers of it if it holds numbers."
            )


def is_frame(data: Any) -> bool:
    """Whether `data` is a pandas or polars frame."""
    # In this order: a LazyFrame of polars warns when asked for its columns.
    return (hasattr(data, "iloc") or hasattr(data, "get_column")) and hasattr(data, "columns")


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


def column_at(frame: Any, i: int) -> Any:
    """Return a column of a frame by its position."""
    return frame.iloc[:, i] if hasattr(frame, "iloc") else frame.to_series(i)


def read(data: Any, what: str, *, text: bool) -> tuple[Any, FloatArray, tuple[Column, ...]]:
    """Read x or y without missing values; `read_table` says what is read, and returned."""
    table = read_table(data, what, text=text)
    table.check_complete(DROP)
    return table.given, table.values, table.columns


def read_table(data: Any, what: str, *, text: bool) -> Variables:
    """Read x or y.

    Parameters
    ----------
    data : array_like, Series or DataFrame
        What the user passed, (n,) or (n, d).
    what : {"x", "y"}
        For messages and made-up column names.
    text : bool
        Whether dates are allowed, and string and category columns of a frame.

    Returns
    -------
    Variables
        Frames stay frames, lists become arrays.
    """
    check_object(data, what)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InputTypeError(
            f"{what} is a polars LazyFrame, which holds no rows yet. Call .collect() first, once for x "
            "and y together, so that their rows match."
        )
    if hasattr(data, "to_frame") and not is_frame(data):  # a Series is a frame of one column
        table = read_table(data.to_frame(), what, text=text)
        column = table.columns[0]
        nameless = column.name in ("0", "", "None")
        columns = (replace(column, name=what),) if nameless else table.columns
        return replace(table, given=fresh(data), columns=columns)
    if not is_frame(data):
        return _read_array(data, what, text)
    names = [str(name) for name in data.columns]
    if not names:
        raise ShapeError(f"{what} is a frame without columns. Pass at least one column.")
    if not len(data):
        raise ShapeError(f"{what} is empty. Pass at least 3 rows.")
    twice = dict.fromkeys(repr(name) for name in names if names.count(name) > 1)
    if twice:
        raise InputError(
            f"{what} has two columns of the same name: {', '.join(twice)}. Give each its own name."
        )
    parts = [_frame_column(data, i, name, what, text) for i, name in enumerate(names)]
    values = np.column_stack([numbers for numbers, _ in parts])
    return Variables(what, fresh(data), values, tuple(column for _, column in parts))


def _read_array(data: Any, what: str, text: bool) -> Variables:
    if data is None:
        raise InputTypeError(f"{what} is missing (None). Pass an array with one row an observation.")
    advice = (
        "Pass a NumPy array, a list of equal-length rows, or a pandas or polars frame; text columns "
        "of x are fine in a frame."
    )
    raw = as_array(data, what, advice)
    if raw.dtype.kind == "M" and isinstance(data, np.ma.MaskedArray):
        raw = np.where(np.ma.getmaskarray(data), np.datetime64("NaT"), raw)
    days = as_days(raw, what)
    if days is not None and not text:
        raise _dates_refused(what, raw.dtype)
    # A copy, so that a model that writes into its x does not write into the caller's.
    given = np.array(as_numbers(data, what, advice=advice) if days is None else raw)
    if given.ndim not in (1, 2):
        got = given.shape if given.ndim else f"a single {type(data).__name__}"
        raise ShapeError(
            f"{what} must have shape (n,) or (n, d), got {got}. Pass one row for each observation."
        )
    if given.ndim == 2 and given.shape[1] == 0:
        raise ShapeError(f"{what} has no columns, got shape {given.shape}. Pass at least one.")
    if not len(given):
        raise ShapeError(f"{what} is empty. Pass at least 3 rows.")
    # A copy, so that what the caller does to the array later cannot reach into a sample.
    values = np.array(given if days is None else days, dtype=np.float64, order="C")
    values = values.reshape(len(given), -1)
    one = values.shape[1] == 1
    names = [what] if one else [f"{what}{i + 1}" for i in range(values.shape[1])]
    columns = tuple(
        Column(
            name, None, constant(values[:, i]), dates=days is not None, boolean=given.dtype.kind == "b"
        )
        for i, name in enumerate(names)
    )
    return Variables(what, given, values, columns)


def _frame_column(frame: Any, i: int, name: str, what: str, text: bool) -> tuple[FloatArray, Column]:
    series = column_at(frame, i)
    label = f"{what} column {name!r}"
    dtype = str(series.dtype).lower()
    if dtype.startswith(("datetime64[", "timestamp[")):  # of pandas, which has time zones as objects
        raw = np.asarray(series.to_numpy(dtype="M8[us]"))
    else:
        raw = as_array(series, f"{label} of type {series.dtype}", "Cast it to another type first.")
    if raw.ndim != 1:
        raise ShapeError(f"{label} holds arrays, not numbers. Make columns of them.")
    categorical = dtype in ("str", "string") or dtype.startswith(("categor", "enum", "string["))
    # Of y, categories that are numbers stay numbers: labels of a classifier, which alone takes them.
    labels = categorical and not text and raw.dtype.kind in "biuf"
    categorical = categorical and not labels
    missing = missing_in(series)
    if not categorical and raw.dtype.kind == "O" and holds(raw, str):
        categorical = all(isinstance(value, str) for value in raw[~missing])
    if categorical:
        if not text:
            raise InputTypeError(
                f"{label} holds text or categories, and {what} must be numeric. Pass numbers."
            )
        order = _order(series.dtype)
        codes, levels = encode(raw, missing, order)
        return codes, Column(name, levels, constant(codes), ordered=order is not None)
    days = as_days(raw, label)
    if days is not None:
        if not text:
            raise _dates_refused(label, series.dtype)
        return days, Column(name, None, constant(days), dates=True)
    boolean = raw.dtype.kind == "b"
    if raw.dtype.kind == "O":
        boolean = all(isinstance(value, (bool, np.bool_)) for value in raw[~missing])
        raw = boxed_numbers(series, raw, label)
    if raw.dtype.kind not in "biuf":
        raise InputTypeError(
            f"{label} is of type {series.dtype}, neither numeric nor text nor dates. "
            "Turn it into numbers or text first."
        )
    values = np.asarray(raw, dtype=np.float64)
    known = tuple(map(str, np.unique(raw[~missing]))) if labels else None
    return values, Column(name, known, constant(values), boolean=boolean)


def _dates_refused(label: str, dtype: Any) -> InputTypeError:
    return InputTypeError(
        f"{label} holds dates ({dtype}), and must be numeric. Pass numbers, such as days since a date."
    )


def _order(dtype: Any) -> list[str] | None:
    """Return the levels of an ordered categorical of pandas, or an Enum of polars, in their order."""
    if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
        return [str(level) for level in dtype.categories]
    return None


def encode(
    raw: AnyArray, missing: NDArray[np.bool_], order: list[str] | None = None
) -> tuple[FloatArray, tuple[str, ...]]:
    """Turn text (n,) into positions among the levels that occur, NaN where missing; return both.

    Levels are in alphabetical order, or in the `order` given.
    """
    codes = np.full(len(raw), np.nan)
    known = np.array([str(value) for value in raw[~missing]], dtype=str)
    found, places = np.unique(known, return_inverse=True)
    levels = [str(level) for level in found]
    if order is not None:
        ranks = [order.index(level) for level in levels]
        places, levels = np.argsort(np.argsort(ranks))[places], sorted(levels, key=order.index)
    codes[~missing] = places
    return codes, tuple(levels)


def constant(values: FloatArray) -> bool:
    """Whether all of some values are equal."""
    # The ends first: they nearly always tell, and at once.
    return len(values) > 0 and bool(values[0] == values[-1] and values.min() == values.max())


class Labels(Variables):
    """A y of text labels, which models get as they are."""

    def plain(self) -> AnyArray:
        """Return the label of each row."""
        labels: AnyArray = np.array(self.columns[0].levels)[self.values[:, 0].astype(int)]
        return labels


def read_labels(y: Any) -> Labels | None:
    """Read a y that holds text: strings, or a category column of strings; None for any other.

    Examples
    --------
    >>> read_labels(["b", "a", "b"]).values[:, 0], read_labels([1, 2]) is None
    (array([1., 0., 1.]), True)
    """
    name = "y"
    series = y
    if is_frame(y):
        if len(y.columns) != 1:
            return None
        name, series = str(next(iter(y.columns))), column_at(y, 0)
    elif getattr(y, "name", None) not in (None, "", 0):
        name = str(y.name)
    elif not isinstance(y, (list, tuple, np.ndarray)) and not any(
        hasattr(y, name) for name in ("to_frame", "isna")
    ):
        return None
    raw = _one_column(series)
    if raw is None:
        return None
    missing = missing_in(raw if isinstance(y, (list, tuple)) else series).reshape(-1)
    text = np.array([isinstance(value, str) for value in raw], dtype=bool)
    if not text.any():
        return None
    if not (text | missing).all():
        row = int(np.argmin(text | missing))
        raise InputTypeError(
            f"y column {name!r} holds text, and {raw[row]!r} in row {row} (counted from 0). Make text, "
            "or numbers, of all of them."
        )
    codes, levels = encode(raw, missing)
    given = fresh(y) if is_frame(y) or hasattr(y, "to_frame") else raw.copy()
    return Labels("y", given, codes[:, None], (Column(name, levels, len(levels) == 1),))


def _one_column(series: Any) -> AnyArray | None:
    """Return what may be text as an array of shape (n,), or None."""
    try:
        raw = np.asarray(series)
    except Exception:  # whatever an object's __array__ may raise; reading numbers will say it
        return None
    if raw.dtype.kind == "U" and isinstance(series, (list, tuple)):
        raw = np.asarray(series, dtype=object)  # NumPy makes a text of NaN
    if raw.dtype.kind not in "OU" or not raw.size or raw.ndim > 2 or raw.size != len(raw):
        return None
    return raw.reshape(-1)
