"""Rows chosen by what they hold, not by a seed or by where they stand.

What a test compares (units, bandwidths, landmarks, locations, the rows that are searched
for subgroups) is chosen at random among the rows of x. The choice is a function of the set
of rows: the same for every seed, and for every order of the rows.

There are two ways. Few rows are put into an order that their values decide
(`content_order`). What is then drawn from a fixed seed is a function of the set of rows,
and only of the order of values within each column: no increasing change of a unit moves
it. Of many rows, those with the smallest keys are taken (`rows_by_content`); a key is a
hash of the row's values (`content_keys`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray, IntArray
from condgof.sample._rng import Seed, Use

KeyArray: TypeAlias = NDArray[np.uint64]

#: The seed of everything that is chosen by content.
CONTENT_SEED = Seed(0)
#: Bits of a double that no key depends on, so that 36 bits of the mantissa are left: a
#: model that computes the same number in another order of rows may round it differently.
DROPPED_BITS = 16
#: Rows that are hashed at a time: they stay in the processor's cache.
HASHED_ROWS = 4096
#: Rows with the smallest keys that are compared, in multiples of the rows to choose.
#: Sorting all keys would take longer than everything else here.
CANDIDATES = 8
#: The increment of SplitMix64, 2⁶⁴ over the golden ratio: it keeps columns, copies of a row
#: and uses of a key apart.
INCREMENT = 0x9E3779B97F4A7C15
#: The multipliers of the finish of SplitMix64 (Steele, Lea and Flood, 2014).
FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)


def content_order(*tables: FloatArray) -> IntArray:
    """Return an order of n rows that depends on their values alone, (n,).

    Rows are sorted by the columns of the tables, one after the other, and then permuted
    with a fixed seed, so that the first k rows are any k rows. However the rows came, they
    are in the same order after it, up to rows that are equal in all columns.

    Parameters
    ----------
    tables : ndarray of shape (n, d) each
        The columns of the first table count first.

    Examples
    --------
    >>> x = np.array([[3.0], [1.0], [2.0]])
    >>> mixed = x[[2, 0, 1]]
    >>> bool((x[content_order(x)] == mixed[content_order(mixed)]).all())
    True
    """
    n = len(tables[0])
    columns = [column for table in tables for column in table.T]
    if not columns:
        columns = [np.zeros(n)]
    order = np.argsort(columns[0], kind="stable")
    first = columns[0][order]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(columns[::-1])  # the last of its keys counts first
    return np.asarray(order[CONTENT_SEED.stream(Use.CONTENT).permutation(n)])


def content_keys(values: FloatArray, columns: Sequence[int]) -> KeyArray:
    """Hash some columns of values (n, d) to 64 bits a row, (n,).

    Rows that are equal in these columns have equal keys. The columns count in their order;
    numbers are rounded to 36 bits, and −0 is 0.
    """
    keys = np.zeros(len(values), dtype=np.uint64)
    for start in range(0, len(values), HASHED_ROWS):
        some = slice(start, start + HASHED_ROWS)
        mixed = keys[some]  # a view, which is changed in place
        for column in columns:
            bits = (values[some, column] + 0.0).view(np.uint64)
            bits += np.uint64(1 << (DROPPED_BITS - 1))
            bits >>= np.uint64(DROPPED_BITS)
            mixed += np.uint64(INCREMENT)
            mixed ^= bits
            _mix(mixed)
    return keys


def rows_by_content(
    keys: KeyArray, count: int, use: int = 0, copies: KeyArray | None = None
) -> IntArray:
    """Choose `count` of n rows as if at random, by their keys (n,); all if n is no more.

    Each copy of a row has a key of its own, made of that of the row and a number: copies
    are chosen like other rows, and have about their share among those that are chosen.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        From `content_keys`.
    count : int
        How many rows are chosen.
    use : int
        What they are chosen for: each use chooses other rows.
    copies : ndarray of shape (n,), optional
        Keys that tell copies of a row apart, such as those of y where `keys` are of x:
        without, the order of the rows decides which copies are chosen. Which rows these are
        copies of does not depend on it.

    Returns
    -------
    ndarray of shape (min(n, count),)
        The numbers of the rows, in increasing order.
    """
    n = len(keys)
    if n <= count:
        return np.arange(n)
    salted = _mix(keys + np.uint64(use * INCREMENT % 2**64))
    share = min(CANDIDATES * count / n, 1.0)
    candidates = np.flatnonzero(salted <= np.uint64(share * (2.0**64 - 2.0**12)))
    if copies is None:
        copies = np.zeros_like(keys)
    own = _keys_of_copies(salted[candidates], copies[candidates])
    if own.different < count:  # many rows are copies of each other: all are candidates
        candidates = np.arange(n)
        own = _keys_of_copies(salted, copies)
    smallest = np.argpartition(own.keys, count - 1)[:count]
    return np.sort(candidates[smallest])


class _OwnKeys(NamedTuple):
    keys: KeyArray  #: A key for each copy of each row, (n,).
    different: int  #: The number of rows that differ.


def _keys_of_copies(keys: KeyArray, copies: KeyArray) -> _OwnKeys:
    """Number the copies of each row, and mix the number with the key of the row."""
    # Half of each key is enough here: should two rows agree in theirs, they may be counted
    # together, and are chosen by their content all the same.
    half = np.uint64(32)
    order = np.argsort((keys >> half << half) | (copies >> half))
    in_order = keys[order]
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(is_new)
    sizes = np.diff(np.append(starts, len(keys)))
    number = np.arange(len(keys)) - np.repeat(starts, sizes)
    mixed = np.empty_like(keys)
    mixed[order] = _mix(in_order + number.astype(np.uint64) * np.uint64(INCREMENT))
    return _OwnKeys(keys=mixed, different=len(starts))


def _mix(bits: KeyArray) -> KeyArray:
    """Mix bits (n,) in place, so that each depends on all: the finish of SplitMix64."""
    bits ^= bits >> np.uint64(30)
    bits *= FIRST_MULTIPLIER
    bits ^= bits >> np.uint64(27)
    bits *= SECOND_MULTIPLIER
    bits ^= bits >> np.uint64(31)
    return bits
