"""The claims about `check`.

Nothing is named of a true model, what is wrong is found, and what is reported of it holds.

A trial is a dictionary of plain numbers, seeded by its own coordinates and written as a
line of JSON when it is finished, so that stopping and going on change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import ndtri
from scipy.stats import binom

import condgof as cg
from report import TAIL, bounds

Trial = Callable[[int], dict[str, float]]
Summary = Callable[[dict[str, list[dict[str, float]]]], tuple[str, list[str]]]
FAST = {"engine": 1, "n_boot": 199}


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


def _trials(
    path: Path, trial: Trial, count: int, pool: ProcessPoolExecutor
) -> list[dict[str, float]]:
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
            for number, row in zip(
                missing, pool.map(trial, missing, chunksize=4), strict=True
            ):
                done[number] = {"trial": number, **row}
                file.write(json.dumps(done[number]) + "\n")
                file.flush()
        print(f"{path.name}: {len(missing)} trials", flush=True)
    return [done[number] for number in range(count)]


def at_most(count: int, trials: int, rate: float) -> bool:
    """Whether a count is not above what a rate allows (one tail of TAIL/2)."""
    return count <= int(binom.isf(TAIL / 2, trials, rate))


def table_of(n: int, columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Columns of all kinds: numbers, whole numbers, levels, two values, dates, in turn."""
    makers = (
        lambda: rng.normal(size=n),
        lambda: rng.choice(list("ABCDEF"), n),
        lambda: rng.integers(18, 70, n),
        lambda: rng.random(n) < 0.3,
        lambda: np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("m8[D]"),
        lambda: rng.lognormal(size=n),
    )
    return pd.DataFrame({f"c{i}": makers[i % len(makers)]() for i in range(columns)})


def true_sample(
    kind: str, n: int, columns: int, rng: np.random.Generator
) -> tuple[Any, Any, Any, dict]:
    """Draw x, y of a model that is right."""
    x = table_of(n, columns, rng)
    a = x["c0"].to_numpy()
    age = x["c2"].to_numpy()
    mean = a + age / 20.0
    sd = np.exp(0.3 * a)
    if kind == "classes":
        logits = np.column_stack([a, 0.5 - a, (age - 40) / 20.0])
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        y = (rng.random(n)[:, None] >= np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
        return cg.probabilities(p), x, y, {}
    if kind == "counts":
        rate = np.exp(0.5 * a)
        return cg.models.Poisson(mean=rate), x, rng.poisson(rate), {}
    if kind == "groups":
        groups = rng.integers(0, max(10, n // 20), n)
        shared = rng.normal(size=groups.max() + 1)[groups]
        z = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=n)
        return (mean, sd), x, mean + sd * z, {"groups": groups}
    y = mean + sd * rng.normal(size=n)
    if kind == "intervals":
        end = float(ndtri(0.95))
        return cg.from_intervals(mean - end * sd, mean + end * sd, 0.9), x, y, {}
    if kind == "draws":
        draws = mean[:, None] + sd[:, None] * rng.normal(size=(n, 60))
        return cg.from_draws(draws), x, y, {}
    if kind == "scores":
        return cg.from_scores(-(y - mean) / sd**2), x, y, {}
    return (mean, sd), x, y, {}


# True models: what is named


def level_trial(kind: str, n: int, columns: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, columns, *kind.encode()])
    model, x, y, more = true_sample(kind, n, columns, rng)
    found = cg.check(model, x, y, rng=trial, **FAST, **more)
    return {"verdict": found.pvalue, "search": found.details["searched"]["pvalue"],
            "named": float(len(found.slices) > 0)}  # fmt: skip


LEVEL_CELLS = {
    f"{kind}, {columns} columns, n = {n}": (partial(level_trial, kind, n, columns), 1000)
    for kind in (
        "continuous",
        "classes",
        "counts",
        "intervals",
        "draws",
        "groups",
        "scores",
    )
    for n in (100, 1000)
    for columns in (3, 15)
}


def show_level(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| true model | verdict | search | any slice named |", "|---|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        total = len(trials)
        counts = {key: sum(t[key] <= 0.05 for t in trials) for key in ("verdict", "search")}
        named = sum(t["named"] for t in trials)
        lines.append(f"| {name} | {counts['verdict']} | {counts['search']} | {named:.0f} |")
        if not (
            at_most(counts["verdict"], total, 0.05) and at_most(int(named), total, 0.05)
        ):
            failures.append(f"check.level: {name}")
    return "\n".join(lines), failures


# One slice is wrong: whether it is found


def wrong_slice(kind: str, x: pd.DataFrame, mean: Any) -> Any:
    """The rows in which the model is wrong."""
    return {
        "level": (x["c1"] == "B").to_numpy(),
        "interval": ((x["c2"] >= 30) & (x["c2"] < 45)).to_numpy(),
        "pair": ((x["c0"] > 0) & (x["c2"] < 40)).to_numpy(),
        "predicted": np.asarray(mean > np.quantile(mean, 0.75)),
    }[kind]


def wrong_sample(
    kind: str, how: str, reach: float, n: int, trial: int
) -> tuple[Any, Any, Any, Any]:
    """x, the predicted mean, which rows are wrong, and z, off by `reach` errors."""
    rng = np.random.default_rng(
        [trial, n, round(100 * reach), *kind.encode(), *how.encode()]
    )
    x = table_of(n, 6, rng)
    mean = np.log(x["c5"].to_numpy()) + x["c3"].to_numpy()
    wrong = wrong_slice(kind, x, mean)
    z = rng.normal(size=n)
    rows = int(wrong.sum())
    if how == "shift":
        return x, mean, wrong, z + wrong * reach / np.sqrt(rows)
    # The Stein score of log sd has variance 2.
    return x, mean, wrong, z * np.exp(wrong * reach / np.sqrt(2.0 * rows))


def found_trial(kind: str, how: str, reach: float, n: int, trial: int) -> dict[str, float]:
    x, mean, wrong, z = wrong_sample(kind, how, reach, n, trial)
    found = cg.check((mean, np.ones(n)), x, mean + z, rng=trial, **FAST)
    best = 0.0
    for one in found.slices[:2]:
        inside = np.zeros(n, dtype=bool)
        inside[one.rows] = True
        best = max(best, float((inside & wrong).sum() / (inside | wrong).sum()))
    return {"found": float(best > 0.5), "jaccard": best, "rejected": float(found.rejected),
            "named": float(len(found.slices))}  # fmt: skip


#: Standard errors of the misfit of the slice that an oracle, which knows the slice and the
#: direction of the misfit, finds with power 0.99 at level 0.05.
ORACLE = 1.959964 + 2.326348
#: The same at level 0.05 over 5,000 slices.
ORACLE_CORRECTED = 4.416855 + 2.326348
#: The same at level 1e-8.
ORACLE_SURE = 8.0
FOUND_CELLS = {
    f"{kind}, {how}, {name}": (partial(found_trial, kind, how, reach, 1000), 200)
    for kind in ("level", "interval", "pair", "predicted")
    for how in ("shift", "spread")
    for name, reach in (
        ("oracle at 0.05", ORACLE),
        ("oracle at 0.05 over 5,000", ORACLE_CORRECTED),
        ("oracle at 1e-8", ORACLE_SURE),
    )
}


def show_found(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| what is wrong | found | verdict rejects | any slice |", "|---|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        found, rejected = (sum(t[key] for t in trials) for key in ("found", "rejected"))
        named = sum(t["named"] > 0 for t in trials)
        lines.append(f"| {name} | {found:.0f} | {rejected:.0f} | {named} |")
        if "1e-8" in name and found < 0.9 * len(trials):
            failures.append(f"check.found: {name}")
    return "\n".join(lines), failures


# What is said of slices that were found


def said_trial(how: str, size: float, n: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, round(100 * size), *how.encode()])
    x = table_of(n, 6, rng)
    mean = x["c0"].to_numpy()
    wrong = ((x["c2"] >= 30) & (x["c2"] < 45)).to_numpy()
    shift = size * wrong if how == "shift" else np.zeros(n)
    spread = np.exp(size * wrong) if how == "spread" else np.ones(n)
    z = shift + spread * rng.normal(size=n)
    found = cg.check((mean, np.ones(n)), x, mean + z, rng=trial, **FAST)
    held = total = 0
    said = []
    true = []
    for one in found.slices:
        for finding in one.findings:
            if finding.kind not in ("shift", "spread"):
                continue
            own = shift[one.rows].mean()
            if finding.kind == "spread":
                own = np.sqrt(np.mean(spread[one.rows] ** 2) + shift[one.rows].var())
            held += finding.interval[0] <= own <= finding.interval[1]
            total += 1
            if finding.kind == how:
                said.append(finding.estimate)
                true.append(own)
    return {"held": float(held), "total": float(total), "said": float(np.sum(said)),
            "true": float(np.sum(true)), "leading": float(len(said))}  # fmt: skip


SAID_CELLS = {
    f"{how} {size}, n = {n}": (partial(said_trial, how, size, n), 200)
    for how, size, n in (("shift", 0.25, 1000), ("shift", 0.4, 500), ("spread", 0.25, 1000))
}


def show_said(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| true misfit | intervals of named slices | that hold | said, true (mean) |",
             "|---|---|---|---|"]  # fmt: skip
    failures = []
    for name, trials in rows.items():
        held, total, said, true, lead = (
            sum(t[key] for t in trials)
            for key in ("held", "total", "said", "true", "leading")
        )
        mean = f"{said / lead:.2f}, {true / lead:.2f}" if lead else "–"
        share = f"{held / total:.3f}" if total else "–"
        lines.append(f"| {name} | {total:.0f} | {held:.0f} ({share}) | {mean} |")
        if not at_most(int(total - held), int(total), 0.1):
            failures.append(f"check.said: {name}")
    return "\n".join(lines), failures


# Heavy tails: the spread of all rows, and of a slice named beforehand


NOISE = {
    "t3": stats.t(3),
    "t5": stats.t(5),
    "Laplace": stats.laplace(),
    "exponential": stats.expon(loc=-1.0),
    "normal": stats.norm(),
}


def spread_trial(name: str, n: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, *name.encode()])
    law = NOISE[name]
    x = rng.normal(size=n)
    y = x + law.rvs(size=n, random_state=rng)
    found = cg.check(
        (x, np.ones(n)), x, y, slices=["x <= 0"], rng=trial, engine=1, n_boot=20
    )
    middle = (law.ppf(0.75) - law.ppf(0.25)) / (2 * ndtri(0.75))
    overall = next(f for f in found.overall if f.kind == "spread")
    named = next(f for f in found.groups[0].findings if f.kind == "spread")
    return {
        "overall": float(overall.interval[0] <= middle <= overall.interval[1]),
        "slice": float(named.interval[0] <= law.std() <= named.interval[1]),
    }


SPREAD_CELLS = {
    f"{name}, n = {n}": (partial(spread_trial, name, n), 500)
    for name in NOISE
    for n in (100, 500)
}


def show_spread(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| noise | of all rows (middle half) | of a slice (standard deviation) |",
        "|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        held = {key: sum(t[key] for t in trials) for key in ("overall", "slice")}
        lines.append(f"| {name} | {held['overall']:.0f} | {held['slice']:.0f} |")
        for key, count in held.items():
            if not at_most(int(len(trials) - count), len(trials), 0.1):
                failures.append(f"check.spread: {name}, {key}")
    return "\n".join(lines), failures


# Groups


def groups_trial(count: int, off: float, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, count, round(off)])
    by = np.repeat(np.arange(count), 60)
    x = rng.normal(size=len(by))
    y = x + rng.normal(size=len(by)) + off * (by == 7)
    found = cg.check((x, np.ones(len(x))), x, y, by=by, rng=trial, engine=1, n_boot=20)
    named = [one for one in found.groups if one.pvalue <= 0.05]
    right = [one for one in named if one.words == "group = 7"]
    return {"named": float(len(named)), "right": float(len(right))}


GROUP_CELLS = {
    f"{count} groups, {what}": (partial(groups_trial, count, off), trials)
    for count in (60, 200, 1000)
    for what, off, trials in (
        ("one off by 5", 5.0, 20),
        ("all true", 0.0, 300 if count < 1000 else 200),
    )
}


def show_groups(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| groups | samples | any named | the wrong one named |", "|---|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        any_named = sum(t["named"] > 0 for t in trials)
        right = sum(t["right"] for t in trials)
        shown = f"{right:.0f}" if "off" in name else "–"
        lines.append(f"| {name} | {len(trials)} | {any_named} | {shown} |")
        if "off" in name and right < len(trials):
            failures.append(f"check.groups: {name}")
        if "true" in name and any_named > bounds(len(trials), 0.05)[1]:
            failures.append(f"check.groups: {name}")
    return "\n".join(lines), failures


CHECKS = {
    "check.level": CheckClaim(
        "check: slices named on true models",
        "Samples of 1,000 in which the verdict rejects at 0.05, the search for slices has p"
        " ≤ 0.05, and any slice is named. Columns are numbers, levels, whole numbers, two"
        " values and dates; the y of `groups` depends within groups.",
        LEVEL_CELLS,
        show_level,
    ),
    "check.found": CheckClaim(
        "check: the slice that is wrong is found",
        "Of 200 samples (n = 1,000, 6 columns): the first or second slice overlaps the"
        " wrong one with a Jaccard index above 0.5. An oracle that is told the slice and"
        " tests it alone has power 0.99 at level 0.05, at level 0.05 over 5,000 slices"
        " (about as many as are searched), and at 1e-8.",
        FOUND_CELLS,
        show_found,
    ),
    "check.said": CheckClaim(
        "check: intervals of slices that were found",
        "Simultaneous 95% intervals of shift and spread of all named slices in 200 samples:"
        " how many hold the true value of the slice's own rows; and what was said beside"
        " what is true, on average.",
        SAID_CELLS,
        show_said,
    ),
    "check.spread": CheckClaim(
        "check: intervals of the spread under heavy tails",
        "Of 500 samples: 95% intervals that hold the true value.",
        SPREAD_CELLS,
        show_spread,
    ),
    "check.groups": CheckClaim(
        "check: groups of 60 rows, with by=",
        "Samples in which any group is named at 0.05 (Holm), and in which the one is that"
        " is wrong.",
        GROUP_CELLS,
        show_groups,
    ),
}
