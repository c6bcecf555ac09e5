"""What a repair may depend on: functions of the columns of x and of the predictions, few and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError
from condgof.sample import Column, read_table

#: Waves along the ranks of a column that the check names, of any other, and values that ranks come from.
FINE, WAVES, KNOTS = 12, 5, 256
#: A category has a function for each of so many levels, the largest; a column in a pair so many.
LEVELS, PAIRED = 40, 5
#: What a level counts for: two levels of equal size have the variance of a wave.
LEVEL = 2.0


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of one column."""

    name: str
    #: Of numbers and dates: values that occur, and the share of rows below each (ties by half).
    knots: FloatArray
    ranks: FloatArray
    #: Of a category: the levels that have a function.
    levels: tuple[str, ...] | None = None
    #: Whether missing has one.
    missing: bool = False

    @classmethod
    def of(cls, name: str, values: FloatArray, levels: Sequence[str] | None) -> Basis | None:
        """Take what the values (n,) of a column tell; None if it is constant."""
        lost = np.isnan(values)
        known, counts = np.unique(values[~lost], return_counts=True)
        if len(known) + bool(lost.any()) < 2:
            return None
        if levels is not None:
            largest = known[np.argsort(-counts, kind="stable")[:LEVELS]].astype(np.int64)
            named = tuple(levels[i] for i in sorted(largest))
            return cls(name, known[:0], known[:0], named, bool(lost.any()))
        ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        if len(known) > KNOTS:
            some = np.unique(np.searchsorted(ranks, np.linspace(0, 1, KNOTS)).clip(0, len(known) - 1))
            known, ranks = known[some], ranks[some]
        return cls(name, known, ranks, None, bool(lost.any()))

    def at(
        self, values: FloatArray, levels: Sequence[str] | None, most: int = LEVELS, waves: int = WAVES
    ) -> FloatArray:
        """Return the functions at values (n,), positions among `levels` for a category, (n, k)."""
        lost = np.isnan(values)
        if self.levels is not None:
            place = {level: i for i, level in enumerate(levels or ())}
            codes = np.array([place.get(level, -1) for level in self.levels[:most]])
            parts = LEVEL * (values[:, None] == codes)
        elif not len(self.knots):
            parts = np.empty((len(values), 0))
        else:
            u = np.interp(np.where(lost, self.knots[0], values), self.knots, self.ranks)
            k = np.arange(1, min(waves, len(self.knots) - 1) + 1)
            # A wave of twice the frequency counts half, so that what is smooth is learned first.
            parts = np.sqrt(2.0) * np.cos(np.pi * u[:, None] * k) / k
            parts[lost] = 0.0
        return np.column_stack([parts, LEVEL * lost]) if self.missing else parts


@dataclass(frozen=True, eq=False)
class Design:
    """The functions that a repair may take: of each column, of each prediction, of pairs of columns."""

    #: The names of the columns of x.
    columns: tuple[str, ...]
    #: Of the columns that vary, with their number, and of the predictions.
    bases: tuple[tuple[int, Basis], ...]
    predictions: tuple[Basis | None, ...]
    #: Columns that the check names, and pairs of them (numbers).
    named: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, x: Any, predicted: FloatArray, conditions: Sequence[Sequence[str]]) -> Design:
        """Take what x, predictions (n, p) and the columns of each slice tell."""
        table = read_table(x, "x", text=True)
        values, columns = table.values, table.columns
        names = tuple(column.name for column in columns)
        found = [Basis.of(c.name, v, c.levels) for c, v in zip(columns, values.T, strict=True)]
        bases = tuple((i, basis) for i, basis in enumerate(found) if basis is not None)
        number = {basis.name: i for i, basis in bases}
        sets = [[number[name] for name in each if name in number] for each in conditions]
        pairs = dict.fromkeys((min(s), max(s)) for s in sets if len(set(s)) == 2)
        said = tuple(Basis.of(f"prediction {i + 1}", p, None) for i, p in enumerate(predicted.T))
        return cls(names, bases, said, tuple(sorted({i for s in sets for i in s})), tuple(pairs))

    def read(self, x: Any) -> tuple[FloatArray, tuple[Column, ...]]:
        """Read x at other rows, by the names of the columns where they are there, else by position."""
        table = read_table(x, "x", text=True)
        names, order = [column.name for column in table.columns], list(range(len(self.columns)))
        if all(name in names for name in self.columns):
            order = [names.index(name) for name in self.columns]
        elif len(names) != len(self.columns):
            raise InputError(
                f"The repair was learned on the columns {', '.join(self.columns)} of x, and x has "
                f"{', '.join(names)}. Pass x with the same columns."
            )
        columns = tuple(table.columns[i] for i in order)
        for i, basis in self.bases:
            if (basis.levels is None) != (columns[i].levels is None):
                was, now = ("numbers", "text") if basis.levels is None else ("text", "numbers")
                raise InputError(f"x column {basis.name!r} held {was}, and now holds {now}.")
        return table.values[:, order], columns

    def at(self, x: Any, predicted: FloatArray, every: bool) -> FloatArray:
        """Return the functions at rows of x, (n, P), the constant first.

        Of the predictions, of the columns that the check names and of the pairs; or of every column.
        """
        values, columns = self.read(x)
        parts = [np.ones((len(values), 1))]
        own = dict(self.bases)
        if self.predictions and predicted.shape[1] != len(self.predictions):
            raise InputError(
                f"The repair was learned on {len(self.predictions)} numbers that the model predicts of "
                f"a row, and this one predicts {predicted.shape[1]}. Pass predictions of the same kind."
            )
        for basis, p in zip(self.predictions, predicted.T, strict=False):
            parts += [] if basis is None else [basis.at(p, None)]
        for i, basis in self.bases:
            if every or i in self.named:
                waves = FINE if i in self.named else WAVES
                parts.append(basis.at(values[:, i], columns[i].levels, waves=waves))
        for pair in self.pairs:
            a, b = (own[i].at(values[:, i], columns[i].levels, PAIRED, PAIRED) for i in pair)
            parts.append((a[:, :, None] * b[:, None, :]).reshape(len(values), -1))
        return np.concatenate(parts, axis=1)


def folds_of(units: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row, (n,): rows of one unit share it."""
    _, codes = np.unique(units, return_inverse=True)
    order = rng.permutation(int(codes.max()) + 1)
    return np.asarray(order[codes.ravel()] % count)
