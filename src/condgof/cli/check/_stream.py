"""Tables that are too large to be read whole: surveyed in one pass, then streamed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.cli.check._columns import Roles
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.errors import ShapeError
from condgof.laws import ModelLike
from condgof.sample import Source, arrow, column_numbers, read_batches, scan


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
) -> Iterator[tuple[list[Any], Source, int, Dropped]]:
    """Give the models, the source, the number of rows, and those left out.

    Models that are None are in columns of the table. Rows with missing values are left out by writing
    the others to a file that is there only as long as the check runs.
    """
    extra = roles.predicted
    source = scan(list(table.paths), x=roles.x, y=roles.y, extra=extra)
    reader = _Reader.of(source, roles.by)
    survey = Survey(table.label, roles)
    bound = any(model is not None and model.rows is not None for model in models)
    kept: list[IntArray] = []
    for start, data in reader.batches():
        complete = survey.add(data, reader.gaps(start, data))
        if bound:
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
            reader.write_complete(Survey(table.label, roles), path)
            source = scan(path, x=roles.x, y=roles.y, extra=extra)
        yield found, source.with_extra(()), source.n, dropped


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads a source in order; `labels` is its column of groups, where there is one, as categories."""

    source: Source
    by: str | None
    labels: Any = None

    @classmethod
    def of(cls, source: Source, by: str | None) -> _Reader:
        if by is None:
            return cls(source, None)
        pa, chunks = arrow(), []
        for file in source.files:
            for _, batch in read_batches(file, 0, file.rows, (by,), text=True) if file.rows else ():
                column = batch.column(by)
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                chunks.append(column.cast(pa.string()).dictionary_encode())
        return cls(source, by, pa.chunked_array(chunks).unify_dictionaries())

    def batches(self) -> Iterator[tuple[int, dict[str, AnyArray]]]:
        """Yield the number of the first row of a batch, and its numbers."""
        source = self.source
        names = tuple(dict.fromkeys((*source.x_names, *source.y_names, *source.extra_names)))
        for file in source.files:
            for row, batch in read_batches(file, 0, file.rows, names) if file.rows else ():
                yield file.start + row, {name: column_numbers(batch.column(name)) for name in names}

    def gaps(self, start: int, data: dict[str, AnyArray]) -> dict[str, AnyArray]:
        """Tell in which rows of a batch there is no group."""
        if self.by is None:
            return {}
        return {self.by: np.asarray(self._labels_at(start, data).is_null())}

    def _labels_at(self, start: int, data: dict[str, AnyArray]) -> Any:
        return self.labels.slice(start, len(next(iter(data.values()))))

    def write_complete(self, survey: Survey, path: Path) -> None:
        """Write the rows in which nothing is missing."""
        pa, writer = arrow(), None
        try:
            for start, data in self.batches():
                complete = survey.add(data, self.gaps(start, data))
                chosen = {name: pa.array(values[complete]) for name, values in data.items()}
                if self.by is not None:
                    labels = self._labels_at(start, data).filter(pa.array(complete))
                    chosen[self.by] = labels.combine_chunks().cast(pa.string())
                batch = pa.RecordBatch.from_arrays(list(chosen.values()), names=list(chosen))
                if writer is None:
                    writer = arrow("ipc").new_file(str(path), batch.schema)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()
