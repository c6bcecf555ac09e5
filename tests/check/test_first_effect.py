"""The first effect is the cause, on simulated versions of data where it was not."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import condgof as cg
from condgof.errors import DependenceWarning


def negative_binomial(rng, mean, dispersion):
    size = 1.0 / dispersion
    return rng.negative_binomial(size, size / (size + mean)).astype(float)


def two_months(rng, n=600):
    return pd.DataFrame(
        {
            "month": np.repeat(["April", "May"], n // 2),
            "a": rng.normal(size=n),
            "b": rng.integers(0, 5, n),
        }
    )


def assert_too_wide_everywhere(report):
    first = report.effects[0]
    assert first.kind in ("spread", "dispersion")
    assert first.columns == ()
    assert first.cells[0].estimate < 0.8
    for group in report.groups:
        assert group.direction == "too wide"


def test_one_count_does_not_turn_the_direction():
    rng = np.random.default_rng(0)
    x = two_months(rng)
    y = negative_binomial(rng, np.full(len(x), 50.0), 0.04)
    y[450] = 700
    law = cg.models.NegativeBinomial(mean=np.full(len(x), 50.0), dispersion=0.1)
    assert_too_wide_everywhere(cg.check(law, x, y, by="month", rng=0, n_boot=99))


def test_one_wild_row_does_not_turn_the_direction():
    rng = np.random.default_rng(0)
    x = two_months(rng)
    y = 0.7 * rng.normal(size=len(x))
    y[450] = 30
    report = cg.check(
        (np.zeros(len(x)), np.ones(len(x))), x, y, by="month", rng=0, n_boot=99
    )
    assert_too_wide_everywhere(report)


def test_different_means_are_no_spread():
    """Two profiles of the day, of which the model has the mean: hr and workingday."""
    rng = np.random.default_rng(1)
    n = 2500
    hr = rng.integers(0, 24, n)
    free = rng.random(n) < 0.32
    temp = rng.random(n)
    rush = 1.6 * np.exp(-((hr - 8) ** 2) / 4) + 1.8 * np.exp(-((hr - 17) ** 2) / 6)
    working_day = 3.0 + rush - 1.5 * np.exp(-((hr - 3) ** 2) / 8)
    noon = 1.6 * np.exp(-((hr - 14) ** 2) / 25)
    free_day = 3.2 + noon - np.exp(-((hr - 6) ** 2) / 8)
    y = negative_binomial(rng, np.exp(np.where(free, free_day, working_day)), 0.15)
    mean = np.exp(0.68 * working_day + 0.32 * free_day)
    mean *= y.mean() / mean.mean()
    dispersion = ((y - mean) ** 2 - mean).mean() / (mean**2).mean()
    x = pd.DataFrame(
        {"hr": hr, "workingday": 1 - free, "temp": temp, "noise": rng.normal(size=n)}
    )
    law = cg.models.NegativeBinomial(mean=mean, dispersion=dispersion)
    report = cg.check(law, x, y, rng=0, n_boot=99)
    first = report.effects[0]
    assert (first.kind, set(first.columns)) == ("bias", {"hr", "workingday"})
    residuals = report.frame().groupby(["workingday", "hr"])["residual"].mean()
    worst = residuals.abs().idxmax()
    rows = report.frame().query(report.slices[0].query)
    assert set(zip(rows["workingday"], rows["hr"], strict=True)) >= {worst}


@pytest.mark.parametrize("dependence", [None, "auto", 25])
def test_dependence_does_not_hide_a_seasonal_mean(dependence):
    rng = np.random.default_rng(3)
    n = 1140
    month = np.arange(n) % 12 + 1
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.5 * noise[i - 1] + np.sqrt(0.75) * rng.normal()
    y = np.sin(2 * np.pi * month / 12) + 0.5 * noise
    x = pd.DataFrame({"month": month, "time": np.arange(n) * 1.0})
    law = np.zeros(n), np.full(n, y.std())
    warned = pytest.warns(DependenceWarning) if dependence is None else nullcontext()
    with warned:
        report = cg.check(law, x, y, dependence=dependence, rng=0, n_boot=99)
    assert (report.effects[0].kind, report.effects[0].columns) == ("bias", ("month",))


def test_a_spread_that_follows_from_a_bias_comes_after_it():
    """With 90% of the variance between months, narrowing the spread gains most: 0.7 nats.

    The bias itself gains ½·0.9. But the spread is right until the bias is taken off.
    """
    rng = np.random.default_rng(4)
    n = 1000
    month = rng.integers(1, 13, n)
    y = np.sqrt(1.8) * np.sin(2 * np.pi * month / 12) + np.sqrt(0.1) * rng.normal(size=n)
    x = pd.DataFrame({"month": month, "a": rng.normal(size=n)})
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=99)
    first, second = report.effects[:2]
    assert (first.kind, first.columns) == ("bias", ("month",))
    assert second.kind == "spread"
    assert second.gain > first.gain


def test_no_place_is_named_for_what_holds_everywhere():
    rng = np.random.default_rng(5)
    n = 2000
    hr = rng.integers(0, 24, n)
    x = pd.DataFrame({"hr": hr, "temp": rng.random(n), "free": rng.integers(0, 2, n)})
    mean = np.full(n, 50.0)
    y = negative_binomial(rng, mean, 0.3)
    report = cg.check(cg.models.Poisson(mean=mean), x, y, rng=0, n_boot=99)
    first = report.effects[0]
    assert (first.kind, first.columns) == ("dispersion", ())
    assert first.share > 0.99


def test_a_small_category_is_not_joined_with_a_right_one():
    rng = np.random.default_rng(7)
    n = 60_000
    levels = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS"]
    clarity = rng.choice(levels, n, p=[0.0115, 0.1235, 0.24, 0.23, 0.15, 0.245])
    x = pd.DataFrame(
        {
            "clarity": pd.Categorical(clarity, categories=levels, ordered=True),
            "carat": rng.gamma(4, 0.2, n),
        }
    )
    y = np.where(clarity == "I1", 1.69, 1.0) * rng.normal(size=n)
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=99)
    assert (report.effects[0].kind, report.effects[0].columns) == ("spread", ("clarity",))
    assert [one.words for one in report.slices] == ["clarity = I1"]


def test_heavy_tails_are_no_spread():
    """In at least 3 of 5 samples; 27 of 30 were measured, which makes P = 0.991."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng([8, seed])
        n = 2000
        mean = rng.uniform(10, 80, n)
        x = pd.DataFrame({"a": mean / 10 + rng.normal(size=n), "b": rng.normal(size=n)})
        heavy = (mean > 32) & (mean < 55)
        tails = 0.6 * rng.standard_t(2.2, n)
        y = mean + np.where(heavy, tails, rng.normal(size=n))
        report = cg.check((mean, np.ones(n)), x, y, n_boot=99, rng=0)
        found.append((report.effects[0].kind, report.effects[0].columns))
    assert all(kind == "tails" for kind, _ in found)
    assert found.count(("tails", ("predicted",))) >= 3


def test_large_biases_come_before_the_spread_that_they_make():
    """A wider spread gains more than the bias, which explains nine tenths of it."""
    rng = np.random.default_rng(21)
    n = 300
    income = rng.uniform(0.0, 4.0, n)
    y = np.where(income > 2.0, 15.0, 0.0) + 3.0 * rng.standard_normal(n)
    x = pd.DataFrame({"income": income, "age": rng.uniform(20.0, 60.0, n)})
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=199, engine=1)
    first, second = report.effects[:2]
    assert (first.kind, first.columns) == ("bias", ("income",))
    assert (second.kind, second.columns) == ("spread", ())


def test_a_large_spread_is_not_called_a_bias():
    rng = np.random.default_rng(22)
    n = 300
    x = pd.DataFrame({"income": rng.uniform(0.0, 4.0, n)})
    y = 0.5 * x["income"] + 10.0 * rng.standard_normal(n)
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=199, engine=1)
    assert (report.effects[0].kind, report.effects[0].columns) == ("spread", ())


def test_a_spread_after_a_large_bias_is_said_by_what_is_left_of_it():
    rng = np.random.default_rng(3)
    x = pd.DataFrame({"a": rng.uniform(size=400)})
    y = 20.0 * x["a"] + 4.0 * rng.standard_normal(400)  # the model: N(0, 1)
    report = cg.check((np.zeros(400), np.ones(400)), x, y, rng=1, n_boot=99)
    later = next(effect for effect in report.effects if effect.name == "spread overall")
    # The middle half of the rows is that of the means and the errors together.
    assert later.cells[0].finding.estimate > 6.0
    assert later.given_before
    assert later.cells[0].correction == pytest.approx(4.0, rel=0.2)
    assert "once the effects before it are corrected" in later.words


def test_a_trend_that_its_few_end_rows_do_not_show_is_said_by_thirds():
    """The share of yes rises along x, but not in the 4% of rows at either end."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 1500)
    p = np.where(np.abs(x) > 0.96, 0.5, expit(x))
    y = np.where(rng.random(1500) < p, "yes", "no")
    model = cg.probabilities(np.full(1500, 0.5), classes=["no", "yes"])
    report = cg.check(model, x, y, rng=0)
    first = report.effects[0]
    assert first.trend
    low, high = first.extremes
    assert (low, high) == first.thirds
    frame = report.frame()
    for cell in (low, high):
        rows = frame.query(cell.query)
        assert 0.3 < len(rows) / 1500 < 0.37
        assert sorted(rows.index) == sorted(cell.rows)
        assert cell.estimate == pytest.approx((rows["y"] == "yes").mean())
    assert low.estimate < 0.5 < high.estimate
    assert "The probability of yes is wrong along x" in report.words
    assert f"{low.n} rows)" in report.words


def test_a_trend_that_its_ends_show_is_said_by_them():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 600)
    report = cg.check((np.zeros(600), 1.2), x, x + rng.standard_normal(600), rng=0)
    first = report.effects[0]
    assert first.trend
    assert first.thirds == ()
    assert first.extremes == (first.cells[0], first.cells[-1])


def test_heaps_at_round_numbers_come_after_the_cause_and_point_masses_before_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 50 + 8 * x + 10 * rng.normal(size=400)
    model = (np.full(400, 50.0), 12.8)
    heaped = cg.check(model, x, np.where(rng.random(400) < 0.05, 60.0, y), rng=0)
    assert heaped.words.startswith("The mean is wrong along x")
    assert ". 6% of y are exactly 60" in heaped.words
    cut_off = cg.check(model, x, np.maximum(y, 38.0), rng=0)
    assert "of y are exactly 38" in cut_off.words.partition(".")[0]
    spike = cg.check(model, x, np.where(rng.random(400) < 0.2, 55.0, y), rng=0)
    assert "of y are exactly 55" in spike.words.partition(".")[0]


def test_a_later_effect_that_rows_as_they_are_do_not_show_is_said_by_its_corrections():
    """Along b, what is left of the bias by a hides what b itself does."""
    rng = np.random.default_rng(4)
    n = 1200
    a = rng.normal(size=n)
    b = a + 0.5 * rng.normal(size=n)
    y = 1.9 * a - 1.28 * b + rng.normal(size=n)
    x = pd.DataFrame({"a": a, "b": b})
    report = cg.check((np.zeros(n), 1.0), x, y, rng=0)
    by_b = next(effect for effect in report.effects if effect.columns == ("b",))
    assert by_b.given_before
    low, high = by_b.extremes
    assert low.correction < -0.2
    assert high.correction > 0.2
    assert abs(high.estimate - low.estimate) < 0.2
