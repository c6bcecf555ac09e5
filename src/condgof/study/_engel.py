"""Engel's food expenditure: the data set that ships with the package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from condgof._typing import FloatArray


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
