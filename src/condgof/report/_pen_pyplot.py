"""The pen for notebooks: the same charts on matplotlib's Axes, in the same colours."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from condgof.errors import require
from condgof.report._chart import STEPS, Band, Boxes, Chart, Intervals, Key, Line, Mark, Points, Rule
from condgof.report._pen_svg import colours
from condgof.report._text import label, visible

#: Markers of matplotlib.
SHAPES = {"dot": "o", "tick": "_", "pin": "|", "up": "^", "down": "v", "left": "<", "right": ">"}


def new_figure(size: tuple[float, float], *, shown: bool = True, layout: Any = "constrained") -> Any:
    """Return a figure of pyplot, which notebooks show, or one that no window manager knows of."""
    require("matplotlib", "plot", "Drawing a figure")
    if shown:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, layout=layout)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout)


def axes_of(figure: Any, count: int, columns: int) -> list[Any]:
    """Return so many Axes in rows of `columns`."""
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    return axes[:count]


def draw_all(charts: Sequence[Chart]) -> Any:
    """Draw charts on one new figure, two in a row."""
    import matplotlib

    columns = min(2, len(charts))
    wide, high = 6.5 * columns, 5.3 * -(-len(charts) // 2)
    # Fixed: titles and legends that are wider than their Axes would shrink them in a layout that adapts.
    figure = new_figure((wide, high), layout=None)
    margins = 1.3 / wide, 1.1 / high, 1.0 - 0.3 / wide, 1.0 - 1.35 / high
    figure.subplots_adjust(*margins, wspace=0.3, hspace=0.75)
    for chart, ax in zip(charts, axes_of(figure, len(charts), columns), strict=True):
        draw(replace(chart, size=(430, 390)), ax)
    if "inline" in matplotlib.get_backend():  # a notebook shows what is returned, and must not twice
        matplotlib.pyplot.close(figure)
    return figure


def draw(chart: Chart, ax: Any = None) -> Any:
    """Draw a chart on the Axes that is given, or on a new figure."""
    width, height = chart.size
    columns = 3 if width > 500 else 2
    ax = new_figure((width / 75, height / 75 + 0.6)).add_subplot() if ax is None else ax
    ax.set_xlim(chart.x.ends)
    ax.set_ylim(chart.y.ends)
    for depth, mark in enumerate(chart.marks, 2):
        _draw(ax, mark, depth)
    ax.set_xticks(chart.x.at, [label(text) for text in chart.x.texts])
    ax.set_yticks(chart.y.at, [label(text) for text in chart.y.texts])
    ax.tick_params(labelsize="small")
    if chart.x.places and 7 * sum(map(len, chart.x.texts)) > width - 90:
        for text in ax.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlabel(label(chart.x.name))
    ax.set_ylabel(label(chart.y.name))
    ax.set_axisbelow(True)
    if not chart.y.places:
        ax.grid(axis="y", color=colours()["grid"], lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    handles = [handle for entry in chart.entries for handle in _handles(entry)]
    if handles:  # above the data, under the title
        look = {"fontsize": "small", "frameon": False, "borderaxespad": 0.0, "columnspacing": 1.0}
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=columns, **look)
    lines = textwrap.wrap(visible(chart.title), max(int(width / 7.4), 34))
    pad = 6 + 15 * -(-len(handles) // columns)
    ax.set_title("\n".join(map(label, lines)), loc="left", fontsize="medium", pad=pad)
    return ax


def _draw(ax: Any, mark: Mark, depth: int) -> None:
    """Draw one mark."""
    if isinstance(mark, Boxes):
        return _boxes(ax, mark, depth)
    if isinstance(mark, Intervals):
        return _intervals(ax, mark, depth + 20)
    if isinstance(mark, Points):
        line = mark.shape in ("tick", "pin")
        look: dict[str, Any] = {"color": colours()[mark.kind], "zorder": depth + 20, "clip_on": False}
        look |= {"ms": mark.size if line or mark.shape == "dot" else 7, "mew": 1.8 if line else 0}
        look |= {"alpha": 0.5} if (mark.kind, mark.shape) == ("data", "dot") else {}
        ax.plot(mark.x, mark.y, SHAPES[mark.shape], **look)
        return None
    if isinstance(mark, Band):
        ax.fill_between(mark.x, mark.low, mark.high, color=colours()[mark.kind], lw=0, zorder=depth)
        return None
    if isinstance(mark, (Line, Rule)):
        look = {"ls": "--" if mark.dashed else "-", "lw": 1.4 if mark.dashed else 1.8}
        look |= {"color": colours()[mark.kind], "zorder": depth}
        if isinstance(mark, Line):
            ax.plot(mark.x, mark.y, **look)
        else:
            (ax.axhline if mark.lying else ax.axvline)(mark.at, **look)
        return None
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    place = {"xytext": (0, 0.75 * mark.up), "textcoords": "offset points", "zorder": depth + 30}
    ax.annotate(label(mark.words), (mark.x, mark.y), ha=side, fontsize="small", **place)
    return None


def _boxes(ax: Any, mark: Boxes, depth: int) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    faint = np.zeros(len(mark.left), bool) if mark.faint is None else np.asarray(mark.faint)
    for kind, weak in dict.fromkeys(zip(mark.kinds, faint.tolist(), strict=True)):
        at = [i for i, one in enumerate(mark.kinds) if one == kind and faint[i] == weak]
        sizes = mark.right - mark.left, mark.high - mark.low
        shapes = [Rectangle((mark.left[i], mark.low[i]), sizes[0][i], sizes[1][i]) for i in at]
        edge = "none" if kind in ("shade", "band50", "band90") else "white"
        look: dict[str, Any] = {"fc": colours()[kind], "ec": edge, "lw": 0.6, "zorder": depth}
        look |= {"alpha": 0.35, "hatch": "///"} if weak else {}
        ax.add_collection(PatchCollection(shapes, **look))


def _intervals(ax: Any, mark: Intervals, depth: int) -> None:
    first, last = ax.get_xlim() if mark.lying else ax.get_ylim()
    whiskers = ax.hlines if mark.lying else ax.vlines
    for kind in dict.fromkeys(mark.kinds):
        at = np.array([one == kind for one in mark.kinds])
        low, middle, high = (np.clip(v[at], first, last) for v in (mark.low, mark.estimate, mark.high))
        look = {"color": colours()[kind], "zorder": depth}
        whiskers(mark.at[at], low, high, lw=1.0 if mark.size < 4 else 1.6, **look)
        below, above = mark.low[at] < first, mark.high[at] > last
        marks = [(middle, np.full(len(middle), True), "oo", 0.8 * mark.size)]
        marks += [(low, below, "<v", 5.0), (high, above, ">^", 5.0)]
        for values, some, shapes, size in marks:
            points = (values[some], mark.at[at][some])
            shape = shapes[0] if mark.lying else shapes[1]
            ax.plot(*points[:: 1 if mark.lying else -1], shape, ms=size, mew=0, clip_on=False, **look)


def _handles(entry: Key) -> list[Any]:
    """Return what a legend shows for an entry; of a ramp its two ends and its middle."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    known = colours()
    if entry.mark == "ramp":
        low, high = entry.words.split("|")
        ends = ((f"s{-STEPS}", low), ("s0", "as the model says"), (f"s{STEPS}", high))
        return [Patch(fc=known[kind], label=label(words)) for kind, words in ends]
    if entry.mark == "box":
        return [Patch(fc=known[entry.kind], label=label(entry.words))]
    if entry.mark in ("line", "dashed"):
        look: dict[str, Any] = {"ls": "--" if entry.mark == "dashed" else "-"}
    else:
        look = {"ls": "", "marker": SHAPES[entry.mark]}
    return [Line2D([], [], color=known[entry.kind], label=label(entry.words), **look)]
