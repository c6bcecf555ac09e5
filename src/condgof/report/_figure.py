"""A chart on a page: its title, its legend, the picture, and the numbers behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from condgof._typing import AnyArray
from condgof.report._chart import Chart, Points, svg
from condgof.report._text import html, table

#: Most rows of the table behind a chart.
MOST_ROWS = 200
#: Digits of positions that the script points at.
DIGITS = 5


def figure(chart: Chart, key: str) -> str:
    """Return a chart with its title above it and its numbers below; `key` is an id."""
    header, rows = chart.table
    caption = "Numbers of this picture"
    if len(rows) > MOST_ROWS:
        caption += f" (the first {MOST_ROWS} of {len(rows):,})"
    width = chart.size[0] // 10
    behind = table(caption, header, rows[:MOST_ROWS])
    return (
        f'<figure class="w{width}" id="{key}"{_pointing(chart)}>'
        f"<figcaption>{html(chart.title)}</figcaption>{svg(chart, key)}"
        '<details class="behind"><summary>Numbers and data</summary>'
        f"{behind}</details></figure>"
    )


def _pointing(chart: Chart) -> str:
    """Return what the script needs to tell what a reader points at."""
    attributes = ""
    if chart.name:
        attributes += f' data-name="{html(chart.name)}"'
    if chart.spots is not None:
        # A spot shows its row of the table, so that there are no more of them.
        sides = (_rounded(side[:MOST_ROWS]) for side in chart.spots)
        attributes += f' data-spots="{html(json.dumps(list(zip(*sides, strict=True))))}"'
    points = list(_row_points(chart))
    if points:
        text = json.dumps(points, separators=(",", ":"))
        attributes += f' data-points="{html(text)}"'
    return attributes


def _row_points(chart: Chart) -> Iterator[tuple[float, float, int]]:
    """Yield where single rows are drawn, and their numbers in the data."""
    for mark in chart.marks:
        if isinstance(mark, Points) and mark.rows is not None:
            places = zip(_rounded(mark.x), _rounded(mark.y), mark.rows, strict=True)
            for x, y, row in places:
                if x is not None and y is not None:
                    yield x, y, int(row)


def _rounded(values: AnyArray) -> list[float | None]:
    """Return values with few digits; None for those that are infinite."""
    return [
        float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
        for value in np.asarray(values, dtype=float)
    ]
