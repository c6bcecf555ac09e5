"""Means and standard deviations alone: residuals of no known law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from condgof._typing import IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel
from condgof.check.kinds import MomentRows
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
    mean_drawing,
    mean_fact,
)


@first_pictures.register
def _(checked: MomentRows, check: Check) -> list[Chart | None]:
    return [fit(check, numbers=check.pictures.fit)]


@available_pictures.register
def _(checked: MomentRows) -> dict[str, Picture]:
    return {}


@slice_picture.register
def _(checked: MomentRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return histogram_picture(checked, part, curves.get("residuals"))


@slice_quantiles.register
def _(checked: MomentRows, part: Slice, curves: Mapping[str, Any]) -> Chart | None:
    return None


@profile_drawing.register
def _(checked: MomentRows, panel: ColumnPanel) -> ProfileDrawing:
    return mean_drawing(panel)


@slice_facts.register
def _(checked: MomentRows, rows: IntArray) -> list[str]:
    return [*mean_fact(checked, rows), furthest_fact(checked, rows)]
