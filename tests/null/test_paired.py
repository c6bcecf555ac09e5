"""The mean of paired differences: against slow formulas, its interval, its level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from condgof.null import Dependence, Difference, differences


def slow_pvalue(d):
    """The larger p-value of Student's and of Hall's skewness-corrected t."""
    n = len(d)
    student = stats.ttest_1samp(d, 0.0)
    g = stats.skew(d)
    s = student.statistic
    hall = s + g * s**2 / (3 * np.sqrt(n)) + g**2 * s**3 / (27 * n) + g / (6 * np.sqrt(n))
    return max(student.pvalue, 2 * stats.t.sf(abs(hall), n - 1))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 80), st.floats(-1, 1))
def test_is_the_larger_of_two(seed, n, shift):
    d = np.random.default_rng(seed).lognormal(size=n) - 1.6 + shift
    one = Difference.from_rows(d)
    assert one.pvalue == pytest.approx(slow_pvalue(d), rel=1e-9)
    assert one.value == pytest.approx(d.mean())
    assert Difference.from_rows(-d).pvalue == pytest.approx(one.pvalue, rel=1e-9)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(8, 60))
def test_the_interval_ends_where_the_test_changes_its_mind(seed, n):
    d = np.random.default_rng(seed).gamma(0.5, size=n)
    for end in Difference.from_rows(d).interval(0.9):
        assert Difference.from_rows(d - end).pvalue == pytest.approx(0.1, rel=1e-6)


def test_groups_are_sums_over_groups():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 100)
    codes = np.unique(codes, return_inverse=True)[1]
    d = rng.normal(size=12)[codes] + 0.1 * rng.normal(size=100)
    one = Difference.from_rows(d, Dependence(codes=codes))
    sizes = np.bincount(codes)
    sums = np.array([(d - d.mean())[codes == g].sum() for g in range(12)])
    scaled = sums / np.sqrt(1.0 - sizes / 100)
    assert one.error == pytest.approx(np.sqrt((scaled**2).sum()) / 100)
    assert 5.0 < one.df < 11.0
    # Groups of one size have the usual error, and as many degrees of freedom less one.
    codes = np.repeat(np.arange(20), 5)
    one = Difference.from_rows(d, Dependence(codes=codes))
    sums = (d - d.mean()).reshape(20, 5).sum(axis=1)
    assert one.error == pytest.approx(np.sqrt(20 / 19 * (sums**2).sum()) / 100)
    assert one.df == pytest.approx(19)
    # If each row is its own group, rows are independent.
    single = Dependence(codes=np.arange(100))
    assert Difference.from_rows(d, single) == Difference.from_rows(d)


def test_differences_by_hand():
    plain = Difference(0.3, 0.1)
    assert plain.z == pytest.approx(3.0)
    assert plain.pvalue < 0.01
    assert plain.interval()[0] > 0
    d = np.array([0.3, 0.1, 0.4, 0.2, 0.5, -0.1, 0.3, 0.2, 0.4, 0.2])
    paired = Difference.from_rows(d)
    assert paired.value == pytest.approx(0.25)
    assert paired.pvalue < 0.01
    assert paired.interval()[0] > 0


def test_blocks_estimate_the_long_run_variance():
    """Of an AR(1) with correlation 0.6 it is 4 times that of a row: (1 + r)/(1 − r)."""
    rng = np.random.default_rng(1)
    e = rng.normal(size=60_000)
    for i in range(1, len(e)):
        e[i] += 0.6 * e[i - 1]
    one = Difference.from_rows(e, Dependence(length=10))
    assert one.error**2 * len(e) / e.var() == pytest.approx(4.0, rel=0.1)


def test_nothing_and_what_is_infinite():
    assert Difference.from_rows(np.zeros(10)).pvalue == 1
    assert Difference.from_rows(np.ones(10)).pvalue < 1e-300
    far = Difference.from_rows(np.array([0.0, np.inf, 1.0]))
    assert far.value == np.inf
    assert far.pvalue < 1e-300
    assert far.interval() == (np.inf, np.inf)
    both = Difference.from_rows(np.array([np.inf, -np.inf]))
    assert np.isnan(both.value)
    assert both.pvalue == 1
    first = np.array([1.0, -np.inf, -np.inf])
    second = np.array([1.0 + 1e-15, 0.0, -np.inf])
    np.testing.assert_array_equal(differences(first, second), [0.0, -np.inf, np.nan])


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
        lambda rng, n: np.abs(rng.normal(size=n)) ** 3 * rng.normal(size=n),
        lambda rng, n: rng.standard_t(3, size=n),
    ],
    ids=["skewed", "heavy", "t3"],
)
def test_level(draw):
    rng = np.random.default_rng(7)
    for n in (60, 200):
        samples = [draw(rng, n) for _ in range(1000)]
        rejected = sum(Difference.from_rows(d).pvalue <= 0.05 for d in samples)
        assert rejected <= stats.binom.isf(1e-4, 1000, 0.05)


def test_a_floor_of_the_variance():
    same = np.full(50, 0.01)
    assert Difference.from_rows(same).pvalue < 1e-100
    floored = Difference.from_rows(same, least_variance=0.01**2)
    assert floored.error == pytest.approx(0.01)
    assert floored.pvalue == pytest.approx(2 * stats.t.sf(1.0, 49))
    d = np.random.default_rng(0).gamma(2.0, size=50)
    plain = Difference.from_rows(d)
    assert Difference.from_rows(d, least_variance=0.5 * plain.error**2) == plain
    # The third moment of the differences stays what it is, in units of the larger error.
    wider = Difference.from_rows(d, least_variance=4.0 * plain.error**2)
    assert wider.error == pytest.approx(2.0 * plain.error)
    assert wider.cube == pytest.approx(plain.cube / 8.0)
