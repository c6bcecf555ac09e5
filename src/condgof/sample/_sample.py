"""x and y, checked once and frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, ShapeError, check_finite
from condgof.sample._column import Column, encode_levels
from condgof.sample._columns import (
    Variables,
    constant,
    is_frame,
    read,
    read_labels,
    read_table,
    take_rows,
)
from condgof.sample._missing import ADVICE, as_levels, check_option, check_rows, complete_rows
from condgof.sample._numbers import as_array, as_days, as_numbers, unboxed
from condgof.sample._units import XUnits

MIN_ROWS = 3


@dataclass(frozen=True, eq=False)
class Sample:
    """A checked sample of pairs (x_i, y_i).

    Parameters
    ----------
    x : ndarray of shape (n, d_x)
        The covariates as numbers (levels of categorical columns by position); (n, 0) when the
        sample has no x (the unconditional tests).
    y : ndarray of shape (n, d_y)
        The responses.
    x_given : array or frame
        x as the user passed it, which is what a model gets.
    y_given : ndarray of shape (n,) or (n, d_y)
        y in the shape the user passed it, which is what a model gets.
    x_columns, y_columns : tuple of Column
        Names and kinds.
    kept : ndarray of int, shape (n,), optional
        The number of each row in the data that the user passed; None if these are all its rows.
    left_out : int
        How many rows were left out because a value is missing.
    remarks : tuple of str
        What was done about missing values.
    """

    x: FloatArray
    y: FloatArray
    x_given: Any
    y_given: AnyArray
    x_columns: tuple[Column, ...]
    y_columns: tuple[Column, ...]
    kept: IntArray | None = None
    left_out: int = 0
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, x: Any, y: Any, *, to_test: bool = True, discrete: bool = False, missing: str = "refuse"
    ) -> Sample:
        """Check x and y and freeze them.

        Parameters
        ----------
        x : array_like, Series or frame of shape (n,) or (n, d_x)
            The covariates; dates, and text and categories in a frame, are fine.
        y : array_like, Series or frame of shape (n,) or (n, d_y)
            The responses; of pandas objects, x and y must have the same index.
        to_test : bool
            Whether to ask for enough rows that vary, as `ready` does.
        discrete : bool
            Whether y may be the same in all rows.
        missing : {"refuse", "drop", "level"}
            What becomes of missing values (NaN, None, NaT, NA; never infinite ones): an error, the row
            is left out, or missing is a level of its column of x. Then models get x as it is passed.

        Examples
        --------
        >>> sample = Sample.of([0.0, 1.0, 2.0, None], [1, 2, 4, 8], missing="drop")
        >>> sample.n, sample.d_x, sample.d_y, sample.notes()
        (3, 1, 1, ('1 of 4 rows was left out because a value is missing',))
        """
        x_table, y_table = _read_x(x), _read_y(y)
        check_rows(x, y, len(x_table.values), len(y_table.values))
        sample = cls._of(x_table, y_table, missing)
        return sample.ready(discrete=discrete) if to_test else sample

    @classmethod
    def unconditional(cls, y: Any, *, to_test: bool = True, missing: str = "refuse") -> Sample:
        """Check y of an unconditional test and freeze it; options as in `of`."""
        y_table = _read_y(y)
        sample = cls._of(_no_x(len(y_table.values)), y_table, missing)
        return sample.ready() if to_test else sample

    @classmethod
    def _of(cls, x: Variables, y: Variables, missing: str) -> Sample:
        check_option(missing)
        n = len(y.values)
        kept: IntArray | None = None
        remarks: tuple[str, ...] = ()
        if missing != "refuse":
            x.check_infinite()
            y.check_infinite()
        if missing == "drop":
            kept, remarks = complete_rows(x, y)
        if kept is not None:
            # Read again, so that the sample is that of a user who drops the rows first.
            y = _read_y(take_rows(y.given, kept))
            x = _no_x(len(kept)) if x.given is None else _read_x(take_rows(x.given, kept))
        x.check_categories()
        if missing == "level":
            x, remarks = as_levels(x)
        x.check_complete(ADVICE["x"])
        y.check_complete(ADVICE["y"])
        return cls(
            x=_frozen(x.values),
            y=_frozen(y.values),
            x_given=x.given,
            y_given=y.plain(),
            x_columns=x.columns,
            y_columns=y.columns,
            kept=kept,
            left_out=n - len(y.values),
            remarks=remarks,
        )

    def ready(self, *, discrete: bool = False) -> Sample:
        """Return the sample if it has enough rows, and x and (unless `discrete`) y vary; else raise."""
        if self.n < MIN_ROWS:
            lost = f" after {self.left_out} with missing values were left out" if self.left_out else ""
            raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {self.n}{lost}.")
        fixed_x, fixed_y = _constant(self.x, self.x_columns), _constant(self.y, self.y_columns)
        if self.d_x and len(fixed_x) == self.d_x:
            if len(fixed_y) == self.d_y:
                raise InputError(
                    f"All {self.n} rows of (x, y) are equal, so there is nothing to test. "
                    "Pass data that vary."
                )
            raise InputError(
                f"Every column of x is constant ({_names(fixed_x)}), so there is no x to "
                "condition on. Pass a column that varies, or use ksd for an unconditional test."
            )
        if fixed_y and not discrete:
            raise InputError(
                f"y is constant (column {_names(fixed_y)}), and a density of a constant cannot be "
                "tested. Pass a y that varies."
            )
        return self

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def d_x(self) -> int:
        """Number of columns of x."""
        return int(self.x.shape[1])

    @property
    def d_y(self) -> int:
        """Number of columns of y."""
        return int(self.y.shape[1])

    def take(self, rows: IntArray) -> Sample:
        """Return the sample of some rows; which columns are constant stays as in the whole."""
        return replace(
            self,
            x=_frozen(self.x[rows]),
            y=_frozen(self.y[rows]),
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
        return replace(self, y=_frozen(values), y_given=values.reshape(self.y_given.shape).copy())

    def with_numbers(self, y: FloatArray) -> Sample:
        """Return the sample with other numbers for its labels; models still get those as they are."""
        return replace(self, y=_frozen(np.array(y, dtype=np.float64).reshape(len(self.y), -1)))

    def renamed(self, x_names: tuple[str, ...], y_names: tuple[str, ...]) -> Sample:
        """Return the sample with other names for its columns."""
        return replace(
            self,
            x_columns=tuple(
                replace(c, name=name) for c, name in zip(self.x_columns, x_names, strict=True)
            ),
            y_columns=tuple(
                replace(c, name=name) for c, name in zip(self.y_columns, y_names, strict=True)
            ),
        )

    def units(self, scale_x: str) -> XUnits:
        """Return the units in which kernels compare the columns of x."""
        return XUnits.of(self.x, self.x_columns, scale_x)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data."""
        fixed = tuple(column for column in self.x_columns if column.constant)
        if not fixed:
            return self.remarks
        return (*self.remarks, f"left out of the kernel, because constant: {_names(fixed)}")

    def labels(self, points: FloatArray) -> tuple[dict[str, float | str], ...]:
        """Name points (m, d_x) by column, level and date, where there are levels or dates; else ()."""
        if all(column.kind == "numbers" for column in self.x_columns):
            return ()
        return tuple(
            {
                column.name: float(value) if column.kind == "numbers" else column.text(value)
                for column, value in zip(self.x_columns, point, strict=True)
            }
            for point in points
        )

    def locations(self, at: Any, what: str = "at", *, sets: bool = False) -> FloatArray:
        """Read points of x, checked.

        Parameters
        ----------
        at : array_like or frame
            Points of shape (m, d_x), or (m,) when d_x = 1; with ``sets`` also (m, J, d_x).
        what : str
            The name of the argument, for messages.
        sets : bool
            Whether sets of points, (m, J, d_x), are allowed.

        Returns
        -------
        ndarray of shape (m, d_x) or (m, J, d_x)
        """
        if is_frame(at):
            return self._frame_locations(at, what)
        if any(column.categorical for column in self.x_columns):
            raise InputTypeError(
                f"{what} must be a frame with the columns {_names(self.x_columns)}, because x has "
                f"categorical columns; got {type(at).__name__}."
            )
        advice = f"Pass an array of shape (m, {self.d_x})."
        points = None
        if all(column.dates for column in self.x_columns):
            points = as_days(as_array(at, what, advice), what)
        if points is None:
            points = np.array(as_numbers(at, what, advice=advice), dtype=np.float64)
        if points.ndim == 1 and self.d_x == 1:
            points = points[:, None]
        expected = f"(m, {self.d_x})" + (f" or (m, J, {self.d_x})" if sets else "")
        if points.ndim not in ((2, 3) if sets else (2,)) or points.shape[-1] != self.d_x:
            raise ShapeError(f"{what} must have shape {expected}, got {points.shape}.")
        if points.size == 0:
            raise ShapeError(f"{what} holds no location, got shape {points.shape}. Pass at least one.")
        check_finite(points, what, "Pass finite points.")
        return points

    def _frame_locations(self, at: Any, what: str) -> FloatArray:
        if len(at) == 0:
            raise ShapeError(f"{what} holds no location. Pass at least one.")
        _, values, columns = read(at, what, text=True)
        names = [column.name for column in columns]
        if not is_frame(self.x_given):  # an array has no names: by position
            if len(names) != self.d_x:
                raise ShapeError(f"{what} must have {self.d_x} columns, got {len(names)}.")
            names = [column.name for column in self.x_columns]
        parts = []
        for column in self.x_columns:
            if column.name not in names:
                raise InputError(
                    f"{what} lacks the column {column.name!r} of x. It needs {_names(self.x_columns)}."
                )
            i = names.index(column.name)
            if column.kind != columns[i].kind:
                raise InputTypeError(f"{what} column {column.name!r} must hold {column.kind}, as in x.")
            part, levels = values[:, i], columns[i].levels
            if levels is not None:
                part = encode_levels(np.array(levels)[part.astype(int)], column, what)
            parts.append(part)
        return np.column_stack(parts)


def _read_x(x: Any) -> Variables:
    return read_table(unboxed(x) if isinstance(x, (list, tuple)) else x, "x", text=True)


def _no_x(n: int) -> Variables:
    return Variables("x", None, np.empty((n, 0)), ())


def _read_y(y: Any) -> Variables:
    return read_labels(y) or read_table(unboxed(y), "y", text=False)


def _constant(values: FloatArray, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns in which all rows are equal."""
    return tuple(c for c, part in zip(columns, values.T, strict=True) if constant(part))


def _names(columns: tuple[Column, ...]) -> str:
    return ", ".join(repr(column.name) for column in columns)


def _frozen(values: FloatArray) -> FloatArray:
    values.flags.writeable = False
    return values
