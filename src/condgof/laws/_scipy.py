"""Frozen distributions of scipy.stats, and libraries that hold them: NGBoost, ensembles of qp.

Arrays of parameters, (n,) or (n, 1), make the law of n rows; numbers serve for any number of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._discrete import bernoulli, flat, probabilities
from condgof.laws._families import Normal, NormalMixture
from condgof.laws._functions import NumericalScore
from condgof.laws._known import from_bins
from condgof.laws._law import TINY, Law, Model, as_rows, check_levels, same_as
from condgof.laws._library import comes_from, predicted
from condgof.laws._parameters import LOG_TINY, Independent, Parameter, Parametric, Values

#: Our families, from SciPy's shapes (s), location and scale; counts have no location.
CLOSED: dict[str, Callable[[tuple[AnyArray, ...], AnyArray, AnyArray], Law]] = {
    "norm": lambda s, loc, scale: Normal(mean=loc, std=scale),
    "laplace": lambda s, loc, scale: families.Laplace(loc=loc, scale=scale),
    "t": lambda s, loc, scale: families.StudentT(df=s[0], loc=loc, scale=scale),
    "gamma": lambda s, loc, scale: families.Gamma(shape=s[0], scale=scale, loc=loc),
    "chi2": lambda s, loc, scale: families.Gamma(shape=s[0] / 2, scale=2 * scale, loc=loc),
    "expon": lambda s, loc, scale: families.Exponential(scale=scale, loc=loc),
    "weibull_min": lambda s, loc, scale: families.Weibull(shape=s[0], scale=scale, loc=loc),
    "invgauss": lambda s, loc, scale: families.InverseGaussian(mean=s[0] * scale, shape=scale, loc=loc),
    "lognorm": lambda s, loc, scale: families.LogNormal(mu=np.log(scale), sigma=s[0], loc=loc),
    "beta": lambda s, loc, scale: families.Beta(a=s[0], b=s[1], low=loc, high=loc + scale),
    "uniform": lambda s, loc, scale: families.Uniform(low=loc, high=loc + scale),
    "poisson": lambda s, *_: counts.Poisson(mean=s[0]),
    "nbinom": lambda s, *_: counts.NegativeBinomial(s[0] * (1 - s[1]) / s[1], dispersion=1 / s[0]),
    "binom": lambda s, *_: counts.Binomial(trials=s[0], p=s[1]),
}
#: Counts of statsmodels, the second with more zeros, whose moments SciPy would sum up row by row.
GENERALISED = ("genpoisson_p", "zigenpoisson")
FLAT = "its density is piecewise constant, so that the score would be 0 almost everywhere"
#: What the new distributions of SciPy call methods of the old ones.
NEW = {"ppf": "icdf", "logsf": "logccdf", "std": "standard_deviation"}


def _ask(law: Any, method: str, *values: AnyArray) -> FloatArray:
    """Ask a distribution, old or new; densities may be 0, and logarithms overflow."""
    with np.errstate(all="ignore"):
        answer = getattr(law, method if hasattr(law, method) else NEW[method])(*values)
    return np.asarray(answer, dtype=np.float64)


@dataclass(frozen=True, eq=False, init=False)
class Frozen(Parametric):
    """A family of SciPy with its parameters: `freeze` makes the distribution of them, by name."""

    freeze: Callable[..., Any]

    def __init__(self, freeze: Callable[..., Any], values: dict[str, FloatArray]) -> None:
        object.__setattr__(self, "freeze", freeze)
        # SciPy's names end in an underscore here: some are those of methods, as n is.
        self._read(**{f"{name}_": Parameter(name, value) for name, value in values.items()})

    @property
    def name(self) -> str:
        called = getattr(self.freeze, "name", None) or getattr(self.freeze, "__name__", "distribution")
        return f"{called} of SciPy"

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the median and the distance of the quartiles over 1.35, (n, d_y) each."""
        law, shape = self._law(self._size(), self._d_y), (self._size(), self._d_y)
        low, middle, high = (_ask(law, "ppf", np.full(shape, q)) for q in (0.25, 0.5, 0.75))
        return middle, (high - low) / 1.35

    def _given(self, n: int, d_y: int) -> dict[str, FloatArray]:
        return {p.name: p.values(n, (d_y,), finite=False) for p in self._parameters().values()}

    def _law(self, n: int, d_y: int = 1) -> Any:
        return self.freeze(**self._given(n, d_y))


class _Continuous(Frozen, Independent):
    """A continuous distribution, which itself is (with zeros of its shape) what `_at` returns."""

    def _at(self, n: int, d_y: int) -> Values:
        return self._law(n, d_y), np.broadcast_to(0.0, (n, d_y))

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        return self._ends(self._at(self._size(), self._d_y))

    def _ends(self, p: Any) -> tuple[AnyArray, AnyArray]:
        low, high = p[0].support()
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _log_density(self, y: FloatArray, law: Any, zeros: FloatArray) -> FloatArray:
        return _ask(law, "logpdf", y)

    def _log_tails(self, y: FloatArray, law: Any, zeros: FloatArray) -> tuple[FloatArray, FloatArray]:
        y = y + zeros  # a distribution without parameters does not know its rows
        return np.maximum(_ask(law, "logcdf", y), LOG_TINY), np.maximum(_ask(law, "logsf", y), LOG_TINY)

    def _draw(self, rng: np.random.Generator, law: Any, zeros: FloatArray) -> FloatArray:
        if hasattr(law, "rvs"):
            return np.asarray(law.rvs(size=zeros.shape, random_state=rng), dtype=np.float64)
        return np.asarray(law.sample(() if self._parameters() else zeros.shape, rng=rng), np.float64)

    def _moments(self, law: Any, zeros: FloatArray) -> tuple[FloatArray, FloatArray]:
        return finite_moments(self.name, _ask(law, "mean"), _ask(law, "std"), zeros.shape)

    def quantile(self, levels: Any) -> FloatArray:
        n = self._size()
        return _ask(self._law(n), "ppf", np.tile(check_levels(levels), (n, 1)))


class ScipyLaw(NumericalScore, _Continuous):
    """A continuous distribution without a closed form here: its score is numerical."""


class ScipyHistogram(_Continuous):
    """A piecewise-constant density, which has no score worth the name."""

    WHY_NOT, score = FLAT, Law.score  # which says that there is none


class ScipyCounts(Frozen, counts.Counts):
    """Any discrete distribution on whole numbers."""

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        low, high = self._law(self._size()).support()
        return np.ravel(low).astype(np.float64), np.ravel(high).astype(np.float64)

    def _cdf(self, y: FloatArray) -> FloatArray:
        from scipy.stats import rv_discrete

        law, y = self._law(self._size(y)), np.floor(y)
        if getattr(type(self.freeze), "_cdf", None) is rv_discrete._cdf and np.isfinite(y).all():
            # SciPy would sum up the probabilities below each y anew.
            low = float(np.min(law.support()[0]))
            width = float(np.max(y, initial=low)) - low + 1.0
            if len(y) * width <= 2**22:  # not if there is no lowest
                sums = np.cumsum(_ask(law, "pmf", low + np.arange(width)), axis=1)
                place = np.maximum(y - low, 0.0).astype(np.int64)
                return np.where(y < low, 0.0, np.take_along_axis(sums, place, axis=1))
        return _ask(law, "cdf", y)

    def log_prob(self, y: AnyArray) -> FloatArray:
        values = flat(np.asarray(y)).astype(np.float64)[:, None]
        return _ask(self._law(self._size(values)), "logpmf", values)[:, 0]

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # By inversion: SciPy's own samplers want whole numbers of an integer type for some parameters.
        return self._smallest(np.maximum(rng.random((self._size(), 1)), TINY))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        size = self._size()
        if getattr(self.freeze, "name", "") in GENERALISED:
            given = self._given(size, 1)
            w, mu = given.get("w", 0.0), given["mu"]  # 0 with probability w
            spread = mu * (1.0 + given["alpha"] * mu ** (given["p"] - 1.0)) ** 2
            mean = (1.0 - w) * mu
            std = np.sqrt((1.0 - w) * (spread + mu**2) - mean**2)
            return finite_moments(self.name, given["loc"] + mean, std, (size, 1))
        law = self._law(size)
        if hasattr(law, "stats"):  # not of the new distributions
            mean, variance = law.stats("mv")
            return finite_moments(self.name, mean, np.sqrt(variance), (size, 1))
        return finite_moments(self.name, _ask(law, "mean"), _ask(law, "std"), (size, 1))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        try:
            return self.mean_std()
        except UnsupportedModelError:  # they are not finite
            middle, scale = super().location_scale()
            return middle, np.maximum(1.0, scale)


def finite_moments(name: str, mean: Any, std: Any, shape: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation, broadcast to a shape, or refuse them."""
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        raise UnsupportedModelError(f"{name} has no finite mean and variance.")
    return np.broadcast_to(mean, shape), np.broadcast_to(std, shape)


def from_frozen(obj: Any) -> Law | None:
    """Make a law of a frozen distribution of scipy.stats, or return None for another object."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None or not comes_from(obj, "scipy"):
        return None
    if isinstance(obj, stats.rv_histogram):
        obj = obj()
    if isinstance(obj, (stats.rv_continuous, stats.rv_discrete)):
        give = "Give it parameters: numbers, or arrays with one row for each observation"
        raise InputTypeError(f"scipy.stats.{obj.name} is a family. {give}.")
    if isinstance(getattr(obj, "dist", None), (stats.rv_continuous, stats.rv_discrete)):
        return _old_style(obj, stats)
    if isinstance(obj, type(stats.multivariate_normal([0.0]))):
        return Normal(mean=np.atleast_2d(obj.mean), cov=obj.cov)
    return _new_style(obj, stats) if hasattr(obj, "logccdf") else None


def from_scipy(function: Callable[[Any], Any]) -> Model:
    """Model from a function that returns frozen scipy.stats distributions.

    The score is in closed form for norm, laplace, t, gamma, chi2, expon, invgauss, lognorm, beta and
    uniform; for others it is a numerical derivative, and results tell its error. Parameters of what f(x)
    returns are numbers, or arrays (n,) or (n, 1) with one row for each row of x. A frozen distribution
    itself goes straight to the tests, the law of as many rows as its parameters have.

    Examples
    --------
    >>> import condgof as cg
    >>> from scipy import stats
    >>> model = cg.from_scipy(lambda x: stats.gamma(2.0, scale=x))
    >>> model(np.array([2.0, 2.0])).score(np.array([1.0, 4.0]))
    array([[ 0.5 ],
           [-0.25]])
    """
    if not callable(function):
        kind = type(function).__name__
        raise InputTypeError(f"from_scipy takes a function x → frozen distribution, got {kind}.")
    return Model(partial(_returned, function), "the scipy.stats distribution")


def _returned(function: Callable[[Any], Any], x: Any) -> Law:
    law = from_frozen(function(x))
    if law is None:
        raise InputTypeError("The function of from_scipy must return a frozen distribution.")
    return law


def _old_style(obj: Any, stats: Any) -> Law:
    """Read norm(loc, scale), poisson(mu) and their like."""
    dist: Any = obj.dist
    shapes, *rest = dist._parse_args(*obj.args, **obj.kwds)
    shapes, (loc, scale) = tuple(map(_number_or_rows, shapes)), map(_number_or_rows, rest)
    names = dist.shapes.replace(",", " ").split() if dist.shapes else []
    values = dict(zip((*names, "loc"), (*shapes, loc), strict=True))
    discrete = isinstance(dist, stats.rv_discrete)
    known = type(getattr(stats, dist.name, None)) is type(dist)  # a subclass may change the density
    if known and not (discrete and np.any(loc)):
        if dist.name in CLOSED:
            return CLOSED[dist.name](shapes, loc, scale)
        if dist.name == "bernoulli" and np.ndim(shapes[0]):
            return bernoulli(shapes[0])
    if discrete:
        return ScipyCounts(dist, values)
    kind = ScipyHistogram if isinstance(dist, stats.rv_histogram) else ScipyLaw
    return kind(dist, {**values, "scale": scale})


def _new_style(obj: Any, stats: Any) -> Law:
    """Read Normal(mu=..., sigma=...) and what make_distribution makes."""
    values = {name: _number_or_rows(v) for name, v in obj._original_parameters.items()}
    if any(base.__name__ == "DiscreteDistribution" for base in type(obj).__mro__):
        return ScipyCounts(type(obj), values)
    if isinstance(obj, stats.Normal):
        return Normal(mean=values.get("mu", 0.0), std=values.get("sigma", 1.0))
    if isinstance(obj, stats.Uniform) and set(values) == {"a", "b"}:
        return families.Uniform(low=values["a"], high=values["b"])
    try:
        type(obj)(**values)
    except (TypeError, ValueError, KeyError) as error:
        apart = f"A {type(obj).__name__} of scipy.stats cannot be taken apart into parameters"
        raise UnsupportedModelError(f"{apart}. Pass its logpdf to condgof.from_log_prob.") from error
    return ScipyLaw(type(obj), values)


def _number_or_rows(value: Any) -> FloatArray:
    """Read a parameter; an array of one number serves for all rows."""
    array = np.array(value, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array


def of_ngboost(obj: Any) -> Law | Model:
    """Make a model of a regressor, or a law of what it predicted."""
    name, bases = type(obj).__name__, {base.__name__ for base in type(obj).__mro__}
    if "Distn" in bases:  # before any hasattr, which is true of whatever one asks these
        return _ngboost_law(obj)
    if "NGBoost" not in bases or "NGBSurvival" in bases:
        what = "is of censored times" if "NGBSurvival" in bases else "of NGBoost is no regressor"
        raise UnsupportedModelError(f"{name} {what}. Pass a fitted NGBRegressor.")
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_ngboost_law, obj), name)


def _ngboost_law(obj: Any, x: Any = None) -> Law:
    """Read a predicted distribution: its `params` leave out the degrees of freedom of a t."""
    distribution = obj if x is None else predicted("NGBoost", obj.pred_dist, x)
    bases = [base.__name__ for base in type(distribution).__mro__]
    if bases[0] == "MVN":
        return Normal(mean=distribution.loc, cov=distribution.cov)
    if "ClassificationDistn" in bases:
        return probabilities(distribution.class_probs())
    if (law := from_frozen(vars(distribution).get("dist"))) is None:
        holds = f"{bases[0]} of NGBoost holds no distribution of SciPy"
        raise UnsupportedModelError(f"{holds}. Pass its log-density to condgof.from_log_prob.")
    return law


def of_qp(ensemble: Any) -> Law | None:
    """Make a law of an ensemble: a closed form, or what qp computes."""
    if not (hasattr(ensemble, "npdf") and hasattr(ensemble, "gen_class")):
        return None
    kind, data = ensemble.gen_class.__name__, {**ensemble.metadata, **ensemble.objdata}
    if kind == "mixmod_gen":
        parts = (np.atleast_2d(data[name]) for name in ("weights", "means", "stds"))
        return NormalMixture(*parts)(n=int(ensemble.npdf))
    if kind == "hist_gen":
        edges, density = np.atleast_2d(data["bins"]), np.atleast_2d(data["pdfs"])
        return from_bins(edges, density * np.diff(edges, axis=1))
    from scipy import stats

    family = getattr(stats, kind, None)
    if family is None or not isinstance(ensemble.frozen.dist, type(family)):
        return Interpolated(ensemble, int(ensemble.npdf))
    law = from_frozen(family(**ensemble.frozen.kwds))
    return law and law(n=int(ensemble.npdf))


@dataclass(frozen=True, eq=False)
class Interpolated(Law):
    """What qp interpolates between values: a distribution for each of `count` rows, or one for all."""

    WHY_NOT = "its density is interpolated, with corners where the score jumps"

    ensemble: Any
    count: int

    rows = same_as("count")

    @property
    def name(self) -> str:
        return f"{self.ensemble.gen_class.__name__.removesuffix('_gen')} of qp"

    def take(self, rows: IntArray) -> Interpolated:
        one = self.ensemble.npdf == 1
        return replace(self, ensemble=self.ensemble if one else self.ensemble[rows], count=len(rows))

    def _ask(self, method: str, *values: AnyArray) -> FloatArray:
        """Ask for a number, at values (m,) in each row, or at values (n, m) of the rows' own."""
        shape, one = (values[0].shape if values else (-1, 1)), self.ensemble.npdf == 1
        try:
            # One distribution for all rows answers in the shape of the question.
            answer = _ask(self.ensemble, method, *(np.ravel(v) if one else v for v in values))
        except Exception as error:  # parametrisations lack this and that, and say so in many ways
            why = f"qp could not compute {method} of {self.name} ({error})."
            raise UnsupportedModelError(why) from error
        answer = answer.reshape(shape) if one else answer
        return np.array(np.broadcast_to(answer, (self.n, answer.shape[-1])))

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._ask("logpdf", as_rows(y))[:, 0]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))[:, 0]

    def quantile(self, levels: Any) -> FloatArray:
        return self._ask("ppf", check_levels(levels))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._ask("ppf", rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._ask("mean"), self._ask("std")
        return finite_moments(self.name, mean, std, mean.shape)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        low, middle, high = self.quantile([0.25, 0.5, 0.75]).T[:, :, None]
        return middle, (high - low) / 1.35
