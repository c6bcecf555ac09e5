"""The p-value of a statistic: among its null draws, or in the tail of a normal limit."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray


def pvalue(statistic: float, draws: FloatArray) -> float:
    """(1 + number of draws at least as large as the statistic) / (number of draws + 1); never 0.

    Examples
    --------
    >>> pvalue(2.0, np.array([0.0, 1.0, 2.0]))
    0.5
    """
    return (1 + int(np.count_nonzero(draws >= statistic))) / (len(draws) + 1)


def settle_ties(statistic: float, draws: FloatArray, within: float) -> FloatArray:
    """Make draws that equal the statistic up to rounding equal to it.

    Some signs and some permutations reproduce the statistic itself; without this, the last bit would
    decide the p-value of a tiny sample.

    Examples
    --------
    >>> bool((settle_ties(0.3, np.array([0.1 + 0.2, 0.5]), 1e-12) == [0.3, 0.5]).all())
    True
    """
    return np.where(np.abs(draws - statistic) <= within, statistic, draws)


def normal_pvalue(statistic: float) -> float:
    """P(Z ≥ statistic) for a standard normal Z; never 0.

    Examples
    --------
    >>> normal_pvalue(0.0), normal_pvalue(1e3) > 0
    (0.5, True)
    """
    from scipy.special import ndtr

    return max(float(ndtr(-statistic)), float(np.finfo(np.float64).tiny))
