"""The pen for pages: a chart as SVG text, under a legend in HTML, which wraps.

Colours are classes, which charts.css knows in light and dark; nothing here has a style of its own. Marks
of one kind are one path, so that a thousand points are some ten kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.report import _chart as c
from condgof.report._chart import Chart
from condgof.report._text import html, shorten

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
#: Heads of whiskers that go on beyond the axis, at the low end and at the high end: upright and lying.
ARROWS = (("m-4 -4l4 4l4 -4", "m-4 4l4 -4l4 4"), ("m4 -4l-4 4l4 4", "m-4 -4l4 4l-4 4"))


def svg(chart: Chart, key: str) -> str:
    """Draw a chart under its legend; `key` is an id that no other one on the page has."""
    frame = _Frame.of(chart)
    above = (c.Points, c.Intervals, c.Text)  # may stand out over the edges
    inside, over = ("", "")
    for mark in chart.marks:
        if isinstance(mark, above):
            over += frame.mark(mark)
        else:
            inside += frame.mark(mark)
    left, top, right, floor = map(_n, (frame.left, frame.top, frame.right, frame.floor))
    width, height = _n(frame.width), _n(frame.height)
    return (
        f'{legend(chart.entries)}<svg class="chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{html(chart.title)}" aria-describedby="{key}-d" '
        f'focusable="false"><desc id="{key}-d">{html(chart.desc)}</desc><clipPath id="{key}-c">'
        f'<path d="M{left} {top}H{right}V{floor}H{left}Z"/></clipPath>{frame.axes(chart)}'
        f'<g clip-path="url(#{key}-c)">{inside}</g>{over}</svg>'
    )


def legend(entries: Sequence[c.Key]) -> str:
    """Return what is what as a list."""
    listed = "".join(f"<li>{_entry(entry)}</li>" for entry in entries)
    return f'<ul class="legend">{listed}</ul>' if listed else ""


def _entry(entry: c.Key) -> str:
    before, after, wide = "", entry.words, 22
    drawn = _paths(["M11 7"], (entry.kind,), entry.mark, 13 if entry.mark == "pin" else 7)
    if entry.mark == "ramp":
        before, after = entry.words.split("|")
        steps = range(-c.STEPS, c.STEPS + 1)
        wide = 13 * len(steps)
        shapes = [f"M{13 * i} 1h13v12h-13Z" for i in range(len(steps))]
        drawn = _grouped(shapes, [f"s{step}" for step in steps], "m-box")
    size = f'viewBox="0 0 {wide} 14" width="{wide}" height="14"'
    return f'{html(before)}<svg {size} aria-hidden="true" focusable="false">{drawn}</svg>{html(after)}'


@cache
def chart_style() -> str:
    """Return the style sheet of charts, light and dark."""
    light, dark, rules = _sheet()
    kinds = "\n".join(f".k-{kind} {{ color: var(--k-{kind}); }}" for kind in c.KINDS)
    system = "@media screen and (prefers-color-scheme: dark)"
    return (
        f'{light}{system} {{ :root:not([data-theme="light"]) {{{dark}}} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{{dark}}} }}{rules}{kinds}\n'
    )


@cache
def colours() -> dict[str, str]:
    """Return the light colours by kind."""
    return dict(re.findall(r"--k-([\w-]+): (#\w+)", _sheet()[0]))


def _sheet() -> list[str]:
    return (files("condgof.report") / "charts.css").read_text("utf-8").split("/* --- */")


@dataclass(frozen=True)
class _Frame:
    """The rectangle that data are drawn in, in pixels."""

    x: c.Ends
    y: c.Ends
    width: float
    height: float
    left: float
    right: float
    top: float
    floor: float
    turned: bool

    @staticmethod
    def of(chart: Chart) -> _Frame:
        """Make room for ticks and names; names of levels that have to be turned get more of it."""
        (width, height), x, y = chart.size, chart.x, chart.y
        longest, letters = (max(map(len, scale.texts), default=0) for scale in (y, x))
        left = 10 + TICK * longest + 20 * bool(y.name)
        room, more = (width - left - 14) / max(len(x.at), 1), 0.0
        turned = x.places and TICK * letters > room - 5
        if turned:  # the first name reaches to the left, and all reach down
            left = max(left, TURNED * TICK * len(x.texts[0]) - 0.5 * room + 14)
            more = max(TURNED * TICK * letters - 8, 0.0)
        floor = height - 12 - 12 * bool(x.texts) - 20 * bool(x.name)
        return _Frame(x.ends, y.ends, width, height + more, left, width - 14, 8, floor, turned)

    def at_x(self, values: AnyArray | float) -> FloatArray:
        """Return positions across."""
        return self.left + (self.right - self.left) * _share(values, self.x)

    def at_y(self, values: AnyArray | float) -> FloatArray:
        """Return positions down."""
        return self.floor + (self.top - self.floor) * _share(values, self.y)

    def axes(self, chart: Chart) -> str:
        """Draw ticks, faint lines across, and the names of both axes."""
        left, right, floor = map(_n, (self.left, self.right, self.floor))
        at_x, at_y = self.at_x(np.array(chart.x.at)), self.at_y(np.array(chart.y.at))
        across = "" if chart.y.places else "".join(f"M{left} {_n(v)}H{right}" for v in at_y)
        feet = "" if chart.x.places else "".join(f"M{_n(v)} {floor}v4" for v in at_x)
        foot = f"M{left} {floor}H{right}{feet}"
        parts = [f'<path class="grid" d="{across}"/><path class="axis" d="{foot}"/>']
        for v, words in zip(at_x, chart.x.texts, strict=True):
            half = 1 + 0.5 * TICK * len(words)
            if self.turned:
                parts.append(_text(v + 4, self.floor + 13, words, "tick", "end", -45))
            else:
                seen = min(max(v, half), self.width - half)
                parts.append(_text(seen, self.floor + 17, words, "tick", "middle"))
        for v, words in zip(at_y, chart.y.texts, strict=True):
            parts.append(_text(self.left - 6, v + 4, words, "tick", "end"))
        words = shorten(chart.x.name, int(self.width / LETTER) - 3)
        parts.append(_text((self.left + self.right) / 2, self.height - 7, words, "name", "middle"))
        words = shorten(chart.y.name, int((self.floor - self.top + 30) / LETTER))
        parts.append(_text(13, (self.top + self.floor) / 2, words, "name", "middle", -90))
        return "".join(parts)

    def mark(self, mark: c.Mark) -> str:
        """Draw one mark."""
        if isinstance(mark, c.Points):
            both = zip(self.at_x(mark.x), self.at_y(mark.y), strict=True)
            places = [f"M{_n(a)} {_n(b)}" for a, b in both]
            return _paths(places, (mark.kind,) * len(places), mark.shape, mark.size, mark.tips)
        if isinstance(mark, c.Intervals):
            return self.intervals(mark)
        if isinstance(mark, c.Boxes):
            return self.boxes(mark)
        if isinstance(mark, c.Text):
            place = float(self.at_x(mark.x)), float(self.at_y(mark.y)) - mark.up
            return _text(*place, mark.words, "in", mark.anchor)
        if isinstance(mark, c.Band):
            way, known = "", np.isfinite(mark.low)
            for piece in np.split(np.arange(len(mark.x)), np.flatnonzero(~known)):
                at = piece[known[piece]]
                x, y = (
                    np.append(mark.x[at], mark.x[at[::-1]]),
                    np.append(mark.high[at], mark.low[at[::-1]]),
                )
                way += f"{_path(self.at_x(x), self.at_y(y))}Z" if len(at) else ""
            return f'<path class="m-box k-{mark.kind}" d="{way}"/>'
        if isinstance(mark, c.Line):
            way = _path(self.at_x(mark.x), self.at_y(mark.y))
        elif mark.lying:
            way = f"M{_n(self.left)} {_n(float(self.at_y(mark.at)))}H{_n(self.right)}"
        else:
            way = f"M{_n(float(self.at_x(mark.at)))} {_n(self.floor)}V{_n(self.top)}"
        return f'<path class="m-line{" dashed" * mark.dashed} k-{mark.kind}" d="{way}"/>'

    def boxes(self, mark: c.Boxes) -> str:
        """Draw rectangles, a hair apart; faint ones are struck through."""
        (a, b), (low, high) = (
            self.at_x(np.array([mark.left, mark.right])),
            map(self.at_y, (mark.low, mark.high)),
        )
        gap = np.where(b - a > 4, 0.6, 0.0)
        places = [tuple(map(_n, four)) for four in zip(a + gap, b - gap, high, low, strict=True)]
        shapes = [f"M{i} {t}H{j}V{f}H{i}Z" for i, j, t, f in places]
        if mark.faint is None:
            return _grouped(shapes, mark.kinds, "m-box", mark.tips)
        kinds = [f"{k} faint" if weak else k for k, weak in zip(mark.kinds, mark.faint, strict=True)]
        through = "".join(f"M{i} {f}L{j} {t}" for k, (i, j, t, f) in enumerate(places) if mark.faint[k])
        return f'{_grouped(shapes, kinds, "m-box", mark.tips)}<path class="struck" d="{through}"/>'

    def intervals(self, mark: c.Intervals) -> str:
        """Draw estimates with whiskers, with an arrow where one goes on beyond the axis."""
        ends, along, at = self.y, self.at_y, self.at_x
        if mark.lying:
            ends, along, at = self.x, self.at_x, self.at_y
        three = [along(np.clip(v, *ends)) for v in (mark.low, mark.high, mark.estimate)]
        bars, dots = [], []
        for i, place in enumerate(at(mark.at)):
            pairs = [(v[i], place) if mark.lying else (place, v[i]) for v in three]
            low, high, dot = (f"{_n(a)} {_n(b)}" for a, b in pairs)
            bars.append(f"M{low}L{high}")
            if mark.low[i] < ends[0]:
                bars[-1] += f"M{low}{ARROWS[mark.lying][0]}"
            if mark.high[i] > ends[1]:
                bars[-1] += f"M{high}{ARROWS[mark.lying][1]}"
            dots.append(f"M{dot}")
        whiskers = _grouped(bars, mark.kinds, "m-bar thin" if mark.size < 4 else "m-bar", mark.tips)
        return whiskers + _paths(dots, mark.kinds, "dot", mark.size, mark.tips)


def _paths(
    places: Sequence[str], kinds: Sequence[str], shape: str, size: float, tips: Sequence[str] = ()
) -> str:
    """Draw shapes at places; a dot is the round end of a line without length."""
    way, look = SHAPES.get(shape, ("", ""))
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


def _share(values: AnyArray | float, ends: c.Ends) -> FloatArray:
    return np.asarray((np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0]))


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
