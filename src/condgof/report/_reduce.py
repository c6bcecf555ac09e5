"""From records to what is drawn: histograms, quantiles, shades, pairs of columns. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import betaincinv, ndtri

from condgof._typing import FloatArray, IntArray
from condgof.locate import Check, Landscape, Panel
from condgof.report._numbers import span

#: Number of shades of a map.
SHADES = 9
#: Columns whose pairs are compared, and groups of values that a column is cut into for that.
_CANDIDATES, _CUTS = 12, 6
#: Share by which each ordered value may be off so that all m are within at once, 95% of the time: measured by
#: simulation (10,000 samples of uniforms; see docs/decisions.md).
_SIZES = (5, 10, 20, 50, 100, 200, 400, 800, 1500)
_LOCAL = (0.0124, 0.0078, 0.0049, 0.0030, 0.0022, 0.0017, 0.0014, 0.0012, 0.0010)


def histogram(
    values: FloatArray,
    weights: FloatArray | None,
    ends: tuple[float, float],
    bins: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return edges (k+1,) and heights (k,) of a weighted histogram with area 1; values beyond count too.

    The number of bins follows the effective number of rows, (Σw)²/Σw².
    """
    weights = np.ones(len(values)) if weights is None else weights
    total = float(weights.sum())
    rows = total**2 / float((weights**2).sum()) if total > 0 else 0.0
    count = bins if bins is not None else int(np.clip(round(2.2 * rows**0.42), 8, 36))
    edges = np.linspace(*ends, count + 1)
    heights, _ = np.histogram(values, edges, weights=weights)
    return edges, heights / (total * (edges[1] - edges[0])) if total > 0 else heights.astype(float)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Ordered values against normal quantiles, with a band that holds all of them 95% of the time."""

    normal: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def outside(self) -> int:
        """How many values are outside the band."""
        return int(((self.values < self.low) | (self.values > self.high)).sum())


def quantiles(values: FloatArray) -> Quantiles:
    """Order values (m,) for a quantile plot; the i-th of m uniforms is Beta(i, m + 1 - i)."""
    m = len(values)
    i = np.arange(1.0, m + 1)
    local = float(np.interp(np.log(max(m, 2)), np.log(_SIZES), _LOCAL))
    low, high = (ndtri(betaincinv(i, m + 1 - i, tail)) for tail in (local / 2, 1 - local / 2))
    return Quantiles(ndtri((i - 0.5) / m), np.sort(values), low, high)


def shades(values: FloatArray, top: float) -> IntArray:
    """Return the shade of each value: 0 at 0 and below, the last at `top` and above."""
    share = np.clip(np.nan_to_num(values) / top, 0.0, 1.0) if top > 0 else np.zeros(len(values))
    return np.minimum((share * SHADES).astype(np.int64), SHADES - 1)


def highest(check: Check) -> float:
    """Return where the scale of the map ends: its largest value, but no less than chance may well give.

    The criterion is a mean over its standard deviation, so that 3/√n is about three standard errors: a map on
    which nothing stands out stays pale.
    """
    landscape = check.landscape
    rows = check.details.get("choosing_rows", check.result.n)
    both = [landscape.values, *([] if landscape.grid_values is None else [landscape.grid_values])]
    largest = max((float(np.nanmax(v)) for v in both if np.isfinite(v).any()), default=0.0)
    return max(largest, 3.0 / float(max(rows, 1)) ** 0.5)


def middle_span(values: FloatArray, always: Sequence[float] = ()) -> tuple[float, float]:
    """Return the ends of an axis: the range, or where a few values are far out that of the other 99%."""
    finite = values[np.isfinite(values)]
    low, high = span(finite)
    if len(finite) >= 50:
        inner = np.quantile(finite, [0.005, 0.995])
        if high - low > 4 * (inner[1] - inner[0]) > 0:
            low, high = span(inner, 0.15)
    more = [v for v in always if np.isfinite(v)]
    return span(np.array([low, high, *more]), 0.0) if more else (low, high)


def panel_span(panel: Panel, column: int) -> tuple[float, float]:
    """Return the ends of the axis of y: where the rows near a location are, and the model's mass."""
    parts = [panel.values[:, column][panel.weights > 0.02 * max(panel.weights.max(), 1e-300)]]
    if panel.samples is not None:
        parts.append(panel.samples[:, column])
    if panel.grid is not None and panel.density is not None:
        density = panel.density[:, column]
        parts.append(panel.grid[:, column][density > 0.005 * np.nanmax(density)])
    if panel.kind == "residuals":
        parts.append(np.array([-3.0, 3.0]))
    return middle_span(np.concatenate(parts))


@dataclass(frozen=True, eq=False)
class Regular:
    """The regular grid of a landscape: the one or two columns that vary on it.

    Parameters
    ----------
    columns : tuple of int
        Which columns of x.
    points : ndarray of shape (g, 1) or (g, 2)
        Where.
    values : ndarray of shape (g,)
        The criterion, NaN where there are no data nearby.
    """

    columns: tuple[int, ...]
    points: FloatArray
    values: FloatArray


def grid_of(landscape: Landscape) -> Regular | None:
    """Return the grid of a landscape if it has one with values; constant columns of x are left out."""
    grid, values = landscape.grid, landscape.grid_values
    if grid is None or values is None or not np.isfinite(values).any():
        return None
    columns = varying(grid)
    return Regular(tuple(columns), grid[:, columns], values) if len(columns) <= 2 else None


def are_normal(landscape: Landscape) -> bool:
    """Whether the residuals are standard normal under the model, not merely of mean 0."""
    return landscape.residuals is not None and landscape.residual_kind.startswith("normal scores")


def varying(points: FloatArray) -> list[int]:
    """Return the columns of x (m, d_x) that are not constant (a constant one carries nothing)."""
    moving = [c for c in range(points.shape[1]) if len(points) and np.ptp(points[:, c]) > 0]
    return moving or [0]


def telling_pairs(landscape: Landscape, count: int = 3) -> list[tuple[int, int]]:
    """Return the pairs of columns that explain most of the criterion over the rows, best first.

    Each column is cut at its quantiles (a categorical one into its levels); a pair's worth is the adjusted
    share of the variance between the cells. Where there are many columns, pairs of the twelve that tell most
    by themselves are compared.
    """
    columns = varying(landscape.points)
    codes = {c: _codes(landscape, c) for c in columns}
    alone = {c: _explained(codes[c], landscape.values) for c in columns}
    best = sorted(sorted(columns, key=lambda c: -alone[c])[:_CANDIDATES])
    worth = {
        (a, b): _explained(codes[a] * (int(codes[b].max()) + 1) + codes[b], landscape.values)
        for a, b in combinations(best, 2)
    }
    return sorted(worth, key=lambda pair: -worth[pair])[:count]


def _codes(landscape: Landscape, column: int) -> IntArray:
    values = landscape.points[:, column]
    if landscape.columns[column] in landscape.levels:
        return values.astype(np.int64)
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, _CUTS + 1)[1:-1]))
    return np.searchsorted(cuts, values, side="right")


def _explained(codes: IntArray, values: FloatArray) -> float:
    """Return the adjusted share of the variance of values that lies between cells."""
    known = np.isfinite(values)
    values = values[known]
    _, cells = np.unique(codes[known], return_inverse=True)
    if len(values) < 2:
        return 0.0
    counts = np.bincount(cells)
    means = np.bincount(cells, values) / counts
    within, total = float(((values - means[cells]) ** 2).sum()), float(((values - values.mean()) ** 2).sum())
    free = len(values) - len(counts)
    if total <= 0 or free <= 0:
        return 0.0
    return 1.0 - (within / free) / (total / max(len(values) - 1, 1))


def spread_apart(x: FloatArray, y: FloatArray, least: float = 21.0) -> tuple[FloatArray, FloatArray]:
    """Push marks that lie upon each other apart until each can be pointed at."""
    places = np.column_stack([x, y]).astype(float)
    for _ in range(60):
        moved = False
        for i, j in combinations(range(len(places)), 2):
            gap = places[j] - places[i]
            distance = float(np.hypot(*gap))
            if distance < least:
                way = gap / distance if distance > 1e-6 else np.array([1.0, 0.0])
                places[j] += way * (least - distance) / 2
                places[i] -= way * (least - distance) / 2
                moved = True
        if not moved:
            break
    return places[:, 0], places[:, 1]


def scatter(count: int, ratio: float = 0.7548776662466927) -> FloatArray:
    """Return numbers (count,) in (-0.5, 0.5) that look irregular and are always the same."""
    return (np.arange(count) * ratio) % 1.0 - 0.5
