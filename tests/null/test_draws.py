"""Nulls: their draws against loops, against each other, and their distribution."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

import condgof as cg
import oracle
from condgof.engine import as_engine
from condgof.kernels import Gaussian, cell_scales
from condgof.null import (
    BlockSigns,
    Combination,
    Dependence,
    Family,
    GaussianLimit,
    NullDraws,
    ParcelSigns,
    RecombinedResample,
    Resample,
    RowSigns,
    block_length,
    bootstrap_weights,
)
from condgof.residuals import (
    OUTLIERS,
    CellTestFunctions,
    ContinuousResiduals,
    Neighbours,
    NormalTestFunctions,
    Resampled,
    ScoreResiduals,
    SteinTestFunctions,
    residuals_of,
)
from condgof.sample import Column, Sample, Seed
from condgof.stein import PIECE_ROWS, FeatureMap, Features, Panel, Piece, Plan, constant

ENGINE = as_engine(1)
SEED = Seed.of(0)
COLUMNS = (Column("a"), Column("b"))


class PieceInMemory(Piece):
    """Rows in memory, as nulls ask for them."""

    is_stream = False

    @property
    def n(self):
        return self.total

    @property
    def can_resample(self):
        return self.residuals.can_resample

    def resampler(self, test_functions, seed):
        neighbours = Neighbours(x=self.x, columns=COLUMNS, seed=seed)
        return self.residuals.resampler(test_functions, neighbours)


def plan_of(test_functions):
    """Both columns of x in one block, and the constant, with all test functions."""
    linear = FeatureMap("x", lambda x: x, labels=(0,), sizes=(2,))
    panel = Panel(features=slice(0, 2), test_functions=slice(0, len(test_functions.blocks)))
    return Plan(Features((linear, constant())), test_functions, (panel,))


def normal_plan():
    return plan_of(NormalTestFunctions.at_bandwidths((2.0, 1.0), 1))


def normal_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    x = rng.normal(size=(n, 2))
    return PieceInMemory(x=x, residuals=ContinuousResiduals(u=z, scores=-z))


def score_plan(bandwidths, rng):
    """x and its square, with Stein functions whose landmarks are dense on the line."""
    kernels = [Gaussian(bandwidth) for bandwidth in bandwidths]
    grid = np.linspace(-4, 4, 200)[:, None]
    test_functions = SteinTestFunctions.from_landmarks(
        kernels, grid, np.ones_like(grid), rng, precision=1e-12, cap=200
    )
    feature_map = FeatureMap("x", lambda x: np.hstack([x, x**2]), labels=(0,), sizes=(2,))
    panel = Panel(features=slice(0, 1), test_functions=slice(0, len(bandwidths)))
    return Plan(Features((feature_map,)), test_functions, (panel,))


def score_rows(n, rng):
    x, y, scores = rng.normal(size=(3, n, 1))
    return PieceInMemory(x=x, residuals=ScoreResiduals(u=y, scores=scores))


def stein_matrix(rows, sigma):
    """The Stein matrix of `score_plan` at one bandwidth, pair by pair."""
    f = np.hstack([rows.x, rows.x**2])
    residuals = rows.residuals
    h = oracle.stein_h(residuals.u, residuals.scores, oracle.gaussian, sigma)
    return (f @ f.T) * h


@pytest.mark.parametrize("name", ["wild", "multinomial", "spectral"])
@pytest.mark.parametrize("n", [9, 60])
def test_weights_on_rows_against_loops(name, n):
    rng = np.random.default_rng(0)
    bandwidths = (1.0, 0.5)
    plan = score_plan(bandwidths, rng)
    rows = score_rows(n, rng)
    null = RowSigns(name, Dependence())
    drawn = null.draw(plan, rows, 12, Seed.of(1), ENGINE)
    weights = bootstrap_weights(name, n, 12, Seed.of(1))
    w = weights.block(0, n)
    # Statistics are divided by n − 1; draws by what their weights ask for.
    factor = weights.factor * (n - 1)
    for k, sigma in enumerate(bandwidths):
        matrix = stein_matrix(rows, sigma)
        expected = factor * oracle.off_diagonal_forms(matrix, w)
        size = np.abs(matrix).sum()
        np.testing.assert_allclose(drawn.draws[k], expected, atol=2e-5 * size)
        off_diagonal = matrix.sum() - np.trace(matrix)
        assert drawn.statistics[k] == pytest.approx(off_diagonal, abs=1e-5 * size)
    # The additional function of single rows has the same weights.
    values = plan.test_functions.additional_values(rows.x, rows.residuals)
    outliers = drawn.additional[OUTLIERS]
    assert drawn.statistics[outliers] == pytest.approx(values.sum())
    np.testing.assert_allclose(drawn.draws[outliers], values @ w)


@pytest.mark.parametrize(
    "dependence",
    [Dependence(length=8), Dependence(codes=np.arange(96) // 6)],
    ids=["blocks", "groups"],
)
def test_signs_of_parcels_against_loops(dependence):
    """Pairs of rows within a parcel are in neither the statistics nor the draws."""
    n = 96
    rng = np.random.default_rng(0)
    plan = score_plan((1.0,), rng)
    rows = score_rows(n, rng)
    null = ParcelSigns("wild", dependence)
    drawn = null.draw(plan, rows, 12, Seed.of(1), ENGINE)
    parcels = dependence.parcels(n, 512)(0, n)
    count = len(np.unique(parcels))
    assert drawn.details["parcels"] == count
    apart = parcels[:, None] != parcels
    between = np.where(apart, stein_matrix(rows, 1.0), 0.0)
    factor = n * (n - 1) / apart.sum()
    signs = bootstrap_weights("wild", count, 12, Seed.of(1)).block(0, count)[parcels]
    size = np.abs(between).sum()
    assert drawn.statistics[0] == pytest.approx(factor * between.sum(), abs=1e-5 * size)
    expected = factor * oracle.off_diagonal_forms(between, signs)
    np.testing.assert_allclose(drawn.draws[0], expected, atol=2e-5 * size)


@dataclass
class SameData:
    """A resampler that gives the data back, m times."""

    values: np.ndarray
    names = (OUTLIERS,)
    observed = np.array([3.5])

    def draw(self, rng, m):
        return Resampled(
            values=np.repeat(self.values[:, None], m, axis=1),
            additional=np.full((1, m), self.observed[0]),
            drawn=np.zeros((len(self.values), m)),
        )


class GivenBack(PieceInMemory):
    def resampler(self, test_functions, seed):
        return SameData(test_functions.evaluate(self.residuals))


def test_resampling_treats_the_data_as_it_treats_draws():
    """A resampler that gives the data back gives the very same statistics."""
    rows = normal_rows(40)
    same = GivenBack(x=rows.x, residuals=rows.residuals)
    drawn = Resample().draw(normal_plan(), same, 3, SEED, ENGINE)
    repeated = np.repeat(drawn.statistics[:, None], 3, axis=1)
    np.testing.assert_allclose(drawn.draws, repeated, rtol=1e-4, atol=1e-4)


def test_resampling_does_not_depend_on_threads():
    one, three = (
        Resample().draw(normal_plan(), normal_rows(200), 70, SEED, as_engine(threads))
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.draws, three.draws)


def test_the_limit_is_that_of_resampling():
    """Heavy tails of test functions leave a little at this n, in units of the spread."""
    plan = normal_plan()
    rows = normal_rows(2000)
    m = 6000
    resampled = Resample().draw(plan, rows, m, SEED, ENGINE)
    limit = GaussianLimit().draw(plan, rows, m, SEED, ENGINE)
    assert limit.additional == resampled.additional == {OUTLIERS: len(plan.statistics)}
    spread = resampled.draws.std(axis=1)
    for level, within in ((0.5, 0.12), (0.95, 0.3)):
        quantile = np.quantile(resampled.draws, level, axis=1)
        quantile_of_limit = np.quantile(limit.draws, level, axis=1)
        assert np.abs((quantile - quantile_of_limit) / spread).max() < within
    sums = limit.draws[:-1]
    np.testing.assert_allclose(sums.mean(axis=1) / sums.std(axis=1), 0.0, atol=0.15)


@pytest.mark.parametrize("n", [3000, 100_000])
def test_blocks_are_few_and_fit_into_pieces(n):
    length = block_length(n, 2048)
    assert PIECE_ROWS % length == 0 or length % PIECE_ROWS == 0
    assert n / length <= 2048


def test_signs_of_blocks_have_the_spread_of_signs_of_rows(monkeypatch):
    plan = normal_plan()
    rows = normal_rows(3000)
    by_row = RowSigns("wild", Dependence()).draw(plan, rows, 800, SEED, ENGINE)
    monkeypatch.setattr("condgof.null._signs.MOST_BLOCKS", 512)
    by_block = BlockSigns("wild", Dependence()).draw(plan, rows, 800, SEED, ENGINE)
    blocks = by_block.details["blocks"]
    assert blocks == np.ceil(3000 / block_length(3000, 512)) <= 512
    np.testing.assert_allclose(
        by_block.statistics, by_row.statistics, rtol=1e-4, atol=1e-4 * by_row.sizes.max()
    )
    # The spread of a statistic of one term is that of a sum over the blocks.
    ratio = by_block.draws.std(axis=1) / by_row.draws.std(axis=1)
    assert np.abs(np.log(ratio)).max() < 5 * np.sqrt(2 / blocks + 2 / 800)


def rare_rows(n, rare, seed=0):
    """Rows of two cells, the second of which has the probability `rare`, (n,) or one."""
    rng = np.random.default_rng(seed)
    rare = np.broadcast_to(rare, n)
    codes = (rng.random(n) < rare).astype(int)
    x = rng.normal(size=(n, 2))
    law = cg.probabilities(np.column_stack([1 - rare, rare]))
    sample = Sample.from_data(x, codes, to_test=False)
    return PieceInMemory(x=x, residuals=residuals_of(law, sample, "none"))


def label_plan(rows):
    return plan_of(CellTestFunctions(cell_scales(rows.residuals.cells, (1.0,))))


@pytest.mark.parametrize(
    "rare",
    [0.3, 2e-3, np.where(np.arange(6000) % 3, 0.2, 1e-3)],
    ids=["common", "rare", "mixed"],
)
def test_strata_recombined_are_draws_of_all_rows(rare):
    rows = rare_rows(6000, rare)
    plan = label_plan(rows)
    exact = Resample().draw(plan, rows, 600, SEED, ENGINE)
    recombined = RecombinedResample().draw(plan, rows, 600, SEED, ENGINE)
    size = exact.sizes.max()
    np.testing.assert_allclose(
        recombined.statistics, exact.statistics, rtol=1e-3, atol=1e-3 * size
    )
    for a, b in zip(exact.draws, recombined.draws, strict=True):
        assert ks_2samp(a, b).statistic < 0.12


def test_what_is_rare_happens_to_other_rows_in_every_draw():
    """Else data in which it happened to a row that no draw has would stand out."""
    m = 500
    rows = rare_rows(10_000, 1e-4)
    drawn = RecombinedResample().draw(label_plan(rows), rows, m, SEED, ENGINE)
    # The first statistic tells draws apart by the x of the rows to which it happened.
    values, counts = np.unique(drawn.draws[0].round(9), return_counts=True)
    # The most frequent value is that of draws in which it happened to no row: exp(-1).
    nowhere = counts.max()
    assert binom.ppf(1e-4, m, np.exp(-1)) <= nowhere <= binom.isf(1e-4, m, np.exp(-1))
    assert len(values) > 0.95 * (m - nowhere)


@pytest.mark.parametrize("n", [10, 40])
def test_the_level_of_resampling_is_exact(n):
    plan = normal_plan()
    trials = 300
    rejections = 0
    families = [Family("all", 1.0, np.arange(len(plan.statistics) + 1))]
    for trial in range(trials):
        rows = normal_rows(n, 1000 + trial)
        drawn = Resample().draw(plan, rows, 39, Seed.of(trial), ENGINE)
        rejections += Combination.from_draws(drawn, families).pvalue <= 0.1
    assert binom.ppf(1e-4, trials, 0.1) <= rejections <= binom.isf(1e-4, trials, 0.1)


def test_one_more_statistic_has_a_name_and_no_rounding():
    drawn = NullDraws(np.array([1.0, 2.0]), np.zeros((2, 3)), np.ones(2))
    more = drawn.plus("third", 7.0, np.array([1.0, 2.0, 3.0]))
    assert more.additional == {"third": 2}
    assert more.statistics.tolist() == [1.0, 2.0, 7.0]
    assert more.draws[2].tolist() == [1.0, 2.0, 3.0]
    assert more.sizes.tolist() == [1.0, 1.0, 0.0]


def test_the_first_statistic_is_over_n_less_one_and_settles_ties():
    draws = np.array([[10.0 + 1e-9, 20.0, -5.0], [0.0, 0.0, 0.0]])
    drawn = NullDraws(np.array([10.0, 0.0]), draws, np.ones(2))
    first = drawn.first(n=11)
    assert first.total == 10.0
    assert first.draws.tolist() == [1.0, 2.0, -0.5]
