"""`calibration`: the columns that it names and compares, and confident classifiers."""

import numpy as np
import pytest

import condgof as cg
from condgof.errors import UnsupportedModelError
from condgof.laws import predictions
from levels import assert_not_too_small


def test_the_strongest_column_is_a_prediction():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3))
    mean = x.sum(axis=1)
    std = np.exp(0.3 * x[:, 0])
    result = cg.calibration((mean, std), x, mean + 1.5 * std * rng.normal(size=300), rng=0)
    assert result.details["strongest_column"]["column"] in ("mean", "std")
    three = rng.dirichlet(np.ones(3), 300)
    y = np.array([rng.choice(3, p=p) for p in three])
    names = {f"P({name})" for name in "abc"}
    found = cg.calibration(
        cg.probabilities(three, list("abc")), None, np.array(list("abc"))[y], rng=0
    )
    assert found.details["strongest_column"]["column"] in names
    many = rng.dirichlet(np.ones(15), 300)
    y = np.array([rng.choice(15, p=p) for p in many])
    found = cg.calibration(cg.probabilities(many), None, y, rng=0)
    assert found.details["strongest_column"]["column"] in (
        "largest probability",
        *(f"P({k})" for k in range(15)),
    )


def test_it_is_adaptive_with_predictions_for_x():
    """Mean and standard deviation by ranks, probabilities as they are."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    mean = x.sum(axis=1)
    std = np.exp(0.3 * x[:, 0])
    y = mean + std * rng.normal(size=120)
    p = 1 / (1 + np.exp(-x[:, 0]))
    labels = (rng.random(120) < p).astype(int)
    cases = [
        ((mean, std), y, np.column_stack([mean, std]), "ranks"),
        (cg.probabilities(p), labels, p[:, None], "none"),
    ]
    for model, response, seen, scale_x in cases:
        found = cg.calibration(model, x, response, rng=0, n_boot=200)
        same = cg.adaptive(model, seen, response, scale_x=scale_x, rng=0, n_boot=200)
        assert found.statistic == same.statistic
        np.testing.assert_array_equal(found.null_distribution, same.null_distribution)


def test_precision_is_passed_on():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=200)
    y = mean + rng.normal(size=200)
    std = np.exp(0.1 * rng.normal(size=200))
    result = cg.calibration((mean, std), None, y, precision=0.05, n_boot=50, rng=0)
    plain = cg.calibration((mean, std), None, y, n_boot=50, rng=0)
    assert result.details["precision"] <= 0.05 < plain.details["precision"]


def test_a_confident_classifier_that_is_right_is_not_rejected():
    """Errors of probability 1e-3: y is resampled, where signs would see no spread."""
    pvalues = []
    for trial in range(5):
        rng = np.random.default_rng([3, trial])
        p = np.abs((rng.random(2600) < 0.5) - 1e-3 * rng.uniform(0.5, 1.5, 2600))
        y = (rng.random(2600) < p).astype(int)
        result = cg.calibration(cg.probabilities(p), None, y, n_boot=99, rng=trial)
        assert result.null.startswith("model")
        pvalues.append(result.pvalue)
    assert_not_too_small(pvalues)


def test_draws_and_out_of_fold_fits_are_not_functions_of_x_alone():
    """Where the mean of a few draws happens to be high, y is low among them: no misfit."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    draws = cg.from_draws(x[:, None] + rng.normal(size=(400, 5)))
    with pytest.raises(UnsupportedModelError, match="draws are not functions of x alone"):
        cg.calibration(draws, x, y)
    law = cg.crossfit(cg.fits.ols(), x, y, rng=0)
    assert predictions(law) is predictions(draws) is None
    assert predictions(cg.normal(mean=x, std=np.ones(400))).shape == (400, 2)
    pvalues = []
    for seed in range(12):
        rng = np.random.default_rng([1, seed])
        x = rng.normal(size=300)
        few = cg.from_draws(x[:, None] + rng.normal(size=(300, 5)))
        y = x + rng.normal(size=300)
        pvalues.append(cg.adaptive(few, x, y, rng=seed, n_boot=99, engine=1).pvalue)
    assert_not_too_small(pvalues)
