"""Pictures with matplotlib of results and checks: each draws on one Axes, and returns it."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from condgof.errors import InputError, require
from condgof.locate import Check, Location
from condgof.report._chart_classes import shares
from condgof.report._chart_how import model_words, normal_density, reference
from condgof.report._chart_null import draws_span
from condgof.report._escape import label, shorten, visible
from condgof.report._figures import ORANGE
from condgof.report._numbers import number
from condgof.report._reduce import (
    are_normal,
    histogram,
    panel_span,
)
from condgof.result import GofResult

#: Bars: a light blue that lines stand out against.
PALE = "#A8BCCF"


def axes_for(ax: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return the Axes that was given, or one on a new figure of pyplot, which notebooks show."""
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
                f"This {result.method} result has no null distribution to draw. Run the test with "
                "null='wild'."
            )
        draws = None
    ax = axes_for(ax)
    at = result.statistic
    if draws is not None:
        (low, high), far = draws_span(draws, result.statistic)
        ax.hist(
            draws,
            np.linspace(low, high, 41),
            color=PALE,
            ec="white",
            lw=0.4,
            label=f"{len(draws):,} draws if the model is right",
        )
        ax.set_xlim(low, high)
        ax.set_ylabel("draws")
        at = high - 0.02 * (high - low) if far else at
        arrow = " →" if far else ""
    else:
        z = np.linspace(min(-3.5, at - 0.5), max(3.5, at + 0.5), 301)
        ax.fill_between(
            z, normal_density(z), color=PALE, lw=0, label="if the model is right (normal limit)"
        )
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel("density")
        arrow = ""
    ax.axvline(at, color=ORANGE, lw=2.0, label=f"this model: {number(result.statistic)}{arrow}")
    ax.set_xlabel("test statistic (larger: worse fit)")
    ax.set_title(f"{result.method}, n = {result.n:,}: {result.pvalue_words}", loc="left")
    clean(ax)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_how(check: Check, location: Any, ax: Any = None, column: str | None = None) -> Any:
    """Draw y near a location against the model; see `Check.plot_how`."""
    place, i = _location(check, location)
    panel = place.panel
    c = _panel_column(place, column)
    if panel.kind == "classes":
        return _plot_classes(place, i, axes_for(ax))
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
    found = next(
        (f.words for f in place.findings if f.named and panel_has(f.columns, panel.columns[c])), ""
    )
    title = [title_lines(f"{i}. {place.where}" if i else place.where, 66)]
    ax.set_title(
        "\n".join([*title, *([title_lines(found, 66)] if found else [])]), loc="left", fontsize="medium"
    )
    clean(ax)
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    return ax


def _plot_classes(place: Location, i: int, ax: Any) -> Any:
    """Draw a discrete y near a location: bars of what was observed, marks of what the model says."""
    panel = place.panel
    observed, predicted = shares(panel)
    at = np.arange(len(panel.labels))
    ax.bar(at, observed, 0.72, color=PALE, label="data near, the nearer the heavier")
    ax.hlines(predicted, at - 0.46, at + 0.46, color=ORANGE, lw=2.0, ls="--", label="the model there")
    long = max(map(len, panel.labels)) * len(at) > 56
    names = [label(shorten(name, 16)) for name in panel.labels]
    ax.set_xticks(at, names, rotation=45 if long else 0, ha="right" if long else "center")
    ax.set_ylim(0.0, 1.22 * max(float(observed.max()), float(predicted.max()), 1e-9))
    ax.set_xlabel(label(shorten(panel.columns[0], 60)))
    ax.set_ylabel("share of the rows")
    found = next((f.words for f in place.findings if f.named), "")
    lines = [title_lines(f"{i}. {place.where}" if i else place.where, 66)]
    lines += [title_lines(found, 66)] if found else []
    ax.set_title("\n".join(lines), loc="left", fontsize="medium")
    clean(ax)
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    return ax


def panel_has(columns: tuple[str, ...], name: str) -> bool:
    """Whether a finding is about the column that a panel shows (also as a residual of it)."""
    return len(columns) == 1 and name.endswith(columns[0])


def title_lines(text: str, width: int) -> str:
    """Break text into at most three lines, each made safe."""
    lines = textwrap.wrap(visible(text), width)
    return "\n".join(
        label(line)
        for line in [*lines[:2], *([shorten(" ".join(lines[2:]), width)] if lines[2:] else [])]
    )


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


def clean(ax: Any) -> None:
    """Take away the frame that says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
