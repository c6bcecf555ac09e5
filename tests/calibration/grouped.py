"""Rows in groups of unequal sizes: levels, intervals, effect size and its power.

Rows of a group share a random effect with a part `RHO` of the variance; the marginal law of
every row is the model's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import binom

import condgof as cg
from checks import CheckClaim

Rng = np.random.Generator
FAST = {"engine": 1, "n_boot": 199}
RHO = 0.3
TRIALS = 300
#: Two-sided bounds are left with this probability.
TAIL = 1e-2
SIZES = ("1 × 100 + 24 × 4", "40, log-normal", "25 × 12")


def group_sizes(kind: str, rng: Rng) -> np.ndarray:
    if kind == SIZES[0]:
        return np.array([100, *[4] * 24])
    if kind == SIZES[1]:
        return np.maximum(1, np.round(np.exp(1.2 + rng.standard_normal(40)))).astype(int)
    return np.full(25, 12)


def grouped_errors(kind: str, rho: float, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Groups and standard normal errors, in random order."""
    sizes = group_sizes(kind, rng)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    shared = rng.standard_normal(len(sizes))[codes]
    own = rng.standard_normal(len(codes))
    return codes, np.sqrt(rho) * shared + np.sqrt(1 - rho) * own


def seeded(name: str, kind: str, trial: int) -> Rng:
    return np.random.default_rng([trial, *name.encode(), *kind.encode()])


def verdict_trial(kind: str, trial: int) -> dict[str, float]:
    rng = seeded("verdict", kind, trial)
    codes, z = grouped_errors(kind, RHO, rng)
    x = rng.standard_normal((len(codes), 2))
    model = (x[:, 0], np.ones(len(codes)))
    found = cg.check(model, x, x[:, 0] + z, groups=codes, rng=trial, **FAST)
    return {"pvalue": found.pvalue}


def event_trial(kind: str, trial: int) -> dict[str, float]:
    rng = seeded("event", kind, trial)
    codes, z = grouped_errors(kind, RHO, rng)
    x = rng.standard_normal((len(codes), 1))
    rate = np.exp(0.3 * x[:, 0])
    times = -log_ndtr(-z) / rate
    until = rng.exponential(1.0, len(codes))
    model = cg.models.Exponential(rate=rate)
    found = cg.check(
        model,
        x,
        np.minimum(times, until),
        event=(times <= until).astype(int),
        groups=codes,
        rng=trial,
        **FAST,
    )
    return {"pvalue": found.pvalue}


def compare_trial(kind: str, trial: int) -> dict[str, float]:
    """Two means that are off by 0.3 to either side: equally good."""
    rng = seeded("compare", kind, trial)
    codes, z = grouped_errors(kind, RHO, rng)
    x = rng.standard_normal(len(codes))
    one = np.ones(len(x))
    found = cg.compare(
        (x + 0.3, one), (x - 0.3, one), x, x + z, groups=codes, rng=trial, engine=1
    )
    return {"pvalue": found.pvalue}


def by_trial(kind: str, trial: int) -> dict[str, float]:
    rng = seeded("by", kind, trial)
    if kind == "Laplace scores":
        x = rng.standard_normal(200)
        e = rng.laplace(size=200)
        found = cg.check(
            cg.from_scores(-np.sign(e)),
            x,
            x + e,
            by=np.repeat(np.arange(50), 4),
            rng=trial,
            **FAST,
        )
    else:
        u = rng.random(300)
        p = np.repeat(0.3 + 0.4 * u, 2)
        y = np.repeat(rng.random(300) < 0.3 + 0.4 * u, 2).astype(int)
        found = cg.check(
            cg.probabilities(np.column_stack([1 - p, p])),
            np.repeat(u, 2)[:, None],
            y,
            groups=np.repeat(np.arange(300), 2),
            by=np.repeat(rng.integers(0, 75, 300), 2),
            rng=trial,
            **FAST,
        )
    return {"pvalue": min(one.pvalue for one in found.groups)}


#: Named subgroups of few units are conservative: their p-values have the floor 2^(1 − c).
ONLY_ABOVE = ("by",)


def show_levels(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| true model | 0.05 | 0.01 |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        counts = [sum(t["pvalue"] <= a for t in trials) for a in (0.05, 0.01)]
        lines.append(f"| {name} | {counts[0]} | {counts[1]} |")
        low = 0 if name.startswith(ONLY_ABOVE) else int(binom.ppf(TAIL / 2, TRIALS, 0.05))
        high = int(binom.isf(TAIL / 2, TRIALS, 0.05))
        rare = int(binom.isf(TAIL / 2, TRIALS, 0.01))
        if not low <= counts[0] <= high or counts[1] > rare:
            failures.append(f"groups.level: {name}")
    return "\n".join(lines), failures


LEVELS: dict[str, Any] = {
    f"{name}, {kind}": (partial(trial, kind), TRIALS)
    for name, trial in (
        ("verdict", verdict_trial),
        ("event", event_trial),
        ("compare", compare_trial),
    )
    for kind in SIZES
}
LEVELS |= {
    f"by, {kind}": (partial(by_trial, kind), TRIALS)
    for kind in ("Laplace scores", "binary twins")
}

GROUP_CHECKS = {
    "groups.level": CheckClaim(
        "Rows in groups of unequal sizes: rejections of the true model, in 300 samples",
        "A random effect of the group has 0.3 of the variance. `by` counts samples in which"
        " any subgroup\nis named; it is conservative.",
        LEVELS,
        show_levels,
    ),
}
