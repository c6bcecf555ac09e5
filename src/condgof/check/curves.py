"""Curves of a check: the numbers that its pictures draw.

Each function takes rows, or plain arrays, and returns a record with named fields. The
report draws these records, and `curves_of` gives those of all rows as plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import Reader
from condgof.check.kinds import (
    CensoredRows,
    CheckedRows,
    CircularRows,
    CircularScoreRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    MomentRows,
    ScoreRows,
    SeveralRows,
    StatementRows,
)
from condgof.result import Record, plain, share_interval

if TYPE_CHECKING:
    from condgof.check._record import Check

#: The most bars of a histogram of PITs, each of 5% of the rows under the model.
MOST_PIT_BARS = 20
#: The fewest bars, each of 10% of the rows.
FEWEST_PIT_BARS = 10
#: How many rows there are for each bar, where their number is between these.
ROWS_OF_PIT_BAR = 30
#: The most bins of a reliability curve.
MOST_CONFIDENCE_BINS = 10
#: How many rows there are for each bin, where there are fewer bins than that.
ROWS_OF_CONFIDENCE_BIN = 40
#: The most classes that are drawn, and are in `curves_of`. It is not the number of classes
#: that findings and the search examine, `condgof.check.kinds.MOST_EXAMINED_CLASSES`.
MOST_CLASSES = 24
#: The most bars of a rootogram: where there are more counts, neighbours are together.
MOST_COUNT_BARS = 25
#: The most steps of a survival curve in `curves_of`.
MOST_STEPS = 200
#: The bound of Hall and Wellner: a Brownian bridge stays within it with probability 0.95.
BRIDGE_BOUND = 1.358
#: Numbers m of ordered uniforms for which `ORDERED_ERRORS` was simulated.
ORDERED_SIZES = (5, 10, 20, 50, 100, 200, 400, 800, 1500)
#: The probability of each of m ordered uniforms to lie outside its interval with which all
#: m lie inside 95% of the time, for each m of `ORDERED_SIZES`. Between these, it is
#: interpolated in log m.
ORDERED_ERRORS = (0.0124, 0.0078, 0.0049, 0.0030, 0.0022, 0.0017, 0.0014, 0.0012, 0.0010)
#: Levels of the quantiles of residuals in each bin of a column.
PROFILE_LEVELS = (0.1, 0.5, 0.9)
#: The normal quantile of level 0.9: half the width of the middle 80% of N(0, 1).
HALF_WIDTH_80 = 1.2816
#: The probability outside of the middle 80%.
OUTSIDE_80 = 0.2
#: Standard error of the median of n normal residuals, times √n: √(π/2).
MEDIAN_ERROR = 1.2533
#: Standard error of the width from the 10% to the 90% quantile of n normal residuals, over
#: its expected width 2q, times √n: √(2·(0.09 − 0.01))/(2q·φ(q)), q = Φ⁻¹(0.9).
WIDTH_ERROR = 0.8892
#: Standard errors to either side of a 95% interval, Φ⁻¹(0.975).
REACH_95 = 1.96
#: Standard errors are at least this: below, they are 0 but for rounding.
TINY = 1e-9
#: The least variance of a share that distances between shares are measured in.
LEAST_SHARE_VARIANCE = 1e-4
#: The least standard deviation of which a map takes the logarithm.
LEAST_SD = 1e-3
#: A cell of a map with fewer rows says little: it is marked, and never the furthest.
FEW_ROWS = 10


# Intervals, of single estimates and of several that hold together


class CountRange(NamedTuple):
    """Between which counts a binomial count lies, of any one shape."""

    low: FloatArray
    high: FloatArray


class Shares(NamedTuple):
    """Shares of rows, with intervals that hold together."""

    share: FloatArray
    low: FloatArray
    high: FloatArray


def each_error(count: int, level: float = 0.95) -> float:
    """Return the error of each of `count` independent statements (Šidák).

    All of them then hold together with probability `level`.
    """
    return float(1.0 - level ** (1.0 / max(count, 1)))


def binomial_range(n: AnyArray | float, p: AnyArray | float, error: float) -> CountRange:
    """Return between which counts a Binomial(n, p) lies, but for a probability `error`."""
    from scipy.stats import binom  # slow to import, and for pictures only

    return CountRange(
        low=np.asarray(binom.ppf(error / 2, n, p)),
        high=np.asarray(binom.ppf(1 - error / 2, n, p)),
    )


def quantile_interval(
    values: FloatArray, level: float, error: float
) -> tuple[float, float]:
    """Return the order statistics of values (n,) between which their law's quantile lies.

    It lies outside with probability `error`. Ends are infinite where rows are too few.
    """
    ranks = binomial_range(len(values), level, error)
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    return float(ordered[int(ranks.low)]), float(ordered[int(ranks.high) + 1])


def shares_together(hits: AnyArray, n: AnyArray | int) -> Shares:
    """Return shares `hits` / n, of any shape, with intervals that hold together.

    All of them hold 95% of the time.
    """
    low, high = share_interval(hits, n, each_error(hits.size))
    return Shares(share=hits / n, low=low, high=high)


def side_of(low: AnyArray, high: AnyArray, expected: AnyArray | float) -> IntArray:
    """Return 1 where an interval lies above what is expected, −1 below, 0 around it.

    The arrays have one shape, that of the result, or `expected` is one number.
    """
    return np.where(low > expected, 1, np.where(high < expected, -1, 0))


# Continuous y


@dataclass(frozen=True, eq=False)
class PitHistogram(Record):
    """PITs in bars of equal width, as multiples of what the model expects."""

    edges: FloatArray  #: (k + 1,).
    rows: IntArray  #: Rows of each bar, (k,).
    heights: FloatArray  #: Rows over those expected, (k,).
    #: All heights lie between `low` and `high` with probability 0.95 if the model is right.
    low: float
    high: float

    @property
    def above(self) -> AnyArray:
        """Which bars are higher than chance allows, (bins,)."""
        return self.heights > self.high

    @property
    def below(self) -> AnyArray:
        """Which bars are lower than chance allows, (bins,)."""
        return self.heights < self.low


def pit_histogram(pit: FloatArray) -> PitHistogram:
    """Return the histogram of PITs (n,)."""
    n = len(pit)
    bars = int(np.clip(n // ROWS_OF_PIT_BAR, FEWEST_PIT_BARS, MOST_PIT_BARS))
    rows, edges = np.histogram(pit, bars, (0.0, 1.0))
    expected = binomial_range(n, 1 / bars, each_error(bars))
    return PitHistogram(
        edges=edges,
        rows=rows,
        heights=rows * bars / n,
        low=float(expected.low * bars / n),
        high=float(expected.high * bars / n),
    )


@dataclass(frozen=True, eq=False)
class OrderedResiduals(Record):
    """Residuals in order, beside those expected of N(0, 1)."""

    observed: FloatArray  #: (m,).
    expected: FloatArray  #: (m,).
    #: All residuals lie between `low` and `high`, (m,) each, with probability 0.95 if the
    #: model is right.
    low: FloatArray
    high: FloatArray

    @property
    def side(self) -> IntArray:
        """1 above the band, −1 below it, 0 inside, (m,)."""
        above = self.observed > self.high
        below = self.observed < self.low
        return np.where(above, 1, np.where(below, -1, 0))


def ordered_residuals(z: FloatArray) -> OrderedResiduals:
    """Return residuals (m,) in order, with the band that holds all of them.

    Of m uniforms, the one of rank r is Beta(r, m + 1 − r).
    """
    m = len(z)
    rank = np.arange(1.0, m + 1)
    error = float(np.interp(np.log(m), np.log(ORDERED_SIZES), ORDERED_ERRORS))
    return OrderedResiduals(
        observed=np.sort(z),
        expected=np.asarray(ndtri((rank - 0.5) / m)),
        low=np.asarray(ndtri(betaincinv(rank, m + 1 - rank, error / 2))),
        high=np.asarray(ndtri(betaincinv(rank, m + 1 - rank, 1 - error / 2))),
    )


# Classes


class Confidence(NamedTuple):
    """The most probable class of each row."""

    right: AnyArray  #: Whether it was observed, (n,).
    probability: FloatArray  #: Its predicted probability, (n,).


def confidence_of(checked: ClassRows) -> Confidence:
    """Return whether the most probable class was right in each row, and its probability."""
    p = np.asarray(checked.probabilities, dtype=float)
    return Confidence(right=p.argmax(axis=1) == checked.codes, probability=p.max(axis=1))


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(Record):
    """How often the most probable class was right, by its probability, (B,) each."""

    first: FloatArray  #: The smallest confidence of each bin.
    last: FloatArray  #: The largest confidence of each bin.
    predicted: FloatArray  #: The mean confidence.
    rows: IntArray  #: How many rows each bin has.
    right: FloatArray  #: The share of rows in which the most probable class was observed.
    low: FloatArray  #: The lower end of its interval; all intervals hold together.
    high: FloatArray  #: The upper end.
    #: All shares lie between `chance_low` and `chance_high` with probability 0.95 if the
    #: model is right.
    chance_low: FloatArray
    chance_high: FloatArray


def reliability_curve(confidence: Confidence) -> ReliabilityCurve:
    """Return how often rows (m,) were right, in bins of about as many rows each."""
    right, probability = confidence
    count = int(
        np.clip(len(probability) // ROWS_OF_CONFIDENCE_BIN, 1, MOST_CONFIDENCE_BINS)
    )
    cuts = np.linspace(0, 1, count + 1)[1:-1]
    edges = np.unique(np.quantile(probability, cuts))
    codes = np.searchsorted(edges, probability, side="right")
    bins = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    rows = np.array([len(some) for some in bins])
    hits = np.array([right[some].sum() for some in bins])
    predicted = np.array([probability[some].mean() for some in bins])
    shares = shares_together(hits, rows)
    chance = binomial_range(rows, predicted, each_error(len(rows)))
    return ReliabilityCurve(
        first=np.array([probability[some].min() for some in bins]),
        last=np.array([probability[some].max() for some in bins]),
        predicted=predicted,
        rows=rows,
        right=shares.share,
        low=shares.low,
        high=shares.high,
        chance_low=chance.low / rows,
        chance_high=chance.high / rows,
    )


@dataclass(frozen=True, eq=False)
class ClassShares(Record):
    """How often each class came, and how often it was predicted, (K,) each."""

    names: tuple[str, ...]
    rows: IntArray  #: In how many rows the class was observed.
    observed: FloatArray  #: In which share of rows it was observed.
    low: FloatArray  #: The lower end of that share's interval; all intervals hold together.
    high: FloatArray  #: The upper end.
    predicted: FloatArray  #: The mean predicted probability.

    @property
    def by_distance(self) -> IntArray:
        """The classes, (K,), that furthest from its prediction first."""
        return np.argsort(-np.abs(self.observed - self.predicted), kind="stable")

    def furthest(self, most: int) -> ClassShares:
        """Return at most `most` classes, those furthest from their predictions."""
        some = np.sort(self.by_distance[:most])
        return ClassShares(
            names=tuple(self.names[k] for k in some),
            rows=self.rows[some],
            observed=self.observed[some],
            low=self.low[some],
            high=self.high[some],
            predicted=self.predicted[some],
        )


def class_shares(checked: ClassRows, inside: AnyArray) -> ClassShares:
    """Return the shares of classes among the rows `inside`, (n,) booleans."""
    rows = np.bincount(checked.codes[inside], minlength=len(checked.class_names))
    shares = shares_together(rows, int(inside.sum()))
    p = np.asarray(checked.probabilities, dtype=float)
    return ClassShares(
        names=checked.class_names,
        rows=rows,
        observed=shares.share,
        low=shares.low,
        high=shares.high,
        predicted=p[inside].mean(axis=0),
    )


# Counts


@dataclass(frozen=True, eq=False)
class Rootogram(Record):
    """How many rows have each count, (B,) each; see Tukey's hanging rootogram."""

    starts: IntArray  #: The smallest count of each bar; the last bar has all larger ones.
    observed: IntArray  #: Rows.
    expected: FloatArray  #: Rows that the model expects.
    #: All numbers of rows lie between `chance_low` and `chance_high` with probability 0.95
    #: if the model is right.
    chance_low: FloatArray
    chance_high: FloatArray

    @property
    def side(self) -> IntArray:
        """1 where there are more rows than chance allows, −1 fewer, (B,)."""
        more = self.observed > self.chance_high
        fewer = self.observed < self.chance_low
        return np.where(more, 1, np.where(fewer, -1, 0))


def rootogram_of(checked: CountRows) -> Rootogram | None:
    """Return the bars of a rootogram; None where the law has no probabilities."""
    p = checked.count_probabilities
    if p is None:
        return None
    last = len(p) - 1  # the position of all larger counts together
    counts_of_bar = -(-last // MOST_COUNT_BARS)  # rounded up
    starts = np.unique([*range(0, last, counts_of_bar), last])
    counts = np.minimum(checked.y[:, 0].astype(int), last)
    expected = np.add.reduceat(p, starts) * checked.n
    share = np.clip(expected / checked.n, 0, 1)
    chance = binomial_range(checked.n, share, each_error(len(starts)))
    return Rootogram(
        starts=starts,
        observed=np.add.reduceat(np.bincount(counts, minlength=last + 1), starts),
        expected=expected,
        chance_low=chance.low,
        chance_high=chance.high,
    )


# Quantiles and intervals


@dataclass(frozen=True, eq=False)
class CoverageCurve(Record):
    """How often each statement held, (K,) each."""

    levels: FloatArray  #: The probability of the statement.
    observed: FloatArray  #: The share of rows in which it held.
    low: FloatArray  #: The lower end of that share's interval; all intervals hold together.
    high: FloatArray  #: The upper end.


def coverage_curve(checked: StatementRows, inside: AnyArray) -> CoverageCurve:
    """Return how often statements held among the rows `inside`, (n,) booleans."""
    codes = checked.codes[inside]
    hits = [int(statement.happened(codes).sum()) for statement in checked.statements]
    shares = shares_together(np.array(hits), len(codes))
    return CoverageCurve(
        levels=np.array([statement.level for statement in checked.statements]),
        observed=shares.share,
        low=shares.low,
        high=shares.high,
    )


# Censored times


class KaplanMeier(NamedTuple):
    """The estimate of Kaplan and Meier on the scale of the model's cumulative hazard Λ."""

    hazard: FloatArray  #: Λ at each event, in order, (k,).
    survival: FloatArray  #: The estimate of P(Λ > ·) after it, (k,).
    at_risk: IntArray  #: Rows that were observed up to it, (k,).


def kaplan_meier(checked: CensoredRows, rows: IntArray) -> KaplanMeier:
    """Return the estimate of some rows, by their positions (m,)."""
    hazard = checked.hazard[rows]
    entry = checked.hazard_at_entry[rows]
    times, events = np.unique(hazard[checked.event[rows]], return_counts=True)
    entered = np.searchsorted(np.sort(entry), times, side="left")
    left = np.searchsorted(np.sort(hazard), times, side="left")
    at_risk = entered - left
    survival = np.cumprod(1.0 - events / np.maximum(at_risk, events))
    return KaplanMeier(hazard=times, survival=survival, at_risk=at_risk)


@dataclass(frozen=True, eq=False)
class SurvivalCurve(Record):
    """The estimate of Kaplan and Meier beside exp(−Λ), the model's, (k,) each."""

    hazard: FloatArray  #: Λ at each event.
    survival: FloatArray  #: The estimate of Kaplan and Meier after it.
    at_risk: IntArray  #: Rows that were observed up to it.
    expected: FloatArray  #: exp(−Λ).
    #: The band of Hall and Wellner, from `low` to `high` around what is expected, holds the
    #: whole estimate with probability 0.95 if the model is right.
    low: FloatArray
    high: FloatArray

    @property
    def outside(self) -> AnyArray:
        """At which steps the data leave the band, (steps,)."""
        return (self.survival < self.low) | (self.survival > self.high)

    def thinned(self, most: int) -> SurvivalCurve:
        """Return at most `most` of its steps, evenly spread, both ends included."""
        some = thinned_steps(len(self.hazard), most)
        return SurvivalCurve(
            hazard=self.hazard[some],
            survival=self.survival[some],
            at_risk=self.at_risk[some],
            expected=self.expected[some],
            low=self.low[some],
            high=self.high[some],
        )


def thinned_steps(count: int, most: int) -> IntArray:
    """Return at most `most` of the numbers 0, …, count − 1, evenly spread."""
    return np.unique(np.linspace(0, count - 1, most).astype(int))


def survival_curve(checked: CensoredRows, rows: IntArray) -> SurvivalCurve | None:
    """Return the curve of some rows, by their positions (m,); None without an event."""
    hazard, survival, at_risk = kaplan_meier(checked, rows)
    if not len(hazard):
        return None
    n = len(rows)
    expected = np.exp(-hazard)
    # n times the variance of an estimate of Λ (Nelson and Aalen), by the model's hazard.
    variance = n * np.cumsum(np.diff(hazard, prepend=0.0) / np.maximum(at_risk, 1))
    half = BRIDGE_BOUND * (1.0 + variance) / np.sqrt(n) * expected
    low = np.clip(expected - half, 0.0, 1.0)
    high = np.clip(expected + half, 0.0, 1.0)
    # The estimate never rises. So where a later step must lie above the band's lower end,
    # earlier steps must as well, and the other way round.
    return SurvivalCurve(
        hazard=hazard,
        survival=survival,
        at_risk=at_risk,
        expected=expected,
        low=np.maximum.accumulate(low[::-1])[::-1],
        high=np.minimum.accumulate(high),
    )


# Estimates by bin of a column


@dataclass(frozen=True, eq=False)
class Profile(Record):
    """K estimates in each of B bins of a column."""

    estimate: FloatArray  #: (B, K).
    low: FloatArray  #: The 95% interval of each estimate by itself, (B, K) each.
    high: FloatArray
    expected: tuple[float, ...]  #: Under the model, (K,).
    #: 1 where an estimate is larger than expected, −1 smaller, 0 where chance may have made
    #: it so, at 5% for all bins together, (B, K).
    side: IntArray
    #: The bin that is furthest off among those that are off, if there is any.
    furthest: int | None


@dataclass(frozen=True, eq=False)
class ResidualProfile(Profile):
    """Residuals by bin, K = 3: a lower point, the centre and an upper point.

    The points are the 10%, 50% and 90% quantiles, or mean − sd, mean and mean + sd.
    """

    spread: FloatArray  #: Over what the model expects, (B,).
    spread_side: IntArray  #: As `side`, (B,).
    furthest_is_spread: bool  #: Whether spread, not centre, is off in bin `furthest`.

    @property
    def centre(self) -> FloatArray:
        """The middle of the three estimates of each bin, (bins,)."""
        return self.estimate[:, 1]


class _Deviations(NamedTuple):
    """How far centre and spread of residuals are off by bin, (B,) each."""

    spread: FloatArray  #: Over what the model expects.
    centre_side: IntArray  #: 1 where the centre is above 0 beyond chance, −1 below.
    spread_side: IntArray  #: 1 where the spread is above 1 beyond chance, −1 below.
    centre_error: FloatArray  #: The standard error of the centre.
    spread_error: FloatArray  #: The standard error of the spread.


def quantile_profile(z: FloatArray, bins: Sequence[IntArray]) -> ResidualProfile:
    """Return 10%, 50% and 90% quantiles of normal residuals (n,) by bin.

    `bins` are the positions of the rows of each of B bins, here and below.
    """
    parts = [z[rows] for rows in bins]
    n = np.array([len(part) for part in parts])
    error = each_error(2 * len(parts))  # of centre and spread of each bin
    quantiles = np.array([np.quantile(part, PROFILE_LEVELS) for part in parts])
    intervals = np.array(
        [[quantile_interval(part, p, 0.05) for p in PROFILE_LEVELS] for part in parts]
    )
    medians = np.array([quantile_interval(part, 0.5, error) for part in parts])
    outside = [(np.abs(part - np.median(part)) > HALF_WIDTH_80).mean() for part in parts]
    spread = (quantiles[:, 2] - quantiles[:, 0]) / (2 * HALF_WIDTH_80)
    deviations = _Deviations(
        spread=spread,
        centre_side=side_of(medians[:, 0], medians[:, 1], 0.0),
        spread_side=_spread_side(np.array(outside), n, spread, error),
        centre_error=MEDIAN_ERROR / np.sqrt(n),
        spread_error=WIDTH_ERROR / np.sqrt(n),
    )
    return _residual_profile(
        estimate=quantiles,
        low=intervals[:, :, 0],
        high=intervals[:, :, 1],
        expected=(-HALF_WIDTH_80, 0.0, HALF_WIDTH_80),
        deviations=deviations,
    )


def _spread_side(
    outside: FloatArray, n: IntArray, spread: FloatArray, error: float
) -> IntArray:
    """Return 1 where too many rows lie far from the median, −1 where too few do, (B,).

    Far is outside of an interval around the median of the bin that is as wide as the
    model's middle 80%. `outside` is the share of such rows among n in each bin. The result
    is 0 where `spread`, the width of the middle 80% of the data over the model's, is off in
    the other direction.
    """
    chance = binomial_range(n, OUTSIDE_80, error)
    # A share within the range of chance is compared with itself, which gives 0.
    nearest = np.clip(outside, chance.low / n, chance.high / n)
    side = side_of(outside, outside, nearest)
    side[(side == 1) != (spread > 1)] = 0
    return side


def moment_profile(z: FloatArray, bins: Sequence[IntArray]) -> ResidualProfile:
    """Return mean − sd, mean and mean + sd of residuals (n,) of any law by bin."""
    parts = [z[rows] for rows in bins]
    n = np.array([len(part) for part in parts])
    mean = np.array([part.mean() for part in parts])
    sd = np.array([part.std(ddof=min(len(part) - 1, 1)) for part in parts])
    values = np.column_stack([mean - sd, mean, mean + sd])
    mean_error = (sd / np.sqrt(n))[:, None]
    # Standard errors to either side of intervals that hold together, over √n.
    reach_over_root = -ndtri(each_error(2 * len(parts)) / 2) / np.sqrt(n)
    mean_half = reach_over_root * sd
    # Half the interval of a standard deviation, whatever the tails are: by the delta
    # method, its standard error is sd(squares)/(2·sd·√n).
    square_sd = np.array([np.std((part - part.mean()) ** 2) for part in parts])
    sd_half = 0.5 * reach_over_root * square_sd / np.maximum(sd, TINY)
    deviations = _Deviations(
        spread=sd,
        centre_side=side_of(mean - mean_half, mean + mean_half, 0.0),
        spread_side=side_of(sd - sd_half, sd + sd_half, 1.0),
        centre_error=sd / np.sqrt(n),
        spread_error=sd_half / reach_over_root / np.sqrt(n),
    )
    return _residual_profile(
        estimate=values,
        low=values - REACH_95 * mean_error,
        high=values + REACH_95 * mean_error,
        expected=(-1.0, 0.0, 1.0),
        deviations=deviations,
    )


def _residual_profile(
    *,
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    expected: tuple[float, ...],
    deviations: _Deviations,
) -> ResidualProfile:
    """Put a profile together, and find the bin whose centre or spread is furthest off.

    `estimate`, `low` and `high` are (B, 3). Distances are in standard errors, and 0 in bins
    that are not off beyond chance.
    """
    centre = np.abs(estimate[:, 1]) / np.maximum(deviations.centre_error, TINY)
    spread = np.abs(deviations.spread - 1) / np.maximum(deviations.spread_error, TINY)
    distance = np.array(
        [
            centre * (deviations.centre_side != 0),
            spread * (deviations.spread_side != 0),
        ]
    )
    is_spread, furthest = np.unravel_index(np.argmax(distance), distance.shape)
    side = np.zeros(estimate.shape, dtype=int)
    side[:, 1] = deviations.centre_side
    return ResidualProfile(
        estimate=estimate,
        low=low,
        high=high,
        expected=expected,
        side=side,
        furthest=int(furthest) if distance.any() else None,
        spread=deviations.spread,
        spread_side=deviations.spread_side,
        furthest_is_spread=bool(is_spread),
    )


@dataclass(frozen=True, eq=False)
class ShareProfile(Profile):
    """Shares of rows by bin, or what they are more than predicted."""

    share: FloatArray  #: (B, K).
    predicted: FloatArray  #: The mean probability, (B, K).
    furthest_statement: int  #: Which of the K shares is off in bin `furthest`.


def share_profile(
    happened: Sequence[AnyArray],
    probability: Sequence[FloatArray],
    bins: Sequence[IntArray],
    *,
    as_difference: bool,
) -> ShareProfile:
    """Return by bin how often each of K things happened, (n,) booleans each.

    `probability` has the predicted probabilities of each, (n,). With `as_difference`, the
    estimates are shares less mean probabilities, for probabilities that differ from row to
    row, of which no single line shows what is expected.
    """
    n = np.array([len(rows) for rows in bins])[:, None]
    hits = np.array([[some[rows].sum() for some in happened] for rows in bins])
    predicted = np.array([[p[rows].mean() for p in probability] for rows in bins])
    base = predicted if as_difference else np.zeros(predicted.shape)
    low, high = share_interval(hits, n, 0.05)
    together = shares_together(hits, n)
    side = side_of(together.low, together.high, predicted)
    share = together.share
    variance = np.maximum(predicted * (1 - predicted), LEAST_SHARE_VARIANCE)
    error = np.sqrt(variance / n)
    distance = np.where(side != 0, np.abs(share - predicted) / error, 0.0)
    furthest, statement = np.unravel_index(np.argmax(distance), distance.shape)
    return ShareProfile(
        estimate=share - base,
        low=low - base,
        high=high - base,
        expected=(0.0,) if as_difference else tuple(predicted[0].tolist()),
        side=side,
        furthest=int(furthest) if distance.any() else None,
        share=share,
        predicted=predicted,
        furthest_statement=int(statement),
    )


def event_profile(checked: CensoredRows, bins: Sequence[IntArray]) -> Profile:
    """Return events over those expected by bin: K = 1."""
    observed, expected = checked.events()
    observed = observed[:, 0]
    expected = expected[:, 0]

    def ratios(reach: float) -> FloatArray:
        """Return ratio, lower and upper end, (B, 3)."""
        reader = Reader(checked, reach)
        each = [reader.ratio(rows, observed[rows], expected[rows]) for rows in bins]
        return np.array([[one.value, *one.interval] for one in each])

    single = ratios(REACH_95)
    together = ratios(-float(ndtri(each_error(len(bins)) / 2.0)))
    side = side_of(together[:, 1:2], together[:, 2:], 1.0)
    # The ratio of a Poisson number to its mean has the standard error 1/√mean.
    means = np.array([expected[rows].sum() for rows in bins])
    distance = means**0.5 * np.abs(single[:, 0] - 1.0)
    furthest = int(np.argmax(np.where(side[:, 0] != 0, distance, -1.0)))
    return Profile(
        estimate=single[:, :1],
        low=single[:, 1:2],
        high=single[:, 2:],
        expected=(1.0,),
        side=side,
        furthest=furthest if side[furthest, 0] else None,
    )


# Two columns


@dataclass(frozen=True, eq=False)
class MapCells(Record):
    """Cells of two columns that have rows, (C,) each."""

    first: IntArray  #: The bin of the first column.
    second: IntArray  #: The bin of the second column.
    rows: IntArray  #: How many rows each cell has.
    estimate: FloatArray  #: The mean, or the logarithm of the standard deviation.
    distance: FloatArray  #: From 0, in standard errors; 0 in cells of few rows.

    @property
    def are_few(self) -> AnyArray:
        """Which cells have too few rows to say much, (C,)."""
        return self.rows < FEW_ROWS

    @property
    def furthest(self) -> int:
        """The number of the cell with the largest distance."""
        return int(np.argmax(self.distance))

    @property
    def differ(self) -> bool:
        """Whether the largest distance is more than chance explains.

        The largest of m absolute normal numbers is about √(2 log 2m).
        """
        bound = (2 * np.log(2 * len(self.rows))) ** 0.5
        return bool(self.distance[self.furthest] >= bound)


def map_cells(
    values: FloatArray, first: IntArray, second: IntArray, *, of_spread: bool
) -> MapCells | None:
    """Return means of values (n,), or logarithms of their sd, by cell.

    `first` and `second` are bins of two columns, (n,), −1 for rows that are left out. None
    where no cell has rows enough: one for a mean, two for a standard deviation.
    """
    width = int(second.max(initial=-1)) + 1
    cell = np.where((first < 0) | (second < 0), -1, first * width + second)
    cells, rows = np.unique(cell[cell >= 0], return_counts=True)
    enough = rows >= (2 if of_spread else 1)
    cells = cells[enough]
    rows = rows[enough]
    if not len(cells):
        return None
    parts = [values[cell == one] for one in cells]
    if of_spread:
        estimate = np.array([np.log(max(part.std(ddof=1), LEAST_SD)) for part in parts])
        # Standard errors times √rows, from all values: here of log sd, by the delta method.
        error = np.std((values - values.mean()) ** 2) / (2 * values.var())
    else:
        estimate = np.array([part.mean() for part in parts])
        error = values.std()
    distance = np.abs(estimate) * np.sqrt(rows) / max(error, TINY)
    return MapCells(
        first=cells // width,
        second=cells % width,
        rows=rows,
        estimate=estimate,
        distance=np.where(rows < FEW_ROWS, 0.0, distance),
    )


# All of a check


def curves_of(check: Check) -> dict[str, Any]:
    """Return the curves of all rows as plain numbers, ready for JSON.

    Of a continuous y ``"pit"``, of classes ``"reliability"`` and ``"classes"``, of counts
    ``"rootogram"``, of quantiles and intervals ``"coverage"``, of censored times
    ``"survival"``, at most 200 steps, of angles ``"angles"``; see the records of these
    names. Curves of subgroups, of columns and of pairs of columns depend on a choice, and
    are only drawn.
    """
    curves: dict[str, Any] = plain(overall_curves(check.checked))
    return curves


@singledispatch
def overall_curves(checked: CheckedRows) -> dict[str, Any]:
    """Return the records of the curves of all rows, by name."""
    raise NotImplementedError(f"no curves are known for {type(checked).__name__}")


@overall_curves.register(ContinuousRows)
@overall_curves.register(SeveralRows)
def _(checked: ContinuousRows | SeveralRows) -> dict[str, Any]:
    names = [column.name for column in checked.y_columns]
    columns = zip(names, checked.pit.T, strict=True)
    return {"pit": {name: pit_histogram(pit) for name, pit in columns}}


@overall_curves.register
def _(checked: ClassRows) -> dict[str, Any]:
    every_row = np.ones(checked.n, bool)
    return {
        "reliability": reliability_curve(confidence_of(checked)),
        "classes": class_shares(checked, every_row).furthest(MOST_CLASSES),
    }


@overall_curves.register
def _(checked: CountRows) -> dict[str, Any]:
    bars = rootogram_of(checked)
    return {} if bars is None else {"rootogram": bars}


@overall_curves.register
def _(checked: StatementRows) -> dict[str, Any]:
    return {"coverage": coverage_curve(checked, np.ones(checked.n, bool))}


@overall_curves.register
def _(checked: CensoredRows) -> dict[str, Any]:
    curve = survival_curve(checked, np.arange(checked.n))
    return {} if curve is None else {"survival": curve.thinned(MOST_STEPS)}


@overall_curves.register
def _(checked: CircularRows) -> dict[str, Any]:
    return {"angles": checked.histogram(np.arange(checked.n))}


@overall_curves.register(MomentRows)
@overall_curves.register(ScoreRows)
@overall_curves.register(CircularScoreRows)
def _(checked: MomentRows | ScoreRows | CircularScoreRows) -> dict[str, Any]:
    return {}
