"""The power criterion: its value against the definition, its gradients against differences."""

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
from condgof.stein._criterion import (
    PairwiseTerms,
    criterion_gradient,
    criterion_of_means,
    finite_set_gradient,
)

STEP = 1e-6


class Custom(Radial):
    """A user's kernel, with the one method that a kernel author writes: φ = 1/(1 + t)²."""

    def profile(self, t):
        return (1 + t) ** -2.0, -2 * (1 + t) ** -3.0, 6 * (1 + t) ** -4.0


def with_bandwidths(kernel, logs):
    factors = [
        (
            OnColumns(f.kernel.with_bandwidth(f.kernel.sigma * np.exp(step)), f.columns)
            if isinstance(f.kernel, Radial)
            else f
        )
        for f, step in zip(kernel.factors, logs, strict=True)
    ]
    return CovariateKernel(tuple(factors))


@pytest.mark.parametrize("kernel_y", [Gaussian(1.1), IMQ(1.1), Matern52(1.1), Custom(1.1)])
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
    x, y, s = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    x[:, 2] = np.round(x[:, 2])  # levels, for the categorical factor
    v = x[[3, 8]] + np.array([0.3, -0.2, 0.0])
    terms = PairwiseTerms.of(y, s)

    def value(v, logs_x, log_y):
        ky = kernel_y.with_bandwidth(kernel_y.sigma * np.exp(log_y))
        return criterion_gradient(x, terms, 2, v, with_bandwidths(kernel_x, logs_x), ky)[0]

    still = np.zeros(len(kernel_x.factors))
    _, by_v, by_x, by_y = criterion_gradient(x, terms, 2, v, kernel_x, kernel_y)
    for index in np.ndindex(v.shape):
        moved = np.zeros(v.shape)
        moved[index] = STEP
        categorical = any(
            isinstance(f.kernel, Categorical) and index[1] in f.columns
            for f in kernel_x.factors
        )
        if categorical:
            assert by_v[index] == 0.0
            continue
        slope = (value(v + moved, still, 0.0) - value(v - moved, still, 0.0)) / (2 * STEP)
        assert by_v[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    for i in range(len(still)):
        step = np.eye(len(still))[i] * STEP
        slope = (value(v, still + step, 0.0) - value(v, still - step, 0.0)) / (2 * STEP)
        assert by_x[i] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    slope = (value(v, still, STEP) - value(v, still, -STEP)) / (2 * STEP)
    assert by_y == pytest.approx(slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kernel_y", [Gaussian(1.1), IMQ(1.1), Matern52(1.1), Custom(1.1)])
def test_single_precision_and_units(kernel_y, rng):
    """What the optimiser climbs on is the exact criterion, to single precision."""
    x, y, s = (
        rng.normal(size=(200, 3)),
        1e3 * rng.normal(size=(200, 2)),
        1e-3 * rng.normal(size=(200, 2)),
    )
    kernel_y = kernel_y.with_bandwidth(1.1e3)
    kernel_x = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1, 2)),))
    exact, single = (
        criterion_gradient(x, terms, 2, x[:3], kernel_x, kernel_y)
        for terms in (
            PairwiseTerms.of(y, s),
            PairwiseTerms.of(y, s, unit=1.1e3, single=True),
        )
    )
    assert single[0] == pytest.approx(exact[0], rel=1e-4)
    size = np.abs(exact[1]).max()
    np.testing.assert_allclose(single[1], exact[1], atol=1e-3 * size)
    assert single[3] == pytest.approx(exact[3], rel=1e-3, abs=1e-4 * size)


def test_value_against_the_definition(rng):
    x, y, s = rng.normal(size=(70, 2)), rng.normal(size=(70, 3)), rng.normal(size=(70, 3))
    v = x[:4] + 0.1
    kernel = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))
    found = criterion_gradient(x, PairwiseTerms.of(y, s), 3, v, kernel, IMQ(0.9))[0]
    h = oracle.stein_h(y, s, oracle.imq, 0.9)
    matrix = oracle.finite_matrix(x, h, v, oracle.gaussian, 1.4, 3)
    assert found == pytest.approx(oracle.criterion(matrix), rel=1e-10)


def test_a_discrete_y(rng):
    """h is a product of features; no bandwidth of y moves it."""
    x, features = rng.normal(size=(50, 2)), rng.normal(size=(50, 4))
    kernel, v = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),)), x[:3] + 0.1
    terms = PairwiseTerms.of_features(features)
    value, by_v, by_x, by_y = criterion_gradient(x, terms, 1, v, kernel, None)
    matrix = oracle.finite_matrix(x, features @ features.T, v, oracle.gaussian, 1.4, 1)
    assert value == pytest.approx(oracle.criterion(matrix), rel=1e-10)
    assert by_y == 0.0
    wider = criterion_gradient(x, terms, 1, v, with_bandwidths(kernel, [STEP]), None)[0]
    moved = criterion_gradient(x, terms, 1, v + STEP * np.eye(3, 2), kernel, None)[0]
    assert by_x[0] == pytest.approx((wider - value) / STEP, rel=1e-4)
    assert by_v[0, 0] + by_v[1, 1] == pytest.approx((moved - value) / STEP, rel=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(1.1), IMQ(1.1), Matern52(1.1)])
def test_unconditional_gradient_against_differences(kernel, rng):
    y, s = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    v = rng.normal(size=(3, 2))
    _, by_v, by_log = finite_set_gradient(y, s, kernel, v)
    for index in np.ndindex(v.shape):
        moved = np.zeros(v.shape)
        moved[index] = STEP
        up = finite_set_gradient(y, s, kernel, v + moved)[0]
        down = finite_set_gradient(y, s, kernel, v - moved)[0]
        assert by_v[index] == pytest.approx((up - down) / (2 * STEP), rel=1e-6, abs=1e-9)
    wider = kernel.with_bandwidth(kernel.sigma * np.exp(STEP))
    narrower = kernel.with_bandwidth(kernel.sigma * np.exp(-STEP))
    up = finite_set_gradient(y, s, wider, v)[0]
    down = finite_set_gradient(y, s, narrower, v)[0]
    assert by_log == pytest.approx((up - down) / (2 * STEP), rel=1e-6, abs=1e-9)


def test_zero_over_zero_is_zero():
    assert criterion_of_means(np.zeros((5, 2))).tolist() == [0.0, 0.0]
