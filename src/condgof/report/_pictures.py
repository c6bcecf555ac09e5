"""Pictures of a check: y against what is predicted, PITs, slices, the null; and of each kind of y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check._looked import Looked
from condgof.check._record import Check, Slice
from condgof.errors import InputError, check_choice
from condgof.report import _chart as c
from condgof.report import _panels as binned
from condgof.report._chart import Chart, draw, draw_all
from condgof.report._panels import column_panel, forest, map_of, panels
from condgof.report._text import minus
from condgof.result import GofResult, number, rounded

#: Rows drawn: at random, and on each side of those outside the model's 99% interval.
MOST_ROWS, MOST_FAR = 800, 200
#: Normal quantiles: of the 99% interval, the 90% and the 50% one.
FAR, Z90, Z50 = 2.5758, 1.6449, 0.6745
#: Error of each ordered value so that all m are in the band 95% of the time: by simulation
#: of uniforms.
_SIZES = (5, 10, 20, 50, 100, 200, 400, 800, 1500)
_LOCAL = (0.0124, 0.0078, 0.0049, 0.0030, 0.0022, 0.0017, 0.0014, 0.0012, 0.0010)


def fit(
    check: Check, column: str | None = None, part: Slice | None = None, *, y: int = 0
) -> Chart | None:
    """Draw y against what is predicted, or a column, with the model's bands; a slice is shaded."""
    looked = check.looked
    axis = axis_of(looked, column, y)
    if (
        looked.z is None
        or axis is None
        or not (bins := binned.bins_of(axis, check, part)).names
    ):
        return None
    name, z, bands = looked.y_columns[y].name, looked.z[:, y], looked.bands
    values = z if bands is None else looked.y[:, y]
    across, x, drawn = bins.codes.astype(float), bins.scale, np.flatnonzero(bins.codes >= 0)
    if axis.levels is None:
        across, x, drawn = axis.values, c.along(axis), np.arange(looked.n)
    always = [-2.0, 2.0]
    if bands is not None:  # of what is drawn
        seen = bands[
            (across >= x.ends[0]) & (across <= x.ends[1]) & np.isfinite(bands[:, 0])
        ]
        always = [seen[:, 0].min(), seen[:, 4].max()] if len(seen) else []
    up = c.robust_ends(values[drawn], always)
    marks = _model_marks(looked, axis, bins, x.ends)
    if binned.names_column(part, axis):
        inside = binned.part_rows(looked, part)
        whole = [(float(across[inside].min()), float(across[inside].max()))]
        shade = binned.shade(
            whole if axis.levels is None else bins.extent(axis, inside), up
        )
        marks = [shade, *marks]
    rows, legend = _row_marks(looked, across[drawn], values[drawn], z[drawn], x.ends, up)
    out = (np.abs(z) > (2.0 if looked.pit is None else Z90)).astype(float)
    if looked.pit is None and bands is not None:  # NaN where the band is not known
        beyond = (values < bands[:, 0]) | (values > bands[:, 4])
        out = np.where(np.isfinite(bands[:, 0]), beyond, np.nan)
    by_bin, known = [out[rows] for rows in bins.rows], int(np.isfinite(out).sum())
    of = "the rows" if known == looked.n else f"{known:,} rows"
    lawful = looked.pit is not None or bands is not None
    band = (
        "the model's 90% band"
        if lawful
        else "two standard deviations around the prediction"
    )
    title = f"{name} lies outside {band} in {percent(np.nanmean(out))} of {of}"
    data: dict[str, Any] = {x.name: bins.names, "rows": list(map(len, bins.rows))}
    data["median of the data"] = [float(np.median(values[rows])) for rows in bins.rows]
    if bands is not None:
        asked = np.isfinite(bands[:, 0])
        some = [bands[rows[asked[rows]]] for rows in bins.rows]
        q = np.array([b.mean(axis=0) if len(b) else np.full(5, np.nan) for b in some])
        of = "" if asked.all() else f" in {asked.sum():,} rows"
        data |= {f"mean of the model's medians{of}": q[:, 2]}
        data |= {f"means of the ends of its 90% bands{of}": c.spans(q[:, 0], q[:, 4])}
    data[f"outside {band}"] = [
        percent(np.nanmean(o)) if np.isfinite(o).any() else "–" for o in by_bin
    ]
    scale = c.numeric(
        f"residual of {name}, in standard deviations" if bands is None else name, up
    )
    return Chart(title, x, scale, (*marks, *rows), c.table(data), legend, (540, 330))


def axis_of(looked: Looked, column: str | None, y: int = 0) -> Axis | None:
    """Return the column that is named; else the only one of x, or what is predicted."""
    given = [axis for axis in looked.axes if not axis.predicted]
    if column is not None:
        named = [axis for axis in looked.axes if column in (axis.name, axis.label)]
        if not named:
            names = ", ".join(repr(axis.name) for axis in looked.axes)
            raise InputError(f"There is no column {column!r} to draw. There are: {names}.")
        return named[0]
    if len(given) == 1 or looked.location is None:
        return given[0] if given else None
    name = f"predicted {looked.y_columns[y].name}"
    return Axis("predicted", "numbers", looked.location[:, y], None, True, name)


def percent(share: Any) -> str:
    return f"{number(100 * float(share), 2)}%"


def _model_marks(
    looked: Looked, axis: Axis, bins: binned.Bins, ends: c.Ends
) -> list[c.Mark]:
    """Draw the median and the bands: as lines along a column of numbers, as boxes at levels."""
    bands = looked.bands
    if bands is None:
        five = (
            (-2.0, -1.0, 0.0, 1.0, 2.0)
            if looked.pit is None
            else (-Z90, -Z50, 0.0, Z50, Z90)
        )
        x, q = np.array(ends), np.tile(five, (2, 1))
    else:
        known = np.flatnonzero(np.isfinite(bands[:, 0]) & (bins.codes >= 0))
        known = known[np.argsort(axis.values[known], kind="stable")]
        if axis.levels is not None:
            parts = [known[bins.codes[known] == b] for b in np.unique(bins.codes[known])]
        elif (
            len(looked.x_columns) == 1 and not axis.predicted
        ):  # the column says all: lines are exact
            parts = [
                known[[k]]
                for k in np.unique(np.linspace(0, len(known) - 1, 240).astype(int))
            ]
        else:  # bins are smaller towards the ends, so that the lines reach them
            share = (
                np.sin(
                    np.linspace(0.0, np.pi / 2, int(np.clip(len(known) // 8, 2, 28)) + 1)
                )
                ** 2
            )
            parts = np.split(known, np.unique((share[1:-1] * len(known)).astype(int)))
        of = axis.values if axis.levels is None else bins.codes
        x, q = (
            np.array([v[rows].mean(axis=0) for rows in parts if len(rows)])
            for v in (of, bands)
        )
        if axis.levels is not None:  # each level by itself, a place wide
            x, q = (x[:, None] + [-0.4, 0.4, 0.4]).ravel(), np.repeat(q, 3, axis=0)
            q[2::3] = np.nan
    wide = c.Band(x, q[:, 0], q[:, 4], "band90")
    return [wide, c.Band(x, q[:, 1], q[:, 3], "band50"), c.Line(x, q[:, 2])]


def _row_marks(
    looked: Looked, x: FloatArray, y: FloatArray, far: FloatArray, ends: c.Ends, up: c.Ends
) -> tuple[list[c.Mark], tuple[c.Key, ...]]:
    """Draw rows: some at random, all that are far from the model, and at the edges what lies beyond."""
    kinds = np.where(far > FAR, "high", np.where(far < -FAR, "low", "data"))
    edge, beyond, inside = c.beyond(x, y, ends, up, kinds)
    rng, values = np.random.default_rng(0), np.unique(x)
    rest, words = np.flatnonzero(inside & (kinds == "data")), "data"
    if len(rest) > MOST_ROWS:
        rest = np.sort(rng.choice(rest, MOST_ROWS, replace=False))
        words = f"data, {MOST_ROWS} of {looked.n:,} rows"
    if len(values) <= 80:  # rows upon each other are moved aside
        x = x + np.diff(values).min(initial=1.0) * rng.uniform(-0.25, 0.25, len(x))
    y = y + rng.uniform(-0.25, 0.25, len(y)) if looked.kind == "counts" else y
    marks: list[c.Mark] = [c.Points(x[rest], y[rest])]
    legend = [c.Key("dot", "data", words)]
    for kind, side in (("high", "above"), ("low", "below")):
        these = np.flatnonzero(inside & (kinds == kind))
        if len(these):
            farthest = these[np.argsort(-np.abs(far[these]), kind="stable")[:MOST_FAR]]
            marks.append(c.Points(x[farthest], y[farthest], kind, size=5.5))
            words = (
                f"{side} the 99% band"
                if looked.pit is not None
                else f"{side} by 2.58 sd or more"
            )
            some = f" ({MOST_FAR} drawn)" if len(these) > MOST_FAR else ""
            legend.append(c.Key("dot", kind, f"{len(these):,} {words}{some}"))
    words = "line model median; box band50 50%; box band90 90% band"
    if looked.pit is None and looked.bands is None:
        words = "line model prediction; box band50 one sd around it; box band90 two"
    return [*marks, *edge], (*legend, *beyond, *c.keys(words))


def pit(check: Check, *, y: int = 0) -> Chart | None:
    """Draw the PITs as a histogram with the band that holds all its bars 95% of the time."""
    looked = check.looked
    if looked.pit is None:
        return None
    u, name, n = looked.pit[:, y], looked.y_columns[y].name, looked.n
    k = int(np.clip(n // 30, 10, 20))
    counts, edges = np.histogram(u, k, (0.0, 1.0))
    heights = counts * k / n
    low, high = (
        end[None] * k / n for end in binned.chance_ends(n, 1 / k, binned.each_error(k))
    )
    above, below = heights > high, heights < low
    kinds = tuple(np.where(above | below, "barx", "bar").tolist())
    title = f"{name}: of {k} bars, {above.sum()} above the band and {below.sum()} below"
    title = title if "barx" in kinds else f"{name}: all {k} bars are inside the band"
    data = c.table(
        {"PIT": c.spans(edges[:-1], edges[1:]), "rows": counts, "times": heights}
    )
    x = c.numeric(f"where {name} lies in the model's distribution (PIT)", (0.0, 1.0), 4)
    up = c.numeric(
        "rows, times what the model says", (0.0, 1.08 * max(heights.max(), *high)), 4
    )
    legend = c.keys(
        "box bar data; box barx outside the band; box band90 if the model is right"
    )
    band = c.Boxes(np.zeros(1), np.ones(1), low, high, ("band90",))
    marks = (c.bars(edges, heights, kinds), band, c.rule(1.0))
    return Chart(title, x, up, marks, data, legend, (420, 330))


def _part_z(check: Check, part: Slice) -> tuple[FloatArray, str]:
    looked, y = check.looked, binned.part_y(check.looked, part)
    z = np.asarray(looked.z)[binned.part_rows(looked, part), y]
    return np.sort(z), looked.y_columns[y].name


def slice_residuals(check: Check, part: Slice) -> Chart | None:
    """Draw the residuals of a slice's rows against the model; of a discrete y, what was observed."""
    looked = check.looked
    if looked.kind == "censored":
        return survival(check, part)
    if looked.z is None:
        about = classes if part.kind == "class" else reliability
        return (about if looked.kind == "classes" else coverage)(check, part)
    z, name = _part_z(check, part)
    if not len(z):
        return None
    ends, k = (
        c.robust_ends(z, (-3.2, 3.2)),
        int(np.clip(round(2.2 * len(z) ** 0.42), 8, 36)),
    )
    counts, edges = np.histogram(z, k, ends)
    heights, grid = counts / (len(z) * (edges[1] - edges[0])), np.linspace(*ends, 161)
    up = (0.0, 1.1 * max(float(heights.max()), 0.4))
    feet = np.full(len(z), 0.03 * up[1])
    far, beyond, _ = c.beyond(z, feet, ends, up, np.where(z > 0, "high", "low"))
    normal = c.Line(grid, np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi))
    mean, sd = (
        minus(rounded(float(z.mean()))),
        rounded(float(z.std(ddof=min(len(z) - 1, 1)))),
    )
    title = f"Residuals of {name} have mean {mean} and sd {sd} here; the model says 0 and 1"
    legend = (
        c.keys(f"box bar these {len(z):,} rows; line model what the model says") + beyond
    )
    x = c.numeric(f"residual of {name}, in standard deviations", ends)
    data = c.table({"residual": c.spans(edges[:-1], edges[1:]), "rows": counts})
    line = normal if looked.pit is not None else c.rule(0.0, False)
    marks = (c.bars(edges, heights, ("bar",) * k), line, *far)
    return Chart(title, x, c.numeric("density", up, 3), marks, data, legend)


def slice_qq(check: Check, part: Slice) -> Chart | None:
    """Draw the ordered residuals of a slice against those expected, with a band for all of them."""
    if check.looked.pit is None:
        return None
    z, name = _part_z(check, part)
    if len(z) < 2:
        return None
    m, i = len(z), np.arange(1.0, len(z) + 1)
    local = float(np.interp(np.log(m), np.log(_SIZES), _LOCAL))
    low, high = (
        np.asarray(ndtri(betaincinv(i, m + 1 - i, p))) for p in (local / 2, 1 - local / 2)
    )
    expected = np.asarray(ndtri((i - 0.5) / m))
    ends = -1.06 * expected[-1], 1.06 * expected[-1]
    up = c.robust_ends(z, ends)
    far, beyond, inside = c.beyond(
        expected, z, ends, up, np.where(z > up[1], "high", "low")
    )
    kinds = np.where(z > high, "high", np.where(z < low, "low", "data"))
    inside &= np.isin(i, np.linspace(1, m, 500).astype(int)) | (np.abs(z) > FAR)
    few = np.unique(np.linspace(0, m - 1, 500).astype(int))
    band = c.Band(expected[few], low[few], high[few])
    marks: list[c.Mark] = [band, c.Line(np.array(ends), np.array(ends))]
    for kind in ("data", "high", "low"):
        at = inside & (kinds == kind)
        marks.append(c.Points(expected[at], z[at], kind, size=4.5))
    count = int((kinds != "data").sum())
    title = f"{count:,} of {m:,} ordered residuals lie outside the band"
    title = title if count else "All rows lie in the band"
    p = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    data = {
        "quantile": [f"{v:.0%}" for v in p],
        "observed": np.quantile(z, p),
        "expected": ndtri(p),
    }
    legend = c.keys(
        "line model what the model says; box band90 where all rows are if it is right"
    )
    x, scale = (
        c.numeric("expected under the model", ends),
        c.numeric(f"residual of {name}", up),
    )
    return Chart(title, x, scale, (*marks, *far), c.table(data), legend + beyond)


def null_picture(result: GofResult) -> Chart | None:
    """Draw what the statistic does when the model is right, and where it is."""
    draws, what = result.null_distribution, "draws from the model"
    if (draws is None or not len(draws)) and "normal" in (result.null or ""):
        draws, what = ndtri((np.arange(1000) + 0.5) / 1000), "quantiles of the normal limit"
    if draws is None or not len(draws):
        return None
    seen, low, high = result.statistic, float(draws.min()), float(draws.max())
    far = seen - high > 1.5 * (high - low)
    ends = c.ends_of(
        np.array([low, high + 0.3 * (high - low) if far else max(high, seen)]), 0.03
    )
    counts, edges = np.histogram(draws, 40, ends)
    beyond = np.histogram(draws[draws >= seen], edges)[0]
    at, up = min(seen, ends[1] - 0.02 * (ends[1] - ends[0])), 1.12 * float(counts.max())
    side, gap = ("start", 0.012) if at < sum(ends) / 2 else ("end", -0.012)
    words = f"the data: {number(seen)}{' →' if far else ''}"
    marks = (
        c.bars(edges, counts, ("band50",) * 40),
        c.bars(edges, beyond, ("barx",) * 40),
        c.rule(at, False, "data"),
        c.Text(at + gap * (ends[1] - ends[0]), 0.94 * up, words, side),
    )
    title = (
        f"{beyond.sum():,} of {len(draws):,} {what} have as large a statistic as the data"
    )
    legend = c.keys("box band50 draws if the model is right; line data the data")
    data = c.table({"statistic": c.spans(edges[:-1], edges[1:]), "draws": counts})
    x, y = (
        c.numeric("test statistic (larger: worse fit)", ends),
        c.numeric("draws", (0.0, up), 4),
    )
    return Chart(title, x, y, marks, data, legend)


#: Most bins of confidence, classes, counts and steps of survival that are drawn.
MOST_BINS, MOST_CLASSES, MOST_COUNTS, MOST_STEPS = 10, 24, 25, 400
#: Hall and Wellner's bound: a Brownian bridge stays within it with probability 0.95.
BRIDGE = 1.358
#: What should be equal.
DIAGONAL = c.Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def reliability(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often the most probable class was right against how sure the model was."""
    looked = check.looked
    if looked.kind != "classes":
        return None
    right, sure = (
        values[binned.part_rows(looked, part)] for values in binned.right_and_sure(looked)
    )
    cuts = np.linspace(0, 1, int(np.clip(len(sure) // 40, 1, MOST_BINS)) + 1)[1:-1]
    codes = np.searchsorted(np.unique(np.quantile(sure, cuts)), sure, side="right")
    bins = [np.flatnonzero(codes == b) for b in np.unique(codes)]
    n, hits = np.array(list(map(len, bins))), np.array([right[rows].sum() for rows in bins])
    each = [(sure[rows].min(), sure[rows].mean(), sure[rows].max()) for rows in bins]
    first, predicted, last = np.array(each).T
    seen, low, high, kinds = binned.shares(hits, n, predicted, True)
    least, most = (
        k / n for k in binned.chance_ends(n, predicted, binned.each_error(len(n)))
    )
    foot, base = (
        float(np.floor(10 * v) / 10) for v in (sure.min(), min(low.min(), least.min()))
    )
    base -= 0.1
    counts, edges = np.histogram(sure, 24, (foot, 1.0))
    tall = base + 0.15 * (1.03 - base) * counts / counts.max()
    marks = (
        c.Boxes(edges[:-1], edges[1:], np.full(24, base), tall, ("bar",) * 24),
        c.Boxes(first, np.maximum(last, first + 0.004), least, most, ("band90",) * len(n)),
        DIAGONAL,
        c.Intervals(predicted, seen, low, high, kinds),
    )
    mean, often = rounded(float(sure.mean())), rounded(float(right.mean()))
    title = f"The model says {mean} and is right in {often} of the rows"
    data = {"confidence": c.spans(first, last), "rows": n, "mean": predicted, "right": seen}
    data["95% interval for all"] = c.spans(low, high)
    ways = "dot even how often it was right; dot high too sure; dot low not sure enough"
    legend = c.keys(f"{ways}; box band90 if the model is right; box bar rows")
    x = c.numeric("how sure the model was", (foot - 0.01, 1.01))
    y = c.numeric("share in which it was right", (base, 1.03))
    return Chart(title, x, y, marks, c.table(data), legend, (540, 330))


def classes(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often each class was observed, with its interval, and how often it was predicted."""
    looked, names = check.looked, check.looked.class_names
    if looked.kind != "classes" or looked.codes is None:
        return None
    inside, count = binned.part_rows(looked, part), len(names)
    n, rows = int(inside.sum()), np.bincount(looked.codes[inside], minlength=count)
    predicted = np.asarray(looked.probabilities, dtype=float)[inside].mean(axis=0)
    seen, low, high, kinds = binned.shares(rows, n, predicted)
    order = np.argsort(-np.abs(seen - predicted), kind="stable")
    drawn, worst = np.sort(order[:MOST_CLASSES]), order[0]
    says = f"{rounded(seen[worst])} of the rows; the model says {rounded(predicted[worst])}"
    title = f"{names[worst]} came in {says}"
    title = (
        title if set(kinds) != {"even"} else "Each class came as often as the model says"
    )
    legend = c.keys(
        "pin model predicted; dot even observed; dot high more often; dot low less often"
    )
    some = f", {MOST_CLASSES} of {count} classes" * (count > MOST_CLASSES)
    numbers = np.column_stack([seen, low, high, predicted])[drawn]
    axis, shown = (
        f"share of the rows{some}",
        [f"{names[i]} · {rows[i]:,} rows" for i in drawn],
    )
    return binned.intervals(axis, shown, numbers, wide=420, title=title, legend=legend)


def rootogram(check: Check) -> Chart | None:
    """Draw counts hanging from what the model expects of them, on a scale of square roots."""
    looked, p = check.looked, check.looked.count_probabilities
    if p is None:
        return None
    n, last, name = looked.n, len(p) - 1, looked.y_columns[0].name
    starts = np.unique([*range(0, last, -(-last // MOST_COUNTS)), last])
    each = np.bincount(np.minimum(looked.y[:, 0].astype(int), last), minlength=last + 1)
    expected, seen = np.add.reduceat(p, starts) * n, np.add.reduceat(each, starts)
    names = [f"{a}" if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(starts)] + [
        f"{last}+"
    ]
    count, at = len(starts), np.arange(len(starts)) * 1.0
    least, most = binned.chance_ends(
        n, np.clip(expected / n, 0, 1), binned.each_error(count)
    )
    kinds = np.where(seen > most, "s2", np.where(seen < least, "s-2", "bar"))
    top = np.sqrt(np.maximum(expected, 0.0))
    hang, floor, ceiling = (top - np.sqrt(k) for k in (seen, most, least))
    marks = (
        c.Boxes(at - 0.42, at + 0.42, hang, top, tuple(kinds.tolist())),
        c.Boxes(at - 0.5, at + 0.5, floor, ceiling, ("band90",) * count),
        c.rule(0.0, kind="soft"),
        c.Line(at, top),
        c.Points(at, top, "model", size=5.0),
    )
    worst = int(np.argmax(np.abs(seen - expected) / np.sqrt(np.maximum(expected, 1))))
    usual = number(float(expected[worst]))
    title = (
        f"{name} was {names[worst]} in {seen[worst]:,} rows, where the model expects"
        f" {usual}"
    )
    title = (
        title
        if (kinds != "bar").any()
        else f"Each {name} came as often as the model expects"
    )
    ends = 1.1 * float(min(hang.min(), floor.min())), 1.06 * float(top.max())
    ticks = [
        m * 10.0**k
        for k in range(9)
        for m in (1, 4)
        if 0.12 < (m * 10.0**k) ** 0.5 / ends[1] <= 1
    ]
    y = c.Scale(
        "rows (square roots)", ends, (0.0, *np.sqrt(ticks)), ("0", *map(number, ticks))
    )
    thin = -(-count // 13)
    x = c.Scale(
        name, (-0.7, count - 0.3), tuple(at[::thin].tolist()), tuple(names[::thin]), True
    )
    ways = (
        "line model expected; box bar observed, hanging; box s2 more than expected; box s-2"
        " less"
    )
    legend = c.keys(f"{ways}; box band90 where bars end if the model is right")
    data = c.table({name: names, "rows": seen, "expected": expected})
    return Chart(title, x, y, marks, data, legend, (420, 330))


def coverage(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw how often y was inside each interval, or not above each quantile, against what they say."""
    looked = check.looked
    if not looked.events or looked.codes is None:
        return None
    codes, below = (
        looked.codes[binned.part_rows(looked, part)],
        looked.events[0].kind == "quantile",
    )
    n, levels = len(codes), np.array([event.level for event in looked.events])
    rows = np.array([int(event.happened(codes).sum()) for event in looked.events])
    seen, low, high, kinds = binned.shares(rows, n, levels, True)
    what, verb = ("quantile", "is not below") if below else ("interval", "holds")
    names = [f"{s:g} quantile" if below else f"{100 * s:g}% interval" for s in levels]
    worst = int(np.argmax(np.abs(seen - levels) / np.sqrt(levels * (1 - levels))))
    title = f"The {names[worst]} {verb} {number(100 * seen[worst], 2)}% of the rows"
    title = (
        title if set(kinds) != {"even"} else f"Each {what} {verb} as many rows as it says"
    )
    low_way, high_way = ("too high", "too low") if below else ("too wide", "too narrow")
    ways = f"dot high {high_way}; dot low {low_way}"
    legend = c.keys(f"line model what it says; dot even observed; {ways}")
    x = c.numeric(f"what the {what} says", (0.0, 1.0))
    y = c.numeric(
        "share of rows " + ("not above it" if below else "inside it"), (-0.02, 1.02)
    )
    data = c.table(
        {what: names, "observed": seen, "95% interval for all": c.spans(low, high)}
    )
    marks = (DIAGONAL, c.Intervals(levels, seen, low, high, kinds))
    return Chart(title, x, y, marks, data, legend, (420, 330))


def kaplan_meier(looked: Looked, rows: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the times Λ of events in order, the estimate of P(Λ > ·) after each, and rows at risk."""
    three = looked.hazard, looked.before, looked.event
    hazard, before, event = (np.asarray(part)[rows] for part in three)
    at, counts = np.unique(hazard[event], return_counts=True)
    left = np.searchsorted(np.sort(hazard), at, side="left")
    risk = np.searchsorted(np.sort(before), at, side="left") - left
    return (
        np.asarray(at),
        np.cumprod(1.0 - counts / np.maximum(risk, counts)),
        np.asarray(risk),
    )


def survival(check: Check, part: Slice | None = None) -> Chart | None:
    """Draw the Kaplan-Meier estimate of Λ, unit exponential under the model, with a band around that."""
    looked = check.looked
    if looked.kind != "censored":
        return None
    rows = np.flatnonzero(binned.part_rows(looked, part))
    at, share, risk = kaplan_meier(looked, rows)
    if not len(at):
        return None
    n, expected = len(rows), np.exp(-at)
    spread = n * np.cumsum(np.diff(at, prepend=0.0) / np.maximum(risk, 1))
    half = BRIDGE * (1.0 + spread) / np.sqrt(n) * expected
    low, high = np.clip(expected - half, 0.0, 1.0), np.clip(expected + half, 0.0, 1.0)
    # The estimate never rises: it is below what it was below before, and the other way
    # round.
    low, high = np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)
    outside = (share < low) | (share > high)
    few = np.unique(np.linspace(0, len(at) - 1, MOST_STEPS).astype(int))
    ends, grid = (0.0, 1.02 * float(at[-1])), np.linspace(0.0, float(at[-1]), 161)
    steps = (
        np.repeat(np.append(0.0, at[few]), 2)[1:],
        np.repeat(np.append(1.0, share[few]), 2)[:-1],
    )
    marks = (
        c.Band(at[few], low[few], high[few]),
        c.Line(grid, np.exp(-grid)),
        c.Line(*steps, "data"),
    )
    k = int(np.argmax(np.where(outside, np.abs(share - expected), 0.0)))
    farthest = (
        f"{number(share[k], 2)} of the rows survive where the model says"
        f" {number(expected[k], 2)}"
    )
    title = farthest if outside.any() else "Rows survive as long as the model says"
    some = few[:: max(1, len(few) // 12)]
    data = {
        "events expected by then": at[some],
        "survive": share[some],
        "model": expected[some],
    }
    ways = f"line data Kaplan-Meier estimate of {n:,} rows; line model the model; "
    ways += "box band90 95% band if it is right"
    x = c.numeric("cumulative hazard of the model, −log P(Y > y|x)", ends)
    y = c.numeric("share without event", (0.0, 1.03), 5)
    return Chart(title, x, y, marks, c.table(data), c.keys(ways), (540, 330))


#: The first pictures of each kind of y; else `fit` and `pit`.
FIRST: dict[str, tuple[Callable[[Check], Chart | None], ...]] = {
    "classes": (reliability, classes),
    "censored": (survival,),
    "counts": (fit, rootogram),
    "quantiles": (coverage, fit),
    "intervals": (coverage, fit),
}


def first_pictures(check: Check) -> list[Chart]:
    draws = FIRST.get(check.looked.kind, (fit, pit))
    return [chart for draw in draws if (chart := draw(check)) is not None]


def main_pictures(check: Check) -> list[Chart]:
    """Return the four pictures that matter: all rows, slices or groups, the column that leads."""
    charts = [*first_pictures(check), forest(check.slices or check.groups)]
    charts += [*panels(check, 2, wide=True), null_picture(check.result)]
    return [chart for chart in charts if chart is not None][:4]


def plot_check(
    check: Check, what: str | None = None, ax: object = None, **which: Any
) -> Any:
    """Draw the report's main pictures, or one of them, with matplotlib; see `Check.plot`."""

    def chosen(number: int) -> Slice:
        if number not in range(1, len(check.slices) + 1):
            raise InputError(
                f"There are {len(check.slices)} slices, counted from 1; got {number!r}."
            )
        return check.slices[number - 1]

    def axis(column: str) -> Any:
        return axis_of(check.looked, column)

    known: dict[str, Callable[..., Chart | None]] = {
        "fit": lambda column=None, y=0: fit(check, column, y=y),
        "pit": lambda y=0: pit(check, y=y),
        "slices": lambda: forest(check.slices),
        "groups": lambda: forest(check.groups),
        "column": lambda column, y=None: column_panel(check, axis(column), y=y, wide=True),
        "slice": lambda number=1: slice_residuals(check, chosen(number)),
        "qq": lambda number=1: slice_qq(check, chosen(number)),
        "map": lambda columns: map_of(check, axis(columns[0]), axis(columns[1])),
        "null": lambda: null_picture(check.result),
    }
    for alone in (reliability, classes, rootogram, coverage, survival):
        known[alone.__name__] = partial(alone, check)
    if what is None:
        if ax is not None or which:
            raise InputError(f"Name one picture to draw: {', '.join(map(repr, known))}.")
        return draw_all(main_pictures(check))
    draws = known[check_choice(what, "what", known)]
    try:
        chart = draws(**which)
    except (TypeError, IndexError) as error:
        raise InputError(f"plot({what!r}) cannot be drawn so: {error}.") from error
    if chart is None:
        raise InputError(f"This check of {check.looked.kind} has no picture {what!r}.")
    return draw(chart, ax)


def plot_result(result: GofResult, ax: object = None) -> Any:
    chart = null_picture(result)
    if chart is None:
        lacking = f"This {result.method} result has no null distribution to draw"
        raise InputError(f"{lacking}. Run the test with null='wild'.")
    return draw(
        replace(chart, title=f"{result.method}, n = {result.n:,}: {result.pvalue_words}"),
        ax,
    )
