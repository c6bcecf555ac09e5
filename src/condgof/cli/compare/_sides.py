"""The two models of `condgof compare`: where each comes from, and one reading of the table for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof.cli.check import (
    STREAM_BYTES,
    Asked,
    Dropped,
    Frame,
    Roles,
    Survey,
    Table,
    bound_to,
    in_columns,
    load_model,
    streamed,
    y_of,
)
from condgof.errors import CondgofError, InputError
from condgof.laws import ModelLike


@dataclass(frozen=True)
class Side:
    """One of the models, as the user gave it.

    Parameters
    ----------
    letter : {"a", "b"}
        Which one: its options begin with it.
    name : str
        What to call it.
    mean, std, score : sequence of str
        The columns of its predictions.
    model : str, optional
        Its address, where it is to be imported.
    """

    letter: str
    name: str
    mean: Sequence[str] = ()
    std: Sequence[str] = ()
    score: Sequence[str] = ()
    model: str | None = None

    def roles(self, table: Table, x: Sequence[str], y: Sequence[str], levels: Sequence[str]) -> Roles:
        """Find the columns of this model, and of x and y, in the table."""
        if not (self.mean or self.std or self.score or self.model):
            own = f"--{self.letter}"
            raise InputError(
                f"There is no model {self.letter}. Name the columns with its predictions ({own}-mean "
                f"and {own}-std or {own}-score), or a model to import ({own}-model package.module:name)."
            )
        asked = Asked(x, y, categorical=levels, mean=self.mean, std=self.std, score=self.score)
        with self.flags():
            return asked.resolve(table.label, table.names, self.model is not None)

    def load(self, form: str, roles: Roles) -> ModelLike | None:
        """Import the model, where it is to be imported."""
        if self.model is None:
            return None
        with self.flags():
            return load_model(self.model, form, roles.x, len(roles.y))

    @contextmanager
    def flags(self) -> Iterator[None]:
        """Let messages name the options as they are here: --a-mean for --mean."""
        try:
            yield
        except CondgofError as error:
            text = str(error)
            for word in ("mean", "std", "score", "model "):
                text = text.replace(f"--{word}", f"--{self.letter}-{word}")
            error.args = (text, *error.args[1:])
            raise

    @property
    def words(self) -> str:
        """Where the model comes from."""
        if self.model is not None:
            return self.model
        if self.score:
            return f"scores in {', '.join(self.score)}"
        return f"mean in {', '.join(self.mean)}; standard deviation in {', '.join(self.std)}"


@dataclass(frozen=True, eq=False)
class Both:
    """What a comparison needs.

    Parameters
    ----------
    models : tuple
        The two models.
    x, y : Frame and Frame or Series, or Source and None
        The sample.
    rows : int
        Rows that are compared.
    dropped : Dropped
        Rows that are not.
    streamed : bool
        Whether the table was too large to be read whole.
    """

    models: tuple[Any, Any]
    x: Any
    y: Any
    rows: int
    dropped: Dropped
    streamed: bool


def common_roles(first: Roles, second: Roles) -> tuple[Roles, Roles]:
    """Give both models the same x: what a pattern stands for leaves out the columns of both."""
    taken = {*first.predicted, *second.predicted}
    x = tuple(name for name in first.x if name in second.x)
    if not x:
        raise InputError(f"--x: every column that it stands for has another role ({', '.join(taken)}).")
    levels = tuple(name for name in first.categorical if name in x)
    return replace(first, x=x, categorical=levels), replace(second, x=x, categorical=levels)


@contextmanager
def both_loaded(
    table: Table,
    roles: tuple[Roles, Roles],
    models: tuple[ModelLike | None, ModelLike | None],
    drop_nulls: bool,
    say: Callable[[str], None],
) -> Iterator[Both]:
    """Read a table once for both models, or find it, for as long as a comparison takes."""
    first, second = roles
    together = replace(first, predictions=(*first.predictions, *second.predictions))
    if table.paths and table.bytes_of(together.all) > STREAM_BYTES:
        text = [*first.categorical, *(name for name in first.x if table.is_text(name))]
        if not text:
            with streamed(table, together, models, drop_nulls) as ((a, b), source, rows, dropped, _):
                yield Both((a, b), source, None, rows, dropped, True)
            return
        say(
            f"reading {len(together.all)} columns into memory, because text columns such as {text[0]} "
            "cannot be streamed."
        )
    yield _whole(table, together, roles, models, drop_nulls)


def _whole(
    table: Table,
    together: Roles,
    roles: tuple[Roles, Roles],
    models: tuple[ModelLike | None, ModelLike | None],
    drop_nulls: bool,
) -> Both:
    data = table.read(together)
    survey = Survey(table.label, together)
    complete = survey.add(data)
    dropped = survey.judge(drop_nulls)
    kept = {name: values[complete] for name, values in data.items()} if dropped.rows else data
    found: list[ModelLike] = []
    for own, model in zip(roles, models, strict=True):
        if model is None:
            found.append(in_columns(own.predictions[0], kept))
        elif model.rows is None:
            found.append(model)
        else:
            found.append(bound_to(model, survey.rows, np.flatnonzero(complete)))
    x = Frame({name: kept[name] for name in together.x})
    return Both((found[0], found[1]), x, y_of(kept, together), len(x), dropped, False)
