"""Samples that stay on disk: files read block by block, by global row number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.sample._columns import DROP
from condgof.sample._sample import MIN_ROWS
from condgof.sample._source_read import (
    PathLike,
    SourceFile,
    arrow,
    check_columns,
    describe,
    expand,
    format_of,
    numbers,
    runs,
)
from condgof.sample._source_read import read as read_file

Names: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source, in memory.

    Parameters
    ----------
    start : int
        The global number of the first row.
    x : ndarray of shape (n, d_x)
        The covariates.
    y : ndarray of shape (n, d_y)
        The responses.
    extra : dict of str to ndarray of shape (n,)
        The columns that a model asked for.
    """

    start: int
    x: FloatArray
    y: FloatArray
    extra: dict[str, FloatArray]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    r"""A sample in files, of which only blocks are ever in memory; made by `scan`.

    Rows are numbered through all files, in the order of `paths`. Blocks are cut by these numbers, so
    that they are the same for one file or fifty, in any format. A source holds no open file: it
    pickles, and workers that see the same paths can read from it.

    Parameters
    ----------
    files : tuple of SourceFile
        The files, and which rows each holds.
    x_names, y_names : tuple of str
        The columns of x and y.
    extra_names : tuple of str
        Other columns to read, for a model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sample.csv"
    >>> _ = path.write_text("x,y\n1,2\n2,3\n3,5\n")
    >>> scan(path, x="x", y="y").take([0, 2]).y
    array([[2.],
           [5.]])
    """

    files: tuple[SourceFile, ...]
    x_names: tuple[str, ...]
    y_names: tuple[str, ...]
    extra_names: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order of their rows."""
        return tuple(file.path for file in self.files)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The global number of the first row of each file, and n as the last entry."""
        return (*(file.start for file in self.files), self.n)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.files[-1].start + self.files[-1].rows

    @property
    def d_x(self) -> int:
        """Number of columns of x."""
        return len(self.x_names)

    @property
    def d_y(self) -> int:
        """Number of columns of y."""
        return len(self.y_names)

    def __repr__(self) -> str:
        names = f"x={list(self.x_names)}, y={list(self.y_names)}"
        files = f"{len(self.files)} {self.files[0].format} file{'s' * (len(self.files) > 1)}"
        return f"Source({self.n} rows in {files}, {names})"

    def with_extra(self, names: Names) -> Source:
        """Return the same source with other extra columns, which are checked in every file."""
        extra = tuple(dict.fromkeys(_names(names, "extra")))
        for file in self.files:
            check_columns(file.path, file.format, extra)
        return replace(self, extra_names=extra)

    def blocks(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Read rows in order, in blocks of exactly `size` rows (the last may be smaller).

        Parameters
        ----------
        size : int
            Rows in a block.
        start, stop : int, optional
            The global rows to read, all by default; the first block starts at `start`.

        Yields
        ------
        Block
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
            for row, batch in read_file(file, first, last, self._columns):
                done = 0
                while done < batch.num_rows:
                    count = min(room - filling.filled, batch.num_rows - done)
                    filling.add(file, range(row + done, row + done + count), batch.slice(done, count))
                    done += count
                    if filling.filled == room:
                        yield filling.block(begin)
                        begin, room = begin + room, min(size, stop - begin - room)
                        filling = _Filling(self, room)

    def batches(self) -> Iterator[tuple[int, dict[str, FloatArray]]]:
        """Yield batches of all rows, as the files have them: the first row, and columns, null as NaN."""
        for file in self.files:
            for row, batch in read_file(file, 0, file.rows, self._columns) if file.rows else ():
                yield file.start + row, {name: numbers(batch.column(name)) for name in self._columns}

    def text(self, name: str) -> AnyArray:
        """Read one more column of all rows as text, (n,): None where it is null."""
        pa, parts = arrow(), []
        for file in self.files:
            for _, batch in read_file(file, 0, file.rows, (name,), text=True) if file.rows else ():
                column = batch.column(name)
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                column = column.cast(pa.string()).dictionary_encode()
                known = np.array([*column.dictionary.to_pylist(), None], dtype=object)  # once each
                parts.append(known[np.asarray(column.indices.fill_null(len(known) - 1))])
        return np.concatenate(parts)

    def block_range(self, start: int, stop: int) -> Block:
        """Read the global rows from `start` up to, not including, `stop`."""
        if not start < stop:
            raise InputError(f"start must be below stop, got {start} and {stop}.")
        return next(self.blocks(stop - start, start, stop))

    def take(self, rows: IntArray | Sequence[int]) -> Block:
        """Read some rows, without loading the others into memory.

        Parameters
        ----------
        rows : array_like of int, shape (m,)
            Global row numbers, sorted.

        Returns
        -------
        Block
            m rows; its `start` is the first of them.
        """
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
            for start, stop in runs(file, local) if len(local) else ():
                for row, batch in read_file(file, start, stop, self._columns):
                    i, j = np.searchsorted(local, [row, row + batch.num_rows])
                    if i < j:
                        filling.add(file, local[i:j], batch.take(pa.array(local[i:j] - row)))
        return filling.block(int(wanted[0]))

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.x_names, *self.y_names, *self.extra_names)))


class _Filling:
    """A block while it is being filled, batch after batch."""

    def __init__(self, source: Source, size: int) -> None:
        self.x = np.empty((size, source.d_x))
        self.y = np.empty((size, source.d_y))
        self.extra = {name: np.empty(size) for name in source.extra_names}
        self.targets = [(name, self.x[:, j]) for j, name in enumerate(source.x_names)]
        self.targets += [(name, self.y[:, j]) for j, name in enumerate(source.y_names)]
        self.targets += list(self.extra.items())
        self.filled = 0

    def add(self, file: SourceFile, rows: range | IntArray, batch: Any) -> None:
        """Append the rows of a batch; `rows` are their numbers in the file."""
        bad: list[tuple[int, str]] = []
        for name, target in self.targets:
            column = batch.column(name)
            values = numbers(column)
            finite = np.isfinite(values)
            if not finite.all():
                first = int(np.argmin(finite))
                kind = "null" if not column[first].is_valid else f"{values[first]}"
                bad.append((first, f"Column {name!r} of {file.path} is {kind}"))
            target[self.filled : self.filled + len(rows)] = values
        if bad:
            # The first row over all columns, so that the message does not depend on their order.
            first, message = min(bad, key=lambda found: found[0])
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
    x, y : str or list of str
        The columns of x and y, which must be numeric.
    extra : str or list of str, optional
        Other numeric columns to read, for a model.

    Returns
    -------
    Source
        Its rows are counted; nothing else has been read (of CSV, the lines are counted).

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
    x_names, y_names = _names(x, "x"), _names(y, "y")
    if not y_names:
        raise InputError("y is empty. Pass the name of at least one column.")
    for what, names in (("x", x_names), ("y", y_names)):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"{what} names the column {twice[0]!r} twice. Name each column once.")
    extra_names = tuple(dict.fromkeys(_names(extra, "extra")))
    paths = expand(path)
    kinds = [format_of(each) for each in paths]
    for each, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(
                f"The files are of several formats: {paths[0]} is {kinds[0]} and {each} is {kind}. "
                "Pass files of one format."
            )
    wanted = tuple(dict.fromkeys(y_names + x_names + extra_names))
    files: list[SourceFile] = []
    start = 0
    for each, kind in zip(paths, kinds, strict=True):
        files.append(describe(each, kind, wanted, start))
        start += files[-1].rows
    if start < MIN_ROWS:
        raise ShapeError(f"The test needs at least {MIN_ROWS} rows, got {start} in {paths[0]}.")
    return Source(tuple(files), x_names, y_names, extra_names)


def _names(names: Any, what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputTypeError(
            f"{what} must be the name of a column or a list of names, got {type(names).__name__}."
        )
    return tuple(listed)
