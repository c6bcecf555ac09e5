"""The low-rank factor: accuracy, safety, and sums that agree with the dense ones."""

import numpy as np
import pytest

from condgof.engine import Threads
from condgof.errors import NumericalError
from condgof.kernels import IMQ, CovariateKernel, FiniteLocations, Gaussian, OnColumns
from condgof.null import multinomial_weights, sign_weights
from condgof.sample import Seed
from condgof.stein import ArrayRows, SteinOperator, choose_landmarks, forms, moments


def make(n=700, d_y=1, heavy=False, ties=False, finite=False, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(n, d_y))
    if ties:
        x, y = np.round(x), np.round(y)
    s = -y * (10 ** rng.uniform(0, 6, (n, 1)) if heavy else 1.0)
    kernel_x = CovariateKernel((OnColumns(Gaussian(1.5), (0, 1)),))
    if finite:
        kernel_x = FiniteLocations(kernel_x, x[:3])
    return x, y, s, SteinOperator.of(x, y, s, kernel_x, Gaussian(1.2))


def dense(operator):
    return operator.block(slice(0, operator.n), slice(0, operator.n))


def features(landmarks, operator):
    return landmarks.whiten(landmarks.compare(operator.sample)).T


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("finite", [False, True])
def test_the_residual_is_what_it_says(tolerance, finite):
    *_, operator = make(finite=finite)
    found = choose_landmarks(operator, np.random.default_rng(0), tolerance=tolerance, cap=600)
    matrix, phi = dense(operator), features(found, operator)
    rest = matrix - phi @ phi.T
    for m in (matrix, rest):
        np.fill_diagonal(m, 0.0)
    truth = np.linalg.norm(rest) / np.linalg.norm(matrix)
    assert found.residual <= tolerance
    assert truth <= 2 * tolerance  # the estimate is from 400 of the rows
    assert not found.capped


def test_a_cap_is_said_and_kept():
    *_, operator = make()
    found = choose_landmarks(operator, np.random.default_rng(0), tolerance=1e-9, cap=20)
    assert found.rank == 20
    assert found.capped
    assert found.residual > 1e-9


def test_rank_above_n_is_the_matrix_itself():
    *_, operator = make(n=40)
    found = choose_landmarks(operator, np.random.default_rng(0), tolerance=1e-14, cap=1000)
    phi = features(found, operator)
    assert found.rank <= 40
    assert not found.capped
    np.testing.assert_allclose(phi @ phi.T, dense(operator), atol=1e-6 * operator.diag().max())


@pytest.mark.parametrize("options", [{"ties": True}, {"heavy": True}, {"ties": True, "heavy": True}])
def test_duplicates_and_enormous_scores_are_safe(options):
    *_, operator = make(**options)
    found = choose_landmarks(operator, np.random.default_rng(0), tolerance=1e-3, cap=500)
    phi = features(found, operator)
    assert np.isfinite(phi).all()
    matrix = dense(operator)
    rest = matrix - phi @ phi.T
    # What is left is positive semi-definite, up to rounding: nothing was taken away twice.
    assert np.linalg.eigvalsh((rest + rest.T) / 2).min() > -1e-6 * np.abs(matrix).max()


def test_the_rest_shrinks_with_the_rank():
    *_, operator = make(d_y=3)
    ranks = [2, 10, 50, 200]
    left = [
        choose_landmarks(operator, np.random.default_rng(0), tolerance=1e-12, cap=cap).residual
        for cap in ranks
    ]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize("make_weights", [sign_weights, multinomial_weights])
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_over_pieces_are_those_of_the_factor(make_weights, threads):
    """9,000 rows are three pieces; the factor is of rank 30, and sums are compared with ΦΦᵀ."""
    x, y, s, operator = make(n=9000)
    small = SteinOperator(operator.kernel, operator.sample.take(slice(0, 500)))
    found = choose_landmarks(small, np.random.default_rng(0), tolerance=1e-9, cap=30)
    phi = features(found, operator)
    weights = make_weights(9000, 7, Seed.of(1))
    w = weights.block(0, 9000)
    sums = forms(found, ArrayRows(x, y, s), weights, Threads(threads))
    squares = np.square(phi).sum(axis=1)
    np.testing.assert_allclose(sums.total, np.square(phi.sum(0)).sum() - squares.sum(), rtol=1e-9)
    wanted = np.square(w.T @ phi).sum(axis=1) - squares @ np.square(w)
    np.testing.assert_allclose(sums.forms, wanted, rtol=1e-9)
    found_moments = moments(found, ArrayRows(x, y, s), Threads(threads))
    np.testing.assert_allclose(found_moments.total, sums.total, rtol=1e-8)
    eigenvalues = np.linalg.eigvalsh(phi.T @ phi / 9000)
    np.testing.assert_allclose(found_moments.eigenvalues, eigenvalues, rtol=1e-7, atol=1e-12)


def test_overflow_is_an_error():
    x, y, s, operator = make()
    huge = SteinOperator.of(x, y, s * 1e200, operator.kernel.kernel_x, IMQ(1.0))
    with pytest.raises(NumericalError, match="overflow"), np.errstate(all="ignore"):
        choose_landmarks(huge, np.random.default_rng(0), tolerance=1e-3, cap=50)
