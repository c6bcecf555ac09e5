"""Features of x: kernels through landmarks, single columns, categories, pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import oracle
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns
from condgof.sample import Column, XUnits
from condgof.stein import (
    Cell,
    FeatureMap,
    Features,
    categories,
    category_columns,
    cells,
    constant,
    in_units,
    marginals,
    nystrom,
    pairs,
    scales,
    shapes,
    single_locations,
    triples,
    waves,
)

KERNEL = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(80, 2))


def test_all_rows_as_landmarks_are_the_kernel_itself(x):
    feature_map = nystrom(KERNEL, x, np.random.default_rng(0), precision=1e-12, cap=80)
    features = Features((feature_map,)).evaluate(x)
    np.testing.assert_allclose(
        features @ features.T, oracle.gram(x, x, oracle.gaussian, 1.4), atol=1e-6
    )


@pytest.mark.parametrize("tolerance", [0.1, 1e-2, 1e-4])
def test_the_residual_is_what_is_left_of_the_diagonal(tolerance):
    many = np.random.default_rng(1).normal(size=(400, 2))
    feature_map = nystrom(
        KERNEL, many, np.random.default_rng(0), precision=tolerance, cap=400
    )
    features = Features((feature_map,)).evaluate(many)
    left = 1.0 - np.square(features).sum(axis=1)
    assert left.mean() == pytest.approx(feature_map.residual, abs=1e-6)
    assert feature_map.residual <= tolerance


def test_scales_are_the_kernel_at_each_bandwidth_less_its_mean(x):
    feature_map = scales(
        KERNEL, (1.0, 0.5), x, np.random.default_rng(0), precision=1e-9, cap=80
    )
    features = Features((feature_map,))
    values = features.evaluate(x).astype(float)
    for block, multiple in zip(features.blocks, (1.0, 0.5), strict=True):
        k = oracle.gram(x, x, oracle.gaussian, 1.4 * multiple)
        centred = k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()
        some = values[:, block.columns]
        # Single precision, and directions below 1e-6 of the largest are left out.
        np.testing.assert_allclose(some @ some.T, centred, atol=2e-3)


def test_kernels_on_categories_multiply():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50)])
    kernel = CovariateKernel(
        (OnColumns(Gaussian(1.0), (0,)), OnColumns(Categorical(0.5), (1,)))
    )
    feature_map = single_locations(kernel, 0.5, x[:4])
    on_numbers = oracle.gram(x[:, :1], x[:4, :1], oracle.gaussian, 0.5)
    on_categories = np.where(x[:, 1:] == x[:4, 1], 1.0, 0.5)
    np.testing.assert_allclose(feature_map.raw(x), on_numbers * on_categories, atol=1e-6)
    assert len(Features((feature_map,)).blocks) == 4


@given(st.integers(0, 1000), st.sampled_from([np.exp, np.cbrt, lambda v: 3 * v - 7]))
def test_ranks_know_no_units(seed, change):
    x = np.random.default_rng(seed).normal(size=(30, 1))
    column = [Column("x")]
    np.testing.assert_allclose(
        XUnits.from_rows(x, column, "ranks").apply(x),
        XUnits.from_rows(change(x), column, "ranks").apply(change(x)),
        atol=1e-12,
    )


def test_ties_share_their_middle_rank_and_points_come_back():
    x = np.array([[1.0], [1.0], [2.0], [5.0]])
    units = XUnits.from_rows(x, [Column("x")], "ranks")
    np.testing.assert_allclose(units.apply(x)[:, 0], norm.ppf([0.25, 0.25, 0.625, 0.875]))
    np.testing.assert_allclose(units.apply(units.apply(x), back=True), x)
    outside = units.apply(np.array([[-99.0], [99.0]]))
    np.testing.assert_allclose(outside[:, 0], norm.ppf([0.25, 0.875]))


def test_a_map_in_units_sees_x_in_these_units(x):
    units = XUnits.from_rows(x, [Column("a"), Column("b")], "ranks")
    feature_map = pairs((0, 1), units.apply(x), 9)
    by_ranks = in_units(feature_map, units).raw(x)
    np.testing.assert_array_equal(by_ranks, feature_map.raw(units.apply(x)))
    assert in_units(feature_map, None) is feature_map


def test_single_columns_are_centred_functions_of_the_column(x):
    feature_map = marginals([1], x)
    values = feature_map.raw(x)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)
    moved = x.copy()
    moved[:, 0] += 100.0
    np.testing.assert_array_equal(feature_map.raw(moved), values)
    line = values[:, 0]
    parabola = values[:, 1]
    assert np.corrcoef(line, x[:, 1])[0, 1] > 0.9999
    assert np.corrcoef(parabola, x[:, 1] ** 2)[0, 1] > 0.9999


def test_categories_are_centred_indicators(x):
    codes = np.column_stack([x[:, 0], (x[:, 1] > 1).astype(float)])
    feature_map = categories(np.array([1]), np.array([1.0]), np.array([0.2]))
    np.testing.assert_allclose(feature_map.raw(codes)[:, 0], codes[:, 1] - 0.2, atol=1e-7)


def test_pairs_are_centred_products(x):
    one = pairs((0, 1), x, 9)
    product = x[:, 0] * x[:, 1]
    np.testing.assert_allclose(one.raw(x)[:, 0], product - product.mean(), atol=1e-5)
    many = pairs(range(40), np.random.default_rng(0).normal(size=(9, 40)), 100)
    assert len(many.labels) == 100 == len(set(many.labels))


def centred(columns):
    table = np.array(columns, dtype=float).T
    return table - table.mean(axis=0)


def test_triples_are_centred_products_of_three_ranks():
    x = np.random.default_rng(0).normal(size=(50, 4))
    features = Features((triples([0, 2, 3, 1], x),))
    assert [block.label for block in features.blocks] == [
        (0, 2, 3),
        (0, 2, 1),
        (0, 3, 1),
        (2, 3, 1),
    ]
    expected = [
        [np.prod([3**0.5 * (2 * norm.cdf(row[c]) - 1) for c in block.label]) for row in x]
        for block in features.blocks
    ]
    np.testing.assert_allclose(features.evaluate(x), centred(expected), atol=1e-5)


def test_shapes_are_a_constant_and_a_centred_cosine(x):
    features = Features((shapes([1, 0], x),))
    assert [block.columns for block in features.blocks] == [slice(0, 2), slice(2, 4)]
    values = features.evaluate(x)
    np.testing.assert_allclose(values[:, ::2], 0.5**0.5, rtol=1e-6)
    expected = [np.cos(np.pi * norm.cdf(x[:, c])) for c in (1, 0)]
    np.testing.assert_allclose(values[:, 1::2], centred(expected), atol=0.01)


def test_waves_are_centred_cosines_of_the_rank(x):
    features = Features((waves([1, 0], x),))
    assert [(block.label, block.columns) for block in features.blocks] == [
        (1, slice(0, 28)),
        (0, slice(28, 56)),
    ]
    ranks = [norm.cdf(x[:, c]) for c in (1, 0)]
    orders = range(5, 33)
    expected = [min(1, 16 / k) * np.cos(np.pi * k * r) for r in ranks for k in orders]
    # A rank is rounded to a step of the grid, by up to 0.0018 in the middle.
    error = np.pi * 32 * 0.0018
    np.testing.assert_allclose(features.evaluate(x), centred(expected), atol=1.1 * error)


def test_cells_are_centred_indicators_of_two_values():
    x = np.random.default_rng(0).integers(0, 3, size=(60, 3)).astype(float)
    chosen = [Cell((0, 1.0), (2, 0.0)), Cell((1, 2.0), (2, 2.0)), Cell((0, 1.0), (1, 2.0))]
    features = Features((cells(chosen, x),))
    expected = [[row[a] == v and row[b] == w for row in x] for (a, v), (b, w) in chosen]
    np.testing.assert_allclose(features.evaluate(x), centred(expected), atol=1e-6)
    assert [block.label for block in features.blocks] == chosen


def test_category_columns_have_a_block_of_all_categories():
    x = np.random.default_rng(0).integers(0, 4, size=(90, 2)).astype(float)
    values = [np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0])]
    features = Features((category_columns([0, 1], values, x),))
    expected = []
    for column, own in enumerate(values):
        for value in own:
            is_value = x[:, column] == value
            expected.append(is_value / np.sqrt(is_value.mean()))
    np.testing.assert_allclose(features.evaluate(x), centred(expected), atol=1e-5)
    assert [block.columns for block in features.blocks] == [slice(0, 3), slice(3, 5)]


def test_features_from_raw_columns_are_linear(x):
    several = scales(
        KERNEL, (1.0, 0.25), x, np.random.default_rng(0), precision=1e-3, cap=30
    )
    more = FeatureMap.one_each("more", lambda x: x**2, range(2))
    features = Features((several, constant(), more))
    np.testing.assert_allclose(
        features.from_raw(features.raw(x).sum(axis=0)[None])[0],
        features.evaluate(x).sum(axis=0),
        rtol=1e-3,
        atol=1e-2,
    )
    families = [block.family for block in features.blocks]
    assert families == ["x", "x", "constant", "more", "more"]
    assert features.family("constant", "more") == slice(2, 5)
