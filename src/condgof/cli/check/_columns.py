"""What each column of a table is for, by the options of `condgof check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from condgof.cli.check._pick import pick, pick_one
from condgof.cli.check._predictions import Header, Prediction, check_kinds
from condgof.errors import InputError

#: Options that take one column.
ONE = ("--by", "--groups", "--event", "--entry")


@dataclass(frozen=True)
class Roles:
    """What each column is for, by name."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    #: One, none where the model is imported, several where models are compared.
    predictions: tuple[Prediction, ...] = ()
    by: str | None = None
    categorical: tuple[str, ...] = ()
    groups: str | None = None
    #: Whether y may be text: the names of classes.
    text_y: bool = False
    event: str | None = None
    entry: str | None = None

    @property
    def predicted(self) -> tuple[str, ...]:
        """The columns of the predictions."""
        return tuple(dict.fromkeys(name for each in self.predictions for name in each.names))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        watched = (name for name in (self.event, self.entry) if name is not None)
        return tuple(dict.fromkeys((*self.y, *self.predicted, *watched)))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are read as text whatever they hold: which rows are together, unless in x."""
        return tuple(n for n in (self.by, self.groups) if n is not None and n not in self.x)

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(dict.fromkeys((*self.x, *self.numbers, *self.labels)))


@dataclass(frozen=True)
class Wanted:
    """The columns as the user wrote them, option by option."""

    x: Sequence[str]
    y: Sequence[str]
    by: str | None = None
    categorical: Sequence[str] = ()
    groups: str | None = None
    event: str | None = None
    entry: str | None = None
    mean: Sequence[str] = ()
    std: Sequence[str] = ()
    family: str | None = None
    param: Sequence[str] = ()
    draws: Sequence[str] = ()
    quantiles: Sequence[str] = ()
    interval: Sequence[str] = ()
    coverage: Sequence[str] = ()
    pit: Sequence[str] = ()
    score: Sequence[str] = ()
    prob: Sequence[str] = ()
    count_mean: Sequence[str] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wanted:
        """Read them from all that was given on a command line, by the names of options."""
        return cls(**{each.name: given[each.name] for each in fields(cls) if given.get(each.name)})

    def resolve(self, table: str, names: Sequence[str], model: bool, seed: int = 0) -> Roles:
        """Find the columns in a table, and check that the roles go together.

        `model` says whether the model comes from elsewhere; `seed` is that of random tie breaks.
        """
        kind = check_kinds(self, model)
        y = pick(self.y, names, table, "--y")
        found = () if kind is None else (Header(table, names, y, seed).prediction(kind, self),)
        by, groups, event, entry = (
            None if asked is None else pick_one(asked, names, table, flag)
            for flag, asked in zip(ONE, (self.by, self.groups, self.event, self.entry), strict=True)
        )
        taken = {*y, *(name for each in found for name in each.names), by, event, entry}
        x = pick(self.x, names, table, "--x", without=taken)
        categorical = pick(self.categorical, x, "--x", "--categorical") if self.categorical else ()
        roles = Roles(x, y, found, by, categorical, groups, model or kind == "prob", event, entry)
        _check_roles(roles)
        return roles


def _check_roles(roles: Roles) -> None:
    """Refuse a column that has two roles."""
    given = [("--y", roles.y), *(pair for each in roles.predictions for pair in each.roles.items())]
    own = (("--by", roles.by), ("--event", roles.event), ("--entry", roles.entry))
    given += [(flag, (name,)) for flag, name in own if name is not None]
    seen: dict[str, str] = {}
    for flag, names in given:
        for name in names:
            if name in seen:
                raise InputError(
                    f"Column {name!r} is in {seen[name]} and in {flag}. Give it one of the two."
                )
            seen[name] = flag
    # x may hold predictions: p(y|x) with x the predicted mean is a sound question.
    for name in roles.x:
        if name in roles.y or name == roles.event:
            flag = "--y" if name in roles.y else "--event"
            raise InputError(f"Column {name!r} is in {flag} and in --x. Give it one of the two.")
