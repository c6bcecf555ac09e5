"""Several models in the order of their fit, all pairs tested together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, SupportError
from condgof.kernels import Gaussian, Kernel
from condgof.methods._compare import (
    SMALLEST,
    check_names,
    common_fields,
    details_of,
    joint_options,
    measure,
)
from condgof.methods._comparison import Pair, Ranking
from condgof.methods._contrast import Contrasts
from condgof.methods._joint_prepare import refuted_models, refuted_note
from condgof.null import check_n_boot
from condgof.sample import RngLike, Seed, Use
from condgof.stein import DEFAULT_MEMORY


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
    rank: int | None = None,
    tolerance: float | None = None,
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
    x, y, kernel_x, kernel_y, scale_x, solver, rank, tolerance, engine, memory
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
    options = joint_options(solver, rank, tolerance, engine, memory, missing)
    draws, seed = check_n_boot(n_boot), Seed.of(rng)
    how = (kernel_x, kernel_y, scale_x, options, seed)
    out: dict[str, SupportError] = {}
    try:
        joint, found, kernels = measure(models, x, y, *how)
    except SupportError as error:
        out = refuted_models(models, x, y, missing)
        if not out:
            raise
        kept = {name: models[name] for name in names if name not in out}
        notes = tuple(refuted_note(name, why) for name, why in out.items())
        if not kept:
            return Ranking(
                names, (math.inf,) * len(names), _hopeless(names, ()), error.n,
                seed=seed.value, details={"notes": notes},
            )  # fmt: skip
        joint, found, kernels = measure(kept, x, y, *how)
    left = joint.subsample.names
    order = sorted(range(len(left)), key=lambda a: found.discrepancies[a])
    pairs = [*_pairs(left, found, draws, seed), *_hopeless(tuple(out), left)]
    details = details_of(joint, found)
    notes = (*(refuted_note(*one) for one in out.items()), *details.get("notes", ()))
    return Ranking(
        names=(*(left[a] for a in order), *out),
        discrepancies=(*(float(found.discrepancies[a]) for a in order), *(math.inf for _ in out)),
        pairs=tuple(sorted(pairs, key=lambda pair: (pair.adjusted, pair.pvalue))),
        details={**details, "n_boot": draws, **({"notes": notes} if notes else {})},
        **common_fields(joint, found, kernels, seed, "rank"),
    )


def _pairs(names: tuple[str, ...], found: Contrasts, m: int, seed: Seed) -> list[Pair]:
    """Return all pairs of models that can be compared, with both p-values."""
    adjusted = _adjusted(found, m, seed)
    pairs = []
    for (a, b), difference in found.pairs.items():
        better, worse = (a, b) if difference.value <= 0 else (b, a)
        pairs.append(
            Pair(
                names[better],
                names[worse],
                abs(difference.value),
                difference.error,
                difference.pvalue("two-sided"),
                adjusted[a, b],
            )
        )
    return pairs


def _adjusted(found: Contrasts, m: int, seed: Seed) -> dict[tuple[int, int], float]:
    """Correct the p-values of all pairs: step-down max-T over joint normal draws.

    Never below the p-value of the pair by itself, which does not end at 1/(m + 1).
    """
    differ = [pair for pair, difference in found.pairs.items() if difference.error > 0]
    adjusted = dict.fromkeys(found.pairs, 1.0)
    if not differ:
        return adjusted
    draws = _draws(found.covariance, differ, m, seed)
    order = sorted(range(len(differ)), key=lambda k: -abs(found.pairs[differ[k]].z))
    # The largest of the pairs that are still left, for each step.
    largest = np.maximum.accumulate(draws[:, order[::-1]], axis=1)[:, ::-1]
    before = 0.0
    for step, k in enumerate(order):
        difference = found.pairs[differ[k]]
        above = int(np.count_nonzero(largest[:, step] >= abs(difference.z)))
        before = max(before, (1 + above) / (m + 1), difference.pvalue("two-sided"))
        adjusted[differ[k]] = min(1.0, before)
    return adjusted


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
