"""Predictions that are no densities: draws, quantiles, intervals, PITs, zeros."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import condgof as cg
from checks import CheckClaim
from condgof.study import problem

#: One core; all else, the number of draws too, is as users have it.
ONE = {"engine": 1}
#: Levels of quantiles, by their number.
LEVELS = {
    3: [0.1, 0.5, 0.9],
    9: list(np.arange(1, 10) / 10),
    99: list(np.arange(1, 100) / 100),
}


def sample(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """A mean that bends and a noise that grows; x has two columns."""
    x = rng.normal(size=(n, 2))
    mean = np.sin(x[:, 0]) + 0.5 * x[:, 1]
    std = 0.5 + 0.5 * np.abs(x[:, 1])
    return x, mean, std, mean + std * rng.normal(size=n)


def draws(m: int, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, std, y = sample(n, rng)
    values = mean[:, None] + std[:, None] * rng.normal(size=(n, m))
    return cg.from_draws(values, rng=rng), x, y


def counts(m: int, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, _, _ = sample(n, rng)
    rate = np.exp(mean - 1.0)
    return cg.from_draws(rng.poisson(rate[:, None], (n, m)), rng=rng), x, rng.poisson(rate)


def pairs(m: int, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, std, _ = sample(n, rng)
    noise = rng.standard_t(4, size=(n, m + 1, 2))
    noise[:, :, 1] += 0.8 * noise[:, :, 0]
    every = mean[:, None, None] + std[:, None, None] * noise
    return cg.from_draws(every[:, 1:], rng=rng), x, every[:, 0]


def quantiles(count: int, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, std, y = sample(n, rng)
    table = mean[:, None] + std[:, None] * stats.norm.ppf(LEVELS[count])
    return cg.from_quantiles(table, LEVELS[count]), x, y


def intervals(
    coverage: list[float], n: int, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    x, mean, std, y = sample(n, rng)
    half = std[:, None] * stats.norm.isf((1 - np.array(coverage)) / 2)
    return cg.from_intervals(mean[:, None] - half, mean[:, None] + half, coverage), x, y


def whole_dollars(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Predictions and y in whole numbers, which tie in few rows."""
    x = rng.uniform(size=(n, 1))
    mean = 500 + 2000 * x[:, 0]
    std = 0.2 * mean
    y = np.round(mean + std * rng.standard_normal(n))
    table = np.round(mean[:, None] + std[:, None] * stats.norm.ppf(LEVELS[3]))
    return cg.from_quantiles(table, LEVELS[3]), x, y


def large_counts(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """The central 80% interval of Poisson laws with means of 10,000 to 20,000."""
    x = rng.uniform(size=(n, 1))
    mean = 1e4 * (1 + x[:, 0])
    low, high = stats.poisson.ppf([[0.1], [0.9]], mean)
    return cg.from_intervals(low, high, 0.8), x, rng.poisson(mean)


def pits(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, std, y = sample(n, rng)
    return cg.from_pit(stats.norm.cdf(y, mean, std)), x, y


def inflated(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, mean, _, _ = sample(n, rng)
    rate = np.exp(0.5 * mean + 0.5)
    zeros = 1 / (1 + np.exp(1 - x[:, 0]))
    y = np.where(rng.random(n) < zeros, 0, rng.poisson(rate))
    return cg.models.ZeroInflatedPoisson(mean=rate, inflation=zeros), x, y


KINDS = {
    **{f"draws, m = {m}": partial(draws, m) for m in (9, 19, 99)},
    "draws of counts, m = 19": partial(counts, 19),
    "draws, d_y = 2, m = 19": partial(pairs, 19),
    "draws, d_y = 2, m = 99": partial(pairs, 99),
    **{f"{k} quantiles": partial(quantiles, k) for k in LEVELS},
    "interval, 0.9": partial(intervals, [0.9]),
    "intervals, 0.5 and 0.9": partial(intervals, [0.5, 0.9]),
    "3 quantiles of whole dollars": whole_dollars,
    "interval of counts of 10,000": large_counts,
    "PITs": pits,
    "zero-inflated Poisson": inflated,
}


#: Problems of the comparison with the known CDF.
POWER = {"hgm": 100, "qgm": 400, "weights": 200}


def power_trial(name: str, trial: int) -> dict[str, float]:
    case = problem(name)
    n = POWER[name]
    rng = np.random.default_rng([trial, n, *name.encode()])
    x, y = case.draw(n, rng)
    law = case.p(x)
    drawn = cg.from_draws(
        np.concatenate([law.sample(rng) for _ in range(99)], axis=1), rng=rng
    )
    found = {"draws": cg.adaptive(drawn, x, y, rng=trial, **ONE)}
    found["cdf"] = cg.adaptive(law, x, y, rng=trial, **ONE)
    found["mmd"] = cg.mmd(drawn, x, y, rng=trial, **ONE)
    return {name: result.pvalue for name, result in found.items()}


def show_power(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| problem | n | 99 draws | the known CDF | `mmd` on the draws |",
        "|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        rates = {
            test: np.mean([row[test] <= 0.05 for row in trials])
            for test in ("draws", "cdf", "mmd")
        }
        lines.append(
            f"| {name} | {POWER[name]} |"
            f" {' | '.join(f'{rate:.3f}' for rate in rates.values())} |"
        )
        if rates["draws"] < rates["cdf"] - 0.05:
            failures.append(
                f"power of 99 draws on {name}: {rates['draws']:.3f}, CDF {rates['cdf']:.3f}"
            )
    return "\n".join(lines), failures


KIND_CHECKS = {
    "kinds.power": CheckClaim(
        "Power of 99 draws beside the distribution that they are drawn from, 300 samples",
        "`adaptive` at α = 0.05; it must be at most 0.05 below.",
        {name: (partial(power_trial, name), 300) for name in POWER},
        show_power,
    ),
}
