"""Samples that stay where they are, read block by block by global row number: files, Dask arrays.

Dask is not imported here: its arrays are told by what they can do, and NumPy's `asarray` computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    MissingPackageError,
    NonFiniteError,
    ShapeError,
    require,
)
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
    codes_of,
    values_of,
)
from condgof.sample._values import DROP, as_days, refuse_identifiers

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
        """Number of rows."""
        return len(self.y)


class Blocks:
    """What sources have in common, whatever reads their blocks."""

    x_columns: tuple[Column, ...]
    y_names: tuple[str, ...]
    flat_y: bool = False

    @property
    def x_names(self) -> tuple[str, ...]:
        """The columns of x."""
        return tuple(column.name for column in self.x_columns)

    @property
    def d_x(self) -> int:
        """Number of columns of x."""
        return len(self.x_columns)

    @property
    def d_y(self) -> int:
        """Number of columns of y."""
        return len(self.y_names)

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Read rows in order, in blocks of exactly `size` rows (the last may be smaller)."""
        raise NotImplementedError

    def block_range(self, start: int, stop: int) -> Block:
        """Read the global rows from `start` up to, not including, `stop`."""
        if not start < stop:
            raise InputError(f"start must be below stop, got {start} and {stop}.")
        return next(self.blocks(stop - start, start, stop))

    def sample(self, block: Block) -> Sample:
        """Return a block as a sample; models get x as an array, as a frame if it has text or dates."""
        if not self.d_x:
            return Sample.unconditional(block.y, to_test=False)
        sample = Sample.of(block.x, block.y, to_test=False)
        sample = sample.renamed(self.x_names, self.y_names)
        if self.flat_y:
            sample = replace(sample, y_given=sample.y_given[:, 0])
        if all(column.kind == "numbers" for column in self.x_columns):
            return sample
        known = zip(self.x_columns, sample.x_columns, strict=True)
        columns = tuple(replace(column, constant=read.constant) for column, read in known)
        return replace(sample, x_columns=columns, x_given=_frame_of(columns, block.x))


def _frame_of(columns: tuple[Column, ...], x: FloatArray) -> Any:
    """Return covariates as a frame of pandas, or where that is not installed, of our own."""
    data: dict[str, AnyArray] = {}
    for column, values in zip(columns, x.T, strict=True):
        if column.levels is not None:
            data[column.name] = np.array(column.levels, dtype=object)[values.astype(int)]
        elif column.dates:
            data[column.name] = np.rint(values * 86_400e6).astype("M8[us]")
        else:
            data[column.name] = values.copy()
    try:
        return require("pandas", "frames", "A frame").DataFrame(data)
    except MissingPackageError:
        return Frame(data)


@dataclass(frozen=True, eq=False, repr=False)
class Source(Blocks):
    r"""A sample in files, of which only blocks are ever in memory; made by `scan`.

    Rows are numbered through all files, in the order of `paths`. Blocks are cut by these numbers, so
    that they are the same for one file or fifty, in any format. A source holds no open file: it
    pickles, and workers that see the same paths can read from it.

    Parameters
    ----------
    files : tuple of DataFile
        The files, and which rows each holds.
    x_columns : tuple of Column
        The columns of x: names, the levels of text, and which hold dates.
    y_names : tuple of str
        The columns of y.
    extra_names : tuple of str
        Other columns to read, for a model.
    flat_y : bool
        Whether models get one column of y as (n,) rather than (n, 1).

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

    @classmethod
    def of(
        cls,
        table: Table,
        x: Sequence[str],
        y: Sequence[str],
        extra: Sequence[str] = (),
        flat_y: bool = False,
    ) -> Source:
        """Find the rows of a table whose columns are to be read, and the levels of text in x."""
        files = table.cut()
        n = files[-1].start + files[-1].rows
        if n < MIN_ROWS:
            raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {n} in {table.label}.")
        columns = []
        for name in x:
            levels = table.levels(name) if table.kinds[name] == "text" else None
            refuse_identifiers(f"Column {name!r} of {table.label}", levels or (), n)
            columns.append(Column(name, levels, dates=table.kinds[name] == "dates"))
        return cls(files, tuple(columns), tuple(y), tuple(dict.fromkeys(extra)), flat_y)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order of their rows."""
        return tuple(str(file.path) for file in self.files)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The global number of the first row of each file, and n as the last entry."""
        return (*(file.start for file in self.files), self.n)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.files[-1].start + self.files[-1].rows

    def __repr__(self) -> str:
        names = f"x={list(self.x_names)}, y={list(self.y_names)}"
        files = f"{len(self.files)} {self.files[0].format} file{'s' * (len(self.files) > 1)}"
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

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Read rows in order, in blocks of exactly `size` rows (the last may be smaller).

        The global rows are those from `start` up to, not including, `stop`, all of them by default.
        Memory holds one block and a batch of the file at a time, whatever n is.
        """
        stop = self.n if stop is None else stop
        if size < 1:
            raise InputError(f"size must be at least 1, got {size}.")
        if not 0 <= start <= stop <= self.n:
            raise InputError(f"Rows {start} to {stop} are not within the {self.n} rows of the source.")
        return self._blocks(size, start, stop)

    def _blocks(self, size: int, start: int, stop: int) -> Iterator[Block]:
        begin, room = start, min(size, stop - start)
        filling = _Filling(self, room)
        for file in self.files:
            first, last = max(start - file.start, 0), min(stop - file.start, file.rows)
            if first >= last:
                continue
            for row, batch in file.read(first, last, filling.kinds):
                done = 0
                while done < batch.num_rows:
                    count = min(room - filling.filled, batch.num_rows - done)
                    filling.add(file, range(row + done, row + done + count), batch.slice(done, count))
                    done += count
                    if filling.filled == room:
                        yield filling.block(begin)
                        begin, room = begin + room, min(size, stop - begin - room)
                        filling = _Filling(self, room)

    def take(self, rows: IntArray | Sequence[int]) -> Block:
        """Read some rows, by their sorted global numbers (m,), and load no others into memory."""
        wanted = np.asarray(rows)
        if wanted.ndim != 1 or not len(wanted) or wanted.dtype.kind not in "iu":
            raise InputTypeError("rows must be a non-empty vector of integers.")
        if wanted[0] < 0 or wanted[-1] >= self.n or bool((wanted[1:] < wanted[:-1]).any()):
            raise InputError(f"rows must be sorted and lie in 0, ..., {self.n - 1}.")
        pa = arrow()
        filling = _Filling(self, len(wanted))
        for file in self.files:
            first, last = np.searchsorted(wanted, [file.start, file.start + file.rows])
            local = wanted[first:last] - file.start
            for start, stop in file.runs(local) if len(local) else ():
                for row, batch in file.read(start, stop, filling.kinds):
                    i, j = np.searchsorted(local, [row, row + batch.num_rows])
                    if i < j:
                        filling.add(file, local[i:j], batch.take(pa.array(local[i:j] - row)))
        return filling.block(int(wanted[0]))


class _Filling:
    """A block while it is being filled, batch after batch."""

    def __init__(self, source: Source, size: int) -> None:
        self.x = np.empty((size, source.d_x))
        self.y = np.empty((size, source.d_y))
        self.extra = {name: np.empty(size) for name in source.extra_names}
        self.targets = [(column, self.x[:, j]) for j, column in enumerate(source.x_columns)]
        self.targets += [(Column(name), self.y[:, j]) for j, name in enumerate(source.y_names)]
        self.targets += [(Column(name), values) for name, values in self.extra.items()]
        self.kinds = {column.name: column.kind for column, _ in reversed(self.targets)}
        self.filled = 0

    def add(self, file: DataFile, rows: range | IntArray, batch: Any) -> None:
        """Append the rows of a batch; `rows` are their numbers in the file."""
        bad: list[tuple[int, str]] = []
        for of, target in self.targets:
            column = batch.column(of.name)
            values = codes_of(column, of.levels) if of.levels else values_of(column, of.kind)
            if of.dates:
                values = np.asarray(as_days(values, of.name))
            finite = np.isfinite(values)
            if not finite.all():
                first = int(np.argmin(finite))
                kind = "null" if not column[first].is_valid else f"{values[first]}"
                bad.append((first, f"Column {of.name!r} of {file.label} is {kind}"))
            target[self.filled : self.filled + len(rows)] = values
        if bad:
            # The first row over all columns, so that the message does not depend on their order.
            first, message = min(bad, key=lambda cell: cell[0])
            row = int(rows[first])
            raise NonFiniteError(
                f"{message} in row {row} of the file (row {file.start + row} of all rows, "
                f"both counted from 0). {DROP}",
                count=1,
                first_row=file.start + row,
            )
        self.filled += len(rows)

    def block(self, start: int) -> Block:
        return Block(start, self.x, self.y, self.extra)


def scan(path: PathLike | Sequence[PathLike], *, x: Names, y: Names, extra: Names = ()) -> Source:
    r"""Find a sample in files, to be streamed rather than loaded.

    Parameters
    ----------
    path : str, path, or list of these
        A Parquet, CSV or Feather file (by its ending), a glob pattern, or a folder. What a pattern
        or a folder stands for is sorted by name; a list keeps its order.
    x : str or list of str
        The columns of x: numbers, dates, or text, which are categories.
    y : str or list of str
        The columns of y, which must be numeric.
    extra : str or list of str, optional
        Other numeric columns to read, for a model.

    Returns
    -------
    Source
        Its rows are counted; nothing else has been read (of CSV, the lines are counted), but for text
        in x, of which the levels are known.

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
    arrow()
    x_names, y_names, extra_names = _names(x, "x"), _names(y, "y"), _names(extra, "extra")
    if not y_names:
        raise InputError("y is empty. Pass the name of at least one column.")
    for what, names in (("x", x_names), ("y", y_names)):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"{what} names the column {twice[0]!r} twice. Name each column once.")
    numbers = dict.fromkeys(y_names + extra_names, NUMBERS)
    table = Table.of(path).reading(numbers | {n: ANY for n in x_names if n not in numbers})
    return Source.of(table, x_names, y_names, extra_names)


def _names(names: Any, what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputTypeError(
            f"{what} must be the name of a column or a list of names, got {type(names).__name__}."
        )
    return tuple(listed)


def is_lazy(data: Any) -> bool:
    """Whether `data` is a Dask array."""
    return all(hasattr(data, name) for name in ("__dask_graph__", "chunks", "rechunk", "blocks"))


@dataclass(frozen=True, eq=False)
class ArraySource(Blocks):
    """A sample in arrays that are computed chunk by chunk, with the interface of `Source`."""

    #: "y", "x" unless the sample is unconditional, and what the model asks for, (n, d): Dask arrays of
    #: the same row chunks, or (on a worker) one chunk of each as NumPy arrays.
    arrays: dict[str, Any]
    #: Global number of the first row.
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
    def x_columns(self) -> tuple[Column, ...]:  # type: ignore[override]
        """The columns of x, under made-up names."""
        width = self.arrays["x"].shape[1] if "x" in self.arrays else 0
        return tuple(map(Column, names_of("x", int(width))))

    @property
    def y_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Made-up names of the columns of y."""
        return names_of("y", int(self.arrays["y"].shape[1]))

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
        """Compute rows in order, as `Source.blocks` reads them: each chunk once."""
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
    """Make up names for the columns of an array: x alone, x1 and x2 of two."""
    return (name,) if width == 1 else tuple(f"{name}{i + 1}" for i in range(width))
