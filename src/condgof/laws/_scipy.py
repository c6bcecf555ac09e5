"""Frozen distributions of scipy.stats.

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

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import InputTypeError, UnsupportedModelError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._discrete import bernoulli, flat
from condgof.laws._families import Normal
from condgof.laws._functions import NumericalScore
from condgof.laws._law import Law, Model, check_levels
from condgof.laws._library import comes_from
from condgof.laws._parameters import LOG_TINY, Independent, Parameter, Parametric, Values

#: Distributions of scipy.stats that are closed forms here, from their shape parameters (s),
#: location and scale. Those of counts are looked up only where the location is 0.
CLOSED_FORMS: dict[str, Callable[[tuple[AnyArray, ...], AnyArray, AnyArray], Law]] = {
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
    "poisson": lambda s, loc, scale: counts.Poisson(mean=s[0]),
    "nbinom": lambda s, loc, scale: counts.NegativeBinomial(
        mean=s[0] * (1 - s[1]) / s[1], dispersion=1 / s[0]
    ),
    "binom": lambda s, loc, scale: counts.Binomial(trials=s[0], p=s[1]),
}
#: Why a piecewise constant density has no score; also for other libraries.
FLAT = "its density is piecewise constant, so that the score would be 0 almost everywhere"
#: Interquartile range of a normal distribution, in standard deviations.
NORMAL_IQR = 1.35
#: Most probabilities (rows times values of y) that are summed in one table for a CDF.
MAX_TABLE = 2**22


def call_quietly(distribution: object, method: str, *values: AnyArray) -> FloatArray:
    """Call a method without warnings: densities may be 0, and logarithms overflow."""
    with np.errstate(all="ignore"):
        return np.asarray(getattr(distribution, method)(*values), dtype=np.float64)


@dataclass(frozen=True, eq=False, init=False)
class Frozen(Parametric):
    """A family of SciPy with its parameters, which are numbers or have a row each."""

    #: The family, such as `scipy.stats.gumbel_r`; called with parameters by name, it makes
    #: the frozen distribution.
    freeze: Any

    def __init__(self, freeze: object, values: dict[str, FloatArray]) -> None:
        object.__setattr__(self, "freeze", freeze)
        # SciPy's names end in an underscore here: some are those of methods, as n is.
        self._read(**{f"{name}_": Parameter(name, value) for name, value in values.items()})

    @property
    def name(self) -> str:
        return f"{self.freeze.name} of SciPy"

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the median, and the interquartile range over a normal's, (n, d_y) each."""
        shape = (self._size(), self._d_y)
        frozen = self._frozen(*shape)
        low, middle, high = (
            call_quietly(frozen, "ppf", np.full(shape, level))
            for level in (0.25, 0.5, 0.75)
        )
        return middle, (high - low) / NORMAL_IQR

    def _frozen(self, n: int, d_y: int = 1) -> Any:
        """Return SciPy's distribution, with parameters of shape (n, d_y)."""
        values = {
            parameter.name: parameter.values(n, (d_y,), finite=False)
            for parameter in self._parameters().values()
        }
        return self.freeze(**values)


class _Continuous(Frozen, Independent):
    """A continuous distribution: `_at` returns SciPy's own, and zeros of shape (n, d_y)."""

    def _at(self, n: int, d_y: int) -> Values:
        return self._frozen(n, d_y), np.broadcast_to(0.0, (n, d_y))

    def _ends(self, p: Any) -> tuple[AnyArray, AnyArray]:
        low, high = p[0].support()
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _log_density(self, y: FloatArray, law: object, zeros: FloatArray) -> FloatArray:
        return call_quietly(law, "logpdf", y)

    def _log_tails(
        self, y: FloatArray, law: object, zeros: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        y = y + zeros  # a distribution without parameters does not know its rows
        lower = np.maximum(call_quietly(law, "logcdf", y), LOG_TINY)
        upper = np.maximum(call_quietly(law, "logsf", y), LOG_TINY)
        return lower, upper

    def _draw(self, rng: np.random.Generator, law: Any, zeros: FloatArray) -> FloatArray:
        return np.asarray(law.rvs(size=zeros.shape, random_state=rng), dtype=np.float64)

    def _moments(self, law: object, zeros: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean = call_quietly(law, "mean")
        std = call_quietly(law, "std")
        return finite_moments(self.name, mean, std, zeros.shape)

    def quantile(self, levels: object) -> FloatArray:
        n = self._size()
        return call_quietly(self._frozen(n), "ppf", np.tile(check_levels(levels), (n, 1)))


class ScipyLaw(NumericalScore, _Continuous):
    """A continuous distribution without a closed form here: its score is numerical."""


class ScipyHistogram(_Continuous):
    """A piecewise-constant density, which has no score worth the name."""

    WHY_NOT = FLAT
    score = Law.score  # which raises, and `can("score")` is false


class ScipyCounts(Frozen, counts.Counts):
    """Any discrete distribution on whole numbers."""

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        low, high = self._frozen(self._size()).support()
        return np.ravel(low).astype(np.float64), np.ravel(high).astype(np.float64)

    def _cdf(self, y: FloatArray) -> FloatArray:
        from scipy.stats import rv_discrete

        frozen = self._frozen(self._size(y))
        y = np.floor(y)
        if type(self.freeze)._cdf is rv_discrete._cdf and np.isfinite(y).all():
            # The family has no CDF of its own: SciPy would sum the probabilities below each
            # y anew, and one table of sums serves all y of a row.
            low = float(np.min(frozen.support()[0]))
            width = float(np.max(y, initial=low)) - low + 1.0
            if len(y) * width <= MAX_TABLE:  # width is infinite where y has no lowest value
                pmf = call_quietly(frozen, "pmf", low + np.arange(width))
                sums = np.cumsum(pmf, axis=1)
                place = np.maximum(y - low, 0.0).astype(np.int64)
                return np.where(y < low, 0.0, np.take_along_axis(sums, place, axis=1))
        return call_quietly(frozen, "cdf", y)

    def log_prob(self, y: AnyArray) -> FloatArray:
        values = flat(np.asarray(y)).astype(np.float64)[:, None]
        return call_quietly(self._frozen(self._size(values)), "logpmf", values)[:, 0]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        n = self._size()
        frozen = self._frozen(n)
        mean = call_quietly(frozen, "mean")
        std = np.sqrt(call_quietly(frozen, "var"))
        return finite_moments(self.name, mean, std, (n, 1))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        try:
            return self.mean_std()
        except UnsupportedModelError:  # they are not finite
            middle, scale = super().location_scale()
            return middle, np.maximum(1.0, scale)


def finite_moments(
    name: str, mean: Any, std: Any, shape: Any
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation, broadcast to a shape; refuse infinite ones."""
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        raise UnsupportedModelError(f"{name} has no finite mean and variance.")
    return np.broadcast_to(mean, shape), np.broadcast_to(std, shape)


def from_frozen(obj: object) -> Law | None:
    """Make a law of a frozen distribution of scipy.stats; None for any other object."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None or not comes_from(obj, "scipy"):
        return None
    if isinstance(obj, stats.rv_histogram):
        obj = obj()
    if isinstance(obj, (stats.rv_continuous, stats.rv_discrete)):
        give = "Give it parameters: numbers, or arrays with one row for each observation"
        raise InputTypeError(f"scipy.stats.{obj.name} is a family. {give}.")
    if isinstance(getattr(obj, "dist", None), (stats.rv_continuous, stats.rv_discrete)):
        return _read_frozen(obj, stats)
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


def _read_frozen(obj: Any, stats: Any) -> Law:
    """Return the law of a frozen univariate distribution, such as norm(loc, scale)."""
    dist: Any = obj.dist
    raw_shapes, raw_loc, raw_scale = dist._parse_args(*obj.args, **obj.kwds)
    shapes = tuple(_number_or_rows(value) for value in raw_shapes)
    loc = _number_or_rows(raw_loc)
    scale = _number_or_rows(raw_scale)
    discrete = isinstance(dist, stats.rv_discrete)
    # A subclass of SciPy's own distribution may change its density.
    unchanged = type(getattr(stats, dist.name, None)) is type(dist)
    if unchanged and not (discrete and np.any(loc)):
        if dist.name in CLOSED_FORMS:
            return CLOSED_FORMS[dist.name](shapes, loc, scale)
        if dist.name == "bernoulli" and np.ndim(shapes[0]):
            return bernoulli(shapes[0])
    names = dist.shapes.replace(",", " ").split() if dist.shapes else []
    values = dict(zip(names, shapes, strict=True))
    if np.any(loc):  # moments of statsmodels' distributions take no location
        values["loc"] = loc
    if discrete:
        return ScipyCounts(dist, values)
    values["scale"] = scale
    if isinstance(dist, stats.rv_histogram):
        return ScipyHistogram(dist, values)
    return ScipyLaw(dist, values)


def _number_or_rows(value: object) -> FloatArray:
    """Read a parameter; an array of one number serves for all rows."""
    array = np.array(value, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array
