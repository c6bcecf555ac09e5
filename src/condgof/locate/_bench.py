"""The rows that a check looks at closely: some choose where to look, the others test what is there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Engine
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns, median_distance
from condgof.methods import LOCAL_X, Scored, Stream, narrowed
from condgof.models import ConditionalModel
from condgof.sample import Sample, Seed, Use

#: At most this many rows are looked at closely, half of them to choose and half to test.
MOST_ROWS = 32_768
#: A location needs this many effective rows near it, among those that choose and those that test.
LEAST_NEAR = 15
#: Rows from which the median distance in some of the columns comes.
MEDIAN_ROWS = 300
#: Uses of random numbers in a check; append only.
ROWS, SPLIT, POINTS, SIGNS, SAMPLES, EFFECT, FACTORS, PAIRS, NORMAL = range(9)


@dataclass(frozen=True, eq=False)
class Bench:
    """Rows in memory with their model, cut in two.

    Parameters
    ----------
    model : ConditionalModel
        The model of these rows.
    rows : Scored
        The rows, scored.
    n : int
        Number of rows of the whole sample.
    wide : CovariateKernel
        k with the median bandwidth.
    near : CovariateKernel
        k at single locations: half the median, and no similarity between levels.
    y_unit : float
        The unit of bandwidths on y.
    choosing, testing : ndarrays of int
        Numbers of the rows that choose locations and of those that test them.
    seed : Seed
        The source of randomness.
    engine : Engine
        Where sums are computed.
    notes : tuple of str
        What a reader should know of it.
    """

    model: ConditionalModel
    rows: Scored
    n: int
    wide: CovariateKernel
    near: CovariateKernel
    y_unit: float
    choosing: IntArray
    testing: IntArray
    seed: Seed
    engine: Engine
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: ConditionalModel,
        scored: Scored | Stream,
        kernel: CovariateKernel,
        y_unit: float,
        seed: Seed,
        engine: Engine,
    ) -> Bench:
        """Take the rows to look at, all or some at random, and split them."""
        n, numbers = scored.n, np.arange(scored.n)
        notes: tuple[str, ...] = ()
        if n > MOST_ROWS:
            rng = seed.stream(Use.CHECK, ROWS)
            numbers = np.sort(rng.choice(n, MOST_ROWS, replace=False))
            notes = (
                f"where, how and how much come from {MOST_ROWS:,} of the {n:,} rows, drawn at random; "
                "the verdict from all",
            )
        if isinstance(scored, Stream):
            rows, model = scored.with_model(numbers, engine)
        elif n > MOST_ROWS:
            rows = scored.take(numbers)
            model = model.take(numbers) if model.rows is not None else model
        else:
            rows = scored
        near, said = local_kernel(kernel, rows.sample)
        order = seed.stream(Use.CHECK, SPLIT).permutation(rows.n)
        half = rows.n // 2
        return cls(
            model=model.probe(rows.sample.y_given, rows.sample.x_given),
            rows=rows,
            n=n,
            wide=kernel,
            near=near,
            y_unit=y_unit,
            choosing=order[:half],  # in random order: the first of them are a sample
            testing=np.sort(order[half:]),
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
