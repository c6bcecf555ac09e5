"""Right models that were once rejected too often, and rivals that are equally good."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

import condgof as cg
from calibration.design import Data, Rng
from calibration.samples import normal

SPIKE_WIDTH = 1e-3  # of a narrow peak that holds half of the probability
RIDGE_PENALTY = 20.0


# Discrete y, known by quantiles or intervals


def poisson_quantiles(n: int, rng: Rng) -> Data:
    x = rng.uniform(size=(n, 2))
    mean = 2.0 + 6.0 * x[:, 0]
    levels = np.array([0.1, 0.5, 0.9])
    table = stats.poisson.ppf(levels, mean[:, None])
    return Data(cg.from_quantiles(table, levels), x, rng.poisson(mean))


def poisson_intervals(n: int, rng: Rng) -> Data:
    x = rng.uniform(size=(n, 2))
    mean = 1e4 * (1.0 + x[:, 0])
    low, high = stats.poisson.ppf([[0.1], [0.9]], mean)
    return Data(cg.from_intervals(low, high, 0.8), x, rng.poisson(mean))


# Groups that are asked for one by one


def normal_by_groups(n: int, rng: Rng) -> Data:
    data = normal(n, 3, rng)
    return Data(data.model, data.x, data.y, by=rng.integers(0, 12, n))


def binary_twins(n: int, rng: Rng) -> Data:
    """Twins have the same y: groups of two rows, asked for by 75 values."""
    half = n // 2
    u = rng.random(half)
    p = np.repeat(0.3 + 0.4 * u, 2)
    y = np.repeat(rng.random(half) < 0.3 + 0.4 * u, 2).astype(int)
    return Data(
        cg.probabilities(np.column_stack([1.0 - p, p])),
        np.repeat(u, 2)[:, None],
        y,
        {"groups": np.repeat(np.arange(half), 2)},
        by=np.repeat(rng.integers(0, 75, half), 2),
    )


def laplace_scores(n: int, rng: Rng) -> Data:
    x = rng.standard_normal(n)
    errors = rng.laplace(size=n)
    model = cg.from_scores(-np.sign(errors))
    return Data(model, x, x + errors, by=np.arange(n) // 4)


# Densities and scores


def positive_scores(n: int, rng: Rng) -> Data:
    """Scores of log-normal y whose support is not declared."""
    x = rng.standard_normal((n, 2))
    z = rng.standard_normal(n)
    y = np.exp(0.3 * x[:, 0] + z)
    return Data(cg.from_scores(-(1.0 + z) / y), x, y)


def moving_spike(n: int, rng: Rng) -> Data:
    """Half of the probability is in a narrow peak that moves with x."""
    x = rng.standard_normal((n, 1))
    narrow = rng.random(n) < 0.5
    scale = np.where(narrow, SPIKE_WIDTH, 1.0)
    y = np.sin(3.0 * x[:, 0]) + scale * rng.standard_normal(n)
    return Data(cg.from_log_prob(spike_log_density), x, y)


def spike_log_density(y: Any, x: Any) -> Any:
    centre = np.sin(3.0 * np.asarray(x)[:, 0])
    parts = [
        stats.norm.logpdf(np.ravel(y), centre, SPIKE_WIDTH),
        stats.norm.logpdf(np.ravel(y), centre, 1.0),
    ]
    return np.logaddexp(*parts) + np.log(0.5)


# Fits


def lines(n: int, columns: int, rng: Rng, slope: float = 0.5) -> Data:
    """A linear mean and unit noise; the model is fitted by the procedure."""
    x = rng.standard_normal((n, columns))
    return Data(None, x, slope * x.sum(axis=1) + rng.standard_normal(n))


def weighted_lines(n: int, columns: int, rng: Rng) -> Data:
    """Lines whose rows have weights that depend on x; the fit is weighted, too."""
    data = lines(n, columns, rng)
    return replace(data, options={"weights": np.exp(data.x[:, 0])})


def log_linear_counts(n: int, columns: int, rng: Rng) -> Data:
    x = rng.standard_normal((n, columns))
    return Data(None, x, rng.poisson(np.exp(0.7 + 0.4 * x[:, 0])))


def ridge() -> Any:
    """Return a fit by ridge regression, as those of `condgof.fits`."""
    return fit_ridge


def poisson_regression() -> Any:
    return cg.fits.glm("poisson")


def fit_ridge(x: Any, y: Any) -> Any:
    """Fit a ridge regression, whose residual standard deviation holds its bias."""
    centre = x.mean(axis=0)
    inner = (x - centre).T @ (x - centre) + RIDGE_PENALTY * np.eye(x.shape[1])
    slopes = np.linalg.solve(inner, (x - centre).T @ (y - y.mean()))
    residuals = y - y.mean() - (x - centre) @ slopes
    std = np.linalg.norm(residuals) / np.sqrt(len(y) - x.shape[1] - 1)

    def law(new: Any) -> Any:
        mean = y.mean() + (new - centre) @ slopes
        return cg.models.Normal(mean=mean, std=np.full(len(new), std))

    return cg.models.Model(law)


# Rivals that are equally good


def rival_normals(n: int, rng: Rng) -> Data:
    """Means off by 0.3 to either side."""
    x = rng.standard_normal((n, 1))
    y = x[:, 0] + rng.standard_normal(n)
    sd = np.ones(n)
    return Data((x[:, 0] + 0.3, sd), x, y, rivals={"low": (x[:, 0] - 0.3, sd)})


@cache
def as_good_event(rate: float, p: float) -> float:
    """Return the probability above `rate` with the expected log score of p."""

    def gain(q: float) -> float:
        return rate * np.log(p / q) + (1.0 - rate) * (np.log1p(-p) - np.log1p(-q))

    return float(brentq(gain, rate, 0.5))


def rival_rare_events(n: int, rng: Rng, rate: float = 0.01) -> Data:
    """An event of probability `rate`, predicted half as often, or as wrongly above."""
    x = rng.standard_normal((n, 1))
    low = 0.5 * rate
    high = as_good_event(rate, low)
    return Data(
        cg.probabilities(np.full(n, low)),
        x,
        (rng.random(n) < rate).astype(int),
        rivals={"high": cg.probabilities(np.full(n, high))},
    )


def rival_quantiles(n: int, rng: Rng) -> Data:
    data = rival_normals(n, rng)
    levels = np.array([0.1, 0.5, 0.9])
    high, low = (
        cg.from_quantiles(mean[:, None] + stats.norm.ppf(levels), levels)
        for mean, _ in (data.model, data.rivals["low"])
    )
    return Data(high, data.x, data.y, rivals={"low": low})


def rival_series(n: int, rng: Rng) -> Data:
    """Errors and a covariate that are AR(0.6), and tilts to either side."""
    noise = rng.standard_normal((n + 100, 2))
    for t in range(1, len(noise)):
        noise[t] = 0.6 * noise[t - 1] + 0.8 * noise[t]
    x = noise[100:, :1]
    y = noise[100:, 1]
    sd = np.ones(n)
    tilt = 0.3 * x[:, 0]
    return Data((tilt, sd), x, y, {"dependence": "auto"}, {"other": (-tilt, sd)})


def rivals_on_a_circle(n: int, rng: Rng) -> Data:
    """Six means that are equally far from the truth."""
    x = rng.standard_normal((n, 1))
    y = rng.standard_normal(n)
    sd = np.ones(n)
    turns = np.arange(6) / 6.0 + stats.norm.cdf(x)
    means = 0.4 * np.cos(2.0 * np.pi * turns)
    rivals = {str(k): (means[:, k], sd) for k in range(1, 6)}
    return Data((means[:, 0], sd), x, y, rivals=rivals)
