"""The misfit over x, for maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.locate._bench import Bench
from condgof.locate._counted import CountRows
from condgof.locate._panel import overall_panel
from condgof.locate._ranked import RankedRows
from condgof.locate._record import Landscape
from condgof.locate._search import Search
from condgof.locate._view import View
from condgof.stein import STANDARDIZED_BY

#: Points of a curve, and of each side of a map.
CURVE, SIDE = 201, 41
#: Rows that tell the criterion there.
GRID_ROWS = 1024
#: A map is blank where fewer effective rows than this are near.
BLANK = 5.0
#: The share of rows beyond each end of a map.
BEYOND = 0.002
#: What residuals of counts are called.
PEARSON = "Pearson residuals, (y − mean)/standard deviation"
#: And those of draws of several columns.
RANKS = "normal scores of the rank of each column among its draws"


def landscape_of(search: Search, points: IntArray, values: FloatArray, view: View | None) -> Landscape:
    """Make the map: rows of x with their criterion, and a grid for one or two numeric columns."""
    bench, at = search.bench, _grid(search.bench)
    blank = blank_landscape(bench, points, view)
    if at is None:
        return replace(blank, values=values)
    rows = slice(0, GRID_ROWS)  # they are in random order
    found, total, effective = search.at(bench.near, bench.rows.from_user(at), rows)
    share = min(1.0, GRID_ROWS / len(search.x))
    crowded = (effective >= BLANK * share) & (total >= share)
    grid_values = np.where(crowded, found, np.nan)
    return replace(blank, values=values, grid=at, grid_values=grid_values)


def blank_landscape(bench: Bench, points: IntArray, view: View | None) -> Landscape:
    """Make a map of the data alone: the criterion is NaN; `view` is that of a discrete y."""
    rows = bench.rows
    residuals, kind = _residuals(bench, points, view)
    columns = rows.sample.x_columns
    return Landscape(
        columns=tuple(column.name for column in columns),
        levels={c.name: c.levels for c in columns if c.levels is not None},
        dates=tuple(c.name for c in columns if c.dates),
        points=np.array(rows.sample.x[points]),
        values=np.full(len(points), np.nan),
        residuals=residuals,
        residual_kind=kind,
        overall=overall_panel(bench, view),
    )


def _residuals(bench: Bench, points: IntArray, view: View | None) -> tuple[FloatArray | None, str]:
    """Return residuals of some rows that a picture may show, and what they are."""
    rows = bench.rows
    if isinstance(view, CountRows):
        all_rows = view.residuals
        return (None, "") if all_rows is None else (all_rows[points], PEARSON)
    if isinstance(view, RankedRows):
        return np.array(view.z[points]), RANKS
    if view is not None or rows.by == "none":
        return None, ""
    return np.array(rows.y[points]), STANDARDIZED_BY[rows.by]


def _grid(bench: Bench) -> FloatArray | None:
    """Return a regular grid (g, d_x) in the user's units, for one or two numeric columns that vary."""
    sample = bench.rows.sample
    columns = sample.x_columns
    varying = [i for i, column in enumerate(columns) if not column.constant]
    if len(varying) > 2 or any(columns[i].categorical for i in varying):
        return None
    size = CURVE if len(varying) == 1 else SIDE
    ends = np.quantile(sample.x[:, varying], [BEYOND, 1.0 - BEYOND], axis=0)
    axes = list(np.linspace(ends[0], ends[1], size).T)
    mesh = np.meshgrid(*axes, indexing="ij")
    grid = np.tile(sample.x[0], (mesh[0].size, 1))
    for i, axis in zip(varying, mesh, strict=True):
        grid[:, i] = axis.ravel()
    return grid
