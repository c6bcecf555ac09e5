"""Means and standard deviations alone: residuals of no known law."""

from __future__ import annotations

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.kinds import MomentRows
from condgof.report._bins import ColumnBins
from condgof.report._chart import Chart
from condgof.report._dispatch import (
    Differences,
    Picture,
    ProfileDrawing,
    RowResiduals,
    along_column,
    available_pictures,
    differences,
    first_pictures,
    row_residuals,
    slice_facts,
    slice_picture,
    slice_quantiles,
)
from condgof.report._fit import fit
from condgof.report._residuals import (
    furthest_fact,
    mean_fact,
    mean_profile,
    residual_differences,
    residual_histogram,
)


def _residuals(checked: MomentRows) -> RowResiduals:
    return RowResiduals(z=checked.z, are_normal=False)


@row_residuals.register
def _(checked: MomentRows) -> RowResiduals | None:
    return _residuals(checked)


@first_pictures.register
def _(checked: MomentRows, check: Check) -> list[Chart | None]:
    return [fit(check)]


@available_pictures.register
def _(checked: MomentRows) -> dict[str, Picture]:
    return {}


@slice_picture.register
def _(checked: MomentRows, check: Check, part: Slice) -> Chart | None:
    return residual_histogram(checked, _residuals(checked), part)


@slice_quantiles.register
def _(checked: MomentRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: MomentRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    return mean_profile(checked.z[:, y], bins)


@differences.register
def _(checked: MomentRows, part: Slice | None) -> Differences | None:
    return residual_differences(checked, _residuals(checked), part)


@slice_facts.register
def _(checked: MomentRows, rows: IntArray) -> list[str]:
    return [*mean_fact(checked, rows), furthest_fact(checked, _residuals(checked), rows)]
