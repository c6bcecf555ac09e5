"""New numbers in the container that a user's data came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.sample._columns import column_at, fresh, is_frame


def held(data: Any) -> Any:
    """Return a copy of what a user passed, in its own container; lists and tuples become arrays."""
    known = is_frame(data) or hasattr(data, "to_frame") or hasattr(data, "detach")
    return fresh(data if known else np.asarray(data))


def refill(data: Any, values: AnyArray) -> Any:
    """Put other numbers into a container like the user's: kind, shape, names, index and type of number.

    Whole numbers stay whole numbers where the new ones are whole.

    Parameters
    ----------
    data : array, Series, frame or tensor of shape (n,) or (n, d)
        What the user passed.
    values : ndarray of shape (n, d)
        The new numbers, or labels.

    Examples
    --------
    >>> refill(np.array([1, 2]), np.array([[3.0], [4.0]]))
    array([3, 4])
    """
    if is_frame(data):
        names = list(data.columns)
        parts = [_typed(values[:, i], column_at(data, i)) for i in range(len(names))]
        if hasattr(data, "iloc"):
            # By position first: two columns may have the same name.
            frame = type(data)(dict(enumerate(parts)), index=data.index)
            frame.columns = data.columns
            return frame
        return type(data)(dict(zip(names, parts, strict=True)))
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
            return (
                type(like)(values.tolist(), dtype=like.dtype).array if hasattr(like, "iloc") else values
            )
        return values.astype(np.asarray(like).dtype, copy=False)
    # A nullable type of pandas has one of NumPy's beneath.
    dtype = getattr(getattr(like, "dtype", None), "numpy_dtype", None) or np.asarray(like).dtype
    if dtype.kind == "f":
        return values.astype(dtype)
    whole = dtype.kind in "iub" and bool((values == np.rint(values)).all())
    if whole and bool((values.astype(dtype) == values).all()):
        return values.astype(dtype)
    return values.copy()
