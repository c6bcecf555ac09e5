"""Bins of columns, and what sums of signals over them are compared with.

The candidates of `condgof.check._staged_gains` are made of cells: all rows, both sides of
each step, and single bins. `Bins` has the bins, `Scales` the variances of sums over all
cells, and a `Gram` what a correction takes off the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.check._axes import MAX_CATEGORIES, Axis
from condgof.check._skewness import without_skewness

#: Quantile bins of a column. With 12 to 20 of them power is the same
#: (docs/dev/staged-gains.md).
BINS = 12
#: Most bins of all columns together: the Gram matrix has their number squared.
MOST_BINS = 2048
#: Most columns, so that each has two bins or more; of more columns, predictions and the
#: first columns of x.
MOST_COLUMNS = MOST_BINS // 2
#: Most numbers of all Gram matrices, 64 MB in single precision. Where each signal would
#: have a matrix of its own and there are more numbers, the variance of a signal is taken to
#: be the same in all rows, and one matrix serves all signals.
GRAM_NUMBERS = 2**24
#: The variance of a cell is at least this share of the largest: cells without rows, whose
#: sums are rounding errors, gain nothing.
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

    def shared_rows(self) -> FloatArray:
        """Return how many rows two bins have in common, (B, B)."""
        from scipy.sparse import csr_array  # takes long to import

        columns, n = self.codes.shape
        row_ends = np.arange(0, columns * n + 1, columns)
        ones = np.ones(columns * n, dtype=np.float32)
        is_in = csr_array((ones, self.codes.T.ravel(), row_ends), (n, self.count))
        return np.asarray((is_in.T @ is_in).toarray(), dtype=np.float64)

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
            squares = np.square(without_skewness(z, a, longer_tail_only=signed))
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
        grams = []
        for k, own in enumerate(weights.rows.T):
            rooted = indicator * np.sqrt(own, dtype=np.float32)[:, None]
            gram = (rooted.T @ rooted).astype(np.float64)  # (B, B), of bins
            if ratio is not None:
                gram *= ratio[:, [k]] * ratio[:, k]
            grams.append(gram)
        return cls._from_grams(bins, grams, weights.factors)

    @classmethod
    def from_bins(cls, bins: Bins, shared: FloatArray, factors: FloatArray) -> HeldGram:
        """Take what bins share, (B, B), one matrix for all signals with their factors."""
        return cls._from_grams(bins, [shared], factors)

    @classmethod
    def _from_grams(
        cls, bins: Bins, grams: list[FloatArray], factors: FloatArray
    ) -> HeldGram:
        """Turn sums over what two bins share into those of the sides of steps."""
        shared = []
        rows = []
        total = []
        for gram in grams:
            by_step = bins.left(gram)  # the first side of a step, with a bin
            of_column = by_step[:, : bins.ends[0] + 1].sum(axis=1)
            shared.append(bins.left(by_step.T).astype(np.float32))
            rows.append(of_column)
            total.append(bins.totals(gram)[0, : bins.ends[0] + 1].sum())
        return cls(
            shared=shared,
            rows=np.stack(rows, axis=1),
            total=np.array(total),
            factors=factors,
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
