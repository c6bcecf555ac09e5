"""Densities of one y, integrated to a CDF."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import condgof as cg
from condgof.errors import NumericalError
from condgof.laws import TINY, tail_scores
from condgof.laws.quadrature import Integrated, integrate
from laws.conformance import check_law
from seeds import examples

LINE = (-np.inf, np.inf)
POSITIVE = (0.0, np.inf)
UNIT = (0.0, 1.0)
#: Rows that are integrated at a time.
BLOCK = 8192
#: No density may cost more calls than this; smooth ones stay below a third of it.
MOST = 1500


def normal_density(y, x):
    return -0.5 * (y.reshape(-1) - x) ** 2


class Counted:
    """A function that counts its calls, and remembers between which values they were."""

    def __init__(self, function):
        self.function = function
        self.calls = 0
        self.low = np.inf
        self.high = -np.inf

    def __call__(self, y):
        self.calls += 1
        self.low = min(self.low, y.min())
        self.high = max(self.high, y.max())
        return self.function(y)


def truth(lower, upper):
    return tail_scores(np.asarray(lower), np.asarray(upper), TINY)


def check(density, y, support, expected, *, within=1e-6, most=MOST // 3):
    """Integrate, and compare normal scores where they are not extreme."""
    function = Counted(density)
    tails = integrate(function, y, support)
    assert not tails.failed.any(), (
        f"{tails.failed.sum()} rows failed, errors up to {tails.error.max()}"
    )
    assert function.calls <= most
    assert support[0] < function.low
    assert function.high < support[1]
    z = tails.normal_scores()
    usual = np.abs(expected) < 7.0
    np.testing.assert_allclose(z[usual], expected[usual], atol=within)
    assert (np.abs(z[~usual]) > 6.9).all()
    assert np.isfinite(z).all()
    np.testing.assert_allclose(tails.lower + tails.upper, 1.0)
    return function


SMOOTH = {
    "normal": (stats.norm(), lambda y: -0.5 * y**2, LINE),
    "far away": (stats.norm(1e6), lambda y: -0.5 * (y - 1e6) ** 2, LINE),
    "tiny": (stats.norm(0, 1e-30), lambda y: -0.5 * (y / 1e-30) ** 2, LINE),
    "exponential": (stats.expon(), lambda y: -y, POSITIVE),
    "gamma 0.05": (stats.gamma(0.05), lambda y: -0.95 * np.log(y) - y, POSITIVE),
    "gamma 0.2": (stats.gamma(0.2), lambda y: -0.8 * np.log(y) - y, POSITIVE),
    "gamma 50": (stats.gamma(50), lambda y: 49 * np.log(y) - y, POSITIVE),
    "beta": (stats.beta(0.3, 0.4), lambda y: -0.7 * np.log(y) - 0.6 * np.log1p(-y), UNIT),
    "uniform": (stats.uniform(), lambda y: 0.0 * y, UNIT),
    "t2": (stats.t(2), lambda y: -1.5 * np.log1p(y**2 / 2), LINE),
    "cauchy": (stats.cauchy(), lambda y: -np.log1p(y**2), LINE),
    "t 0.3": (stats.t(0.3), lambda y: -0.65 * np.log1p(y**2 / 0.3), LINE),
    "power 16": (
        stats.gennorm(16, scale=16 ** (1 / 16)),
        lambda y: -(np.abs(y) ** 16) / 16,
        LINE,
    ),
    "lognormal": (stats.lognorm(3), stats.lognorm(3).logpdf, POSITIVE),
    "pareto": (stats.pareto(0.5), lambda y: -1.5 * np.log(y), (1.0, np.inf)),
    "gumbel": (stats.gumbel_l(), lambda y: y - np.exp(y), LINE),
    "von Mises": (stats.vonmises(2), lambda y: 2 * np.cos(y), (-np.pi, np.pi)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_normal_scores_against_closed_forms(name):
    dist, density, support = SMOOTH[name]
    y = dist.rvs(300, random_state=1)
    # What a double cannot tell from the bound.
    y = np.clip(y, np.nextafter(support[0], np.inf), np.nextafter(support[1], -np.inf))
    check(density, y, support, truth(dist.cdf(y), dist.sf(y)))


def test_a_pole_at_a_bound_that_has_few_digits_beside_it():
    """Of a Gamma of shape 0.05 from 1 on a sixth is nearer to 1 than the next double."""
    room = stats.gamma(0.05).rvs(400, random_state=2)
    y = 1.0 + room[room > 1e-12]
    law = stats.gamma(0.05)
    expected = truth(law.cdf(y - 1.0), law.sf(y - 1.0))
    check(
        lambda y: -0.95 * np.log(y - 1.0) - (y - 1.0),
        y,
        (1.0, np.inf),
        expected,
        within=1e-5,
    )


@pytest.mark.parametrize("apart", [3.0, 40.0, 1e4])
def test_two_modes(apart):
    """Also in rows whose y is in the other mode, and with the modes' weights."""
    y = np.random.default_rng(3).normal(size=200) + apart * (np.arange(200) % 3 == 0)
    lower, upper = (
        0.7 * special.ndtr(s * y) + 0.3 * special.ndtr(s * (y - apart)) for s in (1.0, -1.0)
    )

    def density(y):
        return np.logaddexp(np.log(0.7) - 0.5 * y**2, np.log(0.3) - 0.5 * (y - apart) ** 2)

    check(density, y, LINE, truth(lower, upper), within=1e-5)


def test_modes_with_nothing_between_them_are_found_through_other_rows():
    """exp underflows: between modes log g is −∞, and gives no hint of the other one."""
    y = np.random.default_rng(4).normal(size=200) + 300.0 * (np.arange(200) % 3 == 0)
    weights = np.array([0.6, 0.4])
    means = np.array([0.0, 300.0])

    def density(y):
        return np.log(np.exp(-0.5 * (y[:, None] - means) ** 2) @ weights)

    lower, upper = (special.ndtr(s * (y[:, None] - means)) @ weights for s in (1.0, -1.0))
    check(density, y, LINE, truth(lower, upper), most=MOST)


@pytest.mark.parametrize(
    ("dist", "support"),
    [
        (stats.laplace(3, 0.1), LINE),
        (stats.laplace_asymmetric(3), LINE),
        (stats.triang(0.3), UNIT),
        (stats.expon(), LINE),  # ends that nobody declared
        (stats.uniform(), LINE),
        (stats.truncnorm(-0.5, 2), LINE),
        (stats.dgamma(0.5), LINE),  # a pole in the middle
    ],
)
def test_kinks_jumps_and_poles(dist, support):
    y = dist.rvs(200, random_state=5)
    check(dist.logpdf, y, support, truth(dist.cdf(y), dist.sf(y)), within=1e-4, most=MOST)


def test_rows_of_very_different_widths():
    rng = np.random.default_rng(6)
    x = rng.uniform(-3, 3, 300)
    mean = np.sin(3 * x)
    std = np.exp(4 * x)
    y = mean + std * rng.normal(size=300)
    check(lambda y: -0.5 * ((y - mean) / std) ** 2, y, LINE, (y - mean) / std)
    a = np.exp(2 * x)
    b = np.exp(3 * x)
    y = np.maximum(rng.gamma(a) * b, 1e-300)
    expected = truth(special.gammainc(a, y / b), special.gammaincc(a, y / b))
    check(lambda y: (a - 1) * np.log(y) - y / b, y, POSITIVE, expected)


def test_single_precision():
    y = 3.0 + np.random.default_rng(7).normal(size=300)

    def density(y):
        return -0.5 * np.square(y.astype(np.float32) - np.float32(3.0))

    check(density, y, LINE, y - 3.0, within=1e-5, most=MOST)


def test_a_y_that_the_model_holds_to_be_impossible():
    y = 1e5 * np.random.default_rng(8).normal(size=100)
    tails = integrate(lambda y: -0.5 * y**2, y, LINE)
    assert not tails.failed.any()
    z = tails.normal_scores()
    assert (np.sign(z) == np.sign(y)).all()
    assert (np.abs(z) > 8).all()
    assert np.isfinite(z).all()


def test_a_y_on_the_bound_has_a_finite_score():
    tails = integrate(
        lambda y: -0.95 * np.log(y) - y, np.array([0.0, 5e-324, 1.0]), POSITIVE
    )
    z = tails.normal_scores()
    assert np.isfinite(z).all()
    assert z[0] < z[1] < z[2]
    assert z[1] == pytest.approx(stats.norm.ppf(stats.gamma(0.05).cdf(5e-324)), abs=1e-3)


@settings(max_examples=examples(10), deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.floats(-2, 0.7),
    st.floats(-6, 6),
    st.floats(-50, 50),
)
def test_mixtures(seed, components, spread, scale, constant):
    """Components up to five widths apart, in any unit, are integrated or have failed."""
    rng = np.random.default_rng(seed)
    unit = 10.0**scale
    means = unit * 10.0**spread * rng.normal(size=components)
    stds = unit * np.exp(rng.uniform(-1.5, 1.5, components))
    weights = rng.dirichlet(np.ones(components))
    pick = rng.choice(components, p=weights, size=40)
    y = means[pick] + stds[pick] * rng.normal(size=40)

    def density(y):
        logs = np.log(weights / stds) - 0.5 * np.square((y[:, None] - means) / stds)
        return special.logsumexp(logs, axis=1) + constant

    function = Counted(density)
    tails = integrate(function, y, LINE)
    assert function.calls <= MOST
    lower, upper = (
        special.ndtr(s * (y[:, None] - means) / stds) @ weights for s in (1.0, -1.0)
    )
    good = ~tails.failed
    np.testing.assert_allclose(
        tails.normal_scores()[good], truth(lower, upper)[good], atol=1e-3
    )
    assert good.all() or components > 2


@settings(max_examples=examples(10), deadline=None)
@given(st.floats(-2, 4), st.floats(-5, 5), st.floats(0.1, 10), st.integers(0, 2**32 - 1))
def test_powers_of_gammas(shape, scale, power, seed):
    a = 10.0**shape
    b = 10.0**scale
    g = np.random.default_rng(seed).gamma(a, size=30)
    g = g[(g > 1e-30) & (g < 1e30)]
    y = b * g**power
    if len(y):
        expected = truth(special.gammainc(a, g), special.gammaincc(a, g))

        def density(y):
            return (a / power - 1) * np.log(y) - (y / b) ** (1 / power)

        check(density, y, POSITIVE, expected, within=1e-5, most=MOST)


@pytest.mark.parametrize(
    "density",
    [
        lambda y: 0.0 * y,
        lambda y: -np.log(np.abs(y)),
        lambda y: -np.log1p(np.abs(y)),
        np.square,
        lambda y: np.full(len(y), -np.inf),
        lambda y: np.full(len(y), np.nan),
        lambda y: 3 * np.cos(100 * y) - y**2 / 2,
    ],
)
def test_what_cannot_be_integrated_has_failed(density):
    function = Counted(density)
    tails = integrate(function, np.random.default_rng(9).normal(size=40), LINE)
    assert tails.failed.all()
    assert function.calls <= MOST


def test_a_narrow_mode_in_another_place_of_each_row_is_noticed():
    rng = np.random.default_rng(10)
    x = rng.uniform(-2, 2, 600)
    y = np.where(
        rng.random(600) < 0.1, x + 0.003 * rng.normal(size=600), rng.normal(size=600)
    )

    def density(y):
        return np.logaddexp(
            np.log(0.9) - 0.5 * y**2, np.log(0.1 / 0.003) - 0.5 * ((y - x) / 0.003) ** 2
        )

    assert integrate(density, y, LINE).failed.any()


def test_parts_of_a_sample_get_what_the_whole_gets():
    rng = np.random.default_rng(11)
    x = rng.normal(size=200)
    a = np.exp(x)
    y = rng.gamma(a)

    def tails(rows):
        return integrate(lambda y: (a[rows] - 1) * np.log(y) - y, y[rows], POSITIVE)

    whole = tails(np.arange(200))
    rows = rng.permutation(200)[:50]
    np.testing.assert_allclose(
        tails(rows).normal_scores(), whole.normal_scores()[rows], atol=1e-11
    )


class TestLaw:
    X = np.linspace(-2, 2, 40)
    Y = X + stats.norm.ppf((np.arange(40) * 7 % 40 + 0.5) / 40)

    def test_prepared_for_y_it_offers_normal_scores(self):
        law = cg.from_log_prob(normal_density)(self.X)
        assert not law.can("normal_scores")
        faced = law.facing(self.Y)
        assert faced.can("normal_scores")
        assert not faced.can("cdf")
        np.testing.assert_allclose(
            faced.normal_scores(self.Y)[:, 0], self.Y - self.X, atol=1e-6
        )
        np.testing.assert_allclose(
            law.normal_scores(self.Y)[:, 0], self.Y - self.X, atol=1e-6
        )
        assert faced.notes == ()

    def test_in_the_users_shape(self):
        shapes = set()

        def density(y, x):
            shapes.add((y.shape, x.shape))
            return -0.5 * (y - x)[:, 0] ** 2

        y = self.Y[:, None]
        z = cg.from_log_prob(density)(self.X[:, None]).normal_scores(y)
        np.testing.assert_allclose(z[:, 0], self.Y - self.X, atol=1e-6)
        assert shapes == {((40, 1), (40, 1))}

    def test_it_passes_what_every_law_passes(self):
        law = cg.from_log_prob(normal_density)(self.X).facing(self.Y)
        check_law(
            law,
            self.X,
            self.Y,
            needs=("score", "normal_scores"),
            normalised=False,
            pickles=True,
        )

    def test_nothing_is_computed_before_it_is_asked_for(self):
        counted = Counted(lambda y: -0.5 * y**2)
        law = cg.from_log_prob(lambda y, x: counted(y))(self.X).facing(self.Y)
        assert (law.n, law.notes, law.can("score")) == (40, (), True)
        assert counted.calls == 0
        assert law.can("normal_scores")
        calls = counted.calls
        assert 0 < calls < MOST
        law.normal_scores(self.Y)
        some = law.take(np.array([3, 1]))
        assert some.can("normal_scores")
        np.testing.assert_array_equal(
            some.normal_scores(self.Y[[3, 1]]), law.normal_scores(self.Y)[[3, 1]]
        )
        assert law.facing(self.Y) is law
        assert law(self.X) is law
        assert counted.calls == calls
        np.testing.assert_allclose(
            law.normal_scores(self.Y + 1), self.Y[:, None] + 1, atol=1e-6
        )
        assert counted.calls > calls

    def test_a_function_that_is_bound_to_its_rows(self):
        law = cg.from_log_prob(lambda y: -0.5 * (y - self.X) ** 2)(n=40)
        np.testing.assert_allclose(
            law.normal_scores(self.Y)[:, 0], self.Y - self.X, atol=1e-6
        )

    def test_many_rows_in_blocks(self):
        n = BLOCK + 100
        x = np.linspace(-1, 1, n)
        sizes = set()

        def density(y, x):
            sizes.add(len(x))
            return -0.5 * (y - x) ** 2

        z = cg.from_log_prob(density)(x).normal_scores(x + 1.0)
        np.testing.assert_allclose(z, 1.0, atol=1e-6)
        assert sizes == {BLOCK, 100}

    def test_laws_that_need_none_stay_as_they_are(self):
        two = np.column_stack([self.Y, self.Y])
        for model, y in (
            (cg.models.Normal(mean=lambda x: x, std=1.0), self.Y),
            (cg.from_scores(self.X - self.Y), self.Y),
            (cg.from_score(lambda y, x: x - y), self.Y),
            (cg.from_draws(np.ones((40, 3))), self.Y),
            (cg.models.Poisson(mean=1.0), np.ones(40)),
            (cg.from_log_prob(lambda y, x: -0.5 * (y**2).sum(1)), two),
        ):
            law = model(self.X, 40)
            assert law.facing(y) is law

    def test_a_law_of_ones_own(self):
        class Logistic(cg.Law):
            def __init__(self, centre):
                self.centre = centre

            @property
            def rows(self):
                return len(self.centre)

            def take(self, rows):
                return Logistic(self.centre[rows])

            def log_prob(self, y):
                u = y - self.centre
                return -u - 2 * np.logaddexp(0, -u)

        law = Logistic(self.X).facing(self.Y)
        expected = stats.norm.ppf(special.expit(self.Y - self.X))
        np.testing.assert_allclose(law.normal_scores(self.Y)[:, 0], expected, atol=1e-6)

    def test_what_cannot_be_integrated_has_scores_and_a_note(self):
        law = cg.from_log_prob(lambda y, x: -np.log(np.abs(y) + 1.0))(self.X).facing(self.Y)
        assert not law.can("normal_scores")
        assert "could not be integrated to a CDF in 40 of 40 rows" in law.notes[0]
        assert law.take(np.arange(3)).notes[0].startswith("the density could not")
        assert law.noted("more").notes[0] == "more"
        assert law.can("score")
        with pytest.raises(
            NumericalError, match="could not be integrated to a CDF in 40 of 40 rows"
        ):
            law.normal_scores(self.Y)

    def test_a_function_that_fails_away_from_the_data(self):
        def density(y, x):
            if np.abs(y).max() > 100:
                raise ValueError("too far")
            return -0.5 * (y - x) ** 2

        law = cg.from_log_prob(density)(self.X).facing(self.Y)
        assert isinstance(law, Integrated)
        assert not law.can("normal_scores")
        assert law.score(self.Y).shape == (40, 1)

    def test_the_same_verdict_as_a_closed_form(self):
        rng = np.random.default_rng(12)
        x = rng.uniform(1, 2, 60)
        y = rng.gamma(0.2, x)
        law = cg.from_log_prob(lambda y, x: -0.8 * np.log(y) - y / x, support=(0, np.inf))(
            x
        )
        known = cg.models.Gamma(shape=0.2, scale=lambda x: x)
        one, two = (
            cg.adaptive(m, x, y, n_boot=99, rng=0, engine=1) for m in (law.facing(y), known)
        )
        assert one.pvalue == two.pvalue
        assert one.statistic == pytest.approx(two.statistic, abs=1e-5)

    def test_it_pickles_with_its_tails(self):
        law = cg.from_log_prob(normal_density)(self.X).facing(self.Y)
        z = law.normal_scores(self.Y)
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(law)).normal_scores(self.Y), z
        )


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_other_libraries(backend):
    pytest.importorskip(backend)
    x = TestLaw.X
    y = TestLaw.Y
    law = cg.from_log_prob(normal_density, backend=backend)(x).facing(y)
    assert law.can("normal_scores")
    np.testing.assert_allclose(law.normal_scores(y)[:, 0], y - x, atol=1e-5)


def spiked(y, x):
    """Half of the mass in a peak of width 1e-3 that moves with x; normalised."""
    y, x = np.ravel(y), np.ravel(x)
    bulk = stats.norm.logpdf(y, x, 1.0)
    spike = stats.norm.logpdf(y, np.sin(3 * x), 1e-3)
    return np.logaddexp(bulk, spike) - np.log(2)


def test_a_peak_that_is_missed_is_told_by_the_mass():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    in_spike = rng.random(200) < 0.5
    narrow = np.sin(3 * x) + 1e-3 * rng.normal(size=200)
    y = np.where(in_spike, narrow, x + rng.normal(size=200))
    law = cg.from_log_prob(spiked)(x).facing(y)
    assert not law.can("normal_scores")
    missed = law.tails.misses_mass
    assert not (missed & in_spike).any()  # there the peak is where y is
    assert missed.sum() > 0.8 * (~in_spike).sum()
    result = cg.adaptive(cg.from_log_prob(spiked), x, y, n_boot=99, rng=0, engine=1)
    assert not result.reject()
    assert any(
        "a narrow peak of the density was not found" in n for n in result.details["notes"]
    )
    # Without its constant nothing is known of the mass; a smooth density has all of it.
    unnormalised = cg.from_log_prob(lambda y, x: spiked(y, x) - x**2)(x).facing(y)
    assert not unnormalised.tails.misses_mass.any()
    smooth = cg.from_log_prob(lambda y, x: stats.norm.logpdf(y, x, 1.0))(x).facing(y)
    assert smooth.can("normal_scores")
    assert smooth.notes == ()
