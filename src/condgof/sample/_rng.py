"""One seed in, every random number out.

A call draws its whole randomness from one integer. Each use (the split, the bandwidths, the
bootstrap...) gets a stream of its own, so that adding draws to one use never shifts
another, and a stream may be tied to a block of rows, so that draws belong to rows and not
to threads or chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from condgof.errors import InputError, InputTypeError

RngLike: TypeAlias = int | np.integer | np.random.Generator | None


class Use(IntEnum):
    """What a stream of random numbers is for.

    Append only: the numbers are part of every result.
    """

    BANDWIDTH_X = 0
    BANDWIDTH_Y = 1
    SPLIT = 2
    LOCATIONS = 3
    BOOTSTRAP = 4
    STARTS = 5
    LANDMARKS = 6
    SPECTRAL = 7
    MODEL_SAMPLE = 8
    PERMUTATION = 9
    CHECK = 10
    GROUP = 11
    REPLICATE = 20
    RANKS = 21
    ROWS = 22
    CONTENT = 23


@dataclass(frozen=True)
class Seed:
    """The one source of randomness of a call.

    Its value as ``rng=`` gives the same result.
    """

    value: int

    @classmethod
    def of(cls, rng: RngLike) -> Seed:
        """Make a seed from what a user may pass: an int, a Generator (advanced) or None."""
        if rng is None:
            return cls(int(np.random.SeedSequence().entropy))  # type: ignore[arg-type]
        if isinstance(rng, np.random.Generator):
            return cls(int(rng.integers(2**63)))
        if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
            if rng < 0:
                raise InputError(
                    f"rng must not be negative, got {rng}. Pass 0 or a larger integer."
                )
            return cls(int(rng))
        raise InputTypeError(
            "rng must be an integer, a numpy.random.Generator or None, "
            f"got {type(rng).__name__}. Pass rng=0 for a reproducible result."
        )

    def stream(self, use: Use, *key: int) -> np.random.Generator:
        sequence = np.random.SeedSequence(self.value, spawn_key=(int(use), *key))
        return np.random.Generator(np.random.PCG64(sequence))
