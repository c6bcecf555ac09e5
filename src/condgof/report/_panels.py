"""What residuals do along columns, in maps of two, and in slices or groups that are listed together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._axes import Axis
from condgof.check._findings import Reader
from condgof.check._looked import Looked
from condgof.check._record import Check, Slice
from condgof.check._signals import events_of
from condgof.report import _binned as binned
from condgof.report import _chart as c
from condgof.report._binned import Bins, bins_of, each_error, names_column, part_rows, sides
from condgof.report._chart import Chart, title_of
from condgof.report._text import shorten
from condgof.result import number, share_interval, size

#: Levels of the quantiles of residuals that are drawn, and the normal quantile of the last.
LEVELS, Z80 = (0.1, 0.5, 0.9), 1.2816
#: Cells with fewer rows say little.
FEW = 10


@dataclass(frozen=True, eq=False)
class _Along:
    """Estimates by bin (B, K) with intervals, what the model says (K,), and colours."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    expected: tuple[float, ...]
    kinds: AnyArray
    #: Of z: the colours of boxes from the first to the last estimate.
    boxes: tuple[str, ...]
    heads: tuple[str, ...]
    #: What stands out most, in words; "" if nothing does.
    words: str


def column_panel(
    check: Check,
    axis: Axis,
    part: Slice | None = None,
    *,
    y: int | None = None,
    ends: c.Ends | None = None,
    wide: bool = False,
) -> Chart | None:
    """Draw residual quantiles along a column by bin; of classes and intervals, shares.

    `ends` of the y axis may be shared by panels; a slice is shaded; a `wide` panel has a legend.
    """
    looked, bins, name = check.looked, bins_of(axis), title_of(axis)
    profile = _along(looked, bins, strongest(looked) if y is None else y) if bins.names else None
    if profile is None:
        return None
    up, last = ends or _ends(looked, [profile]), len(profile.expected) - 1
    at = np.arange(len(bins.names)) * 1.0
    marks: list[c.Mark] = []
    if names_column(part, axis):
        marks.append(binned.shade(bins.extent(axis, part_rows(looked, part)), up))
    if profile.boxes:
        low, high = np.clip(profile.values[:, [0, last]].T, *up)
        marks.append(c.Boxes(at - 0.34, at + 0.34, low, high, profile.boxes))
    data: dict[str, Any] = {name: bins.names, "rows": list(map(len, bins.rows))}
    dots = [not profile.boxes or 0 < k < last for k in range(last + 1)]
    marks += [c.Rule(e, dashed=not (dots[k] and profile.boxes)) for k, e in enumerate(profile.expected)]
    for k, head in enumerate(profile.heads):
        three = profile.values[:, k], profile.low[:, k], profile.high[:, k]
        marks.append(c.Intervals(at, *three, tuple(profile.kinds[:, k]), size=6.5 if dots[k] else 1.0))
        data |= {head: three[0], f"95% interval of {head}": c.spans(*three[1:])}
    alone = [s for s in check.slices if {one.column for one in s.conditions} == {axis.name}]
    words = f"{alone[0].direction} where {alone[0].words}" if alone else profile.words
    label, legend = _words(looked)
    desc = f"{label} along {name}: {profile.words or 'no bin differs by more than chance'}.{bins.less}"
    size_, keys = ((540, 320), c.keys(legend)) if wide else ((330, 210), ())
    scale = c.numeric(label, up, 5 if wide else 3)
    title = f"{name}: {words or 'nothing stands out'}"
    return Chart(title, desc, bins.scale, scale, tuple(marks), c.table(data), keys, size_)


def panels(check: Check, most: int = 12, *, wide: bool = False) -> list[tuple[Axis, Chart]]:
    """Return the panels of the columns that explain most, the first first, on one y axis."""
    looked = check.looked
    y, seen = strongest(looked), binned.evidence(looked)
    drawn = [axis for axis in looked.axes if bins_of(axis).names]
    ranked = sorted(drawn, key=lambda axis: -binned.explained(seen, bins_of(axis)))[:most]
    profiles = [along for axis in ranked if (along := _along(looked, bins_of(axis), y)) is not None]
    ends = _ends(looked, profiles) if profiles else None
    charts = [(axis, column_panel(check, axis, y=y, ends=ends, wide=wide)) for axis in ranked]
    return [(axis, chart) for axis, chart in charts if chart is not None]


def panel_keys(check: Check) -> tuple[c.Key, ...]:
    """Return the legend that all panels share."""
    return c.keys(_words(check.looked)[1])


def strongest(looked: Looked) -> int:
    """Return the column of y that is farthest from the model."""
    count = 1 if looked.z is None else len(looked.y_columns)
    means = [np.abs(binned.evidence(looked, y).mean(axis=0)) for y in range(count)]
    return int(np.argmax([each.max(initial=0.0) for each in means]))


def _words(looked: Looked) -> tuple[str, str]:
    """Return the name of the y axis of panels, and their legend."""
    if looked.z is not None:
        data = "middle 80% and median of the data" if looked.pit is not None else "mean of the data ± sd"
        ways = "box s2 model too narrow; box s-2 too wide; dot high too low; dot low too high"
        return "residual, in sd", f"box bar {data}; dashed model of the model; {ways}"
    if looked.kind == "censored":
        ways = "dot high more than expected; dot low fewer"
        return "events / expected", f"dashed model of the model; dot even the data; {ways}"
    if looked.kind == "classes":
        return "accuracy − confidence", "dot even the data; dot high too sure; dot low not sure enough"
    low, high = ("too high", "too low") if looked.kind == "quantiles" else ("too wide", "too narrow")
    name = "share not above" if looked.kind == "quantiles" else "share inside"
    return name, f"dashed model of the model; dot even the data; dot high {high}; dot low {low}"


def _along(looked: Looked, bins: Bins, y: int) -> _Along | None:
    if looked.z is not None:
        return _of_z(looked.z[:, y], bins, looked.pit is not None)
    if looked.kind == "censored":
        return _ratios(looked, bins)
    if looked.kind == "classes":
        right, sure = binned.right_and_sure(looked)
        return _shares(bins, [right], [sure], ["accuracy − confidence"], True)
    if not looked.events or looked.codes is None:
        return None
    events = [looked.events[k] for k in sorted({0, len(looked.events) // 2, len(looked.events) - 1})]
    below = looked.kind == "quantiles"  # an event is that y exceeds a quantile
    happened = [event.happened(looked.codes) != below for event in events]
    heads = [f"not above the {e.level:g} quantile" if below else f"inside {e.level:.0%}" for e in events]
    return _shares(bins, happened, [np.full(looked.n, e.level) for e in events], heads, False)


def _of_z(z: FloatArray, bins: Bins, normal: bool) -> _Along:
    """Return quantiles of residuals that are normal under the model, or mean and sd of others."""
    from scipy.special import ndtri

    rows = [z[at] for at in bins.rows]
    n, error = np.array(list(map(len, rows))), each_error(2 * len(rows))
    if normal:
        values = np.array([np.quantile(part, LEVELS) for part in rows])
        each = [[binned.quantile_ends(part, p, 0.05) for p in LEVELS] for part in rows]
        low, high = np.moveaxis(np.array(each), 2, 0)
        left, right = np.array([binned.quantile_ends(part, 0.5, error) for part in rows]).T
        out = np.array([(np.abs(part) > Z80).mean() for part in rows])
        least, most = (k / n for k in binned.chance_ends(n, np.array(0.2), error))
        wide = sides(out, out, np.clip(out, least, most))
        spread = (values[:, 2] - values[:, 0]) / (2 * Z80)
        expected, heads = (-Z80, 0.0, Z80), ("10% quantile", "median", "90% quantile")
    else:
        mean, spread = (np.array([f(part) for part in rows]) for f in (np.mean, np.std))
        values = np.column_stack([mean - spread, mean, mean + spread])
        reach = -ndtri(error / 2) / np.sqrt(n)
        low, high = (values + s * (spread / np.sqrt(n))[:, None] for s in (-1.96, 1.96))
        left, right = mean - reach * spread, mean + reach * spread
        fourth = np.array([np.std((part - part.mean()) ** 2) for part in rows])
        rough = 0.5 * reach * fourth / np.maximum(spread, 1e-9)  # of a standard deviation, any tails
        wide = sides(spread - rough, spread + rough, np.array(1.0))
        expected, heads = (-1.0, 0.0, 1.0), ("mean − sd", "mean", "mean + sd")
    dots, remarks = sides(left, right, np.array(0.0)), [(0.0, "")]
    for b, at in enumerate(bins.names):
        shift, times = abs(float(values[b, 1])), max(float(spread[b]), 1e-9)
        if dots[b] != "even":
            side = "above" if dots[b] == "high" else "below"
            remarks.append(
                (shift * n[b] ** 0.5, f"{heads[1]} {size(shift)} sd {side} the model's at {at}")
            )
        if wide[b] != "even":
            words = f"the data spread {size(times)} times as much as the model says at {at}"
            remarks.append((abs(np.log(times)) * (2 * n[b]) ** 0.5, words))
    kinds = np.full((len(rows), 3), "even", dtype=object)
    kinds[:, 1] = dots
    boxes = tuple({"high": "s2", "low": "s-2"}.get(side, "bar") for side in wide)
    return _Along(values, low, high, expected, kinds, boxes, heads, max(remarks)[1])


def _shares(
    bins: Bins, happened: Sequence[AnyArray], say: Sequence[FloatArray], heads: Sequence[str], less: bool
) -> _Along:
    """Return shares by bin; `less` what is expected, where that differs from row to row."""
    n = np.array(list(map(len, bins.rows)))[:, None]
    seen = np.array([[did[rows].sum() for did in happened] for rows in bins.rows])
    expected = np.array([[p[rows].mean() for p in say] for rows in bins.rows])
    low, high = (end - expected * less for end in share_interval(seen, n, 0.05))
    ends = share_interval(seen, n, each_error(seen.size))
    kinds = np.array(sides(*ends, expected, True), dtype=object)
    strength = np.where(kinds != "even", np.abs(seen / n - expected) * np.sqrt(n), 0.0)
    b, k = np.unravel_index(np.argmax(strength), strength.shape)
    words = f"{number(seen[b, k] / n[b, 0], 2)} where the model says {number(expected[b, k], 2)}"
    words = f"{words} at {bins.names[b]}" if strength.any() else ""
    levels = (0.0,) if less else tuple(expected[0].tolist())
    return _Along(seen / n - expected * less, low, high, levels, kinds, (), tuple(heads), words)


def _ratios(looked: Looked, bins: Bins) -> _Along:
    """Return events over those expected, by bin."""
    from scipy.special import ndtri

    happened, expected = (part[:, 0] for part in events_of(looked))
    seen = [
        [Reader(looked, reach).ratio(rows, happened[rows], expected[rows]) for rows in bins.rows]
        for reach in (1.96, -float(ndtri(each_error(len(bins.rows)) / 2.0)))
    ]
    one, every = (np.array([[value, *ends] for value, ends in each]) for each in seen)
    kinds = np.array(sides(every[:, 1:2], every[:, 2:], np.ones((len(every), 1))), dtype=object)
    strength = np.array([happened[rows].sum() for rows in bins.rows]) ** 0.5 * np.abs(one[:, 0] - 1.0)
    b = int(np.argmax(np.where(kinds[:, 0] != "even", strength, -1.0)))
    words = f"{number(one[b, 0], 2)} times the events expected at {bins.names[b]}"
    words = words if kinds[b, 0] != "even" else ""
    head = ("events / expected",)
    return _Along(one[:, :1], one[:, 1:2], one[:, 2:], (1.0,), kinds, (), head, words)


def _ends(looked: Looked, profiles: Sequence[_Along]) -> c.Ends:
    """Return one y axis for panels."""
    values = np.concatenate([one.values.ravel() for one in profiles])
    if looked.kind == "censored":
        return 0.0, min(max(float(values.max()) * 1.3, 2.0), 6.0)
    if looked.z is None and looked.kind != "classes":
        low = min(float(values.min()), *profiles[0].expected)
        return (max(0.0, low - 0.12) if low > 0.2 else -0.02), 1.02
    least, most = (2.0, 5.0) if looked.z is not None else (0.1, 1.0)
    reach = float(np.clip(1.45 * np.abs(values).max(), least, most))
    return -reach, reach


def map_of(
    check: Check, a: Axis, b: Axis, of: str | None = None, part: Slice | None = None
) -> Chart | None:
    """Draw two columns in cells, coloured by how the data differ there: "shift" or "spread" of z.

    Of classes it is confidence less accuracy, of quantiles and intervals a share less what it should be.
    """
    looked, pair = check.looked, (bins_of(a, 7), bins_of(b, 7))
    differences = _differences(looked, of)
    if differences is None:
        return None
    each, (low_way, high_way), unit = differences
    log, wide = unit == " times", len(pair[1].names)
    cell = np.where((pair[0].codes < 0) | (pair[1].codes < 0), -1, pair[0].codes * wide + pair[1].codes)
    inside = [(int(k), each[cell == k]) for k in np.unique(cell) if k >= 0 and (cell == k).sum() > log]
    if not inside:
        return None
    at, n = np.array([k for k, _ in inside]), np.array([len(part_values) for _, part_values in inside])
    values = np.array(
        [
            np.log(max(part_values.std(ddof=1), 1e-3)) if log else part_values.mean()
            for _, part_values in inside
        ]
    )
    few, (x, y) = n < FEW, np.divmod(at, wide) * np.ones(1)
    top = max(float(np.quantile(np.abs(values[~few]), 0.9)) if (~few).any() else 0.0, 0.1)
    steps = np.clip(np.rint(values / top * c.STEPS), -c.STEPS, c.STEPS).astype(int)
    texts = [f"{size(float(np.exp(v) if log else v))}{unit}" for v in values]
    names = [[bins.names[int(k)] for k in place] for bins, place in zip(pair, (x, y), strict=True)]
    tips = tuple(f"{i}, {j}: {t}, {k:,} rows" for i, j, t, k in zip(*names, texts, n, strict=True))
    kinds = tuple(f"s{step}" for step in steps)
    marks: list[c.Mark] = [c.Boxes(x - 0.5, x + 0.5, y - 0.5, y + 0.5, kinds, few, tips)]
    if part is not None and (names_column(part, a) or names_column(part, b)):
        rows, edges = part_rows(looked, part), list[c.Ends]()
        for axis, bins in zip((a, b), pair, strict=True):
            ranges = bins.extent(axis, rows) if names_column(part, axis) else []
            edges.append((ranges[0][0], ranges[-1][1]) if ranges else bins.scale.ends)
        (i, j), (k, m) = edges
        marks.append(c.Line(np.array([i, j, j, i, i]), np.array([k, k, m, m, k]), "ink"))
    low, high = (f"{size(float(np.exp(v)) if log else abs(v))}{unit}" for v in (-top, top))
    legend = (c.Key("ramp", "s0", f"{low_way}, {'≤' if log else '≥'} {low}|≥ {high}, {high_way}"),)
    error = np.std((each - each.mean()) ** 2) / (2 * each.var()) if log else each.std()
    strength = np.where(few, 0.0, np.abs(values) * np.sqrt(n) / max(error, 1e-9))
    worst = int(np.argmax(strength))
    where = f"{title_of(a)} {names[0][worst]} and {title_of(b)} {names[1][worst]}"
    way = high_way if values[worst] > 0 else low_way
    title = f"The model is {way} above all at {where}: {texts[worst]}"
    if strength[worst] < (2 * np.log(2 * len(at))) ** 0.5:
        title = "No cell differs from the model by more than chance"
    desc = f"{len(at)} cells; {few.sum()} of them have fewer than {FEW} rows and are faint."
    data = c.table({title_of(a): names[0], title_of(b): names[1], "data to model": texts, "rows": n})
    return Chart(title, desc, pair[0].scale, pair[1].scale, tuple(marks), data, legend, (460, 340))


def _differences(looked: Looked, of: str | None) -> tuple[FloatArray, tuple[str, str], str] | None:
    """Return what cells are about: values of rows, words for both ways, and the unit."""
    if looked.z is not None:
        y = strongest(looked)
        means = np.abs(binned.evidence(looked, y).mean(axis=0))
        if of == "spread" or (of is None and means[1] > means[0]):
            return looked.z[:, y], ("too wide", "too narrow"), " times"
        return looked.z[:, y], ("too high", "too low"), " sd"
    if looked.kind == "classes":
        right, sure = binned.right_and_sure(looked)
        return sure - right, ("not sure enough", "too sure"), ""
    if not looked.events or looked.codes is None:
        return None
    event = max(looked.events, key=lambda e: abs(e.level - 0.5))
    more = event.happened(looked.codes) - event.expected
    below = event.kind == "quantile"
    return (more, ("too high", "too low"), "") if below else (-more, ("too wide", "too narrow"), "")


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
    """Draw findings of one kind on one axis: of that which leads most often where it is certain."""
    first = [item.findings[0] for item in items if item.findings]
    leading = [f for f in first if kind in (None, f.kind)]
    leading = leading or [f for item in items for f in item.findings if f.kind == kind]
    leading = [f for f in leading if f.telling] or leading
    if not leading:
        return None
    about = Counter((f.kind, f.label, f.column) for f in leading).most_common(1)[0][0]
    listed = [(s, f) for s in items for f in s.findings if (f.kind, f.label, f.column) == about]
    many = len(listed) > MOST_ROWS
    listed = (
        sorted(listed, key=lambda each: each[1].estimate - each[1].expected) if many else listed[::-1]
    )
    parts, count, turned = [s for s, _ in listed], len(listed), about[0] in TURNED
    numbers = np.array([[f.estimate, *f.interval, f.expected] for _, f in listed])
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
    title = title if count > 1 else f"{words}: {listed[0][1].words}"
    beside = f"{number(float(estimate[far]))} where the model says {number(float(expected[far]))}"
    data = {"where": [s.words for s in parts], "rows": [s.n for s in parts], "estimate": estimate}
    table = c.table({**data, "interval": spans, "the model says": expected})
    more, less = ("low", "high") if turned else ("high", "low")
    legend = c.keys(f"dashed model of the model; dot {more} more; dot {less} less; dot even not certain")
    x, y, shape = c.numeric(name, ends), c.Scale("", (-0.5, count - 0.3)), (460, 60 + 38 * count)
    if many:
        x = c.Scale(f"{count:,} groups, by estimate", (-0.02 * count - 0.5, 1.02 * count - 0.5))
        y, shape = c.numeric(name, ends), (540, 340)
    return Chart(title, f"{name}: {beside} for {words}.", x, y, tuple(marks), table, legend, shape)
