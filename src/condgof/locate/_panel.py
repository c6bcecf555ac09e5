"""What to draw of y near a location: the data, with the model's density or samples if there are any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import CondgofError
from condgof.laws import CellsOfY, Law, drawn
from condgof.locate._bars import bar_panel
from condgof.locate._bench import SAMPLES, Bench
from condgof.locate._counted import CountRows
from condgof.locate._record import Panel
from condgof.locate._view import View
from condgof.locate._where import Place
from condgof.sample import Use

#: Rows that are drawn, rows that the model's density is averaged over, and points of its curve.
MOST_VALUES, DENSITY_ROWS, GRID = 400, 60, 161
#: Rows of a smaller weight are not near.
FAR = 0.1
#: The number of the picture of all rows.
OVERALL = 10**6


def panel_of(bench: Bench, place: Place, number: int, view: View | None) -> Panel:
    """Collect what a picture of y near a location needs; `view` is that of a discrete y."""
    rng = bench.seed.stream(Use.CHECK, SAMPLES, number)
    near = np.flatnonzero(place.weights >= FAR * place.weights.max())
    bars = None if view is None else view.bars(bench.testing, place.weights)
    if bars is not None:
        return bar_panel(bars, *_in_bars(bench), bench.testing[near], place.weights[near], rng)
    if isinstance(view, CountRows):
        return _standardised(bench, place, near[:MOST_VALUES])
    return _drawn(bench, place, near, rng)


def overall_panel(bench: Bench, view: View | None) -> Panel | None:
    """Collect what a picture of a discrete y of all rows needs; None where there is none to be drawn."""
    rows = np.arange(bench.rows.n)
    bars = None if view is None else view.bars(rows, np.ones(len(rows)))
    if bars is None:
        return None
    rng = bench.seed.stream(Use.CHECK, SAMPLES, OVERALL)
    return bar_panel(bars, *_in_bars(bench), rows, np.ones(len(rows)), rng)


def _in_bars(bench: Bench) -> tuple[str, FloatArray]:
    """Return what bars are of, and its numbers (n, 1): y itself, or its cells."""
    name = bench.rows.sample.y_columns[0].name
    if isinstance(bench.law, CellsOfY):
        return f"cell of {name}", bench.rows.y
    return name, bench.rows.sample.y


def _standardised(bench: Bench, place: Place, near: IntArray) -> Panel:
    """Counts of which nothing but ratios of probabilities is known, in units of the model."""
    names = tuple(f"residual of {column.name}" for column in bench.rows.sample.y_columns)
    values = bench.rows.y[bench.testing[near]].copy()
    return Panel("residuals", names, values, place.weights[near].copy())


def _drawn(bench: Bench, place: Place, near: IntArray, rng: np.random.Generator) -> Panel:
    """Return rows of a continuous y near a place, with the model's density, or its draws."""
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
    if bench.law.can("sample"):
        # Rows are drawn as often as they count, so that the samples need no weights.
        like = rng.choice(rows, len(rows), p=by_weight)
        try:
            samples = drawn(bench.law.take(like), values.shape[1], rng)
            return Panel("samples", names, values, weights, samples=samples)
        except CondgofError:
            pass  # a picture is not worth an error: residuals will do
    shown = bench.rows.y if bench.rows.by != "none" else -bench.rows.scores
    kind = tuple(
        f"residual of {name}" if bench.rows.by != "none" else f"−score of {name}" for name in names
    )
    return Panel("residuals", kind, shown[rows].copy(), weights)


def _density(bench: Bench, rows: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return points (g, d_y) and the model's marginal densities there, averaged over some rows."""
    law, d_y = bench.law, values.shape[1]
    low, high = values.min(axis=0), values.max(axis=0)
    room = 0.25 * (high - low)
    grid = np.linspace(low - room, high + room, GRID)
    if not ((d_y == 1 and law.can("log_prob")) or law.can("marginals")):
        return None
    pairs = _Pairs.of(bench, rows, grid)
    try:
        by_log = d_y == 1 and law.can("log_prob")
        density = _from_log_prob(pairs) if by_log else _from_marginals(pairs)
    except CondgofError:
        return None  # as below
    mean: FloatArray = np.where(pairs.inside, density, 0.0).mean(axis=0)
    return (grid, mean) if np.isfinite(mean).all() else None


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Each of r rows with each of g points: the law and y of all r·g pairs.

    Points outside a row's support are not `inside` (r, g, d_y), and have the row's own y for theirs.
    """

    law: Law
    y: FloatArray
    inside: AnyArray
    grid: FloatArray

    @classmethod
    def of(cls, bench: Bench, rows: IntArray, grid: FloatArray) -> _Pairs:
        sample, (g, d_y) = bench.rows.sample, grid.shape
        bounds = bench.law.take(rows).support
        low, high = (np.broadcast_to(end, (len(rows), d_y))[:, None] for end in bounds)
        inside = (grid > low) & (grid < high)
        y = np.where(inside, grid, sample.y[rows][:, None]).reshape(-1, d_y)
        each = np.repeat(rows, g)
        y = y[:, 0] if sample.y_given.ndim == 1 else y
        return cls(bench.law.take(each), y, inside, grid)


def _from_log_prob(pairs: _Pairs) -> FloatArray:
    density: FloatArray
    with np.errstate(all="ignore"):
        logs = np.asarray(pairs.law.log_prob(pairs.y), dtype=np.float64)
        logs = np.where(pairs.inside[:, :, 0], logs.reshape(pairs.inside.shape[:2]), -np.inf)
        top = logs.max(axis=1, keepdims=True)
        density = np.exp(logs - top)
        if pairs.law.can("cdf"):
            density = density * np.exp(top)
        else:  # perhaps not normalised: each row's area over the grid becomes 1
            density = density / np.asarray(np.trapezoid(density, pairs.grid[:, 0], axis=1))[:, None]
    return density[:, :, None]


def _from_marginals(pairs: _Pairs) -> FloatArray:
    u, slope, _ = pairs.law.marginals(pairs.y)
    density: FloatArray = np.exp(-0.5 * np.square(u)) / np.sqrt(2.0 * np.pi) * slope
    return density.reshape(pairs.inside.shape)
