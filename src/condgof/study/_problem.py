"""What a problem is, and the parts that problems are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import ModelLike


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
        from condgof.study._problems import PROBLEMS, problem

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
