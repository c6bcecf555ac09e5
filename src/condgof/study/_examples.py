"""What ships for examples: the paper's experiments, and Engel's food expenditure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import ModelLike
from condgof.methods import power_criterion
from condgof.models import Normal
from condgof.sample import RngLike, Seed
from condgof.study._problems import problem
from condgof.study._run import draw_trial

#: Section 5, figure 2: each problem (a panel) with its sample sizes. hgm-far is hgm with
#: the centre that the code of the paper's authors has.
PAPER_SIZES = {
    "lgm": (200, 300, 400, 500),
    "hgm": (300, 700, 1100, 1500),
    "hgm-far": (300, 700, 1100, 1500),
    "qgm": (100, 400, 700, 1000),
}

#: The tests of figure 2, and three more: adaptive, and one location (J = 1) of FSCD.
PAPER_METHODS = (
    "adaptive",
    "kcsd",
    "fscd-opt",
    "fscd-opt-1",
    "fscd-rand",
    "fscd-rand-1",
    "mmd",
    "zheng",
)

#: Samples of each problem and size in figure 2.
PAPER_TRIALS = 300

#: Figure 1, and the three problems of appendix B.
ILLUSTRATIONS = ("slope-1d", "qgm-1d", "hgm-1d", "qgm-1d-uniform")

#: Points at which the power criterion is computed for a figure.
GRID_POINTS = 300

#: How far the grid goes beyond the data on each side, as a share of their range: the
#: criterion does not end where the data do.
GRID_MARGIN = 0.1


class MeanStd(NamedTuple):
    """Mean and standard deviation of y along the grid, (m,) each."""

    mean: FloatArray
    std: FloatArray


@dataclass(frozen=True, eq=False)
class Illustration:
    """A one-dimensional problem, a sample of it, and the power criterion along x."""

    name: str
    title: str
    #: A sample of the truth, (n,).
    x: FloatArray
    #: Its y, (n,).
    y: FloatArray
    #: Locations, (m,).
    grid: FloatArray
    #: The power criterion at each location, (m,).
    criterion: FloatArray
    #: The model along the grid.
    p: MeanStd
    #: The truth along the grid.
    r: MeanStd

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
    case = problem(name)
    seed = Seed.of(rng).value
    model, x, y = draw_trial(case, n, 0, rng=seed)
    margin = GRID_MARGIN * np.ptp(x)
    grid = np.linspace(x.min() - margin, x.max() + margin, GRID_POINTS)
    return Illustration(
        name=name,
        title=case.title,
        x=x[:, 0],
        y=y[:, 0],
        grid=grid,
        criterion=power_criterion(model, x, y, at=grid, rng=seed),
        p=_mean_std(case.p, grid),
        r=_mean_std(case.r, grid),
    )


def _mean_std(model: ModelLike, grid: FloatArray) -> MeanStd:
    mean, std = model(grid).mean_std()
    return MeanStd(mean[:, 0], std[:, 0])


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


class EngelStudy(NamedTuple):
    """Rows of Engel's data for a test, and models that were fitted to the other rows."""

    income: FloatArray  #: (117,)
    food: FloatArray  #: (117,)
    models: dict[str, Normal]  #: By what they assume of the spread.


def engel_study() -> EngelStudy:
    """Fit two lines by least squares on even rows; return them and the odd rows."""
    income, food = load_engel()
    models = {
        "constant spread": _fit_line(income[::2], food[::2], lambda x: np.ones(len(x))),
        "growing spread": _fit_line(income[::2], food[::2], lambda x: x),
    }
    return EngelStudy(income=income[1::2], food=food[1::2], models=models)


def _fit_line(
    x: FloatArray, y: FloatArray, shape: Callable[[FloatArray], FloatArray]
) -> Normal:
    """Fit a normal law of y (n,) with mean a + b·x and standard deviation c·shape(x).

    The line is fitted by weighted least squares, with weights 1/shape(x)²; c² is the sum of
    weighted squared residuals over n − 2, its unbiased estimate.
    """
    w = 1.0 / shape(x)
    design = np.column_stack([np.ones(len(x)), x]) * w[:, None]
    (a, b), *_ = np.linalg.lstsq(design, y * w, rcond=None)
    residuals = y * w - design @ [a, b]
    c = float(np.sqrt(residuals @ residuals / (len(x) - 2)))
    return Normal(mean=lambda x: a + b * x, std=lambda x: c * shape(x))
