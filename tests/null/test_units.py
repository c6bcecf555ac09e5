"""Means over rows in units: the variance and its degrees of freedom, against matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from condgof.null import Difference, effective_df, mean_variance
from seeds import examples

GIANT = np.array([100, *[4] * 24])


def slow_forms(sizes):
    """The matrix M with c = M d, for rows d in units of these sizes one after another."""
    n = sizes.sum()
    member = np.repeat(np.eye(len(sizes)), sizes, axis=0)
    centred = member.T @ (np.eye(n) - 1.0 / n)
    return centred / np.sqrt(1.0 - sizes / n)[:, None]


@settings(deadline=None, max_examples=examples(15))
@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(0, 99))
def test_variance_and_degrees_of_freedom_by_matrices(sizes, seed):
    sizes = np.array(sizes)
    n = sizes.sum()
    form = slow_forms(sizes)
    d = np.random.default_rng(seed).normal(size=n)
    one = mean_variance(d, np.repeat(np.arange(len(sizes)), sizes))
    np.testing.assert_allclose(one.sums, form @ d, atol=1e-12)
    assert one.variance == pytest.approx(np.square(form @ d).sum() / n**2)
    # Of independent rows: E d'M'Md = tr M'M, and its variance is 2 tr (M'M)².
    covariance = form @ form.T
    assert np.trace(covariance) / n**2 == pytest.approx(1.0 / n)
    slow = np.trace(covariance) ** 2 / np.square(covariance).sum()
    assert one.df == pytest.approx(slow)


def test_units_of_one_size_are_the_usual_case():
    assert effective_df(np.full(25, 12)) == pytest.approx(24)
    assert effective_df(GIANT) == pytest.approx(3.56, abs=0.01)
    assert effective_df([7]) == 0
    d = np.random.default_rng(0).normal(size=40)
    plain = mean_variance(d)
    assert plain.variance == pytest.approx(d.var(ddof=1) / 40)
    assert plain.df == pytest.approx(39)
    # Numbers without rows are no units.
    gaps = mean_variance(d, np.repeat([2, 5, 9, 11], 10))
    close = mean_variance(d, np.repeat(np.arange(4), 10))
    assert (gaps.variance, gaps.df) == pytest.approx((close.variance, close.df))


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.8])
def test_one_large_group_does_not_decide(rho):
    """As Student's t of 24 degrees of freedom it rejects a quarter of the samples."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(25), GIANT)
    rejected = 0
    for _ in range(400):
        shared = rng.normal(size=25)[codes]
        d = np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=len(codes))
        rejected += Difference.from_units(d, codes).pvalue <= 0.05
    low, high = stats.binom.interval(0.9999, 400, 0.05)
    assert low <= rejected <= high
