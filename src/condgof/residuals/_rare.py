"""Rare events of a discrete y: rows whose most probable cell is nearly certain.

What happens once in a thousand rows must not happen to the same few rows in all draws, nor
be missed because only some rows are drawn. So rows that are nearly certain are drawn by
their *exceptions*, of all rows and in every draw, which costs little: there are few.

Exceptions are points of a Poisson process in rows and draws. A row whose most probable cell
has probability 1 − r has the hazard −log(1 − r) in each draw; where it has one point or
more, which has probability r, it is another cell than the most probable one.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.sample import Seed, Use

#: Rows that share a random stream, so that it does not matter how rows are cut into pieces.
STREAM_ROWS = 4096
#: The use of random numbers for exceptions in `Use.MODEL_SAMPLE`.
EXCEPTIONS_STREAM = 7


class Exceptions(NamedTuple):
    """Where rows are not drawn as their most probable cell."""

    draws: IntArray  #: The number of the draw, (e,), sorted.
    rows: IntArray  #: The number of the row, (e,).
    uniforms: FloatArray  #: A uniform number each, (e,), which chooses the other cell.

    def take(self, some: slice) -> Exceptions:
        """Return some of them."""
        return Exceptions(self.draws[some], self.rows[some], self.uniforms[some])


class ResampledValues(Protocol):
    """ξ of b rows whose y is resampled c times, of which sums alone are computed."""

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the rows."""

    def sums(self, features: AnyArray) -> AnyArray:
        """Return Σ_i F_i⊗ξ_i of each resample, (c, R, q), from features (b, R)."""

    def squares(self) -> AnyArray:
        """Return ‖ξ_i‖² of each resample within each block, (b, c, blocks)."""


class RareEventResampler(Protocol):
    """Draws a discrete y of n rows again, those that are nearly certain by exceptions."""

    @property
    def numbers_each(self) -> int:
        """How many numbers `resampled` holds for each resample."""

    def resampled(
        self, uniforms: FloatArray, certain: float = 0.0
    ) -> ResampledValues | AnyArray:
        """Return ξ of y drawn by uniform numbers (n, c): (n, c, q), or what sums it.

        Rows whose exceptions have at most the probability `certain` are their mode.
        """

    def has_certain_rows(self, certain: float) -> bool:
        """Whether exceptions of any row have at most this probability, but can happen."""

    def exceptions(
        self, start: int, certain: float, draws: range, seed: Seed
    ) -> Exceptions:
        """Return where rows that are nearly certain are not drawn as their mode."""

    def exceptional(self, exceptions: Exceptions) -> AnyArray:
        """Return ξ of exceptions, (e, q)."""

    def usual(self, rows: IntArray) -> AnyArray:
        """Return ξ of the mode at rows (e,), (e, q)."""


def hazards(rare: FloatArray) -> FloatArray:
    """Return −log(1 − r) of the probabilities r of an exception, (n,)."""
    return np.asarray(-np.log1p(-rare))


def draw_exceptions_in_blocks(
    rare: FloatArray, largest: float, start: int, draws: range, seed: Seed
) -> Exceptions:
    """Draw exceptions of rows with probabilities `rare` (n,), which are at most `largest`.

    Points come in canonical blocks of `STREAM_ROWS` rows at the largest hazard and are
    thinned, so that they do not depend on how rows, from global number `start` on, are cut.
    """
    hazard = hazards(rare)
    densest = -np.log1p(-largest)
    n = len(hazard)
    m = len(draws)
    found = []
    for block in range(start // STREAM_ROWS, (start + n - 1) // STREAM_ROWS + 1):
        rng = seed.stream(Use.MODEL_SAMPLE, EXCEPTIONS_STREAM, draws.start, block)
        count = int(rng.poisson(STREAM_ROWS * m * densest))
        row = block * STREAM_ROWS - start + rng.integers(STREAM_ROWS, size=count)
        draw = rng.integers(m, size=count)
        thin, uniform = rng.random((2, count))
        inside = (row >= 0) & (row < n)
        inside[inside] = thin[inside] * densest < hazard[row[inside]]
        found.append(Exceptions(draw[inside], row[inside], uniform[inside]))
    draw = np.concatenate([part.draws for part in found])
    row = np.concatenate([part.rows for part in found])
    uniform = np.concatenate([part.uniforms for part in found])
    _, first = np.unique(draw * n + row, return_index=True)
    return Exceptions(draws=draw[first], rows=row[first], uniforms=uniform[first])


def draw_exceptions(
    cumulative_hazard: FloatArray, rng: np.random.Generator, m: int
) -> Exceptions:
    """Draw exceptions of n rows in m draws, from the running sum of their hazards (n,)."""
    n = len(cumulative_hazard)
    total = cumulative_hazard[-1]
    count = rng.poisson(m * total)
    row = np.searchsorted(cumulative_hazard, rng.random(count) * total, side="right")
    pairs = np.unique(rng.integers(m, size=count) * n + row)
    draw, row = np.divmod(pairs, n)
    return Exceptions(draws=draw, rows=row, uniforms=rng.random(len(row)))


def first_cells(ends: FloatArray, rows: IntArray, numbers: FloatArray) -> IntArray:
    """Return the first cell of a row whose end is above a number; the last if none is.

    A binary search for all numbers at once, among the increasing ends (n, K) of cells in
    the rows that `rows` says; rows and numbers are broadcast.
    """
    count = ends.shape[1]
    flat = ends.ravel()
    starts = count * rows
    passed = np.zeros(numbers.shape, dtype=np.int64)
    step = 1 << (count - 1).bit_length()
    while step:
        # All cells before `passed` have ends up to the number.
        next_passed = np.minimum(passed + step, count)
        is_passed = flat.take(starts + next_passed - 1) <= numbers
        passed = np.where(is_passed, next_passed, passed)
        step //= 2
    return np.asarray(np.minimum(passed, count - 1))


def other_cells(p: AnyArray, mode: IntArray, uniform: FloatArray) -> IntArray:
    """Return the cells (n,) that uniform numbers choose among all but the mode.

    By probabilities p (n, K) of the cells of each row.
    """
    sums = sums_of_others(p, mode)
    return first_cells(sums, np.arange(len(p)), uniform * sums[:, -1])


def sums_of_others(p: AnyArray, mode: IntArray) -> FloatArray:
    """Return the running sums of the probabilities (n, K) of all cells but the mode."""
    others = np.where(np.arange(p.shape[1]) == mode[:, None], 0.0, p)
    return np.asarray(np.cumsum(others, axis=1))
