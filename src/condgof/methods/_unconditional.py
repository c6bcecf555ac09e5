"""KSD and FSSD, the ancestors of KCSD and FSCD for a density without x (paper, Section 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import UnsupportedModelError, check_count
from condgof.kernels import CovariateKernel, Gaussian, Kernel, Radial, resolve_y
from condgof.methods._fscd import LOG_RANGE, climb, gaussian_locations, kind_of, split_rows
from condgof.methods._kcsd import Solution, make_result, solve
from condgof.methods._lowrank import draw
from condgof.methods._options import HowToTest, Options, check_reg, read_options, spelled_out
from condgof.methods._scored import Scored
from condgof.methods._sources import (
    Stream,
    check_source,
    elsewhere,
    lay_out,
    read_source,
    refuse_source,
)
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Source, Use
from condgof.stein._criterion import finite_set_gradient
from condgof.stein._evidence import Functions, SteinEvidence
from condgof.stein._features import Features, ones
from condgof.stein._sum import Plan

#: FSSD: climbs, and the most rows of the training part.
STARTS, MAX_TRAIN = 3, 20_000


@spelled_out
def ksd(
    model: Any,
    y: Any,
    *,
    kernel_y: Kernel = Gaussian("median"),
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test an unconditional density model with the kernel Stein discrepancy.

    The statistic is n times (1/(n(n−1))) Σ_{i≠j} h_p(y_i, y_j).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, which gets x = None; `from_scores` of an array, or `from_score` of a function of y
        alone, will do.
    y : array_like or frame of shape (n,) or (n, d_y), or Source
        The sample; the x columns of a source are not read.
    kernel_y, solver, null, n_boot, precision, dependence, groups, rng, engine, memory
        As in `kcsd`; `groups` may name a column of y. For the draws of a Markov chain, pass
        `dependence`.
    missing : {"refuse", "drop"}
        What to do about missing values: refuse them, or leave their rows out. The result says how many.

    Returns
    -------
    GofResult

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> y = np.random.default_rng(0).standard_t(3, size=300)
    >>> cg.ksd(cg.models.Normal(mean=0.0, std=1.0), y, rng=1).reject()
    True
    """
    options, seed = read_options(how)
    scored = _without_x(model, y, options, seed)
    options = options.for_rows(scored, y)
    ready = scored.subsample.kernel_on_y(kernel_y, seed)
    solution = solve(scored, CovariateKernel(()), ready, options, seed)
    return make_result("ksd", scored, solution, seed, None, ready)


def _without_x(model: Any, y: Any, options: Options, seed: Seed) -> Scored | Stream:
    """Check and score a sample of y alone."""
    if not elsewhere(None, y):
        sample = Sample.unconditional(y, missing=options.missing)
        many = options.chosen(sample.n) == "lowrank"
        return Scored.of(model, sample, seed=seed if many else None)
    (model,), arrays, y = lay_out([model], None, y)
    source = replace(y, x_columns=()) if isinstance(y, Source) else arrays
    check_source(source, None, options.solver, options.missing)
    if options.chosen(source.n) == "exact":
        return read_source(model, source, None)[1]
    return Stream.of(model, source, seed, options.engine)


def fssd(
    model: Any,
    y: Any,
    *,
    locations: Any = "optimize",
    n_locations: int = 5,
    train_fraction: float = 0.3,
    reg: float = 0.0,
    kernel_y: Kernel = Gaussian("median"),
    null: str = "auto",
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
    refuse_source("fssd", None, y)
    kind = kind_of(locations)
    options = Options.of("auto", null, n_boot, None, dependence, groups, engine=engine)
    count, reg, seed = check_count(n_locations, "n_locations"), check_reg(reg), Seed.of(rng)
    scored = Scored.of(model, Sample.unconditional(y, missing=missing))
    if scored.cells is not None or scored.reparametrized is not None or scored.by != "none":
        # Its scores are those of what y was turned into, and locations are points of y.
        seen = "cells of a discrete y" if scored.cells is not None else scored.reparametrized
        raise UnsupportedModelError(
            "fssd compares y itself with locations, and this model is compared as "
            f"{seen or 'normal scores, because it has no score'}. Use ksd."
        )
    options = options.for_rows(scored, y)
    n, details = scored.n, dict[str, Any]()
    if kind == "optimize":
        rng = seed.stream(Use.SPLIT)
        train, left_out = split_rows(options.rows, n, train_fraction, MAX_TRAIN, rng)
        test = np.setdiff1d(np.arange(n), left_out)
        part, scored = scored.take(train), scored.take(test)
        options = replace(options, rows=options.rows.take(test))
        ready = resolve_y(kernel_y, part.y, seed)
        free = getattr(kernel_y, "bandwidth", None) == "median"
        points, ready, details = _optimized(part, ready, free, count, reg, seed, options.engine)
    else:
        ready = resolve_y(kernel_y, scored.y, seed)
        if kind == "random":
            points = gaussian_locations(scored.y, count, seed.stream(Use.LOCATIONS))
        else:
            points = Sample.of(scored.y, scored.y, to_test=False).locations(locations, "locations")
    # τ is evidence as it stands, and the only function of x is the constant.
    evidence = SteinEvidence(scored.sample.d_y, (Functions(ready, points, np.eye(len(points))),))
    plan = Plan(Features((ones(),)), evidence)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked for at the end
        ran = draw(plan, scored, options, seed)
    solution = Solution.of(ran, "exact", scored.n, options, {})
    how: Any = {"locations": points, "details": details, "share": 1.0 / points.size}
    return make_result("fssd", scored, solution, seed, None, ready, **how)


def _optimized(
    part: Scored, kernel: Radial, free: bool, count: int, reg: float, seed: Seed, engine: Engine
) -> tuple[FloatArray, Radial, dict[str, Any]]:
    """Maximise the power criterion over locations and bandwidth on the training part."""
    centre = np.median(part.y, axis=0)
    y = (part.y - centre) / kernel.sigma  # unit scale for the optimiser
    scores, unit = part.scores * kernel.sigma, kernel.with_bandwidth(1.0)
    size = count * y.shape[1]

    def criterion(flat: FloatArray) -> tuple[float, FloatArray]:
        points = flat[:size].reshape(count, -1)
        at = unit.with_bandwidth(float(np.exp(flat[size]))) if free else unit
        value, by_points, by_log = finite_set_gradient(y, scores, at, points, reg * kernel.sigma**2)
        return value, np.append(by_points, [by_log] * free)

    box = list(zip(y.min(axis=0), y.max(axis=0), strict=True)) * count + [LOG_RANGE] * free
    rng = seed.stream(Use.STARTS)
    starts = [np.append(gaussian_locations(y, count, rng), [0.0] * free) for _ in range(STARTS)]
    # On this machine even where there is a cluster: a few climbs are too little work to send.
    with single_threaded_blas():
        ends = list(engine.local.map(lambda start: climb(criterion, start, box), starts))
    end, before, after = max(ends, key=lambda climbed: climbed[2])
    points = end[:size].reshape(count, -1) * kernel.sigma + centre
    if free:
        kernel = kernel.with_bandwidth(kernel.sigma * float(np.exp(end[size])))
    details = {"criterion_before": before, "criterion_after": after, "n_train": part.n}
    return points, kernel, {**details, "bandwidth_y": kernel.sigma}
