"""A repair: the law that it makes is a law, it helps where there is a misfit, and else does
nothing.
"""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import ndtr

import condgof as cg
from condgof.check import Basis, Classed, Counted, Gain, Mapped, fit, warp_units
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import (
    Repaired,
    RepairedCounts,
    bend,
    count_scores,
    extended,
    placed,
    unbend,
    values_at,
)

FAST = {"n_boot": 99, "engine": 1, "rng": 0}
SHAPE = np.array([0, 0, 1, 2, 1, 0, 0, 1, 3, 1, 0, 0, 0, 3]) / 12.0
numbers = st.tuples(
    st.floats(-2, 2), st.floats(-1.5, 1.5), st.floats(-0.8, 0.8), st.floats(-0.6, 0.6)
)


@given(numbers, st.floats(-6, 6))
@settings(deadline=None, max_examples=60)
def test_the_map_is_inverted_and_differentiated(eta, z):
    eta = np.array([eta])
    at = np.array([z])
    step = 1e-5
    bent = bend(eta, at)
    again = bend(eta + 1e-6, at)
    assert unbend(eta, bent.w[:, None])[:, 0] == pytest.approx(at, rel=1e-6, abs=1e-6)
    rise = (bend(eta, at + step).w - bend(eta, at - step).w) / (2 * step)
    if abs(bent.w[0]) < 5:
        ratio = np.log(rise) + 0.5 * (at**2 - bent.w**2)
        assert bent.log_ratio == pytest.approx(ratio, abs=1e-3)
    assert again.w - bent.w == pytest.approx(
        1e-6 * bent.w_by_eta.sum(axis=0), rel=1e-3, abs=1e-9
    )


@pytest.mark.parametrize("shape", [None, SHAPE])
@pytest.mark.parametrize(
    "base",
    [
        cg.models.Normal(mean=[1.0, -2.0], std=[2.0, 0.5]),
        cg.models.Gamma(shape=[3.0, 2.0], scale=[1.0, 2.0]),
    ],
)
def test_the_repaired_density_integrates_to_the_cdf(base, shape):
    law = Repaired(base, np.array([[0.5, -0.3, 0.2, 0.1], [-0.4, 0.4, -0.3, -0.2]]), shape)
    for row, part in enumerate([law.take(np.array([0])), law.take(np.array([1]))]):
        ends = part.quantile([1e-9, 0.3, 1.0 - 1e-9])[0]
        cuts = part.quantile(np.linspace(0.01, 0.99, 99))[0]
        grid = [ends[0], *cuts[cuts < ends[1]], ends[1]]
        density = lambda y, part=part: float(np.exp(part.log_prob(np.array([y]))[0]))  # noqa: E731
        mass = sum(integrate.quad(density, a, b)[0] for a, b in pairwise(grid))
        assert mass == pytest.approx(0.3, abs=1e-6)
        assert law.quantile([0.3])[row, 0] == pytest.approx(ends[1])
    y = law.sample(np.random.default_rng(0))
    step = 1e-6
    slope = (law.log_prob(y + step) - law.log_prob(y - step)) / (2 * step)
    assert law.score(y)[:, 0] == pytest.approx(slope, rel=1e-4, abs=1e-5)
    assert law.cdf(y) + law.sf(y) == pytest.approx(1.0)
    drawn = law.take(np.zeros(4000, dtype=int)).sample(np.random.default_rng(1))[:, 0]
    assert np.mean(drawn <= law.quantile([0.3])[0, 0]) == pytest.approx(0.3, abs=0.03)


def test_nothing_changes_at_the_identity():
    base = cg.models.Normal(mean=np.arange(5.0), std=1.0)
    law = Repaired(base, np.zeros((5, 4)))
    y = np.arange(5.0) + 0.3
    assert law.log_prob(y) == pytest.approx(base.log_prob(y))
    assert law.normal_scores(y) == pytest.approx(base.normal_scores(y))
    counts = cg.models.Poisson(mean=np.array([0.5, 3.0, 40.0]))
    same = RepairedCounts(counts, np.zeros((3, 4)), np.zeros(3))
    for k in (0.0, 2.0, 35.0, 90.0):
        at = np.full(3, k)
        apart = np.abs(same.log_prob(at) - counts.log_prob(at))
        # Upper tails below 1e-9 are those of a geometric law with the ratio that is there.
        assert (apart < np.where(counts.log_prob(at) < -18, 1e-3, 1e-7)).all()
        assert same.cdf(at) == pytest.approx(counts.cdf(at), abs=1e-12)


def test_repaired_counts_are_a_distribution():
    eta = np.array([[0.3, 0.9, 0.1, -0.2], [-0.5, 0.5, 0.0, 0.1], [0.2, -0.4, -0.3, 0.2]])
    counts = cg.models.Poisson(mean=np.array([0.5, 3.0, 40.0]))
    law = RepairedCounts(counts, eta, np.array([0.5, -1.0, 0.0]))
    k = np.arange(600.0)
    mean = law.mean_std()[0]
    for row in range(3):
        one = law.take(np.full(len(k), row))
        p = np.exp(one.log_prob(k))
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        assert np.cumsum(p) == pytest.approx(one.cdf(k), abs=1e-9)
        assert p @ k == pytest.approx(mean[row, 0], rel=1e-6)
        assert one.quantile([0.5])[0, 0] == k[np.searchsorted(np.cumsum(p), 0.5)]
    drawn = law.take(np.full(4000, 1)).sample(np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(mean[1, 0], abs=0.2)


def test_derivatives_of_the_likelihoods():
    rng = np.random.default_rng(0)
    y = rng.poisson(3.0, 50).astype(float)
    poisson = cg.models.Poisson(mean=np.full(50, 2.0))
    cases = (
        Mapped(2.0 * rng.standard_normal(50)),
        Counted(count_scores(poisson, np.column_stack([y - 1, y, 0 * y]))),
        Classed(rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)),
    )
    for given_rows in cases:
        q = len(given_rows.units)
        eta = 0.3 * rng.standard_normal((50, q))
        slopes = given_rows.at(eta)[1]
        for j in range(q):
            step = 1e-6 * np.eye(q)[j]
            numeric = (given_rows.at(eta + step)[0] - given_rows.at(eta - step)[0]) / 2e-6
            assert slopes[:, j] == pytest.approx(numeric, rel=1e-4, abs=1e-5)
    assert cases[1].at(np.zeros((50, 5)))[0] == pytest.approx(poisson.log_prob(y))


def test_the_fit_finds_shift_and_spread():
    z = 1.0 + 2.0 * np.random.default_rng(0).standard_normal(20_000)
    shift, spread, skew, tail = fit(Mapped(z), np.ones((len(z), 1)), 1.0)[0]
    eta = np.array([[shift, spread, skew, tail]])
    low, middle, high = unbend(eta, np.array([[-1.0, 0.0, 1.0]]))[0]
    assert middle == pytest.approx(1.0, abs=0.1)
    assert (high - low) / 2 == pytest.approx(2.0, abs=0.1)
    assert warp_units()[0, 0] == pytest.approx(1.0)  # the information of a shift


@given(st.integers(0, 10_000), st.integers(1, 9))
@settings(deadline=None, max_examples=40)
def test_placing_among_values_is_inverted(seed, count):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.standard_normal((6, count)), axis=1) + np.arange(count) * 1e-3
    at = np.sort(rng.standard_normal(count)) + np.arange(count) * 1e-3
    z = 3.0 * rng.standard_normal((6, 1))
    longer = extended(values, at)
    assert placed(*longer, values_at(*longer, z)[:, 0]) == pytest.approx(z[:, 0], abs=1e-6)


def test_functions_of_a_column_know_new_levels_and_missing_values():
    basis = Basis.of("town", np.array([0.0, 1.0, 1.0, np.nan]), ("Oslo", "Rome"))
    seen = basis.at(np.array([0.0, 1.0, np.nan]), ("Paris", "Rome"))
    assert (seen != 0).tolist() == [
        [False, False, False],
        [False, True, False],
        [False, False, True],
    ]
    waves = Basis.of("age", np.arange(100.0), None).at(np.array([-50.0, 0.0, np.nan]), None)
    assert waves[0] == pytest.approx(waves[1])
    assert not waves[2].any()


def local(n, seed):
    """A frame with text, dates, missing values; the spread is wrong in a town, the mean
    along b.
    """
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(
        {
            "b": rng.uniform(-2.0, 2.0, n),
            "town": rng.choice(["Oslo", "Rome", "Lima"], n),
            "day": (
                pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
            ),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
        }
    )
    noise = np.where(x["town"] == "Oslo", 2.0, 0.7) * rng.standard_normal(n)
    return x, 0.4 * x["b"].to_numpy() ** 2 + noise


LINE = cg.models.Normal(mean=lambda x: np.zeros(len(x)), std=1.0)


def test_a_local_misfit_is_mended_on_other_rows():
    x, y = local(1500, 0)
    new_x, new_y = local(3000, 1)
    report = cg.check(LINE, x, y, missing="level", **FAST)
    better = report.repair()
    assert better.held_out.interval[0] > 0.1
    # A frame with the columns in another order, fewer levels and no missing values is read
    # by name.
    rows = ((new_x["town"] != "Lima") & new_x["gap"].notna()).to_numpy()
    some = new_x.loc[rows, ["gap", "day", "town", "b"]].reset_index(drop=True)
    gain = better.gain(some, new_y[rows])
    assert gain.estimate > 0.15
    law = better(some)
    base = LINE(some)
    assert gain.after == pytest.approx(law.log_prob(new_y[rows]).mean())
    assert gain.before == pytest.approx(base.log_prob(new_y[rows]).mean())
    assert gain.estimate == pytest.approx(gain.after - gain.before)
    scale = law.location_scale()[1][:, 0]
    oslo = (some["town"] == "Oslo").to_numpy()
    assert np.median(scale[oslo]) > 1.5 > 1.0 > np.median(scale[~oslo])
    after = cg.check(better, some, new_y[rows], **FAST)
    assert after.effect.interval.estimate < 0.5 * report.effect.interval.estimate
    assert f"repaired, beside the model as it was: {gain.words}" in after.details["notes"]
    assert not any("repaired" in note for note in report.details["notes"])
    assert "log score better by" in str(better)
    assert report.repair().held_out == better.held_out  # the same rng, the same repair


def test_local_beats_global_recalibration():
    x, y = local(1500, 2)
    new_x, new_y = local(3000, 3)
    x = x.drop(columns="gap")
    new_x = new_x.drop(columns="gap")
    gain = cg.check(LINE, x, y, **FAST).repair().gain(new_x, new_y)
    whole = Repaired(
        LINE(new_x), np.repeat(fit(Mapped(y), np.ones((1500, 1)), 1.0), 3000, axis=0)
    )
    assert gain.after > whole.log_prob(new_y).mean() + 0.05  # one map, the same in all rows


def test_two_clusters_get_a_shape_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, 3000)
    y = x + np.where(rng.random(3000) < 0.25, 2.0, -0.66) + 0.5 * rng.standard_normal(3000)
    model = cg.models.Normal(mean=lambda x: x, std=1.0)
    better = cg.check(model, x[:800], y[:800], **FAST).repair()
    assert (
        better.gain(x[800:], y[800:]).estimate > 0.32
    )  # 0.25 by shift, spread, skew and tails
    gap, crest = (better(x[:1]).log_prob(x[:1] + at)[0] for at in (0.7, 2.0))
    assert gap < crest - 0.2


def test_a_true_model_is_left_alone():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((300, 3))
        report = cg.check(
            cg.models.Normal(mean=lambda x: x[:, 0], std=1.0),
            x,
            x[:, 0] + rng.normal(size=300),
            **FAST,
        )
        better = report.repair()
        assert better.held_out is None
        assert better.words.startswith("Nothing to mend")
        assert type(better(x)) is cg.models.Normal
        assert better.gain(x, x[:, 0]).estimate == 0
        assert "left as it is" in better.gain(x, x[:, 0]).words


def test_predictions_of_other_rows_are_asked_for():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 600)
    better = cg.check(
        (x, np.ones(600)), x, x + 2.0 * rng.standard_normal(600), **FAST
    ).repair()
    for ask in (
        lambda: better(x),
        lambda: better.gain(x, x),
        lambda: cg.check(better, x, x, **FAST),
    ):
        with pytest.raises(InputError, match=r"better\.of\("):
            ask()
    new = rng.uniform(0, 4, 400)
    there = better.of((new, np.ones(400)))
    assert there.rows == 400
    assert there.gain(new, new + 2.0 * rng.standard_normal(400)).estimate > 0.2
    assert not cg.check(there, new, new + 2.0 * rng.standard_normal(400), **FAST).rejected
    assert there.take(np.arange(50)).rows == 50


def kinds(n, seed):
    """Data whose spread is 1.8 times what each kind of prediction says."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, n)
    q = x[:, None] + np.array([-1.2816, -0.6745, 0.0, 0.6745, 1.2816])
    laws = {
        "draws": cg.from_draws(x[:, None] + rng.standard_normal((n, 60))),
        "quantiles": cg.from_quantiles(q, [0.1, 0.25, 0.5, 0.75, 0.9]),
        "quantile": cg.from_quantiles(q[:, 4], [0.9]),
        "interval": cg.from_intervals(q[:, 0], q[:, 4], 0.8),
        "intervals": cg.from_intervals(q[:, [1, 0]], q[:, [3, 4]], [0.5, 0.8]),
    }
    return x, x + 1.8 * rng.standard_normal(n), laws


@pytest.mark.parametrize(
    "kind", ["draws", "quantiles", "quantile", "interval", "intervals"]
)
def test_draws_quantiles_and_intervals_are_moved(kind):
    x, y, laws = kinds(800, 0)
    new_x, new_y, new = kinds(800, 1)
    better = cg.check(laws[kind], x, y, **FAST).repair()
    there = better.of(new[kind])
    assert there.gain(new_x, new_y).interval[0] > 0
    assert ("the quantile is moved by" in better.words) == (kind == "quantile")
    law = there(new_x)
    assert type(law) is type(new[kind])
    if kind == "interval":
        inside = (law.low[:, 0] <= new_y) & (new_y <= law.high[:, 0])
        assert inside.mean() == pytest.approx(0.8, abs=0.05)
    if kind == "intervals":
        assert (law.low[:, 1] <= law.low[:, 0]).all()
        assert (law.high[:, 0] <= law.high[:, 1]).all()
    if kind == "quantile":
        assert (new_y <= law.values[:, 0]).mean() == pytest.approx(0.9, abs=0.04)
    before, after = better.held_out_law()
    assert before.n == after.n == 800


def test_unnormalised_densities_are_repaired_and_pits_refused():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 500)
    y = x + 0.5 * rng.standard_normal(500)
    with pytest.raises(UnsupportedModelError, match="cannot be repaired"):
        cg.check(cg.from_pit(ndtr(y - x)), x, y, **FAST).repair()
    density = cg.from_log_prob(lambda y, x: -0.5 * np.square(np.ravel(y) - np.ravel(x)))
    assert cg.check(density, x, y, **FAST).repair().gain(x, y).estimate > 0.1


def test_what_came_with_probability_0_gets_some():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1500, 2))
    p = 1 / (1 + np.exp(-x[:, 0]))
    y = np.where(rng.random(1500) < p, "yes", "no")
    sure = cg.models.Model(
        lambda x: cg.probabilities(
            np.clip(1.3 / (1 + np.exp(-np.asarray(x)[:, 0])) - 0.15, 0, 1), ["no", "yes"]
        )
    )
    better = cg.check(sure, x, y, **FAST).repair()
    assert better.held_out.measure == "Brier score"  # the log score was infinite
    law = better(x)
    assert law.values.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(law.log_prob(y)).all()


def test_counts_get_dispersion_and_zeros():
    def draw(n, rng):
        x = rng.standard_normal((n, 2))
        y = rng.poisson(rng.gamma(1.0, np.exp(0.3 * x[:, 0]) * 3.0)).astype(float)
        return x, np.where(rng.random(n) < 0.15, 0.0, y)

    model = cg.models.Poisson(mean=lambda x: 3.0 * np.exp(0.3 * x[:, 0]))
    rng = np.random.default_rng(0)
    better = cg.check(model, *draw(800, rng), **FAST).repair()
    x, y = draw(1500, rng)
    assert better.gain(x, y).estimate > 0.5
    assert better(x).cdf(np.zeros(1500)).mean() == pytest.approx((y == 0).mean(), abs=0.05)


def test_rows_of_a_group_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 6)
    x = rng.standard_normal(600)
    y = x + rng.standard_normal(100)[groups] * 1.5 + rng.standard_normal(600)
    better = cg.check((x, np.ones(600)), x, y, groups=groups, **FAST).repair()
    for rows, _ in better.parts:
        inside = np.isin(groups, groups[rows])
        assert inside.sum() == len(rows)


def test_what_cannot_be_repaired_is_refused():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    y = rng.standard_normal((100, 2))
    with pytest.raises(
        UnsupportedModelError, match=r"\(Normal, several\).* repair each by itself"
    ):
        cg.check(cg.normal(y * 0, 1.0), x, y, **FAST).repair()
    with pytest.raises(UnsupportedModelError, match=r", scores\): that takes .* a CDF"):
        cg.check(cg.from_scores(-y[:, 0]), x, y[:, 0], **FAST).repair()
    open_ended = cg.from_intervals(np.full(100, -np.inf), np.ones(100), 0.84)
    with pytest.raises(UnsupportedModelError, match="without an end"):
        cg.check(open_ended, x, y[:, 0], **FAST).repair()
    report = cg.check((x * 0, np.ones(100)), x, y[:, 0], **FAST)
    with pytest.raises(InputError, match="no model to repair"):
        pickle.loads(pickle.dumps(report)).repair()
    few = cg.check((np.zeros(30), np.ones(30)), x[:30], 5 * y[:30, 0], **FAST).repair()
    assert "too few" in few.words


def test_laws_of_other_fits_and_of_another_kind():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(900)
    y = x + np.where(x > 0, 2.0, 1.0) * rng.standard_normal(900)
    better = cg.check(cg.crossfit(cg.fits.ols(), x, y), x, y, **FAST).repair()
    assert better.of((x, np.full(900, 1.6))).gain(x, y).estimate > 0.02
    better = cg.check((x, np.ones(900)), x, y, **FAST).repair()
    with pytest.raises(InputError, match="Pass predictions of the same kind"):
        better.of(cg.from_pit(ndtr(y - x)))(x)


def test_x_must_have_the_columns_of_the_check():
    x, y = local(400, 0)
    x = x.drop(columns="gap")
    better = cg.check(LINE, x, y, **FAST).repair()
    assert better.held_out is not None
    with pytest.raises(InputError, match="same columns"):
        better(x[["b", "town"]])
    with pytest.raises(InputError, match="held numbers, and now holds text"):
        better(x.assign(b="high"))


@pytest.mark.parametrize(
    ("estimate", "interval", "chance"),
    [
        (3.0, (-4.9, 10.9), True),
        (-0.1, (-0.3, 0.1), True),
        (0.2, (0.1, 0.3), False),
        (-0.2, (-0.3, -0.1), False),
    ],
)
def test_a_gain_that_may_be_chance_says_so(estimate, interval, chance):
    """One wild row can carry the whole mean: the interval then holds 0."""
    words = Gain("log score", -8.0, -8.0 + estimate, estimate, interval, 900).words
    assert ("which may be chance" in words) == chance
    assert ("better by" in words) == (estimate > 0)
