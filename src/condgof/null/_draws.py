"""Draws of the sum under the null hypothesis: redrawn, from a limit, or by weights on rows.

- *Redraw*: where y can be drawn given x, so can the evidence: statistics of data and of
  draws are the same functions, with an exact null distribution at any n.
- *Limit*: normal scores are independent of x, so that vec(Fᵀξ) → N(0, (FᵀF)⊗C) with C
  known.
- *Weights*: where only scores are known, rows (or blocks or groups of them) get random
  signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_overflow
from condgof.kernels import CovariateKernel
from condgof.laws._discrete import Outcomes
from condgof.laws._survival import hazard
from condgof.null._bootstrap import RowWeights
from condgof.sample import Seed, Use
from condgof.stein import _sum as sums_of
from condgof.stein._evidence import CellEvidence, CensoredEvidence, NormalEvidence, surprise
from condgof.stein._sum import PIECE, Piece, Plan, Rows, Unit, UnitSums, added, row_uniforms

#: Multiplications of a chunk of draws, and most draws in one; less work than this is for
#: one thread.
CHUNK_WORK, CHUNK, SHORT = 2e8, 32, 3e9
#: Directions of FᵀF below this share of the largest are left out of the limit.
SMALLEST = 1e-7
#: Evidence of all cells of all rows of a discrete y is held up to this many numbers.
TABLE = 2**24
#: What single precision leaves of a difference, a share of its terms; for so few rows
#: double is used.
ROUNDING, FEW = 1e-7, 32
#: The like for the last digits of probabilities, of which sums over rows have as much.
LAST_DIGITS = 2e-9
#: At most so many of the largest surprises are looked at.
MOST_SURPRISES = 512
#: Numbers that are held at a time; a large block of columns is worked on in so many parts.
HELD, PARTS = 2**23, 4
#: A discrete y of many rows is redrawn so often in each of so many strata, which are then
#: recombined.
STRATA, REDRAWS = 64, 48
#: Rows are sure where all cells but one have this probability together, of up to so many
#: rows.
SURE, SURE_ROWS = 0.01, 50_000


@dataclass(frozen=True, eq=False)
class Drawn:
    """Statistics of the data and their draws under the null hypothesis."""

    statistics: FloatArray  #: Σ_{i≠j} of each, (K,).
    draws: FloatArray  #: Column by column drawn together, (K, m).
    sizes: FloatArray  #: What the terms of each add up to: the unit of its rounding, (K,).

    def plus(self, statistic: float, draws: FloatArray) -> Drawn:
        """Return these with one more statistic, whose rounding does not matter."""
        both = np.append(self.statistics, statistic), np.vstack([self.draws, draws])
        return Drawn(*both, np.append(self.sizes, 0.0))


#: Returns the evidence (n, m, q) of m samples drawn anew, and their `excess` (m,), or none,
#: (0, m).
Redraw = Callable[[np.random.Generator, int], tuple[AnyArray, FloatArray]]


def redraw_normal(evidence: NormalEvidence, n: int) -> Redraw:
    def draw(rng: np.random.Generator, m: int) -> tuple[AnyArray, FloatArray]:
        z = rng.standard_normal((n * m, evidence.d_y), dtype=np.float32)
        xi = evidence.of(z)
        each = np.abs(z).reshape(n, m, -1).transpose(1, 0, 2).reshape(m, -1)
        return xi.reshape(n, m, -1), excess(top_surprises(each), each.shape[1])

    return draw


def top_surprises(z: AnyArray, most: int | None = None) -> FloatArray:
    """Return the largest surprises −log P(|Z| ≥ |z|) of normal scores (m, n), in decreasing order."""
    n = z.shape[1]
    count = min(most or most_surprises(n), n)
    largest = np.partition(np.abs(z), n - count, axis=1)[:, n - count :]
    return surprise(np.sort(largest, axis=1)[:, ::-1])


def most_surprises(n: int) -> int:
    return int(min(MOST_SURPRISES, max(1, n // 4)))


def excess(top: FloatArray, n: int) -> FloatArray:
    """Return max_k Σ_{i≤k} (s_i − log(n/(i − ½)))/√k: whether the largest surprises are too large."""
    i = np.arange(1, top.shape[1] + 1)
    sums = np.cumsum(top - np.log(n / (i - 0.5)), axis=1)
    return np.asarray((sums / np.sqrt(i)).max(axis=1))


def redrawn(
    plan: Plan,
    rows: Rows,
    redraw: Redraw,
    top: FloatArray,
    m: int,
    seed: Seed,
    engine: Engine,
) -> Drawn:
    """Draw y anew m times and compute all statistics again; `top` is the excess of the data, if any."""
    features, evidence = plan.held(rows)
    sizes = plan.sizes(features)
    left = [np.ascontiguousarray(features[:, cut.x].T) for cut in plan.cuts]
    work = sum(
        one.size * (cut.y.stop - cut.y.start)
        for one, cut in zip(left, plan.cuts, strict=True)
    )
    held_at_once = HELD // max(evidence.size, 1)
    chunk = int(min(CHUNK, max(1, min(CHUNK_WORK // max(work, 1), held_at_once))))
    rounding = 1e-13 if evidence.dtype == features.dtype == np.float64 else ROUNDING

    def statistics(xi: AnyArray) -> FloatArray:
        sums = []
        for one, cut in zip(left, plan.cuts, strict=True):
            product = one @ xi[:, :, cut.y].reshape(len(xi), -1)
            sums.append(product.reshape(len(one), xi.shape[1], -1).transpose(1, 0, 2))
        whole, own = plan.squares(sums), plan.own(sizes, plan.evidence_squares(xi))
        return settle(whole - own, whole + own, rounding).T

    def task(start: int) -> FloatArray:
        rng = seed.stream(Use.MODEL_SAMPLE, 1, start)
        xi, excesses = redraw(rng, min(chunk, m - start))
        return np.vstack([statistics(xi), excesses])

    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        observed = np.append(statistics(evidence[:, None])[:, 0], top)
        own = plan.own(sizes, plan.evidence_squares(evidence))
    # A short task is done sooner than it is handed to several threads.
    most = 1 if work * m < SHORT else None
    draws = np.concatenate(
        list(engine.local.map(task, range(0, m, chunk), most=most)), axis=1
    )
    check_overflow(observed, draws)
    own = term_sizes(own, draws[: len(own)], len(features))
    return Drawn(observed, draws, np.append(own, np.zeros(len(observed) - len(own))))


def term_sizes(own: FloatArray, draws: FloatArray, n: int) -> FloatArray:
    """Return what terms of n rows add up to, (K,), from the diagonal and draws (K, m), which are anew.

    Where nothing rare happened, in the data as in the draws, residuals are tiny and of one
    sign, and the last digits of probabilities alone make sums differ: they must not decide.
    """
    size = own + np.median(np.abs(draws), axis=1)
    return np.asarray(size + LAST_DIGITS * n * np.sqrt(size))


def settle(
    difference: FloatArray, size: FloatArray, rounding: float = ROUNDING
) -> FloatArray:
    """Make a difference 0 where it is rounding, whose sign would decide which of two is larger."""
    return np.where(np.abs(difference) <= rounding * np.asarray(size), 0.0, difference)


def limit(plan: Plan, rows: Rows, n: int, m: int, seed: Seed, engine: Engine) -> Drawn:
    """Compare Fᵀξ of many rows with N(0, (FᵀF)⊗C); the excess of surprises is the last statistic.

    The diagonal of the sum is replaced by its mean, which makes no difference at this size.
    """
    assert isinstance(plan.evidence, NormalEvidence)
    size = n * plan.evidence.d_y
    most = most_surprises(size)

    def largest(z: AnyArray) -> FloatArray:
        return np.asarray(top_surprises(z.reshape(1, -1), most)[0])

    totals, gram, top = sums_of.gather(plan, rows, n, largest, most, seed, engine)
    root_x = _root(gram).astype(np.float32)
    root_y = _root(plan.evidence.second).astype(np.float32)
    rank, q = root_x.shape[1], root_y.shape[1]
    left = [np.ascontiguousarray(root_x[cut.x]) for cut in plan.cuts]
    right = [np.ascontiguousarray(root_y[cut.y].T) for cut in plan.cuts]
    chunk = 16

    def task(start: int) -> FloatArray:
        rng, count = seed.stream(Use.MODEL_SAMPLE, 2, start), min(chunk, m - start)
        normal = rng.standard_normal((count, rank, q), dtype=np.float32)
        turned = ((normal.reshape(-1, q) @ b).reshape(count, rank, -1) for b in right)
        return plan.squares([a @ b for a, b in zip(left, turned, strict=True)]).T

    x, y = np.diag(gram), np.diag(plan.evidence.second)
    mean = np.array([x[f.columns].sum() * y[e.columns].sum() for f, e in plan.statistics])
    draws = np.concatenate(list(engine.local.map(task, range(0, m, chunk))), axis=1)
    observed = plan.squares([one[None] for one in totals])[0]
    check_overflow(observed, draws)
    tops = drawn_surprises(size, m, seed.stream(Use.MODEL_SAMPLE, 3))
    drawn = Drawn(observed - mean, draws - mean[:, None], mean)
    return drawn.plus(float(excess(top[None], size)[0]), excess(tops, size))


def _root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric root, which does not depend on the signs and turns of eigenvectors."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > SMALLEST * values[-1]
    return np.asarray((axes[:, kept] * np.sqrt(values[kept])) @ axes[:, kept].T)


def drawn_surprises(n: int, m: int, rng: np.random.Generator) -> FloatArray:
    """Draw the largest of n surprises m times, (m, count), without drawing them all.

    They are exponential: given the smallest of the largest, the others are exponential
    above it.
    """
    count = most_surprises(n)
    least = -np.log(rng.beta(count, n - count + 1, m))
    above = np.sort(rng.standard_exponential((m, count - 1)), axis=1)[:, ::-1]
    return np.column_stack([least[:, None] + above, least])


def weighted_rows(plan: Plan, rows: Rows, weights: RowWeights, engine: Engine) -> Drawn:
    features, xi = plan.held(rows)
    n, unit = len(xi), np.abs(xi).max() or 1.0  # so that single precision does not overflow
    check_overflow(xi)
    w = weights.block(0, n)
    # A few rows have few patterns of signs, and ties must be told.
    dtype = np.float64 if n <= FEW else np.float32
    parts: list[AnyArray] = [np.asarray(a, dtype=dtype) for a in (w.T, features, xi / unit)]
    left, thin, scaled = parts

    def terms(panel: int, columns: slice) -> AnyArray:
        own = scaled[:, plan.cuts[panel].y]
        return (thin[:, columns, None] * own[:, None, :]).reshape(n, -1)

    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        totals = [(features[:, cut.x].T @ xi[:, cut.y])[None] for cut in plan.cuts]
        sizes, squares, w2 = plan.sizes(features), plan.evidence_squares(xi), np.square(w)
        whole, own = plan.squares(totals)[0], plan.own(sizes, squares)
        each = own[:, None]
        if (w2 != 1.0).any():  # Σ_i w_i²‖F_i‖²‖ξ_i‖² of each statistic and draw
            each = np.concatenate(
                [
                    (sizes[:, f, None] * squares[:, None, e]).reshape(n, -1).T @ w2
                    for f, e in plan.panels
                ]
            )
    forms = _forms(plan, terms, left, engine, np.square(unit, dtype=float))
    check_overflow(whole, forms)
    double = xi.dtype == features.dtype == np.float64
    statistics = settle(whole - own, whole + own, 1e-13 if double else ROUNDING)
    rounding = 1e-13 if dtype is np.float64 and double else ROUNDING
    return Drawn(statistics, settle(forms - each, forms + each, rounding), own)


def weighted_units(
    plan: Plan, sums: list[AnyArray], weights: FloatArray, engine: Engine
) -> tuple[FloatArray, FloatArray]:
    """Return ‖Σ_b w_b V_b‖² of each statistic and draw, (K, m), and Σ_b ‖V_b‖², (K,)."""

    def terms(panel: int, columns: slice) -> AnyArray:
        cut, whole = plan.cuts[panel], sums[panel].reshape(len(weights), -1)
        q = cut.y.stop - cut.y.start
        first, last = columns.start - cut.x.start, columns.stop - cut.x.start
        return whole[:, first * q : last * q]  # no copy: there may be much of it

    left = np.ascontiguousarray(weights.T.astype(sums[0].dtype))
    forms = _forms(plan, terms, left, engine, own=True)
    check_overflow(forms)
    return forms[:, :-1], forms[:, -1]


def _forms(
    plan: Plan,
    terms: Callable[[int, slice], AnyArray],
    weights: AnyArray,
    engine: Engine,
    unit: float = 1.0,
    *,
    own: bool = False,
) -> FloatArray:
    """Return ‖Σ_b w_b V_b‖² of each statistic for weights (m, B), (K, m); last, if `own`, Σ_b ‖V_b‖².

    `terms` gives V of some columns of features in a panel, (B, columns·q_p), of which some
    are made at a time and added up within blocks.
    """

    def task(item: tuple[int, slice]) -> FloatArray:
        panel, columns = item
        part, width = terms(panel, columns), columns.stop - columns.start
        square = (
            np.square(weights @ part, dtype=np.float64)
            .reshape(len(weights), width, -1)
            .sum(axis=1)
        )
        if own:
            each = (
                np.einsum("bc,bc->c", part, part, dtype=np.float64)
                .reshape(width, -1)
                .sum(axis=0)
            )
            square = np.vstack([square, each])
        starts = plan.cuts[panel].of_y.argmax(axis=0)
        return np.asarray(unit * np.add.reduceat(square, starts, axis=1).T)

    items, owner = [], []
    for p, (panel, cut) in enumerate(zip(plan.panels, plan.cuts, strict=True)):
        most = max(1, HELD // (weights.shape[1] * len(cut.of_y)))
        for block in plan.features.blocks[panel.features]:
            first, last = block.columns.start, block.columns.stop
            # Much work in parts, for several threads.
            step = (
                most
                if last - first <= most // 2
                else min(most, -(-(last - first) // PARTS))
            )
            for start in range(first, last, step):
                items.append((p, slice(start, min(start + step, last))))
                owner.append((p, first))
    by_block: dict[tuple[int, int], FloatArray] = {}
    for key, value in zip(owner, engine.local.map(task, items), strict=True):
        by_block[key] = by_block[key] + value if key in by_block else value
    return np.concatenate(list(by_block.values()))


def block_length(n: int, most: int) -> int:
    """Return the length of at most `most` blocks of rows: a power of 2, so that they fit into pieces."""
    return 1 << max(0, int(np.ceil(np.log2(n / most))))


def signed_blocks(
    plan: Plan, rows: Rows, most: int, seed: Seed, engine: Engine
) -> UnitSums:
    """Sum over blocks of rows in their order; within a block rows have signs that are drawn once."""
    length = block_length(rows.total, most)

    def units_of(piece: Piece) -> Iterable[Unit]:
        signs = np.where(row_uniforms(seed, piece.start, piece.stop, 1) >= 0.5, 1.0, -1.0)
        first = min(
            -piece.start % length, piece.total
        )  # pieces of a Dask array begin where chunks do
        if first:
            yield Unit(piece.start // length, slice(first), length, signs[:first])
        if first < piece.total:
            yield Unit(
                (piece.start + first) // length, slice(first, None), length, signs[first:]
            )

    return sums_of.gather_units(plan, rows, units_of, engine)


def parcelled(
    plan: Plan, rows: Rows, parcel_of: Callable[[int, int], IntArray], engine: Engine
) -> UnitSums:
    """Sum over parcels of rows that hardly depend on each other."""

    def units_of(piece: Piece) -> Iterable[Unit]:
        of = parcel_of(piece.start, piece.stop)
        return (Unit(int(unit), np.flatnonzero(of == unit)) for unit in np.unique(of))

    return sums_of.gather_units(plan, rows, units_of, engine)


@dataclass(frozen=True, eq=False)
class CellDraws:
    """A discrete y of some rows as its law draws it, with the evidence of what is drawn."""

    evidence: CellEvidence
    outcomes: Outcomes
    #: Sums of the probabilities of cells, (n, K), and the most probable one of each row,
    #: (n,).
    sums: FloatArray
    mode: IntArray
    #: Probability of any other, (n,).
    rare: FloatArray
    #: Evidence of all cells, (K, q) less its mean in each row (n, q), or (n, K, q), where
    #: that is held.
    table: FloatArray | None
    mean: FloatArray | None
    #: Which rows count; all of them if None.
    keep: AnyArray | None

    @classmethod
    def of(
        cls, evidence: CellEvidence, outcomes: Outcomes, keep: AnyArray | None = None
    ) -> CellDraws:
        p = np.array(outcomes.probabilities, dtype=np.float64)
        p /= p.sum(axis=1, keepdims=True)
        (n, count), mode = p.shape, p.argmax(axis=1)
        sums = np.cumsum(p, axis=1)
        sums[:, -1] = 2.0  # rounding must not leave a gap at the end
        others = np.where(np.arange(count) == mode[:, None], 0.0, p).sum(axis=1)
        parts = [block for kernel in evidence.kernels for block, _ in kernel.parts]
        table = mean = None
        if all(block.stop <= outcomes.plain for block in parts):
            table = evidence.of(p, np.eye(count, outcomes.plain))
            mean = p @ table
        elif n * count * evidence.blocks[-1].columns.stop <= TABLE:
            every = [
                evidence.of(p, np.asarray(outcomes.of(np.full(n, k)))) for k in range(count)
            ]
            table = np.stack(every, axis=1)
        return cls(evidence, outcomes, sums, mode, others, table, mean, keep)

    def drawn(self, uniform: FloatArray, sure: float = 0.0) -> AnyArray:
        """Return the evidence (n, q) of cells drawn by uniform numbers; of sure rows, of the mode."""
        codes = (uniform[:, None] >= self.sums).sum(axis=1)
        return self.at(
            None, np.where(self.rare <= sure, self.mode, codes) if sure else codes
        )

    def at(self, rows: IntArray | None, codes: IntArray) -> AnyArray:
        """Return the evidence (m, q) of cells (m,) at some rows, or at all."""
        some = slice(None) if rows is None else rows
        if self.table is None:
            outcomes = self.outcomes if rows is None else self.outcomes.take(rows)
            # u plays no part, and the probabilities are not held beside their sums
            xi = self.evidence.of(self.sums, np.asarray(outcomes.of(codes)))
        elif self.mean is None:
            each = np.arange(len(self.mode)) if rows is None else rows
            xi = self.table[each, codes]
        else:
            xi = self.table[codes] - self.mean[some]
        return np.asarray(xi if self.keep is None else xi * self.keep[some, None])

    def surprises(
        self, start: int, sure: float, draws: range, seed: Seed
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return where sure rows are not drawn as the mode: draws, rows and cells, (s,) each.

        Points of a Poisson process in rows and draws: a row with one of them or more, in a
        draw, is another cell, which has the probability `rare`. Points come in canonical
        blocks of `PIECE` rows and are thinned, so that they do not depend on how rows, from
        global number `start`, are cut.
        """
        hazard = -np.log1p(-np.where(self.rare <= sure, self.rare, 0.0))
        densest, n, m = -np.log1p(-sure), len(hazard), len(draws)
        found = []
        for block in range(start // PIECE, (start + n - 1) // PIECE + 1):
            rng = seed.stream(Use.MODEL_SAMPLE, 7, draws.start, block)
            count = int(rng.poisson(PIECE * m * densest))
            row = block * PIECE - start + rng.integers(PIECE, size=count)
            draw, (thin, which) = rng.integers(m, size=count), rng.random((2, count))
            inside = (row >= 0) & (row < n)
            inside[inside] = thin[inside] * densest < hazard[row[inside]]
            found.append([part[inside] for part in (draw, row, which)])
        draw, row, which = (np.concatenate(parts) for parts in zip(*found, strict=True))
        _, first = np.unique(draw * n + row, return_index=True)
        draw, row, which = draw[first], row[first], which[first]
        return (
            draw,
            row,
            other_cells(self.outcomes.take(row).probabilities, self.mode[row], which),
        )


def other_cells(p: AnyArray, mode: IntArray, uniform: FloatArray) -> IntArray:
    """Return the cells (n,) that uniform numbers find by probabilities (n, K) among all but the mode."""
    others = np.where(np.arange(p.shape[1]) == mode[:, None], 0.0, p)
    sums = np.cumsum(others, axis=1)
    codes = (uniform[:, None] * sums[:, -1:] >= sums).sum(axis=1)
    return np.asarray(np.minimum(codes, p.shape[1] - 1))


def recombined(
    plan: Plan,
    rows: Rows,
    cells_of: Callable[[Piece], CellDraws],
    m: int,
    seed: Seed,
    engine: Engine,
) -> Drawn:
    """Draw y of many rows anew: some times in each stratum of rows, of which draws take one each.

    Sums over a stratum are exact draws of it, and so is every sum of one of each. But what
    happens once in a thousand rows would be the same few rows in all draws, and elsewhere
    in the data: rows whose most probable cell is nearly certain are drawn anew in every
    draw, which costs little, as few of them are anything else.
    """
    strata = min(STRATA, max(8, -(-rows.total // PIECE)))
    length, sure = -(-rows.total // strata), SURE * min(1.0, SURE_ROWS / rows.total)

    def units_of(piece: Piece) -> Iterable[Unit]:
        of, cells = np.arange(piece.start, piece.stop) // length, cells_of(piece)
        for number in range(REDRAWS):
            drawn = cells.drawn(
                row_uniforms(seed, piece.start, piece.stop, 2, number), sure
            )
            for stratum in np.unique(of):
                some = np.flatnonzero(of == stratum)
                yield Unit(int(stratum) * REDRAWS + number, some, evidence=drawn[some])
        yield Unit(strata * REDRAWS, slice(None))  # the data themselves, for the diagonal

    units = sums_of.gather_units(plan, rows, units_of, engine)
    observed = plan.squares([one[None] for one in units.totals])[0] - units.own[-1]
    rng = seed.stream(Use.MODEL_SAMPLE, 5)
    taken = rng.integers(0, REDRAWS, (strata, m)) + REDRAWS * np.arange(strata)[:, None]
    step = max(1, HELD // sum(one.size for one in units.totals))
    drawn = []
    for start in range(0, m, step):
        draws = range(start, min(start + step, m))
        which = taken[:, draws].T.ravel(), np.arange(0, len(draws) * strata + 1, strata)
        chosen = csr_array((np.ones(len(which[0])), *which), (len(draws), len(units.own)))
        sums = [
            (chosen @ one.reshape(len(one), -1)).reshape(-1, *one.shape[1:])
            for one in units.sums
        ]
        own = chosen @ units.own
        if more := surprised(plan, rows, cells_of, sure, draws, seed, engine):
            *sums, own = added([[*sums, own], more])
        drawn.append((plan.squares(sums) - own).T)
    draws_of_all = np.concatenate(drawn, axis=1)
    check_overflow(observed, draws_of_all)
    return Drawn(
        observed, draws_of_all, term_sizes(units.own[-1], draws_of_all, rows.total)
    )


def surprised(
    plan: Plan,
    rows: Rows,
    cells_of: Callable[[Piece], CellDraws],
    sure: float,
    draws: range,
    seed: Seed,
    engine: Engine,
) -> list[FloatArray]:
    """Return what is added to each draw where sure rows are not what is most probable.

    To the sums of each panel, (m, R_p, q_p), and to the diagonal of each statistic, (m, K);
    nothing where that never happens.
    """

    def task(piece: Piece) -> list[FloatArray]:
        cells = cells_of(piece)
        draw, row, codes = cells.surprises(piece.start, sure, draws, seed)
        shapes = [(c.x.stop - c.x.start, c.y.stop - c.y.start) for c in plan.cuts]
        more = [
            np.zeros((len(draws), *shape)) for shape in (*shapes, (len(plan.statistics),))
        ]
        step = max(1, HELD // max(math.prod(shape) for shape in shapes))
        for start in range(0, len(row), step):
            some = slice(start, start + step)
            now, first = np.unique(draw[some], return_index=True)
            features = plan.features.of(piece.x[row[some]])
            xi = (
                cells.at(row[some], codes[some]),
                cells.at(row[some], cells.mode[row[some]]),
            )
            for target, cut in zip(more, plan.cuts, strict=False):
                terms = features[:, cut.x, None] * (xi[0] - xi[1])[:, None, cut.y]
                target[now] += np.add.reduceat(terms, first, axis=0)
            squares = plan.evidence_squares(xi[0]) - plan.evidence_squares(xi[1])
            own = plan.sizes(features)[:, :, None] * squares[:, None, :]
            more[-1][now] += np.add.reduceat(plan.by_panel(own), first, axis=0)
        return more if len(row) else []

    def merge(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
        some = [part for part in parts if part]
        return added(some) if some else []

    return sums_of.reduce_over(rows, engine, task, merge)


def censoring_times(
    watched: FloatArray, x: FloatArray, near: CovariateKernel, rng: np.random.Generator
) -> FloatArray:
    """Return when rows are censored, (n,): as they were, or drawn after the event where that came.

    The event at T and the time C of censoring are independent given x. So C, drawn from its
    law given x and C > T, has with T the joint law that it has, and T drawn anew and seen
    as far as C allows is a draw of the data. That law is Kaplan and Meier's product,
    weighted for rows `near` in x (Beran's estimate). Times are Λ(y) − Λ(entry), the number
    of events expected while a row was `watched` (n, 3: residuals, events, entries).
    Infinite where nothing says that a row would have been censored.
    """
    event, times = watched[:, 1] > 0, watched[:, 1] - watched[:, 0]
    if event.all():
        return np.full(len(times), np.inf)
    until, drawn = times.copy(), rng.random(len(times))
    order, rows = np.argsort(times, kind="stable"), np.flatnonzero(event)
    for some in np.array_split(rows, -(-len(rows) * len(times) // (HELD // 2))):
        weight = near(x[some], x)[:, order]
        until[some] = _later(times[order], event[order], weight, times[some], drawn[some])
    return until


def _later(
    times: FloatArray,
    event: AnyArray,
    weight: FloatArray,
    after: FloatArray,
    drawn: FloatArray,
) -> FloatArray:
    """Draw times of censoring after those of m rows, which weigh rows in order by `weight` (m, n)."""
    weight = np.maximum(weight, 1e-12)  # a row far from all others takes them as they come
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    share = np.clip(np.where(event, 0.0, weight) / at_risk, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log1p(-share)
        first = np.searchsorted(times, after, side="right")
        log[np.arange(len(times)) < first[:, None]] = 0.0
        passed = (np.cumsum(log, axis=1) > np.log(drawn)[:, None]).sum(axis=1)
    return np.asarray(np.append(times, np.inf)[passed])


def redraw_censored(
    evidence: CensoredEvidence, watched: FloatArray, until: FloatArray
) -> Redraw:
    """Return what draws times of n rows anew, of which those after `until` (n,) are censored."""
    n, start = len(until), hazard(watched[:, 2])[:, None]

    def draw(rng: np.random.Generator, m: int) -> tuple[AnyArray, FloatArray]:
        times = rng.standard_exponential((n, m))
        event = times <= until[:, None]
        seen = start + np.minimum(times, until[:, None])
        z = np.where(seen < 0.5, ndtri(-np.expm1(-seen)), -ndtri(np.exp(-seen)))
        beside = np.stack([event, event, np.broadcast_to(watched[:, 2:], (n, m))], axis=2)
        xi = evidence.of(z.reshape(-1, 1), beside.reshape(n * m, 3))
        return xi.reshape(n, m, -1), np.empty((0, m))

    return draw
