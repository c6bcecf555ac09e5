"""Figures and the report: they read results only."""

from condgof.report._cards import check_card, result_card
from condgof.report._criterion import draw_criterion
from condgof.report._escape import csv_cell, csv_text, html, label, script_json, terminal, visible
from condgof.report._figures import new_figure
from condgof.report._page import check_page
from condgof.report._pictures import plot_check
from condgof.report._plot_power import plot_power
from condgof.report._plots import plot_result
from condgof.report._power import draw_power
from condgof.report._taxi import draw_change, draw_gallery, draw_maps, draw_pair

__all__ = [
    "check_card",
    "check_page",
    "csv_cell",
    "csv_text",
    "draw_change",
    "draw_criterion",
    "draw_gallery",
    "draw_maps",
    "draw_pair",
    "draw_power",
    "html",
    "label",
    "new_figure",
    "plot_check",
    "plot_power",
    "plot_result",
    "result_card",
    "script_json",
    "terminal",
    "visible",
]
