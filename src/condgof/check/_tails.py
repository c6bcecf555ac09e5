"""Exact two-sided tests, and their intervals, of sums over sets of rows.

A sum X of independent counts is one member, η = 0, of the exponential family

    P_η(X = j) ∝ P(X = j)·exp(ηj),

in which the odds of each event, or the rate of each count, are exp(η) times as large. Tails
of X increase or decrease with η, so that an interval is the set of all η that a test of
level a does not reject, and excludes η = 0 exactly where the p-value is at most a.

The two-sided p-value is Blaker's (2000, Canadian Journal of Statistics 28): the smaller of
the two tails P(X ≥ k) and P(X ≤ k), plus the largest tail of the other side that is not
larger than it. It is at most twice the smaller tail, and less where values of the other
side are few, as for rare events, where a test of one side is one of both. At most a of the
samples have a p-value of at most a.

S is the number of sets, m that of the rows of a set.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import (
    betainc,
    expit,
    gammainc,
    gammaincc,
    log_ndtr,
    logit,
    xlogy,
)

from condgof._typing import AnyArray, FloatArray, IntArray

#: Sums of at most this many events with different probabilities are convolved; tails of
#: larger ones are saddlepoint approximations, whose relative error is below 3%, and below
#: 1e-3 where the sum has a standard deviation of 10 or more (tests/check/test_tails.py).
CONVOLVED_EVENTS = 512
#: How far from 0 the parameter η can lie: exp(40) times the odds.
LARGEST_TILT = 40.0
#: Halvings of the range of η, which end at a width of 1e-8: intervals have few digits.
HALVINGS = 33
#: Most steps of Newton's method for a saddlepoint.
NEWTON_STEPS = 60
#: It ends where all saddlepoints move by less than this, relative to 1 and to their size.
NEWTON_PRECISION = 1e-10
#: A saddlepoint this near to 0 is that of the mean, where the tail is about one half.
NEAR_MEAN = 1e-5
#: What takes the place of 0 in a denominator or a logarithm.
TINY = 1e-300
#: The largest mean probability of events that are not certain: 1 less rounding.
LARGEST_PROBABILITY = 1.0 - 1e-16
#: Probabilities that differ by less than this, relative to their mean, are equal.
EQUAL = 1e-12
#: The largest exponent that a double has, about.
LARGEST_EXPONENT = 700.0
#: Relative rounding error of tails that are compared with each other.
ROUNDING = 1e-9
#: Values of a Poisson number that lie further above its mean, in standard deviations, have
#: probabilities below any that are compared.
FAR_SDS = 40.0
#: Below this logarithm a probability may be 0 as a double; Chernoff's bound stands for it.
LEAST_LOG = -650.0


@dataclass(frozen=True, eq=False)
class RowSets:
    """S sets of rows of a check, which may have rows in common."""

    rows: IntArray  #: The positions of the rows of all sets, one set after the other, (M,).
    number: IntArray  #: Which set each of these belongs to, (M,).
    sizes: IntArray  #: How many rows each set has, (S,).

    @classmethod
    def from_rows(cls, sets: list[IntArray]) -> RowSets:
        sizes = np.array([len(rows) for rows in sets], dtype=np.int64)
        return cls(
            rows=np.concatenate(sets),
            number=np.repeat(np.arange(len(sets)), sizes),
            sizes=sizes,
        )

    @property
    def count(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> IntArray:
        """Where the rows of each set begin, (S,)."""
        return np.cumsum(self.sizes) - self.sizes

    def sums(self, values: AnyArray) -> FloatArray:
        """Return the sum over each set of values (M,) of its rows, (S,)."""
        weights = np.asarray(values, dtype=np.float64)
        sums = np.bincount(self.number, weights, minlength=self.count)
        return np.asarray(sums, dtype=np.float64)

    def part(self, number: int) -> slice:
        """Return where the rows of a set are among those of all sets."""
        start = int(self.starts[number])
        return slice(start, start + int(self.sizes[number]))

    def take(self, numbers: IntArray) -> RowSets:
        """Return some of the sets."""
        return RowSets.from_rows([self.rows[self.part(int(one))] for one in numbers])


class Tails(NamedTuple):
    """Logarithms of probabilities of a sum X that was observed to be k, (S,) each."""

    upper: FloatArray  #: P(X ≥ k).
    lower: FloatArray  #: P(X ≤ k).
    #: The largest P(X ≤ j) that is at most P(X ≥ k), or a bound of it.
    opposite_upper: FloatArray
    #: The largest P(X ≥ j) that is at most P(X ≤ k), or a bound of it.
    opposite_lower: FloatArray


class Ends(NamedTuple):
    """The ends of intervals, (S,) each."""

    low: FloatArray
    high: FloatArray


class TiltedSums(ABC):
    """S observed sums, each with the exponential family of its predicted distribution."""

    @property
    @abstractmethod
    def count(self) -> int:
        """S."""

    @abstractmethod
    def tails(self, tilt: FloatArray) -> Tails:
        """Return the tails under P_η, with η (S,)."""

    @abstractmethod
    def means(self, tilt: FloatArray) -> FloatArray:
        """Return E_η[X], (S,)."""

    def log_pvalues(self) -> FloatArray:
        """Return the logarithms of the two-sided p-values, (S,)."""
        tails = self.tails(np.zeros(self.count))
        return np.minimum(_log_upper_pvalue(tails), _log_lower_pvalue(tails))

    def mean_intervals(self, level: FloatArray) -> Ends:
        """Return the means E_η[X] that tests of `level` (S,) do not reject.

        Both ends are found by halving the range of η, of which 0 is the middle, so that
        the first step is the test of the prediction itself.
        """
        log_level = np.log(level)

        def is_below(tilt: FloatArray) -> AnyArray:
            return np.asarray(_log_upper_pvalue(self.tails(tilt)) <= log_level)

        def is_below_upper_end(tilt: FloatArray) -> AnyArray:
            return np.asarray(_log_lower_pvalue(self.tails(tilt)) > log_level)

        low = _last_true(is_below, self.count)
        high = _last_true(is_below_upper_end, self.count)
        return Ends(low=self.means(low), high=self.means(high))


def _log_upper_pvalue(tails: Tails) -> FloatArray:
    return np.minimum(np.logaddexp(tails.upper, tails.opposite_upper), 0.0)


def _log_lower_pvalue(tails: Tails) -> FloatArray:
    return np.minimum(np.logaddexp(tails.lower, tails.opposite_lower), 0.0)


def _at_most(log_tail: FloatArray, log_least: FloatArray) -> FloatArray:
    """Bound the opposite tail, (S,): it is at most the tail, or 0 if all are larger.

    `log_least` is the logarithm of the smallest tail of the other side.
    """
    return np.where(log_tail < log_least, -np.inf, log_tail)


def _last_true(holds: Callable[[FloatArray], AnyArray], count: int) -> FloatArray:
    """Return about the largest η, (count,), at which a condition that ends once holds."""
    low = np.full(count, -LARGEST_TILT)
    high = np.full(count, LARGEST_TILT)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        true = holds(middle)
        low = np.where(true, middle, low)
        high = np.where(true, high, middle)
    return np.asarray(0.5 * (low + high))


def log_or_bound(probability: AnyArray, bound: AnyArray) -> FloatArray:
    """Return log of probabilities (S,), or of bounds of them where they are too small."""
    with np.errstate(divide="ignore"):
        log = np.log(probability)
    return np.asarray(np.where(log > LEAST_LOG, log, np.minimum(bound, LEAST_LOG)))


@dataclass(frozen=True, eq=False)
class BinomialSums(TiltedSums):
    """Events of one probability in all rows of a set."""

    observed: FloatArray  #: How many came, (S,).
    trials: FloatArray  #: Of how many, (S,).
    probability: FloatArray  #: Under the model, between 0 and 1, (S,).

    @property
    def count(self) -> int:
        return len(self.observed)

    def tails(self, tilt: FloatArray) -> Tails:
        k = self.observed
        n = self.trials
        p = expit(logit(self.probability) + tilt)
        rest = expit(-logit(self.probability) - tilt)
        # Chernoff's bound of either tail, exp(−n·KL(k/n, p)).
        bound = xlogy(k, n * p) - xlogy(k, k) + xlogy(n - k, n * rest) - xlogy(n - k, n - k)
        upper = _binomial_upper(k, n, p)
        lower = _binomial_upper(n - k, n, rest)
        return Tails(
            upper=log_or_bound(upper, bound),
            lower=log_or_bound(lower, bound),
            opposite_upper=_log_opposite(upper, lambda j: _binomial_upper(j, n, rest), n),
            opposite_lower=_log_opposite(lower, lambda j: _binomial_upper(j, n, p), n),
        )

    def means(self, tilt: FloatArray) -> FloatArray:
        return np.asarray(self.trials * expit(logit(self.probability) + tilt))


def _binomial_upper(k: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    """Return P(X ≥ k) of a binomial number X, (S,)."""
    inside = betainc(np.maximum(k, 0.5), np.maximum(n - k, 0.0) + 1.0, p)
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside)))


def _log_opposite(
    tail: FloatArray, upper: Callable[[FloatArray], FloatArray], most: FloatArray
) -> FloatArray:
    """Return the logarithm of the largest P(Y ≥ j) that is at most a tail, (S,).

    Y is what X is, seen from the other side, and has values up to `most` (S,); `upper`
    gives P(Y ≥ j). The smallest such j is found by halving.
    """
    low = np.zeros(len(tail))  # P(Y ≥ 0) = 1 is larger
    high = most + 1.0
    allowed = tail * (1.0 + ROUNDING)
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        is_small = upper(middle) <= allowed
        high = np.where(is_small & (high - low > 1.0), middle, high)
        low = np.where(~is_small & (high - low > 1.0), middle, low)
    with np.errstate(divide="ignore"):
        opposite = np.log(upper(high))
        # Of a tail that is 0 as a double, nothing is known.
        return np.where(tail > 0.0, opposite, -np.inf)


@dataclass(frozen=True, eq=False)
class PoissonSums(TiltedSums):
    """Poisson numbers."""

    observed: FloatArray  #: (S,).
    mean: FloatArray  #: Under the model, (S,).
    #: P(no event) is exp(−`rise`·mean), at most that of a Poisson number, (S,). It is above
    #: 1 where events end the time in which a row is observed, so that the expected number
    #: would be larger without them.
    rise: FloatArray

    @property
    def count(self) -> int:
        return len(self.observed)

    def tails(self, tilt: FloatArray) -> Tails:
        k = self.observed
        mean = np.maximum(self.mean * np.exp(tilt), TINY)
        bound = _log_poisson_bound(k, mean)
        upper = np.where(k > 0, gammainc(np.maximum(k, 0.5), mean), 1.0)
        lower = gammaincc(k + 1.0, mean)
        log_upper = log_or_bound(upper, bound)
        log_lower = log_or_bound(lower, bound)
        # Where the mean is itself random, values of the other side are not known.
        is_plain = self.rise == 1.0
        with np.errstate(divide="ignore"):
            bounded = _at_most(np.log(upper), -self.rise * mean)
            opposite_upper = np.where(is_plain, _poisson_below(upper, mean), bounded)
            opposite_lower = np.where(is_plain, _poisson_above(lower, mean), np.log(lower))
        return Tails(
            upper=log_upper,
            lower=log_lower,
            opposite_upper=opposite_upper,
            opposite_lower=opposite_lower,
        )

    def means(self, tilt: FloatArray) -> FloatArray:
        return np.asarray(self.mean * np.exp(tilt))


def _poisson_below(tail: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the logarithm of the largest P(N ≤ j) that is at most a tail, (S,)."""
    most = np.ceil(mean)

    def lower_tail(j: FloatArray) -> FloatArray:
        """Return P(N ≤ most − j), which is 0 for j > most."""
        inside = gammaincc(np.maximum(most - j, 0.0) + 1.0, mean)
        return np.where(j > most, 0.0, inside)

    return _log_opposite(tail, lower_tail, most)


def _poisson_above(tail: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the logarithm of the largest P(N ≥ j) that is at most a tail, (S,)."""
    first = np.floor(mean)
    most = np.ceil(FAR_SDS * np.sqrt(mean) + FAR_SDS)

    def upper_tail(j: FloatArray) -> FloatArray:
        """Return P(N ≥ first + j)."""
        k = first + j
        return np.where(k > 0, gammainc(np.maximum(k, 0.5), mean), 1.0)

    return _log_opposite(tail, upper_tail, most)


def plain_poisson(observed: FloatArray, mean: FloatArray) -> PoissonSums:
    """Return Poisson numbers (S,) with their means (S,)."""
    return PoissonSums(observed, mean, rise=np.ones(len(observed)))


@dataclass(frozen=True, eq=False)
class GammaSums(TiltedSums):
    """Sums of counts by a gamma law, moved, that has their first three cumulants.

    X = offset + scale·G with G gamma of some shape, whose mean it is: shape = 4/skewness²,
    scale = κ₃/(2κ₂), offset = κ₁ − scale·shape. κ₃ is positive. P_η has exp(η) times the
    mean and the variance.
    """

    observed: FloatArray  #: (S,).
    shape: FloatArray  #: (S,).
    scale: FloatArray  #: (S,).
    offset: FloatArray  #: (S,).

    @property
    def count(self) -> int:
        return len(self.observed)

    def tails(self, tilt: FloatArray) -> Tails:
        rate = np.exp(tilt)
        shape = np.maximum(self.shape * rate, TINY)
        # X is a whole number, and has a tail from half below or above it on.
        above = (self.observed - 0.5 - self.offset * rate) / self.scale
        below = (self.observed + 0.5 - self.offset * rate) / self.scale
        upper = gammaincc(shape, np.maximum(above, 0.0))
        lower = gammainc(shape, np.maximum(below, 0.0))
        log_upper = log_or_bound(upper, _log_gamma_bound(above, shape))
        log_lower = log_or_bound(lower, _log_gamma_bound(below, shape))
        return Tails(
            upper=log_upper,
            lower=log_lower,
            opposite_upper=log_upper,
            opposite_lower=log_lower,
        )

    def means(self, tilt: FloatArray) -> FloatArray:
        return np.asarray((self.offset + self.scale * self.shape) * np.exp(tilt))


def _log_gamma_bound(value: FloatArray, shape: FloatArray) -> FloatArray:
    """Return the logarithm of Chernoff's bound of either tail of a gamma number."""
    ratio = np.maximum(value, TINY) / shape
    return np.asarray(-shape * (ratio - 1.0 - np.log(ratio)))


def _log_poisson_bound(k: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the logarithm of Chernoff's bound of either tail of a Poisson number."""
    return np.asarray(k - mean - xlogy(k, k) + xlogy(k, mean))


@dataclass(frozen=True, eq=False)
class TableSums(TiltedSums):
    """Sums whose probabilities are all known, from 0 to J steps.

    What was observed may lie between two steps. Then both tails begin with the step that
    makes them larger.
    """

    observed: FloatArray  #: In steps, (S,).
    log_probabilities: FloatArray  #: Of 0, 1, …, J steps under the model, (S, J + 1).
    step: FloatArray  #: The length of a step, (S,).

    @property
    def count(self) -> int:
        return len(self.observed)

    @classmethod
    def from_tables(
        cls, observed: FloatArray, tables: Sequence[FloatArray], step: FloatArray
    ) -> TableSums:
        """Make it of logarithms of probabilities, in an array for each sum.

        `observed` (S,) is in the unit of X, and `step` (S,) is the length of steps in it.
        """
        width = max(len(table) for table in tables)
        padded = np.full((len(tables), width), -np.inf)
        for row, table in zip(padded, tables, strict=True):
            row[: len(table)] = table
        return cls(observed / step, padded, step)

    @cached_property
    def _is_above(self) -> FloatArray:
        """1 for values that are at least what was observed, (S, J + 1)."""
        values = np.arange(self.log_probabilities.shape[1])
        return (values >= np.floor(self.observed)[:, None]).astype(np.float64)

    @cached_property
    def _is_below(self) -> FloatArray:
        """1 for values that are at most what was observed, (S, J + 1)."""
        values = np.arange(self.log_probabilities.shape[1])
        return (values <= np.ceil(self.observed)[:, None]).astype(np.float64)

    def _tilted(self, tilt: FloatArray) -> FloatArray:
        """Return P_η of all values, (S, J + 1)."""
        logs = self.log_probabilities + tilt[:, None] * np.arange(
            self.log_probabilities.shape[1]
        )
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def tails(self, tilt: FloatArray) -> Tails:
        p = self._tilted(tilt)
        upper = np.einsum("ij,ij->i", p, self._is_above)
        lower = np.einsum("ij,ij->i", p, self._is_below)
        from_below = np.cumsum(p, axis=1)
        from_above = np.cumsum(p[:, ::-1], axis=1)
        with np.errstate(divide="ignore"):
            return Tails(
                upper=np.log(upper),
                lower=np.log(lower),
                opposite_upper=np.log(_largest_up_to(from_below, upper)),
                opposite_lower=np.log(_largest_up_to(from_above, lower)),
            )

    def means(self, tilt: FloatArray) -> FloatArray:
        p = self._tilted(tilt)
        return np.asarray(self.step * (p @ np.arange(p.shape[1])))


def _largest_up_to(sums: FloatArray, limit: FloatArray) -> FloatArray:
    """Return the largest of increasing sums (S, J) that is at most a limit (S,), or 0."""
    is_small = sums <= (limit * (1.0 + ROUNDING))[:, None]
    return np.asarray(np.where(is_small, sums, 0.0).max(axis=1))


@dataclass(frozen=True, eq=False)
class EventSums(TiltedSums):
    """Events of different probabilities, whose tails are saddlepoint approximations.

    With the cumulant generating function K(s) = Σ log(1 − p + p·eˢ), and ŝ such that
    K'(ŝ) = k − ½,

        P(X ≥ k) ≈ Φ(−w) − φ(w)·(1/w − 1/u),
        w = sign(ŝ)·√(2(ŝ·(k − ½) − K(ŝ))),  u = 2·sinh(ŝ/2)·√K''(ŝ),

    which is Lugannani and Rice's formula with Daniels's second correction for a lattice.
    Under P_η the same ŝ gives ŝ − η, and K becomes K(s + η) − K(η).
    """

    sets: RowSets
    log_odds: FloatArray  #: Finite, of each row of all sets, (M,).
    observed: FloatArray  #: How many events came in each set, (S,).

    @property
    def count(self) -> int:
        return self.sets.count

    def cumulants(self, tilt: FloatArray) -> FloatArray:
        """Return K(η), (S,)."""
        at = self.log_odds + tilt[self.sets.number]
        growth = np.logaddexp(0.0, at) - np.logaddexp(0.0, self.log_odds)
        return self.sets.sums(growth)

    def means(self, tilt: FloatArray) -> FloatArray:
        return self.sets.sums(expit(self.log_odds + tilt[self.sets.number]))

    def _variances(self, tilt: FloatArray) -> FloatArray:
        p = expit(self.log_odds + tilt[self.sets.number])
        return self.sets.sums(p * (1.0 - p))

    def saddlepoints(self, values: FloatArray) -> FloatArray:
        """Return s with K'(s) = values, (S,), by Newton's method within bounds."""
        low = np.full(self.count, -2.0 * LARGEST_TILT)
        high = np.full(self.count, 2.0 * LARGEST_TILT)
        s = np.zeros(self.count)
        for _ in range(NEWTON_STEPS):
            difference = self.means(s) - values
            low = np.where(difference < 0, s, low)
            high = np.where(difference > 0, s, high)
            step = difference / np.maximum(self._variances(s), TINY)
            following = s - step
            inside = (following > low) & (following < high)
            following = np.where(inside, following, 0.5 * (low + high))
            moved = np.abs(following - s)
            s = np.where(difference == 0, s, following)
            if (moved <= NEWTON_PRECISION * (1.0 + np.abs(s))).all():
                break
        return s

    @cached_property
    def _upper(self) -> Saddlepoints:
        """Half below what was observed, for the upper tail."""
        return self._saddlepoints_at(self.observed - 0.5)

    @cached_property
    def _lower(self) -> Saddlepoints:
        """Half above what was observed, for the lower tail."""
        return self._saddlepoints_at(self.observed + 0.5)

    def _saddlepoints_at(self, values: FloatArray) -> Saddlepoints:
        # Beyond the range of X there is none; there the tail is 1.
        inside = np.clip(values, 0.5, self.sets.sizes - 0.5)
        s = self.saddlepoints(inside)
        return Saddlepoints(inside, s, self.cumulants(s), self._variances(s))

    def tails(self, tilt: FloatArray) -> Tails:
        k = self.observed
        m = self.sets.sizes
        growth = self.cumulants(tilt)
        smallest = self.sets.sums(-np.logaddexp(0.0, self.log_odds)) - growth
        largest = self.sets.sums(-np.logaddexp(0.0, -self.log_odds)) + m * tilt - growth
        upper = self._upper.log_tail(tilt, growth, sign=1.0)
        lower = self._lower.log_tail(tilt, growth, sign=-1.0)
        upper = np.where(k >= m, largest, np.where(k <= 0, 0.0, upper))
        lower = np.where(k <= 0, smallest, np.where(k >= m, 0.0, lower))
        return Tails(
            upper=upper,
            lower=lower,
            opposite_upper=_at_most(upper, smallest),
            opposite_lower=_at_most(lower, largest),
        )


class Saddlepoints(NamedTuple):
    """Where K' has some values, (S,) each."""

    value: FloatArray
    s: FloatArray
    cumulants: FloatArray  #: K(s).
    variances: FloatArray  #: K''(s).

    def log_tail(self, tilt: FloatArray, growth: FloatArray, *, sign: float) -> FloatArray:
        """Return log P_η(X > value), or of X < value with a sign of −1, (S,).

        `growth` is K(η).
        """
        s = sign * (self.s - tilt)
        square = 2.0 * ((self.s - tilt) * self.value - self.cumulants + growth)
        near = np.abs(s) < NEAR_MEAN
        w = np.where(s < 0, -1.0, 1.0) * np.sqrt(np.maximum(square, TINY))
        u = 2.0 * np.sinh(np.where(near, 1.0, s) / 2.0) * np.sqrt(self.variances)
        log_density = -0.5 * w * w - 0.5 * np.log(2.0 * np.pi)
        # Φ(−w)/φ(w) + 1/u − 1/w, which is positive; of w < 0 the tail is more than one
        # half, and has no need of digits.
        ratio = (
            np.exp(np.clip(log_ndtr(-w) - log_density, None, LARGEST_EXPONENT))
            + 1.0 / u
            - 1.0 / w
        )
        logs = log_density + np.log(np.maximum(ratio, TINY))
        return np.asarray(np.where(near, math.log(0.5), np.minimum(logs, 0.0)))


def event_sums(sets: RowSets, happened: AnyArray, probability: FloatArray) -> TiltedSums:
    """Return sums of events (M,) with their probabilities (M,), for all rows of all sets.

    A set whose probabilities are all equal has a binomial number.
    """
    return SplitSums.from_events(sets, happened, probability)


class SomeSums(NamedTuple):
    """The sums of some of S sets."""

    numbers: IntArray  #: Of these sets among all.
    sums: TiltedSums


@dataclass(frozen=True, eq=False)
class SplitSums(TiltedSums):
    """Sums of which some are of one class and some of another."""

    parts: tuple[SomeSums, ...]
    #: What is added to each mean, (S,): events that are certain.
    certain: FloatArray
    #: Whether what was observed has probability 0, (S,).
    impossible: AnyArray

    @property
    def count(self) -> int:
        return len(self.certain)

    @classmethod
    def from_events(
        cls, sets: RowSets, happened: AnyArray, probability: FloatArray
    ) -> SplitSums:
        is_open = (probability > 0.0) & (probability < 1.0)
        certain = sets.sums(probability >= 1.0)
        contradicted = np.where(happened, probability <= 0.0, probability >= 1.0)
        observed = sets.sums(happened & is_open)
        number = sets.number[is_open]
        open_sets = RowSets(
            rows=sets.rows[is_open],
            number=number,
            sizes=np.bincount(number, minlength=sets.count),
        )
        p = probability[is_open]
        sizes = np.maximum(open_sets.sizes, 1)
        mean = np.clip(open_sets.sums(p) / sizes, TINY, LARGEST_PROBABILITY)
        low, high = _extremes(open_sets, p)
        is_equal = (high - low <= EQUAL * mean) | (open_sets.sizes == 0)
        is_small = ~is_equal & (open_sets.sizes <= CONVOLVED_EVENTS)
        parts: list[SomeSums] = []
        equal = np.flatnonzero(is_equal)
        if len(equal):
            trials = open_sets.sizes[equal].astype(np.float64)
            binomial = BinomialSums(observed[equal], trials, mean[equal])
            parts.append(SomeSums(equal, binomial))
        for some in _of_similar_size(np.flatnonzero(is_small), open_sets.sizes):
            table = _convolved_events(open_sets, p, some)
            sums = TableSums(observed[some], table, np.ones(len(some)))
            parts.append(SomeSums(some, sums))
        large = np.flatnonzero(~is_equal & ~is_small)
        if len(large):
            chosen = open_sets.take(large)
            inside = np.isin(number, large)
            events = EventSums(chosen, logit(p[inside]), observed[large])
            parts.append(SomeSums(large, events))
        return cls(
            parts=tuple(parts),
            certain=certain,
            impossible=sets.sums(contradicted) > 0,
        )

    def tails(self, tilt: FloatArray) -> Tails:
        each = [np.zeros(self.count) for _ in Tails._fields]
        for numbers, sums in self.parts:
            for whole, part in zip(each, sums.tails(tilt[numbers]), strict=True):
                whole[numbers] = part
        return Tails(*each)

    def means(self, tilt: FloatArray) -> FloatArray:
        means = self.certain.copy()
        for numbers, sums in self.parts:
            means[numbers] += sums.means(tilt[numbers])
        return means

    def log_pvalues(self) -> FloatArray:
        return np.where(self.impossible, -np.inf, super().log_pvalues())


def _extremes(sets: RowSets, values: FloatArray) -> Ends:
    """Return the smallest and the largest of values (M,) in each set, (S,) each."""
    low = np.full(sets.count, np.inf)
    high = np.full(sets.count, -np.inf)
    np.minimum.at(low, sets.number, values)
    np.maximum.at(high, sets.number, values)
    return Ends(low=low, high=high)


def _of_similar_size(numbers: IntArray, sizes: IntArray) -> list[IntArray]:
    """Return some sets, by their numbers, in parts of which none is twice as large."""
    octaves = np.ceil(np.log2(np.maximum(sizes[numbers], 1)))
    return [numbers[octaves == octave] for octave in np.unique(octaves)]


def _convolved_events(sets: RowSets, p: FloatArray, some: IntArray) -> FloatArray:
    """Return log P(X = j) of the number of events in some sets, (some, J + 1)."""
    most = int(sets.sizes[some].max())
    # Sets are brought to one size by events of probability 0.
    padded = np.zeros((len(some), most))
    for i, number in enumerate(some):
        own = p[sets.part(int(number))]
        padded[i, : len(own)] = own
    table = np.zeros((len(some), most + 1))
    table[:, 0] = 1.0
    for j in range(most):
        q = padded[:, j : j + 1]
        table[:, 1 : j + 2] = table[:, 1 : j + 2] * (1.0 - q) + table[:, : j + 1] * q
        table[:, 0] *= 1.0 - q[:, 0]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table))


def convolved_counts(probabilities: FloatArray, width: int) -> FloatArray:
    """Return log P(X = j) of the sum of m counts with probabilities (m, H), (width,).

    The last value stands for all that are as large or larger.
    """
    total = np.ones(1)
    for p in probabilities:
        total = np.convolve(total, p)
        if len(total) > width:
            total[width - 1] = total[width - 1 :].sum()
            total = total[:width]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total))


def chi_square_bound(square: FloatArray, df: FloatArray) -> FloatArray:
    """Return the logarithm of Chernoff's bound of a χ² number, (S,)."""
    ratio = np.maximum(square, TINY) / np.maximum(df, 1.0)
    return np.asarray(-0.5 * df * (ratio - 1.0 - np.log(ratio)))
