"""Samples in Dask arrays: read chunk by chunk, by global row number.

Dask is not imported here: its arrays are told by what they can do, and NumPy's `asarray` computes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.sample._columns import DROP
from condgof.sample._sample import MIN_ROWS
from condgof.sample._source import Block, Names


def is_lazy(data: Any) -> bool:
    """Whether `data` is a Dask array."""
    return all(hasattr(data, name) for name in ("__dask_graph__", "chunks", "rechunk", "blocks"))


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A sample in arrays that are computed chunk by chunk, with the interface of `Source`.

    Parameters
    ----------
    arrays : dict of str to array of shape (n, d)
        "y", "x" unless the sample is unconditional, and what the model asks for; Dask arrays of the
        same row chunks, or (on a worker) one chunk of each as NumPy arrays.
    offset : int
        Global number of the first row.
    """

    arrays: dict[str, Any]
    offset: int = 0

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> ArraySource:
        """Check Dask arrays of shape (n,) or (n, d) and give them the row chunks of y."""
        for name, array in arrays.items():
            if not is_lazy(array):
                raise InputTypeError(
                    f"{name} is {type(array).__name__} where other arrays are Dask arrays. "
                    "Pass Dask arrays throughout, or none."
                )
        rows, ready = arrays["y"].chunks[0], {}
        for name, array in arrays.items():
            if array.ndim not in (1, 2):
                raise ShapeError(f"{name} must have shape (n,) or (n, d), got {array.shape}.")
            if not all(np.isfinite(array.shape)):
                raise ShapeError(
                    f"The chunks of {name} are of unknown size. Call its compute_chunk_sizes() first."
                )
            if array.dtype.kind not in "biuf":
                raise InputTypeError(f"{name} must hold real numbers, got {array.dtype}.")
            if array.shape[0] != sum(rows):
                raise ShapeError(f"{name} has {array.shape[0]} rows and y has {sum(rows)}.")
            table = array[:, None] if array.ndim == 1 else array
            ready[name] = table.rechunk({0: rows, 1: -1})
        if sum(rows) < MIN_ROWS:
            raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {sum(rows)}.")
        return cls(ready)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.arrays["y"].shape[0])

    @property
    def d_x(self) -> int:
        """Number of columns of x."""
        return int(self.arrays["x"].shape[1]) if "x" in self.arrays else 0

    @property
    def d_y(self) -> int:
        """Number of columns of y."""
        return int(self.arrays["y"].shape[1])

    @property
    def x_names(self) -> tuple[str, ...]:
        """Made-up names of the columns of x."""
        return names_of("x", self.d_x)

    @property
    def y_names(self) -> tuple[str, ...]:
        """Made-up names of the columns of y."""
        return names_of("y", self.d_y)

    def with_extra(self, names: Names) -> ArraySource:
        """Return the same source: what a model asks for is there, or cannot be had."""
        known = {one for name in self.arrays for one in names_of(name, self.arrays[name].shape[1])}
        for name in (names,) if isinstance(names, str) else names:
            if name not in known:
                raise InputError(
                    f"Dask arrays have no column {name!r}. Pass the model's scores, or a tuple "
                    "(mean, std), as Dask arrays."
                )
        return self

    @property
    def cuts(self) -> tuple[int, ...]:
        """Global number of the first row of each chunk, and of the row after the last."""
        y = self.arrays["y"]
        chunks = y.chunks[0] if is_lazy(y) else (len(y),)
        return tuple(int(cut) + self.offset for cut in np.cumsum((0, *chunks)))

    def chunk(self, start: int) -> tuple[Any, ...]:
        """Return the chunk that starts at a global row, of each array, as it is."""
        number = self.cuts.index(start)
        return tuple(array.blocks[number] for array in self.arrays.values())

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Compute rows in order, in blocks of exactly `size` rows (the last may be smaller).

        Parameters
        ----------
        size : int
            Rows in a block.
        start, stop : int, optional
            The global rows, all by default.

        Yields
        ------
        Block
            Each chunk is computed once; what is left of it goes into the next block.
        """
        stop = self.offset + self.n if stop is None else stop
        begin, held = start, {name: np.empty((0, a.shape[1])) for name, a in self.arrays.items()}
        for first, last in pairwise(self.cuts):
            rows = slice(max(first, start) - self.offset, min(last, stop) - self.offset)
            if rows.start >= rows.stop:
                continue
            for name, array in self.arrays.items():
                held[name] = np.concatenate([held[name], np.asarray(array[rows], dtype=np.float64)])
            while len(held["y"]) >= size:
                yield self._block(np.arange(begin, begin + size), {k: v[:size] for k, v in held.items()})
                begin, held = begin + size, {name: values[size:] for name, values in held.items()}
        if len(held["y"]):
            yield self._block(np.arange(begin, begin + len(held["y"])), held)

    def block_range(self, start: int, stop: int) -> Block:
        """Compute the global rows from `start` up to, not including, `stop`."""
        return next(self.blocks(stop - start, start, stop))

    def take(self, rows: IntArray) -> Block:
        """Compute some rows, given by their sorted global numbers."""
        taken = {
            name: np.asarray(array[rows - self.offset], dtype=np.float64)
            for name, array in self.arrays.items()
        }
        return self._block(rows, taken)

    def _block(self, rows: IntArray, tables: dict[str, FloatArray]) -> Block:
        for name, table in tables.items():
            bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
            if len(bad):
                raise NonFiniteError(
                    f"{name} is NaN or infinite in row {rows[bad[0]]} (counted from 0). {DROP}",
                    count=len(bad),
                    first_row=int(rows[bad[0]]),
                )
        x = np.ascontiguousarray(tables.get("x", np.empty((len(rows), 0))))
        extra = {
            one: column
            for name, table in tables.items()
            if name not in ("x", "y")
            for one, column in zip(names_of(name, table.shape[1]), table.T, strict=True)
        }
        return Block(int(rows[0]), x, np.ascontiguousarray(tables["y"]), extra)


def names_of(name: str, width: int) -> tuple[str, ...]:
    """Make up names for the columns of an array.

    Examples
    --------
    >>> names_of("x", 1), names_of("y", 2)
    (('x',), ('y1', 'y2'))
    """
    return (name,) if width == 1 else tuple(f"{name}{i + 1}" for i in range(width))
