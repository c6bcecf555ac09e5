"""Problems for studies of level and power: the paper's, and others, so that four do not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._counts import Binomial, NegativeBinomial, Poisson
from condgof.laws._discrete import probabilities
from condgof.laws._families import (
    Beta,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    Normal,
    NormalMixture,
    StudentT,
    Uniform,
)
from condgof.laws._functions import from_log_prob
from condgof.laws._law import Law, Model, ModelLike
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


Function: TypeAlias = Callable[[FloatArray], FloatArray]


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
    return np.asarray(np.asarray(x).reshape(len(x), -1).sum(axis=1))


def logistic(x: FloatArray) -> FloatArray:
    """Return a probability that grows with x, (n,)."""
    return np.asarray(1.0 / (1.0 + np.exp(-first(x))))


def growing(level: float = 1.0, rate: float = 0.5) -> Function:
    """Return a positive function of x: level·exp(rate·x), (n,)."""
    return lambda x: np.asarray(level * np.exp(rate * first(x)))


def bump(centre: float, height: float, width: float) -> Function:
    """Return the standard deviation whose square is 1 plus a Gaussian bump at centre·(1, …, 1)."""

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2))))

    return std


def modes(share: Function) -> NormalMixture:
    """Return two well-separated modes, the upper one with probability share(x)."""
    return NormalMixture(
        weights=lambda x: np.column_stack([1.0 - share(x), share(x)]),
        means=lambda x: np.column_stack([first(x) - 3.0, first(x) + 3.0]),
        stds=1.0,
    )


def pair(*columns: Function, rho: Function | None = None, scale: Function | None = None) -> Normal:
    """Return a normal model of two responses with correlation rho(x) and variance scale(x)."""

    def cov(x: FloatArray) -> FloatArray:
        one = np.ones(len(x))
        apart = one * 0.5 if rho is None else rho(x)
        matrix = np.stack([np.stack([one, apart], 1), np.stack([apart, one], 1)], 1)
        return matrix if scale is None else scale(x)[:, None, None] * matrix

    def mean(x: FloatArray) -> FloatArray:
        return np.column_stack([column(x) for column in columns])

    return Normal(mean=mean, cov=cov)


@dataclass(frozen=True, eq=False)
class Noise(Law):
    """The law of y = mean + noise, known by how the noise is drawn and by its log-density."""

    mean: FloatArray
    noise: Callable[[np.random.Generator, int], FloatArray]
    log_density: Function

    @staticmethod
    def around(mean: Function, noise: Any, log_density: Function) -> Model:
        """Return the model of y = mean(x) + noise."""
        return Model(lambda x: Noise(mean(x), noise, log_density), "the model with noise")

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


def _skewed_density(noise: FloatArray) -> FloatArray:
    at = np.maximum(4.0 + 2.0 * noise, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(3.0 * np.log(at) - at - np.log(6.0) + np.log(2.0))


def _heavy_density(noise: FloatArray) -> FloatArray:
    return np.asarray(np.log(3.0 / 8.0) + 0.5 * np.log(2.0) - 2.5 * np.log1p(0.5 * noise**2))


def softmax(count: int, temperature: float = 1.0) -> Model:
    """Return a softmax classifier of two columns of x: standard normal weights, logits over a number."""
    weights = np.random.default_rng(count).standard_normal((2, count))

    def predict(x: FloatArray) -> FloatArray:
        logits = np.asarray(x, dtype=np.float64) @ weights / temperature
        values: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
        return values

    return Model(lambda x: probabilities(predict(x)), "The softmax model")


def grades(slope: float) -> Model:
    """Return a model of five ordered categories: cumulative logits, shifted by x."""
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])

    def predict(x: FloatArray) -> FloatArray:
        below = 1.0 / (1.0 + np.exp(-(cuts - slope * first(x)[:, None])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return Model(lambda x: probabilities(predict(x), ordered=True), "The model of grades")


def _true(name: str, title: str, model: ModelLike, d_x: int = 1, d_y: int = 1) -> Problem:
    """Return a problem where the model is true, with Gaussian x."""
    return Problem(name, title, model, model, gaussian_x(d_x), d_x, d_y, True)


def _wrong(
    name: str, title: str, p: ModelLike, r: ModelLike, d_x: int = 1, d_y: int = 1, draw_x: Any = None
) -> Problem:
    """Return a problem where the model p is wrong, with Gaussian x unless drawn otherwise."""
    return Problem(name, title, p, r, draw_x or gaussian_x(d_x), d_x, d_y, False)


def _paper() -> list[Problem]:
    """The paper's power problems, and those that illustrate its power criterion."""
    line, plane = Normal(mean=first, std=1.0), Normal(mean=row_sum, std=1.0)
    hgm, far = (Normal(mean=row_sum, std=bump(centre, 10.0, 0.8)) for centre in (2.0 / 3.0, 1.5))
    qgm = Normal(mean=lambda x: first(x) + 1.0, std=1.0)
    bent = Normal(mean=lambda x: 0.1 * first(x) ** 2 + first(x) + 1.0, std=1.0)
    half = Normal(mean=lambda x: first(x) / 2.0, std=1.0)
    square_p = Normal(mean=lambda x: first(x) + 0.5 * first(x) ** 2 - 1.0, std=1.0)
    square_r = Normal(mean=lambda x: first(x) + 0.4 * first(x) ** 2 - 1.0, std=1.0)
    spread = Normal(mean=first, std=bump(1.0, 8.0, 0.3))
    aside, between = gaussian_x(1, 2.0), uniform_x(2.0, 3.0)
    return [
        _true("lgm", "Linear Gaussian", Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0), 5),
        _wrong("hgm", "Heteroscedastic Gaussian", hgm, plane, 3),
        _wrong("hgm-far", "Heteroscedastic Gaussian, far", far, plane, 3),
        _wrong("qgm", "Quadratic Gaussian", qgm, bent, draw_x=uniform_x(-2.0, 2.0)),
        _wrong("slope-1d", "Wrong slope", half, line),
        _wrong("qgm-1d", "Quadratic, Gaussian x", square_p, square_r, draw_x=aside),
        _wrong("hgm-1d", "Heteroscedastic", spread, line),
        _wrong("qgm-1d-uniform", "Quadratic, uniform x", square_p, square_r, draw_x=between),
    ]


def _continuous() -> list[Problem]:
    """Ways to be right or wrong about a continuous y that the paper does not look at."""
    spread = Normal(mean=row_sum, std=lambda x: np.exp(0.5 * np.asarray(x)[:, 0]))
    mixture = NormalMixture(
        weights=lambda x: np.column_stack([logistic(x), 1.0 / (1.0 + np.exp(first(x)))]),
        means=lambda x: np.column_stack([first(x) - 1.5, first(x) + 1.5]),
        stds=[0.6, 1.0],
    )
    student = StudentT(df=5.0, loc=row_sum, scale=lambda x: 1.0 + 0.5 * np.abs(first(x)))
    line, plane = Normal(mean=first, std=1.0), Normal(mean=row_sum, std=1.0)
    # Noise of mean 0 and variance 1: Gamma of shape 4 (skewness 1), Student t of 4 degrees of freedom.
    skewed = Noise.around(first, lambda rng, n: (rng.gamma(4.0, size=n) - 4.0) / 2.0, _skewed_density)
    heavy = Noise.around(
        first, lambda rng, n: rng.standard_t(4.0, size=n) / np.sqrt(2.0), _heavy_density
    )
    both: tuple[Function, Function] = (lambda x: x[:, 0], lambda x: x[:, 1])
    apart = Normal(mean=lambda x: np.column_stack([x[:, 0], x[:, 1]]), std=1.0)
    signed = pair(*both, rho=lambda x: 0.6 * np.tanh(2.0 * x[:, 0]))
    equal = modes(lambda x: np.full(len(x), 0.5))
    uneven = modes(lambda x: np.full(len(x), 0.6))
    bent = Normal(mean=lambda x: first(x) + 0.3 * (first(x) ** 2 - 4.0 / 3.0), std=1.0)
    steeper = Normal(mean=lambda x: row_sum(x) + 0.3 * x[:, 0], std=1.0)
    true_pair = pair(both[0], lambda x: x[:, 0] - x[:, 1], scale=lambda x: np.exp(0.3 * x[:, 1]))
    cube = uniform_x(-2.0, 2.0, 5)
    return [
        _true("true-hetero", "True heteroscedastic", spread, 3),
        _true("true-mixture", "True mixture", mixture),
        _true("true-student", "True Student-t", student, 2),
        _wrong("skewed", "Skewed noise", line, skewed),
        _wrong("heavy", "Heavy-tailed noise", line, heavy),
        _wrong("correlation", "Wrong correlation, d_y = 2", apart, signed, 2, 2),
        _wrong("weights", "Wrong mixture weight", equal, uneven),
        _wrong("weights-x", "Weights that depend on x", equal, modes(logistic)),
        _wrong("irrelevant", "Bent mean, 4 irrelevant x", line, bent, 5, draw_x=cube),
        _wrong("ten", "Wrong slope, d_x = 10", plane, steeper, 10),
        _true("true-pair", "True, d_y = 2", true_pair, 2, 2),
    ]


def _closed_forms() -> list[Problem]:
    """True models of y on part of the line, or with a kink; and a shape that is 30% too small."""
    scale, half = growing(), growing(0.5)
    uniform = Uniform(low=first, high=lambda x: first(x) + 1.0 + scale(x))
    inverse = InverseGaussian(mean=scale, shape=2.0)
    gamma, wrong = Gamma(shape=2.0, scale=scale), Gamma(shape=2.6, scale=scale)
    return [
        _true("true-gamma-low", "True Gamma, shape 0.7", Gamma(shape=0.7, scale=scale)),
        _true("true-gamma", "True Gamma, shape 2", gamma),
        _true("true-exponential", "True Exponential", Exponential(scale=scale)),
        _true("true-beta", "True Beta", Beta(a=0.5, b=half)),
        _true("true-lognormal", "True log-normal", LogNormal(mu=first, sigma=0.8)),
        _true("true-uniform", "True Uniform, ends depend on x", uniform),
        _true("true-inverse-gaussian", "True inverse Gaussian", inverse),
        _true("true-laplace", "True Laplace", Laplace(loc=first, scale=scale)),
        _wrong("gamma-shape", "Gamma with a wrong shape", gamma, wrong),
    ]


def _discrete() -> list[Problem]:
    """Classes, ordered categories and counts."""
    mean, share = growing(3.0), Binomial(trials=10, p=logistic)
    small, large = NegativeBinomial(growing(0.4), 1.0), NegativeBinomial(growing(200.0), 0.3)
    poisson = Poisson(mean=mean)
    ratio = from_log_prob(lambda y, x: poisson(x).log_prob(y), support="counts")
    spread = NegativeBinomial(mean, lambda x: 1.0 / mean(x))  # variance = 2·mean
    true = [_true(f"true-softmax-{k}", f"True softmax, {k} classes", softmax(k), 2) for k in (2, 3, 10)]
    sure = [
        _wrong(f"softmax-overconfident-{k}", f"Over-confident softmax, {k} classes", softmax(k, 0.7),
               softmax(k), 2)
        for k in (3, 10)
    ]  # fmt: skip
    return [
        *true,
        _true("true-grades", "True ordered categories", grades(1.0)),
        _true("true-poisson", "True Poisson", Poisson(mean=growing())),
        _true("true-nb-small", "True negative binomial, small", small),
        _true("true-nb-large", "True negative binomial, large", large),
        _true("true-binomial", "True binomial", share),
        # Known by its log-probability alone: the difference Stein operator.
        Problem("true-count-ratio", "True counts, ratios", ratio, poisson, gaussian_x(1), 1, 1, True),
        *sure,
        _wrong("poisson-overdispersed", "Over-dispersed counts", poisson, spread),
        _wrong("grades-flat", "Ordered categories, wrong slope", grades(0.6), grades(1.0)),
    ]


PROBLEMS = {p.name: p for p in (*_paper(), *_continuous(), *_closed_forms(), *_discrete())}


def problem(name: str) -> Problem:
    """Return a named problem.

    Parameters
    ----------
    name : str
        One of `PROBLEMS`. ``lgm``, ``hgm``, ``hgm-far`` (c = 1.5·1) and ``qgm`` are the paper's power
        problems; ``slope-1d``, ``qgm-1d``, ``hgm-1d`` and ``qgm-1d-uniform`` illustrate its power
        criterion. Names that begin with ``true-`` are true models: of y on the line, on part of it, of
        two columns (``true-pair``), of classes, ordered categories and counts. The others are wrong in
        ways that the paper does not look at: noise, correlation, mixture weights, irrelevant x, a shape;
        with a discrete y ``softmax-overconfident-3`` and ``-10`` (logits over 0.7),
        ``poisson-overdispersed`` (variance = 2·mean) and ``grades-flat``.

    Examples
    --------
    >>> problem("qgm").h0
    False
    """
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[name]
