"""Angles: the level of true models, and power against a turned or too concentrated one."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import condgof as cg
from checks import CheckClaim
from kinds import ONE
from report import bounds

Rows = dict[str, list[dict[str, float]]]
#: Rows of a sample.
N = 200
#: Samples of a cell.
TRIALS = 300
#: How the angles of all samples are written: degrees.
PERIOD = 360.0


class Angles(NamedTuple):
    """A sample of directions in degrees, and what is true of it."""

    x: Any  #: (n, 2).
    y: Any  #: (n,).
    mean: Any  #: (n,).
    concentration: Any  #: (n,).


def sample(n: int, rng: np.random.Generator) -> Angles:
    """A direction that turns with one column, and a concentration that grows with one."""
    x = rng.normal(size=(n, 2))
    mean = np.rad2deg(2.0 * x[:, 0])
    concentration = np.exp(1.0 + 0.5 * x[:, 1])
    y = np.mod(mean + np.rad2deg(rng.vonmises(0.0, concentration)), PERIOD)
    return Angles(x, y, mean, concentration)


def closed_form(true: Angles, rng: np.random.Generator) -> Any:
    return cg.models.VonMises(true.mean, true.concentration, period=PERIOD)


def log_density(true: Angles, rng: np.random.Generator) -> Any:
    def function(y: Any, x: Any) -> Any:
        apart = np.deg2rad(np.ravel(y)) - 2.0 * x[:, 0]
        return np.exp(1.0 + 0.5 * x[:, 1]) * np.cos(apart)

    return cg.from_log_prob(function, period=PERIOD)


def draws(true: Angles, rng: np.random.Generator) -> Any:
    noise = rng.vonmises(0.0, true.concentration[:, None], (len(true.y), 99))
    return cg.from_draws(true.mean[:, None] + np.rad2deg(noise), period=PERIOD)


MODELS = {"closed form": closed_form, "log-density": log_density, "99 draws": draws}


def pvalues(model: Any, x: Any, y: Any, trial: int) -> dict[str, float]:
    """The p-values of all tests of angles; of draws those that need no score."""
    found = {
        "adaptive": cg.adaptive(model, x, y, rng=trial, **ONE).pvalue,
        "kcsd": cg.kcsd(model, x, y, rng=trial, **ONE).pvalue,
        "check": cg.check(model, x, y, rng=trial, **ONE).pvalue,
    }
    by_scores = cg.adaptive(model, x, y, standardize="none", rng=trial, **ONE)
    return {**found, "adaptive by scores": by_scores.pvalue}


def level_trial(name: str, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, N, 11])
    true = sample(N, rng)
    return pvalues(MODELS[name](true, rng), true.x, true.y, trial)


def turned(true: Angles) -> Any:
    return cg.models.VonMises(true.mean + 20.0, true.concentration, period=PERIOD)


def too_concentrated(true: Angles) -> Any:
    return cg.models.VonMises(true.mean, 2.0 * true.concentration, period=PERIOD)


def too_spread(true: Angles) -> Any:
    return cg.models.VonMises(true.mean, 0.5 * true.concentration, period=PERIOD)


MISFITS = {
    "mean off by 20 degrees": turned,
    "concentration halved": too_spread,
    "concentration doubled": too_concentrated,
}


def power_trial(name: str, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, N, 12])
    true = sample(N, rng)
    return pvalues(MISFITS[name](true), true.x, true.y, trial)


def rates(trials: list[dict[str, float]]) -> dict[str, float]:
    tests = [key for key in trials[0] if key != "trial"]
    return {test: float(np.mean([row[test] <= 0.05 for row in trials])) for test in tests}


def table(rows: Rows) -> list[str]:
    tests = list(rates(next(iter(rows.values()))))
    lines = [f"| | {' | '.join(f'`{test}`' for test in tests)} |", "|---" * 5 + "|"]
    for name, trials in rows.items():
        found = rates(trials)
        lines.append(f"| {name} | {' | '.join(f'{found[test]:.3f}' for test in tests)} |")
    return lines


def show_level(rows: Rows) -> tuple[str, list[str]]:
    failures = []
    for name, trials in rows.items():
        low, high = bounds(len(trials), 0.05)
        for test, rate in rates(trials).items():
            if not low <= round(rate * len(trials)) <= high:
                failures.append(f"level of {test}, angles as a {name}: {rate:.3f}")
    return "\n".join(table(rows)), failures


def show_power(rows: Rows) -> tuple[str, list[str]]:
    failures = []
    for name, trials in rows.items():
        found = rates(trials)
        for test in ("adaptive", "check"):
            if found[test] < LEAST_POWER:
                failures.append(f"power of {test}, {name}: {found[test]:.3f}")
    return "\n".join(table(rows)), failures


#: What `adaptive` and `check` must reach against all misfits.
LEAST_POWER = 0.9

CIRCULAR_CHECKS = {
    "circular.level": CheckClaim(
        f"Level of tests of angles, {TRIALS} samples of {N} rows",
        "True von Mises models with α = 0.05, each within its binomial bounds.",
        {name: (partial(level_trial, name), TRIALS) for name in MODELS},
        show_level,
    ),
    "circular.power": CheckClaim(
        f"Power of tests of angles, {TRIALS} samples of {N} rows",
        f"`adaptive` and `check` must reach {LEAST_POWER} at α = 0.05.",
        {name: (partial(power_trial, name), TRIALS) for name in MISFITS},
        show_power,
    ),
}
