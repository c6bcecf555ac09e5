"""Figures: they read results only."""

from condgof.report._engel import draw_findings
from condgof.report._figures import draw_fit, draw_where, new_figure, use_log_ticks

__all__ = ["draw_findings", "draw_fit", "draw_where", "new_figure", "use_log_ticks"]
