"""Autocorrelation of rows of every kind of y, and the block lengths that it asks for."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from scipy.stats import binom, poisson

import condgof as cg
from condgof.errors import DependenceWarning
from condgof.null import Autocorrelation, auto_length, without_misfit
from condgof.residuals import (
    DependenceValues,
    Stretch,
    class_scores,
    ordered_cell_scores,
)


def ar(n, r, rng):
    """Standard normal numbers, AR(1) with correlation r."""
    noise = rng.standard_normal(n)
    noise[1:] *= np.sqrt(1 - r**2)
    return lfilter([1.0], [1.0, -r], noise)


def length_of(found, x=None):
    return auto_length([Stretch(found, x)], len(found.values))


# Samples of true models, of one normal number z a row: a Gaussian copula.


def poisson_counts(mean, z):
    counts = np.arange(40)
    p = np.tile(poisson.pmf(counts, mean), (len(z), 1))
    return p, poisson.ppf(ndtr(z), mean).astype(int)


def binary(z):
    p = np.linspace(0.2, 0.6, len(z))
    return np.column_stack([1 - p, p]), (ndtr(z) < p).astype(int)


def four_classes(z):
    """Classes whose numbers are not in the order of z."""
    p = np.tile([0.2, 0.25, 0.15, 0.4], (len(z), 1))
    order = np.array([2, 0, 3, 1])
    ends = np.cumsum(p[:, order], axis=1)[:, :3]
    return p, order[(ndtr(z)[:, None] > ends).sum(axis=1)]


# Scores


def oracle_ordered(p, code):
    """One row, by the definition."""
    scores = [ndtri(sum(p[:k]) + p[k] / 2) for k in range(len(p))]
    mean = sum(p * scores)
    spread = np.sqrt(sum(p * (scores - mean) ** 2))
    standardised = (scores - mean) / max(spread, 0.1)
    size = abs(standardised[code]) - sum(p * abs(standardised))
    return standardised[code], size


def test_ordered_scores_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5), 30)
    p[0] = [0.9999, 2e-5, 3e-5, 2e-5, 3e-5]  # nearly certain
    codes = rng.integers(0, 5, 30)
    found = ordered_cell_scores(2 * p, codes)
    for i in range(30):
        value, size = oracle_ordered(p[i], codes[i])
        np.testing.assert_allclose(found.values[i, 0], value, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.sizes[i, 0], size, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scores", [ordered_cell_scores, class_scores])
@pytest.mark.parametrize("count", [2, 3, 11])
def test_scores_have_mean_0_given_x(scores, count):
    p = np.random.default_rng(1).dirichlet(np.ones(count) / 2, 20)
    by_code = [scores(p, np.full(20, code)) for code in range(count)]
    mean = sum(p[:, [k]] * found.values for k, found in enumerate(by_code))
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    if by_code[0].sizes is not None:
        size = sum(p[:, [k]] * found.sizes for k, found in enumerate(by_code))
        np.testing.assert_allclose(size, 0, atol=1e-12)


def test_two_cells_have_pearson_residuals():
    p, y = binary(np.random.default_rng(2).standard_normal(50))
    pearson = (y - p[:, 1]) / np.sqrt(p[:, 0] * p[:, 1])
    np.testing.assert_allclose(class_scores(p, y).values[:, 0], pearson)


def test_many_classes_are_merged():
    p = np.random.default_rng(3).dirichlet(np.ones(200), 40)
    found = class_scores(p, np.arange(40))
    assert found.values.shape == (40, 8)


def test_rare_counts_tell_their_correlation():
    """Lag 1 of an AR(0.8) copula: Pearson's residuals have 0.54, a randomised PIT 0.18."""
    p, y = poisson_counts(0.1, ar(40_000, 0.8, np.random.default_rng(4)))
    found = ordered_cell_scores(p, y)
    r = Autocorrelation.from_parts([found.values - found.values.mean()]).r
    assert 0.48 < r[0] < 0.58


# Correlations


def test_correlations_of_vectors_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    parts = [rng.standard_normal((m, 3)) * [1, 2, 3] for m in (40, 31)]
    found = Autocorrelation.from_parts(parts, 9)
    n = 71
    whole = np.concatenate(parts)
    covariance = whole.T @ whole
    information = n * np.trace(covariance) ** 2 / np.sum(covariance**2)
    assert found.information == pytest.approx(information)
    for k in range(1, 10):
        products = np.concatenate([(c[k:] * c[:-k]).sum(axis=1) for c in parts])
        r = products.sum() / np.sum(whole**2)
        robust = products.sum() / np.sqrt(np.sum(products**2))
        plain = np.sqrt(information) * r
        assert found.r[k - 1] == pytest.approx(r * n / len(products))
        assert found.t[k - 1] == pytest.approx(min(robust, plain, key=abs))


def test_the_reach_of_sums():
    """That of a process of correlation e^(−t/τ) is τ."""
    k = np.arange(1, 400)
    r = np.exp(-k / 20)
    found = Autocorrelation(10**6, 1e6, r, 1e3 * r)
    assert found.correlations_of_sums().reach() == pytest.approx(20, rel=0.02)
    nothing = Autocorrelation(1000, 1000.0, np.zeros(250), np.zeros(250))
    assert nothing.correlations_of_sums().reach() == 0


# Block lengths


AR_COPULAS = {
    "counts": lambda z: ordered_cell_scores(*poisson_counts(10.0, z)),
    "rare counts": lambda z: ordered_cell_scores(*poisson_counts(0.2, z)),
    "two classes": lambda z: class_scores(*binary(z)),
    "four classes": lambda z: class_scores(*four_classes(z)),
    "20 cells": lambda z: ordered_cell_scores(
        np.full((len(z), 20), 0.05), np.floor(20 * ndtr(z)).astype(int)
    ),
}


@pytest.mark.parametrize("kind", AR_COPULAS)
def test_auto_tells_dependence_of_a_discrete_y(kind):
    lengths = [
        length_of(AR_COPULAS[kind](ar(500, 0.8, np.random.default_rng(s))))
        for s in range(15)
    ]
    assert min(lengths) >= 6
    assert 10 <= np.median(lengths) <= 35


@pytest.mark.parametrize("kind", AR_COPULAS)
def test_auto_takes_independent_rows_of_a_discrete_y_for_what_they_are(kind):
    lengths = np.array(
        [
            length_of(AR_COPULAS[kind](np.random.default_rng(s).standard_normal(200)))
            for s in range(200)
        ]
    )
    assert (lengths > 1).sum() <= binom.isf(1e-3, 200, 0.06)
    assert (lengths > 5).sum() <= binom.isf(1e-3, 200, 0.015)


def test_effects_of_days_are_found():
    """24 rows of a day share a fifth of their variance, AR(0.5) from day to day."""
    lengths = []
    for seed in range(15):
        rng = np.random.default_rng([seed, 6])
        z = np.sqrt(0.2) * np.repeat(ar(40, 0.5, rng), 24)
        z += np.sqrt(0.8) * rng.standard_normal(960)
        lengths.append(length_of(DependenceValues(z[:, None])))
    assert np.median(lengths) > 60  # 2 days and a half; version 0.2 has 58
    assert min(lengths) > 20


# A misfit along x


def test_a_missing_season_is_no_dependence():
    """Monthly rows, a season that the model lacks, and the month in x."""
    rng = np.random.default_rng(7)
    month = np.arange(600) % 12
    z = ar(600, 0.5, rng) + 1.4 * np.sin(np.pi * month / 6)
    found = DependenceValues(z[:, None])
    assert length_of(found) == 120
    assert length_of(found, month[:, None] * 1.0) <= 25
    assert length_of(found, rng.standard_normal((600, 1))) == 120
    x = np.column_stack([month, np.arange(600) // 12])
    result = cg.adaptive((np.zeros(600), 1.5), x, z, dependence="auto", n_boot=199, rng=0)
    assert result.reject(0.01)


@pytest.mark.parametrize("x", ["time", "walk", "independent"])
def test_dependence_is_not_taken_for_a_misfit(x):
    """Chunks of rows far away predict nothing of correlated noise."""
    n = 400
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 8])
        columns = {
            "time": np.arange(float(n)),
            "walk": ar(n, 0.95, rng),
            "independent": rng.standard_normal(n),
        }
        found = DependenceValues(ar(n, 0.8, rng)[:, None])
        ratios.append(length_of(found, columns[x][:, None]) / length_of(found))
    assert np.quantile(ratios, 0.1) > 0.95  # a lucky column is rare


def test_the_misfit_is_predicted_by_rows_far_away():
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 3, 200)
    values = rng.standard_normal((200, 2)) + codes[:, None]
    values -= values.mean(axis=0)
    left = without_misfit(values, [codes])
    chunk = np.arange(200) // 10
    for i in (0, 57, 199):
        far = (np.abs(chunk - chunk[i]) > 1) & (codes == codes[i])
        mean = values[far].sum(axis=0) / (far.sum() + 4)
        np.testing.assert_allclose(left[i], values[i] - mean)
    few = values[:99]
    assert without_misfit(few, [codes[:99]]) is few


# What users see


def models_of_dependent_rows():
    z = ar(500, 0.8, np.random.default_rng(10))
    x = np.random.default_rng(11).random(500)
    p, y = binary(z)
    yield "binary", cg.probabilities(p), x, y
    p, y = four_classes(z)
    yield "classes", cg.probabilities(p), x, y
    yield "counts", cg.models.Poisson(mean=10.0), x, poisson.ppf(ndtr(z), 10.0)
    levels = np.arange(1, 20) / 20
    quantiles = np.tile(ndtri(levels), (500, 1))
    yield "quantiles", cg.from_quantiles(quantiles, levels), x, z
    ends = np.tile(ndtri([0.75, 0.95]), (500, 1))
    yield "intervals", cg.from_intervals(-ends, ends, [0.5, 0.9]), x, z


@pytest.mark.parametrize("case", list(models_of_dependent_rows()), ids=lambda case: case[0])
def test_dependence_of_a_discrete_y_is_warned_of_and_found(case):
    """Version 0.2 has no warning and blocks of 1 for any of these."""
    _, model, x, y = case
    with pytest.warns(DependenceWarning, match="Or the table is sorted"):
        plain = cg.adaptive(model, x, y, n_boot=20, rng=1)
    assert any("or the table is sorted" in note for note in plain.details["notes"])
    result = cg.adaptive(model, x, y, dependence="auto", n_boot=20, rng=1)
    assert 5 <= result.details["block_length"] <= 100


def test_a_right_table_that_is_sorted_by_x_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            rng = np.random.default_rng([seed, 13])
            x = np.sort(rng.random(400))
            mean = 0.02 + 5 * x**3
            cg.adaptive(cg.models.Poisson(mean=mean), x, rng.poisson(mean), n_boot=9, rng=1)
