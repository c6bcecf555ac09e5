"""Single locations: the matrix of FSCD with J = 1, through a low-rank factor of h."""

import numpy as np
import pytest

import condgof as cg
import oracle
from condgof.engine import Threads
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns
from condgof.null import multinomial_weights, sign_weights
from condgof.sample import Seed
from condgof.stein import (
    ArrayRows,
    LocalKernel,
    SteinOperator,
    choose_landmarks,
    local_forms,
    local_totals,
)

ONE = Threads(1)
TOLERANCE = 1e-2


def make(n=150, d_y=1, seed=0, locations=11, tolerance=TOLERANCE, scores=None, x=None):
    rng = np.random.default_rng([seed, d_y])
    x = rng.normal(size=(n, 2)) if x is None else x
    y = rng.normal(size=(n, d_y))
    s = -y + 0.3 * rng.normal(size=(n, d_y)) if scores is None else scores
    kernel_x = CovariateKernel((OnColumns(Gaussian(0.9), (0, 1)),))
    factors = tuple(
        choose_landmarks(
            SteinOperator.of(x, y, s, CovariateKernel(()), Gaussian(sigma)),
            np.random.default_rng(1),
            tolerance=tolerance,
            cap=n,
        )
        for sigma in (1.0, 4.0)
    )
    return LocalKernel(kernel_x, x[:locations], factors), x, y, s


@pytest.mark.parametrize("make_weights", [sign_weights, multinomial_weights])
@pytest.mark.parametrize("d_y", [1, 2])
def test_against_the_dense_matrices(d_y, make_weights):
    """With R = h − ψψᵀ, |Σ_{i≠j} w_i k_i w_j k_j R_ij| ≤ ‖w∘k‖² · tolerance · ‖h‖_F off the diagonal."""
    kernel, x, y, s = make(45, d_y)
    weights = make_weights(45, 9, Seed.of(2))
    w = weights.block(0, 45)
    got = local_forms(kernel, x, y, s, weights, ONE)
    dense = oracle.local_matrices(x, y, s, 0.9, (1.0, 4.0), kernel.locations)
    assert len(got.totals) == len(dense) == 22
    h = [oracle.stein_h(y, s, oracle.gaussian, sigma) for sigma in (1.0, 4.0)]
    sizes = [TOLERANCE * np.linalg.norm(part - np.diag(np.diag(part))) for part in h]
    for number, matrix in enumerate(dense):
        size = sizes[number // 11]
        k = oracle.gram(x, kernel.locations[[number % 11]], oracle.gaussian, 0.9)
        assert abs(got.totals[number] - (matrix.sum() - np.trace(matrix))) <= size * (k**2).sum()
        error = np.abs(got.forms[number] - oracle.off_diagonal_forms(matrix, w))
        assert (error <= size * ((w * k) ** 2).sum(axis=0) * (1 + 1e-5) + 1e-5).all()


def test_a_full_factor_is_fscd_with_one_location():
    kernel, x, y, s = make(40, 2, tolerance=1e-12)
    n, d_y = y.shape
    totals = local_totals(kernel, ArrayRows(x, y, s), ONE)
    for number, v in enumerate(kernel.locations):
        for part, sigma in enumerate((1.0, 4.0)):
            result = cg.fscd(
                cg.from_scores(s), x, y, locations=v[None], n_boot=1, rng=0,
                kernel_x=cg.Gaussian(0.9), kernel_y=cg.Gaussian(sigma),
            )  # fmt: skip
            statistic = totals[11 * part + number] / (n - 1) / d_y
            assert statistic == pytest.approx(result.statistic, rel=1e-6, abs=1e-8)


def test_totals_alone_and_threads():
    kernel, x, y, s = make()
    weights = sign_weights(150, 20, Seed.of(0))
    one = local_forms(kernel, x, y, s, weights, ONE)
    many = local_forms(kernel, x, y, s, weights, Threads(3))
    np.testing.assert_array_equal(one.forms, many.forms)
    np.testing.assert_array_equal(one.totals, many.totals)
    totals = local_totals(kernel, ArrayRows(x, y, s), ONE)
    np.testing.assert_allclose(totals, one.totals, rtol=1e-9, atol=1e-9)


def test_levels_are_compared_too():
    """With a similarity of 0 a location of some level sees the rows of that level alone."""
    levels = np.arange(50) % 2
    x = np.column_stack([np.random.default_rng(3).normal(size=(50, 2)), levels])
    kernel, x, y, s = make(50, x=x)
    factors = (*kernel.kernel_x.factors, OnColumns(Categorical(0.0), (2,)))
    both = LocalKernel(CovariateKernel(factors), x[[0, 2]], kernel.factors)
    alone = LocalKernel(kernel.kernel_x, x[[0, 2]], kernel.factors)
    same = levels == 0
    wanted = local_totals(alone, ArrayRows(x[same], y[same], s[same]), ONE)
    np.testing.assert_allclose(local_totals(both, ArrayRows(x, y, s), ONE), wanted, rtol=1e-9)


@pytest.mark.parametrize("far", [5.0, 6.0, 8.0, 12.0, 1e3, 1e9])
def test_a_location_without_neighbours_says_nothing(far):
    """What is left of its draws is rounding: divided by its own spread it would drown all others."""
    x = np.random.default_rng(3).normal(size=(60, 2))
    x[0] = [far, far]
    kernel, x, y, s = make(60, x=x, locations=20)
    weights = sign_weights(60, 100, Seed.of(0))
    got = local_forms(kernel, x, y, s, weights, ONE)
    np.testing.assert_array_equal(got.forms[[0, 20]], 0.0)
    others = np.delete(got.forms, [0, 20], axis=0)
    spread = others.std(axis=1)
    assert (np.abs(others.mean(axis=1)) < spread).all()


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_one_outlier_in_y_moves_no_draw(size):
    """Its squares cancel: in single precision they would move all draws by more than their spread."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(80, 1))
    kernel, x, y, s = make(80, scores=scores)
    weights = sign_weights(80, 50, Seed.of(0))
    y, s = y.copy(), s.copy()
    y[40], s[40] = size, -size
    # The row is a landmark of both factors, or it would have no features at all.
    factors = tuple(
        choose_landmarks(
            SteinOperator.of(x, y, s, CovariateKernel(()), Gaussian(sigma)),
            np.random.default_rng(1), tolerance=1e-9, cap=80,
        )
        for sigma in (1.0, 4.0)
    )  # fmt: skip
    got = local_forms(LocalKernel(kernel.kernel_x, x[:11], factors), x, y, s, weights, ONE)
    rest = np.delete(np.arange(80), 40)
    w = weights.block(0, 80)[rest]
    for number, matrix in enumerate(
        oracle.local_matrices(x[rest], y[rest], s[rest], 0.9, (1.0, 4.0), x[:11])
    ):
        wanted = oracle.off_diagonal_forms(matrix, w)
        np.testing.assert_allclose(got.forms[number], wanted, rtol=0, atol=5e-3 * wanted.std())
