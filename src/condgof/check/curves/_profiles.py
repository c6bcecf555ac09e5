"""Estimates by bin of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import Reader
from condgof.check.curves._intervals import (
    binomial_range,
    each_error,
    quantile_intervals,
    shares_together,
    side_of,
)
from condgof.check.kinds import CensoredRows
from condgof.result import Record, share_interval

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


@dataclass(frozen=True, eq=False)
class Profile(Record):
    """K estimates in each of B bins of a column."""

    names: tuple[str, ...]  #: What the estimates are, (K,): "median", "events / expected".
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
    intervals = quantile_intervals(parts, PROFILE_LEVELS, 0.05)
    medians = quantile_intervals(parts, [0.5], error)
    outside = [(np.abs(part - np.median(part)) > HALF_WIDTH_80).mean() for part in parts]
    spread = (quantiles[:, 2] - quantiles[:, 0]) / (2 * HALF_WIDTH_80)
    deviations = _Deviations(
        spread=spread,
        centre_side=side_of(medians.low[:, 0], medians.high[:, 0], 0.0),
        spread_side=_spread_side(np.array(outside), n, spread, error),
        centre_error=MEDIAN_ERROR / np.sqrt(n),
        spread_error=WIDTH_ERROR / np.sqrt(n),
    )
    return _residual_profile(
        names=("10% quantile", "median", "90% quantile"),
        estimate=quantiles,
        low=intervals.low,
        high=intervals.high,
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
        names=("mean − sd", "mean", "mean + sd"),
        estimate=values,
        low=values - REACH_95 * mean_error,
        high=values + REACH_95 * mean_error,
        expected=(-1.0, 0.0, 1.0),
        deviations=deviations,
    )


def _residual_profile(
    *,
    names: tuple[str, ...],
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
        names=names,
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
    names: Sequence[str],
    happened: Sequence[AnyArray],
    probability: Sequence[FloatArray],
    bins: Sequence[IntArray],
    *,
    as_difference: bool,
) -> ShareProfile:
    """Return by bin how often each of K things happened, (n,) booleans each.

    `names` says what the estimates are, `probability` has the predicted probabilities of
    each, (n,). With `as_difference`, the estimates are shares less mean probabilities, for
    probabilities that differ from row to row, of which no single line shows what is
    expected.
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
        names=tuple(names),
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
        names=("events / expected",),
        estimate=single[:, :1],
        low=single[:, 1:2],
        high=single[:, 2:],
        expected=(1.0,),
        side=side,
        furthest=furthest if side[furthest, 0] else None,
    )
