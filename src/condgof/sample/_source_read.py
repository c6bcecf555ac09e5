"""Files of a sample: which a path stands for, and reading ranges of their rows in bounded memory.

Each file is a row of *pieces* that can be read without the ones before: row groups of Parquet, record
batches of Feather, and spans of lines of CSV. pyarrow's dataset scanner would do less: it buffers
whole Parquet files (334 MB for a file of 240 MB, against 26 MB here), and it cannot skip to a row.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, require

BATCH_ROWS = 1 << 16
BUFFER_BYTES = 1 << 20
PIECE_BYTES = 1 << 23

PathLike: TypeAlias = str | os.PathLike[str]

FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".ipc": "Feather",
}


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One file of a source: Parquet, CSV or Feather."""

    path: str
    format: str
    #: The global number of its first row.
    start: int
    #: The row of the file that each piece starts at, and the number of rows as the last entry.
    cuts: tuple[int, ...]
    #: The byte that each piece starts at (CSV); empty when a CSV file is read from its head only.
    offsets: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.cuts[-1]


def expand(path: Any) -> list[str]:
    """Return the files that a path, a pattern, a folder or a list of these stand for."""
    given = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, Sequence) or not all(isinstance(p, str | os.PathLike) for p in given):
        raise InputTypeError(f"path must be a path or a list of paths, got {type(path).__name__}.")
    if not given:
        raise InputError("path is an empty list. Pass at least one file.")
    paths: list[str] = []
    for each in given:
        name = os.path.expanduser(os.fspath(each))
        # A name that exists is meant as it is, even with brackets in it.
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        found = [file for match in matches for file in _files(match)]
        if not found:
            raise InputError(f"No file matches {os.fspath(each)!r}. Check the path or the pattern.")
        paths += [os.path.abspath(file) for file in found]
    if len(set(paths)) < len(paths):
        twice = next(file for file in paths if paths.count(file) > 1)
        raise InputError(f"{twice} is named twice, and its rows would count twice. Name it once.")
    return paths


def _files(path: str) -> list[str]:
    """Return the path of a file, or the data files in a folder and its subfolders, sorted.

    Names that start with a dot or an underscore are by custom not data, but notes of the writer.
    """
    if not os.path.isdir(path):
        return [path]
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        names = [name for name in files if not name.startswith((".", "_"))]
        found += [os.path.join(folder, name) for name in names if _ending(name) in FORMATS]
    return sorted(found)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def format_of(path: str) -> str:
    """Return the format that the ending of a file says."""
    kind = FORMATS.get(_ending(path))
    if kind is None:
        raise InputError(
            f"{path} has the ending {_ending(path)!r}, which is none of {', '.join(FORMATS)}. "
            "Convert the file, or rename it to say its format."
        )
    return kind


def arrow(part: str = "") -> Any:
    """Import pyarrow, or a part of it."""
    return require(f"pyarrow.{part}" if part else "pyarrow", "arrow", "Reading files")


@contextmanager
def _naming(path: str, kind: str, header: Sequence[str] = ()) -> Iterator[None]:
    """Turn pyarrow's errors into errors that name the file (and the column, when CSV tells it)."""
    try:
        yield
    except (arrow().ArrowException, OSError, EOFError) as error:
        text = re.search(r"column #(\d+):.*invalid value '(.*)'", str(error), re.DOTALL)
        if text and int(text[1]) < len(header):
            raise InputTypeError(
                f"Column {header[int(text[1])]!r} of {path} holds {text[2]!r}, which is not a number. "
                "Columns of a stream must be numeric: encode text or categories as numbers first."
            ) from error
        raise InputError(f"{path} cannot be read as {kind}: {error}") from error


def describe(path: str, kind: str, names: Sequence[str], start: int) -> SourceFile:
    """Check the columns of a file whose first row has the global number `start`, and find its pieces."""
    check_columns(path, kind, names)
    with _naming(path, kind):
        if kind == "Parquet":
            with arrow("parquet").ParquetFile(path) as file:
                groups = file.metadata
                sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
        elif kind == "Feather":
            with _feather(path, names[:1], mapped=True) as reader:
                sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        else:
            found = _csv_pieces(path)
            if found is not None:
                return SourceFile(path, kind, start, *found)
            unread = SourceFile(path, kind, start, (0,))
            sizes = [sum(batch.num_rows for batch in _csv_batches(unread, 0, names[:1]))]
    return SourceFile(path, kind, start, (0, *np.cumsum(sizes, dtype=np.int64).tolist()))


def check_columns(path: str, kind: str, names: Sequence[str]) -> None:
    """Raise unless the file has each of these columns once, as numbers."""
    schema = _schema(path, kind)
    try:
        schema.names  # noqa: B018  (pyarrow decodes them here)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8: convert it first.") from error
    types = arrow().types
    for name in names:
        count = schema.names.count(name)
        if not count:
            near = difflib.get_close_matches(name, schema.names, n=3)
            hint = "The nearest names are" if near else "Its columns are"
            listed = ", ".join(repr(other) for other in near or schema.names[:10])
            raise InputError(f"{path} has no column {name!r}. {hint}: {listed}.")
        if count > 1:
            raise InputError(f"{path} has {count} columns named {name!r}. Give each its own name.")
        kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        of_type = schema.field(name).type
        if not any(is_kind(of_type) for is_kind in kinds):
            raise InputTypeError(
                f"Column {name!r} of {path} is of type {of_type}, not numeric. "
                "Columns of a stream must be numeric: encode text or categories as numbers first."
            )


def read(
    file: SourceFile, start: int, stop: int, names: Sequence[str], *, text: bool = False
) -> Iterator[tuple[int, Any]]:
    """Read rows of a file (by their number in it, ``start < stop``) in batches of bounded size.

    Yields the number in the file of the first row of a batch, and the batch, a pyarrow.RecordBatch with
    the columns of `names` among its own. That they are wanted as `text`, only CSV has to know.
    """
    first = bisect_right(file.cuts, start) - 1
    last = bisect_left(file.cuts, stop)
    if file.format == "CSV":
        batches = _csv_batches(file, first, names, text)
    elif file.format == "Feather":
        batches = _feather_batches(file, first, last, names)
    else:
        batches = _parquet_batches(file, first, last, names)
    row = file.cuts[first]
    for batch in batches:
        skip, end = max(start - row, 0), min(stop - row, batch.num_rows)
        if skip < end:
            yield row + skip, batch.slice(skip, end - skip)
        row += batch.num_rows
        if row >= stop:
            return
    raise InputError(
        f"{file.path} ends after {row} rows, and had {file.rows} when it was scanned. "
        "Scan it again, and leave the files alone while a test runs."
    )


def numbers(column: Any) -> FloatArray:
    """Return a column of a batch as doubles, null as NaN."""
    # Unsafe only in that integers above 2**53 are rounded, as they are in NumPy.
    cast = column.cast(arrow().float64(), safe=False)
    return np.asarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)


def runs(file: SourceFile, rows: Any) -> Iterator[tuple[int, int]]:
    """Yield spans (start, stop) of whole pieces that cover sorted rows of a file."""
    cuts = np.asarray(file.cuts)
    pieces = np.unique(np.searchsorted(cuts, rows, side="right") - 1)
    for run in np.split(pieces, np.flatnonzero(np.diff(pieces) > 1) + 1):
        yield int(cuts[run[0]]), int(cuts[run[-1] + 1])


def schema_of(source: Any, kind: str) -> Any:
    """Read the names and types of the columns of a file (of CSV also a buffer), as its head has them."""
    if kind == "Parquet":
        return arrow("parquet").read_schema(source)
    if kind == "Feather":
        with arrow("ipc").open_file(source) as reader:
            return reader.schema
    parse = arrow("csv").ParseOptions(newlines_in_values=True)
    with arrow("csv").open_csv(source, parse_options=parse) as reader:
        return reader.schema


def _schema(path: str, kind: str) -> Any:
    with _naming(path, kind):
        return schema_of(path, kind)


def _parquet_batches(file: SourceFile, first: int, last: int, names: Sequence[str]) -> Iterator[Any]:
    with (
        _naming(file.path, file.format),
        # Without a buffer of its own size, pyarrow reads whole column chunks.
        arrow("parquet").ParquetFile(file.path, buffer_size=BUFFER_BYTES, pre_buffer=False) as reader,
    ):
        yield from reader.iter_batches(BATCH_ROWS, row_groups=range(first, last), columns=list(names))


def _feather(path: str, names: Sequence[str], mapped: bool = False) -> Any:
    pa, ipc = arrow(), arrow("ipc")
    schema = _schema(path, "Feather")
    options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
    return ipc.open_file(pa.memory_map(path) if mapped else pa.OSFile(path), options=options)


def _feather_batches(file: SourceFile, first: int, last: int, names: Sequence[str]) -> Iterator[Any]:
    with _naming(file.path, file.format), _feather(file.path, names) as reader:
        for i in range(first, min(last, reader.num_record_batches)):
            yield reader.get_batch(i)


def _csv_batches(
    file: SourceFile, first: int, names: Sequence[str], text: bool = False
) -> Iterator[Any]:
    pa, csv = arrow(), arrow("csv")
    schema = _schema(file.path, file.format)
    # Types are said, not guessed: integers in the first block would make a later 1.5 an error.
    boolean = {name for name in names if pa.types.is_boolean(schema.field(name).type)}
    types = {name: pa.bool_() if name in boolean else pa.float64() for name in names}
    types = dict.fromkeys(names, pa.string()) if text else types
    with _naming(file.path, file.format, schema.names), pa.OSFile(file.path) as handle:
        if first > 0:
            handle.seek(file.offsets[first])
        with csv.open_csv(
            handle,
            # Only the head of the file has a header.
            read_options=csv.ReadOptions(column_names=schema.names if first > 0 else None),
            parse_options=csv.ParseOptions(newlines_in_values=not file.offsets),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(names),
                strings_can_be_null=text,
                quoted_strings_can_be_null=False,
            ),
        ) as reader:
            yield from reader


def _csv_pieces(path: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Find where spans of lines start, or None if lines are not rows (quoted newlines, blank lines)."""
    offsets, lines, rest = [0], [0], b""
    with open(path, "rb") as handle:
        while data := handle.read(PIECE_BYTES):
            data = rest + data
            end = data.rfind(b"\n") + 1
            data, rest = data[:end], data[end:]
            if _is_irregular(data):
                return None
            if end:
                offsets.append(offsets[-1] + end)
                lines.append(lines[-1] + data.count(b"\n"))
    if rest:
        if _is_irregular(rest):
            return None
        offsets.append(offsets[-1] + len(rest))
        lines.append(lines[-1] + 1)
    # The header is a line and not a row; the first piece keeps it.
    cuts = (0, *(count - 1 for count in lines[1:]))
    return cuts, tuple(offsets[:-1])


def _is_irregular(lines: bytes) -> bool:
    """Whether some line is blank, or some newline is quoted (after an odd number of quotes)."""
    if lines.startswith((b"\n", b"\r\n")) or b"\n\n" in lines:
        return True
    # Searching for several bytes is slow, and most files have no carriage return.
    if b"\r" in lines and (b"\n\r\n" in lines or lines.count(b"\r") != lines.count(b"\r\n")):
        return True
    if b'"' in lines:
        characters = np.frombuffer(lines, dtype=np.uint8)
        quotes = np.flatnonzero(characters == ord('"'))
        newlines = np.flatnonzero(characters == ord("\n"))
        return bool((np.searchsorted(quotes, newlines) % 2).any())
    return False
