"""Places and numbers in words."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condgof.locate._words import between, number, place, reaches
from condgof.result import pvalue_words
from condgof.sample import Sample


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((2103.4, 2896.1), ("2,100", "2,900")),
        ((0.0013, 0.0042), ("0.0013", "0.0042")),
        ((-1.98, 0.03), ("-2", "0")),
        ((1.2e12, 3.4e12), ("1.2e+12", "3.4e+12")),
        ((5.0, 5.0), ("5", "5")),
    ],
)
def test_ends_of_a_range(ends, words):
    assert between(*ends) == words


@given(st.floats(-1e8, 1e8), st.floats(1e-3, 1e6))
def test_ends_are_near_what_they_stand_for(low, width):
    texts = between(low, low + width)
    for text, value in zip(texts, (low, low + width), strict=True):
        assert abs(float(text.replace(",", "")) - value) <= 0.06 * width + 1e-6 * abs(value)


def test_numbers_have_no_negative_zero():
    assert number(-1e-12, 0.1) == "0.0"


SAMPLE = Sample.of(
    pd.DataFrame({"income": np.linspace(0, 10_000, 200), "city": ["Oslo", "Rome"] * 100}),
    np.arange(200.0),
)


@pytest.mark.parametrize(
    ("centre", "half", "words"),
    [
        (2500.0, 400.0, "income between 2,100 and 2,900"),
        (9900.0, 400.0, "income above 9,500"),
        (100.0, 400.0, "income below 500"),
        (5000.0, 4900.0, "over most of the data"),
    ],
)
def test_ranges_in_the_users_names(centre, half, words):
    point = np.array([centre, 0.0])
    reach = reaches(SAMPLE, {0: (centre - half, centre + half)})
    assert place(SAMPLE, point, reach, {}) == words
    for low, high in reach.values():
        assert 0 <= low < high <= 10_000


def test_levels_are_joined_to_ranges():
    point = np.array([2500.0, 1.0])
    reach = reaches(SAMPLE, {0: (2100.0, 2900.0)})
    assert place(SAMPLE, point, reach, {1: "Rome"}) == "income between 2,100 and 2,900 and city = Rome"


@pytest.mark.parametrize(
    ("pvalue", "floor", "words"),
    [
        (1 / 1001, 1 / 1001, "p ≤ 0.001"),
        (2 / 1001, 1 / 1001, "p = 0.002"),
        (1 / 301, 1 / 301, "p ≤ 0.004"),
        (1.0, 1.0, "p ≤ 1"),
        (0.41, 0.0, "p = 0.41"),
    ],
)
def test_a_p_value_that_is_the_smallest_there_is_is_a_bound(pvalue, floor, words):
    assert pvalue_words(pvalue, floor) == words
