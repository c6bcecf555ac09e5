"""Frozen distributions of scipy.stats, and libraries that hold them: NGBoost, ensembles of qp.

Arrays of parameters, (n,) or (n, 1), make the law of n rows; numbers serve for any number
of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._discrete import bernoulli, flat, probabilities
from condgof.laws._families import Normal, NormalMixture
from condgof.laws._functions import NumericalScore
from condgof.laws._known import from_bins
from condgof.laws._law import ByRow, Law, Model, as_rows, check_levels
from condgof.laws._library import as_table, comes_from
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
    "invgauss": lambda s, loc, scale: families.InverseGaussian(
        mean=s[0] * scale, shape=scale, loc=loc
    ),
    "lognorm": lambda s, loc, scale: families.LogNormal(
        mu=np.log(scale), sigma=s[0], loc=loc
    ),
    "beta": lambda s, loc, scale: families.Beta(a=s[0], b=s[1], low=loc, high=loc + scale),
    "uniform": lambda s, loc, scale: families.Uniform(low=loc, high=loc + scale),
    "poisson": lambda s, *_: counts.Poisson(mean=s[0]),
    "nbinom": lambda s, *_: counts.NegativeBinomial(
        s[0] * (1 - s[1]) / s[1], dispersion=1 / s[0]
    ),
    "binom": lambda s, *_: counts.Binomial(trials=s[0], p=s[1]),
}
FLAT = "its density is piecewise constant, so that the score would be 0 almost everywhere"


def _ask(law: object, method: str, *values: AnyArray) -> FloatArray:
    """Ask a distribution; densities may be 0, and logarithms overflow."""
    with np.errstate(all="ignore"):
        return np.asarray(getattr(law, method)(*values), dtype=np.float64)


@dataclass(frozen=True, eq=False, init=False)
class Frozen(Parametric):
    """A family of SciPy with its parameters: `freeze` makes the distribution of them, by name."""

    freeze: Any

    def __init__(self, freeze: object, values: dict[str, FloatArray]) -> None:
        object.__setattr__(self, "freeze", freeze)
        # SciPy's names end in an underscore here: some are those of methods, as n is.
        self._read(**{f"{name}_": Parameter(name, value) for name, value in values.items()})

    @property
    def name(self) -> str:
        return f"{self.freeze.name} of SciPy"

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the median and the distance of the quartiles over 1.35, (n, d_y) each."""
        law, shape = self._law(self._size(), self._d_y), (self._size(), self._d_y)
        low, middle, high = (_ask(law, "ppf", np.full(shape, q)) for q in (0.25, 0.5, 0.75))
        return middle, (high - low) / 1.35

    def _given(self, n: int, d_y: int) -> dict[str, FloatArray]:
        return {
            p.name: p.values(n, (d_y,), finite=False) for p in self._parameters().values()
        }

    def _law(self, n: int, d_y: int = 1) -> Any:
        return self.freeze(**self._given(n, d_y))


class _Continuous(Frozen, Independent):
    """A continuous distribution, which itself is (with zeros of its shape) what `_at` returns."""

    def _at(self, n: int, d_y: int) -> Values:
        return self._law(n, d_y), np.broadcast_to(0.0, (n, d_y))

    def _ends(self, p: Any) -> tuple[AnyArray, AnyArray]:
        low, high = p[0].support()
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _log_density(self, y: FloatArray, law: object, zeros: FloatArray) -> FloatArray:
        return _ask(law, "logpdf", y)

    def _log_tails(
        self, y: FloatArray, law: object, zeros: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        y = y + zeros  # a distribution without parameters does not know its rows
        return np.maximum(_ask(law, "logcdf", y), LOG_TINY), np.maximum(
            _ask(law, "logsf", y), LOG_TINY
        )

    def _draw(self, rng: np.random.Generator, law: Any, zeros: FloatArray) -> FloatArray:
        return np.asarray(law.rvs(size=zeros.shape, random_state=rng), dtype=np.float64)

    def _moments(self, law: object, zeros: FloatArray) -> tuple[FloatArray, FloatArray]:
        return finite_moments(self.name, _ask(law, "mean"), _ask(law, "std"), zeros.shape)

    def quantile(self, levels: object) -> FloatArray:
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
        if type(self.freeze)._cdf is rv_discrete._cdf and np.isfinite(y).all():
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

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        size = self._size()
        law = self._law(size)
        return finite_moments(
            self.name, _ask(law, "mean"), np.sqrt(_ask(law, "var")), (size, 1)
        )

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        try:
            return self.mean_std()
        except UnsupportedModelError:  # they are not finite
            middle, scale = super().location_scale()
            return middle, np.maximum(1.0, scale)


def finite_moments(
    name: str, mean: Any, std: Any, shape: Any
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation, broadcast to a shape, or refuse them."""
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        raise UnsupportedModelError(f"{name} has no finite mean and variance.")
    return np.broadcast_to(mean, shape), np.broadcast_to(std, shape)


def from_frozen(obj: object) -> Law | None:
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
        return _read(obj, stats)
    if isinstance(obj, type(stats.multivariate_normal([0.0]))):
        return Normal(mean=np.atleast_2d(obj.mean), cov=obj.cov)
    return None


def from_scipy(function: Callable[[Any], Any]) -> Model:
    """Model from a function that returns frozen scipy.stats distributions.

    The score is in closed form for norm, laplace, t, gamma, chi2, expon, invgauss, lognorm,
    beta and uniform; for others it is a numerical derivative, and results tell its error.
    Parameters of what f(x) returns are numbers, or arrays (n,) or (n, 1) with one row for
    each row of x. A frozen distribution itself goes straight to the tests, the law of as
    many rows as its parameters have.

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
        raise InputTypeError(
            f"from_scipy takes a function x → frozen distribution, got {kind}."
        )
    return Model(partial(_returned, function), "the scipy.stats distribution")


def _returned(function: Callable[[Any], Any], x: TableLike) -> Law:
    law = from_frozen(function(x))
    if law is None:
        raise InputTypeError(
            "The function of from_scipy must return a frozen distribution."
        )
    return law


def _read(obj: Any, stats: Any) -> Law:
    """Return the law of norm(loc, scale), poisson(mu) and their like."""
    dist: Any = obj.dist
    shapes, *rest = dist._parse_args(*obj.args, **obj.kwds)
    shapes, (loc, scale) = tuple(map(_number_or_rows, shapes)), map(_number_or_rows, rest)
    names = dist.shapes.replace(",", " ").split() if dist.shapes else []
    values = dict(zip(names, shapes, strict=True))
    if np.any(loc):  # moments of statsmodels' distributions take none
        values["loc"] = loc
    discrete = isinstance(dist, stats.rv_discrete)
    known = type(getattr(stats, dist.name, None)) is type(
        dist
    )  # a subclass may change the density
    if known and not (discrete and np.any(loc)):
        if dist.name in CLOSED:
            return CLOSED[dist.name](shapes, loc, scale)
        if dist.name == "bernoulli" and np.ndim(shapes[0]):
            return bernoulli(shapes[0])
    if discrete:
        return ScipyCounts(dist, values)
    kind = ScipyHistogram if isinstance(dist, stats.rv_histogram) else ScipyLaw
    return kind(dist, {**values, "scale": scale})


def _number_or_rows(value: object) -> FloatArray:
    """Read a parameter; an array of one number serves for all rows."""
    array = np.array(value, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array


def of_ngboost(obj: object) -> Law | Model:
    """Make a model of a regressor, or a law of what it predicted."""
    name, bases = type(obj).__name__, {base.__name__ for base in type(obj).__mro__}
    if "Distn" in bases:  # before any hasattr, which is true of whatever one asks these
        return _ngboost_law(obj)
    if "NGBoost" not in bases or "NGBSurvival" in bases:
        what = (
            "is of censored times"
            if "NGBSurvival" in bases
            else "of NGBoost is no regressor"
        )
        raise UnsupportedModelError(f"{name} {what}. Pass a fitted NGBRegressor.")
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_ngboost_law, obj), name)


def _ngboost_law(obj: Any, x: TableLike | None = None) -> Law:
    """Read a predicted distribution: its `params` leave out the degrees of freedom of a t."""
    distribution = obj if x is None else obj.pred_dist(as_table(x))
    bases = [base.__name__ for base in type(distribution).__mro__]
    if bases[0] == "MVN":
        return Normal(mean=distribution.loc, cov=distribution.cov)
    if "ClassificationDistn" in bases:
        return probabilities(distribution.class_probs())
    if (law := from_frozen(vars(distribution).get("dist"))) is None:
        holds = f"{bases[0]} of NGBoost holds no distribution of SciPy"
        raise UnsupportedModelError(
            f"{holds}. Pass its log-density to condgof.from_log_prob."
        )
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
        return Interpolated(ensemble, np.arange(int(ensemble.npdf)))
    law = from_frozen(family(**ensemble.frozen.kwds))
    return law and law(n=int(ensemble.npdf))


@dataclass(frozen=True, eq=False)
class Interpolated(ByRow):
    """What qp interpolates between values: of an ensemble the distributions `ids`."""

    WHY_NOT = "its density is interpolated, with corners where the score jumps"
    EACH = ("ids",)

    ensemble: Any
    ids: IntArray

    @property
    def name(self) -> str:
        return f"{self.ensemble.gen_class.__name__.removesuffix('_gen')} of qp"

    def _ask(self, method: str, *values: AnyArray) -> FloatArray:
        """Ask for a number, at values (m,) in each row, or at values (n, m) of the rows' own."""
        ids = np.resize(
            self.ids, max(2, self.n)
        )  # for a single one qp answers in other shapes
        try:
            given = (np.broadcast_to(v, (len(ids), v.shape[-1])) for v in values)
            return _ask(self.ensemble[ids], method, *given)[: self.n]
        except (
            Exception
        ) as error:  # parametrisations lack this and that, and say so in many ways
            why = f"qp could not compute {method} of {self.name} ({error})."
            raise UnsupportedModelError(why) from error

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._ask("logpdf", as_rows(y))[:, 0]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))[:, 0]

    def quantile(self, levels: object) -> FloatArray:
        return self._ask("ppf", check_levels(levels))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._ask("ppf", rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._ask("mean"), self._ask("std")
        return finite_moments(self.name, mean, std, mean.shape)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        low, middle, high = self.quantile([0.25, 0.5, 0.75]).T[:, :, None]
        return middle, (high - low) / 1.35
