"""Which columns of a table the options mean, and what for: x, y, groups, predictions of a model."""

from __future__ import annotations

import csv
import difflib
import fnmatch
import io
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import CondgofError, InputError
from condgof.laws._as_model import FAMILIES, Columns, columns, find_family
from condgof.laws._discrete import Probabilities, probabilities
from condgof.laws._law import Law
from condgof.sample._table import ANY, LABELS, NUMBERS, TEXT
from condgof.study._names import did_you_mean

#: All that a command line gave, by the names of options.
Given = Mapping[str, Any]
#: The options of each kind of prediction; and of those that go together, what both are.
KINDS = {
    ("mean", "std"): "the columns with the predicted mean and standard deviation of y",
    ("family", "param"): "a family and the columns of its parameters, as in --param mu=m,sigma=s",
    ("draws",): "",
    ("quantiles",): "",
    ("interval", "coverage"): "the columns with the ends, and how often they should hold y, such as 0.9",
    ("pit",): "",
    ("score",): "",
    ("prob",): "",
    ("count_mean",): "",
}
#: What JSON has of kinds that were not given.
NONE: dict[str, Any] = {
    "mean": [], "std": [], "family": None, "param": {}, "draws": [], "quantiles": {}, "interval": [],
    "coverage": [], "pit": [], "score": [], "prob": [], "count_mean": [],
}  # fmt: skip
#: How far from 1 probabilities may sum up, as three decimals leave them, and below 0 by rounding.
TOLERANCE, ROUNDED = 1e-3, 1e-6
#: How many names a message lists.
LISTED = 10


@dataclass(frozen=True)
class ColumnRule:
    """What the numbers of a column must be, row by row; or of a column compared with another."""

    names: tuple[str, ...]
    words: str
    #: From the columns, (m,) each, to whether it holds, (m,).
    holds: Callable[..., AnyArray]


#: What numbers must be: in words, and whether it holds.
Must: TypeAlias = tuple[str, Callable[[AnyArray], AnyArray]]
POSITIVE: Must = ("must be positive", lambda values: values > 0)
BETWEEN: Must = ("must lie between 0 and 1", lambda values: (values >= 0) & (values <= 1))
#: Predictions that are columns and nothing else: words, and which of them must be what.
LISTS: dict[str, tuple[str, str, str, Must | None]] = {
    "mean": (
        "normal, mean = {mean}, standard deviation = {std}",
        "std", "is a standard deviation and", POSITIVE,
    ),
    "score": ("scores = {score}", "", "", None),
    "pit": ("probability integral transforms = {pit}", "pit", "is a PIT and", BETWEEN),
    "prob": ("classes, probabilities = {prob}", "", "", None),
    "count_mean": (
        "Poisson counts, mean = {count_mean}", "count_mean", "is a mean of counts and", POSITIVE,
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prediction:
    """What columns of a table say of y."""

    words: str
    #: For JSON, some of `NONE`; and the columns by the option that names them.
    facts: Mapping[str, Any]
    #: None for classes, whose names depend on y.
    model: Columns | None = None
    rules: tuple[ColumnRule, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def endless(self) -> tuple[str, ...]:
        """Columns that may be infinite: ends of intervals."""
        return self.roles.get("--interval", ())

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))

    @property
    def streams(self) -> bool:
        """Whether rows can be looked at a block at a time."""
        return not {"prob", "count_mean"} & set(self.facts)


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

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """What each column that is read may hold."""
        kinds: dict[str, tuple[str, ...]] = dict.fromkeys(self.all, ANY)
        kinds |= dict.fromkeys(self.numbers, NUMBERS)
        kinds |= dict.fromkeys(self.y if self.text_y else (), LABELS)
        return kinds | dict.fromkeys((*self.categorical, *self.labels), TEXT)


def find_roles(given: Given, table: str, names: Sequence[str]) -> Roles:
    """Find the columns that options name in a table, and check that the roles go together."""
    kind, imported = _one_kind(given), given.get("model") is not None
    y = pick(given["y"], names, table, "--y")
    finder = _Finder(given, table, names, y)
    predictions = () if kind is None else (finder.prediction(kind),)
    by, groups, event, entry = (
        None if given.get(option) is None else pick_one(given[option], names, table, f"--{option}")
        for option in ("by", "groups", "event", "entry")
    )
    taken = {*y, *(name for each in predictions for name in each.names), by, event, entry}
    x = pick(given["x"], names, table, "--x", without=taken)
    coded = given.get("categorical")
    categorical = pick(coded, x, "--x", "--categorical") if coded else ()
    text_y = imported or kind == "prob"
    roles = Roles(x, y, predictions, by, categorical, groups, text_y, event, entry)
    _check_roles(roles)
    return roles


def _check_roles(roles: Roles) -> None:
    """Refuse a column that has two roles."""
    uses = [("--y", roles.y), *(pair for each in roles.predictions for pair in each.roles.items())]
    single = (("--by", roles.by), ("--event", roles.event), ("--entry", roles.entry))
    uses += [(flag, (name,)) for flag, name in single if name is not None]
    seen: dict[str, str] = {}
    for flag, names in (*uses, ("--x", roles.x)):
        for name in names:
            # x may hold predictions: p(y|x) with x the predicted mean is a sound question.
            if name in seen and (flag != "--x" or seen[name] in ("--y", "--event")):
                raise InputError(
                    f"Column {name!r} is in {seen[name]} and in {flag}. Give it one of the two."
                )
            seen.setdefault(name, flag)


def flag_of(*options: str) -> str:
    """Write options as they are typed."""
    return " and ".join(f"--{option.replace('_', '-')}" for option in options)


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
        """Find the columns of a prediction, by the first option of one of `KINDS`."""
        if kind not in ("mean", "pit", "score") and len(self.y) > 1:
            raise InputError(
                f"{flag_of(kind)} is of one column of y, and --y names {len(self.y)}. Check each by "
                "itself."
            )
        if kind in LISTS:
            return self._listed(kind)
        made: Prediction = getattr(self, f"_{kind}")()
        return made

    def _each(self, option: str) -> tuple[str, ...]:
        """Find a column for each of y."""
        names = self._pick(option)
        if len(names) != len(self.y):
            raise InputError(
                f"{flag_of(option)} names {len(names)} column{'s' * (len(names) != 1)} and --y "
                f"{len(self.y)}. Give one for each column of y, in the same order."
            )
        return names

    def _pick(self, option: str) -> tuple[str, ...]:
        return pick(self.given[option], self.names, self.table, flag_of(option))

    def _listed(self, kind: str) -> Prediction:
        """Make a prediction of which JSON lists the columns, option by option."""
        options = next(options for options in KINDS if kind == options[0])
        words, limited, what, must = LISTS[kind]
        named = {o: self._pick(o) if kind == "prob" else self._each(o) for o in options}
        model = None
        if kind == "count_mean":
            model = columns(family="poisson", param={"mean": named[kind][0]})
        elif kind != "prob":
            model = columns(**named)  # type: ignore[arg-type]
        return Prediction(
            words.format(**{option: ", ".join(names) for option, names in named.items()}),
            {option: list(names) for option, names in named.items()},
            model,
            () if must is None else _rules(named[limited], what, must),
            {flag_of(option): names for option, names in named.items()},
        )

    def _draws(self) -> Prediction:
        draws = pick(self.given["draws"], self.names, self.table, "--draws", self.y, natural=True)
        if len(draws) < 2:
            raise InputError(
                f"--draws names one column, {draws[0]!r}, and one prediction for each row is no draw. "
                "Name a column for each draw (a hundred, if they can be had), or give --mean and --std."
            )
        words = f"{len(draws)} draws a row, {draws[0]} to {draws[-1]}"
        model = columns(draws=draws, rng=self.given.get("seed", 0))
        return Prediction(words, {"draws": list(draws)}, model, roles={"--draws": draws})

    def _quantiles(self) -> Prediction:
        levels: dict[str, float] = {}
        flag, example = "--quantiles", "--quantiles q05=0.05,q50=0.5,q95=0.95"
        for word, level in pairs(self.given["quantiles"], self.names, flag, example, named=0):
            name = pick_one(word, self.names, self.table, flag)
            if name in levels:
                raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
            levels[name] = _level(level, flag)
        return Prediction(
            "quantiles, " + ", ".join(f"{name} = {level:g}" for name, level in levels.items()),
            {"quantiles": levels},
            _tried(flag, quantiles=levels, rng=self.given.get("seed", 0)),
            roles={flag: tuple(levels)},
        )

    def _interval(self) -> Prediction:
        ends = self._pick("interval")
        parts = ",".join(self.given["coverage"]).split(",")
        shares = [_level(part, "--coverage") for part in parts if part.strip()]
        if len(ends) != 2 * len(shares) or not shares:
            raise InputError(
                f"--interval names {len(ends)} column{'s' * (len(ends) != 1)} and --coverage "
                f"{len(shares)} number{'s' * (len(shares) != 1)}. Give a low and a high end for each "
                "coverage, the smallest first: --interval lo50,hi50,lo90,hi90 --coverage 0.5,0.9."
            )
        named = [f"{100 * share:g}%" for share in shares]
        listed = list(zip(ends[::2], ends[1::2], named, strict=True))
        return Prediction(
            "interval, " + ", ".join(f"{share} = {low} to {high}" for low, high, share in listed),
            {"interval": list(ends), "coverage": shares},
            _tried("--coverage", interval=ends, coverage=shares),
            _nested(listed),
            {"--interval": ends},
        )

    def _family(self) -> Prediction:
        family = str(self.given["family"])
        form = find_family(family)
        if form is None:
            guess = did_you_mean(family.strip().lower(), FAMILIES)
            raise InputError(
                f"--family: there is no {family!r}.{guess} There are: {', '.join(FAMILIES)}."
            )
        param: dict[str, str | float] = {}
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
        return Prediction(
            ", ".join([model.name, *shown]),
            {"family": model.name.lower(), "param": param},
            model,
            _limits(form, param),
            {f"--param {key}": (value,) for key, value in param.items() if isinstance(value, str)},
        )


def _rules(names: Sequence[str], what: str, must: Must) -> tuple[ColumnRule, ...]:
    return tuple(ColumnRule((name,), f"{what} {must[0]}", must[1]) for name in names)


def _nested(intervals: Sequence[tuple[str, str, str]]) -> tuple[ColumnRule, ...]:
    """Return what must hold of the ends of intervals: low, high and what it is called, each."""
    end = "is the {} end of the {} interval and must be at most {!r}, {}"
    rules = [
        ColumnRule((low, high), end.format("low", share, high, "its high end"), np.less_equal)
        for low, high, share in intervals
    ]
    for (low, high, inner), (wide_low, wide_high, outer) in pairwise(intervals):
        of_inner, of_outer = f"that of the {inner} interval", f"that of the {outer} interval"
        rules += [
            ColumnRule((wide_low, low), end.format("low", outer, low, of_inner), np.less_equal),
            ColumnRule((high, wide_high), end.format("high", inner, wide_high, of_outer), np.less_equal),
        ]
    return tuple(rules)


def _limits(form: type[Law], param: Mapping[str, str | float]) -> tuple[ColumnRule, ...]:
    """Return what must hold of the parameters of a family; numbers are checked at once."""
    family = form.__name__
    above = ("std",) if family == "Normal" else getattr(form, "POSITIVE", ())
    limits = dict.fromkeys(above, POSITIVE) | dict.fromkeys(getattr(form, "SHARES", ()), BETWEEN)
    rules: tuple[ColumnRule, ...] = ()
    for name, must in limits.items():
        value = param.get(name)
        if isinstance(value, str):
            rules += _rules([value], f"is the parameter {name} of {family} and", must)
        elif value is not None and not must[1](np.array(value)):
            raise InputError(f"--param: {name} of {family} {must[0]}, got {value:g}.")
    return rules


def _tried(flag: str, **options: Any) -> Columns:
    """Make a model and ask it for the law of one row: levels that cannot be are said at once."""
    try:
        model = columns(**options)
        if "family" not in options:
            model.bind(dict.fromkeys(model.names, np.zeros(1)), np.zeros(1, dtype=np.int64))
    except CondgofError as error:
        raise InputError(f"{flag}: {error}") from error
    return model


def _level(text: str, flag: str) -> float:
    value = number_of(text)
    if value is None or not 0 < value < 1:
        raise InputError(f"{flag}: {text.strip()!r} is no number between 0 and 1. Write 0.9 for 90%.")
    return value


def check_classes(given: Given, prob: Sequence[str]) -> None:
    """Refuse ``--classes`` and ``--ordered`` without columns of class probabilities."""
    if not prob and (given["classes"] is not None or given["ordered"]):
        flag = "--classes" if given["classes"] is not None else "--ordered"
        raise InputError(f"{flag} goes with --prob, the columns of class probabilities.")


def class_law(
    given: Given, data: Mapping[str, AnyArray], names: tuple[str, ...], y: str, table: str
) -> Probabilities:
    """Return the law of classes that columns of probabilities hold, checked."""
    values = np.column_stack([np.asarray(data[name], dtype=np.float64) for name in names])
    classes: Sequence[Any] = _class_names(given["classes"], names, data[y], y)
    _check_probabilities(values, names, table)
    if data[y].dtype.kind != "O":
        try:
            classes = [float(name) for name in classes]
        except ValueError as error:
            raise InputError(
                f"y holds numbers, and the classes are called {few(classes)}. Name all of them by "
                "numbers."
            ) from error
    p = values[:, 0] if len(names) == 1 else values
    return probabilities(p, list(classes), ordered=given["ordered"])


def _class_names(asked: str | None, columns: tuple[str, ...], y: AnyArray, name: str) -> tuple[str, ...]:
    """Find the names of the classes: as asked, or from the columns where all labels are there."""
    text = y.dtype.kind == "O"
    labels = set(map(str, y)) if text else {f"{value:.12g}" for value in np.unique(y)}
    count = max(len(columns), 2)
    if asked is not None:
        # At commas, but not between double quotes.
        listed = next(csv.reader([asked], skipinitialspace=True), [""])
        ways = [tuple(each.strip() for each in listed)]
        if len(ways[0]) != count:
            raise InputError(
                f"--classes names {len(ways[0])} classes and there are {count}: got "
                f"{few(ways[0])}. A name with a comma in it goes between double quotes."
            )
    else:
        ways = [("0", "1")] if len(columns) == 1 else spellings(columns)
    for names in ways:
        if len(set(names)) == count and labels <= set(names):
            return names
    unknown = sorted(labels - set(ways[-1]))
    where = "--classes" if asked is not None else "the columns of --prob"
    joined = io.StringIO()
    csv.writer(joined, lineterminator="").writerow(sorted(labels)[:count])
    raise InputError(
        f"Column {name!r} holds {few(unknown)}, and the classes of {where} are "
        f"{few(ways[-1])}. Name the classes as {name!r} does, in the order of the columns: "
        f"--classes {shlex.quote(joined.getvalue())}"
    )


def spellings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what classes may be called: their columns, and these without what all begin or end with."""
    ways = [tuple(columns)]
    for turned in (False, True):
        names = [name[::-1] for name in columns] if turned else list(columns)
        first, last = min(names), max(names)
        same = (i for i, letter in enumerate(first) if last[i : i + 1] != letter)
        common = first[: next(same, len(first))]
        cut = max((sign.end() for sign in re.finditer(r"[^0-9A-Za-z]", common)), default=len(common))
        if cut and all(len(name) > cut for name in names):
            ways.append(tuple(name[cut:][::-1] if turned else name[cut:] for name in names))
    return ways


def _check_probabilities(values: AnyArray, columns: tuple[str, ...], table: str) -> None:
    sums = values.sum(axis=1) if len(columns) > 1 else np.ones(len(values))
    bad = (values.min(axis=1) < -ROUNDED) | (values.max(axis=1) > 1 + TOLERANCE)
    bad |= np.abs(sums - 1.0) > TOLERANCE
    if not bad.any():
        return
    row = int(np.argmax(bad))
    shown = ", ".join(f"{name} = {value:.6g}" for name, value in zip(columns, values[row], strict=True))
    what = "sum up to 1 in each row" if len(columns) > 1 else "lie between 0 and 1"
    raise InputError(
        f"The columns of --prob must hold probabilities that {what}: {table} has others in "
        f"{int(bad.sum()):,} of {len(values):,} rows, the first in row {row:,} (counted from 0): "
        f"{shown[:200]}."
    )


def number_of(text: str) -> float | None:
    """Read a number; None where there is none."""
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

    Examples
    --------
    >>> names = ["age", "feat_1", "feat_2", "a,b"]
    >>> pick(["feat_*", "a,b"], names, "t.csv", "--x")
    ('feat_1', 'feat_2', 'a,b')
    >>> pick(["feat_2,age"], names, "t.csv", "--x"), pick(["#0", "1"], names, "t.csv", "--x")
    (('feat_2', 'age'), ('age', 'feat_1'))
    """
    its_columns = f"Its columns are {few(names)}."

    def meant(word: str) -> list[str]:
        if word in names:
            return [word]
        parts = [part.strip() for part in word.split(",")]
        if len(parts) > 1:
            return [name for part in parts if part for name in meant(part)]
        position = word.removeprefix("#")
        if position.isdecimal():
            if int(position) < len(names):
                return [names[int(position)]]
            raise InputError(
                f"{flag}: {table} has no column {word!r}: positions go from 0 to {len(names) - 1}. "
                f"{its_columns}"
            )
        pattern = any(character in word for character in "*?[")
        matching = [name for name in names if pattern and fnmatch.fnmatchcase(name, word)]
        if not matching:
            folded = {name.casefold(): name for name in names}
            near = [folded[key] for key in difflib.get_close_matches(word.casefold(), list(folded), 3)]
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else its_columns
            if pattern:
                raise InputError(f"{flag}: no column of {table} matches {word!r}. {hint}")
            if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
                hint = f"Its only column is {names[0]!r}: separate the columns with commas."
            raise InputError(f"{flag}: {table} has no column {word!r}. {hint}")
        left = [name for name in dict.fromkeys(matching) if name not in without]
        if not left:
            raise InputError(
                f"{flag}: every column that matches {word!r} has another role ({few(matching)})."
            )
        return sorted(left, key=_natural) if natural else left

    columns = Counter(name for word in asked for name in meant(word))
    counts = Counter(names)
    for name, times in columns.items():
        if counts[name] > 1:
            raise InputError(
                f"{table} has {counts[name]} columns named {name!r}. Give each its own name."
            )
        if times > 1:
            raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
    if not columns:
        raise InputError(f"{flag} names no column, got {','.join(asked)!r}. {its_columns}")
    return tuple(columns)


def pick_one(asked: str, names: Sequence[str], table: str, flag: str) -> str:
    """Find the one column that an option means."""
    columns = pick([asked], names, table, flag)
    if len(columns) != 1:
        raise InputError(f"{flag} takes one column, and {asked!r} stands for {len(columns)}.")
    return columns[0]


def pairs(
    asked: Sequence[str], names: Sequence[str], flag: str, example: str, *, named: int
) -> list[tuple[str, str]]:
    """Split options such as ``mu=a,sigma=b`` into pairs; a column's own name may have commas in it.

    `named` (0 or 1) says which side of the "=" is a column.

    Examples
    --------
    >>> pairs(["mu=a,sigma=2", "loc=b,c"], ["a", "b,c"], "--param", "", named=1)
    [('mu', 'a'), ('sigma', '2'), ('loc', 'b,c')]
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
                raise InputError(
                    f"{flag} is used as in {example}, and {part.strip()!r} is no such pair."
                )
            split.append(halves(part))
    if not split:
        raise InputError(f"{flag} is empty. It is used as in {example}.")
    return split


def _natural(name: str) -> list[str | int]:
    """Return what sorts names with numbers in them: text and numbers by turns."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def few(names: Sequence[str]) -> str:
    """List the first of some names."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more
