"""Pictures with matplotlib of results and checks: each draws on one Axes, and returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condgof.errors import InputError, require
from condgof.locate import Check, Location
from condgof.report._chart_how import model_words, normal_density, reference
from condgof.report._chart_null import draws_span
from condgof.report._escape import label, shorten
from condgof.report._figures import BLUE, GREY, ORANGE
from condgof.report._levels import coordinate, is_level, levels_shown
from condgof.report._numbers import number, pvalue
from condgof.report._reduce import (
    Regular,
    are_normal,
    grid_of,
    highest,
    histogram,
    middle_span,
    panel_span,
    telling_pairs,
    varying,
)
from condgof.result import GofResult

#: Bars: a light blue that lines stand out against.
PALE = "#A8BCCF"
HEIGHT = "evidence of misfit\n(power criterion)"


def axes_for(ax: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return the Axes that was given, or one on a new figure of pyplot, which notebooks show by themselves."""
    if ax is not None:
        return ax
    require("matplotlib", "plot", "Drawing a figure")
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size, layout="constrained").add_subplot()


def plot_result(result: GofResult, ax: Any = None) -> Any:
    """Draw the null distribution and the statistic of a test; see `GofResult.plot`."""
    draws = result.null_distribution
    if draws is None or not len(draws):
        if result.null is None or "normal" not in result.null:
            raise InputError(
                f"This {result.method} result has no null distribution to draw. Run the test with null='wild'."
            )
        draws = None
    ax = axes_for(ax)
    at = result.statistic
    if draws is not None:
        (low, high), far = draws_span(draws, result.statistic)
        ax.hist(draws, np.linspace(low, high, 41), color=PALE, ec="white", lw=0.4, label=f"{len(draws):,} draws if the model is right")
        ax.set_xlim(low, high)
        ax.set_ylabel("draws")
        at = high - 0.02 * (high - low) if far else at
        arrow = " →" if far else ""
    else:
        z = np.linspace(min(-3.5, at - 0.5), max(3.5, at + 0.5), 301)
        ax.fill_between(z, normal_density(z), color=PALE, lw=0, label="if the model is right (normal limit)")
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel("density")
        arrow = ""
    ax.axvline(at, color=ORANGE, lw=2.0, label=f"this model: {number(result.statistic)}{arrow}")
    ax.set_xlabel("test statistic (larger: worse fit)")
    ax.set_title(f"{result.method}, n = {result.n:,}: p = {pvalue(result.pvalue)}", loc="left")
    _clean(ax)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_where(check: Check, ax: Any = None, columns: Sequence[str] | None = None) -> Any:
    """Draw the misfit over x with its locations; see `Check.plot_where`."""
    scape = check.landscape
    chosen = _columns(check, columns)
    regular = grid_of(scape)
    ax = axes_for(ax, (6.4, 4.4))
    if len(chosen) == 1 and is_level(scape, chosen[0]):
        _draw_bars(ax, check, chosen[0])
    elif len(chosen) == 1:
        _draw_curve(ax, check, chosen[0], regular if regular and regular.columns == chosen else None)
    else:
        _draw_map(ax, check, chosen, regular if regular and regular.columns == chosen else None)
    names = " and ".join(label(shorten(scape.columns[c], 30)) for c in chosen)
    ax.set_title(f"Where the model misfits: {names}", loc="left")
    return ax


def _columns(check: Check, names: Sequence[str] | None) -> tuple[int, ...]:
    scape = check.landscape
    if names is None:
        regular = grid_of(scape)
        if regular is not None:
            return regular.columns
        moving = varying(scape.points)
        return (moving[0],) if len(moving) == 1 else telling_pairs(scape, 1)[0]
    listed = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in listed if name not in scape.columns]
    if unknown or len(listed) not in (1, 2):
        raise InputError(
            f"columns must be one or two of the columns of x, got {listed!r}; there are: {', '.join(scape.columns)}."
        )
    return tuple(scape.columns.index(name) for name in listed)


def _draw_curve(ax: Any, check: Check, column: int, regular: Regular | None) -> None:
    scape = check.landscape
    x, values = scape.points[:, column], scape.values
    ax.axhline(0.0, color="0.75", lw=0.8)
    if regular is not None:
        x, values = regular.points[:, 0], regular.values
        ax.fill_between(x, np.maximum(values, 0.0), color=PALE, alpha=0.5, lw=0)
        ax.plot(x, values, color=BLUE, lw=1.8)
    else:
        ax.plot(x, values, ".", color=BLUE, ms=4, alpha=0.5, mew=0)
    order = np.argsort(x)
    known = order[np.isfinite(values[order])]
    name = scape.columns[column]
    for i, location in enumerate(check.locations, 1):
        at = float(location.x[column])
        height = float(np.interp(at, x[known], values[known]))
        if name in location.reach:
            ax.plot(location.reach[name], (height, height), color="0.35", lw=1.2, marker="|", ms=7, zorder=4)
        _mark(ax, at, height, i, location)
    ax.plot(scape.points[:, column], np.zeros(len(scape.points)), "|", color="black", alpha=0.3, ms=7, mew=0.6,
            transform=ax.get_xaxis_transform(), clip_on=False)  # fmt: skip
    ax.set_xlim(middle_span(x))
    ax.margins(y=0.14)
    ax.set_xlabel(label(shorten(name, 60)))
    ax.set_ylabel(HEIGHT)
    _clean(ax)


def _draw_map(ax: Any, check: Check, pair: tuple[int, ...], regular: Regular | None) -> None:
    scape, top = check.landscape, highest(check)
    colours: dict[str, Any] = {"cmap": "YlOrBr", "vmin": 0.0, "vmax": top}
    (x, across, _), (y, up, _) = (
        coordinate(check, c, r) for c, r in zip(pair, (0.7548776662466927, 0.5698402909980532), strict=True)
    )
    if regular is not None:
        a, b = (np.unique(side) for side in regular.points.T)
        cells = regular.values.reshape(len(a), len(b)).T
        drawn = ax.pcolormesh(a, b, cells, shading="nearest", rasterized=True, **colours)
        ax.plot(x, y, ".", color="black", ms=2, alpha=0.4, mew=0)
        ax.set_xlim(a[0], a[-1])
        ax.set_ylim(b[0], b[-1])
    else:
        order = np.argsort(scape.values, kind="stable")  # the strongest on top
        drawn = ax.scatter(x[order], y[order], c=scape.values[order], s=5 + 25 * np.clip(scape.values[order] / top, 0, 1),
                           ec="0.4", lw=0.15, **colours)  # fmt: skip
        ax.set_xlim(across.ends)
        ax.set_ylim(up.ends)
    for i, (location, at, height) in enumerate(zip(check.locations, across.marks, up.marks, strict=True), 1):
        _mark(ax, at, height, i, location)
    for axis, side in ((ax.xaxis, across), (ax.yaxis, up)):
        if side.names:
            axis.set_ticks(range(len(side.names)), [label(shorten(n, 16)) for n in side.names])
    if across.names and max(len(n) for n in across.names) * len(across.names) > 60:
        ax.tick_params(axis="x", labelrotation=40)
    ax.set_xlabel(label(shorten(scape.columns[pair[0]], 60)))
    ax.set_ylabel(label(shorten(scape.columns[pair[1]], 40)))
    ax.figure.colorbar(drawn, ax=ax, label=HEIGHT.replace("\n", " "))


def _draw_bars(ax: Any, check: Check, column: int) -> None:
    scape = check.landscape
    shown, _ = levels_shown(check, column)
    codes = scape.points[:, column].astype(int)
    means = [float(scape.values[codes == level].mean()) if (codes == level).any() else 0.0 for level in shown]
    names = scape.levels[scape.columns[column]]
    ax.barh(range(len(shown)), means, color=PALE, height=0.7)
    ax.axvline(0.0, color="0.5", lw=0.8)
    for i, location in enumerate(check.locations, 1):
        row = shown.index(int(location.x[column]))
        _mark(ax, max(means[row], 0.0) + 0.04 * max(means), row, i, location)
    ax.set_yticks(range(len(shown)), [label(shorten(names[level], 20)) for level in shown])
    ax.invert_yaxis()
    ax.set_xlabel(HEIGHT.replace("\n", " "))
    ax.set_ylabel(label(shorten(scape.columns[column], 40)))
    _clean(ax)


def _mark(ax: Any, x: float, y: float, i: int, location: Location) -> None:
    """Draw a numbered location: solid where it is evidence, open where it is only a place to look at."""
    ink, paper = ("white", "#1b2126") if location.named else ("#1b2126", "white")
    ax.annotate(
        str(i), (x, y), ha="center", va="center", fontsize=9, fontweight="bold", color=ink, zorder=6,
        annotation_clip=False,
        bbox={"boxstyle": "circle,pad=0.28", "fc": paper, "ec": "white" if location.named else "#1b2126",
              "ls": "-" if location.named else "--", "lw": 1.1},
    )  # fmt: skip


def plot_how(check: Check, location: Any, ax: Any = None, column: str | None = None) -> Any:
    """Draw y near a location against the model; see `Check.plot_how`."""
    place, i = _location(check, location)
    panel = place.panel
    c = _panel_column(place, column)
    ax = axes_for(ax)
    ends = panel_span(panel, c)
    edges, heights = histogram(panel.values[:, c], panel.weights, ends)
    ax.stairs(heights, edges, fill=True, color=PALE, label="data near, the nearer the heavier")
    normal = are_normal(check.landscape)
    line = reference(panel, c, ends, normal)
    words = label(model_words(panel, normal))
    if line is not None:
        ax.plot(*line, color=ORANGE, lw=2.0, ls="--", label=words)
    elif panel.samples is not None:
        _, drawn = histogram(panel.samples[:, c], None, ends, bins=len(heights))
        ax.stairs(drawn, edges, color=ORANGE, lw=2.0, ls="--", label=words)
    else:
        ax.axvline(0.0, color=ORANGE, lw=2.0, ls="--", label=words)
    near = panel.values[:, c][panel.weights >= 0.5 * panel.weights.max(initial=0.0)]
    ax.plot(near, np.zeros(len(near)), "|", color="black", alpha=0.35, ms=8, mew=0.7)
    ax.set_xlim(ends)
    ax.set_ylim(0.0, 1.22 * ax.get_ylim()[1])
    ax.set_xlabel(label(shorten(panel.columns[c], 60)))
    ax.set_ylabel("density")
    ax.set_title(label(f"{i}. {shorten(place.where, 62)}"), loc="left", fontsize="medium")
    found = next((f.words for f in place.findings if f.named and panel_has(f.columns, panel.columns[c])), "")
    if found:
        ax.text(0.0, 1.0, label(_wrapped(found)), transform=ax.transAxes, va="top", fontsize="small", color=GREY)
    _clean(ax)
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    return ax


def panel_has(columns: tuple[str, ...], name: str) -> bool:
    """Whether a finding is about the column that a panel shows (also as a residual of it)."""
    return len(columns) == 1 and name.endswith(columns[0])


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 34)


def _location(check: Check, location: Any) -> tuple[Location, int]:
    if isinstance(location, Location):
        number_of = next((i for i, one in enumerate(check.locations, 1) if one is location), 0)
        return location, number_of
    count = len(check.locations)
    if isinstance(location, (int, np.integer)) and -count <= location < count:
        return check.locations[location], int(location) % count + 1
    raise InputError(
        f"location must be one of check.locations, or its index (there are {count}), got {location!r}."
    )


def _panel_column(place: Location, column: str | None) -> int:
    names = place.panel.columns
    if column is not None:
        for i, name in enumerate(names):
            if name == column or name.endswith(f" of {column}"):
                return i
        raise InputError(f"There is no column {column!r} of y; there are: {', '.join(names)}.")
    for finding in place.findings:
        for i, name in enumerate(names):
            if panel_has(finding.columns, name):
                return i
    return 0


def _clean(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
