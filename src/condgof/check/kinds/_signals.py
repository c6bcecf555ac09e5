"""Signals: functions of y with mean 0 under the law; a search compares their sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import Signal

#: Draws y from the law m times: the signals of some rows, (rows, m, K).
Draw = Callable[[np.random.Generator, int], AnyArray]
#: Makes such a function for rows by their numbers.
Redraw = Callable[[IntArray], Draw]


@dataclass(frozen=True, eq=False)
class CellSignals:
    """Signals of a discrete y, cell by cell."""

    #: Of some rows (r,): probabilities of their cells, (r, C).
    probabilities: Callable[[IntArray], FloatArray]
    #: Of some rows (r,) and cells (r, m): signals, (r, m, K).
    at: Callable[[IntArray, IntArray], AnyArray]

    def take(self, rows: IntArray) -> CellSignals:
        return CellSignals(
            lambda some: self.probabilities(rows[some]),
            lambda some, codes: self.at(rows[some], codes),
        )

    def redraw(self, rows: IntArray) -> Draw:
        sums = np.cumsum(self.probabilities(rows), axis=1)
        offsets = np.arange(len(rows))[:, None]
        ends = (sums / sums[:, -1:] + offsets).ravel()
        count = sums.shape[1]

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            uniforms = rng.random((len(rows), m)) + offsets
            places = np.searchsorted(ends, uniforms, side="right")
            return self.at(rows, np.minimum(places - count * offsets, count - 1))

        return draw


@dataclass(frozen=True, eq=False)
class Signals:
    """Signals of n rows."""

    about: tuple[Signal, ...]  #: What each is about, (K,).
    values: FloatArray  #: (n, K).
    variance: FloatArray | None  #: Under the law, (n, K); None where it is not known.
    redraw: Redraw | None  #: None where y cannot be drawn from the law.
    first: int = 2  #: How many of the first are searched in pairs of columns of x.
    #: E[ψ³] of each where it is the same in all rows.
    third: tuple[float, ...] = ()
    #: How large each can be, of a discrete law.
    bound: FloatArray | float | None = None
    cells: CellSignals | None = None  #: Of a discrete law with known probabilities.

    @property
    def skewness(self) -> FloatArray:
        """Of signals whose law is not known, as they are, (K,); 0 where the null has it."""
        if self.variance is not None:
            return np.zeros(len(self.about))
        cubes = (self.values**3).mean(axis=0)
        return np.asarray(cubes / np.maximum(self.square, 1e-300) ** 1.5)

    @cached_property
    def square(self) -> FloatArray:
        return np.asarray(np.square(self.values).mean(axis=0))

    def take(self, rows: IntArray) -> Signals:
        redraw = self.redraw
        return replace(
            self,
            values=self.values[rows],
            variance=None if self.variance is None else self.variance[rows],
            redraw=None if redraw is None else lambda some: redraw(rows[some]),
            cells=None if self.cells is None else self.cells.take(rows),
        )
