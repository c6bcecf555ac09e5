"""Laws of angles: densities, moments, CDFs and draws against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, vonmises

import condgof as cg
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.laws import compare_angles, period_of, reduce_to_period, turns_of, wrap
from laws.conformance import check_law

TURN = 2 * np.pi
RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
MEAN = 3.0 * X[:, 0]
KAPPA = np.exp(0.5 * X[:, 1] + 1.0)
#: From almost uniform to very concentrated, on both sides of where the CDF changes formula.
CONCENTRATIONS = [0.0, 0.3, 3.0, 40.0, 499.0, 501.0, 2e4]


def log_density(y, x):
    """A skewed density with two modes, at turns of 2π."""
    y = np.ravel(y)
    apart = y - 3.0 * x[:, 0]
    return 1.5 * np.cos(apart) + 0.6 * np.sin(2.0 * apart + 0.3)


DENSITY = cg.from_log_prob(log_density, period=TURN)


@pytest.mark.parametrize(
    "model",
    [
        cg.models.VonMises(mean=lambda x: 3 * x[:, 0], concentration=2.0),
        cg.models.VonMises(mean=60 * MEAN, concentration=KAPPA, period=360),
        cg.models.VonMises(mean=MEAN, concentration=0.0, period=24),
        cg.models.VonMises(mean=MEAN, concentration=1e5, period=24),
        DENSITY,
    ],
    ids=["functions", "degrees", "uniform", "concentrated", "log-density"],
)
def test_conformance(model):
    # The density has mass 1 on one period, not on the whole line.
    check_law(model, X, needs=("log_prob", "score", "sample"), normalised=False, rtol=1e-4)


def test_conformance_of_draws():
    y = reduce_to_period(MEAN + RNG.vonmises(0, KAPPA), TURN)
    draws = MEAN[:, None] + RNG.vonmises(0, KAPPA[:, None], size=(40, 50))
    check_law(cg.from_draws(draws, period=TURN), X, y, needs=("sample",), tests=True)


@pytest.mark.parametrize("law", [cg.models.VonMises(MEAN, KAPPA, period=9.0), DENSITY(X)])
def test_a_density_has_mass_1_on_a_period(law):
    for row in (0, 7):
        one = law.take(np.array([row]))
        mass, _ = quad(lambda y, one=one: np.exp(one.log_prob([y])[0]), 0, law.period)
        assert mass == pytest.approx(1.0, abs=1e-8)


def test_von_mises_is_that_of_scipy():
    law = cg.models.VonMises(MEAN, KAPPA)
    y = RNG.uniform(-10, 10, 40)
    np.testing.assert_allclose(law.log_prob(y), vonmises.logpdf(y, KAPPA, MEAN))


def predicted(law):
    return compare_angles(law, np.zeros(law.n)).predicted


def integral(law, row, function):
    """∫ function(δ)·p(δ) dδ of a row, δ the difference to its mean direction."""
    one = law.take(np.array([row]))
    direction = predicted(law).direction[row]
    scale = period_of(law) / TURN

    def integrand(angle):
        y = (direction + angle) * scale
        return function(angle) * np.exp(one.log_prob(np.array([y]))[0]) * scale

    return quad(integrand, -np.pi, np.pi, epsabs=1e-11, limit=200)[0]


@pytest.mark.parametrize(
    "law",
    [cg.models.VonMises(60 * MEAN, KAPPA, period=360), DENSITY(X)],
    ids=["von Mises", "log-density"],
)
def test_moments_are_integrals(law):
    moments = predicted(law).moments(5)
    for row in (0, 11):
        for k in (1, 2, 5):
            cosine = integral(law, row, lambda angle, k=k: np.cos(k * angle))
            sine = integral(law, row, lambda angle, k=k: np.sin(k * angle))
            assert moments[row, k - 1] == pytest.approx(cosine + 1j * sine, abs=1e-8)
        # Of the first, the direction is 0: angles are measured from it.
        assert moments[row, 0].imag == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kappa", CONCENTRATIONS)
def test_the_cdf_of_a_von_mises_law_is_an_integral(kappa):
    law = cg.models.VonMises(mean=1.0, concentration=np.full(2, kappa))
    width = 1.0 / np.sqrt(kappa + 1.0)
    for angle in width * np.array([-2.5, -1.0, -0.01, 0.3, 2.0]):
        half = integral_from_0(law, angle)
        value = predicted(law).cdf(np.full(2, angle))[0]
        assert value == pytest.approx(0.5 + half, abs=1e-11)


def integral_from_0(law, angle):
    def density(t):
        return np.exp(law.log_prob(np.full(2, 1.0 + t))[0])

    return quad(density, 0.0, angle, epsabs=1e-13, limit=200)[0]


def test_the_cdf_of_a_log_density_is_an_integral():
    law = DENSITY(X)
    angle = np.linspace(-3, 3, 40)
    values = predicted(law).cdf(angle)
    for row in (0, 20, 39):
        below = integral(law, row, lambda t, row=row: float(t <= angle[row]))
        assert values[row] == pytest.approx(below, abs=1e-5)


@pytest.mark.parametrize(
    "model",
    [cg.models.VonMises(60 * MEAN, KAPPA, period=360), DENSITY],
    ids=["von Mises", "log-density"],
)
def test_draws_have_the_cdf_of_the_law(model):
    rows = np.arange(2000) % 40
    law = model(X).take(rows)
    compared = compare_angles(law, law.sample(np.random.default_rng(0)))
    assert kstest(compared.predicted.cdf(compared.angle), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("model", [cg.models.VonMises(MEAN, KAPPA), DENSITY])
def test_resampled_angles_have_the_moments_of_the_law(model):
    some = predicted(model(X))
    angle = some.draw(np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(
        turns_of(angle, 3).mean(axis=1), some.moments(3), atol=5 / np.sqrt(20_000)
    )


def test_y_and_its_draws_are_exchangeable():
    draws = MEAN[:, None] + RNG.vonmises(0, KAPPA[:, None], size=(40, 19))
    y = MEAN + RNG.vonmises(0, KAPPA)
    one = compare_angles(cg.from_draws(draws, period=TURN), y)
    swapped = draws.copy()
    swapped[:, 4] = y
    other = compare_angles(cg.from_draws(swapped, period=TURN), draws[:, 4])
    # Which candidate is y changes the angle alone: the direction and moments are the same.
    np.testing.assert_allclose(one.predicted.direction, other.predicted.direction)
    np.testing.assert_allclose(
        one.predicted.moments(3), other.predicted.moments(3), atol=1e-12
    )
    np.testing.assert_allclose(other.angle, one.predicted.candidates[:, 5], atol=1e-12)
    ranks = one.predicted.cdf(one.angle) * 20 - 0.5
    np.testing.assert_allclose(ranks, np.round(ranks), atol=1e-9)


def test_folds_of_laws_are_one_law():
    def fit(x, y):
        return cg.from_log_prob(
            lambda y, x: 2.0 * np.cos(np.ravel(y) - x[:, 0]), period=TURN
        )

    x = np.random.default_rng(0).normal(size=(60, 1))
    y = x[:, 0] + np.random.default_rng(1).vonmises(0, 2.0, 60)
    folded = cg.crossfit(fit, x, y, folds=3, rng=0)
    whole = compare_angles(fit(x, y)(x), y)
    joined = compare_angles(folded(x), y)
    np.testing.assert_allclose(joined.angle, whole.angle)
    np.testing.assert_allclose(joined.predicted.moments(2), whole.predicted.moments(2))
    np.testing.assert_allclose(
        joined.predicted.cdf(joined.angle), whole.predicted.cdf(whole.angle)
    )
    draws = joined.predicted.take(np.arange(10, 30)).draw(np.random.default_rng(0), 7)
    assert draws.shape == (20, 7)
    assert cg.adaptive(folded, x, y, n_boot=99, rng=0).pvalue > 0.01


def test_angles_are_reduced():
    values = np.array([-1e-20, 0.0, 359.0, 360.0, 725.0, -10.0])
    np.testing.assert_allclose(reduce_to_period(values, 360), [0, 0, 359, 0, 5, 350])
    assert (np.abs(wrap(values)) <= np.pi).all()


def test_what_is_no_circular_law_is_refused():
    with pytest.raises(InputError, match="period must be a positive number"):
        cg.models.VonMises(0.0, 1.0, period=-1)
    with pytest.raises(InputError, match="concentration must not be negative"):
        cg.models.VonMises(0.0, [1.0, -1.0]).log_prob(np.zeros(2))
    with pytest.raises(InputError, match="period= or support="):
        cg.from_log_prob(log_density, period=1.0, support=(0, 1))
    with pytest.raises(ShapeError, match=r"shape \(n, m\)"):
        cg.from_draws(np.zeros((4, 3, 2)), period=1.0)
    line = cg.from_log_prob(lambda y, x: -(np.ravel(y) ** 2), period=360)
    for test in (cg.adaptive, cg.kcsd):
        with pytest.raises(InputError, match="not periodic"):
            test(line, X, RNG.uniform(0, 360, 40), n_boot=9)
    sharp = cg.from_log_prob(lambda y, x: 1e7 * np.cos(np.ravel(y)), period=TURN)
    with pytest.raises(InputError, match="cannot be integrated over a period"):
        cg.adaptive(sharp, X, RNG.normal(size=40), n_boot=9)


@pytest.mark.parametrize("ability", ["cdf", "mean_std", "crps"])
def test_what_depends_on_a_cut_is_refused(ability):
    law = cg.models.VonMises(MEAN, KAPPA)
    assert not law.can(ability)
    arguments = () if ability == "mean_std" else (np.zeros(40),)
    with pytest.raises(UnsupportedModelError, match="y is an angle"):
        getattr(law, ability)(*arguments)


def test_models_of_angles_are_compared_by_log_score():
    x = X[:, :1]
    y = MEAN + RNG.vonmises(0, 2.0, 40)
    right = cg.models.VonMises(MEAN, 2.0)
    same = cg.from_log_prob(
        lambda y, x: 2.0 * np.cos(np.ravel(y) - 3 * x[:, 0]), period=TURN
    )
    found = cg.compare(right, same, x, y, rng=0)
    assert "predict alike" in str(found)
    with pytest.raises(UnsupportedModelError, match="Stein discrepancy"):
        cg.compare(right, same, x, y, measure="stein")
