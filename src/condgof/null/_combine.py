"""Many statistics, one p-value: combined, and calibrated by the same combination of their draws.

Statistics that share their bootstrap weights are drawn together, so that whatever combines them sees in
the draws the very dependence that the statistics have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray

#: A draw as near as this to the statistic, in units of the draws' spread, is the statistic itself: all
#: signs are equal, and the difference is rounding.
TIE = 1e-5
#: What single precision, in which draws are made, leaves of a tie: a share of what the terms add up to.
ROUNDING = 1e-6
#: A draw that is so large a share of the statistics is all of them.
MOST = 0.9
#: Share of the draws from which the slope of the tail beyond the largest is taken.
TAIL = 0.05


@dataclass(frozen=True, eq=False)
class Family:
    """Statistics of one kind, in units of the spread of their own draws.

    Parameters
    ----------
    values : ndarray of shape (K,)
        The statistics.
    draws : ndarray of shape (K, m)
        Their draws, column by column from the same weights.
    """

    values: FloatArray
    draws: FloatArray

    @classmethod
    def of(cls, statistics: FloatArray, draws: FloatArray) -> Family:
        """Divide by the standard deviation of the draws; what never varies says nothing and is 0."""
        return cls._scaled(statistics, draws, draws.std(axis=1, keepdims=True))

    @classmethod
    def redrawn(cls, statistics: FloatArray, draws: FloatArray, sizes: FloatArray) -> Family:
        """Do the same for draws of y from the model itself.

        A model that is certain of every y has draws that never vary, and any other statistic is then as
        much evidence as there can be: it is counted from them, in units of what its terms add up to,
        `sizes` (K,).
        """
        spread = draws.std(axis=1, keepdims=True)
        certain = (spread[:, 0] == 0) & (np.abs(statistics - draws[:, 0]) > TIE * sizes)
        start = np.where(certain, draws[:, 0], 0.0)
        spread[certain, 0] = sizes[certain]
        return cls._scaled(statistics - start, draws - start[:, None], spread)

    @classmethod
    def dependent(cls, statistics: FloatArray, draws: FloatArray, sizes: FloatArray) -> Family:
        """Do the same for rows that depend on each other.

        The draws then have a mean, as the statistics have, from pairs of rows that belong together. Both
        are counted from there, so that it is no evidence. Where only rows of one group are compared, all
        draws are equal up to rounding, which is told by `sizes` (K,), what the terms add up to.
        """
        mean = draws.mean(axis=1, keepdims=True)
        spread = draws.std(axis=1, keepdims=True)
        spread[spread <= TIE * sizes[:, None]] = 0.0
        return cls._scaled(statistics - mean[:, 0], draws - mean, spread, ROUNDING * sizes[:, None])

    @classmethod
    def _scaled(
        cls,
        statistics: FloatArray,
        draws: FloatArray,
        spread: FloatArray,
        rounding: FloatArray | float = 0.0,
    ) -> Family:
        vary = spread > 0
        z = np.divide(statistics[:, None], spread, out=np.zeros((len(draws), 1)), where=vary)
        scaled = np.divide(draws, spread, out=np.zeros(draws.shape), where=vary)
        tie = np.maximum(TIE, np.divide(rounding, spread, out=np.zeros(spread.shape), where=vary))
        near = np.abs(scaled - z) <= tie
        if np.any(rounding) and vary.any():
            # Few groups have few patterns of signs, and many draws are the statistics themselves: all of
            # them at once, also where their spread is next to nothing and rounding shows.
            near |= near[vary[:, 0]].mean(axis=0) > MOST
        return cls(z[:, 0], np.where(near, z, scaled))

    @property
    def pvalues(self) -> FloatArray:
        """The p-value of each statistic by itself, (K,)."""
        above = np.count_nonzero(self.draws >= self.values[:, None], axis=1)
        values: FloatArray = (1 + above) / (self.draws.shape[1] + 1)
        return values

    def some(self, which: slice) -> Family:
        """Return some of the statistics."""
        return Family(self.values[which], self.draws[which])

    def log_mean_exp(self) -> Evidence:
        """Combine to one statistic: a soft maximum, which also grows where several agree."""
        # In one array: sums of one column and of many would differ in the last bit, and ties with it.
        combined = _log_mean_exp(np.column_stack([self.values, self.draws]))
        return Evidence.of(float(combined[0]), combined[1:])


def _log_mean_exp(z: FloatArray) -> FloatArray:
    top = z.max(axis=0)
    values: FloatArray = top + np.log(np.exp(z - top).mean(axis=0))
    return values


@dataclass(frozen=True, eq=False)
class Evidence:
    """A statistic and its draws on the common scale −log(tail probability).

    Parameters
    ----------
    value : float
        Of the statistic.
    draws : ndarray of shape (m,)
        Of the draws. Each is among the statistic and all draws; the largest of them goes on along an
        exponential tail.
    pvalue : float
        Of the statistic by itself.
    """

    value: float
    draws: FloatArray
    pvalue: float

    @classmethod
    def of(cls, statistic: float, draws: FloatArray) -> Evidence:
        """Turn a statistic and its draws into tail probabilities among all of them.

        Statistic and draws are treated alike, so that any combination of parts keeps its level with
        any number of draws: where they are exchangeable, so are their values.
        """
        m, both = len(draws), np.append(draws, statistic)
        ordered = np.sort(both)
        # Ties are told by value: equal draws have equal tails, and count each other.
        tails = (m + 1 - np.searchsorted(ordered, both, side="left")) / (m + 1)
        values = -np.log(tails)
        others = ordered[:-1]
        top = others[-max(1, round(TAIL * m)) :]
        slope = float(np.mean(top - top[0])) or 1.0
        values[both == ordered[-1]] += (ordered[-1] - others[-1]) / slope
        return cls(float(values[-1]), values[:-1], float(tails[-1]))


def combine(parts: Sequence[Evidence], weights: Sequence[float]) -> tuple[float, FloatArray]:
    """Return log Σ_i w_i/p_i of the statistics and of each draw: the weighted harmonic mean of p-values.

    Parameters
    ----------
    parts : sequence of Evidence
        Made from the same draws.
    weights : sequence of float
        How much each part counts; they sum to 1.

    Returns
    -------
    statistic : float
        The combined statistic.
    draws : ndarray of shape (m,)
        Its draws.

    Examples
    --------
    >>> part = Evidence.of(2.0, np.array([0.0, 1.0, 2.0]))
    >>> round(float(np.exp(-combine([part, part], [0.5, 0.5])[0])), 3)  # the p-value of either
    0.5
    """
    logs = np.log(np.asarray(weights, dtype=np.float64))
    value = float(np.logaddexp.reduce([part.value + w for part, w in zip(parts, logs, strict=True)]))
    stacked = np.stack([part.draws + w for part, w in zip(parts, logs, strict=True)])
    return value, np.asarray(np.logaddexp.reduce(stacked, axis=0))
