"""The numbers of some rows: each is a plain computation on just these rows.

`rows` are positions (m,) among the rows of the check, and `values` (m,) what is averaged or
counted there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, gammainc, gammaincinv, ndtr, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import MEDIAN, MIDDLE_HALF, QUANTITIES, Signal
from condgof.check._record import Finding
from condgof.check._weighted import (
    counting_weights,
    quantiles,
    sd_of_mean_terms,
    weighted_quantiles,
    weighted_sd,
)
from condgof.null import MeanVariance, mean_variance
from condgof.result import share_interval
from condgof.sample import effective_rows, weighted_mean

if TYPE_CHECKING:
    from condgof.check.kinds import CheckedRows

#: Half the width of the central 50% interval of N(0, 1), Φ⁻¹(0.75).
HALF_WIDTH_50 = 0.6744897501960817
#: Half the width of the central 90% interval of N(0, 1), Φ⁻¹(0.95).
HALF_WIDTH_90 = 1.6448536269514722
#: The central intervals whose coverage is reported, by label.
CENTRAL = {"50%": HALF_WIDTH_50, "90%": HALF_WIDTH_90}


class OuterInterval(NamedTuple):
    """A central interval of N(0, 1) that few rows should lie outside of."""

    label: str
    half_width: float
    outside: float  #: The probability outside.


#: The interval of subgroups, Φ⁻¹(0.995): most have too few rows for one further out.
OUTSIDE_99 = OuterInterval("99%", half_width=2.5758293035489004, outside=0.01)
#: The interval of all rows, Φ⁻¹(0.9995).
OUTSIDE_999 = OuterInterval("99.9%", half_width=3.2905267314919255, outside=0.001)
#: A row is an outlier if one as far out, among all rows, has less than this probability.
OUTLIER_PROBABILITY = 1e-3
#: The most outliers whose row numbers are listed; a sentence with more is not read.
MOST_LISTED_OUTLIERS = 5
#: The intervals of all numbers of all rows hold together with this probability.
JOINT_LEVEL = 0.95
#: Standard errors to either side of six intervals that hold together, Φ⁻¹(1 − 0.05/12):
#: median, middle half, both coverages, skew and tails, of a single column of y. How far
#: more or fewer intervals reach, `joint_reach` says.
REACH = 2.638257273476751
#: How far, in standard deviations, `beyond_range` integrates,
BEYOND_END = 10.0
#: and in how many steps.
BEYOND_STEPS = 1001
#: Between which logarithms of a number of ranges it searches,
BEYOND_LOG_RANGES = (-12.0, 12.0)
#: and how often it halves them.
BEYOND_HALVINGS = 40
#: Fewest values with which Bonett's interval of a standard deviation is computed: its
#: trimmed mean takes √(n − 4).
FEWEST_FOR_SPREAD = 5
#: Where the kurtosis is above 3, of the normal distribution, the values that dominate a
#: standard deviation are rare, and most samples miss some of them. Then the upper end of
#: its interval is 1 + (kurtosis − 3)/10 times as far away on the log scale: twice as
#: far at this excess of the kurtosis.
EXCESS_OF_DOUBLE_REACH = 10.0
#: The upper end is at most this many times as far away.
MOST_STRETCHED_TAIL = 2.0
#: Ranks of weighted rows, sums of shares, are equal where they differ by no more than this.
RANK_ROUNDING = 1e-9
#: The largest log ratio of the upper end of a spread to its estimate: exp(300) is finite.
LARGEST_LOG_RATIO = 300.0
#: The least number of expected events by which observed events are divided.
LEAST_EXPECTED_EVENTS = 1e-300
#: A shift of at least this many standard deviations puts so many PITs near 0 or 1 that the
#: signals of spread, skew and tails show nothing but the shift.
FAR_SHIFT = 1.0
#: The least ratio of which `severity` takes the logarithm.
LEAST_RATIO = 1e-12


class Estimate(NamedTuple):
    """A number, and its interval."""

    value: float
    interval: tuple[float, float]  #: The lower and the upper end.


@dataclass(frozen=True, eq=False)
class Reader:
    """Computes estimates, with confidence intervals, on some rows of a check."""

    checked: CheckedRows
    #: How many standard errors intervals reach to either side. Of a subgroup it is as many
    #: as the whole search needs, so that intervals hold for the subgroups that were found.
    reach: float
    #: The number of the unit that each row of the check belongs to, (n,); rows depend on
    #: each other within a unit only. None where all rows are independent.
    units: IntArray | None = None
    #: Whether units are blocks of time, so that rows of neighbouring units depend, too.
    consecutive: bool = False

    @classmethod
    def of_all_rows(
        cls,
        checked: CheckedRows,
        units: IntArray | None = None,
        *,
        consecutive: bool = False,
    ) -> Reader:
        """Return the reader whose intervals of all rows hold together: `JOINT_LEVEL`.

        How many intervals there are differs between kinds of y, with the number of columns
        or classes, and with what a law resolves. So they are counted first.
        """
        reader = cls(checked, REACH, units, consecutive)
        count = sum(finding.kind != "wild" for finding in reader.findings())
        return replace(reader, reach=joint_reach(count))

    def findings(self, rows: IntArray | None = None) -> tuple[Finding, ...]:
        """Return the findings of some rows (m,), or of all rows.

        Those of all rows are robust: no single outlier moves them.
        """
        some = np.arange(self.checked.n) if rows is None else rows
        return tuple(self.checked.findings(self, some, overall=rows is None))

    def weights_of(self, rows: IntArray) -> FloatArray | None:
        """Return the weights of some rows, (m,); None where all are equal."""
        weights = self.checked.weights
        return None if weights is None else weights[rows]

    def effective(self, rows: IntArray) -> float:
        """Return as how many equally weighted rows some rows count."""
        weights = self.weights_of(rows)
        return float(len(rows)) if weights is None else float(effective_rows(weights))

    def reach_by_units(self, rows: IntArray, values: FloatArray) -> float:
        """Return the reach, longer where values (m,) correlate within units.

        It is Student's, of the effective degrees of freedom of the units, times the root of
        the variance of the mean of values by units over that by rows (the design effect of
        a cluster sample), if that is above 1. See `condgof.null.mean_variance`.
        """
        if self.units is None:
            return self.reach
        weights = self.weights_of(rows)
        if weights is not None:  # the terms that a weighted mean is the mean of
            centred = values - weighted_mean(values, weights)
            values = np.asarray(centred * weights / weights.mean())
        by_units = self._variance_by_units(values, self.units[rows])
        if by_units.df == 0:
            return math.inf
        by_rows = mean_variance(values).variance
        effect = by_units.variance / by_rows if by_rows > 0 else 1.0
        return student(self.reach, by_units.df) * math.sqrt(max(effect, 1.0))

    def _variance_by_units(self, values: FloatArray, units: IntArray) -> MeanVariance:
        """Return the variance of the mean of values (m,) in units (m,).

        The variance V(L) by blocks of length L is too small by a term of order 1/L, which
        2·V(2L) − V(L) is without; it is at least V(L) and V(2L).
        """
        single = mean_variance(values, units)
        if not self.consecutive:
            return single
        double = mean_variance(values, units // 2)
        extrapolated = 2.0 * double.variance - single.variance
        variance = max(extrapolated, single.variance, double.variance)
        return single._replace(variance=variance)

    def mean(self, rows: IntArray, values: FloatArray, least_sd: float = 0.0) -> Estimate:
        """Return the mean of values (m,), whose sd is taken as at least `least_sd`.

        The interval is Student's, but never wider than a normal one of sd max(sd, 1): the
        values have sd 1 under the model, and a few rows estimate a smaller one badly. Where
        rows belong to units, it is as wide as these ask for.
        """
        weights = self.weights_of(rows)
        n: float = len(values)
        if weights is None:
            estimate = float(values.mean())
            sd = max(float(values.std(ddof=1)) if n > 1 else 0.0, least_sd)
        else:
            n = effective_rows(weights)
            estimate = weighted_mean(values, weights)
            own = weighted_sd(values, weights) if n > 1 else 0.0
            sd = max(own, sd_of_mean_terms(values, weights), least_sd)
        half = self.reach * max(sd, 1.0)
        if sd > 0 and self.units is None:
            half = min(half, student(self.reach, n - 1) * sd)
        elif self.units is not None:
            half = self.reach_by_units(rows, values) * (sd or 1.0)
        half /= math.sqrt(n)
        return Estimate(estimate, (estimate - half, estimate + half))

    def spread(self, rows: IntArray, values: FloatArray) -> Estimate:
        """Return the standard deviation of values (m,), with Bonett's interval.

        It is an interval of log sd, whose standard error comes from the kurtosis of the
        values around their trimmed mean, so that it holds for heavy tails as well (Bonett,
        2006, Computational Statistics & Data Analysis 50).
        """
        weights = self.weights_of(rows)
        if weights is not None:
            return self._weighted_spread(rows, values, weights)
        n = len(values)
        estimate = float(values.std(ddof=1)) if n > 1 else math.nan
        if n < FEWEST_FOR_SPREAD or not estimate > 0:
            return Estimate(estimate, (0.0, math.inf))
        # The share 1/(2√(n − 4)) of the values is trimmed at either end.
        cut = min(int(n / (2.0 * math.sqrt(n - 4))), (n - 1) // 2)
        trimmed_mean = float(np.sort(values)[cut : n - cut].mean())
        squares = np.square(values - trimmed_mean)
        kurtosis = n * float(np.square(squares).sum()) / float(squares.sum()) ** 2
        return self._bonett(rows, values, estimate, kurtosis, n)

    def _weighted_spread(
        self, rows: IntArray, values: FloatArray, weights: FloatArray
    ) -> Estimate:
        """Return `spread` of rows with weights (m,), which count as fewer rows."""
        n = effective_rows(weights)
        estimate = weighted_sd(values, weights)
        if n < FEWEST_FOR_SPREAD or not estimate > 0:
            return Estimate(estimate, (0.0, math.inf))
        cut = 0.5 / math.sqrt(n - 4)
        low, high = weighted_quantiles(values, weights, np.array([cut, 1.0 - cut]))
        inner = (values >= low) & (values <= high)
        trimmed_mean = weighted_mean(values[inner], weights[inner])
        squares = np.square(values - trimmed_mean)
        fourth = weighted_mean(np.square(squares), weights)
        kurtosis = fourth / weighted_mean(squares, weights) ** 2
        return self._bonett(rows, values, estimate, kurtosis, n)

    def _bonett(
        self,
        rows: IntArray,
        values: FloatArray,
        estimate: float,
        kurtosis: float,
        n: float,
    ) -> Estimate:
        """Return Bonett's interval around a standard deviation of n values."""
        error = 0.5 * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
        centre = weighted_mean(values, self.weights_of(rows))
        reach = self.reach_by_units(rows, np.square(values - centre))
        half = max(reach, student(self.reach, n - 1)) * error if error > 0 else 0.0
        excess = max(kurtosis - 3.0, 0.0)
        tail = min(1.0 + excess / EXCESS_OF_DOUBLE_REACH, MOST_STRETCHED_TAIL)
        # Bonett's small-sample factor n/(n − reach), of the variance; it is at most 2.
        factor = n / max(n - self.reach, 1.0) if n > 2 * self.reach else 2.0
        low = estimate * math.sqrt(factor) * math.exp(-half)
        high = estimate * math.sqrt(factor) * math.exp(min(half * tail, LARGEST_LOG_RATIO))
        return Estimate(estimate, (min(low, estimate), high))

    def share(
        self, rows: IntArray, happened: AnyArray, expected: AnyArray | float = 0.0
    ) -> Estimate:
        """Return how often something happened, with the interval of Clopper and Pearson.

        `happened` are booleans (m,), `expected` their probabilities (m,), or one number.
        Where probabilities differ from row to row, they explain a part of the variance of
        `happened`, and the interval is shorter by the root of the part that is left.
        """
        m = len(happened)
        weights = self.weights_of(rows)
        n: float = m
        count: float = int(np.count_nonzero(happened))
        counted: FloatArray | float = 1.0
        if weights is not None:
            counted = counting_weights(weights)
            n = float(counted.sum())
            count = float(counted[happened].sum()) if m > np.sum(happened) else n
        p = np.broadcast_to(np.asarray(expected, dtype=np.float64), m)
        residuals = happened - expected
        shorter = 1.0
        if np.ndim(expected):
            # One is added as if one more event had happened, so that the interval does not
            # vanish where probabilities are near 0 and 1.
            observed_squares = float((np.square(residuals) * counted).sum())
            predicted_squares = float((p * (1.0 - p) * counted).sum())
            left = 1.0 + max(observed_squares, predicted_squares)
            shorter = math.sqrt(min(left * n / max(count * (n - count), 1), 1.0))
        tail = float(ndtr(-shorter * self.reach_by_units(rows, residuals)))
        low, high = share_interval(count, n, 2.0 * tail)
        return Estimate(count / n, (float(low), float(high)))

    def share_finding(
        self,
        rows: IntArray,
        happened: AnyArray,
        expected: AnyArray | float,
        about: Signal,
        *,
        several: bool = False,
    ) -> Finding:
        """Return how often something happened, (m,) booleans, beside its probability.

        The probability `expected` is one number for each row, (m,), or one for all.
        `several` says whether y has several columns, so that sentences name this one.
        """
        varies = np.ndim(expected) > 0
        share = self.share(rows, happened, expected if varies else 0.0)
        return Finding(
            kind=about.kind,
            column=about.column,
            estimate=share.value,
            interval=share.interval,
            expected=self._mean_expected(rows, expected),
            label=about.label,
            quantity=about.kind,
            numbers={"several": several, "n": len(rows)},
        )

    def _mean_expected(self, rows: IntArray, expected: AnyArray | float) -> float:
        """Return the mean probability of some rows, weighted where rows are."""
        if np.ndim(expected) == 0:
            return float(expected)
        return weighted_mean(np.asarray(expected), self.weights_of(rows))

    def ratio(self, rows: IntArray, happened: AnyArray, expected: FloatArray) -> Estimate:
        """Return the number of events, (m,) booleans, over that expected, Σ of (m,).

        The interval is the exact one of a Poisson number.
        """
        weights = self.weights_of(rows)
        count: float = int(happened.sum())
        total = float(expected.sum())
        if weights is not None:
            # Counted as if so many events had come whose variance is that of Σ w·event.
            counted = weights * ((weights @ expected) / (np.square(weights) @ expected))
            count = float(counted[happened.astype(bool)].sum())
            total = float(counted @ expected)
        mean = max(total, LEAST_EXPECTED_EVENTS)
        tail = float(ndtr(-self.reach_by_units(rows, happened - expected)))
        low = float(gammaincinv(count, tail)) / mean if count else 0.0
        high = float(gammaincinv(count + 1, 1.0 - tail)) / mean
        return Estimate(count / mean, (low, high))


def student(reach: float, df: float) -> float:
    """Return the quantile of Student's t, `df` degrees of freedom, at level Φ(reach)."""
    return -float(stdtrit(df, float(ndtr(-reach)))) if df > 0 else math.inf


def joint_reach(count: int) -> float:
    """Return how far each of `count` intervals reaches so that all hold: Bonferroni's."""
    return -float(ndtri(0.5 * (1.0 - JOINT_LEVEL) / max(count, 1)))


class Residual(NamedTuple):
    """Residuals z of one column of y at some rows, and how sentences speak of them."""

    rows: IntArray  #: Positions among the rows of the check, (m,).
    z: FloatArray  #: (m,).
    column: str
    several: bool = False  #: Whether y has other columns.
    draws: int = 0  #: How many draws of each row the law is known by; 0 for other laws.


def mean_and_spread(
    reader: Reader, residual: Residual, *, least_sd: float = 0.0
) -> Iterator[Finding]:
    """Yield mean and standard deviation of residuals.

    The interval of the mean is for a standard deviation of at least `least_sd`.
    """
    numbers = {"several": residual.several, "draws": residual.draws}
    mean = reader.mean(residual.rows, residual.z, least_sd)
    yield Finding(
        kind="shift",
        column=residual.column,
        estimate=mean.value,
        interval=mean.interval,
        expected=0.0,
        quantity="mean",
        numbers=numbers,
    )
    if len(residual.z) < 2:
        return
    spread = reader.spread(residual.rows, residual.z)
    yield Finding(
        kind="spread",
        column=residual.column,
        estimate=spread.value,
        interval=spread.interval,
        expected=1.0,
        quantity="sd",
        numbers=numbers,
    )


def median_and_middle_half(reader: Reader, residual: Residual) -> Iterator[Finding]:
    """Yield median and middle half of residuals, which one outlier does not move."""
    numbers = {"several": residual.several, "draws": residual.draws}
    yield Finding(
        kind="shift",
        column=residual.column,
        estimate=residual_median(reader, residual),
        interval=residual_quantile_interval(reader, residual, 0.5),
        expected=0.0,
        label=MEDIAN,
        quantity="median",
        numbers=numbers,
    )
    if len(residual.z) < 2:
        return
    width = _middle_half_width(reader, residual)
    yield Finding(
        kind="spread",
        column=residual.column,
        estimate=width.value,
        interval=width.interval,
        expected=1.0,
        label=MIDDLE_HALF,
        quantity="middle half",
        numbers=numbers,
    )


def residual_median(reader: Reader, residual: Residual) -> float:
    """Return the median of residuals, weighted where rows are."""
    weights = reader.weights_of(residual.rows)
    if weights is None:
        return float(np.median(residual.z))
    return float(weighted_quantiles(residual.z, weights, np.array([0.5]))[0])


def _middle_half_width(reader: Reader, residual: Residual) -> Estimate:
    """Return the width of the middle half of residuals over that of N(0, 1).

    Its interval comes from those of the two quartiles: each end of it from the ends of
    theirs that make the width smaller, or larger (Zou and Donner, 2008, Statistics in
    Medicine 27).
    """
    weights = reader.weights_of(residual.rows)
    quartiles = quantiles(residual.z, weights, np.array([0.25, 0.75]))
    lower, upper = (float(q) for q in quartiles)
    lower_ends = residual_quantile_interval(reader, residual, 0.25)
    upper_ends = residual_quantile_interval(reader, residual, 0.75)
    width = upper - lower
    narrower = _distance_of_quartiles(lower_ends[1] - lower, upper - upper_ends[0])
    wider = _distance_of_quartiles(lower - lower_ends[0], upper_ends[1] - upper)
    normal_width = 2.0 * HALF_WIDTH_50
    interval = (max(width - narrower, 0.0) / normal_width, (width + wider) / normal_width)
    return Estimate(width / normal_width, interval)


def _distance_of_quartiles(of_lower: float, of_upper: float) -> float:
    """Return how far the difference of two quartiles reaches, from how far each does."""
    if math.isinf(of_lower) or math.isinf(of_upper):
        return math.inf
    # Sample quartiles have the correlation 1/3, whatever the law.
    return math.sqrt(of_lower**2 + of_upper**2 - 2.0 / 3.0 * of_lower * of_upper)


def residual_quantile_interval(
    reader: Reader, residual: Residual, level: float
) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, whatever the law of z.

    The number of values below the true quantile is binomial. Where not even the smallest
    value is below it with the probability that is asked for, the interval goes on beyond
    the values (`beyond_range`).
    """
    z = residual.z
    weights = reader.weights_of(residual.rows)
    quantile = float(quantiles(z, weights, np.array([level]))[0])
    below = np.asarray(z <= quantile, dtype=np.float64)
    reach = reader.reach_by_units(residual.rows, below)
    n = len(z) if weights is None else max(int(effective_rows(weights)), 1)
    first = _rank_below(n, level, reach)
    last = n - 1 - _rank_below(n, 1.0 - level, reach)
    ends = _order_statistics(z, weights, max(first, 0), min(last, n - 1), n)
    low, high = ends
    spread = float(np.ptp(z))
    count = n
    if reader.units is not None:
        count = len(np.unique(reader.units[residual.rows]))
    tail = float(ndtr(-reader.reach))
    if first < 0:
        low -= spread * beyond_range(count, level, tail)
    if last > n - 1:
        high += spread * beyond_range(count, 1.0 - level, tail)
    return min(low, quantile), max(high, quantile)


def _order_statistics(
    z: FloatArray, weights: FloatArray | None, first: int, last: int, n: int
) -> tuple[float, float]:
    """Return the values of two ranks among n, counted from 0.

    Weighted values (m,) count as n together: the value of a rank is that at which the share
    of the weights below it is the share of n values below the rank.
    """
    if weights is None:
        ordered = np.partition(z, [first, last])
        return float(ordered[first]), float(ordered[last])
    order = np.argsort(z, kind="stable")
    shares = np.cumsum(weights[order])
    shares *= n / shares[-1]
    place = np.searchsorted(shares, first, side="right")
    place_of_last = np.searchsorted(shares, last + 1 - RANK_ROUNDING, side="left")
    most = len(z) - 1
    low = z[order[min(int(place), most)]]
    return float(low), float(z[order[min(int(place_of_last), most)]])


def _rank_below(n: int, level: float, reach: float) -> int:
    """Return the largest k with P(B ≤ k) ≤ Φ(−reach), B binomial of n and `level`; or −1.

    The value of rank k, counted from 0, is above the quantile at most as often.
    """
    tail = float(ndtr(-reach))
    normal = n * level - min(reach * math.sqrt(n * level * (1.0 - level)), float(n))
    k = max(-1, min(math.ceil(normal) + 2, n - 1))
    # P(B ≤ k) by the incomplete beta function: `bdtr` is off by 2e-3 at n = 1e7.
    while k >= 0 and not betainc(n - k, k + 1, 1.0 - level) <= tail:
        k -= 1
    return k


@lru_cache(maxsize=64)
def beyond_range(n: int, level: float, tail: float) -> float:
    """Return how far below the smallest of n values a quantile may lie, in their ranges.

    With the smallest value m and the range r of n normal values, it is the least c ≥ 0 with
    P(m − c·r > q) ≤ tail for the quantile q at `level`. Given the smallest value x, the
    others lie between x and x + (x − q)/c:

        P = n ∫_q^∞ φ(x)·(Φ(x + (x − q)/c) − Φ(x))^(n−1) dx,

    which does not depend on location and scale.
    """
    if (1.0 - level) ** n <= tail:
        return 0.0
    if n < 2:
        return math.inf
    q = float(ndtri(level))
    x = q + np.linspace(0.0, BEYOND_END, BEYOND_STEPS)
    density = n * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def probability(log_c: float) -> float:
        inside = ndtr(x + (x - q) * math.exp(-log_c)) - ndtr(x)
        return float(np.trapezoid(density * inside ** (n - 1), x))

    low, high = BEYOND_LOG_RANGES
    for _ in range(BEYOND_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if probability(middle) > tail else (low, middle)
    return math.exp(high)


def interval_shares(
    reader: Reader,
    residual: Residual,
    outer: OuterInterval,
    resolves: Callable[[float], bool],
) -> Iterator[Finding]:
    """Yield which shares of rows lie inside central intervals, and outside of `outer`.

    `resolves` says whether the law can tell a tail of some probability: a law that is known
    by a few draws cannot, and then the shares that need this tail are left out.
    """
    rows = residual.rows
    z = residual.z
    column = residual.column
    several = residual.several
    for label, half_width in CENTRAL.items():
        level = float(label[:-1]) / 100
        if resolves(0.5 - 0.5 * level):
            about = Signal("coverage", column, label)
            inside = np.abs(z) <= half_width
            yield reader.share_finding(rows, inside, level, about, several=several)
    if resolves(0.05):
        yield _skew(reader, residual)
    if resolves(0.5 * outer.outside):
        share = reader.share(rows, np.abs(z) > outer.half_width)
        yield Finding(
            kind="tails",
            column=column,
            estimate=share.value,
            interval=share.interval,
            expected=outer.outside,
            label=outer.label,
            quantity="tails",
            numbers={"several": several, "n": len(z)},
        )


def _skew(reader: Reader, residual: Residual) -> Finding:
    """Return the share of rows above the 95% quantile less that below the 5% quantile."""
    z = residual.z
    above = z > HALF_WIDTH_90
    below = z < -HALF_WIDTH_90
    weights = reader.weights_of(residual.rows)
    skew, (low, high) = reader.mean(residual.rows, above * 1.0 - below * 1.0)
    if not (above.any() or below.any()):
        # The standard error is then 0. The share of either tail is instead at most about
        # reach²/n, as by Wilson's interval of a share of 0.
        n = reader.effective(residual.rows)
        low = -(reader.reach**2) / n
        high = reader.reach**2 / n
    return Finding(
        kind="skew",
        column=residual.column,
        estimate=skew,
        interval=(max(low, -1.0), min(high, 1.0)),
        expected=0.0,
        quantity="skew",
        numbers={
            "several": residual.several,
            "above": weighted_mean(above, weights),
            "below": weighted_mean(below, weights),
        },
    )


def outliers(reader: Reader, residual: Residual) -> Iterator[Finding]:
    """Yield the number of outliers: rows further out than any of all rows should be.

    Nothing is yielded where there are none.
    """
    z = residual.z
    # By Bonferroni, one of n rows is beyond this bound with probability 0.001 at most.
    bound = -float(ndtri(0.5 * OUTLIER_PROBABILITY / len(z)))
    far = np.flatnonzero(np.abs(z) > bound)
    if not len(far):
        return
    worst = far[np.argsort(-np.abs(z[far]), kind="stable")[:MOST_LISTED_OUTLIERS]]
    count = float(len(far))
    labels = reader.checked.table.origin.labels
    row_numbers = [int(row) for row in reader.checked.rows[worst]]
    yield Finding(
        kind="wild",
        column=residual.column,
        estimate=count,
        interval=(count, count),
        expected=0.0,
        quantity="outliers",
        numbers={
            "several": residual.several,
            "rows": row_numbers,
            "labels": [] if labels is None else [str(labels[row]) for row in row_numbers],
            "names": row_names(reader.checked, worst),
            "z": [float(z[i]) for i in worst],
            "n": len(z),
            "expected": OUTLIER_PROBABILITY,
        },
    )


def row_names(checked: CheckedRows, positions: IntArray) -> list[str]:
    """Return what the user calls some rows: labels of an index, or their numbers."""
    rows = checked.rows[positions]
    labels = checked.table.origin.labels
    names = rows if labels is None else [labels[int(row)] for row in rows]
    is_number = [isinstance(name, (int, np.integer)) for name in names]
    return [
        f"{int(name):,}" if whole else str(name)
        for name, whole in zip(names, is_number, strict=True)
    ]


def improbable_classes(
    reader: Reader, p: FloatArray, codes: IntArray, limit: float, column: str
) -> Iterator[Finding]:
    """Yield how many rows have a class of a probability below a limit.

    `p` are all probabilities (n, K), and `codes` (n,) the classes that came. Nothing is
    yielded where as many come with a probability of 0.001 at least, by the Poisson law.
    """
    n = len(p)
    own = p[np.arange(n), codes]
    far = np.flatnonzero(own < limit)
    expected = float(np.where(p < limit, p, 0.0).sum())
    is_usual = len(far) == 0 or float(gammainc(len(far), expected)) >= OUTLIER_PROBABILITY
    if is_usual:
        return
    worst = far[np.argsort(own[far], kind="stable")[:MOST_LISTED_OUTLIERS]]
    count = float(len(far))
    yield Finding(
        kind="wild",
        column=column,
        estimate=count,
        interval=(count, count),
        expected=expected,
        quantity="improbable classes",
        numbers={
            "rows": [int(row) for row in reader.checked.rows[worst]],
            "names": row_names(reader.checked, worst),
            "probability": [float(own[i]) for i in worst],
            "impossible": int(np.count_nonzero(own == 0.0)),
            "limit": limit,
            "n": n,
            "expected": expected,
        },
    )


#: By the kind of the strongest signal of a subgroup, the kinds of findings that may lead
#: its description, in the order of preference. Signals of other kinds have one finding
#: each, which leads.
LEADERS = {
    "spread": ("spread", "coverage", "tails"),
    "tails": ("tails", "coverage", "spread", "skew"),
    "skew": ("skew", "shift", "coverage", "spread"),
    "shift": ("shift", "skew", "coverage"),
}


def led(findings: tuple[Finding, ...], signal: Signal, sign: float) -> tuple[Finding, ...]:
    """Put the finding first that shows what the signal does; then the furthest off.

    `signal` is the one whose sum over the rows is the largest, and `sign` has its sign.
    """
    ranked = sorted(findings, key=lambda one: -distance(one))
    lead = _lead(findings, ranked, signal, sign)
    return (lead, *(one for one in ranked if one is not lead))


def _lead(
    findings: tuple[Finding, ...], ranked: list[Finding], signal: Signal, sign: float
) -> Finding:
    """Return the finding that leads; `ranked` are all of them, the furthest off first."""
    if signal.kind not in LEADERS:
        same = (one for one in findings if one.about == signal and one.telling)
        return next(same, ranked[0])
    of_column = [one for one in ranked if one.column == signal.column] or ranked
    shift = _first_of_kind(of_column, "shift")
    spread = _first_of_kind(of_column, "spread")
    kind = _leading_kind(of_column, signal.kind)
    candidates: list[Finding] = []
    for leader in LEADERS[kind]:
        candidates += [one for one in of_column if one.kind == leader and one.telling]
    agreeing = []
    if kind == signal.kind:
        agreeing = [one for one in candidates if _agrees(one, signal, sign)]
    if kind == "tails" and sign < 0:
        # Too few rows lie in the middle and far out, as where a mode is missing: the
        # finding that is furthest off describes it best.
        agreeing.sort(key=distance, reverse=True)
    is_of_width = signal.kind in ("spread", "tails")
    if sign > 0 and is_of_width and shift and spread and shift.telling:
        # The data lie far out because they are shifted, and spread no more than predicted.
        agreeing = [shift] if spread.estimate < spread.expected else agreeing
    return (agreeing or candidates or of_column)[0]


def _first_of_kind(findings: list[Finding], kind: str) -> Finding | None:
    return next((one for one in findings if one.kind == kind), None)


def _leading_kind(findings: list[Finding], signal_kind: str) -> str:
    """Return which kind of misfit the findings of a column show.

    It is that of the signal, a key of `LEADERS`, unless findings explain it more simply.
    """
    kind = signal_kind
    shift = _first_of_kind(findings, "shift")
    spread = _first_of_kind(findings, "spread")
    coverage = [one for one in findings if one.kind == "coverage"]
    if kind == "tails" and spread and spread.telling and coverage:
        # The data are wider, or narrower, in the middle as well as far out: no matter of
        # tails.
        wider = spread.estimate > 1.0
        if all((one.estimate < one.expected) == wider for one in coverage):
            kind = "spread"
    if shift and spread and shift.telling and abs(shift.estimate) >= FAR_SHIFT:
        # PITs are near 0 or 1, and signals of other kinds show the shift, too.
        kind = "shift" if distance(shift) > distance(spread) else kind
    return kind


def _agrees(finding: Finding, signal: Signal, sign: float) -> bool:
    """Whether a finding is off in the direction that the signal is."""
    if finding.kind == "shift" and signal.kind == "skew":
        return True  # data that are shifted and narrow are skewed to the other side
    same_kind = finding.kind == signal.kind
    if same_kind or {finding.kind, signal.kind} <= {"shift", "skew"}:
        return (finding.estimate > finding.expected) == (sign > 0)
    if signal.kind in ("spread", "tails") and finding.kind == "coverage":
        # Wide data have too few rows in an interval. Heavy tails also have too few in the
        # 90% interval, and too many in the 50% interval.
        is_middle = signal.kind == "tails" and finding.label == "50%"
        too_few_expected = (sign > 0) != is_middle
        return (finding.estimate < finding.expected) == too_few_expected
    return True


def distance(finding: Finding) -> float:
    """Return how far a finding is from the prediction, in half-widths of its interval.

    The half is that between the estimate and the end on the side of the prediction.
    """
    low, high = finding.interval
    deviation = finding.estimate - finding.expected
    half = finding.estimate - low if deviation > 0 else high - finding.estimate
    if half > 0:
        return abs(deviation) / half
    return math.inf if deviation else 0.0


def severity(finding: Finding) -> float:
    """Return how bad it is: in standard deviations, in a log ratio, or in probability."""
    quantity = QUANTITIES.get(finding.kind)
    if quantity is not None and quantity.is_ratio:
        return abs(math.log(max(finding.estimate, LEAST_RATIO)))
    return abs(finding.estimate - finding.expected)
