"""Times with censoring: level under several censorings, and power beside gofreg's test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import condgof as cg
from checks import CheckClaim
from kinds import ONE
from report import bounds, level_table

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracle import kolmogorov_censored

Rows = dict[str, list[dict[str, float]]]
Rng = np.random.Generator
#: (n, share, x, scale, rng) → times of censoring.
Censor = Callable[[int, float, Any, Any, Rng], Any]


def random(n: int, share: float, x: Any, scale: Any, rng: Rng) -> Any:
    return scale * rng.exponential((1 - share) / share, n)


def by_column(n: int, share: float, x: Any, scale: Any, rng: Rng) -> Any:
    """Censor twice the share (at most 0.9) where the second column is above 0, else 2%."""
    own = np.where(x[:, 1] > 0, min(2 * share, 0.9), 0.02)
    return scale * rng.exponential((1 - own) / own)


def at_once(n: int, share: float, x: Any, scale: Any, rng: Rng) -> Any:
    """All rows are watched until the same day."""
    return np.full(n, -np.log(share))


CENSOR: dict[str, Censor] = {
    "at random": random,
    "by a column": by_column,
    "on one day": at_once,
}


def watched(
    how: str, share: float, n: int, rng: Rng, shape: float = 1.0, late: bool = False
) -> tuple[Any, Any, dict[str, Any]]:
    """Exponential times (another shape than 1 is a misfit), and what is observed."""
    x = rng.normal(size=(n, 2))
    scale = np.exp(0.5 * x[:, 0])
    until = CENSOR[how](n, share, x, scale, rng)
    entry = 0.3 * scale * rng.random(n) * (rng.random(n) < 0.5)
    times = scale * rng.weibull(shape, n)
    if late:  # an exponential time has no memory
        times = times + entry
        until = until + entry
    observed = {"y": np.minimum(times, until), "event": times <= until}
    if late:
        observed["entry"] = entry
    return cg.models.Exponential(scale=scale), x, observed


def level_trial(verb: str, how: str, share: float, n: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, int(100 * share), *how.encode()])
    late = how == "late entry"
    model, x, observed = watched("at random" if late else how, share, n, rng, late=late)
    found = getattr(cg, verb)(model, x, **observed, rng=trial, **ONE)
    return {"pvalue": float(found.pvalue)}


def power_trial(share: float, n: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, n, int(100 * share)])
    model, x, observed = watched("at random", share, n, rng, shape=1.3)
    scale = np.exp(0.5 * x[:, 0])
    other = kolmogorov_censored(
        lambda t: -np.expm1(-t / scale[:, None]),
        lambda g: scale * g.exponential(size=n),
        observed["y"],
        observed["event"].astype(int),
        rng,
    )
    own = cg.adaptive(model, x, **observed, rng=trial, **ONE).pvalue
    return {"adaptive": float(own), "gofreg": float(other)}


def plain_trial(n: int, trial: int) -> dict[str, float]:
    """No row is censored: with event= and without."""
    rng = np.random.default_rng([trial, n])
    x = rng.normal(size=(n, 2))
    scale = np.exp(0.5 * x[:, 0])
    y = scale * rng.weibull(1.3, n)
    model = cg.models.Exponential(scale=scale)
    return {
        "event": float(cg.adaptive(model, x, y, event=np.ones(n), rng=trial, **ONE).pvalue),
        "plain": float(cg.adaptive(model, x, y, rng=trial, **ONE).pvalue),
    }


def show_pairs(rows: Rows) -> tuple[str, list[str]]:
    """The first of two rejection rates may be below the other by at most 0.05."""
    names = list(
        dict.fromkeys(key for one in rows.values() for key in one[0] if key != "trial")
    )
    lines = [f"| cell | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    failures = []
    for name, trials in rows.items():
        pair = [key for key in names if key in trials[0]]
        rates = {key: sum(one[key] <= 0.05 for one in trials) / len(trials) for key in pair}
        bad = rates[pair[0]] < rates[pair[1]] - 0.05
        shown = " | ".join(f"{rates[key]:.3f}" if key in rates else "" for key in names)
        lines.append(f"| {name}{'*' * bad} | {shown} |")
        failures += [f"censored.power, {name}: {rates}"] * bad
    return "\n".join(lines), failures


LEVEL = {
    f"adaptive, {how}, {share:.0%} @ n = {n}": (
        partial(level_trial, "adaptive", how, share, n),
        1000,
    )
    for how in (*CENSOR, "late entry")
    for share in (0.2, 0.6)
    for n in (30, 100, 300)
}
LEVEL |= {
    f"check, {how}, {share:.0%} @ n = 300": (
        partial(level_trial, "check", how, share, 300),
        1000,
    )
    for how in ("at random", "by a column")
    for share in (0.2, 0.6)
}

CENSORED_CHECKS = {
    "censored.level": CheckClaim(
        "Times with censoring: rejections of a true model at α = 0.05 and 0.01 in 1,000"
        " samples",
        "Exponential times given two columns; censored at random, more in one half of x"
        " than in the other, or all\non one day; watched from the beginning or, half of"
        " them, later.",
        LEVEL,
        partial(level_table, within=bounds),
    ),
    "censored.power": CheckClaim(
        "Weibull times of shape 1.3 against an exponential model: rejection rates at α ="
        " 0.05",
        "`adaptive` beside the statistic CondKolmY_RCM of gofreg (rewritten, 200 bootstrap"
        " draws), and without\ncensoring beside the plain test. The first may be below the"
        " other by at most 0.05.",
        {
            **{
                f"{share:.0%} censored, n = {n}": (partial(power_trial, share, n), 300)
                for share in (0.2, 0.6)
                for n in (100, 200)
            },
            **{
                f"none censored, n = {n}": (partial(plain_trial, n), 300)
                for n in (100, 200)
            },
        },
        show_pairs,
    ),
}
