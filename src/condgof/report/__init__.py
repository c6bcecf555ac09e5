"""Figures: they read results only."""

from condgof.report._criterion import draw_criterion
from condgof.report._engel import draw_findings
from condgof.report._figures import draw_fit, draw_where, new_figure, use_log_ticks
from condgof.report._page import check_page
from condgof.report._power import draw_power
from condgof.report._taxi import draw_change, draw_gallery, draw_maps, draw_pair

__all__ = [
    "check_page",
    "draw_change",
    "draw_criterion",
    "draw_findings",
    "draw_fit",
    "draw_gallery",
    "draw_maps",
    "draw_pair",
    "draw_power",
    "draw_where",
    "new_figure",
    "use_log_ticks",
]
