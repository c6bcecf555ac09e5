"""A y of text labels, for models of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputTypeError
from condgof.sample._columns import Column, encode, is_frame


@dataclass(frozen=True, eq=False)
class Labels:
    """Text labels of one column.

    Parameters
    ----------
    given : ndarray of str, shape (n,)
        The labels, which is what a model gets.
    codes : ndarray of shape (n, 1)
        Their positions among the levels, in alphabetical order.
    column : Column
        Name and levels.
    """

    given: AnyArray
    codes: FloatArray
    column: Column


def read_labels(y: Any) -> Labels | None:
    """Read a y that holds text: strings, or a category column of strings; None for any other.

    Examples
    --------
    >>> read_labels(["b", "a", "b"]).codes[:, 0], read_labels([1, 2]) is None
    (array([1., 0., 1.]), True)
    """
    name = "y"
    series = y
    if is_frame(y):
        if len(y.columns) != 1:
            return None
        name, series = str(next(iter(y.columns))), y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series(0)
    elif getattr(y, "name", None) not in (None, "", 0):
        name = str(y.name)
    elif not isinstance(y, (list, tuple, np.ndarray)) and not any(
        hasattr(y, name) for name in ("to_frame", "isna")
    ):
        return None
    raw = _one_column(series)
    if raw is None:
        return None
    missing = _missing(series, raw)
    text = np.array([isinstance(value, str) for value in raw], dtype=bool)
    if not text.any():
        return None
    if not (text | missing).all():
        row = int(np.argmin(text | missing))
        raise InputTypeError(
            f"y column {name!r} holds text, and {raw[row]!r} in row {row} (counted from 0). Make text, "
            "or numbers, of all of them."
        )
    codes, levels = encode(raw, missing, f"y column {name!r}")
    column = Column(name, levels, len(levels) == 1)
    return Labels(np.array([str(value) for value in raw]), codes[:, None], column)


def _one_column(series: Any) -> AnyArray | None:
    """Return what may be text as an array of shape (n,), or None."""
    try:
        raw = np.asarray(series)
    except Exception:  # whatever an object's __array__ may raise; reading numbers will say it
        return None
    if raw.dtype.kind not in "OU" or not raw.size or raw.ndim > 2 or raw.size != len(raw):
        return None
    return raw.reshape(-1)


def _missing(series: Any, raw: AnyArray) -> NDArray[np.bool_]:
    for name in ("isna", "is_null"):
        if hasattr(series, name):
            return np.asarray(getattr(series, name)(), dtype=bool)
    return np.array([v is None or (isinstance(v, float) and v != v) for v in raw], dtype=bool)
