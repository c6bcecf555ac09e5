"""Ready-made fits: values against formulas and statsmodels, and what they refuse."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import condgof as cg
from condgof.errors import InputError, InputTypeError, MissingPackageError, NumericalError


@pytest.fixture
def sample():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((120, 2))
    return x, 2.0 + x @ [1.0, -0.5] + np.exp(0.4 * x[:, 0]) * rng.standard_normal(120)


def mixed(x, rows=slice(None)):
    """A frame with a column of levels."""
    kind = np.array(["red", "green", "blue"])[np.arange(len(x)) % 3]
    return pd.DataFrame({"a": x[:, 0], "kind": kind}).iloc[rows]


def test_ols_is_that_of_statsmodels(sample):
    x, y = sample
    model = cg.fits.ols()(x, y)
    theirs = sm.OLS(y, sm.add_constant(x)).fit()
    np.testing.assert_allclose(model.coefficients[:, 0], theirs.params)
    np.testing.assert_allclose(model.covariance, theirs.scale)
    mean, std = model(x).mean_std()
    np.testing.assert_allclose(mean[:, 0], theirs.fittedvalues)
    np.testing.assert_allclose(std, np.sqrt(theirs.scale))
    np.testing.assert_allclose(
        cg.scores(model, x, y), cg.scores(theirs, sm.add_constant(x), y)
    )


@pytest.mark.parametrize("frame", [mixed, lambda x: pl.from_pandas(mixed(x))])
def test_levels_become_indicators(sample, frame):
    x, y = sample
    model = cg.fits.ols()(frame(x), y)
    assert model.design.names == ("intercept", "a", "kind=green", "kind=red")
    kind = mixed(x)["kind"].to_numpy()
    X = np.column_stack([np.ones(120), x[:, 0], kind == "green", kind == "red"])
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(model.coefficients[:, 0], expected)
    assert "kind=red=" in repr(model)


def test_levels_are_matched_by_name(sample):
    x, y = sample
    model = cg.fits.ols()(mixed(x), y)
    whole = model(mixed(x)).mean_std()[0]
    part = model(mixed(x, [2, 5, 8])).mean_std()[0]
    np.testing.assert_allclose(
        part, whole[[2, 5, 8]]
    )  # blue alone: its level is not the first here
    with pytest.raises(InputError, match="'pink' is not a level"):
        model(mixed(x).assign(kind="pink")).mean_std()
    with pytest.raises(InputError, match="must hold text"):
        model(mixed(x).assign(kind=1.0)).mean_std()
    with pytest.raises(InputError, match="2 columns of x, and x has 1"):
        model(x[:, 0]).mean_std()


def test_collinear_columns_count_once(sample):
    x, y = sample
    doubled = cg.fits.ols()(np.column_stack([x, x[:, 0]]), y)
    plain = cg.fits.ols()(x, y)
    np.testing.assert_allclose(doubled.covariance, plain.covariance)
    np.testing.assert_allclose(
        doubled(np.column_stack([x, x[:, 0]])).mean_std()[0],
        plain(x).mean_std()[0],
        rtol=1e-8,
    )


def test_several_columns_of_y_have_a_covariance(sample):
    x, y = sample
    both = np.column_stack([y, y + x[:, 1] + 0.1 * np.arange(120) % 1])
    model = cg.fits.ols()(x, both)
    residuals = both - model(x).mean_std()[0]
    np.testing.assert_allclose(model.covariance, residuals.T @ residuals / 117)
    assert model(x).sample(np.random.default_rng(0)).shape == (120, 2)


def test_the_heteroscedastic_fit_is_at_the_maximum(sample):
    x, y = sample
    X = np.column_stack([np.ones(120), x])

    def minus_log_likelihood(p):
        log_variance = X @ p[3:]
        return 0.5 * (log_variance + (y - X @ p[:3]) ** 2 * np.exp(-log_variance)).sum()

    best = minimize(minus_log_likelihood, np.zeros(6), options={"gtol": 1e-7})
    model = cg.fits.heteroscedastic()(x, y)
    found = np.concatenate([model.coefficients[:, 0], model.log_variance[:, 0]])
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert minus_log_likelihood(found) <= best.fun + 1e-8
    np.testing.assert_allclose(model(x).mean_std()[1][:, 0], np.exp(0.5 * X @ found[3:]))
    assert "log variance" in repr(model)


def test_units_of_y_and_of_x_do_not_matter(sample):
    x, y = sample
    for fit in (cg.fits.ols(), cg.fits.heteroscedastic()):
        one = fit(x, y)
        other = fit(1e4 * x + 7.0, 1e-5 * y)
        mean, std = one(x).mean_std()
        mean_other, std_other = other(1e4 * x + 7.0).mean_std()
        np.testing.assert_allclose(mean_other, 1e-5 * mean, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(std_other, 1e-5 * std, rtol=1e-4)


def test_what_linear_fits_refuse(sample):
    x, y = sample
    with pytest.raises(NumericalError, match="residuals of least squares are 0"):
        cg.fits.ols()(x, x @ [1.0, 2.0])
    with pytest.raises(InputError, match="3 rows cannot tell 3 coefficients"):
        cg.fits.ols()(x[:3], y[:3])
    with pytest.raises(InputError, match="y must have shape"):
        cg.fits.ols()(x, y[:50])
    # Two points of their own column: their variance falls to 0, and the likelihood has no
    # maximum.
    alone = np.zeros(120)
    alone[:2] = 1.0
    with pytest.raises(NumericalError, match=r"not converged|residuals"):
        cg.fits.heteroscedastic()(np.column_stack([alone, x]), np.where(alone > 0, 3.0, y))


@pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse_gaussian"])
def test_glms_are_those_of_statsmodels(sample, family):
    x, _ = sample
    rng = np.random.default_rng(0)
    mean = np.exp(0.5 + 0.3 * x[:, 0])
    y = rng.gamma(4.0, mean / 4.0)
    model = cg.fits.glm(family)(x, y[:, None])
    theirs = {
        "gaussian": sm.families.Gaussian(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
        "inverse_gaussian": sm.families.InverseGaussian(sm.families.links.Log()),
    }[family]
    X = sm.add_constant(x)
    expected = sm.GLM(y, X, family=theirs).fit()
    np.testing.assert_allclose(model.results.params, expected.params)
    np.testing.assert_allclose(cg.scores(model, x, y), cg.scores(expected, X, y))
    same = cg.fits.glm(theirs)(x, y)
    np.testing.assert_allclose(same.results.params, expected.params)
    assert "intercept=" in repr(model)


def test_what_glms_refuse(sample, monkeypatch):
    x, y = sample
    with pytest.raises(InputError, match="family must be one of 'gaussian'"):
        cg.fits.glm("normal")
    with pytest.raises(InputError, match="got <class"):
        cg.fits.glm(int)
    with pytest.raises(InputError, match="one column of y"):
        cg.fits.glm("gamma")(x, np.ones((120, 2)))
    monkeypatch.setitem(__import__("sys").modules, "statsmodels.api", None)
    with pytest.raises(MissingPackageError, match=r"condgof\[statsmodels\]"):
        cg.fits.glm("gaussian")(x, y)


def test_sklearn_with_standard_deviations(sample):
    x, y = sample
    estimator = make_pipeline(StandardScaler(), BayesianRidge())
    model = cg.fits.sklearn(estimator)(x, y[:, None])
    mean, std = estimator.fit(x, y).predict(x, return_std=True)
    np.testing.assert_allclose(model(x).mean_std()[0][:, 0], mean)
    np.testing.assert_allclose(model(x).mean_std()[1][:, 0], std)


def test_the_estimator_is_never_changed(sample):
    x, y = sample
    estimator = LinearRegression()
    fit = cg.fits.sklearn(estimator)
    one = fit(x, y)
    two = fit(x, -y)
    assert not hasattr(estimator, "coef_")
    np.testing.assert_allclose(one.regressor.coef_, -two.regressor.coef_)


def test_any_regressor_gets_a_residual_scale(sample):
    x, y = sample
    std = cg.fits.sklearn(LinearRegression())(x, y, rng=np.random.default_rng(0)).std
    theirs = np.sqrt(np.mean((y - LinearRegression().fit(x, y).predict(x)) ** 2))
    assert theirs < std < 1.1 * theirs


def test_random_states_come_from_the_rng(sample):
    x, y = sample
    fit = cg.fits.sklearn(RandomForestRegressor(n_estimators=3))
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    one, two, other = (
        fit(x, y, rng=np.random.default_rng(s))(x).mean_std()[0] for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    assert fit(x, y).rows is None  # without an rng it fits too


@pytest.mark.parametrize("text", [False, True])
def test_classifiers_are_fitted_to_labels(sample, text):
    x, y = sample
    labels = np.where(y > 2, "high", "low") if text else (y > 2).astype(int)
    model = cg.fits.sklearn(LogisticRegression())(x, labels)
    theirs = LogisticRegression().fit(x, labels)
    np.testing.assert_allclose(model(x).values, theirs.predict_proba(x))


@pytest.mark.parametrize(
    "family", ["poisson", "binomial", sm.families.NegativeBinomial(alpha=0.5)]
)
def test_glms_of_a_discrete_y(sample, family):
    x, y = sample
    counts = (y > 2) * 1.0 if family == "binomial" else np.floor(np.exp(0.2 * y))
    model = cg.fits.glm(family)(x, counts)
    assert model(x).discrete
    mean, _ = model(x).mean_std()
    np.testing.assert_allclose(mean[:, 0], model.results.fittedvalues)
    drawn = model(x).sample(np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, np.floor(drawn))


def test_what_sklearn_refuses(sample):
    with pytest.raises(InputTypeError, match="takes an estimator"):
        cg.fits.sklearn(LinearRegression)
    nearest = GaussianProcessRegressor(RBF() + WhiteKernel())
    assert "GaussianProcess" in repr(cg.fits.sklearn(nearest))


@pytest.mark.parametrize(
    "fit",
    [
        cg.fits.ols(),
        cg.fits.heteroscedastic(),
        cg.fits.glm("gaussian"),
        cg.fits.sklearn(BayesianRidge()),
        cg.fits.sklearn(LinearRegression()),
    ],
)
def test_fits_pickle_and_serve_in_composite(sample, fit):
    x, y = sample
    again = pickle.loads(pickle.dumps(fit))
    one, two = (
        cg.composite(f, x, y, statistic="kcsd", n_boot=5, rng=0, engine=1).pvalue
        for f in (fit, again)
    )
    assert one == two


@pytest.mark.parametrize(
    ("family", "bad", "match"),
    [
        (
            "gamma",
            -0.5,
            "outside the support of Gamma.* in 1 of 20 rows, the first in row 3",
        ),
        ("inverse_gaussian", 0.0, "outside the support of InverseGaussian"),
        ("poisson", -1.0, "outside the support of Poisson"),
        ("binomial", 2.0, "labels that are not among the classes in 1 of 20 rows"),
    ],
)
def test_a_y_that_a_family_cannot_have_is_refused(family, bad, match):
    y = np.tile([1.0, 0.5 if family.startswith(("gamma", "inverse")) else 0.0], 10)
    y[3] = bad
    with pytest.raises(InputError, match=match):
        cg.composite(
            cg.fits.glm(family), np.arange(20.0), y, statistic="kcsd", n_boot=5, rng=0
        )
