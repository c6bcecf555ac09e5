"""The picture of coverage: how often central intervals hold y, by their level."""

from __future__ import annotations

import numpy as np

from condgof.check import Check, coverages_of
from condgof.check.curves import each_error
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._bins import sides
from condgof.report._chart import Chart
from condgof.result import share_interval

#: Levels of the central intervals that are drawn.
LEVELS = (*tuple(np.round(np.linspace(0.1, 0.9, 9), 2).tolist()), 0.95)


def coverage_chart(check: Check) -> Chart:
    """Describe the picture of coverage, of a model with a CDF, draws or intervals."""
    intervals = coverages_of(check.checked, LEVELS)
    if not intervals:
        raise InputError(
            f"Coverage takes intervals of one y, and this is a check of"
            f" {check.checked.label}. Pass a model with a CDF, draws or intervals."
        )
    n = check.checked.n
    nominal = np.array([one.nominal for one in intervals])
    hits = np.array([one.inside.sum() for one in intervals])
    low, high = share_interval(hits, n, each_error(len(intervals)))
    observed = hits / n
    ends = (0.0, 1.0)
    table = c.table(
        {
            "level": nominal,
            "share of y inside": observed,
            "interval": c.spans(low, high),
        }
    )
    return Chart(
        title=f"coverage of {len(intervals)} intervals, {n:,} rows",
        x=c.numeric("predicted coverage", ends),
        y=c.numeric("share of y inside", ends),
        marks=(
            c.Line(np.array(ends), np.array(ends), "model"),
            c.Intervals(
                at=nominal,
                estimate=observed,
                low=np.asarray(low),
                high=np.asarray(high),
                kinds=sides(low, high, nominal),
            ),
        ),
        table=table,
        legend=(
            c.Key("line", "model", "model"),
            c.Key("dot", "even", "data"),
            c.Key("dot", "high", "more than predicted"),
            c.Key("dot", "low", "fewer than predicted"),
        ),
        spots=c.Spots.between(nominal),
    )
