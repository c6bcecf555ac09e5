"""From the analysis of a misfit to records: effects, their cells, and slices.

Every number of a cell or a slice is a plain computation on its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._advice import YFacts, advice_for
from condgof.check._axes import Axis, Cut
from condgof.check._findings import JOINT_LEVEL, Reader, severity
from condgof.check._record import (
    AvoidableLoss,
    Condition,
    Effect,
    EffectCell,
    Finding,
    Slice,
)
from condgof.check._words import direction_of
from condgof.check.effects import (
    Analysis,
    ErrorKind,
    Location,
    Partition,
    Scale,
    Stage,
    Tilting,
)
from condgof.check.kinds import CheckedRows
from condgof.null import mean_variance
from condgof.sample import mean_terms, weighted_mean

#: At most this many slices are named.
MOST_SLICES = 6
#: A slice has at least this many rows.
LEAST_SLICE_ROWS = 10
#: A slice is extended from the worst cell to neighbours that are wrong in the same
#: direction, and by at least this share.
EXTENDED_TO = 0.5
#: Where the other rows are wrong in the same direction, and by at least this share, the
#: slice is not where the model is wrong: it is wrong everywhere.
AS_WRONG_ELSEWHERE = 0.8
#: Two slices with a larger Jaccard index are the same place.
SAME_PLACE = 0.6
#: The first and the last cell of a trend show it if they differ by this share of what
#: their corrections differ by, in the same direction.
TREND_SHOWN = 0.5
#: Half the width of a 95% interval, in standard errors.
WIDTH_95 = 1.959963984540054
#: Between how many times the correction of a later effect the numbers of rows as they are
#: must be for these to be shown, not the correction.
SHOWN_BY_ROWS = (0.5, 2.0)
#: How many times as large or as small as its correction a later spread may be in the rows
#: as they are. A bias that was corrected before may have made the rest of it.
SPREAD_SHOWN_BY_ROWS = 1.25
#: What a gain is measured in.
NATS = "nats a row"


@dataclass(frozen=True, eq=False)
class Explained:
    """What a report says of a misfit."""

    effects: tuple[Effect, ...] = ()
    avoidable_loss: AvoidableLoss | None = None
    slices: tuple[Slice, ...] = ()


class Merged(NamedTuple):
    """All stages of one kind of error along the same columns."""

    kind: ErrorKind
    partition: Partition
    trend: bool
    theta: FloatArray  #: The sum of the corrections of each cell, (cells,).
    gain: float  #: In nats over all rows.
    first: Stage

    def rows_by_cell(self) -> list[IntArray]:
        """Return the positions of the rows of each cell."""
        order = np.argsort(self.partition.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.partition.codes, minlength=self.partition.count))
        return np.split(order, ends[:-1])


def explain(analysis: Analysis, reader: Reader, family: str) -> Explained:
    """Describe the effects of an analysis.

    `reader` is that of all rows, and `family` the name of the model's family ("" where it
    is not known), on which advice depends.
    """
    loss = avoidable_loss(analysis)
    if not analysis.stages:
        return Explained(avoidable_loss=loss)
    merged = merge_stages(analysis)
    total = sum(one.gain for one in merged)
    # Gains are scaled to what all effects gained together on rows that were held out.
    scale = max(loss.estimate, 0.0) / max(total, 1e-12)
    count = len(analysis.state.cells.rows) * len(analysis.state.tilt.kinds)
    reach = -float(ndtri(0.5 * (1.0 - JOINT_LEVEL) / count))
    wide = replace(reader, reach=max(reach, reader.reach))
    facts = _facts_of_y(reader.checked)
    shown = []
    effects: list[Effect] = []
    corrected: dict[ErrorKind, FloatArray] = {}  # θ of each row, by kind, so far
    for one in merged:
        gain = one.gain * scale
        effect = _effect(one, analysis, wide, gain=gain, share=one.gain / total)
        own = _in_units_of_rows(one, corrected)
        whole = np.asarray(corrected.get(one.kind, 0.0) + own)
        corrected[one.kind] = whole
        # A law without a mean has no number that shows a bias.
        if effect.cells:
            hidden = bool(effects) and not _shown_by_rows(one, own, whole, wide)
            effect = replace(effect, given_before=hidden)
            if effect.trend and not hidden:
                axes = [analysis.axes[a] for a in one.partition.axes]
                effect = replace(effect, thirds=_thirds_of_trend(one, axes, wide))
            shown.append(one)
            effects.append(replace(effect, advice=advice_for(effect, family, facts)))
    slices = tuple(_slices(shown, effects, analysis, wide))
    return Explained(effects=tuple(effects), avoidable_loss=loss, slices=slices)


def _facts_of_y(checked: CheckedRows) -> YFacts:
    """Return what advice needs to know of y."""
    return YFacts(
        is_positive=bool((checked.y > 0).all()),
        has_zeros=bool((checked.y == 0).any()),
        is_discrete=checked.is_discrete,
        predictions=tuple(
            axis.label or axis.name for axis in checked.axes if axis.predicted
        ),
    )


def merge_stages(analysis: Analysis) -> list[Merged]:
    """Join stages of the same kind along the same columns, in the order they were found.

    Not in the order of their gains: once a bias is taken off that made most of the variance
    of the residuals, narrowing the spread gains more than the bias itself did, and follows
    from it.
    """
    state = analysis.state
    together: dict[tuple[int, tuple[int, ...]], list[Stage]] = {}
    thetas: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
    tilt = state.tilt
    for stage in analysis.stages:
        partition = state.cells.partitions[stage.candidate.partition]
        by_row = np.asarray(stage.fit.theta[partition.codes])
        said = tilt.said(stage.candidate.kind, by_row)
        key = said.kind, partition.axes
        together.setdefault(key, []).append(stage)
        thetas[key] = thetas.get(key, 0.0) + said.theta
        tilt = tilt.corrected(stage.candidate.kind, by_row[:, None])
    merged = []
    for (kind, axes), stages in together.items():
        partitions = [state.cells.partitions[one.candidate.partition] for one in stages]
        # The same column may be cut into few and into many cells: the many show both.
        finest = max(partitions, key=lambda one: one.count)
        rows = np.maximum(np.bincount(finest.codes, minlength=finest.count), 1)
        theta = np.bincount(finest.codes, thetas[kind, axes], finest.count) / rows
        merged.append(
            Merged(
                kind=state.tilt.kinds[kind],
                partition=finest,
                trend=all(one.candidate.trend for one in stages),
                theta=theta,
                gain=sum(one.gain for one in stages),
                first=stages[0],
            )
        )
    return merged


def avoidable_loss(analysis: Analysis) -> AvoidableLoss:
    """Return what all effects gained together on rows that were held out."""
    held_out = analysis.held_out
    units = analysis.state.units
    codes = None if units is None else units.codes[held_out.rows]
    weights = analysis.state.cells.weights
    own = None if weights is None else weights[held_out.rows]
    error = float(np.sqrt(mean_variance(mean_terms(held_out.gains, own), codes).variance))
    mean = weighted_mean(held_out.gains, own)
    return AvoidableLoss(
        estimate=mean,
        interval=(mean - WIDTH_95 * error, mean + WIDTH_95 * error),
        unit=NATS,
        rows=len(held_out.rows),
    )


def _effect(
    one: Merged, analysis: Analysis, reader: Reader, *, gain: float, share: float
) -> Effect:
    axes = [analysis.axes[a] for a in one.partition.axes]
    stage = one.first
    return Effect(
        kind=one.kind.name,
        column=one.kind.column,
        label=one.kind.label,
        columns=tuple(axis.label or axis.name for axis in axes),
        trend=one.trend,
        gain=gain,
        share=share,
        pvalue=stage.pvalue,
        pvalue_floor=1.0 / (stage.draws + 1),
        cells=tuple(_cells(one, axes, reader)),
    )


def _in_units_of_rows(one: Merged, corrected: Mapping[ErrorKind, FloatArray]) -> FloatArray:
    """Return θ of each row in units of the residuals as they are, (n,).

    A bias that is found after a spread was corrected is in units of the corrected
    residuals: rows as they are show it as many times as large as that spread.
    `corrected` has θ (n,) of each kind so far.
    """
    theta = one.theta[one.partition.codes]
    if isinstance(one.kind.form, Location):
        for kind, log_scale in corrected.items():
            if isinstance(kind.form, Scale) and kind.column == one.kind.column:
                theta = theta * np.exp(log_scale)
    return np.asarray(theta)


def _shown_by_rows(one: Merged, own: FloatArray, whole: FloatArray, reader: Reader) -> bool:
    """Whether the rows of the cells as they are show about what the correction is.

    `own` (n,) is the correction of each row by this effect, and `whole` (n,) that by all
    effects of its kind so far: rows show all of it. Differences between cells must show
    this effect, too: it may be the part of an earlier one that does not hold along its
    columns, and then the cells are alike.
    """
    form = one.kind.form
    shown = []
    for rows in one.rows_by_cell():
        found = matching(reader, rows, one.kind) if len(rows) else None
        if found is not None:
            number = form.deviation(found.robust.estimate, found.robust.expected)
            shown.append((len(rows), number, own[rows].mean(), whole[rows].mean()))
    counts, numbers, by_own, by_whole = np.array(shown).reshape(-1, 4).T
    difference = float((counts * np.abs(numbers - by_whole)).sum())
    if isinstance(form, Scale) and difference > len(whole) * np.log(SPREAD_SHOWN_BY_ROWS):
        return False
    low, high = SHOWN_BY_ROWS if form.is_unit_of_theta else (0.0, np.inf)
    if not low <= _slope(numbers, by_whole, counts) <= high:
        return False
    if len(counts) == 1:
        return True
    own_differences = by_own - np.average(by_own, weights=counts)
    differences = numbers - np.average(numbers, weights=counts)
    return _slope(differences, own_differences, counts) >= low


def _slope(numbers: FloatArray, theta: FloatArray, counts: FloatArray) -> float:
    """Return the slope of numbers (m,) of cells on θ (m,), through 0; rows are weights."""
    squares = float((counts * theta**2).sum())
    return float((counts * theta * numbers).sum()) / max(squares, 1e-12)


def _cells(one: Merged, axes: Sequence[Axis], reader: Reader) -> Iterator[EffectCell]:
    """Yield the cells of an effect that have a name and rows, in their order."""
    for cell, rows in enumerate(one.rows_by_cell()):
        if len(rows):
            found = _cell(one, axes, reader, box_of(one.partition, cell), rows)
            if found is not None:
                yield found


def _cell(
    one: Merged, axes: Sequence[Axis], reader: Reader, box: Box, rows: IntArray
) -> EffectCell | None:
    """Return the cell of some rows, those of a box; None where it has no name."""
    conditions = conditions_of(axes, one.partition.cuts, box)
    findings = None if conditions is None else matching(reader, rows, one.kind)
    if conditions is None or findings is None:
        return None
    correction = float(one.theta[one.partition.codes[rows]].mean())
    return EffectCell(
        conditions=conditions,
        words=" and ".join(c.words for c in conditions) or "everywhere",
        query=query_of(conditions),
        rows=reader.checked.rows[rows],
        finding=findings.robust,
        beside=findings.beside,
        correction=float(one.kind.form.shown(correction)),
    )


def _thirds_of_trend(
    one: Merged, axes: Sequence[Axis], reader: Reader
) -> tuple[EffectCell, ...]:
    """Return the lower and upper third of the rows of a trend that its ends do not show.

    The first and the last cell of a column may be few rows, in which the noise is larger
    than the trend. None are returned where these cells show it, or where the thirds do not.
    """
    rows = np.bincount(one.partition.codes, minlength=one.partition.count)
    filled = np.flatnonzero(rows)
    if _shows_trend(one, (filled[:1], filled[-1:]), reader):
        return ()
    passed = np.cumsum(rows)
    third = passed[-1] / 3.0
    first_end = int(np.searchsorted(passed, third))
    last_start = int(np.searchsorted(passed, 2.0 * third, side="right"))
    low: IntArray = np.arange(first_end + 1)
    high: IntArray = np.arange(max(last_start, first_end + 1), one.partition.count)
    if not len(high) or not _shows_trend(one, (low, high), reader):
        return ()
    boxes = [Box((int(ends[0]),), (int(ends[-1]),)) for ends in (low, high)]
    thirds = [
        _cell(one, axes, reader, box, _rows_in(one, cells))
        for box, cells in zip(boxes, (low, high), strict=True)
    ]
    return tuple(cell for cell in thirds if cell is not None)


def _rows_in(one: Merged, cells: IntArray) -> IntArray:
    """Return the positions of the rows of some cells."""
    return np.flatnonzero(np.isin(one.partition.codes, cells))


def _shows_trend(one: Merged, ends: tuple[IntArray, IntArray], reader: Reader) -> bool:
    """Whether the cells at either end differ as their corrections say, by half or more."""
    form = one.kind.form
    numbers = []
    corrections = []
    for cells in ends:
        rows = _rows_in(one, cells)
        found = matching(reader, rows, one.kind)
        if found is None:
            return True  # nothing else could be shown
        numbers.append(form.deviation(found.robust.estimate, found.robust.expected))
        corrections.append(float(one.theta[one.partition.codes[rows]].mean()))
    difference = corrections[1] - corrections[0]
    # A difference of shares is in another unit than the tilt of a density.
    least = 0.0 if isinstance(form, Tilting) else TREND_SHOWN
    shown = (numbers[1] - numbers[0]) * np.sign(difference)
    return bool(shown > least * abs(difference))


class Box(NamedTuple):
    """A rectangle of bins: the first and the last bin of each column."""

    first: tuple[int, ...]
    last: tuple[int, ...]


def box_of(partition: Partition, cell: int) -> Box:
    """Return the bins of a cell of no, one or two columns."""
    if len(partition.cuts) == 2:
        a, b = divmod(cell, partition.cuts[1].count)
        return Box((a, b), (a, b))
    bins = (cell,) * len(partition.cuts)
    return Box(bins, bins)


def conditions_of(
    axes: Sequence[Axis], cuts: Sequence[Cut], box: Box
) -> tuple[Condition, ...] | None:
    """Return the conditions that a row is in a box; None where a bin has no name."""
    conditions = []
    for axis, cut, first, last in zip(axes, cuts, box.first, box.last, strict=True):
        if last >= len(cut.low):  # the bin of all other categories
            return None
        if first > 0 or last < cut.count - 1:
            conditions.append(axis.condition(cut, first, last))
    return tuple(conditions)


def query_of(conditions: Sequence[Condition]) -> str:
    """Return the query of rows that meet all conditions."""
    queries = [f"({c.query})" if " or " in c.query else c.query for c in conditions]
    return " and ".join(queries)


class Matching(NamedTuple):
    """The findings of some rows that show a kind of error."""

    robust: Finding  #: One that no single outlier turns.
    beside: tuple[Finding, ...]  #: Other numbers of the same rows, such as their mean.


def matching(reader: Reader, rows: IntArray, kind: ErrorKind) -> Matching | None:
    """Return the findings of some rows that show a kind of error; None if none does."""
    robust = _of_kind(reader.checked.findings(reader, rows, overall=True), kind)
    if not robust:
        return None
    plain = _of_kind(reader.checked.findings(reader, rows, overall=False), kind)
    others = [one for one in plain if one.quantity != robust[0].quantity]
    return Matching(robust[0], tuple(others[:1]))


def _of_kind(findings: Iterator[Finding], kind: ErrorKind) -> list[Finding]:
    """Return the findings of a kind of error, of its column and with its label."""
    of_kind = [
        one for one in findings if one.kind == kind.finding and one.column == kind.column
    ]
    if not kind.label:
        labelled = [one for one in of_kind if not one.label]
        return labelled or of_kind
    return [one for one in of_kind if one.label == kind.label]


# Slices: the extremes of effects.


def _slices(
    merged: Sequence[Merged],
    effects: Sequence[Effect],
    analysis: Analysis,
    reader: Reader,
) -> Iterator[Slice]:
    """Yield the places where each effect is largest, those of the first effect first."""
    named: list[tuple[IntArray, float]] = []
    for one, effect in zip(merged, effects, strict=True):
        if not one.partition.axes or effect.given_before:
            continue
        for box in _extreme_boxes(one):
            if len(named) == MOST_SLICES:
                return
            found = _slice(one, effect, box, analysis, reader)
            if found is None:
                continue
            sign = float(np.sign(found.findings[0].estimate - found.findings[0].expected))
            if any(_same_place(found.rows, rows, sign * other) for rows, other in named):
                continue
            named.append((found.rows, sign))
            yield found


def _same_place(rows: IntArray, others: IntArray, agreement: float) -> bool:
    """Whether two slices overlap so much, or contradict each other, that one is enough.

    `agreement` is above 0 where both are wrong in the same direction.
    """
    both = len(np.intersect1d(rows, others, assume_unique=True))
    smaller = min(len(rows), len(others))
    if agreement < 0 and both == smaller:
        return True  # one inside the other, with opposite directions
    return both > SAME_PLACE * (len(rows) + len(others) - both)


def _extreme_boxes(one: Merged) -> Iterator[Box]:
    """Yield the boxes around the cells with the largest corrections of either sign."""
    rows = np.bincount(one.partition.codes, minlength=one.partition.count)
    theta = np.where(rows >= LEAST_SLICE_ROWS, one.theta, 0.0)
    shape = tuple(cut.count for cut in one.partition.cuts)
    cells = np.argsort(-np.abs(theta))
    signs: set[float] = set()
    for cell in (*cells[:2].tolist(), int(np.argmax(theta)), int(np.argmin(theta))):
        sign = float(np.sign(theta[cell]))
        if sign == 0 or sign in signs:
            continue
        signs.add(sign)
        yield _extended(one, theta.reshape(shape), rows.reshape(shape), cell)


def _extended(one: Merged, theta: AnyArray, rows: AnyArray, cell: int) -> Box:
    """Extend a cell to neighbours that are wrong in the same direction.

    `theta` and `rows` have one axis a column. Categories without an order are not joined.
    """
    place = np.unravel_index(cell, theta.shape)
    first = list(map(int, place))
    last = list(map(int, place))
    worst = theta[place]
    grown = True
    while grown:
        grown = False
        for axis, cut in enumerate(one.partition.cuts):
            if not cut.joined:
                continue
            for end, step in ((first, -1), (last, 1)):
                next_bin = end[axis] + step
                if not 0 <= next_bin < theta.shape[axis]:
                    continue
                strip = tuple(
                    slice(next_bin, next_bin + 1) if k == axis else slice(low, high + 1)
                    for k, (low, high) in enumerate(zip(first, last, strict=True))
                )
                weight = rows[strip].sum()
                mean = (theta[strip] * rows[strip]).sum() / max(weight, 1)
                if weight and mean / worst >= EXTENDED_TO:
                    end[axis] = next_bin
                    grown = True
    return Box(tuple(first), tuple(last))


def _slice(
    one: Merged, effect: Effect, box: Box, analysis: Analysis, reader: Reader
) -> Slice | None:
    """Return the slice of a box; None without a name, or where the rest is as wrong."""
    axes = [analysis.axes[a] for a in one.partition.axes]
    cuts = one.partition.cuts
    masks = [
        (cut.codes >= first) & (cut.codes <= last)
        for cut, first, last in zip(cuts, box.first, box.last, strict=True)
    ]
    inside = np.logical_and.reduce(masks)
    # A condition that all rows of the other one meet says nothing.
    telling = [
        k for k in range(len(masks)) if len(masks) == 1 or (masks[1 - k] & ~masks[k]).any()
    ]
    conditions = conditions_of(
        [axes[k] for k in telling],
        [cuts[k] for k in telling],
        Box(tuple(box.first[k] for k in telling), tuple(box.last[k] for k in telling)),
    )
    rows = np.flatnonzero(inside)
    if not conditions or len(rows) < LEAST_SLICE_ROWS:
        return None
    found = matching(reader, rows, one.kind)
    if found is None or not found.robust.telling:
        return None
    rest = matching(reader, np.flatnonzero(~inside), one.kind)
    if rest is not None and _as_wrong(rest.robust, found.robust):
        return None
    return Slice(
        conditions=conditions,
        words=" and ".join(condition.words for condition in conditions),
        query=query_of(conditions),
        rows=reader.checked.rows[rows],
        share=len(rows) / reader.checked.n,
        pvalue=effect.pvalue,
        pvalue_floor=effect.pvalue_floor,
        findings=_findings(reader, rows, found),
        severity=severity(found.robust),
        direction=direction_of(found.robust),
    )


def _as_wrong(other: Finding, here: Finding) -> bool:
    """Whether other rows are about as wrong, and in the same direction, as those here."""
    sign = np.sign(here.estimate - here.expected)
    same_way = np.sign(other.estimate - other.expected) == sign
    return bool(same_way and severity(other) >= AS_WRONG_ELSEWHERE * severity(here))


def _findings(reader: Reader, rows: IntArray, found: Matching) -> tuple[Finding, ...]:
    """Return the findings of a slice: that of its effect first."""
    lead = (found.robust, *found.beside)
    # Quantiles, intervals, classes and columns of y have a quantity in common.
    named = {(one.quantity, one.column, one.label) for one in lead}
    others = [
        one
        for one in reader.findings(rows)
        if (one.quantity, one.column, one.label) not in named
    ]
    return (*lead, *others)
