"""What a correction gains, against log likelihoods that are summed over explicit rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import bernoulli, norm, poisson

from condgof.check.effects import Exposure, Location, Odds, Rate, Scale, Tilting

FORMS = (Location(), Scale(), Tilting(), Odds(), Rate())
#: A step of central differences: their error is about STEP², and rounding 1e-16/STEP.
STEP = 1e-5
#: Where gains of second order are compared with exact ones.
THETAS = (0.2, 0.1, 0.05, -0.2)
thetas = st.floats(-0.8, 0.8)
seeds = st.integers(0, 10_000)


def exposure_of(rows, information, expected=0.0):
    """Return the exposure of one cell."""
    return Exposure(np.array(float(rows)), np.array(information), np.array(expected))


def cell_of(form, rng):
    """Return the sum of the test function over a cell, and its exposure.

    Sums are those of a sample of the law or of one that is wrong, as cells of data have
    them.
    """
    rows = int(rng.integers(10, 400))
    p = rng.uniform(0.1, 0.9, rows)
    z = rng.normal(rng.normal(), np.exp(0.5 * rng.normal()), rows)
    return {
        Location: lambda: (z.sum(), exposure_of(rows, float(rows))),
        Scale: lambda: ((z**2 - 1.0).sum(), exposure_of(rows, 2.0 * rows)),
        Tilting: lambda: (0.2 * z.sum(), exposure_of(rows, rng.uniform(0.5, 2.0) * rows)),
        Odds: lambda: odds_cell(p, rng),
        Rate: lambda: rate_cell(p, rng),
    }[type(form)]()


def odds_cell(p, rng):
    """Return a cell of events of probabilities p, neither all nor none of which happen."""
    events = rng.uniform(0.05, 0.95) * len(p)
    return events - p.sum(), exposure_of(len(p), (p * (1.0 - p)).sum(), p.sum())


def rate_cell(p, rng):
    return rng.poisson(1.5 * p).sum() + 1.0 - p.sum(), exposure_of(len(p), p.sum(), p.sum())


# The gain is a log likelihood ratio.


@given(theta=thetas, seed=seeds)
def test_location_is_a_normal_mean(theta, seed):
    z = np.random.default_rng(seed).normal(0.3, 1.2, 50)
    explicit = (norm.logpdf(z, loc=theta) - norm.logpdf(z)).sum()
    gain = Location().gain(np.array(theta), z.sum(), exposure_of(50, 50.0))
    assert gain == pytest.approx(explicit, rel=1e-10, abs=1e-10)


@given(theta=thetas, seed=seeds)
def test_scale_is_a_normal_standard_deviation(theta, seed):
    z = np.random.default_rng(seed).normal(0.0, 1.4, 50)
    explicit = (norm.logpdf(z, scale=np.exp(theta)) - norm.logpdf(z)).sum()
    gain = Scale().gain(np.array(theta), (z**2 - 1.0).sum(), exposure_of(50, 100.0))
    assert gain == pytest.approx(explicit, rel=1e-10, abs=1e-10)


@given(theta=thetas, seed=seeds)
def test_rate_is_a_poisson_mean(theta, seed):
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0.1, 3.0, 50)
    y = rng.poisson(1.3 * mean)
    explicit = (poisson.logpmf(y, mean * np.exp(theta)) - poisson.logpmf(y, mean)).sum()
    exposure = exposure_of(50, mean.sum(), mean.sum())
    gain = Rate().gain(np.array(theta), (y - mean).sum(), exposure)
    assert gain == pytest.approx(explicit, rel=1e-10, abs=1e-10)


def shifted(p, theta):
    """Return the probabilities whose odds are e^θ times those of p."""
    odds = np.exp(theta) * p / (1.0 - p)
    return odds / (1.0 + odds)


@given(theta=thetas, seed=seeds, p=st.floats(0.02, 0.98))
def test_odds_are_exact_where_all_rows_have_one_probability(theta, seed, p):
    rng = np.random.default_rng(seed)
    happened = rng.random(50) < 0.5
    explicit = (
        bernoulli.logpmf(happened, shifted(p, theta)) - bernoulli.logpmf(happened, p)
    ).sum()
    exposure = exposure_of(50, 50 * p * (1.0 - p), 50 * p)
    gain = Odds().gain(np.array(theta), (happened - p).sum(), exposure)
    assert gain == pytest.approx(explicit, rel=1e-8, abs=1e-8)


def differences(explicit, form, total, exposure):
    """Return how far the gain is from an explicit one at each of `THETAS`."""
    return [explicit(t) - float(form.gain(np.array(t), total, exposure)) for t in THETAS]


@pytest.mark.parametrize("seed", range(5))
def test_odds_are_of_second_order_where_probabilities_differ(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.9, 200)
    happened = rng.random(200) < p

    def explicit(theta):
        tilted = bernoulli.logpmf(happened, shifted(p, theta))
        return (tilted - bernoulli.logpmf(happened, p)).sum()

    exposure = exposure_of(200, (p * (1.0 - p)).sum(), p.sum())
    found = differences(explicit, Odds(), (happened - p).sum(), exposure)
    # The third derivatives of both at 0, and a bound of the fourth ones anywhere:
    # p(1 − p)|1 − 6p(1 − p)| is at most 1/8.
    mean = p.mean()
    variance = p * (1.0 - p)
    rate = variance.mean() / (mean * (1.0 - mean))
    third = (variance * (rate * (1.0 - 2.0 * mean) - (1.0 - 2.0 * p))).sum() / 6.0
    fourth = 2 * 200 / 8.0 / 24.0
    for theta, one in zip(THETAS, found, strict=True):
        assert one == pytest.approx(third * theta**3, abs=fourth * theta**4 + 1e-9)


@pytest.mark.parametrize("spread", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("shift", [-6.0, -3.0, -1.5, 1.5, 3.0, 6.0])
def test_large_shifts_of_different_odds_gain_what_explicit_rows_do(spread, shift):
    """Probabilities that differ widely, such as the confidence of a classifier."""
    rng = np.random.default_rng(11)
    p = 1.0 / (1.0 + np.exp(-rng.normal(0.5, spread, 2000)))
    happened = rng.random(2000) < shifted(p, shift)

    def explicit(theta):
        tilted = bernoulli.logpmf(happened, shifted(p, theta))
        return (tilted - bernoulli.logpmf(happened, p)).sum()

    best = minimize_scalar(lambda t: -explicit(t), bounds=(-10.0, 10.0), method="bounded")
    exposure = exposure_of(2000, (p * (1.0 - p)).sum(), p.sum())
    total = (happened - p).sum()
    theta = float(Odds().fit(np.array(total), exposure, np.array(0.0)))
    # What is learned from sums gains nearly all that rows one by one would.
    assert explicit(theta) >= 0.9 * -best.fun
    found = float(Odds().gain(np.array(theta), np.array(total), exposure))
    assert found == pytest.approx(-best.fun, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_tilting_is_of_second_order(seed):
    """log(1 + θψ) summed over rows, whose ψ² have the mean that is predicted."""
    rng = np.random.default_rng(seed)
    psi = np.sqrt(3.0) * rng.uniform(-1.0, 1.0, 200)

    def explicit(theta):
        return np.log1p(theta * psi).sum()

    exposure = exposure_of(200, (psi**2).sum())
    found = differences(explicit, Tilting(), psi.sum(), exposure)
    for theta, one in zip(THETAS, found, strict=True):
        size = np.abs(theta * psi)
        assert abs(one) <= (size**3 / (3.0 * (1.0 - size))).sum()


# Derivatives.


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
@given(theta=thetas, seed=seeds)
def test_slope_and_curvature_are_derivatives(form, theta, seed):
    total, exposure = cell_of(form, np.random.default_rng(seed))
    sums = np.array(total)

    def gain(t):
        return float(form.gain(np.array(t), sums, exposure))

    def slope(t):
        return float(form.slope(np.array(t), sums, exposure))

    scale = float(exposure.rows)
    first = (gain(theta + STEP) - gain(theta - STEP)) / (2.0 * STEP)
    assert slope(theta) == pytest.approx(first, rel=1e-6, abs=1e-6 * scale)
    second = (slope(theta + STEP) - slope(theta - STEP)) / (2.0 * STEP)
    curvature = float(form.curvature(np.array(theta), sums, exposure))
    assert curvature == pytest.approx(-second, rel=1e-6, abs=1e-6 * scale)
    assert curvature >= 0.0


# The best parameters.


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
@given(seed=seeds)
def test_fit_gains_most(form, seed):
    total, exposure = cell_of(form, np.random.default_rng(seed))
    sums = np.array(total)
    theta = float(form.fit(sums, exposure, np.array(0.0)))
    low, high = (float(form.bounded(np.array(end))) for end in (-50.0, 50.0))
    found = minimize_scalar(
        lambda t: -float(form.gain(np.array(t), sums, exposure)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-10},
    )
    best = float(form.gain(np.array(theta), sums, exposure))
    assert best >= -found.fun - 1e-9 * (1.0 + abs(found.fun))
    assert best >= 0.0
    # The minimiser's own accuracy is the root of that of the gain.
    assert theta == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
@given(seed=seeds)
def test_shrinkage_moves_the_fit_towards_0(form, seed):
    total, exposure = cell_of(form, np.random.default_rng(seed))
    mixed_in = np.array([0.0, 1.0, 5.0, 25.0, 125.0, 1e9])
    every = Exposure(*(np.full(len(mixed_in), one) for one in exposure))
    theta = form.fit(np.full(len(mixed_in), total), every, mixed_in)
    assert np.all(np.sign(theta) == np.sign(theta[0]))
    assert np.all(np.diff(np.abs(theta)) <= 1e-12)
    assert theta[-1] == pytest.approx(0.0, abs=1e-4)
    # A correction that is shrunk gains less on the rows it was learned on, and no loss.
    gains = form.gain(theta, np.full(len(mixed_in), total), every)
    assert np.all(np.diff(gains) <= 1e-9 * (1.0 + np.abs(gains[:-1])))
    assert np.all(gains >= -1e-9)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_rows_as_predicted_shrink(form):
    """λ rows as predicted in the cell have the same best θ as shrinkage λ."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        total, exposure = cell_of(form, rng)
        added = float(rng.uniform(1.0, 50.0))
        factor = 1.0 + added / exposure.rows
        larger = Exposure(*(one * factor for one in exposure))
        expected = form.fit(np.array(total), larger, np.array(0.0))
        found = form.fit(np.array(total), exposure, np.array(added))
        assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_no_rows_gain_nothing(form):
    nothing = exposure_of(0, 0.0)
    zero = np.array(0.0)
    theta = form.fit(zero, nothing, np.array(5.0))
    assert float(theta) == 0.0
    assert float(form.gain(theta, zero, nothing)) == 0.0


def test_what_is_shown_is_a_factor_or_the_parameter_itself():
    assert Location().shown(0.5) == 0.5
    assert Tilting().shown(0.2) == 0.2
    for form in (Scale(), Odds(), Rate()):
        assert form.shown(np.log(2.0)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("form", "estimate", "expected", "theta"),
    [
        (Location(), 0.3, 0.0, 0.3),
        (Scale(), 1.5, 1.0, np.log(1.5)),
        (Rate(), 1.5, 0.5, np.log(3.0)),
        (Odds(), 0.5, 0.2, np.log(4.0)),
        (Odds(), 1.0, 0.2, 10.0),
        (Tilting(), 0.08, 0.05, 0.03),
    ],
)
def test_numbers_of_rows_deviate_as_theta_does(form, estimate, expected, theta):
    assert form.deviation(estimate, expected) == pytest.approx(theta)
