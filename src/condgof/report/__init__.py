"""Figures and the report: they read results only."""

from condgof.report._findings import card
from condgof.report._page import check_page, compared_page, plot_compared
from condgof.report._pictures import plot_check, plot_result
from condgof.report._text import html, label, script_json, terminal, visible

__all__ = [
    "card", "check_page", "compared_page", "html", "label", "plot_check", "plot_compared",
    "plot_result", "script_json", "terminal", "visible",
]  # fmt: skip
