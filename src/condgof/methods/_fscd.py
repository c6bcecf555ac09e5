"""FSCD: the finite set conditional discrepancy (paper, Section 4); FSSD, its ancestor without x.

Small bandwidths and far-off locations have a high criterion on the training part by
overfitting: hence bounds on both, and starts at rows of the data where the criterion of a
single location is high.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, Unpack

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
from condgof.methods._kcsd import make_result, solve
from condgof.methods._lowrank import draw
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._scored import Scored, Units, score_rows
from condgof.null._dependence import Dependence
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Use
from condgof.stein import _criterion as power
from condgof.stein._evidence import Functions, SteinEvidence
from condgof.stein._features import Features, ones
from condgof.stein._sum import Plan

Kernels: TypeAlias = tuple[CovariateKernel, ResponseKernel]
#: Most rows of the training part, of all pairs; of FSSD, which looks at no pairs; and its
#: starts.
MAX_TRAIN, MAX_TRAIN_Y, STARTS = 2000, 20_000, 3
#: Starts take the best rows of which no two are closer than this many bandwidths.
SPACINGS = (0.0, 0.5, 1.0)
#: Log-bandwidths stay within 0.4 and 3 times the median heuristic: smaller ones overfit.
LOG_RANGE = (float(np.log(0.4)), float(np.log(3.0)))
MAX_ITERATIONS = 15


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
    >>> result = cg.fscd(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, n_locations=1, rng=1)
    >>> result.reject(), bool(result.locations[0, 0] > 0.5)
    (True, True)
    """
    options, seed = read_options(fscd, how)
    count, kind = check_count(n_locations, "n_locations"), _kind_of(locations)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)[1]
    options = options.for_rows(scored, x)
    details: dict[str, Any] = {}
    if kind == "optimize":
        part, scored, options = _split_off(scored, train_fraction, MAX_TRAIN, seed, options)
        kernels = part.kernels(kernel_x, kernel_y, seed)
        free_y = (
            isinstance(kernels[1], Radial)
            and getattr(kernel_y, "bandwidth", None) == "median"
        )
        places, ready_y, details = _optimized(part, kernels, free_y, count, options.engine)
    rows = scored.subsample
    if kind != "optimize":
        ready_x, ready_y = rows.kernels(kernel_x, kernel_y, seed)
        if kind == "given":
            points = rows.in_units(rows.sample.locations(locations, "locations"))
        elif ready_x.compares_levels:  # rows of the data, each once where there are enough
            drawn = seed.stream(Use.LOCATIONS).choice(rows.n, count, replace=count > rows.n)
            points = rows.x[drawn]
        else:
            points = gaussian_locations(rows.x, count, seed.stream(Use.LOCATIONS))
        places = FiniteLocations(ready_x, points)
    shown = rows.in_units(places.locations, back=True)
    labels = rows.sample.labels(shown)
    details |= {"location_labels": labels} if labels else {}
    said: Any = {"locations": shown, "details": details, "share": 1.0 / rows.sample.d_y}
    return solve("fscd", scored, places, ready_y, options, seed, **said)


def _split_off(
    scored: Scored, train_fraction: float, most: int, seed: Seed, options: Options
) -> tuple[Scored, Scored, Options]:
    rng, source = seed.stream(Use.SPLIT), scored.source
    train, left_out = split_rows(
        options.rows, scored.n, train_fraction, most, rng, source is not None
    )
    if source is not None:
        part, _ = score_rows(scored, train, options.engine)
        return part, replace(scored, source=replace(source, left_out=left_out)), options
    test = np.setdiff1d(np.arange(scored.n), left_out)
    held_out = replace(scored.take(test), some=scored.some)
    return scored.take(train), held_out, replace(options, rows=options.rows.take(test))


def split_rows(
    rows: Dependence,
    n: int,
    share: float,
    most: int,
    rng: np.random.Generator,
    streamed: bool = False,
) -> tuple[IntArray, IntArray]:
    """Return at most so many of n rows to train on, and those that are then not tested.

    Of a time series these are the first, and a block after them; of groups, whole ones, as
    many as fit.
    """
    check_number(
        share, "train_fraction", "a number between 0 and 1", lambda value: 0 < value < 1
    )
    size = min(round(share * n), most)
    if size < 5 or n - size < 5:
        raise InputError(
            f"train_fraction = {share} leaves {size} of {n} rows to train on and {n - size}"
            " to test on; both need at least 5. Change train_fraction, or pass"
            " locations='random'."
        )
    if rows.independent:
        train = (
            rng.choice(n, size, replace=False) if streamed else rng.permutation(n)[:size]
        )
        return np.sort(train), np.sort(train)
    if rows.codes is None:
        between = min(rows.length or 1, (n - size) // 2)
        return np.arange(size), np.arange(size + between)
    sizes, chosen, room = np.bincount(rows.codes), [], size
    for group in rng.permutation(len(sizes)):
        if sizes[group] <= room:
            chosen.append(int(group))
            room -= int(sizes[group])
    chosen = chosen or [int(np.argmin(sizes))]
    if rows.count - len(chosen) < 2:
        raise InputError(
            f"locations='optimize' trains on whole groups, and of {rows.count} groups fewer"
            " than 2 are left to test on. Pass locations='random', or smaller groups."
        )
    left_out = np.flatnonzero(np.isin(rows.codes, chosen))
    few = (
        left_out
        if len(left_out) <= most
        else np.sort(rng.choice(left_out, most, replace=False))
    )
    return few, left_out


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for at the end
def _optimized(
    part: Scored, kernels: Kernels, free_y: bool, count: int, engine: Engine
) -> tuple[FiniteLocations, ResponseKernel, dict[str, Any]]:
    """Maximise the power criterion over locations and bandwidths on a training part."""
    n, d_y, (kernel_x, kernel_y) = part.n, part.sample.d_y, kernels
    with single_threaded_blas():
        terms = _terms(part, kernel_y, single=True)
        near, h = kernel_x(part.x, part.x), np.empty_like(terms.products)
        thin = near.astype(h.dtype, copy=False)
        terms.h(kernel_y, thin[:, :1], h)
        ranking = power.criterion_of_means(near * (h @ thin) / (d_y * (n - 1)))
        chosen = {
            tuple(spaced_rows(near, ranking, count, spacing)): None for spacing in SPACINGS
        }
        starts = [part.x[list(rows)] for rows in chosen]

        ascend = partial(_ascend, part, terms, kernels, free_y)
        # Below some size steps are too small for threads. Never on a cluster: climbs share
        # the pairs.
        ends = list(engine.local.map(ascend, starts, most=1 if n < 1000 else None))
        best = max(range(len(ends)), key=lambda number: ends[number][-1])
        start, (v, ready_x, ready_y, _) = starts[best], ends[best]
        exact = _terms(part, kernel_y, single=False)
        before, *_ = power.criterion_gradient(part.x, exact, d_y, start, kernel_x, kernel_y)
        after, *_ = power.criterion_gradient(part.x, exact, d_y, v, ready_x, ready_y)
    sigmas = [f.kernel.sigma for f in ready_x.factors if isinstance(f.kernel, Radial)]
    details: dict[str, Any] = {
        "criterion_before": before,
        "criterion_after": after,
        "n_train": n,
    }
    details["bandwidth_x"] = sigmas[0] if len(sigmas) == 1 else tuple(sigmas)
    if isinstance(ready_y, Radial):
        details["bandwidth_y"] = ready_y.sigma
    return FiniteLocations(ready_x, v), ready_y, details


def _terms(part: Scored, kernel: ResponseKernel, single: bool) -> power.PairwiseTerms:
    """Return the y-side of all pairs; in single precision only where large scores have room in it."""
    if not isinstance(kernel, Radial):
        return power.PairwiseTerms.of_features(kernel.features(np.asarray(part.scores)))
    single &= float(np.abs(part.scores).max()) * kernel.sigma < 1e6
    return power.PairwiseTerms.of(part.y, part.scores, unit=kernel.sigma, single=single)


def spaced_rows(
    near: FloatArray, ranking: FloatArray, count: int, spacing: float
) -> list[int]:
    """Return the highest-ranked rows no two of which are within `spacing` bandwidths, given k (n, n)."""
    order, limit = np.argsort(-ranking, kind="stable"), float(np.exp(-0.5 * spacing**2))
    chosen, taken = list[int](), np.zeros(len(order), dtype=bool)
    for _ in range(count):
        left = order[~taken[order]]
        best = int(left[0] if len(left) else order[len(chosen) % len(order)])
        chosen.append(best)
        # With a margin for rounding, so that equal rows never count as two places.
        taken |= near[:, best] >= limit * (1 - 1e-9)
        taken[best] = True
    return chosen


def _ascend(
    part: Scored,
    terms: power.PairwiseTerms,
    kernels: Kernels,
    free_y: bool,
    start: FloatArray,
) -> tuple[FloatArray, CovariateKernel, ResponseKernel, float]:
    """Climb from one set of locations (J, d_x); where x has categories they stay on rows of the data."""
    kernel_x, units = kernels[0], np.zeros(part.x.shape[1])
    for factor in kernel_x.factors:
        if isinstance(factor.kernel, Radial) and not kernel_x.compares_levels:
            units[factor.indices()] = factor.kernel.sigma
    moving, free = units > 0, np.array(kernel_x.asked_for_median, dtype=bool)
    units, centre = units[moving], np.median(part.x[:, moving], axis=0)
    size, count, work = (
        len(start) * len(units),
        int(free.sum()),
        np.empty_like(terms.products),
    )

    def widened(kernel: object, log: float) -> Any:
        factor = float(np.exp(log))
        return (
            kernel.with_bandwidth(factor * kernel.sigma)
            if isinstance(kernel, Radial)
            else kernel
        )

    def unpack(flat: FloatArray) -> tuple[FloatArray, CovariateKernel, ResponseKernel]:
        locations, logs = start.copy(), np.zeros(len(free))
        locations[:, moving] = flat[:size].reshape(len(start), -1) * units + centre
        logs[free] = flat[size : size + count]
        pairs = zip(kernel_x.factors, logs, strict=True)
        factors = tuple(replace(one, kernel=widened(one.kernel, log)) for one, log in pairs)
        kernel_y = widened(kernels[1], flat[-1]) if free_y else kernels[1]
        return locations, replace(kernel_x, factors=factors), kernel_y

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        value, by_v, by_x, by_y = power.criterion_gradient(
            part.x, terms, part.sample.d_y, *unpack(flat), work
        )
        return value, np.concatenate(
            [(by_v[:, moving] * units).ravel(), by_x[free], [by_y] * free_y]
        )

    near = (part.x[:, moving] - centre) / units
    box = list(zip(near.min(axis=0), near.max(axis=0), strict=True)) * len(start)
    flat = np.append((start[:, moving] - centre) / units, np.zeros(count + free_y))
    end, _, after = climb(criterion, flat, box + [LOG_RANGE] * (count + free_y))
    return *unpack(end), after


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
    from scipy.optimize import minimize  # takes long to import

    def negative(v: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(v)
        return -value, -gradient

    how: Any = {"method": "L-BFGS-B", "options": {"maxiter": MAX_ITERATIONS, "ftol": 1e-6}}
    optimum = minimize(negative, start, jac=True, bounds=bounds, **how)
    after = -float(optimum.fun)
    return (optimum.x, before, after) if after >= before else (start, before, before)


def _kind_of(locations: TableLike) -> str:
    """Return "optimize", "random" or "given"; other words are refused."""
    if not isinstance(locations, str):
        return "given"
    if locations not in ("optimize", "random"):
        raise InputError(
            f"locations must be 'optimize', 'random' or an array, got {locations!r}."
        )
    return locations


def gaussian_locations(
    points: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw locations (count, d) from a Gaussian fitted to the points (n, d) by maximum likelihood."""
    mean, centred = points.mean(axis=0), points - points.mean(axis=0)
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
    """Test an unconditional density model at a finite set of locations in y, in linear time.

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
    count, kind = check_count(n_locations, "n_locations"), _kind_of(locations)
    scored = Scored.of(model, Sample.unconditional(y, missing=options.missing))
    if scored.cells is not None or scored.reparametrized is not None or scored.by != "none":
        # Its scores are those of what y was turned into, and locations are points of y.
        seen = (
            "cells of a discrete y" if scored.cells is not None else scored.reparametrized
        )
        raise UnsupportedModelError(
            "fssd compares y itself with locations, and this model is compared as "
            f"{seen or 'normal scores, because it has no score'}. Use ksd."
        )
    options, tested = options.for_rows(scored, y), scored
    part, details = scored, dict[str, Any]()
    if kind == "optimize":
        part, tested, options = _split_off(
            scored, train_fraction, MAX_TRAIN_Y, seed, options
        )
    ready: Any = part.kernel_on_y(kernel_y, seed)
    if kind == "optimize":
        free = getattr(kernel_y, "bandwidth", None) == "median"
        points, ready, details = _optimized_y(
            part, ready, free, count, seed, options.engine
        )
    elif kind == "random":
        points = gaussian_locations(scored.y, count, seed.stream(Use.LOCATIONS))
    else:
        points = Sample.of(scored.y, scored.y, to_test=False).locations(
            locations, "locations"
        )
    # τ is evidence as it stands, and the only function of x is the constant.
    evidence = SteinEvidence(
        scored.sample.d_y, (Functions(ready, points, np.eye(len(points))),)
    )
    plan = Plan(Features((ones(),)), evidence)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked for at the end
        ran = draw(plan, tested, options, seed)
    said: Any = {
        "locations": points,
        "details": {**details, **ran.details},
        "share": 1.0 / points.size,
    }
    said |= {"seed": seed, "kernel_x": None, "kernel_y": ready}
    return make_result(
        "fssd", tested, options, ran.first(tested.n), "exact", ran.null, **said
    )


def _optimized_y(
    part: Scored, kernel: Radial, free: bool, count: int, seed: Seed, engine: Engine
) -> tuple[FloatArray, Radial, dict[str, Any]]:
    """Maximise the power criterion over locations and bandwidth on the training part."""
    centre = np.median(part.y, axis=0)
    y = (part.y - centre) / kernel.sigma  # unit scale for the optimiser
    scores, unit = part.scores * kernel.sigma, kernel.with_bandwidth(1.0)
    size = count * y.shape[1]

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        points = flat[:size].reshape(count, -1)
        at = unit.with_bandwidth(float(np.exp(flat[size]))) if free else unit
        criterion = power.finite_set_gradient(y, scores, at, points)
        return criterion[0], np.append(criterion[1], [criterion[2]] * free)

    box = list(zip(y.min(axis=0), y.max(axis=0), strict=True)) * count + [LOG_RANGE] * free
    rng = seed.stream(Use.STARTS)
    starts = [
        np.append(gaussian_locations(y, count, rng), [0.0] * free) for _ in range(STARTS)
    ]
    # On this machine even where there is a cluster: a few climbs are too little work to
    # send.
    with single_threaded_blas():
        ends = list(engine.local.map(lambda start: climb(criterion, start, box), starts))
    end, before, after = max(ends, key=lambda climbed: climbed[2])
    points = end[:size].reshape(count, -1) * kernel.sigma + centre
    if free:
        kernel = kernel.with_bandwidth(kernel.sigma * float(np.exp(end[size])))
    details = {"criterion_before": before, "criterion_after": after, "n_train": part.n}
    return points, kernel, {**details, "bandwidth_y": kernel.sigma}
