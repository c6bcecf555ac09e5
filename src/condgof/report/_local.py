"""The picture of a model near one point of x."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof.check import Local, LocalShare, PitCurve
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._bins import sides
from condgof.report._chart import Chart
from condgof.report._text import shorten

#: Most letters of the title.
LONGEST_TITLE = 90


def plot_local(local: Local, ax: object = None) -> Any:
    """Draw the PIT curve near a point with its band, or shares with intervals.

    Parameters
    ----------
    local : Local
        From ``report.at(x0)``.
    ax : matplotlib.axes.Axes, optional
        Where to draw, and what is returned; a new figure unless given.
    """
    return c.draw(local_chart(local), ax)


def local_chart(local: Local) -> Chart:
    """Describe the picture of a model near a point."""
    if not local.enough:
        raise InputError(f"There is nothing to draw. {local.words}")
    title = shorten(f"near {local.place}", LONGEST_TITLE)
    if local.pit is not None:
        return _curve(local.pit, title)
    return _shares(local.shares, title)


def _curve(pit: PitCurve, title: str) -> Chart:
    marks = (
        c.Band(pit.levels, pit.low, pit.high, "shade"),
        c.Line(pit.levels, pit.levels, "model"),
        c.Line(pit.levels, pit.observed, "ink"),
    )
    some = slice(None, None, 10)
    table = c.table(
        {
            "predicted probability": pit.levels[some],
            "share of y below": pit.observed[some],
            "band": c.spans(pit.low[some], pit.high[some]),
        }
    )
    return Chart(
        title=title,
        x=c.numeric("predicted probability", (0.0, 1.0)),
        y=c.numeric("share of y below that quantile", (0.0, 1.0)),
        marks=marks,
        table=table,
        legend=(
            c.Key("line", "ink", "data"),
            c.Key("line", "model", "model"),
            c.Key("box", "shade", "95% band of the whole curve"),
        ),
    )


def _shares(shares: tuple[LocalShare, ...], title: str) -> Chart:
    at = np.arange(len(shares), dtype=float)
    estimate = np.array([share.estimate for share in shares])
    low, high = np.array([share.interval for share in shares]).T
    expected = np.array([share.expected for share in shares])
    kinds = sides(low, high, expected, turned=False)
    names = [share.label for share in shares]
    table = c.table(
        {
            "of": names,
            "share": estimate,
            "interval": c.spans(low, high),
            "predicted": expected,
        }
    )
    return Chart(
        title=title,
        x=c.places("", names),
        y=c.numeric("share of rows", (0.0, 1.0)),
        marks=(
            c.Points(at, expected, "model", size=9.0),
            c.Intervals(at=at, estimate=estimate, low=low, high=high, kinds=kinds),
        ),
        table=table,
        legend=(c.Key("dot", "model", "model"), c.Key("dot", "even", "data")),
    )
