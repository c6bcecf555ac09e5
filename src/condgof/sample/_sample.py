"""x and y, checked once and frozen; what becomes of missing values; groups of rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    by_asker,
    check_choice,
    check_finite,
    check_object,
    option,
    option_name,
    refuse_rows,
)
from condgof.sample._arrays import as_array, missing_in_array
from condgof.sample._column import Column, Kind, XUnits, encode_levels
from condgof.sample._containers import take_rows
from condgof.sample._content import KeyArray, content_keys
from condgof.sample._frames import (
    FrameOrigin,
    column_names,
    is_frame,
    is_series,
    native_column,
    row_labels,
)
from condgof.sample._values import (
    DROP_ADVICE,
    Variables,
    as_numbers,
    constant,
    missing_in,
    read,
    read_table,
    read_y,
)
from condgof.sample._weights import (
    RowWeights,
    effective_rows,
    normalized,
    weights_remark,
    zero_weights_remark,
)

#: The fewest rows that a test takes.
MIN_ROWS = 3
#: How many columns of x a message lists, where a column of groups is not one of them.
LISTED_COLUMNS = 10


def missing_advice(*, may_be_level: bool) -> str:
    """Return what to do about missing values, of x or of y: y has no level for them."""
    level = by_asker(
        python=", or missing='level', which makes missing a level", command_line=""
    )
    drop = f"{DROP_ADVICE} Or pass {option('missing', repr('drop'))}, which leaves them out"
    return f"{drop}{level if may_be_level else ''}."


@dataclass(frozen=True, eq=False)
class Sample:
    """A checked sample of pairs (x_i, y_i)."""

    #: The numbers of x, (n, d_x), of levels their positions; (n, 0) in unconditional tests.
    x: FloatArray
    #: The numbers of y, (n, d_y).
    y: FloatArray
    #: x as the user passed it, which is what a model gets; None in unconditional tests.
    x_given: Any
    #: y in the shape that the user passed, (n,) or (n, d_y), which is what a model gets.
    y_given: AnyArray
    x_columns: tuple[Column, ...]
    y_columns: tuple[Column, ...]
    #: The number of each row in the data that the user passed, (n,); None if these are all
    #: of their rows.
    kept: IntArray | None = None
    #: How many rows were left out because a value is missing, or their weight is 0.
    left_out: int = 0
    #: How many of these have weight 0.
    zero_weights: int = 0
    #: What was done about missing values, for the notes of a result.
    remarks: tuple[str, ...] = ()
    #: Whose frame x (or y, if x is none) came in, and the labels of all rows there.
    origin: FrameOrigin = field(default_factory=FrameOrigin)
    #: Weights of the rows, (n,), of mean 1 over the rows that the user passed; None where
    #: all are equal.
    weights: FloatArray | None = None

    @cached_property
    def content_keys(self) -> KeyArray:
        """A hash of the values that each row has in the columns of x that vary, (n,)."""
        varying = [i for i, column in enumerate(self.x_columns) if not column.constant]
        return content_keys(self.x, varying)

    def __post_init__(self) -> None:
        self.x.flags.writeable = False
        self.y.flags.writeable = False

    @classmethod
    def from_data(
        cls,
        x: TableLike,
        y: TableLike,
        *,
        to_test: bool = True,
        missing: str = "refuse",
        weights: TableLike | None = None,
    ) -> Sample:
        """Check x and y of the same rows, and freeze them.

        Parameters
        ----------
        x : array_like or frame, (n,) or (n, d_x)
        y : array_like or frame, (n,) or (n, d_y)
        to_test : bool
            Whether there must be enough rows that vary, as `ready` asks.
        missing : {"refuse", "drop", "level"}
            What becomes of missing values: an error, the row is left out, or they become a
            level of their column of x.
        weights : array_like, (n,), or str, optional
            Weights of the rows, or the name of a column of x. Rows of weight 0 are left
            out.

        Examples
        --------
        >>> from condgof.sample import Sample
        >>> sample = Sample.from_data([1, None, 3, 4], [0.5, 1.5, 2.0, 1.0], missing="drop")
        >>> sample.n, sample.kept.tolist()
        (3, [0, 2, 3])
        """
        x_table = read_table(x, "x")
        y_table = read_y(y)
        check_rows(x, y, len(x_table.values), len(y_table.values))
        n = len(y_table.values)
        row_weights = None
        if weights is not None:
            labels = FrameOrigin.from_sample(x, y).labels
            row_weights = read_weights(weights, x, n, labels)
        return cls._from_variables(x_table, y_table, to_test, missing, row_weights)

    @classmethod
    def unconditional(
        cls,
        y: TableLike,
        *,
        to_test: bool = True,
        missing: str = "refuse",
        weights: TableLike | None = None,
    ) -> Sample:
        """Check y of an unconditional test and freeze it; options as in `from_data`."""
        y_table = read_y(y)
        n = len(y_table.values)
        row_weights = None
        if weights is not None:
            row_weights = read_weights(weights, y, n)
        return cls._from_variables(_no_x(n), y_table, to_test, missing, row_weights)

    @classmethod
    def _from_variables(
        cls,
        x: Variables,
        y: Variables,
        to_test: bool,
        missing: str,
        row_weights: RowWeights | None = None,
    ) -> Sample:
        """Do about missing values what `missing` says, and freeze what is left.

        Rows of weight 0 are left out first.
        """
        check_choice(missing, "missing", ("refuse", "drop", "level"))
        passed = len(y.values)
        origin = FrameOrigin.from_sample(x.given, y.given)
        weights = None
        kept: IntArray | None = None
        remarks: tuple[str, ...] = ()
        if row_weights is not None:
            weights = row_weights.values
        if row_weights is not None and row_weights.kept is not None:
            counted = row_weights.kept
            x = _no_x(len(counted)) if x.given is None else _read_x(x.given, counted)
            y = read_y(take_rows(y.given, counted))
        n = len(y.values)
        if missing != "refuse":
            x.check_no_infinite()
            y.check_no_infinite()
        if missing == "drop":
            kept = _complete_rows(x, y)
        if kept is not None:
            lost = n - len(kept)
            were = "was" if lost == 1 else "were"
            remarks = (f"{lost} of {n} rows {were} left out because a value is missing",)
            # Read again, so that the sample is that of a user who drops the rows first.
            y = read_y(take_rows(y.given, kept))
            x = _no_x(len(kept)) if x.given is None else _read_x(x.given, kept)
            weights = None if weights is None else normalized(weights[kept])
        x.check_categories()
        if missing == "level":
            x, remarks = missing_as_levels(x)
        if row_weights is not None and row_weights.kept is not None:
            counted = row_weights.kept
            kept = counted if kept is None else counted[kept]
            remarks = (zero_weights_remark(passed - n, passed), *remarks)
        if weights is not None:
            remarks = (*remarks, weights_remark(weights))
        x.check_complete(missing_advice(may_be_level=True))
        y.check_complete(missing_advice(may_be_level=False))
        sample = cls(
            x=x.values,
            y=y.values,
            x_given=x.given,
            y_given=y.plain(),
            x_columns=x.columns,
            y_columns=y.columns,
            kept=kept,
            left_out=passed - len(y.values),
            zero_weights=passed - n,
            remarks=remarks,
            origin=origin,
            weights=weights,
        )
        return sample.ready() if to_test else sample

    def ready(self, *, discrete: bool = False) -> Sample:
        """Return the sample if it can be tested, else raise.

        It needs enough rows, and x and (unless `discrete`) y that vary.
        """
        if self.n < MIN_ROWS:
            lost = ""
            if self.left_out:
                which = "" if self.zero_weights else " with missing values"
                lost = f" after {self.left_out}{which} were left out"
            raise ShapeError(
                f"The test needs at least {MIN_ROWS} rows, got {self.n}{lost}."
            )
        constant_x = _constant_columns(self.x, self.x_columns)
        constant_y = _constant_columns(self.y, self.y_columns)
        if constant_y and not discrete:
            raise InputError(
                f"y is constant (column {_listed(constant_y)}), and has no density to test."
                " Pass a y that varies."
            )
        if self.d_x and len(constant_x) == self.d_x:
            raise InputError(
                f"Every column of x is constant ({_listed(constant_x)}). Pass one that"
                " varies, or use ksd for an unconditional test."
            )
        return self

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def effective_rows(self) -> float:
        """(Σw)²/Σw²: as many equally weighted rows would tell as much."""
        return float(self.n) if self.weights is None else effective_rows(self.weights)

    @property
    def d_x(self) -> int:
        return int(self.x.shape[1])

    @property
    def d_y(self) -> int:
        return int(self.y.shape[1])

    def take(self, rows: IntArray) -> Sample:
        """Return the sample of some rows.

        Which columns are said to be constant stays as in the whole.
        """
        numbers = np.arange(self.n) if self.kept is None else self.kept
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            x_given=None if self.x_given is None else take_rows(self.x_given, rows),
            y_given=self.y_given[rows],
            kept=numbers[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def with_y(self, y: AnyArray) -> Sample:
        """Return the sample with other responses, (n,) or (n, d_y), for the same x."""
        y = np.asarray(y)
        if y.dtype.kind in "OUS":  # labels, whose numbers are for the model to say
            return replace(self, y_given=y.reshape(self.y_given.shape))
        values = np.array(y, dtype=np.float64).reshape(self.y.shape)
        check_finite(values, "y", "Check where it comes from.")
        return replace(self, y=values, y_given=values.reshape(self.y_given.shape).copy())

    def with_numbers(self, y: FloatArray) -> Sample:
        """Return the sample with other numbers (n, d_y) for y; models get y as before."""
        return replace(self, y=np.array(y, dtype=np.float64).reshape(len(self.y), -1))

    def units(self, scale_x: str) -> XUnits:
        """Return the units in which kernels compare x; see `XUnits.from_rows`."""
        return XUnits.from_rows(self.x, self.x_columns, scale_x)

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the result should know about the data."""
        constant_x = tuple(column for column in self.x_columns if column.constant)
        if not constant_x:
            return self.remarks
        note = f"left out of the kernel, because constant: {_listed(constant_x)}"
        return (*self.remarks, note)

    def labels(self, points: FloatArray) -> tuple[dict[str, float | str], ...]:
        """Name points of x, (m, d_x), by column; () where there are but numbers in x."""
        if all(column.kind is Kind.NUMBERS for column in self.x_columns):
            return ()
        return tuple(self._label(point) for point in points)

    def _label(self, point: FloatArray) -> dict[str, float | str]:
        label: dict[str, float | str] = {}
        for column, value in zip(self.x_columns, point, strict=True):
            is_number = column.kind is Kind.NUMBERS
            label[column.name] = float(value) if is_number else column.text(value)
        return label

    def locations(
        self, at: TableLike, what: str = "at", *, sets: bool = False
    ) -> FloatArray:
        """Read points of x, whose levels and dates become the numbers that x has for them.

        Parameters
        ----------
        at : array_like or frame, (m, d_x), or (m,) when d_x = 1
            Columns of a frame are found by name where x is a frame, too.
        what : str
            What messages call the points.
        sets : bool
            Whether sets of J points are taken as well: an array (m, J, d_x).

        Returns
        -------
        array, (m, d_x) or (m, J, d_x)
        """
        advice = f"Pass an array of shape (m, {self.d_x}), or a frame."
        shape = as_array(at, what, advice).shape
        if 0 in shape:
            raise ShapeError(
                f"{what} holds no location, got shape {shape}. Pass at least one."
            )
        are_sets = sets and len(shape) == 3
        flat = as_numbers(at, what).reshape(-1, shape[2]) if are_sets else at
        _, values, columns = read(flat, what)
        by_name = is_frame(at) and is_frame(self.x_given)
        if not by_name and len(columns) != self.d_x:
            wanted = f"(m, {self.d_x})" + (f" or (m, J, {self.d_x})" if sets else "")
            raise ShapeError(f"{what} must have shape {wanted}, got {shape}.")
        names = [column.name for column in columns]
        points = np.empty((len(values), self.d_x))
        for k, column in enumerate(self.x_columns):
            if by_name and column.name not in names:
                raise InputError(
                    f"{what} lacks the column {column.name!r} of x. It needs"
                    f" {_listed(self.x_columns)}."
                )
            i = names.index(column.name) if by_name else k
            # In an array, dates may be numbers of days.
            days = column.dates and not is_frame(at)
            if column.kind != columns[i].kind and not days:
                raise InputTypeError(
                    f"{what} column {column.name!r} must hold {column.kind}, as in x. Pass"
                    f" a frame with the columns {_listed(self.x_columns)}."
                )
            if columns[i].levels is None:
                points[:, k] = values[:, i]
            else:
                points[:, k] = encode_levels(columns[i].decode(values[:, i]), column, what)
        return points.reshape(shape) if are_sets else points


def _no_x(n: int) -> Variables:
    """Return the x of an unconditional test: n rows without columns."""
    return Variables(what="x", given=None, values=np.empty((n, 0)), columns=())


def _read_x(given: Any, rows: IntArray) -> Variables:
    """Read rows of x as the user passed it."""
    return read_table(take_rows(given, rows), "x")


def _complete_rows(x: Variables, y: Variables) -> IntArray | None:
    """Return the numbers of the rows without a missing value; None if these are all."""
    n = len(y.values)
    missing = np.isnan(np.column_stack((x.values, y.values))).any(axis=1)
    if missing.all():
        raise ShapeError(
            f"Each of the {n} rows has a missing value, so that"
            f" {option('missing', repr('drop'))} leaves none. Leave out the columns with"
            " the most missing values."
        )
    return np.flatnonzero(~missing) if missing.any() else None


def _constant_columns(
    values: FloatArray, columns: tuple[Column, ...]
) -> tuple[Column, ...]:
    """Return the columns whose values, (n,) of (n, d), are all equal."""
    pairs = zip(columns, values.T, strict=True)
    return tuple(column for column, part in pairs if constant(part))


def _listed(columns: tuple[Column, ...]) -> str:
    return ", ".join(repr(column.name) for column in columns)


def check_rows(x: Any, y: Any, n_x: int, n_y: int) -> None:
    """Raise unless x and y have equally many rows and, where both have one, one index."""
    if n_x != n_y:
        raise ShapeError(
            f"x has {n_x} rows and y has {n_y}. Pass one row of x for each row of y."
        )
    labels_x = row_labels(x)
    labels_y = row_labels(y)
    if labels_x is None or labels_y is None or labels_x.equals(labels_y):
        return

    def differ_up_to(row: int) -> bool:
        return not labels_x[: row + 1].equals(labels_y[: row + 1])

    # The first row whose labels differ, by bisection: indices compare fast as a whole.
    row = bisect_left(range(n_x), True, key=differ_up_to)
    (label_x,) = labels_x[[row]].tolist()
    (label_y,) = labels_y[[row]].tolist()
    raise InputError(
        f"The indices of x and y differ: row {row} (counted from 0) is {label_x!r} in x and"
        f" {label_y!r} in y. Align them first, y = y.loc[x.index], or pass y.to_numpy() if"
        " rows match by position."
    )


class Filled(NamedTuple):
    """x without missing values, and what was put in their place."""

    table: Variables
    remarks: tuple[str, ...]


def missing_as_levels(table: Variables) -> Filled:
    """Make missing a level of each column of x that misses values.

    Missing text becomes one more level of its column. Missing numbers and dates are put at
    the (lower) median of the others, and one more column of x, with the levels "no" and
    "yes", says in which rows.
    """
    names = [column.name for column in table.columns]
    parts: list[FloatArray] = []
    columns: list[Column] = []
    remarks: list[str] = []
    for column, values in zip(table.columns, table.values.T, strict=True):
        missing = np.isnan(values)
        if not missing.any():
            parts.append(values)
            columns.append(replace(column, constant=constant(values)))
            continue
        rows = f"{np.count_nonzero(missing)} of {len(missing)} rows"
        subject = f"missing values of {column.name!r} ({rows}) are"
        if column.levels is not None:
            level = _unused_name("missing", column.levels)
            filled = np.where(missing, len(column.levels), values)
            parts.append(filled)
            columns.append(
                replace(
                    column,
                    levels=(*column.levels, level),
                    ordered=False,  # missing has no place in an order
                    constant=constant(filled),
                )
            )
            remarks.append(f"{subject} a level, {level!r}")
            continue
        known = values[~missing]
        middle = np.quantile(known, 0.5, method="lower") if len(known) else 0.0
        filled = np.where(missing, middle, values)
        indicator = Column(
            name=_unused_name(f"{column.name} missing", names),
            levels=("no", "yes"),
            constant=len(known) == 0,
        )
        parts += [filled, missing.astype(np.float64)]
        columns += [replace(column, constant=constant(filled)), indicator]
        place = "its median" if len(known) else "0"
        remarks.append(f"{subject} put at {place}, and {indicator.name!r} says where")
    values = np.column_stack(parts) if parts else table.values
    filled_table = replace(table, values=values, columns=tuple(columns))
    return Filled(filled_table, tuple(remarks))


def _unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, or it with the first number from 2 on that makes it a new one."""
    if name not in taken:
        return name
    numbered = (f"{name} {number}" for number in count(2))
    return next(each for each in numbered if each not in taken)


def read_groups(
    groups: TableLike,
    data: object,
    n: int,
    kept: IntArray | None = None,
    what: str = "groups",
    labels: Any = None,
) -> IntArray:
    """Number the groups of rows by first appearance: only which rows are together matters.

    Parameters
    ----------
    groups : array_like, (n,) or (n, 1), or str
        The group of each row, or the name of a column of `data`.
    data : frame, Source or anything else
        What the user passed as x.
    n : int
        How many rows the user passed.
    kept : array of int, (m,), optional
        The rows to return, of which alone groups must be known; all by default.
    what : str
        What messages call the groups.
    labels : Index, optional
        The labels of all rows that the user passed; those of `data` unless given.

    Returns
    -------
    array of int, (m,)
    """
    if isinstance(groups, str):
        what = f"The column {groups!r} ({option('groups')})"
        groups = column_by_name(groups, data, "groups")
    else:
        if labels is None:
            labels = FrameOrigin.from_data(data).labels
        groups = align_rows(groups, labels, what)
    check_object(groups, what)
    values = label_array(groups, what)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        raise ShapeError(
            f"{what} must have shape ({n},), one group for each row, got {values.shape}. Of"
            " several kinds of groups, pass the coarsest."
        )
    missing = missing_in_array(values)
    if is_series(groups):
        missing |= missing_in(groups).reshape(n)
    if isinstance(groups, np.ma.MaskedArray):
        missing |= np.ma.getmaskarray(groups).reshape(n)
    if kept is not None:
        missing[np.setdiff1d(np.arange(n), kept)] = False
        values = values[kept]
    refuse_rows(missing, f"{what} has missing values", DROP_ADVICE, NonFiniteError)
    numbers: dict[Any, int] = {}
    try:
        codes = [numbers.setdefault(value, len(numbers)) for value in values.tolist()]
    except TypeError as error:
        raise InputTypeError(
            f"{what} holds values that cannot be told apart: {error}."
        ) from error
    return np.array(codes, dtype=np.int64)


def read_weights(weights: Any, data: object, n: int, labels: Any = None) -> RowWeights:
    """Read the weights of all rows that the user passed.

    Parameters
    ----------
    weights : array_like, (n,) or (n, 1), or str
        The weight of each row, or the name of a column of `data`.
    data : frame, Source or anything else
        What the user passed as x.
    n : int
        How many rows the user passed.
    labels : Index, optional
        The labels of these rows; those of `data` unless given.

    Examples
    --------
    >>> read = read_weights([2.0, 0.0, 6.0], data=None, n=3)
    >>> read.values.tolist(), read.kept.tolist()
    ([0.5, 1.5], [0, 2])
    """
    what = option_name("weights")
    if isinstance(weights, str):
        what = f"The column {weights!r} ({option('weights')})"
        weights = column_by_name(weights, data, "weights")
    else:
        if labels is None:
            labels = FrameOrigin.from_data(data).labels
        weights = align_rows(weights, labels, what)
    check_object(weights, what)
    if hasattr(weights, "compute"):  # a Dask array: a number a row fits into memory
        weights = weights.compute()
    advice = "Pass one number for each row."
    values = np.asarray(as_numbers(weights, what, advice=advice), dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        raise ShapeError(
            f"{what} must have shape ({n},), one number for each row, got {values.shape}."
        )
    return RowWeights.from_values(values, what)


def label_array(labels: Any, what: str) -> AnyArray:
    """Return labels of rows as an array, whatever holds them."""
    try:
        return as_array(labels, what, "Pass one label for each row.")
    except InputTypeError as error:
        if hasattr(labels, "to_list"):  # integers of 128 bits, which NumPy lacks
            return np.array(labels.to_list(), dtype=object)
        raise ShapeError(str(error)) from error


def align_rows(values: Any, labels: Any, what: str) -> Any:
    """Put a column or a frame in the order of the rows of x, by the labels of its rows.

    Parameters
    ----------
    values : Series, DataFrame or anything else
        Of pandas or modin, with an index of its own; anything else is in the order of x.
    labels : Index, optional
        The index of the rows that the user brought as x; None where rows have no labels.
    what : str
        What messages call the values.

    Returns
    -------
    The same, in the order of `labels`.

    Examples
    --------
    >>> import pandas as pd
    >>> from condgof.sample import align_rows
    >>> town = pd.Series(["Oslo", "Rome"], index=["b", "a"])
    >>> list(align_rows(town, pd.Index(["a", "b"]), "by"))
    ['Rome', 'Oslo']
    """
    check_object(values, what)
    index = getattr(values, "index", None)
    if labels is None or index is None or not hasattr(values, "reindex"):
        return values
    if len(index) != len(labels) or index.equals(labels):
        return values  # another length is another error
    if not (index.is_unique and labels.is_unique and index.isin(labels).all()):
        raise InputError(
            f"{what} has another index than x, and its rows cannot be matched by it: labels"
            " must be unique, and the same in both. If its rows are in the order of x, pass"
            f" its values, {what}=….to_numpy()."
        )
    return values.reindex(labels)


def column_by_name(name: str, data: Any, role: str) -> Any:
    """Return the column of x, a frame or a source, that an option of rows names."""
    if hasattr(data, "read_column"):  # a source
        return data.read_column(name)
    advice = "Pass an array with one value for each row."
    if not is_frame(data):
        raise InputTypeError(
            f"{option(role, repr(name))} names a column, and x is not a frame (nor a"
            f" source). {advice}"
        )
    names = column_names(data)
    if names.count(name) != 1:
        listed = ", ".join(map(repr, names[:LISTED_COLUMNS]))
        raise InputError(
            f"{option(role, repr(name))} names a column that is not one of x: they are"
            f" {listed}. {advice}"
        )
    return native_column(data, names.index(name))
