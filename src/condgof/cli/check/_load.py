"""From a table and the roles of its columns to a model, x and y: read whole, or as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.cli.check._classes import UNNAMED, Classes
from condgof.cli.check._columns import Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._predictions import Prediction
from condgof.cli.check._stream import CannotStreamError, bound_to, streamed
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.laws import Law, ModelLike
from condgof.sample import Source

#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check needs.

    Parameters
    ----------
    model : Law, Model or Columns
        The model.
    x, y : Frame and Frame or Series, or Source and None
        The sample.
    by : Series or str, optional
        The group (``--by``) of each row, or the column of x that has it.
    rows : int
        Rows that are tested.
    dropped : Dropped
        Rows that are not.
    groups : Series, optional
        Which rows depend on each other (``--groups``).
    """

    model: Any
    x: Any
    y: Any
    by: Series | str | None
    rows: int
    dropped: Dropped
    groups: Series | None = None

    @property
    def streamed(self) -> bool:
        """Whether the table was too large to be read whole."""
        return isinstance(self.x, Source)


@contextmanager
def loaded(
    table: Table,
    roles: Roles,
    model: ModelLike | None,
    drop_nulls: bool,
    say: Callable[[str], None],
    classes: Classes = UNNAMED,
) -> Iterator[Loaded]:
    """Read a table, or find it, for as long as a check takes.

    Parameters
    ----------
    table : Table
        The table.
    roles : Roles
        What its columns are for.
    model : Law or Model, optional
        The model, where it is not in columns of the table.
    drop_nulls : bool
        Whether rows with missing values are left out, rather than an error.
    say : callable
        Gets what the user should know.
    classes : Classes
        What the classes of ``--prob`` are called.
    """
    if table.paths and table.bytes_of(roles.all) > STREAM_BYTES:
        reason = _unstreamed(table, roles)
        with ExitStack() as stack:
            if reason is None:
                try:
                    found = stack.enter_context(streamed(table, roles, [model], drop_nulls))
                except CannotStreamError as why:
                    reason = str(why)
                else:
                    (own,), source, rows, dropped, labels = found
                    by = roles.by if labels is None else Series(str(roles.by), labels)
                    yield Loaded(own, source, None, by, rows, dropped)
                    return
        say(f"reading {len(roles.all)} columns into memory, because {reason} cannot be streamed.")
    yield _whole(table, roles, model, drop_nulls, classes)


def _unstreamed(table: Table, roles: Roles) -> str | None:
    """Say what of a large table must be read whole; None where nothing must."""
    text = [*roles.categorical, *(name for name in roles.x if table.is_text(name))]
    if text:
        return f"text columns such as {text[0]}"
    if not all(each.streams for each in roles.predictions):
        return "predictions of classes and counts"
    return None if roles.groups is None else f"the groups of {roles.groups}"


def _whole(
    table: Table, roles: Roles, model: ModelLike | None, drop_nulls: bool, classes: Classes
) -> Loaded:
    data = table.read(roles)
    survey = Survey(table.label, roles)
    complete = survey.add(data)
    dropped = survey.judge(drop_nulls)
    if dropped.rows:
        data = {name: values[complete] for name, values in data.items()}
    x = Frame({name: data[name] for name in roles.x})
    y = y_of(data, roles)
    by = Series(roles.by, data[roles.by]) if roles.by in roles.labels else roles.by
    groups = None if roles.groups is None else Series(roles.groups, data[roles.groups])
    found: ModelLike
    if model is not None:
        kept = np.flatnonzero(complete)
        found = model if model.rows is None else bound_to(model, survey.rows, kept)
    elif roles.predictions[0].model is None:
        found = classes.model(data, roles.predicted, roles.y[0], table.label)
    else:
        found = in_columns(roles.predictions[0], data)
    return Loaded(found, x, y, by, len(x), dropped, groups)


def y_of(data: dict[str, AnyArray], roles: Roles) -> Frame | Series:
    """Return one column of y as a series, which models get as (n,), several as a frame."""
    if len(roles.y) == 1:
        return Series(roles.y[0], data[roles.y[0]])
    return Frame({name: data[name] for name in roles.y})


def in_columns(prediction: Prediction, data: dict[str, AnyArray]) -> Law:
    """Return the law of all rows, from the columns of a prediction."""
    assert prediction.model is not None
    # Numbered as a stream of these rows has them, so that ties are broken alike.
    return prediction.model.bind(data, np.arange(len(next(iter(data.values())))))
