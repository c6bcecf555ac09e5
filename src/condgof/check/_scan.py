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

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut
from condgof.check._findings import direction, severity
from condgof.check._record import Condition, Finding, Slice
from condgof.check._signals import Signals
from condgof.engine import Engine
from condgof.null import Dependence, pvalue
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

    def sums(self, values: AnyArray) -> FloatArray:
        """Return Σ over each slice of values (n, k), (S, k)."""
        cells = np.zeros((self.count, values.shape[1]))
        for code in self.cells:
            for k in range(values.shape[1]):
                cells[:, k] += np.bincount(code, values[:, k], self.count)
        return np.asarray(self.ranges @ cells)

    def member(self, rows: IntArray) -> Any:
        """Return which of some rows are in each cell, (cells, rows), sparse."""
        from scipy.sparse import csr_matrix

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
        singles = _singles(fine, searched, total, least)
        parts = (singles, _pairs(axes, coarse, searched, min(first, total), least))
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
        ends = [where[:3], where[3:]] if where[3] >= 0 else [where[:3]]
        ends = [end for end in ends if end[0] >= 0]
        return tuple(self.axes[a].condition(cuts[a], int(i), int(j)) for a, i, j in ends)

    def inside(self, where: IntArray) -> AnyArray:
        """Tell which of all rows are in a slice, (n,)."""
        cuts = self.fine if where[3] < 0 else self.coarse
        found = np.ones(self.n, dtype=bool)
        for a, i, j in (where[:3], where[3:]):
            if a >= 0:
                found &= (cuts[a].codes >= i) & (cuts[a].codes <= j)
        return found


def least_rows(n: int, known: bool = True) -> int:
    """Return how many rows a slice has at least."""
    least, share = (LEAST, LEAST_SHARE) if known else (LEAST_BY_SIGNS, SHARE_BY_SIGNS)
    return max(least, int(np.ceil(share * n)))


def _part(
    cells: list[IntArray], count: int, ranges: list[Any], where: list[IntArray], signals: int, least: int
) -> Part | None:
    from scipy.sparse import vstack

    if not ranges:
        return None
    n = len(cells[0])
    matrix = vstack(ranges, format="csr").astype(np.float32)
    of = np.concatenate(where)
    rows = np.zeros(count)
    for code in cells:
        rows += np.bincount(code, minlength=count)
    sizes = np.rint(matrix.astype(np.float64) @ rows).astype(np.int64)
    whole = of[:, 0] < 0
    fits = (sizes >= least) & (n - sizes >= max(10, OUTSIDE * n)) | whole
    penalty = np.sqrt(2.0 * np.log(n / np.maximum(sizes, 1)))
    kept = np.flatnonzero(fits)
    if not len(kept):
        return None
    return Part(tuple(cells), count, matrix[kept], sizes[kept], penalty[kept], of[kept], signals)


def _block(ranges: AnyArray, start: int, bins: int, count: int) -> Any:
    """Return a sparse matrix (ranges, count) of ones at the cells of each inclusive range."""
    from scipy.sparse import csr_matrix

    inside = (np.arange(bins) >= ranges[:, :1]) & (np.arange(bins) <= ranges[:, 1:])
    row, cell = np.nonzero(inside)
    return csr_matrix((np.ones(len(row)), (row, start + cell)), shape=(len(ranges), count))


def _singles(cuts: Sequence[Cut], searched: IntArray | None, signals: int, least: int) -> Part | None:
    """All rows, and all ranges of each column."""
    from scipy.sparse import csr_matrix

    starts = np.cumsum([0, *(cut.count for cut in cuts)])
    count, cells, ranges, where = int(starts[-1]), [], [], []
    for a, cut in enumerate(cuts):
        cells.append(_some(cut.codes, searched) + starts[a])
        if a == 0:
            whole = np.zeros((1, count))
            whole[0, : cut.count] = 1.0
            ranges.append(csr_matrix(whole))
            where.append(np.array([[-1, 0, 0, -1, 0, 0]]))
        if len(cut.ranges):
            ranges.append(_block(cut.ranges, int(starts[a]), cut.count, count))
            where.append(_where(a, cut.ranges))
    return _part(cells, count, ranges, where, signals, least)


def _where(axis: int, ranges: IntArray) -> IntArray:
    none = np.full(len(ranges), -1)
    return np.column_stack([np.full(len(ranges), axis), ranges, none, 0 * none, 0 * none])


def _pairs(
    axes: tuple[Axis, ...], cuts: Sequence[Cut], searched: IntArray | None, signals: int, least: int
) -> Part | None:
    """All rectangles of two columns."""
    from scipy.sparse import csr_matrix

    chosen = _paired(axes, cuts, searched)
    pairs = list(itertools.combinations(chosen, 2))
    count = sum(cuts[a].count * cuts[b].count for a, b in pairs)
    cells, ranges, where, start = [], [], [], 0
    for a, b in pairs:
        u, v = cuts[a], cuts[b]
        bins = u.count * v.count
        cells.append(_some(u.codes, searched) * v.count + _some(v.codes, searched) + start)
        first, second = np.repeat(u.ranges, len(v.ranges), axis=0), np.tile(v.ranges, (len(u.ranges), 1))
        row, column = np.divmod(np.arange(bins), v.count)
        inside = (row >= first[:, :1]) & (row <= first[:, 1:])
        inside &= (column >= second[:, :1]) & (column <= second[:, 1:])
        at, cell = np.nonzero(inside)
        ranges.append(csr_matrix((np.ones(len(at)), (at, start + cell)), shape=(len(first), count)))
        ends = [np.full(len(first), a), first, np.full(len(first), b), second]
        where.append(np.column_stack(ends))
        start += bins
    return _part(cells, count, ranges, where, signals, least) if cells else None


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
    #: Which signal, and N of it.
    signal: int
    z: float
    #: Which of the parts, and which slice of it.
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
    #: Null draws of the largest value.
    draws: FloatArray
    #: How they were made.
    null: str
    #: What is largest.
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
        units, count = (
            _units(dependence, space.n, seed) if _needs_signs(signals, dependence) else (None, 0)
        )
        if space.searched is not None:
            signals = signals.take(space.searched)
        nulls: list[tuple[str, tuple[FloatArray, ...], Callable[[int], FloatArray]]] = []
        known = _known_variances(space, signals)
        if units is not None:
            units = _some(units, space.searched)
            sums = [_unit_sums(part, signals.values, units, count) for part in space.parts]
            own = _unit_variances(space, signals, sums, known, dependence.independent)
            how = "signs of rows" if dependence.independent else "signs of groups or blocks of rows"
            nulls.append((how, own, _by_signs(space, sums, own, count, signals.skewness, seed)))
        if signals.redraw is not None and (dependence.independent or signals.variance is not None):
            assert known is not None
            nulls.append(("y drawn anew from the model", known, _by_redraw(space, signals, known, seed)))
        found = []
        for how, variances, task in nulls:
            best = best_of(space, signals.values, variances, signals.skewness)
            count = min(BEGIN, n_boot)
            draws = _run(task, 0, count, engine)
            if np.count_nonzero(draws >= best.value) < FEW and count < n_boot:
                draws = np.append(draws, _run(task, len(draws), n_boot, engine))
            found.append(cls(space, signals, variances, draws, how, best))
        return max(found, key=lambda scan: scan.pvalue)

    @property
    def pvalue(self) -> float:
        """Of the largest of all slices."""
        return pvalue(self.best.value, self.draws)

    @property
    def floor(self) -> float:
        """The smallest p-value that the draws can give."""
        return 1.0 / (len(self.draws) + 1)

    def threshold(self, alpha: float) -> float:
        """Return what the largest value stays below with probability 1 − alpha."""
        return float(np.quantile(self.draws, 1.0 - alpha, method="higher"))

    def told(self, one: Found, p: float, rows: IntArray, findings: tuple[Finding, ...]) -> Slice:
        """Return a slice that stands out, of rows with these numbers in the data."""
        conditions = self.space.conditions(one.where)
        queries = (f"({c.query})" if " or " in c.query else c.query for c in conditions)
        words, share = " and ".join(c.words for c in conditions), len(rows) / self.space.n
        about = conditions, words, " and ".join(queries), rows, share, p, self.floor
        return Slice(*about, findings, severity(findings[0]), direction(findings[0]))

    def slices(self, alpha: float, most: int) -> list[tuple[Found, float]]:
        """Return the slices that stand out, with p-values: each says something new given those before.

        And by itself: where nothing is wrong but what was taken off for another slice, nothing is said.
        """
        least = self.threshold(alpha)
        best = self.best
        found: list[tuple[Found, float]] = []
        taken: list[Found] = []
        for _ in range(2 * most):
            p = pvalue(best.value, self.draws)
            if p > alpha or len(found) == most:
                break
            taken.append(best)
            z = self._alone(best)
            if z * best.z > 0 and abs(z) - best.penalty >= least:
                found.append((best, p))
            values = self._given(taken)
            # What is left may vary more than the model says, which is known to be wrong.
            seen = [part.sums(np.square(values[:, : part.signals])) for part in self.space.parts]
            own = tuple(map(np.maximum, self.variances, seen))
            best = best_of(self.space, values, own, self.signals.skewness)
        return found

    def _alone(self, found: Found) -> float:
        """Return N of a slice without anything taken off."""
        inside = _some(self.space.inside(found.where), self.space.searched)
        whole = float(self.signals.values[inside, found.signal].sum())
        z = whole / np.sqrt(self.variances[found.part][found.number, [[found.signal]]])
        own = self.signals.skewness[[found.signal]]
        return float(symmetric(z, own, np.array([inside.sum()]))[0, 0])

    def _given(self, found: Sequence[Found]) -> FloatArray:
        """Return the signals less what is explained by a mean of their own in each of some slices."""
        inside = [_some(self.space.inside(one.where), self.space.searched) for one in found]
        member = np.column_stack(inside).astype(np.float64)
        values = self.signals.values
        means = np.linalg.lstsq(member.T @ member, member.T @ values, rcond=1e-9)[0]
        return np.asarray(values - member @ means)


def best_of(
    space: Space, values: AnyArray, variances: tuple[FloatArray, ...], skewness: FloatArray | None = None
) -> Found:
    """Return the slice with the largest |N| less its penalty."""
    best: Found | None = None
    for number, (part, own) in enumerate(zip(space.parts, variances, strict=True)):
        z = part.sums(values[:, : part.signals]) / np.sqrt(own)
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
        own = signals.variance
        return tuple(part.sums(own[:, : part.signals]) + signals.floor for part in space.parts)
    if not signals.unit:
        return None
    ones = (np.ones(part.signals) for part in space.parts)
    return tuple(np.outer(part.rows, one) for part, one in zip(space.parts, ones, strict=True))


def variances_of(space: Space, signals: Signals) -> tuple[FloatArray, ...]:
    """Return Σ Var over slices as the law tells it, and where it does not, Σ of squares."""
    known = _known_variances(space, signals)
    if known is not None:
        return known
    squares = np.square(signals.values)
    return tuple(np.maximum(part.sums(squares[:, : part.signals]), 1e-300) for part in space.parts)


def _needs_signs(signals: Signals, dependence: Dependence) -> bool:
    return not dependence.independent or signals.redraw is None


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
    found = []
    for k in range(part.signals):
        sums = np.zeros(part.count * count, dtype=np.float32)
        for code in part.cells:
            sums += np.bincount(code * count + units, values[:, k], part.count * count)
        found.append(sums.reshape(part.count, count))
    return found


def _unit_variances(
    space: Space,
    signals: Signals,
    sums: list[list[AnyArray]],
    known: tuple[FloatArray, ...] | None,
    independent: bool,
) -> tuple[FloatArray, ...]:
    """Return Σ_u (Σ over the rows of u)² of each slice, and at least what the law says."""
    out = []
    for p, part in enumerate(space.parts):
        if independent:
            squares = np.square(signals.values[:, : part.signals])
            # Few rows that happen to vary little would stand out by that: at least as much as all do.
            few = np.minimum(part.rows, FEW_ROWS)[:, None]
            own = np.maximum(part.sums(squares), few * squares.mean(axis=0))
        else:
            own = np.column_stack([np.square(part.ranges @ one).sum(axis=1) for one in sums[p]])
        own = np.maximum(own.astype(np.float64), 1e-300)
        out.append(own if known is None else np.maximum(own, known[p]))
    return tuple(out)


def _by_redraw(
    space: Space, signals: Signals, variances: tuple[FloatArray, ...], seed: Seed
) -> Callable[[int], FloatArray]:
    """Return what draws y anew `CHUNK` times, of some rows where there are many."""
    n, rows = len(signals.values), np.arange(len(signals.values))
    assert signals.redraw is not None
    if n > REDRAWN:
        rows = np.sort(seed.stream(Use.CHECK, NULL_ROWS).choice(n, REDRAWN, replace=False))
    redraw, member = signals.redraw(rows), [part.member(rows) for part in space.parts]
    scales = [_scale(part, own, member[p], signals, rows) for p, (part, own) in
              enumerate(zip(space.parts, variances, strict=True))]  # fmt: skip

    def task(start: int) -> FloatArray:
        drawn = redraw(seed.stream(Use.CHECK, DRAWN, start), CHUNK)
        return _largest(space, [_cells(m, drawn[:, :, : part.signals]) for m, part in
                                zip(member, space.parts, strict=True)], scales)  # fmt: skip

    return task


def _scale(part: Part, own: FloatArray, member: Any, signals: Signals, rows: IntArray) -> AnyArray:
    """Return 1/√Var of each slice among the rows that are drawn anew, (S, k)."""
    if len(rows) == len(signals.values):
        return (1.0 / np.sqrt(own)).astype(np.float32)
    ones = np.ones((len(rows), part.signals))
    known = ones if signals.variance is None else signals.variance[rows][:, : part.signals]
    sums = part.ranges @ (member @ known.astype(np.float32)) + signals.floor
    # A slice that hardly any of these rows is in has its share of the variance.
    expected = own * (len(rows) / len(signals.values))
    return np.asarray(1.0 / np.sqrt(np.maximum(sums, 0.5 * expected)), dtype=np.float32)


def _cells(member: Any, drawn: AnyArray) -> AnyArray:
    """Return the sums of drawn signals (n, m, k) over cells, (cells, m·k)."""
    flat = np.ascontiguousarray(drawn).reshape(len(drawn), -1)
    return np.asarray(member @ flat)


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
        own = z.max(axis=(0, 2))
        top = own if top is None else np.maximum(top, own)
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
    scales = [(1.0 / np.sqrt(own)).astype(np.float32) for own in variances]

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
