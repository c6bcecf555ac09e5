"""The null distribution of a test, and where the statistic of the data lies in it."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from condgof.report import _chart as c
from condgof.report._chart import Chart
from condgof.result import GofResult, number

#: Space between the line of the statistic and its words, in widths of the axis.
WORDS_GAP = 0.012
#: Bars of the histogram.
BARS = 40
#: Quantiles of the normal limit that stand in for draws.
LIMIT_QUANTILES = 1000
#: A statistic further beyond the draws than this, in ranges of the draws, is not to scale.
FAR_RANGES = 1.5


def null_picture(result: GofResult) -> Chart | None:
    """Draw what the statistic does when the model is right, and where it is."""
    draws = result.null_distribution
    null = result.null or "model"
    what = "draws from the model" if null == "model" else f"{null} draws"
    if (draws is None or not len(draws)) and "normal" in (result.null or ""):
        draws = ndtri((np.arange(LIMIT_QUANTILES) + 0.5) / LIMIT_QUANTILES)
        what = "quantiles of the normal limit"
    if draws is None or not len(draws):
        return None
    statistic = result.statistic
    low = float(draws.min())
    high = float(draws.max())
    is_far = statistic - high > FAR_RANGES * (high - low)
    last = high + 0.3 * (high - low) if is_far else max(high, statistic)
    ends = c.ends_of(np.array([low, last]), 0.03)
    width = ends[1] - ends[0]
    counts, edges = np.histogram(draws, BARS, ends)
    beyond = np.histogram(draws[draws >= statistic], edges)[0]
    at = min(statistic, ends[1] - 0.02 * width)
    top = 1.12 * float(counts.max())
    # The words stand on that side of the line where there is more space.
    on_the_right = at < sum(ends) / 2
    side = "start" if on_the_right else "end"
    gap = WORDS_GAP if on_the_right else -WORDS_GAP
    words = f"the data: {number(statistic)}{' →' if is_far else ''}"
    of = f"{beyond.sum():,} of {len(draws):,} {what}"
    return Chart(
        title=f"{of} have as large a statistic as the data",
        x=c.numeric("test statistic (larger: worse fit)", ends),
        y=c.numeric("draws", (0.0, top), 4),
        marks=(
            c.bars(edges, counts, ("band50",) * BARS),
            c.bars(edges, beyond, ("barx",) * BARS),
            c.rule(at, False, "data"),
            c.Text(at + gap * width, 0.94 * top, words, side),
        ),
        table=c.table({"statistic": c.spans(edges[:-1], edges[1:]), "draws": counts}),
        legend=c.keys("box band50 draws if the model is right; line data the data"),
        spots=c.Spots.upright(edges[:-1], edges[1:]),
    )
