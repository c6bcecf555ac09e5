"""The search for places: rows of x, all columns or some, where the misfit shows best.

Everything here looks at the rows that choose, and at no other y. With h ≈ ψψᵀ of low rank and weights
F_i = k(x_i, v), the row means of the power criterion are F ∘ (ψψᵀF) less the diagonal, over n − 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel
from condgof.locate._bench import FACTORS, LEAST_NEAR, Bench
from condgof.methods import LOCAL_RANK, LOCAL_TOLERANCE, SUBSAMPLE
from condgof.sample import Use
from condgof.stein import Landmarks, SteinOperator, choose_landmarks, criterion_of_means

#: Places whose weights have a larger cosine are one place: that of two Gaussians two bandwidths apart.
OVERLAP = float(np.exp(-1.0))
#: Candidates that look at one column alone, for each column.
SLABS = 60
#: A column is left out of a place where the criterion without it is at least this share of that with it.
KEEP = 0.95
#: Weights that are computed at a time, and rows that tell which columns matter.
GROUP, TRIM_ROWS = 64, 4096


@dataclass(frozen=True, eq=False)
class Candidate:
    """A place to be tested.

    Parameters
    ----------
    point : ndarray of shape (d_x,)
        A row of x, in the kernel's units.
    kernel : CovariateKernel
        Which columns count there, and how far.
    strength : float
        The power criterion.
    """

    point: FloatArray
    kernel: CovariateKernel
    strength: float


@dataclass(frozen=True, eq=False)
class Search:
    """The rows that choose, with features of their h.

    Parameters
    ----------
    bench : Bench
        All rows.
    x : ndarray of shape (n, d_x)
        Of the rows that choose.
    factors : tuple of Landmarks
        Low-rank factors of h, one for each kernel on y.
    features : tuple of ndarrays of shape (r, n)
        ψ of the rows that choose.
    """

    bench: Bench
    x: FloatArray
    factors: tuple[Landmarks, ...]
    features: tuple[FloatArray, ...]

    @classmethod
    def of(cls, bench: Bench) -> Search:
        """Factor h of each kernel on y."""
        rows, some = bench.rows, bench.choosing
        x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
        factors, features = [], []
        for number, kernel_y in enumerate(bench.design.local_kernels_on_y(rows)):
            rng = bench.seed.stream(Use.CHECK, FACTORS, number)
            part = np.arange(len(some))
            if len(some) > SUBSAMPLE:
                part = np.sort(rng.choice(len(some), SUBSAMPLE, replace=False))
            # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
            with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
                operator = SteinOperator.of(
                    x[part], y[part], scores[part], CovariateKernel(()), kernel_y
                )
                factor = choose_landmarks(operator, rng, tolerance=LOCAL_TOLERANCE, cap=LOCAL_RANK)
                psi = factor.whiten(factor.compare(factor.kernel.rows(x, y, scores)))
            factors.append(factor)
            features.append(np.ascontiguousarray(psi))
        return cls(bench, x, tuple(factors), tuple(features))

    def criterion(self, weights: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """Return the power criterion of each column of weights (n, m): the largest over kernels on y."""
        n, d_y = len(weights), self.bench.rows.sample.d_y
        values = []
        for psi in self.features:
            part = psi[:, rows]
            means = part.T @ (part @ weights)
            means -= np.square(part).sum(axis=0)[:, None] * weights
            means *= weights
            values.append(criterion_of_means(means / (d_y * (n - 1))))
        largest: FloatArray = np.max(values, axis=0)
        return largest

    def at(
        self, kernel: CovariateKernel, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return criterion, Σk and effective rows (Σk)²/Σk² at each of m points, (m,) each."""

        def task(part: slice) -> tuple[FloatArray, ...]:
            weights = kernel(self.x, points[part])
            total, square = weights.sum(axis=0), np.square(weights).sum(axis=0)
            effective = np.divide(total**2, square, out=np.zeros(len(total)), where=square > 0)
            return self.criterion(weights), total, effective

        parts = [slice(start, start + GROUP) for start in range(0, len(points), GROUP)]
        found = list(self.bench.engine.map(task, parts))
        criterion, total, effective = (np.concatenate(one) for one in zip(*found, strict=True))
        return criterion, total, effective

    def slabs(self) -> Iterator[Candidate]:
        """Yield places that one column alone tells, where there are several columns."""
        columns = self.bench.columns
        if len(columns) < 2:
            return
        for column in columns:
            order = np.argsort(self.x[:, column], kind="stable")
            spread = order[np.linspace(0, len(order) - 1, min(SLABS, len(order))).astype(int)]
            points, kernel = self.x[np.unique(spread)], self.bench.kernel_on((column,))
            criterion, _, effective = self.at(kernel, points)
            for point, value, near in zip(points, criterion, effective, strict=True):
                if near >= LEAST_NEAR:
                    yield Candidate(point, kernel, float(value))

    def trimmed(self, candidate: Candidate) -> Candidate:
        """Leave out columns, one after the other, without which the misfit shows no less."""
        rows = slice(0, TRIM_ROWS)  # they are in random order
        x = self.x[rows]

        def best(kernels: list[CovariateKernel]) -> tuple[int, float]:
            weights = np.column_stack([kernel(x, candidate.point[None])[:, 0] for kernel in kernels])
            values = self.criterion(weights, rows)
            return int(np.argmax(values)), float(np.max(values))

        kernel = candidate.kernel
        _, value = best([kernel])
        columns = sorted(i for factor in kernel.factors for i in factor.indices())
        while len(columns) > 1:
            fewer = [[c for c in columns if c != left_out] for left_out in columns]
            kernels = [self.bench.kernel_on(some) for some in fewer]
            which, without = best(kernels)
            if without < KEEP * value:
                break
            columns, kernel, value = fewer[which], kernels[which], without
        if kernel is candidate.kernel:
            return candidate
        criterion, _, _ = self.at(kernel, candidate.point[None])
        return Candidate(candidate.point, kernel, float(criterion[0]))


def choose(
    search: Search, points: FloatArray, values: FloatArray, near: FloatArray, count: int
) -> list[Candidate]:
    """Choose the strongest places that are apart and have enough rows near, strongest first.

    Parameters
    ----------
    search : Search
        The rows that choose.
    points : ndarray of shape (m, d_x)
        Candidates that look at all columns, in the kernel's units.
    values, near : ndarrays of shape (m,)
        Their power criterion and effective rows.
    count : int
        How many at most.
    """
    bench = search.bench
    crowded = np.flatnonzero((near >= LEAST_NEAR) & (values > 0))
    pool = [Candidate(points[i], bench.near, float(values[i])) for i in crowded]
    pool += [one for one in search.slabs() if one.strength > 0]
    pool.sort(key=lambda one: -one.strength)
    chosen: list[Candidate] = []
    taken: list[FloatArray] = []
    for one in pool:
        if len(chosen) == count:
            break
        if _overlap(search, one, taken) > OVERLAP:
            continue
        trimmed = search.trimmed(one)
        if trimmed is not one and _overlap(search, trimmed, taken) > OVERLAP:
            trimmed = one
        if not _tested(bench, trimmed):
            continue
        chosen.append(trimmed)
        taken.append(_direction(search, trimmed))
    return sorted(chosen, key=lambda one: -one.strength)


def _direction(search: Search, one: Candidate) -> FloatArray:
    """Return the weights of a place, of length 1; some thousand rows tell how much places overlap."""
    weights = one.kernel(search.x[:TRIM_ROWS], one.point[None])[:, 0]
    unit: FloatArray = weights / (np.linalg.norm(weights) or 1.0)
    return unit


def _overlap(search: Search, one: Candidate, taken: list[FloatArray]) -> float:
    """Return the largest cosine between the weights of a place and of those that are taken."""
    if not taken:
        return 0.0
    direction = _direction(search, one)
    return max(float(direction @ other) for other in taken)


def _tested(bench: Bench, one: Candidate) -> bool:
    """Whether enough rows that test are near: x decides that, not y."""
    weights = one.kernel(bench.rows.x[bench.testing], one.point[None])[:, 0]
    square = float(np.square(weights).sum())
    return square > 0 and float(weights.sum()) ** 2 >= LEAST_NEAR * square
