"""Columns with the predicted probabilities of classes, and what those are called."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError
from condgof.laws import Probabilities, probabilities

#: How far from 1 probabilities may sum up: as far as three decimals leave them.
TOLERANCE = 1e-3
#: How many labels a message lists.
LISTED = 8
#: How far below 0 rounding may leave a probability.
ROUNDED = 1e-6


@dataclass(frozen=True)
class ClassNames:
    """What a user said of the classes of y: their names in the order of columns, () where these tell."""

    names: tuple[str, ...] = ()
    ordered: bool = False

    @classmethod
    def of(cls, names: str | None, ordered: bool, prob: Sequence[str]) -> ClassNames:
        """Read the options ``--classes`` and ``--ordered``."""
        if not prob and (names is not None or ordered):
            flag = "--classes" if names is not None else "--ordered"
            raise InputError(f"{flag} goes with --prob, the columns of class probabilities.")
        listed = () if names is None else _split(names)
        return cls(listed, ordered)

    def model(
        self, data: Mapping[str, AnyArray], columns: tuple[str, ...], name: str, table: str
    ) -> Probabilities:
        """Return the model of y that the columns hold, checked."""
        y = data[name]
        values = np.column_stack([np.asarray(data[column], dtype=np.float64) for column in columns])
        names = self._names(columns, y, name)
        _check_rows(values, columns, table)
        given = values[:, 0] if len(columns) == 1 else values
        numeric = y.dtype.kind != "O"
        return probabilities(given, _as_numbers(names) if numeric else list(names), ordered=self.ordered)

    def _names(self, columns: tuple[str, ...], y: AnyArray, column: str) -> tuple[str, ...]:
        """Find the names of the classes: as said, or from the columns where all labels are there."""
        labels = _labels(y)
        count = max(len(columns), 2)
        if self.names:
            if len(self.names) != count:
                raise InputError(
                    f"--classes names {len(self.names)} classes and there are {count}: got "
                    f"{_listed(self.names)}. A name with a comma in it goes between double quotes."
                )
            ways = [self.names]
        else:
            ways = [("0", "1")] if len(columns) == 1 else spellings(columns)
        for names in ways:
            if len(set(names)) == count and labels <= set(names):
                return names
        unknown = sorted(labels - set(ways[-1]))[:LISTED]
        said = "--classes" if self.names else "the columns of --prob"
        raise InputError(
            f"Column {column!r} holds {_listed(unknown)}, and the classes of {said} are "
            f"{_listed(ways[-1])}. Name the classes as {column!r} does, in the order of the columns: "
            f"--classes {shlex.quote(_joined(sorted(labels)[:count]))}"
        )


def spellings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what classes may be called, from the names of their columns.

    The names themselves; and without what all of them begin with, or end with.

    Examples
    --------
    >>> spellings(["p_cat", "p_car"])
    [('p_cat', 'p_car'), ('cat', 'car')]
    >>> spellings(["a.prob", "b.prob"])[-1], spellings(["p0", "p1"])[-1]
    (('a', 'b'), ('0', '1'))
    """
    ways = [tuple(columns)]
    for turned in (False, True):
        names = [name[::-1] for name in columns] if turned else list(columns)
        first, last = min(names), max(names)
        same = (i for i, letter in enumerate(first) if last[i : i + 1] != letter)
        common = first[: next(same, len(first))]
        cut = max((found.end() for found in re.finditer(r"[^0-9A-Za-z]", common)), default=len(common))
        if cut and all(len(name) > cut for name in names):
            ways.append(tuple(name[cut:][::-1] if turned else name[cut:] for name in names))
    return ways


def _split(names: str) -> tuple[str, ...]:
    """Split names at commas, but not between double quotes.

    Examples
    --------
    >>> _split('cat, "dog, small"')
    ('cat', 'dog, small')
    """
    return tuple(name.strip() for name in next(csv.reader([names], skipinitialspace=True), [""]))


def _joined(names: Sequence[str]) -> str:
    """Join names so that `_split` has them back."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _labels(y: AnyArray) -> set[str]:
    if y.dtype.kind == "O":
        return {str(value) for value in y}
    return {f"{value:.12g}" for value in np.unique(np.asarray(y, dtype=np.float64))}


def _as_numbers(names: Sequence[str]) -> list[float]:
    try:
        return [float(name) for name in names]
    except ValueError as error:
        raise InputError(
            f"y holds numbers, and the classes are called {_listed(names)}. Name all of them by numbers."
        ) from error


def _check_rows(values: AnyArray, columns: tuple[str, ...], table: str) -> None:
    """Check that the columns hold probabilities."""
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


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more
