"""Level and power of the adaptive test: fixed seeds, binomial bounds with tails of 1e-4."""

import numpy as np
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.study import problem


def pvalues(name, n, trials, **options):
    case = problem(name)
    for trial in range(trials):
        x, y = case.draw(n, np.random.default_rng([trial, n]))
        yield cg.adaptive(case.p, x, y, n_boot=200, rng=trial, engine=1, **options).pvalue


@pytest.mark.parametrize(
    ("name", "n", "standardize"),
    [
        ("true-mixture", 60, "cdf"),
        ("true-pair", 60, "cdf"),
        ("true-pair", 50, "marginals"),
    ],
)
def test_level(name, n, standardize):
    trials = 40
    found = list(pvalues(name, n, trials, standardize=standardize))
    for alpha in (0.01, 0.05, 0.5):
        rejections = sum(p <= alpha for p in found)
        assert (
            binom.ppf(1e-4, trials, alpha) <= rejections <= binom.isf(1e-4, trials, alpha)
        ), alpha


@pytest.mark.parametrize(
    ("name", "seen", "missed"), [("weights", 0.57, 0.07), ("weights-x", 0.97, 0.05)]
)
def test_normal_scores_see_the_weights_of_separated_modes(name, seen, missed):
    """Rates at n = 200: by the model's CDF, and by its mean and standard deviation."""
    trials = 25
    by_cdf, by_scale = (
        sum(p <= 0.05 for p in pvalues(name, 200, trials, standardize=by))
        for by in ("cdf", "mean_std")
    )
    assert by_cdf >= binom.ppf(1e-4, trials, seen)
    assert by_scale <= binom.isf(1e-4, trials, missed)


@pytest.mark.parametrize(("name", "n"), [("hgm", 100), ("correlation", 400), ("qgm", 900)])
def test_a_wrong_model_is_found(name, n):
    assert sum(p <= 0.05 for p in pvalues(name, n, 10)) >= 6
