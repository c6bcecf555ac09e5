"""NGBoost: regressors whose distribution has a closed form."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from ngboost import NGBRegressor, NGBSurvival
from ngboost.distns import (
    Beta,
    Cauchy,
    Exponential,
    Gamma,
    HalfNormal,
    Laplace,
    LogitNormal,
    LogNormal,
    MultivariateNormal,
    Normal,
    NormalFixedVar,
    T,
    TFixedDf,
    TFixedDfFixedVar,
    Weibull,
)
from ngboost.scores import LogScore

import condgof as cg
from condgof.errors import InputError, UnsupportedModelError
from laws.conformance import check_law
from levels import assert_uniform

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
NEW = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.5 * RNG.standard_normal(120)
POSITIVE = RNG.gamma(3.0, np.exp(0.3 * X[:, 0]))
FAMILIES = {
    "normal": (Normal, Y),
    "normal-fixed-var": (NormalFixedVar, Y),
    "laplace": (Laplace, Y),
    "t-fixed": (TFixedDf, Y),
    "t-fixed-scale": (TFixedDfFixedVar, Y),
    "cauchy": (Cauchy, Y),
    "log-normal": (LogNormal, POSITIVE),
    "exponential": (Exponential, POSITIVE),
    "gamma": (Gamma, POSITIVE),
    "half-normal": (HalfNormal, np.abs(Y)),
    "weibull": (Weibull, POSITIVE),
    "beta": (Beta, 1.0 / (1.0 + np.exp(-Y))),
}


def fit(family, y, **options):
    return NGBRegressor(
        Dist=family, n_estimators=8, verbose=False, random_state=0, **options
    ).fit(X, y)


@pytest.mark.parametrize("name", FAMILIES)
def test_conformance(name):
    regressor = fit(*FAMILIES[name])
    model = cg.as_model(regressor)
    abilities = ("score", "log_prob", "cdf", "sample")
    unchanged = {"snapshot": lambda: state(regressor)}
    check_law(model, NEW, needs=abilities, tests=name in ("normal", "gamma"), **unchanged)
    drawn = model(NEW).sample(np.random.default_rng(0))[:, 0]
    own = regressor.pred_dist(NEW).dist  # NGBoost's own distribution, of SciPy
    np.testing.assert_allclose(
        model(NEW).log_prob(drawn), own.logpdf(drawn), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(model(NEW).cdf(drawn), own.cdf(drawn), rtol=1e-8)


def state(regressor):
    kept = [
        regressor.init_params,
        regressor.scalings,
        regressor.base_models,
        regressor.random_state,
    ]
    return pickle.dumps(kept)


def test_the_degrees_of_freedom_are_not_lost():
    """They are an attribute of the t distribution and not among its params."""
    regressor = fit(T, Y, natural_gradient=False)
    predicted = regressor.pred_dist(NEW)
    assert "df" not in predicted.params
    model = cg.as_model(regressor)
    np.testing.assert_allclose(
        model(NEW).log_prob(NEW[:, 0]), predicted.dist.logpdf(NEW[:, 0])
    )


def test_several_outputs():
    both = np.column_stack([Y, Y + X[:, 1] + 0.5 * RNG.standard_normal(120)])
    regressor = fit(MultivariateNormal(2), both)
    check_law(
        cg.as_model(regressor), NEW, needs=("score", "log_prob", "sample", "mean_std")
    )
    drawn = cg.as_model(regressor)(NEW).sample(np.random.default_rng(0))
    own = regressor.pred_dist(NEW).logpdf(drawn)
    np.testing.assert_allclose(cg.as_model(regressor)(NEW).log_prob(drawn), own)


def test_a_prediction_is_a_model_bound_to_its_rows():
    regressor = fit(Gamma, POSITIVE)
    model = cg.as_model(regressor.pred_dist(NEW))
    assert model.rows == 40
    drawn = model(NEW).sample(np.random.default_rng(0))
    np.testing.assert_array_equal(model(NEW).score(drawn), cg.scores(regressor, NEW, drawn))


def test_frames_and_arrays_are_the_same():
    regressor = fit(Normal, Y)
    expected = cg.scores(regressor, NEW, NEW[:, 0])
    frame = pd.DataFrame(NEW, columns=["a", "b"], index=RNG.integers(5, size=40))
    np.testing.assert_array_equal(cg.scores(regressor, frame, NEW[:, 0]), expected)
    np.testing.assert_array_equal(
        cg.scores(regressor, pl.DataFrame({"a": NEW[:, 0], "b": NEW[:, 1]}), NEW[:, 0]),
        expected,
    )


@pytest.mark.parametrize("wrap", [np.asarray, pd.Series, pl.Series, lambda x: x[:, None]])
def test_a_single_column_of_x_in_any_shape(wrap):
    regressor = NGBRegressor(n_estimators=5, verbose=False).fit(X[:, :1], Y)
    expected = cg.scores(regressor, NEW[:, :1], NEW[:, 0])
    assert expected.shape == (40, 1)
    np.testing.assert_array_equal(
        cg.scores(regressor, wrap(NEW[:, 0]), NEW[:, 0]), expected
    )


def test_what_is_refused():
    with pytest.raises(InputError, match="NGBRegressor is not fitted yet"):
        cg.as_model(NGBRegressor())
    survival = NGBSurvival(n_estimators=2, verbose=False).fit(X, POSITIVE, np.ones(120))
    with pytest.raises(UnsupportedModelError, match="censored"):
        cg.as_model(survival)
    with pytest.raises(UnsupportedModelError, match="LogitNormal of NGBoost holds no"):
        cg.scores(fit(LogitNormal, 1.0 / (1.0 + np.exp(-Y))), NEW, NEW[:, 0])
    with pytest.raises(UnsupportedModelError, match="is no regressor"):
        cg.as_model(LogScore())
    with pytest.raises(InputError, match="NGBRegressor failed"):
        cg.scores(fit(Normal, Y), NEW[:, :1], NEW[:, 0])


def test_families_without_a_closed_form_are_differentiated():
    result = cg.kcsd(fit(HalfNormal, POSITIVE), X, POSITIVE, rng=0)
    assert 0 < result.details["score_error"] < 1e-3


@pytest.mark.parametrize(("name", "test"), [("normal", cg.adaptive), ("gamma", cg.kcsd)])
def test_level_of_a_true_model(name, test):
    regressor = fit(*FAMILIES[name])
    model = cg.as_model(regressor)
    pvalues = []
    for trial in range(15):
        rng = np.random.default_rng([trial, 7])
        x = rng.normal(size=(100, 2))
        y = model(x).sample(rng)
        pvalues.append(test(regressor, x, y, n_boot=99, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=99)
