"""The search for slices: all intervals of a column, all rectangles of two, against a null that is drawn.

With signals ψ_k of mean 0 under the law, N_k(S) = Σ_{i∈S} ψ_k(y_i)/√Var, a slice counts
max_k |N_k(S)| − √(2 log(n/|S|)), so that small slices do not win by their number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

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
#: Slices that are compared with each other before one is named, and rows by which; how likely it is
#: that all rows are wrong alike, beside any slice; what each condition and bound costs.
COMPARED, COMPARED_ROWS, EVERYWHERE, SIMPLER = 400, 4096, 0.1, 0.95
#: Uses of random numbers in a check; append only.
SEARCH_ROWS, NULL_ROWS, DRAWN, UNIT_ROWS, UNIT_SIGNS = range(20, 25)
#: How draws are made, Σ Var over the slices of each part that go with them, what makes `CHUNK` draws.
Null: TypeAlias = tuple[str, tuple[FloatArray, ...], Callable[[int], FloatArray]]


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
        cls, columns: Sequence[tuple[int, int]], cuts: Sequence[Cut], signals: int, least: int
    ) -> Part | None:
        """Make all rectangles of pairs of columns; where the second is −1, all rows and all ranges."""
        none = Cut(0 * cuts[0].codes, 1, np.zeros((1, 2), dtype=np.int64), np.zeros(1), np.zeros(1))
        sides = [(cuts[a], none if b < 0 else cuts[b]) for a, b in columns]
        count, start = sum(u.count * v.count for u, v in sides), 0
        cells, where, ranges = [], [], list[Any]()
        for (a, b), (u, v) in zip(columns, sides, strict=True):
            cells.append(u.codes * v.count + v.codes + start)
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
        fine, coarse = (tuple(axis.cut(bins) for axis in axes) for bins in (BINS, BINS_PAIR))
        few, few_coarse = (
            [replace(cut, codes=_some(cut.codes, searched)) for cut in cuts] for cuts in (fine, coarse)
        )
        least = least_rows(n if searched is None else SEARCHED, known)
        pairs = list(itertools.combinations(_paired(axes, few_coarse, searched), 2))
        parts = (
            Part.of([(a, -1) for a in range(len(axes))], few, total, least),
            Part.of(pairs, few_coarse, min(first, total), least),
        )
        return cls(axes, fine, coarse, tuple(p for p in parts if p is not None), searched, n)

    @property
    def count(self) -> int:
        """Number of slices."""
        return sum(len(part.rows) for part in self.parts)

    def _ranges(self, where: IntArray) -> Iterator[tuple[Axis, Cut, int, int]]:
        """List the columns of a slice, and between which bins of each it lies."""
        cuts = self.fine if where[3] < 0 else self.coarse
        for a, first, last in (where[:3], where[3:]):
            if a >= 0:
                yield self.axes[a], cuts[a], int(first), int(last)

    def conditions(self, where: IntArray) -> tuple[Condition, ...]:
        """Say what a slice is."""
        return tuple(axis.condition(cut, *bins) for axis, cut, *bins in self._ranges(where))

    def bounds(self, where: IntArray) -> int:
        """Count what a sentence has to say: each condition and each bound of it."""
        ends = [
            1 if axis.kind in ("levels", "two") else (first > 0) + (last < cut.count - 1)
            for axis, cut, first, last in self._ranges(where)
        ]
        return len(ends) + sum(ends)

    def inside(self, where: IntArray, rows: Any = slice(None)) -> AnyArray:
        """Tell which of all rows, or of some, are in a slice, (n,)."""
        held: AnyArray = np.ones(self.n, dtype=bool)[rows]
        for _, cut, first, last in self._ranges(where):
            held &= (cut.codes[rows] >= first) & (cut.codes[rows] <= last)
        return held


def least_rows(n: int, known: bool = True) -> int:
    """Return how many rows a slice has at least."""
    least, share = (LEAST, LEAST_SHARE) if known else (LEAST_BY_SIGNS, SHARE_BY_SIGNS)
    return max(least, int(np.ceil(share * n)))


def _paired(axes: tuple[Axis, ...], cuts: Sequence[Cut], searched: IntArray | None) -> list[int]:
    """Choose the columns of which pairs are looked at: predictions, and those by which they differ."""
    usable = [a for a, cut in enumerate(cuts) if len(cut.ranges)]
    if len(usable) <= PAIRED:
        return usable
    told = [axes[a].values for a in usable if axes[a].predicted]
    told = [_some(np.argsort(np.argsort(values, kind="stable")), searched) for values in told]

    def telling(a: int) -> float:
        if axes[a].predicted:
            return np.inf
        code, n = cuts[a].codes, cuts[a].count
        rows = np.maximum(np.bincount(code, minlength=n), 1)
        shares = [(np.bincount(code, v - v.mean(), n) ** 2 / rows).sum() / v.var() for v in told]
        return float(max(shares, default=0.0))

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
        cls, space: Space, signals: Signals, rows: Dependence, n_boot: int, seed: Seed, engine: Engine
    ) -> Scan:
        """Search, and draw from the null: more draws only where the p-value is small."""
        if space.searched is not None:
            signals = signals.take(space.searched)
        known, nulls = _known_variances(space, signals), list[Null]()
        if not rows.independent or signals.redraw is None:
            nulls.append(_by_signs(space, signals, known, rows, seed))
        drawn = signals.redraw is not None and (rows.independent or signals.variance is not None)
        if drawn and known is not None:
            nulls.append(_by_redraw(space, signals, known, seed))
        scans = []
        for how, variances, task in nulls:
            best = best_of(space, signals.values, variances, signals.skewness)
            draws, begin = np.empty(0), min(BEGIN, n_boot)
            for start, stop in ((0, begin), (begin, n_boot)):
                if np.count_nonzero(draws >= best.value) < FEW and start < stop:
                    made = np.concatenate(list(engine.local.map(task, range(start, stop, CHUNK))))
                    draws = np.append(draws, made[: stop - start])
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
            "pairs": sum(len(part.cells) for part in space.parts[1:]),
            "rows": space.n if space.searched is None else len(space.searched),
            "draws": len(self.draws),
            "null": self.null,
            "pvalue": self.pvalue,
        }

    def threshold(self, alpha: float) -> float:
        """Return what the largest value stays below with probability 1 − alpha."""
        return float(np.quantile(self.draws, 1.0 - alpha, method="higher"))

    def told(
        self,
        one: Found,
        p: float,
        rows: IntArray,
        findings: tuple[Finding, ...],
        others: Sequence[Slice] = (),
    ) -> Slice:
        """Return a slice that stands out, of rows with these numbers in the data.

        With `others` it is all rows but theirs, and has no conditions of its own.
        """
        conditions = self.space.conditions(one.where)
        queries = [f"({c.query})" if " or " in c.query else c.query for c in conditions]
        queries += [f"not ({other.query})" for other in others]
        said = [c.words for c in conditions] + [f"not ({other.words})" for other in others]
        words, query, share = " and ".join(said), " and ".join(queries), len(rows) / self.space.n
        about = conditions, words, query, rows, share, p, 1.0 / (len(self.draws) + 1)
        return Slice(*about, findings, severity(findings[0]), direction(findings[0]))

    def slices(self, alpha: float, most: int) -> list[tuple[Found, float]]:
        """Return the slices that stand out, with p-values: each says something new given those before.

        And by itself: where nothing is wrong but what was taken off for another slice, nothing is said.
        """
        least, best = self.threshold(alpha), self.best
        # What a value must be above to have a p-value of at most alpha.
        passed = float(np.sort(np.append(self.draws, -np.inf))[-1 - int(alpha * (len(self.draws) + 1))])
        whole, skewness = self.signals.values, self.signals.skewness
        named, taken = list[tuple[Found, float]](), list[AnyArray]()
        values, variances = whole, self.variances
        for _ in range(2 * most):
            if pvalue(best.value, self.draws) > alpha or len(named) == most:
                break
            best = central_of(self.space, values, variances, skewness, passed)
            p = pvalue(best.value, self.draws)
            inside, k = _some(self.space.inside(best.where), self.space.searched), best.signal
            # N of the slice without anything taken off; of all rows after slices, that of the others.
            own = inside & ~np.any(taken, axis=0) if best.everywhere and taken else inside
            taken.append(inside)
            share = own.sum() / max(inside.sum(), 1)
            variance = self.variances[best.part][best.number, [[k]]] * max(share, 1e-9)
            z = float(whole[own, k].sum()) / np.sqrt(variance)
            alone = float(symmetric(z, skewness[[k]], np.array([own.sum()]))[0, 0])
            if alone * best.z > 0 and abs(alone) - best.penalty >= least:
                named.append((best, p))
            # The signals less what is explained by a mean of their own in each slice so far.
            member = np.column_stack(taken).astype(np.float64)
            means = np.linalg.lstsq(member.T @ member, member.T @ whole, rcond=1e-9)[0]
            values = np.asarray(whole - member @ means)
            # What is left may vary more than the model says, which is known to be wrong.
            seen = [part.sums(np.square(values[:, : part.signals])) for part in self.space.parts]
            variances = tuple(map(np.maximum, self.variances, seen))
            best = best_of(self.space, values, variances, skewness)
        return named


def best_of(
    space: Space, values: AnyArray, variances: tuple[FloatArray, ...], skewness: FloatArray | None = None
) -> Found:
    """Return the slice with the largest |N| less its penalty."""
    every = _compared(space, values, variances, skewness)
    counted = [np.abs(z).max(axis=1) - part.penalty for z, part in zip(every, space.parts, strict=True)]
    found = (_found(space, p, int(np.argmax(one)), every) for p, one in enumerate(counted))
    return max(found, key=lambda one: one.value)


def central_of(
    space: Space,
    values: AnyArray,
    variances: tuple[FloatArray, ...],
    skewness: FloatArray | None,
    passed: float,
) -> Found:
    """Return, of the slices above a bound, that which is expected to overlap the wrong one most.

    Chance moves the ends of the largest. If one slice is wrong, and by as much as the largest |N| = a
    says, it is S with a probability ∝ exp(a·|N(S)|), slices being as likely as each other beforehand,
    and all rows as likely as `EVERYWHERE` of them together. The Jaccard index says how much two overlap;
    another condition or bound must add to it.
    """
    every = _compared(space, values, variances, skewness)
    places = [(p, s) for p, z in enumerate(every) for s in range(len(z))]
    size = np.concatenate([np.abs(z).max(axis=1) for z in every])
    weight = np.exp(size.max() * (size - size.max()))
    whole = np.concatenate([part.where[:, 0] < 0 for part in space.parts])
    alike = EVERYWHERE * len(weight) * weight[whole].sum() > weight.sum()
    top = np.flatnonzero(whole) if alike else np.argsort(-size, kind="stable")[:COMPARED]
    found = [_found(space, p, s, every) for p, s in (places[i] for i in top)]
    rows = np.arange(space.n)[:: max(1, space.n // COMPARED_ROWS)]
    member = np.array([space.inside(one.where, rows) for one in found], dtype=np.float32)
    both, count = member @ member.T, member.sum(axis=1)
    belief = both / np.maximum(count[:, None] + count - both, 1.0) @ weight[top]
    belief *= [SIMPLER ** space.bounds(one.where) for one in found]
    return max(zip(found, belief, strict=True), key=lambda one: (one[0].value > passed, one[1]))[0]


def _compared(
    space: Space, values: AnyArray, variances: tuple[FloatArray, ...], skewness: FloatArray | None
) -> list[AnyArray]:
    """Return N of all slices and signals, one array a part, (S, k)."""
    return [
        symmetric(part.sums(values[:, : part.signals]) / np.sqrt(variance), skewness, part.rows)
        for part, variance in zip(space.parts, variances, strict=True)
    ]


def _found(space: Space, number: int, s: int, every: list[AnyArray]) -> Found:
    part, z = space.parts[number], every[number][s]
    k, penalty = int(np.argmax(np.abs(z))), float(part.penalty[s])
    return Found(part.where[s], k, float(z[k]), number, s, penalty, abs(float(z[k])) - penalty)


def symmetric(
    z: AnyArray, skewness: FloatArray | None, rows: IntArray, *, longer: bool = False
) -> AnyArray:
    """Take the skewness off sums z (S, …, k) that are divided by their own root of squares.

    Such a sum of m terms of skewness γ has about the skewness −2γ/√m, which random signs do not have:
    N + 2aN² + 4a²N³/3 + a with a = γ/(6√m), which always increases. With `longer` only the tail that
    becomes longer by that is moved: so are sums with signs, lest a correction too large rejects.
    """
    if skewness is None or not skewness.any():
        return z
    a = (skewness[: z.shape[-1]] / (6.0 * np.sqrt(rows))[:, None]).astype(z.dtype)
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


def _by_signs(
    space: Space, signals: Signals, known: tuple[FloatArray, ...] | None, rows: Dependence, seed: Seed
) -> Null:
    """Give units of rows random signs: rows, some at random where there are many, or what depends."""
    n, values, skewness = space.n, signals.values, signals.skewness
    if not rows.independent:
        parcels, how = rows.parcels(n, PARCELS), "signs of groups or blocks of rows"
        units, count = np.asarray(parcels.of(0, n), dtype=np.int64), parcels.count
    else:
        units, count, how = np.arange(n), min(n, UNITS), "signs of rows"
        if n > UNITS:
            units = seed.stream(Use.CHECK, UNIT_ROWS).permutation(n) % UNITS
    units = _some(units, space.searched)
    sums, variances = [], []
    for p, part in enumerate(space.parts):
        # The sums of each signal over the rows of a unit in a cell, (signals, cells, units).
        each = np.zeros((part.signals, part.count * count), dtype=np.float32)
        for k in range(part.signals):
            for code in part.cells:
                each[k] += np.bincount(code * count + units, values[:, k], part.count * count)
        sums.append(each.reshape(part.signals, part.count, count))
        if rows.independent:
            squares = np.square(values[:, : part.signals])
            # Few rows that happen to vary little would stand out by that: at least as much as all do.
            few = np.minimum(part.rows, FEW_ROWS)[:, None]
            variance = np.maximum(part.sums(squares), few * squares.mean(axis=0))
        else:
            by_unit = [np.square(part.ranges @ one).sum(axis=1) for one in sums[p]]
            variance = np.column_stack(by_unit).astype(np.float64)
        variances.append(np.maximum(variance, 1e-300 if known is None else known[p]))
    scales = [(1.0 / np.sqrt(variance)).astype(np.float32) for variance in variances]

    def task(start: int) -> FloatArray:
        rng = seed.stream(Use.CHECK, UNIT_SIGNS, start)
        signs = rng.integers(0, 2, (count, CHUNK)).astype(np.float32) * 2.0 - 1.0
        cells = [np.stack([one @ signs for one in each], axis=2) for each in sums]
        return _largest(space, cells, scales, skewness)

    return how, tuple(variances), task


def _by_redraw(space: Space, signals: Signals, variances: tuple[FloatArray, ...], seed: Seed) -> Null:
    """Draw y anew from the law, of some rows where there are many."""
    n, rows = len(signals.values), np.arange(len(signals.values))
    assert signals.redraw is not None
    if n > REDRAWN:
        rows = np.sort(seed.stream(Use.CHECK, NULL_ROWS).choice(n, REDRAWN, replace=False))
    redraw, members, scales = signals.redraw(rows), list[Any](), []
    for part, variance in zip(space.parts, variances, strict=True):
        # Which of these rows are in each cell, (cells, rows).
        at = np.concatenate([code[rows] for code in part.cells])
        columns = np.tile(np.arange(len(rows)), len(part.cells))
        ones = np.ones(len(at), dtype=np.float32)
        members.append(csr_matrix((ones, (at, columns)), shape=(part.count, len(rows))))
        if n > REDRAWN:
            known = np.ones((len(rows), part.signals), dtype=np.float32)
            if signals.variance is not None:
                known = signals.variance[rows][:, : part.signals].astype(np.float32)
            sums = part.ranges @ (members[-1] @ known) + signals.floor
            # A slice that hardly any of these rows is in has its share of the variance.
            variance = np.maximum(sums, 0.5 * (variance * (len(rows) / n)))
        scales.append(np.asarray(1.0 / np.sqrt(variance), dtype=np.float32))

    def task(start: int) -> FloatArray:
        drawn = redraw(seed.stream(Use.CHECK, DRAWN, start), CHUNK)
        each = (np.ascontiguousarray(drawn[:, :, : part.signals]) for part in space.parts)
        cells = [of @ some.reshape(len(rows), -1) for of, some in zip(members, each, strict=True)]
        return _largest(space, cells, scales)

    return "y drawn anew from the model", variances, task


def _largest(
    space: Space, cells: list[AnyArray], scales: list[AnyArray], skewness: FloatArray | None = None
) -> FloatArray:
    """Return the largest value of all slices in each of m draws, (m,)."""
    largest = []
    for part, sums, scale in zip(space.parts, cells, scales, strict=True):
        z = (part.ranges @ sums.reshape(part.count, -1)).reshape(len(part.rows), -1, part.signals)
        z *= scale[:, None, :]
        z = symmetric(z, skewness, part.rows, longer=True)
        np.abs(z, out=z)
        z -= part.penalty.astype(np.float32)[:, None, None]
        largest.append(z.max(axis=0).max(axis=1))  # in this order: slices lie farthest apart
    return np.asarray(np.max(largest, axis=0), dtype=np.float64)
