"""Nulls of rows in groups: random signs of groups, and y resampled with correlated rows.

The sums V_g = Σ_{i∈g} F_i⊗ξ_i over groups g, of n_g rows, are independent and have mean 0
under the model. Rows of a group may depend on each other in any way.

**Weights.** Where rows of a group have the correlation ρ, V_g has the variance
n_g(1 + (n_g − 1)ρ) in units of that of a row, and one large group would decide alone. So
each statistic is

    Σ_{g≠h} a_g a_h V_g·V_h,    a_g = 1/(1 + (n_g − 1)ρ̂),

with the correlation ρ̂ of its own terms F_i⊗ξ_i (`weights_by_size`). ρ̂ depends on ‖V_g‖
alone, so that signs of groups do not change it: draws have the weights of the data, and the
test is exact where V_g is symmetric. Groups of one size have one weight, which changes
nothing.

**Two nulls.** V_g is not symmetric for functions of spread: a group whose rows are all far
out counts more than one whose rows are all near the median. With few groups, random signs
then reject a right model too often. So y is also resampled from its law, with normal
numbers that are correlated within groups, √ρ̂·U_g + √(1 − ρ̂)·E_i, where ρ̂ is the intraclass
correlation of the residuals (`intraclass_correlation`). Each row has its own law, as the
model has it; that rows of a group are alike in this way is an assumption, which random
signs do not need. The larger of the two p-values counts.

So the test of few groups is conservative: of right models with groups of 100 and 24 × 4
rows, with log-normal sizes and with 25 × 12 rows `check` rejected 6, 3 and 7 of 300 samples
at 0.05. `adaptive` by random signs alone rejected 84 of 1,200 (docs/theory/groups.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.engine import Engine
from condgof.errors import check_overflow
from condgof.null._bootstrap import NULLS, bootstrap_weights
from condgof.null._dependence import Dependence
from condgof.null._draws import (
    BesideStatistics,
    DrawnStatistics,
    NullDraws,
    Reference,
    TestedRows,
    draw_twice,
    with_own_resampling,
    with_own_signs,
)
from condgof.null._signs import MOST_PARCELS, additional_values, weighted_units
from condgof.residuals import OUTLIERS
from condgof.sample import Seed, Use
from condgof.stein import PIECE_ROWS, Piece, Plan, Unit, gather_units

#: Resampled rows are worked on this many draws at a time.
CHUNK_DRAWS = 16
#: Sums over a group that are held at a time: with what they are added to, as much as a
#: processor has near (512 kB).
CACHED_NUMBERS = 2**15
#: The stream of random numbers, within `Use.MODEL_SAMPLE`, of resampled groups of rows.
GROUPS_STREAM = 7
#: The largest working correlation: rows of a group are never quite the same.
LARGEST_CORRELATION = 0.99


def weights_by_size(
    *, squares: FloatArray, diagonal: FloatArray, n_g: FloatArray
) -> FloatArray:
    """Return the weights a_g = 1/(1 + (n_g − 1)ρ̂) of G groups in K statistics, (G, K).

    ‖V_g‖² less the squares of its terms has the mean n_g(n_g − 1)ρ, in units of the mean
    square of a term. ρ̂ is the mean of what that says over groups, which count as n_g − 1,
    and lies between 0 and 1.

    Parameters
    ----------
    squares : ndarray of shape (G, K)
        ‖V_g‖² of each statistic.
    diagonal : ndarray of shape (G, K)
        Σ_{i∈g} ‖F_i‖²‖ξ_i‖².
    n_g : ndarray of shape (G,)
        The number of rows of each group.
    """
    n_g = np.asarray(n_g, dtype=np.float64)
    several = n_g > 1
    if not several.any():
        return np.ones(squares.shape)
    mean_square = diagonal.sum(axis=0) / n_g.sum()
    # (‖V_g‖² − Σ)/(n_g(n_g − 1)), times n_g − 1.
    each = (squares - diagonal)[several] / n_g[several][:, None]
    mean = each.sum(axis=0) / (n_g[several] - 1.0).sum()
    rho = np.zeros(len(mean))
    np.divide(mean, mean_square, out=rho, where=mean_square > 0)
    rho = np.clip(rho, 0.0, 1.0)
    return np.asarray(1.0 / (1.0 + np.maximum(n_g - 1.0, 0.0)[:, None] * rho))


def _by_column(plan: Plan, weights: FloatArray) -> Iterator[SingleArray]:
    """Spread weights of statistics (G, K) over columns of panels, (G, R_p, q_p) each.

    One panel at a time: each is as large as the sums over groups.
    """
    single = weights.astype(np.float32)
    first = 0
    for cut in plan.cuts:
        shape = (cut.x_blocks.shape[1], cut.y_blocks.shape[1])
        last = first + shape[0] * shape[1]
        by_block = single[:, first:last].reshape(len(single), *shape)
        block_of_x = cut.x_blocks.argmax(axis=1)
        block_of_y = cut.y_blocks.argmax(axis=1)
        yield by_block[:, block_of_x[:, None], block_of_y]
        first = last


def _pair_factor(n: int, counted: FloatArray) -> FloatArray:
    """Return what sums over pairs of weighted groups, (G, K) rows, are multiplied by, (K,).

    They become sums over all pairs of n rows, the unit of other nulls.
    """
    pairs = np.square(counted.sum(axis=0)) - np.square(counted).sum(axis=0)
    return np.asarray(n * (n - 1.0) / np.maximum(pairs, 1e-300))


@dataclass(frozen=True, eq=False)
class GroupSigns:
    """Give weighted sums over groups random signs."""

    bootstrap: str  #: What a user calls the weights ("auto", "wild").
    dependence: Dependence
    solver = "lowrank"

    @property
    def label(self) -> str:
        return self.dependence.named(self.bootstrap)

    def draw(
        self,
        plan: Plan,
        rows: TestedRows,
        m: int,
        seed: Seed,
        engine: Engine,
        beside: BesideStatistics | None = None,
        reference: Reference | None = None,
    ) -> NullDraws:
        group_of = self._group_of(rows)

        def units_of(piece: Piece) -> Iterable[Unit]:
            groups = group_of(piece.start, piece.stop)
            for some in rows_by_group(groups):
                yield Unit(int(groups[some[0]]), some)

        units = gather_units(plan, rows, units_of, engine)
        count = len(units.counts)
        weights = weights_by_size(
            squares=plan.squares(units.sums), diagonal=units.diagonal, n_g=units.counts
        )
        sums = units.sums
        for one, by_column in zip(sums, _by_column(plan, weights), strict=True):
            one *= by_column
        whole = plan.squares([one.sum(axis=0, dtype=np.float64)[None] for one in sums])[0]
        factor = _pair_factor(rows.n, weights * units.counts[:, None])
        sizes = factor * (np.square(weights) * units.diagonal).sum(axis=0)
        details = {} if _has_all_groups(rows) else {"parcels": count}
        signed: DrawnStatistics | None = None
        if beside is not None and not rows.is_stream and _has_all_groups(rows):
            signed = beside.by_signs()

        def draw_by(m: int, seed: Seed) -> NullDraws:
            signs = bootstrap_weights(self.bootstrap, count, m, seed).block(0, count)
            drawn = weighted_units(plan, sums, signs, engine)
            made = NullDraws(
                statistics=factor * (whole - drawn.unit_squares),
                draws=factor[:, None] * (drawn.forms - drawn.unit_squares[:, None]),
                sizes=sizes,
                details=details,
            )
            if beside is None or signed is None:
                made = with_own_signs(made, beside, m, seed, engine)
            else:
                by_row = signs[group_of(0, rows.total)]
                made = made.beside(beside.names, signed.observed, signed.evaluate(by_row))
            return self._with_additional(made, plan, rows, signs)

        return draw_twice(draw_by, m, seed, reference)

    def _group_of(self, rows: TestedRows) -> Callable[[int, int], IntArray]:
        """Return a function (start, stop) → the group, or parcel of groups, of rows."""
        most = rows.total if _has_all_groups(rows) else MOST_PARCELS
        return self.dependence.parcels(rows.total, most)

    def _with_additional(
        self, made: NullDraws, plan: Plan, rows: TestedRows, signs: FloatArray
    ) -> NullDraws:
        """Add the function of single rows that Stein scores have in place of outliers."""
        if not _has_all_groups(rows):
            return made
        (piece,) = rows.pieces()  # so few rows are one piece
        values = additional_values(plan, piece)
        if values is None:
            return made
        groups = self._group_of(rows)(0, rows.total)
        by_group = np.bincount(groups, values, len(signs))
        return made.plus(OUTLIERS, float(values.sum()), by_group @ signs)


def _has_all_groups(rows: TestedRows) -> bool:
    """Whether each group has a sign of its own: of many rows, parcels of groups do."""
    return rows.total <= PIECE_ROWS


def rows_by_group(groups: IntArray) -> list[IntArray]:
    """Return the rows of each group that some rows are in, from the group of each, (b,)."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order])) + 1
    return np.split(order, starts)


class GroupedGenerator(np.random.Generator):
    """Random numbers of n rows that are correlated within groups of rows.

    Each number by itself has the law that its method is named after. Rows are the first
    axis of what is drawn, or the slowest part of it.
    """

    def __init__(self, rng: np.random.Generator, codes: IntArray, rho: float) -> None:
        super().__init__(rng.bit_generator)
        self._codes = codes
        self._rho = rho

    def standard_normal(  # type: ignore[override]
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> AnyArray:
        own = super().standard_normal(size, dtype=dtype)
        by_row = own.reshape(len(self._codes), -1)
        count = int(self._codes.max()) + 1
        shared = super().standard_normal((count, by_row.shape[1]), dtype=dtype)
        by_row *= own.dtype.type(np.sqrt(1.0 - self._rho))
        by_row += own.dtype.type(np.sqrt(self._rho)) * shared[self._codes]
        return np.asarray(by_row.reshape(own.shape))

    def random(  # type: ignore[override]
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> AnyArray:
        return np.asarray(ndtr(self.standard_normal(size, dtype)))

    def standard_exponential(  # type: ignore[override]
        self, size: Any = None, dtype: Any = np.float64, method: Any = None, out: Any = None
    ) -> AnyArray:
        return np.asarray(-log_ndtr(-self.standard_normal(size, dtype)))


def intraclass_correlation(values: FloatArray, codes: IntArray) -> float:
    """Return the correlation of values (n, k) of rows of one group, pooled over columns.

    From the variance of the means of groups, each of which counts once, less the part of it
    that the variance within groups explains: one large group does not decide, and a
    constant misfit changes nothing.
    """
    n_g = np.bincount(codes).astype(np.float64)
    n = len(codes)
    count = len(n_g)
    if count < 2 or count == n:
        return 0.0
    within = 0.0
    between = 0.0
    for column in np.asarray(values, dtype=np.float64).T:
        means = np.bincount(codes, column) / n_g
        of_rows = float(np.square(column - means[codes]).sum()) / (n - count)
        within += of_rows
        between += float(means.var(ddof=1)) - of_rows * float((1.0 / n_g).mean())
    if between <= 0:
        return 0.0
    return min(between / (between + within), LARGEST_CORRELATION)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Σ_{g≠h} a_g a_h V_g·V_h of many samples of y, with the weights a_g of the data.

    Sums V_g over one group are added up before those of the next are computed, so that
    they stay in the processor's cache: V of all groups would not.
    """

    plan: Plan
    order: IntArray  #: Rows, group by group, (n,).
    ends: IntArray  #: Where each group ends in that order, (G,).
    features: list[SingleArray]  #: Fᵀ of each panel, rows in that order, (R_p, n).
    #: a_g of each group in columns of panels, (G, R_p, q_p); None where groups have one
    #: size, so that weights cancel.
    by_column: list[SingleArray] | None
    factor: FloatArray  #: Of sums over pairs of groups (`_pair_factor`), (K,).
    sizes: FloatArray  #: Of the statistics, (K,), as in `NullDraws`.

    @classmethod
    def from_rows(
        cls, plan: Plan, codes: IntArray, features: AnyArray, values: AnyArray
    ) -> GroupSums:
        """Find the weights of groups from features F (n, R) and test functions ξ (n, q)."""
        groups = rows_by_group(codes)
        n_g = np.array([len(some) for some in groups], dtype=np.float64)
        feature_squares = plan.feature_squares(features)
        value_squares = plan.value_squares(values)
        diagonal = np.stack(
            [plan.diagonal(feature_squares[some], value_squares[some]) for some in groups]
        )
        weights = np.ones(diagonal.shape)
        by_column = None
        if len(np.unique(n_g)) > 1:
            squares = np.concatenate(
                [_group_squares(plan, features[some], values[some]) for some in groups]
            )
            weights = weights_by_size(squares=squares, diagonal=diagonal, n_g=n_g)
            by_column = list(_by_column(plan, weights))
        factor = _pair_factor(len(codes), weights * n_g[:, None])
        order = np.concatenate(groups)
        return cls(
            plan=plan,
            order=order,
            ends=np.cumsum(n_g).astype(np.int64),
            features=[
                np.ascontiguousarray(features[order, cut.x].T, dtype=np.float32)
                for cut in plan.cuts
            ],
            by_column=by_column,
            factor=factor,
            sizes=factor * (np.square(weights) * diagonal).sum(axis=0),
        )

    def statistics(self, values: AnyArray) -> FloatArray:
        """Return the statistics of k samples of ξ (n, k, q), (K, k)."""
        sorted_values = np.asarray(values, dtype=np.float32)[self.order]
        parts = []
        for panel, cut in enumerate(self.plan.cuts):
            pairs = self._pairs(panel, np.ascontiguousarray(sorted_values[:, :, cut.y]))
            by_block = np.tensordot(cut.x_blocks, pairs @ cut.y_blocks, (0, 0))
            parts.append(by_block.transpose(0, 2, 1).reshape(-1, values.shape[1]))
        return np.asarray(self.factor[:, None] * np.concatenate(parts))

    def _pairs(self, panel: int, values: SingleArray) -> FloatArray:
        """Return (Σ a_g V_g)² − Σ a_g² V_g² of ξ (n, k, q_p), (R_p, k, q_p)."""
        width = len(self.features[panel])
        pairs = np.empty((width, *values.shape[1:]))
        at_once = max(1, CACHED_NUMBERS // max(values[0].size, 1))
        for first in range(0, width, at_once):
            some = slice(first, min(first + at_once, width))
            self._add_groups(panel, some, values, out=pairs[some])
        return pairs

    def _add_groups(
        self, panel: int, some: slice, values: SingleArray, out: FloatArray
    ) -> None:
        """Compute `_pairs` of some columns of F."""
        features = self.features[panel][some]
        flat = values.reshape(len(values), -1)
        squares = np.zeros(out.shape, dtype=np.float32)
        of_group = np.empty(out.shape, dtype=np.float32)
        out[:] = 0.0
        start = 0
        for g, end in enumerate(self.ends):
            product = of_group.reshape(len(features), -1)
            np.matmul(features[:, start:end], flat[start:end], out=product)
            if self.by_column is not None:
                of_group *= self.by_column[panel][g, some, None, :]
            out += of_group
            squares += np.square(of_group, out=of_group)
            start = end
        np.square(out, out=out)
        out -= squares


def _group_squares(plan: Plan, features: AnyArray, values: AnyArray) -> FloatArray:
    """Return ‖Fᵀξ‖² of each statistic, (1, K), of the rows of one group."""
    sums = [(features[:, cut.x].T @ values[:, cut.y])[None] for cut in plan.cuts]
    return plan.squares(sums)


@dataclass(frozen=True, eq=False)
class GroupResample:
    """Resample y of rows that are correlated within groups; the statistics of `GroupSigns`.

    The weights are those of the data in every draw.
    """

    dependence: Dependence
    codes: IntArray  #: The group of each row, (n,).
    rho: float  #: The working correlation of rows of a group.
    solver = "exact"

    @property
    def label(self) -> str:
        return NULLS["model"] + self.dependence.units.suffix

    def draw(
        self,
        plan: Plan,
        rows: TestedRows,
        m: int,
        seed: Seed,
        engine: Engine,
        beside: BesideStatistics | None = None,
        reference: Reference | None = None,
    ) -> NullDraws:
        held = plan.hold(rows)
        further = None if beside is None else beside.by_resampling()
        sums = GroupSums.from_rows(plan, self.codes, held.features, held.values)
        observed = sums.statistics(held.values[:, None])[:, 0]
        count = len(observed)

        def draw_by(m: int, seed: Seed) -> NullDraws:
            resampler = rows.resampler(plan.test_functions, seed)

            def task(start: int) -> FloatArray:
                stream = seed.stream(Use.MODEL_SAMPLE, GROUPS_STREAM, start)
                rng = GroupedGenerator(stream, self.codes, self.rho)
                drawn = resampler.draw(rng, min(CHUNK_DRAWS, m - start))
                of_sums = sums.statistics(drawn.values)
                if further is None:
                    return of_sums
                return np.vstack([of_sums, further.evaluate(drawn.drawn)])

            chunks = engine.local.map(task, range(0, m, CHUNK_DRAWS))
            draws = np.concatenate(list(chunks), axis=1)
            check_overflow(observed, draws)
            made = NullDraws(
                statistics=observed,
                draws=draws[:count],
                sizes=sums.sizes,
            )
            if beside is None or further is None:
                return with_own_resampling(made, beside, m, seed, engine)
            return made.beside(beside.names, further.observed, draws[count:])

        return draw_twice(draw_by, m, seed, reference)
