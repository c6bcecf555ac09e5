"""The claims about `composite`: its level where the family is true, beside the test that takes the
fitted model for the truth, and its power.

A trial fits the family on its own sample; what a problem calls its model is not looked at.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import condgof as cg
from condgof.study import PROBLEMS, Problem, Study
from report import bounds
from studies import Claim

N_BOOT = 99


def refitted(model, x, y, *, fit, statistic, n_boot=N_BOOT, rng, engine):
    return cg.composite(
        fit, x, y, statistic=statistic, n_boot=n_boot, rng=rng, engine=engine, progress=False
    )


def naive(model, x, y, *, fit, statistic, rng, engine):
    """Test the fitted model on its own training rows, as if it were given."""
    return getattr(cg, statistic)(fit(x, y), x, y, rng=rng, engine=engine, n_boot=500)


def _problem(name, title, r):
    return Problem(name, title, r, r, lambda n, rng: rng.standard_normal((n, 2)), 2, 1, True)


LINE = _problem(
    "true-line",
    "Linear, constant variance",
    cg.models.Normal(mean=lambda x: 1.0 + x[:, 0] - 0.5 * x[:, 1], std=1.5),
)
SPREAD = _problem(
    "true-loglinear",
    "Linear, log-linear variance",
    cg.models.Normal(mean=lambda x: 1.0 + x[:, 0], std=lambda x: np.exp(0.3 + 0.4 * x[:, 0])),
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
                        failures.append(f"{method}, {topic.name}, n = {n}: {count} at {alpha}")
                if method.startswith("naive") and counts[0] >= bounds(len(pvalues), 0.05)[0]:
                    failures.append(f"{method}, {topic.name}, n = {n}: {counts[0]}, not conservative")
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
    f"1,000 samples, {N_BOOT} refits each; `composite` must be inside the exact binomial bounds, "
    "25 to 79 at α = 0.05 and 1 to 24\nat α = 0.01. `naive` tests the fitted model on its own training "
    "rows as if it were given, and must be below\nthem at 0.05."
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
        "100 samples, 199 refits each. `composite(adaptive)`, the default, must be above 0.7.",
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
