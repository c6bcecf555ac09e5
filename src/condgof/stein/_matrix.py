"""The Stein matrix H_ij = k(x_i, x_j) h_p(i, j) of a sample, computed tile by tile.

Paper, Proposition 2, for l(y, y') = φ(t), t = ‖y − y'‖²/σ², with d = y − y' and the Stein
scores s, s' (φ' and φ'' are derivatives by t; any other prime is the other row):

    h = φ·s·s' + (2φ'/σ²)·((s' − s)·d − d_y) − (4/σ²)·t·φ''

`SteinOperator` holds y/σ and σ·s in place of y and s: h is then divided by σ² once.

The matrix is never stored. For a Gaussian l, h is φ times the product of two thin matrices,
and a Gaussian k joins φ in one exponential. A sweep visits only the upper half of the
matrix, once for the statistic and every draw together. Tiles are added up in order, so that
the number of threads does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine
from condgof.errors import check_overflow
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Gram,
    OnColumns,
    Radial,
    direct_sqdist,
    product_is_exact,
)

RowIndex: TypeAlias = slice | IntArray
#: Bytes that a sweep may use unless the user says otherwise.
DEFAULT_MEMORY = 512 * 2**20
#: Most rows of a tile; 256 × 256 doubles are 512 KiB.
MAX_TILE = 256
#: Fewest rows of a tile, whatever the memory.
MIN_TILE = 32
#: A small matrix is cut into at least this many strips of tiles, so that several threads
#: have work.
FEWEST_STRIPS = 8
#: Rows that are added up in single precision before the sum goes on in double precision.
#: Draws then move by at most 7e-7 null standard deviations; with 256 rows it is 1.06e-6
#: (docs/dev/numerics.md).
ROWS_PER_SINGLE_SUM = 128


class Factors(NamedTuple):
    """Thin matrices whose product left @ right.T is a function of pairs of rows."""

    left: FloatArray  #: (n, q).
    right: FloatArray  #: (n, q).

    @classmethod
    def from_terms(
        cls, left: FloatArray, right: FloatArray, row_term: FloatArray
    ) -> Factors:
        """Return factors, (n, q + 2), of left_i·right_j + row_term_i + row_term_j.

        From `left` and `right` (n, q) and `row_term` (n,). The last two columns hold the
        row terms and ones.
        """
        ones = np.ones(len(row_term))
        # In Fortran order: the order of the operands in memory decides how BLAS rounds.
        right = np.asfortranarray(np.column_stack([right, ones, row_term]))
        return cls(left=np.column_stack([left, row_term, ones]), right=right)

    def block(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Return some rows and columns of the product."""
        return self.left[rows] @ self.right[columns].T


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample: symmetric, positive semi-definite, by blocks."""

    kernel_y: Radial
    #: Covariates, (n, d_x).
    x: FloatArray
    #: Responses less their median, in bandwidths of the kernel on y, (n, d_y).
    y: FloatArray
    #: Stein scores with respect to `y` in these units, σ·s, (n, d_y).
    scores: FloatArray
    #: F with k(x_i, x_j) = F_i · F_j for finite locations, (n, J); J = 0 for other kernels.
    features: FloatArray
    #: The factors of k that are not Gaussian, and so do not join the exponential.
    other_factors: tuple[OnColumns, ...]
    #: −½‖z_i − z_j‖², with z the coordinates of all Gaussian factors in bandwidths.
    exponent: Factors
    #: The part of h that is a sum of products: all of h/φ for a Gaussian kernel on y, and
    #: (s' − s)·d for other kernels.
    bracket: Factors
    #: ‖z‖² of each row, (n,): decides whether `exponent` is exact enough.
    z_norms: FloatArray
    #: ‖y‖² of each row, (n,): the same for `bracket`.
    y_norms: FloatArray
    #: Weights w of rows, (n,): entries are then w_i w_j H_ij. None where all are 1.
    weights: FloatArray | None = None

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # `check_overflow` looks at the sums
    def from_rows(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Return the operator of rows x (n, d_x), with y and Stein scores s (n, d_y).

        The bandwidths of both kernels must be known.
        """
        sigma = kernel_y.sigma
        features = np.empty((len(y), 0))
        gaussian_x = np.empty((len(y), 0))
        other_factors: tuple[OnColumns, ...] = ()
        if isinstance(kernel_x, FiniteLocations):
            features = kernel_x.features(x)
        else:
            gaussian_x, other_factors = kernel_x.joined(x)
        y = (y - np.median(y, axis=0)) / sigma
        scores = scores * sigma
        y_norms = (y * y).sum(axis=1)
        score_dot_y = (scores * y).sum(axis=1)  # s·y of each row, (n,)
        if type(kernel_y) is Gaussian:
            z = np.concatenate([gaussian_x, y], axis=1)
            # s·s' − (s' − s)·d + d_y − ‖d‖² = (s − y)·(s' − y') + y·y' + c + c' with
            # c = s·y − ‖y‖² + d_y/2.
            thin = np.column_stack([scores - y, y])
            c = score_dot_y - y_norms + 0.5 * y.shape[1]
            terms = Factors.from_terms(thin, thin, c)
            # h is divided by σ². Each factor takes 1/σ, its column of ones included.
            bracket = Factors(terms.left / sigma, terms.right / sigma)
        else:
            z = gaussian_x
            # (s' − s)·d = y·s' + s·y' − s·y − s'·y'.
            bracket = Factors.from_terms(
                np.column_stack([y, scores]), np.column_stack([scores, y]), -score_dot_y
            )
        z_norms = (z * z).sum(axis=1)
        return cls(
            kernel_y=kernel_y,
            x=x,
            y=y,
            scores=scores,
            features=features,
            other_factors=other_factors,
            exponent=Factors.from_terms(z, z, -0.5 * z_norms),
            bracket=bracket,
            z_norms=z_norms,
            y_norms=y_norms,
        )

    @property
    def n(self) -> int:
        return len(self.y)

    def diag(self) -> FloatArray:
        """Return H_ii, (n,)."""
        phi, dphi, _ = self.kernel_y.profile(np.zeros(1))
        h = phi * (self.scores * self.scores).sum(axis=1) - 2.0 * self.y.shape[1] * dphi
        h /= self.kernel_y.sigma**2
        if self.features.shape[1]:
            h *= (self.features * self.features).sum(axis=1)
        for factor in self.other_factors:
            h *= float(factor(self.x[:1], self.x[:1])[0, 0])
        if self.weights is not None:
            h *= np.square(self.weights)
        return np.asarray(h)

    def block(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Return some rows and columns of H, (rows, columns).

        Distances and scores are computed as products of the factors, unless rows lie so
        many bandwidths from the centre that products lose digits: then from differences.
        """
        by_products = product_is_exact(
            self.z_norms[rows], self.z_norms[columns]
        ) and product_is_exact(self.y_norms[rows], self.y_norms[columns])
        out = self._exponential(rows, columns, by_products)
        if type(self.kernel_y) is Gaussian:  # φ is in the exponential already
            out *= self._gaussian_bracket(rows, columns, by_products)
        else:
            out *= self._radial_h(rows, columns, by_products)
        if self.features.shape[1]:
            out *= self.features[rows] @ self.features[columns].T
        for factor in self.other_factors:
            out *= factor(self.x[rows], self.x[columns])
        if self.weights is not None:
            out *= self.weights[rows, None]
            out *= self.weights[columns]
        return out

    def _exponential(
        self, rows: RowIndex, columns: RowIndex, by_products: bool
    ) -> FloatArray:
        """Return the product of all Gaussian factors, (rows, columns).

        These are the Gaussian factors of k, and φ where the kernel on y is Gaussian.
        """
        if by_products:
            out = self.exponent.block(rows, columns)
            np.exp(out, out=out)
            return out
        z = self.exponent.left[:, :-2]  # less the two columns of `Factors.from_terms`
        return np.asarray(np.exp(-0.5 * direct_sqdist(z[rows], z[columns])))

    def _gaussian_bracket(
        self, rows: RowIndex, columns: RowIndex, by_products: bool
    ) -> FloatArray:
        """Return h/φ = (s·s' − (s' − s)·d + d_y − ‖d‖²)/σ² of a Gaussian kernel on y."""
        if by_products:
            return self.bracket.block(rows, columns)
        score_products = self.scores[rows] @ self.scores[columns].T
        cross = self._direct_cross(rows, columns)
        t = direct_sqdist(self.y[rows], self.y[columns])
        h_over_phi = score_products - cross + self.y.shape[1] - t
        return np.asarray(h_over_phi / self.kernel_y.sigma**2)

    def _radial_h(self, rows: RowIndex, columns: RowIndex, by_products: bool) -> FloatArray:
        """Return h of a kernel on y that is not Gaussian, (rows, columns)."""
        if by_products:
            cross = self.bracket.block(rows, columns)  # (s' − s)·d
            t = self.y[rows] @ (-2.0 * self.y[columns].T)
            t += self.y_norms[rows][:, None]
            t += self.y_norms[columns]
            np.maximum(t, 0.0, out=t)
        else:
            cross = self._direct_cross(rows, columns)
            t = direct_sqdist(self.y[rows], self.y[columns])
        phi, dphi, d2phi = self.kernel_y.profile(t)
        h = phi * (self.scores[rows] @ self.scores[columns].T)
        h += 2.0 * dphi * (cross - self.y.shape[1])
        h -= 4.0 * t * d2phi
        h /= self.kernel_y.sigma**2
        return h

    def _direct_cross(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Return (s' − s)·d from the differences of each column of y."""
        y = self.y[rows]
        scores = self.scores[rows]
        other_y = self.y[columns]
        other_scores = self.scores[columns]
        cross = np.zeros((len(y), len(other_y)))
        for c in range(y.shape[1]):
            change_of_score = other_scores[:, c] - scores[:, c, None]
            cross += change_of_score * (y[:, c, None] - other_y[:, c])
        return cross


#: A symmetric matrix over pairs of rows that is computed by blocks.
PairMatrix: TypeAlias = SteinOperator | Gram
#: From start and stop to the weights of these rows in m quadratic forms, (stop − start, m).
Weights: TypeAlias = Callable[[int, int], FloatArray]


class Tiling(NamedTuple):
    """How a matrix is cut into square tiles so that a memory budget holds."""

    rows: int  #: Rows of a tile, and columns.
    threads: int  #: Most threads that may each hold a tile.


def tiles_of(n: int, m: int, memory: int) -> Tiling:
    """Choose the tiles of an (n, n) matrix, for m quadratic forms, in `memory` bytes."""
    rows = max(MIN_TILE, min(MAX_TILE, -(-n // FEWEST_STRIPS)))
    while rows > MIN_TILE and _bytes_of_thread(rows, m) > memory:
        rows = max(MIN_TILE, rows // 2)
    return Tiling(rows, max(1, memory // _bytes_of_thread(rows, m)))


def _bytes_of_thread(tile: int, m: int) -> int:
    """Return the bytes that a thread needs for tiles of `tile` rows and m sets of weights.

    A tile is computed through four more arrays of its size. Four arrays (tile, m) are held
    beside it: the weights of rows and of columns, one product, and the sum of products.
    """
    double = 8
    return double * (5 * tile * tile + 4 * tile * max(m, 1))


#: Bytes that the smallest tile needs: with less memory no sweep is possible.
LEAST_MEMORY = _bytes_of_thread(MIN_TILE, 1)


class SweepSums(NamedTuple):
    """Sums over all pairs i ≠ j of a symmetric matrix H."""

    total: float  #: Σ H_ij.
    forms: FloatArray  #: Σ w_i w_j H_ij under each of m sets of weights, (m,).


def sweep(
    operator: PairMatrix,
    weights: Weights,
    m: int,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
    single: bool = False,
) -> SweepSums:
    """Sum H_ij and w_i w_j H_ij over i ≠ j, under m sets of weights, in one sweep.

    Parameters
    ----------
    operator : PairMatrix
        H, (n, n).
    weights : callable
        (start, stop) → w of these rows, (stop − start, m).
    memory : int
        Bytes that all threads together may use.
    tile : int, optional
        Rows of a tile, in place of those that follow from n, m and `memory`.
    single : bool
        Whether products of a tile with weights are computed in single precision; they are
        added up in double precision.
    """
    n = operator.n
    tiling = tiles_of(n, m, memory)
    size = tile or tiling.rows
    dtype = np.float32 if single else np.float64
    step = ROWS_PER_SINGLE_SUM if single else size

    def sum_strip(start: int) -> SweepSums:
        """Sum the tiles of a strip of rows, from the diagonal to the right."""
        row_weights = weights(start, min(start + size, n))
        total = 0.0
        products = np.zeros(row_weights.shape)
        product = np.empty(row_weights.shape, dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked at the end
            for first_column, block in _tiles(operator, start, range(start, n, size), size):
                if first_column > start:
                    block *= 2.0  # stands for its mirror image too
                total += float(block.sum())
                column_weights = weights(first_column, first_column + block.shape[1])
                column_weights = column_weights.astype(dtype, copy=False)
                block = block.astype(dtype, copy=False)
                for first in range(0, len(column_weights), step):
                    columns = slice(first, first + step)
                    products += np.matmul(
                        block[:, columns], column_weights[columns], out=product
                    )
            return SweepSums(total, np.einsum("ij,ij->j", row_weights, products))

    total = 0.0
    forms = np.zeros(m)
    for strip in engine.map(sum_strip, range(0, n, size), most=tiling.threads):
        total += strip.total
        forms += strip.forms
    check_overflow(np.array(total), forms)
    return SweepSums(total, forms)


class _Tile(NamedTuple):
    """Some columns of a strip of rows."""

    first_column: int
    block: FloatArray  #: Its entries, (rows, columns), with 0 on the matrix's diagonal.


def _tiles(
    operator: PairMatrix, start: int, first_columns: range, size: int
) -> Iterator[_Tile]:
    """Yield tiles of the strip of `size` rows from `start` on, at each first column."""
    n = operator.n
    rows = slice(start, min(start + size, n))
    for first_column in first_columns:
        columns = slice(first_column, min(first_column + size, n))
        block = operator.block(rows, columns)
        if first_column == start:
            np.fill_diagonal(block, 0.0)
        yield _Tile(first_column=first_column, block=block)


def matmul(
    operator: PairMatrix,
    values: FloatArray,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """Multiply the matrix less its diagonal with `values`: (n, n) @ (n, m).

    Unlike `sweep`, this computes both halves of the symmetric matrix.
    """
    n = operator.n
    tiling = tiles_of(n, values.shape[1], memory)
    starts = range(0, n, tiling.rows)

    def multiply_strip(start: int) -> FloatArray:
        product = np.zeros((min(start + tiling.rows, n) - start, values.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # the product is checked below
            for first_column, block in _tiles(operator, start, starts, tiling.rows):
                product += block @ values[first_column : first_column + tiling.rows]
        return product

    strips = engine.map(multiply_strip, starts, most=tiling.threads)
    out = np.concatenate(list(strips))
    check_overflow(out)
    return out
