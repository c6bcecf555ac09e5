"""From a table and the roles of its columns to models, x and y, in memory or streamed."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray
from condgof.cli import print_message
from condgof.cli._columns import ColumnNames
from condgof.cli._model import models_subject, user_errors
from condgof.cli._options import ClassOptions, ColumnOptions
from condgof.cli._output import OutputFile, check_outputs, naming
from condgof.cli._roles import Candidate, Roles, RowOptions, find_roles
from condgof.errors import InputError, NonFiniteError, reworded
from condgof.laws import ModelLike
from condgof.sample import (
    MIN_ROWS,
    Csv,
    Frame,
    Source,
    Table,
    arrow,
    list_texts,
    missing_in,
)

#: The name of standard input, as users type it.
STDIN = "-"
#: Tables whose columns take more bytes than this are streamed: 256 MiB.
STREAM_BYTES = 1 << 28


def open_table(data: str, csv: Csv) -> Table:
    """Find the files that a name stands for, and read the types of their columns."""
    arrow()  # says what to install, before standard input is read
    if data == STDIN:
        return Table.from_text("standard input", standard_input().read(), csv)
    return Table.from_path(data, csv)


def standard_input() -> BinaryIO:
    """Return standard input as bytes, which a parent process may have closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("Standard input is closed. Name a file, or pipe a table in.")
    return sys.stdin.buffer


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """A table that was read through: its complete rows, and some of their columns."""

    table: Table
    roles: Roles
    #: The columns that were kept, of the complete rows, (left,) each.
    data: dict[str, AnyArray]
    #: Whether each row of the table is complete, (rows of the table,).
    complete: NDArray[np.bool_]
    #: In how many rows each column is missing.
    missing: Counter[str]

    @classmethod
    def from_table(cls, table: Table, roles: Roles, keep: Sequence[str]) -> CompleteRows:
        """Read a table through, and keep some columns of its complete rows."""
        complete = [np.ones(0, dtype=bool)]
        parts: list[dict[str, AnyArray]] = []
        missing = Counter[str]()
        for batch in table.batches():
            missing_by_column = {name: _missing(values) for name, values in batch.items()}
            for name, rows in missing_by_column.items():
                missing[name] += int(rows.sum())
            here = ~np.logical_or.reduce(list(missing_by_column.values()))
            complete.append(here)
            parts.append({name: batch[name][here] for name in keep})
        data: dict[str, AnyArray] = {}
        if parts:
            data = {name: np.concatenate([part[name] for part in parts]) for name in keep}
        return cls(table, roles, data, np.concatenate(complete), missing)

    @property
    def left(self) -> int:
        """The number of complete rows."""
        return int(np.count_nonzero(self.complete))

    @property
    def dropped(self) -> int:
        """The number of rows with missing values."""
        return len(self.complete) - self.left

    @property
    def dropped_by_column(self) -> dict[str, int]:
        """In how many rows each column is missing, in the order of the roles."""
        return {name: self.missing[name] for name in self.roles.all if self.missing[name]}

    @property
    def dropped_words(self) -> str:
        """The rows with missing values, as in "3 rows (income 2, food 1)"."""
        listed = [f"{name} {count:,}" for name, count in self.dropped_by_column.items()]
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} ({list_texts(listed)})"

    def check(self, *, drop_nulls: bool, least: int = MIN_ROWS) -> None:
        """Raise if rows with missing values are not to be dropped, or too few are left."""
        label = self.table.label
        if self.dropped and not drop_nulls:
            raise NonFiniteError(
                f"{label} has missing values in {self.dropped_words} of"
                f" {len(self.complete):,}. --drop-nulls leaves those rows out.",
                count=self.dropped,
            )
        if self.left < least:
            after = ""
            if self.dropped:
                after = f" after {self.dropped:,} with missing values were left out"
            raise InputError(
                f"{label} has {self.left} row{'s' * (self.left != 1)}{after}, and a check"
                f" needs at least {least}, better hundreds."
            )

    def add_row_note(self, message: str) -> str:
        """Have a message say that row numbers do not count the rows that were left out."""
        if self.dropped and "counted from 0" in message:
            return f"{message} Rows that were left out are not counted."
        return message

    def y(self) -> Frame:
        """Return y as a frame; models get one column of it as (n,)."""
        names = self.roles.y
        return Frame({name: self.data[name] for name in names}, flat=len(names) == 1)


def _missing(values: AnyArray) -> NDArray[np.bool_]:
    """Return which values are missing, (n,); of objects, which are text, None alone is."""
    if values.dtype == object:
        return np.asarray(values == np.array(None), dtype=bool)
    return missing_in(values)


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """What a check or a comparison needs: models and rows, and where they come from."""

    rows: CompleteRows
    #: One for each candidate.
    models: list[ModelLike]
    #: A frame; or the source of x and y where the table is streamed, and y is None.
    x: Any
    y: Frame | None

    @property
    def streamed(self) -> bool:
        """Whether the rows are read again as a stream."""
        return self.y is None

    @property
    def by(self) -> Frame | list[str] | None:
        """The groups of each row, or the columns of x that have them."""
        names = self.rows.roles.rows.by
        if not names:
            return None
        if all(name in self.rows.roles.x for name in names):
            return list(names)
        columns = {name: self.rows.data[name] for name in names}
        return Frame(columns, flat=len(names) == 1)

    @property
    def event(self) -> AnyArray | None:
        """Whether the event came, (n,)."""
        return self._column(self.rows.roles.rows.event)

    @property
    def entry(self) -> AnyArray | None:
        """When the row began to be watched, (n,)."""
        return self._column(self.rows.roles.rows.entry)

    @property
    def groups(self) -> AnyArray | None:
        """Which rows depend on each other, (n,)."""
        return self._column(self.rows.roles.rows.groups)

    @property
    def weights(self) -> AnyArray | None:
        """How much each row counts, (n,)."""
        return self._column(self.rows.roles.rows.weights)

    def _column(self, name: str | None) -> AnyArray | None:
        return None if name is None else self.rows.data[name]

    @property
    def label(self) -> str:
        """The name of the table."""
        return self.rows.table.label

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which rows were left out, and whether the table was streamed."""
        remarks = []
        if self.rows.dropped:
            remarks.append(
                f"{self.rows.dropped_words} with missing values left out, not counted in"
                " row numbers"
            )
        if self.streamed:
            remarks.append("streamed")
        return tuple(remarks)

    @property
    def words(self) -> str:
        """The table in a line: its name, how many rows it has, and which were left out."""
        return "; ".join([f"{self.label}: {self.rows.left:,} rows", *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """Return what the JSON document reports of the table."""
        return {
            "path": self.rows.table.label,
            "rows": self.rows.left,
            "dropped_rows": self.rows.dropped,
            "dropped_by_column": self.rows.dropped_by_column,
            "streamed": self.streamed,
        }


@contextmanager
def load_table(
    data: str,
    columns: ColumnOptions,
    candidates: Sequence[Candidate],
    *,
    classes: ClassOptions,
    rows: RowOptions,
    seed: int,
    quiet: bool,
    outputs: Sequence[OutputFile],
) -> Iterator[LoadedTable]:
    """Read a table, once for all models, for as long as its rows are needed.

    Parameters
    ----------
    data : str
        A file, a folder, a pattern, or "-".
    columns, classes, rows : ColumnOptions, ClassOptions, RowOptions
        Which columns are what.
    candidates : sequence of Candidate
        The models.
    seed : int
        For breaking ties of predictions.
    quiet : bool
        Whether to say nothing of tables that are large and cannot be streamed.
    outputs : sequence of OutputFile
        Files that will be written, which must not be those that are read.
    """
    table = open_table(data, columns.csv)
    names = ColumnNames(table.label, table.names)
    roles = find_roles(names, columns, candidates, classes=classes, rows=rows, seed=seed)
    for candidate, predictions in zip(candidates, roles.predictions, strict=True):
        with candidate.named():
            predictions.load()
    inputs = list(table.paths)
    for predictions in roles.predictions:
        inputs += predictions.files()
    check_outputs(outputs, inputs)
    addresses = [each.options.model for each in candidates]
    subject = models_subject(address for address in addresses if address is not None)
    with (
        _read(table.reading(roles.kinds), roles, columns.drop_nulls, quiet) as loaded,
        user_errors(subject),
    ):
        yield loaded


@contextmanager
def _read(
    table: Table, roles: Roles, drop_nulls: bool, quiet: bool
) -> Iterator[LoadedTable]:
    """Read the rows, into memory or as a stream."""
    large = bool(table.paths) and table.bytes > STREAM_BYTES
    if large and roles.cannot_stream and not quiet:
        print_message(
            f"reading {len(roles.all)} columns into memory, because {roles.cannot_stream}"
            " cannot be streamed."
        )
    stream = large and not roles.cannot_stream
    keep = roles.kept_of_stream if stream else roles.all
    rows = CompleteRows.from_table(table, roles, keep)
    rows.check(drop_nulls=drop_nulls)
    with reworded(rows.add_row_note):
        if not stream:
            yield _in_memory(rows)
            return
        models = [predictions.streamed(rows) for predictions in roles.predictions]
        framed = any(predictions.takes_frame for predictions in roles.predictions)
        with _source(rows) as source:
            yield LoadedTable(rows, models, replace(source, framed=framed), None)


def _in_memory(rows: CompleteRows) -> LoadedTable:
    roles = rows.roles
    x_data = {name: rows.data[name] for name in roles.x}
    for name, values in x_data.items():
        if values.dtype == object and name not in roles.categorical:
            rows.table.refuse_number_text(name, list(dict.fromkeys(values)))
    x = Frame(x_data, utc=rows.table.utc, categorical=frozenset(roles.categorical))
    models = [predictions.in_memory(rows) for predictions in roles.predictions]
    framed = any(predictions.takes_frame for predictions in roles.predictions)
    return LoadedTable(rows, models, x.pandas() if framed else x, rows.y())


@contextmanager
def _source(rows: CompleteRows) -> Iterator[Source]:
    """Give the complete rows as a source, in a temporary file if some were dropped."""
    roles = rows.roles
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        table = rows.table
        if rows.dropped:
            path = Path(folder) / "complete.feather"
            _write_complete(rows, path)
            table = replace(
                Table.from_path(path).reading(roles.kinds), kinds=rows.table.kinds
            )
        source = Source.from_table(
            table,
            roles.x,
            roles.y,
            roles.predicted,
            flat_y=len(roles.y) == 1,
            categorical=roles.categorical,
        )
        yield replace(source, extra_names=())


def _write_complete(rows: CompleteRows, path: Path) -> None:
    """Write the complete rows of a table into a Feather file, batch by batch."""
    pa = arrow()
    type_of_kind = {
        "numbers": pa.float64(),
        "text": pa.string(),
        "dates": pa.timestamp("us"),
    }
    types = {name: type_of_kind[kind] for name, kind in rows.table.kinds.items()}
    types |= dict.fromkeys(rows.table.utc, pa.timestamp("us", "UTC"))
    schema = pa.schema(list(types.items()))
    with naming(path), arrow("ipc").new_file(str(path), schema) as writer:
        first = 0
        for batch in rows.table.batches():
            last = first + len(next(iter(batch.values())))
            complete = rows.complete[first:last]
            arrays = [pa.array(batch[name][complete], types[name]) for name in types]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            first = last
