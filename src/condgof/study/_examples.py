"""What ships for examples: the paper's experiments, and Engel's food expenditure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from condgof._typing import FloatArray
from condgof.laws._families import Normal
from condgof.methods import power_criterion
from condgof.sample import RngLike, Seed
from condgof.study._problems import problem
from condgof.study._run import draw_trial

#: Section 5, figure 2: the problems (panels) and their sample sizes; hgm-far is that of the
#: code.
PAPER_SIZES = {
    "lgm": (200, 300, 400, 500),
    "hgm": (300, 700, 1100, 1500),
    "hgm-far": (300, 700, 1100, 1500),
    "qgm": (100, 400, 700, 1000),
}

PAPER_METHODS = (
    "adaptive", "kcsd", "fscd-opt", "fscd-opt-1", "fscd-rand", "fscd-rand-1", "mmd", "zheng",
)  # fmt: skip

PAPER_TRIALS = 300

#: Figure 1, and the three problems of appendix B.
ILLUSTRATIONS = ("slope-1d", "qgm-1d", "hgm-1d", "qgm-1d-uniform")


@dataclass(frozen=True, eq=False)
class Illustration:
    """A one-dimensional problem, a sample of it, and the power criterion along x."""

    name: str
    title: str
    #: A sample of the truth, (n,) each.
    x: FloatArray
    y: FloatArray
    #: Locations, and the power criterion of each, (m,).
    grid: FloatArray
    criterion: FloatArray
    #: Mean and standard deviation along the grid, (m,), of the model and of the truth.
    p: tuple[FloatArray, FloatArray]
    r: tuple[FloatArray, FloatArray]

    @property
    def top(self) -> float:
        """The location with the highest criterion."""
        return float(self.grid[np.argmax(self.criterion)])


def illustrate(name: str, *, n: int = 1000, rng: RngLike = 0) -> Illustration:
    """Draw a sample of a one-dimensional problem and compute the power criterion along x.

    Parameters
    ----------
    name : str
        The problem.
    n : int
        Size of the sample; the paper does not say its own.
    rng : int, numpy.random.Generator or None
        Which sample.

    Examples
    --------
    >>> abs(illustrate("hgm-1d", n=500).top - 1) < 0.5  # where the paper has its peak
    True
    """
    case, seed = problem(name), Seed.of(rng).value
    model, x, y = draw_trial(case, n, 0, rng=seed)
    # A little beyond the data: the criterion does not end where they do.
    margin = 0.1 * np.ptp(x)
    grid = np.linspace(x.min() - margin, x.max() + margin, 300)
    criterion = power_criterion(model, x, y, at=grid, rng=seed)
    p, r = (
        (mean[:, 0], std[:, 0])
        for mean, std in (case.p(grid).mean_std(), case.r(grid).mean_std())
    )
    return Illustration(name, case.title, x[:, 0], y[:, 0], grid, criterion, p, r)


def load_engel() -> tuple[FloatArray, FloatArray]:
    """Income and food expenditure of 235 Belgian working-class households (Engel, 1857).

    Returns
    -------
    income, food : ndarrays of shape (235,)
        In Belgian francs a year.

    Examples
    --------
    >>> income, food = load_engel()
    >>> len(income), float(income.max().round())
    (235, 4958.0)
    """
    text = files("condgof.study").joinpath("data/engel.csv").read_text(encoding="utf-8")
    table = np.loadtxt(text.splitlines(), delimiter=",", skiprows=1)
    return table[:, 0], table[:, 1]


def engel_study() -> tuple[FloatArray, FloatArray, dict[str, Normal]]:
    """Fit two lines by maximum likelihood on even rows; return the other rows, (117,) each, and them."""
    income, food = load_engel()
    shapes = {"constant spread": lambda x: np.ones(len(x)), "growing spread": lambda x: x}
    models = {
        name: _fit_line(income[::2], food[::2], shape) for name, shape in shapes.items()
    }
    return income[1::2], food[1::2], models


def _fit_line(
    x: FloatArray, y: FloatArray, shape: Callable[[FloatArray], FloatArray]
) -> Normal:
    """Fit N(a + b·x, (c·shape(x))²): weighted least squares is the maximum likelihood here."""
    w = 1.0 / shape(x)
    design = np.column_stack([np.ones(len(x)), x]) * w[:, None]
    (a, b), *_ = np.linalg.lstsq(design, y * w, rcond=None)
    c = float(np.sqrt(np.mean((y * w - design @ [a, b]) ** 2)))
    return Normal(mean=lambda x: a + b * x, std=lambda x: c * shape(x))
