"""The rows from which size and power come: all, or some drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Engine
from condgof.kernels import CovariateKernel
from condgof.laws import Law, ModelLike
from condgof.methods._design import Design
from condgof.methods._rows import Scored, Stream
from condgof.null import Dependence
from condgof.sample import Seed, Use

if TYPE_CHECKING:
    from condgof.check._size import Size

#: At most this many rows in memory, and of a stream, which has to be read once more.
MOST_ROWS, MOST_READ = 2**15, 2**12
#: Of a discrete y with many cells fewer: at most so many numbers in the probabilities of all rows.
MOST_NUMBERS = 2**23
#: Uses of random numbers; append only.
ROWS, SIZE, PAIRS, MISFITS = 0, 5, 6, 8


@dataclass(frozen=True, eq=False)
class Bench:
    """Rows in memory with their law."""

    #: What the model says of y at these rows.
    law: Law
    #: The rows, scored.
    rows: Scored
    #: Number of rows of the whole sample.
    n: int
    #: k with the median bandwidth.
    kernel: CovariateKernel
    #: Which of the rows depend on each other.
    dependence: Dependence
    #: The source of randomness.
    seed: Seed
    #: What a reader should know of it.
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: ModelLike,
        scored: Scored | Stream,
        design: Design,
        dependence: Dependence,
        seed: Seed,
        engine: Engine,
    ) -> Bench:
        """Take the rows; `model` is their law where they are in memory."""
        n, most, notes = scored.n, _most_rows(scored), tuple[str, ...]()
        numbers = np.arange(n)
        if n > most:
            numbers, dependence, how = _some(n, most, dependence, seed.stream(Use.CHECK, ROWS))
            notes = (f"how much comes from {most:,} of the {n:,} rows, {how}; the verdict from all",)
        if isinstance(scored, Stream):
            rows, law = scored.with_model(numbers, engine)
        else:
            assert isinstance(model, Law)
            rows, law = (scored.take(numbers), model.take(numbers)) if n > most else (scored, model)
        return cls(law, rows, n, design.kernel_x, dependence, seed, notes)

    def stream(self, use: int) -> np.random.Generator:
        """Return the random numbers of one use."""
        return self.seed.stream(Use.CHECK, use)

    @cached_property
    def size(self) -> Size:
        """The size of the misfit, measured once."""
        from condgof.check._size import measure

        return measure(self)

    @property
    def counts(self) -> bool:
        """Whether y is a count."""
        return self.rows.cells is not None and self.rows.cells.blocks[0].distances

    @property
    def ranks(self) -> bool:
        """Whether several columns of y are compared by their ranks among draws."""
        return self.rows.cells is not None and self.rows.cells.blocks[0].name.startswith("ranks,")

    @property
    def ranked_only(self) -> bool:
        """Whether normal scores are all that is known of y: of draws, PITs and bins."""
        return self.ranks or (self.rows.by == "cdf" and not self.law.can("score"))


def _most_rows(scored: Scored | Stream) -> int:
    """Return how many rows are looked at: fewer, where what the model says of each is large."""
    most = MOST_READ if isinstance(scored, Stream) else MOST_ROWS
    outcomes = scored.subsample.outcomes
    if outcomes is None:
        return most
    return min(most, max(1024, MOST_NUMBERS // int(outcomes.probabilities.shape[1])))


def _some(
    n: int, most: int, dependence: Dependence, rng: np.random.Generator
) -> tuple[IntArray, Dependence, str]:
    """Take some of n rows: at random, or of a time series at even steps, so that they stay one."""
    if dependence.independent or dependence.codes is not None:
        numbers = np.sort(rng.choice(n, most, replace=False))
        return numbers, dependence.take(numbers), "drawn at random"
    numbers = np.arange(most) * n // most
    shorter = max(1, -(-(dependence.length or 1) * most // n))
    return numbers, replace(dependence, length=shorter), "at even steps"
