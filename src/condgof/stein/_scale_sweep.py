"""One sweep over the Stein matrices of all scales: statistics, and every draw of each, together.

Only the upper half is visited, in strips of rows. The strips of all scales are stacked, so that the
draws of all scales are one matrix product a strip. That product is in single precision, at twice the
speed: draws are random numbers, and its rounding (about 1e-6 of their spread) is nothing beside the
spread of a p-value. The statistics themselves are summed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from condgof._typing import FloatArray, SingleArray
from condgof.engine import Engine
from condgof.stein._scales import ScaleKernel, ScaleRows
from condgof.stein._sweep import Weights, check_overflow

#: Rows of a strip and columns of a tile: fixed, so that results depend on neither budget nor threads.
STRIP = 64
TILE = 256


@dataclass(frozen=True, eq=False)
class ScaleSums:
    """What a sweep over K scales gives.

    Parameters
    ----------
    totals : ndarray of shape (K,)
        Σ_{i≠j} H_ij at each scale.
    forms : ndarray of shape (K, m)
        Σ_{i≠j} w_i w_j H_ij for each scale and each column w of the weights.
    """

    totals: FloatArray
    forms: FloatArray


def scale_sweep(
    kernel: ScaleKernel, rows: ScaleRows, weights: Weights, *, engine: Engine, memory: int
) -> ScaleSums:
    """Sum the off-diagonal Stein matrices of all scales, plainly and under m sets of weights.

    Parameters
    ----------
    kernel : ScaleKernel
        The scales.
    rows : ScaleRows
        The sample, n rows.
    weights : Weights
        The weights, (n, m).
    engine : Engine
        Where the work runs.
    memory : int
        Budget in bytes: with less, fewer threads run.
    """
    n, count = len(rows), len(kernel.scales)
    single = weights.block(0, n).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        # No entry is larger than the largest on the diagonal: in units of it, none overflows single.
        units = kernel.diag(rows).max(axis=1)  # the same for all scales of x
    check_overflow(units)
    units = np.where(units > 0, units, 1.0)  # nothing but zeros, where a discrete y is foretold
    strip = _strip(kernel, rows, single, units)
    totals, forms = np.zeros(count), np.zeros((count, weights.m))
    threads = max(1, memory // (4 * count * STRIP * (n + 3 * weights.m) + 1))
    for total, form in engine.map(strip, range(0, n, STRIP), most=threads):
        totals += total
        forms += form
    check_overflow(totals, forms)
    return ScaleSums(totals * units, forms * units[:, None])


def _strip(
    kernel: ScaleKernel, rows: ScaleRows, weights: SingleArray, units: FloatArray
) -> Callable[[int], tuple[FloatArray, FloatArray]]:
    """Return the task that sums the tiles right of the diagonal in a strip of rows."""
    n, count = len(rows), len(kernel.scales)

    def task(start: int) -> tuple[FloatArray, FloatArray]:
        stop = min(start + STRIP, n)
        height, own = stop - start, rows.take(slice(start, stop))
        totals = np.zeros(count)
        strips = np.empty((count, height, n - start), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # sums are checked later
            # The square on the diagonal is a tile by itself; the others stand for their mirror images.
            cuts = [start, *range(stop, n, TILE), n] if stop < n else [start, n]
            for left, right in pairwise(cuts):
                part = slice(left - start, right - start)
                on_x, on_y = kernel.factors(own, rows.take(slice(left, right)))
                single_x = [k.astype(np.float32) for k in on_x]
                scales = zip(range(0, count, len(on_x)), on_y, strict=True)
                for first, h in scales:
                    h *= (1.0 if left == start else 2.0) / units[first]
                    if left == start:
                        np.fill_diagonal(h, 0.0)
                    single = h.astype(np.float32)
                    for k, exact, rounded in zip(range(first, count), on_x, single_x, strict=False):
                        totals[k] += np.vdot(exact, h)
                        np.multiply(rounded, single, out=strips[k, :, part])
            product = strips.reshape(count * height, -1) @ weights[start:]
            forms = np.einsum(
                "im,kim->km", weights[start:stop], product.reshape(count, height, -1), dtype=np.float64
            )
        return totals, forms

    return task
