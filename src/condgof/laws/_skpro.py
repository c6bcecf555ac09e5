"""Probabilistic regressors and distributions of skpro."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
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
from condgof.laws._library import predicted
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
    "InverseGaussian": lambda mu, scale: families.InverseGaussian(mean=mu * scale, shape=scale),
    "Beta": lambda alpha, beta: families.Beta(alpha, beta),
    "Uniform": lambda lower, upper: families.Uniform(lower, upper),
    "Poisson": lambda mu: counts.Poisson(mu),
    "NegativeBinomial": lambda mu, alpha: counts.NegativeBinomial(mu, 1.0 / alpha),
    "Binomial": lambda n, p: counts.Binomial(n, p),
}
#: Distributions of a sample, whose atoms are where the sample was and not where y may be.
ATOMS = ("Empirical", "QPD_Empirical", "Delta")
HISTOGRAMS = ("Histogram", "QPD_Histogram")
#: Where distributions that are made of another have it.
INNER = {"TransformedDistribution": "distribution", "TruncatedDistribution": "distribution"}
INNER |= {"MeanScale": "d"}
#: For predictions that draw from NumPy's global state, one at a time.
LOCK = threading.Lock()


def adapt(obj: Any) -> Law | Model:
    """Make a model of a regressor, or a law of a distribution."""
    name = type(obj).__name__
    if hasattr(obj, "log_pdf"):
        if len(obj.shape) != 2:
            raise ShapeError(f"{name} of skpro has no rows. Make it with one row an observation.")
        return _law(obj)(n=len(obj))
    if not hasattr(obj, "predict_proba"):
        raise UnsupportedModelError(f"{name} of skpro predicts no distribution. Pass a regressor.")
    if not obj.is_fitted:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_predicted, obj), name)


def _predicted(regressor: Any, x: Any) -> Law:
    distribution = predicted("skpro", partial(_steadily, regressor.predict_proba), x)
    if distribution.shape[:1] != (len(x),):
        raise ShapeError(f"skpro predicted a shape of {distribution.shape}, and x has {len(x)} rows.")
    return _law(distribution)(n=len(x))


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
            return _normal_mixture(distribution)
    if name in CLOSED and (d_y == 1 or not discrete):
        given, shape = distribution.get_params(deep=False), distribution.shape
        names = given.keys() - {"index", "columns"}  # rows match by position
        numbers = {key: np.asarray(given[key], np.float64) for key in names}
        return CLOSED[name](**{key: np.broadcast_to(v, shape) for key, v in numbers.items()})
    if d_y != 1:
        only = f"is known here for a single column of y only, and this one has {d_y}"
        raise UnsupportedModelError(f"{name} of skpro {only}.")
    if name == "Mixture" and not discrete:
        parts = tuple(_law(part)(n=len(part)) for _, part in distribution._distributions)
        return Mixture(parts, np.asarray(distribution._weights, dtype=np.float64))
    return (SkproCounts if discrete else FlatRows if name in HISTOGRAMS else SkproRows)(distribution)


def _tag(distribution: Any, name: str) -> Any:
    return distribution.get_tag(name, None, raise_error=False)


def _normal_mixture(distribution: Any) -> NormalMixture:
    n, d_y = distribution.shape
    pi, *others = (np.array(getattr(distribution, p), dtype=np.float64) for p in ("pi", "mu", "sigma"))
    weights = normalised(np.atleast_2d(pi))
    shape = (n, weights.shape[1], d_y)
    means, stds = (np.broadcast_to(p[..., None] if p.ndim < 3 else p, shape) for p in others)
    return NormalMixture(np.broadcast_to(weights, shape[:2]), means, stds)


def _refuse_atoms(distribution: Any) -> None:
    name = type(distribution).__name__
    if name == "Mixture":
        for _, part in distribution._distributions:
            _refuse_atoms(part)
    elif name in INNER:
        _refuse_atoms(getattr(distribution, INNER[name]))
    elif (kind := _tag(distribution, "distr:measuretype")) != "continuous":
        told = f"{name} of skpro is a {kind} distribution: some values of y have a probability"
        raise UnsupportedModelError(f"{told}, and those values are no counts. Use condgof.from_draws.")


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
            low, high = (self._ask("ppf", np.full((self.n, 1), q))[:, None] for q in (0.0, 1.0))
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # skpro's own sampler takes no seed.
        return self._ask("ppf", rng.random((self.n, 1)))[:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        if not {"mean", "var"} <= self._exact():
            raise UnsupportedModelError(f"skpro has no exact mean and variance of {self.name}.")
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


@dataclass(frozen=True, eq=False)
class Mixture(Law):
    """Mixture p(y|x) = Σ_c w_c p_c(y|x) of laws of the same rows, for d_y = 1; see `NormalMixture`."""

    parts: tuple[Law, ...]
    #: One for each part, the same for all rows.
    weights: FloatArray

    @property
    def rows(self) -> int | None:
        return self.parts[0].rows

    def take(self, rows: IntArray) -> Mixture:
        return replace(self, parts=tuple(part.take(rows) for part in self.parts))

    def can(self, ability: str) -> bool:
        return super().can(ability) and all(part.can(ability) for part in self.parts)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        low, high = zip(*(part.support for part in self.parts), strict=True)
        return reduce(np.minimum, low), reduce(np.maximum, high)

    def _log_joint(self, y: AnyArray) -> FloatArray:
        """Return log w_c p_c(y|x), (C, n)."""
        return np.asarray(safe_log(self.weights)[:, None] + [part.log_prob(y) for part in self.parts])

    def log_prob(self, y: AnyArray) -> FloatArray:
        return np.asarray(np.logaddexp.reduce(self._log_joint(y), axis=0))

    def score(self, y: AnyArray) -> FloatArray:
        return self.score_and_error(y)[0]

    def score_and_error(self, y: AnyArray) -> tuple[FloatArray, FloatArray | None]:
        joint = self._log_joint(y)
        shares = np.exp(joint - np.logaddexp.reduce(joint, axis=0))[:, :, None]
        pairs = [part.score_and_error(y) for part in self.parts]
        # Outside its support a component has no score, and no share either.
        scores = [w * np.nan_to_num(as_rows(s)) for w, (s, _) in zip(shares, pairs, strict=True)]
        errors = [w * as_rows(e) for w, (_, e) in zip(shares, pairs, strict=True) if e is not None]
        return np.sum(scores, axis=0), np.sum(errors, axis=0) if errors else None

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.weights @ np.array([part.cdf(y) for part in self.parts]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.weights @ np.array([part.sf(y) for part in self.parts]))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        chosen = rng.choice(len(self.parts), size=self.n, p=self.weights)
        drawn = np.array([part.sample(rng)[:, 0] for part in self.parts])
        return drawn[chosen, np.arange(self.n)][:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        means, stds = np.array([part.mean_std() for part in self.parts]).transpose(1, 0, 2, 3)
        mean = np.einsum("c,cni->ni", self.weights, means)
        return mean, np.sqrt(np.einsum("c,cni->ni", self.weights, stds**2 + (means - mean) ** 2))
