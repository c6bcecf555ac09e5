"""Pictures with matplotlib of the misfit over x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condgof.errors import InputError
from condgof.locate import Check, Location
from condgof.report._escape import label, shorten
from condgof.report._figures import BLUE
from condgof.report._levels import coordinate, is_date, is_level, level_means, levels_shown
from condgof.report._numbers import date
from condgof.report._plots import PALE, axes_for, clean, title_lines
from condgof.report._reduce import Regular, grid_of, highest, middle_span, telling_pairs, varying

#: The report's shades.
SHADES = ("#fbd08c", "#f7b45e", "#ee943a", "#dc7320", "#bf5310", "#993a0a", "#6d2305")
HEIGHT = "evidence of misfit\n(power criterion)"


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
    names = " and ".join(shorten(scape.columns[c], 30) for c in chosen)
    ax.set_title(title_lines(f"Where the model misfits: {names}", 56), loc="left")
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
            f"columns must be one or two of the columns of x, got {listed!r}; there are: "
            f"{', '.join(scape.columns)}."
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
            ax.plot(
                location.reach[name], (height, height), color="0.35", lw=1.2, marker="|", ms=7, zorder=4
            )
        _mark(ax, at, height, i, location)
    ax.plot(scape.points[:, column], np.zeros(len(scape.points)), "|", color="black", alpha=0.3, ms=7,
            mew=0.6,
            transform=ax.get_xaxis_transform(), clip_on=False)  # fmt: skip
    ax.set_xlim(middle_span(x))
    ax.margins(y=0.14)
    ax.set_xlabel(label(shorten(name, 60)))
    _dated(ax.xaxis, is_date(scape, column))
    ax.set_ylabel(HEIGHT)
    clean(ax)


def _draw_map(ax: Any, check: Check, pair: tuple[int, ...], regular: Regular | None) -> None:
    scape, top = check.landscape, highest(check)
    colours: dict[str, Any] = {"cmap": _colours(regular is None), "vmin": 0.0, "vmax": top}
    (x, across, _), (y, up, _) = (
        coordinate(check, c, r)
        for c, r in zip(pair, (0.7548776662466927, 0.5698402909980532), strict=True)
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
        values = scape.values[order]
        drawn = ax.scatter(x[order], y[order], c=values, s=5 + 25 * np.clip(values / top, 0, 1),
                           ec="0.4", lw=0.15, **colours)  # fmt: skip
        ax.set_xlim(across.ends)
        ax.set_ylim(up.ends)
    for i, (location, at, height) in enumerate(
        zip(check.locations, across.marks, up.marks, strict=True), 1
    ):
        _mark(ax, at, height, i, location)
    for axis, side, column in ((ax.xaxis, across, pair[0]), (ax.yaxis, up, pair[1])):
        _dated(axis, is_date(scape, column))
        if side.names:
            axis.set_ticks(range(len(side.names)), [label(shorten(n, 16)) for n in side.names])
    if across.names and max(len(n) for n in across.names) * len(across.names) > 60:
        for text in ax.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlabel(label(shorten(scape.columns[pair[0]], 60)))
    ax.set_ylabel(label(shorten(scape.columns[pair[1]], 40)))
    ax.figure.colorbar(drawn, ax=ax, label=HEIGHT.replace("\n", " "))


def _dated(axis: Any, dates: bool) -> None:
    """Write the ticks of an axis as dates, if they are."""
    if dates:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(lambda value, _: date(value))


def _colours(dots: bool) -> Any:
    """Return the report's shades; dots begin with a grey that shows on white."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "condgof", [*(("#c0c7cc", "#dcbd8c") if dots else ("#f3f2ec", "#fbe6c0")), *SHADES]
    )


def _draw_bars(ax: Any, check: Check, column: int) -> None:
    scape = check.landscape
    shown, _ = levels_shown(check, column)
    means = level_means(check, column, shown)
    names = scape.levels[scape.columns[column]]
    ax.barh(range(len(shown)), means, color=PALE, height=0.7)
    ax.axvline(0.0, color="0.5", lw=0.8)
    for i, location in enumerate(check.locations, 1):
        row = shown.index(int(location.x[column]))
        _mark(ax, max(means[row], 0.0) + 0.04 * max(means), row, i, location)
    ax.set_yticks(range(len(shown)), [label(shorten(names[level], 20)) for level in shown])
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel(HEIGHT.replace("\n", " "))
    ax.set_ylabel(label(shorten(scape.columns[column], 40)))
    clean(ax)


def _mark(ax: Any, x: float, y: float, i: int, location: Location) -> None:
    """Draw a numbered location: solid where it is evidence, open where it is only a place to look at."""
    ink, paper = ("white", "#1b2126") if location.named else ("#1b2126", "white")
    ax.annotate(
        str(i), (x, y), ha="center", va="center", fontsize=9, fontweight="bold", color=ink, zorder=6,
        annotation_clip=False,
        bbox={"boxstyle": "circle,pad=0.28", "fc": paper, "ec": "white" if location.named else "#1b2126",
              "ls": "-" if location.named else "--", "lw": 1.1},
    )  # fmt: skip
