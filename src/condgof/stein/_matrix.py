"""The Stein matrix H_ij = k(x_i, x_j) h_p(i, j) of a sample, never built: swept tile by tile.

Paper, Proposition 2, for l(y, y') = φ(t), t = ‖y − y'‖²/σ², with d = y − y' and the scores
s, s':

    h = φ·s·s' + (2φ'/σ²)·((s' − s)·d − d_y) − (4/σ²)·t·φ''

For a Gaussian l this is φ times the product of two thin matrices, and a Gaussian k joins φ
in one exponential. A sweep visits only the upper half, for the statistic and every draw
together; tiles and strips of them are added up in order, so that the number of threads does
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

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
)
from condgof.kernels._kernel import direct_sqdist, product_is_exact

RowIndex: TypeAlias = slice | IntArray
#: Thin matrices (n, ·) whose products are sums over pairs of rows.
Sides: TypeAlias = tuple[FloatArray, FloatArray]
DEFAULT_MEMORY = 512 * 2**20
MAX_TILE, MIN_TILE = 256, 32
#: In single precision so many rows are added up at a time, and these in double.
SHORT = 128


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator: symmetric and positive semi-definite."""

    kernel_y: Radial
    #: Covariates, (n, d_x); responses, centred, and scores, both in bandwidths of y, (n,
    #: d_y).
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    #: F with k(x_i, x_j) = F_i · F_j, for finite locations; J = 0 otherwise, (n, J).
    features: FloatArray
    others: tuple[OnColumns, ...]  #: The factors of k that do not join the exponential.
    #: What is exponentiated; and h/φ of a Gaussian l, or (s' − s)·d of others.
    exponent: Sides
    bracket: Sides
    #: Squared norms of what is compared and of y; they decide whether products are exact
    #: enough, (n,).
    norms: FloatArray
    y_norms: FloatArray

    @classmethod
    @np.errstate(
        over="ignore", invalid="ignore"
    )  # `check_overflow` looks at what comes of them
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Prepare rows x (n, d_x), y and scores (n, d_y), moved near 0, for kernels that are ready."""
        sigma, gaussian = kernel_y.sigma, type(kernel_y) is Gaussian
        features = compared = np.empty((len(y), 0))
        others: tuple[OnColumns, ...] = ()
        if isinstance(kernel_x, FiniteLocations):
            features = kernel_x.features(x)
        else:
            compared, others = kernel_x.joined(x)
        y, scores = (y - np.median(y, axis=0)) / sigma, scores * sigma
        z = np.concatenate([compared, y], axis=1) if gaussian else compared
        norms, y_norms, cross = (
            (z * z).sum(axis=1),
            (y * y).sum(axis=1),
            (scores * y).sum(axis=1),
        )
        if gaussian:
            # s·s' − (s' − s)·d + d_y − ‖d‖² = (s − y)·(s' − y') + y·y' + c + c' with c =
            # s·y − ‖y‖² + d_y/2. Both sides share 1/σ², which the column of ones must carry
            # too.
            thin, added = (
                np.column_stack([scores - y, y]),
                cross - y_norms + 0.5 * y.shape[1],
            )
            left, right = _sides(thin, thin, added)
            bracket = left / sigma, right / sigma
        else:  # y·s' + s·y' − s·y − s'·y'
            bracket = _sides(
                np.column_stack([y, scores]), np.column_stack([scores, y]), -cross
            )
        pairs = _sides(z, z, -0.5 * norms), bracket, norms, y_norms
        return cls(kernel_y, x, y, scores, features, others, *pairs)

    @property
    def n(self) -> int:
        return len(self.y)

    def diag(self) -> FloatArray:
        phi, dphi, _ = self.kernel_y.profile(np.zeros(1))
        h = phi * (self.scores * self.scores).sum(axis=1) - 2.0 * self.y.shape[1] * dphi
        h /= self.kernel_y.sigma**2
        if self.features.shape[1]:
            h *= (self.features * self.features).sum(axis=1)
        for factor in self.others:
            h *= float(factor(self.x[:1], self.x[:1])[0, 0])
        return np.asarray(h)

    def block(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Return a block; of rows many bandwidths from the centre, by differences, not by products."""
        (y, v), (s, w), squares, norms = (
            (both[rows], both[columns])
            for both in (self.y, self.scores, self.y_norms, self.norms)
        )
        d_y, sigma, gaussian = (
            y.shape[1],
            self.kernel_y.sigma,
            type(self.kernel_y) is Gaussian,
        )
        near = product_is_exact(*norms) and product_is_exact(*squares)
        (left, right), t = self.exponent, None
        if near:
            out = left[rows] @ right[columns].T
            np.exp(out, out=out)
            bracket = self.bracket[0][rows] @ self.bracket[1][columns].T
        else:
            out = np.exp(-0.5 * direct_sqdist(left[rows][:, :-2], left[columns][:, :-2]))
            bracket, t = np.zeros(out.shape), direct_sqdist(y, v)
            for c in range(d_y):
                bracket += (w[:, c] - s[:, c, None]) * (y[:, c, None] - v[:, c])
            if gaussian:  # φ is in the exponential already
                bracket = (s @ w.T - bracket + d_y - t) / sigma**2
        if gaussian:
            out *= bracket
        else:
            if t is None:
                t = y @ (-2.0 * v.T)
                t += squares[0][:, None]
                t += squares[1]
                np.maximum(t, 0.0, out=t)
            phi, dphi, d2phi = self.kernel_y.profile(t)
            h = phi * (s @ w.T)
            h += 2.0 * dphi * (bracket - d_y)
            h -= 4.0 * t * d2phi
            h /= sigma**2
            out *= h
        if self.features.shape[1]:
            out *= self.features[rows] @ self.features[columns].T
        for factor in self.others:
            out *= factor(self.x[rows], self.x[columns])
        return out


def _sides(left: FloatArray, right: FloatArray, added: FloatArray) -> Sides:
    """Return thin matrices whose product is left_i·right_j + added_i + added_j."""
    ones = np.ones(len(added))
    # The right side by columns: BLAS rounds by how its operands lie in memory.
    return np.column_stack([left, added, ones]), np.asfortranarray(
        np.column_stack([right, ones, added])
    )


#: A symmetric matrix over pairs of rows, given block by block.
PairMatrix: TypeAlias = SteinOperator | Gram
#: Weights of m quadratic forms of rows start to stop, (stop − start, m).
Weights: TypeAlias = Callable[[int, int], FloatArray]


def tiles_of(n: int, m: int, memory: int) -> tuple[int, int]:
    """Choose tiles that fit a memory budget: how many rows they have, on at most how many threads."""
    tile = max(MIN_TILE, min(MAX_TILE, -(-n // 8)))
    while tile > MIN_TILE and _bytes(tile, m) > memory:
        tile = max(MIN_TILE, tile // 2)
    return tile, max(1, memory // _bytes(tile, m))


def _bytes(tile: int, m: int) -> int:
    """What a thread holds: about five tiles while one is made, and four blocks of weights."""
    return 8 * (5 * tile * tile + 4 * tile * max(m, 1))


#: Bytes without which nothing can be swept.
LEAST_MEMORY = _bytes(MIN_TILE, 1)


def sweep(
    operator: PairMatrix,
    weights: Weights,
    m: int,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
    single: bool = False,
) -> tuple[float, FloatArray]:
    """Return Σ_{i≠j} H_ij and Σ_{i≠j} w_i w_j H_ij under m sets of weights, (m,), in one sweep.

    With `single`, products of a tile with weights are made in single precision and added up
    in double.
    """
    n, (size, threads) = operator.n, tiles_of(operator.n, m, memory)
    size, kind = tile or size, np.float32 if single else np.float64
    short = SHORT if single else size

    def strip(start: int) -> tuple[float, FloatArray]:
        own = weights(start, min(start + size, n))
        total, products, product = 0.0, np.zeros(own.shape), np.empty(own.shape, kind)
        with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked at the end
            for left, block in _tiles(operator, start, range(start, n, size), size):
                if left > start:
                    block *= 2.0  # stands for its mirror image too
                total += float(block.sum())
                others = weights(left, left + block.shape[1])
                block, others = (
                    block.astype(kind, copy=False),
                    others.astype(kind, copy=False),
                )
                for i in range(0, len(others), short):
                    products += np.matmul(
                        block[:, i : i + short], others[i : i + short], out=product
                    )
            return total, np.einsum("ij,ij->j", own, products)

    total, forms = 0.0, np.zeros(m)
    for sum_of_strip, forms_of_strip in engine.map(strip, range(0, n, size), most=threads):
        total += sum_of_strip
        forms += forms_of_strip
    check_overflow(np.array(total), forms)
    return total, forms


def _tiles(
    operator: PairMatrix, start: int, lefts: range, size: int
) -> Iterator[tuple[int, FloatArray]]:
    """Yield tiles of rows from `start` on, with the columns that they begin at, less the diagonal."""
    n = operator.n
    for left in lefts:
        block = operator.block(
            slice(start, min(start + size, n)), slice(left, min(left + size, n))
        )
        if left == start:
            np.fill_diagonal(block, 0.0)
        yield left, block


def matmul(
    operator: PairMatrix,
    values: FloatArray,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """Multiply the off-diagonal Stein matrix with a matrix, (n, n) @ (n, m); all of it is visited."""
    (size, threads), n = tiles_of(operator.n, values.shape[1], memory), operator.n
    starts = range(0, n, size)

    def strip(start: int) -> FloatArray:
        product = np.zeros((min(start + size, n) - start, values.shape[1]))
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # the product is checked at the end
            for left, block in _tiles(operator, start, starts, size):
                product += block @ values[left : left + size]
        return product

    out = np.concatenate(list(engine.map(strip, starts, most=threads)))
    check_overflow(out)
    return out
