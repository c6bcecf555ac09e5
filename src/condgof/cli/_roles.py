"""Which columns of a table the options mean, and what for: x, y, groups, predictions of a model."""

from __future__ import annotations

import csv
import difflib
import fnmatch
import io
import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, retold
from condgof.laws._as_model import FAMILIES, Columns, columns, find_family
from condgof.laws._discrete import Probabilities, probabilities
from condgof.sample._table import ANY, LABELS, NUMBERS, TEXT
from condgof.study._names import did_you_mean

#: All that a command line gave, by the names of options.
Given = Mapping[str, Any]
#: The options of each kind of prediction; and of those that go together, what both are.
KINDS: dict[tuple[str, ...], str] = {
    ("mean", "std"): "the columns with the predicted mean and standard deviation of y",
    ("family", "param"): "a family and the columns of its parameters, as in --param mu=m,sigma=s",
    ("interval", "coverage"): "the columns with the ends, and how often they should hold y, such as 0.9",
} | {(kind,): "" for kind in ("draws", "quantiles", "pit", "score", "prob", "count_mean")}
#: What JSON has of kinds that were not given.
NONE: dict[str, Any] = {
    "mean": [], "std": [], "family": None, "param": {}, "draws": [], "quantiles": {}, "interval": [],
    "coverage": [], "pit": [], "score": [], "prob": [], "count_mean": [],
}  # fmt: skip
#: Predictions that are columns and nothing else, in words.
LISTS = {
    "mean": "normal, mean = {mean}, standard deviation = {std}",
    "score": "scores = {score}",
    "pit": "probability integral transforms = {pit}",
    "prob": "classes, probabilities = {prob}",
    "count_mean": "Poisson counts, mean = {count_mean}",
}
#: How many names a message lists.
LISTED = 10


@dataclass(frozen=True, eq=False)
class Prediction:
    """What columns of a table say of y: in words, for JSON as some of `NONE`, and as a model."""

    words: str
    facts: Mapping[str, Any]
    #: The columns by the option that names them.
    roles: Mapping[str, Sequence[str]]
    #: None for classes, whose names depend on y.
    model: Columns | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))


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
    text_y: bool = False
    event: str | None = None
    entry: str | None = None

    @property
    def predicted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.predictions for name in each.names))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        return tuple(filter(None, dict.fromkeys((*self.y, *self.predicted, self.event, self.entry))))

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


def find_roles(given: Given, table: str, names: Sequence[str]) -> Roles:
    """Find the columns that options name in a table, and check that the roles go together."""
    kind, y = _one_kind(given), pick(given["y"], names, table, "--y")
    predictions = () if kind is None else (_Finder(given, table, names, y).prediction(kind),)
    single = {
        option: pick_one(given[option], names, table, f"--{option}")
        for option in ("by", "event", "entry", "groups")
        if given.get(option) is not None
    }
    uses: dict[str, Sequence[str]] = {"--y": y, **(predictions[0].roles if predictions else {})}
    uses |= {f"--{option}": (name,) for option, name in single.items() if option != "groups"}
    taken = {name for named in uses.values() for name in named}
    x, seen = pick(given["x"], names, table, "--x", taken), dict[str, str]()
    for flag, named in (*uses.items(), ("--x", x)):
        for name in named:
            # x may hold predictions: p(y|x) with x the predicted mean is a sound question.
            if name in seen and (flag != "--x" or seen[name] in ("--y", "--event")):
                both = f"in {seen[name]} and in {flag}"
                raise InputError(f"Column {name!r} is {both}. Give it one of the two.")
            seen.setdefault(name, flag)
    coded = given.get("categorical")
    categorical = pick(coded, x, "--x", "--categorical") if coded else ()
    text_y = given.get("model") is not None or kind == "prob"
    return Roles(x, y, predictions, categorical=categorical, text_y=text_y, **single)


def spelled(option: str) -> str:
    return option.replace("_", "-")


def flag_of(*options: str) -> str:
    return " and ".join(f"--{spelled(option)}" for option in options)


def naming_columns(names: Sequence[str], table: str) -> AbstractContextManager[None]:
    """Have what is wrong with predictions say which columns they are."""
    return retold(lambda text: f"{table}, columns {few(names)}: {text}")


def _one_kind(given: Given) -> str | None:
    """Check that there is one kind of prediction, and return it; None where there is a model."""
    for options, what in KINDS.items():
        there = [option for option in options if given.get(option)]
        if there and len(there) < len(options):
            (lacks,) = {*options} - {*there}
            raise InputError(f"{flag_of(*there)} without --{lacks}: give both, {what}.")
    kinds = {flag_of(*options): options[0] for options in KINDS if given.get(options[0])}
    ways = [*kinds, *(["--model"] if given.get("model") is not None else [])]
    if len(ways) > 1:
        raise InputError(f"{' with '.join(ways)}: the model comes one way. Leave out the others.")
    if not ways:
        *most, last = (flag_of(*options) for options in KINDS)
        raise InputError(
            f"There is no model. Name the columns with its predictions ({', '.join(most)} or {last}), "
            "or a model to import (--model package.module:name)."
        )
    return next(iter(kinds.values()), None)


@dataclass(frozen=True)
class _Finder:
    """Finds the columns of a prediction among those of a table."""

    given: Given
    table: str
    names: Sequence[str]
    y: tuple[str, ...]

    def prediction(self, kind: str) -> Prediction:
        if kind not in ("mean", "pit", "score") and len(self.y) > 1:
            several = f"--y names {len(self.y)}: check each alone"
            raise InputError(f"{flag_of(kind)} is of one column of y, and {several}.")
        if kind in LISTS:
            return self._listed(kind)
        made: Prediction = getattr(self, f"_{kind}")()
        return made

    def _pick(self, option: str) -> tuple[str, ...]:
        return pick(self.given[option], self.names, self.table, flag_of(option))

    def _listed(self, kind: str) -> Prediction:
        named = {o: list(self._pick(o)) for o in next(each for each in KINDS if each[0] == kind)}
        for option, names in named.items():
            if kind != "prob" and len(names) != len(self.y):
                told = f"{flag_of(option)} names {counted(names, 'column')} and --y {len(self.y)}"
                raise InputError(f"{told}. Give one for each column of y, in the same order.")
        options: dict[str, Any] = dict(named)
        if kind == "count_mean":
            options = {"family": "poisson", "param": {"mean": named[kind][0]}}
        words = LISTS[kind].format(**{option: ", ".join(names) for option, names in named.items()})
        roles = {flag_of(option): names for option, names in named.items()}
        return Prediction(words, named, roles, None if kind == "prob" else columns(**options))

    def _draws(self) -> Prediction:
        draws = pick(self.given["draws"], self.names, self.table, "--draws", self.y, natural=True)
        if len(draws) < 2:
            told = f"--draws names one column, {draws[0]!r}, and one prediction for each row is no draw"
            raise InputError(f"{told}. Name a column for each draw, or give --mean and --std.")
        words = f"{len(draws)} draws a row, {draws[0]} to {draws[-1]}"
        model = columns(draws=draws, rng=self.given.get("seed", 0))
        return Prediction(words, {"draws": list(draws)}, {"--draws": draws}, model)

    def _quantiles(self) -> Prediction:
        levels: dict[str, float] = {}
        flag, example = "--quantiles", "--quantiles q05=0.05,q50=0.5,q95=0.95"
        for word, level in pairs(self.given["quantiles"], self.names, flag, example, named=0):
            name = pick_one(word, self.names, self.table, flag)
            if name in levels:
                raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
            levels[name] = _level(level, flag)
        words = ", ".join(f"{name} = {level:g}" for name, level in levels.items())
        model = _tried(flag, quantiles=levels, rng=self.given.get("seed", 0))
        return Prediction(f"quantiles, {words}", {"quantiles": levels}, {flag: [*levels]}, model)

    def _interval(self) -> Prediction:
        ends = self._pick("interval")
        parts = ",".join(self.given["coverage"]).split(",")
        shares = [_level(part, "--coverage") for part in parts if part.strip()]
        if len(ends) != 2 * len(shares) or not shares:
            raise InputError(
                f"--interval names {counted(ends, 'column')} and --coverage {counted(shares, 'number')}."
                " Give a low and a high end for each coverage, the smallest first: --interval "
                "lo50,hi50,lo90,hi90 --coverage 0.5,0.9."
            )
        listed = zip(shares, ends[::2], ends[1::2], strict=True)
        words = ", ".join(f"{100 * share:g}% = {low} to {high}" for share, low, high in listed)
        model = _tried("--coverage", interval=ends, coverage=shares)
        facts = {"interval": list(ends), "coverage": shares}
        return Prediction(f"interval, {words}", facts, {"--interval": ends}, model)

    def _family(self) -> Prediction:
        family, param = str(self.given["family"]), dict[str, str | float]()
        if find_family(family) is None:
            guess = f"{did_you_mean(family.strip().lower(), FAMILIES)} There are: {', '.join(FAMILIES)}."
            raise InputError(f"--family: there is no {family!r}.{guess}")
        example = "--param mu=m,sigma=s (or a number, df=5)"
        for key, word in pairs(self.given["param"], self.names, "--param", example, named=1):
            if key in param:
                raise InputError(f"--param names {key!r} twice. Give each parameter once.")
            number = None if word in self.names else number_of(word)
            if number is None or not math.isfinite(number):
                param[key] = pick_one(word, self.names, self.table, f"--param {key}")
            else:
                param[key] = number
        if "cov" in param:
            raise InputError("--param: a covariance is no column of a table. Give std in place of cov.")
        model = _tried("--param", family=family, param=param)
        shown = [f"{k} = {v if isinstance(v, str) else format(v, 'g')}" for k, v in param.items()]
        facts = {"family": model.name.lower(), "param": param}
        roles = {f"--param {key}": [name] for key, name in param.items() if isinstance(name, str)}
        return Prediction(", ".join([model.name, *shown]), facts, roles, model)


def _tried(flag: str, **options: Any) -> Columns:
    """Make a model and ask it for the law of one row: levels that cannot be are said at once."""
    with retold(lambda text: f"{flag}: {text}"):
        model = columns(**options)
        if "family" not in options:
            model.bind(dict.fromkeys(model.names, np.zeros(1)), np.zeros(1, dtype=np.int64))
    return model


def _level(text: str, flag: str) -> float:
    value = number_of(text)
    if value is None or not 0 < value < 1:
        raise InputError(f"{flag}: {text.strip()!r} is no number between 0 and 1. Write 0.9 for 90%.")
    return value


def check_classes(given: Given, roles: Roles) -> None:
    """Refuse ``--classes`` and ``--ordered`` without columns of class probabilities."""
    flags = [f"--{name}" for name in ("classes", "ordered") if given[name] not in (None, False)]
    if flags and not any("prob" in each.facts for each in roles.predictions):
        raise InputError(f"{flags[0]} goes with --prob, the columns of class probabilities.")


def class_columns(given: Given, data: Mapping[str, AnyArray], names: tuple[str, ...], y: str) -> Columns:
    """Return the model of classes that columns of probabilities are, called as y calls them."""
    classes: Sequence[Any] = _class_names(given["classes"], names, data[y], y)
    if data[y].dtype.kind != "O":
        if any(number_of(name) is None for name in classes):
            called = f"y holds numbers, and the classes are called {few(classes)}"
            raise InputError(f"{called}. Name all of them by numbers.")
        classes = [float(name) for name in classes]

    def law_of(parts: Mapping[str, AnyArray], rows: object) -> Probabilities:
        p = parts["prob"][:, 0] if len(names) == 1 else parts["prob"]
        return probabilities(p, list(classes), ordered=given["ordered"])

    return Columns({"prob": names}, law_of, Probabilities.name)


def _class_names(asked: str | None, columns: tuple[str, ...], y: AnyArray, name: str) -> tuple[str, ...]:
    """Find the names of the classes: as asked, or from the columns where all labels are there."""
    text = y.dtype.kind == "O"
    labels = set(map(str, y)) if text else {f"{value:.12g}" for value in np.unique(y)}
    count, where = max(len(columns), 2), "the columns of --prob"
    ways = [("0", "1")] if len(columns) == 1 else spellings(columns)
    if asked is not None:
        # At commas, but not between double quotes.
        listed = next(csv.reader([asked], skipinitialspace=True), [""])
        ways, where = [tuple(each.strip() for each in listed)], "--classes"
        if len(listed) != count:
            told = f"--classes names {len(listed)} classes and there are {count}: got {few(ways[0])}"
            raise InputError(f"{told}. A name with a comma in it goes between double quotes.")
    for names in ways:
        if len(set(names)) == count and labels <= set(names):
            return names
    joined = io.StringIO()
    csv.writer(joined, lineterminator="").writerow(sorted(labels)[:count])
    raise InputError(
        f"Column {name!r} holds {few(sorted(labels - {*ways[-1]}))}, and the classes of {where} are "
        f"{few(ways[-1])}. Name the classes as {name!r} does, in the order of the columns: "
        f"--classes {shlex.quote(joined.getvalue())}"
    )


def spellings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what classes may be called: their columns, and these without what all begin or end with."""
    ways = [tuple(columns)]
    for way in (1, -1):  # forwards, and from the end
        names = [name[::way] for name in columns]
        common = os.path.commonprefix(names)  # noqa: RUF071 - letter by letter is what is meant
        cut = max((sign.end() for sign in re.finditer(r"[^0-9A-Za-z]", common)), default=len(common))
        if cut and all(len(name) > cut for name in names):
            ways.append(tuple(name[cut:][::way] for name in names))
    return ways


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
    natural: bool = False,
) -> tuple[str, ...]:
    """Find the columns that an option (`flag`, given once or several times) means among `names`.

    The first that fits counts: a column of that very name; names separated by commas; ``#k`` or ``k``,
    the column at position k counted from 0; a pattern with ``*``, ``?`` or ``[...]``, which leaves out
    columns `without` and may be sorted in `natural` order, d_10 after d_9.
    """

    def in_order(name: str) -> list[str | int]:
        return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]

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
        return sorted(left, key=in_order) if natural else left

    columns = Counter(name for word in asked for name in meant(word))
    for name, times in columns.items():
        if names.count(name) > 1:
            many = f"{names.count(name)} columns named {name!r}"
            raise InputError(f"{table} has {many}. Give each its own name.")
        if times > 1:
            raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
    if not columns:
        raise InputError(f"{flag} names no column, got {','.join(asked)!r}{_hint('', names)}")
    return tuple(columns)


def _hint(word: str, names: Sequence[str]) -> str:
    """Say, as the end of a message, which columns may have been meant."""
    if word.removeprefix("#").isdecimal():
        return f": positions go from 0 to {len(names) - 1}. Its columns are {few(names)}."
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        return f". Its only column is {names[0]!r}: separate the columns with commas."
    folded = {name.casefold(): name for name in names}
    near = [repr(folded[key]) for key in difflib.get_close_matches(word.casefold(), list(folded), 3)]
    return f". Did you mean {' or '.join(near)}?" if near else f". Its columns are {few(names)}."


def pick_one(asked: str, names: Sequence[str], table: str, flag: str) -> str:
    columns = pick([asked], names, table, flag)
    if len(columns) != 1:
        raise InputError(f"{flag} takes one column, and {asked!r} stands for {len(columns)}.")
    return columns[0]


def pairs(
    asked: Sequence[str], names: Sequence[str], flag: str, example: str, *, named: int
) -> list[tuple[str, str]]:
    """Split options such as ``mu=a,sigma=b`` into pairs; a column's own name may have commas in it.

    `named` (0 or 1) says which side of the "=" is a column.
    """

    def halves(text: str) -> tuple[str, str]:
        # A column's name may have "=" in it; the other side never has.
        left, _, right = text.partition("=") if named else text.rpartition("=")
        return left.strip(), right.strip()

    split = []
    for word in asked:
        whole = halves(word)[named] in names
        for part in [word] if whole else [part for part in word.split(",") if part.strip()]:
            if not all(halves(part)):
                what = f"{part.strip()!r} is no such pair"
                raise InputError(f"{flag} is used as in {example}, and {what}.")
            split.append(halves(part))
    if not split:
        raise InputError(f"{flag} is empty. It is used as in {example}.")
    return split


def counted(things: Sequence[Any], noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) != 1)}"


def few(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more
