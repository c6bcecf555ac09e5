"""What the user brought, in its own container: copies, rows of it, new values in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.sample._frames import (
    Frame,
    frame_from,
    is_frame,
    is_index,
    is_series,
    native_column,
    series_from,
)

if TYPE_CHECKING:
    from narwhals import Series


def fresh(data: object) -> Any:
    """Return a copy of the caller's data, for a function that may work in place.

    Data that cannot be copied (tables of pyarrow, functions) are returned as they are.
    """
    for copy in ("copy", "clone"):
        if hasattr(data, copy):
            return getattr(data, copy)()
    return data


def hold(data: object) -> Any:
    """Return a copy of the user's data in its own container; lists become arrays."""
    own_container = (
        is_frame(data) or is_series(data) or is_index(data) or hasattr(data, "detach")
    )
    return fresh(data if own_container else np.asarray(data))


def is_flat(data: Any) -> bool:
    """Whether data is of shape (n,), as one column is, rather than (n, d)."""
    if hasattr(data, "shape"):
        return len(data.shape) == 1
    return is_series(data)  # a ChunkedArray of pyarrow has no shape


def take_rows(data: Any, rows: IntArray) -> Any:
    """Return rows of an array, a frame or a column, by position, in the same container."""
    if isinstance(data, Frame):
        return data[rows]
    if is_frame(data):
        return frame_from(data)[rows].to_native()
    if is_series(data):
        return series_from(data)[rows].to_native()
    return data[rows]


def refill(data: Any, values: AnyArray) -> Any:
    """Put other values into a container of the user's kind, its names and index kept.

    Parameters
    ----------
    data : array, tensor, frame or column of one, of n rows and d columns
        The container, which stays as it is.
    values : array, (n, d)
        Numbers, which get the type of the column where that holds them; or labels.

    Returns
    -------
    of the type and shape of `data`, of an index an array
    """
    if isinstance(data, Frame):
        parts = enumerate(data.columns)
        return Frame(
            {n: _in_type_of(native_column(data, i), values[:, i]) for i, n in parts}
        )
    if is_frame(data):
        frame = frame_from(data)
        columns = enumerate(frame.iter_columns())
        refilled = [_refill_series(column, values[:, i]) for i, column in columns]
        return frame.with_columns(*refilled).to_native()
    if is_series(data):
        return _refill_series(series_from(data), values[:, 0]).to_native()
    if hasattr(data, "new_tensor"):
        return data.new_tensor(values.reshape(data.shape))
    return _in_type_of(data, values.reshape(np.shape(data)))


def _refill_series(series: Series[Any], values: AnyArray) -> Series[Any]:
    """Return a column of the same library, name and index with other values (n,)."""
    import narwhals.stable.v2 as nw

    native = series.to_native()
    are_labels = values.dtype.kind in "OUS"
    if not series.implementation.is_pandas_like():
        typed = values if are_labels else _in_type_of(native, values)
        library = series.implementation.to_native_namespace()
        return nw.new_series(series.name, typed, backend=library)
    if are_labels and isinstance(series.dtype, (nw.Categorical, nw.Enum)):
        # The user's type has all categories, also those that no value has.
        column = type(native)(values.tolist(), dtype=native.dtype, index=native.index)
    else:
        column = type(native)(_in_type_of(native, values), index=native.index)
    return series_from(column.rename(native.name))


def _in_type_of(like: Any, values: AnyArray) -> AnyArray:
    """Return numbers in the NumPy type of `like` if that holds them; labels in theirs."""
    if values.dtype.kind in "OUS":
        return values.astype(np.asarray(like).dtype, copy=False)
    # A nullable type of pandas names the NumPy type that it extends.
    nullable = getattr(getattr(like, "dtype", None), "numpy_dtype", None)
    dtype = nullable or np.asarray(like).dtype
    if dtype.kind not in "iubf":
        return values.copy()
    with np.errstate(invalid="ignore"):
        cast = values.astype(dtype)
    exact = dtype.kind == "f" or bool((cast == values).all())
    return cast if exact else values.copy()
