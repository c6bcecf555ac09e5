"""Tables in files, or as text: which files a path stands for, and reading their columns."""

from __future__ import annotations

import difflib
import glob
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from condgof._typing import AnyArray
from condgof.errors import InputError, InputTypeError, by_asker, option
from condgof.sample._arrow import arrow, encode_text, kind_of_type, naming, values_of
from condgof.sample._column import Kind
from condgof.sample._formats import Csv, Feather, FileFormat, Parquet
from condgof.sample._number_text import NumberText, number_texts

#: How many names a message lists.
MAX_LISTED = 10
#: Bytes that a number takes in memory.
BYTES_PER_NUMBER = 8

PathLike: TypeAlias = str | os.PathLike[str]
#: The kinds that a column may hold, where it is asked for; the first is what a column
#: without any value is taken as.
Kinds: TypeAlias = tuple[Kind, ...]

NUMBERS: Kinds = (Kind.NUMBERS,)
#: As text alone, a column may hold anything.
TEXT: Kinds = (Kind.TEXT,)
LABELS: Kinds = (Kind.NUMBERS, Kind.TEXT)
ANY: Kinds = (Kind.NUMBERS, Kind.TEXT, Kind.DATES)

#: The formats by the endings of files.
FORMATS: Mapping[str, FileFormat] = {
    ".parquet": Parquet(),
    ".pq": Parquet(),
    ".csv": Csv(),
    ".tsv": Csv(delimiter="\t"),
    ".feather": Feather(),
    ".arrow": Feather(),
    ".ipc": Feather(),
}


class NumberedBatch(NamedTuple):
    """A batch of pyarrow, and the number in its file of the batch's first row."""

    row: int
    batch: Any


@dataclass(frozen=True, eq=False)
class DataFile:
    """One file of a table; or, in its place, the text of a CSV file."""

    #: What messages call it.
    label: str
    #: The path, or the text.
    path: str | bytes = field(repr=False)
    format: FileFormat
    #: The columns, also those that come twice.
    names: tuple[str, ...]
    #: The types of the columns, which are pyarrow's; of CSV, as the first block looks.
    types: Mapping[str, Any]
    #: The number of the first row among those of all files; see `counted`.
    start: int = 0
    #: How many rows there are; see `counted`.
    rows: int = 0

    @classmethod
    def from_path(cls, label: str, path: str | bytes, file_format: FileFormat) -> DataFile:
        """Read the names and types of the columns."""
        with naming(label, file_format.name):
            schema = file_format.schema(path)
            names = tuple(schema.names)  # decoded here, so that it may fail here
        return cls(
            label=label,
            path=path,
            format=file_format,
            names=names,
            types=dict(zip(names, schema.types, strict=True)),
        )

    def counted(self, start: int, kinds: Mapping[str, Kind]) -> DataFile:
        """Count the rows of a file whose first row has the number `start` among all."""
        with naming(self.label, self.format.name):
            rows = self.format.count_rows(self, kinds)
        return replace(self, start=start, rows=rows)

    def batches(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """Read the columns that `kinds` names, batch by batch."""
        return (numbered.batch for numbered in self.read(kinds))

    def read(
        self, kinds: Mapping[str, Kind], start: int = 0, stop: int | None = None
    ) -> Iterator[NumberedBatch]:
        """Read the rows from `start` up to, not including, `stop`, counted in the file."""
        with naming(self.label, self.format.name):
            row, batches = self.format.tail(start, self, kinds)
            for batch in batches:
                begin = max(start - row, 0)
                end = batch.num_rows if stop is None else min(stop - row, batch.num_rows)
                if begin < end:
                    yield NumberedBatch(row + begin, batch.slice(begin, end - begin))
                row += batch.num_rows
                if stop is not None and row >= stop:
                    return
        if stop is not None:
            raise InputError(
                f"{self.label} ends after {row} rows, and had {self.rows} when it was"
                " scanned. Scan it again, and leave the files alone while a test runs."
            )


@dataclass(frozen=True, eq=False)
class Table:
    """A table in files of one format, or in text; messages call it what the user wrote."""

    label: str
    files: tuple[DataFile, ...]
    #: The columns that are read, and what they hold: numbers, text or dates. See `reading`.
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @classmethod
    def from_path(
        cls, path: PathLike | Sequence[PathLike], csv: Csv | None = None
    ) -> Table:
        """Find the files that `scan` describes; read names and types of their columns.

        `csv` says how CSV files are written, unless that is to be found out.
        """
        arrow()
        found = _expand(path)
        formats = [_format_of(file.path, csv) for file in found]
        for file, file_format in zip(found, formats, strict=True):
            if file_format.name != formats[0].name:
                raise InputError(
                    f"The files are of several formats: {found[0].path} is"
                    f" {formats[0].name} and {file.path} is {file_format.name}. Pass files"
                    " of one format."
                )
            _check_readable(file.path)
        label = os.fspath(path) if isinstance(path, str | os.PathLike) else found[0].label
        files = [DataFile.from_path(file.label, file.path, formats[0]) for file in found]
        return cls(label, tuple(files))

    @classmethod
    def from_text(cls, label: str, text: bytes, csv: Csv | None = None) -> Table:
        """Read the names and types of the columns of CSV in memory."""
        return cls(label, (DataFile.from_path(label, text, csv or Csv()),))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first file, also those that come twice."""
        return self.files[0].names

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files; none where the table is text."""
        return tuple(file.path for file in self.files if isinstance(file.path, str))

    @property
    def utc(self) -> frozenset[str]:
        """The columns of dates with a time zone, which are read in UTC."""
        dates = [name for name, kind in self.kinds.items() if kind is Kind.DATES]
        return frozenset(name for name in dates if self._has_zone(name))

    def _has_zone(self, name: str) -> bool:
        return any(getattr(file.types[name], "tz", None) for file in self.files)

    @property
    def bytes(self) -> int:
        """An estimate of the memory that columns take; of CSV, the size of the files."""
        if not isinstance(self.files[0].format, Parquet):
            return sum(map(os.path.getsize, self.paths))
        rows = sum(file.counted(0, self.kinds).rows for file in self.files)
        return BYTES_PER_NUMBER * len(self.kinds) * rows

    def reading(self, wanted: Mapping[str, tuple[str, ...]]) -> Table:
        """Return the table with the columns to be read.

        Parameters
        ----------
        wanted : mapping of names of columns to kinds
            The kinds that a column may hold, such as `NUMBERS` or `ANY`; others raise.
        """
        kinds = {}
        for name, allowed in wanted.items():
            kinds[name] = self._kind(name, tuple(map(Kind, allowed)))
        return replace(self, kinds=kinds)

    def _kind(self, name: str, allowed: Kinds) -> Kind:
        """Return what a column holds in all files, or raise if that is not allowed."""
        kinds = {kind_of_type(self._type(file, name)) for file in self.files}
        if allowed == TEXT:
            return Kind.TEXT
        kinds.discard(Kind.NOTHING)
        if not kinds:
            return allowed[0]
        if len(kinds) == 1:
            (kind,) = kinds
        else:
            kind = Kind.OTHER if Kind.OTHER in kinds else Kind.TEXT
        if kind not in allowed:
            raise self._wrong_kind(name, kind, allowed)
        return kind

    def _type(self, file: DataFile, name: str) -> Any:
        """Return the type of a column in a file, which must have one of that name."""
        count = 1 if len(file.types) == len(file.names) else file.names.count(name)
        if name not in file.types:
            unlike = "" if file is self.files[0] else f", unlike {self.files[0].label}"
            raise InputError(
                f"{file.label} has no column {name!r}{unlike}. {hint(name, file.names)}"
            )
        if count > 1:
            raise InputError(
                f"{file.label} has {count} columns named {name!r}. Give each its own name."
            )
        return file.types[name]

    def _wrong_kind(self, name: str, kind: Kind, allowed: Kinds) -> InputTypeError:
        """Return the error of a column that holds a kind which is not allowed."""
        fine = (*allowed, Kind.NOTHING)
        wrong = [file for file in self.files if kind_of_type(file.types[name]) not in fine]
        file = wrong[0]
        if isinstance(file.format, Csv):
            # Reading the column raises an error that names the value and its row.
            for _ in file.batches({name: allowed[0]}):
                pass
        holds = "text" if kind is Kind.TEXT else f"values of type {file.types[name]}"
        advice = "Make numbers or text of it."
        if allowed == NUMBERS:
            advice = "Name a column of numbers."
        return InputTypeError(
            f"Column {name!r} of {file.label} holds {holds}, not {' or '.join(allowed)}."
            f" {advice}"
        )

    def batches(self) -> Iterator[dict[str, AnyArray]]:
        """Read the columns in batches, (m,) each, as `values_of` describes them."""
        for file in self.files:
            for batch in file.batches(self.kinds):
                with naming(file.label, file.format.name):
                    data = {
                        name: values_of(batch.column(name), kind)
                        for name, kind in self.kinds.items()
                    }
                yield data

    def refuse_number_text(self, name: str, levels: Sequence[str]) -> None:
        """Raise if a column of text, with these `levels`, holds numbers or dates."""
        odd_levels = number_texts(levels)
        if not odd_levels or any(_is_dictionary(file, name) for file in self.files):
            return
        row, value = self._first_row_with(name, frozenset(odd_levels))
        odd = NumberText.from_value(value)
        is_csv = isinstance(self.files[0].format, Csv)
        categorical = by_asker(
            python=f"categorical=[{name!r}]", command_line=f"--categorical {name}"
        )
        comma = f" Decimal commas are read with {option('decimal', repr(','))}."
        raise InputTypeError(
            f"Column {name!r} of {self.label} is text, and holds {odd.words} in row {row}"
            " (counted from 0). Text is taken as categories: make numbers or dates of it"
            f" first.{comma if is_csv and odd.has_decimal_comma else ''} If categories are"
            f" meant, name the column: {categorical}."
        )

    def _first_row_with(self, name: str, values: Collection[str]) -> tuple[int, str]:
        """Return the first row, of all files, with one of some values, and that value."""
        row = 0
        for file in self.files:
            for batch in file.batches({name: Kind.TEXT}):
                for position, value in enumerate(values_of(batch.column(name), Kind.TEXT)):
                    if value in values:
                        return row + position, str(value)
                row += batch.num_rows
        raise AssertionError(f"no row of {self.label} has any of {values}")

    def levels(self, name: str) -> tuple[str, ...]:
        """Read a column of text through, and return what occurs in it, sorted."""
        levels: set[str | None] = set()
        for file in self.files:
            for batch in file.batches({name: Kind.TEXT}):
                levels.update(encode_text(batch.column(name).unique()).levels)
        return tuple(sorted(level for level in levels if level is not None))


def _is_dictionary(file: DataFile, name: str) -> bool:
    """Whether a column has a type of categories, which says that text is meant."""
    return bool(arrow().types.is_dictionary(file.types[name]))


class FoundFile(NamedTuple):
    """A file that a path stands for."""

    #: The path as the user wrote it, or as the pattern was resolved.
    label: str
    #: The absolute path.
    path: str


def _expand(path: object) -> list[FoundFile]:
    """Return the files that a path, a pattern, a folder, or a list of these stands for."""
    entries = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(entries, Sequence) or not all(
        isinstance(each, str | os.PathLike) for each in entries
    ):
        raise InputTypeError(
            f"path must be a path or a list of paths, got {type(path).__name__}."
        )
    if not entries:
        raise InputError("path is an empty list. Pass at least one file.")
    files: list[FoundFile] = []
    for each in entries:
        name = os.path.expanduser(os.fspath(each))
        # A name that exists is meant as it is, even with brackets in it.
        exists = os.path.exists(name)
        matches = [name] if exists else sorted(glob.glob(name, recursive=True))
        members = [file for match in matches for file in _files_in(match)]
        if not members:
            raise InputError(
                f"No file matches {os.fspath(each)!r}. Check the path or the pattern."
            )
        files += [FoundFile(file, os.path.abspath(file)) for file in members]
    counts = Counter(file.path for file in files)
    for file_path, times in counts.items():
        if times > 1:
            raise InputError(
                f"{file_path} is named twice, and its rows would count twice. Name it once."
            )
    return files


def _files_in(path: str) -> list[str]:
    """Return a file's path itself; of a folder, the data files in it and below, sorted."""
    if not os.path.isdir(path):
        return [path]
    files = [file.relative_to(path) for file in Path(path).rglob("*") if not file.is_dir()]
    data = [file for file in files if file.suffix.lower() in FORMATS and not _hidden(file)]
    return sorted(os.path.join(path, file) for file in data)


def _hidden(file: Path) -> bool:
    """Whether a file, or a folder that it is in, is by custom no data but notes."""
    return any(part.startswith((".", "_")) for part in file.parts)


def _format_of(path: str, csv: Csv | None) -> FileFormat:
    ending = os.path.splitext(path)[1]
    try:
        found = FORMATS[ending.lower()]
        if csv is None or not isinstance(found, Csv):
            return found
        return Csv(csv.delimiter or found.delimiter, csv.decimal)
    except KeyError:
        raise InputError(
            f"{path} has the ending {ending!r}, which is none of {', '.join(FORMATS)}."
            " Convert the file, or rename it to say its format."
        ) from None


def _check_readable(path: str) -> None:
    """Raise if a file has a name that pyarrow cannot take, or cannot be read twice."""
    if path.encode(errors="ignore").decode() != path:
        raise InputError(
            f"The name of the file {path} is not in UTF-8: rename the file first."
        )
    if os.path.islink(path) and not os.path.exists(path):
        raise InputError(f"{path} is a link to a file that is not there.")
    if not os.path.isfile(path):
        raise InputError(
            f"{path} is a pipe or a device, and tables are read twice. Pass CSV on standard"
            f" input: condgof check - < {path}"
        )


def hint(name: str, names: Sequence[str]) -> str:
    """Say which columns may have been meant."""
    folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), 3)
    if not close:
        return f"Its columns are {list_names(names)}."
    meant = [repr(folded[key]) for key in close]
    return f"Did you mean {' or '.join(meant)}?"


def list_names(names: Sequence[str]) -> str:
    """List the first names, in quotes, and say how many more there are."""
    return list_texts([repr(name) for name in names])


def list_texts(texts: Sequence[str]) -> str:
    """List the first texts, and say how many more there are."""
    more = f" and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return ", ".join(texts[:MAX_LISTED]) + more
