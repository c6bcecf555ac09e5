"""`compare` and `rank`: level for equally good wrong models, power beside a t test.

Pairs are equally good by symmetry, or (a wrong spread) because their expected scores are
made equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, ttest_1samp

import condgof as cg
from condgof.laws import score

Normal = cg.models.Normal
LEVELS = np.array([0.1, 0.5, 0.9])
#: Probabilities of rare events.
RARE = (0.003, 0.01, 0.05)
#: Rows of a group.
GROUP = 6
#: The option dependence= for rows in the order of time.
BLOCK = "auto"


def sample(n, rng):
    return rng.standard_normal((n, 1)), rng.standard_normal(n)


def normals(means, n, std=1.0):
    return [Normal(mean=np.broadcast_to(m, n) + 0.0, std=std)(n=n) for m in means]


def shifts(n, rng):
    """Means too high and too low."""
    x, y = sample(n, rng)
    return (*normals((0.3, -0.3), n), x, y, {})


def draws(n, rng):
    """The same, 20 draws of one model and 60 of the other."""
    _, _, x, y, _ = shifts(n, rng)
    made = [cg.from_draws(rng.normal(d, 1.0, (n, m))) for d, m in ((0.3, 20), (-0.3, 60))]
    return (*made, x, y, {})


def quantiles(n, rng):
    p, q, x, y, _ = shifts(n, rng)
    return *(cg.from_quantiles(law.quantile(LEVELS), LEVELS) for law in (p, q)), x, y, {}


def intervals(n, rng):
    p, q, x, y, _ = shifts(n, rng)
    ends = [law.quantile([0.1, 0.9]).T for law in (p, q)]
    return *(cg.from_intervals(*end, 0.8) for end in ends), x, y, {}


def classes(n, rng):
    """Two classes, too sure on the right and on the left."""
    x = rng.standard_normal((n, 1))
    tilt = 0.6 * x[:, 0]
    made = [cg.probabilities(1 / (1 + np.exp(-s * tilt))) for s in (1.0, -1.0)]
    return *made, x, rng.integers(0, 2, n), {}


def counts(n, rng):
    """Successes of ten trials, too many on the right and on the left."""
    x = rng.standard_normal((n, 1))

    def law(slope):
        return cg.models.Binomial(
            trials=10, p=lambda x: 1 / (1 + np.exp(-slope * x[:, 0]))
        )(x)

    return law(0.25), law(-0.25), x, rng.binomial(10, 0.5, n), {}


@cache
def as_good_event(rate: float, p: float) -> float:
    """Return the probability above `rate` with the expected log score of p."""

    def gain(q):
        return rate * np.log(p / q) + (1 - rate) * (np.log1p(-p) - np.log1p(-q))

    return float(brentq(gain, rate, 0.5))


def rare_events(rate, factor):
    def draw(n, rng):
        x = rng.standard_normal((n, 1))
        low = rate * factor
        made = [cg.probabilities(np.full(n, p)) for p in (low, as_good_event(rate, low))]
        return *made, x, (rng.random(n) < rate).astype(int), {}

    draw.__doc__ = f"An event of probability {rate}, predicted {factor} times as often."
    return draw


@cache
def as_good_as(std: float, key: str) -> float:
    """Return the sd above 1 with the mean score of N(0, std²), where N(0, 1) is true."""
    z, w = np.polynomial.hermite_e.hermegauss(120)

    def mean(s):
        return float(w @ score(Normal(np.zeros(120), s), z, key)) / w.sum()

    return float(brentq(lambda s: mean(s) - mean(std), 1.05, 30.0))


def spread(key):
    def draw(n, rng):
        x, y = sample(n, rng)
        return (
            Normal(np.zeros(n), 0.6),
            Normal(np.zeros(n), as_good_as(0.6, key)),
            x,
            y,
            {"measure": key},
        )

    draw.__doc__ = (
        f"A spread too narrow and one too wide, equally good by {key}: skewed differences."
    )
    return draw


def heavy_slopes(n, rng):
    """Slopes on |N|³, too steep and too flat."""
    x = np.abs(rng.standard_normal((n, 1))) ** 3
    y = 0.1 * x[:, 0] + rng.standard_normal(n)
    return (*normals((0.2 * x[:, 0], 0.0), n), x, y, {})


def groups(n, rng):
    """Errors that rows of a group share, and a tilt that they share, too."""
    code = np.arange(n) // GROUP
    common = rng.standard_normal((2, n // GROUP + 1))[:, code]
    x = common[0][:, None]
    y = 0.7 * common[1] + 0.7 * rng.standard_normal(n)
    return (*normals((0.3 * x[:, 0], -0.3 * x[:, 0]), n), x, y, {"groups": code})


def ar1(n, rng):
    """Errors and a covariate that follow AR(1), each with correlation 0.6."""
    e = rng.standard_normal((n + 100, 2))
    for i in range(1, len(e)):
        e[i] = 0.6 * e[i - 1] + 0.8 * e[i]
    x = e[100:, :1]
    y = e[100:, 1]
    return (*normals((0.3 * x[:, 0], -0.3 * x[:, 0]), n), x, y, {"dependence": BLOCK})


def unnormalised(n, rng):
    """Scores alone, by the Stein discrepancy."""
    x, y = sample(n, rng)
    return cg.from_scores(0.3 - y), cg.from_scores(-0.3 - y), x, y, {}


def identical(n, rng):
    """A model against itself."""
    x, y = sample(n, rng)
    return (*normals((0.2, 0.2), n), x, y, {})


def better(n, rng):
    """The truth against a slope that is a little too flat."""
    x = rng.standard_normal((n, 1))
    return (*normals((x[:, 0], 0.75 * x[:, 0]), n), x, x[:, 0] + rng.standard_normal(n), {})


def wide(n, rng):
    """The truth against a spread too wide."""
    x, y = sample(n, rng)
    return Normal(np.zeros(n), 1.0), Normal(np.zeros(n), 1.4), x, y, {}


CASES: dict[str, Callable[..., Any]] = {
    "shifts": shifts,
    "draws": draws,
    "quantiles": quantiles,
    "intervals": intervals,
    "classes": classes,
    "counts": counts,
    "spread-log": spread("log"),
    "spread-crps": spread("crps"),
    "heavy-slopes": heavy_slopes,
    "groups": groups,
    "ar1": ar1,
    "unnormalised": unnormalised,
    "identical": identical,
    "better": better,
    "wide": wide,
    **{f"rare-{rate}": rare_events(rate, 0.5) for rate in RARE},
    **{f"rarer-{rate}": rare_events(rate, 0.05) for rate in RARE},
}


@dataclass(frozen=True)
class CompareCell:
    """One comparison at one size, by one measure, or a ranking of `models` > 0 models."""

    case: str
    n: int
    claim: str
    measure: str = "auto"
    models: int = 0
    trials: int = 1000

    kind = "compare"

    @property
    def name(self) -> str:
        ranked = f".rank{self.models}" if self.models else ""
        return f"compare.{self.case}.{self.n}.{self.measure}{ranked}"

    def pvalue(self, trial: int) -> float:
        """Run one trial: the sample depends on the case, size and trial only."""
        rng = np.random.default_rng([trial, self.n, *self.case.encode()])
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        if self.models:
            x, y = sample(self.n, rng)
            angle = 2 * np.pi * np.arange(self.models) / self.models
            means = [0.4 * np.cos(a + 2 * np.pi * norm.cdf(x[:, 0])) for a in angle]
            given = {str(k): law for k, law in enumerate(normals(means, self.n))}
            return min(
                pair.pvalue
                for pair in cg.rank(given, x, y, rng=trial, engine=1, n_boot=999).pairs
            )
        p, q, x, y, options = CASES[self.case](self.n, rng)
        options = {"measure": self.measure, **options}
        result = cg.compare(p, q, x, y, rng=trial, engine=1, **options)
        if self.claim != "t-test":
            return result.pvalue
        key = result.measure
        return float(ttest_1samp(score(p, y, key) - score(q, y, key), 0.0).pvalue)


def compare_cells() -> list[CompareCell]:
    by = {
        "shifts": ("log", "crps"), "draws": ("crps",), "quantiles": ("pinball",),
        "intervals": ("winkler",), "classes": ("log", "brier"), "counts": ("log", "crps"),
        "spread-log": ("log",), "spread-crps": ("crps",), "groups": ("log", "crps"),
        "ar1": ("log", "crps"),
    }  # fmt: skip
    level = [
        CompareCell(
            case, n, "inside" if case in ("shifts", "classes", "counts") else "below", key
        )
        for case, keys in by.items()
        for key in keys
        for n in (60, 100, 300, 1000)
    ]
    level += [CompareCell("heavy-slopes", n, "below", "log") for n in (60, 100, 300)]
    level += [CompareCell("unnormalised", n, "inside", "stein") for n in (100, 300)]
    level += [
        CompareCell(f"{kind}-{rate}", n, "below", "log")
        for kind in ("rare", "rarer")
        for rate in RARE
        for n in (100, 1000)
    ]
    level += [CompareCell("identical", 100, "one")]
    level += [
        CompareCell("circle", n, "below", models=k) for k in (2, 4, 8) for n in (100, 300)
    ]
    power = [
        CompareCell(case, n, claim, key, trials=300)
        for case, claim in (("better", "power"), ("wide", "shown"))
        for n in (60, 100, 200)
        for key in ("log", "crps")
    ]
    return level + power


def compare_lines(
    cells: list[CompareCell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    """One row a cell; claims that fail are added to `failures`."""
    from report import bounds

    low, high = bounds(1000, 0.05)
    lines = [
        "## compare and rank: rejections at α = 0.05",
        "",
        (
            f"`inside`: two wrong models that are equally good, {low} to {high} of 1,000;"
            " `below`: at most"
        ),
        (
            f"{high}, where differences are skewed, heavy-tailed or dependent, or any of"
            " all pairs of a"
        ),
        (
            "ranking counts. `one`: a model against itself, every p-value 1. `power`: the"
            " truth is one of"
        ),
        (
            "the two; beside it, a paired t test of the same scores (`shown`: where"
            " differences are"
        ),
        "skewed, that test does not hold its level).",
        "",
        "| case | n | measure | models | trials | rejections | paired t test | claim |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        values = results[cell.name]
        count = sum(p <= 0.05 for p in values.values())
        beside = ""
        if cell.claim in ("power", "shown"):
            plain = CompareCell(
                cell.case, cell.n, "t-test", cell.measure, trials=cell.trials
            )
            beside = str(sum(plain.pvalue(trial) <= 0.05 for trial in values))
        ok = {
            "inside": low <= count <= high,
            "below": count <= high,
            "one": all(p == 1 for p in values.values()),
            "power": not beside or count >= int(beside) - 0.02 * cell.trials,
            # Skewed differences: Student's t rejects too often on this side, so that it is
            # no yardstick.
            "shown": True,
        }[cell.claim]
        if not ok:
            failures.append(f"{cell.name}: {count} rejections")
        mark = "" if ok else " *"
        lines.append(
            f"| {cell.case} | {cell.n} | {cell.measure} | {cell.models or 2} |"
            f" {cell.trials} | {count}{mark} | {beside} | {cell.claim} |"
        )
    return [*lines, ""]
