"""Samples of right models, one function for each kind of y."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, log_ndtr, ndtr, ndtri

import condgof as cg
from calibration.design import Data, Rng

PERIOD = 360.0  # of angles: degrees
MODEL_DRAWS = 99  # of each row, where a model is known by draws
SHARED_VARIANCE = 0.3  # of the errors of a group


def mixed_table(n: int, columns: int, rng: Rng) -> pd.DataFrame:
    """Numbers, categories, whole numbers, two values, dates, skewed numbers, in turn."""
    makers = (
        lambda: rng.normal(size=n),
        lambda: rng.choice(list("ABCDEF"), n),
        lambda: rng.integers(18, 70, n),
        lambda: rng.random(n) < 0.3,
        lambda: np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("m8[D]"),
        lambda: rng.lognormal(size=n),
    )
    return pd.DataFrame({f"c{i}": makers[i % len(makers)]() for i in range(columns)})


def first_column(x: pd.DataFrame) -> np.ndarray:
    return x["c0"].to_numpy()


def normal_parts(x: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return a mean and a standard deviation of each row, (n,) each."""
    a = first_column(x)
    return a + x["c2"].to_numpy() / 20.0, np.exp(0.3 * a)


def normal(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    return Data((mean, sd), x, mean + sd * rng.normal(size=n))


def student(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    model = cg.models.StudentT(df=5.0, loc=mean, scale=sd)
    return Data(model, x, mean + sd * rng.standard_t(5.0, size=n))


def several(n: int, columns: int, rng: Rng, d_y: int = 2) -> Data:
    x = mixed_table(n, columns, rng)
    a = first_column(x)[:, None]
    mean = a * np.linspace(-1.0, 1.0, d_y)
    sd = np.exp(0.3 * mean)
    return Data((mean, sd), x, mean + sd * rng.normal(size=(n, d_y)))


def counts(n: int, columns: int, rng: Rng, mean: float = 1.0) -> Data:
    x = mixed_table(n, columns, rng)
    rate = mean * np.exp(0.5 * first_column(x))
    return Data(cg.models.Poisson(mean=rate), x, rng.poisson(rate))


def negative_binomial(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean = 3.0 * np.exp(0.4 * first_column(x))
    y = rng.poisson(rng.gamma(0.5, 2.0 * mean))
    return Data(cg.models.NegativeBinomial(mean=mean, dispersion=2.0), x, y)


def binomial(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    p = expit(0.5 * first_column(x) - 1.0)
    return Data(cg.models.Binomial(trials=5, p=p), x, rng.binomial(5, p))


def draw_classes(p: np.ndarray, rng: Rng) -> np.ndarray:
    """Draw a class of each row from probabilities, (n, K) → (n,)."""
    return (rng.random((len(p), 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


def classes(n: int, columns: int, rng: Rng, count: int = 2) -> Data:
    x = mixed_table(n, columns, rng)
    slopes = np.linspace(-1.0, 1.0, count)
    logits = first_column(x)[:, None] * slopes + 0.3 * np.cos(np.arange(count))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Data(cg.probabilities(p), x, draw_classes(p, rng))


def ordered_classes(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    cdf = expit(np.array([-1.0, 0.0, 1.5]) - first_column(x)[:, None])
    p = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    return Data(cg.probabilities(p, ordered=True), x, draw_classes(p, rng))


def quantiles(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    model = cg.from_quantiles(mean[:, None] + sd[:, None] * ndtri(levels), levels)
    return Data(model, x, mean + sd * rng.normal(size=n))


def intervals(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    half = sd * ndtri(0.95)
    model = cg.from_intervals(mean - half, mean + half, 0.9)
    return Data(model, x, mean + sd * rng.normal(size=n))


def censored(n: int, columns: int, rng: Rng) -> Data:
    """Exponential times, about half of which are censored at random."""
    x = mixed_table(n, columns, rng)
    rate = np.exp(0.4 * first_column(x))
    times = rng.exponential(1.0 / rate)
    until = rng.exponential(1.5, n)
    return Data(
        cg.models.Exponential(rate=rate),
        x,
        np.minimum(times, until),
        {"event": times <= until},
    )


def late_entry(n: int, columns: int, rng: Rng) -> Data:
    """Half of the rows are watched from a later time on; an exponential has no memory."""
    data = censored(n, columns, rng)
    entry = 0.3 * rng.random(n) * (rng.random(n) < 0.5)
    return Data(data.model, data.x, data.y + entry, {**data.options, "entry": entry})


def draws(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    values = mean[:, None] + sd[:, None] * rng.normal(size=(n, MODEL_DRAWS))
    return Data(cg.from_draws(values), x, mean + sd * rng.normal(size=n))


def posterior_draws(n: int, columns: int, rng: Rng, train: int = 50) -> Data:
    """A line after some training rows; the parameters of a draw are shared by all rows."""
    design = np.column_stack([np.ones(train), rng.standard_normal((train, columns))])
    slopes = np.full(columns + 1, 0.5)
    y = design @ slopes + rng.standard_normal(train)
    estimate = np.linalg.lstsq(design, y, rcond=None)[0]
    degrees = train - columns - 1
    sigma = np.linalg.norm(y - design @ estimate) / np.sqrt(
        rng.chisquare(degrees, MODEL_DRAWS)
    )
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    noise = root @ rng.standard_normal((columns + 1, MODEL_DRAWS))
    theta = estimate[:, None] + noise * sigma
    x = rng.standard_normal((n, columns))
    new = np.column_stack([np.ones(n), x])
    values = new @ theta + sigma * rng.standard_normal((n, MODEL_DRAWS))
    return Data(cg.from_draws(values), x, new @ slopes + rng.standard_normal(n))


def common_noise(n: int, columns: int, rng: Rng) -> Data:
    """Draws with one noise vector for all rows; rows of y are independent."""
    x = rng.standard_normal((n, columns))
    values = x[:, :1] + rng.standard_normal(MODEL_DRAWS)
    return Data(cg.from_draws(values), x, x[:, 0] + rng.standard_normal(n))


def scores(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    y = mean + sd * rng.normal(size=n)
    return Data(cg.from_scores(-(y - mean) / sd**2), x, y)


def pits(n: int, columns: int, rng: Rng) -> Data:
    x = mixed_table(n, columns, rng)
    mean, sd = normal_parts(x)
    y = mean + sd * rng.normal(size=n)
    return Data(cg.from_pit(ndtr((y - mean) / sd)), x, y)


def angles(n: int, columns: int, rng: Rng, factor: float = 1.0) -> Data:
    """A direction that turns with one column; the model has `factor` the concentration."""
    x = mixed_table(n, columns, rng)
    mean = np.rad2deg(2.0 * first_column(x))
    concentration = np.exp(1.0 + 0.5 * first_column(x))
    y = np.mod(mean + np.rad2deg(rng.vonmises(0.0, concentration)), PERIOD)
    model = cg.models.VonMises(mean, factor * concentration, period=PERIOD)
    return Data(model, x, y)


# Rows that depend on each other


def autoregressive(n: int, rho: float, rng: Rng) -> np.ndarray:
    """Standard normal errors, AR(1), (n,)."""
    noise = rng.standard_normal(n)
    errors = noise.copy()
    for t in range(1, n):
        errors[t] = rho * errors[t - 1] + np.sqrt(1.0 - rho**2) * noise[t]
    return errors


def normal_series(errors: np.ndarray, rng: Rng) -> Data:
    x = rng.random(len(errors))
    model = (x, np.ones(len(errors)))
    return Data(model, x, x + errors, {"dependence": "auto"})


def ar_normal(n: int, rng: Rng, rho: float = 0.8) -> Data:
    return normal_series(autoregressive(n, rho, rng), rng)


def ar_counts(n: int, rng: Rng) -> Data:
    """Poisson counts of mean 10 with the Gaussian copula of AR(0.8)."""
    y = stats.poisson.ppf(ndtr(autoregressive(n, 0.8, rng)), 10.0)
    model = cg.models.Poisson(mean=np.full(n, 10.0))
    return Data(model, rng.random(n), y, {"dependence": "auto"})


def ar_binary(n: int, rng: Rng) -> Data:
    x = rng.random(n)
    p = 0.2 + 0.4 * x
    y = (ndtr(autoregressive(n, 0.8, rng)) < p).astype(int)
    model = cg.probabilities(np.column_stack([1.0 - p, p]))
    return Data(model, x, y, {"dependence": "auto"})


def ar_quantiles(n: int, rng: Rng) -> Data:
    x = rng.random(n)
    levels = np.arange(1, 20) / 20.0
    model = cg.from_quantiles(x[:, None] + ndtri(levels), levels)
    return Data(model, x, x + autoregressive(n, 0.8, rng), {"dependence": "auto"})


def ar_classes(n: int, rng: Rng) -> Data:
    """Five classes without an order, of a Gaussian copula of AR(0.8)."""
    x = rng.random(n)
    weights = np.exp(np.column_stack([0.5 * k * x for k in range(5)]))
    p = weights / weights.sum(axis=1, keepdims=True)
    uniform = ndtr(autoregressive(n, 0.8, rng))
    y = (uniform[:, None] >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return Data(cg.probabilities(p), x, y, {"dependence": "auto"})


def ar_interval(n: int, rng: Rng) -> Data:
    x = rng.random(n)
    half = ndtri(0.95)
    model = cg.from_intervals(x - half, x + half, 0.9)
    return Data(model, x, x + autoregressive(n, 0.8, rng), {"dependence": "auto"})


def hours_of_days(n: int, rng: Rng) -> Data:
    """Hourly rows that share half of their variance by day, AR(0.5) from day to day."""
    days = autoregressive(-(-n // 24), 0.5, rng)
    errors = np.sqrt(0.5) * np.repeat(days, 24)[:n] + np.sqrt(0.5) * rng.standard_normal(n)
    return normal_series(errors, rng)


def long_memory(n: int, rng: Rng, d: float = 0.4) -> Data:
    """Fractional noise: (1 − B)^d errors = white noise, cut after 2,000 terms."""
    terms = 2000
    weights = np.cumprod(np.r_[1.0, (np.arange(1, terms) - 1.0 + d) / np.arange(1, terms)])
    noise = rng.standard_normal(n + terms - 1)
    errors = np.convolve(noise, weights, mode="valid") / np.linalg.norm(weights)
    return normal_series(errors, rng)


def group_codes(sizes: str, rng: Rng) -> np.ndarray:
    """Return the group of each row in random order; sizes "equal", "giant", "lognormal"."""
    by_name = {
        "equal": np.full(25, 12),
        "giant": np.array([100, *[4] * 24]),
        "lognormal": np.maximum(1, np.exp(1.2 + rng.standard_normal(40)).round()),
    }
    counts = by_name[sizes].astype(int)
    return rng.permutation(np.repeat(np.arange(len(counts)), counts))


def group_errors(codes: np.ndarray, rng: Rng) -> np.ndarray:
    """Standard normal errors with a random effect of the group, (n,)."""
    shared = rng.standard_normal(codes.max() + 1)[codes]
    own = rng.standard_normal(len(codes))
    return np.sqrt(SHARED_VARIANCE) * shared + np.sqrt(1.0 - SHARED_VARIANCE) * own


def grouped(sizes: str, rng: Rng, bias: float = 0.0) -> Data:
    """Two equally good rivals, off to either side; one column is constant in a group."""
    codes = group_codes(sizes, rng)
    n = len(codes)
    x = rng.standard_normal((n, 3))
    x[:, 2] = rng.standard_normal(codes.max() + 1)[codes]
    y = x[:, 0] + bias + group_errors(codes, rng)
    return Data((x[:, 0], np.ones(n)), x, y, {"groups": codes})


def with_weights(data: Data, design: str, rng: Rng) -> Data:
    """Add weights of rows: log-normal ones, or those of a survey with strata."""
    a = first_column(data.x)
    weights = np.exp(rng.standard_normal(len(a)))
    if design == "survey":
        weights = np.where(a > 1.0, 20.0, np.exp(a))  # one stratum was asked too rarely
    return replace(data, options={"weights": weights}, by=data.x["c1"])


def weighted(design: str, n: int, rng: Rng) -> Data:
    return with_weights(normal(n, 3, rng), design, rng)


def weighted_classes(design: str, n: int, rng: Rng) -> Data:
    return with_weights(classes(n, 3, rng), design, rng)


def grouped_rivals(sizes: str, rng: Rng) -> Data:
    """Two models that are off by 0.3 to either side: equally good."""
    data = grouped(sizes, rng)
    mean, sd = data.model
    rivals = {"low": (mean - 0.3, sd)}
    return Data((mean + 0.3, sd), data.x, data.y, data.options, rivals)


def grouped_censored(sizes: str, rng: Rng) -> Data:
    codes = group_codes(sizes, rng)
    n = len(codes)
    x = rng.standard_normal((n, 1))
    rate = np.exp(0.3 * x[:, 0])
    times = -log_ndtr(-group_errors(codes, rng)) / rate
    until = rng.exponential(1.0, n)
    options: dict[str, Any] = {"event": (times <= until).astype(int), "groups": codes}
    return Data(cg.models.Exponential(rate=rate), x, np.minimum(times, until), options)
