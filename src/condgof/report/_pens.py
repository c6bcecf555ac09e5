"""Two pens for one chart: SVG under a legend in HTML for pages, matplotlib's Axes for notebooks.

Colours are classes of charts.css. Marks of one kind are one path: a thousand points are ten kilobytes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import require
from condgof.report import _chart as c
from condgof.report._chart import Chart
from condgof.report._text import html, label, shorten, visible

#: Pixels of a letter in a name, and of a tick; and how much of it remains where names are turned.
LETTER, TICK, TURNED = 7.2, 6.7, 0.72
#: How shapes of points and of the legend go on from their place, and their class.
SHAPES = {
    "dot": ("h0", "m-dot"),
    "tick": ("m-{0} 0h{1}", "m-line"),
    "pin": ("m0 -{0}v{1}", "m-line"),
    "up": ("m0 -5.5l5 8.5h-10Z", "m-box"),
    "down": ("m0 5.5l5 -8.5h-10Z", "m-box"),
    "left": ("m-5.5 0l8.5 5v-10Z", "m-box"),
    "right": ("m5.5 0l-8.5 5v-10Z", "m-box"),
    "line": ("m-10 0h20", "m-line"),
    "dashed": ("m-10 0h20", "m-line dashed"),
    "box": ("m-10 -6h20v12h-20Z", "m-box"),
}


def svg(chart: Chart, key: str) -> str:
    """Draw a chart under its legend; `key` is an id that no other one on the page has."""
    frame, inside, over = _Frame(chart), "", ""
    for mark in chart.drawn:
        if isinstance(mark, (c.Points, c.Text)):  # may stand out over the edges
            over += frame.mark(mark)
        else:
            inside += frame.mark(mark)
    left, top, right, floor = map(_n, (frame.left, frame.top, frame.right, frame.floor))
    width, height = _n(frame.width), _n(frame.height)
    return (
        f'{legend(chart.entries)}<svg class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{html(chart.title)}" aria-describedby="{key}-d" '
        f'focusable="false"><desc id="{key}-d">{html(chart.desc)}</desc><clipPath id="{key}-c">'
        f'<path d="M{left} {top}H{right}V{floor}H{left}Z"/></clipPath>{frame.axes()}'
        f'<g clip-path="url(#{key}-c)">{inside}</g>{over}</svg>'
    )


def legend(entries: Sequence[c.Key]) -> str:
    listed, steps = "", [f"s{step}" for step in range(-c.STEPS, c.STEPS + 1)]
    for mark, kind, words in entries:
        before, after, wide = "", words, 22
        if mark == "ramp":
            (before, after), wide = words.split("|"), 13 * len(steps)
            drawn = _grouped([f"M{at} 1h13v12h-13Z" for at in range(0, wide, 13)], steps, "m-box")
        else:
            drawn = _paths(["M11 7"], (kind,), mark, 13 if mark == "pin" else 7)
        size = f'viewBox="0 0 {wide} 14" width="{wide}" height="14"'
        drawn = f'<svg {size} aria-hidden="true" focusable="false">{drawn}</svg>'
        listed += f"<li>{html(before)}{drawn}{html(after)}</li>"
    return f'<ul class="legend">{listed}</ul>' if listed else ""


@cache
def themed(name: str) -> tuple[str, str]:
    """Return the colours of a style sheet, light and dark, and its rules."""
    light, dark, rules = (files("condgof.report") / name).read_text("utf-8").split("/* --- */")
    system = "@media screen and (prefers-color-scheme: dark)"
    return (
        f'{light}{system} {{ :root:not([data-theme="light"]) {{{dark}}} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{{dark}}} }}'
    ), rules


def chart_style() -> str:
    kinds = "\n".join(f".k-{kind} {{ color: var(--k-{kind}); }}" for kind in c.KINDS)
    return f"{''.join(themed('charts.css'))}{kinds}\n"


@cache
def colours() -> dict[str, str]:
    light = themed("charts.css")[0].partition("@media")[0]
    return dict(re.findall(r"--k-([\w-]+): (#\w+)", light))


class _Frame:
    """The rectangle that data are drawn in, in pixels; names that are turned take more room."""

    def __init__(self, chart: Chart) -> None:
        (self.width, height), self.x, self.y = chart.size, chart.x, chart.y
        longest, letters = (max(map(len, scale.texts), default=0) for scale in (self.y, self.x))
        self.left = 10 + TICK * longest + 20 * bool(self.y.name)
        room, more = (self.width - self.left - 14) / max(len(self.x.at), 1), 0.0
        self.turned = self.x.places and TICK * letters > room - 5
        if self.turned:  # the first name reaches to the left, and all reach down
            self.left = max(self.left, TURNED * TICK * len(self.x.texts[0]) - 0.5 * room + 14)
            more = max(TURNED * TICK * letters - 8, 0.0)
        self.right, self.top, self.height = self.width - 14, 8, height + more
        self.floor = height - 12 - 12 * bool(self.x.texts) - 20 * bool(self.x.name)
        self.at_x = partial(_place, self.x.ends, self.left, self.right)
        self.at_y = partial(_place, self.y.ends, self.floor, self.top)

    def axes(self) -> str:
        """Draw ticks, faint lines across, and the names of both axes."""
        left, right, floor = map(_n, (self.left, self.right, self.floor))
        at_x, at_y = self.at_x(np.array(self.x.at)), self.at_y(np.array(self.y.at))
        across = "" if self.y.places else "".join(f"M{left} {_n(v)}H{right}" for v in at_y)
        feet = "" if self.x.places else "".join(f"M{_n(v)} {floor}v4" for v in at_x)
        foot = f"M{left} {floor}H{right}{feet}"
        drawn = f'<path class="grid" d="{across}"/><path class="axis" d="{foot}"/>'
        for v, words in zip(at_x, self.x.texts, strict=True):
            half = 1 + 0.5 * TICK * len(words)
            if self.turned:
                drawn += _text(v + 4, self.floor + 13, words, "tick", "end", -45)
            else:
                seen = min(max(v, half), self.width - half)
                drawn += _text(seen, self.floor + 17, words, "tick", "middle")
        for v, words in zip(at_y, self.y.texts, strict=True):
            drawn += _text(self.left - 6, v + 4, words, "tick", "end")
        words = shorten(self.x.name, int(self.width / LETTER) - 3)
        drawn += _text((self.left + self.right) / 2, self.height - 7, words, "name", "middle")
        words = shorten(self.y.name, int((self.floor - self.top + 30) / LETTER))
        return drawn + _text(13, (self.top + self.floor) / 2, words, "name", "middle", -90)

    def mark(self, mark: c.Points | c.Line | c.Band | c.Boxes | c.Text) -> str:
        if isinstance(mark, c.Points):
            both = zip(self.at_x(mark.x), self.at_y(mark.y), strict=True)
            places = [f"M{_n(a)} {_n(b)}" for a, b in both]
            return _paths(places, (mark.kind,) * len(places), mark.shape, mark.size, mark.tips)
        if isinstance(mark, c.Boxes):
            return self.boxes(mark)
        if isinstance(mark, c.Text):
            place = float(self.at_x(mark.x)), float(self.at_y(mark.y)) - mark.up
            return _text(*place, mark.words, "in", mark.anchor)
        if isinstance(mark, c.Band):
            way, known = "", np.isfinite(mark.low)
            for piece in np.split(np.arange(len(mark.x)), np.flatnonzero(~known)):
                there, back = piece[known[piece]], piece[known[piece]][::-1]
                x = self.at_x(mark.x[np.append(there, back)])
                y = self.at_y(np.append(mark.high[there], mark.low[back]))
                way += f"{_path(x, y)}Z" if len(there) else ""
            return f'<path class="m-box k-{mark.kind}" d="{way}"/>'
        way = _path(self.at_x(_within(mark.x, self.x.ends)), self.at_y(_within(mark.y, self.y.ends)))
        return f'<path class="m-line k-{mark.kind} {mark.look}" d="{way}"/>'

    def boxes(self, mark: c.Boxes) -> str:
        left, right, low, high = *map(self.at_x, mark[:2]), *map(self.at_y, mark[2:4])
        gap = np.where(right - left > 4, 0.6, 0.0)
        places = [tuple(map(_n, four)) for four in zip(left + gap, right - gap, high, low, strict=True)]
        shapes = [f"M{i} {t}H{j}V{f}H{i}Z" for i, j, t, f in places]
        if mark.faint is None:
            return _grouped(shapes, mark.kinds, "m-box", mark.tips)
        kinds = [f"{k} faint" if weak else k for k, weak in zip(mark.kinds, mark.faint, strict=True)]
        through = "".join(f"M{i} {f}L{j} {t}" for k, (i, j, t, f) in enumerate(places) if mark.faint[k])
        return f'{_grouped(shapes, kinds, "m-box", mark.tips)}<path class="struck" d="{through}"/>'


def _paths(
    places: Sequence[str], kinds: Sequence[str], shape: str, size: float, tips: Sequence[str] = ()
) -> str:
    """Draw shapes at places; a dot is the round end of a line without length."""
    way, look = SHAPES[shape]
    way, wide = way.format(_n(size / 2), _n(size)), f' stroke-width="{size:g}"' if shape == "dot" else ""
    return _grouped([f"{place}{way}" for place in places], kinds, look, tips, wide)


def _grouped(
    shapes: Sequence[str], kinds: Sequence[str], look: str, tips: Sequence[str] = (), more: str = ""
) -> str:
    """Draw shapes of one kind as one path, or each by itself with what it says when it is pointed at."""
    each: dict[tuple[str, str], str] = {}
    for shape, kind, tip in zip(shapes, kinds, tips or [""] * len(shapes), strict=True):
        each[kind, tip] = each.get((kind, tip), "") + shape
    return "".join(
        f'<path class="{look} k-{kind}"{more} d="{way}"'
        + (f"><title>{html(tip)}</title></path>" if tip else "/>")
        for (kind, tip), way in each.items()
    )


def _place(ends: c.Ends, first: float, last: float, values: AnyArray | float) -> FloatArray:
    share = (np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0])
    return np.asarray(first + (last - first) * share)


def _within(values: AnyArray, ends: c.Ends) -> AnyArray:
    """Return values of which infinite ones are the ends of the axis."""
    return np.nan_to_num(values, nan=np.nan, neginf=ends[0], posinf=ends[1])


def _path(x: FloatArray, y: FloatArray) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    pens = np.where(np.append(False, known[:-1]), "L", "M")
    return "".join(f"{p}{_n(a)} {_n(b)}" for p, a, b, k in zip(pens, x, y, known, strict=True) if k)


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start", turn: int = 0) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}"'
    place = f'transform="translate({_n(x)} {_n(y)}) rotate({turn})"' if turn else place
    return f'<text class="{kind}" {place} text-anchor="{anchor}">{html(words)}</text>' if words else ""


def _n(value: float) -> str:
    """Write a position with one decimal, and none where it is 0."""
    return f"{value:.1f}".removesuffix(".0")


#: Widths of lines, and markers, of matplotlib.
WIDTHS = {"": 1.8, "dashed": 1.4, "bar": 1.6, "thin": 1.0}
MARKERS = {"dot": "o", "tick": "_", "pin": "|", "up": "^", "down": "v", "left": "<", "right": ">"}


def new_figure(size: tuple[float, float], *, shown: bool = True, layout: Any = "constrained") -> Any:
    """Return a figure of pyplot, which notebooks show, or one that no window manager knows of."""
    require("matplotlib", "plot", "Drawing a figure")
    module, name = ("matplotlib.pyplot", "figure") if shown else ("matplotlib.figure", "Figure")
    return getattr(import_module(module), name)(figsize=size, layout=layout)


def axes_of(figure: Any, count: int, columns: int) -> list[Any]:
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    return axes[:count]


def draw_all(charts: Sequence[Chart]) -> Any:
    """Draw charts on one new figure, two in a row."""
    import matplotlib.pyplot

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
    for depth, mark in enumerate(chart.drawn, 2):
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


def _draw(ax: Any, mark: c.Points | c.Line | c.Band | c.Boxes | c.Text, depth: int) -> None:
    """Draw one mark; points and words are above all others."""
    if isinstance(mark, c.Boxes):
        _boxes(ax, mark, depth)
    elif isinstance(mark, c.Points):
        look: dict[str, Any] = {"mew": 1.8 if mark.shape in ("tick", "pin") else 0.0, "clip_on": False}
        look["ms"] = mark.size if mark.shape in ("dot", "tick", "pin") else 6.0
        look["alpha"] = 0.5 if (mark.kind, mark.shape) == ("data", "dot") else None
        color, marker = colours()[mark.kind], MARKERS[mark.shape]
        ax.plot(mark.x, mark.y, marker, color=color, zorder=depth + 20, **look)
    elif isinstance(mark, c.Band):
        ax.fill_between(mark.x, mark.low, mark.high, lw=0, color=colours()[mark.kind], zorder=depth)
    elif isinstance(mark, c.Text):
        side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        place = {"xytext": (0, 0.75 * mark.up), "textcoords": "offset points", "zorder": depth + 30}
        ax.annotate(label(mark.words), (mark.x, mark.y), ha=side, fontsize="small", **place)
    else:
        x, y = _within(mark.x, ax.get_xlim()), _within(mark.y, ax.get_ylim())
        style = "--" if mark.look == "dashed" else "-"
        ax.plot(x, y, style, lw=WIDTHS[mark.look], color=colours()[mark.kind], zorder=depth)


def _boxes(ax: Any, mark: c.Boxes, depth: int) -> None:
    sizes = mark.high - mark.low, mark.right - mark.left, mark.low
    bars = ax.bar(mark.left, *sizes, align="edge", lw=0.6, zorder=depth)
    faint = np.zeros(len(mark.left), bool) if mark.faint is None else mark.faint
    for bar, kind, weak in zip(bars, mark.kinds, faint, strict=True):
        edge = "none" if kind in ("shade", "band50", "band90") else "white"
        bar.set(fc=colours()[kind], ec=edge, alpha=0.35 if weak else None, hatch="///" * bool(weak))


def _handles(entry: c.Key) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    boxes = [(entry.kind, entry.words)] if entry.mark == "box" else []
    if entry.mark == "ramp":
        low, high = entry.words.split("|")
        boxes = [(f"s{-c.STEPS}", low), ("s0", "as the model says"), (f"s{c.STEPS}", high)]
    if boxes:
        return [Patch(fc=colours()[kind], label=label(words)) for kind, words in boxes]
    lines: dict[str, Any] = {"line": {"ls": "-"}, "dashed": {"ls": "--"}}
    look = lines.get(entry.mark) or {"ls": "", "marker": MARKERS[entry.mark]}
    return [Line2D([], [], color=colours()[entry.kind], label=label(entry.words), **look)]
