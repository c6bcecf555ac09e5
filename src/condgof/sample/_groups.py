"""Groups of rows, from whatever a user has for them, as numbers from 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    check_object,
    refuse_rows,
)
from condgof.sample._array_source import ArraySource
from condgof.sample._columns import DROP, column_at, is_frame
from condgof.sample._numbers import missing_in
from condgof.sample._source import Source


def read_groups(
    groups: Any, data: Any, n: int, kept: IntArray | None = None, what: str = "groups"
) -> IntArray:
    """Number the groups of rows by first appearance, so that only which rows are together matters.

    Parameters
    ----------
    groups : array_like or Series of shape (n,), or str
        The group of each row: numbers, text, dates. A name is that of a column of `data`.
    data : array, frame or Source
        What the user passed as x (as y, in an unconditional test).
    n : int
        Number of rows.
    kept : ndarray of int, optional
        The rows of which the groups are wanted; None for all.
    what : str
        The name of the argument, for messages.

    Returns
    -------
    ndarray of int, shape (n,), or one for each row that is kept

    Examples
    --------
    >>> read_groups(["b", "a", "b"], None, 3)
    array([0, 1, 0])
    """
    if isinstance(groups, str):
        groups, what = _column(groups, data), f"The column {groups!r} (groups=)"
    check_object(groups, what)
    try:
        values = np.asarray(groups)
    except ValueError as error:  # lists of different lengths
        raise ShapeError(f"{what} cannot be read as one group for each row: {error}") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        raise ShapeError(
            f"{what} must have shape ({n},), one group for each row, got {values.shape}. For several "
            "kinds of groups at once, pass the coarsest."
        )
    missing = missing_in(groups).reshape(n) | missing_in(values)
    if kept is not None:
        missing[np.setdiff1d(np.arange(n), kept)] = False
    refuse_rows(missing, f"{what} has missing values", DROP, NonFiniteError)
    return _numbered(values if kept is None else values[kept], what)


def _column(name: str, data: Any) -> Any:
    if isinstance(data, Source):
        only = Source(data.files, (), (), ()).with_extra(name)
        return np.concatenate([block.extra[name] for block in only.blocks(2**18)])
    if isinstance(data, ArraySource) or not is_frame(data):
        raise InputTypeError(
            f"groups={name!r} names a column, and x is not a frame (nor a source) that has columns. "
            "Pass an array with the group of each row."
        )
    names = [str(column) for column in data.columns]
    if names.count(name) != 1:
        raise InputError(
            f"groups={name!r} is not a column of x. Its columns are {', '.join(map(repr, names[:10]))}. "
            "Or pass an array with the group of each row."
        )
    return column_at(data, names.index(name))


def _numbered(values: AnyArray, what: str) -> IntArray:
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        try:
            listed = [seen.setdefault(value, len(seen)) for value in values]
        except TypeError as error:
            raise InputTypeError(f"{what} holds values that cannot be told apart: {error}.") from error
        return np.array(listed, dtype=np.int64)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[np.argsort(first)] = np.arange(len(first))
    codes: IntArray = numbers[inverse.ravel()]
    return codes
