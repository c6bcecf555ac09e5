"""Counts as cells of a common finite set: y in the model's standard deviations, cut into cells.

u = (y − location(x))/scale(x) is rounded to cells of an eighth, from −8 to 8; what lies beyond goes into
the outermost. That is a function of y whose form depends on x alone, and so changes neither the
hypothesis nor the level, and the probability of a cell is a difference of two values of the CDF:
whatever the size of the counts, sums over their support are never needed. Where the scale is below 8 a
cell holds at most one count, so that nothing is merged but far tails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.kernels import Block, Cells

#: Cells of a standard deviation, and standard deviations to either side.
FINENESS, REACH = 8, 8
COUNT = 2 * FINENESS * REACH + 1
#: Where the cells lie.
POSITIONS = (np.arange(COUNT) - FINENESS * REACH) / FINENESS
COUNTS = Cells(
    (Block("counts", 0, COUNT, POSITIONS, distances=True),), "location and scale of the model, in cells"
)


def standardised(y: AnyArray, location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return u = (y − location)/scale, kept within the cells."""
    return np.clip((y - location) / scale, -REACH, REACH)


def cell_of(u: FloatArray) -> IntArray:
    """Return the cell of each standardised count; half-way goes up."""
    return np.floor(u * FINENESS + 0.5).astype(np.int64) + FINENESS * REACH


def cell_probabilities(
    cdf: Callable[[FloatArray], FloatArray], location: FloatArray, scale: FloatArray
) -> FloatArray:
    """Return the probability of each cell, (n, COUNT).

    Parameters
    ----------
    cdf : callable
        From counts (n, m), one row each, to P(Y ≤ ·|x) (n, m).
    location, scale : ndarrays of shape (n,)
        What counts are standardised by.
    """
    # The last count below the lower edge of each cell but the first. Found by asking the cells
    # themselves, so that rounding cannot put a count on one side of an edge here and the other there.
    edges = (POSITIONS[1:] - 0.5 / FINENESS) * scale[:, None] + location[:, None]
    last = np.ceil(edges) - 1.0
    cells = np.arange(1, COUNT)

    def own(y: FloatArray) -> IntArray:
        return cell_of(standardised(y, location[:, None], scale[:, None]))

    last += np.where(own(last + 1.0) < cells, 1.0, np.where(own(last) >= cells, -1.0, 0.0))
    below = cdf(last)
    whole = np.empty((len(location), COUNT))
    whole[:, 0] = below[:, 0]
    whole[:, 1:-1] = np.diff(below, axis=1)
    whole[:, -1] = 1.0 - below[:, -1]
    return np.maximum(whole, 0.0, out=whole)
