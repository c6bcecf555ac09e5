"""Frozen distributions of scipy.stats.

Families with a closed-form score become our own; any other density is differentiated numerically. Arrays
of parameters, (n,) or (n, 1), bind the model to n rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputTypeError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._delegate import Predicted
from condgof.models._interval import Beta, Uniform
from condgof.models._inverse_gaussian import InverseGaussian
from condgof.models._laplace import Laplace
from condgof.models._normal import Normal
from condgof.models._numerical import NumericalScore
from condgof.models._parameters import Parameter
from condgof.models._parametric import LOG_TINY, Independent, Parametric, Values
from condgof.models._positive import Exponential, Gamma, LogNormal
from condgof.models._scipy_counts import ScipyCounts, discrete_model
from condgof.models._student import StudentT

SUPPORTED = (
    "a frozen scipy.stats distribution, continuous or discrete, or condgof.from_scipy(f) for f(x) → one"
)

Family: TypeAlias = tuple[type[Parametric], dict[str, Any]]

#: Our family and its parameters, from SciPy's shapes (s), location and scale.
CLOSED: dict[str, Callable[[tuple[AnyArray, ...], AnyArray, AnyArray], Family]] = {
    "norm": lambda s, loc, scale: (Normal, {"mean": loc, "std": scale}),
    "laplace": lambda s, loc, scale: (Laplace, {"loc": loc, "scale": scale}),
    "t": lambda s, loc, scale: (StudentT, {"df": s[0], "loc": loc, "scale": scale}),
    "gamma": lambda s, loc, scale: (Gamma, {"shape": s[0], "scale": scale, "loc": loc}),
    "chi2": lambda s, loc, scale: (Gamma, {"shape": s[0] / 2, "scale": 2 * scale, "loc": loc}),
    "expon": lambda s, loc, scale: (Exponential, {"scale": scale, "loc": loc}),
    "invgauss": lambda s, loc, scale: (
        InverseGaussian,
        {"mean": s[0] * scale, "shape": scale, "loc": loc},
    ),
    "lognorm": lambda s, loc, scale: (LogNormal, {"mu": np.log(scale), "sigma": s[0], "loc": loc}),
    "beta": lambda s, loc, scale: (Beta, {"a": s[0], "b": s[1], "low": loc, "high": loc + scale}),
    "uniform": lambda s, loc, scale: (Uniform, {"low": loc, "high": loc + scale}),
}


@dataclass(frozen=True, eq=False)
class _Frozen(Independent):
    """Any continuous distribution of SciPy.

    Parameters
    ----------
    freeze : callable
        Makes the distribution of parameters, by name.
    parameters : dict of Parameter
        Numbers, or arrays bound to rows.
    """

    freeze: Callable[..., Any]
    parameters: dict[str, Parameter]

    def _parameters(self) -> dict[str, Parameter]:
        return self.parameters

    def take(self, rows: IntArray) -> Self:
        """Return the model of some rows."""
        parameters = {name: p.take(rows) for name, p in self.parameters.items()}
        return replace(self, parameters=parameters)

    def _at(self, x: Any, n: int, d_y: int) -> Values:
        # SciPy checks its parameters, and lets some be infinite. The zeros tell the shape.
        values = (p.at(x, n, (d_y,), finite=False) for p in self.parameters.values())
        return (*values, np.broadcast_to(0.0, (n, d_y)))

    def _law(self, p: Values) -> Any:
        return self.freeze(**dict(zip(self.parameters, p, strict=False)))

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        low, high = self._law(p).support()
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        with np.errstate(all="ignore"):  # a density may be 0 inside its support, or overflow to it
            return np.asarray(self._law(p).logpdf(y), dtype=np.float64)

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        law = self._law(p)
        upper = law.logsf if hasattr(law, "logsf") else law.logccdf
        with np.errstate(all="ignore"):
            return np.maximum(law.logcdf(y), LOG_TINY), np.maximum(upper(y), LOG_TINY)

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        law = self._law(p)
        if hasattr(law, "rvs"):
            return np.asarray(law.rvs(size=p[-1].shape, random_state=rng), dtype=np.float64)
        shape = () if self.parameters else p[-1].shape
        return np.asarray(law.sample(shape, rng=rng), dtype=np.float64)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        law = self._law(p)
        mean, std = law.mean(), (law.std() if hasattr(law, "std") else law.standard_deviation())
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            raise UnsupportedModelError("The distribution has no finite mean and variance.")
        return np.broadcast_to(mean, p[-1].shape), np.broadcast_to(std, p[-1].shape)

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the median and the distance of the quartiles over 1.35, (n, d_y) each."""
        p = self._at(x, self._size(x, n), self._d_y(x))
        law = self._law(p)
        quantile = law.ppf if hasattr(law, "ppf") else law.icdf
        low, middle, high = (np.broadcast_to(quantile(q), p[-1].shape) for q in (0.25, 0.5, 0.75))
        return np.array(middle), (high - low) / 1.35


class ScipyModel(NumericalScore, _Frozen):
    """A continuous distribution of SciPy without a closed form here: its score is numerical."""


class ScipyHistogram(_Frozen):
    """A piecewise-constant density of SciPy, which has no score worth the name."""

    WHY_NOT = "its density is piecewise constant, so that the score would be 0 almost everywhere"

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Refuse."""
        self._lacks("score")

    def can(self, ability: str) -> bool:
        """Whether the model has an ability."""
        return ability != "score" and super().can(ability)


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a frozen distribution of scipy.stats."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or not comes_from(obj, "scipy"):
        return None
    if isinstance(obj, stats.rv_histogram):
        obj = obj()
    if isinstance(obj, (stats.rv_continuous, stats.rv_discrete)):
        raise InputTypeError(
            f"scipy.stats.{obj.name} is a family. Give it parameters, such as "
            f"scipy.stats.{obj.name}(loc=..., scale=...): single numbers, or arrays with one row for "
            "each observation."
        )
    if isinstance(getattr(obj, "dist", None), stats.rv_discrete):
        return _old_discrete(obj, stats)
    if isinstance(getattr(obj, "dist", None), stats.rv_continuous):
        return _old_style(obj, stats)
    if isinstance(obj, type(stats.multivariate_normal([0.0]))):
        return Normal(mean=obj.mean, cov=obj.cov)
    return _new_style(obj, stats) if hasattr(obj, "logccdf") else None


def from_scipy(function: Callable[[Any], Any]) -> ConditionalModel:
    """Model from a function that returns frozen scipy.stats distributions.

    Parameters
    ----------
    function : callable
        f(x) → a frozen distribution whose parameters are numbers, or arrays of shape (n,) or (n, 1)
        with one row for each row of x.

    Returns
    -------
    ConditionalModel
        Its score is in closed form for norm, laplace, t, gamma, chi2, expon, invgauss, lognorm, beta
        and uniform; for others it is a numerical derivative, and results tell its error. A frozen
        distribution itself needs no function: it goes straight to the tests, bound to rows if its
        parameters are arrays.

    Examples
    --------
    >>> import condgof as cg
    >>> from scipy import stats
    >>> model = cg.from_scipy(lambda x: stats.gamma(2.0, scale=x))
    >>> model.score(np.array([1.0, 4.0]), np.array([2.0, 2.0]))
    array([[ 0.5 ],
           [-0.25]])
    """
    if not callable(function):
        raise InputTypeError(
            f"from_scipy takes a function x → frozen distribution, got {type(function).__name__}. "
            "A frozen distribution itself can be passed to the tests as it is."
        )

    def predict(x: Any) -> ConditionalModel:
        model = adapt(function(x))
        if model is None:
            raise InputTypeError(
                "The function given to from_scipy must return a frozen distribution of scipy.stats."
            )
        return model

    return Predicted(predict, "the scipy.stats distribution")


def _old_style(obj: Any, stats: Any) -> ConditionalModel:
    """Read norm(loc, scale) and its like."""
    dist = obj.dist
    shapes, loc, scale = dist._parse_args(*obj.args, **obj.kwds)
    values = tuple(map(_number_or_rows, (*shapes, loc, scale)))
    own = type(getattr(stats, dist.name, None)) is type(dist)  # a subclass may change the density
    if own and dist.name in CLOSED:
        return _closed(*CLOSED[dist.name](values[:-2], values[-2], values[-1]))
    names = [name.strip() for name in dist.shapes.split(",")] if dist.shapes else []
    named = dict(zip((*names, "loc", "scale"), values, strict=True))
    kind = ScipyHistogram if isinstance(dist, stats.rv_histogram) else ScipyModel
    return kind(dist, _parameters(named))


def _old_discrete(obj: Any, stats: Any) -> ConditionalModel:
    """Read poisson(mu) and its like."""
    dist = obj.dist
    shapes, loc, _ = dist._parse_args(*obj.args, **obj.kwds)
    known = type(getattr(stats, dist.name, None)) is type(dist)
    return discrete_model(dist, tuple(map(_number_or_rows, shapes)), _number_or_rows(loc), known)


def _new_style(obj: Any, stats: Any) -> ConditionalModel:
    """Read Normal(mu=..., sigma=...) and what make_distribution makes."""
    if any(base.__name__ == "DiscreteDistribution" for base in type(obj).__mro__):
        given = {name: _number_or_rows(v) for name, v in obj._original_parameters.items()}
        return ScipyCounts(type(obj), _parameters(given))
    values = {name: _number_or_rows(v) for name, v in obj._original_parameters.items()}
    if isinstance(obj, stats.Normal):
        return _closed(Normal, {"mean": values.get("mu", 0.0), "std": values.get("sigma", 1.0)})
    if isinstance(obj, stats.Uniform) and set(values) == {"a", "b"}:
        return _closed(Uniform, {"low": values["a"], "high": values["b"]})
    try:
        type(obj)(**values)
    except (TypeError, ValueError, KeyError) as error:
        raise UnsupportedModelError(
            f"A {type(obj).__name__} of scipy.stats cannot be taken apart into parameters. Use "
            "condgof.from_log_prob(lambda y, x: distribution.logpdf(y), support=...)."
        ) from error
    return ScipyModel(type(obj), _parameters(values))


def _number_or_rows(value: Any) -> FloatArray:
    """Read a parameter; an array of one number serves for all rows."""
    array = np.array(value, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array


def _closed(make: type[Parametric], parameters: dict[str, Any]) -> ConditionalModel:
    bound = any(np.ndim(value) for value in parameters.values())
    return make.bound(**parameters) if bound else make(**parameters)


def _parameters(values: dict[str, FloatArray]) -> dict[str, Parameter]:
    n = max((len(value) for value in values.values() if value.ndim), default=0)
    return {name: Parameter.rowwise(name, value, n) for name, value in values.items()}
