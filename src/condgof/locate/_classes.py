"""Classes near a place: how often each comes, and how often the most probable one is right.

Cells between quantiles, or of intervals, are classes too; of them it is told how often quantiles are
exceeded, and how often intervals cover y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import CellsOfY, Discrete, Quantiles, normalised
from condgof.locate._bars import Bars
from condgof.locate._bench import Bench
from condgof.locate._how import Estimate, Words, same
from condgof.locate._record import Interval
from condgof.locate._residuals import SD
from condgof.locate._scatter import Scatter
from condgof.locate._words import decimals

#: Classes (or quantiles, or intervals) that are told of at each place, and that have bars of their own.
MOST_TOLD, MOST_BARS = 6, 12
#: Events of a larger correlation say the same.
ALIKE = 0.85
#: Where one class is the most probable in this share of rows, its confidence is that of the class.
ONE_CLASS = 0.98


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The classes of the rows that are looked at, beside what the model says of them."""

    #: The K classes.
    names: tuple[str, ...]
    #: What the model says, (n, K).
    probabilities: FloatArray
    #: What was observed.
    codes: IntArray
    #: Numbers of the rows that test.
    testing: IntArray
    #: What y is called.
    column: str
    #: Whether the order of the classes means something.
    ordered: bool
    #: The law, where the classes are cells between quantiles or of intervals.
    of_y: CellsOfY | None = None

    @classmethod
    def of(cls, bench: Bench) -> ClassRows:
        """Ask the model for the names of its classes."""
        rows, law = bench.rows, bench.law
        assert rows.outcomes is not None
        assert rows.cells is not None
        assert isinstance(law, Discrete)
        count = rows.outcomes.probabilities.shape[1]
        return cls(
            law.class_names or tuple(map(str, range(count))),
            normalised(rows.outcomes.probabilities),
            rows.outcomes.observed,
            bench.testing,
            rows.sample.y_columns[0].name,
            rows.cells.blocks[0].positions is not None and count > 2,
            law if isinstance(law, CellsOfY) else None,
        )

    @property
    def unit(self) -> str:
        """The unit of a shift, of ordered classes."""
        return SD

    def estimates(self, near: AnyArray, w: FloatArray, scatter: Scatter) -> tuple[list[Estimate], int]:
        """Estimate how often classes come, and the most probable one; count what was looked at."""
        rows, share = self.testing[near], w / w.sum()
        p, codes = self.probabilities[rows], self.codes[rows]
        means = _Means(share, scatter)
        if self.of_y is not None:
            return self._events(self.of_y, codes, means)
        several = range(p.shape[1]) if p.shape[1] > 2 else (1,)
        # Those that stand out most from what the model says of them; all of them were looked at.
        noise = np.sqrt(np.square(share) @ (p * (1.0 - p)))
        gap = np.abs(np.bincount(codes, share, p.shape[1]) - share @ p)
        size = np.divide(gap, noise, out=np.zeros_like(gap), where=noise > 0)
        told = sorted(several, key=lambda k: -size[k])[:MOST_TOLD]
        found = [
            means.frequency("class", self.column, codes == k, p[:, k], self.names[k], class_words)
            for k in told
        ]
        top = np.argmax(p, axis=1)
        count = len(several)
        if np.bincount(top, share).max() < ONE_CLASS:
            sure = p[np.arange(len(top)), top]
            found.append(
                means.frequency("confidence", self.column, codes == top, sure, "", confidence_words)
            )
            count += 1
        if self.ordered:
            found += self._shift(p, codes, means)
            count += 1
        return [one for one in found if one.error > 0], count

    def _events(self, law: CellsOfY, codes: IntArray, means: _Means) -> tuple[list[Estimate], int]:
        """Estimate how often quantiles are exceeded, or intervals cover y: those that stand out most."""
        found = []
        for event in law.events:
            happened, p = event.happened(codes), np.full(len(codes), event.expected)
            cover = event.kind == "coverage"
            label = f"{100 * event.level:g}%" if cover else f"{event.level:g}"
            words = coverage_words if cover else quantile_words
            found.append(means.frequency(event.kind, self.column, happened, p, label, words))
        return [found[k] for k in _apart(law, found) if found[k].error > 0], len(found)

    def _shift(self, p: FloatArray, codes: IntArray, means: _Means) -> list[Estimate]:
        """Estimate how far ordered classes are off, by position, in the model's standard deviations."""
        places = np.arange(float(p.shape[1]))
        mean = p @ places
        variance = (p * np.square(places - mean[:, None])).sum(axis=1)
        unit = float(np.sqrt(means.share @ variance))
        if unit <= 0:
            return []
        value, error = means.difference((codes - mean) / unit, variance / unit**2)
        return [Estimate("shift", (self.column,), value, error, same, means.freedom)]

    def bars(self, rows: IntArray, weights: FloatArray) -> Bars:
        """Return observed and predicted shares of the classes over rows (m,) of weights (m,)."""
        share = weights / weights.sum()
        observed: FloatArray = np.bincount(self.codes[rows], share, len(self.names)).astype(np.float64)
        predicted = share @ self.probabilities[rows]
        if len(self.names) <= MOST_BARS:
            return Bars(self.names, observed, predicted)
        if self.of_y is not None:
            return _fewer(self.of_y, observed, predicted)
        most = np.argsort(-np.maximum(observed, predicted), kind="stable")[: MOST_BARS - 1]
        kept = np.sort(most)
        rest = [np.append(part[kept], 1.0 - part[kept].sum()) for part in (observed, predicted)]
        others = f"{len(self.names) - len(kept)} others"
        return Bars((*(self.names[k] for k in kept), others), *(np.maximum(part, 0.0) for part in rest))


def _apart(law: CellsOfY, found: list[Estimate]) -> list[int]:
    """Return which of many events to tell: those that stand out most, and do not say the same twice."""
    order = sorted(range(len(found)), key=lambda k: -found[k].size)
    if len(order) <= MOST_TOLD:
        return order
    told: list[int] = []
    for k in order:
        if all(_correlation(law.events[k].expected, law.events[j].expected) < ALIKE for j in told):
            told.append(k)
    return told[:MOST_TOLD]


def _correlation(a: float, b: float) -> float:
    """Return the correlation of two events of these probabilities, one of which holds the other."""
    low, high = min(a, b), max(a, b)
    return float(np.sqrt(low * (1.0 - high) / (high * (1.0 - low))))


def _fewer(law: CellsOfY, observed: FloatArray, predicted: FloatArray) -> Bars:
    """Return bars of cells (K,) joined with their neighbours: those between some of the levels."""
    levels = "levels" if isinstance(law, Quantiles) else "coverage"
    kept = np.unique(np.linspace(0, len(law.shares) - 2, MOST_BARS - 1).round().astype(int))
    names = replace(law, **{levels: getattr(law, levels)[kept]}).class_names  # which levels alone tell
    starts = np.append(0, kept + 1)
    assert names is not None
    return Bars(names, *(np.add.reduceat(part, starts) for part in (observed, predicted)))


@dataclass(frozen=True, eq=False)
class _Means:
    """Means over rows of shares (m,), with their errors."""

    share: FloatArray
    scatter: Scatter

    @property
    def freedom(self) -> float:
        """Degrees of freedom of an error."""
        return self.scatter.effective(self.share) - 1.0

    def difference(self, residuals: FloatArray, variances: FloatArray) -> tuple[float, float]:
        """Return the mean of residuals (m,) of mean 0 under the model, and its standard error.

        The error is no less than under the model, where they have these variances (m,): what was rare
        and did not happen leaves no trace in the residuals.
        """
        mean, effective = float(self.share @ residuals), self.freedom + 1.0
        seen = np.sqrt(effective / (effective - 1.0)) * self.scatter.error(
            self.share * (residuals - mean)
        )
        return mean, float(max(seen, np.sqrt(np.square(self.share) @ variances)))

    def frequency(
        self,
        kind: str,
        column: str,
        happened: AnyArray,
        p: FloatArray,
        label: str,
        words: Callable[[str, float], Words],
    ) -> Estimate:
        """Estimate how often something happened (m,), to which the model gives probabilities (m,)."""
        value, error = self.difference(happened - p, p * (1.0 - p))
        expected = float(self.share @ p)

        def back(gap: float) -> float:
            return min(max(expected + gap, 0.0), 1.0)

        say = words(label, expected)
        return Estimate(kind, (column,), value, error, back, self.freedom, label, say)


def frequency(
    column: str,
    happened: AnyArray,
    p: FloatArray,
    share: FloatArray,
    scatter: Scatter,
    label: str,
    words: Callable[[str, float], Words],
) -> Estimate:
    """Estimate how often something of probabilities (m,) happened (m,), over rows of shares (m,)."""
    return _Means(share, scatter).frequency("class", column, happened, p, label, words)


def class_words(label: str, expected: float) -> Words:
    """Return what says how often a class comes."""
    return _often(f"class {label!r}", expected)


def count_words(label: str, expected: float) -> Words:
    """Return what says how often a count comes."""
    return _often(f"the count {label}", expected)


def _often(what: str, expected: float) -> Words:
    def say(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
        seen, ends, said = _figures(found, expected)
        if not named:
            return f"{what}: observed {seen} ({ends}), predicted {said}: no clear sign"
        often = "more" if found.estimate > expected else "less"
        return (
            f"{what} comes {often} often than the model says: observed {seen} ({ends}), predicted {said}"
        )

    return say


def quantile_words(label: str, expected: float) -> Words:
    """Return what says how often a quantile is exceeded."""

    def say(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
        seen, ends, said = _figures(found, expected)
        told = (
            f"the {label} quantile is exceeded by {seen} of the rows ({ends}), and the model says {said}"
        )
        return told if named else f"{told}: no clear sign"

    return say


def coverage_words(label: str, expected: float) -> Words:
    """Return what says how often an interval covers y."""

    def say(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
        seen, ends, _ = _figures(found, expected)
        told = f"the {label} interval covers {seen} of the rows ({ends})"
        return told if named else f"{told}: no clear sign"

    return say


def confidence_words(label: str, expected: float) -> Words:
    """Return what says how often the most probable class is right."""

    def say(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
        seen, ends, said = _figures(found, expected)
        if not named:
            return (
                f"most probable class right: observed {seen} ({ends}), predicted {said}: no clear sign"
            )
        sure = "not sure enough" if found.estimate > expected else "too sure"
        return (
            f"the model is {sure}: its most probable class is right in {seen} of the rows ({ends}), and "
            f"it says {said}"
        )

    return say


def _figures(found: Interval, expected: float) -> tuple[str, str, str]:
    digits = decimals(max(found.estimate, expected))
    seen, low, high, said = (
        f"{value:.{digits}f}" for value in (found.estimate, found.low, found.high, expected)
    )
    return seen, f"{low} to {high}", said
