"""Frozen discrete distributions of scipy.stats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.models._base import row_count
from condgof.models._counts import Binomial, CountModel, NegativeBinomial, Poisson
from condgof.models._discrete import DiscreteModel, flat
from condgof.models._parameters import Parameter
from condgof.models._probabilities import bernoulli

#: Our families, from SciPy's shapes.
CLOSED: dict[str, Callable[[tuple[AnyArray, ...]], tuple[type[Any], dict[str, AnyArray]]]] = {
    "poisson": lambda s: (Poisson, {"mean": s[0]}),
    "nbinom": lambda s: (NegativeBinomial, {"mean": s[0] * (1 - s[1]) / s[1], "dispersion": 1 / s[0]}),
    "binom": lambda s: (Binomial, {"trials": s[0], "p": s[1]}),
}
#: Variances of counts that statsmodels inflates with zeros; SciPy would sum them up row by row.
INFLATED: dict[str, Callable[..., FloatArray]] = {
    "zipoisson": lambda mu: mu,
    "zinegbin": lambda mu, alpha, p: mu + alpha * mu**p,
    "zigenpoisson": lambda mu, alpha, p: mu * (1.0 + alpha * mu ** (p - 1.0)) ** 2,
}


@dataclass(frozen=True, eq=False)
class ScipyCounts(CountModel):
    """Any discrete distribution of SciPy on whole numbers.

    Parameters
    ----------
    freeze : callable
        Makes the distribution of parameters, by name.
    parameters : dict of Parameter
        Numbers, or arrays bound to rows.
    """

    freeze: Callable[..., Any]
    parameters: dict[str, Parameter]

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to, or None."""
        return next((len(p.value) for p in self.parameters.values() if p.bound), None)

    def take(self, rows: IntArray) -> ScipyCounts:
        """Return the model of some rows."""
        return replace(self, parameters={name: p.take(rows) for name, p in self.parameters.items()})

    def _law(self, x: Any, n: int) -> Any:
        return self.freeze(
            **{name: p.at(x, n, (1,), finite=False) for name, p in self.parameters.items()}
        )

    def _bounds(self, x: Any, n: int) -> tuple[AnyArray, AnyArray]:
        low, high = (np.asarray(end, dtype=np.float64) for end in self._law(x, n).support())
        return low.reshape(-1), high.reshape(-1)

    def _cdf(self, y: FloatArray, x: Any) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(self._law(x, len(y)).cdf(y), dtype=np.float64)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        values = flat(np.asarray(y)).astype(np.float64)[:, None]
        with np.errstate(all="ignore"):
            return np.asarray(self._law(x, len(values)).logpmf(values), dtype=np.float64)[:, 0]

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one count for each row of x, (n, 1)."""
        size = self.rows or row_count(x, n)
        law = self._law(x, size)
        # By inversion: SciPy's own samplers want whole numbers of an integer type for some parameters.
        try:
            drawn = _quantile(law, rng.random((size, 1)))
        except RuntimeError:  # the search for a quantile fails far in the tails of some, as of Skellam
            drawn = law.rvs((size, 1), random_state=rng)
        return np.asarray(drawn, dtype=np.float64)

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, 1) each."""
        size = self.rows or row_count(x, n)
        law = self._law(x, size)
        if getattr(self.freeze, "name", None) in INFLATED:
            mean, std = self._inflated(x, size)
        elif hasattr(law, "stats"):
            mean, std = (np.asarray(part) for part in law.stats("mv"))
            std = np.sqrt(std)
        else:
            mean, std = law.mean(), law.standard_deviation()
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            raise UnsupportedModelError("The distribution has no finite mean and variance.")
        return np.broadcast_to(mean, (size, 1)), np.broadcast_to(std, (size, 1))

    def _inflated(self, x: Any, size: int) -> tuple[FloatArray, FloatArray]:
        """Return the moments of counts that are 0 with probability w, and else of another law."""
        values = {name: p.at(x, size, (1,), finite=False) for name, p in self.parameters.items()}
        loc, w = values.pop("loc"), values.pop("w")
        mu, variance = values["mu"], INFLATED[self.freeze.name](**values)  # type: ignore[attr-defined]
        mean = (1.0 - w) * mu
        return loc + mean, np.sqrt((1.0 - w) * (variance + mu**2) - mean**2)

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, or median and quartiles where they are not finite."""
        try:
            return self.mean_std(x, n)
        except UnsupportedModelError:
            size = self.rows or row_count(x, n)
            law = self._law(x, size)
            low, middle, high = (
                np.broadcast_to(_quantile(law, np.full((size, 1), q)), (size, 1))
                for q in (0.25, 0.5, 0.75)
            )
            return np.array(middle), np.maximum(1.0, (high - low) / 1.35)


def _quantile(law: Any, q: FloatArray) -> Any:
    return law.ppf(q) if hasattr(law, "ppf") else law.icdf(q)


def discrete_model(dist: Any, shapes: tuple[AnyArray, ...], loc: AnyArray, known: bool) -> DiscreteModel:
    """Make a model of a discrete family of SciPy with its parameters; `known`: it is SciPy's own."""
    if known and not np.any(loc):
        if dist.name == "bernoulli" and np.ndim(shapes[0]):
            return bernoulli(shapes[0])
        if dist.name in CLOSED:
            make, given = CLOSED[dist.name](shapes)
            bound = any(np.ndim(value) for value in given.values())
            model: DiscreteModel = make.bound(**given) if bound else make(**given)
            return model
    names = [name.strip() for name in dist.shapes.split(",")] if dist.shapes else []
    values = dict(zip((*names, "loc"), (*shapes, loc), strict=True))
    n = max((len(value) for value in values.values() if np.ndim(value)), default=0)
    return ScipyCounts(dist, {name: Parameter.rowwise(name, value, n) for name, value in values.items()})
