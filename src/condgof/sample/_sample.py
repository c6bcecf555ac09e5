"""x and y, checked once and frozen; what becomes of missing values; groups of rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    check_choice,
    check_finite,
    check_object,
    refuse_rows,
)
from condgof.sample import _values as reading
from condgof.sample._column import Column, XUnits, encode_levels
from condgof.sample._values import DROP, Variables, is_frame, read_table, take_rows

MIN_ROWS = 3
#: What to do about missing values of x, or y, which cannot have a level of them.
ADVICE = {
    "x": (
        f"{DROP} Or pass missing='drop', which leaves them out, or missing='level', which"
        " makes missing a level."
    ),
    "y": f"{DROP} Or pass missing='drop', which leaves them out.",
}


@dataclass(frozen=True, eq=False)
class Sample:
    """A checked sample of pairs (x_i, y_i)."""

    #: Numbers, (n, d_x) and (n, d_y): levels by position; x is (n, 0) in unconditional
    #: tests.
    x: FloatArray
    y: FloatArray
    #: x as the user passed it, and y in the shape of the user's, which are what a model
    #: gets.
    x_given: Any
    y_given: AnyArray
    x_columns: tuple[Column, ...]
    y_columns: tuple[Column, ...]
    #: The number of each row in the data that the user passed; None if these are all its
    #: rows.
    kept: IntArray | None = None
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.x.flags.writeable = self.y.flags.writeable = False

    @classmethod
    def of(
        cls, x: TableLike, y: TableLike, *, to_test: bool = True, missing: str = "refuse"
    ) -> Sample:
        """Check x, (n,) or (n, d_x), and y, (n,) or (n, d_y), and freeze them.

        With `to_test`, there must be enough rows that vary, as `ready` asks. `missing` says
        what becomes of missing values: "refuse", "drop" the row, or make them a "level" of
        their column of x.
        """
        x_table, y_table = read_table(x, "x"), reading.read_y(y)
        check_rows(x, y, len(x_table.values), len(y_table.values))
        return cls._of(x_table, y_table, to_test, missing)

    @classmethod
    def unconditional(
        cls, y: TableLike, *, to_test: bool = True, missing: str = "refuse"
    ) -> Sample:
        """Check y of an unconditional test and freeze it; options as in `of`."""
        y_table = reading.read_y(y)
        return cls._of(_no_x(len(y_table.values)), y_table, to_test, missing)

    @classmethod
    def _of(cls, x: Variables, y: Variables, to_test: bool, missing: str) -> Sample:
        check_choice(missing, "missing", ("refuse", "drop", "level"))
        n = len(y.values)
        kept: IntArray | None = None
        remarks: tuple[str, ...] = ()
        if missing != "refuse":
            x.check_complete()
            y.check_complete()
        if missing == "drop":
            complete = ~np.isnan(np.column_stack((x.values, y.values))).any(axis=1)
            lost = n - np.count_nonzero(complete)
            if lost == n:
                none = (
                    f"Each of the {n} rows has a missing value, so that missing='drop'"
                    " leaves none"
                )
                raise ShapeError(
                    f"{none}. Leave out the columns with the most missing values."
                )
            if lost:
                kept, were = np.flatnonzero(complete), "was" if lost == 1 else "were"
                remarks = (
                    f"{lost} of {n} rows {were} left out because a value is missing",
                )
                # Read again, so that the sample is that of a user who drops the rows first.
                y = reading.read_y(take_rows(y.given, kept))
                x = (
                    _no_x(len(kept))
                    if x.given is None
                    else read_table(take_rows(x.given, kept), "x")
                )
        x.check_categories()
        if missing == "level":
            x, remarks = as_levels(x)
        x.check_complete(ADVICE["x"])
        y.check_complete(ADVICE["y"])
        columns, left_out = (x.columns, y.columns), n - len(y.values)
        sample = cls(
            x.values, y.values, x.given, y.plain(), *columns, kept, left_out, remarks
        )
        return sample.ready() if to_test else sample

    def ready(self, *, discrete: bool = False) -> Sample:
        """Return the sample if it has enough rows, and x and (unless `discrete`) y vary; else raise."""
        if self.n < MIN_ROWS:
            lost = (
                f" after {self.left_out} with missing values were left out"
                if self.left_out
                else ""
            )
            raise ShapeError(
                f"The test needs at least {MIN_ROWS} rows, got {self.n}{lost}."
            )
        fixed_x, fixed_y = (
            _constant(self.x, self.x_columns),
            _constant(self.y, self.y_columns),
        )
        if fixed_y and not discrete:
            constant = f"y is constant (column {_names(fixed_y)})"
            raise InputError(
                f"{constant}, and has no density to test. Pass a y that varies."
            )
        if self.d_x and len(fixed_x) == self.d_x:
            constant = f"Every column of x is constant ({_names(fixed_x)})"
            raise InputError(
                f"{constant}. Pass one that varies, or use ksd for an unconditional test."
            )
        return self

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def d_x(self) -> int:
        return int(self.x.shape[1])

    @property
    def d_y(self) -> int:
        return int(self.y.shape[1])

    def take(self, rows: IntArray) -> Sample:
        """Return the sample of some rows; which columns are constant stays as in the whole."""
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            x_given=None if self.x_given is None else take_rows(self.x_given, rows),
            y_given=self.y_given[rows],
            kept=(np.arange(self.n) if self.kept is None else self.kept)[rows],
        )

    def with_y(self, y: AnyArray) -> Sample:
        """Return the sample with other responses, (n,) or (n, d_y), for the same x."""
        y = np.asarray(y)
        if y.dtype.kind in "OUS":  # labels, whose numbers are the model's to say
            return replace(self, y_given=y.reshape(self.y_given.shape))
        values = np.array(y, dtype=np.float64).reshape(self.y.shape)
        check_finite(values, "y", "Check where it comes from.")
        return replace(self, y=values, y_given=values.reshape(self.y_given.shape).copy())

    def with_numbers(self, y: FloatArray) -> Sample:
        """Return the sample with other numbers for its labels; models still get those as they are."""
        return replace(self, y=np.array(y, dtype=np.float64).reshape(len(self.y), -1))

    def units(self, scale_x: str) -> XUnits:
        return XUnits.of(self.x, self.x_columns, scale_x)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data."""
        fixed = tuple(column for column in self.x_columns if column.constant)
        constant = f"left out of the kernel, because constant: {_names(fixed)}"
        return (*self.remarks, constant) if fixed else self.remarks

    def labels(self, points: FloatArray) -> tuple[dict[str, float | str], ...]:
        """Name points (m, d_x) by column, level and date, where there are levels or dates; else ()."""
        if all(column.kind == "numbers" for column in self.x_columns):
            return ()
        return tuple(
            {
                column.name: (
                    float(value) if column.kind == "numbers" else column.text(value)
                )
                for column, value in zip(self.x_columns, point, strict=True)
            }
            for point in points
        )

    def locations(
        self, at: TableLike, what: str = "at", *, sets: bool = False
    ) -> FloatArray:
        """Read points of x, (m, d_x), or (m,) when d_x = 1; with `sets` also (m, J, d_x)."""
        advice, framed = (
            f"Pass an array of shape (m, {self.d_x}), or a frame.",
            is_frame(at),
        )
        shape = reading.as_array(at, what, advice).shape
        if 0 in shape:
            raise ShapeError(
                f"{what} holds no location, got shape {shape}. Pass at least one."
            )
        several = sets and len(shape) == 3
        flat = reading.as_numbers(at, what).reshape(-1, shape[2]) if several else at
        _, values, columns = reading.read(flat, what)
        names = [column.name for column in columns if framed and is_frame(self.x_given)]
        if not names and len(columns) != self.d_x:
            wanted = f"(m, {self.d_x})" + (f" or (m, J, {self.d_x})" if sets else "")
            raise ShapeError(f"{what} must have shape {wanted}, got {shape}.")
        points = np.empty((len(values), self.d_x))
        for k, column in enumerate(self.x_columns):
            if names and column.name not in names:
                needed = _names(self.x_columns)
                raise InputError(
                    f"{what} lacks the column {column.name!r} of x. It needs {needed}."
                )
            i = names.index(column.name) if names else k
            days = column.dates and not framed  # of an array, dates may be numbers of days
            if column.kind != columns[i].kind and not days:
                told = f"{what} column {column.name!r} must hold {column.kind}, as in x"
                raise InputTypeError(
                    f"{told}. Pass a frame with the columns {_names(self.x_columns)}."
                )
            points[:, k], levels = values[:, i], columns[i].levels
            if levels is not None:
                points[:, k] = encode_levels(
                    np.array(levels)[values[:, i].astype(int)], column, what
                )
        return points.reshape(shape) if several else points


def _no_x(n: int) -> Variables:
    return Variables("x", None, np.empty((n, 0)), ())


def _constant(values: FloatArray, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(
        c for c, part in zip(columns, values.T, strict=True) if reading.constant(part)
    )


def _names(columns: tuple[Column, ...]) -> str:
    return ", ".join(repr(column.name) for column in columns)


def check_rows(x: Any, y: Any, n_x: int, n_y: int) -> None:
    """Raise unless x and y have equally many rows and, where both have one, the same index."""
    if n_x != n_y:
        raise ShapeError(
            f"x has {n_x} rows and y has {n_y}. Pass one row of x for each row of y."
        )
    if not (hasattr(x, "iloc") and hasattr(y, "iloc")) or x.index.equals(y.index):
        return
    row = bisect_left(
        range(n_x), 1, key=lambda i: not x.index[: i + 1].equals(y.index[: i + 1])
    )
    labels = x.index[[row]].tolist() + y.index[[row]].tolist()
    told = f"row {row} (counted from 0) is {labels[0]!r} in x and {labels[1]!r} in y"
    advice = (
        "Align them first, y = y.loc[x.index], or pass y.to_numpy() if rows match by"
        " position."
    )
    raise InputError(f"The indices of x and y differ: {told}. {advice}")


def as_levels(table: Variables) -> tuple[Variables, tuple[str, ...]]:
    """Make missing a level of each column that misses values, and say so.

    Numbers and dates are put at the (lower) median of the others, with "no" and "yes"
    beside them.
    """
    parts, columns, notes = [table.values[:, :0]], [], []
    names = [column.name for column in table.columns]
    for column, values in zip(table.columns, table.values.T, strict=True):
        lost, known = np.isnan(values), values[~np.isnan(values)]
        told = (
            f"missing values of {column.name!r} ({np.count_nonzero(lost)} of {len(lost)}"
            " rows) are"
        )
        beside: list[Column] = []
        if lost.any() and column.levels is not None:
            level = _unused("missing", column.levels)
            values = np.where(lost, len(column.levels), values)
            # Missing has no place in an order.
            column = replace(column, levels=(*column.levels, level), ordered=False)
            notes.append(f"{told} a level, {level!r}")
        elif lost.any():
            middle = np.quantile(known, 0.5, method="lower") if len(known) else 0.0
            values = np.where(lost, middle, values)
            beside = [
                Column(
                    _unused(f"{column.name} missing", names), ("no", "yes"), not len(known)
                )
            ]
            place = "its median" if len(known) else "0"
            notes.append(f"{told} put at {place}, and {beside[0].name!r} says where")
        parts += [values] + [lost * 1.0] * len(beside)
        columns += [replace(column, constant=reading.constant(values)), *beside]
    return replace(table, values=np.column_stack(parts), columns=tuple(columns)), tuple(
        notes
    )


def _unused(name: str, taken: Sequence[str]) -> str:
    numbered = (f"{name} {number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def read_groups(
    groups: TableLike,
    data: object,
    n: int,
    kept: IntArray | None = None,
    what: str = "groups",
) -> IntArray:
    """Number the groups of rows (n,) by first appearance, so that only which are together matters.

    A name is that of a column of `data`, what the user passed as x. Only rows `kept` are
    returned.
    """
    if isinstance(groups, str):
        groups, what = _column(groups, data), f"The column {groups!r} (groups=)"
    check_object(groups, what)
    try:
        values = np.asarray(groups)
    except ValueError as error:  # lists of different lengths
        raise ShapeError(
            f"{what} cannot be read as one group for each row: {error}"
        ) from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        wanted = f"have shape ({n},), one group for each row, got {values.shape}"
        raise ShapeError(
            f"{what} must {wanted}. Of several kinds of groups, pass the coarsest."
        )
    missing = reading.missing_in(groups).reshape(n) | reading.missing_in(values)
    if kept is not None:
        missing[np.setdiff1d(np.arange(n), kept)] = False
    refuse_rows(missing, f"{what} has missing values", DROP, NonFiniteError)
    seen: dict[Any, int] = {}
    try:
        chosen = (values if kept is None else values[kept]).tolist()
        return np.array(
            [seen.setdefault(value, len(seen)) for value in chosen], dtype=np.int64
        )
    except TypeError as error:
        raise InputTypeError(
            f"{what} holds values that cannot be told apart: {error}."
        ) from error


def _column(name: str, data: Any) -> Any:
    if hasattr(data, "read_column"):  # a source
        return data.read_column(name)
    told, advice = (
        f"groups={name!r} names a column",
        "Pass an array with the group of each row.",
    )
    if not is_frame(data):
        raise InputTypeError(f"{told}, and x is not a frame (nor a source). {advice}")
    names = [str(column) for column in data.columns]
    if names.count(name) != 1:
        listed = ", ".join(map(repr, names[:10]))
        raise InputError(f"{told} that is not one of x: they are {listed}. {advice}")
    return reading.column_at(data, names.index(name))
