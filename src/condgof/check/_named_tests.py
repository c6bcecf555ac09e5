"""Tests of rows that are named beforehand: for each kind of error the sharpest one.

A set of rows has one test for each number that is reported of it: the mean of normal scores
by their normal law, their spread by χ², shares by the binomial law or that of events with
different probabilities, events of censored times and totals of counts by Poisson's. Test k
has a weight w_k, the weights of a set add up to 1, and the p-value of the set is
min_k p_k/w_k. Most of the weight is on the kind of error that is looked for first (bias, a
class, events), so that a set is found about as often as by a test of that kind alone.

Intervals are those of the same tests, at the level w_k·a_j where Holm's procedure tests the
set at level a_j. So a set has an interval that excludes what is predicted if, and only if,
its adjusted p-value is at most α.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import (
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    log_ndtr,
    ndtri,
    stdtr,
    stdtrit,
)

from condgof._typing import AnyArray, FloatArray
from condgof.check._findings import HALF_WIDTH_50, OUTLIER_PROBABILITY, Reader
from condgof.check._quantities import Signal
from condgof.check._record import Finding
from condgof.check._tails import (
    BinomialSums,
    Ends,
    PoissonSums,
    RowSets,
    TiltedSums,
    chi_square_bound,
    event_sums,
    log_or_bound,
)

#: The share of the level that the mean of normal scores has. A test of the mean alone has
#: more power by 0.027 at most, at one group and a power of one half
#: (docs/dev/named_groups.md).
MEAN_WEIGHT = 0.85
#: The share of the spread of normal scores beside it.
SPREAD_WEIGHT = 0.09
#: Events, observed and expected together, with which both tails of a Poisson law are used.
MANY_EVENTS = 30.0
#: Where more than this share of normal scores are equal to the largest, they end there.
ENDED = 0.1
#: The smallest p-value that is reported.
LEAST_PVALUE = 1e-300
#: What takes the place of 0 in a denominator.
TINY = 1e-300
#: The least standard deviation that another one is divided by: its square is above 0.
LEAST_SD = 1e-150
#: How near to 1 a correlation may be, whose arctanh is finite.
NEAREST_TO_ONE = 1e-12
#: The least 1 − r² of a correlation r: below, it is rounding.
LEAST_UNEXPLAINED = 1e-15
#: The least number of rows without an event, and the least that `rise` is above 1.
SLIGHTLY = 1e-9


class NamedTest(ABC):
    """The test of one number in S sets of rows."""

    weight: float  #: Its share of the level of a set.

    @property
    @abstractmethod
    def log_pvalues(self) -> FloatArray:
        """Logarithms of the p-values of two-sided tests, (S,)."""

    @abstractmethod
    def intervals(self, level: FloatArray) -> Ends:
        """Return what tests of `level` (S,) do not reject."""

    @abstractmethod
    def finding(self, number: int, *, rejected: bool) -> Finding | None:
        """Return the number of a set, with an interval of no width; None if it has none.

        `rejected` says whether the test rejects.
        """

    def robust_interval(
        self, number: int, level: float, rejected: Collection[Signal]
    ) -> tuple[float, float] | None:
        """Return an interval that other errors of the model do not make too short.

        `rejected` is what tests of the set reject. None where the interval of the test will
        do.
        """
        return None


@dataclass(frozen=True, eq=False)
class Scores:
    """Normal scores of one column of y in S sets, with outliers moved towards the rest.

    An outlier is further from the median of its set than any of all n rows of the check
    should be, also if the set spreads as its middle half does, and is moved to where an
    outlier begins. So one wild row decides neither a mean nor a spread. Under the model one
    of them has a probability of 0.001 at most, and otherwise nothing is changed.
    """

    sets: RowSets
    observed: FloatArray  #: With outliers where they are, (M,).
    z: FloatArray  #: With outliers moved, (M,).
    column: str
    several: bool = False  #: Whether y has other columns.
    draws: int = 0  #: How many draws of each row the law is known by; 0 for other laws.

    @classmethod
    def from_rows(
        cls,
        sets: RowSets,
        z: FloatArray,
        column: str,
        *,
        several: bool = False,
        draws: int = 0,
    ) -> Scores:
        """Take the scores z (n,) of all rows of a check."""
        observed = z[sets.rows]
        scores = observed
        reach = -float(ndtri(0.5 * OUTLIER_PROBABILITY / len(z)))
        if np.abs(scores).max(initial=0.0) > reach:
            parts = [scores[sets.part(number)] for number in range(sets.count)]
            low, middle, high = np.stack(
                [np.quantile(part, (0.25, 0.5, 0.75)) for part in parts], axis=1
            )
            reaches = reach * np.maximum((high - low) / (2.0 * HALF_WIDTH_50), 1.0)
            ends = Ends(low=middle - reaches, high=middle + reaches)
            scores = np.clip(scores, ends.low[sets.number], ends.high[sets.number])
        return cls(
            sets=sets,
            observed=observed,
            z=scores,
            column=column,
            several=several,
            draws=draws,
        )

    @property
    def numbers(self) -> dict[str, int]:
        """What sentences say beside."""
        return {"several": self.several, "draws": self.draws}

    @property
    def means(self) -> FloatArray:
        return self.sets.sums(self.z) / self.sets.sizes

    @property
    def squares(self) -> FloatArray:
        """Σ(z − mean)² of each set, (S,)."""
        return self.sets.sums(np.square(self.z - self.means[self.sets.number]))

    def sd(self, number: int) -> float:
        return float(np.std(self.z[self.sets.part(number)], ddof=1))

    @cached_property
    def plain_means(self) -> FloatArray:
        """Means with outliers where they are, (S,)."""
        return self.sets.sums(self.observed) / self.sets.sizes

    @cached_property
    def plain_sds(self) -> FloatArray:
        """Standard deviations with outliers where they are, (S,)."""
        away = self.observed - self.plain_means[self.sets.number]
        df = np.maximum(self.sets.sizes - 1, 1)
        return np.sqrt(self.sets.sums(np.square(away)) / df)


@dataclass(frozen=True, eq=False)
class MeanTest(NamedTest):
    """The mean of m normal scores is N(0, 1/m)."""

    scores: Scores
    weight: float

    @cached_property
    def log_pvalues(self) -> FloatArray:
        z = np.abs(self.scores.means) * np.sqrt(self.scores.sets.sizes)
        return np.asarray(np.minimum(math.log(2.0) + log_ndtr(-z), 0.0))

    def intervals(self, level: FloatArray) -> Ends:
        """Return the mean ± half the width, further out where outliers lie."""
        half = -ndtri(0.5 * level) / np.sqrt(self.scores.sets.sizes)
        means = self.scores.means
        plain = self.scores.plain_means
        low = np.where(plain < means, plain, means) - half
        return Ends(
            low=np.where(means > 0, means - half, low),
            high=np.where(means < 0, means + half, np.maximum(plain, means) + half),
        )

    def finding(self, number: int, *, rejected: bool) -> Finding:
        mean = float(self.scores.plain_means[number])
        if rejected and mean * self.scores.means[number] < 0:
            mean = float(self.scores.means[number])  # no outlier turns the direction
        return Finding(
            kind="shift",
            column=self.scores.column,
            estimate=mean,
            interval=(mean, mean),
            expected=0.0,
            quantity="mean",
            numbers=self.scores.numbers,
        )

    def robust_interval(
        self, number: int, level: float, rejected: Collection[Signal]
    ) -> tuple[float, float] | None:
        """Return Student's interval, where the spread may be another than predicted."""
        m = int(self.scores.sets.sizes[number])
        if Signal("spread", self.scores.column) not in rejected or m < 2:
            return None
        mean = float(self.scores.means[number])
        half = -float(stdtrit(m - 1, 0.5 * level)) * self.scores.sd(number) / math.sqrt(m)
        return mean - half, mean + half


@dataclass(frozen=True, eq=False)
class SpreadTest(NamedTest):
    """Σ(z − mean)² of m normal scores is χ² with m − 1 degrees of freedom."""

    scores: Scores
    weight: float
    reader: Reader

    @cached_property
    def log_pvalues(self) -> FloatArray:
        df = np.maximum(self.scores.sets.sizes - 1, 1)
        squares = self.scores.squares
        bound = chi_square_bound(squares, df)
        upper = log_or_bound(gammaincc(0.5 * df, 0.5 * squares), bound)
        lower = log_or_bound(gammainc(0.5 * df, 0.5 * squares), bound)
        two_sided = np.minimum(math.log(2.0) + np.minimum(upper, lower), 0.0)
        return np.where(self._is_known, two_sided, 0.0)

    @cached_property
    def _is_known(self) -> AnyArray:
        """Whether each set has a spread, (S,): two rows, and scores that do not end.

        Scores are equal where the law has no more digits, and there they say nothing.
        """
        sets = self.scores.sets
        size = np.abs(self.scores.observed)
        largest = np.zeros(sets.count)
        np.maximum.at(largest, sets.number, size)
        ended = sets.sums(size >= largest[sets.number])
        return np.asarray((sets.sizes > 1) & (ended <= np.maximum(1, ENDED * sets.sizes)))

    def intervals(self, level: FloatArray) -> Ends:
        half_df = 0.5 * np.maximum(self.scores.sets.sizes - 1, 1)
        squares = self.scores.squares
        most = 2.0 * gammainccinv(half_df, 0.5 * level)
        least = np.maximum(2.0 * gammaincinv(half_df, 0.5 * level), TINY)
        # Outliers make the data spread more, and the interval goes as far up.
        sd = np.sqrt(squares / (2.0 * half_df))
        wider = np.maximum(self.scores.plain_sds / np.maximum(sd, LEAST_SD), 1.0)
        high = np.sqrt(squares / least)
        return Ends(
            low=np.sqrt(squares / most), high=np.where(sd < 1.0, high, high * wider)
        )

    def finding(self, number: int, *, rejected: bool) -> Finding | None:
        if not self._is_known[number]:
            return None
        sd = float(self.scores.plain_sds[number])
        if rejected and (sd - 1.0) * (self.scores.sd(number) - 1.0) < 0:
            sd = self.scores.sd(number)  # no outlier turns the direction
        return Finding(
            kind="spread",
            column=self.scores.column,
            estimate=sd,
            interval=(sd, sd),
            expected=1.0,
            quantity="sd",
            numbers=self.scores.numbers,
        )

    def robust_interval(
        self, number: int, level: float, rejected: Collection[Signal]
    ) -> tuple[float, float] | None:
        """Return Bonett's interval, which heavy tails do not make too short."""
        part = self.scores.sets.part(number)
        reader = replace(self.reader, reach=-float(ndtri(0.5 * level)))
        rows = self.scores.sets.rows[part]
        low, high = reader.spread(rows, self.scores.z[part]).interval
        return low, high


@dataclass(frozen=True, eq=False)
class ShareTest(NamedTest):
    """How often something happened, of known probabilities."""

    weight: float
    sets: RowSets
    happened: AnyArray  #: Booleans, (M,).
    expected: FloatArray  #: The mean probability in each set, (S,).
    sums: TiltedSums
    template: Finding  #: What is the same in all sets.

    @cached_property
    def log_pvalues(self) -> FloatArray:
        return self.sums.log_pvalues()

    @classmethod
    def from_events(
        cls,
        about: Signal,
        weight: float,
        sets: RowSets,
        happened: AnyArray,
        probability: AnyArray | float,
        *,
        quantity: str = "",
        several: bool = False,
    ) -> ShareTest:
        """Test events (M,) of a probability for each row (M,), or one for all."""
        happened = np.asarray(happened, dtype=bool)
        each = np.broadcast_to(np.asarray(probability, dtype=np.float64), happened.shape)
        if np.ndim(probability):
            expected = sets.sums(each) / sets.sizes
            sums = event_sums(sets, happened, each)
        else:
            expected = np.full(sets.count, float(probability))
            trials = sets.sizes.astype(np.float64)
            sums = BinomialSums(sets.sums(happened), trials, expected)
        template = Finding(
            kind=about.kind,
            column=about.column,
            estimate=0.0,
            interval=(0.0, 0.0),
            expected=0.0,
            label=about.label,
            quantity=quantity or about.kind,
            numbers={"several": several},
        )
        return cls(
            weight=weight,
            sets=sets,
            happened=happened,
            expected=expected,
            sums=sums,
            template=template,
        )

    def intervals(self, level: FloatArray) -> Ends:
        low, high = self.sums.mean_intervals(level)
        return Ends(low=low / self.sets.sizes, high=high / self.sets.sizes)

    def finding(self, number: int, *, rejected: bool) -> Finding:
        share = float(np.mean(self.happened[self.sets.part(number)]))
        return replace(
            self.template,
            estimate=share,
            interval=(share, share),
            expected=float(self.expected[number]),
            numbers={**self.template.numbers, "n": int(self.sets.sizes[number])},
        )


@dataclass(frozen=True, eq=False)
class SkewTest(NamedTest):
    """As many rows lie above the 95% quantile as below the 5% quantile.

    Given the number N of both together, the number above is binomial of N and ½.
    """

    scores: Scores
    weight: float
    above: FloatArray  #: How many rows lie above, (S,).
    below: FloatArray  #: (S,).

    @cached_property
    def log_pvalues(self) -> FloatArray:
        return self._sums.log_pvalues()

    @classmethod
    def from_scores(cls, scores: Scores, weight: float, half_width: float) -> SkewTest:
        return cls(
            scores=scores,
            weight=weight,
            above=scores.sets.sums(scores.observed > half_width),
            below=scores.sets.sums(scores.observed < -half_width),
        )

    @property
    def _sums(self) -> BinomialSums:
        both = self.above + self.below
        return BinomialSums(self.above, both, np.full(len(both), 0.5))

    def intervals(self, level: FloatArray) -> Ends:
        """Return the shares above less below, for the number of both that was observed.

        Where there is none, the share of either is at most that which has no row with the
        probability level/2.
        """
        both = self.above + self.below
        sizes = self.scores.sets.sizes
        low, high = self._sums.mean_intervals(level)
        none = -np.expm1(np.log(0.5 * level) / sizes)
        return Ends(
            low=np.where(both > 0, (2.0 * low - both) / sizes, -none),
            high=np.where(both > 0, (2.0 * high - both) / sizes, none),
        )

    def finding(self, number: int, *, rejected: bool) -> Finding:
        m = float(self.scores.sets.sizes[number])
        above = float(self.above[number]) / m
        below = float(self.below[number]) / m
        return Finding(
            kind="skew",
            column=self.scores.column,
            estimate=above - below,
            interval=(above - below, above - below),
            expected=0.0,
            quantity="skew",
            numbers={"several": self.scores.several, "above": above, "below": below},
        )


@dataclass(frozen=True, eq=False)
class CorrelationTest(NamedTest):
    """The correlation of two independent columns of m normal scores, by Student's t."""

    column: str  #: "a and b".
    weight: float
    first: Scores
    second: Scores

    @cached_property
    def correlation(self) -> FloatArray:
        """That of each set, (S,)."""
        sets = self.first.sets
        one = self.first.z - self.first.means[sets.number]
        other = self.second.z - self.second.means[sets.number]
        scale = np.sqrt(self.first.squares * self.second.squares)
        r = sets.sums(one * other) / np.maximum(scale, TINY)
        return np.clip(r, -1.0, 1.0)

    @cached_property
    def log_pvalues(self) -> FloatArray:
        r = self.correlation
        t = np.abs(r) * np.sqrt(self._df / np.maximum(1.0 - r**2, LEAST_UNEXPLAINED))
        p = np.maximum(2.0 * stdtr(self._df, -t), LEAST_PVALUE)
        return np.asarray(np.where(self._is_known, np.log(p), 0.0))

    @property
    def _df(self) -> FloatArray:
        return np.asarray(np.maximum(self.first.sets.sizes - 2.0, 1.0))

    @property
    def _is_known(self) -> AnyArray:
        return np.asarray(self.first.sets.sizes > 3)

    def intervals(self, level: FloatArray) -> Ends:
        """Return arctanh r ± arctanh c, with the c that |r| exceeds at the level."""
        t = -stdtrit(self._df, 0.5 * level)
        half = np.arctanh(np.minimum(t / np.sqrt(self._df + t**2), 1.0 - NEAREST_TO_ONE))
        at = np.arctanh(
            np.clip(self.correlation, -1.0 + NEAREST_TO_ONE, 1.0 - NEAREST_TO_ONE)
        )
        return Ends(low=np.tanh(at - half), high=np.tanh(at + half))

    def finding(self, number: int, *, rejected: bool) -> Finding | None:
        if not self._is_known[number]:
            return None
        r = float(self.correlation[number])
        return Finding(
            kind="correlation",
            column=self.column,
            estimate=r,
            interval=(r, r),
            expected=0.0,
            quantity="correlation",
        )


@dataclass(frozen=True, eq=False)
class RatioTest(NamedTest):
    """A number of events, or a total of counts, over that predicted."""

    weight: float
    observed: FloatArray  #: (S,).
    expected: FloatArray  #: (S,).
    sums: TiltedSums
    template: Finding  #: What is the same in all sets.
    #: Where none was observed, and less than this is expected, there is no finding.
    least_expected: float = 0.0

    @cached_property
    def log_pvalues(self) -> FloatArray:
        return self.sums.log_pvalues()

    @property
    def _divisor(self) -> FloatArray:
        return np.maximum(self.expected, TINY)

    def intervals(self, level: FloatArray) -> Ends:
        low, high = self.sums.mean_intervals(level)
        return Ends(low=low / self._divisor, high=high / self._divisor)

    def finding(self, number: int, *, rejected: bool) -> Finding | None:
        observed = float(self.observed[number])
        expected = float(self.expected[number])
        if not observed and expected < self.least_expected:
            return None
        ratio = observed / float(self._divisor[number])
        numbers = {**self.template.numbers, "count": whole(observed), "mean": expected}
        return replace(
            self.template, estimate=ratio, interval=(ratio, ratio), numbers=numbers
        )


def whole(value: float) -> float | int:
    """Return an integer where a number is one."""
    return int(value) if value == round(value) else value


def poisson_events(
    observed: FloatArray, expected: FloatArray, sizes: AnyArray
) -> PoissonSums:
    """Return numbers of events (S,) of `sizes` rows, given the expected number (S,).

    The expected number is Σ Λ over the time in which rows were observed. If all rows were
    observed until their event, it has the law of a sum of exponential numbers, and the
    Poisson tail P(N ≥ k) at it is exactly uniform; if events are rare, it hardly varies.
    In between, tests keep their level as well (tests/check/test_named_tests.py). Of few
    events, the expected number varies so much that values of the other side are not known,
    and the smaller tail is doubled, unless no event at all is more probable.
    """
    events_left = np.maximum(sizes - observed, SLIGHTLY)
    rise = np.maximum(sizes / events_left, 1.0 + SLIGHTLY)
    is_many = observed + expected >= MANY_EVENTS
    return PoissonSums(observed=observed, mean=expected, rise=np.where(is_many, 1.0, rise))


@dataclass(frozen=True, eq=False)
class SetDecisions:
    """S sets with their tests, and Holm's correction for their number."""

    tests: Sequence[NamedTest]
    alpha: float
    weighted: FloatArray  #: Logarithms of p_k/w_k, (tests, S).
    pvalues: FloatArray  #: Adjusted, (S,).
    levels: FloatArray  #: At which Holm's procedure tests each set, (S,).

    @classmethod
    def from_tests(cls, tests: Sequence[NamedTest], alpha: float) -> SetDecisions:
        weighted = np.stack([test.log_pvalues - math.log(test.weight) for test in tests])
        own = np.exp(np.clip(weighted.min(axis=0), math.log(LEAST_PVALUE), 0.0))
        return cls(
            tests=tests,
            alpha=alpha,
            weighted=weighted,
            pvalues=holm(own),
            levels=holm_levels(own, alpha),
        )

    def findings(self) -> list[tuple[Finding, ...]]:
        """Return the findings of each set, the leading one first, with their intervals."""
        ends = [test.intervals(test.weight * self.levels) for test in self.tests]
        return [self._of_set(number, ends) for number in range(len(self.levels))]

    def _of_set(self, number: int, ends: Sequence[Ends]) -> tuple[Finding, ...]:
        """Return the findings of one set; `ends` are those of each test, (S,) each."""
        level = float(self.levels[number])
        weighted = self.weighted[:, number]
        order = np.argsort(weighted, kind="stable")
        rejects = np.zeros(len(self.tests), dtype=bool)
        if self.pvalues[number] <= self.alpha:
            rejects = weighted <= math.log(level)
            rejects[order[0]] = True  # it is what rejects the set
        findings: dict[int, Finding] = {}
        for k in order:
            finding = self.tests[k].finding(number, rejected=bool(rejects[k]))
            if finding is not None:
                interval = (float(ends[k].low[number]), float(ends[k].high[number]))
                findings[int(k)] = with_interval(
                    finding, interval, rejected=bool(rejects[k])
                )
        rejected = [own.about for k, own in findings.items() if rejects[k]]
        certain = []
        for k, own in findings.items():
            if rejects[k]:
                test = self.tests[k]
                robust = test.robust_interval(number, test.weight * level, rejected)
                certain.append(_Rejected(own, robust or own.interval))
        others = [own for k, own in findings.items() if not rejects[k]]
        return (*_ordered(certain), *others)


@dataclass(frozen=True)
class _Rejected:
    """A finding whose test rejects, and an interval that other errors do not shorten."""

    finding: Finding  #: With the interval of its test.
    robust: tuple[float, float]

    @property
    def wide(self) -> Finding:
        """The finding with an interval that holds both."""
        low, high = self.finding.interval
        return replace(
            self.finding, interval=(min(low, self.robust[0]), max(high, self.robust[1]))
        )

    @property
    def telling(self) -> Finding:
        """The finding with the end of its test on the side of what is predicted."""
        low, high = self.finding.interval
        wide_low, wide_high = self.wide.interval
        is_larger = self.finding.estimate > self.finding.expected
        ends = (low, wide_high) if is_larger else (wide_low, high)
        return replace(self.finding, interval=ends)


def _ordered(rejected: Sequence[_Rejected]) -> tuple[Finding, ...]:
    """Put the leading finding first; `rejected` are in the order of their p-values.

    It is the first that tells by its wide interval, too: a mean that differs only because
    the data spread more than predicted does not lead. If there is none, the first keeps the
    end of its test, so that what was rejected is shown.
    """
    if not rejected:
        return ()
    wide = [one.wide for one in rejected]
    if not any(finding.telling for finding in wide):
        return (rejected[0].telling, *wide[1:])
    return tuple(sorted(wide, key=lambda finding: not finding.telling))


def with_interval(
    finding: Finding, interval: tuple[float, float], *, rejected: bool
) -> Finding:
    """Return a finding with the interval of a test, which agrees with its decision.

    The interval holds the estimate. It comes from the test, and rounding alone could make
    it hold what the test rejects, or the reverse.
    """
    low = min(interval[0], finding.estimate)
    high = max(interval[1], finding.estimate)
    expected = finding.expected
    if not rejected:
        low = min(low, expected)
        high = max(high, expected)
    elif low <= expected <= high:
        if finding.estimate > expected:
            low = math.nextafter(expected, math.inf)
        elif finding.estimate < expected:
            high = math.nextafter(expected, -math.inf)
    return replace(finding, interval=(low, high))


def holm(pvalues: FloatArray) -> FloatArray:
    """Return Holm's adjusted p-values, (S,)."""
    order = np.argsort(pvalues, kind="stable")
    stepped = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    return np.asarray(np.minimum(stepped, 1.0)[np.argsort(order)])


def holm_levels(pvalues: FloatArray, alpha: float) -> FloatArray:
    """Return the level at which Holm's procedure tests each of S hypotheses, (S,).

    The p-value of rank j, counted from 0, is compared with alpha/(S − j), and the procedure
    ends with the first that is larger. All that are left are tested at the level of this
    one.
    """
    count = len(pvalues)
    order = np.argsort(pvalues, kind="stable")
    left = np.arange(count, 0, -1)
    steps = alpha / left
    is_larger = pvalues[order] * left > alpha
    rejected = int(is_larger.argmax()) if is_larger.any() else count
    levels = np.where(np.arange(count) < rejected, steps, steps[min(rejected, count - 1)])
    return np.asarray(levels[np.argsort(order)])
