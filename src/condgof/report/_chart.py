"""A chart, described once, and two backends that draw it.

The description has axes, marks, words and the numbers behind it.

SVG under a legend in HTML is for pages, matplotlib's Axes for notebooks. "high" is the
colour of data that lie higher or spread more than the model says, "low" of the other way;
colours are classes of charts.css. Marks of one kind are one path: a thousand points are ten
kilobytes.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check import Axis
from condgof.errors import require
from condgof.report._text import html, label, shorten, tick_texts, ticks, visible
from condgof.result import number

#: Steps of the diverging scale to either side of its middle, "s0": "s-4" to "s4".
STEPS = 4
#: All kinds of marks; each has a colour of that name in charts.css.
KINDS = (
    *(
        "data",
        "bar",
        "barx",
        "model",
        "band50",
        "band90",
        "high",
        "low",
        "even",
        "shade",
        "ink",
        "soft",
    ),
    *(f"s{step}" for step in range(-STEPS, STEPS + 1)),
)
#: Rows beyond one edge of a chart that are drawn, letters of the name of a level on an
#: axis.
MOST_BEYOND, LONGEST = 200, 20

Ends: TypeAlias = tuple[float, float]


class Scale(NamedTuple):
    """One axis: its name, its ends in the units of the data, its ticks.

    Of `places` the ticks are names.
    """

    name: str
    ends: Ends
    at: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    places: bool = False


class Points(NamedTuple):
    """Points: "dot", "pin" (upright), or triangles."""

    x: AnyArray
    y: AnyArray
    kind: str = "data"
    shape: str = "dot"
    size: float = 4.0


class Line(NamedTuple):
    """A line through points, or from an edge (−∞) to an edge (∞); NaN breaks it."""

    x: AnyArray
    y: AnyArray
    kind: str = "model"
    #: "", "dashed", "bar" (a whisker) or "thin".
    look: str = ""


class Band(NamedTuple):
    """The area between two lines; NaN breaks it."""

    x: AnyArray
    low: AnyArray
    high: AnyArray
    kind: str = "band90"


class Boxes(NamedTuple):
    """Rectangles: bars, cells of a map, shaded ranges; a kind each."""

    left: AnyArray
    right: AnyArray
    low: AnyArray
    high: AnyArray
    kinds: tuple[str, ...]


class Intervals(NamedTuple):
    """Estimates with intervals, upright at places of x, or lying at places of y."""

    at: AnyArray
    estimate: AnyArray
    low: AnyArray
    high: AnyArray
    kinds: tuple[str, ...]
    lying: bool = False
    size: float = 7.0

    def parts(self, x: Scale, y: Scale) -> Iterator[Line | Points]:
        """Yield whiskers, dots, and arrows where whiskers go on beyond the axis."""
        ends, arrows = (
            (x.ends, ("left", "right")) if self.lying else (y.ends, ("down", "up"))
        )
        low, middle, high = (
            np.clip(v, *ends) for v in (self.low, self.estimate, self.high)
        )
        whiskers = np.column_stack([low, high, np.full(len(low), np.nan)])
        look = "thin" if self.size < 4 else "bar"
        for kind in dict.fromkeys(self.kinds):
            here = np.array(self.kinds) == kind
            at, along = np.repeat(self.at[here], 3), whiskers[here].ravel()
            yield Line(along, at, kind, look) if self.lying else Line(at, along, kind, look)
            beyond = here & (self.low < ends[0]), here & (self.high > ends[1])
            shapes = (
                ("dot", middle, here),
                (arrows[0], low, beyond[0]),
                (arrows[1], high, beyond[1]),
            )
            for shape, values, some in shapes:
                at, along = self.at[some], values[some]
                place = (along, at) if self.lying else (at, along)
                yield Points(*place, kind, shape, self.size)


class Text(NamedTuple):
    """Words at a point; `anchor` is which end is there, `up` the pixels above it."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    up: float = 0.0


class Key(NamedTuple):
    """An entry of the legend.

    Marks are "line", "dashed", "box", "ramp" (words "a|b") or a shape of points.
    """

    mark: str
    kind: str
    words: str


Mark: TypeAlias = Points | Line | Band | Boxes | Intervals | Text
Table: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart: `title` says what is seen, `table` has its numbers."""

    title: str
    x: Scale
    y: Scale
    marks: tuple[Mark, ...]
    table: Table
    legend: tuple[Key, ...] = ()
    #: Width and height in pixels, without the legend and names of levels that have to be
    #: turned.
    size: tuple[int, int] = (460, 300)

    @property
    def entries(self) -> tuple[Key, ...]:
        """The entries of the legend that occur."""
        drawn = {
            kind
            for m in self.marks
            for kind in getattr(m, "kinds", (getattr(m, "kind", ""),))
        }
        return tuple(key for key in self.legend if key.kind in drawn or key.mark == "ramp")

    @property
    def desc(self) -> str:
        """What is drawn, for who cannot see it: the axes and the legend."""
        axes = " against ".join(filter(None, (self.y.name, self.x.name)))
        return "; ".join([axes, *(key.words.replace("|", " to ") for key in self.entries)])

    @property
    def drawn(self) -> Iterator[Points | Line | Band | Boxes | Text]:
        """The marks, estimates with intervals as the lines and points that they are."""
        for mark in self.marks:
            yield from (
                mark.parts(self.x, self.y) if isinstance(mark, Intervals) else (mark,)
            )


def rule(at: float, lying: bool = True, kind: str = "model", look: str = "") -> Line:
    """Return a line from edge to edge: lying at a value of y, or upright at one of x."""
    across, place = np.array([-np.inf, np.inf]), np.full(2, at)
    return Line(across, place, kind, look) if lying else Line(place, across, kind, look)


def bars(edges: FloatArray, heights: AnyArray, kinds: tuple[str, ...]) -> Boxes:
    return Boxes(
        edges[:-1],
        edges[1:],
        np.zeros(len(heights)),
        np.asarray(heights, dtype=float),
        kinds,
    )


def keys(entries: str) -> tuple[Key, ...]:
    """Read a legend: "mark kind words; mark kind words"."""
    return tuple(Key(*entry.split(maxsplit=2)) for entry in entries.split("; "))


def table(columns: Mapping[str, Sequence[Any] | AnyArray]) -> Table:
    """Return columns of numbers and words as a table that people read."""

    def cell(value: object) -> str:
        if isinstance(value, (int, np.integer)):
            return f"{value:,}"
        return (
            number(float(value)) if isinstance(value, (float, np.floating)) else str(value)
        )

    return tuple(columns), tuple(
        tuple(map(cell, row)) for row in zip(*columns.values(), strict=True)
    )


def spans(
    low: Sequence[float] | FloatArray, high: Sequence[float] | FloatArray
) -> list[str]:
    return [
        f"{number(float(a))} to {number(float(b))}" for a, b in zip(low, high, strict=True)
    ]


def ends_of(values: FloatArray, pad: float = 0.04) -> Ends:
    """Return the ends of an axis: the range, and `pad` times it to either side.

    Of equal values it is half a unit around.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = pad * (high - low) if high > low else max(0.5, 1e-9 * abs(low))
    return low - room, high + room


def robust_ends(
    values: FloatArray, always: Sequence[float] = (), pad: float = 0.04
) -> Ends:
    """Return the ends of an axis: of all values, or without those that are far out."""
    full = np.append(values, always)
    full = full[np.isfinite(full)]
    if len(full) >= 20:
        inner = np.append(
            np.quantile(full, [0.005, 0.995]), [v for v in always if math.isfinite(v)]
        )
        low, high = float(inner.min()), float(inner.max())
        if np.ptp(full) > 1.5 * (high - low):
            reach = 0.35 * (high - low)
            full = full[(full >= low - reach) & (full <= high + reach)]
    return ends_of(full, pad)


def numeric(name: str, ends: Ends, count: int = 5) -> Scale:
    at = ticks(*ends, count)
    return Scale(name, ends, tuple(at), tuple(tick_texts(at)))


def places(name: str, names: Sequence[str]) -> Scale:
    """Return a scale with a place for each name.

    Where cut names look alike, it is without how all begin.
    """
    texts = tuple(shorten(one, LONGEST) for one in names)
    if len(set(texts)) < len(names):
        begin = next(
            (i for i, each in enumerate(zip(*names, strict=False)) if len(set(each)) > 1), 0
        )
        texts = tuple(shorten(f"…{one[begin:]}", LONGEST) for one in names)
    return Scale(
        name, (-0.5, len(names) - 0.5), tuple(map(float, range(len(names)))), texts, True
    )


def along(axis: Axis) -> Scale:
    """Return the scale of a column: dates as dates, whole numbers without decimals."""
    low, high = robust_ends(axis.values)
    if axis.kind == "dates":
        at = np.round(np.linspace(low, high, 7)[1::2], 0 if high - low > 6 else 3).tolist()
        return Scale(axis.title, (low, high), tuple(at), tuple(map(axis.text, at)))
    if axis.kind != "integers":
        return numeric(axis.title, (low, high))
    ends = low - 0.3, high + 0.3
    whole = tuple(t for t in ticks(*ends) if t == round(t))
    return Scale(axis.title, ends, whole, tuple(map(axis.text, whole)))


def written(axis: Axis, value: float) -> str:
    """Write a value of a column, with three digits where it is not whole."""
    return number(value) if axis.kind == "numbers" else axis.text(value)


def beyond(
    x: FloatArray, y: FloatArray, ends: Ends, up: Ends, kinds: AnyArray
) -> tuple[list[Mark], tuple[Key, ...], AnyArray]:
    """Mark at the edges what lies beyond them; tell which points are inside."""
    marks, entries, inside = list[Mark](), tuple[Key, ...](), np.ones(len(x), bool)
    above, below = ("up", y - up[1], y), ("down", up[0] - y, y)
    ways = (above, below, ("left", ends[0] - x, x), ("right", x - ends[1], x))
    for kind, (shape, far, values) in product(("data", "high", "low"), ways):
        out = np.flatnonzero((far > 0) & inside & (kinds == kind))
        inside[out] = False
        if len(out):
            out = out[np.argsort(-far[out], kind="stable")]
            drawn = out[:MOST_BEYOND]
            at = np.clip(x[drawn], *ends), np.clip(y[drawn], *up)
            marks.append(Points(*at, kind, shape))
            farthest = number(float(values[out[0]]))
            entries += (Key(shape, kind, f"{len(out):,} beyond the axis, to {farthest}"),)
    return marks, entries, inside


#: Pixels of a letter in a name, and of a tick; and how much of it remains where names are
#: turned.
LETTER, TICK, TURNED = 7.2, 6.7, 0.72
#: How shapes of points and of the legend go on from their place, and their class.
SHAPES = {
    "dot": ("h0", "m-dot"),
    "pin": ("m0 -{0}v{1}", "m-line"),
    "up": ("m0 -5.5l5 8.5h-10Z", "m-box"),
    "down": ("m0 5.5l5 -8.5h-10Z", "m-box"),
    "left": ("m-5.5 0l8.5 5v-10Z", "m-box"),
    "right": ("m5.5 0l-8.5 5v-10Z", "m-box"),
    "line": ("m-10 0h20", "m-line"),
    "dashed": ("m-10 0h20", "m-line dashed"),
    "box": ("m-10 -6h20v12h-20Z", "m-box"),
    "small": ("m-4 -4h8v8h-8Z", "m-box"),
}


def svg(chart: Chart, key: str) -> str:
    """Draw a chart under its legend; `key` is an id that no other one on the page has."""
    frame, inside, over = _Frame(chart), "", ""
    for mark in chart.drawn:
        if isinstance(mark, (Points, Text)):  # may stand out over the edges
            over += frame.mark(mark)
        else:
            inside += frame.mark(mark)
    left, top, right, floor = map(_n, (frame.left, frame.top, frame.right, frame.floor))
    width, height = _n(frame.width), _n(frame.height)
    return (
        f'{legend(chart.entries)}<svg class="chart" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" aria-label="{html(chart.title)}"'
        f' aria-describedby="{key}-d" focusable="false"><desc'
        f' id="{key}-d">{html(chart.desc)}</desc><clipPath id="{key}-c"><path d="M{left}'
        f' {top}H{right}V{floor}H{left}Z"/></clipPath>{frame.axes()}<g'
        f' clip-path="url(#{key}-c)">{inside}</g>{over}</svg>'
    )


def legend(entries: Sequence[Key]) -> str:
    listed, steps = "", [f"s{step}" for step in range(-STEPS, STEPS + 1)]
    for mark, kind, words in entries:
        before, after, wide = "", words, 22
        if mark == "ramp":
            (before, after), wide = words.split("|"), 13 * len(steps)
            drawn = _grouped(
                [f"M{at} 1h13v12h-13Z" for at in range(0, wide, 13)], steps, "m-box"
            )
        else:
            drawn = _paths(["M11 7"], (kind,), mark, 13 if mark == "pin" else 7)
        size = f'viewBox="0 0 {wide} 14" width="{wide}" height="14"'
        drawn = f'<svg {size} aria-hidden="true" focusable="false">{drawn}</svg>'
        listed += f"<li>{html(before)}{drawn}{html(after)}</li>"
    return f'<ul class="legend">{listed}</ul>' if listed else ""


@cache
def themed(name: str) -> tuple[str, str]:
    """Return the colours of a style sheet, light and dark, and its rules."""
    light, dark, rules = (
        (files("condgof.report") / name).read_text("utf-8").split("/* --- */")
    )
    return (
        f"{light}@media screen and (prefers-color-scheme: dark) {{ :root {{{dark}}} }}\n",
        rules,
    )


def chart_style() -> str:
    kinds = "\n".join(f".k-{kind} {{ color: var(--k-{kind}); }}" for kind in KINDS)
    return f"{''.join(themed('charts.css'))}{kinds}\n"


@cache
def colours() -> dict[str, str]:
    light = themed("charts.css")[0].partition("@media")[0]
    return dict(re.findall(r"--k-([\w-]+): (#\w+)", light))


class _Frame:
    """The rectangle that data are drawn in, in pixels; turned names take more room."""

    def __init__(self, chart: Chart) -> None:
        (self.width, height), self.x, self.y = chart.size, chart.x, chart.y
        longest, letters = (
            max(map(len, scale.texts), default=0) for scale in (self.y, self.x)
        )
        self.left = 10 + TICK * longest + 20 * bool(self.y.name)
        room, more = (self.width - self.left - 14) / max(len(self.x.at), 1), 0.0
        self.turned = self.x.places and TICK * letters > room - 5
        if self.turned:  # the first name reaches to the left, and all reach down
            self.left = max(
                self.left, TURNED * TICK * len(self.x.texts[0]) - 0.5 * room + 14
            )
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
        middle = min((self.left + self.right) / 2, self.width - 0.5 * LETTER * len(words))
        drawn += _text(middle, self.height - 7, words, "name", "middle")
        words = shorten(self.y.name, int((self.floor - self.top + 30) / LETTER))
        return drawn + _text(13, (self.top + self.floor) / 2, words, "name", "middle", -90)

    def mark(self, mark: Points | Line | Band | Boxes | Text) -> str:
        if isinstance(mark, Points):
            both = zip(self.at_x(mark.x), self.at_y(mark.y), strict=True)
            places = [f"M{_n(a)} {_n(b)}" for a, b in both]
            return _paths(places, (mark.kind,) * len(places), mark.shape, mark.size)
        if isinstance(mark, Boxes):
            return self.boxes(mark)
        if isinstance(mark, Text):
            place = float(self.at_x(mark.x)), float(self.at_y(mark.y)) - mark.up
            return _text(*place, mark.words, "in", mark.anchor)
        if isinstance(mark, Band):
            way, known = "", np.isfinite(mark.low)
            for piece in np.split(np.arange(len(mark.x)), np.flatnonzero(~known)):
                there, back = piece[known[piece]], piece[known[piece]][::-1]
                x = self.at_x(mark.x[np.append(there, back)])
                y = self.at_y(np.append(mark.high[there], mark.low[back]))
                way += f"{_path(x, y)}Z" if len(there) else ""
            return f'<path class="m-box k-{mark.kind}" d="{way}"/>'
        way = _path(
            self.at_x(_within(mark.x, self.x.ends)), self.at_y(_within(mark.y, self.y.ends))
        )
        return f'<path class="m-line k-{mark.kind} {mark.look}" d="{way}"/>'

    def boxes(self, mark: Boxes) -> str:
        left, right, low, high = *map(self.at_x, mark[:2]), *map(self.at_y, mark[2:4])
        gap = np.where(right - left > 4, 0.6, 0.0)
        places = [
            tuple(map(_n, four))
            for four in zip(left + gap, right - gap, high, low, strict=True)
        ]
        shapes = [f"M{i} {t}H{j}V{f}H{i}Z" for i, j, t, f in places]
        return _grouped(shapes, mark.kinds, "m-box")


def _paths(places: Sequence[str], kinds: Sequence[str], shape: str, size: float) -> str:
    """Draw shapes at places; a dot is the round end of a line without length."""
    way, look = SHAPES[shape]
    way, wide = (
        way.format(_n(size / 2), _n(size)),
        f' stroke-width="{size:g}"' if shape == "dot" else "",
    )
    return _grouped([f"{place}{way}" for place in places], kinds, look, wide)


def _grouped(shapes: Sequence[str], kinds: Sequence[str], look: str, more: str = "") -> str:
    """Draw the shapes of each kind as one path."""
    each: dict[str, str] = {}
    for shape, kind in zip(shapes, kinds, strict=True):
        each[kind] = each.get(kind, "") + shape
    return "".join(
        f'<path class="{look} k-{kind}"{more} d="{way}"/>' for kind, way in each.items()
    )


def _place(ends: Ends, first: float, last: float, values: AnyArray | float) -> FloatArray:
    share = (np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0])
    return np.asarray(first + (last - first) * share)


def _within(values: AnyArray, ends: Ends) -> AnyArray:
    """Return values of which infinite ones are the ends of the axis."""
    return np.nan_to_num(values, nan=np.nan, neginf=ends[0], posinf=ends[1])


def _path(x: FloatArray, y: FloatArray) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    pens = np.where(np.append(False, known[:-1]), "L", "M")
    return "".join(
        f"{p}{_n(a)} {_n(b)}" for p, a, b, k in zip(pens, x, y, known, strict=True) if k
    )


def _text(
    x: float, y: float, words: str, kind: str, anchor: str = "start", turn: int = 0
) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}"'
    place = f'transform="translate({_n(x)} {_n(y)}) rotate({turn})"' if turn else place
    return (
        f'<text class="{kind}" {place} text-anchor="{anchor}">{html(words)}</text>'
        if words
        else ""
    )


def _n(value: float) -> str:
    """Write a position with one decimal, and none where it is 0."""
    return f"{value:.1f}".removesuffix(".0")


#: Widths of lines, and markers, of matplotlib.
WIDTHS = {"": 1.8, "dashed": 1.4, "bar": 1.6, "thin": 1.0}
MARKERS = {
    "dot": "o",
    "pin": "|",
    "up": "^",
    "down": "v",
    "left": "<",
    "right": ">",
    "small": "s",
}


def new_figure(
    size: tuple[float, float], *, shown: bool = True, layout: object = "constrained"
) -> Any:
    """Return a figure of pyplot, which notebooks show; or one that is not `shown`."""
    require("matplotlib", "plot", "Drawing a figure")
    module, name = (
        ("matplotlib.pyplot", "figure") if shown else ("matplotlib.figure", "Figure")
    )
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
    # Fixed: titles and legends that are wider than their Axes would shrink them in a layout
    # that adapts.
    figure = new_figure((wide, high), layout=None)
    margins = 1.3 / wide, 1.1 / high, 1.0 - 0.3 / wide, 1.0 - 1.35 / high
    figure.subplots_adjust(*margins, wspace=0.3, hspace=0.75)
    for chart, ax in zip(charts, axes_of(figure, len(charts), columns), strict=True):
        draw(replace(chart, size=(430, 390)), ax)
    if (
        "inline" in matplotlib.get_backend()
    ):  # a notebook shows what is returned, and must not twice
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
        look = {
            "fontsize": "small",
            "frameon": False,
            "borderaxespad": 0.0,
            "columnspacing": 1.0,
        }
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1.01),
            ncols=columns,
            **look,
        )
    lines = textwrap.wrap(visible(chart.title), max(int(width / 7.4), 34))
    pad = 6 + 15 * -(-len(handles) // columns)
    ax.set_title("\n".join(map(label, lines)), loc="left", fontsize="medium", pad=pad)
    return ax


def _draw(ax: Any, mark: Points | Line | Band | Boxes | Text, depth: int) -> None:
    """Draw one mark; points and words are above all others."""
    if isinstance(mark, Boxes):
        _boxes(ax, mark, depth)
    elif isinstance(mark, Points):
        look: dict[str, Any] = {
            "mew": 1.8 if mark.shape == "pin" else 0.0,
            "clip_on": False,
        }
        look["ms"] = mark.size if mark.shape in ("dot", "pin") else 6.0
        look["alpha"] = 0.5 if (mark.kind, mark.shape) == ("data", "dot") else None
        color, marker = colours()[mark.kind], MARKERS[mark.shape]
        ax.plot(mark.x, mark.y, marker, color=color, zorder=depth + 20, **look)
    elif isinstance(mark, Band):
        ax.fill_between(
            mark.x, mark.low, mark.high, lw=0, color=colours()[mark.kind], zorder=depth
        )
    elif isinstance(mark, Text):
        side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        place = {
            "xytext": (0, 0.75 * mark.up),
            "textcoords": "offset points",
            "zorder": depth + 30,
        }
        ax.annotate(label(mark.words), (mark.x, mark.y), ha=side, fontsize="small", **place)
    else:
        x, y = _within(mark.x, ax.get_xlim()), _within(mark.y, ax.get_ylim())
        style = "--" if mark.look == "dashed" else "-"
        ax.plot(x, y, style, lw=WIDTHS[mark.look], color=colours()[mark.kind], zorder=depth)


def _boxes(ax: Any, mark: Boxes, depth: int) -> None:
    sizes = mark.high - mark.low, mark.right - mark.left, mark.low
    bars = ax.bar(mark.left, *sizes, align="edge", lw=0.6, zorder=depth)
    for bar, kind in zip(bars, mark.kinds, strict=True):
        bar.set(
            fc=colours()[kind],
            ec="none" if kind in ("shade", "band50", "band90") else "white",
        )


def _handles(entry: Key) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    boxes = [(entry.kind, entry.words)] if entry.mark == "box" else []
    if entry.mark == "ramp":
        low, high = entry.words.split("|")
        boxes = [(f"s{-STEPS}", low), ("s0", "as the model says"), (f"s{STEPS}", high)]
    if boxes:
        return [Patch(fc=colours()[kind], label=label(words)) for kind, words in boxes]
    lines: dict[str, Any] = {"line": {"ls": "-"}, "dashed": {"ls": "--"}}
    look = lines.get(entry.mark) or {"ls": "", "marker": MARKERS[entry.mark]}
    return [Line2D([], [], color=colours()[entry.kind], label=label(entry.words), **look)]
