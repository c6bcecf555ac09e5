"""Signs for rows that are not independent: one a stretch of time, or one a group.

A wild bootstrap keeps the dependence between rows where rows that depend on each other have the same
sign. Like all weights, these belong to global row numbers and do not depend on how rows are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import IntArray
from condgof.null._weights import (
    BLOCK,
    NULLS,
    RowWeights,
    SmallInts,
    bootstrap_weights,
    rows_of,
    sign_bits,
    signs_of,
)
from condgof.sample import Seed, Use

#: More groups than this share signs: whole groups together are groups too, and signs must be kept.
MAX_GROUPS = 2**18
#: Rows of a block that are looked at together when a stretch is followed back.
LOOK_BACK = 64
#: Stretches longer than this are cut on a coarser grid of rows, so that a look back is short.
LONGEST = 64


def stretch_weights(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """One sign for each of many stretches of rows, which have geometric lengths of a given mean.

    Every row starts a new stretch, with a new sign, with probability p = 1/length, in each draw anew.
    Signs of rows k apart have the correlation (1 − p)^k: the dependent wild bootstrap (Leucht and
    Neumann, 2013; Chwialkowski, Sejdinovic and Gretton, 2014) with signs for weights in place of
    normal numbers. With length 1 these are the signs of `sign_weights`.

    A stretch may reach over blocks; whoever makes a block looks back for where its first one started.

    Examples
    --------
    >>> w = stretch_weights(600, 200, Seed.of(0), 10).block(0, 600)
    >>> sorted(set(w.ravel())), bool(abs((w[5:] * w[:-5]).mean() - 0.9**5) < 0.03)
    ([np.float64(-1.0), np.float64(1.0)], True)
    """
    if length > LONGEST:
        return _coarse(n, m, seed, length)
    probability = np.float32(1.0 / length)

    def starts(block: int) -> np.random.Generator:
        return seed.stream(Use.BOOTSTRAP, block, 1)

    def last_signs(block: int) -> SmallInts:
        """Return the signs of the last row of a block, (m,)."""
        bits, stream = sign_bits(block, n, m, seed), starts(block)
        found: SmallInts = np.zeros(m, dtype=np.int8)
        for above in range(BLOCK, 0, -LOOK_BACK):
            begins = stream.random((LOOK_BACK, m), dtype=np.float32) < probability
            if above - LOOK_BACK == 0 and block == 0:
                begins[-1] = True
            missing = np.flatnonzero((found == 0) & begins.any(axis=0))
            row = above - 1 - np.argmax(begins[:, missing], axis=0)
            found[missing] = _pick(bits, row, missing)
            if found.all():
                return found
        return np.where(found == 0, last_signs(block - 1), found)

    def make(block: int) -> SmallInts:
        rows = rows_of(block, n)
        signs = signs_of(sign_bits(block, n, m, seed), m)
        if length == 1:
            return signs
        # From the last row of the block up, so that a look back needs only some of these numbers.
        begins = (starts(block).random((BLOCK, m), dtype=np.float32) < probability)[::-1][:rows]
        if block == 0:
            begins[0] = True
        first = np.where(begins, np.arange(rows, dtype=np.int16)[:, None], np.int16(-1))
        np.maximum.accumulate(first, axis=0, out=first)
        made: SmallInts = np.take_along_axis(signs, np.maximum(first, 0), axis=0)
        if block:
            inherited = first < 0
            np.copyto(made, last_signs(block - 1), where=inherited)
        return made

    return RowWeights(n, m, make, 1.0 / (n - 1))


def _coarse(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """Return signs of long stretches: `step` rows at a time are as one."""
    step = int(length) // (LONGEST // 2)
    steps = stretch_weights(-(-n // step) + 1, m, seed, length / step)

    def make(block: int) -> SmallInts:
        number = (block * BLOCK + np.arange(rows_of(block, n))) // step
        first, last = int(number[0]), int(number[-1])
        return np.asarray(steps.block(first, last + 1).astype(np.int8)[number - first])

    return RowWeights(n, m, make, 1.0 / (n - 1))


def _pick(bits: NDArray[np.uint8], rows: IntArray, draws: IntArray) -> SmallInts:
    """Return the signs of some draws, each in a row of its own."""
    shift = (7 - draws % 8).astype(np.uint8)
    return np.asarray(((bits[rows, draws // 8] >> shift) & 1).astype(np.int8) * 2 - 1)


def group_weights(codes: IntArray, m: int, seed: Seed) -> RowWeights:
    """One sign a group: the wild bootstrap of clustered rows.

    Examples
    --------
    >>> w = group_weights(np.array([0, 1, 0, 1, 1]), 3, Seed.of(0)).block(0, 5)
    >>> bool((w[0] == w[2]).all() and (w[1] == w[3]).all() and (w[1] == w[4]).all())
    True
    """
    n, count = len(codes), min(int(codes.max()) + 1, MAX_GROUPS)
    bits = np.concatenate([sign_bits(b, count, m, seed) for b in range(-(-count // BLOCK))])

    def make(block: int) -> SmallInts:
        own = codes[block * BLOCK : block * BLOCK + rows_of(block, n)] % count
        return signs_of(bits[own], m)

    return RowWeights(n, m, make, 1.0 / (n - 1))


@dataclass(frozen=True, eq=False)
class Parcels:
    """A cut of the rows into parcels that hardly depend on each other."""

    #: Number of parcels.
    count: int
    #: A parcel is this many rows, one after the other; unused where there are codes.
    length: int = 1
    #: The group of each row; groups whose numbers differ by a multiple of `count` share a parcel.
    codes: IntArray | None = None

    def of(self, start: int, stop: int) -> IntArray:
        """Return the parcels of the rows from `start` to `stop`, by global number."""
        if self.codes is not None:
            return self.codes[start:stop] % self.count
        return np.arange(start, stop) // self.length


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows depend on each other.

    Examples
    --------
    >>> Dependence().independent, Dependence(length=10).independent
    (True, False)
    """

    #: Mean length of the stretches of rows that get one sign; 1 for independent rows.
    length: int | None = None
    #: The group of each row, numbered from 0 by first appearance.
    codes: IntArray | None = None
    #: What a reader of the result should know.
    notes: tuple[str, ...] = ()

    @property
    def independent(self) -> bool:
        """Whether rows are taken as independent; so they are where each is a group of its own."""
        if self.codes is not None:
            return self.count == len(self.codes)
        return self.length in (None, 1)

    @property
    def count(self) -> int:
        """Number of groups."""
        return 0 if self.codes is None else int(self.codes.max()) + 1

    def weights(self, null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26) -> RowWeights:
        """Return the weights of a bootstrap of n rows, kept if they fit into `keep` bytes."""
        if self.independent:
            return bootstrap_weights(null, n, n_boot, seed, keep)
        if self.codes is not None:
            return group_weights(self.codes, n_boot, seed).keeping(keep)
        return stretch_weights(n, n_boot, seed, self.length or 1).keeping(keep)

    def parcels(self, n: int, most: int) -> Parcels:
        """Cut n rows into at most `most` parcels: whole groups, or stretches that are long enough."""
        if self.codes is not None:
            return Parcels(min(self.count, most), codes=self.codes)
        length = max(-(-n // most), self.length or 1)
        return Parcels(-(-n // length), length)

    def take(self, rows: IntArray) -> Dependence:
        """Return the same for some rows; those of a time series must follow each other."""
        if self.codes is None:
            return self
        _, codes = np.unique(self.codes[rows], return_inverse=True)
        return replace(self, codes=codes.ravel())

    def named(self, null: str) -> str:
        """Return what a result calls the null distribution."""
        if self.independent:
            return NULLS[null]
        return f"{NULLS[null]} by {'block' if self.codes is None else 'group'}"

    def details(self) -> dict[str, Any]:
        """Return what a result says of it."""
        if self.codes is not None:
            return {"groups": self.count}
        return {} if self.length is None else {"block_length": self.length}
