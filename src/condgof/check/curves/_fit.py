"""y and the model's bands by bin of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check.curves._bins import ColumnBins, bins_of, without_few
from condgof.check.curves._kinds import RowResiduals, row_residuals
from condgof.result import Record, plain

if TYPE_CHECKING:
    from condgof.check._record import Check, Slice

#: Half the width of the 90% interval of N(0, 1).
HALF_WIDTH_90 = 1.6449
#: Half the width of the band, in predicted sd, where mean and sd are all that is predicted.
MOMENT_REACH = 2.0


@dataclass(frozen=True, eq=False)
class FitByBin(Record):
    """y beside the model's band, in B bins of a column.

    The picture draws single rows and the band along the column. These are its numbers.
    """

    column: str  #: The column of x, or "predicted".
    y: str  #: The column of y.
    #: "interval", the model's 90% interval, or "sd", two predicted standard deviations.
    band: str
    is_residual: bool  #: Whether residuals are drawn, since there are no bands of y.
    bins: tuple[str, ...]  #: (B,).
    rows: IntArray  #: (B,).
    median: FloatArray  #: Of y, or of residuals, (B,).
    #: Means of the model's medians, and of the ends of its 90% band, (B,) each; NaN in bins
    #: without rows of which bands are known, and where residuals are drawn.
    model_median: FloatArray
    model_low: FloatArray
    model_high: FloatArray
    outside: FloatArray  #: The share of rows outside the band, NaN where it is not known.
    overall_outside: float  #: The same of all rows of which it is known.
    known_rows: int  #: How many rows these are.

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, without numbers of bins of few rows."""
        by_bin = ("median", "model_median", "model_low", "model_high", "outside")
        hidden = {
            name: plain(without_few(getattr(self, name), self.rows)) for name in by_bin
        }
        return super().to_dict() | hidden


def fit_by_bin(
    check: Check, axis: Axis, part: Slice | None = None, *, y: int = 0
) -> FitByBin | None:
    """Return y and the model's bands by bin of a column; None without residuals."""
    checked = check.checked
    residuals = row_residuals(checked)
    if residuals is None:
        return None
    bins = bins_of(axis, check, part)
    if not bins.names:
        return None
    z = residuals.z[:, y]
    values = z if residuals.bands is None else checked.y[:, y]
    outside = outside_band(residuals, z, values)
    model = _mean_bands(residuals, bins)
    return FitByBin(
        column=axis.name,
        y=checked.y_columns[y].name,
        band="interval" if residuals.have_intervals else "sd",
        is_residual=residuals.bands is None,
        bins=bins.names,
        rows=bins.sizes,
        median=np.array([np.median(values[rows]) for rows in bins.rows]),
        model_median=model[:, 2],
        model_low=model[:, 0],
        model_high=model[:, 4],
        outside=np.array([_mean_of_known(outside[rows]) for rows in bins.rows]),
        overall_outside=_mean_of_known(outside),
        known_rows=int(np.isfinite(outside).sum()),
    )


def outside_band(residuals: RowResiduals, z: FloatArray, values: FloatArray) -> FloatArray:
    """Return which rows lie outside the band, (n,); NaN where the band is not known.

    z (n,) are the residuals, `values` (n,) what is drawn: y, or z without bands.
    """
    bands = residuals.bands
    if not residuals.are_normal and bands is not None:
        beyond = (values < bands[:, 0]) | (values > bands[:, 4])
        return np.where(np.isfinite(bands[:, 0]), beyond, np.nan)
    bound = HALF_WIDTH_90 if residuals.are_normal else MOMENT_REACH
    return (np.abs(z) > bound).astype(float)


def _mean_bands(residuals: RowResiduals, bins: ColumnBins) -> FloatArray:
    """Return the mean of the model's quantiles at `BAND_LEVELS` in each bin, (B, 5)."""
    means = np.full((len(bins.names), 5), np.nan)
    if residuals.bands is None:
        return means
    known = np.isfinite(residuals.bands[:, 0])
    for b, rows in enumerate(bins.rows):
        some = rows[known[rows]]
        if len(some):
            means[b] = residuals.bands[some].mean(axis=0)
    return means


def _mean_of_known(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
