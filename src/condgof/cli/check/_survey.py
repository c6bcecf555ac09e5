"""What is missing or impossible in the columns of a table, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray
from condgof.cli.check._columns import Roles
from condgof.cli.check._predictions import ColumnRule
from condgof.errors import InputError, NonFiniteError
from condgof.sample import MIN_ROWS

#: How many columns a message lists.
LISTED = 10


@dataclass(frozen=True)
class Dropped:
    """Rows that were left out, and in how many of them each column is missing, where any is."""

    rows: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """As in "3 rows (income 2, food 1)"."""
        listed = [f"{name} {count:,}" for name, count in self.columns.items()]
        more = [f"and {len(listed) - LISTED:,} columns more"] if len(listed) > LISTED else []
        return f"{self.rows:,} row{'s' * (self.rows != 1)} ({', '.join(listed[:LISTED] + more)})"


@dataclass
class Survey:
    """Counts over all rows of a table, which may come in batches."""

    label: str
    roles: Roles
    rows: int = 0
    missing_rows: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, tuple[int, int]] = field(default_factory=dict)
    broken: dict[ColumnRule, tuple[int, int, float]] = field(default_factory=dict)

    def add(
        self,
        columns: Mapping[str, AnyArray],
        gaps: Mapping[str, NDArray[np.bool_]] = MappingProxyType({}),
    ) -> NDArray[np.bool_]:
        """Count some rows more, and return which have everything; `gaps` are those of other columns."""
        absences = dict(gaps)
        for name, values in columns.items():
            absences[name] = _missing(values)
            if values.dtype.kind == "f":
                self._add_infinite(name, values)
        self._add_broken(columns, absences)
        count = len(next(iter(columns.values())))
        complete = np.ones(count, dtype=bool)
        for name, absent in absences.items():
            if absent.any():
                self.missing[name] = self.missing.get(name, 0) + int(absent.sum())
                complete &= ~absent
        self.missing_rows += int(count - complete.sum())
        self.rows += count
        return complete

    def _add_infinite(self, name: str, values: AnyArray) -> None:
        infinite = np.isinf(values)
        if infinite.any():
            before, first = self.infinite.get(name, (0, self.rows + int(np.argmax(infinite))))
            self.infinite[name] = (before + int(infinite.sum()), first)

    def _add_broken(
        self, columns: Mapping[str, AnyArray], absences: Mapping[str, NDArray[np.bool_]]
    ) -> None:
        for rule in dict.fromkeys(rule for each in self.roles.predictions for rule in each.rules):
            wrong = ~rule.holds(*(columns[name] for name in rule.names))
            for name in rule.names:
                wrong &= ~absences[name]
            if wrong.any():
                at = int(np.argmax(wrong))
                value = float(columns[rule.names[0]][at])
                seen = self.broken.get(rule, (0, self.rows + at, value))
                self.broken[rule] = (seen[0] + int(wrong.sum()), *seen[1:])

    @property
    def endless(self) -> str | None:
        """A column that is infinite and may be: the end of an interval that has none."""
        return next((name for name in self.infinite if name in self._may_be_infinite), None)

    @property
    def _may_be_infinite(self) -> set[str]:
        return {n for each in self.roles.predictions for n in each.endless} - set(self.roles.x)

    def judge(self, drop_nulls: bool, least: int = MIN_ROWS) -> Dropped:
        """Raise where the table cannot be used, and say what is to be left out."""
        if self.rows == 0:
            raise InputError(f"{self.label} has no rows, only the names of its columns.")
        dropped = Dropped(
            self.missing_rows, {n: self.missing[n] for n in self.roles.all if n in self.missing}
        )
        if dropped.rows and not drop_nulls:
            raise NonFiniteError(
                f"{self.label} has missing values in {dropped.words} of {self.rows:,}. --drop-nulls "
                "leaves those rows out.",
                count=dropped.rows,
            )
        for name, (count, first) in self.infinite.items():
            if name in self._may_be_infinite:
                continue
            raise NonFiniteError(
                f"Column {name!r} of {self.label} is infinite in {count:,} of {self.rows:,} rows, the "
                f"first in row {first:,} (counted from 0). Leave those rows out.",
                count=count,
                first_row=first,
            )
        for rule, (count, first, value) in self.broken.items():
            raise InputError(
                f"Column {rule.names[0]!r} of {self.label} {rule.words}: it is not in {count:,} of "
                f"{self.rows:,} rows, the first {value:g} in row {first:,} (counted from 0)."
            )
        left = self.rows - dropped.rows
        if left < least:
            after = f" after {dropped.rows:,} with missing values were left out" if dropped.rows else ""
            raise InputError(
                f"{self.label} has {left} row{'s' * (left != 1)}{after}, and a check needs at least "
                f"{least}, better hundreds."
            )
        return dropped


def _missing(values: AnyArray) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values)
