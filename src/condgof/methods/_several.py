"""Several models on one sample: by the proper scores that all offer, or by their Stein discrepancies.

D_a is the KCSD of model a, a U-statistic of H^a, in coordinates of y that all models share.
For a pair, M = H^a − H^b, and with the row means g_i = (1/(n−1)) Σ_{j≠i} M_ij the variance
of D_a − D_b is

    4·Var(g)/n,   but at least   2·Σ_{i≠j} M_ij² / (n(n−1))²,

what it would be if g vanished. Of many rows, with features F of x, the Stein operator of
each model on the same functions of y, ξ^a, and S^a = Fᵀξ^a, row sums are (F_i S^a)·ξ^a_i −
‖F_i‖²‖ξ^a_i‖².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias, TypeVar

import numpy as np

from condgof import errors
from condgof._typing import FloatArray, IntArray, TableLike
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import UnsupportedModelError, check_choice, check_overflow
from condgof.kernels import CovariateKernel, Radial, ResponseKernel
from condgof.laws._as_model import as_model, law_of
from condgof.laws._discrete import Probabilities
from condgof.laws._known import Intervals, Quantiles, from_intervals, from_quantiles
from condgof.laws._law import Law, ModelLike
from condgof.laws._line import Line
from condgof.laws._scores import MEASURES, offered, score
from condgof.methods import _scored as scoring
from condgof.methods._lowrank import plan_of
from condgof.methods._options import Options, elsewhere, open_source
from condgof.methods._scored import TOGETHER, Scored
from condgof.null._dependence import Dependence, dependence_of
from condgof.null._paired import Difference, differences
from condgof.sample import Sample, Seed, Use, XUnits
from condgof.stein._matrix import matmul
from condgof.stein._sum import Piece, Plan, added, reduce_over

#: Correlations of y above this are not taken out: what is left would be rounding.
SINGULAR = 1e-10
#: Rows that sizes and skewness of H and M come from; the least block that "auto" chooses
#: here.
SQUARE_ROWS, SHORTEST = 1024, 2
#: Two matrices nearer to each other than this, relative to their size, are one and the
#: same, if their row means (whose rounding is larger) are, too.
SAME, SAME_SUMS = 1e-12, 1e-10
#: The discrepancy of models that have no proper score.
STEIN = "stein"
#: Mean row means (K,); of the centred ones, products (K, K), and Σg² of their difference in
#: each pair.
Moments: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
#: b and L of a map u → L⁻¹(u − b), (d_y,) and (d_y, d_y).
Affine: TypeAlias = tuple[FloatArray, FloatArray]
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


def read_models(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    missing: str,
    solver: str = "auto",
) -> tuple[list[ModelLike], Any]:
    """Make models of what a user has; also return the source of the rows, None if they are in memory."""
    given, source = list(models.values()), None
    if elsewhere(x, y):
        given, source = open_source(given, x, y, missing, solver)
    ready = for_each(tuple(models), given, as_model)
    return ready, None if source is None else scoring.with_columns(ready, source)


def read_laws_in_memory(
    models: list[ModelLike], names: tuple[str, ...], x: TableLike, y: Any, missing: str
) -> tuple[list[Law], Sample]:
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    laws = for_each(names, models, lambda model: law_of(model, sample))
    return laws, sample.ready(discrete=any(law.discrete for law in laws))


def common_ground(
    laws: Sequence[Law], names: Sequence[str], sample: Sample
) -> tuple[FloatArray, list[FloatArray], dict[str, Any]]:
    """Score a sample with several laws of a continuous y, on one line for all of them.

    It is that of the intersection of their supports, on which every model has the scores
    that it has. Return where y lies on it and ∇_u log p(u|x) of each law, (n, d_y), and
    what `Scored` says of them.
    """
    shape = sample.n, sample.d_y
    whole = Line(np.full(shape, -np.inf), np.full(shape, np.inf))
    lines = for_each(names, laws, lambda law: scoring.line_of(law, sample) or whole)
    low, high = (
        np.max([own.low for own in lines], axis=0),
        np.min([own.high for own in lines], axis=0),
    )
    u, line = sample.y, Line.of((low, high), *shape)
    scores = for_each(names, laws, lambda law: scoring.raw_scores(law, sample)[0])
    notes = [
        f"{name}: {note}"
        for name, law in zip(names, laws, strict=True)
        for note in law.notes
    ]
    if line is not None:
        u = scoring.checked(line.forward(u), sample)
        scores = for_each(
            names, scores, lambda s: scoring.checked(line.scores(sample.y, s), sample)
        )
    if not all(
        np.array_equal(own.low, low) and np.array_equal(own.high, high) for own in lines
    ):
        notes.append(
            "the models' supports differ: they were compared where all have a density"
        )
    words = None if line is None else line.words()
    return u, scores, {"reparametrized": words, "model_notes": tuple(notes)}


def prepare_joint(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    options: Options,
    seed: Seed,
) -> Scored:
    """Check and score a sample under K models: its scores are those of all, side by side."""
    names, drawn = tuple(models), None
    ready, source = read_models(models, x, y, options.missing, options.solver)
    if source is None:
        rows, (laws, sample) = (
            None,
            read_laws_in_memory(ready, names, x, y, options.missing),
        )
        if (
            options.chosen(sample.n) == "lowrank"
        ):  # units come from the rows that a stream would draw
            drawn = scoring.sampled_rows(sample.n, seed)
    else:
        rows, block = scoring.read_some(source, seed, options.engine)
        sample = source.sample(block).ready()
    with scoring.rows_named(rows):
        if rows is not None:
            laws = [scoring.law_of_rows(model, block, sample, rows) for model in ready]
        u, raw, said = common_ground(laws, names, sample)
    some = slice(None) if drawn is None else drawn
    affine, units = affine_of(u[some]), XUnits.of(sample.x[some], sample.x_columns, "std")
    said |= {"sample": sample, "x": units.apply(sample.x), "units": units, "by": TOGETHER}
    seen, scores = in_units(affine, u, raw)
    scored = Scored(y=seen, scores=scores, **said)
    if drawn is not None:
        return replace(scored, some=scored.take(drawn))
    if source is None or sample.n == source.n:
        return scored
    see = partial(_see_together, units, names, affine)
    streamed = scoring.StreamedRows(source, tuple(ready), see)
    return replace(scored, some=scored, source=streamed)


def affine_of(u: FloatArray) -> Affine:
    """Return b and L of the map u → L⁻¹(u − b), one for all models, from a sample (n, d_y)."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift, spread = u.mean(axis=0), u.std(axis=0, ddof=1)
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        raise errors.NumericalError(
            "The standard deviation of y overflows or is 0. Rescale y."
        )
    scaled: FloatArray = (u - shift) / spread
    correlation = scaled.T @ scaled / (len(u) - 1)
    if np.linalg.eigvalsh(correlation)[0] <= SINGULAR:
        return shift, np.diag(spread)
    return shift, spread[:, None] * np.linalg.cholesky(correlation)


def in_units(
    affine: Affine, u: FloatArray, scores: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return L⁻¹(u − b), (n, d_y), and the scores Lᵀs of all models, side by side."""
    shift, factor = affine
    values = np.linalg.solve(factor, (u - shift).T).T
    return np.ascontiguousarray(values), np.concatenate(
        [s @ factor for s in scores], axis=1
    )


def _see_together(
    units: XUnits,
    names: tuple[str, ...],
    affine: Affine,
    sample: Sample,
    laws: Sequence[Law],
) -> scoring.Seen:
    u, raw, _ = common_ground(laws, names, sample)
    return units.apply(sample.x), *in_units(affine, u, raw), None


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What a measure says of K models."""

    #: D of each model, (K,), D_a − D_b for a < b, and the estimated covariance of all D,
    #: (K, K).
    means: FloatArray
    pairs: dict[tuple[int, int], Difference]
    covariance: FloatArray
    #: In how many rows each is infinite: what was observed had probability 0, or an
    #: interval no end.
    infinite: tuple[int, ...]
    details: dict[str, Any] = field(default_factory=dict)


def contrast(
    joint: Scored,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> Contrasts:
    """Compute the Stein discrepancies of all models and the differences of all pairs."""
    assert isinstance(kernel_y, Radial)
    details: dict[str, Any] = {"solver": "exact"}
    if joint.source is None and options.chosen(joint.n) == "exact":
        moments = _exact(joint, kernel_x, kernel_y, options)
    else:
        plan, told = plan_of(joint, kernel_x, kernel_y, options, seed)
        details, moments = (
            {**told, "solver": "lowrank"},
            _lowrank(plan, joint, options.engine),
        )
    means, products, totals = moments
    squares, of_pairs = _sizes(joint, kernel_x, kernel_y, seed)
    n, pairs = joint.n, dict[tuple[int, int], Difference]()
    both = zip(combinations(range(len(means)), 2), totals.tolist(), of_pairs, strict=True)
    for (a, b), total, (apart, cube, cross) in both:
        value, size = float(means[a] - means[b]), squares[a] + squares[b]
        # Both: models may differ in a few rows that are not among those that `apart` comes
        # from.
        if apart <= SAME**2 * size and total <= n * SAME_SUMS**2 * size:
            pairs[a, b] = Difference(0.0, 0.0)
            continue
        error = (max(4.0 * total, 2.0 * apart) / (n * (n - 1.0))) ** 0.5
        pairs[a, b] = Difference(value, error, cube / n**0.5, cross / n**0.5)
    covariance = 4.0 * products / (n * (n - 1.0))
    return Contrasts(means, pairs, covariance, (0,) * len(means), details)


def _products(g: FloatArray) -> list[FloatArray]:
    """Return products of centred row means g (K, b), (K, K), and Σ(g^a − g^b)² of all pairs, (P,)."""
    first, second = np.triu_indices(len(g), 1)
    return [g @ g.T, np.square(g[first] - g[second]).sum(axis=1)]


def _exact(
    joint: Scored, kernel_x: CovariateKernel, kernel_y: Radial, options: Options
) -> Moments:
    n, how = joint.n, {"engine": options.engine, "memory": options.memory}
    matrices = [one.operator(kernel_x, kernel_y) for one in joint.by_model()]
    g = np.stack([matmul(h, np.ones((n, 1)), **how)[:, 0] for h in matrices]) / (n - 1)
    means = g.mean(axis=1)
    return means, *_products(g - means[:, None])


def seen(
    plan: Plan, piece: Piece, count: int
) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """Return F (b, R) of a piece, and for each of `count` models ξ (b, q) and ‖ξ‖² (b, 1)."""
    each = [
        plan.evidence.of(piece.y, s)
        for s in np.split(np.asarray(piece.scores), count, axis=1)
    ]
    return (
        plan.features.of(piece.x),
        each,
        [np.square(xi).sum(axis=1, keepdims=True) for xi in each],
    )


def _lowrank(plan: Plan, joint: Scored, engine: Engine) -> Moments:
    n, count, rows = float(joint.n), joint.scores.shape[1] // joint.y.shape[1], joint.rows()

    def add(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        sizes = np.square(f)
        return [
            np.stack([f.T @ xi for xi in each]),
            np.concatenate([s.T @ sizes for s in squares]),
        ]

    # Σ_i F_i⊗ξ_i (K, R, q) and Σ_i F_i²‖ξ_i‖² (K, R) of each model.
    sums, own = reduce_over(rows, engine, add, added)
    check_overflow(sums, own)
    means = (np.square(sums).sum(axis=(1, 2)) - own.sum(axis=1)) / (n * (n - 1.0))

    def task(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        norms = np.square(f).sum(axis=1) * np.concatenate(squares, axis=1).T
        whole = np.stack(
            [((f @ s) * xi).sum(axis=1) for s, xi in zip(sums, each, strict=True)]
        )
        return _products((whole - norms) / (n - 1.0) - means[:, None])

    products, totals = reduce_over(rows, engine, task, added)
    check_overflow(products, totals)
    return means, products, totals


def _sizes(
    joint: Scored, kernel_x: CovariateKernel, kernel_y: Radial, seed: Seed
) -> tuple[FloatArray, list[tuple[float, float, float]]]:
    """Return, of some rows, the mean of (H^a)² (K,); of each pair that of M², E g³/σ³ and E g g'φ/σ³."""
    some, whole, of_pairs = joint.subsample, slice(None), []
    if some.n > SQUARE_ROWS:
        few = seed.stream(Use.LANDMARKS, 3).choice(some.n, SQUARE_ROWS, replace=False)
        some = some.take(np.sort(few))
    share = 1.0 / (some.n * (some.n - 1.0))
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        each = [
            one.operator(kernel_x, kernel_y).block(whole, whole) for one in some.by_model()
        ]
        for h in each:
            np.fill_diagonal(h, 0.0)
        for p, q in combinations(each, 2):
            m = (
                p - q
            )  # not from products of sums: near models differ by less than those round off
            g = m.sum(axis=1) / (some.n - 1.0)
            value, g = g.mean(), g - g.mean()
            total, cubes, apart = g @ g, (g**3).sum(), share * np.vdot(m, m)
            cross = share * (g @ m @ g + 2.0 * cubes + value * total)
            unit = (max(total, 0.5 * apart) / (some.n - 1.0)) ** 1.5 or 1.0
            of_pairs.append(
                (float(apart), float(cubes / some.n / unit), float(cross / unit))
            )
        squares = share * np.array([np.vdot(h, h) for h in each])
    check_overflow(squares, np.array(of_pairs))
    return squares, of_pairs


@dataclass(frozen=True, eq=False)
class Measured:
    """What the measures that K models share say of n rows."""

    n: int
    details: Mapping[str, Any]
    studies: Mapping[str, Contrasts]  #: By the key of the measure.
    #: Scores likewise, (K, n) each, in the orientation of the field; none for Stein
    #: discrepancies.
    tables: Mapping[str, FloatArray] = field(default_factory=dict)
    sample: Sample | None = None
    dependence: Dependence = field(default_factory=Dependence)

    def differences(self, key: str, a: int = 0, b: int = 1) -> FloatArray:
        return differences(self.tables[key][a], self.tables[key][b])

    @property
    def units(self) -> IntArray:
        """The group or block of each row, (n,)."""
        return np.asarray(
            self.dependence.parcels(self.n, self.n)(0, self.n), dtype=np.int64
        )

    def study(self, key: str) -> Contrasts:
        """Compare all pairs of models by a score."""
        table = self.tables[key]
        pairs = {
            (a, b): Difference.of(self.differences(key, a, b), self.dependence)
            for a, b in combinations(range(len(table)), 2)
        }
        finite = np.where(np.isfinite(table), table, 0.0)
        centred = finite - finite.mean(axis=1, keepdims=True)
        if not self.dependence.independent:
            centred = np.stack([np.bincount(self.units, column) for column in centred])
        infinite = tuple(int(np.isinf(own).sum()) for own in table)
        return Contrasts(
            table.mean(axis=1), pairs, centred @ centred.T / self.n**2, infinite
        )

    def apart(self) -> FloatArray:
        """Return all differences from the first model, (n, ·), infinite ones as 0."""
        pairs = (
            (key, b) for key, table in self.tables.items() for b in range(1, len(table))
        )
        each = [self.differences(key, 0, b) for key, b in pairs]
        return np.stack([np.nan_to_num(d, posinf=0.0, neginf=0.0) for d in each], axis=1)


def measured(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    measure: str,
    kernels: object,
    options: Options,
    seed: Seed,
) -> Measured:
    """Score all rows of a sample, or of a source in one pass, or compare Stein discrepancies."""
    check_choice(measure, "measure", ("auto", *MEASURES, STEIN))
    names, (ready, source) = tuple(models), read_models(models, x, y, options.missing)
    pieces: Iterable[Any]
    if source is not None:
        whole, n, pieces = None, source.n, scoring.read_laws(source, ready, 0, source.n)
    else:
        laws, whole = read_laws_in_memory(ready, names, x, y, options.missing)
        pieces, n = [(whole, laws, None)], whole.n
    parts: dict[str, list[FloatArray]] = {}
    observed, notes = "rows", list[str]()
    for sample, laws, _ in pieces:
        laws = alike([law.facing(sample.y_given) for law in laws])
        if not parts:
            keys, first = shared(names, laws, sample.d_y, measure), laws[0]
            if not keys:
                return _by_stein(models, x, y, kernels, options, seed)
            discrete = "counts" if first.discrete else "rows"
            observed = "classes" if isinstance(first, Probabilities) else discrete
        for key in keys:
            scores = for_each(names, laws, partial(score, y=sample.y_given, measure=key))
            parts.setdefault(key, []).append(np.stack(scores))
        notes += [
            f"{name}: {note}"
            for name, law in zip(names, laws, strict=True)
            for note in law.notes
        ]
    tables = {key: np.concatenate(each, axis=1) for key, each in parts.items()}
    found = Measured(n, {}, {}, tables, whole)
    said = options.dependence, options.groups, n, x if source is None else source
    rows = dependence_of(*said, 0, whole, lambda size: [found.apart()], least=SHORTEST)
    told = (*dict.fromkeys(notes), *(() if whole is None else whole.notes()), *rows.notes)
    details = {"observed": observed, "notes": told, **rows.details()}
    found = replace(found, details=details, dependence=rows)
    return replace(found, studies={key: found.study(key) for key in tables})


def _by_stein(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    kernels: Any,
    options: Options,
    seed: Seed,
) -> Measured:
    if options.groups is not None or options.dependence is not None:
        raise errors.InputError(
            "groups= and dependence= go with proper scores, and these models have none in"
            " common: their Stein discrepancies take rows as independent. Leave them out,"
            " or give normalised models."
        )
    joint = prepare_joint(models, x, y, options, seed)
    on_x, on_y = joint.subsample.kernels(kernels[0], kernels[1], seed)
    stein = contrast(joint, on_x, on_y, options, seed)
    notes = (*joint.notes(), *stein.details.get("notes", ()))
    shown = {"kernel_x": str(on_x.shown(joint.sample.d_x)), "kernel_y": str(on_y)}
    details = {**joint.details(), **stein.details, **shown, "notes": notes}
    return Measured(joint.n, details, {STEIN: stein})


def alike(laws: Sequence[Law]) -> list[Law]:
    """Ask whole laws for the quantiles, or the central intervals, that are all that others are."""
    one = next((law for law in laws if isinstance(law, (Quantiles, Intervals))), None)

    def seen(law: Law) -> Law:
        if one is None or law.discrete or not law.can("cdf"):
            return law
        if isinstance(one, Quantiles):
            return from_quantiles(law.quantile(one.levels), one.levels)
        low, high = (law.quantile(0.5 + side * one.coverage / 2.0) for side in (-1.0, 1.0))
        return from_intervals(low, high, one.coverage)

    return [seen(law) for law in laws]


def shared(
    names: Sequence[str], laws: Sequence[Law], d_y: int, measure: str
) -> tuple[str, ...]:
    """Return the measures that all laws offer and are to be computed; none for Stein discrepancies."""
    each = [set(offered(law, d_y)) for law in laws]
    common = set.intersection(*each)
    kinds = {law.discrete for law in laws} if "log" in common else set()
    levels = {tuple(law.levels) for law in laws if isinstance(law, Quantiles)}
    coverages = {tuple(law.coverage) for law in laws if isinstance(law, Intervals)}
    unlike = (
        ("log", kinds, "a probability of one is no density of the other"),
        ("pinball", levels, "their quantiles are of different levels"),
        ("winkler", coverages, "their intervals are of different coverage"),
    )
    common -= {key for key, several, _ in unlike if len(several) > 1}
    why = ", and ".join(words for _, several, words in unlike if len(several) > 1)
    told = "; ".join(
        f"{name!r} ({law.name}) offers "
        + (", ".join(MEASURES[k].name for k in MEASURES if k in own) or "none")
        for name, law, own in zip(names, laws, each, strict=True)
    )
    told += f"; {why}" if why else ""
    continuous = not any(law.discrete for law in laws) and all(
        law.can("score") for law in laws
    )
    if measure == STEIN and not continuous:
        raise UnsupportedModelError(
            f"The Stein discrepancy needs scores ∇_y log p(y|x) of all models: {told}."
            " Leave measure= out."
        )
    if measure == STEIN or (
        measure == "auto" and not common and continuous and not all(each)
    ):
        return ()
    if not common or measure not in ("auto", *common):
        what = MEASURES[measure].name if measure in MEASURES else "proper score"
        raise UnsupportedModelError(
            f"The models have no {what} in common to be compared by: {told}. Leave measure="
            " out, or give all as densities, CDFs or draws, as quantiles of the same"
            " levels, or as probabilities."
        )
    return tuple(k for k in MEASURES if k in common and measure in ("auto", k))
