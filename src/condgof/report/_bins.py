"""Scales of columns in bins, shaded ranges of subgroups, and colours of sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnBins
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._chart import Ends
from condgof.report._text import tick_texts, ticks

#: Names of ends longer than this leave room for three on an axis, not for five.
LONG_NAME = 7


def bin_scale(bins: ColumnBins) -> c.Scale:
    """Return the axis of a column in bins, of which bin b is drawn from b − ½ to b + ½."""
    if not bins.edges:
        return c.places(bins.title, bins.names)
    count = len(bins.names)
    if bins.values:
        return _even_scale(bins.title, np.array(bins.values))
    is_long = max(map(len, bins.edges[:-1])) > LONG_NAME
    quarters = (0, 2, 4) if is_long else range(5)
    at_edges = sorted({round(k * count / 4) for k in quarters})
    return c.Scale(
        name=bins.title,
        ends=(-0.5, count - 0.5),
        at=tuple(edge - 0.5 for edge in at_edges),
        texts=tuple(bins.edges[edge] for edge in at_edges),
    )


#: The least distance of two ticks of a column in bins, in shares of the axis.
LEAST_DISTANCE = 0.13


def _even_scale(title: str, values: FloatArray) -> c.Scale:
    """Return the axis of bins of numbers with ticks at round ones.

    Bins are equally wide on the axis, and round numbers stand within them in proportion;
    those that would touch the tick before are left out.
    """
    count = len(values) - 1
    round_values = np.array(ticks(float(values[0]), float(values[-1]), MOST_ROUND))
    places = np.interp(round_values, values, np.arange(count + 1) - 0.5)
    at: list[float] = []
    kept: list[float] = []
    for place, value in zip(places.tolist(), round_values.tolist(), strict=True):
        if not at or place - at[-1] >= LEAST_DISTANCE * count:
            at.append(place)
            kept.append(value)
    return c.Scale(title, (-0.5, count - 0.5), tuple(at), tuple(tick_texts(kept)))


#: About as many round numbers are tried.
MOST_ROUND = 12


def shade(ranges: Sequence[Ends], up: Ends) -> c.Boxes:
    """Shade ranges of the x axis from bottom to top."""
    left, right = np.array(ranges, dtype=float).reshape(-1, 2).T
    return c.Boxes(
        left=left,
        right=right,
        low=0 * left + up[0],
        high=0 * left + up[1],
        kinds=("shade",) * len(left),
    )


def chosen_slice(check: Check, number: int) -> Slice:
    """Return the subgroup of a number, counted from 1."""
    if number not in range(1, len(check.slices) + 1):
        raise InputError(
            f"There are {len(check.slices)} slices, counted from 1; got {number!r}."
        )
    return check.slices[number - 1]


def sides(
    low: AnyArray, high: AnyArray, expected: AnyArray | float, *, turned: bool = False
) -> tuple[str, ...]:
    """Return colours of intervals: "even" where they hold what is expected.

    If they are `turned`, an interval above what is expected is "low", not "high".
    """
    side = np.where(low > expected, 1, np.where(high < expected, -1, 0))
    return tuple(side_colours(side, turned=turned).tolist())


def more_and_less(*, turned: bool) -> tuple[str, str]:
    """Return the colours of estimates above and below what is expected."""
    return ("low", "high") if turned else ("high", "low")


def side_colours(side: IntArray, *, turned: bool = False) -> AnyArray:
    """Return the colours of sides: 1, −1 or 0 each, in their shape."""
    more, less = more_and_less(turned=turned)
    return np.where(side > 0, more, np.where(side < 0, less, "even")).astype(object)
