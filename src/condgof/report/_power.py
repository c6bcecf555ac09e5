"""The figure of a study: rejection rates against sample size, one panel a problem."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from condgof.report._escape import label
from condgof.report._figures import BLUE, GREY, ORANGE, new_figure
from condgof.study import TITLES, Row, Study

COLUMNS = 4
GREEN, PINK, AMBER, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"


@dataclass(frozen=True)
class Style:
    """How a test is drawn: nobody should need the colour to tell two of them apart."""

    color: str
    marker: str
    dashed: bool = False


#: Tests of a kind share a colour; the lesser of two is dashed with open markers.
STYLES = {
    "adaptive": Style("#000000", "o"),
    "kcsd": Style(BLUE, "s"),
    "fscd-opt": Style(ORANGE, "^"),
    "fscd-opt-1": Style(ORANGE, "v", dashed=True),
    "fscd-rand": Style(GREEN, "D"),
    "fscd-rand-1": Style(GREEN, "d", dashed=True),
    "mmd": Style(PINK, "X"),
    "zheng": Style(AMBER, "P"),
    "zheng-wild": Style(AMBER, "p", dashed=True),
}
OTHERS = [
    Style(color, marker, dashed)
    for dashed, markers in ((False, "*h<>8"), (True, "sod^v"))
    for color, marker in zip((SKY, GREY, PINK, GREEN, BLUE), markers, strict=True)
]


def draw_power(study: Study) -> Any:
    """Draw the rejection rates of a study with their exact 95% intervals.

    Parameters
    ----------
    study : Study
        From `run_study`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import condgof as cg
    >>> study = cg.study.run_study("lgm", "kcsd", [20, 40], trials=3, engine=1)
    >>> len(draw_power(study).axes)
    1
    """
    count = len(study.topics)
    columns = min(COLUMNS, count)
    lines = -(-count // columns)
    width = max(5.0, 3.1 * columns)
    figure, axes = new_figure(
        lines, columns, width=width, height=3.0 * lines + 0.9, sharex=False, sharey=False
    )
    styles = styles_of(study.methods)
    for topic, ax in zip(study.topics, axes.flat, strict=False):
        draw_rates(ax, [row for row in study.table() if row.problem == topic.name], study.alpha, styles)
        title = textwrap.fill(label(topic.title), 34) + (" ($H_0$)" if topic.h0 else " ($H_1$)")
        ax.set_title(title, fontsize=10)
        if topic.h0:  # rates near alpha need a scale of their own
            ax.locator_params(axis="y", nbins=5)
            ax.set_ylim(0.0, min(1.0, max(4 * study.alpha, 1.25 * _highest(study, topic.name))))
        else:
            ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("sample size n")
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    for first in axes[:, 0]:
        first.set_ylabel("rejection rate")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    rows = -(-len(labels) // max(1, int(width / 1.75)))
    across = -(-len(labels) // rows)
    figure.legend(
        handles, labels, loc="outside lower center", ncols=across, frameon=False, fontsize=9,
        handlelength=2.6,
    )  # fmt: skip
    return figure


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Give each method a style of its own."""
    names = list(methods)
    spare = iter(OTHERS * len(names))
    return {m: STYLES[m] if m in STYLES else next(spare) for m in names}


def draw_rates(ax: Any, rows: Sequence[Row], alpha: float, styles: Mapping[str, Style]) -> None:
    """Draw the rows of one problem: a line a method, with the intervals."""
    sizes = sorted({row.n for row in rows})
    span = (sizes[-1] - sizes[0]) or 1.0
    for i, (method, style) in enumerate(styles.items()):
        mine = [r for r in rows if r.method == method and r.rate is not None]
        # Set a little apart, so that intervals at one size stand beside each other.
        shift = (0.011 if len(sizes) > 1 else 0.04) * span * (i - (len(styles) - 1) / 2)
        at = [r.n + shift for r in mine]
        rates = [float(r.rate or 0.0) for r in mine]
        below = [max(0.0, rate - r.low) for rate, r in zip(rates, mine, strict=True)]
        above = [max(0.0, r.high - rate) for rate, r in zip(rates, mine, strict=True)]
        ax.errorbar(
            at, rates, [below, above], fmt="none", ecolor=style.color, elinewidth=0.9, alpha=0.55
        )
        ax.plot(
            at, rates, color=style.color, marker=style.marker, ms=5.5, lw=1.4,
            ls="--" if style.dashed else "-", mfc="white" if style.dashed else style.color,
            label=label(TITLES.get(method, method)),
        )  # fmt: skip
    ax.axhline(alpha, color=GREY, lw=1.0, ls=":", label=f"α = {alpha:g}", zorder=0)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.margins(x=0.08)
    if len(sizes) == 1:
        ax.set_xlim(sizes[0] - 0.5, sizes[0] + 0.5)
    ax.spines[["top", "right"]].set_visible(False)


def _highest(study: Study, problem: str) -> float:
    return max(row.high for row in study.table() if row.problem == problem)
