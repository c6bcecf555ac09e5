"""The sum G = Fᵀξ over all rows, piece by piece, and its squares in blocks.

With features F of x and test functions ξ of y,

    Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j) = ‖Fᵀξ‖² − Σ_i ‖F_i‖²‖ξ_i‖²:

the off-diagonal sum of a Stein matrix whose two sides are factored each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import Engine, with_progress
from condgof.errors import check_overflow
from condgof.residuals import (
    ResampledValues,
    Residuals,
    TestFunctionBlock,
    TestFunctions,
)
from condgof.sample import Seed
from condgof.stein._features import FeatureBlock, Features
from condgof.stein._rows import PIECE_ROWS, Piece, Rows, RowUse, row_range_uniforms

T = TypeVar("T")
#: All rows are cut into about this many spans, however many workers there are: results must
#: not depend on the number of workers.
SPANS = 64
#: Most pieces of a span (262,144 rows): what is computed again when a worker dies.
MAX_SPAN_PIECES = 64
#: FᵀF of more rows than this comes from about this many, drawn at random.
GRAM_ROWS = 2**15
#: Above this many rows, sums over units are made in single precision.
SINGLE_PRECISION_FROM_ROWS = 50_000
#: Single precision is not used where |ξ| is above this. It ends at 3e38, so that sums of
#: products with features have room.
LARGEST_SINGLE_VALUE = 1e12
#: Rows that are added up in single precision before the sum goes on in double precision:
#: fewer rows would cost time, more would cost digits (tests/stein/test_sum.py).
ROWS_PER_SINGLE_SUM = 512
#: Sums over units are kept in single precision only if this many times the largest of them
#: can be held: draws add up thousands of units.
SINGLE_HEADROOM = 2**20


class Panel(NamedTuple):
    """Which blocks of features meet which blocks of test functions, both without gaps.

    Every block of features of a panel meets every block of its test functions.
    """

    features: slice  #: Numbers of blocks in `Features.blocks`.
    test_functions: slice  #: Numbers of blocks in `TestFunctions.blocks`.


class PanelColumns(NamedTuple):
    """A panel p as columns of F, R_p of them, and of ξ, q_p of them."""

    x: slice  #: The columns of F.
    y: slice  #: The columns of ξ.
    #: 1 where a column of F belongs to a block of the panel, else 0, (R_p, blocks).
    x_blocks: FloatArray
    y_blocks: FloatArray  #: The same of ξ, (q_p, blocks).

    @property
    def x_width(self) -> int:
        """R_p."""
        return int(self.x.stop - self.x.start)

    @property
    def y_width(self) -> int:
        """q_p."""
        return int(self.y.stop - self.y.start)


class Statistic(NamedTuple):
    """A statistic: the blocks of features and of test functions that meet in it."""

    features: FeatureBlock
    test_functions: TestFunctionBlock


class HeldRows(NamedTuple):
    """F and ξ of rows that fit into memory."""

    features: AnyArray  #: w·F, (n, R).
    values: AnyArray  #: ξ, (n, q).


@dataclass(frozen=True, eq=False)
class Plan:
    """What is summed: each pair of blocks that meet in a panel is one of K statistics."""

    features: Features  #: F, (n, R).
    test_functions: TestFunctions  #: ξ, (n, q).
    #: By default a single pair of blocks, the first of each side.
    panels: tuple[Panel, ...] = (Panel(slice(0, 1), slice(0, 1)),)

    @cached_property
    def cuts(self) -> tuple[PanelColumns, ...]:
        """Each panel in columns of F and ξ: how both are cut."""
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
        """All K statistics: panel by panel, and in a panel block by block of features."""
        statistics = []
        for panel in self.panels:
            for feature_block in self.features.blocks[panel.features]:
                for block in self.test_functions.blocks[panel.test_functions]:
                    statistics.append(Statistic(feature_block, block))
        return tuple(statistics)

    def numbers_of(self, *families: str) -> IntArray:
        """Return which statistics are of some families of features, as numbers, (k,)."""
        numbers = [
            k for k, one in enumerate(self.statistics) if one.features.family in families
        ]
        return np.array(numbers, dtype=np.int64)

    def weighted_features(self, piece: Piece) -> AnyArray:
        """Return w·F (b, R) of a piece.

        Weights w of rows are functions of x, as features are. So whatever is summed of F
        and ξ is weighted: Σ w_i F_i ξ_i, pairs by w_i w_j, and FᵀF becomes FᵀW²F.
        """
        return piece.weighted(self.features.evaluate(piece.x))

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

    def squares_of_some(
        self, sums: Callable[[int, slice], FloatArray], at_once: int
    ) -> FloatArray:
        """Return ‖·‖² within each statistic, (m, K), of sums that are never held at once.

        Parameters
        ----------
        sums : callable
            The number of a panel p and some of its R_p features → sums of m samples, (m,
            features, q_p).
        at_once : int
            About how many sums of a sample are asked for at a time.
        """
        parts = []
        for panel, cut in enumerate(self.cuts):
            step = max(1, at_once // cut.y_width)
            by_y = []
            for start in range(0, cut.x_width, step):
                own = sums(panel, slice(start, min(start + step, cut.x_width)))
                squares = np.square(own).reshape(-1, cut.y_width) @ cut.y_blocks
                by_y.append(squares.reshape(*own.shape[:2], -1))
            block_starts = cut.x_blocks.argmax(axis=0)
            by_x = np.add.reduceat(np.concatenate(by_y, axis=1), block_starts, axis=1)
            parts.append(by_x.reshape(len(by_x), -1))
        return np.concatenate(parts, axis=1)

    def diagonal(self, feature_squares: AnyArray, value_squares: AnyArray) -> FloatArray:
        """Return Σ_i ‖F_i‖²‖ξ_i‖² of each statistic.

        From squares within blocks, (n, blocks) each: (K,). Of m samples, whose squares of ξ
        are (n, m, blocks): (m, K).
        """
        # One sample is the case m = 1.
        many = value_squares.reshape(len(value_squares), -1, value_squares.shape[-1])
        products = feature_squares.T @ many.reshape(len(many), -1)
        products = products.reshape(feature_squares.shape[1], *many.shape[1:])
        diagonal = self.by_panel(products.transpose(1, 0, 2))
        return diagonal if value_squares.ndim == 3 else np.asarray(diagonal[0])

    def by_panel(self, products: AnyArray) -> FloatArray:
        """Return a number for each statistic, (m, K), from one for each pair of blocks.

        `products` is (m, blocks of features, blocks of test functions). Pairs of blocks
        that meet in no panel are left out.
        """
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
        """Compute w·F and ξ of rows that fit into memory."""
        features = []
        values = []
        for piece in rows.pieces():
            features.append(self.weighted_features(piece))
            values.append(self.evaluate(piece))
        return HeldRows(features=np.concatenate(features), values=np.concatenate(values))


def _block_indicator(blocks: Sequence[FeatureBlock | TestFunctionBlock]) -> FloatArray:
    """Return which columns belong to which block, (columns, blocks), as 1 and 0."""
    sizes = [block.columns.stop - block.columns.start for block in blocks]
    return np.repeat(np.eye(len(blocks)), sizes, axis=0)


class Strata(NamedTuple):
    """Rows in strata, by their residuals."""

    size: int  #: How many there are.
    of_rows: Callable[[Residuals], IntArray]  #: Residuals of n rows → their strata, (n,).


class Totals(NamedTuple):
    """Sums over all rows."""

    sums: list[FloatArray]  #: Fᵀξ of each panel, (R_p, q_p).
    #: FᵀF, (R, R), of many rows scaled up from some; one for each stratum of rows.
    grams: list[FloatArray]
    #: The largest of some numbers of the residuals, in decreasing order, (at most `most`,).
    largest: FloatArray


class _PieceTotals(NamedTuple):
    """Sums over the rows of a piece, or of several, in raw columns of the features."""

    products: list[FloatArray]  #: rawᵀξ of each panel, (raw columns, q_p).
    #: rawᵀraw of the rows in the sample, (raw columns, raw columns), by stratum.
    grams: list[FloatArray]
    counted: FloatArray  #: The number of these rows, ().
    largest: FloatArray  #: As in `Totals`.


def gather(
    plan: Plan,
    rows: Rows,
    n: int,
    largest: Callable[[Residuals], FloatArray],
    most: int,
    seed: Seed,
    engine: Engine,
    strata: Strata | None = None,
) -> Totals:
    """Sum Fᵀξ and FᵀF over all rows, and keep the largest numbers of the residuals.

    Sums are of raw columns, which are turned into features at the end: one product in place
    of one for each piece.

    Parameters
    ----------
    n : int
        The number of rows that count.
    largest : callable
        Residuals of some rows → numbers of them, in decreasing order.
    most : int
        How many of these numbers are kept, of all rows together.
    strata : Strata, optional
        Strata of rows whose FᵀF are summed apart; all rows are one if it is None.
    """
    share = min(1.0, GRAM_ROWS / n)

    def sum_piece(piece: Piece) -> _PieceTotals:
        raw = piece.weighted(plan.features.raw(piece.x))
        sampled = raw
        is_sampled = np.ones(piece.total, dtype=bool)
        if share < 1.0:
            uniforms = row_range_uniforms(seed, piece.start, piece.stop, RowUse.GRAM_SAMPLE)
            is_sampled = uniforms < share
            sampled = raw[is_sampled]
        # In double precision: how rows are cut must not show in the root of FᵀF, from which
        # draws are made.
        sampled = sampled.astype(np.float64)
        parts = [sampled]
        if strata is not None:
            stratum = strata.of_rows(piece.residuals)[is_sampled]
            parts = [sampled[stratum == s] for s in range(strata.size)]
        residuals = piece.residuals
        if piece.keep is not None:
            residuals = residuals.take(np.flatnonzero(piece.keep))
        return _PieceTotals(
            products=_panel_products(plan, raw, plan.evaluate(piece)),
            grams=[part.T @ part for part in parts],
            counted=np.array(float(len(sampled))),
            largest=largest(residuals),
        )

    def join(one: _PieceTotals, other: _PieceTotals) -> _PieceTotals:
        both = np.concatenate([one.largest, other.largest])
        return _PieceTotals(
            products=sum_arrays([one.products, other.products]),
            grams=sum_arrays([one.grams, other.grams]),
            counted=np.asarray(one.counted + other.counted),
            largest=np.sort(both)[::-1][:most],
        )

    whole = reduce_over(rows, engine, sum_piece, partial(reduce, join))
    check_overflow(*whole.products, *whole.grams, whole.counted)
    sums = []
    for product, cut in zip(whole.products, plan.cuts, strict=True):
        sums.append(plan.features.from_raw(product.T).T[cut.x])
    grams = []
    for raw_gram in whole.grams:
        gram = plan.features.from_raw(plan.features.from_raw(raw_gram).T)
        grams.append(gram * (n / float(whole.counted)))
    return Totals(sums=sums, grams=grams, largest=whole.largest)


def _panel_products(plan: Plan, raw: AnyArray, values: AnyArray) -> list[FloatArray]:
    """Return rawᵀξ for each panel, (raw columns, q_p), from (n, raw columns) and (n, q).

    Raw columns of which no feature of the panel is made are not multiplied: 0.
    """
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
    """Sums over B units b of rows (blocks, parcels, resamples of a stratum) for a null."""

    #: V_b = Σ_{i∈b} ε_i F_i⊗ξ_i for each panel, with the signs ε of `Unit.signs`, in single
    #: precision where it can hold them, (B, R_p, q_p).
    sums: list[AnyArray]
    diagonal: FloatArray  #: Σ_{i∈b} ‖F_i‖²‖ξ_i‖² of each statistic, (B, K).
    totals: list[FloatArray]  #: Fᵀξ of all rows of the data, without signs, (R_p, q_p).
    counts: FloatArray  #: Number of rows of each unit that count, (B,).


class Unit(NamedTuple):
    """Rows of a piece that belong to a unit, or to several of the same length in turn."""

    number: int  #: The number b of the unit, or of the first of several.
    rows: slice | IntArray  #: Which rows of the piece.
    #: Where there are several units: `length` rows are of unit `number`, the next ones of
    #: unit `number` + 1, and so on. None for a single unit.
    length: int | None = None
    #: What features of the rows are multiplied by, (rows,). Only in the sum over the unit:
    #: `UnitSums.totals` have no signs.
    signs: AnyArray | None = None
    #: c resamples of ξ of the rows, (rows, c, q) or what sums them, for the units from
    #: `number` on; also not in the totals.
    values: ResampledValues | AnyArray | None = None


UnitsOf = Callable[[Piece], Iterable[Unit]]


class _UnitPart(NamedTuple):
    """Sums over those rows of a unit that have been visited so far."""

    sums: list[AnyArray]  #: V_b of each panel, (R_p, q_p).
    diagonal: AnyArray  #: (K,).
    row_count: AnyArray  #: The number of rows that count, ().


class _PieceUnits(NamedTuple):
    """Sums over the rows of a piece, or of several: in all, and by unit."""

    totals: list[AnyArray]  #: Fᵀξ of each panel, (R_p, q_p).
    by_unit: dict[int, _UnitPart]  #: By the number of the unit.


def gather_units(plan: Plan, rows: Rows, units_of: UnitsOf, engine: Engine) -> UnitSums:
    """Sum F⊗ξ over the units that `units_of` finds in each piece."""

    def sum_piece(piece: Piece) -> _PieceUnits:
        features = plan.weighted_features(piece)
        values = plan.evaluate(piece)
        feature_squares = plan.feature_squares(features)
        value_squares = plan.value_squares(values)
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        single = rows.total > SINGLE_PRECISION_FROM_ROWS and largest < LARGEST_SINGLE_VALUE
        dtype = np.float32 if single else np.float64
        features = features.astype(dtype, copy=False)
        values = values.astype(dtype, copy=False)
        counts = np.ones(piece.total)
        if piece.keep is not None:
            counts = piece.keep.astype(np.float64)

        def products(f: AnyArray, xi: AnyArray, length: int) -> list[AnyArray]:
            """Return fᵀξ of each panel for every `length` rows, (stretches, R_p, q_p)."""
            return [
                _stretch_products(f[:, cut.x], xi[:, cut.y], length) for cut in plan.cuts
            ]

        at_once = ROWS_PER_SINGLE_SUM if single else PIECE_ROWS
        stretches = products(features, values, at_once)
        totals = [part.sum(axis=0, dtype=np.float64) for part in stretches]
        by_unit: dict[int, _UnitPart] = {}
        for unit in units_of(piece):
            unit_features = features[unit.rows]
            if unit.values is not None:
                parts = _resampled_parts(
                    plan,
                    unit_features,
                    feature_squares[unit.rows],
                    unit.values,
                    row_count=np.asarray(counts[unit.rows].sum()),
                )
                for number, part in enumerate(parts, start=unit.number):
                    _add_to_unit(by_unit, number, part)
                continue
            unit_values = values[unit.rows]
            unit_squares = value_squares[unit.rows]
            if unit.signs is not None:
                unit_features = unit_features * unit.signs[:, None].astype(dtype)
            length = unit.length or len(unit_features)
            diagonal = plan.by_panel(
                _stretch_products(feature_squares[unit.rows], unit_squares, length)
            )
            starts = np.arange(0, len(unit_features), length)
            counted = np.add.reduceat(counts[unit.rows], starts)
            sums = products(unit_features, unit_values, length)
            for i in range(len(starts)):
                part = _UnitPart(
                    sums=[panel_sums[i] for panel_sums in sums],
                    diagonal=diagonal[i],
                    row_count=counted[i],
                )
                _add_to_unit(by_unit, unit.number + i, part)
        return _PieceUnits(totals=totals, by_unit=by_unit)

    whole = reduce_over(rows, engine, sum_piece, _merge_units)
    return _stack_units(whole, len(plan.statistics))


def _resampled_parts(
    plan: Plan,
    features: AnyArray,
    feature_squares: AnyArray,
    values: ResampledValues | AnyArray,
    *,
    row_count: AnyArray,
) -> list[_UnitPart]:
    """Sum F⊗ξ of b rows over each of c resamples ξ, in few products.

    `values` are ξ, (b, c, q), or what sums them.
    """
    if isinstance(values, np.ndarray):
        values = values.astype(features.dtype, copy=False)
        sums = _panel_sums(plan, features, values)
        squares = plan.value_squares(values)
    else:
        products = values.sums(features)
        sums = [products[:, cut.x, cut.y] for cut in plan.cuts]
        squares = values.squares()
    b, c, _ = squares.shape
    diagonals = feature_squares.T @ squares.reshape(b, -1)
    diagonals = diagonals.reshape(feature_squares.shape[1], c, -1)
    diagonal = plan.by_panel(diagonals.transpose(1, 0, 2))
    return [_UnitPart([one[i] for one in sums], diagonal[i], row_count) for i in range(c)]


def _panel_sums(plan: Plan, features: AnyArray, values: AnyArray) -> list[AnyArray]:
    """Return Σ_i F_i⊗ξ_i of each panel and resample, (c, R_p, q_p), of ξ (b, c, q)."""
    b, c, _ = values.shape
    sums: list[AnyArray] = [np.empty(0)] * len(plan.cuts)
    # Panels with the same functions of y are one product.
    panels_by_y: dict[tuple[int, int], list[int]] = {}
    for p, cut in enumerate(plan.cuts):
        panels_by_y.setdefault((cut.y.start, cut.y.stop), []).append(p)
    for (start, stop), panels in panels_by_y.items():
        first = min(plan.cuts[p].x.start for p in panels)
        last = max(plan.cuts[p].x.stop for p in panels)
        some = values[:, :, start:stop].reshape(b, -1)
        product = (features[:, first:last].T @ some).reshape(last - first, c, -1)
        for p in panels:
            x = plan.cuts[p].x
            sums[p] = product[x.start - first : x.stop - first].transpose(1, 0, 2)
    return sums


def _stack_units(whole: _PieceUnits, statistic_count: int) -> UnitSums:
    """Put the sums of all units into arrays; units without rows have zeros."""
    unit_count = 1 + max(whole.by_unit)
    unit_sums = chain.from_iterable(part.sums for part in whole.by_unit.values())
    largest = max((float(np.abs(one).max()) for one in unit_sums), default=0.0)
    fits_single = largest <= np.finfo(np.float32).max / SINGLE_HEADROOM
    dtype = np.float32 if fits_single else np.float64
    sums: list[AnyArray] = [
        np.zeros((unit_count, *total.shape), dtype=dtype) for total in whole.totals
    ]
    diagonal = np.zeros((unit_count, statistic_count))
    counts = np.zeros(unit_count)
    for number, part in whole.by_unit.items():
        for target, value in zip(sums, part.sums, strict=True):
            target[number] = value
        diagonal[number] = part.diagonal
        counts[number] = part.row_count
    check_overflow(diagonal, *whole.totals)
    return UnitSums(sums=sums, diagonal=diagonal, totals=whole.totals, counts=counts)


def _stretch_products(a: AnyArray, b: AnyArray, length: int) -> AnyArray:
    """Return aᵀb of each stretch of `length` rows, (stretches, R, q).

    From a (n, R) and b (n, q); the last stretch may be shorter.
    """
    whole = len(a) - len(a) % length
    first, second = (v[:whole].reshape(-1, length, v.shape[1]) for v in (a, b))
    sums = first.transpose(0, 2, 1) @ second
    if whole == len(a):
        return sums
    return np.concatenate([sums, (a[whole:].T @ b[whole:])[None]])


def _add_to_unit(by_unit: dict[int, _UnitPart], number: int, part: _UnitPart) -> None:
    """Add a part to the sums of a unit, which may have none yet."""
    if number not in by_unit:
        by_unit[number] = part
        return
    before = by_unit[number]
    by_unit[number] = _UnitPart(
        sums=sum_arrays([before.sums, part.sums]),
        diagonal=before.diagonal + part.diagonal,
        row_count=before.row_count + part.row_count,
    )


def _merge_units(pieces: Iterable[_PieceUnits]) -> _PieceUnits:
    """Add pieces up, in their order."""
    totals: list[AnyArray] = []
    by_unit: dict[int, _UnitPart] = {}
    for piece in pieces:
        totals = sum_arrays([totals, piece.totals]) if totals else piece.totals
        for number, part in piece.by_unit.items():
            _add_to_unit(by_unit, number, part)
    return _PieceUnits(totals=totals, by_unit=by_unit)


def sum_arrays(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Add lists of arrays up, array by array, in the order of the lists."""

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

    On every engine the results of pieces are merged to those of spans, and these to that of
    all rows, so that all engines round alike. A cluster gets whole spans, which a worker
    reads, computes on and merges: only sums travel back.

    Parameters
    ----------
    task : callable
        A piece → its result.
    merge : callable
        Results, of pieces or merged already, in order → one result of the same type.
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
