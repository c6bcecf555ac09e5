"""Features F of x in named blocks: k(x, x') ≈ F(x)·F(x'), or functions for themselves.

A kernel is seen through landmark rows v (`condgof.kernels.choose_landmarks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    choose_landmarks,
    sqdist,
    whitening,
)
from condgof.sample import XUnits

#: Functions of a single column of x, as normal scores of ranks, are looked up on a grid of
#: ± this. P(|Z| > 4.5) = 7e-6: normal scores of ranks hardly reach further.
COLUMN_GRID_END = 4.5
#: Steps of that grid; a normal score is rounded to the nearest one.
COLUMN_GRID_STEPS = 1024
#: The bandwidth of the Gaussian kernel on a single column, in normal scores.
COLUMN_BANDWIDTH = 0.5
#: How many eigen-features of that kernel are used, those of the largest eigenvalues.
COLUMN_RANK = 8
#: Nodes, evenly spaced on the grid, of the quadrature that finds these eigen-features.
COLUMN_NODES = 181
#: Eigenvalues of the quadrature are taken as at least this: rounding makes some negative.
LEAST_EIGENVALUE = 1e-12
#: Where there are more columns than this, each has a line and a parabola, and no more: the
#: number of features would grow with the columns, and so would the time.
MOST_RICH_COLUMNS = 64
#: Long waves on a single column: numbers of half periods, over all ranks, of the cosines
#: that make one block.
LONG_WAVES = (3, 4)
#: Short waves on a single column, which make another block.
SHORT_WAVES = (5, 6, 7, 8)
#: Fine waves on a single column are cosines of its ranks from this order on, half periods
#: over all ranks,
FIRST_FINE_WAVE = 5
#: up to this order: a half period has 16 rows at n = 500.
LAST_FINE_WAVE = 32
#: Waves of a higher order k than this count less, by a factor of this over k.
FULL_WAVES = 16
#: The mean square of a cosine, whose root the constant beside a cosine is.
COSINE_SQUARE = 0.5
#: A uniform rank, from −1 to 1, times this has variance 1.
UNIT_RANK = 3**0.5


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Makes columns of F from rows x (n, d_x), in blocks of one family.

    Features are linear in *raw columns*, such as k(x, v): (raw − centre) · white, block by
    block.
    """

    #: What kind of functions these are: "x" (a kernel on x), "constant", "columns",
    #: "categories", "locations", "pairs", "triples", "waves", "category columns", "cells"
    #: or "shapes".
    family: str
    raw_columns: Callable[[FloatArray], AnyArray]  #: x (n, d_x) → raw columns (n, ·).
    #: What each block is of, by family: the multiple of the bandwidths for "x", the number
    #: of the column, (column, value) of a category, two of these of a cell, the columns of
    #: a pair or triple, the number of the location; None for the constant.
    labels: tuple[Any, ...]
    sizes: tuple[int, ...]  #: How many features each block has.
    #: The whitening matrix W that raw columns of each block are multiplied by, (·, size);
    #: empty where raw columns are the features.
    whites: tuple[AnyArray, ...] = ()
    #: What is subtracted from raw columns, (raw columns,); they are then in single
    #: precision. None: nothing.
    centre: SingleArray | None = None
    #: Share of the trace of the kernel that landmarks leave; of several bandwidths, at the
    #: narrowest.
    residual: float = 0.0

    @classmethod
    def one_each(
        cls, family: str, raw_columns: Callable[[FloatArray], AnyArray], labels: Any
    ) -> FeatureMap:
        """Return a map whose blocks have one column each, with one label each."""
        labels = tuple(labels)
        return cls(family, raw_columns, labels=labels, sizes=(1,) * len(labels))

    def raw(self, x: FloatArray) -> AnyArray:
        """Return the raw columns of rows, centred, (n, ·)."""
        columns = self.raw_columns(x)
        if self.centre is None:
            return columns
        return np.subtract(columns, self.centre, out=columns).astype(np.float32, copy=False)

    def centred(self, x: FloatArray) -> FeatureMap:
        """Return the map with its means over rows x (n, d_x) subtracted."""
        means = self.raw_columns(x).mean(axis=0, dtype=np.float64)
        return replace(self, centre=means.astype(np.float32))


class FeatureBlock(NamedTuple):
    """Some columns of F that belong together: the unit of which statistics are made."""

    family: str  #: As in `FeatureMap`.
    label: Any  #: As in `FeatureMap.labels`.
    columns: slice  #: Which columns of F.


class FeaturePart(NamedTuple):
    """Which raw columns become which features."""

    raw: slice
    features: slice
    white: AnyArray | None  #: What raw columns are multiplied by; None: nothing.


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of x, side by side."""

    maps: tuple[FeatureMap, ...]

    @cached_property
    def blocks(self) -> tuple[FeatureBlock, ...]:
        """Which columns belong together, in order and without gaps."""
        blocks = []
        start = 0
        for feature_map in self.maps:
            for size, label in zip(feature_map.sizes, feature_map.labels, strict=True):
                columns = slice(start, start + size)
                blocks.append(FeatureBlock(feature_map.family, label, columns))
                start += size
        return tuple(blocks)

    @cached_property
    def parts(self) -> tuple[FeaturePart, ...]:
        """Which raw columns become which features, and what they are multiplied by."""
        parts = []
        raw = 0
        features = 0
        for feature_map in self.maps:
            for white in feature_map.whites or (None,):
                if white is None:
                    raw_count = feature_count = sum(feature_map.sizes)
                else:
                    raw_count, feature_count = white.shape
                parts.append(
                    FeaturePart(
                        raw=slice(raw, raw + raw_count),
                        features=slice(features, features + feature_count),
                        white=white,
                    )
                )
                raw += raw_count
                features += feature_count
        return tuple(parts)

    @property
    def width(self) -> int:
        """The number of features, R."""
        return int(self.blocks[-1].columns.stop)

    def raw(self, x: FloatArray) -> AnyArray:
        """Return the raw columns of all maps, side by side, (n, ·)."""
        each = [feature_map.raw(x) for feature_map in self.maps]
        return each[0] if len(each) == 1 else np.concatenate(each, axis=1)

    def from_raw(self, raw: AnyArray) -> AnyArray:
        """Turn raw columns (n, ·), or sums of them, into features (n, R): linear."""
        if not any(feature_map.whites for feature_map in self.maps):
            return raw
        columns = []
        for part in self.parts:
            some = raw[:, part.raw]
            columns.append(some if part.white is None else some @ part.white)
        return np.concatenate(columns, axis=1)

    def evaluate(self, x: FloatArray) -> AnyArray:
        """Return F (n, R) of rows x (n, d_x)."""
        return self.from_raw(self.raw(x))

    def family(self, *names: str) -> slice:
        """Return the numbers of all blocks of some families, as one slice of `blocks`.

        The blocks of these families must follow each other; slice(0, 0) for no block.
        """
        numbers = [i for i, block in enumerate(self.blocks) if block.family in names]
        return slice(numbers[0], numbers[-1] + 1) if numbers else slice(0, 0)


def constant() -> FeatureMap:
    """Return the function 1."""
    return FeatureMap.one_each(
        "constant", lambda x: np.ones((len(x), 1), dtype=np.float32), [None]
    )


def finite_locations(locations: FiniteLocations) -> FeatureMap:
    """Return k(x, v_j)/√J at the J locations of FSCD, as one block."""
    return FeatureMap(
        family="x",
        raw_columns=locations.features,
        labels=(0,),
        sizes=(len(locations.locations),),
    )


def nystrom(
    kernel: CovariateKernel,
    x: FloatArray,
    rng: np.random.Generator,
    *,
    precision: float,
    cap: int,
    single: bool = False,
) -> FeatureMap:
    """See a kernel on x through landmarks v among rows x (n, d_x): F = k(x, v) W.

    Parameters
    ----------
    precision : float
        The share of the trace of k that landmarks may leave.
    cap : int
        Most landmarks.
    single : bool
        Whether F is computed in single precision.
    """
    if not kernel.factors:
        return constant()
    chosen = choose_landmarks(kernel, x, rng, tolerance=precision, cap=cap)
    points = x[chosen.rows]
    white = whitening(kernel(points, points), single=single)

    def compare(rows: FloatArray) -> AnyArray:
        return kernel(rows, points).astype(white.dtype, copy=False)

    return FeatureMap(
        family="x",
        raw_columns=compare,
        labels=(1.0,),
        sizes=(white.shape[1],),
        whites=(white,),
        residual=chosen.residual,
    )


def scales(
    kernel: CovariateKernel,
    multiples: Sequence[float],
    x: FloatArray,
    rng: np.random.Generator,
    *,
    precision: float,
    cap: int,
) -> FeatureMap:
    """See a kernel at multiples of its Gaussian bandwidths through one set of landmarks.

    They are chosen among rows x (n, d_x) for the narrowest bandwidth, and the features, in
    single precision, are centred on these rows.
    """
    if not any(type(factor.kernel) is Gaussian for factor in kernel.factors):
        multiples = (1.0,)
    narrow = min(multiples)

    def compare(a: FloatArray, b: FloatArray) -> FloatArray:
        return _at_multiples(kernel, (narrow,), b, a).astype(np.float64)

    chosen = choose_landmarks(compare, x, rng, tolerance=precision, cap=cap)
    points = x[chosen.rows]
    side_by_side = _at_multiples(kernel, multiples, points, points)
    each = np.split(side_by_side, len(multiples), axis=1)
    whites = tuple(whitening(k.astype(np.float64), single=True) for k in each)
    made = FeatureMap(
        family="x",
        raw_columns=partial(_at_multiples, kernel, multiples, points),
        labels=tuple(multiples),
        sizes=tuple(white.shape[1] for white in whites),
        whites=whites,
        residual=chosen.residual,
    )
    return made.centred(x)


def single_locations(
    kernel: CovariateKernel, multiple: float, points: FloatArray
) -> FeatureMap:
    """Return features k(x, v_j) of single points, at a multiple of the bandwidths."""
    columns = partial(_at_multiples, kernel, (multiple,), points)
    return FeatureMap.one_each("locations", columns, range(len(points)))


def _at_multiples(
    kernel: CovariateKernel,
    multiples: Sequence[float],
    points: FloatArray,
    x: FloatArray,
) -> SingleArray:
    """Return k(x, v) at each multiple of the bandwidth, side by side, (n, multiples·v)."""
    exponent = np.zeros((len(x), len(points)), dtype=np.float32)
    others: SingleArray | None = None
    for factor in kernel.factors:
        columns = factor.indices()
        if type(factor.kernel) is Gaussian:
            near = sqdist(x[:, columns], points[:, columns], factor.kernel.sigma)
            exponent -= 0.5 * near.astype(np.float32)
        else:
            other = factor(x, points).astype(np.float32)
            others = other if others is None else others * other
    each = [np.exp(exponent * np.float32(multiple**-2)) for multiple in multiples]
    if others is not None:
        each = [gaussian * others for gaussian in each]
    return np.concatenate(each, axis=1)


def marginals(columns: list[int], x: FloatArray) -> FeatureMap:
    """Take smooth functions of single columns, which are normal scores, centred on x."""
    smooth = _smooth_functions()
    # The first two blocks are the line and the parabola.
    sizes = smooth.sizes[:2] if len(columns) > MOST_RICH_COLUMNS else smooth.sizes
    table = smooth.table[:, : sum(sizes)]
    labels = tuple(column for column in columns for _ in sizes)

    def look_up(rows: FloatArray) -> SingleArray:
        return table[grid_steps(rows[:, columns])].reshape(len(rows), -1)

    made = FeatureMap(
        family="columns", raw_columns=look_up, labels=labels, sizes=sizes * len(columns)
    )
    return made.centred(x)


class _SmoothFunctions(NamedTuple):
    """Functions of one normal score, in blocks."""

    table: SingleArray  #: The functions on the grid, (COLUMN_GRID_STEPS + 1, ·).
    sizes: tuple[int, ...]  #: How many columns of the table belong to each block.


@cache
def _smooth_functions() -> _SmoothFunctions:
    """Return functions of one normal score on a grid.

    A line, a parabola, the eigen-features of a Gaussian kernel under N(0, 1), and long and
    short waves over the ranks: a block each, in this order.
    """
    grid = np.linspace(-COLUMN_GRID_END, COLUMN_GRID_END, COLUMN_GRID_STEPS + 1)
    nodes = np.linspace(-COLUMN_GRID_END, COLUMN_GRID_END, COLUMN_NODES)
    root = np.exp(-0.25 * nodes**2)  # the root of the weights of N(0, 1), once divided
    root /= np.linalg.norm(root)

    def k(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * np.square(a[:, None] - b) / COLUMN_BANDWIDTH**2))

    values, axes = np.linalg.eigh(root[:, None] * k(nodes, nodes) * root)
    scaled = root[:, None] * axes / np.sqrt(np.maximum(values, LEAST_EIGENVALUE))
    smooth = k(grid, nodes) @ scaled[:, -COLUMN_RANK:]
    half_periods = np.array([*LONG_WAVES, *SHORT_WAVES])
    waves = np.cos(np.pi * np.multiply.outer(ndtr(grid), half_periods))
    table = np.column_stack([grid, grid**2, smooth, waves]).astype(np.float32)
    sizes = (1, 1, COLUMN_RANK, len(LONG_WAVES), len(SHORT_WAVES))
    return _SmoothFunctions(table=table, sizes=sizes)


def categories(columns: IntArray, values: FloatArray, shares: FloatArray) -> FeatureMap:
    """Take centred indicators of L categories, each a block.

    Parameters
    ----------
    columns, values : ndarray of shape (L,)
        The column of x of each category, and its value there.
    shares : ndarray of shape (L,)
        The share of the rows that have each category, which is subtracted.
    """
    labels = zip(map(int, columns), map(float, values), strict=True)
    indicators = FeatureMap.one_each(
        "categories", lambda x: (x[:, columns] == values).astype(np.float32), labels
    )
    return replace(indicators, centre=shares.astype(np.float32))


def category_columns(
    columns: Sequence[int], values: Sequence[FloatArray], x: FloatArray
) -> FeatureMap:
    """Take all categories of a column as one block, for each of some columns.

    Indicators are centred on rows x (n, d_x) and divided by the root of the share of rows
    that have the category, so that all categories count alike.

    Parameters
    ----------
    columns : sequence of int
        The columns of x.
    values : sequence of ndarray
        The categories of each column, as numbers.
    """
    sizes = tuple(len(own) for own in values)
    column_of = np.repeat(np.asarray(columns, dtype=np.int64), sizes)
    value_of = np.concatenate(values)
    shares = (x[:, column_of] == value_of).mean(axis=0)
    weights = (1.0 / np.sqrt(shares)).astype(np.float32)
    made = FeatureMap(
        family="category columns",
        raw_columns=lambda rows: (rows[:, column_of] == value_of) * weights,
        labels=tuple(int(column) for column in columns),
        sizes=sizes,
    )
    return made.centred(x)


class Cell(NamedTuple):
    """The rows that have one value in a column and one value in another column."""

    first: tuple[int, float]  #: A column, and its value.
    second: tuple[int, float]  #: The other column, and its value.


def cells(chosen: Sequence[Cell], x: FloatArray) -> FeatureMap:
    """Take indicators of cells of two columns, each a block, centred on x (n, d_x)."""
    sides = [cell.first for cell in chosen] + [cell.second for cell in chosen]
    distinct = {side: k for k, side in enumerate(dict.fromkeys(sides))}
    columns = np.array([column for column, _ in distinct])
    values = np.array([value for _, value in distinct])
    first = np.array([distinct[cell.first] for cell in chosen])
    second = np.array([distinct[cell.second] for cell in chosen])

    def look_up(rows: FloatArray) -> SingleArray:
        is_side = (rows[:, columns] == values).astype(np.float32)
        return np.asarray(is_side[:, first] * is_side[:, second])

    return FeatureMap.one_each("cells", look_up, chosen).centred(x)


def waves(columns: Sequence[int], x: FloatArray) -> FeatureMap:
    """Take cosines of the ranks of single columns of high orders, one block a column.

    They are min(1, 16/k)·cos(πkr), k = 5 to 32, of the rank r in (0, 1). Columns of x
    (n, d_x) are normal scores of ranks; waves are centred on x.
    """
    index = np.asarray(columns, dtype=np.int64)
    orders = np.arange(FIRST_FINE_WAVE, LAST_FINE_WAVE + 1)
    table = _cosine_table(LAST_FINE_WAVE)[:, FIRST_FINE_WAVE - 1 :]
    table = table * np.minimum(1.0, FULL_WAVES / orders).astype(np.float32)
    made = FeatureMap(
        family="waves",
        raw_columns=lambda rows: table[grid_steps(rows[:, index])].reshape(len(rows), -1),
        labels=tuple(int(column) for column in columns),
        sizes=(len(orders),) * len(columns),
    )
    return made.centred(x)


def shapes(columns: Sequence[int], x: FloatArray) -> FeatureMap:
    """Take a constant and the cosine πr of the rank r of single columns, a block each.

    What is wrong in one half of a column is half in the constant and half in the cosine: a
    block of both loses nothing. Columns of x (n, d_x) are normal scores of ranks; cosines
    are centred on x, and the constant has their mean square.
    """
    index = np.asarray(columns, dtype=np.int64)

    def look_up(rows: FloatArray) -> SingleArray:
        both = np.full((len(rows), len(index), 2), COSINE_SQUARE**0.5, dtype=np.float32)
        both[:, :, 1] = _cosine_table(1)[grid_steps(rows[:, index]), 0]
        return both.reshape(len(rows), -1)

    means = look_up(x).mean(axis=0, dtype=np.float64)
    means[::2] = 0.0
    return FeatureMap(
        family="shapes",
        raw_columns=look_up,
        labels=tuple(int(column) for column in columns),
        sizes=(2,) * len(columns),
        centre=means.astype(np.float32),
    )


@cache
def _cosine_table(order: int) -> SingleArray:
    """Return cosines of ranks on the grid of normal scores, (grid, order)."""
    grid = np.linspace(-COLUMN_GRID_END, COLUMN_GRID_END, COLUMN_GRID_STEPS + 1)
    waves_of = np.cos(np.pi * np.multiply.outer(ndtr(grid), np.arange(1, order + 1)))
    return np.asarray(waves_of, dtype=np.float32)


def grid_steps(scores: FloatArray) -> IntArray:
    """Return the nearest steps of the grid of normal scores, in the shape of `scores`."""
    clipped = np.clip(scores, -COLUMN_GRID_END, COLUMN_GRID_END)
    step = (clipped + COLUMN_GRID_END) * (COLUMN_GRID_STEPS / (2.0 * COLUMN_GRID_END))
    return np.rint(step).astype(np.int32)


def triples(columns: Sequence[int], x: FloatArray) -> FeatureMap:
    """Return products of three columns, as ranks of variance 1, centred on x.

    Columns of x (n, d_x) are normal scores of ranks. Products of three of these would leave
    most of the weight to a few rows: ranks r in (0, 1) are taken as √3·(2r − 1).
    """
    three = np.array(list(combinations(columns, 3)), dtype=np.int64)

    def product(rows: FloatArray) -> FloatArray:
        used = np.unique(three)
        ranks = np.zeros(rows.shape)
        ranks[:, used] = UNIT_RANK * (2.0 * ndtr(rows[:, used]) - 1.0)
        return np.asarray(
            ranks[:, three[:, 0]] * ranks[:, three[:, 1]] * ranks[:, three[:, 2]]
        )

    labels = (tuple(map(int, some)) for some in three)
    return FeatureMap.one_each("triples", product, labels).centred(x)


def pairs(columns: Sequence[int], x: FloatArray, most: int) -> FeatureMap:
    """Return products of normal scores of pairs of columns, centred on x.

    Of all pairs if they are at most `most`, else of `most` pairs evenly among them.
    """
    index = np.asarray(columns, dtype=np.int64)
    first, second = (index[side] for side in np.triu_indices(len(index), 1))
    evenly = np.linspace(0, len(first) - 1, min(most, len(first))).astype(np.int64)
    some = np.unique(evenly)
    first = first[some]
    second = second[some]
    labels = zip(map(int, first), map(int, second), strict=True)
    products = FeatureMap.one_each(
        "pairs", lambda rows: rows[:, first] * rows[:, second], labels
    )
    return products.centred(x)


def in_units(feature_map: FeatureMap, units: XUnits | None) -> FeatureMap:
    """Return a map that brings x to `units` first; None where x is in them already."""
    if units is None:
        return feature_map
    return replace(
        feature_map, raw_columns=lambda x: feature_map.raw_columns(units.apply(x))
    )
