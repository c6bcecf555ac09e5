"""Statistics of the data, and draws of them under the null hypothesis.

A null is an object with a label and one method that draws:

- `Resample`: where y can be drawn given x, so can the test functions. Statistics of the
  data and of the draws are the same functions, with an exact null distribution at any n.
- `JointDraws`: where rows of a draw share an error (estimated parameters), whole draws take
  the place of y.
- `GaussianLimit`: normal scores are independent of x, so that vec(Fᵀξ) → N(0, (FᵀF)⊗C).
- `RecombinedResample`: y of many rows is resampled some times in each stratum of rows.
- `RowSigns`, `BlockSigns`, `ParcelSigns`: where only scores are known, or rows depend on
  each other, rows (or blocks or groups of them) get random signs.

`choose_nulls` decides which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.null._bootstrap import settle_ties
from condgof.null._dependence import Dependence
from condgof.residuals import Resampler, TestFunctions
from condgof.sample import Seed
from condgof.stein import Plan, Rows, RowsInMemory

#: What single precision leaves of a difference, as a share of its terms.
SINGLE_ROUNDING = 1e-7
#: The same of double precision.
DOUBLE_ROUNDING = 1e-13
#: Relative rounding error of probabilities; it grows with the number of rows.
PROBABILITY_ROUNDING = 2e-9
#: Draws as near as this to a sum, as a share of its terms, are the sum itself.
SAME_SUM = 1e-6


@dataclass(frozen=True, eq=False)
class NullDraws:
    """Statistics of the data and their draws under the null hypothesis."""

    statistics: FloatArray  #: Σ_{i≠j} of each, then the additional ones, (K,).
    draws: FloatArray  #: Draws of the same, (K, m); those of a column are drawn together.
    #: The size of the terms of each sum, (K,): rounding is relative to it.
    sizes: FloatArray
    #: Numbers of statistics that are not made of features and test functions, by name.
    additional: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)  #: What a result says of them.

    def plus(self, name: str, statistic: float, draws: FloatArray) -> NullDraws:
        """Return these with one more statistic, whose rounding does not matter."""
        return replace(
            self,
            statistics=np.append(self.statistics, statistic),
            draws=np.vstack([self.draws, draws]),
            sizes=np.append(self.sizes, 0.0),
            additional={**self.additional, name: len(self.statistics)},
        )

    def first(self, n: int) -> FirstStatistic:
        """Return the first statistic, that of a plan with a single one, of n rows.

        Its sum is returned as it is, and its draws are divided by n − 1. Draws that differ
        from the sum by rounding alone are made equal to it.
        """
        total = float(self.statistics[0])
        within = SAME_SUM * (abs(total) + float(self.sizes[0]))
        draws = settle_ties(total, self.draws[0], within) / (n - 1)
        return FirstStatistic(total=total, draws=draws)


@dataclass(frozen=True, eq=False)
class FirstStatistic:
    """The off-diagonal sum of a Stein matrix, and draws of the statistic."""

    total: float  #: Σ_{i≠j} H_ij.
    draws: FloatArray  #: Draws of Σ_{i≠j} H_ij/(n − 1), (m,).


class TestedRows(Rows, Protocol):
    """All rows of a test, in memory or in a stream."""

    @property
    def n(self) -> int:
        """Number of rows that count."""

    @property
    def is_stream(self) -> bool:
        """Whether rows are read in pieces, so that not all are at hand."""

    @property
    def can_resample(self) -> bool:
        """Whether y of all rows can be drawn from the law."""

    def resampler(self, test_functions: TestFunctions, seed: Seed) -> Resampler:
        """Return what draws y of all rows in memory again."""

    @property
    def are_drawn_together(self) -> bool:
        """Whether rows share an error, so that y is compared with whole replicates."""

    @property
    def subsample(self) -> RowsInMemory:
        """Some rows in memory, all of them where they are few."""


class Null(Protocol):
    """How statistics are drawn under the null hypothesis."""

    @property
    def label(self) -> str:
        """What results call it."""

    @property
    def solver(self) -> str:
        """What `adaptive` reports as the solver.

        "exact" where y of all rows is resampled in every draw, else "lowrank".
        """

    @property
    def dependence(self) -> Dependence:
        """How rows depend on each other, as far as this null goes by it."""

    def draw(
        self, plan: Plan, rows: TestedRows, m: int, seed: Seed, engine: Engine
    ) -> NullDraws:
        """Compute all statistics of the data, and m draws of them."""


def settle(difference: FloatArray, size: FloatArray, rounding: float) -> FloatArray:
    """Make a difference 0 where it is rounding, whose sign would decide which is larger."""
    return np.where(np.abs(difference) <= rounding * np.asarray(size), 0.0, difference)


def term_sizes(diagonal: FloatArray, draws: FloatArray, n: int) -> FloatArray:
    """Return the size of sums over n rows, (K,), from their diagonal and draws (K, m).

    Where nothing rare happened, in the data as in the draws, residuals are tiny and of one
    sign, and the last digits of probabilities alone make sums differ: they must not decide.
    """
    size = diagonal + np.median(np.abs(draws), axis=1)
    return np.asarray(size + PROBABILITY_ROUNDING * n * np.sqrt(size))
