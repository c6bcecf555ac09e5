"""Rows at random, where there are too many to work on all."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.sample import Seed, Use


def some_rows(n: int, most: int, seed: Seed, use: int) -> IntArray:
    """Return the numbers of n rows, or of `most` of them at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(seed.stream(Use.CHECK, use).choice(n, most, replace=False))
