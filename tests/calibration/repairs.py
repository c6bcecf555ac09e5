"""The claims about `Check.repair`.

A repair is better on new rows where the misfit is clear, harmless where the model was true,
and claims what new rows show.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

import condgof as cg
from checks import FAST, CheckClaim, at_most
from condgof.study import problem
from report import TAIL

#: New rows that a repair is judged on.
NEW = 20_000
#: Trials of a cell.
TRIALS = 200
#: Between these bounds the sum of claimed gains over that of gains on new rows must be.
LEAST_CLAIMED = 0.85
MOST_CLAIMED = 1.15
#: A mean loss of more than this a row counts as worse.
WORSE = 0.002
#: Problems with a clear misfit, and true models, with the number of rows to learn from.
CLEAR = {
    "hgm": 500,
    "qgm": 2000,
    "skewed": 500,
    "softmax-overconfident-3": 2000,
    "poisson-overdispersed": 500,
    "wages": 1000,
    "product": 1500,
    "towns": 3000,
    "missing-column": 1000,
}
TRUE = {
    "lgm": 300,
    "true-student": 500,
    "true-mixture": 1000,
    "true-softmax-3": 500,
    "true-poisson": 300,
    "true-wages": 1000,
}


#: How frequent levels of education are.
SHARES = [0.2, 0.4, 0.25, 0.15]


def wages(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Columns like those of a table of wages."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "education": rng.choice(["some", "school", "college", "advanced"], n, p=SHARES),
            "married": rng.integers(0, 2, n),
            "year": rng.integers(2003, 2010, n),
        }
    )


def _step(x: pd.DataFrame) -> np.ndarray:
    return (
        x["education"]
        .map({"some": 0.0, "school": 0.15, "college": 0.35, "advanced": 0.6})
        .to_numpy()
    )


def _line(x: pd.DataFrame) -> np.ndarray:
    return np.asarray(4.2 + 0.006 * (x["age"] - 18) + _step(x), dtype=np.float64)


def _curve(x: pd.DataFrame) -> np.ndarray:
    age = np.asarray(x["age"], dtype=np.float64)
    return np.asarray(4.38 + _step(x) - 0.0003 * (age - 48) ** 2 + 0.1 * x["married"])


def _noise(x: pd.DataFrame) -> np.ndarray:
    return 0.22 + 0.25 * _step(x)


#: A line with one spread; the truth is curved in age, and has a step and a spread by
#: education.
WAGES = cg.models.Normal(mean=_line, std=0.3)
TRUE_WAGES = cg.models.Normal(mean=_curve, std=_noise)


def _product(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw a mean that is the product of two of four columns, where 0 is predicted."""
    x = rng.uniform(-1, 1, (n, 4))
    y = 1.5 * x[:, 0] * x[:, 1] + rng.standard_normal(n)
    return cg.models.Normal(mean=lambda x: 0 * x[:, 0], std=1.0), x, y


def _towns(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw biases of 30 towns, and a spread that grows along a column."""
    town = rng.integers(0, 30, n)
    a = rng.uniform(0, 2, n)
    x = pd.DataFrame({"town": np.array([f"t{i:02d}" for i in range(30)])[town], "a": a})
    bias = 0.8 * np.sin(1.7 * town)
    y = a + bias + np.exp(0.5 * (a - 1)) * rng.standard_normal(n)
    return cg.models.Normal(mean=lambda x: np.asarray(x["a"]), std=1.0), x, y


def _logit(u: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-u)))


def _missing_column(n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw two classes by two columns, of which the model knows one."""
    x = rng.standard_normal((n, 3))
    y = np.where(rng.random(n) < _logit(x[:, 0] + x[:, 1]), "yes", "no")

    def law(x: np.ndarray) -> Any:
        return cg.probabilities(_logit(0.85 * np.asarray(x)[:, 0]), ["no", "yes"])

    return cg.models.Model(law), x, y


#: Problems of this module: name → (rows, rng) → model, x and y.
OWN = {"product": _product, "towns": _towns, "missing-column": _missing_column}


def _draw(name: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    if name in OWN:
        return OWN[name](n, rng)
    if "wages" not in name:
        case = problem(name)
        return case.p, *case.draw(n, rng)
    x = wages(n, rng)
    model = WAGES if name == "wages" else TRUE_WAGES
    return model, x, TRUE_WAGES(x).sample(rng)[:, 0]


def repaired(name: str, n: int, trial: int) -> dict[str, float]:
    """Learn a repair, and judge it on new rows."""
    rng = np.random.default_rng([trial, n, *name.encode()])
    model, x, y = _draw(name, n, rng)
    report = cg.check(model, x, y, rng=trial, **FAST)
    better = report.repair(rng=trial)
    gain = better.gain(*_draw(name, NEW, rng)[1:])
    claimed = better.held_out
    return {
        "rejected": float(report.rejected),
        "gain": gain.estimate,
        "learned": float(claimed is not None),
        "claimed": 0.0 if claimed is None else claimed.estimate,
        "low": -np.inf if claimed is None else claimed.interval[0],
    }


def _better(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| problem | rows | rejected | better | gain | claimed | ratio | too much |",
        "|---|---|---|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        better = sum(t["gain"] > 0 for t in trials)
        over = sum(t["low"] > t["gain"] for t in trials)
        gain = np.mean([t["gain"] for t in trials])
        claimed = np.mean([t["claimed"] for t in trials])
        ratio = claimed / gain if gain else np.inf
        rejected = np.mean([t["rejected"] for t in trials])
        case, n = name.rsplit(".", 1)
        lines.append(
            f"| {case} | {n} | {rejected:.2f} | {better / len(trials):.3f} | {gain:.4f} | "
            f"{claimed:.4f} | {ratio:.2f} | {over / len(trials):.3f} |"
        )
        if not LEAST_CLAIMED <= ratio <= MOST_CLAIMED:
            failures.append(f"repair.better {name}: claimed {ratio:.2f} of the gain")
        if better < int(binom.ppf(TAIL / 2, len(trials), 0.95)):
            failures.append(f"repair.better {name}: better in {better} of {len(trials)}")
        if not at_most(over, len(trials), 0.025):
            failures.append(
                f"repair.better {name}: claimed too much in {over} of {len(trials)}"
            )
    return "\n".join(lines), failures


def _harmless(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| problem | rows | learned | worse by 0.002 | mean gain | least |",
        "|---|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        worse = sum(t["gain"] < -WORSE for t in trials)
        gains = [t["gain"] for t in trials]
        learned = np.mean([t["learned"] for t in trials])
        case, n = name.rsplit(".", 1)
        lines.append(
            f"| {case} | {n} | {learned:.3f} | {worse / len(trials):.3f} |"
            f" {np.mean(gains):.5f} | {min(gains):.4f} |"
        )
        if not at_most(worse, len(trials), 0.05):
            failures.append(f"repair.true {name}: worse in {worse} of {len(trials)}")
    return "\n".join(lines), failures


def _cells(problems: dict[str, int]) -> dict[str, Any]:
    return {
        f"{name}.{n}": (partial(repaired, name, n), TRIALS) for name, n in problems.items()
    }


REPAIR_CHECKS = {
    "repair.better": CheckClaim(
        "Repairs of a clear misfit",
        f"`report.repair()` learned on so many rows, its log score on {NEW:,} new rows:"
        " better in 95% of trials; claimed: the gain on held-out rows of the check, all of"
        f" them together {LEAST_CLAIMED} to {MOST_CLAIMED} times the gain on new rows; too"
        " much if the lower end of its interval is above the gain on new rows.",
        _cells(CLEAR),
        _better,
    ),
    "repair.true": CheckClaim(
        "Repairs of true models",
        f"The same of models that are true: worse by more than {WORSE} a row in at most 5%"
        " of trials.",
        _cells(TRUE),
        _harmless,
    ),
}
