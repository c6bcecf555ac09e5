"""The figure of the power criterion: data, model and truth above, the criterion below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from condgof._typing import FloatArray
from condgof.report._figures import BLUE, GREY, ORANGE, new_figure
from condgof.study import Illustration

GREEN = "#009E73"


def draw_criterion(illustrations: Sequence[Illustration]) -> Any:
    """Draw one column an illustration: a sample with p and r (mean and 95% band), and the criterion.

    Parameters
    ----------
    illustrations : sequence of Illustration
        From `illustrate`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import condgof as cg
    >>> len(draw_criterion([cg.study.illustrate("slope-1d", n=100)]).axes)
    2
    """
    columns = len(illustrations)
    figure, axes = new_figure(
        2, columns, width=max(5.0, 3.1 * columns), height=5.4, sharey=False, height_ratios=[3, 2]
    )
    for one, (upper, lower) in zip(illustrations, axes.T, strict=True):
        shown = slice(None, None, max(1, len(one.x) // 400))
        upper.plot(
            one.x[shown], one.y[shown], ".", color=GREY, ms=3, alpha=0.55, mew=0, label="data from r"
        )
        _draw_band(upper, one.grid, *one.p, color=BLUE, style="-", label="model p")
        _draw_band(upper, one.grid, *one.r, color=ORANGE, style="--", label="truth r")
        upper.set_title(one.title, fontsize=10)
        lower.axhline(0.0, color="0.8", lw=0.8)
        lower.plot(one.grid, one.criterion, color=GREEN, lw=1.8, label="power criterion")
        lower.axvline(one.top, color=GREEN, lw=0.8, ls=":")
        lower.set_ylim(bottom=min(0.0, 1.1 * float(one.criterion.min())))
        lower.set_xlabel("x (data), v (location)")
        for ax in (upper, lower):
            ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("y")
    axes[1, 0].set_ylabel("power criterion at v")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    more, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(
        [*handles, *more], [*labels, *names], loc="outside lower center", ncols=4 if columns > 1 else 2,
        frameon=False, fontsize=9, markerscale=2.5,
    )  # fmt: skip
    return figure


def _draw_band(
    ax: Any, grid: FloatArray, mean: FloatArray, std: FloatArray, *, color: str, style: str, label: str
) -> None:
    """Draw a mean, and the 95% band by its edges and a light fill."""
    low, high = mean - 1.96 * std, mean + 1.96 * std
    ax.fill_between(grid, low, high, color=color, alpha=0.10, lw=0)
    for edge in (low, high):
        ax.plot(grid, edge, color=color, lw=0.7, ls=style, alpha=0.8)
    ax.plot(grid, mean, color=color, lw=1.8, ls=style, label=f"{label} (mean, 95% band)")
