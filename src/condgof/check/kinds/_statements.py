"""Quantiles and intervals: how often each statement held.

A statement is "y is not above this quantile", or "y is inside this interval". Quantiles, or
the ends of intervals, cut the line into K cells of known probabilities; the cell that y
falls into decides which statements held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import Signal
from condgof.check._size import (
    Bench,
    Size,
    features_of_x,
    pair_sums,
    root_of,
    size_of,
    squares_of,
)
from condgof.check.effects import ErrorKind, EventTilt, Odds, Tilt
from condgof.check.kinds._classes import wider_by
from condgof.check.kinds._rows import CheckedRows, FrameColumn, RowTable, rows_class
from condgof.check.kinds._signals import CellSignals, Signals
from condgof.laws import CellsOfY, Event, Law, moments_of, normalised
from condgof.methods import LOCAL_BANDWIDTH, narrowed
from condgof.residuals import (
    IntervalResiduals,
    QuantileResiduals,
    StatementResiduals,
)
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader
    from condgof.check._record import Finding


@dataclass(frozen=True, eq=False)
class StatementRows(CheckedRows):
    """Rows with statements of y that have known probabilities."""

    scale_name = "predicted_width"
    #: What findings of a statement are called.
    finding_kind: ClassVar[str]
    codes: IntArray  #: The cell into which y fell, (n,).
    statements: tuple[Event, ...]  #: All of them, in increasing probability.
    some_statements: tuple[Event, ...]  #: Those that are examined one by one.
    shares: FloatArray  #: The probabilities of the cells, (K,).
    #: How far apart the outer quantiles, or the ends of the largest interval, are, (n, 1).
    width: FloatArray

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: StatementResiduals
    ) -> StatementRows:
        assert isinstance(law, CellsOfY)
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            codes=residuals.observed,
            statements=residuals.statements,
            some_statements=residuals.some_statements,
            shares=residuals.shares,
            width=law.width(),
        )

    def predicted_columns(self) -> Iterator[FrameColumn]:
        """Yield the location, and the width as users compute it from their columns."""
        if self.moments is None:
            return
        yield from self._by_column("predicted", self.moments.location)
        yield from self._by_column(self.scale_name, self.width)

    @staticmethod
    def statement_label(statement: Event) -> str:
        """Return what a finding calls a statement."""
        raise NotImplementedError

    def about(self, statement: Event) -> Signal:
        return Signal(self.finding_kind, self.y_name, self.statement_label(statement))

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        codes = self.codes[rows]
        for statement in self.some_statements:
            held = statement.happened(codes)
            about = self.about(statement)
            yield reader.share_finding(rows, held, statement.level, about)

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return whether each statement held, less its probability, (n, statements)."""
        statements = self.some_statements
        shares = self.shares
        level = np.array([statement.level for statement in statements])
        every_cell = np.arange(len(shares))
        holds = [statement.happened(every_cell) for statement in statements]
        by_cell = np.column_stack(holds) - level  # (cells, statements)
        by_cell_single = by_cell.astype(np.float32)  # draws are in single precision

        def probabilities(some: IntArray) -> FloatArray:
            return np.broadcast_to(shares, (len(some), len(shares)))

        def at(some: IntArray, codes: IntArray) -> AnyArray:
            return np.asarray(by_cell_single[codes])

        cells = CellSignals(probabilities, at)
        return Signals(
            about=tuple(self.about(statement) for statement in statements),
            values=by_cell[self.codes],
            variance=np.broadcast_to(level * (1.0 - level), (self.n, len(statements))),
            redraw=cells.redraw,
            first=len(statements),
            bound=1.0,
            cells=cells,
            of_resampled=lambda: cells.at_uniforms(np.arange(self.n)),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        every_cell = np.arange(len(self.shares))
        statements = self.some_statements
        members = np.stack([statement.happened(every_cell) for statement in statements])
        # Cells that no statement tells apart are one cell: 99 quantiles of which six are
        # searched make seven.
        differs = (members[:, 1:] != members[:, :-1]).any(axis=0)
        starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
        shares = np.add.reduceat(self.shares, starts)
        codes = np.searchsorted(starts, self.codes, side="right") - 1
        kinds = tuple(
            ErrorKind(
                name=self.finding_kind,
                column=self.y_name,
                label=self.statement_label(statement),
                form=Odds(),
                finding=self.finding_kind,
            )
            for statement in statements
        )
        return EventTilt(
            kinds=kinds,
            log_ratio=np.zeros((self.n, 1)),
            probabilities=np.tile(shares, (self.n, 1))[:, None],
            codes=codes[:, None],
            members=members[None, :, starts],
        )


@dataclass(frozen=True, eq=False)
class QuantileRows(StatementRows):
    """Rows with predicted quantiles."""

    label = "quantiles"
    finding_kind = "quantile"

    @staticmethod
    def statement_label(statement: Event) -> str:
        return f"{statement.level:g}"


@dataclass(frozen=True, eq=False)
class IntervalRows(StatementRows):
    """Rows with predicted intervals."""

    label = "intervals"
    finding_kind = "coverage"

    @staticmethod
    def statement_label(statement: Event) -> str:
        return f"{100 * statement.level:g}%"


@rows_class.register
def _(residuals: QuantileResiduals) -> type[CheckedRows]:
    return QuantileRows


@rows_class.register
def _(residuals: IntervalResiduals) -> type[CheckedRows]:
    return IntervalRows


def moved_probability(shares: FloatArray, gains: AnyArray) -> FloatArray:
    """Return how probabilities change when a probability of 1 moves to some cells, (1, K).

    `gains` (K,) are booleans, true in the cells that it moves to. The cells, of
    probabilities `shares` (K,), keep their proportions on either side.
    """
    losing = float(shares[~gains].sum())
    return np.where(gains, shares / (1.0 - losing), -shares / losing)[None]


def _statement_size(
    residuals: StatementResiduals,
    bench: Bench,
    moved: FloatArray,
    *,
    unit: str,
    like: str,
) -> Size:
    """Return the size of a probability that lies on the wrong side of a statement.

    `moved` (1, K) is how probabilities of cells change by a misfit of size 1.
    """
    assert residuals.outcomes is not None
    p = normalised(residuals.outcomes.probabilities)
    f = features_of_x(narrowed(bench.kernel, LOCAL_BANDWIDTH), bench)
    one_hot = -p
    one_hot[np.arange(len(p)), residuals.observed] += 1.0
    labels = np.eye(p.shape[1])
    sums = pair_sums(
        f, one_hot, None, bench.dependence, lambda some: squares_of(p[some], labels)
    )
    return Size(
        parts=(sums,),
        of=root_of(float(np.square(moved).sum()), 1.0),
        unit=unit,
        like=like,
        wider=wider_by(p, moved),
    )


@size_of.register
def _(residuals: QuantileResiduals, bench: Bench) -> Size:
    """In probability on the wrong side of the middle quantile: the rarer side gains."""
    shares = residuals.shares
    middle = min(residuals.statements, key=lambda one: abs(one.level - 0.5))
    above = ~middle.happened(np.arange(len(shares)))
    gains = above if shares[above].sum() < 0.5 else ~above
    side = f"on the wrong side of the {middle.level:g} quantile"
    return _statement_size(
        residuals,
        bench,
        moved_probability(shares, gains),
        unit=f"probability {side}",
        like=f"a probability of {{}} {side} at every x",
    )


@size_of.register
def _(residuals: IntervalResiduals, bench: Bench) -> Size:
    """An error of the coverage of the widest interval: the less likely side gains."""
    shares = residuals.shares
    widest = residuals.statements[-1]
    inside = widest.happened(np.arange(len(shares)))
    gains = inside if shares[inside].sum() < 0.5 else ~inside
    coverage = f"coverage of the {100 * widest.level:g}% interval"
    return _statement_size(
        residuals,
        bench,
        moved_probability(shares, gains),
        unit=f"in the {coverage}",
        like=f"a {coverage} that is off by {{}} at every x",
    )
