"""Stein scores alone: nothing predicted can be drawn."""

from __future__ import annotations

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.kinds import ScoreRows
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


@row_residuals.register
def _(checked: ScoreRows) -> RowResiduals | None:
    return None


@first_pictures.register
def _(checked: ScoreRows, check: Check) -> list[Chart | None]:
    return []


@available_pictures.register
def _(checked: ScoreRows) -> dict[str, Picture]:
    return {}


@slice_picture.register
def _(checked: ScoreRows, check: Check, part: Slice) -> Chart | None:
    return None


@slice_quantiles.register
def _(checked: ScoreRows, check: Check, part: Slice) -> Chart | None:
    return None


@along_column.register
def _(checked: ScoreRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    return None


@differences.register
def _(checked: ScoreRows, part: Slice | None) -> Differences | None:
    return None


@slice_facts.register
def _(checked: ScoreRows, rows: IntArray) -> list[str]:
    return []
