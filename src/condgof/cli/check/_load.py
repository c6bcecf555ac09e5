"""From a table and the roles of its columns to a model, x and y: read whole, or as a stream."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.cli.check._columns import Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.errors import ShapeError
from condgof.models import ConditionalModel, columns, normal
from condgof.sample import Source, arrow, column_numbers, read_batches, scan

#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check needs.

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model.
    x, y : Frame and Frame or Series, or Source and None
        The sample.
    groups : ndarray of shape (n,), optional
        The group of each row.
    rows : int
        Rows that are tested.
    dropped : Dropped
        Rows that are not.
    """

    model: Any
    x: Any
    y: Any
    groups: AnyArray | None
    rows: int
    dropped: Dropped

    @property
    def streamed(self) -> bool:
        """Whether the table was too large to be read whole."""
        return isinstance(self.x, Source)


@contextmanager
def loaded(
    table: Table,
    roles: Roles,
    model: ConditionalModel | None,
    drop_nulls: bool,
    say: Callable[[str], None],
) -> Iterator[Loaded]:
    """Read a table, or find it, for as long as a check takes.

    Parameters
    ----------
    table : Table
        The table.
    roles : Roles
        What its columns are for.
    model : ConditionalModel, optional
        The model, where it is not in columns of the table.
    drop_nulls : bool
        Whether rows with missing values are left out, rather than an error.
    say : callable
        Gets what the user should know.
    """
    if table.paths and table.bytes_of(roles.all) > STREAM_BYTES:
        text = [*roles.categorical, *(name for name in roles.x if table.is_text(name))]
        if roles.by is None and not text:
            with _streamed(table, roles, model, drop_nulls) as found:
                yield found
            return
        why = f"--by {roles.by}" if roles.by is not None else f"text columns such as {text[0]}"
        say(f"reading {len(roles.all)} columns into memory, because {why} cannot be streamed.")
    yield _whole(table, roles, model, drop_nulls)


def _whole(table: Table, roles: Roles, model: ConditionalModel | None, drop_nulls: bool) -> Loaded:
    data = table.read(roles)
    survey = Survey(table.label, roles)
    complete = survey.add(data)
    dropped = survey.judge(drop_nulls)
    if dropped.rows:
        data = {name: values[complete] for name, values in data.items()}
    x = Frame({name: data[name] for name in roles.x})
    y = _y_of(data, roles)
    groups = None if roles.by is None else data[roles.by]
    found = model
    if model is None:
        found = _predicted(data, roles)
    elif model.rows is not None:
        found = _bound(model, survey.rows, np.flatnonzero(complete))
    return Loaded(found, x, y, groups, len(x), dropped)


def _y_of(data: dict[str, AnyArray], roles: Roles) -> Frame | Series:
    """Return one column of y as a series, which models get as (n,), several as a frame."""
    if len(roles.y) == 1:
        return Series(roles.y[0], data[roles.y[0]])
    return Frame({name: data[name] for name in roles.y})


def _predicted(data: dict[str, AnyArray], roles: Roles) -> Any:
    def stack(names: tuple[str, ...]) -> AnyArray:
        return np.column_stack([data[name] for name in names])

    return stack(roles.score) if roles.score else normal(mean=stack(roles.mean), std=stack(roles.std))


def _bound(model: ConditionalModel, n: int, rows: IntArray) -> ConditionalModel:
    """Return a model that is bound to the rows of the table without those that were left out."""
    if model.rows != n:
        raise ShapeError(
            f"The model is bound to {model.rows} rows and the table has {n}. Give it one row for each "
            "of the table, also for rows that --drop-nulls leaves out."
        )
    return model if len(rows) == n else model.take(rows)


@contextmanager
def _streamed(
    table: Table, roles: Roles, model: ConditionalModel | None, drop_nulls: bool
) -> Iterator[Loaded]:
    """Give a source; rows with missing values are left out by writing the others to a temporary file."""
    extra = (*roles.mean, *roles.std, *roles.score)
    source = scan(list(table.paths), x=roles.x, y=roles.y, extra=extra)
    survey = Survey(table.label, roles)
    keep_rows = model is not None and model.rows is not None
    kept: list[IntArray] = []
    for start, _, data in _batches(source):
        complete = survey.add(data)
        if keep_rows:
            kept.append(start + np.flatnonzero(complete))
    dropped = survey.judge(drop_nulls)
    found: Any = model
    if model is None:
        found = columns(score=roles.score) if roles.score else columns(mean=roles.mean, std=roles.std)
    elif keep_rows:
        found = _bound(model, survey.rows, np.concatenate(kept))
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        if dropped.rows:
            path = Path(folder) / "complete.feather"
            _write_complete(source, Survey(table.label, roles), path)
            source = scan(path, x=roles.x, y=roles.y, extra=extra)
        yield Loaded(found, source.with_extra(()), None, None, source.n, dropped)


def _batches(source: Source) -> Iterator[tuple[int, Any, dict[str, AnyArray]]]:
    names = tuple(dict.fromkeys((*source.x_names, *source.y_names, *source.extra_names)))
    for file in source.files:
        for row, batch in read_batches(file, 0, file.rows, names) if file.rows else ():
            yield file.start + row, batch, {name: column_numbers(batch.column(name)) for name in names}


def _write_complete(source: Source, survey: Survey, path: Path) -> None:
    pa = arrow()
    writer = None
    try:
        for _, _, data in _batches(source):
            complete = survey.add(data)
            batch = pa.record_batch({name: values[complete] for name, values in data.items()})
            if writer is None:
                writer = arrow("ipc").new_file(str(path), batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
