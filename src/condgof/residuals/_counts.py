"""Counts: in cells of the law's own standard deviation, or by ratios of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from condgof._typing import IntArray
from condgof.laws import Law, Outcomes
from condgof.residuals._cells import CellResiduals
from condgof.residuals._residuals import DependenceValues
from condgof.sample import Sample


@dataclass(frozen=True, eq=False)
class CountResiduals(CellResiduals):
    """Counts with known probabilities, in cells of location and scale of the law."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> CellResiduals:
        compared = cls.from_cells(law, sample, full=True)
        if compared.outcomes is not None:
            return compared
        return RatioResiduals(
            u=compared.u,
            values=compared.values,
            cells=compared.cells,
            outcomes=None,
            notes=compared.notes,
        )

    @property
    def known_outcomes(self) -> Outcomes:
        """The cells with their probabilities."""
        assert self.outcomes is not None
        return self.outcomes

    @property
    def observed(self) -> IntArray:
        """The observed cell, (n,)."""
        return self.known_outcomes.observed


@dataclass(frozen=True, eq=False)
class RatioResiduals(CellResiduals):
    """Counts of which only ratios p(y+1)/p(y) are known: a difference Stein operator."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        return cls.from_cells(law, sample, full=True)

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(np.asarray(self.values))
