"""The paper's problems (Section 5 and appendix B) as named objects, and true models for level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from condgof._typing import FloatArray
from condgof.models import ConditionalModel, Normal, NormalMixture, StudentT
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
    p, r : ConditionalModel
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
    p: ConditionalModel
    r: ConditionalModel
    draw_x: Callable[[int, np.random.Generator], FloatArray]
    d_x: int
    d_y: int
    h0: bool

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw a sample of n rows from the truth: x of shape (n, d_x) and y of shape (n, d_y).

        Examples
        --------
        >>> x, y = problem("lgm").draw(10, np.random.default_rng(0))
        >>> x.shape, y.shape
        ((10, 5), (10, 1))
        """
        x = self.draw_x(n, rng)
        return x, self.r.sample(x, rng)

    def trial(self, n: int, rng: np.random.Generator) -> tuple[ConditionalModel, Any, FloatArray]:
        """Return what one trial of a study tests: the model, and a sample x, y of n rows."""
        return self.p, *self.draw(n, rng)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # The problems of this file hold functions without a name; workers know them by theirs.
        if PROBLEMS.get(self.name) is self:
            return problem, (self.name,)
        return super().__reduce_ex__(protocol)


def _gaussian_x(d_x: int, mean: float = 0.0) -> Callable[[int, np.random.Generator], FloatArray]:
    return lambda n, rng: mean + rng.standard_normal((n, d_x))


def _uniform_x(low: float, high: float) -> Callable[[int, np.random.Generator], FloatArray]:
    return lambda n, rng: rng.uniform(low, high, (n, 1))


def _first(x: FloatArray) -> FloatArray:
    """Return x as (n,) where it has one column, whichever shape it came in."""
    return np.asarray(x, dtype=np.float64).reshape(len(x), -1)[:, 0]


def _bump(centre: float, height: float, width: float) -> Callable[[FloatArray], FloatArray]:
    """Return the standard deviation whose square is 1 plus a Gaussian bump at centre·(1, …, 1)."""

    def std(x: FloatArray) -> FloatArray:
        square = ((np.asarray(x).reshape(len(x), -1) - centre) ** 2).sum(axis=1)
        values: FloatArray = np.sqrt(1.0 + height * np.exp(-square / (2.0 * width**2)))
        return values

    return std


def _sum(x: FloatArray) -> FloatArray:
    values: FloatArray = np.asarray(x).reshape(len(x), -1).sum(axis=1)
    return values


def _lgm() -> Problem:
    model = Normal(mean=lambda x: x @ np.arange(1.0, 6.0), std=1.0)
    return Problem("lgm", "Linear Gaussian", model, model, _gaussian_x(5), 5, 1, True)


def _hgm(name: str, title: str, centre: float) -> Problem:
    p = Normal(mean=_sum, std=_bump(centre, 10.0, 0.8))
    return Problem(name, title, p, Normal(mean=_sum, std=1.0), _gaussian_x(3), 3, 1, False)


def _qgm() -> Problem:
    p = Normal(mean=lambda x: _first(x) + 1.0, std=1.0)
    r = Normal(mean=lambda x: 0.1 * _first(x) ** 2 + _first(x) + 1.0, std=1.0)
    return Problem("qgm", "Quadratic Gaussian", p, r, _uniform_x(-2.0, 2.0), 1, 1, False)


def _illustrations() -> list[Problem]:
    line = Normal(mean=_first, std=1.0)
    half = Normal(mean=lambda x: _first(x) / 2.0, std=1.0)
    quadratic_p = Normal(mean=lambda x: _first(x) + 0.5 * _first(x) ** 2 - 1.0, std=1.0)
    quadratic_r = Normal(mean=lambda x: _first(x) + 0.4 * _first(x) ** 2 - 1.0, std=1.0)
    bump = Normal(mean=_first, std=_bump(1.0, 8.0, 0.3))
    return [
        Problem("slope-1d", "Wrong slope", half, line, _gaussian_x(1), 1, 1, False),
        Problem(
            "qgm-1d", "Quadratic, Gaussian x", quadratic_p, quadratic_r,
            _gaussian_x(1, 2.0), 1, 1, False,
        ),
        Problem("hgm-1d", "Heteroscedastic", bump, line, _gaussian_x(1), 1, 1, False),
        Problem(
            "qgm-1d-uniform", "Quadratic, uniform x", quadratic_p, quadratic_r,
            _uniform_x(2.0, 3.0), 1, 1, False,
        ),
    ]  # fmt: skip


def _true_models() -> list[Problem]:
    """Problems where the model is true, for studies of level."""
    spread = Normal(mean=_sum, std=lambda x: np.exp(0.5 * np.asarray(x)[:, 0]))
    modes = NormalMixture(
        weights=lambda x: np.column_stack(
            [1.0 / (1.0 + np.exp(-_first(x))), 1.0 / (1.0 + np.exp(_first(x)))]
        ),
        means=lambda x: np.column_stack([_first(x) - 1.5, _first(x) + 1.5]),
        stds=[0.6, 1.0],
    )
    heavy = StudentT(df=5.0, loc=_sum, scale=lambda x: 1.0 + 0.5 * np.abs(_first(x)))
    return [
        Problem("true-hetero", "True heteroscedastic", spread, spread, _gaussian_x(3), 3, 1, True),
        Problem("true-mixture", "True mixture", modes, modes, _gaussian_x(1), 1, 1, True),
        Problem("true-student", "True Student-t", heavy, heavy, _gaussian_x(2), 2, 1, True),
    ]


def _all() -> dict[str, Problem]:
    problems = [
        _lgm(),
        _hgm("hgm", "Heteroscedastic Gaussian", 2.0 / 3.0),
        _hgm("hgm-far", "Heteroscedastic Gaussian, far", 1.5),
        _qgm(),
        *_illustrations(),
        *_true_models(),
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
        ``true-hetero``, ``true-mixture`` and ``true-student`` are true models.

    Examples
    --------
    >>> problem("qgm").h0
    False
    """
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[name]
