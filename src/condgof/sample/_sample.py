"""x and y, checked once and frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NumericalError, ShapeError, check_finite
from condgof.sample._columns import Column, encode_levels, is_frame, read, take_rows
from condgof.sample._labels import read_labels
from condgof.sample._numbers import as_numbers, unboxed

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
    """

    x: FloatArray
    y: FloatArray
    x_given: Any
    y_given: AnyArray
    x_columns: tuple[Column, ...]
    y_columns: tuple[Column, ...]

    @classmethod
    def of(cls, x: Any, y: Any, *, to_test: bool = True, discrete: bool = False) -> Sample:
        """Check x and y and freeze them; `to_test` asks for enough rows that vary.

        A `discrete` y may be the same in all rows.

        Examples
        --------
        >>> sample = Sample.of([0.0, 1.0, 2.0], [1, 2, 4])
        >>> sample.n, sample.d_x, sample.d_y
        (3, 1, 1)
        """
        x_given, x_values, x_columns = read(x, "x", text=True)
        y_given, y_values, y_columns = _read_y(y)
        if len(x_values) != len(y_values):
            raise ShapeError(
                f"x has {len(x_values)} rows and y has {len(y_values)}. "
                "Pass one row of x for each row of y."
            )
        sample = cls(_frozen(x_values), _frozen(y_values), x_given, y_given, x_columns, y_columns)
        if not to_test:
            return sample
        _check_rows(len(y_values))
        if all(column.constant for column in x_columns + y_columns):
            raise InputError(
                f"All {len(y_values)} rows of (x, y) are equal, so there is nothing to test. "
                "Pass data that vary."
            )
        if all(column.constant for column in x_columns):
            raise InputError(
                f"Every column of x is constant ({_names(x_columns)}), so there is no x to "
                "condition on. Pass a column that varies, or use ksd for an unconditional test."
            )
        if not discrete:
            _check_constant_y(y_columns)
        return sample

    @classmethod
    def unconditional(cls, y: Any, *, to_test: bool = True) -> Sample:
        """Check y of an unconditional test and freeze it."""
        y_given, y_values, y_columns = _read_y(y)
        if to_test:
            _check_rows(len(y_values))
            _check_constant_y(y_columns)
        empty = np.empty((len(y_values), 0))
        return cls(_frozen(empty), _frozen(y_values), None, y_given, (), y_columns)

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
            x_columns=tuple(map(_rename, self.x_columns, x_names)),
            y_columns=tuple(map(_rename, self.y_columns, y_names)),
        )

    def scales(self, scale_x: str) -> FloatArray:
        """Return what each column of x is divided by before the kernel sees it, (d_x,)."""
        if not isinstance(scale_x, str) or scale_x not in ("none", "std"):
            raise InputError(f"scale_x must be 'none' or 'std', got {scale_x!r}.")
        scales = np.ones(self.d_x)
        if scale_x == "std":
            for i, column in enumerate(self.x_columns):
                if not column.categorical and not column.constant:
                    with np.errstate(over="ignore", invalid="ignore"):
                        scales[i] = self.x[:, i].std(ddof=1)
            if not (np.isfinite(scales).all() and (scales > 0).all()):
                raise NumericalError("The standard deviation of a column of x overflows. Rescale x.")
        return scales

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about the data."""
        constant = [column for column in self.x_columns if column.constant]
        if not constant:
            return ()
        return (f"left out of the kernel, because constant: {_names(tuple(constant))}",)

    def labels(self, points: FloatArray) -> tuple[dict[str, float | str], ...]:
        """Name points (m, d_x) by column and level, where there are categorical columns; else ()."""
        if not any(column.categorical for column in self.x_columns):
            return ()
        return tuple(
            {
                column.name: float(value) if column.levels is None else column.levels[int(value)]
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
        points = as_numbers(at, what, advice=f"Pass an array of shape (m, {self.d_x}).")
        points = np.array(points, dtype=np.float64)
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
        if len(set(names)) < len(names):
            raise InputError(f"{what} has two columns of the same name: {_names(columns)}.")
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
            levels = columns[i].levels
            if column.categorical != (levels is not None):
                kind = "text" if column.categorical else "numbers"
                raise InputTypeError(f"{what} column {column.name!r} must hold {kind}, as in x.")
            part = values[:, i]
            if levels is not None:
                part = encode_levels(np.array(levels)[part.astype(int)], column, what)
            parts.append(part)
        return np.column_stack(parts)


def _read_y(y: Any) -> tuple[AnyArray, FloatArray, tuple[Column, ...]]:
    labels = read_labels(y)
    if labels is not None:
        return labels.given, labels.codes, (labels.column,)
    given, values, columns = read(unboxed(y), "y", text=False)
    # Models get y as plain numbers, in the user's own shape: (n,) stays (n,).
    shape = (len(values),) if len(getattr(given, "shape", (0, 0))) == 1 else values.shape
    return values.reshape(shape).copy(), values, columns


def _check_rows(n: int) -> None:
    if n < MIN_ROWS:
        raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {n}.")


def _check_constant_y(columns: tuple[Column, ...]) -> None:
    constant = tuple(column for column in columns if column.constant)
    if constant:
        raise InputError(
            f"y is constant (column {_names(constant)}), and a density of a constant cannot be "
            "tested. Pass a y that varies."
        )


def _rename(column: Column, name: str) -> Column:
    return replace(column, name=name)


def _names(columns: tuple[Column, ...]) -> str:
    return ", ".join(repr(column.name) for column in columns)


def _frozen(values: FloatArray) -> FloatArray:
    values.flags.writeable = False
    return values
