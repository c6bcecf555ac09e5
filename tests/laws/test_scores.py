"""Proper scores: closed forms against scoringrules and a slow integral; what laws offer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import condgof as cg
from condgof import errors
from condgof.laws import available_measures, integrate_crps, score
from condgof.models import Law
from seeds import examples

M = cg.models
N = 40
RNG = np.random.default_rng(5)
LOC = RNG.normal(size=N)
SCALE = RNG.uniform(0.3, 3.0, N)
Y = LOC + 2.0 * SCALE * RNG.standard_t(3, size=N)
T = np.abs(Y) + 0.01
A = RNG.uniform(0.4, 6.0, N)
B = RNG.uniform(0.4, 6.0, N)
U = RNG.uniform(size=N)
K = RNG.poisson(6.0, N).astype(float)
SIZE = RNG.integers(1, 9, N).astype(float)  # scoringrules takes whole ones
P = RNG.uniform(0.05, 0.95, N)
WEIGHTS = RNG.dirichlet([1.0, 2.0, 3.0], N)
MEANS = RNG.normal(size=(N, 3))
STDS = RNG.uniform(0.2, 2.0, (N, 3))


class Reference(NamedTuple):
    """A law, its y, and scoringrules' values of the CRPS and of minus the log score."""

    law: Any
    y: Any
    crps: Any
    logs: Any


REFERENCES = {
    "normal": Reference(
        M.Normal(LOC, SCALE),
        Y,
        sr.crps_normal(Y, LOC, SCALE),
        sr.logs_normal(Y, LOC, SCALE),
    ),
    "t": Reference(
        M.StudentT(df=A + 1.2, loc=LOC, scale=SCALE),
        Y,
        sr.crps_t(Y, A + 1.2, LOC, SCALE),
        sr.logs_t(Y, A + 1.2, LOC, SCALE),
    ),
    "laplace": Reference(
        M.Laplace(loc=LOC, scale=SCALE),
        Y,
        sr.crps_laplace(Y, LOC, SCALE),
        sr.logs_laplace(Y, LOC, SCALE),
    ),
    "exponential": Reference(
        M.Exponential(rate=SCALE),
        T,
        sr.crps_exponential(T, SCALE),
        sr.logs_exponential(T, SCALE),
    ),
    "gamma": Reference(
        M.Gamma(shape=A, scale=SCALE),
        T,
        sr.crps_gamma(T, A, scale=SCALE),
        sr.logs_gamma(T, A, scale=SCALE),
    ),
    "lognormal": Reference(
        M.LogNormal(mu=LOC, sigma=SCALE),
        T,
        sr.crps_lognormal(T, LOC, SCALE),
        sr.logs_lognormal(T, LOC, SCALE),
    ),
    "beta": Reference(M.Beta(a=A, b=B), U, sr.crps_beta(U, A, B), sr.logs_beta(U, A, B)),
    "uniform": Reference(
        M.Uniform(low=LOC, high=LOC + SCALE),
        LOC + SCALE * U,
        sr.crps_uniform(LOC + SCALE * U, LOC, LOC + SCALE),
        sr.logs_uniform(LOC + SCALE * U, LOC, LOC + SCALE),
    ),
    "mixture": Reference(
        M.NormalMixture(WEIGHTS, MEANS, STDS),
        Y,
        sr.crps_mixnorm(Y, MEANS, STDS, WEIGHTS),
        sr.logs_mixnorm(Y, MEANS, STDS, WEIGHTS),
    ),
    "poisson": Reference(
        M.Poisson(mean=A), K, sr.crps_poisson(K, A), sr.logs_poisson(K, A)
    ),
    "negative binomial": Reference(
        M.NegativeBinomial(mean=A, dispersion=1.0 / SIZE),
        K,
        sr.crps_negbinom(K, SIZE, SIZE / (A + SIZE)),
        sr.logs_negbinom(K, SIZE, SIZE / (A + SIZE)),
    ),
    "binomial": Reference(
        M.Binomial(trials=np.full(N, 20.0), p=P),
        K,
        sr.crps_binomial(K, np.full(N, 20.0), P),
        sr.logs_binomial(K, np.full(N, 20.0), P),
    ),
}


@pytest.mark.parametrize("family", REFERENCES)
def test_closed_forms_agree_with_scoringrules(family: str) -> None:
    reference = REFERENCES[family]
    law = reference.law
    assert np.abs(score(law, reference.y, "crps") - reference.crps).max() < 1e-10
    assert np.abs(score(law, reference.y, "log") + reference.logs).max() < 1e-10


def test_draws_intervals_quantiles_and_classes_agree_with_scoringrules() -> None:
    draws = LOC[:, None] + SCALE[:, None] * RNG.normal(size=(N, 17))
    law = cg.from_draws(draws)
    np.testing.assert_allclose(
        score(law, Y, "crps"), sr.crps_ensemble(Y, draws, estimator="fair")
    )
    levels = np.array([0.1, 0.4, 0.9])
    quantiles = LOC[:, None] + SCALE[:, None] * stats.norm.ppf(levels)
    expected = np.mean(
        [sr.quantile_score(Y, q, t) for q, t in zip(quantiles.T, levels, strict=True)], 0
    )
    np.testing.assert_allclose(
        score(cg.from_quantiles(quantiles, levels), Y, "pinball"), expected
    )
    low = LOC - SCALE
    high = LOC + SCALE
    expected = sr.interval_score(Y, low, high, 0.2)
    np.testing.assert_allclose(
        score(cg.from_intervals(low, high, 0.8), Y, "winkler"), expected
    )
    two = (U < 0.5).astype(int)
    np.testing.assert_allclose(
        score(cg.probabilities(P), two, "brier"), sr.brier_score(two, P)
    )
    three = RNG.integers(0, 3, N)
    ordered = cg.probabilities(WEIGHTS, ordered=True)
    np.testing.assert_allclose(
        score(ordered, three, "crps"), sr.rps_score(three + 1, WEIGHTS)
    )
    hot = np.eye(3)[three]
    np.testing.assert_allclose(
        score(ordered, three, "brier"), ((WEIGHTS - hot) ** 2).sum(axis=1)
    )
    several = RNG.normal(size=(N, 30, 2))
    y = RNG.normal(size=(N, 2))
    expected = sr.es_ensemble(y, several, estimator="fair")
    np.testing.assert_allclose(score(cg.from_draws(several), y, "energy"), expected)


def slow_crps(law: Law, row: int, y: float) -> float:
    """The integral itself, by SciPy, with F as it is."""
    one = law.take(np.array([row]))

    def square(t: float) -> float:
        return float((one.cdf(np.array([t]))[0] - (t >= y)) ** 2)

    place, scale = (float(part[0, 0]) for part in one.location_scale())
    cuts = np.unique(
        [y, place, *(place + scale * np.array([-300, -50, -9, -3, -1, 1, 3, 9, 50, 300]))]
    )
    return sum(integrate.quad(square, a, b, limit=400)[0] for a, b in pairwise(cuts))


@pytest.mark.parametrize(
    "family", [name for name in REFERENCES if "bin" not in name and name != "poisson"]
)
def test_closed_forms_are_what_the_integral_is(family: str) -> None:
    law, y, crps, _ = REFERENCES[family]
    np.testing.assert_allclose(
        integrate_crps(law(n=N), y[:, None]), crps, rtol=0, atol=1e-8 * (1 + T.max())
    )


@settings(max_examples=examples(15), deadline=None)
@given(st.floats(-30, 30), st.integers(0, 3))
def test_the_integral_is_right_wherever_y_is(y: float, kind: int) -> None:
    one = np.zeros(1)
    laws: list[Law] = [
        M.NormalMixture(
            np.array([[0.3, 0.7]]), np.array([[-4.0, 5.0]]), np.array([[0.01, 2.0]])
        ),
        M.InverseGaussian(mean=one + 2.0, shape=0.7),
        M.StudentT(df=one + 1.3, scale=2.0),
        M.Gamma(shape=one + 0.2, scale=3.0),
    ]
    law = laws[kind](n=1)
    crps = float(integrate_crps(law, np.array([[y]]))[0])
    assert crps == pytest.approx(slow_crps(law, 0, y), abs=2e-3 if kind == 2 else 1e-6)


def test_bins_are_piecewise_exact() -> None:
    law = cg.from_bins([0.0, 1.0, 3.0, 3.5], RNG.dirichlet([1.0, 1.0, 1.0], 6))
    y = np.array([-2.0, 0.0, 0.5, 2.9, 3.5, 7.0])
    np.testing.assert_allclose(law.crps(y), integrate_crps(law, y[:, None]), atol=1e-8)


@pytest.mark.parametrize(
    "law",
    [
        M.ZeroInflatedPoisson(mean=A, inflation=P),
        M.HurdlePoisson(mean=A, zero=P),
        M.ZeroInflatedNegativeBinomial(mean=A, dispersion=0.3, inflation=P),
        M.HurdleNegativeBinomial(mean=A, dispersion=0.3, zero=P),
        M.NegativeBinomial(mean=100 * A, dispersion=1e-6),
        M.NegativeBinomial(mean=A, dispersion=20.0),
        M.Poisson(mean=1e4 * A),
    ],
    ids=lambda law: law.name,
)
def test_counts_are_sums_over_cells(law: Law) -> None:
    law = law(n=N)
    middle, spread = law.location_scale()
    for y in (
        K,
        np.zeros(N),
        np.round(middle[:, 0]),
        np.round((middle + 4 * spread)[:, 0]),
    ):
        expected = crps_by_sums(law, y)
        np.testing.assert_allclose(score(law, y, "crps"), expected, rtol=1e-9, atol=1e-9)


def crps_by_sums(law: Law, y: np.ndarray) -> np.ndarray:
    """Σ_k (F(k) − 1{y ≤ k})² over all counts k that are not out of the question."""
    ends = law.quantile([1e-12, 1 - 1e-12])
    sums = []
    for i, (low, high) in enumerate(ends):
        k = np.arange(min(low, y[i]), max(high, y[i]))
        same_row = law.take(np.full(len(k), i))
        sums.append(np.square(same_row.cdf(k) - (k >= y[i])).sum())
    return np.array(sums)


def test_a_density_without_a_constant_gets_one() -> None:
    x = LOC
    y = LOC + RNG.normal(size=N)
    model = cg.from_log_prob(lambda y, x: -0.5 * (y - x) ** 2 + 3.0 * x)
    law = model(x)
    assert available_measures(law) == ()
    facing = law.facing(y)
    assert available_measures(facing) == ("log",)
    assert np.abs(score(facing, y, "log") - stats.norm.logpdf(y, x)).max() < 1e-5


def test_what_laws_offer() -> None:
    assert available_measures(cg.from_draws(np.zeros((3, 4)))) == ("crps",)
    assert available_measures(cg.from_draws(np.zeros((3, 4, 2))), 2) == ("energy",)
    assert available_measures(M.Normal(np.zeros((3, 2)), 1.0), 2) == ("log",)
    assert available_measures(cg.from_pit([0.1, 0.2])) == ()
    assert available_measures(cg.from_scores(np.zeros(3))) == ()
    assert available_measures(cg.from_quantiles(np.zeros((3, 1)), [0.5])) == ("pinball",)
    assert available_measures(cg.probabilities(WEIGHTS)) == ("log", "brier")
    with pytest.raises(errors.UnsupportedModelError, match="has no log score"):
        score(cg.from_draws(np.zeros((3, 4))), np.zeros(3), "log")


def test_fair_scores_of_draws_do_not_depend_on_their_number() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=20_000)
    few, many = (cg.from_draws(rng.normal(size=(20_000, m))) for m in (2, 50))
    exact = score(M.Normal(np.zeros(20_000), 1.0), y, "crps").mean()
    assert score(few, y, "crps").mean() == pytest.approx(exact, abs=0.03)
    assert score(many, y, "crps").mean() == pytest.approx(exact, abs=0.01)


def test_a_network_is_scored_as_the_family_that_it_predicts() -> None:
    torch = pytest.importorskip("torch")

    class Head(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.distributions.Gumbel(x[:, 0], torch.ones(len(x), dtype=x.dtype))

    x = LOC[:, None]
    law = cg.from_torch(Head())(x)
    same = cg.from_scipy(lambda x: stats.gumbel_r(x[:, 0], 1.0))(x)
    assert available_measures(law) == ("log", "crps")
    for key in ("log", "crps"):
        np.testing.assert_allclose(
            score(law, Y, key), score(same, Y, key), rtol=1e-5, atol=1e-5
        )


def test_a_cdf_that_is_no_number_outside_the_support() -> None:
    """Such as a LogNormal of torch below 0, where panels would be halved without end."""
    torch = pytest.importorskip("torch")
    x = np.linspace(-0.5, 0.5, 20)
    y = np.linspace(0.1, 5.0, 20)
    law = cg.from_torch(lambda x: torch.distributions.LogNormal(x, 0.5))(x)
    np.testing.assert_allclose(law.crps(y), cg.models.LogNormal(x, 0.5).crps(y), rtol=1e-7)
