"""The p-value of a statistic among its null draws."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray


def pvalue(statistic: float, draws: FloatArray) -> float:
    """(1 + number of draws at least as large as the statistic) / (number of draws + 1); never 0.

    Parameters
    ----------
    statistic : float
        The observed statistic.
    draws : ndarray of shape (m,)
        Draws under the null hypothesis.

    Examples
    --------
    >>> pvalue(2.0, np.array([0.0, 1.0, 2.0]))
    0.5
    """
    return (1 + int(np.count_nonzero(draws >= statistic))) / (len(draws) + 1)
