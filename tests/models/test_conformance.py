"""The closed forms pass the suite, and the suite finds what is wrong with a wrong model."""

import numpy as np
import pytest

import condgof as cg
from condgof.models import ConditionalModel, Normal, NormalMixture, StudentT
from models.conformance import check_model

X = np.random.default_rng(7).normal(size=(40, 2))
MODELS = {
    "normal": Normal(mean=lambda x: x.sum(axis=1), std=lambda x: 1 + x[:, 0] ** 2),
    "normal-2d": Normal(mean=lambda x: x, cov=[[2.0, 0.6], [0.6, 1.0]]),
    "normal-bound": cg.normal(mean=X.sum(axis=1), std=1 + X[:, 0] ** 2),
    "mixture": NormalMixture([0.3, 0.7], lambda x: np.column_stack([x[:, 0], -x[:, 1]]), [0.5, 2.0]),
    "student": StudentT(df=4, loc=lambda x: x[:, 0], scale=lambda x: 1 + x[:, 1] ** 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_closed_forms(name):
    check_model(MODELS[name], X, needs=("score", "log_prob", "sample", "mean_std"))


class Wrong(ConditionalModel):
    """A standard normal with one thing wrong."""

    def __init__(self, **wrong):
        self.wrong = wrong

    def score(self, y, x):
        return -y * self.wrong.get("score", 1.0)

    def log_prob(self, y, x):
        y = y.reshape(len(x))
        return -0.5 * y**2 - 0.5 * np.log(2 * np.pi) + self.wrong.get("constant", 0.0)

    def cdf(self, y, x):
        return Normal(0.0, 1.0).cdf(y, x)

    def sample(self, x, rng, n=None):
        if self.wrong.get("global"):
            np.random.random()
        if self.wrong.get("writes"):
            x[0] = 0.0
        if self.wrong.get("seedless"):
            rng = np.random.default_rng()
        return self.wrong.get("std", 1.0) * rng.standard_normal((len(x), 1))


def test_a_right_one():
    check_model(Wrong(), X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"score": 1.1}, "score"),
        ({"constant": 0.1}, "integrates to"),
        ({"std": 1.2}, "not uniform"),
        ({"global": True}, "something global"),
        ({"writes": True}, "x was changed"),
        ({"seedless": True}, "not equal"),
    ],
)
def test_wrong_ones(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_model(Wrong(**wrong), X.copy())
