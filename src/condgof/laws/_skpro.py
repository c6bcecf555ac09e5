"""Probabilistic regressors and distributions of skpro."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._discrete import normalised
from condgof.laws._families import Normal, NormalMixture, safe_log
from condgof.laws._functions import NumericalScore
from condgof.laws._law import Law, Model, as_rows, refuse_outside
from condgof.laws._library import as_table
from condgof.laws._scipy import FLAT

#: The closed form of a distribution, from its parameters by name, (n, d_y) each.
CLOSED: dict[str, Callable[..., Law]] = {
    "Normal": lambda mu, sigma: Normal(mu, sigma),
    "Laplace": lambda mu, scale: families.Laplace(mu, scale),
    "TDistribution": lambda mu, sigma, df: families.StudentT(df, mu, sigma),
    "Cauchy": lambda mu, scale: families.StudentT(np.ones_like(mu), mu, scale),
    "Gamma": lambda alpha, beta: families.Gamma(shape=alpha, rate=beta),
    "Exponential": lambda rate: families.Exponential(rate=rate),
    "LogNormal": lambda mu, sigma: families.LogNormal(mu, sigma),
    "InverseGaussian": lambda mu, scale: families.InverseGaussian(
        mean=mu * scale, shape=scale
    ),
    "Beta": lambda alpha, beta: families.Beta(alpha, beta),
    "Uniform": lambda lower, upper: families.Uniform(lower, upper),
    "Poisson": lambda mu: counts.Poisson(mu),
    "NegativeBinomial": lambda mu, alpha: counts.NegativeBinomial(mu, 1.0 / alpha),
    "Binomial": lambda n, p: counts.Binomial(n, p),
}
#: Distributions of a sample, whose atoms are where the sample was and not where y may be.
ATOMS = ("Empirical", "QPD_Empirical", "Delta")
HISTOGRAMS = ("Histogram", "QPD_Histogram")
#: For predictions that draw from NumPy's global state, one at a time.
LOCK = threading.Lock()


def adapt(obj: Any) -> Law | Model:
    """Make a model of a regressor, or a law of a distribution."""
    name = type(obj).__name__
    if hasattr(obj, "log_pdf"):
        if len(obj.shape) != 2:
            raise ShapeError(
                f"{name} of skpro has no rows. Make it with one row an observation."
            )
        return _law(obj)(n=len(obj))
    if not hasattr(obj, "predict_proba"):
        raise UnsupportedModelError(
            f"{name} of skpro predicts no distribution. Pass a regressor."
        )
    if not obj.is_fitted:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_predicted, obj), name)


def _predicted(regressor: Any, x: Any) -> Law:
    return _law(_steadily(regressor.predict_proba, as_table(x)))(n=len(x))


def _steadily(predict: Callable[[Any], Any], table: Any) -> Any:
    """Predict the same each time; what draws from NumPy's global state is made again, seeded."""
    if hasattr(table, "iloc"):  # skpro matches rows by index, which may repeat
        table = table.set_axis(range(len(table)), axis=0)

    def moved() -> bool:
        return pickle.dumps(np.random.get_state(legacy=False)) != before

    with LOCK:
        state = np.random.get_state(legacy=False)
        before = pickle.dumps(state)
        try:
            distribution = predict(table)
            if moved():
                np.random.seed(0)
                distribution = predict(table)
            return distribution
        finally:
            if moved():
                np.random.set_state(state)


def _law(distribution: Any) -> Law:
    """Return the law of a distribution's rows: a closed form, or what skpro computes."""
    name, (_, d_y) = type(distribution).__name__, distribution.shape
    discrete = _tag(distribution, "distr:measuretype") == "discrete" and name not in ATOMS
    if not discrete:
        _refuse_atoms(distribution)
        if name == "NormalMixture":
            return _normal_mixture(
                distribution.pi, distribution.mu, distribution.sigma, d_y
            )
    if name in CLOSED and (d_y == 1 or not discrete):
        return CLOSED[name](**_parameters(distribution))
    if d_y != 1:
        only = f"is known here for a single column of y only, and this one has {d_y}"
        raise UnsupportedModelError(f"{name} of skpro {only}.")
    if name == "Mixture":
        parts = [part for _, part in distribution._distributions]
        if any(type(part).__name__ != "Normal" for part in parts):
            advice = "Pass its log-density to condgof.from_log_prob, with its support."
            raise UnsupportedModelError(
                f"A mixture of skpro must have normal parts. {advice}"
            )
        given = [_parameters(part) for part in parts]
        means, stds = (np.stack([p[key] for p in given], axis=1) for key in ("mu", "sigma"))
        return _normal_mixture(distribution._weights, means, stds, 1)
    return (SkproCounts if discrete else FlatRows if name in HISTOGRAMS else SkproRows)(
        distribution
    )


def _tag(distribution: Any, name: str) -> Any:
    return distribution.get_tag(name, None, raise_error=False)


def _parameters(distribution: Any) -> dict[str, FloatArray]:
    given = distribution.get_params(deep=False)
    names = given.keys() - {"index", "columns"}  # rows match by position
    return {
        k: np.broadcast_to(np.asarray(given[k], np.float64), distribution.shape)
        for k in names
    }


def _normal_mixture(pi: Any, mu: Any, sigma: Any, d_y: int) -> NormalMixture:
    weights, *others = (
        np.array(p, dtype=np.float64) for p in (np.atleast_2d(pi), mu, sigma)
    )
    means, stds = (p[..., None] if p.ndim < 3 else p for p in others)
    shape = np.broadcast_shapes(means.shape, stds.shape, (1, weights.shape[1], d_y))
    weights = np.broadcast_to(normalised(weights), shape[:2])
    return NormalMixture(
        weights, np.broadcast_to(means, shape), np.broadcast_to(stds, shape)
    )


def _refuse_atoms(distribution: Any) -> None:
    parts = [
        part for part in distribution.get_params().values() if hasattr(part, "log_pdf")
    ]
    for part in parts:
        _refuse_atoms(part)
    if not parts and (kind := _tag(distribution, "distr:measuretype")) != "continuous":
        told = (
            f"{type(distribution).__name__} of skpro is a {kind} distribution: some values"
            " of y have"
        )
        advice = "those values are no counts. Use condgof.from_draws."
        raise UnsupportedModelError(f"{told} a probability, and {advice}")


@dataclass(frozen=True, eq=False)
class _Rows(Law):
    """What any distribution of shape (n, 1) offers; asked by arrays: skpro matches frames by index."""

    distribution: Any

    @property
    def rows(self) -> int | None:
        return len(self.distribution)

    @property
    def name(self) -> str:
        return f"{type(self.distribution).__name__} of skpro"

    def take(self, rows: IntArray) -> Law:
        return type(self)(self.distribution.iloc[list(rows)])

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        if "ppf" not in self._exact():
            return super().support
        with np.errstate(all="ignore"):
            low, high = (
                self._ask("ppf", np.full((self.n, 1), q))[:, None] for q in (0.0, 1.0)
            )
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # skpro's own sampler takes no seed.
        return self._ask("ppf", rng.random((self.n, 1)))[:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        if not {"mean", "var"} <= self._exact():
            raise UnsupportedModelError(
                f"skpro has no exact mean and variance of {self.name}."
            )
        mean, var = self.distribution.mean(), self.distribution.var()
        return np.array(mean, dtype=np.float64), np.sqrt(np.array(var, dtype=np.float64))

    def _exact(self) -> set[str]:
        """Return what skpro computes without approximation by draws or differences."""
        return set(_tag(self.distribution, "capabilities:exact") or ())

    def _ask(self, method: str, values: FloatArray) -> FloatArray:
        if method in ("pdf", "cdf", "ppf") and method not in self._exact():
            raise UnsupportedModelError(f"skpro has no exact {method} of {self.name}.")
        return np.array(getattr(self.distribution, method)(values), dtype=np.float64)[:, 0]

    def log_prob(self, y: AnyArray) -> FloatArray:
        if "log_pdf" in self._exact():
            return self._ask("log_pdf", as_rows(y))
        return safe_log(self._ask("pdf", as_rows(y)))


class SkproRows(_Rows, NumericalScore):
    """A continuous distribution: its log-density is differentiated numerically."""


class FlatRows(_Rows):
    """A density that is constant between jumps."""

    WHY_NOT = FLAT


class SkproCounts(counts.Counts, _Rows):
    """A distribution of counts without a closed form here; only its probabilities tell its support."""

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        return np.array(-np.inf), np.array(np.inf)

    def numbers(self, y: AnyArray) -> FloatArray:
        values = super().numbers(y)
        refuse_outside(~(self._ask("pmf", values[:, None]) > 0), self.name)
        return values

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.column_stack([self._ask("cdf", column[:, None]) for column in y.T])

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._ask("log_pmf", as_rows(y))
