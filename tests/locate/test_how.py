"""Estimates of what is wrong, against textbook formulas and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from condgof.locate._how import (
    correlations,
    stein_correlations,
    stein_estimates,
    weighted_estimates,
)
from condgof.locate._record import Interval
from condgof.locate._scatter import Scatter
from condgof.locate._words import measured

APART = Scatter()  # rows that do not depend on each other


def by_kind(estimates):
    return {estimate.kind: estimate for estimate in estimates}


def test_equal_weights_are_the_textbook():
    r = np.random.default_rng(0).gamma(2.0, 1.0, 50)
    found = by_kind(weighted_estimates(r[:, None], np.ones(50), ("y",), APART, shape=True))
    assert found["shift"].value == pytest.approx(r.mean())
    assert found["shift"].error == pytest.approx(r.std(ddof=1) / np.sqrt(50))
    assert found["width"].back(found["width"].value) == pytest.approx(r.std(ddof=1))
    assert found["skew"].value == pytest.approx(stats.skew(r))
    assert found["tails"].value == pytest.approx(stats.kurtosis(r))
    low, high = found["shift"].ends(0.95)
    expected = stats.t.interval(0.95, 49, r.mean(), stats.sem(r))
    np.testing.assert_allclose((low, high), expected)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    r, w = rng.standard_normal(30), rng.integers(1, 4, 30)
    weighted = by_kind(weighted_estimates(r[:, None], w.astype(float), ("y",), APART, shape=True))
    repeated = by_kind(
        weighted_estimates(np.repeat(r, w)[:, None], np.ones(w.sum()), ("y",), APART, shape=True)
    )
    for kind in ("shift", "skew", "tails"):
        assert weighted[kind].value == pytest.approx(repeated[kind].value)


@pytest.mark.parametrize("kind", ["shift", "skew", "tails"])
def test_errors_are_those_of_the_influence_function(kind):
    """The influence of a row is the derivative of the estimate by its weight."""
    rng = np.random.default_rng(2)
    r, w = rng.standard_t(3, 400)[:, None], rng.uniform(0.2, 1.0, 400)

    def value(weights):
        return by_kind(weighted_estimates(r, weights, ("y",), APART, shape=True))[kind].value

    share, step = w / w.sum(), 1e-6
    slopes = np.array([(value(w + step * (np.arange(400) == i)) - value(w)) / step for i in range(400)])
    influence = slopes * w.sum()
    effective = 1 / np.square(share).sum()
    expected = np.sqrt(effective / (effective - 1) * np.square(share * influence).sum())
    found = by_kind(weighted_estimates(r, w, ("y",), APART, shape=True))[kind].error
    floor = {"skew": np.sqrt(6 / effective), "tails": np.sqrt(24 / effective)}.get(kind, 0.0)
    assert found == pytest.approx(max(expected, floor), rel=1e-3)


@given(st.floats(-3, 3), st.floats(0.3, 3), st.integers(0, 10**6))
def test_shift_and_width_follow_the_data(shift, ratio, seed):
    rng = np.random.default_rng(seed)
    r, w = rng.standard_normal((40, 1)), rng.uniform(0.1, 1.0, 40)
    one = by_kind(weighted_estimates(r, w, ("y",), APART, shape=True))
    other = by_kind(weighted_estimates(shift + ratio * r, w, ("y",), APART, shape=True))
    assert other["shift"].value == pytest.approx(shift + ratio * one["shift"].value, abs=1e-9)
    assert np.exp(other["width"].value - one["width"].value) == pytest.approx(ratio)
    assert other["skew"].value == pytest.approx(one["skew"].value, abs=1e-8)
    assert other["tails"].error == pytest.approx(one["tails"].error, abs=1e-8)


def test_scores_of_a_gaussian_say_what_residuals_say():
    rng = np.random.default_rng(3)
    y, w = 5.0 + 3.0 * rng.standard_normal(4000), rng.uniform(0.1, 1.0, 4000)
    model_mean, model_sd = 4.0, 2.0
    scores = -(y - model_mean) / model_sd**2
    from_scores = by_kind(stein_estimates(y[:, None], scores[:, None], w, ("y",), APART))
    residuals = ((y - model_mean) / model_sd)[:, None]
    plain = by_kind(weighted_estimates(residuals, w, ("y",), APART, shape=False))
    assert from_scores["width"].value == pytest.approx(plain["width"].value, rel=0.01)
    # E[s²] holds the shift too, so that the unit is a little larger: by √(1 + (δ/ratio)²).
    unit = np.sqrt(1 + (plain["shift"].value / np.exp(plain["width"].value)) ** 2)
    assert from_scores["shift"].value * unit == pytest.approx(plain["shift"].value, rel=0.01)
    assert from_scores["shift"].value > 0  # the data lie above the model


def test_correlation_by_residuals_and_by_scores():
    rng = np.random.default_rng(4)
    u = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 5000)
    w = rng.uniform(0.1, 1.0, 5000)
    (by_residuals,) = correlations(u, w, ("a", "b"), APART)
    (by_scores,) = stein_correlations(u, -u, w, ("a", "b"), APART)
    assert by_residuals.columns == ("a", "b")
    assert np.tanh(by_residuals.value) == pytest.approx(by_scores.value, abs=0.01)
    assert by_residuals.back(by_residuals.value) == pytest.approx(0.5, abs=0.04)
    # Fisher: the error on his scale is 1/√n for a normal sample.
    effective = w.sum() ** 2 / (w**2).sum()
    assert by_residuals.error == pytest.approx(1 / np.sqrt(effective), rel=0.05)


@pytest.mark.parametrize("n", [20, 100])
def test_intervals_cover_under_a_true_model(n):
    """2,000 samples: 95% intervals may miss in 5%, or less (skew and tails); exact bound, tail 1e-4."""
    rng = np.random.default_rng(5)
    w = np.exp(-np.linspace(0, 1.5, n))
    missed = dict.fromkeys(("shift", "width", "skew", "tails"), 0)
    for _ in range(2000):
        for e in weighted_estimates(rng.standard_normal((n, 1)), w, ("y",), APART, shape=True):
            low, high = e.ends(0.95)
            missed[e.kind] += not low <= e.back(0.0) <= high
    most = stats.binom.isf(1e-4, 2000, 0.05)
    assert max(missed.values()) <= most * (1.1 if n < 50 else 1.0), missed
    assert missed["shift"] >= stats.binom.ppf(1e-4, 2000, 0.05)


@pytest.mark.parametrize(
    ("value", "named", "words"),
    [
        (0.5, True, "the model is too low: y lies 0.50 sd above it (0.3"),
        (-0.5, True, "the model is too high: y lies 0.50 sd below it (0.3"),
        (0.5, False, "shift 0.50 sd (0.3"),
    ],
)
def test_words_of_a_shift(value, named, words):
    r = value + np.random.default_rng(6).standard_normal((200, 1))
    r -= r.mean() - value
    (shift, _) = weighted_estimates(r, np.ones(200), ("y",), APART, shape=False)
    finding = shift.finding(2, named, "sd", several=False)
    assert finding.words.startswith(words)
    assert finding.named == named


def test_units_say_their_note_once():
    assert measured(Interval(0.2, 0.1, 0.3), "sd (guessed)") == "0.20 sd (0.10 to 0.30; guessed)"
