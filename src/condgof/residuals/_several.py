"""Several columns of y: one after the other given those before, or each by itself.

- With a conditional CDF of each column given those before (Rosenblatt's sequence), normal
  scores are independent N(0, 1) (`SeveralResiduals`).
- With a CDF of each column by itself, and joint Stein scores, normal scores of the columns
  may depend on each other (`MarginalResiduals`).
- With draws, ranks of y in the directions of its columns and of their sums and differences
  (`RankResiduals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import Law, RankOutcomes, draws_per_row
from condgof.residuals._cells import CellResiduals
from condgof.residuals._continuous import NormalScoreResiduals
from condgof.residuals._residuals import DependenceValues, named_columns
from condgof.residuals._stein import SteinResiduals, check_coordinates, line_of, raw_scores
from condgof.sample import Sample


@dataclass(frozen=True, eq=False)
class SeveralResiduals(NormalScoreResiduals):
    """Normal scores of each column given x and the columns before it: independent."""


@dataclass(frozen=True, eq=False)
class MarginalResiduals(SteinResiduals):
    """Normal scores u of each column's own CDF, with their joint Stein scores."""

    standardized_by = "normal scores of the model's marginal CDFs"
    draws: int = 0  #: How many draws of each row the law is known by, as in other kinds.

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        line_of(law, sample)  # refuses y outside the support
        raw = raw_scores(law, sample)
        values, slope, log_density_slope = law.marginals(sample.y_given)
        u = check_coordinates(values, sample)
        scores = check_coordinates((raw.values - log_density_slope) / slope - u, sample)
        errors = raw.errors
        return cls(
            u=u,
            scores=scores,
            score_error=None if errors is None else float(np.max(errors)),
            draws=draws_per_row(law),
        )

    @property
    def pit(self) -> FloatArray:
        """Φ(u), uniform in each column under the law, (n, d_y)."""
        return np.asarray(ndtr(self.u))

    def resolves(self, tail: float) -> bool:
        """Whether the law can tell a tail of this probability."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {
            **named_columns("pit", y_names, self.pit),
            **named_columns("z", y_names, self.u),
        }


@dataclass(frozen=True, eq=False)
class RankResiduals(CellResiduals):
    """Draws of several columns: ranks of y among them, in several directions.

    u are the normal scores of the ranks in each column, (n, d_y), which may depend on each
    other.
    """

    draws: int = 0  #: How many draws each row has.

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> RankResiduals:
        compared = cls.from_cells(law, sample, full=True, draws=draws_per_row(law))
        if compared.outcomes is not None:
            return compared
        return FoldedRankResiduals(
            u=compared.u,
            values=compared.values,
            cells=compared.cells,
            outcomes=None,
            notes=compared.notes,
            draws=compared.draws,
        )

    @property
    def rank_outcomes(self) -> RankOutcomes:
        assert isinstance(self.outcomes, RankOutcomes)
        return self.outcomes

    @property
    def pit(self) -> FloatArray:
        """Φ(u), uniform in each column under the law, (n, d_y)."""
        return np.asarray(ndtr(self.u))

    def resolves(self, tail: float) -> bool:
        """Whether the draws can tell a tail of this probability."""
        return tail * (self.draws + 1) >= 1.0

    def candidate_ranks(self, rows: slice | IntArray) -> FloatArray:
        """Return the ranks of the draws of some rows in each column, (rows, m, d_y)."""
        outcomes = self.rank_outcomes
        return np.asarray(outcomes.ranks[rows, 1:, : outcomes.columns], dtype=np.float64)

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {
            **named_columns("pit", y_names, self.pit),
            **named_columns("z", y_names, self.u),
        }

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(self.u)

    def stretches(self, size: int) -> list[slice]:
        return [slice(0, self.n)]


@dataclass(frozen=True, eq=False)
class FoldedRankResiduals(RankResiduals):
    """The same of folds with unequal numbers of draws, from which y cannot be resampled."""
