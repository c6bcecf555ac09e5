"""From a table and the roles of its columns to models, x and y: surveyed, then whole or as a stream."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray
from condgof.cli import _roles, tell
from condgof.cli._model import load_model, model_file, running
from condgof.cli._output import check_place, naming
from condgof.cli._roles import Candidate, Given, Roles, number_of
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError, retold
from condgof.laws._law import Law, ModelLike
from condgof.sample import MIN_ROWS, Frame, Source, Table, arrow
from condgof.sample._table import few, some
from condgof.sample._values import missing_in

STDIN = "-"
#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28
#: None where predictions are in columns.
Models: TypeAlias = Sequence[ModelLike | None]


def open_table(data: str) -> Table:
    arrow()
    return (
        Table.of_text("standard input", sys.stdin.buffer.read())
        if data == STDIN
        else Table.of(data)
    )


@dataclass(frozen=True, eq=False)
class Read:
    """A table that was read through: what is missing in it, and some columns of complete rows."""

    table: Table
    roles: Roles
    #: The columns that were kept, of the rows that have everything; and which rows those
    #: are.
    data: dict[str, AnyArray]
    complete: NDArray[np.bool_]
    #: In how many rows each column is missing.
    missing: Counter[str]

    @classmethod
    def of(cls, table: Table, roles: Roles, keep: Sequence[str]) -> Read:
        complete, parts, missing = [np.ones(0, dtype=bool)], [], Counter[str]()
        for batch in table.batches():
            # Of objects, those of text, None alone is missing.
            lost = {
                name: (
                    values == np.array(None)
                    if values.dtype == object
                    else missing_in(values)
                )
                for name, values in batch.items()
            }
            missing.update({name: int(rows.sum()) for name, rows in lost.items()})
            complete.append(~np.logical_or.reduce([*lost.values()]))
            parts.append({name: batch[name][complete[-1]] for name in keep})
        data = {
            name: np.concatenate([part[name] for part in parts]) for name in keep if parts
        }
        return cls(table, roles, data, np.concatenate(complete), missing)

    @property
    def left(self) -> int:
        return int(np.count_nonzero(self.complete))

    @property
    def dropped(self) -> int:
        return len(self.complete) - self.left

    @property
    def dropped_by_column(self) -> dict[str, int]:
        """In how many rows each column is missing, in the order of the roles."""
        return {name: self.missing[name] for name in self.roles.all if self.missing[name]}

    @property
    def words(self) -> str:
        """The rows with missing values, as in "3 rows (income 2, food 1)"."""
        listed = [f"{name} {count:,}" for name, count in self.dropped_by_column.items()]
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} ({some(listed)})"

    def judge(self, drop_nulls: bool, least: int = MIN_ROWS) -> None:
        label, left, dropped = self.table.label, self.left, self.dropped
        if dropped and not drop_nulls:
            what = f"{label} has missing values in {self.words} of {len(self.complete):,}"
            raise NonFiniteError(
                f"{what}. --drop-nulls leaves those rows out.", count=dropped
            )
        if left < least:
            after = (
                f" after {dropped:,} with missing values were left out" if dropped else ""
            )
            what = f"{label} has {left} row{'s' * (left != 1)}{after}"
            raise InputError(
                f"{what}, and a check needs at least {least}, better hundreds."
            )

    def counting(self, text: str) -> str:
        """Have a message say that rows that were left out are not counted in row numbers."""
        counted = self.dropped and "counted from 0" in text
        return f"{text} Rows that were left out are not counted." if counted else text


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check, or a comparison, needs: models and rows, and what is known of the table."""

    read: Read
    models: list[Any]
    #: Frame and Frame, or Source and None.
    x: Any
    y: Any

    @property
    def streamed(self) -> bool:
        return isinstance(self.x, Source)

    @property
    def by(self) -> Frame | str | None:
        """The group of each row, or the column of x that has it."""
        name = self.read.roles.by
        if name is None or name in self.read.roles.x:
            return name
        return Frame({name: self.read.data[name]}, flat=True)

    def column(self, role: str) -> AnyArray | None:
        name = getattr(self.read.roles, role)
        return None if name is None else self.read.data[name]

    @property
    def words(self) -> str:
        rows = f"{self.read.table.label}: {self.read.left:,} rows"
        if self.read.dropped:
            rows += (
                f"; {self.read.words} with missing values left out, not counted in row"
                " numbers"
            )
        return f"{rows}; streamed" if self.streamed else rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.read.table.label,
            "rows": self.read.left,
            "dropped_rows": self.read.dropped,
            "dropped_by_column": self.read.dropped_by_column,
            "streamed": self.streamed,
        }


@contextmanager
def loaded(given: Given, candidates: Sequence[Candidate]) -> Iterator[Loaded]:
    """Read the table, for as long as its rows are needed, once for all models."""
    table, addresses = open_table(given["data"]), [one.model for one in candidates]
    roles = _roles.find_roles(given, table.label, table.names, candidates)
    models: list[ModelLike | None] = []
    for one in candidates:
        with retold(one.told):
            models.append(None if one.model is None else load_model(one.model))
    inputs = [*table.paths, *map(model_file, addresses)]
    check_place(given["report"], "--report", (), inputs)
    check_place(given.get("repair"), "--repair", (".parquet", ".csv"), inputs)
    with _rows(table, roles, models, given) as rows, running(*addresses):
        yield rows


@contextmanager
def _rows(table: Table, roles: Roles, models: Models, given: Given) -> Iterator[Loaded]:
    """Read the rows, whole or as a stream; where a model is None, predictions are in columns."""
    table = table.reading(roles.kinds)
    large = bool(table.paths) and table.bytes > STREAM_BYTES
    classes = any("prob" in each.facts for each in roles.predictions)
    reason = (
        "predictions of classes"
        if classes
        else "--event"
        if roles.event is not None
        else ""
    )
    if large and reason and not given["quiet"]:
        tell(
            f"reading {len(roles.all)} columns into memory, because {reason} cannot be"
            " streamed."
        )
    few = tuple(dict.fromkeys(filter(None, (*roles.labels, roles.groups))))
    read = Read.of(table, roles, few if large and not reason else roles.all)
    read.judge(given["drop_nulls"])
    with retold(read.counting):
        if not large or reason:
            yield _whole(read, models, given)
            return
        bound = _models(models, read, [each.model for each in roles.predictions])
        with _source(read) as source:
            framed = any(model is not None for model in models)
            yield Loaded(read, bound, replace(source, framed=framed), None)


def _whole(read: Read, models: Models, given: Given) -> Loaded:
    roles, data = read.roles, read.data
    text = {name: {*data[name]} for name in roles.x if data[name].dtype == "O"}
    check_text(read.table, roles, text)
    x = Frame({name: data[name] for name in roles.x}, utc=read.table.utc)
    predicted: list[Law | None] = []
    for each in roles.predictions:
        model = each.model
        if "prob" in each.facts:
            model = _roles.class_columns(given, data, each.names, roles.y[0])
        with retold(f"{read.table.label}, columns {few(each.names)}"):
            # Numbered as a stream of these rows has them, so that ties are broken alike.
            predicted.append(None if model is None else model.bind(data, np.arange(len(x))))
    imported = any(model is not None for model in models)
    bound = _models(models, read, predicted)
    return Loaded(read, bound, x.pandas() if imported else x, y_of(data, roles))


def y_of(data: Mapping[str, AnyArray], roles: Roles) -> Frame:
    """Return y as a frame; models get one column of it as (n,)."""
    return Frame({name: data[name] for name in roles.y}, flat=len(roles.y) == 1)


def check_text(table: Table, roles: Roles, levels: Mapping[str, Collection[str]]) -> None:
    """Refuse a column of x with some text among numbers: as categories, it would be of no use."""
    for name, values in levels.items():
        odd = [value for value in values if number_of(value) is None]
        if name not in roles.categorical and odd and 2 * len(odd) < len(values):
            raise InputTypeError(
                f"Column {name!r} of {table.label} holds {odd[0]!r} among numbers. Correct"
                f" it, or take the column as categories with --categorical {name}."
            )


def _models(models: Models, read: Read, predicted: Sequence[Any]) -> list[Any]:
    """Return all models, or what is predicted in columns; what is bound to rows is cut to them."""
    ready, rows = [], len(read.complete)
    for model, in_columns in zip(models, predicted, strict=True):
        if model is not None and model.rows is not None:
            if model.rows != rows:
                raise ShapeError(
                    f"The model is bound to {model.rows} rows and the table has {rows}."
                    " Give it one row for each of the table, also for rows that"
                    " --drop-nulls leaves out."
                )
            model = model.take(np.flatnonzero(read.complete)) if read.dropped else model
        ready.append(in_columns if model is None else model)
    return ready


@contextmanager
def _source(read: Read) -> Iterator[Source]:
    """Give the rows as a source. Where some are left out, the others are in a file for that long."""
    table, roles = read.table, read.roles
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        if read.dropped:
            path, pa = Path(folder) / "complete.feather", arrow()
            types = {
                "numbers": pa.float64(),
                "text": pa.string(),
                "dates": pa.timestamp("us"),
            }
            held = {name: types[kind] for name, kind in table.kinds.items()}
            held |= dict.fromkeys(table.utc, pa.timestamp("us", "UTC"))
            schema = pa.schema(list(held.items()))
            with naming(path), arrow("ipc").new_file(str(path), schema) as writer:
                first = 0
                for data in table.batches():
                    last = first + len(next(iter(data.values())))
                    complete, first = read.complete[first:last], last
                    chosen = [pa.array(data[name][complete], held[name]) for name in held]
                    writer.write_batch(pa.RecordBatch.from_arrays(chosen, schema=schema))
            table = replace(Table.of(path).reading(roles.kinds), kinds=table.kinds)
        source = Source.of(
            table, roles.x, roles.y, roles.predicted, flat_y=len(roles.y) == 1
        )
        check_text(
            read.table, roles, {c.name: c.levels for c in source.x_columns if c.levels}
        )
        yield replace(source, extra_names=())
