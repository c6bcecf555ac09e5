"""Several models on one sample: by the proper scores that all offer, or by their Stein discrepancies.

D_a is the KCSD of model a, a U-statistic of H^a, in coordinates of y that all models share. For a pair,
M = H^a − H^b, and with the row means g_i = (1/(n−1)) Σ_{j≠i} M_ij the variance of D_a − D_b is

    4·Var(g)/n,   but at least   2·Σ_{i≠j} M_ij² / (n(n−1))²,

what it would be if g vanished. Of many rows, with features F of x, the Stein operator of each model on
the same functions of y, ξ^a, and S^a = Fᵀξ^a, row sums are (F_i S^a)·ξ^a_i − ‖F_i‖²‖ξ^a_i‖².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from condgof import errors
from condgof._typing import FloatArray
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
from condgof.methods import _sources as sources
from condgof.methods._lowrank import plan_of
from condgof.methods._options import Options
from condgof.methods._scored import TOGETHER, Scored
from condgof.null._dependence import Asked, Dependence, dependence_of
from condgof.null._paired import Difference, differences
from condgof.sample import Sample, Seed, Use, XUnits
from condgof.stein._matrix import matmul, sweep
from condgof.stein._sum import Piece, Plan, added, reduce_over

#: Correlations of y above this are not taken out: what is left would be rounding.
SINGULAR = 1e-10
#: Rows that the sizes of H and M come from; the least block that "auto" chooses for differences.
SQUARE_ROWS, SHORTEST = 1024, 2
#: Two matrices nearer to each other than this, relative to their size, are one and the same, if their
#: row means (whose rounding is larger) are, too.
SAME, SAME_SUMS = 1e-12, 1e-10
#: The discrepancy of models that have no proper score.
STEIN = "stein"
#: Mean row means (K,); of the centred ones, products (K, K); of their difference g in each pair, Σg² and
#: Σg³ (2, P), and Σ_{i≠j} g_i g_j M_ij (P,).
Moments: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
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
    models: Mapping[str, Any], x: Any, y: Any, missing: str, solver: str = "auto"
) -> tuple[list[ModelLike], Any]:
    """Make models of what a user has; also return the source of the rows, None if they are in memory."""
    given, source = list(models.values()), None
    if sources.elsewhere(x, y):
        given, source = sources.open_source(given, x, y, missing, solver)
    ready = for_each(tuple(models), given, as_model)
    return ready, None if source is None else sources.with_columns(ready, source)


def read_laws_in_memory(
    models: list[ModelLike], names: tuple[str, ...], x: Any, y: Any, missing: str
) -> tuple[list[Law], Sample]:
    sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
    laws = for_each(names, models, lambda model: law_of(model, sample))
    return laws, sample.ready(discrete=any(law.discrete for law in laws))


def common_ground(
    laws: Sequence[Law], names: Sequence[str], sample: Sample
) -> tuple[FloatArray, list[FloatArray], dict[str, Any]]:
    """Score a sample with several laws of a continuous y, on one line for all of them.

    It is that of the intersection of their supports, on which every model has the scores that it has.
    Return where y lies on it and ∇_u log p(u|x) of each law, (n, d_y), and what `Scored` says of them.
    """
    n, d_y = sample.n, sample.d_y
    low, high, differ = np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf), False
    whole = Line(low, high)
    lines = for_each(names, laws, lambda law: scoring.line_of(law, sample) or whole)
    for number, own in enumerate(lines):
        differ |= number > 0 and not (np.array_equal(own.low, low) and np.array_equal(own.high, high))
        low, high = np.maximum(low, own.low), np.minimum(high, own.high)
    raw = for_each(names, laws, lambda law: scoring.raw_scores(law, sample))
    u, scores = sample.y, [s for s, _ in raw]
    inexact = [error for _, error in raw if error is not None]
    notes = [f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes]
    line, words = Line.of((low, high), n, d_y), None
    if line is not None:
        u, slope, words = scoring.checked(line.forward(u), sample), line.slope(sample.y), line.words()
        scores = for_each(names, scores, lambda s: scoring.checked(line.scores(sample.y, s), sample))
        inexact = [error * slope for error in inexact]
    if differ:
        notes.append("the models' supports differ: they were compared where all have a density")
    worst = max((float(np.max(error)) for error in inexact), default=None)
    return u, scores, {"reparametrized": words, "score_error": worst, "model_notes": tuple(notes)}


def prepare_joint(
    models: Mapping[str, Any], x: Any, y: Any, scale_x: str, options: Options, seed: Seed
) -> Scored:
    """Check and score a sample under K models: its scores are those of all, side by side."""
    names, drawn = tuple(models), None
    ready, source = read_models(models, x, y, options.missing, options.solver)
    if source is None:
        rows, (laws, sample) = None, read_laws_in_memory(ready, names, x, y, options.missing)
        if options.chosen(sample.n) == "lowrank":  # units come from the rows that a stream would draw
            drawn = scoring.sampled_rows(sample.n, seed)
    else:
        rows, block = sources.read_some(source, seed, options.engine)
        sample = source.sample(block).ready()
    with scoring.rows_named(rows):
        if rows is not None:
            laws = [sources.law_of_rows(model, block, sample, rows) for model in ready]
        u, raw, said = common_ground(laws, names, sample)
    some = slice(None) if drawn is None else drawn
    affine, units = affine_of(u[some]), XUnits.of(sample.x[some], sample.x_columns, scale_x)
    said |= {"sample": sample, "x": units.apply(sample.x), "units": units, "by": TOGETHER}
    seen, scores = in_units(affine, u, raw)
    scored = Scored(y=seen, scores=scores, **said)
    if drawn is not None:
        return replace(scored, some=scored.take(drawn))
    if source is None or sample.n == source.n:
        return scored
    see = partial(_see_together, units, names, affine)
    streamed = sources.StreamedRows(source, tuple(ready), see)
    return replace(scored, some=scored, source=streamed)


def affine_of(u: FloatArray) -> Affine:
    """Return b and L of the map u → L⁻¹(u − b), one for all models, from a sample (n, d_y)."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift, spread = u.mean(axis=0), u.std(axis=0, ddof=1)
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        raise errors.NumericalError("The standard deviation of y overflows or is 0. Rescale y.")
    scaled: FloatArray = (u - shift) / spread
    correlation = scaled.T @ scaled / (len(u) - 1)
    if np.linalg.eigvalsh(correlation)[0] <= SINGULAR:
        return shift, np.diag(spread)
    return shift, spread[:, None] * np.linalg.cholesky(correlation)


def in_units(affine: Affine, u: FloatArray, scores: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return L⁻¹(u − b), (n, d_y), and the scores Lᵀs of all models, side by side."""
    shift, factor = affine
    values = np.linalg.solve(factor, (u - shift).T).T
    return np.ascontiguousarray(values), np.concatenate([s @ factor for s in scores], axis=1)


def _see_together(
    units: XUnits, names: tuple[str, ...], affine: Affine, sample: Sample, laws: Sequence[Law]
) -> sources.Seen:
    u, raw, _ = common_ground(laws, names, sample)
    return units.apply(sample.x), *in_units(affine, u, raw), None


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What a measure says of K models."""

    #: D of each model, (K,), D_a − D_b for a < b, and the estimated covariance of all D, (K, K).
    discrepancies: FloatArray
    pairs: dict[tuple[int, int], Difference]
    covariance: FloatArray
    solver: str | None
    details: dict[str, Any]


def contrast(
    joint: Scored, kernel_x: CovariateKernel, kernel_y: ResponseKernel, options: Options, seed: Seed
) -> Contrasts:
    """Compute the Stein discrepancies of all models and the differences of all pairs."""
    assert isinstance(kernel_y, Radial)
    details: dict[str, Any] = {}
    if exact := joint.source is None and options.chosen(joint.n) == "exact":
        moments = _exact(joint, kernel_x, kernel_y, options)
    else:
        plan, details = plan_of(joint, kernel_x, kernel_y, options, seed)
        moments = _lowrank(plan, joint, options.engine)
    means, products, powers, forms = moments
    squares, apart = _sizes(joint, kernel_x, kernel_y, seed)
    n, pairs = joint.n, dict[tuple[int, int], Difference]()
    for k, (a, b) in enumerate(zip(*np.triu_indices(len(means), 1), strict=True)):
        value, (total, cubes) = float(means[a] - means[b]), map(float, powers[:, k])
        size = squares[a] + squares[b]
        # Both: models may differ in a few rows that are not among those that `apart` comes from.
        if apart[k] <= SAME**2 * size and total <= n * SAME_SUMS**2 * size:
            pairs[int(a), int(b)] = Difference(0.0, 0.0)
            continue
        variance = max(4.0 * total, 2.0 * float(apart[k])) / (n * (n - 1.0))
        # g of unit variance in the units of the variance that is used, times √n.
        unit = (n * variance / 4.0) ** 1.5 * n**0.5
        cross = (float(forms[k]) + 2.0 * cubes + value * total) / (n * (n - 1.0))
        pairs[int(a), int(b)] = Difference(value, variance**0.5, cubes / n / unit, cross / unit)
    solver = "exact" if exact else "lowrank"
    return Contrasts(means, pairs, 4.0 * products / (n * (n - 1.0)), solver, details)


def _powers(g: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return differences of centred row means g (K, b) for all pairs (P, b), products and powers."""
    first, second = np.triu_indices(len(g), 1)
    apart = g[first] - g[second]
    return apart, g @ g.T, np.stack([(apart**2).sum(axis=1), (apart**3).sum(axis=1)])


def _exact(joint: Scored, kernel_x: CovariateKernel, kernel_y: Radial, options: Options) -> Moments:
    n, how = joint.n, {"engine": options.engine, "memory": options.memory}
    matrices = [one.operator(kernel_x, kernel_y) for one in joint.by_model()]
    g = np.stack([matmul(h, np.ones((n, 1)), **how)[:, 0] for h in matrices]) / (n - 1)
    means = g.mean(axis=1)
    apart, products, powers = _powers(g - means[:, None])
    first, second = np.triu_indices(len(matrices), 1)
    forms = np.zeros(len(first))
    for a, h in enumerate(matrices if len(matrices) > 1 else ()):
        _, own = sweep(h, lambda start, stop: apart.T[start:stop], len(apart), **how)
        forms += ((first == a) * 1.0 - (second == a)) * own
    return means, products, powers, forms


def seen(plan: Plan, piece: Piece, count: int) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
    """Return F (b, R) of a piece, and for each of `count` models ξ (b, q) and ‖ξ‖² (b, 1)."""
    each = [plan.evidence.of(piece.y, s) for s in np.split(np.asarray(piece.scores), count, axis=1)]
    return plan.features.of(piece.x), each, [np.square(xi).sum(axis=1, keepdims=True) for xi in each]


def _lowrank(plan: Plan, joint: Scored, engine: Engine) -> Moments:
    n, count, rows = float(joint.n), joint.scores.shape[1] // joint.y.shape[1], joint.rows()
    first, second = np.triu_indices(count, 1)

    def add(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        sizes = np.square(f)
        return [np.stack([f.T @ xi for xi in each]), np.concatenate([s.T @ sizes for s in squares])]

    # Σ_i F_i⊗ξ_i (K, R, q) and Σ_i F_i²‖ξ_i‖² (K, R) of each model.
    sums, own = reduce_over(rows, engine, add, added)
    check_overflow(sums, own)
    means = (np.square(sums).sum(axis=(1, 2)) - own.sum(axis=1)) / (n * (n - 1.0))

    def task(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, count)
        norms = np.square(f).sum(axis=1) * np.concatenate(squares, axis=1).T
        whole = np.stack([((f @ s) * xi).sum(axis=1) for s, xi in zip(sums, each, strict=True)])
        apart, products, powers = _powers((whole - norms) / (n - 1.0) - means[:, None])
        weighted = np.zeros((len(first), 2, *sums.shape[1:]))
        for k, g in enumerate(apart):
            weighted[k] = [(f * g[:, None]).T @ each[a] for a in (first[k], second[k])]
        own = (np.square(apart) * (norms[first] - norms[second])).sum(axis=1)
        return [products, powers, weighted, own]

    products, powers, weighted, own = reduce_over(rows, engine, task, added)
    check_overflow(products, weighted)
    squares = np.square(weighted).sum(axis=(2, 3))
    return means, products, powers, squares[:, 0] - squares[:, 1] - own


def _sizes(
    joint: Scored, kernel_x: CovariateKernel, kernel_y: Radial, seed: Seed
) -> tuple[FloatArray, FloatArray]:
    """Return means over pairs of (some) rows of (H^a)² (K,) and of (H^a − H^b)² (P,)."""
    some, whole = joint.subsample, slice(None)
    if some.n > SQUARE_ROWS:
        few = seed.stream(Use.LANDMARKS, 3).choice(some.n, SQUARE_ROWS, replace=False)
        some = some.take(np.sort(few))
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        each = [one.operator(kernel_x, kernel_y).block(whole, whole) for one in some.by_model()]
        for h in each:
            np.fill_diagonal(h, 0.0)
        squares = np.array([np.vdot(h, h) for h in each])
        # Not from products of sums: near models differ by less than what those would round off.
        pairs = zip(*np.triu_indices(len(each), 1), strict=True)
        apart = np.array([np.square(each[a] - each[b]).sum() for a, b in pairs])
    check_overflow(squares, apart)
    share = 1.0 / (some.n * (some.n - 1.0))
    return share * squares, share * apart


@dataclass(frozen=True, eq=False)
class Measured:
    """What the measures that K models share say of n rows."""

    names: tuple[str, ...]
    n: int
    #: Scores by the key of the measure, (K, n) each, in the orientation of the field.
    tables: Mapping[str, FloatArray]
    #: "classes", "counts" or "rows": what a probability, or a density, of 0 was given to.
    observed: str = "rows"
    notes: tuple[str, ...] = ()
    sample: Sample | None = None
    dependence: Dependence = field(default_factory=Dependence)

    def differences(self, key: str, a: int = 0, b: int = 1) -> FloatArray:
        return differences(self.tables[key][a], self.tables[key][b])

    def impossible(self, key: str) -> tuple[int, ...]:
        """Return in how many rows each model has an infinite score."""
        return tuple(int(np.isinf(own).sum()) for own in self.tables[key])

    def contrasts(self) -> FloatArray:
        """Return all differences from the first model, (n, ·), infinite ones as 0."""
        each = [self.differences(key, 0, b) for key in self.tables for b in range(1, len(self.names))]
        return np.stack([np.nan_to_num(d, posinf=0.0, neginf=0.0) for d in each], axis=1)


def measured(
    models: Mapping[str, Any], x: Any, y: Any, measure: str, missing: str, asked: Asked
) -> Measured:
    """Score all rows of a sample, or of a source in one pass."""
    check_choice(measure, "measure", ("auto", *MEASURES, STEIN))
    names, (ready, source) = tuple(models), read_models(models, x, y, missing)
    pieces: Iterable[Any]
    if source is not None:
        whole, n, pieces = None, source.n, sources.read_laws(source, ready, 0, source.n)
    else:
        laws, whole = read_laws_in_memory(ready, names, x, y, missing)
        pieces, n = [(whole, laws, None)], whole.n
    parts: dict[str, list[FloatArray]] = {}
    observed, notes = "rows", list[str]()
    for sample, laws, _ in pieces:
        laws = alike([law.facing(sample.y_given) for law in laws])
        if not parts:
            keys, first = shared(names, laws, sample.d_y, measure), laws[0]
            discrete = "counts" if first.discrete else "rows"
            observed = "classes" if isinstance(first, Probabilities) else discrete
        for key in keys:
            scores = for_each(names, laws, partial(score, y=sample.y_given, measure=key))
            parts.setdefault(key, []).append(np.stack(scores))
        notes += [f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes]
        if not keys:
            break
    tables = {key: np.concatenate(each, axis=1) for key, each in parts.items()}
    remarks = (*dict.fromkeys(notes), *(() if whole is None else whole.notes()))
    by_scores = Measured(names, n, tables, observed, remarks, whole)
    if not tables:
        return by_scores
    data = x if source is None else source
    rows = dependence_of(asked, n, data, 0, whole, lambda size: [by_scores.contrasts()], least=SHORTEST)
    return replace(by_scores, notes=(*remarks, *rows.notes), dependence=rows)


def alike(laws: Sequence[Law]) -> list[Law]:
    """Ask whole laws for the quantiles, or the central intervals, that are all that others are."""
    one = next((law for law in laws if isinstance(law, (Quantiles, Intervals))), None)

    def seen(law: Law) -> Law:
        if isinstance(law, (Quantiles, Intervals)) or not law.can("cdf") or law.discrete:
            return law
        if isinstance(one, Quantiles):
            return from_quantiles(law.quantile(one.levels), one.levels)
        assert isinstance(one, Intervals)
        low, high = (law.quantile(0.5 + side * one.coverage / 2.0) for side in (-1.0, 1.0))
        return from_intervals(low, high, one.coverage)

    return list(laws) if one is None else [seen(law) for law in laws]


def shared(names: Sequence[str], laws: Sequence[Law], d_y: int, measure: str) -> tuple[str, ...]:
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
    if measure in MEASURES and measure not in common:
        raise UnsupportedModelError(
            f"The models have no {MEASURES[measure].name} in common: {told}. Leave measure= out, or "
            "give models that have it."
        )
    continuous = not any(law.discrete for law in laws) and all(law.can("score") for law in laws)
    if measure == STEIN and not continuous:
        raise UnsupportedModelError(
            f"The Stein discrepancy needs scores ∇_y log p(y|x) of all models: {told}. Leave "
            "measure= out."
        )
    if measure == STEIN or (not common and continuous and not all(each)):
        return ()
    if not common:
        raise UnsupportedModelError(
            f"The models have no proper score in common to be compared by: {told}. Give all as "
            "densities, CDFs or draws, as quantiles of the same levels, or as probabilities of classes."
        )
    return tuple(k for k in MEASURES if k in common and measure in ("auto", k))
