"""Test functions of normal scores: mean 0 under N(0, I), known covariance, outliers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import ks_2samp, norm

import oracle
from condgof.residuals import (
    GRID_END,
    GRID_STEPS,
    JOINT_SPREAD,
    SMALLEST_DIRECTION,
    AveragedTestFunctions,
    NormalTestFunctions,
    draw_top_surprises,
    excess,
    legendre,
    single_functions,
    surprise,
    top_surprises,
)

BANDWIDTHS = (4.0, 2.0, 1.0, 0.5)
GRID = np.linspace(-GRID_END, GRID_END, GRID_STEPS + 1)[:, None]
WEIGHT = norm.pdf(GRID[:, 0]) / norm.pdf(GRID[:, 0]).sum()


def columns(test_functions, name):
    return next(block.columns for block in test_functions.blocks if block.name == name)


def normal_mean(function):
    """E[function(Z)] of a standard normal Z, by quadrature."""
    return quad(lambda z: function(z) * norm.pdf(z), -9, 9, limit=200)[0]


@pytest.mark.parametrize("k", range(6))
def test_single_functions_have_mean_0_and_variance_1(k):
    def function(z):
        return single_functions(np.array([z]))[0, k]

    assert normal_mean(function) == pytest.approx(0.0, abs=1e-6)
    assert normal_mean(lambda z: function(z) ** 2) == pytest.approx(1.0, abs=1e-5)


def test_legendre_functions_are_orthonormal_and_bounded():
    u = (np.arange(200_000) + 0.5) / 200_000
    psi = legendre(u)
    np.testing.assert_allclose(psi.T @ psi / len(u), np.eye(4), atol=1e-6)
    assert np.abs(legendre(np.array([0.0, 1.0]))).max() <= 3.0 + 1e-12


def test_functions_of_one_score_by_hand():
    at_median = legendre(np.array([0.5]))
    np.testing.assert_allclose(at_median, [[0, -1.118, 0, 1.125]], atol=5e-4)
    at_zero = single_functions(np.array([0.0]))
    np.testing.assert_allclose(at_zero, [[0, -1, 0, -1.118, 0, 1.125]], atol=5e-4)


@given(st.floats(-60, 60))
def test_surprise_is_the_tail_probability(z):
    expected = -np.log(2) - norm.logsf(abs(z))
    assert surprise(np.array([z]))[0] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_the_table_of_one_column():
    test_functions = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    xi = test_functions.look_up(GRID).astype(float)
    np.testing.assert_allclose(WEIGHT @ xi, 0.0, atol=2e-7)
    covariance = (xi * WEIGHT[:, None]).T @ xi
    np.testing.assert_allclose(covariance, test_functions.covariance, atol=1e-6)


@pytest.mark.parametrize("sigma", BANDWIDTHS)
def test_the_table_factors_the_stein_kernel(sigma):
    """Directions that are left out bound the error in the mean square."""
    test_functions = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    z = np.linspace(-3, 3, 41)[:, None]
    expected = oracle.stein_h(z, -z, oracle.gaussian, sigma)
    block = columns(test_functions, f"bandwidth {sigma:g}")
    xi = test_functions.look_up(z)[:, block].astype(float)
    weight = np.sqrt(norm.pdf(z[:, 0]) / norm.pdf(z[:, 0]).sum())
    difference = np.linalg.norm(weight[:, None] * (xi @ xi.T - expected) * weight)
    size = np.linalg.norm(weight[:, None] * expected * weight)
    assert difference <= 4 * SMALLEST_DIRECTION * size


def test_scores_beyond_the_grid_are_clipped():
    test_functions = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    far = test_functions.look_up(np.array([[1e9], [-40.0]]))
    ends = test_functions.look_up(np.array([[GRID_END], [-GRID_END]]))
    np.testing.assert_array_equal(far, ends)


@pytest.mark.parametrize("d_y", [2, 3, 5])
def test_several_columns(d_y):
    several = NormalTestFunctions.at_bandwidths(BANDWIDTHS, d_y)
    one = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    z = np.random.default_rng(0).standard_normal((40_000, d_y), dtype=np.float32)
    n = len(z)
    xi = several.look_up(z).astype(float)
    assert np.abs(xi.mean(axis=0) / xi.std(axis=0)).max() < 5 / np.sqrt(n)
    # Functions of all columns together are last; their products with all others have the
    # covariance of the table, which is exact on a grid, and by draws beyond three columns.
    last = xi[:, -8:]
    products = xi.T @ last / n
    squares = (xi**2).T @ last**2 / n
    table_error = 2e-3 if d_y < 4 else 0.02
    deviation = np.sqrt((squares - products**2) / n) + table_error
    assert np.abs((products - several.covariance[:, -8:]) / deviation).max() < 6
    both = columns(several, "z")
    alone = columns(one, "z")
    by_column = [one.look_up(z[:, [c]])[:, alone] for c in range(d_y)]
    np.testing.assert_array_equal(xi[:, both], np.column_stack(by_column))
    variance = one.covariance[alone.start, alone.start]
    np.testing.assert_allclose(
        several.covariance[both, both], variance * np.eye(d_y), atol=1e-12
    )


@pytest.mark.parametrize("d_y", [2, 3, 5])
def test_joint_spread_is_the_product_of_sizes(d_y):
    several = NormalTestFunctions.at_bandwidths(BANDWIDTHS, d_y)
    z = np.random.default_rng(2).normal(size=(20_000, d_y))
    mean = np.sqrt(2 / np.pi)
    spread = np.sqrt(1 - 2 / np.pi)
    pairs = [(a, b) for a in range(d_y) for b in range(a + 1, d_y)]
    expected = [
        (np.abs(z[:, a]) - mean) * (np.abs(z[:, b]) - mean) / spread**2 for a, b in pairs
    ]
    block = columns(several, JOINT_SPREAD)
    xi = several.look_up(z)
    np.testing.assert_allclose(xi[:, block], np.transpose(expected), rtol=1e-4, atol=1e-4)
    # The covariance with every function but those of all columns together is exact.
    with_others = xi[:, block].T.astype(float) @ xi / len(z)
    error = 6 * np.sqrt(np.square(xi[:, block]).T.astype(float) @ np.square(xi)) / len(z)
    table_error = 3e-3 if d_y < 4 else 0.02
    assert (np.abs(with_others - several.covariance[block]) < error + table_error).all()
    np.testing.assert_array_equal(several.covariance[block, block], np.eye(len(pairs)))


def test_which_functions_meet_pairs_and_shapes():
    def names(test_functions, blocks):
        return [block.name for block in test_functions.blocks[blocks]]

    one = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 1)
    several = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 2)
    counts = AveragedTestFunctions.at_bandwidths(BANDWIDTHS)
    joint = ["z", "surprise", "correlation", JOINT_SPREAD]
    assert names(one, one.blocks_for_columns) == ["z", "surprise", "shift"]
    assert names(one, one.blocks_for_details) == ["z", "surprise"]
    assert names(several, several.blocks_for_columns) == joint
    assert names(several, several.blocks_for_pairs) == joint
    for functions in (one, several, counts):
        shapes = names(functions, functions.blocks_for_shapes)
        assert shapes == ["spread", "skew", "tails"]
    many = NormalTestFunctions.at_bandwidths(BANDWIDTHS, 4)
    assert names(many, many.blocks_for_details) == []  # 20 functions


def test_top_surprises_are_drawn_without_drawing_all():
    rng = np.random.default_rng(0)
    n = 80
    m = 2000
    direct = np.sort(surprise(rng.normal(size=(m, n))), axis=1)[:, ::-1][:, : n // 4]
    drawn = draw_top_surprises(n, m, rng)
    assert drawn.shape == direct.shape
    for k in (0, 5, 19):
        assert ks_2samp(direct[:, k], drawn[:, k]).pvalue > 1e-4
    assert ks_2samp(excess(direct, n), excess(drawn, n)).pvalue > 1e-4


def test_excess_against_a_loop():
    z = np.random.default_rng(1).normal(size=30)
    surprises = sorted((-np.log(2 * norm.sf(abs(one))) for one in z), reverse=True)
    largest = -np.inf
    for k in range(1, 30 // 4 + 1):
        terms = [surprises[i] - np.log(30 / (i + 0.5)) for i in range(k)]
        largest = max(largest, sum(terms) / np.sqrt(k))
    assert excess(top_surprises(z[None]), 30)[0] == pytest.approx(largest, rel=1e-9)


def test_excess_by_hand():
    expected_surprises = np.log([[20.0, 20 / 3]])
    np.testing.assert_allclose(excess(expected_surprises, 10), [0.0], atol=1e-6)
