"""The misfit over x, for maps."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.locate._bench import Bench, nearness
from condgof.locate._record import Landscape
from condgof.locate._where import criterion_at
from condgof.models import STANDARDIZED_BY
from condgof.stein import Landmarks

#: Points of a curve, and of each side of a map.
CURVE, SIDE = 201, 41
#: A map is blank where fewer effective rows than this are near.
BLANK = 5.0
#: The share of rows beyond each end of a map.
BEYOND = 0.002


def landscape_of(
    bench: Bench, factors: tuple[Landmarks, ...], points: IntArray, values: FloatArray
) -> Landscape:
    """Make the map: rows of x with their criterion, and a grid for one or two numeric columns."""
    rows = bench.rows
    grid = grid_values = None
    at = _grid(bench)
    if at is not None:
        grid = at * rows.scales
        total, effective = nearness(bench.near, rows.x[bench.choosing], at)
        found = criterion_at(bench, factors, at)
        grid_values = np.where((effective >= BLANK) & (total >= 1.0), found, np.nan)
    columns = rows.sample.x_columns
    return Landscape(
        columns=tuple(column.name for column in columns),
        levels={c.name: c.levels for c in columns if c.levels is not None},
        points=rows.sample.x[points].copy(),
        values=values,
        grid=grid,
        grid_values=grid_values,
        residuals=None if rows.by == "none" else rows.y[points].copy(),
        residual_kind="" if rows.by == "none" else STANDARDIZED_BY[rows.by],
    )


def _grid(bench: Bench) -> FloatArray | None:
    """Return a regular grid (g, d_x) in the kernel's units, where one or two columns vary, all numeric."""
    rows = bench.rows
    columns = rows.sample.x_columns
    varying = [i for i, column in enumerate(columns) if not column.constant]
    if len(varying) > 2 or any(columns[i].categorical for i in varying):
        return None
    size = CURVE if len(varying) == 1 else SIDE
    axes = [np.linspace(*np.quantile(rows.x[:, i], [BEYOND, 1.0 - BEYOND]), size) for i in varying]
    mesh = np.meshgrid(*axes, indexing="ij")
    grid = np.tile(rows.x[0], (mesh[0].size, 1))
    for i, axis in zip(varying, mesh, strict=True):
        grid[:, i] = axis.ravel()
    return grid
