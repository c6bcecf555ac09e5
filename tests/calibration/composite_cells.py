"""The claims about `composite`: its level where the family is true, and its power.

Beside it stands the test that takes the fitted model for the truth.
A trial fits the family on its own sample; what a problem calls its model is not looked at.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

import condgof as cg
from checks import CheckClaim, at_most
from condgof.study import PROBLEMS, Problem, Study
from report import bounds
from studies import Claim

N_BOOT = 99


def refitted(model, x, y, *, fit, statistic, n_boot=N_BOOT, rng, engine):
    return cg.composite(
        fit,
        x,
        y,
        statistic=statistic,
        n_boot=n_boot,
        rng=rng,
        engine=engine,
        progress=False,
    )


def naive(model, x, y, *, fit, statistic, rng, engine):
    """Test the fitted model on its own training rows, as if it were given."""
    return getattr(cg, statistic)(fit(x, y), x, y, rng=rng, engine=engine, n_boot=500)


def _problem(name, title, r):
    return Problem(
        name, title, r, r, lambda n, rng: rng.standard_normal((n, 2)), 2, 1, True
    )


LINE = _problem(
    "true-line",
    "Linear, constant variance",
    cg.models.Normal(mean=lambda x: 1.0 + x[:, 0] - 0.5 * x[:, 1], std=1.5),
)
SPREAD = _problem(
    "true-loglinear",
    "Linear, log-linear variance",
    cg.models.Normal(
        mean=lambda x: 1.0 + x[:, 0], std=lambda x: np.exp(0.3 + 0.4 * x[:, 0])
    ),
)
COUNTS = _problem(
    "true-poisson",
    "Poisson, log-linear mean",
    cg.models.Poisson(mean=lambda x: np.exp(0.7 + 0.5 * x[:, 0] - 0.3 * x[:, 1])),
)


def methods(fit, statistics=("adaptive",)):
    kinds = {"composite({})": refitted, "naive {}": naive}
    return {
        name.format(statistic): partial(test, fit=fit, statistic=statistic)
        for name, test in kinds.items()
        for statistic in statistics
    }


def check_level(study: Study) -> tuple[str, list[str]]:
    """`composite` inside the exact binomial bounds; the naive test below them."""
    lines = ["| model | n | test | at 0.05 | at 0.01 |", "|---|---|---|---|---|"]
    failures = []
    for topic in study.topics:
        for n in study.sizes[topic.name]:
            for method in study.methods:
                pvalues = study.pvalues(topic.name, n, method)
                counts = [int((pvalues <= alpha).sum()) for alpha in (0.05, 0.01)]
                shown = []
                for alpha, count in zip((0.05, 0.01), counts, strict=True):
                    low, high = bounds(len(pvalues), alpha)
                    outside = not low <= count <= high
                    shown.append(f"{count}{'*' if outside else ''}")
                    if method.startswith("composite") and outside:
                        failures.append(
                            f"{method}, {topic.name}, n = {n}: {count} at {alpha}"
                        )
                if (
                    method.startswith("naive")
                    and counts[0] >= bounds(len(pvalues), 0.05)[0]
                ):
                    failures.append(
                        f"{method}, {topic.name}, n = {n}: {counts[0]}, not conservative"
                    )
                lines.append(f"| {topic.title} | {n} | {method} | {' | '.join(shown)} |")
    return "\n".join(lines), failures


def check_power(study: Study) -> tuple[str, list[str]]:
    """`composite` finds QGM's curvature more than 0.7 of the time."""
    from scipy.stats import binomtest

    lines = ["| problem | n | test | rate | exact 95% interval |", "|---|---|---|---|---|"]
    failures = []
    for method in study.methods:
        rejected = study.pvalues("qgm", 1000, method) <= 0.05
        interval = binomtest(int(rejected.sum()), len(rejected)).proportion_ci(0.95)
        rate = f"{rejected.mean():.3f} | {interval.low:.3f} to {interval.high:.3f}"
        lines.append(f"| qgm | 1000 | {method} | {rate} |")
        if method == "composite(adaptive)" and rejected.mean() <= 0.7:
            failures.append(f"power of {method} on qgm: {rejected.mean():.3f}")
    return "\n".join(lines), failures


TEXT = (
    f"1,000 samples, {N_BOOT} refits each; `composite` must be inside the exact binomial"
    " bounds, 25 to 79 at α = 0.05 and 1 to 24\nat α = 0.01. `naive` tests the fitted"
    " model on its own training rows as if it were given, and must be below\nthem at 0.05."
)
COMPOSITE = {
    "composite.ols": Claim(
        "Level of `composite`: least squares with an estimated variance",
        TEXT,
        (LINE,),
        methods(cg.fits.ols(), ("adaptive", "kcsd")),
        {LINE.name: (100,)},
        1000,
        check_level,
    ),
    "composite.heteroscedastic": Claim(
        "Level of `composite`: a heteroscedastic Gaussian",
        TEXT,
        (SPREAD,),
        methods(cg.fits.heteroscedastic()),
        {SPREAD.name: (150,)},
        1000,
        check_level,
    ),
    "composite.poisson": Claim(
        "Level of `composite`: a Poisson GLM",
        TEXT,
        (COUNTS,),
        methods(cg.fits.glm("poisson")),
        {COUNTS.name: (100,)},
        1000,
        check_level,
    ),
    "composite.power": Claim(
        "Power of `composite`: QGM's curvature against a fitted line, n = 1000",
        "100 samples, 199 refits each. `composite(adaptive)`, the default, must be above"
        " 0.7.",
        (PROBLEMS["qgm"],),
        {
            "composite(adaptive)": partial(
                refitted, fit=cg.fits.ols(), statistic="adaptive", n_boot=199
            ),
            "naive adaptive": partial(naive, fit=cg.fits.ols(), statistic="adaptive"),
        },
        {"qgm": (1000,)},
        100,
        check_power,
    ),
}


# The whole answer: verdict, and whether any slice is named


class Fails:
    """Least squares that fails on about one sample in a hundred, by what y is."""

    def __call__(self, x, y):
        found = cg.fits.ols()(x, y)
        z = (np.asarray(y) - found(x).mean_std()[0][:, 0]) / np.std(y)
        if np.abs(z).max() * 1e4 % 100 < 1:
            raise ValueError("no convergence")
        return found


#: Fit, and y drawn from a member of its family: from the linear predictor and a random
#: generator.
TRUTHS = {
    "ols": (cg.fits.ols(), lambda eta, rng: eta + 1.5 * rng.standard_normal(len(eta))),
    "heteroscedastic": (
        cg.fits.heteroscedastic(),
        lambda eta, rng: eta + np.exp(0.3 * eta) * rng.standard_normal(len(eta)),
    ),
    "gamma": (
        cg.fits.glm("gamma"),
        lambda eta, rng: np.exp(0.5 * eta) * rng.gamma(2.0, 0.5, len(eta)),
    ),
    "poisson": (
        cg.fits.glm("poisson"),
        lambda eta, rng: rng.poisson(np.exp(0.3 + 0.5 * eta)),
    ),
    "ols that fails": (Fails(), lambda eta, rng: eta + 1.5 * rng.standard_normal(len(eta))),
}


def whole_trial(name, n, trial):
    rng = np.random.default_rng([trial, n, *name.encode()])
    fit, draw = TRUTHS[name]
    while True:  # the claims are about samples on which the fit works
        x = pd.DataFrame(
            {"dose": rng.standard_normal(n), "arm": rng.choice(["new", "old"], n)}
        )
        y = draw(1.0 + x["dose"].to_numpy() - 0.5 * (x["arm"] == "old").to_numpy(), rng)
        try:
            fit(x, y)
            break
        except ValueError:
            continue
    found = cg.composite(fit, x, y, n_boot=N_BOOT, rng=trial, engine=1, progress=False)
    failures = float(found.result.details["failures"])
    return {
        "verdict": found.pvalue,
        "named": float(len(found.slices) > 0),
        "failures": failures,
    }


def show_whole(rows):
    lines = [
        "| fit | verdict at 0.05 | at 0.01 | any slice named |"
        " refits that failed, a trial |",
        "|---|---|---|---|---|",
    ]
    failed = []
    for name, trials in rows.items():
        total = len(trials)
        counts = [sum(t["verdict"] <= alpha for t in trials) for alpha in (0.05, 0.01)]
        named = int(sum(t["named"] for t in trials))
        mean = np.mean([t["failures"] for t in trials])
        lines.append(f"| {name} | {counts[0]} | {counts[1]} | {named} | {mean:.2f} |")
        inside = [
            bounds(total, a)[0] <= c <= bounds(total, a)[1]
            for c, a in zip(counts, (0.05, 0.01), strict=True)
        ]
        if not all(inside) or not at_most(named, total, 0.05):
            failed.append(f"composite.whole: {name}")
    return "\n".join(lines), failed


COMPOSITE_CHECKS = {
    "composite.whole": CheckClaim(
        "Level of `composite` with the whole answer: verdict and slices of true families",
        f"1,000 samples, {N_BOOT} refits each, one number and one level in x. The verdict"
        " must be inside the exact binomial\nbounds, and any slice named in at most 0.05"
        " of the samples. Slices are searched from 50 rows on. One fit\nfails on about one"
        " sample in a hundred.",
        {
            f"{name}, n = {n}": (partial(whole_trial, name, n), 1000)
            for name in TRUTHS
            for n in (25, 100, 400)
        },
        show_whole,
    )
}
