"""Figures of experiments: rates of a study, and the power criterion."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from condgof.errors import InputError, InputTypeError
from condgof.report._chart import axes_of, new_figure
from condgof.report._text import label
from condgof.study import METHODS, Illustration, Row, Study, title_of

# Okabe and Ito's palette: told apart by colour-blind readers too.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK, AMBER, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BELOW: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 9}

#: Colour and marker of a test, and whether it is dashed with open markers: they differ
#: without the colour too. Tests of a kind share a colour, in the order of `METHODS`; the
#: rest are for others.
Style: TypeAlias = tuple[str, str, bool]
LOOKS: tuple[Style, ...] = (
    ("#000000", "o", False), (BLUE, "s", False), (ORANGE, "^", False), (ORANGE, "v", True),
    (GREEN, "D", False), (GREEN, "d", True), (PINK, "X", False), (AMBER, "P", False),
    (AMBER, "p", True), (SKY, "*", False), (GREY, "h", False), (PINK, "<", False),
    (GREEN, ">", False), (BLUE, "8", False), (SKY, "s", True), (GREY, "o", True),
    (PINK, "d", True), (GREEN, "^", True), (BLUE, "v", True),
)  # fmt: skip
STYLES = dict(zip(METHODS, LOOKS, strict=False))


def draw_power(study: Study, *, shown: bool = False) -> Any:
    """Draw a panel a problem on a new figure, one legend under all."""
    count = len(study.topics)
    columns, width = min(4, count), max(5.0, 3.1 * min(4, count))
    figure = new_figure((width, 3.0 * -(-count // columns) + 0.9), shown=shown)
    axes = axes_of(figure, count, columns)
    draw_topics(study, axes)
    handles, labels = axes[0].get_legend_handles_labels()
    across = -(-len(labels) // -(-len(labels) // max(1, int(width / 1.75))))
    figure.legend(handles, labels, ncols=across, handlelength=2.6, **BELOW)
    return figure


def draw_topics(study: Study, axes: Sequence[Any]) -> None:
    rows, spare = study.table(), iter(LOOKS[len(STYLES) :] * len(study.methods))
    styles = {
        method: STYLES[method] if method in STYLES else next(spare)
        for method in study.methods
    }
    for topic, ax in zip(study.topics, axes, strict=False):
        draw_rates(
            ax,
            [row for row in rows if row.problem == topic.name],
            study.alpha,
            styles,
            topic.h0,
        )
        ax.set_title(textwrap.fill(label(topic.heading), 34), loc="left", fontsize="medium")
    axes[0].set_ylabel("rejection rate")


def draw_rates(
    ax: Any, rows: Sequence[Row], alpha: float, styles: Mapping[str, Style], h0: bool
) -> None:
    """Draw the rows of one problem: a line a method, with the intervals."""
    sizes = sorted({row.n for row in rows})
    span = (sizes[-1] - sizes[0]) or 1.0
    for i, (method, (color, marker, dashed)) in enumerate(styles.items()):
        mine = [r for r in rows if r.method == method and r.rate is not None]
        # Set a little apart, so that intervals at one size stand beside each other.
        shift = (0.011 if len(sizes) > 1 else 0.04) * span * (i - (len(styles) - 1) / 2)
        at, rates = (
            [r.n + shift for r in mine],
            np.array([r.rate for r in mine], dtype=float),
        )
        ends = np.array([[r.low for r in mine], [r.high for r in mine]])
        away = np.maximum(0.0, [rates - ends[0], ends[1] - rates])
        ax.errorbar(at, rates, away, fmt="none", ecolor=color, elinewidth=0.9, alpha=0.55)
        look = {"ls": "--", "mfc": "white"} if dashed else {"ls": "-", "mfc": color}
        name = label(title_of(method))
        ax.plot(at, rates, color=color, marker=marker, ms=5.5, lw=1.4, label=name, **look)
    ax.axhline(alpha, color=GREY, lw=1.0, ls=":", label=f"α = {alpha:g}", zorder=0)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.margins(x=0.08)
    if len(sizes) == 1:
        ax.set_xlim(sizes[0] - 0.5, sizes[0] + 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(-0.02, 1.02)
    if h0:  # rates near alpha need a scale of their own
        ax.set_ylim(0.0, min(1.0, max(4 * alpha, 1.25 * max(row.high for row in rows))))
        ax.locator_params(axis="y", nbins=5)
    ax.set_xlabel("sample size n")


def plot_power(study: Study, ax: object = None) -> Any:
    """Draw the rejection rates of a study against n (needs ``condgof[plot]``).

    One line a test, with exact 95% intervals and the level α; tests differ by colour,
    marker and dashes.

    Parameters
    ----------
    study : Study
        From `condgof.study.run_study`.
    ax : matplotlib.axes.Axes or sequence of them, optional
        Where to draw, one for each problem; new ones unless given, and returned.

    Examples
    --------
    >>> import condgof as cg
    >>> study = cg.study.run_study("lgm", "kcsd", [20, 40], trials=3, engine=1)
    >>> cg.plot_power(study).get_ylabel()
    'rejection rate'
    """
    if not isinstance(study, Study):
        raise InputTypeError(
            f"study must be a Study, from run_study, got {type(study).__name__}."
        )
    count = len(study.topics)
    if ax is None:
        places = draw_power(study, shown=True).axes[:count]
    else:
        places = list(np.ravel(np.asarray(ax, dtype=object)))[:count]
        if len(places) < count:
            raise InputError(
                f"There are {count} problems and {len(places)} Axes. Give one for each."
            )
        draw_topics(study, places)
        places[0].legend(frameon=False, fontsize="small", handlelength=2.6)
    return places[0] if count == 1 else np.array(places, dtype=object)


def draw_criterion(illustrations: Sequence[Illustration]) -> Any:
    """Draw one column an illustration: a sample with p and r, and the criterion."""
    columns = len(illustrations)
    figure = new_figure((max(5.0, 3.1 * columns), 5.4), shown=False)
    axes = figure.subplots(2, columns, squeeze=False, sharex="col", height_ratios=[3, 2])
    for one, (upper, lower) in zip(illustrations, axes.T, strict=True):
        shown = slice(None, None, max(1, len(one.x) // 400))
        look = {"color": GREY, "ms": 3, "alpha": 0.55, "mew": 0}
        upper.plot(one.x[shown], one.y[shown], ".", label="data from r", **look)
        both = (one.p, BLUE, "-", "model p"), (one.r, ORANGE, "--", "truth r")
        for (mean, std), color, style, name in both:
            edges = mean - 1.96 * std, mean + 1.96 * std
            upper.fill_between(one.grid, *edges, color=color, alpha=0.10, lw=0)
            for edge in edges:
                upper.plot(one.grid, edge, color=color, lw=0.7, ls=style, alpha=0.8)
            words = f"{name} (mean, 95% band)"
            upper.plot(one.grid, mean, color=color, lw=1.8, ls=style, label=words)
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
    across = 4 if columns > 1 else 2
    figure.legend(
        [*handles, *more], [*labels, *names], ncols=across, markerscale=2.5, **BELOW
    )
    return figure
