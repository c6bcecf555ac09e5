"""y against what is predicted, or against a column, with the model's bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check import Axis, Check, Slice
from condgof.check.curves import (
    HALF_WIDTH_90,
    MOMENT_REACH,
    MOST_POINTS,
    ColumnBins,
    FitByBin,
    RowResiduals,
    axis_of,
    bins_of,
    drawn_positions,
    fit_by_bin,
    names_column,
    part_rows,
    row_residuals,
)
from condgof.check.kinds import CheckedRows
from condgof.report import _chart as c
from condgof.report._bins import bin_scale, shade
from condgof.report._chart import Chart
from condgof.result import number

#: Diameter of the point of a row, in pixels.
POINT_SIZE = 4.0
#: The same outside of the model's 99% interval.
FAR_POINT_SIZE = 5.5
#: Half the width of the 99% interval of N(0, 1).
FAR = 2.5758
#: Half the width of the 50% interval of N(0, 1).
HALF_WIDTH_50 = 0.6745
#: Quantiles of z at `BAND_LEVELS` under a law that makes z normal.
NORMAL_BANDS = (-HALF_WIDTH_90, -HALF_WIDTH_50, 0.0, HALF_WIDTH_50, HALF_WIDTH_90)
#: Edges of the bands, in predicted sd, where mean and sd are all that is predicted.
MOMENT_BANDS = (-MOMENT_REACH, -1.0, 0.0, 1.0, MOMENT_REACH)
#: Points of the bands along the only column of x, where they are exact.
EXACT_POINTS = 240
#: Most bins of the bands along other columns.
MOST_BAND_BINS = 28
#: Rows for each bin of the bands, where there are not enough for the most bins.
ROWS_OF_BAND_BIN = 8
#: Up to this many different values on the x axis, points are moved aside at random.
MOST_JITTERED = 80
#: How far points are moved, in distances of neighbouring values.
JITTER = 0.25
#: Half the width of the box of a category, in distances of neighbouring categories.
HALF_BOX = 0.4


def fit(
    check: Check,
    column: str | None = None,
    part: Slice | None = None,
    *,
    y: int = 0,
    numbers: FitByBin | None = None,
    points: int = MOST_POINTS,
) -> Chart | None:
    """Draw y against what is predicted, or a column; the range of a slice is shaded.

    `numbers` are those by bin, where they are known already. Of more rows than `points`, a
    random sample is drawn.
    """
    checked = check.checked
    axis = axis_of(checked, column, y)
    residuals = row_residuals(checked)
    if residuals is None or axis is None:
        return None
    if numbers is None:
        numbers = fit_by_bin(check, axis, part, y=y)
    if numbers is None:
        return None
    bins = bins_of(axis, check, part)
    name = checked.y_columns[y].name
    z = residuals.z[:, y]
    values = z if residuals.bands is None else checked.y[:, y]
    if axis.levels is None:
        across = axis.values
        x = c.along(axis)
        drawn = np.arange(checked.n)
    else:
        across = bins.codes.astype(float)
        x = bin_scale(bins)
        drawn = np.flatnonzero(bins.codes >= 0)
    up = c.robust_ends(values[drawn], _band_ends(residuals, across, x.ends))
    marks: list[c.Mark] = []
    if names_column(part, axis):
        inside = part_rows(checked, part)
        if axis.levels is None:
            ranges = [(float(across[inside].min()), float(across[inside].max()))]
        else:
            ranges = bins.extent(axis, inside)
        marks.append(shade(ranges, up))
    marks += _model_marks(checked, residuals, axis, bins, x.ends)
    shown = np.intersect1d(drawn, drawn_positions(checked.n, points))
    rows, legend = _row_marks(
        checked,
        residuals,
        shown,
        x=across[shown],
        y=values[shown],
        z=z[shown],
        ends=x.ends,
        up=up,
    )
    residual_name = f"residual of {name}, in standard deviations"
    return Chart(
        title=_title(checked.n, numbers, x.name),
        x=x,
        y=c.numeric(residual_name if residuals.bands is None else name, up),
        marks=(*marks, *rows),
        table=_table(residuals, numbers, x.name),
        legend=legend,
        size=(540, 330),
        spots=_spots(axis, bins),
    )


def _spots(axis: Axis, bins: ColumnBins) -> c.Spots:
    """Return where the bins of the table are along the column."""
    if axis.levels is not None:
        return c.Spots.places(len(bins.names))
    values = [axis.values[rows] for rows in bins.rows]
    left = np.array([some.min() for some in values])
    right = np.array([some.max() for some in values])
    return c.Spots.upright(left, right)


def _band_ends(residuals: RowResiduals, across: FloatArray, ends: c.Ends) -> list[float]:
    """Return what the y axis has to show: the ends of the bands that are drawn."""
    bands = residuals.bands
    if bands is None:
        return [-2.0, 2.0]
    inside = (across >= ends[0]) & (across <= ends[1]) & np.isfinite(bands[:, 0])
    shown = bands[inside]
    return [shown[:, 0].min(), shown[:, 4].max()] if len(shown) else []


def _band_name(numbers: FitByBin) -> str:
    if numbers.band == "interval":
        return "the model's 90% band"
    return "two standard deviations around the prediction"


def _title(n: int, numbers: FitByBin, x_name: str) -> str:
    """Say how many rows lie outside of the band, and how many should."""
    known = numbers.known_rows
    of = "rows" if known == n else f"the {known:,} rows whose band is known"
    share = percent(numbers.overall_outside)
    expected = " (10% predicted)" if numbers.band == "interval" else ""
    what = "residuals" if numbers.is_residual else numbers.y
    return (
        f"{what} against {x_name}: {share} of {of} lie outside"
        f" {_band_name(numbers)}{expected}"
    )


def percent(share: Any) -> str:
    return f"{number(100 * float(share), 2)}%"


def _table(residuals: RowResiduals, numbers: FitByBin, x_name: str) -> c.Table:
    """Return the numbers of each bin."""
    columns: dict[str, Any] = {x_name: numbers.bins, "rows": numbers.rows}
    columns["median of the data"] = numbers.median
    bands = residuals.bands
    if bands is not None:
        known = np.isfinite(bands[:, 0])
        of = "" if known.all() else f" in {known.sum():,} rows"
        columns[f"mean of the model's medians{of}"] = numbers.model_median
        ends = c.spans(numbers.model_low, numbers.model_high)
        columns[f"means of the ends of its 90% bands{of}"] = ends
    columns[f"outside {_band_name(numbers)}"] = [
        percent(share) if np.isfinite(share) else "–" for share in numbers.outside
    ]
    return c.table(columns)


def _model_marks(
    checked: CheckedRows,
    residuals: RowResiduals,
    axis: Axis,
    bins: ColumnBins,
    ends: c.Ends,
) -> list[c.Mark]:
    """Draw median and bands: as lines along a column of numbers, as boxes at levels."""
    bands = residuals.bands
    if bands is None:
        five = NORMAL_BANDS if residuals.are_normal else MOMENT_BANDS
        x = np.array(ends)
        quantiles = np.tile(five, (2, 1))
    else:
        parts = _band_parts(checked, axis, bins, bands)
        places = axis.values if axis.levels is None else bins.codes
        x = np.array([places[rows].mean(axis=0) for rows in parts])
        quantiles = np.array([bands[rows].mean(axis=0) for rows in parts])
        if axis.levels is not None:
            # Each level by itself: a box that the NaN after it ends.
            x = (x[:, None] + [-HALF_BOX, HALF_BOX, HALF_BOX]).ravel()
            quantiles = np.repeat(quantiles, 3, axis=0)
            quantiles[2::3] = np.nan
    return [
        c.Band(x=x, low=quantiles[:, 0], high=quantiles[:, 4], kind="band90"),
        c.Band(x=x, low=quantiles[:, 1], high=quantiles[:, 3], kind="band50"),
        c.Line(x=x, y=quantiles[:, 2]),
    ]


def _band_parts(
    checked: CheckedRows, axis: Axis, bins: ColumnBins, bands: FloatArray
) -> list[IntArray]:
    """Return the rows whose bands are averaged at each place along a column."""
    known = np.flatnonzero(np.isfinite(bands[:, 0]) & (bins.codes >= 0))
    known = known[np.argsort(axis.values[known], kind="stable")]
    if axis.levels is not None:
        codes = bins.codes[known]
        parts = [known[codes == code] for code in np.unique(codes)]
    elif len(checked.x_columns) == 1 and not axis.predicted:
        # The only column determines the bands, so that single rows show them exactly.
        some = np.unique(np.linspace(0, len(known) - 1, EXACT_POINTS).astype(int))
        parts = [known[[k]] for k in some]
    else:
        # Bins are smaller towards the ends, so that the lines reach the ends.
        count = int(np.clip(len(known) // ROWS_OF_BAND_BIN, 2, MOST_BAND_BINS))
        share = np.sin(np.linspace(0.0, np.pi / 2, count + 1)) ** 2
        parts = np.split(known, np.unique((share[1:-1] * len(known)).astype(int)))
    return [rows for rows in parts if len(rows)]


def _row_marks(
    checked: CheckedRows,
    residuals: RowResiduals,
    shown: IntArray,
    *,
    x: FloatArray,
    y: FloatArray,
    z: FloatArray,
    ends: c.Ends,
    up: c.Ends,
) -> tuple[list[c.Mark], tuple[c.Key, ...]]:
    """Draw the rows at positions `shown` (k,): all rows, or a random sample.

    `x`, `y` and `z` are theirs, (k,). Rows beyond the edges are marked there. Returns the
    marks and the legend.
    """
    kinds: AnyArray = np.where(z > FAR, "high", np.where(z < -FAR, "low", "data"))
    edge_marks, edge_keys, inside = c.beyond(x, y, ends, up, kinds)
    rng = np.random.default_rng(0)
    values = np.unique(x)
    if len(values) <= MOST_JITTERED:
        step = np.diff(values).min(initial=1.0)
        x = x + step * rng.uniform(-JITTER, JITTER, len(x))
    if residuals.are_counts:
        y = y + rng.uniform(-JITTER, JITTER, len(y))
    words = "all rows" if len(shown) == checked.n else f"{len(shown):,} rows at random"
    marks: list[c.Mark] = []
    legend = [c.Key("dot", "data", words)]
    for kind, side in (("data", ""), ("high", "above"), ("low", "below")):
        some = np.flatnonzero(inside & (kinds == kind))
        if not len(some):
            continue
        rows = checked.rows[shown[some]]
        size = POINT_SIZE if kind == "data" else FAR_POINT_SIZE
        marks.append(c.Points(x[some], y[some], kind, size=size, rows=rows))
        if kind != "data":
            legend.append(c.Key("dot", kind, f"{side} {_far_name(residuals)}"))
    return [*marks, *edge_marks], (*legend, *edge_keys, *_model_keys(residuals))


def _far_name(residuals: RowResiduals) -> str:
    return "the 99% band" if residuals.are_normal else "by 2.58 SD or more"


def _model_keys(residuals: RowResiduals) -> tuple[c.Key, ...]:
    if residuals.have_intervals:
        return c.keys("line model median; box band50 50%; box band90 90% band")
    return c.keys("line model prediction; box band50 one sd around it; box band90 two")
