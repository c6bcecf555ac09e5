"""Counts and ordered classes: levels of true models, power against four misfits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import condgof as cg
from checks import CheckClaim
from report import bounds

#: One core, and as many draws as a level needs.
LEVEL_OPTIONS = {"engine": 1, "n_boot": 199}
#: As power was measured on version 0.2.
POWER_OPTIONS = {"engine": 1, "n_boot": 299}
TRIALS = 300
POWER_ROWS = 300
Rng = np.random.Generator
Rows = dict[str, list[dict[str, float]]]


class Data(NamedTuple):
    """A model, and a sample to test it on."""

    model: Any
    x: np.ndarray
    y: np.ndarray


def log_linear(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Draw x of three columns, and return it with exp(0.4·x₁)."""
    x = rng.normal(size=(n, 3))
    return x, np.exp(0.4 * x[:, 0])


def poisson(mean: float, n: int, rng: Rng) -> Data:
    x, factor = log_linear(n, rng)
    return Data(cg.models.Poisson(mean=mean * factor), x, rng.poisson(mean * factor))


def negative_binomial(n: int, rng: Rng) -> Data:
    x, factor = log_linear(n, rng)
    mean = 3.0 * factor
    y = rng.poisson(rng.gamma(0.5, 2.0 * mean))
    return Data(cg.models.NegativeBinomial(mean=mean, dispersion=2.0), x, y)


def binomial(n: int, rng: Rng) -> Data:
    x, _ = log_linear(n, rng)
    return Data(cg.models.Binomial(trials=5, p=0.3), x, rng.binomial(5, 0.3, n))


def zero_inflated(n: int, rng: Rng) -> Data:
    x, factor = log_linear(n, rng)
    y = np.where(rng.random(n) < 0.3, 0, rng.poisson(2.0 * factor))
    return Data(cg.models.ZeroInflatedPoisson(mean=2.0 * factor, inflation=0.3), x, y)


def draw_classes(p: np.ndarray, rng: Rng) -> np.ndarray:
    return (rng.random((len(p), 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


def ordered(n: int, rng: Rng) -> Data:
    x, _ = log_linear(n, rng)
    cdf = expit(np.array([-1.0, 0.0, 1.5]) - x[:, :1])
    p = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    return Data(cg.probabilities(p, ordered=True), x, draw_classes(p, rng))


def nearly_certain(n: int, rng: Rng) -> Data:
    """Four ordered classes, one of which has all but 1e-4 of the probability."""
    x, _ = log_linear(n, rng)
    p = np.full((n, 4), 1e-4 / 3.0)
    p[np.arange(n), rng.integers(0, 4, n)] = 1.0 - 1e-4
    return Data(cg.probabilities(p, ordered=True), x, draw_classes(p, rng))


TRUE: dict[str, Callable[[int, Rng], Data]] = {
    **{f"Poisson, mean {mean:g}": partial(poisson, mean) for mean in (0.02, 0.08, 1, 10)},
    "Poisson, mean 1e4": partial(poisson, 1e4),
    "negative binomial, dispersion 2": negative_binomial,
    "binomial(5, 0.3)": binomial,
    "zero-inflated Poisson": zero_inflated,
    "ordered classes, K = 4": ordered,
}
SIZES = (30, 300, 5000)


def poisson_mean(x: np.ndarray) -> np.ndarray:
    return np.exp(0.5 + 0.4 * x[:, 0])


def too_many_zeros(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = poisson_mean(x)
    y = np.where(rng.random(n) < 0.12, 0, rng.poisson(mean / 0.88))
    return Data(cg.models.Poisson(mean=mean), x, y)


def overdispersed(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = poisson_mean(x)
    return Data(cg.models.Poisson(mean=mean), x, rng.poisson(mean * rng.gamma(4, 0.25, n)))


def missing_slope(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = poisson_mean(x)
    return Data(cg.models.Poisson(mean=mean), x, rng.poisson(mean * np.exp(0.12 * x[:, 1])))


def rare_counts(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = 0.05 * poisson_mean(x)
    y = rng.poisson(mean * np.exp(0.5 * (x[:, 1] > 0)))
    return Data(cg.models.Poisson(mean=mean), x, y)


class Misfit(NamedTuple):
    """A misfit, and the least power against it."""

    draw: Callable[[int, Rng], Data]
    least: float


MISFITS = {
    "12% zeros too many": Misfit(too_many_zeros, 0.7),
    "negative binomial of size 4": Misfit(overdispersed, 0.88),
    "a missing slope of 0.12": Misfit(missing_slope, 0.28),
    "rare counts, a missing factor": Misfit(rare_counts, 0.25),
}


def level_trial(draw: Callable[[int, Rng], Data], n: int, trial: int) -> dict[str, float]:
    data = draw(n, np.random.default_rng([trial, n, 31]))
    return {"p": cg.adaptive(*data, rng=trial, **LEVEL_OPTIONS).pvalue}


def power_trial(name: str, trial: int) -> dict[str, float]:
    data = MISFITS[name].draw(POWER_ROWS, np.random.default_rng([trial, 32]))
    return {"p": cg.adaptive(*data, rng=trial, **POWER_OPTIONS).pvalue}


def show_level(rows: Rows) -> tuple[str, list[str]]:
    lines = ["| true model | at 0.05 | at 0.01 |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        p = np.array([row["p"] for row in trials])
        found = []
        for alpha in (0.05, 0.01):
            low, high = bounds(len(p), alpha)
            count = int((p <= alpha).sum())
            found.append(f"{count} ({low} to {high})")
            if not low <= count <= high:
                failures.append(f"level {alpha} of {name}: {count} of {len(p)}")
        lines.append(f"| {name} | {' | '.join(found)} |")
    return "\n".join(lines), failures


def show_power(rows: Rows) -> tuple[str, list[str]]:
    lines = ["| misfit | rejected at 0.05 | least |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        rate = float(np.mean([row["p"] <= 0.05 for row in trials]))
        least = MISFITS[name].least
        lines.append(f"| {name} | {rate:.3f} | {least} |")
        if rate < least:
            failures.append(f"power against {name}: {rate:.3f}")
    return "\n".join(lines), failures


LEVEL_TRIALS = {
    f"{name}, n = {n:,}": (partial(level_trial, draw, n), TRIALS)
    for name, draw in TRUE.items()
    for n in SIZES
}

COUNT_CHECKS = {
    "counts.level": CheckClaim(
        f"Level of `adaptive`: counts and ordered classes, {TRIALS} samples",
        "True models, each within its exact binomial bounds at 0.05 and 0.01.",
        {
            **LEVEL_TRIALS,
            "nearly certain classes, n = 10,000": (
                partial(level_trial, nearly_certain, 10_000),
                TRIALS,
            ),
        },
        show_level,
    ),
    "counts.power": CheckClaim(
        f"Power of `adaptive`: Poisson laws, {TRIALS} samples of {POWER_ROWS} rows",
        "The least power is what was asked for, or that of version 0.2 less 0.03.",
        {name: (partial(power_trial, name), TRIALS) for name in MISFITS},
        show_power,
    ),
}
