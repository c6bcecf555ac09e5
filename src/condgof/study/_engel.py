"""Engel's food expenditure: the data set that ships with the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import Normal
from condgof.methods import kcsd, power_criterion
from condgof.result import GofResult


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


@dataclass(frozen=True, eq=False)
class EngelStudy:
    """Two models of food expenditure given income, fitted on every other household.

    Parameters
    ----------
    income, food : ndarrays of shape (117,)
        The households that neither model has seen.
    models : dict of str to Normal
        "constant spread": a line with constant variance; "growing spread": a line whose standard
        deviation is proportional to income.
    """

    income: FloatArray
    food: FloatArray
    models: dict[str, Normal]


@dataclass(frozen=True, eq=False)
class Finding:
    """What the test says of one model, and the power criterion along income.

    Parameters
    ----------
    name : str
        Name of the model.
    model : Normal
        The model.
    result : GofResult
        KCSD on the held-out households.
    grid, criterion : ndarrays of shape (m,)
        Incomes, and the power criterion there.
    """

    name: str
    model: Normal
    result: GofResult
    grid: FloatArray
    criterion: FloatArray

    @property
    def top(self) -> float:
        """The income at which the criterion is highest."""
        return float(self.grid[np.argmax(self.criterion)])

    @property
    def where(self) -> str:
        """That income in words; an end of the grid is not a peak, but a direction."""
        at = int(np.argmax(self.criterion))
        ends = {0: "at the low end, ", len(self.grid) - 1: "at the high end, "}
        return f"{ends.get(at, '')}near {self.top:,.0f}"


def examine(name: str, model: Normal, study: EngelStudy, seed: int = 0) -> Finding:
    """Test one model and look where it fails, over the middle 96% of incomes."""
    result = kcsd(model, study.income, study.food, rng=seed)
    low, high = np.quantile(study.income, [0.02, 0.98])
    grid = np.linspace(low, high, 200)
    values = power_criterion(model, study.income, study.food, at=grid, rng=seed)
    return Finding(name, model, result, grid, values)


def engel_study() -> EngelStudy:
    """Fit both models by maximum likelihood on the even rows; the odd rows are left for testing.

    Examples
    --------
    >>> study = engel_study()
    >>> len(study.income), list(study.models)
    (117, ['constant spread', 'growing spread'])
    """
    income, food = load_engel()
    x, y = income[::2], food[::2]
    models = {
        "constant spread": _fit_line(x, y, lambda x: np.ones(len(x))),
        "growing spread": _fit_line(x, y, lambda x: x),
    }
    return EngelStudy(income[1::2], food[1::2], models)


def _fit_line(x: FloatArray, y: FloatArray, shape: Callable[[FloatArray], FloatArray]) -> Normal:
    """Fit N(a + b·x, (c·shape(x))²): weighted least squares is the maximum likelihood here."""
    w = 1.0 / shape(x)
    design = np.column_stack([np.ones(len(x)), x]) * w[:, None]
    (a, b), *_ = np.linalg.lstsq(design, y * w, rcond=None)
    c = float(np.sqrt(np.mean((y * w - design @ [a, b]) ** 2)))
    return Normal(mean=lambda x: a + b * x, std=lambda x: c * shape(x))
