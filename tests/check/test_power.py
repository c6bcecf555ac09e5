"""What could have been found: closed forms, and simulation with the size that is said."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.check._size import HOPELESS, _moved, crossing, first_to_next
from condgof.sample import Seed, Use
from condgof.stein._evidence import NormalEvidence

FAST = {"engine": 1, "n_boot": 199}


def power_of(model, x, y, **options):
    return cg.check(model, x, y, rng=0, **FAST, **options).power


@pytest.mark.parametrize(("size", "mean", "sd"), [(0.6, 0.6, 1.0), (np.log(1.4), 0.0, 1.4)])
def test_means_of_evidence_under_a_misfit(size, mean, sd):
    """By sums over the table of the evidence."""
    evidence = NormalEvidence.at((4.0, 1.0), 1)
    rows = SimpleNamespace(sample=SimpleNamespace(d_y=1))
    bench = SimpleNamespace(stream=lambda use: Seed(0).stream(Use.CHECK, use), rows=rows)
    move = (lambda u, a: u + a) if mean else (lambda u, a: u * np.exp(a))
    xi, found, _ = _moved(evidence, bench, move, 1.0)(size)
    grid = np.linspace(-6.5, 6.5, len(evidence.table))
    weight = np.exp(-0.5 * ((grid - mean) / sd) ** 2)
    expected = weight @ evidence.table / weight.sum()
    np.testing.assert_allclose(found, expected, atol=3e-3)
    np.testing.assert_allclose(xi.mean(axis=0), expected, atol=3e-3)


def test_crossing():
    for at in (1e-3, 0.02, 0.3, 3.0):
        found = crossing(lambda size, at=at: min(1.0, 0.8 * size / at), 0.1, 4.0)
        assert found == pytest.approx(at, rel=0.03)
    assert crossing(lambda size: 0.5, 0.1, 4.0) == math.inf
    assert crossing(lambda size: 1.0, 0.1, 4.0) < 1e-4


def test_more_rows_find_smaller_misfits():
    x, y = np.random.default_rng(4).standard_normal((2, 800))
    seen = [power_of((np.zeros(n), np.ones(n)), x[:n], y[:n]) for n in (50, 200, 800)]
    sizes, spreads = [one.size for one in seen], [one.spread for one in seen]
    assert sizes == sorted(sizes, reverse=True)
    assert spreads == sorted(spreads, reverse=True)
    assert sizes[0] / sizes[2] == pytest.approx(4.0, rel=0.35)  # about as 1/√n
    assert all(spread > 1 for spread in spreads)
    shown = (
        r"A shift of 0.\d\d model standard deviations, or a spread wrong by a factor of 1.\d\d?, would "
    )
    assert all(re.fullmatch(shown + "have been found with probability 0.8.", one.words) for one in seen)


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
    x, y = rng.standard_normal((150, 1)), rng.standard_normal((150, 2))
    y[:, 0] += size
    return (np.zeros((150, 2)), np.ones((150, 2))), x, y


def classes(size, rng):
    x = rng.standard_normal((300, 2))
    p = np.exp(x @ np.array([[1.0, 0.0, -1.0], [0.5, -1.0, 0.5]]))
    p /= p.sum(axis=1, keepdims=True)
    q = p + np.minimum(size, p.max(axis=1))[:, None] * first_to_next(p)
    return cg.probabilities(p), x, (rng.random((300, 1)) >= np.cumsum(q, axis=1)).sum(axis=1)


def counts(size, rng):
    x = rng.standard_normal(150)
    mean = 2.0 * np.exp(0.4 * x)
    return cg.models.Poisson(mean), x, rng.poisson(mean + size * np.sqrt(mean))


def intervals(size, rng):
    x = rng.standard_normal(300)
    inside = rng.random(300) < 0.9 - size
    return cg.from_intervals(x - 1, x + 1, 0.9), x, x + np.where(inside, 0.0, 2.0)


@pytest.mark.parametrize("draw", [normal, wider, scores, columns, classes, counts, intervals])
def test_what_could_have_been_found_is_found(draw):
    """The misfit that is said to be found with probability 0.8 is, rather more often.

    In a few samples; tests/calibration/sizes.py has more.
    """
    could = power_of(*draw(0.0, np.random.default_rng(5)))
    size = could.spread if draw is wider else could.size
    trials = 5 if draw is counts else 10
    samples = (draw(size, np.random.default_rng(trial)) for trial in range(trials))
    found = sum(cg.check(*one, rng=0, **FAST).rejected for one in samples)
    assert found >= binom.ppf(1e-3, trials, 0.75)


@pytest.mark.parametrize("draw", [normal, scores, columns, classes, counts, intervals])
def test_size_and_power_are_on_one_scale(draw):
    """A misfit three times as large as could be found is found, and its size is said to be that."""
    size = 3.0 * power_of(*draw(0.0, np.random.default_rng(5))).size
    found = [cg.check(*draw(size, np.random.default_rng(trial)), rng=0, **FAST) for trial in range(3)]
    assert all(one.rejected for one in found)
    assert np.mean([one.effect.interval.estimate for one in found]) == pytest.approx(size, rel=0.2)


def test_with_few_groups_nothing_can_be_found(rng):
    x, y = rng.standard_normal((2, 60))
    found = power_of((x, np.ones(60)), x, y + x, groups=np.arange(60) % 3)
    assert (found.size, found.words) == (math.inf, HOPELESS)


def test_what_is_not_known_is_not_said(rng):
    x = rng.standard_normal(80)
    draws = rng.standard_normal((80, 19, 2))
    found = power_of(cg.from_draws(draws), x, rng.standard_normal((80, 2)))
    assert found.size is None
    assert found.words.endswith("is not known for draws of several columns.")
    p = np.full((80, 3), 1 / 3)
    found = power_of(cg.probabilities(p), x, rng.integers(0, 3, 80), standardize="none")
    assert found.words.endswith("is not known where classes are compared by their labels alone.")


def test_words(rng):
    words = {draw.__name__: power_of(*draw(0.0, rng)).words for draw in (columns, classes, intervals)}
    ends = " would have been found with probability 0.8."
    assert all(one.endswith(ends) for one in words.values())
    assert words["columns"].startswith("A shift of one column by 0.")
    assert re.match(r"Predicted probabilities that are off by 0.\d+ at every x would", words["classes"])
    assert re.match(r"A 90% interval that covers 0.\d+ less than it says at every x", words["intervals"])
