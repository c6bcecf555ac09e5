"""Tables in files, or as text: which files a path stands for, and reading columns in bounded memory.

Of Parquet, row groups are skipped; other formats are read from their head. pyarrow's
dataset scanner buffers whole files (334 MB, against 26 MB here), and cannot skip to a row.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, InputTypeError, MissingPackageError, require
from condgof.sample._values import as_days

BATCH_ROWS = 1 << 16
BUFFER_BYTES = 1 << 20
#: How many names a message lists.
LISTED = 10

PathLike: TypeAlias = str | os.PathLike[str]

FORMATS = dict.fromkeys((".parquet", ".pq"), "Parquet") | {".csv": "CSV"}
FORMATS |= dict.fromkeys((".feather", ".arrow", ".ipc"), "Feather")
#: What a column may be asked for as: the kinds that it may hold. As TEXT alone it may hold
#: anything.
NUMBERS, TEXT, LABELS = ("numbers",), ("text",), ("numbers", "text")
ANY = ("numbers", "text", "dates")


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns in memory, which need no frame library: numbers, dates, and text as objects."""

    #: The columns, (n,) each, without missing values; read-only from here on.
    data: Mapping[str, AnyArray]
    #: Whether one column is meant as (n,), as a Series is.
    flat: bool = False
    #: Columns of dates that had a time zone.
    utc: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for values in self.data.values():
            values.flags.writeable = False

    @property
    def columns(self) -> list[str]:
        return list(self.data)

    @property
    def name(self) -> str:
        """The first of the names, which is that of one column."""
        return next(iter(self.data))

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),) if self.flat else (len(self), len(self.data))

    def __len__(self) -> int:
        return len(self.data[self.name])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        values = np.column_stack(list(self.data.values())).reshape(self.shape)
        return np.asarray(values, dtype=dtype)

    def __getitem__(self, rows: Any) -> Frame:
        return Frame(
            {name: values[rows] for name, values in self.data.items()}, self.flat, self.utc
        )

    def get_column(self, name: str) -> AnyArray:
        return self.data[name]

    def pandas(self) -> Any:
        """Return a frame of pandas, or itself where that is not installed."""
        try:
            frame = require("pandas", "frames", "A frame").DataFrame(dict(self.data))
        except MissingPackageError:
            return self
        for name in self.utc:
            frame[name] = frame[name].dt.tz_localize("UTC")
        return frame


@dataclass(frozen=True, eq=False)
class DataFile:
    """One file of a table; or, in its place, the text of a CSV file."""

    label: str
    path: str | bytes = field(repr=False)
    format: str
    #: The columns, also those that come twice, and their types; of CSV, as the first block
    #: looks.
    names: tuple[str, ...]
    types: Mapping[str, Any]
    #: The global number of the first row, and how many there are; see `counted`.
    start: int = 0
    rows: int = 0

    @classmethod
    def of(cls, label: str, path: str | bytes, kind: str) -> DataFile:
        """Read the names and types of the columns."""
        with naming(label, kind):
            schema = _schema(path, kind)
            types = dict(zip(schema.names, schema.types, strict=True))
            return cls(label, path, kind, tuple(schema.names), types)

    def counted(self, start: int, kinds: Mapping[str, str]) -> DataFile:
        """Count the rows of a file whose first row has the global number `start`."""
        with naming(self.label, self.format):
            if self.format == "Parquet":
                rows = arrow("parquet").read_metadata(self.path).num_rows
            else:
                rows = sum(
                    batch.num_rows for batch in self.batches(dict(list(kinds.items())[:1]))
                )
        return replace(self, start=start, rows=rows)

    def batches(self, kinds: Mapping[str, str]) -> Iterator[Any]:
        """Read the columns that `kinds` names, batch by batch."""
        return (batch for _, batch in self.read(kinds))

    def read(
        self, kinds: Mapping[str, str], start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Read rows by their number in the file: yield that of the first of a batch, and the batch."""
        readers: dict[str, Any] = {"CSV": _csv_batches, "Feather": _feather_batches}
        with naming(self.label, self.format):
            row, last = 0, float("inf") if stop is None else stop
            if self.format == "Parquet":
                groups = arrow("parquet").read_metadata(self.path)
                sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
                skipped = int(np.searchsorted(np.cumsum(sizes), start, side="right"))
                row, readers["Parquet"] = (
                    sum(sizes[:skipped]),
                    partial(_parquet_batches, skipped),
                )
            for batch in readers[self.format](self, kinds):
                skip, rows = max(start - row, 0), min(last - row, batch.num_rows)
                if skip < rows:
                    yield row + skip, batch.slice(skip, rows - skip)
                row += batch.num_rows
                if row >= last:
                    return
        if stop is not None:
            told = (
                f"{self.label} ends after {row} rows, and had {self.rows} when it was"
                " scanned"
            )
            raise InputError(
                f"{told}. Scan it again, and leave the files alone while a test runs."
            )


@dataclass(frozen=True, eq=False)
class Table:
    """A table in files of one format, or in text; messages call it what the user wrote."""

    label: str
    files: tuple[DataFile, ...]
    #: The columns that are read, and what they hold: "numbers", "text" or "dates"; see
    #: `reading`.
    kinds: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, path: PathLike | Sequence[PathLike]) -> Table:
        """Find the files that `scan` describes, and read the names and types of their columns."""
        arrow()
        files = _expand(path)
        kinds = []
        for _, each in files:
            ending = os.path.splitext(each)[1]
            kinds.append(FORMATS.get(ending.lower(), ""))
            if not kinds[-1]:
                raise InputError(
                    f"{each} has the ending {ending!r}, which is none of"
                    f" {', '.join(FORMATS)}. Convert the file, or rename it to say its"
                    " format."
                )
            if kinds[-1] != kinds[0]:
                both = f"{files[0][1]} is {kinds[0]} and {each} is {kinds[-1]}"
                raise InputError(
                    f"The files are of several formats: {both}. Pass files of one format."
                )
            if each.encode(errors="ignore").decode() != each:
                raise InputError(
                    f"The name of the file {each} is not in UTF-8: rename the file first."
                )
            if not os.path.isfile(each):
                advice = f"Pass CSV on standard input: condgof check - < {each}"
                raise InputError(
                    f"{each} is a pipe or a device, and tables are read twice. {advice}"
                )
        label = os.fspath(path) if isinstance(path, str | os.PathLike) else files[0][0]
        return cls(label, tuple(DataFile.of(*each, kinds[0]) for each in files))

    @classmethod
    def of_text(cls, label: str, text: bytes) -> Table:
        return cls(label, (DataFile.of(label, text, "CSV"),))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first file, also those that come twice."""
        return self.files[0].names

    @property
    def paths(self) -> tuple[str, ...]:
        """None where there is text."""
        return tuple(file.path for file in self.files if isinstance(file.path, str))

    @property
    def utc(self) -> frozenset[str]:
        """The columns of dates with a time zone, which are read in UTC."""
        dates = [name for name, kind in self.kinds.items() if kind == "dates"]
        return frozenset(
            n for n in dates if any(getattr(f.types[n], "tz", None) for f in self.files)
        )

    @property
    def bytes(self) -> int:
        """An estimate of the memory that the columns take that are read; of CSV, the size of files."""
        if self.files[0].format != "Parquet":
            return sum(map(os.path.getsize, self.paths))
        with naming(self.label, "Parquet"):
            rows = (arrow("parquet").read_metadata(path).num_rows for path in self.paths)
            return 8 * len(self.kinds) * int(sum(rows))

    def reading(self, wanted: Mapping[str, tuple[str, ...]]) -> Table:
        """Return the table with the columns to be read, and the kinds that each may hold."""
        kinds = {}
        for name, may in wanted.items():
            found = {_kind(self._type(file, name)) for file in self.files} - {"nothing"}
            mixed = "else" if "else" in found else "text"
            kinds[name] = mixed if len(found) > 1 else next(iter(found), may[0])
            if may == TEXT:
                kinds[name] = "text"
            elif kinds[name] not in may:
                file = next(
                    f for f in self.files if _kind(f.types[name]) not in (*may, "nothing")
                )
                for _ in file.batches({name: may[0]}) if file.format == "CSV" else ():
                    pass  # this says which value it is, and where
                held = (
                    "text"
                    if kinds[name] == "text"
                    else f"values of type {file.types[name]}"
                )
                advice = (
                    "Name a column of numbers."
                    if may == NUMBERS
                    else "Make numbers or text of it."
                )
                told = (
                    f"Column {name!r} of {file.label} holds {held}, not {' or '.join(may)}"
                )
                raise InputTypeError(f"{told}. {advice}")
        return replace(self, kinds=kinds)

    def _type(self, file: DataFile, name: str) -> Any:
        count = file.names.count(name)
        if not count:
            unlike = "" if file is self.files[0] else f", unlike {self.files[0].label}"
            raise InputError(
                f"{file.label} has no column {name!r}{unlike}. {hint(name, file.names)}"
            )
        if count > 1:
            raise InputError(
                f"{file.label} has {count} columns named {name!r}. Give each its own name."
            )
        return file.types[name]

    def batches(self) -> Iterator[dict[str, AnyArray]]:
        """Read the columns in batches, as the files have them; see `values_of`."""
        for file in self.files:
            for batch in file.batches(self.kinds):
                with naming(file.label, file.format):
                    data = {
                        n: values_of(batch.column(n), kind)
                        for n, kind in self.kinds.items()
                    }
                yield data

    def levels(self, name: str) -> tuple[str, ...]:
        """Read a column of text through, and return what occurs in it, sorted."""
        levels: set[str | None] = set()
        for file in self.files:
            for batch in file.batches({name: "text"}):
                levels.update(_dictionary(batch.column(name).unique())[0])
        return tuple(sorted(level for level in levels if level is not None))


def _expand(path: object) -> list[tuple[str, str]]:
    given = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, Sequence) or not all(
        isinstance(p, str | os.PathLike) for p in given
    ):
        raise InputTypeError(
            f"path must be a path or a list of paths, got {type(path).__name__}."
        )
    if not given:
        raise InputError("path is an empty list. Pass at least one file.")
    files = []
    for each in given:
        name = os.path.expanduser(os.fspath(each))
        # A name that exists is meant as it is, even with brackets in it.
        matches = (
            [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        )
        members = [file for match in matches for file in _files(match)]
        if not members:
            raise InputError(
                f"No file matches {os.fspath(each)!r}. Check the path or the pattern."
            )
        files += [(file, os.path.abspath(file)) for file in members]
    paths = [file for _, file in files]
    if twice := [file for file in dict.fromkeys(paths) if paths.count(file) > 1]:
        raise InputError(
            f"{twice[0]} is named twice, and its rows would count twice. Name it once."
        )
    return files


def _files(path: str) -> list[str]:
    """Return the path of a file, or the data files in a folder and its subfolders, sorted."""
    if not os.path.isdir(path):
        return [path]
    inside = [file.relative_to(path) for file in Path(path).rglob("*") if not file.is_dir()]
    # Names that start with a dot or an underscore are by custom not data, but notes of the
    # writer.
    hidden = (".", "_")
    data = [
        file for file in inside if not any(part.startswith(hidden) for part in file.parts)
    ]
    return sorted(
        os.path.join(path, file) for file in data if file.suffix.lower() in FORMATS
    )


def hint(name: str, names: Sequence[str]) -> str:
    """Say which columns may have been meant."""
    folded = {each.casefold(): each for each in names}
    near = [
        repr(folded[key])
        for key in difflib.get_close_matches(name.casefold(), list(folded), 3)
    ]
    return (
        f"Did you mean {' or '.join(near)}?" if near else f"Its columns are {few(names)}."
    )


def few(names: Sequence[str]) -> str:
    return some([repr(name) for name in names])


def some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


def arrow(part: str = "") -> Any:
    return require(f"pyarrow.{part}" if part else "pyarrow", "arrow", "Reading files")


@contextmanager
def naming(label: str, kind: str) -> Iterator[None]:
    """Turn pyarrow's errors into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not text in UTF-8: convert it first.") from error
    except (arrow().ArrowException, OSError, EOFError) as error:
        reason = str(error).strip().partition("\n")[0]
        empty = "is empty. A table with the columns of x and y is needed."
        told = empty if "mpty CSV" in reason else f"cannot be read as {kind}: {reason}"
        raise InputError(f"{label} {told}") from error


def _schema(source: str | bytes, kind: str) -> Any:
    if kind == "Parquet":
        return arrow("parquet").read_schema(source)
    if kind == "Feather":
        with arrow("ipc").open_file(source) as reader:
            return reader.schema
    with _opened(source) as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError("The table is text in UTF-16: convert it to UTF-8 first.")
        file.seek(0)
        parse = arrow("csv").ParseOptions(newlines_in_values=True)
        with arrow("csv").open_csv(file, parse_options=parse) as reader:
            return reader.schema


def _opened(source: str | bytes) -> Any:
    return (
        arrow().OSFile(source) if isinstance(source, str) else arrow().BufferReader(source)
    )


def _kind(of_type: Any) -> str:
    types = arrow().types
    if types.is_dictionary(of_type):
        return "text" if _kind(of_type.value_type) == "text" else "else"
    kinds = {
        "numbers": (
            types.is_integer,
            types.is_floating,
            types.is_decimal,
            types.is_boolean,
        ),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "dates": (types.is_date, types.is_timestamp),
        "nothing": (types.is_null,),
    }
    return next(
        (name for name, tests in kinds.items() if any(t(of_type) for t in tests)), "else"
    )


def values_of(column: Any, kind: str) -> AnyArray:
    """Return a column of a batch: doubles with NaN, text as objects with None, dates with NaT."""
    if kind == "text":
        levels, codes = _dictionary(column)
        known: AnyArray = np.array([*levels, None], dtype=object)
        return known[codes]
    pa = arrow()
    # Unsafe only in that integers above 2**53 are rounded, as they are in NumPy.
    cast = column.cast(
        pa.float64() if kind == "numbers" else pa.timestamp("us"), safe=False
    )
    return np.asarray(cast.to_numpy(zero_copy_only=False))


def _dictionary(column: Any) -> tuple[list[str | None], AnyArray]:
    """Return the levels of a column, as text, and the number of each row among them, -1 for null."""
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1)
    return column.dictionary.cast(pa.string()).to_pylist(), np.asarray(codes)


def numbers_of(column: object, kind: str, levels: Sequence[str] | None) -> AnyArray:
    """Return a column of a batch as numbers, NaN where it is null: days, positions among levels."""
    if not levels:
        values = values_of(column, kind)
        return np.asarray(as_days(values)) if kind == "dates" else values
    known, codes = _dictionary(column)
    places = {level: float(i) for i, level in enumerate(levels)}
    return np.array([*(places.get(str(level), np.nan) for level in known), np.nan])[codes]


def _parquet_batches(skipped: int, file: DataFile, names: Iterable[str]) -> Iterator[Any]:
    # Without a buffer of its own size, pyarrow reads whole column chunks.
    options: dict[str, Any] = {"buffer_size": BUFFER_BYTES, "pre_buffer": False}
    with arrow("parquet").ParquetFile(file.path, **options) as reader:
        groups = range(skipped, reader.num_row_groups)
        yield from reader.iter_batches(BATCH_ROWS, row_groups=groups, columns=list(names))


def _feather_batches(file: DataFile, names: Iterable[str]) -> Iterator[Any]:
    pa, ipc = arrow(), arrow("ipc")
    options = ipc.IpcReadOptions(included_fields=[file.names.index(name) for name in names])
    with ipc.open_file(pa.OSFile(file.path), options=options) as reader:
        yield from map(reader.get_batch, range(reader.num_record_batches))


def _csv_batches(file: DataFile, kinds: Mapping[str, str]) -> Iterator[Any]:
    pa, csv = arrow(), arrow("csv")

    def of_kind(name: str, kind: str) -> Any:
        """Say types, do not guess: integers in the first block would make a later 1.5 an error."""
        held = file.types[name]
        if kind == "text":
            return pa.string()
        if kind == "numbers":
            return held if pa.types.is_boolean(held) else pa.float64()
        return held if getattr(held, "tz", None) else pa.timestamp("us")

    options = {
        "parse_options": csv.ParseOptions(newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types={name: of_kind(name, kind) for name, kind in kinds.items()},
            include_columns=list(kinds),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # "NA" in quotes is a name
        ),
    }
    with _opened(file.path) as handle:
        try:
            with csv.open_csv(handle, **options) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            told = re.search(r"column #(\d+):.*invalid value '(.*)'", str(error), re.DOTALL)
            if told is None or int(told[1]) >= len(file.names):
                raise
            raise _not_numbers(file, file.names[int(told[1])], told[2], kinds) from error


def _not_numbers(
    file: DataFile, name: str, value: str, kinds: Mapping[str, str]
) -> InputTypeError:
    """Return the error of a column of CSV in which something is neither a number nor a date."""
    row = 0
    for batch in file.batches({name: "text"}):
        at = arrow("compute").index(batch.column(name), value).as_py()
        row += batch.num_rows if at < 0 else at
        if at >= 0:
            break
    holds = (
        f"holds {value!r}, which is not a {kinds[name][:-1]}, in row {row} (counted from 0)"
    )
    advice = "Correct it, or name another column; of x, --categorical takes it as text."
    return InputTypeError(f"Column {name!r} of {file.label} {holds}. {advice}")
