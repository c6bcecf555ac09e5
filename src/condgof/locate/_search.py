"""The search for places: rows of x, all columns or some, where the misfit shows best.

Everything here looks at the rows that choose, and at no other y. With evidence ξ and weights
F_i = k(x_i, v), the row means of the power criterion are F ∘ (ξξᵀF) less the diagonal, over n − 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.kernels import CovariateKernel, Gaussian
from condgof.locate._bench import LEAST_NEAR, Bench
from condgof.stein import (
    Evidence,
    EvidenceBlock,
    NormalEvidence,
    SteinEvidence,
)

#: Bandwidths on y that tell where, in standardised units.
SCALES_Y = (4.0, 1.0)
#: Places whose weights have a larger cosine are one place: that of two Gaussians two bandwidths apart.
OVERLAP = float(np.exp(-1.0))
#: Candidates that look at one column alone: for each column, and for all columns together.
SLABS, MOST_SLABS = 20, 1000
#: A column is left out of a place where the criterion without it is at least this share of that with it.
KEEP = 0.95
#: Weights that are computed at a time; rows that tell which columns matter, and which places overlap.
GROUP, TRIM_ROWS, OVERLAP_ROWS = 64, 1024, 512
#: Candidates that are looked at for each place that is wanted.
TRIES = 6
#: An exponent beyond any bandwidth: rows of another level.
AWAY = 1e3


@dataclass(frozen=True, eq=False)
class Candidate:
    """A place to be tested: a row of x in the kernel's units, which columns count, and the criterion."""

    point: FloatArray
    kernel: CovariateKernel
    strength: float


def local_evidence(evidence: Evidence) -> Evidence:
    """Return what tells where: of a continuous y, two of the bandwidths."""
    if isinstance(evidence, NormalEvidence):
        return NormalEvidence.at(SCALES_Y, evidence.d_y)
    if isinstance(evidence, SteinEvidence):
        return replace(evidence, parts=evidence.parts[::2])
    return evidence


def telling(evidence: Evidence) -> list[EvidenceBlock]:
    """Return the blocks that places are looked at through: not the single functions of normal scores."""
    return [block for block in evidence.blocks if block.kind != "simple"]


@dataclass(frozen=True, eq=False)
class Search:
    """The rows that choose, with their evidence."""

    #: All rows.
    bench: Bench
    #: Of the rows that choose, (n, d_x).
    x: FloatArray
    #: What y is seen through.
    evidence: Evidence
    #: ξ of the rows that choose, by block, each in units of its largest entry, (n, r).
    features: tuple[FloatArray, ...]

    @classmethod
    def of(cls, bench: Bench) -> Search:
        """Compute the evidence of the rows that choose."""
        rows, some = bench.rows, bench.choosing
        evidence = local_evidence(bench.design.plan.evidence)
        with np.errstate(over="ignore", invalid="ignore"):
            xi = evidence.of(rows.y[some], rows.scores[some])
        parts = (np.array(xi[:, block.columns], dtype=np.float64) for block in telling(evidence))
        # The criterion has no unit, and squares of very large or small numbers would over- or underflow.
        features = tuple(part / (np.abs(part).max() or 1.0) for part in parts)
        return cls(bench, rows.x[some], evidence, features)

    def criterion(self, weights: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """Return the power criterion of each column of weights (n, m), the largest over blocks."""
        n = len(weights)
        largest = np.full(weights.shape[1], -np.inf)
        for xi in self.features:
            part = xi[rows]
            means = part @ (part.T @ weights)
            means -= np.square(part).sum(axis=1)[:, None] * weights
            means *= weights
            total, square = means.sum(axis=0), np.einsum("ij,ij->j", means, means)
            spread = np.sqrt(np.maximum(square - total**2 / n, 0.0) / (n - 1))
            values = np.divide(total / n, 2.0 * spread, out=np.zeros(len(total)), where=spread > 0)
            np.maximum(largest, values, out=largest)
        return largest

    def at(
        self, kernel: CovariateKernel, points: FloatArray, rows: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return criterion, Σk and effective rows (Σk)²/Σk² at each of m points, (m,) each."""
        x = self.x[rows]

        def task(part: slice) -> tuple[FloatArray, ...]:
            weights = kernel(x, points[part])
            total, square = weights.sum(axis=0), np.square(weights).sum(axis=0)
            effective = np.divide(total**2, square, out=np.zeros(len(total)), where=square > 0)
            return self.criterion(weights, rows), total, effective

        parts = [slice(start, start + GROUP) for start in range(0, len(points), GROUP)]
        found = list(self.bench.engine.map(task, parts))
        criterion, total, effective = (np.concatenate(one) for one in zip(*found, strict=True))
        return criterion, total, effective

    def slabs(self) -> Iterator[Candidate]:
        """Yield places that one column alone tells, where there are several columns."""
        columns = self.bench.columns
        if len(columns) < 2:
            return
        count = min(SLABS, max(5, MOST_SLABS // len(columns)), len(self.x))
        for column in columns:
            order = np.argsort(self.x[:, column], kind="stable")
            points = self.x[np.unique(order[np.linspace(0, len(order) - 1, count).astype(int)])]
            kernel = self.bench.kernel_on((column,))
            criterion, _, effective = self.at(kernel, points)
            for point, value, near in zip(points, criterion, effective, strict=True):
                if near >= LEAST_NEAR:
                    yield Candidate(point, kernel, float(value))

    def trimmed(self, candidate: Candidate) -> Candidate:
        """Leave out columns without which the misfit shows no less: a quarter at once, or one."""
        rows = slice(0, TRIM_ROWS)  # they are in random order
        exponents, columns, smooth = self._exponents(candidate, rows)
        kept = np.arange(len(columns))

        def value(some: IntArray) -> float:
            weights = np.exp(-_narrower(exponents, some, smooth).sum(axis=1))
            return float(self.criterion(weights[:, None], rows)[0])

        best = value(kept)
        while len(kept) > 1:
            without = self.criterion(np.exp(-_each_left_out(exponents, kept, smooth)), rows)
            order = np.argsort(-without, kind="stable")
            for drop in sorted({max(1, len(kept) // 4), 1}, reverse=True):
                fewer = np.delete(kept, order[:drop])
                reached = value(fewer)
                if reached >= KEEP * best:
                    break
            else:
                break
            kept, best = fewer, reached
        if len(kept) == len(columns):
            return candidate
        kernel = self.bench.kernel_on([columns[i] for i in kept])
        criterion, _, _ = self.at(kernel, candidate.point[None])
        return Candidate(candidate.point, kernel, float(criterion[0]))

    def _exponents(self, candidate: Candidate, rows: slice) -> tuple[FloatArray, list[int], AnyArray]:
        """Return −log k column by column, (n, d), the columns, and which of them are numeric."""
        parts, columns, smooth = [], [], []
        for factor in candidate.kernel.factors:
            some = factor.indices()
            gap = self.x[rows][:, some] - candidate.point[some]
            gaussian = isinstance(factor.kernel, Gaussian)
            if isinstance(factor.kernel, Gaussian):
                parts.append(0.5 * np.square(gap / factor.kernel.sigma))
            else:
                parts.append(np.where(gap != 0, AWAY, 0.0))
            columns += some
            smooth += [gaussian] * len(some)
        return np.concatenate(parts, axis=1), columns, np.array(smooth)


def _share(count: int) -> float:
    """Return what the square of a median distance over so many columns is in proportion to."""
    return count * (1.0 - 2.0 / (9.0 * count)) ** 3 if count else 1.0


def _narrower(exponents: FloatArray, some: IntArray, smooth: AnyArray) -> FloatArray:
    """Return the exponents of some columns: bandwidths go with their median distance."""
    factor = _share(int(smooth.sum())) / _share(int(smooth[some].sum()))
    return np.asarray(exponents[:, some] * np.where(smooth[some], factor, 1.0))


def _each_left_out(exponents: FloatArray, kept: IntArray, smooth: AnyArray) -> FloatArray:
    """Return the exponents of all columns but one, for each of those that are kept, (n, kept)."""
    whole, numeric = _narrower(exponents, kept, smooth), smooth[kept]
    count = int(numeric.sum())
    both = np.where(numeric, whole, 0.0).sum(axis=1, keepdims=True)
    rest = whole.sum(axis=1, keepdims=True) - whole
    factor = _share(count) / _share(count - 1) if count > 1 else 1.0
    return np.asarray(rest + np.where(numeric, (factor - 1.0) * (both - whole), 0.0))


def choose(
    search: Search, points: FloatArray, values: FloatArray, near: FloatArray, count: int
) -> list[Candidate]:
    """Choose the strongest places that are apart and have enough rows near, strongest first."""
    bench = search.bench
    crowded = np.flatnonzero((near >= LEAST_NEAR) & (values > 0))
    pool = [Candidate(points[i], bench.near, float(values[i])) for i in crowded] if count else []
    pool += [one for one in search.slabs() if one.strength > 0] if count else []
    pool.sort(key=lambda one: -one.strength)
    directions = _directions(search, pool)
    apart, taken = np.ones(len(pool), dtype=bool), np.empty((0, directions.shape[1]))
    chosen: list[Candidate] = []
    for _ in range(TRIES * count):
        if len(chosen) == count or not apart.any():
            break
        first = int(np.argmax(apart))
        one, direction = pool[first], directions[first]
        apart[first] = False
        trimmed = search.trimmed(one)
        if trimmed is not one:
            narrow = _directions(search, [trimmed])[0]
            if (taken @ narrow <= OVERLAP).all():
                one, direction = trimmed, narrow
        if not _tested(bench, one):
            continue
        chosen.append(one)
        taken = np.vstack([taken, direction])
        apart &= directions @ direction <= OVERLAP
    return sorted(chosen, key=lambda one: -one.strength)


def _directions(search: Search, pool: list[Candidate]) -> FloatArray:
    """Return the weights of places, each of length 1, (places, rows): some rows tell the overlap."""
    x = search.x[:OVERLAP_ROWS]
    found = np.empty((len(pool), len(x)))
    by_kernel: dict[int, list[int]] = {}
    for i, one in enumerate(pool):
        by_kernel.setdefault(id(one.kernel), []).append(i)
    for some in by_kernel.values():
        found[some] = pool[some[0]].kernel(np.stack([pool[i].point for i in some]), x)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(length > 0, length, 1.0)


def _tested(bench: Bench, one: Candidate) -> bool:
    """Whether enough rows that test are near: x decides that, not y."""
    weights = one.kernel(bench.rows.x[bench.testing], one.point[None])[:, 0]
    square = float(np.square(weights).sum())
    return square > 0 and float(weights.sum()) ** 2 >= LEAST_NEAR * square
