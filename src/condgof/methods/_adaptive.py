"""The adaptive test: families of functions of x, evidence of y, their weights; and calibration by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from condgof import kernels
from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.engine import single_threaded_blas
from condgof.errors import InputError, UnsupportedModelError
from condgof.kernels import CovariateKernel, Gaussian, OnColumns, Radial
from condgof.laws._as_model import as_model, law_of
from condgof.laws._discrete import Probabilities
from condgof.laws._draws import RowDraws
from condgof.laws._law import Law
from condgof.laws._survival import censored
from condgof.methods import _scored as scoring
from condgof.methods._lowrank import Ran, draw, nulls_of
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._scored import CENSORED, STANDARDIZED_BY, Scored, Units
from condgof.null._combine import Combination, Family
from condgof.null._dependence import Dependence
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Use, XUnits, names_of
from condgof.stein import _evidence as functions_of_y
from condgof.stein import _features as functions_of_x
from condgof.stein._sum import Panel, Plan

BLIND = (
    "y was not standardised by a CDF of the model: modes of y that lie far apart are"
    " compared by shape and place but not by weight"
)
#: How much each family counts, in proportion; chosen on other problems than those that are
#: reported (docs/decisions.md). Without categories these add up to 1.
SHARES = {
    "x": 0.07,
    "columns": 0.19,
    "categories": 0.30,
    "spread by category": 0.12,
    "level": 0.36,
    "constant": 0.16,
    "locations": 0.06,
    "pairs": 0.07,
    "surprises": 0.09,
}
#: Functions of y whose mean over all rows is the family `level`; the last one is in
#: `constant` too.
LEVEL = ("z", "surprise", "correlation", "shift")
#: Bandwidths on x, in medians, and on y, in standardised units; how many single locations.
SCALES_X, SCALES_Y, LOCATIONS = (1.0, 0.5, 0.25), (4.0, 2.0, 1.0, 0.5), 40
#: The bandwidth on x at single locations, in medians, and the least effective number of
#: rows near one.
LOCAL_X, LEAST_NEAR = 0.5, 3.0
#: Landmarks in x, and the share of the trace at which to stop; landmarks in y for each
#: bandwidth; most landmarks in x where a precision is asked for.
RANK_X, PRECISION_X, RANK_Y, PRECISION_Y, RANK_MOST = 40, 1e-3, 24, 1e-3, 400
#: Most levels of a column, rows that a level needs, and most pairs of columns.
MOST_LEVELS, LEAST_LEVEL, MOST_PAIRS = 40, 5, 500


@spelled_out()
def adaptive(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    standardize: str = "auto",
    scale_x: str = "ranks",
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model at all scales at once: the recommended test.

    H0: p(y|x) is the true conditional density for almost all x. y is standardised by the
    model, given x. Then functions F of x meet functions ξ of y whose mean given x is 0
    under the model: each pair of a block of one and a block of the other has the statistic
    Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j). By family of x:

    - *x*: the product kernel at 1, ½ and ¼ of the median distance, less its constant part,
    - *columns*: each numeric column of x, and of what the model predicts, by itself,
    - *categories* and *spread by category*: each level of a category, or of a column of two
      values,
    - *pairs*: products of two columns,
    - *locations*: 40 single rows of x, as in `fscd` with one location (J = 1),
    - *constant*: 1, which asks whether y is right on the whole; *level* asks it of its mean
      and spread.

    Of y these are the Stein functions at bandwidths 4, 2, 1 and ½, and, where normal scores
    z of the model's CDF are known, z itself, the surprise ``−log P(|Z| ≥ |z|)``, and
    Legendre polynomials of the PIT (shift, spread, skew, tails). A last family,
    *surprises*, asks whether the largest surprises are too large; with scores alone, of up
    to 4,096 rows, whether y lies farther out than they say, by ``s·f + f'`` of the tanh f
    of residuals of y on x. A discrete y is compared in several ways in place of several
    bandwidths: classes by their labels, by whether they are among the most probable ones,
    and by their log-probability, each less its mean under the model; ordered ones also by
    the steps between them; counts at several bandwidths, in standard deviations of the
    model.

    Each statistic is divided by the spread of its null draws, those of a family are
    combined by the log of the mean of exponentials, each family has a p-value among its own
    draws, and

        statistic = log Σ_f w_f/p_f,

    their weighted harmonic mean; the draws go through the same combination. Normal scores,
    and a discrete y, are drawn anew from the model: the level is exact in samples of any
    size. Of many rows, draws are from the Gaussian limit of the sums. Where only scores are
    known, or rows depend on each other, rows get random signs.

    Do not use it when parameters of the model were fitted on this same sample. Rows that
    depend on each other need ``dependence=`` or ``groups=`` (see `kcsd`). With a model that
    offers nothing but scores, modes of y that lie far apart are not compared by weight; the
    result says so.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    event : array_like of shape (n,), optional
        Where y is a time and some of it is censored on the right: 1 where the event came at
        y, 0 where it had not come by y. Censoring must be independent of the time given x.
        Each function of y is replaced by its mean under the model given what is known (see
        docs/censoring.md); times drawn anew are censored by Kaplan and Meier's estimate
        from rows near in x, up to 4,096 rows.
    entry : array_like of shape (n,), optional
        Left truncation, with `event`: the time from which on each row was watched, below y.
    standardize : {"auto", "cdf", "marginals", "mean_std", "none"}
        What y is standardised by, given x: normal scores Φ⁻¹(F(y|x)) of the model's CDF
        (for d_y > 1 coordinate after coordinate), of its marginal CDFs, its location and
        scale (or covariance), or nothing. "auto" takes the first that the model offers. Of
        classes, "none" compares labels alone.
    scale_x : {"ranks", "std", "none"}
        How numeric columns of x are compared: by normal scores of their ranks, in standard
        deviations, or as they are.
    solver : {"auto", "exact", "lowrank"}
        Draws row by row ("exact"), or from the Gaussian limit or sums over blocks of rows
        ("lowrank"); "auto" goes by the work.
    null : {"auto", "model", "wild", "multinomial"}
        "auto" draws y anew from the model where it can ("model"), else gives rows signs
        ("wild").
    precision : float, optional
        Share of the kernel on x, at its narrowest bandwidth, that its functions may leave
        unseen (at most 400; 40 a bandwidth by default); ``details["precision"]`` is what
        was reached.
    n_boot, dependence, groups, missing, rng, engine, memory
        As in `kcsd`. With `dependence` or `groups`, draws of many rows come from sums over
        at most 512 parcels of them (stretches, whole groups).

    Returns
    -------
    GofResult
        Its kernels are those of the scale that carries most of the evidence. ``details``:
        ``families`` (the p-value of each), ``scales`` (bandwidths, statistic and p-value of
        each), ``strongest_scale``, ``strongest_column``, ``strongest_location`` (with
        p-values that are not corrected for the search), and ``standardized_by``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 400)
    >>> y = x + (1 + (x > 1)) * rng.standard_normal(400)   # too noisy where x > 1
    >>> result = cg.adaptive(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> result.reject(alpha=0.001), result.details["standardized_by"]
    (True, "normal scores of the model's CDF")
    >>> bool(result.details["strongest_location"]["x"][0] > 1)
    True
    """
    options, seed = read_options(adaptive, how)
    if options.null == "spectral":
        raise InputError("adaptive has no spectral null; use null='auto'.")
    model = censored_model(model, x, y, event, entry)
    scored = prepare(
        model, x, y, Units(scale_x, standardize, predictions=True), options, seed
    )[1]
    return run_adaptive(scored, options.for_rows(scored, x), seed)[0]


def censored_model(
    model: object,
    x: TableLike,
    y: TableLike | None,
    event: TableLike | None,
    entry: TableLike | None,
) -> Any:
    """Bind a model to what was said of censoring; return it as it is where nothing was."""
    if event is None and entry is None:
        return model
    needs_memory("event=", x, y)
    return censored(as_model(model), event, entry, x)


class Beside(NamedTuple):
    """A statistic with its own draws that is combined with the others, as a family of its own."""

    family: Family
    statistic: float
    draws: FloatArray  #: They are repeated where they are fewer than those of the others.


def run_adaptive(
    scored: Scored, options: Options, seed: Seed, beside: Beside | None = None
) -> tuple[GofResult, Design]:
    """Run the adaptive test on a sample that is scored already, perhaps with one more family."""
    design = make_design(scored.subsample, seed, options.precision)

    def test(how: Options) -> GofResult:
        ran = draw(design.plan, scored, how, seed)
        excess = len(ran.drawn.statistics) > len(design.plan.statistics)
        families = design.families if excess else design.families[:-1]
        return combined(scored, design, ran, families, beside, seed, how.rows)

    # Work is spread over the engine's threads; BLAS's own would wait for each other beside
    # them.
    with single_threaded_blas():
        results = [test(how) for how in nulls_of(design.plan, scored, options)]
    return max(results, key=lambda result: result.pvalue), design


def combined(
    scored: Scored,
    design: Design,
    ran: Ran,
    families: Sequence[Family],
    beside: Beside | None,
    seed: Seed,
    dependence: Dependence,
) -> GofResult:
    """Combine statistics in families, perhaps with one more, and put the result together."""
    drawn = ran.drawn
    if beside is not None:
        family = replace(beside.family, which=np.array([len(drawn.statistics)]))
        drawn = drawn.plus(beside.statistic, np.resize(beside.draws, drawn.draws.shape[1]))
        families = [*families, family]
    combination = Combination.of(drawn, families)
    rows, plan = scored.subsample, design.plan
    best, details = _told(rows, design, combination, ran.drawn.statistics / (scored.n - 1))
    blind = (BLIND,) if rows.by in ("none", "mean_std") else ()
    notes = (*rows.notes(), *blind, *dependence.notes)
    on_x, on_y = plan.statistics[best]
    kernel_y: Any = Gaussian(on_y.bandwidth or 1.0)
    if isinstance(plan.evidence, functions_of_y.CellEvidence):
        kernel_y = plan.evidence.kernels[plan.evidence.blocks.index(on_y)].shown
    return GofResult(
        statistic=combination.statistic,
        pvalue=combination.pvalue,
        method="adaptive",
        n=scored.n,
        null_distribution=combination.draws,
        null=ran.null,
        kernel_x=narrowed(design.kernel_x, on_x.label).shown(rows.sample.d_x),
        kernel_y=kernel_y,
        solver=ran.solver,
        seed=seed.value,
        details={
            **details,
            **dependence.details(),
            **ran.details,
            **({"notes": notes} if notes else {}),
        },
    )


def _told(
    rows: Scored, design: Design, combination: Combination, statistics: FloatArray
) -> tuple[int, dict[str, Any]]:
    """Return the number of the strongest scale, and what a result tells of families and statistics."""
    plan = design.plan

    def strongest(which: IntArray) -> int:
        return int(which[np.argmax(combination.scaled[which, -1])])

    scales = np.array(
        [k for k in plan.which("x") if plan.statistics[k][1].kind != "simple"]
    )
    best = strongest(scales)
    table = {k: _scale(design, k, statistics[k], combination.each[k]) for k in scales}
    details: dict[str, Any] = {
        "standardized_by": STANDARDIZED_BY[rows.by],
        **rows.details(),
        "families": combination.pvalues,
        "precision": design.residual,
        "scales": list(table.values()),
        "strongest_scale": table[best],
    }
    columns, places = plan.which("columns", "categories"), plan.which("locations")
    if len(columns):
        details["strongest_column"] = _column(rows, plan, combination, strongest(columns))
    if len(places):
        place = strongest(places)
        point = rows.in_units(design.locations[plan.statistics[place][0].label], back=True)
        labels = rows.sample.labels(point[None])
        said = {"x": point, "pvalue": float(combination.each[place])}
        details["strongest_location"] = {**said, **({"label": labels[0]} if labels else {})}
    return best, details


def _scale(design: Design, number: int, statistic: float, p: float) -> dict[str, Any]:
    """Return what one scale says, as plain numbers; a kernel of a discrete y also has a name."""
    on_x, on_y = design.plan.statistics[number]
    radial = [
        f.kernel.sigma for f in design.kernel_x.factors if isinstance(f.kernel, Radial)
    ]
    return {
        "bandwidth_x": on_x.label * radial[0] if radial else None,
        "bandwidth_y": on_y.bandwidth,
        **({"y": on_y.name} if on_y.kind == "cells" else {}),
        "statistic": float(statistic),
        "pvalue": float(p),
    }


def _column(
    rows: Scored, plan: Plan, combination: Combination, number: int
) -> dict[str, Any]:
    on_x, on_y = plan.statistics[number]
    column, level = on_x.label if isinstance(on_x.label, tuple) else (on_x.label, None)
    columns, said = (
        rows.sample.x_columns,
        {"y": on_y.name, "pvalue": float(combination.each[number])},
    )
    if column >= (d_x := len(columns)):
        predicted = column - d_x, rows.x.shape[1] - d_x
        return {"column": scoring.prediction_name(*predicted, rows.sample.d_y), **said}
    of_level = level is not None and columns[column].categorical
    more = {"level": columns[column].text(level)} if of_level else {}
    return {"column": columns[column].name, **said, **more}


@dataclass(frozen=True, eq=False)
class Design:
    """What is compared."""

    plan: Plan
    #: Which statistics are combined first, and how much they count; `surprises` is the last
    #: one.
    families: tuple[Family, ...]
    kernel_x: CovariateKernel  #: k with the median bandwidth.
    locations: FloatArray  #: Single locations, in the kernel's units, (L, ·).
    #: Share of the trace of k, at the narrowest bandwidth, that its landmarks leave.
    residual: float


def make_design(rows: Scored, seed: Seed, precision: float | None = None) -> Design:
    """Choose everything by x alone, and where only scores are known landmarks in y by y."""
    known = rows.by == "cdf" or rows.cells is not None
    own_unit = rows.by != "none" and rows.cells is None
    kernel_x, kernel_y = rows.kernels(
        Gaussian("median"), Gaussian(1.0 if own_unit else "median"), seed
    )
    unit = kernel_y.sigma if isinstance(kernel_y, Radial) else 1.0
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on
    # cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        evidence = make_evidence(rows, unit, seed)
        # Signs see the spread that is there, which near one location may be next to nothing
        # by chance.
        places = _places(rows, kernel_x, LOCATIONS if known else 0, seed)
        landmarks, share = seed.stream(Use.LANDMARKS), precision or PRECISION_X
        cap = RANK_X if precision is None else RANK_MOST
        whole = functions_of_x.scales(
            kernel_x, SCALES_X, rows.x, landmarks, precision=share, cap=cap
        )
        features = functions_of_x.Features((whole, *_others(rows, kernel_x, places)))
    plan = Plan(features, evidence, _panels(features, evidence))
    return Design(plan, _families(plan), kernel_x, places, whole.residual)


def make_evidence(rows: Scored, unit: float, seed: Seed) -> functions_of_y.Evidence:
    if rows.cells is not None:
        each = kernels.cell_scales(rows.cells, tuple(unit * scale for scale in SCALES_Y))
        some = np.asarray(rows.scores[: min(rows.n, 4096)])
        # One that says nothing of any row is left out.
        telling = tuple(kernel for kernel in each if kernel.features(some).any())
        return functions_of_y.CellEvidence(telling or each[:1])
    if rows.by == CENSORED:
        return functions_of_y.CensoredEvidence.at(SCALES_Y)
    if rows.by == "cdf":
        return functions_of_y.NormalEvidence.at(SCALES_Y, rows.sample.d_y)
    bandwidths = [unit * scale for scale in SCALES_Y]
    if rows.by != "none":
        # Where y is far from what the model says, a bandwidth in its units sees every row
        # by itself.
        own = kernels.median_distance(rows.y, seed.stream(Use.BANDWIDTH_Y, 1), "y")
        bandwidths += [own] if own > 2.0 * max(bandwidths) else []
    gaussians = [Gaussian(bandwidth) for bandwidth in bandwidths]
    how: Any = {"precision": PRECISION_Y, "cap": RANK_Y * min(rows.sample.d_y, 3)}
    rng = seed.stream(Use.LANDMARKS, 2)
    return functions_of_y.SteinEvidence.on(gaussians, rows.y, rows.scores, rng, **how)


def _places(rows: Scored, kernel_x: CovariateKernel, count: int, seed: Seed) -> FloatArray:
    """Choose rows of x as single locations, by x alone: such that have other rows near."""
    drawn = seed.stream(Use.LOCATIONS).choice(rows.n, min(count, rows.n), replace=False)
    points = rows.x[drawn]
    near = narrowed(kernel_x, LOCAL_X)(rows.x, points)
    effective = np.square(near.sum(axis=0)) / np.square(near).sum(axis=0)
    return np.asarray(points[effective >= min(LEAST_NEAR, rows.n / 2)])


def _others(
    rows: Scored, kernel_x: CovariateKernel, places: FloatArray
) -> list[functions_of_x.Maker]:
    """Return the features of x beside its kernel, in the order that panels need."""
    columns, d_x, makers = rows.sample.x_columns, rows.sample.d_x, [functions_of_x.ones()]
    predicted = range(d_x, rows.x.shape[1])
    numbers = [
        i
        for i, column in enumerate(columns)
        if not column.categorical and not column.constant
    ]
    numeric = [i for i in (*numbers, *predicted) if len(np.unique(rows.x[:, i])) > 2]
    normal, ranks = rows.x, None
    if all(
        knot is None for knot in rows.units.knots[:d_x]
    ):  # x is not in normal scores already
        as_they_are = XUnits(np.ones(len(predicted)), (None,) * len(predicted))
        ranks = XUnits.of(rows.x[:, :d_x], columns, "ranks").joined(as_they_are)
        normal = ranks.apply(rows.x)
    if numeric:
        makers.append(
            functions_of_x.ranked(functions_of_x.marginals(numeric, normal), ranks)
        )
    makers += _levels(rows)
    if len(places):
        makers.append(functions_of_x.single_locations(kernel_x, LOCAL_X, places))
    own = [i for i in numeric if i < d_x]
    if len(own) > 1:
        makers.append(
            functions_of_x.ranked(functions_of_x.pairs(own, normal, MOST_PAIRS), ranks)
        )
    return makers


def _levels(rows: Scored) -> list[functions_of_x.Maker]:
    """Return indicators of the levels of categories, and of columns of two values."""
    found: list[tuple[int, float, float]] = []
    for i in range(rows.x.shape[1]):
        column = rows.sample.x_columns[i] if i < rows.sample.d_x else None
        if column is not None and column.constant:
            continue
        distinct, counts = np.unique(rows.x[:, i], return_counts=True)
        if len(distinct) == 2:
            distinct, counts = distinct[1:], counts[1:]  # one tells the other
        elif column is None or not column.categorical:
            continue
        largest = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        large = largest[counts[largest] >= min(LEAST_LEVEL, rows.n / 4)]
        found += [(i, float(distinct[k]), float(counts[k]) / rows.n) for k in large]
    if not found:
        return []
    columns, values, shares = map(np.array, zip(*found, strict=True))
    return [functions_of_x.levels(columns, values, shares)]


def _panels(
    features: functions_of_x.Features, evidence: functions_of_y.Evidence
) -> tuple[Panel, ...]:
    """Say which blocks meet: kernel and constant all evidence, the others few simple functions."""
    kinds = [block.kind for block in evidence.blocks]
    whole = three = two = slice(0, len(kinds))
    if "simple" in kinds:
        first, last = kinds.index("simple"), len(kinds) - kinds[::-1].index("simple")
        three, two = (slice(first, min(first + k, last)) for k in (3, 2))
    elif kinds[0] == "stein":  # single columns see the two widest bandwidths
        three = two = slice(0, 2)
    wanted = (
        (("x", "constant"), whole),
        (("columns", "categories", "locations"), three),
        (("pairs",), two),
    )
    meetings = ((features.family(*families), columns) for families, columns in wanted)
    return tuple(
        Panel(some, columns) for some, columns in meetings if some.stop > some.start
    )


def _families(plan: Plan) -> tuple[Family, ...]:
    """Return the families that statistics are combined in; the last one is that of the surprises."""
    which = {name: plan.which(name) for name in SHARES}
    of_y = [plan.statistics[k][1].name for k in which["constant"]]
    surprised = np.array(
        [plan.statistics[k][1].name == "surprise" for k in which["categories"]], bool
    )
    which["spread by category"] = which["categories"][surprised]
    which["categories"] = which["categories"][~surprised]
    which["level"] = which["constant"][[name in LEVEL for name in of_y]]
    which["constant"] = which["constant"][[name not in LEVEL[:-1] for name in of_y]]
    which["surprises"] = np.array([len(plan.statistics)])
    return tuple(Family(name, share, which[name]) for name, share in SHARES.items())


def narrowed(kernel: CovariateKernel, factor: float) -> CovariateKernel:
    """Return a kernel on x with the bandwidths of its Gaussian factors multiplied."""

    def change(part: OnColumns) -> OnColumns:
        if not isinstance(part.kernel, Gaussian):
            return part
        return replace(part, kernel=part.kernel.with_bandwidth(factor * part.kernel.sigma))

    return replace(kernel, factors=tuple(map(change, kernel.factors)))


@spelled_out("solver", "null", "n_boot", "precision", "missing", "rng", "engine", "memory")
def calibration(
    model: object, x: TableLike, y: TableLike, **how: Unpack[HowToTest]
) -> GofResult:
    """Test whether a model is calibrated: right on average wherever it predicts the same.

    H0: among all rows with the same prediction, y is distributed as predicted. For a
    classifier, the classes have the predicted probabilities among all x with those
    *probabilities*,

        P(y = c | P(x) = p) = p_c   for all classes c and almost all p,

    which is called *strong* or *canonical* calibration (a reliability diagram shows that of
    the largest probability alone). For a continuous or a count model the prediction is mean
    and standard deviation. It is `adaptive` with the predictions as covariates.

    A calibrated model may still be wrong: one that ignores x and predicts the shares of the
    classes is calibrated. Do not use it on the data that the model was fitted (or
    recalibrated) on.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model: a classifier, `probabilities`, or a model with means and standard
        deviations.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x serves for the predictions only. It may be None where predictions are
        arrays.
    solver, null, n_boot, precision, missing, rng, engine, memory
        As in `adaptive`.

    Returns
    -------
    GofResult
        That of `adaptive`, with ``details["conditioned_on"]``, what takes the place of x;
        its ``strongest_location`` is a prediction.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 5))
    >>> p = 1 / (1 + np.exp(-x.sum(axis=1)))
    >>> y = rng.random(600) < p
    >>> cg.calibration(cg.probabilities(p), x, y, rng=1).reject()
    False
    >>> sharp = 1 / (1 + np.exp(-2 * x.sum(axis=1)))
    >>> cg.calibration(cg.probabilities(sharp), x, y, rng=1).reject()
    True
    """
    needs_memory("calibration", x, y)
    read: Any = {"to_test": False, "missing": read_options(calibration, how)[0].missing}
    sample = Sample.unconditional(y, **read) if x is None else Sample.of(x, y, **read)
    law = law_of(as_model(model), sample)
    seen, names = _predicted(law)
    if (seen == seen[0]).all():
        raise InputError(
            f"The model predicts the same in all rows ({', '.join(names)}), so that there"
            " is nothing to compare y along. Use ksd for a model without x, or adaptive on"
            " x itself."
        )
    # Probabilities are comparable as they are.
    scale_x = "none" if isinstance(law, Probabilities) else "ranks"
    asked: Any = {**how, "missing": "refuse", "scale_x": scale_x}
    result = adaptive(law, seen, sample.y_given, **asked)
    details = {**result.details, "conditioned_on": names}
    if (
        sample.left_out
    ):  # else there are remarks on columns of x, which nothing is compared by
        details["notes"] = (*sample.remarks, *details.get("notes", ()))
    place, column = details.get("strongest_location"), details.get("strongest_column")
    if place is not None and len(names) <= 10:
        label = dict(zip(names, map(float, place["x"]), strict=True))
        details["strongest_location"] = {**place, "label": label}
    if column is not None:
        # `adaptive` adds what the model predicts to its columns, here for the second time.
        own = dict(zip(names_of("x", len(names)), names, strict=True))
        details["strongest_column"] = {
            **column,
            "column": own.get(column["column"], column["column"]),
        }
    return replace(result, method="calibration", details=details)


def _predicted(law: Law) -> tuple[AnyArray, tuple[str, ...]]:
    if isinstance(law, Probabilities):
        names = tuple(f"P({name})" for name in law.classes.names)
        # Two classes: either probability tells the other.
        return (law.values[:, 1:], names[1:]) if len(names) == 2 else (law.values, names)
    if isinstance(law, RowDraws):
        raise UnsupportedModelError(
            "calibration compares y among rows of the same prediction, and draws are not"
            " functions of x alone: where they happen to be high y is low among them, and a"
            " right model would be rejected. Use adaptive on x itself."
        )
    if not (law.can("mean_std") or law.can("location_scale")):
        raise UnsupportedModelError(
            "calibration needs the model's mean and standard deviation (mean_std), and this"
            " one has neither them nor class probabilities. Use adaptive with the"
            " predictions of your choice as x."
        )
    location, scale = law.mean_std() if law.can("mean_std") else law.location_scale()
    columns = [*names_of("mean", location.shape[1]), *names_of("std", location.shape[1])]
    return scoring.side_by_side(location, scale), tuple(columns)
