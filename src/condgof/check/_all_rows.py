"""Effects on all rows of a stream, in one more pass over it.

Effects are searched on some rows, which are in memory. What was found is then computed on
all rows: the number of rows of each cell, and its estimate, are sums; medians and middle
halves come from counts of residuals in narrow bins. What the corrections gain is summed
over the rows that were not searched, on which nothing was learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._explain import Merged, merge_stages
from condgof.check._findings import CENTRAL, HALF_WIDTH_50, HALF_WIDTH_90, OUTSIDE_999
from condgof.check._record import CellOfAllRows, Effect, EffectOfAllRows, Finding
from condgof.check._repair import predicted_columns
from condgof.check.effects import Analysis, Stage
from condgof.check.effects._rules import NO_CELL, AxisCells, AxisReader, EffectRule
from condgof.check.kinds import (
    LARGE_PROBABILITY,
    PERIOD_LABELS,
    CensoredRows,
    CheckedRows,
    CircularRows,
    CircularScoreRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    MomentRows,
    RowTable,
    ScoreRows,
    SeveralRows,
    StatementRows,
    checked_rows,
    hazard_at_times,
)
from condgof.engine import Engine
from condgof.laws import Law, normalised
from condgof.sample import Seed
from condgof.stein import NumberedRows, RowsInMemory, RowsInStream

#: Residuals z are counted in bins of this width on the scale of asinh z, so that a quantile
#: is known up to half of it, about 0.004·√(1 + z²).
BIN_WIDTH = 1.0 / 128.0
#: The last bins, on either side, begin here: |z| = 1490. They count all that lie beyond.
LAST_ASINH = 8.0
#: The number of bins.
BINS = 2 * round(LAST_ASINH / BIN_WIDTH)
#: Quantities of findings that are made of quantiles of residuals.
OF_QUANTILES = ("median", "middle half")


class RowNumbers(NamedTuple):
    """What the estimate of an effect is made of, at n rows.

    The estimate of a cell is Σ value / Σ weight, or made of quantiles of the values.
    """

    value: FloatArray  #: (n,).
    weight: FloatArray | float = 1.0  #: (n,), or the same in all rows.
    expected: FloatArray | float = 0.0  #: What the model predicts of values, as `weight`.


@singledispatch
def row_numbers(checked: CheckedRows, finding: Finding) -> RowNumbers | None:
    """Return what the estimate of a finding is made of; None where it is no such thing.

    `checked` are any rows, and the finding is of a cell of the rows that were searched.
    """
    raise NotImplementedError(f"row_numbers is not registered for {type(checked).__name__}")


@row_numbers.register(ContinuousRows)
@row_numbers.register(SeveralRows)
@row_numbers.register(MomentRows)
def _(
    checked: ContinuousRows | SeveralRows | MomentRows, finding: Finding
) -> RowNumbers | None:
    names = [column.name for column in checked.y_columns]
    if finding.column not in names:  # the correlation of two columns
        return None
    z = checked.z[:, names.index(finding.column)]
    return _residual_numbers(z, finding)


def _residual_numbers(z: FloatArray, finding: Finding) -> RowNumbers:
    """Return what a number of residuals z (n,) is made of."""
    if finding.kind == "skew":
        above = np.asarray(z > HALF_WIDTH_90)
        below = np.asarray(z < -HALF_WIDTH_90)
        return RowNumbers(np.subtract(above, below, dtype=np.float64))
    if finding.kind == "tails":
        outside = np.abs(z) > OUTSIDE_999.half_width
        return RowNumbers(outside.astype(np.float64), expected=OUTSIDE_999.outside)
    if finding.kind == "coverage":
        inside = np.abs(z) <= CENTRAL[finding.label]
        return RowNumbers(inside.astype(np.float64), expected=finding.expected)
    return RowNumbers(z)


@row_numbers.register
def _(checked: CountRows, finding: Finding) -> RowNumbers | None:
    if finding.kind == "zeros" and checked.zeros is not None:
        return RowNumbers((checked.y[:, 0] == 0) * 1.0, expected=checked.zeros)
    if finding.kind == "tails" and checked.upper is not None:
        is_large = checked.upper < LARGE_PROBABILITY
        return RowNumbers(is_large.astype(np.float64))
    if finding.kind == "shift":
        return None if checked.residual is None else RowNumbers(checked.residual)
    return RowNumbers(checked.z[:, 0])


@row_numbers.register
def _(checked: ClassRows, finding: Finding) -> RowNumbers | None:
    p = normalised(np.asarray(checked.probabilities, dtype=np.float64))
    if finding.kind == "class":
        k = checked.class_names.index(finding.label)
        return RowNumbers((checked.codes == k) * 1.0, expected=p[:, k])
    top = np.argmax(p, axis=1)
    return RowNumbers((checked.codes == top) * 1.0, expected=p.max(axis=1))


@row_numbers.register
def _(checked: StatementRows, finding: Finding) -> RowNumbers | None:
    for statement in checked.statements:
        if checked.statement_label(statement) == finding.label:
            held = statement.happened(checked.codes)
            return RowNumbers(held.astype(np.float64), expected=statement.level)
    return None


@row_numbers.register
def _(checked: CensoredRows, finding: Finding) -> RowNumbers | None:
    period = PERIOD_LABELS.index(finding.label)
    observed, expected = checked.events()
    of_period = expected[:, period]
    return RowNumbers(
        observed[:, period].astype(np.float64), weight=of_period, expected=of_period
    )


@row_numbers.register(CircularRows)
@row_numbers.register(CircularScoreRows)
@row_numbers.register(ScoreRows)
def _(
    checked: CircularRows | CircularScoreRows | ScoreRows, finding: Finding
) -> RowNumbers | None:
    return None


@singledispatch
def _with_periods(block: CheckedRows, searched: CheckedRows, law: Law) -> CheckedRows:
    """Return rows with what the rows that were searched say of all: here nothing."""
    return block


@_with_periods.register
def _(block: CensoredRows, searched: CheckedRows, law: Law) -> CheckedRows:
    """Return rows with the periods of the rows that were searched."""
    assert isinstance(searched, CensoredRows)
    at_cuts = hazard_at_times(law, np.array(searched.cuts))
    return replace(block, cuts=searched.cuts, hazard_at_cuts=at_cuts)


# Sums over cells


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over the C cells of an effect."""

    rows: FloatArray  #: (C,).
    value: FloatArray  #: (C,).
    square: FloatArray  #: Of values, (C,).
    weight: FloatArray  #: (C,).
    expected: FloatArray  #: (C,).
    counts: FloatArray  #: Rows by bin of their value, (C, BINS); (C, 0) without quantiles.

    @classmethod
    def from_rows(
        cls, numbers: RowNumbers, codes: IntArray, cells: int, *, quantiles: bool
    ) -> CellSums:
        """Sum rows over cells by their codes (n,), −1 for rows in no cell."""
        inside = np.flatnonzero(codes != NO_CELL)
        own = codes[inside]

        def total(values: AnyArray | float) -> FloatArray:
            by_row = np.broadcast_to(values, codes.shape)[inside]
            return np.bincount(own, by_row, cells).astype(np.float64)

        counts = np.zeros((cells, 0))
        if quantiles:
            bins = own * BINS + bin_of(numbers.value[inside])
            flat = np.bincount(bins, minlength=cells * BINS)
            counts = flat.reshape(cells, BINS).astype(np.float64)
        return cls(
            rows=total(1.0),
            value=total(numbers.value),
            square=total(np.square(numbers.value)),
            weight=total(numbers.weight),
            expected=total(numbers.expected),
            counts=counts,
        )

    def __add__(self, other: CellSums) -> CellSums:
        return CellSums(
            rows=self.rows + other.rows,
            value=self.value + other.value,
            square=self.square + other.square,
            weight=self.weight + other.weight,
            expected=self.expected + other.expected,
            counts=self.counts + other.counts,
        )

    def cell(self, code: int, finding: Finding) -> CellOfAllRows:
        """Return the numbers of a cell, of which `finding` is that of some rows."""
        n = int(self.rows[code])
        if n == 0:
            return CellOfAllRows(0, math.nan, finding.expected, math.nan, math.nan)
        mean = float(self.value[code]) / n
        variance = (float(self.square[code]) - n * mean**2) / max(n - 1, 1)
        expected = finding.expected
        if self.expected[code] and finding.kind != "events":
            expected = float(self.expected[code]) / n
        return CellOfAllRows(
            n=n,
            estimate=self._estimate(code, finding),
            expected=expected,
            mean=mean,
            sd=math.sqrt(max(variance, 0.0)),
        )

    def _estimate(self, code: int, finding: Finding) -> float:
        if finding.quantity == "median":
            return quantile_of_counts(self.counts[code], 0.5)
        if finding.quantity == "middle half":
            low = quantile_of_counts(self.counts[code], 0.25)
            high = quantile_of_counts(self.counts[code], 0.75)
            return (high - low) / (2.0 * HALF_WIDTH_50)
        weight = float(self.weight[code])
        return float(self.value[code]) / weight if weight > 0 else math.nan


def bin_of(z: FloatArray) -> IntArray:
    """Return the bin of residuals, (n,)."""
    place = np.floor((np.arcsinh(z) + LAST_ASINH) / BIN_WIDTH)
    return np.clip(place, 0, BINS - 1).astype(np.int64)


def quantile_of_counts(counts: FloatArray, level: float) -> float:
    """Return a quantile of residuals from their counts by bin, (BINS,).

    It lies between two of the ordered residuals, as `numpy.quantile` has it; each of these
    is taken to be in the middle of its bin.
    """
    ends = np.cumsum(counts)
    rank = level * (ends[-1] - 1.0)
    ranks = np.array([math.floor(rank), math.ceil(rank)])
    bins = np.searchsorted(ends, ranks, side="right")
    low, high = np.sinh((bins + 0.5) * BIN_WIDTH - LAST_ASINH)
    return float(low + (high - low) * (rank - ranks[0]))


@dataclass(frozen=True, eq=False)
class GainSums:
    """What the corrections of S stages gain, over rows that were not searched."""

    rows: int
    gain: FloatArray  #: Of each stage after those before it, in nats, (S,).
    square: FloatArray  #: Of the gain in each row, (S,).

    def __add__(self, other: GainSums) -> GainSums:
        return GainSums(
            rows=self.rows + other.rows,
            gain=self.gain + other.gain,
            square=self.square + other.square,
        )


@dataclass(frozen=True, eq=False)
class StreamSums:
    """All sums over some rows."""

    cells: tuple[CellSums, ...]  #: Of each effect.
    gains: GainSums | None  #: None where the corrections cannot be applied.

    def __add__(self, other: StreamSums) -> StreamSums:
        pairs = zip(self.cells, other.cells, strict=True)
        cells = tuple(one + another for one, another in pairs)
        gains = None
        if self.gains is not None and other.gains is not None:
            gains = self.gains + other.gains
        return StreamSums(cells, gains)


@dataclass(frozen=True, eq=False)
class StreamTask:
    """Computes the sums of some rows of a stream."""

    searched: CheckedRows  #: The rows that were searched.
    reader: AxisReader
    rules: tuple[EffectRule, ...]  #: The cells of each effect.
    findings: tuple[Finding, ...]  #: The finding of one cell of each effect.
    stages: tuple[EffectRule, ...]  #: What the effects consist of, in the order found.
    analysed: type  #: The class of the tilt of the rows that were searched.
    seed: Seed

    def __call__(self, block: NumberedRows) -> StreamSums:
        checked = self._checked(block)
        table = self.reader.read(block.rows.sample.x_given)
        predictions = predicted_columns(self.searched, block.law)

        def codes(rule: EffectRule) -> IntArray:
            values = [self.reader.at(axis, table, predictions) for axis in rule.axes]
            return rule.codes_at(values, checked.n)

        cells = []
        for rule, finding in zip(self.rules, self.findings, strict=True):
            numbers = row_numbers(checked, finding)
            has_quantiles = numbers is not None and finding.quantity in OF_QUANTILES
            own = CellSums.from_rows(
                # Without numbers, the rows of each cell are counted all the same.
                numbers or RowNumbers(np.full(checked.n, np.nan)),
                codes(rule),
                len(rule.theta),
                quantiles=has_quantiles,
            )
            cells.append(own)
        thetas = [_theta(stage, codes(stage)) for stage in self.stages]
        return StreamSums(tuple(cells), self._gains(checked, block, thetas))

    def _checked(self, block: NumberedRows) -> CheckedRows:
        """Compare rows with their law, as those that were searched were."""
        sample = block.rows.sample
        table = RowTable(
            rows=block.numbers,
            x_columns=sample.x_columns,
            x=sample.x,
            y_columns=sample.y_columns,
            y=sample.y,
            whole=len(block.numbers),
            origin=sample.origin,
        )
        compared = checked_rows(block.rows.residuals, table, block.law)
        return _with_periods(compared, self.searched, block.law)

    def _gains(
        self, checked: CheckedRows, block: NumberedRows, thetas: Sequence[FloatArray]
    ) -> GainSums | None:
        """Return what the corrections gain on rows that were not searched."""
        tilt = checked.tilt(block.law, block.rows, self.seed)
        kinds = {(one.name, one.column, one.label): k for k, one in enumerate(tilt.kinds)}
        if type(tilt) is not self.analysed:
            return None
        is_other = ~np.isin(block.numbers, self.searched.rows)
        before = np.zeros(checked.n)
        gain = []
        square = []
        for stage, theta in zip(self.stages, thetas, strict=True):
            kind = kinds.get((stage.kind.name, stage.kind.column, stage.kind.label))
            if kind is None:  # a class that these rows have too few of
                return None
            tilt = tilt.corrected(kind, theta[:, None])
            after = np.asarray(tilt.log_ratio[:, 0], dtype=np.float64)
            own = (after - before)[is_other]
            gain.append(own.sum())
            square.append(np.square(own).sum())
            before = after
        return GainSums(int(is_other.sum()), np.array(gain), np.array(square))


def _theta(rule: EffectRule, codes: IntArray) -> FloatArray:
    return np.where(codes != NO_CELL, rule.theta[codes], 0.0)


def add_up(sums: Iterable[StreamSums]) -> StreamSums:
    """Merge the sums of several parts of the rows."""
    return reduce(StreamSums.__add__, sums)


# Effects


def with_all_rows(
    effects: tuple[Effect, ...],
    analysis: Analysis,
    searched: CheckedRows,
    searched_rows: RowsInMemory,
    stream: RowsInStream,
    seed: Seed,
    engine: Engine,
) -> tuple[Effect, ...]:
    """Return effects with what they are on all rows of a stream.

    `searched` and `searched_rows` are the rows of the stream that were searched, in the two
    forms of `condgof.check._look.SelectedRows`.
    """
    if not effects:
        return effects
    merged = [_merged_of(effect, analysis) for effect in effects]
    stages = analysis.stages
    task = StreamTask(
        searched=searched,
        reader=AxisReader.from_sample(searched_rows.sample),
        rules=tuple(_rule(one, analysis) for one in merged),
        findings=tuple(effect.cells[0].finding for effect in effects),
        stages=tuple(EffectRule.from_stage(analysis, stage) for stage in stages),
        analysed=type(analysis.state.tilt),
        seed=seed,
    )
    sums = stream.fold(task, add_up, engine)
    found = []
    for effect, one, own in zip(effects, merged, sums.cells, strict=True):
        gain = _gain(one, sums.gains, analysis)
        first_rows = [cell.rows[0] for cell in effect.cells]
        codes = one.partition.codes[np.searchsorted(searched.rows, first_rows)]
        cells = zip(codes.tolist(), effect.cells, strict=True)
        all_rows = EffectOfAllRows(
            rows=stream.n,
            gain=gain.value,
            gain_error=gain.error,
            cells=tuple(own.cell(code, cell.finding) for code, cell in cells),
        )
        found.append(replace(effect, all_rows=all_rows))
    return tuple(found)


def _merged_of(effect: Effect, analysis: Analysis) -> Merged:
    """Return the stages that an effect was made of."""

    def is_same(one: Merged) -> bool:
        axes = [analysis.axes[a] for a in one.partition.axes]
        columns = tuple(axis.label or axis.name for axis in axes)
        kind = (one.kind.name, one.kind.column, one.kind.label)
        return (*kind, columns) == (
            effect.kind,
            effect.column,
            effect.label,
            effect.columns,
        )

    return next(one for one in merge_stages(analysis) if is_same(one))


def _rule(one: Merged, analysis: Analysis) -> EffectRule:
    """Return the cells of an effect as a function of x and of predictions."""
    axes = tuple(analysis.axes[a] for a in one.partition.axes)
    cuts = zip(axes, one.partition.cuts, strict=True)
    return EffectRule(
        kind=one.kind,
        number=one.first.candidate.kind,
        axes=axes,
        cells=tuple(AxisCells.from_cut(axis, cut) for axis, cut in cuts),
        theta=one.theta,
        rows=np.bincount(one.partition.codes, minlength=one.partition.count).astype(float),
    )


class MeanGain(NamedTuple):
    """What an effect gains, in nats a row, and its standard error."""

    value: float
    error: float


def _gain(one: Merged, gains: GainSums | None, analysis: Analysis) -> MeanGain:
    """Return what an effect gains on the rows that were not searched."""
    if gains is None or gains.rows < 2:
        return MeanGain(math.nan, math.nan)
    stages = analysis.stages
    own = [k for k, stage in enumerate(stages) if _belongs(stage, one, analysis)]
    means = gains.gain[own] / gains.rows
    variances = np.maximum(gains.square[own] / gains.rows - means**2, 0.0)
    # The error of a sum of several stages is at most the sum of their errors.
    error = float(np.sqrt(variances / gains.rows).sum())
    return MeanGain(float(means.sum()), error)


def _belongs(stage: Stage, one: Merged, analysis: Analysis) -> bool:
    """Whether a stage is one of those that an effect was made of."""
    state = analysis.state
    axes = state.cells.partitions[stage.candidate.partition].axes
    kind = state.tilt.kinds[stage.candidate.kind]
    return kind == one.kind and axes == one.partition.axes
