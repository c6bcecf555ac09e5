"""Nulls that resample y from its law: of all rows, from a limit, or recombined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_overflow
from condgof.null._bootstrap import LIMIT, NULLS
from condgof.null._dependence import Dependence
from condgof.null._draws import (
    DOUBLE_ROUNDING,
    SINGLE_ROUNDING,
    BesideStatistics,
    DrawnStatistics,
    NullDraws,
    Reference,
    TestedRows,
    draw_twice,
    settle,
    term_sizes,
    with_own_resampling,
)
from condgof.null._limit import Limit
from condgof.residuals import (
    OUTLIERS,
    AveragedTestFunctions,
    CellResiduals,
    NormalScoreResiduals,
    NormalTestFunctions,
    RareEventResampler,
    Resampled,
    Resampler,
    Residuals,
    SteppedResiduals,
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
    Rows,
    RowUse,
    Strata,
    Unit,
    gather,
    gather_units,
    reduce_over,
    row_range_uniforms,
    sum_arrays,
)

#: Multiplications of a chunk of draws: a fraction of a second.
CHUNK_WORK = 2e8
#: Most draws in one chunk.
CHUNK_DRAWS = 32
#: Less work than this in all, in multiplications, is done sooner by one thread than by
#: several.
ONE_THREAD_WORK = 3e9
#: Most numbers that are held at a time (64 MB in double precision).
HELD_NUMBERS = 2**23
#: Numbers of sums over units that draws are recombined of at a time: they fit into a
#: processor's cache.
CACHED_NUMBERS = 2**17
#: Strata of rows of a discrete y with an order, of which each has a covariance of its own.
LIMIT_STRATA = 3
#: Most strata of rows of a discrete y. There is one for each piece of `PIECE_ROWS` rows,
#: up to this many: the sums over all strata and resamples are held.
STRATA = 64
#: Fewest strata: the fewer there are, the more two draws have in common.
LEAST_STRATA = 8
#: How often y is resampled in each stratum; every draw takes one of these at random. More
#: of them give more different draws, and each takes a pass over the rows.
RESAMPLES_PER_STRATUM = 48
#: Most numbers of resampled test functions that are held at a time, 8 MB.
RESAMPLED_NUMBERS = 2**20
#: Rows are nearly certain where all cells but the most probable one have at most this
#: probability together. They are resampled in every draw (docs/dev/discrete-y.md).
NEARLY_CERTAIN = 0.01
#: Above this many rows that probability falls as 1/rows, so that nearly certain rows have
#: at most 0.01·50,000 = 500 exceptions in a draw on average.
NEARLY_CERTAIN_ROWS = 50_000

# Streams of random numbers within `Use.MODEL_SAMPLE`. Numbers are part of every result, and
# none is used twice: 2 is in `_limit`, 6 and 7 are in `condgof.residuals`
# (`CENSORING_STREAM` and `EXCEPTIONS_STREAM`), and `mmd` has the stream without a number.
#: `Resample` draws y; a stream for each chunk of draws.
RESAMPLE_STREAM = 1
#: `GaussianLimit` draws the largest outliers.
OUTLIERS_STREAM = 3
#: `RecombinedResample` chooses one resample of each stratum for each draw.
RECOMBINATION_STREAM = 5


@dataclass(frozen=True, eq=False)
class Resample:
    """Draw y of all rows from the law again, and compute all statistics again: exact."""

    dependence: Dependence = field(default_factory=Dependence)
    label = NULLS["model"]
    solver = "exact"

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
        evaluated = None if beside is None else beside.by_resampling()

        def draw_by(m: int, seed: Seed) -> NullDraws:
            resampler = rows.resampler(plan.test_functions, seed)

            def resample(start: int, count: int) -> Resampled:
                rng = seed.stream(Use.MODEL_SAMPLE, RESAMPLE_STREAM, start)
                return resampler.draw(rng, count)

            drawn = draw_statistics(
                plan, rows, resampler, resample, m, engine, {"null": "model"}, evaluated
            )
            if evaluated is None:
                return with_own_resampling(drawn, beside, m, seed, engine)
            assert beside is not None
            return _named_last(drawn, beside.names)

        return draw_twice(draw_by, m, seed, reference)


def _named_last(drawn: NullDraws, names: tuple[str, ...]) -> NullDraws:
    """Give names to the last statistics."""
    first = len(drawn.statistics) - len(names)
    last = {name: first + k for k, name in enumerate(names)}
    return replace(drawn, additional={**drawn.additional, **last})


def draw_statistics(
    plan: Plan,
    rows: Rows,
    resampler: Resampler,
    resample: Callable[[int, int], Resampled],
    m: int,
    engine: Engine,
    details: Mapping[str, Any],
    beside: DrawnStatistics | None = None,
) -> NullDraws:
    """Compute all statistics of rows in memory, and of m samples in place of y.

    Parameters
    ----------
    plan, rows : Plan, Rows
        What is summed, over which n rows.
    resampler : Resampler
        It names the additional statistics, and knows them of the data.
    resample : callable
        (first, count) → test functions of so many samples, from the first on.
    m : int
        The number of samples.
    details : mapping
        What a result says of the draws.
    beside : DrawnStatistics, optional
        Further statistics of the same samples, which come last.
    """
    features, values = plan.hold(rows)
    feature_squares = plan.feature_squares(features)
    # Fᵀ of each panel, (R_p, n).
    transposed = [np.ascontiguousarray(features[:, cut.x].T) for cut in plan.cuts]
    work = sum(  # multiplications of a draw
        one.size * cut.y_width for one, cut in zip(transposed, plan.cuts, strict=True)
    )
    at_once = HELD_NUMBERS // max(values.size, 1)
    chunk = int(min(CHUNK_DRAWS, max(1, min(CHUNK_WORK // max(work, 1), at_once))))
    is_double = values.dtype == features.dtype == np.float64
    rounding = DOUBLE_ROUNDING if is_double else SINGLE_ROUNDING

    def statistics(xi: AnyArray) -> FloatArray:
        """Return the statistics of m samples of ξ (n, m, q), (K, m)."""
        sums = []
        for one, cut in zip(transposed, plan.cuts, strict=True):
            product = one @ xi[:, :, cut.y].reshape(len(xi), -1)
            product = product.reshape(len(one), xi.shape[1], -1)
            sums.append(product.transpose(1, 0, 2))
        whole = plan.squares(sums)
        diagonal = plan.diagonal(feature_squares, plan.value_squares(xi))
        return settle(whole - diagonal, whole + diagonal, rounding).T

    def task(start: int) -> FloatArray:
        """Return all statistics of the draws from `start` on, (K, draws)."""
        resampled = resample(start, min(chunk, m - start))
        parts = [statistics(resampled.values), resampled.additional]
        if beside is not None:
            parts.append(beside.evaluate(resampled.drawn))
        return np.vstack(parts)

    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        observed = np.append(statistics(values[:, None])[:, 0], resampler.observed)
        if beside is not None:
            observed = np.append(observed, beside.observed)
        diagonal = plan.diagonal(feature_squares, plan.value_squares(values))
    most_threads = 1 if work * m < ONE_THREAD_WORK else None
    chunks = engine.local.map(task, range(0, m, chunk), most=most_threads)
    draws = np.concatenate(list(chunks), axis=1)
    check_overflow(observed, draws)
    # Additional statistics, those of the resampler, follow the sums.
    sum_count = len(diagonal)
    sizes = term_sizes(diagonal, draws[:sum_count], len(features))
    return NullDraws(
        statistics=observed,
        draws=draws,
        sizes=np.append(sizes, np.zeros(len(observed) - sum_count)),
        additional={name: sum_count + k for k, name in enumerate(resampler.names)},
        details=details,
    )


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Put whole samples in the place of y: draws of all rows at once, or refits.

    Rows of a draw may have anything in common, such as the parameters of a posterior draw:
    y and the draws are exchangeable, and so are their statistics. Of more rows than a
    subsample has, the statistics are those of the subsample. There are as many samples as
    the law knows of, or as were asked for if these are fewer.
    """

    dependence: Dependence = field(default_factory=Dependence)
    label = "joint"
    solver = "exact"

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
        some = rows.subsample
        replicates = some.replicates
        assert replicates is not None
        functions = plan.test_functions
        neighbours = some.neighbours(seed)
        resampler = some.resampler(functions, seed)

        def resample(start: int, count: int) -> Resampled:
            values: list[AnyArray] = []
            additional: list[FloatArray] = []
            for number in range(start, start + count):
                residuals = replicates.replicate(number).residuals
                values.append(functions.evaluate(residuals))
                if resampler.names:
                    own = residuals.resampler(functions, neighbours)
                    assert own is not None
                    additional.append(own.observed)
            width = len(resampler.names)
            return Resampled(
                values=np.stack(values, axis=1),
                additional=np.reshape(additional, (count, width)).T,
                drawn=np.arange(start, start + count),
            )

        # Whole samples are given: there are no others for reference.
        used = min(m, replicates.count)
        details = {"null": "joint", "replicates": used}
        evaluated = None if beside is None else beside.by_replicates()
        drawn = draw_statistics(
            plan, some, resampler, resample, used, engine, details, evaluated
        )
        return drawn if beside is None else _named_last(drawn, beside.names)


@dataclass(frozen=True, eq=False)
class GaussianLimit:
    """Compare Fᵀξ of many rows with N(0, (FᵀF)⊗C), C = E[ξξᵀ].

    The diagonal of the sum is replaced by its mean, which makes no difference at this size.
    """

    dependence: Dependence = field(default_factory=Dependence)
    label = LIMIT
    solver = "lowrank"

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
        functions = plan.test_functions
        assert isinstance(functions, NormalTestFunctions)
        score_count = rows.n * functions.d_y  # normal scores of all rows and columns of y
        most = surprise_count(score_count)

        def largest(residuals: Residuals) -> FloatArray:
            assert isinstance(residuals, NormalScoreResiduals)
            return np.asarray(top_surprises(residuals.u.reshape(1, -1), most)[0])

        # Of many rows, FᵀF is summed over some: the same ones for every user's seed.
        gram_seed = seed if reference is None else reference.seed
        totals = gather(plan, rows, rows.n, largest, most, gram_seed, engine)
        limit = Limit.from_totals(plan, totals, [functions.covariance])

        def draw_by(m: int, seed: Seed) -> NullDraws:
            drawn = limit.draw(m, seed, engine)
            drawn = _with_outliers(drawn, totals.largest, score_count, m, seed)
            return with_own_resampling(drawn, beside, m, seed, engine)

        return draw_twice(draw_by, m, seed, reference)


@dataclass(frozen=True, eq=False)
class StratifiedLimit:
    """The Gaussian limit of a discrete y with an order: N(0, Σ_s (FᵀF)_s⊗C_s).

    Test functions are averaged over steps of the CDF, and their covariance depends on x. In
    strata s of rows with steps of about the same size it hardly does.
    """

    residuals: SteppedResiduals  #: Of some rows, which strata and covariances come from.
    dependence: Dependence = field(default_factory=Dependence)
    label = LIMIT
    solver = "lowrank"

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
        functions = plan.test_functions
        assert isinstance(functions, AveragedTestFunctions)
        levels = np.arange(1, LIMIT_STRATA) / LIMIT_STRATA
        cuts = np.unique(np.quantile(self.residuals.mean_scale, levels))

        def stratum_of(residuals: Residuals) -> IntArray:
            assert isinstance(residuals, SteppedResiduals)
            return np.searchsorted(cuts, residuals.mean_scale)

        of_some = stratum_of(self.residuals)
        covariances = []
        for stratum in range(len(cuts) + 1):
            members = np.flatnonzero(of_some == stratum)
            # A stratum that none of these rows is in has the covariance of all.
            steps = self.residuals.steps.take(members) if len(members) else None
            covariances.append(functions.covariance_over(steps or self.residuals.steps))
        most = surprise_count(rows.n)
        strata = Strata(size=len(covariances), of_rows=stratum_of)
        largest = _largest_surprises(most)
        gram_seed = seed if reference is None else reference.seed
        totals = gather(plan, rows, rows.n, largest, most, gram_seed, engine, strata)
        limit = Limit.from_totals(plan, totals, covariances)

        def draw_by(m: int, seed: Seed) -> NullDraws:
            drawn = limit.draw(m, seed, engine)
            drawn = _with_outliers(drawn, totals.largest, rows.n, m, seed)
            return with_own_resampling(drawn, beside, m, seed, engine)

        return draw_twice(draw_by, m, seed, reference)


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
        self,
        plan: Plan,
        rows: TestedRows,
        m: int,
        seed: Seed,
        engine: Engine,
        beside: BesideStatistics | None = None,
        reference: Reference | None = None,
    ) -> NullDraws:
        from scipy.sparse import csr_array  # takes long to import

        # Strata are resampled once: by the data, where statistics are ranked by reference
        # draws. Seeds decide which of these resamples a draw takes.
        stratum_seed = seed if reference is None else reference.seed
        strata = min(STRATA, max(LEAST_STRATA, -(-rows.total // PIECE_ROWS)))
        length = -(-rows.total // strata)
        certain = NEARLY_CERTAIN * min(1.0, NEARLY_CERTAIN_ROWS / rows.total)

        def units_of(piece: Piece) -> Iterable[Unit]:
            resampler = _rare_event_resampler(plan, piece)
            at_once = max(1, RESAMPLED_NUMBERS // resampler.numbers_each)
            for first in range(0, RESAMPLES_PER_STRATUM, at_once):
                resamples = range(first, min(first + at_once, RESAMPLES_PER_STRATUM))
                uniforms = [
                    row_range_uniforms(
                        stratum_seed, piece.start, piece.stop, RowUse.RESAMPLE, number
                    )
                    for number in resamples
                ]
                values = resampler.resampled(np.stack(uniforms, axis=1), certain)
                for stratum in range(piece.start // length, (piece.stop - 1) // length + 1):
                    start = max(stratum * length, piece.start) - piece.start
                    some = slice(start, (stratum + 1) * length - piece.start)
                    unit = stratum * RESAMPLES_PER_STRATUM + first
                    yield Unit(unit, some, values=values[some])
            # The last unit is all rows with their own y, for the diagonal of the data.
            yield Unit(strata * RESAMPLES_PER_STRATUM, slice(None))

        # Totals are of the data: resampled values replace ξ in the sums over units alone.
        units = gather_units(plan, rows, units_of, engine)
        observed = plan.squares([one[None] for one in units.totals])[0] - units.diagonal[-1]
        has_certain_rows = reduce_over(
            rows,
            engine,
            lambda piece: _rare_event_resampler(plan, piece).has_certain_rows(certain),
            any,
        )
        surprises: FloatArray | None = None
        if isinstance(plan.test_functions, AveragedTestFunctions):
            surprises = _surprises_of_all(rows, engine)

        def recombined(draws: range, taken: IntArray, seed: Seed) -> FloatArray:
            """Return the statistics of some draws, (K, draws), by the units they take."""
            # `chosen` is 1 where a draw (a row) takes a unit (a column): sums of the units
            # that a draw takes are products with it.
            columns = taken[:, draws].T.ravel()
            row_ends = np.arange(0, len(draws) * strata + 1, strata)
            chosen = csr_array(
                (np.ones(len(columns)), columns, row_ends),
                (len(draws), len(units.diagonal)),
            )
            diagonal: AnyArray = np.asarray(chosen @ units.diagonal)
            changes: _ExceptionalSums | None = None
            if has_certain_rows:
                changes = _exceptional_sums(plan, rows, certain, draws, seed, engine)
            if changes is not None:
                diagonal = diagonal + changes.diagonal

            def sums(panel: int, features: slice) -> FloatArray:
                """Return Fᵀξ of some features of a panel, (draws, features, q_p)."""
                some = units.sums[panel][:, features].astype(np.float64)
                recombined = chosen @ some.reshape(len(some), -1)
                own = np.asarray(recombined).reshape(-1, *some.shape[1:])
                return own if changes is None else own + changes.sums[panel][:, features]

            at_once = max(1, CACHED_NUMBERS // len(units.diagonal))
            return np.asarray((plan.squares_of_some(sums, at_once) - diagonal).T)

        def draw_by(m: int, seed: Seed) -> NullDraws:
            rng = seed.stream(Use.MODEL_SAMPLE, RECOMBINATION_STREAM)
            # The unit that each draw takes of each stratum, (strata, m).
            taken = rng.integers(0, RESAMPLES_PER_STRATUM, (strata, m))
            taken += RESAMPLES_PER_STRATUM * np.arange(strata)[:, None]
            step = m
            if has_certain_rows:  # what exceptions add to all sums of a draw is held
                step = max(1, HELD_NUMBERS // sum(one.size for one in units.totals))
            starts = range(0, m, step)
            parts = [recombined(range(a, min(a + step, m)), taken, seed) for a in starts]
            draws = np.concatenate(parts, axis=1)
            check_overflow(observed, draws)
            drawn = NullDraws(
                statistics=observed,
                draws=draws,
                sizes=term_sizes(units.diagonal[-1], draws, rows.total),
                details={"null": "model"},
            )
            if surprises is not None:
                drawn = _with_outliers(drawn, surprises, rows.n, m, seed)
            return with_own_resampling(drawn, beside, m, seed, engine)

        return draw_twice(draw_by, m, seed, reference)


def _surprises_of_all(rows: TestedRows, engine: Engine) -> FloatArray:
    """Return the largest surprises of a discrete y with an order, of all rows."""
    most = surprise_count(rows.n)
    largest = _largest_surprises(most)

    def task(piece: Piece) -> FloatArray:
        residuals = piece.residuals
        if piece.keep is not None:
            residuals = residuals.take(np.flatnonzero(piece.keep))
        return largest(residuals)

    def merge(pieces: Iterable[FloatArray]) -> FloatArray:
        return np.sort(np.concatenate(list(pieces)))[::-1][:most]

    return reduce_over(rows, engine, task, merge)


def _largest_surprises(most: int) -> Callable[[Residuals], FloatArray]:
    """Return what finds the largest surprises of a discrete y with an order.

    Of each row the least in its step counts. So the statistic of outliers is at most that
    of randomised scores, from whose law it is drawn: conservative, where steps are large.
    """

    def largest(residuals: Residuals) -> FloatArray:
        assert isinstance(residuals, SteppedResiduals)
        return np.sort(residuals.least_surprises)[::-1][:most]

    return largest


def _with_outliers(
    drawn: NullDraws, largest: FloatArray, size: int, m: int, seed: Seed
) -> NullDraws:
    """Add the statistic of outliers: from the largest surprises of `size` normal scores."""
    tops = draw_top_surprises(size, m, seed.stream(Use.MODEL_SAMPLE, OUTLIERS_STREAM))
    observed = float(excess(largest[None], size)[0])
    return drawn.plus(OUTLIERS, observed, excess(tops, size))


def _rare_event_resampler(plan: Plan, piece: Piece) -> RareEventResampler:
    """Return what resamples the discrete y of a piece, as test functions of the plan."""
    assert isinstance(piece.residuals, CellResiduals)
    resampler = piece.residuals.rare_event_resampler(plan.test_functions, piece.keep)
    assert resampler is not None
    return resampler


class _ExceptionalSums(NamedTuple):
    """What exceptions of nearly certain rows add to each of m draws."""

    sums: list[FloatArray]  #: To Fᵀξ of each panel, (m, R_p, q_p).
    diagonal: FloatArray  #: To the diagonal of each statistic, (m, K).


def _exceptional_sums(
    plan: Plan,
    rows: TestedRows,
    certain: float,
    draws: range,
    seed: Seed,
    engine: Engine,
) -> _ExceptionalSums | None:
    """Return what exceptions of nearly certain rows add to some draws; None: nothing.

    Strata have each of these rows at its most probable cell. Where a draw has an exception,
    F⊗(ξ of the other cell − ξ of the most probable one) is added.
    """
    shapes = [(cut.x_width, cut.y_width) for cut in plan.cuts]
    step = max(1, HELD_NUMBERS // max(math.prod(shape) for shape in shapes))

    def task(piece: Piece) -> _ExceptionalSums | None:
        resampler = _rare_event_resampler(plan, piece)
        exceptions = resampler.exceptions(piece.start, certain, draws, seed)
        if not len(exceptions.rows):
            return None
        sums = [np.zeros((len(draws), *shape)) for shape in shapes]
        diagonal = np.zeros((len(draws), len(plan.statistics)))
        for start in range(0, len(exceptions.rows), step):
            some = exceptions.take(slice(start, start + step))
            # Exceptions are sorted by draw, so that those of one draw are one run.
            draw, first = np.unique(some.draws, return_index=True)
            features = plan.weighted_features(piece.take(some.rows, piece.start))
            exceptional = resampler.exceptional(some)
            usual = resampler.usual(some.rows)
            for target, cut in zip(sums, plan.cuts, strict=True):
                change = (exceptional - usual)[:, None, cut.y]
                terms = features[:, cut.x, None] * change
                target[draw] += np.add.reduceat(terms, first, axis=0)
            squares = plan.value_squares(exceptional) - plan.value_squares(usual)
            products = plan.feature_squares(features)[:, :, None] * squares[:, None, :]
            diagonal[draw] += np.add.reduceat(plan.by_panel(products), first, axis=0)
        return _ExceptionalSums(sums=sums, diagonal=diagonal)

    def merge(parts: Iterable[_ExceptionalSums | None]) -> _ExceptionalSums | None:
        whole: _ExceptionalSums | None = None
        for part in parts:
            if whole is None:
                whole = part
            elif part is not None:
                whole = _ExceptionalSums(
                    sums=sum_arrays([whole.sums, part.sums]),
                    diagonal=whole.diagonal + part.diagonal,
                )
        return whole

    return reduce_over(rows, engine, task, merge)
