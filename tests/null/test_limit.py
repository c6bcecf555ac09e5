"""The Gaussian limit of sums: its roots, and the covariance of what it draws."""

import numpy as np
import pytest

from condgof.null import Limit, TriangularRoot
from condgof.residuals import NormalTestFunctions
from condgof.stein import Panel, Plan, Totals


class Cut:
    def __init__(self, start, stop):
        self.columns = slice(start, stop)


def root_matrix(root):
    """L, variables in their own order, noise in that of the groups."""
    return root.matrix().astype(np.float64)[np.argsort(root.order)]


def test_a_triangular_root_gives_its_covariance_whatever_the_groups():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(7, 9))
    covariance = factors @ factors.T
    order = rng.permutation(7)
    root = TriangularRoot.from_covariance(covariance, np.split(order, [2, 5]))
    matrix = root_matrix(root)
    np.testing.assert_allclose(matrix @ matrix.T, covariance, rtol=1e-5, atol=1e-5)
    assert not matrix[order[:2], 2:].any()
    noise = rng.normal(size=(4, 3, 7))
    np.testing.assert_allclose(root.multiply(noise), noise @ matrix.T, rtol=1e-6)


def test_a_root_of_a_singular_covariance_keeps_it():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(6, 2))
    covariance = factors @ factors.T
    root = TriangularRoot.from_covariance(covariance, np.split(np.arange(6), [3]))
    matrix = root_matrix(root)
    np.testing.assert_allclose(matrix @ matrix.T, covariance, atol=1e-5)


def test_blocks_that_are_zero_are_left_out():
    covariance = np.eye(6)
    covariance[4:, :2] = 0.3
    covariance[:2, 4:] = 0.3
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    assert len(TriangularRoot.from_covariance(covariance, groups).blocks) == 4


@pytest.mark.parametrize("d_y", [1, 2, 6])
def test_the_covariance_of_test_functions_is_that_of_normal_numbers(d_y):
    functions = NormalTestFunctions.at_bandwidths((1.0, 0.5), d_y)
    z = np.random.default_rng(0).standard_normal((40_000, d_y))
    values = functions.look_up(z).astype(np.float64)
    estimate = values.T @ values / len(z)
    spread = np.sqrt(np.diag(functions.covariance))
    scaled = (estimate - functions.covariance) / np.outer(spread, spread)
    assert np.abs(scaled).max() < 0.12
    groups = np.concatenate(functions.independent_groups)
    assert sorted(groups) == list(range(functions.width))


def test_sums_have_the_covariance_of_features_and_functions():
    """Of every pair of a feature and a function that meet, in wide and narrow panels."""
    rng = np.random.default_rng(2)
    functions = NormalTestFunctions.at_bandwidths((1.0,), 2)
    of_z = functions.blocks_for_columns
    blocks = functions.blocks
    features = LinearFeatures((2, 3))
    panels = (Panel(slice(0, 1), slice(0, len(blocks))), Panel(slice(1, 2), of_z))
    plan = Plan(features=features, test_functions=functions, panels=panels)
    factors = rng.normal(size=(5, 8))
    gram = factors @ factors.T
    totals = Totals(
        sums=[np.zeros((cut.x_width, cut.y_width)) for cut in plan.cuts],
        grams=[gram],
        largest=np.zeros(1),
    )
    limit = Limit.from_totals(plan, totals, [functions.covariance])
    wide, narrow = limit.sums(rng, 20_000)
    m = len(wide)
    first, second = plan.cuts
    both = np.concatenate([wide.reshape(m, -1), narrow.reshape(m, -1)], axis=1)
    x = np.concatenate(
        [np.repeat(np.arange(2), wide.shape[2]), np.repeat([2, 3, 4], narrow.shape[2])]
    )
    y = np.concatenate(
        [
            np.tile(np.arange(first.y.start, first.y.stop), 2),
            np.tile(np.arange(second.y.start, second.y.stop), 3),
        ]
    )
    expected = gram[np.ix_(x, x)] * functions.covariance[np.ix_(y, y)]
    spread = np.sqrt(np.diag(expected))
    estimate = both.T.astype(np.float64) @ both / m
    assert np.abs((estimate - expected) / np.outer(spread, spread)).max() < 0.05


class LinearFeatures:
    """As many blocks of features as there are sizes; `Limit` asks for no more."""

    def __init__(self, sizes):
        ends = np.cumsum(sizes)
        self.blocks = [Cut(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self.width = int(ends[-1])
