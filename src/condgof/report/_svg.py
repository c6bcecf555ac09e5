"""Charts as SVG text: a frame with its axes, and the few marks that the report needs.

Colours are classes, which the page's style sheet knows in light and dark; nothing here has a style
of its own. Marks of one kind are one path, so that a thousand points are some ten kilobytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.report._escape import html, shorten
from condgof.report._numbers import date, tick_texts, ticks


@dataclass(frozen=True)
class Frame:
    """The rectangle that data are drawn in.

    Parameters
    ----------
    x, y : tuple of float
        Ends of the axes, in the units of the data.
    width, height : int
        Of the whole picture, in its own units (pixels on a wide screen).
    left, right, top, bottom : int
        Margins.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 460
    height: int = 290
    left: int = 54
    right: int = 14
    top: int = 14
    bottom: int = 46

    def at_x(self, values: FloatArray | float) -> FloatArray:
        """Return positions across of values on the x axis."""
        return self.left + _share(values, self.x) * (self.width - self.left - self.right)

    def at_y(self, values: FloatArray | float) -> FloatArray:
        """Return positions down of values on the y axis."""
        return (
            self.height - self.bottom - _share(values, self.y) * (self.height - self.top - self.bottom)
        )

    @property
    def floor(self) -> int:
        """Position down of the x axis."""
        return self.height - self.bottom

    def line(self, x: FloatArray, y: FloatArray, kind: str) -> str:
        """Join points (m,); NaNs break the line."""
        return f'<path class="{kind}" d="{_path(self.at_x(x), self.at_y(y))}"/>'

    def area(self, x: FloatArray, low: FloatArray, high: FloatArray, kind: str) -> str:
        """Fill between two lines without gaps."""
        across = np.concatenate([x, x[::-1]])
        around = _path(self.at_x(across), self.at_y(np.append(high, low[::-1])))
        return f'<path class="{kind}" d="{around}Z"/>'

    def bars(self, edges: FloatArray, heights: FloatArray, kind: str) -> str:
        """Draw a histogram's bars (k,) between edges (k+1,), a hair apart."""
        a, b, top = self.at_x(edges[:-1]), self.at_x(edges[1:]), self.at_y(heights)
        gap = np.where(b - a > 3, 0.5, 0.0)
        shapes = (
            f"M{_n(i + g)} {_n(self.floor)}V{_n(t)}H{_n(j - g)}V{_n(self.floor)}Z"
            for i, j, t, g, height in zip(a, b, top, gap, heights, strict=True)
            if height > 0
        )
        return f'<path class="{kind}" d="{"".join(shapes)}"/>'

    def steps(self, edges: FloatArray, heights: FloatArray, kind: str) -> str:
        """Draw a histogram's outline."""
        x = np.repeat(edges, 2)
        return self.line(x, np.concatenate([[0.0], np.repeat(heights, 2), [0.0]]), kind)

    def dots(self, x: FloatArray, y: FloatArray, kind: str) -> str:
        """Draw points as one path: round caps of lines without length, as wide as the class says."""
        points = (f"M{_n(a)} {_n(b)}h0" for a, b in zip(self.at_x(x), self.at_y(y), strict=True))
        return f'<path class="{kind}" d="{"".join(points)}"/>' if len(x) else ""

    def cells(self, x: FloatArray, y: FloatArray, size: tuple[float, float], kind: str) -> str:
        """Draw rectangles of one size (in data units) about points, a hair larger so that they join."""
        if not len(x):
            return ""
        a, b = self.at_x(x - size[0] / 2), self.at_y(y + size[1] / 2)
        w = float(self.at_x(size[0]) - self.at_x(0.0)) + 0.3
        h = float(self.at_y(0.0) - self.at_y(size[1])) + 0.3
        shapes = (f"M{_n(i)} {_n(j)}h{_n(w)}v{_n(h)}h{_n(-w)}Z" for i, j in zip(a, b, strict=True))
        return f'<path class="{kind}" d="{"".join(shapes)}"/>'

    def rug(self, x: FloatArray, kind: str, length: float = 7.0) -> str:
        """Draw a short line at the foot for each value."""
        lines = (f"M{_n(a)} {self.floor}v{_n(-length)}" for a in self.at_x(x))
        return f'<path class="{kind}" d="{"".join(lines)}"/>'

    def upright(self, x: float, kind: str) -> str:
        """Draw a line from foot to top."""
        return f'<path class="{kind}" d="M{_n(float(self.at_x(x)))} {self.floor}V{self.top}"/>'

    def level(self, y: float, kind: str) -> str:
        """Draw a line across."""
        at = _n(float(self.at_y(y)))
        return f'<path class="{kind}" d="M{self.left} {at}H{self.width - self.right}"/>'

    def band(self, low: float, high: float, kind: str) -> str:
        """Shade a range of x."""
        a, b = (float(np.clip(self.at_x(v), self.left, self.width - self.right)) for v in (low, high))
        return (
            f'<rect class="{kind}" x="{_n(a)}" y="{self.top}" width="{_n(max(b - a, 1.0))}" '
            f'height="{self.floor - self.top}"/>'
        )

    def x_axis(self, name: str, count: int = 5, dates: bool = False) -> str:
        """Draw the x axis with ticks and its name."""
        at = ticks(*self.x, 3 if dates else count)
        texts = "".join(
            text(float(self.at_x(t)), self.floor + 17, s, "tick", "middle")
            for t, s in zip(at, _tick_texts(at, dates), strict=True)
        )
        marks = "".join(f"M{_n(float(self.at_x(t)))} {self.floor}v4" for t in at)
        return f'<path class="axis" d="{marks}"/>{texts}{self.foot(name)}'

    def foot(self, name: str) -> str:
        """Draw the line of the x axis, and its name."""
        middle = (self.left + self.width - self.right) / 2
        line = f'<path class="axis" d="M{self.left} {self.floor}H{self.width - self.right}"/>'
        return line + text(middle, self.height - 8, shorten(name, 52), "name", "middle")

    def y_axis(self, name: str, count: int = 4, grid: bool = True, dates: bool = False) -> str:
        """Draw ticks of the y axis, faint lines across, and its name at the side."""
        at = ticks(*self.y, count)
        lines = "".join(f"M{self.left} {_n(float(self.at_y(t)))}H{self.width - self.right}" for t in at)
        texts = "".join(
            text(self.left - 6, float(self.at_y(t)) + 4, s, "tick", "end")
            for t, s in zip(at, _tick_texts(at, dates), strict=True)
        )
        return (f'<path class="grid" d="{lines}"/>' if grid else "") + texts + self.side(name)

    def side(self, name: str) -> str:
        """Write the name of the y axis along it."""
        middle = (self.top + self.floor) / 2
        words = html(shorten(name, 34))
        place = f"translate(13 {_n(middle)}) rotate(-90)"
        return f'<text class="name" text-anchor="middle" transform="{place}">{words}</text>'


def room_for(ends: tuple[float, float], count: int = 4, dates: bool = False) -> int:
    """Return the left margin that the ticks of a y axis and its name need."""
    return 32 + 7 * max((len(t) for t in _tick_texts(ticks(*ends, count), dates)), default=1)


def _tick_texts(at: list[float], dates: bool) -> list[str]:
    return [date(t) for t in at] if dates else tick_texts(at)


def picture(
    frame: Frame, parts: Sequence[str], *, key: str, title: str, desc: str, live: bool = False
) -> str:
    """Put parts into an SVG element with its text alternative.

    Parameters
    ----------
    frame : Frame
        Its size.
    parts : sequence of str
        What is drawn, back to front.
    key : str
        An id that no other picture on the page has.
    title, desc : str
        What a reader who cannot see it is told.
    live : bool
        Whether there are links inside, which a screen reader must reach.
    """
    role = "group" if live else "img"
    return (
        f'<svg viewBox="0 0 {frame.width} {frame.height}" width="{frame.width}" height="{frame.height}" '
        f'role="{role}" aria-labelledby="{key}-t {key}-d" focusable="false">'
        f'<title id="{key}-t">{html(title)}</title><desc id="{key}-d">{html(desc)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """Write words at a place."""
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{html(words)}</text>'


def _share(values: FloatArray | float, ends: tuple[float, float]) -> FloatArray:
    return np.asarray((np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0]))


def _path(x: FloatArray, y: FloatArray) -> str:
    pieces, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if np.isfinite(a) and np.isfinite(b):
            pieces.append(f"{pen}{_n(a)} {_n(b)}")
            pen = "L"
        else:
            pen = "M"
    return "".join(pieces)


def _n(value: float) -> str:
    """Write a position with one decimal, and none where it is 0."""
    return f"{value:.1f}".removesuffix(".0")
