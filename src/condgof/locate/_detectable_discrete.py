"""What the test could have seen of a discrete y, with the same short calculation.

A misfit moves the mean of the centred features c at x by a·Δ(x), where a is its size. A statistic is
then about its null draw plus n·a²·E[k⟨Δ, Δ'⟩] plus 2√n·a·σ₁·Z, with σ₁² = E⟨c, E'[kΔ']⟩². Of classes, Δ
takes probability from the most probable class at x and gives it to the next one; of quantiles and
intervals, from one side of a quantile, or of the ends of an interval, to the other. Of counts it is the
first order of a tilt: p(u)·u for a shift of u, and p(u) times the second orthogonal polynomial of u for
a wider spread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.laws import CellsOfY, Law, Outcomes
from condgof.locate._bench import NORMAL, by_ranks
from condgof.locate._detectable import (
    HOPELESS,
    MOST,
    POWER,
    Combination,
    found_words,
    hopeless,
    smallest,
    some_rows,
)
from condgof.locate._detectable_drawn import DrawnPower, shifted_law, too_sure, wider_law
from condgof.locate._record import Detectable
from condgof.locate._sides import Side
from condgof.locate._words import decimals
from condgof.methods import LOCAL_X, Adapted, Scored, narrowed
from condgof.null import NULLS
from condgof.sample import Seed, Use
from condgof.stein import CentredScales

#: Rows of x from which means are taken, and where the probabilities of counts must be gone through.
ROWS_X, ROWS_SLOW = 1000, 300
#: Counts of so few values that a spread says nothing.
FLAT = 1e-3
UNKNOWN = (
    "What size of misfit would have been found is not known: of this model there are ratios of "
    "probabilities only, for very many counts."
)
UNKNOWN_DRAWS = "What size of misfit would have been found is not known for draws of several columns."


def discrete_detectable(
    adapted: Adapted,
    rows: Scored,
    law: Law,
    n: int,
    alpha: float,
    seed: Seed,
    engine: Engine,
    dependent: bool = False,
) -> Detectable:
    """Find the smallest misfit of each kind that the test finds; see `detectable_of`.

    The calculation with means and variances is a first guess where y can be drawn from the misfit.
    """
    assert rows.cells is not None
    counts = rows.cells.blocks[0].distances
    if hopeless(n, alpha):
        return Detectable(math.inf if counts else None, None, POWER, alpha, HOPELESS)
    if by_ranks(rows):
        return Detectable(None, None, POWER, alpha, UNKNOWN_DRAWS)
    if rows.outcomes is None:
        return Detectable(None, None, POWER, alpha, UNKNOWN)
    slow = counts and not rows.outcomes.linear
    some = some_rows(rows.n, ROWS_SLOW if slow else ROWS_X, seed)
    part, seen = rows.take(some), rows.outcomes.take(some)
    power = _Power.of(adapted, rows, n, alpha, seed, dependent)
    drawn = None
    if adapted.parts.null == NULLS["model"] and rows.n == n and not dependent:
        drawn = DrawnPower.of(adapted, rows, power.combination, power.threshold, seed, engine)
    p = _normalised(rows.outcomes)
    if isinstance(law, CellsOfY):
        return _of_cells(Side.of(law), power, part, drawn, p)
    if not counts:
        move = power.of_misfit(part, first_to_next(seen))
        size = smallest(move.found, 1.0)
        size = size if drawn is None else drawn.smallest(lambda a: too_sure(p, a), size, 1.0)
        return Detectable(None, None, POWER, alpha, _class_words(size), size)
    tilts = tilted(seen, rows.cells.blocks[0].positions if seen.linear else None)
    to_shift, to_widen = (power.of_misfit(part, tilt) for tilt in tilts)
    shift = smallest(to_shift.found)
    width = math.exp(smallest(lambda log: to_widen.found(math.expm1(2.0 * log)), MOST))
    width = width if tilts[1].any() else math.inf
    if drawn is not None:
        positions = rows.cells.blocks[0].positions if seen.linear else None
        at = np.arange(float(p.shape[1])) if positions is None else positions
        shift = drawn.smallest(lambda a: shifted_law(p, at, a), shift, MOST)
        variance = drawn.smallest(lambda v: wider_law(p, at, math.sqrt(1 + v)), width**2 - 1.0, MOST)
        width = math.sqrt(1.0 + variance)
    return Detectable(shift, width, POWER, alpha, found_words(shift, width, 1))


def _of_cells(
    side: Side, power: _Power, part: Scored, drawn: DrawnPower | None, p: FloatArray
) -> Detectable:
    """Find the smallest probability on the wrong side of a quantile, or of an interval."""
    move = power.of_misfit(part, np.tile(side.move, (part.n, 1)))
    size = smallest(move.found, side.room)
    if drawn is not None:
        size = drawn.smallest(lambda a: np.maximum(p + a * side.move, 0.0), size, side.room)
    words = HOPELESS
    if math.isfinite(size):
        found = side.found(f"{size:.{decimals(size)}f}")
        words = f"{found} would have been found with probability {POWER:g}."
    return Detectable(None, None, POWER, power.alpha, words, size)


def _normalised(outcomes: Outcomes) -> FloatArray:
    p = np.asarray(outcomes.probabilities, dtype=np.float64)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def first_to_next(outcomes: Outcomes) -> FloatArray:
    """Return what residuals move by when the most probable class yields to the next, (n, width)."""
    order = np.argsort(-np.asarray(outcomes.probabilities), axis=1, kind="stable")
    return np.asarray(outcomes.of(order[:, 1])) - np.asarray(outcomes.of(order[:, 0]))


def tilted(outcomes: Outcomes, positions: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return what residuals of counts move by under a tilt of their mean, and of their variance.

    Parameters
    ----------
    outcomes : Outcomes
        Probabilities (n, K).
    positions : ndarray of shape (K,), optional
        Where the cells lie; None where residuals are not those of cells, and each cell is a count.

    Returns
    -------
    by_mean, by_variance : ndarrays of shape (n, width)
        For a shift of one standard deviation, and for a variance that is greater by 1.
    """
    p = _normalised(outcomes)
    at = np.arange(float(p.shape[1])) if positions is None else positions
    mean = p @ at
    spread = np.sqrt(np.maximum((p * np.square(at - mean[:, None])).sum(axis=1), 1e-300))
    z = (at - mean[:, None]) / spread[:, None]
    skew, fourth = ((p * z**power).sum(axis=1) for power in (3, 4))
    second = z**2 - 1.0 - skew[:, None] * z
    size = fourth - 1.0 - skew**2
    share = np.divide(1.0, size, out=np.zeros_like(size), where=size > FLAT)
    tilts = p * z, p * second * share[:, None]
    if positions is not None:
        return tilts
    moved = [np.zeros(np.shape(outcomes.of(outcomes.observed))) for _ in tilts]
    for k in range(p.shape[1]):
        residuals = np.asarray(outcomes.of(np.full(len(p), k)))
        for out, tilt in zip(moved, tilts, strict=True):
            out += tilt[:, k : k + 1] * residuals
    return moved[0], moved[1]


@dataclass(frozen=True, eq=False)
class _Power:
    """The test, ready to be asked about misfits."""

    adapted: Adapted
    kernel: CentredScales
    combination: Combination
    n: int
    alpha: float
    threshold: float
    normal: FloatArray

    @classmethod
    def of(
        cls, adapted: Adapted, rows: Scored, n: int, alpha: float, seed: Seed, dependent: bool
    ) -> _Power:
        kernel = adapted.design.scale_kernel(rows)
        assert isinstance(kernel, CentredScales)
        combination = Combination.of(adapted.parts, len(kernel.x_scales), dependent)
        normal = seed.stream(Use.CHECK, NORMAL).standard_normal((combination.draws.shape[1],))
        return cls(adapted, kernel, combination, n, alpha, combination.threshold(alpha), normal)

    def of_misfit(self, rows: Scored, moved: FloatArray) -> _Moved:
        """Work out what residuals that move by `moved` (n, width) do to each statistic."""
        x, design, parts = rows.x, self.adapted.design, self.adapted.parts
        scores = np.asarray(rows.scores)
        pairs = []
        for scale in self.kernel.x_scales:
            k = narrowed(design.kernel_x, scale)(x, x)
            np.fill_diagonal(k, 0.0)
            pairs.append(k / (len(x) - 1))
        near = None
        if parts.local is not None:
            near = narrowed(design.kernel_x, LOCAL_X)(x, parts.locations)
        centre: list[FloatArray] = []
        spread: list[FloatArray] = []
        local: list[tuple[FloatArray, FloatArray]] = []
        for kernel in self.kernel.kernels:
            c, delta = kernel.features(scores), kernel.features(moved)
            for k in pairs:
                pulled = k @ delta
                centre.append(np.atleast_1d((delta * pulled).sum() / len(x)))
                spread.append(np.atleast_1d(np.square((c * pulled).sum(axis=1)).mean()))
            if near is not None:
                mean = near.T @ delta / len(x)
                local.append((np.square(mean).sum(axis=1), np.square(near * (c @ mean.T)).mean(axis=0)))
        return _Moved(
            self,
            np.concatenate([*centre, *(one for one, _ in local)]),
            np.concatenate([*spread, *(one for _, one in local)]),
        )


@dataclass(frozen=True, eq=False)
class _Moved:
    """What a misfit of size 1 does to each statistic: its centre and its variance, (K,) each."""

    power: _Power
    centre: FloatArray
    variance: FloatArray

    def found(self, size: float) -> float:
        """Return the probability that the misfit is found at some size."""
        power = self.power
        centre = power.n * size**2 * self.centre
        deviation = 2.0 * size * np.sqrt(power.n * self.variance)
        moved = power.combination.moved(centre, deviation, power.normal)
        return float(np.mean(moved >= power.threshold))


def _class_words(size: float) -> str:
    if not math.isfinite(size):
        return HOPELESS
    return (
        f"Predicted probabilities off by {size:.{decimals(size)}f} everywhere, the most probable class "
        f"too sure by that much, would have been found with probability {POWER:g}."
    )
