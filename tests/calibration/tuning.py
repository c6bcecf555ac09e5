"""Misfits by which the shares of `adaptive`'s families were chosen, in no other table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import condgof as cg
from checks import CheckClaim
from kinds import ONE

Rng = np.random.Generator


def z(rng: Rng, *shape: int) -> Any:
    return rng.normal(size=shape)


def rare(rng: Rng, n: int, share: float, columns: int) -> Any:
    """A column of two values, and others."""
    return np.column_stack([rng.random(n) < share, z(rng, n, columns)]).astype(float)


def levels(rng: Rng, n: int, count: int, others: int = 0) -> Any:
    table = {"level": pd.Categorical(rng.integers(0, count, n))}
    return pd.DataFrame(table | {f"other {j}": z(rng, n) for j in range(others)})


def at(x: pd.DataFrame, *which: int) -> Any:
    """Whether a row has one of some levels."""
    return np.isin(x["level"].to_numpy(), which)


def modes(rng: Rng, n: int, columns: int, said: float, true: float, gap: float) -> Any:
    """Two modes, the upper one with another probability than said."""
    x = z(rng, n, columns)
    y = x[:, 0] + np.where(rng.random(n) < true, gap, -gap) + z(rng, n)
    means = np.column_stack([x[:, 0] - gap, x[:, 0] + gap])
    law = cg.models.NormalMixture(
        weights=np.tile([1 - said, said], (n, 1)), means=means, stds=np.ones((n, 2))
    )
    return law, x, y


def together(rng: Rng, n: int) -> Any:
    """Two columns of y with a correlation of 0.25 that is not told."""
    x = z(rng, n, 2)
    e = z(rng, n, 2)
    y = np.column_stack([e[:, 0], 0.25 * e[:, 0] + np.sqrt(1 - 0.0625) * e[:, 1]])
    return cg.normal(mean=np.zeros((n, 2)), std=np.ones((n, 2))), x, y


@dataclass(frozen=True)
class Misfit:
    """A sample of which N(0, 1) is predicted: how x is drawn, and y given x."""

    draw_x: Callable[[Rng], Any]
    draw_y: Callable[[Rng, Any], Any]

    def __call__(self, rng: Rng) -> tuple[Any, Any]:
        x = self.draw_x(rng)
        return x, self.draw_y(rng, x)


def bump(x: Any, centre: float) -> Any:
    return np.exp(-2.0 * np.square(x - centre).sum(axis=1))


MISFITS = {
    "shift 0.1, 4 columns, n = 600": Misfit(
        lambda r: z(r, 600, 4), lambda r, x: 0.1 + z(r, 600)
    ),
    "shift −0.25, 1 column, n = 100": Misfit(
        lambda r: z(r, 100, 1), lambda r, x: -0.25 + z(r, 100)
    ),
    "shift 0.2, 6 columns, n = 150": Misfit(
        lambda r: z(r, 150, 6), lambda r, x: 0.2 + z(r, 150)
    ),
    "width 0.88, n = 200": Misfit(lambda r: z(r, 200, 3), lambda r, x: 0.88 * z(r, 200)),
    "width 1.1, n = 400": Misfit(lambda r: z(r, 400, 2), lambda r, x: 1.1 * z(r, 400)),
    "10% ones, shift 0.8, n = 200": Misfit(
        lambda r: rare(r, 200, 0.1, 3), lambda r, x: 0.8 * x[:, 0] + z(r, 200)
    ),
    "4% ones, shift 1, n = 400": Misfit(
        lambda r: rare(r, 400, 0.04, 1), lambda r, x: x[:, 0] + z(r, 400)
    ),
    "15% ones, spread 1.7, n = 150": Misfit(
        lambda r: rare(r, 150, 0.15, 2), lambda r, x: (1 + 0.7 * x[:, 0]) * z(r, 150)
    ),
    "1 of 12 levels, shift −0.9, n = 300": Misfit(
        lambda r: levels(r, 300, 12), lambda r, x: -0.9 * at(x, 3) + z(r, 300)
    ),
    "1 of 30 levels, shift 1.1, n = 600": Misfit(
        lambda r: levels(r, 600, 30, 2), lambda r, x: 1.1 * at(x, 3) + z(r, 600)
    ),
    "1 of 8 levels, spread 1.6, n = 320": Misfit(
        lambda r: levels(r, 320, 8), lambda r, x: (1 + 0.6 * at(x, 3)) * z(r, 320)
    ),
    "4 of 15 levels, shift 0.5, n = 450": Misfit(
        lambda r: levels(r, 450, 15), lambda r, x: 0.5 * at(x, 0, 1, 2, 3) + z(r, 450)
    ),
    "mean 0.3 x₁, 6 columns, n = 150": Misfit(
        lambda r: z(r, 150, 6), lambda r, x: 0.3 * x[:, 0] + z(r, 150)
    ),
    "mean 0.2 x₁, 15 columns, n = 400": Misfit(
        lambda r: z(r, 400, 15), lambda r, x: 0.2 * x[:, 0] + z(r, 400)
    ),
    "mean 0.2 x₁², 8 columns, n = 150": Misfit(
        lambda r: z(r, 150, 8), lambda r, x: 0.2 * (x[:, 0] ** 2 - 1) + z(r, 150)
    ),
    "spread exp(0.25 x₁), 6 columns, n = 150": Misfit(
        lambda r: z(r, 150, 6), lambda r, x: np.exp(0.25 * x[:, 0]) * z(r, 150)
    ),
    "mean 0.3 x₁x₂, 5 columns, n = 150": Misfit(
        lambda r: z(r, 150, 5), lambda r, x: 0.3 * x[:, 0] * x[:, 1] + z(r, 150)
    ),
    "mean 0.45 sin(6t), n = 150": Misfit(
        lambda r: r.random((150, 2)), lambda r, x: 0.45 * np.sin(6 * x[:, 0]) + z(r, 150)
    ),
    "a hill in the mean, n = 400": Misfit(
        lambda r: z(r, 400, 2), lambda r, x: 1.2 * bump(x, 1.0) + z(r, 400)
    ),
    "a hill in the spread, n = 400": Misfit(
        lambda r: z(r, 400, 2), lambda r, x: (1 + 1.2 * bump(x, -1.0)) * z(r, 400)
    ),
    "mean 0.35 sin(x₁ + x₂), n = 250": Misfit(
        lambda r: z(r, 250, 2), lambda r, x: 0.35 * np.sin(x.sum(axis=1)) + z(r, 250)
    ),
    "a bend, n = 200": Misfit(
        lambda r: r.uniform(-2, 2, (200, 1)),
        lambda r, x: 0.15 * (x[:, 0] ** 2 - 1.33) + z(r, 200),
    ),
    "spread exp(0.2 x), n = 150": Misfit(
        lambda r: r.uniform(-2, 2, (150, 1)), lambda r, x: np.exp(0.2 * x[:, 0]) * z(r, 150)
    ),
    "Gamma of shape 8, n = 250": Misfit(
        lambda r: z(r, 250, 1), lambda r, x: (r.gamma(8, size=250) - 8) / 8**0.5
    ),
    "t5, n = 350": Misfit(
        lambda r: z(r, 350, 1), lambda r, x: r.standard_t(5, 350) / (5 / 3) ** 0.5
    ),
    "2% of rows N(0, 16), n = 300": Misfit(
        lambda r: z(r, 300, 2),
        lambda r, x: np.where(r.random(300) < 0.02, 4, 1) * z(r, 300),
    ),
    "two modes, n = 300": Misfit(
        lambda r: z(r, 300, 1),
        lambda r, x: (
            np.where(r.random(300) < 0.5, 0.75, -0.75) + (1 - 0.5625) ** 0.5 * z(r, 300)
        ),
    ),
    "uniform, n = 200": Misfit(
        lambda r: z(r, 200, 1), lambda r, x: r.uniform(-1.75, 1.75, 200)
    ),
}
#: (law, x, y) of other predictions.
OTHERS: dict[str, Callable[[Rng], tuple[Any, Any, Any]]] = {
    "modes 0.45 for 0.35, n = 250": lambda r: modes(r, 250, 1, 0.35, 0.45, 2.5),
    "modes 0.58 for 0.5, 3 columns, n = 300": lambda r: modes(r, 300, 3, 0.5, 0.58, 4.0),
    "correlation 0.25, n = 150": lambda r: together(r, 150),
}


def trial(name: str, number: int) -> dict[str, float]:
    rng = np.random.default_rng([number, *name.encode()])
    if name in OTHERS:
        law, x, y = OTHERS[name](rng)
    else:
        x, y = MISFITS[name](rng)
        law = np.zeros(len(y)), np.ones(len(y))
    return {"pvalue": float(cg.adaptive(law, x, y, rng=number, **ONE).pvalue)}


def show(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    rates = {
        name: np.mean([row["pvalue"] <= 0.05 for row in trials])
        for name, trials in rows.items()
    }
    lines = [f"| {name} | {rate:.2f} |" for name, rate in rates.items()]
    mean = f"| mean | {np.mean(list(rates.values())):.3f} |"
    return "\n".join(["| misfit | rate |", "|---|---|", *lines, mean]), []


TUNING_CHECKS = {
    "shares": CheckClaim(
        "Power of `adaptive` on the misfits by which the shares of its families were"
        " chosen",
        "Rejection rates at α = 0.05 in 100 samples: for choosing, not a claim.",
        {name: (partial(trial, name), 100) for name in (*MISFITS, *OTHERS)},
        show,
    )
}
