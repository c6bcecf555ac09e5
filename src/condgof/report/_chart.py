"""A chart, described once: axes, marks, words and the numbers behind it. Two pens draw it.

"high" is the colour of data that lie higher or spread more than the model says, "low" of the other way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._axes import Axis
from condgof.report._text import shorten, tick_texts, ticks
from condgof.result import number

#: Steps of the diverging scale to either side of its middle, "s0": "s-4" to "s4".
STEPS = 4
#: All kinds of marks; each has a colour of that name in charts.css.
KINDS = (
    *("data", "bar", "barx", "model", "band50", "band90", "high", "low", "even", "shade", "ink", "soft"),
    *(f"s{step}" for step in range(-STEPS, STEPS + 1)),
)
#: Rows beyond one edge of a chart that are drawn, letters of the name of a level on an axis.
MOST_BEYOND, LONGEST = 200, 20

Ends: TypeAlias = tuple[float, float]


class Scale(NamedTuple):
    """One axis: its name, its ends in the units of the data, its ticks; of `places` these are names."""

    name: str
    ends: Ends
    at: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    places: bool = False


class Points(NamedTuple):
    """Points: "dot", "tick" (lying), "pin" (upright), or triangles; `tips` are said when pointed at."""

    x: AnyArray
    y: AnyArray
    kind: str = "data"
    shape: str = "dot"
    size: float = 4.0
    tips: tuple[str, ...] = ()


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
    """Rectangles: bars, cells of a map, shaded ranges; a kind each, and some may be `faint`."""

    left: AnyArray
    right: AnyArray
    low: AnyArray
    high: AnyArray
    kinds: tuple[str, ...]
    faint: AnyArray | None = None
    tips: tuple[str, ...] = ()


class Intervals(NamedTuple):
    """Estimates with intervals, upright at places of the x axis, or lying at places of the y axis."""

    at: AnyArray
    estimate: AnyArray
    low: AnyArray
    high: AnyArray
    kinds: tuple[str, ...]
    lying: bool = False
    size: float = 7.0
    tips: tuple[str, ...] = ()

    def parts(self, x: Scale, y: Scale) -> Iterator[Line | Points]:
        """Yield whiskers and dots, kind by kind, and arrows where whiskers go on beyond the axis."""
        ends, arrows = (x.ends, ("left", "right")) if self.lying else (y.ends, ("down", "up"))
        low, middle, high = (np.clip(v, *ends) for v in (self.low, self.estimate, self.high))
        whiskers = np.column_stack([low, high, np.full(len(low), np.nan)])
        tips, look = np.array(self.tips or [""] * len(low)), "thin" if self.size < 4 else "bar"
        for kind in dict.fromkeys(self.kinds):
            here = np.array(self.kinds) == kind
            at, along = np.repeat(self.at[here], 3), whiskers[here].ravel()
            yield Line(along, at, kind, look) if self.lying else Line(at, along, kind, look)
            beyond = here & (self.low < ends[0]), here & (self.high > ends[1])
            shapes = ("dot", middle, here), (arrows[0], low, beyond[0]), (arrows[1], high, beyond[1])
            for shape, values, some in shapes:
                at, along = self.at[some], values[some]
                place = (along, at) if self.lying else (at, along)
                yield Points(*place, kind, shape, self.size, tuple(tips[some]))


class Text(NamedTuple):
    """Words at a point; `anchor` is which end of them is there, `up` how many pixels above it."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    up: float = 0.0


class Key(NamedTuple):
    """An entry of the legend: "line", "dashed", "box", "ramp" (words "a|b") or a shape of points."""

    mark: str
    kind: str
    words: str


Mark: TypeAlias = Points | Line | Band | Boxes | Intervals | Text
Table: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart: `title` says what is seen, `desc` is for who cannot see it, `table` has its numbers."""

    title: str
    desc: str
    x: Scale
    y: Scale
    marks: tuple[Mark, ...]
    table: Table
    legend: tuple[Key, ...] = ()
    #: Width and height in pixels, without the legend and names of levels that have to be turned.
    size: tuple[int, int] = (460, 300)

    @property
    def entries(self) -> tuple[Key, ...]:
        """The entries of the legend that occur."""
        drawn = {kind for m in self.marks for kind in getattr(m, "kinds", (getattr(m, "kind", ""),))}
        return tuple(key for key in self.legend if key.kind in drawn or key.mark == "ramp")

    @property
    def drawn(self) -> Iterator[Points | Line | Band | Boxes | Text]:
        """The marks, estimates with intervals as the lines and points that they are."""
        for mark in self.marks:
            yield from mark.parts(self.x, self.y) if isinstance(mark, Intervals) else (mark,)


def rule(at: float, lying: bool = True, kind: str = "model", look: str = "") -> Line:
    """Return a line from edge to edge: lying at a value of y, or upright at one of x."""
    across, place = np.array([-np.inf, np.inf]), np.full(2, at)
    return Line(across, place, kind, look) if lying else Line(place, across, kind, look)


def bars(edges: FloatArray, heights: AnyArray, kinds: tuple[str, ...]) -> Boxes:
    return Boxes(edges[:-1], edges[1:], np.zeros(len(heights)), np.asarray(heights, dtype=float), kinds)


def keys(entries: str) -> tuple[Key, ...]:
    """Read a legend: "mark kind words; mark kind words"."""
    return tuple(Key(*entry.split(maxsplit=2)) for entry in entries.split("; "))


def table(columns: Mapping[str, Sequence[Any] | AnyArray]) -> Table:
    """Return columns of numbers and words as a table that people read."""

    def cell(value: Any) -> str:
        if isinstance(value, (int, np.integer)):
            return f"{value:,}"
        return number(float(value)) if isinstance(value, (float, np.floating)) else str(value)

    return tuple(columns), tuple(tuple(map(cell, row)) for row in zip(*columns.values(), strict=True))


def spans(low: Sequence[float] | FloatArray, high: Sequence[float] | FloatArray) -> list[str]:
    return [f"{number(float(a))} to {number(float(b))}" for a, b in zip(low, high, strict=True)]


def ends_of(values: FloatArray, pad: float = 0.04) -> Ends:
    """Return the ends of an axis: the range and a share of it; of equal values half a unit around."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = pad * (high - low) if high > low else max(0.5, 1e-9 * abs(low))
    return low - room, high + room


def robust_ends(values: FloatArray, always: Sequence[float] = (), pad: float = 0.04) -> Ends:
    """Return the ends of an axis: of all values, or where some are far out, of those near the others."""
    full = np.append(values, always)
    full = full[np.isfinite(full)]
    if len(full) >= 20:
        inner = np.append(np.quantile(full, [0.005, 0.995]), [v for v in always if math.isfinite(v)])
        low, high = float(inner.min()), float(inner.max())
        if np.ptp(full) > 1.5 * (high - low):
            reach = 0.35 * (high - low)
            full = full[(full >= low - reach) & (full <= high + reach)]
    return ends_of(full, pad)


def numeric(name: str, ends: Ends, count: int = 5) -> Scale:
    at = ticks(*ends, count)
    return Scale(name, ends, tuple(at), tuple(tick_texts(at)))


def places(name: str, names: Sequence[str]) -> Scale:
    """Return a scale with a place for each name; where cut ones look alike, without how all begin."""
    texts = tuple(shorten(one, LONGEST) for one in names)
    if len(set(texts)) < len(names):
        begin = next((i for i, each in enumerate(zip(*names, strict=False)) if len(set(each)) > 1), 0)
        texts = tuple(shorten(f"…{one[begin:]}", LONGEST) for one in names)
    return Scale(name, (-0.5, len(names) - 0.5), tuple(map(float, range(len(names)))), texts, True)


def along(axis: Axis) -> Scale:
    """Return the scale of a column: dates as dates, whole numbers without decimals."""
    low, high = robust_ends(axis.values)
    if axis.kind == "dates":
        return Scale(axis.title, (low, high), *date_ticks(low, high, 3))
    if axis.kind != "integers":
        return numeric(axis.title, (low, high))
    ends = low - 0.3, high + 0.3
    whole = tuple(t for t in ticks(*ends) if t == round(t))
    return Scale(axis.title, ends, whole, tuple(map(axis.text, whole)))


def written(axis: Axis, value: float) -> str:
    """Write a value of a column, with three digits where it is not whole."""
    return number(value) if axis.kind == "numbers" else axis.text(value)


def date_ticks(low: float, high: float, count: int = 4) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return about so many round dates between two, as days since 1970, and how they are written."""
    steps = [("m", s, s / 1440) for s in (1, 5, 15, 60, 180, 720)] + [("D", s, s) for s in (1, 2, 5, 10)]
    steps += [("M", s, 30.4 * s) for s in (1, 2, 3, 6)]
    steps += [("Y", s * 10**p, 365.2 * s * 10**p) for p in range(8) for s in (1, 2, 5)]
    unit, step, _ = next(each for each in steps if each[2] >= 0.7 * (high - low) / count)
    minutes = np.array([round(low * 1440), round(high * 1440)]).astype("M8[m]")
    first, last = minutes.astype(f"M8[{unit}]").astype(int).tolist()
    first = first if unit == "D" else first // step * step
    dates = np.arange(first, last + 1, step).astype(f"M8[{unit}]")
    days = dates.astype("M8[m]").astype(float) / 1440
    inside = (days >= low) & (days <= high)
    return tuple(days[inside].tolist()), tuple(str(d).replace("T", " ") for d in dates[inside])


def beyond(
    x: FloatArray, y: FloatArray, ends: Ends, up: Ends, kinds: AnyArray, tip: Any = None
) -> tuple[list[Mark], tuple[Key, ...], AnyArray]:
    """Mark at the edges what lies beyond them, say how many, and tell which points are inside."""
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
            marks.append(Points(*at, kind, shape, tips=tuple(map(tip, drawn.tolist())) if tip else ()))
            farthest = number(float(values[out[0]]))
            entries += (Key(shape, kind, f"{len(out):,} beyond the axis, to {farthest}"),)
    return marks, entries, inside
