"""Rows that depend on each other: the level with and without `dependence` and `groups`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import poisson

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


class Modelled(NamedTuple):
    """A sample and its true model."""

    model: Any
    x: np.ndarray
    y: np.ndarray


def errors_of_days(share: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Normal errors of hours; a share of their variance is AR(1) with 0.5 by day."""
    zeros, days = seasonal(1, 0.5, -(-n // 24), rng)
    shared = np.repeat(days - zeros, 24)[:n]
    return np.sqrt(share) * shared + np.sqrt(1 - share) * rng.standard_normal(n)


def errors_ar(n: int, rng: np.random.Generator) -> np.ndarray:
    """Standard normal errors, AR(1) with 0.8."""
    x, y = seasonal(1, 0.8, n, rng)
    return y - x


def normal_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    x = rng.random(len(e))
    return Modelled(cg.models.Normal(mean=x, std=np.ones(len(e))), x, x + e)


def count_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    """Poisson counts of mean 10, with the Gaussian copula of the errors."""
    y = poisson.ppf(ndtr(e), 10.0)
    return Modelled(cg.models.Poisson(mean=10.0), rng.random(len(e)), y)


def binary_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    x = rng.random(len(e))
    p = 0.2 + 0.4 * x
    model = cg.probabilities(np.column_stack([1 - p, p]))
    return Modelled(model, x, (ndtr(e) < p).astype(int))


def class_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    """Four classes, whose numbers are not in the order of the errors."""
    p = np.tile([0.2, 0.25, 0.15, 0.4], (len(e), 1))
    order = np.array([2, 0, 3, 1])
    ends = np.cumsum(p[:, order], axis=1)[:, :3]
    y = order[(ndtr(e)[:, None] > ends).sum(axis=1)]
    return Modelled(cg.probabilities(p), rng.random(len(e)), y)


def quantile_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    x = rng.random(len(e))
    levels = np.arange(1, 20) / 20
    return Modelled(cg.from_quantiles(x[:, None] + ndtri(levels), levels), x, x + e)


def interval_model(e: np.ndarray, rng: np.random.Generator) -> Modelled:
    x = rng.random(len(e))
    half = ndtri([0.75, 0.9, 0.975])
    model = cg.from_intervals(x[:, None] - half, x[:, None] + half, [0.5, 0.8, 0.95])
    return Modelled(model, x, x + e)


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
#: True models of errors that depend on each other, at one n each, for "auto" as well.
KINDS: dict[str, tuple[int, Callable[[int, np.random.Generator], np.ndarray], Any]] = {
    "counts, ar-0.8": (300, errors_ar, count_model),
    "binary, ar-0.8": (500, errors_ar, binary_model),
    "classes, ar-0.8": (500, errors_ar, class_model),
    "quantiles, ar-0.8": (300, errors_ar, quantile_model),
    "intervals, ar-0.8": (500, errors_ar, interval_model),
    "days-0.2": (960, partial(errors_of_days, 0.2), normal_model),
    "days-0.5": (720, partial(errors_of_days, 0.5), normal_model),
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
        model: Any = LINE
        if self.problem in KINDS:
            _, errors, make = KINDS[self.problem]
            model, x, y = make(errors(self.n, rng), rng)
        elif self.problem in LASTING:
            x, y = LASTING[self.problem](self.n, rng)
        else:
            x, y = SAMPLES[self.problem](rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cg.errors.DependenceWarning)
            test = TESTS[self.method]
            return test(
                model, x, y, n_boot=N_BOOT, rng=trial, engine=1, **SAID[self.null]
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
        *(cell(kind, "adaptive", "auto", 300, n) for kind, (n, _, _) in KINDS.items()),
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
        (
            "Kinds of y with `ar-0.8`: a Gaussian copula of AR(1) errors. `days-s`: hourly"
            " rows that"
        ),
        "share s of their variance by day, AR(1) at 0.5 from day to day.",
        "",
        "| rows | n | test | said | samples | rejections | claim |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        count = sum(p <= 0.05 for p in results[cell.name].values())
        plain = cell.null == "plain"
        low, high = bounds(cell.trials, 0.05)
        low = 0 if cell.problem in LASTING or cell.problem in KINDS else low
        claim = f"above {high}" if plain else f"{low} to {high}"
        holds = count > high if plain else low <= count <= high
        lines.append(
            f"| {cell.problem} | {cell.n} | {cell.method} | {cell.null} | {cell.trials:,} |"
            f" {count}{'' if holds else '*'} | {claim} |"
        )
        if not holds:
            failures.append(f"{cell.name}: {count} rejections, claimed {claim}")
    return [*lines, ""]
