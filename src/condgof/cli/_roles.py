"""Which columns of a table the options mean, and what for: x, y, groups, predictions of a model."""

from __future__ import annotations

import csv
import fnmatch
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, retold
from condgof.laws._as_model import Columns, columns
from condgof.laws._discrete import Probabilities, probabilities
from condgof.sample._table import ANY, LABELS, NUMBERS, TEXT, few, hint

#: All that a command line gave, by the names of options.
Given = Mapping[str, Any]
#: The options of each kind of prediction.
KINDS = (
    ("mean", "std"), ("family", "param"), ("interval", "coverage"), ("draws",), ("quantiles",),
    ("pit",), ("score",), ("prob",), ("count_mean",),
)  # fmt: skip
#: How those are used that are pairs.
PAIRS = {
    "quantiles": "q05=0.05,q50=0.5,q95=0.95",
    "param": "mu=m,sigma=s (or a number, df=5)",
}
#: What JSON has of kinds that were not given.
NONE: dict[str, Any] = {
    "mean": [], "std": [], "family": None, "param": {}, "draws": [], "quantiles": {}, "interval": [],
    "coverage": [], "pit": [], "score": [], "prob": [], "count_mean": [],
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A model: the options that say in which columns its predictions are, or an address."""

    name: str
    given: Given
    model: str | None
    #: What its options begin with: "--", "--a-"; "" for a candidate of `rank`.
    prefix: str = ""

    def told(self, text: str) -> str:
        """Have a message name the options as they are here: --a-mean for --mean."""
        for word in (*map(spelled, NONE), "model "):
            text = text.replace(
                f"--{word}", f"{self.prefix}{word}" if self.prefix else f"{word}="
            )
        return text if self.prefix else f"--candidate {self.name!r}: {text}"


@dataclass(frozen=True, eq=False)
class Prediction:
    """What columns of a table say of y: by options, as some of `NONE`, and as a model."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    #: The columns by the option that names them; none where a model is imported.
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: None also for classes, whose names depend on y.
    model: Columns | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))


@dataclass(frozen=True)
class Roles:
    """What each column is for, by name."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    #: One for each model.
    predictions: tuple[Prediction, ...]
    by: str | None = None
    categorical: tuple[str, ...] = ()
    groups: str | None = None
    text_y: bool = False
    event: str | None = None
    entry: str | None = None

    @property
    def predicted(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(name for each in self.predictions for name in each.names)
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        return tuple(
            filter(None, dict.fromkeys((*self.y, *self.predicted, self.event, self.entry)))
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are read as text whatever they hold: which rows are together, unless in x."""
        return tuple(n for n in (self.by, self.groups) if n is not None and n not in self.x)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.x, *self.numbers, *self.labels)))

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        kinds: dict[str, tuple[str, ...]] = dict.fromkeys(self.all, ANY)
        kinds |= dict.fromkeys(self.numbers, NUMBERS)
        kinds |= dict.fromkeys(self.y if self.text_y else (), LABELS)
        return kinds | dict.fromkeys((*self.categorical, *self.labels), TEXT)


def find_roles(
    given: Given, table: str, names: Sequence[str], candidates: Sequence[Candidate] = ()
) -> Roles:
    """Find the columns that options name in a table, and check that the roles go together."""
    candidates = candidates or [Candidate("", {}, given["model"], "--")]
    y, predictions = pick(given["y"], names, table, "--y"), []
    for one in candidates:
        with retold(one.told):
            asked = {**given, **one.given, "model": one.model}
            kind = _one_kind(asked)
            made = (
                Prediction() if kind is None else _prediction(kind, asked, table, names, y)
            )
            predictions.append(made)
    single = {
        option: pick_one(given[option], names, table, f"--{option}")
        for option in ("by", "event", "entry", "groups")
        if given.get(option) is not None
    }
    shared: dict[str, Sequence[str]] = {"--y": y}
    shared |= {
        f"--{option}": (name,) for option, name in single.items() if option != "groups"
    }
    uses = [{**shared, **each.roles} for each in predictions]
    taken = {name for use in uses for named in use.values() for name in named}
    x = pick(given["x"], names, table, "--x", taken)
    for one, use in zip(candidates, uses, strict=True):
        with retold(one.told):
            _check_uses({**use, "--x": x})
    coded = given.get("categorical")
    categorical = pick(coded, x, "--x", "--categorical") if coded else ()
    flags = [f"--{name}" for name in ("classes", "ordered") if given.get(name)]
    if flags and not any("prob" in each.facts for each in predictions):
        raise InputError(
            f"{flags[0]} goes with --prob, the columns of class probabilities."
        )
    text_y = any(not each.facts or "prob" in each.facts for each in predictions)
    return Roles(x, y, tuple(predictions), categorical=categorical, text_y=text_y, **single)


def _check_uses(uses: Mapping[str, Sequence[str]]) -> None:
    seen: dict[str, str] = {}
    for flag, named in uses.items():
        for name in named:
            # x may hold predictions: p(y|x) with x the predicted mean is a sound question.
            if name in seen and (flag != "--x" or seen[name] in ("--y", "--event")):
                both = f"in {seen[name]} and in {flag}"
                raise InputError(f"Column {name!r} is {both}. Give it one of the two.")
            seen.setdefault(name, flag)


def spelled(option: str) -> str:
    return option.replace("_", "-")


def flag_of(*options: str) -> str:
    return " and ".join(f"--{spelled(option)}" for option in options)


def _one_kind(given: Given) -> str | None:
    """Check that there is one kind of prediction, and return it; None where there is a model."""
    for options in KINDS:
        there = [option for option in options if given.get(option)]
        if there and len(there) < len(options):
            (lacks,) = {*options} - {*there}
            raise InputError(f"{flag_of(*there)} without --{lacks}: give both.")
    kinds = {flag_of(*options): options[0] for options in KINDS if given.get(options[0])}
    ways = [*kinds, *(["--model"] if given.get("model") is not None else [])]
    if len(ways) > 1:
        raise InputError(
            f"{' with '.join(ways)}: the model comes one way. Leave out the others."
        )
    if not ways:
        raise InputError(
            "There is no model. Name the columns with its predictions (--mean and --std,"
            " --draws, --quantiles, …), or a model to import (--model package.module:name)."
        )
    return next(iter(kinds.values()), None)


def _prediction(
    kind: str, given: Given, table: str, names: Sequence[str], y: tuple[str, ...]
) -> Prediction:
    """Find the columns of a prediction among those of a table."""
    if kind not in ("mean", "pit", "score") and len(y) > 1:
        several = f"--y names {len(y)}: check each alone"
        raise InputError(f"{flag_of(kind)} is of one column of y, and {several}.")
    options = next(each for each in KINDS if each[0] == kind)
    facts = {option: _asked(option, given[option], table, names, y) for option in options}
    roles: dict[str, Sequence[str]] = {}
    for option, value in facts.items():
        if option == "param":
            roles |= {
                f"--param {key}": [name]
                for key, name in value.items()
                if isinstance(name, str)
            }
        elif option not in ("family", "coverage"):
            roles[flag_of(option)] = [*value]
        if kind in ("mean", "pit", "score", "count_mean") and len(value) != len(y):
            told = (
                f"{flag_of(option)} names {len(value)} column{'s' * (len(value) != 1)} and"
                f" --y {len(y)}"
            )
            raise InputError(f"{told}. Give one for each column of y, in the same order.")
    if kind == "draws" and len(facts[kind]) < 2:
        one = f"one column, {facts[kind][0]!r}, and one prediction for each row is no draw"
        raise InputError(
            f"--draws names {one}. Name a column for each draw, or give --mean and --std."
        )
    model = None
    with retold(flag_of(*options)):
        if kind == "count_mean":
            model = columns(family="poisson", param={"mean": facts[kind][0]})
        elif kind != "prob":
            model = columns(**facts, rng=given.get("seed", 0))
    return Prediction(facts, roles, model)


def _asked(
    option: str, asked: Any, table: str, names: Sequence[str], y: tuple[str, ...]
) -> Any:
    """Read what an option of a prediction says: columns, or what it is beside them."""
    flag = flag_of(option)
    if option == "family":
        return asked
    if option == "coverage":
        return [_level(part, flag) for part in ",".join(asked).split(",") if part.strip()]
    if option in PAIRS:
        return pairs(option, asked, table, names)
    return list(pick(asked, names, table, flag, y if option == "draws" else ()))


def pairs(
    option: str, asked: Sequence[str], table: str, names: Sequence[str]
) -> dict[str, Any]:
    """Read levels by column, or columns and numbers by parameter."""
    values, flag, levels = dict[str, Any](), flag_of(option), option == "quantiles"

    def halves(text: str) -> tuple[str, str]:
        # A column's name may have "=" in it; the other side never has.
        left, _, right = text.rpartition("=") if levels else text.partition("=")
        return left.strip(), right.strip()

    for word in asked:
        whole = (
            halves(word)[0 if levels else 1] in names
        )  # a column's own name may have commas in it
        parts = [part for part in word.split(",") if part.strip() and not whole]
        for part in parts or [word]:
            left, right = halves(part)
            if not left or not right:
                what = f"{part.strip()!r} is no such pair"
                raise InputError(
                    f"{flag} is used as in {flag} {PAIRS[option]}, and {what}."
                )
            key = pick_one(left, names, table, flag) if levels else left
            _once(key in values, flag, key)
            number = None if right in names else number_of(right)
            if levels:
                values[key] = _level(right, flag)
            elif number is not None and math.isfinite(number):
                values[key] = number
            else:
                values[key] = pick_one(right, names, table, f"{flag} {key}")
    if "cov" in values and not levels:
        raise InputError(
            f"{flag}: a covariance is no column of a table. Give std in place of cov."
        )
    return values


def _once(again: bool, flag: str, name: str) -> None:
    if again:
        raise InputError(f"{flag} names {name!r} twice. Name it once.")


def _level(text: str, flag: str) -> float:
    value = number_of(text)
    if value is None or not 0 < value < 1:
        raise InputError(
            f"{flag}: {text.strip()!r} is no number between 0 and 1. Write 0.9 for 90%."
        )
    return value


def class_columns(
    given: Given, data: Mapping[str, AnyArray], names: tuple[str, ...], y: str
) -> Columns:
    """Return the model of classes that columns of probabilities are, called as y calls them."""
    text, count, where = (
        data[y].dtype.kind == "O",
        max(len(names), 2),
        "the columns of --prob",
    )
    ways = [("0", "1")] if len(names) == 1 else spellings(names)
    if given["classes"] is not None:
        # At commas, but not between double quotes.
        listed = next(csv.reader([given["classes"]], skipinitialspace=True), [""])
        ways, where = [tuple(each.strip() for each in listed)], "--classes"
    labels = np.unique(data[y]).tolist()
    classes = [way if text else tuple(map(number_of, way)) for way in ways]
    fits = [
        w for w in classes if len({*w} - {None}) == len(w) == count and {*labels} <= {*w}
    ]
    if not fits:
        held = few([label if text else f"{label:.12g}" for label in labels])
        told = f"Column {y!r} holds {held}, and the classes of {where} are {few(ways[-1])}"
        asked = f"{count} names as in {y!r}, in the order of the columns"
        comma = "one with a comma in it between double quotes"
        raise InputError(f"{told}. Give --classes: {asked}; {comma}.")

    def law_of(parts: Mapping[str, AnyArray], rows: object) -> Probabilities:
        p = parts["prob"][:, 0] if len(names) == 1 else parts["prob"]
        return probabilities(p, list(fits[0]), ordered=given["ordered"])

    return Columns({"prob": names}, law_of, Probabilities.name)


def spellings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what classes may be called: their columns, and these without what all begin with."""
    common = os.path.commonprefix(columns)  # noqa: RUF071 - letter by letter is what is meant
    cut = max(
        (sign.end() for sign in re.finditer(r"[^0-9A-Za-z]", common)), default=len(common)
    )
    shorter = tuple(name[cut:] for name in columns)
    return [tuple(columns), shorter] if cut and all(shorter) else [tuple(columns)]


def number_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def pick(
    asked: Sequence[str],
    names: Sequence[str],
    table: str,
    flag: str,
    without: Collection[str | None] = (),
) -> tuple[str, ...]:
    """Find the columns that an option (`flag`, given once or several times) means among `names`.

    The first that fits counts: a column of that very name; names separated by commas;
    ``#k`` or ``k``, the column at position k counted from 0; a pattern with ``*``, ``?`` or
    ``[...]``, which leaves out columns `without`.
    """

    def meant(word: str) -> list[str]:
        if word in names:
            return [word]
        parts = [part.strip() for part in word.split(",")]
        if len(parts) > 1:
            return [name for part in parts if part for name in meant(part)]
        position = word.removeprefix("#")
        if position.isdecimal() and int(position) < len(names):
            return [names[int(position)]]
        pattern = any(character in word for character in "*?[")
        matching = [name for name in names if pattern and fnmatch.fnmatchcase(name, word)]
        if not matching:
            lacks = f"no column of {table} matches" if pattern else f"{table} has no column"
            raise InputError(f"{flag}: {lacks} {word!r}{_hint(word, names)}")
        left = [name for name in dict.fromkeys(matching) if name not in without]
        if not left:
            every = f"every column that matches {word!r} has another role"
            raise InputError(f"{flag}: {every} ({few(matching)}).")
        return left

    columns = Counter(name for word in asked for name in meant(word))
    for name, times in columns.items():
        if names.count(name) > 1:
            many = f"{names.count(name)} columns named {name!r}"
            raise InputError(f"{table} has {many}. Give each its own name.")
        _once(times > 1, flag, name)
    if not columns:
        raise InputError(
            f"{flag} names no column, got {','.join(asked)!r}{_hint('', names)}"
        )
    return tuple(columns)


def _hint(word: str, names: Sequence[str]) -> str:
    """Say, as the end of a message, which columns may have been meant."""
    if word.removeprefix("#").isdecimal():
        return f": positions go from 0 to {len(names) - 1}. Its columns are {few(names)}."
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        return f". Its only column is {names[0]!r}: separate the columns with commas."
    return f". {hint(word, names)}"


def pick_one(asked: str, names: Sequence[str], table: str, flag: str) -> str:
    columns = pick([asked], names, table, flag)
    if len(columns) != 1:
        raise InputError(
            f"{flag} takes one column, and {asked!r} stands for {len(columns)}."
        )
    return columns[0]
