"""The total of counts over rows that are named beforehand, and its null distribution.

Poisson counts have a Poisson total. Of others, the probabilities of all totals of a few
rows are convolved, of large counts in steps; the total of more rows has a gamma law with
its first three cumulants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._tails import (
    GammaSums,
    RowSets,
    SomeSums,
    SplitSums,
    TableSums,
    Tails,
    TiltedSums,
    convolved_counts,
    plain_poisson,
)
from condgof.check.kinds import CountRows
from condgof.laws import Law, evaluate_cdf_grid

#: Totals of at most this many rows are convolved,
CONVOLVED_ROWS = 64
#: in steps of which a standard deviation of the total has at least this many,
STEPS_PER_SD = 48
#: up to this many standard deviations above its mean.
FAR_TOTAL_SDS = 24.0
#: How many standard deviations above its mean a count is looked at.
FAR_SDS = 14.0
#: How far below its mean.
NEAR_SDS = 6.0
#: Counts up to this one have their own probability in third cumulants.
SINGLE_COUNTS = 32
#: Points of the CDF to a standard deviation beyond.
POINTS_PER_SD = 4
#: Rows of a set from which the ratio of its third to its second cumulant comes.
CUMULANT_ROWS = 256
#: Most such rows of all sets together.
MOST_CUMULANT_ROWS = 8192
#: The least |κ₃/κ₂|; a total of less skewness is as good as normal.
LEAST_RATIO = 0.02
#: κ₂/κ₁, κ₃/κ₂ and −log P(0)/κ₁ of a Poisson number are 1, and computed ones as near to it.
NEAR_POISSON = 0.02
#: The least probability of which the logarithm is taken, and the least variance.
LEAST_PROBABILITY = 1e-300


class Totals(NamedTuple):
    """Totals of counts in S sets."""

    observed: FloatArray  #: (S,).
    expected: FloatArray  #: (S,).
    sums: TiltedSums


class Cumulants(NamedTuple):
    """What is known of the law of a total."""

    mean: float
    variance: float
    ratio: float  #: κ₃/κ₂.
    log_none: float  #: log P(all counts are 0).

    @property
    def is_poisson(self) -> bool:
        near = (self.variance / max(self.mean, LEAST_PROBABILITY), self.ratio)
        none = -self.log_none / max(self.mean, LEAST_PROBABILITY)
        return all(abs(one - 1.0) < NEAR_POISSON for one in (*near, none))

    @property
    def step(self) -> float:
        """The length of a step in which probabilities of the total are convolved."""
        return max(1.0, math.floor(math.sqrt(self.variance) / STEPS_PER_SD))


@dataclass(frozen=True, eq=False)
class MirroredSums(TiltedSums):
    """Sums X by the law of −X, where X is skewed to the left."""

    mirrored: TiltedSums

    @property
    def count(self) -> int:
        return self.mirrored.count

    def tails(self, tilt: FloatArray) -> Tails:
        tails = self.mirrored.tails(tilt)
        return Tails(
            upper=tails.lower,
            lower=tails.upper,
            opposite_upper=tails.opposite_lower,
            opposite_lower=tails.opposite_upper,
        )

    def means(self, tilt: FloatArray) -> FloatArray:
        return -self.mirrored.means(tilt)


def count_totals(checked: CountRows, sets: RowSets, law: Law) -> Totals:
    """Return the totals of S sets; outliers count as much as the largest other rows."""
    moments = checked.moments
    assert moments is not None
    assert checked.residual is not None
    mean = moments.location[:, 0]
    sd = moments.scale[:, 0]
    y = checked.y[:, 0]
    moved = mean + checked.residual * sd
    is_moved = np.abs(moved - y) > 1e-6 * np.maximum(sd, 1.0)
    counted = np.where(is_moved, moved, y)
    observed = sets.sums(counted[sets.rows])
    expected = sets.sums(mean[sets.rows])
    zeros = np.ones(checked.n) if checked.zeros is None else checked.zeros

    found = _cumulants(law, sets, mean, sd, zeros)
    is_poisson = np.array([one.is_poisson for one in found])
    is_few = ~is_poisson & (sets.sizes <= CONVOLVED_ROWS)
    is_left = np.array([one.ratio < 0 for one in found])
    parts = []
    poisson = np.flatnonzero(is_poisson)
    if len(poisson):
        sums = plain_poisson(observed[poisson], expected[poisson])
        parts.append(SomeSums(poisson, sums))
    few = np.flatnonzero(is_few)
    if len(few):
        tables = _convolved_totals(law, sets, few, found, mean, sd)
        parts.append(SomeSums(few, tables.sums(observed[few])))
    for is_side in (is_left, ~is_left):
        many = np.flatnonzero(~is_poisson & ~is_few & is_side)
        if len(many):
            matched = _matched(observed[many], [found[number] for number in many])
            parts.append(SomeSums(many, matched))
    split = SplitSums(
        parts=tuple(parts),
        certain=np.zeros(sets.count),
        impossible=np.zeros(sets.count, dtype=bool),
    )
    return Totals(observed=observed, expected=expected, sums=split)


class TotalTables(NamedTuple):
    """Probabilities of totals of some sets."""

    tables: list[FloatArray]  #: log P of 0, 1, … steps.
    step: FloatArray  #: The length of a step, one for each set.

    def sums(self, observed: FloatArray) -> TableSums:
        return TableSums.from_tables(observed, self.tables, self.step)


def _convolved_totals(
    law: Law,
    sets: RowSets,
    numbers: IntArray,
    cumulants: Sequence[Cumulants],
    mean: FloatArray,
    sd: FloatArray,
) -> TotalTables:
    """Convolve the laws of the rows of some sets; `mean` and `sd` are of all n rows."""
    tables = []
    steps = []
    for number in numbers:
        rows = sets.rows[sets.part(int(number))]
        about = cumulants[number]
        step = about.step
        last = math.ceil(float((mean[rows] + FAR_SDS * (sd[rows] + 1.0)).max()) / step)
        # A count belongs to the nearest step.
        ends = np.floor((np.arange(-1.0, last + 1.0) + 0.5) * step - 1e-9 * (step > 1.0))
        ends[0] = -np.inf
        cdf = evaluate_cdf_grid(law.take(rows), ends[1:])
        cdf[:, -1] = 1.0
        p = np.maximum(np.diff(cdf, axis=1, prepend=0.0), 0.0)
        far = about.mean + FAR_TOTAL_SDS * (math.sqrt(about.variance) + 1.0)
        tables.append(convolved_counts(p, width=math.ceil(far / step) + 1))
        steps.append(step)
    return TotalTables(tables=tables, step=np.array(steps))


def _cumulants(
    law: Law, sets: RowSets, mean: FloatArray, sd: FloatArray, zeros: FloatArray
) -> list[Cumulants]:
    """Return the cumulants of the total of each set.

    `mean`, `sd` and `zeros`, the probability of 0, are those of all n rows.
    """
    each = max(1, min(CUMULANT_ROWS, MOST_CUMULANT_ROWS // sets.count))
    parts = [sets.rows[sets.part(number)] for number in range(sets.count)]
    some = [rows[:: -(-len(rows) // each)] for rows in parts]
    chosen = np.unique(np.concatenate(some))
    third = np.zeros(len(mean))
    third[chosen] = third_cumulants(law.take(chosen), mean[chosen], sd[chosen])
    found = []
    for rows, few in zip(parts, some, strict=True):
        few_variance = max(float(np.square(sd[few]).sum()), LEAST_PROBABILITY)
        cumulants = Cumulants(
            mean=float(mean[rows].sum()),
            variance=max(float(np.square(sd[rows]).sum()), LEAST_PROBABILITY),
            ratio=float(third[few].sum()) / few_variance,
            log_none=float(np.log(np.maximum(zeros[rows], LEAST_PROBABILITY)).sum()),
        )
        found.append(cumulants)
    return found


def _matched(observed: FloatArray, cumulants: Sequence[Cumulants]) -> TiltedSums:
    """Return totals (S,), all skewed to the same side, by a gamma law."""
    side = -1.0 if cumulants[0].ratio < 0 else 1.0
    mean = side * np.array([one.mean for one in cumulants])
    variance = np.array([one.variance for one in cumulants])
    ratio = np.maximum([abs(one.ratio) for one in cumulants], LEAST_RATIO)
    scale = 0.5 * ratio
    shape = variance / np.square(scale)
    sums = GammaSums(
        observed=side * observed, shape=shape, scale=scale, offset=mean - scale * shape
    )
    return sums if side > 0 else MirroredSums(sums)


def third_cumulants(law: Law, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Return E[(Y − mean)³] of r rows with means and standard deviations (r,), (r,).

    The CDF is evaluated at single counts and then in steps; within a step probabilities are
    taken as equal.
    """
    points = _points(mean, sd)
    cdf = np.stack([law.cdf(at) for at in points.T], axis=1).reshape(points.shape)
    cdf[:, -1] = 1.0
    p = np.maximum(np.diff(cdf, axis=1), 0.0)
    first = points[:, :-1] + 1.0
    middle = 0.5 * (first + points[:, 1:]) - mean[:, None]
    # The variance of equally probable counts, `width` of them.
    width = np.maximum(np.diff(points, axis=1), 1.0)
    within = (width**2 - 1.0) / 12.0
    return np.asarray((p * (middle**3 + 3.0 * middle * within)).sum(axis=1))


def _points(mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Return the counts at which the CDF of each row is evaluated, increasing, (r, P)."""
    single = np.arange(-1.0, SINGLE_COUNTS)
    steps = np.arange(-NEAR_SDS, FAR_SDS, 1.0 / POINTS_PER_SD)
    spread = np.ceil(mean[:, None] + sd[:, None] * steps)
    last = spread[:, -1:] + SINGLE_COUNTS
    small = np.broadcast_to(single, (len(mean), len(single)))
    points = np.concatenate([small, spread, last], axis=1)
    return np.asarray(np.sort(np.maximum(points, -1.0), axis=1))
