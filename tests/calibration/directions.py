"""Power against simple misfits that a tool which knows the direction finds, and against sure models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

import condgof as cg
from checks import CheckClaim
from kinds import ONE
from report import level_table

Rows = dict[str, list[dict[str, float]]]
Rng = np.random.Generator


def z(rng: Rng, *shape: int) -> Any:
    return rng.normal(size=shape)


def binary(rng: Rng) -> tuple[Any, Any]:
    x = z(rng, 200, 3)
    x[:, 0] = rng.random(200) < 0.05
    return x, 1.2 * x[:, 0] + z(rng, 200)


def levels(rng: Rng) -> tuple[Any, Any]:
    import pandas as pd

    level = rng.integers(0, 20, 400)
    return pd.DataFrame({"level": pd.Categorical(level)}), (level == 0) + z(rng, 400)


def wave(rng: Rng) -> tuple[Any, Any]:
    x = np.column_stack([rng.random(200), z(rng, 200, 5)])
    return x, 0.5 * np.sin(2 * np.pi * x[:, 0]) + z(rng, 200)


def units(change: Callable[[Any], Any], by_ranks: bool, rng: Rng) -> tuple[Any, Any]:
    """A slope on a column of x in other units, or on its ranks."""
    x = z(rng, 150, 2)
    y = 0.7 * x[:, 0] + z(rng, 150)
    x[:, 0] = change(x[:, 0])
    return ndtri((rankdata(x, axis=0) - 0.5) / 150) if by_ranks else x, y


def outlier(column: Any) -> Any:
    return np.append(1e4, column[1:])


def tailed(column: Any) -> Any:
    return np.exp(2 * column)


#: Misfits of N(0, 1): the sample, the least power, and that of 0.1 on the same samples.
DIRECTIONS: dict[str, tuple[Callable[[Rng], tuple[Any, Any]], float, float]] = {
    "width 1.15, n = 200": (lambda r: (z(r, 200, 2), 1.15 * z(r, 200)), 0.5, 0.177),
    "shift 0.15, n = 300": (lambda r: (z(r, 300, 2), 0.15 + z(r, 300)), 0.6, 0.587),
    "binary column, 5% ones, shift 1.2, n = 200": (binary, 0.6, 0.073),
    "1 of 20 levels, shift 1, n = 400": (levels, 0.8, 0.190),
    "spread exp(0.2 x₁), 10 columns, n = 200": (
        lambda r: (x := z(r, 200, 10), np.exp(0.2 * x[:, 0]) * z(r, 200)), 0.4, 0.057),
    "mean 0.25 x₁, 10 columns, n = 200": (
        lambda r: (x := z(r, 200, 10), 0.25 * x[:, 0] + z(r, 200)), 0.45, 0.113),
    "mean 0.35 x₁x₂, 10 columns, n = 200": (
        lambda r: (x := z(r, 200, 10), 0.35 * x[:, 0] * x[:, 1] + z(r, 200)), 0.2, 0.080),
    "mean 0.5 sin(2πt), 5 columns of noise, n = 200": (wave, 0.75, 0.473),
    "1% of rows N(0, 36), n = 300": (
        lambda r: (z(r, 300, 2), np.where(r.random(300) < 0.01, 6, 1) * z(r, 300)), 0.65, 0.053),
    "t4 tails, variance 1, n = 300": (
        lambda r: (z(r, 300, 2), r.standard_t(4, 300) / 2**0.5), 0.92, 0.880),
    "slope, one 1e4 in its column, n = 150: as it is": (partial(units, outlier, False), 0.97, 0.320),
    "slope, one 1e4 in its column, n = 150: ranks": (partial(units, outlier, True), 0.97, 1.000),
    "slope, log-normal(2) column, n = 150: as it is": (partial(units, tailed, False), 0.97, 0.520),
    "slope, log-normal(2) column, n = 150: ranks": (partial(units, tailed, True), 0.97, 0.997),
}  # fmt: skip


def direction_trial(name: str, trial: int) -> dict[str, float]:
    # What is before the colon is the sample.
    x, y = DIRECTIONS[name][0](np.random.default_rng([trial, *name.split(":")[0].encode()]))
    law = np.zeros(len(y)), np.ones(len(y))
    return {"pvalue": float(cg.adaptive(law, x, y, rng=trial, **ONE).pvalue)}


def show_directions(rows: Rows) -> tuple[str, list[str]]:
    lines, failures = ["| misfit | rate | at least | 0.1 |", "|---|---|---|---|"], []
    for name, trials in rows.items():
        _, least, before = DIRECTIONS[name]
        rate = sum(row["pvalue"] <= 0.05 for row in trials) / len(trials)
        lines.append(
            f"| {name} | {rate:.3f}{'*' * (rate < least)} | {least:g} | {before:.3f} |"
        )
        failures += [f"power against {name}: {rate:.3f}, below {least}"] * (rate < least)
    return "\n".join(lines), failures


def sure_trial(kind: str, n: int, times: float, trial: int) -> dict[str, float]:
    """A model that says N(2x, 1), in one of the ways to say so, where the noise is `times` larger."""
    rng = np.random.default_rng([trial, n, int(times), *kind.encode()])
    x, noise = z(rng, 2, n)
    mean, y = 2 * x, 2 * x + times * noise
    law: Any = (mean, np.ones(n))
    if kind == "scores":
        law = cg.from_scores(mean - y)
    elif kind == "draws":
        law = cg.from_draws(mean[:, None] + z(rng, n, 99), rng=rng)
    elif kind == "classes":
        y, likely = rng.integers(0, 2, n), np.eye(2)[(x > 0).astype(int)]
        law = cg.probabilities(
            np.where(likely == 1, 1 - 0.1 / times, 0.1 / times), classes=[0, 1]
        )
    return {"pvalue": float(cg.adaptive(law, x, y, rng=trial, **ONE).pvalue)}


DIRECTION_CHECKS = {
    "direction.power": CheckClaim(
        "Power of `adaptive` against simple misfits of N(0, 1): rejection rates in 300"
        " samples",
        "α = 0.05. The last column is version 0.1 on the same samples. Units of x must not"
        " matter.",
        {name: (partial(direction_trial, name), 300) for name in DIRECTIONS},
        show_directions,
    ),
    "direction.sure": CheckClaim(
        "Models that are far too sure: rejections at α = 0.05 in 20 samples",
        "y = 2x + c·noise against N(2x, 1), as mean and std, by scores, by 99 draws;"
        " columns are c. Classes: the\nmodel gives 0.1/c to what happens half the time. All"
        " must be rejected.",
        {
            f"{kind}, n = {n} @ {times:g}": (partial(sure_trial, kind, n, times), 20)
            for kind in ("mean and std", "scores", "draws", "classes")
            for n in (30, 100, 1000)
            for times in (3.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
        },
        partial(level_table, alphas=(0.05,), within=lambda trials, alpha: (trials, trials)),
    ),
}
