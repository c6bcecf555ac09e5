"""From a table and the roles of its columns to a model, x and y: read whole, or as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.cli.check._columns import Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._stream import bound_to, streamed
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.models import ConditionalModel, normal
from condgof.sample import Source

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
    groups : Series or str, optional
        The group of each row, or the column that has it.
    rows : int
        Rows that are tested.
    dropped : Dropped
        Rows that are not.
    """

    model: Any
    x: Any
    y: Any
    groups: Series | str | None
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
        if not text:
            with streamed(table, roles, model, drop_nulls) as found:
                yield Loaded(*found)
            return
        say(
            f"reading {len(roles.all)} columns into memory, because text columns such as {text[0]} "
            "cannot be streamed."
        )
    yield _whole(table, roles, model, drop_nulls)


def _whole(table: Table, roles: Roles, model: ConditionalModel | None, drop_nulls: bool) -> Loaded:
    data = table.read(roles)
    survey = Survey(table.label, roles)
    complete = survey.add(data)
    dropped = survey.judge(drop_nulls)
    if dropped.rows:
        data = {name: values[complete] for name, values in data.items()}
    x = Frame({name: data[name] for name in roles.x})
    y = y_of(data, roles)
    groups = None if roles.by is None else Series(roles.by, data[roles.by])
    found = model
    if model is None:
        found = predicted(data, roles)
    elif model.rows is not None:
        found = bound_to(model, survey.rows, np.flatnonzero(complete))
    return Loaded(found, x, y, groups, len(x), dropped)


def y_of(data: dict[str, AnyArray], roles: Roles) -> Frame | Series:
    """Return one column of y as a series, which models get as (n,), several as a frame."""
    if len(roles.y) == 1:
        return Series(roles.y[0], data[roles.y[0]])
    return Frame({name: data[name] for name in roles.y})


def predicted(data: dict[str, AnyArray], roles: Roles) -> Any:
    """Return the model whose predictions are in columns."""

    def stack(names: tuple[str, ...]) -> AnyArray:
        return np.column_stack([data[name] for name in names])

    return stack(roles.score) if roles.score else normal(mean=stack(roles.mean), std=stack(roles.std))
