"""The sum G = Fᵀξ over all rows, piece by piece, and its squares in blocks.

With features F of x and test functions ξ of y,

    Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j) = ‖Fᵀξ‖² − Σ_i ‖F_i‖²‖ξ_i‖²:

the off-diagonal sum of a Stein matrix whose two sides are factored each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import Engine, with_progress
from condgof.errors import check_overflow
from condgof.residuals import Residuals, TestFunctionBlock, TestFunctions
from condgof.sample import Seed
from condgof.stein._features import FeatureBlock, Features
from condgof.stein._rows import PIECE_ROWS, Piece, Rows, row_uniforms

T = TypeVar("T")
#: A span is about 1/64 of all rows, however many workers there are,
SPANS = 64
#: and at most this many pieces (262,144 rows): what a worker has to do again when one dies.
MAX_SPAN_PIECES = 64
#: FᵀF of more rows than this comes from about this many, drawn at random.
GRAM_ROWS = 2**15
#: Beyond this many rows sums over units are made in single precision,
SINGLE_ROWS = 50_000
#: where no value of ξ is above this,
LARGEST_IN_SINGLE = 1e12
#: and of this many rows at a time, which are then added up in double precision.
SINGLE_STRETCH = 512
#: The number of the unit of all rows.
ALL_ROWS = -1


class Panel(NamedTuple):
    """Which blocks of features meet which blocks of test functions, both without gaps."""

    features: slice
    test_functions: slice


class PanelColumns(NamedTuple):
    """A panel in columns of F and ξ, and which belong to which block."""

    x: slice
    y: slice
    x_blocks: FloatArray  #: 1 where a column of F belongs to a block, (columns, blocks).
    y_blocks: FloatArray  #: The same of ξ.

    @property
    def x_width(self) -> int:
        return int(self.x.stop - self.x.start)

    @property
    def y_width(self) -> int:
        return int(self.y.stop - self.y.start)


class Statistic(NamedTuple):
    """A statistic: the blocks of features and of test functions that meet in it."""

    features: FeatureBlock
    test_functions: TestFunctionBlock


class HeldRows(NamedTuple):
    """F and ξ of rows that fit into memory."""

    features: AnyArray  #: (n, R).
    values: AnyArray  #: ξ, (n, q).


@dataclass(frozen=True, eq=False)
class Plan:
    """What is summed: each pair of blocks that meet in a panel is a statistic."""

    features: Features
    test_functions: TestFunctions
    panels: tuple[Panel, ...] = (Panel(slice(0, 1), slice(0, 1)),)

    @cached_property
    def cuts(self) -> tuple[PanelColumns, ...]:
        """The columns of each panel."""
        cuts = []
        for panel in self.panels:
            x = self.features.blocks[panel.features]
            y = self.test_functions.blocks[panel.test_functions]
            cuts.append(
                PanelColumns(
                    x=slice(x[0].columns.start, x[-1].columns.stop),
                    y=slice(y[0].columns.start, y[-1].columns.stop),
                    x_blocks=_block_indicator(x),
                    y_blocks=_block_indicator(y),
                )
            )
        return tuple(cuts)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """All statistics: panel by panel, features first."""
        statistics = []
        for panel in self.panels:
            for feature_block in self.features.blocks[panel.features]:
                for block in self.test_functions.blocks[panel.test_functions]:
                    statistics.append(Statistic(feature_block, block))
        return tuple(statistics)

    def numbers_of(self, *families: str) -> IntArray:
        """Return the numbers of the statistics of some families of features."""
        numbers = [
            k for k, one in enumerate(self.statistics) if one.features.family in families
        ]
        return np.array(numbers, dtype=np.int64)

    def evaluate(self, piece: Piece) -> AnyArray:
        """Return ξ (b, q) of a piece, 0 in rows that do not count."""
        values = self.test_functions.evaluate(piece.residuals)
        return values if piece.keep is None else values * piece.keep[:, None]

    def squares(self, sums: list[AnyArray]) -> FloatArray:
        """Return ‖·‖² within each statistic, (m, K), of sums (m, R_p, q_p) of panels p."""
        parts = []
        for cut, one in zip(self.cuts, sums, strict=True):
            by_y = np.square(one) @ cut.y_blocks.astype(one.dtype)
            by_x = cut.x_blocks.T.astype(one.dtype) @ by_y
            parts.append(by_x.reshape(len(one), -1))
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def diagonal(self, feature_squares: AnyArray, value_squares: AnyArray) -> FloatArray:
        """Return Σ_i ‖F_i‖²‖ξ_i‖² of each statistic.

        From squares within blocks, (n, blocks) each: (K,). Of m samples, whose squares of ξ
        are (n, m, blocks): (m, K).
        """
        many = value_squares.reshape(len(value_squares), -1, value_squares.shape[-1])
        products = feature_squares.T @ many.reshape(len(many), -1)
        products = products.reshape(feature_squares.shape[1], *many.shape[1:])
        diagonal = self.by_panel(products.transpose(1, 0, 2))
        return diagonal if value_squares.ndim == 3 else np.asarray(diagonal[0])

    def by_panel(self, products: AnyArray) -> FloatArray:
        """Return the statistics (m, K) from products (m, features, test functions)."""
        parts = []
        for panel in self.panels:
            some = products[:, panel.features, panel.test_functions]
            parts.append(some.reshape(len(products), -1))
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def feature_squares(self, features: AnyArray) -> AnyArray:
        """Return ‖F_i‖² within each block of features, (n, blocks)."""
        indicator = _block_indicator(self.features.blocks).astype(features.dtype)
        return np.asarray(np.square(features) @ indicator)

    def value_squares(self, values: AnyArray) -> AnyArray:
        """Return ‖ξ_i‖² within each block of test functions, (..., blocks), of (..., q)."""
        indicator = _block_indicator(self.test_functions.blocks).astype(values.dtype)
        return np.asarray(np.square(values) @ indicator)

    def hold(self, rows: Rows) -> HeldRows:
        """Compute F and ξ of rows that fit into memory."""
        features = []
        values = []
        for piece in rows.pieces():
            features.append(self.features.evaluate(piece.x))
            values.append(self.evaluate(piece))
        return HeldRows(features=np.concatenate(features), values=np.concatenate(values))


def _block_indicator(blocks: Sequence[FeatureBlock | TestFunctionBlock]) -> FloatArray:
    """Return which columns belong to which block, (columns, blocks), as 1 and 0."""
    sizes = [block.columns.stop - block.columns.start for block in blocks]
    return np.repeat(np.eye(len(blocks)), sizes, axis=0)


class Totals(NamedTuple):
    """Sums over all rows."""

    sums: list[FloatArray]  #: Fᵀξ of each panel, (R_p, q_p).
    gram: FloatArray  #: FᵀF, (R, R), of many rows scaled up from some.
    largest: (
        FloatArray  #: The largest of some numbers of the residuals, in decreasing order.
    )


def gather(
    plan: Plan,
    rows: Rows,
    n: int,
    largest: Callable[[Residuals], FloatArray],
    most: int,
    seed: Seed,
    engine: Engine,
) -> Totals:
    """Sum Fᵀξ and FᵀF over all rows, and keep the largest numbers of the residuals.

    Raw columns are turned into features at the end. `largest` gives some numbers of the
    residuals of rows, of which at most `most` are kept.
    """
    share = min(1.0, GRAM_ROWS / n)

    def task(piece: Piece) -> list[FloatArray]:
        raw = some = plan.features.raw(piece.x)
        if share < 1.0:
            some = raw[row_uniforms(seed, piece.start, piece.stop, 0) < share]
        # In double precision: how rows are cut must not show in the root of FᵀF, from which
        # draws are made.
        some = some.astype(np.float64)
        counted = np.array(float(len(some)))
        residuals = piece.residuals
        if piece.keep is not None:
            residuals = residuals.take(np.flatnonzero(piece.keep))
        products = _panel_products(plan, raw, plan.evaluate(piece))
        return [*products, some.T @ some, counted, largest(residuals)]

    def join(one: list[FloatArray], other: list[FloatArray]) -> list[FloatArray]:
        top = np.sort(np.concatenate([one[-1], other[-1]]))[::-1][:most]
        return [*added([one[:-1], other[:-1]]), top]

    *products, gram, counted, top = reduce_over(rows, engine, task, partial(reduce, join))
    check_overflow(*products, gram, counted)
    sums = []
    for product, cut in zip(products, plan.cuts, strict=True):
        sums.append(plan.features.from_raw(product.T).T[cut.x])
    full = plan.features.from_raw(plan.features.from_raw(gram).T)
    return Totals(sums=sums, gram=full * (n / float(counted)), largest=top)


def _panel_products(plan: Plan, raw: AnyArray, values: AnyArray) -> list[FloatArray]:
    """Return rawᵀξ for each panel: only the raw columns that it needs, the others 0."""
    products = []
    for cut in plan.cuts:
        needed = [
            part.raw
            for part in plan.features.parts
            if part.features.start < cut.x.stop and cut.x.start < part.features.stop
        ]
        some = slice(needed[0].start, needed[-1].stop)
        out = np.zeros((raw.shape[1], cut.y_width))
        out[some] = raw[:, some].T @ values[:, cut.y]
        products.append(out)
    return products


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums over units of rows (blocks, groups, draws of a stratum) for a null."""

    #: V_b = Σ_{i∈b} ε_i F_i⊗ξ_i for each panel, in single precision, (B, R_p, q_p).
    sums: list[AnyArray]
    diagonal: FloatArray  #: Σ_{i∈b} ‖F_i‖²‖ξ_i‖² of each statistic, (B, K).
    totals: list[FloatArray]  #: Fᵀξ without signs, (R_p, q_p).
    counts: FloatArray  #: Number of rows of each unit, (B,).


class Unit(NamedTuple):
    """Rows of a piece that belong to a unit, or to several of the same length in turn."""

    number: int
    rows: slice | IntArray
    #: Rows of each of several units, which are numbered from `number` on.
    length: int | None = None
    #: What features of rows are multiplied by, (rows,), in sums over the unit and not in
    #: the totals.
    signs: AnyArray | None = None
    #: What rows have in place of their own ξ, there too, (rows, q).
    values: AnyArray | None = None


UnitsOf = Callable[[Piece], Iterable[Unit]]


def gather_units(plan: Plan, rows: Rows, units_of: UnitsOf, engine: Engine) -> UnitSums:
    """Sum F⊗ξ over the units that `units_of` finds in each piece."""

    def task(piece: Piece) -> dict[int, list[AnyArray]]:
        features = plan.features.evaluate(piece.x)
        values = plan.evaluate(piece)
        feature_squares = plan.feature_squares(features)
        value_squares = plan.value_squares(values)
        # Sums over a unit are kept in single precision; they may be made in it, if it can
        # hold them.
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        single = rows.total > SINGLE_ROWS and largest < LARGEST_IN_SINGLE
        dtype = np.float32 if single else np.float64
        features = features.astype(dtype, copy=False)
        values = values.astype(dtype, copy=False)
        counts = np.ones(piece.total)
        if piece.keep is not None:
            counts = piece.keep.astype(np.float64)

        def products(f: AnyArray, xi: AnyArray, length: int) -> list[AnyArray]:
            return [_in_turn(f[:, c.x], xi[:, c.y], length) for c in plan.cuts]

        stretches = products(features, values, SINGLE_STRETCH if single else PIECE_ROWS)
        whole = [part.sum(axis=0, dtype=np.float64) for part in stretches]
        by_unit: list[dict[int, list[AnyArray]]] = [{ALL_ROWS: whole}]
        for unit in units_of(piece):
            unit_features = features[unit.rows]
            unit_values = values[unit.rows]
            unit_squares = value_squares[unit.rows]
            if unit.values is not None:
                unit_values = unit.values.astype(dtype, copy=False)
                unit_squares = plan.value_squares(unit.values)
            if unit.signs is not None:
                unit_features = unit_features * unit.signs[:, None].astype(dtype)
            length = unit.length or len(unit_features)
            diagonal = plan.by_panel(
                _in_turn(feature_squares[unit.rows], unit_squares, length)
            )
            starts = np.arange(0, len(unit_features), length)
            counted = np.add.reduceat(counts[unit.rows], starts)
            each = zip(
                *products(unit_features, unit_values, length),
                diagonal,
                counted,
                strict=True,
            )
            by_unit.append({unit.number + i: list(one) for i, one in enumerate(each)})
        return _add_by_unit(by_unit)

    units = reduce_over(rows, engine, task, _add_by_unit)
    totals = units.pop(ALL_ROWS)
    count = 1 + max(units)
    largest = max(
        (float(np.abs(v).max()) for one in units.values() for v in one[:-2]), default=0.0
    )
    fits_single = largest <= np.finfo(np.float32).max / 2**20
    dtype = np.float32 if fits_single else np.float64
    sums: list[AnyArray] = [np.zeros((count, *one.shape), dtype=dtype) for one in totals]
    diagonal = np.zeros((count, len(plan.statistics)))
    counts = np.zeros(count)
    for unit, (*unit_sums, unit_diagonal, counted) in units.items():
        for target, value in zip(sums, unit_sums, strict=True):
            target[unit] = value
        diagonal[unit] = unit_diagonal
        counts[unit] = counted
    check_overflow(diagonal, *totals)
    return UnitSums(sums=sums, diagonal=diagonal, totals=totals, counts=counts)


def _in_turn(a: AnyArray, b: AnyArray, length: int) -> AnyArray:
    """Return aᵀb (m, R, q) of each stretch of `length` rows; the last may be shorter."""
    whole = len(a) - len(a) % length
    first, second = (v[:whole].reshape(-1, length, v.shape[1]) for v in (a, b))
    sums = first.transpose(0, 2, 1) @ second
    if whole == len(a):
        return sums
    return np.concatenate([sums, (a[whole:].T @ b[whole:])[None]])


def _add_by_unit(parts: Iterable[dict[int, list[AnyArray]]]) -> dict[int, list[AnyArray]]:
    whole: dict[int, list[AnyArray]] = {}
    for part in parts:
        for unit, values in part.items():
            whole[unit] = added([whole[unit], values]) if unit in whole else values
    return whole


def added(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Add lists of arrays up, in their order."""

    def add(one: list[FloatArray], other: list[FloatArray]) -> list[FloatArray]:
        return [a + b for a, b in zip(one, other, strict=True)]

    return reduce(add, parts)


def span_pieces(total: int) -> int:
    """Return the number of pieces in a span: about 64 spans, however many workers."""
    return min(MAX_SPAN_PIECES, max(1, total // (SPANS * PIECE_ROWS)))


def reduce_over(
    rows: Rows,
    engine: Engine,
    task: Callable[[Piece], T],
    merge: Callable[[Iterable[T]], T],
) -> T:
    """Apply a task to every piece of the rows and merge the results, in one fixed order.

    A cluster gets whole spans, which a worker reads, computes on and merges: only sums
    travel back.
    """

    def on_piece(piece: Piece) -> T:
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked at the end
            return task(piece)

    count = span_pieces(rows.total)
    if not engine.remote:
        results = engine.map(on_piece, rows.pieces())
        spans = range(0, rows.total, count * PIECE_ROWS)
        return merge(merge(islice(results, count)) for _ in spans)
    read, parts = rows.spans(count * PIECE_ROWS)

    def on_span(part: object) -> T:
        return merge(map(on_piece, read(part)))

    sent = with_progress((make() for make in parts), len(parts), "condgof")
    return merge(engine.map(on_span, sent))
