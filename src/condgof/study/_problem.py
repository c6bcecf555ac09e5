"""What a study asks of a problem, and the usual kind: a model, the truth, and x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import ModelLike


class TrialData(NamedTuple):
    """What one trial of a study tests."""

    model: ModelLike
    x: Any  #: As the problem draws it: an array (n, d_x), or rows of the user's frame.
    y: FloatArray  #: (n, d_y)


class AnyProblem(Protocol):
    """What a study asks of a problem."""

    @property
    def name(self) -> str:
        """What the problem is asked for by; its random streams depend on it."""
        ...

    @property
    def title(self) -> str:
        """What figures and tables call the problem."""
        ...

    @property
    def h0(self) -> bool:
        """Whether the null hypothesis holds: the model is true."""
        ...

    def trial(self, n: int, rng: np.random.Generator) -> tuple[ModelLike, Any, Any]:
        """Return a model, and a sample x, y of n rows."""
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """A model p, the truth r, and the distribution of x."""

    #: What the problem is asked for by.
    name: str
    #: What figures and tables call it.
    title: str
    #: The model under test.
    p: ModelLike
    #: The true conditional density.
    r: ModelLike
    #: (n, rng) → x of shape (n, d_x).
    draw_x: Callable[[int, np.random.Generator], FloatArray]
    #: Columns of x.
    d_x: int
    #: Columns of y.
    d_y: int
    #: Whether the null hypothesis holds: p is r.
    h0: bool

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw n rows from the truth: x of shape (n, d_x) and y of shape (n, d_y).

        Examples
        --------
        >>> from condgof.study import problem
        >>> x, y = problem("lgm").draw(10, np.random.default_rng(0))
        >>> x.shape, y.shape
        ((10, 5), (10, 1))
        """
        x = self.draw_x(n, rng)
        return x, self.r(x).sample(rng)

    def trial(self, n: int, rng: np.random.Generator) -> TrialData:
        """Return what one trial of a study tests: the model, and n rows of x and y."""
        x, y = self.draw(n, rng)
        return TrialData(model=self.p, x=x, y=y)
