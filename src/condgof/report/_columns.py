"""Columns: small panels with one y axis, those that explain most first."""

from __future__ import annotations

from dataclasses import replace

from condgof.check import Check
from condgof.check.curves import MOST_PANELS
from condgof.report._chart import Chart, Key, legend
from condgof.report._figure import figure
from condgof.report._panels import panels
from condgof.report._text import paragraph, section

#: Most panels that are shown at once.
OPEN_PANELS = 6


def columns(check: Check) -> str:
    """Return the panels of columns; those in which nothing stands out are folded away."""
    charts = panels(check, MOST_PANELS)
    if not charts:
        return ""
    remarkable = [
        _stands_out(check, panel.column) for panel in check.pictures.columns[: len(charts)]
    ]
    drawn = [figure(replace(chart, legend=()), f"col{i}") for i, chart in enumerate(charts)]
    shown = [one for one, stands_out in zip(drawn, remarkable, strict=True) if stands_out]
    shown = shown[:OPEN_PANELS]
    rest = [one for one in drawn if one not in shown]
    body = legend(_entries(charts))  # of all panels
    body += f'<div class="panels">{"".join(shown)}</div>' if shown else ""
    if rest:
        words = "more column" if shown else "column"
        what = "" if any(remarkable[len(shown) :]) else ", in which no bin stands out"
        summary = f"<summary>{len(rest)} {words}{'s' * (len(rest) > 1)}{what}</summary>"
        body += f'<details>{summary}<div class="panels">{"".join(rest)}</div></details>'
    left_out = len(check.checked.axes) - len(drawn)
    if left_out > 0 and len(drawn) == MOST_PANELS:
        rest_words = f"{left_out:,} more columns explain less and are not drawn"
        body += paragraph(f'{rest_words}: report.plot("column", column=…).', "small")
    return section("Columns", "columns", body)


def _entries(charts: list[Chart]) -> tuple[Key, ...]:
    """Return the entries of the legend that occur in any panel."""
    found = [entry for chart in charts for entry in chart.entries]
    return tuple(key for key in charts[0].legend if key in found)


def _stands_out(check: Check, column: str) -> bool:
    """Whether a bin of a column differs, or an effect or a subgroup names the column."""
    panel = next(one for one in check.pictures.columns if one.column == column)
    named = {name for effect in check.effects for name in effect.columns}
    for part in check.slices:
        named.update(condition.column for condition in part.conditions)
    return column in named or panel.profile.furthest is not None
