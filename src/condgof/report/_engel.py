"""The figure of the demonstration."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof.report._figures import draw_fit, draw_where, new_figure, use_log_ticks
from condgof.study import EngelStudy, Finding


def draw_findings(findings: list[Finding], study: EngelStudy) -> Any:
    """Draw, for each model, the data against it and the criterion along income."""
    figure, axes = new_figure(2, len(findings), width=9.0, height=6.2)
    for finding, (upper, lower) in zip(findings, axes.T, strict=True):
        grid = np.geomspace(study.income.min(), study.income.max(), 200)
        mean, std = finding.model(grid).mean_std()
        draw_fit(upper, study.income, study.food, grid, mean[:, 0], std[:, 0])
        p = finding.result.pvalue
        word = "rejected" if finding.result.reject() else "not rejected"
        upper.set_title(f"{finding.name.capitalize()}: {word}, p = {p:.3f}", fontsize=11)
        draw_where(lower, finding.grid, finding.criterion, finding.top, f"{finding.top:,.0f}")
        lower.set_xlabel("income (francs a year, log scale)")
        upper.set_yscale("log")
        use_log_ticks(upper.yaxis, (100, 200, 500, 1000, 2000, 4000))
        lower.set_xscale("log")
        use_log_ticks(lower.xaxis, (400, 600, 1000, 2000, 3000, 5000))
    axes[0, 0].set_ylabel("food (francs a year, log scale)")
    axes[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    axes[1, 0].set_ylabel("power criterion:\nwhere a misfit shows")
    return figure
