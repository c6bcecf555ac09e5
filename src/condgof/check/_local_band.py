"""The distribution of PITs near a point of x, with a simultaneous band; see docs/theory.

Given weights w_i of n rows, which depend on x alone and add up to 1,

    Ĝ(t) = Σ_i w_i·1{u_i ≤ t}    estimates    G(t) = Σ_i w_i·P(u_i ≤ t | x_i),

the PIT curve of the same smoothing. The band is all g with |Ĝ(t) − g| ≤ c·s(g)/√m, where
m = 1/Σ w_i² is the effective number of rows, s(g)² = g(1 − g) + 1/m, and c is the 95%
quantile of sup_t |Ĝ(t) − t|·√m/s(t) for uniform u_i with these very weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.result import IntervalEnds

#: Draws of uniform PITs from which c comes: its level is exact, 950 of 999 + 1.
BAND_DRAWS = 999
#: Probability with which the band holds the whole curve.
BAND_LEVEL = 0.95
#: Numbers that are drawn at a time: 32 MB.
BLOCK_NUMBERS = 2**22
#: Levels t at which curves are reported: 0, 0.01, …, 1.
PIT_LEVELS = np.linspace(0.0, 1.0, 101)


def effective_rows(weights: FloatArray) -> float:
    """Return (Σ w)²/Σ w², how many equally weighted rows are as informative, of w (n,)."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


class Band(NamedTuple):
    """A simultaneous band of a curve, and how far the diagonal is from the data."""

    low: FloatArray  #: At `PIT_LEVELS`, (101,).
    high: FloatArray
    #: Probability of a curve as far from the diagonal, if the model is right.
    pvalue: float


def step_curve(u: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Σ w_i·1{u_i ≤ t} at `PIT_LEVELS`, (101,), of u and w (n,)."""
    order = np.argsort(u, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(sums[np.searchsorted(u[order], PIT_LEVELS, side="right")])


def averaged_curve(lower: FloatArray, upper: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the curve of PITs that are uniform between `lower` and `upper`, (101,).

    It is Σ w_i·P(U_i ≤ t), the mean over the randomisation of the PIT of a discrete y.
    All arguments are (n,).
    """
    width = np.maximum(upper - lower, np.finfo(float).tiny)
    curve = np.empty(len(PIT_LEVELS))
    for k, t in enumerate(PIT_LEVELS):
        curve[k] = weights @ np.clip((t - lower) / width, 0.0, 1.0)
    return curve


def largest_distance(u: AnyArray, weights: FloatArray) -> FloatArray:
    """Return sup_t |Ĝ(t) − t|·√m/s(t) of PITs (…, n) with weights (n,), (…,).

    Between two PITs the ratio is monotone in t, so that the supremum is at one of them,
    from the left or from the right.
    """
    m = effective_rows(weights)
    order = np.argsort(u, axis=-1)
    t = np.take_along_axis(u, order, axis=-1)
    right = np.cumsum(weights[order], axis=-1)
    left = right - weights[order]
    scale = np.sqrt((t * (1.0 - t) + 1.0 / m) / m)
    distance = np.maximum(np.abs(right - t), np.abs(left - t)) / scale
    return np.asarray(distance.max(axis=-1))


def null_distances(weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw `largest_distance` of uniform PITs with weights (n,), (BAND_DRAWS,)."""
    size = max(1, BLOCK_NUMBERS // len(weights))
    parts = []
    for start in range(0, BAND_DRAWS, size):
        draws = min(size, BAND_DRAWS - start)
        parts.append(largest_distance(rng.random((draws, len(weights))), weights))
    return np.concatenate(parts)


def curve_band(
    curve: FloatArray,
    *,
    unit_weights: FloatArray,
    rng: np.random.Generator,
    distance: float | None = None,
) -> Band:
    """Return the band of a curve at `PIT_LEVELS`, (101,).

    `unit_weights` (U,) add up to 1, one for each set of rows that may share an error; rows
    that are independent are sets of their own. `distance` is `largest_distance` of the
    data; where it is None, the largest one at `PIT_LEVELS` serves, which is smaller.
    """
    m = effective_rows(unit_weights)
    draws = np.sort(null_distances(unit_weights, rng))
    critical = float(draws[math.ceil(BAND_LEVEL * (BAND_DRAWS + 1)) - 1])
    if distance is None:
        scale = np.sqrt((PIT_LEVELS * (1.0 - PIT_LEVELS) + 1.0 / m) / m)
        distance = float((np.abs(curve - PIT_LEVELS) / scale).max())
    as_far = int((draws >= distance).sum())
    ends = share_ends(curve, m, critical, floor=1.0 / m)
    return Band(low=ends.low, high=ends.high, pvalue=(1 + as_far) / (BAND_DRAWS + 1))


def share_ends(
    share: AnyArray | float, m: float, critical: float, floor: float = 0.0
) -> IntervalEnds:
    """Return all g with |share − g| ≤ critical·√((g(1 − g) + floor)/m), an interval.

    With `floor` 0 it is Wilson's interval of a share of m rows. Arrays keep their shape.
    """
    k = critical**2 / m
    share = np.asarray(share, dtype=np.float64)
    middle = 2.0 * share + k
    root = np.sqrt(np.maximum(middle**2 - 4.0 * (1.0 + k) * (share**2 - k * floor), 0.0))
    low = (middle - root) / (2.0 * (1.0 + k))
    high = (middle + root) / (2.0 * (1.0 + k))
    return IntervalEnds(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))


def joint_critical(count: int) -> float:
    """Return the normal quantile with which `count` intervals hold together 95% (Šidák)."""
    each = 1.0 - BAND_LEVEL ** (1.0 / count)
    return float(ndtri(1.0 - each / 2.0))


def sums_by_unit(weights: FloatArray, units: IntArray | None) -> FloatArray:
    """Return the weights of units of rows that depend on each other, (U,)."""
    if units is None:
        return weights
    _, codes = np.unique(units, return_inverse=True)
    return np.bincount(codes.ravel(), weights).astype(np.float64)
