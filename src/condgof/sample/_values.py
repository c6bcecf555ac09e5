"""Reading arrays, series and frames into numbers, and putting new numbers into the same container.

No frame library is imported: pandas is told by ``iloc``, polars by ``get_column``. Dates
become days since 1970-01-01 UTC, text the position of its level; what is missing becomes
NaN.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    NumericalError,
    ShapeError,
    check_finite,
    check_object,
    refuse_rows,
)
from condgof.sample._column import Column

DROP = "Drop or fill those rows first."
INFINITE = (
    "An infinite value is not a missing one, and refused whatever `missing` is: correct it"
    " first."
)
#: Text in more rows than this, no two of them alike, is no category.
FEW_ROWS = 20
#: What Python or pandas would turn into a float, and is not meant as one.
NO_NUMBERS = (str, bytes, date, time, timedelta)


def as_array(value: object, what: str, advice: str) -> AnyArray:
    try:
        # A torch tensor that takes part in gradients, or is on another device, is no array
        # yet.
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except Exception as error:  # whatever an object's __array__ may raise
        reason = f"{type(value).__name__}: {error}"
        raise InputTypeError(
            f"{what} cannot be read as an array ({reason}). {advice}"
        ) from error


def as_numbers(value: object, what: str, *, advice: str = "Pass numbers.") -> AnyArray:
    """Return real numbers as a NumPy array of a real type, or say `what` must be some; masked is NaN."""
    array = as_array(value, what, advice)
    if array.dtype.kind == "O" and hasattr(value, "to_numpy"):
        array = boxed_numbers(value, array, what)
    if array.dtype.kind not in "biuf":
        got = f"got an array of {array.dtype} values"
        raise InputTypeError(f"{what} must be real numbers, {got}. {advice}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), np.nan, array)
    return array


def boxed_numbers(data: object, raw: AnyArray, what: str) -> AnyArray:
    """Return numbers that a Series or frame has as the objects `raw`; anything else as it is."""
    # Before any conversion, which would read "02139" as a number.
    if any(
        isinstance(value, NO_NUMBERS) and not is_missing(value) for value in raw.ravel()
    ):
        return raw
    try:
        return np.where(missing_in(data), np.nan, raw).astype(np.float64)
    except (TypeError, ValueError):
        return raw
    except OverflowError as error:
        raise NumericalError(
            f"{what} holds an integer beyond 1e308. Rescale it."
        ) from error


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: None, NaN, pandas' NaT and NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.generic, Decimal)) and bool(value != value)


def missing_in(data: object) -> NDArray[np.bool_]:
    for name in ("isna", "is_null"):
        if hasattr(data, name):
            return np.asarray(getattr(data, name)(), dtype=bool)
    array = np.asarray(data)
    if array.dtype.kind in "fcmM":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.ravel()], dtype=bool).reshape(
            array.shape
        )
    return np.zeros(array.shape, dtype=bool)


def as_days(raw: AnyArray) -> FloatArray | None:
    """Return dates as days since 1970-01-01 UTC, NaN where missing; None if `raw` holds other things.

    Dates without a time zone are UTC.
    """
    kinds = {raw.dtype.type} if raw.dtype.kind == "M" else set()
    if raw.dtype.kind == "O":
        kinds = {type(value) for value in raw.ravel() if not is_missing(value)}
    if not kinds or not all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        return None
    if raw.dtype.kind == "O":
        moments = [None if is_missing(value) else _in_utc(value) for value in raw.ravel()]
        raw = np.array(moments, dtype="M8[us]").reshape(raw.shape)
    ticks = raw.astype("M8[us]").astype(np.int64)
    return np.where(np.isnat(raw), np.nan, ticks / 86_400e6)


def _in_utc(value: Any) -> Any:
    zoned = getattr(value, "tzinfo", None) is not None
    return value.astimezone(UTC).replace(tzinfo=None) if zoned else value


def in_a_zone(dtype: str, raw: AnyArray) -> bool:
    """Whether dates have a time zone: by the name of a type of pandas, pyarrow or polars, or each."""
    if raw.dtype.kind == "O":
        return any(getattr(value, "tzinfo", None) is not None for value in raw.ravel())
    return re.search(r"64\[\w+, |tz=|time_zone='", dtype) is not None


@dataclass(frozen=True, eq=False)
class Variables:
    """x or y as it was read, before anything is done about missing values."""

    #: "x" or "y", for messages; and a copy of what the user passed (lists become arrays).
    what: str
    given: Any
    #: The numbers, (n, d): levels of categorical columns by position; NaN is a missing
    #: value.
    values: FloatArray
    columns: tuple[Column, ...]
    #: Whether it is a y of text, which models get as it is.
    labels: bool = False

    def plain(self) -> AnyArray:
        """Return a copy of the numbers, or labels, in the shape the user passed: (n,) stays (n,)."""
        if self.labels:
            labels: AnyArray = np.array(self.columns[0].levels)[
                self.values[:, 0].astype(int)
            ]
            return labels
        one = len(getattr(self.given, "shape", (0, 0))) == 1
        return self.values.reshape(-1 if one else self.values.shape).copy()

    def check_complete(self, advice: str = "") -> None:
        """Raise if any value is infinite, or (with advice on that) missing."""
        if np.isfinite(self.values).all():
            return
        values = (
            self.values if advice else np.where(np.isnan(self.values), 0.0, self.values)
        )
        if isinstance(self.given, np.ndarray) and all(
            c.kind == "numbers" for c in self.columns
        ):
            check_finite(values, self.what, INFINITE if np.isinf(values).any() else advice)
            return
        for column, numbers in zip(self.columns, values.T, strict=True):
            label = f"{self.what} column {column.name!r}"
            if column.kind != "numbers":
                refuse_rows(
                    np.isnan(numbers), f"{label} has missing values", advice, NonFiniteError
                )
            check_finite(numbers, label, INFINITE if np.isinf(numbers).any() else advice)

    def check_categories(self) -> None:
        """Raise if a text column has as many levels as rows, unless they have an order."""
        for column, codes in zip(self.columns, self.values.T, strict=True):
            if column.levels and not column.ordered:
                rows = int(np.count_nonzero(~np.isnan(codes)))
                refuse_identifiers(
                    f"{self.what} column {column.name!r}", column.levels, rows
                )


def refuse_identifiers(label: str, levels: Sequence[str], rows: int) -> None:
    """Raise if a column of so many rows has as many levels: it is no category."""
    if len(levels) <= FEW_ROWS or len(levels) < rows:
        return
    head = f"{label} holds text that is different in all {rows} rows, such as {levels[0]!r}"
    like = "an identifier, or numbers with decimal commas, not a category"
    raise InputError(
        f"{head}: it looks like {like}. Leave it out, or make numbers of it (decimal=',')."
    )


def is_frame(data: object) -> bool:
    # In this order: a LazyFrame of polars warns when asked for its columns.
    return (hasattr(data, "iloc") or hasattr(data, "get_column")) and hasattr(
        data, "columns"
    )


def fresh(data: object) -> Any:
    """Return a copy of the caller's data, so that a function that works in place changes only that."""
    for copy in ("copy", "clone"):
        if hasattr(data, copy):
            return getattr(data, copy)()
    return data


def take_rows(data: Any, rows: IntArray) -> Any:
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


def column_at(frame: Any, i: int) -> Any:
    return (
        frame.iloc[:, i] if hasattr(frame, "iloc") else frame.get_column(frame.columns[i])
    )


def read(data: object, what: str) -> tuple[Any, FloatArray, tuple[Column, ...]]:
    """Read x or y without missing values; `read_table` says what is read, and returned."""
    table = read_table(data, what)
    table.check_complete(DROP)
    return table.given, table.values, table.columns


def read_table(data: Any, what: str, *, text: bool = True) -> Variables:
    """Read x or y (`what`), (n,) or (n, d); with `text`, it may hold dates, strings and categories.

    Without, one column of text is read as labels.
    """
    check_object(data, what)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        lazy = "a polars LazyFrame, which holds no rows yet"
        raise InputTypeError(
            f"{what} is {lazy}. Call .collect() first, once for x and y together."
        )
    if hasattr(data, "to_frame") and not is_frame(
        data
    ):  # a Series is a frame of one column
        table = read_table(data.to_frame(), what, text=text)
        column = table.columns[0]
        named = replace(
            column, name=what if column.name in ("0", "", "None") else column.name
        )
        return replace(table, given=fresh(data), columns=(named,))
    framed = is_frame(data)
    given = fresh(data) if framed else _given_array(data, what, text)
    if len(given.shape) not in (1, 2) or 0 in given.shape:
        wrong = "is empty" if 0 in given.shape else "must have shape (n,) or (n, d)"
        got = given.shape or f"a single {type(data).__name__}"
        raise ShapeError(
            f"{what} {wrong}, got {got}. Pass a row an observation, of a column or more."
        )
    if framed:
        names = [str(name) for name in data.columns]
        parts = [
            (column_at(data, i), f"{what} column {name!r}") for i, name in enumerate(names)
        ]
    else:
        parts = [(part, what) for part in given.reshape(len(given), -1).T]
        names = list(names_of(what, len(parts)))
    if twice := [repr(name) for name in dict.fromkeys(names) if names.count(name) > 1]:
        same = f"two columns of the same name: {', '.join(twice)}"
        raise InputError(f"{what} has {same}. Give each its own name.")
    each, utc = zip(parts, names, strict=True), getattr(data, "utc", ())
    may = "anything" if text else "labels" if len(parts) == 1 else "numbers"
    read = [_read_column(*part, name, may, name in utc) for part, name in each]
    values, columns = zip(*read, strict=True)
    labels = (
        may == "labels" and columns[0].categorical and np.asarray(given).dtype.kind == "O"
    )
    return Variables(what, given, np.column_stack(values), columns, labels)


def _given_array(data: Any, what: str, text: bool) -> AnyArray:
    """Return an array of numbers, dates or labels: a copy, as a model may write into its x."""
    if data is None:
        raise InputTypeError(
            f"{what} is missing (None). Pass an array with one row an observation."
        )
    advice = (
        "Pass an array, equally long rows, or a frame; text columns of x are fine in a"
        " frame."
    )
    raw = as_array(data, what, advice)
    if not text and raw.dtype.kind in "OU" and raw.ndim and raw.size == len(raw):
        return np.array(data, dtype=object)  # so that NaN in a list is no text
    if raw.dtype.kind == "O" and raw.ndim and (not text or isinstance(data, (list, tuple))):
        data = boxed_numbers(raw, raw, what)
    if as_days(raw) is None:
        return np.array(as_numbers(data, what, advice=advice))
    masked = raw.dtype.kind == "M" and isinstance(data, np.ma.MaskedArray)
    return (
        np.where(np.ma.getmaskarray(data), np.datetime64("NaT", "D"), raw)
        if masked
        else raw.copy()
    )


def _read_column(
    series: Any, label: str, name: str, may: str, utc: bool
) -> tuple[FloatArray, Column]:
    dtype = str(series.dtype).lower()
    if dtype.startswith(("datetime64[", "timestamp[")) and hasattr(series, "to_numpy"):
        # Of pandas, which has time zones as objects.
        raw = np.asarray(series.to_numpy(dtype="M8[us]"))
    else:
        raw = as_array(
            series, f"{label} of type {series.dtype}", "Cast it to another type first."
        )
    if raw.ndim != 1:
        raise ShapeError(f"{label} holds arrays, not numbers. Make columns of them.")
    missing = missing_in(series)
    known = raw[~missing]
    categorical = dtype in ("str", "string") or dtype.startswith(
        ("categor", "enum", "string[")
    )
    # Of y, categories that are numbers stay numbers: labels of a classifier, which alone
    # takes them.
    labels = categorical and may != "anything" and raw.dtype.kind in "biuf"
    texts = (
        raw.dtype.kind == "O"
        and len(known) > 0
        and all(isinstance(value, str) for value in known)
    )
    if texts or (categorical and not labels):
        if may == "numbers":
            raise InputTypeError(
                f"{label} holds text or categories, and must be numeric. Pass numbers."
            )
        # Levels of an ordered categorical of pandas, or an Enum of polars, have an order of
        # their own.
        ordered = (
            getattr(series.dtype, "ordered", False) or type(series.dtype).__name__ == "Enum"
        )
        order = (
            list(map(str, series.dtype.categories))
            if ordered and may == "anything"
            else None
        )
        codes, levels = encode(raw, missing, order)
        return codes, Column(name, levels, constant(codes), ordered=order is not None)
    days = as_days(raw)
    if days is not None:
        if may != "anything":
            dates = f"holds dates ({series.dtype}), and must be numeric"
            raise InputTypeError(f"{label} {dates}. Pass numbers of days.")
        return days, Column(
            name, None, constant(days), dates=True, utc=utc or in_a_zone(dtype, raw)
        )
    boolean = raw.dtype.kind == "b"
    if raw.dtype.kind == "O":
        boolean = all(isinstance(value, (bool, np.bool_)) for value in known)
        raw = boxed_numbers(series, raw, label)
    if raw.dtype.kind not in "biuf":
        held = " and ".join(sorted({type(value).__name__ for value in known}))
        neither = f"{series.dtype} ({held}), neither numeric nor text nor dates"
        raise InputTypeError(
            f"{label} is of type {neither}. Turn it into numbers or text first."
        )
    values = np.asarray(raw, dtype=np.float64)
    classes = tuple(map(str, np.unique(known))) if labels else None
    return values, Column(name, classes, constant(values), boolean=boolean)


def names_of(name: str, width: int) -> tuple[str, ...]:
    """Make up names for the columns of an array: x alone, x1 and x2 of two."""
    return (name,) if width == 1 else tuple(f"{name}{i + 1}" for i in range(width))


def encode(
    raw: AnyArray, missing: NDArray[np.bool_], order: list[str] | None = None
) -> tuple[FloatArray, tuple[str, ...]]:
    """Turn text (n,) into positions among its levels, in alphabetical order or the `order` given."""
    known = [str(value) for value in raw[~missing]]
    levels = sorted(set(known), key=None if order is None else order.index)
    places, codes = (
        {level: place for place, level in enumerate(levels)},
        np.full(len(raw), np.nan),
    )
    codes[~missing] = [places[level] for level in known]
    return codes, tuple(levels)


def constant(values: FloatArray) -> bool:
    # The ends first: they nearly always tell, and at once.
    return len(values) > 0 and bool(
        values[0] == values[-1] and values.min() == values.max()
    )


def read_y(y: TableLike) -> Variables:
    """Read y: numbers, or one column of text, which are labels."""
    return read_table(y, "y", text=False)


def held(data: object) -> Any:
    """Return a copy of what a user passed, in its own container; lists and tuples become arrays."""
    known = is_frame(data) or hasattr(data, "to_frame") or hasattr(data, "detach")
    return fresh(data if known else np.asarray(data))


def refill(data: Any, values: AnyArray) -> Any:
    """Put other numbers or labels (n, d) into a container of the user's kind, names and index kept."""
    if is_frame(data):
        parts = {
            n: _typed(values[:, i], column_at(data, i)) for i, n in enumerate(data.columns)
        }
        if not hasattr(data, "iloc"):
            return type(data)(parts)
        return type(data)(parts, index=data.index).set_axis(data.columns, axis=1)
    if hasattr(data, "to_frame"):
        numbers = _typed(values[:, 0], data)
        if hasattr(data, "iloc"):
            return type(data)(numbers, index=data.index, name=data.name)
        return type(data)(data.name, numbers)
    if hasattr(data, "new_tensor"):
        return data.new_tensor(values.reshape(data.shape))
    return _typed(values.reshape(np.shape(data)), data)


def _typed(values: AnyArray, like: Any) -> Any:
    """Return the numbers in the type of the user's, where that holds them; labels in theirs."""
    if values.dtype.kind in "OUS":
        if hasattr(like, "cat"):  # the categories of a column of pandas or polars
            pandas = hasattr(like, "iloc")
            return type(like)(values.tolist(), dtype=like.dtype).array if pandas else values
        return values.astype(np.asarray(like).dtype, copy=False)
    # A nullable type of pandas has one of NumPy's beneath.
    dtype = (
        getattr(getattr(like, "dtype", None), "numpy_dtype", None) or np.asarray(like).dtype
    )
    if dtype.kind not in "iubf":
        return values.copy()
    with np.errstate(invalid="ignore"):
        cast = values.astype(dtype)
    return cast if dtype.kind == "f" or bool((cast == values).all()) else values.copy()
