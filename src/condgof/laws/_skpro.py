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

#: Closed forms, from skpro's parameters by name, (n, d_y) each.
CLOSED_FORMS: dict[str, Callable[..., Law]] = {
    "Normal": lambda mu, sigma: Normal(mean=mu, std=sigma),
    "Laplace": lambda mu, scale: families.Laplace(loc=mu, scale=scale),
    "TDistribution": lambda mu, sigma, df: families.StudentT(df=df, loc=mu, scale=sigma),
    "Cauchy": lambda mu, scale: families.StudentT(df=np.ones_like(mu), loc=mu, scale=scale),
    "Gamma": lambda alpha, beta: families.Gamma(shape=alpha, rate=beta),
    "Exponential": lambda rate: families.Exponential(rate=rate),
    "LogNormal": lambda mu, sigma: families.LogNormal(mu=mu, sigma=sigma),
    "InverseGaussian": lambda mu, scale: families.InverseGaussian(
        mean=mu * scale, shape=scale
    ),
    "Beta": lambda alpha, beta: families.Beta(a=alpha, b=beta),
    "Uniform": lambda lower, upper: families.Uniform(low=lower, high=upper),
    "Poisson": lambda mu: counts.Poisson(mean=mu),
    "NegativeBinomial": lambda mu, alpha: counts.NegativeBinomial(
        mean=mu, dispersion=1.0 / alpha
    ),
    "Binomial": lambda n, p: counts.Binomial(trials=n, p=p),
}
#: Discrete distributions whose atoms are where a sample was, not where y may be.
SAMPLES = ("Empirical", "QPD_Empirical", "Delta")
#: Distributions whose density is piecewise constant.
HISTOGRAMS = ("Histogram", "QPD_Histogram")
#: NumPy's global random state belongs to the process: one prediction at a time may use it.
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
    return Model(partial(_predicted_law, obj), name)


def _predicted_law(regressor: Any, x: Any) -> Law:
    table = as_table(x)
    if hasattr(table, "iloc"):  # skpro matches rows by index, which may repeat
        table = table.set_axis(range(len(table)), axis=0)
    return _law(_predict_reproducibly(regressor.predict_proba, table))(n=len(x))


def _predict_reproducibly(predict: Callable[[Any], Any], table: Any) -> Any:
    """Return the same prediction each time.

    A prediction that draws from NumPy's global random state is made again with that state
    seeded; afterwards the state is what it was.
    """
    with LOCK:
        state = np.random.get_state(legacy=False)
        before = pickle.dumps(state)

        def state_has_moved() -> bool:
            return pickle.dumps(np.random.get_state(legacy=False)) != before

        try:
            distribution = predict(table)
            if state_has_moved():
                np.random.seed(0)
                distribution = predict(table)
            return distribution
        finally:
            if state_has_moved():
                np.random.set_state(state)


def _law(distribution: Any) -> Law:
    """Return the law of a distribution's rows: a closed form, or what skpro computes."""
    name = type(distribution).__name__
    d_y = distribution.shape[1]
    discrete = _measure(distribution) == "discrete" and name not in SAMPLES
    if not discrete:
        _refuse_atoms(distribution)
        if name == "NormalMixture":
            return _normal_mixture(
                weights=distribution.pi,
                means=distribution.mu,
                stds=distribution.sigma,
                d_y=d_y,
            )
    if name in CLOSED_FORMS and (d_y == 1 or not discrete):
        return CLOSED_FORMS[name](**_parameters(distribution))
    if d_y != 1:
        raise UnsupportedModelError(
            f"{name} of skpro is known here for a single column of y only, and this one"
            f" has {d_y}."
        )
    if name == "Mixture":
        return _mixture(distribution)
    if discrete:
        return SkproCounts(distribution)
    if name in HISTOGRAMS:
        return FlatRows(distribution)
    return SkproRows(distribution)


def _mixture(distribution: Any) -> Law:
    """Return the law of a mixture of several distributions of shape (n, 1)."""
    parts = [part for _, part in distribution._distributions]
    if any(type(part).__name__ != "Normal" for part in parts):
        raise UnsupportedModelError(
            "A mixture of skpro must have normal parts. Pass its log-density to"
            " condgof.from_log_prob, with its support."
        )
    parameters = [_parameters(part) for part in parts]
    return _normal_mixture(
        weights=distribution._weights,
        means=np.stack([p["mu"] for p in parameters], axis=1),
        stds=np.stack([p["sigma"] for p in parameters], axis=1),
        d_y=1,
    )


def _measure(distribution: Any) -> Any:
    """Return skpro's tag of a distribution: "continuous", "discrete" or "mixed"."""
    return _tag(distribution, "distr:measuretype")


def _tag(distribution: Any, name: str) -> Any:
    return distribution.get_tag(name, None, raise_error=False)


def _parameters(distribution: Any) -> dict[str, FloatArray]:
    """Return the parameters by name, (n, d_y) each; rows are matched by position."""
    values = distribution.get_params(deep=False)
    return {
        name: np.broadcast_to(np.asarray(value, np.float64), distribution.shape)
        for name, value in values.items()
        if name not in ("index", "columns")
    }


def _normal_mixture(weights: Any, means: Any, stds: Any, d_y: int) -> NormalMixture:
    """Broadcast weights (C,) or (n, C), and means and stds (n, C) or (n, C, d_y)."""
    weights = np.array(np.atleast_2d(weights), dtype=np.float64)
    means = np.array(means, dtype=np.float64)
    stds = np.array(stds, dtype=np.float64)
    means = means[..., None] if means.ndim < 3 else means
    stds = stds[..., None] if stds.ndim < 3 else stds
    shape = np.broadcast_shapes(means.shape, stds.shape, (1, weights.shape[1], d_y))
    return NormalMixture(
        weights=np.broadcast_to(normalised(weights), shape[:2]),
        means=np.broadcast_to(means, shape),
        stds=np.broadcast_to(stds, shape),
    )


def _refuse_atoms(distribution: Any) -> None:
    """Refuse a distribution that, itself or in a part of it, is not continuous."""
    parts = [
        part for part in distribution.get_params().values() if hasattr(part, "log_pdf")
    ]
    for part in parts:
        _refuse_atoms(part)
    kind = _measure(distribution)
    if not parts and kind != "continuous":
        raise UnsupportedModelError(
            f"{type(distribution).__name__} of skpro is a {kind} distribution: some values"
            " of y have a probability, and those values are no counts. Use"
            " condgof.from_draws."
        )


@dataclass(frozen=True, eq=False)
class _Rows(Law):
    """Any distribution of shape (n, 1), called with arrays: frames are matched by index."""

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
            low = self._ask("ppf", np.zeros((self.n, 1)))[:, None]
            high = self._ask("ppf", np.ones((self.n, 1)))[:, None]
        low = np.where(np.isnan(low), -np.inf, low)
        high = np.where(np.isnan(high), np.inf, high)
        return low, high

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
        mean = np.array(self.distribution.mean(), dtype=np.float64)
        variance = np.array(self.distribution.var(), dtype=np.float64)
        return mean, np.sqrt(variance)

    def _exact(self) -> set[str]:
        """Return the methods that skpro does not approximate by draws or differences."""
        return set(_tag(self.distribution, "capabilities:exact") or ())

    def _ask(self, method: str, values: FloatArray) -> FloatArray:
        """Call a method with values (n, 1), and return (n,)."""
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
    """Counts without a closed form here; their support is where the pmf is positive."""

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
