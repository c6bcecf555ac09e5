"""Columns of x on an axis: dates, and of categorical ones which levels are drawn and where rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Check, Landscape
from condgof.report._escape import shorten
from condgof.report._numbers import date, number
from condgof.report._reduce import middle_span, scatter

#: Levels of a categorical column that are drawn.
MOST_LEVELS = 12


def is_level(scape: Landscape, column: int) -> bool:
    """Whether a column of x is categorical."""
    return scape.columns[column] in scape.levels


def is_date(scape: Landscape, column: int) -> bool:
    """Whether a column of x holds dates."""
    return scape.columns[column] in scape.dates


def written(scape: Landscape, column: int, value: float, digits: int = 3) -> str:
    """Write a value of a column of x: a level, a date or a number."""
    if is_level(scape, column):
        return scape.levels[scape.columns[column]][int(value)]
    return date(value) if is_date(scape, column) else number(value, digits)


@dataclass(frozen=True)
class Side:
    """One axis of a pair: its ends, the names of levels on it, and where the locations are."""

    ends: tuple[float, float]
    names: tuple[str, ...]
    marks: tuple[float, ...]


def coordinate(check: Check, column: int, ratio: float) -> tuple[FloatArray, Side, str]:
    """Return where each row is on a column's axis, NaN for levels left out; `ratio` is for `scatter`."""
    scape = check.landscape
    values, at = scape.points[:, column], [float(loc.x[column]) for loc in check.locations]
    if not is_level(scape, column):
        return values, Side(middle_span(values, at), (), tuple(at)), ""
    shown, left_out = levels_shown(check, column)
    position = {level: float(i) for i, level in enumerate(shown)}
    rows = np.array([position.get(int(v), np.nan) for v in values])
    names = tuple(scape.levels[scape.columns[column]][level] for level in shown)
    spots = tuple(position[int(v)] for v in at)
    return (
        rows + 0.62 * scatter(len(rows), ratio),
        Side((-0.5, len(shown) - 0.5), names, spots),
        left_out,
    )


def levels_shown(check: Check, column: int) -> tuple[list[int], str]:
    """Return the levels to draw, those of locations and those with the strongest misfit first chosen."""
    scape = check.landscape
    codes = scape.points[:, column].astype(int)
    there = [int(level) for level in np.unique(codes)]
    forced = {int(loc.x[column]) for loc in check.locations}
    strength = dict(zip(there, level_means(check, column, there), strict=True))
    ranked = sorted({*there, *forced}, key=lambda lv: (lv not in forced, -strength.get(lv, 0.0)))
    kept = sorted(ranked[: max(MOST_LEVELS, len(forced))])
    rest = len(ranked) - len(kept)
    name = scape.columns[column]
    return kept, f" {rest} levels of {name} with less misfit are not drawn." if rest else ""


def level_means(check: Check, column: int, levels: Sequence[int]) -> FloatArray:
    """Return the mean criterion of the rows of each level, 0 where there are none."""
    scape = check.landscape
    codes = scape.points[:, column].astype(int)
    rows = (np.nan_to_num(scape.values[codes == level]) for level in levels)
    return np.array([float(values.mean()) if len(values) else 0.0 for values in rows])


def cut(name: str) -> str:
    """Shorten the name of a level for an axis."""
    return shorten(name, 16)


def room(names: Sequence[str]) -> int:
    """Return how long the names of levels are on an axis."""
    return max((int(6.9 * len(cut(name))) for name in names), default=0)
