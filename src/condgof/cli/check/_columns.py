"""What each column of a table is for, by the options of `condgof check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from condgof.cli.check._pick import flag_of, pick, pick_one
from condgof.cli.check._predictions import Header, Prediction, check_kinds
from condgof.errors import InputError


@dataclass(frozen=True)
class Roles:
    """What each column is for, by name.

    Parameters
    ----------
    x, y : tuple of str
        Covariates and responses.
    predictions : tuple of Prediction
        What columns say of y: one, none where the model is imported, two where models are compared.
    by : str, optional
        The column of the groups.
    categorical : tuple of str
        Those of x that hold categories, whatever they look like.
    groups : str, optional
        The column that says which rows depend on each other.
    text_y : bool
        Whether y may be text: the names of classes.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    predictions: tuple[Prediction, ...] = ()
    by: str | None = None
    categorical: tuple[str, ...] = ()
    groups: str | None = None
    text_y: bool = False

    @property
    def predicted(self) -> tuple[str, ...]:
        """The columns of the predictions."""
        return tuple(dict.fromkeys(name for each in self.predictions for name in each.names))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        return tuple(dict.fromkeys((*self.y, *self.predicted)))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are read as text whatever they hold: which rows are together, unless in x."""
        return tuple(n for n in (self.by, self.groups) if n is not None and n not in self.x)

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(dict.fromkeys((*self.x, *self.numbers, *self.labels)))


@dataclass(frozen=True)
class Asked:
    """The columns as the user wrote them, option by option."""

    x: Sequence[str]
    y: Sequence[str]
    by: str | None = None
    categorical: Sequence[str] = ()
    groups: str | None = None
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

    def resolve(self, table: str, names: Sequence[str], model: bool, seed: int = 0) -> Roles:
        """Find the columns in a table, and check that the roles go together.

        Parameters
        ----------
        table : str
            What messages call the table.
        names : sequence of str
            Its columns.
        model : bool
            Whether the model comes from elsewhere (``--model``).
        seed : int
            Of the random numbers that break ties among draws and quantiles.
        """
        kind = check_kinds(self, model)
        y = pick(self.y, names, table, "--y")
        found = () if kind is None else (Header(table, names, y, seed).prediction(kind, self),)
        by, groups = (
            None if asked is None else pick_one(asked, names, table, flag_of(role))
            for role, asked in (("by", self.by), ("groups", self.groups))
        )
        taken = {*y, *(name for each in found for name in each.names), by}
        x = pick(self.x, names, table, "--x", without=taken)
        categorical = pick(self.categorical, x, "--x", "--categorical") if self.categorical else ()
        roles = Roles(x, y, found, by, categorical, groups, text_y=model or kind == "prob")
        _check_roles(roles)
        return roles


def _check_roles(roles: Roles) -> None:
    """Refuse a column that has two roles."""
    given = [("--y", roles.y), *(pair for each in roles.predictions for pair in each.roles.items())]
    given.append(("--by", () if roles.by is None else (roles.by,)))
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
        if name in roles.y:
            raise InputError(f"Column {name!r} is in --y and in --x. Give it one of the two.")
