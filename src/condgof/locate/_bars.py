"""A discrete y as bars: how often each class or count was observed and predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.locate._record import Panel

#: Rows of y that are kept beside the bars.
MOST_VALUES = 400


@dataclass(frozen=True, eq=False)
class Bars:
    """Shares of classes, counts or ranges of counts."""

    #: What each bar is of.
    labels: tuple[str, ...]
    #: Their shares, which sum to 1, (number of labels,).
    observed: FloatArray
    predicted: FloatArray


def bar_panel(
    bars: Bars, column: str, y: FloatArray, rows: IntArray, weights: FloatArray, rng: np.random.Generator
) -> Panel:
    """Make a panel of bars, with some of the rows (m,) of y (n, 1) that they are of."""
    some = np.arange(len(rows))
    if len(rows) > MOST_VALUES:
        some = np.sort(rng.choice(len(rows), MOST_VALUES, replace=False))
    return Panel(
        "classes",
        (column,),
        y[rows[some]].copy(),
        weights[some].copy(),
        labels=bars.labels,
        observed=bars.observed,
        predicted=bars.predicted,
    )
