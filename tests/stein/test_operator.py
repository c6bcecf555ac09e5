"""The lazy Stein matrix, block by block."""

import numpy as np
import pytest

import oracle
from condgof.kernels import IMQ, CovariateKernel, Gaussian, Matern12, Matern52, OnColumns
from condgof.stein._matrix import SteinOperator


def matrices(kernel_x, kernel_y, x, y, s):
    operator = SteinOperator.of(
        x, y, s, CovariateKernel((OnColumns(kernel_x, (0, 1)),)), kernel_y
    )
    k = oracle.gram(x, x, oracle.KERNELS[type(kernel_x).__name__], kernel_x.sigma)
    return operator, k * oracle.stein_h(
        y, s, oracle.KERNELS[type(kernel_y).__name__], kernel_y.sigma
    )


@pytest.fixture
def sample(rng):
    return rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), rng.normal(size=(20, 2))


@pytest.mark.parametrize(
    "kernel_x", [Gaussian(1.3), IMQ(1.3), Matern52(1.3), Matern12(1.3)]
)
@pytest.mark.parametrize("kernel_y", [Gaussian(0.8), IMQ(0.8), Matern52(0.8)])
def test_diag_rows_and_blocks(kernel_x, kernel_y, sample):
    operator, wanted = matrices(kernel_x, kernel_y, *sample)
    np.testing.assert_allclose(operator.diag(), np.diag(wanted), rtol=1e-12)
    index = np.array([3, 0, 17])
    np.testing.assert_allclose(
        operator.block(index, slice(None)), wanted[index], rtol=1e-10, atol=1e-13
    )
    got = operator.block(slice(2, 9), slice(5, 20))
    np.testing.assert_allclose(got, wanted[2:9, 5:20], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kernel_y", [Gaussian(0.001), IMQ(0.001)])
def test_raw_longitudes_lose_no_digits(kernel_y, rng):
    """Values near -74 with a bandwidth of 1e-3: uncentred products would lose nine digits."""
    x = np.column_stack([rng.normal(-73.97, 2e-3, 30), rng.normal(40.75, 2e-3, 30)])
    y = np.column_stack([rng.normal(-73.97, 2e-3, 30), rng.normal(40.75, 2e-3, 30)])
    s = rng.normal(0, 500.0, (30, 2))
    operator, wanted = matrices(Gaussian(0.001), kernel_y, x, y, s)
    got = operator.block(slice(0, 30), slice(0, 30))
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("kernel_y", [Gaussian(1.0), IMQ(1.0), Matern52(1.0)])
def test_two_clusters_many_bandwidths_apart(kernel_y, rng):
    """No centre suits both clusters, so differences are taken: products would be off by 1e-8."""
    far = np.where(np.arange(30) % 2 == 0, 1e4, -1e4)[:, None]
    x, y = rng.normal(size=(30, 2)) + far, rng.normal(size=(30, 2)) - far
    s = rng.normal(size=(30, 2))
    operator, wanted = matrices(Gaussian(1.0), kernel_y, x, y, s)
    got = operator.block(slice(0, 30), slice(0, 30))
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-11)


def test_an_outlier_does_not_move_the_others(rng):
    x, y, s = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    y[7] = 1e9
    operator, wanted = matrices(Gaussian(1.0), Gaussian(1.0), x, y, s)
    others = np.delete(np.arange(20), 7)
    got = operator.block(others, others)
    np.testing.assert_allclose(got, wanted[np.ix_(others, others)], rtol=1e-10, atol=1e-12)
