"""Displays and the scorer for scikit-learn."""

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import cross_val_score

import condgof as cg
from condgof.errors import InputError
from condgof.sklearn import (
    CoverageDisplay,
    MisfitByFeatureDisplay,
    ReliabilityDisplay,
    avoidable_loss_scorer,
)

mpl.use("Agg")
FAST = {"n_boot": 39}


@pytest.fixture(autouse=True)
def close():
    """Close figures, also those that tests before these left open: 20 are a warning."""
    plt.close("all")
    yield
    plt.close("all")


def regression(n=400):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-2, 2, (n, 2)), columns=["a", "b"])
    return X, X["a"] + X["b"] ** 2 + rng.standard_normal(n)


def test_misfit_by_feature():
    X, y = regression()
    fitted = BayesianRidge().fit(X[:200], y[:200])
    test, y_test = X[200:].reset_index(drop=True), y[200:].reset_index(drop=True)
    display = MisfitByFeatureDisplay.from_estimator(
        fitted, test, y_test, feature="b", **FAST
    )
    assert display.ax_.get_xlabel() == "b"
    assert display.figure_ is display.ax_.figure
    assert isinstance(display.report_, cg.Check)
    mean, std = fitted.predict(test, return_std=True)
    other = MisfitByFeatureDisplay.from_predictions(
        y_test, (mean, std), X=test, feature=0, ax=display.ax_, **FAST
    )
    assert other.ax_ is display.ax_
    assert other.feature == "a"
    assert other.report_.pvalue == display.report_.pvalue
    for wrong in ("c", 2):
        with pytest.raises(InputError, match="is no column of X"):
            MisfitByFeatureDisplay.from_predictions(
                y_test, (mean, std), X=test, feature=wrong, **FAST
            )


def test_reliability():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 1))
    y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    fitted = LogisticRegression().fit(X[:200], y[:200])
    display = ReliabilityDisplay.from_estimator(fitted, X[200:], y[200:], **FAST)
    p = fitted.predict_proba(X[200:])
    other = ReliabilityDisplay.from_predictions(y[200:], p, X=X[200:], **FAST)
    assert other.report_.pvalue == display.report_.pvalue
    alone = ReliabilityDisplay.from_predictions(y[200:], p[:, 1], **FAST)
    assert alone.ax_ is not None


def test_coverage():
    x, noise = np.random.default_rng(2).standard_normal((2, 300))
    display = CoverageDisplay.from_predictions(
        x + noise, (x, np.full(300, 0.5)), X=x, **FAST
    )
    assert display.ax_.get_xlabel() == "predicted coverage"
    intervals = cg.from_intervals(x - 1.645, x + 1.645, 0.9)
    assert CoverageDisplay.from_predictions(x + noise, intervals, X=x, **FAST).ax_
    X, y = regression()
    fitted = BayesianRidge().fit(X, y)
    assert CoverageDisplay.from_estimator(fitted, X, y, **FAST).report_.checked.n == 400
    p = cg.probabilities(np.full(300, 0.5))
    with pytest.raises(InputError, match="a check of classes"):
        CoverageDisplay.from_predictions((noise > 0).astype(int), p, X=x, **FAST)


def test_the_scorer_prefers_the_calibrated_model():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (600, 1))
    y = X[:, 0] ** 2 + rng.standard_normal(600)
    line, square = (
        cross_val_score(BayesianRidge(), part, y, scoring=avoidable_loss_scorer, cv=2)
        for part in (X, X**2)
    )
    assert line.max() < -0.1 < square.min()
    fitted = BayesianRidge().fit(X, y)
    report = cg.check(fitted, X, y, tolerance="1 nats", rng=0)
    assert avoidable_loss_scorer(fitted, X, y) == -report.avoidable_loss.estimate


def test_nothing_is_imported_before_it_is_needed():
    code = (
        "import sys, condgof as cg; cg.sklearn, cg.testing;"
        " print([m for m in ('sklearn', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
