"""Normal scores of y: one column, several columns, and one column by its marginal CDF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel, pit_histogram
from condgof.check.kinds import ContinuousRows, SeveralRows, SingleMarginalRows
from condgof.report._chart import Chart
from condgof.report._dispatch import (
    Picture,
    ProfileDrawing,
    available_pictures,
    first_pictures,
    profile_drawing,
    slice_facts,
    slice_picture,
    slice_quantiles,
)
from condgof.report._fit import fit
from condgof.report._residuals import (
    furthest_fact,
    histogram_picture,
    mean_fact,
    normal_drawing,
    pit_picture,
    quantile_picture,
)

#: Rows with z of N(0, 1) under the model, (n, d_y).
NormalScores: TypeAlias = ContinuousRows | SeveralRows
#: Rows of one column of y, of which bands may be known.
OneColumn: TypeAlias = ContinuousRows | SingleMarginalRows


def _pit(checked: NormalScores, y: int) -> Chart:
    return pit_picture(pit_histogram(checked.pit[:, y]), checked.y_columns[y].name)


@first_pictures.register(ContinuousRows)
@first_pictures.register(SeveralRows)
def _(checked: NormalScores, check: Check) -> list[Chart | None]:
    return [fit(check, numbers=check.pictures.fit), _pit(checked, 0)]


@available_pictures.register(ContinuousRows)
@available_pictures.register(SeveralRows)
def _(checked: NormalScores) -> dict[str, Picture]:
    def draw_pit(check: Check, y: int = 0) -> Chart:
        return _pit(checked, y)

    return {"pit": draw_pit}


@slice_picture.register(ContinuousRows)
@slice_picture.register(SeveralRows)
def _(checked: NormalScores, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return histogram_picture(checked, part, curves.get("residuals"))


@slice_quantiles.register(ContinuousRows)
@slice_quantiles.register(SeveralRows)
def _(checked: NormalScores, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return quantile_picture(checked, part, curves.get("quantiles"))


@profile_drawing.register(ContinuousRows)
@profile_drawing.register(SeveralRows)
def _(checked: NormalScores, panel: ColumnPanel) -> ProfileDrawing:
    return normal_drawing(panel)


@slice_facts.register
def _(checked: SeveralRows, rows: IntArray) -> list[str]:
    return [furthest_fact(checked, rows)]


@slice_facts.register(ContinuousRows)
@slice_facts.register(SingleMarginalRows)
def _(checked: OneColumn, rows: IntArray) -> list[str]:
    return [*mean_fact(checked, rows), furthest_fact(checked, rows)]
