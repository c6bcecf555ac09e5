"""Frames of pandas, polars, pyarrow and modin, all of them read and built through narwhals.

This is the one module that knows frame libraries. narwhals is imported when the first
object arrives that may be a frame, so that ``import condgof`` does not wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.errors import InputError, InputTypeError, MissingPackageError, require
from condgof.sample._arrays import BoolArray, as_array, missing_in_array
from condgof.sample._column import Column, Kind

if TYPE_CHECKING:
    from narwhals import DataFrame, Implementation, Series

#: Classes that are certainly no frame of a library: of these narwhals is not asked, so that
#: it need not be imported for arrays and lists.
NEVER_FRAMES = (np.ndarray, np.generic, list, tuple, dict, str, int, float, type(None))
#: Whole numbers below this bound are exact as floats, and given back as integers.
LARGEST_EXACT_INTEGER = 2.0**53


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns in memory, without any frame library.

    Columns hold numbers, dates (``datetime64``), or text as objects.

    Parameters
    ----------
    data : mapping of names to arrays (n,)
        The columns, without missing values; read-only from here on.
    flat : bool
        Whether the one column is meant as (n,), as a Series is.
    utc : set of names
        The columns of dates that had a time zone.
    categorical : set of names
        The columns of text that are categories, whatever their text looks like.
    """

    data: Mapping[str, AnyArray]
    flat: bool = False
    utc: frozenset[str] = frozenset()
    categorical: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for values in self.data.values():
            values.flags.writeable = False

    @property
    def columns(self) -> list[str]:
        return list(self.data)

    @property
    def name(self) -> str:
        """The first of the names, which is that of a flat frame's one column."""
        return next(iter(self.data))

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),) if self.flat else (len(self), len(self.data))

    def __len__(self) -> int:
        return len(self.data[self.name])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        values = np.column_stack(list(self.data.values())).reshape(self.shape)
        return np.asarray(values, dtype=dtype)

    def __getitem__(self, rows: Any) -> Frame:
        data = {name: values[rows] for name, values in self.data.items()}
        return replace(self, data=data)

    def get_column(self, name: str) -> AnyArray:
        return self.data[name]

    def pandas(self) -> Any:
        """Return a frame of pandas, or this one where pandas is not installed."""
        try:
            frame = require("pandas", "frames", "A frame").DataFrame(dict(self.data))
        except MissingPackageError:
            return self
        for name in self.utc:
            frame[name] = frame[name].dt.tz_localize("UTC")
        for name in self.categorical:
            frame[name] = frame[name].astype("category")
        return frame


def is_frame(data: object) -> bool:
    """Whether `data` is a table in memory: a frame that narwhals knows, or our own."""
    if isinstance(data, Frame):
        return True
    if isinstance(data, NEVER_FRAMES):
        return False
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(data)


def is_series(data: object) -> bool:
    """Whether `data` is one column that narwhals knows; a `pandas.Index` is none."""
    if isinstance(data, (*NEVER_FRAMES, Frame)):
        return False
    from narwhals.dependencies import is_into_series

    return is_into_series(data)


def is_index(data: object) -> bool:
    """Whether `data` is an index of pandas, or of a library with the same interface."""
    if isinstance(data, (*NEVER_FRAMES, Frame)):
        return False
    from narwhals.dependencies import is_pandas_like_index

    return is_pandas_like_index(data)


def refuse_lazy_frame(data: Any, what: str) -> None:
    """Raise if `data`, which is no frame, is one whose rows have not been computed yet."""
    if isinstance(data, NEVER_FRAMES):
        return
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return
    if frame.implementation.is_polars():
        raise InputTypeError(
            f"{what} is a polars LazyFrame, which holds no rows yet. Call .collect() first,"
            " once for x and y together."
        )
    raise InputTypeError(
        f"{what} is a lazy {type(data).__name__}, which holds no rows yet. Compute it"
        " first, once for x and y together."
    )


def series_from(data: Any) -> Series[Any]:
    """Return a column of a frame library as narwhals' Series."""
    import narwhals.stable.v2 as nw

    series: Series[Any] = nw.from_native(data, series_only=True)
    return series


def frame_from(data: Any) -> DataFrame[Any]:
    """Return a frame of a frame library as narwhals' DataFrame."""
    import narwhals.stable.v2 as nw

    refuse_twice(column_names(data), "A frame")
    frame: DataFrame[Any] = nw.from_native(data, eager_only=True)
    return frame


def column_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns as text, two of which may be the same.

    narwhals refuses frames with such names, and does not say which they are as we do.
    """
    if isinstance(frame, Frame):
        return frame.columns
    from narwhals.dependencies import is_pyarrow_table

    names = frame.column_names if is_pyarrow_table(frame) else frame.columns
    return [str(name) for name in names]


def refuse_twice(names: list[str], what: str) -> None:
    """Raise if two columns have the same name."""
    twice = [repr(name) for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{what} has two columns of the same name: {', '.join(twice)}. Give each its"
            " own name."
        )


def native_column(frame: Any, position: int) -> Any:
    """Return a column of a frame, by its position, as the library's own Series."""
    if isinstance(frame, Frame):
        return frame.get_column(frame.columns[position])
    return frame_from(frame)[:, position].to_native()


def row_labels(data: object) -> Any:
    """Return the index of a frame or column of pandas or modin; None for all other data."""
    if not is_series(data) and (isinstance(data, Frame) or not is_frame(data)):
        return None
    import narwhals.stable.v2 as nw

    return nw.maybe_get_index(nw.from_native(data, eager_only=True, allow_series=True))


class OrderedCategories(NamedTuple):
    """Categories that have an order, as text."""

    #: All categories of the type in their order, also those that no row has.
    levels: tuple[str, ...]
    #: The category of each row, one of `levels`, (n,). In missing rows it means nothing.
    names: AnyArray


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it lies in memory, before anything is read into its values."""

    #: The values, (n,), of any type. What a missing row holds means nothing.
    values: AnyArray
    #: Which rows are missing, (n,). NaN among floats need not be counted.
    missing: BoolArray
    #: What the user's library calls the type of the column, for messages.
    type_name: str
    #: Whether the type says that the column holds text or categories. Objects that turn
    #: out to be text are told by their values.
    declared_text: bool = False
    #: Whether the type says that the column holds categories: of these, text that looks
    #: like numbers is meant as text.
    declared_category: bool = False
    #: The categories of a type that gives them an order; None for any other type.
    ordered: OrderedCategories | None = None
    #: Whether the type says that these are dates with a time zone. Objects have zones of
    #: their own: see `objects_have_zone`.
    zoned: bool = False

    @classmethod
    def from_array(
        cls, values: AnyArray, *, zoned: bool = False, category: bool = False
    ) -> RawColumn:
        """Describe a column (n,) of an array or of a `Frame`."""
        return cls(
            values=values,
            missing=missing_in_array(values),
            type_name=str(values.dtype),
            declared_category=category,
            zoned=zoned,
        )

    @classmethod
    def from_series(cls, series: Series[Any], label: str) -> RawColumn:
        """Describe a column of a frame library; `label` names it if it cannot be read."""
        native = series.to_native()
        pandas_like = series.implementation.is_pandas_like()
        type_name = str(native.dtype if hasattr(native, "dtype") else native.type)
        if pandas_like and issubclass(native.dtype.type, (datetime, np.datetime64)):
            # NumPy would get objects of times with a time zone, and narwhals does not
            # know the types of most zones: datetime64[ns, America/New_York] is Unknown.
            values = np.asarray(native.to_numpy(dtype="M8[us]"))
            zoned = native.dt.tz is not None
        else:
            what = f"{label} of type {type_name}"
            values = as_array(native, what, "Cast it to another type first.")
            zoned = getattr(series.dtype, "time_zone", None) is not None
        return cls(
            values=values,
            missing=np.asarray(series.is_null().to_numpy(), dtype=bool),
            type_name=type_name,
            declared_text=_declares_text(series),
            declared_category=_declares_category(series),
            ordered=_ordered_categories(series, values),
            zoned=zoned,
        )


def raw_columns(frame: Any, what: str) -> Iterator[RawColumn]:
    """Yield the columns of a frame in their order; `what` is "x" or "y", for messages."""
    if isinstance(frame, Frame):
        for name, values in frame.data.items():
            yield RawColumn.from_array(
                values, zoned=name in frame.utc, category=name in frame.categorical
            )
        return
    columns = frame_from(frame).iter_columns()
    for name, series in zip(column_names(frame), columns, strict=True):
        yield RawColumn.from_series(series, f"{what} column {name!r}")


def _declares_text(series: Series[Any]) -> bool:
    """Whether the type of a column, whatever its values, is one of text or categories."""
    import narwhals.stable.v2 as nw

    # Of a pandas column of objects, narwhals looks at the first hundred values only.
    if getattr(series.to_native(), "dtype", None) == np.dtype(object):
        return False
    return isinstance(series.dtype, (nw.String, nw.Categorical, nw.Enum))


def _declares_category(series: Series[Any]) -> bool:
    """Whether the type of a column says that it holds categories, not any text."""
    import narwhals.stable.v2 as nw

    return isinstance(series.dtype, (nw.Categorical, nw.Enum))


def _ordered_categories(series: Series[Any], values: AnyArray) -> OrderedCategories | None:
    """Return the categories of a column whose type gives them an order, else None.

    `values` (n,) are those of the column as NumPy has them. Where a row is missing, these
    are floats if categories are integers ("2.0" for 2), so that pandas and pyarrow, whose
    categories may be numbers, are asked for the category of each row instead.
    """
    import narwhals.stable.v2 as nw

    native = series.to_native()
    if isinstance(series.dtype, nw.Enum):
        levels = tuple(map(str, series.dtype.categories))
        if not series.implementation.is_pandas_like():
            return OrderedCategories(levels, values)
        codes = np.asarray(native.cat.codes)  # −1 where missing
        return OrderedCategories(levels, np.array([*levels, ""], dtype=object)[codes])
    # narwhals has no Enum of pyarrow's, whose dictionaries say whether they are ordered.
    if series.implementation.is_pyarrow() and isinstance(series.dtype, nw.Categorical):
        if not native.type.ordered:
            return None
        levels = tuple(map(str, series.cat.get_categories().to_list()))
        names = np.array([str(value) for value in native.to_pylist()], dtype=object)
        return OrderedCategories(levels, names)
    return None


class CodedColumn(NamedTuple):
    """A column as a `Sample` has it: what its numbers mean, and the numbers (n,)."""

    column: Column
    values: AnyArray


@dataclass(frozen=True, eq=False)
class FrameOrigin:
    """The library whose frame the user brought, and the labels of that frame's rows.

    With both, what condgof says about rows can be given back as a frame of the same
    library, under the same labels: see `build`.
    """

    #: The library, None for arrays, lists and our own frames.
    library: Implementation | None = None
    #: The index of all rows that the user brought, of pandas or modin; None where rows
    #: have only their order.
    labels: Any = None

    @classmethod
    def from_data(cls, data: Any) -> FrameOrigin:
        """Remember where x or y comes from: a frame, a column of one, or anything else."""
        if isinstance(data, Frame) or not (is_frame(data) or is_series(data)):
            return cls()
        import narwhals.stable.v2 as nw

        table = nw.from_native(data, eager_only=True, allow_series=True)
        return cls(library=table.implementation, labels=nw.maybe_get_index(table))

    @classmethod
    def from_sample(cls, x: Any, y: Any) -> FrameOrigin:
        """Remember whose frame x is, or y where x is none; labels come from either."""
        origins = [cls.from_data(x), cls.from_data(y)]
        libraries = [one.library for one in origins if one.library is not None]
        labels = [one.labels for one in origins if one.labels is not None]
        return cls(
            library=libraries[0] if libraries else None,
            labels=labels[0] if labels else None,
        )

    def build(self, columns: Mapping[str, CodedColumn], rows: IntArray) -> Any:
        """Return a frame of the user's library with these columns.

        Text comes back as text, levels with an order as categories with that order
        (``Enum`` of polars, ordered dictionaries of pyarrow), dates in UTC without a time
        zone, and numbers that are all whole as integers. Where the user brought no frame,
        it is one of pandas.

        Parameters
        ----------
        columns : mapping of names to (column, values (m,))
            The columns in their order; values are numbers, of levels positions.
        rows : array of int, (m,)
            The number of each row in the data that the user brought. Frames of pandas and
            modin get the labels of these rows as their index, or the numbers themselves
            where the user's rows have no labels.

        Returns
        -------
        DataFrame of pandas, polars or modin, or Table of pyarrow

        Examples
        --------
        >>> import numpy as np, polars as pl
        >>> from condgof.sample import CodedColumn, Column, FrameOrigin
        >>> origin = FrameOrigin.from_data(pl.DataFrame({"town": ["Rome", "Oslo"]}))
        >>> town = CodedColumn(Column("town", ("Oslo", "Rome")), np.array([1.0, 0.0]))
        >>> origin.build({"town": town}, rows=np.arange(2))["town"].to_list()
        ['Rome', 'Oslo']
        """
        import narwhals.stable.v2 as nw

        library = nw.Implementation.PANDAS if self.library is None else self.library
        if not library.is_pandas_like():
            return _build(columns, library)
        require("pandas", "frames", "A frame of the rows")
        # modin warns of columns that it is given one by one, and takes a whole frame.
        frame = _build(columns, nw.Implementation.PANDAS)
        frame = frame.set_axis(rows if self.labels is None else self.labels[rows])
        if library is nw.Implementation.PANDAS:
            return frame
        return library.to_native_namespace().DataFrame(frame)


def _build(columns: Mapping[str, CodedColumn], library: Implementation) -> Any:
    """Return a frame of a library with the columns that `FrameOrigin.build` describes."""
    import narwhals.stable.v2 as nw

    parts = {
        name: _native_values(column, values, library)
        for name, (column, values) in columns.items()
    }
    return nw.from_dict(parts, backend=library.to_native_namespace()).to_native()


def _native_values(column: Column, values: AnyArray, library: Implementation) -> Any:
    """Return a column of numbers (n,) as what a library puts into a frame."""
    import narwhals.stable.v2 as nw

    decoded = column.decode(values)
    if column.levels is not None and column.ordered:
        module: Any = library.to_native_namespace()
        if library.is_pyarrow():
            # narwhals cannot make these of pyarrow; see `_ordered_categories`.
            codes = module.array(values.astype(np.int32))
            texts = module.array(column.levels, type=module.string())
            return module.DictionaryArray.from_arrays(codes, texts, ordered=True)
        dtype = nw.Enum(column.levels)
        return nw.new_series(column.name, decoded, dtype, backend=module).to_native()
    if column.kind is Kind.NUMBERS and not column.boolean and _are_whole(decoded):
        return decoded.astype(np.int64)
    return decoded


def _are_whole(values: AnyArray) -> bool:
    """Whether numbers are all whole, and so small that they are exact as floats."""
    small = np.all(np.abs(values) < LARGEST_EXACT_INTEGER)
    return bool(small and np.all(values == np.floor(values)))
