"""Figures with matplotlib; they read results and arrays, and compute nothing."""

from __future__ import annotations

from typing import Any

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
