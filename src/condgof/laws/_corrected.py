"""Laws corrected by effects: maps of normal scores, odds of events, hazards of periods.

With z = Φ⁻¹(F(y|x)) of the law as it was, the corrected law is the one under which

    w = f_k(… f_2(f_1(z)))

is standard normal. Each f is an increasing map with parameters of each row (`ScoreMap`):
bias and spread move z to (z − m)/s, skew and tails multiply the density by 1 + θψ(Φ(z))
with a Legendre polynomial ψ, a hazard is multiplied in periods of −log(1 − Φ(z)). Draws,
quantiles and ends of intervals are moved to where the corrected law has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._counts import Counts
from condgof.laws._discrete import flat
from condgof.laws._draws import least_scale
from condgof.laws._families import Normal
from condgof.laws._law import (
    TINY,
    Law,
    as_rows,
    check_levels,
    invert,
    log_tail_scores,
    same_as,
    tail_scores,
)

#: log √(2π).
LOG_ROOT_TWO_PI = 0.5 * np.log(2.0 * np.pi)
#: How far from w the place is at most that a shape takes to w: |w − z| < 1.2 for |θ| ≤ 0.3.
SHAPE_REACH = 3.0
#: Most steps of Newton's method, kept inside an interval that shrinks.
NEWTON_STEPS = 60
#: Newton's method stops where no z moves by more than this.
NEWTON_ACCURACY = 1e-13
#: An upper tail of counts below this is not taken from 1 − CDF, which has no digits left,
#: but summed from the probabilities of the next counts.
FAR_TAIL = 1e-9
#: How many of these are summed.
FAR_TAIL_TERMS = 6
#: Beyond these terms, probabilities are taken to fall geometrically, by at least this rate.
LEAST_LOG_DECAY = 1e-3
#: Moments of corrected counts are sums over counts up to this upper tail.
MOMENT_TAIL = 1e-9
#: Moments are not offered where that takes more numbers than this, over all rows.
MAX_MOMENT_NUMBERS = 2**26
#: Probabilities of classes are raised to this, so that odds can change what is possible.
LEAST_CLASS_PROBABILITY = 1e-12


# Maps of normal scores.


class MapValue(NamedTuple):
    """An increasing map of each row at normal scores z, (n, k) each."""

    w: FloatArray  #: Where it takes z.
    #: log of the corrected density over the density of the law, ½(z² − w²) + log dw/dz.
    log_ratio: FloatArray
    slope: FloatArray  #: The derivative of `log_ratio` by z.


class ScoreMap(ABC):
    """An increasing map of normal scores with parameters of each of n rows."""

    @abstractmethod
    def at(self, z: FloatArray) -> MapValue:
        """Return the map at normal scores z, (n, k)."""

    @abstractmethod
    def inverse(self, w: FloatArray) -> FloatArray:
        """Return the z that the map takes to w, (n, k) each."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Return the maps of some rows."""


@dataclass(frozen=True, eq=False)
class LocationScale(ScoreMap):
    """w = (z − m)/s: a bias of m standard deviations, and a spread that is s times."""

    location: FloatArray  #: m, (n,).
    log_scale: FloatArray  #: log s, (n,).

    def scores(self, z: FloatArray) -> FloatArray:
        """Return where the map takes z (n, k), which may be infinite."""
        return np.asarray((z - self.location[:, None]) * np.exp(-self.log_scale)[:, None])

    def at(self, z: FloatArray) -> MapValue:
        w = self.scores(z)
        return MapValue(
            w=w,
            log_ratio=0.5 * (z - w) * (z + w) - self.log_scale[:, None],
            slope=z - w * np.exp(-self.log_scale)[:, None],
        )

    def inverse(self, w: FloatArray) -> FloatArray:
        scale = np.exp(self.log_scale)[:, None]
        return np.asarray(self.location[:, None] + scale * w)

    def take(self, rows: IntArray) -> LocationScale:
        return LocationScale(self.location[rows], self.log_scale[rows])

    def then(self, other: LocationScale) -> LocationScale:
        """Return the map that is this one and then the other."""
        return LocationScale(
            location=self.location + np.exp(self.log_scale) * other.location,
            log_scale=self.log_scale + other.log_scale,
        )


@dataclass(frozen=True, eq=False)
class LegendreShape(ScoreMap):
    """The density of the PIT u = Φ(z) is 1 + θψ(u): ψ is Legendre's polynomial.

    The map is u → u + θ∫₀ᵘψ. With q = u(1 − u) the integral is q·c(u), where

        c = −√7·(1 − 5q)             (degree 3: skew)
        c = 3·(1 − 2u)·(1 − 7q)      (degree 4: tails),

    so that the lower tail is u·(1 + θ(1 − u)c) and the upper one (1 − u)·(1 − θuc), each
    with all its digits.
    """

    theta: FloatArray  #: θ, (n,), at most 0.3 in size.
    degree: int  #: 3 or 4.

    def at(self, z: FloatArray) -> MapValue:
        theta = self.theta[:, None]
        lower = ndtr(z)
        upper = ndtr(-z)
        polynomial, by_u = self._polynomial(lower - upper)
        ratio = 1.0 + theta * polynomial
        density = np.exp(-0.5 * z * z - LOG_ROOT_TWO_PI)
        return MapValue(
            w=self._w(z),
            log_ratio=np.log(ratio),
            slope=theta * by_u * density / ratio,
        )

    def _polynomial(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ψ at v = 2u − 1, and its derivative by u."""
        v2 = v * v
        if self.degree == 3:
            root = np.sqrt(7.0)
            return 0.5 * root * (5.0 * v2 - 3.0) * v, root * (15.0 * v2 - 3.0)
        value = 0.375 * ((35.0 * v2 - 30.0) * v2 + 3.0)
        return value, (105.0 * v2 - 45.0) * v

    def _w(self, z: FloatArray) -> FloatArray:
        """Return where the map takes z (n, k)."""
        theta = self.theta[:, None]
        u = ndtr(z)
        above = ndtr(-z)
        q = u * above
        if self.degree == 3:
            c = -np.sqrt(7.0) * (1.0 - 5.0 * q)
        else:
            c = 3.0 * (above - u) * (1.0 - 7.0 * q)
        log_lower = log_ndtr(z) + np.log1p(theta * above * c)
        log_upper = log_ndtr(-z) + np.log1p(-theta * u * c)
        return log_tail_scores(log_lower, log_upper)

    def inverse(self, w: FloatArray) -> FloatArray:
        low = w - SHAPE_REACH
        high = w + SHAPE_REACH
        z = np.array(w)
        for _ in range(NEWTON_STEPS):
            value = self.at(z)
            is_above = value.w > w
            high = np.where(is_above, z, high)
            low = np.where(is_above, low, z)
            # dw/dz = φ(z)/φ(w) times the ratio of densities.
            log_rise = value.log_ratio + 0.5 * (value.w - z) * (value.w + z)
            newton = z - (value.w - w) * np.exp(-log_rise)
            is_inside = (newton > low) & (newton < high)
            moved = np.where(is_inside, newton, 0.5 * (low + high))
            is_done = np.abs(moved - z).max(initial=0.0) < NEWTON_ACCURACY
            z = moved
            if is_done:
                break
        return z

    def take(self, rows: IntArray) -> LegendreShape:
        return LegendreShape(self.theta[rows], self.degree)


@dataclass(frozen=True, eq=False)
class PeriodHazards(ScoreMap):
    """The hazard is e^θ times as large in each of T periods.

    Periods are of the cumulative hazard Λ = −log(1 − Φ(z)) of the law as it was: up to the
    first cut, between cuts, and above the last. Each row has its own cuts in Λ, which are
    the same times.
    """

    log_factors: FloatArray  #: θ of each row and period, (n, T).
    cuts: FloatArray  #: Where one period ends and the next begins, in Λ, (n, T − 1).

    @property
    def _starts(self) -> FloatArray:
        """Λ where each period begins, (n, T)."""
        return np.concatenate([np.zeros((len(self.cuts), 1)), self.cuts], axis=1)

    def _hazard_at_starts(self) -> FloatArray:
        """Return the corrected Λ where each period begins, (n, T)."""
        lengths = np.diff(self._starts, axis=1)
        each = np.exp(self.log_factors[:, :-1]) * lengths
        zero = np.zeros((len(each), 1))
        return np.concatenate([zero, np.cumsum(each, axis=1)], axis=1)

    def at(self, z: FloatArray) -> MapValue:
        before = -log_ndtr(-z)
        # A time at a cut belongs to the period that ends there.
        period = (self.cuts[:, None, :] < before[:, :, None]).sum(axis=2)
        theta = np.take_along_axis(self.log_factors, period, axis=1)
        at_start = np.take_along_axis(self._hazard_at_starts(), period, axis=1)
        start = np.take_along_axis(self._starts, period, axis=1)
        after = at_start + np.exp(theta) * (before - start)
        log_rate = -0.5 * z * z - LOG_ROOT_TWO_PI + before  # of dΛ/dz
        return MapValue(
            w=_scores_of_hazard(after),
            log_ratio=theta + before - after,
            slope=-np.expm1(theta) * np.exp(log_rate),
        )

    def inverse(self, w: FloatArray) -> FloatArray:
        after = -log_ndtr(-w)
        at_starts = self._hazard_at_starts()
        period = (at_starts[:, None, 1:] < after[:, :, None]).sum(axis=2)
        theta = np.take_along_axis(self.log_factors, period, axis=1)
        at_start = np.take_along_axis(at_starts, period, axis=1)
        start = np.take_along_axis(self._starts, period, axis=1)
        before = start + np.exp(-theta) * (after - at_start)
        return _scores_of_hazard(before)

    def take(self, rows: IntArray) -> PeriodHazards:
        return PeriodHazards(self.log_factors[rows], self.cuts[rows])


def _scores_of_hazard(hazard: FloatArray) -> FloatArray:
    """Return Φ⁻¹(1 − e^(−Λ)) of cumulative hazards Λ, of any shape."""
    with np.errstate(divide="ignore"):
        log_lower = np.log(-np.expm1(-hazard))
    return log_tail_scores(log_lower, -hazard)


def collapsed(maps: Sequence[ScoreMap]) -> tuple[ScoreMap, ...]:
    """Return the same maps with neighbours of location and scale made one."""
    result: list[ScoreMap] = []
    for one in maps:
        last = result[-1] if result else None
        if isinstance(one, LocationScale) and isinstance(last, LocationScale):
            result[-1] = last.then(one)
        else:
            result.append(one)
    return tuple(result)


def mapped_back(maps: Sequence[ScoreMap], w: FloatArray) -> FloatArray:
    """Return the normal scores z that maps, one after the other, take to w, (n, k) each."""
    for one in reversed(maps):
        w = one.inverse(w)
    return w


# A continuous y.


@dataclass(frozen=True, eq=False)
class Corrected(Law):
    """A law of one continuous y with its normal scores mapped.

    It can do what the law can.

    Parameters
    ----------
    base : Law
        The law as it was.
    maps : tuple of ScoreMap
        The maps of its n rows, the first one first.
    """

    base: Law
    maps: tuple[ScoreMap, ...]

    #: What comes from the CDF of the law.
    BY_CDF: ClassVar = ("cdf", "sf", "quantile", "sample", "location_scale")
    #: What else it can do if the law has normal scores, and what that needs of the law.
    NEEDED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "log_prob": ("log_prob",),
        "score": ("score", "log_prob"),
        "normal_scores": (),
    }

    rows = same_as("base.rows")
    of_x = same_as("base.of_x")
    index = same_as("base.index")
    normalised = same_as("base.normalised")
    support = same_as("base.support")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> Corrected:
        maps = tuple(one.take(rows) for one in self.maps)
        return replace(self, base=self.base.take(rows), maps=maps)

    def facing(self, y: AnyArray) -> Law:
        return replace(self, base=self.base.facing(y))

    def can(self, ability: str) -> bool:
        if ability in self.BY_CDF:
            return self.base.can("cdf")
        has_scores = self.base.can("normal_scores") or self.base.can("cdf")
        if not has_scores or ability not in self.NEEDED:
            return False
        return all(self.base.can(needed) for needed in self.NEEDED[ability])

    def _base_scores(self, y: AnyArray) -> FloatArray:
        """Return z, the normal scores of y under the law as it was, (n, 1)."""
        return np.asarray(self.base.normal_scores(y), dtype=np.float64)

    def _map(self, z: FloatArray) -> MapValue:
        """Return all maps together at z (n, 1)."""
        w = z
        log_ratio = np.zeros(z.shape)
        slope = np.zeros(z.shape)
        for one in self.maps:
            # The chain rule: dw/dz of the maps so far, from their ratio of densities.
            rise = np.exp(log_ratio + 0.5 * (w - z) * (w + z))
            value = one.at(w)
            w = value.w
            log_ratio = log_ratio + value.log_ratio
            slope = slope + value.slope * rise
        return MapValue(w=w, log_ratio=log_ratio, slope=slope)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._map(self._base_scores(y)).w

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(self.normal_scores(y)[:, 0]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(-self.normal_scores(y)[:, 0]))

    def log_prob(self, y: AnyArray) -> FloatArray:
        before = self.base.log_prob(y)
        return np.asarray(before + self._map(self._base_scores(y)).log_ratio[:, 0])

    def score(self, y: AnyArray) -> FloatArray:
        z = self._base_scores(y)
        # dz/dy = p(y|x)/φ(z)
        log_density = np.reshape(self.base.log_prob(y), (-1, 1))
        z_by_y = np.exp(log_density + 0.5 * z * z + LOG_ROOT_TWO_PI)
        return np.asarray(as_rows(self.base.score(y)) + self._map(z).slope * z_by_y)

    def quantile(self, levels: object) -> FloatArray:
        w = np.asarray(ndtri(check_levels(levels)))
        return self._y_at(np.broadcast_to(w, (self.n, len(w))))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._y_at(rng.standard_normal((self.n, 1)))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_and_half_width(self, least_width=TINY)

    def _y_at(self, w: FloatArray) -> FloatArray:
        """Return the y that have normal scores w under the corrected law, (n, k) each."""
        if not self.can("cdf"):
            self.lacks("cdf")
        z = mapped_back(self.maps, w)
        if isinstance(self.base, Normal):
            mean, std = self.base.mean_std()
            return np.asarray(mean + std * z)
        return invert(self.base, lambda law, y: np.asarray(law.normal_scores(y))[:, 0], z)


def _median_and_half_width(law: Law, least_width: float) -> tuple[FloatArray, FloatArray]:
    """Return the median, and half the width of the central 68% interval, (n, 1) each."""
    low, middle, high = law.quantile(ndtr([-1.0, 0.0, 1.0])).T[:, :, None]
    return middle, np.maximum(high - low, least_width) / 2.0


# Counts.


def count_scores(base: Counts, y: FloatArray) -> FloatArray:
    """Return z = Φ⁻¹(P(Y ≤ y | x)) of counts, (n, k) each; ∓∞ where the CDF is 0 or 1.

    In the far upper tail, where 1 − CDF has no digits, the tail is summed from the
    probabilities of the next counts.
    """
    lower = base._cdf(y)
    inside = tail_scores(lower, 1.0 - lower)
    z = np.where(lower <= 0.0, -np.inf, np.where(lower >= 1.0, np.inf, inside))
    rows, columns = np.nonzero((1.0 - lower < FAR_TAIL) & np.isfinite(y))
    if len(rows) and base.can("log_prob"):
        z[rows, columns] = _far_tail_scores(base.take(rows), y[rows, columns])
    return z


def _far_tail_scores(law: Law, y: FloatArray) -> FloatArray:
    """Return Φ⁻¹(P(Y ≤ y | x)) of counts (m,) from log P(Y > y | x), (m,)."""
    first = np.floor(y) + 1.0
    logs = np.stack([law.log_prob(first + k) for k in range(FAR_TAIL_TERMS)])
    with np.errstate(divide="ignore", invalid="ignore"):
        # The last term stands for a geometric series: t·(1 + q + q² + …) = t/(1 − q).
        ratio = np.exp(np.minimum(logs[-1] - logs[-2], -LEAST_LOG_DECAY))
        logs[-1] -= np.log1p(-np.where(np.isfinite(ratio), ratio, 0.0))
        scores = -ndtri_exp(np.minimum(np.logaddexp.reduce(logs), 0.0))
    return np.where(np.isfinite(logs[0]), scores, np.inf)


@dataclass(frozen=True, eq=False)
class OddsOfZero:
    """The odds of 0 are e^θ times as large; other counts keep their proportions."""

    theta: FloatArray  #: θ, (n,).

    def scores(self, z: FloatArray, zero: FloatArray) -> FloatArray:
        """Return Φ⁻¹ of the changed CDF from that of the CDF.

        z is (n, k), of counts from 0 on, −∞ below; `zero` (n, 1) is that of 0 itself.
        """
        p = ndtr(zero)
        more = p * np.expm1(self.theta)[:, None]
        factor = 1.0 / (1.0 + more)  # of the probability of any other count
        moved = tail_scores(factor * (ndtr(z) + more), factor * ndtr(-z), TINY)
        return np.where(np.isfinite(z), moved, z)

    def take(self, rows: IntArray) -> OddsOfZero:
        return OddsOfZero(self.theta[rows])


@dataclass(frozen=True, eq=False)
class CorrectedCounts(Counts):
    """Counts with the normal scores of their CDF mapped, and the odds of 0 multiplied.

    Parameters
    ----------
    base : Counts
        The law as it was.
    maps : tuple of LocationScale or OddsOfZero
        The maps of its n rows, the first one first.
    """

    base: Counts
    maps: tuple[LocationScale | OddsOfZero, ...]

    rows = same_as("base.rows")
    of_x = same_as("base.of_x")
    _bounds = same_as("base._bounds")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> CorrectedCounts:
        base = self.base.take(rows)
        assert isinstance(base, Counts)
        return CorrectedCounts(base, tuple(one.take(rows) for one in self.maps))

    def _scores(self, y: FloatArray) -> FloatArray:
        """Return Φ⁻¹(P(Y ≤ y | x)) of counts under the corrected law, (n, k) each."""
        z = count_scores(self.base, y)
        zero = count_scores(self.base, np.zeros((len(y), 1)))
        for one in self.maps:
            if isinstance(one, OddsOfZero):
                z = one.scores(z, zero)
                zero = one.scores(zero, zero)
            else:
                z = one.scores(z)
                zero = one.scores(zero)
        return z

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.asarray(ndtr(self._scores(np.asarray(y, dtype=np.float64))))

    def log_prob(self, y: AnyArray) -> FloatArray:
        counts = as_rows(flat(y))[:, 0]
        low, high = self._bounds()
        possible = (counts >= low) & (counts <= high) & (counts == np.floor(counts))
        at = np.where(possible, counts, 0.0)
        before, upto = self._scores(np.column_stack([at - 1.0, at])).T
        # Of the tails whose difference is P(Y = y), those that are small have more digits.
        p = np.where(before > 0, ndtr(-before) - ndtr(-upto), ndtr(upto) - ndtr(before))
        return np.where(possible, np.log(np.maximum(p, TINY)), -np.inf)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_and_half_width(self, least_width=1.0)

    def _smallest(self, wanted: FloatArray, near: Law | None = None) -> FloatArray:
        # The location of the corrected law is itself found by this search, which therefore
        # starts at the location of the law as it was.
        return super()._smallest(wanted, self.base)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        last = self.quantile([1.0 - MOMENT_TAIL])[:, 0].max()
        if self.n * (last + 1.0) > MAX_MOMENT_NUMBERS:
            self.lacks("mean_std")
        k = np.arange(last + 1.0)
        cdf = self._cdf(np.broadcast_to(k, (self.n, len(k))))
        p = np.diff(cdf, axis=1, prepend=0.0)
        mean = (p @ k)[:, None]
        variance = (p * np.square(k - mean)).sum(axis=1, keepdims=True)
        return mean, np.sqrt(variance)


# Classes and cells.


def with_odds(
    probabilities: FloatArray, members: AnyArray, theta: FloatArray
) -> FloatArray:
    """Multiply the odds of an event by e^θ in each row.

    Within the event, and outside of it, classes keep their proportions.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
        Of the classes.
    members : ndarray of bool, shape (n, K) or (K,)
        The classes that make up the event.
    theta : ndarray of shape (n,)
    """
    p = (probabilities * members).sum(axis=1)
    factor = np.where(members, np.exp(theta)[:, None], 1.0)
    norm = 1.0 + p * np.expm1(theta)
    return np.asarray(probabilities * factor / norm[:, None])


# Values that a law is known by: draws, quantiles, ends of intervals.


class Knots(NamedTuple):
    """A piecewise linear map of each row from values of y to normal scores."""

    values: FloatArray  #: Increasing in each row, (n, K).
    scores: FloatArray  #: The score at each, increasing, (K,) for all rows or (n, K).


def extended(values: FloatArray, at: FloatArray, slope: float = 1.0) -> Knots:
    """Add a knot one score beyond each end of values (n, K) with the scores `at`.

    Values increase in each row. Beyond the ends they go on with the row's mean slope; a
    single value with `slope`, in units of y.

    Parameters
    ----------
    values : ndarray of shape (n, K)
    at : ndarray of shape (K,) or (n, K)
    slope : float
    """
    slopes = np.full((len(values), 1), slope)
    if values.shape[1] > 1:
        mean_slope = (values[:, -1:] - values[:, :1]) / (at[..., -1:] - at[..., :1])
        slopes = np.maximum(mean_slope, least_scale(values))
    first = values[:, :1] - slopes
    last = values[:, -1:] + slopes
    ends = (at[..., :1] - 1.0, at, at[..., -1:] + 1.0)
    return Knots(
        values=np.concatenate([first, values, last], axis=1),
        scores=np.concatenate(ends, axis=-1),
    )


def values_at(knots: Knots, z: FloatArray) -> FloatArray:
    """Return the values at scores z (n, m) by knots as of `extended`, (n, m)."""
    values, at = knots
    if at.ndim == 1:
        right = np.searchsorted(at, z)
        at = np.broadcast_to(at, values.shape)
    else:
        right = np.column_stack([(at < column[:, None]).sum(axis=1) for column in z.T])
    right = np.clip(right, 1, values.shape[1] - 1)
    low = np.take_along_axis(values, right - 1, axis=1)
    high = np.take_along_axis(values, right, axis=1)
    left_score = np.take_along_axis(at, right - 1, axis=1)
    right_score = np.take_along_axis(at, right, axis=1)
    share = (z - left_score) / (right_score - left_score)
    return np.asarray(low + share * (high - low))
