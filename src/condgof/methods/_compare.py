"""Does one model fit worse than another?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from condgof.errors import InputError, InputTypeError, SupportError
from condgof.kernels import Gaussian, Kernel
from condgof.methods._comparison import Comparison
from condgof.methods._contrast import Contrasts, contrast
from condgof.methods._joint import Joint
from condgof.methods._joint_prepare import prepare_joint, refuted_models, refuted_note
from condgof.methods._joint_stream import JointStream
from condgof.methods._solve import Options
from condgof.null import check_alternative, normal_pvalue
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY

#: What a refuted model is compared with: nothing is smaller.
SMALLEST = normal_pvalue(math.inf)


def compare(
    model_p: Any,
    model_q: Any,
    x: Any,
    y: Any = None,
    *,
    alternative: str = "two-sided",
    names: tuple[str, str] = ("p", "q"),
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "std",
    solver: str = "auto",
    rank: int | None = None,
    tolerance: float | None = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Comparison:
    """Test whether one model fits worse than another.

    H0: D_p = D_q (or D_p ≤ D_q, for ``alternative="greater"``), where D is the kernel conditional Stein
    discrepancy of `kcsd`: 0 for the truth, larger for a worse model. Both models may be wrong. The
    difference of the two U-statistics has row means g_i = (1/(n−1)) Σ_{j≠i} (H^p − H^q)_ij and is
    asymptotically normal with variance 4·Var(g)/n; its skewness, which matters in samples of hundreds,
    is taken out. Where two models can hardly be told apart the variance is at least that of a degenerate
    difference, so that noise alone does not reject; for a model against itself the p-value is 1.

    Both models are seen in the same coordinates: y standardised by its own mean and covariance, one
    constant affine map that favours neither (a model's own standardisation would). A bounded support is
    first brought to the line, the same for both. A model that gives no density to some observations is
    refuted: it fits worse, and the p-value is the smallest there is.

    Of a discrete y (classifiers, `probabilities`, models of counts) both models are held against the
    same cells: labels, or counts cut by the observed y alone. With their residuals r = e_y − p over the
    cells, H = k(x, x')·rᵀLr', where L is the kernel on the cells. Differences of probabilities are seen
    where they are alike at neighbouring x: two classifiers that differ in how sure they are, and not in
    which class they lean to, take many rows.

    Do not use it to find out whether a model fits: both may be wrong. Do not use it when a model was
    fitted on this same sample: it would look better than it is.

    Parameters
    ----------
    model_p, model_q : law, model or anything `as_model` takes
        The models, functional or bound to rows, in any mixture.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates, as in `kcsd`. With a source from `scan` the models may be `columns` of it.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    alternative : {"two-sided", "greater", "less"}
        "greater": p fits worse than q; "less": q fits worse than p.
    names : pair of str
        What to call the models.
    kernel_x, kernel_y : Kernel
        Kernels on x and on the standardised y. Of a discrete y, by default: `Categorical` for classes,
        `Ordinal` where all models order them, a Gaussian of one standard deviation of y for counts.
    scale_x : {"std", "none"}
        Whether to divide each numeric column of x by its standard deviation first.
    solver : {"auto", "exact", "lowrank"}
        "exact" sweeps both matrices in tiles, n² operations; "lowrank" compares the models through the
        same few hundred functions and is linear in n; "auto" is exact up to 5,000 rows.
    rank, tolerance : int, float, optional
        Largest number of those functions (500, or 300 above 50,000 rows), and the relative residual of
        the kernel to reach (1e-4).
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `kcsd`.
    rng, engine, memory
        As in `kcsd`; `rng` matters only for the median heuristic above 1,000 rows and for the low-rank
        solver.

    Returns
    -------
    Comparison
        With the difference D_p − D_q, its 95% interval and both discrepancies. See `compare_map` for
        where in x each model is worse.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(500)
    >>> line = cg.models.Normal(mean=lambda x: x, std=1.0)
    >>> bent = cg.models.Normal(mean=lambda x: x + 0.25 * x**2, std=1.0)
    >>> result = cg.compare(line, bent, x, y, rng=0)
    >>> result.worse, result.reject()
    ('p', True)

    Two classifiers, by the probability of the second class:

    >>> label = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no")
    >>> steep, flat = (cg.probabilities(1 / (1 + np.exp(-b * x)), ["no", "yes"]) for b in (1.2, 0.3))
    >>> cg.compare(steep, flat, x, label, names=("steep", "flat"), rng=0).worse
    'flat'
    """
    check_alternative(alternative)
    options = joint_options(solver, rank, tolerance, engine, memory, missing)
    models = dict(zip(check_names(names, 2), (model_p, model_q), strict=True))
    seed = Seed.of(rng)
    how = (kernel_x, kernel_y, scale_x, options, seed)
    try:
        joint, found, kernels = measure(models, x, y, *how)
    except SupportError as error:
        return _refuted(models, x, y, alternative, how, error)
    difference = found.pairs[0, 1]
    return Comparison(
        statistic=difference.z,
        pvalue=difference.pvalue(alternative),
        names=joint.subsample.names,  # type: ignore[arg-type]
        alternative=alternative,
        difference=difference.value,
        interval=difference.interval(0.95),
        discrepancies=(float(found.discrepancies[0]), float(found.discrepancies[1])),
        details={
            "standard_error": difference.error,
            "skewness": (difference.cube, difference.cross),
            **details_of(joint, found),
        },
        **common_fields(joint, found, kernels, seed, "compare"),
    )


def joint_options(
    solver: Any, rank: Any, tolerance: Any, engine: Any, memory: Any, missing: str = "refuse"
) -> Options:
    """Check how to solve: as other tests do, without draws."""
    return Options.of(
        solver=solver,
        null="wild",
        n_boot=1,
        rank=rank,
        tolerance=tolerance,
        engine=engine,
        memory=memory,
        missing=missing,
    )


def check_names(names: Any, count: int | None = None) -> tuple[str, ...]:
    """Check what models are to be called."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputTypeError(f"names must be a pair of strings, got {names!r}.")
    if not all(isinstance(name, str) and name for name in names):
        raise InputTypeError(f"Models must be named by strings that are not empty, got {names!r}.")
    if count is not None and len(names) != count:
        raise InputError(f"names must be {count} names, got {len(names)}.")
    if len(set(names)) < len(names):
        raise InputError(f"Models must have different names, got {names!r}.")
    return tuple(names)


def measure(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    kernel_x: Any,
    kernel_y: Any,
    scale_x: str,
    options: Options,
    seed: Seed,
) -> tuple[Joint | JointStream, Contrasts, tuple[Any, Any]]:
    """Score the sample with all models, and compute discrepancies and differences."""
    joint = prepare_joint(models, x, y, scale_x, options, seed)
    ready = joint.subsample.kernels(kernel_x, kernel_y, seed)
    return joint, contrast(joint, *ready, options, seed), ready


def _refuted(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    alternative: str,
    how: tuple[Any, ...],
    error: SupportError,
) -> Comparison:
    """Compare where a model gives some observations no density at all."""
    out = refuted_models(models, x, y, how[3].missing)
    if not out:
        raise error
    p, q = models
    notes = tuple(refuted_note(name, why) for name, why in out.items())
    n, seed = next(iter(out.values())).n, how[-1]
    if len(out) == 2:
        return Comparison(
            0.0, 1.0, "compare", n, names=(p, q), alternative=alternative,
            difference=math.nan, interval=(math.nan, math.nan), discrepancies=(math.inf, math.inf),
            seed=seed.value, details={"notes": notes},
        )  # fmt: skip
    sign = 1.0 if p in out else -1.0
    kept = {name: model for name, model in models.items() if name not in out}
    joint, found, kernels = measure(kept, x, y, *how)
    own = float(found.discrepancies[0])
    against = alternative == ("less" if p in out else "greater")
    details = details_of(joint, found)
    return Comparison(
        statistic=sign * math.inf,
        pvalue=1.0 if against else SMALLEST,
        names=(p, q),
        alternative=alternative,
        difference=sign * math.inf,
        interval=(sign * math.inf, sign * math.inf),
        discrepancies=(math.inf, own) if p in out else (own, math.inf),
        details={**details, "notes": (*notes, *details.get("notes", ()))},
        **common_fields(joint, found, kernels, seed, "compare"),
    )


def details_of(joint: Joint | JointStream, found: Contrasts) -> dict[str, Any]:
    """What is special to a comparison: solver, coordinates, notes."""
    rows = joint.subsample
    details: dict[str, Any] = {**rows.coordinates(), **found.details}
    errors = [error for error in rows.common.errors if error is not None]
    if errors:
        details["score_error"] = max(errors)
    notes = (*rows.notes(), *found.details.get("notes", ()))
    return {**details, **({"notes": notes} if notes else {})}


def common_fields(
    joint: Joint | JointStream, found: Contrasts, kernels: tuple[Any, Any], seed: Seed, method: str
) -> dict[str, Any]:
    """What every result of a comparison has."""
    return {
        "method": method,
        "n": joint.n,
        "kernel_x": kernels[0].shown(joint.subsample.sample.d_x),
        "kernel_y": kernels[1],
        "solver": found.solver,
        "seed": seed.value,
    }
