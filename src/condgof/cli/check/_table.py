"""A user's table: which columns it has, and reading some of them whole."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.cli.check._columns import Roles
from condgof.cli.check._pick import number_of
from condgof.errors import InputError, InputTypeError
from condgof.sample import arrow, data_format, data_paths, schema_of

#: What the command line calls standard input, and how messages do.
STDIN, STDIN_LABEL = "-", "standard input"


@dataclass(frozen=True, eq=False)
class Table:
    """A table in files, or on standard input; messages call it what the user wrote."""

    label: str
    #: The files, none for standard input, and their format: Parquet, CSV or Feather.
    paths: tuple[str, ...]
    kind: str
    #: Of the first file; of CSV, as the first block looks.
    types: dict[str, Any]
    #: Also those that come twice.
    names: tuple[str, ...]
    text: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, data: str) -> Table:
        """Find the files and read the names of their columns."""
        arrow()
        if data == STDIN:
            return cls.of_text(STDIN_LABEL, sys.stdin.buffer.read())
        paths = tuple(data_paths(data))
        odd = [path for path in paths if path.encode(errors="ignore").decode() != path]
        if odd:
            raise InputError(f"The name of the file {odd[0]} is not in UTF-8: rename the file first.")
        kinds = {data_format(path) for path in paths}
        if len(kinds) > 1:
            raise InputError(
                f"{data} stands for files of several formats ({', '.join(sorted(kinds))}). "
                "Name files of one format."
            )
        kind = kinds.pop()
        for path in paths:
            if not os.path.isfile(path):
                raise InputError(
                    f"{path} is a pipe or a device, and tables are read twice. Pass CSV on standard "
                    f"input: condgof check - < {path}"
                )
        if not any(os.path.getsize(path) for path in paths):
            raise InputError(f"{data} is empty. A table with the columns of x and y is needed.")
        with _naming(data, kind):
            schema = _schema(paths[0], kind)
            names = tuple(schema.names)
        return cls(data, paths, kind, dict(zip(names, schema.types, strict=True)), names)

    @classmethod
    def of_text(cls, label: str, text: bytes) -> Table:
        """Read the names of columns of CSV that is there already."""
        with _naming(label, "CSV"):
            schema = _schema(text, "CSV")
            names = tuple(schema.names)
        return cls(label, (), "CSV", dict(zip(names, schema.types, strict=True)), names, text)

    def bytes_of(self, names: Sequence[str]) -> int:
        """Estimate the memory that some columns take; of CSV, no more than the files."""
        if self.kind == "Parquet":
            rows = 0
            for path in self.paths:
                with _naming(path, self.kind), arrow("parquet").ParquetFile(path) as file:
                    rows += file.metadata.num_rows
            return 8 * rows * len(names)
        return sum(os.path.getsize(path) for path in self.paths)

    def is_text(self, name: str) -> bool:
        """Whether a column looks like text."""
        return _is_text(self.types[name])

    def read(self, roles: Roles) -> dict[str, AnyArray]:
        """Read columns whole: doubles with NaN where there is nothing; text as objects, with None."""
        parts = [self._read_one(path, roles) for path in self.paths or (None,)]
        text = {name for part in parts for name, column in part.items() if _is_text(column.type)}
        return {
            name: np.concatenate([_values(part[name], name in text) for part in parts])
            for name in roles.all
        }

    def _read_one(self, path: str | None, roles: Roles) -> dict[str, Any]:
        label = path if path and len(self.paths) > 1 else self.label
        if self.kind == "CSV":
            columns = _read_csv(path or arrow().py_buffer(self.text), label, self, roles)
        else:
            with _naming(label, self.kind):
                held = set(_schema(str(path), self.kind).names)
            lacking = [name for name in roles.all if name not in held]
            if lacking:
                raise InputError(f"{label} has no column {lacking[0]!r}, unlike {self.paths[0]}.")
            module = "parquet" if self.kind == "Parquet" else "feather"
            with _naming(label, self.kind):
                table = arrow(module).read_table(path, columns=list(roles.all))
            columns = {name: table.column(name) for name in roles.all}
        return {name: _suited(column, name, label, roles) for name, column in columns.items()}


def _read_csv(source: Any, label: str, table: Table, roles: Roles) -> dict[str, Any]:
    """Read columns of CSV as numbers; those of x that are not all numbers, as text."""
    pa, csv = arrow(), arrow("csv")
    may = (*roles.x, *(roles.y if roles.text_y else ()))
    text = {name for name in may if table.is_text(name)} | {*roles.categorical, *roles.labels}
    dates = {name: kind for name, kind in table.types.items() if pa.types.is_temporal(kind)}
    truths = (*roles.x, *(() if roles.event is None else (roles.event,)))
    boolean = {name for name in truths if pa.types.is_boolean(table.types[name])}
    while True:
        kinds = {name: pa.bool_() if name in boolean else pa.float64() for name in roles.all}
        kinds |= {name: kind for name, kind in dates.items() if name in roles.all}
        kinds |= {name: pa.string() for name in text}
        try:
            read = csv.read_csv(
                source,
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(roles.all),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,  # "NA" in quotes is a name
                ),
            )
            return {name: read.column(name) for name in roles.all}
        except (pa.ArrowInvalid, KeyError, UnicodeDecodeError) as error:
            found = re.search(r"CSV column #(\d+)", str(error))
            number = int(found[1]) if found else len(table.names)
            name = table.names[number] if number < len(table.names) else None
            if name is None or name not in may or name in text:
                raise _csv_error(error, source, label, name) from error
            text.add(name)


def _csv_error(
    error: Exception, source: Any, label: str, name: str | None
) -> InputError | InputTypeError:
    text = re.search(r"invalid value '(.*)'", str(error), re.DOTALL)
    if name is None or text is None:
        reason = str(error).strip().splitlines()[0]
        return InputError(f"{label} cannot be read as CSV: {reason}")
    pa, csv = arrow(), arrow("csv")
    column = csv.read_csv(
        source,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types={name: pa.string()}, include_columns=[name]),
    ).column(0)
    row = arrow("compute").index(column, text[1]).as_py()
    return InputTypeError(
        f"Column {name!r} of {label} holds {text[1]!r}, which is not a number, in row {row} (counted "
        "from 0). Correct it, or name another column."
    )


def _suited(column: Any, name: str, label: str, roles: Roles) -> Any:
    """Check that a column holds what its role needs; return numbers as doubles and text as strings."""
    pa = arrow()
    kind = column.type
    # What a dictionary stands for may be more than 2 GB of text.
    text = pa.large_string() if pa.types.is_dictionary(kind) else pa.string()
    if name in roles.categorical or name in roles.labels:
        return column.cast(text)
    types = pa.types
    if any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    ):
        return column.cast(pa.float64(), safe=False)
    if types.is_null(kind):
        return column.cast(pa.float64())
    if name in roles.x and _is_text(kind):
        return _checked_text(column.cast(text), name, label)
    if name in roles.y and roles.text_y and _is_text(kind):
        return column.cast(text)
    held = "text" if _is_text(kind) else f"values of type {kind}"
    advice = (
        "--categorical takes it as categories, or turn it into numbers."
        if name in roles.x
        else "Name a column of numbers."
    )
    raise InputTypeError(f"Column {name!r} of {label} holds {held}, not numbers. {advice}")


def _checked_text(column: Any, name: str, label: str) -> Any:
    """Refuse a column of numbers with some text in it: as categories, it would be of no use."""
    values = [value for value in column.unique().to_pylist() if value is not None]
    odd = [value for value in values if number_of(value) is None]
    if odd and 2 * len(odd) < len(values):
        raise InputTypeError(
            f"Column {name!r} of {label} holds {odd[0]!r} among numbers. Correct it, or take the column "
            f"as categories with --categorical {name}."
        )
    return column


def _values(column: Any, text: bool) -> AnyArray:
    if text and not _is_text(column.type):  # text in another of the files
        column = column.cast(arrow().string())
    values: AnyArray = np.asarray(column.to_numpy(zero_copy_only=False))
    return values.astype(object) if text else np.array(values, dtype=np.float64)


def _is_text(kind: Any) -> bool:
    types = arrow().types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", lambda _: False)  # since pyarrow 16
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def _schema(source: Any, kind: str) -> Any:
    """Read the names and types of columns, of a file or of CSV that is there already."""
    if kind == "CSV":
        with open(source, "rb") if isinstance(source, str) else io.BytesIO(source) as file:
            start = file.read(2)
        if start in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError("The table is text in UTF-16: convert it to UTF-8 first.")
        source = source if isinstance(source, str) else arrow().py_buffer(source)
    return schema_of(source, kind)


@contextmanager
def _naming(label: str, kind: str) -> Iterator[None]:
    """Turn pyarrow's errors into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not text in UTF-8: convert it first.") from error
    except (arrow().ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        if "mpty CSV" in reason:
            raise InputError(
                f"{label} is empty. A table with the columns of x and y is needed."
            ) from error
        raise InputError(f"{label} cannot be read as {kind}: {reason}") from error
