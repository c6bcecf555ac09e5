"""Intervals of single estimates, and of several that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.result import binomial_quantile, share_interval


class QuantileIntervals(NamedTuple):
    """Intervals of L quantiles of each of B samples, (B, L) each."""

    low: FloatArray
    high: FloatArray


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


def binomial_range(n: AnyArray | int, p: AnyArray | float, error: float) -> CountRange:
    """Return between which counts a Binomial(n, p) lies, but for a probability `error`."""
    return CountRange(
        low=binomial_quantile(error / 2, n, p),
        high=binomial_quantile(1 - error / 2, n, p),
    )


def quantile_intervals(
    samples: Sequence[FloatArray], levels: Sequence[float], error: float
) -> QuantileIntervals:
    """Return the order statistics of samples between which quantiles of their laws lie.

    Each quantile lies outside its interval with probability `error`. Ends are infinite
    where a sample is too small.
    """
    sizes = np.array([len(values) for values in samples])
    ranks = binomial_range(sizes[:, None], np.asarray(levels), error)
    low = np.empty(ranks.low.shape)
    high = np.empty(ranks.low.shape)
    for b, values in enumerate(samples):
        ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
        low[b] = ordered[ranks.low[b].astype(np.int64)]
        high[b] = ordered[ranks.high[b].astype(np.int64) + 1]
    return QuantileIntervals(low=low, high=high)


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
