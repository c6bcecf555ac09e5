"""The claims about `check` of a discrete y, and of rows that depend on each other.

Trials are as in checks.py, where these claims are added to the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import condgof as cg
from condgof.study import problem
from report import bounds

FAST: dict[str, Any] = {"engine": 1, "n_boot": 59}
CLUSTERS = np.repeat(np.arange(20), 10)
N = len(CLUSTERS)


def sure(x: np.ndarray) -> np.ndarray:
    """Three classes, of which one is nearly certain at most x."""
    logits = 6.0 * x @ np.random.default_rng(3).standard_normal((2, 3))
    values = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def drawn(p: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    return np.minimum((uniform[:, None] >= np.cumsum(p, axis=1)).sum(axis=1), p.shape[1] - 1)


def sure_sample(rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    x = rng.standard_normal((N, 2))
    return cg.probabilities(sure(x)), x, drawn(sure(x), rng.random(N)), {}


def rare_sample(rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    x = rng.standard_normal(N)
    mean = 0.05 * np.exp(0.5 * x)
    return cg.models.Poisson(mean), x, rng.poisson(mean), {}


def study_sample(name: str, rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    case = problem(name)
    return case.p, *case.draw(N, rng), {}


def clusters(count: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers that have a correlation of about 0.3 within a cluster."""
    from scipy.special import ndtr

    shared = rng.standard_normal(count)[CLUSTERS]
    return np.asarray(ndtr(np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.standard_normal(len(CLUSTERS))))


def clustered_classes(certain: bool, rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Labels that go together within a cluster, though each has the probabilities of the model."""
    x = rng.standard_normal((N, 2))
    p = sure(x) if certain else sure(x / 8.0)
    return cg.probabilities(p), x, drawn(p, clusters(20, rng)), {"groups": CLUSTERS}


def clustered_normal(rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    from scipy.special import ndtri

    x = rng.standard_normal(N)
    return (x, np.ones(N)), x, x + ndtri(clusters(20, rng)), {"groups": CLUSTERS}


def series(rng: np.random.Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    """AR(1) errors at 0.5."""
    x, e = rng.standard_normal((2, N))
    for t in range(1, N):
        e[t] = 0.5 * e[t - 1] + np.sqrt(0.75) * e[t]
    return (x, np.ones(N)), x, x + e, {"dependence": 10}


Sample = Callable[[np.random.Generator], tuple[Any, Any, Any, dict[str, Any]]]
SAMPLES: dict[str, Sample] = {
    "softmax-3": partial(study_sample, "true-softmax-3"),
    "sure": sure_sample,
    "grades": partial(study_sample, "true-grades"),
    "poisson": partial(study_sample, "true-poisson"),
    "rare": rare_sample,
    "nb-small": partial(study_sample, "true-nb-small"),
    "binomial": partial(study_sample, "true-binomial"),
}
DEPENDENT: dict[str, Sample] = {
    "classes, groups": partial(clustered_classes, False),
    "sure, groups": partial(clustered_classes, True),
    "normal, groups": clustered_normal,
    "normal, blocks": series,
}


def discrete_trial(name: str, trial: int) -> dict[str, float]:
    """Check a true model."""
    sample = {**SAMPLES, **DEPENDENT}[name]
    model, x, y, said = sample(np.random.default_rng([trial, *name.encode()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        found = cg.check(model, x, y, rng=trial, **FAST, **said)
    findings = [f for place in found.locations for f in place.findings]
    return {
        "verdict": found.result.pvalue,
        "where": min((place.pvalue for place in found.locations), default=1.0),
        "raw": found.locations[0].raw_pvalue if found.locations else 1.0,
        "named": float(any(place.named for place in found.locations)),
        "missed": float(sum(not f.interval.low <= f.expected <= f.interval.high for f in findings)),
        "findings": float(len(findings)),
        "effect_covers": float(found.effect.interval.low == 0.0),
    }


def show_discrete(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| sample | trials | verdict | any place, corrected | first place, raw | named | effect above 0 "
        "| 95% intervals of *how* that miss |",
        "|---|---|---|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        count = len(trials)
        high = bounds(count, 0.05)[1]
        found = {key: sum(t[key] <= 0.05 for t in trials) for key in ("verdict", "where", "raw")}
        found["named"] = int(sum(t["named"] for t in trials))
        found["effect"] = int(sum(1 - t["effect_covers"] for t in trials))
        missed = sum(t["missed"] for t in trials) / max(sum(t["findings"] for t in trials), 1.0)
        cells = " | ".join(str(value) for value in found.values())
        lines.append(f"| {name} | {count} | {cells} | {missed:.3f} |")
        failures += [
            f"check.discrete {name}: {what} in {value} of {count}, above {high}"
            for what, value in found.items()
            if value > high
        ]
        if missed > 0.08:
            failures.append(f"check.discrete {name}: intervals miss in {missed:.3f}")
    return "\n".join(lines), failures


# What could have been seen of a discrete y


def too_sure(p: np.ndarray, size: float) -> np.ndarray:
    """Move probability from the most probable class to the next one, as much as there is."""
    order, rows = np.argsort(-p, axis=1, kind="stable"), np.arange(len(p))
    moved = np.minimum(size, p[rows, order[:, 0]])
    q = p.copy()
    q[rows, order[:, 0]] -= moved
    q[rows, order[:, 1]] += moved
    return q


def detectable_trial(kind: str, n: int, trial: int) -> dict[str, float]:
    """Ask what could be seen, on a true sample; then draw such a misfit, and test."""
    rng = np.random.default_rng([trial, n, *kind.encode()])
    x = rng.standard_normal((n, 2))
    options: dict[str, Any] = {"rng": trial, "engine": 1, "n_boot": 200}
    if kind.startswith("classes"):
        p = sure(x / 6.0) if kind == "classes" else sure(x / 6.0)[:, :2] + sure(x / 6.0)[:, 2:] / 2.0
        model = cg.probabilities(p)
        seen = cg.check(model, x, drawn(p, rng.random(n)), n_locations=0, **options).detectable
        size, y = seen.probability, drawn(too_sure(p, seen.probability), rng.random(n))
    else:
        mean = 2.0 * np.exp(0.4 * x[:, 0])
        model = cg.models.Poisson(mean)
        if "ratios" in kind:
            model = cg.from_ratio(lambda y, x: 2.0 * np.exp(0.4 * x[:, 0]) / (y + 1.0))
        seen = cg.check(model, x, rng.poisson(mean), n_locations=0, **options).detectable
        if kind.endswith("shift"):
            size, y = seen.shift, rng.poisson(mean + seen.shift * np.sqrt(mean))
        else:  # a negative binomial of this variance
            size = seen.width
            y = rng.poisson(rng.gamma(mean / (size**2 - 1.0), size**2 - 1.0))
    return {"size": float(size), "pvalue": cg.adaptive(model, x, y, **options).pvalue}


DETECTABLE = {
    "classes": 300,
    "classes of two": 300,
    "counts, shift": 200,
    "counts, spread": 200,
    "counts by ratios, shift": 150,
}
