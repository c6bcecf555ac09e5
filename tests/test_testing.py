"""cg.testing.assert_fits."""

import numpy as np
import pytest

import condgof as cg


def sample(n=300):
    x, noise = np.random.default_rng(1).standard_normal((2, n))
    return x, x + noise


def test_a_right_model_passes_and_the_report_is_returned():
    x, y = sample()
    report = cg.testing.assert_fits((x, np.ones(300)), x, y, n_boot=39)
    assert isinstance(report, cg.Check)
    assert not report.rejected


def test_a_wrong_model_fails_with_the_report():
    x, y = sample()
    model = (x, np.full(300, 0.4))
    with pytest.raises(AssertionError) as caught:
        cg.testing.assert_fits(model, x, y, n_boot=39)
    assert str(caught.value) == str(cg.check(model, x, y, rng=0, n_boot=39))
    assert "avoidable loss" in str(caught.value)


def test_a_tolerance_allows_a_small_misfit():
    x, y = sample()
    model = (x + 0.3, np.ones(300))
    with pytest.raises(AssertionError):
        cg.testing.assert_fits(model, x, y)
    report = cg.testing.assert_fits(model, x, y, tolerance="2 size")
    assert report.rejected
    with pytest.raises(AssertionError, match="worse than you allow"):
        cg.testing.assert_fits(model, x, y, tolerance="0.01 size")


def test_a_group_that_was_named_fails():
    x, y = sample(1000)
    few = np.arange(1000) < 20
    y[few] += 1.0
    model = (x, np.ones(1000))
    cg.testing.assert_fits(model, x, y, n_boot=99)
    with pytest.raises(AssertionError):
        cg.testing.assert_fits(model, x, y, slices=[few], n_boot=99)
