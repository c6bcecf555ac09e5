"""Figures and the report: they read results only."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof.report._cards import check_card, result_card
from condgof.report._compared import compared_card, compared_page, plot_compared
from condgof.report._escape import html, label, script_json, terminal, visible
from condgof.report._page import check_page
from condgof.report._pen_pyplot import new_figure
from condgof.report._pictures import plot_check, plot_result

if TYPE_CHECKING:
    from condgof.report._studies import draw_criterion, draw_power, plot_power

__all__ = [
    "check_card",
    "check_page",
    "compared_card",
    "compared_page",
    "draw_criterion",
    "draw_power",
    "html",
    "label",
    "new_figure",
    "plot_check",
    "plot_compared",
    "plot_power",
    "plot_result",
    "result_card",
    "script_json",
    "terminal",
    "visible",
]


def __getattr__(name: str) -> Any:
    """Load the figures of experiments when they are first asked for: a report needs no experiment."""
    if name in ("draw_criterion", "draw_power", "plot_power"):
        return getattr(importlib.import_module("condgof.report._studies"), name)
    raise AttributeError(f"module 'condgof.report' has no attribute {name!r}")
