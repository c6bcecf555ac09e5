"""Candidate effects: everything, the cells of a column, or those of two columns.

A partition puts each row into one cell. Columns of numbers are cut at quantiles, categories
are cells of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, Cut

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


def make_partitions(axes: Sequence[Axis], paired: Sequence[int]) -> list[Partition]:
    """Return the partition into one cell, those of each axis, and those of pairs.

    `paired` are the positions of the axes whose pairs are candidates.
    """
    n = len(axes[0].values) if axes else 0
    cells = int(np.clip(n // ROWS_OF_A_CELL, FEWEST_CELLS, MOST_CELLS))
    cells_of_pair = int(np.clip(math.isqrt(n // ROWS_OF_A_CELL), 2, MOST_CELLS_OF_PAIR))
    partitions = []
    for a, axis in enumerate(axes):
        cut = axis.cut(cells, most_categories=MOST_CATEGORIES)
        if cut.count < 2:
            continue
        positions = None if axis.unordered else _positions(axis, cut)
        partitions.append(
            Partition((a,), (cut,), cut.codes, cut.count, positions, axis.predicted)
        )
        if not axis.unordered and cut.count > WIDE_CELLS:
            wide = axis.cut(WIDE_CELLS)
            partitions.append(
                Partition((a,), (wide,), wide.codes, wide.count, None, axis.predicted)
            )
    for bins in sorted({cells_of_pair, min(cells_of_pair, WIDE_CELLS_OF_PAIR)}):
        partitions += _pairs(axes, paired, bins, narrowest=bins == cells_of_pair)
    return partitions


def _pairs(
    axes: Sequence[Axis], paired: Sequence[int], bins: int, *, narrowest: bool
) -> Iterator[Partition]:
    """Yield the cells of all pairs of axes, whose numbers are cut into so many bins.

    Pairs of categories are the same with any number of bins, and are of the `narrowest`.
    """
    cuts = {a: axes[a].cut(bins, most_categories=MOST_CATEGORIES_OF_PAIR) for a in paired}
    for a, b in itertools.combinations(paired, 2):
        cut_a = cuts[a]
        cut_b = cuts[b]
        both_categories = axes[a].unordered and axes[b].unordered
        if min(cut_a.count, cut_b.count) < 2 or (both_categories and not narrowest):
            continue
        yield Partition(
            axes=(a, b),
            cuts=(cut_a, cut_b),
            codes=cut_a.codes * cut_b.count + cut_b.codes,
            count=cut_a.count * cut_b.count,
            predicted=axes[a].predicted or axes[b].predicted,
        )


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
    codes: IntArray  #: The cell of each row in each partition, (n, P).
    members: Any  #: Which rows are in each cell: a sparse matrix of 0 and 1, (cells, n).
    starts: IntArray  #: The first cell of each partition, (P,).
    owner: IntArray  #: The partition of each cell, (cells,).
    rows: FloatArray  #: The number of rows of each cell, (cells,).

    @classmethod
    def from_partitions(cls, partitions: Sequence[Partition]) -> Cells:
        counts = np.array([one.count for one in partitions])
        return cls._from_codes(
            partitions=tuple(partitions),
            codes=np.column_stack([one.codes for one in partitions]),
            starts=np.concatenate([[0], np.cumsum(counts)[:-1]]),
            owner=np.repeat(np.arange(len(counts)), counts),
        )

    @classmethod
    def _from_codes(
        cls,
        partitions: tuple[Partition, ...],
        codes: IntArray,
        starts: IntArray,
        owner: IntArray,
    ) -> Cells:
        places = codes + starts
        return cls(
            partitions=partitions,
            codes=codes,
            members=_indicator(places, len(owner)),
            starts=starts,
            owner=owner,
            rows=np.bincount(places.ravel(), minlength=len(owner)).astype(np.float64),
        )

    def take(self, rows: IntArray) -> Cells:
        """Return the cells of some rows."""
        return self._from_codes(self.partitions, self.codes[rows], self.starts, self.owner)

    def within(self, number: int, values: AnyArray) -> AnyArray:
        """Return the sums over the cells of one partition of values (n, m), (count, m)."""
        one = _indicator(self.codes[:, [number]], self.partitions[number].count)
        return np.asarray(one @ values, dtype=np.float64)

    def sums(self, values: AnyArray) -> AnyArray:
        """Return the sums over each cell of values (n, …), (cells, …)."""
        flat = values.reshape(len(values), -1)
        summed = self.members @ flat
        return np.asarray(summed).reshape(-1, *values.shape[1:])

    def of_partition(self, number: int) -> slice:
        """Return where the cells of a partition are."""
        start = int(self.starts[number])
        return slice(start, start + self.partitions[number].count)

    def over_partitions(self, values: AnyArray) -> AnyArray:
        """Return the sums over the cells of each partition of values (cells, …), (P, …)."""
        return np.add.reduceat(values, self.starts, axis=0)


def _indicator(places: IntArray, count: int) -> Any:
    """Return which rows are in each of `count` cells: a sparse matrix, (count, n).

    `places` (n, k) are the k cells that each row is in.
    """
    from scipy.sparse import csc_array  # takes long to import

    n, k = places.shape
    ones = np.ones(places.size, dtype=np.float32)
    return csc_array((ones, places.ravel(), np.arange(n + 1) * k), (count, n))
