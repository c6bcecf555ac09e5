"""From many statistics to one p-value: the same combination of the data and of draws.

All are centred, scaled and ranked together: where they are exchangeable so are the combined
values, and the level holds with any number of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.null._bootstrap import pvalue
from condgof.null._draws import NullDraws

#: A draw this near to the statistic, in units of the spread of the draws, is tied with it:
#: all its signs are equal.
TIE = 1e-5
#: The same, relative to the sum of the absolute terms of the statistic.
ROUNDING = 1e-6
#: A draw that ties on more than this share of the statistics is tied on all of them.
MOST = 0.9
#: Share of the draws from which the slope of the tail beyond the largest is taken.
TAIL = 0.05


@dataclass(frozen=True, eq=False)
class Family:
    """Statistics that are combined first."""

    name: str
    share: float  #: How much it counts; shares are scaled to sum to 1.
    which: IntArray  #: The numbers of its statistics.


@dataclass(frozen=True, eq=False)
class Combination:
    """Statistics in units of their spread, combined within families and then over them."""

    families: tuple[Family, ...]
    #: Draws, and in the last column the statistics of the data, centred and scaled, (K, m +
    #: 1).
    scaled: FloatArray

    @classmethod
    def from_draws(cls, drawn: NullDraws, families: Sequence[Family]) -> Combination:
        """Scale statistics and draws; a statistic that never varies is 0."""
        both = np.column_stack([drawn.draws, drawn.statistics])
        moved = both - both.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(moved).mean(axis=1))
        alive = spread > TIE * drawn.sizes
        scaled = np.divide(
            moved, spread[:, None], out=np.zeros(both.shape), where=alive[:, None]
        )
        rounding = np.divide(
            ROUNDING * drawn.sizes, spread, out=np.zeros(len(spread)), where=alive
        )
        near = np.abs(scaled - scaled[:, -1:]) <= np.maximum(TIE, rounding)[:, None]
        if alive.any():
            # Few groups have few patterns of signs: such a draw is all of the statistics at
            # once.
            near |= near[alive].mean(axis=0) > MOST
        np.copyto(scaled, np.broadcast_to(scaled[:, -1:], scaled.shape), where=near)
        kept = tuple(family for family in families if len(family.which))
        return cls(kept, scaled)

    @cached_property
    def parts(self) -> FloatArray:
        """Each family's soft maximum, of the draws and of the data, (families, m + 1)."""
        return np.stack(
            [_log_mean_exp(self.scaled[family.which]) for family in self.families]
        )

    @cached_property
    def _combined(self) -> FloatArray:
        """Log Σ w/p over the families, −log of the harmonic mean p-value, (m + 1,)."""
        shares = np.array([family.share for family in self.families])
        logs = np.log(shares / shares.sum())[:, None]
        return np.asarray(
            np.logaddexp.reduce(np.stack(list(map(log_tail, self.parts))) + logs, axis=0)
        )

    @property
    def statistic(self) -> float:
        return float(self._combined[-1])

    @property
    def draws(self) -> FloatArray:
        return self._combined[:-1]

    @property
    def pvalue(self) -> float:
        return pvalue(self.statistic, self.draws)

    @property
    def pvalues(self) -> dict[str, float]:
        pairs = zip(self.families, self.parts, strict=True)
        return {family.name: pvalue(float(part[-1]), part[:-1]) for family, part in pairs}

    @cached_property
    def each(self) -> FloatArray:
        """The p-value of each statistic by itself, (K,)."""
        above = np.count_nonzero(self.scaled[:, :-1] >= self.scaled[:, -1:], axis=1)
        return np.asarray((1 + above) / self.scaled.shape[1])


def _log_mean_exp(z: FloatArray) -> FloatArray:
    top = z.max(axis=0)
    return np.asarray(top + np.log(np.exp(z - top).mean(axis=0)))


def log_tail(values: FloatArray) -> FloatArray:
    """Return −log of the tail of each value among all, exponential for the largest."""
    ordered = np.sort(values)
    tails = (len(ordered) - np.searchsorted(ordered, values, side="left")) / len(ordered)
    others = ordered[:-1]
    top = others[-max(1, round(TAIL * len(others))) :]
    slope = float(np.mean(top - top[0])) or 1.0
    beyond = np.maximum(values - others[-1], 0.0) / slope
    return np.asarray(-np.log(tails) + beyond)
