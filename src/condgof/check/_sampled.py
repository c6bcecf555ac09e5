"""Rows at random, where there are too many to work on all."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.sample import Seed, Use


def some_rows(n: int, most: int, seed: Seed, use: int) -> IntArray:
    """Return the numbers 0, …, n − 1 of n rows, or `most` of them at random, in order.

    `use` is the number of the stream of random numbers, one for each use in a check.
    """
    if n <= most:
        return np.arange(n)
    return np.sort(seed.stream(Use.CHECK, use).choice(n, most, replace=False))
