"""Effects: named of no true model, seldom more than there are, and the cause first.

What the reports of many samples say is counted here; small examples with fixed seeds are in
``tests/check/effects``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

import condgof as cg
from checks import FAST, CheckClaim, at_most, table_of, true_sample
from condgof.check import axes_of
from condgof.check.effects import (
    ModelDraws,
    NormalTilt,
    NullOfStages,
    analyse_state,
    apply_stages,
    make_state,
)
from condgof.sample import Sample, Seed

Rng = np.random.Generator
ALPHA = 0.05
#: Samples of a true model.
LEVEL_TRIALS = 1000
#: Samples of a model that is wrong in a known way.
WRONG_TRIALS = 200


def rng_of(name: str, trial: int) -> Rng:
    return np.random.default_rng([trial, *name.encode()])


# True models: nothing is named.


@dataclass(frozen=True)
class TrueModel:
    """A true model of one kind of y."""

    kind: str
    n: int
    columns: int

    @property
    def name(self) -> str:
        return f"{self.kind}, n = {self.n}, {self.columns} columns"

    def sample(self, rng: Rng) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Draw a model, x, y and what else `check` gets."""
        make = OWN_SAMPLES.get(self.kind)
        if make is None:
            return true_sample(self.kind, self.n, self.columns, rng)
        return make(table_of(self.n, self.columns, rng), rng)


def censored_sample(x: pd.DataFrame, rng: Rng) -> tuple[Any, Any, Any, dict[str, Any]]:
    rate = np.exp(0.4 * x["c0"].to_numpy())
    times = rng.exponential(1.0 / rate)
    until = rng.exponential(1.5, len(x))
    event = times <= until
    model = cg.models.Exponential(rate=rate)
    return model, x, np.minimum(times, until), {"event": event}


def several_sample(x: pd.DataFrame, rng: Rng) -> tuple[Any, Any, Any, dict[str, Any]]:
    mean = np.column_stack([x["c0"], x["c2"] / 20.0])
    sd = np.exp(0.3 * np.column_stack([x["c0"], -x["c0"]]))
    return (mean, sd), x, mean + sd * rng.normal(size=mean.shape), {}


def quantile_sample(x: pd.DataFrame, rng: Rng) -> tuple[Any, Any, Any, dict[str, Any]]:
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    mean = x["c0"].to_numpy()
    model = cg.from_quantiles(mean[:, None] + norm.ppf(levels), levels)
    return model, x, mean + rng.normal(size=len(x)), {}


def grouped_sample(
    shares: Callable[[int], Any], x: pd.DataFrame, rng: Rng
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Rows of a group share 0.3 of the variance; one column is the same in a group."""
    codes = rng.permutation(shares(len(x)))
    z = np.sqrt(0.3) * rng.normal(size=codes.max() + 1)[codes]
    z += np.sqrt(0.7) * rng.normal(size=len(x))
    x = x.assign(c0=rng.normal(size=codes.max() + 1)[codes])
    mean = x["c2"].to_numpy() / 20.0
    return (mean, np.ones(len(x))), x, mean + z, {"groups": codes}


def equal_groups(n: int) -> Any:
    return np.arange(n) // 12


def unequal_groups(n: int) -> Any:
    """One group of a third of the rows, and groups of four."""
    giant = n // 3
    return np.concatenate([np.zeros(giant, dtype=int), 1 + np.arange(n - giant) // 4])


def blocked_sample(x: pd.DataFrame, rng: Rng) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Errors in the order of time, each correlated 0.5 with the one before."""
    n = len(x)
    z = np.empty(n)
    z[0] = rng.normal()
    for row in range(1, n):
        z[row] = 0.5 * z[row - 1] + np.sqrt(0.75) * rng.normal()
    x = x.assign(c0=np.arange(n) / n)
    mean = x["c2"].to_numpy() / 20.0
    return (mean, np.ones(n)), x, mean + z, {"dependence": "auto"}


OWN_SAMPLES: dict[str, Callable[..., tuple[Any, Any, Any, dict[str, Any]]]] = {
    "censored": censored_sample,
    "several": several_sample,
    "quantiles": quantile_sample,
    "equal groups": partial(grouped_sample, equal_groups),
    "unequal groups": partial(grouped_sample, unequal_groups),
    "blocks": blocked_sample,
}
TRUE_MODELS = (
    TrueModel("continuous", 60, 3),
    TrueModel("continuous", 300, 15),
    TrueModel("continuous", 300, 60),
    TrueModel("continuous", 3000, 60),
    TrueModel("classes", 60, 3),
    TrueModel("classes", 300, 15),
    TrueModel("classes", 3000, 60),
    TrueModel("counts", 60, 3),
    TrueModel("counts", 300, 15),
    TrueModel("counts", 3000, 15),
    TrueModel("censored", 60, 3),
    TrueModel("censored", 300, 15),
    TrueModel("censored", 3000, 3),
    TrueModel("quantiles", 300, 15),
    TrueModel("intervals", 60, 3),
    TrueModel("intervals", 3000, 15),
    TrueModel("draws", 300, 15),
    TrueModel("several", 300, 15),
    TrueModel("scores", 300, 3),
    TrueModel("equal groups", 300, 3),
    TrueModel("equal groups", 3000, 15),
    TrueModel("unequal groups", 300, 3),
    TrueModel("unequal groups", 3000, 15),
    TrueModel("blocks", 300, 3),
)


def level_trial(model: TrueModel, trial: int) -> dict[str, float]:
    law, x, y, more = model.sample(rng_of(model.name, trial))
    found = cg.check(law, x, y, rng=trial, **FAST, **more)
    return {
        "verdict": found.pvalue,
        "effects": float(len(found.effects)),
        "slices": float(len(found.slices)),
    }


def show_level(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| true model | verdict rejects | any effect | any effect or slice |",
        "|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        verdicts = sum(one["verdict"] <= ALPHA for one in trials)
        effects = sum(one["effects"] > 0 for one in trials)
        named = sum(one["effects"] + one["slices"] > 0 for one in trials)
        lines.append(f"| {name} | {verdicts} | {effects} | {named} |")
        if not at_most(named, len(trials), ALPHA):
            failures.append(f"effects.level: {name}: {named} of {len(trials)}")
    return "\n".join(lines), failures


# Models that are wrong in one known way.


#: About how many candidates a table of `WRONG_COLUMNS` and a prediction has: kinds of error
#: times the constant, single columns, trends and pairs.
CANDIDATES = 120


@dataclass(frozen=True)
class Shape:
    """How an error depends on columns."""

    columns: tuple[str, ...]
    pattern: Callable[[pd.DataFrame, Rng], Any]  #: Errors of rows up to a factor, (n,).
    df: int  #: Of the test of this effect alone.
    trend: bool = False


def wrong_table(n: int, rng: Rng) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "other": rng.uniform(size=n),
            "letter": rng.choice(list("ABCDEF"), n),
            "kind": rng.choice([f"k{k:02d}" for k in range(30)], n),
            "month": rng.integers(1, 13, n),
        }
    )


def by_category(name: str, x: pd.DataFrame, rng: Rng) -> Any:
    """Draw an error for each category; over all rows they have mean 0."""
    codes, levels = pd.factorize(x[name], sort=True)
    errors = rng.normal(size=len(levels))[codes]
    return errors - errors.mean()


SHAPES = {
    "everywhere": Shape((), lambda x, rng: np.ones(len(x)), 1),
    "letter": Shape(("letter",), partial(by_category, "letter"), 5),
    "category of 30": Shape(("kind",), partial(by_category, "kind"), 29),
    "interval": Shape(
        ("number",), lambda x, rng: 1.0 * x["number"].between(-0.4, 0.6) - 0.38, 7
    ),
    "trend": Shape(("other",), lambda x, rng: x["other"].to_numpy() - 0.5, 1, trend=True),
    "season": Shape(
        ("month",), lambda x, rng: np.sin(2.0 * np.pi * x["month"].to_numpy() / 12.0), 11
    ),
    "pair": Shape(
        ("number", "other"),
        lambda x, rng: np.sign(x["number"] * (x["other"] - 0.5)).to_numpy(),
        24,
    ),
}


def detectable(df: int) -> float:
    """Return the noncentrality that χ² finds with power 0.99 among all candidates."""
    limit = chi2.isf(ALPHA / CANDIDATES, df)
    return float(brentq(lambda nc: ncx2.sf(limit, df, nc) - 0.99, 1.0, 500.0))


@dataclass(frozen=True)
class Wrong:
    """Normal scores of a model that is wrong in one way."""

    error: str  #: "bias" or "spread".
    shape: str  #: A key of `SHAPES`.
    n: int = 1000
    times: float = 1.0  #: How many times as large as `detectable`, in noncentrality.

    @property
    def name(self) -> str:
        return f"{self.error}, {self.shape}"

    def theta(self, x: pd.DataFrame, rng: Rng) -> Any:
        """Return θ of each row, (n,): Σθ² times the information is the noncentrality."""
        shape = SHAPES[self.shape]
        pattern = np.asarray(shape.pattern(x, rng), dtype=float)
        information = 1.0 if self.error == "bias" else 2.0
        wanted = self.times * detectable(shape.df) / information
        return pattern * np.sqrt(wanted / np.square(pattern).sum())

    def is_cause(self, effect: Any) -> bool:
        shape = SHAPES[self.shape]
        return effect.kind == self.error and set(effect.columns) == set(shape.columns)


def scores_of(parts: tuple[Wrong, ...], x: pd.DataFrame, rng: Rng) -> Any:
    """Return normal scores with the errors of all parts, (n,)."""
    z = rng.normal(size=len(x))
    for part in sorted(parts, key=lambda one: one.error, reverse=True):  # spread first
        theta = part.theta(x, rng)
        z = z * np.exp(theta) if part.error == "spread" else z + theta
    return z


def checked(x: pd.DataFrame, z: Any, trial: int) -> cg.Check:
    mean = 0.5 * x["number"].to_numpy()
    return cg.check((mean, np.ones(len(x))), x, mean + z, rng=trial, **FAST)


def effect_names(report: cg.Check) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.columns) for one in report.effects]


def cause_trial(wrong: Wrong, trial: int) -> dict[str, float]:
    """One sample, and the same with one row at 30 sd."""
    rng = rng_of(wrong.name, trial)
    x = wrong_table(wrong.n, rng)
    z = scores_of((wrong,), x, rng)
    report = checked(x, z, trial)
    effects = report.effects
    z[int(rng.integers(wrong.n))] = 30.0
    far = checked(x, z, trial)
    first = effect_names(report)[:1]
    return {
        "first": float(bool(effects) and wrong.is_cause(effects[0])),
        "any": float(any(wrong.is_cause(one) for one in effects)),
        "trend": float(bool(effects) and effects[0].trend),
        "more": float(any(not wrong.is_cause(one) for one in effects[1:])),
        "share": next((one.share for one in effects if wrong.is_cause(one)), 0.0),
        "far": float(effect_names(far)[:1] == first),
    }


CAUSES = tuple(
    Wrong(error, shape, n=1500 if shape == "pair" else 1000)
    for error in ("bias", "spread")
    for shape in SHAPES
)
#: The least rate at which the first effect is the cause.
CAUSE_RATE = 0.9


def show_cause(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| what is wrong | first | named | said as a trend | another beside it |"
        " the same with a far row |",
        "|---|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        rate = {
            key: float(np.mean([one[key] for one in trials]))
            for key in ("first", "any", "trend", "more", "far")
        }
        lines.append(f"| {name} | " + " | ".join(f"{v:.3f}" for v in rate.values()) + " |")
        if rate["first"] < CAUSE_RATE:
            failures.append(f"effects.cause: {name}: first in {rate['first']:.3f}")
        if rate["far"] < CAUSE_RATE:
            failures.append(
                f"effects.cause: {name}: a far row changes {1 - rate['far']:.3f}"
            )
    return "\n".join(lines), failures


# Second effects of models that are wrong in one way.


def second_trial(wrong: Wrong, trial: int) -> dict[str, float]:
    rng = rng_of("second " + wrong.name, trial)
    x = wrong_table(wrong.n, rng)
    report = checked(x, scores_of((wrong,), x, rng), trial)
    others = [one for one in report.effects if not wrong.is_cause(one)]
    return {
        "first": float(bool(report.effects) and wrong.is_cause(report.effects[0])),
        "second": float(len(others) > 0 and len(report.effects) > len(others)),
    }


#: Three times what is found nearly always, so that the first effect is the known one.
SECONDS = tuple(
    Wrong(error, shape, times=3.0)
    for error in ("bias", "spread")
    for shape in ("everywhere", "letter", "category of 30", "trend", "season")
)


def show_second(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = ["| what is wrong | it is first | a second effect |", "|---|---|---|"]
    failures = []
    for name, trials in rows.items():
        first = int(sum(one["first"] for one in trials))
        second = int(sum(one["second"] for one in trials))
        lines.append(f"| {name} | {first} | {second} |")
        if not at_most(second, len(trials), ALPHA):
            failures.append(f"effects.second: {name}: {second} of {len(trials)}")
    return "\n".join(lines), failures


# Mixtures: shares of the gain.


@dataclass(frozen=True)
class Mixture:
    """Two errors at once."""

    name: str
    parts: tuple[Wrong, Wrong]
    n: int = 2000


MIXTURES = (
    Mixture("bias by letter, spread by trend",
            (Wrong("bias", "letter", times=4.0), Wrong("spread", "trend", times=4.0))),
    Mixture("bias by season, bias by letter",
            (Wrong("bias", "season", times=4.0), Wrong("bias", "letter", times=2.0))),
    Mixture("spread everywhere, bias by category of 30",
            (Wrong("spread", "everywhere", times=6.0),
             Wrong("bias", "category of 30", times=2.0))),
)  # fmt: skip


def population_gain(part: Wrong, theta: Any, inside: Any) -> float:
    """Return the gain of one correction in nats a row, with E[z²] = `inside`² before."""
    if part.error == "bias":
        return float(0.5 * np.square(theta).mean())
    return float((0.5 * np.square(inside) * -np.expm1(-2.0 * theta) - theta).mean())


def mixture_trial(mixture: Mixture, trial: int) -> dict[str, float]:
    """Shares in the order found, against those of the population in that order."""
    rng = rng_of(mixture.name, trial)
    x = wrong_table(mixture.n, rng)
    z = rng.normal(size=mixture.n)
    thetas = [part.theta(x, rng) for part in mixture.parts]
    sd = np.ones(mixture.n)
    bias = np.zeros(mixture.n)
    for part, theta in zip(mixture.parts, thetas, strict=True):
        if part.error == "spread":
            sd = sd * np.exp(theta)
        else:
            bias = bias + theta
    report = checked(x, bias + sd * z, trial)
    matched = [
        next((k for k, part in enumerate(mixture.parts) if part.is_cause(one)), -1)
        for one in report.effects
    ]
    order = list(dict.fromkeys(k for k in matched if k >= 0))
    right = sorted(order) == [0, 1]
    difference = 1.0
    if right:
        gains = expected_gains(mixture, thetas, bias, sd, order)
        share = next(
            one.share
            for one, k in zip(report.effects, matched, strict=True)
            if k == order[0]
        )
        difference = share - gains[0] / sum(gains)
    return {"right": float(right), "difference": difference}


def expected_gains(
    mixture: Mixture, thetas: list[Any], bias: Any, sd: Any, order: list[int]
) -> list[float]:
    """Return the population's gains of corrections in the order in which they are made.

    A correction is the best of its kind that depends on its columns, given those before:
    the bias that is left adds to the squares that a spread sees.
    """
    gains = []
    left_bias = bias.copy()
    left_sd = sd.copy()
    scale = np.ones(len(sd))
    for k in order:
        part = mixture.parts[k]
        if part.error == "bias":
            # What a spread that was corrected before has scaled; it does not depend on the
            # columns of this bias.
            theta = thetas[k] * scale.mean()
            gains.append(population_gain(part, theta, left_sd))
            left_bias = left_bias - theta
            continue
        squares = left_sd**2 + left_bias**2
        if part.shape == "everywhere":
            squares = np.full(len(squares), squares.mean())
            theta = 0.5 * np.log(squares)
        else:
            theta = thetas[k] + 0.5 * np.log((squares / np.exp(2.0 * thetas[k])).mean())
        gains.append(population_gain(part, theta, np.sqrt(squares)))
        left_sd = left_sd * np.exp(-theta)
        left_bias = left_bias * np.exp(-theta)
        scale = scale * np.exp(-theta)
    return gains


#: The largest mean difference of shares.
SHARE_ERROR = 0.1


def show_mixture(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| what is wrong | both are found | share of the first less that expected |",
        "|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        right = [one["difference"] for one in trials if one["right"]]
        rate = len(right) / len(trials)
        mean = float(np.mean(right)) if right else np.nan
        lines.append(f"| {name} | {rate:.3f} | {mean:+.3f} |")
        if rate < CAUSE_RATE:
            failures.append(f"effects.mixture: {name}: both in {rate:.3f}")
        if not abs(mean) <= SHARE_ERROR:
            failures.append(f"effects.mixture: {name}: shares off by {mean:+.3f}")
    return "\n".join(lines), failures


# Promised and realised gains.


def gain_trial(wrong: Wrong, trial: int) -> dict[str, float]:
    """The gain promised by folds, and that of the same effects on as many new rows."""
    rng = rng_of("gain " + wrong.name, trial)
    n = wrong.n
    x = wrong_table(2 * n, rng)
    z = scores_of((wrong,), x, rng)
    sample = Sample.from_data(x, z)
    axes = axes_of(sample.x_columns, sample.x)
    both = make_state(axes, NormalTilt.from_scores(z, "y"), None)
    rows = np.arange(n)
    null = NullOfStages(rows=rows, n=n, count=199, draws=ModelDraws(Seed.of(trial)))
    analysis = analyse_state(
        axes, both.take(rows), null, keys=sample.content_keys[:n], alpha=ALPHA
    )
    new = both.take(np.arange(n, 2 * n))
    realised = apply_stages(new.cells, new.tilt, analysis.stages).log_ratio.mean()
    held_out = analysis.held_out
    promised = 0.0 if held_out is None else float(held_out.gains.mean())
    return {"promised": promised, "realised": float(realised)}


#: Weak, where the choice among candidates makes gains look larger, and strong.
GAINS = tuple(
    Wrong(error, shape, times=times)
    for error in ("bias", "spread")
    for shape in ("letter", "category of 30", "trend", "pair")
    for times in (0.5, 2.0)
)
#: Between which Σ promised over Σ realised must be.
PROMISE = (0.85, 1.15)


def show_gain(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| what is wrong | promised, nats a row | realised | ratio |",
        "|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        promised = float(np.mean([one["promised"] for one in trials]))
        realised = float(np.mean([one["realised"] for one in trials]))
        ratio = f"{promised / realised:.2f}" if realised > 0 else ""
        lines.append(f"| {name} | {promised:.4f} | {realised:.4f} | {ratio} |")
    every = [one for trials in rows.values() for one in trials]
    total = sum(one["promised"] for one in every) / sum(one["realised"] for one in every)
    lines.append(f"| all together | | | {total:.2f} |")
    if not PROMISE[0] <= total <= PROMISE[1]:
        failures.append(f"effects.gain: promised {total:.2f} of realised")
    return "\n".join(lines), failures


EFFECT_CHECKS = {
    "effects.level": CheckClaim(
        f"Effects of true models: named in {LEVEL_TRIALS:,} samples",
        "At α = 0.05. No more than 5% may have any effect or slice.",
        {model.name: (partial(level_trial, model), LEVEL_TRIALS) for model in TRUE_MODELS},
        show_level,
    ),
    "effects.second": CheckClaim(
        f"Second effects of models that are wrong in one way, in {WRONG_TRIALS} samples",
        "The known effect is three times as large as one that is found nearly always. A\n"
        "second one may be named in 5%.",
        {wrong.name: (partial(second_trial, wrong), WRONG_TRIALS) for wrong in SECONDS},
        show_second,
    ),
    "effects.cause": CheckClaim(
        f"The cause is found: rates in {WRONG_TRIALS} samples",
        "At a size where a test of this effect alone has power 0.99 at 0.05 divided by\n"
        f"{CANDIDATES}, about the number of candidates. In 0.9 of the samples the first\n"
        "effect has the right kind and columns, and is the same with one row at 30 sd.",
        {wrong.name: (partial(cause_trial, wrong), WRONG_TRIALS) for wrong in CAUSES},
        show_cause,
    ),
    "effects.mixture": CheckClaim(
        f"Two errors at once: shares of the gain in {WRONG_TRIALS} samples",
        "Shares are within 0.1, on average, of the population's gains in the order found.",
        {one.name: (partial(mixture_trial, one), WRONG_TRIALS) for one in MIXTURES},
        show_mixture,
    ),
    "effects.gain": CheckClaim(
        f"Gains on rows held out, and on new rows, in {WRONG_TRIALS} samples",
        "Σ promised over Σ realised, of all together, is between 0.85 and 1.15. Errors\n"
        "are 0.5 or 2 times as large (in noncentrality) as one found nearly always.",
        {
            f"{wrong.name}, {wrong.times:g}": (partial(gain_trial, wrong), WRONG_TRIALS)
            for wrong in GAINS
        },
        show_gain,
    ),
}
