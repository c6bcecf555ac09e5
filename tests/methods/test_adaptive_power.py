"""Level and power of the adaptive test in small: fixed seeds, exact bounds of 1e-4."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from scipy.stats import t as student

import condgof as cg
from condgof.study import problem
from levels import assert_uniform


def pvalues(name, n, trials, **options):
    case = problem(name)
    for trial in range(trials):
        x, y = case.draw(n, np.random.default_rng([trial, n]))
        yield cg.adaptive(case.p, x, y, n_boot=99, rng=trial, engine=1, **options).pvalue


@pytest.mark.parametrize(
    ("name", "n", "standardize"),
    [
        ("true-mixture", 60, "cdf"),
        ("true-pair", 60, "cdf"),
        ("true-pair", 50, "marginals"),
    ],
)
def test_level(name, n, standardize):
    assert_uniform(list(pvalues(name, n, 15, standardize=standardize)), n_boot=99)


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
    """Four of five have a probability below 1e-4 if nothing is found."""
    assert sum(p <= 0.05 for p in pvalues(name, n, 5)) >= 4


def small_pvalues(draw, family):
    """How many of six samples a family rejects at 0.05, with its statistics by itself."""
    count = 0
    for trial in range(6):
        model, x, y = draw(np.random.default_rng(trial))
        result = cg.adaptive(model, x, y, n_boot=99, rng=trial, engine=1)
        count += result.details["families"][family] <= 0.05
    return count


def standard(n):
    return np.zeros(n), np.ones(n)


def in_a_cell(rng):
    x = pd.DataFrame({name: rng.choice(list("uvwxy"), 400) for name in "ab"})
    inside = (x["a"] == "u") & (x["b"] == "w")
    return standard(400), x, 1.5 * inside.to_numpy() + rng.normal(size=400)


def in_a_cell_of_numbers(rng):
    x = rng.integers(0, 5, (400, 2)).astype(float)
    inside = (x[:, 0] == 2) & (x[:, 1] == 3)
    return standard(400), x, 1.5 * inside + rng.normal(size=400)


def spread_by_category(rng):
    x = pd.DataFrame({"a": rng.choice(list("abcdefghijkl"), 400)})
    spread = np.where(x["a"].isin(list("aceg")), 1.5, 0.85)
    return standard(400), x, spread * rng.normal(size=400)


def in_a_wave(rng):
    x = rng.random((300, 2))
    return standard(300), x, np.sin(60 * x[:, 0]) + rng.normal(size=300)


def of_three_columns(rng):
    x = rng.normal(size=(200, 4))
    return standard(200), x, 0.6 * x[:, 0] * x[:, 1] * x[:, 3] + rng.normal(size=200)


def two_modes_in_a_half(rng):
    x = rng.normal(size=(300, 2))
    modes = rng.choice([-0.95, 0.95], 300) + 0.31 * rng.normal(size=300)
    return standard(300), x, np.where(x[:, 1] > 0, modes, rng.normal(size=300))


def of_common_size(rng):
    root = np.sqrt(rng.chisquare(3, 300) / 3)
    y = norm.ppf(student.cdf(rng.normal(size=(300, 2)) / root[:, None], 3))
    law = cg.normal(mean=np.zeros((300, 2)), std=np.ones((300, 2)))
    return law, rng.normal(size=(300, 2)), y


def correlation_by_a_product(rng):
    x = rng.normal(size=(300, 2))
    rho = 0.7 * np.sign(x[:, 0] * x[:, 1])
    first, other = rng.normal(size=(2, 300))
    law = cg.normal(mean=np.zeros((300, 2)), std=np.ones((300, 2)))
    return law, x, np.column_stack([first, rho * first + np.sqrt(1 - rho**2) * other])


@pytest.mark.parametrize(
    ("draw", "family"),
    [
        (in_a_cell, "cells"),
        (in_a_cell_of_numbers, "cells"),
        (spread_by_category, "category columns"),
        (in_a_wave, "waves"),
        (of_three_columns, "triples"),
        (two_modes_in_a_half, "shapes"),
        (of_common_size, "level"),
        (correlation_by_a_product, "pairs"),
    ],
)
def test_each_family_finds_what_it_asks_for(draw, family):
    """Four of six have a probability below 1e-4 if the family sees nothing."""
    assert small_pvalues(draw, family) >= 4
