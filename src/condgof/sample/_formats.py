"""Formats of files: Parquet, Feather and CSV, each read batch by batch in bounded memory.

pyarrow's dataset scanner is not used: it buffers whole files (334 MB, against 26 MB here),
and cannot skip to a row.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from condgof.errors import InputError, InputTypeError, shown
from condgof.sample._arrow import arrow
from condgof.sample._column import Kind
from condgof.sample._number_text import NumberText, form_of

if TYPE_CHECKING:
    from condgof.sample._table import DataFile

#: Rows that are read from a Parquet file at a time.
BATCH_ROWS = 1 << 16
#: Bytes of a Parquet file that pyarrow buffers for each column.
BUFFER_BYTES = 1 << 20
#: Bytes of a CSV file in which its first line is looked for.
HEADER_BYTES = 1 << 20
#: What may be between the columns of a CSV file, if nobody says it.
DELIMITERS = (",", ";", "\t", "|")


class Tail(NamedTuple):
    """The rows of a file from some row on."""

    #: The number in the file of the first row of the first batch.
    first_row: int
    #: Batches of pyarrow, in their order.
    batches: Iterator[Any]


class FileFormat(ABC):
    """How files of one format are read."""

    #: What messages call the format.
    name: ClassVar[str]

    @abstractmethod
    def schema(self, path: str | bytes) -> Any:
        """Return pyarrow's schema of a file: the names and types of its columns."""

    @abstractmethod
    def batches(self, file: DataFile, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """Read the columns that `kinds` names, all rows, batch by batch."""

    def count_rows(self, file: DataFile, kinds: Mapping[str, Kind]) -> int:
        """Count the rows of a file, by reading the first column of `kinds`."""
        first = dict(list(kinds.items())[:1])
        return sum(batch.num_rows for batch in self.batches(file, first))

    def tail(self, start: int, file: DataFile, kinds: Mapping[str, Kind]) -> Tail:
        """Read batches from the row `start` on, or from a row before it."""
        return Tail(first_row=0, batches=self.batches(file, kinds))


class Parquet(FileFormat):
    """Parquet, of which groups of rows can be skipped, and rows are counted in advance."""

    name = "Parquet"

    def schema(self, path: str | bytes) -> Any:
        return arrow("parquet").read_schema(path)

    def batches(self, file: DataFile, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        return self._batches(file, kinds, first_group=0)

    def count_rows(self, file: DataFile, kinds: Mapping[str, Kind]) -> int:
        return int(arrow("parquet").read_metadata(file.path).num_rows)

    def tail(self, start: int, file: DataFile, kinds: Mapping[str, Kind]) -> Tail:
        metadata = arrow("parquet").read_metadata(file.path)
        groups = range(metadata.num_row_groups)
        sizes = [metadata.row_group(i).num_rows for i in groups]
        first_group = int(np.searchsorted(np.cumsum(sizes), start, side="right"))
        batches = self._batches(file, kinds, first_group)
        return Tail(first_row=sum(sizes[:first_group]), batches=batches)

    def _batches(
        self, file: DataFile, kinds: Mapping[str, Kind], first_group: int
    ) -> Iterator[Any]:
        # Without a buffer of this size, pyarrow reads whole columns of a group.
        reader = arrow("parquet").ParquetFile(
            file.path, buffer_size=BUFFER_BYTES, pre_buffer=False
        )
        with reader:
            groups = range(first_group, reader.num_row_groups)
            yield from reader.iter_batches(
                BATCH_ROWS, row_groups=groups, columns=list(kinds)
            )


class Feather(FileFormat):
    """Feather, which is Arrow's own format of files."""

    name = "Feather"

    def schema(self, path: str | bytes) -> Any:
        with arrow("ipc").open_file(path) as reader:
            return reader.schema

    def batches(self, file: DataFile, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        ipc = arrow("ipc")
        positions = [file.names.index(name) for name in kinds]
        options = ipc.IpcReadOptions(included_fields=positions)
        with ipc.open_file(arrow().OSFile(file.path), options=options) as reader:
            yield from map(reader.get_batch, range(reader.num_record_batches))


@dataclass(frozen=True)
class Csv(FileFormat):
    """CSV in UTF-8, in a file or in memory, whose columns are as the first block looks.

    Names of columns are read without the spaces around them.

    Parameters
    ----------
    delimiter : str, optional
        What is between columns; found in the first line unless given.
    decimal : str
        What is between the whole part of a number and its fraction.
    """

    delimiter: str | None = None
    decimal: str = "."

    name = "CSV"

    def __post_init__(self) -> None:
        for option, mark in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if mark is not None and (
                not isinstance(mark, str) or len(mark) != 1 or mark in '"\n\r'
            ):
                raise InputError(f"{option} must be one character, got {shown(mark)}.")
        if self.decimal == self.delimiter:
            raise InputError(
                f"decimal and delimiter are both {self.decimal!r}. Numbers and columns need"
                " different marks."
            )

    def schema(self, path: str | bytes) -> Any:
        csv = arrow("csv")
        with _opened(path) as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                raise InputError("The table is text in UTF-16: convert it to UTF-8 first.")
            file.seek(0)
            with csv.open_csv(
                file,
                parse_options=self._parse_options(path),
                convert_options=csv.ConvertOptions(decimal_point=self.decimal),
            ) as reader:
                schema = reader.schema
        names = [name.strip() for name in schema.names]
        fields = zip(names, schema.types, strict=True)
        return arrow().schema([arrow().field(name, type_) for name, type_ in fields])

    def _parse_options(self, path: str | bytes) -> Any:
        return arrow("csv").ParseOptions(
            delimiter=self.delimiter or find_delimiter(_first_line(path)),
            newlines_in_values=True,
        )

    def batches(self, file: DataFile, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        csv = arrow("csv")
        # Types are said and not guessed: integers in the first block would make a later
        # 1.5 an error.
        types = {name: _csv_type(file.types[name], kind) for name, kind in kinds.items()}
        convert = csv.ConvertOptions(
            column_types=types,
            include_columns=list(kinds),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # "NA" in quotes is a name
            decimal_point=self.decimal,
        )
        # The names without spaces take the place of those in the first line.
        read = csv.ReadOptions(column_names=list(file.names), skip_rows_after_names=1)
        with _opened(file.path) as handle:
            try:
                with csv.open_csv(
                    handle,
                    read_options=read,
                    parse_options=self._parse_options(file.path),
                    convert_options=convert,
                ) as reader:
                    yield from reader
            except arrow().ArrowInvalid as error:
                message = str(error)
                odd = re.search(r"column #(\d+):.*invalid value '(.*)'", message, re.DOTALL)
                if odd is None or int(odd[1]) >= len(file.names):
                    raise
                name = file.names[int(odd[1])]
                raise _wrong_value(file, name, odd[2], kinds[name]) from error


def find_delimiter(line: str) -> str:
    """Find what is between columns in the first line of a table: a comma, unless none is.

    Examples
    --------
    >>> find_delimiter("age;income;food"), find_delimiter('"a;b",c')
    (';', ',')
    """
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {mark: bare.count(mark) for mark in DELIMITERS}
    if counts[","]:
        return ","
    most = max(counts, key=lambda mark: counts[mark])
    return most if counts[most] else ","


def _first_line(source: str | bytes) -> str:
    """Return the first line of a CSV file, or of its text."""
    with _opened(source) as file:
        start = file.read(HEADER_BYTES)
    text: str = bytes(start).decode("utf-8-sig", errors="replace")
    return text.partition("\n")[0]


def _opened(source: str | bytes) -> Any:
    """Return a file of pyarrow's: that of a path, or one that holds the bytes."""
    pa = arrow()
    return pa.OSFile(source) if isinstance(source, str) else pa.BufferReader(source)


def _csv_type(first_type: Any, kind: Kind) -> Any:
    """Return the type as which a column of CSV is read, whose first block has another."""
    pa = arrow()
    if kind is Kind.TEXT:
        return pa.string()
    if kind is Kind.NUMBERS:
        return first_type if pa.types.is_boolean(first_type) else pa.float64()
    return first_type if getattr(first_type, "tz", None) else pa.timestamp("us")


def _wrong_value(file: DataFile, name: str, value: str, kind: Kind) -> InputTypeError:
    """Return the error of a column of CSV that holds neither a number nor a date."""
    row = 0
    for batch in file.batches({name: Kind.TEXT}):
        position = arrow("compute").index(batch.column(name), value).as_py()
        if position >= 0:
            row += position
            break
        row += batch.num_rows
    singular = kind.removesuffix("s")
    odd = NumberText.from_value(value)
    written = shown(value) if form_of(value) is None else odd.words
    comma = " (or read with a decimal comma, --decimal ,)" if odd.has_decimal_comma else ""
    return InputTypeError(
        f"Column {name!r} of {file.label} holds {written}, which is not a {singular}, in"
        f" row {row} (counted from 0). Correct it{comma}, or name another column; of x,"
        " --categorical takes it as text."
    )
