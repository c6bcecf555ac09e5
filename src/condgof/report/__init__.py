"""Figures and the report: they read results only."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof.report import _chart as charts
from condgof.report import kinds
from condgof.report._chart import new_figure
from condgof.report._compared import compared_page, plot_compared
from condgof.report._coverage import coverage_chart
from condgof.report._dispatch import (
    available_pictures,
    first_pictures,
    profile_drawing,
    slice_facts,
    slice_picture,
    slice_quantiles,
)
from condgof.report._effects import effect_chart, plot_effect
from condgof.report._fit import FAR, fit
from condgof.report._forest import forest
from condgof.report._local import local_chart, plot_local
from condgof.report._maps import map_of
from condgof.report._notebook import card
from condgof.report._null import null_picture
from condgof.report._page import check_page
from condgof.report._panels import column_panel, panels
from condgof.report._pictures import main_pictures, plot_check, plot_result
from condgof.report._results import (
    evidence_picture,
    monitor_page,
    plot_monitor,
    result_page,
)
from condgof.report._text import (
    html,
    label,
    minus,
    once_in,
    script_json,
    shorten,
    terminal,
    tick_texts,
    ticks,
    visible,
)

if TYPE_CHECKING:
    from condgof.report._studies import STYLES, draw_criterion, draw_power, plot_power

__all__ = [
    "FAR",
    "STYLES",
    "available_pictures",
    "card",
    "charts",
    "check_page",
    "column_panel",
    "compared_page",
    "coverage_chart",
    "draw_criterion",
    "draw_power",
    "effect_chart",
    "evidence_picture",
    "first_pictures",
    "fit",
    "forest",
    "html",
    "kinds",
    "label",
    "local_chart",
    "main_pictures",
    "map_of",
    "minus",
    "monitor_page",
    "new_figure",
    "null_picture",
    "once_in",
    "panels",
    "plot_check",
    "plot_compared",
    "plot_effect",
    "plot_local",
    "plot_monitor",
    "plot_power",
    "plot_result",
    "profile_drawing",
    "result_page",
    "script_json",
    "shorten",
    "slice_facts",
    "slice_picture",
    "slice_quantiles",
    "terminal",
    "tick_texts",
    "ticks",
    "visible",
]

#: Figures of experiments, which load `condgof.study` only when they are asked for.
_OF_STUDIES = ("STYLES", "draw_criterion", "draw_power", "plot_power")


def __getattr__(name: str) -> Any:
    if name in _OF_STUDIES:
        return getattr(importlib.import_module("condgof.report._studies"), name)
    raise AttributeError(f"module 'condgof.report' has no attribute {name!r}")
