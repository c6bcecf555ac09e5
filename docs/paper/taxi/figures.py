"""The figures of the taxi experiment: maps, and predicted densities with the drop-offs."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from misfit import DOWNTOWN, KILOMETRES
from trips import EAST, NORTH, SOUTH, WEST

# From the palette of Okabe and Ito, which colour-blind readers can distinguish.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREY = "#666666"
PURPLE = "#AA4499"

#: Shares of the model's mass that contours enclose.
SHARES = (0.95, 0.8, 0.6, 0.4, 0.2)
#: Residuals beyond this many standard errors have the last colour of the scale.
MAX_RESIDUAL = 5.0
#: The far north, where few trips go, is left out of some panels.
NORTH_OF_PANELS = 40.83
#: Panels of a row of the gallery.
GALLERY_COLUMNS = 6
RESIDUALS = "drop-offs less expected, in standard errors"


def draw_maps(grid, maps, titles, pickups):
    """Draw maps of the criterion (m,), each on its own scale, and where the data are."""
    figure, axes = _figure(1, len(maps) + 1, (10.0, 5.6))
    axes[0, 0].plot(*pickups.T, ",", color=GREY)
    axes[0, 0].set_title(f"{len(pickups):,} held-out pick-ups", fontsize=10)
    _frame(axes[0, 0])
    for ax, values, title in zip(axes[0, 1:], maps, titles, strict=True):
        image = _draw_map(ax, grid, values, "viridis")
        figure.colorbar(image, ax=ax, shrink=0.6, label="power criterion")
        ax.set_title(title, fontsize=10)
    _name_axes(axes)
    return figure


def draw_pair(spots, model):
    """Draw two spots: drop-offs with the predicted density, and residuals of counts."""
    figure, axes = _figure(1, 4, (11.0, 4.5))
    for i, (spot, word) in enumerate(zip(spots, ("Lowest", "Highest"), strict=True)):
        left, right = axes[0, 2 * i : 2 * i + 2]
        _draw_points(left, spot)
        _draw_density(left, model, spot)
        left.set_title(f"{word} criterion, {_signed(spot.criterion)}", fontsize=10)
        image = _draw_residuals(right, spot)
        right.set_title(f"residuals, mean square {spot.misfit:.1f}", fontsize=10)
        _crop(left)
        _crop(right)
    figure.colorbar(image, ax=axes[0, 3], shrink=0.6, label=RESIDUALS, extend="both")
    _name_axes(axes)
    return figure


def draw_gallery(spots, model=None):
    """Draw spots in order of the criterion; without a model, residuals of counts."""
    rows = math.ceil(len(spots) / GALLERY_COLUMNS)
    figure, axes = _figure(rows, GALLERY_COLUMNS, (12.0, 6.4))
    for ax, spot in zip(axes.flat, spots, strict=False):
        if model is None:
            image = _draw_residuals(ax, spot)
            ax.set_title(
                f"{_signed(spot.criterion)}, mean square {spot.misfit:.1f}", fontsize=8
            )
        else:
            _draw_points(ax, spot, size=2.2)
            _draw_density(ax, model, spot, thick=1.0)
            ax.set_title(
                f"{_signed(spot.criterion)}  ({len(spot.dropoffs)} trips)", fontsize=9
            )
        _crop(ax)
    if model is None:
        figure.colorbar(image, ax=axes, shrink=0.5, label=RESIDUALS, extend="both")
    _name_axes(axes)
    return figure


def draw_change(grid, maps, what, titles, shift):
    """Draw two maps (m,) of `what` on one scale, their difference, and the shift (m, 2)."""
    figure, axes = _figure(1, 4, (13.0, 5.2))
    low, top = np.quantile(maps, [0.01, 0.99])  # a single cell must not set the scale
    for ax, values, name in zip(axes[0], maps, titles, strict=False):
        image = _draw_map(ax, grid, values, "viridis", low, top)
        ax.set_title(name, fontsize=10)
    figure.colorbar(image, ax=axes[0, 1], shrink=0.6, label=what)
    change = maps[1] - maps[0]
    most = float(np.quantile(np.abs(change), 0.99))
    image = _draw_map(axes[0, 2], grid, change, "PuOr_r", -most, most)
    figure.colorbar(image, ax=axes[0, 2], shrink=0.6, label="difference")
    axes[0, 2].set_title("Difference", fontsize=10)
    _draw_arrows(axes[0, 3], grid, shift)
    axes[0, 3].set_title("Shift of drop-offs,\nin standard deviations", fontsize=10)
    for ax in axes[0]:
        ax.axhline(DOWNTOWN, color="black", lw=0.8, ls="--")
    _name_axes(axes)
    return figure


def _figure(rows, columns, size):
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharex="col", sharey="row")


def _draw_points(ax, spot, size=2.6):
    ax.plot(*spot.dropoffs.T, "o", ms=size, color=BLUE, mec="none", alpha=0.6)


def _draw_density(ax, model, spot, thick=1.3):
    """Draw the place, and contours of the predicted density there."""
    longitudes = np.linspace(WEST, EAST, 121)
    latitudes = np.linspace(SOUTH, NORTH, 191)
    points = np.stack(np.meshgrid(longitudes, latitudes), axis=-1).reshape(-1, 2)
    density = np.exp(model(np.broadcast_to(spot.at, points.shape)).log_prob(points))
    falling = np.sort(density)[::-1]
    mass = falling.cumsum() / falling.sum()
    levels = np.unique([falling[np.searchsorted(mass, share)] for share in SHARES])
    widths = np.linspace(0.4 * thick, thick, len(levels))
    cells = density.reshape(len(latitudes), -1)
    ax.contour(
        longitudes, latitudes, cells, levels=levels, colors="black", linewidths=widths
    )
    ax.plot(*spot.at, "^", ms=9, color=PURPLE, mec="white")
    _frame(ax)


def _draw_residuals(ax, spot):
    rows, columns = spot.residuals.shape
    image = ax.pcolormesh(
        np.linspace(WEST, EAST, columns + 1),
        np.linspace(SOUTH, NORTH, rows + 1),
        spot.residuals,
        cmap="PuOr_r",
        vmin=-MAX_RESIDUAL,
        vmax=MAX_RESIDUAL,
    )
    ax.plot(*spot.at, "^", ms=9, color=PURPLE, mec="white")
    _frame(ax)
    return image


def _draw_map(ax, grid, values, colours, low=None, high=None):
    cells = np.full(grid.inside.shape, np.nan)
    cells[grid.inside] = values
    image = ax.pcolormesh(
        grid.longitudes,
        grid.latitudes,
        cells,
        cmap=colours,
        vmin=low,
        vmax=high,
        shading="nearest",
    )
    _frame(ax)
    return image


def _draw_arrows(ax, grid, shift):
    kept = np.zeros(grid.inside.shape, dtype=bool)
    kept[::3, ::3] = True
    rows = kept[grid.inside]
    points = grid.points
    ax.plot(*points.T, "s", ms=1.6, color="0.88")
    arrows = ax.quiver(*points[rows].T, *shift[rows].T, color=ORANGE, scale=1.2, width=0.01)
    ax.quiverkey(arrows, 0.75, 0.05, 0.25, "0.25", labelpos="E", fontproperties={"size": 9})
    _frame(ax)


def _frame(ax):
    ax.set_xlim(WEST, EAST)
    ax.set_ylim(SOUTH, NORTH)
    ax.set_aspect(KILOMETRES[1] / KILOMETRES[0])
    ax.set_xticks([-74.0, -73.95])
    ax.tick_params(labelsize=8)


def _crop(ax):
    ax.set_ylim(SOUTH, NORTH_OF_PANELS)


def _name_axes(axes):
    for ax in axes[-1]:
        ax.set_xlabel("longitude", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("latitude", fontsize=9)


def _signed(value):
    """Write a number with a real minus sign, as the axes do."""
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")
