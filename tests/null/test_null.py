"""Bootstrap weights belong to rows; the p-value is never 0."""

import numpy as np
import pytest
from scipy import stats

from condgof.errors import InputError
from condgof.null import bootstrap_weights, multinomial_weights, pvalue, sign_weights
from condgof.sample import Seed

MAKERS = [sign_weights, multinomial_weights]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("n", [3, 255, 256, 257, 1000])
def test_any_chunking_gives_the_same_rows(make, n):
    made_anew = make(n, 13, Seed.of(4))
    kept = made_anew.keeping(10**6)
    assert kept.kept is not None
    whole = kept.block(0, n)
    assert whole.shape == (n, 13)
    for start, stop in [(0, n), (0, 1), (n - 1, n), (n // 3, n - n // 4)]:
        np.testing.assert_array_equal(kept.block(start, stop), whole[start:stop])
        np.testing.assert_array_equal(made_anew.block(start, stop), whole[start:stop])


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
    n, m = 700, 400
    counts = multinomial_weights(n, m, Seed.of(0)).block(0, n) + 1
    np.testing.assert_array_equal(counts.sum(axis=0), n)
    # Each count is Binomial(n, 1/n); chi-square over 0, 1, 2, 3, 4+ at a fixed seed.
    observed = np.array([(counts == c).sum() for c in range(4)] + [(counts >= 4).sum()])
    expected = stats.binom.pmf(range(4), n, 1 / n)
    expected = np.append(expected, 1 - expected.sum()) * n * m
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    # Rows of different blocks are negatively correlated like those of one multinomial.
    first, last = counts[:256].sum(axis=0), counts[512:].sum(axis=0)
    sd = np.sqrt(n * (256 / n) * (1 - 256 / n))
    assert first.std() == pytest.approx(sd, rel=5 / np.sqrt(2 * m))
    assert np.corrcoef(first, last)[0, 1] < 0


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_differ(make):
    a, b = make(50, 5, Seed.of(0)).block(0, 50), make(50, 5, Seed.of(1)).block(0, 50)
    assert (a != b).any()


def test_pvalue_counts_ties_and_is_never_zero():
    draws = np.array([1.0, 2.0, 2.0, 3.0])
    assert pvalue(2.0, draws) == 4 / 5
    assert pvalue(9.0, draws) == 1 / 5
    assert pvalue(-9.0, draws) == 1.0


@pytest.mark.parametrize("n_boot", [0, -3])
def test_bad_number_of_draws(n_boot):
    with pytest.raises(InputError, match="n_boot must be at least 1"):
        bootstrap_weights("wild", 10, n_boot, Seed.of(0))


def test_unknown_null():
    with pytest.raises(InputError, match="'wild', 'multinomial'"):
        bootstrap_weights("gaussian", 10, 10, Seed.of(0))
