"""The nearest-neighbour test ECMMD (arXiv 2407.16550), and SKCE for classes.

With y′ drawn from the model at the same x, and a kernel κ on y,

    H_ij = κ(y_i, y_j) − κ(y_i, y′_j) − κ(y′_i, y_j) + κ(y′_i, y′_j),
    T    = Σ_i Σ_{j among the k nearest of i} H_ij / (n k).

Under the model H_ij and H_kl are uncorrelated given x for different pairs, so that the
variance of √(nk) T is Σ_{i→j} (1 + 1[j→i]) H²_ij / (nk).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from scipy.stats import norm

from rivals.design import Rng, Sample

#: Draws of y′ over which H is averaged.
DRAWS = 20


def neighbours(x: np.ndarray, k: int) -> np.ndarray:
    """Return whether j is among the k nearest rows of i, (n, n)."""
    rng = np.random.default_rng(0)
    # Equal rows have no order among them: a hair's breadth gives them one.
    moved = x + 1e-9 * rng.normal(size=x.shape)
    nearest = KDTree(moved).query(moved, k + 1)[1][:, 1:]
    matrix = np.zeros((len(x), len(x)), dtype=bool)
    matrix[np.arange(len(x))[:, None], nearest] = True
    return matrix


def gaussian_gram(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """Return exp(−(a_i − b_j)² / (2 width²)), (n, n)."""
    return np.exp(-0.5 * np.square((a[:, None] - b[None, :]) / width))


def witness(y: np.ndarray, drawn: np.ndarray, *, linear: bool) -> np.ndarray:
    """Return H of rows with one draw from the model, (n, n)."""
    if linear:
        difference = y - drawn
        return np.outer(difference, difference)
    width = max(np.median(np.abs(y - drawn)), 1e-12)
    cross = gaussian_gram(y, drawn, width)
    return gaussian_gram(y, y, width) + gaussian_gram(drawn, drawn, width) - cross - cross.T


def ecmmd_pvalue(
    y: np.ndarray, drawn: np.ndarray, x: np.ndarray, *, k: int, linear: bool
) -> float:
    """Return the p-value of H averaged over draws from the model, (draws, n)."""
    h = np.mean([witness(y, one, linear=linear) for one in drawn], axis=0)
    near = neighbours(x, k)
    total = len(y) * k
    statistic = h[near].sum() / np.sqrt(total)
    variance = (np.square(h) * (1.0 + near.T))[near].sum() / total
    return float(2.0 * norm.sf(np.abs(statistic) / np.sqrt(variance)))


def ecmmd(sample: Sample, rng: Rng, *, k: int, linear: bool = False) -> float:
    """Test a model of one y by k neighbours in x."""
    drawn = np.array([sample.law.sample(rng)[:, 0] for _ in range(DRAWS)], dtype=float)
    x = np.asarray(sample.x, dtype=float)
    return ecmmd_pvalue(np.asarray(sample.y, float), drawn, x, k=k, linear=linear)


def skce(sample: Sample, rng: Rng) -> float:
    """Test calibration of probabilities (in x) by the kernel calibration error.

    The kernel on probabilities is exp(−|p − q|/width) with the median distance as width;
    the null is drawn by resampling the classes from the model.
    """
    p = np.asarray(sample.x, dtype=float).ravel()
    distances = np.abs(p[:, None] - p[None, :])
    width = np.median(distances[np.triu_indices(len(p), 1)])
    gram = np.exp(-distances / max(width, 1e-12))
    np.fill_diagonal(gram, 0.0)

    def statistic(y: np.ndarray) -> float:
        residual = y - p
        return float(residual @ gram @ residual)

    draws = [statistic(sample.law.sample(rng)[:, 0]) for _ in range(299)]
    return (1 + sum(draw >= statistic(sample.y) for draw in draws)) / 300
