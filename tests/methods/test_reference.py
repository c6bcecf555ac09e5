"""The statistic of `adaptive` is a function of the data: no seed or order moves it."""

import numpy as np
import pytest
from scipy.stats import chi2

import condgof as cg

SHORT = {"n_boot": 99, "engine": 1}
#: Draws of the tests that compare the spread of p-values.
DRAWS = 199


def normal(n, rng):
    x = rng.normal(size=(n, 3))
    y = x[:, 0] + 0.1 * x[:, 1] + rng.normal(size=n)
    return lambda rows: ((x[rows, 0], np.ones(len(rows))), x[rows], y[rows])


def counts(n, rng):
    x = rng.normal(size=(n, 2))
    mean = np.exp(0.5 + 0.4 * x[:, 0])
    y = rng.poisson(mean)
    return lambda rows: (cg.models.Poisson(mean=mean[rows]), x[rows], y[rows])


def classes(n, rng):
    x = rng.normal(size=(n, 2))
    p = 1.0 / (1.0 + np.exp(-x[:, 0]))
    y = rng.random(n) < p
    return lambda rows: (cg.probabilities(p[rows]), x[rows], y[rows])


def scores(n, rng):
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + rng.normal(size=n)
    return lambda rows: (cg.from_score(lambda x, y: x[:, 0] - y), x[rows], y[rows])


KINDS = {"normal": normal, "counts": counts, "classes": classes, "scores": scores}


@pytest.mark.parametrize("n", [40, 5000])
@pytest.mark.parametrize("kind", KINDS)
def test_the_statistic_is_the_same_for_every_seed(kind, n):
    """Resampled rows, limits, recombined strata, signs of rows and of blocks."""
    model, x, y = KINDS[kind](n, np.random.default_rng(1))(np.arange(n))
    results = [cg.adaptive(model, x, y, rng=seed, **SHORT) for seed in (1, 2)]
    assert len({result.statistic for result in results}) == 1
    draws = [tuple(result.null_distribution) for result in results]
    assert len(set(draws)) == 2


@pytest.mark.parametrize("dependence", [{"groups": True}, {"dependence": 5}])
def test_the_statistic_of_dependent_rows_is_the_same_for_every_seed(dependence):
    n = 60
    rng = np.random.default_rng(2)
    model, x, y = normal(n, rng)(np.arange(n))
    if "groups" in dependence:
        dependence = {"groups": np.repeat(np.arange(15), 4)}
    results = [cg.adaptive(model, x, y, rng=seed, **dependence, **SHORT) for seed in (1, 2)]
    assert results[0].null == results[1].null
    assert results[0].statistic == results[1].statistic


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_moves_the_statistic_by_rounding(kind):
    n = 120
    rng = np.random.default_rng(3)
    sample = KINDS[kind](n, rng)
    plain = cg.adaptive(*sample(np.arange(n)), rng=1, **SHORT)
    mixed = cg.adaptive(*sample(rng.permutation(n)), rng=1, **SHORT)
    assert mixed.statistic == pytest.approx(plain.statistic, abs=1e-3)


@pytest.mark.parametrize("verb", [cg.adaptive, cg.check])
def test_p_spreads_over_seeds_as_its_draws_do(verb):
    """χ² of the counts of draws above the statistic, in two samples over 15 seeds."""
    total = 0.0
    for seed in range(2):
        model, x, y = normal(80, np.random.default_rng([4, seed]))(np.arange(80))
        options = {"n_boot": DRAWS, "engine": 1}
        p = [verb(model, x, y, rng=trial, **options).pvalue for trial in range(15)]
        above = np.array(p) * (DRAWS + 1) - 1
        rate = above.mean() / DRAWS
        total += np.square(above - above.mean()).sum() / (DRAWS * rate * (1 - rate))
    assert total < chi2.isf(1e-4, 28)
    if verb is cg.adaptive:  # draws of the search are not of the seed: they vary less
        assert total > chi2.ppf(1e-4, 28)
