"""Figures of the experiments, which nothing else imports: rates of a study, and the power criterion."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from condgof.errors import InputError, InputTypeError
from condgof.report._pens import axes_of, new_figure
from condgof.report._text import label
from condgof.study._examples import Illustration
from condgof.study._names import title_of
from condgof.study._study import Row, Study

# Okabe and Ito's palette: told apart by colour-blind readers too.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK, AMBER, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BELOW: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
_TABLE = "study must be a Study, its to_dict() (what table.json holds), or rows of its table()"


#: Colour and marker of a test, and whether it is dashed: they differ without the colour too.
Style: TypeAlias = tuple[str, str, bool]
#: Tests of a kind share a colour; the lesser of two is dashed with open markers.
STYLES: dict[str, Style] = {
    "adaptive": ("#000000", "o", False),
    "kcsd": (BLUE, "s", False),
    "fscd-opt": (ORANGE, "^", False),
    "fscd-opt-1": (ORANGE, "v", True),
    "fscd-rand": (GREEN, "D", False),
    "fscd-rand-1": (GREEN, "d", True),
    "mmd": (PINK, "X", False),
    "zheng": (AMBER, "P", False),
    "zheng-wild": (AMBER, "p", True),
}
OTHERS = [(colour, marker, i > 4) for i, (colour, marker) in enumerate(zip(
    (SKY, GREY, PINK, GREEN, BLUE) * 2, "*h<>8sod^v", strict=True
))]  # fmt: skip


def draw_power(study: Study) -> Any:
    count = len(study.topics)
    columns, width = min(4, count), max(5.0, 3.1 * min(4, count))
    figure = new_figure((width, 3.0 * -(-count // columns) + 0.9), shown=False)
    axes = axes_of(figure, count, columns)
    plot_power(study, axes)
    axes[0].get_legend().remove()
    handles, labels = axes[0].get_legend_handles_labels()
    across = -(-len(labels) // -(-len(labels) // max(1, int(width / 1.75))))
    figure.legend(handles, labels, ncols=across, handlelength=2.6, **BELOW)
    return figure


def draw_rates(
    ax: Any, rows: Sequence[Row], alpha: float, styles: Mapping[str, Style], h0: bool
) -> None:
    """Draw the rows of one problem: a line a method, with the intervals."""
    sizes = sorted({row.n for row in rows})
    span = (sizes[-1] - sizes[0]) or 1.0
    for i, (method, (color, marker, dashed)) in enumerate(styles.items()):
        mine = [r for r in rows if r.method == method and r.rate is not None]
        # Set a little apart, so that intervals at one size stand beside each other.
        shift = (0.011 if len(sizes) > 1 else 0.04) * span * (i - (len(styles) - 1) / 2)
        at, rates = [r.n + shift for r in mine], np.array([r.rate for r in mine], dtype=float)
        ends = np.array([[r.low for r in mine], [r.high for r in mine]])
        away = np.maximum(0.0, [rates - ends[0], ends[1] - rates])
        ax.errorbar(at, rates, away, fmt="none", ecolor=color, elinewidth=0.9, alpha=0.55)
        look = {"ls": "--", "mfc": "white"} if dashed else {"ls": "-", "mfc": color}
        name = label(title_of(method))
        ax.plot(at, rates, color=color, marker=marker, ms=5.5, lw=1.4, label=name, **look)
    ax.axhline(alpha, color=GREY, lw=1.0, ls=":", label=f"α = {alpha:g}", zorder=0)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.margins(x=0.08)
    if len(sizes) == 1:
        ax.set_xlim(sizes[0] - 0.5, sizes[0] + 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(-0.02, 1.02)
    if h0:  # rates near alpha need a scale of their own
        ax.set_ylim(0.0, min(1.0, max(4 * alpha, 1.25 * max(row.high for row in rows))))
        ax.locator_params(axis="y", nbins=5)
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
        Where to draw, one for each problem; new ones unless given, and returned.
    problem : str, optional
        Draw this problem only.
    alpha : float
        The level, where `study` is rows; a study knows its own.

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
    if ax is None:
        columns = min(3, len(names))
        figure = new_figure((max(6.0, 4.0 * columns), max(4.0, 3.4 * -(-len(names) // columns))))
        places = axes_of(figure, len(names), columns)
    else:
        places = list(np.ravel(np.asarray(ax, dtype=object)))[: len(names)]
    if len(places) < len(names):
        counts = f"There are {len(names)} problems and {len(places)} Axes"
        raise InputError(f"{counts}. Give one for each, or name one with problem=.")
    methods = list(dict.fromkeys(row.method for row in rows))
    spare = iter(OTHERS * len(methods))
    styles = {method: STYLES[method] if method in STYLES else next(spare) for method in methods}
    for name, place in zip(names, places, strict=True):
        title, h0 = titles.get(name, (name, False))
        draw_rates(place, [row for row in rows if row.problem == name], level, styles, h0)
        place.set_title(textwrap.fill(label(title), 34), loc="left", fontsize="medium")
    places[0].set_ylabel("rejection rate")
    places[0].legend(frameon=False, fontsize="small", handlelength=2.6)
    return places[0] if len(names) == 1 else np.array(places, dtype=object)


def _read(study: Any, alpha: float) -> tuple[list[Row], dict[str, tuple[str, bool]], float]:
    """Return rows, titles (with whether the model is true) and level of whatever holds them."""
    titles: dict[str, tuple[str, bool]] = {}
    if isinstance(study, Study):
        titles = {topic.name: (topic.heading, topic.h0) for topic in study.topics}
        rows, alpha = list(study.table()), study.alpha
    elif isinstance(study, Mapping):
        try:
            rows, alpha = [Row(**row) for row in study["table"]], float(study["alpha"])
            for name, p in study["problems"].items():
                titles[name] = f"{p['title']} ({'H0' if p['h0'] else 'H1'})", bool(p["h0"])
        except (KeyError, TypeError) as error:
            raise InputTypeError(f"{_TABLE}; this mapping does not read as one: {error!r}.") from error
    elif isinstance(study, Sequence) and all(isinstance(row, Row) for row in study):
        rows = list(study)
    else:
        raise InputTypeError(f"{_TABLE}, got {type(study).__name__}.")
    if not rows:
        raise InputError("There are no rows to draw: the table is empty.")
    return rows, titles, alpha


def draw_criterion(illustrations: Sequence[Illustration]) -> Any:
    """Draw one column an illustration: a sample with p and r (mean and 95% band), and the criterion."""
    columns = len(illustrations)
    figure = new_figure((max(5.0, 3.1 * columns), 5.4), shown=False)
    axes = figure.subplots(2, columns, squeeze=False, sharex="col", height_ratios=[3, 2])
    for one, (upper, lower) in zip(illustrations, axes.T, strict=True):
        shown = slice(None, None, max(1, len(one.x) // 400))
        look = {"color": GREY, "ms": 3, "alpha": 0.55, "mew": 0}
        upper.plot(one.x[shown], one.y[shown], ".", label="data from r", **look)
        both = (one.p, BLUE, "-", "model p"), (one.r, ORANGE, "--", "truth r")
        for (mean, std), color, style, name in both:
            edges = mean - 1.96 * std, mean + 1.96 * std
            upper.fill_between(one.grid, *edges, color=color, alpha=0.10, lw=0)
            for edge in edges:
                upper.plot(one.grid, edge, color=color, lw=0.7, ls=style, alpha=0.8)
            words = f"{name} (mean, 95% band)"
            upper.plot(one.grid, mean, color=color, lw=1.8, ls=style, label=words)
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
    across = 4 if columns > 1 else 2
    figure.legend([*handles, *more], [*labels, *names], ncols=across, markerscale=2.5, **BELOW)
    return figure
