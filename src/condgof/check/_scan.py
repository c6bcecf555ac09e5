"""Slices that a search finds.

The search goes over all intervals of a column and all rectangles of two, against a null
that is drawn. With signals ψ_k of mean 0 under the law, N_k(S) = Σ_{i∈S} ψ_k(y_i)/√Var, a
slice counts max_k |N_k(S)| − √(2 log(n/|S|)), so that small slices do not win by their
number.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut
from condgof.check._certain import CertainRows
from condgof.check._findings import severity
from condgof.check._record import Condition, Finding, Slice
from condgof.check._size import units_of
from condgof.check._words import direction_of
from condgof.check.kinds import ReplicatedSignals, Signals
from condgof.engine import Engine
from condgof.null import Dependence, pvalue, settle_ties
from condgof.sample import KeyArray, Seed, Use, rows_by_content

#: Quantile bins of a column by itself.
BINS = 20
#: Quantile bins of each column of a pair.
BINS_PAIR = 6
#: Columns all pairs of which are searched; of more columns, those that are most related to
#: the predictions.
PAIRED = 16
#: Fewest rows of a slice, where the law of y is known.
LEAST = 25
#: Smallest share of the rows that a slice has, where the law of y is known.
LEAST_SHARE = 0.02
#: Smallest share of the rows that are not in a slice.
OUTSIDE = 0.1
#: Fewest rows and smallest share of a slice, where the law of y is not known: random signs
#: are for sums that are nearly normal.
BY_SIGNS = (50, 0.05)
#: With random signs, the variance of a slice is at least that of this many average rows, or
#: of all its rows if it has fewer.
FEW_ROWS = 100
#: Samples of fewer rows are not searched.
LEAST_ROWS = 50
#: Rows that are searched; of more rows, a random choice.
SEARCHED = 100_000
#: Rows whose y is resampled from the model; of more rows, a random choice.
REDRAWN = 2048
#: Units that get random signs, where y cannot be resampled.
UNITS = 2048
#: Values as near as this are equal, as draws are made in single precision.
SAME = 1e-5
#: Draws to begin with; a p-value that is large after these is not made more precise.
BEGIN = 249
#: Fewer exceedances than this after `BEGIN` draws are a small p-value.
FEW = 10
#: Draws at a time.
CHUNK = 16
#: What results call the null of whole samples.
WHOLE_SAMPLES = "whole samples in place of y"
#: Candidate slices whose overlaps are compared before one is reported.
COMPARED = 400
#: Rows on which overlaps are computed.
COMPARED_ROWS = 4096
#: Prior odds that all rows are wrong alike, against all slices together.
EVERYWHERE = 0.1
#: Factor by which each further bound of a slice lowers its prior.
SIMPLER = 0.95
# Uses of random numbers in a check; a use never changes its number.
#: Which rows are searched.
SEARCH_ROWS = 20
#: Which rows are resampled.
NULL_ROWS = 21
#: The resampled y.
DRAWN = 22
#: Which rows share a random sign.
UNIT_ROWS = 23
#: The random signs.
UNIT_SIGNS = 24
#: Σ Var over each slice, one array a part, (S, k).
Variances: TypeAlias = tuple[FloatArray, ...]
#: How draws are made, the variances that go with them, what makes `CHUNK` draws.
Null: TypeAlias = tuple[str, Variances, Callable[[int], FloatArray]]


@dataclass(frozen=True, eq=False)
class Part:
    """Slices that are ranges of cells: of columns by themselves, or of pairs of columns."""

    #: Which rows are in each cell, (cells, n), of all columns (or pairs), and which cells
    #: make up each slice, (S, cells): sparse matrices of 0 and 1.
    members: Any
    ranges: Any
    #: Rows of each slice, and what it pays for its size, (S,).
    rows: IntArray
    penalty: FloatArray
    #: Which columns and which bins: (S, 6) of axis, first, last, other axis (−1 for none),
    #: first, last.
    where: IntArray
    #: How many of the signals it looks at.
    signals: int

    @classmethod
    def of(
        cls,
        columns: Sequence[Any],
        cuts: Sequence[Cut],
        rows: IntArray,
        signals: int,
        least: int,
    ) -> Part | None:
        """Return all rectangles of pairs of columns; a second column of −1 is none."""
        from scipy.sparse import csc_matrix, csr_matrix, vstack  # takes long to import

        none = Cut(
            0 * cuts[0].codes, 1, np.zeros((1, 2), dtype=np.int64), np.zeros(1), np.zeros(1)
        )
        sides = [(cuts[a], none if b < 0 else cuts[b]) for a, b in columns]
        count, start = sum(u.count * v.count for u, v in sides), 0
        cells, where, ranges = [], [], list[Any]()
        for (a, b), (u, v) in zip(columns, sides, strict=True):
            cells.append((u.codes * v.count + v.codes)[rows] + start)
            first = np.repeat(u.ranges, len(v.ranges), axis=0)
            second = np.tile(v.ranges, (len(u.ranges), 1))
            spans = np.column_stack(
                [np.full(len(first), a), first, np.full(len(first), b), second]
            )
            bin_u, bin_v = np.divmod(np.arange(u.count * v.count), v.count)
            if b < 0 and not ranges:
                spans = np.vstack([[-1, 0, u.count - 1, -1, 0, 0], spans])
            inside = (bin_u >= spans[:, [1]]) & (bin_u <= spans[:, [2]])
            inside &= (bin_v >= spans[:, [4]]) & (bin_v <= spans[:, [5]])
            row, cell = np.nonzero(inside)
            ranges.append(
                csr_matrix((np.ones(len(row)), (row, start + cell)), (len(spans), count))
            )
            where.append(spans)
            start += u.count * v.count
        if not ranges:
            return None
        n, spans, matrix = len(rows), np.concatenate(where), vstack(ranges, format="csr")
        at, ends = np.column_stack(cells).ravel(), np.arange(n + 1) * len(cells)
        members = csc_matrix((np.ones(len(at), dtype=np.float32), at, ends), (count, n))
        sizes = np.rint(matrix @ np.bincount(at, minlength=count)).astype(np.int64)
        kept = (sizes >= least) & (n - sizes >= max(10, OUTSIDE * n)) | (spans[:, 0] < 0)
        if not kept.any():
            return None
        penalty = np.sqrt(2.0 * np.log(n / np.maximum(sizes[kept], 1)))
        slices = matrix[kept].astype(np.float32), sizes[kept], penalty, spans[kept]
        return cls(members, *slices, signals)

    def sums(self, values: AnyArray) -> FloatArray:
        """Return Σ over each slice of values (n, k), (S, k)."""
        return np.asarray(self.ranges @ (self.members @ values))


@dataclass(frozen=True, eq=False)
class Space:
    axes: tuple[Axis, ...]
    fine: tuple[Cut, ...]
    coarse: tuple[Cut, ...]
    parts: tuple[Part, ...]
    #: The rows that are searched, among the n that are looked at.
    searched: IntArray
    #: What these rows are chosen by where some are enough, (searched,).
    keys: KeyArray
    n: int

    @classmethod
    def of(cls, axes: tuple[Axis, ...], signals: Signals, keys: KeyArray) -> Space | None:
        """Return all slices of rows with signals; None without columns, or for few rows.

        `keys` (n,) are those of x (`Sample.content_keys`): of many rows, which are searched
        is decided by x alone.
        """
        n, total = signals.values.shape
        if n < LEAST_ROWS or not axes:
            return None
        searched = rows_by_content(keys, SEARCHED, SEARCH_ROWS)
        fine, coarse = (
            tuple(axis.cut(bins) for axis in axes) for bins in (BINS, BINS_PAIR)
        )
        least, share = (LEAST, LEAST_SHARE) if signals.variance is not None else BY_SIGNS
        least = max(least, math.ceil(share * len(searched)))
        pairs = list(itertools.combinations(_paired(axes, coarse, searched), 2))
        parts = (
            Part.of([(a, -1) for a in range(len(axes))], fine, searched, total, least),
            Part.of(pairs, coarse, searched, min(signals.first, total), least),
        )
        return cls(
            axes=axes,
            fine=fine,
            coarse=coarse,
            parts=tuple(p for p in parts if p is not None),
            searched=searched,
            keys=keys[searched],
            n=n,
        )

    @property
    def count(self) -> int:
        return sum(len(part.rows) for part in self.parts)

    def _ranges(self, where: IntArray) -> Iterator[tuple[Axis, Cut, int, int]]:
        """List the columns of a slice, and between which bins of each it lies."""
        cuts = self.fine if where[3] < 0 else self.coarse
        for a, first, last in (where[:3], where[3:]):
            if a >= 0:
                yield self.axes[a], cuts[a], int(first), int(last)

    def conditions(self, where: IntArray) -> tuple[Condition, ...]:
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


def _paired(axes: tuple[Axis, ...], cuts: Sequence[Cut], searched: IntArray) -> list[int]:
    """Choose the columns that pairs are made of: those most related to predictions."""
    usable = [a for a, cut in enumerate(cuts) if len(cut.ranges)]
    if len(usable) <= PAIRED:
        return usable
    predicted = (axes[a].values for a in usable if axes[a].predicted)
    told = [_mean_ranks(values)[searched] for values in predicted]

    def telling(a: int) -> float:
        if axes[a].predicted:
            return np.inf
        code, n = cuts[a].codes[searched], cuts[a].count
        rows = np.maximum(np.bincount(code, minlength=n), 1)
        shares = [
            (np.bincount(code, v - v.mean(), n) ** 2 / rows).sum() / v.var() for v in told
        ]
        return float(max(shares, default=0.0))

    return sorted(sorted(usable, key=lambda a: -telling(a))[:PAIRED])


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value (n,); equal values have the mean of their ranks."""
    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right")
    return np.asarray((first + last - 1) / 2.0)


class Found(NamedTuple):
    """A slice: its place, its signal, N of it, its penalty, and |N| less the penalty."""

    where: IntArray
    part: int
    number: int
    signal: int
    z: float
    penalty: float
    value: float

    @property
    def everywhere(self) -> bool:
        return bool(self.where[0] < 0)


@dataclass(frozen=True, eq=False)
class Scan:
    """Signals of the rows that are searched, and the null of the largest of all slices."""

    space: Space
    signals: Signals
    variances: Variances
    #: Null draws of the largest value, and how they were made; the slice that is largest.
    draws: FloatArray
    null: str
    best: Found
    #: How long it took.
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        space: Space,
        signals: Signals,
        rows: Dependence,
        n_boot: int,
        seed: Seed,
        engine: Engine,
    ) -> Scan:
        """Search, and draw from the null: more draws only where the p-value is small."""
        began, signals = time.perf_counter(), signals.take(space.searched)
        if rows.independent and signals.replicated is not None:
            found = _by_replicates(space, signals, signals.replicated, n_boot, engine)
            return replace(found, seconds=time.perf_counter() - began)
        known, nulls = (
            () if signals.variance is None else variances_of(space, signals),
            list[Null](),
        )
        if not rows.independent or signals.redraw is None:
            nulls.append(_by_signs(space, signals, known, rows, seed))
        drawn = signals.redraw is not None and (
            rows.independent or signals.bound is not None
        )
        if drawn and known:
            nulls.append(_by_redraw(space, signals, known, seed))
        scans = []
        for how, variances, task in nulls:
            best = best_of(
                space, compared(space, signals.values, variances, signals.skewness)
            )
            draws, begin = np.empty(0), min(BEGIN, n_boot)
            for start, stop in ((0, begin), (begin, n_boot)):
                if np.count_nonzero(draws >= best.value) < FEW and start < stop:
                    made = np.concatenate(
                        list(engine.local.map(task, range(start, stop, CHUNK)))
                    )
                    draws = np.append(draws, made[: stop - start])
            draws = settle_ties(best.value, draws, SAME)
            scans.append(cls(space, signals, variances, draws, how, best))
        found = max(scans, key=lambda scan: scan.pvalue)
        return replace(found, seconds=time.perf_counter() - began)

    @property
    def pvalue(self) -> float:
        return pvalue(self.best.value, self.draws)

    @property
    def details(self) -> dict[str, Any]:
        space = self.space
        return {
            "slices": space.count,
            "columns": len(space.axes),
            "pairs": sum(
                part.members.nnz // len(space.searched) for part in space.parts[1:]
            ),
            "rows": len(space.searched),
            "draws": len(self.draws),
            "null": self.null,
            "pvalue": self.pvalue,
            "seconds": round(self.seconds, 3),
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
        but: Sequence[Slice],
    ) -> Slice:
        """Return a slice that stands out, with its rows in the data, `but` for some."""
        conditions = self.space.conditions(one.where)
        queries = [f"({c.query})" if " or " in c.query else c.query for c in conditions]
        queries += [f"not ({other.query})" for other in but]
        said = [c.words for c in conditions] + [f"not ({other.words})" for other in but]
        words, query, share = (
            " and ".join(said),
            " and ".join(queries),
            len(rows) / self.space.n,
        )
        about = conditions, words, query, rows, share, p, 1.0 / (len(self.draws) + 1)
        return Slice(*about, findings, severity(findings[0]), direction_of(findings[0]))

    def slices(self, alpha: float, most: int) -> list[tuple[Found, float]]:
        """Return the slices that stand out, with p-values alone and given those before."""
        whole, skewness, passed = (
            self.signals.values,
            self.signals.skewness,
            self.threshold(alpha),
        )
        named, taken = list[tuple[Found, float]](), list[AnyArray]()
        every = alone = compared(self.space, whole, self.variances, skewness)
        for _ in range(2 * most):
            if (
                pvalue(best_of(self.space, every).value, self.draws) > alpha
                or len(named) == most
            ):
                break
            best = central_of(self.space, every, passed)
            # What all rows have in common after slices is of the others, and is told if
            # that is certain.
            z = (
                best.z
                if best.everywhere
                else float(alone[best.part][best.number, best.signal])
            )
            if z * best.z > 0 and abs(z) - best.penalty >= passed:
                named.append((best, pvalue(best.value, self.draws)))
            taken.append(self.space.inside(best.where, self.space.searched))
            # The signals less what is explained by a mean of their own in each slice so
            # far.
            member = np.column_stack(taken).astype(np.float64)
            means = np.linalg.lstsq(member.T @ member, member.T @ whole, rcond=1e-9)[0]
            values = np.asarray(whole - member @ means)
            # What is left may vary more than the model says, which is known to be wrong.
            seen = [
                part.sums(np.square(values[:, : part.signals])) for part in self.space.parts
            ]
            variances = tuple(map(np.maximum, self.variances, seen))
            every = compared(self.space, values, variances, skewness)
        return named


def largest_of(space: Space, signals: Signals) -> Found:
    """Return the slice with the largest |N| less its penalty, by the signals' variances."""
    variances = variances_of(space, signals)
    return best_of(space, compared(space, signals.values, variances, signals.skewness))


def _by_replicates(
    space: Space,
    signals: Signals,
    replicated: ReplicatedSignals,
    n_boot: int,
    engine: Engine,
) -> Scan:
    """Search y, and for the null whole samples in its place: rows share an error.

    Draw by draw these are the samples of the verdict, so that all are drawn.
    """

    def task(number: int) -> float:
        return largest_of(space, replicated.signals(number)).value

    best = largest_of(space, signals)
    numbers = range(min(n_boot, replicated.count))
    draws = settle_ties(best.value, np.array(list(engine.local.map(task, numbers))), SAME)
    variances = variances_of(space, signals)
    return Scan(space, signals, variances, draws, WHOLE_SAMPLES, best)


def best_of(space: Space, every: list[AnyArray]) -> Found:
    """Return the slice with the largest |N| less its penalty."""
    counted = [
        np.abs(z).max(axis=1) - part.penalty
        for z, part in zip(every, space.parts, strict=True)
    ]
    found = (_found(space, p, int(np.argmax(one)), every) for p, one in enumerate(counted))
    return max(found, key=lambda one: one.value)


def central_of(space: Space, every: list[AnyArray], passed: float) -> Found:
    """Return the slice above a bound that is expected to overlap the wrong one most.

    Chance moves the ends of the largest. If one slice is wrong, and by as much as the
    largest |N| = a says, it is S with a probability ∝ exp(a·|N(S)|), slices being as likely
    as each other beforehand, and all rows as likely as `EVERYWHERE` of them together. The
    Jaccard index says how much two overlap; another condition or bound must add to it.
    """
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
    return max(
        zip(found, belief, strict=True), key=lambda one: (one[0].value > passed, one[1])
    )[0]


def compared(
    space: Space, values: AnyArray, variances: Variances, skew: FloatArray
) -> list[AnyArray]:
    """Return N of all slices and signals, one array a part, (S, k)."""
    return [
        symmetric(part.sums(values[:, : part.signals]) / np.sqrt(variance), skew, part.rows)
        for part, variance in zip(space.parts, variances, strict=True)
    ]


def _found(space: Space, number: int, s: int, every: list[AnyArray]) -> Found:
    part, z = space.parts[number], every[number][s]
    k, penalty = int(np.argmax(np.abs(z))), float(part.penalty[s])
    return Found(
        part.where[s], number, s, k, float(z[k]), penalty, abs(float(z[k])) - penalty
    )


def symmetric(
    z: AnyArray, skewness: FloatArray, rows: IntArray, longer: bool = False
) -> AnyArray:
    """Take the skewness off sums z (S, …, k) that are divided by their own root of squares.

    Such a sum of m terms of skewness γ has about the skewness −2γ/√m, which random signs do
    not have: N + 2aN² + 4a²N³/3 + a with a = γ/(6√m), which always increases. With `longer`
    only the tail that becomes longer by that is moved: so are sums with signs, lest a
    correction too large rejects.
    """
    if not skewness.any():
        return z
    a = (skewness[: z.shape[-1]] / (6.0 * np.sqrt(rows))[:, None]).astype(z.dtype)
    a = a.reshape(len(rows), *(1,) * (z.ndim - 2), -1)
    moved = z + a + 2.0 * a * z**2 + (4.0 / 3.0) * a**2 * z**3
    return np.where(a * z > 0.0, moved, z) if longer else moved


def variances_of(space: Space, signals: Signals) -> Variances:
    """Return Σ Var over slices as the law tells it, and where it does not, Σ of squares.

    And one more of a discrete y: one rare event is no slice.
    """
    each = np.square(signals.values) if signals.variance is None else signals.variance
    sums = (part.sums(each[:, : part.signals]) for part in space.parts)
    return tuple(np.maximum(one + (signals.bound is not None), 1e-300) for one in sums)


def _by_signs(
    space: Space, signals: Signals, known: Variances, rows: Dependence, seed: Seed
) -> Null:
    """Give random signs to units: rows, random sets of rows, or dependent rows."""
    from scipy.sparse import csr_matrix  # takes long to import

    n, values, skewness = space.n, signals.values, signals.skewness
    units, how = units_of(rows, n), "signs of groups or blocks of rows"
    if units is None:
        units, how = np.arange(n), "signs of rows"
        if n > UNITS:
            units = seed.stream(Use.CHECK, UNIT_ROWS).permutation(n) % UNITS
    count, units = int(units.max()) + 1, units[space.searched]
    sums, variances, at = [], [], (np.arange(len(units)), units)
    for p, part in enumerate(space.parts):
        # The sums of each signal over the rows of a unit in a cell, (signals, cells,
        # units).
        by_unit = (
            csr_matrix((one, at), (len(units), count)) for one in values.T[: part.signals]
        )
        each = [(part.members @ one).toarray().astype(np.float32) for one in by_unit]
        sums.append(each)
        if rows.independent:
            squares = np.square(values[:, : part.signals])
            # Few rows that happen to vary little would stand out by that: at least as much
            # as all do.
            few = np.minimum(part.rows, FEW_ROWS)[:, None]
            variance = np.maximum(part.sums(squares), few * squares.mean(axis=0))
        else:
            together = [np.square(part.ranges @ one).sum(axis=1) for one in each]
            variance = np.column_stack(together).astype(np.float64)
        variances.append(np.maximum(variance, known[p] if known else 1e-300))
    scales = [(1.0 / np.sqrt(variance)).astype(np.float32) for variance in variances]

    def task(start: int) -> FloatArray:
        rng = seed.stream(Use.CHECK, UNIT_SIGNS, start)
        signs = rng.integers(0, 2, (count, CHUNK)).astype(np.float32) * 2.0 - 1.0
        cells = (np.stack([one @ signs for one in each], axis=2) for each in sums)
        parts = zip(space.parts, cells, scales, strict=True)
        return _largest(space, [_over(*one) for one in parts], skewness)

    return how, tuple(variances), task


def _by_redraw(space: Space, signals: Signals, variances: Variances, seed: Seed) -> Null:
    """Draw y anew from the law, of some rows where there are many.

    Rare events of all rows count: of some rows they would be fewer than in the data. So
    rows that are nearly certain, of a discrete law, are drawn by their exceptions, which
    are few.
    """
    assert signals.redraw is not None
    assert signals.variance is not None
    n, known = len(signals.values), signals.variance.astype(np.float32)
    rare = CertainRows.of(signals) if signals.cells is not None and n > REDRAWN else None
    others = np.arange(n) if rare is None else rare.others
    rows = others[rows_by_content(space.keys[others], REDRAWN, NULL_ROWS)]
    redraw, members, scales = signals.redraw(rows), list[Any](), []
    for part, variance in zip(space.parts, variances, strict=True):
        members.append(part.members[:, rows])
        if len(rows) < len(others):
            own = known[:, : part.signals]
            whole = part.ranges @ (part.members[:, others] @ own[others])
            sums = part.ranges @ (members[-1] @ own[rows])
            # A slice that hardly any of these rows is in has its share of the variance.
            sums = np.maximum(sums, 0.5 * (whole * (len(rows) / len(others))))
            variance = variance * np.maximum(sums, 1e-30) / np.maximum(whole, 1e-30)
        scales.append(np.asarray(1.0 / np.sqrt(variance), dtype=np.float32))
    whole_scales = [
        np.asarray(1.0 / np.sqrt(variance), dtype=np.float32) for variance in variances
    ]
    usual = [] if rare is None else [usual_cells(rare, part) for part in space.parts]

    def task(start: int) -> FloatArray:
        rng = seed.stream(Use.CHECK, DRAWN, start)
        drawn = redraw(rng, CHUNK)
        flat = (drawn[:, :, : part.signals].reshape(len(rows), -1) for part in space.parts)
        cells = (of @ some for of, some in zip(members, flat, strict=True))
        z = [_over(*one) for one in zip(space.parts, cells, scales, strict=True)]
        if rare is not None:
            draw, row, less = rare.drawn(rng, CHUNK)
            for part, total, most, scale in zip(
                space.parts, z, usual, whole_scales, strict=True
            ):
                added = exception_cells(part, draw, row, less, CHUNK)
                total += _over(part, most + added, scale)
        return _largest(space, z, signals.skewness)

    return "y drawn anew from the model", variances, task


def usual_cells(rare: CertainRows, part: Part) -> FloatArray:
    """Return sums over the cells of a part without exceptions, (cells, 1, K)."""
    return np.asarray(part.members[:, rare.rows] @ rare.usual[:, : part.signals])[:, None]


def exception_cells(
    part: Part, draw: IntArray, rows: IntArray, less: AnyArray, m: int
) -> FloatArray:
    """Return what exceptions add to these sums in each draw, (cells, m, K)."""
    from scipy.sparse import csr_matrix  # takes long to import

    count, k = part.signals, np.arange(part.signals)
    at = np.arange(len(rows)).repeat(count), (draw[:, None] * count + k).ravel()
    added = csr_matrix((less[:, :count].ravel(), at), (len(rows), m * count))
    return np.asarray((part.members[:, rows] @ added).toarray().reshape(-1, m, count))


def _over(part: Part, cells: AnyArray, scale: AnyArray) -> AnyArray:
    """Return sums over slices of those over cells in m draws, times a scale, (S, m, K)."""
    z = (part.ranges @ cells.reshape(len(cells), -1)).reshape(
        len(part.rows), -1, part.signals
    )
    z *= scale[:, None, :]
    return np.asarray(z)


def _largest(space: Space, every: list[AnyArray], skewness: FloatArray) -> FloatArray:
    """Return the largest value of all slices in each draw, (m,), from z (S, m, K)."""
    largest = []
    for part, z in zip(space.parts, every, strict=True):
        z = symmetric(z, skewness, part.rows, longer=True)
        np.abs(z, out=z)
        z -= part.penalty.astype(np.float32)[:, None, None]
        largest.append(
            z.max(axis=0).max(axis=1)
        )  # in this order: slices lie farthest apart
    return np.asarray(np.max(largest, axis=0), dtype=np.float64)
