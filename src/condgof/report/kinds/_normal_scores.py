"""Normal scores of y: one column, several columns, and one column by its marginal CDF."""

from __future__ import annotations

from typing import TypeAlias

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.kinds import ContinuousRows, SeveralRows, SingleMarginalRows
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
    normal_profile,
    pit_picture,
    residual_differences,
    residual_histogram,
    residual_quantiles,
)

#: Rows with z of N(0, 1) under the model, (n, d_y).
NormalScores: TypeAlias = ContinuousRows | SeveralRows
#: Rows of one column of y, of which bands may be known.
OneColumn: TypeAlias = ContinuousRows | SingleMarginalRows


def _residuals(checked: NormalScores) -> RowResiduals:
    """Return normal scores as residuals, without bands: few pictures need these."""
    return RowResiduals(z=checked.z, are_normal=True)


@row_residuals.register
def _(checked: SeveralRows) -> RowResiduals | None:
    return _residuals(checked)


@row_residuals.register(ContinuousRows)
@row_residuals.register(SingleMarginalRows)
def _(checked: OneColumn) -> RowResiduals | None:
    return RowResiduals(z=checked.z, are_normal=True, bands=checked.bands)


@first_pictures.register(ContinuousRows)
@first_pictures.register(SeveralRows)
def _(checked: NormalScores, check: Check) -> list[Chart | None]:
    return [fit(check), pit_picture(checked.pit[:, 0], checked.y_name)]


@available_pictures.register(ContinuousRows)
@available_pictures.register(SeveralRows)
def _(checked: NormalScores) -> dict[str, Picture]:
    def draw_pit(check: Check, y: int = 0) -> Chart:
        pits = checked.pit[:, y]
        return pit_picture(pits, checked.y_columns[y].name)

    return {"pit": draw_pit}


@slice_picture.register(ContinuousRows)
@slice_picture.register(SeveralRows)
def _(checked: NormalScores, check: Check, part: Slice) -> Chart | None:
    return residual_histogram(checked, _residuals(checked), part)


@slice_quantiles.register(ContinuousRows)
@slice_quantiles.register(SeveralRows)
def _(checked: NormalScores, check: Check, part: Slice) -> Chart | None:
    return residual_quantiles(checked, _residuals(checked), part)


@along_column.register(ContinuousRows)
@along_column.register(SeveralRows)
def _(checked: NormalScores, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    return normal_profile(checked.z[:, y], bins)


@differences.register(ContinuousRows)
@differences.register(SeveralRows)
def _(checked: NormalScores, part: Slice | None) -> Differences | None:
    return residual_differences(checked, _residuals(checked), part)


@slice_facts.register
def _(checked: SeveralRows, rows: IntArray) -> list[str]:
    return [furthest_fact(checked, _residuals(checked), rows)]


@slice_facts.register(ContinuousRows)
@slice_facts.register(SingleMarginalRows)
def _(checked: OneColumn, rows: IntArray) -> list[str]:
    return [*mean_fact(checked, rows), furthest_fact(checked, _residuals(checked), rows)]
