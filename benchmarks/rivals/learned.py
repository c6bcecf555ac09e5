"""Tests by a learner: boosted trees on residuals, C2ST, and the risk of coverage (ERT).

Each learner is fitted to the rows of the other folds and judged on its own; the t tests
across folds are not exact, so that their power is also given at their own level.
"""

from __future__ import annotations

from collections.abc import Callable

import lightgbm
import numpy as np
import pandas as pd
from scipy.stats import t as student

from rivals.design import Rng, Sample

FOLDS = 5
#: Small trees, few of them: samples have some hundred rows.
TREES = {"n_estimators": 50, "num_leaves": 8, "learning_rate": 0.1, "verbose": -1}
TREES |= {"n_jobs": 1, "min_child_samples": 10}
#: Nominal coverage of the interval that ERT judges.
COVERAGE = 0.9


def numbers(x: object) -> np.ndarray:
    """Return columns as numbers; categories by their codes, (n, d)."""
    if not isinstance(x, pd.DataFrame):
        return np.asarray(x, dtype=float)
    columns = [
        x[c].cat.codes if isinstance(x[c].dtype, pd.CategoricalDtype) else x[c] for c in x
    ]
    return np.column_stack(columns).astype(float)


def normal_scores(sample: Sample) -> np.ndarray:
    """Return Φ⁻¹(F(y|x)), (n, d_y)."""
    z = sample.law.normal_scores(np.reshape(sample.y, (len(sample.y), -1)))
    return np.reshape(z, (len(sample.y), -1))


def folds_of(n: int, rng: Rng) -> np.ndarray:
    return rng.permutation(n) % FOLDS


def out_of_fold(x: np.ndarray, target: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return predictions of a target by trees that were fitted to the other folds, (n,)."""
    predicted = np.empty(len(target))
    for f in range(FOLDS):
        rest = fold != f
        model = lightgbm.LGBMRegressor(**TREES).fit(x[rest], target[rest])
        predicted[~rest] = model.predict(x[~rest])
    return predicted


def mean_is_positive(values: np.ndarray) -> float:
    """Return the p-value of a t test that the mean of values is not above 0."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(student.sf(values.mean() / max(error, 1e-300), len(values) - 1))


def boosted(sample: Sample, rng: Rng) -> float:
    """Predict z and z² − 1 from x: does the prediction correlate with them on new rows?"""
    x = numbers(sample.x)
    z = normal_scores(sample)
    fold = folds_of(len(x), rng)
    targets = [*z.T, *(np.square(z) - 1.0).T]
    if z.shape[1] == 2:
        targets.append(z[:, 0] * z[:, 1])
    pvalues = [mean_is_positive(out_of_fold(x, one, fold) * one) for one in targets]
    return min(1.0, len(pvalues) * min(pvalues))


def classifier_log_odds(
    features: Callable[[np.ndarray], np.ndarray],
    real: np.ndarray,
    drawn: np.ndarray,
    fold: np.ndarray,
) -> np.ndarray:
    """Return log odds of being real, real less drawn, of rows of the other folds, (n,)."""
    difference = np.empty(len(fold))
    for f in range(FOLDS):
        rest = fold != f
        rows = np.concatenate([features(real)[rest], features(drawn)[rest]])
        label = np.repeat([1, 0], rest.sum())
        model = lightgbm.LGBMClassifier(**TREES).fit(rows, label)
        odds = [
            model.predict_proba(features(side)[~rest], raw_score=True)
            for side in (real, drawn)
        ]
        difference[~rest] = odds[0] - odds[1]
    return difference


def c2st(sample: Sample, rng: Rng) -> float:
    """Tell (x, y) from (x, y′), y′ drawn from the model: a classifier two-sample test.

    Pairs with the same x stay in one fold; the test is of the sign of the difference of
    their log odds, which is symmetric under the model.
    """
    x = numbers(sample.x)

    def features(z: np.ndarray) -> np.ndarray:
        return np.column_stack([x, z])

    z = normal_scores(sample)
    drawn = normal_scores(sample.resampled(rng))
    difference = classifier_log_odds(features, z, drawn, folds_of(len(x), rng))
    return mean_is_positive(np.tanh(difference))


def excess_risk_of_coverage(sample: Sample, rng: Rng) -> float:
    """ERT: can trees predict from x better than 0.9 whether y is in the 90% interval?

    The gain in Brier score of the prediction over the nominal coverage, by a t test.
    """
    x = numbers(sample.x)
    u = np.abs(normal_scores(sample)[:, 0])
    covered = (u <= 1.6448536269514722).astype(float)
    predicted = np.clip(out_of_fold(x, covered, folds_of(len(x), rng)), 0.0, 1.0)
    gain = np.square(COVERAGE - covered) - np.square(predicted - covered)
    return mean_is_positive(gain)
