"""The whole answer of `composite`: a check whose every null is drawn with refits."""

import html
import json
import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import condgof as cg
from condgof.check import OF_FITTED, REACH, SET_BY_FIT, CheckStatistics, verdict_words
from condgof.check.effects import NormalTilt
from condgof.check.effects._stages import REFITS
from condgof.errors import InputError, RefitError
from condgof.sample import Seed, Use

N_BOOT = 29


def line_fit(x, y):
    """Least squares on two columns; a tuple (mean, std)."""
    design = np.column_stack([np.ones(len(x)), x["dose"], x["age"]])
    y = np.asarray(y)
    mean = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return mean, np.full(len(y), np.sqrt(np.square(y - mean).sum() / (len(y) - 3)))


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"dose": rng.uniform(-2, 2, 120), "age": rng.integers(18, 70, 120)})
    y = pd.Series(
        1.0 + x["dose"] + 0.8 * x["dose"] ** 2 + rng.standard_normal(120), name="fare"
    )
    return x, y


def naive(x, y, state):
    """Draw, refit and search for effects in a loop; numbers of all rows by hand."""
    mean, std = line_fit(x, y)

    def numbers(y):
        m, s = line_fit(x, y)
        z = (y - m) / s
        tilt = NormalTilt.from_scores(np.asarray(z), "fare")
        best = replace(state, tilt=tilt).largest_worth
        quartiles = np.quantile(z, [0.25, 0.75])
        wide = (quartiles[1] - quartiles[0]) / (2 * norm.ppf(0.75))
        return best, np.median(z), wide - 1.0, np.mean(np.abs(z) <= norm.ppf(0.75)) - 0.5

    def replicate(b):
        noise = Seed.of(3).stream(Use.REPLICATE, b, 0).standard_normal((len(x), 1))[:, 0]
        return mean + std * noise

    replicates = [numbers(replicate(b)) for b in range(1, N_BOOT + 1)]
    return np.array([numbers(np.asarray(y)), *replicates])


def test_a_slow_loop_gives_the_same(table, monkeypatch):
    x, y = table
    nulls = []
    analysis_of = CheckStatistics._analysis

    def spy(self, result, largest, alpha):
        nulls.append(largest.ravel())
        return analysis_of(self, result, largest, alpha)

    monkeypatch.setattr(CheckStatistics, "_analysis", spy)
    report = cg.composite(line_fit, x, y, n_boot=N_BOOT, rng=3, engine=1)
    first = report.analysis.stages[0]
    expected = naive(x, y, report.analysis.state)
    np.testing.assert_allclose(np.append(first.worth, nulls[-1]), expected[:, 0], rtol=1e-5)
    above = np.sum(expected[1:, 0] >= expected[0, 0])
    assert report.effects[0].pvalue == (1 + above) / (N_BOOT + 1)
    assert report.slices[0].pvalue == report.effects[0].pvalue
    for finding, values in zip(report.overall, expected.T[1:], strict=False):
        chance = values[1:]
        assert finding.estimate - finding.expected == pytest.approx(values[0], abs=1e-9)
        half = REACH * chance.std(ddof=1)
        low, high = np.quantile(chance, [0.05 / 12, 1 - 0.05 / 12])
        ends = max(high, chance.mean() + half), min(low, chance.mean() - half)
        assert finding.interval == pytest.approx(
            [finding.estimate - end for end in ends], abs=1e-9
        )


def test_it_is_a_check_in_the_users_words(table):
    x, y = table
    report = cg.composite(line_fit, x, y, n_boot=99, rng=1, engine=1)
    assert isinstance(report, cg.Check)
    assert report.rejected
    assert report.reject(0.05)
    assert report.pvalue == report.result.pvalue
    assert report.result.method == "composite(check)"
    assert "staged gains" in report.result.details["families"]
    first = report.slices[0]
    assert first.kind == "shift"
    z = report.frame().query(first.query)["z"]
    assert list(z.index) == list(first.rows)
    assert z.median() == pytest.approx(first.findings[0].estimate)
    assert z.mean() == pytest.approx(first.findings[1].estimate)
    text = str(report)
    assert text.splitlines()[0].endswith(" · 120 rows · fare | dose, age")
    assert verdict_words(report) == "Misfit of the family of the fitted model (p ≤ 0.01)"
    alone = cg.composite(cg.fits.ols(), x[["dose"]], y, n_boot=99, rng=1, engine=1)
    assert "dose" in alone.words
    assert "dose" in alone.slices[0].query
    assert "crossfit" not in text
    assert OF_FITTED in report.notes
    assert report.power.size is None
    json.dumps(report.to_dict())
    assert pickle.loads(pickle.dumps(report)).pvalue == report.pvalue
    assert "fare" in report.to_html()
    assert html.escape(report.words) in report._repr_html_()


def test_of_a_true_family_the_message_counts_refits(table):
    x, _ = table
    y = 1.0 + x["dose"] + np.random.default_rng(0).standard_normal(120)
    report = cg.composite(line_fit, x, y, n_boot=99, rng=1, engine=1)
    assert not report.rejected
    assert report.slices == ()
    worse = np.sum(report.result.null_distribution >= report.result.statistic)
    assert (
        f"of 99 samples that were drawn from the fitted model and fitted again, {worse}"
        " look" in str(report.words)
    )
    assert report.pvalue == (1 + worse) / 100


@pytest.mark.parametrize("kind", ["counts", "classes", "several", "moments", "few"])
def test_every_kind_of_y(table, kind):
    from sklearn.linear_model import LogisticRegression

    x, y = table
    rng = np.random.default_rng(1)
    options = {}
    fit = cg.fits.ols()
    if kind == "counts":
        fit = cg.fits.glm("poisson")
        y = rng.poisson(np.exp(0.5 * x["dose"]))
    elif kind == "classes":
        fit = cg.fits.sklearn(LogisticRegression(C=1e6))
        y = np.where(rng.random(120) < 1 / (1 + np.exp(-x["dose"])), "yes", "no")
    elif kind == "several":
        y = np.column_stack([y, rng.standard_normal(120)])
    elif kind == "moments":
        options = {"standardize": "mean_std"}
    else:
        x = x[:29]
        y = y[:29]
    report = cg.composite(fit, x, y, n_boot=19, rng=0, engine=1, **options)
    assert 0.05 <= report.pvalue <= 1
    assert report.overall
    assert str(report)
    if kind == "few":
        assert "29 rows are too few to search for effects (that takes 30)" in report.notes
        assert report.details["searched"] == {}
    elif report.rejected:
        assert report.details["searched"]["rows"] == 120
        assert report.details["searched"]["null"] == REFITS
    else:
        assert report.details["searched"] == {}
        assert report.effects == ()
    if kind == "classes":  # the score equations of a logistic regression
        (share,) = [f for f in report.overall if f.kind == "class"]
        assert "of rows are " in share.words
        assert SET_BY_FIT in share.words
        assert not share.telling
    if kind == "counts":
        shift = report.overall[0]
        assert shift.estimate == pytest.approx(report.frame()["residual"].mean())


def test_a_fit_that_follows_the_noise_is_told_of_crossfit(table):
    from sklearn.tree import DecisionTreeRegressor

    x, y = table
    lines = cg.composite(line_fit, x, y, n_boot=99, rng=1, engine=1)
    assert lines.details["effective_parameters"] == pytest.approx(
        3.0, abs=4 * np.sqrt(6 / 99)
    )
    tree = cg.fits.sklearn(DecisionTreeRegressor(min_samples_leaf=2), cv=2)
    report = cg.composite(tree, x, y, n_boot=9, alpha=0.5, rng=1, engine=1)
    assert report.details["effective_parameters"] > 30
    assert "the fit follows the noise" in report.notes[-1]
    assert "`cg.check(cg.crossfit(fit, x, y), x, y)`" in report.notes[-1]


def test_slow_fits_are_told_of_crossfit(table, monkeypatch):
    monkeypatch.setattr(sys.modules[CheckStatistics.__module__], "SLOW_SECONDS", 0.0)
    report = cg.composite(line_fit, *table, n_boot=9, alpha=0.5, rng=1, engine=1)
    assert report.notes[-1].startswith("9 refits took 0.")
    assert "takes 5 fits" in report.notes[-1]


def test_refits_that_fail_are_counted_and_too_many_are_an_error(table):
    x, y = table
    calls = [0]

    def fit(x, y, at=(11, 15)):  # eight calls measure how far the fit shrinks
        calls[0] += 1
        if calls[0] - 1 in at:
            raise ValueError("no convergence")
        return line_fit(x, y)

    report = cg.composite(fit, x, y, n_boot=N_BOOT, rng=3, engine=1)
    assert len(report.result.null_distribution) == N_BOOT - 2
    note = f"2 of {N_BOOT} refits failed and were left out (ValueError: no convergence)"
    assert note in report.notes
    assert note in str(report).replace("\n           ", " ")
    calls[0] = 0
    with pytest.raises(RefitError, match="refits failed, more than 10%"):
        cg.composite(
            lambda x, y: fit(x, y, range(1, 999)), x, y, n_boot=N_BOOT, rng=3, engine=1
        )


def test_alpha_is_that_of_the_check(table):
    report = cg.composite(line_fit, *table, n_boot=19, rng=3, engine=1, alpha=0.1)
    assert report.alpha == 0.1
    with pytest.raises(InputError, match="n_boot=99 or more"):
        # 20 samples give no p-value below 0.05.
        cg.composite(line_fit, *table, n_boot=19, rng=3, engine=1, alpha=0.01)
    with pytest.raises(InputError, match="alpha must be between 0 and 1"):
        cg.composite(line_fit, *table, alpha=2)


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_workers_change_nothing(table, workers):
    x, y = table
    alone = cg.composite(cg.fits.ols(), x, y, n_boot=9, alpha=0.5, rng=3, engine=1)
    many = cg.composite(
        cg.fits.ols(), x, y, n_boot=9, alpha=0.5, rng=3, engine=2, workers=workers
    )
    assert many.words == alone.words
    assert [f.words for f in many.overall] == [f.words for f in alone.overall]
    np.testing.assert_allclose(
        many.result.null_distribution, alone.result.null_distribution, rtol=1e-6
    )
