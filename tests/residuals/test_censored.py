"""Test functions of censored times: ξ = d·f(Λ) − ∫f, of mean 0 under any censoring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import norm

from condgof.laws import hazard
from condgof.residuals import (
    GRID_END,
    GRID_STEPS,
    CensoredTestFunctions,
    single_functions,
)
from seeds import examples

TEST_FUNCTIONS = CensoredTestFunctions.at_bandwidths((2.0, 1.0))


def evaluate(z, event, entry_z=-np.inf):
    """Return ξ (n, q) of normal scores z (n,), events (n,) or one, and entries."""
    z = np.asarray(z, dtype=float)
    events = np.broadcast_to(np.asarray(event, dtype=float), z.shape)
    entries = np.broadcast_to(entry_z, z.shape)
    return TEST_FUNCTIONS.at_times(z, events, entries).astype(float)


def mean_above(function, z):
    """E[function(Z) | Z > z] by quadrature."""
    integral = quad(lambda t: function(t) * norm.pdf(t), z, 12, limit=200)[0]
    return integral / ndtr(-z)


@pytest.mark.parametrize("z", [-2.5, -0.4, 0.0, 1.3, 3.0])
def test_a_censored_row_counts_as_its_expected_value(z):
    names = [block.name for block in TEST_FUNCTIONS.blocks]
    first = names.index("z")
    xi = evaluate([z], event=0)[0]
    for k in range(6):
        expected = mean_above(lambda t, k=k: single_functions(np.array([t]))[0, k], z)
        block = TEST_FUNCTIONS.blocks[first + k]
        assert xi[block.columns][0] == pytest.approx(expected, abs=4e-3)


@pytest.mark.parametrize("event", [0, 1])
@pytest.mark.parametrize("z", [-1.5, 0.2, 2.0])
def test_it_is_the_event_less_the_integral_of_f(z, event):
    """d·f(Λ) − ∫₀^Λ f with f = h − H, both by the table of h and by quadrature over Λ."""
    grid = np.linspace(0, hazard(z), 4001)[1:]
    points = -ndtri(np.exp(-grid))
    f = evaluate(points, event=1) - evaluate(points, event=0)
    step = grid[0]
    integral = step * (f[:-1].sum(axis=0) + 0.5 * f[-1])
    at_z = evaluate([z], event=1)[0] - evaluate([z], event=0)[0]
    np.testing.assert_allclose(
        evaluate([z], event=event)[0], event * at_z - integral, atol=0.03
    )


def test_stein_functions_have_a_closed_form():
    """H of h = l' − zl is −l(z)φ(z)/(1 − Φ(z)), for l = exp(−z²/2): h = −2z·l."""
    grid = np.linspace(-GRID_END, GRID_END, GRID_STEPS + 1)
    weight = np.exp(-0.5 * grid**2)
    values = -2 * grid * np.exp(-0.5 * grid**2)
    above = np.cumsum((weight * values)[::-1])[::-1] - 0.5 * weight * values
    by_sums = above / (np.cumsum(weight[::-1])[::-1] - 0.5 * weight)
    log_ratio = norm.logpdf(grid) - log_ndtr(-grid)
    closed = -np.exp(-0.5 * grid**2 + log_ratio)
    np.testing.assert_allclose(by_sums, closed, atol=1e-5)  # the square of a step


def test_without_censoring_they_are_the_plain_test_functions():
    z = np.random.default_rng(0).normal(size=50)
    plain = TEST_FUNCTIONS.plain.look_up(z[:, None])
    np.testing.assert_array_equal(evaluate(z, event=1), plain)


def test_far_out_they_stay_finite():
    assert np.isfinite(evaluate([-38.0, 38.0, -38.0, 38.0], event=[1, 1, 0, 0])).all()


@settings(max_examples=examples(6), deadline=None)
@given(
    rate=st.floats(0.1, 4.0),
    fixed=st.floats(0.2, 3.0),
    late=st.floats(0.0, 1.0),
    seed=st.integers(0, 99),
)
def test_the_mean_is_0_however_rows_are_censored(rate, fixed, late, seed):
    """Random and fixed censoring, rows that are watched from the beginning or later."""
    rng = np.random.default_rng(seed)
    n = 40_000
    entry = late * rng.random(n) * (rng.random(n) < 0.5)
    times = entry + rng.exponential(size=n)  # given that they are after the entry
    until = entry + np.minimum(rng.exponential(1 / rate, n), fixed)
    z = -ndtri(np.exp(-np.minimum(times, until)))
    entry_z = -ndtri(np.exp(-entry))
    xi = evaluate(z, times <= until, entry_z)
    error = np.maximum(xi.std(axis=0), 1e-3) / np.sqrt(n)
    assert np.abs(xi.mean(axis=0) / error).max() < 5.5
