"""Probabilistic regressors and distributions of skpro."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._classifier import DiscreteFitted
from condgof.models._counts import Binomial, NegativeBinomial, Poisson
from condgof.models._discrete import DiscreteModel
from condgof.models._interval import Beta, Uniform
from condgof.models._inverse_gaussian import InverseGaussian
from condgof.models._laplace import Laplace
from condgof.models._library import Fitted, as_table, predicting
from condgof.models._mixture import NormalMixture
from condgof.models._mixture_rows import MixtureRows
from condgof.models._normal import Normal
from condgof.models._positive import Exponential, Gamma, LogNormal
from condgof.models._skpro_rows import FlatRows, SkproCounts, SkproRows
from condgof.models._student import StudentT
from condgof.sample import take_rows

SUPPORTED = "fitted probabilistic regressors of skpro, and its distributions (one row an observation)"
#: The closed form of a distribution, from its parameters by name, (n, d_y) each.
FAMILIES: dict[str, Callable[..., ConditionalModel]] = {
    "Normal": lambda mu, sigma: Normal.bound(mu, sigma),
    "Laplace": lambda mu, scale: Laplace.bound(mu, scale),
    "TDistribution": lambda mu, sigma, df: StudentT.bound(df, mu, sigma),
    "Cauchy": lambda mu, scale: StudentT.bound(np.ones_like(mu), mu, scale),
    "Gamma": lambda alpha, beta: Gamma.bound(shape=alpha, rate=beta),
    "Exponential": lambda rate: Exponential.bound(rate=rate),
    "LogNormal": lambda mu, sigma: LogNormal.bound(mu, sigma),
    "InverseGaussian": lambda mu, scale: InverseGaussian.bound(mean=mu * scale, shape=scale),
    "Beta": lambda alpha, beta: Beta.bound(alpha, beta),
    "Uniform": lambda lower, upper: Uniform.bound(lower, upper),
}
#: The same for counts.
COUNTS: dict[str, Callable[..., DiscreteModel]] = {
    "Poisson": lambda mu: Poisson.bound(mu),
    "NegativeBinomial": lambda mu, alpha: NegativeBinomial.bound(mu, 1.0 / alpha),
    "Binomial": lambda n, p: Binomial.bound(n, p),
}
#: Distributions of a sample, whose atoms are where the sample was and not where y may be.
ATOMS = ("Empirical", "QPD_Empirical", "Delta")
#: Densities that are constant between jumps.
FLAT = ("Histogram", "QPD_Histogram")
#: Distributions made of another, under these names.
INNER = {
    "TransformedDistribution": "distribution",
    "TruncatedDistribution": "distribution",
    "MeanScale": "d",
}


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a regressor or a distribution, or return None for another library's object."""
    if not comes_from(obj, "skpro"):
        return None
    name = type(obj).__name__
    if hasattr(obj, "log_pdf"):
        if len(obj.shape) != 2:
            raise ShapeError(f"{name} of skpro has no rows. Make it with one row an observation.")
        return closed_form(obj)
    if not hasattr(obj, "predict_proba"):
        raise UnsupportedModelError(f"{name} of skpro predicts no distribution. Pass a regressor.")
    if not obj.is_fitted:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return SkproModel(obj)


@dataclass(frozen=True, eq=False)
class SkproModel(Fitted):
    """The density that a probabilistic regressor predicts at x.

    Parameters
    ----------
    regressor : BaseProbaRegressor
        Fitted; it is used as it is and never changed.
    """

    regressor: Any

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the model at the n rows of x."""
        table = _numbered(as_table(x))
        with predicting("skpro", n), _steady():
            predicted = self.regressor.predict_proba(table)
        if predicted.shape[:1] != (n,):
            raise ShapeError(f"skpro predicted a shape of {predicted.shape}, and x has {n} rows.")
        return closed_form(predicted)

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model knowing whether y is discrete, from its prediction at two rows."""
        if self.discrete or x is None:
            return self
        found = self.at(take_rows(x, np.arange(min(2, len(x)))), min(2, len(x)))
        return DiscreteSkpro(self.regressor) if found.discrete else self


class DiscreteSkpro(DiscreteFitted, SkproModel):
    """The same for counts."""


def closed_form(distribution: Any) -> ConditionalModel:
    """Return the model of a distribution's rows: a closed form, or what skpro computes."""
    name = type(distribution).__name__
    if _kind(distribution) == "discrete" and name not in ATOMS:
        return _counts(distribution)
    _refuse_atoms(distribution)
    if name in FAMILIES:
        return FAMILIES[name](**_parameters(distribution))
    if name == "NormalMixture":
        return _normal_mixture(distribution)
    if distribution.shape[1] != 1:
        raise UnsupportedModelError(
            f"{name} of skpro has a closed form here for a single column of y only, and this one has "
            f"{distribution.shape[1]}."
        )
    if name == "Mixture":
        parts = tuple(closed_form(part) for _, part in distribution._distributions)
        weights = np.asarray(distribution._weights, dtype=np.float64)
        return MixtureRows(parts, weights, len(distribution))
    return (FlatRows if name in FLAT else SkproRows)(distribution)


def _kind(distribution: Any) -> Any:
    return distribution.get_tag("distr:measuretype", None, raise_error=False)


def _counts(distribution: Any) -> DiscreteModel:
    """Return the model of counts of a distribution's rows."""
    name = type(distribution).__name__
    if distribution.shape[1] != 1:
        raise UnsupportedModelError(
            f"{name} of skpro is for one column of y, got {distribution.shape[1]}."
        )
    if name in COUNTS:
        return COUNTS[name](**_parameters(distribution))
    return SkproCounts(distribution)


def _parameters(distribution: Any) -> dict[str, FloatArray]:
    """Return the parameters, broadcast to all rows by position: the index plays no part."""
    given = distribution.get_params(deep=False)
    return {
        name: np.broadcast_to(np.asarray(value, dtype=np.float64), distribution.shape)
        for name, value in given.items()
        if name not in ("index", "columns")
    }


def _normal_mixture(distribution: Any) -> NormalMixture:
    n, d_y = distribution.shape
    weights = np.atleast_2d(np.asarray(distribution.pi, dtype=np.float64))
    weights = np.broadcast_to(weights / weights.sum(axis=1, keepdims=True), (n, weights.shape[1]))
    shape = (n, weights.shape[1], d_y)
    means, stds = (np.asarray(p, dtype=np.float64) for p in (distribution.mu, distribution.sigma))
    means, stds = (p[..., None] if p.ndim < 3 else p for p in (means, stds))
    return NormalMixture.bound(weights, np.broadcast_to(means, shape), np.broadcast_to(stds, shape))


def _refuse_atoms(distribution: Any) -> None:
    """Refuse distributions with atoms: single values of positive probability."""
    name = type(distribution).__name__
    if name == "Mixture":
        for _, part in distribution._distributions:
            _refuse_atoms(part)
        return
    if name in INNER:
        _refuse_atoms(getattr(distribution, INNER[name]))
        return
    kind = distribution.get_tag("distr:measuretype")
    if kind != "continuous":
        raise UnsupportedModelError(
            f"{name} of skpro is a {kind} distribution: it gives single values of y a positive "
            "probability and has no density there, and those values are no counts. Pass a regressor "
            "whose distribution is continuous, or one of counts."
        )


def _numbered(table: Any) -> Any:
    """Return the table with rows numbered from 0: skpro matches rows by index, which may repeat."""
    if not hasattr(table, "iloc"):
        return table
    return table.set_axis(range(len(table)), axis=0)


@contextmanager
def _steady() -> Iterator[None]:
    """Fix the seed of NumPy's global state, and put it back: some predictions of skpro draw from it."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)
