"""Several models on one sample, compared by proper scores or Stein discrepancies.

D_a is the KCSD of model a, a U-statistic of H^a, in coordinates of y that all models share.
For a pair, M = H^a − H^b, and with the row means g_i = (1/(n−1)) Σ_{j≠i} M_ij the variance
of D_a − D_b is

    4·Var(g)/n,   but at least   2·Σ_{i≠j} M_ij² / (n(n−1))²,

what it would be if g vanished. Of many rows, with features F of x, the Stein operator of
each model on the same functions of y, ξ^a, and S^a = Fᵀξ^a, row sums are
(F_i S^a)·ξ^a_i − ‖F_i‖²‖ξ^a_i‖².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from condgof import errors
from condgof._typing import FloatArray, IntArray, TableLike
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_choice, check_overflow
from condgof.kernels import CovariateKernel, Kernel, Radial
from condgof.laws import (
    MEASURES,
    STEIN,
    Law,
    Line,
    ModelLike,
    as_common_statements,
    as_model,
    join,
    law_of,
    observed_name,
    score,
    shared_measures,
    undeclared_support_notes,
)
from condgof.methods._options import Options, comes_from_source, open_source
from condgof.methods._plan import (
    LARGE_SAMPLE_ROWS,
    SEVERAL_MODELS,
    SEVERAL_MODELS_LARGE,
    plan_kernels,
)
from condgof.methods._score_variance import (
    PossibleScores,
    possible_scores,
    rows_to_score,
)
from condgof.null import Dependence, Difference, dependence_of, differences
from condgof.residuals import (
    DependenceValues,
    JointScoreResiduals,
    Stretch,
    check_coordinates,
    line_of,
    raw_scores,
)
from condgof.sample import (
    Sample,
    Seed,
    Use,
    XUnits,
    mean_terms,
    refuse_weights,
    weighted_mean,
)
from condgof.stein import (
    ComparedRows,
    Piece,
    Plan,
    PreparedRows,
    RowsInMemory,
    RowsInStream,
    SteinOperator,
    StreamReader,
    law_of_rows,
    matmul,
    read_laws,
    read_subsample,
    reduce_over,
    row_numbers_in_errors,
    subsample_numbers,
    sum_arrays,
    with_columns,
)

#: Correlations of y whose matrix has a smaller eigenvalue are not taken out: what is left
#: would be rounding.
SINGULAR = 1e-10
#: Rows from which sizes and skewness of H and M come.
SQUARE_ROWS = 1024
#: The stream of random numbers within `Use.LANDMARKS` that draws these rows.
MATRIX_SIZES_STREAM = 3
#: The least block that dependence="auto" chooses where scores are compared.
SHORTEST_BLOCK = 2
#: Two matrices nearer to each other than this, relative to their size, are the same,
SAME_MATRIX = 1e-12
#: if their row means, whose rounding is larger, are within this.
SAME_MEANS = 1e-10

T = TypeVar("T")
U = TypeVar("U")


def for_each(names: Sequence[str], items: Sequence[T], do: Callable[[T], U]) -> list[U]:
    """Do something for each model; an error says which of them it is about."""
    done = []
    for name, item in zip(names, items, strict=True):
        try:
            done.append(do(item))
        except errors.SupportError:
            raise
        except errors.CondgofError as error:
            error.args = (f"Model {name!r}: {error}", *error.args[1:])
            raise
    return done


class ReadModels(NamedTuple):
    """Models, and the source of the rows; None where these are in memory."""

    models: list[ModelLike]
    source: Any


def read_models(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    missing: str,
    solver: str = "auto",
) -> ReadModels:
    """Make models of what a user has, and open the source of the rows if there is one."""
    brought = list(models.values())
    source = None
    if comes_from_source(x, y):
        brought, source = open_source(brought, x, y, missing, solver)
    ready = for_each(tuple(models), brought, as_model)
    if source is not None:
        source = with_columns(ready, source)
    return ReadModels(models=ready, source=source)


class LawsAndSample(NamedTuple):
    """A sample in memory, with the law of each model."""

    laws: list[Law]
    sample: Sample


def read_laws_in_memory(
    models: list[ModelLike],
    names: tuple[str, ...],
    x: TableLike,
    y: Any,
    missing: str,
    weights: TableLike | None = None,
) -> LawsAndSample:
    """Check x and y, and call each model with x."""
    sample = Sample.from_data(x, y, to_test=False, missing=missing, weights=weights)
    sample = sample.ready(discrete=True)
    laws = for_each(names, models, lambda model: law_of(model, sample))
    is_discrete = any(law.discrete for law in laws)
    return LawsAndSample(laws=laws, sample=sample.ready(discrete=is_discrete))


class CommonLine(NamedTuple):
    """y on one line for several models, with the scores of each."""

    u: FloatArray  #: Where y lies on the line, (n, d_y).
    scores: list[FloatArray]  #: ∇_u log p(u|x) of each law, (n, d_y).
    reparametrized: str | None  #: How y was brought there, in words.
    notes: tuple[str, ...]


def on_common_line(laws: Sequence[Law], names: Sequence[str], sample: Sample) -> CommonLine:
    """Bring y to the line of the intersection of the supports of laws of a continuous y.

    On it every model has the scores that it has.
    """
    shape = (sample.n, sample.d_y)
    whole = Line(np.full(shape, -np.inf), np.full(shape, np.inf))
    lines = for_each(names, laws, lambda law: line_of(law, sample) or whole)
    low = np.max([one.low for one in lines], axis=0)
    high = np.min([one.high for one in lines], axis=0)
    line = Line.from_support((low, high), *shape)
    u = sample.y
    scores = for_each(names, laws, lambda law: raw_scores(law, sample).values)
    notes = _law_notes(names, laws)
    if line is not None:
        u = check_coordinates(line.forward(u), sample)
        scores = for_each(
            names, scores, lambda s: check_coordinates(line.scores(sample.y, s), sample)
        )
    same_support = all(
        np.array_equal(one.low, low) and np.array_equal(one.high, high) for one in lines
    )
    if not same_support:
        notes.append(
            "the models' supports differ: they were compared where all have a density"
        )
    return CommonLine(
        u=u,
        scores=scores,
        reparametrized=None if line is None else line.words(),
        notes=tuple(notes),
    )


def _law_notes(names: Sequence[str], laws: Sequence[Law]) -> list[str]:
    """Return the notes of laws, each with the name of its model."""
    notes = []
    for name, law in zip(names, laws, strict=True):
        notes += [f"{name}: {note}" for note in law.notes]
    return notes


class AffineMap(NamedTuple):
    """The map u → L⁻¹(u − b)."""

    shift: FloatArray  #: b, (d_y,).
    factor: FloatArray  #: L, (d_y, d_y).

    @classmethod
    def from_sample(cls, u: FloatArray) -> AffineMap:
        """Standardise a sample (n, d_y): mean 0, covariance I, where it has a root."""
        with np.errstate(over="ignore", invalid="ignore"):
            shift = u.mean(axis=0)
            spread = u.std(axis=0, ddof=1)
        if not (np.isfinite(spread).all() and (spread > 0).all()):
            raise errors.NumericalError(
                "The standard deviation of y overflows or is 0. Rescale y."
            )
        scaled: FloatArray = (u - shift) / spread
        correlation = scaled.T @ scaled / (len(u) - 1)
        if np.linalg.eigvalsh(correlation)[0] <= SINGULAR:
            return cls(shift=shift, factor=np.diag(spread))
        return cls(shift=shift, factor=spread[:, None] * np.linalg.cholesky(correlation))

    def residuals(self, common: CommonLine) -> JointScoreResiduals:
        """Map y, (n, d_y), and the scores Lᵀs of all models, side by side."""
        u = np.linalg.solve(self.factor, (common.u - self.shift).T).T
        return JointScoreResiduals(
            u=np.ascontiguousarray(u),
            scores=np.concatenate([s @ self.factor for s in common.scores], axis=1),
            reparametrized=common.reparametrized,
        )


def prepare_joint(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    options: Options,
    seed: Seed,
) -> PreparedRows:
    """Check a sample and compare it with K models, whose scores are side by side."""
    names = tuple(models)
    ready, source = read_models(models, x, y, options.missing, options.solver)
    if source is None:
        laws, sample = read_laws_in_memory(ready, names, x, y, options.missing)
        common = on_common_line(laws, names, sample)
        landmarks = np.arange(sample.n)
        if options.chosen_solver(sample.n) == "lowrank":
            # Units come from the rows that a stream would draw.
            landmarks = subsample_numbers(sample.n, seed)
    else:
        numbers, block = read_subsample(source, seed, options.engine)
        sample = source.sample(block).ready()
        with row_numbers_in_errors(numbers):
            laws = [law_of_rows(model, block, sample, numbers) for model in ready]
            common = on_common_line(laws, names, sample)
        landmarks = np.arange(sample.n)
    support_notes = [
        f"{name}: {note}"
        for name, law in zip(names, laws, strict=True)
        for note in undeclared_support_notes(law, sample.y)
    ]
    to_unit = AffineMap.from_sample(common.u[landmarks])
    x_units = XUnits.from_rows(sample.x[landmarks], sample.x_columns, "std")
    rows = RowsInMemory(
        sample=sample,
        residuals=to_unit.residuals(common),
        x=x_units.apply(sample.x),
        x_units=x_units,
        law_notes=(*common.notes, *support_notes),
    )
    if len(landmarks) < sample.n:
        return replace(rows, drawn_subsample=rows.take(landmarks))
    if source is None or sample.n == source.n:
        return rows
    compare = partial(_compare_jointly, x_units, names, to_unit)
    reader = StreamReader(source=source, models=tuple(ready), compare=compare)
    return RowsInStream(reader=reader, subsample=rows)


def _compare_jointly(
    x_units: XUnits,
    names: tuple[str, ...],
    to_unit: AffineMap,
    sample: Sample,
    laws: Sequence[Law],
) -> ComparedRows:
    """Compare rows of a stream with the laws of all models."""
    common = on_common_line(laws, names, sample)
    return ComparedRows(x=x_units.apply(sample.x), residuals=to_unit.residuals(common))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """How K models compare by one measure."""

    means: FloatArray  #: D of each model, (K,).
    pairs: dict[tuple[int, int], Difference]  #: D_a − D_b for a < b.
    covariance: FloatArray  #: The estimated covariance of all D, (K, K).
    #: In how many rows each is infinite: the observation had probability 0, or an interval
    #: no end.
    infinite: tuple[int, ...]
    details: dict[str, Any] = field(default_factory=dict)


class RowMeans(NamedTuple):
    """What is known of the row means g^a of H^a, of K models."""

    means: FloatArray  #: Their means D, (K,).
    products: FloatArray  #: Σ_i of products of the centred row means, (K, K).
    pair_squares: FloatArray  #: Σ_i (g^a_i − g^b_i)² of each pair, (P,).


def contrast(
    joint: PreparedRows,
    kernel_x: CovariateKernel,
    kernel_y: Radial,
    options: Options,
    seed: Seed,
) -> Contrasts:
    """Compute the Stein discrepancies of all models and the differences of all pairs."""
    n = joint.n
    details: dict[str, Any] = {"solver": "exact"}
    is_exact = options.chosen_solver(n) == "exact"
    if isinstance(joint, RowsInMemory) and is_exact:
        rows = _exact_row_means(joint, kernel_x, kernel_y, options)
    else:
        is_large = n > LARGE_SAMPLE_ROWS
        planned = plan_kernels(
            joint,
            kernel_x,
            kernel_y,
            options,
            seed,
            limits=SEVERAL_MODELS_LARGE if is_large else SEVERAL_MODELS,
        )
        details = {**planned.details(), "solver": "lowrank"}
        rows = _lowrank_row_means(planned.plan, joint, options.engine)
    sizes = _matrix_sizes(joint.subsample, kernel_x, kernel_y, seed)
    pairs: dict[tuple[int, int], Difference] = {}
    both = combinations(range(len(rows.means)), 2)
    for (a, b), total, pair in zip(
        both, rows.pair_squares.tolist(), sizes.pairs, strict=True
    ):
        size = sizes.squares[a] + sizes.squares[b]
        # Both conditions: models may differ in a few rows that are not among those that the
        # sizes come from.
        same_matrix = pair.square <= SAME_MATRIX**2 * size
        if same_matrix and total <= n * SAME_MEANS**2 * size:
            pairs[a, b] = Difference(0.0, 0.0)
            continue
        variance = max(4.0 * total, 2.0 * pair.square) / (n * (n - 1.0))
        pairs[a, b] = Difference(
            float(rows.means[a] - rows.means[b]),
            variance**0.5,
            pair.skewness / n**0.5,
            pair.cross / n**0.5,
        )
    return Contrasts(
        means=rows.means,
        pairs=pairs,
        covariance=4.0 * rows.products / (n * (n - 1.0)),
        infinite=(0,) * len(rows.means),
        details=details,
    )


def _second_moments(g: FloatArray) -> list[FloatArray]:
    """Return ggᵀ (K, K) of centred row means g (K, b), and Σ(g^a − g^b)² of pairs."""
    first, second = np.triu_indices(len(g), 1)
    return [g @ g.T, np.square(g[first] - g[second]).sum(axis=1)]


def _operators(
    rows: RowsInMemory, kernel_x: CovariateKernel, kernel_y: Radial
) -> list[SteinOperator]:
    """Return the Stein matrix of each model."""
    assert isinstance(rows.residuals, JointScoreResiduals)
    return [
        SteinOperator.from_rows(rows.x, one.u, one.scores, kernel_x, kernel_y)
        for one in rows.residuals.by_model()
    ]


def _exact_row_means(
    joint: RowsInMemory, kernel_x: CovariateKernel, kernel_y: Radial, options: Options
) -> RowMeans:
    n = joint.n
    ones = np.ones((n, 1))
    sums = [
        matmul(h, ones, engine=options.engine, memory=options.memory)[:, 0]
        for h in _operators(joint, kernel_x, kernel_y)
    ]
    g = np.stack(sums) / (n - 1)
    means = g.mean(axis=1)
    products, pair_squares = _second_moments(g - means[:, None])
    return RowMeans(means=means, products=products, pair_squares=pair_squares)


class _ModelValues(NamedTuple):
    """F of a piece, and the test functions of each model."""

    features: FloatArray  #: (b, R).
    values: list[FloatArray]  #: ξ of each model, (b, q).
    squares: list[FloatArray]  #: ‖ξ‖² of each model, (b, 1).


def _model_values(plan: Plan, piece: Piece) -> _ModelValues:
    values = [plan.test_functions.evaluate(one) for one in piece.residuals.by_model()]
    return _ModelValues(
        features=plan.features.evaluate(piece.x),
        values=values,
        squares=[np.square(xi).sum(axis=1, keepdims=True) for xi in values],
    )


def _lowrank_row_means(plan: Plan, joint: PreparedRows, engine: Engine) -> RowMeans:
    """Compute row means in two passes over the rows: sums first, then each row."""
    n = float(joint.n)

    def add(piece: Piece) -> list[FloatArray]:
        f, values, squares = _model_values(plan, piece)
        f_squares = np.square(f)
        return [
            np.stack([f.T @ xi for xi in values]),
            np.concatenate([s.T @ f_squares for s in squares]),
        ]

    # Σ_i F_i⊗ξ_i (K, R, q) and Σ_i F_i²‖ξ_i‖² (K, R) of each model.
    sums, diagonals = reduce_over(joint, engine, add, sum_arrays)
    check_overflow(sums, diagonals)
    off_diagonal = np.square(sums).sum(axis=(1, 2)) - diagonals.sum(axis=1)
    means = off_diagonal / (n * (n - 1.0))

    def task(piece: Piece) -> list[FloatArray]:
        f, values, squares = _model_values(plan, piece)
        diagonal = np.square(f).sum(axis=1) * np.concatenate(squares, axis=1).T
        whole = np.stack(
            [((f @ s) * xi).sum(axis=1) for s, xi in zip(sums, values, strict=True)]
        )
        return _second_moments((whole - diagonal) / (n - 1.0) - means[:, None])

    products, pair_squares = reduce_over(joint, engine, task, sum_arrays)
    check_overflow(products, pair_squares)
    return RowMeans(means=means, products=products, pair_squares=pair_squares)


class PairSize(NamedTuple):
    """Of M = H^a − H^b of a pair of models, off the diagonal, with row means g."""

    square: float  #: The mean of M².
    skewness: float  #: E[g³]/σ³.
    cross: float  #: E[g g' M]/σ³, with M centred.


class MatrixSizes(NamedTuple):
    """Sizes of Stein matrices, from some rows."""

    squares: FloatArray  #: The mean of (H^a)² off the diagonal, (K,).
    pairs: list[PairSize]


def _matrix_sizes(
    some: RowsInMemory, kernel_x: CovariateKernel, kernel_y: Radial, seed: Seed
) -> MatrixSizes:
    if some.n > SQUARE_ROWS:
        rng = seed.stream(Use.LANDMARKS, MATRIX_SIZES_STREAM)
        some = some.take(np.sort(rng.choice(some.n, SQUARE_ROWS, replace=False)))
    n = some.n
    share = 1.0 / (n * (n - 1.0))
    whole = slice(None)
    pairs = []
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        matrices = [h.block(whole, whole) for h in _operators(some, kernel_x, kernel_y)]
        for h in matrices:
            np.fill_diagonal(h, 0.0)
        for p, q in combinations(matrices, 2):
            # Not from products of sums: near models differ by less than those round off.
            m = p - q
            g = m.sum(axis=1) / (n - 1.0)
            value = g.mean()
            g = g - value
            total = g @ g
            cubes = (g**3).sum()
            square = share * np.vdot(m, m)
            cross = share * (g @ m @ g + 2.0 * cubes + value * total)
            unit = (max(total, 0.5 * square) / (n - 1.0)) ** 1.5 or 1.0
            pairs.append(
                PairSize(
                    square=float(square),
                    skewness=float(cubes / n / unit),
                    cross=float(cross / unit),
                )
            )
        squares = share * np.array([np.vdot(h, h) for h in matrices])
    check_overflow(squares, np.array(pairs))
    return MatrixSizes(squares=squares, pairs=pairs)


@dataclass(frozen=True, eq=False)
class Measured:
    """How K models compare on n rows, by the measures that they share."""

    n: int
    details: Mapping[str, Any]
    studies: Mapping[str, Contrasts]  #: By the key of the measure.
    #: Scores of each row likewise, (K, n) each, in the orientation of the field; none for
    #: Stein discrepancies.
    tables: Mapping[str, FloatArray] = field(default_factory=dict)
    sample: Sample | None = None
    dependence: Dependence = field(default_factory=Dependence)
    #: Scores of what else could have been observed, by the key of the measure.
    possible: Mapping[str, PossibleScores] = field(default_factory=dict)

    def differences(self, key: str, a: int = 0, b: int = 1) -> FloatArray:
        """Return the differences of two models in each row by a measure, (n,)."""
        return differences(self.tables[key][a], self.tables[key][b])

    @property
    def weights(self) -> FloatArray | None:
        """Weights of the rows, (n,); None where all are equal."""
        return None if self.sample is None else self.sample.weights

    @property
    def units(self) -> IntArray:
        """The group or block of each row, (n,)."""
        parcel_of = self.dependence.parcels(self.n, self.n)
        return np.asarray(parcel_of(0, self.n), dtype=np.int64)

    def study(self, key: str) -> Contrasts:
        """Compare all pairs of models by a score."""
        table = self.tables[key]
        pairs = {}
        floored = False
        for a, b in combinations(range(len(table)), 2):
            d = self.differences(key, a, b)
            floor = self._variance_floor(key, a, b, d)
            terms = mean_terms(d, self.weights) if np.isfinite(d).all() else d
            pairs[a, b] = Difference.from_rows(terms, self.dependence, floor)
            floored |= 0.0 < floor == pairs[a, b].error ** 2
        finite = np.where(np.isfinite(table), table, 0.0)
        finite = np.stack([mean_terms(row, self.weights) for row in finite])
        centred = finite - finite.mean(axis=1, keepdims=True)
        if not self.dependence.independent:
            centred = np.stack([np.bincount(self.units, column) for column in centred])
        covariance = centred @ centred.T / self.n**2
        if floored:
            # Scores that hardly vary in the sample do not tell how they vary together.
            covariance = self.possible[key].covariance() / self.n
        return Contrasts(
            means=self._means(table),
            pairs=pairs,
            covariance=covariance,
            infinite=tuple(int(np.isinf(row).sum()) for row in table),
        )

    def _means(self, table: FloatArray) -> FloatArray:
        """Return the mean score of each model, (K,), of scores (K, n)."""
        if self.weights is None:
            return np.asarray(table.mean(axis=1))
        return np.array([weighted_mean(row, self.weights) for row in table])

    def _variance_floor(self, key: str, a: int, b: int, d: FloatArray) -> float:
        """Return the least squared error of the mean of d (n,) that the models allow."""
        null = self.possible[key].null_of(a, b) if key in self.possible else None
        if null is None or not np.isfinite(d).all():
            return 0.0
        effective = self.n if self.sample is None else self.sample.effective_rows
        return null.variance_floor(effective)

    def all_differences(self) -> FloatArray:
        """Return all differences from the first model, (n, ·), infinite ones as 0."""
        columns = []
        for key, table in self.tables.items():
            for b in range(1, len(table)):
                difference = self.differences(key, 0, b)
                columns.append(np.nan_to_num(difference, posinf=0.0, neginf=0.0))
        return np.stack(columns, axis=1)


def measured(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    measure: str,
    kernels: tuple[Kernel, Kernel],
    options: Options,
    seed: Seed,
    weights: TableLike | None = None,
) -> Measured:
    """Score all rows of a sample, or of a source in one pass, or compare discrepancies.

    Mean scores are weighted where rows have weights (n,).
    """
    check_choice(measure, "measure", ("auto", *MEASURES, STEIN))
    names = tuple(models)
    ready, source = read_models(models, x, y, options.missing)
    pieces: Iterable[LawsAndSample]
    whole: Sample | None = None
    if source is not None:
        refuse_weights(weights, "A comparison on a source", "Pass the rows as a frame.")
        n = source.n
        read = read_laws(source, ready, 0, n)
        pieces = (LawsAndSample(laws=part.laws, sample=part.sample) for part in read)
    else:
        in_memory = read_laws_in_memory(ready, names, x, y, options.missing, weights)
        whole = in_memory.sample
        n = whole.n
        pieces = [in_memory]
    parts: dict[str, list[FloatArray]] = {}
    observed = "rows"
    notes: list[str] = []
    spread_rows = np.empty(0, dtype=np.int64)
    spread_parts: list[list[tuple[IntArray, Law]]] = [[] for _ in names]
    start = 0
    for laws, sample in pieces:
        facing = as_common_statements([law.facing(sample.y_given) for law in laws])
        if not parts:
            keys = shared_measures(names, facing, sample.d_y, measure)
            if not keys:
                refuse_weights(
                    weights,
                    "The comparison of Stein discrepancies",
                    "These models have no proper score in common: give normalised models.",
                )
                return _by_stein(models, x, y, kernels, options, seed)
            observed = observed_name(facing[0])
            spread_rows = rows_to_score(facing, n)
        for key in keys:
            scores = for_each(names, facing, partial(score, y=sample.y_given, measure=key))
            parts.setdefault(key, []).append(np.stack(scores))
        stop = start + sample.n
        here = np.flatnonzero((spread_rows >= start) & (spread_rows < stop))
        if len(here):
            for law, part in zip(facing, spread_parts, strict=True):
                part.append((here, law.take(spread_rows[here] - start)))
        start = stop
        notes += _law_notes(names, facing)
    possible: dict[str, PossibleScores] = {}
    if len(spread_rows):
        spread_laws = [
            part[0][1] if len(part) == 1 else join(part) for part in spread_parts
        ]
        possible = possible_scores(spread_laws, tuple(parts))
    scored = Measured(
        n=n,
        details={},
        studies={},
        tables={key: np.concatenate(each, axis=1) for key, each in parts.items()},
        sample=whole,
        possible=possible,
    )
    dependence = dependence_of(
        options.dependence,
        options.groups,
        n,
        x if source is None else source,
        0,
        whole,
        lambda size: [Stretch(DependenceValues(scored.all_differences()))],
        least=SHORTEST_BLOCK,
    )
    sample_notes = () if whole is None else whole.notes()
    all_notes = (*dict.fromkeys(notes), *sample_notes, *dependence.notes)
    details = {"observed": observed, "notes": all_notes, **dependence.details()}
    if scored.weights is not None and whole is not None:
        details["effective_rows"] = whole.effective_rows
    scored = replace(scored, details=details, dependence=dependence)
    return replace(scored, studies={key: scored.study(key) for key in scored.tables})


def _by_stein(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    kernels: tuple[Kernel, Kernel],
    options: Options,
    seed: Seed,
) -> Measured:
    """Compare models by their Stein discrepancies."""
    if options.groups is not None or options.dependence is not None:
        raise errors.InputError(
            f"{errors.option('groups')} and {errors.option('dependence')} go with proper"
            " scores, and these models have none in common: their Stein discrepancies take"
            " rows as independent. Leave them out, or give normalised models."
        )
    joint = prepare_joint(models, x, y, options, seed)
    some = joint.subsample
    ready = some.kernels(kernels[0], kernels[1], seed)
    assert isinstance(ready.on_y, Radial)
    stein = contrast(joint, ready.on_x, ready.on_y, options, seed)
    details = {
        **some.details(),
        **stein.details,
        "kernel_x": str(ready.on_x.shown(some.d_x)),
        "kernel_y": str(ready.on_y),
        "notes": (*some.notes(), *stein.details.get("notes", ())),
    }
    return Measured(n=joint.n, details=details, studies={STEIN: stein})
