"""The variance of differences of scores that the compared models themselves predict."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import poisson

import condgof as cg
from condgof.methods._score_variance import possible_scores
from condgof.null import Difference
from condgof.stein import read_laws

RNG = np.random.default_rng(0)


def equally_good(rate, probability):
    """The other probability of an event that has the same expected log score."""

    def gain(q):
        event = rate * np.log(probability / q)
        return event + (1 - rate) * (np.log1p(-probability) - np.log1p(-q))

    return brentq(gain, rate, 0.5)


def events(p):
    return cg.probabilities(np.column_stack([1 - p, p]))


def slow_floor(P, Q):
    """E_R d² of the mixture R of the rows' laws P and Q (n, K) with E_R d = 0, by loops."""
    n, count = P.shape
    d = np.log(P) - np.log(Q)
    pairs = list(itertools.product(range(n), range(count)))

    def mean_d(share):
        return sum(((1 - share) * P[i, k] + share * Q[i, k]) * d[i, k] for i, k in pairs)

    share = brentq(mean_d, 0.0, 1.0, xtol=1e-14)
    squares = [((1 - share) * P[i, k] + share * Q[i, k]) * d[i, k] ** 2 for i, k in pairs]
    return sum(squares) / n


def test_the_floor_is_that_of_the_mixture_with_equal_scores():
    P = RNG.dirichlet([1.0, 2.0, 3.0], size=12)
    Q = RNG.dirichlet([2.0, 2.0, 1.0], size=12)
    laws = [cg.probabilities(P), cg.probabilities(Q)]
    null = possible_scores(laws, ("log",))["log"].null_of(0, 1)
    assert null.mean_square == pytest.approx(slow_floor(P, Q), rel=1e-9)
    assert float((null.weights * null.d).sum(axis=1).mean()) == pytest.approx(0, abs=1e-12)
    # With more rows, more of them are not the most probable class.
    assert null.variance_floor(10) == pytest.approx(null.mean_square / 10)
    assert null.variance_floor(1000) == 0.0


def test_counts_are_listed_with_their_probabilities():
    mean = np.linspace(0.5, 3, 50)
    laws = [cg.models.Poisson(mean=m)(n=50) for m in (mean, 1.3 * mean)]
    found = possible_scores(laws, ("log", "crps"))["log"]
    k = np.arange(40.0)
    p = poisson.pmf(k, mean[:, None])
    d = poisson.logpmf(k, mean[:, None]) - poisson.logpmf(k, 1.3 * mean[:, None])
    by_hand = (found.weights[0] * (found.scores[0] - found.scores[1])).sum(axis=1)
    np.testing.assert_allclose(by_hand, (p * d).sum(axis=1), rtol=1e-6)
    many = [cg.models.Poisson(mean=m)(n=50) for m in (200 * mean, 300 * mean)]
    assert possible_scores(many, ("log",)) == {}


@pytest.mark.parametrize("factor", [0.5, 0.02])
def test_no_event_is_no_evidence_between_equally_good_models(factor):
    n = 100
    rate = 0.01
    low = rate * factor
    high = equally_good(rate, low)
    x = RNG.uniform(size=n)
    y = np.zeros(n, dtype=int)
    laws = {
        "low": events(np.full(n, low)),
        "high": events(np.full(n, high)),
        "mixed": events(np.where(x < 0.5, low, high)),
    }
    found = cg.compare(laws["low"], laws["high"], x, y, rng=0)
    by_log_score = found.measures[0]
    assert by_log_score.pvalue > 0.1
    assert by_log_score.interval[0] < 0 < by_log_score.interval[1]
    ranked = cg.rank(laws, x, y, rng=0)
    assert len(ranked.best()) == 3
    # In ten thousand rows without an event the models can be told apart.
    many = 10_000
    rare = [events(np.full(many, p)) for p in (low, high)]
    zeros = np.zeros(many, dtype=int)
    assert cg.compare(*rare, np.arange(many), zeros, rng=0).pvalue < 1e-6


def test_an_impossible_event_that_did_not_come():
    n = 100
    never, seldom = events(np.zeros(n)), events(np.full(n, 0.01))
    found = cg.compare(never, seldom, np.arange(n), np.zeros(n, dtype=int), rng=0)
    assert found.pvalue > 0.1


def test_rows_of_a_file_give_the_same_as_memory(tmp_path, monkeypatch):
    in_pieces = partial(read_laws, size=256)
    monkeypatch.setattr("condgof.methods._several.read_laws", in_pieces)
    n = 1000
    p = RNG.uniform(0.001, 0.004, n)
    y = RNG.random(n) < 0.002
    table = pd.DataFrame({"x": RNG.normal(size=n), "y": y.astype(int), "p": p, "q": 2 * p})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    models = [cg.models.Poisson(mean=one) for one in (p, 2 * p)]
    streamed = cg.compare(*models, source, rng=0)
    memory = cg.compare(*models, table[["x"]], table["y"], rng=0)
    assert streamed.pvalue == pytest.approx(memory.pvalue, rel=1e-9)


def test_a_continuous_y_is_compared_as_before():
    n = 100
    x = RNG.normal(size=n)
    y = x + RNG.normal(size=n)
    models = [cg.models.Normal(mean=m, std=1.0)(n=n) for m in (x, x + 0.4)]
    d = 0.5 * ((y - x - 0.4) ** 2 - (y - x) ** 2)
    found = cg.compare(*models, x, y, measure="log", rng=0)
    assert found.pvalue == pytest.approx(Difference.from_rows(d).pvalue, rel=1e-6)
