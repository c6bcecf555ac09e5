"""Kernels: profiles, bandwidths, columns."""

import numpy as np
import pytest

import condgof as cg
import oracle
from condgof.errors import InputError, InputTypeError
from condgof.kernels import (
    Block,
    Cells,
    CovariateKernel,
    Gram,
    OnColumns,
    cell_scales,
    median_distance,
    resolve_x,
    resolve_y,
    sqdist,
)
from condgof.sample import Column, Seed

RADIAL = [cg.Gaussian, cg.IMQ, cg.Matern52, cg.Matern12]
SEED = Seed.of(0)


@pytest.mark.parametrize("make", RADIAL)
def test_profile_against_differences(make):
    kernel = make(1.0)
    t = np.array([0.01, 0.3, 1.0, 4.0, 20.0])
    step = 1e-6
    phi, dphi, d2phi = kernel.profile(t)
    up = kernel.profile(t + step)
    down = kernel.profile(t - step)
    np.testing.assert_allclose(dphi, (up[0] - down[0]) / (2 * step), rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(d2phi, (up[1] - down[1]) / (2 * step), rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(kernel.value(t), phi, rtol=1e-14)


@pytest.mark.parametrize("make", RADIAL)
def test_values_against_the_oracle(make, rng):
    a = rng.normal(size=(5, 3))
    b = rng.normal(size=(4, 3))
    wanted = oracle.gram(a, b, oracle.KERNELS[make.__name__], 1.7)
    np.testing.assert_allclose(make(1.7)(a, b), wanted, rtol=1e-12)


@pytest.mark.parametrize("make", RADIAL)
def test_equal_rows_have_kernel_one(make, rng):
    """Also by a matrix product, whose rounding error a kink at 0 would magnify."""
    a = rng.normal(size=(50, 3))
    np.testing.assert_allclose(np.diag(make(1.0)(a, a)), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("bandwidth", [0, 0.0, -1.0, np.nan, np.inf, "mean", "", "Median"])
@pytest.mark.parametrize("make", RADIAL)
def test_bad_bandwidths(make, bandwidth):
    with pytest.raises(InputError, match=r"bandwidth must be"):
        make(bandwidth)


@pytest.mark.parametrize("bandwidth", [None, [1.0], True, 1j])
def test_bandwidths_of_a_wrong_kind(bandwidth):
    with pytest.raises(InputTypeError, match="positive number or 'median'"):
        cg.Gaussian(bandwidth)


def test_median_over_all_pairs_up_to_a_thousand(rng):
    points = rng.normal(size=(60, 2))
    got = median_distance(points, np.random.default_rng(0))
    assert got == pytest.approx(oracle.median_distance(points), rel=1e-12)


def test_median_of_many_rows_is_that_of_a_thousand_drawn(rng):
    points = rng.normal(size=(3000, 2))
    first = median_distance(points, np.random.default_rng(0))
    assert first == median_distance(points, np.random.default_rng(0))
    rows = np.random.default_rng(0).choice(3000, 1000, replace=False)
    assert first == pytest.approx(oracle.median_distance(points[rows]), rel=1e-12)


def test_a_zero_median_falls_back_to_the_non_zero_distances():
    points = np.array([[0.0]] * 8 + [[3.0], [5.0]])
    assert median_distance(points, np.random.default_rng(0)) == pytest.approx(3.0)
    with pytest.raises(InputError, match="equal"):
        median_distance(np.ones((5, 1)), np.random.default_rng(0))


def test_distances_that_overflow():
    with pytest.raises(InputError, match="overflow"):
        median_distance(np.array([[0.0], [1e200], [-1e200]]), np.random.default_rng(0))


def test_matern12_on_y_is_refused():
    with pytest.raises(InputError, match="Matern12 cannot serve on y"):
        resolve_y(cg.Matern12(1.0), np.ones((3, 1)), SEED)
    with pytest.raises(InputTypeError, match="radial"):
        resolve_y(cg.Categorical(), np.ones((3, 1)), SEED)


def columns(*kinds):
    return tuple(
        Column(f"c{i}", ("a", "b") if kind == "cat" else None, kind == "const")
        for i, kind in enumerate(kinds)
    )


def test_a_plain_kernel_goes_on_numbers_and_categories_get_their_own(rng):
    x = np.column_stack([rng.normal(size=20), rng.integers(0, 2, 20), np.ones(20)])
    kernel = resolve_x(cg.Gaussian(2.0), x, columns("num", "cat", "const"), SEED)
    assert repr(kernel.shown(3)) == "Gaussian(2).on('c0') * Categorical(0.5).on('c1')"
    got = kernel(x, x)
    same = x[:, None, 1] == x[None, :, 1]
    wanted = np.exp(-((x[:, None, 0] - x[None, :, 0]) ** 2) / 8) * np.where(same, 1.0, 0.5)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_products_by_name_and_number(rng):
    x = rng.normal(size=(20, 3))
    names = columns("num", "num", "num")
    by_name = resolve_x(cg.IMQ().on("c2", "c0") * cg.Gaussian().on("c1"), x, names, SEED)
    by_number = resolve_x(cg.IMQ().on(-1, 0) * cg.Gaussian().on(1), x, names, SEED)
    np.testing.assert_array_equal(by_name(x, x), by_number(x, x))
    assert by_name.factors[0].kernel.sigma == pytest.approx(
        oracle.median_distance(x[:, [2, 0]])
    )


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (cg.Gaussian().on("age"), "no column 'age'"),
        (cg.Gaussian().on(7), "there is no 7"),
        (cg.Gaussian().on("c1"), "categorical"),
        (cg.Gaussian().on("c2"), "constant"),
    ],
)
def test_bad_columns(kernel, message, rng):
    x = rng.normal(size=(5, 3))
    with pytest.raises((InputError, InputTypeError), match=message):
        resolve_x(kernel, x, columns("num", "cat", "const"), SEED)


def test_products_need_columns():
    with pytest.raises(InputTypeError, match="needs its columns"):
        cg.Gaussian() * cg.IMQ()
    with pytest.raises(InputError, match="at least one column"):
        cg.Gaussian().on()
    with pytest.raises(InputTypeError, match="kernel_x must be a kernel"):
        resolve_x("gaussian", np.ones((3, 1)), columns("num"), SEED)


@pytest.mark.parametrize("similarity", [-0.1, 1.0, 2.0])
def test_bad_similarity(similarity):
    with pytest.raises(InputError, match="similarity"):
        cg.Categorical(similarity)


def test_sqdist_far_from_the_centre():
    a = np.array([[1e7], [1e7 + 1]])
    np.testing.assert_allclose(sqdist(a, a), [[0.0, 1.0], [1.0, 0.0]], atol=1e-9)


def test_kernels_are_values():
    assert cg.Gaussian(1.0) == cg.Gaussian(1.0)
    assert hash(cg.Gaussian(1.0)) == hash(cg.Gaussian(1.0))
    assert cg.Gaussian(1.0) != cg.IMQ(1.0)
    kernel = cg.Gaussian(1.5).on("a") * cg.Categorical(0.2).on("b")
    assert kernel.to_dict() == {
        "kernel": "Product",
        "factors": [
            {"kernel": "Gaussian", "bandwidth": 1.5, "columns": ["a"]},
            {"kernel": "Categorical", "similarity": 0.2, "columns": ["b"]},
        ],
    }


def test_small_examples():
    distances = sqdist(np.array([[0.0], [3.0]]), np.array([[1.0]]), scale=2.0)
    np.testing.assert_array_equal(distances, [[0.25], [1.0]])
    product = cg.Gaussian(1.0).on(0) * cg.Categorical(0.5).on(1)
    assert product(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])) == 0.5
    kernel = CovariateKernel((OnColumns(cg.Gaussian(2.0), (0,)),))
    block = Gram.from_sample(kernel, np.array([[0.0], [2.0]])).block(
        slice(0, 1), slice(0, 2)
    )
    np.testing.assert_allclose(block, [[1.0, np.exp(-0.5)]])
    cells = Cells((Block("labels", 0, 3), Block("ranks", 3, 5)), "labels and ranks")
    assert [kernel.name for kernel in cell_scales(cells, (2.0, 1.0))] == ["labels", "ranks"]
