"""Counts and ordered classes by their randomised PIT, averaged over the randomisation."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import condgof as cg
from condgof.residuals import (
    MEAN,
    AveragedTestFunctions,
    CountResiduals,
    NormalTestFunctions,
    OrderedResiduals,
    StepCdf,
    StepResampler,
    mean_values,
    residuals_of,
    surprise,
)
from condgof.sample import Sample, Seed

BANDWIDTHS = (4.0, 2.0, 1.0, 0.5)
FUNCTIONS = AveragedTestFunctions.at_bandwidths(BANDWIDTHS)
#: Laws of counts, and the largest count that matters.
LAWS = {
    "rare": (stats.poisson(0.02), 12),
    "few": (stats.poisson(1.3), 30),
    "many": (stats.poisson(40.0), 140),
    "overdispersed": (stats.nbinom(0.01, 0.01 / 1.01), 6000),
    "binomial": (stats.binom(5, 0.3), 5),
}
MODELS = {
    "rare": cg.models.Poisson(mean=0.02),
    "few": cg.models.Poisson(mean=1.3),
    "many": cg.models.Poisson(mean=40.0),
    "overdispersed": cg.models.NegativeBinomial(mean=1.0, dispersion=100.0),
    "binomial": cg.models.Binomial(trials=5, p=0.3),
}


def count_residuals(model, y):
    sample = Sample.from_data(np.arange(float(len(y))), y, to_test=False)
    return residuals_of(model(n=len(y)), sample, "auto")


def column_of(name):
    return next(b.columns.start for b in FUNCTIONS.blocks if b.name == name)


def every_count(name):
    """Test functions of all counts of a law, and their probabilities."""
    _, last = LAWS[name]
    counts = np.arange(last + 1.0)
    residuals = count_residuals(MODELS[name], counts)
    steps = residuals.steps
    return FUNCTIONS.evaluate(residuals).astype(np.float64), steps.upper - steps.lower


@pytest.mark.parametrize("name", LAWS)
def test_the_mean_over_all_counts_is_0(name):
    xi, p = every_count(name)
    np.testing.assert_allclose(p.sum(), 1.0, atol=1e-9)
    # Values are in single precision.
    np.testing.assert_allclose(p @ xi, 0.0, atol=1e-5)


@pytest.mark.parametrize("name", ["few", "many", "binomial"])
def test_the_function_of_the_mean_has_variance_1(name):
    xi, p = every_count(name)
    assert p @ np.square(xi[:, column_of(MEAN)]) == pytest.approx(1.0, abs=2e-3)


def test_the_function_of_the_mean_of_two_values_is_pearsons_residual():
    steps = StepCdf.from_probabilities(np.tile([0.8, 0.2], (2, 1)), np.array([0, 1]))
    np.testing.assert_allclose(mean_values(steps), [-0.5, 2.0], atol=1e-3)


@pytest.mark.parametrize("name", LAWS)
def test_steps_are_those_of_scipys_cdf(name):
    law, last = LAWS[name]
    counts = np.arange(last + 1.0)
    steps = count_residuals(MODELS[name], counts).steps
    np.testing.assert_allclose(steps.lower, law.cdf(counts - 1), atol=1e-12)
    np.testing.assert_allclose(steps.upper, law.cdf(counts), atol=1e-12)
    # All intervals but two are single steps of the CDF, and so is the largest of them.
    values = np.append(0.0, law.cdf(counts))
    assert all(np.abs(values - edge).min() < 1e-9 for edge in steps.edges[0])
    listed = law.pmf(counts)[law.pmf(counts) > 0.1]
    assert steps.largest[0] >= listed.max(initial=0.0) - 1e-9


def test_an_average_is_the_mean_over_the_randomisation():
    """The slow way: the table of normal scores at a million V."""
    lower = np.array([0.0, 0.12, 0.97, 0.3])
    upper = np.array([0.4, 0.9, 1.0, 0.3 + 1e-7])
    v = (np.arange(10**6) + 0.5) / 10**6
    averages = FUNCTIONS.average(lower, upper)
    normal = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    for a, b, average in zip(lower, upper, averages, strict=True):
        slow = normal.look_up(ndtri(a + v * (b - a))[:, None]).astype(float).mean(axis=0)
        np.testing.assert_allclose(average[:-1], slow, atol=2e-3)


def test_a_step_without_digits_has_the_value_in_its_middle():
    average = FUNCTIONS.average(np.array([0.7, 1.0]), np.array([0.7 + 1e-14, 1.0]))
    np.testing.assert_array_equal(average, FUNCTIONS.at(np.array([0.7, 1.0])))


def draws_of(name, m=4000, n=5):
    residuals = count_residuals(MODELS[name], np.full(n, 1.0))
    resampler = residuals.resampler(FUNCTIONS, None)
    assert isinstance(resampler, StepResampler)
    return resampler.draw(np.random.default_rng(0), m).values.astype(np.float64)


@pytest.mark.parametrize("name", ["few", "many", "binomial"])
def test_draws_have_the_covariance_of_the_law(name):
    xi, p = every_count(name)
    expected = (xi * p[:, None]).T @ xi
    drawn = draws_of(name).reshape(-1, FUNCTIONS.width)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), expected, atol=0.12)


def test_draws_of_few_counts_are_test_functions_of_counts():
    xi, _ = every_count("binomial")
    drawn = draws_of("binomial", m=50).reshape(-1, FUNCTIONS.width)
    distance = np.abs(drawn[:, None] - xi).max(axis=2)
    np.testing.assert_allclose(distance.min(axis=1), 0.0, atol=1e-5)


def test_exceptions_are_other_counts_in_proportion():
    residuals = count_residuals(MODELS["rare"], np.zeros(2000))
    resampler = residuals.rare_event_resampler(FUNCTIONS)
    certain = 0.05
    uniforms = np.linspace(0, 0.9999, 4000).reshape(2000, 2)
    usual = resampler.usual(np.arange(2000))
    np.testing.assert_array_equal(
        resampler.resampled(uniforms, certain), np.stack([usual, usual], axis=1)
    )
    exceptions = resampler.exceptions(0, certain, range(50), Seed.of(0))
    share = len(exceptions.rows) / (2000 * 50)
    assert share == pytest.approx(1.0 - np.exp(-0.02), rel=0.1)
    xi, _ = every_count("rare")
    mean = column_of(MEAN)
    values = resampler.exceptional(exceptions)[:, mean]
    is_one = np.abs(values - xi[1, mean]) < 1e-4
    assert is_one.mean() == pytest.approx(0.99, abs=0.01)
    assert (values > xi[0, mean] + 1.0).all()


def test_normal_scores_belong_to_the_numbers_of_rows():
    y = np.random.default_rng(1).poisson(1.3, 500)
    steps = count_residuals(MODELS["few"], y).steps
    z = steps.normal_scores(np.arange(500))
    order = np.random.default_rng(2).permutation(500)
    np.testing.assert_array_equal(steps.take(order).normal_scores(order), z[order])
    assert stats.kstest(z, "norm").pvalue > 0.01


@pytest.mark.parametrize("name", ["few", "many", "binomial"])
def test_the_covariance_of_the_limit_is_that_over_all_counts(name):
    xi, p = every_count(name)
    steps = count_residuals(MODELS[name], np.zeros(3)).steps
    expected = (xi * p[:, None]).T @ xi
    np.testing.assert_allclose(FUNCTIONS.covariance_over(steps), expected, atol=0.05)


def test_the_covariance_of_the_limit_is_a_mean_over_rows():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    each = [
        FUNCTIONS.covariance_over(StepCdf.from_probabilities(row[None], np.array([0])))
        for row in p
    ]
    both = StepCdf.from_probabilities(p, np.array([0, 0]))
    np.testing.assert_allclose(FUNCTIONS.covariance_over(both), np.mean(each, axis=0))


def test_the_least_surprise_of_a_step_is_below_those_of_its_scores():
    y = np.arange(8)
    residuals = count_residuals(MODELS["few"], y)
    steps = residuals.steps
    v = np.linspace(0.001, 0.999, 200)[:, None]
    z = ndtri(steps.lower + v * (steps.upper - steps.lower))
    least = surprise(z).min(axis=0)
    np.testing.assert_allclose(residuals.least_surprises, least, atol=0.02)
    assert (residuals.least_surprises <= least + 1e-12).all()


def test_what_kind_of_residuals_a_law_has():
    y = np.array([0, 1, 2, 1])
    p = np.full((4, 3), 1 / 3)
    sample = Sample.from_data(np.arange(4.0), y, to_test=False)
    assert type(residuals_of(cg.probabilities(p, ordered=True), sample, "auto")) is (
        OrderedResiduals
    )
    assert type(count_residuals(MODELS["few"], y)) is CountResiduals


def test_cells_of_counts_are_computed_when_a_kernel_asks_for_them():
    y = np.random.default_rng(0).poisson(1.3, 30)
    lazy = count_residuals(MODELS["few"], y)
    sample = Sample.from_data(np.arange(30.0), y, to_test=False)
    now = residuals_of(MODELS["few"](n=30), sample, "none")
    np.testing.assert_array_equal(np.asarray(lazy.values), np.asarray(now.values))
    some = slice(3, 9)
    np.testing.assert_array_equal(np.asarray(lazy.take(some).values), now.values[some])
