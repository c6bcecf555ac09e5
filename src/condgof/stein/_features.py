"""Stein matrices of low rank, H = ΦΦᵀ: sums that are linear in n."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.stein._sweep import Sums, Weights, check_overflow

BLOCK = 4096


def settle(difference: FloatArray | float, size: FloatArray | float) -> FloatArray:
    """Make a difference 0 where it is nothing but the rounding of terms of some size.

    Otherwise the sign of the last bit would decide whether a draw is above a statistic that is 0.
    """
    return np.where(np.abs(difference) <= 1e-13 * np.asarray(size), 0.0, difference)


def sweep_features(features: FloatArray, weights: Weights) -> Sums:
    """Sum ΦΦᵀ off its diagonal, plainly and under m sets of weights.

    Parameters
    ----------
    features : ndarray of shape (n, r)
        Φ.
    weights : Weights
        The weights, (n, m).
    """
    n, rank = features.shape
    squares = (features * features).sum(axis=1)
    plain, weighted, own = np.zeros(rank), np.zeros((weights.m, rank)), np.zeros(weights.m)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        w = weights.block(start, stop)
        plain += features[start:stop].sum(axis=0)
        weighted += w.T @ features[start:stop]
        own += (w * w).T @ squares[start:stop]
    whole, forms = float(plain @ plain), (weighted * weighted).sum(axis=1)
    total = float(settle(whole - squares.sum(), whole + squares.sum()))
    forms = settle(forms - own, forms + own)
    check_overflow(np.array(total), forms)
    return Sums(total, forms)
