"""Estimates with intervals on one axis: slices, groups, and what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from condgof._typing import FloatArray
from condgof.check import LARGEST, QUANTITIES, Finding, Slice
from condgof.report import _chart as c
from condgof.report._bins import more_and_less, sides
from condgof.report._chart import Chart
from condgof.report._text import shorten

#: More rows than this are sorted, and have no names.
MOST_NAMED_ROWS = 30
#: Diameter of the dot of an estimate, in pixels.
DOT_SIZE = 8.0
#: The same in a chart without names, whose rows are close together.
SMALL_DOT_SIZE = 3.0
#: Length of the upright mark at what is expected, in pixels.
PIN_SIZE = 16.0
#: The same in a chart without names.
SMALL_PIN_SIZE = 4.0
#: Longer names are cut in the middle: a phone has space for as many letters.
MOST_LETTERS = 48
#: Longer names are at the left: on a phone there is no space for them above an interval.
MOST_LETTERS_AT_INTERVAL = 25
#: The height of a chart without names, in pixels; with names it depends on their number.
UNNAMED_HEIGHT = 340


def kind_name(kind: str, label: str = "") -> str:
    """Name a kind of finding: "inside the 90% interval"; without label of any interval."""
    if (kind, label) == ("tails", LARGEST):
        return "counts of probability below 0.01"
    if kind not in QUANTITIES:  # outliers, or the difference of two models
        return kind
    if kind == "class" and not label:
        label = "a class"
    words = QUANTITIES[kind].name.format(label)
    return " ".join(words.split()).rstrip(",")


def unit_of(kind: str) -> str:
    """Return the unit of a kind of finding, in words; "" without one."""
    return QUANTITIES[kind].unit if kind in QUANTITIES else ""


def more_is_less(kind: str) -> bool:
    """Whether more than predicted means too wide, underconfident or too high."""
    return kind in QUANTITIES and QUANTITIES[kind].more_is_less


def forest(items: Sequence[Slice], *, leading_only: bool = False) -> Chart | None:
    """Draw findings of one kind on one axis: that which leads most often.

    All items are drawn, whatever leads them; with `leading_only` just those that this kind
    leads, because what is off in another way would be "not certain" on this axis.
    """
    leading = [item.findings[0] for item in items if item.findings]
    leading = [finding for finding in leading if finding.telling] or leading
    if not leading:
        return None
    about = Counter(finding.about for finding in leading).most_common(1)[0][0]
    kind, _, label = about
    listed: list[tuple[Slice, Finding]] = []
    for part in items:
        said = part.findings[:1] if leading_only else part.findings
        listed += [(part, f) for f in said if f.about == about]
    if len(listed) > MOST_NAMED_ROWS:
        listed.sort(key=lambda each: each[1].expected - each[1].estimate)
    count = len(listed)
    numbers = np.array([[f.estimate, *f.interval, f.expected] for _, f in listed])
    is_off = np.array([f.telling for _, f in listed])
    # Those that are not certain come last.
    distance = np.abs(numbers[:, 0] - numbers[:, 3]) * np.where(is_off, 1.0, 1e-9)
    words = listed[int(np.argmax(distance))][0].words
    if count == 1:
        title = f"{words}: {listed[0][1].words}"
    elif is_off.any():
        off = f"{is_off.sum():,} of {count:,} differ from what is predicted"
        title = f"{off}, most of all {words}"
    else:
        title = f"None of {count:,} differs from what is predicted"
    turned = more_is_less(kind)
    more, less = more_and_less(turned=turned)
    ways = f"dot {more} more; dot {less} less; dot even not certain"
    return intervals(
        axis=", ".join(filter(None, [kind_name(kind, label), unit_of(kind)])),
        names=[f"{part.words} · {part.n:,} rows" for part, _ in listed],
        numbers=numbers,
        turned=turned,
        title=title,
        legend=c.keys(f"dashed model of the model; {ways}"),
    )


def intervals(
    *,
    axis: str,
    names: Sequence[str],
    numbers: FloatArray,
    title: str,
    legend: tuple[c.Key, ...] = (),
    turned: bool = False,
    wide: int = 460,
    name: str = "",
    names_at_intervals: bool = False,
) -> Chart:
    """Draw estimates with intervals, the first on top.

    `numbers` are the estimate, both ends of its interval and what is expected, (rows, 4).
    Names are in a column at the left, or short ones each above its interval.
    """
    count = len(names)
    estimate, low, high, expected = numbers[::-1].T
    names = names[::-1]
    at = np.arange(count) * 1.0
    unnamed = count > MOST_NAMED_ROWS
    ends = c.robust_ends(np.append(low, high), [*expected, *estimate], 0.06)
    marks: list[c.Mark] = [c.rule(float(expected[0]), False, look="dashed")]
    if np.ptp(expected) > 1e-9:  # one line cannot show what is expected
        size = SMALL_PIN_SIZE if unnamed else PIN_SIZE
        marks = [c.Points(expected, at, "model", "pin", size)]
    marks.append(
        c.Intervals(
            at=at,
            estimate=estimate,
            low=low,
            high=high,
            kinds=sides(low, high, expected, turned=turned),
            lying=True,
            size=SMALL_DOT_SIZE if unnamed else DOT_SIZE,
        )
    )
    if not unnamed:
        middle = 0.5 * sum(ends)
        for i, words in enumerate(names):
            x = ends[0]
            anchor = "start"
            if names_at_intervals and len(words) <= MOST_LETTERS_AT_INTERVAL:
                is_left = estimate[i] < middle
                x = max(low[i], ends[0]) if is_left else min(high[i], ends[1])
                anchor = "start" if is_left else "end"
            marks.append(
                c.Text(float(x), float(i), shorten(words, MOST_LETTERS), anchor, 11.0)
            )
    y_name = f"{count:,} groups, by estimate" if unnamed else ""
    return Chart(
        title=title,
        x=c.numeric(axis, ends),
        y=c.Scale(y_name, (-0.5, count - 0.3)),
        marks=tuple(marks),
        table=c.table(
            {
                "where": names,
                "estimate": estimate,
                "interval": c.spans(low, high),
                "expected": expected,
            }
        ),
        legend=legend,
        size=(wide, UNNAMED_HEIGHT if unnamed else 60 + 40 * count),
        spots=c.Spots.lying(at),
        name=name,
    )
