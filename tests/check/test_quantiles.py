"""Quantiles of a few numbers are those of NumPy."""

import numpy as np
import pytest

from condgof.check._quantiles import MANY_VALUES, linear_quantiles


@pytest.mark.parametrize("m", [1, 2, 3, 8, 101, 1000, MANY_VALUES + 1])
def test_they_are_those_of_numpy(m, rng):
    values = rng.standard_normal((m, 2)).round(2)
    for levels in ([0.5], [0.25, 0.75], [0.0, 0.1, 0.9, 1.0]):
        found = linear_quantiles(values, np.array(levels))
        np.testing.assert_array_equal(found, np.quantile(values, levels, axis=0))
        one = linear_quantiles(values[:, 0], np.array(levels))
        np.testing.assert_array_equal(one, found[:, 0])
