"""FSCD, the finite set conditional discrepancy (paper, Section 4), and FSSD without x.

Small bandwidths and far-off locations have a high criterion on the training part by
overfitting: hence bounds on both, and starts at rows of the data where the criterion of a
single location is high.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from condgof._typing import FloatArray, IntArray, TableLike
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import InputError, UnsupportedModelError, check_count, check_number
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
)
from condgof.laws import as_model, law_of
from condgof.methods._kcsd import Reported, make_result, solve
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._plan import EXACT_RESIDUAL
from condgof.null import Dependence
from condgof.residuals import (
    LandmarkFunctions,
    ScoreResiduals,
    SteinResiduals,
    SteinTestFunctions,
)
from condgof.result import GofResult
from condgof.sample import LIMITS, Sample, Seed, Use
from condgof.stein import (
    CellTerms,
    Features,
    Kernels,
    PairwiseTerms,
    Plan,
    PreparedRows,
    RowsInMemory,
    SteinTerms,
    Units,
    constant,
    criterion_gradient,
    criterion_of_means,
    finite_set_gradient,
)

#: Most rows of the training part of FSCD, which compares all pairs of them.
MOST_TRAINING_ROWS = 2000
#: The same of FSSD, which compares no pairs.
MOST_TRAINING_ROWS_Y = 20_000
#: The least number of rows to train on, and to test on.
LEAST_ROWS = 5
#: Starts of the optimiser of FSSD.
STARTS = 3
#: Starts of FSCD take the best rows of which no two are closer than this many bandwidths.
SPACINGS = (0.0, 0.5, 1.0)
#: Log-bandwidths stay within 0.4 and 3 times the median heuristic: smaller ones overfit.
LOG_RANGE = (float(np.log(0.4)), float(np.log(3.0)))
#: Iterations of a climb: later ones hardly raise the criterion, and overfit.
MAX_ITERATIONS = 15
#: Below this many training rows steps of a climb are too short for several threads.
ONE_THREAD_ROWS = 1000
#: Scores times the bandwidth above this have no room in single precision.
LARGEST_IN_SINGLE = 1e6


class Locations(Enum):
    """Where locations come from."""

    OPTIMIZE = "optimize"  #: They maximise the power criterion on a training part.
    RANDOM = "random"
    GIVEN = "given"  #: By the user.


@spelled_out()
def fscd(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    locations: Any = "optimize",
    n_locations: int = 5,
    train_fraction: float = 0.3,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    standardize: str = "none",
    weights: TableLike | None = None,
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model at a finite set of locations in x.

    H0: p(y|x) is the true conditional density for almost all x. The statistic is n·T̂ with

        T̂ = (1/(n(n−1))) Σ_{i≠j} (1/d_y) k_V(x_i, x_j) h_p(i, j),
        k_V(x, x') = (1/J) Σ_j k(x, v_j) k(x', v_j),

    the average over the locations v_j of how much model and data differ there. It is good
    at local differences, and the optimised locations show where the model fails. With
    random locations the theory asks for an analytic kernel on x (Gaussian, IMQ). See `kcsd`
    for when not to use Stein tests.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    locations : "optimize", "random", or array_like of shape (J, d_x)
        "optimize" splits off a training part and maximises the power criterion over
        locations and bandwidths there, then tests on the rest; "random" draws from a
        Gaussian fitted to x; an array is used as given. When x has categorical columns,
        "optimize" and "random" take rows of the data, and locations are given as a frame.
    n_locations : int
        J, unless locations are given.
    train_fraction : float
        Share of the rows to optimise on, between 0 and 1; at most 2,000 rows are taken.
    kernel_x, kernel_y : Kernel
        Kernels on x and y. "optimize" moves bandwidths given as ``"median"`` (between 0.4
        and 3 times the median) and leaves numbers alone.
    scale_x, standardize, solver, null, n_boot, precision, missing, rng, engine, memory
        As in `kcsd`.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, as in `kcsd`. "optimize" chooses locations from
        rows without weights; the test weights them.
    dependence, groups
        As in `kcsd`. With `dependence`, "optimize" trains on the first rows and tests on
        those that follow, a block later; with `groups` it trains on whole groups.

    Returns
    -------
    GofResult
        With ``locations``; after "optimize" its ``details`` hold ``criterion_before``,
        ``criterion_after``, ``n_train`` and the bandwidths, and ``n`` counts the test part;
        ``location_labels`` names locations where x has categorical columns.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 600)
    >>> y = x + (1 + (x > 1)) * rng.standard_normal(600)   # too noisy where x > 1
    >>> model = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> result = cg.fscd(model, x, y, n_locations=1, rng=1)
    >>> result.reject(), bool(result.locations[0, 0] > 0.5)
    (True, True)
    """
    options, seed = read_options(fscd, how)
    count = check_count(
        n_locations, "n_locations", LIMITS.locations.most, f" {LIMITS.locations.advice}"
    )
    origin = _origin_of(locations)
    units = Units(scale_x, standardize)
    rows = prepare(model, x, y, units, options, seed, weights).rows
    options = options.for_rows(rows, x)
    details: dict[str, Any] = {}
    if origin is Locations.OPTIMIZE:
        split = _split_off(rows, train_fraction, MOST_TRAINING_ROWS, seed, options)
        ready = split.train.kernels(kernel_x, kernel_y, seed)
        asks_median = getattr(kernel_y, "bandwidth", None) == "median"
        optimum = _optimized(
            split.train,
            ready,
            count,
            options.engine,
            free_y=isinstance(ready.on_y, Radial) and asks_median,
        )
        rows = split.test
        options = split.options
        places = optimum.places
        ready_y = optimum.kernel_y
        details.update(optimum.details)
    else:
        ready = rows.subsample.kernels(kernel_x, kernel_y, seed)
        points = _points(rows.subsample, ready.on_x, origin, locations, count, seed)
        places = FiniteLocations(ready.on_x, points)
        ready_y = ready.on_y
    some = rows.subsample
    shown = some.to_user_units(places.locations)
    labels = some.sample.labels(shown)
    if labels:
        details["location_labels"] = labels
    return solve(
        "fscd",
        rows,
        places,
        ready_y,
        options,
        seed,
        details=details,
        locations=shown,
        share=1.0 / some.d_y,
    )


def _points(
    rows: RowsInMemory,
    kernel_x: CovariateKernel,
    origin: Locations,
    locations: Any,
    count: int,
    seed: Seed,
) -> FloatArray:
    """Return locations in the kernel's units, (J, d_x): the user's, or random ones."""
    if origin is Locations.GIVEN:
        return rows.to_kernel_units(rows.sample.locations(locations, "locations"))
    rng = seed.stream(Use.LOCATIONS)
    if kernel_x.compares_levels:  # rows of the data, each once where there are enough
        return rows.x[rng.choice(rows.n, count, replace=count > rows.n)]
    return gaussian_locations(rows.x, count, rng)


class TrainAndTest(NamedTuple):
    """A training part, the rows that are tested, and how to test these."""

    train: RowsInMemory
    test: PreparedRows
    options: Options


def _split_off(
    rows: PreparedRows, train_fraction: float, most: int, seed: Seed, options: Options
) -> TrainAndTest:
    """Split a training part off the rows of a test."""
    split = split_rows(
        options.row_dependence,
        rows.total,
        train_fraction,
        most,
        seed.stream(Use.SPLIT),
        streamed=rows.is_stream,
    )
    if isinstance(rows, RowsInMemory):
        test = np.setdiff1d(np.arange(rows.n), split.left_out)
        held_out = replace(rows.take(test), drawn_subsample=rows.drawn_subsample)
        held_out_options = replace(
            options, row_dependence=options.row_dependence.take(test)
        )
        return TrainAndTest(rows.take(split.train), held_out, held_out_options)
    train = rows.take(split.train, options.engine).rows
    left_out = np.union1d(rows.left_out, split.left_out)  # rows of weight 0, too
    return TrainAndTest(train, replace(rows, left_out=left_out), options)


class RowSplit(NamedTuple):
    """Numbers of rows, sorted."""

    train: IntArray  #: To train on.
    left_out: IntArray  #: That are then not tested: these, and rows that depend on them.


def split_rows(
    dependence: Dependence,
    n: int,
    share: float,
    most: int,
    rng: np.random.Generator,
    streamed: bool = False,
) -> RowSplit:
    """Choose at most `most` of n rows to train on, a share of them.

    Of a time series these are the first, and a block after them is left out; of groups,
    whole ones, as many as fit.
    """
    check_number(
        share, "train_fraction", "a number between 0 and 1", lambda value: 0 < value < 1
    )
    size = min(round(share * n), most)
    if size < LEAST_ROWS or n - size < LEAST_ROWS:
        raise InputError(
            f"train_fraction = {share} leaves {size} of {n} rows to train on and {n - size}"
            f" to test on; both need at least {LEAST_ROWS}. Change train_fraction, or pass"
            " locations='random'."
        )
    if dependence.independent:
        if streamed:
            train = np.sort(rng.choice(n, size, replace=False))
        else:
            train = np.sort(rng.permutation(n)[:size])
        return RowSplit(train=train, left_out=train)
    if dependence.codes is None:
        between = min(dependence.length or 1, (n - size) // 2)
        return RowSplit(train=np.arange(size), left_out=np.arange(size + between))
    return _split_groups(dependence, dependence.codes, size, most, rng)


def _split_groups(
    dependence: Dependence,
    codes: IntArray,
    size: int,
    most: int,
    rng: np.random.Generator,
) -> RowSplit:
    """Choose whole groups to train on, in random order, of at most `size` rows together."""
    sizes = np.bincount(codes)
    chosen: list[int] = []
    room = size
    for group in rng.permutation(len(sizes)):
        if sizes[group] <= room:
            chosen.append(int(group))
            room -= int(sizes[group])
    chosen = chosen or [int(np.argmin(sizes))]
    if dependence.count - len(chosen) < 2:
        raise InputError(
            f"locations='optimize' trains on whole groups, and of {dependence.count} groups"
            " fewer than 2 are left to test on. Pass locations='random', or smaller groups."
        )
    left_out = np.flatnonzero(np.isin(codes, chosen))
    train = left_out
    if len(left_out) > most:
        train = np.sort(rng.choice(left_out, most, replace=False))
    return RowSplit(train=train, left_out=left_out)


class Optimum(NamedTuple):
    """Locations in x that maximise the power criterion on a training part."""

    places: FiniteLocations
    kernel_y: ResponseKernel
    details: dict[str, Any]


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for at the end
def _optimized(
    train: RowsInMemory, ready: Kernels, count: int, engine: Engine, *, free_y: bool
) -> Optimum:
    """Maximise the power criterion over locations and bandwidths on a training part."""
    n = train.n
    d_y = train.d_y
    kernel_x, kernel_y = ready
    with single_threaded_blas():
        terms = _pairwise_terms(train, kernel_y, single=True)
        near = kernel_x(train.x, train.x)
        h = terms.workspace()
        thin = near.astype(h.dtype, copy=False)
        terms.h(kernel_y, thin[:, :1], h)
        ranking = criterion_of_means(near * (h @ thin) / (d_y * (n - 1)))
        chosen = {
            tuple(spaced_rows(near, ranking, count, spacing)): None for spacing in SPACINGS
        }
        starts = [train.x[list(rows)] for rows in chosen]
        ascend = partial(_ascend, train, terms, ready, free_y)
        # Never on a cluster: climbs share the pairs.
        most_threads = 1 if n < ONE_THREAD_ROWS else None
        ends = list(engine.local.map(ascend, starts, most=most_threads))
        best = max(range(len(ends)), key=lambda number: ends[number].criterion)
        end = ends[best]
        exact = _pairwise_terms(train, kernel_y, single=False)
        before, *_ = criterion_gradient(
            train.x, exact, d_y, starts[best], kernel_x, kernel_y
        )
        after, *_ = criterion_gradient(
            train.x, exact, d_y, end.locations, end.kernel_x, end.kernel_y
        )
    factors = end.kernel_x.factors
    sigmas = [f.kernel.sigma for f in factors if isinstance(f.kernel, Radial)]
    details: dict[str, Any] = {
        "criterion_before": before,
        "criterion_after": after,
        "n_train": n,
        "bandwidth_x": sigmas[0] if len(sigmas) == 1 else tuple(sigmas),
    }
    if isinstance(end.kernel_y, Radial):
        details["bandwidth_y"] = end.kernel_y.sigma
    places = FiniteLocations(end.kernel_x, end.locations)
    return Optimum(places=places, kernel_y=end.kernel_y, details=details)


def _pairwise_terms(
    train: RowsInMemory, kernel: ResponseKernel, *, single: bool
) -> PairwiseTerms:
    """Return the y-side of all pairs; in single precision where scores have room in it."""
    residuals = train.residuals
    if not isinstance(kernel, Radial):
        functions = residuals.kernel_test_functions(
            kernel,
            np.random.default_rng(0),  # not used: such kernels need no landmarks
            precision=EXACT_RESIDUAL,
            cap=train.n,
            single=False,
        )
        return CellTerms.from_features(functions.evaluate(residuals))
    assert isinstance(residuals, SteinResiduals)
    largest = float(np.abs(residuals.scores).max()) * kernel.sigma
    return SteinTerms.from_scores(
        residuals.u,
        residuals.scores,
        unit=kernel.sigma,
        single=single and largest < LARGEST_IN_SINGLE,
    )


def spaced_rows(
    near: FloatArray, ranking: FloatArray, count: int, spacing: float
) -> list[int]:
    """Return the highest-ranked rows no two of which are within `spacing` bandwidths.

    `near` is k between all rows, (n, n), and `ranking` their criterion, (n,).
    """
    order = np.argsort(-ranking, kind="stable")
    limit = float(np.exp(-0.5 * spacing**2))
    chosen: list[int] = []
    taken = np.zeros(len(order), dtype=bool)
    for _ in range(count):
        left = order[~taken[order]]
        best = int(left[0] if len(left) else order[len(chosen) % len(order)])
        chosen.append(best)
        # With a margin for rounding, so that equal rows never count as two places.
        taken |= near[:, best] >= limit * (1 - 1e-9)
        taken[best] = True
    return chosen


class ClimbEnd(NamedTuple):
    """Where a climb of the power criterion ended."""

    locations: FloatArray  #: (J, d_x).
    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    criterion: float


def _ascend(
    train: RowsInMemory,
    terms: PairwiseTerms,
    ready: Kernels,
    free_y: bool,
    start: FloatArray,
) -> ClimbEnd:
    """Climb from one set of locations (J, d_x).

    Where x has categories they stay on rows of the data. The optimiser sees one flat
    vector: locations in bandwidths from the median of x, then the logs of free bandwidths.
    """
    kernel_x = ready.on_x
    bandwidths = np.zeros(train.x.shape[1])
    for factor in kernel_x.factors:
        if isinstance(factor.kernel, Radial) and not kernel_x.compares_levels:
            bandwidths[factor.indices()] = factor.kernel.sigma
    moving = bandwidths > 0
    units = bandwidths[moving]
    centre = np.median(train.x[:, moving], axis=0)
    free_x = np.array(kernel_x.asked_for_median, dtype=bool)
    size = len(start) * len(units)
    free_count = int(free_x.sum())
    work = terms.workspace()

    def widened(kernel: object, log: float) -> Any:
        if not isinstance(kernel, Radial):
            return kernel
        return kernel.with_bandwidth(float(np.exp(log)) * kernel.sigma)

    def unpack(flat: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel]:
        locations = start.copy()
        locations[:, moving] = flat[:size].reshape(len(start), -1) * units + centre
        logs = np.zeros(len(free_x))
        logs[free_x] = flat[size : size + free_count]
        factors = tuple(
            replace(factor, kernel=widened(factor.kernel, log))
            for factor, log in zip(kernel_x.factors, logs, strict=True)
        )
        kernel_y = widened(ready.on_y, flat[-1]) if free_y else ready.on_y
        return locations, replace(kernel_x, factors=factors), kernel_y

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        value, by_v, by_x, by_y = criterion_gradient(
            train.x, terms, train.d_y, *unpack(flat), work
        )
        slopes = [(by_v[:, moving] * units).ravel(), by_x[free_x]]
        if free_y:
            slopes.append(np.array([by_y]))
        return value, np.concatenate(slopes)

    near = (train.x[:, moving] - centre) / units
    box = list(zip(near.min(axis=0), near.max(axis=0), strict=True)) * len(start)
    bounds = box + [LOG_RANGE] * (free_count + free_y)
    flat = np.append((start[:, moving] - centre) / units, np.zeros(free_count + free_y))
    climbed = climb(criterion, flat, bounds)
    locations, end_x, end_y = unpack(climbed.end)
    return ClimbEnd(locations, end_x, end_y, climbed.after)


class Climb(NamedTuple):
    """The end of a climb, and the values of the function before and after it."""

    end: FloatArray
    before: float
    after: float


def climb(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: list[tuple[float, float]],
) -> Climb:
    """Maximise a function (d,) → value and gradient in a box."""
    low, high = np.array(bounds).reshape(-1, 2).T
    start = np.clip(start, low, high)
    before, _ = function(start)
    if not len(start):
        return Climb(start, before, before)
    from scipy.optimize import minimize  # takes long to import

    def negative(v: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(v)
        return -value, -gradient

    optimum = minimize(
        negative,
        start,
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-6},
    )
    after = -float(optimum.fun)
    if after < before:
        return Climb(start, before, before)
    return Climb(optimum.x, before, after)


def _origin_of(locations: TableLike) -> Locations:
    """Tell where locations come from; words that are not known are refused."""
    if not isinstance(locations, str):
        return Locations.GIVEN
    if locations not in ("optimize", "random"):
        raise InputError(
            f"locations must be 'optimize', 'random' or an array, got {locations!r}."
        )
    return Locations(locations)


def gaussian_locations(
    points: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw locations (count, d) from a Gaussian fitted to points (n, d)."""
    mean = points.mean(axis=0)
    centred = points - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(points))
    # Clipped, because rounding may leave a variance of a degenerate direction below 0.
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    return np.asarray(mean + rng.standard_normal((count, points.shape[1])) @ root.T)


@spelled_out("null", "n_boot", "dependence", "groups", "missing", "rng", "engine")
def fssd(
    model: object,
    y: TableLike,
    *,
    locations: Any = "optimize",
    n_locations: int = 5,
    train_fraction: float = 0.3,
    kernel_y: Kernel = Gaussian("median"),
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test an unconditional density model at a few locations in y, in linear time.

    The statistic is n times the U-statistic (1/(n(n−1))) Σ_{i≠j} τ(y_i)·τ(y_j), where τ(y)
    holds s(y) l(y, v_j) + ∇_y l(y, v_j) for all locations v_j, over √(d_y J).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which gets x = None.
    y : array_like or frame of shape (n,) or (n, d_y)
        The sample.
    locations : "optimize", "random", or array_like of shape (J, d_y)
        As in `fscd`, but points of y.
    n_locations, train_fraction, kernel_y, null, n_boot, dependence, groups, missing, rng,
    engine
        As in `fscd` and `ksd`; the training part takes at most 20,000 rows.

    Returns
    -------
    GofResult

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> y = np.random.default_rng(0).standard_t(3, size=1000)
    >>> cg.fssd(cg.models.Normal(mean=0.0, std=1.0), y, rng=1).reject()
    True
    """
    needs_memory("fssd", None, y)
    options, seed = read_options(fssd, how)
    count = check_count(
        n_locations, "n_locations", LIMITS.locations.most, f" {LIMITS.locations.advice}"
    )
    origin = _origin_of(locations)
    sample = Sample.unconditional(y, missing=options.missing)
    rows = RowsInMemory.from_law(law_of(as_model(model), sample), sample, Units())
    _refuse_turned(rows)
    options = options.for_rows(rows, y)
    train = rows
    test: PreparedRows = rows
    if origin is Locations.OPTIMIZE:
        split = _split_off(rows, train_fraction, MOST_TRAINING_ROWS_Y, seed, options)
        train, test, options = split
    kernel = train.residuals.ready_kernel(kernel_y, seed)
    assert isinstance(kernel, Radial)
    coordinates = _coordinates(rows)
    details: dict[str, Any] = {}
    if origin is Locations.OPTIMIZE:
        optimum = _optimized_y(
            _coordinates(train),
            kernel,
            count,
            seed,
            options.engine,
            free=getattr(kernel_y, "bandwidth", None) == "median",
        )
        points = optimum.points
        kernel = optimum.kernel
        details.update(optimum.details)
    elif origin is Locations.RANDOM:
        points = gaussian_locations(coordinates.u, count, seed.stream(Use.LOCATIONS))
    else:
        as_x = Sample.from_data(coordinates.u, coordinates.u, to_test=False)
        points = as_x.locations(locations, "locations")
    # τ is a test function as it stands, and the only function of x is the constant.
    functions = LandmarkFunctions(kernel=kernel, points=points, white=np.eye(len(points)))
    plan = Plan(
        Features((constant(),)), SteinTestFunctions(d_y=rows.d_y, parts=(functions,))
    )
    (null,) = options.nulls(plan, test)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked at the end
        drawn = null.draw(plan, test, options.n_boot, seed, options.engine)
    first = drawn.first(test.n)
    return make_result(
        "fssd",
        test,
        options.row_dependence,
        total=first.total,
        draws=first.draws,
        solver="exact",
        null=null.label,
        reported=Reported(
            seed=seed,
            kernel_x=None,
            kernel_y=kernel,
            locations=points,
            share=1.0 / points.size,
        ),
        details={**details, **drawn.details},
    )


def _coordinates(rows: RowsInMemory) -> ScoreResiduals:
    assert isinstance(rows.residuals, ScoreResiduals)
    return rows.residuals


def _refuse_turned(rows: RowsInMemory) -> None:
    """Refuse a y that is compared as something else: locations of FSSD are points of y."""
    residuals = rows.residuals
    if isinstance(residuals, ScoreResiduals) and residuals.reparametrized is None:
        return
    compared_as = residuals.compared_as
    if isinstance(residuals, SteinResiduals) and residuals.reparametrized is not None:
        compared_as = residuals.reparametrized
    raise UnsupportedModelError(
        "fssd compares y itself with locations, and this model is compared as"
        f" {compared_as}. Use ksd."
    )


@dataclass(frozen=True, eq=False)
class OptimumInY:
    """Locations in y that maximise the power criterion on a training part."""

    points: FloatArray  #: (J, d_y).
    kernel: Radial
    details: dict[str, Any]


def _optimized_y(
    train: ScoreResiduals,
    kernel: Radial,
    count: int,
    seed: Seed,
    engine: Engine,
    *,
    free: bool,
) -> OptimumInY:
    """Maximise the power criterion over locations, and a `free` bandwidth, on a part."""
    centre = np.median(train.u, axis=0)
    y = (train.u - centre) / kernel.sigma  # unit scale for the optimiser
    scores = train.scores * kernel.sigma
    unit_kernel = kernel.with_bandwidth(1.0)
    size = count * y.shape[1]

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        points = flat[:size].reshape(count, -1)
        at = unit_kernel
        if free:
            at = unit_kernel.with_bandwidth(float(np.exp(flat[size])))
        value, by_points, by_bandwidth = finite_set_gradient(y, scores, at, points)
        return value, np.append(by_points, [by_bandwidth] if free else [])

    box = list(zip(y.min(axis=0), y.max(axis=0), strict=True)) * count
    bounds = box + [LOG_RANGE] * free
    rng = seed.stream(Use.STARTS)
    starts = [
        np.append(gaussian_locations(y, count, rng), [0.0] * free) for _ in range(STARTS)
    ]
    # On this machine even where there is a cluster: a few climbs are too little to send.
    with single_threaded_blas():
        climbs = list(
            engine.local.map(lambda start: climb(criterion, start, bounds), starts)
        )
    best = max(climbs, key=lambda climbed: climbed.after)
    points = best.end[:size].reshape(count, -1) * kernel.sigma + centre
    if free:
        kernel = kernel.with_bandwidth(kernel.sigma * float(np.exp(best.end[size])))
    return OptimumInY(
        points=points,
        kernel=kernel,
        details={
            "criterion_before": best.before,
            "criterion_after": best.after,
            "n_train": train.n,
            "bandwidth_y": kernel.sigma,
        },
    )
