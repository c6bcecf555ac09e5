"""Tables that are too large to be read whole: surveyed in one pass, then streamed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.cli._files import naming
from condgof.cli.check._columns import Roles
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.errors import ShapeError
from condgof.laws import ModelLike
from condgof.sample import Source, arrow, scan


class CannotStreamError(Exception):
    """What keeps a table from being streamed, which only its rows tell."""


def bound_to(model: ModelLike, n: int, rows: IntArray) -> ModelLike:
    """Return a model that is bound to the rows of a table, without those rows that were left out."""
    if model.rows != n:
        raise ShapeError(
            f"The model is bound to {model.rows} rows and the table has {n}. Give it one row for each "
            "of the table, also for rows that --drop-nulls leaves out."
        )
    return model if len(rows) == n else model.take(rows)


@contextmanager
def streamed(
    table: Table, roles: Roles, models: Sequence[ModelLike | None], drop_nulls: bool
) -> Iterator[tuple[list[Any], Source, int, Dropped, AnyArray | None]]:
    """Give the models, the source, the number of rows, those left out, and the group of each row.

    Models that are None are in columns of the table. Rows with missing values are left out by writing
    the others to a file that is there only as long as the check runs. Groups are None unless ``--by``
    names a column that is not in x.
    """
    extra = roles.predicted
    source = scan(list(table.paths), x=roles.x, y=roles.y, extra=extra)
    labels = source.text(str(roles.by)) if roles.by in roles.labels else None
    survey = Survey(table.label, roles)
    bound = any(model is not None and model.rows is not None for model in models)
    kept: list[IntArray] = []
    for start, data in source.batches():
        complete = survey.add(data, _gaps(roles, labels, start, data))
        if bound or labels is not None:
            kept.append(start + np.flatnonzero(complete))
    dropped = survey.judge(drop_nulls)
    if survey.endless is not None:
        raise CannotStreamError(f"an interval without an end (in {survey.endless})")
    columns = iter(roles.predictions)
    found = [
        next(columns).model if model is None
        else model if model.rows is None
        else bound_to(model, survey.rows, np.concatenate(kept))
        for model in models
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="condgof-") as folder:
        if dropped.rows:
            path = Path(folder) / "complete.feather"
            with naming(path):
                _write_complete(source, Survey(table.label, roles), labels, path)
            source = scan(path, x=roles.x, y=roles.y, extra=extra)
        groups = None if labels is None else labels[np.concatenate(kept)]
        yield found, source.with_extra(()), source.n, dropped, groups


def _gaps(
    roles: Roles, labels: AnyArray | None, start: int, data: dict[str, AnyArray]
) -> dict[str, AnyArray]:
    """Tell in which rows of a batch there is no group."""
    if labels is None:
        return {}
    some = labels[start : start + len(next(iter(data.values())))]
    return {str(roles.by): np.array([label is None for label in some], dtype=bool)}


def _write_complete(source: Source, survey: Survey, labels: AnyArray | None, path: Path) -> None:
    """Write the rows in which nothing is missing."""
    pa, writer = arrow(), None
    try:
        for start, data in source.batches():
            complete = survey.add(data, _gaps(survey.roles, labels, start, data))
            chosen = [pa.array(values[complete]) for values in data.values()]
            batch = pa.RecordBatch.from_arrays(chosen, names=list(data))
            if writer is None:
                writer = arrow("ipc").new_file(str(path), batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
