"""Does one model fit worse than another, and which of several fits best?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, SupportError
from condgof.kernels import Gaussian, Kernel
from condgof.methods._comparison import Comparison, Pair, Ranking
from condgof.methods._contrast import Contrasts, contrast
from condgof.methods._joint import prepare_joint, refuted_models
from condgof.methods._options import Options
from condgof.null import check_alternative, check_n_boot, normal_pvalue
from condgof.sample import RngLike, Seed, Use
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
    precision: float | None = None,
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
    scale_x : {"std", "ranks", "none"}
        How numeric columns of x are compared: in standard deviations, by normal scores of their ranks,
        or as they are.
    solver : {"auto", "exact", "lowrank"}
        "exact" sweeps both matrices in tiles, n² operations; "lowrank" compares the models through the
        same few hundred functions and is linear in n; "auto" is exact up to 5,000 rows.
    precision : float, optional
        Relative residual of the kernels that the low-rank solver is to reach (1e-4, with at most 400
        functions of x); ``details["precision"]`` is what was reached.
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `kcsd`.
    rng, engine, memory
        As in `kcsd`; `rng` matters only above 1,000 rows, for the median heuristic, the size of a
        degenerate difference and the low-rank solver.

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
    options = joint_options(solver, precision, engine, memory, missing)
    models = dict(zip(check_names(names, 2), (model_p, model_q), strict=True))
    measured = measure(models, x, y, kernel_x, kernel_y, scale_x, options, Seed.of(rng))
    p, q = models
    known = dict(zip(measured.names, measured.found.discrepancies.tolist(), strict=True))
    fields = {
        "method": "compare",
        "names": (p, q),
        "alternative": alternative,
        "discrepancies": (known.get(p, math.inf), known.get(q, math.inf)),
        **measured.fields,
    }
    if len(known) == 2:
        difference = measured.found.pairs[0, 1]
        fields["details"]["standard_error"] = difference.error
        fields["details"]["skewness"] = (difference.cube, difference.cross)
        return Comparison(
            difference.z,
            difference.pvalue(alternative),
            difference=difference.value,
            interval=difference.interval(0.95),
            **fields,
        )
    if not known:
        return Comparison(0.0, 1.0, difference=math.nan, interval=(math.nan, math.nan), **fields)
    far = math.inf if q in known else -math.inf
    against = alternative == ("less" if far > 0 else "greater")
    return Comparison(far, 1.0 if against else SMALLEST, difference=far, interval=(far, far), **fields)


def rank(
    models: Mapping[str, Any],
    x: Any,
    y: Any = None,
    *,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "std",
    solver: str = "auto",
    n_boot: int = 9999,
    precision: float | None = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Ranking:
    """Order several models by their fit, and say which differences are more than noise.

    Every pair is compared as in `compare`, in coordinates that all models share. The p-values of the
    pairs are corrected for their number by the step-down max-T method (Romano and Wolf): the largest
    |z| among pairs is held against the largest of joint normal draws that have the pairs' own
    correlation. So all statements "b fits worse than a" at level alpha hold together with probability
    1 − alpha, and the best model is among those that no other beats (`Ranking.best`) with at least that
    probability.

    Parameters
    ----------
    models : mapping of str to model
        Two models or more, by name; each a law, model or anything `as_model` takes, all of a
        continuous or all of a discrete y.
    x, y, kernel_x, kernel_y, scale_x, solver, precision, engine, memory
        As in `compare`.
    n_boot : int
        Number of joint draws.
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `kcsd`.
    rng : int, numpy.random.Generator or None
        Where randomness comes from: the draws above, and what `compare` needs.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(500)
    >>> models = {f"bend {b}": (x + b * x**2, np.ones(500)) for b in (0.0, 0.3, -0.3)}
    >>> found = cg.rank(models, x, y, rng=0)
    >>> found.names, found.best()
    (('bend 0.3', 'bend 0.0', 'bend -0.3'), ('bend 0.3',))
    """
    if not isinstance(models, Mapping):
        raise InputTypeError(
            f'rank takes a mapping such as {{"a": model, "b": model}}, got {type(models).__name__}.'
        )
    names = check_names(list(models))
    if len(names) < 2:
        raise InputError(f"rank needs two models or more, got {len(names)}.")
    options = joint_options(solver, precision, engine, memory, missing)
    draws, seed = check_n_boot(n_boot), Seed.of(rng)
    measured = measure(models, x, y, kernel_x, kernel_y, scale_x, options, seed)
    left, found, out = measured.names, measured.found, measured.refuted
    order = sorted(range(len(left)), key=lambda a: found.discrepancies[a])
    pairs = [*_pairs(left, found, draws, seed), *_hopeless(out, left)]
    details = {**measured.fields["details"], **({"n_boot": draws} if left else {})}
    return Ranking(
        names=(*(left[a] for a in order), *out),
        discrepancies=(*(float(found.discrepancies[a]) for a in order), *(math.inf for _ in out)),
        pairs=tuple(sorted(pairs, key=lambda pair: (pair.adjusted, pair.pvalue))),
        **{**measured.fields, "details": details},
    )


def joint_options(solver: Any, precision: Any, engine: Any, memory: Any, missing: str) -> Options:
    """Check how to solve; "auto" is exact up to 5,000 rows, as in a test with 1,000 draws."""
    return Options.of(
        solver=solver, null="auto", n_boot=1000, precision=precision, engine=engine, memory=memory,
        missing=missing,
    )  # fmt: skip


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


class Measured(NamedTuple):
    """What a measure says of the models that the data do not refute."""

    names: tuple[str, ...]
    found: Contrasts
    #: The models that they do refute.
    refuted: tuple[str, ...]
    #: What every result has.
    fields: dict[str, Any]


def measure(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    kernel_x: Any,
    kernel_y: Any,
    scale_x: str,
    options: Options,
    seed: Seed,
) -> Measured:
    """Score the sample with all models, and compute discrepancies and differences."""
    try:
        joint = prepare_joint(models, x, y, scale_x, options, seed)
        ready = joint.some[0].kernels(kernel_x, kernel_y, seed)
        found = contrast(joint, *ready, options, seed)
    except SupportError:
        out = refuted_models(models, x, y, options.missing)
        if not out:
            raise
        return _without(out, models, x, y, kernel_x, kernel_y, scale_x, options, seed)
    notes = (*joint.each[0].notes(), *found.details.get("notes", ()))
    fields = {
        "n": joint.n,
        "kernel_x": ready[0].shown(joint.each[0].sample.d_x),
        "kernel_y": ready[1],
        "solver": found.solver,
        "seed": seed.value,
        "details": {**joint.details, **found.details, **({"notes": notes} if notes else {})},
    }
    return Measured(joint.names, found, (), fields)


def _without(out: dict[str, SupportError], models: Mapping[str, Any], *how: Any) -> Measured:
    """Measure the models that are left, if any, and say why the others are refuted."""
    notes = tuple(
        f"{name} is refuted: y is outside its support, or on the boundary, so that it gives y no "
        f"probability, in {error.count} of {error.n} rows, the first in row {error.first_row} (counted "
        "from 0)"
        for name, error in out.items()
    )
    kept = {name: model for name, model in models.items() if name not in out}
    if kept:
        left = measure(kept, *how)
    else:
        none = Contrasts(np.empty(0), {}, np.empty((0, 0)), None, {})
        n = next(iter(out.values())).n
        left = Measured((), none, (), {"n": n, "seed": how[-1].value, "details": {}})
    left.fields["details"]["notes"] = (*notes, *left.fields["details"].get("notes", ()))
    return left._replace(refuted=tuple(out))


def _pairs(names: tuple[str, ...], found: Contrasts, m: int, seed: Seed) -> list[Pair]:
    """Return all pairs of models that can be compared, with both p-values."""
    adjusted, pairs = _adjusted(found, m, seed), []
    for (a, b), one in found.pairs.items():
        order = (names[a], names[b]) if one.value <= 0 else (names[b], names[a])
        both = (one.pvalue("two-sided"), adjusted.get((a, b), 1.0))
        pairs.append(Pair(*order, abs(one.value), one.error, *both))
    return pairs


def _adjusted(found: Contrasts, m: int, seed: Seed) -> dict[tuple[int, int], float]:
    """Correct the p-values of all pairs that differ: step-down max-T over joint normal draws.

    Never below the p-value of the pair by itself, which does not end at 1/(m + 1).
    """
    pairs = {pair: one for pair, one in found.pairs.items() if one.error > 0}
    if not pairs:
        return {}
    order = sorted(pairs, key=lambda pair: -abs(pairs[pair].z))
    draws = _draws(found.covariance, order, m, seed)
    # The largest of the pairs that are still left, for each step.
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    own = [pairs[pair].pvalue("two-sided") for pair in order]
    corrected = np.maximum.accumulate(np.maximum((1 + above) / (m + 1), own))
    return dict(zip(order, np.minimum(corrected, 1.0).tolist(), strict=True))


def _draws(covariance: FloatArray, pairs: list[tuple[int, int]], m: int, seed: Seed) -> FloatArray:
    """Draw |z| of all pairs at once, (m, P), where no two models differ."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in pairs])
    size = np.linalg.norm(contrasts, axis=1, keepdims=True)
    contrasts = np.divide(contrasts, size, out=np.zeros(contrasts.shape), where=size > 0)
    normals = seed.stream(Use.BOOTSTRAP).standard_normal((m, len(covariance)))
    draws: FloatArray = np.abs(normals @ contrasts.T)
    return draws


def _hopeless(refuted: tuple[str, ...], others: tuple[str, ...]) -> tuple[Pair, ...]:
    """Pairs with a refuted model: worse than all that are not, and no worse than one another."""
    against = [Pair(name, bad, math.inf, 0.0, SMALLEST, SMALLEST) for bad in refuted for name in others]
    among = [Pair(a, b, math.nan, 0.0, 1.0, 1.0) for a, b in combinations(refuted, 2)]
    return (*against, *among)
