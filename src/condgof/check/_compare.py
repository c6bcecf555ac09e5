"""Which of several models predicts better, by proper scores, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import axes_of
from condgof.check._comparison import DISCREPANCY, Comparison, Pair, Ranking, Score, infinite_words
from condgof.check._record import Finding, Slice, check_alpha
from condgof.check._scan import Scan, Space
from condgof.check._signals import Signal, Signals
from condgof.engine import as_engine, single_threaded_blas
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Gaussian, Kernel
from condgof.laws import MEASURES, Measure
from condgof.methods._contrast import Contrasts, contrast
from condgof.methods._dependence import Asked
from condgof.methods._joint import prepare_joint
from condgof.methods._measured import STEIN, Measured, measured
from condgof.methods._options import Options
from condgof.null import Dependence, Difference, Paired, check_n_boot
from condgof.sample import RngLike, Seed, Use
from condgof.stein import DEFAULT_MEMORY

#: Rows below which slices are not looked for, how many are named, and draws of the search.
LEAST_ROWS, MOST, N_SEARCH = 100, 3, 999
#: Standard errors that an interval of 95% reaches to either side.
REACH = 1.96


def compare(
    model_p: Any,
    model_q: Any,
    x: Any,
    y: Any = None,
    *,
    measure: str = "auto",
    names: tuple[str, str] = ("p", "q"),
    alpha: float = 0.05,
    groups: Any = None,
    dependence: int | str | None = None,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Comparison:
    """Test which of two models predicts better.

    Each row is scored with every proper score that both models offer: the log score of densities and
    probabilities, the CRPS of CDFs and draws (of draws the fair one, which does not depend on their
    number; of draws of several columns the energy score), the Brier score of classes, the pinball loss
    of quantiles, the Winkler score of intervals. H0: the mean difference d̄ of the scores is 0. Both
    models may be wrong. The p-value is the larger of Student's t test of the paired differences and
    of one that takes their skewness out, so that its level holds for skewed and for heavy-tailed
    differences; for a model against itself it is 1. The verdict is by the first measure, in the
    order above, that is finite for both models.

    Unnormalised models (`from_score`, `from_scores`, `from_log_prob` of several columns) are compared by
    their Stein discrepancies, the squared KCSD of `kcsd`, which need no normalising constant.

    Do not use it to find out whether a model fits: both may be wrong. Do not use it when a model was
    fitted on this same sample: it would look better than it is.

    Parameters
    ----------
    model_p, model_q : law, model or anything `as_model` takes
        The models, functional or bound to rows, in any mixture. Beside quantiles or intervals, another
        law is asked for the same quantiles, or the central intervals of the same coverage.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates, as in `check`: they are where slices are looked for. With a source from `scan` the
        models may be `columns` of it; it is read once.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    measure : {"auto", "log", "crps", "energy", "brier", "pinball", "winkler", "stein"}
        The measure of the verdict; "auto" computes all that both models offer.
    names : pair of str
        What to call the models.
    alpha : float
        Level of the verdict in words, and of the slices.
    groups, dependence
        Rows that depend on each other, as in `check`: differences are added up over groups, or blocks.
    kernel_x, kernel_y : Kernel
        Of the Stein discrepancy.
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `check`.
    rng, engine, memory
        As in `check`; `rng` matters for the slices and the Stein discrepancy only.

    Returns
    -------
    Comparison
        `words`, `measure`, `difference` (first less second), `interval`, `pvalue`, all `measures`, and
        `slices`: where the other model is better, or the difference larger than over all rows.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(500)
    >>> line, curve = (x + 0.4, np.ones(500)), (x + 0.3 * x**2, np.ones(500))
    >>> found = cg.compare(line, curve, x, y, names=("line", "curve"), rng=0)
    >>> found.better, found.measure, found.reject()
    ('curve', 'log', True)

    Two classifiers, by the probability of the second class:

    >>> label = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no")
    >>> steep, flat = (cg.probabilities(1 / (1 + np.exp(-b * x)), ["no", "yes"]) for b in (1.2, 0.1))
    >>> [(score.key, score.pvalue < 0.05) for score in cg.compare(steep, flat, x, label).measures]
    [('log', True), ('brier', True)]
    """
    given = dict(zip(check_names(names, 2), (model_p, model_q), strict=True))
    check_alpha(alpha)
    seed, asked = Seed.of(rng), Asked.of(dependence, groups, "auto")
    found = measured(given, x, y, measure, missing, asked)
    how = {"engine": engine, "memory": memory, "missing": missing}
    if not found.tables:
        stein, details = _stein(given, x, y, kernel_x, kernel_y, asked, how, seed)
        pairs: dict[str, Paired | Difference] = {STEIN: stein.pairs[0, 1]}
        scores = [_score(DISCREPANCY, stein.discrepancies, pairs[STEIN])]
        n, details = details.pop("n"), details
    else:
        pairs = {key: Paired.of(found.differences(key), found.dependence) for key in found.tables}
        scores = [
            _score(MEASURES[key], table.mean(axis=1), pairs[key], found.impossible(key))
            for key, table in found.tables.items()
        ]
        n, details = found.n, _details(found)
    chosen = next((s for s in scores if math.isfinite(s.difference)), scores[0])
    slices: tuple[Slice, ...] = ()
    if found.tables and found.sample is not None and math.isfinite(chosen.difference):
        slices = _where(found, chosen.key, tuple(given), alpha, seed, engine)  # type: ignore[arg-type]
    one = pairs[chosen.key]
    return Comparison(
        one.z, one.pvalue, "compare", n, seed=seed.value, details=details, names=tuple(given),  # type: ignore[arg-type]
        measure=chosen.key, measures=tuple(scores), slices=slices, alpha=alpha,
    )  # fmt: skip


def rank(
    models: Mapping[str, Any],
    x: Any,
    y: Any = None,
    *,
    measure: str = "auto",
    alpha: float = 0.05,
    n_boot: int = 9999,
    groups: Any = None,
    dependence: int | str | None = None,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Ranking:
    """Order several models by a proper score, and say which of them may be the best.

    Every pair is compared as in `compare`, by the first measure that all models offer and that is finite
    for all. The p-values of the pairs are corrected for their number by the step-down max-T method
    (Romano and Wolf): the largest |z| among pairs is held against the largest of joint normal draws that
    have the pairs' own correlation. So all statements "b predicts worse than a" at level alpha hold
    together with probability 1 − alpha, and the best model is among those that no other beats
    (`Ranking.best`) with at least that probability.

    Parameters
    ----------
    models : mapping of str to model
        Two models or more, by name; each a law, model or anything `as_model` takes.
    x, y, measure, alpha, groups, dependence, kernel_x, kernel_y, missing, engine, memory
        As in `compare`.
    n_boot : int
        Number of joint draws.
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
    check_alpha(alpha)
    draws, seed, asked = check_n_boot(n_boot), Seed.of(rng), Asked.of(dependence, groups, "auto")
    found = measured(models, x, y, measure, missing, asked)
    if not found.tables:
        how = {"engine": engine, "memory": memory, "missing": missing}
        stein, details = _stein(models, x, y, kernel_x, kernel_y, asked, how, seed)
        n, key, means, covariance = details.pop("n"), STEIN, stein.discrepancies, stein.covariance
        pairs: dict[tuple[int, int], Paired | Difference] = dict(stein.pairs)
    else:
        finite = [k for k, table in found.tables.items() if np.isfinite(table).all()]
        key = (finite or list(found.tables))[0]
        table = found.tables[key]
        n, means, covariance, details = (
            found.n,
            table.mean(axis=1),
            _covariance(found, key),
            _details(found),
        )
        pairs = {
            (a, b): Paired.of(found.differences(key, a, b), found.dependence)
            for a, b in combinations(range(len(names)), 2)
        }
        details["notes"] = (*_left_out(found, key), *details.get("notes", ()))
    sign = MEASURES.get(key, DISCREPANCY).sign
    order = sorted(range(len(names)), key=lambda a: -sign * means[a])
    others = {
        MEASURES[k].name: tuple(float(t[a].mean()) for a in order)
        for k, t in found.tables.items()
        if k != key
    }
    return Ranking(
        names=tuple(names[a] for a in order),
        means=tuple(float(means[a]) for a in order),
        pairs=_pairs(names, pairs, covariance, sign, draws, seed),
        n=n, measure=key, others=others, alpha=alpha, seed=seed.value,
        details={**details, "n_boot": draws},
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


def _score(
    measure: Measure, means: FloatArray, one: Paired | Difference, infinite: Sequence[int] = (0, 0)
) -> Score:
    first, second = (float(mean) for mean in means)
    both = (int(infinite[0]), int(infinite[1]))
    about = measure.key, measure.name, measure.better
    return Score(*about, (first, second), one.value, one.interval(), one.pvalue, both)


def _details(found: Measured) -> dict[str, Any]:
    return {"observed": found.observed, "notes": found.notes, **found.dependence.details()}


def _left_out(found: Measured, key: str) -> list[str]:
    """Say of each model whose score by some measure is infinite, and what models are ranked by."""
    return [
        infinite_words(name, MEASURES[other], count, found.n, found.observed)
        + ("" if other == key else f"; models are ranked by {MEASURES[key].name}")
        for other in found.tables
        for name, count in zip(found.names, found.impossible(other), strict=True)
        if count
    ]


def _stein(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    kernel_x: Any,
    kernel_y: Any,
    asked: Asked,
    how: Any,
    seed: Seed,
) -> tuple[Contrasts, dict[str, Any]]:
    """Compare models that have no proper score by their Stein discrepancies."""
    if asked.groups is not None or asked.dependence is not None:
        raise InputError(
            "groups= and dependence= go with proper scores, and these models have none in common: their "
            "Stein discrepancies take rows as independent. Leave them out, or give normalised models."
        )
    options = Options.of(solver="auto", null="auto", n_boot=1000, precision=None, **how)
    joint = prepare_joint(models, x, y, "std", options, seed)
    kernels = joint.some[0].kernels(kernel_x, kernel_y, seed)
    found = contrast(joint, *kernels, options, seed)
    notes = (*joint.each[0].notes(), *found.details.get("notes", ()))
    shown = {"kernel_x": str(kernels[0].shown(joint.each[0].sample.d_x)), "kernel_y": str(kernels[1])}
    more = {**joint.details, **found.details, "solver": found.solver, **shown, "notes": notes}
    return found, {**more, "n": joint.n}


def _covariance(found: Measured, key: str) -> FloatArray:
    """Return the covariance of the mean scores, (K, K), by groups or blocks where rows are in such."""
    table = np.where(np.isfinite(found.tables[key]), found.tables[key], 0.0)
    centred = table - table.mean(axis=1, keepdims=True)
    if not found.dependence.independent:
        parcels = found.dependence.parcels(found.n, found.n)
        units = np.asarray(parcels.of(0, found.n), dtype=np.int64)
        centred = np.stack([np.bincount(units, own, parcels.count) for own in centred])
    return np.asarray(centred @ centred.T / found.n**2)


def _pairs(
    names: tuple[str, ...],
    pairs: Mapping[tuple[int, int], Paired | Difference],
    covariance: FloatArray,
    sign: float,
    m: int,
    seed: Seed,
) -> tuple[Pair, ...]:
    """Return all pairs of models with both p-values, the most significant first.

    Step-down max-T over joint normal draws; never below the p-value of the pair by itself, which does
    not end at 1/(m + 1).
    """
    order = sorted(pairs, key=lambda pair: pairs[pair].pvalue)
    draws = _draws(covariance, order, m, seed)
    # The largest of the pairs that are still left, for each step.
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    own = np.array([pairs[pair].pvalue for pair in order])
    corrected = np.minimum(np.maximum.accumulate(np.maximum((1 + above) / (m + 1), own)), 1.0)
    found = []
    for pair, adjusted in zip(order, corrected.tolist(), strict=True):
        one = pairs[pair]
        a, b = pair if sign * one.value >= 0 else pair[::-1]
        p = 1.0 if one.pvalue == 1.0 else adjusted
        found.append(Pair(names[a], names[b], abs(one.value), one.error, p, one.pvalue))
    return tuple(found)


def _draws(covariance: FloatArray, pairs: list[tuple[int, int]], m: int, seed: Seed) -> FloatArray:
    """Draw |z| of all pairs at once, (m, P), where no two models differ."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in pairs])
    size = np.linalg.norm(contrasts, axis=1, keepdims=True)
    contrasts = np.divide(contrasts, size, out=np.zeros(contrasts.shape), where=size > 0)
    normals = seed.stream(Use.BOOTSTRAP).standard_normal((m, len(covariance)))
    return np.asarray(np.abs(normals @ contrasts.T))


def _where(
    found: Measured, key: str, names: tuple[str, str], alpha: float, seed: Seed, engine: Any
) -> tuple[Slice, ...]:
    """Search for slices in which the difference is another than over all rows."""
    sample, d, rows = found.sample, found.differences(key), found.dependence
    assert sample is not None
    axes = axes_of(sample.x_columns, sample.x)
    if found.n < LEAST_ROWS or not axes or not (d != d[0]).any():
        return ()
    centred = (d - d.mean())[:, None]
    signals = Signals((Signal("score", ""),), centred, None, None, first=1, unit=False)
    with single_threaded_blas():
        space = Space.of(axes, seed, 1, 1, found.n, known=False)
        if not space.parts:
            return ()
        scan = Scan.of(space, signals, rows, N_SEARCH, seed, as_engine(engine))
        stand_out = scan.slices(alpha, MOST)
    units = np.asarray(rows.parcels(found.n, found.n).of(0, found.n), dtype=np.int64)
    threshold, overall = scan.threshold(alpha), float(d.mean())
    kept = np.arange(found.n) if sample.kept is None else sample.kept
    slices = []
    for one, p in stand_out:
        inside = np.flatnonzero(space.inside(one.where))
        if one.everywhere:
            continue
        reach = max(threshold + one.penalty, REACH)
        finding = _finding(MEASURES[key], names, d[inside], units[inside], reach)
        weaker = finding.estimate * overall >= 0 and abs(finding.estimate) < abs(overall)
        if weaker or not finding.telling:  # less of the same, or perhaps nothing, is no news
            continue
        slices.append(scan.told(one, p, kept[inside], (finding,)))
    return tuple(slices)


def _finding(
    measure: Measure, names: tuple[str, str], d: FloatArray, units: IntArray, reach: float
) -> Finding:
    """Say which model is better in some rows: the mean difference of exactly these.

    The interval is as wide as the search asks for, so that it holds for what was found.
    """
    from scipy.special import ndtr

    one = Paired.of(d, Dependence(codes=np.unique(units, return_inverse=True)[1].ravel()))
    interval = one.interval(1.0 - 2.0 * float(ndtr(-reach)))
    better, worse = names if measure.sign * one.value >= 0 else names[::-1]
    sign = 1.0 if better == names[0] else -1.0
    score = Score(measure.key, measure.name, measure.better, (0.0, 0.0), one.value, interval, one.pvalue)
    words = f"{better} predicts better than {worse}, {score.words(sign)}, {len(d):,} rows"
    return Finding("score", "", one.value, interval, 0.0, words, f"{better} better")
