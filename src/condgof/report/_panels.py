"""Columns in bins, and pictures of them: residuals along columns, maps of two, slices on one axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check._findings import Reader
from condgof.check._looked import Looked, events_of
from condgof.check._record import Check, Slice
from condgof.report import _chart as c
from condgof.report._chart import Chart, Ends, written
from condgof.report._text import minus, shorten
from condgof.result import number, rounded, share_interval

#: A column is cut into at most so many bins, and at most so many levels are drawn; rows of
#: a bin, and the fewest of a level that is named: a report must not list the people of an
#: id column.
MOST, ROWS, FEWEST = 12, 60, 5
#: Levels of the quantiles of residuals that are drawn, and the normal quantile of the last.
LEVELS, Z80 = (0.1, 0.5, 0.9), 1.2816
#: Standard errors times √n under the model: of the median, and of the width from 10% to 90%
#: to its own.
MEDIAN_ERROR, WIDTH_ERROR = 1.2533, 0.8892
#: Cells with fewer rows say little.
FEW = 10


@dataclass(frozen=True, eq=False)
class Bins:
    """A column in bins of about as many rows each, or in its levels; -1 for levels that are left out."""

    codes: IntArray
    names: tuple[str, ...]
    scale: c.Scale

    @property
    def rows(self) -> list[IntArray]:
        """The positions of the rows of each bin."""
        return [np.flatnonzero(self.codes == b) for b in range(len(self.names))]

    def extent(self, axis: Axis, inside: AnyArray) -> list[Ends]:
        """Return the ranges of the scale that some rows fill."""
        ranges: list[Ends] = []
        for b, rows in enumerate(self.rows):
            values = axis.values[rows]
            within, wide = values[inside[rows]] - values.min(), float(np.ptp(values))
            if not len(within):
                continue
            left, right = (
                within.min() / wide if wide else 0.0,
                within.max() / wide if wide else 1.0,
            )
            joined = ranges and b - 0.5 + left - ranges[-1][1] < 0.02
            ranges.append(
                (
                    ranges.pop()[0] if joined else b - 0.5 + float(left),
                    b - 0.5 + float(right),
                )
            )
        return ranges


def bins_of(axis: Axis, check: Check, part: Slice | None = None, most: int = MOST) -> Bins:
    """Cut a column: few values and levels each by itself, of many those of slices and the largest."""
    values, title = axis.values, axis.title
    distinct, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) <= most or axis.levels is not None:
        told = [
            one.rows
            for one in (part, *check.slices)
            if one is not None and names_column(one, axis)
        ]
        rows = np.isin(check.looked.rows, np.concatenate([np.empty(0), *told]))
        unnamed = ~np.isin(distinct, values[rows])
        largest = np.sort(np.lexsort((-sizes, unnamed))[:most])
        largest = largest if axis.levels is None else largest[sizes[largest] >= FEWEST]
        place = np.full(len(distinct), -1)
        place[largest] = np.arange(len(largest))
        names = tuple(written(axis, float(distinct[k])) for k in largest)
        some = f", {len(largest)} of {len(distinct):,} levels" * (
            len(largest) < len(distinct)
        )
        return Bins(place[inverse], names, c.places(f"{title}{some}", names))

    def end(value: float) -> str:
        """Write the value of a row: long numbers are rounded."""
        long = axis.kind in ("numbers", "integers") and abs(value) >= 1e5
        return written(axis, float(f"{value:.4g}") if long else value)

    codes = axis.cut(int(np.clip(len(values) // ROWS, 4, most))).codes
    count = int(codes.max()) + 1
    low, high = (
        [end(float(f(values[codes == b]))) for b in range(count)] for f in (np.min, np.max)
    )
    edges = sorted(
        {round(k * count / 4) for k in ((0, 2, 4) if max(map(len, low)) > 7 else range(5))}
    )
    names = tuple(f"{a} to {b}" if a != b else a for a, b in zip(low, high, strict=True))
    at, texts = tuple(e - 0.5 for e in edges), tuple([*low, high[-1]][e] for e in edges)
    return Bins(codes, names, c.Scale(title, (-0.5, count - 0.5), at, texts))


def shade(ranges: Sequence[Ends], up: Ends) -> c.Boxes:
    left, right = np.array(ranges, dtype=float).reshape(-1, 2).T
    return c.Boxes(left, right, 0 * left + up[0], 0 * left + up[1], ("shade",) * len(left))


def names_column(part: Slice | None, axis: Axis) -> bool:
    return part is not None and axis.name in [c.column for c in part.conditions]


def part_rows(looked: Looked, part: Slice | None) -> AnyArray:
    """Tell which of the rows that were looked at are in a slice, (n,); all without one."""
    return np.ones(looked.n, bool) if part is None else np.isin(looked.rows, part.rows)


def part_y(looked: Looked, part: Slice) -> int:
    """Return the column of y that the leading finding of a slice is about."""
    names, lead = [column.name for column in looked.y_columns], part.findings[0].column
    return names.index(lead) if lead in names else 0


def each_error(count: int, level: float = 0.95) -> float:
    """Return the error of each of `count` statements so that all hold with probability `level`."""
    return float(1.0 - level ** (1.0 / max(count, 1)))


def chance_ends(
    n: AnyArray | float, p: AnyArray | float, error: float
) -> tuple[FloatArray, FloatArray]:
    """Return between which counts a binomial one lies, except with probability `error`."""
    from scipy.stats import binom

    return np.asarray(binom.ppf(error / 2, n, p)), np.asarray(
        binom.ppf(1 - error / 2, n, p)
    )


def quantile_ends(values: FloatArray, p: float, error: float) -> Ends:
    """Return the interval of a quantile by order statistics; infinite where there are too few rows."""
    low, high = map(int, chance_ends(len(values), p, error))
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    return float(ordered[low]), float(ordered[high + 1])


def sides(
    low: AnyArray, high: AnyArray, expected: AnyArray | float, turned: bool = False
) -> tuple[str, ...]:
    """Return colours of intervals: "even" where they hold what is expected; `turned`: more is "low"."""
    more, less = ("low", "high") if turned else ("high", "low")
    return tuple(
        np.where(low > expected, more, np.where(high < expected, less, "even")).tolist()
    )


def shares(
    hits: AnyArray, n: AnyArray | int, expected: AnyArray, turned: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[str, ...]]:
    """Return shares, the ends of intervals that hold together, and their colours."""
    low, high = share_interval(hits, n, each_error(hits.size))
    return hits / n, low, high, sides(low, high, expected, turned)


def right_and_sure(looked: Looked) -> tuple[AnyArray, FloatArray]:
    """Return whether the most probable class was right, and its probability, (n,) each."""
    p = np.asarray(looked.probabilities, dtype=float)
    return p.argmax(axis=1) == looked.codes, p.max(axis=1)


class _Along(NamedTuple):
    """Estimates by bin (B, K) with intervals, what the model says (K,), and what stands out most."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    expected: tuple[float, ...]
    kinds: AnyArray
    heads: tuple[str, ...]
    words: str
    #: The name of the y axis, and the legend.
    label: str
    legend: str
    #: Of z: the colours of boxes from the first to the last estimate.
    boxes: tuple[str, ...] = ()


def column_panel(
    check: Check,
    axis: Axis,
    part: Slice | None = None,
    *,
    y: int | None = None,
    ends: Ends | None = None,
    wide: bool = False,
) -> Chart | None:
    """Draw residual quantiles along a column by bin, or shares."""
    looked, bins, name = check.looked, bins_of(axis, check, part), axis.title
    profile = (
        _along(looked, bins, strongest(looked) if y is None else y) if bins.names else None
    )
    if profile is None:
        return None
    up, last = ends or _ends([profile]), len(profile.expected) - 1
    at, marks = np.arange(len(bins.names)) * 1.0, list[c.Mark]()
    if names_column(part, axis):
        marks.append(shade(bins.extent(axis, part_rows(looked, part)), up))
    if profile.boxes:
        low, high = np.clip(profile.values[:, [0, last]].T, *up)
        marks.append(c.Boxes(at - 0.34, at + 0.34, low, high, profile.boxes))
    data: dict[str, Any] = {name: bins.names, "rows": list(map(len, bins.rows))}
    dots = [not profile.boxes or 0 < k < last for k in range(last + 1)]
    looks = ["" if dot and profile.boxes else "dashed" for dot in dots]
    marks += [c.rule(e, look=look) for e, look in zip(profile.expected, looks, strict=True)]
    for k, head in enumerate(profile.heads):
        three = profile.values[:, k], profile.low[:, k], profile.high[:, k]
        marks.append(
            c.Intervals(
                at, *three, tuple(profile.kinds[:, k]), size=6.5 if dots[k] else 1.0
            )
        )
        data |= {head: three[0], f"95% interval of {head}": c.spans(*three[1:])}
    alone = [s for s in check.slices if {one.column for one in s.conditions} == {axis.name}]
    words = f"{alone[0].direction} where {alone[0].words}" if alone else profile.words
    scale, keys = c.numeric(profile.label, up, 5 if wide else 3), c.keys(profile.legend)
    shape = (540, 320) if wide else (330, 210)
    title = (
        f"{name}:"
        f" {words or 'no single bin differs significantly (5% for all bins together)'}"
    )
    return Chart(title, bins.scale, scale, tuple(marks), c.table(data), keys, shape)


def panels(check: Check, most: int = 12, *, wide: bool = False) -> list[Chart]:
    """Return the panels of the columns that explain most, the first first, on one y axis."""
    looked, y, drawn = (
        check.looked,
        strongest(check.looked),
        list[tuple[float, Axis, _Along]](),
    )
    for axis in looked.axes:
        bins = bins_of(axis, check)
        if bins.names and (profile := _along(looked, bins, y)) is not None:
            # What a column explains: the mean square between its bins.
            n, values = np.array(list(map(len, bins.rows)))[:, None], profile.values
            between = n * np.square(values - np.sum(n * values, axis=0) / n.sum())
            drawn.append((-between.sum() / max(len(n) - 1, 1), axis, profile))
    drawn = sorted(drawn, key=lambda each: each[0])[:most]
    ends = _ends([profile for _, _, profile in drawn]) if drawn else None
    charts = (column_panel(check, axis, y=y, ends=ends, wide=wide) for _, axis, _ in drawn)
    return [chart for chart in charts if chart is not None]


def apart(looked: Looked) -> FloatArray:
    """Return how far residuals are from mean 0 and from variance 1, (2, d_y), cut at 2.5 sd."""
    z = np.clip(np.asarray(looked.z), -2.5, 2.5)
    return np.abs([z.mean(axis=0), (np.square(z).mean(axis=0) - 1.0) / 2.0])


def strongest(looked: Looked) -> int:
    return 0 if looked.z is None else int(np.argmax(apart(looked).max(axis=0)))


def _along(looked: Looked, bins: Bins, y: int) -> _Along | None:
    if looked.z is not None:
        return _of_z(looked.z[:, y], bins, looked.pit is not None)
    if looked.kind == "censored":
        return _ratios(looked, bins)
    if looked.kind == "classes":
        right, sure = right_and_sure(looked)
        name, ways = "accuracy − confidence", "dot high too sure; dot low not sure enough"
        return _shares(
            bins, [right], [sure], True, (name,), name, f"dot even the data; {ways}"
        )
    if not looked.events or looked.codes is None:
        return None
    events = [
        looked.events[k]
        for k in sorted({0, len(looked.events) // 2, len(looked.events) - 1})
    ]
    below, happened = (
        looked.kind == "quantiles",
        [event.happened(looked.codes) for event in events],
    )
    texts = [
        f"not above the {e.level:g} quantile" if below else f"inside {100 * e.level:g}%"
        for e in events
    ]
    say = [np.full(looked.n, e.level) for e in events]
    low, high = ("too high", "too low") if below else ("too wide", "too narrow")
    legend = f"dashed model of the model; dot even the data; dot high {high}; dot low {low}"
    name = "share not above" if below else "share inside"
    return _shares(bins, happened, say, False, tuple(texts), name, legend)


def _of_z(z: FloatArray, bins: Bins, normal: bool) -> _Along:
    """Return quantiles of residuals that are normal under the model, or mean and sd of others."""
    rows = [z[at] for at in bins.rows]
    n, error = np.array(list(map(len, rows))), each_error(2 * len(rows))
    if normal:
        values = np.array([np.quantile(part, LEVELS) for part in rows])
        each = [[quantile_ends(part, p, 0.05) for p in LEVELS] for part in rows]
        low, high = np.moveaxis(np.array(each), 2, 0)
        left, right = np.array([quantile_ends(part, 0.5, error) for part in rows]).T
        out = np.array([(np.abs(part - np.median(part)) > Z80).mean() for part in rows])
        least, most = (k / n for k in chance_ends(n, 0.2, error))
        spread = (values[:, 2] - values[:, 0]) / (2 * Z80)
        wide = np.array(sides(out, out, np.clip(out, least, most)))
        wide[(wide == "high") != (spread > 1)] = "even"
        errors = MEDIAN_ERROR / np.sqrt(n), WIDTH_ERROR / np.sqrt(n)
        about = "the middle 80% of the data is {} times as wide as the model's"
        data = "middle 80% and median of the data"
        expected, heads = (-Z80, 0.0, Z80), ("10% quantile", "median", "90% quantile")
    else:
        mean = np.array([part.mean() for part in rows])
        spread = np.array([part.std(ddof=min(len(part) - 1, 1)) for part in rows])
        values = np.column_stack([mean - spread, mean, mean + spread])
        reach = -ndtri(error / 2) / np.sqrt(n)
        low, high = (values + s * (spread / np.sqrt(n))[:, None] for s in (-1.96, 1.96))
        left, right = mean - reach * spread, mean + reach * spread
        fourth = np.array([np.std((part - part.mean()) ** 2) for part in rows])
        rough = (
            0.5 * reach * fourth / np.maximum(spread, 1e-9)
        )  # of a standard deviation, any tails
        wide = np.array(sides(spread - rough, spread + rough, 1.0))
        errors = spread / np.sqrt(n), rough / reach / np.sqrt(n)
        about, data = (
            "the data spread {} times as much as the model says",
            "mean of the data ± sd",
        )
        expected, heads = (-1.0, 0.0, 1.0), ("mean − sd", "mean", "mean + sd")
    dots, shift = np.array(sides(left, right, 0.0)), values[:, 1]
    # How far the bins that are off are, in standard errors; the title tells of the
    # farthest.
    pairs = (shift, errors[0], dots), (spread - 1, errors[1], wide)
    far = np.array(
        [np.abs(v) / np.maximum(e, 1e-9) * (ways != "even") for v, e, ways in pairs]
    )
    told, (which, b) = "", np.unravel_index(np.argmax(far), far.shape)
    if far.any():
        moved = (
            f"{rounded(abs(shift[b]))} sd {'above' if shift[b] > 0 else 'below'} the"
            " model's"
        )
        told = about.format(rounded(spread[b])) if which else f"{heads[1]} {moved}"
        told += f" at {bins.names[b]}"
    kinds = np.full((len(rows), 3), "even", dtype=object)
    kinds[:, 1] = dots
    boxes = tuple({"high": "s2", "low": "s-2"}.get(side, "bar") for side in wide)
    ways = "box s2 model too narrow; box s-2 too wide; dot high too low; dot low too high"
    legend = f"box bar {data}; dashed model of the model; {ways}"
    return _Along(
        values, low, high, expected, kinds, heads, told, "residual, in sd", legend, boxes
    )


def _shares(
    bins: Bins,
    happened: Sequence[AnyArray],
    say: Sequence[FloatArray],
    less: bool,
    *words: Any,
) -> _Along:
    """Return shares by bin; `less` what is expected, where that differs from row to row.

    `words` are heads of columns, the name of the axis and the legend.
    """
    n = np.array(list(map(len, bins.rows)))[:, None]
    seen = np.array([[did[rows].sum() for did in happened] for rows in bins.rows])
    expected = np.array([[p[rows].mean() for p in say] for rows in bins.rows])
    low, high = (end - expected * less for end in share_interval(seen, n, 0.05))
    kinds = np.array(shares(seen, n, expected, True)[3], dtype=object)
    error = np.sqrt(np.maximum(expected * (1 - expected), 1e-4) / n)
    strength = np.where(kinds != "even", np.abs(seen / n - expected) / error, 0.0)
    b, k = np.unravel_index(np.argmax(strength), strength.shape)
    told = (
        f"{number(seen[b, k] / n[b, 0], 2)} where the model says"
        f" {number(expected[b, k], 2)}"
    )
    told = f"{told} at {bins.names[b]}" if strength.any() else ""
    levels = (0.0,) if less else tuple(expected[0].tolist())
    heads, *names = words
    return _Along(seen / n - expected * less, low, high, levels, kinds, heads, told, *names)


def _ratios(looked: Looked, bins: Bins) -> _Along:
    happened, expected = (part[:, 0] for part in events_of(looked))
    seen = [
        [
            Reader(looked, reach).ratio(rows, happened[rows], expected[rows])
            for rows in bins.rows
        ]
        for reach in (1.96, -float(ndtri(each_error(len(bins.rows)) / 2.0)))
    ]
    one, every = (np.array([[value, *ends] for value, ends in each]) for each in seen)
    kinds = np.array(sides(every[:, 1:2], every[:, 2:], 1.0), dtype=object)
    strength = np.array([expected[rows].sum() for rows in bins.rows]) ** 0.5 * np.abs(
        one[:, 0] - 1.0
    )
    b = int(np.argmax(np.where(kinds[:, 0] != "even", strength, -1.0)))
    words = f"{number(one[b, 0], 2)} times the events expected at {bins.names[b]}"
    words = words if kinds[b, 0] != "even" else ""
    name, ways = "events / expected", "dot high more than expected; dot low fewer"
    legend = f"dashed model of the model; dot even the data; {ways}"
    value, low, high = np.hsplit(one, 3)
    return _Along(value, low, high, (1.0,), kinds, (name,), words, name, legend)


def _ends(profiles: Sequence[_Along]) -> Ends:
    values = np.concatenate([one.values.ravel() for one in profiles])
    return c.robust_ends(values, profiles[0].expected, 0.15)


def map_of(check: Check, a: Axis, b: Axis, part: Slice | None = None) -> Chart | None:
    """Draw two columns in cells, coloured by what a slice is about, or what of z is off most."""
    looked, pair = check.looked, tuple(bins_of(axis, check, part, 7) for axis in (a, b))
    differences = _differences(looked, part)
    if differences is None:
        return None
    each, (low_way, high_way), unit = differences
    log, wide = unit == " times", len(pair[1].names)
    cell = np.where(
        (pair[0].codes < 0) | (pair[1].codes < 0), -1, pair[0].codes * wide + pair[1].codes
    )
    at, n = np.unique(cell[cell >= 0], return_counts=True)
    at, n = at[n > log], n[n > log]
    if not len(at):
        return None
    cells = [each[cell == k] for k in at]
    values = np.array(
        [np.log(max(v.std(ddof=1), 1e-3)) if log else v.mean() for v in cells]
    )
    few, (x, y) = n < FEW, np.divmod(at, wide) * np.ones(1)
    top = max(float(np.quantile(np.abs(values[~few]), 0.9)) if (~few).any() else 0.0, 0.1)
    steps = np.clip(np.rint(values / top * c.STEPS), -c.STEPS, c.STEPS).astype(int)
    texts = [f"{minus(rounded(float(np.exp(v) if log else v)))}{unit}" for v in values]
    names = [
        [bins.names[int(k)] for k in place]
        for bins, place in zip(pair, (x, y), strict=True)
    ]
    kinds = tuple(f"s{step}" for step in steps)
    half = np.where(few, 0.2, 0.5)  # cells that say little are small
    marks: list[c.Mark] = [c.Boxes(x - half, x + half, y - half, y + half, kinds)]
    if names_column(part, a) or names_column(part, b):
        rows, edges = part_rows(looked, part), list[Ends]()
        for axis, bins in zip((a, b), pair, strict=True):
            ranges = bins.extent(axis, rows) if names_column(part, axis) else []
            edges.append((ranges[0][0], ranges[-1][1]) if ranges else bins.scale.ends)
        (i, j), (k, m) = edges
        marks.append(c.Line(np.array([i, j, j, i, i]), np.array([k, k, m, m, k]), "ink"))
    low, high = (
        f"{rounded(float(np.exp(v)) if log else abs(v))}{unit}" for v in (-top, top)
    )
    legend = [
        c.Key("ramp", "s0", f"{low_way}, {'≤' if log else '≥'} {low}|≥ {high}, {high_way}")
    ]
    legend += (
        [c.Key("small", kinds[int(np.argmax(few))], f"fewer than {FEW} rows")]
        if few.any()
        else []
    )
    error = np.std((each - each.mean()) ** 2) / (2 * each.var()) if log else each.std()
    strength = np.where(few, 0.0, np.abs(values) * np.sqrt(n) / max(error, 1e-9))
    worst = int(np.argmax(strength))
    where = f"{a.title} {names[0][worst]} and {b.title} {names[1][worst]}"
    way = high_way if values[worst] > 0 else low_way
    title = f"The model is {way} above all at {where}: {texts[worst]}"
    if strength[worst] < (2 * np.log(2 * len(at))) ** 0.5:
        title = "No cell differs from the model by more than chance"
    data = c.table(
        {a.title: names[0], b.title: names[1], "data to model": texts, "rows": n}
    )
    scales = pair[0].scale, pair[1].scale
    return Chart(title, *scales, tuple(marks), data, tuple(legend), (460, 340))


def _differences(
    looked: Looked, part: Slice | None
) -> tuple[FloatArray, tuple[str, str], str] | None:
    """Return what cells are about: values of rows, words for both ways, and the unit."""
    kind, label = (
        ("", "") if part is None else (part.findings[0].kind, part.findings[0].label)
    )
    if looked.z is not None:
        y = strongest(looked) if part is None else part_y(looked, part)
        moved, widened = apart(looked)[:, y]
        if kind in ("spread", "coverage", "tails") or (widened > moved and kind != "shift"):
            return looked.z[:, y], ("too wide", "too narrow"), " times"
        return looked.z[:, y], ("too high", "too low"), " sd"
    if looked.kind == "classes":
        if kind == "class" and label in looked.class_names:
            k = looked.class_names.index(label)
            more = (looked.codes == k) - np.asarray(looked.probabilities, dtype=float)[:, k]
            return more, ("too high", "too low"), ""
        right, sure = right_and_sure(looked)
        return sure - right, ("not sure enough", "too sure"), ""
    if not looked.events or looked.codes is None:
        return None
    named = [e for e in looked.events if label in (f"{e.level:g}", f"{100 * e.level:g}%")]
    event = max(named or looked.events, key=lambda e: abs(e.level - 0.5))
    ways = (
        ("too high", "too low") if event.kind == "quantile" else ("too wide", "too narrow")
    )
    return event.level - event.happened(looked.codes), ways, ""


#: More rows than this are sorted, and have no names.
MOST_ROWS = 30
#: Kinds of which more than the model says means that it is too wide, not sure enough or too
#: high.
TURNED, SHARE = ("coverage", "confidence", "quantile"), "share of rows"
#: What a kind of finding is called, with its label if it has one, and its unit.
KINDS = {
    "shift": ("shift", "standard deviations"),
    "spread": ("spread", "times the model's"),
    "skew": ("skew", "share above less share below"),
    "tails": ("beyond the {} interval", SHARE),
    "coverage": ("inside the {} interval", SHARE),
    "confidence": ("right", SHARE),
    "class": ("share of {}", "of the rows"),
    "zeros": ("zeros", SHARE),
    "quantile": ("not above the {} quantile", SHARE),
    "events": ("events, {}", "times what the model expects"),
}


def kind_name(kind: str, label: str = "") -> str:
    """Name a kind of finding: "inside the 90% interval"; of any label "inside the interval"."""
    if (kind, label) == ("tails", "largest"):
        return "counts of probability below 0.01"
    name, label = KINDS.get(kind, (kind,))[0], label or "a class" * (kind == "class")
    return " ".join(name.format(label).split()).rstrip(",")


def forest(items: Sequence[Slice]) -> Chart | None:
    """Draw findings of one kind on one axis: of that which leads most often where it is certain."""
    leading = [item.findings[0] for item in items if item.findings]
    leading = [f for f in leading if f.telling] or leading
    if not leading:
        return None
    about = Counter(f.about for f in leading).most_common(1)[0][0]
    listed = [(s, f) for s in items for f in s.findings if f.about == about]
    if len(listed) > MOST_ROWS:
        listed.sort(key=lambda each: each[1].expected - each[1].estimate)
    parts, count, turned = [s for s, _ in listed], len(listed), about[0] in TURNED
    numbers = np.array([[f.estimate, *f.interval, f.expected] for _, f in listed])
    off = np.array([f.telling for _, f in listed])
    far = int(np.argmax(np.abs(numbers[:, 0] - numbers[:, 3]) * np.where(off, 1.0, 1e-9)))
    name = ", ".join([kind_name(about[0], about[2]), *KINDS.get(about[0], ())[1:]])
    words = parts[far].words
    title = (
        f"{off.sum():,} of {count:,} differ from what the model says, most of all {words}"
    )
    title = title if off.any() else f"None of {count:,} differs from what the model says"
    title = title if count > 1 else f"{words}: {listed[0][1].words}"
    more, less = ("low", "high") if turned else ("high", "low")
    legend = c.keys(
        f"dashed model of the model; dot {more} more; dot {less} less; dot even not certain"
    )
    names = [f"{s.words} · {s.n:,} rows" for s in parts]
    return intervals(name, names, numbers, turned, title=title, legend=legend)


def intervals(
    axis: str,
    names: Sequence[str],
    numbers: FloatArray,
    turned: bool = False,
    wide: int = 460,
    **words: Any,
) -> Chart:
    """Draw an estimate, both ends of its interval and what is expected, (rows, 4), the first on top."""
    count, (estimate, low, high, expected) = len(names), numbers[::-1].T
    at, names, many = np.arange(count) * 1.0, names[::-1], count > MOST_ROWS
    kinds, spans = sides(low, high, expected, turned), c.spans(low, high)
    ends = c.robust_ends(np.append(low, high), [*expected, *estimate], 0.06)
    marks: list[c.Mark] = [c.rule(float(expected[0]), False, look="dashed")]
    if np.ptp(expected) > 1e-9:
        marks = [c.Points(expected, at, "model", "pin", 4.0 if many else 16.0)]
    marks.append(c.Intervals(at, estimate, low, high, kinds, True, 3.0 if many else 8.0))
    for i, name in enumerate(() if many else names):
        marks.append(c.Text(ends[0], float(i), shorten(name, 60), "start", 11.0))
    y = c.Scale(f"{count:,} groups, by estimate" if many else "", (-0.5, count - 0.3))
    table = c.table(
        {"where": names, "estimate": estimate, "interval": spans, "expected": expected}
    )
    shape = wide, 340 if many else 60 + 40 * count
    return Chart(
        x=c.numeric(axis, ends), y=y, marks=tuple(marks), table=table, size=shape, **words
    )
