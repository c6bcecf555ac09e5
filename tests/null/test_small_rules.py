"""Small rules of the core on examples that can be worked out by hand."""

import numpy as np
import pytest

from condgof.methods._fscd import climb
from condgof.null._bootstrap import (
    normal_pvalue,
    permutation_weights,
    pvalue,
    settle_ties,
    sign_weights,
)
from condgof.null._combine import Combination, Family, log_tail
from condgof.null._dependence import Dependence, auto_length, group_weights, stretch_weights
from condgof.null._draws import Drawn, excess
from condgof.null._paired import Difference
from condgof.sample import Seed
from condgof.stein._criterion import criterion_of_means
from condgof.stein._evidence import legendre_at, simple
from condgof.stein._sum import even_cuts, span_of

SEED = Seed.of(0)


def test_pvalues():
    assert pvalue(2.0, np.array([0.0, 1.0, 2.0])) == 0.5
    assert (settle_ties(0.3, np.array([0.1 + 0.2, 0.5]), 1e-12) == [0.3, 0.5]).all()
    assert normal_pvalue(0.0) == 0.5
    assert normal_pvalue(1e3) > 0
    drawn = Drawn(np.array([9.0]), np.array([[0.0, 1.0, 2.0]]), np.ones(1))
    assert Combination.of(drawn, [Family("all", 1.0, np.array([0]))]).pvalue == 0.25
    tails = np.exp(-log_tail(np.arange(4.0)))
    np.testing.assert_allclose(
        tails, [1.0, 0.75, 0.5, 0.25 / np.e]
    )  # the largest lies 1 beyond the others
    np.testing.assert_allclose(excess(np.log([[20.0, 20 / 3]]), 10), [0.0], atol=1e-6)


def test_differences():
    plain = Difference(0.3, 0.1)
    assert plain.z == pytest.approx(3.0)
    assert plain.pvalue < 0.01
    assert plain.interval()[0] > 0
    paired = Difference.of(np.array([0.3, 0.1, 0.4, 0.2, 0.5, -0.1, 0.3, 0.2, 0.4, 0.2]))
    assert paired.value == pytest.approx(0.25)
    assert paired.pvalue < 0.01
    assert paired.interval()[0] > 0


def test_weights():
    signs = sign_weights(5, 3, SEED).block(0, 5)
    assert signs.shape == (5, 3)
    assert set(signs.ravel()) == {-1.0, 1.0}
    labels = permutation_weights(5, 2, 3, SEED).block(0, 5)
    np.testing.assert_array_equal(labels[:, 0], [1, 1, -1, -1, -1])
    np.testing.assert_array_equal(labels.sum(axis=0), [-1, -1, -1, -1])
    stretches = stretch_weights(600, 200, SEED, 10).block(0, 600)
    assert set(stretches.ravel()) == {-1.0, 1.0}
    assert abs((stretches[5:] * stretches[:-5]).mean() - 0.9**5) < 0.03
    groups = group_weights(np.array([0, 1, 0, 1, 1]), 3, SEED).block(0, 5)
    np.testing.assert_array_equal(groups[[0, 1, 1]], groups[[2, 3, 4]])
    assert Dependence().independent
    assert not Dependence(length=10).independent


def test_dependence_that_is_set_aside_is_still_told():
    aside = Dependence(length=10, aside=True)
    assert aside.independent
    assert aside.details() == {"block_length": 10}


def test_block_lengths():
    noise = np.random.default_rng(0).standard_normal((500, 1))
    assert auto_length([noise], 500) == 1
    assert auto_length([np.cumsum(noise, axis=0)], 500) == 100


def test_cuts_of_rows():
    assert even_cuts(10, 4) == (0, 4, 8, 10)
    assert (span_of(100_000), span_of(10**7), span_of(10**9)) == (1, 38, 64)


def test_functions_of_a_normal_score():
    np.testing.assert_allclose(
        legendre_at(np.array([0.5])), [[0, -1.118, 0, 1.125]], atol=5e-4
    )
    np.testing.assert_allclose(
        simple(np.array([0.0])), [[0, -1, 0, -1.118, 0, 1.125]], atol=5e-4
    )


def test_criterion_and_climb():
    means = np.array([[1.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(criterion_of_means(means), [0.5**0.5, 0.0])
    end, before, after = climb(
        lambda v: (-float(v @ v), -2 * v), np.ones(2), [(0.5, 2.0)] * 2
    )
    np.testing.assert_allclose(end, [0.5, 0.5])
    assert (before, after) == (-2.0, -0.5)
