"""Sums over rows whose discrete y is resampled many times.

A test function ξ of a row is a number for the cell that y falls into, less a mean that no
resample changes. So Σ_i F_i⊗ξ_i over rows i is made of the sums of F over the rows in each
cell, and ξ itself is never computed for every row, resample and test function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import ClassTable

#: Up to this many cells, sums over rows in a cell are products with indicators of the
#: cells; of more cells, nearly all entries of these would be 0.
FEW_CELLS = 16
#: Rows that are added up in single precision before the sum goes on in double precision.
ROWS_PER_SINGLE_SUM = 512


def product_over_rows(a: AnyArray, b: AnyArray) -> FloatArray:
    """Return aᵀb of many rows, (p, q), from (n, p) and (n, q).

    Of numbers in single precision, sums over some rows are added up in double precision:
    what is small is a difference of these sums.
    """
    if a.dtype == np.float64:
        return np.asarray(a.T @ b)
    total = np.zeros((a.shape[1], b.shape[1]))
    for start in range(0, len(a), ROWS_PER_SINGLE_SUM):
        rows = slice(start, start + ROWS_PER_SINGLE_SUM)
        total += a[rows].T @ b[rows]
    return total


def add_sums_by_code(out: FloatArray, features: AnyArray, codes: IntArray) -> None:
    """Add to `out` the sums of features over the rows with each code.

    Parameters
    ----------
    out : ndarray of shape (c, count, R)
        What is added to, for each of c resamples and `count` codes.
    features : ndarray of shape (b, R)
    codes : ndarray of int, shape (b, c)
        Of each row in each resample, from 0 to `count` − 1.
    """
    c, count, width = out.shape
    b = len(features)
    if count <= FEW_CELLS:
        is_code = (codes[:, :, None] == np.arange(count)).astype(features.dtype)
        sums = product_over_rows(is_code.reshape(b, c * count), features)
        out += sums.reshape(c, count, width)
        return
    from scipy.sparse import csr_array  # takes long to import

    ones = np.ones(b, dtype=features.dtype)
    row_ends = np.arange(b + 1)
    for number, own in enumerate(codes.T):
        out[number] += csr_array((ones, own, row_ends), (b, count)).T @ features


@dataclass(frozen=True, eq=False)
class ResampledCells:
    """Few cells, whose test functions are functions of the cell alone less their mean."""

    codes: IntArray  #: The cells of b rows in c resamples, (b, c).
    is_drawn: AnyArray  #: Which rows are resampled, (b,); the others have one ξ always.
    table: FloatArray  #: Of each of the K cells, before means are taken off, (K, q).
    #: What is added to it: minus the mean of the table in rows that are resampled, and ξ in
    #: all other rows, (b, q).
    fixed: FloatArray
    blocks: FloatArray  #: Which columns belong to which block, (q, blocks), as 1 and 0.

    def __getitem__(self, rows: slice) -> ResampledCells:
        """Return some of the rows."""
        return replace(
            self,
            codes=self.codes[rows],
            is_drawn=self.is_drawn[rows],
            fixed=self.fixed[rows],
        )

    def sums(self, features: AnyArray) -> AnyArray:
        """Return Σ_i F_i⊗ξ_i of each resample, (c, R, q), from features (b, R)."""
        drawn = features * self.is_drawn[:, None].astype(features.dtype)
        c = self.codes.shape[1]
        by_cell = np.zeros((c, len(self.table), features.shape[1]))
        add_sums_by_code(by_cell, drawn, self.codes)
        of_fixed = features.T.astype(np.float64) @ self.fixed
        return np.asarray(by_cell.transpose(0, 2, 1) @ self.table + of_fixed)

    def squares(self) -> FloatArray:
        """Return ‖ξ_i‖² of each resample within each block, (b, c, blocks)."""
        of_cells = [np.square(self.fixed + own) @ self.blocks for own in self.table]
        rows = np.arange(len(self.codes))[:, None]
        squares = np.stack(of_cells, axis=1)[rows, self.codes]
        of_fixed = np.square(self.fixed) @ self.blocks
        squares[~self.is_drawn] = of_fixed[~self.is_drawn, None]
        return squares


@dataclass(frozen=True, eq=False)
class ResampledClasses:
    """Classes by label, by rank and by log-probability (`condgof.laws.ClassTable`).

    Each of the three is a block of test functions.
    """

    table: ClassTable
    codes: IntArray  #: The classes of b rows in c resamples, (b, c).
    is_drawn: AnyArray  #: Which rows are resampled, (b,); the others keep their class.
    keep: AnyArray  #: Which rows count, (b,); ξ is 0 in all others.

    def __getitem__(self, rows: slice) -> ResampledClasses:
        """Return some of the rows."""
        return ResampledClasses(
            table=self.table.take(rows),
            codes=self.codes[rows],
            is_drawn=self.is_drawn[rows],
            keep=self.keep[rows],
        )

    @cached_property
    def _ranks(self) -> IntArray:
        """Ranks of the classes by probability from 0 on, (b, c); T if not among the T."""
        b, count = self.table.probabilities.shape
        most = self.table.top.shape[1]
        ranks = np.full((b, count), most, dtype=np.int8)
        places = np.broadcast_to(np.arange(most, dtype=np.int8), self.table.top.shape)
        np.put_along_axis(ranks, self.table.top, places, axis=1)
        return np.take_along_axis(ranks, self.codes, axis=1).astype(np.int64)

    @cached_property
    def _logs(self) -> FloatArray:
        """The log-probabilities of the classes, (b, c)."""
        return self.table.logs_at(np.arange(len(self.codes))[:, None], self.codes)

    def sums(self, features: AnyArray) -> AnyArray:
        """Return Σ_i F_i⊗ξ_i of each resample, (c, R, q), from features (b, R)."""
        dtype = features.dtype
        count = self.table.probabilities.shape[1]
        most = self.table.top.shape[1]
        features = features * self.keep[:, None].astype(dtype)
        # Rows that are not resampled have the same ξ in all resamples, computed without
        # differences of large sums: it may be tiny.
        fixed = -self.table.means()
        fixed[~self.is_drawn] = self.table.take(~self.is_drawn).residuals(
            self.codes[~self.is_drawn, 0]
        )
        of_fixed = fixed.T @ features.astype(np.float64)
        drawn = features[self.is_drawn]
        ranks = self._ranks[self.is_drawn]
        logs = self._logs[self.is_drawn].astype(dtype)
        c = self.codes.shape[1]
        sums = np.empty((c, *of_fixed.shape))
        sums[:] = of_fixed
        add_sums_by_code(sums[:, :count], drawn, self.codes[self.is_drawn])
        by_rank = np.zeros((c, most + 1, features.shape[1]))
        add_sums_by_code(by_rank, drawn, ranks)
        sums[:, count:-1] += np.cumsum(by_rank[:, :most], axis=1)
        sums[:, -1] += product_over_rows(logs, drawn)
        return sums.transpose(0, 2, 1)

    def squares(self) -> FloatArray:
        """Return ‖ξ_i‖² of each resample within each block, (b, c, 3)."""
        p = self.table.probabilities
        rows = np.arange(len(p))[:, None]
        p_drawn = p[rows, self.codes]
        # Σ p² over all other classes: where the class is nearly certain, the difference of
        # two numbers near 1 would be rounding.
        mode = p.argmax(axis=1)
        of_all = np.square(p)
        others = of_all.sum(axis=1)[:, None] - np.square(p_drawn)
        of_all[rows[:, 0], mode] = 0.0
        others = np.where(self.codes == mode[:, None], of_all.sum(axis=1)[:, None], others)
        labels = np.square(1.0 - p_drawn) + others
        is_among = self.table.is_among
        nothing = np.zeros((len(p), 1))
        # 1{rank < t} − P(rank < t) for t up to the rank, and above it.
        below = np.hstack([nothing, np.cumsum(np.square(is_among), axis=1)])
        above = np.hstack(
            [np.cumsum(np.square(1.0 - is_among)[:, ::-1], axis=1)[:, ::-1], nothing]
        )
        ranks = (below + above)[rows, self._ranks]
        logs = np.square(self._logs - self.table.log[:, None])
        return np.stack([labels, ranks, logs], axis=2) * self.keep[:, None, None]
