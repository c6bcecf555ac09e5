"""The power criterion: its value by definition, its gradients against differences."""

import numpy as np
import pytest

import oracle
from condgof.kernels import (
    IMQ,
    Categorical,
    CovariateKernel,
    Gaussian,
    Matern12,
    Matern52,
    OnColumns,
    Radial,
)
from condgof.stein import (
    CellTerms,
    SteinTerms,
    criterion_gradient,
    criterion_of_means,
    curvature_slope,
    finite_set_gradient,
)

STEP = 1e-6


class Custom(Radial):
    """A user's kernel, with the one method that a kernel author writes: φ = 1/(1 + t)²."""

    def profile(self, t):
        return (1 + t) ** -2.0, -2 * (1 + t) ** -3.0, 6 * (1 + t) ** -4.0


KERNELS_ON_Y = [Gaussian(1.1), IMQ(1.1), Matern52(1.1), Custom(1.1)]


def wider(kernel, log):
    """Return a kernel with exp(log) times the bandwidth."""
    return kernel.with_bandwidth(kernel.sigma * np.exp(log))


def with_bandwidths(kernel, logs):
    """Return a kernel on x whose radial factors have exp(logs) times the bandwidth."""
    factors = []
    for factor, log in zip(kernel.factors, logs, strict=True):
        if isinstance(factor.kernel, Radial):
            factor = OnColumns(wider(factor.kernel, log), factor.columns)
        factors.append(factor)
    return CovariateKernel(tuple(factors))


def slopes(function, point):
    """Return the derivatives of a function of an array, by central differences."""
    point = np.asarray(point, dtype=float)
    by_index = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        moved = np.zeros(point.shape)
        moved[index] = STEP
        by_index[index] = (function(point + moved) - function(point - moved)) / (2 * STEP)
    return by_index


def is_categorical(kernel_x, column):
    return any(
        isinstance(factor.kernel, Categorical) and column in factor.columns
        for factor in kernel_x.factors
    )


@pytest.mark.parametrize("make", [Gaussian, IMQ, Matern52, Matern12])
def test_slope_of_the_curvature_against_differences(make):
    """t·φ'''(t), from the closed form or by differences of φ''."""
    kernel = make(1.0)
    t = np.array([0.01, 0.3, 1.0, 4.0, 20.0])
    _, _, curvature = kernel.profile(t)
    _, _, up = kernel.profile(t + STEP)
    _, _, down = kernel.profile(t - STEP)
    expected = t * (up - down) / (2 * STEP)
    slope = curvature_slope(kernel, t, curvature)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("kernel_y", KERNELS_ON_Y)
@pytest.mark.parametrize(
    "kernel_x",
    [
        CovariateKernel((OnColumns(Gaussian(1.4), (0, 1, 2)),)),
        CovariateKernel((OnColumns(IMQ(1.4), (2, 0)), OnColumns(Matern12(0.9), (1,)))),
        CovariateKernel(
            (OnColumns(Matern52(1.4), (0, 1)), OnColumns(Categorical(0.3), (2,)))
        ),
    ],
)
def test_gradient_against_differences(kernel_x, kernel_y, rng):
    x = rng.normal(size=(40, 3))
    y = rng.normal(size=(40, 2))
    scores = rng.normal(size=(40, 2))
    x[:, 2] = np.round(x[:, 2])  # categories, for the categorical factor
    v = x[[3, 8]] + np.array([0.3, -0.2, 0.0])
    terms = SteinTerms.from_scores(y, scores)
    unchanged = np.zeros(len(kernel_x.factors))

    def value(v, logs_x=unchanged, log_y=0.0):
        on_x = with_bandwidths(kernel_x, logs_x)
        return criterion_gradient(x, terms, 2, v, on_x, wider(kernel_y, log_y))[0]

    _, by_v, by_x, by_y = criterion_gradient(x, terms, 2, v, kernel_x, kernel_y)
    by_differences = slopes(value, v)
    for index in np.ndindex(v.shape):
        if is_categorical(kernel_x, index[1]):
            assert by_v[index] == 0.0
        else:
            expected = by_differences[index]
            assert by_v[index] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    by_logs_x = slopes(lambda logs: value(v, logs_x=logs), unchanged)
    assert by_x == pytest.approx(by_logs_x, rel=1e-6, abs=1e-9)
    by_log_y = slopes(lambda log: value(v, log_y=float(log)), 0.0)
    assert by_y == pytest.approx(float(by_log_y), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kernel_y", KERNELS_ON_Y)
def test_single_precision_and_units(kernel_y, rng):
    """What the optimiser climbs on is the exact criterion, to single precision."""
    x = rng.normal(size=(200, 3))
    y = 1e3 * rng.normal(size=(200, 2))
    scores = 1e-3 * rng.normal(size=(200, 2))
    kernel_y = kernel_y.with_bandwidth(1.1e3)
    kernel_x = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1, 2)),))
    in_double = SteinTerms.from_scores(y, scores)
    in_single = SteinTerms.from_scores(y, scores, unit=1.1e3, single=True)
    exact = criterion_gradient(x, in_double, 2, x[:3], kernel_x, kernel_y)
    single = criterion_gradient(x, in_single, 2, x[:3], kernel_x, kernel_y)
    assert single[0] == pytest.approx(exact[0], rel=1e-4)
    size = np.abs(exact[1]).max()
    np.testing.assert_allclose(single[1], exact[1], atol=1e-3 * size)
    assert single[3] == pytest.approx(exact[3], rel=1e-3, abs=1e-4 * size)


def test_value_against_the_definition(rng):
    x = rng.normal(size=(70, 2))
    y = rng.normal(size=(70, 3))
    scores = rng.normal(size=(70, 3))
    v = x[:4] + 0.1
    kernel = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))
    value = criterion_gradient(
        x, SteinTerms.from_scores(y, scores), 3, v, kernel, IMQ(0.9)
    )[0]
    h = oracle.stein_h(y, scores, oracle.imq, 0.9)
    matrix = oracle.finite_matrix(x, h, v, oracle.gaussian, 1.4, 3)
    assert value == pytest.approx(oracle.criterion(matrix), rel=1e-10)


def test_a_discrete_y(rng):
    """h is a product of features; no bandwidth of y moves it."""
    x = rng.normal(size=(50, 2))
    features = rng.normal(size=(50, 4))
    kernel = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))
    v = x[:3] + 0.1
    terms = CellTerms.from_features(features)
    value, by_v, by_x, by_y = criterion_gradient(x, terms, 1, v, kernel, None)
    matrix = oracle.finite_matrix(x, features @ features.T, v, oracle.gaussian, 1.4, 1)
    assert value == pytest.approx(oracle.criterion(matrix), rel=1e-10)
    assert by_y == 0.0
    on_wider = criterion_gradient(x, terms, 1, v, with_bandwidths(kernel, [STEP]), None)[0]
    moved = criterion_gradient(x, terms, 1, v + STEP * np.eye(3, 2), kernel, None)[0]
    assert by_x[0] == pytest.approx((on_wider - value) / STEP, rel=1e-4)
    assert by_v[0, 0] + by_v[1, 1] == pytest.approx((moved - value) / STEP, rel=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(1.1), IMQ(1.1), Matern52(1.1)])
def test_unconditional_gradient_against_differences(kernel, rng):
    y = rng.normal(size=(50, 2))
    scores = rng.normal(size=(50, 2))
    v = rng.normal(size=(3, 2))

    def value(v, log=0.0):
        return finite_set_gradient(y, scores, wider(kernel, log), v)[0]

    _, by_v, by_log = finite_set_gradient(y, scores, kernel, v)
    assert by_v == pytest.approx(slopes(value, v), rel=1e-6, abs=1e-9)
    by_bandwidth = slopes(lambda log: value(v, float(log)), 0.0)
    assert by_log == pytest.approx(float(by_bandwidth), rel=1e-6, abs=1e-9)


def test_criterion_of_means_by_hand():
    means = np.array([[1.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(criterion_of_means(means), [0.5**0.5, 0.0])


def test_zero_over_zero_is_zero():
    assert criterion_of_means(np.zeros((5, 2))).tolist() == [0.0, 0.0]
