"""How much, for a discrete y: a probability on the wrong class, or a shift of counts.

With r(x) the true less the predicted probabilities of the classes, and the kernel on y that only tells
whether two classes are the same, D = E[k(x,x') r(x)·r(x')]. A model that gives the probability δ to the
wrong class at every x has ‖r‖² = 2δ², and D = 2δ²·E[k]; the effect is the δ that has the D of the data.
Of quantiles and intervals δ is a probability on the wrong side of one of them, in proportion to what the
model says on either side; with two cells that is the same. k is narrow, so that misfits of opposite
signs at different x do not cancel.

Counts are compared in the model's standard deviations by a Gaussian kernel l: D = E[k] times the squared
distance, in the space of l, between u and u + δ, which the probabilities of the cells of u tell.
"""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import Categorical, CellKernel, CovariateKernel, Gaussian, cell_scales
from condgof.laws import CellsOfY
from condgof.locate._bench import Bench
from condgof.locate._effect import LEVEL, equivalent, pair_sums, shift_effect
from condgof.locate._record import Effect
from condgof.locate._residuals import SD
from condgof.locate._sides import Side
from condgof.locate._words import sized
from condgof.methods._design import LOCAL_X, narrowed
from condgof.stein import ArrayRows

#: The unit of the effect of classes.
PROBABILITY = "probability on the wrong class"
#: The bandwidth on counts, in the model's standard deviations, and the largest shift that is told.
SIGMA, MOST = 1.0, 8.0
BY_RATIOS = f"{SD} (as its ratios suggest)"


def discrete_effect(bench: Bench) -> Effect:
    """Measure the size of the misfit of a model of a discrete y."""
    cells = bench.rows.cells
    assert cells is not None
    return _of_counts(bench) if cells.blocks[0].distances else _of_classes(bench)


def class_kernel_x(bench: Bench) -> CovariateKernel:
    """Return the kernel on x of the effect of classes."""
    return narrowed(bench.wide, LOCAL_X)


def _of_classes(bench: Bench) -> Effect:
    rows = bench.rows
    assert rows.cells is not None
    kernel_y = CellKernel(((rows.cells.blocks[0], "same"),), Categorical(0.0))
    k = class_kernel_x(bench)
    sums = pair_sums(ArrayRows(rows.x, rows.y, rows.scores), k, kernel_y, bench)
    found, mean = sums.interval(LEVEL), sums.near
    side = Side.of(bench.law) if isinstance(bench.law, CellsOfY) else None
    square = 2.0 if side is None else float(np.square(side.move).sum())
    size = equivalent(found, lambda d: min(float(np.sqrt(d / (square * mean))), 1.0))
    seen, ends = sized(size.estimate, size.low, size.high)
    if side is not None:
        return Effect(size, side.unit, found, f"as large as {side.large(seen)} ({ends})")
    words = f"as large as a probability of {seen} on the wrong class at every x ({ends})"
    return Effect(size, PROBABILITY, found, words)


def _of_counts(bench: Bench) -> Effect:
    rows = bench.rows
    assert rows.cells is not None
    (kernel_y,) = cell_scales(rows.cells, (SIGMA,))
    sums = pair_sums(ArrayRows(rows.x, rows.y, rows.scores), bench.wide, kernel_y, bench)
    found, mean = sums.interval(LEVEL), sums.near
    outcomes = rows.outcomes
    if outcomes is None or not outcomes.linear:
        # The difference operator is close to that of a density, and so is what a shift does to it.
        per_square = mean * (1.0 + 2.0 / SIGMA**2) ** -0.5
        return shift_effect(found, lambda d: float(np.sqrt(d / per_square)), BY_RATIOS)
    positions = rows.cells.blocks[0].positions
    assert positions is not None
    p = np.asarray(outcomes.probabilities, dtype=np.float64).mean(axis=0)
    shifts = np.concatenate([[0.0], np.geomspace(1e-4, MOST, 200)])
    known = mean * distances(p / p.sum(), positions, shifts)
    return shift_effect(found, lambda d: float(np.interp(d, known, shifts)), SD)


def distances(p: FloatArray, positions: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return ‖E φ(U + δ) − E φ(U)‖² for shifts δ (m,) of U with probabilities p at positions, (m,).

    φ is the feature map of the Gaussian kernel l of bandwidth `SIGMA`: it is E[2 l(U, U') − l(U + δ, U')
    − l(U, U' + δ)] with U' like U.
    """
    gaps = np.subtract.outer(positions, positions)
    both = np.outer(p, p)
    kernel = Gaussian(SIGMA)

    def mean(shift: float) -> float:
        at = (gaps + shift).reshape(-1, 1)
        return float(both.ravel() @ kernel(at, np.zeros((1, 1)))[:, 0])

    values = [2.0 * mean(0.0) - mean(shift) - mean(-shift) for shift in shifts.tolist()]
    found: FloatArray = np.maximum.accumulate(np.maximum(values, 0.0))
    return found
