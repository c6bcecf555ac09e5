"""Staged gains: what steps in single columns gain, taken off one after the other.

A family of the verdict, sharp where a misfit is a sum of parts of several columns: a tree,
a corner, a category here and a threshold there.

Let ψ_k be signals, of mean 0 and variance v_k given x under the law. Adding δ·ψ_k to the
log density in a cell of rows changes the log score by about Σ (δψ − ½δ²v). With S = Σ ψ and
V = Σ v over the cell, δ = κS/V, and κ = V/(V + λ) as shrinkage, it gains

    g = (κ − κ²/2)·S²/V − κ

on new rows, up to a term of mean 0: (κ − κ²/2)·S²/V is what it gains on these rows, and κ
is how much of that comes from having learned δ on them. A *step function* has a δ in each
of its cells and gains the sum over them. Candidates are

- the constant: one cell;
- a step in a column: two cells, the bins up to one and those above it; of categories, one
  category and all others;
- a column: one cell for each of its bins.

For each signal by itself, the constant or step that gains most is taken off in each stage,
ψ ← ψ − δ·v. The statistics are the total gains of 1, 3 and 6 stages, and the largest gain
of a column, which sees what has many steps in one column; each is the largest over signals.
Signals of a kind that is rarely a function of a column (skew and tails) have to gain more.

All of it is a function of the sums of ψ over bins, and of the Gram matrix of the bins, the
sums of v over the rows that two bins have in common: no row is touched after the sums. So
all draws go through the stages together (docs/dev/staged-gains.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.check._axes import MAX_CATEGORIES, Axis
from condgof.check._certain import CertainRows
from condgof.check.kinds import Signals
from condgof.engine import Engine
from condgof.methods import STAGED_GAINS
from condgof.null import DrawnStatistics, OwnDraws
from condgof.sample import KeyArray, Seed, Use, rows_by_content

#: Quantile bins of a column. With 12 to 20 of them power is the same.
BINS = 12
#: Rows of mean ψ = 0 that each cell is shrunk by: λ, in units of the mean variance.
SHRINKAGE = 20.0
#: The least λ of a discrete y: one event in a cell that expects none gains at most ½.
LEAST_SHRINKAGE = 1.0
#: Stages after which the total gain is a statistic, in the order of `STAGED_GAINS`.
STAGES = (1, 3, 6)
#: What a signal of a kind that is rarely a function of a column has to gain first, in nats.
RARE_KIND_COST = 3.0
#: Samples of fewer rows have no such family.
LEAST_ROWS = 50
#: Fewest rows of a bin and of either side of a step, where the law of y is known.
LEAST_CELL = 10
#: The same where it is not: random signs are for sums that are nearly normal.
LEAST_SIGNED_CELL = 50
#: With random signs, the variance of a cell is at least that of this many average rows, or
#: of all its rows if it has fewer.
FEW_ROWS = 100
#: Most bins of all columns together: the Gram matrix has their number squared.
MOST_BINS = 2048
#: Most columns; of more, predictions and the first columns of x.
MOST_COLUMNS = MOST_BINS // 2
#: Most numbers of all Gram matrices: where each signal would have one of its own and there
#: are more, the variance of a signal is taken to be the same in all rows.
GRAM_NUMBERS = 2**24
#: Most codes of bins, rows times columns; of more rows, a choice by x.
MOST_CODES = 2**24
#: Most rows.
MOST_ROWS = 100_000
#: Rows whose y is resampled where the verdict does not resample rows one by one.
RESAMPLED_ROWS = 4096
#: Most units of rows that get random signs where there are many rows.
SIGN_UNITS = 2048
#: Draws at a time.
CHUNK = 32
# Uses of random numbers in a check; 20 to 26 are in other modules.
#: Which rows are searched.
SEARCHED_STREAM = 27
#: Which rows are resampled.
RESAMPLED_STREAM = 28
#: The resampled y.
DRAWN_STREAM = 29
#: Which rows share a random sign.
UNITS_STREAM = 30
#: The random signs.
SIGNS_STREAM = 31
#: The variance of a cell is at least this share of the largest: cells without rows, whose
#: sums are rounding, gain nothing.
SMALLEST_SHARE = 1e-9
#: What takes the place of 0 in a denominator.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of all columns, numbered one column after the other; B of them."""

    codes: IntArray  #: The bin of each row in each column, (columns, n).
    starts: IntArray  #: The first bin of each column, (columns,).
    has_order: AnyArray  #: Whether the bins of each column have an order, (columns,).
    count: int  #: B.

    @classmethod
    def from_axes(cls, axes: Sequence[Axis], rows: IntArray, least: int) -> Bins | None:
        """Cut columns into bins of at least about `least` rows; None without columns."""
        some = sorted(axes, key=lambda axis: not axis.predicted)[:MOST_COLUMNS]
        share = MOST_BINS // max(len(some), 1)
        bins = max(2, min(BINS, len(rows) // least, share))
        codes = []
        starts = []
        has_order = []
        count = 0
        for axis in some:
            is_ordered = axis.kind not in ("levels", "two")
            if is_ordered:
                own = quantile_codes(axis.values[rows], bins)
            else:
                most = max(2, min(MAX_CATEGORIES, share))
                own = category_codes(axis.values[rows].astype(np.int64), most, least)
            width = int(own.max()) + 1
            if width > 1:
                codes.append(own + count)
                starts.append(count)
                has_order.append(is_ordered)
                count += width
        if not codes:
            return None
        return cls(
            codes=np.array(codes),
            starts=np.array(starts),
            has_order=np.array(has_order),
            count=count,
        )

    @cached_property
    def columns(self) -> IntArray:
        """The column of each bin, (B,)."""
        marks = np.zeros(self.count, dtype=np.int64)
        marks[self.starts[1:]] = 1
        return np.cumsum(marks)

    @cached_property
    def ends(self) -> IntArray:
        """The last bin of each column, (columns,)."""
        return np.append(self.starts[1:], self.count) - 1

    @cached_property
    def is_ordered(self) -> AnyArray:
        """Whether each bin is of a column with an order, (B,)."""
        return self.has_order[self.columns]

    def left(self, sums: FloatArray) -> FloatArray:
        """Return sums over the first side of each step from those over bins, (B, …).

        Step b has the bins of its column up to b on the first side, and of categories b
        alone.
        """
        running = np.cumsum(sums, axis=0)
        before = np.zeros((len(self.starts), *sums.shape[1:]))
        before[1:] = running[self.ends[:-1]]
        up_to = running - before[self.columns]
        if self.has_order.all():
            return up_to
        up_to[~self.is_ordered] = sums[~self.is_ordered]
        return up_to

    def totals(self, sums: FloatArray) -> FloatArray:
        """Return sums over all bins of each column from those over bins, (columns, …)."""
        return np.asarray(np.add.reduceat(sums, self.starts, axis=0))

    def sum_over(self, values: FloatArray) -> FloatArray:
        """Return sums over bins of values (n, K), (B, K)."""
        sums = np.zeros((self.count, values.shape[1]))
        for own in self.codes:
            for k, column in enumerate(values.T):
                sums[:, k] += np.bincount(own, column, self.count)
        return sums

    def indicator(self, rows: IntArray) -> SingleArray:
        """Return which bins some rows (r,) are in, (r, B)."""
        matrix = np.zeros((len(rows), self.count), dtype=np.float32)
        for own in self.codes:
            matrix[np.arange(len(rows)), own[rows]] = 1.0
        return matrix


def quantile_codes(values: FloatArray, bins: int) -> IntArray:
    """Cut numbers (n,) into at most `bins` bins of about equal size, (n,)."""
    ordered = np.sort(values)
    distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    cuts = distinct[1:]
    if len(distinct) > bins:
        cuts = np.unique(ordered[np.arange(1, bins) * len(values) // bins])
        cuts = cuts[cuts > ordered[0]]
    return np.searchsorted(cuts, values, side="right")


def category_codes(places: IntArray, most: int, least: int) -> IntArray:
    """Return a bin for each large category of n rows, and one for all others, (n,).

    At most `most` bins; a category of its own has at least `least` rows.
    """
    sizes = np.bincount(places)
    largest = np.argsort(-sizes, kind="stable")
    kept = largest[sizes[largest] >= least]
    if len(kept) < np.count_nonzero(sizes):
        kept = kept[: most - 1]
    bin_of = np.full(len(sizes), len(kept))
    bin_of[np.sort(kept)] = np.arange(len(kept))
    return bin_of[places]


class Weights(NamedTuple):
    """Working variances w of signals: w_ik = rows[i, k]·factors[k].

    They are what a correction takes off, ψ_k − δ·w_k, for data and draws alike. `rows` has
    one column where w differs between rows in the same way for all signals.
    """

    rows: FloatArray  #: (n, K) or (n, 1).
    factors: FloatArray  #: (K,).

    @classmethod
    def from_variance(cls, variance: FloatArray, bins: int) -> Weights:
        """Take variances (n, K), or their means where the Gram matrices are too large."""
        is_constant = bool((variance == variance[:1]).all())
        if is_constant or variance.shape[1] * bins**2 > GRAM_NUMBERS:
            means = variance.mean(axis=0)
            return cls(rows=np.ones((len(variance), 1)), factors=np.maximum(means, TINY))
        return cls(rows=variance, factors=np.ones(variance.shape[1]))

    def take(self, rows: IntArray) -> Weights:
        return self._replace(rows=self.rows[rows])

    def sums(self, bins: Bins) -> FloatArray:
        """Return Σ w over bins, (B, K)."""
        return bins.sum_over(self.rows) * self.factors


@dataclass(frozen=True, eq=False)
class Scale:
    """What sums of signals over some cells are compared with, (cells, K) each."""

    weight: FloatArray  #: Σ w, in units of which δ is.
    variance: FloatArray  #: The variance of the sums.
    kept: FloatArray  #: κ, the part of a correction that shrinkage leaves.
    #: γ/(6√rows) of the skewness γ of signals whose law is not known; None: γ = 0.
    skewness: FloatArray | None = None

    @classmethod
    def from_cells(
        cls,
        weight: FloatArray,
        shrinkage: FloatArray,
        variance: FloatArray | None = None,
        skewness: FloatArray | None = None,
    ) -> Scale:
        """Scale by Σ w (cells, K), or by another variance, with λ (K,)."""
        weight = np.maximum(weight, SMALLEST_SHARE * weight.max() + TINY)
        variance = weight if variance is None else np.maximum(variance, weight.min())
        kept = variance / (variance + shrinkage)
        return cls(weight=weight, variance=variance, kept=kept, skewness=skewness)

    def gain(self, sums: FloatArray, signed: bool = False) -> FloatArray:
        """Return the gains of m samples from sums over cells, both (cells, m, K)."""
        squares = np.square(sums)
        if self.skewness is None:
            squares *= self._rate[:, None]
        else:
            a = self.skewness[:, None]
            z = np.sqrt(squares / self.variance[:, None]) * np.sign(sums)
            squares = np.square(without_skewness(z, a, longer=signed))
            squares *= (self._rate * self.variance)[:, None]
        squares -= self.kept[:, None]
        return squares

    @cached_property
    def _rate(self) -> FloatArray:
        """The gain of a sum of 1, before κ is taken off: (κ − κ²/2)/variance."""
        return np.asarray((self.kept - 0.5 * np.square(self.kept)) / self.variance)

    def correction(self, cell: IntArray, sums: FloatArray) -> FloatArray:
        """Return δ in a cell of each sample and signal, with these sums; all (m, K)."""
        signal = np.arange(cell.shape[1])
        return np.asarray(self.kept[cell, signal] * sums / self.weight[cell, signal])


def without_skewness(z: FloatArray, a: FloatArray, longer: bool) -> FloatArray:
    """Take the skewness off sums z that are divided by their own root of squares.

    Such a sum of m terms of skewness γ has about the skewness −2γ/√m, which random signs do
    not have: z + 2az² + 4a²z³/3 + a with a = γ/(6√m), which always increases. With `longer`
    only the tail that becomes longer by that is moved: so are sums with signs, lest a
    correction too large rejects.
    """
    moved = z + a + 2.0 * a * z**2 + (4.0 / 3.0) * a**2 * z**3
    return np.where(a * z > 0.0, moved, z) if longer else moved


@dataclass(frozen=True, eq=False)
class Scales:
    """The scales of all cells of all candidates."""

    everywhere: Scale  #: Of all rows, one cell.
    first: Scale  #: Of the first side of each step, B cells.
    second: Scale  #: Of the other side.
    bins: Scale  #: Of bins, B cells.
    is_step: AnyArray  #: Which steps have enough rows on both sides, (B,).

    @classmethod
    def from_weights(
        cls, bins: Bins, weight: FloatArray, shrinkage: FloatArray, least: int
    ) -> Scales:
        """Take Σ w over bins (B, K) for the variance of sums."""
        left = bins.left(weight)
        whole = bins.totals(weight)[bins.columns]
        return cls(
            everywhere=Scale.from_cells(whole[:1], shrinkage),
            first=Scale.from_cells(left, shrinkage),
            second=Scale.from_cells(whole - left, shrinkage),
            bins=Scale.from_cells(weight, shrinkage),
            is_step=steps_of(bins, least),
        )


def steps_of(bins: Bins, least: int) -> AnyArray:
    """Return which steps have at least so many rows on both sides, (B,)."""
    rows = np.zeros(bins.count)
    for own in bins.codes:
        rows += np.bincount(own, minlength=bins.count)
    left = bins.left(rows)
    return np.asarray((left >= least) & (bins.codes.shape[1] - left >= least))


class Steps(NamedTuple):
    """Corrections of m samples for each signal, (m, K) each: δ on both sides of a step.

    A constant has the same δ on both sides of the first step.
    """

    step: IntArray  #: The bin b of the step.
    first: FloatArray  #: δ of the rows on its first side (`Bins.left`).
    second: FloatArray  #: δ of all other rows.


class SideSums(NamedTuple):
    """Sums of signals of m samples over the sides of steps."""

    left: FloatArray  #: Over the first side of each step (`Bins.left`), (B, m, K).
    whole: FloatArray  #: Over all rows, (m, K).

    @classmethod
    def from_bins(cls, bins: Bins, sums: FloatArray) -> SideSums:
        """Add up sums over bins, (B, m, K)."""
        return cls(left=bins.left(sums), whole=sums[: bins.ends[0] + 1].sum(axis=0))


class Gram(Protocol):
    """Sums of w over the rows that two bins have in common."""

    def explained(self, steps: Steps) -> SideSums:
        """Return what corrections take off the sums over the sides of all steps."""


@dataclass(frozen=True, eq=False)
class HeldGram:
    """Sums over what the sides of steps share are held: for many draws of few rows.

    A correction takes Σ_i w_i·δ_i off the first side of step b, over its rows. That is
    δ₂·Σ w over all of them, and δ₁ − δ₂ times Σ w over those that are on the first side of
    the step that is corrected.
    """

    #: Σ w over the rows on the first sides of two steps, (B, B): one a signal, or one.
    shared: list[SingleArray]
    rows: FloatArray  #: Σ w over the first side of each step, (B, len(shared)).
    total: FloatArray  #: Σ w over all rows, (len(shared),).
    factors: FloatArray  #: What each signal multiplies its matrix by, (K,).

    @classmethod
    def from_rows(
        cls,
        bins: Bins,
        indicator: SingleArray,
        weights: Weights,
        ratio: FloatArray | None = None,
    ) -> HeldGram:
        """Sum over rows with an indicator (r, B) of bins.

        `ratio` (B, K) is what the sums of each bin are multiplied by, if at all.
        """
        shared = []
        rows = []
        total = []
        for k, own in enumerate(weights.rows.T):
            rooted = indicator * np.sqrt(own, dtype=np.float32)[:, None]
            gram = (rooted.T @ rooted).astype(np.float64)  # (B, B), of bins
            if ratio is not None:
                gram *= ratio[:, [k]] * ratio[:, k]
            by_step = bins.left(gram)  # the first side of a step, with a bin
            of_column = by_step[:, : bins.ends[0] + 1].sum(axis=1)
            shared.append(bins.left(by_step.T).astype(np.float32))
            rows.append(of_column)
            total.append(bins.totals(gram)[0, : bins.ends[0] + 1].sum())
        return cls(
            shared=shared,
            rows=np.stack(rows, axis=1),
            total=np.array(total),
            factors=weights.factors,
        )

    def explained(self, steps: Steps) -> SideSums:
        difference = (steps.first - steps.second) * self.factors
        second = steps.second * self.factors
        if len(self.shared) == 1:
            left = np.take(self.shared[0], steps.step, axis=1) * difference
            on_first = self.rows[steps.step, 0]
        else:
            signals = np.arange(len(self.shared))
            columns = [
                np.take(self.shared[k], steps.step[:, k], axis=1) * difference[:, k]
                for k in signals
            ]
            left = np.stack(columns, axis=-1)
            on_first = self.rows[steps.step, signals]
        left += self.rows[:, None] * second
        return SideSums(left, whole=difference * on_first + second * self.total)


@dataclass(frozen=True, eq=False)
class CountedGram:
    """Rows are summed whenever a correction asks for it: for samples of many rows."""

    bins: Bins
    weights: Weights

    def explained(self, steps: Steps) -> SideSums:
        bins = self.bins
        samples, signals = steps.step.shape
        taken = np.empty((bins.count, samples, signals))
        for sample in range(samples):
            for k in range(signals):
                step = steps.step[sample, k]
                codes = bins.codes[bins.columns[step]]
                is_first = codes <= step if bins.is_ordered[step] else codes == step
                delta = np.where(is_first, steps.first[sample, k], steps.second[sample, k])
                own = self.weights.rows[:, min(k, self.weights.rows.shape[1] - 1)]
                taken[:, sample, k] = bins.sum_over((own * delta)[:, None])[:, 0]
        return SideSums.from_bins(bins, taken * self.weights.factors)


class _Best(NamedTuple):
    """The candidate that gains most in each of m samples and for each signal, (m, K)."""

    gain: FloatArray
    place: IntArray  #: 0 for the constant, b + 1 for step b.


def staged_gains(
    bins: Bins, scales: Scales, gram: Gram, sums: FloatArray, signed: bool = False
) -> FloatArray:
    """Return the gains of m samples for each signal, (len(STAGES) + 1, m, K).

    Parameters
    ----------
    bins, scales, gram
        The candidates, what sums are compared with, and what corrections take off.
    sums : ndarray of shape (B, m, K)
        Sums of the signals over bins.
    signed : bool
        Whether these are sums with random signs.
    """
    largest = bins.totals(scales.bins.gain(sums, signed)).max(axis=0)
    left, whole = SideSums.from_bins(bins, sums)
    total = np.zeros(sums.shape[1:])
    gains = []
    for stage in range(1, max(STAGES) + 1):
        right = whole - left
        best = _best_candidate(scales, whole[None], left, right, signed)
        total = total + best.gain
        if stage in STAGES:
            gains.append(total)
        if stage < max(STAGES):
            steps = _corrections(scales, best.place, whole, left, right)
            explained = gram.explained(steps)
            left = left - explained.left
            whole = whole - explained.whole
    return np.array([*gains, largest])


def _best_candidate(
    scales: Scales, whole: FloatArray, left: FloatArray, right: FloatArray, signed: bool
) -> _Best:
    """Return the best of the constant, with sums (1, m, K), and of steps, (B, m, K)."""
    gains = scales.first.gain(left, signed)
    gains += scales.second.gain(right, signed)
    gains[~scales.is_step] = -np.inf
    gains = np.concatenate([scales.everywhere.gain(whole, signed), gains])
    place = gains.argmax(axis=0)
    return _Best(np.take_along_axis(gains, place[None], axis=0)[0], place)


def _corrections(
    scales: Scales,
    place: IntArray,
    whole: FloatArray,
    left: FloatArray,
    right: FloatArray,
) -> Steps:
    """Return the corrections of the best candidates, whose `place` is that of `_Best`.

    Sums are (m, K) over all rows and (B, m, K) over the sides of steps.
    """
    is_constant = place == 0
    step = np.maximum(place - 1, 0)
    first = scales.first.correction(step, np.take_along_axis(left, step[None], 0)[0])
    second = scales.second.correction(step, np.take_along_axis(right, step[None], 0)[0])
    constant = scales.everywhere.correction(np.zeros_like(step), whole)
    return Steps(
        step=step,
        first=np.where(is_constant, constant, first),
        second=np.where(is_constant, constant, second),
    )


@dataclass(frozen=True, eq=False)
class StagedGains:
    """The statistics of a sample, under each null that a verdict may have."""

    bins: Bins
    signals: Signals  #: Of n rows.
    keys: KeyArray  #: What rows are chosen by where some are enough, (n,).
    #: The unit of each row, where rows depend on each other, (n,).
    units: IntArray | None
    least: int  #: Fewest rows of a side of a step.
    rows: IntArray  #: Which of all rows these are, (n,).
    names = STAGED_GAINS

    @classmethod
    def from_signals(
        cls,
        axes: tuple[Axis, ...],
        signals: Signals,
        keys: KeyArray,
        units: IntArray | None,
    ) -> StagedGains | None:
        """Cut the columns into bins; None without columns, or for few rows.

        `keys` (n,) are those of x (`Sample.content_keys`): of many rows, which are taken is
        decided by x alone. `units` (n,) are the units of rows that depend on each other.
        """
        n = len(signals.values)
        if n < LEAST_ROWS or not axes:
            return None
        most = min(MOST_ROWS, MOST_CODES // min(len(axes), MOST_COLUMNS))
        rows: IntArray = np.arange(n)
        if n > most:
            rows = rows_by_content(keys, most, SEARCHED_STREAM)
        is_signed = signals.variance is None or units is not None
        least = LEAST_SIGNED_CELL if is_signed else LEAST_CELL
        # As many of the rows that are resampled.
        least = max(least, math.ceil(LEAST_CELL * len(rows) / RESAMPLED_ROWS))
        least = min(least, n // 4)
        bins = Bins.from_axes(axes, rows, least)
        if bins is None:
            return None
        return cls(
            bins=bins,
            signals=signals if len(rows) == n else signals.take(rows),
            keys=keys[rows],
            units=None if units is None else units[rows],
            least=least,
            rows=rows,
        )

    @property
    def n(self) -> int:
        return len(self.signals.values)

    def observed(self) -> FloatArray:
        """Return the statistics of the data by the variances of the law, (4,)."""
        return self.of_sample(self.signals)

    def of_rows(self, signals: Signals) -> FloatArray:
        """Return the statistics of signals of all rows that there are, (4,)."""
        some = signals if len(signals.values) == self.n else signals.take(self.rows)
        return self.of_sample(some)

    def of_sample(self, signals: Signals) -> FloatArray:
        """Return the statistics of signals of the rows, with their own variances, (4,)."""
        weights = self._weights(signals)
        gram = CountedGram(self.bins, weights)
        sums = self.bins.sum_over(signals.values)[:, None]
        gains = staged_gains(self.bins, self._scales(weights), gram, sums)
        return self._largest(gains)[:, 0]

    def _largest(self, gains: FloatArray) -> FloatArray:
        """Return the largest of all signals, less their costs, (4, m) of (4, m, K)."""
        costs = np.full(gains.shape[2], RARE_KIND_COST)
        costs[: self.signals.common] = 0.0
        return np.asarray((gains - costs).max(axis=2))

    def _weights(self, signals: Signals) -> Weights:
        """Return working variances: those of the law, or else mean squares."""
        variance = signals.variance
        if variance is None:
            variance = np.broadcast_to(signals.square, signals.values.shape)
        return Weights.from_variance(np.asarray(variance), self.bins.count)

    def _scales(self, weights: Weights) -> Scales:
        return Scales.from_weights(
            self.bins, weights.sums(self.bins), self._shrinkage(weights), self.least
        )

    def _shrinkage(self, weights: Weights) -> FloatArray:
        """Return λ of each signal, (K,)."""
        shrinkage = SHRINKAGE * weights.rows.mean(axis=0) * weights.factors
        if self.signals.bound is not None:
            shrinkage = np.maximum(shrinkage, LEAST_SHRINKAGE)
        return np.asarray(shrinkage)

    # Resampled y.

    def by_resampling(self) -> DrawnStatistics | None:
        if self.signals.of_resampled is None or self.signals.variance is None:
            return None
        of_resampled = self.signals.of_resampled()
        indicator = self.bins.indicator(np.arange(self.n))
        weights = self._weights(self.signals)
        scales = self._scales(weights)
        gram = HeldGram.from_rows(self.bins, indicator, weights)

        def of_signals(values: AnyArray) -> FloatArray:
            sums = sums_over(indicator, values)
            return self._largest(staged_gains(self.bins, scales, gram, sums))

        observed = of_signals(self.signals.values[:, None])[:, 0]
        return DrawnStatistics(observed, lambda drawn: of_signals(of_resampled(drawn)))

    def by_replicates(self) -> DrawnStatistics:
        replicated = self.signals.replicated
        assert replicated is not None

        def evaluate(numbers: AnyArray) -> FloatArray:
            each = [self.of_sample(replicated.signals(int(one))) for one in numbers]
            return np.stack(each, axis=1)

        return DrawnStatistics(self.observed(), evaluate)

    def own_resampling(self, m: int, seed: Seed, engine: Engine) -> OwnDraws:
        """Resample some rows; their sums are scaled to the variance of all rows.

        Rare events of all rows count: of some rows they would be fewer than in the data. So
        rows of a discrete y that are nearly certain are drawn by their exceptions.
        """
        signals = self.signals
        if signals.redraw is None or signals.variance is None:
            return self.own_signs(m, seed, engine)
        certain: CertainRows | None = None
        if signals.cells is not None and self.n > RESAMPLED_ROWS:
            certain = CertainRows.of(signals)
        others = np.arange(self.n) if certain is None else certain.others
        chosen = rows_by_content(self.keys[others], RESAMPLED_ROWS, RESAMPLED_STREAM)
        rows = others[chosen]
        draw = signals.redraw(rows)
        weights = self._weights(signals)
        scales = self._scales(weights)
        indicator = self.bins.indicator(rows)
        factors = self._factors(indicator, weights, rows, others)
        gram = self._gram_of_some(weights)
        usual = None if certain is None else self._usual_sums(certain)

        def task(start: int) -> FloatArray:
            rng = seed.stream(Use.CHECK, DRAWN_STREAM, start)
            count = min(CHUNK, m - start)
            sums = sums_over(indicator, draw(rng, count)) * factors[:, None]
            if certain is not None and usual is not None:
                sums += usual[:, None]
                drawn = certain.drawn(rng, count)
                for own in self.bins.codes:
                    np.add.at(sums, (own[drawn.rows], drawn.draws), drawn.changes)
            return self._largest(staged_gains(self.bins, scales, gram, sums))

        chunks = engine.local.map(task, range(0, m, CHUNK))
        draws = np.concatenate(list(chunks), axis=1)
        return OwnDraws(observed=self.observed(), draws=draws)

    def _factors(
        self, indicator: SingleArray, weights: Weights, rows: IntArray, others: IntArray
    ) -> FloatArray:
        """Return √(Σ w over `others`/Σ w over `rows`) of each bin and signal, (B, K)."""
        if len(rows) == len(others):
            return np.ones((self.bins.count, len(weights.factors)))
        some = self._weight_of(indicator, weights, rows)
        is_other = np.zeros(self.n)
        is_other[others] = 1.0
        whole = self.bins.sum_over(weights.rows * is_other[:, None]) * weights.factors
        # A bin that hardly any of these rows is in has its share of the variance.
        some = np.maximum(some, 0.5 * whole * len(rows) / len(others))
        return np.sqrt(whole / np.maximum(some, TINY))

    def _weight_of(
        self, indicator: SingleArray, weights: Weights, rows: IntArray
    ) -> FloatArray:
        """Return Σ w over bins of some rows, (B, K)."""
        own = weights.rows[rows].astype(np.float32)
        return np.asarray((indicator.T @ own).astype(np.float64) * weights.factors)

    def _gram_of_some(self, weights: Weights) -> HeldGram:
        """Return the Gram matrix of all rows, or of some, scaled to the sums of all."""
        rows = rows_by_content(self.keys, RESAMPLED_ROWS, RESAMPLED_STREAM)
        indicator = self.bins.indicator(rows)
        own = weights.take(rows)
        if len(rows) == self.n:
            return HeldGram.from_rows(self.bins, indicator, own)
        some = self._weight_of(indicator, weights, rows)
        whole = weights.sums(self.bins)
        ratio = np.sqrt(whole / np.maximum(some, TINY)) * (some > 0)
        return HeldGram.from_rows(self.bins, indicator, own, ratio)

    def _usual_sums(self, certain: CertainRows) -> FloatArray:
        """Return sums over bins of these rows if none is an exception, (B, K)."""
        values = np.zeros(self.signals.values.shape)
        values[certain.rows] = certain.usual
        return self.bins.sum_over(values)

    # Random signs.

    def by_signs(self) -> DrawnStatistics:
        indicator = self.bins.indicator(np.arange(self.n))
        values = self.signals.values

        def sums_of(signs: AnyArray) -> FloatArray:
            weighted = signs[:, :, None] * values[:, None]
            return sums_over(indicator, weighted)

        gram = HeldGram.from_rows(self.bins, indicator, self._weights(self.signals))
        evaluate = self._by_signs(sums_of, gram)
        ones = np.ones((self.n, 1))

        def in_chunks(signs: AnyArray) -> FloatArray:
            starts = range(0, signs.shape[1], CHUNK)
            parts = [evaluate(signs[:, a : a + CHUNK], True) for a in starts]
            return np.concatenate(parts, axis=1)

        return DrawnStatistics(evaluate(ones, False)[:, 0], in_chunks)

    def own_signs(self, m: int, seed: Seed, engine: Engine) -> OwnDraws:
        """Give units of rows random signs: sets of rows, or rows that depend on each other.

        The Gram matrix is that of some rows, scaled, for the data as for the draws.
        """
        units = self.units
        if units is None:
            units = np.arange(self.n)
            if self.n > SIGN_UNITS:
                shuffled = seed.stream(Use.CHECK, UNITS_STREAM).permutation(self.n)
                units = shuffled % SIGN_UNITS
        by_unit = self._sums_by_unit(units)
        count = by_unit.shape[1]

        def sums_of(signs: AnyArray) -> FloatArray:
            product = np.tensordot(by_unit, signs.astype(np.float32), (1, 0))
            return np.moveaxis(product, 1, 2).astype(np.float64)

        gram = self._gram_of_some(self._weights(self.signals))
        evaluate = self._by_signs(sums_of, gram)

        def task(start: int) -> FloatArray:
            rng = seed.stream(Use.CHECK, SIGNS_STREAM, start)
            signs = rng.integers(0, 2, (count, min(CHUNK, m - start))) * 2.0 - 1.0
            return evaluate(signs, True)

        chunks = engine.local.map(task, range(0, m, CHUNK))
        draws = np.concatenate(list(chunks), axis=1)
        ones = np.ones((count, 1))
        return OwnDraws(observed=evaluate(ones, False)[:, 0], draws=draws)

    def _by_signs(
        self, sums_of: Callable[[AnyArray], FloatArray], gram: Gram
    ) -> Callable[[AnyArray, bool], FloatArray]:
        """Return the statistics (4, m) as a function of signs, (rows or units, m).

        Its second argument says whether these are random signs, or those of the data, all
        1. `sums_of` makes sums over bins, (B, m, K), from signs.
        """
        scales = self._signed_scales()

        def evaluate(signs: AnyArray, signed: bool) -> FloatArray:
            sums = sums_of(signs)
            return self._largest(staged_gains(self.bins, scales, gram, sums, signed))

        return evaluate

    def _sums_by_unit(self, units: IntArray) -> SingleArray:
        """Return sums of signals over the rows of a unit in a bin, (B, units, K)."""
        count = int(units.max()) + 1
        values = self.signals.values
        sums = np.zeros((self.bins.count * count, values.shape[1]), dtype=np.float32)
        for own in self.bins.codes:
            place = own * count + units
            for k, column in enumerate(values.T):
                sums[:, k] += np.bincount(place, column, len(sums))
        return sums.reshape(self.bins.count, count, -1)

    def _signed_scales(self) -> Scales:
        """Return scales whose variances are those of sums with random signs.

        They are sums of squares, of rows or of units of rows, and at least what is known:
        Σ w, where the law of y is known, and else that of `FEW_ROWS` average rows. Few rows
        that happen to vary little would stand out by that.
        """
        bins = self.bins
        signals = self.signals
        weights = self._weights(signals)
        weight = weights.sums(bins)
        left = bins.left(weight)
        whole = bins.totals(weight)[bins.columns]
        if self.units is None:
            squares = bins.sum_over(np.square(signals.values))
            of_left = bins.left(squares)
            of_all = bins.totals(squares)[bins.columns]
            variances = [of_all[:1], of_left, of_all - of_left, squares]
        else:
            by_unit = self._sums_by_unit(self.units).astype(np.float64)
            unit_left = bins.left(by_unit)
            unit_all = bins.totals(by_unit)[bins.columns]
            cells = [unit_all[:1], unit_left, unit_all - unit_left, by_unit]
            variances = [np.square(one).sum(axis=1) for one in cells]
        rows = bins.sum_over(np.ones((self.n, 1)))
        rows_left = bins.left(rows)
        counts = [np.full((1, 1), float(self.n)), rows_left, self.n - rows_left, rows]
        sums = [whole[:1], left, whole - left, weight]
        shrinkage = self._shrinkage(weights)
        skewness = signals.skewness
        scales = []
        for total, variance, count in zip(sums, variances, counts, strict=True):
            known = total
            if signals.variance is None:
                known = np.minimum(count, FEW_ROWS) * signals.square
            a = None
            if skewness.any():
                a = skewness / (6.0 * np.sqrt(np.maximum(count, 1.0)))
            larger = np.maximum(variance, known)
            scales.append(Scale.from_cells(total, shrinkage, larger, a))
        everywhere, first, second, of_bins = scales
        return Scales(
            everywhere=everywhere,
            first=first,
            second=second,
            bins=of_bins,
            is_step=steps_of(bins, self.least),
        )


def sums_over(indicator: SingleArray, values: AnyArray) -> FloatArray:
    """Return sums over bins of signals (r, m, K) of rows with an indicator (r, B)."""
    r, m, count = values.shape
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(r, m * count)
    return (indicator.T @ flat).reshape(-1, m, count).astype(np.float64)
