"""Many statistics, one p-value: against loops, and its ties and level."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chi2

import oracle
from condgof.null import Combination, Family, NullDraws, log_tail, log_tail_by


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
    scaled = [oracle.standardized([*draws, statistic]) for statistic, draws in pairs]
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


def last_as_reference(drawn, r):
    """Make the last r draws reference draws."""
    last = drawn.draws.shape[1] - r
    return replace(drawn, draws=drawn.draws[:, :last], reference=drawn.draws[:, last:])


def with_reference(seed=0, count=5, m=60, r=40, shift=0.0):
    """Statistics as in `correlated_draws`, with r reference draws of all of them."""
    return last_as_reference(correlated_draws(seed, count, m + r, shift), r)


@pytest.mark.parametrize("shift", [-3.0, 0.0, 1.0, 8.0])
def test_by_reference_draws_against_loops(shift):
    """Each value is scaled and ranked by the reference; the last family among its own."""
    drawn = with_reference(shift=shift)
    own = np.random.default_rng(5).normal(size=60)
    drawn = drawn.plus("own", 1.5, own)
    families = [
        Family("a", 0.7, np.array([0, 1])),
        Family("b", 0.2, np.array([2, 3, 4])),
        Family("own", 0.1, np.array([5])),
    ]
    combination = Combination.from_draws(drawn, families)
    values = np.column_stack([drawn.draws, drawn.statistics])
    scaled = [
        [oracle.scale_by(reference, value) for value in row]
        for reference, row in zip(drawn.reference, values, strict=False)
    ]
    scaled_reference = [oracle.standardized(reference) for reference in drawn.reference]
    np.testing.assert_allclose(combination.scaled[:5], scaled, rtol=1e-9, atol=1e-12)
    parts = []
    for numbers in ([0, 1], [2, 3, 4]):
        soft = [oracle.log_mean_exp([scaled[k][j] for k in numbers]) for j in range(61)]
        reference = [
            oracle.log_mean_exp([scaled_reference[k][j] for k in numbers])
            for j in range(40)
        ]
        by_value = [oracle.evidence_by(reference, value) for value in soft]
        rank = (1 + sum(draw >= soft[-1] for draw in soft[:-1])) / 61
        parts.append(oracle.Evidence(by_value[-1], np.array(by_value[:-1]), rank))
    soft = oracle.standardized([*own, 1.5])
    parts.append(oracle.evidence(soft[-1], soft[:-1]))
    value, draws = oracle.harmonic(parts, [0.7, 0.2, 0.1])
    assert combination.statistic == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(combination.draws, draws, rtol=1e-9, atol=1e-12)
    expected = {"a": parts[0].pvalue, "b": parts[1].pvalue, "own": parts[2].pvalue}
    assert combination.pvalues == expected


def test_evidence_by_a_reference_increases_without_a_jump():
    reference = np.random.default_rng(0).exponential(size=199)
    values = np.linspace(-1.0, 20.0, 4001)
    evidence = log_tail_by(reference, values)
    assert (np.diff(evidence) >= 0).all()
    assert (evidence[values < reference.min()] == 0.0).all()
    at_cut = np.sort(reference)[-40] + np.array([-1e-9, 1e-9])
    low, high = log_tail_by(reference, at_cut)
    assert high - low < 1e-6
    # The tail of these draws is e^−v, which the reference knows up to its noise.
    assert evidence[-1] == pytest.approx(20.0, rel=0.5)


def test_an_event_that_no_reference_draw_has_is_evidence():
    drawn = NullDraws(
        statistics=np.array([3.0]),
        draws=np.zeros((1, 99)),
        sizes=np.ones(1),
        reference=np.zeros((1, 19)),
    )
    combination = in_one_family(drawn)
    assert combination.pvalue == 0.01
    assert combination.scaled[0, -1] == pytest.approx(np.sqrt(19.0))
    nothing = NullDraws(
        statistics=np.array([1e-9]),
        draws=np.zeros((1, 99)),
        sizes=np.ones(1),
        reference=np.zeros((1, 19)),
    )
    assert in_one_family(nothing).pvalue == 1.0


@pytest.mark.parametrize("r", [5, 99])
def test_the_level_by_reference_draws(r):
    """With any number of reference draws that are independent of all others."""
    trials = 600
    rejections = {0.05: 0, 0.5: 0}
    rng = np.random.default_rng(2)
    families = [Family("a", 0.7, np.array([0])), Family("b", 0.3, np.array([1]))]
    for _ in range(trials):
        z = rng.normal(size=(2, 100 + r))
        z[1] = 0.8 * z[0] + 0.6 * z[1]
        square = z**2
        drawn = NullDraws(square[:, 0], square[:, 1:], np.zeros(2))
        drawn = last_as_reference(drawn, r)
        p = Combination.from_draws(drawn, families).pvalue
        for alpha in rejections:
            rejections[alpha] += p <= alpha
    for alpha, count in rejections.items():
        assert binom.ppf(1e-4, trials, alpha) <= count <= binom.isf(1e-4, trials, alpha)


def test_the_spread_of_p_over_draws_is_binomial():
    """With one reference, p is a share of independent draws; χ² of 10 × 39 numbers."""
    rng = np.random.default_rng(3)
    families = [Family("all", 1.0, np.arange(30))]
    total = 0.0
    for _ in range(10):
        statistics = rng.chisquare(1, size=30) + 0.8
        reference = rng.chisquare(1, size=(30, 99))
        p = []
        for _ in range(40):
            draws = rng.chisquare(1, size=(30, 199))
            drawn = NullDraws(statistics, draws, np.zeros(30), reference=reference)
            p.append(Combination.from_draws(drawn, families).pvalue)
        mean = np.mean(p)
        total += np.sum((p - mean) ** 2) / (mean * (1 - mean) / 200)
    assert chi2.ppf(1e-4, 390) < total < chi2.isf(1e-4, 390)
