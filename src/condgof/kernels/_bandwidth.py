"""The median heuristic."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, NumericalError

MAX_ROWS = 1000


def median_distance(points: FloatArray, rng: np.random.Generator, what: str = "x") -> float:
    """Median of the Euclidean distances between rows i < j.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The rows; above 1,000 of them, 1,000 drawn without replacement are used.
    rng : numpy.random.Generator
        Draws those rows.
    what : str
        What the points are, for messages.

    Returns
    -------
    float
        The median; where more than half of the pairs are equal, the median of the others.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]), np.random.default_rng(0))
    2.0
    """
    from scipy.spatial.distance import pdist

    everything = points
    if len(points) > MAX_ROWS:
        points = points[np.sort(rng.choice(len(points), MAX_ROWS, replace=False))]
        if (points == points[0]).all():  # almost all rows are equal: what differs was not drawn
            points = np.unique(everything, axis=0)[:MAX_ROWS]
    distances = pdist(points - np.median(points, axis=0))
    median = float(np.median(distances))
    if median == 0:
        positive = distances[distances > 0]
        if not len(positive):
            raise InputError(
                f"All rows of {what} used for the median heuristic are equal. "
                "Pass a number as the bandwidth, or more varied data."
            )
        median = float(np.median(positive))
    if not np.isfinite(median):
        raise NumericalError(f"Distances between rows of {what} overflow. Rescale {what}.")
    return median
