"""The search for the effect that gains most: sums over cells, and what they are worth.

The gain of a candidate is what its correction gains on rows that it was not learned on, by
leaving out one row (or one unit of dependent rows) at a time. With θ̂ learned on all rows,
gradients g_u of the units and information J,

    Σ_u ℓ_u(θ̂ without u) ≈ ℓ(θ̂) − Σ_u g_u²/J,

which is ℓ(θ̂) − 1 for independent rows of a right law: Takeuchi's criterion. All of it is a
function of sums over cells, so that m resampled samples are searched in one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check.effects._forms import TINY, Exposure, Form
from condgof.check.effects._partitions import Cells, Partition
from condgof.check.effects._tilts import Tilt

#: Rows as predicted that are mixed into each cell; the number that gains most is taken.
SHRINKAGES = (5.0, 25.0, 125.0)
#: With which an effect is taken off before the search goes on: hardly any is left of it.
REMOVAL_SHRINKAGE = 1.0
#: The largest step of Newton's method, in units of θ.
LARGEST_STEP = 3.0


@dataclass(frozen=True)
class Preference:
    """What a candidate has to gain more than a simpler one to be preferred to it."""

    kept: float  #: The part of its gain that counts.
    price: float  #: Nats that it has to earn first.


#: The simpler of two candidates that gain alike is taken, by shape of the candidate:
#: everywhere alike, a straight trend, one cell each along a column, cells of two columns.
CONSTANT = Preference(kept=1.0, price=0.0)
TREND = Preference(kept=0.98, price=1.0)
STEPS = Preference(kept=0.95, price=1.0)
PAIR = Preference(kept=0.95, price=2.0)
#: What counts of the gain along a prediction: a column of the user's is preferred to a
#: prediction that it explains as well.
KEPT_OF_PREDICTION = 0.95


class Fit(NamedTuple):
    """The parameters of one candidate in one sample."""

    theta: FloatArray  #: θ of each cell of its partition, (cells,).
    shrinkage: float  #: Rows as predicted that were mixed in; 0 of a trend.


@dataclass(frozen=True)
class Candidate:
    """A kind of error as a function of columns."""

    kind: int  #: Its position among the kinds of the tilt.
    partition: int  #: The position of its partition.
    trend: bool  #: Whether it is a straight line along the column, not a step a cell.


class Worths(NamedTuple):
    """What all candidates are worth in m samples, in nats over all rows."""

    steps: AnyArray  #: (P, m, K).
    trends: AnyArray  #: Of partitions with an order, (T, m, K).

    @property
    def largest(self) -> FloatArray:
        """The largest of each sample, (m,)."""
        largest = self.steps.max(axis=(0, 2))
        if len(self.trends):
            largest = np.maximum(largest, self.trends.max(axis=(0, 2)))
        return np.asarray(largest, dtype=np.float64)

    @property
    def constants(self) -> AnyArray:
        """What the same error everywhere is worth by itself, at least 0, (m, K)."""
        return np.asarray(np.maximum(self.steps[0], 0.0))

    @property
    def largest_beyond_constant(self) -> FloatArray:
        """The most that depending on columns is worth more than the constant, (m,)."""
        largest = (self.steps[1:] - self.constants).max(axis=(0, 2), initial=-np.inf)
        if len(self.trends):
            beyond = self.trends - self.constants
            largest = np.maximum(largest, beyond.max(axis=(0, 2)))
        return np.asarray(largest, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines θ = a + b·t along partitions that have an order."""

    cells: IntArray  #: The cells of these partitions, (c,).
    starts: IntArray  #: Where the cells of each begin among them, (T,).
    counts: IntArray  #: The number of cells of each, (T,).
    positions: FloatArray  #: t of each of these cells, (c, 1).

    @classmethod
    def along(cls, partitions: Sequence[Partition], cells: Cells) -> Lines:
        places = [
            cells.of_partition(cells.partitions.index(partition))
            for partition in partitions
        ]
        counts = np.array([partition.count for partition in partitions])
        return cls(
            cells=np.concatenate([np.arange(one.start, one.stop) for one in places]),
            starts=np.concatenate([[0], np.cumsum(counts)[:-1]]),
            counts=counts,
            positions=np.concatenate([np.asarray(p.positions) for p in partitions])[
                :, None
            ],
        )

    def total(self, values: AnyArray) -> AnyArray:
        """Return the sums over the cells of each partition of values (c, …), (T, …)."""
        return np.add.reduceat(values, self.starts, axis=0)

    def fit(self, form: Form, sums: AnyArray, exposure: Exposure) -> AnyArray:
        """Return θ of each cell on the lines that gain most, (c, m), by Newton's method."""
        t = self.positions
        theta = np.zeros(sums.shape)
        for _ in range(form.newton_steps):
            slope = form.slope(theta, sums, exposure)
            curvature = form.step_curvature(theta, sums, exposure)
            j0 = self.total(curvature)
            j1 = self.total(curvature * t)
            # A trifle is added so that a column with one cell has a solution.
            j2 = self.total(curvature * t * t) + 1e-6 * j0 + TINY
            g0 = self.total(slope)
            g1 = self.total(slope * t)
            determinant = np.maximum(j0 * j2 - j1 * j1, TINY)
            a = (j2 * g0 - j1 * g1) / determinant
            b = (j0 * g1 - j1 * g0) / determinant
            step = np.repeat(a, self.counts, axis=0) + np.repeat(b, self.counts, axis=0) * t
            theta = form.bounded(theta + np.clip(step, -LARGEST_STEP, LARGEST_STEP))
        return theta


@dataclass(frozen=True, eq=False)
class Space:
    """All candidates, with what does not depend on y."""

    cells: Cells
    forms: tuple[Form, ...]
    exposures: tuple[Exposure, ...]  #: One a kind, of all cells, (cells, 1) each.
    #: How many times as much gradients of whole units vary as if their rows were
    #: independent, by cell and kind, (cells, K); 1 where rows are independent.
    design_effect: FloatArray
    ordered: IntArray  #: The positions of the partitions that have an order, (T,).

    @classmethod
    def from_tilt(cls, cells: Cells, tilt: Tilt, design_effect: FloatArray) -> Space:
        """Sum up what the law predicts in each cell."""
        information = cells.sums(np.asarray(tilt.information, dtype=np.float64))
        expected = cells.sums(np.asarray(tilt.expected, dtype=np.float64))
        rows = cells.rows[:, None]
        exposures = tuple(
            Exposure(rows, information[:, [k]], expected[:, [k]])
            for k in range(len(tilt.kinds))
        )
        ordered = [p for p, one in enumerate(cells.partitions) if one.positions is not None]
        return cls(
            cells=cells,
            forms=tuple(kind.form for kind in tilt.kinds),
            exposures=exposures,
            design_effect=design_effect,
            ordered=np.array(ordered, dtype=np.int64),
        )

    def for_samples(self, cells: Cells, tilt: Tilt) -> Space:
        """Return it with what each of m samples expects, where that depends on y.

        `cells` and `tilt` may be of some of the rows; their sums are scaled to all.
        """
        expected = tilt.expected_by_sample
        if expected is None:
            return self
        scale = self.cells.all_rows / cells.all_rows
        events = cells.sums(np.asarray(expected, dtype=np.float64)) * scale
        exposures = tuple(
            Exposure(one.rows, events[..., k], events[..., k])
            for k, one in enumerate(self.exposures)
        )
        return replace(self, exposures=exposures)

    def worths(self, sums: AnyArray, noise: FloatArray) -> Worths:
        """Return what all candidates are worth in m samples.

        From sums of ψ by cell, (cells, m, K), and how much more ψ varies than predicted,
        (m, K): so much more a parameter costs.
        """
        steps = []
        trends = []
        for k, form in enumerate(self.forms):
            own = np.ascontiguousarray(sums[:, :, k])
            steps.append(self._step_gains(form, k, own, noise[:, k]))
            trends.append(self._trend_gains(form, k, own, noise[:, k]))
        kept, price = self._preferences
        all_steps = np.stack(steps, axis=-1) * kept - price
        all_trends = np.stack(trends, axis=-1)
        if len(self.ordered):
            kept_of_trend = np.array(
                [TREND.kept * self._by_column(p) for p in self.ordered]
            )
            all_trends = all_trends * kept_of_trend[:, None, None] - TREND.price
        return Worths(all_steps, all_trends)

    @cached_property
    def _preferences(self) -> tuple[FloatArray, FloatArray]:
        """What counts of the gain of each partition, and its price, (P, 1, 1) each."""
        kept = []
        price = []
        for p, partition in enumerate(self.cells.partitions):
            preference = (CONSTANT, STEPS, PAIR)[len(partition.axes)]
            kept.append(preference.kept * self._by_column(p))
            price.append(preference.price)
        return np.array(kept)[:, None, None], np.array(price)[:, None, None]

    def _by_column(self, partition: int) -> float:
        """Return what counts of the gain of a partition, by whose columns it has."""
        return KEPT_OF_PREDICTION if self.cells.partitions[partition].predicted else 1.0

    def _step_gains(
        self, form: Form, k: int, sums: AnyArray, noise: FloatArray
    ) -> AnyArray:
        """Return the gains of steps of one kind, with the best shrinkage, (P, m)."""
        single = form.in_single_precision and sums.dtype == np.float32
        dtype = np.float32 if single else np.float64
        exposure = self.exposures[k].astype(dtype)
        best: AnyArray | None = None
        for mixed_in, penalties in zip(self._mixed_in, self._penalties, strict=True):
            of_cells = form.step_gain(sums, exposure, mixed_in.astype(dtype))
            gains = self.cells.over_partitions(of_cells) - penalties[:, [k]] * noise
            best = gains if best is None else np.maximum(best, gains)
        assert best is not None
        return best

    @cached_property
    def _mixed_in(self) -> tuple[FloatArray, ...]:
        """The rows mixed into each cell, (cells, 1) for each of `SHRINKAGES`.

        None where there is one cell.
        """
        alone = np.array([len(one.axes) == 0 for one in self.cells.partitions])
        is_alone = alone[self.cells.owner][:, None]
        return tuple(np.where(is_alone, 0.0, one) for one in SHRINKAGES)

    @cached_property
    def _penalties(self) -> tuple[FloatArray, ...]:
        """What parameters cost where ψ varies as predicted, (P, K) for each shrinkage."""
        rows = self.cells.rows[:, None]
        leverages = [rows / np.maximum(rows + one, TINY) for one in self._mixed_in]
        return tuple(
            self.cells.over_partitions(leverage * self.design_effect)
            for leverage in leverages
        )

    def _trend_gains(
        self, form: Form, k: int, sums: AnyArray, noise: FloatArray
    ) -> AnyArray:
        """Return the gains of straight lines of one kind, (T, m)."""
        if not len(self.ordered):
            return np.empty((0, sums.shape[1]))
        lines = self._lines
        exposure = self.exposures[k].take(lines.cells)
        own = sums[lines.cells]
        theta = lines.fit(form, own, exposure)
        gained = lines.total(form.gain(theta, own, exposure))
        # Two parameters, constant and slope, each as dear as the average cell.
        rows = exposure.rows
        effects = lines.total(rows * self.design_effect[lines.cells][:, [k]])
        return np.asarray(gained - 2.0 * noise * effects / lines.total(rows))

    @cached_property
    def _lines(self) -> Lines:
        return Lines.along([self.cells.partitions[p] for p in self.ordered], self.cells)

    # One candidate in the data.

    def best(self, worths: Worths, kind: int | None = None) -> Candidate:
        """Return the candidate that is worth most in the first sample.

        With `kind`, only candidates of that kind count.
        """
        if kind is not None:
            others = np.arange(len(self.forms)) != kind
            worths = Worths(*(np.where(others, -np.inf, one) for one in worths))
        steps = worths.steps[:, 0]
        p, k = np.unravel_index(int(np.argmax(steps)), steps.shape)
        best = Candidate(int(k), int(p), trend=False)
        if not len(self.ordered):
            return best
        trends = worths.trends[:, 0]
        t, trend_kind = np.unravel_index(int(np.argmax(trends)), trends.shape)
        if trends[t, trend_kind] > steps[p, k]:
            return Candidate(int(trend_kind), int(self.ordered[t]), trend=True)
        return best

    def worth_of(self, worths: Worths, candidate: Candidate) -> float:
        """Return what one candidate is worth in the first sample."""
        if candidate.trend:
            t = int(np.searchsorted(self.ordered, candidate.partition))
            return float(worths.trends[t, 0, candidate.kind])
        return float(worths.steps[candidate.partition, 0, candidate.kind])

    def beyond_constant(self, worths: Worths, candidate: Candidate) -> float:
        """Return what a candidate is worth more than the same error everywhere alike."""
        if not self.partition(candidate).axes:
            return 0.0
        constant = float(worths.constants[0, candidate.kind])
        return self.worth_of(worths, candidate) - constant

    def best_constant(self, worths: Worths) -> Candidate:
        """Return the error everywhere alike that is worth most in the first sample."""
        return Candidate(int(np.argmax(worths.steps[0, 0])), 0, trend=False)

    def fit(self, candidate: Candidate, sums: AnyArray, noise: FloatArray) -> Fit:
        """Return the shrunk parameters that gain most on rows left out."""
        own, form, exposure = self._own(candidate)
        one = sums[own][:, [0], candidate.kind]
        if candidate.trend:
            theta = self._line(candidate).fit(form, one, exposure)
            return Fit(theta[:, 0], 0.0)
        shrinkage = 0.0
        if self.cells.partitions[candidate.partition].axes:
            gains = [
                form.step_gain(one, exposure, np.array(mixed_in)).sum()
                - self._penalty(candidate, noise, mixed_in)
                for mixed_in in SHRINKAGES
            ]
            shrinkage = SHRINKAGES[int(np.argmax(gains))]
        theta = form.fit(one, exposure, np.array(shrinkage))
        return Fit(theta[:, 0], shrinkage)

    def _penalty(self, candidate: Candidate, noise: FloatArray, shrinkage: float) -> float:
        """Return what the parameters of steps of one candidate cost in the first sample."""
        own = self.cells.of_partition(candidate.partition)
        rows = self.cells.rows[own]
        leverage = rows / np.maximum(rows + shrinkage, TINY)
        effect = self.design_effect[own, candidate.kind] * noise[0, candidate.kind]
        return float((leverage * effect).sum())

    def gain(self, candidate: Candidate, sums: AnyArray, noise: FloatArray) -> float:
        """Return the gain of a candidate on rows left out, in nats over all rows."""
        own, form, exposure = self._own(candidate)
        one = sums[own][:, [0], candidate.kind]
        fit = self.fit(candidate, sums, noise)
        gained = float(form.gain(fit.theta[:, None], one, exposure).sum())
        if not candidate.trend:
            return gained - self._penalty(candidate, noise, fit.shrinkage)
        rows = exposure.rows[:, 0]
        effect = self.design_effect[own, candidate.kind] * noise[0, candidate.kind]
        return gained - float(2.0 * (rows * effect).sum() / max(rows.sum(), TINY))

    def removal(self, candidate: Candidate, sums: AnyArray) -> AnyArray:
        """Return θ of each cell by which an effect is taken off, (cells of p, m).

        `sums` (cells of p, m) are those of the kind, over the cells of the partition.
        """
        _, form, exposure = self._own(candidate)
        if candidate.trend:
            return self._line(candidate).fit(form, sums, exposure)
        return form.fit(sums, exposure, np.array(REMOVAL_SHRINKAGE))

    def _line(self, candidate: Candidate) -> Lines:
        return Lines.along([self.partition(candidate)], self.cells)

    def _own(self, candidate: Candidate) -> tuple[slice, Form, Exposure]:
        """Return the cells of a candidate, its form, and its exposure."""
        own = self.cells.of_partition(candidate.partition)
        form = self.forms[candidate.kind]
        return own, form, self.exposures[candidate.kind].take(own)

    def partition(self, candidate: Candidate) -> Partition:
        """Return the partition of a candidate."""
        return self.cells.partitions[candidate.partition]
