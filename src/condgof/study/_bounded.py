"""Problems whose y lives on part of the line, and one with a kink, for families with closed forms."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import (
    Beta,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    ModelLike,
    Uniform,
)
from condgof.study._problem import Problem, first, gaussian_x


def _growing(x: FloatArray) -> FloatArray:
    """A positive number that depends on x."""
    values: FloatArray = np.exp(0.5 * first(x))
    return values


def _true(name: str, title: str, model: ModelLike) -> Problem:
    return Problem(name, title, model, model, gaussian_x(1), 1, 1, True)


def _true_models() -> list[Problem]:
    uniform = Uniform(low=first, high=lambda x: first(x) + 1.0 + _growing(x))
    return [
        _true("true-gamma-low", "True Gamma, shape 0.7", Gamma(shape=0.7, scale=_growing)),
        _true("true-gamma", "True Gamma, shape 2", Gamma(shape=2.0, scale=_growing)),
        _true("true-exponential", "True Exponential", Exponential(scale=_growing)),
        _true("true-beta", "True Beta", Beta(a=0.5, b=lambda x: 0.5 * _growing(x))),
        _true("true-lognormal", "True log-normal", LogNormal(mu=first, sigma=0.8)),
        _true("true-uniform", "True Uniform, ends depend on x", uniform),
        _true(
            "true-inverse-gaussian", "True inverse Gaussian", InverseGaussian(mean=_growing, shape=2.0)
        ),
        _true("true-laplace", "True Laplace", Laplace(loc=first, scale=_growing)),
    ]


def _wrong_shape() -> Problem:
    """A Gamma of shape 2 where the truth has a shape 30% larger, and the same scale."""
    p, r = Gamma(shape=2.0, scale=_growing), Gamma(shape=2.6, scale=_growing)
    return Problem("gamma-shape", "Gamma with a wrong shape", p, r, gaussian_x(1), 1, 1, False)


BOUNDED = [*_true_models(), _wrong_shape()]
