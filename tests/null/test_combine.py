"""Many statistics, one p-value: against loops, and its ties and level."""

import numpy as np
import pytest
from scipy.stats import binom

import oracle
from condgof.null import Combination, Family, NullDraws, log_tail


def correlated_draws(seed=0, count=5, m=60, shift=0.0):
    """Statistics of very different sizes, shifted by some of their standard deviations."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(count, count))
    units = np.geomspace(1e-3, 1e3, count)[:, None]
    values = mixing @ rng.normal(size=(count, m + 1)) * units
    spread = values.std(axis=1)
    return NullDraws(
        statistics=values[:, 0] + shift * spread,
        draws=values[:, 1:],
        sizes=1e-9 * spread,
    )


def in_one_family(drawn):
    return Combination.from_draws(
        drawn, [Family("all", 1.0, np.arange(len(drawn.statistics)))]
    )


def standardized(values):
    return [(value - np.mean(values)) / np.std(values) for value in values]


@pytest.mark.parametrize("shift", [-3.0, 0.0, 1.0, 8.0])
def test_against_loops(shift):
    drawn = correlated_draws(shift=shift)
    families = [
        Family("a", 0.7, np.array([0, 1])),
        Family("b", 0.3, np.array([2, 3, 4])),
        Family("none", 1.0, np.arange(0)),
    ]
    combination = Combination.from_draws(drawn, families)
    pairs = list(zip(drawn.statistics, drawn.draws, strict=True))
    scaled = [standardized([*draws, statistic]) for statistic, draws in pairs]
    np.testing.assert_allclose(combination.scaled, scaled, rtol=1e-9, atol=1e-12)
    parts = []
    for numbers in ([0, 1], [2, 3, 4]):
        soft = [oracle.log_mean_exp([scaled[k][j] for k in numbers]) for j in range(61)]
        parts.append(oracle.evidence(soft[-1], soft[:-1]))
    value, draws = oracle.harmonic(parts, [0.7, 0.3])
    assert combination.statistic == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(combination.draws, draws, rtol=1e-9, atol=1e-12)
    assert combination.pvalues == {"a": parts[0].pvalue, "b": parts[1].pvalue}
    each = [
        (1 + sum(draw >= statistic for draw in draws)) / 61 for statistic, draws in pairs
    ]
    np.testing.assert_allclose(combination.each, each)


def test_by_hand():
    drawn = NullDraws(np.array([9.0]), np.array([[0.0, 1.0, 2.0]]), np.ones(1))
    assert in_one_family(drawn).pvalue == 0.25
    tails = np.exp(-log_tail(np.arange(4.0)))
    # The largest lies 1 beyond the others, along an exponential tail.
    np.testing.assert_allclose(tails, [1.0, 0.75, 0.5, 0.25 / np.e])


def test_more_evidence_beyond_all_draws():
    draws = np.random.default_rng(0).normal(size=200)
    beyond = (draws.max() - 1e-9, draws.max() + 0.1, 5.0, 50.0)
    values = [log_tail(np.append(draws, value))[-1] for value in beyond]
    assert (np.diff(values) > 0).all()


def test_what_never_varies_is_no_evidence():
    drawn = correlated_draws()
    with_a_constant = NullDraws(
        statistics=np.append(drawn.statistics, 3.0),
        draws=np.vstack([drawn.draws, np.full(60, 3.0)]),
        sizes=np.ones(6),
    )
    combination = in_one_family(with_a_constant)
    np.testing.assert_array_equal(combination.scaled[-1], 0.0)
    rounding = NullDraws(np.array([1e-9]), np.zeros((1, 19)), np.ones(1))
    assert in_one_family(rounding).pvalue == 1.0


def test_draws_of_a_certain_model_never_vary_and_any_other_statistic_is_evidence():
    drawn = NullDraws(np.array([2.0, 1.0, 0.5]), np.zeros((3, 19)), np.ones(3))
    assert in_one_family(drawn).pvalue == 1 / 20


def test_large_values_do_not_overflow():
    assert np.isfinite(in_one_family(correlated_draws(shift=1e5)).statistic)


@pytest.mark.parametrize("count", range(1, 30))
def test_a_draw_that_is_the_statistic_stays_a_tie(count):
    """If all signs are equal, the draw is the statistic up to rounding."""
    drawn = correlated_draws(count, count)
    drawn.draws[:, 7] = drawn.statistics + 1e-7 * drawn.draws.std(axis=1)
    combination = in_one_family(drawn)
    np.testing.assert_array_equal(combination.scaled[:, 7], combination.scaled[:, -1])
    assert combination.draws[7] == combination.statistic


@pytest.mark.parametrize("m", [19, 99, 999])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_level_of_a_combination(correlation, m):
    """With any number of draws that are exchangeable with the statistic; exact bounds."""
    trials = 600
    rejections = {0.05: 0, 0.5: 0}
    rng = np.random.default_rng(1)
    families = [Family("a", 0.7, np.array([0])), Family("b", 0.3, np.array([1]))]
    for _ in range(trials):
        z = rng.normal(size=(2, m + 1))
        z[1] = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
        square = z**2
        drawn = NullDraws(square[:, 0], square[:, 1:], np.zeros(2))
        p = Combination.from_draws(drawn, families).pvalue
        for alpha in rejections:
            rejections[alpha] += p <= alpha
    for alpha, count in rejections.items():
        assert binom.ppf(1e-4, trials, alpha) <= count <= binom.isf(1e-4, trials, alpha)
