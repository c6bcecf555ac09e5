"""Counts near a place: shift and spread from Pearson residuals, and how often zero comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import CondgofError
from condgof.laws import Law, RatioOutcomes, grid_of
from condgof.locate._bars import Bars
from condgof.locate._bench import COUNTS, Bench
from condgof.locate._classes import count_words, frequency
from condgof.locate._how import Estimate, weighted_estimates
from condgof.locate._record import Interval
from condgof.locate._residuals import SD
from condgof.locate._scatter import Scatter
from condgof.locate._words import sized

#: Draws of all counts from the model, which tell how much their spread varies.
DRAWS = 100
#: A model may be certain of a count: residuals are in units of no less than this.
LEAST_STD = 1e-6
#: Bars at most, and the share of zeros from which on they are told of.
MOST_BARS, ZEROS = 16, 0.01

#: From row numbers (m,) and counts (g,) to P(Y ≤ count | x), (m, g).
Below = Callable[[IntArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class CountRows:
    """The counts of the rows that are looked at, beside what the model says of them."""

    #: The counts, (n,).
    y: FloatArray
    #: What the model says, where its moments are finite and known, (n,).
    mean: FloatArray | None
    std: FloatArray | None
    #: The model's CDF at some rows.
    below: Below | None
    #: Pearson residuals of counts drawn from the model, for the rows that test, (draws, n_test).
    drawn: FloatArray | None
    #: Numbers of these.
    testing: IntArray
    #: What y is called.
    column: str

    @classmethod
    def of(cls, bench: Bench) -> CountRows:
        """Ask the model for its moments, its CDF and draws."""
        sample, outcomes, law = bench.rows.sample, bench.rows.outcomes, bench.law
        y, column = sample.y[:, 0], sample.y_columns[0].name
        rng = bench.stream(COUNTS)
        if isinstance(outcomes, RatioOutcomes):
            known = _Ratios(outcomes)
            mean, std = known.moments()
            draws = known.draws(bench.testing, rng)
            drawn = (draws - mean[bench.testing]) / std[bench.testing]
            return cls(y, mean, std, known.below, drawn, bench.testing, column)
        below, moments = _cdf_of(law), _moments(law, len(y))
        if moments is None:
            return cls(y, None, None, below, None, bench.testing, column)
        found = _drawn(law.take(bench.testing), rng)
        if found is not None:
            found = (found - moments[0][bench.testing]) / moments[1][bench.testing]
        return cls(y, *moments, below, found, bench.testing, column)

    @property
    def unit(self) -> str:
        """The unit of a shift."""
        return SD

    @property
    def residuals(self) -> FloatArray | None:
        """Pearson residuals (y − mean)/std, (n, 1)."""
        if self.mean is None or self.std is None:
            return None
        values: FloatArray = ((self.y - self.mean) / self.std)[:, None]
        return values

    def estimates(self, near: Any, w: FloatArray, scatter: Scatter) -> tuple[list[Estimate], int]:
        """Estimate shift, spread and the share of zeros; and count what was looked at."""
        rows, share = self.testing[near], w / w.sum()
        found: list[Estimate] = []
        residuals = self.residuals
        if residuals is not None:
            found = weighted_estimates(residuals[rows], w, (self.column,), scatter, shape=False)
            drawn = None if self.drawn is None else self.drawn[:, near]
            found = [_as_counts(one, share, drawn) for one in found]
        if self.below is not None:
            p = self.below(rows, np.zeros(1))[:, 0]
            happened = self.y[rows] <= 0
            if max(float(share @ p), float(share @ happened)) >= ZEROS:
                found.append(frequency(self.column, happened, p, share, scatter, "0", count_words))
        return [one for one in found if one.error > 0], len(found)

    def bars(self, rows: IntArray, weights: FloatArray) -> Bars | None:
        """Return observed and predicted shares of counts, or of ranges of them."""
        if self.below is None:
            return None
        share = weights / weights.sum()
        ends, labels = _ranges(self.y[rows], *self._reach(rows, share))
        place = np.searchsorted(ends, self.y[rows], side="left")
        below = share @ self.below(rows, ends)
        observed: FloatArray = np.bincount(place, share, len(labels)).astype(np.float64)
        return Bars(labels, observed, np.maximum(np.diff(below, prepend=0.0, append=1.0), 0.0))

    def _reach(self, rows: IntArray, share: FloatArray) -> tuple[float, float]:
        """Return where the model has nearly all counts of some rows."""
        if self.mean is None or self.std is None:
            low, high = np.quantile(self.y[rows], [0.01, 0.95])
            return float(low), float(high)
        middle, spread = float(share @ self.mean[rows]), float(share @ self.std[rows])
        return middle - 2.5 * spread, middle + 3.0 * spread


def _as_counts(one: Estimate, share: FloatArray, drawn: FloatArray | None) -> Estimate:
    """Correct an estimate of Pearson residuals for what counts from the model do, (draws, m).

    Where counts are rare, a sample without any looks as if it hardly varied, and so do its errors.
    """
    if one.kind == "shift":
        return replace(one, error=max(one.error, float(np.sqrt(np.square(share).sum()))))
    if drawn is None:
        return replace(one, say=_spread_words)
    mean = drawn @ share
    variance = np.maximum(np.square(drawn) @ share - np.square(mean), 1e-12)
    effective = 1.0 / float(np.square(share).sum())
    logs = 0.5 * np.log(variance * effective / (effective - 1.0))
    error = max(one.error, float(logs.std()))
    return replace(one, value=one.value - float(logs.mean()), error=error, say=_spread_words)


def _spread_words(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    size, ends = sized(found.estimate, found.low, found.high, 1.0)
    dispersion = f"{found.estimate**2:.{len(size.partition('.')[2])}f}"
    if not named:
        return f"spread {size} times the model's ({ends}; dispersion {dispersion}): no clear sign"
    side, over = ("narrow", "over") if found.estimate > 1 else ("wide", "under")
    return (
        f"the model is too {side}: counts are {over}-dispersed, they spread {size} times as much as it "
        f"says ({ends}; dispersion {dispersion})"
    )


def _ranges(y: FloatArray, low: float, high: float) -> tuple[FloatArray, tuple[str, ...]]:
    """Cut counts into ranges: the last count of each but the last range, and what they are called."""
    first = float(max(np.floor(min(low, np.quantile(y, 0.01))), min(0.0, y.min())))
    last = float(np.ceil(max(high, np.quantile(y, 0.99), first + 1.0)))
    width = float(np.ceil((last - first + 1.0) / MOST_BARS))
    count = int(np.ceil((last - first + 1.0) / width))
    starts = first + width * np.arange(count)
    ends: FloatArray = np.asarray(starts[1:] - 1.0, dtype=np.float64)
    labels = [f"{a:.0f}" if width == 1 else f"{a:.0f}–{a + width - 1:.0f}" for a in starts]
    if first > min(0.0, float(y.min())):
        labels[0] = f"≤{ends[0]:.0f}"
    labels[-1] = f"{starts[-1]:.0f}+"
    return ends, tuple(labels)


def _moments(law: Law, n: int) -> tuple[FloatArray, FloatArray] | None:
    if not law.can("mean_std"):
        return None
    try:
        mean, std = (np.array(part, dtype=np.float64).reshape(-1) for part in law.mean_std())
    except CondgofError:  # some have a mean and a standard deviation in name only
        return None
    mean, std = (np.broadcast_to(part, (n,)) for part in (mean, std))
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        return None
    return mean, np.maximum(std, LEAST_STD)


def _drawn(law: Law, rng: np.random.Generator) -> FloatArray | None:
    """Draw counts from the model, (draws, n)."""
    if not law.can("sample"):
        return None
    try:
        each = [np.asarray(law.sample(rng), dtype=np.float64).reshape(-1) for _ in range(DRAWS)]
    except CondgofError:
        return None
    return np.stack(each)


def _cdf_of(law: Law) -> Below | None:
    if not law.can("cdf"):
        return None

    def below(rows: IntArray, counts: FloatArray) -> FloatArray:
        return grid_of(law.take(rows), counts)

    return below


@dataclass(frozen=True, eq=False)
class _Ratios:
    """A model that is known through ratios, normalised over all counts that matter."""

    outcomes: RatioOutcomes

    def moments(self) -> tuple[FloatArray, FloatArray]:
        p, steps = self.outcomes.probabilities, np.arange(self.outcomes.probabilities.shape[1])
        mean = p @ steps
        variance = (p * np.square(steps - mean[:, None])).sum(axis=1)
        return self.outcomes.start + mean, np.maximum(np.sqrt(variance), LEAST_STD)

    def below(self, rows: IntArray, counts: FloatArray) -> FloatArray:
        sums = np.cumsum(self.outcomes.probabilities[rows], axis=1)
        at = np.floor(counts - self.outcomes.start[rows][:, None]).astype(np.int64)
        inside = np.take_along_axis(sums, np.clip(at, 0, sums.shape[1] - 1), axis=1)
        return np.where(at < 0, 0.0, np.minimum(inside, 1.0))

    def draws(self, rows: IntArray, rng: np.random.Generator) -> FloatArray:
        sums = np.cumsum(self.outcomes.probabilities[rows], axis=1)
        sums[:, -1] = 2.0
        drawn = [(rng.random((len(rows), 1)) >= sums).sum(axis=1) for _ in range(DRAWS)]
        return np.asarray(self.outcomes.start[rows] + np.stack(drawn), dtype=np.float64)
