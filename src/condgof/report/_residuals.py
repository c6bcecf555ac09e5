"""Residuals of single rows: PITs, those of a slice, and profiles of them."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check import Slice
from condgof.check.curves import (
    ColumnPanel,
    PitHistogram,
    ResidualHistogram,
    ResidualProfile,
    ResidualQuantiles,
    ordered_residuals,
    part_rows,
    part_y,
    row_residuals,
)
from condgof.check.kinds import CheckedRows
from condgof.report import _chart as c
from condgof.report._bins import side_colours
from condgof.report._chart import Chart
from condgof.report._dispatch import ProfileDrawing
from condgof.report._fit import FAR
from condgof.report._text import minus, shorten
from condgof.result import number, rounded

#: The largest density of N(0, 1), which the axis of densities shows.
NORMAL_PEAK = 0.4
#: Points of the curve of N(0, 1).
CURVE_POINTS = 161
#: Most ordered residuals that are drawn inside the band.
MOST_ORDERED = 500
#: Most rows of a slice that are named because they are furthest from the model.
MOST_NAMED = 5


def pit_picture(pit: PitHistogram, name: str) -> Chart:
    """Draw PITs as a histogram with the band that holds all its bars."""
    outside = pit.above | pit.below
    bars = len(pit.rows)
    title = f"{name}: all {bars} bars are inside the band"
    if outside.any():
        above = pit.above.sum()
        below = pit.below.sum()
        title = f"{name}: of {bars} bars, {above} above the band and {below} below"
    table = c.table(
        {
            "PIT": c.spans(pit.edges[:-1], pit.edges[1:]),
            "rows": pit.rows,
            "times": pit.heights,
        }
    )
    kinds = tuple(np.where(outside, "barx", "bar").tolist())
    band = c.Boxes(
        left=np.zeros(1),
        right=np.ones(1),
        low=np.array([pit.low]),
        high=np.array([pit.high]),
        kinds=("band90",),
    )
    top = 1.08 * max(pit.heights.max(), pit.high)
    return Chart(
        title=title,
        x=c.numeric(f"PIT of {name}", (0.0, 1.0), 4),
        y=c.numeric("rows, observed / predicted", (0.0, top), 4),
        marks=(c.bars(pit.edges, pit.heights, kinds), band, c.rule(1.0)),
        table=table,
        legend=c.keys(
            "box bar data; box barx outside the band; box band90 if the model is right"
        ),
        size=(540, 330),
        spots=c.Spots.upright(pit.edges[:-1], pit.edges[1:]),
        name="pit",
    )


def histogram_picture(
    checked: CheckedRows, part: Slice, histogram: ResidualHistogram | None
) -> Chart | None:
    """Draw the residuals of a slice's rows against the model."""
    residuals = row_residuals(checked)
    if residuals is None or histogram is None:
        return None
    y = part_y(checked, part)
    name = checked.y_columns[y].name
    z = np.sort(residuals.z[part_rows(checked, part), y])
    edges = histogram.edges
    ends = (float(edges[0]), float(edges[-1]))
    up = (0.0, 1.1 * max(float(histogram.density.max()), NORMAL_PEAK))
    feet = np.full(len(z), 0.03 * up[1])
    far, far_keys, _ = c.beyond(z, feet, ends, up, np.where(z > 0, "high", "low"))
    mean = minus(rounded(histogram.mean))
    sd = rounded(histogram.sd)
    model = c.rule(0.0, False)
    if residuals.are_normal:
        grid = np.linspace(*ends, CURVE_POINTS)
        model = c.Line(grid, np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi))
    words = f"box bar these {len(z):,} rows; line model predicted"
    kinds = ("bar",) * len(histogram.rows)
    return Chart(
        title=(
            f"Residuals of {name} have mean {mean} and SD {sd} here (0 and 1 predicted)"
        ),
        x=c.numeric(f"residual of {name}, in standard deviations", ends),
        y=c.numeric("density", up, 3),
        marks=(c.bars(edges, histogram.density, kinds), model, *far),
        table=c.table({"residual": c.spans(edges[:-1], edges[1:]), "rows": histogram.rows}),
        legend=c.keys(words) + far_keys,
        spots=c.Spots.upright(edges[:-1], edges[1:]),
    )


def quantile_picture(
    checked: CheckedRows, part: Slice, quantiles: ResidualQuantiles | None
) -> Chart | None:
    """Draw the ordered residuals of a slice against those expected, with a band for all.

    Points are single rows. The band is drawn at the levels of `quantiles`, and at the first
    and the last row.
    """
    residuals = row_residuals(checked)
    if residuals is None or quantiles is None:
        return None
    y = part_y(checked, part)
    name = checked.y_columns[y].name
    curve = ordered_residuals(residuals.z[part_rows(checked, part), y])
    z = curve.observed
    m = len(z)
    expected = curve.expected
    ends = (-1.06 * expected[-1], 1.06 * expected[-1])
    up = c.robust_ends(z, ends)
    far, far_keys, inside = c.beyond(
        expected, z, ends, up, np.where(z > up[1], "high", "low")
    )
    rank = np.arange(1.0, m + 1)
    drawn = np.isin(rank, np.linspace(1, m, MOST_ORDERED).astype(int)) | (np.abs(z) > FAR)
    marks: list[c.Mark] = [
        c.Band(
            _between(expected, quantiles.expected),
            _between(curve.low, quantiles.low),
            _between(curve.high, quantiles.high),
        ),
        c.Line(np.array(ends), np.array(ends)),
    ]
    for kind, side in (("data", 0), ("high", 1), ("low", -1)):
        at = inside & drawn & (curve.side == side)
        marks.append(c.Points(expected[at], z[at], kind, size=4.5))
    title = "All rows lie in the band"
    if quantiles.outside:
        title = f"{quantiles.outside:,} of {m:,} ordered residuals lie outside the band"
    table = c.table(
        {
            "quantile": [f"{100 * level:.3g}%" for level in quantiles.levels],
            "observed": quantiles.observed,
            "expected": quantiles.expected,
            "band": c.spans(quantiles.low, quantiles.high),
        }
    )
    keys = c.keys(
        "line model predicted; box band90 where all rows are if the model is right"
    )
    return Chart(
        title=title,
        x=c.numeric("expected under the model", ends),
        y=c.numeric(f"residual of {name}", up),
        marks=(*marks, *far),
        table=table,
        legend=keys + far_keys,
        spots=c.Spots.between(quantiles.expected),
    )


def _between(rows: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the first of the values of rows (m,), those at levels (K,), and the last."""
    return np.concatenate([rows[:1], levels, rows[-1:]])


def normal_drawing(panel: ColumnPanel) -> ProfileDrawing:
    """Draw quantiles of residuals that are normal under the model."""
    return _residual_drawing(
        panel,
        data="middle 80% and median of the data",
        spread_words="the middle 80% of the data is {} times as wide as the model's",
    )


def mean_drawing(panel: ColumnPanel) -> ProfileDrawing:
    """Draw mean and standard deviation of residuals of any law."""
    return _residual_drawing(
        panel,
        data="mean of the data ± sd",
        spread_words="residual SD {} times the predicted one",
    )


def _residual_drawing(
    panel: ColumnPanel, *, data: str, spread_words: str
) -> ProfileDrawing:
    profile = panel.profile
    assert isinstance(profile, ResidualProfile)
    words = ""
    at = profile.furthest
    if at is not None:
        if profile.furthest_is_spread:
            words = spread_words.format(rounded(profile.spread[at]))
        else:
            shift = profile.centre[at]
            side = "above" if shift > 0 else "below"
            words = f"{profile.names[1]} {rounded(abs(shift))} sd {side} the model's"
        words = f"{words} at {panel.bins[at]}"
    colours = {1: "s2", -1: "s-2", 0: "bar"}
    ways = "box s2 model too narrow; box s-2 too wide; dot high too low; dot low too high"
    return ProfileDrawing(
        colours=side_colours(profile.side),
        heads=profile.names,
        words=words,
        label="residual, in sd",
        legend=f"box bar {data}; dashed model of the model; {ways}",
        boxes=tuple(colours[int(side)] for side in profile.spread_side),
    )


def mean_fact(checked: CheckedRows, rows: IntArray) -> list[str]:
    """Compare the mean of y with the mean prediction, where there is one."""
    if checked.moments is None:
        return []
    mean = number(float(checked.y[rows, 0].mean()), 4)
    predicted = number(float(checked.moments.location[rows, 0].mean()), 4)
    return [f"Mean {shorten(checked.y_name, 60)} {mean}, mean prediction {predicted}."]


def furthest_fact(checked: CheckedRows, rows: IntArray) -> str:
    """Name the rows that lie furthest from the model."""
    residuals = row_residuals(checked)
    assert residuals is not None
    distance = np.abs(residuals.z[rows]).max(axis=1)
    furthest = rows[np.argsort(-distance, kind="stable")[:MOST_NAMED]]
    numbers = ", ".join(str(row) for row in checked.rows[furthest])
    return f"Rows farthest from the model, counted from 0: {numbers}."
