"""All kinds of laws pass the suite, and the suite finds what is wrong with a wrong law."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scipy.special import ndtr

import condgof as cg
from condgof.laws import (
    Corrected,
    CorrectedCounts,
    LegendreShape,
    LocationScale,
    OddsOfZero,
    PeriodHazards,
)
from condgof.models import Law, Model
from laws.conformance import check_law

M = cg.models
RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 2))
MEAN = X.sum(axis=1)
SCALE = 1 + X[:, 0] ** 2
LINEAR = 0.5 * X[:, 0] + 0.2
POSITIVE = np.exp(LINEAR)
SHARE = 1 / (1 + np.exp(-LINEAR))
CONTINUOUS = {
    "normal": M.Normal(mean=lambda x: x.sum(axis=1), std=lambda x: 1 + x[:, 0] ** 2),
    "normal-2d": M.Normal(mean=lambda x: x, cov=[[2.0, 0.6], [0.6, 1.0]]),
    "normal-2d-rows": M.Normal(
        X, cov=np.eye(2) + 0.3 * np.ones((40, 2, 2)) * SHARE[:, None, None]
    ),
    "normal-rows": cg.normal(mean=MEAN, std=SCALE),
    "normal-number": M.Normal(mean=1.0, std=2.0),
    "mixture": M.NormalMixture(
        [0.3, 0.7], lambda x: np.column_stack([x[:, 0], -x[:, 1]]), [0.5, 2.0]
    ),
    "mixture-2d": M.NormalMixture(
        np.column_stack([SHARE, 1 - SHARE]), np.stack([X, -X], axis=1), np.ones((1, 2, 2))
    ),
    "student": M.StudentT(df=4, loc=lambda x: x[:, 0], scale=lambda x: 1 + x[:, 1] ** 2),
    "laplace": M.Laplace(loc=MEAN, scale=SCALE),
    "exponential": M.Exponential(scale=POSITIVE),
    "weibull": M.Weibull(shape=1.4, scale=POSITIVE),
    "gamma": M.Gamma(shape=2.5, scale=POSITIVE),
    "gamma-2d": M.Gamma(shape=np.exp(0.3 * X) + 1, scale=1.5, loc=-1.0),
    "lognormal": M.LogNormal(mu=LINEAR, sigma=0.6),
    "inverse-gaussian": M.InverseGaussian(mean=POSITIVE, shape=2.0),
    "beta": M.Beta(a=1.5 + SHARE, b=2.5),
    "uniform": M.Uniform(low=MEAN, high=MEAN + SCALE),
}
#: Angles: their densities have mass 1 on a period, and they have no mean.
ANGLES = {
    "von-mises": M.VonMises(mean=MEAN, concentration=SCALE),
    "von-mises-degrees": M.VonMises(
        mean=lambda x: 90 * x[:, 0], concentration=2.0, period=360
    ),
    "log-density-of-angles": cg.from_log_prob(
        lambda y, x: 2.0 * np.cos(np.ravel(y) - x[:, 0]), period=2 * np.pi
    ),
}
COUNTS = {
    "poisson": M.Poisson(mean=POSITIVE),
    "poisson-function": M.Poisson(mean=lambda x: np.exp(x[:, 1])),
    "negative-binomial": M.NegativeBinomial(mean=POSITIVE, dispersion=0.5),
    "binomial": M.Binomial(trials=9, p=SHARE),
    "zero-inflated-poisson": M.ZeroInflatedPoisson(
        mean=3 * POSITIVE, inflation=0.3 * SHARE
    ),
    "zero-inflated-nb": M.ZeroInflatedNegativeBinomial(
        mean=3 * POSITIVE, dispersion=0.4, inflation=0.3
    ),
    "hurdle-poisson": M.HurdlePoisson(mean=3 * POSITIVE, zero=0.5 * SHARE),
    "hurdle-nb": M.HurdleNegativeBinomial(mean=3 * POSITIVE, dispersion=0.4, zero=0.2),
    "ratio": cg.from_ratio(lambda y, x: np.exp(x[:, 0]) / (y + 1.0)),
}
P = np.exp(RNG.normal(size=(40, 4)))
P /= P.sum(axis=1, keepdims=True)
CLASSES = {
    "two-classes": cg.probabilities(SHARE),
    "named-classes": cg.probabilities(P, ["a", "b", "c", "d"]),
    "numbered-classes": cg.probabilities(P.astype(np.float32), [3, 1, 7, 5]),
    "ordered-classes": cg.probabilities(P, ["none", "some", "many", "all"], ordered=True),
}
Y = MEAN + SCALE * RNG.normal(size=40)
Z = MEAN[:, None] + SCALE[:, None] * RNG.normal(size=(40, 300))
LEVELS = np.array([0.1, 0.25, 0.5, 0.9])
EDGES = np.linspace(-4.0, 4.0, 13) + 0.1 * np.sin(np.arange(13))
Q = MEAN[:, None] + SCALE[:, None] * np.array([-1.28, -0.67, 0.0, 1.28])
#: Laws that are known in part, and a y to ask them of.
KNOWN = {
    "draws": (cg.from_draws(Z), Y),
    "draws-tied": (cg.from_draws(np.round(Z[:, :29])), np.round(Y)),
    "draws-2d": (
        cg.from_draws(X[:, None] + RNG.normal(size=(40, 50, 2))),
        X + RNG.normal(size=(40, 2)),
    ),
    "draws-of-angles": (cg.from_draws(Z, period=2 * np.pi), Y),
    "quantiles": (cg.from_quantiles(Q, LEVELS), Y),
    # Some ties: of a y that ties in most rows nothing could be said.
    "quantiles-tied": (cg.from_quantiles(np.round(Q, 1), LEVELS), np.round(Y, 1)),
    "intervals": (cg.from_intervals(MEAN - 1.6 * SCALE, MEAN + 1.6 * SCALE, 0.9), Y),
    "nested-intervals": (cg.from_intervals(Q[:, [1, 0]], Q[:, [2, 3]], [0.25, 0.8]), Y),
    "pit": (cg.from_pit(ndtr((Y - MEAN) / SCALE)), Y),
    "pit-2d": (cg.from_pit(RNG.random((40, 2))), X),
    "bins": (cg.from_bins(EDGES, RNG.dirichlet(np.ones(12), 40)), None),
    "bins-by-row": (
        cg.from_bins(EDGES + MEAN[:, None], RNG.dirichlet(np.ones(12), 40)),
        None,
    ),
    "scores": (cg.from_scores((MEAN - Y) / SCALE**2), Y),
    "scores-2d": (cg.from_scores(X - 1.0), X),
    "score": (cg.from_score(lambda y, x: x[:, :1] - y.reshape(-1, 1)), X[:, 0] + 1.0),
    "log-density": (
        cg.from_log_prob(lambda y, x: -0.5 * (np.ravel(y) - x[:, 0]) ** 2),
        X[:, 0] + 1.0,
    ),
}

LITTLE = 0.25 * np.tanh(X[:, 1])
#: Laws corrected by effects.
CORRECTED = {
    "bias-and-spread": Corrected(
        M.Normal(mean=MEAN, std=SCALE), (LocationScale(LINEAR, LITTLE),)
    ),
    "shape-of-gamma": Corrected(
        M.Gamma(shape=2.5, scale=POSITIVE),
        (LegendreShape(LITTLE, 3), LocationScale(LINEAR, LITTLE), LegendreShape(LITTLE, 4)),
    ),
    "hazard": Corrected(
        M.Weibull(shape=1.4, scale=POSITIVE),
        (
            PeriodHazards(
                np.outer(LITTLE, [1.0, -2.0, 3.0]), np.tile([0.3, 1.0], (len(LITTLE), 1))
            ),
        ),
    ),
}
CORRECTED_COUNTS = CorrectedCounts(
    M.Poisson(mean=3 * POSITIVE), (LocationScale(LITTLE, LITTLE), OddsOfZero(2 * LITTLE))
)


@pytest.mark.parametrize("name", CORRECTED)
def test_corrected_laws(name):
    needs = ("score", "log_prob", "cdf", "sample", "normal_scores", "location_scale")
    # A hazard jumps from period to period, and the score with it.
    check_law(CORRECTED[name], X, needs=needs, step=1e-5, pickles=True)


def test_corrected_counts():
    needs = ("residuals", "log_prob", "cdf", "sample", "mean_std")
    check_law(CORRECTED_COUNTS, X, needs=needs, draws=4000, pickles=True)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_closed_forms(name):
    model = CONTINUOUS[name]
    check_law(
        model,
        X,
        needs=("score", "log_prob", "sample", "mean_std"),
        pickles=model.rows is not None,
    )


@pytest.mark.parametrize("name", ANGLES)
def test_angles(name):
    check_law(
        ANGLES[name],
        X,
        needs=("score", "log_prob", "sample"),
        normalised=False,
        pickles=ANGLES[name].rows is not None,
    )


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    needs = (
        ("residuals",)
        if name == "ratio"
        else ("residuals", "log_prob", "cdf", "sample", "mean_std")
    )
    y = RNG.poisson(POSITIVE) if name == "ratio" else None
    check_law(
        COUNTS[name], X, y, needs=needs, draws=4000, pickles=COUNTS[name].rows is not None
    )


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    check_law(
        CLASSES[name],
        X,
        needs=("residuals", "log_prob", "sample"),
        draws=4000,
        pickles=True,
    )


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_in_part(name):
    law, y = KNOWN[name]
    check_law(
        law,
        X,
        y,
        normalised="log" not in name,
        mass=0.02,
        steps="draws" in name,
        pickles=law.rows is not None,
    )


def test_without_x():
    check_law(M.Normal(0.0, 1.0), None, np.random.default_rng(0).normal(size=30))


def test_abilities_that_are_needed_must_be_there():
    with pytest.raises(AssertionError, match="the law has no score"):
        check_law(KNOWN["draws"][0], X, Y, needs=("score",))


@dataclass(frozen=True, eq=False)
class WrongLaw(Law):
    """A standard normal with one thing wrong."""

    x: np.ndarray
    wrong: dict = field(default_factory=dict)

    @property
    def rows(self):
        return len(self.x)

    def take(self, rows):
        if self.wrong.get("mixes"):
            rows = np.sort(rows)
        return replace(self, x=self.x[rows])

    def _normal(self):
        return M.Normal(self.x[:, 0], 1.0)

    def score(self, y):
        return self._normal().score(y) * self.wrong.get("score", 1.0)

    def log_prob(self, y):
        return self._normal().log_prob(y) + self.wrong.get("constant", 0.0)

    def cdf(self, y):
        return self._normal().cdf(y)

    def quantile(self, levels):
        return self._normal().quantile(levels) + self.wrong.get("quantile", 0.0)

    def sample(self, rng):
        if self.wrong.get("global"):
            np.random.random()
        if self.wrong.get("writes"):
            self.x[0] = 0.0
        if self.wrong.get("seedless"):
            rng = np.random.default_rng()
        return self.x[:, :1] + self.wrong.get("std", 1.0) * rng.standard_normal(
            (len(self.x), 1)
        )


class Careless(WrongLaw):
    """It never looks at how many rows y has."""

    def score(self, y):
        return -np.reshape(y, (len(y), 1))


def wrong_model(wrong, law=WrongLaw):
    """Return a function x → law that gets the caller's own x, as batched models do."""
    return Model(lambda x: law(x, wrong), batched=True)


def test_a_right_one():
    check_law(Model(WrongLaw), X)
    check_law(wrong_model({}), X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"score": 1.1}, "score"),
        ({"constant": 0.1}, "integrates to"),
        ({"std": 1.2}, "not uniform"),
        ({"quantile": 0.1}, "too large"),
        ({"quantile": -0.1}, "too small"),
        ({"mixes": True}, "Not equal"),
        ({"global": True}, "something global"),
        ({"writes": True}, "x was changed"),
        ({"seedless": True}, "not equal"),
    ],
)
def test_wrong_ones(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_law(wrong_model(wrong), X.copy())


def test_a_careless_one():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_law(wrong_model({}, Careless), X)
