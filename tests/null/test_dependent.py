"""Signs of blocks and of groups: they belong to rows, and have the right correlation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from condgof.null import (
    Combination,
    Dependence,
    Family,
    NullDraws,
    auto_length,
    bootstrap_weights,
    group_weights,
    stretch_weights,
)
from condgof.residuals import DependenceValues, Stretch
from condgof.sample import Seed


def sign_weights(n, m, seed):
    return bootstrap_weights("wild", n, m, seed)


@pytest.mark.parametrize("length", [1, 2, 10, 64, 65, 300])
@pytest.mark.parametrize("n", [3, 255, 256, 257, 1000])
def test_any_chunking_gives_the_same_rows(n, length):
    weights = stretch_weights(n, 13, Seed.of(4), length)
    whole = weights.keeping(10**6).block(0, n)
    assert set(np.unique(whole)) <= {-1.0, 1.0}
    for start, stop in [(0, n), (0, 1), (n - 1, n), (n // 3, n - n // 4)]:
        np.testing.assert_array_equal(weights.block(start, stop), whole[start:stop])


def oracle_stretches(n, m, seed, length):
    """Row after row, from the numbers that the blocks draw."""
    fresh = sign_weights(n, m, seed).block(0, n)
    signs = np.empty((n, m))
    for row in range(n):
        block, place = divmod(row, 256)
        if place == 0:
            numbers = seed.stream(4, block, 1).random((256, m), dtype=np.float32)[::-1]
        new = (numbers[place] < np.float32(1 / length)) | (row == 0)
        signs[row] = np.where(new, fresh[row], signs[row - 1])
    return signs


@pytest.mark.parametrize("length", [2, 10, 60])
def test_a_stretch_reaches_over_blocks(length):
    signs = stretch_weights(1500, 40, Seed.of(7), length).block(0, 1500)
    np.testing.assert_array_equal(signs, oracle_stretches(1500, 40, Seed.of(7), length))


@pytest.mark.parametrize("length", [4, 10, 60, 200])
def test_correlations(length):
    n = 2000
    m = 400
    w = stretch_weights(n, m, Seed.of(1), length).block(0, n)
    for lag in (1, 5, 40):
        each = (w[lag:] * w[:-lag]).mean(axis=0)  # draws are independent of each other
        error = each.std(ddof=1) / np.sqrt(m)
        # Longer stretches than 64 start at every ⌊length/32⌋-th row, which moves
        # correlations a little.
        slack = 0.0 if length <= 64 else 1 / 32
        assert abs(each.mean() - (1 - 1 / length) ** lag) < 4.5 * error + slack
    # Neighbours on either side of a seam of blocks agree as often as other neighbours.
    if length <= 64:
        seams = w[256::256][:7] * w[255::256][:7]
        share = (1 + (1 - 1 / length)) / 2
        low, high = stats.binom.ppf([1e-5, 1 - 1e-5], seams.size, share)
        assert low <= (seams == 1).sum() <= high


@given(st.integers(3, 600), st.integers(1, 20), st.integers(0, 99))
def test_blocks_of_one_and_groups_of_one_are_plain_signs(n, m, seed):
    plain = sign_weights(n, m, Seed.of(seed)).block(0, n)
    np.testing.assert_array_equal(
        stretch_weights(n, m, Seed.of(seed), 1).block(0, n), plain
    )
    np.testing.assert_array_equal(
        group_weights(np.arange(n), m, Seed.of(seed)).block(0, n), plain
    )


@given(st.integers(2, 700), st.integers(1, 300), st.integers(0, 99))
def test_one_sign_a_group(n, count, seed):
    codes = np.random.default_rng(seed).integers(0, count, n)
    weights = group_weights(codes, 9, Seed.of(seed))
    whole = weights.block(0, n)
    groups = int(codes.max()) + 1
    signs = sign_weights(max(2, groups), 9, Seed.of(seed)).block(0, groups)
    np.testing.assert_array_equal(whole, signs[codes])
    np.testing.assert_array_equal(weights.block(n // 3, n), whole[n // 3 :])


def test_very_many_groups_share_signs(monkeypatch):
    monkeypatch.setattr("condgof.null._dependence.MAX_GROUPS", 50)
    w = group_weights(np.arange(120), 9, Seed.of(0)).block(0, 120)
    np.testing.assert_array_equal(w[:50], w[50:100])
    np.testing.assert_array_equal(w[:20], w[100:])


def test_weights_by_hand():
    stretches = stretch_weights(600, 200, Seed.of(0), 10).block(0, 600)
    assert set(stretches.ravel()) == {-1.0, 1.0}
    assert abs((stretches[5:] * stretches[:-5]).mean() - 0.9**5) < 0.03
    groups = group_weights(np.array([0, 1, 0, 1, 1]), 3, Seed.of(0)).block(0, 5)
    np.testing.assert_array_equal(groups[[0, 1, 1]], groups[[2, 3, 4]])


def test_dependence_that_is_set_aside_is_still_reported():
    assert Dependence().independent
    assert not Dependence(length=10).independent
    ignoring = Dependence(length=10, ignored=True)
    assert ignoring.independent
    assert ignoring.details() == {"block_length": 10}


def test_block_lengths():
    noise = np.random.default_rng(0).standard_normal((500, 1))
    assert auto_length([Stretch(DependenceValues(noise))], 500) == 1
    walk = np.cumsum(noise, axis=0)
    assert auto_length([Stretch(DependenceValues(walk))], 500) == 100


def test_parcels():
    stretches = Dependence(length=30).parcels(1000, 20)
    np.testing.assert_array_equal(stretches(0, 1000), np.arange(1000) // 50)
    np.testing.assert_array_equal(stretches(40, 120), np.arange(40, 120) // 50)
    assert Dependence(length=300).parcels(1000, 20)(0, 1000).max() == 3
    codes = np.arange(1000) % 30
    groups = Dependence(codes=codes).parcels(1000, 20)
    np.testing.assert_array_equal(groups(5, 95), codes[5:95] % 20)


def test_dependent_rows_are_centred_and_rounding_says_nothing():
    rng = np.random.default_rng(0)
    draws = np.stack([5 + rng.normal(size=500), 7 + 1e-7 * rng.normal(size=500)])
    drawn = NullDraws(np.array([6.0, 7.0 + 1e-7]), draws, np.array([10.0, 10.0]))
    combination = Combination.from_draws(drawn, [Family("all", 1.0, np.arange(2))])
    both = np.append(draws[0], 6.0)
    assert combination.scaled[0, -1] == pytest.approx((6 - both.mean()) / both.std())
    assert not combination.scaled[1].any()
    assert abs(combination.scaled[0].mean()) < 1e-12
