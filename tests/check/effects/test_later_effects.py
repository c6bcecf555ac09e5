"""Effects after the first: what is left may have any shape, and is said as what is left."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, poisson

import condgof as cg
from condgof.check import axes_of
from condgof.check.effects import (
    Candidate,
    CountTilt,
    ErrorKind,
    EventTilt,
    ModelDraws,
    NormalTilt,
    NullOfStages,
    Odds,
    SeveralTilt,
    SignDraws,
    Stage,
    find_stages,
    make_state,
)
from condgof.sample import Sample, Seed

ALPHA = 0.05


def table(rng, n):
    return pd.DataFrame(
        {
            "dose": rng.uniform(size=n),
            "hour": rng.integers(0, 24, n),
            "town": rng.choice(list("ABCDE"), n),
        }
    )


def state_of(frame, tilt):
    sample = Sample.from_data(frame, np.arange(float(len(frame))))
    return make_state(axes_of(sample.x_columns, sample.x, ()), tilt, None)


def stages_of(state, seed=0):
    n = state.tilt.n
    draws = ModelDraws(Seed.of(seed))
    null = NullOfStages(rows=np.arange(n), n=n, count=199, draws=draws)
    return find_stages(state, most=8, null=null, alpha=ALPHA).stages


def stage_of(state, candidate):
    """Return the stage that a candidate is, chosen or not."""
    space = state.space()
    sums = state.sums()
    worths = space.worths(*sums)
    return Stage(
        candidate=candidate,
        fit=space.fit(candidate, *sums),
        gain=space.gain(candidate, *sums),
        worth=space.worth_of(worths, candidate),
        beyond_constant=space.beyond_constant(worths, candidate),
    )


def columns_of(state, stage):
    return state.cells.partitions[stage.candidate.partition].axes


# Shuffled residuals.


def test_tails_that_are_heavy_everywhere_depend_on_no_column():
    """With draws from the law alone, 6 of these 20 samples had an effect of columns.

    Of 200 such samples 35 had one; these 20 were chosen as those with most.
    """
    trials = 20
    false = 0
    for seed in range(trials):
        rng = np.random.default_rng([42, seed])
        z = rng.standard_t(4, 600) / 1.1
        state = state_of(table(rng, 600), NormalTilt.from_scores(z, "y"))
        stages = stages_of(state, seed)
        assert stages
        false += any(columns_of(state, stage) for stage in stages)
    assert false <= binom.isf(1e-3, trials, ALPHA)


def test_a_column_is_found_beside_heavy_tails():
    found = 0
    for seed in range(5):
        rng = np.random.default_rng([31, seed])
        frame = table(rng, 600)
        z = rng.standard_t(4, 600) + 0.9 * (frame["hour"] >= 12)
        state = state_of(frame, NormalTilt.from_scores(z.to_numpy(), "y"))
        named = [(s.candidate.kind, columns_of(state, s)) for s in stages_of(state, seed)]
        found += (0, (1,)) in named
    assert found == 5


def test_shuffles_are_searched_as_data_would_be():
    """One sample at a time, with the bias by town fitted again, beside all at once."""
    rng = np.random.default_rng(32)
    n = 300
    frame = table(rng, n)
    z = rng.standard_t(4, n) + 0.5 * (frame["town"] == "A")
    state = state_of(frame, NormalTilt.from_scores(z.to_numpy(), "y"))
    town = next(p for p, one in enumerate(state.cells.partitions) if one.axes == (2,))
    before = [Candidate(1, 0, trend=False), Candidate(0, town, trend=False)]
    for candidate in before:
        state = state.without(candidate, state.space())
    draws = ModelDraws(Seed.of(0))
    null = NullOfStages(rows=np.arange(n), n=n, count=30, draws=draws)
    stage = stage_of(state, Candidate(3, 1, trend=True))
    tested = null.tested(stage, state, state.space(), before, alpha=1.0)
    shuffled = draws.shuffle(state.tilt, 0, 30)
    exceeded = 0
    for number in range(30):
        tilt = replace(
            shuffled,
            z=shuffled.z[:, [number]].astype(float),
            log_ratio=np.zeros((n, 1)),
        )
        np.testing.assert_allclose(np.sort(tilt.z[:, 0]), np.sort(state.tilt.z[:, 0]), 1e-5)
        one = replace(state, tilt=tilt)
        # The spread that is the same everywhere is not fitted a second time.
        one = one.without(before[1], one.space())
        worths = one.space().worths(*one.sums())
        largest = -np.inf
        for k in range(4):
            constant = max(worths.steps[0, 0, k], 0.0)
            of_kind = max(worths.steps[1:, 0, k].max(), worths.trends[:, 0, k].max())
            largest = max(largest, of_kind - constant)
        exceeded += largest >= stage.beyond_constant
    assert tested.draws == 30
    assert tested.pvalue == pytest.approx((1 + exceeded) / 31)
    assert tested.pvalue_of_columns == tested.pvalue


def test_shuffles_of_some_rows_keep_the_mean_of_all():
    """A spread that is left everywhere is as large in shuffles of a part of the rows."""
    rng = np.random.default_rng(33)
    n = 3000
    frame = table(rng, n)
    tilt = NormalTilt.from_scores(1.3 * rng.normal(size=n), "y")
    state = state_of(frame, tilt)
    space = state.space()
    stage = stage_of(state, Candidate(1, 1, trend=False))
    before = [Candidate(0, 0, trend=False)]
    draws = ModelDraws(Seed.of(0))
    for rows in (np.arange(n), np.arange(500)):
        null = NullOfStages(rows=rows, n=n, count=39, draws=draws)
        assert null.tested(stage, state, space, before, ALPHA).pvalue > ALPHA


def test_residuals_of_counts_are_shuffled_by_their_pit():
    rng = np.random.default_rng(34)
    n = 500
    mean = rng.uniform(0.2, 4.0, n)
    y = rng.poisson(mean)
    lower, upper = poisson.cdf(y - 1, mean), poisson.cdf(y, mean)
    u = lower + rng.random(n) * (upper - lower)
    tilt = CountTilt.from_steps(ndtri(u), y == 0, poisson.pmf(0, mean), lower, upper, "y")
    order = rng.permuted(np.broadcast_to(np.arange(n)[:, None], (n, 3)), axis=0)
    shuffled = tilt.shuffled(order)
    for j in range(3):
        np.testing.assert_allclose(ndtr(shuffled.z[:, j]), u[order[:, j]], atol=1e-5)
        expected = u[order[:, j]] < poisson.pmf(0, mean)
        np.testing.assert_array_equal(shuffled.is_zero[:, j], expected)


def test_columns_of_y_are_shuffled_together():
    rng = np.random.default_rng(35)
    z = rng.normal(size=(50, 2))
    tilt = SeveralTilt.from_scores(z, ["a", "b"], [(0, 1)], joint=False)
    order = rng.permuted(np.broadcast_to(np.arange(50)[:, None], (50, 4)), axis=0)
    np.testing.assert_allclose(tilt.shuffled(order).z, z[order], rtol=1e-6)


def test_events_and_dependent_rows_are_not_shuffled():
    n = 40
    events = EventTilt(
        kinds=(ErrorKind("class", "y", "a", Odds(), "class"),),
        log_ratio=np.zeros((n, 1)),
        probabilities=np.full((n, 1, 2), 0.5),
        codes=np.zeros((n, 1), dtype=int),
        members=np.eye(2, dtype=bool)[None, :1],
    )
    assert ModelDraws(Seed.of(0)).shuffle(events, 0, 3) is None
    scores = NormalTilt.from_scores(np.zeros(n), "y")
    assert SignDraws(Seed.of(0), np.arange(n)).shuffle(scores, 0, 3) is None


# Rare counts.


def rare_counts(rng, true, n=3000):
    x = pd.DataFrame({"a": rng.uniform(size=n), "town": rng.choice(list("ABCD"), n)})
    return x, rng.poisson(true(x)).astype(float)


def test_of_rare_counts_the_mean_is_named_not_the_zeros():
    rng = np.random.default_rng(36)
    x, y = rare_counts(rng, lambda x: np.where(x["town"] == "B", 0.24, 0.08))
    law = cg.models.Poisson(mean=np.full(len(y), 0.08))
    report = cg.check(law, x, y, rng=0, n_boot=199)
    first = report.effects[0]
    assert (first.kind, first.columns) == ("bias", ("town",))
    town = next(cell for cell in first.cells if cell.words == "town = B")
    rows = report.frame().query(town.query)
    assert town.estimate == pytest.approx(rows["residual"].mean())
    # N(θ, 1) has the share of zeros that a mean of 0.24 has.
    assert town.correction == pytest.approx(0.63, abs=0.15)


def test_too_many_zeros_are_zeros():
    rng = np.random.default_rng(37)
    x, y = rare_counts(rng, lambda x: np.full(len(x), 3.0), n=1000)
    y[rng.random(len(y)) < 0.15] = 0
    law = cg.models.Poisson(mean=np.full(len(y), 3.0))
    report = cg.check(law, x, y, rng=0, n_boot=199)
    assert (report.effects[0].kind, report.effects[0].columns) == ("zeros", ())


# Numbers of later effects.


@pytest.fixture(scope="module")
def after_a_bias():
    """Rows spread as predicted until the bias by month, most of their variance, is gone."""
    rng = np.random.default_rng(4)
    n = 1000
    month = rng.integers(1, 13, n)
    y = np.sqrt(1.8) * np.sin(2 * np.pi * month / 12) + np.sqrt(0.1) * rng.normal(size=n)
    x = pd.DataFrame({"month": month, "a": rng.normal(size=n)})
    return cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=199)


def test_a_later_effect_that_rows_do_not_show_is_said_by_its_correction(after_a_bias):
    first, second = after_a_bias.effects
    assert not first.given_before
    assert second.given_before
    assert second.kind == "spread"
    (cell,) = second.cells
    z = after_a_bias.frame()["z"]
    # The estimate is that of rows as they are, the correction that of what is left.
    middle_half = (z.quantile(0.75) - z.quantile(0.25)) / 1.34898
    assert cell.estimate == pytest.approx(middle_half, rel=0.02)
    left = z - z.groupby(after_a_bias.frame()["month"]).transform("mean")
    assert cell.correction == pytest.approx(left.std(), abs=0.02)
    assert second.words == (
        "Everywhere, once the effects before it are corrected: residuals spread"
        f" {cell.correction:.2f} times as much as predicted."
    )
    text = str(after_a_bias)
    assert f"{cell.correction:.2f}×*" in text
    assert "  * once the effects above it are corrected\n" in text
    assert f"{cell.estimate:.2f}×*" not in text
    written = after_a_bias.to_dict()["effects"][1]
    assert written["given_before"] is True
    assert written["words"] == second.words
    assert written["cells"][0]["correction"] == cell.correction


def test_its_advice_comes_after_that_of_the_effect_before(after_a_bias):
    second = after_a_bias.effects[1]
    assert second.advice.amount == second.cells[0].correction
    text = str(after_a_bias)
    assert text.index("month in the mean") < text.index("after that, multiply")


def test_a_later_effect_that_rows_show_keeps_their_numbers():
    rng = np.random.default_rng(38)
    n = 1200
    x = pd.DataFrame({"hour": rng.integers(0, 24, n), "flag": rng.integers(0, 2, n)})
    y = rng.normal(size=n) + 0.5 * x["flag"] + 0.9 * np.sin(2 * np.pi * x["hour"] / 24)
    y -= 0.25
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=199)
    effect = next(one for one in report.effects if one.columns == ("flag",))
    assert effect is not report.effects[0]
    assert not effect.given_before
    assert "*" not in str(report)


# Extremes.


def test_extremes_are_no_cells_of_few_rows():
    """Five shops of four rows each vary by chance more than the wrong ones are wrong."""
    rng = np.random.default_rng(39)
    sizes = np.concatenate([np.full(5, 4), np.full(8, 150)])
    shop = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = rng.normal(size=len(shop)) + np.where(shop == 6, 0.9, 0.0)
    y[shop == 9] -= 0.9
    y[shop == 0] += 2.5
    y[shop == 1] -= 2.5
    x = pd.DataFrame(
        {"shop": pd.Categorical(shop.astype(str)), "a": rng.normal(size=len(shop))}
    )
    report = cg.check((np.zeros(len(y)), np.ones(len(y))), x, y, rng=0, n_boot=199)
    effect = report.effects[0]
    assert (effect.kind, effect.columns) == ("bias", ("shop",))
    estimates = {cell.words: cell.estimate for cell in effect.cells}
    assert min(estimates, key=estimates.get) == "shop = 1"
    assert [cell.words for cell in effect.extremes] == ["shop = 9", "shop = 6"]
