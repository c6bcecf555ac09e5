"""Nulls by random signs (wild bootstrap), or other weights, of rows, blocks and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_overflow
from condgof.null._bootstrap import bootstrap_weights
from condgof.null._dependence import Dependence
from condgof.null._draws import (
    DOUBLE_ROUNDING,
    SINGLE_ROUNDING,
    BesideStatistics,
    NullDraws,
    Reference,
    TestedRows,
    draw_twice,
    settle,
    with_own_signs,
)
from condgof.residuals import OUTLIERS
from condgof.sample import Seed
from condgof.stein import (
    Piece,
    Plan,
    RowUse,
    Unit,
    UnitSums,
    gather_units,
    row_range_uniforms,
)

#: Up to this many rows, draws are computed in double precision: few rows have few patterns
#: of signs, and draws that tie with the statistic must be recognised.
FEW_ROWS = 32
#: Most numbers that a task holds at a time (64 MB in double precision).
HELD_NUMBERS = 2**23
#: A large block of columns is cut into this many parts, so that several threads have work.
BLOCK_PARTS = 4
#: Most blocks of independent rows in `BlockSigns`. The covariance of the draws is right on
#: average, with a noise that falls with the number of blocks (docs/theory/factoring.md);
#: time and memory grow with it.
MOST_BLOCKS = 2048
#: Most parcels of dependent rows in `ParcelSigns`. Pairs of rows within a parcel are left
#: out: more parcels leave out fewer pairs, and take more time and memory.
MOST_PARCELS = 512


@dataclass(frozen=True, eq=False)
class RowSigns:
    """Give each row a weight: one sign for each, or for each group or stretch of rows."""

    bootstrap: str  #: What a user calls the weights ("auto", "wild", "multinomial", …).
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
        def draw_by(m: int, seed: Seed) -> NullDraws:
            return self._draw(plan, rows, m, seed, engine, beside)

        return draw_twice(draw_by, m, seed, reference)

    def _draw(
        self,
        plan: Plan,
        rows: TestedRows,
        m: int,
        seed: Seed,
        engine: Engine,
        beside: BesideStatistics | None,
    ) -> NullDraws:
        n = rows.total
        weights = self.dependence.weights(self.bootstrap, n, m, seed)
        w = weights.block(0, n)
        drawn = _weighted_rows(plan, rows, w, engine)
        # Sums become statistics when they are divided by n − 1. Draws are to be multiplied
        # by `factor` instead, which is 1/n for the multinomial bootstrap.
        drawn = replace(drawn, draws=weights.factor * (n - 1) * drawn.draws)
        if beside is not None and rows.is_stream:
            drawn = with_own_signs(drawn, beside, m, seed, engine)
        elif beside is not None:
            signed = beside.by_signs()
            drawn = drawn.beside(beside.names, signed.observed, signed.evaluate(w))
        if len(plan.statistics) == 1:  # tests of one pair of kernels have no other family
            return drawn
        (piece,) = rows.pieces()  # at most `PIECE_ROWS` rows get weights of their own
        values = additional_values(plan, piece)
        if values is None:
            return drawn
        # Where only Stein scores are known, there is no statistic of the largest outliers:
        # this one takes its place in the combination.
        return drawn.plus(OUTLIERS, float(values.sum()), values @ w)


def additional_values(plan: Plan, piece: Piece) -> FloatArray | None:
    """Return the additional function of single rows, (b,), 0 in rows that do not count."""
    if piece.keep is None:
        values = plan.test_functions.additional_values(piece.x, piece.residuals)
        return None if values is None else piece.weighted(values)
    kept = np.flatnonzero(piece.keep)
    some = plan.test_functions.additional_values(piece.x[kept], piece.residuals.take(kept))
    if some is None:
        return None
    values = np.zeros(piece.total)
    values[kept] = some
    return piece.weighted(values)


def _weighted_rows(
    plan: Plan, rows: TestedRows, w: FloatArray, engine: Engine
) -> NullDraws:
    """Draw ‖Σ_i w_i F_i⊗ξ_i‖² − Σ_i w_i²‖F_i‖²‖ξ_i‖² for each column of weights (n, m).

    Statistics are computed in the precision of F and ξ. Draws of more than `FEW_ROWS` rows
    are computed in single precision, with ξ divided by its largest value so that squares do
    not overflow.
    """
    features, values = plan.hold(rows)
    n = len(values)
    check_overflow(values)
    largest = np.abs(values).max() or 1.0
    dtype = np.float64 if n <= FEW_ROWS else np.float32
    draw_weights: AnyArray = np.asarray(w.T, dtype=dtype)  # (m, n)
    draw_features: AnyArray = np.asarray(features, dtype=dtype)
    draw_values: AnyArray = np.asarray(values / largest, dtype=dtype)

    def terms(panel: int, columns: slice) -> AnyArray:
        """Return F_i⊗ξ_i of some columns of F in a panel, (n, columns·q_p)."""
        xi = draw_values[:, plan.cuts[panel].y]
        return (draw_features[:, columns, None] * xi[:, None, :]).reshape(n, -1)

    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        totals = [(features[:, cut.x].T @ values[:, cut.y])[None] for cut in plan.cuts]
        feature_squares = plan.feature_squares(features)
        value_squares = plan.value_squares(values)
        whole = plan.squares(totals)[0]
        diagonal = plan.diagonal(feature_squares, value_squares)
        w_squares = np.square(w)
        drawn_diagonal = diagonal[:, None]  # (K, 1): that of the data, where w is ±1
        if (w_squares != 1.0).any():
            by_panel = []
            for panel in plan.panels:
                products = _pair_products(
                    feature_squares[:, panel.features],
                    value_squares[:, panel.test_functions],
                )
                by_panel.append(products.T @ w_squares)
            drawn_diagonal = np.concatenate(by_panel)  # (K, m)
    forms = _quadratic_forms(plan, terms, draw_weights, engine).forms
    forms = np.square(largest, dtype=float) * forms
    check_overflow(whole, forms)
    is_double = values.dtype == features.dtype == np.float64
    rounding = DOUBLE_ROUNDING if is_double else SINGLE_ROUNDING
    draw_rounding = (
        DOUBLE_ROUNDING if dtype is np.float64 and is_double else SINGLE_ROUNDING
    )
    return NullDraws(
        statistics=settle(whole - diagonal, whole + diagonal, rounding),
        draws=settle(forms - drawn_diagonal, forms + drawn_diagonal, draw_rounding),
        sizes=diagonal,
    )


def _pair_products(a: AnyArray, b: AnyArray) -> AnyArray:
    """Return the products of all columns of a (n, k) and b (n, l), row by row, (n, k·l)."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


@dataclass(frozen=True, eq=False)
class BlockSigns:
    """Give blocks of many independent rows random signs; within a block signs are fixed.

    V_b = Σ_{i∈b} ε_i F_i⊗ξ_i is the sum over block b with the signs ε of its rows, and a
    draw is ‖Σ_b w_b V_b‖² − Σ_b w_b²‖V_b‖². For weights w that are no signs, the second sum
    is replaced by its mean Σ_b ‖V_b‖²: all kinds of weights have E[w²] = 1 (the multinomial
    ones up to 1/B, for B blocks).
    """

    bootstrap: str
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
        sign_seed = seed if reference is None else reference.seed
        units = sum_over_blocks(plan, rows, MOST_BLOCKS, sign_seed, engine)
        count = len(units.counts)
        whole = plan.squares([one[None] for one in units.totals])[0]
        sizes = units.diagonal.sum(axis=0)

        def draw_by(m: int, seed: Seed) -> NullDraws:
            weights = bootstrap_weights(self.bootstrap, count, m, seed).block(0, count)
            drawn = weighted_units(plan, units.sums, weights, engine)
            made = NullDraws(
                statistics=whole - sizes,
                draws=drawn.forms - drawn.unit_squares[:, None],
                sizes=sizes,
                details={"blocks": count},
            )
            return with_own_signs(made, beside, m, seed, engine)

        return draw_twice(draw_by, m, seed, reference)


@dataclass(frozen=True, eq=False)
class ParcelSigns:
    """Give parcels of many rows that depend on each other random signs.

    Pairs of rows within a parcel are in neither the statistics nor the draws.
    """

    bootstrap: str
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
        parcel_of = self.dependence.parcels(rows.total, MOST_PARCELS)

        def units_of(piece: Piece) -> Iterable[Unit]:
            parcels = parcel_of(piece.start, piece.stop)
            for parcel in np.unique(parcels):
                yield Unit(int(parcel), np.flatnonzero(parcels == parcel))

        units = gather_units(plan, rows, units_of, engine)
        count = len(units.counts)
        n = rows.n
        whole = plan.squares([one[None] for one in units.totals])[0]
        sizes = units.diagonal.sum(axis=0)
        # Pairs within a parcel are left out, so that sums are scaled up to all pairs.
        pairs_between = float(n) * n - float(np.square(units.counts).sum())
        factor = n * (n - 1.0) / pairs_between

        def draw_by(m: int, seed: Seed) -> NullDraws:
            weights = bootstrap_weights(self.bootstrap, count, m, seed).block(0, count)
            drawn = weighted_units(plan, units.sums, weights, engine)
            made = NullDraws(
                statistics=factor * (whole - drawn.unit_squares),
                draws=factor * (drawn.forms - drawn.unit_squares[:, None]),
                sizes=factor * sizes,
                details={"parcels": count},
            )
            return with_own_signs(made, beside, m, seed, engine)

        return draw_twice(draw_by, m, seed, reference)


def block_length(n: int, most: int) -> int:
    """Return the length of at most `most` blocks: a power of 2, so that they fit pieces."""
    return 1 << max(0, int(np.ceil(np.log2(n / most))))


def sum_over_blocks(
    plan: Plan, rows: TestedRows, most: int, seed: Seed, engine: Engine
) -> UnitSums:
    """Sum over blocks of rows in their order; within a block signs are drawn once."""
    length = block_length(rows.total, most)

    def units_of(piece: Piece) -> Iterable[Unit]:
        uniforms = row_range_uniforms(seed, piece.start, piece.stop, RowUse.BLOCK_SIGN)
        signs = np.where(uniforms >= 0.5, 1.0, -1.0)
        # Pieces of a Dask array begin where its chunks do, not where blocks do: the first
        # rows of a piece may be the end of a block.
        begun = min(-piece.start % length, piece.total)
        if begun:
            number = piece.start // length
            yield Unit(number, slice(begun), length=length, signs=signs[:begun])
        if begun < piece.total:
            number = (piece.start + begun) // length
            yield Unit(number, slice(begun, None), length=length, signs=signs[begun:])

    return gather_units(plan, rows, units_of, engine)


class WeightedUnits(NamedTuple):
    """Quadratic forms of weighted sums over units."""

    forms: FloatArray  #: ‖Σ_b w_b V_b‖² of each statistic and draw, (K, m).
    unit_squares: FloatArray  #: Σ_b ‖V_b‖², (K,).


def weighted_units(
    plan: Plan, sums: list[AnyArray], weights: FloatArray, engine: Engine
) -> WeightedUnits:
    """Weigh sums V_b over units, (B, R_p, q_p) of each panel, by weights (B, m)."""

    def terms(panel: int, columns: slice) -> AnyArray:
        cut = plan.cuts[panel]
        whole = sums[panel].reshape(len(weights), -1)
        first = columns.start - cut.x.start
        last = columns.stop - cut.x.start
        return whole[:, first * cut.y_width : last * cut.y_width]  # a view: it may be large

    left = np.ascontiguousarray(weights.T.astype(sums[0].dtype))
    weighted = _quadratic_forms(plan, terms, left, engine, with_squares=True)
    check_overflow(weighted.forms, weighted.unit_squares)
    return weighted


def _quadratic_forms(
    plan: Plan,
    terms: Callable[[int, slice], AnyArray],
    weights: AnyArray,
    engine: Engine,
    *,
    with_squares: bool = False,
) -> WeightedUnits:
    """Return ‖Σ_b w_b V_b‖² of each statistic for weights (m, B) of units or rows b.

    Some columns of features are computed at a time, and added up within blocks of features.
    Statistics are numbered panel by panel, block by block, which is the order in which the
    parts come.

    Parameters
    ----------
    terms : callable
        The number of a panel and some columns of F → V of these, (B, columns·q_p).
    weights : ndarray of shape (m, B)
        The weights of each draw.
    with_squares : bool
        Whether `WeightedUnits.unit_squares` are computed too; else they are empty.
    """

    def task(item: _Columns) -> FloatArray:
        part = terms(item.panel, item.columns)
        width = item.columns.stop - item.columns.start
        square = np.square(weights @ part, dtype=np.float64)
        square = square.reshape(len(weights), width, -1).sum(axis=1)  # (m, q_p)
        if with_squares:  # they are one more row, after those of the draws
            each = np.einsum("bc,bc->c", part, part, dtype=np.float64)
            square = np.vstack([square, each.reshape(width, -1).sum(axis=0)])
        # `y_blocks` is 1 where a column belongs to a block: the first 1 is where it begins.
        block_starts = plan.cuts[item.panel].y_blocks.argmax(axis=0)
        return np.asarray(np.add.reduceat(square, block_starts, axis=1).T)

    items = _column_parts(plan, units=weights.shape[1])
    by_block: dict[tuple[int, int], FloatArray] = {}
    for item, value in zip(items, engine.local.map(task, items), strict=True):
        key = (item.panel, item.block_start)
        by_block[key] = by_block[key] + value if key in by_block else value
    forms = np.concatenate(list(by_block.values()))
    if with_squares:
        return WeightedUnits(forms=forms[:, :-1], unit_squares=forms[:, -1])
    return WeightedUnits(forms=forms, unit_squares=np.empty(0))


class _Columns(NamedTuple):
    """Some columns of features of a block, which are worked on together."""

    panel: int  #: The number of the panel.
    block_start: int  #: The first column of the block: with the panel, it names the block.
    columns: slice  #: Columns of F.


def _column_parts(plan: Plan, units: int) -> list[_Columns]:
    """Cut the blocks of features of each panel into parts of `HELD_NUMBERS` at most."""
    parts = []
    for number, (panel, cut) in enumerate(zip(plan.panels, plan.cuts, strict=True)):
        most = max(1, HELD_NUMBERS // (units * cut.y_width))
        for block in plan.features.blocks[panel.features]:
            first = block.columns.start
            last = block.columns.stop
            width = last - first
            # A large block is cut into parts for several threads.
            step = most if width <= most // 2 else min(most, -(-width // BLOCK_PARTS))
            for start in range(first, last, step):
                columns = slice(start, min(start + step, last))
                parts.append(_Columns(panel=number, block_start=first, columns=columns))
    return parts
