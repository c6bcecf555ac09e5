"""Laws of draws, quantiles and intervals, against loops and other libraries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import condgof as cg
from condgof.errors import InputError
from condgof.laws import RankOutcomes, rank_features, row_ranks
from seeds import examples

RNG = np.random.default_rng(0)
N = 60
M = 19
X = RNG.normal(size=N)
DRAWS = X[:, None] + RNG.normal(size=(N, M))
Y = X + RNG.normal(size=N)


def test_ranks_by_hand():
    """u = (r + V)/(m + 1): r draws are below y, and V is between 0 and 1."""
    u = cg.from_draws(DRAWS).pit(Y)
    for i in range(N):
        rank = sum(draw < Y[i] for draw in DRAWS[i])
        assert rank / (M + 1) <= u[i] < (rank + 1) / (M + 1)


def test_the_rank_of_one_of_m_plus_one_equal_chances_is_uniform():
    """With each of the m + 1 candidates as y, the places tile (0, 1) exactly, for any m."""
    candidates = np.concatenate([Y[:, None], DRAWS], axis=1)
    places = []
    for k in range(M + 1):
        rest = np.delete(candidates, k, axis=1)
        places.append(cg.from_draws(rest).pit(candidates[:, k]))
    places = np.sort(np.stack(places), axis=0)
    v = places[0] * (M + 1)
    np.testing.assert_allclose(
        places, (np.arange(M + 1)[:, None] + v) / (M + 1), rtol=1e-12
    )


def test_ties_are_broken_at_random_and_evenly():
    """All draws equal y: its place is uniform over (0, 1)."""
    law = cg.from_draws(np.zeros((4000, 9)))
    assert stats.kstest(law.pit(np.zeros(4000)), "uniform").pvalue > 1e-4


def test_random_numbers_belong_to_rows():
    law = cg.from_draws(DRAWS, rng=3)
    rows = np.array([50, 2, 2, 17])
    np.testing.assert_array_equal(law.take(rows).pit(Y[rows]), law.pit(Y)[rows])
    assert (cg.from_draws(DRAWS, rng=4).pit(Y) != law.pit(Y)).all()


def test_step_cdf_quantiles_moments_and_sampler():
    law = cg.from_draws(DRAWS)
    np.testing.assert_allclose(law.cdf(Y), (Y[:, None] >= DRAWS).mean(axis=1))
    np.testing.assert_allclose(law.sf(Y), (Y[:, None] < DRAWS).mean(axis=1))
    np.testing.assert_allclose(
        law.cdf_grid(Y[:4]), (DRAWS[:, :, None] <= Y[:4]).mean(axis=1)
    )
    np.testing.assert_allclose(law.quantile([0.5])[:, 0], np.sort(DRAWS, axis=1)[:, 9])
    np.testing.assert_allclose(law.mean_std()[1][:, 0], DRAWS.std(axis=1, ddof=1))
    drawn = law.sample(np.random.default_rng(0))
    assert (drawn == DRAWS).any(axis=1).all()


@pytest.mark.parametrize(
    ("draws", "y"), [("f8", "f8"), ("f4", "f8"), ("f8", "f4"), ("f4", "f4")]
)
def test_single_precision_keeps_ties(draws, y):
    """0.1 in single precision is not 0.1: ties of rounded data would fall to one side."""
    rng = np.random.default_rng(0)
    exact = np.round(rng.exponential(0.3, (300, 99)), 1)
    exact_y = np.round(rng.exponential(0.3, 300), 1)
    rough = exact.astype(draws)
    rough_y = exact_y.astype(y)

    wanted = cg.from_draws(exact).pit(exact_y)
    np.testing.assert_array_equal(cg.from_draws(rough).pit(rough_y), wanted)

    levels = [0.2, 0.5, 0.9]
    table = np.sort(exact[:, :3], axis=1)
    rough_table = table.astype(draws)
    wanted = cg.from_quantiles(table, levels).codes(exact_y)
    codes = cg.from_quantiles(rough_table, levels).codes(rough_y)
    np.testing.assert_array_equal(codes, wanted)

    wanted = cg.from_intervals(table[:, 0], table[:, 2], 0.7).codes(exact_y)
    codes = cg.from_intervals(rough_table[:, 0], rough_table[:, 2], 0.7).codes(rough_y)
    np.testing.assert_array_equal(codes, wanted)


@pytest.mark.parametrize(
    "make",
    [
        lambda f: (f["m"], f["s"]),
        lambda f: cg.from_draws(f[["m", "s"]]),
        lambda f: cg.from_quantiles(f[["m", "s"]], [0.2, 0.8]),
        lambda f: cg.from_intervals(f["m"], f["m"] + 1, 0.9),
        lambda f: cg.from_pit(f["s"]),
        lambda f: cg.from_scores(f["m"], support=(0, None)),
        lambda f: cg.models.Gamma(shape=f["s"], scale=1.0),
    ],
)
def test_predictions_of_another_index_are_refused(make):
    x = pd.DataFrame({"a": X})
    frame = pd.DataFrame({"m": np.abs(X), "s": RNG.uniform(0.1, 0.9, N)})
    y = pd.Series(np.abs(Y))
    assert cg.adaptive(make(frame), x, y, rng=0, n_boot=9).n == N
    with pytest.raises(InputError, match="predictions and x have different indices"):
        cg.adaptive(make(frame[::-1]), x, y, rng=0, n_boot=9)
    gap = pd.DataFrame({"a": np.where(np.arange(N) == 3, np.nan, X)})
    assert cg.adaptive(make(frame), gap, y, rng=0, n_boot=9, missing="drop").n == N - 1


def test_rows_by_number_mask_or_slice():
    law = cg.normal(mean=X, std=np.ones(N))
    for rows in (X > 0, slice(3, 9), np.array([-1, 0])):
        assert law.take(rows).rows == len(X[rows])
        np.testing.assert_array_equal(law.take(rows).mean.value, X[rows])


def test_arviz_agrees_on_the_share_of_draws():
    """The same draws through arviz-stats, all of equal weight, and through condgof."""
    import arviz_base as azb
    import arviz_stats as azs
    import xarray as xr

    draws = np.moveaxis(DRAWS[:, :18].reshape(N, 2, 9), 0, 2)
    tree = azb.from_dict(
        {
            "posterior": {"a": RNG.normal(size=(2, 9))},
            "posterior_predictive": {"y": draws},
            "observed_data": {"y": Y},
            "log_likelihood": {"y": np.zeros(draws.shape)},
        }
    )
    weights = xr.zeros_like(tree["log_likelihood"]["y"]) - np.log(18)
    shape = xr.zeros_like(tree["observed_data"]["y"])
    theirs = azs.loo_pit(
        tree, var_names=["y"], log_weights={"y": weights}, pareto_k={"y": shape}
    )["y"]
    ours = cg.from_draws(tree, loo=False)
    np.testing.assert_allclose(ours.cdf(Y), theirs.to_numpy(), rtol=0, atol=1e-12)
    assert np.abs(ours.pit(Y) - theirs.to_numpy()).max() <= 1 / 19
    array = tree["posterior_predictive"]["y"]
    same = [cg.adaptive(model, X, Y, rng=0, n_boot=50).pvalue for model in (array, ours)]
    assert same[0] == same[1]


def test_features_of_ranks_have_mean_0_over_the_candidates():
    candidates = np.round(RNG.normal(size=(7, 6, 3)), 1)  # with ties
    outcomes = RankOutcomes.from_candidates(candidates)
    every = np.stack([outcomes.residuals(np.full(7, k)) for k in range(6)])
    np.testing.assert_allclose(every.mean(axis=0), 0.0, atol=1e-12)
    assert every.any()


def test_several_columns_whatever_their_order_among_the_draws():
    """Nothing depends on the order of the draws, nor on the units of a column."""
    draws = RNG.normal(size=(N, 12, 2)) + X[:, None, None]
    y = RNG.normal(size=(N, 2)) + X[:, None]
    units = np.array([1.0, 8.0])
    plain = cg.kcsd(cg.from_draws(draws), X, y, rng=0, n_boot=9)
    other = cg.kcsd(cg.from_draws(draws[:, ::-1] * units), X, y * units, rng=0, n_boot=9)
    assert plain.statistic == pytest.approx(other.statistic, rel=1e-9)


@pytest.mark.parametrize("wrong", ["mean", "spread", "dependence"])
def test_several_columns_have_power(wrong):
    rng = np.random.default_rng(1)
    x = rng.normal(size=250)
    noise = rng.normal(size=(250, 50, 2))
    y = rng.normal(size=(250, 2))
    if wrong == "mean":
        y[:, 1] += 0.7 * np.sign(x)
    elif wrong == "spread":
        y[:, 0] *= np.where(x > 0, 2.0, 0.7)
    else:
        y[:, 1] = 0.8 * y[:, 0] + 0.6 * y[:, 1]
    assert cg.adaptive(cg.from_draws(noise), x, y, rng=0, n_boot=199).reject(0.01)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_cells_between_quantiles(seed, count):
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.choice(np.arange(1, 100), count, replace=False)) / 100
    table = np.sort(rng.integers(0, 6, (8, count)).astype(float), axis=1)
    y = rng.integers(-1, 7, 8).astype(float)
    law = cg.from_quantiles(table, levels)
    codes = law.codes(y)
    for i in range(8):
        first = (table[i] < y[i]).sum()
        end = (table[i] <= y[i]).sum()
        if end == first:
            assert codes[i] == first
        elif end == first + 1:  # y equals one quantile, and is below or above it
            assert codes[i] in (first, end)
        else:  # y equals several quantiles
            assert first <= codes[i] < end
    assert law.shares.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(
        law.take(np.array([3, 3])).codes(y[[3, 3]]), codes[[3, 3]]
    )


def test_an_atom_is_spread_over_the_cells_that_end_there():
    """Zero-inflated y with quantiles 0, 0, 0, …: the cells come as often as they should."""
    rng = np.random.default_rng(0)
    n = 20_000
    levels = np.arange(1, 10) / 10
    y = np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n))
    quantiles = np.maximum(-np.log((1 - levels) / 0.7), 0.0)  # 0 up to the level 0.3
    table = np.tile(quantiles, (n, 1))
    counts = np.bincount(cg.from_quantiles(table, levels).codes(y), minlength=10)
    assert stats.chisquare(counts, np.full(10, n / 10)).pvalue > 1e-4


def test_cells_of_intervals():
    law = cg.from_intervals([[0.0, -1.0]] * 5, [[1.0, 2.0]] * 5, [0.5, 0.9])
    np.testing.assert_array_equal(
        law.codes(np.array([0.1, 0.9, -0.9, 1.9, 2.1])), [0, 0, 1, 1, 2]
    )
    at_ends = law.codes(np.array([0.0, 1.0, -1.0, 2.0, 2.0]))
    assert set(at_ends[:2]) <= {0, 1}
    assert set(at_ends[2:]) <= {1, 2}
    half = cg.from_intervals(np.full(5, -np.inf), np.zeros(5), 0.9)
    np.testing.assert_array_equal(
        half.codes(np.array([-1e9, -0.1, 0.1, -1.0, 3.0])), [0, 0, 1, 0, 1]
    )


def test_where_conformal_intervals_of_mapie_fail():
    from mapie.regression import SplitConformalRegressor
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.uniform(0, 3, (n, 1))
        return x, x[:, 0] + (0.2 + 0.5 * x[:, 0]) * rng.normal(size=n)

    x, y = draw(2000)
    x_new, y_new = draw(800)
    mapie = SplitConformalRegressor(LinearRegression(), confidence_level=0.9, prefit=False)
    mapie.fit(x[:1000], y[:1000]).conformalize(x[1000:], y[1000:])
    _, ends = mapie.predict_interval(x_new)
    law = cg.from_intervals(ends[:, 0, 0], ends[:, 1, 0], 0.9)
    report = cg.check(law, x_new, y_new, rng=1)
    assert report.result.reject(0.01)
    under = [one for one in report.slices if one.findings[0].estimate < 0.87]
    assert under
    assert all("90% interval holds" in one.message for one in under)
    assert all(x_new[one.rows, 0].mean() > 1.5 for one in under)


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_ranks_in_rows_are_those_of_scipy(digits):
    values = np.round(np.random.default_rng(0).normal(size=(50, 8)), digits)
    ranked = row_ranks(values)
    np.testing.assert_array_equal(ranked.ranks, stats.rankdata(values, axis=1))
    distinct = [len(np.unique(row)) for row in values]
    np.testing.assert_array_equal(ranked.has_ties, np.array(distinct) < 8)
    assert ranked.has_ties.any() == (digits < 12)


@pytest.mark.parametrize("digits", [1, 12])
def test_residuals_of_ranks_are_features_less_their_mean(digits):
    candidates = np.round(np.random.default_rng(0).normal(size=(9, 7, 3)), digits)
    outcomes = RankOutcomes.from_candidates(candidates)
    features = rank_features(outcomes.ranks, 3)
    codes = np.arange(9) % 7
    expected = features[np.arange(9), codes] - features.mean(axis=1)
    np.testing.assert_allclose(outcomes.residuals(codes), expected, atol=1e-12)


def test_features_of_ranks_are_cosines_and_products_of_them():
    ranks = np.random.default_rng(0).random((5, 4, 4)).astype(np.float32)
    features = rank_features(ranks, 2)
    t = ranks.astype(np.float64)
    waves = [np.cos(np.pi * k * t) / k for k in range(1, 7)]
    crossed = [
        (waves[a][..., 1] * waves[b][..., 0])[..., None] for a in (0, 1) for b in (0, 1)
    ]
    np.testing.assert_allclose(features, np.concatenate([*waves, *crossed], -1), atol=1e-12)
