"""Curves of some rows, of each kind of y: all rows, or those of a subgroup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check.curves._intervals import binomial_range, each_error, shares_together
from condgof.check.curves._ranges import robust_ends
from condgof.check.kinds import CensoredRows, ClassRows, CountRows, StatementRows
from condgof.result import Record

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
#: Bars of the histogram of confidence below a reliability curve.
CONFIDENCE_BARS = 24
#: The most classes that are drawn, and are in `curves_of`. It is not the number of classes
#: that findings and the search examine, `condgof.check.kinds.MOST_EXAMINED_CLASSES`.
MOST_CLASSES = 24
#: The most bars of a rootogram: where there are more counts, neighbours are together.
MOST_COUNT_BARS = 25
#: The most steps of a survival curve of all rows that are drawn.
MOST_STEPS = 200
#: The most steps of a survival curve of a subgroup, of which a page has many.
MOST_STEPS_OF_SUBGROUP = 60
#: The bound of Hall and Wellner: a Brownian bridge stays within it with probability 0.95.
BRIDGE_BOUND = 1.358
#: Numbers m of ordered uniforms for which `ORDERED_ERRORS` was simulated.
ORDERED_SIZES = (5, 10, 20, 50, 100, 200, 400, 800, 1500)
#: The probability of each of m ordered uniforms to lie outside its interval with which all
#: m lie inside 95% of the time, for each m of `ORDERED_SIZES`. Between these, it is
#: interpolated in log m.
ORDERED_ERRORS = (0.0124, 0.0078, 0.0049, 0.0030, 0.0022, 0.0017, 0.0014, 0.0012, 0.0010)
#: The most quantiles of residuals, evenly spaced, that `residual_quantiles` has.
MOST_LEVELS = 40
#: The fewest rows from one of these quantiles to the next: they are not single rows.
ROWS_OF_LEVEL = 5
#: Residuals of subgroups are shown at least to here on either side.
SHOWN_RESIDUALS = 3.2
#: The fewest bars of a histogram of residuals; m rows have about 2.2·m^0.42.
FEWEST_RESIDUAL_BARS = 8
#: The most bars of a histogram of residuals.
MOST_RESIDUAL_BARS = 36


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


def _pit_bar_count(n: int) -> int:
    return int(np.clip(n // ROWS_OF_PIT_BAR, FEWEST_PIT_BARS, MOST_PIT_BARS))


def pit_bars(pit: FloatArray) -> IntArray:
    """Return the bar of the histogram that each PIT falls into, (n,)."""
    bars = _pit_bar_count(len(pit))
    return np.asarray(np.clip(np.floor(bars * pit).astype(int), 0, bars - 1))


def pit_histogram(pit: FloatArray) -> PitHistogram:
    """Return the histogram of PITs (n,)."""
    n = len(pit)
    bars = _pit_bar_count(n)
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
    """Return residuals (m,) in order, with the band that holds all of them."""
    m = len(z)
    rank = np.arange(1.0, m + 1)
    band = ordered_band(rank, m)
    return OrderedResiduals(
        observed=np.sort(z),
        expected=np.asarray(ndtri((rank - 0.5) / m)),
        low=band.low,
        high=band.high,
    )


class OrderedBand(NamedTuple):
    """Between which residuals those of some ranks lie, (k,) each."""

    low: FloatArray
    high: FloatArray


def ordered_band(rank: FloatArray, m: int) -> OrderedBand:
    """Return the band of ranks (k,), from 1 to m, that holds all m residuals.

    Of m uniforms, the one of rank r is Beta(r, m + 1 − r).
    """
    error = float(np.interp(np.log(m), np.log(ORDERED_SIZES), ORDERED_ERRORS))
    return OrderedBand(
        low=np.asarray(ndtri(betaincinv(rank, m + 1 - rank, error / 2))),
        high=np.asarray(ndtri(betaincinv(rank, m + 1 - rank, 1 - error / 2))),
    )


@dataclass(frozen=True, eq=False)
class ResidualQuantiles(Record):
    """Quantiles of residuals beside those of N(0, 1), (K,) each.

    The picture of ordered residuals draws single rows. These numbers are its summary: from
    one quantile to the next there are at least five rows.
    """

    levels: FloatArray
    observed: FloatArray
    expected: FloatArray
    #: The band that holds all ordered residuals, at these levels.
    low: FloatArray
    high: FloatArray
    rows: int  #: How many residuals there are.
    outside: int  #: How many of them lie outside the band.


def residual_quantiles(z: FloatArray) -> ResidualQuantiles | None:
    """Return quantiles of residuals (m,); None where they are fewer than two."""
    m = len(z)
    if m < 2:
        return None
    count = int(np.clip(m // ROWS_OF_LEVEL, 1, MOST_LEVELS))
    levels = (np.arange(count) + 0.5) / count
    band = ordered_band(levels * m + 0.5, m)
    return ResidualQuantiles(
        levels=levels,
        # The residual of rank r is the quantile of level (r − 0.5)/m, as in the picture.
        observed=np.quantile(z, levels, method="hazen"),
        expected=np.asarray(ndtri(levels)),
        low=band.low,
        high=band.high,
        rows=m,
        outside=int(np.count_nonzero(ordered_residuals(z).side)),
    )


@dataclass(frozen=True, eq=False)
class ResidualHistogram(Record):
    """Residuals of a subgroup in bars of equal width; outliers are beyond them."""

    edges: FloatArray  #: (k + 1,).
    rows: IntArray  #: Rows of each bar, (k,).
    density: FloatArray  #: The share of all rows in each bar over its width, (k,).
    mean: float
    sd: float


def residual_histogram(z: FloatArray) -> ResidualHistogram | None:
    """Return the histogram of residuals (m,); None where there are none."""
    if not len(z):
        return None
    ends = robust_ends(z, (-SHOWN_RESIDUALS, SHOWN_RESIDUALS))
    most = round(2.2 * len(z) ** 0.42)
    bars = int(np.clip(most, FEWEST_RESIDUAL_BARS, MOST_RESIDUAL_BARS))
    rows, edges = np.histogram(z, bars, ends)
    return ResidualHistogram(
        edges=edges,
        rows=rows,
        density=rows / (len(z) * (edges[1] - edges[0])),
        mean=float(z.mean()),
        sd=float(z.std(ddof=min(len(z) - 1, 1))),
    )


# Classes


class Confidence(NamedTuple):
    """The most probable class of each row."""

    right: AnyArray  #: Whether it was observed, (n,).
    probability: FloatArray  #: Its predicted probability, (n,).

    def take(self, rows: AnyArray) -> Confidence:
        """Return those of some rows, by their positions or as booleans."""
        return Confidence(self.right[rows], self.probability[rows])


def confidence_of(checked: ClassRows) -> Confidence:
    """Return whether the most probable class was right in each row, and its probability."""
    p = np.asarray(checked.probabilities, dtype=float)
    return Confidence(right=p.argmax(axis=1) == checked.codes, probability=p.max(axis=1))


def class_confidences(checked: ClassRows) -> dict[str, Confidence]:
    """Return whether each large class came, and its probability; of two the second."""
    p = np.asarray(checked.probabilities, dtype=float)
    return {
        checked.class_names[k]: Confidence(right=checked.codes == k, probability=p[:, k])
        for k in checked.largest_classes
    }


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
    edges: FloatArray  #: Of the bars of a histogram of confidence, (k + 1,).
    bars: IntArray  #: Rows of each of these bars, (k,).


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
    first_bar = float(np.floor(10 * probability.min()) / 10)
    bars, edges = np.histogram(probability, CONFIDENCE_BARS, (first_bar, 1.0))
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
        edges=edges,
        bars=bars,
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


#: The bound of a Brownian motion on [0, 1]: it stays within with probability 0.95.
MOTION_BOUND = 2.2414


@dataclass(frozen=True, eq=False)
class EventCurve(Record):
    """Events observed and expected up to each of T times, (T,) each.

    Observed less expected events are a martingale, near to a Brownian motion in the
    expected events: the whole curve lies between `low` and `high` with probability 0.95
    if the model is right.
    """

    times: FloatArray  #: In the unit of y.
    observed: IntArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def outside(self) -> AnyArray:
        """At which times the data leave the band, (T,)."""
        return (self.observed < self.low) | (self.observed > self.high)


def event_curve(checked: CensoredRows, rows: IntArray) -> EventCurve | None:
    """Return events of some rows, by their positions (m,); None where Λ is not known."""
    expected = checked.expected_in_time(rows)
    if expected is None or not len(expected):
        return None
    events = np.sort(checked.y[rows, 0][checked.event[rows]])
    half = MOTION_BOUND * np.sqrt(expected[-1])
    return EventCurve(
        times=checked.times,
        observed=np.searchsorted(events, checked.times, side="right"),
        expected=expected,
        low=np.maximum(expected - half, 0.0),
        high=expected + half,
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
