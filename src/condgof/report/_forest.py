"""Intervals that are listed together, on one axis: of slices, and of groups however many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from condgof.check._record import Slice
from condgof.report import _chart as c
from condgof.report._binned import sides
from condgof.report._chart import Chart
from condgof.report._escape import shorten
from condgof.report._numbers import number

#: More items than this are a caterpillar: no words but of those that stand out most, at each end.
MOST_ROWS, LABELLED = 30, 3
#: Kinds of which more than the model says means that it is too wide, not sure enough or too high.
TURNED = ("coverage", "confidence", "quantile")
#: What each kind of finding is, on an axis; {} is its label.
NAMES = {
    "shift": "mean of the residuals, in standard deviations",
    "spread": "spread of the data, times what the model says",
    "skew": "skewness of the residuals",
    "tails": "share of rows outside the model's 99.9% interval",
    "coverage": "share of rows inside the {} interval",
    "correlation": "correlation of the residuals",
    "confidence": "share of rows in which the most probable class was right",
    "class": "share of rows with {}",
    "zeros": "share of rows with 0",
    "quantile": "share of rows not above the {} quantile",
}


def forest(items: Sequence[Slice], kind: str | None = None) -> Chart | None:
    """Draw findings of one kind of slices or groups on one axis: of the kind that leads most often."""
    first = [item.findings[0] for item in items if item.findings]
    own = [f for f in first if kind in (None, f.kind)]
    own = own or [f for item in items for f in item.findings if f.kind == kind]
    if not own:
        return None
    about = Counter((f.kind, f.label, f.column) for f in own).most_common(1)[0][0]
    found = [(s, f) for s in items for f in s.findings if (f.kind, f.label, f.column) == about]
    many = len(found) > MOST_ROWS
    found = sorted(found, key=lambda each: each[1].estimate - each[1].expected) if many else found[::-1]
    parts, count, turned = [s for s, _ in found], len(found), about[0] in TURNED
    numbers = np.array([[f.estimate, *f.interval, f.expected] for _, f in found])
    at, (estimate, low, high, expected) = np.arange(count) * 1.0, numbers.T
    kinds, spans = sides(low, high, expected, turned), c.spans(low, high)
    ends = c.robust_ends(np.append(low, high), [*expected, *estimate], 0.06)
    both = zip(parts, estimate, spans, strict=True)
    tips = tuple(f"{s.words}: {number(float(e))} ({span}), {s.n:,} rows" for s, e, span in both)
    marks: list[c.Mark] = [c.Rule(float(expected[0]), many, dashed=True)]
    if np.ptp(expected) > 1e-9:
        lying = c.Points(expected, at, "model", "pin", 16.0)
        marks = [c.Points(at, expected, "model", "tick", 5.0) if many else lying]
    marks.append(c.Intervals(at, estimate, low, high, kinds, not many, 3.0 if many else 8.0, tips))
    telling = [i for i, side in enumerate(kinds) if side != "even"]
    for i in telling[:LABELLED] + telling[LABELLED:][-LABELLED:] if many else range(count):
        words = shorten(parts[i].words, 40 if many else 48)
        if many:
            side, gap = ("start", 0.012) if i < count / 2 else ("end", -0.012)
            marks.append(c.Text(i + gap * count, float(estimate[i]), words, side, -4.0))
        else:
            marks.append(c.Text(ends[0], float(i), f"{words} · {parts[i].n:,} rows", "start", 11.0))
    far = int(np.argmax(np.abs(estimate - expected) * np.where(np.isin(at, telling), 1.0, 1e-9)))
    name, words = NAMES.get(about[0], about[0]).format(about[1]), parts[far].words
    title = f"{len(telling):,} of {count:,} differ from what the model says, most of all {words}"
    title = title if telling else f"None of {count:,} differs from what the model says"
    title = title if count > 1 else f"{words}: {found[0][1].words}"
    said = f"{number(float(estimate[far]))} where the model says {number(float(expected[far]))}"
    data = {"where": [s.words for s in parts], "rows": [s.n for s in parts], "estimate": estimate}
    table = c.table({**data, "interval": spans, "the model says": expected})
    more, less = ("low", "high") if turned else ("high", "low")
    legend = c.keys(f"dashed model of the model; dot {more} more; dot {less} less; dot even not certain")
    x, y, shape = c.numeric(name, ends), c.Scale("", (-0.5, count - 0.3)), (460, 60 + 38 * count)
    if many:
        x = c.Scale(f"{count:,} groups, by estimate", (-0.02 * count - 0.5, 1.02 * count - 0.5))
        y, shape = c.numeric(name, ends), (540, 340)
    return Chart(title, f"{name}: {said} for {words}.", x, y, tuple(marks), table, legend, shape)
