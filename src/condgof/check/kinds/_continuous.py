"""A continuous y of one column: normal scores z of the model's CDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import (
    OUTSIDE_99,
    OUTSIDE_999,
    Residual,
    interval_shares,
    mean_and_spread,
    median_and_middle_half,
    outliers,
)
from condgof.check._quantities import Signal
from condgof.check._size import ON_SCORES, Bench, Size, shift_size, size_of
from condgof.check.effects import NormalTilt, Tilt
from condgof.check.kinds._bands import bands_of
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Draw, Signals
from condgof.laws import Law, moments_of
from condgof.residuals import (
    ContinuousResiduals,
    NormalScoreResiduals,
    Replicate,
    legendre,
)
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader
    from condgof.check._record import Finding

#: What the normalised Legendre polynomials of the PIT, of degrees 1 to 4, are sensitive to:
#: the kinds of the signals that they are.
LEGENDRE = ("shift", "spread", "skew", "tails")
#: E[ψ³] of each of these polynomials under the law, by which p-values of their sums correct
#: the normal approximation. Those of odd degree are symmetric; 0.63888 = 5^1.5·2/35 and
#: 0.48551 = 27·18/1001.
LEGENDRE_THIRD_MOMENTS = (0.0, 0.63888, 0.0, 0.48551)
#: D(s)/(E[k]·s²) of a shift by s sds of one column of a Gaussian model, with the bandwidth
#: σ = 1 on y: (1 + 2/σ²)^(−1/2). See `condgof.check._size.shift_size`.
SHIFT_DISCREPANCY = 3.0**-0.5


@dataclass(frozen=True, eq=False)
class ContinuousRows(CheckedRows):
    """Rows with normal scores of one column of y."""

    label = "continuous"
    z: FloatArray  #: Standard normal under the model, (n, 1).
    draws: int  #: How many draws of each row the law is known by; 0 where it is no draws.
    #: The model's quantiles of y, (n, levels), NaN in rows that were not asked; or None.
    bands: FloatArray | None = None

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: ContinuousResiduals
    ) -> ContinuousRows:
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            z=residuals.u,
            draws=residuals.draws,
        )

    @property
    def pit(self) -> FloatArray:
        """Φ(z), uniform under the model, (n, 1)."""
        return np.asarray(ndtr(self.z))

    def normal_scores_of(self, y_name: str) -> FloatArray | None:
        names = [column.name for column in self.y_columns]
        return self.z[:, names.index(y_name)]

    def resolves(self, tail: float) -> bool:
        """Whether the law can tell a tail of this probability: a few draws cannot."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    def with_bands(self, law: Law, seed: Seed) -> Self:
        return replace(self, bands=bands_of(law, self.n, seed))

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        residual = Residual(rows, self.z[rows, 0], self.y_name, draws=self.draws)
        if overall:
            yield from median_and_middle_half(reader, residual)
        else:
            yield from mean_and_spread(reader, residual)
        outer = OUTSIDE_999 if overall else OUTSIDE_99
        yield from interval_shares(reader, residual, outer, self.resolves)
        if overall and not self.draws:
            yield from outliers(reader, residual)

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return the Legendre polynomials of the PIT, (n, 4)."""

        def redraw(some: IntArray) -> Draw:
            def draw(rng: np.random.Generator, m: int) -> AnyArray:
                """Return the signals of m draws, (rows, m, 4)."""
                return legendre(rng.random((len(some), m), dtype=np.float32))

            return draw

        values = legendre(self.pit[:, 0])
        return Signals(
            about=tuple(Signal(kind, self.y_name) for kind in LEGENDRE),
            values=values,
            variance=np.broadcast_to(1.0, values.shape),
            redraw=redraw,
            orthonormal=True,
            first=2,
            common=2,
            third=LEGENDRE_THIRD_MOMENTS,
            of_resampled=lambda: lambda z: legendre(ndtr(z[:, :, 0])),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        return NormalTilt.from_scores(self.z[:, 0], self.y_name)

    def signals_of_replicate(
        self, observed: Signals, replicate: Replicate, rows: RowsInMemory, seed: Seed
    ) -> Signals:
        assert isinstance(replicate.residuals, NormalScoreResiduals)
        return replace(observed, values=legendre(replicate.residuals.pit[:, 0]))


@rows_class.register
def _(residuals: ContinuousResiduals) -> type[CheckedRows]:
    return ContinuousRows


@size_of.register
def _(residuals: NormalScoreResiduals, bench: Bench) -> Size:
    # Normal scores are all that is known of draws, PITs and bins.
    note = "" if bench.law.can("score") else ON_SCORES
    return shift_size(residuals.u, residuals.scores, bench, note=note)
