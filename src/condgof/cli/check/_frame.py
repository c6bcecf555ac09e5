"""A frame that needs no frame library: named columns of numbers and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class Series:
    """One column of numbers, or of strings as objects, with what condgof asks a polars series for."""

    name: str
    values: AnyArray

    @property
    def dtype(self) -> str:
        """``"string"`` for text, which marks a categorical column."""
        return "string" if self.values.dtype.kind == "O" else str(self.values.dtype)

    @property
    def shape(self) -> tuple[int]:
        """(n,)"""
        return (len(self.values),)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __getitem__(self, rows: Any) -> Series:
        return Series(self.name, self.values[rows])

    def is_null(self) -> AnyArray:
        """Return False everywhere: rows with nulls never get here."""
        return np.zeros(len(self.values), dtype=bool)

    def to_frame(self) -> Frame:
        """Return a frame of one column."""
        return Frame({self.name: self.values})

    def clone(self) -> Series:
        """Return the series: nobody writes into its arrays."""
        return self


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns, with the few methods of polars that condgof asks a frame for.

    Parameters
    ----------
    data : mapping of str to ndarray of shape (n,)
        The columns, without missing values; read-only from here on.

    Examples
    --------
    >>> from condgof.sample import Sample
    >>> town = np.array(["a", "b", "a"], dtype=object)
    >>> frame = Frame({"size": np.array([1.0, 2.0, 3.0]), "town": town})
    >>> sample = Sample.of(frame, [1, 2, 4])
    >>> [column.name for column in sample.x_columns], sample.x_columns[1].levels
    (['size', 'town'], ('a', 'b'))
    """

    data: Mapping[str, AnyArray]

    def __post_init__(self) -> None:
        for values in self.data.values():
            values.flags.writeable = False

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self.data)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)"""
        return (len(self), len(self.data))

    def __len__(self) -> int:
        return len(next(iter(self.data.values())))

    def get_column(self, name: str) -> Series:
        """Return a column by its name."""
        return Series(name, self.data[name])

    def to_series(self, index: int) -> Series:
        """Return a column by its position."""
        return self.get_column(self.columns[index])

    def __getitem__(self, rows: Any) -> Frame:
        return Frame({name: values[rows] for name, values in self.data.items()})

    def clone(self) -> Frame:
        """Return the frame: nobody writes into its arrays."""
        return self

    def numbers(self) -> FloatArray:
        """Return all columns as an array of doubles (n, d)."""
        return np.column_stack([np.asarray(values, dtype=np.float64) for values in self.data.values()])
