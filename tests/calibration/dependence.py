"""Rows that depend on each other: the level with and without `dependence` and `groups`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import ndtr, ndtri

import condgof as cg
from cells import Cell

#: Rows of a sample, unless a cell says otherwise.
N = 500
#: Groups that these rows come in.
GROUPS = 20
#: Draws of a test.
N_BOOT = 300
LINE = cg.models.Normal(mean=lambda x: x, std=1.0)


def autoregressive(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Errors that are AR(1) in time with 0.5, standard normal each."""
    x, e = rng.standard_normal((2, N))
    for t in range(1, N):
        e[t] = 0.5 * e[t - 1] + np.sqrt(0.75) * e[t]
    return x, x + e


def seasonal(
    season: int, rho: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal errors, AR(1) with rho from season to season; season 1 is AR(1)."""
    x, e = rng.standard_normal((2, n))
    for t in range(season, n):
        e[t] = rho * e[t - season] + np.sqrt(1 - rho**2) * e[t]
    return x, x + e


def volatile(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Normal errors with independent signs and the sizes of an AR(1) process with 0.9."""
    x, y = seasonal(1, 0.9, n, rng)
    return x, x + ndtri((1 + ndtr(y - x)) / 2) * rng.choice([-1.0, 1.0], n)


def clustered(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """20 clusters of 25 rows that share a tenth of the variance of their errors."""
    x, e = rng.standard_normal((2, N))
    shared = np.repeat(rng.standard_normal(GROUPS), N // GROUPS)
    return x, x + np.sqrt(0.1) * shared + np.sqrt(0.9) * e


def parcelled(p: Any, x: Any, y: Any, **options: Any) -> cg.GofResult:
    """Draw from sums over 50 parcels of rows, as the test does above 4,096 rows."""
    few_rows = mock.patch("condgof.null._choose.WEIGHTED_ROWS", 400)
    few_parcels = mock.patch("condgof.null._signs.MOST_PARCELS", 50)
    with few_rows, few_parcels:
        return cg.adaptive(p, x, y, **options)


SAMPLES: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "ar": autoregressive,
    "clusters": clustered,
}
#: What "auto" must see by itself, at several n: it may reject less often than it might.
LASTING: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "ar-0.9": partial(seasonal, 1, 0.9),
    "volatility": volatile,
    **{
        f"season-{s}-{rho}": partial(seasonal, s, rho)
        for s in (7, 12, 24)
        for rho in (0.5, 0.9)
    },
}
TESTS: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd": cg.kcsd,
    "adaptive": cg.adaptive,
    "fscd-optimize": lambda p, x, y, **k: cg.fscd(p, x, y, n_locations=2, **k),
    "adaptive, parcels": parcelled,
}
#: How rows are said to depend on each other: nothing said is the plain test.
SAID: dict[str, dict[str, Any]] = {
    "plain": {},
    "blocks": {"dependence": 10},
    "auto": {"dependence": "auto"},
    "groups": {"groups": np.repeat(np.arange(GROUPS), N // GROUPS)},
}


@dataclass(frozen=True)
class DependentCell(Cell):
    """One test on dependent rows; `null` is what was said of them."""

    def pvalue(self, trial: int) -> float:
        """Run one trial: the sample depends on its kind and the trial only."""
        rng = np.random.default_rng([trial, *self.problem.encode()])
        lasting = LASTING.get(self.problem)
        x, y = SAMPLES[self.problem](rng) if lasting is None else lasting(self.n, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cg.errors.DependenceWarning)
            test = TESTS[self.method]
            return test(
                LINE, x, y, n_boot=N_BOOT, rng=trial, engine=1, **SAID[self.null]
            ).pvalue


def dependent_cells() -> list[Cell]:
    def cell(sample: str, method: str, said: str, trials: int = 1000, n: int = N) -> Cell:
        return DependentCell("dependence", sample, n, method, said, trials)

    return [
        cell("ar", "kcsd", "blocks"),
        cell("clusters", "kcsd", "groups"),
        cell("ar", "adaptive", "blocks"),
        cell("clusters", "adaptive", "groups"),
        cell("ar", "kcsd", "plain"),
        cell("clusters", "kcsd", "plain"),
        cell("ar", "kcsd", "auto"),
        cell("ar", "adaptive, parcels", "blocks"),
        cell("clusters", "adaptive, parcels", "groups"),
        cell("ar", "adaptive", "plain", 300),
        cell("clusters", "adaptive", "plain", 300),
        cell("ar", "fscd-optimize", "blocks"),
        cell("clusters", "fscd-optimize", "groups"),
        *(
            cell(sample, method, "auto", 300, n)
            for sample in LASTING
            for method in ("kcsd", "adaptive")
            for n in (200, 500, 2000)
        ),
    ]


def dependence_lines(
    cells: list[Cell],
    results: dict[str, dict[int, float]],
    bounds: Any,
    failures: list[str],
) -> list[str]:
    """Return the table: options must restore the level, which the plain test must lose."""
    lines = [
        "## Rows that depend on each other: rejections of the true model at α = 0.05",
        "",
        f"{N_BOOT} draws. `ar`: AR(1) errors at 0.5, block length 10 (or `auto`).",
        (
            "`clusters`: 20 of 25 rows, which share a tenth of their variance. Claims are"
            " exact binomial"
        ),
        (
            "bounds (left with probability 1e-4). The plain test, which takes rows as"
            " independent, is shown"
        ),
        "to reject too often. `parcels`: the draws of",
        (
            "`adaptive` above 16,384 rows. `season-s-r`: errors that are AR(1) at r from"
            " season to season,"
        ),
        (
            "s rows each. `volatility`: independent signs, sizes as those of AR(1) at 0.9."
            " Of these and"
        ),
        "`ar-0.9` only the upper bound counts: few blocks hardly reject at all.",
        "",
        "| rows | n | test | said | samples | rejections | claim |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        count = sum(p <= 0.05 for p in results[cell.name].values())
        plain = cell.null == "plain"
        low, high = bounds(cell.trials, 0.05)
        low = 0 if cell.problem in LASTING else low
        claim = f"above {high}" if plain else f"{low} to {high}"
        holds = count > high if plain else low <= count <= high
        lines.append(
            f"| {cell.problem} | {cell.n} | {cell.method} | {cell.null} | {cell.trials:,} |"
            f" {count}{'' if holds else '*'} | {claim} |"
        )
        if not holds:
            failures.append(f"{cell.name}: {count} rejections, claimed {claim}")
    return [*lines, ""]
