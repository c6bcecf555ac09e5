"""Figures with matplotlib; they read results and arrays, and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import require

# Okabe and Ito's palette: told apart by colour-blind readers too.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"


def new_figure(rows: int, columns: int, *, width: float, height: float, **shape: Any) -> tuple[Any, Any]:
    """Return a figure and its axes (rows, columns) that no window manager knows of."""
    require("matplotlib", "plot", "Drawing a figure")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    options = {"sharex": "col", "sharey": "row", **shape}
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def draw_fit(
    ax: Any, x: FloatArray, y: FloatArray, grid: FloatArray, mean: FloatArray, std: FloatArray
) -> None:
    """Draw data (n,) with a model's mean and its 95% band along a grid (m,)."""
    ax.fill_between(
        grid, mean - 1.96 * std, mean + 1.96 * std, color=BLUE, alpha=0.18, lw=0, label="model, 95% band"
    )
    ax.plot(grid, mean, color=BLUE, lw=1.5, label="model, mean")
    ax.plot(x, y, "o", ms=3.5, color=GREY, mec="white", mew=0.3, label="held-out data")


def draw_where(ax: Any, grid: FloatArray, criterion: FloatArray, top: float, label: str) -> None:
    """Draw the power criterion along a grid (m,), with its highest place marked."""
    ax.axhline(0.0, color="0.8", lw=0.8)
    ax.plot(grid, criterion, color=ORANGE, lw=1.8)
    height = float(np.interp(top, grid, criterion))
    ax.plot([top], [height], "v", color=ORANGE, ms=7)
    ax.margins(y=0.15)
    ax.annotate(
        label,
        (top, height),
        xytext=(8, 2),
        textcoords="offset points",
        fontsize=9,
        color=ORANGE,
        va="bottom",
    )


def use_log_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """Put plain numbers at chosen places of a logarithmic axis, and no others."""
    axis.set_major_locator(require("matplotlib.ticker", "plot", "Drawing").FixedLocator(ticks))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.set_minor_locator(require("matplotlib.ticker", "plot", "Drawing").NullLocator())
