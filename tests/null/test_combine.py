"""Many statistics, one p-value: against loops, and its ties and level."""

import numpy as np
import pytest
from scipy.stats import binom

import oracle
from condgof.null import Evidence, Family, combine, pvalue


def draw(seed=0, count=5, m=60, shift=0.0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(count, count))
    values = mixing @ rng.normal(size=(count, m + 1)) * np.geomspace(1e-3, 1e3, count)[:, None]
    return values[:, 0] + shift * values.std(axis=1), values[:, 1:]


@pytest.mark.parametrize("shift", [-3.0, 0.0, 1.0, 8.0])
def test_against_loops(shift):
    statistics, draws = draw(shift=shift)
    family = Family.of(statistics, draws)
    spread = draws.std(axis=1)
    np.testing.assert_allclose(family.values, statistics / spread, rtol=1e-12)
    np.testing.assert_allclose(family.draws, draws / spread[:, None], rtol=1e-12)
    wanted = [(1 + sum(d >= s for d in row)) / 61 for s, row in zip(statistics, draws, strict=True)]
    np.testing.assert_allclose(family.pvalues, wanted)
    got = family.log_mean_exp()
    value, each, p = oracle.evidence(
        oracle.log_mean_exp(statistics / spread),
        [oracle.log_mean_exp(column) for column in (draws / spread[:, None]).T],
    )
    assert got.value == pytest.approx(value, rel=1e-10)
    assert got.pvalue == p
    np.testing.assert_allclose(got.draws, each, rtol=1e-12)
    both = combine([got, got], [0.7, 0.3])
    assert both[0] == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(both[1], each, rtol=1e-10, atol=1e-15)


def test_the_harmonic_mean_of_two_parts():
    parts = [Family.of(*draw(seed)).log_mean_exp() for seed in (1, 2)]
    value, draws = combine(parts, [0.7, 0.3])
    wanted = oracle.harmonic([(part.value, part.draws) for part in parts], [0.7, 0.3])
    assert value == pytest.approx(wanted[0], rel=1e-12)
    np.testing.assert_allclose(draws, wanted[1], rtol=1e-12, atol=1e-15)
    assert np.exp(-value) == pytest.approx(1 / (0.7 / parts[0].pvalue + 0.3 / parts[1].pvalue))


def test_more_evidence_beyond_all_draws():
    draws = np.random.default_rng(0).normal(size=200)
    values = [Evidence.of(x, draws).value for x in (draws.max() - 1e-9, draws.max() + 0.1, 5.0, 50.0)]
    assert values == sorted(values)
    assert len(set(values)) == 4
    assert all(Evidence.of(x, draws).pvalue == 1 / 201 for x in (5.0, 50.0))


def test_one_draw_and_equal_draws():
    assert Evidence.of(2.0, np.array([1.0])).value == pytest.approx(np.log(2) + 1.0)
    equal = Evidence.of(1.0, np.ones(9))
    assert (equal.pvalue, equal.value) == (1.0, 0.0)
    np.testing.assert_array_equal(equal.draws, 0.0)


def test_what_never_varies_says_nothing():
    statistics, draws = draw()
    with_constant = Family.of(np.append(statistics, 3.0), np.vstack([draws, np.zeros(60)]))
    assert with_constant.values[-1] == 0.0
    np.testing.assert_array_equal(with_constant.draws[-1], 0.0)
    np.testing.assert_allclose(with_constant.values[:-1], Family.of(statistics, draws).values)


def test_large_values_do_not_overflow():
    statistics, draws = draw(shift=1e5)
    assert np.isfinite(Family.of(statistics, draws).log_mean_exp().value)


@pytest.mark.parametrize("count", range(1, 30))
def test_a_draw_that_is_the_statistic_stays_a_tie(count):
    """All signs equal: its value is the statistic up to rounding, for the combination too."""
    statistics, draws = draw(count, count)
    spread = draws.std(axis=1)
    draws[:, 7] = statistics + 1e-7 * spread
    family = Family.of(statistics, draws)
    combined = family.log_mean_exp()
    np.testing.assert_array_equal(family.draws[:, 7], family.values)
    assert combined.draws[7] == -np.log(combined.pvalue) == combined.value
    value, each = combine([combined, combined], [0.7, 0.3])
    assert each[7] == value


@pytest.mark.parametrize("m", [19, 99, 999])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_level_of_a_combination(correlation, m):
    """With any number of draws that are exchangeable with the statistic; exact bounds."""
    trials, found = 600, {0.05: 0, 0.5: 0}
    rng = np.random.default_rng(1)
    for _ in range(trials):
        z = rng.normal(size=(2, m + 1))
        z[1] = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
        parts = [Evidence.of(float(row[0]), row[1:]) for row in z**2]
        p = pvalue(*combine(parts, [0.7, 0.3]))
        for alpha in found:
            found[alpha] += p <= alpha
    for alpha, count in found.items():
        assert binom.ppf(1e-4, trials, alpha) <= count <= binom.isf(1e-4, trials, alpha)


def test_draws_of_a_certain_model_never_vary():
    """Any other statistic is then evidence; the very same one is none."""
    sizes, draws = np.ones(3), np.zeros((3, 19))
    assert Family.redrawn(np.array([2.0, 1.0, 0.5]), draws, sizes).log_mean_exp().pvalue == 1 / 20
    assert Family.redrawn(np.zeros(3), draws, sizes).log_mean_exp().pvalue == 1.0
    statistics, draws = draw()
    same, plain = Family.redrawn(statistics, draws, np.ones(5)), Family.of(statistics, draws)
    np.testing.assert_array_equal(same.values, plain.values)
    np.testing.assert_array_equal(same.draws, plain.draws)
