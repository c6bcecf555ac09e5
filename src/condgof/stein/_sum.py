"""The sum G = Fᵀξ over all rows, wherever they are, piece by piece, and its squares in blocks.

With features F of x and evidence ξ of y, Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j) = ‖Fᵀξ‖² − Σ_i
‖F_i‖²‖ξ_i‖²: the off-diagonal sum of a Stein matrix whose two sides are factored each on
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import Engine, with_progress
from condgof.errors import check_overflow
from condgof.laws._discrete import Outcomes
from condgof.sample import Seed, Use
from condgof.stein._evidence import Evidence, EvidenceBlock
from condgof.stein._features import FeatureBlock, Features

#: Rows of a piece. A fixed number: results must not depend on the machine or the budget.
PIECE = 4096
#: Bytes of rows that travel with one item; Dask warns above 10 MB.
MAX_SENT = 8 * 10**6


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows in memory with their scores; those of a whole sample are `Rows`."""

    #: The rows, x as the kernel sees it, (b, d_x), (b, d_y), (b, d_y).
    x: FloatArray
    y: FloatArray
    scores: FloatArray
    outcomes: Outcomes | None = None  #: From which a discrete y can be drawn anew.
    start: int = 0  #: Global number of the first row.
    keep: NDArray[np.bool_] | None = None  #: Which rows count; all of them if None.

    @property
    def total(self) -> int:
        return len(self.y)

    @property
    def stop(self) -> int:
        return self.start + self.total

    def take(self, rows: slice | IntArray, start: int) -> Piece:
        """Return some of the rows, or all in another order, from a global number on."""
        x, y, scores = self.x[rows], self.y[rows], self.scores[rows]
        keep = None if self.keep is None else self.keep[rows]
        outcomes = (
            None
            if self.outcomes is None
            else self.outcomes.take(np.arange(self.total)[rows])
        )
        return Piece(x, y, scores, outcomes, start, keep)

    def pieces(self) -> Iterator[Piece]:
        for start in range(0, self.total, PIECE):
            yield self.take(slice(start, start + PIECE), self.start + start)

    def spans(self, size: int) -> Spans:
        """Cut spans of whole pieces that are not too large to be sent."""
        width = self.x.shape[1] + self.y.shape[1] + self.scores.shape[1]
        cuts = even_cuts(
            self.total, min(size, max(1, MAX_SENT // (8 * width * PIECE)) * PIECE)
        )
        return Piece.pieces, [
            partial(self.take, slice(*cut), cut[0]) for cut in pairwise(cuts)
        ]


#: What turns what a worker gets into pieces, and what makes that for each span of rows.
Spans: TypeAlias = tuple[Callable[[Any], Iterator[Piece]], Sequence[Callable[[], Any]]]


class Rows(Protocol):
    """All rows of a sample, wherever they are."""

    @property
    def total(self) -> int:
        """Number of rows, counting those that are left out."""

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows in pieces of `PIECE` rows."""

    def spans(self, size: int) -> Spans:
        """Cut all rows into spans of about `size` rows, for workers."""


def row_uniforms(seed: Seed, start: int, stop: int, *key: int) -> FloatArray:
    """Draw a uniform number for each row from `start` to `stop`, however rows are cut into pieces."""
    blocks = range(start // PIECE, (stop - 1) // PIECE + 1)
    made = np.concatenate(
        [seed.stream(Use.ROWS, *key, block).random(PIECE) for block in blocks]
    )
    return made[start - blocks[0] * PIECE : stop - blocks[0] * PIECE]


def even_cuts(total: int, size: int) -> Sequence[int]:
    return (*range(0, total, size), total)


T = TypeVar("T")
#: A span is at most this many pieces (262,144 rows): what a worker has to do again when one
#: dies.
MAX_SPAN = 64
#: FᵀF of more rows than this comes from so many, drawn at random.
GRAM_ROWS = 2**15
#: Beyond this many rows sums over units are made in single precision, where no value is
#: above, of so many rows at a time.
MANY, SINGLE, SHORT = 50_000, 1e12, 512
#: The number of the unit of all rows.
ALL = -1


class Panel(NamedTuple):
    """Which blocks of features meet which blocks of evidence, both without gaps."""

    features: slice
    evidence: slice


class PanelColumns(NamedTuple):
    """A panel in columns: which of F and ξ, and which belong to which block, (columns, blocks)."""

    x: slice
    y: slice
    of_x: FloatArray
    of_y: FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """What is summed: each pair of a block of features and a block of evidence that meet in a panel."""

    features: Features
    evidence: Evidence
    panels: tuple[Panel, ...] = (Panel(slice(0, 1), slice(0, 1)),)

    @cached_property
    def cuts(self) -> tuple[PanelColumns, ...]:
        cuts = []
        for panel in self.panels:
            x, y = (
                self.features.blocks[panel.features],
                self.evidence.blocks[panel.evidence],
            )
            of_x, of_y = (slice(s[0].columns.start, s[-1].columns.stop) for s in (x, y))
            cuts.append(PanelColumns(of_x, of_y, _indicator(x), _indicator(y)))
        return tuple(cuts)

    @cached_property
    def statistics(self) -> tuple[tuple[FeatureBlock, EvidenceBlock], ...]:
        x, y = self.features.blocks, self.evidence.blocks
        return tuple(
            (f, e) for p in self.panels for f in x[p.features] for e in y[p.evidence]
        )

    def which(self, *families: str) -> IntArray:
        """Return the numbers of the statistics of some families of features."""
        found = [k for k, (f, _) in enumerate(self.statistics) if f.family in families]
        return np.array(found, dtype=np.int64)

    def squares(self, sums: list[AnyArray]) -> FloatArray:
        """Return ‖·‖² within each statistic, (m, K), of sums (m, R_p, q_p) for each panel p."""
        parts = []
        for cut, one in zip(self.cuts, sums, strict=True):
            by_y = np.square(one) @ cut.of_y.astype(one.dtype)
            by_x = cut.of_x.T.astype(one.dtype) @ by_y
            parts.append(by_x.reshape(len(one), -1))
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def own(self, sizes: AnyArray, evidence: AnyArray) -> FloatArray:
        """Return Σ_i ‖F_i‖²‖ξ_i‖² of each statistic, from squares of all rows."""
        many = evidence.reshape(len(evidence), -1, evidence.shape[-1])
        products = (sizes.T @ many.reshape(len(many), -1)).reshape(
            sizes.shape[1], *many.shape[1:]
        )
        own = self.by_panel(products.transpose(1, 0, 2))
        return own if evidence.ndim == 3 else np.asarray(own[0])

    def by_panel(self, products: AnyArray) -> FloatArray:
        """Return the products of blocks (m, features, evidence) that are statistics, (m, K)."""
        parts = [
            products[:, p.features, p.evidence].reshape(len(products), -1)
            for p in self.panels
        ]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def sizes(self, features: AnyArray) -> AnyArray:
        """Return ‖F_i‖² within each block of features, (n, blocks)."""
        return np.asarray(
            np.square(features) @ _indicator(self.features.blocks).astype(features.dtype)
        )

    def evidence_squares(self, xi: AnyArray) -> AnyArray:
        """Return ‖ξ_i‖² within each block of evidence, (..., blocks), of evidence (..., q)."""
        return np.asarray(np.square(xi) @ _indicator(self.evidence.blocks).astype(xi.dtype))

    def held(self, rows: Rows) -> Iterator[AnyArray]:
        """Return F (n, R) and ξ (n, q) of rows that fit into memory."""
        made = [
            (self.features.of(piece.x), _evidence(self, piece)) for piece in rows.pieces()
        ]
        return (np.concatenate(parts) for parts in zip(*made, strict=True))


def _indicator(blocks: Sequence[FeatureBlock | EvidenceBlock]) -> FloatArray:
    """Return which columns belong to which block, (columns, blocks), as 1 and 0."""
    sizes = [block.columns.stop - block.columns.start for block in blocks]
    return np.repeat(np.eye(len(blocks)), sizes, axis=0)


def _evidence(plan: Plan, piece: Piece) -> AnyArray:
    xi = plan.evidence.of(piece.y, piece.scores)
    return xi if piece.keep is None else xi * piece.keep[:, None]


def gather(
    plan: Plan,
    rows: Rows,
    n: int,
    largest: Callable[[AnyArray], FloatArray],
    most: int,
    seed: Seed,
    engine: Engine,
) -> tuple[list[FloatArray], FloatArray, FloatArray]:
    """Return Fᵀξ of each panel (R_p, q_p), FᵀF (R, R), scaled up from some rows, and the largest.

    Raw columns are turned into features at the end. Of the `largest` values of y at most so
    many stay.
    """
    share = min(1.0, GRAM_ROWS / n)

    def task(piece: Piece) -> list[FloatArray]:
        raw = some = plan.features.raw(piece.x)
        if share < 1.0:
            some = raw[row_uniforms(seed, piece.start, piece.stop, 0) < share]
        # In double precision: how rows are cut must not show in its root, from which draws
        # are made.
        some = some.astype(np.float64)
        counted = np.array(float(len(some)))
        y = piece.y if piece.keep is None else piece.y[piece.keep]
        return [
            *_products(plan, raw, _evidence(plan, piece)),
            some.T @ some,
            counted,
            largest(y),
        ]

    def join(one: list[FloatArray], other: list[FloatArray]) -> list[FloatArray]:
        top = np.sort(np.concatenate([one[-1], other[-1]]))[::-1][:most]
        return [*added([one[:-1], other[:-1]]), top]

    *products, gram, counted, top = reduce_over(rows, engine, task, partial(reduce, join))
    check_overflow(*products, gram, counted)
    turned = [plan.features.turn(one.T).T for one in products]
    totals = [one[cut.x] for one, cut in zip(turned, plan.cuts, strict=True)]
    full = plan.features.turn(plan.features.turn(gram).T)
    return totals, full * (n / float(counted)), top


def _products(plan: Plan, raw: AnyArray, xi: AnyArray) -> list[FloatArray]:
    """Return rawᵀξ for each panel: only the raw columns that it needs, the others 0."""
    products = []
    for cut in plan.cuts:
        x, parts = cut.x, plan.features.parts
        needed = [
            own for own, made, _ in parts if made.start < x.stop and x.start < made.stop
        ]
        some = slice(needed[0].start, needed[-1].stop)
        out = np.zeros((raw.shape[1], cut.y.stop - cut.y.start))
        out[some] = raw[:, some].T @ xi[:, cut.y]
        products.append(out)
    return products


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums over units of rows (blocks, groups, draws of a stratum) that the null takes apart."""

    #: V_b = Σ_{i∈b} ε_i F_i⊗ξ_i for each panel, in single precision, (B, R_p, q_p).
    sums: list[AnyArray]
    own: FloatArray  #: Σ_{i∈b} ‖F_i‖²‖ξ_i‖² of each statistic, (B, K).
    totals: list[FloatArray]  #: Fᵀξ without signs, (R_p, q_p).
    counts: FloatArray  #: Number of rows of each unit, (B,).


class Unit(NamedTuple):
    """Rows of a piece that belong to a unit, or to several of the same length, one after the other."""

    number: int
    rows: slice | IntArray
    #: Rows of each of several units, which are numbered from `number` on.
    length: int | None = None
    #: What features of rows are multiplied by, (rows,), in sums over the unit and not in
    #: the totals.
    signs: AnyArray | None = None
    #: What rows have in place of their own evidence, there too.
    evidence: AnyArray | None = None


UnitsOf = Callable[[Piece], Iterable[Unit]]


def gather_units(plan: Plan, rows: Rows, units_of: UnitsOf, engine: Engine) -> UnitSums:
    def task(piece: Piece) -> dict[int, list[AnyArray]]:
        features, xi = plan.features.of(piece.x), _evidence(plan, piece)
        sizes, squares = plan.sizes(features), plan.evidence_squares(xi)
        # Sums over a unit are kept in single precision; they may be made in it, if it can
        # hold them.
        single = (
            rows.total > MANY and max(xi.max(initial=0.0), -xi.min(initial=0.0)) < SINGLE
        )
        kind = np.float32 if single else np.float64
        thin, whole = features.astype(kind, copy=False), xi.astype(kind, copy=False)
        kept = np.ones(piece.total) if piece.keep is None else piece.keep.astype(np.float64)

        def products(some: AnyArray, evidence: AnyArray, length: int) -> list[AnyArray]:
            return [_in_turn(some[:, c.x], evidence[:, c.y], length) for c in plan.cuts]

        # Of few rows at a time, and those added up in double precision.
        parts = products(thin, whole, SHORT if single else PIECE)
        made: list[dict[int, list[AnyArray]]] = [
            {ALL: [p.sum(axis=0, dtype=np.float64) for p in parts]}
        ]
        for unit in units_of(piece):
            some, own_xi, own_squares = (
                thin[unit.rows],
                whole[unit.rows],
                squares[unit.rows],
            )
            if unit.evidence is not None:
                own_xi = unit.evidence.astype(kind, copy=False)
                own_squares = plan.evidence_squares(unit.evidence)
            if unit.signs is not None:
                some = some * unit.signs[:, None].astype(kind)
            length = unit.length or len(some)
            own = plan.by_panel(_in_turn(sizes[unit.rows], own_squares, length))
            counted = np.add.reduceat(kept[unit.rows], np.arange(0, len(some), length))
            values = zip(*products(some, own_xi, length), own, counted, strict=True)
            made.append({unit.number + i: list(each) for i, each in enumerate(values)})
        return _by_unit(made)

    units = reduce_over(rows, engine, task, _by_unit)
    totals, count = units.pop(ALL), 1 + max(units)
    largest = max(
        (float(np.abs(v).max()) for one in units.values() for v in one[:-2]), default=0.0
    )
    kind = np.float32 if largest <= np.finfo(np.float32).max / 2**20 else np.float64
    sums: list[AnyArray] = [np.zeros((count, *one.shape), dtype=kind) for one in totals]
    own, counts = np.zeros((count, len(plan.statistics))), np.zeros(count)
    for unit, (*values, squares, counted) in units.items():
        for target, value in zip(sums, values, strict=True):
            target[unit] = value
        own[unit], counts[unit] = squares, counted
    check_overflow(own, *totals)
    return UnitSums(sums, own, totals, counts)


def _in_turn(a: AnyArray, b: AnyArray, length: int) -> AnyArray:
    """Return aᵀb (m, R, q) of each stretch of so many rows; the last may be shorter."""
    whole = len(a) - len(a) % length
    first, second = (v[:whole].reshape(-1, length, v.shape[1]) for v in (a, b))
    sums = first.transpose(0, 2, 1) @ second
    return (
        sums if whole == len(a) else np.concatenate([sums, (a[whole:].T @ b[whole:])[None]])
    )


def _by_unit(parts: Iterable[dict[int, list[AnyArray]]]) -> dict[int, list[AnyArray]]:
    whole: dict[int, list[AnyArray]] = {}
    for part in parts:
        for unit, values in part.items():
            whole[unit] = added([whole[unit], values]) if unit in whole else values
    return whole


def added(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Add lists of arrays up, in their order."""
    return reduce(
        lambda one, other: [a + b for a, b in zip(one, other, strict=True)], parts
    )


def span_of(total: int) -> int:
    """Return the number of pieces in a span: about 64 spans, however many workers there are."""
    return min(MAX_SPAN, max(1, total // (64 * PIECE)))


def reduce_over(
    rows: Rows,
    engine: Engine,
    task: Callable[[Piece], T],
    merge: Callable[[Iterable[T]], T],
) -> T:
    """Apply a task to every piece of the rows and merge what it returns, in one fixed order.

    A cluster gets whole spans, which a worker reads, computes on and merges: only sums
    travel back.
    """

    def of_piece(piece: Piece) -> T:
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked at the end
            return task(piece)

    count = span_of(rows.total)
    if not engine.remote:
        values = engine.map(of_piece, rows.pieces())
        return merge(
            merge(islice(values, count)) for _ in range(0, rows.total, count * PIECE)
        )
    read, spans = rows.spans(count * PIECE)

    def of_span(part: object) -> T:
        return merge(map(of_piece, read(part)))

    parts = with_progress((make() for make in spans), len(spans), "condgof")
    return merge(engine.map(of_span, parts))
