"""Problems for studies of level and power: the paper's, others, and a user's own model with a misfit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from condgof import models as m
from condgof._typing import FloatArray
from condgof.errors import ShapeError, UnsupportedModelError, check_number
from condgof.laws._as_model import as_model
from condgof.laws._discrete import probabilities
from condgof.laws._functions import from_log_prob
from condgof.laws._law import Model, ModelLike
from condgof.sample import take_rows
from condgof.study._names import Reference, unknown


@dataclass(frozen=True, eq=False)
class Problem:
    """A model p, the truth r, and the distribution of x."""

    #: What it is asked for by, and what a figure calls it.
    name: str
    title: str
    #: The model under test, and the true conditional density.
    p: ModelLike
    r: ModelLike
    #: (n, rng) → x of shape (n, d_x); the columns of x and of y.
    draw_x: Callable[[int, np.random.Generator], FloatArray]
    d_x: int
    d_y: int
    #: Whether the null hypothesis holds: p is r.
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
DrawX: TypeAlias = Callable[[int, np.random.Generator], FloatArray]


def gaussian_x(d_x: int, mean: float = 0.0) -> DrawX:
    return lambda n, rng: mean + rng.standard_normal((n, d_x))


def uniform_x(low: float, high: float, d_x: int = 1) -> DrawX:
    return lambda n, rng: rng.uniform(low, high, (n, d_x))


def first(x: FloatArray) -> FloatArray:
    """Return x as (n,) where it has one column, whichever shape it came in."""
    return np.asarray(x, dtype=np.float64).reshape(len(x), -1)[:, 0]


def row_sum(x: FloatArray) -> FloatArray:
    return np.asarray(np.asarray(x).reshape(len(x), -1).sum(axis=1))


def logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-first(x))))


def growing(level: float = 1.0) -> Function:
    return lambda x: np.asarray(level * np.exp(0.5 * first(x)))


def bump(centre: float, height: float, width: float) -> Function:
    """Return the standard deviation whose square is 1 plus a Gaussian bump at centre·(1, …, 1)."""

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2))))

    return std


def modes(share: Function) -> m.NormalMixture:
    """Return two well-separated modes, the upper one with probability share(x)."""
    return m.NormalMixture(
        weights=lambda x: np.column_stack([1.0 - share(x), share(x)]),
        means=lambda x: np.column_stack([first(x) - 3.0, first(x) + 3.0]),
        stds=1.0,
    )


def covariance(rho: Function | float = 0.5, scale: Function | float = 1.0) -> Function:
    """Return the covariance of two responses, (n, 2, 2): correlation rho(x), variance scale(x)."""

    def cov(x: FloatArray) -> FloatArray:
        one = np.ones(len(x))
        off, times = (one * (part(x) if callable(part) else part) for part in (rho, scale))
        matrix = np.stack([np.stack([one, off], 1), np.stack([off, one], 1)], 1)
        return np.asarray(times[:, None, None] * matrix)

    return cov


def softmax(count: int, temperature: float = 1.0) -> Model:
    """Return a softmax classifier of two columns of x: standard normal weights, logits over a number."""
    weights = np.random.default_rng(count).standard_normal((2, count))

    def predict(x: FloatArray) -> FloatArray:
        return np.asarray(special.softmax(np.asarray(x) @ weights / temperature, axis=1))

    return Model(lambda x: probabilities(predict(x)), "The softmax model")


def grades(slope: float) -> Model:
    """Return a model of five ordered categories: cumulative logits, shifted by x."""
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])

    def predict(x: FloatArray) -> FloatArray:
        below = 1.0 / (1.0 + np.exp(-(cuts - slope * first(x)[:, None])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return Model(lambda x: probabilities(predict(x), ordered=True), "The model of grades")


def _problem(
    name: str,
    title: str,
    p: ModelLike,
    r: Any = None,
    d_x: int = 1,
    d_y: int = 1,
    draw_x: Any = None,
) -> Problem:
    """Return a problem, with Gaussian x unless drawn otherwise; the model is true unless r is given."""
    return Problem(name, title, p, r or p, draw_x or gaussian_x(d_x), d_x, d_y, r is None)


def _paper() -> list[Problem]:
    """The paper's power problems, and those that illustrate its power criterion."""
    line, plane = m.Normal(mean=first, std=1.0), m.Normal(mean=row_sum, std=1.0)
    linear = m.Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0)
    hgm, far = (
        m.Normal(mean=row_sum, std=bump(centre, 10.0, 0.8)) for centre in (2.0 / 3.0, 1.5)
    )
    qgm = m.Normal(mean=lambda x: first(x) + 1.0, std=1.0)
    bent = m.Normal(mean=lambda x: 0.1 * first(x) ** 2 + first(x) + 1.0, std=1.0)
    half = m.Normal(mean=lambda x: first(x) / 2.0, std=1.0)
    square_p = m.Normal(mean=lambda x: first(x) + 0.5 * first(x) ** 2 - 1.0, std=1.0)
    square_r = m.Normal(mean=lambda x: first(x) + 0.4 * first(x) ** 2 - 1.0, std=1.0)
    spread = m.Normal(mean=first, std=bump(1.0, 8.0, 0.3))
    aside, between = gaussian_x(1, 2.0), uniform_x(2.0, 3.0)
    return [
        _problem("lgm", "Linear Gaussian", linear, d_x=5),
        _problem("hgm", "Heteroscedastic Gaussian", hgm, plane, 3),
        _problem("hgm-far", "Heteroscedastic Gaussian, far", far, plane, 3),
        _problem("qgm", "Quadratic Gaussian", qgm, bent, draw_x=uniform_x(-2.0, 2.0)),
        _problem("slope-1d", "Wrong slope", half, line),
        _problem("qgm-1d", "Quadratic, Gaussian x", square_p, square_r, draw_x=aside),
        _problem("hgm-1d", "Heteroscedastic", spread, line),
        _problem(
            "qgm-1d-uniform", "Quadratic, uniform x", square_p, square_r, draw_x=between
        ),
    ]


def _continuous() -> list[Problem]:
    """Ways to be right or wrong about a continuous y that the paper does not look at."""
    spread = m.Normal(mean=row_sum, std=lambda x: np.exp(0.5 * np.asarray(x)[:, 0]))
    mixture = m.NormalMixture(
        weights=lambda x: np.column_stack([logistic(x), 1.0 / (1.0 + np.exp(first(x)))]),
        means=lambda x: np.column_stack([first(x) - 1.5, first(x) + 1.5]),
        stds=[0.6, 1.0],
    )
    student = m.StudentT(df=5.0, loc=row_sum, scale=lambda x: 1.0 + 0.5 * np.abs(first(x)))
    line, plane = m.Normal(mean=first, std=1.0), m.Normal(mean=row_sum, std=1.0)
    # Noise of mean 0 and variance 1.
    skewed = m.Gamma(shape=4.0, scale=0.5, loc=lambda x: first(x) - 2.0)
    heavy = m.StudentT(df=4.0, loc=first, scale=np.sqrt(0.5))
    apart = m.Normal(mean=np.asarray, std=1.0)
    signed = m.Normal(
        mean=np.asarray, cov=covariance(lambda x: 0.6 * np.tanh(2.0 * x[:, 0]))
    )
    true_pair = m.Normal(
        mean=lambda x: np.column_stack([x[:, 0], x[:, 0] - x[:, 1]]),
        cov=covariance(scale=lambda x: np.exp(0.3 * x[:, 1])),
    )
    equal = modes(lambda x: np.full(len(x), 0.5))
    uneven = modes(lambda x: np.full(len(x), 0.6))
    bent = m.Normal(mean=lambda x: first(x) + 0.3 * (first(x) ** 2 - 4.0 / 3.0), std=1.0)
    steeper = m.Normal(mean=lambda x: row_sum(x) + 0.3 * x[:, 0], std=1.0)
    cube = uniform_x(-2.0, 2.0, 5)
    return [
        _problem("true-hetero", "True heteroscedastic", spread, d_x=3),
        _problem("true-mixture", "True mixture", mixture),
        _problem("true-student", "True Student-t", student, d_x=2),
        _problem("skewed", "Skewed noise", line, skewed),
        _problem("heavy", "Heavy-tailed noise", line, heavy),
        _problem("correlation", "Wrong correlation, d_y = 2", apart, signed, 2, 2),
        _problem("weights", "Wrong mixture weight", equal, uneven),
        _problem("weights-x", "Weights that depend on x", equal, modes(logistic)),
        _problem("irrelevant", "Bent mean, 4 irrelevant x", line, bent, 5, draw_x=cube),
        _problem("ten", "Wrong slope, d_x = 10", plane, steeper, 10),
        _problem("true-pair", "True, d_y = 2", true_pair, d_x=2, d_y=2),
    ]


def _closed_forms() -> list[Problem]:
    """True models of y on part of the line, or with a kink; and a shape that is 30% too small."""
    scale, half = growing(), growing(0.5)
    uniform = m.Uniform(low=first, high=lambda x: first(x) + 1.0 + scale(x))
    inverse = m.InverseGaussian(mean=scale, shape=2.0)
    gamma, wrong = m.Gamma(shape=2.0, scale=scale), m.Gamma(shape=2.6, scale=scale)
    return [
        _problem(
            "true-gamma-low", "True Gamma, shape 0.7", m.Gamma(shape=0.7, scale=scale)
        ),
        _problem("true-gamma", "True Gamma, shape 2", gamma),
        _problem("true-exponential", "True Exponential", m.Exponential(scale=scale)),
        _problem("true-beta", "True Beta", m.Beta(a=0.5, b=half)),
        _problem("true-lognormal", "True log-normal", m.LogNormal(mu=first, sigma=0.8)),
        _problem("true-uniform", "True Uniform, ends depend on x", uniform),
        _problem("true-inverse-gaussian", "True inverse Gaussian", inverse),
        _problem("true-laplace", "True Laplace", m.Laplace(loc=first, scale=scale)),
        _problem("gamma-shape", "Gamma with a wrong shape", gamma, wrong),
    ]


def _discrete() -> list[Problem]:
    """Classes, ordered categories and counts."""
    mean, share = growing(3.0), m.Binomial(trials=10, p=logistic)
    small, large = (
        m.NegativeBinomial(growing(0.4), 1.0),
        m.NegativeBinomial(growing(200.0), 0.3),
    )
    poisson = m.Poisson(mean=mean)
    ratio = from_log_prob(lambda y, x: poisson(x).log_prob(y), support="counts")
    three, ten, sure_of_3, sure_of_10 = (
        softmax(3),
        softmax(10),
        softmax(3, 0.7),
        softmax(10, 0.7),
    )
    spread = m.NegativeBinomial(mean, lambda x: 1.0 / mean(x))  # variance = 2·mean
    return [
        _problem("true-softmax-2", "True softmax, 2 classes", softmax(2), d_x=2),
        _problem("true-softmax-3", "True softmax, 3 classes", three, d_x=2),
        _problem("true-softmax-10", "True softmax, 10 classes", ten, d_x=2),
        _problem("true-grades", "True ordered categories", grades(1.0)),
        _problem("true-poisson", "True Poisson", m.Poisson(mean=growing())),
        _problem("true-nb-small", "True negative binomial, small", small),
        _problem("true-nb-large", "True negative binomial, large", large),
        _problem("true-binomial", "True binomial", share),
        # Known by its log-probability alone: the difference Stein operator.
        Problem(
            "true-count-ratio",
            "True counts, ratios",
            ratio,
            poisson,
            gaussian_x(1),
            1,
            1,
            True,
        ),
        _problem(
            "softmax-overconfident-3",
            "Over-confident softmax, 3 classes",
            sure_of_3,
            three,
            2,
        ),
        _problem(
            "softmax-overconfident-10",
            "Over-confident softmax, 10 classes",
            sure_of_10,
            ten,
            2,
        ),
        _problem("poisson-overdispersed", "Over-dispersed counts", poisson, spread),
        _problem(
            "grades-flat", "Ordered categories, wrong slope", grades(0.6), grades(1.0)
        ),
    ]


PROBLEMS = {p.name: p for p in (*_paper(), *_continuous(), *_closed_forms(), *_discrete())}


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
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[name]


#: Each misfit, with the size at which there is none, and its title.
MISFITS = {"shift": (0.0, "shift by {:g} sd"), "scale": (1.0, "{:g} times the spread")}


@dataclass(frozen=True, eq=False)
class MisfitProblem:
    """A model, the user's own x, and y drawn from the model and then distorted; see `misfit_of`."""

    name: str
    title: str
    model: Any
    x: Any
    misfit: str
    size: float

    @property
    def h0(self) -> bool:
        """Whether the model is true: the misfit has no size."""
        return self.size == MISFITS[self.misfit][0]

    def trial(self, n: int, rng: np.random.Generator) -> tuple[ModelLike, Any, FloatArray]:
        """Return the model and a sample: n rows of x, drawn with replacement, and distorted y."""
        rows = rng.integers(len(self.x), size=n)
        model, x = _model_of(self.model).take(rows), take_rows(self.x, rows)
        if hasattr(x, "reset_index"):
            x = x.reset_index(drop=True)  # rows that were drawn twice would share a label
        law = model(x)
        y = np.asarray(law.sample(rng), dtype=np.float64).reshape(n, -1)
        if self.h0:
            return model, x, y
        mean, std = (
            np.asarray(part, dtype=np.float64).reshape(n, -1) for part in law.mean_std()
        )
        away = y - mean
        return (
            model,
            x,
            mean + (away + self.size * std if self.misfit == "shift" else away * self.size),
        )


def misfit_of(
    model: object, x: Any, misfit: str, size: float, *, name: str | None = None
) -> MisfitProblem:
    """Make a problem of a fitted model: with n rows, what misfit could I have seen?

    A trial draws n rows of x (with replacement), y from the model, and distorts y.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        It must be able to `sample`, and have `mean_std` for a misfit; ``(mean, std)`` of
        rows will do.
    x : array_like or frame of shape (n,) or (n, d_x)
        The user's own x.
    misfit : {"shift", "scale"}
        ``shift``: y is `size` model standard deviations too high. ``scale``: the spread is
        `size` times the model's.
    size : float
        How large; 0 (or a ratio of 1) leaves the model true, which shows the level of a
        test.
    name : str, optional
        The problem's name, such as ``shift=0.2`` unless given.

    Examples
    --------
    >>> import condgof as cg
    >>> x = np.linspace(-1, 1, 50)
    >>> case = misfit_of(cg.models.Normal(mean=lambda x: x, std=1.0), x, "shift", 0.5)
    >>> case.name, case.h0
    ('shift=0.5', False)
    """
    if misfit not in MISFITS:
        raise unknown("misfit", misfit, MISFITS)
    least, wanted = (
        (0.0, "above 0, a ratio of spreads") if misfit == "scale" else (-np.inf, "a number")
    )
    size = check_number(size, "size", wanted, lambda value: least < value < np.inf)
    x = x if hasattr(x, "columns") else np.asarray(x)
    none, words = MISFITS[misfit]
    title = "no misfit" if size == none else words.format(size)
    case = MisfitProblem(name or f"{misfit}={size:g}", title, model, x, misfit, size)
    if len(x) == 0:
        raise ShapeError("x has no rows to draw from.")
    law = _model_of(model)(x)
    needed = ("sample",) if case.h0 else ("sample", "mean_std")
    lacking = [ability for ability in needed if not law.can(ability)]
    if lacking := lacking + ["continuous y"] * (law.discrete and not case.h0):
        raise UnsupportedModelError(
            f"{law.name} has no {' and no '.join(lacking)}: y is drawn from the model, and"
            " a misfit is measured in its standard deviations. Give the model a"
            " distribution, such as condgof.models.Normal or the predictions (mean, std),"
            " or pass a size without misfit."
        )
    return case


def _model_of(model: object) -> ModelLike:
    return as_model(model.made() if isinstance(model, Reference) else model)
