"""Problems for studies of level and power: the paper's, and others, so that four do not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import (
    Beta,
    Binomial,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    Law,
    LogNormal,
    Model,
    ModelLike,
    NegativeBinomial,
    Normal,
    NormalMixture,
    Poisson,
    StudentT,
    Uniform,
    from_log_prob,
    probabilities,
)
from condgof.study._names import unknown


@dataclass(frozen=True, eq=False)
class Problem:
    """A model p, the truth r, and the distribution of x.

    Parameters
    ----------
    name : str
        The name it is asked for by.
    title : str
        What a figure calls it.
    p, r : Law or Model
        The model under test and the true conditional density.
    draw_x : callable
        (n, rng) → x of shape (n, d_x).
    d_x, d_y : int
        Dimensions.
    h0 : bool
        Whether the null hypothesis holds: p is r.
    """

    name: str
    title: str
    p: ModelLike
    r: ModelLike
    draw_x: Callable[[int, np.random.Generator], FloatArray]
    d_x: int
    d_y: int
    h0: bool

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw a sample of n rows from the truth: x of shape (n, d_x) and y of shape (n, d_y).

        Examples
        --------
        >>> from condgof.study import problem
        >>> x, y = problem("lgm").draw(10, np.random.default_rng(0))
        >>> x.shape, y.shape
        ((10, 5), (10, 1))
        """
        x = self.draw_x(n, rng)
        return x, self.r(x).sample(rng)

    def trial(self, n: int, rng: np.random.Generator) -> tuple[ModelLike, Any, FloatArray]:
        """Return what one trial of a study tests: the model, and a sample x, y of n rows."""
        return self.p, *self.draw(n, rng)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # The library's own problems hold functions without a name; workers know them by theirs.
        if PROBLEMS.get(self.name) is self:
            return problem, (self.name,)
        return super().__reduce_ex__(protocol)


def gaussian_x(d_x: int, mean: float = 0.0) -> Callable[[int, np.random.Generator], FloatArray]:
    """Return a drawer of x ~ N(mean·1, I), (n, d_x)."""
    return lambda n, rng: mean + rng.standard_normal((n, d_x))


def uniform_x(low: float, high: float, d_x: int = 1) -> Callable[[int, np.random.Generator], FloatArray]:
    """Return a drawer of x uniform on a cube, (n, d_x)."""
    return lambda n, rng: rng.uniform(low, high, (n, d_x))


def first(x: FloatArray) -> FloatArray:
    """Return x as (n,) where it has one column, whichever shape it came in."""
    return np.asarray(x, dtype=np.float64).reshape(len(x), -1)[:, 0]


def row_sum(x: FloatArray) -> FloatArray:
    """Return the sum of each row of x, (n,)."""
    values: FloatArray = np.asarray(x).reshape(len(x), -1).sum(axis=1)
    return values


def _true(name: str, title: str, model: ModelLike, d_x: int = 1, d_y: int = 1) -> Problem:
    """Return a problem where the model is true, with Gaussian x."""
    return Problem(name, title, model, model, gaussian_x(d_x), d_x, d_y, True)


def _wrong(name: str, title: str, p: ModelLike, r: ModelLike, d_x: int = 1, d_y: int = 1) -> Problem:
    """Return a problem where the model is wrong, with Gaussian x."""
    return Problem(name, title, p, r, gaussian_x(d_x), d_x, d_y, False)


def _bump(centre: float, height: float, width: float) -> Callable[[FloatArray], FloatArray]:
    """Return the standard deviation whose square is 1 plus a Gaussian bump at centre·(1, …, 1)."""

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        values: FloatArray = np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2)))
        return values

    return std


def _lgm() -> Problem:
    return _true("lgm", "Linear Gaussian", Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0), 5)


def _hgm(name: str, title: str, centre: float) -> Problem:
    p = Normal(mean=row_sum, std=_bump(centre, 10.0, 0.8))
    return _wrong(name, title, p, Normal(mean=row_sum, std=1.0), 3)


def _qgm() -> Problem:
    p = Normal(mean=lambda x: first(x) + 1.0, std=1.0)
    r = Normal(mean=lambda x: 0.1 * first(x) ** 2 + first(x) + 1.0, std=1.0)
    return Problem("qgm", "Quadratic Gaussian", p, r, uniform_x(-2.0, 2.0), 1, 1, False)


def _illustrations() -> list[Problem]:
    line = Normal(mean=first, std=1.0)
    half = Normal(mean=lambda x: first(x) / 2.0, std=1.0)
    quadratic_p = Normal(mean=lambda x: first(x) + 0.5 * first(x) ** 2 - 1.0, std=1.0)
    quadratic_r = Normal(mean=lambda x: first(x) + 0.4 * first(x) ** 2 - 1.0, std=1.0)
    bump = Normal(mean=first, std=_bump(1.0, 8.0, 0.3))
    return [
        _wrong("slope-1d", "Wrong slope", half, line),
        Problem(
            "qgm-1d", "Quadratic, Gaussian x", quadratic_p, quadratic_r,
            gaussian_x(1, 2.0), 1, 1, False,
        ),
        _wrong("hgm-1d", "Heteroscedastic", bump, line),
        Problem(
            "qgm-1d-uniform", "Quadratic, uniform x", quadratic_p, quadratic_r,
            uniform_x(2.0, 3.0), 1, 1, False,
        ),
    ]  # fmt: skip


def _true_models() -> list[Problem]:
    """Problems where the model is true, for studies of level."""
    spread = Normal(mean=row_sum, std=lambda x: np.exp(0.5 * np.asarray(x)[:, 0]))
    modes = NormalMixture(
        weights=lambda x: np.column_stack(
            [1.0 / (1.0 + np.exp(-first(x))), 1.0 / (1.0 + np.exp(first(x)))]
        ),
        means=lambda x: np.column_stack([first(x) - 1.5, first(x) + 1.5]),
        stds=[0.6, 1.0],
    )
    heavy = StudentT(df=5.0, loc=row_sum, scale=lambda x: 1.0 + 0.5 * np.abs(first(x)))
    return [
        _true("true-hetero", "True heteroscedastic", spread, 3),
        _true("true-mixture", "True mixture", modes),
        _true("true-student", "True Student-t", heavy, 2),
    ]


@dataclass(frozen=True, eq=False)
class Noise(Law):
    """The law of y = mean + noise, known by how the noise is drawn and by its log-density."""

    mean: FloatArray
    noise: Callable[[np.random.Generator, int], FloatArray]
    log_density: Callable[[FloatArray], FloatArray]

    @property
    def rows(self) -> int | None:
        """Number of rows."""
        return len(self.mean)

    def take(self, rows: IntArray) -> Noise:
        """Return the law of some rows."""
        return replace(self, mean=self.mean[rows])

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log r(y|x), (n,); −∞ where the noise cannot be."""
        return self.log_density(np.asarray(y).reshape(self.n, -1)[:, 0] - self.mean)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw one y for each row, (n, 1)."""
        values: FloatArray = self.mean + self.noise(rng, self.n)
        return values[:, None]


def _skewed(rng: np.random.Generator, n: int) -> FloatArray:
    """Gamma noise of shape 4 with mean 0 and variance 1: skewness 1."""
    values: FloatArray = (rng.gamma(4.0, size=n) - 4.0) / 2.0
    return values


def _skewed_density(noise: FloatArray) -> FloatArray:
    at = np.maximum(4.0 + 2.0 * noise, 0.0)
    with np.errstate(divide="ignore"):
        values: FloatArray = 3.0 * np.log(at) - at - np.log(6.0) + np.log(2.0)
    return values


def _heavy(rng: np.random.Generator, n: int) -> FloatArray:
    """Student-t noise with 4 degrees of freedom and variance 1."""
    values: FloatArray = rng.standard_t(4.0, size=n) / np.sqrt(2.0)
    return values


def _heavy_density(noise: FloatArray) -> FloatArray:
    values: FloatArray = np.log(3.0 / 8.0) + 0.5 * np.log(2.0) - 2.5 * np.log1p(0.5 * noise**2)
    return values


def _noise_problems() -> list[Problem]:
    line = Normal(mean=first, std=1.0)
    skewed = Model(lambda x: Noise(first(x), _skewed, _skewed_density), "skewed noise")
    heavy = Model(lambda x: Noise(first(x), _heavy, _heavy_density), "heavy noise")
    return [
        _wrong("skewed", "Skewed noise", line, skewed),
        _wrong("heavy", "Heavy-tailed noise", line, heavy),
    ]


def _correlated() -> Problem:
    """The coordinates of y are correlated, 0.6 on one side of x and −0.6 on the other."""

    def mean(x: FloatArray) -> FloatArray:
        return np.column_stack([x[:, 0], x[:, 1]])

    def cov(x: FloatArray) -> FloatArray:
        rho = 0.6 * np.tanh(2.0 * x[:, 0])
        return np.stack([np.stack([np.ones(len(x)), rho], 1), np.stack([rho, np.ones(len(x))], 1)], 1)

    p, r = Normal(mean=mean, std=1.0), Normal(mean=mean, cov=cov)
    return _wrong("correlation", "Wrong correlation, d_y = 2", p, r, 2, 2)


def _modes(share: Callable[[FloatArray], FloatArray]) -> NormalMixture:
    """Two well-separated modes, the upper one with probability share(x)."""
    return NormalMixture(
        weights=lambda x: np.column_stack([1.0 - share(x), share(x)]),
        means=lambda x: np.column_stack([first(x) - 3.0, first(x) + 3.0]),
        stds=1.0,
    )


def _weights() -> list[Problem]:
    p = _modes(lambda x: np.full(len(x), 0.5))
    wrong = _modes(lambda x: np.full(len(x), 0.6))
    depends = _modes(lambda x: 1.0 / (1.0 + np.exp(-first(x))))
    return [
        _wrong("weights", "Wrong mixture weight", p, wrong),
        _wrong("weights-x", "Weights that depend on x", p, depends),
    ]


def _many_covariates() -> list[Problem]:
    """A bent mean beside irrelevant covariates, and one wrong slope among ten."""
    bent_p = Normal(mean=first, std=1.0)
    bent_r = Normal(mean=lambda x: first(x) + 0.3 * (first(x) ** 2 - 4.0 / 3.0), std=1.0)
    ten_p = Normal(mean=row_sum, std=1.0)
    ten_r = Normal(mean=lambda x: row_sum(x) + 0.3 * x[:, 0], std=1.0)
    uniform = uniform_x(-2.0, 2.0, 5)
    return [
        Problem("irrelevant", "Bent mean, 4 irrelevant x", bent_p, bent_r, uniform, 5, 1, False),
        _wrong("ten", "Wrong slope, d_x = 10", ten_p, ten_r, 10),
    ]


def _true_pair() -> Problem:
    """A true model with two correlated responses."""

    def mean(x: FloatArray) -> FloatArray:
        return np.column_stack([x[:, 0], x[:, 0] - x[:, 1]])

    def cov(x: FloatArray) -> FloatArray:
        scale = np.exp(0.3 * x[:, 1])
        shared = np.array([[1.0, 0.5], [0.5, 1.0]])
        values: FloatArray = scale[:, None, None] * shared
        return values

    return _true("true-pair", "True, d_y = 2", Normal(mean=mean, cov=cov), 2, 2)


def _growing(x: FloatArray) -> FloatArray:
    """A positive number that depends on x."""
    values: FloatArray = np.exp(0.5 * first(x))
    return values


def _closed_forms() -> list[Problem]:
    """True models of y on part of the line, or with a kink; and a shape that is 30% too small."""
    uniform = Uniform(low=first, high=lambda x: first(x) + 1.0 + _growing(x))
    return [
        _true("true-gamma-low", "True Gamma, shape 0.7", Gamma(shape=0.7, scale=_growing)),
        _true("true-gamma", "True Gamma, shape 2", Gamma(shape=2.0, scale=_growing)),
        _true("true-exponential", "True Exponential", Exponential(scale=_growing)),
        _true("true-beta", "True Beta", Beta(a=0.5, b=lambda x: 0.5 * _growing(x))),
        _true("true-lognormal", "True log-normal", LogNormal(mu=first, sigma=0.8)),
        _true("true-uniform", "True Uniform, ends depend on x", uniform),
        _true(
            "true-inverse-gaussian", "True inverse Gaussian", InverseGaussian(mean=_growing, shape=2.0)
        ),
        _true("true-laplace", "True Laplace", Laplace(loc=first, scale=_growing)),
        _wrong(
            "gamma-shape",
            "Gamma with a wrong shape",
            Gamma(shape=2.0, scale=_growing),
            Gamma(shape=2.6, scale=_growing),
        ),
    ]


def _softmax(count: int, temperature: float = 1.0) -> Model:
    """Return a softmax classifier of two columns of x: standard normal weights, logits over a number."""
    weights = np.random.default_rng(count).standard_normal((2, count))

    def predict(x: FloatArray) -> FloatArray:
        logits = np.asarray(x, dtype=np.float64) @ weights / temperature
        values: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
        return values

    return Model(lambda x: probabilities(predict(x)), "The softmax model")


def _grades(slope: float) -> Model:
    """Return a model of five ordered categories: cumulative logits, shifted by x."""
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])

    def predict(x: FloatArray) -> FloatArray:
        below = 1.0 / (1.0 + np.exp(-(cuts - slope * first(x)[:, None])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return Model(lambda x: probabilities(predict(x), ordered=True), "The model of grades")


def _mean(level: float) -> Callable[[FloatArray], FloatArray]:
    """Return a positive mean that depends on x."""
    return lambda x: level * _growing(x)


def _unnormalised() -> Problem:
    """A Poisson model known through its log-probability alone: the difference Stein operator."""
    truth = Poisson(mean=_mean(3.0))
    model = from_log_prob(lambda y, x: truth(x).log_prob(y), support="counts")
    return Problem("true-count-ratio", "True counts, ratios", model, truth, gaussian_x(1), 1, 1, True)


def _true_discrete() -> list[Problem]:
    classes = [
        _true(f"true-softmax-{k}", f"True softmax, {k} classes", _softmax(k), 2) for k in (2, 3, 10)
    ]
    share = Binomial(trials=10, p=lambda x: 1.0 / (1.0 + np.exp(-first(x))))
    return [
        *classes,
        _true("true-grades", "True ordered categories", _grades(1.0)),
        _true("true-poisson", "True Poisson", Poisson(mean=_mean(1.0))),
        _true("true-nb-small", "True negative binomial, small", NegativeBinomial(_mean(0.4), 1.0)),
        _true("true-nb-large", "True negative binomial, large", NegativeBinomial(_mean(200.0), 0.3)),
        _true("true-binomial", "True binomial", share),
        _unnormalised(),
    ]


def _wrong_discrete() -> list[Problem]:
    confident = [
        _wrong(
            f"softmax-overconfident-{k}",
            f"Over-confident softmax, {k} classes",
            _softmax(k, 0.7),
            _softmax(k),
            2,
        )
        for k in (3, 10)
    ]
    mean = _mean(3.0)
    spread = NegativeBinomial(mean, lambda x: 1.0 / mean(x))  # variance = 2·mean
    return [
        *confident,
        _wrong("poisson-overdispersed", "Over-dispersed counts", Poisson(mean), spread),
        _wrong("grades-flat", "Ordered categories, wrong slope", _grades(0.6), _grades(1.0)),
    ]


def _all() -> dict[str, Problem]:
    problems = [
        _lgm(),
        _hgm("hgm", "Heteroscedastic Gaussian", 2.0 / 3.0),
        _hgm("hgm-far", "Heteroscedastic Gaussian, far", 1.5),
        _qgm(),
        *_illustrations(),
        *_true_models(),
        *_noise_problems(),
        _correlated(),
        *_weights(),
        *_many_covariates(),
        _true_pair(),
        *_closed_forms(),
        *_true_discrete(),
        *_wrong_discrete(),
    ]
    return {p.name: p for p in problems}


PROBLEMS = _all()


def problem(name: str) -> Problem:
    """Return a named problem.

    Parameters
    ----------
    name : str
        ``lgm``, ``hgm``, ``hgm-far`` (c = 1.5·1) and ``qgm`` are the paper's power problems;
        ``slope-1d``, ``qgm-1d``, ``hgm-1d`` and ``qgm-1d-uniform`` illustrate its power criterion;
        ``true-hetero``, ``true-mixture``, ``true-student`` and ``true-pair`` (d_y = 2) are true
        models, and so are those on part of the line, ``true-gamma-low`` (shape 0.7),
        ``true-gamma`` (shape 2), ``true-exponential``, ``true-beta``, ``true-lognormal`` and
        ``true-uniform``, and ``true-laplace``; ``gamma-shape`` is a Gamma with a wrong shape;
        ``skewed``, ``heavy``, ``correlation``, ``weights``, ``weights-x``, ``irrelevant``
        and ``ten`` are wrong in ways that the paper does not look at. With a discrete y:
        ``true-softmax-2``, ``-3`` and ``-10``, ``true-grades`` (five ordered categories),
        ``true-poisson``, ``true-nb-small``, ``true-nb-large``, ``true-binomial`` and
        ``true-count-ratio`` (known by ratios of probabilities) are true models,
        ``softmax-overconfident-3`` and ``-10`` (logits over 0.7), ``poisson-overdispersed``
        (variance = 2·mean) and ``grades-flat`` are not.

    Examples
    --------
    >>> problem("qgm").h0
    False
    """
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[name]
