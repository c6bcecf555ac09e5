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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.check._axes import Axis
from condgof.check._certain import CertainRows, DrawnExceptions
from condgof.check._gain_bins import (
    MOST_COLUMNS,
    TINY,
    Bins,
    CountedGram,
    Gram,
    HeldGram,
    Scale,
    Scales,
    SideSums,
    Steps,
    Weights,
    steps_of,
)
from condgof.check._weighted import counting_weights
from condgof.check.kinds import Signals
from condgof.engine import Engine
from condgof.methods import STAGED_GAINS
from condgof.null import DrawnStatistics, OwnDraws, symmetric_root
from condgof.sample import KeyArray, Seed, Use, rows_by_content

#: Rows of mean ψ = 0 that each cell is shrunk by: λ, in units of the mean variance. Chosen
#: by power (docs/dev/staged-gains.md).
SHRINKAGE = 20.0
#: The least λ of a discrete y: one event in a cell that expects none gains at most ½.
LEAST_SHRINKAGE = 1.0
#: Stages after which the total gain is a statistic, in the order of `STAGED_GAINS`.
STAGES = (1, 3, 6)
#: What a signal of a kind that is rarely a function of a column has to gain first, in nats:
#: a prior of e⁻³ against kinds that often are.
RARE_KIND_COST = 3.0
#: Samples of fewer rows do not have this family: a step needs both sides.
LEAST_ROWS = 50
#: Fewest rows of a bin and of either side of a step, where the law of y is known.
LEAST_CELL = 10
#: The same where it is not: random signs are for sums that are nearly normal.
LEAST_SIGNED_CELL = 50
#: With random signs, the variance of a cell is at least that of this many average rows, or
#: of all its rows if it has fewer.
FEW_ROWS = 100
#: Most codes of bins, rows times columns, 128 MB; of more rows, a choice by x.
MOST_CODES = 2**24
#: Most rows; of more, a choice by x. Time grows with rows, and power hardly does.
MOST_ROWS = 100_000
#: Rows whose y is resampled where the verdict does not resample rows one by one.
RESAMPLED_ROWS = 4096
#: Sums over so many bins are drawn from their normal limit, where signals have one.
MOST_LIMIT_BINS = 512
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
    gains = np.empty((1 + len(left), *left.shape[1:]))
    gains[:1] = scales.everywhere.gain(whole, signed)
    np.add(scales.first.gain(left, signed), scales.second.gain(right, signed), gains[1:])
    gains[1:][~scales.is_step] = -np.inf
    return _Best(gains.max(axis=0), gains.argmax(axis=0))


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
    each = (step, np.arange(len(step))[:, None], np.arange(step.shape[1]))
    first = scales.first.correction(step, left[each])
    second = scales.second.correction(step, right[each])
    constant = scales.everywhere.correction(np.zeros_like(step), whole)
    return Steps(
        step=step,
        first=np.where(is_constant, constant, first),
        second=np.where(is_constant, constant, second),
    )


class NullOfSums(NamedTuple):
    """Draws of sums over bins, and what their gains are computed with."""

    gram: HeldGram
    scales: Scales
    draw: Callable[[np.random.Generator, int], FloatArray]  #: (rng, m) → sums (B, m, K).


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
    #: Weights of the rows, by which `signals` are multiplied already, (n,); None where all
    #: are equal.
    weights: FloatArray | None = None
    names = STAGED_GAINS

    @classmethod
    def from_signals(
        cls,
        axes: tuple[Axis, ...],
        signals: Signals,
        keys: KeyArray,
        units: IntArray | None,
        weights: FloatArray | None = None,
    ) -> StagedGains | None:
        """Cut the columns into bins; None without columns, or for few rows.

        `keys` (n,) are those of x (`Sample.content_keys`): of many rows, which are taken is
        decided by x alone. `units` (n,) are the units of rows that depend on each other,
        and `weights` (n,) the weights of the rows, where they are not equal.
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
        signals = signals if len(rows) == n else signals.take(rows)
        if weights is not None:
            weights = counting_weights(weights[rows])
            signals = signals.weighted(weights)
        return cls(
            bins=bins,
            signals=signals,
            keys=keys[rows],
            units=None if units is None else units[rows],
            least=least,
            rows=rows,
            weights=weights,
        )

    @property
    def n(self) -> int:
        return len(self.signals.values)

    def observed(self) -> FloatArray:
        """Return the statistics of the data by the variances of the law, (4,)."""
        return self._observed

    @cached_property
    def _observed(self) -> FloatArray:
        return self.of_sample(self.signals)

    def of_rows(self, signals: Signals) -> FloatArray:
        """Return the statistics of signals of all rows that there are, (4,)."""
        some = signals if len(signals.values) == self.n else signals.take(self.rows)
        return self.of_sample(some if self.weights is None else some.weighted(self.weights))

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
        """Draw sums over bins of resampled y, from their limit or of some rows."""
        signals = self.signals
        if signals.redraw is None or signals.variance is None:
            return self.own_signs(m, seed, engine)
        null = self._null_of_sums

        def task(start: int) -> FloatArray:
            rng = seed.stream(Use.CHECK, DRAWN_STREAM, start)
            sums = null.draw(rng, min(CHUNK, m - start))
            return self._largest(staged_gains(self.bins, null.scales, null.gram, sums))

        chunks = engine.local.map(task, range(0, m, CHUNK))
        draws = np.concatenate(list(chunks), axis=1)
        return OwnDraws(observed=self._observed, draws=draws)

    @cached_property
    def _null_of_sums(self) -> NullOfSums:
        """What sums over bins are drawn from, for all seeds."""
        if self.signals.orthonormal and self.bins.count <= MOST_LIMIT_BINS:
            return self._limit_of_sums()
        return self._resampled_sums()

    def _resampled_sums(self) -> NullOfSums:
        """Resample some rows; their sums are scaled to the variance of all rows.

        Rare events of all rows count: of some rows they would be fewer than in the data. So
        rows of a discrete y that are nearly certain are drawn by their exceptions.
        """
        signals = self.signals
        assert signals.redraw is not None
        certain: CertainRows | None = None
        if signals.cells is not None and self.n > RESAMPLED_ROWS:
            certain = CertainRows.of(signals)
        others = np.arange(self.n) if certain is None else certain.others
        chosen = rows_by_content(self.keys[others], RESAMPLED_ROWS, RESAMPLED_STREAM)
        rows = others[chosen]
        resample = signals.redraw(rows)
        weights = self._weights(signals)
        indicator = self.bins.indicator(rows)
        factors = self._factors(indicator, weights, rows, others)
        usual = None if certain is None else self._usual_sums(certain)

        def draw(rng: np.random.Generator, m: int) -> FloatArray:
            sums = sums_over(indicator, resample(rng, m)) * factors[:, None]
            if certain is not None and usual is not None:
                sums += usual[:, None]
                sums += self._sums_of_exceptions(certain.drawn(rng, m), m)
            return sums

        return NullOfSums(
            gram=self._gram_of_some(weights), scales=self._scales(weights), draw=draw
        )

    def _limit_of_sums(self) -> NullOfSums:
        """Return the normal limit of sums over bins, N(0, shared⊗I).

        Signals have variance 1 and are uncorrelated, so that two bins have as much
        covariance as they have rows in common.
        """
        weights = self._weights(self.signals)
        shared = self.bins.shared_rows()
        root = symmetric_root(shared).root.astype(np.float32)
        width = len(weights.factors)

        def draw(rng: np.random.Generator, m: int) -> FloatArray:
            normal = rng.standard_normal((len(root), m * width), dtype=np.float32)
            return (root @ normal).reshape(-1, m, width).astype(np.float64)

        gram = HeldGram.from_bins(self.bins, shared, weights.factors)
        return NullOfSums(gram=gram, scales=self._scales(weights), draw=draw)

    def _sums_of_exceptions(self, drawn: DrawnExceptions, m: int) -> FloatArray:
        """Return what exceptions in m draws add to the sums over bins, (B, m, K)."""
        size = self.bins.count * m
        added = np.zeros((size, drawn.changes.shape[1]))
        for own in self.bins.codes:
            places = own[drawn.rows] * m + drawn.draws
            for k, changes in enumerate(drawn.changes.T):
                added[:, k] += np.bincount(places, changes, size)
        return added.reshape(self.bins.count, m, -1)

    def _factors(
        self, indicator: SingleArray, weights: Weights, rows: IntArray, others: IntArray
    ) -> FloatArray:
        """Return √(Σ v over `others`/Σ v over `rows`) of each bin and signal, (B, K).

        v are the variances of the signals: of weighted ones, w times the working variance.
        """
        if len(rows) == len(others):
            return np.ones((self.bins.count, len(weights.factors)))
        if self.weights is not None:
            weights = weights._replace(rows=weights.rows * self.weights[:, None])
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
