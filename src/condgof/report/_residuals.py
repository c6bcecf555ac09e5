"""Residuals of single rows: PITs, those of a slice, profiles and maps of them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from condgof._typing import FloatArray, IntArray
from condgof.check import Slice
from condgof.check.curves import (
    ResidualProfile,
    moment_profile,
    ordered_residuals,
    pit_histogram,
    quantile_profile,
    thinned_steps,
)
from condgof.check.kinds import CheckedRows
from condgof.report import _chart as c
from condgof.report._bins import (
    ColumnBins,
    part_rows,
    part_y,
    side_colours,
)
from condgof.report._chart import Chart
from condgof.report._dispatch import Differences, ProfileDrawing, RowResiduals
from condgof.report._fit import FAR
from condgof.report._text import minus, shorten
from condgof.result import number, rounded

#: Residuals are cut at ± this before columns of y are compared: outliers decide nothing.
CUT = 2.5
#: The residuals of slices are drawn at least to here on either side.
SHOWN_RESIDUALS = 3.2
#: The fewest bars of a histogram of residuals; m rows have about 2.2·m^0.42.
FEWEST_BARS = 8
#: The most bars of a histogram of residuals.
MOST_BARS = 36
#: The largest density of N(0, 1), which the axis of densities shows.
NORMAL_PEAK = 0.4
#: Points of the curve of N(0, 1).
CURVE_POINTS = 161
#: Most ordered residuals that are drawn inside the band.
MOST_ORDERED = 500
#: Levels of the quantiles in the table of ordered residuals.
TABLE_LEVELS = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
#: Most rows of a slice that are named because they are furthest from the model.
MOST_NAMED = 5
#: Kinds of findings that a map shows by the spread of residuals in its cells.
SPREAD_KINDS = ("spread", "coverage", "tails")


def pit_picture(pits: FloatArray, name: str) -> Chart:
    """Draw PITs (n,) as a histogram with the band that holds all its bars."""
    pit = pit_histogram(pits)
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
        x=c.numeric(f"where {name} lies in the model's distribution (PIT)", (0.0, 1.0), 4),
        y=c.numeric("rows, times what the model says", (0.0, top), 4),
        marks=(c.bars(pit.edges, pit.heights, kinds), band, c.rule(1.0)),
        table=table,
        legend=c.keys(
            "box bar data; box barx outside the band; box band90 if the model is right"
        ),
        size=(420, 330),
    )


def residual_histogram(
    checked: CheckedRows, residuals: RowResiduals, part: Slice
) -> Chart | None:
    """Draw the residuals of a slice's rows against the model."""
    y = part_y(checked, part)
    name = checked.y_columns[y].name
    z = np.sort(residuals.z[part_rows(checked, part), y])
    if not len(z):
        return None
    ends = c.robust_ends(z, (-SHOWN_RESIDUALS, SHOWN_RESIDUALS))
    bars = int(np.clip(round(2.2 * len(z) ** 0.42), FEWEST_BARS, MOST_BARS))
    counts, edges = np.histogram(z, bars, ends)
    heights = counts / (len(z) * (edges[1] - edges[0]))
    up = (0.0, 1.1 * max(float(heights.max()), NORMAL_PEAK))
    feet = np.full(len(z), 0.03 * up[1])
    far, far_keys, _ = c.beyond(z, feet, ends, up, np.where(z > 0, "high", "low"))
    mean = minus(rounded(float(z.mean())))
    sd = rounded(float(z.std(ddof=min(len(z) - 1, 1))))
    model = c.rule(0.0, False)
    if residuals.are_normal:
        grid = np.linspace(*ends, CURVE_POINTS)
        model = c.Line(grid, np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi))
    words = f"box bar these {len(z):,} rows; line model what the model says"
    return Chart(
        title=(
            f"Residuals of {name} have mean {mean} and sd {sd} here; the model says 0 and 1"
        ),
        x=c.numeric(f"residual of {name}, in standard deviations", ends),
        y=c.numeric("density", up, 3),
        marks=(c.bars(edges, heights, ("bar",) * bars), model, *far),
        table=c.table({"residual": c.spans(edges[:-1], edges[1:]), "rows": counts}),
        legend=c.keys(words) + far_keys,
    )


def residual_quantiles(
    checked: CheckedRows, residuals: RowResiduals, part: Slice
) -> Chart | None:
    """Draw the ordered residuals of a slice against those expected, with a band for all."""
    y = part_y(checked, part)
    name = checked.y_columns[y].name
    z = residuals.z[part_rows(checked, part), y]
    m = len(z)
    if m < 2:
        return None
    curve = ordered_residuals(z)
    z = curve.observed
    expected = curve.expected
    ends = (-1.06 * expected[-1], 1.06 * expected[-1])
    up = c.robust_ends(z, ends)
    far, far_keys, inside = c.beyond(
        expected, z, ends, up, np.where(z > up[1], "high", "low")
    )
    rank = np.arange(1.0, m + 1)
    drawn = np.isin(rank, np.linspace(1, m, MOST_ORDERED).astype(int)) | (np.abs(z) > FAR)
    few = thinned_steps(m, MOST_ORDERED)
    marks: list[c.Mark] = [
        c.Band(expected[few], curve.low[few], curve.high[few]),
        c.Line(np.array(ends), np.array(ends)),
    ]
    for kind, side in (("data", 0), ("high", 1), ("low", -1)):
        at = inside & drawn & (curve.side == side)
        marks.append(c.Points(expected[at], z[at], kind, size=4.5))
    outside = int((curve.side != 0).sum())
    title = "All rows lie in the band"
    if outside:
        title = f"{outside:,} of {m:,} ordered residuals lie outside the band"
    table = c.table(
        {
            "quantile": [f"{level:.0%}" for level in TABLE_LEVELS],
            "observed": np.quantile(z, TABLE_LEVELS),
            "expected": ndtri(TABLE_LEVELS),
        }
    )
    keys = c.keys(
        "line model what the model says; box band90 where all rows are if it is right"
    )
    return Chart(
        title=title,
        x=c.numeric("expected under the model", ends),
        y=c.numeric(f"residual of {name}", up),
        marks=(*marks, *far),
        table=table,
        legend=keys + far_keys,
    )


def deviations(z: FloatArray) -> FloatArray:
    """Return how far residuals (n, d_y) are from mean 0 and variance 1, (2, d_y)."""
    z = np.clip(z, -CUT, CUT)
    return np.abs([z.mean(axis=0), (np.square(z).mean(axis=0) - 1.0) / 2.0])


def strongest_column(residuals: RowResiduals | None) -> int:
    """Return the column of y that is most off; 0 where there are no residuals."""
    if residuals is None:
        return 0
    return int(np.argmax(deviations(residuals.z).max(axis=0)))


def residual_differences(
    checked: CheckedRows, residuals: RowResiduals, part: Slice | None
) -> Differences:
    """Show residuals: by their spread if that is what is off, else by their mean."""
    kind = "" if part is None else part.findings[0].kind
    y = strongest_column(residuals) if part is None else part_y(checked, part)
    shift, spread = deviations(residuals.z)[:, y]
    if kind in SPREAD_KINDS or (spread > shift and kind != "shift"):
        return Differences(
            values=residuals.z[:, y],
            low_way="too wide",
            high_way="too narrow",
            unit=" times",
            of_spread=True,
        )
    return Differences(
        values=residuals.z[:, y], low_way="too high", high_way="too low", unit=" sd"
    )


def normal_profile(z: FloatArray, bins: ColumnBins) -> ProfileDrawing:
    """Draw quantiles of residuals (n,) that are normal under the model."""
    return _residual_drawing(
        profile=quantile_profile(z, bins.rows),
        bins=bins,
        heads=("10% quantile", "median", "90% quantile"),
        data="middle 80% and median of the data",
        spread_words="the middle 80% of the data is {} times as wide as the model's",
    )


def mean_profile(z: FloatArray, bins: ColumnBins) -> ProfileDrawing:
    """Draw mean and standard deviation of residuals (n,) of any law."""
    return _residual_drawing(
        profile=moment_profile(z, bins.rows),
        bins=bins,
        heads=("mean − sd", "mean", "mean + sd"),
        data="mean of the data ± sd",
        spread_words="the data spread {} times as much as the model says",
    )


def _residual_drawing(
    *,
    profile: ResidualProfile,
    bins: ColumnBins,
    heads: tuple[str, str, str],
    data: str,
    spread_words: str,
) -> ProfileDrawing:
    words = ""
    at = profile.furthest
    if at is not None:
        if profile.furthest_is_spread:
            words = spread_words.format(rounded(profile.spread[at]))
        else:
            shift = profile.centre[at]
            side = "above" if shift > 0 else "below"
            words = f"{heads[1]} {rounded(abs(shift))} sd {side} the model's"
        words = f"{words} at {bins.names[at]}"
    colours = {1: "s2", -1: "s-2", 0: "bar"}
    ways = "box s2 model too narrow; box s-2 too wide; dot high too low; dot low too high"
    return ProfileDrawing(
        values=profile.estimate,
        low=profile.low,
        high=profile.high,
        expected=profile.expected,
        colours=side_colours(profile.side),
        heads=heads,
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


def furthest_fact(checked: CheckedRows, residuals: RowResiduals, rows: IntArray) -> str:
    """Name the rows that lie furthest from the model."""
    distance = np.abs(residuals.z[rows]).max(axis=1)
    furthest = rows[np.argsort(-distance, kind="stable")[:MOST_NAMED]]
    numbers = ", ".join(str(row) for row in checked.rows[furthest])
    return f"Rows farthest from the model, counted from 0: {numbers}."
