"""Figures of experiments: rates of a study, and the power criterion."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.report._chart import axes_of, new_figure
from condgof.report._text import label
from condgof.study import METHODS, Illustration, Row, Study, title_of

# The palette of Okabe and Ito, whose colours colour-blind readers can distinguish too.
BLACK = "#000000"
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PINK = "#CC79A7"
AMBER = "#E69F00"
SKY = "#56B4E9"
GREY = "#666666"  # not of the palette: for what is in the background
#: Options of a legend below all panels of a figure.
BELOW: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
#: Most panels in a row.
MOST_COLUMNS = 4
#: Width of a panel, in inches.
PANEL_WIDTH = 3.1
#: Height of a panel, in inches.
PANEL_HEIGHT = 3.0
#: The least width of a figure, in inches.
LEAST_WIDTH = 5.0
#: Height of the legend under the panels, in inches.
LEGEND_HEIGHT = 0.9
#: Width of an entry of that legend, in inches.
KEY_WIDTH = 1.75
#: Distance of two tests on the axis of n, as a share of the range of n.
OFFSET = 0.011
#: The same distance where all tests have the same n, on an axis of width 1.
OFFSET_OF_ONE_SIZE = 0.04
#: Half the width of a 95% interval of N(0, 1).
HALF_WIDTH_95 = 1.96
#: About as many rows of a sample are drawn beside the power criterion.
MOST_POINTS = 400


class Style(NamedTuple):
    """How a test is drawn: tests differ by more than the colour."""

    colour: str
    marker: str  #: A marker of matplotlib.
    dashed: bool = False  #: Whether the line is dashed, and the markers are open.


#: The styles of tests, first of those of `METHODS` in their order, where tests of a kind
#: share a colour; the rest are for tests that users add.
LOOKS: tuple[Style, ...] = (
    Style(BLACK, "o"),
    Style(BLUE, "s"),
    Style(ORANGE, "^"),
    Style(ORANGE, "v", dashed=True),
    Style(GREEN, "D"),
    Style(GREEN, "d", dashed=True),
    Style(PINK, "X"),
    Style(AMBER, "P"),
    Style(AMBER, "p", dashed=True),
    Style(SKY, "*"),
    Style(GREY, "h"),
    Style(PINK, "<"),
    Style(GREEN, ">"),
    Style(BLUE, "8"),
    Style(SKY, "s", dashed=True),
    Style(GREY, "o", dashed=True),
    Style(PINK, "d", dashed=True),
    Style(GREEN, "^", dashed=True),
    Style(BLUE, "v", dashed=True),
)
#: The style of each named test.
STYLES = dict(zip(METHODS, LOOKS, strict=False))


def draw_power(study: Study, *, shown: bool = False) -> Any:
    """Draw a panel a problem on a new figure, one legend under all."""
    count = len(study.topics)
    columns = min(MOST_COLUMNS, count)
    width = max(LEAST_WIDTH, PANEL_WIDTH * columns)
    height = PANEL_HEIGHT * -(-count // columns) + LEGEND_HEIGHT
    figure = new_figure((width, height), shown=shown)
    axes = axes_of(figure, count, columns)
    draw_topics(study, axes)
    handles, labels = axes[0].get_legend_handles_labels()
    # As few rows as fit the width, and then as even ones as possible.
    rows = -(-len(labels) // max(1, int(width / KEY_WIDTH)))
    across = -(-len(labels) // rows)
    figure.legend(handles, labels, ncols=across, handlelength=2.6, **BELOW)
    return figure


def draw_topics(study: Study, axes: Sequence[Any]) -> None:
    """Draw the rates of each problem on its Axes."""
    rows = study.table()
    spare = cycle(LOOKS[len(STYLES) :])
    styles = {
        method: STYLES[method] if method in STYLES else next(spare)
        for method in study.methods
    }
    for topic, ax in zip(study.topics, axes, strict=False):
        draw_rates(
            ax,
            rows=[row for row in rows if row.problem == topic.name],
            alpha=study.alpha,
            styles=styles,
            h0=topic.h0,
        )
        ax.set_title(textwrap.fill(label(topic.heading), 34), loc="left", fontsize="medium")
    axes[0].set_ylabel("rejection rate")


def draw_rates(
    ax: Any, *, rows: Sequence[Row], alpha: float, styles: Mapping[str, Style], h0: bool
) -> None:
    """Draw the rows of one problem: a line a method, with the intervals.

    `h0` is whether the model of the problem is right.
    """
    sizes = sorted({row.n for row in rows})
    span = (sizes[-1] - sizes[0]) or 1.0
    offset = OFFSET if len(sizes) > 1 else OFFSET_OF_ONE_SIZE
    for i, (method, style) in enumerate(styles.items()):
        of_method = [row for row in rows if row.method == method and row.rate is not None]
        # Tests are a little apart, so that their intervals at one n do not overlap.
        shift = offset * span * (i - (len(styles) - 1) / 2)
        at = [row.n + shift for row in of_method]
        rates = np.array([row.rate for row in of_method], dtype=float)
        low = np.array([row.low for row in of_method])
        high = np.array([row.high for row in of_method])
        ax.errorbar(
            at,
            rates,
            np.maximum(0.0, [rates - low, high - rates]),
            fmt="none",
            ecolor=style.colour,
            elinewidth=0.9,
            alpha=0.55,
        )
        ax.plot(
            at,
            rates,
            color=style.colour,
            marker=style.marker,
            ls="--" if style.dashed else "-",
            mfc="white" if style.dashed else style.colour,
            ms=5.5,
            lw=1.4,
            label=label(title_of(method)),
        )
    ax.axhline(alpha, color=GREY, lw=1.0, ls=":", label=f"α = {alpha:g}", zorder=0)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.margins(x=0.08)
    if len(sizes) == 1:
        ax.set_xlim(sizes[0] - 0.5, sizes[0] + 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(-0.02, 1.02)
    if h0:
        # Rates near alpha would all be at the bottom of an axis that goes to 1.
        top = max(4 * alpha, 1.25 * max(row.high for row in rows))
        ax.set_ylim(0.0, min(1.0, top))
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
    width = max(LEAST_WIDTH, PANEL_WIDTH * columns)
    figure = new_figure((width, 5.4), shown=False)
    axes = figure.subplots(2, columns, squeeze=False, sharex="col", height_ratios=[3, 2])
    for one, (upper, lower) in zip(illustrations, axes.T, strict=True):
        shown = slice(None, None, max(1, len(one.x) // MOST_POINTS))
        upper.plot(
            one.x[shown],
            one.y[shown],
            ".",
            label="data from r",
            color=GREY,
            ms=3,
            alpha=0.55,
            mew=0,
        )
        _draw_normal(upper, one.grid, one.p, colour=BLUE, style="-", name="model p")
        _draw_normal(upper, one.grid, one.r, colour=ORANGE, style="--", name="truth r")
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


def _draw_normal(
    ax: Any,
    grid: FloatArray,
    law: tuple[FloatArray, FloatArray],
    *,
    colour: str,
    style: str,
    name: str,
) -> None:
    """Draw mean and 95% band of normal y along a grid (g,): `law` is mean and sd, (g,)."""
    mean, std = law
    low = mean - HALF_WIDTH_95 * std
    high = mean + HALF_WIDTH_95 * std
    ax.fill_between(grid, low, high, color=colour, alpha=0.10, lw=0)
    for edge in (low, high):
        ax.plot(grid, edge, color=colour, lw=0.7, ls=style, alpha=0.8)
    words = f"{name} (mean, 95% band)"
    ax.plot(grid, mean, color=colour, lw=1.8, ls=style, label=words)
