"""What each column of a table is for: x, y, predictions of models, groups, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from condgof.cli._columns import ColumnNames
from condgof.cli._options import ClassOptions, ColumnOptions, PredictionOptions
from condgof.cli._predictions import (
    ClassProbabilities,
    Predictions,
    Request,
    Spelling,
    read_predictions,
)
from condgof.errors import InputError, reworded
from condgof.sample import ANY, LABELS, NUMBERS, TEXT


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model of a command: its name, and the options that say where predictions are."""

    name: str = ""
    options: PredictionOptions
    #: How messages write the options.
    flag: Spelling = field(default_factory=Spelling)
    #: What messages begin with; "" where the options tell models apart.
    label: str = ""

    def named(self) -> AbstractContextManager[None]:
        """Have errors say which model they are about."""
        return reworded(self.label) if self.label else nullcontext()


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The options that name columns whose values say something of the rows.

    All of them name one column, but `by`, which may name several.
    """

    by: str | None = None
    event: str | None = None
    entry: str | None = None
    groups: str | None = None
    weights: str | None = None

    def pick(self, table: ColumnNames) -> RowColumns:
        """Find the columns in a table."""

        def pick_one(word: str | None, flag: str) -> str | None:
            return None if word is None else table.pick_one(word, flag)

        return RowColumns(
            by=() if self.by is None else table.pick([self.by], "--by"),
            event=pick_one(self.event, "--event"),
            entry=pick_one(self.entry, "--entry"),
            groups=pick_one(self.groups, "--groups"),
            weights=pick_one(self.weights, "--weights"),
        )


@dataclass(frozen=True, kw_only=True)
class RowColumns:
    """Columns that say something of the rows; None for those that are not used."""

    #: Groups that are tested each; none if empty.
    by: tuple[str, ...]
    #: Whether the event came, and from when on the row was watched.
    event: str | None
    entry: str | None
    #: Rows with the same value depend on each other.
    groups: str | None
    #: How much each row counts.
    weights: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """All of these columns."""
        names = (*self.by, self.event, self.entry, self.groups, self.weights)
        return tuple(name for name in names if name is not None)

    @property
    def exclusive(self) -> dict[str, tuple[str, ...]]:
        """The columns by option that can be in no prediction; groups may be anything."""
        flags = {"--event": self.event, "--entry": self.entry, "--weights": self.weights}
        named: dict[str, tuple[str, ...]] = {"--by": self.by} if self.by else {}
        for flag, name in flags.items():
            if name is not None:
                named[flag] = (name,)
        return named


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What each column is for, by name."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    #: One for each model.
    predictions: tuple[Predictions, ...]
    #: Columns of x that are categories whatever they hold.
    categorical: tuple[str, ...]
    rows: RowColumns

    @property
    def predicted(self) -> tuple[str, ...]:
        """The columns of all predictions, each once."""
        names: list[str] = []
        for predictions in self.predictions:
            names += predictions.names
        return tuple(dict.fromkeys(names))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers; y too, unless it may be text."""
        of_rows = (self.rows.event, self.rows.entry, self.rows.weights)
        names = (*self.y, *self.predicted, *of_rows)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns outside x that are read as text whatever they hold."""
        names = (*self.rows.by, self.rows.groups)
        return tuple(name for name in names if name is not None and name not in self.x)

    @property
    def kept_of_stream(self) -> tuple[str, ...]:
        """The columns that are kept in memory where a table is streamed."""
        of_rows = (self.rows.groups, self.rows.weights)
        kept = (name for name in of_rows if name is not None)
        return tuple(dict.fromkeys((*self.labels, *kept)))

    @property
    def all(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*self.x, *self.numbers, *self.labels)))

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """What each column may hold: numbers, text, dates."""
        kinds: dict[str, tuple[str, ...]] = dict.fromkeys(self.all, ANY)
        kinds |= dict.fromkeys(self.numbers, NUMBERS)
        if any(predictions.text_y for predictions in self.predictions):
            kinds |= dict.fromkeys(self.y, LABELS)
        kinds |= dict.fromkeys((*self.categorical, *self.labels), TEXT)
        return kinds

    @property
    def cannot_stream(self) -> str:
        """What of these columns cannot be streamed, as the subject of a sentence, or ""."""
        for predictions in self.predictions:
            if predictions.cannot_stream:
                return predictions.cannot_stream
        return "" if self.rows.event is None else "--event"


def find_roles(
    table: ColumnNames,
    columns: ColumnOptions,
    candidates: Sequence[Candidate],
    *,
    classes: ClassOptions,
    rows: RowOptions,
    seed: int,
) -> Roles:
    """Find the columns that options name in a table, and check that roles go together."""
    y = table.pick(columns.y, "--y")
    row_columns = rows.pick(table)
    taken = (*y, *row_columns.all, *table.named(columns.x))
    predictions = []
    for candidate in candidates:
        request = Request(candidate.options, table, y, taken, candidate.flag, seed)
        with candidate.named():
            predictions.append(read_predictions(request))
    uses = [{"--y": y, **row_columns.exclusive, **each.roles} for each in predictions]
    x = table.pick(columns.x, "--x", without=_all_columns(uses))
    for candidate, use in zip(candidates, uses, strict=True):
        with candidate.named():
            _check_uses({**use, "--x": x})
    categorical: tuple[str, ...] = ()
    if columns.categorical:
        categorical = ColumnNames("--x", x).pick(columns.categorical, "--categorical")
    _check_class_options(classes, predictions)
    return Roles(
        x=x,
        y=y,
        predictions=tuple(predictions),
        categorical=categorical,
        rows=row_columns,
    )


def _all_columns(uses: Sequence[Mapping[str, Sequence[str]]]) -> set[str]:
    columns: set[str] = set()
    for use in uses:
        columns.update(*use.values())
    return columns


def _check_uses(uses: Mapping[str, Sequence[str]]) -> None:
    """Raise if a column has two roles; predictions may be in x too.

    p(y|x) with x the predicted mean is a sound question.
    """
    flags: dict[str, str] = {}
    for flag, names in uses.items():
        for name in names:
            first = flags.setdefault(name, flag)
            if first != flag and (flag != "--x" or first in ("--y", "--event")):
                raise InputError(
                    f"Column {name!r} is in {first} and in {flag}. Give it one of the two."
                )


def _check_class_options(classes: ClassOptions, predictions: Sequence[Predictions]) -> None:
    if any(isinstance(each, ClassProbabilities) for each in predictions):
        return
    if classes.classes:
        raise InputError("--classes goes with --prob, the columns of class probabilities.")
    if classes.ordered:
        raise InputError("--ordered goes with --prob, the columns of class probabilities.")
