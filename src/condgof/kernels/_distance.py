"""Squared Euclidean distances: by one matrix product where that is exact enough, else directly."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray

# |a|² + |b|² − 2a·b loses about eps·min(|a|, |b|)² of distances measured in bandwidths. Up to this
# size the loss is below 1e-11 and the matrix product serves; beyond it differences are taken.
PRODUCT_LIMIT = 1e4


@np.errstate(over="ignore")  # an infinite distance is far apart, and the kernel 0
def sqdist(a: FloatArray, b: FloatArray, scale: float = 1.0) -> FloatArray:
    """Squared distances between rows, in units of a bandwidth.

    Parameters
    ----------
    a : ndarray of shape (n, d)
        Points, best centred near 0.
    b : ndarray of shape (m, d)
        Points in the same coordinates.
    scale : float
        The bandwidth that differences are divided by.

    Returns
    -------
    ndarray of shape (n, m)
        ‖a_i − b_j‖² / scale², never negative.

    Examples
    --------
    >>> sqdist(np.array([[0.0], [3.0]]), np.array([[1.0]]), scale=2.0)
    array([[0.25],
           [1.  ]])
    """
    a, b = near_zero(a, b, scale)
    norms_a, norms_b = (a * a).sum(axis=1), (b * b).sum(axis=1)
    if product_is_exact(norms_a, norms_b):
        out = a @ (-2.0 * b.T)
        out += norms_a[:, None]
        out += norms_b
        return np.maximum(out, 0.0, out=out)
    return direct_sqdist(a, b)


def near_zero(a: FloatArray, b: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Move both sets of points near 0 and divide by a bandwidth; differences stay what they are.

    First moved, then divided: to divide seconds since 1970 by a bandwidth of a second loses digits.
    """
    centre = b[0] if len(b) else 0.0
    return (a - centre) / scale, (b - centre) / scale


def product_is_exact(norms_a: FloatArray, norms_b: FloatArray) -> bool:
    """Whether squared norms (in bandwidths) are small enough for the matrix-product form.

    A large norm on one side alone does no harm: such a pair is far apart, and its distance is large
    compared with the rounding error.
    """
    if not len(norms_a) or not len(norms_b):
        return True
    return bool(min(norms_a.max(), norms_b.max()) <= PRODUCT_LIMIT)


def direct_sqdist(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared distances by differences, column by column: slower, and exact everywhere."""
    out = np.zeros((len(a), len(b)))
    for column_a, column_b in zip(a.T, b.T, strict=True):
        difference = column_a[:, None] - column_b
        out += np.square(difference, out=difference)
    return out
