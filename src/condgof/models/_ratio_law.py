"""Parts of the difference Stein operator: units of counts, laws, and searches through ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.models._lattice import COUNT, FINENESS, REACH, standardised

#: How often a search for the mode, or for the width, doubles its step.
DOUBLINGS = 48


@dataclass(frozen=True, eq=False)
class Units:
    """Location and scale of counts, (n,) each."""

    location: FloatArray
    scale: FloatArray

    def take(self, rows: IntArray) -> Units:
        """Return those of some rows."""
        return Units(self.location[rows], self.scale[rows])

    def of(self, y: FloatArray) -> FloatArray:
        """Return the standardised counts."""
        return standardised(y, self.location, self.scale)

    def steps(self, y: FloatArray, ahead: FloatArray, behind: FloatArray) -> FloatArray:
        """Return a(y) at the cells of y + 1 less b(y) at those of y, times a weight, (n, cells)."""
        weight = np.maximum(1.0, 2.0 * self.scale)
        out = np.zeros((len(y), COUNT))
        _add_hats(out, self.of(y + 1.0), weight * ahead)
        _add_hats(out, self.of(y), -weight * behind)
        return out


@dataclass(frozen=True, eq=False)
class RatioLaw:
    """Probabilities of counts from `start` on, (n, K), with a and b of the operator at each of them."""

    probabilities: FloatArray
    ahead: FloatArray
    behind: FloatArray
    start: FloatArray
    units: Units
    observed: IntArray

    @property
    def linear(self) -> bool:
        """False: the operator is not e_y − p."""
        return False

    def take(self, rows: IntArray) -> RatioLaw:
        """Return the law of some rows."""
        parts = (self.probabilities[rows], self.ahead[rows], self.behind[rows], self.start[rows])
        return RatioLaw(*parts, self.units.take(rows), self.observed[rows])

    def of(self, codes: IntArray) -> FloatArray:
        """Return the residuals of counts, by their number from `start` on, (n, cells)."""
        rows = np.arange(len(codes))
        return self.units.steps(self.start + codes, self.ahead[rows, codes], self.behind[rows, codes])


def first_step(holds: Callable[[FloatArray], AnyArray], n: int) -> FloatArray:
    """Return the smallest whole step from 0 on at which something holds, (n,); infinite if never."""
    found = np.asarray(holds(np.zeros(n)), dtype=bool)
    below, above = np.zeros(n), np.where(found, 0.0, np.inf)
    step = 1.0
    for _ in range(DOUBLINGS):
        open_rows = ~np.isfinite(above)
        if not open_rows.any():
            break
        now = np.asarray(holds(np.full(n, step)), dtype=bool)
        above[open_rows & now] = step
        below[open_rows & ~now] = step
        step *= 2.0
    while (np.isfinite(above) & (above - below > 1.0)).any():
        middle = np.where(np.isfinite(above), np.floor(0.5 * (above + below)), below)
        now = np.asarray(holds(middle), dtype=bool)
        inside = np.isfinite(above) & (above - below > 1.0)
        above[inside & now] = middle[inside & now]
        below[inside & ~now] = middle[inside & ~now]
    return above


def _add_hats(out: FloatArray, u: FloatArray, weight: FloatArray) -> None:
    """Add the weights to the two cells beside each u, in proportion to how near they are."""
    place = (u + REACH) * FINENESS
    left: IntArray = np.minimum(np.floor(place), COUNT - 2).astype(np.int64)
    share, rows = place - left, np.arange(len(u))
    out[rows, left] += weight * (1.0 - share)
    out[rows, left + 1] += weight * share
