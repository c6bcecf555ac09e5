"""statsmodels: least squares and generalised linear models, by arrays and by formula."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import condgof as cg
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from laws.conformance import check_law
from levels import assert_uniform

FULL = ("score", "log_prob", "cdf", "sample", "mean_std")
LOG = sm.families.links.Log()
FAMILIES = {
    "gaussian": sm.families.Gaussian(),
    "gaussian-log": sm.families.Gaussian(LOG),
    "gamma": sm.families.Gamma(LOG),
    "inverse-gaussian": sm.families.InverseGaussian(LOG),
}


def data(n, seed=0):
    """A positive y whose mean is exp(1 + 0.5 a − 0.3 b)."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    mean = np.exp(1.0 + 0.5 * frame["a"] - 0.3 * frame["b"])
    frame["y"] = rng.gamma(4.0, mean / 4.0)
    frame["w"] = rng.uniform(0.5, 3.0, n)
    return frame


FRAME = data(120)
NEW = data(50, seed=1)
EXOG, NEW_EXOG = (sm.add_constant(f[["a", "b"]].to_numpy()) for f in (FRAME, NEW))
Y = FRAME["y"].to_numpy()
NEW_Y = NEW["y"].to_numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_glm_conformance(family):
    results = sm.GLM(Y, EXOG, family=FAMILIES[family]).fit()
    check_law(
        cg.as_model(results),
        NEW_EXOG,
        needs=FULL,
        snapshot=lambda: pickle.dumps(results.params),
    )
    mean, std = cg.as_model(results)(NEW_EXOG).mean_std()
    frozen = results.get_distribution(NEW_EXOG)
    np.testing.assert_allclose(mean[:, 0], frozen.mean(), rtol=1e-6)
    np.testing.assert_allclose(std[:, 0], frozen.std(), rtol=1e-6)
    drawn = cg.as_model(results)(NEW_EXOG).sample(np.random.default_rng(0))[:, 0]
    np.testing.assert_allclose(
        cg.as_model(results)(NEW_EXOG).log_prob(drawn), frozen.logpdf(drawn), rtol=1e-8
    )
    np.testing.assert_allclose(
        cg.as_model(results)(NEW_EXOG).cdf(drawn), frozen.cdf(drawn), rtol=1e-8
    )


def test_ols_by_arrays():
    results = sm.OLS(Y, EXOG).fit()
    model = cg.as_model(results)
    check_law(model, NEW_EXOG, needs=FULL, snapshot=lambda: pickle.dumps(results.params))
    mean, std = model(NEW_EXOG).mean_std()
    np.testing.assert_allclose(mean[:, 0], NEW_EXOG @ results.params)
    np.testing.assert_allclose(std, np.sqrt(results.scale))


@pytest.mark.parametrize(
    "fit", [smf.ols, lambda f, d: smf.glm(f, d, family=FAMILIES["gamma"])]
)
def test_a_formula_takes_its_columns_from_a_frame(fit):
    results = fit("y ~ np.exp(a) + C(a > 0) + b", FRAME).fit()
    model = cg.as_model(results)
    x = NEW[["b", "a"]]  # in another order
    check_law(model, x, needs=FULL)
    np.testing.assert_allclose(model(x).mean_std()[0][:, 0], results.predict(x))
    other = pl.DataFrame({"b": NEW["b"].to_numpy(), "a": NEW["a"].to_numpy()})
    np.testing.assert_array_equal(
        cg.scores(results, other, NEW_Y), cg.scores(results, x, NEW_Y)
    )
    with pytest.raises(
        InputTypeError, match=r"by the formula 'y ~ np.exp\(a\).*as a frame"
    ):
        cg.scores(results, NEW_EXOG, NEW_Y)
    with pytest.raises(InputError, match="of statsmodels failed"):
        cg.scores(results, NEW[["b"]], NEW_Y)


@pytest.mark.parametrize("by", ["formula", "array"])
def test_rows_are_matched_by_position(by):
    x = NEW[["a", "b"]] if by == "formula" else pd.DataFrame(NEW_EXOG)
    results = (
        smf.ols("y ~ a + b", FRAME).fit() if by == "formula" else sm.OLS(Y, EXOG).fit()
    )
    shuffled = x.set_axis(np.random.default_rng(0).integers(9, size=len(x)))
    np.testing.assert_array_equal(
        cg.scores(results, shuffled, NEW_Y), cg.scores(results, x, NEW_Y)
    )


def test_a_text_column_of_a_formula():
    train, new = (
        f.assign(town=np.where(f["a"] > 0, "Ghent", "Bruges")) for f in (FRAME, NEW)
    )
    results = smf.ols("y ~ town + b", train).fit()
    assert 0 < cg.kcsd(results, new[["town", "b"]], NEW_Y, rng=0).pvalue <= 1


def test_a_response_that_the_formula_transforms_is_noted():
    results = smf.ols("np.log(y) ~ a + b", FRAME).fit()
    (note,) = cg.kcsd(results, NEW[["a", "b"]], np.log(NEW_Y), rng=0).details["notes"]
    assert "'np.log(y)'" in note
    plain = smf.ols("y ~ a + b", FRAME).fit()
    assert "notes" not in cg.kcsd(plain, NEW[["a", "b"]], NEW_Y, rng=0).details


def test_the_constant_must_be_there():
    results = sm.OLS(Y, EXOG).fit()
    with pytest.raises(
        InputError, match=r"on 3 columns, and x has 2. Is the constant among them"
    ):
        cg.scores(results, NEW_EXOG[:, 1:], NEW_Y)
    with pytest.raises(InputError, match="and x has 1"):
        cg.scores(results, NEW_EXOG[:, 1], NEW_Y)
    single = sm.OLS(Y, EXOG[:, 1]).fit()  # no constant: a single column, also as (n,)
    np.testing.assert_array_equal(
        cg.scores(single, NEW_EXOG[:, 1], NEW_Y), cg.scores(single, NEW_EXOG[:, 1:2], NEW_Y)
    )


class TestWeights:
    def test_wls_asks_for_them(self):
        results = smf.wls("y ~ a", FRAME, weights=FRAME["w"]).fit()
        with pytest.raises(
            InputError, match=r"fitted with weights.*from_statsmodels\(results, weights"
        ):
            cg.as_model(results)

    def test_wls_with_equal_weights_is_ols(self):
        wls = sm.WLS(Y, EXOG).fit()
        ols = sm.OLS(Y, EXOG).fit()
        np.testing.assert_allclose(
            cg.scores(wls, NEW_EXOG, NEW_Y), cg.scores(ols, NEW_EXOG, NEW_Y)
        )

    @pytest.mark.parametrize(
        "weights", [NEW["w"].to_numpy(), NEW["w"].tolist(), lambda x: x["w"]]
    )
    def test_wls(self, weights):
        results = smf.wls("y ~ a", FRAME, weights=FRAME["w"]).fit()
        model = cg.from_statsmodels(results, weights=weights)
        x = NEW[["a", "w"]]
        assert model.rows == (50 if isinstance(weights, (list, np.ndarray)) else None)
        check_law(model, x, needs=FULL)
        np.testing.assert_allclose(
            model(x).mean_std()[1][:, 0], np.sqrt(results.scale / NEW["w"])
        )

    @pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse-gaussian"])
    def test_glm(self, family):
        weighted = sm.GLM(
            Y, EXOG, family=FAMILIES[family], var_weights=FRAME["w"].to_numpy()
        ).fit()
        with pytest.raises(InputError, match="fitted with weights"):
            cg.as_model(weighted)
        model = cg.from_statsmodels(weighted, weights=NEW["w"].to_numpy())
        frozen = weighted.get_distribution(NEW_EXOG, var_weights=NEW["w"].to_numpy())
        np.testing.assert_allclose(
            model(NEW_EXOG).mean_std()[1][:, 0], frozen.std(), rtol=1e-6
        )

    def test_offset_and_exposure(self):
        w = FRAME["w"].to_numpy()
        results = sm.GLM(
            Y, EXOG, family=FAMILIES["gamma"], offset=np.log(w), exposure=w
        ).fit()
        with pytest.raises(InputError, match="fitted with offset"):
            cg.as_model(results)
        new = NEW["w"].to_numpy()
        model = cg.from_statsmodels(results, offset=np.log(new), exposure=new)
        expected = results.predict(NEW_EXOG, offset=np.log(new), exposure=new)
        np.testing.assert_allclose(model(NEW_EXOG).mean_std()[0][:, 0], expected)
        check_law(model, NEW_EXOG, needs=FULL)
        with pytest.raises(InputError, match="fitted without offset"):
            cg.from_statsmodels(sm.OLS(Y, EXOG).fit(), offset=1.0)

    def test_bad_weights(self):
        results = sm.WLS(Y, EXOG, weights=FRAME["w"]).fit()
        with pytest.raises(InputError, match="weights must be positive"):
            cg.scores(cg.from_statsmodels(results, weights=-1.0), NEW_EXOG, NEW_Y)


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        (
            sm.OLS(Y, EXOG),
            InputTypeError,
            "OLS of statsmodels holds no fitted regression. Pass what the fit",
        ),
        (
            sm.GLM(Y, EXOG, sm.families.Tweedie()).fit(),
            UnsupportedModelError,
            "family Tweedie",
        ),
        (
            sm.GLS(Y, EXOG).fit(),
            UnsupportedModelError,
            "GLS of statsmodels is not supported",
        ),
        (
            sm.QuantReg(Y, EXOG).fit(),
            UnsupportedModelError,
            "QuantReg of statsmodels is not",
        ),
        (
            sm.RLM(Y, EXOG).fit(),
            UnsupportedModelError,
            "RLM of statsmodels is not supported",
        ),
        (
            sm.OLS(Y, EXOG).fit_regularized(alpha=0.1),
            UnsupportedModelError,
            "with_residual_scale",
        ),
    ],
)
def test_what_is_refused(obj, error, message):
    with pytest.raises(error, match=message):
        cg.as_model(obj)


def test_regularised_results_with_a_scale_of_ones_own():
    results = sm.OLS(Y, EXOG).fit_regularized(alpha=0.1)
    model = cg.models.with_residual_scale(results, std=2.0)
    np.testing.assert_allclose(
        model(NEW_EXOG).mean_std()[0][:, 0], NEW_EXOG @ results.params
    )


@pytest.mark.parametrize(
    ("family", "test"), [("gamma", cg.adaptive), ("gaussian", cg.kcsd)]
)
def test_level_of_a_true_model(family, test):
    results = sm.GLM(Y, EXOG, family=FAMILIES[family]).fit()
    model = cg.as_model(results)
    pvalues = []
    for trial in range(15):
        rng = np.random.default_rng([trial, 6])
        x = sm.add_constant(rng.normal(size=(100, 2)))
        y = model(x).sample(rng)
        pvalues.append(test(results, x, y, n_boot=99, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=99)


def test_power_against_the_wrong_family():
    frame = data(600, seed=3)
    train = frame[:300]
    test = frame[300:]
    wrong = smf.glm("y ~ a + b", train, family=FAMILIES["gaussian-log"]).fit()
    right = smf.glm("y ~ a + b", train, family=FAMILIES["gamma"]).fit()
    x = test[["a", "b"]]
    y = test["y"]
    assert cg.adaptive(wrong, x, y, rng=0).pvalue < 0.01
    assert cg.adaptive(right, x, y, rng=0).pvalue > 0.01
