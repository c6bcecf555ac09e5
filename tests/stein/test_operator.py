"""The lazy Stein matrix, block by block."""

from typing import NamedTuple

import numpy as np
import pytest

import oracle
from condgof.kernels import IMQ, CovariateKernel, Gaussian, Matern12, Matern52, OnColumns
from condgof.stein import SteinOperator


class Data(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    scores: np.ndarray


def normal_data(rng, n):
    return Data(*rng.normal(size=(3, n, 2)))


def lazy(data, kernel_x, kernel_y):
    on_both_columns = CovariateKernel((OnColumns(kernel_x, (0, 1)),))
    return SteinOperator.from_rows(data.x, data.y, data.scores, on_both_columns, kernel_y)


def dense(data, kernel_x, kernel_y):
    """The whole matrix, pair by pair."""
    slow_x = oracle.KERNELS[type(kernel_x).__name__]
    slow_y = oracle.KERNELS[type(kernel_y).__name__]
    k = oracle.gram(data.x, data.x, slow_x, kernel_x.sigma)
    return k * oracle.stein_h(data.y, data.scores, slow_y, kernel_y.sigma)


@pytest.mark.parametrize(
    "kernel_x", [Gaussian(1.3), IMQ(1.3), Matern52(1.3), Matern12(1.3)]
)
@pytest.mark.parametrize("kernel_y", [Gaussian(0.8), IMQ(0.8), Matern52(0.8)])
def test_diagonal_rows_and_blocks(kernel_x, kernel_y, rng):
    data = normal_data(rng, 20)
    operator = lazy(data, kernel_x, kernel_y)
    matrix = dense(data, kernel_x, kernel_y)
    np.testing.assert_allclose(operator.diag(), np.diag(matrix), rtol=1e-12)
    index = np.array([3, 0, 17])
    rows = operator.block(index, slice(None))
    np.testing.assert_allclose(rows, matrix[index], rtol=1e-10, atol=1e-13)
    block = operator.block(slice(2, 9), slice(5, 20))
    np.testing.assert_allclose(block, matrix[2:9, 5:20], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kernel_y", [Gaussian(0.001), IMQ(0.001)])
def test_raw_longitudes_lose_no_digits(kernel_y, rng):
    """Near -74 with a bandwidth of 1e-3, uncentred products would lose nine digits."""
    longitude_and_latitude = [-73.97, 40.75]
    data = Data(
        x=rng.normal(longitude_and_latitude, 2e-3, (30, 2)),
        y=rng.normal(longitude_and_latitude, 2e-3, (30, 2)),
        scores=rng.normal(0, 500.0, (30, 2)),
    )
    block = lazy(data, Gaussian(0.001), kernel_y).block(slice(0, 30), slice(0, 30))
    matrix = dense(data, Gaussian(0.001), kernel_y)
    np.testing.assert_allclose(block, matrix, rtol=1e-10, atol=1e-10 * np.abs(matrix).max())


@pytest.mark.parametrize("kernel_y", [Gaussian(1.0), IMQ(1.0), Matern52(1.0)])
def test_two_clusters_many_bandwidths_apart(kernel_y, rng):
    """No centre suits both clusters: products in place of differences are off by 1e-8."""
    data = normal_data(rng, 30)
    far = np.where(np.arange(30) % 2 == 0, 1e4, -1e4)[:, None]
    data = data._replace(x=data.x + far, y=data.y - far)
    block = lazy(data, Gaussian(1.0), kernel_y).block(slice(0, 30), slice(0, 30))
    matrix = dense(data, Gaussian(1.0), kernel_y)
    np.testing.assert_allclose(block, matrix, rtol=1e-10, atol=1e-11)


def test_an_outlier_does_not_move_the_others(rng):
    data = normal_data(rng, 20)
    data.y[7] = 1e9
    others = np.delete(np.arange(20), 7)
    block = lazy(data, Gaussian(1.0), Gaussian(1.0)).block(others, others)
    matrix = dense(data, Gaussian(1.0), Gaussian(1.0))[np.ix_(others, others)]
    np.testing.assert_allclose(block, matrix, rtol=1e-10, atol=1e-12)
