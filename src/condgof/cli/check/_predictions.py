"""The kinds of prediction that columns of a table may hold in place of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import AnyArray
from condgof.cli.check._pick import number_of, pairs, pick, pick_one
from condgof.errors import CondgofError, InputError
from condgof.laws import FAMILIES, Columns, Law, columns
from condgof.laws._columns import find_family
from condgof.study import did_you_mean

if TYPE_CHECKING:
    from condgof.cli.check._columns import Wanted

#: The kinds by the options that ask for them, and the field of `Wanted` that tells.
KINDS = {
    "--mean and --std": "mean",
    "--family and --param": "family",
    "--draws": "draws",
    "--quantiles": "quantiles",
    "--interval and --coverage": "interval",
    "--pit": "pit",
    "--score": "score",
    "--prob": "prob",
    "--count-mean": "count_mean",
}
#: Options of which neither goes without the other, and what both are.
TOGETHER = (
    ("mean", "std", "the columns with the predicted mean and standard deviation of y"),
    ("family", "param", "a family and the columns of its parameters, as in --param mu=m,sigma=s"),
    ("interval", "coverage", "the columns with the ends, and how often they should hold y, such as 0.9"),
)
#: Kinds of several columns of y: a column for each of them.
OF_EACH = ("mean", "pit", "score")
#: What JSON has of kinds that were not given.
NONE: dict[str, Any] = {
    "mean": [], "std": [], "family": None, "param": {}, "draws": [], "quantiles": {}, "interval": [],
    "coverage": [], "pit": [], "score": [], "prob": [], "count_mean": [],
}  # fmt: skip


@dataclass(frozen=True)
class ColumnRule:
    """What the numbers of a column must be, row by row; or of a column compared with another."""

    names: tuple[str, ...]
    words: str
    #: From the columns, (m,) each, to whether it holds, (m,).
    holds: Callable[..., AnyArray]


def positive(values: AnyArray) -> AnyArray:
    """Whether numbers are positive."""
    return values > 0


def between(values: AnyArray) -> AnyArray:
    """Whether numbers lie between 0 and 1."""
    return (values >= 0) & (values <= 1)


def at_most(values: AnyArray, others: AnyArray) -> AnyArray:
    """Whether numbers are at most others."""
    return values <= others


#: What rules say.
POSITIVE, BETWEEN = "must be positive", "must lie between 0 and 1"


@dataclass(frozen=True, eq=False)
class Prediction:
    """What columns of a table say of y."""

    #: The columns, by the option that names them; in words; and for JSON, some of `NONE`.
    roles: Mapping[str, tuple[str, ...]]
    words: str
    facts: Mapping[str, Any]
    #: None for classes, whose names depend on y.
    model: Columns | None = None
    rules: tuple[ColumnRule, ...] = ()
    #: Columns that may be infinite.
    endless: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))

    @property
    def streams(self) -> bool:
        """Whether rows can be looked at a block at a time."""
        return not {"prob", "count_mean"} & set(self.facts)


def check_kinds(asked: Wanted, model: bool) -> str | None:
    """Check that there is one kind of prediction, and return it; None where there is a model."""
    for first, second, what in TOGETHER:
        if bool(getattr(asked, first)) != bool(getattr(asked, second)):
            has, lacks = (first, second) if getattr(asked, first) else (second, first)
            raise InputError(f"--{has} without --{lacks}: give both, {what}.")
    kinds = {flags: kind for flags, kind in KINDS.items() if getattr(asked, kind)}
    ways = [*kinds, *(["--model"] if model else [])]
    if len(ways) > 1:
        raise InputError(f"{' with '.join(ways)}: the model comes one way. Leave out the others.")
    if not ways:
        *most, last = KINDS
        raise InputError(
            f"There is no model. Name the columns with its predictions ({', '.join(most)} or {last}), "
            "or a model to import (--model package.module:name)."
        )
    return next(iter(kinds.values()), None)


@dataclass(frozen=True)
class Header:
    """The columns of a table, among which those of a prediction are looked for; `seed` breaks ties."""

    table: str
    names: Sequence[str]
    y: tuple[str, ...]
    seed: int = 0

    def prediction(self, kind: str, asked: Wanted) -> Prediction:
        """Find the columns of a prediction, which is one of the values of `KINDS`."""
        if kind not in OF_EACH and len(self.y) > 1:
            raise InputError(
                f"--{kind.replace('_', '-')} is of one column of y, and --y names {len(self.y)}. Check "
                "each by itself."
            )
        made: Prediction = getattr(self, f"_{kind}")(asked)
        return made

    def _each(self, asked: Sequence[str], flag: str) -> tuple[str, ...]:
        """Find a column for each of y."""
        found = pick(asked, self.names, self.table, flag)
        if len(found) != len(self.y):
            raise InputError(
                f"{flag} names {len(found)} column{'s' * (len(found) != 1)} and --y {len(self.y)}. "
                "Give one for each column of y, in the same order."
            )
        return found

    def _mean(self, asked: Wanted) -> Prediction:
        mean, std = self._each(asked.mean, "--mean"), self._each(asked.std, "--std")
        return Prediction(
            {"--mean": mean, "--std": std},
            f"normal, mean = {', '.join(mean)}, standard deviation = {', '.join(std)}",
            {"mean": list(mean), "std": list(std)},
            columns(mean=mean, std=std),
            tuple(
                ColumnRule((name,), f"is a standard deviation and {POSITIVE}", positive) for name in std
            ),
        )

    def _score(self, asked: Wanted) -> Prediction:
        score = self._each(asked.score, "--score")
        facts = {"score": list(score)}
        return Prediction(
            {"--score": score}, f"scores = {', '.join(score)}", facts, columns(score=score)
        )

    def _pit(self, asked: Wanted) -> Prediction:
        pit = self._each(asked.pit, "--pit")
        return Prediction(
            {"--pit": pit},
            f"probability integral transforms = {', '.join(pit)}",
            {"pit": list(pit)},
            columns(pit=pit),
            tuple(ColumnRule((name,), f"is a PIT and {BETWEEN}", between) for name in pit),
        )

    def _prob(self, asked: Wanted) -> Prediction:
        prob = pick(asked.prob, self.names, self.table, "--prob")
        words = f"classes, probabilities = {', '.join(prob)}"
        return Prediction({"--prob": prob}, words, {"prob": list(prob)})

    def _count_mean(self, asked: Wanted) -> Prediction:
        (mean,) = self._each(asked.count_mean, "--count-mean")
        return Prediction(
            {"--count-mean": (mean,)},
            f"Poisson counts, mean = {mean}",
            {"count_mean": [mean]},
            columns(family="poisson", param={"mean": mean}),
            (ColumnRule((mean,), f"is a mean of counts and {POSITIVE}", positive),),
        )

    def _draws(self, asked: Wanted) -> Prediction:
        draws = pick(asked.draws, self.names, self.table, "--draws", self.y, natural=True)
        if len(draws) < 2:
            raise InputError(
                f"--draws names one column, {draws[0]!r}, and one prediction for each row is no draw. "
                "Name a column for each draw (a hundred, if they can be had), or give --mean and --std."
            )
        return Prediction(
            {"--draws": draws},
            f"{len(draws)} draws a row, {draws[0]} to {draws[-1]}",
            {"draws": list(draws)},
            columns(draws=draws, rng=self.seed),
        )

    def _quantiles(self, asked: Wanted) -> Prediction:
        levels: dict[str, float] = {}
        example = "--quantiles q05=0.05,q50=0.5,q95=0.95"
        for word, level in pairs(asked.quantiles, self.names, "--quantiles", example, named=0):
            name = pick_one(word, self.names, self.table, "--quantiles")
            if name in levels:
                raise InputError(f"--quantiles names the column {name!r} twice. Name each column once.")
            levels[name] = _level(level, "--quantiles")
        return Prediction(
            {"--quantiles": tuple(levels)},
            "quantiles, " + ", ".join(f"{name} = {level:g}" for name, level in levels.items()),
            {"quantiles": levels},
            _tried("--quantiles", quantiles=levels, rng=self.seed),
        )

    def _interval(self, asked: Wanted) -> Prediction:
        ends = pick(asked.interval, self.names, self.table, "--interval")
        given = ",".join(asked.coverage).split(",")
        shares = [_level(part, "--coverage") for part in given if part.strip()]
        if len(ends) != 2 * len(shares) or not shares:
            raise InputError(
                f"--interval names {len(ends)} column{'s' * (len(ends) != 1)} and --coverage "
                f"{len(shares)} number{'s' * (len(shares) != 1)}. Give a low and a high end for each "
                "coverage, the smallest first: --interval lo50,hi50,lo90,hi90 --coverage 0.5,0.9."
            )
        named = [f"{100 * share:g}%" for share in shares]
        listed = list(zip(ends[::2], ends[1::2], named, strict=True))
        return Prediction(
            {"--interval": ends},
            "interval, " + ", ".join(f"{share} = {low} to {high}" for low, high, share in listed),
            {"interval": list(ends), "coverage": shares},
            _tried("--coverage", interval=ends, coverage=shares),
            tuple(_nested(listed)),
            ends,
        )

    def _family(self, asked: Wanted) -> Prediction:
        form = find_family(str(asked.family))
        if form is None:
            guess = did_you_mean(str(asked.family).strip().lower(), FAMILIES)
            raise InputError(
                f"--family: there is no {asked.family!r}.{guess} There are: {', '.join(FAMILIES)}."
            )
        param: dict[str, str | float] = {}
        example = "--param mu=m,sigma=s (or a number, df=5)"
        for key, word in pairs(asked.param, self.names, "--param", example, named=1):
            if key in param:
                raise InputError(f"--param names {key!r} twice. Give each parameter once.")
            number = None if word in self.names else number_of(word)
            if number is None or not math.isfinite(number):
                param[key] = pick_one(word, self.names, self.table, f"--param {key}")
            else:
                param[key] = number
        if "cov" in param:
            raise InputError("--param: a covariance is no column of a table. Give std in place of cov.")
        model = _tried("--param", family=str(asked.family), param=param)
        shown = [f"{k} = {v if isinstance(v, str) else format(v, 'g')}" for k, v in param.items()]
        return Prediction(
            {f"--param {key}": (value,) for key, value in param.items() if isinstance(value, str)},
            ", ".join([model.name, *shown]),
            {"family": model.name.lower(), "param": param},
            model,
            tuple(_limits(form, param)),
        )


def _nested(intervals: Sequence[tuple[str, str, str]]) -> list[ColumnRule]:
    """Return what must hold of the ends of intervals: low, high and what it is called, each."""
    end = "is the {} end of the {} interval and must be at most {!r}, {}"
    rules = [
        ColumnRule((low, high), end.format("low", share, high, "its high end"), at_most)
        for low, high, share in intervals
    ]
    for (low, high, inner), (wide_low, wide_high, outer) in pairwise(intervals):
        of_inner, of_outer = f"that of the {inner} interval", f"that of the {outer} interval"
        rules += [
            ColumnRule((wide_low, low), end.format("low", outer, low, of_inner), at_most),
            ColumnRule((high, wide_high), end.format("high", inner, wide_high, of_outer), at_most),
        ]
    return rules


def _limits(form: type[Law], param: Mapping[str, str | float]) -> list[ColumnRule]:
    """Return what must hold of the parameters of a family; numbers are checked at once."""
    family = form.__name__
    above = ("std",) if family == "Normal" else getattr(form, "POSITIVE", ())
    limits = dict.fromkeys(above, (POSITIVE, positive))
    limits |= dict.fromkeys(getattr(form, "SHARES", ()), (BETWEEN, between))
    rules = []
    for name, (must, holds) in limits.items():
        value = param.get(name)
        if isinstance(value, str):
            rules.append(ColumnRule((value,), f"is the parameter {name} of {family} and {must}", holds))
        elif value is not None and not holds(np.array(value)):
            raise InputError(f"--param: {name} of {family} {must}, got {value:g}.")
    return rules


def _tried(flag: str, **given: Any) -> Columns:
    """Make a model and ask it for the law of one row: levels that cannot be are said at once."""
    try:
        model = columns(**given)
        if "family" not in given:
            model.bind(dict.fromkeys(model.names, np.zeros(1)), np.zeros(1, dtype=np.int64))
    except CondgofError as error:
        raise InputError(f"{flag}: {error}") from error
    return model


def _level(text: str, flag: str) -> float:
    value = number_of(text)
    if value is None or not 0 < value < 1:
        raise InputError(f"{flag}: {text.strip()!r} is no number between 0 and 1. Write 0.9 for 90%.")
    return value
