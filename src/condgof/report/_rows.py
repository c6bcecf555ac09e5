"""Single rows on a page: the table of the worst ones, and what the script shows of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof.check import Check
from condgof.check.curves import (
    ColumnOfRows,
    highlight_numbers,
    row_columns,
    row_labels,
    selections_of,
)
from condgof.report._text import html, minus, section


class PageRows:
    """The single rows that a page shows, and which subgroups they are in."""

    def __init__(self, check: Check, *, with_labels: bool) -> None:
        self.check = check
        self.shown = check.pictures.rows
        self.rows = np.union1d(self.shown.points, self.shown.listed).astype(int)
        self.labels = row_labels(check.checked, self.rows, with_labels=with_labels)
        self.columns = row_columns(check, self.rows)
        self.selections = selections_of(check)
        self._members = [np.isin(self.rows, one.rows) for one in self.selections]

    def sets(self, position: int) -> list[int]:
        """Return the numbers of the subgroups that a row is in, by its position."""
        return [k for k, inside in enumerate(self._members) if inside[position]]

    @property
    def residual_columns(self) -> list[ColumnOfRows]:
        """The columns of y and the prediction, which tooltips show."""
        return [column for column in self.columns if column.is_residual]


def rows_section(page_rows: PageRows) -> str:
    """Return the table of outliers and worst rows."""
    shown = page_rows.shown
    if not len(shown.listed):
        return ""
    extra = len(shown.listed) - shown.farthest
    caption = f"The {shown.farthest:,} rows farthest from the model, by {shown.distance}"
    if extra:
        caption += ", and the farthest of each subgroup"
    caption += ". All rows: report.frame()."
    heads = "".join(
        f'<th scope="col"{_head_class(column)}>{html(column.name)}</th>'
        for column in page_rows.columns
    )
    positions = np.searchsorted(page_rows.rows, shown.listed)
    body = "".join(_row(page_rows, int(position)) for position in positions)
    table = (
        '<div class="wide tall" tabindex="0" role="region" aria-label="Table of rows">'
        f'<table class="rows sortable"><caption>{html(caption)}</caption><thead><tr><th'
        f' scope="col">row</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    return section("Rows", "rows", table)


def _head_class(column: ColumnOfRows) -> str:
    return ' class="n"' if column.values is not None else ""


def _row(page_rows: PageRows, position: int) -> str:
    cells = ""
    for column in page_rows.columns:
        text = html(minus(column.texts[position]))
        if column.values is None:
            cells += f"<td>{text}</td>"
        else:
            value = float(f"{column.values[position]:.4g}")
            cells += f'<td class="n" data-v="{value!r}">{text}</td>'
    sets = " ".join(map(str, page_rows.sets(position)))
    row = page_rows.rows[position]
    label = html(page_rows.labels[position])
    return f'<tr id="row-{row}" data-sets="{sets}"><th scope="row">{label}</th>{cells}</tr>'


def marks(page_rows: PageRows | None, check: Check) -> dict[str, Any]:
    """Return what the script of the page shows of rows and subgroups."""
    highlights = [highlight_numbers(one) for one in check.pictures.highlights]
    if page_rows is None:
        return {"columns": [], "rows": {}, "selections": highlights}
    columns = page_rows.residual_columns
    rows = {}
    for position, row in enumerate(page_rows.rows):
        shown: dict[str, Any] = {
            "texts": [minus(column.texts[position]) for column in columns]
        }
        # What can be told without is left out: there are hundreds of rows.
        if page_rows.labels[position] != str(row):
            shown["label"] = page_rows.labels[position]
        if sets := page_rows.sets(position):
            shown["sets"] = sets
        rows[str(row)] = shown
    names = [column.name for column in columns]
    return {"columns": names, "rows": rows, "selections": highlights}
