"""Stein scores alone: by E[s] = 0 and E[s(y − c)] = −1, whatever c is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._quantities import SD, Signal
from condgof.check._record import Finding
from condgof.check._size import (
    BY_SCORES,
    SHIFT,
    Bench,
    Size,
    bandwidth_of,
    features_of_x,
    functions_of_y,
    pair_sums,
    root_of,
    size_of,
)
from condgof.check.kinds._continuous import LEGENDRE, SHIFT_DISCREPANCY
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Signals
from condgof.kernels import cell_scales
from condgof.laws import Law, moments_of
from condgof.residuals import RatioResiduals, ScoreResiduals
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader


@dataclass(frozen=True, eq=False)
class ScoreRows(CheckedRows):
    """Rows with nothing but Stein scores."""

    label = "scores"
    u: FloatArray  #: y in the coordinates that scores are of, (n, d_y).
    scores: FloatArray  #: ∇ log p(u|x), (n, d_y).

    @classmethod
    def from_law(cls, table: RowTable, law: Law, residuals: Any) -> ScoreRows:
        return cls(
            table=table,
            comparison={},
            moments=moments_of(law),
            u=residuals.u,
            scores=residuals.scores,
        )

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        several = len(self.y_columns) > 1
        for j, column in enumerate(self.y_columns):
            s = self.scores[rows, j]
            # The sd of all rows, so that subgroups are measured in the same unit.
            score_sd = float(self.scores[:, j].std()) or 1.0
            mean = reader.mean(rows, -s / score_sd)
            yield Finding(
                kind="shift",
                column=column.name,
                estimate=mean.value,
                interval=mean.interval,
                expected=0.0,
                quantity="mean score",
                numbers={"several": several},
            )
            # E[−s·(y − c)] = 1 under the model, and about the square of the spread of data
            # that spread more or less than it predicts.
            away = self.u[rows, j] - float(self.u[:, j].mean())
            square = reader.mean(rows, -s * away)
            low, high = (math.sqrt(max(end, 0.0)) for end in square.interval)
            yield Finding(
                kind="spread",
                column=column.name,
                estimate=math.sqrt(max(square.value, 0.0)),
                interval=(low, high),
                expected=1.0,
                quantity="score spread",
                numbers={"several": several},
            )

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        names = [column.name for column in self.y_columns]
        s = np.asarray(self.scores, dtype=np.float64)
        y = np.asarray(self.u, dtype=np.float64)
        shift = -s
        spread = -s * (y - y.mean(axis=0)) - 1.0
        return Signals(
            about=tuple(Signal(kind, name) for kind in LEGENDRE[:2] for name in names),
            values=np.concatenate([shift, spread], axis=1),
            variance=None,
            redraw=None,
            first=2 * len(names),
        )


@dataclass(frozen=True, eq=False)
class RatioRows(ScoreRows):
    """Counts of which only the ratios p(y + 1|x)/p(y|x) are known.

    The difference Stein operator applied to the constant 1 stands for the score: it has
    mean 0 under the model, too.
    """

    @classmethod
    def from_law(cls, table: RowTable, law: Law, residuals: Any) -> RatioRows:
        scores = np.asarray(residuals.values).sum(axis=1, keepdims=True)
        return cls(
            table=table,
            comparison={},
            moments=moments_of(law),
            u=residuals.u,
            scores=scores,
        )


@rows_class.register
def _(residuals: ScoreResiduals) -> type[CheckedRows]:
    return ScoreRows


@rows_class.register
def _(residuals: RatioResiduals) -> type[CheckedRows]:
    return RatioRows


@size_of.register
def _(residuals: ScoreResiduals, bench: Bench) -> Size:
    """Scores that are off by s/τ have D = s²·E[k·l], wherever y lies.

    τ is the standard deviation of y as scores have it; see `score_spread`.
    """
    tau = score_spread(residuals)
    u = residuals.u / tau
    functions = functions_of_y(u, residuals.scores * tau, bandwidth_of(u, bench), bench)
    f = features_of_x(bench.kernel, bench)
    return Size(
        parts=(pair_sums(f, functions.stein, functions.plain, bench.dependence),),
        of=root_of(1.0),
        unit=SD,
        like=SHIFT,
        note=BY_SCORES,
    )


def score_spread(residuals: ScoreResiduals) -> FloatArray:
    """Return τ (d_y,), τ² = −Cov(s, y)/Var(s), which a shift does not move.

    The standard deviation of y where that is not positive.
    """
    centred = residuals.u - residuals.u.mean(axis=0)
    covariance = -np.mean(residuals.scores * centred, axis=0)
    variance = residuals.scores.var(axis=0)
    positive = (covariance > 0) & (variance > 0)
    ratio = np.where(positive, covariance, 1.0) / np.where(positive, variance, 1.0)
    return np.asarray(np.where(positive, np.sqrt(ratio), centred.std(axis=0)))


@size_of.register
def _(residuals: RatioResiduals, bench: Bench) -> Size:
    """As for a density with a constant shift: the difference operator is close to its."""
    (kernel,) = cell_scales(residuals.cells, (1.0,))
    xi = kernel.features(np.asarray(residuals.values))
    f = features_of_x(bench.kernel, bench)
    return Size(
        parts=(pair_sums(f, xi, None, bench.dependence),),
        of=root_of(SHIFT_DISCREPANCY),
        unit=SD,
        like=SHIFT,
        note="as its ratios suggest",
    )
