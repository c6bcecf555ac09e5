"""Bootstrap weights belong to rows; the p-value is never 0."""

import numpy as np
import pytest
from scipy import stats

from condgof.errors import InputError
from condgof.null import (
    bootstrap_weights,
    check_n_boot,
    normal_pvalue,
    permutation_weights,
    pvalue,
    settle_ties,
)
from condgof.sample import Seed

#: Weights are made again whenever they are asked for, where nothing may be kept.
NOTHING = 0


def sign_weights(n, m, seed):
    return bootstrap_weights("wild", n, m, seed, keep=NOTHING)


def multinomial_weights(n, m, seed):
    return bootstrap_weights("multinomial", n, m, seed, keep=NOTHING)


def normal_weights(n, m, seed):
    return bootstrap_weights("spectral", n, m, seed, keep=NOTHING)


def labels_of_a_third(n, m, seed):
    return permutation_weights(n, n // 3, m - 1, seed)


MAKERS = [sign_weights, multinomial_weights, normal_weights, labels_of_a_third]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("n", [3, 255, 256, 257, 1000])
def test_any_chunking_gives_the_same_rows(make, n):
    weights = make(n, 13, Seed.of(4))
    assert weights.kept is None
    kept = weights.keeping(10**6)
    assert kept.kept is not None
    whole = kept.block(0, n)
    assert whole.shape == (n, 13)
    for start, stop in [(0, n), (0, 1), (n - 1, n), (n // 3, n - n // 4)]:
        np.testing.assert_array_equal(kept.block(start, stop), whole[start:stop])
        np.testing.assert_array_equal(weights.block(start, stop), whole[start:stop])


@pytest.mark.parametrize(
    ("make", "size"), [(sign_weights, 1), (multinomial_weights, 1), (normal_weights, 8)]
)
def test_weights_that_are_kept_fit_into_the_bytes_they_may_take(make, size):
    n = 1000
    m = 13
    weights = make(n, m, Seed.of(4))
    needed = size * n * m
    assert weights.keeping(needed).kept.nbytes == needed
    assert weights.keeping(needed - 1).kept is None


def test_signs_are_fair_and_independent():
    w = sign_weights(2000, 200, Seed.of(0)).block(0, 2000)
    assert set(np.unique(w)) == {-1.0, 1.0}
    low, high = stats.binom.ppf([1e-5, 1 - 1e-5], w.size, 0.5)
    assert low <= (w == 1).sum() <= high
    # Products of two draws and of two rows are fair signs too.
    for product in (w[:, 0::2] * w[:, 1::2], w[0::2] * w[1::2]):
        low, high = stats.binom.ppf([1e-5, 1 - 1e-5], product.size, 0.5)
        assert low <= (product == 1).sum() <= high


def test_multinomial_counts():
    n = 700
    m = 400
    counts = multinomial_weights(n, m, Seed.of(0)).block(0, n) + 1
    np.testing.assert_array_equal(counts.sum(axis=0), n)
    # Each count is Binomial(n, 1/n); chi-square over 0, 1, 2, 3, 4+ at a fixed seed.
    observed = [(counts == c).sum() for c in range(4)] + [(counts >= 4).sum()]
    expected = stats.binom.pmf(range(4), n, 1 / n)
    expected = np.append(expected, 1 - expected.sum()) * n * m
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    # Rows of different blocks are negatively correlated like those of one multinomial.
    first = counts[:256].sum(axis=0)
    last = counts[512:].sum(axis=0)
    sd = np.sqrt(n * (256 / n) * (1 - 256 / n))
    assert first.std() == pytest.approx(sd, rel=5 / np.sqrt(2 * m))
    assert np.corrcoef(first, last)[0, 1] < 0


@pytest.mark.parametrize("most", [0, 10**5, 10**7])
def test_permuted_labels(most):
    n = 700
    first = 300
    m = 400
    w = permutation_weights(n, first, m, Seed.of(0)).keeping(most).block(0, n)
    assert w.shape == (n, m + 1)
    assert set(np.unique(w)) == {1.0, -1.0}
    np.testing.assert_array_equal((w > 0).sum(axis=0), first)
    np.testing.assert_array_equal(w[:, 0], np.where(np.arange(n) < first, 1.0, -1.0))
    drawn = w[:, 1:] > 0
    # Every row is as likely as any other, and so is every pair, in one block or in two.
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], m, first / n)
    assert ((low <= drawn.sum(axis=1)) & (drawn.sum(axis=1) <= high)).all()
    both = first * (first - 1) / (n * (n - 1))
    for a, b in ((0, 1), (255, 256), (10, 690)):
        low, high = stats.binom.ppf([1e-5, 1 - 1e-5], m, both)
        assert low <= (drawn[a] & drawn[b]).sum() <= high
    counts = drawn[:256].sum(axis=0)
    sd = stats.hypergeom.std(n, first, 256)
    assert counts.std() == pytest.approx(sd, rel=5 / np.sqrt(2 * m))


def test_all_permutations_of_a_tiny_sample_are_as_likely():
    drawn = permutation_weights(4, 2, 6000, Seed.of(1)).block(0, 4)[:, 1:] > 0
    _, counts = np.unique(drawn, axis=1, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-4


def test_ties_and_the_normal_tail():
    draws = settle_ties(1.0, np.array([1.0 - 1e-13, 1.0 + 1e-13, 1.1]), 1e-12)
    np.testing.assert_array_equal(draws, [1.0, 1.0, 1.1])
    assert normal_pvalue(1.5) == pytest.approx(stats.norm.sf(1.5), rel=1e-12)
    assert 0 < normal_pvalue(1e9) < 1e-300


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_differ(make):
    one = make(50, 5, Seed.of(0)).block(0, 50)
    other = make(50, 5, Seed.of(1)).block(0, 50)
    assert (one != other).any()


def test_weights_by_hand():
    signs = sign_weights(5, 3, Seed.of(0)).block(0, 5)
    assert signs.shape == (5, 3)
    assert set(signs.ravel()) == {-1.0, 1.0}
    labels = permutation_weights(5, 2, 3, Seed.of(0)).block(0, 5)
    np.testing.assert_array_equal(labels[:, 0], [1, 1, -1, -1, -1])
    np.testing.assert_array_equal(labels.sum(axis=0), [-1, -1, -1, -1])


def test_pvalues_by_hand():
    assert pvalue(2.0, np.array([0.0, 1.0, 2.0])) == 0.5
    assert settle_ties(0.3, np.array([0.1 + 0.2, 0.5]), 1e-12).tolist() == [0.3, 0.5]
    assert normal_pvalue(0.0) == 0.5
    assert normal_pvalue(1e3) > 0


def test_pvalue_counts_ties_and_is_never_zero():
    draws = np.array([1.0, 2.0, 2.0, 3.0])
    assert pvalue(2.0, draws) == 4 / 5
    assert pvalue(9.0, draws) == 1 / 5
    assert pvalue(-9.0, draws) == 1.0


@pytest.mark.parametrize("n_boot", [0, -3])
def test_bad_number_of_draws(n_boot):
    with pytest.raises(InputError, match="n_boot must be at least 1"):
        check_n_boot(n_boot)
