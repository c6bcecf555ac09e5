"""Small rules of the tests on examples that can be worked out by hand."""

import numpy as np
import pytest

from condgof.errors import InputError
from condgof.methods import Options, climb


def test_a_climb_ends_at_the_bounds():
    def value_and_gradient(v):
        return -float(v @ v), -2 * v

    end, before, after = climb(value_and_gradient, np.ones(2), [(0.5, 2.0)] * 2)
    np.testing.assert_allclose(end, [0.5, 0.5])
    assert (before, after) == (-2.0, -0.5)


@pytest.mark.parametrize("memory", [0, -1, 100, float("nan"), "much", True])
def test_bad_budgets(memory):
    with pytest.raises(InputError, match="memory"):
        Options(memory=memory).checked()


@pytest.mark.parametrize("n_boot", [0, -3])
def test_bad_number_of_draws(n_boot):
    with pytest.raises(InputError, match="n_boot must be at least 1"):
        Options(n_boot=n_boot).checked()


def test_unknown_null():
    with pytest.raises(InputError, match="'wild', 'multinomial'"):
        Options(null="gaussian").checked()
