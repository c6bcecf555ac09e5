"""Problems with a discrete y: classes, ordered categories and counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import (
    Binomial,
    Model,
    ModelLike,
    NegativeBinomial,
    Poisson,
    from_log_prob,
    probabilities,
)
from condgof.study._problem import Problem, first, gaussian_x


def softmax_model(count: int, temperature: float = 1.0) -> Model:
    """Return a softmax classifier of two columns of x: standard normal weights, logits over a number."""
    weights = np.random.default_rng(count).standard_normal((2, count))

    def predict(x: FloatArray) -> FloatArray:
        logits = np.asarray(x, dtype=np.float64) @ weights / temperature
        values: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
        return values

    return Model(lambda x: probabilities(predict(x)), "The softmax model")


def _grades(slope: float) -> Model:
    """Return a model of five ordered categories: cumulative logits, shifted by x."""
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])

    def predict(x: FloatArray) -> FloatArray:
        below = 1.0 / (1.0 + np.exp(-(cuts - slope * first(x)[:, None])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return Model(lambda x: probabilities(predict(x), ordered=True), "The model of grades")


def _mean(level: float) -> Callable[[FloatArray], FloatArray]:
    """Return a positive mean that depends on x."""
    return lambda x: level * np.exp(0.5 * first(x))


def _true(name: str, title: str, model: ModelLike, d_x: int = 1) -> Problem:
    return Problem(name, title, model, model, gaussian_x(d_x), d_x, 1, True)


def _unnormalised() -> Problem:
    """A Poisson model known through its log-probability alone: the difference Stein operator."""
    truth = Poisson(mean=_mean(3.0))
    model = from_log_prob(lambda y, x: truth(x).log_prob(y), support="counts")
    return Problem("true-count-ratio", "True counts, ratios", model, truth, gaussian_x(1), 1, 1, True)


def _true_models() -> list[Problem]:
    classes = [
        _true(f"true-softmax-{k}", f"True softmax, {k} classes", softmax_model(k), 2) for k in (2, 3, 10)
    ]
    share = Binomial(trials=10, p=lambda x: 1.0 / (1.0 + np.exp(-first(x))))
    return [
        *classes,
        _true("true-grades", "True ordered categories", _grades(1.0)),
        _true("true-poisson", "True Poisson", Poisson(mean=_mean(1.0))),
        _true("true-nb-small", "True negative binomial, small", NegativeBinomial(_mean(0.4), 1.0)),
        _true("true-nb-large", "True negative binomial, large", NegativeBinomial(_mean(200.0), 0.3)),
        _true("true-binomial", "True binomial", share),
        _unnormalised(),
    ]


def _wrong_models() -> list[Problem]:
    confident = [
        Problem(
            f"softmax-overconfident-{k}",
            f"Over-confident softmax, {k} classes",
            softmax_model(k, 0.7),
            softmax_model(k),
            gaussian_x(2),
            2,
            1,
            False,
        )
        for k in (3, 10)
    ]
    mean = _mean(3.0)
    spread = NegativeBinomial(mean, lambda x: 1.0 / mean(x))  # variance = 2·mean
    return [
        *confident,
        Problem(
            "poisson-overdispersed", "Over-dispersed counts", Poisson(mean), spread,
            gaussian_x(1), 1, 1, False,
        ),
        Problem(
            "grades-flat", "Ordered categories, wrong slope", _grades(0.6), _grades(1.0),
            gaussian_x(1), 1, 1, False,
        ),
    ]  # fmt: skip


DISCRETE = [*_true_models(), *_wrong_models()]
