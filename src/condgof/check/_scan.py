"""The search for slices: all intervals of a column, all rectangles of two, against a null that is drawn.

With signals ψ_k of mean 0 under the law, N_k(S) = Σ_{i∈S} ψ_k(y_i)/√Var. A slice counts
max_k |N_k(S)| − √(2 log(n/|S|)), so that small slices do not win by their number; the largest of all
slices is compared with that of y drawn anew, or of rows, blocks or groups with random signs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut
from condgof.check._findings import direction, severity
from condgof.check._record import Condition, Finding, Slice
from condgof.check._signals import Signals
from condgof.engine import Engine
from condgof.null._bootstrap import Dependence, pvalue
from condgof.sample import Seed, Use

#: Quantile bins of a column by itself, and in a pair.
BINS, BINS_PAIR = 20, 6
#: A slice has at least so many rows, and this share of them, and such a share is not in it.
LEAST, LEAST_SHARE, OUTSIDE = 25, 0.02, 0.1
#: Where the law of y is not known, so many: random signs are for sums that are nearly normal.
LEAST_BY_SIGNS, SHARE_BY_SIGNS = 50, 0.05
#: By signs a slice varies at least as much as so many rows of all do, or as all its rows do.
FEW_ROWS = 100
#: Columns of which all pairs are looked at; of more, those that tell most about the predictions.
PAIRED = 16
#: Rows that are searched, and rows whose y is drawn anew; where there are more, some at random.
SEARCHED, REDRAWN = 100_000, 2048
#: Units that get signs, where y cannot be drawn anew.
UNITS, PARCELS = 2048, 512
#: Draws to begin with, after which only small p-values are worth more; draws at a time.
BEGIN, FEW, CHUNK = 249, 10, 16
#: Uses of random numbers in a check; append only.
SEARCH_ROWS, NULL_ROWS, DRAWN, UNIT_ROWS, UNIT_SIGNS = range(20, 25)


@dataclass(frozen=True, eq=False)
class Part:
    """Slices that are ranges of cells: of columns by themselves, or of pairs of columns."""

    #: The cell of each row, numbered over all columns (or pairs), one array each, (n,).
    cells: tuple[IntArray, ...]
    count: int
    #: Which cells make up each slice, (S, cells), sparse.
    ranges: Any
    #: Rows of each slice, and what it pays for its size, (S,).
    rows: IntArray
    penalty: FloatArray
    #: Which columns and which bins: (S, 6) of axis, first, last, other axis (−1 for none), first, last.
    where: IntArray
    #: How many of the signals are looked at.
    signals: int

    @classmethod
    def of(
        cls,
        columns: Sequence[tuple[int, int]],
        cuts: Sequence[Cut],
        searched: IntArray | None,
        signals: int,
        least: int,
    ) -> Part | None:
        """Make all rectangles of pairs of columns; where the second is −1, all rows and all ranges."""
        none = Cut(0 * cuts[0].codes, 1, np.zeros((1, 2), dtype=np.int64), np.zeros(1), np.zeros(1))
        sides = [(cuts[a], none if b < 0 else cuts[b]) for a, b in columns]
        count, start = sum(u.count * v.count for u, v in sides), 0
        cells, where, ranges = [], [], list[Any]()
        for (a, b), (u, v) in zip(columns, sides, strict=True):
            cells.append(_some(u.codes * v.count + v.codes, searched) + start)
            first = np.repeat(u.ranges, len(v.ranges), axis=0)
            second = np.tile(v.ranges, (len(u.ranges), 1))
            spans = np.column_stack([np.full(len(first), a), first, np.full(len(first), b), second])
            bin_u, bin_v = np.divmod(np.arange(u.count * v.count), v.count)
            if b < 0 and not ranges:
                spans = np.vstack([[-1, 0, u.count - 1, -1, 0, 0], spans])
            inside = (bin_u >= spans[:, [1]]) & (bin_u <= spans[:, [2]])
            inside &= (bin_v >= spans[:, [4]]) & (bin_v <= spans[:, [5]])
            row, cell = np.nonzero(inside)
            ranges.append(csr_matrix((np.ones(len(row)), (row, start + cell)), (len(spans), count)))
            where.append(spans)
            start += u.count * v.count
        if not ranges:
            return None
        n, spans, matrix = len(cells[0]), np.concatenate(where), vstack(ranges, format="csr")
        rows = sum((np.bincount(code, minlength=count) for code in cells), np.zeros(count))
        sizes = np.rint(matrix @ rows).astype(np.int64)
        fits = (sizes >= least) & (n - sizes >= max(10, OUTSIDE * n)) | (spans[:, 0] < 0)
        kept = np.flatnonzero(fits)
        if not len(kept):
            return None
        matrix, sizes = matrix[kept].astype(np.float32), sizes[kept]
        penalty = np.sqrt(2.0 * np.log(n / np.maximum(sizes, 1)))
        return cls(tuple(cells), count, matrix, sizes, penalty, spans[kept], signals)

    def sums(self, values: AnyArray) -> FloatArray:
        """Return Σ over each slice of values (n, k), (S, k)."""
        cells = np.zeros((self.count, values.shape[1]))
        for code in self.cells:
            for k in range(values.shape[1]):
                cells[:, k] += np.bincount(code, values[:, k], self.count)
        return np.asarray(self.ranges @ cells)

    def member(self, rows: IntArray) -> Any:
        """Return which of some rows are in each cell, (cells, rows), sparse."""
        at = np.concatenate([code[rows] for code in self.cells])
        columns = np.tile(np.arange(len(rows)), len(self.cells))
        ones = np.ones(len(at), dtype=np.float32)
        return csr_matrix((ones, (at, columns)), shape=(self.count, len(rows)))


@dataclass(frozen=True, eq=False)
class Space:
    """All slices of some rows."""

    axes: tuple[Axis, ...]
    fine: tuple[Cut, ...]
    coarse: tuple[Cut, ...]
    parts: tuple[Part, ...]
    #: The rows that are searched, among those that are looked at; None for all.
    searched: IntArray | None
    n: int

    @classmethod
    def of(
        cls, axes: tuple[Axis, ...], seed: Seed, first: int, total: int, n: int, known: bool = True
    ) -> Space:
        """Make the slices of n rows; pairs of columns see the `first` signals of a `total`."""
        searched = None
        if n > SEARCHED:
            searched = np.sort(seed.stream(Use.CHECK, SEARCH_ROWS).choice(n, SEARCHED, replace=False))
        fine = tuple(axis.cut(BINS) for axis in axes)
        coarse = tuple(axis.cut(BINS_PAIR) for axis in axes)
        least = least_rows(n if searched is None else SEARCHED, known)
        columns = [(a, -1) for a in range(len(axes))]
        pairs = list(itertools.combinations(_paired(axes, coarse, searched), 2))
        parts = (
            Part.of(columns, fine, searched, total, least),
            Part.of(pairs, coarse, searched, min(first, total), least),
        )
        return cls(axes, fine, coarse, tuple(p for p in parts if p is not None), searched, n)

    @property
    def count(self) -> int:
        """Number of slices."""
        return sum(len(part.rows) for part in self.parts)

    @property
    def pairs(self) -> int:
        """Number of pairs of columns."""
        return sum(len(part.cells) for part in self.parts[1:])

    def conditions(self, where: IntArray) -> tuple[Condition, ...]:
        """Say what a slice is."""
        cuts = self.fine if where[3] < 0 else self.coarse
        ends = (end for end in (where[:3], where[3:]) if end[0] >= 0)
        return tuple(self.axes[a].condition(cuts[a], int(i), int(j)) for a, i, j in ends)

    def inside(self, where: IntArray) -> AnyArray:
        """Tell which of all rows are in a slice, (n,)."""
        cuts = self.fine if where[3] < 0 else self.coarse
        held = np.ones(self.n, dtype=bool)
        for a, i, j in (where[:3], where[3:]):
            if a >= 0:
                held &= (cuts[a].codes >= i) & (cuts[a].codes <= j)
        return held


def least_rows(n: int, known: bool = True) -> int:
    """Return how many rows a slice has at least."""
    least, share = (LEAST, LEAST_SHARE) if known else (LEAST_BY_SIGNS, SHARE_BY_SIGNS)
    return max(least, int(np.ceil(share * n)))


def _paired(axes: tuple[Axis, ...], cuts: Sequence[Cut], searched: IntArray | None) -> list[int]:
    """Choose the columns of which pairs are looked at, without looking at y.

    Those of the predictions, and of the others those by which the predictions differ most.
    """
    usable = [a for a, cut in enumerate(cuts) if len(cut.ranges)]
    if len(usable) <= PAIRED:
        return usable
    told = [axes[a].values for a in usable if axes[a].predicted]
    told = [_some(np.argsort(np.argsort(values, kind="stable")), searched) for values in told]

    def telling(a: int) -> float:
        if axes[a].predicted:
            return np.inf
        code, n = _some(cuts[a].codes, searched), cuts[a].count
        rows = np.maximum(np.bincount(code, minlength=n), 1)
        return max(
            (float((np.bincount(code, v - v.mean(), n) ** 2 / rows).sum() / v.var()) for v in told),
            default=0.0,
        )

    return sorted(sorted(usable, key=lambda a: -telling(a))[:PAIRED])


def _some(values: AnyArray, rows: IntArray | None) -> AnyArray:
    return values if rows is None else values[rows]


@dataclass(frozen=True, eq=False)
class Found:
    """The slice that stands out most."""

    where: IntArray
    #: Which signal, and N of it; which of the parts, and which slice of it.
    signal: int
    z: float
    part: int
    number: int
    #: What the slice pays for its size, and what counts: |N| less that.
    penalty: float
    value: float

    @property
    def everywhere(self) -> bool:
        """Whether it is all rows."""
        return bool(self.where[0] < 0)


@dataclass(frozen=True, eq=False)
class Scan:
    """Signals of the rows that are searched, and the null of the largest of all slices."""

    space: Space
    signals: Signals
    #: Σ Var over each slice, one array a part, (S, k).
    variances: tuple[FloatArray, ...]
    #: Null draws of the largest value, and how they were made; the slice that is largest.
    draws: FloatArray
    null: str
    best: Found

    @classmethod
    def of(
        cls,
        space: Space,
        signals: Signals,
        dependence: Dependence,
        n_boot: int,
        seed: Seed,
        engine: Engine,
    ) -> Scan:
        """Search, and draw from the null: more draws only where the p-value is small."""
        units, count = None, 0
        if not dependence.independent or signals.redraw is None:
            units, count = _units(dependence, space.n, seed)
        if space.searched is not None:
            signals = signals.take(space.searched)
        nulls: list[tuple[str, tuple[FloatArray, ...], Callable[[int], FloatArray]]] = []
        known = _known_variances(space, signals)
        if units is not None:
            units = _some(units, space.searched)
            sums = [_unit_sums(part, signals.values, units, count) for part in space.parts]
            by_unit = _unit_variances(space, signals, sums, known, dependence.independent)
            how = "signs of rows" if dependence.independent else "signs of groups or blocks of rows"
            nulls.append((how, by_unit, _by_signs(space, sums, by_unit, count, signals.skewness, seed)))
        if signals.redraw is not None and (dependence.independent or signals.variance is not None):
            assert known is not None
            nulls.append(("y drawn anew from the model", known, _by_redraw(space, signals, known, seed)))
        scans = []
        for how, variances, task in nulls:
            best = best_of(space, signals.values, variances, signals.skewness)
            begin = min(BEGIN, n_boot)
            draws = _run(task, 0, begin, engine)
            if np.count_nonzero(draws >= best.value) < FEW and begin < n_boot:
                draws = np.append(draws, _run(task, begin, n_boot, engine))
            scans.append(cls(space, signals, variances, draws, how, best))
        return max(scans, key=lambda scan: scan.pvalue)

    @property
    def pvalue(self) -> float:
        """Of the largest of all slices."""
        return pvalue(self.best.value, self.draws)

    @property
    def details(self) -> dict[str, Any]:
        """What was searched."""
        space = self.space
        return {
            "slices": space.count,
            "columns": len(space.axes),
            "pairs": space.pairs,
            "rows": space.n if space.searched is None else len(space.searched),
            "draws": len(self.draws),
            "null": self.null,
            "pvalue": self.pvalue,
        }

    def threshold(self, alpha: float) -> float:
        """Return what the largest value stays below with probability 1 − alpha."""
        return float(np.quantile(self.draws, 1.0 - alpha, method="higher"))

    def told(self, one: Found, p: float, rows: IntArray, findings: tuple[Finding, ...]) -> Slice:
        """Return a slice that stands out, of rows with these numbers in the data."""
        conditions = self.space.conditions(one.where)
        queries = (f"({c.query})" if " or " in c.query else c.query for c in conditions)
        words, share = " and ".join(c.words for c in conditions), len(rows) / self.space.n
        about = conditions, words, " and ".join(queries), rows, share, p, 1.0 / (len(self.draws) + 1)
        return Slice(*about, findings, severity(findings[0]), direction(findings[0]))

    def slices(self, alpha: float, most: int) -> list[tuple[Found, float]]:
        """Return the slices that stand out, with p-values: each says something new given those before.

        And by itself: where nothing is wrong but what was taken off for another slice, nothing is said.
        """
        least, best = self.threshold(alpha), self.best
        named: list[tuple[Found, float]] = []
        taken: list[Found] = []
        for _ in range(2 * most):
            p = pvalue(best.value, self.draws)
            if p > alpha or len(named) == most:
                break
            taken.append(best)
            z = self._alone(best)
            if z * best.z > 0 and abs(z) - best.penalty >= least:
                named.append((best, p))
            values = self._given(taken)
            # What is left may vary more than the model says, which is known to be wrong.
            seen = [part.sums(np.square(values[:, : part.signals])) for part in self.space.parts]
            variances = tuple(map(np.maximum, self.variances, seen))
            best = best_of(self.space, values, variances, self.signals.skewness)
        return named

    def _alone(self, one: Found) -> float:
        """Return N of a slice without anything taken off."""
        inside = _some(self.space.inside(one.where), self.space.searched)
        whole = float(self.signals.values[inside, one.signal].sum())
        z = whole / np.sqrt(self.variances[one.part][one.number, [[one.signal]]])
        skewness = self.signals.skewness[[one.signal]]
        return float(symmetric(z, skewness, np.array([inside.sum()]))[0, 0])

    def _given(self, slices: Sequence[Found]) -> FloatArray:
        """Return the signals less what is explained by a mean of their own in each of some slices."""
        inside = [_some(self.space.inside(one.where), self.space.searched) for one in slices]
        member = np.column_stack(inside).astype(np.float64)
        values = self.signals.values
        means = np.linalg.lstsq(member.T @ member, member.T @ values, rcond=1e-9)[0]
        return np.asarray(values - member @ means)


def best_of(
    space: Space, values: AnyArray, variances: tuple[FloatArray, ...], skewness: FloatArray | None = None
) -> Found:
    """Return the slice with the largest |N| less its penalty."""
    best: Found | None = None
    for number, (part, variance) in enumerate(zip(space.parts, variances, strict=True)):
        z = part.sums(values[:, : part.signals]) / np.sqrt(variance)
        if skewness is not None and skewness.any():
            z = symmetric(z, skewness[: part.signals], part.rows)
        counted = np.abs(z) - part.penalty[:, None]
        s, k = np.unravel_index(int(np.argmax(counted)), z.shape)
        if best is None or counted[s, k] > best.value:
            at = (part.where[s], int(k), float(z[s, k]), number, int(s))
            best = Found(*at, float(part.penalty[s]), float(counted[s, k]))
    assert best is not None
    return best


def symmetric(z: AnyArray, skewness: FloatArray, rows: IntArray, *, longer: bool = False) -> AnyArray:
    """Take the skewness off sums z (S, …, k) that are divided by their own root of squares.

    Such a sum of m terms of skewness γ has about the skewness −2γ/√m, which random signs do not have:
    N + 2aN² + 4a²N³/3 + a with a = γ/(6√m), which always increases. With `longer` only the tail that
    becomes longer by that is moved: so are sums with signs, lest a correction too large rejects.
    """
    a = (skewness / (6.0 * np.sqrt(rows))[:, None]).astype(z.dtype)
    a = a.reshape(len(rows), *(1,) * (z.ndim - 2), -1)
    moved = z + a + 2.0 * a * z**2 + (4.0 / 3.0) * a**2 * z**3
    return np.where(a * z > 0.0, moved, z) if longer else moved


def _known_variances(space: Space, signals: Signals) -> tuple[FloatArray, ...] | None:
    """Return Σ Var over slices where the law tells it."""
    if signals.variance is not None:
        variance = signals.variance
        return tuple(part.sums(variance[:, : part.signals]) + signals.floor for part in space.parts)
    if not signals.unit:
        return None
    return tuple(np.outer(part.rows, np.ones(part.signals)) for part in space.parts)


def variances_of(space: Space, signals: Signals) -> tuple[FloatArray, ...]:
    """Return Σ Var over slices as the law tells it, and where it does not, Σ of squares."""
    squares = np.square(signals.values)
    return _known_variances(space, signals) or tuple(
        np.maximum(part.sums(squares[:, : part.signals]), 1e-300) for part in space.parts
    )


def _units(dependence: Dependence, n: int, seed: Seed) -> tuple[IntArray, int]:
    """Return which unit each row belongs to: rows of one unit have one sign."""
    if not dependence.independent:
        parcels = dependence.parcels(n, PARCELS)
        return np.asarray(parcels.of(0, n), dtype=np.int64), parcels.count
    if n <= UNITS:
        return np.arange(n), n
    return seed.stream(Use.CHECK, UNIT_ROWS).permutation(n) % UNITS, UNITS


def _unit_sums(part: Part, values: FloatArray, units: IntArray, count: int) -> list[AnyArray]:
    """Return the sums of each signal over the rows of a unit in a cell, (cells, units) each."""
    each = []
    for k in range(part.signals):
        sums = np.zeros(part.count * count, dtype=np.float32)
        for code in part.cells:
            sums += np.bincount(code * count + units, values[:, k], part.count * count)
        each.append(sums.reshape(part.count, count))
    return each


def _unit_variances(
    space: Space,
    signals: Signals,
    sums: list[list[AnyArray]],
    known: tuple[FloatArray, ...] | None,
    independent: bool,
) -> tuple[FloatArray, ...]:
    """Return Σ_u (Σ over the rows of u)² of each slice, and at least what the law says."""
    variances = []
    for p, part in enumerate(space.parts):
        if independent:
            squares = np.square(signals.values[:, : part.signals])
            # Few rows that happen to vary little would stand out by that: at least as much as all do.
            few = np.minimum(part.rows, FEW_ROWS)[:, None]
            variance = np.maximum(part.sums(squares), few * squares.mean(axis=0))
        else:
            variance = np.column_stack([np.square(part.ranges @ one).sum(axis=1) for one in sums[p]])
        variance = np.maximum(variance.astype(np.float64), 1e-300)
        variances.append(variance if known is None else np.maximum(variance, known[p]))
    return tuple(variances)


def _by_redraw(
    space: Space, signals: Signals, variances: tuple[FloatArray, ...], seed: Seed
) -> Callable[[int], FloatArray]:
    """Return what draws y anew `CHUNK` times, of some rows where there are many."""
    n, rows = len(signals.values), np.arange(len(signals.values))
    assert signals.redraw is not None
    if n > REDRAWN:
        rows = np.sort(seed.stream(Use.CHECK, NULL_ROWS).choice(n, REDRAWN, replace=False))
    redraw, member, scales = signals.redraw(rows), [], []
    for part, variance in zip(space.parts, variances, strict=True):
        of = part.member(rows)
        if n > REDRAWN:
            ones = np.ones((len(rows), part.signals))
            known = ones if signals.variance is None else signals.variance[rows][:, : part.signals]
            sums = part.ranges @ (of @ known.astype(np.float32)) + signals.floor
            # A slice that hardly any of these rows is in has its share of the variance.
            variance = np.maximum(sums, 0.5 * (variance * (len(rows) / n)))
        member.append(of)
        scales.append(np.asarray(1.0 / np.sqrt(variance), dtype=np.float32))

    def task(start: int) -> FloatArray:
        drawn = redraw(seed.stream(Use.CHECK, DRAWN, start), CHUNK)
        each = (np.ascontiguousarray(drawn[:, :, : part.signals]) for part in space.parts)
        cells = [of @ some.reshape(len(rows), -1) for of, some in zip(member, each, strict=True)]
        return _largest(space, cells, scales)

    return task


def _largest(
    space: Space, cells: list[AnyArray], scales: list[AnyArray], skewness: FloatArray | None = None
) -> FloatArray:
    """Return the largest value of all slices in each of m draws, (m,)."""
    top: AnyArray | None = None
    for part, sums, scale in zip(space.parts, cells, scales, strict=True):
        z = (part.ranges @ sums).reshape(len(part.rows), -1, part.signals)
        z *= scale[:, None, :]
        if skewness is not None and skewness.any():
            z = symmetric(z, skewness[: part.signals], part.rows, longer=True)
        np.abs(z, out=z)
        z -= part.penalty.astype(np.float32)[:, None, None]
        largest = z.max(axis=(0, 2))
        top = largest if top is None else np.maximum(top, largest)
    assert top is not None
    return np.asarray(top, dtype=np.float64)


def _by_signs(
    space: Space,
    sums: list[list[AnyArray]],
    variances: tuple[FloatArray, ...],
    count: int,
    skewness: FloatArray,
    seed: Seed,
) -> Callable[[int], FloatArray]:
    """Return what gives units random signs `CHUNK` times."""
    scales = [(1.0 / np.sqrt(variance)).astype(np.float32) for variance in variances]

    def task(start: int) -> FloatArray:
        rng = seed.stream(Use.CHECK, UNIT_SIGNS, start)
        signs = rng.integers(0, 2, (count, CHUNK)).astype(np.float32) * 2.0 - 1.0
        cells = [
            np.stack([one @ signs for one in part], axis=2).reshape(len(part[0]), -1) for part in sums
        ]
        return _largest(space, cells, scales, skewness)

    return task


def _run(task: Callable[[int], FloatArray], start: int, stop: int, engine: Engine) -> FloatArray:
    parts = engine.local.map(task, range(start, stop, CHUNK))
    return np.concatenate(list(parts))[: stop - start]
