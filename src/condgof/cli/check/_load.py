"""From a table and the roles of its columns to a model, x and y: read whole, or as a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.cli.check._classes import ClassNames
from condgof.cli.check._columns import Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._stream import CannotStreamError, bound_to, streamed
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table
from condgof.laws import ModelLike
from condgof.report import terminal
from condgof.sample import Source

#: Tables whose columns take more bytes than this are not read whole.
STREAM_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a check, or a comparison, needs: models and rows, and what was left out of the table."""

    label: str
    models: list[Any]
    #: Frame and Frame or Series, or Source and None.
    x: Any
    y: Any
    #: The group of each row, or the column of x that has it.
    by: Series | str | None
    rows: int
    dropped: Dropped
    groups: AnyArray | None = None
    #: The columns of ``--event`` and ``--entry``, by these names.
    watched: dict[str, AnyArray] = field(default_factory=dict)

    @property
    def streamed(self) -> bool:
        """Whether the table was too large to be read whole."""
        return isinstance(self.x, Source)

    def words(self, more: str = "") -> str:
        """Say which rows there are, and how many were left out."""
        rows = f"{self.label}: {self.rows:,} rows"
        if self.dropped.rows:
            rows += f"; {self.dropped.words} with missing values left out{more}"
        return f"{rows}; streamed" if self.streamed else rows

    def to_dict(self) -> dict[str, Any]:
        """Return the same ready for JSON."""
        return {
            "path": self.label,
            "rows": self.rows,
            "dropped_rows": self.dropped.rows,
            "dropped_by_column": dict(self.dropped.columns),
            "streamed": self.streamed,
        }


@contextmanager
def loaded(
    table: Table,
    roles: Roles,
    models: Sequence[ModelLike | None],
    drop_nulls: bool,
    classes: ClassNames,
    quiet: bool,
) -> Iterator[Loaded]:
    """Read a table, or find it, for as long as a check takes.

    A model that is None is in columns of the table, in the order of the predictions.
    """
    if table.paths and table.bytes_of(roles.all) > STREAM_BYTES:
        reason = _unstreamed(table, roles)
        with ExitStack() as stack:
            if reason is None:
                try:
                    found = stack.enter_context(streamed(table, roles, models, drop_nulls))
                except CannotStreamError as why:
                    reason = str(why)
                else:
                    own, source, rows, dropped, labels = found
                    by = roles.by if labels is None else Series(str(roles.by), labels)
                    yield Loaded(table.label, own, source, None, by, rows, dropped)
                    return
        if not quiet:
            text = f"reading {len(roles.all)} columns into memory, because {reason} cannot be streamed."
            print(f"condgof: {terminal(text)}", file=sys.stderr)
    yield _whole(table, roles, models, drop_nulls, classes)


def _unstreamed(table: Table, roles: Roles) -> str | None:
    """Say what of a large table must be read whole; None where nothing must."""
    text = [*roles.categorical, *(name for name in roles.x if table.is_text(name))]
    if text:
        return f"text columns such as {text[0]}"
    if not all(each.streams for each in roles.predictions):
        return "predictions of classes and counts"
    if roles.event is not None:
        return "--event"
    return None if roles.groups is None else f"the groups of {roles.groups}"


def _whole(
    table: Table,
    roles: Roles,
    models: Sequence[ModelLike | None],
    drop_nulls: bool,
    classes: ClassNames,
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
    groups = None if roles.groups is None else data[roles.groups]
    kept, predictions, found = np.flatnonzero(complete), iter(roles.predictions), list[ModelLike]()
    for model in models:
        if model is not None:
            found.append(model if model.rows is None else bound_to(model, survey.rows, kept))
        elif (own := next(predictions)).model is None:
            found.append(classes.model(data, own.names, roles.y[0], table.label))
        else:
            # Numbered as a stream of these rows has them, so that ties are broken alike.
            found.append(own.model.bind(data, np.arange(len(x))))
    named = {"event": roles.event, "entry": roles.entry}
    watched = {option: data[name] for option, name in named.items() if name is not None}
    return Loaded(table.label, found, x, y, by, len(x), dropped, groups, watched)


def y_of(data: dict[str, AnyArray], roles: Roles) -> Frame | Series:
    """Return one column of y as a series, which models get as (n,), several as a frame."""
    if len(roles.y) == 1:
        return Series(roles.y[0], data[roles.y[0]])
    return Frame({name: data[name] for name in roles.y})
