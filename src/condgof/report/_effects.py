"""The picture of an effect, along its own columns, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check import (
    Condition,
    Effect,
    EffectCell,
    axis_name,
    deviation,
    effect_headline,
    effect_kind,
    worst_cell,
)
from condgof.report import _chart as c
from condgof.report._bins import sides
from condgof.report._chart import Chart
from condgof.result import number

#: Most categories that are drawn; of more, those that differ most.
MOST_CATEGORIES = 30
#: Most cells of a map that have their numbers written in them.
MOST_WRITTEN_CELLS = 60
#: The least deviation that has the strongest colour of a map.
LEAST_TOP = 0.1
#: The strongest step of the diverging scale on which dark text can be read.
STRONGEST = 3
#: Most values of a column that have a tick each.
MOST_TICKS = 12
#: Half the length of the line at what is predicted for a category, in places.
HALF_MARK = 0.32
#: How far an open first or last bin reaches, in widths of its neighbour.
OPEN_BIN = 1.0
#: Width and height of the picture of an effect, in pixels.
SIZE = (540, 330)
#: Pixels by which numbers in cells of a map are moved down, so that they are centred.
DOWN = 4.0


def plot_effect(effect: Effect, ax: object = None) -> Any:
    """Draw an effect along its own columns, with intervals (needs ``condgof[plot]``).

    A column of numbers is a step line with a band, a column of categories has points with
    error bars, two columns are a map, and an effect that is the same everywhere is one bar.

    Parameters
    ----------
    effect : Effect
        One of ``report.effects``.
    ax : matplotlib.axes.Axes, optional
        Where to draw, and what is returned; a new figure unless given.
    """
    return c.draw(effect_chart(effect), ax)


def effect_chart(effect: Effect) -> Chart:
    """Describe the picture of an effect."""
    if not effect.columns:
        return _bar(effect)
    if len(effect.columns) == 2:
        return _map(effect)
    conditions = [cell.conditions[0] for cell in effect.cells]
    if any(np.isnan(one.low) for one in conditions):
        return _categories(effect)
    if all(one.low == one.high for one in conditions):
        return _single_values(effect)
    return _steps(effect)


class CellNumbers(NamedTuple):
    """The numbers of k cells as they are drawn, percentages as such, (k,) each."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    expected: FloatArray
    kinds: tuple[str, ...]  #: Their colours.

    @property
    def ends(self) -> c.Ends:
        """The ends of an axis that all numbers are on."""
        every = np.concatenate([self.estimate, self.expected])
        return c.robust_ends(np.concatenate([self.low, self.high]), every.tolist(), 0.06)


def _numbers(effect: Effect, cells: Sequence[EffectCell]) -> CellNumbers:
    findings = [cell.finding for cell in cells]
    factor = effect_kind(effect).numbers.factor
    estimate = factor * np.array([one.estimate for one in findings])
    low, high = factor * np.array([one.interval for one in findings]).T
    expected = factor * np.array([one.expected for one in findings])
    turned = effect_kind(effect).more_is_less
    kinds = sides(low, high, expected, turned=turned)
    return CellNumbers(estimate, low, high, expected, kinds)


def _value_axis(effect: Effect) -> str:
    percent = " (%)" if effect_kind(effect).numbers.unit == "%" else ""
    return f"{axis_name(effect)}{percent}"


def _title(effect: Effect) -> str:
    """Return what the picture shows: the headline of the effect.

    Pictures show rows as they are, which do not show effects that only what others leave
    shows: of these the name is the title.
    """
    if effect.given_before:
        return f"{effect.name}: rows as they are, before any correction"
    return effect_headline(effect)


def _table(effect: Effect, cells: Sequence[EffectCell]) -> c.Table:
    """Return the numbers behind the picture."""
    numbers = _numbers(effect, cells)
    return c.table(
        {
            "where": [cell.words for cell in cells],
            "rows": [cell.n for cell in cells],
            _value_axis(effect): numbers.estimate,
            "interval": c.spans(numbers.low, numbers.high),
            "predicted": numbers.expected,
        }
    )


def _legend(effect: Effect) -> tuple[c.Key, ...]:
    """Return what colours mean, in the words of the effect's kind."""
    kind = effect_kind(effect)
    more, less = kind.larger, kind.smaller
    if kind.more_is_less:
        more, less = less, more
    return (
        c.Key("line", "model", "predicted"),
        c.Key("dot", "high", f"model {more}"),
        c.Key("dot", "low", f"model {less}"),
        c.Key("dot", "even", "interval holds the prediction"),
    )


def _bar(effect: Effect) -> Chart:
    """Draw an effect that is the same everywhere: a bar from the prediction on."""
    numbers = _numbers(effect, effect.cells)
    place = np.arange(1.0)
    bar = c.Boxes(
        left=np.minimum(numbers.estimate, numbers.expected),
        right=np.maximum(numbers.estimate, numbers.expected),
        low=place - HALF_MARK,
        high=place + HALF_MARK,
        kinds=numbers.kinds,
    )
    whiskers = c.Intervals(
        at=place,
        estimate=numbers.estimate,
        low=numbers.low,
        high=numbers.high,
        kinds=("ink",),
        lying=True,
    )
    model = c.rule(float(numbers.expected[0]), lying=False)
    return Chart(
        title=_title(effect),
        x=c.numeric(_value_axis(effect), numbers.ends),
        y=c.places("", ["all rows"]),
        marks=(bar, model, whiskers),
        table=_table(effect, effect.cells),
        legend=(c.Key("line", "model", "predicted"),),
        size=(540, 150),
        spots=c.Spots.lying(place),
    )


def _categories(effect: Effect) -> Chart:
    """Draw points with error bars, one a category."""
    cells = list(effect.cells)
    title = _title(effect)
    if len(cells) > MOST_CATEGORIES:
        cells = _furthest(effect, MOST_CATEGORIES)
        title += f". {MOST_CATEGORIES} of {len(effect.cells):,} categories are drawn"
    names = [short_text(cell.conditions[0]) for cell in cells]
    at = np.arange(float(len(cells)))
    numbers = _numbers(effect, cells)
    return Chart(
        title=title,
        x=c.places(effect.columns[0], names),
        y=c.numeric(_value_axis(effect), numbers.ends),
        marks=(_predicted_marks(numbers, at), _intervals(numbers, at)),
        table=_table(effect, cells),
        legend=_legend(effect),
        size=SIZE,
        spots=c.Spots.places(len(cells)),
    )


def _furthest(effect: Effect, count: int) -> list[EffectCell]:
    """Return the cells that differ most from the prediction, in their own order."""

    def distance(cell: EffectCell) -> float:
        return abs(deviation(effect, cell.finding.estimate, cell.finding.expected))

    chosen = sorted(effect.cells, key=distance, reverse=True)[:count]
    kept = {id(cell) for cell in chosen}
    return [cell for cell in effect.cells if id(cell) in kept]


def short_text(condition: Condition) -> str:
    """Return what stands on an axis for a condition."""
    return condition.short or condition.words


def _predicted_marks(numbers: CellNumbers, at: AnyArray) -> c.Line:
    """Return a short lying line at what is predicted in each place."""
    gap = np.full(len(at), np.nan)
    x = np.column_stack([at - HALF_MARK, at + HALF_MARK, gap])
    y = np.column_stack([numbers.expected, numbers.expected, gap])
    return c.Line(x.ravel(), y.ravel(), "model")


def _intervals(numbers: CellNumbers, at: AnyArray) -> c.Intervals:
    return c.Intervals(
        at=at,
        estimate=numbers.estimate,
        low=numbers.low,
        high=numbers.high,
        kinds=numbers.kinds,
    )


def _single_values(effect: Effect) -> Chart:
    """Draw points with error bars at the values of a column, such as months."""
    cells = sorted(effect.cells, key=lambda cell: cell.conditions[0].low)
    at = np.array([cell.conditions[0].low for cell in cells])
    numbers = _numbers(effect, cells)
    model = c.Line(at, numbers.expected, "model")
    return Chart(
        title=_title(effect),
        x=_value_scale(effect.columns[0], at),
        y=c.numeric(_value_axis(effect), numbers.ends),
        marks=(model, c.Line(at, numbers.estimate, "soft"), _intervals(numbers, at)),
        table=_table(effect, cells),
        legend=_legend(effect),
        size=SIZE,
        spots=c.Spots.between(at),
    )


def _value_scale(name: str, values: FloatArray) -> c.Scale:
    """Return a scale with a tick at each value, where these are few."""
    ends = c.ends_of(values)
    if len(values) > MOST_TICKS:
        return c.numeric(name, ends)
    texts = tuple(number(float(value)) for value in values)
    return c.Scale(name, ends, tuple(values.tolist()), texts)


def _steps(effect: Effect) -> Chart:
    """Draw a step line with a band along a column of numbers."""
    cells = sorted(effect.cells, key=lambda cell: cell.conditions[0].low)
    edges = _edges([cell.conditions[0] for cell in cells])
    numbers = _numbers(effect, cells)
    x = np.repeat(edges, 2)[1:-1]
    middles = 0.5 * (edges[1:] + edges[:-1])
    marks: tuple[c.Mark, ...] = (
        c.Band(x, np.repeat(numbers.low, 2), np.repeat(numbers.high, 2), "shade"),
        c.Line(x, np.repeat(numbers.expected, 2), "model"),
        c.Line(x, np.repeat(numbers.estimate, 2), "ink"),
    )
    for kind in dict.fromkeys(numbers.kinds):
        here = np.array(numbers.kinds) == kind
        marks += (c.Points(middles[here], numbers.estimate[here], kind, size=7.0),)
    return Chart(
        title=_title(effect),
        x=c.numeric(effect.columns[0], c.ends_of(edges, 0.0)),
        y=c.numeric(_value_axis(effect), numbers.ends),
        marks=marks,
        table=_table(effect, cells),
        legend=(*_legend(effect), c.Key("box", "shade", "interval")),
        size=SIZE,
        spots=c.Spots.upright(edges[:-1], edges[1:]),
    )


def _edges(conditions: Sequence[Condition]) -> FloatArray:
    """Return k + 1 edges of k bins in order; open ones are as wide as their neighbours."""
    inner = np.array([one.low for one in conditions[1:]], dtype=float)
    ends = [conditions[0].low, conditions[-1].high]
    known = np.array([*inner, *(end for end in ends if np.isfinite(end))])
    # A single inner edge says nothing about widths: its own size has to do.
    width = max(float(np.abs(known).max(initial=0.0)), 1.0)
    first_width = inner[1] - inner[0] if len(inner) > 1 else width
    last_width = inner[-1] - inner[-2] if len(inner) > 1 else width
    start = float(known.min(initial=0.0)) if not len(inner) else inner[0]
    stop = float(known.max(initial=0.0)) if not len(inner) else inner[-1]
    first = ends[0] if np.isfinite(ends[0]) else start - OPEN_BIN * first_width
    last = ends[1] if np.isfinite(ends[1]) else stop + OPEN_BIN * last_width
    return np.concatenate([[first], inner, [last]])


def _map(effect: Effect) -> Chart:
    """Draw cells of two columns, coloured by how far they are from the prediction."""
    first = _places_of(effect, 0)
    second = _places_of(effect, 1)
    across = np.array([first.index(short_text(one.conditions[0])) for one in effect.cells])
    up = np.array([second.index(short_text(one.conditions[1])) for one in effect.cells])
    off = np.array(
        [deviation(effect, one.estimate, one.finding.expected) for one in effect.cells]
    )
    if effect_kind(effect).more_is_less:
        off = -off
    top = max(float(np.abs(off).max()), LEAST_TOP)
    steps = np.rint(off / top * STRONGEST).astype(int)
    boxes = c.Boxes(
        left=across - 0.5,
        right=across + 0.5,
        low=up - 0.5,
        high=up + 0.5,
        kinds=tuple(f"s{step}" for step in steps),
    )
    marks: list[c.Mark] = [boxes]
    if len(effect.cells) <= MOST_WRITTEN_CELLS:
        for x, y, cell in zip(across, up, effect.cells, strict=True):
            numbers = effect_kind(effect).numbers
            expected = cell.finding.expected
            decimals = numbers.decimals(cell.estimate, expected, cell.interval)
            text = numbers.bare(cell.estimate, decimals)
            marks.append(c.Text(float(x), float(y), text, "middle", up=-DOWN))
    worst = effect.cells.index(worst_cell(effect))
    marks.append(_outline(float(across[worst]), float(up[worst])))
    return Chart(
        title=_title(effect),
        x=c.places(effect.columns[0], first),
        y=c.places(effect.columns[1], second),
        marks=tuple(marks),
        table=_table(effect, effect.cells),
        legend=_map_legend(effect, steps),
        size=SIZE,
        spots=c.Spots(across - 0.5, across + 0.5, up - 0.5, up + 0.5),
    )


def _places_of(effect: Effect, side: int) -> list[str]:
    """Return the bins of the first or second column, numbers in their order."""
    conditions = {
        short_text(cell.conditions[side]): cell.conditions[side] for cell in effect.cells
    }
    if all(not np.isnan(one.low) for one in conditions.values()):
        return sorted(conditions, key=lambda name: conditions[name].low)
    return list(conditions)


def _outline(x: float, y: float) -> c.Line:
    """Return the outline of the worst cell."""
    return c.Line(
        np.array([x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5]),
        np.array([y - 0.5, y - 0.5, y + 0.5, y + 0.5, y - 0.5]),
        "ink",
    )


def _map_legend(effect: Effect, steps: IntArray) -> tuple[c.Key, ...]:
    """Return the colours of a map: the strongest `steps` that are drawn, and the middle."""
    kind = effect_kind(effect)
    more, less = kind.larger, kind.smaller
    if kind.more_is_less:
        more, less = less, more
    keys = [c.Key("box", "s0", "as predicted")]
    if steps.min() < 0:
        keys.insert(0, c.Key("box", f"s{steps.min()}", f"model {less}"))
    if steps.max() > 0:
        keys.append(c.Key("box", f"s{steps.max()}", f"model {more}"))
    return (*keys, c.Key("line", "ink", "worst cell"))
