"""Random test locations."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray


def gaussian_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations from a Gaussian fitted to the points by maximum likelihood.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The data.
    count : int
        How many locations.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    ndarray of shape (count, d)

    Examples
    --------
    >>> gaussian_locations(np.eye(3), 2, np.random.default_rng(0)).shape
    (2, 3)
    """
    mean = points.mean(axis=0)
    centred = points - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(points))
    # Clipped, because rounding may leave a variance of a degenerate direction below 0.
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    values: FloatArray = mean + rng.standard_normal((count, points.shape[1])) @ root.T
    return values


def row_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations among the points themselves, without replacement where there are enough."""
    chosen = rng.choice(len(points), count, replace=count > len(points))
    return np.array(points[chosen])
