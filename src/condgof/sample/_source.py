"""Samples that stay where they are, in files or Dask arrays, and are read block by block.

Rows are numbered through all files or chunks, from 0. Dask is not imported here: its arrays
are told by what they can do, and NumPy's `asarray` computes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.sample._arrow import arrow, numbers_of
from condgof.sample._column import Column, Kind
from condgof.sample._formats import Csv
from condgof.sample._frames import Frame
from condgof.sample._limits import LIMITS
from condgof.sample._sample import MIN_ROWS, Sample
from condgof.sample._table import ANY, NUMBERS, TEXT, DataFile, PathLike, Table
from condgof.sample._values import DROP_ADVICE, constant, names_of, refuse_identifiers

Names: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a source that follow each other, or that were chosen."""

    #: The number of the first row among all rows of the source.
    start: int
    #: (n, d_x), of levels their positions.
    x: FloatArray
    #: (n, d_y).
    y: FloatArray
    #: Columns that a model asked for, (n,) each.
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
        """Return the rows of several blocks, one after the other, as one block."""
        if len(parts) == 1:
            return parts[0]
        extra = {
            name: np.concatenate([part.extra[name] for part in parts])
            for name in parts[0].extra
        }
        return cls(
            start=parts[0].start,
            x=np.concatenate([part.x for part in parts]),
            y=np.concatenate([part.y for part in parts]),
            extra=extra,
        )


class Blocks:
    """What sources have in common, whatever reads their rows."""

    #: How many rows there are.
    n: int
    x_columns: tuple[Column, ...]
    y_names: tuple[str, ...]
    #: Whether models get one column of y as (n,) rather than (n, 1).
    flat_y: bool = False
    #: Whether models get x as a frame even if it holds but numbers.
    framed: bool = False
    #: The columns of x whose text is meant as categories; models get these as such.
    categorical: frozenset[str] = frozenset()
    #: The number of the first row, which is not 0 for a chunk of a larger sample.
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
        """Yield rows in order, as many at once as it suits the source."""
        raise NotImplementedError

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Read rows in order, in blocks of exactly `size` rows (the last may be smaller).

        The global rows are those from `start` up to, not including, `stop`, all of them by
        default. Memory holds a block and a batch of the file at a time, whatever n is.
        """
        end = self.offset + self.n
        stop = end if stop is None else stop
        if size < 1 or not 0 <= start <= stop <= end:
            raise InputError(
                f"Blocks of {size} rows, from {start} to {stop}, are not within the source,"
                f" which has {self.n} rows."
            )
        pending: list[Block] = []  # rows of the block that is not full yet
        lacking = size  # rows that this block lacks
        for part in self._parts(start, stop):
            used = 0
            while part.n - used >= lacking:
                yield Block.joined([*pending, part.cut(used, used + lacking)])
                used += lacking
                pending = []
                lacking = size
            if used < part.n:
                pending.append(part.cut(used, part.n))
                lacking -= part.n - used
        if pending:
            yield Block.joined(pending)

    def block_range(self, start: int, stop: int) -> Block:
        """Read the global rows from `start` up to, not including, `stop`."""
        return next(self.blocks(stop - start, start, stop))

    def sample(self, block: Block) -> Sample:
        """Return a block as a sample.

        Models get x as an array, or as a frame if it has text or dates.
        """
        x_columns = _constancy(self.x_columns, block.x)
        y_columns = _constancy([Column(name) for name in self.y_names], block.y)
        return Sample(
            x=block.x,
            y=block.y,
            x_given=_covariates(x_columns, block.x, self.framed, self.categorical),
            y_given=(block.y[:, 0] if self.flat_y else block.y).copy(),
            x_columns=x_columns,
            y_columns=y_columns,
        )


def _constancy(columns: Sequence[Column], values: FloatArray) -> tuple[Column, ...]:
    """Return the columns, of values (n, d), with what is true of their being constant."""
    pairs = zip(columns, values.T, strict=True)
    return tuple(replace(column, constant=constant(part)) for column, part in pairs)


def _covariates(
    columns: tuple[Column, ...], x: FloatArray, framed: bool, categorical: frozenset[str]
) -> Any:
    """Return x (n, d_x) as models get it: an array, a frame, or None without columns.

    A frame is one of pandas or, where pandas is not installed, our own.
    """
    if not framed and all(column.kind is Kind.NUMBERS for column in columns):
        return x.copy() if columns else None
    pairs = zip(columns, x.T.copy(), strict=True)
    data = {column.name: column.decode(part) for column, part in pairs}
    return Frame(data, categorical=categorical & set(data)).pandas()


@dataclass(frozen=True, eq=False, repr=False)
class Source(Blocks):
    r"""A sample in files, of which only blocks are ever in memory; made by `scan`.

    Rows are numbered through all files, in the order of `paths`. Blocks are cut by these
    numbers, so that they are the same for one file or fifty, in any format. A source holds
    no open file: it pickles, and workers that see the same paths can read from it. With
    `flat_y`, models get one column of y as (n,) rather than (n, 1); with `framed`, they get
    x as a frame even if it holds but numbers.

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
    categorical: frozenset[str] = frozenset()

    @classmethod
    def from_table(
        cls,
        table: Table,
        x: Sequence[str],
        y: Sequence[str],
        extra: Sequence[str],
        flat_y: bool = False,
        categorical: Collection[str] = (),
    ) -> Source:
        """Count the rows of a table, and find the levels of text in x.

        Parameters
        ----------
        table : Table
            Of which the columns to be read have been named; see `Table.reading`.
        x, y, extra : sequences of str
            The names of columns.
        flat_y : bool
            Whether models get one column of y as (n,).
        categorical : collection of str
            The columns of x whose text is meant as categories, whatever it looks like.
        """
        files: list[DataFile] = []
        n = 0
        for file in table.files:
            counted = file.counted(n, table.kinds)
            files.append(counted)
            n += counted.rows
        if n < MIN_ROWS:
            raise ShapeError(
                f"The test needs at least {MIN_ROWS} rows, got {n} in {table.label}."
            )
        columns = []
        for name in x:
            kind = table.kinds[name]
            levels = table.levels(name) if kind is Kind.TEXT else None
            if levels is not None and name not in categorical:
                table.refuse_number_text(name, levels)
            refuse_identifiers(f"Column {name!r} of {table.label}", levels or (), n)
            column = Column(name, levels, dates=kind is Kind.DATES, utc=name in table.utc)
            columns.append(column)
        return cls(
            files=tuple(files),
            x_columns=tuple(columns),
            y_names=tuple(y),
            extra_names=tuple(dict.fromkeys(extra)),
            flat_y=flat_y,
            categorical=frozenset(categorical),
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
        x_names = [column.name for column in self.x_columns]
        count = len(self.files)
        files = f"{count} {self.files[0].format.name} file{'s' if count > 1 else ''}"
        names = f"x={x_names}, y={list(self.y_names)}"
        return f"Source({self.n} rows in {files}, {names})"

    def with_extra(self, names: Names) -> Source:
        """Return the source with other extra columns, which are checked in every file."""
        extra = tuple(dict.fromkeys(_names(names, "extra")))
        Table("", self.files).reading(dict.fromkeys(extra, NUMBERS))
        return replace(self, extra_names=extra)

    def read_column(self, name: str) -> AnyArray:
        """Read one column of all rows, (n,): numbers, text or dates, of x or not."""
        table = Table("", self.files).reading({name: ANY})
        return np.concatenate([batch[name] for batch in table.batches()])

    def _parts(
        self, start: int, stop: int, wanted: IntArray | None = None
    ) -> Iterator[Block]:
        """Yield rows in order, batch by batch, or only the `wanted` ones of them."""
        # Of columns with several roles, the kind that x has for them counts.
        kinds = {column.name: column.kind for column in reversed(self._columns)}
        for file in self.files:
            first = max(start - file.start, 0)
            last = min(stop - file.start, file.rows)
            if first >= last:
                continue
            for row, batch in file.read(kinds, first, last):
                rows = np.arange(row, row + batch.num_rows)
                if wanted is not None:
                    ends = [file.start + row, file.start + row + batch.num_rows]
                    i, j = np.searchsorted(wanted, ends)
                    rows = wanted[i:j] - file.start
                    batch = batch.take(arrow().array(rows - row))
                if len(rows):
                    yield self._block(file, rows, batch)

    def take(self, rows: IntArray | Sequence[int]) -> Block:
        """Read some rows, by their sorted numbers (m,); others are not kept in memory."""
        wanted = np.asarray(rows)
        are_numbers = wanted.ndim == 1 and len(wanted) > 0 and wanted.dtype.kind in "iu"
        if (
            not are_numbers
            or wanted[0] < 0
            or wanted[-1] >= self.n
            or (np.diff(wanted) < 0).any()
        ):
            raise InputError(f"rows must be whole numbers from 0 to {self.n - 1}, sorted.")
        return Block.joined(list(self._parts(int(wanted[0]), int(wanted[-1]) + 1, wanted)))

    @property
    def _columns(self) -> tuple[Column, ...]:
        return (*self.x_columns, *map(Column, (*self.y_names, *self.extra_names)))

    def _block(self, file: DataFile, rows: IntArray, batch: Any) -> Block:
        """Make a block of a batch; `rows` (n,) are the numbers of its rows in the file."""
        lost = [c.name for c in self._columns if c.name not in batch.schema.names]
        if lost:
            raise InputError(
                f"{file.label} has no column {lost[0]!r} any more, which it had when it was"
                " scanned. Scan it again, and leave the files alone while a test runs."
            )
        parts = [
            numbers_of(batch.column(column.name), column.kind, column.levels)
            for column in self._columns
        ]
        table = np.array(parts).reshape(-1, len(rows))
        self._check_finite(table, file, rows, batch)
        x, y, extra = np.split(table, [self.d_x, self.d_x + self.d_y])
        return Block(
            start=file.start + int(rows[0]),
            x=x.T.copy(order="C"),
            y=y.T.copy(order="C"),
            extra=dict(zip(self.extra_names, extra, strict=True)),
        )

    def _check_finite(
        self, table: FloatArray, file: DataFile, rows: IntArray, batch: Any
    ) -> None:
        """Raise if a value of a batch, (columns, n), is missing or infinite.

        Of extra columns the laws judge what is infinite: an interval may have no end.
        """
        valid = np.isfinite(table)
        extra = slice(self.d_x + self.d_y, None)
        valid[extra] |= np.isinf(table[extra])
        if valid.all():
            return
        # The first row over all columns, so that the message does not depend on the order
        # of columns.
        position = int(np.argmin(valid.all(axis=0)))
        which = int(np.argmin(valid[:, position]))
        name = self._columns[which].name
        row = int(rows[position])
        is_null = not batch.column(name)[position].is_valid
        value = "null" if is_null else f"{table[which, position]}"
        raise NonFiniteError(
            f"Column {name!r} of {file.label} is {value} in row {row} of the file (row"
            f" {file.start + row} of all rows, both counted from 0). {DROP_ADVICE}",
            count=1,
            first_row=file.start + row,
        )


def scan(
    path: PathLike | Sequence[PathLike],
    *,
    x: Names,
    y: Names,
    extra: Names = (),
    categorical: Names = (),
    delimiter: str | None = None,
    decimal: str = ".",
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
    categorical : str or list of str, optional
        Columns of x that hold categories, also if they are numbers, or text that looks like
        numbers or dates, which is refused otherwise.
    delimiter, decimal : str
        Of CSV: what is between columns, found in the first line unless given, and what is
        between a number's whole part and its fraction.

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
    x_names = _names(x, "x")
    y_names = _names(y, "y")
    extra_names = _names(extra, "extra")
    if not y_names:
        raise InputError("y is empty. Pass the name of at least one column.")
    for what, names in (("x", x_names), ("y", y_names)):
        LIMITS.columns.check(len(names), f"{what} names")
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InputError(
                f"{what} names the column {twice[0]!r} twice. Name each column once."
            )
    # A column of x that serves as y or extra, too, must hold numbers.
    kinds = dict.fromkeys(y_names + extra_names, NUMBERS)
    for name in x_names:
        kinds.setdefault(name, ANY)
    categories = _names(categorical, "categorical")
    for name in categories:
        if name not in x_names or kinds[name] == NUMBERS:
            raise InputError(f"categorical names {name!r}, which is no column of x alone.")
        kinds[name] = TEXT
    table = Table.from_path(path, Csv(delimiter, decimal)).reading(kinds)
    return Source.from_table(table, x_names, y_names, extra_names, categorical=categories)


def _names(names: object, what: str) -> tuple[str, ...]:
    """Return the name of a column, or a sequence of these, as a tuple; else raise."""
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(
        isinstance(name, str) for name in listed
    ):
        raise InputTypeError(
            f"{what} must be the name of a column or a list of names, got"
            f" {type(names).__name__}."
        )
    return tuple(listed)


def is_lazy(data: object) -> bool:
    """Whether `data` is a Dask array, by what it can do."""
    abilities = ("__dask_graph__", "chunks", "rechunk", "blocks")
    return all(hasattr(data, name) for name in abilities)


@dataclass(frozen=True, eq=False)
class ArraySource(Blocks):
    """A sample in Dask arrays, computed chunk by chunk, with the interface of `Source`."""

    #: "y", "x" unless the sample is unconditional, and what the model asks for, (n, d)
    #: each: Dask arrays of the same row chunks, or (on a worker) one chunk of each as NumPy
    #: arrays.
    arrays: dict[str, Any]
    offset: int = 0

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> ArraySource:
        """Check Dask arrays of shape (n,) or (n, d) and give them the row chunks of y."""
        for name, array in arrays.items():
            if not is_lazy(array):
                raise InputTypeError(
                    f"{name} is {type(array).__name__} where other arrays are Dask arrays."
                    " Pass Dask arrays throughout, or none."
                )
        row_chunks = arrays["y"].chunks[0]
        n = sum(row_chunks)
        ready = {}
        for name, array in arrays.items():
            known = array.ndim in (1, 2) and all(np.isfinite(array.shape))
            if not known or array.dtype.kind not in "biuf" or array.shape[0] != n:
                raise ShapeError(
                    f"{name} must hold real numbers, (n,) or (n, d) with n = {n} as y has,"
                    " in chunks of known size (compute_chunk_sizes); got"
                    f" {array.dtype}, {array.shape}."
                )
            table = array[:, None] if array.ndim == 1 else array
            ready[name] = table.rechunk({0: row_chunks, 1: -1})
        if n < MIN_ROWS:
            raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {n}.")
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
        known: set[str] = set()
        for name, array in self.arrays.items():
            known.update(names_of(name, array.shape[1]))
        for name in (names,) if isinstance(names, str) else names:
            if name not in known:
                raise InputError(
                    f"Dask arrays have no column {name!r}. Pass the model's scores, or a"
                    " tuple (mean, std), as Dask arrays."
                )
        return self

    @property
    def cuts(self) -> tuple[int, ...]:
        """The number of the first row of each chunk, and of the row after the last."""
        y = self.arrays["y"]
        chunks = y.chunks[0] if is_lazy(y) else (len(y),)
        return tuple(int(cut) + self.offset for cut in np.cumsum((0, *chunks)))

    def chunk(self, start: int) -> tuple[Any, ...]:
        """Return the chunk of each array whose first row has the number `start`."""
        number = self.cuts.index(start)
        return tuple(array.blocks[number] for array in self.arrays.values())

    def _parts(self, start: int, stop: int) -> Iterator[Block]:
        for first, last in pairwise(self.cuts):
            rows = np.arange(max(first, start), min(last, stop))
            if len(rows):
                span = slice(rows[0] - self.offset, rows[-1] + 1 - self.offset)
                parts = {name: array[span] for name, array in self.arrays.items()}
                yield self._block(rows, parts)

    def take(self, rows: IntArray) -> Block:
        """Compute some rows, by their numbers (m,)."""
        parts = {name: array[rows - self.offset] for name, array in self.arrays.items()}
        return self._block(rows, parts)

    def _block(self, rows: IntArray, arrays: dict[str, Any]) -> Block:
        """Compute arrays of some rows, (m, d) each, and make a block of them."""
        x: FloatArray = np.empty((len(rows), 0))
        y: FloatArray = np.empty((len(rows), 0))
        extra: dict[str, FloatArray] = {}
        for name, array in arrays.items():
            table = np.asarray(array, dtype=np.float64)
            bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
            if len(bad):
                row = int(rows[bad[0]])
                raise NonFiniteError(
                    f"{name} is NaN or infinite in row {row} (counted from 0)."
                    f" {DROP_ADVICE}",
                    count=len(bad),
                    first_row=row,
                )
            if name == "x":
                x = table
            elif name == "y":
                y = table
            else:
                extra |= zip(names_of(name, table.shape[1]), table.T, strict=True)
        return Block(
            start=int(rows[0]),
            x=np.ascontiguousarray(x),
            y=np.ascontiguousarray(y),
            extra=extra,
        )
