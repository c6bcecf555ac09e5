"""Figures of the experiments: rejection rates of a study, and the power criterion of the paper.

Nothing that draws a check or a result imports this file, or the experiments.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.report._escape import label
from condgof.report._pen_pyplot import BLUE, GREY, ORANGE, axes_for, new_figure
from condgof.study import TITLES, Illustration, Row, Study

COLUMNS = 4
GREEN, PINK, AMBER, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
_TABLE = "study must be a Study, its to_dict() (what table.json holds), or rows of its table()"


@dataclass(frozen=True)
class Style:
    """How a test is drawn: nobody should need the colour to tell two of them apart."""

    color: str
    marker: str
    dashed: bool = False


#: Tests of a kind share a colour; the lesser of two is dashed with open markers.
STYLES = {
    "adaptive": Style("#000000", "o"),
    "kcsd": Style(BLUE, "s"),
    "fscd-opt": Style(ORANGE, "^"),
    "fscd-opt-1": Style(ORANGE, "v", dashed=True),
    "fscd-rand": Style(GREEN, "D"),
    "fscd-rand-1": Style(GREEN, "d", dashed=True),
    "mmd": Style(PINK, "X"),
    "zheng": Style(AMBER, "P"),
    "zheng-wild": Style(AMBER, "p", dashed=True),
}
OTHERS = [
    Style(color, marker, dashed)
    for dashed, markers in ((False, "*h<>8"), (True, "sod^v"))
    for color, marker in zip((SKY, GREY, PINK, GREEN, BLUE), markers, strict=True)
]


def draw_power(study: Study) -> Any:
    """Draw the rejection rates of a study with their exact 95% intervals.

    Parameters
    ----------
    study : Study
        From `run_study`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import condgof as cg
    >>> study = cg.study.run_study("lgm", "kcsd", [20, 40], trials=3, engine=1)
    >>> len(draw_power(study).axes)
    1
    """
    count = len(study.topics)
    columns = min(COLUMNS, count)
    lines = -(-count // columns)
    width = max(5.0, 3.1 * columns)
    figure, axes = new_figure(
        lines, columns, width=width, height=3.0 * lines + 0.9, sharex=False, sharey=False
    )
    styles = styles_of(study.methods)
    for topic, ax in zip(study.topics, axes.flat, strict=False):
        rows = [row for row in study.table() if row.problem == topic.name]
        draw_rates(ax, rows, study.alpha, styles, topic.h0)
        title = textwrap.fill(label(topic.title), 34) + (" ($H_0$)" if topic.h0 else " ($H_1$)")
        ax.set_title(title, fontsize=10)
        if topic.h0:
            ax.locator_params(axis="y", nbins=5)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    for first in axes[:, 0]:
        first.set_ylabel("rejection rate")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    across = -(-len(labels) // -(-len(labels) // max(1, int(width / 1.75))))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=across, frameon=False, fontsize=9,
        handlelength=2.6,
    )  # fmt: skip
    return figure


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Give each method a style of its own."""
    names = list(methods)
    spare = iter(OTHERS * len(names))
    return {m: STYLES[m] if m in STYLES else next(spare) for m in names}


def draw_rates(
    ax: Any, rows: Sequence[Row], alpha: float, styles: Mapping[str, Style], h0: bool
) -> None:
    """Draw the rows of one problem: a line a method, with the intervals."""
    sizes = sorted({row.n for row in rows})
    span = (sizes[-1] - sizes[0]) or 1.0
    for i, (method, style) in enumerate(styles.items()):
        mine = [r for r in rows if r.method == method and r.rate is not None]
        # Set a little apart, so that intervals at one size stand beside each other.
        shift = (0.011 if len(sizes) > 1 else 0.04) * span * (i - (len(styles) - 1) / 2)
        at = [r.n + shift for r in mine]
        rates = [float(r.rate or 0.0) for r in mine]
        below = [max(0.0, rate - r.low) for rate, r in zip(rates, mine, strict=True)]
        above = [max(0.0, r.high - rate) for rate, r in zip(rates, mine, strict=True)]
        ax.errorbar(
            at, rates, [below, above], fmt="none", ecolor=style.color, elinewidth=0.9, alpha=0.55
        )
        ax.plot(
            at, rates, color=style.color, marker=style.marker, ms=5.5, lw=1.4,
            ls="--" if style.dashed else "-", mfc="white" if style.dashed else style.color,
            label=label(TITLES.get(method, method)),
        )  # fmt: skip
    ax.axhline(alpha, color=GREY, lw=1.0, ls=":", label=f"α = {alpha:g}", zorder=0)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.margins(x=0.08)
    if len(sizes) == 1:
        ax.set_xlim(sizes[0] - 0.5, sizes[0] + 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    highest = max(row.high for row in rows)  # rates near alpha need a scale of their own
    ax.set_ylim((0.0, min(1.0, max(4 * alpha, 1.25 * highest))) if h0 else (-0.02, 1.02))
    ax.set_xlabel("sample size n")


def plot_power(study: Any, ax: Any = None, *, problem: str | None = None, alpha: float = 0.05) -> Any:
    """Draw the rejection rates of a study against the sample size (needs ``condgof[plot]``).

    One line a test, with exact 95% intervals and the level α; tests differ by colour, marker and dashes.

    Parameters
    ----------
    study : Study, mapping or sequence of rows
        From `condgof.study.run_study`; its ``to_dict()`` (what ``table.json`` holds); or rows of its
        ``table()``.
    ax : matplotlib.axes.Axes or sequence of them, optional
        Where to draw, one for each problem; new ones unless given.
    problem : str, optional
        Draw this problem only.
    alpha : float
        The level, where `study` is rows; a study knows its own.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        One Axes for one problem, else an array with one a problem.

    Examples
    --------
    >>> import condgof as cg
    >>> study = cg.study.run_study("lgm", "kcsd", [20, 40], trials=3, engine=1)
    >>> cg.plot_power(study).get_ylabel()
    'rejection rate'
    """
    rows, titles, level = _read(study, alpha)
    names = list(dict.fromkeys(row.problem for row in rows))
    if problem is not None:
        if problem not in names:
            raise InputError(f"The study has no problem {problem!r}; there are: {', '.join(names)}.")
        names = [problem]
    places = _places(ax, len(names))
    styles = styles_of(dict.fromkeys(row.method for row in rows))
    for name, place in zip(names, places, strict=True):
        title, h0 = titles.get(name, (name, False))
        draw_rates(place, [row for row in rows if row.problem == name], level, styles, h0)
        place.set_title(textwrap.fill(label(title), 44), loc="left", fontsize="medium")
        place.set_ylabel("rejection rate")
    places[0].legend(frameon=False, fontsize="small", handlelength=2.6)
    for extra in places[1:]:
        extra.set_ylabel("")
    return places[0] if len(names) == 1 else np.array(places, dtype=object)


def _read(study: Any, alpha: float) -> tuple[list[Row], dict[str, tuple[str, bool]], float]:
    """Return rows, titles (with whether the model is true) and level of whatever holds them."""
    if isinstance(study, Study):
        titles = {topic.name: (topic.heading, topic.h0) for topic in study.topics}
        return _some(study.table()), titles, study.alpha
    if isinstance(study, Mapping):
        try:
            rows = [Row(**row) for row in study["table"]]
            known = {
                name: (f"{p['title']} ({'H0' if p['h0'] else 'H1'})", bool(p["h0"]))
                for name, p in study["problems"].items()
            }
            return _some(rows), known, float(study["alpha"])
        except (KeyError, TypeError) as error:
            raise InputTypeError(f"{_TABLE}; this mapping does not read as one: {error!r}.") from error
    if isinstance(study, Sequence) and all(isinstance(row, Row) for row in study):
        return _some(study), {}, alpha
    raise InputTypeError(f"{_TABLE}, got {type(study).__name__}.")


def _some(rows: Sequence[Row]) -> list[Row]:
    if not rows:
        raise InputError("There are no rows to draw: the table is empty.")
    return list(rows)


def _places(ax: Any, count: int) -> list[Any]:
    """Return one Axes a problem."""
    if ax is not None:
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) < count:
            raise InputError(
                f"There are {count} problems and {len(given)} Axes. Give one for each, or name one "
                "with problem=."
            )
        return given[:count]
    if count == 1:
        return [axes_for(None)]
    columns = min(3, count)
    lines = -(-count // columns)
    first = axes_for(None, (4.0 * columns, 3.4 * lines))
    figure = first.figure
    first.remove()
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for spare in grid[count:]:
        spare.set_axis_off()
    return grid[:count]


def draw_criterion(illustrations: Sequence[Illustration]) -> Any:
    """Draw one column an illustration: a sample with p and r (mean and 95% band), and the criterion.

    Parameters
    ----------
    illustrations : sequence of Illustration
        From `illustrate`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import condgof as cg
    >>> len(draw_criterion([cg.study.illustrate("slope-1d", n=100)]).axes)
    2
    """
    columns = len(illustrations)
    figure, axes = new_figure(
        2, columns, width=max(5.0, 3.1 * columns), height=5.4, sharey=False, height_ratios=[3, 2]
    )
    for one, (upper, lower) in zip(illustrations, axes.T, strict=True):
        shown = slice(None, None, max(1, len(one.x) // 400))
        upper.plot(
            one.x[shown], one.y[shown], ".", color=GREY, ms=3, alpha=0.55, mew=0, label="data from r"
        )
        _draw_band(upper, one.grid, *one.p, color=BLUE, style="-", label="model p")
        _draw_band(upper, one.grid, *one.r, color=ORANGE, style="--", label="truth r")
        upper.set_title(one.title, fontsize=10)
        lower.axhline(0.0, color="0.8", lw=0.8)
        lower.plot(one.grid, one.criterion, color=GREEN, lw=1.8, label="power criterion")
        lower.axvline(one.top, color=GREEN, lw=0.8, ls=":")
        lower.set_ylim(bottom=min(0.0, 1.1 * float(one.criterion.min())))
        lower.set_xlabel("x (data), v (location)")
        for ax in (upper, lower):
            ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("y")
    axes[1, 0].set_ylabel("power criterion at v")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    more, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(
        [*handles, *more], [*labels, *names], loc="outside lower center", ncols=4 if columns > 1 else 2,
        frameon=False, fontsize=9, markerscale=2.5,
    )  # fmt: skip
    return figure


def _draw_band(
    ax: Any, grid: FloatArray, mean: FloatArray, std: FloatArray, *, color: str, style: str, label: str
) -> None:
    """Draw a mean, and the 95% band by its edges and a light fill."""
    low, high = mean - 1.96 * std, mean + 1.96 * std
    ax.fill_between(grid, low, high, color=color, alpha=0.10, lw=0)
    for edge in (low, high):
        ax.plot(grid, edge, color=color, lw=0.7, ls=style, alpha=0.8)
    ax.plot(grid, mean, color=color, lw=1.8, ls=style, label=f"{label} (mean, 95% band)")
