"""A chart, described once, and two backends that draw it.

The description has axes, marks, words and the numbers behind it.

Pages have SVG under a legend in HTML; notebooks have Axes of matplotlib. Colours are
classes of charts.css: "high" where data lie higher or spread more than predicted, "low"
where they lie lower or spread less. All marks of one kind are one SVG path, so that a
thousand points take ten kilobytes.
"""

from __future__ import annotations

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

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check import Axis
from condgof.check.curves import Ends as Ends
from condgof.check.curves import ends_of as ends_of
from condgof.check.curves import robust_ends as robust_ends
from condgof.errors import InputTypeError, require, shown
from condgof.report._text import html, label, shorten, tick_texts, ticks, visible
from condgof.result import number

#: Steps of the diverging scale to either side of its middle, "s0".
STEPS = 4
#: The kinds of the diverging scale, from "s-4" (data lower) to "s4" (data higher).
DIVERGING = tuple(f"s{step}" for step in range(-STEPS, STEPS + 1))
#: All kinds of marks; each has a colour of the same name in charts.css.
KINDS = (
    "data",  # single rows
    "bar",  # bars of a histogram
    "barx",  # bars that end outside their band
    "model",  # what the model predicts
    "band50",  # the model's 50% interval
    "band90",  # the model's 90% interval, and bands of chance
    "high",  # data higher than predicted
    "low",  # data lower than predicted
    "even",  # no significant difference
    "shade",  # the range of a subgroup on an axis
    "ink",  # text
    "soft",  # lines and text in the background
    *DIVERGING,
)
#: Most rows beyond one edge of a chart that are drawn, the farthest first.
MOST_BEYOND = 200
#: Most letters of a category's name on an axis.
LONGEST = 20
#: Width of a chart on a phone, in pixels.
NARROW_WIDTH = 358
#: Most height of a chart on a phone, in pixels.
NARROW_HEIGHT = 300
#: Intervals with dots smaller than this, in pixels, have thin whiskers.
SMALL_DOT = 4


class Scale(NamedTuple):
    """One axis: its name, its ends in the units of the data, its ticks."""

    name: str
    ends: Ends
    at: tuple[float, ...] = ()  #: Where ticks are.
    texts: tuple[str, ...] = ()  #: What is written at each tick.
    places: bool = False  #: Whether ticks are names of categories, and have no grid lines.


class Points(NamedTuple):
    """Points at x and y, (k,) each."""

    x: AnyArray
    y: AnyArray
    kind: str = "data"
    #: "dot", "pin" (an upright line), or the triangles "up", "down", "left" and "right".
    shape: str = "dot"
    size: float = 4.0  #: The diameter of a dot, or the length of a pin, in pixels.
    #: Where points are single rows, their numbers in the data, (k,).
    rows: IntArray | None = None


class Line(NamedTuple):
    """A line through points, or from an edge (−∞) to an edge (∞); NaN breaks it."""

    x: AnyArray
    y: AnyArray
    kind: str = "model"
    look: str = ""  #: "", "dashed", "bar" (a whisker) or "thin".


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
        if self.lying:
            first, last = x.ends
            low_arrow = "left"
            high_arrow = "right"
        else:
            first, last = y.ends
            low_arrow = "down"
            high_arrow = "up"
        low = np.clip(self.low, first, last)
        middle = np.clip(self.estimate, first, last)
        high = np.clip(self.high, first, last)
        # The NaN after each whisker ends it, so that all are one line.
        whiskers = np.column_stack([low, high, np.full(len(low), np.nan)])
        look = "thin" if self.size < SMALL_DOT else "bar"
        for kind in dict.fromkeys(self.kinds):
            here = np.array(self.kinds) == kind
            across = np.repeat(self.at[here], 3)
            along = whiskers[here].ravel()
            if self.lying:
                yield Line(along, across, kind, look)
            else:
                yield Line(across, along, kind, look)
            yield self._points("dot", kind, middle, here)
            yield self._points(low_arrow, kind, low, here & (self.low < first))
            yield self._points(high_arrow, kind, high, here & (self.high > last))

    def _points(self, shape: str, kind: str, values: AnyArray, rows: AnyArray) -> Points:
        """Return points at `values` (k,) of some intervals: `rows`, (k,) booleans."""
        across = self.at[rows]
        along = values[rows]
        if self.lying:
            return Points(along, across, kind, shape, self.size)
        return Points(across, along, kind, shape, self.size)


class Text(NamedTuple):
    """Words at a point."""

    x: float
    y: float
    words: str
    anchor: str = "start"  #: What of the words is at the point: "start", "middle" or "end".
    up: float = 0.0  #: Pixels between the point and the words above it.


class Spots(NamedTuple):
    """Where to point at to read the rows of a chart's table, in the units of its axes.

    Spot i is a rectangle, and belongs to row i of the table; infinite sides are edges.
    """

    left: AnyArray  #: (k,).
    right: AnyArray
    low: AnyArray
    high: AnyArray

    @classmethod
    def upright(cls, left: AnyArray, right: AnyArray) -> Spots:
        """Return spots from the bottom to the top."""
        ends = np.full(len(left), np.inf)
        return cls(np.asarray(left), np.asarray(right), -ends, ends)

    @classmethod
    def places(cls, count: int) -> Spots:
        """Return upright spots around the places 0, 1, …, count − 1."""
        at = np.arange(float(count))
        return cls.upright(at - 0.5, at + 0.5)

    @classmethod
    def between(cls, at: AnyArray) -> Spots:
        """Return upright spots around places in order, which meet half way."""
        inner = 0.5 * (np.asarray(at[1:]) + np.asarray(at[:-1]))
        return cls.upright(np.append(-np.inf, inner), np.append(inner, np.inf))

    @classmethod
    def lying(cls, at: AnyArray) -> Spots:
        """Return spots from the left to the right around places of y."""
        ends = np.full(len(at), np.inf)
        return cls(-ends, ends, np.asarray(at) - 0.5, np.asarray(at) + 0.5)


class Key(NamedTuple):
    """An entry of the legend."""

    mark: str  #: "line", "dashed", "box", "ramp" or a shape of points.
    kind: str
    words: str  #: Those of a "ramp", the diverging scale, are "low end|high end".


Mark: TypeAlias = Points | Line | Band | Boxes | Intervals | Text
#: The names of the columns, and the cells row by row.
Table: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart, as both backends draw it."""

    title: str  #: A sentence about what the chart shows.
    x: Scale
    y: Scale
    marks: tuple[Mark, ...]
    table: Table  #: The numbers behind the chart.
    legend: tuple[Key, ...] = ()
    #: Width and height in pixels, without the legend, and without the height that names of
    #: categories need where they are turned.
    size: tuple[int, int] = (460, 300)
    spots: Spots | None = None  #: Where the rows of the table are.
    #: Which highlights of subgroups it shows; see `condgof.check.curves.Highlight`.
    name: str = ""

    @property
    def narrow(self) -> Chart | None:
        """The chart as a phone shows it; None where it is narrow enough."""
        width, height = self.size
        if width <= NARROW_WIDTH:
            return None
        return replace(self, size=(NARROW_WIDTH, min(height, NARROW_HEIGHT)))

    @property
    def entries(self) -> tuple[Key, ...]:
        """The entries of the legend that occur."""
        drawn: set[str] = set()
        for mark in self.marks:
            if isinstance(mark, (Boxes, Intervals)):
                drawn.update(mark.kinds)
            elif isinstance(mark, (Points, Line, Band)):
                drawn.add(mark.kind)
        return tuple(key for key in self.legend if key.kind in drawn or key.mark == "ramp")

    @property
    def desc(self) -> str:
        """What is drawn, for readers who cannot see it: the axes and the legend."""
        axes = " against ".join(filter(None, (self.y.name, self.x.name)))
        return "; ".join([axes, *(key.words.replace("|", " to ") for key in self.entries)])

    @property
    def drawn(self) -> Iterator[Points | Line | Band | Boxes | Text]:
        """The marks, estimates with intervals as the lines and points that they are."""
        for mark in self.marks:
            if isinstance(mark, Intervals):
                yield from mark.parts(self.x, self.y)
            else:
                yield mark


def without_rows(chart: Chart) -> Chart:
    """Return a chart without the points that are single rows."""
    marks = tuple(
        mark
        for mark in chart.marks
        if not (isinstance(mark, Points) and (mark.rows is not None or mark.kind == "data"))
    )
    return replace(chart, marks=marks)


def rule(at: float, lying: bool = True, kind: str = "model", look: str = "") -> Line:
    """Return a line from edge to edge: lying at a value of y, or upright at one of x."""
    across = np.array([-np.inf, np.inf])
    place = np.full(2, at)
    return Line(across, place, kind, look) if lying else Line(place, across, kind, look)


def bars(edges: FloatArray, heights: AnyArray, kinds: tuple[str, ...]) -> Boxes:
    """Return the bars of a histogram: k + 1 edges, k heights from 0 on, a kind each."""
    return Boxes(
        left=edges[:-1],
        right=edges[1:],
        low=np.zeros(len(heights)),
        high=np.asarray(heights, dtype=float),
        kinds=kinds,
    )


def keys(entries: str) -> tuple[Key, ...]:
    """Read a legend: "mark kind words; mark kind words"."""
    return tuple(Key(*entry.split(maxsplit=2)) for entry in entries.split("; "))


def table(columns: Mapping[str, Sequence[Any] | AnyArray]) -> Table:
    """Return columns of numbers and words as a table that people read."""

    def cell(value: object) -> str:
        if isinstance(value, (int, np.integer)):
            return f"{value:,}"
        if isinstance(value, (float, np.floating)):
            return number(float(value))
        return str(value)

    rows = zip(*columns.values(), strict=True)
    return tuple(columns), tuple(tuple(map(cell, row)) for row in rows)


def spans(
    low: Sequence[float] | FloatArray, high: Sequence[float] | FloatArray
) -> list[str]:
    """Write intervals with the ends `low` and `high`, (k,) each: "0.1 to 0.2"."""
    return [
        f"{number(float(a))} to {number(float(b))}" for a, b in zip(low, high, strict=True)
    ]


def numeric(name: str, ends: Ends, count: int = 5) -> Scale:
    """Return a scale of numbers with about `count` ticks."""
    at = ticks(*ends, count)
    return Scale(name, ends, tuple(at), tuple(tick_texts(at)))


def places(name: str, names: Sequence[str]) -> Scale:
    """Return a scale with a place for each name.

    Where names look alike once they are cut, the common beginning is left out.
    """
    texts = tuple(shorten(one, LONGEST) for one in names)
    if len(set(texts)) < len(names):
        first = _first_difference(names)
        texts = tuple(shorten(f"…{one[first:]}", LONGEST) for one in names)
    return Scale(
        name=name,
        ends=(-0.5, len(names) - 0.5),
        at=tuple(map(float, range(len(names)))),
        texts=texts,
        places=True,
    )


def _first_difference(names: Sequence[str]) -> int:
    """Return the position of the first letter that differs; 0 where none does."""
    for position, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            return position
    return 0


def along(axis: Axis) -> Scale:
    """Return the scale of a column: dates as dates, whole numbers without decimals."""
    low, high = robust_ends(axis.values)
    if axis.kind == "dates":
        # Values are days: ticks are whole days unless the axis has less than a week.
        decimals = 0 if high - low > 6 else 3
        # Three ticks, at 1/6, 3/6 and 5/6 of the axis.
        at = np.round(np.linspace(low, high, 7)[1::2], decimals).tolist()
        return Scale(axis.title, (low, high), tuple(at), tuple(map(axis.text, at)))
    if axis.kind != "integers":
        return numeric(axis.title, (low, high))
    ends = (low - 0.3, high + 0.3)
    whole = tuple(t for t in ticks(*ends) if t == round(t))
    return Scale(axis.title, ends, whole, tuple(map(axis.text, whole)))


def beyond(
    x: FloatArray, y: FloatArray, ends: Ends, up: Ends, kinds: AnyArray
) -> tuple[list[Mark], tuple[Key, ...], AnyArray]:
    """Mark points beyond the ends of the axes at the edges; also return what is inside.

    Of n points at x and y, each with its kind: `ends` are those of the x axis, `up` those
    of the y axis. Returns the marks, their entries of the legend, and which points are
    inside, (n,) booleans.
    """
    marks: list[Mark] = []
    entries: tuple[Key, ...] = ()
    inside = np.ones(len(x), bool)
    # How far each point is beyond an edge, and the coordinate that the legend reports.
    edges = (
        ("up", y - up[1], y),
        ("down", up[0] - y, y),
        ("left", ends[0] - x, x),
        ("right", x - ends[1], x),
    )
    for kind, (shape, far, values) in product(("data", "high", "low"), edges):
        out = np.flatnonzero((far > 0) & inside & (kinds == kind))
        inside[out] = False
        if len(out):
            out = out[np.argsort(-far[out], kind="stable")]
            drawn = out[:MOST_BEYOND]
            at_x = np.clip(x[drawn], *ends)
            at_y = np.clip(y[drawn], *up)
            marks.append(Points(at_x, at_y, kind, shape))
            farthest = number(float(values[out[0]]))
            entries += (Key(shape, kind, f"{len(out):,} beyond the axis, to {farthest}"),)
    return marks, entries, inside


#: Width of a letter in the name of an axis, in pixels.
LETTER = 7.2
#: Letters that are about twice as wide.
WIDE_LETTERS = frozenset("%mwMW@…")
#: Width of a letter at a tick, in pixels.
TICK = 6.7
#: Width and height of text turned by 45 degrees, as a share of its length.
TURNED = 0.72
#: Pixels between the data and the right edge of the picture.
RIGHT_MARGIN = 14
#: Pixels between the data and the top edge of the picture.
TOP_MARGIN = 8
#: Width of an entry of the legend, in pixels; its height is 14.
KEY_WIDTH = 22
#: Width of one step of the diverging scale in the legend, in pixels.
RAMP_STEP = 13
#: Boxes wider than this many pixels have a gap between them.
WIDE_BOX = 4
#: The gap on either side of a wide box, in pixels.
BOX_GAP = 0.6


class Shape(NamedTuple):
    """A shape of points, or of entries of the legend, in SVG."""

    path: str  #: How the path goes on from its place; {0} is half the size, {1} the size.
    look: str  #: Its classes of charts.css.


SHAPES = {
    "dot": Shape(path="h0", look="m-dot"),
    "pin": Shape(path="m0 -{0}v{1}", look="m-line"),
    "up": Shape(path="m0 -5.5l5 8.5h-10Z", look="m-box"),
    "down": Shape(path="m0 5.5l5 -8.5h-10Z", look="m-box"),
    "left": Shape(path="m-5.5 0l8.5 5v-10Z", look="m-box"),
    "right": Shape(path="m5.5 0l-8.5 5v-10Z", look="m-box"),
    "line": Shape(path="m-10 0h20", look="m-line"),
    "dashed": Shape(path="m-10 0h20", look="m-line dashed"),
    "box": Shape(path="m-10 -6h20v12h-20Z", look="m-box"),
    "small": Shape(path="m-4 -4h8v8h-8Z", look="m-box"),
}


def _letters(text: str) -> int:
    """Return how many letters of usual width are as wide as a text."""
    return len(text) + sum(letter in WIDE_LETTERS for letter in text)


def _fitting(text: object, room: int) -> str:
    """Shorten text to the width of `room` letters."""
    short = shorten(text, room)
    return shorten(text, room - (_letters(short) - len(short)))


def svg(chart: Chart, key: str) -> str:
    """Draw a chart under its legend; `key` is an id that no other one on the page has.

    Where it is too wide for a phone, it is drawn twice, and style.css shows one of both.
    """
    narrow = chart.narrow
    if narrow is None:
        return f"{legend(chart.entries)}{_svg(chart, key, '')}"
    both = _svg(chart, key, " wider") + _svg(narrow, f"{key}-n", " narrower")
    return f"{legend(chart.entries)}{both}"


def _svg(chart: Chart, key: str, look: str) -> str:
    """Draw a chart in one size; `look` are classes of charts.css."""
    frame = _Frame(chart)
    inside = ""
    over = ""
    for mark in chart.drawn:
        if isinstance(mark, (Points, Text)):
            # Points and words at an edge are not clipped there.
            over += frame.mark(mark)
        else:
            inside += frame.mark(mark)
    left = _n(frame.left)
    top = _n(frame.top)
    right = _n(frame.right)
    floor = _n(frame.floor)
    width = _n(frame.width)
    height = _n(frame.height)
    return (
        f'<svg class="chart{look}" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" data-frame="{frame.data}" role="img"'
        f' aria-label="{html(chart.title)}"'
        f' aria-describedby="{key}-d" focusable="false"><desc'
        f' id="{key}-d">{html(chart.desc)}</desc><clipPath id="{key}-c"><path d="M{left}'
        f' {top}H{right}V{floor}H{left}Z"/></clipPath>{frame.axes()}<g'
        f' clip-path="url(#{key}-c)">{inside}</g>{over}</svg>'
    )


def legend(entries: Sequence[Key]) -> str:
    """Return the legend as a list in HTML; "" without entries."""
    listed = ""
    for mark, kind, words in entries:
        before = ""
        after = words
        wide = KEY_WIDTH
        if mark == "ramp":
            before, after = words.split("|")
            wide = RAMP_STEP * len(DIVERGING)
            step = f"h{RAMP_STEP}v12h-{RAMP_STEP}Z"
            steps = [f"M{at} 1{step}" for at in range(0, wide, RAMP_STEP)]
            drawn = _grouped(steps, DIVERGING, "m-box")
        else:
            drawn = _paths(["M11 7"], (kind,), mark, 13 if mark == "pin" else 7)
        size = f'viewBox="0 0 {wide} 14" width="{wide}" height="14"'
        drawn = f'<svg {size} aria-hidden="true" focusable="false">{drawn}</svg>'
        listed += f"<li>{html(before)}{drawn}{html(after)}</li>"
    return f'<ul class="legend">{listed}</ul>' if listed else ""


@cache
def themed(name: str) -> tuple[str, str]:
    """Return the colours of a style sheet, light and dark, and its rules."""
    sheet = (files("condgof.report") / name).read_text("utf-8")
    light, dark, rules = sheet.split("/* --- */")
    in_the_dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark}}} }}"
    return f"{light}{in_the_dark}\n", rules


def chart_style() -> str:
    """Return the style sheet of charts, with a class "k-…" for each kind of marks."""
    kinds = "\n".join(f".k-{kind} {{ color: var(--k-{kind}); }}" for kind in KINDS)
    return f"{''.join(themed('charts.css'))}{kinds}\n"


@cache
def colours() -> dict[str, str]:
    """Return the colour of each kind of marks on a light page, as "#rrggbb"."""
    light = themed("charts.css")[0].partition("@media")[0]
    return dict(re.findall(r"--k-([\w-]+): (#\w+)", light))


class _Frame:
    """The rectangle that data are drawn in, in pixels from the top left of the picture."""

    def __init__(self, chart: Chart) -> None:
        self.width, height = chart.size
        self.x = chart.x
        self.y = chart.y
        letters_x = max(map(len, self.x.texts), default=0)
        letters_y = max(map(len, self.y.texts), default=0)
        self.left = 10 + TICK * letters_y + 20 * bool(self.y.name)
        width_per_tick = (self.width - self.left - RIGHT_MARGIN) / max(len(self.x.at), 1)
        self.turned = self.x.places and TICK * letters_x > width_per_tick - 5
        below = 0.0
        if self.turned:
            # The first name reaches to the left of its tick, and all names reach down.
            first_name = TURNED * TICK * len(self.x.texts[0])
            self.left = max(self.left, first_name - 0.5 * width_per_tick + 14)
            below = max(TURNED * TICK * letters_x - 8, 0.0)
        self.right = self.width - RIGHT_MARGIN
        self.top = TOP_MARGIN
        self.height = height + below
        self.floor = height - 12 - 12 * bool(self.x.texts) - 20 * bool(self.x.name)
        self.at_x = partial(_place, self.x.ends, self.left, self.right)
        self.at_y = partial(_place, self.y.ends, self.floor, self.top)

    @property
    def data(self) -> str:
        """Where data are drawn, for the script: pixels and data at all four edges."""
        pixels = (self.left, self.right, self.floor, self.top)
        return " ".join(f"{edge:.6g}" for edge in (*pixels, *self.x.ends, *self.y.ends))

    def axes(self) -> str:
        """Draw ticks, faint lines across, and the names of both axes."""
        left = _n(self.left)
        right = _n(self.right)
        floor = _n(self.floor)
        at_x = self.at_x(np.array(self.x.at))
        at_y = self.at_y(np.array(self.y.at))
        across = "" if self.y.places else "".join(f"M{left} {_n(v)}H{right}" for v in at_y)
        feet = "" if self.x.places else "".join(f"M{_n(v)} {floor}v4" for v in at_x)
        foot = f"M{left} {floor}H{right}{feet}"
        drawn = f'<path class="grid" d="{across}"/><path class="axis" d="{foot}"/>'
        for v, words in zip(at_x, self.x.texts, strict=True):
            half = 1 + 0.5 * TICK * len(words)
            if self.turned:
                drawn += _text(v + 4, self.floor + 13, words, "tick", "end", -45)
            else:
                # Text at the first and the last tick stays inside the picture.
                centre = min(max(v, half), self.width - half)
                drawn += _text(centre, self.floor + 17, words, "tick", "middle")
        for v, words in zip(at_y, self.y.texts, strict=True):
            drawn += _text(self.left - 6, v + 4, words, "tick", "end")
        words = _fitting(self.x.name, int(self.width / LETTER) - 3)
        half = 0.5 * LETTER * _letters(words)
        middle = min((self.left + self.right) / 2, self.width - half)
        drawn += _text(middle, self.height - 7, words, "name", "middle")
        words = _fitting(self.y.name, int((self.floor - self.top + 30) / LETTER))
        return drawn + _text(13, (self.top + self.floor) / 2, words, "name", "middle", -90)

    def mark(self, mark: Points | Line | Band | Boxes | Text) -> str:
        """Draw one mark."""
        if isinstance(mark, Points):
            both = zip(self.at_x(mark.x), self.at_y(mark.y), strict=True)
            places = [f"M{_n(a)} {_n(b)}" for a, b in both]
            return _paths(places, (mark.kind,) * len(places), mark.shape, mark.size)
        if isinstance(mark, Boxes):
            return self.boxes(mark)
        if isinstance(mark, Text):
            x = float(self.at_x(mark.x))
            y = float(self.at_y(mark.y)) - mark.up
            return _text(x, y, mark.words, "in", mark.anchor)
        if isinstance(mark, Band):
            return self.band(mark)
        path = _path(
            self.at_x(_within(mark.x, self.x.ends)), self.at_y(_within(mark.y, self.y.ends))
        )
        return f'<path class="m-line k-{mark.kind} {mark.look}" d="{path}"/>'

    def band(self, mark: Band) -> str:
        """Draw each piece of a band between NaN: there along the top, back below."""
        path = ""
        known = np.isfinite(mark.low)
        for piece in np.split(np.arange(len(mark.x)), np.flatnonzero(~known)):
            there = piece[known[piece]]
            back = there[::-1]
            x = self.at_x(mark.x[np.append(there, back)])
            y = self.at_y(np.append(mark.high[there], mark.low[back]))
            path += f"{_path(x, y)}Z" if len(there) else ""
        return f'<path class="m-box k-{mark.kind}" d="{path}"/>'

    def boxes(self, mark: Boxes) -> str:
        """Draw rectangles, with gaps between those that are wide enough."""
        left = self.at_x(mark.left)
        right = self.at_x(mark.right)
        low = self.at_y(mark.low)
        high = self.at_y(mark.high)
        gap = np.where(right - left > WIDE_BOX, BOX_GAP, 0.0)
        shapes = []
        for sides in zip(left + gap, right - gap, high, low, strict=True):
            start, end, top, bottom = map(_n, sides)
            shapes.append(f"M{start} {top}H{end}V{bottom}H{start}Z")
        return _grouped(shapes, mark.kinds, "m-box")


def _paths(places: Sequence[str], kinds: Sequence[str], shape: str, size: float) -> str:
    """Draw shapes at places; a dot is the round end of a line without length."""
    path = SHAPES[shape].path.format(_n(size / 2), _n(size))
    width = f' stroke-width="{size:g}"' if shape == "dot" else ""
    shapes = [f"{place}{path}" for place in places]
    return _grouped(shapes, kinds, SHAPES[shape].look, width)


def _grouped(shapes: Sequence[str], kinds: Sequence[str], look: str, more: str = "") -> str:
    """Draw the shapes of each kind as one path."""
    paths: dict[str, str] = {}
    for shape, kind in zip(shapes, kinds, strict=True):
        paths[kind] = paths.get(kind, "") + shape
    return "".join(
        f'<path class="{look} k-{kind}"{more} d="{path}"/>' for kind, path in paths.items()
    )


def _place(ends: Ends, first: float, last: float, values: AnyArray | float) -> FloatArray:
    """Return the pixels of values on an axis that goes from pixel `first` to `last`."""
    share = (np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0])
    return np.asarray(first + (last - first) * share)


def _within(values: AnyArray, ends: Ends) -> AnyArray:
    """Return values of which infinite ones are the ends of the axis."""
    return np.nan_to_num(values, nan=np.nan, neginf=ends[0], posinf=ends[1])


def _path(x: FloatArray, y: FloatArray) -> str:
    """Return a path through the points (k,) that are finite; others break it."""
    path = ""
    before: tuple[str, str] | None = None  # where the pen is; None if it must move
    for a, b in zip(x, y, strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            before = None
            continue
        point = (_n(a), _n(b))
        if before is None:
            path += f"M{point[0]} {point[1]}"
        elif point[1] == before[1]:  # lines along an axis need one number
            path += f"H{point[0]}"
        elif point[0] == before[0]:
            path += f"V{point[1]}"
        else:
            path += f"L{point[0]} {point[1]}"
        before = point
    return path


def _text(
    x: float, y: float, words: str, kind: str, anchor: str = "start", turn: int = 0
) -> str:
    """Return words in SVG, turned by `turn` degrees; "" without words."""
    if not words:
        return ""
    place = f'x="{_n(x)}" y="{_n(y)}"'
    if turn:
        place = f'transform="translate({_n(x)} {_n(y)}) rotate({turn})"'
    return f'<text class="{kind}" {place} text-anchor="{anchor}">{html(words)}</text>'


def _n(value: float) -> str:
    """Write a position with one decimal, and none where it is 0."""
    return f"{value:.1f}".removesuffix(".0")


#: Widths of lines in matplotlib, in points, by `Line.look`.
WIDTHS = {"": 1.8, "dashed": 1.4, "bar": 1.6, "thin": 1.0}
#: Markers of matplotlib, by `Points.shape` and `Key.mark`.
MARKERS = {
    "dot": "o",
    "pin": "|",
    "up": "^",
    "down": "v",
    "left": "<",
    "right": ">",
    "small": "s",
}
#: Width of one of several charts on a figure, in inches.
CHART_WIDTH = 6.5
#: Height of one of several charts on a figure, in inches.
CHART_HEIGHT = 5.3
#: A pixel of a page, 1/96 inch, in points of matplotlib, 1/72 inch.
POINTS_PER_PIXEL = 0.75


def new_figure(
    size: tuple[float, float], *, shown: bool = True, layout: object = "constrained"
) -> Any:
    """Return a figure of pyplot, which notebooks show; or one that is not `shown`."""
    require("matplotlib", "plot", "Drawing a figure")
    if shown:
        return import_module("matplotlib.pyplot").figure(figsize=size, layout=layout)
    return import_module("matplotlib.figure").Figure(figsize=size, layout=layout)


def axes_of(figure: Any, count: int, columns: int) -> list[Any]:
    """Return `count` Axes of a figure, in rows of `columns`."""
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    return axes[:count]


def draw_all(charts: Sequence[Chart]) -> Any:
    """Draw charts on one new figure, two in a row."""
    pyplot = require("matplotlib.pyplot", "plot", "Drawing a figure")
    columns = min(2, len(charts))
    wide = CHART_WIDTH * columns
    high = CHART_HEIGHT * -(-len(charts) // 2)
    # The layout is fixed: one that adapts would shrink Axes with wide titles or legends.
    figure = new_figure((wide, high), layout=None)
    figure.subplots_adjust(
        left=1.3 / wide,
        bottom=1.1 / high,
        right=1.0 - 0.3 / wide,
        top=1.0 - 1.35 / high,
        wspace=0.3,
        hspace=0.75,
    )
    for chart, ax in zip(charts, axes_of(figure, len(charts), columns), strict=True):
        draw(replace(chart, size=(430, 390)), ax)
    if "inline" in pyplot.get_backend():
        # A notebook shows the figure that is returned; an open one it would show twice.
        pyplot.close(figure)
    return figure


def draw(chart: Chart, ax: Any = None) -> Any:
    """Draw a chart on the Axes that is given, or on a new figure."""
    width, height = chart.size
    columns = 3 if width > 500 else 2
    if ax is None:
        ax = new_figure((width / 75, height / 75 + 0.6)).add_subplot()
    elif not hasattr(ax, "set_xlim"):
        raise InputTypeError(f"ax must be Axes of matplotlib, got {shown(ax)}.")
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
    handles: list[Any] = []
    for entry in chart.entries:
        handles += _handles(entry)
    if handles:
        # The legend is above the data and under the title.
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1.01),
            ncols=columns,
            fontsize="small",
            frameon=False,
            borderaxespad=0.0,
            columnspacing=1.0,
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
        ax.plot(
            mark.x,
            mark.y,
            MARKERS[mark.shape],
            color=colours()[mark.kind],
            ms=mark.size if mark.shape in ("dot", "pin") else 6.0,
            mew=1.8 if mark.shape == "pin" else 0.0,
            alpha=0.5 if (mark.kind, mark.shape) == ("data", "dot") else None,
            clip_on=False,
            zorder=depth + 20,
        )
    elif isinstance(mark, Band):
        ax.fill_between(
            mark.x, mark.low, mark.high, lw=0, color=colours()[mark.kind], zorder=depth
        )
    elif isinstance(mark, Text):
        side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        ax.annotate(
            label(mark.words),
            (mark.x, mark.y),
            ha=side,
            fontsize="small",
            xytext=(0, POINTS_PER_PIXEL * mark.up),
            textcoords="offset points",
            zorder=depth + 30,
        )
    else:
        x = _within(mark.x, ax.get_xlim())
        y = _within(mark.y, ax.get_ylim())
        style = "--" if mark.look == "dashed" else "-"
        ax.plot(x, y, style, lw=WIDTHS[mark.look], color=colours()[mark.kind], zorder=depth)


def _boxes(ax: Any, mark: Boxes, depth: int) -> None:
    bars = ax.bar(
        mark.left,
        height=mark.high - mark.low,
        width=mark.right - mark.left,
        bottom=mark.low,
        align="edge",
        lw=0.6,
        zorder=depth,
    )
    for bar, kind in zip(bars, mark.kinds, strict=True):
        edge = "none" if kind in ("shade", "band50", "band90") else "white"
        bar.set(fc=colours()[kind], ec=edge)


def _handles(entry: Key) -> list[Any]:
    """Return the handles of an entry of the legend; a ramp has three."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    boxes = [(entry.kind, entry.words)] if entry.mark == "box" else []
    if entry.mark == "ramp":
        low, high = entry.words.split("|")
        boxes = [(f"s{-STEPS}", low), ("s0", "as predicted"), (f"s{STEPS}", high)]
    if boxes:
        return [Patch(fc=colours()[kind], label=label(words)) for kind, words in boxes]
    lines: dict[str, Any] = {"line": {"ls": "-"}, "dashed": {"ls": "--"}}
    look = lines.get(entry.mark) or {"ls": "", "marker": MARKERS[entry.mark]}
    return [Line2D([], [], color=colours()[entry.kind], label=label(entry.words), **look)]
