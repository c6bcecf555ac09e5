"""The front door: does the model fit, and if not where, how and how badly?"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from condgof.errors import InputError
from condgof.locate._bench import Bench
from condgof.locate._detectable import detectable_of
from condgof.locate._effect import effect_of
from condgof.locate._landscape import landscape_of
from condgof.locate._locations import locations_of
from condgof.locate._record import Check, Detectable, Effect, Location
from condgof.locate._where import choose, criterion_at, examine, y_factors
from condgof.locate._words import probability
from condgof.methods import Options, Scored, Units, lay_out, prepare, run_adaptive
from condgof.methods._prepare import check_count
from condgof.models import as_model
from condgof.result import GofResult
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY

#: Candidates for locations, which are also the points of the map.
CANDIDATES = 1500


def check(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    alpha: float = 0.05,
    n_locations: int = 5,
    standardize: str = "auto",
    scale_x: str = "std",
    solver: str = "auto",
    n_boot: int = 1000,
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not where, how and how badly?

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model; an array of scores (n, d_y) or a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    alpha : float
        Level of the verdict and of the locations.
    n_locations : int
        How many places to look at, at most.
    standardize, scale_x, solver, n_boot, rng, engine, memory
        As in `adaptive`.

    Returns
    -------
    Check

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 800)
    >>> y = x + np.where(x > 3, 2.0, 1.0) * rng.standard_normal(800)   # too noisy above 3
    >>> report = cg.check((x, np.ones(800)), x, y, rng=1)
    >>> report.result.reject(), report.locations[0].named
    (True, True)
    >>> report.locations[0].findings[0].kind
    'width'
    """
    level = check_alpha(alpha)
    count = check_count(n_locations, "n_locations")
    options = Options.of(solver=solver, null="wild", n_boot=n_boot, engine=engine, memory=memory)
    seed = Seed.of(rng)
    model, x, y = lay_out(model, x, y)
    model = as_model(model)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)
    adapted = run_adaptive(scored, options, seed)
    result, rows = adapted.result, scored.subsample
    rejects = result.pvalue <= level
    bench = Bench.of(
        model if isinstance(scored, Scored) else scored.model,
        scored, adapted.design.kernel_x, adapted.design.y_unit, seed, options.engine,
    )  # fmt: skip
    factors = y_factors(bench)
    points = bench.points(CANDIDATES)
    values = criterion_at(bench, factors, bench.rows.x[points])
    chosen = choose(bench, bench.rows.x[points], values, count)
    at = bench.rows.x[points[chosen]]
    places = examine(bench, factors, at, values[chosen], options.n_boot)
    locations = locations_of(bench, places, level, rejects)
    effect = effect_of(bench)
    tau = None
    detectable = detectable_of(adapted, rows, scored.n, level, tau, seed)
    return Check(
        result=result,
        effect=effect,
        locations=locations,
        detectable=detectable,
        landscape=landscape_of(bench, factors, points, values),
        alpha=level,
        x_columns=tuple(column.name for column in rows.sample.x_columns),
        y_columns=tuple(column.name for column in rows.sample.y_columns),
        words=verdict(result, locations, effect, detectable, level),
        details=_details(bench, result),
    )


def check_alpha(alpha: Any) -> float:
    """Check a level."""
    if not isinstance(alpha, (int, float, np.floating)) or not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.")
    return float(alpha)


def verdict(
    result: GofResult,
    locations: tuple[Location, ...],
    effect: Effect,
    detectable: Detectable,
    alpha: float,
) -> str:
    """Say it in a sentence or two."""
    p = probability(result.pvalue)
    if result.pvalue > alpha:
        return f"No evidence against the model ({p}). {detectable.words}"
    named = [location for location in locations if location.named]
    first = f"Evidence against the model ({p}): the misfit is {effect.words}."
    if not named:
        return f"{first} No single place stands out."
    return f"{first} {named[0].words}"


def _details(bench: Bench, result: GofResult) -> dict[str, Any]:
    import scipy

    from condgof import __version__

    notes = (*result.details.get("notes", ()), *bench.notes)
    return {
        "choosing_rows": len(bench.choosing),
        "testing_rows": len(bench.testing),
        "correction": "step-down max-T over the locations, on rows that did not choose them",
        "bandwidth_x": str(bench.near.shown(bench.rows.sample.d_x)),
        "versions": {
            "condgof": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "notes": notes,
    }
