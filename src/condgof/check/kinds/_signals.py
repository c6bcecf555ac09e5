"""Signals: functions of y with mean 0 under the law; a search compares their sums.

K is the number of signals, r that of some rows, and m that of draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import Signal
from condgof.check.effects import ErrorKind, SignalTilt, Tilting
from condgof.residuals import first_cells

#: From what y of all rows was drawn as (`condgof.residuals.Resampled.drawn`, of m samples)
#: to signals, (n, m, K).
OfResampled = Callable[[AnyArray], AnyArray]
#: Draws y of r rows from the law m times, (rng, m) → signals (r, m, K).
Draw = Callable[[np.random.Generator, int], AnyArray]
#: Makes a `Draw` for some rows, by their positions (r,).
Redraw = Callable[[IntArray], Draw]


#: What effects call the kinds of signals that they have another word for.
EFFECT_KINDS = {
    "shift": "bias",
    "events": "hazard",
}
#: Whole samples from which the variance of sums over named rows comes.
SUMMED_REPLICATES = 499


@dataclass(frozen=True, eq=False)
class ReplicatedSignals:
    """Signals of whole samples in place of y, by their number."""

    count: int
    signals: Callable[[int], Signals]  #: Of all n rows.

    def sums(self, sets: Sequence[IntArray]) -> FloatArray:
        """Return Σ over each set of rows of the signals of each sample, (m, sets, K)."""
        totals = []
        for number in range(min(self.count, SUMMED_REPLICATES)):
            values = self.signals(number).values
            totals.append([values[rows].sum(axis=0) for rows in sets])
        return np.array(totals, dtype=np.float64)

    def inflation(self, variance: FloatArray) -> float:
        """Return how much more sums over all rows vary than by their variance, at least 1.

        The largest ratio of standard deviations of all signals, whose variance is (n, K).
        """
        sums = self.sums([np.arange(len(variance))])[:, 0]
        known = variance.sum(axis=0)
        ratios = sums.std(axis=0, ddof=1) / np.sqrt(np.maximum(known, 1e-300))
        return max(1.0, float(ratios.max()))

    def weighted(self, weights: FloatArray) -> ReplicatedSignals:
        """Multiply the signals of each by weights of the rows, (n,)."""
        return ReplicatedSignals(
            count=self.count, signals=lambda number: self.signals(number).weighted(weights)
        )

    def take(self, rows: IntArray) -> ReplicatedSignals:
        """Return some rows of each."""
        return ReplicatedSignals(
            count=self.count, signals=lambda number: self.signals(number).take(rows)
        )


@dataclass(frozen=True, eq=False)
class CellSignals:
    """Signals of a discrete y, which falls into one of C cells.

    Cells are classes, counts, or the ranges between quantiles.
    """

    #: Of some rows (r,): probabilities of their cells, (r, C).
    probabilities: Callable[[IntArray], FloatArray]
    #: Of some rows (r,) and cells (r, m): signals, (r, m, K).
    at: Callable[[IntArray, IntArray], AnyArray]

    def take(self, rows: IntArray) -> CellSignals:
        """Return the signals of some rows, by their positions."""
        return CellSignals(
            lambda some: self.probabilities(rows[some]),
            lambda some, codes: self.at(rows[some], codes),
        )

    def weighted(self, weights: FloatArray) -> CellSignals:
        """Multiply the signals by weights of the rows, (n,)."""
        return CellSignals(
            self.probabilities,
            lambda some, codes: _times(self.at(some, codes), weights[some]),
        )

    def redraw(self, rows: IntArray) -> Draw:
        """Return a function that draws the cells of r rows, and evaluates signals there."""
        at_uniforms = self.at_uniforms(rows)
        return lambda rng, m: at_uniforms(rng.random((len(rows), m)))

    def at_uniforms(self, rows: IntArray) -> OfResampled:
        """Return a function from uniform numbers (r, m) of r rows to signals, (r, m, K).

        A uniform number is in the first cell whose cumulative probability is larger. Both
        are moved to [i, i + 1] in row i.
        """
        sums = np.cumsum(self.probabilities(rows), axis=1)
        each = np.arange(len(rows))[:, None]
        ends = sums / sums[:, -1:] + each

        def evaluate(uniforms: AnyArray) -> AnyArray:
            return self.at(rows, first_cells(ends, each, uniforms + each))

        return evaluate


@dataclass(frozen=True, eq=False)
class Signals:
    """Signals of n rows."""

    about: tuple[Signal, ...]  #: What each is about, K of them.
    values: FloatArray  #: The signals ψ of the observed y, (n, K).
    variance: FloatArray | None  #: Under the law, (n, K); None where it is not known.
    redraw: Redraw | None  #: None where y cannot be drawn from the law.
    #: How many signals, the first ones, are also searched in rectangles of two columns of x
    #: (all signals are in intervals of one column).
    first: int = 2
    #: E[ψ³] of each under the law, K numbers, where it is the same in all rows; else ().
    third: tuple[float, ...] = ()
    #: The largest |ψ| that each can have under a discrete law, (K,) or one for all.
    bound: FloatArray | float | None = None
    cells: CellSignals | None = None  #: Of a discrete law with known probabilities.
    #: Where rows of y share an error, whole samples that are their null.
    replicated: ReplicatedSignals | None = None
    #: How many signals, the first ones, are of kinds that are often a function of a column,
    #: such as bias and spread; None: all.
    common: int | None = None
    #: Whether all have variance 1 and no correlation under the law, whatever x is: sums of
    #: them over many rows have a normal limit that is known.
    orthonormal: bool = False
    #: Makes what computes the signals of y that was resampled for the verdict; None where y
    #: cannot be drawn, or where these are some of the rows.
    of_resampled: Callable[[], OfResampled] | None = None

    @property
    def skewness(self) -> FloatArray:
        """The empirical skewness of signals whose law is not known, (K,).

        0 where the law is known: draws from it are as skewed as the signals.
        """
        if self.variance is not None:
            return np.zeros(len(self.about))
        cubes = (self.values**3).mean(axis=0)
        return np.asarray(cubes / np.maximum(self.square, 1e-300) ** 1.5)

    @cached_property
    def square(self) -> FloatArray:
        """The mean square of each signal, (K,)."""
        return np.asarray(np.square(self.values).mean(axis=0))

    def weighted(self, weights: FloatArray) -> Signals:
        """Return wψ for weights w of the rows (n,), and wv as its working variance.

        Sums of both are what a correction gains in weighted log score. Draws are weighted
        as the data are.
        """
        redraw = self.redraw
        of_resampled = self.of_resampled

        def weighted_draw(some: IntArray) -> Draw:
            assert redraw is not None
            draw = redraw(some)
            return lambda rng, m: _times(draw(rng, m), weights[some])

        def weighted_resampled() -> OfResampled:
            assert of_resampled is not None
            evaluate = of_resampled()
            return lambda drawn: _times(evaluate(drawn), weights)

        own = weights[:, None]
        return replace(
            self,
            values=self.values * own,
            variance=None if self.variance is None else self.variance * own,
            redraw=None if redraw is None else weighted_draw,
            of_resampled=None if of_resampled is None else weighted_resampled,
            cells=None if self.cells is None else self.cells.weighted(weights),
            replicated=(
                None if self.replicated is None else self.replicated.weighted(weights)
            ),
        )

    def take(self, rows: IntArray) -> Signals:
        """Return the signals of some rows, by their positions."""
        redraw = self.redraw
        return replace(
            self,
            values=self.values[rows],
            variance=None if self.variance is None else self.variance[rows],
            redraw=None if redraw is None else lambda some: redraw(rows[some]),
            of_resampled=None,  # a verdict resamples all rows
            cells=None if self.cells is None else self.cells.take(rows),
            replicated=None if self.replicated is None else self.replicated.take(rows),
        )


def _times(values: AnyArray, weights: FloatArray) -> AnyArray:
    """Multiply signals (r, m, K) by weights of the rows (r,), in their precision."""
    return np.asarray(values * weights[:, None, None].astype(values.dtype))


def tilt_of_signals(signals: Signals) -> SignalTilt:
    """Return signals as the search for effects takes them.

    Where their variance is not known, it is the mean square over all rows.
    """
    values = np.asarray(signals.values, dtype=np.float64)
    variance = signals.variance
    if variance is None:
        variance = np.broadcast_to(np.maximum(signals.square, 1e-300), values.shape)
    redraw = signals.redraw

    def draw(rows: IntArray, rng: np.random.Generator, m: int) -> AnyArray:
        assert redraw is not None
        return redraw(rows)(rng, m)

    kinds = tuple(
        ErrorKind(
            name=EFFECT_KINDS.get(about.kind, about.kind),
            column=about.column,
            label=about.label,
            form=Tilting(),
            finding=about.kind,
        )
        for about in signals.about
    )
    return SignalTilt(
        kinds=kinds,
        log_ratio=np.zeros((len(values), 1)),
        psi=values[:, None],
        variance=np.asarray(variance),
        events=np.broadcast_to(0.0, values.shape),
        redraw=None if redraw is None else draw,
        rows=np.arange(len(values)),
    )
