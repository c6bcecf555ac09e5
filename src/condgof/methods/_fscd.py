"""FSCD: the finite set conditional discrepancy (paper, Section 4).

Locations are given, random, or optimised for power, as bandwidths are (Section 4.2). The aim is power on
the held-out part, not the highest criterion on the training part, which small bandwidths and far-off
locations reach by overfitting: hence bounds on both, the unbiased (U-statistic) criterion, and starts at
rows of the data where the criterion of a single location is high.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import InputError, check_count, check_number
from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
)
from condgof.methods._kcsd import make_result, solve
from condgof.methods._options import HowToTest, Options, check_reg, prepare, read_options, spelled_out
from condgof.methods._scored import Scored, Units
from condgof.methods._sources import Stream
from condgof.null._bootstrap import Dependence
from condgof.result import GofResult
from condgof.sample import Seed, Use
from condgof.stein._criterion import (
    PairwiseTerms,
    criterion_gradient,
    criterion_of_means,
)

Kernels: TypeAlias = tuple[CovariateKernel, ResponseKernel]
#: The training part takes at most this many rows: starts are chosen by all of its pairs.
MAX_TRAIN = 2000
#: Starts take the best rows of which no two are closer than this many bandwidths.
SPACINGS = (0.0, 0.5, 1.0)
#: Log-bandwidths stay within 0.4 and 3 times the median heuristic: smaller ones overfit.
LOG_RANGE = (float(np.log(0.4)), float(np.log(3.0)))
MAX_ITERATIONS = 15


@spelled_out
def fscd(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    locations: Any = "optimize",
    n_locations: int = 5,
    train_fraction: float = 0.3,
    reg: float = 0.0,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    standardize: str = "none",
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model at a finite set of locations in x.

    H0: p(y|x) is the true conditional density for almost all x. The statistic is n·T̂ with

        T̂ = (1/(n(n−1))) Σ_{i≠j} (1/d_y) k_V(x_i, x_j) h_p(i, j),
        k_V(x, x') = (1/J) Σ_j k(x, v_j) k(x', v_j),

    the average over the locations v_j of how much model and data differ there. It is good at local
    differences, and the optimised locations show where the model fails.

    With random locations the theory asks for an analytic kernel on x (Gaussian, IMQ): Matern12 and
    Matérn kernels are not covered by the paper's theorem. See `kcsd` for when not to use Stein tests.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    locations : "optimize", "random", or array_like of shape (J, d_x)
        "optimize" splits off a training part and maximises the power criterion over locations and
        bandwidths there, then tests on the rest; "random" draws from a Gaussian fitted to x; an array
        is used as given, on the whole sample. When x has categorical columns, "optimize" and
        "random" take rows of the data, and locations are given as a frame.
    n_locations : int
        J, unless locations are given.
    train_fraction : float
        Share of the rows to optimise on, between 0 and 1; at most 2,000 rows are taken.
    reg : float
        Added to σ̂_V in the power criterion.
    kernel_x, kernel_y : Kernel
        Kernels on x and y. "optimize" moves bandwidths given as ``"median"`` (between 0.4 and 3 times
        the median) and leaves numbers alone.
    scale_x, standardize, solver, null, n_boot, precision, missing, rng, engine, memory
        As in `kcsd`.
    dependence, groups
        As in `kcsd`. With `dependence`, "optimize" trains on the first rows and tests on those that
        follow, a block later; with `groups` it trains on whole groups.

    Returns
    -------
    GofResult
        With ``locations``; after "optimize" its ``details`` hold ``criterion_before``,
        ``criterion_after``, ``n_train`` and the bandwidths, and ``n`` counts the test part. Where x
        has categorical columns, ``details["location_labels"]`` has the locations by name and level.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 600)
    >>> y = x + (1 + (x > 1)) * rng.standard_normal(600)   # too noisy where x > 1
    >>> line = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> result = cg.fscd(line, x, y, n_locations=1, rng=1)
    >>> result.reject(), bool(result.locations[0, 0] > 0.5)
    (True, True)
    """
    options, seed = read_options(how)
    count, reg, kind = check_count(n_locations, "n_locations"), check_reg(reg), kind_of(locations)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)[1]
    options = options.for_rows(scored, x)
    details: dict[str, Any] = {}
    if kind == "optimize":
        part, scored, options = _split_off(scored, train_fraction, seed, options)
        ready_x, ready_y = part.kernels(kernel_x, kernel_y, seed)
        free_y = isinstance(ready_y, Radial) and getattr(kernel_y, "bandwidth", None) == "median"
        places, ready_y, before, after = optimize_locations(
            part, (ready_x, ready_y), free_y, count, reg, options.engine
        )
        sigmas = [f.kernel.sigma for f in places.kernel.factors if isinstance(f.kernel, Radial)]
        details = {
            "criterion_before": before,
            "criterion_after": after,
            "n_train": part.n,
            "bandwidth_x": sigmas[0] if len(sigmas) == 1 else tuple(sigmas),
            **({"bandwidth_y": ready_y.sigma} if isinstance(ready_y, Radial) else {}),
        }
    else:
        rows = scored.subsample
        ready_x, ready_y = rows.kernels(kernel_x, kernel_y, seed)
        if kind == "random":
            random_locations = row_locations if ready_x.compares_levels else gaussian_locations
            points = random_locations(rows.x, count, seed.stream(Use.LOCATIONS))
        else:
            points = rows.from_user(rows.sample.locations(locations, "locations"))
        places = FiniteLocations(ready_x, points)
    rows = scored.subsample
    shown = rows.to_user(places.locations)
    labels = rows.sample.labels(shown)
    solution = solve(scored, places, ready_y, options, seed)
    return make_result(
        "fscd",
        scored,
        solution,
        seed,
        places.kernel,
        ready_y,
        locations=shown,
        details={**details, **({"location_labels": labels} if labels else {})},
        share=1.0 / rows.sample.d_y,
    )


def _split_off(
    scored: Scored | Stream, train_fraction: float, seed: Seed, options: Options
) -> tuple[Scored, Scored | Stream, Options]:
    """Split off the training part."""
    rng, streamed = seed.stream(Use.SPLIT), isinstance(scored, Stream)
    train, left_out = split_rows(options.rows, scored.n, train_fraction, MAX_TRAIN, rng, streamed)
    if isinstance(scored, Stream):
        part, _ = scored.with_model(train, options.engine)
        return part, replace(scored, left_out=left_out), options
    test = np.setdiff1d(np.arange(scored.n), left_out)
    held_out = replace(scored.take(test), some=scored.some)
    return scored.take(train), held_out, replace(options, rows=options.rows.take(test))


def split_rows(
    rows: Dependence,
    n: int,
    train_fraction: float,
    most: int,
    rng: np.random.Generator,
    streamed: bool = False,
) -> tuple[IntArray, IntArray]:
    """Return at most so many of n rows to train on, and those that are then not tested.

    They hardly depend on the others: of a time series these are the first, and a block after them is not
    used at all; of groups, whole ones at random, as many as fit.
    """
    wanted = "a number between 0 and 1"
    check_number(train_fraction, "train_fraction", wanted, lambda share: 0 < share < 1)
    size = min(round(train_fraction * n), most)
    if size < 5 or n - size < 5:
        raise InputError(
            f"train_fraction = {train_fraction} leaves {size} of {n} rows to train on and {n - size} "
            "to test on; both need at least 5. Change train_fraction, or pass locations='random'."
        )
    if rows.independent:
        train = rng.choice(n, size, replace=False) if streamed else rng.permutation(n)[:size]
        return np.sort(train), np.sort(train)
    if rows.codes is None:
        between = min(rows.length or 1, (n - size) // 2)
        return np.arange(size), np.arange(size + between)
    sizes = np.bincount(rows.codes)
    chosen, room = [], size
    for group in rng.permutation(len(sizes)):
        if sizes[group] <= room:
            chosen.append(int(group))
            room -= int(sizes[group])
    chosen = chosen or [int(np.argmin(sizes))]
    if rows.count - len(chosen) < 2:
        raise InputError(
            f"locations='optimize' trains on whole groups, and of {rows.count} groups fewer than 2 are "
            "left to test on. Pass locations='random', or smaller groups."
        )
    left_out = np.flatnonzero(np.isin(rows.codes, chosen))
    if len(left_out) <= most:
        return left_out, left_out
    return np.sort(rng.choice(left_out, most, replace=False)), left_out


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for at the end
def optimize_locations(
    part: Scored, kernels: Kernels, free_y: bool, count: int, reg: float, engine: Engine
) -> tuple[FiniteLocations, ResponseKernel, float, float]:
    """Maximise the power criterion on a training part; return the end, its values before and after."""
    n, d_y, (kernel_x, kernel_y) = part.n, part.sample.d_y, kernels
    with single_threaded_blas():
        terms = _terms(part, kernel_y, single=True)
        near, h = kernel_x(part.x, part.x), np.empty_like(terms.products)
        thin = near.astype(h.dtype, copy=False)
        terms.h(kernel_y, thin[:, :1], h)
        ranking = criterion_of_means(near * (h @ thin) / (d_y * (n - 1)), reg * terms.unit**2)
        chosen = {tuple(spaced_rows(near, ranking, count, spacing)): None for spacing in SPACINGS}
        starts = [part.x[list(rows)] for rows in chosen]

        def ascend(start: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel, float]:
            return _ascend(part, terms, start, kernels, free_y, reg)

        # Below some size steps are too small for threads. Never on a cluster: climbs share the pairs.
        ends = list(engine.local.map(ascend, starts, most=1 if n < 1000 else None))
        start, (v, ready_x, ready_y, _) = max(
            zip(starts, ends, strict=True), key=lambda pair: pair[1][-1]
        )
        exact = _terms(part, kernel_y, single=False)
        before, *_ = criterion_gradient(part.x, exact, d_y, start, kernel_x, kernel_y, reg)
        after, *_ = criterion_gradient(part.x, exact, d_y, v, ready_x, ready_y, reg)
        return FiniteLocations(ready_x, v), ready_y, before, after


def _terms(part: Scored, kernel: ResponseKernel, single: bool) -> PairwiseTerms:
    """Return the y-side of all pairs; in single precision only where large scores have room in it."""
    if isinstance(kernel, CellKernel):
        return PairwiseTerms.of_features(kernel.features(np.asarray(part.scores)))
    single &= float(np.abs(part.scores).max()) * kernel.sigma < 1e6
    return PairwiseTerms.of(part.y, part.scores, unit=kernel.sigma, single=single)


def spaced_rows(near: FloatArray, ranking: FloatArray, count: int, spacing: float) -> list[int]:
    """Return the highest-ranked rows no two of which are within `spacing` bandwidths, given k (n, n)."""
    order = np.argsort(-ranking, kind="stable")
    limit = float(np.exp(-0.5 * spacing**2))  # what a Gaussian kernel has at that distance
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


def _ascend(
    part: Scored, terms: PairwiseTerms, start: FloatArray, kernels: Kernels, free_y: bool, reg: float
) -> tuple[FloatArray, CovariateKernel, ResponseKernel, float]:
    """Climb from one set of locations (J, d_x); where x has categories they stay on rows of the data.

    The optimiser sees a flat vector: locations in units of the median bandwidth of their columns, and
    log-bandwidths relative to the median, so that all entries move on about the same scale.
    """
    kernel_x, units = kernels[0], np.zeros(part.x.shape[1])
    for factor in kernel_x.factors:
        if isinstance(factor.kernel, Radial) and not kernel_x.compares_levels:
            units[factor.indices()] = factor.kernel.sigma
    moving, free = units > 0, np.array(kernel_x.asked_for_median, dtype=bool)
    units, centre = units[moving], np.median(part.x[:, moving], axis=0)
    size, count, work = len(start) * len(units), int(free.sum()), np.empty_like(terms.products)

    def unpack(flat: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel]:
        locations, logs = start.copy(), np.zeros(len(free))
        locations[:, moving] = flat[:size].reshape(len(start), -1) * units + centre
        logs[free] = flat[size : size + count]
        pairs = zip(kernel_x.factors, logs, strict=True)
        factors = tuple(replace(one, kernel=_widened(one.kernel, log)) for one, log in pairs)
        kernel_y = _widened(kernels[1], flat[-1]) if free_y else kernels[1]
        return locations, replace(kernel_x, factors=factors), kernel_y

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        value, by_v, by_x, by_y = criterion_gradient(
            part.x, terms, part.sample.d_y, *unpack(flat), reg, work
        )
        return value, np.concatenate([(by_v[:, moving] * units).ravel(), by_x[free], [by_y] * free_y])

    near = (part.x[:, moving] - centre) / units
    box = list(zip(near.min(axis=0), near.max(axis=0), strict=True)) * len(start)
    flat = np.append((start[:, moving] - centre) / units, np.zeros(count + free_y))
    end, _, after = climb(criterion, flat, box + [LOG_RANGE] * (count + free_y))
    return *unpack(end), after


def _widened(kernel: Any, log: float) -> Any:
    """Multiply the bandwidth of a kernel, where it has one."""
    factor = float(np.exp(log))
    return kernel.with_bandwidth(factor * kernel.sigma) if isinstance(kernel, Radial) else kernel


def climb(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: list[tuple[float, float]],
) -> tuple[FloatArray, float, float]:
    """Maximise a function (d,) → value and gradient in a box: the end, and values before and after."""
    low, high = np.array(bounds).reshape(-1, 2).T
    start = np.clip(start, low, high)
    before, _ = function(start)
    if not len(start):
        return start, before, before
    from scipy.optimize import minimize

    def negative(v: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(v)
        return -value, -gradient

    optimum = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-6},
    )
    after = -float(optimum.fun)
    return (optimum.x, before, after) if after >= before else (start, before, before)


def kind_of(locations: Any) -> str:
    """Return "optimize", "random" or "given"; other words are refused."""
    if not isinstance(locations, str):
        return "given"
    if locations not in ("optimize", "random"):
        raise InputError(f"locations must be 'optimize', 'random' or an array, got {locations!r}.")
    return locations


def gaussian_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations (count, d) from a Gaussian fitted to the points (n, d) by maximum likelihood."""
    mean = points.mean(axis=0)
    centred = points - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(points))
    # Clipped, because rounding may leave a variance of a degenerate direction below 0.
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    return np.asarray(mean + rng.standard_normal((count, points.shape[1])) @ root.T)


def row_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations among the points themselves, without replacement where there are enough."""
    return np.array(points[rng.choice(len(points), count, replace=count > len(points))])
