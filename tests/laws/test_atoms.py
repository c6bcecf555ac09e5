"""Quantiles and intervals of a y that ties with them."""

import numpy as np
import pytest
from scipy.stats import norm, poisson

import condgof as cg
from condgof.errors import InputError

LEVELS = np.array([0.1, 0.5, 0.9])
FAST = {"n_boot": 99, "rng": 0, "engine": 1}


def poisson_quantiles(mean):
    return poisson.ppf(LEVELS, np.asarray(mean)[:, None])


@pytest.mark.parametrize("test", [cg.adaptive, cg.kcsd, cg.fscd, cg.check])
def test_a_discrete_y_is_refused_before_any_verdict(test):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=200)
    y = rng.poisson(3.0, 200)
    q = poisson_quantiles(np.full(200, 3.0))
    with pytest.raises(
        InputError, match=r"y equals its predicted 0\.\d quantile in \d+ of"
    ):
        test(cg.from_quantiles(q, LEVELS), x, y, **FAST)
    with pytest.raises(InputError, match="an end of its predicted 80% interval") as caught:
        test(cg.from_intervals(q[:, 0], q[:, 2], 0.8), x, y, **FAST)
    for words in ("whole numbers", "from_draws", "models.Poisson"):
        assert words in str(caught.value)


def test_whole_numbers_of_a_wide_range_are_tested():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=1000)
    mean = 500 + 2000 * x
    sd = 0.2 * mean
    dollars = np.round(mean + sd * rng.normal(size=1000))
    q = np.round(mean[:, None] + sd[:, None] * norm.ppf(LEVELS))
    counts = rng.poisson(1e4 * (1 + x))
    for y, quantiles in ((dollars, q), (counts, poisson_quantiles(1e4 * (1 + x)))):
        law = cg.from_quantiles(quantiles, LEVELS)
        assert cg.adaptive(law, x, y, **FAST).pvalue > 0.01
        law = cg.from_intervals(quantiles[:, 0], quantiles[:, 2], 0.8)
        assert cg.adaptive(law, x, y, **FAST).pvalue > 0.01


def test_a_single_tie_is_a_coin():
    y = np.zeros(4000)
    q = np.tile([0.0, 1.0], (4000, 1))
    law = cg.from_quantiles(q, [0.3, 0.6], rng=3)
    codes = law.codes(y)
    assert set(codes) == {0, 1}
    assert abs((codes == 0).mean() - 0.5) < 0.04
    some = np.arange(5, 4000, 7)
    np.testing.assert_array_equal(law.take(some).codes(y[some]), codes[some])
    low = cg.from_intervals(np.zeros(4000), np.ones(4000), 0.8)
    inside = low.codes(y) == 0
    assert abs(inside.mean() - 0.5) < 0.04
    np.testing.assert_array_equal(low.take(some).codes(y[some]) == 0, inside[some])
    nested = cg.from_intervals(
        np.zeros((4000, 2)), np.tile([1.0, 2.0], (4000, 1)), [0.5, 0.9]
    )
    assert set(nested.codes(y)) == {0, 2}  # inside both or neither, which share an end


def test_the_limit_by_hand():
    """N ties in n rows with one place: N/2 ≤ 0.4·√(n/4) for the median."""
    n = 400
    q = np.zeros((n, 1))
    for ties, refused in ((8, False), (9, True)):
        y = np.where(np.arange(n) < ties, 0.0, np.where(np.arange(n) % 2, 1.5, -1.5))
        law = cg.from_quantiles(q, [0.5])
        if refused:
            with pytest.raises(InputError, match="9 of 400 rows"):
                law.check_atoms(y)
        else:
            law.check_atoms(y)
        # As many ties at 400 places are at 400 atoms, whose errors average out.
        spread = np.arange(float(n))
        cg.from_quantiles(spread, [0.5]).check_atoms(y + spread)


def test_a_few_rounded_values_are_no_atoms():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    cg.from_quantiles(np.array([0.0, 1.0, 5.0, 6.0]), [0.5]).check_atoms(y)


def test_comparing_needs_no_probabilities():
    rng = np.random.default_rng(2)
    y = rng.poisson(3.0, 200)
    right, wrong = (
        poisson_quantiles(np.full(200, 3.0)),
        poisson_quantiles(np.full(200, 5.0)),
    )
    laws = [cg.from_quantiles(q, LEVELS) for q in (right, wrong)]
    assert cg.compare(*laws, np.arange(200), y, rng=0).better == "p"
