"""Engel's food expenditure: the data set that ships with the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import Normal


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
