"""The claims about `check`: where, how, how much, and what could have been seen.

A trial is a dictionary of plain numbers, seeded by its own coordinates and written as a line of JSON
when it is finished, so that stopping and going on change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from discrete_checks import (
    DEPENDENT,
    SAMPLES,
    discrete_trial,
    show_discrete,
)
from discrete_checks import DETECTABLE as DISCRETE_DETECTABLE
from discrete_checks import (
    detectable_trial as discrete_detectable_trial,
)
from scipy.stats import binom

import condgof as cg
from condgof.study import problem
from report import TAIL, bounds

Trial = Callable[[int], dict[str, float]]
Summary = Callable[[dict[str, list[dict[str, float]]]], tuple[str, list[str]]]
FAST = {"engine": 1, "n_boot": 200}


@dataclass(frozen=True)
class CheckClaim:
    """Cells of many trials each, and what they must show together."""

    title: str
    text: str
    cells: dict[str, tuple[Trial, int]]
    check: Summary

    def run(self, out: Path, processes: int) -> tuple[str, list[str]]:
        """Run (or go on), and return the table with the claims that fail."""
        out.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(processes) as pool:
            rows = {
                name: _trials(out / f"{name}.jsonl", trial, count, pool)
                for name, (trial, count) in self.cells.items()
            }
        table, failures = self.check(rows)
        return f"## {self.title}\n\n{self.text}\n\n{table}\n", failures


def _trials(path: Path, trial: Trial, count: int, pool: ProcessPoolExecutor) -> list[dict[str, float]]:
    done: dict[int, dict[str, float]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            done[int(row["trial"])] = row
        except (ValueError, KeyError, TypeError):
            print(f"{path.name}: torn line left out: {line!r}")
    missing = [number for number in range(count) if number not in done]
    if missing:
        with path.open("a") as file:
            file.write("\n" if done else "")  # ends a torn line
            for number, row in zip(missing, pool.map(trial, missing, chunksize=4), strict=True):
                done[number] = {"trial": number, **row}
                file.write(json.dumps(done[number]) + "\n")
                file.flush()
        print(f"{path.name}: {len(missing)} trials", flush=True)
    return [done[number] for number in range(count)]


def sample_of(name: str, n: int, trial: int) -> tuple[Any, Any, Any]:
    """Draw a sample, the same for all claims."""
    case = problem(name)
    x, y = case.draw(n, np.random.default_rng([trial, n, *name.encode()]))
    return case.p, x, y


def at_most(count: int, trials: int, rate: float) -> bool:
    """Whether a count is not above what a rate allows (one tail of TAIL/2)."""
    return count <= int(binom.isf(TAIL / 2, trials, rate))


# True models: what is named


def level_trial(name: str, n: int, scores_only: bool, trial: int) -> dict[str, float]:
    model, x, y = sample_of(name, n, trial)
    if scores_only:
        model = cg.from_scores(cg.scores(model, x, y))
    found = cg.check(model, x, y, rng=trial, **FAST)
    least = min((place.pvalue for place in found.locations), default=1.0)
    return {
        "verdict": found.result.pvalue,
        "where": least,
        "raw": found.locations[0].raw_pvalue if found.locations else 1.0,
        "named": float(any(place.named for place in found.locations)),
        "findings": float(any(f.named for place in found.locations for f in place.findings)),
        "effect_covers": float(found.effect.interval.low == 0.0),
    }


TRUE = ("lgm", "true-hetero", "true-mixture", "true-student", "true-pair")
LEVEL_CELLS = {
    f"{name}.{n}": (partial(level_trial, name, n, False), 1000)
    for name, n in ((name, 100) for name in TRUE)
} | {"lgm-scores.100": (partial(level_trial, "lgm", 100, True), 1000)}


def show_level(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| model.n | verdict | any place, corrected | first place, raw | named | effect above 0 |",
        "|---|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        count = len(trials)
        low, high = bounds(count, 0.05)
        verdict = sum(t["verdict"] <= 0.05 for t in trials)
        where, raw = (sum(t[key] <= 0.05 for t in trials) for key in ("where", "raw"))
        named = int(sum(t["named"] for t in trials))
        above = int(sum(1 - t["effect_covers"] for t in trials))
        lines.append(f"| {name} | {verdict} | {where} | {raw} | {named} | {above} |")
        for what, number in (("named", named), ("any place", where), ("first place", raw)):
            if number > high:
                failures.append(f"check.level {name}: {what} {number} of {count}, above {high}")
        if not low <= raw <= high:
            failures.append(f"check.level {name}: first place {raw}, outside {low} to {high}")
        if above > high:
            failures.append(f"check.level {name}: effect above 0 in {above}, more than {high}")
    return "\n".join(lines), failures


# hgm: the place, the words, and the interval of the ratio


@cache
def hgm_truth() -> tuple[np.ndarray, np.ndarray]:
    """Rows of x, and the precision of the model at them: the data have variance 1."""
    x = np.random.default_rng(0).standard_normal((200_000, 3))
    return x, 1.0 / np.asarray(problem("hgm").p(x).mean_std()[1])[:, 0] ** 2


def hgm_trial(trial: int) -> dict[str, float]:
    model, x, y = sample_of("hgm", 1000, trial)
    found = cg.check(model, x, y, rng=trial, **FAST)
    top = found.locations[0]
    (width,) = (f for f in top.findings if f.kind == "width")
    rows, precision = hgm_truth()
    # The kernel of the place, from what the record says of it: half weight at the ends of its reach.
    weight = np.ones(len(rows))
    for column, half in top.half_width.items():
        i = found.x_columns.index(column)
        weight *= 0.5 ** np.square((rows[:, i] - top.x[i]) / half)
    truth = float(np.sqrt((weight @ precision) / weight.sum()))
    return {
        "distance": float(np.linalg.norm(top.x - 2.0 / 3.0)),
        "named": float(top.named),
        "too_wide": float(width.named and "too wide" in width.words and "too wide" in top.words),
        "covers": float(width.interval.low <= truth <= width.interval.high),
        "truth": truth,
        "estimate": width.interval.estimate,
    }


def show_hgm(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    (trials,) = rows.values()
    count = len(trials)
    near = int(sum(t["distance"] <= 0.8 for t in trials))
    wide, covers = (int(sum(t[key] for t in trials)) for key in ("too_wide", "covers"))
    missed = count - covers
    median = float(np.median([t["distance"] for t in trials]))
    text = (
        f"In {near} of {count} runs the first place is within 0.8 of c (median distance {median:.2f}); "
        f"in {wide} it\nis named and the words say that the model is too wide; in {covers} the 95% "
        "interval covers the true ratio.\n"
    )
    failures = []
    if near < 0.9 * count:
        failures.append(f"check.hgm: within 0.8 of c in {near} of {count}")
    if wide < 0.9 * count:
        failures.append(f"check.hgm: said to be too wide in {wide} of {count}")
    if not at_most(missed, count, 0.05):
        failures.append(f"check.hgm: the interval misses the ratio in {missed} of {count}")
    return text, failures


# qgm: the sign of the shift


def qgm_trial(trial: int) -> dict[str, float]:
    model, x, y = sample_of("qgm", 2000, trial)
    found = cg.check(model, x, y, rng=trial, **FAST)
    shifts = [f for place in found.locations for f in place.findings if f.kind == "shift" and f.named]
    right = [f for f in shifts if f.interval.estimate > 0 and "too low" in f.words]  # r − p = x²/10
    return {
        "places": float(sum(place.named for place in found.locations)),
        "shifts": float(len(shifts)),
        "right": float(len(right)),
    }


def show_qgm(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    (trials,) = rows.values()
    places, shifts, right = (int(sum(t[k] for t in trials)) for k in ("places", "shifts", "right"))
    text = (
        f"In {len(trials)} runs {places} places are named, with {shifts} named shifts, of which {right} "
        "have the right sign.\n"
    )
    return text, [] if shifts and right == shifts else [f"check.qgm: {right} of {shifts} shifts right"]


# How much: the interval of the discrepancy

#: The misfit of u given x, and its D at bandwidths σ = 1 on y and 1/√τ_c on column c of x ~ N(0, I).
EFFECTS: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], float]]] = {}


def _add(name: str, misfit: Callable[..., Any], truth: Callable[[np.ndarray], float]) -> None:
    EFFECTS[name] = (misfit, truth)


def mean_kernel(tau: np.ndarray) -> float:
    """E exp(−Σ τ_c (x_c − x'_c)²/2) of independent standard normal x, x'."""
    return float(np.prod((1 + 2 * tau) ** -0.5))


def slope_truth(b: float, tau: np.ndarray) -> float:
    """D where u is off by b·x₁: the shift at x and at x' differ, which narrows the kernel."""
    t = tau[0] + b**2 / 3.0
    own = t / (1 + 2 * t) ** 1.5  # E[x x' exp(−t (x − x')²/2)]
    return b**2 * 3**-0.5 * own * float(np.prod((1 + 2 * tau[1:]) ** -0.5))


for _delta in (0.0, 0.05, 0.2, 1.0):
    _add(
        f"shift {_delta:g}",
        lambda x, u, delta=_delta: u + delta,
        lambda tau, delta=_delta: delta**2 * 3**-0.5 * mean_kernel(tau),
    )
_add(
    "width 1.3",
    lambda x, u: 1.3 * u,
    lambda tau: (1.3**-2 - 1) ** 2 * 1.3**4 / (1 + 2 * 1.3**2) ** 1.5 * mean_kernel(tau),
)
_add("slope 0.3", lambda x, u: u + 0.3 * x[:, :1], partial(slope_truth, 0.3))


def effect_trial(kind: str, n: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, *kind.encode()])
    x, u = rng.standard_normal((n, 2)), rng.standard_normal((n, 1))
    misfit, truth = EFFECTS[kind]
    model = (np.zeros((n, 1)), np.ones((n, 1)))
    found = cg.check(model, x, misfit(x, u), rng=trial, engine=1, n_boot=10, n_locations=0)
    bandwidth = max(scale["bandwidth_x"] for scale in found.result.details["scales"])
    d = truth(1.0 / (x.std(axis=0, ddof=1) * bandwidth) ** 2)
    size = found.effect.discrepancy
    covers = float(size.low <= d <= size.high)
    return {"covers": covers, "shift": found.effect.interval.estimate, "d": d, "estimate": size.estimate}


def show_effect(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| misfit, n | covers | mean equivalent shift |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        covers = int(sum(t["covers"] for t in trials))
        mean = float(np.mean([t["shift"] for t in trials]))
        lines.append(f"| {name} | {covers} of {len(trials)} | {mean:.3f} |")
        if not at_most(len(trials) - covers, len(trials), 0.05):
            failures.append(f"check.effect {name}: covers {covers} of {len(trials)}")
    return "\n".join(lines), failures


# What could have been seen: is it found with the probability that was said?

DETECTABLE = {"lgm": 150, "true-hetero": 400, "true-mixture": 100, "true-pair": 200}


def detectable_trial(name: str, n: int, kind: str, trial: int) -> dict[str, float]:
    """Ask what could be seen, on a true sample; then draw such a misfit, and test."""
    case = problem(name)
    rng = np.random.default_rng([trial, n, *name.encode()])
    x = case.draw_x(n, rng)
    u = rng.standard_normal((2, n, case.d_y))
    model = (np.zeros((n, case.d_y)), np.ones((n, case.d_y)))
    seen = cg.check(model, x, u[0], rng=trial, n_locations=0, engine=1, n_boot=300).detectable
    y = u[1]
    y[:, 0] = y[:, 0] + seen.shift if kind == "shift" else y[:, 0] * seen.width
    result = cg.adaptive(model, x, y, rng=trial, engine=1, n_boot=300)
    return {"size": seen.shift if kind == "shift" else seen.width, "pvalue": result.pvalue}


def show_detectable(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| problem, n, misfit | size | found |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        rate = float(np.mean([t["pvalue"] <= 0.05 for t in trials]))
        size = float(np.median([t["size"] for t in trials]))
        lines.append(f"| {name} | {size:.3g} | {rate:.3f} |")
        if not 0.7 <= rate <= 0.9:
            failures.append(f"check.detectable {name}: found with probability {rate:.3f}")
    return "\n".join(lines), failures


CHECKS = {
    "check.level": CheckClaim(
        "What `check` names on true models, in 1,000 samples at α = 0.05",
        f"At most {bounds(1000, 0.05)[1]} samples may name a place, have one with a corrected p-value\n"
        "of at most α, or an effect whose interval leaves out 0. The raw p-value of the first place\n"
        f"must be inside {bounds(1000, 0.05)[0]} to {bounds(1000, 0.05)[1]}.",
        LEVEL_CELLS,
        show_level,
    ),
    "check.hgm": CheckClaim(
        "Where and how: `hgm` at n = 1,000",
        "The model is too wide around c. The truth is the kernel-weighted ratio at a run's own place.",
        {"hgm.1000": (hgm_trial, 200)},
        show_hgm,
    ),
    "check.qgm": CheckClaim(
        "How: `qgm` at n = 2,000",
        "The model is too low wherever it is wrong.",
        {"qgm.2000": (qgm_trial, 200)},
        show_qgm,
    ),
    "check.effect": CheckClaim(
        "How much: 95% intervals of the discrepancy",
        "Two covariates, a standard normal model. The truth of D is a closed form.",
        {f"{kind}, {n}": (partial(effect_trial, kind, n), 300) for kind in EFFECTS for n in (100, 500)},
        show_effect,
    ),
    "check.detectable": CheckClaim(
        "What could have been seen: how often `adaptive` finds it (0.8 is said)",
        "Each trial asks a check of a true sample what could be seen, and tests another sample with "
        "that misfit;\nthe share must be within 0.7 and 0.9.",
        {
            f"{name}.{n}.{kind}": (partial(detectable_trial, name, n, kind), 200)
            for name, n in DETECTABLE.items()
            for kind in ("shift", "width")
        },
        show_detectable,
    ),
    "check.discrete": CheckClaim(
        "What `check` names on true models of a discrete y, and where rows depend on each other",
        "n = 200, 59 draws, α = 0.05. No count may be above the upper exact binomial bound, "
        f"{bounds(300, 0.05)[1]};\nthe last column is the share of all 95% intervals, at all places, "
        "that leave out what the model says.",
        {name: (partial(discrete_trial, name), 300) for name in (*SAMPLES, *DEPENDENT)},
        show_discrete,
    ),
    "check.discrete-detectable": CheckClaim(
        "What could have been seen of a discrete y: how often `adaptive` finds it (0.8 is said)",
        "As above, 100 samples each; probability moved from the most probable class to the next, a "
        "Poisson mean that is higher,\nnegative binomial counts; the share must be within 0.7 and 0.9.",
        {
            f"{kind}, {n}": (partial(discrete_detectable_trial, kind, n), 100)
            for kind, n in DISCRETE_DETECTABLE.items()
        },
        show_detectable,
    ),
}
