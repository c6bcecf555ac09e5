"""Single rows that a report shows, and where the rows of subgroups lie in its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check._effect_words import worst_cell
from condgof.check._findings import row_names
from condgof.check._frame import name_columns
from condgof.check.curves._bins import FEWEST_ROWS, bins_of, value_text, without_few
from condgof.check.curves._kinds import RowDistances, overall_codes, row_distances
from condgof.check.kinds import CheckedRows, FrameColumn
from condgof.result import Record, number, plain

if TYPE_CHECKING:
    from condgof.check._record import Check
    from condgof.check.curves._pictures import ColumnPanel

#: Most rows that are drawn as points; of more, a random sample.
MOST_POINTS = 800
#: The seed of that sample.
SAMPLE_SEED = 0
#: Rows of the table that are farthest from the model.
FARTHEST_ROWS = 100
#: Rows of each subgroup that the table has in any case, the farthest.
FARTHEST_OF_SUBGROUP = 5
#: Most subgroups whose rows can be highlighted; the first.
MOST_SUBGROUPS = 16
#: Most groups whose rows can be highlighted; the most certain.
MOST_GROUPS = 8
#: Most columns of x in the table of rows.
MOST_COLUMNS = 6


class Selection(NamedTuple):
    """Rows that a reader can highlight: a subgroup, a group, or the worst of an effect."""

    key: str  #: "subgroup-1", "group-1" or "effect-1", counted from 1.
    words: str
    rows: IntArray  #: The numbers of its rows in the data, (m,).


def selections_of(check: Check) -> tuple[Selection, ...]:
    """Return the rows that a reader can highlight, effects first."""
    selections = []
    for i, effect in enumerate(check.effects, 1):
        cell = worst_cell(effect)
        if cell.conditions:
            selections.append(Selection(f"effect-{i}", cell.words, cell.rows))
    for i, part in enumerate(check.slices[:MOST_SUBGROUPS], 1):
        selections.append(Selection(f"subgroup-{i}", part.words, part.rows))
    for i, part in enumerate(check.groups[:MOST_GROUPS], 1):
        selections.append(Selection(f"group-{i}", part.words, part.rows))
    return tuple(selections)


@dataclass(frozen=True, eq=False)
class ShownRows(Record):
    """Which single rows a report shows, by their numbers in the data.

    What it shows of them are values of ``report.frame()``.
    """

    points: IntArray  #: Those that are drawn: all rows, or a random sample, in order.
    listed: IntArray  #: Those in the table, the farthest from the model first.
    farthest: int  #: How many of `listed` are farthest of all rows; the rest of subgroups.
    distance: str  #: What "far from the model" is measured by.


def shown_rows(check: Check) -> ShownRows:
    """Choose the rows of pictures and of the table."""
    checked = check.checked
    distances = row_distances(checked)
    listed = np.zeros(0, dtype=int)
    if distances is not None:
        listed = _listed(check, distances)
    return ShownRows(
        points=checked.rows[drawn_positions(checked.n)],
        listed=checked.rows[listed],
        farthest=min(FARTHEST_ROWS, len(listed)),
        distance="" if distances is None else distances.name,
    )


def drawn_positions(n: int, most: int = MOST_POINTS) -> IntArray:
    """Return the positions of rows that are drawn: all of few, of many a random sample.

    A smaller sample is part of a larger one, so that a report shows at most `MOST_POINTS`.
    """
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(SAMPLE_SEED).permutation(n)
    return np.sort(order[:most])


def _listed(check: Check, distances: RowDistances) -> IntArray:
    """Return positions of the farthest rows, and of the farthest of each subgroup."""
    order = np.argsort(-distances.values, kind="stable")
    chosen = [order[:FARTHEST_ROWS]]
    for one in selections_of(check):
        inside = np.isin(check.checked.rows[order], one.rows)
        chosen.append(order[inside][:FARTHEST_OF_SUBGROUP])
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    return np.asarray(order[np.unique(rank[np.concatenate(chosen)])])


class ColumnOfRows(NamedTuple):
    """A column of the table of rows: its texts, and by what they are sorted."""

    name: str
    texts: list[str]
    #: Numbers to sort by; None for words.
    values: list[float] | None
    #: Whether it belongs to y or the prediction, so that tooltips of points have it.
    is_residual: bool


def row_columns(check: Check, rows: IntArray) -> list[ColumnOfRows]:
    """Return the columns of a table of some rows, by their numbers in the data.

    First y, what is predicted and how the two compare, then the columns of x that effects
    and subgroups name, or that explain most. Categories of few rows are not named, and
    numbers have four digits: a report must not list people.
    """
    checked = check.checked
    positions = np.searchsorted(checked.rows, rows)
    parts = name_columns(checked)
    columns = []
    for named in (parts.y, parts.predicted, parts.comparison):
        for name, part in named.items():
            values = np.asarray(part.values)[positions]
            columns.append(_frame_column(name, part, values))
    for axis in _named_axes(check):
        columns.append(_axis_column(axis, positions))
    return columns


def row_labels(checked: CheckedRows, rows: IntArray, *, with_labels: bool) -> list[str]:
    """Return what rows are called: by the labels of the user's index, or by number."""
    if not with_labels:
        return [f"{row:,}" for row in rows]
    return row_names(checked, np.searchsorted(checked.rows, rows))


def _frame_column(name: str, part: FrameColumn, values: AnyArray) -> ColumnOfRows:
    levels = part.column.levels
    if levels is not None:
        texts = [str(levels[int(code)]) for code in values]
        return ColumnOfRows(name, texts, None, is_residual=True)
    if values.dtype.kind == "b":
        return ColumnOfRows(name, [str(bool(one)) for one in values], None, True)
    numbers = [float(value) for value in values]
    if part.column.dates:
        return ColumnOfRows(name, [part.column.text(one) for one in numbers], numbers, True)
    return ColumnOfRows(name, [number(one, 4) for one in numbers], numbers, True)


def _axis_column(axis: Axis, positions: IntArray) -> ColumnOfRows:
    values = axis.values[positions]
    if axis.levels is None:
        texts = [
            number(float(f"{value:.4g}")) if axis.kind == "numbers" else axis.text(value)
            for value in values
        ]
        return ColumnOfRows(axis.title, texts, values.tolist(), is_residual=False)
    distinct, sizes = np.unique(axis.values, return_counts=True)
    rows_of = dict(zip(distinct.tolist(), sizes.tolist(), strict=True))
    texts = [
        value_text(axis, value) if rows_of[value] >= FEWEST_ROWS else "(rare)"
        for value in values.tolist()
    ]
    return ColumnOfRows(axis.title, texts, None, is_residual=False)


def _named_axes(check: Check) -> list[Axis]:
    """Return columns of x: those that effects and subgroups name come first."""
    named = [column for effect in check.effects for column in effect.columns]
    for part in (*check.slices, *check.groups[:MOST_GROUPS]):
        named += [condition.column for condition in part.conditions]
    named += [panel.column for panel in check.pictures.columns]
    axes = {axis.name: axis for axis in check.checked.axes if not axis.predicted}
    found = [axes[name] for name in dict.fromkeys(named) if name in axes]
    return [axis for axis in found if not _is_long(axis)][:MOST_COLUMNS]


#: Numbers from here on may be accounts or ids.
LONG_NUMBER = 1e5


def _is_long(axis: Axis) -> bool:
    return axis.levels is None and float(np.abs(axis.values).max(initial=0)) >= LONG_NUMBER


# Where the rows of subgroups lie.


@dataclass(frozen=True, eq=False)
class Highlight(Record):
    """Where the rows of a subgroup lie in the pictures of all rows."""

    key: str  #: "subgroup-1", "group-1", or "effect-1", of which it is the worst cell.
    words: str
    rows: int
    #: The share of the rows of each bar, bin or cell that it has, by picture: "pit",
    #: "column age", "effect 1".
    shares: Mapping[str, FloatArray]


class Regions(NamedTuple):
    """Into which of B bars, bins or cells of a picture each row falls."""

    codes: IntArray  #: (n,); −1 for none.
    size: int  #: B.


def highlights_of(check: Check, panels: tuple[ColumnPanel, ...]) -> tuple[Highlight, ...]:
    """Return where the rows of each subgroup, group and effect lie."""
    selections = selections_of(check)
    if not selections:
        return ()
    regions = _regions(check, panels)
    return tuple(
        Highlight(
            key=one.key,
            words=one.words,
            rows=len(one.rows),
            shares=_shares(regions, np.isin(check.checked.rows, one.rows)),
        )
        for one in selections
    )


def _regions(check: Check, panels: tuple[ColumnPanel, ...]) -> dict[str, Regions]:
    """Return the bars, bins and cells of the pictures of all rows, by picture."""
    checked = check.checked
    regions = {
        name: Regions(codes, int(codes.max(initial=0)) + 1)
        for name, codes in overall_codes(checked).items()
    }
    axes = {axis.name: axis for axis in checked.axes}
    for panel in panels:
        codes = bins_of(axes[panel.column], check).codes
        regions[f"column {panel.column}"] = Regions(codes, len(panel.bins))
    for i, effect in enumerate(check.effects, 1):
        codes = np.full(checked.n, -1)
        for k, cell in enumerate(effect.cells):
            codes[np.isin(checked.rows, cell.rows)] = k
        regions[f"effect {i}"] = Regions(codes, len(effect.cells))
    return regions


def _shares(regions: Mapping[str, Regions], inside: AnyArray) -> dict[str, FloatArray]:
    """Return the share of the rows `inside`, (n,) booleans, in each region, by picture."""
    shares = {}
    for name, (codes, size) in regions.items():
        known = codes >= 0
        rows = np.bincount(codes[known], minlength=size)
        hits = np.bincount(codes[known & inside], minlength=size)
        share = hits / np.maximum(rows, 1)
        shares[name] = np.nan_to_num(without_few(share, rows))
    return shares


def highlight_numbers(highlight: Highlight) -> dict[str, Any]:
    """Return a highlight as plain numbers with two digits: shades of a picture."""
    shares = {
        name: np.round(share, 2) for name, share in highlight.shares.items() if share.any()
    }
    return {"key": highlight.key, "words": highlight.words, "shares": plain(shares)}
