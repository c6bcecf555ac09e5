"""Tests by simulation from the model: DHARMa's residual tests, SBC, TARP."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from rivals.design import Rng, Sample

#: Draws from the model by row.
DRAWS = 250
#: Draws of a posterior by row, among which y has a rank.
POSTERIOR_DRAWS = 99


def drawn_from(sample: Sample, rng: Rng, draws: int) -> np.ndarray:
    """Return draws of y, (draws, n) or (draws, n, d_y)."""
    return np.array([sample.law.sample(rng).squeeze() for _ in range(draws)], dtype=float)


def two_sided(statistic: float, null: np.ndarray) -> float:
    """Return the p-value of a statistic among its draws under the model."""
    above = (1 + (null >= statistic).sum()) / (len(null) + 1)
    below = (1 + (null <= statistic).sum()) / (len(null) + 1)
    return float(min(1.0, 2.0 * min(above, below)))


def uniformity(sample: Sample, rng: Rng) -> float:
    """DHARMa's first test: Kolmogorov–Smirnov of randomised simulated residuals."""
    draws = drawn_from(sample, rng, DRAWS)
    below = (draws < sample.y).sum(axis=0)
    equal = (draws == sample.y).sum(axis=0)
    u = (below + (equal + 1) * rng.random(len(sample.y))) / (DRAWS + 1)
    return float(kstest(u, "uniform").pvalue)


def dispersion(sample: Sample, rng: Rng) -> float:
    """DHARMa's dispersion test: the variance of y about its simulated mean."""
    draws = drawn_from(sample, rng, DRAWS)
    centre = draws.mean(axis=0)
    return two_sided(np.var(sample.y - centre), np.var(draws - centre, axis=1))


def zeros(sample: Sample, rng: Rng) -> float:
    """DHARMa's test of zeros: their number among the simulated ones."""
    draws = drawn_from(sample, rng, DRAWS)
    return two_sided((sample.y == 0).sum(), (draws == 0).sum(axis=1))


def sbc(sample: Sample, rng: Rng) -> float:
    """Simulation-based calibration: ranks of each column of y are uniform (Bonferroni)."""
    draws = drawn_from(sample, rng, POSTERIOR_DRAWS)
    draws = draws.reshape(POSTERIOR_DRAWS, len(sample.y), -1)
    y = np.reshape(sample.y, (len(sample.y), -1))
    u = ((draws < y).sum(axis=0) + rng.random(y.shape)) / (POSTERIOR_DRAWS + 1)
    pvalues = [kstest(column, "uniform").pvalue for column in u.T]
    return float(min(1.0, len(pvalues) * min(pvalues)))


def tarp(sample: Sample, rng: Rng) -> float:
    """TARP: how often draws are nearer to a random reference point than y is.

    Under the model these shares are uniform; the reference point of a row is drawn from
    the range of the draws. The statistic is Kolmogorov–Smirnov's.
    """
    draws = drawn_from(sample, rng, POSTERIOR_DRAWS)
    draws = draws.reshape(POSTERIOR_DRAWS, len(sample.y), -1)
    y = np.reshape(sample.y, (len(sample.y), -1))
    low = draws.min(axis=(0, 1))
    high = draws.max(axis=(0, 1))
    reference = rng.uniform(low, high, y.shape)
    distance = np.linalg.norm(y - reference, axis=1)
    nearer = (np.linalg.norm(draws - reference, axis=2) < distance).sum(axis=0)
    share = (nearer + rng.random(len(y))) / (POSTERIOR_DRAWS + 1)
    return float(kstest(share, "uniform").pvalue)
