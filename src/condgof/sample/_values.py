"""Reading x and y, whatever holds them, into numbers.

Dates become days since 1970-01-01 UTC, text the position of its level, and what is missing
becomes NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
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
from condgof.sample._arrays import (
    BoolArray,
    as_array,
    as_days,
    is_missing,
    missing_in_array,
    objects_have_zone,
)
from condgof.sample._column import Column, Kind
from condgof.sample._containers import fresh, is_flat
from condgof.sample._frames import (
    LARGEST_EXACT_INTEGER,
    RawColumn,
    column_names,
    is_frame,
    is_index,
    is_series,
    raw_columns,
    refuse_lazy_frame,
    refuse_twice,
    series_from,
)
from condgof.sample._limits import LIMITS
from condgof.sample._number_text import NumberText, number_texts

#: What messages advise about rows with missing values.
DROP_ADVICE = "Drop or fill those rows first."
#: What messages advise about infinite values.
INFINITE_ADVICE = (
    "An infinite value is not a missing one, and refused whatever `missing` is: correct it"
    " first."
)
#: Text that is different in every row is an identifier, not a category, if there are more
#: rows than this; in a few rows, categories may all be different by chance.
MAX_DISTINCT_ROWS = 20
#: Objects that Python or pandas would turn into a float, and that are not meant as one.
NOT_NUMBERS = (str, bytes, date, time, timedelta)
#: Names of the only column of a frame that was made of a Series without a name: that is 0
#: in pandas and "" in polars.
UNNAMED = ("0", "", "None")


class Contents(Enum):
    """What a column may hold; all but numbers is refused otherwise."""

    #: Numbers, dates, text and categories: the columns of x.
    ANYTHING = auto()
    #: Numbers, text and categories: a y of one column.
    LABELS = auto()
    #: Numbers: a y of several columns.
    NUMBERS = auto()


def as_numbers(value: object, what: str, *, advice: str = "Pass numbers.") -> AnyArray:
    """Return real numbers as a NumPy array of a real type; masked values become NaN.

    Parameters
    ----------
    value : array_like, frame or column of one, tensor
        Of any shape.
    what : str
        What the value is, for the message that it must be real numbers.
    advice : str
        What to do about it, for the same message.

    Returns
    -------
    array of the same shape
    """
    _refuse_sparse(value, what)
    array = as_array(value, what, advice)
    # Containers of other libraries may hold numbers as objects; arrays of objects are
    # refused.
    if array.dtype.kind == "O" and hasattr(value, "to_numpy"):
        array = unboxed(array, missing_in(value), what)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(
            f"{what} must be real numbers, got an array of {array.dtype} values. {advice}"
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return np.where(np.ma.getmaskarray(value), np.nan, array)
    return array


def _refuse_sparse(value: object, what: str) -> None:
    """Raise if a value is a sparse matrix, which NumPy would take as one object."""
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise InputTypeError(
            f"{what} is a sparse matrix. Pass {what}.toarray(), or the columns that matter."
        )


def unboxed(objects: AnyArray, missing: BoolArray, what: str) -> AnyArray:
    """Return numbers that are held as objects, NaN where missing; anything else as it is.

    Both arrays have the same shape, whatever that is.
    """
    # The classes first: a conversion would read "02139" as a number.
    for value in objects.ravel():
        if isinstance(value, NOT_NUMBERS) and not is_missing(value):
            return objects
    try:
        return np.where(missing, np.nan, objects).astype(np.float64)
    except (TypeError, ValueError):
        return objects
    except OverflowError as error:
        raise NumericalError(
            f"{what} holds an integer beyond 1e308. Rescale it."
        ) from error


def missing_in(data: Any) -> BoolArray:
    """Return where an array, a frame or a column holds a missing value, in its shape."""
    if is_series(data):
        return np.asarray(series_from(data).is_null().to_numpy(), dtype=bool)
    return missing_in_array(np.asarray(data))


@dataclass(frozen=True, eq=False)
class Variables:
    """x or y as it was read, before anything is done about missing values."""

    #: "x" or "y", for messages.
    what: str
    #: A copy of what the user passed; lists have become arrays.
    given: Any
    #: The numbers, (n, d): levels by position, and NaN for a missing value.
    values: FloatArray
    columns: tuple[Column, ...]
    #: Whether it is a y of text, which models get as it is.
    labels: bool = False

    def plain(self) -> AnyArray:
        """Return a copy of the numbers, or of the labels, in the shape the user passed."""
        if self.labels:
            levels = np.array(self.columns[0].levels)
            labels: AnyArray = levels[self.values[:, 0].astype(int)]
            return labels
        shape = (-1,) if is_flat(self.given) else self.values.shape
        return self.values.reshape(shape).copy()

    def check_no_infinite(self) -> None:
        """Raise if any value is infinite; values may be missing."""
        self._refuse_not_finite(np.where(np.isnan(self.values), 0.0, self.values), "")

    def check_complete(self, advice: str) -> None:
        """Raise if any value is infinite or missing; `advice` is on missing ones."""
        self._refuse_not_finite(self.values, advice)

    def _refuse_not_finite(self, values: FloatArray, advice: str) -> None:
        """Raise if any of the values (n, d) is not finite, by an error that names it."""
        if np.isfinite(values).all():
            return
        only_numbers = all(column.kind is Kind.NUMBERS for column in self.columns)
        if isinstance(self.given, np.ndarray) and only_numbers:
            infinite = np.isinf(values).any()
            check_finite(values, self.what, INFINITE_ADVICE if infinite else advice)
            return
        for column, numbers in zip(self.columns, values.T, strict=True):
            label = f"{self.what} column {column.name!r}"
            if column.kind is not Kind.NUMBERS:
                missing = np.isnan(numbers)
                refuse_rows(missing, f"{label} has missing values", advice, NonFiniteError)
            infinite = np.isinf(numbers).any()
            check_finite(numbers, label, INFINITE_ADVICE if infinite else advice)

    def check_categories(self) -> None:
        """Raise if a text column has as many levels as rows, unless they have an order."""
        for column, codes in zip(self.columns, self.values.T, strict=True):
            if column.levels and not column.ordered:
                label = f"{self.what} column {column.name!r}"
                rows = int(np.count_nonzero(~np.isnan(codes)))
                refuse_identifiers(label, column.levels, rows)


def refuse_identifiers(label: str, levels: Sequence[str], rows: int) -> None:
    """Raise if a text column has as many levels as it has rows: it is no category."""
    if len(levels) <= MAX_DISTINCT_ROWS or len(levels) < rows:
        return
    raise InputError(
        f"{label} holds text that is different in all {rows} rows, such as {levels[0]!r}:"
        " it looks like an identifier, not a category. Leave it out."
    )


class Read(NamedTuple):
    """x or y without missing values."""

    #: A copy of what the user passed; lists have become arrays.
    given: Any
    #: The numbers, (n, d).
    values: FloatArray
    columns: tuple[Column, ...]


def read(data: TableLike, what: str) -> Read:
    """Read x or y (`what`), which must have no missing values; see `read_table`."""
    table = read_table(data, what)
    table.check_complete(DROP_ADVICE)
    return Read(table.given, table.values, table.columns)


def read_y(y: TableLike) -> Variables:
    """Read y: numbers, or one column of text, which are labels."""
    return read_table(y, "y", text=False)


def read_table(data: Any, what: str, *, text: bool = True) -> Variables:
    """Read x or y, of shape (n,) or (n, d).

    Parameters
    ----------
    data : array_like, frame, or column of one
    what : str
        "x" or "y", for messages and for names of columns that have none.
    text : bool
        Whether columns may hold dates, text and categories. If not, one column of text is
        read as labels, and all else must be numbers.
    """
    check_object(data, what)
    if is_series(data):
        return _read_series(data, series_from(data).to_frame().to_native(), what, text)
    if is_index(data):
        return _read_series(data, data.to_frame(), what, text)
    if is_frame(data):
        return _read_frame(data, what, text)
    refuse_lazy_frame(data, what)
    return _read_array(data, what, text)


def _read_series(data: Any, frame: Any, what: str, text: bool) -> Variables:
    """Read one column, which is also a `frame` of that column."""
    table = _read_frame(frame, what, text)
    column = table.columns[0]
    name = what if column.name in UNNAMED else column.name
    named = replace(column, name=name)
    return replace(table, given=fresh(data), columns=(named,))


def _read_frame(frame: Any, what: str, text: bool) -> Variables:
    """Read a frame of a library, or our own, column by column."""
    given = fresh(frame)
    _check_shape(given.shape, type(frame), what)
    names = column_names(frame)
    refuse_twice(names, what)
    contents = _allowed(text, len(names))
    values = []
    columns = []
    for name, raw in zip(names, raw_columns(frame, what), strict=True):
        numbers, column = _read_column(raw, f"{what} column {name!r}", name, contents)
        values.append(numbers)
        columns.append(column)
    return _variables(what, given, values, columns, contents)


def _read_array(data: Any, what: str, text: bool) -> Variables:
    """Read an array, or what can be made one, (n,) or (n, d)."""
    given = _as_given_array(data, what, text)
    _check_shape(given.shape, type(data), what)
    parts = given.reshape(len(given), -1).T
    contents = _allowed(text, len(parts))
    values = []
    columns = []
    for name, part in zip(names_of(what, len(parts)), parts, strict=True):
        numbers, column = _read_column(RawColumn.from_array(part), what, name, contents)
        values.append(numbers)
        columns.append(column)
    return _variables(what, given, values, columns, contents)


def _allowed(text: bool, width: int) -> Contents:
    """Return what each of `width` columns may hold; `text` is as in `read_table`."""
    if text:
        return Contents.ANYTHING
    return Contents.LABELS if width == 1 else Contents.NUMBERS


def _check_shape(shape: tuple[int, ...], container: type, what: str) -> None:
    if len(shape) in (1, 2) and 0 not in shape:
        if len(shape) == 2:
            LIMITS.columns.check(shape[1], f"{what} has")
        return
    wrong = "is empty" if 0 in shape else "must have shape (n,) or (n, d)"
    got = shape or f"a single {container.__name__}"
    raise ShapeError(
        f"{what} {wrong}, got {got}. Pass a row an observation, of a column or more."
    )


def _variables(
    what: str,
    given: Any,
    values: list[FloatArray],
    columns: list[Column],
    contents: Contents,
) -> Variables:
    """Put columns that were read, (n,) each, together."""
    # Categories of y that are numbers are read by their numbers, and models get these.
    labels = (
        contents is Contents.LABELS
        and columns[0].categorical
        and np.asarray(given).dtype.kind == "O"
    )
    return Variables(
        what=what,
        given=given,
        values=np.column_stack(values),
        columns=tuple(columns),
        labels=labels,
    )


def _as_given_array(data: Any, what: str, text: bool) -> AnyArray:
    """Return an array of numbers, dates or labels: a copy, as a model may write into x."""
    if data is None:
        raise InputTypeError(
            f"{what} is missing (None). Pass an array with one row an observation."
        )
    advice = (
        "Pass an array, equally long rows, or a frame; text columns of x are fine in a"
        " frame."
    )
    _refuse_sparse(data, what)
    raw = as_array(data, what, advice)
    if not text and raw.dtype.kind in "OU" and raw.ndim and raw.size == len(raw):
        return np.array(data, dtype=object)  # so that NaN in a list does not become text
    may_be_boxed = not text or isinstance(data, (list, tuple))
    if raw.dtype.kind == "O" and raw.ndim and may_be_boxed:
        data = unboxed(raw, missing_in_array(raw), what)
    if as_days(raw) is None:
        return np.array(as_numbers(data, what, advice=advice))
    if raw.dtype.kind == "M" and isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), np.datetime64("NaT", "D"), raw)
    return raw.copy()


class ReadColumn(NamedTuple):
    """A column that was read: its numbers (n,), and what they mean."""

    values: FloatArray
    column: Column


def _read_column(raw: RawColumn, label: str, name: str, contents: Contents) -> ReadColumn:
    """Read a column as levels, as dates or as numbers, whichever its values are.

    Parameters
    ----------
    raw : RawColumn
    label : str
        What messages call the column.
    name : str
        What the user calls it.
    contents : Contents
        What the column may hold; anything else raises.
    """
    if raw.values.ndim != 1:
        raise ShapeError(f"{label} holds arrays, not numbers. Make columns of them.")
    # Of y, categories that are numbers stay numbers: they are labels of a classifier.
    numeric_labels = (
        raw.declared_text
        and contents is not Contents.ANYTHING
        and raw.values.dtype.kind in "biuf"
    )
    if _holds_text(raw) or (raw.declared_text and not numeric_labels):
        return _read_levels(raw, label, name, contents)
    days = as_days(raw.values)
    if days is not None:
        if contents is not Contents.ANYTHING:
            raise InputTypeError(
                f"{label} holds dates ({raw.type_name}), and must be numeric. Pass numbers"
                " of days."
            )
        utc = raw.zoned or objects_have_zone(raw.values)
        column = Column(name, constant=constant(days), dates=True, utc=utc)
        return ReadColumn(days, column)
    return _read_numbers(raw, label, name, numeric_labels)


def _holds_text(raw: RawColumn) -> bool:
    """Whether a column of objects holds text in every row that is not missing."""
    if raw.values.dtype.kind != "O":
        return False
    known = raw.values[~raw.missing]
    return len(known) > 0 and all(isinstance(value, str) for value in known)


def _read_levels(raw: RawColumn, label: str, name: str, contents: Contents) -> ReadColumn:
    """Read a column of text or categories."""
    if contents is Contents.NUMBERS:
        raise InputTypeError(
            f"{label} holds text or categories, and must be numeric. Pass numbers."
        )
    # Labels of y are classes, whatever order they have.
    ordered = raw.ordered if contents is Contents.ANYTHING else None
    if ordered is None:
        _refuse_same_text(raw.values[~raw.missing], label)
        codes, levels = encode(raw.values, raw.missing)
    else:
        _refuse_twice_in_order(ordered.levels, label)
        codes, levels = encode(ordered.names, raw.missing, ordered.levels)
    if contents is Contents.ANYTHING and not raw.declared_category:
        refuse_number_text(codes, levels, label, f"x[{name!r}]")
    column = Column(name, levels, constant(codes), ordered=ordered is not None)
    return ReadColumn(codes, column)


def _refuse_same_text(values: AnyArray, label: str) -> None:
    """Raise if two different values (n,) of a column of categories are the same text."""
    firsts: dict[str, Any] = {}
    for value in values:
        first = firsts.setdefault(str(value), value)
        if type(first) is not type(value) and first != value:
            raise InputError(
                f"{label} has the categories {first!r} and {value!r}, which are the same"
                " as text. Make all categories text, or all numbers."
            )


def _refuse_twice_in_order(levels: Sequence[str], label: str) -> None:
    """Raise if two of the ordered categories are the same text, as '1' and 1 are."""
    twice = [level for level, times in Counter(levels).items() if times > 1]
    if twice:
        raise InputError(
            f"{label} has two categories that are {twice[0]!r} as text. Make all"
            " categories text, or all numbers."
        )


def refuse_number_text(
    codes: FloatArray, levels: Sequence[str], label: str, place: str
) -> None:
    """Raise if a column of text holds numbers or dates: they are no categories.

    Parameters
    ----------
    codes : array, (n,)
        The position of each row's level, NaN where missing.
    levels : sequence of str
        The different values.
    label : str
        What messages call the column.
    place : str
        How the user writes the column, such as "x['age']".
    """
    odd_levels = number_texts(levels)
    if not odd_levels:
        return
    row = int(np.argmax(np.isin(codes, [levels.index(level) for level in odd_levels])))
    odd = NumberText.from_value(levels[int(codes[row])])
    convert = odd.remedy.format(place)
    raise InputTypeError(
        f"{label} is text, and holds {odd.words} in row {row} (counted from 0)."
        f" Text is taken as categories: make numbers or dates of it, such as {convert};"
        f" or, if categories are meant, {place}.astype('category')."
    )


def _read_numbers(raw: RawColumn, label: str, name: str, are_labels: bool) -> ReadColumn:
    """Read a column of numbers; those that are labels keep the classes they name."""
    known = raw.values[~raw.missing]
    values = raw.values
    boolean = values.dtype.kind == "b"
    if values.dtype.kind == "O":
        boolean = all(isinstance(value, (bool, np.bool_)) for value in known)
        values = unboxed(values, raw.missing, label)
    if values.dtype.kind not in "biuf":
        classes = " and ".join(sorted({type(value).__name__ for value in known}))
        raise InputTypeError(
            f"{label} is of type {raw.type_name} ({classes}), neither numeric nor text nor"
            " dates. Turn it into numbers or text first."
        )
    numbers = np.asarray(values, dtype=np.float64)
    if values.dtype.kind in "iu" and known.size:
        _refuse_inexact(values[~raw.missing], label)
    levels = tuple(map(str, np.unique(known))) if are_labels else None
    return ReadColumn(numbers, Column(name, levels, constant(numbers), boolean=boolean))


def _refuse_inexact(values: AnyArray, label: str) -> None:
    """Raise if whole numbers (n,) are so large that doubles cannot tell them apart."""
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if largest < LARGEST_EXACT_INTEGER:
        return
    if len(np.unique(values.astype(np.float64))) < len(np.unique(values)):
        raise InputError(
            f"{label} holds whole numbers up to {largest:,}, which are the same as doubles"
            " from 2^53 on: it looks like an identifier. Leave it out, or make it text."
        )


def names_of(name: str, width: int) -> tuple[str, ...]:
    """Make up names for the columns of an array: x alone, x1 and x2 of two."""
    return (name,) if width == 1 else tuple(f"{name}{i + 1}" for i in range(width))


class Encoded(NamedTuple):
    """Text as numbers."""

    #: The position of each row's level, NaN where missing, (n,).
    codes: FloatArray
    levels: tuple[str, ...]


def encode(
    raw: AnyArray, missing: BoolArray, order: Sequence[str] | None = None
) -> Encoded:
    """Turn text (n,) into positions among its levels.

    Levels are those that occur in rows that are not `missing` (n,). They are in
    alphabetical order, or in that of `order`, which lists all levels that may occur.
    """
    known = [str(value) for value in raw[~missing]]
    levels = sorted(set(known), key=None if order is None else order.index)
    positions = {level: position for position, level in enumerate(levels)}
    codes = np.full(len(raw), np.nan)
    codes[~missing] = [positions[level] for level in known]
    return Encoded(codes, tuple(levels))


def constant(values: FloatArray) -> bool:
    """Whether all of values (n,) are equal."""
    if len(values) == 0 or values[0] != values[-1]:  # the ends nearly always differ
        return False
    return bool(values.min() == values.max())
