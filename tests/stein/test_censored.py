"""Evidence of times of which some are censored: ξ = d·f(Λ) − ∫f, of mean 0 however rows are censored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr, ndtri

from condgof.laws._survival import hazard
from condgof.stein._evidence import END, STEPS, CensoredEvidence, simple

EVIDENCE = CensoredEvidence.at((2.0, 1.0))


def beside(event, entry):
    event = np.asarray(event, dtype=float)
    return np.column_stack([event, event, np.broadcast_to(entry, event.shape)])


def later(h, z):
    """E[h(Z) | Z > z] by quadrature."""
    density = lambda t: np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)  # noqa: E731
    return quad(lambda t: h(t) * density(t), z, 12, limit=200)[0] / ndtr(-z)


@pytest.mark.parametrize("z", [-2.5, -0.4, 0.0, 1.3, 3.0])
def test_a_censored_row_counts_as_what_is_expected_of_it(z):
    names = [block.name for block in EVIDENCE.blocks]
    xi = EVIDENCE.of(np.array([[z]]), beside([0], -np.inf))[0]
    first = names.index("z")
    for k in range(6):
        wanted = later(lambda t, k=k: simple(np.array([t]))[0, k], z)
        assert xi[EVIDENCE.blocks[first + k].columns][0] == pytest.approx(wanted, abs=4e-3)


@pytest.mark.parametrize("z", [-1.5, 0.2, 2.0])
def test_it_is_the_event_less_the_integral_of_f(z):
    """d·f(Λ) − ∫₀^Λ f with f = h − H, both by the table of h and by quadrature over Λ."""
    at = lambda t, d: EVIDENCE.of(np.array([[t]]), beside([d], -np.inf))[0].astype(float)  # noqa: E731
    grid = np.linspace(0, hazard(z), 4001)[1:]
    points = -ndtri(np.exp(-grid))[:, None]
    f = EVIDENCE.of(points, beside(np.ones(4000), -np.inf)) - EVIDENCE.of(
        points, beside(np.zeros(4000), -np.inf)
    )
    step = grid[0]
    integral = step * (f[:-1].sum(axis=0) + 0.5 * f[-1])
    for d in (0, 1):
        wanted = d * (at(z, 1) - at(z, 0)) - integral
        np.testing.assert_allclose(at(z, d), wanted, atol=0.03)


def test_stein_functions_have_a_closed_form():
    """H of h = l' − zl is −l(z)φ(z)/(1 − Φ(z)), for l = exp(−z²/2): h = −2z·l."""
    grid = np.linspace(-END, END, STEPS + 1)
    weight = np.exp(-0.5 * grid**2)
    value = -2 * grid * np.exp(-0.5 * grid**2)
    above = np.cumsum((weight * value)[::-1])[::-1] - 0.5 * weight * value
    found = above / (np.cumsum(weight[::-1])[::-1] - 0.5 * weight)
    closed = -np.exp(
        -0.5 * grid**2 + (-0.5 * grid**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-grid))
    )
    np.testing.assert_allclose(found, closed, atol=1e-5)  # the square of a step


def test_without_censoring_it_is_the_plain_evidence():
    z = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_array_equal(
        EVIDENCE.of(z, beside(np.ones(50), -np.inf)), EVIDENCE.plain.of(z)
    )


def test_far_out_it_stays_finite():
    z = np.array([[-38.0], [38.0], [-38.0], [38.0]])
    assert np.isfinite(EVIDENCE.of(z, beside([1, 1, 0, 0], -np.inf))).all()


@settings(max_examples=12, deadline=None)
@given(
    rate=st.floats(0.1, 4.0),
    fixed=st.floats(0.2, 3.0),
    late=st.floats(0.0, 1.0),
    seed=st.integers(0, 99),
)
def test_its_mean_is_0_however_rows_are_censored(rate, fixed, late, seed):
    """Random and fixed censoring, rows that are watched from the beginning or later."""
    rng, n = np.random.default_rng(seed), 40_000
    entry = late * rng.random(n) * (rng.random(n) < 0.5)
    times = entry + rng.exponential(size=n)  # given that they are above it
    until = entry + np.minimum(rng.exponential(1 / rate, n), fixed)
    seen, event = np.minimum(times, until), times <= until
    z, start = (-ndtri(np.exp(-part)) for part in (seen, entry))
    xi = EVIDENCE.of(z[:, None], beside(event, start)).astype(float)
    error = np.maximum(xi.std(axis=0), 1e-3) / np.sqrt(n)
    assert np.abs(xi.mean(axis=0) / error).max() < 5.5
