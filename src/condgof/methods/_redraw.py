"""Choosing and running the null of a discrete y: y drawn anew from the model, given x."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import UnsupportedModelError
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, ResponseKernel
from condgof.methods._prepare import Scored
from condgof.methods._stream import Stream
from condgof.null import Dependence
from condgof.sample import Seed, Use
from condgof.stein import Redraw, ScaleSums, x_features

#: By itself the library draws anew up to so many rows, and so many multiplications in all.
MODEL_ROWS, MODEL_WORK = 2500, 6e10
#: Relative residual of the features of x: of one kernel, and of each scale of the adaptive test.
TOLERANCE, SCALES_TOLERANCE = 1e-9, 1e-4
#: Share of the variance that a direction of the features of y must have, in the same two cases.
SMALLEST, SCALES_SMALLEST = 1e-12, 1e-6


def law_is_known(scored: Scored | Stream, null: str, solver: str, rows: Dependence) -> bool:
    """Tell whether to draw y anew for the null; refuse where that was asked for and cannot be."""
    known = isinstance(scored, Scored) and scored.outcomes is not None
    # Rows that depend on each other cannot be drawn one by one.
    known = known and rows.independent
    if null == "model" and not known:
        raise UnsupportedModelError(
            "null='model' draws y anew from a model of a discrete y with known probabilities, for a "
            "sample in memory of rows that do not depend on each other. Use null='wild'."
        )
    return known and (
        null == "model" or (null == "wild" and solver == "exact" and scored.n <= MODEL_ROWS)
    )


def redraw(
    scored: Scored,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    null: str,
    draws: int,
    seed: Seed,
    engine: Engine,
) -> tuple[float, FloatArray] | None:
    """Return Σ_{i≠j} H_ij of a sample and of y drawn anew; None where that is too much work."""
    assert isinstance(kernel_y, CellKernel)
    if isinstance(kernel_x, FiniteLocations):
        features = kernel_x.features(scored.x)
    else:
        features = _features(kernel_x, scored.x, seed, 0, TOLERANCE)
    sums = redraw_scales(scored, (kernel_y,), (features,), None, null, draws, seed, engine)
    return None if sums is None else (float(sums[0].totals[0]), sums[0].forms[0])


def redraw_scales(
    scored: Scored,
    kernels: tuple[CellKernel, ...],
    blocks: tuple[FloatArray, ...],
    single: FloatArray | None,
    null: str,
    draws: int,
    seed: Seed,
    engine: Engine,
) -> tuple[ScaleSums, ScaleSums] | None:
    """Return the same for several kernels on y, blocks of features of x, and single features (n, L)."""
    assert scored.outcomes is not None
    alone = np.empty((scored.n, 0)) if single is None else single
    smallest = SMALLEST if single is None and len(kernels) == 1 else SCALES_SMALLEST
    plan = Redraw(scored.outcomes, kernels, blocks, alone, smallest)
    if null != "model" and plan.work * draws > MODEL_WORK:
        return None
    return plan.run(draws, seed, engine)


def scale_features(
    kernels_x: tuple[CovariateKernel, ...], x: FloatArray, seed: Seed
) -> tuple[FloatArray, ...]:
    """Return the features of x at each of its scales."""
    return tuple(_features(k, x, seed, number, SCALES_TOLERANCE) for number, k in enumerate(kernels_x))


def _features(
    kernel: CovariateKernel, x: FloatArray, seed: Seed, number: int, tolerance: float
) -> FloatArray:
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas():
        return x_features(kernel, x, seed.stream(Use.LANDMARKS, 4, number), tolerance=tolerance)
