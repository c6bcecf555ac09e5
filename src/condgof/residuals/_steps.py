"""A discrete y with an order, by its randomised PIT averaged over the randomisation.

The CDF F(·|x) of a count or of an ordered class has steps: at y it goes from a = F(y−1|x)
to b = F(y|x). With V uniform, u = a + V(b − a) is uniform given x (Dunn and Smyth, 1996),
and z = Φ⁻¹(u) is N(0, 1) given x. So a test function g of normal scores has mean 0 given x,
and so has its mean over V,

    ξ(y) = E_V[g(Φ⁻¹(a + V(b − a)))] = (G(b) − G(a))/(b − a),  G(t) = ∫₀ᵗ g(Φ⁻¹(s)) ds,

which takes no random number. Its variance given x is smaller than that of g(z) and depends
on x, so that y is resampled for the null, or of many rows a Gaussian limit is taken by
strata of rows with laws of about the same fineness (docs/theory/normal_scores.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.kernels import Gaussian, Kernel
from condgof.laws import row_uniforms
from condgof.residuals._cells import CellResiduals
from condgof.residuals._normal import (
    FOR_COLUMNS,
    FOR_PAIRS,
    GRID_END,
    GRID_STEPS,
    OUTLIERS,
    SURPRISE,
    NormalTestFunctions,
    excess,
    largest_first,
)
from condgof.residuals._rare import (
    Exceptions,
    RareEventResampler,
    draw_exceptions_in_blocks,
)
from condgof.residuals._residuals import (
    DependenceValues,
    Neighbours,
    Resampled,
    Resampler,
    SizedBlock,
    TestFunctionBlock,
    TestFunctions,
    side_by_side,
)
from condgof.residuals._stein import BANDWIDTHS
from condgof.sample import Seed

#: The test function of the mean: z averaged over V, in units of its own standard deviation
#: given x. Of a y with two values it is (y − mean)/sd, and of large counts it is z.
MEAN = "mean"
#: The least variance that this function is divided by. That of a y which is 0 but for one
#: row in a thousand is about as small; with less, one such row would decide a test.
LEAST_VARIANCE = 0.01
#: A step of less probability has no digits in G(b) − G(a); there g is taken in its middle.
NARROWEST_STEP = 1e-10
#: In draws of y, functions are averaged over steps of at least this probability,
AVERAGED_PROBABILITY = 1e-3
#: and over those that are at least this share of the tail they begin,
AVERAGED_SHARE = 0.1
#: if that tail has at least this probability. Over other steps functions hardly change, and
#: their value at u is taken.
AVERAGED_TAIL = 1e-8
#: Parts of equal probability that a stretch of several steps is cut into where a sum over
#: all values of y is computed.
STRETCH_PARTS = 16
#: Rows are mostly certain if all values but one have less than this probability together:
#: sums of them over few rows are further from normal than those of exponential numbers.
MOSTLY_CERTAIN = 0.15
#: The share of rows that may be mostly certain where a Gaussian limit is the null.
FEW_CERTAIN_ROWS = 0.05
#: Rows from which the covariance of the functions in a stratum of rows comes,
COVARIANCE_ROWS = 256
#: and points of each stretch by which it is integrated.
STRETCH_POINTS = 48
#: The seed of V where one score is shown for each row of the data. It is not that of a
#: test: the score of a row is the same in every result. No test uses V.
V_SEED = 20_311
#: Rows that are computed together: what fits into the cache of a processor.
BLOCK_ROWS = 4096
#: 1 − u is at least this, the last digit of a double.
SMALLEST_TAIL = 2.0**-53


@dataclass(frozen=True, eq=False)
class StepCdf:
    """The CDF of a discrete y at n rows: its step at y, and its steps at probable values.

    The edges cut the probabilities from 0 to 1 into E + 1 intervals. Most are one step of
    the CDF, some are stretches of several steps.
    """

    lower: FloatArray  #: a = F(y−1|x), (n,).
    upper: FloatArray  #: b = F(y|x), (n,).
    edges: FloatArray  #: Values of F, which do not decrease in a row, (n, E).
    stretches: tuple[int, ...] = ()  #: The numbers of the intervals that are stretches.

    @classmethod
    def from_probabilities(cls, probabilities: AnyArray, observed: IntArray) -> StepCdf:
        """Make it of probabilities (n, K) of all values in their order."""
        sums = np.cumsum(probabilities, axis=1, dtype=np.float64)
        sums /= sums[:, -1:]
        sums[:, -1] = 1.0
        rows = np.arange(len(sums))
        lower = np.where(observed > 0, sums[rows, np.maximum(observed - 1, 0)], 0.0)
        return cls(lower=lower, upper=sums[rows, observed], edges=sums)

    @property
    def n(self) -> int:
        return len(self.lower)

    def take(self, rows: slice | IntArray) -> StepCdf:
        """Return some rows."""
        return replace(
            self, lower=self.lower[rows], upper=self.upper[rows], edges=self.edges[rows]
        )

    @property
    def ends(self) -> FloatArray:
        """The ends of the intervals: 0, the edges, and 1, (n, E + 2)."""
        ends = np.zeros((self.n, self.edges.shape[1] + 2))
        ends[:, 1:-1] = self.edges
        ends[:, -1] = 1.0
        return ends

    @property
    def is_step(self) -> AnyArray:
        """Which intervals are single steps, (E + 1,)."""
        is_step = np.ones(self.edges.shape[1] + 1, dtype=bool)
        is_step[list(self.stretches)] = False
        return is_step

    @property
    def fine_ends(self) -> FloatArray:
        """The ends with stretches cut into `STRETCH_PARTS` of equal probability."""
        number = np.arange(self.edges.shape[1] + 1)
        counts = np.where(self.is_step, 1, STRETCH_PARTS)
        interval = np.append(np.repeat(number, counts), number[-1])
        starts = np.concatenate([np.arange(count) / count for count in counts])
        share = np.append(starts, 1.0)
        # Each fine end is (1 − share) of the lower and `share` of the upper end of its
        # interval.
        weights = np.zeros((len(number) + 1, len(interval)))
        columns = np.arange(len(interval))
        weights[interval, columns] += 1.0 - share
        weights[interval + 1, columns] += share
        return np.asarray(self.ends @ weights)

    @cached_property
    def most_probable(self) -> IntArray:
        """The number of the most probable step of each row, (n,)."""
        p = np.diff(self.ends, axis=1)
        p[:, ~self.is_step] = 0.0
        return np.asarray(p.argmax(axis=1))

    @cached_property
    def largest(self) -> FloatArray:
        """The probability of this step, (n,)."""
        ends = self.ends
        rows = np.arange(self.n)
        return np.asarray(
            ends[rows, self.most_probable + 1] - ends[rows, self.most_probable]
        )

    def uniforms(self, v: FloatArray) -> FloatArray:
        """Return u = a + V(b − a), (n,), with V (n,) between 0 and 1."""
        return np.clip(
            self.lower + v * (self.upper - self.lower), SMALLEST_TAIL, 1.0 - SMALLEST_TAIL
        )

    def normal_scores(self, numbers: IntArray) -> FloatArray:
        """Return z = Φ⁻¹(a + V(b − a)), N(0, 1) under the law, (n,).

        V is uniform, and belongs to the number of the row in the data, (n,).
        """
        return np.asarray(ndtri(self.uniforms(row_uniforms(V_SEED, numbers))))


@dataclass(frozen=True, eq=False)
class AveragedTestFunctions(TestFunctions):
    """Test functions of normal scores, averaged over the step of the CDF at y.

    Functions of normal scores are constant between points half-way on their grid, so that
    G is linear there. Beside those that a continuous y has, there is `MEAN`. In arrays of
    functions, the square of z is one more after the last.
    """

    normal: NormalTestFunctions
    values: FloatArray  #: Of the functions of z and of z², on the grid, (grid, q + 1).
    starts: FloatArray  #: Φ of the points where these values begin, (grid,).
    integrals: FloatArray  #: G there, (grid, q + 1).
    resampled = True

    @staticmethod
    @lru_cache(maxsize=4)
    def at_bandwidths(bandwidths: tuple[float, ...]) -> AveragedTestFunctions:
        """Return them at bandwidths of the Stein functions; made once."""
        normal = NormalTestFunctions.at_bandwidths(bandwidths, 1)
        grid = np.linspace(-GRID_END, GRID_END, GRID_STEPS + 1)
        starts = np.append(0.0, ndtr((grid[1:] + grid[:-1]) / 2.0))
        probability = np.diff(starts, append=1.0)
        values = normal.table.astype(np.float64)
        values -= probability @ values  # mean 0 to the last digit
        z = values[:, _column_of_z(normal)]
        values = np.column_stack([values, z**2])
        up_to_end = np.cumsum(values * probability[:, None], axis=0)
        integrals = np.concatenate([np.zeros((1, values.shape[1])), up_to_end[:-1]])
        return AveragedTestFunctions(
            normal=normal, values=values, starts=starts, integrals=integrals
        )

    @cached_property
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        """Those of normal scores, with `MEAN` before z."""
        sized = []
        for block in self.normal.blocks:
            if block.columns.start == self.z_column:
                mean = TestFunctionBlock(MEAN, is_scale=False)
                sized.append(SizedBlock(mean, 1))
            sized.append(SizedBlock(block, block.size))
        return side_by_side(sized)

    @cached_property
    def z_column(self) -> int:
        """The number of z among the functions of normal scores; that of `MEAN` here."""
        return _column_of_z(self.normal)

    @cached_property
    def surprise_column(self) -> int:
        """The number of the test function of surprise."""
        starts = {block.name: block.columns.start for block in self.blocks}
        return int(starts[SURPRISE])

    @property
    def _first_single(self) -> int:
        return [block.is_scale for block in self.blocks].index(False)

    @property
    def blocks_for_columns(self) -> slice:
        return slice(self._first_single, self._first_single + 1 + FOR_COLUMNS)

    @property
    def blocks_for_pairs(self) -> slice:
        return slice(self._first_single, self._first_single + 1 + FOR_PAIRS)

    @property
    def blocks_for_shapes(self) -> slice:
        of_normal = self.normal.blocks_for_shapes
        return slice(of_normal.start + 1, of_normal.stop + 1)  # `MEAN` comes before z

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return Gaussian(block.bandwidth or 1.0)

    def evaluate(self, residuals: SteppedResiduals) -> AnyArray:
        steps = residuals.steps
        averages = self.average(steps.lower, steps.upper)
        return self.with_mean(averages, residuals.mean_scale)

    def at(self, u: FloatArray) -> FloatArray:
        """Return the functions at uniform numbers, (..., q + 1)."""
        return self.values[self._grid_points(u)]

    def average(
        self, lower: FloatArray, upper: FloatArray, columns: slice = slice(None)
    ) -> FloatArray:
        """Return the means of some functions between probabilities, (..., columns)."""
        width = upper - lower
        is_narrow = width < NARROWEST_STEP
        averages = self._integrate(upper, columns)
        averages -= self._integrate(lower, columns)
        averages /= np.where(is_narrow, 1.0, width)[..., None]
        if is_narrow.any():
            middle = 0.5 * (lower + upper)[is_narrow]
            averages[is_narrow] = self.at(middle)[..., columns]
        return averages

    def _integrate(self, t: FloatArray, columns: slice) -> FloatArray:
        """Return G of some functions at probabilities, (..., columns)."""
        points = self._grid_points(t)
        out = self.values[:, columns][points]
        out *= (t - self.starts[points])[..., None]
        out += self.integrals[:, columns][points]
        return out

    def mean_values(self, steps: StepCdf, scale: FloatArray) -> FloatArray:
        """Return the test function `MEAN` of y, (n,), with what it is divided by, (n,)."""
        at = slice(self.z_column, self.z_column + 1)
        return np.asarray(self.average(steps.lower, steps.upper, at)[:, 0] / scale)

    def _grid_points(self, t: FloatArray) -> IntArray:
        """Return the number of the grid point nearest to Φ⁻¹(t), in the shape of t."""
        z = np.clip(ndtri(t), -GRID_END, GRID_END)
        return np.rint((z + GRID_END) * (GRID_STEPS / (2.0 * GRID_END))).astype(np.int32)

    def mean_scale(self, steps: StepCdf) -> FloatArray:
        """Return the standard deviation given x that `MEAN` is divided by, (n,).

        The variance is Σ P(y)·ξ(y)² over steps, and ∫ z² over stretches.
        """
        ends = steps.ends
        points = self._grid_points(ends)
        offset = ends - self.starts[points]
        values, integrals = self._of_z_and_square
        first = integrals[0][points]
        first += offset * values[0][points]
        second = integrals[1][points]
        second += offset * values[1][points]
        p = np.diff(ends, axis=1)
        squares = np.diff(second, axis=1)
        averaged = (p > NARROWEST_STEP) & steps.is_step
        np.divide(np.square(np.diff(first, axis=1)), p, out=squares, where=averaged)
        return np.asarray(np.sqrt(np.maximum(squares.sum(axis=1), LEAST_VARIANCE)))

    @cached_property
    def _of_z_and_square(self) -> tuple[FloatArray, FloatArray]:
        """Values and integrals of z and z², one after the other in memory, (2, grid)."""
        columns = [self.z_column, -1]
        return (
            np.ascontiguousarray(self.values[:, columns].T),
            np.ascontiguousarray(self.integrals[:, columns].T),
        )

    def with_mean(self, values: FloatArray, scale: FloatArray) -> SingleArray:
        """Return ξ (n, q) from functions (n, q), with z² in the last column, and scales."""
        at = self.z_column
        xi = np.empty(values.shape, dtype=np.float32)
        xi[:, :at] = values[:, :at]
        xi[:, at] = values[:, at] / scale
        xi[:, at + 1 :] = values[:, at:-1]
        return xi

    def covariance_over(self, steps: StepCdf) -> FloatArray:
        """Return E[ξξᵀ | x] averaged over the x of some rows, (q, q).

        Σ P(y)·ξ(y)ξ(y)ᵀ over steps; over stretches, ∫ ggᵀ by points that are evenly spaced
        in z.
        """
        few = steps.take(slice(None, None, max(1, -(-steps.n // COVARIANCE_ROWS))))
        ends = few.ends
        p = np.diff(ends, axis=1)
        matters = p > NARROWEST_STEP
        rows, numbers = np.nonzero(matters & few.is_step)
        averages = self.average(ends[rows, numbers], ends[rows, numbers + 1])
        weights = p[rows, numbers]

        wide_rows, wide_numbers = np.nonzero(matters & ~few.is_step)
        z_ends = np.clip(ndtri(ends), -GRID_END, GRID_END)
        low = z_ends[wide_rows, wide_numbers][:, None]
        high = z_ends[wide_rows, wide_numbers + 1][:, None]
        share = (np.arange(STRETCH_POINTS) + 0.5) / STRETCH_POINTS
        z = low + share * (high - low)
        density = np.exp(-0.5 * z**2)
        of_points = density / density.sum(axis=1, keepdims=True)
        of_points *= p[wide_rows, wide_numbers][:, None]
        at_points = self.at(ndtr(z)).reshape(-1, self.values.shape[1])

        every_row = np.concatenate([rows, np.repeat(wide_rows, STRETCH_POINTS)])
        xi = self.with_mean(
            np.concatenate([averages, at_points]), self.mean_scale(few)[every_row]
        ).astype(np.float64)
        weight = np.concatenate([weights, of_points.ravel()]) / few.n
        return np.asarray((weight[:, None] * xi).T @ xi)


def mean_scale_of(steps: StepCdf) -> FloatArray:
    """Return the standard deviation given x that `MEAN` is divided by, (n,)."""
    functions = AveragedTestFunctions.at_bandwidths(BANDWIDTHS)
    scale = np.empty(steps.n)
    for start in range(0, steps.n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        scale[block] = functions.mean_scale(steps.take(block))
    return scale


def mean_values(steps: StepCdf) -> FloatArray:
    """Return the test function `MEAN` of y, (n,)."""
    functions = AveragedTestFunctions.at_bandwidths(BANDWIDTHS)
    return functions.mean_values(steps, mean_scale_of(steps))


def _column_of_z(normal: NormalTestFunctions) -> int:
    starts = {block.name: block.columns.start for block in normal.blocks}
    return int(starts["z"])


@dataclass(frozen=True, eq=False)
class SteppedResiduals(CellResiduals):
    """Residuals of a discrete y with an order, which has a CDF.

    Kernels on y compare cells, as those of any discrete y. The adaptive test has functions
    of normal scores, averaged over the steps of the CDF.
    """

    standardized_by = "normal scores of the model's CDF, averaged over its steps"
    steps: StepCdf = field(kw_only=True)
    #: The standard deviation given x that `MEAN` is divided by, (n,).
    mean_scale: FloatArray = field(kw_only=True)

    @property
    def row_width(self) -> int:
        # Without the edges, whose number is not the same for all samples of one model. The
        # cells of counts, which are computed only when a kernel asks for them, are more.
        return int(super().row_width + 3)

    def take(self, rows: slice | IntArray) -> Self:
        taken = super().take(rows)
        return replace(taken, steps=self.steps.take(rows), mean_scale=self.mean_scale[rows])

    @cached_property
    def mean_residuals(self) -> FloatArray:
        """The test function `MEAN`, of mean 0 and variance 1 under the law, (n,)."""
        functions = AveragedTestFunctions.at_bandwidths(BANDWIDTHS)
        return functions.mean_values(self.steps, self.mean_scale)

    @property
    def least_surprises(self) -> FloatArray:
        """The least surprise −log P(|Z| ≥ |z|) of the scores z in the step at y, (n,).

        It is at most that of a randomised score, which is exponential under the law.
        """
        tail = np.minimum(self.steps.upper, 1.0 - self.steps.lower)
        return -np.log(np.clip(2.0 * tail, SMALLEST_TAIL, 1.0))

    @property
    def is_mostly_certain(self) -> bool:
        """Whether many rows have one value that is nearly certain."""
        certain = self.steps.largest > 1.0 - MOSTLY_CERTAIN
        return bool(certain.mean() > FEW_CERTAIN_ROWS)

    def test_functions(self, seed: Seed) -> TestFunctions:
        return AveragedTestFunctions.at_bandwidths(BANDWIDTHS)

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        if isinstance(test_functions, AveragedTestFunctions):
            return StepResampler.from_residuals(test_functions, self)
        return super().resampler(test_functions, neighbours)

    def rare_event_resampler(
        self, test_functions: TestFunctions, keep: AnyArray | None = None
    ) -> RareEventResampler | None:
        if isinstance(test_functions, AveragedTestFunctions):
            return StepResampler.from_residuals(test_functions, self, keep)
        return super().rare_event_resampler(test_functions, keep)

    def dependence_values(self) -> DependenceValues:
        """Return Pearson residuals: normal scores tell little where counts are rare."""
        return DependenceValues(self.mean_residuals[:, None])

    def stretches(self, size: int) -> list[slice]:
        return [slice(0, self.n)]

    def details(self) -> dict[str, Any]:
        return {"standardized_by": self.standardized_by}


@dataclass(frozen=True, eq=False)
class StepResampler:
    """Draws y of n rows again, by a uniform number u each: y is where F first reaches u."""

    test_functions: AveragedTestFunctions
    residuals: SteppedResiduals
    scale: FloatArray  #: What `MEAN` is divided by, (n,).
    #: The row of `table` for each interval of the CDF, (n, E + 1); −1 where functions are
    #: not averaged.
    place: IntArray
    table: SingleArray  #: ξ of these intervals, (t, q).
    keep: AnyArray | None  #: Which rows count, (n,); all of them if None.
    names = (OUTLIERS,)

    @classmethod
    def from_residuals(
        cls,
        test_functions: AveragedTestFunctions,
        residuals: SteppedResiduals,
        keep: AnyArray | None = None,
    ) -> StepResampler:
        steps = residuals.steps
        ends = steps.ends
        lower = ends[:, :-1]
        upper = ends[:, 1:]
        p = upper - lower
        tail = np.minimum(1.0 - lower, upper)
        is_large = (p >= AVERAGED_PROBABILITY) | (
            (p >= AVERAGED_SHARE * tail) & (tail >= AVERAGED_TAIL)
        )
        is_averaged = is_large & (p > NARROWEST_STEP) & steps.is_step
        place = np.full(p.shape, -1, dtype=np.int64)
        place[is_averaged] = np.arange(np.count_nonzero(is_averaged))
        scale = residuals.mean_scale
        rows = np.nonzero(is_averaged)[0]
        averages = test_functions.average(lower[is_averaged], upper[is_averaged])
        return cls(
            test_functions=test_functions,
            residuals=residuals,
            scale=scale,
            place=place,
            table=test_functions.with_mean(averages, scale[rows]),
            keep=keep,
        )

    @property
    def observed(self) -> FloatArray:
        return self._outliers(self.test_functions.evaluate(self.residuals)[:, None])

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        uniforms = np.stack([rng.random(self.residuals.n) for _ in range(m)], axis=1)
        values = self.resampled(uniforms)
        return Resampled(
            values=values, additional=self._outliers(values)[None], drawn=uniforms
        )

    def _outliers(self, values: AnyArray) -> FloatArray:
        """Return whether the largest surprises are too large, (m,) of ξ (n, m, q)."""
        # The test function of surprise is the surprise less its mean, 1.
        surprises = values[:, :, self.test_functions.surprise_column].T + 1.0
        return excess(largest_first(surprises), len(values))

    def evaluate(self, rows: IntArray, u: FloatArray) -> AnyArray:
        """Return ξ (m, q) of y drawn by uniform numbers (m,) at rows (m,)."""
        interval = (u[:, None] >= self.residuals.steps.edges[rows]).sum(axis=1)
        return self._at_intervals(rows, interval, u)

    def _at_intervals(self, rows: IntArray, interval: IntArray, u: FloatArray) -> AnyArray:
        """Return ξ (m, q) where numbers u are in these intervals of the CDF; all (m,)."""
        place = self.place[rows, interval]
        xi = np.empty((len(rows), self.test_functions.width), dtype=self.table.dtype)
        averaged = np.flatnonzero(place >= 0)
        xi[averaged] = self.table[place[averaged]]
        apart = np.flatnonzero(place < 0)
        if len(apart):
            values = self.test_functions.at(u[apart])
            xi[apart] = self.test_functions.with_mean(values, self.scale[rows[apart]])
        return np.asarray(xi if self.keep is None else xi * self.keep[rows, None])

    @property
    def numbers_each(self) -> int:
        return int(self.residuals.n * self.test_functions.width)

    def resampled(self, uniforms: FloatArray, certain: float = 0.0) -> AnyArray:
        """Return ξ (n, c, q) of y drawn by uniform numbers (n, c).

        Rows whose exceptions have at most the probability `certain` are their mode.
        """
        if certain:
            is_certain = (self._rare <= certain)[:, None]
            uniforms = np.where(is_certain, self._middle_of_mode[:, None], uniforms)
        n, c = uniforms.shape
        interval = np.zeros(uniforms.shape, dtype=np.int64)
        for edge in self.residuals.steps.edges.T:
            interval += uniforms >= edge[:, None]
        rows = np.repeat(np.arange(n), c)
        values = self._at_intervals(rows, interval.ravel(), uniforms.ravel())
        return values.reshape(n, c, self.test_functions.width)

    @property
    def _rare(self) -> FloatArray:
        """The probability of any value but the most probable one, (n,)."""
        return np.asarray(1.0 - self.residuals.steps.largest)

    @cached_property
    def _start_of_mode(self) -> FloatArray:
        """Where the step of the most probable value begins, (n,)."""
        steps = self.residuals.steps
        return np.asarray(steps.ends[np.arange(steps.n), steps.most_probable])

    @property
    def _middle_of_mode(self) -> FloatArray:
        return self._start_of_mode + 0.5 * self.residuals.steps.largest

    def has_certain_rows(self, certain: float) -> bool:
        return bool(((self._rare > 0) & (self._rare <= certain)).any())

    def exceptions(
        self, start: int, certain: float, draws: range, seed: Seed
    ) -> Exceptions:
        """Return where rows that are nearly certain are not drawn as their mode."""
        rare = np.where(self._rare <= certain, self._rare, 0.0)
        return draw_exceptions_in_blocks(rare, certain, start, draws, seed)

    def exceptional(self, exceptions: Exceptions) -> AnyArray:
        """Return ξ of exceptions, (e, q): their uniform numbers leave out the mode."""
        rows = exceptions.rows
        u = exceptions.uniforms * self._rare[rows]
        u = np.where(u >= self._start_of_mode[rows], u + 1.0 - self._rare[rows], u)
        return self.evaluate(rows, u)

    def usual(self, rows: IntArray) -> AnyArray:
        """Return ξ of the most probable value at rows, (e, q)."""
        return self.evaluate(rows, self._middle_of_mode[rows])
