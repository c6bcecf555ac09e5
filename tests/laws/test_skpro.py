"""skpro: probabilistic regressors, and distributions with one row an observation."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from skpro import distributions as distr
from skpro.regression.base import BaseProbaRegressor
from skpro.regression.bootstrap import BootstrapRegressor
from skpro.regression.residual import ResidualDouble

import condgof as cg
from condgof.errors import (
    CondgofError,
    DerivativeError,
    InputError,
    ShapeError,
    UnsupportedModelError,
)
from laws.conformance import check_law
from levels import assert_uniform

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(80, 2)), columns=["a", "b"])
NEW = pd.DataFrame(RNG.normal(size=(30, 2)), columns=["a", "b"])
Y = pd.DataFrame({"y": X["a"] + 0.5 * RNG.standard_normal(80)})
NEW_Y = NEW["a"].to_numpy() + 0.5 * RNG.standard_normal(30)


class Given(BaseProbaRegressor):
    """A regressor that predicts whatever distribution a function of x returns."""

    def __init__(self, make):
        self.make = make
        super().__init__()

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        return self.make(X.to_numpy(), {"index": X.index, "columns": pd.Index(["y"])})


def given(make):
    return Given(make).fit(X, Y)


def column(values):
    return np.asarray(values).reshape(-1, 1)


FAMILIES = {
    "normal": lambda x, k: distr.Normal(x[:, :1], column(1 + x[:, 1] ** 2), **k),
    "normal-constant": lambda x, k: distr.Normal(1.0, 2.0, **k),
    "laplace": lambda x, k: distr.Laplace(x[:, :1], 1.5, **k),
    "t": lambda x, k: distr.TDistribution(x[:, :1], 1.5, 4.0, **k),
    "cauchy": lambda x, k: distr.Cauchy(x[:, :1], 1.5, **k),
    "gamma": lambda x, k: distr.Gamma(2.5, column(np.exp(0.3 * x[:, 0])), **k),
    "exponential": lambda x, k: distr.Exponential(column(np.exp(0.3 * x[:, 0])), **k),
    "log-normal": lambda x, k: distr.LogNormal(x[:, :1], 0.5, **k),
    "inverse-gaussian": lambda x, k: distr.InverseGaussian(
        column(np.exp(0.3 * x[:, 0])), 2.0, **k
    ),
    "beta": lambda x, k: distr.Beta(column(np.exp(0.3 * x[:, 0])), 2.0, **k),
    "uniform": lambda x, k: distr.Uniform(x[:, :1], column(x[:, 0] + 2.0), **k),
    "mixture": lambda x, k: distr.Mixture(
        [("one", distr.Normal(x[:, :1], 0.5, **k)), ("two", distr.Normal(-1.0, 1.0, **k))],
        [0.3, 0.7],
    ),
    "normal-mixture": lambda x, k: distr.NormalMixture(
        np.tile([0.3, 0.7], (len(x), 1)),
        np.column_stack([x[:, 0], -x[:, 1]]),
        np.ones((len(x), 2)),
        **k,
    ),
}
#: Without a closed form here: differentiated numerically.
NUMERICAL = {
    "logistic": lambda x, k: distr.Logistic(x[:, :1], 0.7, **k),
    "weibull": lambda x, k: distr.Weibull(column(np.exp(0.3 * x[:, 0])), 1.5, **k),
}


@pytest.mark.parametrize("name", [*FAMILIES, *NUMERICAL])
def test_conformance(name):
    make = {**FAMILIES, **NUMERICAL}[name]
    model = cg.as_model(given(make))
    own = make(NEW.to_numpy(), {"index": NEW.index, "columns": pd.Index(["y"])})
    check_law(model, NEW, needs=("score", "log_prob", "cdf", "sample"), draws=400)
    drawn = model(NEW).sample(np.random.default_rng(0))
    np.testing.assert_allclose(
        model(NEW).log_prob(drawn), np.log(own.pdf(drawn).to_numpy())[:, 0], rtol=1e-6
    )
    np.testing.assert_allclose(
        model(NEW).cdf(drawn), own.cdf(drawn).to_numpy()[:, 0], rtol=1e-6
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_closed_forms_are_exact(name):
    model = cg.as_model(given(FAMILIES[name]))
    drawn = model(NEW).sample(np.random.default_rng(0))
    assert model(NEW).score_and_error(drawn)[1] is None


def test_the_result_says_that_scores_are_numerical():
    result = cg.kcsd(given(NUMERICAL["logistic"]), NEW, NEW_Y, rng=0)
    assert 0 < result.details["score_error"] < 1e-4


def test_a_regressor_of_the_library():
    regressor = ResidualDouble(LinearRegression(), dist="Laplace").fit(X, Y)
    check_law(cg.as_model(regressor), NEW, snapshot=lambda: pickle.dumps(regressor))


class TestRowsByPosition:
    @pytest.mark.parametrize("index", ["shuffled", "duplicate", "text"])
    @pytest.mark.parametrize("name", ["normal", "logistic", "mixture"])
    def test_the_index_plays_no_part(self, name, index):
        regressor = given({**FAMILIES, **NUMERICAL}[name])
        labels = {
            "shuffled": RNG.permutation(30),
            "duplicate": RNG.integers(4, size=30),
            "text": [f"row {i % 7}" for i in range(30)],
        }[index]
        expected = cg.scores(regressor, NEW, NEW_Y)
        other = NEW.set_axis(labels)
        np.testing.assert_array_equal(cg.scores(regressor, other, NEW_Y), expected)
        assert list(other.index) == list(labels)
        model = cg.as_model(regressor)
        np.testing.assert_array_equal(model(other).cdf(NEW_Y), model(NEW).cdf(NEW_Y))

    def test_polars_and_arrays(self):
        regressor = ResidualDouble(LinearRegression()).fit(X, Y)
        expected = cg.scores(regressor, NEW, NEW_Y)
        other = pl.DataFrame({"a": NEW["a"].to_numpy(), "b": NEW["b"].to_numpy()})
        np.testing.assert_allclose(cg.scores(regressor, other, NEW_Y), expected)
        with pytest.raises(InputError, match="ResidualDouble failed"):
            cg.scores(regressor, NEW.to_numpy(), NEW_Y)  # it was fitted on names
        nameless = ResidualDouble(LinearRegression()).fit(X.to_numpy(), Y.to_numpy())
        np.testing.assert_allclose(cg.scores(nameless, NEW.to_numpy(), NEW_Y), expected)

    @pytest.mark.parametrize("wrap", [np.asarray, lambda x: x[:, None]])
    def test_a_single_column_of_x(self, wrap):
        regressor = ResidualDouble(LinearRegression()).fit(
            X[["a"]].to_numpy(), Y.to_numpy()
        )
        scores = cg.scores(regressor, wrap(NEW["a"].to_numpy()), NEW_Y)
        assert scores.shape == (30, 1)
        named = ResidualDouble(LinearRegression()).fit(X[["a"]], Y)
        np.testing.assert_allclose(cg.scores(named, NEW["a"], NEW_Y), scores)


def test_numpys_global_state_is_not_seeded_for_predictions_that_do_not_draw(monkeypatch):
    monkeypatch.setattr(np.random, "seed", lambda seed: pytest.fail("seeded"))
    monkeypatch.setattr(np.random, "set_state", lambda state: pytest.fail("set"))
    cg.scores(given(FAMILIES["normal"]), NEW, NEW_Y)


def test_a_prediction_that_draws_from_the_global_state_leaves_it_alone():
    def noisy(x, k):
        return distr.Normal(x[:, :1] + np.random.normal(size=(len(x), 1)), 1.0, **k)

    before = np.random.get_state()[1].tobytes(), np.random.get_state()[2]
    first, second = (cg.scores(given(noisy), NEW, NEW_Y) for _ in range(2))
    assert (np.random.get_state()[1].tobytes(), np.random.get_state()[2]) == before
    np.testing.assert_array_equal(first, second)


def test_a_prediction_that_draws_and_fails_leaves_the_global_state_alone():
    def failing(x, k):
        np.random.normal(size=3)
        raise ValueError("no")

    before = np.random.get_state()[1].tobytes(), np.random.get_state()[2]
    with pytest.raises(CondgofError):
        cg.scores(given(failing), NEW, NEW_Y)
    assert (np.random.get_state()[1].tobytes(), np.random.get_state()[2]) == before


def histogram(x, k):
    bins = np.linspace(-6.0, 6.0, 13)
    rows = [[bins + shift] for shift in x[:, 0]]
    mass = np.diff(1.0 / (1.0 + np.exp(-bins)))
    return distr.Histogram(np.array(rows), np.tile(mass / mass.sum(), (len(x), 1, 1)), **k)


class TestPiecewiseConstant:
    def test_it_has_no_scores(self):
        message = (
            r"Histogram of skpro has no score \(its density is piecewise.*adaptive, .*mmd,"
            r" zheng"
        )
        with pytest.raises(UnsupportedModelError, match=message):
            cg.scores(given(histogram), NEW, NEW_Y)
        assert (
            "CDF" in cg.kcsd(given(histogram), NEW, NEW_Y, rng=0).details["standardized_by"]
        )

    def test_adaptive_takes_its_cdf(self):
        regressor = given(histogram)
        y = cg.as_model(regressor)(NEW).sample(np.random.default_rng(0))
        result = cg.adaptive(regressor, NEW, y, rng=0)
        assert result.pvalue > 0.01
        assert "CDF" in result.details["standardized_by"]
        assert (
            cg.adaptive(regressor, NEW, 0.3 * y + 0.7 * NEW[["a"]].to_numpy(), rng=0).pvalue
            < 0.05
        )


def test_several_columns_of_y():
    both = {"index": NEW.index, "columns": pd.Index(["u", "v"])}
    model = cg.as_model(distr.Normal(NEW.to_numpy(), [[0.5, 2.0]], **both))
    check_law(model, NEW, needs=("score", "log_prob", "sample", "mean_std"))
    with pytest.raises(
        UnsupportedModelError, match="single column of y only, and this one has 2"
    ):
        cg.as_model(distr.Logistic(NEW.to_numpy(), 1.0, **both))


def test_a_distribution_is_a_model_bound_to_its_rows():
    index = pd.Index([3, 3, 1])
    model = cg.as_model(
        distr.Normal([[0.0], [1.0], [2.0]], 1.0, index=index, columns=["y"])
    )
    assert model.rows == 3
    np.testing.assert_allclose(
        model.score(np.array([1.0, 1.0, 1.0]))[:, 0], [-1.0, 0.0, 1.0]
    )
    logistic = cg.as_model(distr.Logistic([[0.0], [1.0], [2.0]], 1.0))
    part = logistic.take(np.array([2, 0]))
    np.testing.assert_allclose(part.cdf(np.array([2.0, 0.0])), 0.5)
    with pytest.raises(ShapeError, match="has no rows"):
        cg.as_model(distr.Normal(0.0, 1.0))


ATOMS = {
    "delta": lambda x, k: distr.Delta(x[:, :1], **k),
    "mixture": lambda x, k: distr.Mixture(
        [("one", distr.Normal(x[:, :1], 0.5, **k)), ("two", distr.Delta(x[:, :1], **k))]
    ),
}


@pytest.mark.parametrize("name", ATOMS)
def test_distributions_with_atoms_are_refused(name):
    with pytest.raises(
        UnsupportedModelError, match=r"discrete distribution.*those values are no counts"
    ):
        cg.adaptive(given(ATOMS[name]), NEW, NEW_Y, rng=0)


def test_draws_in_place_of_a_distribution_are_refused():
    regressor = BootstrapRegressor(
        LinearRegression(), n_bootstrap_samples=5, random_state=0
    ).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="Empirical of skpro is a discrete"):
        cg.scores(regressor, NEW, NEW_Y)


def test_a_mixture_must_have_normal_parts():
    def gammas(x, k):
        return distr.Mixture(
            [("one", distr.Gamma(2.0, 1.0, **k)), ("two", distr.Gamma(3.0, 1.0, **k))]
        )

    with pytest.raises(UnsupportedModelError, match="must have normal parts"):
        cg.adaptive(given(gammas), NEW, np.abs(NEW_Y), rng=0)


def test_what_is_refused():
    with pytest.raises(InputError, match="ResidualDouble is not fitted yet"):
        cg.as_model(ResidualDouble(LinearRegression()))
    from skpro.metrics import CRPS

    with pytest.raises(UnsupportedModelError, match="predicts no distribution"):
        cg.as_model(CRPS())


def test_a_density_known_by_its_cdf_alone():
    """A transformed distribution: adaptive takes its CDF, the others refuse it."""

    def transformed(x, k):
        return distr.TransformedDistribution(
            distr.Normal(x[:, :1], 0.5, **k), np.exp, inverse_transform=np.log, **k
        )

    regressor = given(transformed)
    y = np.exp(NEW_Y)
    assert cg.adaptive(regressor, NEW, y, rng=0).pvalue > 0.01
    with pytest.raises((UnsupportedModelError, DerivativeError), match="no exact pdf"):
        cg.kcsd(regressor, NEW, y, rng=0)


@pytest.mark.parametrize(("name", "test"), [("laplace", cg.adaptive), ("gamma", cg.kcsd)])
def test_level_of_a_true_model(name, test):
    regressor = given(FAMILIES[name])
    model = cg.as_model(regressor)
    pvalues = []
    for trial in range(15):
        rng = np.random.default_rng([trial, 8])
        x = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
        y = model(x).sample(rng)
        pvalues.append(test(regressor, x, y, n_boot=99, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=99)
