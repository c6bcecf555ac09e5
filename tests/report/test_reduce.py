"""What is drawn follows from the records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condgof.report._numbers import number, tick_texts, ticks
from condgof.report._reduce import (
    SHADES,
    histogram,
    middle_span,
    quantiles,
    shades,
    spread_apart,
    telling_pairs,
)
from made_checks import make_check


@pytest.mark.parametrize("m", [40, 300])
def test_the_band_of_the_quantile_plot_holds_all_values_at_its_level(m):
    rng = np.random.default_rng(5)
    missed = sum(quantiles(rng.standard_normal(m)).outside > 0 for _ in range(1000))
    assert 25 <= missed <= 79  # 1,000 trials at 0.05, tails of 1e-4


def test_values_from_elsewhere_leave_the_band():
    rng = np.random.default_rng(5)
    assert quantiles(1.6 * rng.standard_normal(400)).outside > 50
    assert quantiles(rng.standard_normal(400) + 0.5).outside > 50


def test_a_histogram_is_the_weighted_share_of_each_bin():
    values, weights = np.array([0.1, 0.2, 0.8, 5.0]), np.array([1.0, 2.0, 1.0, 4.0])
    edges, heights = histogram(values, weights, (0.0, 1.0), bins=2)
    np.testing.assert_allclose(edges, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(heights, [3 / 8 / 0.5, 1 / 8 / 0.5])  # 4 of 8 lie beyond


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_a_histogram_over_all_values_has_area_one(values):
    values = np.array(values)
    ends = (float(values.min()) - 1.0, float(values.max()) + 1.0)
    edges, heights = histogram(values, None, ends)
    assert np.sum(heights * np.diff(edges)) == pytest.approx(1.0)


def test_shades_rise_and_stay_in_range():
    assert list(shades(np.array([-1.0, 0.0, np.nan, 0.5, 1.0, 7.0]), 1.0)) == [0, 0, 0, 4, 8, 8]
    assert shades(np.linspace(0, 1, 500), 1.0).max() == SHADES - 1


def test_the_pair_that_tells_most_comes_first():
    check = make_check(tuple("abcdef"), ("y",), m=1500)
    scape = check.landscape  # a misfit around one place in the first two columns
    assert telling_pairs(scape)[0] == (0, 1)
    assert len(telling_pairs(scape)) == 3
    wide = make_check(tuple(f"c{i}" for i in range(60)), ("y",), m=300)
    assert telling_pairs(wide.landscape, 1) == [(0, 1)]


def test_marks_can_be_pointed_at():
    x, y = spread_apart(np.array([5.0, 5.0, 6.0, 90.0]), np.array([5.0, 5.0, 5.0, 90.0]))
    gaps = [np.hypot(x[i] - x[j], y[i] - y[j]) for i in range(4) for j in range(i)]
    assert min(gaps) > 18
    assert (x[3], y[3]) == (90.0, 90.0)


def test_a_few_values_far_out_do_not_set_the_axis():
    values = np.append(np.linspace(0, 1, 1000), [1e6])
    assert middle_span(values)[1] < 2
    assert middle_span(values[:-1]) == pytest.approx((-0.04, 1.04))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_lie_on_the_axis_and_are_told_apart(low, width):
    high = low + width
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-6):
        return
    at = ticks(low, high)
    slack = 1e-6 * (high - low)
    assert all(low - slack <= t <= high + slack for t in at)
    assert 2 <= len(at) <= 12
    if high - low > 1e-2 * max(abs(low), abs(high)) and max(map(abs, at)) >= 1e-3:
        assert len(set(tick_texts(at))) == len(at)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_can_be_written(value):
    assert 0 < len(number(value)) <= 16
