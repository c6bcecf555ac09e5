"""The chart of the null distribution, and the little one of an interval."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Interval
from condgof.report._numbers import number, span
from condgof.report._reduce import histogram
from condgof.report._svg import Frame, picture, text
from condgof.result import GofResult, pvalue_number


def draws_span(draws: FloatArray, statistic: float) -> tuple[tuple[float, float], bool]:
    """Return the ends of the axis, and whether the statistic lies too far out to be on it."""
    low, high = float(draws.min()), float(draws.max())
    far = statistic - high > 1.5 * max(high - low, 1e-300)
    edge = high + 0.3 * (high - low) if far else max(high, statistic)
    return span(np.array([low, edge]), 0.03), far


def null_chart(result: GofResult, key: str) -> str:
    """Draw what the statistic does when the model is right, and where it is."""
    draws = result.null_distribution
    if draws is None or not len(draws):
        return ""
    ends, far = draws_span(draws, result.statistic)
    edges, _ = histogram(draws, None, ends, bins=40)
    counts = np.histogram(draws, edges)[0].astype(float)
    frame = Frame(ends, (0.0, 1.12 * counts.max()), height=270)
    at = ends[1] - 0.02 * (ends[1] - ends[0]) if far else result.statistic
    beyond = np.histogram(draws[draws >= result.statistic], edges)[0].astype(float)
    place = float(frame.at_x(at))
    right = place < frame.width / 2
    words = f"this model: {number(result.statistic)}{' →' if far else ''}"
    parts = [
        frame.y_axis("draws"),
        frame.bars(edges, counts, "bar"),
        frame.bars(edges, beyond, "bar-beyond"),
        frame.x_axis("test statistic (larger: worse fit)"),
        frame.upright(at, "observed"),
        text(place + (7 if right else -7), frame.top + 12, words, "strong", "start" if right else "end"),
    ]
    count = int((draws >= result.statistic).sum())
    desc = (
        f"Histogram of {len(draws):,} values that the test statistic takes when the model is right, "
        "from "
        f"{number(float(draws.min()))} to {number(float(draws.max()))}. The observed statistic is "
        f"{number(result.statistic)}; {count:,} of the values are at least as large: p = "
        f"{pvalue_number(result.pvalue)}."
    )
    return picture(frame, parts, key=key, title="Null distribution and observed statistic", desc=desc)


def interval_chart(interval: Interval, expected: float, key: str, words: str) -> str:
    """Draw an estimate with its interval beside what the model says, in one line."""
    ends = span(np.array([interval.low, interval.high, interval.estimate, expected]), 0.12)
    frame = Frame(ends, (0.0, 1.0), width=110, height=26, left=4, right=4, top=2, bottom=2)
    low, high, middle = (float(frame.at_x(v)) for v in (interval.low, interval.high, interval.estimate))
    parts = [
        frame.upright(expected, "expected"),
        f'<path class="whisker" d="M{low:.1f} 13H{high:.1f}M{low:.1f} 9v8M{high:.1f} 9v8"/>',
        f'<circle class="estimate" cx="{middle:.1f}" cy="13" r="4.5"/>',
    ]
    desc = f"{number(interval.low)} to {number(interval.high)}; the model says {number(expected)}."
    return picture(frame, parts, key=key, title=words, desc=desc)


def effect_chart(interval: Interval, key: str, plain: float = 0.5) -> str:
    """Draw the effect size on a scale from 0 to what is plain to see, or more."""
    top = max(plain, 1.15 * interval.high) if np.isfinite(interval.high) else 1.0
    frame = Frame((0.0, top), (0.0, 1.0), width=300, height=54, left=8, right=12, top=2, bottom=28)
    low, high, middle = (
        float(frame.at_x(np.clip(v, 0, top))) for v in (interval.low, interval.high, interval.estimate)
    )
    parts = [
        frame.x_axis("", 4),
        f'<path class="whisker" d="M{low:.1f} 13H{high:.1f}M{low:.1f} 8v10M{high:.1f} 8v10"/>',
        f'<circle class="estimate" cx="{middle:.1f}" cy="13" r="5.5"/>',
    ]
    desc = f"{number(interval.estimate)}, between {number(interval.low)} and {number(interval.high)}."
    return picture(frame, parts, key=key, title="Effect size with its interval", desc=desc)
