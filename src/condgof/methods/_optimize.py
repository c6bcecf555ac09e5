"""Test locations: given, random, or optimised for power, as bandwidths are (paper, Section 4.2).

The aim is power on the held-out part, not the highest criterion on the training part, which small
bandwidths and far-off locations reach by overfitting: hence bounds on both, the unbiased (U-statistic)
criterion, and starts at rows of the data where the criterion of a single location is high.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import InputError
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, Radial, ResponseKernel
from condgof.methods._rows import Scored
from condgof.stein import PairwiseTerms, criterion_gradient, criterion_of_means

Kernels: TypeAlias = tuple[CovariateKernel, ResponseKernel]
#: Starts take the best rows of which no two are closer than this many bandwidths.
SPACINGS = (0.0, 0.5, 1.0)
#: Log-bandwidths stay within 0.4 and 3 times the median heuristic: smaller ones overfit.
LOG_RANGE = (float(np.log(0.4)), float(np.log(3.0)))
MAX_ITERATIONS = 15


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for, and said
def optimize_locations(
    part: Scored, kernels: Kernels, free_y: bool, count: int, reg: float, engine: Engine
) -> tuple[FiniteLocations, ResponseKernel, float, float]:
    """Maximise the power criterion on a training part; return the end, its values before and after."""
    n, d_y, (kernel_x, kernel_y) = part.n, part.sample.d_y, kernels
    with single_threaded_blas():
        terms = _terms(part, kernel_y, single=True)
        near, h = kernel_x(part.x, part.x), np.empty_like(terms.products)
        thin = near.astype(h.dtype, copy=False)
        terms.h(kernel_y, thin[:, :1], h)
        ranking = criterion_of_means(near * (h @ thin) / (d_y * (n - 1)), reg * terms.unit**2)
        chosen = {tuple(spaced_rows(near, ranking, count, spacing)): None for spacing in SPACINGS}
        starts = [part.x[list(rows)] for rows in chosen]

        def ascend(start: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel, float]:
            return _ascend(part, terms, start, kernels, free_y, reg)

        # Below some size steps are too small for threads. Never on a cluster: climbs share the pairs.
        ends = list(engine.local.map(ascend, starts, most=1 if n < 1000 else None))
        start, (v, ready_x, ready_y, _) = max(
            zip(starts, ends, strict=True), key=lambda pair: pair[1][-1]
        )
        exact = _terms(part, kernel_y, single=False)
        before, *_ = criterion_gradient(part.x, exact, d_y, start, kernel_x, kernel_y, reg)
        after, *_ = criterion_gradient(part.x, exact, d_y, v, ready_x, ready_y, reg)
        return FiniteLocations(ready_x, v), ready_y, before, after


def _terms(part: Scored, kernel: ResponseKernel, single: bool) -> PairwiseTerms:
    """Return the y-side of all pairs; in single precision only where large scores have room in it."""
    if isinstance(kernel, CellKernel):
        return PairwiseTerms.of_features(kernel.features(np.asarray(part.scores)))
    single &= float(np.abs(part.scores).max()) * kernel.sigma < 1e6
    return PairwiseTerms.of(part.y, part.scores, unit=kernel.sigma, single=single)


def spaced_rows(near: FloatArray, ranking: FloatArray, count: int, spacing: float) -> list[int]:
    """Return the highest-ranked rows no two of which are within `spacing` bandwidths, given k (n, n)."""
    order = np.argsort(-ranking, kind="stable")
    limit = float(np.exp(-0.5 * spacing**2))  # what a Gaussian kernel has at that distance
    chosen: list[int] = []
    taken = np.zeros(len(order), dtype=bool)
    for _ in range(count):
        left = order[~taken[order]]
        best = int(left[0] if len(left) else order[len(chosen) % len(order)])
        chosen.append(best)
        # With a margin for rounding, so that equal rows never count as two places.
        taken |= near[:, best] >= limit * (1 - 1e-9)
        taken[best] = True
    return chosen


def _ascend(
    part: Scored, terms: PairwiseTerms, start: FloatArray, kernels: Kernels, free_y: bool, reg: float
) -> tuple[FloatArray, CovariateKernel, ResponseKernel, float]:
    """Climb from one set of locations (J, d_x); where x has categories they stay on rows of the data.

    The optimiser sees a flat vector: locations in units of the median bandwidth of their columns, and
    log-bandwidths relative to the median, so that all entries move on about the same scale.
    """
    kernel_x, units = kernels[0], np.zeros(part.x.shape[1])
    for factor in kernel_x.factors:
        if isinstance(factor.kernel, Radial) and not kernel_x.compares_levels:
            units[factor.indices()] = factor.kernel.sigma
    moving, free = units > 0, np.array(kernel_x.asked_for_median, dtype=bool)
    units, centre = units[moving], np.median(part.x[:, moving], axis=0)
    size, count, work = len(start) * len(units), int(free.sum()), np.empty_like(terms.products)

    def unpack(flat: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel]:
        locations, logs = start.copy(), np.zeros(len(free))
        locations[:, moving] = flat[:size].reshape(len(start), -1) * units + centre
        logs[free] = flat[size : size + count]
        pairs = zip(kernel_x.factors, logs, strict=True)
        factors = tuple(replace(one, kernel=_widened(one.kernel, log)) for one, log in pairs)
        kernel_y = _widened(kernels[1], flat[-1]) if free_y else kernels[1]
        return locations, replace(kernel_x, factors=factors), kernel_y

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        found = criterion_gradient(part.x, terms, part.sample.d_y, *unpack(flat), reg, work)
        value, by_v, by_x, by_y = found
        return value, np.concatenate([(by_v[:, moving] * units).ravel(), by_x[free], [by_y] * free_y])

    near = (part.x[:, moving] - centre) / units
    box = list(zip(near.min(axis=0), near.max(axis=0), strict=True)) * len(start)
    flat = np.append((start[:, moving] - centre) / units, np.zeros(count + free_y))
    end, _, after = climb(criterion, flat, box + [LOG_RANGE] * (count + free_y))
    return *unpack(end), after


def _widened(kernel: Any, log: float) -> Any:
    """Multiply the bandwidth of a kernel, where it has one."""
    factor = float(np.exp(log))
    return kernel.with_bandwidth(factor * kernel.sigma) if isinstance(kernel, Radial) else kernel


def climb(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: list[tuple[float, float]],
) -> tuple[FloatArray, float, float]:
    """Maximise a function (d,) → value and gradient in a box; return the end, values before and after.

    Examples
    --------
    >>> climb(lambda v: (-float(v @ v), -2 * v), np.ones(2), [(0.5, 2.0)] * 2)
    (array([0.5, 0.5]), -2.0, -0.5)
    """
    low, high = np.array(bounds).reshape(-1, 2).T
    start = np.clip(start, low, high)
    before, _ = function(start)
    if not len(start):
        return start, before, before
    from scipy.optimize import minimize

    def negative(v: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(v)
        return -value, -gradient

    found = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-6},
    )
    after = -float(found.fun)
    return (found.x, before, after) if after >= before else (start, before, before)


def kind_of(locations: Any) -> str:
    """Return "optimize", "random" or "given"; other words are refused."""
    if not isinstance(locations, str):
        return "given"
    if locations not in ("optimize", "random"):
        raise InputError(f"locations must be 'optimize', 'random' or an array, got {locations!r}.")
    return locations


def gaussian_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations (count, d) from a Gaussian fitted to the points (n, d) by maximum likelihood."""
    mean = points.mean(axis=0)
    centred = points - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(points))
    # Clipped, because rounding may leave a variance of a degenerate direction below 0.
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    return np.asarray(mean + rng.standard_normal((count, points.shape[1])) @ root.T)


def row_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations among the points themselves, without replacement where there are enough."""
    return np.array(points[rng.choice(len(points), count, replace=count > len(points))])
