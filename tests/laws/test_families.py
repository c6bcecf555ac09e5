"""Closed-form families: each passes the suite, agrees with SciPy, and has exact tails."""

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models import (
    Beta,
    Exponential,
    Gamma,
    Laplace,
    LogNormal,
    Normal,
    NormalMixture,
    StudentT,
    Uniform,
    Weibull,
)
from laws.conformance import check_law

N = 40
X = np.random.default_rng(7).normal(size=(N, 2))
A, B = X.T
SPREAD = np.exp(0.4 * A)
PAIR = np.exp(0.4 * X)
THREE = np.stack([A - 1, A, B + 2], axis=1)
SHARES = np.exp(THREE) / np.exp(THREE).sum(axis=1, keepdims=True)

#: Parameters as arrays with one row for each row of X; bound, and as functions of x.
FAMILIES = {
    "normal": (Normal, {"mean": A, "std": SPREAD}),
    "normal-2d": (Normal, {"mean": X, "std": PAIR}),
    "normal-cov": (
        Normal,
        {"mean": X, "cov": PAIR[:, :1, None] * np.array([[2.0, 0.6], [0.6, 1.0]])},
    ),
    "mixture": (NormalMixture, {"weights": SHARES, "means": THREE, "stds": 0.3 + THREE**2}),
    "mixture-2d": (
        NormalMixture,
        {"weights": SHARES, "means": THREE[:, :, None] * [1.0, -1.0], "stds": 0.5},
    ),
    "student": (StudentT, {"df": 3 + SPREAD, "loc": A, "scale": SPREAD}),
    "student-2d": (StudentT, {"df": 4.0, "loc": X, "scale": PAIR}),
    "laplace": (Laplace, {"loc": A, "scale": SPREAD}),
    "laplace-2d": (Laplace, {"loc": X, "scale": 2.0}),
    "exponential": (Exponential, {"scale": SPREAD}),
    "exponential-rate": (Exponential, {"rate": SPREAD, "loc": A}),
    "weibull": (Weibull, {"shape": 0.5 + SPREAD, "scale": SPREAD, "loc": A}),
    "weibull-2d": (Weibull, {"shape": PAIR, "rate": 1.0}),
    "gamma-low": (Gamma, {"shape": 0.7, "scale": SPREAD}),
    "gamma": (Gamma, {"shape": 1 + SPREAD, "rate": SPREAD, "loc": B}),
    "gamma-2d": (Gamma, {"shape": PAIR, "scale": 1.0}),
    "lognormal": (LogNormal, {"mu": A, "sigma": 0.5, "loc": B}),
    "lognormal-2d": (LogNormal, {"mu": 0.1 * X, "sigma": 0.3 * PAIR}),
    "beta-low": (Beta, {"a": 0.5, "b": 0.5 * SPREAD}),
    "beta": (Beta, {"a": 1 + SPREAD, "b": 2.0, "low": A, "high": A + SPREAD}),
    "beta-2d": (Beta, {"a": PAIR, "b": 1.0}),
    "uniform": (Uniform, {"low": A, "high": A + SPREAD}),
    "uniform-2d": (Uniform, {"low": -PAIR, "high": 1.0}),
}


def positions(x):
    """Which rows of X these are."""
    return np.array([int(np.flatnonzero((row == X).all(axis=1))[0]) for row in x])


def of_x(values):
    return (lambda x: values[positions(x)]) if np.ndim(values) else values


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


def test_bound_to_rows(family):
    make, parameters = family
    kept = {name: np.copy(value) for name, value in parameters.items()}
    model = make(**parameters)
    assert model.rows == N
    needs = ("score", "log_prob", "sample", "mean_std", "normal_scores")
    check_law(
        model, X, needs=needs, step=1e-5 if make is Laplace else 1e-3
    )  # which has a kink
    assert all(np.array_equal(kept[name], parameters[name]) for name in kept)


def test_functions_of_x(family):
    """A function of x and its values are the same model."""
    make, parameters = family
    bound = make(**parameters)
    model = make(**{name: of_x(value) for name, value in parameters.items()})
    assert model.rows is None
    assert model.take(np.array([1])) is model
    y = model(X).sample(np.random.default_rng(0))
    np.testing.assert_array_equal(y, bound.sample(np.random.default_rng(0)))
    for name in ("score", "log_prob", "normal_scores"):
        np.testing.assert_array_equal(getattr(model(X), name)(y), getattr(bound, name)(y))
    for a, b in zip(model(X).location_scale(), bound.location_scale(), strict=True):
        np.testing.assert_array_equal(a, b)


#: A model, and the same in SciPy.
SCIPY = {
    "laplace": (Laplace(1.0, 2.0), stats.laplace(1.0, 2.0)),
    "exponential": (Exponential(scale=2.0, loc=-1.0), stats.expon(-1.0, 2.0)),
    "exponential-rate": (Exponential(rate=0.5), stats.expon(scale=2.0)),
    "weibull": (Weibull(shape=1.3, scale=2.0, loc=-1.0), stats.weibull_min(1.3, -1.0, 2.0)),
    "weibull-low": (Weibull(shape=0.6, rate=0.5), stats.weibull_min(0.6, scale=2.0)),
    "gamma": (Gamma(shape=0.7, rate=0.5), stats.gamma(0.7, scale=2.0)),
    "gamma-high": (Gamma(shape=5.0, scale=0.1, loc=2.0), stats.gamma(5.0, 2.0, 0.1)),
    "lognormal": (LogNormal(0.5, 0.7, 1.0), stats.lognorm(0.7, 1.0, np.exp(0.5))),
    "beta": (Beta(0.5, 3.0), stats.beta(0.5, 3.0)),
    "beta-moved": (Beta(2.0, 0.4, low=-1.0, high=3.0), stats.beta(2.0, 0.4, -1.0, 4.0)),
    "uniform": (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "student": (StudentT(3.0, 1.0, 2.0), stats.t(3.0, 1.0, 2.0)),
}


@pytest.mark.filterwarnings(
    "ignore:Error in function boost"
)  # of SciPy's quantiles of Beta
@pytest.mark.parametrize("name", SCIPY)
def test_agrees_with_scipy(name):
    model, truth = SCIPY[name]
    q = np.array([1e-9, 1e-5, 0.01, 0.3, 0.5, 0.8, 0.999])
    y = truth.ppf(q)
    np.testing.assert_allclose(model.log_prob(y), truth.logpdf(y), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.cdf(y), truth.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(model.sf(y), truth.sf(y), rtol=1e-10)
    np.testing.assert_allclose(
        model.normal_scores(y)[:, 0], stats.norm.ppf(truth.cdf(y)), atol=1e-9
    )
    if name != "student":  # which has them only for df > 2
        mean, std = model(n=1).mean_std()
        np.testing.assert_allclose([mean[0, 0], std[0, 0]], [truth.mean(), truth.std()])


@pytest.mark.filterwarnings("ignore:Error in function boost")
@pytest.mark.parametrize("name", SCIPY)
def test_both_tails_keep_their_digits(name):
    """Normal scores of points whose upper tail is far below what 1 − cdf can tell."""
    model, truth = SCIPY[name]
    for tail in (1e-30, 1e-100):
        y = np.array([truth.isf(tail)])
        if y[0] < truth.support()[1]:  # no number is that near to an end that is not 0
            np.testing.assert_allclose(
                model.normal_scores(y)[0, 0], -stats.norm.ppf(truth.sf(y)[0]), rtol=1e-6
            )


def test_outside_the_support():
    y = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    for model in (Uniform(), Beta(2.0, 3.0), Beta(0.5, 0.5)):
        inside = np.array([False, False, True, False, False])
        np.testing.assert_array_equal(np.isfinite(model.log_prob(y)), inside)
        np.testing.assert_array_equal(np.isfinite(model.score(y)[:, 0]), inside)
        np.testing.assert_array_equal(model.cdf(y)[~inside], [0.0, 0.0, 1.0, 1.0])
        np.testing.assert_array_equal(model.sf(y)[~inside], [1.0, 1.0, 0.0, 0.0])
        u = model.normal_scores(y)[:, 0]
        assert np.isfinite(u).all()
        assert u[0] == u[1] < -30 < 30 < u[3] == u[4]
    assert Gamma(2.0, 1.0).log_prob(np.array([-1.0]))[0] == -np.inf


def test_draws_never_touch_the_ends():
    rng = np.random.default_rng(0)
    for model in (Gamma(0.005, 1.0), Beta(0.01, 0.01), Beta(0.01, 0.02, low=3.0, high=4.0)):
        y = model(n=2000).sample(rng)
        low, high = model(n=2000).support
        assert ((y > low) & (y < high)).all()
        assert np.isfinite(model.score(y)).all()


def test_parameters_are_checked():
    y = np.array([0.5, 0.6])
    with pytest.raises(
        InputError, match="shape must be positive, and is not in 2 of 2 rows"
    ):
        Gamma(shape=-1.0, scale=1.0).score(y)
    with pytest.raises(InputError, match="rate must be positive"):
        Exponential(rate=[0.0]).log_prob(y)
    with pytest.raises(
        InputError, match="high − low must be positive, and is not in 1 of 2 rows"
    ):
        Uniform([0.0, 1.0], [1.0, 0.5]).score(y)
    with pytest.raises(InputError, match="Gamma needs exactly one of scale= and rate="):
        Gamma(shape=2.0)
    with pytest.raises(InputError, match="Exponential needs exactly one"):
        Exponential(scale=1.0, rate=1.0)
    with pytest.raises(
        UnsupportedModelError, match="Gamma says this for d_y = 1 only, and here d_y = 2"
    ):
        Gamma(shape=[[1.0, 2.0]], scale=1.0).cdf(np.ones((3, 2)))
    with pytest.raises(ShapeError, match="different numbers of rows: shape 2, scale 3"):
        Gamma([1.0, 2.0], scale=[1.0, 1.0, 1.0])
    with pytest.raises(ShapeError, match="y has 2 rows, and the law of Laplace has 3"):
        Laplace(loc=np.zeros(3)).score(y)
    with pytest.raises(
        InputError, match=r"Gamma takes the parameters shape=, \[scale=\], .*'k'"
    ):
        Gamma(k=2.0)


def test_as_many_rows_as_the_sample():
    with pytest.raises(ShapeError, match="bound to 40 rows and the sample has 39"):
        cg.kcsd(Gamma(shape=SPREAD, scale=1.0), A[1:], SPREAD[1:])
