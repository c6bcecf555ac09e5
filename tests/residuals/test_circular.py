"""Angles: test functions have mean 0 given x; nothing depends on where a circle is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import condgof as cg
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.kernels import Gaussian, Matern52, Periodic
from condgof.laws import law_of, period_of
from condgof.residuals import (
    CircularResiduals,
    CircularScoreResiduals,
    SteinWaves,
    TrigonometricFunctions,
    residuals_of,
)
from condgof.sample import Sample, Seed
from seeds import examples

N = 80
SEED = Seed.of(0)
TURN = 2 * np.pi
KINDS = ("von Mises", "log-density", "draws")


def example(kind, period=360.0, turn=0.0, off=0.0, seed=0):
    """A sample whose angles are turned by `turn`, and y by `off` more, in the unit of y."""
    rng = np.random.default_rng(seed)
    unit = TURN / period
    x = rng.uniform(-2, 2, N)
    kappa = np.exp(1.0 + 0.4 * x)
    mean = (2.0 * x) / unit
    y = mean + rng.vonmises(0, kappa) / unit + off
    if kind == "draws":
        draws = mean[:, None] + rng.vonmises(0, kappa[:, None], (N, 39)) / unit
        return x, y + turn, cg.from_draws(draws + turn, period=period)
    if kind == "log-density":

        def log_density(y, x):
            apart = unit * (np.ravel(y) - turn) - 2.0 * x
            return np.exp(1.0 + 0.4 * x) * np.cos(apart)

        return x, y + turn, cg.from_log_prob(log_density, period=period)
    return x, y + turn, cg.models.VonMises(mean + turn, kappa, period=period)


def residuals(kind, standardize="auto", **more):
    x, y, model = example(kind, **more)
    sample = Sample.from_data(x, y)
    return residuals_of(law_of(model, sample), sample, standardize)


# Test functions


@pytest.mark.parametrize("kind", ["von Mises", "log-density"])
def test_means_and_variances_of_test_functions_are_exact(kind):
    found = residuals(kind)
    functions = found.test_functions(SEED)
    x, y, model = example(kind)
    law = law_of(model, Sample.from_data(x, y))
    scale = period_of(law) / TURN
    for row in (0, 40):
        one = found.take(np.array([row]))
        density_law = law.take(np.array([row]))
        direction = one.predicted.direction[0]

        def moment(function, one=one, law=density_law, direction=direction):
            def integrand(angle):
                y = np.array([(direction + angle) * scale])
                density = np.exp(law.log_prob(y)[0]) * scale
                value = functions.evaluate_at(np.array([angle]), one.predicted)[0]
                return function(value) * density

            return quad(integrand, -np.pi, np.pi, epsabs=1e-9)[0]

        for column in range(functions.width):
            mean = moment(lambda value, column=column: value[column])
            variance = moment(lambda value, column=column: value[column] ** 2)
            assert mean == pytest.approx(0.0, abs=1e-8)
            assert variance == pytest.approx(1.0, abs=1e-8)


def test_means_over_candidates_are_exact():
    found = residuals("draws")
    functions = found.test_functions(SEED)
    candidates = found.predicted.candidates
    values = np.stack(
        [functions.evaluate_at(one, found.predicted) for one in candidates.T], axis=1
    )
    np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(np.square(values).mean(axis=1), 1.0, atol=1e-10)


def test_the_stein_operator_has_mean_0_on_the_circle():
    kappa = 1.7
    functions = SteinWaves.up_to(4)

    def density(t):
        return np.exp(kappa * np.cos(t)) / (TURN * np.i0(kappa))

    def value(t, column):
        at = CircularScoreResiduals(
            angle=np.array([t]), score=np.array([-kappa * np.sin(t)]), period=TURN
        )
        return functions.evaluate(at)[0, column]

    for column in range(functions.width):
        mean, _ = quad(lambda t, c=column: value(t, c) * density(t), 0.4, 0.4 + TURN)
        assert mean == pytest.approx(0.0, abs=1e-9)


def test_the_stein_kernel_of_a_kernel_on_angles():
    """ξ_i·ξ_j against s·s'·k + s·∂'k + s'·∂k + ∂∂'k by differences."""
    rng = np.random.default_rng(0)
    kernel = Periodic(0.6)
    angle = rng.uniform(0, TURN, 6)
    score = rng.normal(size=6)
    xi = SteinWaves.from_kernel(kernel).evaluate(
        CircularScoreResiduals(angle=angle, score=score, period=TURN)
    )
    h = 1e-4

    def k(a, b):
        return kernel(np.array([[a]]), np.array([[b]]))[0, 0]

    for i, j in ((0, 1), (2, 2), (4, 5)):
        a = angle[i]
        b = angle[j]
        s = score[i]
        t = score[j]
        by_a = (k(a + h, b) - k(a - h, b)) / (2 * h)
        by_b = (k(a, b + h) - k(a, b - h)) / (2 * h)
        both = k(a + h, b + h) - k(a + h, b - h) - k(a - h, b + h) + k(a - h, b - h)
        exact = s * t * k(a, b) + s * by_b + t * by_a + both / (4 * h * h)
        assert xi[i] @ xi[j] == pytest.approx(exact, abs=1e-5)


def test_features_of_a_kernel_are_the_kernel():
    kernel = Periodic(25.0, period=360)
    terms = kernel.fourier_terms()
    a, b = np.random.default_rng(0).uniform(0, 360, (2, 5, 1))
    apart = np.deg2rad(a - b.T)
    series = (terms.weights * np.cos(terms.frequencies * apart[..., None])).sum(axis=-1)
    np.testing.assert_allclose(series, kernel(a, b), atol=1e-10)
    functions = TrigonometricFunctions.from_kernel(kernel)
    assert len(functions.blocks) == 1
    assert functions.width == 2 * (len(terms.weights) - 1)


# Which residuals


def test_classes_of_residuals():
    assert type(residuals("von Mises")) is CircularResiduals
    assert type(residuals("von Mises", "none")) is CircularScoreResiduals
    assert type(residuals("log-density", "none")) is CircularScoreResiduals
    assert type(residuals("draws", "none")) is CircularResiduals
    with pytest.raises(InputError, match="for a y on a line"):
        residuals("von Mises", "cdf")
    x, y, model = example("von Mises")
    with pytest.raises(UnsupportedModelError, match="one angle"):
        cg.adaptive(model, x, np.column_stack([y, y]))


def test_kernels_on_angles():
    found = residuals("von Mises", "none")
    ready = found.ready_kernel(Gaussian("median"), SEED)
    assert isinstance(ready, Periodic)
    assert ready.period == 360
    assert 30 < ready.sigma < 180
    assert found.ready_kernel(Gaussian(20.0), SEED) == Periodic(20.0, period=360)
    assert found.ready_kernel(Periodic(20.0), SEED) == Periodic(20.0, period=360)
    with pytest.raises(InputTypeError, match="Periodic"):
        found.ready_kernel(Matern52(1.0), SEED)
    with pytest.raises(InputError, match="period must be positive"):
        Periodic(1.0, period=0)
    with pytest.raises(InputError, match="no bandwidth yet"):
        _ = Periodic().sigma
    assert repr(Periodic(1.0, period=24)) == "Periodic(1, period=24)"


# Invariance: turns of all angles, and cuts of the circle

turns = st.floats(-1000, 1000)
seeds = st.integers(0, 2**16)


def result_of(kind, verb, **more):
    x, y, model = example(kind, **more)
    return verb(model, x, y, n_boot=99, rng=1, engine=1)


def by_scores(model, x, y, **options):
    return cg.adaptive(model, x, y, standardize="none", **options)


VERBS = {"adaptive": cg.adaptive, "kcsd": cg.kcsd, "mmd": cg.mmd, "scores": by_scores}


def assert_same_result(one, other):
    assert other.statistic == pytest.approx(one.statistic, rel=1e-5, abs=1e-6)
    # Of 99 draws one may change sides by rounding.
    assert other.pvalue == pytest.approx(one.pvalue, abs=0.011)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5), deadline=None)
@given(turn=turns, seed=seeds)
def test_turning_all_angles_changes_nothing(kind, verb, turn, seed):
    one = result_of(kind, VERBS[verb], seed=seed, off=15.0)
    other = result_of(kind, VERBS[verb], seed=seed, off=15.0, turn=turn)
    assert_same_result(one, other)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5), deadline=None)
@given(seed=seeds)
def test_whole_turns_of_single_rows_change_nothing(kind, verb, seed):
    x, y, model = example(kind, seed=seed, off=15.0)
    whole = 360.0 * np.random.default_rng(seed).integers(-5, 6, N)
    one = VERBS[verb](model, x, y, n_boot=99, rng=1, engine=1)
    other = VERBS[verb](model, x, y + whole, n_boot=99, rng=1, engine=1)
    assert_same_result(one, other)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5), deadline=None)
@given(period=st.sampled_from([TURN, 24.0, 7.0, 1e4]), seed=seeds)
def test_the_unit_of_y_changes_nothing(kind, period, seed):
    one = result_of(kind, cg.adaptive, seed=seed)
    other = result_of(kind, cg.adaptive, seed=seed, period=period)
    assert_same_result(one, other)


# What tests find


@pytest.mark.parametrize("verb", ["adaptive", "kcsd", "scores"])
def test_a_bias_is_found(verb):
    assert result_of("von Mises", VERBS[verb], off=40.0, seed=2).pvalue <= 0.05
    assert result_of("von Mises", VERBS[verb], seed=2).pvalue > 0.05


def test_tests_that_cannot_take_angles_refuse_them():
    x, y, model = example("von Mises")
    with pytest.raises(UnsupportedModelError, match="no cdf"):
        cg.zheng(model, x, y)
    with pytest.raises(UnsupportedModelError, match="an angle"):
        cg.fssd(cg.models.VonMises(0.0, 1.0, period=360), y)
    with pytest.raises(UnsupportedModelError, match="mean and standard deviation"):
        cg.calibration(model, x, y)
    assert cg.ksd(cg.models.VonMises(0.0, 30.0, period=360), y, n_boot=99, rng=0).reject()
    assert cg.fscd(model, x, y, n_boot=19, rng=0).pvalue > 0.05


def test_many_rows_get_random_signs():
    rng = np.random.default_rng(3)
    x = rng.normal(size=9000)
    y = rng.vonmises(x, 2.0)
    result = cg.adaptive(cg.models.VonMises(x, 2.0), x, y, n_boot=99, rng=0)
    assert "model" not in result.null
    assert result.pvalue > 0.01
