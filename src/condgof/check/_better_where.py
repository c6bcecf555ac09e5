"""Where one model predicts better: slices in which two models differ otherwise.

Of two compared models, d_i is the difference of their scores at row i, less its mean over
all n rows. The search goes over all ranges of bins of a column and all rectangles of two
columns. A slice S has the standardised sum

    N(S) = Σ_{i∈S} d_i / √V(S),   V(S) = Σ_{i∈S} d_i²,

and counts |N(S)| − √(2 log(n/|S|)), so that small slices do not win by their number. The
largest of all slices is compared with that of the same differences with random signs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut, axes_of
from condgof.check._compared import SCORES, Score
from condgof.check._findings import severity
from condgof.check._record import Condition, Finding, Slice
from condgof.check._size import units_of
from condgof.check._skewness import without_skewness
from condgof.check._words import direction_of
from condgof.engine import Engine, single_threaded_blas
from condgof.methods import Measured
from condgof.null import Dependence, Difference, pvalue, settle_ties
from condgof.sample import KeyArray, Seed, Use, rows_by_content

#: Samples of fewer rows are not searched for slices. Scores have no known law, so the null
#: is by random signs, for which a slice has at least 50 rows: half of these.
FEWEST_ROWS = 100
#: Slices that a comparison names at most: they add to the verdict over all rows.
MOST_SLICES = 3
#: Draws of the null distribution of the search; the smallest p-value is 0.001.
SEARCH_DRAWS = 999
#: Standard errors that an interval of 95% reaches to either side, Φ⁻¹(0.975).
REACH_95 = 1.96
#: Quantile bins of a column by itself.
BINS = 20
#: Quantile bins of each column of a pair.
BINS_OF_PAIR = 6
#: Columns all pairs of which are searched; of more columns, the first ones.
MOST_PAIRED = 16
#: Fewest rows of a slice: random signs are for sums that are nearly normal.
FEWEST_SLICE_ROWS = 50
#: Smallest share of the rows that a slice has, for the same reason.
LEAST_SHARE = 0.05
#: Fewest rows that are not in a slice.
FEWEST_OTHER_ROWS = 10
#: Smallest share of the rows that are not in a slice: it would be all rows but a few.
LEAST_OTHER_SHARE = 0.1
#: The variance of a slice is at least that of this many average rows, or of all its rows if
#: it has fewer: a few rows that happen to vary little would stand out by that.
AVERAGE_ROWS = 100
#: Rows that are searched; of more rows, a choice by x.
MOST_ROWS = 100_000
#: Units that get random signs: single rows, or random sets of rows if there are more rows.
MOST_UNITS = 2048
#: Values as near as this are equal, as draws are made in single precision.
SAME_VALUE = 1e-5
#: Draws to begin with; a p-value that is large after these is not made more precise.
FIRST_DRAWS = 249
#: Fewer draws than this that exceed the data, of the first ones, are a small p-value.
FEW_EXCEEDING = 10
#: Draws at a time.
CHUNK = 16
#: Candidate slices whose overlaps are compared before one is reported: those further down
#: have a weight near 0.
MOST_COMPARED = 400
#: Rows on which overlaps are computed: each is known up to 0.01.
COMPARED_ROWS = 4096
#: Prior odds that the models differ everywhere alike, against all slices together.
ODDS_OF_EVERYWHERE = 0.1
#: Factor by which each further bound of a slice lowers its prior: of two slices with nearly
#: the same rows, the one with the shorter sentence is named.
FACTOR_OF_BOUND = 0.95
#: The least variance that sums are divided by.
TINY = 1e-300
# Uses of random numbers (`Seed.stream`, `rows_by_content`). Numbers from 20 on are those of
# `condgof.check`: one that was given to a use never changes.
#: Which rows are searched.
ROWS_USE = 20
#: Which rows share a random sign.
UNITS_STREAM = 23
#: The random signs.
SIGNS_STREAM = 24


class BinRange(NamedTuple):
    """Neighbouring bins of a column."""

    axis: int  #: The position of the column among those that are searched.
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Rectangles:
    """S slices that are ranges of cells: of single columns, or of pairs of columns."""

    #: Which rows are in each cell of all columns (or pairs): sparse, (cells, n) of 0 and 1.
    members: Any
    #: Which cells make up each slice: sparse, (S, cells) of 0 and 1.
    cells: Any
    rows: IntArray  #: The number of rows of each slice, (S,).
    penalty: FloatArray  #: √(2 log(n/rows)), what a slice pays for its size, (S,).
    #: Axis, first and last bin of the first column of each slice, and of the second,
    #: (S, 6). The axis is −1 where there is no such column; without both, it is all rows.
    bins: IntArray

    @classmethod
    def from_columns(
        cls,
        columns: Sequence[tuple[int, int]],
        cuts: Sequence[Cut],
        rows: IntArray,
        fewest: int,
    ) -> Rectangles | None:
        """Return all rectangles of pairs of columns that have enough rows.

        `columns` are positions among the axes; a second one of −1 is none. With single
        columns, the first slice is all rows. None where no slice has enough rows.

        Parameters
        ----------
        columns : sequence of pairs of int
            Positions of columns.
        cuts : sequence of Cut
            The bins of each axis.
        rows : ndarray of shape (n,)
            The rows that are searched.
        fewest : int
            Fewest rows of a slice.
        """
        from scipy.sparse import csc_matrix, csr_matrix, vstack  # takes long to import

        one_bin = Cut(
            codes=0 * cuts[0].codes,
            count=1,
            ranges=np.zeros((1, 2), dtype=np.int64),
            low=np.zeros(1),
            high=np.zeros(1),
        )
        sides = [(cuts[a], one_bin if b < 0 else cuts[b]) for a, b in columns]
        cell_count = sum(u.count * v.count for u, v in sides)
        codes: list[IntArray] = []
        bins: list[IntArray] = []
        inside: list[Any] = []
        start = 0  # the number of the first cell of these columns
        for (a, b), (u, v) in zip(columns, sides, strict=True):
            codes.append((u.codes * v.count + v.codes)[rows] + start)
            boxes = _boxes(a, u, b, v)
            if b < 0 and not inside:
                everything = [[-1, 0, u.count - 1, -1, 0, 0]]
                boxes = np.vstack([everything, boxes])
            bin_u, bin_v = np.divmod(np.arange(u.count * v.count), v.count)
            held = (bin_u >= boxes[:, [1]]) & (bin_u <= boxes[:, [2]])
            held &= (bin_v >= boxes[:, [4]]) & (bin_v <= boxes[:, [5]])
            box, cell = np.nonzero(held)
            shape = (len(boxes), cell_count)
            inside.append(csr_matrix((np.ones(len(box)), (box, start + cell)), shape))
            bins.append(boxes)
            start += u.count * v.count
        if not inside:
            return None
        n = len(rows)
        flat = np.column_stack(codes).ravel()
        ends = np.arange(n + 1) * len(codes)
        ones = np.ones(len(flat), dtype=np.float32)
        members = csc_matrix((ones, flat, ends), (cell_count, n))
        cells = vstack(inside, format="csr")
        sizes = np.rint(cells @ np.bincount(flat, minlength=cell_count)).astype(np.int64)
        all_bins = np.concatenate(bins)
        others = max(FEWEST_OTHER_ROWS, LEAST_OTHER_SHARE * n)
        kept = (sizes >= fewest) & (n - sizes >= others) | (all_bins[:, 0] < 0)
        if not kept.any():
            return None
        return cls(
            members=members,
            cells=cells[kept].astype(np.float32),
            rows=sizes[kept],
            penalty=np.sqrt(2.0 * np.log(n / np.maximum(sizes[kept], 1))),
            bins=all_bins[kept],
        )

    def sums(self, values: FloatArray) -> FloatArray:
        """Return Σ over each slice of values (n,), (S,)."""
        return np.asarray(self.cells @ (self.members @ values))

    def place(self, number: int) -> tuple[BinRange, ...]:
        """Return the columns of a slice with their bins; () for all rows."""
        first, second = self.bins[number].reshape(2, 3).tolist()
        return tuple(BinRange(*one) for one in (first, second) if one[0] >= 0)


def _boxes(a: int, u: Cut, b: int, v: Cut) -> IntArray:
    """Return all rectangles of two columns, as `Rectangles.bins` has them, (S, 6)."""
    first = np.repeat(u.ranges, len(v.ranges), axis=0)
    second = np.tile(v.ranges, (len(u.ranges), 1))
    axis_a = np.full(len(first), a)
    axis_b = np.full(len(first), b)
    return np.column_stack([axis_a, first, axis_b, second])


class Candidate(NamedTuple):
    """A slice, and how far its sum is from 0."""

    place: tuple[BinRange, ...]  #: () for all rows.
    family: int  #: Its position among the families of `Slices`.
    number: int  #: Its position in that family.
    z: float  #: N of it.
    penalty: float

    @property
    def value(self) -> float:
        """|N| less the penalty."""
        return abs(self.z) - self.penalty

    @property
    def is_everywhere(self) -> bool:
        return not self.place


@dataclass(frozen=True, eq=False)
class Slices:
    """All slices that are searched."""

    axes: tuple[Axis, ...]
    single_cuts: tuple[Cut, ...]  #: The bins of each column by itself.
    paired_cuts: tuple[Cut, ...]  #: Those of the columns of a pair, which are fewer.
    families: tuple[
        Rectangles, ...
    ]  #: Of single columns, and of pairs where there are any.
    searched: IntArray  #: The rows that are searched, among all n.
    n: int

    @classmethod
    def from_axes(cls, axes: tuple[Axis, ...], keys: KeyArray) -> Slices | None:
        """Return all slices of columns; None without columns, and for few rows.

        `keys` (n,) are those of x (`Sample.content_keys`): of many rows, which are searched
        is decided by x alone.
        """
        n = len(keys)
        if n < FEWEST_ROWS or not axes:
            return None
        searched = rows_by_content(keys, MOST_ROWS, ROWS_USE)
        single_cuts = tuple(axis.cut(BINS) for axis in axes)
        paired_cuts = tuple(axis.cut(BINS_OF_PAIR) for axis in axes)
        fewest = max(FEWEST_SLICE_ROWS, math.ceil(LEAST_SHARE * len(searched)))
        paired = [a for a, cut in enumerate(paired_cuts) if len(cut.ranges)]
        singles = [(a, -1) for a in range(len(axes))]
        pairs = list(itertools.combinations(paired[:MOST_PAIRED], 2))
        families = (
            Rectangles.from_columns(singles, single_cuts, searched, fewest),
            Rectangles.from_columns(pairs, paired_cuts, searched, fewest),
        )
        return cls(
            axes=axes,
            single_cuts=single_cuts,
            paired_cuts=paired_cuts,
            families=tuple(one for one in families if one is not None),
            searched=searched,
            n=n,
        )

    @property
    def count(self) -> int:
        """How many slices there are."""
        return sum(len(family.rows) for family in self.families)

    def _cuts(self, place: tuple[BinRange, ...]) -> tuple[Cut, ...]:
        return self.paired_cuts if len(place) == 2 else self.single_cuts

    def conditions(self, place: tuple[BinRange, ...]) -> tuple[Condition, ...]:
        """Return what the rows of a slice have in common."""
        cuts = self._cuts(place)
        return tuple(
            self.axes[a].condition(cuts[a], first, last) for a, first, last in place
        )

    def words(self, place: tuple[BinRange, ...]) -> str:
        """Return all conditions of a slice for readers."""
        return " and ".join(one.words for one in self.conditions(place))

    def query(self, place: tuple[BinRange, ...]) -> str:
        """Return all conditions of a slice for `DataFrame.query`."""
        queries = [one.query for one in self.conditions(place)]
        return " and ".join(f"({one})" if " or " in one else one for one in queries)

    def bounds(self, place: tuple[BinRange, ...]) -> int:
        """Count what a sentence has to say: each condition, and each bound of it."""
        cuts = self._cuts(place)
        count = len(place)
        for a, first, last in place:
            if self.axes[a].unordered:
                count += 1
            else:
                count += (first > 0) + (last < cuts[a].count - 1)
        return count

    def inside(self, place: tuple[BinRange, ...], rows: IntArray | None = None) -> AnyArray:
        """Return which of all n rows, or of some `rows` (m,), are in a slice: booleans."""
        some = np.arange(self.n) if rows is None else rows
        held: AnyArray = np.ones(len(some), dtype=bool)
        cuts = self._cuts(place)
        for a, first, last in place:
            codes = cuts[a].codes[some]
            held &= (codes >= first) & (codes <= last)
        return held

    def candidate(self, family: int, number: int, z: Sequence[FloatArray]) -> Candidate:
        """Return one slice; `z` are N of all slices, (S,) of each family."""
        return Candidate(
            place=self.families[family].place(number),
            family=family,
            number=number,
            z=float(z[family][number]),
            penalty=float(self.families[family].penalty[number]),
        )

    def largest(self, z: Sequence[FloatArray]) -> Candidate:
        """Return the slice with the largest |N| less its penalty."""
        best = []
        for f, family in enumerate(self.families):
            number = int(np.argmax(np.abs(z[f]) - family.penalty))
            best.append(self.candidate(f, number, z))
        return max(best, key=lambda one: one.value)

    def standardised(
        self, d: FloatArray, variances: Sequence[FloatArray], skewness: float
    ) -> list[FloatArray]:
        """Return N of all slices, (S,) of each family, of differences d (searched,)."""
        standardised = []
        for family, variance in zip(self.families, variances, strict=True):
            z = family.sums(d) / np.sqrt(variance)
            a = skewness / (6.0 * np.sqrt(family.rows))
            standardised.append(without_skewness(z, a, longer_tail_only=False))
        return standardised


def skewness_of(d: FloatArray) -> float:
    """Return the skewness of differences (n,) of mean 0."""
    return float((d**3).mean() / max(float((d**2).mean()), TINY) ** 1.5)


def central(slices: Slices, z: Sequence[FloatArray], threshold: float) -> Candidate:
    """Return the slice that is expected to overlap most with the one that differs.

    Chance moves the ends of the largest slice. If the models differ in one slice, and by as
    much as the largest |N| = a says, it is S with a probability ∝ exp(a·|N(S)|), slices
    being as likely as each other beforehand, and all rows as likely as `ODDS_OF_EVERYWHERE`
    of them together. The Jaccard index says how much two slices overlap; another condition
    or bound must add to it. Slices above the threshold come first.
    """
    size = np.concatenate([np.abs(one) for one in z])
    weight = np.exp(size.max() * (size - size.max()))
    is_everywhere = np.concatenate([one.bins[:, 0] < 0 for one in slices.families])
    odds = ODDS_OF_EVERYWHERE * len(weight) * weight[is_everywhere].sum()
    if odds > weight.sum():
        top = np.flatnonzero(is_everywhere)
    else:
        top = np.argsort(-size, kind="stable")[:MOST_COMPARED]
    places = [(f, number) for f, one in enumerate(z) for number in range(len(one))]
    candidates = [slices.candidate(*places[i], z) for i in top]
    rows = np.arange(slices.n)[:: max(1, slices.n // COMPARED_ROWS)]
    member = np.array(
        [slices.inside(one.place, rows) for one in candidates], dtype=np.float32
    )
    both = member @ member.T
    count = member.sum(axis=1)
    jaccard = both / np.maximum(count[:, None] + count - both, 1.0)
    belief = jaccard @ weight[top]
    belief *= [FACTOR_OF_BOUND ** slices.bounds(one.place) for one in candidates]
    above = np.array([one.value > threshold for one in candidates])
    return candidates[int(np.lexsort((-belief, ~above))[0])]


class NamedSlice(NamedTuple):
    """A slice in which the models differ otherwise, and its p-value."""

    candidate: Candidate
    pvalue: float


@dataclass(frozen=True, eq=False)
class SliceSearch:
    """Differences of two models, and the null distribution of the largest slice."""

    slices: Slices
    d: FloatArray  #: Differences of the rows that are searched, of mean 0 over all rows.
    variances: tuple[FloatArray, ...]  #: V of all slices, (S,) of each family.
    draws: FloatArray  #: Of the largest value with random signs, (m,).
    best: Candidate  #: The slice that is largest.

    @classmethod
    def from_differences(
        cls,
        slices: Slices,
        d: FloatArray,
        dependence: Dependence,
        n_boot: int,
        seed: Seed,
        engine: Engine,
    ) -> SliceSearch:
        """Search differences d (n,), of mean 0, and draw from the null.

        There are at most `n_boot` draws, and as many only where the p-value is small.
        """
        own = d[slices.searched]
        signs = RandomSigns.from_rows(slices, own, dependence, seed)
        skewness = skewness_of(own)
        best = slices.largest(slices.standardised(own, signs.variances, skewness))

        def task(start: int) -> FloatArray:
            return signs.largest_values(start, skewness)

        draws = np.empty(0)
        begin = min(FIRST_DRAWS, n_boot)
        for start, stop in ((0, begin), (begin, n_boot)):
            exceeding = np.count_nonzero(draws >= best.value)
            if exceeding < FEW_EXCEEDING and start < stop:
                made = list(engine.local.map(task, range(start, stop, CHUNK)))
                draws = np.append(draws, np.concatenate(made)[: stop - start])
        draws = settle_ties(best.value, draws, SAME_VALUE)
        return cls(slices, own, signs.variances, draws, best)

    @property
    def pvalue(self) -> float:
        """The p-value of the largest slice."""
        return pvalue(self.best.value, self.draws)

    def threshold(self, alpha: float) -> float:
        """Return what the largest value stays below with probability 1 − alpha."""
        return float(np.quantile(self.draws, 1.0 - alpha, method="higher"))

    def named(self, alpha: float, most: int) -> list[NamedSlice]:
        """Return at most `most` slices, each given those before it.

        After each, its mean and those of the slices before it are taken off, and the
        largest of what is left is compared with the same draws.
        """
        threshold = self.threshold(alpha)
        skewness = skewness_of(self.d)
        alone = self.slices.standardised(self.d, self.variances, skewness)
        left = alone
        named: list[NamedSlice] = []
        masks: list[AnyArray] = []
        for _ in range(2 * most):
            largest = pvalue(self.slices.largest(left).value, self.draws)
            if largest > alpha or len(named) == most:
                break
            best = central(self.slices, left, threshold)
            # What all rows have in common after slices is that of the other rows, and is
            # taken as it is. A slice must stand out by itself as well.
            z = best.z if best.is_everywhere else alone[best.family][best.number]
            if z * best.z > 0 and abs(z) - best.penalty >= threshold:
                named.append(NamedSlice(best, pvalue(best.value, self.draws)))
            masks.append(self.slices.inside(best.place, self.slices.searched))
            left = self._without_means(masks, skewness)
        return named

    def _without_means(
        self, masks: Sequence[AnyArray], skewness: float
    ) -> list[FloatArray]:
        """Return N of all slices without what a mean in each mask (searched,) explains."""
        member = np.column_stack(masks).astype(np.float64)
        means = np.linalg.lstsq(member.T @ member, member.T @ self.d, rcond=1e-9)[0]
        d = np.asarray(self.d - member @ means)
        squares = [family.sums(np.square(d)) for family in self.slices.families]
        # What is left may vary more than the differences did.
        variances = [
            np.maximum(*pair) for pair in zip(self.variances, squares, strict=True)
        ]
        return self.slices.standardised(d, variances, skewness)


@dataclass(frozen=True, eq=False)
class RandomSigns:
    """Gives random signs to units: rows, random sets of rows, or dependent rows."""

    slices: Slices
    #: Σ d over the rows of each unit in each cell, (cells, units) of each family.
    by_unit: tuple[AnyArray, ...]
    variances: tuple[FloatArray, ...]  #: V of all slices, (S,) of each family.
    units: int  #: Their number.
    seed: Seed

    @classmethod
    def from_rows(
        cls, slices: Slices, d: FloatArray, dependence: Dependence, seed: Seed
    ) -> RandomSigns:
        """Sum the differences d of the rows that are searched by unit."""
        from scipy.sparse import csr_matrix  # takes long to import

        units = units_of(dependence, slices.n)
        if units is None:
            units = np.arange(slices.n)
            if slices.n > MOST_UNITS:
                order = seed.stream(Use.CHECK, UNITS_STREAM).permutation(slices.n)
                units = order % MOST_UNITS
        count = int(units.max()) + 1
        searched = units[slices.searched]
        at = (np.arange(len(searched)), searched)
        of_rows = csr_matrix((d, at), (len(searched), count))
        by_unit = []
        variances = []
        for family in slices.families:
            sums = (family.members @ of_rows).toarray().astype(np.float32)
            if dependence.independent:
                average_rows = np.minimum(family.rows, AVERAGE_ROWS)
                least = average_rows * np.square(d).mean()
                variance = np.maximum(family.sums(np.square(d)), least)
            else:
                together = np.square(family.cells @ sums).sum(axis=1)
                variance = together.astype(np.float64)
            by_unit.append(sums)
            variances.append(np.maximum(variance, TINY))
        return cls(slices, tuple(by_unit), tuple(variances), count, seed)

    def largest_values(self, start: int, skewness: float) -> FloatArray:
        """Return the largest value of all slices in draws `start` to start + `CHUNK`."""
        rng = self.seed.stream(Use.CHECK, SIGNS_STREAM, start)
        signs = rng.integers(0, 2, (self.units, CHUNK)).astype(np.float32) * 2.0 - 1.0
        largest = []
        for family, sums, variance in zip(
            self.slices.families, self.by_unit, self.variances, strict=True
        ):
            z = np.asarray(family.cells @ (sums @ signs))  # (S, CHUNK)
            z *= (1.0 / np.sqrt(variance)).astype(np.float32)[:, None]
            a = (skewness / (6.0 * np.sqrt(family.rows))).astype(np.float32)[:, None]
            z = without_skewness(z, a, longer_tail_only=True)
            values = np.abs(z) - family.penalty.astype(np.float32)[:, None]
            largest.append(values.max(axis=0))
        return np.asarray(np.max(largest, axis=0), dtype=np.float64)


# From the search to records


def find_slices(
    scored: Measured,
    overall: Score,
    names: tuple[str, str],
    alpha: float,
    seed: Seed,
    engine: Engine,
) -> tuple[Slice, ...]:
    """Search for slices in which the difference is another than over all rows.

    `overall` is the score of all rows by which two models, called `names`, are compared.
    """
    sample = scored.sample
    if sample is None or not SCORES[overall.key].scores_rows:
        return ()
    if not math.isfinite(overall.difference):
        return ()
    d = scored.differences(overall.key)
    slices = Slices.from_axes(axes_of(sample.x_columns, sample.x), sample.content_keys)
    if slices is None or not (d != d[0]).any():
        return ()
    with single_threaded_blas():
        search = SliceSearch.from_differences(
            slices, d - d.mean(), scored.dependence, SEARCH_DRAWS, seed, engine
        )
        named = search.named(alpha, MOST_SLICES)
    row_numbers = np.arange(scored.n) if sample.kept is None else sample.kept
    found = []
    for candidate, p in named:
        if candidate.is_everywhere:
            continue
        inside = np.flatnonzero(slices.inside(candidate.place))
        # The interval is as wide as the search asks for, so that it is valid for slices
        # that were searched for.
        reach = max(search.threshold(alpha) + candidate.penalty, REACH_95)
        level = 1.0 - 2.0 * float(ndtr(-reach))
        difference = Difference.from_units(d[inside], scored.units[inside])
        finding = slice_finding(overall, difference, level, names, len(inside))
        if finding.telling and not _is_weaker(difference.value, overall.difference):
            found.append(
                Slice(
                    conditions=slices.conditions(candidate.place),
                    words=slices.words(candidate.place),
                    query=slices.query(candidate.place),
                    rows=row_numbers[inside],
                    share=len(inside) / slices.n,
                    pvalue=p,
                    pvalue_floor=1.0 / (len(search.draws) + 1),
                    findings=(finding,),
                    severity=severity(finding),
                    direction=direction_of(finding),
                )
            )
    return tuple(found)


def _is_weaker(value: float, overall: float) -> bool:
    """Return whether a slice has less of the difference that all rows have, so no news."""
    return value * overall >= 0 and abs(value) < abs(overall)


def slice_finding(
    overall: Score,
    difference: Difference,
    level: float,
    names: tuple[str, str],
    rows: int,
) -> Finding:
    """Return how the models compare in a slice of `rows` rows, with its sentence."""
    interval = difference.interval(level)
    score = replace(overall, difference=difference.value, interval=interval)
    better, worse = names if score.sign >= 0 else names[::-1]
    words = (
        f"{better} predicts better than {worse}, {score.words(score.sign or 1.0)},"
        f" {rows:,} rows"
    )
    return Finding(
        kind="score",
        column="",
        estimate=difference.value,
        interval=interval,
        expected=0.0,
        label=f"{better} better",
        quantity="difference",
        numbers={"words": words},
    )
