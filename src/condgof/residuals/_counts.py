"""Counts: by their randomised PIT, in cells, or by ratios of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import NumericalError, refuse_rows
from condgof.laws import Discrete, Law, Outcomes
from condgof.residuals._cells import CellResiduals
from condgof.residuals._residuals import DependenceValues
from condgof.residuals._steps import StepCdf, SteppedResiduals, mean_scale_of
from condgof.sample import Sample

#: Consecutive counts of each row whose steps of the CDF are known one by one, beside the
#: smallest count: all probable ones of a Poisson law with a mean up to 5. Of wider laws the
#: steps that are left out are so small that functions of normal scores hardly change there.
WINDOW = 16
#: Counts are not followed beyond this value of all CDFs.
NO_MORE_COUNTS = 1.0 - 1e-9
#: A stretch of counts that no row has with this probability counts as a single step.
NEGLIGIBLE_STRETCH = 1e-9


@dataclass(frozen=True, eq=False)
class CountCellResiduals(CellResiduals):
    """Counts with known probabilities, in cells of location and scale of the law.

    What ``standardize="none"`` asks for, and all that can be done with ratios.
    """

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> CellResiduals:
        compared = cls.from_cells(law, sample, full=False)
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

    def count_steps(self, law: Law, y: FloatArray) -> StepCdf:
        """Return the CDF of the counts y (n,), by the law or by its probabilities."""
        if law.can("cdf"):
            return steps_of_counts(law, y)
        outcomes = self.known_outcomes
        return StepCdf.from_probabilities(outcomes.probabilities, outcomes.observed)


@dataclass(frozen=True, eq=False)
class CountResiduals(SteppedResiduals, CountCellResiduals):
    """Counts with a CDF, by their randomised PIT."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        assert isinstance(law, Discrete)
        steps = steps_of_counts(law, sample.y[:, 0])
        return cls.from_cells(
            law, sample, full=True, steps=steps, mean_scale=mean_scale_of(steps)
        )

    @property
    def cell_count(self) -> int:
        return int(self.values.shape[1])

    def count_steps(self, law: Law, y: FloatArray) -> StepCdf:
        return self.steps


@dataclass(frozen=True, eq=False)
class RatioResiduals(CellResiduals):
    """Counts of which only ratios p(y+1)/p(y) are known: a difference Stein operator."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        return cls.from_cells(law, sample, full=True)

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(np.asarray(self.values))


def steps_of_counts(law: Law, y: FloatArray) -> StepCdf:
    """Return the CDF of n rows: at y, at the smallest count, and in a window of counts.

    Of two windows, around the location and from the smallest count on, a row has the more
    probable one: an overdispersed law is most probable far below its mean.
    """
    n = len(y)
    smallest = _smallest_counts(law, n)
    location = np.broadcast_to(law.location_scale()[0][:, 0], n)
    around = np.maximum(np.floor(location) - WINDOW // 2, smallest + 1.0)
    from_smallest = np.where(np.isfinite(smallest), smallest + 1.0, around)
    first = from_smallest
    if not np.array_equal(around, from_smallest):
        is_around = _window_probability(law, around) > _window_probability(law, first)
        first = np.where(is_around, around, from_smallest)

    has_smallest = np.isfinite(smallest)
    at_smallest = law.cdf(np.where(has_smallest, smallest, first))
    edges = [np.where(has_smallest, at_smallest, 0.0), law.cdf(first - 1.0)]
    for k in range(WINDOW):
        edges.append(law.cdf(first + k))
        if (edges[-1] >= NO_MORE_COUNTS).all():
            break
    # Rounding may leave a CDF a little above 1, or make it decrease.
    values = np.clip(np.maximum.accumulate(np.column_stack(edges), axis=1), 0.0, 1.0)
    lower = np.clip(law.cdf(y - 1.0), 0.0, 1.0)
    below_window = float((values[:, 1] - values[:, 0]).max())
    above_window = float((1.0 - values[:, -1]).max())
    stretches = {1: below_window, values.shape[1]: above_window}
    steps = StepCdf(
        lower=lower,
        upper=np.clip(law.cdf(y), lower, 1.0),
        edges=values,
        stretches=tuple(
            number for number, p in stretches.items() if not p < NEGLIGIBLE_STRETCH
        ),
    )
    is_broken = ~(np.isfinite(steps.upper) & np.isfinite(steps.edges).all(axis=1))
    refuse_rows(
        is_broken, f"{law.name} has no finite CDF", "Check the model there.", NumericalError
    )
    return steps


def _smallest_counts(law: Law, n: int) -> FloatArray:
    """Return the smallest count of each row, (n,); −∞ where there is none."""
    # The support of a law of counts is open: it ends one below the smallest count.
    low = np.asarray(law.support[0], dtype=np.float64)
    return np.array(np.broadcast_to(low.reshape(-1) + 1.0, n))


def _window_probability(law: Law, first: FloatArray) -> FloatArray:
    """Return the probability of the counts of a window from `first` (n,) on, (n,)."""
    return np.asarray(law.cdf(first + (WINDOW - 1.0)) - law.cdf(first - 1.0))
