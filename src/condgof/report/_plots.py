"""Pictures with matplotlib of what is no check: the null distribution of a test."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof.errors import InputError
from condgof.report._figures import ORANGE
from condgof.report._numbers import number
from condgof.report._pen_pyplot import axes_for, draw
from condgof.report._pictures import null_picture
from condgof.result import GofResult

#: What is filled under a curve.
PALE = "#c9d4e0"


def plot_result(result: GofResult, ax: Any = None) -> Any:
    """Draw the null distribution and the statistic of a test; see `GofResult.plot`."""
    chart = null_picture(result)
    if chart is not None:
        ax = draw(chart, ax)
    elif result.null is not None and "normal" in result.null:
        ax, at = axes_for(ax), result.statistic
        z = np.linspace(min(-3.5, at - 0.5), max(3.5, at + 0.5), 301)
        density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
        ax.fill_between(z, density, color=PALE, lw=0, label="if the model is right (normal limit)")
        ax.axvline(at, color=ORANGE, lw=2.0, label=f"this model: {number(at)}")
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel("density")
        ax.set_xlabel("test statistic (larger: worse fit)")
        ax.legend(frameon=False, fontsize="small")
    else:
        raise InputError(
            f"This {result.method} result has no null distribution to draw. Run the test with "
            "null='wild'."
        )
    ax.set_title(f"{result.method}, n = {result.n:,}: {result.pvalue_words}", loc="left")
    return ax
