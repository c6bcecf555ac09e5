"""Means and standard deviations alone: residuals (y − mean)/sd of no known law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._findings import Residual, mean_and_spread, median_and_middle_half
from condgof.check._quantities import Signal
from condgof.check._size import Bench, Size, shift_size, size_of
from condgof.check.effects import SeveralTilt, Tilt
from condgof.check.kinds._continuous import LEGENDRE
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Signals
from condgof.laws import Law, moments_of
from condgof.residuals import MomentResiduals
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader
    from condgof.check._record import Finding


@dataclass(frozen=True, eq=False)
class MomentRows(CheckedRows):
    """Rows with residuals of mean 0 and variance 1 under the model."""

    label = "moments"
    z: FloatArray  #: (n, d_y).

    @classmethod
    def from_law(cls, table: RowTable, law: Law, residuals: MomentResiduals) -> MomentRows:
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            z=residuals.u,
        )

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        several = len(self.y_columns) > 1
        location_and_spread = median_and_middle_half if overall else mean_and_spread
        for j, column in enumerate(self.y_columns):
            residual = Residual(rows, self.z[rows, j], column.name, several)
            yield from location_and_spread(reader, residual)

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return z and z² − 1 of each column, (n, 2·d_y)."""
        names = [column.name for column in self.y_columns]
        return Signals(
            about=tuple(Signal(kind, name) for kind in LEGENDRE[:2] for name in names),
            values=np.concatenate([self.z, np.square(self.z) - 1.0], axis=1),
            variance=None,
            redraw=None,
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        names = [column.name for column in self.y_columns]
        return SeveralTilt.from_scores(self.z, names, (), joint=False)


@rows_class.register
def _(residuals: MomentResiduals) -> type[CheckedRows]:
    return MomentRows


@size_of.register
def _(residuals: MomentResiduals, bench: Bench) -> Size:
    return shift_size(residuals.u, residuals.scores, bench)
