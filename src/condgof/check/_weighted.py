"""Numbers of weighted rows, which count as (Σw)²/Σw² equally weighted ones."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.check._quantiles import linear_quantiles
from condgof.sample import effective_rows, weighted_mean

#: Sums of weights that differ by less than this share of the whole are equal.
SAME_SHARE = 1e-12


def counting_weights(weights: FloatArray) -> FloatArray:
    """Return weights (m,) whose sum is the effective number of rows, (Σw)²/Σw².

    So a weighted sum of independent terms of variance 1 has that number as its variance,
    as a sum over so many rows has.
    """
    return np.asarray(weights * (weights.sum() / np.square(weights).sum()))


def weighted_sd(values: FloatArray, weights: FloatArray) -> float:
    """Return the standard deviation of values (m,), of as many degrees of freedom.

    It is √(Σw(v − v̄)²/Σw · n/(n − 1)), with the effective number n of rows.
    """
    n = effective_rows(weights)
    if n <= 1.0:
        return float("nan")
    squares = np.square(values - weighted_mean(values, weights))
    return float(np.sqrt(weighted_mean(squares, weights) * n / (n - 1.0)))


def sd_of_mean_terms(values: FloatArray, weights: FloatArray) -> float:
    """Return √(Σw²(v − v̄)²/Σw²): over √n it is the standard error of the mean.

    n is the effective number of rows. It differs from `weighted_sd` where values of large
    weight vary more, or less, than others.
    """
    squares = np.square(weights)
    terms = squares * np.square(values - weighted_mean(values, weights))
    return float(np.sqrt(terms.sum() / squares.sum()))


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, levels: FloatArray
) -> FloatArray:
    """Return quantiles of values (m,) at levels (k,), (k,).

    The least value up to which a share p of the weights lies, or the middle between it and
    the next one where the share is p exactly: of integer weights, the median of repeated
    rows.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    shares = np.cumsum(weights[order])
    shares /= shares[-1]
    last = len(values) - 1
    first = np.searchsorted(shares, levels - SAME_SHARE, side="left")
    beyond = np.searchsorted(shares, levels + SAME_SHARE, side="left")
    low = ordered[np.minimum(first, last)]
    high = ordered[np.minimum(beyond, last)]
    return np.asarray(0.5 * (low + high))


def quantiles(
    values: FloatArray, weights: FloatArray | None, levels: FloatArray
) -> FloatArray:
    """Return quantiles of values (m,) at levels (k,): NumPy's where weights are equal."""
    if weights is None:
        return linear_quantiles(values, levels)
    return weighted_quantiles(values, weights, levels)
