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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, IntArray
from condgof.cli import _roles, tell
from condgof.cli._model import load_model, model_file, running
from condgof.cli._output import check_place, naming
from condgof.cli._roles import Given, Roles, number_of
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError, retold
from condgof.laws._law import Law, ModelLike
from condgof.sample import MIN_ROWS, Frame, Source, Table, arrow, missing_in
from condgof.sample._table import TEXT, NotNumbersError

STDIN = "-"
#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28
LISTED = 10
#: None is the next of the predictions in columns.
Models: TypeAlias = Sequence[ModelLike | None]


def open_table(data: str) -> Table:
    arrow()
    return Table.of_text("standard input", sys.stdin.buffer.read()) if data == STDIN else Table.of(data)


@dataclass(frozen=True, eq=False)
class Read:
    """A table that was read through: what is missing or infinite in it, and the columns to keep."""

    table: Table
    roles: Roles
    #: Columns that were kept, and which rows have everything, batch by batch.
    parts: list[dict[str, AnyArray]] = field(default_factory=list)
    complete: list[NDArray[np.bool_]] = field(default_factory=list)
    #: In how many rows each column is missing; and infinite: in how many rows, and in which first.
    missing: Counter[str] = field(default_factory=Counter)
    infinite: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, roles: Roles, keep: Sequence[str], optional: Collection[str] = ()) -> Read:
        """Read a table through, and keep some columns; those of x that are not all numbers are text.

        Values of columns that are `optional` are not missing.
        """
        read = cls(table, roles)
        try:
            for batch in table.batches():
                lost = [np.zeros(len(next(iter(batch.values()))), dtype=bool)]
                for name, values in batch.items():
                    if name not in optional:
                        # Of objects, those of text, None alone is missing.
                        text = values.dtype == object
                        lost.append(values == np.array(None) if text else missing_in(values))
                        read.missing[name] += int(lost[-1].sum())
                    if values.dtype.kind == "f" and (endless := np.isinf(values)).any():
                        count, first = read.infinite.get(name, (0, read.rows + int(endless.argmax())))
                        read.infinite[name] = count + int(endless.sum()), first
                read.complete.append(~np.logical_or.reduce(lost))
                read.parts.append({name: batch[name] for name in keep})
        except NotNumbersError as error:
            if "text" not in roles.kinds[error.args[1]]:
                raise
            return cls.of(table.reading(roles.kinds | {error.args[1]: TEXT}), roles, keep, optional)
        return read

    @property
    def rows(self) -> int:
        return sum(map(len, self.complete))

    @cached_property
    def chosen(self) -> IntArray:
        """The numbers of the rows that have everything."""
        return np.flatnonzero(np.concatenate([np.ones(0, dtype=bool), *self.complete]))

    @property
    def dropped(self) -> int:
        return self.rows - sum(int(part.sum()) for part in self.complete)

    @property
    def endless(self) -> list[str]:
        """The columns that are infinite, and may be: ends of intervals that have none."""
        ends = {name for each in self.roles.predictions for name in each.facts.get("interval", ())}
        return [name for name in self.infinite if name in ends - {*self.roles.x}]

    @property
    def dropped_by_column(self) -> dict[str, int]:
        """In how many rows each column is missing, in the order of the roles."""
        return {name: self.missing[name] for name in self.roles.all if self.missing[name]}

    @property
    def words(self) -> str:
        """The rows with missing values, as in "3 rows (income 2, food 1)"."""
        listed = [f"{name} {count:,}" for name, count in self.dropped_by_column.items()]
        more = [f"and {len(listed) - LISTED:,} columns more"] if len(listed) > LISTED else []
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} ({', '.join(listed[:LISTED] + more)})"

    def judge(self, drop_nulls: bool, least: int = MIN_ROWS) -> None:
        label, rows, dropped = self.table.label, self.rows, self.dropped
        if rows == 0:
            raise InputError(f"{label} has no rows, only the names of its columns.")
        if dropped and not drop_nulls:
            what = f"{label} has missing values in {self.words} of {rows:,}"
            raise NonFiniteError(f"{what}. --drop-nulls leaves those rows out.", count=dropped)
        for name, (count, first) in self.infinite.items():
            if name not in self.endless:
                where = f"{count:,} of {rows:,} rows, the first in row {first:,} (counted from 0)"
                what = f"Column {name!r} of {label} is infinite in {where}. Leave those rows out."
                raise NonFiniteError(what, count=count, first_row=first)
        left = rows - dropped
        if left < least:
            after = f" after {dropped:,} with missing values were left out" if dropped else ""
            what = f"{label} has {left} row{'s' * (left != 1)}{after}"
            raise InputError(f"{what}, and a check needs at least {least}, better hundreds.")

    def counting(self, text: str) -> str:
        """Have a message say that rows that were left out are not counted in row numbers."""
        counted = self.dropped and "counted from 0" in text
        return f"{text} Rows that were left out are not counted." if counted else text

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
        return isinstance(self.x, Source)

    def words(self, more: str = "") -> str:
        rows = f"{self.read.table.label}: {self.read.rows - self.read.dropped:,} rows"
        if self.read.dropped:
            rows += f"; {self.read.words} with missing values left out{more}"
        return f"{rows}; streamed" if self.streamed else rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.read.table.label,
            "rows": self.read.rows - self.read.dropped,
            "dropped_rows": self.read.dropped,
            "dropped_by_column": self.read.dropped_by_column,
            "streamed": self.streamed,
        }


@dataclass(frozen=True)
class Candidate:
    """A model: the options that say in which columns its predictions are, or an address."""

    name: str
    given: Given
    model: str | None
    #: What its options begin with: "--", "--a-"; "" for a candidate of `rank`.
    prefix: str = ""

    def told(self, text: str) -> str:
        """Have a message name the options as they are here: --a-mean for --mean."""
        for word in (*map(_roles.spelled, _roles.NONE), "model "):
            text = text.replace(f"--{word}", f"{self.prefix}{word}" if self.prefix else f"{word}=")
        return text if self.prefix else f"--candidate {self.name!r}: {text}"


@contextmanager
def loaded(given: Given, candidates: Sequence[Candidate]) -> Iterator[Loaded]:
    """Read the table, for as long as its rows are needed, once for all models."""
    table, addresses = open_table(given["data"]), [one.model for one in candidates]
    each: list[Roles] = []
    models: list[ModelLike | None] = []
    for one in candidates:
        with retold(one.told):
            asked = {**given, **one.given, "model": one.model}
            each.append(_roles.find_roles(asked, table.label, table.names))
    roles = _common(each)
    _roles.check_classes(given, roles)
    for one in candidates:
        with retold(one.told):
            address, form = one.model, given["model_x"]
            models.append(None if address is None else load_model(address, form, roles.x))
    inputs = [*table.paths, *map(model_file, addresses)]
    check_place(given["report"], "--report", (), inputs)
    check_place(given.get("repair"), "--repair", (".parquet", ".csv"), inputs)
    with _rows(table, roles, models, given) as rows, running(*addresses):
        yield rows


def _common(each: Sequence[Roles]) -> Roles:
    """Put the roles of all models together: what a pattern of x stands for leaves out their columns."""
    first, taken = each[0], {name for roles in each for name in roles.predicted}
    x = tuple(name for name in first.x if all(name in roles.x for roles in each))
    if not x:
        raise InputError(f"--x: every column that it stands for has another role ({', '.join(taken)}).")
    return replace(
        first,
        x=x,
        predictions=tuple(one for roles in each for one in roles.predictions),
        categorical=tuple(name for name in first.categorical if name in x),
        text_y=any(roles.text_y for roles in each),
    )


@contextmanager
def _rows(table: Table, roles: Roles, models: Models, given: Given) -> Iterator[Loaded]:
    """Read the rows, whole or as a stream; a model that is None is the next of the predictions."""
    table = table.reading(roles.kinds)
    level, reason = given.get("missing") == "level", ""
    if table.paths and table.bytes > STREAM_BYTES:
        reasons = {
            "predictions of classes and counts": {"prob", "count_mean"}
            & {option for each in roles.predictions for option in each.facts},
            "--missing level": level,
            "--event": roles.event is not None,
            f"the groups of {roles.groups}": roles.groups is not None,
        }
        reason = next((why for why, holds in reasons.items() if holds), "")
        if not reason:
            read = Read.of(table, roles, roles.labels)
            read.judge(given["drop_nulls"])
            if not read.endless:
                bound = _models(models, read, [each.model for each in roles.predictions])
                by = _by(read)
                read.parts.clear()  # memory is for the check
                with retold(read.counting), _source(read) as source:
                    yield Loaded(read, bound, source, None, by)
                return
            reason = f"an interval without an end (in {read.endless[0]})"
    if reason and not given["quiet"]:
        tell(f"reading {len(roles.all)} columns into memory, because {reason} cannot be streamed.")
    # Of x alone missing may be a level: not of what is predicted, nor of which rows are together.
    optional = {*roles.x} - {*roles.predicted, roles.groups} if level else ()
    read = Read.of(table, roles, roles.all, optional)
    read.judge(given["drop_nulls"])
    with retold(read.counting):
        yield _whole(read, models, given)


def _whole(read: Read, models: Models, given: Given) -> Loaded:
    roles, label = read.roles, read.table.label
    data = {name: read.column(name) for name in roles.all}
    text = {name: {*data[name]} - {None} for name in roles.x if data[name].dtype == "O"}
    check_text(read.table, roles, text)
    x = Frame({name: data[name] for name in roles.x}, utc=read.table.utc)
    predicted: list[Law] = []
    for each in roles.predictions:
        model = each.model or _roles.class_columns(given, data, each.names, roles.y[0])
        with _roles.naming_columns(each.names, label):
            # Numbered as a stream of these rows has them, so that ties are broken alike.
            predicted.append(model.bind(data, np.arange(len(x))))
    named = {"event": roles.event, "entry": roles.entry}
    watched = {option: data[name] for option, name in named.items() if name is not None}
    groups = None if roles.groups is None else data[roles.groups]
    bound = _models(models, read, predicted)
    return Loaded(read, bound, x, y_of(data, roles), _by(read), groups, watched)


def y_of(data: Mapping[str, AnyArray], roles: Roles) -> Frame:
    """Return y as a frame; models get one column of it as (n,)."""
    return Frame({name: data[name] for name in roles.y}, flat=len(roles.y) == 1)


def _by(read: Read) -> Frame | str | None:
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


def _models(models: Models, read: Read, predicted: Sequence[Any]) -> list[Any]:
    """Return all models: None is the next of those in columns; what is bound to rows is cut to them."""
    columns, ready = iter(predicted), []
    for model in models:
        if model is not None and model.rows is not None:
            if model.rows != read.rows:
                raise ShapeError(
                    f"The model is bound to {model.rows} rows and the table has {read.rows}. Give it "
                    "one row for each of the table, also for rows that --drop-nulls leaves out."
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
            held = {name: types[kind] for name, kind in table.kinds.items()}
            held |= dict.fromkeys(table.utc, pa.timestamp("us", "UTC"))
            schema = pa.schema(list(held.items()))
            with naming(path), arrow("ipc").new_file(str(path), schema) as writer:
                for data, complete in zip(table.batches(), read.complete, strict=True):
                    chosen = [pa.array(data[name][complete], held[name]) for name in held]
                    writer.write_batch(pa.RecordBatch.from_arrays(chosen, schema=schema))
            table = replace(Table.of(path).reading(roles.kinds), kinds=table.kinds)
        source = Source.of(table, roles.x, roles.y, roles.predicted, flat_y=len(roles.y) == 1)
        check_text(read.table, roles, {c.name: c.levels for c in source.x_columns if c.levels})
        yield replace(source, extra_names=())
