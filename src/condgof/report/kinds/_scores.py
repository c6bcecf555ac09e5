"""Stein scores alone: nothing predicted can be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel
from condgof.check.kinds import ScoreRows
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


@first_pictures.register
def _(checked: ScoreRows, check: Check) -> list[Chart | None]:
    return []


@available_pictures.register
def _(checked: ScoreRows) -> dict[str, Picture]:
    return {}


@slice_picture.register
def _(checked: ScoreRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@slice_quantiles.register
def _(checked: ScoreRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: ScoreRows, panel: ColumnPanel) -> ProfileDrawing:
    raise AssertionError("Stein scores have no estimates along columns.")


@slice_facts.register
def _(checked: ScoreRows, rows: IntArray) -> list[str]:
    return []
