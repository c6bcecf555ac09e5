"""Tails of sums over sets of rows, and intervals by the same tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, poisson

from condgof.check._tails import (
    BinomialSums,
    EventSums,
    RowSets,
    TableSums,
    convolved_counts,
    event_sums,
    plain_poisson,
)
from seeds import examples


def slow_probabilities(p):
    """P(X = j) of the number of events with probabilities p, one after the other."""
    pmf = np.ones(1)
    for one in p:
        pmf = np.convolve(pmf, [1 - one, one])
    return pmf


def blaker(pmf, k):
    """Return the smaller tail at k, plus the largest one of the other side up to it."""
    upper = np.cumsum(pmf[::-1])[::-1]
    lower = np.cumsum(pmf)
    rounding = 1 + 1e-9
    above = upper[k] + lower[lower <= upper[k] * rounding].max(initial=0.0)
    below = lower[k] + upper[upper <= lower[k] * rounding].max(initial=0.0)
    return min(above, below, 1.0)


def one_set(n):
    return RowSets.from_rows([np.arange(n)])


@pytest.mark.parametrize("seed", range(20))
def test_events_of_different_probabilities_are_convolved(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, 5)
    sets = RowSets.from_rows([np.arange(size) for size in sizes])
    p = rng.beta(0.5, 1.0, len(sets.rows))
    happened = rng.random(len(p)) < rng.beta(0.5, 1.0)
    logs = event_sums(sets, happened, p).log_pvalues()
    for number in range(5):
        own = p[sets.part(number)]
        k = int(happened[sets.part(number)].sum())
        expected = blaker(slow_probabilities(own), k)
        assert np.exp(logs[number]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("m", "centre"), [(513, -6.5), (513, -5.0), (1000, -1.0), (1000, 3.0), (3000, -7.0)]
)
def test_saddlepoints_are_within_three_percent_of_the_convolution(m, centre):
    """Of all tails below 0.2, to 1e-200; of large variances within a thousandth."""
    rng = np.random.default_rng(m)
    log_odds = centre + rng.normal(size=m)
    p = 1 / (1 + np.exp(-log_odds))
    pmf = slow_probabilities(p)
    with np.errstate(divide="ignore"):
        upper = np.log(np.cumsum(pmf[::-1])[::-1])
        lower = np.log(np.cumsum(pmf))
    sd = np.sqrt((p * (1 - p)).sum())
    allowed = 0.03 if sd < 10 else 1e-3
    counts = np.arange(max(0, p.sum() - 10 * sd), min(m, p.sum() + 14 * sd + 8))
    for k in counts.astype(int):
        tails = EventSums(one_set(m), log_odds, np.array([float(k)])).tails(np.zeros(1))
        for exact, fast in ((upper[k], tails.upper[0]), (lower[k], tails.lower[0])):
            if -460 < exact < np.log(0.2):
                assert abs(np.exp(fast - exact) - 1) < allowed


def test_equal_probabilities_are_binomial_and_poisson_is_poisson():
    for n, p, k in ((20, 0.3, 11), (400, 0.02, 1), (7, 0.5, 7), (7, 0.5, 0)):
        happened = np.arange(n) < k
        logs = event_sums(one_set(n), happened, np.full(n, p)).log_pvalues()
        expected = blaker(binom.pmf(np.arange(n + 1), n, p), k)
        assert np.exp(logs[0]) == pytest.approx(expected, rel=1e-9)
    for mean, k in ((2.5, 9), (2.5, 0), (40.0, 20), (1e-3, 2)):
        sums = plain_poisson(np.array([k * 1.0]), np.array([mean]))
        expected = blaker(poisson.pmf(np.arange(300), mean), k)
        assert np.exp(sums.log_pvalues()[0]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(1, 0.4), (5, 0.1), (12, 0.5), (30, 0.97), (60, 0.3)])
def test_binomial_p_values_keep_every_level(n, p):
    """P(p-value ≤ a) ≤ a for all a: exact, over all outcomes."""
    k = np.arange(n + 1.0)
    sums = BinomialSums(k, np.full(n + 1, float(n)), np.full(n + 1, p))
    pvalues = np.exp(sums.log_pvalues())
    pmf = binom.pmf(k, n, p)
    for a in pvalues:
        assert pmf[pvalues <= a * (1 + 1e-12)].sum() <= a * (1 + 1e-9)


@pytest.mark.parametrize("mean", [0.05, 0.8, 2.5, 9.0, 60.0])
def test_poisson_p_values_keep_every_level(mean):
    k = np.arange(poisson.isf(1e-14, mean) + 2)
    pvalues = np.exp(plain_poisson(k, np.full(len(k), mean)).log_pvalues())
    pmf = poisson.pmf(k, mean)
    for a in pvalues:
        assert pmf[pvalues <= a * (1 + 1e-12)].sum() <= a * (1 + 1e-9) + 1e-13


@settings(deadline=None, max_examples=examples(40))
@given(
    p=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=25),
    share=st.floats(0, 1),
    level=st.floats(1e-8, 0.5),
)
def test_an_interval_excludes_the_prediction_if_the_p_value_is_at_most_the_level(
    p, share, level
):
    p = np.array(p)
    happened = np.arange(len(p)) < round(share * len(p))
    sums = event_sums(one_set(len(p)), happened, p)
    low, high = sums.mean_intervals(np.array([level]))
    is_out = not low[0] - 1e-7 <= p.sum() <= high[0] + 1e-7
    pvalue = float(np.exp(sums.log_pvalues()[0]))
    assert low[0] - 1e-6 <= happened.sum() <= high[0] + 1e-6
    if is_out:
        assert pvalue <= level * (1 + 1e-6)
    elif pvalue <= level * (1 - 1e-6):
        # The end may be as near to the prediction as the halving of the range leaves it.
        assert min(abs(low[0] - p.sum()), abs(high[0] - p.sum())) < 1e-6


def test_intervals_are_those_of_clopper_and_pearson_at_most():
    """Inside them, since one side has more than half of the level where it can."""
    from condgof.result import share_interval

    for n, k in ((10, 3), (50, 2), (50, 25), (200, 199)):
        sums = BinomialSums(np.array([k * 1.0]), np.array([n * 1.0]), np.array([0.5]))
        low, high = sums.mean_intervals(np.array([0.05]))
        exact = share_interval(k, n)
        assert low[0] / n >= exact.low - 1e-7
        assert high[0] / n <= exact.high + 1e-7


def test_impossible_and_certain_events():
    sets = RowSets.from_rows([np.arange(4), np.arange(4)])
    p = np.array([0.0, 1.0, 0.5, 0.5, 0.0, 1.0, 0.5, 0.5])
    happened = np.array([0, 1, 1, 0, 1, 1, 1, 0], dtype=bool)
    sums = event_sums(sets, happened, p)
    assert sums.log_pvalues()[0] == 0.0
    assert sums.log_pvalues()[1] == -np.inf
    np.testing.assert_allclose(sums.means(np.zeros(2)), 2.0)


def test_totals_of_few_counts_are_convolved():
    p = np.stack([poisson.pmf(np.arange(40), mean) for mean in (0.5, 2.0, 4.0)])
    table = convolved_counts(p, width=100)
    np.testing.assert_allclose(np.exp(table[:30]), poisson.pmf(np.arange(30), 6.5))
    sums = TableSums.from_tables(np.array([14.0]), [table], np.ones(1))
    expected = blaker(poisson.pmf(np.arange(100), 6.5), 14)
    assert np.exp(sums.log_pvalues()[0]) == pytest.approx(expected, rel=1e-6)
