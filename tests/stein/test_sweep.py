"""Sums over the Stein matrix: the same for any tile, thread count and budget."""

import numpy as np
import pytest

from condgof.engine import Threads
from condgof.errors import NumericalError
from condgof.kernels import CovariateKernel, Gaussian, OnColumns
from condgof.null import bootstrap_weights
from condgof.sample import Seed
from condgof.stein import SteinOperator, matmul, sweep, tiles_of

N = 333


def make_operator(x, y, scores):
    kernel = CovariateKernel((OnColumns(Gaussian(1.0), tuple(range(x.shape[1]))),))
    return SteinOperator.from_rows(x, y, scores, kernel, Gaussian(1.0))


@pytest.fixture(scope="module")
def operator():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    y = rng.normal(size=(N, 1))
    return make_operator(x, y, rng.normal(size=(N, 1)))


@pytest.fixture(scope="module")
def dense(operator):
    matrix = operator.block(slice(0, N), slice(0, N))
    np.fill_diagonal(matrix, 0.0)
    return matrix


@pytest.mark.parametrize("tile", [2, 7, 64, 333, 1000])
def test_any_tile_size(operator, dense, tile):
    weights = bootstrap_weights("wild", N, 9, Seed.of(1))
    total, forms = sweep(operator, weights.block, 9, engine=Threads(2), tile=tile)
    w = weights.block(0, N)
    np.testing.assert_allclose(total, dense.sum(), rtol=1e-10)
    np.testing.assert_allclose(forms, np.einsum("im,ij,jm->m", w, dense, w), rtol=1e-10)


def test_any_number_of_threads_gives_the_same_bits(operator):
    weights = bootstrap_weights("wild", N, 50, Seed.of(1))
    total, forms = sweep(operator, weights.block, 50, engine=Threads(1))
    for count in (2, 3, 8):
        total_of_many, forms_of_many = sweep(
            operator, weights.block, 50, engine=Threads(count)
        )
        assert total_of_many == total
        assert (forms_of_many == forms).all()


@pytest.mark.parametrize("noise", ["normal", "t2"])
def test_products_in_single_precision_move_draws_by_less_than_a_millionth(rng, noise):
    n = 2500
    x = rng.normal(size=(n, 2))
    y = rng.normal(size=(n, 1))
    scores = rng.standard_t(2, (n, 1)) if noise == "t2" else rng.normal(size=(n, 1))
    large = make_operator(x, y, scores)
    weights = bootstrap_weights("wild", n, 200, Seed.of(1))
    total, forms = sweep(large, weights.block, 200, engine=Threads(2))
    same, single = sweep(large, weights.block, 200, engine=Threads(2), single=True)
    assert same == total
    assert 0 < np.abs(single - forms).max() < 1e-6 * forms.std()


@pytest.mark.parametrize("memory", [50_000, 300_000, 2**29])
def test_matmul(operator, dense, rng, memory):
    values = rng.normal(size=(N, 4))
    product = matmul(operator, values, engine=Threads(2), memory=memory)
    np.testing.assert_allclose(product, dense @ values, rtol=1e-10, atol=1e-12)


def test_tiles_never_depend_on_threads_but_on_the_budget():
    assert tiles_of(10_000, 1000, 2**29)[0] == 256
    assert tiles_of(10_000, 1000, 2**22)[0] < 256
    assert tiles_of(10_000, 10**6, 2**20)[1] == 1
    assert tiles_of(5000, 500, 512 * 2**20) == (256, 79)


def test_overflow_is_an_error_not_a_nan():
    x = np.random.default_rng(0).normal(size=(10, 1))
    operator = make_operator(x, x, np.full((10, 1), 1e200))

    def ones(start, stop):
        return np.ones((stop - start, 2))

    with pytest.raises(NumericalError, match="overflow"):
        sweep(operator, ones, 2, engine=Threads(1))
