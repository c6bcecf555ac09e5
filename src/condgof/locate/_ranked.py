"""Draws of several columns near a place: shift, spread, skew and tails of each, and correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import VectorDraws
from condgof.locate._bars import Bars
from condgof.locate._bench import Bench
from condgof.locate._how import Estimate, Words, correlations, of_ranks, weighted_estimates
from condgof.locate._record import Interval
from condgof.locate._residuals import ON_SCORES
from condgof.locate._scatter import Scatter
from condgof.locate._words import sized


@dataclass(frozen=True, eq=False)
class RankedRows:
    """The rows that are looked at, each column of y by its rank among its own draws."""

    #: Normal scores of the ranks, ties at random: each column standard normal under the model, (n, d_y).
    z: FloatArray
    #: Normal scores of the ranks of y, the first, and of its draws, of the rows that test, (n_test, 1 +
    #: m, d_y).
    scores: FloatArray | None
    #: Numbers of these.
    testing: IntArray
    #: What the columns are called.
    columns: tuple[str, ...]

    @classmethod
    def of(cls, bench: Bench) -> RankedRows:
        """Take the normal scores that the rows were compared by, and rank the draws."""
        from scipy.special import ndtri
        from scipy.stats import rankdata

        names, law = tuple(column.name for column in bench.rows.sample.y_columns), bench.law
        if not isinstance(law, VectorDraws):  # of several models, whose numbers of draws differ
            return cls(bench.rows.y, None, bench.testing, names)
        y = bench.rows.sample.y[bench.testing]
        all_of_them = np.concatenate([y[:, None], law.values[bench.testing]], axis=1)
        scores = ndtri((rankdata(all_of_them, axis=1) - 0.5) / all_of_them.shape[1])
        return cls(bench.rows.y, np.asarray(scores), bench.testing, names)

    @property
    def unit(self) -> str:
        """The unit of a shift."""
        return ON_SCORES

    def estimates(self, near: AnyArray, w: FloatArray, scatter: Scatter) -> tuple[list[Estimate], int]:
        """Estimate what is wrong with each column and each pair; and count what was looked at."""
        found = weighted_estimates(self.z[self.testing[near]], w, self.columns, scatter, shape=True)
        count = len(found)
        found = of_ranks(found)
        if self.scores is not None:
            scores, share = self.scores[near], w / w.sum()
            products = np.einsum("i,ika,ikb->ab", share, scores, scores)
            spread = np.sqrt(np.diag(products))
            of_draws = products / np.outer(spread, spread)
            for pair in correlations(scores[:, 0], w, self.columns, scatter):
                a, b = (self.columns.index(name) for name in pair.columns)
                found.append(_beside(pair, float(np.clip(of_draws[a, b], -1 + 1e-9, 1 - 1e-9))))
                count += 1
        return found, count

    def bars(self, rows: IntArray, weights: FloatArray) -> Bars | None:
        """Return None: y is not counted."""
        return None


def _beside(pair: Estimate, of_draws: float) -> Estimate:
    """Hold a correlation, on Fisher's scale, against that of the draws."""
    at = float(np.arctanh(of_draws))
    return replace(
        pair,
        value=pair.value - at,
        back=lambda gap: float(np.tanh(at + gap)),
        say=_together(of_draws),
    )


def _together(of_draws: float) -> Words:
    def say(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
        size, ends = sized(found.estimate, found.low, found.high)
        pair = f"{columns[0]} and {columns[1]}"
        if not named:
            told = f"correlation {size} ({ends}) of the normal scores of {pair}"
            return f"{told}, {of_draws:.2f} among the draws: no clear sign"
        return (
            f"{pair} go together in another way than the draws: the normal scores of their ranks have "
            f"correlation {size} ({ends}), and those of the draws {of_draws:.2f}"
        )

    return say
