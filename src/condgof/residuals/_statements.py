"""Statements of y: predicted quantiles and intervals, and whether each held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import CellsOfY, Event, Law
from condgof.residuals._cells import CellResiduals
from condgof.sample import Sample

#: At most this many statements are examined one by one, evenly spread over all.
MOST_STATEMENTS = 6


@dataclass(frozen=True, eq=False)
class StatementResiduals(CellResiduals):
    """The cell between quantiles, or inside nested intervals, into which y falls.

    Cells have the same probabilities in every row. A subclass names the statements.
    """

    statements: tuple[Event, ...] = ()

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> StatementResiduals:
        assert isinstance(law, CellsOfY)
        law.check_atoms(sample.y_given)
        return cls.from_cells(law, sample, full=True, statements=law.events)

    @property
    def shares(self) -> FloatArray:
        """The probabilities of the cells, (K,)."""
        assert self.outcomes is not None
        return np.asarray(self.outcomes.probabilities[0], dtype=np.float64)

    @property
    def observed(self) -> IntArray:
        """The cell into which y fell, (n,)."""
        assert self.outcomes is not None
        return self.outcomes.observed

    @property
    def some_statements(self) -> tuple[Event, ...]:
        """The statements that are examined one by one, evenly spread."""
        last = len(self.statements) - 1
        chosen = np.linspace(0, last, min(last + 1, MOST_STATEMENTS)).astype(int)
        return tuple(self.statements[k] for k in chosen)

    def column_name(self, statement: Event) -> str:
        """Return what a frame calls the column that says whether a statement held."""
        raise NotImplementedError

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {
            self.column_name(statement): statement.happened(self.observed)
            for statement in self.statements
        }


@dataclass(frozen=True, eq=False)
class QuantileResiduals(StatementResiduals):
    """Predicted quantiles: whether y is not above each."""

    def column_name(self, statement: Event) -> str:
        return f"below_q{statement.level:g}"


@dataclass(frozen=True, eq=False)
class IntervalResiduals(StatementResiduals):
    """Predicted intervals: whether each covers y."""

    def column_name(self, statement: Event) -> str:
        return f"covered_{100 * statement.level:g}"
