"""Which columns of a table the options of `condgof check` mean."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace

from condgof.errors import InputError

#: How many names a message lists.
LISTED = 10


@dataclass(frozen=True)
class Roles:
    """What each column is for, by name.

    Parameters
    ----------
    x, y : tuple of str
        Covariates and responses.
    mean, std, score : tuple of str
        Predictions, one column for each of y; empty where the model comes from elsewhere.
    by : str, optional
        The column of the groups.
    categorical : tuple of str
        Those of x that hold categories, whatever they look like.
    prob : tuple of str
        Predicted probabilities of the classes of y, a column for each; or of the second of two.
    count_mean : tuple of str
        Predicted means of counts.
    groups : str, optional
        The column that says which rows depend on each other.
    text_y : bool
        Whether y may be text: the names of classes.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    mean: tuple[str, ...] = ()
    std: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    by: str | None = None
    categorical: tuple[str, ...] = ()
    prob: tuple[str, ...] = ()
    count_mean: tuple[str, ...] = ()
    groups: str | None = None
    text_y: bool = False

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        held = (*self.y, *self.mean, *self.std, *self.score, *self.prob, *self.count_mean)
        return tuple(dict.fromkeys(held))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are read as text whatever they hold: which rows are together."""
        return tuple(name for name in (self.by, self.groups) if name is not None)

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(dict.fromkeys((*self.x, *self.numbers, *self.labels)))


@dataclass(frozen=True)
class Asked:
    """The columns as the user wrote them, option by option."""

    x: Sequence[str]
    y: Sequence[str]
    mean: Sequence[str] = ()
    std: Sequence[str] = ()
    score: Sequence[str] = ()
    by: str | None = None
    categorical: Sequence[str] = ()
    prob: Sequence[str] = ()
    count_mean: Sequence[str] = ()
    groups: str | None = None

    def resolve(self, table: str, names: Sequence[str], model: bool) -> Roles:
        """Find the columns in a table, and check that the roles go together.

        Parameters
        ----------
        table : str
            What messages call the table.
        names : sequence of str
            Its columns.
        model : bool
            Whether the model comes from elsewhere (``--model``).
        """
        self._check_model(model)
        found = {
            role: pick(getattr(self, role), names, table, flag_of(role))
            for role in ("y", "mean", "std", "score", "prob", "count_mean")
        }
        by = self._one("by", names, table)
        groups = self._one("groups", names, table)
        taken = {*(name for group in found.values() for name in group), by}
        x = pick(self.x, names, table, "--x", without=taken)
        roles = Roles(x, by=by, groups=groups, text_y=model or bool(self.prob), **found)
        categorical = pick(self.categorical, x, "--x", "--categorical") if self.categorical else ()
        _check_roles(roles)
        return replace(roles, categorical=categorical)

    def _one(self, role: str, names: Sequence[str], table: str) -> str | None:
        """Find the one column that an option means."""
        asked = getattr(self, role)
        if asked is None:
            return None
        picked = pick([asked], names, table, flag_of(role))
        if len(picked) != 1:
            raise InputError(
                f"{flag_of(role)} takes one column, and {asked!r} stands for {len(picked)}."
            )
        return picked[0]

    def _check_model(self, model: bool) -> None:
        if bool(self.mean) != bool(self.std):
            given, lacking = ("--mean", "--std") if self.mean else ("--std", "--mean")
            raise InputError(
                f"{given} without {lacking}: give both, the columns with the predicted mean and "
                "standard deviation of y."
            )
        ways = [
            way
            for way, given in (
                ("--mean and --std", self.mean),
                ("--score", self.score),
                ("--prob", self.prob),
                ("--count-mean", self.count_mean),
                ("--model", model),
            )
            if given
        ]
        if len(ways) > 1:
            raise InputError(f"{' with '.join(ways)}: the model comes one way. Leave out the others.")
        if not ways:
            raise InputError(
                "There is no model. Name the columns with its predictions (--mean and --std, --score, "
                "--prob or --count-mean), or a model to import (--model package.module:name)."
            )


def flag_of(role: str) -> str:
    """Return the option of a role."""
    return f"--{role.replace('_', '-')}"


def _check_roles(roles: Roles) -> None:
    for role in ("mean", "std", "score", "count_mean"):
        count = len(getattr(roles, role))
        if count and count != len(roles.y):
            raise InputError(
                f"{flag_of(role)} names {count} column{'s' * (count > 1)} and --y {len(roles.y)}. "
                "Give one for each column of y, in the same order."
            )
    if (roles.prob or roles.count_mean) and len(roles.y) > 1:
        raise InputError(f"Classes and counts are one column of y, and --y names {len(roles.y)}.")
    by = () if roles.by is None else (roles.by,)
    groups = {
        "--y": roles.y,
        "--mean": roles.mean,
        "--std": roles.std,
        "--score": roles.score,
        "--prob": roles.prob,
        "--count-mean": roles.count_mean,
        "--by": by,
    }
    seen: dict[str, str] = {}
    for flag, names in groups.items():
        for name in names:
            if name in seen:
                raise InputError(
                    f"Column {name!r} is in {seen[name]} and in {flag}. Give it one of the two."
                )
            seen[name] = flag
    # x may hold predictions: p(y|x) with x the predicted mean is a sound question.
    for name in roles.x:
        if seen.get(name) in ("--y", "--by"):
            raise InputError(f"Column {name!r} is in {seen[name]} and in --x. Give it one of the two.")


def pick(
    asked: Sequence[str],
    names: Sequence[str],
    table: str,
    flag: str,
    without: set[str | None] | frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Find the columns that an option means.

    The first that fits counts: a column of that very name; names separated by commas; ``#k``, the
    column at position k counted from 0; a pattern with ``*``, ``?`` or ``[...]``; a whole number, which
    is a position as well.

    Parameters
    ----------
    asked : sequence of str
        What was given, once or several times.
    names : sequence of str
        The columns that are there.
    table, flag : str
        What messages call the table and the option.
    without : set of str
        Columns that a pattern leaves out, because they have another role.

    Examples
    --------
    >>> names = ["age", "feat_1", "feat_2", "a,b"]
    >>> pick(["feat_*", "a,b"], names, "t.csv", "--x")
    ('feat_1', 'feat_2', 'a,b')
    >>> pick(["feat_2,age"], names, "t.csv", "--x"), pick(["#0", "1"], names, "t.csv", "--x")
    (('feat_2', 'age'), ('age', 'feat_1'))
    """
    found: list[str] = []
    for each in asked:
        for name in _columns_of(each, names, table, flag, without):
            if name in found:
                raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
            count = list(names).count(name)
            if count > 1:
                raise InputError(f"{table} has {count} columns named {name!r}. Give each its own name.")
            found.append(name)
    return tuple(found)


def _columns_of(
    asked: str,
    names: Sequence[str],
    table: str,
    flag: str,
    without: set[str | None] | frozenset[str],
) -> list[str]:
    """Find the columns that one word means."""
    if asked in names:
        return [asked]
    parts = [part.strip() for part in asked.split(",")]
    if len(parts) > 1:
        return [
            name for part in parts if part for name in _columns_of(part, names, table, flag, without)
        ]
    number = asked.removeprefix("#")
    if asked.startswith("#") and number.isdecimal():
        return [_at(int(number), asked, names, table, flag)]
    if any(character in asked for character in "*?["):
        matching = [name for name in names if fnmatch.fnmatchcase(name, asked)]
        if not matching:
            raise InputError(f"{flag}: no column of {table} matches {asked!r}. {_near(asked, names)}")
        left = [name for name in dict.fromkeys(matching) if name not in without]
        if not left:
            raise InputError(
                f"{flag}: every column that matches {asked!r} has another role ({_few(matching)})."
            )
        return left
    if asked.isdecimal():
        return [_at(int(asked), asked, names, table, flag)]
    raise _missing(asked, names, table, flag)


def _at(position: int, asked: str, names: Sequence[str], table: str, flag: str) -> str:
    if position >= len(names):
        raise InputError(
            f"{flag}: {table} has no column {asked!r}: positions go from 0 to {len(names) - 1}. "
            f"{_listed(names)}"
        )
    return names[position]


def _missing(asked: str, names: Sequence[str], table: str, flag: str) -> InputError:
    hint = _near(asked, names)
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        hint = f"Its only column is {names[0]!r}: separate the columns with commas."
    return InputError(f"{flag}: {table} has no column {asked!r}. {hint}")


def _near(asked: str, names: Sequence[str]) -> str:
    """Suggest the nearest names, or list what is there."""
    folded = {name.casefold(): name for name in names}
    near = [folded[key] for key in difflib.get_close_matches(asked.casefold(), list(folded), 3)]
    return f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else _listed(names)


def _listed(names: Sequence[str]) -> str:
    return f"Its columns are {_few(names)}."


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more
