"""FSSD, the unconditional ancestor of FSCD (paper, Section 2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine, single_threaded_blas
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedModelError,
    check_finite,
)
from condgof.kernels import Gaussian, Kernel, Radial, resolve_y
from condgof.methods._climb import climb, log_range
from condgof.methods._dependence import Asked, dependence_of, split_rows
from condgof.methods._prepare import Scored, check_count, check_reg
from condgof.methods._random import gaussian_locations
from condgof.methods._solve import Solution
from condgof.methods._test import make_result
from condgof.null import check_null
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Source, Use, as_numbers
from condgof.stein import finite_set_features, finite_set_gradient, sweep_features

STARTS = 3
MAX_TRAIN = 20000


def fssd(
    model: Any,
    y: Any,
    *,
    locations: Any = "optimize",
    n_locations: int = 5,
    train_fraction: float = 0.3,
    reg: float = 0.0,
    kernel_y: Kernel = Gaussian("median"),
    null: str = "wild",
    n_boot: int = 1000,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
) -> GofResult:
    """Test an unconditional density model at a finite set of locations in y, in linear time.

    The statistic is n times the U-statistic (1/(n(n−1))) Σ_{i≠j} τ(y_i)·τ(y_j), where τ(y) holds
    s(y) l(y, v_j) + ∇_y l(y, v_j) for all locations v_j, over √(d_y J).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which gets x = None.
    y : array_like or frame of shape (n,) or (n, d_y)
        The sample.
    locations : "optimize", "random", or array_like of shape (J, d_y)
        As in `fscd`, but points of y.
    n_locations, train_fraction, reg, kernel_y, null, n_boot, dependence, groups, missing, rng, engine
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
    count, reg, threads = check_count(n_locations, "n_locations"), check_reg(reg), as_engine(engine)
    seed = Seed.of(rng)
    check_null(null, n_boot)
    asked = Asked.of(dependence, groups, null)
    if isinstance(y, Source):
        raise InputTypeError("fssd does not take a source. Use ksd, or pass arrays.")
    scored = Scored.of(model, Sample.unconditional(y, missing=missing))
    if scored.cells is not None:
        raise UnsupportedModelError(
            "fssd compares y at locations between its values, and y is discrete. Use ksd."
        )
    if scored.reparametrized is not None or scored.by != "none":
        # Its scores are those of what y was turned into, and locations are points of y.
        seen = scored.reparametrized or "normal scores, because it has no score"
        raise UnsupportedModelError(
            f"fssd compares y itself with locations, and this model is compared as {seen}. Use ksd."
        )
    depend = dependence_of(asked, scored, y, threads, int(n_boot))
    details: dict[str, Any] = {}
    if isinstance(locations, str) and locations == "optimize":
        train, test = split_rows(depend, scored.n, train_fraction, MAX_TRAIN, seed.stream(Use.SPLIT))
        part, depend = scored.take(train), depend.take(test)
        ready = resolve_y(kernel_y, part.sample.y, seed)
        free = getattr(kernel_y, "bandwidth", None) == "median"
        points, ready, details = _optimized(part, ready, free, count, reg, seed, threads)
        scored = scored.take(test)
    else:
        ready = resolve_y(kernel_y, scored.sample.y, seed)
        points = _points(scored.sample, locations, count, seed)
    centre = np.median(scored.sample.y, axis=0)
    weights = depend.weights(null, scored.sample.n, int(n_boot), seed)
    # Overflow is checked for, and said.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        features = finite_set_features(scored.sample.y - centre, scored.scores, ready, points - centre)
        sums = sweep_features(features, weights)
    solution = Solution(sums.total, weights.factor * sums.forms, "exact", depend.named(null), {})
    return make_result(
        "fssd",
        scored,
        solution,
        seed=seed,
        kernel_x=None,
        kernel_y=ready,
        locations=points,
        details=details,
        dependence=depend,
    )


def _points(sample: Sample, locations: Any, count: int, seed: Seed) -> FloatArray:
    """Return random or given locations in y."""
    if isinstance(locations, str):
        if locations != "random":
            raise InputError(
                f"locations must be 'optimize', 'random' or an array (J, d_y), got {locations!r}."
            )
        return gaussian_locations(sample.y, count, seed.stream(Use.LOCATIONS))
    points = np.array(as_numbers(locations, "locations"), dtype=np.float64)
    if points.ndim == 1 and sample.d_y == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] != sample.d_y or not len(points):
        raise ShapeError(f"locations must have shape (J, {sample.d_y}), got {points.shape}.")
    check_finite(points, "locations", "Pass finite points.")
    return points


def _optimized(
    part: Scored, kernel: Radial, free: bool, count: int, reg: float, seed: Seed, engine: Engine
) -> tuple[FloatArray, Radial, dict[str, Any]]:
    """Maximise the power criterion over locations and bandwidth on the training part."""
    y, centre = part.sample.y, np.median(part.sample.y, axis=0)
    y = (y - centre) / kernel.sigma  # unit scale for the optimiser
    scores, unit = part.scores * kernel.sigma, kernel.with_bandwidth(1.0)
    size = count * y.shape[1]

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        points = flat[:size].reshape(count, -1)
        at = unit.with_bandwidth(float(np.exp(flat[size]))) if free else unit
        value, by_points, by_log = finite_set_gradient(y, scores, at, points, reg * kernel.sigma**2)
        return value, np.concatenate([by_points.ravel(), [by_log] if free else []])

    box = list(zip(y.min(axis=0), y.max(axis=0), strict=True)) * count
    box += [log_range()] if free else []
    rng = seed.stream(Use.STARTS)
    starts = [gaussian_locations(y, count, rng).ravel() for _ in range(STARTS)]
    zero = np.zeros(1 if free else 0)
    # On this machine even where there is a cluster: a few climbs are too little work to send.
    ends = list(engine.local.map(lambda v: climb(criterion, np.concatenate([v, zero]), box), starts))
    end, before, after = max(ends, key=lambda found: found[2])
    points = end[:size].reshape(count, -1) * kernel.sigma + centre
    if free:
        kernel = kernel.with_bandwidth(kernel.sigma * float(np.exp(end[size])))
    details = {
        "criterion_before": before,
        "criterion_after": after,
        "n_train": part.sample.n,
        "bandwidth_y": kernel.sigma,
    }
    return points, kernel, details
