"""Bootstrap weights, by the names that users give them, and the p-value of their draws.

Canonical blocks of `BLOCK` rows have a random stream each: it does not matter how rows are
tiled, chunked or spread over workers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, by_asker, check_count, option
from condgof.result import draws_needed
from condgof.sample import LIMITS, Seed, Use

BLOCK = 256
SmallInts: TypeAlias = NDArray[np.int8]
#: Names of the nulls that users may ask for, and what results call them.
NULLS = {
    "auto": "wild bootstrap",
    "model": "model",
    "wild": "wild bootstrap",
    "multinomial": "multinomial bootstrap",
    "spectral": "spectral",
}
#: What results call the limit that stands for resampling many rows.
LIMIT = "Gaussian limit"
#: More bootstrap draws than this are refused.
MOST_DRAWS = LIMITS.draws.most


def pvalue(statistic: float, draws: FloatArray) -> float:
    """(1 + number of draws ≥ statistic) / (number of draws + 1); never 0."""
    return (1 + int(np.count_nonzero(draws >= statistic))) / (len(draws) + 1)


def settle_ties(statistic: float, draws: FloatArray, within: float) -> FloatArray:
    """Make draws that equal the statistic up to rounding (some signs do) equal to it."""
    return np.where(np.abs(draws - statistic) <= within, statistic, draws)


def normal_pvalue(statistic: float) -> float:
    """P(Z ≥ statistic) for a standard normal Z; never 0."""
    return max(float(ndtr(-statistic)), float(np.finfo(np.float64).tiny))


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights (n, m) of m bootstrap draws, made block by block."""

    n: int
    m: int
    #: From the number of a canonical block to its weights, (rows of the block, m).
    make: Callable[[int], SmallInts | FloatArray]
    #: What Σ_{i≠j} w_i w_j H_ij is multiplied by to give a draw of the statistic.
    factor: float
    #: The weights, as they are made, where that was done once and for all, (n, m).
    kept: SmallInts | FloatArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # What was kept can be made again, by a worker for the rows that it has: it is not
        # sent.
        return type(self), (self.n, self.m, self.make, self.factor)

    def keeping(self, most: int) -> RowWeights:
        """Return the same weights, kept if they fit into `most` bytes."""
        first = self.make(0)
        if self.n * self.m * first.itemsize > most:
            return self
        others = (self.make(block) for block in range(1, -(-self.n // BLOCK)))
        return replace(self, kept=np.concatenate([first, *others]))

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the weights of rows start to stop, (stop − start, m)."""
        if self.kept is not None:
            return self.kept[start:stop].astype(np.float64, copy=False)
        first = start // BLOCK
        made = np.concatenate([self.make(b) for b in range(first, (stop - 1) // BLOCK + 1)])
        return made[start - first * BLOCK : stop - first * BLOCK].astype(
            np.float64, copy=False
        )


def rows_of(block: int, n: int) -> int:
    return min(BLOCK, n - block * BLOCK)


def sign_bits(block: int, n: int, m: int, seed: Seed) -> NDArray[np.uint8]:
    """Draw the signs of a block of rows, as packed bits (rows of the block, ⌈m/8⌉)."""
    rows, width = rows_of(block, n), -(-m // 8)
    random = seed.stream(Use.BOOTSTRAP, block).bytes(rows * width)
    return np.frombuffer(random, dtype=np.uint8).reshape(rows, width)


def signs_of(bits: NDArray[np.uint8], m: int) -> SmallInts:
    return 2 * np.unpackbits(bits, axis=1, count=m).astype(np.int8) - 1


def sign_weights(n: int, m: int, seed: Seed) -> RowWeights:
    """Independent signs ±1: the wild bootstrap, draw = (1/(n−1)) Σ_{i≠j} ε_i ε_j H_ij."""
    return RowWeights(
        n, m, lambda block: signs_of(sign_bits(block, n, m, seed), m), 1.0 / (n - 1)
    )


def normal_weights(n: int, m: int, seed: Seed) -> RowWeights:
    """Independent N(0, 1) in place of signs: draws of the limit Σ λ_j (χ²_j − 1)."""

    def make(block: int) -> FloatArray:
        return seed.stream(Use.BOOTSTRAP, block, 2).standard_normal((rows_of(block, n), m))

    return RowWeights(n, m, make, 1.0 / (n - 1))


def multinomial_weights(n: int, m: int, seed: Seed) -> RowWeights:
    """Counts less one, w − 1 with w ~ Multinomial(n; 1/n, ...): the paper's bootstrap.

    They are drawn in two steps, how many fall into each block of rows, and where in the
    block.
    """
    sizes = np.array([rows_of(b, n) for b in range(-(-n // BLOCK))])
    # From a stream without a block's number, which those of the blocks have.
    per_block = seed.stream(Use.BOOTSTRAP).multinomial(n, sizes / n, size=m)

    def make(block: int) -> SmallInts:
        even = np.full(sizes[block], 1.0 / int(sizes[block]))
        counts = seed.stream(Use.BOOTSTRAP, block).multinomial(per_block[:, block], even)
        return (counts.T - 1).astype(np.int8)

    return RowWeights(n, m, make, 1.0 / n)


def permutation_weights(n: int, first: int, m: int, seed: Seed) -> RowWeights:
    """Label `first` of n rows 1, others −1, and permute m times: m + 1 columns."""
    sizes = [rows_of(b, n) for b in range(-(-n // BLOCK))]
    stream = seed.stream(Use.PERMUTATION)
    per_block = stream.multivariate_hypergeometric(sizes, first, size=m, method="marginals")

    def make(block: int) -> SmallInts:
        place = np.arange(sizes[block])
        labels = np.where(place < per_block[:, block, None], 1, -1).astype(np.int8)
        as_they_are = np.where(place + block * BLOCK < first, 1, -1).astype(np.int8)
        permuted = seed.stream(Use.PERMUTATION, block).permuted(labels, axis=1)
        return np.column_stack([as_they_are, permuted.T])

    return RowWeights(n, m + 1, make, 1.0)


def check_n_boot(n_boot: object) -> int:
    return check_count(
        n_boot, "n_boot", MOST_DRAWS, f" {LIMITS.draws.advice}", InputTypeError
    )


def default_draws(test: object) -> int:
    """Return how many draws a test makes unless told otherwise.

    It is the default of the parameter `n_boot`. A test that has none, or has the normal
    limit as its null, gives p-values of any size: so many draws that none is too small.
    """
    unlimited = sys.maxsize
    try:
        parameters = inspect.signature(test).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):  # an address, or a callable without a signature
        return unlimited
    if "null" in parameters and parameters["null"].default == "normal":
        return unlimited
    draws = parameters["n_boot"].default if "n_boot" in parameters else None
    return draws if isinstance(draws, int) else unlimited


def check_resolution(alpha: float, n_boot: int) -> None:
    """Refuse a level that no p-value of n_boot draws can reach: the test cannot reject.

    The smallest p-value is 1/(n_boot + 1), so 1/alpha − 1 draws are needed.
    """
    if 1.0 / (n_boot + 1) <= alpha:
        return
    needed = draws_needed(alpha)
    advice = by_asker(
        python=f"Pass n_boot={needed} or more, or a larger alpha.",
        command_line="Pass a larger --alpha.",
    )
    if needed > MOST_DRAWS:
        advice = by_asker(
            python=f"Pass a larger alpha; n_boot may be at most {MOST_DRAWS:,}.",
            command_line="Pass a larger --alpha.",
        )
    draws = by_asker(python=f"n_boot={n_boot}", command_line=f"{n_boot} draws")
    raise InputError(
        f"{option('alpha', f'{alpha:g}')} cannot be reached with {draws}: the"
        f" smallest p-value of {n_boot} draws is {1.0 / (n_boot + 1):.2g}, so the test"
        f" would never reject. {advice}"
    )


def bootstrap_weights(
    null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26
) -> RowWeights:
    """Return the weights of a bootstrap by its name, kept if they fit into `keep` bytes."""
    makers = {"multinomial": multinomial_weights, "spectral": normal_weights}
    return makers.get(null, sign_weights)(n, n_boot, seed).keeping(keep)
