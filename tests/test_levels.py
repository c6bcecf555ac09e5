"""The bounds that small tests of level use: how often they refuse right and wrong ones."""

import numpy as np
import pytest
from scipy.stats import chi2

from levels import TAIL, assert_not_too_small, assert_uniform

N_BOOT = 99
SAMPLES = 15


def grid(share_of_draws):
    """The p-values of `N_BOOT` draws of which these shares are at least as large."""
    return (np.floor(share_of_draws * (N_BOOT + 1)) + 1) / (N_BOOT + 1)


def refused(check, pvalues, *options):
    try:
        check(pvalues, *options)
    except AssertionError:
        return True
    return False


def test_exact_p_values_are_hardly_ever_refused():
    rng = np.random.default_rng(0)
    count = sum(
        refused(assert_uniform, grid(rng.random(SAMPLES)), N_BOOT) for _ in range(2000)
    )
    assert count <= 3  # twice TAIL of 2,000 are 0.4


def test_wrong_ones_are_refused():
    rng = np.random.default_rng(1)
    shares = rng.random((200, SAMPLES))
    small = [refused(assert_not_too_small, grid(one / 6)) for one in shares]
    large = [refused(assert_uniform, grid(1 - one / 6 - 1e-9), N_BOOT) for one in shares]
    assert sum(small) > 180
    assert sum(large) > 180


def test_the_sum_is_that_of_fisher():
    bound = chi2.isf(TAIL, 2)  # of one p-value: −2 log TAIL
    assert bound == pytest.approx(-2 * np.log(TAIL))
    assert_not_too_small([1.01 * TAIL])
    with pytest.raises(AssertionError):
        assert_not_too_small([0.99 * TAIL])
