"""One class for each way of giving predictions: columns of a table, or a model to import.

A subclass of `InColumns` finds its columns among those of the table (`from_request`) and
makes the model that they are; `read_predictions` decides which class is meant. A new kind
of prediction is one more class in `KINDS`, and its options in `PredictionOptions`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from condgof._typing import AnyArray
from condgof.cli._classes import class_labels
from condgof.cli._columns import ColumnNames, named_twice, parse_number
from condgof.cli._model import load_model, model_file
from condgof.cli._options import ClassOptions, PredictionOptions
from condgof.errors import InputError, InputTypeError, ShapeError, reworded
from condgof.laws import Columns, ModelLike, Probabilities, columns, probabilities
from condgof.sample import list_names

if TYPE_CHECKING:
    from condgof.cli._load import CompleteRows

#: Fewest columns of `--draws`.
MIN_DRAWS = 2


@dataclass(frozen=True)
class Spelling:
    """How the options of a model are written: --mean, --a-mean, or mean= in a candidate."""

    before: str = "--"
    after: str = ""

    def __call__(self, *options: str) -> str:
        """Return options of one kind as a message names them: "--mean and --std"."""
        return " and ".join(
            f"{self.before}{option.replace('_', '-')}{self.after}" for option in options
        )


@dataclass(frozen=True)
class Request:
    """What a user asked for: the options of a model, and the table that they speak of."""

    options: PredictionOptions
    table: ColumnNames
    #: The columns of y.
    y: tuple[str, ...]
    #: The columns that have another role, which patterns leave out: those of y, of groups
    #: and events, and those of x that are named as they are.
    taken: tuple[str, ...]
    flag: Spelling
    #: Seed for breaking ties of draws and quantiles.
    seed: int

    def uses(self, option: str) -> bool:
        """Return whether an option is there."""
        return bool(self.words(option))

    def words(self, option: str) -> Sequence[str]:
        """Return what follows an option, () where it is not there."""
        return getattr(self.options, option) or ()

    def pick(self, option: str) -> list[str]:
        """Find the columns that an option names."""
        return list(self.table.pick(self.words(option), self.flag(option), self.taken))

    def pick_for_each_y(self, *options: str) -> dict[str, list[str]]:
        """Find the columns of options that name one column for each column of y."""
        picked = {option: self.pick(option) for option in options}
        for option, names in picked.items():
            if len(names) != len(self.y):
                count = f"{len(names)} column{'s' * (len(names) != 1)}"
                raise InputError(
                    f"{self.flag(option)} names {count} and --y {len(self.y)}. Give one for"
                    " each column of y, in the same order."
                )
        return picked

    def by_flag(self, picked: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        """Return columns by the flag of their option, as messages name it."""
        return {self.flag(option): names for option, names in picked.items()}

    def level(self, option: str, text: str) -> float:
        """Read a number between 0 and 1."""
        value = parse_number(text)
        if value is None or not 0 < value < 1:
            raise InputError(
                f"{self.flag(option)}: {text.strip()!r} is no number between 0 and 1. Write"
                " 0.9 for 90%."
            )
        return value


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions(ABC):
    """The predictions of one model."""

    #: Whether y may be text: names of classes.
    text_y: ClassVar[bool] = False
    #: Whether the model is given x as a frame of pandas.
    takes_frame: ClassVar[bool] = False
    #: What cannot be streamed, as the subject of a sentence; "" for predictions that can.
    cannot_stream: ClassVar[str] = ""

    #: The columns of the table by the option that names them.
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: What JSON has of each option.
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, each once."""
        names: list[str] = []
        for columns_of_option in self.roles.values():
            names += columns_of_option
        return tuple(dict.fromkeys(names))

    def load(self) -> None:  # noqa: B027 - most have nothing to import
        """Import what is to be imported, so that mistakes show before rows are read."""

    def files(self) -> tuple[str, ...]:
        """Return the files that the model is read from, beside the table."""
        return ()

    @abstractmethod
    def model(self, data: Mapping[str, AnyArray], y: str) -> ModelLike:
        """Return the model for a table with these rows, and a column y."""

    @abstractmethod
    def in_memory(self, rows: CompleteRows) -> ModelLike:
        """Return the model for rows that are in memory."""

    @abstractmethod
    def streamed(self, rows: CompleteRows) -> ModelLike:
        """Return the model for rows that will be read again as a stream."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Imported(Predictions):
    """A model to import."""

    text_y = True
    takes_frame = True

    address: str
    flag: Spelling

    @cached_property
    def imported(self) -> ModelLike:
        """The model, imported when it is first asked for."""
        model = load_model(self.address)
        if isinstance(model, Columns):
            raise InputTypeError(
                f"{self.address!r} names columns of a table, and {self.flag('model')} takes"
                f" a model. Name the columns by {some_kinds(self.flag)}, ..., in place of"
                " --model."
            )
        return model

    def load(self) -> None:
        _ = self.imported

    def files(self) -> tuple[str, ...]:
        file = model_file(self.address)
        return () if file is None else (file,)

    def model(self, data: Mapping[str, AnyArray], y: str) -> ModelLike:
        return self.imported

    def in_memory(self, rows: CompleteRows) -> ModelLike:
        """Return the model; predictions for rows that are not complete are left out."""
        model = self.imported
        if model.rows is None:
            return model
        if model.rows != len(rows.complete):
            raise ShapeError(
                f"The model is bound to {model.rows} rows and the table has"
                f" {len(rows.complete)}. Give it one row for each of the table, also for"
                " rows that --drop-nulls leaves out."
            )
        return model.take(np.flatnonzero(rows.complete)) if rows.dropped else model

    def streamed(self, rows: CompleteRows) -> ModelLike:
        return self.in_memory(rows)


class InColumns(Predictions):
    """Predictions in columns of the table."""

    #: The options, all of which are needed, and what JSON has of them where they are not
    #: there.
    absent: ClassVar[Mapping[str, Any]]
    #: Whether y may have several columns.
    several_y: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_request(cls, request: Request) -> InColumns:
        """Find the columns in the table, and check that they go together."""

    @abstractmethod
    def model(self, data: Mapping[str, AnyArray], y: str) -> Columns:
        """Return the model for a table with these rows, and a column y."""

    def in_memory(self, rows: CompleteRows) -> ModelLike:
        model = self.model(rows.data, rows.roles.y[0])
        with reworded(f"{rows.table.label}, columns {list_names(self.names)}"):
            # Rows are numbered as in a stream, so that ties are broken alike.
            return model.bind(rows.data, np.arange(rows.left))

    def streamed(self, rows: CompleteRows) -> ModelLike:
        return self.model(rows.data, rows.roles.y[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedColumns(InColumns):
    """Predictions whose model does not depend on the rows."""

    columns: Columns

    def model(self, data: Mapping[str, AnyArray], y: str) -> Columns:
        return self.columns


class MeanStd(FixedColumns):
    """Mean and standard deviation of a normal distribution, for each column of y."""

    absent: ClassVar[Mapping[str, Any]] = {"mean": [], "std": []}
    several_y = True

    @classmethod
    def from_request(cls, request: Request) -> MeanStd:
        picked = request.pick_for_each_y("mean", "std")
        with reworded(request.flag("mean", "std")):
            model = columns(mean=picked["mean"], std=picked["std"])
        return cls(values=picked, roles=request.by_flag(picked), columns=model)


class FamilyParameters(FixedColumns):
    """Parameters of a closed form such as "lognormal", each a column or a number."""

    absent: ClassVar[Mapping[str, Any]] = {"family": None, "param": {}}

    @classmethod
    def from_request(cls, request: Request) -> FamilyParameters:
        family = request.options.family
        parameters = cls._parameters(request)
        named = {key: value for key, value in parameters.items() if isinstance(value, str)}
        with reworded(request.flag("family", "param")):
            model = columns(family=family, param=parameters)
        return cls(
            values={"family": family, "param": parameters},
            roles={f"{request.flag('param')} {key}": [name] for key, name in named.items()},
            columns=model,
        )

    @classmethod
    def _parameters(cls, request: Request) -> dict[str, str | float]:
        """Read pairs such as mu=m,sigma=0.5."""
        flag = request.flag("param")
        names = request.table.names
        form = f"{flag} mu=m,sigma=s (or a number, df=5)"
        parameters: dict[str, str | float] = {}
        for word in request.words("param"):
            # The name of a column may have commas in it.
            is_one = word.partition("=")[2].strip() in names
            for part in [word] if is_one else _parts(word):
                key, _, value = part.partition("=")
                key = key.strip()
                value = value.strip()
                if not key or not value:
                    raise _no_pair(flag, form, part)
                if key in parameters:
                    raise named_twice(flag, key)
                number = None if value in names else parse_number(value)
                if number is not None and math.isfinite(number):
                    parameters[key] = number
                else:
                    parameters[key] = request.table.pick_one(value, f"{flag} {key}")
        if "cov" in parameters:
            raise InputError(
                f"{flag}: a covariance is no column of a table. Give std in place of cov."
            )
        return parameters


class Draws(FixedColumns):
    """Draws of y, a column each."""

    absent: ClassVar[Mapping[str, Any]] = {"draws": []}

    @classmethod
    def from_request(cls, request: Request) -> Draws:
        picked = request.pick("draws")
        if len(picked) < MIN_DRAWS:
            one = f"one column, {picked[0]!r}, and one prediction for each row is no draw"
            raise InputError(
                f"{request.flag('draws')} names {one}. Name a column for each draw, or give"
                f" {request.flag('mean', 'std')}."
            )
        with reworded(request.flag("draws")):
            model = columns(draws=picked, rng=request.seed)
        values = {"draws": picked}
        return cls(values=values, roles=request.by_flag(values), columns=model)


class PredictedQuantiles(FixedColumns):
    """Quantiles of y, a column for each level."""

    absent: ClassVar[Mapping[str, Any]] = {"quantiles": {}}

    @classmethod
    def from_request(cls, request: Request) -> PredictedQuantiles:
        levels = cls._levels(request)
        with reworded(request.flag("quantiles")):
            model = columns(quantiles=levels, rng=request.seed)
        return cls(
            values={"quantiles": levels},
            roles={request.flag("quantiles"): list(levels)},
            columns=model,
        )

    @classmethod
    def _levels(cls, request: Request) -> dict[str, float]:
        """Read pairs such as q05=0.05,q95=0.95."""
        flag = request.flag("quantiles")
        form = f"{flag} q05=0.05,q50=0.5,q95=0.95"
        levels: dict[str, float] = {}
        for word in request.words("quantiles"):
            # The name of a column may have commas and signs of equality in it.
            is_one = word.rpartition("=")[0].strip() in request.table.names
            for part in [word] if is_one else _parts(word):
                column, _, level = part.rpartition("=")
                if not column.strip() or not level.strip():
                    raise _no_pair(flag, form, part)
                name = request.table.pick_one(column.strip(), flag)
                if name in levels:
                    raise named_twice(flag, name)
                levels[name] = request.level("quantiles", level.strip())
        return levels


class PredictionIntervals(FixedColumns):
    """Low and high ends of nested prediction intervals, and how often each holds y."""

    absent: ClassVar[Mapping[str, Any]] = {"interval": [], "coverage": []}

    @classmethod
    def from_request(cls, request: Request) -> PredictionIntervals:
        ends = request.pick("interval")
        shares = ",".join(request.words("coverage")).split(",")
        coverage = [request.level("coverage", share) for share in shares if share.strip()]
        with reworded(request.flag("interval", "coverage")):
            model = columns(interval=ends, coverage=coverage)
        return cls(
            values={"interval": ends, "coverage": coverage},
            roles={request.flag("interval"): ends},
            columns=model,
        )


class Pits(FixedColumns):
    """Probability integral transforms F(y|x), for each column of y."""

    absent: ClassVar[Mapping[str, Any]] = {"pit": []}
    several_y = True

    @classmethod
    def from_request(cls, request: Request) -> Pits:
        picked = request.pick_for_each_y("pit")
        with reworded(request.flag("pit")):
            model = columns(pit=picked["pit"])
        return cls(values=picked, roles=request.by_flag(picked), columns=model)


class SteinScores(FixedColumns):
    """Stein scores, the derivative of log p(y|x) by y, for each column of y."""

    absent: ClassVar[Mapping[str, Any]] = {"score": []}
    several_y = True

    @classmethod
    def from_request(cls, request: Request) -> SteinScores:
        picked = request.pick_for_each_y("score")
        with reworded(request.flag("score")):
            model = columns(score=picked["score"])
        return cls(values=picked, roles=request.by_flag(picked), columns=model)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassProbabilities(InColumns):
    """Probabilities of classes; what the classes are called depends on y."""

    absent: ClassVar[Mapping[str, Any]] = {"prob": []}
    text_y = True
    cannot_stream = "predictions of classes"

    class_names: ClassOptions

    @classmethod
    def from_request(cls, request: Request) -> ClassProbabilities:
        values = {"prob": request.pick("prob")}
        return cls(
            values=values,
            roles=request.by_flag(values),
            class_names=request.options.class_names,
        )

    def model(self, data: Mapping[str, AnyArray], y: str) -> Columns:
        labels = class_labels(self.names, self.class_names.classes, y, data[y])

        def law(parts: Mapping[str, AnyArray], rows: object) -> Probabilities:
            p = parts["prob"][:, 0] if len(self.names) == 1 else parts["prob"]
            return probabilities(p, labels, ordered=self.class_names.ordered)

        return Columns({"prob": self.names}, law, Probabilities.name)


class CountMeans(FixedColumns):
    """Mean of a Poisson distribution."""

    absent: ClassVar[Mapping[str, Any]] = {"count_mean": []}

    @classmethod
    def from_request(cls, request: Request) -> CountMeans:
        picked = request.pick_for_each_y("count_mean")
        with reworded(request.flag("count_mean")):
            model = columns(family="poisson", param={"mean": picked["count_mean"][0]})
        return cls(values=picked, roles=request.by_flag(picked), columns=model)


#: All kinds of predictions in columns, in the order of the help and of JSON.
KINDS: tuple[type[InColumns], ...] = (
    MeanStd,
    FamilyParameters,
    Draws,
    PredictedQuantiles,
    PredictionIntervals,
    Pits,
    SteinScores,
    ClassProbabilities,
    CountMeans,
)


def _absent_options() -> dict[str, Any]:
    absent: dict[str, Any] = {}
    for kind in KINDS:
        absent.update(kind.absent)
    return absent


#: The options of all kinds of predictions, and what JSON has of an option that is not used.
ABSENT = _absent_options()


def read_predictions(request: Request) -> Predictions:
    """Find the kind of predictions that there is, and read it; two kinds are an error."""
    # Messages name kinds with two options before those with one.
    kinds = sorted(KINDS, key=lambda kind: len(kind.absent), reverse=True)
    for kind in kinds:
        _check_complete(kind, request)
    used = [kind for kind in kinds if all(map(request.uses, kind.absent))]
    flags = [request.flag(*kind.absent) for kind in used]
    address = request.options.model
    if address is not None:
        flags.append("--model")
    if len(flags) > 1:
        raise InputError(
            f"{' with '.join(flags)}: the model comes one way. Leave out the others."
        )
    if address is not None:
        return Imported(address=address, flag=request.flag)
    if not used:
        raise InputError(
            f"There is no model. Name the columns with its predictions"
            f" ({some_kinds(request.flag)}, …), or a model to import"
            f" ({request.flag('model')} package.module:name)."
        )
    (kind,) = used
    if len(request.y) > 1 and not kind.several_y:
        first = next(iter(kind.absent))
        raise InputError(
            f"{request.flag(first)} is of one column of y, and --y names {len(request.y)}:"
            " check each alone."
        )
    return kind.from_request(request)


def some_kinds(flag: Spelling) -> str:
    """Name the options of some kinds of predictions."""
    return f"{flag('mean', 'std')}, {flag('draws')}, {flag('quantiles')}"


def _check_complete(kind: type[InColumns], request: Request) -> None:
    there = [option for option in kind.absent if request.uses(option)]
    lacking = [option for option in kind.absent if not request.uses(option)]
    if there and lacking:
        raise InputError(
            f"{request.flag(*there)} without {request.flag(*lacking)}: give both."
        )


def _parts(word: str) -> list[str]:
    """Split at commas; a word of commas alone stays as it is, for a message to show it."""
    parts = [part for part in word.split(",") if part.strip()]
    return parts or [word]


def _no_pair(flag: str, form: str, part: str) -> InputError:
    return InputError(f"{flag} is used as in {form}, and {part.strip()!r} is no such pair.")
