"""Candidate effects: everything, the cells of a column, or those of two columns.

A partition puts each row into one cell. Columns of numbers are cut at quantiles, categories
are cells of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut
from condgof.check.effects._pair_sums import PairOfCodes, PairSums

#: About how many rows a cell has at least: fewer hardly ever teach anything about others.
ROWS_OF_A_CELL = 30
#: Most cells of a column of numbers by itself.
MOST_CELLS = 32
#: The same column is cut into this many wide cells as well: what changes slowly is learned
#: from fewer numbers.
WIDE_CELLS = 8
#: Fewest cells that it is cut into.
FEWEST_CELLS = 3
#: Most cells of a column of numbers in a pair.
MOST_CELLS_OF_PAIR = 8
#: Pairs are cut into this many wide cells of each column as well.
WIDE_CELLS_OF_PAIR = 4
#: Most categories of a column that are cells of their own; the others are one cell.
MOST_CATEGORIES = 1000
#: Most categories of a column in a pair.
MOST_CATEGORIES_OF_PAIR = 30
#: Columns of which all pairs are candidates; of more columns, those that are most related
#: to the predictions.
MOST_PAIRED = 12
#: Samples times kinds of error from which on sums of pairs are products of matrices.
FEWEST_PRODUCTS = 16
#: Trends are straight between these quantiles of a column, and flat beyond them, so that a
#: far value has no leverage.
TREND_QUANTILES = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells of no column (one cell), of one column, or of two."""

    axes: tuple[int, ...]  #: Positions among the axes of the check.
    cuts: tuple[Cut, ...]  #: The bins of each of these.
    codes: IntArray  #: The cell of each row, (n,).
    count: int  #: The number of cells.
    #: Where each cell lies along a column of numbers, of mean 0 and variance 1 over rows,
    #: (count,); None where cells have no order.
    positions: FloatArray | None = None
    predicted: bool = False  #: Whether one of its columns is what the model predicts.
    #: The partition into narrower cells that these are made of, if there is one,
    narrower: Partition | None = None
    #: and the cell that each of them is in, (its count,).
    cell_of_narrower: IntArray | None = None


def make_partitions(axes: Sequence[Axis], paired: Sequence[int]) -> list[Partition]:
    """Return the partition into one cell, those of each axis, and those of pairs.

    `paired` are the positions of the axes whose pairs are candidates.
    """
    n = len(axes[0].values) if axes else 0
    cells = int(np.clip(n // ROWS_OF_A_CELL, FEWEST_CELLS, MOST_CELLS))
    cells_of_pair = int(np.clip(math.isqrt(n // ROWS_OF_A_CELL), 2, MOST_CELLS_OF_PAIR))
    partitions = []
    for a, axis in enumerate(axes):
        wide = axis.cut(WIDE_CELLS, most_categories=MOST_CATEGORIES)
        narrow = wide
        if not axis.unordered and cells != WIDE_CELLS:
            narrow = axis.cut(cells, within=wide if cells >= 2 * WIDE_CELLS else None)
        if narrow.count < 2:
            continue
        positions = None if axis.unordered else _positions(axis, narrow)
        single = Partition(
            (a,), (narrow,), narrow.codes, narrow.count, positions, axis.predicted
        )
        partitions.append(single)
        if not axis.unordered and narrow.count > WIDE_CELLS:
            partitions.append(_wider(single, (wide,)))
    return [*partitions, *_pairs(axes, paired, cells_of_pair)]


def _wider(narrow: Partition, cuts: tuple[Cut, ...]) -> Partition:
    """Return the cells of wider bins of the same columns.

    Where their bounds are among those of the narrow cells, as they are where these are at
    most half as wide, sums over them are sums of those over narrow cells.
    """
    code_of_narrow = np.zeros(1, dtype=np.int64)
    codes = np.zeros(len(narrow.codes), dtype=np.int64)
    is_made_of_narrow = True
    for wide, one in zip(cuts, narrow.cuts, strict=True):
        codes = codes * wide.count + wide.codes
        bins = wide.bins_of(one)
        code_of_narrow = (code_of_narrow[:, None] * wide.count + bins).ravel()
        is_made_of_narrow &= bool(np.isin(wide.low, one.low).all())
    return Partition(
        axes=narrow.axes,
        cuts=cuts,
        codes=codes,
        count=math.prod(cut.count for cut in cuts),
        predicted=narrow.predicted,
        narrower=narrow if is_made_of_narrow else None,
        cell_of_narrower=code_of_narrow if is_made_of_narrow else None,
    )


def _pairs(axes: Sequence[Axis], paired: Sequence[int], bins: int) -> Iterator[Partition]:
    """Yield the cells of all pairs of axes, whose numbers are cut into so many bins.

    After these come the same pairs in wide cells. Pairs of categories have no wide ones.
    """
    wide_bins = min(bins, WIDE_CELLS_OF_PAIR)
    wide = {}
    narrow = {}
    for a in paired:
        wide[a] = axes[a].cut(wide_bins, most_categories=MOST_CATEGORIES_OF_PAIR)
        narrow[a] = wide[a]
        if not axes[a].unordered and bins > wide_bins:
            is_half = bins >= 2 * wide_bins
            narrow[a] = axes[a].cut(bins, within=wide[a] if is_half else None)
    pairs = []
    for a, b in itertools.combinations(paired, 2):
        cuts = narrow[a], narrow[b]
        if min(cuts[0].count, cuts[1].count) < 2:
            continue
        pair = Partition(
            axes=(a, b),
            cuts=cuts,
            codes=cuts[0].codes * cuts[1].count + cuts[1].codes,
            count=cuts[0].count * cuts[1].count,
            predicted=axes[a].predicted or axes[b].predicted,
        )
        pairs.append(pair)
    yield from pairs
    if bins == wide_bins:
        return
    for pair in pairs:
        a, b = pair.axes
        if axes[a].unordered and axes[b].unordered:
            continue
        if min(wide[a].count, wide[b].count) >= 2:
            yield _wider(pair, (wide[a], wide[b]))


def everything(n: int) -> Partition:
    """Return the partition of n rows into one cell."""
    return Partition((), (), np.zeros(n, dtype=np.int64), 1)


def _positions(axis: Axis, cut: Cut) -> FloatArray:
    """Return the mean value of each bin, of mean 0 and variance 1 over rows, (count,)."""
    low, high = np.quantile(axis.values, TREND_QUANTILES)
    values = np.clip(axis.values, low, high)
    rows = np.maximum(np.bincount(cut.codes, minlength=cut.count), 1)
    means = np.bincount(cut.codes, values, cut.count) / rows
    centred = means - (rows * means).sum() / rows.sum()
    spread = math.sqrt((rows * centred**2).sum() / rows.sum())
    return np.asarray(centred / spread) if spread > 0 else np.zeros(cut.count)


def choose_paired(axes: Sequence[Axis]) -> list[int]:
    """Return the positions of the axes whose pairs are candidates, by x alone.

    Of many axes these are the predictions and those that predictions depend on most.
    """
    if len(axes) <= MOST_PAIRED:
        return list(range(len(axes)))
    predictions = [_centred_ranks(axis.values) for axis in axes if axis.predicted]

    def related(a: int) -> float:
        if axes[a].predicted:
            return math.inf
        cut = axes[a].cut(MOST_CELLS_OF_PAIR, most_categories=MOST_CATEGORIES_OF_PAIR)
        rows = np.maximum(np.bincount(cut.codes, minlength=cut.count), 1)
        explained = [
            (np.bincount(cut.codes, ranks, cut.count) ** 2 / rows).sum() / (ranks @ ranks)
            for ranks in predictions
        ]
        return float(max(explained, default=0.0))

    ordered = sorted(range(len(axes)), key=lambda a: -related(a))
    return sorted(ordered[:MOST_PAIRED])


def _centred_ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value less the mean rank, (n,); ties have their mean rank."""
    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right")
    ranks = 0.5 * (first + last)
    return np.asarray(ranks - ranks.mean())


@dataclass(frozen=True, eq=False)
class Cells:
    """All cells of all partitions, one after the other."""

    partitions: tuple[Partition, ...]
    #: The cell of each row in each partition, (n, P), in the order of columns.
    codes: AnyArray
    starts: IntArray  #: The first cell of each partition, (P,).
    owner: IntArray  #: The partition of each cell, (cells,).
    rows: FloatArray  #: The number of rows of each cell, or their weight, (cells,).
    #: Weights of the rows, whose sum over all rows is the effective number of rows, so that
    #: the noise of sums is that of as many rows, (n,); None where all are equal.
    weights: FloatArray | None = None

    @classmethod
    def from_partitions(
        cls, partitions: Sequence[Partition], weights: FloatArray | None = None
    ) -> Cells:
        codes = np.empty((len(partitions[0].codes), len(partitions)), np.int32, order="F")
        for p, one in enumerate(partitions):
            codes[:, p] = one.codes
        return cls._from_codes(tuple(partitions), codes, weights)

    @classmethod
    def _from_codes(
        cls,
        partitions: tuple[Partition, ...],
        codes: AnyArray,
        weights: FloatArray | None,
    ) -> Cells:
        counts = np.array([one.count for one in partitions])
        rows = [
            np.bincount(codes[:, p], weights, minlength=count)
            for p, count in enumerate(counts)
        ]
        return cls(
            partitions=partitions,
            codes=codes,
            starts=np.concatenate([[0], np.cumsum(counts)[:-1]]),
            owner=np.repeat(np.arange(len(counts)), counts),
            rows=np.concatenate(rows).astype(np.float64),
            weights=weights,
        )

    @property
    def all_rows(self) -> float:
        """The number of rows, or their weight: that of the cells of any partition."""
        return float(self.rows[self.of_partition(0)].sum())

    def weighted(self, values: AnyArray) -> AnyArray:
        """Multiply values (n, …) by the weights of the rows, in their precision."""
        if self.weights is None:
            return values
        shape = (-1,) + (1,) * (values.ndim - 1)
        return np.asarray(values * self.weights.reshape(shape).astype(values.dtype))

    def take(self, rows: IntArray) -> Cells:
        """Return the cells of some rows."""
        n = len(self.codes)
        if len(rows) == n and np.array_equal(rows, np.arange(n)):
            return self
        codes = np.asfortranarray(self.codes[rows])
        weights = None if self.weights is None else self.weights[rows]
        return self._from_codes(self.partitions, codes, weights)

    def only(self, numbers: Sequence[int]) -> Cells:
        """Return the cells of some partitions."""
        partitions = tuple(self.partitions[p] for p in numbers)
        codes = np.asfortranarray(self.codes[:, numbers])
        return self._from_codes(partitions, codes, self.weights)

    @property
    def members(self) -> Any:
        """Which rows are in each cell: a sparse matrix of 0 and 1, (cells, n)."""
        return self._indicator(range(len(self.partitions)), np.float64)

    def _indicator(self, numbers: Sequence[int], dtype: DTypeLike) -> Any:
        """Return which rows are in each cell of some partitions, (cells, n)."""
        from scipy.sparse import csc_array  # takes long to import

        n = len(self.codes)
        k = len(numbers)
        places = self.codes[:, numbers] + self.starts[numbers].astype(np.int32)
        ones = np.ones(places.size, dtype=dtype)
        ends = np.arange(n + 1, dtype=np.int32) * k
        return csc_array((ones, places.ravel(), ends), (len(self.owner), n))

    # Narrow cells are summed over rows, and wide ones over the narrow ones in them.

    @cached_property
    def _narrow(self) -> list[int]:
        """The positions of the partitions that are not made of narrower ones here."""
        present = set(map(id, self.partitions))
        return [
            p for p, one in enumerate(self.partitions) if id(one.narrower) not in present
        ]

    @cached_property
    def _members_of_wide(self) -> Any:
        """Which narrow cells are in each wide one: a sparse matrix, (wide cells, cells)."""
        from scipy.sparse import csr_array  # takes long to import

        position = {id(one): p for p, one in enumerate(self.partitions)}
        own = [np.empty(0, dtype=np.int64)]
        narrow = [np.empty(0, dtype=np.int64)]
        for p in self._wide:
            one = self.partitions[p]
            assert one.cell_of_narrower is not None
            own.append(self.starts[p] + one.cell_of_narrower)
            start = self.starts[position[id(one.narrower)]]
            narrow.append(start + np.arange(len(one.cell_of_narrower)))
        places = np.searchsorted(self._wide_cells, np.concatenate(own))
        ones = np.ones(len(places), dtype=np.float32)
        shape = len(self._wide_cells), len(self.owner)
        return csr_array((ones, (places, np.concatenate(narrow))), shape)

    @cached_property
    def _wide(self) -> list[int]:
        narrow = set(self._narrow)
        return [p for p in range(len(self.partitions)) if p not in narrow]

    @cached_property
    def _wide_cells(self) -> IntArray:
        return np.flatnonzero(np.isin(self.owner, self._wide))

    @cached_property
    def _members_of_narrow(self) -> Any:
        """Which rows are in each narrow cell, for sums in double precision."""
        return self._indicator(self._narrow, np.float64)

    @cached_property
    def _members_of_single(self) -> Any:
        """Which rows are in each narrow cell of a single column, in single precision."""
        single = [p for p in self._narrow if len(self.partitions[p].axes) < 2]
        return self._indicator(single, np.float32)

    @cached_property
    def _pairs(self) -> list[PairSums]:
        """The sums over narrow cells of pairs, those of the same first column together."""
        together: dict[int, list[PairOfCodes]] = {}
        for p in self._narrow:
            one = self.partitions[p]
            if len(one.axes) < 2:
                continue
            first, second = np.divmod(self.codes[:, p], one.cuts[1].count)
            pair = PairOfCodes(first, second, one.cuts[1].count, int(self.starts[p]))
            together.setdefault(id(one.cuts[0]), []).append(pair)
        return [PairSums.from_pairs(pairs) for pairs in together.values()]

    def sums(self, values: AnyArray) -> AnyArray:
        """Return the weighted sums over each cell of values (n, …), (cells, …)."""
        if len(values) and values.strides[0] == 0:  # the same in all rows
            each = values[0]
            return np.asarray(self.rows.reshape(-1, *[1] * each.ndim) * each)
        values = self.weighted(values)
        # The last axis goes first: test functions of one kind are contiguous.
        turned = np.moveaxis(values, -1, 1)
        flat = turned.reshape(len(values), -1)
        if flat.dtype == np.float32 and flat.shape[1] >= FEWEST_PRODUCTS:
            summed = np.asarray(self._members_of_single @ flat)
            for pairs in self._pairs:
                pairs.write(summed, flat)
        else:
            summed = np.asarray(self._members_of_narrow @ flat)
        if self._wide:
            summed[self._wide_cells] = self._members_of_wide @ summed
        return np.moveaxis(summed.reshape(-1, *turned.shape[1:]), 1, -1)

    def within(self, number: int, values: AnyArray) -> AnyArray:
        """Return the weighted sums of values (n, m) over one partition, (count, m)."""
        count = self.partitions[number].count
        values = self.weighted(values)
        if values.shape[1] == 1:
            return np.bincount(self.codes[:, number], values[:, 0], count)[:, None]
        own = self.only([number])
        return np.asarray(own._indicator([0], values.dtype) @ values, dtype=np.float64)

    def of_partition(self, number: int) -> slice:
        """Return where the cells of a partition are."""
        start = int(self.starts[number])
        return slice(start, start + self.partitions[number].count)

    def over_partitions(self, values: AnyArray) -> AnyArray:
        """Return the sums over the cells of each partition of values (cells, …), (P, …)."""
        return np.add.reduceat(values, self.starts, axis=0)
