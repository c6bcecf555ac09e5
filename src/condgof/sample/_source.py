"""Samples that stay where they are, read block by block by global row number: files, Dask arrays.

Dask is not imported here: its arrays are told by what they can do, and NumPy's `asarray`
computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.sample._column import Column
from condgof.sample._sample import MIN_ROWS, Sample
from condgof.sample._table import (
    ANY,
    NUMBERS,
    DataFile,
    Frame,
    PathLike,
    Table,
    arrow,
    numbers_of,
)
from condgof.sample._values import DROP, constant, names_of, refuse_identifiers

Names: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source: x (n, d_x), y (n, d_y), and extra columns (n,) that a model asked for."""

    #: The global number of the first row.
    start: int
    x: FloatArray
    y: FloatArray
    extra: dict[str, FloatArray]

    @property
    def n(self) -> int:
        return len(self.y)

    def cut(self, first: int, last: int) -> Block:
        """Return the rows from `first` up to, not including, `last`."""
        extra = {name: values[first:last] for name, values in self.extra.items()}
        return Block(self.start + first, self.x[first:last], self.y[first:last], extra)

    @classmethod
    def joined(cls, parts: Sequence[Block]) -> Block:
        if len(parts) == 1:
            return parts[0]
        x, y = (np.concatenate([getattr(part, name) for part in parts]) for name in "xy")
        extra = {
            n: np.concatenate([part.extra[n] for part in parts]) for n in parts[0].extra
        }
        return cls(parts[0].start, x, y, extra)


class Blocks:
    """What sources have in common, whatever reads their rows."""

    n: int
    x_columns: tuple[Column, ...]
    y_names: tuple[str, ...]
    flat_y: bool = False
    framed: bool = False
    offset: int = 0

    @property
    def d_x(self) -> int:
        """Number of columns of x."""
        return len(self.x_columns)

    @property
    def d_y(self) -> int:
        """Number of columns of y."""
        return len(self.y_names)

    def _parts(self, start: int, stop: int) -> Iterator[Block]:
        raise NotImplementedError  # rows in order, as many at once as it suits

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Read rows in order, in blocks of exactly `size` rows (the last may be smaller).

        The global rows are those from `start` up to, not including, `stop`, all of them by
        default. Memory holds a block and a batch of the file at a time, whatever n is.
        """
        stop = self.offset + self.n if stop is None else stop
        if size < 1 or not 0 <= start <= stop <= self.offset + self.n:
            told = (
                f"Blocks of {size} rows, from {start} to {stop}, are not within the source"
            )
            raise InputError(f"{told}, which has {self.n} rows.")
        held, lacking = list[Block](), size
        for part in self._parts(start, stop):
            done = 0
            while part.n - done >= lacking:
                yield Block.joined([*held, part.cut(done, done + lacking)])
                done, held, lacking = done + lacking, [], size
            if done < part.n:
                held.append(part.cut(done, part.n))
                lacking -= part.n - done
        if held:
            yield Block.joined(held)

    def block_range(self, start: int, stop: int) -> Block:
        """Read the global rows from `start` up to, not including, `stop`."""
        return next(self.blocks(stop - start, start, stop))

    def sample(self, block: Block) -> Sample:
        """Return a block as a sample; models get x as an array, as a frame if it has text or dates."""
        x_columns, y_columns = (
            tuple(
                replace(column, constant=constant(values[:, i]))
                for i, column in enumerate(known)
            )
            for known, values in (
                (self.x_columns, block.x),
                (map(Column, self.y_names), block.y),
            )
        )
        x_given = _given(x_columns, block.x, self.framed)
        y_given = (block.y[:, 0] if self.flat_y else block.y).copy()
        return Sample(block.x, block.y, x_given, y_given, x_columns, y_columns)


def _given(columns: tuple[Column, ...], x: FloatArray, framed: bool) -> Any:
    """Return covariates as models get them; a frame is of pandas or, where that is missing, our own."""
    if not framed and all(column.kind == "numbers" for column in columns):
        return x.copy() if columns else None
    data: dict[str, AnyArray] = {}
    for column, values in zip(columns, x.T, strict=True):
        data[column.name] = values.copy()
        if column.levels is not None:
            data[column.name] = np.array(column.levels, dtype=object)[values.astype(int)]
        elif column.dates:
            data[column.name] = np.rint(values * 86_400e6).astype("M8[us]")
    return Frame(data).pandas()


@dataclass(frozen=True, eq=False, repr=False)
class Source(Blocks):
    r"""A sample in files, of which only blocks are ever in memory; made by `scan`.

    Rows are numbered through all files, in the order of `paths`. Blocks are cut by these
    numbers, so that they are the same for one file or fifty, in any format. A source holds
    no open file: it pickles, and workers that see the same paths can read from it. With
    `flat_y`, models get one column of y as (n,) rather than (n, 1); with `framed`, numbers
    of x as a frame too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sample.csv"
    >>> _ = path.write_text("x,y\n1,2\n2,3\n3,5\n")
    >>> scan(path, x="x", y="y").take([0, 2]).y
    array([[2.],
           [5.]])
    """

    files: tuple[DataFile, ...]
    x_columns: tuple[Column, ...]
    y_names: tuple[str, ...]
    extra_names: tuple[str, ...] = ()
    flat_y: bool = False
    framed: bool = False

    @classmethod
    def of(
        cls,
        table: Table,
        x: Sequence[str],
        y: Sequence[str],
        extra: Sequence[str],
        flat_y: bool = False,
    ) -> Source:
        """Find the rows of a table whose columns are to be read, and the levels of text in x."""
        files, n = [], 0
        for file in table.files:
            files.append(file.counted(n, table.kinds))
            n += files[-1].rows
        if n < MIN_ROWS:
            raise ShapeError(
                f"The test needs at least {MIN_ROWS} rows, got {n} in {table.label}."
            )
        columns = []
        for name in x:
            levels = table.levels(name) if table.kinds[name] == "text" else None
            refuse_identifiers(f"Column {name!r} of {table.label}", levels or (), n)
            dates = table.kinds[name] == "dates"
            columns.append(Column(name, levels, dates=dates, utc=name in table.utc))
        return cls(
            tuple(files), tuple(columns), tuple(y), tuple(dict.fromkeys(extra)), flat_y
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order of their rows."""
        return tuple(str(file.path) for file in self.files)

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.files[-1].start + self.files[-1].rows

    def __repr__(self) -> str:
        names = f"x={[column.name for column in self.x_columns]}, y={list(self.y_names)}"
        files = (
            f"{len(self.files)} {self.files[0].format} file{'s' * (len(self.files) > 1)}"
        )
        return f"Source({self.n} rows in {files}, {names})"

    def with_extra(self, names: Names) -> Source:
        """Return the same source with other extra columns, which are checked in every file."""
        extra = tuple(dict.fromkeys(_names(names, "extra")))
        Table("", self.files).reading(dict.fromkeys(extra, NUMBERS))
        return replace(self, extra_names=extra)

    def read_column(self, name: str) -> AnyArray:
        """Read one column of all rows, (n,): numbers, text or dates, whether it is in x or not."""
        table = Table("", self.files).reading({name: ANY})
        return np.concatenate([batch[name] for batch in table.batches()])

    def _parts(
        self, start: int, stop: int, wanted: IntArray | None = None
    ) -> Iterator[Block]:
        kinds = {column.name: column.kind for column in reversed(self._columns)}
        for file in self.files:
            first, last = max(start - file.start, 0), min(stop - file.start, file.rows)
            for row, batch in file.read(kinds, first, last) if first < last else ():
                rows = np.arange(row, row + batch.num_rows)
                if wanted is not None:
                    i, j = np.searchsorted(
                        wanted, [file.start + row, file.start + rows[-1] + 1]
                    )
                    rows = wanted[i:j] - file.start
                    batch = batch.take(arrow().array(rows - row))
                if len(rows):
                    yield self._part(file, rows, batch)

    def take(self, rows: IntArray | Sequence[int]) -> Block:
        """Read some rows, by their sorted global numbers (m,); others are not kept in memory."""
        wanted = np.asarray(rows)
        numbers = wanted.ndim == 1 and len(wanted) > 0 and wanted.dtype.kind in "iu"
        if (
            not numbers
            or wanted[0] < 0
            or wanted[-1] >= self.n
            or (np.diff(wanted) < 0).any()
        ):
            raise InputError(f"rows must be whole numbers from 0 to {self.n - 1}, sorted.")
        return Block.joined(list(self._parts(int(wanted[0]), int(wanted[-1]) + 1, wanted)))

    @property
    def _columns(self) -> tuple[Column, ...]:
        return (*self.x_columns, *map(Column, (*self.y_names, *self.extra_names)))

    def _part(self, file: DataFile, rows: IntArray, batch: Any) -> Block:
        """Make a block of a batch; `rows` are their numbers in the file."""
        columns = self._columns
        parts = [
            numbers_of(batch.column(each.name), each.kind, each.levels) for each in columns
        ]
        table = np.array(parts).reshape(-1, len(rows))
        finite = np.isfinite(table)
        finite[self.d_x + self.d_y :] |= np.isinf(
            table[self.d_x + self.d_y :]
        )  # of those laws judge
        if not finite.all():
            # The first row over all columns, so that the message does not depend on their
            # order.
            at = int(np.argmin(finite.all(axis=0)))
            which = int(np.argmin(finite[:, at]))
            name, row = columns[which].name, int(rows[at])
            kind = f"{table[which, at]}" if batch.column(name)[at].is_valid else "null"
            where = (
                f"row {row} of the file (row {file.start + row} of all rows, both counted"
                " from 0)"
            )
            told = f"Column {name!r} of {file.label} is {kind} in {where}. {DROP}"
            raise NonFiniteError(told, count=1, first_row=file.start + row)
        x, y, extra = np.split(table, [self.d_x, self.d_x + self.d_y])
        named = dict(zip(self.extra_names, extra, strict=True))
        return Block(
            file.start + int(rows[0]), x.T.copy(order="C"), y.T.copy(order="C"), named
        )


def scan(
    path: PathLike | Sequence[PathLike], *, x: Names, y: Names, extra: Names = ()
) -> Source:
    r"""Find a sample in files, to be streamed rather than loaded.

    Parameters
    ----------
    path : str, path, or list of these
        A Parquet, CSV or Feather file (by its ending), a glob pattern, or a folder. What a
        pattern or a folder stands for is sorted by name; a list keeps its order.
    x : str or list of str
        The columns of x: numbers, dates, or text, which are categories.
    y : str or list of str
        The columns of y, which must be numeric.
    extra : str or list of str, optional
        Other numeric columns to read, for a model.

    Returns
    -------
    Source
        Its rows are counted; nothing else has been read (of CSV, the lines are counted),
        but for text in x, of which the levels are known.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = (folder / f"{name}.csv").write_text("lon,fare\n1,10.5\n2,20\n")
    >>> source = scan(folder / "*.csv", x="lon", y="fare")
    >>> source.n, [block.y.ravel().tolist() for block in source.blocks(3)]
    (4, [[10.5, 20.0, 10.5], [20.0]])
    """
    x_names, y_names, extra_names = _names(x, "x"), _names(y, "y"), _names(extra, "extra")
    if not y_names:
        raise InputError("y is empty. Pass the name of at least one column.")
    for what, names in (("x", x_names), ("y", y_names)):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(
                f"{what} names the column {twice[0]!r} twice. Name each column once."
            )
    numbers = dict.fromkeys(y_names + extra_names, NUMBERS)
    table = Table.of(path).reading(numbers | {n: ANY for n in x_names if n not in numbers})
    return Source.of(table, x_names, y_names, extra_names)


def _names(names: object, what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(
        isinstance(name, str) for name in listed
    ):
        got = type(names).__name__
        raise InputTypeError(
            f"{what} must be the name of a column or a list of names, got {got}."
        )
    return tuple(listed)


def is_lazy(data: object) -> bool:
    return all(
        hasattr(data, name) for name in ("__dask_graph__", "chunks", "rechunk", "blocks")
    )


@dataclass(frozen=True, eq=False)
class ArraySource(Blocks):
    """A sample in arrays that are computed chunk by chunk, with the interface of `Source`."""

    #: "y", "x" unless the sample is unconditional, and what the model asks for, (n, d):
    #: Dask arrays of the same row chunks, or (on a worker) one chunk of each as NumPy
    #: arrays.
    arrays: dict[str, Any]
    offset: int = 0

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> ArraySource:
        """Check Dask arrays of shape (n,) or (n, d) and give them the row chunks of y."""
        for name, array in arrays.items():
            if not is_lazy(array):
                told = (
                    f"{name} is {type(array).__name__} where other arrays are Dask arrays"
                )
                raise InputTypeError(f"{told}. Pass Dask arrays throughout, or none.")
        rows, ready = arrays["y"].chunks[0], {}
        for name, array in arrays.items():
            known = array.ndim in (1, 2) and all(np.isfinite(array.shape))
            if not known or array.dtype.kind not in "biuf" or array.shape[0] != sum(rows):
                raise ShapeError(
                    f"{name} must hold real numbers, (n,) or (n, d) with n = {sum(rows)} as"
                    " y has, in chunks of known size (compute_chunk_sizes); got"
                    f" {array.dtype}, {array.shape}."
                )
            ready[name] = (array[:, None] if array.ndim == 1 else array).rechunk(
                {0: rows, 1: -1}
            )
        if sum(rows) < MIN_ROWS:
            raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {sum(rows)}.")
        return cls(ready)

    @property
    def n(self) -> int:  # type: ignore[override]
        return int(self.arrays["y"].shape[0])

    @property
    def x_columns(self) -> tuple[Column, ...]:  # type: ignore[override]
        width = self.arrays["x"].shape[1] if "x" in self.arrays else 0
        return tuple(map(Column, names_of("x", int(width))))

    @property
    def y_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return names_of("y", int(self.arrays["y"].shape[1]))

    def with_extra(self, names: Names) -> ArraySource:
        """Return the same source: what a model asks for is there, or cannot be had."""
        known = {
            one
            for name in self.arrays
            for one in names_of(name, self.arrays[name].shape[1])
        }
        for name in (names,) if isinstance(names, str) else names:
            if name not in known:
                advice = "Pass the model's scores, or a tuple (mean, std), as Dask arrays."
                raise InputError(f"Dask arrays have no column {name!r}. {advice}")
        return self

    @property
    def cuts(self) -> tuple[int, ...]:
        """Global number of the first row of each chunk, and of the row after the last."""
        y = self.arrays["y"]
        chunks = y.chunks[0] if is_lazy(y) else (len(y),)
        return tuple(int(cut) + self.offset for cut in np.cumsum((0, *chunks)))

    def chunk(self, start: int) -> tuple[Any, ...]:
        number = self.cuts.index(start)
        return tuple(array.blocks[number] for array in self.arrays.values())

    def _parts(self, start: int, stop: int) -> Iterator[Block]:
        for first, last in pairwise(self.cuts):
            rows = np.arange(max(first, start), min(last, stop))
            if len(rows):
                span = slice(rows[0] - self.offset, rows[-1] + 1 - self.offset)
                yield self._block(
                    rows, {name: array[span] for name, array in self.arrays.items()}
                )

    def take(self, rows: IntArray) -> Block:
        chosen = {name: array[rows - self.offset] for name, array in self.arrays.items()}
        return self._block(rows, chosen)

    def _block(self, rows: IntArray, arrays: dict[str, Any]) -> Block:
        tables = {
            name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()
        }
        for name, table in tables.items():
            bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
            if len(bad):
                row = int(rows[bad[0]])
                told = f"{name} is NaN or infinite in row {row} (counted from 0). {DROP}"
                raise NonFiniteError(told, count=len(bad), first_row=row)
        x = np.ascontiguousarray(tables.get("x", np.empty((len(rows), 0))))
        extra = {
            one: column
            for name, table in tables.items()
            if name not in ("x", "y")
            for one, column in zip(names_of(name, table.shape[1]), table.T, strict=True)
        }
        return Block(int(rows[0]), x, np.ascontiguousarray(tables["y"]), extra)
