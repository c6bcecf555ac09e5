"""Posteriors of right and wrong models, sampled exactly, with the rows they were fitted to.

A normal linear model with a flat prior (σ known or not), and Poisson counts with a gamma
posterior for each of four groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import arviz_base as azb
import numpy as np
from scipy.special import gammaln

from calibration.design import Data, Rng

DRAWS = 4000


class Sample(NamedTuple):
    """Rows of a fit with their posterior, and new rows with their predictions."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    idata: Any
    new_x: np.ndarray  # (n, d)
    new_y: np.ndarray  # (n,)
    new_draws: np.ndarray  # (n, DRAWS)


def idata_of(y: np.ndarray, predicted: np.ndarray, log_likelihood: np.ndarray) -> Any:
    """Make ArviZ data of one chain, of arrays (draws, n)."""
    return azb.from_dict(
        {
            "posterior_predictive": {"y": predicted[None]},
            "log_likelihood": {"y": log_likelihood[None]},
            "observed_data": {"y": y},
        }
    )


def linear_rows(rng: Rng, n: int, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x (n, 2) and y = 1 + x_0 + bend·(x_0² − 1) + ε."""
    x = rng.standard_normal((n, 2))
    y = 1.0 + x[:, 0] + bend * (x[:, 0] ** 2 - 1.0) + rng.standard_normal(n)
    return x, y


def linear_design(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


def linear(rng: Rng, n: int, known: bool, bend: float) -> Sample:
    """Return rows and a posterior of y = a + b·x_0 + c·x_1 + σε with a flat prior."""
    x, y = linear_rows(rng, n, bend)
    design = linear_design(x)
    inverse = np.linalg.inv(design.T @ design)
    mean = inverse @ design.T @ y
    rest = y - design @ mean
    sigma = np.ones(DRAWS)
    if not known:
        sigma = np.sqrt(rest @ rest / rng.chisquare(n - 3, DRAWS))
    root = np.linalg.cholesky(inverse)
    beta = mean + sigma[:, None] * (rng.standard_normal((DRAWS, 3)) @ root.T)
    mu = beta @ design.T
    logs = -0.5 * ((y - mu) / sigma[:, None]) ** 2 - np.log(sigma)[:, None]
    predicted = mu + sigma[:, None] * rng.standard_normal((DRAWS, n))
    new_x, new_y = linear_rows(rng, n, bend)
    new_mu = beta @ linear_design(new_x).T
    new_draws = new_mu + sigma[:, None] * rng.standard_normal((DRAWS, n))
    return Sample(x, y, idata_of(y, predicted, logs), new_x, new_y, new_draws.T)


def poisson_rows(rng: Rng, n: int, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x, a group and a number that the rate depends on if bend is not 0, and y."""
    group = np.arange(n) % 4
    x = np.column_stack([group, rng.standard_normal(n)])
    return x, rng.poisson((2.0 + group) * np.exp(bend * x[:, 1]))


def poisson(rng: Rng, n: int, bend: float) -> Sample:
    """Return rows and gamma posteriors of the rates of four groups."""
    x, y = poisson_rows(rng, n, bend)
    group = x[:, 0].astype(int)
    total = np.bincount(group, y, minlength=4)
    rate = rng.gamma(total + 0.5, 1.0 / np.bincount(group), (DRAWS, 4))
    mu = rate[:, group]
    logs = y * np.log(mu) - mu - gammaln(y + 1)
    predicted = rng.poisson(mu).astype(float)
    new_x, new_y = poisson_rows(rng, n, bend)
    new_draws = rng.poisson(rate[:, new_x[:, 0].astype(int)]).astype(float)
    return Sample(
        x, y, idata_of(y.astype(float), predicted, logs), new_x, new_y, new_draws.T
    )


PROBLEMS: dict[str, Callable[[Rng, int, float], Sample]] = {
    "known": lambda rng, n, bend: linear(rng, n, True, bend),
    "unknown": lambda rng, n, bend: linear(rng, n, False, bend),
    "poisson": poisson,
}


def in_sample(problem: str, n: int, rng: Rng) -> Data:
    """Return a right posterior and the rows of its fit."""
    sample = PROBLEMS[problem](rng, n, 0.0)
    return Data(sample.idata, sample.x, sample.y)
