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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray
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
    #: Further draws of the same, (K, r), by which statistics are scaled and ranked; None
    #: where they are scaled and ranked among the draws themselves.
    reference: FloatArray | None = None

    def plus(self, name: str, statistic: float, draws: FloatArray) -> NullDraws:
        """Return these with one more statistic, whose rounding does not matter."""
        return replace(
            self,
            statistics=np.append(self.statistics, statistic),
            draws=np.vstack([self.draws, draws]),
            sizes=np.append(self.sizes, 0.0),
            additional={**self.additional, name: len(self.statistics)},
        )

    def beside(
        self, names: tuple[str, ...], statistics: FloatArray, draws: FloatArray
    ) -> NullDraws:
        """Return these with further statistics (s,), and draws of them, (s, m)."""
        drawn = self
        for name, statistic, own in zip(names, statistics, draws, strict=True):
            drawn = drawn.plus(name, float(statistic), own)
        return drawn

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


@dataclass(frozen=True)
class Reference:
    """Draws by which statistics are scaled and ranked: the same for every user's seed."""

    count: int  #: Their number.
    seed: Seed  #: A hash of the data (`condgof.stein.RowsInMemory.content_seed`).


class DrawnStatistics(NamedTuple):
    """Statistics of residuals, and what computes them of m draws."""

    observed: FloatArray  #: Of the data, (s,).
    #: From what a null draws for each row (or its numbers of whole samples) to the
    #: statistics of m draws, (s, m).
    evaluate: Callable[[AnyArray], FloatArray]


class OwnDraws(NamedTuple):
    """Statistics of residuals, with draws that nothing else has."""

    observed: FloatArray  #: Of the data, (s,).
    draws: FloatArray  #: (s, m).


class BesideStatistics(Protocol):
    """Statistics of residuals that are no sums of a plan, and are drawn beside them.

    Where a null draws rows one by one, they are computed from the very y, signs or whole
    samples that it draws for its sums, so that a column of `NullDraws.draws` is one sample.
    Where it draws sums over many rows, they have m draws of their own.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the statistics, s of them."""

    def by_resampling(self) -> DrawnStatistics | None:
        """Compute them from `condgof.residuals.Resampled.drawn`, (n, m, …).

        None where y of all rows cannot be resampled.
        """

    def by_signs(self) -> DrawnStatistics:
        """Compute them from random signs of rows, (n, m)."""

    def by_replicates(self) -> DrawnStatistics:
        """Compute them from the numbers of whole samples in place of y, (m,)."""

    def own_resampling(self, m: int, seed: Seed, engine: Engine) -> OwnDraws:
        """Resample y by itself."""

    def own_signs(self, m: int, seed: Seed, engine: Engine) -> OwnDraws:
        """Draw random signs by itself."""


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
        self,
        plan: Plan,
        rows: TestedRows,
        m: int,
        seed: Seed,
        engine: Engine,
        beside: BesideStatistics | None = None,
        reference: Reference | None = None,
    ) -> NullDraws:
        """Compute all statistics of the data, and m draws of them.

        `beside` are further statistics, and `reference` are further draws of all of them.
        """


def draw_twice(
    draw_by: Callable[[int, Seed], NullDraws],
    m: int,
    seed: Seed,
    reference: Reference | None,
) -> NullDraws:
    """Draw m times by `seed`, and the reference draws by their own seed.

    `draw_by` makes draws from their number and a seed; what does not depend on the seed is
    computed before, once.
    """
    drawn = draw_by(m, seed)
    if reference is None:
        return drawn
    others = draw_by(reference.count, reference.seed)
    return replace(drawn, reference=others.draws)


def with_own_resampling(
    drawn: NullDraws, beside: BesideStatistics | None, m: int, seed: Seed, engine: Engine
) -> NullDraws:
    """Add statistics whose y is resampled by themselves, if there are any."""
    if beside is None:
        return drawn
    own = beside.own_resampling(m, seed, engine)
    return drawn.beside(beside.names, own.observed, own.draws)


def with_own_signs(
    drawn: NullDraws, beside: BesideStatistics | None, m: int, seed: Seed, engine: Engine
) -> NullDraws:
    """Add statistics that draw random signs by themselves, if there are any."""
    if beside is None:
        return drawn
    own = beside.own_signs(m, seed, engine)
    return drawn.beside(beside.names, own.observed, own.draws)


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
