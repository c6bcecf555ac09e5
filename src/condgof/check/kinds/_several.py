"""Several columns of y: normal scores of each, and their correlations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri

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
from condgof.check._quantities import SD, Signal
from condgof.check._record import Finding
from condgof.check._size import (
    ON_SCORES,
    Bench,
    Size,
    features_of_x,
    functions_of_y,
    pair_sums,
    root_of,
    shift_size,
    size_of,
)
from condgof.check.effects import SeveralTilt, Tilt
from condgof.check.kinds._bands import bands_of
from condgof.check.kinds._continuous import (
    LEGENDRE,
    LEGENDRE_THIRD_MOMENTS,
    SHIFT_DISCREPANCY,
)
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Draw, Signals, tilt_of_signals
from condgof.laws import Law, moments_of
from condgof.residuals import (
    FoldedRankResiduals,
    MarginalResiduals,
    RankResiduals,
    Replicate,
    SeveralResiduals,
    legendre,
)
from condgof.sample import Seed, weighted_mean
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: At most this many columns of y, the first ones, are compared in pairs: 10 pairs.
MOST_PAIRED_COLUMNS = 5
#: Rows of draws whose ranks are in memory at a time.
RANK_ROWS = 4096
#: Signals of draws that are in memory at a time: 16 MB of doubles.
HELD_NUMBERS = 2**21
#: Correlations are kept this far from −1 and 1, where arctanh is infinite.
LEAST_FROM_ONE = 1e-12


class ColumnPairs(NamedTuple):
    """Pairs of columns of y, by their positions, (pairs,) each."""

    first: IntArray
    second: IntArray


def column_pairs(d_y: int) -> ColumnPairs:
    """Return all pairs of the first `MOST_PAIRED_COLUMNS` of d_y columns of y."""
    first, second = np.triu_indices(min(d_y, MOST_PAIRED_COLUMNS), 1)
    return ColumnPairs(first, second)


def column_signals(pit: AnyArray, pairs: ColumnPairs) -> AnyArray:
    """Return the signals of PITs (..., d_y), (..., K).

    They are the shift of each column, the spread of each column, and the product of the
    shifts of each pair: K = 2·d_y + pairs. Of one column they are its first four Legendre
    polynomials: K = 4.
    """
    each = legendre(pit)
    if pit.shape[-1] == 1:
        return each[..., 0, :]
    shift = each[..., 0]
    spread = each[..., 1]
    products = shift[..., pairs.first] * shift[..., pairs.second]
    return np.concatenate([shift, spread, products], axis=-1)


@dataclass(frozen=True, eq=False)
class SeveralRows(CheckedRows):
    """Rows with normal scores of several columns of y, independent under the model."""

    label = "several"
    z: FloatArray  #: Standard normal in each column under the model, (n, d_y).
    draws: int  #: How many draws of each row the law is known by; 0 where it is no draws.

    @classmethod
    def from_law(
        cls,
        table: RowTable,
        law: Law,
        residuals: SeveralResiduals | MarginalResiduals | RankResiduals,
    ) -> SeveralRows:
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
        """Φ(z), uniform in each column under the model, (n, d_y)."""
        return np.asarray(ndtr(self.z))

    @property
    def pairs(self) -> ColumnPairs:
        return column_pairs(len(self.y_columns))

    def normal_scores_of(self, y_name: str) -> FloatArray | None:
        names = [column.name for column in self.y_columns]
        return self.z[:, names.index(y_name)]

    def resolves(self, tail: float) -> bool:
        """Whether the law can tell a tail of this probability: a few draws cannot."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    def expected_products(self) -> FloatArray | None:
        """Return E[z_a z_b] under the model of each pair, (n, pairs); None if not known."""
        return np.zeros((self.n, len(self.pairs.first)))

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        several = len(self.y_columns) > 1
        outer = OUTSIDE_999 if overall else OUTSIDE_99
        for j, column in enumerate(self.y_columns):
            residual = Residual(rows, self.z[rows, j], column.name, several, self.draws)
            if overall:
                yield from median_and_middle_half(reader, residual)
            else:
                yield from mean_and_spread(reader, residual)
            yield from interval_shares(reader, residual, outer, self.resolves)
            if overall and not self.draws:
                yield from outliers(reader, residual)
        if several:
            yield from self._correlations(reader, rows)

    def _correlations(self, reader: Reader, rows: IntArray) -> Iterator[Finding]:
        expected = self.expected_products()
        if expected is None:  # columns may depend on each other in any way
            return
        names = [column.name for column in self.y_columns]
        for k, (a, b) in enumerate(zip(*self.pairs, strict=True)):
            first = self.z[rows, a]
            second = self.z[rows, b]
            varies = len(rows) > 3 and first.std() > 0 and second.std() > 0
            weights = reader.weights_of(rows)
            r = _correlation(first, second, weights) if varies else 0.0
            # Fisher's arctanh r has the standard error 1/√(n − 3).
            reach = reader.reach_by_units(rows, first * second)
            half = reach / math.sqrt(max(reader.effective(rows) - 3, 1))
            bounded = max(min(r, 1 - LEAST_FROM_ONE), -1 + LEAST_FROM_ONE)
            at = math.atanh(bounded)
            yield Finding(
                kind="correlation",
                column=f"{names[a]} and {names[b]}",
                estimate=r,
                interval=(math.tanh(at - half), math.tanh(at + half)),
                expected=weighted_mean(expected[rows, k], weights),
                quantity="correlation",
            )

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        d_y = len(self.y_columns)
        pairs = self.pairs

        def redraw(some: IntArray) -> Draw:
            def draw(rng: np.random.Generator, m: int) -> AnyArray:
                uniforms = rng.random((len(some), m, d_y), dtype=np.float32)
                return column_signals(uniforms, pairs)

            return draw

        values = column_signals(self.pit, pairs)
        return Signals(
            about=self._about(pairs),
            values=values,
            variance=np.broadcast_to(1.0, values.shape),
            redraw=redraw,
            orthonormal=True,
            first=2 * d_y,
            common=2 * d_y,
            of_resampled=lambda: lambda z: column_signals(ndtr(z), pairs),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        pairs = [(int(a), int(b)) for a, b in zip(*self.pairs, strict=True)]
        names = [column.name for column in self.y_columns]
        return SeveralTilt.from_scores(self.z, names, pairs, joint=True)

    def _about(self, pairs: ColumnPairs) -> tuple[Signal, ...]:
        names = [column.name for column in self.y_columns]
        kinds = LEGENDRE if len(names) == 1 else LEGENDRE[:2]
        about = [Signal(kind, name) for kind in kinds for name in names]
        for a, b in zip(*pairs, strict=True):
            about.append(Signal("correlation", f"{names[a]} and {names[b]}"))
        return tuple(about)


@dataclass(frozen=True, eq=False)
class MarginalRows(SeveralRows):
    """Rows with normal scores of columns of y whose dependence the model does not know.

    Each column has a known law, and the columns together have none: y cannot be drawn, and
    no correlation is expected.
    """

    def expected_products(self) -> FloatArray | None:
        return None

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        d_y = len(self.y_columns)
        no_pairs = column_pairs(1)
        return Signals(
            about=self._about(no_pairs),
            values=column_signals(self.pit, no_pairs),
            variance=None,
            redraw=None,
            first=2 * d_y,
            common=2 * d_y,
            third=LEGENDRE_THIRD_MOMENTS if d_y == 1 else (),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        names = [column.name for column in self.y_columns]
        return SeveralTilt.from_scores(self.z, names, (), joint=False)


@dataclass(frozen=True, eq=False)
class SingleMarginalRows(MarginalRows):
    """Rows with normal scores of one column of y, which cannot be drawn from its law."""

    label = "continuous"
    #: The model's quantiles of y, (n, levels), NaN in rows that were not asked; or None.
    bands: FloatArray | None = None

    def with_bands(self, law: Law, seed: Seed) -> Self:
        return replace(self, bands=bands_of(law, self.n, seed))


@dataclass(frozen=True, eq=False)
class RankRows(SeveralRows):
    """Rows with ranks of several columns of y among draws from the model.

    Under the model y could have been any of the draws, so that these have the dependence
    between columns that is expected.
    """

    products: FloatArray  #: E[z_a z_b] under the draws of each row, (n, pairs).

    @classmethod
    def from_law(cls, table: RowTable, law: Law, residuals: Any) -> RankRows:
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            z=residuals.u,
            draws=residuals.draws,
            products=_expected_rank_products(residuals, column_pairs(len(names))),
        )

    def expected_products(self) -> FloatArray | None:
        return self.products

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        residuals = rows.residuals
        assert isinstance(residuals, RankResiduals)
        outcomes = residuals.rank_outcomes
        ranks = outcomes.ranks[:, :, : outcomes.columns]
        pairs = column_pairs(outcomes.columns)
        n, count, d_y = ranks.shape
        about = self._about(pairs)
        values = np.empty((n, len(about)))
        mean = np.empty((n, len(about)))
        variance = np.empty((n, len(about)))
        step = max(1, HELD_NUMBERS // (count * len(about)))
        for start in range(0, n, step):
            some = slice(start, start + step)
            each = column_signals(np.asarray(ranks[some], dtype=np.float64), pairs)
            mean[some] = each.mean(axis=1)
            variance[some] = each.var(axis=1)
            values[some] = each[:, 0]

        def redraw(some: IntArray) -> Draw:
            centre = mean[some].astype(np.float32)[:, None]
            of_candidates = column_signals(ranks[some], pairs) - centre
            flat = of_candidates.reshape(-1, len(about))
            first_of_row = count * np.arange(len(some))[:, None]

            def draw(rng: np.random.Generator, m: int) -> AnyArray:
                chosen = rng.integers(0, count, (len(some), m))
                return np.asarray(flat.take(first_of_row + chosen, axis=0))

            return draw

        def at_uniforms(uniforms: AnyArray) -> AnyArray:
            # Candidates are equally likely.
            chosen = np.minimum((uniforms * count).astype(np.int64), count - 1)
            candidates = ranks[np.arange(n)[:, None], chosen]
            return column_signals(candidates, pairs) - mean[:, None].astype(np.float32)

        largest = np.abs(column_signals(np.ones(d_y), pairs))
        return Signals(
            about=about,
            values=values - mean,
            variance=variance,
            redraw=redraw,
            first=2 * d_y,
            common=2 * d_y,
            bound=largest + np.abs(mean).max(axis=0),
            of_resampled=lambda: at_uniforms,
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        return tilt_of_signals(self.signals(law, rows, seed))

    def signals_of_replicate(
        self, observed: Signals, replicate: Replicate, rows: RowsInMemory, seed: Seed
    ) -> Signals:
        residuals = replicate.residuals
        assert isinstance(residuals, RankResiduals)
        outcomes = residuals.rank_outcomes
        pairs = column_pairs(outcomes.columns)
        # Both less the mean over the candidates, which `observed` knows.
        ranks = outcomes.ranks[:, [0, outcomes.code], : outcomes.columns]
        of_y, of_draw = np.moveaxis(column_signals(ranks.astype(np.float64), pairs), 1, 0)
        return replace(observed, values=observed.values + of_draw - of_y)


def _expected_rank_products(residuals: RankResiduals, pairs: ColumnPairs) -> FloatArray:
    """Return E[z_a z_b] of y among its draws, in each row, (n, pairs)."""
    n = residuals.n
    products = np.empty((n, len(pairs.first)))
    count = residuals.draws + 1
    half = 0.5 / count
    # The mean of z between two neighbouring ranks, ∫ z dΦ over their distance. Within them
    # z is drawn at random, independently in each column. Ranks are multiples of `half`.
    u: FloatArray = half * np.arange(2.0 * count + 1.0)
    differences = _density_kernel(u - half) - _density_kernel(u + half)
    means = differences / (2.0 * half * np.sqrt(2.0 * np.pi))
    for start in range(0, n, RANK_ROWS):
        some = slice(start, start + RANK_ROWS)
        places = np.rint(residuals.candidate_ranks(some) / half).astype(np.int64)
        mean = means.take(places)
        products[some] = (mean[..., pairs.first] * mean[..., pairs.second]).mean(axis=1)
    return products


def _density_kernel(u: FloatArray) -> FloatArray:
    """Return exp(−z²/2) at z = Φ⁻¹(u)."""
    z = ndtri(np.clip(u, 0.0, 1.0))
    return np.asarray(np.exp(-0.5 * np.square(z)))


@rows_class.register
def _(residuals: SeveralResiduals) -> type[CheckedRows]:
    return SeveralRows


@rows_class.register
def _(residuals: MarginalResiduals) -> type[CheckedRows]:
    return SingleMarginalRows if residuals.u.shape[1] == 1 else MarginalRows


@rows_class.register
def _(residuals: RankResiduals) -> type[CheckedRows]:
    return RankRows


@rows_class.register
def _(residuals: FoldedRankResiduals) -> type[CheckedRows]:
    return MarginalRows


@size_of.register
def _(residuals: MarginalResiduals, bench: Bench) -> Size:
    return shift_size(residuals.u, residuals.scores, bench)


@size_of.register
def _(residuals: RankResiduals, bench: Bench) -> Size:
    """A shift of each column by itself, of which the largest counts."""
    f = features_of_x(bench.kernel, bench)
    parts = []
    for z in residuals.u.T[:, :, None]:
        xi = functions_of_y(z, -z, 1.0, bench).stein
        parts.append(pair_sums(f, xi, None, bench.dependence))
    return Size(
        parts=tuple(parts),
        of=root_of(SHIFT_DISCREPANCY),
        unit=SD,
        like=f"a constant shift of one column by {{}} {SD}",
        note=f"{ON_SCORES}; how columns go together is not in that number",
    )


def _correlation(a: FloatArray, b: FloatArray, weights: FloatArray | None) -> float:
    """Return the correlation of two columns (m,), weighted where rows are."""
    if weights is None:
        return float(np.corrcoef(a, b)[0, 1])
    covariance = np.cov(a, b, aweights=weights)
    return float(covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1]))
