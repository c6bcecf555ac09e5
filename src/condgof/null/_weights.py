"""Bootstrap weights that belong to global row numbers.

Rows are cut into canonical blocks of `BLOCK` rows, and each block has a random stream of its own: the
weights of a row are the same however the rows are tiled, chunked or spread over workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray
from condgof.sample import Seed, Use

BLOCK = 256
SmallInts: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights (n, m) of m bootstrap draws, made block by block.

    Parameters
    ----------
    n, m : int
        Rows and draws.
    make : callable
        Makes the weights of a canonical block, (rows of the block, m), from its number.
    factor : float
        What Σ_{i≠j} w_i w_j H_ij is multiplied by to give a draw of the statistic.
    kept : ndarray of shape (n, m), optional
        The weights themselves, where they were made once and for all.
    """

    n: int
    m: int
    make: Callable[[int], SmallInts]
    factor: float
    kept: SmallInts | FloatArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # What was kept can be made again, by a worker for the rows that it has: it is not sent.
        return type(self), (self.n, self.m, self.make, self.factor)

    def keeping(self, most: int) -> RowWeights:
        """Return the same weights, kept as doubles or as bytes if they fit into `most` bytes."""
        if self.n * self.m > most:
            return self
        whole = np.concatenate([self.make(b) for b in range(-(-self.n // BLOCK))])
        return replace(self, kept=whole.astype(np.float64) if 8 * whole.size <= most else whole)

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the weights of rows start to stop, (stop − start, m)."""
        if self.kept is not None:
            return self.kept[start:stop].astype(np.float64, copy=False)
        first, last = start // BLOCK, (stop - 1) // BLOCK
        made = np.concatenate([self.make(b) for b in range(first, last + 1)])
        offset = first * BLOCK
        return made[start - offset : stop - offset].astype(np.float64)


def _rows_of(block: int, n: int) -> int:
    return min(BLOCK, n - block * BLOCK)


def sign_weights(n: int, m: int, seed: Seed) -> RowWeights:
    """Independent signs ±1: the wild bootstrap, draw = (1/(n−1)) Σ_{i≠j} ε_i ε_j H_ij.

    Examples
    --------
    >>> w = sign_weights(5, 3, Seed.of(0)).block(0, 5)
    >>> w.shape, sorted(set(w.ravel()))
    ((5, 3), [np.float64(-1.0), np.float64(1.0)])
    """

    def make(block: int) -> SmallInts:
        rows, width = _rows_of(block, n), -(-m // 8)
        random = seed.stream(Use.BOOTSTRAP, block).bytes(rows * width)
        bits = np.frombuffer(random, dtype=np.uint8).reshape(rows, width)
        signs: SmallInts = np.unpackbits(bits, axis=1, count=m).astype(np.int8)
        signs *= 2
        signs -= 1
        return signs

    return RowWeights(n, m, make, 1.0 / (n - 1))


def multinomial_weights(n: int, m: int, seed: Seed) -> RowWeights:
    """Counts less one, w − 1 with w ~ Multinomial(n; 1/n, ...): the paper's bootstrap.

    draw = n Σ_{i≠j} w̃_i w̃_j H_ij with w̃ = (w − 1)/n. The counts are drawn in two steps, first how
    many fall into each block of rows, then where in the block, which is the same distribution.
    """
    blocks = -(-n // BLOCK)
    sizes = np.array([_rows_of(b, n) for b in range(blocks)])
    top = seed.stream(Use.BOOTSTRAP)  # the blocks' own streams have one more number in their key
    per_block = top.multinomial(n, sizes / n, size=m)

    def make(block: int) -> SmallInts:
        rows = int(sizes[block])
        stream = seed.stream(Use.BOOTSTRAP, block)
        counts = stream.multinomial(per_block[:, block], np.full(rows, 1.0 / rows))
        return (counts.T - 1).astype(np.int8)

    return RowWeights(n, m, make, 1.0 / n)
