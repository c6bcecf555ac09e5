"""A repair: the law corrected by the effects of a check; it helps where there is a misfit,
and else does nothing.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import condgof as cg
from condgof.check import Gain
from condgof.errors import InputError, UnsupportedModelError

FAST = {"n_boot": 39, "engine": 1, "rng": 0}


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
    whole = cg.models.Normal(mean=y.mean(), std=y.std())  # one map, the same in all rows
    assert gain.after > whole(new_x).log_prob(new_y).mean() + 0.05


def test_the_promised_gain_is_that_of_the_effects():
    x, y = local(1500, 0)
    x = x.drop(columns="gap")
    report = cg.check(LINE, x, y, **FAST)
    better = report.repair()
    held_out = report.analysis.held_out
    assert better.held_out.estimate == pytest.approx(held_out.gains.mean())
    assert better.held_out.after == pytest.approx(
        better.held_out.before + better.held_out.estimate
    )
    # The law of each fold is that of the effects that were found without it.
    law, corrected = better.held_out_law()
    gains = corrected.log_prob(y) - law.log_prob(y)
    usual = np.abs(law.normal_scores(y)[:, 0]) < 2.5
    of_effects = np.empty(1500)
    of_effects[held_out.rows] = held_out.gains
    assert gains[usual] == pytest.approx(of_effects[usual], abs=1e-6)
    # Words name the effects in their order.
    places = []
    for stage in report.analysis.stages:
        kind = report.analysis.state.tilt.kinds[stage.candidate.kind].name
        places.append(better.words.index(f"{kind} "))
    assert places[0] == better.words.index(":") + 2
    assert "SD" in better.words
    assert "times" in better.words


def test_an_interaction_is_mended():
    """A bias by the product of two columns, which no function of one column has."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4500, 3))
    y = 2.0 * x[:, 0] * x[:, 1] + rng.standard_normal(4500)
    model = cg.models.Normal(mean=lambda x: np.zeros(len(x)), std=1.0)
    better = cg.check(model, x[:1500], y[:1500], **FAST).repair()
    assert "bias by x1 × x2" in better.words
    assert better.gain(x[1500:], y[1500:]).estimate > 0.12  # of 0.22


def test_times_with_censoring_get_another_hazard():
    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.integers(0, 2, n).astype(float)
        time = np.exp(-0.7 * x) * rng.exponential(2.0, n)
        end = rng.uniform(0.5, 6.0, n)
        return np.column_stack([x, rng.random(n)]), np.minimum(time, end), time <= end

    x, y, event = draw(1200)
    model = cg.models.Exponential(scale=lambda x: np.full(len(x), 1.5))
    better = cg.check(model, x, y, event=event, **FAST).repair()
    assert "hazard" in better.words
    assert better.held_out.measure == "log score"
    new_x, new_y, new_event = draw(3000)
    gain = better.gain(new_x, new_y, event=new_event)
    assert gain.interval[0] > 0.03
    median = better(new_x).quantile([0.5])[:, 0]
    ratio = np.median(median[new_x[:, 0] == 0]) / np.median(median[new_x[:, 0] == 1])
    assert ratio == pytest.approx(np.exp(0.7), abs=0.35)


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
        assert better.words.startswith("Nothing to correct")
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
    kinds_of_error = {"draws": "spread", "interval": "coverage", "intervals": "coverage"}
    assert kinds_of_error.get(kind, "quantile") in better.words
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


def test_rows_of_probability_0_are_said_and_do_not_teach_a_repair():
    """Odds of 0 stay 0 whatever they are multiplied by; such rows are outliers."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1500, 2))
    p = 1 / (1 + np.exp(-x[:, 0]))
    y = np.where(rng.random(1500) < p, "yes", "no")
    claimed = np.clip(1.3 * p - 0.15, 0, 1)
    sure = cg.models.Model(
        lambda x: cg.probabilities(
            np.clip(1.3 / (1 + np.exp(-np.asarray(x)[:, 0])) - 0.15, 0, 1), ["no", "yes"]
        )
    )
    report = cg.check(sure, x, y, **FAST)
    impossible = np.where(y == "yes", claimed == 0, claimed == 1).sum()
    assert impossible > 0
    (found,) = [one for one in report.overall if one.kind == "wild"]
    assert found.numbers["impossible"] == impossible
    law = report.repair()(x)
    assert law.values.sum(axis=1) == pytest.approx(1.0)


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
    few = cg.check((np.zeros(25), np.ones(25)), x[:25], 5 * y[:25, 0], **FAST).repair()
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
    classes = cg.probabilities(np.full((900, 3), 1 / 3), ["a", "b", "c"])
    labels = np.where(rng.random(900) < 0.7, "a", "b")
    report = cg.check(classes, x, labels, **FAST)
    with pytest.raises(InputError, match="of the same classes"):
        report.repair().of(cg.probabilities(np.full((900, 2), 0.5), ["a", "b"]))(x)


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
