"""The rule by which cells end: against integrals, grids and exact probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from calibration.sequential import (
    CONSERVATIVE,
    FAILS,
    FAILS_ERROR,
    HOLDS,
    HOLDS_ERROR,
    LEVEL_01,
    LEVEL_05,
    OPEN,
    UNIFORM,
    Limit,
    Prior,
    at_least,
    confidence_interval,
    log_evidence,
)

LIMITS = (LEVEL_05, LEVEL_01, at_least(0.8))


@pytest.mark.parametrize(("count", "samples"), [(0, 1), (3, 40), (40, 40)])
def test_evidence_is_the_ratio_of_likelihoods_mixed_over_the_prior(count, samples):
    rate = 0.07
    prior = Prior.around(0.05)
    density = beta(prior.a, prior.b).pdf

    def ratio(p):
        likelihood = p**count * (1.0 - p) ** (samples - count)
        return density(p) * likelihood / (rate**count * (1 - rate) ** (samples - count))

    mixed = quad(ratio, 0.0, 0.5, epsabs=0.0, epsrel=1e-10)[0]
    mixed += quad(ratio, 0.5, 1.0, epsabs=0.0, epsrel=1e-10)[0]
    assert math.exp(log_evidence(count, samples, rate, prior)) == pytest.approx(mixed)


@pytest.mark.parametrize(("count", "samples"), [(0, 60), (4, 60), (60, 60), (300, 1000)])
def test_interval_is_what_the_evidence_leaves(count, samples):
    low, high = confidence_interval(count, samples, error=0.05)
    grid = np.linspace(0.0005, 0.9995, 2000)
    evidence = np.array([log_evidence(count, samples, p, UNIFORM) for p in grid])
    left = grid[evidence < math.log(20.0)]
    assert low <= left.min() <= low + 0.0005
    assert high - 0.0005 <= left.max() <= high


def chance_of(limit: Limit, verdicts: set[str], rate: float, samples: int) -> float:
    """Return the exact chance that one of these verdicts is reached, by recursion.

    The number of rejections among samples without a verdict is a Markov chain.
    """
    chance = {0: 1.0}
    reached = 0.0
    for m in range(1, samples + 1):
        after: dict[int, float] = {}
        for count, share in chance.items():
            for more, p in ((1, rate), (0, 1.0 - rate)):
                after[count + more] = after.get(count + more, 0.0) + share * p
        chance = {}
        for count, share in after.items():
            verdict = limit.verdict(count, m)
            if verdict in verdicts:
                reached += share
            elif verdict == OPEN and share > 1e-9:
                chance[count] = share
    return reached


@pytest.mark.parametrize("limit", LIMITS, ids=["0.05", "0.01", "power"])
def test_errors_of_the_rule_are_as_stated(limit):
    """Exactly, over 250 samples; the bound is for any number of them."""
    fails = chance_of(limit, {FAILS}, limit.allowed, 250)
    holds = chance_of(limit, {HOLDS, CONSERVATIVE}, limit.tolerance, 250)
    assert fails <= FAILS_ERROR
    assert holds <= HOLDS_ERROR


def test_right_levels_are_seldom_called_conservative():
    assert chance_of(LEVEL_05, {CONSERVATIVE}, LEVEL_05.allowed, 250) <= HOLDS_ERROR


def test_wrong_levels_fail_soon():
    assert chance_of(LEVEL_05, {FAILS}, 0.2, 200) > 0.95
    assert chance_of(LEVEL_05, {FAILS}, 0.5, 40) > 0.95


@pytest.mark.parametrize(
    ("count", "samples", "verdict"),
    [
        (0, 0, OPEN),
        (5, 100, OPEN),
        (50, 1000, HOLDS),
        (0, 300, CONSERVATIVE),
        (200, 1000, FAILS),
        (68, 1000, OPEN),
    ],
)
def test_verdicts_on_a_level(count, samples, verdict):
    assert LEVEL_05.verdict(count, samples) == verdict


def test_verdicts_on_a_power():
    limit = at_least(0.8)
    assert limit.verdict(80, 100) == OPEN
    assert limit.verdict(98, 100) == HOLDS
    assert limit.verdict(30, 100) == FAILS
