"""Samples of models that are wrong in one known way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

import condgof as cg
from calibration.design import Data, Rng
from calibration.samples import autoregressive, group_codes, group_errors

# About how many candidates a table of `wrong_table` and a prediction has: kinds of error
# times the constant, single columns, trends and pairs.
CANDIDATES = 120
NEW_ROWS = 20_000  # that a repair is judged on
ALPHA = 0.05


# One effect that is always found: is a second one named?


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


@dataclass(frozen=True)
class Wrong:
    """A bias or a spread of normal scores that depends on one column, or on none."""

    error: str  # "bias" or "spread"
    column: str  # of `wrong_table`; "" for the same error everywhere
    degrees: int  # of freedom of the test of this effect alone
    times: float = 3.0  # noncentrality beside the one that is found with power 0.99

    def is_cause(self, effect: Any) -> bool:
        columns = (self.column,) if self.column else ()
        return effect.kind == self.error and effect.columns == columns

    def pattern(self, x: pd.DataFrame, rng: Rng) -> np.ndarray:
        """Return errors of rows up to a factor, (n,)."""
        if not self.column:
            return np.ones(len(x))
        if self.column == "other":  # a trend
            return x["other"].to_numpy() - 0.5
        codes, categories = pd.factorize(x[self.column], sort=True)
        errors = rng.normal(size=len(categories))[codes]
        return errors - errors.mean()

    def draw(self, n: int, rng: Rng) -> Data:
        x = wrong_table(n, rng)
        pattern = self.pattern(x, rng)
        information = 1.0 if self.error == "bias" else 2.0
        wanted = self.times * detectable(self.degrees) / information
        theta = pattern * np.sqrt(wanted / np.square(pattern).sum())
        z = rng.normal(size=n)
        z = z + theta if self.error == "bias" else z * np.exp(theta)
        mean = 0.5 * x["number"].to_numpy()
        return Data((mean, np.ones(n)), x, mean + z)


def detectable(degrees: int) -> float:
    """Return the noncentrality that χ² finds with power 0.99 among all candidates."""
    limit = chi2.isf(ALPHA / CANDIDATES, degrees)
    return float(brentq(lambda nc: ncx2.sf(limit, degrees, nc) - 0.99, 1.0, 500.0))


# What a right sample says could have been found


def off_in_groups(sizes: str, rng: Rng, size: float = 0.0, spread: float = 1.0) -> Data:
    codes = group_codes(sizes, rng)
    x = rng.standard_normal((len(codes), 2))
    y = x[:, 0] + size + spread * group_errors(codes, rng)
    return Data((x[:, 0], np.ones(len(codes))), x, y, {"groups": codes})


def off_in_series(
    n: int, rho: float, block: int, rng: Rng, size: float = 0.0, spread: float = 1.0
) -> Data:
    x = rng.standard_normal((n, 2))
    y = x[:, 0] + size + spread * autoregressive(n, rho, rng)
    return Data((x[:, 0], np.ones(n)), x, y, {"dependence": block})


def biased_or_spread(n: int, rng: Rng, size: float = 0.0, spread: float = 1.0) -> Data:
    x = rng.standard_normal((n, 2))
    y = x[:, 0] + size + spread * rng.standard_normal(n)
    return Data((x[:, 0], np.ones(n)), x, y)


# Standard misfits


def poisson_mean(x: np.ndarray) -> np.ndarray:
    return np.exp(0.5 + 0.4 * x[:, 0])


def too_many_zeros(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = poisson_mean(x)
    y = np.where(rng.random(n) < 0.12, 0, rng.poisson(mean / 0.88))
    return Data(cg.models.Poisson(mean=mean), x, y)


def overdispersed(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 3))
    mean = poisson_mean(x)
    y = rng.poisson(mean * rng.gamma(4.0, 0.25, n))
    return Data(cg.models.Poisson(mean=mean), x, y)


def overconfident_classes(n: int, rng: Rng) -> Data:
    """Three classes whose logits are doubled."""
    x = rng.normal(size=(n, 3))
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    sharp = np.exp(2.0 * x) / np.exp(2.0 * x).sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return Data(cg.probabilities(sharp), x, y)


def missing_slope(n: int, rng: Rng) -> Data:
    x = rng.normal(size=(n, 5))
    y = x[:, 0] + 0.25 * x[:, 3] + rng.standard_normal(n)
    return Data((x[:, 0], np.ones(n)), x, y)


def spread_by_category(n: int, rng: Rng) -> Data:
    """Spread exp(0.22·N) by one of 30 categories, and a column of noise."""
    category = rng.integers(0, 30, n)
    spread = np.exp(0.22 * rng.standard_normal(30))[category]
    x = pd.DataFrame(
        {"category": [f"k{k:02d}" for k in category], "noise": rng.standard_normal(n)}
    )
    return Data((np.zeros(n), np.ones(n)), x, spread * rng.standard_normal(n))


def heavy_tails(n: int, rng: Rng) -> Data:
    """Student t with 4 degrees of freedom, scaled to variance 1."""
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + rng.standard_t(4.0, n) / np.sqrt(2.0)
    return Data((x[:, 0], np.ones(n)), x, y)


# Repairs, judged on new rows


def with_new_rows(model: Any, draw: Callable[..., Any], n: int, rng: Rng) -> Data:
    """Return a sample of n rows and a new one, to judge a repair on."""
    x, y = draw(n, rng)
    return Data(model, x, y, new=draw(NEW_ROWS, rng))


def curved(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """A mean that bends, and a spread that grows with another column."""
    x = rng.uniform(-1.0, 1.0, (n, 3))
    y = np.sin(3.0 * x[:, 0]) + np.exp(0.5 * x[:, 1]) * rng.standard_normal(n)
    return x, y


def straight_mean(x: np.ndarray) -> np.ndarray:
    return x[:, 0]


def bent_mean(x: np.ndarray) -> np.ndarray:
    return np.sin(3.0 * x[:, 0])


def growing_spread(x: np.ndarray) -> np.ndarray:
    return np.exp(0.5 * x[:, 1])


def straight_line(n: int, rng: Rng) -> Data:
    model = cg.models.Normal(mean=straight_mean, std=1.0)
    return with_new_rows(model, curved, n, rng)


def right_curve(n: int, rng: Rng) -> Data:
    model = cg.models.Normal(mean=bent_mean, std=growing_spread)
    return with_new_rows(model, curved, n, rng)


def dispersed_counts(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, 3))
    return x, rng.poisson(poisson_mean(x) * rng.gamma(2.0, 0.5, n))


def poisson_for_dispersed(n: int, rng: Rng) -> Data:
    return with_new_rows(cg.models.Poisson(mean=poisson_mean), dispersed_counts, n, rng)
