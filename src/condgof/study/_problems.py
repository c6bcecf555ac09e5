"""Problems for studies of level and power: the paper's, and others.

Each problem is written as its formulas: the model p(y|x) under test, the truth r(y|x) that
y is drawn from, and the distribution of x. N(a, b) is the normal distribution with mean a
and *variance* b, as in the paper; x₁ is the first column of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from condgof._typing import FloatArray
from condgof.laws import ModelLike, from_log_prob, probabilities
from condgof.models import (
    Beta,
    Binomial,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    Model,
    NegativeBinomial,
    Normal,
    NormalMixture,
    Poisson,
    StudentT,
    Uniform,
)
from condgof.study._names import unknown_name
from condgof.study._problem import Problem

#: A parameter of a model as a function of x (n, d_x): (n,), or one array a row.
Function: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class NormalX:
    """Independent columns, each N(mean, 1)."""

    columns: int = 1
    mean: float = 0.0

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.mean + rng.standard_normal((n, self.columns))


@dataclass(frozen=True)
class UniformX:
    """Independent columns, each uniform on [low, high]."""

    low: float
    high: float
    columns: int = 1

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(self.low, self.high, (n, self.columns))


#: One standard normal column: the x of a problem that says nothing else.
STANDARD_X = NormalX()


def true_model(
    name: str, title: str, model: ModelLike, *, x: NormalX = STANDARD_X, d_y: int = 1
) -> Problem:
    """Return a problem whose model is the truth: rejections show the level of a test.

    `x` draws x (n, d_x), and `d_y` is the number of columns of y.
    """
    return Problem(
        name=name,
        title=title,
        p=model,
        r=model,
        draw_x=x,
        d_x=x.columns,
        d_y=d_y,
        h0=True,
    )


def wrong_model(
    name: str,
    title: str,
    *,
    model: ModelLike,
    truth: ModelLike,
    x: NormalX | UniformX = STANDARD_X,
    d_y: int = 1,
) -> Problem:
    """Return a problem whose model is not true: rejections show the power of a test.

    y is drawn from `truth`; the rest is as in `true_model`.
    """
    return Problem(
        name=name,
        title=title,
        p=model,
        r=truth,
        draw_x=x,
        d_x=x.columns,
        d_y=d_y,
        h0=False,
    )


# The functions of x that problems are made of. All take x of shape (n, d_x), or (n,) where
# it has one column.


def x1(x: FloatArray) -> FloatArray:
    """Return the first column, (n,)."""
    return np.asarray(x, dtype=np.float64).reshape(len(x), -1)[:, 0]


def row_sum(x: FloatArray) -> FloatArray:
    """Return Σ_j x_j, (n,)."""
    return np.asarray(np.asarray(x).reshape(len(x), -1).sum(axis=1))


def logistic(x: FloatArray) -> FloatArray:
    """Return 1/(1 + exp(−x₁)), (n,)."""
    return np.asarray(1.0 / (1.0 + np.exp(-x1(x))))


def exp_half(factor: float = 1.0) -> Function:
    """Return the function factor·exp(x₁/2)."""
    return lambda x: np.asarray(factor * np.exp(0.5 * x1(x)))


def bump_std(*, centre: float, height: float, width: float) -> Function:
    """Return a standard deviation with a bump at c = centre·(1, …, 1).

    Its square is 1 + height·exp(−‖x − c‖² / (2·width²)).
    """

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2))))

    return std


def covariance(
    *, correlation: Function | float = 0.5, variance: Function | float = 1.0
) -> Function:
    """Return the covariance matrix of two columns of y as a function of x, (n, 2, 2).

    Both columns have the same variance.
    """

    def cov(x: FloatArray) -> FloatArray:
        one = np.ones(len(x))
        rho = one * (correlation(x) if callable(correlation) else correlation)
        scale = one * (variance(x) if callable(variance) else variance)
        first_row = np.stack([one, rho], axis=1)
        second_row = np.stack([rho, one], axis=1)
        correlations = np.stack([first_row, second_row], axis=1)
        return np.asarray(scale[:, None, None] * correlations)

    return cov


def two_modes(share: Function) -> NormalMixture:
    """Return (1 − share(x))·N(x₁ − 3, 1) + share(x)·N(x₁ + 3, 1).

    The modes are 6 sds apart, so that the score of either says nothing of its share.
    """
    return NormalMixture(
        weights=lambda x: np.column_stack([1.0 - share(x), share(x)]),
        means=lambda x: np.column_stack([x1(x) - 3.0, x1(x) + 3.0]),
        stds=1.0,
    )


def constant(value: float) -> Function:
    """Return the function that is `value` in each row."""
    return lambda x: np.full(len(x), value)


def softmax(classes: int, *, temperature: float = 1.0) -> Model:
    """Return a classifier of two columns of x: P(y = k) ∝ exp(w_k·x / temperature).

    The weights w_k are standard normal, and the same for the same number of classes. A
    temperature below 1 makes the classifier overconfident.
    """
    weights = np.random.default_rng(classes).standard_normal((2, classes))

    def predict(x: FloatArray) -> FloatArray:
        return np.asarray(special.softmax(np.asarray(x) @ weights / temperature, axis=1))

    return Model(lambda x: probabilities(predict(x)), "The softmax model")


def cumulative_logit(slope: float) -> Model:
    """Return a model of five ordered categories: logit P(y ≤ k) = cut_k − slope·x₁."""
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])

    def predict(x: FloatArray) -> FloatArray:
        below = 1.0 / (1.0 + np.exp(-(cuts - slope * x1(x)[:, None])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return Model(lambda x: probabilities(predict(x), ordered=True), "The model of grades")


def _paper_power() -> list[Problem]:
    """The power problems of the paper's section 5."""
    return [
        # p = r = N(x₁ + 2x₂ + 3x₃ + 4x₄ + 5x₅, 1)
        true_model(
            "lgm",
            "Linear Gaussian",
            Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0),
            x=NormalX(columns=5),
        ),
        # p = N(Σx, 1 + 10·exp(−‖x − c‖²/(2·0.8²))), r = N(Σx, 1), c = (2/3, 2/3, 2/3)
        wrong_model(
            "hgm",
            "Heteroscedastic Gaussian",
            model=Normal(
                mean=row_sum, std=bump_std(centre=2.0 / 3.0, height=10.0, width=0.8)
            ),
            truth=Normal(mean=row_sum, std=1.0),
            x=NormalX(columns=3),
        ),
        # The same with c = (1.5, 1.5, 1.5), as in the code of the paper's authors.
        wrong_model(
            "hgm-far",
            "Heteroscedastic Gaussian, far",
            model=Normal(mean=row_sum, std=bump_std(centre=1.5, height=10.0, width=0.8)),
            truth=Normal(mean=row_sum, std=1.0),
            x=NormalX(columns=3),
        ),
        # p = N(x + 1, 1), r = N(0.1x² + x + 1, 1), x uniform on [−2, 2]
        wrong_model(
            "qgm",
            "Quadratic Gaussian",
            model=Normal(mean=lambda x: x1(x) + 1.0, std=1.0),
            truth=Normal(mean=lambda x: 0.1 * x1(x) ** 2 + x1(x) + 1.0, std=1.0),
            x=UniformX(-2.0, 2.0),
        ),
    ]


def _paper_illustrations() -> list[Problem]:
    """The problems that illustrate the paper's power criterion (figure 1, appendix B)."""
    half_square = Normal(mean=lambda x: x1(x) + 0.5 * x1(x) ** 2 - 1.0, std=1.0)
    smaller_square = Normal(mean=lambda x: x1(x) + 0.4 * x1(x) ** 2 - 1.0, std=1.0)
    return [
        # p = N(x/2, 1), r = N(x, 1)
        wrong_model(
            "slope-1d",
            "Wrong slope",
            model=Normal(mean=lambda x: x1(x) / 2.0, std=1.0),
            truth=Normal(mean=x1, std=1.0),
        ),
        # p = N(x + 0.5x² − 1, 1), r = N(x + 0.4x² − 1, 1), x ~ N(2, 1)
        wrong_model(
            "qgm-1d",
            "Quadratic, Gaussian x",
            model=half_square,
            truth=smaller_square,
            x=NormalX(mean=2.0),
        ),
        # p = N(x, 1 + 8·exp(−(x − 1)²/(2·0.3²))), r = N(x, 1)
        wrong_model(
            "hgm-1d",
            "Heteroscedastic",
            model=Normal(mean=x1, std=bump_std(centre=1.0, height=8.0, width=0.3)),
            truth=Normal(mean=x1, std=1.0),
        ),
        # As qgm-1d, x uniform on [2, 3].
        wrong_model(
            "qgm-1d-uniform",
            "Quadratic, uniform x",
            model=half_square,
            truth=smaller_square,
            x=UniformX(2.0, 3.0),
        ),
    ]


def _continuous() -> list[Problem]:
    """Ways to be right or wrong about a continuous y that the paper does not look at."""
    return [
        # p = r = N(Σx, exp(x₁))
        true_model(
            "true-hetero",
            "True heteroscedastic",
            Normal(mean=row_sum, std=lambda x: np.exp(0.5 * np.asarray(x)[:, 0])),
            x=NormalX(columns=3),
        ),
        # p = r = w·N(x − 1.5, 0.6²) + (1 − w)·N(x + 1.5, 1), w = 1/(1 + exp(−x))
        true_model(
            "true-mixture",
            "True mixture",
            NormalMixture(
                weights=lambda x: np.column_stack(
                    [logistic(x), 1.0 / (1.0 + np.exp(x1(x)))]
                ),
                means=lambda x: np.column_stack([x1(x) - 1.5, x1(x) + 1.5]),
                stds=[0.6, 1.0],
            ),
        ),
        # p = r = Σx + (1 + |x₁|/2)·T₅
        true_model(
            "true-student",
            "True Student-t",
            StudentT(df=5.0, loc=row_sum, scale=lambda x: 1.0 + 0.5 * np.abs(x1(x))),
            x=NormalX(columns=2),
        ),
        # p = N(x, 1), r = x + Gamma(4, 0.5) − 2: skewed noise of mean 0 and variance 1
        wrong_model(
            "skewed",
            "Skewed noise",
            model=Normal(mean=x1, std=1.0),
            truth=Gamma(shape=4.0, scale=0.5, loc=lambda x: x1(x) - 2.0),
        ),
        # p = N(x, 1), r = x + √0.5·T₄: heavy-tailed noise of variance 1
        wrong_model(
            "heavy",
            "Heavy-tailed noise",
            model=Normal(mean=x1, std=1.0),
            truth=StudentT(df=4.0, loc=x1, scale=np.sqrt(0.5)),
        ),
        # p = N(x, I), r = N(x, [1 ρ; ρ 1]), ρ = 0.6·tanh(2x₁)
        wrong_model(
            "correlation",
            "Wrong correlation, d_y = 2",
            model=Normal(mean=np.asarray, std=1.0),
            truth=Normal(
                mean=np.asarray,
                cov=covariance(correlation=lambda x: 0.6 * np.tanh(2.0 * x[:, 0])),
            ),
            x=NormalX(columns=2),
            d_y=2,
        ),
        # Modes at x − 3 and x + 3: the upper one has probability 0.5 in p, 0.6 in r.
        wrong_model(
            "weights",
            "Wrong mixture weight",
            model=two_modes(constant(0.5)),
            truth=two_modes(constant(0.6)),
        ),
        # The same modes: the upper one has probability 0.5 in p, 1/(1 + exp(−x)) in r.
        wrong_model(
            "weights-x",
            "Weights that depend on x",
            model=two_modes(constant(0.5)),
            truth=two_modes(logistic),
        ),
        # p = N(x₁, 1), r = N(x₁ + 0.3·(x₁² − 4/3), 1), x uniform on [−2, 2]⁵
        wrong_model(
            "irrelevant",
            "Bent mean, 4 irrelevant x",
            model=Normal(mean=x1, std=1.0),
            truth=Normal(mean=lambda x: x1(x) + 0.3 * (x1(x) ** 2 - 4.0 / 3.0), std=1.0),
            x=UniformX(-2.0, 2.0, columns=5),
        ),
        # p = N(Σx, 1), r = N(Σx + 0.3x₁, 1)
        wrong_model(
            "ten",
            "Wrong slope, d_x = 10",
            model=Normal(mean=row_sum, std=1.0),
            truth=Normal(mean=lambda x: row_sum(x) + 0.3 * x[:, 0], std=1.0),
            x=NormalX(columns=10),
        ),
        # p = r = N((x₁, x₁ − x₂), exp(0.3x₂)·[1 0.5; 0.5 1])
        true_model(
            "true-pair",
            "True, d_y = 2",
            Normal(
                mean=lambda x: np.column_stack([x[:, 0], x[:, 0] - x[:, 1]]),
                cov=covariance(variance=lambda x: np.exp(0.3 * x[:, 1])),
            ),
            x=NormalX(columns=2),
            d_y=2,
        ),
    ]


def _closed_forms() -> list[Problem]:
    """Models of y on a part of the line, or with a kink in their density.

    All but the last are true. In the formulas s = exp(x/2).
    """
    s = exp_half()
    return [
        # Gamma(0.7, s)
        true_model("true-gamma-low", "True Gamma, shape 0.7", Gamma(shape=0.7, scale=s)),
        # Gamma(2, s)
        true_model("true-gamma", "True Gamma, shape 2", Gamma(shape=2.0, scale=s)),
        # s·Exponential(1)
        true_model("true-exponential", "True Exponential", Exponential(scale=s)),
        # Beta(0.5, s/2)
        true_model("true-beta", "True Beta", Beta(a=0.5, b=exp_half(0.5))),
        # exp(N(x, 0.8²))
        true_model("true-lognormal", "True log-normal", LogNormal(mu=x1, sigma=0.8)),
        # Uniform on [x, x + 1 + s]
        true_model(
            "true-uniform",
            "True Uniform, ends depend on x",
            Uniform(low=x1, high=lambda x: x1(x) + 1.0 + s(x)),
        ),
        # Inverse Gaussian of mean s and shape 2
        true_model(
            "true-inverse-gaussian",
            "True inverse Gaussian",
            InverseGaussian(mean=s, shape=2.0),
        ),
        # x + s·Laplace(1)
        true_model("true-laplace", "True Laplace", Laplace(loc=x1, scale=s)),
        # p = Gamma(2, s), r = Gamma(2.6, s): the true shape is 30% larger.
        wrong_model(
            "gamma-shape",
            "Gamma with a wrong shape",
            model=Gamma(shape=2.0, scale=s),
            truth=Gamma(shape=2.6, scale=s),
        ),
    ]


def _discrete() -> list[Problem]:
    """Classes, ordered categories and counts."""
    three_exp_half = exp_half(3.0)
    poisson = Poisson(mean=three_exp_half)
    return [
        true_model(
            "true-softmax-2", "True softmax, 2 classes", softmax(2), x=NormalX(columns=2)
        ),
        true_model(
            "true-softmax-3", "True softmax, 3 classes", softmax(3), x=NormalX(columns=2)
        ),
        true_model(
            "true-softmax-10", "True softmax, 10 classes", softmax(10), x=NormalX(columns=2)
        ),
        true_model("true-grades", "True ordered categories", cumulative_logit(slope=1.0)),
        # Poisson(exp(x/2))
        true_model("true-poisson", "True Poisson", Poisson(mean=exp_half())),
        # Mean 0.4·exp(x/2), dispersion 1
        true_model(
            "true-nb-small",
            "True negative binomial, small",
            NegativeBinomial(mean=exp_half(0.4), dispersion=1.0),
        ),
        # Mean 200·exp(x/2), dispersion 0.3
        true_model(
            "true-nb-large",
            "True negative binomial, large",
            NegativeBinomial(mean=exp_half(200.0), dispersion=0.3),
        ),
        # Binomial(10, 1/(1 + exp(−x)))
        true_model("true-binomial", "True binomial", Binomial(trials=10, p=logistic)),
        # p = r = Poisson(3·exp(x/2)), but the model is known by its log-probability alone,
        # so that tests use the difference Stein operator.
        Problem(
            name="true-count-ratio",
            title="True counts, ratios",
            p=from_log_prob(lambda y, x: poisson(x).log_prob(y), support="counts"),
            r=poisson,
            draw_x=STANDARD_X,
            d_x=1,
            d_y=1,
            h0=True,
        ),
        wrong_model(
            "softmax-overconfident-3",
            "Over-confident softmax, 3 classes",
            model=softmax(3, temperature=0.7),
            truth=softmax(3),
            x=NormalX(columns=2),
        ),
        wrong_model(
            "softmax-overconfident-10",
            "Over-confident softmax, 10 classes",
            model=softmax(10, temperature=0.7),
            truth=softmax(10),
            x=NormalX(columns=2),
        ),
        # p = Poisson(μ), r negative binomial with mean μ and variance 2μ, μ = 3·exp(x/2)
        wrong_model(
            "poisson-overdispersed",
            "Over-dispersed counts",
            model=poisson,
            truth=NegativeBinomial(
                mean=three_exp_half, dispersion=lambda x: 1.0 / three_exp_half(x)
            ),
        ),
        wrong_model(
            "grades-flat",
            "Ordered categories, wrong slope",
            model=cumulative_logit(slope=0.6),
            truth=cumulative_logit(slope=1.0),
        ),
    ]


_ALL_PROBLEMS = (
    *_paper_power(),
    *_paper_illustrations(),
    *_continuous(),
    *_closed_forms(),
    *_discrete(),
)
#: All problems by their names.
PROBLEMS = {each.name: each for each in _ALL_PROBLEMS}


def problem(name: str) -> Problem:
    """Return a named problem.

    Parameters
    ----------
    name : str
        One of `PROBLEMS`. ``lgm``, ``hgm``, ``hgm-far`` (c = 1.5·1) and ``qgm`` are the
        paper's power problems; ``slope-1d``, ``qgm-1d``, ``hgm-1d`` and ``qgm-1d-uniform``
        illustrate its power criterion. Names that begin with ``true-`` are true models: of
        y on the line, on part of it, of two columns (``true-pair``), of classes, ordered
        categories and counts. The others are wrong in ways that the paper does not look at:
        noise, correlation, mixture weights, irrelevant x, a shape; with a discrete y
        ``softmax-overconfident-3`` and ``-10`` (logits over 0.7), ``poisson-overdispersed``
        (variance = 2·mean) and ``grades-flat``.

    Examples
    --------
    >>> problem("qgm").h0
    False
    """
    if not isinstance(name, str) or name not in PROBLEMS:
        raise unknown_name("problem", name, PROBLEMS)
    return PROBLEMS[name]
