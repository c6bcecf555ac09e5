"""The paper's experiments: which problems, sizes and tests, and the power-criterion curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.methods import power_criterion
from condgof.study._problems import problem
from condgof.study._trial import draw_trial

#: Section 5, figure 2: the problems (panels) and their sample sizes; hgm-far is that of the code.
PAPER_SIZES = {
    "lgm": (200, 300, 400, 500),
    "hgm": (300, 700, 1100, 1500),
    "hgm-far": (300, 700, 1100, 1500),
    "qgm": (100, 400, 700, 1000),
}

#: The paper's tests, and the one that this library adds.
PAPER_METHODS = (
    "adaptive", "kcsd", "fscd-opt", "fscd-opt-1", "fscd-rand", "fscd-rand-1", "mmd", "zheng",
)  # fmt: skip

PAPER_TRIALS = 300

#: Figure 1, and the three problems of appendix B.
ILLUSTRATIONS = ("slope-1d", "qgm-1d", "hgm-1d", "qgm-1d-uniform")


@dataclass(frozen=True, eq=False)
class Illustration:
    """A one-dimensional problem, a sample of it, and the power criterion along x.

    Parameters
    ----------
    name, title : str
        The problem.
    x, y : ndarrays of shape (n,)
        A sample of the truth.
    grid, criterion : ndarrays of shape (m,)
        Locations, and the power criterion of each.
    p, r : tuples of two ndarrays of shape (m,)
        Mean and standard deviation along the grid, of the model and of the truth.
    """

    name: str
    title: str
    x: FloatArray
    y: FloatArray
    grid: FloatArray
    criterion: FloatArray
    p: tuple[FloatArray, FloatArray]
    r: tuple[FloatArray, FloatArray]

    @property
    def top(self) -> float:
        """The location with the highest criterion."""
        return float(self.grid[np.argmax(self.criterion)])


def illustrate(name: str, *, n: int = 1000, seed: int = 0) -> Illustration:
    """Draw a sample of a one-dimensional problem and compute the power criterion along x.

    Parameters
    ----------
    name : str
        The problem.
    n : int
        Size of the sample; the paper does not say its own.
    seed : int
        Which sample.

    Examples
    --------
    >>> abs(illustrate("hgm-1d", n=500).top - 1) < 0.5  # where the paper has its peak
    True
    """
    case = problem(name)
    model, x, y = draw_trial(case, n, 0, seed=seed)
    # A little beyond the data: the criterion does not end where they do.
    margin = 0.1 * np.ptp(x)
    grid = np.linspace(x.min() - margin, x.max() + margin, 300)
    criterion = power_criterion(model, x, y, at=grid, rng=seed)
    p, r = ((mean[:, 0], std[:, 0]) for mean, std in (case.p(grid).mean_std(), case.r(grid).mean_std()))
    return Illustration(name, case.title, x[:, 0], y[:, 0], grid, criterion, p, r)
