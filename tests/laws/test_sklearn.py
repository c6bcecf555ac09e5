"""scikit-learn: regressors with error bars, and others with a residual scale."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    WhiteKernel,
)
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import condgof as cg
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from laws.conformance import check_law
from levels import assert_uniform

FULL = ("score", "log_prob", "cdf", "sample", "mean_std")
NOISY = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] - 0.5 * x[:, 1] + 0.4 * rng.standard_normal(n)


def gp(kernel=NOISY, **options):
    return GaussianProcessRegressor(kernel, optimizer=None, **options)


X, Y = data(80)
NEW, NEW_Y = data(40, seed=1)
REGRESSORS = {
    "gp": gp(),
    "gp-normalised": gp(normalize_y=True),
    "bayesian-ridge": BayesianRidge(),
    "ard": ARDRegression(),
    "pipeline": make_pipeline(StandardScaler(), BayesianRidge()),
    "pipeline-of-one": make_pipeline(BayesianRidge()),
    "search": GridSearchCV(BayesianRidge(), {"alpha_1": [1e-6, 1e-3]}, cv=2),
    "search-in-pipeline": make_pipeline(
        StandardScaler(), GridSearchCV(BayesianRidge(), {"alpha_1": [1e-6, 1e-3]}, cv=2)
    ),
    "scaled-target": TransformedTargetRegressor(
        BayesianRidge(), transformer=StandardScaler()
    ),
    "same-target": TransformedTargetRegressor(BayesianRidge()),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_conformance(name):
    fitted = REGRESSORS[name].fit(X, Y)
    check_law(cg.as_model(fitted), NEW, needs=FULL, snapshot=lambda: pickle.dumps(fitted))


def test_mean_and_std_are_those_of_the_library():
    fitted = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    mean, std = cg.as_model(fitted)(NEW).mean_std()
    expected = fitted.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean[:, 0], expected[0])
    np.testing.assert_allclose(std[:, 0], expected[1])


def test_a_scaled_target_is_the_same_model_on_another_scale():
    plain = cg.as_model(gp(normalize_y=True).fit(X, Y))(NEW).mean_std()
    scaled = TransformedTargetRegressor(gp(), transformer=StandardScaler()).fit(X, Y)
    np.testing.assert_allclose(cg.as_model(scaled)(NEW).mean_std(), plain, rtol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda d: pl.DataFrame(d)])
def test_frames_reach_the_regressor_with_their_names(frame):
    rows = {"size": X[:, 0], "town": np.where(X[:, 1] > 0, "Ghent", "Bruges")}
    new = {"size": NEW[:, 0], "town": np.where(NEW[:, 1] > 0, "Ghent", "Bruges")}
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), remainder="passthrough"
    )
    fitted = make_pipeline(columns, BayesianRidge()).fit(pd.DataFrame(rows), Y)
    expected = cg.kcsd(
        fitted.predict(pd.DataFrame(new), return_std=True), frame(new), NEW_Y, rng=0
    )
    result = cg.kcsd(fitted, frame(new), NEW_Y, rng=0)
    assert result.statistic == pytest.approx(expected.statistic)


def test_a_shuffled_index_changes_nothing():
    fitted = BayesianRidge().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    frame = pd.DataFrame(NEW, columns=["a", "b"])
    shuffled = frame.set_axis(np.random.default_rng(0).integers(5, size=len(frame)))
    np.testing.assert_array_equal(
        cg.scores(fitted, frame, NEW_Y), cg.scores(fitted, shuffled, NEW_Y)
    )


@pytest.mark.parametrize("wrap", [np.asarray, pd.Series, pl.Series, lambda x: x[:, None]])
def test_a_single_column_of_x_in_any_shape(wrap):
    fitted = BayesianRidge().fit(X[:, :1], Y)
    expected = cg.scores(fitted, NEW[:, :1], NEW_Y)
    assert expected.shape == (40, 1)
    with warnings.catch_warnings():  # scikit-learn says that it was fitted without names
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(cg.scores(fitted, wrap(NEW[:, 0]), NEW_Y), expected)


def test_several_outputs_of_a_gaussian_process():
    both = np.column_stack(
        [Y, X[:, 1] + 0.3 * np.random.default_rng(4).standard_normal(len(Y))]
    )
    fitted = gp().fit(X, both)
    check_law(cg.as_model(fitted), NEW, needs=("score", "log_prob", "sample", "mean_std"))
    with pytest.raises(InputError, match="mean must have shape"):
        cg.scores(fitted, NEW, NEW_Y)


@pytest.mark.parametrize(
    ("kernel", "latent"),
    [
        (NOISY, False),
        (RBF() + (RBF() + WhiteKernel()), False),
        (RBF() + Exponentiation(WhiteKernel(), 2), False),
        (ConstantKernel() * RBF(), True),
    ],
)
def test_a_gaussian_process_without_noise_is_noted(kernel, latent):
    fitted = make_pipeline(StandardScaler(), gp(kernel, alpha=0.1)).fit(X, Y)
    notes = cg.kcsd(fitted, NEW, NEW_Y, rng=0).details.get("notes", ())
    assert any("latent function" in note for note in notes) == latent
    assert (
        any(
            "latent function" in n
            for n in cg.adaptive(fitted, NEW, NEW_Y, rng=0).details.get("notes", ())
        )
        == latent
    )


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        (BayesianRidge(), InputError, "BayesianRidge is not fitted yet. Call its fit"),
        (make_pipeline(StandardScaler(), BayesianRidge()), InputError, "not fitted yet"),
        (BayesianRidge, InputTypeError, "BayesianRidge is a class"),
        (LinearRegression().fit(X, Y), UnsupportedModelError, "with_residual_scale"),
        (make_pipeline(Ridge()).fit(X, Y), UnsupportedModelError, "residual_scale_by_cv"),
        (LogisticRegression(), InputError, "LogisticRegression is not fitted yet"),
        (
            RidgeClassifier().fit(X, Y > 0),
            UnsupportedModelError,
            "predicts no probabilities",
        ),
        (StandardScaler().fit(X), UnsupportedModelError, "has no predict"),
        (
            KMeans(2, n_init=1, random_state=0).fit(X),
            UnsupportedModelError,
            "no density of y",
        ),
        (
            TransformedTargetRegressor(
                BayesianRidge(), func=np.exp, inverse_func=np.log
            ).fit(X, Y),
            UnsupportedModelError,
            "pass its regressor_ as the model and the transformed y",
        ),
        (
            GridSearchCV(BayesianRidge(), {"alpha_1": [1e-6]}, cv=2, refit=False).fit(X, Y),
            UnsupportedModelError,
            "refit=True",
        ),
    ],
)
def test_what_is_refused(obj, error, message):
    with pytest.raises(error, match=message):
        cg.as_model(obj)


def test_a_transformed_target_is_tested_on_its_own_scale():
    fitted = TransformedTargetRegressor(
        BayesianRidge(), func=np.log, inverse_func=np.exp
    ).fit(X, np.exp(Y))
    result = cg.kcsd(fitted.regressor_, NEW, NEW_Y, rng=0)
    assert result.pvalue == cg.kcsd(BayesianRidge().fit(X, Y), NEW, NEW_Y, rng=0).pvalue


def test_columns_that_the_regressor_does_not_know():
    with pytest.raises(
        InputError, match="BayesianRidge failed: ValueError: X has 1 features"
    ):
        cg.scores(BayesianRidge().fit(X, Y), NEW[:, :1], NEW_Y)
    with pytest.raises(InputError, match="there is no x"):
        cg.ksd(BayesianRidge().fit(X, Y), NEW_Y)


class TestResidualScale:
    def test_conformance(self):
        fitted = RandomForestRegressor(10, random_state=0).fit(X, Y)
        model = cg.models.with_residual_scale(fitted, std=0.5)
        check_law(model, NEW, needs=FULL, snapshot=lambda: pickle.dumps(fitted))
        np.testing.assert_allclose(model(NEW).mean_std()[1], 0.5)

    def test_a_scale_that_depends_on_x(self):
        fitted = LinearRegression().fit(X, Y)
        model = cg.models.with_residual_scale(fitted, std=lambda x: 1 + x[:, 0] ** 2)
        check_law(model, NEW, needs=FULL)

    def test_several_outputs(self):
        fitted = LinearRegression().fit(X, np.column_stack([Y, -Y]))
        check_law(cg.models.with_residual_scale(fitted, std=[0.5, 1.0]), NEW)
        by_cv = cg.models.residual_scale_by_cv(fitted, X, np.column_stack([Y, -Y]), rng=0)
        np.testing.assert_allclose(by_cv(NEW).mean_std()[1], 0.4, atol=0.1)

    def test_a_regressor_of_any_library(self):
        class Mine:
            def predict(self, X):
                return X[:, 0]

        model = cg.models.with_residual_scale(Mine(), std=1.0)
        np.testing.assert_allclose(model(NEW).score(NEW[:, 0] + 2.0), -2.0)

    def test_out_of_fold_residuals_know_the_noise_where_the_others_do_not(self):
        x, y = data(300)
        forest = RandomForestRegressor(20, random_state=0).fit(x, y)
        model = cg.models.residual_scale_by_cv(forest, x, y, rng=0)
        assert model.regressor is forest
        assert 0.4 < model.std[0] < 0.6
        assert "RandomForestRegressor" in repr(model)
        assert np.sqrt(np.mean((forest.predict(x) - y) ** 2)) < 0.25

    def test_seeds_are_ours(self):
        forest = RandomForestRegressor(
            5
        )  # no random_state: its fit would draw from the global state
        before = np.random.get_state()[1].tobytes()
        first, second = (
            cg.models.residual_scale_by_cv(forest, X, Y, rng=3) for _ in range(2)
        )
        assert np.random.get_state()[1].tobytes() == before
        assert forest.random_state is None
        assert not hasattr(forest, "estimators_")
        np.testing.assert_array_equal(first(NEW).mean_std(), second(NEW).mean_std())
        assert cg.models.residual_scale_by_cv(forest, X, Y, rng=4).std != first.std

    def test_what_is_refused(self):
        cv = cg.models.residual_scale_by_cv
        with pytest.raises(InputError, match="std must be positive"):
            cg.models.with_residual_scale(LinearRegression().fit(X, Y), std=0.0)
        with pytest.raises(InputError, match="not fitted yet"):
            cg.models.with_residual_scale(LinearRegression(), std=1.0)
        with pytest.raises(InputTypeError, match="with a predict method"):
            cg.models.with_residual_scale(np.mean, std=1.0)
        with pytest.raises(InputError, match="X has 80 rows and y has 79"):
            cv(LinearRegression(), X, Y[:-1])
        with pytest.raises(InputError, match="between 2 and the number of rows"):
            cv(LinearRegression(), X, Y, cv=1)
        with pytest.raises(InputError, match="cv must be"):
            cv(LinearRegression(), X, Y, cv=2.5)
        with pytest.raises(InputTypeError, match="is a classifier"):
            cv(LogisticRegression(), X, Y > 0)
        with pytest.raises(InputTypeError, match="with fit and predict"):
            cv(StandardScaler(), X, Y)
        with pytest.raises(InputError, match="all 0"):
            cv(DummyRegressor(), X, np.zeros(80))


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive])
def test_level_of_a_true_model(test):
    fitted = gp().fit(X, Y)
    model = cg.as_model(fitted)
    pvalues = []
    for trial in range(15):
        rng = np.random.default_rng([trial, 5])
        x = rng.normal(size=(100, 2))
        y = model(x).sample(rng)
        pvalues.append(test(fitted, x, y, n_boot=99, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=99)


def test_power_against_a_wrong_noise():
    x, y = data(300, seed=2)
    model = cg.models.with_residual_scale(LinearRegression().fit(X, Y), std=0.8)
    assert cg.adaptive(model, x, y, rng=0).pvalue < 0.01
