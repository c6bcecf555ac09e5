"""From a table and the roles of its columns to models, x and y: surveyed, then whole or as a stream."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, IntArray
from condgof.cli._output import naming
from condgof.cli._roles import ColumnRule, Given, Roles, class_law, number_of
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.laws._law import ModelLike
from condgof.report import terminal
from condgof.sample import MIN_ROWS, Frame, Source, Table, arrow, missing_in
from condgof.sample._table import TEXT, NotNumbersError

STDIN = "-"
#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28
LISTED = 10


def open_table(data: str) -> Table:
    """Find the table that a user names, or read it from standard input."""
    arrow()
    return Table.of_text("standard input", sys.stdin.buffer.read()) if data == STDIN else Table.of(data)


@dataclass(eq=False)
class Read:
    """A table that was read through: what is missing or impossible in it, and the columns to keep."""

    table: Table
    roles: Roles
    #: Columns that were kept, and which rows have everything, batch by batch.
    parts: list[dict[str, AnyArray]] = field(default_factory=list)
    complete: list[NDArray[np.bool_]] = field(default_factory=list)
    #: In how many rows each column is missing; and of columns that are infinite, and of rules that do
    #: not hold: in how many rows, in which first, and the value there.
    missing: Counter[str] = field(default_factory=Counter)
    wrong: dict[str | ColumnRule, tuple[int, int, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, roles: Roles, keep: Sequence[str]) -> Read:
        """Read a table through, and keep some columns; those of x that are not all numbers are text."""
        read = cls(table, roles)
        try:
            for batch in table.batches():
                read._add(batch)
                read.parts.append({name: batch[name] for name in keep})
        except NotNumbersError as error:
            if "text" not in roles.kinds[error.column]:
                raise
            return cls.of(table.reading(roles.kinds | {error.column: TEXT}), roles, keep)
        return read

    def _add(self, columns: Mapping[str, AnyArray]) -> None:
        """Count some rows more."""
        absent = {
            # Of objects, those of text, None alone is missing.
            name: values == np.array(None) if values.dtype == object else missing_in(values)
            for name, values in columns.items()
        }
        wrong: dict[str | ColumnRule, AnyArray] = {
            name: np.isinf(values) for name, values in columns.items() if values.dtype.kind == "f"
        }
        for rule in dict.fromkeys(rule for each in self.roles.predictions for rule in each.rules):
            known = ~np.logical_or.reduce([absent[name] for name in rule.names])
            wrong[rule] = known & ~rule.holds(*(columns[name] for name in rule.names))
        for key, bad in wrong.items():
            if bad.any():
                at, name = int(np.argmax(bad)), key if isinstance(key, str) else key.names[0]
                count, *first = self.wrong.get(key, (0, self.rows + at, float(columns[name][at])))
                self.wrong[key] = (count + int(bad.sum()), *first)  # type: ignore[assignment]
        self.missing.update({name: int(part.sum()) for name, part in absent.items() if part.any()})
        self.complete.append(~np.logical_or.reduce(list(absent.values())))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.complete))

    @cached_property
    def chosen(self) -> IntArray:
        """The numbers of the rows that have everything."""
        return np.flatnonzero(np.concatenate([np.ones(0, dtype=bool), *self.complete]))

    @property
    def dropped(self) -> int:
        """Number of rows in which anything is missing."""
        return self.rows - sum(int(part.sum()) for part in self.complete)

    @property
    def endless(self) -> list[str]:
        """The columns that are infinite, and may be: ends of intervals that have none."""
        may = {name for each in self.roles.predictions for name in each.endless} - set(self.roles.x)
        return [key for key in self.wrong if isinstance(key, str) and key in may]

    @property
    def dropped_by_column(self) -> dict[str, int]:
        """In how many rows each column is missing, in the order of the roles."""
        return {name: self.missing[name] for name in self.roles.all if name in self.missing}

    @property
    def words(self) -> str:
        """The rows with missing values, as in "3 rows (income 2, food 1)"."""
        listed = [f"{name} {count:,}" for name, count in self.dropped_by_column.items()]
        more = [f"and {len(listed) - LISTED:,} columns more"] if len(listed) > LISTED else []
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} ({', '.join(listed[:LISTED] + more)})"

    def judge(self, drop_nulls: bool, least: int = MIN_ROWS) -> None:
        """Raise where the table cannot be used."""
        label, rows, dropped = self.table.label, self.rows, self.dropped
        if rows == 0:
            raise InputError(f"{label} has no rows, only the names of its columns.")
        if dropped and not drop_nulls:
            raise NonFiniteError(
                f"{label} has missing values in {self.words} of {rows:,}. --drop-nulls leaves those "
                "rows out.",
                count=dropped,
            )
        # What is infinite goes first: it breaks rules as well.
        for key, (count, first, value) in sorted(
            self.wrong.items(), key=lambda item: not isinstance(item[0], str)
        ):
            if isinstance(key, ColumnRule):
                raise InputError(
                    f"Column {key.names[0]!r} of {label} {key.words}: it is not in {count:,} of "
                    f"{rows:,} rows, the first {value:g} in row {first:,} (counted from 0)."
                )
            if key not in self.endless:
                raise NonFiniteError(
                    f"Column {key!r} of {label} is infinite in {count:,} of {rows:,} rows, the first "
                    f"in row {first:,} (counted from 0). Leave those rows out.",
                    count=count,
                    first_row=first,
                )
        left = rows - dropped
        if left < least:
            after = f" after {dropped:,} with missing values were left out" if dropped else ""
            raise InputError(
                f"{label} has {left} row{'s' * (left != 1)}{after}, and a check needs at least "
                f"{least}, better hundreds."
            )

    def column(self, name: str) -> AnyArray:
        """Return a column that was kept, of the rows that have everything."""
        values = np.concatenate([part[name] for part in self.parts])
        return values[self.chosen] if self.dropped else values


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check, or a comparison, needs: models and rows, and what is known of the table."""

    read: Read
    models: list[Any]
    #: Frame and Frame, or Source and None.
    x: Any
    y: Any
    #: The group of each row, or the column of x that has it.
    by: Frame | str | None
    groups: AnyArray | None = None
    #: The columns of ``--event`` and ``--entry``, by these names.
    watched: dict[str, AnyArray] = field(default_factory=dict)

    @property
    def streamed(self) -> bool:
        """Whether the table was too large to be read whole."""
        return isinstance(self.x, Source)

    def words(self, more: str = "") -> str:
        """Say which rows there are, and how many were left out."""
        rows = f"{self.read.table.label}: {self.read.rows - self.read.dropped:,} rows"
        if self.read.dropped:
            rows += f"; {self.read.words} with missing values left out{more}"
        return f"{rows}; streamed" if self.streamed else rows

    def to_dict(self) -> dict[str, Any]:
        """Return the same ready for JSON."""
        return {
            "path": self.read.table.label,
            "rows": self.read.rows - self.read.dropped,
            "dropped_rows": self.read.dropped,
            "dropped_by_column": self.read.dropped_by_column,
            "streamed": self.streamed,
        }


@contextmanager
def loaded(
    table: Table, roles: Roles, models: Sequence[ModelLike | None], given: Given
) -> Iterator[Loaded]:
    """Read a table for as long as a check takes; a model that is None is the next of its predictions."""
    table = table.reading(roles.kinds)
    reason = None
    if table.paths and table.bytes > STREAM_BYTES:
        if not all(each.streams for each in roles.predictions):
            reason = "predictions of classes and counts"
        elif roles.event is not None:
            reason = "--event"
        elif roles.groups is not None:
            reason = f"the groups of {roles.groups}"
        else:
            read = Read.of(table, roles, roles.labels)
            read.judge(given["drop_nulls"])
            if not read.endless:
                bound = _models(models, read, [each.model for each in roles.predictions])
                by = _by(read)
                read.parts.clear()  # memory is for the check
                with _source(read) as source:
                    yield Loaded(read, bound, source, None, by)
                return
            reason = f"an interval without an end (in {read.endless[0]})"
    if reason is not None and not given["quiet"]:
        text = f"reading {len(roles.all)} columns into memory, because {reason} cannot be streamed."
        print(f"condgof: {terminal(text)}", file=sys.stderr)
    yield _whole(table, roles, models, given)


def _whole(table: Table, roles: Roles, models: Sequence[ModelLike | None], given: Given) -> Loaded:
    read = Read.of(table, roles, roles.all)
    read.judge(given["drop_nulls"])
    data = {name: read.column(name) for name in roles.all}
    check_text(read.table, roles, {name: set(data[name]) for name in roles.x if data[name].dtype == "O"})
    x = Frame({name: data[name] for name in roles.x})
    predicted = [
        class_law(given, data, each.names, roles.y[0], table.label) if each.model is None
        # Numbered as a stream of these rows has them, so that ties are broken alike.
        else each.model.bind(data, np.arange(len(x)))
        for each in roles.predictions
    ]  # fmt: skip
    named = {"event": roles.event, "entry": roles.entry}
    watched = {option: data[name] for option, name in named.items() if name is not None}
    groups = None if roles.groups is None else data[roles.groups]
    bound = _models(models, read, predicted)
    return Loaded(read, bound, x, y_of(data, roles), _by(read), groups, watched)


def y_of(data: Mapping[str, AnyArray], roles: Roles) -> Frame:
    """Return y as a frame; models get one column of it as (n,)."""
    return Frame({name: data[name] for name in roles.y}, flat=len(roles.y) == 1)


def _by(read: Read) -> Frame | str | None:
    """Return the group of each row, or the column of x that has it."""
    by = read.roles.by
    return Frame({by: read.column(by)}, flat=True) if by in read.roles.labels else by


def check_text(table: Table, roles: Roles, levels: Mapping[str, Collection[str]]) -> None:
    """Refuse a column of x with some text among numbers: as categories, it would be of no use."""
    for name, values in levels.items():
        odd = [value for value in values if number_of(value) is None]
        if name not in roles.categorical and odd and 2 * len(odd) < len(values):
            raise InputTypeError(
                f"Column {name!r} of {table.label} holds {odd[0]!r} among numbers. Correct it, or take "
                f"the column as categories with --categorical {name}."
            )


def _models(models: Sequence[ModelLike | None], read: Read, predicted: Sequence[Any]) -> list[Any]:
    """Return all models: None is the next of those in columns; what is bound to rows is cut to them."""
    columns, n = iter(predicted), read.rows
    ready = []
    for model in models:
        if model is not None and model.rows is not None:
            if model.rows != n:
                raise ShapeError(
                    f"The model is bound to {model.rows} rows and the table has {n}. Give it one row "
                    "for each of the table, also for rows that --drop-nulls leaves out."
                )
            model = model.take(read.chosen) if read.dropped else model
        ready.append(next(columns) if model is None else model)
    return ready


@contextmanager
def _source(read: Read) -> Iterator[Source]:
    """Give the rows as a source. Where some are left out, the others are in a file for that long."""
    table, roles = read.table, read.roles
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        if read.dropped:
            path, pa = Path(folder) / "complete.feather", arrow()
            types = {"numbers": pa.float64(), "text": pa.string(), "dates": pa.timestamp("us")}
            schema = pa.schema([(name, types[kind]) for name, kind in table.kinds.items()])
            with naming(path), arrow("ipc").new_file(str(path), schema) as writer:
                for data, complete in zip(table.batches(), read.complete, strict=True):
                    chosen = [pa.array(values[complete]) for values in data.values()]
                    writer.write_batch(pa.RecordBatch.from_arrays(chosen, schema=schema))
            table = replace(Table.of(path).reading(roles.kinds), kinds=table.kinds)
        source = Source.of(table, roles.x, roles.y, roles.predicted, flat_y=len(roles.y) == 1)
        check_text(read.table, roles, {c.name: c.levels for c in source.x_columns if c.levels})
        yield replace(source, extra_names=())
