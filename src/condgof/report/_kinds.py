"""Pictures by kind of y: classes, counts, quantiles and intervals, times with censoring."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._looked import Looked
from condgof.check._record import Check, Slice
from condgof.report import _chart as c
from condgof.report._binned import chance_ends, each_error, part_rows, right_and_sure, sides
from condgof.report._chart import Chart
from condgof.report._text import shorten
from condgof.result import number, share_interval, size

#: Most bins of confidence, classes and counts that are drawn.
MOST_BINS, MOST_CLASSES, MOST_COUNTS = 10, 24, 25
#: What should be equal.
DIAGONAL = c.Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def reliability(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often the most probable class was right against how sure the model was."""
    looked = check.looked
    if looked.kind != "classes":
        return None
    right, sure = (values[part_rows(looked, part)] for values in right_and_sure(looked))
    shares = np.linspace(0, 1, int(np.clip(len(sure) // 40, 1, MOST_BINS)) + 1)[1:-1]
    codes = np.searchsorted(np.unique(np.quantile(sure, shares)), sure, side="right")
    bins = [np.flatnonzero(codes == b) for b in np.unique(codes)]
    n, hits = np.array(list(map(len, bins))), np.array([right[rows].sum() for rows in bins])
    first, predicted, last = np.array(
        [[f(sure[rows]) for rows in bins] for f in (np.min, np.mean, np.max)]
    )
    error = each_error(len(n))
    (low, high), (least, most) = share_interval(hits, n, error), chance_ends(n, predicted, error)
    kinds = sides(low, high, predicted, True)
    foot, base = (float(np.floor(10 * v) / 10) for v in (sure.min(), min(low.min(), (least / n).min())))
    base -= 0.1
    counts, edges = np.histogram(sure, 24, (foot, 1.0))
    tall = base + 0.15 * (1.03 - base) * counts / counts.max()
    marks = (
        c.Boxes(edges[:-1], edges[1:], np.full(24, base), tall, ("bar",) * 24),
        c.Boxes(first, np.maximum(last, first + 0.004), least / n, most / n, ("band90",) * len(n)),
        DIAGONAL,
        c.Intervals(predicted, hits / n, low, high, kinds),
    )
    mean, often = size(float(sure.mean())), size(float(right.mean()))
    title = f"The model says {mean} and is right in {often} of the rows"
    desc = f"{kinds.count('high')} of {len(n)} bins are too sure, {kinds.count('low')} not sure enough."
    data = {"confidence": c.spans(first, last), "rows": n, "mean": predicted, "right": hits / n}
    data["95% interval for all"] = c.spans(low, high)
    ways = "dot even how often it was right; dot high too sure; dot low not sure enough"
    legend = c.keys(f"{ways}; box band90 if the model is right; box bar rows")
    x = c.numeric("how sure the model was", (foot - 0.01, 1.01))
    y = c.numeric("share in which it was right", (base, 1.03))
    return Chart(title, desc, x, y, marks, c.table(data), legend, (540, 330))


def classes(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often each class was observed, with its interval, and how often it was predicted."""
    looked, names = check.looked, check.looked.class_names
    if looked.kind != "classes" or looked.codes is None:
        return None
    inside, count = part_rows(looked, part), len(names)
    n, rows = int(inside.sum()), np.bincount(looked.codes[inside], minlength=count)
    seen, predicted = rows / n, np.asarray(looked.probabilities, dtype=float)[inside].mean(axis=0)
    low, high = share_interval(rows, np.full(count, n), each_error(count))
    kinds, order = sides(low, high, predicted), np.argsort(-np.abs(seen - predicted), kind="stable")
    drawn, worst = np.sort(order[:MOST_CLASSES]), order[0]
    at = np.arange(len(drawn))[::-1] * 1.0
    shares = size(seen[worst]), size(predicted[worst])
    title = f"{names[worst]} came in {shares[0]} of the rows; the model says {shares[1]}"
    title = title if set(kinds) != {"even"} else "Each class came as often as the model says"
    off = count - kinds.count("even")
    desc = f"{off} of {count} classes differ by more than chance; {len(drawn)} are drawn."
    marks = (
        c.Intervals(
            at, seen[drawn], low[drawn], high[drawn], tuple(kinds[i] for i in drawn), lying=True
        ),
        c.Points(predicted[drawn], at, "model", "pin", 18.0),
    )
    texts = tuple(shorten(names[i], 20) for i in drawn)
    y = c.Scale("", (-0.6, len(drawn) - 0.4), tuple(at.tolist()), texts, True)
    data = {looked.y_columns[0].name: names, "rows": rows, "observed": seen, "predicted": predicted}
    data["95% interval for all"] = c.spans(low, high)
    legend = c.keys("pin model predicted; dot even observed; dot high more often; dot low less often")
    top = min(1.0, 1.05 * max(high[drawn].max(), predicted[drawn].max()))
    x = c.numeric("share of the rows", (0.0, top))
    shape = 420, int(np.clip(90 + 40 * len(drawn), 180, 560))
    return Chart(title, desc, x, y, marks, c.table(data), legend, shape)


def rootogram(check: Check) -> Chart | None:
    """Draw counts hanging from what the model expects of them, on a scale of square roots."""
    looked, p = check.looked, check.looked.count_probabilities
    if p is None:
        return None
    n, last, name = looked.n, len(p) - 1, looked.y_columns[0].name
    starts = np.unique([*range(0, last, -(-last // MOST_COUNTS)), last])
    each = np.bincount(np.minimum(looked.y[:, 0].astype(int), last), minlength=last + 1)
    expected, seen = np.add.reduceat(p, starts) * n, np.add.reduceat(each, starts)
    names = [f"{a}" if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(starts)] + [f"{last}+"]
    count, at = len(starts), np.arange(len(starts)) * 1.0
    least, most = chance_ends(np.full(count, n), np.clip(expected / n, 0, 1), each_error(count))
    kinds = np.where(seen > most, "s2", np.where(seen < least, "s-2", "bar"))
    top = np.sqrt(np.maximum(expected, 0.0))
    hang, floor, ceiling = (top - np.sqrt(k) for k in (seen, most, least))
    marks = (
        c.Boxes(at - 0.42, at + 0.42, hang, top, tuple(kinds.tolist())),
        c.Boxes(at - 0.5, at + 0.5, floor, ceiling, ("band90",) * count),
        c.Rule(0.0, kind="soft"),
        c.Line(at, top),
        c.Points(at, top, "model", size=5.0),
    )
    worst = int(np.argmax(np.abs(seen - expected) / np.sqrt(np.maximum(expected, 1))))
    usual = number(float(expected[worst]))
    title = f"{name} was {names[worst]} in {seen[worst]:,} rows, where the model expects {usual}"
    title = title if (kinds != "bar").any() else f"Each {name} came as often as the model expects"
    desc = f"{(kinds != 'bar').sum()} of {count} bars end outside the 95% band for all of them."
    ends = 1.1 * float(min(hang.min(), floor.min())), 1.06 * float(top.max())
    ticks = [m * 10.0**k for k in range(9) for m in (1, 4) if 0.12 < (m * 10.0**k) ** 0.5 / ends[1] <= 1]
    y = c.Scale("rows (square roots)", ends, (0.0, *np.sqrt(ticks)), ("0", *map(number, ticks)))
    thin = -(-count // 13)
    x = c.Scale(name, (-0.7, count - 0.3), tuple(at[::thin].tolist()), tuple(names[::thin]), True)
    ways = "line model expected; box bar observed, hanging; box s2 more than expected; box s-2 less"
    legend = c.keys(f"{ways}; box band90 where bars end if the model is right")
    data = c.table({name: names, "rows": seen, "expected": expected})
    return Chart(title, desc, x, y, marks, data, legend, (420, 330))


def coverage(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often y was inside each interval, or not above each quantile, against what they say."""
    looked = check.looked
    if not looked.events or looked.codes is None:
        return None
    codes, below = looked.codes[part_rows(looked, part)], looked.events[0].kind == "quantile"
    n, levels = len(codes), np.array([event.level for event in looked.events])
    rows = np.array([int((event.happened(codes) != below).sum()) for event in looked.events])
    low, high = share_interval(rows, np.full(len(levels), n), each_error(len(levels)))
    seen, kinds = rows / n, sides(low, high, levels, True)
    what, verb = ("quantile", "is not below") if below else ("interval", "holds")
    names = [f"{s:g} quantile" if below else f"{100 * s:g}% interval" for s in levels]
    worst = int(np.argmax(np.abs(seen - levels) / np.sqrt(levels * (1 - levels))))
    title = f"The {names[worst]} {verb} {number(100 * seen[worst], 2)}% of the rows"
    title = title if set(kinds) != {"even"} else f"Each {what} {verb} as many rows as it says"
    desc = f"Shares of {n:,} rows against what {len(levels)} {what}s say, with 95% intervals for all."
    low_way, high_way = ("too high", "too low") if below else ("too wide", "too narrow")
    legend = c.keys(
        f"line model what it says; dot even observed; dot high {high_way}; dot low {low_way}"
    )
    x = c.numeric(f"what the {what} says", (0.0, 1.0))
    y = c.numeric("share of rows " + ("not above it" if below else "inside it"), (-0.02, 1.02))
    data = c.table({what: names, "observed": seen, "95% interval for all": c.spans(low, high)})
    marks = (DIAGONAL, c.Intervals(levels, seen, low, high, kinds))
    return Chart(title, desc, x, y, marks, data, legend, (420, 330))


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
    farthest = f"{number(share[k], 2)} of the rows survive where the model says {number(expected[k], 2)}"
    title = farthest if outside.any() else "Rows survive as long as the model says"
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
    events = [f for f in check.overall if f.kind == "events"]
    if not events:
        return None
    names = [f.label or "all" for f in events]
    ratio, low, high = np.array([[f.estimate, *f.interval] for f in events]).T
    kinds = sides(low, high, np.ones(len(events)))
    up = (0.0, min(max(1.1 * float(high.max()), 2.0), 6.0))
    at = np.arange(len(events)) * 1.0
    marks = (c.Rule(1.0), c.Intervals(at, ratio, low, high, kinds, size=8.0))
    title = f"{events[0].words[0].upper()}{events[0].words[1:]}"
    data = c.table({"part": names, "ratio": ratio, "interval": c.spans(low, high)})
    legend = c.keys("line model the model; dot even the data; dot high more events; dot low fewer")
    x = c.places("part of the time, by the model's cumulative hazard", names)
    scale = c.numeric("events / expected", up, 4)
    return Chart(title, "; ".join(f.words for f in events), x, scale, marks, data, legend, (420, 330))
