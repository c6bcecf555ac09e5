"""Problems outside the paper, so that a test is not judged on four problems alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import Law, Model, Normal, NormalMixture
from condgof.study._problem import Problem, first, gaussian_x, row_sum, uniform_x


@dataclass(frozen=True, eq=False)
class Noise(Law):
    """The law of y = mean + noise, known by how the noise is drawn and by its log-density."""

    mean: FloatArray
    noise: Callable[[np.random.Generator, int], FloatArray]
    log_density: Callable[[FloatArray], FloatArray]

    @property
    def rows(self) -> int | None:
        """Number of rows."""
        return len(self.mean)

    def take(self, rows: IntArray) -> Noise:
        """Return the law of some rows."""
        return replace(self, mean=self.mean[rows])

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log r(y|x), (n,); −∞ where the noise cannot be."""
        return self.log_density(np.asarray(y).reshape(self.n, -1)[:, 0] - self.mean)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw one y for each row, (n, 1)."""
        values: FloatArray = self.mean + self.noise(rng, self.n)
        return values[:, None]


def _skewed(rng: np.random.Generator, n: int) -> FloatArray:
    """Gamma noise of shape 4 with mean 0 and variance 1: skewness 1."""
    values: FloatArray = (rng.gamma(4.0, size=n) - 4.0) / 2.0
    return values


def _skewed_density(noise: FloatArray) -> FloatArray:
    at = np.maximum(4.0 + 2.0 * noise, 0.0)
    with np.errstate(divide="ignore"):
        values: FloatArray = 3.0 * np.log(at) - at - np.log(6.0) + np.log(2.0)
    return values


def _heavy(rng: np.random.Generator, n: int) -> FloatArray:
    """Student-t noise with 4 degrees of freedom and variance 1."""
    values: FloatArray = rng.standard_t(4.0, size=n) / np.sqrt(2.0)
    return values


def _heavy_density(noise: FloatArray) -> FloatArray:
    values: FloatArray = np.log(3.0 / 8.0) + 0.5 * np.log(2.0) - 2.5 * np.log1p(0.5 * noise**2)
    return values


def _noise_problems() -> list[Problem]:
    line = Normal(mean=first, std=1.0)
    skewed = Model(lambda x: Noise(first(x), _skewed, _skewed_density), "skewed noise")
    heavy = Model(lambda x: Noise(first(x), _heavy, _heavy_density), "heavy noise")
    return [
        Problem("skewed", "Skewed noise", line, skewed, gaussian_x(1), 1, 1, False),
        Problem("heavy", "Heavy-tailed noise", line, heavy, gaussian_x(1), 1, 1, False),
    ]


def _correlated() -> Problem:
    """The coordinates of y are correlated, 0.6 on one side of x and −0.6 on the other."""

    def mean(x: FloatArray) -> FloatArray:
        return np.column_stack([x[:, 0], x[:, 1]])

    def cov(x: FloatArray) -> FloatArray:
        rho = 0.6 * np.tanh(2.0 * x[:, 0])
        return np.stack([np.stack([np.ones(len(x)), rho], 1), np.stack([rho, np.ones(len(x))], 1)], 1)

    p, r = Normal(mean=mean, std=1.0), Normal(mean=mean, cov=cov)
    return Problem("correlation", "Wrong correlation, d_y = 2", p, r, gaussian_x(2), 2, 2, False)


def _modes(share: Callable[[FloatArray], FloatArray]) -> NormalMixture:
    """Two well-separated modes, the upper one with probability share(x)."""
    return NormalMixture(
        weights=lambda x: np.column_stack([1.0 - share(x), share(x)]),
        means=lambda x: np.column_stack([first(x) - 3.0, first(x) + 3.0]),
        stds=1.0,
    )


def _half(x: FloatArray) -> FloatArray:
    return np.full(len(x), 0.5)


def _weights() -> list[Problem]:
    p = _modes(_half)
    wrong = _modes(lambda x: np.full(len(x), 0.6))
    depends = _modes(lambda x: 1.0 / (1.0 + np.exp(-first(x))))
    x = gaussian_x(1)
    return [
        Problem("weights", "Wrong mixture weight", p, wrong, x, 1, 1, False),
        Problem("weights-x", "Weights that depend on x", p, depends, x, 1, 1, False),
    ]


def _many_covariates() -> list[Problem]:
    """A bent mean beside irrelevant covariates, and one wrong slope among ten."""
    bent_p = Normal(mean=first, std=1.0)
    bent_r = Normal(mean=lambda x: first(x) + 0.3 * (first(x) ** 2 - 4.0 / 3.0), std=1.0)
    ten_p = Normal(mean=row_sum, std=1.0)
    ten_r = Normal(mean=lambda x: row_sum(x) + 0.3 * x[:, 0], std=1.0)
    uniform = uniform_x(-2.0, 2.0, 5)
    return [
        Problem("irrelevant", "Bent mean, 4 irrelevant x", bent_p, bent_r, uniform, 5, 1, False),
        Problem("ten", "Wrong slope, d_x = 10", ten_p, ten_r, gaussian_x(10), 10, 1, False),
    ]


def _true_pair() -> Problem:
    """A true model with two correlated responses."""

    def mean(x: FloatArray) -> FloatArray:
        return np.column_stack([x[:, 0], x[:, 0] - x[:, 1]])

    def cov(x: FloatArray) -> FloatArray:
        scale = np.exp(0.3 * x[:, 1])
        shared = np.array([[1.0, 0.5], [0.5, 1.0]])
        values: FloatArray = scale[:, None, None] * shared
        return values

    model = Normal(mean=mean, cov=cov)
    return Problem("true-pair", "True, d_y = 2", model, model, gaussian_x(2), 2, 2, True)


BEYOND = [*_noise_problems(), _correlated(), *_weights(), *_many_covariates(), _true_pair()]
