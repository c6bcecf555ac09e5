"""The paper's problems (Section 5 and appendix B) as named objects, and true models for level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import Normal, NormalMixture, StudentT
from condgof.study._beyond import BEYOND
from condgof.study._bounded import BOUNDED
from condgof.study._discrete import DISCRETE
from condgof.study._names import unknown
from condgof.study._problem import Problem, first, gaussian_x, row_sum, uniform_x


def _bump(centre: float, height: float, width: float) -> Callable[[FloatArray], FloatArray]:
    """Return the standard deviation whose square is 1 plus a Gaussian bump at centre·(1, …, 1)."""

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        values: FloatArray = np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2)))
        return values

    return std


def _lgm() -> Problem:
    model = Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0)
    return Problem("lgm", "Linear Gaussian", model, model, gaussian_x(5), 5, 1, True)


def _hgm(name: str, title: str, centre: float) -> Problem:
    p = Normal(mean=row_sum, std=_bump(centre, 10.0, 0.8))
    return Problem(name, title, p, Normal(mean=row_sum, std=1.0), gaussian_x(3), 3, 1, False)


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
        Problem("slope-1d", "Wrong slope", half, line, gaussian_x(1), 1, 1, False),
        Problem(
            "qgm-1d", "Quadratic, Gaussian x", quadratic_p, quadratic_r,
            gaussian_x(1, 2.0), 1, 1, False,
        ),
        Problem("hgm-1d", "Heteroscedastic", bump, line, gaussian_x(1), 1, 1, False),
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
        Problem("true-hetero", "True heteroscedastic", spread, spread, gaussian_x(3), 3, 1, True),
        Problem("true-mixture", "True mixture", modes, modes, gaussian_x(1), 1, 1, True),
        Problem("true-student", "True Student-t", heavy, heavy, gaussian_x(2), 2, 1, True),
    ]


def _all() -> dict[str, Problem]:
    problems = [
        _lgm(),
        _hgm("hgm", "Heteroscedastic Gaussian", 2.0 / 3.0),
        _hgm("hgm-far", "Heteroscedastic Gaussian, far", 1.5),
        _qgm(),
        *_illustrations(),
        *_true_models(),
        *BEYOND,
        *BOUNDED,
        *DISCRETE,
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
