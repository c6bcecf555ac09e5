"""Features of x: kernels through landmarks, single columns, levels, pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import oracle
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns
from condgof.sample import Column, XUnits
from condgof.stein._features import (
    Features,
    Maker,
    choose_pivots,
    levels,
    marginals,
    nystrom,
    ones,
    pairs,
    scales,
    single_locations,
    whitening,
)

KERNEL = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(80, 2))


def test_all_rows_as_landmarks_are_the_kernel_itself(x):
    made = nystrom(KERNEL, x, np.random.default_rng(0), precision=1e-12, cap=80)
    features = Features((made,)).of(x)
    np.testing.assert_allclose(
        features @ features.T, oracle.gram(x, x, oracle.gaussian, 1.4), atol=1e-6
    )


@pytest.mark.parametrize("tolerance", [0.1, 1e-2, 1e-4])
def test_the_residual_is_what_it_says(x, tolerance):
    many = np.random.default_rng(1).normal(size=(400, 2))
    made = nystrom(KERNEL, many, np.random.default_rng(0), precision=tolerance, cap=400)
    features = Features((made,)).of(many)
    left = 1.0 - np.square(features).sum(axis=1)
    assert left.mean() == pytest.approx(made.residual, abs=1e-6)
    assert made.residual <= tolerance


def test_a_cap_is_kept_and_copies_are_left_out():
    copies = np.repeat(np.random.default_rng(1).normal(size=(7, 2)), 20, axis=0)
    chosen, _ = choose_pivots(
        KERNEL, copies, np.random.default_rng(0), tolerance=0.0, cap=50
    )
    assert len(np.unique(copies[chosen], axis=0)) == len(chosen) == 7
    wide = np.random.default_rng(1).normal(size=(300, 2)) * 50
    assert (
        len(choose_pivots(KERNEL, wide, np.random.default_rng(0), tolerance=0.0, cap=50)[0])
        == 50
    )


def test_scales_are_the_kernel_at_each_bandwidth_less_its_mean(x):
    made = scales(KERNEL, (1.0, 0.5), x, np.random.default_rng(0), precision=1e-9, cap=80)
    features = Features((made,))
    values = features.of(x).astype(float)
    for block, multiple in zip(features.blocks, (1.0, 0.5), strict=True):
        k = oracle.gram(x, x, oracle.gaussian, 1.4 * multiple)
        centred = k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()
        got = values[:, block.columns] @ values[:, block.columns].T
        # Single precision, and directions below 1e-6 of the largest are left out.
        np.testing.assert_allclose(got, centred, atol=2e-3)


def test_levels_multiply():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50)])
    kernel = CovariateKernel(
        (OnColumns(Gaussian(1.0), (0,)), OnColumns(Categorical(0.5), (1,)))
    )
    made = single_locations(kernel, 0.5, x[:4])
    wanted = oracle.gram(x[:, :1], x[:4, :1], oracle.gaussian, 0.5) * np.where(
        x[:, 1:] == x[:4, 1], 1.0, 0.5
    )
    np.testing.assert_allclose(made.raw(x), wanted, atol=1e-6)
    assert len(Features((made,)).blocks) == 4


@given(st.integers(0, 1000), st.sampled_from([np.exp, np.cbrt, lambda v: 3 * v - 7]))
def test_ranks_know_no_units(seed, change):
    x = np.random.default_rng(seed).normal(size=(30, 1))
    column = [Column("x")]
    np.testing.assert_allclose(
        XUnits.of(x, column, "ranks").apply(x),
        XUnits.of(change(x), column, "ranks").apply(change(x)),
        atol=1e-12,
    )


def test_ties_share_their_middle_rank_and_points_come_back():
    x = np.array([[1.0], [1.0], [2.0], [5.0]])
    units = XUnits.of(x, [Column("x")], "ranks")
    np.testing.assert_allclose(units.apply(x)[:, 0], norm.ppf([0.25, 0.25, 0.625, 0.875]))
    np.testing.assert_allclose(units.apply(units.apply(x), back=True), x)
    np.testing.assert_allclose(
        units.apply(np.array([[-99.0], [99.0]]))[:, 0], norm.ppf([0.25, 0.875])
    )


def test_single_columns_are_centred_functions_of_the_column(x):
    made = marginals((1,), x)
    values = made.raw(x)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)
    moved = x.copy()
    moved[:, 0] += 100.0
    np.testing.assert_array_equal(made.raw(moved), values)
    line, square = values[:, 0], values[:, 1]
    assert np.corrcoef(line, x[:, 1])[0, 1] > 0.9999
    assert np.corrcoef(square, x[:, 1] ** 2)[0, 1] > 0.9999


def test_levels_and_pairs(x):
    codes = np.column_stack([x[:, 0], (x[:, 1] > 1).astype(float)])
    made = levels(np.array([1]), np.array([1.0]), np.array([0.2]))
    np.testing.assert_allclose(made.raw(codes)[:, 0], codes[:, 1] - 0.2, atol=1e-7)
    one = pairs((0, 1), x, 9)
    product = x[:, 0] * x[:, 1]
    np.testing.assert_allclose(one.raw(x)[:, 0], product - product.mean(), atol=1e-5)
    many = pairs(range(40), np.random.default_rng(0).normal(size=(9, 40)), 100)
    assert len(many.labels) == 100 == len(set(many.labels))


def test_turning_is_linear(x):
    several = scales(
        KERNEL, (1.0, 0.25), x, np.random.default_rng(0), precision=1e-3, cap=30
    )
    features = Features((several, ones(), Maker.single("more", lambda x: x**2, range(2))))
    np.testing.assert_allclose(
        features.turn(features.raw(x).sum(axis=0)[None])[0],
        features.of(x).sum(axis=0),
        rtol=1e-3,
        atol=1e-2,
    )
    assert [block.family for block in features.blocks] == [
        "x",
        "x",
        "constant",
        "more",
        "more",
    ]
    assert features.family("constant", "more") == slice(2, 5)


def test_whitening_leaves_out_what_is_rounding():
    matrix = np.diag([1.0, 1e-3, 1e-12])
    assert whitening(matrix, 1e-6).shape == (3, 2)
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    white = whitening(matrix)
    np.testing.assert_allclose(white.T @ matrix @ white, np.eye(2), atol=1e-12)
