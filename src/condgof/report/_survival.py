"""Pictures of times with censoring: events against those expected, along the model's own time."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._looked import Looked
from condgof.check._record import Check, Slice
from condgof.report import _chart as c
from condgof.report._binned import part_rows, sides
from condgof.report._chart import Chart
from condgof.report._numbers import number

#: Hall and Wellner's bound: a Brownian bridge stays within it with probability 0.95.
BRIDGE = 1.358
#: Points that are drawn at most.
MOST = 400


def kaplan_meier(looked: Looked, rows: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the times Λ of events in order, the estimate of P(Λ > ·) after each, and rows at risk."""
    assert looked.event is not None
    assert looked.hazard is not None
    assert looked.before is not None
    hazard, before, event = (part[rows] for part in (looked.hazard, looked.before, looked.event))
    at, counts = np.unique(hazard[event], return_counts=True)
    left = np.searchsorted(np.sort(hazard), at, side="left")
    risk = np.searchsorted(np.sort(before), at, side="left") - left
    return np.asarray(at), np.cumprod(1.0 - counts / np.maximum(risk, counts)), np.asarray(risk)


def survival(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw the Kaplan-Meier estimate of Λ, unit exponential under the model, with a band around that."""
    looked = check.looked
    if looked.kind != "censored":
        return None
    rows = np.arange(looked.n, dtype=np.int64) if part is None else part_rows(looked, part)
    at, share, risk = kaplan_meier(looked, rows)
    if not len(at):
        return None
    n, expected = len(rows), np.exp(-at)
    spread = n * np.cumsum(np.diff(at, prepend=0.0) / np.maximum(risk, 1))
    half = BRIDGE * (1.0 + spread) / np.sqrt(n) * expected
    low, high = np.clip(expected - half, 0.0, 1.0), np.clip(expected + half, 0.0, 1.0)
    # The estimate never rises: it is below what it was below before, and the other way round.
    low, high = np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)
    outside = (share < low) | (share > high)
    few = np.unique(np.linspace(0, len(at) - 1, MOST).astype(int))
    ends, grid = (0.0, 1.02 * float(at[-1])), np.linspace(0.0, float(at[-1]), 161)
    steps = np.repeat(np.append(0.0, at[few]), 2)[1:], np.repeat(np.append(1.0, share[few]), 2)[:-1]
    marks = (c.Band(at[few], low[few], high[few]), c.Line(grid, np.exp(-grid)), c.Line(*steps, "data"))
    k = int(np.argmax(np.where(outside, np.abs(share - expected), 0.0)))
    told = f"{number(share[k], 2)} of the rows survive where the model says {number(expected[k], 2)}"
    title = told if outside.any() else "Rows survive as long as the model says"
    desc = f"Kaplan-Meier estimate of {n:,} rows against the time by which the model expects events."
    data = {"events expected by then": at[few], "survive": share[few], "model": expected[few]}
    legend = c.keys(
        "line data Kaplan-Meier estimate; line model the model; box band90 95% band if it is right"
    )
    x = c.numeric("cumulative hazard of the model, −log P(Y > y|x)", ends)
    return Chart(title, desc, x, c.numeric("share without event", (0.0, 1.03), 5), marks,
                 c.table({name: values[:: max(1, len(few) // 12)] for name, values in data.items()}),
                 legend, (540, 330))  # fmt: skip


def thirds(check: Check) -> Chart | None:
    """Draw events over those expected, of all time and of thirds of it."""
    found = [f for f in check.overall if f.kind == "events"]
    if not found:
        return None
    names = [f.label or "all" for f in found]
    ratio, low, high = np.array([[f.estimate, *f.interval] for f in found]).T
    kinds = sides(low, high, np.ones(len(found)))
    up = (0.0, min(max(1.1 * float(high.max()), 2.0), 6.0))
    at = np.arange(len(found)) * 1.0
    marks = (c.Rule(1.0), c.Intervals(at, ratio, low, high, kinds, size=8.0))
    title = f"{found[0].words[0].upper()}{found[0].words[1:]}"
    data = c.table({"part": names, "ratio": ratio, "interval": c.spans(low, high)})
    legend = c.keys("line model the model; dot even the data; dot high more events; dot low fewer")
    x = c.places("part of the time, by the model's cumulative hazard", names)
    scale = c.numeric("events / expected", up, 4)
    return Chart(title, "; ".join(f.words for f in found), x, scale, marks, data, legend, (420, 330))
