"""The Stein matrix H_ij = k(x_i, x_j) h_p(i, j) of a sample, never built: swept tile by tile.

Paper, Proposition 2, for a radial l(y, y') = φ(t), t = ‖y − y'‖²/σ². With d = y − y' and the scores
s, s':

    h = φ·s·s' + (2φ'/σ²)·((s' − s)·d − d_y) − (4/σ²)·t·φ''

For a Gaussian l this is φ times the product of two thin matrices, and a Gaussian k joins φ in one
exponential; that is the fast way through a tile. A sweep visits only the upper half, for the statistic
and every draw together. A task is a strip of rows; its tiles are added up in order, and strips are added
up in order, so that the result does not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine
from condgof.errors import NumericalError, check_number
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    OnColumns,
    Radial,
    direct_sqdist,
    product_is_exact,
)

RowIndex: TypeAlias = slice | IntArray
DEFAULT_MEMORY = 512 * 2**20
MAX_TILE = 256
MIN_TILE = 32


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator: symmetric and positive semi-definite."""

    #: k; its finite-location form gives the matrix of FSCD without the factor 1/d_y.
    kernel_x: CovariateKernel | FiniteLocations
    kernel_y: Radial
    #: Covariates, (n, d_x); responses, centred, and scores, both in bandwidths of y, (n, d_y).
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    #: F with k(x_i, x_j) = F_i · F_j, for finite locations; J = 0 otherwise, (n, J).
    features: FloatArray
    #: The coordinates in the exponent, in bandwidths, (n, d).
    compared: FloatArray
    #: Thin matrices; the left factors of the two products. The right factors are the same columns in
    #: another order, (n, ·).
    exponent: FloatArray
    bracket: FloatArray
    #: Squared norms of what is compared and of y; they decide whether products are exact enough, (n,).
    norms: FloatArray
    y_norms: FloatArray

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # `check_overflow` looks at what comes of them
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Prepare the rows x (n, d_x), y and scores (n, d_y) for kernels that are ready.

        Products of raw coordinates (longitudes, years) lose digits: they are taken from the median,
        which no outlier pulls away.
        """
        sigma, gaussian = kernel_y.sigma, type(kernel_y) is Gaussian
        features = np.empty((len(y), 0))
        if isinstance(kernel_x, FiniteLocations):
            features = kernel_x.features(x)
        y, scores = (y - np.median(y, axis=0)) / sigma, scores * sigma
        moved = x - (np.median(x, axis=0) if x.shape[1] else np.zeros(0))
        joined = [f for f in _factors(kernel_x) if type(f.kernel) is Gaussian]
        compared = [moved[:, f.indices()] / f.kernel.sigma for f in joined]  # type: ignore[union-attr]
        if gaussian:
            compared.append(y)
        z = np.concatenate(compared, axis=1) if compared else np.empty((len(y), 0))
        norms = (z * z).sum(axis=1)
        bracket = _gaussian_bracket(y, scores, sigma) if gaussian else _cross_terms(y, scores)
        thin = (z, _with_sums(z, -0.5 * norms), bracket, norms, (y * y).sum(axis=1))
        return cls(kernel_x, kernel_y, x, y, scores, features, *thin)

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.y)

    @property
    def _gaussian(self) -> bool:
        return type(self.kernel_y) is Gaussian

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        phi, dphi, _ = self.kernel_y.profile(np.zeros(1))
        h = phi * (self.scores * self.scores).sum(axis=1) - 2.0 * self.y.shape[1] * dphi
        h /= self.kernel_y.sigma**2
        if self.features.shape[1]:
            h *= (self.features * self.features).sum(axis=1)
        for factor in self._others():
            h *= float(factor(self.x[:1], self.x[:1])[0, 0])
        return np.asarray(h)

    def block(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        norms, y_norms = (
            (self.norms[rows], self.norms[columns]),
            (self.y_norms[rows], self.y_norms[columns]),
        )
        if not (product_is_exact(*norms) and product_is_exact(*y_norms)):
            return self._careful_block(rows, columns)
        out = self.exponent[rows] @ _swap_sums(self.exponent[columns]).T
        np.exp(out, out=out)
        left, right = self.bracket[rows], self.bracket[columns]
        if self._gaussian:
            out *= left @ _swap_sums(right).T
        else:
            t = self.y[rows] @ (-2.0 * self.y[columns].T)
            t += y_norms[0][:, None]
            t += y_norms[1]
            cross = left @ _swap_cross(right).T
            out *= self._radial_h(rows, columns, np.maximum(t, 0.0, out=t), cross)
        return self._times_the_rest_of_k(out, rows, columns)

    def _radial_h(
        self, rows: RowIndex, columns: RowIndex, t: FloatArray, cross: FloatArray
    ) -> FloatArray:
        """Put h together from t, (s' − s)·d and the profile."""
        phi, dphi, d2phi = self.kernel_y.profile(t)
        out = phi * (self.scores[rows] @ self.scores[columns].T)
        out += 2.0 * dphi * (cross - self.y.shape[1])
        out -= 4.0 * t * d2phi
        out /= self.kernel_y.sigma**2
        return out

    def _careful_block(self, rows: RowIndex, columns: RowIndex) -> FloatArray:
        """Differences in place of products, for rows far from the centre in bandwidths."""
        (y, v), (s, w) = ((both[rows], both[columns]) for both in (self.y, self.scores))
        out = np.exp(-0.5 * direct_sqdist(self.compared[rows], self.compared[columns]))
        cross, t = np.zeros(out.shape), direct_sqdist(y, v)
        for c in range(y.shape[1]):
            cross += (w[:, c] - s[:, c, None]) * (y[:, c, None] - v[:, c])
        if self._gaussian:  # φ is in the exponential already
            h = (s @ w.T - cross + y.shape[1] - t) / self.kernel_y.sigma**2
        else:
            h = self._radial_h(rows, columns, t, cross)
        out *= h
        return self._times_the_rest_of_k(out, rows, columns)

    def _times_the_rest_of_k(self, out: FloatArray, rows: RowIndex, columns: RowIndex) -> FloatArray:
        if self.features.shape[1]:
            out *= self.features[rows] @ self.features[columns].T
        for factor in self._others():
            out *= factor(self.x[rows], self.x[columns])
        return out

    def _others(self) -> list[OnColumns]:
        """Return the factors of k that do not join the exponential."""
        return [f for f in _factors(self.kernel_x) if type(f.kernel) is not Gaussian]


def _factors(kernel_x: CovariateKernel | FiniteLocations) -> tuple[OnColumns, ...]:
    return () if isinstance(kernel_x, FiniteLocations) else kernel_x.factors


def _with_sums(z: FloatArray, added: FloatArray) -> FloatArray:
    """Return [z, added, 1], whose product with [z, 1, added] is z_i·z_j + added_i + added_j."""
    return np.column_stack([z, added, np.ones(len(z))])


def _swap_sums(left: FloatArray) -> FloatArray:
    d = left.shape[1]
    return left[:, [*range(d - 2), d - 1, d - 2]]


def _gaussian_bracket(y: FloatArray, scores: FloatArray, sigma: float) -> FloatArray:
    """Thin matrix of h/φ for a Gaussian l, from y and scores in units of its bandwidth.

    s·s' − (s' − s)·d + d_y − ‖d‖² = (s − y)·(s' − y') + y·y' + c + c' with c = s·y − ‖y‖² + d_y/2.
    """
    added = (scores * y).sum(axis=1) - (y * y).sum(axis=1) + 0.5 * y.shape[1]
    # 1/σ² is shared by both sides of a product, and the column of ones must carry it too.
    return _with_sums(np.column_stack([scores - y, y]), added) / sigma


def _cross_terms(y: FloatArray, scores: FloatArray) -> FloatArray:
    """Thin matrix of (s' − s)·d = y·s' + s·y' − s·y − s'·y'."""
    return _with_sums(np.column_stack([y, scores]), -(scores * y).sum(axis=1))


def _swap_cross(left: FloatArray) -> FloatArray:
    d = (left.shape[1] - 2) // 2
    return left[:, [*range(d, 2 * d), *range(d), 2 * d + 1, 2 * d]]


class PairMatrix(Protocol):
    """A symmetric matrix over pairs of rows, given block by block."""

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""

    def block(self, rows: slice, columns: slice, /) -> FloatArray:
        """Return a block of the matrix, as a new array."""


#: Weights of m quadratic forms of rows start to stop, (stop − start, m).
Weights: TypeAlias = Callable[[int, int], FloatArray]


def tiles_of(n: int, m: int, memory: int) -> tuple[int, int]:
    """Choose tiles that fit a memory budget: how many rows they have, on at most how many threads.

    The number of threads never enters into the choice of the tiles, only the other way round, so that
    results do not depend on it.
    """
    tile = max(MIN_TILE, min(MAX_TILE, -(-n // 8)))
    while tile > MIN_TILE and _bytes(tile, m) > memory:
        tile = max(MIN_TILE, tile // 2)
    return tile, max(1, memory // _bytes(tile, m))


def _bytes(tile: int, m: int) -> int:
    """What a thread holds: about five tiles while one is made, and four blocks of weights."""
    return 8 * (5 * tile * tile + 4 * tile * max(m, 1))


def check_memory(memory: object) -> int:
    """Check the memory budget given by a user, in bytes."""
    least = _bytes(MIN_TILE, 1)
    wanted = f"at least {least} bytes"
    return int(min(check_number(memory, "memory", wanted, lambda size: size >= least), 2**60))


def check_overflow(*arrays: FloatArray) -> None:
    """Raise `NumericalError` when sums over the Stein matrix are not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise NumericalError(
            "The Stein matrix overflows: scores or data are too large for double precision. "
            "Check the scores (a density close to 0 at the data?) or rescale x and y."
        )


def sweep(
    operator: PairMatrix,
    weights: Weights,
    m: int,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
) -> tuple[float, FloatArray]:
    """Return Σ_{i≠j} H_ij and Σ_{i≠j} w_i w_j H_ij under m sets of weights, (m,), in one sweep."""
    group = max(1, (memory // 8 - 5 * MIN_TILE**2) // (4 * MIN_TILE))
    if m > group:
        how: Any = {"engine": engine, "memory": memory, "tile": tile}
        cuts = [slice(first, min(first + group, m)) for first in range(0, m, group)]
        some = [partial(_columns, weights, cut) for cut in cuts]
        parts = [sweep(operator, w, c.stop - c.start, **how) for w, c in zip(some, cuts, strict=True)]
        return parts[0][0], np.concatenate([forms for _, forms in parts])
    size, threads = tiles_of(operator.n, m, memory)
    size = tile or size

    def strip(start: int) -> tuple[float, FloatArray]:
        own = weights(start, min(start + size, operator.n))
        total, products, product = 0.0, np.zeros(own.shape), np.empty(own.shape)
        with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked at the end
            for left, block in _tiles(operator, start, range(start, operator.n, size), size):
                if left > start:
                    block *= 2.0  # stands for its mirror image too
                total += float(block.sum())
                products += np.matmul(block, weights(left, left + block.shape[1]), out=product)
            return total, np.einsum("ij,ij->j", own, products)

    total, forms = 0.0, np.zeros(m)
    for sum_of_strip, forms_of_strip in engine.map(strip, range(0, operator.n, size), most=threads):
        total += sum_of_strip
        forms += forms_of_strip
    check_overflow(np.array(total), forms)
    return total, forms


def _columns(weights: Weights, some: slice, start: int, stop: int) -> FloatArray:
    return weights(start, stop)[:, some]


def _tiles(
    operator: PairMatrix, start: int, lefts: range, size: int
) -> Iterator[tuple[int, FloatArray]]:
    """Yield tiles of rows from `start` on, with the columns that they begin at, less the diagonal."""
    n = operator.n
    for left in lefts:
        block = operator.block(slice(start, min(start + size, n)), slice(left, min(left + size, n)))
        if left == start:
            np.fill_diagonal(block, 0.0)
        yield left, block


def matmul(
    operator: PairMatrix,
    values: FloatArray,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
) -> FloatArray:
    """Multiply the off-diagonal Stein matrix with a matrix, (n, n) @ (n, m); all of it is visited."""
    (size, threads), n = tiles_of(operator.n, values.shape[1], memory), operator.n
    size = tile or size
    starts = range(0, n, size)

    def strip(start: int) -> FloatArray:
        product = np.zeros((min(start + size, n) - start, values.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # the product is checked at the end
            for left, block in _tiles(operator, start, starts, size):
                product += block @ values[left : left + size]
        return product

    out = np.concatenate(list(engine.map(strip, starts, most=threads)))
    check_overflow(out)
    return out
