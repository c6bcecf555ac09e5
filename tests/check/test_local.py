"""A model near one point of x: report.at(x0)."""

import json
import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, norm, poisson

import condgof as cg
from condgof.check._local import FEWEST_NEAR, LocalWeights, NearRows, local_numbers
from condgof.check._local_band import (
    PIT_LEVELS,
    averaged_curve,
    curve_band,
    effective_rows,
    joint_critical,
    largest_distance,
    share_ends,
    step_curve,
    sums_by_unit,
)
from condgof.check.kinds import CheckedRows
from condgof.errors import InputError, InputTypeError, ShapeError, UnsupportedModelError
from condgof.sample import Column

mpl.use("Agg")
FAST = {"rng": 0, "n_boot": 39}


def weighted_rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n)
    return rng.random(n), weights / weights.sum()


# The band, by slow and obvious means.


def test_the_curve_is_a_weighted_share():
    u, w = weighted_rows()
    expected = [sum(w[i] for i in range(len(u)) if u[i] <= t) for t in PIT_LEVELS]
    np.testing.assert_allclose(step_curve(u, w), expected, atol=1e-12)


def test_the_averaged_curve_is_the_mean_over_the_randomisation():
    lower, w = weighted_rows()
    lower = 0.7 * lower
    upper = lower + 0.3
    rng = np.random.default_rng(1)
    each = [step_curve(rng.uniform(lower, upper), w) for _ in range(4000)]
    mean = np.mean(each, axis=0)
    error = np.std(each, axis=0) / np.sqrt(4000)
    assert (np.abs(averaged_curve(lower, upper, w) - mean) <= 5 * error + 1e-9).all()


def test_the_distance_is_the_supremum():
    u, w = weighted_rows()
    m = 1.0 / np.square(w).sum()
    # On both sides of each PIT, and on a fine grid.
    t = np.sort(np.concatenate([u, u - 1e-9, np.linspace(0, 1, 5001)]))
    curve = np.array([w[u <= one].sum() for one in t])
    distance = np.abs(curve - t) / np.sqrt((t * (1 - t) + 1 / m) / m)
    np.testing.assert_allclose(largest_distance(u, w), distance.max(), rtol=1e-6)
    several = np.stack([u, u[::-1]])
    np.testing.assert_allclose(
        largest_distance(several, w),
        [largest_distance(u, w), largest_distance(u[::-1], w)],
    )


@pytest.mark.parametrize("floor", [0.0, 0.05])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_ends_solve_their_inequality(share, floor):
    m = 30.0
    g = np.linspace(0, 1, 200_001)
    inside = g[np.abs(share - g) <= 2.5 * np.sqrt((g * (1 - g) + floor) / m) + 1e-15]
    ends = share_ends(share, m, 2.5, floor)
    np.testing.assert_allclose(
        (float(ends.low), float(ends.high)), (inside.min(), inside.max()), atol=1e-5
    )


def test_the_band_excludes_the_diagonal_exactly_where_the_pvalue_is_small():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.15, 0.3, 0.6):
        _, w = weighted_rows(200)
        u = norm.cdf(rng.standard_normal(200) + shift)
        distance = float(largest_distance(u, w))
        band = curve_band(step_curve(u, w), unit_weights=w, rng=rng, distance=distance)
        inside = (band.low <= PIT_LEVELS) & (band.high >= PIT_LEVELS)
        # The band is reported at 101 levels, the p-value is of all levels.
        assert inside.all() or band.pvalue <= 0.05


@pytest.mark.parametrize("truth", ["right", "shifted", "heteroscedastic"])
def test_the_band_holds_the_curve_of_the_same_smoothing(truth):
    """At least 93% of samples; benchmarks/local_band.py has 500 of each."""
    samples = 60
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(samples):
        x = rng.random((150, 1))
        mean = np.full(150, 0.8 if truth == "shifted" else 0.0)
        sd = 0.5 + 2.0 * x[:, 0] if truth == "heteroscedastic" else np.ones(150)
        u = norm.cdf(mean + sd * rng.standard_normal(150))
        near = LocalWeights.from_rows(x, (Column("x"),)).near(np.array([0.6]), None)
        curve = step_curve(u[near.rows], near.weights)
        band = curve_band(curve, unit_weights=near.weights, rng=rng)
        z = (norm.ppf(PIT_LEVELS[1:-1])[:, None] - mean[near.rows]) / sd[near.rows]
        expected = norm.cdf(z) @ near.weights
        held += bool(((band.low[1:-1] <= expected) & (expected <= band.high[1:-1])).all())
    assert held >= binom.ppf(0.001, samples, 0.95)


def test_rows_that_depend_count_as_one():
    w = np.full(40, 1 / 40)
    units = np.repeat(np.arange(10), 4)
    assert effective_rows(sums_by_unit(w, units)) == pytest.approx(10.0)
    assert effective_rows(sums_by_unit(w, None)) == pytest.approx(40.0)


def test_intervals_hold_together():
    assert joint_critical(1) == pytest.approx(norm.ppf(0.975))
    assert (2 * norm.cdf(joint_critical(3)) - 1) ** 3 == pytest.approx(0.95)


# Weights.


def test_the_narrowest_neighbourhood_with_enough_rows_serves():
    rng = np.random.default_rng(0)
    x = rng.random((20_000, 1))
    few = LocalWeights.from_rows(x[:300], (Column("x"),)).near(np.array([0.5]), None)
    many = LocalWeights.from_rows(x, (Column("x"),)).near(np.array([0.5]), None)
    assert few.effective >= 100
    assert many.effective >= 150
    spread_few = np.abs(x[few.rows, 0] - 0.5).max()
    spread_many = np.abs(x[many.rows, 0] - 0.5).max()
    assert spread_many < 0.5 * spread_few
    assert (np.diff(many.weights) <= 0).all()
    assert many.weights.sum() == pytest.approx(1.0)


def test_other_categories_count_only_where_rows_are_few():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random(1000), rng.permutation(np.arange(1000) < 30)])
    columns = (Column("a"), Column("b", levels=("no", "yes")))
    weights = LocalWeights.from_rows(x, columns)
    common = weights.near(np.array([0.5, 0.0]), None)
    rare = weights.near(np.array([0.5, 1.0]), None)
    assert not common.mixes_categories
    assert (x[common.rows, 1] == 0).all()
    # 30 rows of the category are there, about 16 of them near.
    assert rare.mixes_categories
    assert set(x[rare.rows, 1]) == {0.0, 1.0}
    x[:200, 1] = 1.0
    some = LocalWeights.from_rows(x, columns).near(np.array([0.5, 1.0]), None)
    assert not some.mixes_categories
    assert 20 <= some.effective < 150


def test_a_point_far_outside_has_no_rows_near():
    x = np.random.default_rng(0).random((500, 1))
    weights = LocalWeights.from_rows(x, (Column("x"),))
    assert weights.near(np.array([1.001]), None).effective > FEWEST_NEAR
    assert weights.near(np.array([3.0]), None).effective < FEWEST_NEAR
    none = NearRows.from_kernel(np.zeros(5), None)
    assert none.effective == 0.0


# Reports.


def mixed_report(n=1500, model=None):
    rng = np.random.default_rng(0)
    region = rng.choice(["north", "south", "east"], n)
    x = pd.DataFrame({"age": rng.uniform(20, 80, n), "region": region})
    sd = np.where(region == "north", 2.0, 1.0)
    y = 0.1 * x["age"] + sd * rng.standard_normal(n)
    if model is None:
        model = cg.models.Normal(mean=lambda x: 0.1 * x["age"].to_numpy(), std=1.0)
    return x, y, cg.check(model, x, y, rng=0)


def test_at_finds_the_category_that_is_too_narrow():
    x, y, report = mixed_report()
    north = report.at({"age": 40, "region": "north"})
    south = report.at({"age": 40, "region": "south"})
    assert not north.pit.is_inside
    assert north.pit.pvalue == 0.001
    assert south.pit.is_inside
    assert south.pit.pvalue > 0.05
    inside = {share.label: share for share in north.shares}
    wide = inside["inside the central 90% interval"]
    # The truth is P(|2Z| ≤ 1.645).
    truth = 1 - 2 * norm.sf(norm.ppf(0.95) / 2)
    assert wide.telling
    assert wide.interval[0] <= truth <= wide.interval[1]
    assert (x.iloc[north.nearest[:100]]["region"] == "north").all()
    z = (y - 0.1 * x["age"]).to_numpy()[north.nearest]
    assert (np.abs(z) < norm.ppf(0.95)).mean() == pytest.approx(wide.estimate, abs=0.1)
    rows = round(north.rows)
    assert north.words.startswith(
        f"Near age = 40, region = north ({rows} rows in effect): "
    )
    assert "no evidence against the model" in south.words
    low, high = north.predicted.values[0], north.predicted.values[-1]
    np.testing.assert_allclose((low, high), 4.0 + norm.ppf(0.95) * np.array([-1, 1]))
    repaired = north.repaired.values[-1] - north.repaired.values[0]
    assert repaired == pytest.approx(2.0 * (high - low), rel=0.15)


def test_rows_come_in_many_forms():
    x, _, report = mixed_report(300)
    one = report.at({"age": 40.0, "region": "north"})
    for same in (
        [40, "north"],
        pd.Series({"age": 40.0, "region": "north"}),
        pd.DataFrame({"region": ["north"], "age": [40.0]}),
        pl.DataFrame({"age": [40.0], "region": ["north"]}),
    ):
        other = report.at(same)
        assert other.to_dict() == one.to_dict()
    several = report.at(x.iloc[:3])
    assert isinstance(several, tuple)
    assert len(several) == 3
    assert several[1].x["region"] == x["region"].iloc[1]
    json.dumps(one.to_dict())
    assert pickle.loads(pickle.dumps(one)).words == one.words
    assert list(one.to_frame()["share"]) == [share.label for share in one.shares]
    assert "predicted" in str(one)
    assert repr(one).startswith("Local(")
    assert "<strong>" in one._repr_html_()


def test_predictions_of_rows_are_those_of_the_nearest():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((400, 2))
    report = cg.check(
        (x[:, 0], np.ones(400)), x, x[:, 0] + rng.standard_normal(400), **FAST
    )
    near = report.at(x[17])
    assert near.predicted.values[2] == pytest.approx(x[17, 0])
    assert near.notes[0].endswith("nearest one, row 17")
    assert near.repaired is None


def test_too_few_rows_is_an_answer():
    _, _, report = mixed_report(300)
    far = report.at({"age": 400.0, "region": "north"})
    assert not far.enough
    assert far.pit is None
    assert far.shares == ()
    assert far.words.startswith("Too few rows near age = 400, region = north")
    with pytest.raises(InputError, match="nothing to draw"):
        far.plot()


def test_predictions_of_rows_say_nothing_where_none_is_near():
    rng = np.random.default_rng(1)
    x, noise = rng.standard_normal((2, 200))
    far = cg.check((x, np.ones(200)), x, x + noise, **FAST).at(1e6)
    assert far.predicted is None
    assert not far.enough


def test_missing_values_are_a_category():
    rng = np.random.default_rng(2)
    x = pd.DataFrame({"a": rng.standard_normal(600)})
    x.loc[rng.random(600) < 0.4, "a"] = np.nan
    is_missing = x["a"].isna().to_numpy()
    y = rng.standard_normal(600) + 2.0 * is_missing
    report = cg.check((np.zeros(600), np.ones(600)), x, y, missing="level", **FAST)
    assert report.at({"a": 0.0}).pit.is_inside
    missing = report.at({"a": np.nan})
    assert not missing.pit.is_inside
    assert missing.x == {"a": "missing"}
    assert is_missing[missing.nearest].all()


def test_counts_are_averaged_over_the_randomisation():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((800, 2))
    mean = np.exp(0.5 * x[:, 0])
    y = rng.poisson(mean * np.where(x[:, 1] > 0, 2.0, 1.0))
    model = cg.models.Poisson(mean=lambda x: np.exp(0.5 * x[:, 0]))
    report = cg.check(model, x, y, **FAST)
    near = report.at([0.0, 1.0])
    assert not near.pit.is_inside
    assert near.shares[0].estimate < 0.4
    assert report.at([0.0, -1.2]).pit.is_inside
    some = near.nearest
    weights = LocalWeights.from_rows(x, (Column("x1"), Column("x2")))
    w = weights.near(np.array([0.0, 1.0]), None).weights
    lower = poisson.cdf(y[some] - 1, mean[some])
    upper = poisson.cdf(y[some], mean[some])
    np.testing.assert_allclose(
        near.pit.observed, averaged_curve(lower, upper, w), atol=1e-8
    )


def test_draws_classes_and_statements():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((600, 2))
    y = x[:, 0] + rng.standard_normal(600)
    draws = cg.from_draws(x[:, [0]] + rng.standard_normal((600, 99)))
    assert cg.check(draws, x, y, **FAST).at([0.0, 0.0]).pit.is_inside

    p = 1 / (1 + np.exp(-x[:, 0]))
    label = np.where(rng.random(600) < np.where(x[:, 1] > 0, 0.9, p), "yes", "no")
    report = cg.check(cg.probabilities(p, classes=["no", "yes"]), x, label, **FAST)
    near = report.at([0.0, 1.0])
    no, yes = near.shares
    assert yes.label == "class yes"
    assert yes.telling
    assert yes.estimate > 0.8
    assert no.estimate + yes.estimate == pytest.approx(1.0)
    assert no.expected + yes.expected == pytest.approx(1.0)
    assert near.pit is None
    assert near.predicted.labels == ("no", "yes")
    assert near.plot() is not None

    levels = [0.05, 0.5, 0.95]
    values = x[:, [0]] + norm.ppf(levels)
    report = cg.check(cg.from_quantiles(values, levels), x, y, **FAST)
    near = report.at([0.0, 0.0])
    assert [share.expected for share in near.shares] == levels
    assert near.shares[0].label == "not above the 5% quantile"
    intervals = cg.from_intervals(values[:, 0], values[:, 2], 0.9)
    near = cg.check(intervals, x, y, **FAST).at([0.0, 0.0])
    assert near.shares[0].label == "inside the 90% interval"


def test_dependent_rows_count_by_unit():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(100), 8)
    x = np.repeat(rng.standard_normal(100), 8)
    noise = np.repeat(rng.standard_normal(100), 8)
    model = (x, np.ones(800))
    report = cg.check(model, x, x + noise, groups=groups, **FAST)
    near = report.at(0.0)
    assert near.rows < 80
    assert near.pit.is_inside


def test_refusals():
    _, _, report = mixed_report(300)
    for wrong, error, words in (
        ({"age": 40}, InputError, "x0 lacks region"),
        ({"age": 40, "region": "north", "b": 1}, InputError, "x0 has b"),
        ({"age": 40, "region": "west"}, InputError, "'west' is not a level"),
        ([1], ShapeError, "x0 has 1 values"),
        ({"age": "a", "region": "north"}, InputError, "held numbers"),
        ({"age": np.nan, "region": "north"}, InputError, "no finite value"),
        ({"age": [1, 2], "region": "north"}, ShapeError, "2 values of 'age'"),
    ):
        with pytest.raises(error, match=words):
            report.at(wrong)
    stored = pickle.loads(pickle.dumps(report))
    with pytest.raises(InputError, match="no rows to look at"):
        stored.at({"age": 40, "region": "north"})
    rng = np.random.default_rng(6)
    two = rng.standard_normal((100, 2))
    report = cg.check((np.zeros((100, 2)), np.ones((100, 2))), two[:, 0], two, **FAST)
    with pytest.raises(UnsupportedModelError, match="Of several columns") as caught:
        report.at(0.0)
    assert isinstance(caught.value, InputTypeError)


def test_kinds_without_local_numbers_are_refused_by_the_same_function():
    refuse = local_numbers.dispatch(CheckedRows)
    refused = {
        kind.__name__
        for kind in _subclasses(CheckedRows)
        if local_numbers.dispatch(kind) is refuse
    }
    assert refused >= {"CensoredRows", "MomentRows", "ScoreRows", "CircularRows"}


def _subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def test_the_picture_has_the_band():
    _, _, report = mixed_report(300)
    ax = report.at({"age": 40, "region": "north"}).plot()
    assert ax.get_xlabel() == "predicted probability"
    assert ax.get_title(loc="left") == "near age = 40, region = north"
