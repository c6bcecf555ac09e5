"""From a table and the roles of its columns to models, x and y: surveyed, then whole or as a stream."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, IntArray
from condgof.cli._output import naming
from condgof.cli._pick import number_of
from condgof.cli._roles import ColumnRule, Given, Roles, class_law
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.laws._law import ModelLike
from condgof.report import terminal
from condgof.sample import MIN_ROWS, Frame, Source, Table, arrow, missing_in
from condgof.sample._table import TEXT, NotNumbersError

#: What the command line calls standard input.
STDIN = "-"
#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28
#: How many columns a message lists.
LISTED = 10


def open_table(data: str) -> Table:
    """Find the table that a user names, or read it from standard input."""
    arrow()
    return Table.of_text("standard input", sys.stdin.buffer.read()) if data == STDIN else Table.of(data)


@dataclass
class Survey:
    """What is missing or impossible in the columns of a table, counted batch by batch."""

    label: str
    roles: Roles
    rows: int = 0
    #: Rows in which anything is missing, and in how many of them each column is.
    dropped: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, tuple[int, int]] = field(default_factory=dict)
    broken: dict[ColumnRule, tuple[int, int, float]] = field(default_factory=dict)

    def add(self, columns: Mapping[str, AnyArray]) -> NDArray[np.bool_]:
        """Count some rows more, and return which have everything."""
        absences = {
            # Of objects, those of text, None alone is missing.
            name: values == np.array(None) if values.dtype == object else missing_in(values)
            for name, values in columns.items()
        }
        for name, values in columns.items():
            infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
            if infinite.any():
                before, first = self.infinite.get(name, (0, self.rows + int(np.argmax(infinite))))
                self.infinite[name] = (before + int(infinite.sum()), first)
        for rule in dict.fromkeys(rule for each in self.roles.predictions for rule in each.rules):
            wrong = ~rule.holds(*(columns[name] for name in rule.names))
            for name in rule.names:
                wrong &= ~absences[name]
            if wrong.any():
                at = int(np.argmax(wrong))
                value = float(columns[rule.names[0]][at])
                seen = self.broken.get(rule, (0, self.rows + at, value))
                self.broken[rule] = (seen[0] + int(wrong.sum()), *seen[1:])
        complete = np.ones(len(next(iter(absences.values()))), dtype=bool)
        for name, absent in absences.items():
            if absent.any():
                self.missing[name] = self.missing.get(name, 0) + int(absent.sum())
                complete &= ~absent
        self.dropped += int(np.count_nonzero(~complete))
        self.rows += len(complete)
        return complete

    @property
    def endless(self) -> set[str]:
        """The columns that may be infinite: ends of intervals that have none."""
        return {n for each in self.roles.predictions for n in each.endless} - set(self.roles.x)

    @property
    def words(self) -> str:
        """The rows with missing values, as in "3 rows (income 2, food 1)"."""
        listed = [f"{n} {self.missing[n]:,}" for n in self.roles.all if n in self.missing]
        more = [f"and {len(listed) - LISTED:,} columns more"] if len(listed) > LISTED else []
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} ({', '.join(listed[:LISTED] + more)})"

    def judge(self, drop_nulls: bool, least: int = MIN_ROWS) -> None:
        """Raise where the table cannot be used."""
        if self.rows == 0:
            raise InputError(f"{self.label} has no rows, only the names of its columns.")
        if self.dropped and not drop_nulls:
            raise NonFiniteError(
                f"{self.label} has missing values in {self.words} of {self.rows:,}. --drop-nulls "
                "leaves those rows out.",
                count=self.dropped,
            )
        for name, (count, first) in self.infinite.items():
            if name not in self.endless:
                raise NonFiniteError(
                    f"Column {name!r} of {self.label} is infinite in {count:,} of {self.rows:,} rows, "
                    f"the first in row {first:,} (counted from 0). Leave those rows out.",
                    count=count,
                    first_row=first,
                )
        for rule, (count, first, value) in self.broken.items():
            raise InputError(
                f"Column {rule.names[0]!r} of {self.label} {rule.words}: it is not in {count:,} of "
                f"{self.rows:,} rows, the first {value:g} in row {first:,} (counted from 0)."
            )
        left = self.rows - self.dropped
        if left < least:
            after = f" after {self.dropped:,} with missing values were left out" if self.dropped else ""
            raise InputError(
                f"{self.label} has {left} row{'s' * (left != 1)}{after}, and a check needs at least "
                f"{least}, better hundreds."
            )


@dataclass(frozen=True, eq=False)
class Read:
    """A table that was read through: whole, or but for some columns."""

    table: Table
    survey: Survey
    parts: list[dict[str, AnyArray]]
    #: Which rows have everything, (n,).
    complete: NDArray[np.bool_]

    @classmethod
    def of(cls, table: Table, roles: Roles, keep: Sequence[str]) -> Read:
        """Read a table through, and keep some columns; those of x that are not all numbers are text."""
        survey, parts, complete = Survey(table.label, roles), [], [np.ones(0, dtype=bool)]
        try:
            for batch in table.batches():
                complete.append(survey.add(batch))
                parts.append({name: batch[name] for name in keep})
        except NotNumbersError as error:
            if "text" not in roles.kinds[error.column]:
                raise
            return cls.of(table.reading(roles.kinds | {error.column: TEXT}), roles, keep)
        return cls(table, survey, parts, np.concatenate(complete))

    def column(self, name: str) -> AnyArray:
        """Return a column that was kept, of the rows that have everything."""
        values = np.concatenate([part[name] for part in self.parts])
        return values if self.complete.all() else values[self.complete]


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check, or a comparison, needs: models and rows, and what is known of the table."""

    survey: Survey
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
    def rows(self) -> int:
        """Number of rows, without those that were left out."""
        return self.survey.rows - self.survey.dropped

    @property
    def streamed(self) -> bool:
        """Whether the table was too large to be read whole."""
        return isinstance(self.x, Source)

    def words(self, more: str = "") -> str:
        """Say which rows there are, and how many were left out."""
        rows = f"{self.survey.label}: {self.rows:,} rows"
        if self.survey.dropped:
            rows += f"; {self.survey.words} with missing values left out{more}"
        return f"{rows}; streamed" if self.streamed else rows

    def to_dict(self) -> dict[str, Any]:
        """Return the same ready for JSON."""
        missing = self.survey.missing
        return {
            "path": self.survey.label,
            "rows": self.rows,
            "dropped_rows": self.survey.dropped,
            "dropped_by_column": {n: missing[n] for n in self.survey.roles.all if n in missing},
            "streamed": self.streamed,
        }


@contextmanager
def loaded(
    table: Table, roles: Roles, models: Sequence[ModelLike | None], given: Given
) -> Iterator[Loaded]:
    """Read a table, or find it, for as long as a check takes.

    A model that is None is in columns of the table, in the order of the predictions.
    """
    table = table.reading(roles.kinds)
    large = bool(table.paths) and table.bytes > STREAM_BYTES
    reason = _unstreamed(roles) if large else None
    if large and reason is None:
        read = Read.of(table, roles, roles.labels)
        read.survey.judge(given["drop_nulls"])
        endless = [name for name in read.survey.infinite if name in read.survey.endless]
        if not endless:
            bound = _models(models, read, [each.model for each in roles.predictions])
            by = _by(read)
            read.parts.clear()  # memory is for the check
            with _source(read) as source:
                yield Loaded(read.survey, bound, source, None, by)
            return
        reason = f"an interval without an end (in {endless[0]})"
    if reason is not None and not given["quiet"]:
        text = f"reading {len(roles.all)} columns into memory, because {reason} cannot be streamed."
        print(f"condgof: {terminal(text)}", file=sys.stderr)
    yield _whole(table, roles, models, given)


def _unstreamed(roles: Roles) -> str | None:
    """Say what of a large table must be read whole; None where nothing must."""
    if not all(each.streams for each in roles.predictions):
        return "predictions of classes and counts"
    if roles.event is not None:
        return "--event"
    return None if roles.groups is None else f"the groups of {roles.groups}"


def _whole(table: Table, roles: Roles, models: Sequence[ModelLike | None], given: Given) -> Loaded:
    read = Read.of(table, roles, roles.all)
    read.survey.judge(given["drop_nulls"])
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
    return Loaded(
        read.survey,
        _models(models, read, predicted),
        x,
        y_of(data, roles),
        _by(read),
        None if roles.groups is None else data[roles.groups],
        {option: data[name] for option, name in named.items() if name is not None},
    )


def y_of(data: Mapping[str, AnyArray], roles: Roles) -> Frame:
    """Return y as a frame; models get one column of it as (n,)."""
    return Frame({name: data[name] for name in roles.y}, flat=len(roles.y) == 1)


def _by(read: Read) -> Frame | str | None:
    """Return the group of each row, or the column of x that has it."""
    by, labels = read.survey.roles.by, read.survey.roles.labels
    return Frame({by: read.column(by)}, flat=True) if by in labels else by


def check_text(table: Table, roles: Roles, levels: Mapping[str, Sequence[str] | set[str]]) -> None:
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
    columns, n = iter(predicted), read.survey.rows
    ready = []
    for model in models:
        if model is not None and model.rows is not None:
            if model.rows != n:
                raise ShapeError(
                    f"The model is bound to {model.rows} rows and the table has {n}. Give it one row "
                    "for each of the table, also for rows that --drop-nulls leaves out."
                )
            rows: IntArray = np.flatnonzero(read.complete)
            model = model if len(rows) == n else model.take(rows)
        ready.append(next(columns) if model is None else model)
    return ready


@contextmanager
def _source(read: Read) -> Iterator[Source]:
    """Give the rows as a source. Where some are left out, the others are in a file for that long."""
    table, roles = read.table, read.survey.roles
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        if read.survey.dropped:
            path = Path(folder) / "complete.feather"
            with naming(path):
                _write_complete(read, path)
            table = replace(Table.of(path).reading(roles.kinds), kinds=table.kinds)
        source = Source.of(table, roles.x, roles.y, roles.predicted, flat_y=len(roles.y) == 1)
        check_text(read.table, roles, {c.name: c.levels for c in source.x_columns if c.levels})
        yield replace(source, extra_names=())


def _write_complete(read: Read, path: Path) -> None:
    """Write the rows in which nothing is missing."""
    pa, writer, start = arrow(), None, 0
    try:
        for data in read.table.batches():
            count = len(next(iter(data.values())))
            complete, start = read.complete[start : start + count], start + count
            chosen = [pa.array(values[complete]) for values in data.values()]
            batch = pa.RecordBatch.from_arrays(chosen, names=list(data))
            if writer is None:
                writer = arrow("ipc").new_file(str(path), batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
