"""The rows that a check looks at closely: some choose where to look, the others test what is there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Engine
from condgof.errors import InputError
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns, median_distance
from condgof.laws import Law, ModelLike
from condgof.methods._dependence import split_dependent
from condgof.methods._design import LOCAL_X, Design, narrowed
from condgof.methods._rows import Scored, Stream
from condgof.null import Dependence
from condgof.sample import Sample, Seed, Use

#: At most this many rows are looked at closely, half of them to choose and half to test.
MOST_ROWS = 4096
#: Of a discrete y with many cells fewer: at most so many numbers in the probabilities of all rows.
MOST_NUMBERS = 2**23
#: A location needs this many effective rows near it, among those that choose and those that test.
LEAST_NEAR = 15
#: Rows from which the median distance in some of the columns comes.
MEDIAN_ROWS = 128
#: Uses of random numbers in a check; append only.
ROWS, SPLIT, POINTS, SIGNS, SAMPLES, EFFECT, PAIRS, COUNTS, MISFITS = range(9)
#: Fewer groups than this cannot be split into some that choose places and some that test them.
LEAST_GROUPS = 4


@dataclass(frozen=True, eq=False)
class Bench:
    """Rows in memory with their law, cut in two."""

    #: What the model says of y at these rows.
    law: Law
    #: The rows, scored.
    rows: Scored
    #: Number of rows of the whole sample.
    n: int
    #: k with the median bandwidth.
    wide: CovariateKernel
    #: k at single locations: half the median, and no similarity between levels.
    near: CovariateKernel
    #: What the verdict compared, with the unit of bandwidths on y.
    design: Design
    #: Numbers of the rows that choose locations and of those that test them; empty where rows come in so
    #: few groups that they cannot be split.
    choosing: IntArray
    testing: IntArray
    #: Which of the rows depend on each other.
    dependence: Dependence
    #: The source of randomness.
    seed: Seed
    #: Where sums are computed.
    engine: Engine
    #: What a reader should know of it.
    notes: tuple[str, ...]

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
        """Take the rows to look at, all or some at random, and split them.

        `model` is the law of the rows where they are in memory.
        """
        n, numbers = scored.n, np.arange(scored.n)
        notes: tuple[str, ...] = ()
        most = _most_rows(scored.subsample)
        if n > most:
            numbers, dependence, how = _some(n, most, dependence, seed.stream(Use.CHECK, ROWS))
            notes = (
                f"where, how and how much come from {most:,} of the {n:,} rows, {how}; the verdict from "
                "all",
            )
        if isinstance(scored, Stream):
            rows, law = scored.with_model(numbers, engine)
        else:
            assert isinstance(model, Law)
            rows, law = (scored.take(numbers), model.take(numbers)) if n > most else (scored, model)
        near, said = local_kernel(design.kernel_x, rows.sample)
        choosing, testing = _halves(rows.n, dependence, seed.stream(Use.CHECK, SPLIT))
        return cls(
            law=law,
            rows=rows,
            n=n,
            wide=design.kernel_x,
            near=near,
            design=design,
            choosing=choosing,
            testing=testing,
            dependence=dependence,
            seed=seed,
            engine=engine.local,
            notes=notes + said,
        )

    def stream(self, use: int) -> np.random.Generator:
        """Return the random numbers of one use."""
        return self.seed.stream(Use.CHECK, use)

    def points(self, most: int) -> IntArray:
        """Return the numbers of rows, drawn at random without looking at y, that serve as candidates."""
        n = self.rows.n
        if n <= most:
            return np.arange(n)
        return np.sort(self.stream(POINTS).choice(n, most, replace=False))

    def kernel_on(self, columns: Collection[int]) -> CovariateKernel:
        """Return k at single locations that looks at some columns, at half their median distance."""
        if set(columns) == set(self.columns):
            return self.near
        factors = []
        for factor in self.near.factors:
            kept = tuple(i for i in factor.indices() if i in columns)
            if not kept:
                continue
            kernel = factor.kernel
            if isinstance(kernel, Gaussian) and len(kept) < len(factor.columns):
                kernel = kernel.with_bandwidth(LOCAL_X * self._median(kept))
            names = tuple(self.rows.sample.x_columns[i].name for i in kept)
            factors.append(OnColumns(kernel, kept, names))
        return CovariateKernel(tuple(factors))

    def _median(self, columns: tuple[int, ...]) -> float:
        """Return the median distance in some columns, from a few rows where these are not all equal."""
        x = self.rows.x[:, list(columns)]
        few = x[self.choosing[:MEDIAN_ROWS]]
        few = x if bool((few == few[0]).all()) else few
        return median_distance(few, self.stream(PAIRS))

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of x that tell where."""
        return tuple(sorted(i for factor in self.near.factors for i in factor.indices()))


def by_ranks(rows: Scored) -> bool:
    """Whether several columns of y are compared by their ranks among draws."""
    return rows.cells is not None and rows.cells.blocks[0].name.startswith("ranks,")


def _most_rows(rows: Scored) -> int:
    """Return how many rows are looked at: fewer, where what the model says of each is large."""
    if rows.outcomes is None:
        return MOST_ROWS
    return min(MOST_ROWS, max(1024, MOST_NUMBERS // int(rows.outcomes.probabilities.shape[1])))


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


def _halves(n: int, dependence: Dependence, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Split rows into those that choose, in random order, and those that test, sorted."""
    if dependence.independent:
        order = rng.permutation(n)
        return order[: n // 2], np.sort(order[n // 2 :])
    nothing = np.empty(0, dtype=np.int64)
    if n < 4 * LEAST_NEAR or (dependence.codes is not None and dependence.count < LEAST_GROUPS):
        return nothing, nothing
    try:
        choosing, left_out = split_dependent(dependence, n, 0.5, n, rng)
    except InputError:  # one group has nearly all rows
        return nothing, nothing
    return rng.permutation(choosing), np.setdiff1d(np.arange(n), left_out)


def local_kernel(kernel: CovariateKernel, sample: Sample) -> tuple[CovariateKernel, tuple[str, ...]]:
    """Return k at single locations, and what is to be said of it.

    A place is described by the levels it has, so rows of other levels must not count there: the
    similarity between levels is 0. Columns of so many levels that most rows would be alone in theirs
    are left out.
    """
    factors: list[OnColumns] = []
    left_out: list[str] = []
    for factor in narrowed(kernel, LOCAL_X).factors:
        if not isinstance(factor.kernel, Categorical):
            factors.append(factor)
            continue
        kept = _crowded(sample, factor.indices())
        names = sample.x_columns
        left_out += [names[i].name for i in factor.indices() if i not in kept]
        if kept:
            labels = tuple(names[i].name for i in kept)
            factors.append(replace(factor, kernel=Categorical(0.0), columns=tuple(kept), labels=labels))
    said = (f"not used to tell where, because most levels have too few rows: {', '.join(left_out)}",)
    return CovariateKernel(tuple(factors)), said if left_out else ()


def _crowded(sample: Sample, columns: list[int]) -> list[int]:
    """Return the columns whose levels, taken together, leave most rows in good company."""
    kept: list[int] = []
    for column in sorted(columns, key=lambda i: len(np.unique(sample.x[:, i]))):
        cells = sample.x[:, [*kept, column]]
        _, inverse, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        if np.median(counts[np.ravel(inverse)]) >= 4 * LEAST_NEAR:
            kept.append(column)
    return sorted(kept)


def gaussian_reach(kernel: CovariateKernel) -> dict[int, float]:
    """Return, for each numeric column, how far from a location k is still one half, in kernel units."""
    return {
        column: float(np.sqrt(2.0 * np.log(2.0))) * factor.kernel.sigma
        for factor in kernel.factors
        if isinstance(factor.kernel, Gaussian)
        for column in factor.indices()
    }
