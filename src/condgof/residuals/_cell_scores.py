"""One number a row, or one vector, that tells autocorrelation of a discrete y.

Autocorrelation of y is diluted where each cell has an indicator of its own, and where y is
told by a randomised PIT: with rare counts, of mean 0.1, the randomisation leaves a lag-1
correlation of 0.54 at 0.18. See docs/theory/dependence.md.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.residuals._residuals import DependenceValues

#: Rows that are computed at a time; it bounds the memory.
BLOCK_ROWS = 4096
#: A PIT is kept away from 0 and 1 by this much: a normal score is at most 6 in size.
LEAST_PIT = 1e-9
#: Scores whose standard deviation given x is smaller are divided by this: a row of which
#: the law is nearly certain must not decide. Its mean given x stays 0.
LEAST_SPREAD = 0.1
#: Probabilities of classes count as at least this where they are divided by, likewise.
LEAST_PROBABILITY = 0.01
#: More classes than this are merged: the most probable ones stay, all others are one.
MOST_CLASSES = 8


def ordered_cell_scores(probabilities: AnyArray, codes: IntArray) -> DependenceValues:
    """Return normal scores of the observed cells of an ordered y, standardised given x.

    With g_k = Φ⁻¹(p_1 + … + p_{k−1} + ½ p_k), the normal score of the middle of cell k,

        ε = (g_y − Σ_k p_k g_k) / √(Σ_k p_k g_k² − (Σ_k p_k g_k)²)

    has mean 0 and variance 1 given x under the law. Of two cells it is Pearson's residual,
    and of rare counts it differs little from it. The size of a row is |ε| less its mean
    given x.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
        Of the cells, in their order; rows are normalised here.
    codes : ndarray of int, shape (n,)
        The observed cells.
    """
    n, count = probabilities.shape
    values = np.empty((n, 1))
    sizes = np.empty((n, 1))
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        p = _normalised(probabilities[rows])
        middle = np.cumsum(p, axis=1) - 0.5 * p
        scores = ndtri(np.clip(middle, LEAST_PIT, 1.0 - LEAST_PIT))
        scores -= np.einsum("nk,nk->n", p, scores)[:, None]
        spread = np.sqrt(np.einsum("nk,nk,nk->n", p, scores, scores))
        scores /= np.maximum(spread, LEAST_SPREAD)[:, None]
        observed = scores[np.arange(len(p)), codes[rows]]
        values[rows, 0] = observed
        sizes[rows, 0] = np.abs(observed) - np.einsum("nk,nk->n", p, np.abs(scores))
    # Of two cells, the size says nothing that the score does not.
    return DependenceValues(values, sizes if count > 2 else sizes[:, :0], is_bounded=True)


def class_scores(probabilities: AnyArray, codes: IntArray) -> DependenceValues:
    """Return (e_y − p)/√p of K classes without an order, a vector a row.

    Products of two rows, Σ_c (e_y − p)_c (e_y' − p')_c / √(p_c p'_c), have mean 0 for
    independent rows, and one sum of them for each lag tells correlation of any classes. Of
    two classes it is Pearson's residual, one number a row.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
        Of the classes; rows are normalised here.
    codes : ndarray of int, shape (n,)
        The observed classes.
    """
    n, count = probabilities.shape
    if count == 2:
        return ordered_cell_scores(probabilities, codes)
    total = np.zeros(count)
    for start in range(0, n, BLOCK_ROWS):
        total += _normalised(probabilities[start : start + BLOCK_ROWS]).sum(axis=0)
    group = np.minimum(_ranks(total), MOST_CLASSES - 1)
    merge = np.eye(min(count, MOST_CLASSES))[group]
    values = np.empty((n, merge.shape[1]))
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        p = _normalised(probabilities[rows]) @ merge
        values[rows] = (merge[codes[rows]] - p) / np.sqrt(np.maximum(p, LEAST_PROBABILITY))
    return DependenceValues(values, is_vector=True, is_bounded=True)


def _normalised(probabilities: AnyArray) -> FloatArray:
    """Return probabilities (n, K) as doubles that sum to 1 in each row, in a new array."""
    p: FloatArray = np.array(probabilities, dtype=np.float64)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _ranks(totals: FloatArray) -> IntArray:
    """Return the rank of each number, 0 for the largest; equal ones keep their order."""
    return np.asarray(np.argsort(np.argsort(-totals, kind="stable"), kind="stable"))
