"""Nulls that resample y from its law: of all rows, from a limit, or recombined."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_overflow
from condgof.null._bootstrap import LIMIT, NULLS
from condgof.null._dependence import Dependence
from condgof.null._draws import (
    DOUBLE_ROUNDING,
    SINGLE_ROUNDING,
    NullDraws,
    TestedRows,
    settle,
    term_sizes,
)
from condgof.residuals import (
    OUTLIERS,
    CellResampler,
    CellResiduals,
    NormalScoreResiduals,
    NormalTestFunctions,
    Residuals,
    draw_top_surprises,
    excess,
    surprise_count,
    top_surprises,
)
from condgof.sample import Seed, Use
from condgof.stein import (
    PIECE_ROWS,
    Piece,
    Plan,
    Unit,
    added,
    gather,
    gather_units,
    reduce_over,
    row_uniforms,
)

#: Multiplications of a chunk of draws: a fraction of a second.
CHUNK_WORK = 2e8
#: Most draws in one chunk.
CHUNK_DRAWS = 32
#: Less work than this in all is done sooner by one thread than by several.
ONE_THREAD_WORK = 3e9
#: Numbers that are held at a time.
HELD_NUMBERS = 2**23
#: Draws of a chunk of the Gaussian limit.
LIMIT_CHUNK = 16
#: Directions of FᵀF below this share of the largest are left out of the limit.
SMALLEST_DIRECTION = 1e-7
#: A discrete y of many rows is resampled in this many strata of rows,
STRATA = 64
#: at least in these,
LEAST_STRATA = 8
#: and this often in each; every draw takes one of these of each stratum.
RESAMPLES_PER_STRATUM = 48
#: Rows are nearly certain where all cells but one have this probability together,
NEARLY_CERTAIN = 0.01
#: of up to this many rows; of more, a smaller one, so that exceptions stay few.
NEARLY_CERTAIN_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Resample:
    """Draw y of all rows from the law again, and compute all statistics again: exact."""

    dependence: Dependence = field(default_factory=Dependence)
    label = NULLS["model"]
    solver = "exact"

    def draw(
        self, plan: Plan, rows: TestedRows, m: int, seed: Seed, engine: Engine
    ) -> NullDraws:
        features, values = plan.hold(rows)
        resampler = rows.resampler(plan.test_functions, seed)
        feature_squares = plan.feature_squares(features)
        left = [np.ascontiguousarray(features[:, cut.x].T) for cut in plan.cuts]
        work = sum(one.size * cut.y_width for one, cut in zip(left, plan.cuts, strict=True))
        at_once = HELD_NUMBERS // max(values.size, 1)
        chunk = min(CHUNK_DRAWS, max(1, min(CHUNK_WORK // max(work, 1), at_once)))
        chunk = int(chunk)
        is_double = values.dtype == features.dtype == np.float64
        rounding = DOUBLE_ROUNDING if is_double else SINGLE_ROUNDING

        def statistics(xi: AnyArray) -> FloatArray:
            """Return the statistics of m samples of ξ (n, m, q), (K, m)."""
            sums = []
            for one, cut in zip(left, plan.cuts, strict=True):
                product = one @ xi[:, :, cut.y].reshape(len(xi), -1)
                product = product.reshape(len(one), xi.shape[1], -1)
                sums.append(product.transpose(1, 0, 2))
            whole = plan.squares(sums)
            diagonal = plan.diagonal(feature_squares, plan.value_squares(xi))
            return settle(whole - diagonal, whole + diagonal, rounding).T

        def task(start: int) -> FloatArray:
            rng = seed.stream(Use.MODEL_SAMPLE, 1, start)
            resampled = resampler.draw(rng, min(chunk, m - start))
            return np.vstack([statistics(resampled.values), resampled.additional])

        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            observed = np.append(statistics(values[:, None])[:, 0], resampler.observed)
            diagonal = plan.diagonal(feature_squares, plan.value_squares(values))
        most_threads = 1 if work * m < ONE_THREAD_WORK else None
        chunks = engine.local.map(task, range(0, m, chunk), most=most_threads)
        draws = np.concatenate(list(chunks), axis=1)
        check_overflow(observed, draws)
        count = len(diagonal)
        sizes = term_sizes(diagonal, draws[:count], len(features))
        return NullDraws(
            statistics=observed,
            draws=draws,
            sizes=np.append(sizes, np.zeros(len(observed) - count)),
            additional={name: count + k for k, name in enumerate(resampler.names)},
            details={"null": "model"},
        )


@dataclass(frozen=True, eq=False)
class GaussianLimit:
    """Compare Fᵀξ of many rows with N(0, (FᵀF)⊗C), C = E[ξξᵀ].

    The diagonal of the sum is replaced by its mean, which makes no difference at this size.
    """

    dependence: Dependence = field(default_factory=Dependence)
    label = LIMIT
    solver = "lowrank"

    def draw(
        self, plan: Plan, rows: TestedRows, m: int, seed: Seed, engine: Engine
    ) -> NullDraws:
        functions = plan.test_functions
        assert isinstance(functions, NormalTestFunctions)
        covariance = functions.covariance
        size = rows.n * functions.d_y
        most = surprise_count(size)

        def largest(residuals: Residuals) -> FloatArray:
            assert isinstance(residuals, NormalScoreResiduals)
            return np.asarray(top_surprises(residuals.u.reshape(1, -1), most)[0])

        totals = gather(plan, rows, rows.n, largest, most, seed, engine)
        root_x = _symmetric_root(totals.gram).astype(np.float32)
        root_y = _symmetric_root(covariance).astype(np.float32)
        width = root_x.shape[1]
        q = root_y.shape[1]
        left = [np.ascontiguousarray(root_x[cut.x]) for cut in plan.cuts]
        right = [np.ascontiguousarray(root_y[cut.y].T) for cut in plan.cuts]

        def task(start: int) -> FloatArray:
            rng = seed.stream(Use.MODEL_SAMPLE, 2, start)
            count = min(LIMIT_CHUNK, m - start)
            normal = rng.standard_normal((count, width, q), dtype=np.float32)
            sums = []
            for a, b in zip(left, right, strict=True):
                sums.append(a @ (normal.reshape(-1, q) @ b).reshape(count, width, -1))
            return plan.squares(sums).T

        x_squares = np.diag(totals.gram)
        y_squares = np.diag(covariance)
        mean = np.array(
            [
                x_squares[one.features.columns].sum()
                * y_squares[one.test_functions.columns].sum()
                for one in plan.statistics
            ]
        )
        chunks = engine.local.map(task, range(0, m, LIMIT_CHUNK))
        draws = np.concatenate(list(chunks), axis=1)
        observed = plan.squares([one[None] for one in totals.sums])[0]
        check_overflow(observed, draws)
        drawn = NullDraws(
            statistics=observed - mean,
            draws=draws - mean[:, None],
            sizes=mean,
            details={"null": "limit"},
        )
        tops = draw_top_surprises(size, m, seed.stream(Use.MODEL_SAMPLE, 3))
        outliers = float(excess(totals.largest[None], size)[0])
        return drawn.plus(OUTLIERS, outliers, excess(tops, size))


def _symmetric_root(matrix: FloatArray) -> FloatArray:
    """Return the symmetric root, (q, q), whatever the signs and order of eigenvectors."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > SMALLEST_DIRECTION * values[-1]
    return np.asarray((axes[:, kept] * np.sqrt(values[kept])) @ axes[:, kept].T)


@dataclass(frozen=True, eq=False)
class RecombinedResample:
    """Resample a discrete y of many rows by strata; a draw takes one of each stratum.

    Sums over a stratum are exact draws of it, and so is every sum of one of each. But what
    happens once in a thousand rows would happen to the same few rows in all draws, and
    elsewhere in the data: rows whose most probable cell is nearly certain are resampled in
    every draw, by their exceptions (`condgof.residuals`, rare events).
    """

    dependence: Dependence = field(default_factory=Dependence)
    label = NULLS["model"]
    solver = "lowrank"

    def draw(
        self, plan: Plan, rows: TestedRows, m: int, seed: Seed, engine: Engine
    ) -> NullDraws:
        strata = min(STRATA, max(LEAST_STRATA, -(-rows.total // PIECE_ROWS)))
        length = -(-rows.total // strata)
        certain = NEARLY_CERTAIN * min(1.0, NEARLY_CERTAIN_ROWS / rows.total)

        def units_of(piece: Piece) -> Iterable[Unit]:
            stratum_of = np.arange(piece.start, piece.stop) // length
            resampler = _cell_resampler(plan, piece)
            for number in range(RESAMPLES_PER_STRATUM):
                uniforms = row_uniforms(seed, piece.start, piece.stop, 2, number)
                values = resampler.drawn(uniforms, certain)
                for stratum in np.unique(stratum_of):
                    some = np.flatnonzero(stratum_of == stratum)
                    unit = int(stratum) * RESAMPLES_PER_STRATUM + number
                    yield Unit(unit, some, values=values[some])
            # The data themselves, for the diagonal.
            yield Unit(strata * RESAMPLES_PER_STRATUM, slice(None))

        # Totals are of the data: resampled values replace ξ in the sums over units alone.
        units = gather_units(plan, rows, units_of, engine)
        observed = plan.squares([one[None] for one in units.totals])[0] - units.diagonal[-1]
        rng = seed.stream(Use.MODEL_SAMPLE, 5)
        taken = rng.integers(0, RESAMPLES_PER_STRATUM, (strata, m))
        taken += RESAMPLES_PER_STRATUM * np.arange(strata)[:, None]
        step = max(1, HELD_NUMBERS // sum(one.size for one in units.totals))
        parts = []
        for start in range(0, m, step):
            draws = range(start, min(start + step, m))
            columns = taken[:, draws].T.ravel()
            row_ends = np.arange(0, len(draws) * strata + 1, strata)
            chosen = csr_array(
                (np.ones(len(columns)), columns, row_ends),
                (len(draws), len(units.diagonal)),
            )
            sums: list[AnyArray] = [
                (chosen @ one.reshape(len(one), -1)).reshape(-1, *one.shape[1:])
                for one in units.sums
            ]
            diagonal: AnyArray = np.asarray(chosen @ units.diagonal)
            more = _exceptional_sums(plan, rows, certain, draws, seed, engine)
            if more:
                *sums, diagonal = added([[*sums, diagonal], more])
            parts.append((plan.squares(sums) - diagonal).T)
        all_draws = np.concatenate(parts, axis=1)
        check_overflow(observed, all_draws)
        return NullDraws(
            statistics=observed,
            draws=all_draws,
            sizes=term_sizes(units.diagonal[-1], all_draws, rows.total),
            details={"null": "model"},
        )


def _cell_resampler(plan: Plan, piece: Piece) -> CellResampler:
    assert isinstance(piece.residuals, CellResiduals)
    resampler = piece.residuals.cell_resampler(plan.test_functions, piece.keep)
    assert resampler is not None
    return resampler


def _exceptional_sums(
    plan: Plan,
    rows: TestedRows,
    certain: float,
    draws: range,
    seed: Seed,
    engine: Engine,
) -> list[FloatArray]:
    """Return what exceptions of nearly certain rows add to each draw.

    To the sums of each panel, (m, R_p, q_p), and to the diagonal of each statistic, (m, K);
    an empty list where there are no exceptions.
    """
    shapes = [(cut.x_width, cut.y_width) for cut in plan.cuts]
    step = max(1, HELD_NUMBERS // max(math.prod(shape) for shape in shapes))

    def task(piece: Piece) -> list[FloatArray]:
        resampler = _cell_resampler(plan, piece)
        exceptions = resampler.exceptions(piece.start, certain, draws, seed)
        if not len(exceptions.rows):
            return []
        codes = resampler.other_cells(exceptions)
        sums = [np.zeros((len(draws), *shape)) for shape in shapes]
        diagonal = np.zeros((len(draws), len(plan.statistics)))
        for start in range(0, len(codes), step):
            some = slice(start, start + step)
            row = exceptions.rows[some]
            # Exceptions are sorted by draw, so that those of one draw are one run.
            draw, first = np.unique(exceptions.draws[some], return_index=True)
            features = plan.features.evaluate(piece.x[row])
            exceptional = resampler.evaluate(row, codes[some])
            usual = resampler.evaluate(row, resampler.mode[row])
            for target, cut in zip(sums, plan.cuts, strict=True):
                change = (exceptional - usual)[:, None, cut.y]
                terms = features[:, cut.x, None] * change
                target[draw] += np.add.reduceat(terms, first, axis=0)
            squares = plan.value_squares(exceptional) - plan.value_squares(usual)
            products = plan.feature_squares(features)[:, :, None] * squares[:, None, :]
            diagonal[draw] += np.add.reduceat(plan.by_panel(products), first, axis=0)
        return [*sums, diagonal]

    def merge(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
        some = [part for part in parts if part]
        return added(some) if some else []

    return reduce_over(rows, engine, task, merge)
