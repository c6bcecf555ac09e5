"""Rows chosen by what they hold: the same for every order, copies like other rows."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

from condgof.sample import CONTENT_SEED, Use, content_keys, content_order, rows_by_content


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 4, n), rng.normal(size=n)]).astype(float)


def test_the_order_is_that_of_the_values():
    x = table(200)
    order = content_order(x)
    mixed = x[np.random.default_rng(1).permutation(200)]
    np.testing.assert_array_equal(x[order], mixed[content_order(mixed)])
    # By the definition: sorted rows, and a fixed permutation.
    rows = np.array(sorted(map(tuple, x)))
    fixed = CONTENT_SEED.stream(Use.CONTENT).permutation(200)
    np.testing.assert_array_equal(x[order], rows[fixed])


def test_units_do_not_change_the_order():
    x = table(100)
    other = np.column_stack([5 * x[:, 0] - 3, np.exp(x[:, 1])])
    np.testing.assert_array_equal(content_order(x), content_order(other))


def test_equal_rows_are_ordered_by_the_next_table():
    x = np.repeat(np.arange(5.0), 10)[:, None]
    y = np.random.default_rng(0).normal(size=(50, 1))
    order = np.random.default_rng(1).permutation(50)
    one = y[content_order(x, y)]
    np.testing.assert_array_equal(one, y[order][content_order(x[order], y[order])])
    assert len(content_order(np.empty((7, 0)))) == 7


def test_keys_are_uniform_and_forget_rounding():
    x = table(20_000)
    keys = content_keys(x, [0, 1])
    assert kstest(keys / 2.0**64, "uniform").pvalue > 1e-3
    assert len(np.unique(keys)) == 20_000
    rounded = content_keys(x * (1 + 2.0**-52), [0, 1])
    assert (keys == rounded).mean() > 0.999
    zeros = np.array([[0.0], [-0.0]])
    assert len(np.unique(content_keys(zeros, [0]))) == 1
    swapped = content_keys(x, [1, 0])
    assert not np.isin(swapped, keys).any()


@pytest.mark.parametrize("n", [3_000, 50_000])
def test_chosen_rows_are_the_same_in_any_order(n):
    x = table(n)
    order = np.random.default_rng(2).permutation(n)
    one = x[rows_by_content(content_keys(x, [0, 1]), 500)]
    other = x[order][rows_by_content(content_keys(x[order], [0, 1]), 500)]
    np.testing.assert_array_equal(np.sort(one, axis=0), np.sort(other, axis=0))
    assert len(one) == 500
    # As good as a random sample of the first column and of the second.
    assert kstest(one[:, 1], "norm").pvalue > 1e-3
    for value in range(4):
        hits = (one[:, 0] == value).sum()
        assert 1e-4 < binom.cdf(hits, 500, 0.25) < 1 - 1e-4


def test_uses_choose_other_rows():
    keys = content_keys(table(20_000), [0, 1])
    both = np.intersect1d(rows_by_content(keys, 1000, 1), rows_by_content(keys, 1000, 2))
    assert 1e-4 < binom.cdf(len(both), 1000, 1000 / 20_000) < 1 - 1e-4


def test_copies_have_their_share():
    """A column of two values: the smallest keys alone would all be of one of them."""
    x = (np.random.default_rng(3).random(40_000) < 0.3).astype(float)[:, None]
    chosen = rows_by_content(content_keys(x, [0]), 1000)
    assert len(np.unique(chosen)) == 1000
    assert 1e-4 < binom.cdf(x[chosen].sum(), 1000, x.mean()) < 1 - 1e-4
    nothing = content_keys(x, [])
    assert len(np.unique(rows_by_content(nothing, 1000))) == 1000


def test_copies_are_told_apart_by_other_keys():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, (20_000, 1)).astype(float)
    y = rng.normal(size=(20_000, 1))
    order = rng.permutation(20_000)

    def chosen(x, y):
        rows = rows_by_content(content_keys(x, [0]), 1000, copies=content_keys(y, [0]))
        return np.sort(y[rows].ravel()), np.sort(x[rows].ravel())

    for one, other in zip(chosen(x, y), chosen(x[order], y[order]), strict=True):
        np.testing.assert_array_equal(one, other)
    # Which rows of x are chosen does not depend on y.
    np.testing.assert_array_equal(chosen(x, y)[1], chosen(x, -y)[1])
    assert kstest(chosen(x, y)[0], "norm").pvalue > 1e-3


def test_few_rows_are_all_chosen():
    keys = content_keys(table(10), [0, 1])
    np.testing.assert_array_equal(rows_by_content(keys, 10), np.arange(10))
    assert len(rows_by_content(keys, 9)) == 9
