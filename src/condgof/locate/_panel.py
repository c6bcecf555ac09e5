"""What to draw of y near a location: the data, with the model's density or samples where there are any."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import CondgofError
from condgof.locate._bench import SAMPLES, Bench
from condgof.locate._record import Panel
from condgof.locate._where import Place
from condgof.models import ConditionalModel, sample_rows
from condgof.sample import Use, take_rows

#: Rows that are drawn, rows that the model's density is averaged over, and points of its curve.
MOST_VALUES, DENSITY_ROWS, GRID = 400, 60, 161
#: Rows of a smaller weight are not near.
FAR = 0.1


def panel_of(bench: Bench, place: Place, number: int) -> Panel:
    """Collect what a picture of y near a location needs."""
    rng = bench.seed.stream(Use.CHECK, SAMPLES, number)
    near = np.flatnonzero(place.weights >= FAR * place.weights.max())
    if len(near) > MOST_VALUES:
        near = np.sort(rng.choice(near, MOST_VALUES, replace=False))
    weights = place.weights[near]
    rows = bench.testing[near]
    sample = bench.rows.sample
    values = sample.y[rows].copy()
    names = tuple(column.name for column in sample.y_columns)
    by_weight = weights / weights.sum()
    some = np.sort(rng.choice(len(near), min(DENSITY_ROWS, len(near)), replace=False, p=by_weight))
    density = _density(bench, rows[some], values)
    if density is not None:
        return Panel("density", names, values, weights, grid=density[0], density=density[1])
    if bench.model.can("sample"):
        drawn = sample_rows(bench.model, sample, rows, rng)
        keep = rng.random(len(rows)) < weights / weights.max()
        return Panel("samples", names, values, weights, samples=drawn[keep])
    shown = bench.rows.y if bench.rows.by != "none" else -bench.rows.scores
    kind = tuple(f"residual of {name}" if bench.rows.by != "none" else f"−score of {name}" for name in names)
    return Panel("residuals", kind, shown[rows].copy(), weights)


def _density(bench: Bench, rows: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return points (g, d_y) and the model's marginal densities there, averaged over rows of like weight."""
    model, d_y = bench.model, values.shape[1]
    low, high = values.min(axis=0), values.max(axis=0)
    room = 0.25 * (high - low)
    grid = np.linspace(low - room, high + room, GRID)
    inside = _within(bench, rows, grid)
    try:
        if d_y == 1 and model.can("log_prob"):
            density = _from_log_prob(bench, model, rows, grid)
        elif model.can("marginals"):
            density = _from_marginals(bench, model, rows, grid)
        else:
            return None
    except CondgofError:
        return None  # a picture is not worth an error; samples or residuals will do
    density = np.where(inside, density, 0.0)
    if not np.isfinite(density).all():
        return None
    return grid, density


def _within(bench: Bench, rows: IntArray, grid: FloatArray) -> FloatArray:
    """Tell which points lie within the model's support at all these rows' x, (g, d_y)."""
    x = take_rows(bench.rows.sample.x_given, rows)
    low, high = bench.model.take(rows).support(x, len(rows), grid.shape[1])
    low, high = np.broadcast_to(low, grid[: len(rows)].shape), high
    return (grid > np.max(low, axis=0)) & (grid < np.min(np.broadcast_to(high, low.shape), axis=0))


def _tiled(bench: Bench, model: ConditionalModel, rows: IntArray, grid: FloatArray) -> tuple[object, ...]:
    """Repeat rows for every point: the model, y and x of all pairs."""
    each = np.repeat(rows, len(grid))
    y = np.tile(grid, (len(rows), 1))
    y = y[:, 0] if bench.rows.sample.y_given.ndim == 1 else y
    return model.take(each), y, take_rows(bench.rows.sample.x_given, each)


def _from_log_prob(bench: Bench, model: ConditionalModel, rows: IntArray, grid: FloatArray) -> FloatArray:
    taken, y, x = _tiled(bench, model, rows, grid)
    with np.errstate(all="ignore"):
        logs = np.asarray(taken.log_prob(y, x), dtype=np.float64).reshape(len(rows), len(grid))
        top = logs.max(axis=1, keepdims=True)
        density = np.exp(logs - top)
    if model.can("cdf"):
        density = density * np.exp(top)
    else:  # perhaps not normalised: each row's area over the grid becomes 1
        density /= np.trapezoid(density, grid[:, 0], axis=1)[:, None]
    return density.mean(axis=0)[:, None]


def _from_marginals(bench: Bench, model: ConditionalModel, rows: IntArray, grid: FloatArray) -> FloatArray:
    taken, y, x = _tiled(bench, model, rows, grid)
    u, slope, _ = taken.marginals(y, x)
    density = np.exp(-0.5 * np.square(u)) / np.sqrt(2.0 * np.pi) * slope
    return density.reshape(len(rows), len(grid), -1).mean(axis=0)
