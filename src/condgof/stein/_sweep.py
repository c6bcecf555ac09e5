"""One sweep over the tiles of a Stein matrix: the statistic and every draw together.

Only the upper half is visited. A task is a strip of rows; its tiles are added up in order, and strips
are added up in order, so that the result does not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.errors import InputError, NumericalError

DEFAULT_MEMORY = 512 * 2**20
MAX_TILE = 256
MIN_TILE = 32


class PairMatrix(Protocol):
    """A symmetric matrix over pairs of rows, given block by block."""

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""

    def block(self, rows: slice, columns: slice, /) -> FloatArray:
        """Return a block of the matrix, as a new array."""


class Weights(Protocol):
    """Weights of m quadratic forms, row by row."""

    @property
    def m(self) -> int:
        """Number of quadratic forms."""

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the weights of rows start to stop, (stop − start, m)."""


@dataclass(frozen=True, eq=False)
class ArrayWeights:
    """Weights held as an array (n, m)."""

    values: FloatArray

    @property
    def m(self) -> int:
        """Number of quadratic forms."""
        return int(self.values.shape[1])

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the weights of rows start to stop."""
        return self.values[start:stop]


@dataclass(frozen=True)
class Plan:
    """How to cut a sweep: tiles of `tile` rows on at most `threads` threads."""

    tile: int
    threads: int


def plan(n: int, m: int, memory: int) -> Plan:
    """Choose tiles that fit a memory budget, by a fixed rule in n, m and the budget.

    The number of threads never enters into the choice of the tiles, only the other way round, so that
    results do not depend on it.

    Examples
    --------
    >>> plan(n=5000, m=500, memory=512 * 2**20)
    Plan(tile=256, threads=79)
    """
    tile = max(MIN_TILE, min(MAX_TILE, -(-n // 8)))
    while tile > MIN_TILE and _bytes(tile, m) > memory:
        tile = max(MIN_TILE, tile // 2)
    return Plan(tile, max(1, memory // _bytes(tile, m)))


def _bytes(tile: int, m: int) -> int:
    """What a thread holds: about five tiles while one is made, and four blocks of weights."""
    return 8 * (5 * tile * tile + 4 * tile * max(m, 1))


def check_memory(memory: object) -> int:
    """Check the memory budget given by a user, in bytes."""
    least = _bytes(MIN_TILE, 1)
    if isinstance(memory, bool) or not isinstance(memory, (int, float, np.integer)):
        raise InputError(f"memory must be a number of bytes, got {memory!r}.")
    if not memory >= least:
        raise InputError(f"memory must be at least {least} bytes, got {memory!r}.")
    return int(min(memory, 2**60))


@dataclass(frozen=True, eq=False)
class MatrixSums:
    """What a sweep gives."""

    #: Σ_{i≠j} H_ij.
    total: float
    #: Σ_{i≠j} w_i w_j H_ij for each column w of the weights, (m,).
    forms: FloatArray


def sweep(
    operator: PairMatrix,
    weights: Weights,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
) -> MatrixSums:
    """Sum an off-diagonal Stein (or other) matrix, plainly and under m sets of weights, in one sweep."""
    group = max(1, (memory // 8 - 5 * MIN_TILE**2) // (4 * MIN_TILE))
    if weights.m > group:
        several = (_Columns(weights, a, min(a + group, weights.m)) for a in range(0, weights.m, group))
        parts = [sweep(operator, some, engine=engine, memory=memory, tile=tile) for some in several]
        return MatrixSums(parts[0].total, np.concatenate([part.forms for part in parts]))
    cut = plan(operator.n, weights.m, memory)
    size = tile or cut.tile
    strip = _strip(operator, weights, size)
    total, forms = 0.0, np.zeros(weights.m)
    starts = range(0, operator.n, size)
    for part in engine.map(strip, starts, most=cut.threads):
        total += part.total
        forms += part.forms
    check_overflow(np.array(total), forms)
    return MatrixSums(total, forms)


def check_overflow(*arrays: FloatArray) -> None:
    """Raise `NumericalError` when sums over the Stein matrix are not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise NumericalError(
            "The Stein matrix overflows: scores or data are too large for double precision. "
            "Check the scores (a density close to 0 at the data?) or rescale x and y."
        )


def _strip(operator: PairMatrix, weights: Weights, size: int) -> Callable[[int], MatrixSums]:
    """Return the task that sums the tiles right of the diagonal in a strip of rows."""
    n = operator.n

    def task(start: int) -> MatrixSums:
        stop = min(start + size, n)
        own = weights.block(start, stop)
        total, products, product = 0.0, np.zeros(own.shape), np.empty(own.shape)
        with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked at the end
            for left in range(start, n, size):
                right = min(left + size, n)
                block = operator.block(slice(start, stop), slice(left, right))
                if left == start:
                    np.fill_diagonal(block, 0.0)
                else:
                    block *= 2.0  # stands for its mirror image too
                total += float(block.sum())
                products += np.matmul(block, weights.block(left, right), out=product)
            return MatrixSums(total, np.einsum("ij,ij->j", own, products))

    return task


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some columns of other weights."""

    weights: Weights
    first: int
    last: int

    @property
    def m(self) -> int:
        return self.last - self.first

    def block(self, start: int, stop: int) -> FloatArray:
        return self.weights.block(start, stop)[:, self.first : self.last]


def matmul(
    operator: PairMatrix,
    values: FloatArray,
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
) -> FloatArray:
    """Multiply the off-diagonal Stein matrix with a matrix, (n, n) @ (n, m).

    The whole matrix is visited, since every row of the product is wanted.
    """
    cut = plan(operator.n, values.shape[1], memory)
    size = tile or cut.tile
    n = operator.n

    def task(start: int) -> FloatArray:
        stop = min(start + size, n)
        product = np.zeros((stop - start, values.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # the product is checked at the end
            for left in range(0, n, size):
                right = min(left + size, n)
                block = operator.block(slice(start, stop), slice(left, right))
                if left == start:
                    np.fill_diagonal(block, 0.0)
                product += block @ values[left:right]
        return product

    out = np.empty(values.shape)
    starts = range(0, n, size)
    for start, product in zip(starts, engine.map(task, starts, most=cut.threads), strict=True):
        out[start : start + size] = product
    check_overflow(out)
    return out
