"""Replicates: whole samples that the model could have given in place of y.

Rows of a replicate are drawn together, so that a statistic of it has the null distribution
whatever rows have in common: the parameters of a posterior draw, or the fits of folds.

- *Draws.* If y is drawn from the same joint predictive distribution as each of S draws,
  vectors over all rows, then y and its draws are exchangeable. Each draw takes the place of
  y and is compared with y and the other draws in the same way, z by z. The rank of a
  statistic of y among those of the draws is uniform, exactly and for any S.
- *Common noise.* Draws that have the same order in every row, such as m(x) + e with one
  vector e for all rows, say nothing of how rows of y go together. If rows of y are
  independent, ranks of y are those of n uniform numbers among the same S uniform numbers,
  which are drawn.
- *Refits.* `crossfit` draws y from a fit to all rows, and fits all folds again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.laws import Draws, Law, LooDraws, Refit, VectorDraws, common_precision
from condgof.residuals._choose import numbered
from condgof.residuals._continuous import NormalScoreResiduals
from condgof.residuals._residuals import Residuals
from condgof.residuals._several import RankResiduals
from condgof.residuals._together import Together, draws_together
from condgof.sample import Column, Sample, Seed, Use

#: Rows whose draws are ranked at a time. Changing it changes results.
RANKED_ROWS = 1024
#: Normal scores of draws that are held, in numbers: fewer draws serve for many rows.
HELD_NUMBERS = 2**26
#: Fewest draws that serve, however many rows there are.
LEAST_DRAWS = 199
#: Rows whose orders of draws are compared, and the fewest draws of which it is no chance
#: that all orders are the same.
ORDERED_ROWS = 64
LEAST_ORDERED = 5
#: Samples of rows with common noise are drawn, at most this many.
MOST_COMMON = 1_000_000
#: What is said of draws whose rows move together.
TOGETHER = (
    "draws of different rows move together, as where they share estimated parameters: y is"
    " compared with {count:,} whole draws, so that p-values are at least"
    " {least:.2g}"
)
#: What is said where one noise vector serves all rows.
COMMON_NOISE = (
    "draws have the same order in every row: one vector of random numbers was added to all"
    " of them, and y is compared with samples whose rows share their draws too. Draws with"
    " noise of their own in each row tell more"
)
#: What is said where draws of all rows are nearly the same.
NEARLY_COMMON = (
    "draws of all rows have nearly the same noise: if one vector of random numbers was"
    " added to every row, a rejection says nothing; draw noise for each row"
)
#: What is said of refits.
REFITTED = (
    "p-values are among {count:,} samples drawn from a fit to all rows, all folds fitted"
    " again: the error of the estimates does not count"
)


class Replicate(NamedTuple):
    """A whole sample, compared with its law."""

    law: Law
    residuals: Residuals
    #: x and the replicate's own y; None where residuals are all that is known of it.
    sample: Sample | None = None


class Replicates(ABC):
    """Whole samples under the null hypothesis, each compared with its law."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are."""

    @abstractmethod
    def replicate(self, number: int) -> Replicate:
        """Return a replicate of all n rows, by its number from 0 on."""

    @abstractmethod
    def take(self, rows: IntArray) -> Replicates:
        """Return some rows of each."""

    @abstractmethod
    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        """Whether rows have to be drawn together; y itself has no part in the answer."""

    @abstractmethod
    def notes(self, used: int) -> tuple[str, ...]:
        """Say what a null of so many replicates is."""


@dataclass(frozen=True, eq=False)
class DrawReplicates(Replicates):
    """Draws of one column of y, each in the place of y."""

    law: Draws
    y: FloatArray  #: (n, 1).
    residuals: NormalScoreResiduals  #: Of y itself.

    @property
    def count(self) -> int:
        n, draws = self.law.values.shape
        return int(min(draws, max(LEAST_DRAWS, HELD_NUMBERS // n)))

    def replicate(self, number: int) -> Replicate:
        z = self._scores[:, [number]].astype(np.float64)
        return Replicate(self.law, replace(self.residuals, u=z, scores=-z))

    def take(self, rows: IntArray) -> DrawReplicates:
        return DrawReplicates(
            law=self.law.take(rows),
            y=self.y[rows],
            residuals=self.residuals.take(rows),
        )

    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        return self._together(x, columns).is_certain

    def _together(self, x: FloatArray, columns: tuple[Column, ...]) -> Together:
        return draws_together(self.law.values, x, columns)

    def notes(self, used: int) -> tuple[str, ...]:
        return notes_of_draws(self.law.values, used)

    @cached_property
    def _scores(self) -> SingleArray:
        """Normal scores of each draw among y and the other draws, (n, count)."""
        n, draws = self.law.values.shape
        chosen = spread_order(draws)[: self.count]
        scores = np.empty((n, len(chosen)), dtype=np.float32)
        for start in range(0, n, RANKED_ROWS):
            rows = slice(start, min(start + RANKED_ROWS, n))
            values, y = common_precision(self.law.values[rows], self.y[rows])
            candidates = np.concatenate([values, y], axis=1)
            rng = Seed(self.law.seed).stream(Use.RANKS, start, 1)
            ranks = random_ranks(candidates, chosen, rng)
            scores[rows] = ndtri(ranks / (draws + 1.0))
        return scores


def random_ranks(
    candidates: FloatArray, chosen: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return #{others below} + W·(1 + #{others equal}) of some candidates, W uniform.

    Parameters
    ----------
    candidates : ndarray of shape (n, m)
        They are ranked within each row.
    chosen : ndarray of int, shape (c,)
        The candidates whose ranks are returned, between 0 and m, (n, c).
    """
    ordered = np.sort(candidates, axis=1)
    ranks = np.empty((len(candidates), len(chosen)))
    for row, in_order, values in zip(ranks, ordered, candidates[:, chosen], strict=True):
        below = np.searchsorted(in_order, values, side="left")
        row[:] = np.searchsorted(in_order, values, side="right") - below
        row *= rng.random(len(chosen))
        row += below
    # W = 0 would be a rank of 0, and Φ⁻¹ of it infinite.
    return np.maximum(ranks, 1e-9)


def spread_order(count: int) -> IntArray:
    """Return 0, …, count − 1 in an order whose every beginning is spread evenly.

    Neighbours in a Markov chain are alike; so are its ends not.
    """
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    return np.argsort(np.arange(count) * golden % 1.0, kind="stable")


def notes_of_draws(values: AnyArray, used: int) -> tuple[str, ...]:
    """Say that rows of draws move together, and how coarse p-values are."""
    notes = [TOGETHER.format(count=used, least=1.0 / (used + 1))]
    nothing = np.empty((len(values), 0))
    if draws_together(values, nothing, ()).is_one_noise:
        notes.append(NEARLY_COMMON)
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class CommonNoiseReplicates(Replicates):
    """Independent rows of y, ranked among the same draws in every row."""

    law: Draws
    residuals: NormalScoreResiduals  #: Of y itself.

    @property
    def count(self) -> int:
        return MOST_COMMON

    def replicate(self, number: int) -> Replicate:
        n, draws = self.law.values.shape
        rng = Seed(self.law.seed).stream(Use.RANKS, number, 2)
        below = np.searchsorted(np.sort(rng.random(draws)), rng.random(n))
        z = ndtri((below + rng.uniform(1e-9, 1.0, n)) / (draws + 1.0))[:, None]
        return Replicate(self.law, replace(self.residuals, u=z, scores=-z))

    def take(self, rows: IntArray) -> CommonNoiseReplicates:
        return CommonNoiseReplicates(self.law.take(rows), self.residuals.take(rows))

    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        return True

    def notes(self, used: int) -> tuple[str, ...]:
        return (COMMON_NOISE,)


def have_common_noise(draws: AnyArray) -> bool:
    """Whether draws (n, S) have the same order in every row, of which some are asked."""
    n, count = draws.shape
    if n < 2 or count < LEAST_ORDERED:
        return False
    rows = np.unique(np.linspace(0, n - 1, min(n, ORDERED_ROWS)).astype(np.int64))
    order = np.argsort(draws[rows[0]], kind="stable")
    steps = np.diff(np.asarray(draws[rows][:, order], dtype=np.float64), axis=1)
    return bool((steps >= 0).all() and (steps > 0).any(axis=1).all())


def are_sorted(draws: AnyArray) -> bool:
    """Whether draws (n, S) rise, or fall, within every row, of which some are asked.

    Columns are then ranks and no draws of all rows: what rows have in common is not known.
    """
    n, count = draws.shape
    if count < 2:
        return True
    rows = np.unique(np.linspace(0, n - 1, min(n, ORDERED_ROWS)).astype(np.int64))
    steps = np.diff(np.asarray(draws[rows], dtype=np.float64), axis=1)
    return bool((steps >= 0).all() or (steps <= 0).all())


@dataclass(frozen=True, eq=False)
class RankReplicates(Replicates):
    """Draws of several columns of y, each in the place of y in all rows."""

    law: VectorDraws
    residuals: RankResiduals  #: Of y itself, which hold the ranks of all candidates.

    @property
    def count(self) -> int:
        return int(self.law.values.shape[1])

    def replicate(self, number: int) -> Replicate:
        outcomes = self.residuals.rank_outcomes
        code = 1 + int(spread_order(self.count)[number])
        ranks = np.asarray(outcomes.ranks[:, code, : outcomes.columns], dtype=np.float64)
        residuals = replace(
            self.residuals,
            u=ndtri(ranks),
            values=outcomes.residuals(np.full(self.residuals.n, code)),
            outcomes=outcomes.at(code),
        )
        return Replicate(self.law, residuals)

    def take(self, rows: IntArray) -> RankReplicates:
        return RankReplicates(self.law.take(rows), self.residuals.take(rows))

    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        return draws_together(self.law.values, x, columns).is_certain

    def notes(self, used: int) -> tuple[str, ...]:
        return notes_of_draws(self.law.values, used)


@dataclass(frozen=True, eq=False)
class RefitReplicates(Replicates):
    """Samples drawn from a fit to all rows, under laws of folds that were fitted again."""

    refits: tuple[Refit, ...]
    sample: Sample
    kind: type[Residuals]

    @property
    def count(self) -> int:
        return len(self.refits)

    def replicate(self, number: int) -> Replicate:
        refit = self.refits[number]
        sample = self.sample.with_y(refit.y)
        law = refit.law.facing(sample.y_given)
        sample = numbered(law, sample)
        return Replicate(law, self.kind.from_law(law, sample), sample)

    def take(self, rows: IntArray) -> RefitReplicates:
        refits = tuple(Refit(one.law.take(rows), one.y[rows]) for one in self.refits)
        return RefitReplicates(refits, self.sample.take(rows), self.kind)

    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        return True

    def notes(self, used: int) -> tuple[str, ...]:
        return (REFITTED.format(count=used),)


@dataclass(frozen=True, eq=False)
class LooReplicates(Replicates):
    """Leave-one-out normal scores of samples from the model, which share one fit."""

    law: LooDraws
    residuals: NormalScoreResiduals  #: Of y itself.

    @property
    def count(self) -> int:
        return MOST_COMMON

    def replicate(self, number: int) -> Replicate:
        rng = Seed(self.law.seed).stream(Use.RANKS, number, 3)
        z = self.law.replicate_scores(rng)[:, None]
        return Replicate(self.law, replace(self.residuals, u=z, scores=-z))

    def take(self, rows: IntArray) -> LooReplicates:
        return LooReplicates(self.law.take(rows), self.residuals.take(rows))

    def are_needed(self, x: FloatArray, columns: tuple[Column, ...]) -> bool:
        return True

    def notes(self, used: int) -> tuple[str, ...]:
        return ()


def replicates_of(law: Law, sample: Sample, residuals: Residuals) -> Replicates | None:
    """Return whole samples in place of y, where a law knows of any."""
    if law.refits:
        return RefitReplicates(law.refits, sample, type(residuals))
    return _replicates_of_draws(residuals, law, sample)


@singledispatch
def _replicates_of_draws(
    residuals: Residuals, law: Law, sample: Sample
) -> Replicates | None:
    return None


@_replicates_of_draws.register
def _(residuals: NormalScoreResiduals, law: Law, sample: Sample) -> Replicates | None:
    if isinstance(law, LooDraws):
        return LooReplicates(law, residuals)
    if not isinstance(law, Draws) or are_sorted(law.values):
        return None
    if have_common_noise(law.values):
        return CommonNoiseReplicates(law, residuals)
    return DrawReplicates(law, sample.y, residuals)


@_replicates_of_draws.register
def _(residuals: RankResiduals, law: Law, sample: Sample) -> Replicates | None:
    if not isinstance(law, VectorDraws):
        return None
    if any(are_sorted(column) for column in np.moveaxis(law.values, 2, 0)):
        return None
    return RankReplicates(law, residuals)
