"""`compare` and `rank`: level where two models are equally wrong, where they can hardly be told apart,
and how often the truth is preferred.

Pairs are equally wrong by symmetry, or (a wrong mean against a wrong spread) by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from discrete_comparisons import DISCRETE
from scipy.optimize import brentq

import condgof as cg
from condgof.study import problem

Normal = cg.models.Normal


def zero(x: Any) -> np.ndarray:
    return np.zeros(len(x))


def gaussian(d_x: int, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((n, d_x)), rng.standard_normal(n)


def shifts(n, rng, delta=0.3):
    """Means too high and too low."""
    x, y = gaussian(1, rng, n)
    return Normal(mean=delta, std=1.0), Normal(mean=-delta, std=1.0), x, y + 0.0


def slopes(n, rng):
    """Slopes too steep and too flat, in two columns of x."""
    x, noise = gaussian(2, rng, n)
    y = x.sum(axis=1) + noise
    return (1.3 * x.sum(axis=1), np.ones(n)), (0.7 * x.sum(axis=1), np.ones(n)), x, y


def halves(n, rng):
    """Wrong on the left, and as wrong on the right."""
    x, noise = gaussian(1, rng, n)
    at = x[:, 0]
    p, q = at + 0.5 * (at < 0), at - 0.5 * (at > 0)
    return (p, np.ones(n)), (q, np.ones(n)), x, at + noise


def columns(n, rng):
    """Wrong in the first of two columns of y, and in the second."""
    x = rng.standard_normal((n, 1))
    y = rng.standard_normal((n, 2))
    return Normal(mean=[[0.4, 0.0]], std=1.0), Normal(mean=[[0.0, 0.4]], std=1.0), x, y


def heavy(n, rng):
    """Heavy tails, locations too high and too low."""
    x = rng.standard_normal((n, 1))
    y = x[:, 0] + rng.standard_t(5.0, n)
    p, q = (cg.models.StudentT(df=5.0, loc=lambda x, d=d: x[:, 0] + d) for d in (0.35, -0.35))
    return p, q, x, y


def positive(n, rng):
    """A positive y: LogNormal, too large and too small."""
    x = rng.standard_normal((n, 1))
    y = np.exp(0.5 * rng.standard_normal(n))
    return cg.models.LogNormal(0.15, 0.5), cg.models.LogNormal(-0.15, 0.5), x, y


@cache
def as_wrong_as(delta: float, over: bool) -> float:
    """Return the spread of N(0, c²) that is as wrong as N(delta, 1) where N(0, 1) is true.

    Both D are E k times E h; E h by Gauss-Hermite quadrature at the median bandwidth of standard
    normal data, √2·Φ⁻¹(3/4).
    """
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w, sigma = w / w.sum(), np.sqrt(2.0) * 0.6744897501960817
    d = z[:, None] - z

    def mean_h(s):
        phi = np.exp(-(d**2) / (2 * sigma**2))
        h = phi * (np.outer(s, s) - (s - s[:, None]) * d / sigma**2 + 1 / sigma**2 - d**2 / sigma**4)
        return float(w @ h @ w)

    target = mean_h(delta - z)
    ends = (1.0001, 8.0) if over else (0.2, 0.9999)
    return float(brentq(lambda c: mean_h(-z / c**2) - target, *ends))


def spread(over, n, rng):
    """A wrong mean against a wrong spread: equally wrong, in quite different ways."""
    x, y = gaussian(1, rng, n)
    return Normal(mean=0.3, std=1.0), Normal(mean=0.0, std=as_wrong_as(0.3, over)), x, y


def wide(n, rng):
    """A wrong mean against a spread too wide."""
    return spread(True, n, rng)


def narrow(n, rng):
    """A wrong mean against a spread too narrow."""
    return spread(False, n, rng)


def identical(n, rng):
    """The same model in two forms."""
    x, y = gaussian(1, rng, n)
    return Normal(mean=zero, std=1.0), cg.from_scores(-y), x, y


def fitted(n, rng):
    """The truth, and the truth with its mean and spread fitted on another sample."""
    x, y = gaussian(1, rng, n)
    other = rng.standard_normal(n)
    return Normal(mean=0.0, std=1.0), Normal(mean=other.mean(), std=other.std()), x, y


def twice_fitted(n, rng):
    """Two fits, on two other samples, far larger ones."""
    x, y = gaussian(1, rng, n)
    a, b = rng.standard_normal((2, 100 * n))
    return Normal(mean=a.mean(), std=1.0), Normal(mean=b.mean(), std=1.0), x, y


def ripples(n, rng):
    """Means that ripple too fast for the kernel: hardly to be told apart."""
    x, y = gaussian(1, rng, n)
    p = 0.1 * np.sin(20 * x[:, 0])
    return (p, np.ones(n)), (-p, np.ones(n)), x, y


def ripple(n, rng):
    """The truth against one large ripple that the kernel does not see."""
    x, y = gaussian(1, rng, n)
    return (np.zeros(n), np.ones(n)), (np.sin(20 * x[:, 0]), np.ones(n)), x, y


def noisy(n, rng):
    """True scores against the same with noise: a difference that is degenerate."""
    x, y = gaussian(1, rng, n)
    noisy = -y * (1.0 + 0.3 * rng.standard_normal(n))
    return cg.from_scores(-y), cg.from_scores(noisy), x, y


def four(n, rng):
    """Four models that are equally wrong: too high or too low, on the left or on the right."""
    x, y = gaussian(1, rng, n)
    left, right = (x[:, 0] < 0).astype(float), (x[:, 0] > 0).astype(float)
    bends = {"l+": 0.4 * left, "l-": -0.4 * left, "r+": 0.4 * right, "r-": -0.4 * right}
    return {name: (mean, np.ones(n)) for name, mean in bends.items()}, None, x, y


def against_truth(name: str) -> Callable[..., Any]:
    def draw(n, rng):
        case = problem(name)
        x, y = case.draw(n, rng)
        return case.p, case.r, x, y

    return draw


CASES: dict[str, Callable[..., Any]] = {
    case.__name__.replace("_", "-"): case
    for case in (
        shifts, slopes, halves, columns, heavy, positive, wide, narrow,
        identical, fitted, twice_fitted, ripples, ripple, noisy, four,
    )
} | {name: against_truth(name) for name in ("hgm", "qgm")} | DISCRETE  # fmt: skip


@dataclass(frozen=True)
class CompareCell:
    """One comparison at one size."""

    case: str
    n: int
    alternative: str
    claim: str
    trials: int = 1000
    solver: str = "exact"
    precision: float | None = None

    kind = "compare"

    @property
    def name(self) -> str:
        precision = "" if self.precision is None else f"-{self.precision:g}"
        return f"compare.{self.case}.{self.n}.{self.alternative}.{self.solver}{precision}"

    def pvalue(self, trial: int) -> float:
        """Run one trial: the sample depends on the case, size and trial only."""
        rng = np.random.default_rng([trial, self.n, *self.case.encode()])
        p, q, x, y = CASES[self.case](self.n, rng)
        options: dict[str, Any] = {"rng": trial, "engine": 1, "solver": self.solver}
        options |= {"precision": self.precision}
        if self.alternative == "any-pair":
            return min(pair.adjusted for pair in cg.rank(p, x, y, **options).pairs)
        return cg.compare(p, q, x, y, alternative=self.alternative, **options).pvalue


def compare_cells() -> list[CompareCell]:
    sizes = {
        "shifts": (100, 300, 1000), "slopes": (100, 300), "halves": (100, 300), "columns": (300,),
        "heavy": (300,), "positive": (300,),
        "classes": (100, 300), "ordered-classes": (300,), "counts": (100, 300), "many-counts": (300,),
    }  # fmt: skip
    level = [CompareCell(case, n, "two-sided", "inside") for case, many in sizes.items() for n in many]
    level += [
        CompareCell(case, n, alternative, "inside")
        for case in ("wide", "narrow")
        for n in (100, 300)
        for alternative in ("two-sided", "greater", "less")
    ]
    level += [CompareCell(case, 1000, "two-sided", "inside") for case in ("wide", "narrow")]
    level += [
        CompareCell("wide", 300, "two-sided", "inside", solver="lowrank"),
        CompareCell("halves", 300, "two-sided", "inside", solver="lowrank", precision=0.1),
        CompareCell("classes", 300, "two-sided", "inside", solver="lowrank"),
    ]
    alike = [
        CompareCell("identical", 300, "two-sided", "one"),
        CompareCell("identical", 300, "two-sided", "one", solver="lowrank"),
        CompareCell("same-classes", 300, "two-sided", "one"),
        *(CompareCell("fitted", n, "greater", "below") for n in (100, 300)),
        CompareCell("twice-fitted", 300, "two-sided", "below"),
        *(CompareCell("ripples", n, "two-sided", "below") for n in (100, 300)),
        CompareCell("ripple", 100, "greater", "below"),
        *(CompareCell("noisy", n, "two-sided", "below") for n in (100, 300)),
        *(CompareCell("four", n, "any-pair", "below") for n in (100, 300)),
    ]
    power = [
        *(CompareCell("hgm", n, "greater", "power", 300) for n in (100, 300, 500, 1000)),
        *(CompareCell("qgm", n, "greater", "power", 300) for n in (300, 500, 1000, 2000)),
        CompareCell("confident", 500, "greater", "power", 300),
        CompareCell("dispersed", 300, "greater", "power", 300),
        CompareCell("hgm", 500, "less", "never", 300),
        CompareCell("qgm", 500, "less", "never", 300),
    ]
    return level + alike + power


#: What `compare` must reach when it is asked whether the wrong model fits worse than the truth.
FLOORS = {("hgm", 1000): 0.9, ("qgm", 2000): 0.7, ("dispersed", 300): 0.9}


def compare_lines(
    cells: list[CompareCell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    """One row a cell; claims that fail are added to `failures`."""
    from report import bounds

    low, high = bounds(1000, 0.05)
    lines = [
        "## compare and rank: rejections at α = 0.05",
        "",
        f"`inside`: two models equally wrong, {low} to {high} of 1,000. `below`: hardly to be told",
        "apart, or the hypothesis holds strictly (`fitted`, `ripple`), or any of six pairs (`four`): at",
        f"most {high}. `one`: a model against itself, every p-value 1. `power`: the truth is preferred;",
        "`never`: the wrong model is (at most 1 in 300).",
        "",
        "| case | n | alternative | solver | trials | rejections | claim |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        values = results[cell.name]
        count = sum(p <= 0.05 for p in values.values())
        ok = {
            "inside": low <= count <= high,
            "below": count <= high,
            "one": all(p == 1 for p in values.values()),
            "never": count <= 1,
            "power": count / cell.trials >= FLOORS.get((cell.case, cell.n), 0.0),
        }[cell.claim]
        if not ok:
            failures.append(f"{cell.name}: {count} rejections")
        solver = cell.solver + ("" if cell.precision is None else f", precision {cell.precision:g}")
        mark = "" if ok else " *"
        lines.append(
            f"| {cell.case} | {cell.n} | {cell.alternative} | {solver} | {cell.trials} | {count}{mark} "
            f"| {cell.claim} |"
        )
    return [*lines, ""]
