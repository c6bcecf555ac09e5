"""Many statistics, one p-value: against loops, and its ties and level."""

import numpy as np
import pytest
from scipy.stats import binom

import oracle
from condgof.null._combine import Combination, Family, log_tail
from condgof.null._draws import Drawn


def draw(seed=0, count=5, m=60, shift=0.0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(count, count))
    values = (
        mixing @ rng.normal(size=(count, m + 1)) * np.geomspace(1e-3, 1e3, count)[:, None]
    )
    return Drawn(
        values[:, 0] + shift * values.std(axis=1), values[:, 1:], 1e-9 * values.std(axis=1)
    )


def together(drawn):
    return Combination.of(drawn, [Family("all", 1.0, np.arange(len(drawn.statistics)))])


@pytest.mark.parametrize("shift", [-3.0, 0.0, 1.0, 8.0])
def test_against_loops(shift):
    drawn = draw(shift=shift)
    families = [
        Family("a", 0.7, np.array([0, 1])),
        Family("b", 0.3, np.array([2, 3, 4])),
        Family("none", 1.0, np.arange(0)),
    ]
    found = Combination.of(drawn, families)
    scaled = []
    for statistic, draws in zip(drawn.statistics, drawn.draws, strict=True):
        both = [*draws, statistic]
        scaled.append([(value - np.mean(both)) / np.std(both) for value in both])
    np.testing.assert_allclose(found.scaled, scaled, rtol=1e-9, atol=1e-12)
    parts = []
    for which in ([0, 1], [2, 3, 4]):
        soft = [oracle.log_mean_exp([scaled[k][j] for k in which]) for j in range(61)]
        parts.append(oracle.evidence(soft[-1], soft[:-1]))
    value, draws = oracle.harmonic(parts, [0.7, 0.3])
    assert found.statistic == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found.draws, draws, rtol=1e-9, atol=1e-12)
    assert found.pvalues == {"a": parts[0][2], "b": parts[1][2]}
    wanted = [
        (1 + sum(d >= s for d in row)) / 61
        for s, row in zip(drawn.statistics, drawn.draws, strict=True)
    ]
    np.testing.assert_allclose(found.each, wanted)


def test_more_evidence_beyond_all_draws():
    draws = np.random.default_rng(0).normal(size=200)
    beyond = (draws.max() - 1e-9, draws.max() + 0.1, 5.0, 50.0)
    values = [log_tail(np.append(draws, value))[-1] for value in beyond]
    assert (np.diff(values) > 0).all()


def test_what_never_varies_says_nothing():
    drawn = draw()
    constant = Drawn(
        np.append(drawn.statistics, 3.0),
        np.vstack([drawn.draws, np.full(60, 3.0)]),
        np.ones(6),
    )
    found = together(constant)
    np.testing.assert_array_equal(found.scaled[-1], 0.0)
    rounding = Drawn(np.array([1e-9]), np.zeros((1, 19)), np.ones(1))
    assert together(rounding).pvalue == 1.0


def test_draws_of_a_certain_model_never_vary_and_any_other_statistic_is_evidence():
    assert (
        together(Drawn(np.array([2.0, 1.0, 0.5]), np.zeros((3, 19)), np.ones(3))).pvalue
        == 1 / 20
    )


def test_large_values_do_not_overflow():
    assert np.isfinite(together(draw(shift=1e5)).statistic)


@pytest.mark.parametrize("count", range(1, 30))
def test_a_draw_that_is_the_statistic_stays_a_tie(count):
    """All signs equal: its value is the statistic up to rounding, for the combination too."""
    drawn = draw(count, count)
    drawn.draws[:, 7] = drawn.statistics + 1e-7 * drawn.draws.std(axis=1)
    found = together(drawn)
    np.testing.assert_array_equal(found.scaled[:, 7], found.scaled[:, -1])
    assert found.draws[7] == found.statistic


@pytest.mark.parametrize("m", [19, 99, 999])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_level_of_a_combination(correlation, m):
    """With any number of draws that are exchangeable with the statistic; exact bounds."""
    trials, found = 600, {0.05: 0, 0.5: 0}
    rng = np.random.default_rng(1)
    families = [Family("a", 0.7, np.array([0])), Family("b", 0.3, np.array([1]))]
    for _ in range(trials):
        z = rng.normal(size=(2, m + 1))
        z[1] = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
        square = z**2
        p = Combination.of(Drawn(square[:, 0], square[:, 1:], np.zeros(2)), families).pvalue
        for alpha in found:
            found[alpha] += p <= alpha
    for alpha, count in found.items():
        assert binom.ppf(1e-4, trials, alpha) <= count <= binom.isf(1e-4, trials, alpha)
