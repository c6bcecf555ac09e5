"""Fitted models with one known fault, textbook tests of them, and condgof's.

A textbook test sees the fit to all rows. `check` sees a fit to the first half of the rows
and tests it on the other; `composite` fits all rows, and again to each resampled y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import lifelines
import numpy as np
import pandas as pd
import statsmodels.api as sm
from lifelines.statistics import proportional_hazard_test
from scipy.stats import chi2, norm
from statsmodels.stats.diagnostic import het_breuschpagan, linear_reset

import condgof as cg
from rivals.design import Rng, Sample

#: Groups of predicted probability in Hosmer and Lemeshow's test.
TENTHS = 10
#: Draws of the null of `check`, and refits of `composite`.
DRAWS = 199
REFITS = 99


class Rows(NamedTuple):
    """All rows of a problem, and the family that is fitted to them."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    family: object  # of statsmodels, or None for ordinary least squares
    textbook: Callable[[Rows], float]  # the test that was made for the fault
    event: np.ndarray | None = None  # (n,): of times


def design(x: np.ndarray) -> np.ndarray:
    return sm.add_constant(x, has_constant="add")


def fitted_family(rows: Rows) -> object:
    """Return the statsmodels fit to all rows."""
    if rows.family is None:
        return sm.OLS(rows.y, design(rows.x)).fit()
    return sm.GLM(rows.y, design(rows.x), family=rows.family).fit()


def held_out(rows: Rows) -> Sample:
    """Return the law of the second half of the rows, by a fit to the first."""
    half = len(rows.y) // 2
    fit = fitted_family(rows._replace(x=rows.x[:half], y=rows.y[:half]))
    mean = fit.predict(design(rows.x[half:]))
    if rows.family is None:
        law = cg.normal(mean=mean, std=np.full(len(mean), np.sqrt(fit.scale)))
    elif isinstance(rows.family, sm.families.Binomial):
        law = cg.probabilities(np.column_stack([1.0 - mean, mean]))
    else:
        law = cg.models.Poisson(mean)
    return Sample(law, rows.x[half:], rows.y[half:], rows)


def line_with_spread(rng: Rng, *, n: int, growth: float) -> Sample:
    """A line whose residual SD is exp(growth·x₁); the model has one SD."""
    x = rng.normal(size=(n, 3))
    noise = np.exp(growth * x[:, 0]) * rng.normal(size=n)
    return held_out(Rows(x, 1.0 + x.sum(axis=1) + noise, None, breusch_pagan))


def missing_square(rng: Rng, *, n: int, square: float) -> Sample:
    """A line where the mean has square·x₁² as well."""
    x = rng.normal(size=(n, 3))
    mean = x.sum(axis=1) + square * np.square(x[:, 0])
    return held_out(Rows(x, mean + rng.normal(size=n), None, reset))


def logistic_square(rng: Rng, *, n: int, square: float) -> Sample:
    """A logistic regression where the logit has square·x₁² as well."""
    x = rng.normal(size=(n, 3))
    logit = 0.7 * x[:, 0] + 0.5 * x[:, 1] + square * (np.square(x[:, 0]) - 1.0)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(float)
    return held_out(Rows(x, y, sm.families.Binomial(), hosmer_lemeshow))


def overdispersed(rng: Rng, *, n: int, alpha: float) -> Sample:
    """A Poisson regression of counts whose variance is μ + alpha·μ²."""
    x = rng.normal(size=(n, 3))
    mean = np.exp(0.5 + 0.4 * x[:, 0])
    if alpha:
        mean = mean * rng.gamma(1.0 / alpha, alpha, n)
    y = rng.poisson(mean).astype(float)
    return held_out(Rows(x, y, sm.families.Poisson(), dispersion_score))


def inflated(rng: Rng, *, n: int, share: float) -> Sample:
    """A Poisson regression of counts of which a share are zeros of another kind."""
    x = rng.normal(size=(n, 3))
    mean = np.exp(0.5 + 0.4 * x[:, 0]) / (1.0 - share)
    y = np.where(rng.random(n) < share, 0, rng.poisson(mean)).astype(float)
    return held_out(Rows(x, y, sm.families.Poisson(), zeros_score))


def changing_hazard(rng: Rng, *, n: int, change: float) -> Sample:
    """A Cox model of a treatment whose log hazard ratio is 0.5 + change before t = 1.

    After it, the log hazard ratio is 0.5 − change. A third of the times are censored.
    """
    x = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n)]).astype(float)
    early = np.exp(0.4 * x[:, 1] + (0.5 + change) * x[:, 0])
    late = np.exp(0.4 * x[:, 1] + (0.5 - change) * x[:, 0])
    hazard = rng.exponential(size=n)
    time = np.where(hazard < early, hazard / early, 1.0 + (hazard - early) / late)
    censored_at = rng.exponential(2.0, n)
    event = time <= censored_at
    rows = Rows(x, np.minimum(time, censored_at), None, schoenfeld, event)
    half = n // 2
    model = lifelines.CoxPHFitter().fit(survival_frame(rows)[:half], "time", "event")
    frame = pd.DataFrame({"treated": x[half:, 0], "age": x[half:, 1]})
    return Sample(model, frame, rows.y[half:], rows)


def survival_frame(rows: Rows) -> pd.DataFrame:
    columns = {"treated": rows.x[:, 0], "age": rows.x[:, 1]}
    return pd.DataFrame(columns | {"time": rows.y, "event": rows.event})


# Textbook tests of the fit to all rows


def breusch_pagan(rows: Rows) -> float:
    fit = fitted_family(rows)
    return float(het_breuschpagan(fit.resid, fit.model.exog)[1])


def reset(rows: Rows) -> float:
    fit = fitted_family(rows)
    return float(linear_reset(fit, power=3, use_f=True).pvalue)


def hosmer_lemeshow(rows: Rows) -> float:
    """χ² of events in tenths of the predicted probability, with 8 degrees of freedom."""
    p = fitted_family(rows).fittedvalues
    tenth = np.searchsorted(np.quantile(p, np.arange(1, TENTHS) / TENTHS), p)
    count = np.bincount(tenth, minlength=TENTHS)
    expected = np.bincount(tenth, p, TENTHS)
    observed = np.bincount(tenth, rows.y, TENTHS)
    variance = expected * (1.0 - expected / count)
    return float(chi2.sf((np.square(observed - expected) / variance).sum(), TENTHS - 2))


def dispersion_score(rows: Rows) -> float:
    """Score test of a Poisson regression against a variance of μ + α μ², two-sided."""
    mean = fitted_family(rows).fittedvalues
    score = (np.square(rows.y - mean) - rows.y).sum()
    return float(2.0 * norm.sf(abs(score) / np.sqrt(2.0 * np.square(mean).sum())))


def zeros_score(rows: Rows) -> float:
    """Score test of a Poisson regression against a share of zeros of another kind."""
    mean = fitted_family(rows).fittedvalues
    none = np.exp(-mean)
    score = ((rows.y == 0) / none - 1.0).sum()
    exog = design(rows.x)
    information = ((1.0 - none) / none).sum()
    fisher = exog.T @ (mean[:, None] * exog)
    shared = exog.T @ mean
    variance = information - shared @ np.linalg.solve(fisher, shared)
    return float(2.0 * norm.sf(abs(score) / np.sqrt(variance)))


def schoenfeld(rows: Rows) -> float:
    """Grambsch and Therneau's test of both columns, Bonferroni."""
    frame = survival_frame(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lifelines.CoxPHFitter().fit(frame, "time", "event")
        result = proportional_hazard_test(model, frame, time_transform="rank")
    return float(min(1.0, 2.0 * result.p_value.min()))


def textbook_test(sample: Sample, rng: Rng) -> float:
    """Run the test that was made for the fault of the problem."""
    return sample.fitted.textbook(sample.fitted)


# condgof's


def check_held_out(sample: Sample, rng: Rng) -> float:
    """`check` of the half of the rows that the model was not fitted to."""
    rows = sample.fitted
    half = len(rows.y) // 2
    report = cg.check(
        sample.law,
        sample.x,
        sample.y,
        event=None if rows.event is None else rows.event[half:],
        n_boot=DRAWS,
        rng=int(rng.integers(2**31)),
        engine=1,
    )
    return float(report.pvalue)


def composite(sample: Sample, rng: Rng) -> float:
    """`composite` of the fit to all rows, by refits to resampled y."""
    rows = sample.fitted
    fit = cg.fits.ols() if rows.family is None else cg.fits.glm(rows.family)
    result = cg.composite(
        fit,
        rows.x,
        rows.y,
        statistic="adaptive",
        n_boot=REFITS,
        rng=int(rng.integers(2**31)),
        engine=1,
    )
    return float(result.pvalue)
