"""Fitted models of lifelines and scikit-survival as they are."""

import numpy as np
import pytest

import condgof as cg
from condgof.errors import InputError, SupportError, UnsupportedModelError

COLUMNS = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]


@pytest.fixture(scope="module")
def rossi():
    datasets = pytest.importorskip("lifelines.datasets")
    frame = datasets.load_rossi()
    train = np.random.default_rng(0).permutation(len(frame)) < 216
    return frame[train], frame[~train]


@pytest.mark.parametrize("name", ["WeibullAFTFitter", "LogNormalAFTFitter", "CoxPHFitter"])
def test_lifelines(rossi, name):
    import lifelines

    train, rest = rossi
    fitted = getattr(lifelines, name)().fit(train, "week", "arrest")
    law = cg.as_model(fitted)(rest[COLUMNS])
    survival = [
        float(
            fitted.predict_survival_function(rest[COLUMNS].iloc[[i]], times=[t]).iloc[0, 0]
        )
        for i, t in enumerate(rest.week[:6])
    ]
    np.testing.assert_allclose(law.sf(rest.week.to_numpy())[:6], survival, atol=1e-9)
    taken = law.take(np.array([3, 1]))
    np.testing.assert_allclose(
        taken.sf(rest.week.to_numpy()[[3, 1]]), np.array(survival)[[3, 1]], atol=1e-9
    )
    report = cg.check(fitted, rest[COLUMNS], rest.week, event=rest.arrest, rng=0)
    assert not report.rejected
    assert ("made of steps" in " ".join(report.notes)) == (name == "CoxPHFitter")
    assert report.frame().cumulative_hazard.to_numpy()[:6] == pytest.approx(
        -np.log(survival)
    )


def test_a_closed_form_and_lifelines_agree(rossi):
    import lifelines

    train, rest = rossi
    fitted = lifelines.WeibullAFTFitter().fit(train, "week", "arrest")
    scale = np.exp(
        fitted.params_["lambda_"]["Intercept"]
        + rest[COLUMNS] @ fitted.params_["lambda_"][COLUMNS]
    )
    shape = float(np.exp(fitted.params_["rho_"]["Intercept"]))
    closed_form = cg.models.Weibull(shape=shape, scale=scale.to_numpy())
    y = rest.week.to_numpy()
    np.testing.assert_allclose(
        cg.as_model(fitted)(rest[COLUMNS]).sf(y), closed_form.sf(y), rtol=1e-6
    )


def test_scikit_survival(rossi):
    pytest.importorskip("sksurv")
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.svm import FastSurvivalSVM
    from sksurv.util import Surv

    train, rest = rossi
    outcome = Surv.from_arrays(train.arrest.astype(bool), train.week)
    x = rest[COLUMNS].astype(float)
    y = rest.week.to_numpy(dtype=float)
    for estimator in (
        CoxPHSurvivalAnalysis(),
        RandomSurvivalForest(n_estimators=20, random_state=0),
    ):
        with pytest.raises(InputError, match="Call its fit method"):
            cg.as_model(estimator)
        estimator.fit(train[COLUMNS].astype(float), outcome)
        survival = cg.as_model(estimator)(x).sf(y)
        curves = estimator.predict_survival_function(x)
        wanted = [
            1.0 if t < c.domain[0] else c(min(t, c.domain[1]))
            for c, t in zip(curves, y, strict=True)
        ]
        np.testing.assert_allclose(survival, wanted, atol=1e-12)
        assert 0 < cg.adaptive(estimator, x, y, event=rest.arrest, rng=0).pvalue <= 1
    with pytest.raises(UnsupportedModelError, match="predicts no survival function"):
        cg.as_model(FastSurvivalSVM().fit(train[COLUMNS].astype(float), outcome))


def test_what_is_refused(rossi):
    import lifelines

    train, rest = rossi
    with pytest.raises(InputError, match="CoxPHFitter is not fitted yet"):
        cg.as_model(lifelines.CoxPHFitter())
    with pytest.raises(UnsupportedModelError, match="predicts no survival given x"):
        cg.as_model(lifelines.KaplanMeierFitter().fit(train.week, train.arrest))
    fitted = lifelines.CoxPHFitter().fit(train, "week", "arrest")
    with pytest.raises(SupportError, match="CoxPHFitter, or on its boundary, in 1 of 216"):
        cg.adaptive(
            fitted,
            rest[COLUMNS],
            rest.week.where(rest.index != rest.index[0], 0),
            event=rest.arrest,
        )
    with pytest.raises(InputError, match="CoxPHFitter failed"):
        cg.adaptive(fitted, rest[COLUMNS[1:]], rest.week, event=rest.arrest)
