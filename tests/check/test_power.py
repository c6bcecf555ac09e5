"""What could have been found: closed forms, and simulation with the size that is said."""

import math
import re

import numpy as np
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.check import HOPELESS, PairSums, Size, spread_inflation
from condgof.check.kinds import first_to_next
from condgof.null import Dependence, intraclass_correlation

FAST = {"engine": 1, "n_boot": 99}


def power_of(model, x, y, **options):
    return cg.check(model, x, y, rng=0, **FAST, **options).power


def test_what_is_found_has_that_law():
    """D̂ of the D that is told is large enough in 0.8 of all samples, by its law."""
    sums = PairSums(n=300, mean=0.0, near=1.0, between=0.0, square=0.1, least=0.0, lead=0.3)
    told = Size((sums,), math.sqrt, "sd", "{}").power(0.05, 300)
    assert sums.quantile(told.size**2, 0.2) == pytest.approx(
        sums.quantile(0.0, 0.95), rel=1e-6
    )
    more = Size((sums,), math.sqrt, "sd", "{}").power(0.05, 30_000)
    assert more.size == pytest.approx(told.size / 10, rel=0.05)
    assert more.words == f"Minimum detectable (power 0.8): {more.size:.2g}."


def test_more_rows_find_smaller_misfits():
    x, y = np.random.default_rng(4).standard_normal((2, 800))
    seen = [power_of((np.zeros(n), np.ones(n)), x[:n], y[:n]) for n in (50, 200, 800)]
    sizes = [one.size for one in seen]
    spreads = [one.spread for one in seen]
    assert sizes == sorted(sizes, reverse=True)
    assert spreads == sorted(spreads, reverse=True)
    assert sizes[0] / sizes[2] == pytest.approx(4.0, rel=0.35)  # about as 1/√n
    assert all(spread > 1 for spread in spreads)
    shown = r"Minimum detectable \(power 0\.8\): bias 0\.\d\d SD, spread ×1\.\d\d?\."
    assert all(re.fullmatch(shown, one.words) for one in seen)


def normal(size, rng):
    x, y = rng.standard_normal((2, 150))
    return (x, np.ones(150)), x, x + size + y


def wider(size, rng):
    x, y = rng.standard_normal((2, 150))
    return (x, np.ones(150)), x, x + (size or 1.0) * y


def scores(size, rng):
    x, y = rng.standard_normal((2, 150))
    return cg.from_scores(-(y + size)[:, None]), x, y + size


def columns(size, rng):
    x = rng.standard_normal((150, 1))
    y = rng.standard_normal((150, 2))
    y[:, 0] += size
    return (np.zeros((150, 2)), np.ones((150, 2))), x, y


def drawn(size, rng):
    _, x, y = columns(size, rng)
    return cg.from_draws(rng.standard_normal((150, 39, 2))), x, y


def classes(size, rng):
    x = rng.standard_normal((300, 2))
    p = np.exp(x @ np.array([[1.0, 0.0, -1.0], [0.5, -1.0, 0.5]]))
    p /= p.sum(axis=1, keepdims=True)
    q = p + np.minimum(size, p.max(axis=1))[:, None] * first_to_next(p)
    return (
        cg.probabilities(p),
        x,
        (rng.random((300, 1)) >= np.cumsum(q, axis=1)).sum(axis=1),
    )


def counts(size, rng):
    x = rng.standard_normal(150)
    mean = 2.0 * np.exp(0.4 * x)
    return cg.models.Poisson(mean), x, rng.poisson(mean + size * np.sqrt(mean))


def intervals(size, rng):
    x = rng.standard_normal(300)
    inside = rng.random(300) < 0.9 - size
    return cg.from_intervals(x - 1, x + 1, 0.9), x, x + np.where(inside, 0.0, 2.0)


@pytest.mark.parametrize(
    "draw", [normal, wider, scores, columns, drawn, classes, counts, intervals]
)
def test_what_could_have_been_found_is_found(draw):
    """The misfit that is said to be found with probability 0.8 is, rather more often.

    In a few samples; tests/calibration has more.
    """
    could = power_of(*draw(0.0, np.random.default_rng(5)))
    size = could.spread if draw is wider else could.size
    trials = 5
    samples = (draw(size, np.random.default_rng(trial)) for trial in range(trials))
    found = sum(cg.check(*one, rng=0, **FAST).rejected for one in samples)
    assert found >= binom.ppf(1e-3, trials, 0.75)


@pytest.mark.parametrize("draw", [normal, scores, columns, classes, counts, intervals])
def test_size_and_power_are_on_one_scale(draw):
    """A misfit three times as large as could be found is found, and its size is said to be
    that.
    """
    size = 3.0 * power_of(*draw(0.0, np.random.default_rng(5))).size
    found = [
        cg.check(*draw(size, np.random.default_rng(trial)), rng=0, **FAST)
        for trial in range(3)
    ]
    assert all(one.rejected for one in found)
    assert np.mean([one.effect.interval.estimate for one in found]) == pytest.approx(
        size, rel=0.2
    )


def test_with_few_groups_nothing_can_be_found(rng):
    x, y = rng.standard_normal((2, 60))
    found = power_of((x, np.ones(60)), x, y + x, groups=np.arange(60) % 3)
    assert (found.size, found.words) == (math.inf, HOPELESS)


def test_data_far_from_the_model_do_not_tell_what_is_found(rng):
    x, y = rng.standard_normal((2, 60))
    found = power_of((x, np.ones(60)), x, x + 1e5 * y)
    assert found.size is None
    assert found.words.endswith("is not known: the data lie too far from the predictions.")


def test_words(rng):
    words = {
        draw.__name__: power_of(*draw(0.0, rng)).words
        for draw in (columns, classes, intervals)
    }
    start = "Minimum detectable (power 0.8): "
    assert all(one.startswith(start) for one in words.values())
    words = {name: one.removeprefix(start) for name, one in words.items()}
    assert re.match(r"bias 0\.|a uniform bias of 0\.", words["columns"])
    assert re.match(
        r"predicted probabilities that are off by 0.\d+ at every x", words["classes"]
    )
    assert re.match(
        r"a coverage of the 90% interval that is off by 0.\d+ at every x",
        words["intervals"],
    )


def test_a_spread_is_inflated_as_squares_of_normal_numbers_are():
    """Against dense covariances: ρ of z with the best weights, ρ² of its square with those
    that the square itself gives.
    """
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), [30, *[5] * 10, 2])
    z = 0.6 * rng.normal(size=12)[codes] + 0.8 * rng.normal(size=len(codes))
    rho = intraclass_correlation((z - z.mean())[:, None], codes)
    assert 0.1 < rho < 0.7
    same = codes[:, None] == codes

    def dense(correlation):
        return np.where(np.eye(len(codes)) == 1, 1.0, np.where(same, correlation, 0.0))

    # What squares say of their own correlation, pair by pair.
    spread = np.square(z - z.mean())
    spread = spread / spread.mean() - 1.0
    products = np.where(same, np.outer(spread, spread), 0.0)
    np.fill_diagonal(products, 0.0)
    n_g = np.bincount(codes)
    of_squares = (products / n_g[codes]).sum() / (n_g - 1).sum() / np.square(spread).mean()
    own = 1.0 / (1.0 + (n_g[codes] - 1.0) * np.clip(of_squares, 0.0, 1.0))

    best = 1.0 / np.linalg.solve(dense(rho), np.ones(len(codes))).sum()
    weighted = own @ dense(rho**2) @ own / own.sum() ** 2
    found = spread_inflation(z, Dependence(codes=codes))
    assert found == pytest.approx(weighted / best, rel=1e-9)


def test_a_spread_of_a_series_is_inflated_less_than_its_mean():
    n = 4000
    rng = np.random.default_rng(1)
    noise = rng.normal(size=n)
    z = np.empty(n)
    z[0] = noise[0]
    for i in range(1, n):
        z[i] = 0.7 * z[i - 1] + np.sqrt(0.51) * noise[i]
    lag = np.arange(1, n)
    exact, plain = (n + 2 * ((n - lag) * rho**lag).sum() for rho in (0.49, 0.7))
    assert spread_inflation(z, Dependence(length=20)) == pytest.approx(
        exact / plain, rel=0.05
    )
    assert spread_inflation(z, Dependence()) == 1.0
