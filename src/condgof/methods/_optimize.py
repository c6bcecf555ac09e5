"""Optimising test locations and bandwidths for power (paper, Section 4.2).

The aim is power on the held-out part, not the highest criterion on the training part, which small
bandwidths and far-off locations reach by overfitting: hence bounds on both, the unbiased (U-statistic)
criterion, and starts at rows of the data where the criterion of a single location is high.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.kernels import CellKernel, CovariateKernel, OnColumns, Radial, ResponseKernel
from condgof.methods._climb import climb, log_range
from condgof.stein import CentredTerms, PairwiseTerms, criterion_gradient, criterion_of_means

#: Starts take the best rows of which no two are closer than this many bandwidths.
SPACINGS = (0.0, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Training:
    """The training part, and what may move.

    Parameters
    ----------
    x, y, scores : ndarrays of shape (n, d_x), (n, d_y), (n, d_y)
        The sample, x as the kernel sees it; for a discrete y, its centred features as scores.
    kernel_x, kernel_y : CovariateKernel, ResponseKernel
        Kernels at the median heuristic (or at the user's fixed bandwidths).
    free_x : tuple of bool
        For each factor of k, whether its bandwidth may move.
    free_y : bool
        Whether the bandwidth of l may move.
    move : bool
        Whether locations may move; where x has categories they stay on rows of the data.
    reg : float
        Added to σ̂_V in the criterion.
    """

    x: FloatArray
    y: FloatArray
    scores: FloatArray
    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    free_x: tuple[bool, ...]
    free_y: bool
    move: bool = True
    reg: float = 0.0

    def terms(self, *, climbing: bool) -> PairwiseTerms | CentredTerms:
        """Return the y-side of all pairs.

        The climb is in single precision, twice as fast, in units that leave room for large scores.
        """
        if isinstance(self.kernel_y, CellKernel):
            return CentredTerms.of(self.scores, single=climbing)
        if not climbing:
            return PairwiseTerms.of(self.y, self.scores)
        unit = self.kernel_y.sigma
        single = float(np.abs(self.scores).max()) * unit < 1e6
        return PairwiseTerms.of(self.y, self.scores, unit=unit, single=single)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where an optimisation ended, and the criterion there and where it began."""

    locations: FloatArray
    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    before: float
    after: float


def optimize_locations(training: Training, count: int, engine: Engine) -> Optimum:
    """Maximise the power criterion from several starts and return the best end.

    Parameters
    ----------
    training : Training
        The training part.
    count : int
        How many locations.
    engine : Engine
        Starts run in parallel.
    """
    with single_threaded_blas():
        return _optimize(training, count, engine)


def _optimize(training: Training, count: int, engine: Engine) -> Optimum:
    # The criterion of where the climb began and ended is then computed in double precision.
    terms = training.terms(climbing=True)
    ranking = row_criteria(training, terms)

    def from_rows(rows: IntArray) -> Optimum:
        return _climb_from(training, terms, training.x[rows])

    starts = {tuple(spaced_rows(training, ranking, count, s)): None for s in SPACINGS}
    # Below some size the steps are too small for threads, which would wait for each other.
    most = 1 if len(training.x) < 1000 else None
    # On this machine even where there is a cluster: three climbs share the pairs of the training part.
    ends = list(engine.local.map(from_rows, [np.array(rows) for rows in starts], most=most))
    number = max(range(len(ends)), key=lambda i: ends[i].after)
    best, start = ends[number], training.x[np.array(list(starts)[number])]
    exact = training.terms(climbing=False)
    d_y, reg = training.y.shape[1], training.reg

    def criterion(v: FloatArray, kernel_x: CovariateKernel, kernel_y: ResponseKernel) -> float:
        return criterion_gradient(training.x, exact, d_y, v, kernel_x, kernel_y, reg).value

    before = criterion(start, training.kernel_x, training.kernel_y)
    return replace(best, before=before, after=criterion(best.locations, best.kernel_x, best.kernel_y))


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for, and said
def row_criteria(training: Training, terms: PairwiseTerms | CentredTerms) -> FloatArray:
    """Criterion of each single training row as a location, (n,)."""
    features = training.kernel_x(training.x, training.x)
    thin = features.astype(terms.products.dtype, copy=False)
    h = np.empty_like(terms.products)
    terms.h(cast(Any, training.kernel_y), thin[:, :1], h)  # of the kind that the terms are of
    share = 1.0 / (training.y.shape[1] * (len(training.x) - 1))
    return criterion_of_means(share * features * (h @ thin), training.reg * terms.unit**2)


def spaced_rows(training: Training, ranking: FloatArray, count: int, spacing: float) -> list[int]:
    """Return the highest-ranked rows no two of which are closer than `spacing` bandwidths."""
    order = np.argsort(-ranking, kind="stable")
    near = float(np.exp(-0.5 * spacing**2))  # what a Gaussian kernel has at that distance
    chosen: list[int] = []
    taken = np.zeros(len(order), dtype=bool)
    for _ in range(count):
        left = order[~taken[order]]
        best = int(left[0] if len(left) else order[len(chosen) % len(order)])
        chosen.append(best)
        # With a margin for rounding, so that equal rows never count as two places.
        taken |= training.kernel_x(training.x, training.x[[best]])[:, 0] >= near * (1 - 1e-9)
        taken[best] = True
    return chosen


def _with_bandwidths(training: Training, logs: FloatArray) -> CovariateKernel:
    """Return k with its free bandwidths multiplied by exp(logs)."""
    steps = iter(logs)
    factors = []
    for factor, free in zip(training.kernel_x.factors, training.free_x, strict=True):
        kernel = factor.kernel
        if free and isinstance(kernel, Radial):
            kernel = kernel.with_bandwidth(kernel.sigma * float(np.exp(next(steps))))
        factors.append(OnColumns(kernel, factor.columns, factor.labels))
    return CovariateKernel(tuple(factors), training.free_x)


def _climb_from(training: Training, terms: PairwiseTerms | CentredTerms, start: FloatArray) -> Optimum:
    """Climb from one set of locations.

    The optimiser sees a flat vector: locations in units of the median bandwidth of their columns, and
    log-bandwidths relative to the median, so that all entries move on about the same scale.
    """
    units = np.zeros(start.shape[1])
    if training.move:
        for factor in training.kernel_x.factors:
            if isinstance(factor.kernel, Radial):
                units[factor.indices()] = factor.kernel.sigma
    moving = units > 0
    units = units[moving]
    size, free = len(start) * len(units), np.array(training.free_x, dtype=bool)
    work = np.empty_like(terms.products)

    def unpack(flat: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel]:
        locations = start.copy()
        locations[:, moving] = flat[:size].reshape(len(start), -1) * units
        logs, kernel_y = flat[size:], training.kernel_y
        if training.free_y and isinstance(kernel_y, Radial):
            logs, last = logs[:-1], float(logs[-1])
            kernel_y = kernel_y.with_bandwidth(kernel_y.sigma * float(np.exp(last)))
        return locations, _with_bandwidths(training, logs), kernel_y

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        d_y = training.y.shape[1]
        found = criterion_gradient(training.x, terms, d_y, *unpack(flat), training.reg, work)
        by_v = (found.locations[:, moving] * units).ravel()
        by_y = [found.log_bandwidth_y] if training.free_y else []
        return found.value, np.concatenate([by_v, found.log_bandwidths_x[free], by_y])

    near = training.x[:, moving] / units
    box = list(zip(near.min(axis=0), near.max(axis=0), strict=True)) * len(start)
    bandwidths = int(free.sum()) + training.free_y
    flat = np.concatenate([(start[:, moving] / units).ravel(), np.zeros(bandwidths)])
    end, before, after = climb(criterion, flat, box + [log_range()] * bandwidths)
    return Optimum(*unpack(end), before, after)
