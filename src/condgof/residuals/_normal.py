"""Test functions of normal scores z = Φ⁻¹(F(y|x)), N(0, I) under the law whatever x is.

They are a fixed table: Stein functions of N(0, 1) at several bandwidths, and single
functions (z, its surprise, Legendre polynomials of the PIT) beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.kernels import Gaussian, Kernel, whitening
from condgof.residuals._residuals import (
    Resampled,
    SizedBlock,
    TestFunctionBlock,
    TestFunctions,
    side_by_side,
)
from condgof.residuals._stein import LandmarkFunctions, SteinTestFunctions

#: Normal scores are clipped to ± this: P(|Z| > 6.5) = 8e-11.
GRID_END = 6.5
#: Steps of the grid on which test functions are looked up.
GRID_STEPS = 4096
#: Eigen-directions of a Stein kernel of N(0, 1) below this share of the largest are left
#: out.
SMALLEST_DIRECTION = 1e-2
#: Nodes, evenly spaced, of the quadrature that finds these directions.
QUADRATURE_NODES = 157
#: Normal scores are cut off here, so that squares of their surprise do not overflow.
LARGEST_SCORE = 1e9
#: Single functions of z beside the Stein functions.
SINGLE_FUNCTIONS = ("z", "surprise", "shift", "spread", "skew", "tails")
#: Of these, the first three meet single columns of x, and the first two meet pairs.
FOR_COLUMNS = 3
FOR_PAIRS = 2
#: Of several columns of y, correlation and joint spread come after these two, and meet
#: single columns and pairs, too,
FOR_SEVERAL = 4
#: but not of more columns of y than this, which have too many pairs.
MOST_JOINT_COLUMNS = 4
#: Of up to this many columns of y correlation still meets single columns of x: 45 pairs.
MOST_CORRELATED_COLUMNS = 10
#: The last three, spread, skew and tails of the PIT, meet shapes.
FOR_SHAPES = 3
#: Several columns of y: landmarks of the kernel on all of them together,
JOINT_LANDMARKS = 64
#: draws for its second moment beyond three columns (a grid up to there),
JOINT_DRAWS = 2**15
#: the most directions of it that are kept,
JOINT_DIRECTIONS = 48
#: and the points of its quadrature that are held at a time.
QUADRATURE_ROWS = 2**13
#: What is called by these names in `blocks`.
SURPRISE = "surprise"
CORRELATION = "correlation"
JOINT_SPREAD = "joint spread"
ALL_COLUMNS = "all columns together"
#: E|Z| of a standard normal Z,
MEAN_SIZE = (2.0 / np.pi) ** 0.5
#: and the standard deviation of |Z|.
SIZE_SPREAD = (1.0 - 2.0 / np.pi) ** 0.5
#: At most this many of the largest surprises are compared with what n rows should have.
MOST_SURPRISES = 512
#: The additional statistic of normal scores: whether the largest surprises are too large.
OUTLIERS = "surprises"


@dataclass(frozen=True, eq=False)
class NormalTestFunctions(TestFunctions):
    """Test functions of normal scores of d_y columns."""

    d_y: int
    table: SingleArray  #: Functions of one column on a grid, (GRID_STEPS + 1, q₁).
    table_blocks: tuple[TestFunctionBlock, ...]  #: Blocks of the table.
    joint: SteinTestFunctions | None  #: Functions of all columns together, for d_y > 1.
    covariance: FloatArray  #: C = E[ξξᵀ], (q, q).
    resampled = True

    @staticmethod
    @lru_cache(maxsize=16)
    def at_bandwidths(bandwidths: tuple[float, ...], d_y: int) -> NormalTestFunctions:
        """Return Stein functions at bandwidths, and the single functions; made once."""
        grid = np.linspace(-GRID_END, GRID_END, GRID_STEPS + 1)
        sized = []
        tables = []
        for sigma in bandwidths:
            functions = _stein_functions(sigma, grid)
            block = TestFunctionBlock(f"bandwidth {sigma:g}", bandwidth=sigma)
            sized.append(SizedBlock(block, functions.shape[1]))
            tables.append(functions)
        for name in SINGLE_FUNCTIONS:
            sized.append(SizedBlock(TestFunctionBlock(name, is_scale=False), 1))
        table = np.concatenate([*tables, single_functions(grid)], axis=1)
        weight = np.exp(-0.5 * grid**2)
        weight /= weight.sum()
        table -= weight @ table  # what clipping and the grid leave of a mean
        covariance = (table * weight[:, None]).T @ table
        made = NormalTestFunctions(
            d_y=d_y,
            table=table.astype(np.float32),
            table_blocks=side_by_side(sized),
            joint=None if d_y == 1 else _joint_functions(bandwidths, d_y),
            covariance=covariance,
        )
        if d_y == 1:
            return made
        return replace(made, covariance=_joint_covariance(made, covariance))

    @cached_property
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        """Of the table, all columns of y side by side; of pairs, and of all together."""
        sized = []
        for block in self.table_blocks:
            sized.append(SizedBlock(block, self.d_y * block.size))
            if block.name == SURPRISE and self.joint is not None:
                for name in (CORRELATION, JOINT_SPREAD):
                    of_pairs = TestFunctionBlock(name, is_scale=False)
                    sized.append(SizedBlock(of_pairs, self.d_y * (self.d_y - 1) // 2))
        if self.joint is not None:
            sized.append(SizedBlock(TestFunctionBlock(ALL_COLUMNS), self.joint.width))
        return side_by_side(sized)

    @property
    def independent_groups(self) -> Sequence[IntArray]:
        """Those of each column of y by itself; of pairs of columns; of all together.

        Columns of a group are in the order of the table, or of the pairs.
        """
        places = {block.name: np.arange(self.width)[block.columns] for block in self.blocks}
        if self.joint is None:
            return (np.arange(self.width),)
        table = [places[block.name].reshape(self.d_y, -1) for block in self.table_blocks]
        of_columns = np.concatenate(table, axis=1)
        return (
            *of_columns,
            places[CORRELATION],
            places[JOINT_SPREAD],
            places[ALL_COLUMNS],
        )

    @property
    def _first_single(self) -> int:
        return [block.is_scale for block in self.blocks].index(False)

    @property
    def _has_few_pairs(self) -> bool:
        """Whether there are pairs of columns of y, and not too many."""
        return 1 < self.d_y <= MOST_JOINT_COLUMNS

    @property
    def blocks_for_columns(self) -> slice:
        count = FOR_SEVERAL if self._has_few_pairs else FOR_COLUMNS
        if self.d_y > MOST_CORRELATED_COLUMNS:
            count = FOR_PAIRS
        return slice(self._first_single, self._first_single + count)

    @property
    def blocks_for_pairs(self) -> slice:
        count = FOR_SEVERAL if self._has_few_pairs else FOR_PAIRS
        return slice(self._first_single, self._first_single + count)

    @property
    def blocks_for_shapes(self) -> slice:
        names = [block.name for block in self.blocks]
        end = names.index(SINGLE_FUNCTIONS[-1]) + 1
        return slice(end - FOR_SHAPES, end)

    def evaluate(self, residuals: Any) -> AnyArray:
        return self.look_up(residuals.u)

    def look_up(self, z: AnyArray) -> AnyArray:
        """Return ξ (n, q) of normal scores (n, d_y)."""
        step = np.clip(z, -GRID_END, GRID_END)
        step += GRID_END
        step *= GRID_STEPS / (2.0 * GRID_END)
        index = np.rint(step, out=step).astype(np.int32)
        if self.joint is None:
            return np.asarray(self.table[index[:, 0]])
        clipped = np.clip(z, -GRID_END, GRID_END).astype(np.float64)
        each = [self.table[index[:, c]] for c in range(self.d_y)]
        first, second = np.triu_indices(self.d_y, 1)
        by_name: dict[str, list[AnyArray]] = {
            block.name: [one[:, block.columns] for one in each]
            for block in self.table_blocks
        }
        by_name[CORRELATION] = [clipped[:, first] * clipped[:, second]]
        sizes = standard_size(clipped)
        by_name[JOINT_SPREAD] = [sizes[:, first] * sizes[:, second]]
        by_name[ALL_COLUMNS] = [self.joint.apply_operator(clipped, -clipped)]
        columns = [part for block in self.blocks for part in by_name[block.name]]
        return np.concatenate(columns, axis=1, dtype=np.float32)

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return Gaussian(block.bandwidth or 1.0)


def _joint_functions(bandwidths: tuple[float, ...], d_y: int) -> SteinTestFunctions:
    """Return functions of all columns of z, at the middle bandwidth times √d_y."""
    rng = np.random.default_rng(d_y)  # a fixed one: this is a table, not a draw
    sigma = sorted(bandwidths)[len(bandwidths) // 2] * np.sqrt(d_y)
    landmarks = rng.standard_normal((JOINT_LANDMARKS, d_y))
    kernel = Gaussian(float(sigma))
    white = whitening(kernel(landmarks, landmarks), SMALLEST_DIRECTION)
    part = LandmarkFunctions(kernel=kernel, points=landmarks, white=white)
    full = SteinTestFunctions(d_y=d_y, parts=(part,))
    z, weight = _quadrature(d_y)
    values = full.apply_operator(z, -z)
    squares, axes = np.linalg.eigh((values * weight[:, None]).T @ values)
    kept = axes[:, squares > SMALLEST_DIRECTION * squares[-1]]
    return replace(full, rotation=kept[:, ::-1][:, :JOINT_DIRECTIONS])


def _joint_covariance(functions: NormalTestFunctions, single: FloatArray) -> FloatArray:
    """Return C of several columns of z: independent, but for what sees all of them.

    `single` is that of one column, (q₁, q₁). Products of two independent numbers of mean 0
    and variance 1 are uncorrelated with each other and with functions of one column. Only
    what sees all columns takes a quadrature.
    """
    covariance = np.zeros((functions.width, functions.width))
    for group in functions.independent_groups[: functions.d_y]:
        covariance[np.ix_(group, group)] = single
    for group in functions.independent_groups[functions.d_y : -1]:
        covariance[group, group] = 1.0
    with_all = functions.independent_groups[-1]
    z, weight = _quadrature(functions.d_y)
    for start in range(0, len(z), QUADRATURE_ROWS):
        some = slice(start, start + QUADRATURE_ROWS)
        values = functions.look_up(z[some])
        weighted = values[:, with_all] * weight[some, None]
        covariance[:, with_all] += values.T.astype(np.float64) @ weighted
    covariance[with_all] = covariance[:, with_all].T
    return covariance


class _Quadrature(NamedTuple):
    points: FloatArray  #: (m, d_y).
    weights: FloatArray  #: (m,), of sum 1.


def _quadrature(d_y: int) -> _Quadrature:
    """Return points and weights for means over N(0, I): a grid, or a fixed set of draws."""
    if d_y > 3:
        rng = np.random.default_rng(d_y)  # a fixed one: this is a table, not a draw
        half = rng.standard_normal((JOINT_DRAWS, d_y))
        both = np.concatenate([half, -half])
        return _Quadrature(both, np.full(2 * JOINT_DRAWS, 0.5 / JOINT_DRAWS))
    axis = np.linspace(-6.0, 6.0, 61 if d_y == 2 else 25)
    points = np.stack(np.meshgrid(*[axis] * d_y, indexing="ij"), axis=-1).reshape(-1, d_y)
    weight = np.exp(-0.5 * np.square(points).sum(axis=1))
    return _Quadrature(points, weight / weight.sum())


def _stein_functions(sigma: float, at: FloatArray) -> FloatArray:
    """Return the eigen-features of the Stein kernel of N(0, 1), (len(at), r).

    They are √λ_k e_k(t) for h = Σ_k λ_k e_k e_k, E[e_k] = 0 and E[e_k e_l] = δ_kl under
    N(0, 1), with a Gaussian kernel of bandwidth `sigma` on y.
    """
    nodes = np.linspace(-GRID_END, GRID_END, QUADRATURE_NODES)
    root = np.exp(-0.25 * nodes**2)
    root /= np.linalg.norm(root)
    stein = _normal_stein_kernel(nodes, nodes, sigma)
    values, axes = np.linalg.eigh(root[:, None] * stein * root)
    kept = values > SMALLEST_DIRECTION * values[-1]
    scaled = root[:, None] * axes[:, kept] / np.sqrt(values[kept])
    return np.asarray(_normal_stein_kernel(at, nodes, sigma) @ scaled)[:, ::-1]


def _normal_stein_kernel(a: FloatArray, b: FloatArray, sigma: float) -> FloatArray:
    """Return h of N(0, 1), whose Stein score is −t, with a Gaussian l, (len(a), len(b))."""
    square = np.square(a[:, None] - b)
    bracket = np.multiply.outer(a, b) + sigma**-2 - square * (sigma**-2 + sigma**-4)
    return np.asarray(np.exp(-0.5 * square / sigma**2) * bracket)


def legendre(pit: AnyArray) -> AnyArray:
    """Return ψ_1 to ψ_4, orthonormal Legendre polynomials of PITs, (..., 4).

    Shift, spread, skew and tails, in the precision of the PITs.
    """
    v = 2.0 * pit - 1.0
    square = v * v
    out = np.empty((*pit.shape, 4), dtype=pit.dtype)
    out[..., 0] = 3**0.5 * v
    out[..., 1] = 5**0.5 * (1.5 * square - 0.5)
    out[..., 2] = 7**0.5 * v * (2.5 * square - 1.5)
    out[..., 3] = 3.0 * ((4.375 * square - 3.75) * square + 0.375)
    return out


def single_functions(z: AnyArray) -> FloatArray:
    """Return `SINGLE_FUNCTIONS` of z, of mean 0 and variance 1 under N(0, 1), (n, 6)."""
    z = np.clip(z, -LARGEST_SCORE, LARGEST_SCORE)
    return np.column_stack([z, surprise(z) - 1.0, legendre(ndtr(z))])


def standard_size(z: FloatArray) -> FloatArray:
    """Return (|z| − E|Z|)/sd|Z|, of mean 0 and variance 1 under N(0, 1)."""
    return np.asarray((np.abs(z) - MEAN_SIZE) / SIZE_SPREAD)


def surprise(z: AnyArray) -> FloatArray:
    """Return −log P(|Z| ≥ |z|) of a standard normal Z: exponential under N(0, 1)."""
    size = np.minimum(np.abs(z), LARGEST_SCORE)
    return np.asarray(-np.log(2.0) - log_ndtr(-size))


def surprise_count(n: int) -> int:
    """Return how many of the largest of n surprises are compared: a quarter, at most."""
    return int(min(MOST_SURPRISES, max(1, n // 4)))


def top_surprises(z: AnyArray, most: int | None = None) -> FloatArray:
    """Return the largest surprises of m samples of normal scores (m, n), largest first."""
    count = min(most or surprise_count(z.shape[1]), z.shape[1])
    return surprise(_largest(np.abs(z), count))


def largest_first(surprises: AnyArray) -> FloatArray:
    """Return the largest of m samples of surprises (m, n), largest first."""
    return _largest(surprises, surprise_count(surprises.shape[1]))


def _largest(values: AnyArray, count: int) -> AnyArray:
    """Return the `count` largest of values (m, n) in each row, largest first."""
    n = values.shape[1]
    largest = np.partition(values, n - count, axis=1)[:, n - count :]
    return np.sort(largest, axis=1)[:, ::-1]


def excess(top: FloatArray, n: int) -> FloatArray:
    """Return whether the largest of n surprises are too large: (m,) of (m, count).

    It is max_k Σ_{i≤k} (s_i − log(n/(i − ½)))/√k, for s_1 ≥ s_2 ≥ ….
    """
    i = np.arange(1, top.shape[1] + 1)
    sums = np.cumsum(top - np.log(n / (i - 0.5)), axis=1)
    return np.asarray((sums / np.sqrt(i)).max(axis=1))


def draw_top_surprises(n: int, m: int, rng: np.random.Generator) -> FloatArray:
    """Draw the largest of n surprises m times, (m, count), without drawing all of them.

    They are exponential: given the smallest of the largest, the others are exponential
    above it.
    """
    count = surprise_count(n)
    least = -np.log(rng.beta(count, n - count + 1, m))
    above = np.sort(rng.standard_exponential((m, count - 1)), axis=1)[:, ::-1]
    return np.column_stack([least[:, None] + above, least])


@dataclass(frozen=True, eq=False)
class NormalResampler:
    """Draws normal scores again: they are N(0, I) under the law, whatever x is."""

    test_functions: NormalTestFunctions
    z: FloatArray  #: The normal scores of the data, (n, d_y).
    names = (OUTLIERS,)

    @property
    def observed(self) -> FloatArray:
        return excess(top_surprises(self.z.reshape(1, -1)), self.z.size)

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        n = len(self.z)
        z = rng.standard_normal((n * m, self.z.shape[1]), dtype=np.float32)
        values = self.test_functions.look_up(z).reshape(n, m, -1)
        sizes = np.abs(z).reshape(n, m, -1).transpose(1, 0, 2).reshape(m, -1)
        outliers = excess(top_surprises(sizes), sizes.shape[1])
        return Resampled(
            values=values, additional=outliers[None], drawn=z.reshape(n, m, -1)
        )
