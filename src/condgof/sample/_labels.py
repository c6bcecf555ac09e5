"""A y of text labels, for models of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputTypeError
from condgof.sample._column import Column
from condgof.sample._columns import Table, encode, fresh, is_frame
from condgof.sample._numbers import missing_in


class Labels(Table):
    """A y of text labels, which models get as they are."""

    def plain(self) -> AnyArray:
        """Return the label of each row."""
        labels: AnyArray = np.array(self.columns[0].levels)[self.values[:, 0].astype(int)]
        return labels


def read_labels(y: Any) -> Labels | None:
    """Read a y that holds text: strings, or a category column of strings; None for any other.

    Examples
    --------
    >>> read_labels(["b", "a", "b"]).values[:, 0], read_labels([1, 2]) is None
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
    missing = missing_in(raw if isinstance(y, (list, tuple)) else series).reshape(-1)
    text = np.array([isinstance(value, str) for value in raw], dtype=bool)
    if not text.any():
        return None
    if not (text | missing).all():
        row = int(np.argmin(text | missing))
        raise InputTypeError(
            f"y column {name!r} holds text, and {raw[row]!r} in row {row} (counted from 0). Make text, "
            "or numbers, of all of them."
        )
    codes, levels = encode(raw, missing)
    given = fresh(y) if is_frame(y) or hasattr(y, "to_frame") else raw.copy()
    return Labels("y", given, codes[:, None], (Column(name, levels, len(levels) == 1),))


def _one_column(series: Any) -> AnyArray | None:
    """Return what may be text as an array of shape (n,), or None."""
    try:
        raw = np.asarray(series)
    except Exception:  # whatever an object's __array__ may raise; reading numbers will say it
        return None
    if raw.dtype.kind == "U" and isinstance(series, (list, tuple)):
        raw = np.asarray(series, dtype=object)  # NumPy makes a text of NaN
    if raw.dtype.kind not in "OU" or not raw.size or raw.ndim > 2 or raw.size != len(raw):
        return None
    return raw.reshape(-1)
