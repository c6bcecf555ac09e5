"""Proper scores of a report, taken apart; coverage over x."""

import json
import pickle

import numpy as np
import pytest
import scoringrules
from scipy.optimize import linprog
from scipy.stats import norm, poisson
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, mean_pinball_loss

import condgof as cg
from condgof.check._decomposition import (
    decompose_crps,
    decompose_probability,
    decompose_quantile,
    isotonic_means,
    isotonic_quantiles,
    mean_absolute_difference,
    pinball_loss,
)
from condgof.check._decomposition import (
    log_loss as own_log_loss,
)

FAST = {"rng": 0, "n_boot": 39}


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((2, n))
    return x, x + noise


def by_key(report):
    return {one.key: one for one in report.scores.scores}


# Recalibration, against other people's and against slow means.


def test_isotonic_means_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 30, 400) / 30  # with ties
    outcome = (rng.random(400) < p**2).astype(float)
    theirs = IsotonicRegression().fit_transform(p, outcome)
    np.testing.assert_allclose(isotonic_means(p, outcome), theirs, atol=1e-10)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("ties", [False, True])
def test_isotonic_quantiles_have_the_least_loss(level, ties):
    """A linear programme over all increasing functions finds no smaller loss."""
    rng = np.random.default_rng(1)
    n = 40
    q = rng.integers(0, 12, n).astype(float) if ties else rng.standard_normal(n)
    y = q + rng.standard_normal(n)
    fitted = isotonic_quantiles(q, y, level)
    order = np.argsort(q)
    assert (np.diff(fitted[order]) >= 0).all()
    assert all(len(set(fitted[q == one])) == 1 for one in np.unique(q))
    # Minimise the mean of level·over + (1 − level)·under with v − y = under − over.
    distinct, codes = np.unique(q, return_inverse=True)
    k = len(distinct)
    cost = np.concatenate([np.zeros(k), np.full(n, level), np.full(n, 1 - level)]) / n
    equal = np.zeros((n, k + 2 * n))
    equal[np.arange(n), codes] = 1.0
    equal[np.arange(n), k + np.arange(n)] = 1.0
    equal[np.arange(n), k + n + np.arange(n)] = -1.0
    increasing = np.zeros((k - 1, k + 2 * n))
    increasing[np.arange(k - 1), np.arange(k - 1)] = 1.0
    increasing[np.arange(k - 1), np.arange(1, k)] = -1.0
    bounds = [(None, None)] * k + [(0, None)] * (2 * n)
    best = linprog(cost, increasing, np.zeros(k - 1), equal, y, bounds).fun
    assert pinball_loss(fitted, y, level) == pytest.approx(best, abs=1e-10)


def test_parts_add_up_and_are_not_negative():
    rng = np.random.default_rng(2)
    p = rng.random(500)
    outcome = (rng.random(500) < p).astype(float)
    for loss in ({}, {"loss": own_log_loss}):
        part = decompose_probability(p, outcome, **loss)
        assert min(part.miscalibration, part.discrimination, part.uncertainty) >= 0
    part = decompose_probability(p, outcome)
    assert part.mean == pytest.approx(brier_score_loss(outcome, p), abs=1e-12)
    assert part.uncertainty == pytest.approx(outcome.mean() * (1 - outcome.mean()))
    # An increasing function of p leaves discrimination alone.
    other = decompose_probability(p**3, outcome)
    assert other.discrimination == pytest.approx(part.discrimination, abs=1e-12)
    assert other.miscalibration > part.miscalibration
    y = rng.standard_normal(500)
    quantile = decompose_quantile(0.3 * y, y, 0.3)
    assert quantile.mean == pytest.approx(mean_pinball_loss(y, 0.3 * y, alpha=0.3))
    assert quantile.discrimination == pytest.approx(quantile.uncertainty)  # y is known


def test_the_crps_is_an_integral_of_brier_scores():
    x, y = sample(200)
    t = np.linspace(-9, 9, 4001)
    cdf = norm.cdf(t - x[:, None])
    width = np.full(len(t), t[1] - t[0])
    mean = float(scoringrules.crps_normal(y, x, 1.0).mean())
    fine = decompose_crps(mean, cdf, y, t, width)
    each = [decompose_probability(cdf[:, k], (y <= t[k]) * 1.0) for k in range(len(t))]
    total = width[0] * sum(one.discrimination for one in each)
    assert fine.discrimination == pytest.approx(total, abs=2e-3)
    assert fine.mean == pytest.approx(mean)
    pairs = np.abs(y[:, None] - y).mean()
    assert mean_absolute_difference(y) == pytest.approx(pairs)
    report = cg.check((x, np.ones(200)), x, y, **FAST)
    parts = by_key(report)["crps"].parts
    assert parts.miscalibration == pytest.approx(fine.miscalibration, abs=2e-3)


# Scores of reports.


def test_scores_are_those_of_other_libraries():
    x, y = sample()
    scores = by_key(cg.check((x, np.full(300, 1.5)), x, y, **FAST))
    assert list(scores) == ["log", "crps"]
    crps = scoringrules.crps_normal(y, x, 1.5).mean()
    assert scores["crps"].mean == pytest.approx(crps, abs=1e-10)
    logs = norm.logpdf(y, x, 1.5)
    assert scores["log"].mean == pytest.approx(logs.mean(), abs=1e-10)
    low, high = scores["log"].interval
    error = logs.std(ddof=1) / np.sqrt(300)
    # As wide as Student's, or wider where scores are skewed.
    assert logs.mean() - 3 * error < low <= logs.mean() - 1.95 * error
    assert logs.mean() + 1.95 * error <= high < logs.mean() + 3 * error
    assert "higher is better" in scores["log"].words


def test_classes():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(400)
    p = 1 / (1 + np.exp(-2 * x))
    label = (rng.random(400) < 1 / (1 + np.exp(-x))).astype(int)
    scores = by_key(cg.check(cg.probabilities(p), x, label, **FAST))
    brier = scores["brier"]
    assert brier.mean == pytest.approx(brier_score_loss(label, p), abs=1e-10)
    assert brier.parts.mean == pytest.approx(brier.mean, abs=1e-10)
    fitted = IsotonicRegression().fit_transform(p, label)
    recalibrated = brier_score_loss(label, fitted)
    assert brier.parts.miscalibration == pytest.approx(brier.mean - recalibrated, abs=1e-10)
    logs = scores["log"]
    assert -logs.mean == pytest.approx(log_loss(label, p), abs=1e-10)
    assert logs.parts.mean == pytest.approx(log_loss(label, p), abs=1e-10)

    three = np.column_stack([p, (1 - p) / 2, (1 - p) / 2])
    several = rng.integers(0, 3, 400)
    brier = by_key(cg.check(cg.probabilities(three), x, several, **FAST))["brier"]
    assert [part.label for part in brier.by_label] == ["0", "1", "2"]
    own = np.square(three - np.eye(3)[several]).sum(axis=1).mean()
    assert brier.parts.mean == pytest.approx(own, abs=1e-10)


def test_quantiles_intervals_and_counts():
    x, y = sample()
    levels = [0.1, 0.5, 0.9]
    values = x[:, None] + norm.ppf(levels)
    pinball = by_key(cg.check(cg.from_quantiles(values, levels), x, y, **FAST))["pinball"]
    theirs = [
        mean_pinball_loss(y, values[:, k], alpha=level) for k, level in enumerate(levels)
    ]
    assert pinball.mean == pytest.approx(np.mean(theirs), abs=1e-10)
    np.testing.assert_allclose([one.mean for one in pinball.by_label], theirs, atol=1e-10)
    report = cg.check(cg.from_intervals(x - 1, x + 1, 0.9), x, y, **FAST)
    winkler = by_key(report)["winkler"]
    theirs = scoringrules.interval_score(y, x - 1, x + 1, 0.1).mean()
    assert winkler.mean == pytest.approx(theirs, abs=1e-10)
    assert winkler.parts is None
    mean = np.exp(x)
    counts = np.random.default_rng(4).poisson(mean)
    model = cg.models.Poisson(mean=lambda x: np.exp(x))
    scores = by_key(cg.check(model, x, counts, **FAST))
    assert scores["crps"].mean == pytest.approx(
        float(scoringrules.crps_poisson(counts, mean).mean()), abs=1e-8
    )
    assert scores["log"].mean == pytest.approx(poisson.logpmf(counts, mean).mean())
    assert scores["crps"].parts.miscalibration >= 0


def test_an_infinite_score_is_counted():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(200)
    label = (rng.random(200) < 0.5).astype(int)
    p = np.full(200, 0.5)
    p[label == 1] = np.where(np.arange((label == 1).sum()) < 2, 0.0, 0.5)
    logs = by_key(cg.check(cg.probabilities(p), x, label, **FAST))["log"]
    assert logs.infinite == 2
    assert logs.mean == -np.inf
    assert "infinite in 2 of 200 rows" in logs.words


# Coverage over x.


def test_coverage_over_x_is_split():
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, 2000)
    y = np.where(x > 0, 2.0, 0.5) * rng.standard_normal(2000)
    report = cg.check((np.zeros(2000), np.ones(2000)), x, y, **FAST)
    half, wide = report.scores.coverage
    assert (half.nominal, wide.nominal) == (0.5, 0.9)
    narrow = 0.9 - (2 * norm.cdf(norm.ppf(0.95) / 2) - 1)
    broad = (2 * norm.cdf(norm.ppf(0.95) * 2) - 1) - 0.9
    assert wide.too_narrow == pytest.approx(narrow / 2, abs=0.03)
    assert wide.too_wide == pytest.approx(broad / 2, abs=0.02)
    assert wide.estimate == pytest.approx(wide.too_narrow + wide.too_wide)
    # A lower bound: near x = 0 the side is not known.
    truth = (narrow + broad) / 2
    assert 0.85 * truth <= wide.estimate <= truth + (wide.interval[1] - wide.estimate)
    # Over all rows the coverage hides it.
    assert abs(wide.coverage - 0.9) < wide.estimate
    assert "too narrow" in wide.words


def test_coverage_of_a_right_model_is_off_by_nothing():
    wrong = 0
    for seed in range(20):
        x, y = sample(seed=seed)
        report = cg.check((x, np.ones(300)), x, y, rng=0, n_boot=19)
        wrong += report.scores.coverage[1].interval[0] > 0
    assert wrong <= 3  # P(more than 3 of 20 | 0.025) = 0.0004


def test_scores_are_kept_and_written():
    x, y = sample()
    report = cg.check((x, np.ones(300)), x, y, **FAST)
    assert pickle.loads(pickle.dumps(report)).scores is None
    assert report.to_dict()["scores"] is None
    assert report.scores is report.scores
    document = json.loads(json.dumps(report.to_dict()))
    assert [one["key"] for one in document["scores"]["scores"]] == ["log", "crps"]
    assert len(document["scores"]["coverage"]) == 2
    stored = pickle.loads(pickle.dumps(report))
    assert stored.scores.words == report.scores.words
    assert list(report.scores.to_frame()["score"]) == ["log score", "CRPS"]
    assert repr(report.scores) == "Scores(log score, CRPS)"
    assert "CRPS" in str(report.scores)
    fitted = cg.composite(cg.fits.ols(), x, y, rng=0, n_boot=19)
    assert fitted.scores is None
