"""Levels where rows share an error of estimation: posterior draws, folds, shrunk fits."""

from __future__ import annotations

from functools import partial

import numpy as np

import condgof as cg
from checks import FAST, CheckClaim
from condgof.errors import UnsupportedModelError
from condgof.models import Model, Normal
from report import level_table

TRIALS = 300
DRAWS = 99
REFITS = 99
PENALTY = 20.0


def posterior_draws(rng, *, train, columns, n=200):
    """A linear model after some training rows: x, y, and draws that share parameters."""
    design = np.column_stack([np.ones(train), rng.standard_normal((train, columns))])
    slopes = np.full(columns + 1, 0.5)
    y = design @ slopes + rng.standard_normal(train)
    estimate = np.linalg.lstsq(design, y, rcond=None)[0]
    degrees = train - columns - 1
    scale = np.linalg.norm(y - design @ estimate) / np.sqrt(rng.chisquare(degrees, DRAWS))
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    theta = estimate[:, None] + root @ rng.standard_normal((columns + 1, DRAWS)) * scale
    x = rng.standard_normal((n, columns))
    new = np.column_stack([np.ones(n), x])
    draws = new @ theta + scale * rng.standard_normal((n, DRAWS))
    return x, new @ slopes + rng.standard_normal(n), draws


def common_noise(rng, n=200):
    """Draws with one noise vector for all rows, and independent rows of y."""
    x = rng.standard_normal((n, 2))
    return x, x[:, 0] + rng.standard_normal(n), x[:, :1] + rng.standard_normal(DRAWS)


def independent_rows(rng, n=200):
    x = rng.standard_normal((n, 2))
    draws = x[:, :1] + rng.standard_normal((n, DRAWS))
    return x, x[:, 0] + rng.standard_normal(n), draws


DRAWN = {
    "posterior of 5 columns, 50 rows": partial(posterior_draws, train=50, columns=5),
    "posterior of a line, 300 rows": partial(posterior_draws, train=300, columns=1),
    "one noise vector for all rows": common_noise,
    "independent rows": independent_rows,
}


def draws_trial(name, test, trial):
    rng = np.random.default_rng([trial, *name.encode()])
    x, y, draws = DRAWN[name](rng)
    result = getattr(cg, test)(cg.from_draws(draws), x, y, rng=trial, **FAST)
    return {"pvalue": result.pvalue}


def lines(n, columns, trial, slope=0.5):
    rng = np.random.default_rng([trial, n, columns])
    x = rng.standard_normal((n, columns))
    return x, slope * x.sum(axis=1) + rng.standard_normal(n)


def refits_trial(n, columns, trial):
    x, y = lines(n, columns, trial)
    law = cg.crossfit(cg.fits.ols(), x, y, rng=trial, refits=REFITS)
    return {"pvalue": cg.adaptive(law, x, y, rng=trial, **FAST).pvalue}


def inside_trial(n, columns, trial):
    """A sample whose verdict is not refused: others are drawn until there is one."""
    for number in range(1000):
        x, y = lines(n, columns, 1000 * trial + number)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=trial)
        try:
            result = cg.adaptive(law, x, y, rng=trial, **FAST)
        except UnsupportedModelError:
            continue
        return {"pvalue": result.pvalue, "refused": float(number)}
    raise RuntimeError("every sample was refused")


def ridge(x, y):
    """Ridge regression, whose residual standard deviation holds its bias."""
    centre = x.mean(axis=0)
    inner = (x - centre).T @ (x - centre) + PENALTY * np.eye(x.shape[1])
    slopes = np.linalg.solve(inner, (x - centre).T @ (y - y.mean()))
    residuals = y - y.mean() - (x - centre) @ slopes
    std = np.linalg.norm(residuals) / np.sqrt(len(y) - x.shape[1] - 1)
    return Model(
        lambda new: Normal(
            mean=y.mean() + (new - centre) @ slopes, std=np.full(len(new), std)
        )
    )


def ridge_trial(n, columns, slope, trial):
    x, y = lines(n, columns, trial, slope)
    result = cg.composite(
        ridge,
        x,
        y,
        statistic="adaptive",
        n_boot=99,
        rng=trial,
        engine=1,
        progress=False,
    )
    return {"pvalue": result.pvalue}


INSIDE = {
    f"p = {columns + 1}, n = {n} @ crossfit": (partial(inside_trial, n, columns), TRIALS)
    for n, columns in ((25, 1), (40, 2), (100, 6), (300, 18))
}

SHARED_ERROR_CHECKS = {
    "shared.draws": CheckClaim(
        f"Level with draws that share parameters, {TRIALS} samples of 200 rows",
        f"{DRAWS} draws of true models at α = 0.05 and 0.01, within binomial bounds.",
        {
            f"{name} @ {test}": (partial(draws_trial, name, test), TRIALS)
            for name in DRAWN
            for test in ("adaptive", "check")
        },
        level_table,
    ),
    "shared.refits": CheckClaim(
        f"Level of `crossfit` with {REFITS} refits, {TRIALS} samples of lines",
        "Least squares at α = 0.05 and 0.01, within binomial bounds.",
        {
            f"p = {columns + 1}, n = {n} @ crossfit": (
                partial(refits_trial, n, columns),
                TRIALS,
            )
            for n, columns in ((25, 2), (40, 10), (300, 40))
        },
        level_table,
    ),
    "shared.inside": CheckClaim(
        f"Level of `crossfit` just inside its limit, {TRIALS} samples of lines",
        "Samples that are refused are drawn again. Rejections may be too few, as the"
        " docstring says, and not too many.",
        INSIDE,
        partial(level_table, below=INSIDE),
    ),
    "shared.ridge": CheckClaim(
        f"Level of `composite` with ridge regression, {TRIALS} samples of lines",
        f"λ = {PENALTY:g} at α = 0.05 and 0.01, within binomial bounds.",
        {
            "5 columns, n = 60, slopes 2 @ composite": (
                partial(ridge_trial, 60, 5, 2.0),
                TRIALS,
            ),
            "10 columns, n = 100, slopes 1 @ composite": (
                partial(ridge_trial, 100, 10, 1.0),
                TRIALS,
            ),
        },
        level_table,
    ),
}
