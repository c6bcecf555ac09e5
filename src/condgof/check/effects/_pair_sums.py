"""Sums over the cells of pairs of columns, of many samples at once: products of matrices.

Rows are put in the order of the bins of one column. Within a bin, the sums over the bins
of all columns that it is paired with are one product: their indicators, transposed, times
the values. That reads each value once for each column, not once for each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, IntArray, SingleArray


@dataclass(frozen=True, eq=False)
class PairOfCodes:
    """The bins of each row along two columns, and where their cells are."""

    first: IntArray  #: The bin along the first column, (n,).
    second: IntArray  #: That along the second, (n,).
    second_count: int  #: The number of bins of the second.
    start: int  #: The first cell: the cell of bins a, b is start + a·second_count + b.


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the cells of all pairs with one first column."""

    order: IntArray  #: The rows in the order of their bins along the first column, (n,).
    ends: IntArray  #: Where each bin ends in that order, (bins,).
    indicators: SingleArray  #: Of the bins of the other columns, in that order, (n, b).
    cells: IntArray  #: The cell of each bin of the first and of the others, (bins, b).

    @classmethod
    def from_pairs(cls, pairs: Sequence[PairOfCodes]) -> PairSums:
        """Prepare the sums of pairs that have the bins of the first column in common."""
        first = pairs[0].first
        order = np.argsort(first, kind="stable")
        sizes = np.bincount(first)
        indicators = []
        cells = []
        for pair in pairs:
            bins = np.arange(pair.second_count)
            indicators.append(pair.second[order][:, None] == bins)
            cells.append(pair.start + np.arange(len(sizes))[:, None] * len(bins) + bins)
        return cls(
            order=order,
            ends=np.cumsum(sizes),
            indicators=np.concatenate(indicators, axis=1).astype(np.float32),
            cells=np.concatenate(cells, axis=1),
        )

    def write(self, sums: AnyArray, values: AnyArray) -> None:
        """Put the sums of values (n, v) into the places of these cells in `sums`."""
        ordered = values[self.order]
        start = 0
        for end, cells in zip(self.ends, self.cells, strict=True):
            sums[cells] = self.indicators[start:end].T @ ordered[start:end]
            start = end
