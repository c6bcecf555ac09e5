"""Numbered marks of locations on a chart, which lead to their panels, and the legend of shades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Check
from condgof.report._escape import html
from condgof.report._numbers import number
from condgof.report._reduce import SHADES, spread_apart
from condgof.report._svg import Frame, text
from condgof.result import pvalue_number


@dataclass(frozen=True)
class Places:
    """Where the locations are on a chart: in units of its axes, or of the picture if `absolute`."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    absolute: bool = False

    @staticmethod
    def of(check: Check, first: int, second: int) -> Places:
        """Place locations by two of their columns."""
        return Places(
            tuple(float(loc.x[first]) for loc in check.locations),
            tuple(float(loc.x[second]) for loc in check.locations),
        )

    @staticmethod
    def along(check: Check, column: int, x: FloatArray, values: FloatArray) -> Places:
        """Place locations on a curve over one column."""
        known = np.isfinite(values)
        at = tuple(float(loc.x[column]) for loc in check.locations)
        return Places(at, tuple(float(v) for v in np.interp(at, x[known], values[known])))


def extents(frame: Frame, check: Check, pair: tuple[int, int], places: Places) -> list[str]:
    """Return for each location the rectangle of two columns that it stands for, shown with its mark."""
    names = [check.landscape.columns[c] for c in pair]
    drawn = []
    for i, location in enumerate(check.locations):
        sides = []
        for name, axis, at in zip(names, (frame.x, frame.y), (places.x[i], places.y[i]), strict=True):
            one_level = (at - 0.5, at + 0.5) if name in location.levels else axis
            low, high = location.reach.get(name, one_level)
            sides.append((max(low, min(axis)), min(high, max(axis))))
        (a, b), (c, d) = frame.at_x(np.array(sides[0])), np.sort(frame.at_y(np.array(sides[1])))
        size = f'width="{max(b - a, 1):.1f}" height="{max(d - c, 1):.1f}"'
        drawn.append(f'<rect class="extent" x="{a:.1f}" y="{c:.1f}" {size} rx="3"/>')
    return drawn


def marks(frame: Frame, check: Check, places: Places, key: str, around: Sequence[str] = ()) -> list[str]:
    """Draw each location as a numbered link; marks upon each other are moved apart, with a leader."""
    if not check.locations:
        return []
    x, y = np.array(places.x), np.array(places.y)
    true_x, true_y = (x, y) if places.absolute else (frame.at_x(x), frame.at_y(y))
    true_x = np.clip(true_x, frame.left, frame.width - frame.right)
    true_y = np.clip(true_y, frame.top, frame.floor)
    seen_x, seen_y = spread_apart(true_x, true_y)
    seen_x = np.clip(seen_x, frame.left, frame.width - 14)
    seen_y = np.clip(seen_y, 13, frame.floor)
    home = key.split("-")[0]
    drawn = []
    for i, location in enumerate(check.locations):
        leader = ""
        if np.hypot(seen_x[i] - true_x[i], seen_y[i] - true_y[i]) > 3:
            way = f"M{true_x[i]:.1f} {true_y[i]:.1f}L{seen_x[i]:.1f} {seen_y[i]:.1f}"
            leader = f'<path class="leader" d="{way}"/>'
        evidence = "evidence" if location.named else "only where to look"
        words = f"Location {i + 1}: {location.where}; p = {pvalue_number(location.pvalue)} ({evidence})"
        drawn.append(
            f'{leader}<a class="mark{" named" if location.named else ""}" href="#{home}-loc{i + 1}" '
            f'data-loc="{home}-loc{i + 1}" aria-label="{html(words)}"><title>{html(words)}</title>'
            f"{around[i] if around else ''}"
            f'<circle cx="{seen_x[i]:.1f}" cy="{seen_y[i]:.1f}" r="11"/>'
            f'<text x="{seen_x[i]:.1f}" y="{seen_y[i] + 4.5:.1f}" text-anchor="middle">{i + 1}</text>'
            "</a>"
        )
    return drawn


def legend(frame: Frame, top: float) -> str:
    """Draw the scale of shades above the frame."""
    width, start, y = 16, frame.width - frame.right - 16 * SHADES - 42, 12
    boxes = "".join(
        f'<rect class="s{i}" x="{start + i * width}" y="{y}" width="{width}" height="10"/>'
        for i in range(SHADES)
    )
    ends = text(start - 6, y + 9, "no misfit: 0", "tick", "end")
    return boxes + ends + text(start + width * SHADES + 6, y + 9, number(top, 2), "tick")
