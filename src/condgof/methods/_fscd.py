"""FSCD: the finite set conditional discrepancy (paper, Section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from condgof.kernels import FiniteLocations, Gaussian, Kernel, Radial
from condgof.methods._dependence import split_dependent, split_rows, train_size
from condgof.methods._optimize import gaussian_locations, kind_of, optimize_locations, row_locations
from condgof.methods._options import Options, check_count, check_reg, prepare
from condgof.methods._rows import Scored, Stream, Units
from condgof.methods._solve import make_result, solve
from condgof.result import GofResult
from condgof.sample import RngLike, Seed, Use
from condgof.stein import DEFAULT_MEMORY

#: The training part takes at most this many rows: starts are chosen by all of its pairs.
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
    null: str = "auto",
    n_boot: int = 1000,
    precision: float | None = None,
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
    options = Options.of(solver, null, n_boot, precision, dependence, groups, missing, engine, memory)
    count, reg, kind = check_count(n_locations, "n_locations"), check_reg(reg), kind_of(locations)
    seed = Seed.of(rng)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)
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
        ready_x, ready_y = scored.subsample.kernels(kernel_x, kernel_y, seed)
        rows, draw = scored.subsample, row_locations if ready_x.compares_levels else gaussian_locations
        if kind == "random":
            points = draw(rows.x, count, seed.stream(Use.LOCATIONS))
        else:
            points = rows.from_user(rows.sample.locations(locations, "locations"))
        places = FiniteLocations(ready_x, points)
    rows = scored.subsample
    shown = rows.to_user(places.locations)
    labels = rows.sample.labels(shown)
    return make_result(
        "fscd",
        scored,
        solve(scored, places, ready_y, options, seed),
        seed=seed,
        kernel_x=places.kernel,
        kernel_y=ready_y,
        locations=shown,
        details={**details, **({"location_labels": labels} if labels else {})},
        share=1.0 / rows.sample.d_y,
        dependence=options.rows,
    )


def _split_off(
    scored: Scored | Stream, train_fraction: float, seed: Seed, options: Options
) -> tuple[Scored, Scored | Stream, Options]:
    """Split off the training part."""
    rng = seed.stream(Use.SPLIT)
    if isinstance(scored, Scored):
        train, test = split_rows(options.rows, scored.n, train_fraction, MAX_TRAIN, rng)
        held_out = replace(scored.take(test), some=scored.some)
        return scored.take(train), held_out, replace(options, rows=options.rows.take(test))
    if not options.rows.independent:
        train, left_out = split_dependent(options.rows, scored.n, train_fraction, MAX_TRAIN, rng)
        return scored.at(train, options.engine), scored.without(left_out), options
    size = train_size(scored.n, train_fraction, MAX_TRAIN)
    rows = np.sort(rng.choice(scored.source.n, size, replace=False))
    return scored.at(rows, options.engine), scored.without(rows), options
