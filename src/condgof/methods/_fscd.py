"""FSCD: the finite set conditional discrepancy (paper, Section 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.errors import InputError
from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
)
from condgof.methods._dependence import split_dependent, split_rows
from condgof.methods._optimize import Training, optimize_locations
from condgof.methods._prepare import Scored, Units, check_count, check_reg, train_size
from condgof.methods._random import gaussian_locations, row_locations
from condgof.methods._solve import Options, prepare, solve
from condgof.methods._stream import Stream
from condgof.methods._test import make_result
from condgof.result import GofResult
from condgof.sample import RngLike, Seed, Use
from condgof.stein import DEFAULT_MEMORY

#: The training part takes at most this many rows: the optimiser holds all of its pairs.
MAX_TRAIN = 2000


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
    solver: str = "auto",
    null: str = "wild",
    n_boot: int = 1000,
    rank: int | None = None,
    tolerance: float | None = None,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test a conditional density model at a finite set of locations in x.

    H0: p(y|x) is the true conditional density for almost all x. The statistic is n·T̂ with

        T̂ = (1/(n(n−1))) Σ_{i≠j} (1/d_y) k_V(x_i, x_j) h_p(i, j),
        k_V(x, x') = (1/J) Σ_j k(x, v_j) k(x', v_j),

    the average over the locations v_j of how much model and data differ there. It is good at local
    differences, and the optimised locations show where the model fails.

    With random locations the theory asks for an analytic kernel on x (Gaussian, IMQ): Laplace and
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
    scale_x, standardize, solver, null, n_boot, rank, tolerance
        As in `kcsd`.
    dependence, groups, missing, rng, engine, memory
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
    options = Options.of(
        solver=solver,
        null=null,
        n_boot=n_boot,
        rank=rank,
        tolerance=tolerance,
        engine=engine,
        memory=memory,
        dependence=dependence,
        groups=groups,
        missing=missing,
    )
    count, reg = check_count(n_locations, "n_locations"), check_reg(reg)
    seed = Seed.of(rng)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)
    options = options.for_rows(scored, x)
    if isinstance(locations, str) and locations == "optimize":
        part, scored, options = _split_off(scored, train_fraction, seed, options)
        chosen = _optimized(part, kernel_x, kernel_y, count, reg, seed, options.engine)
    else:
        ready_x, ready_y = scored.subsample.kernels(kernel_x, kernel_y, seed)
        points = _points(scored.subsample, ready_x, locations, count, seed)
        chosen = Chosen(points, ready_x, ready_y, {})
    finite = FiniteLocations(chosen.kernel_x, chosen.locations)
    places = scored.subsample.to_user(chosen.locations)
    labels = scored.subsample.sample.labels(places)
    return make_result(
        "fscd",
        scored,
        solve(scored, finite, chosen.kernel_y, options, seed),
        seed=seed,
        kernel_x=chosen.kernel_x,
        kernel_y=chosen.kernel_y,
        locations=places,
        details={**chosen.details, **({"location_labels": labels} if labels else {})},
        share=1.0 / scored.subsample.sample.d_y,
        dependence=options.rows,
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """Locations (in the kernel's units) with the kernels that go with them."""

    locations: FloatArray
    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    details: dict[str, Any]


def _split_off(
    scored: Scored | Stream, train_fraction: float, seed: Seed, options: Options
) -> tuple[Scored, Scored | Stream, Options]:
    """Split off the training part."""
    rng = seed.stream(Use.SPLIT)
    if isinstance(scored, Scored):
        train, test = split_rows(options.rows, scored.n, train_fraction, MAX_TRAIN, rng)
        return scored.take(train), scored.take(test), replace(options, rows=options.rows.take(test))
    if not options.rows.independent:
        train, left_out = split_dependent(options.rows, scored.n, train_fraction, MAX_TRAIN, rng)
        return scored.at(train, options.engine), scored.without(left_out), options
    size = train_size(scored.n, train_fraction, MAX_TRAIN)
    part, rows = scored.train(size, rng, options.engine)
    return part, scored.without(rows), options


def _points(
    scored: Scored, kernel_x: CovariateKernel, locations: Any, count: int, seed: Seed
) -> FloatArray:
    """Return the random or given locations, in the kernel's units."""
    if not isinstance(locations, str):
        return scored.sample.locations(locations, "locations") / scored.scales
    if locations != "random":
        raise InputError(
            f"locations must be 'optimize', 'random' or an array (J, d_x), got {locations!r}."
        )
    draw = row_locations if kernel_x.compares_levels else gaussian_locations
    return draw(scored.x, count, seed.stream(Use.LOCATIONS))


def _optimized(
    part: Scored,
    kernel_x: Kernel,
    kernel_y: Kernel,
    count: int,
    reg: float,
    seed: Seed,
    engine: Engine,
) -> Chosen:
    """Optimise locations and bandwidths on the training part."""
    ready_x, ready_y = part.kernels(kernel_x, kernel_y, seed)
    # Centred, because the gradient multiplies coordinates; levels are compared, not multiplied.
    centre = np.zeros(part.x.shape[1])
    for factor in ready_x.factors:
        if isinstance(factor.kernel, Radial):
            centre[factor.indices()] = np.median(part.x[:, factor.indices()], axis=0)
    training = Training(
        x=part.x - centre,
        y=part.y,
        scores=_centred(part, ready_y) if isinstance(ready_y, CellKernel) else part.scores,
        kernel_x=ready_x,
        kernel_y=ready_y,
        free_x=ready_x.asked_for_median,
        free_y=isinstance(ready_y, Radial) and getattr(kernel_y, "bandwidth", None) == "median",
        move=not ready_x.compares_levels,
        reg=reg,
    )
    best = optimize_locations(training, count, engine)
    sigmas = [f.kernel.sigma for f in best.kernel_x.factors if isinstance(f.kernel, Radial)]
    details = {
        "criterion_before": best.before,
        "criterion_after": best.after,
        "n_train": part.sample.n,
        "bandwidth_x": sigmas[0] if len(sigmas) == 1 else tuple(sigmas),
    }
    if isinstance(best.kernel_y, Radial):
        details["bandwidth_y"] = best.kernel_y.sigma
    return Chosen(best.locations + centre, best.kernel_x, best.kernel_y, details)


def _centred(part: Scored, kernel: CellKernel) -> FloatArray:
    """Return the centred features of a discrete y."""
    return kernel.features(np.asarray(part.scores))
