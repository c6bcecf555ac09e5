"""The claims about effect size: its bounds, true models, and the detectable effect.

Bounds are those of the size alone, whatever the verdict says; `check` says "worse than you
allow" only where it also rejects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtri

import condgof as cg
from checks import CheckClaim, at_most
from condgof.check import Bench, Size
from condgof.check.kinds import first_to_next
from condgof.methods import Options, make_design, prepare
from condgof.sample import Seed
from condgof.stein import Units

Rng = np.random.Generator
#: (size, n, rng) → (model, x, y, options): y is off by that size at every x, or by a
#: multiple of it.
Draw = Callable[[float, int, Rng], tuple[Any, Any, Any, dict[str, Any]]]
ALPHA = 0.05
HALF = float(ndtri(0.95))


def sized(model: Any, x: Any, y: Any, seed: int, **options: Any) -> Size:
    """Measure a size without a verdict."""
    how = Options(n_boot=99, engine=1, **options).checked()
    units = Units(scale_x="ranks", standardize="auto", predictions=True)
    rng = Seed.of(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        law, rows = prepare(model, x, y, units, how, rng)
        how = how.for_rows(rows, x)
        design = make_design(rows.subsample)
        return Bench.from_rows(law, rows, design, how.row_dependence, rng).size


#: What becomes of standard normal z.
NORMAL: dict[str, Callable[[Any, Any, float], Any]] = {
    "shift": lambda x, z, a: z + a,
    "shift 0.5·x₁": lambda x, z, a: z + a * x[:, 0],
    "shift 0.8 where x₁ > 1": lambda x, z, a: z + a * (x[:, 0] > 1),
    "shift sin(3x₁)": lambda x, z, a: z + a * np.sin(3 * x[:, 0]),
    "spread 1.2": lambda x, z, a: a * z,
    "spread exp(0.3·x₁)": lambda x, z, a: z * np.exp(a * x[:, 0]),
    "tails |z|^1.3": lambda x, z, a: np.sign(z) * np.abs(z) ** a,
}


def normal(kind: str, size: float, n: int, rng: Rng) -> Any:
    x = rng.standard_normal((n, 2))
    y = x[:, 0] + NORMAL[kind](x, rng.standard_normal(n), size)
    return (x[:, 0], np.ones(n)), x, y, {}


def softmax(x: Any, count: int, sharp: float) -> Any:
    logits = sharp * x @ np.random.default_rng(3).standard_normal((2, count))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def nearly(x: Any, count: int, error: float) -> Any:
    """Probabilities of classes of which one is nearly certain."""
    p = np.full((len(x), count), error / (count - 1))
    likeliest = np.digitize(x[:, 0], np.linspace(-1, 1, count + 1)[1:-1])
    p[np.arange(len(x)), likeliest] = 1.0 - error
    return p


def classes(
    law: Callable[..., Any], count: int, of: float, size: float, n: int, rng: Rng
) -> Any:
    x = rng.standard_normal((n, 2))
    p = law(x, count, of)
    q = p + np.minimum(size, p.max(axis=1))[:, None] * first_to_next(p)
    y = np.minimum((rng.random((n, 1)) >= np.cumsum(q, axis=1)).sum(axis=1), count - 1)
    return cg.probabilities(p), x, y, {}


def counts(mean: float, size: float, n: int, rng: Rng) -> Any:
    x = rng.standard_normal((n, 2))
    mu = mean * np.exp(0.4 * x[:, 0])
    return cg.models.Poisson(mu), x, rng.poisson(mu + size * np.sqrt(mu)), {}


def intervals(size: float, n: int, rng: Rng) -> Any:
    """A 90% interval that covers less, by so much."""
    x = rng.standard_normal((n, 2))
    y = x[:, 0] + HALF / ndtri(0.95 - size / 2) * rng.standard_normal(n)
    return cg.from_intervals(x[:, 0] - HALF, x[:, 0] + HALF, 0.9), x, y, {}


def quantiles(size: float, n: int, rng: Rng) -> Any:
    """Quantiles of which the middle one is exceeded less often, by so much."""
    x = rng.standard_normal((n, 2))
    levels = np.array([0.1, 0.5, 0.9])
    above = rng.random(n) < 0.5 - size
    y = x[:, 0] + ndtri(0.5 * (rng.random(n) + above))
    return cg.from_quantiles(x[:, :1] + ndtri(levels), levels), x, y, {}


def draws(size: float, n: int, rng: Rng) -> Any:
    x = rng.standard_normal((n, 2))
    made = x[:, :1] + rng.standard_normal((n, 99))
    return cg.from_draws(made), x, x[:, 0] + size + rng.standard_normal(n), {}


def scores(size: float, n: int, rng: Rng) -> Any:
    x = rng.standard_normal((n, 2))
    z = size + rng.standard_normal(n)
    return cg.from_scores(-z[:, None]), x, x[:, 0] + z, {}


def groups(size: float, n: int, rng: Rng) -> Any:
    """Groups of 10 rows, within which errors have a correlation of 0.3."""
    codes = np.repeat(np.arange(n // 10), 10)
    shared = rng.standard_normal(n // 10)[codes]
    z = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.standard_normal(n)
    x = rng.standard_normal((n, 2))
    return (x[:, 0], np.ones(n)), x, x[:, 0] + size + z, {"groups": codes}


def series(size: float, n: int, rng: Rng) -> Any:
    """AR(1) errors at 0.5."""
    e = rng.standard_normal(n)
    for t in range(1, n):
        e[t] = 0.5 * e[t - 1] + np.sqrt(0.75) * e[t]
    x = rng.standard_normal((n, 2))
    return (x[:, 0], np.ones(n)), x, x[:, 0] + size + e, {"dependence": 10}


SHIFT: Draw = partial(normal, "shift")
THREE: Draw = partial(classes, softmax, 3, 1.0)
SURE: Draw = partial(classes, nearly, 3, 1e-3)
#: Misfits that vary with x, or are of another kind: their size comes from many rows.
VARYING: dict[str, tuple[Draw, float]] = {
    name: (partial(normal, name), by)
    for name, by in zip(list(NORMAL)[1:], (0.5, 0.8, 1.0, 1.2, 0.3, 1.3), strict=True)
}
#: Misfits of exactly that size.
EXACT: dict[str, tuple[Draw, float, int]] = {
    **{f"shift {a}, n = {n:,}": (SHIFT, a, n) for a in (0.1, 0.3) for n in (300, 3000)},
    **{f"3 classes, 0.05, n = {n:,}": (THREE, 0.05, n) for n in (300, 3000)},
    "2 classes, 0.05, n = 300": (partial(classes, softmax, 2, 1.0), 0.05, 300),
    "10 classes, 0.05, n = 300": (partial(classes, softmax, 10, 1.0), 0.05, 300),
    "sure classes (0.001), 0.02, n = 1,000": (SURE, 0.02, 1000),
    "sure classes (0.001), 0.01, n = 300": (SURE, 0.01, 300),
    "counts, mean 3, 0.2, n = 300": (partial(counts, 3.0), 0.2, 300),
    "counts, mean 0.1, 0.3, n = 300": (partial(counts, 0.1), 0.3, 300),
    "intervals, 0.05, n = 300": (intervals, 0.05, 300),
    "quantiles, 0.05, n = 1,000": (quantiles, 0.05, 1000),
    "draws, shift 0.3, n = 300": (draws, 0.3, 300),
    "scores, shift 0.3, n = 300": (scores, 0.3, 300),
    "groups, shift 0.3, n = 400": (groups, 0.3, 400),
    "series, shift 0.3, n = 600": (series, 0.3, 600),
}


@cache
def truth(name: str) -> float:
    """The size of a misfit that varies with x, from 120 samples of 16,000 rows."""
    draw, by = VARYING[name]
    sums = []
    for k in range(120):
        model, x, y, said = draw(by, 16_000, np.random.default_rng([k, *name.encode()]))
        size = sized(model, x, y, k, **said)
        sums.append(size.parts[0].mean / size.parts[0].near)
    return size.of(float(np.mean(sums)))


def bounds_trial(name: str, draw: Draw, by: float, n: int, trial: int) -> dict[str, float]:
    """Ask for bounds where the size is what is allowed."""
    model, x, y, said = draw(by, n, np.random.default_rng([trial, n, *name.encode()]))
    size = sized(model, x, y, trial, **said)
    allowed = truth(name) if name in VARYING else by
    low, high = size.bounds(ALPHA)
    return {
        "size": allowed,
        "estimate": size.estimate,
        "low": low,
        "high": high,
        "worse": float(low > allowed),
        "good": float(high < allowed),
    }


def show_bounds(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    head = ("misfit", "size", "estimate", "bounds", "worse than you allow", "good enough")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    failures = []
    for name, trials in rows.items():
        mean = {key: float(np.mean([t[key] for t in trials])) for key in trials[0]}
        worse, good = (int(sum(t[key] for t in trials)) for key in ("worse", "good"))
        ends = f"{mean['low']:.3f} to {mean['high']:.3f}"
        lines.append(
            f"| {name} | {mean['size']:.3f} | {mean['estimate']:.3f} | {ends} | {worse} |"
            f" {good} |"
        )
        for what, count in (("worse", worse), ("good enough", good)):
            if not at_most(count, len(trials), ALPHA):
                failures.append(
                    f"size.tolerance {name}: called {what} {count} of {len(trials)}"
                )
    return "\n".join(lines), failures


TRUE: dict[str, tuple[Draw, int]] = {
    **{
        f"{count} classes, error {error:g}, n = {n:,}": (
            partial(classes, nearly, count, error),
            n,
        )
        for count in (2, 3)
        for error in (1e-3, 1e-4)
        for n in (300, 3000)
    },
    "3 classes, n = 300": (THREE, 300),
    "normal, n = 300": (SHIFT, 300),
    "counts, mean 0.02, n = 300": (partial(counts, 0.02), 300),
    "intervals, n = 300": (intervals, 300),
    "groups, n = 400": (groups, 400),
}


def true_trial(name: str, draw: Draw, n: int, trial: int) -> dict[str, float]:
    model, x, y, said = draw(0.0, n, np.random.default_rng([trial, n, *name.encode()]))
    low, high = sized(model, x, y, trial, **said).bounds(0.025)
    return {"above": float(low > 0), "high": high}


def show_true(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| model | leaves out 0 | upper end |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        above = int(sum(t["above"] for t in trials))
        high = np.mean([t["high"] for t in trials])
        lines.append(f"| {name} | {above} | {high:.3f} |")
        if not at_most(above, len(trials), ALPHA):
            failures.append(f"size.true {name}: leaves out 0 in {above} of {len(trials)}")
    return "\n".join(lines), failures


# What could have been found: is it, and is its size said in the same unit?


def wider(draw: Draw, ratio: float, n: int, rng: Rng) -> Any:
    """A true sample whose y spreads so many times as much."""
    model, x, y, said = draw(0.0, n, rng)
    return model, x, x[:, 0] + ratio * (y - x[:, 0]), said


def found_trial(draw: Draw, kind: str, n: int, trial: int) -> dict[str, float]:
    """Take the detectable effect of a true sample, and check a sample with that misfit."""
    rng = np.random.default_rng([trial, n])
    options: dict[str, Any] = {"rng": trial, "engine": 1, "n_boot": 199}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        model, x, y, said = draw(0.0, n, rng)
        could = cg.check(model, x, y, **options, **said).power
        size = could.size if kind == "shift" else could.spread
        draw_misfit = draw if kind == "shift" else partial(wider, draw)
        model, x, y, said = draw_misfit(size, n, rng)
        found = cg.check(model, x, y, **options, **said)
    return {
        "could": size,
        "found": float(found.rejected),
        "size": found.effect.interval.estimate,
    }


FOUND: dict[str, tuple[Draw, str, int]] = {
    "normal, shift, n = 200": (SHIFT, "shift", 200),
    "normal, shift, n = 2,000": (SHIFT, "shift", 2000),
    "normal, spread, n = 200": (SHIFT, "spread", 200),
    "scores, shift, n = 200": (scores, "shift", 200),
    "draws, shift, n = 200": (draws, "shift", 200),
    "3 classes, n = 300": (THREE, "shift", 300),
    "sure classes (0.001), n = 1,000": (SURE, "shift", 1000),
    "counts, mean 3, shift, n = 200": (partial(counts, 3.0), "shift", 200),
    "intervals, n = 300": (intervals, "shift", 300),
}


def show_found(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| misfit | could be found | found | its size |", "|---|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        could = float(np.median([t["could"] for t in trials]))
        size = float(np.median([t["size"] for t in trials]))
        rate = float(np.mean([t["found"] for t in trials]))
        lines.append(f"| {name} | {could:.3g} | {rate:.2f} | {size:.3g} |")
        if rate < 0.7:
            failures.append(f"size.found {name}: found with probability {rate:.2f}")
        if "spread" not in name and not 0.65 <= size / could <= 1.25:
            failures.append(f"size.found {name}: {could:.3g} has the size {size:.3g}")
    return "\n".join(lines), failures


SIZE_CHECKS = {
    "size.tolerance": CheckClaim(
        "Tolerance: misfits exactly as large as is allowed, in 300 samples",
        "Calls of either kind at α = 0.05, from the bounds of the size alone; means of"
        " estimate and bounds.\nWhere a misfit varies with x, its size comes from 1,920,000"
        " rows.",
        {name: (partial(bounds_trial, name, *case), 300) for name, case in EXACT.items()}
        | {
            f"{name}, n = {n:,}": (partial(bounds_trial, name, *case, n), 300)
            for name, case in VARYING.items()
            for n in (300, 3000)
        },
        show_bounds,
    ),
    "size.true": CheckClaim(
        "Size of true models, in 300 samples",
        "95% intervals of the size, whatever the verdict says; `check` begins them at 0"
        " unless it rejects.",
        {name: (partial(true_trial, name, *case), 300) for name, case in TRUE.items()},
        show_true,
    ),
    "size.found": CheckClaim(
        "What could have been found with probability 0.8: how often it is, in 100 samples",
        "Each trial asks a check of a true sample what could be found, and checks another"
        " sample with that\nmisfit: it must be found in at least 0.7, and the size that is"
        " said of it is in the same unit\n(of a spread, as large as a shift of that size).",
        {name: (partial(found_trial, *case), 100) for name, case in FOUND.items()},
        show_found,
    ),
}
