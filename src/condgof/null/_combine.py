"""From many statistics to one p-value: the same combination of the data and of draws.

Statistics are centred, scaled and ranked by *reference draws*, which are the same for every
seed: the combined value is one function of the data, and of each draw. Where the data and
the draws are exchangeable given the reference, so are the combined values, and the level
holds with any number of draws (docs/theory/normal_scores.md).

Statistics without reference draws are centred, scaled and ranked together with their draws,
which keeps the level, too.
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
#: Share of the reference draws, the largest ones, beyond which their tail is exponential.
REFERENCE_TAIL = 0.2


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

    #: Reference draws of the first statistics, scaled alike, (at most K, r); None: none.
    scaled_reference: FloatArray | None = None

    @classmethod
    def from_draws(cls, drawn: NullDraws, families: Sequence[Family]) -> Combination:
        """Scale statistics and draws; a statistic that never varies is 0."""
        both = np.column_stack([drawn.draws, drawn.statistics])
        kept = tuple(family for family in families if len(family.which))
        if drawn.reference is None:
            return cls(kept, _scale_together(both, drawn.sizes))
        first = slice(0, len(drawn.reference))
        rest = slice(len(drawn.reference), None)
        scale = ReferenceScale.from_draws(drawn.reference, drawn.sizes[first])
        scaled = scale.apply(both[first])
        scaled = _with_ties(scaled, scale.sizes, scale.spread)
        if len(both) > len(drawn.reference):
            scaled = np.vstack([scaled, _scale_together(both[rest], drawn.sizes[rest])])
        return cls(kept, scaled, scale.apply_to_reference(drawn.reference))

    @cached_property
    def parts(self) -> FloatArray:
        """Each family's soft maximum, of the draws and of the data, (families, m + 1)."""
        return np.stack(
            [_log_mean_exp(self.scaled[family.which]) for family in self.families]
        )

    @cached_property
    def _evidence(self) -> FloatArray:
        """−log of each family's p-value, of the draws and of the data, like `parts`."""
        reference = self.scaled_reference
        rows = []
        for family, part in zip(self.families, self.parts, strict=True):
            if reference is None or family.which.max() >= len(reference):
                rows.append(log_tail(part))
            else:
                rows.append(log_tail_by(_log_mean_exp(reference[family.which]), part))
        return np.stack(rows)

    @cached_property
    def _combined(self) -> FloatArray:
        """Log Σ w/p over the families, −log of the harmonic mean p-value, (m + 1,)."""
        shares = np.array([family.share for family in self.families])
        logs = np.log(shares / shares.sum())[:, None]
        return np.asarray(np.logaddexp.reduce(self._evidence + logs, axis=0))

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


@dataclass(frozen=True, eq=False)
class ReferenceScale:
    """Centre and scale of statistics, by reference draws of them.

    A value v in units of the spread s of r reference draws of mean μ, and of v itself, is

        (v − μ)·√(r/(r + 1)) / √(s² + (v − μ)²/(r + 1)),

    which increases with v and is at most √r. Without v itself in the spread, what happens
    once in more than r samples (a rare event) would have no unit. A reference draw is in
    μ and s already: in units of s it is what v is among r + 1, so that their largest values
    are comparable, however many statistics there are.
    """

    mean: FloatArray  #: μ, (K,).
    spread: FloatArray  #: s, (K,).
    sizes: FloatArray  #: The size of the terms of each sum, (K,).
    count: int  #: r.

    @classmethod
    def from_draws(cls, reference: FloatArray, sizes: FloatArray) -> ReferenceScale:
        return cls(
            mean=reference.mean(axis=1),
            spread=reference.std(axis=1),
            sizes=sizes,
            count=reference.shape[1],
        )

    def apply(self, values: FloatArray) -> FloatArray:
        """Scale values (K, m); those that differ from μ by rounding alone are 0."""
        moved = values - self.mean[:, None]
        spread = np.sqrt(
            np.square(self.spread)[:, None] + np.square(moved) / (self.count + 1)
        )
        share = np.sqrt(self.count / (self.count + 1))
        varies = spread > TIE * self.sizes[:, None]
        scaled = np.divide(share * moved, spread, out=np.zeros(values.shape), where=varies)
        return np.asarray(scaled)

    def apply_to_reference(self, reference: FloatArray) -> FloatArray:
        """Scale the reference draws (K, r) themselves."""
        moved = reference - self.mean[:, None]
        varies = (self.spread > TIE * self.sizes)[:, None]
        spread = self.spread[:, None]
        return np.divide(moved, spread, out=np.zeros(reference.shape), where=varies)


def _scale_together(both: FloatArray, sizes: FloatArray) -> FloatArray:
    """Centre and scale draws, with the statistics in the last column, (K, m + 1)."""
    moved = both - both.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(moved).mean(axis=1))
    varies = (spread > TIE * sizes)[:, None]
    scaled = np.divide(moved, spread[:, None], out=np.zeros(both.shape), where=varies)
    return _with_ties(scaled, sizes, spread)


def _with_ties(scaled: FloatArray, sizes: FloatArray, spread: FloatArray) -> FloatArray:
    """Make draws that are the data up to rounding equal to it; of (K, m + 1) numbers.

    `spread` (K,) is the unit of `scaled`.
    """
    alive = spread > TIE * sizes
    rounding = np.divide(ROUNDING * sizes, spread, out=np.zeros(len(spread)), where=alive)
    near = np.abs(scaled - scaled[:, -1:]) <= np.maximum(TIE, rounding)[:, None]
    if alive.any():
        # Few groups have few patterns of signs: such a draw is all of the statistics at
        # once.
        near |= near[alive].mean(axis=0) > MOST
    np.copyto(scaled, np.broadcast_to(scaled[:, -1:], scaled.shape), where=near)
    return scaled


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


def log_tail_by(reference: FloatArray, values: FloatArray) -> FloatArray:
    """Return −log of the tail of values (m,) by the law that r reference draws have.

    Between the draws the tail is continuous. Beyond most of them it is exponential, with
    the mean excess of the largest ones for its unit: it is needed where few draws are.
    """
    ordered = np.sort(reference)
    r = len(ordered)
    tails = np.arange(r, 0, -1) / (r + 1)  # P(V ≥ t) at the draws t, in their order
    evidence = np.interp(values, ordered, -np.log(tails), left=0.0)
    most = max(1, round(REFERENCE_TAIL * r))
    cut = ordered[-most]
    unit = float(np.mean(ordered[-most:] - cut)) or 1.0
    beyond = values > cut
    start = -np.log(tails[-most])
    return np.asarray(np.where(beyond, start + (values - cut) / unit, evidence))
