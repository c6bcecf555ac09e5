"""Power against simple misfits with a direction, and against overconfident models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Misfit:
    """A sample: how x is drawn, and y given x."""

    draw_x: Callable[[Rng], Any]
    draw_y: Callable[[Rng, Any], Any]

    def __call__(self, rng: Rng) -> tuple[Any, Any]:
        x = self.draw_x(rng)
        return x, self.draw_y(rng, x)


@dataclass(frozen=True)
class Direction:
    """A misfit of N(0, 1)."""

    sample: Callable[[Rng], tuple[Any, Any]]
    #: The least power, and the power of version 0.1 on the same samples.
    least: float
    before: float


DIRECTIONS = {
    "width 1.15, n = 200": Direction(
        Misfit(lambda r: z(r, 200, 2), lambda r, x: 1.15 * z(r, 200)),
        least=0.5,
        before=0.177,
    ),
    "shift 0.15, n = 300": Direction(
        Misfit(lambda r: z(r, 300, 2), lambda r, x: 0.15 + z(r, 300)),
        least=0.6,
        before=0.587,
    ),
    "binary column, 5% ones, shift 1.2, n = 200": Direction(
        binary, least=0.6, before=0.073
    ),
    "1 of 20 levels, shift 1, n = 400": Direction(levels, least=0.8, before=0.190),
    "spread exp(0.2 x₁), 10 columns, n = 200": Direction(
        Misfit(lambda r: z(r, 200, 10), lambda r, x: np.exp(0.2 * x[:, 0]) * z(r, 200)),
        least=0.4,
        before=0.057,
    ),
    "mean 0.25 x₁, 10 columns, n = 200": Direction(
        Misfit(lambda r: z(r, 200, 10), lambda r, x: 0.25 * x[:, 0] + z(r, 200)),
        least=0.45,
        before=0.113,
    ),
    "mean 0.35 x₁x₂, 10 columns, n = 200": Direction(
        Misfit(lambda r: z(r, 200, 10), lambda r, x: 0.35 * x[:, 0] * x[:, 1] + z(r, 200)),
        least=0.2,
        before=0.080,
    ),
    "mean 0.5 sin(2πt), 5 columns of noise, n = 200": Direction(
        wave, least=0.75, before=0.473
    ),
    "1% of rows N(0, 36), n = 300": Direction(
        Misfit(
            lambda r: z(r, 300, 2),
            lambda r, x: np.where(r.random(300) < 0.01, 6, 1) * z(r, 300),
        ),
        least=0.65,
        before=0.053,
    ),
    "t4 tails, variance 1, n = 300": Direction(
        Misfit(lambda r: z(r, 300, 2), lambda r, x: r.standard_t(4, 300) / 2**0.5),
        least=0.92,
        before=0.880,
    ),
    "slope, one 1e4 in its column, n = 150: as it is": Direction(
        partial(units, outlier, False), least=0.97, before=0.320
    ),
    "slope, one 1e4 in its column, n = 150: ranks": Direction(
        partial(units, outlier, True), least=0.97, before=1.000
    ),
    "slope, log-normal(2) column, n = 150: as it is": Direction(
        partial(units, tailed, False), least=0.97, before=0.520
    ),
    "slope, log-normal(2) column, n = 150: ranks": Direction(
        partial(units, tailed, True), least=0.97, before=0.997
    ),
}


def direction_trial(name: str, trial: int) -> dict[str, float]:
    # Names with the same text before the colon have the same samples.
    rng = np.random.default_rng([trial, *name.split(":")[0].encode()])
    x, y = DIRECTIONS[name].sample(rng)
    law = np.zeros(len(y)), np.ones(len(y))
    return {"pvalue": float(cg.adaptive(law, x, y, rng=trial, **ONE).pvalue)}


def show_directions(rows: Rows) -> tuple[str, list[str]]:
    lines = ["| misfit | rate | at least | 0.1 |", "|---|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        least = DIRECTIONS[name].least
        before = DIRECTIONS[name].before
        rate = sum(row["pvalue"] <= 0.05 for row in trials) / len(trials)
        lines.append(
            f"| {name} | {rate:.3f}{'*' * (rate < least)} | {least:g} | {before:.3f} |"
        )
        failures += [f"power against {name}: {rate:.3f}, below {least}"] * (rate < least)
    return "\n".join(lines), failures


def sure_trial(kind: str, n: int, times: float, trial: int) -> dict[str, float]:
    """Test a model N(2x, 1), in one of its forms, where the noise is `times` larger."""
    rng = np.random.default_rng([trial, n, int(times), *kind.encode()])
    x, noise = z(rng, 2, n)
    mean = 2 * x
    y = 2 * x + times * noise
    law: Any = (mean, np.ones(n))
    if kind == "scores":
        law = cg.from_scores(mean - y)
    elif kind == "draws":
        law = cg.from_draws(mean[:, None] + z(rng, n, 99), rng=rng)
    elif kind == "classes":
        y = rng.integers(0, 2, n)
        likely = np.eye(2)[(x > 0).astype(int)]
        p = np.where(likely == 1, 1 - 0.1 / times, 0.1 / times)
        law = cg.probabilities(p, classes=[0, 1])
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
