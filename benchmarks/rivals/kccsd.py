"""KCCSD (arXiv 2510.14711): calibration by a Stein discrepancy with a kernel on models.

The statistic is that of KCSD with x replaced by the model itself: predictive densities p
and q are compared by exp(−F(p, q) / (2σ²)), where

    F(p, q) = ∫ ‖∇ log p(u) − ∇ log q(u)‖² ν(du)

is their Fisher divergence under a base measure ν, here a normal one of the spread of y. Of
normal densities it follows from their scores at draws from ν. Both bandwidths are medians;
the null is drawn by random signs.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from rivals.design import Rng, Sample

#: Draws from the base measure.
BASE_DRAWS = 200
#: Draws of the null distribution.
SIGNS = 499


def score_features(mean: np.ndarray, std: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return scores of normal densities at draws of ν, (n, draws): F is their distance²."""
    scores = -(at[None, :] - mean[:, None]) / np.square(std)[:, None]
    return scores / np.sqrt(len(at))


def stein_matrix(y: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the Stein kernel of a Gaussian kernel with median width, (n, n)."""
    difference = y[:, None] - y[None, :]
    width = np.median(np.abs(difference)[np.triu_indices(len(y), 1)])
    scaled = difference / width**2
    gram = np.exp(-0.5 * np.square(difference / width))
    products = np.outer(score, score)
    mixed = (score[:, None] - score[None, :]) * scaled
    return gram * (products + mixed + 1.0 / width**2 - np.square(scaled))


def kccsd(sample: Sample, rng: Rng) -> float:
    """Test normal predictions of one y."""
    y = np.asarray(sample.y, dtype=float)
    mean, std = (values.ravel() for values in sample.law.mean_std())
    base = y.mean() + y.std() * rng.normal(size=BASE_DRAWS)
    distances = pdist(score_features(mean, std, base), "sqeuclidean")
    on_models = np.exp(-squareform(distances) / (2.0 * max(np.median(distances), 1e-12)))
    matrix = on_models * stein_matrix(y, -(y - mean) / np.square(std))
    np.fill_diagonal(matrix, 0.0)
    signs = rng.choice([-1.0, 1.0], (SIGNS, len(y)))
    draws = np.einsum("di,ij,dj->d", signs, matrix, signs, optimize=True)
    return float((1 + (draws >= matrix.sum()).sum()) / (SIGNS + 1))
