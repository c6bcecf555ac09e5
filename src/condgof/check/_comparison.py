"""Which of several models predicts better, by proper scores, and where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from condgof._typing import FloatArray, TableLike
from condgof.check._better_where import find_slices
from condgof.check._compared import SCORES, Comparison, Pair, Ranking, Score
from condgof.check._record import Slice
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Gaussian, Kernel
from condgof.methods import (
    Contrasts,
    HowToRead,
    Measured,
    censored_model,
    measured,
    read_options,
    spelled_out,
)
from condgof.null import check_n_boot, check_resolution
from condgof.result import check_alpha
from condgof.sample import Seed, Use

#: The kernels of the Stein discrepancy, unless others are given.
MEDIAN_GAUSSIAN = Gaussian("median")


def _check_kernels_used(kernels: tuple[Kernel, Kernel], studies: Mapping[str, Any]) -> None:
    """Refuse kernels of the user where no measure has any."""
    if "stein" in studies or all(kernel is MEDIAN_GAUSSIAN for kernel in kernels):
        return
    raise InputError(
        "kernel_x and kernel_y are those of the Stein discrepancy, and the measure here is"
        f" {', '.join(studies)}. Leave them out, or pass measure='stein'."
    )


@spelled_out(*HowToRead.__annotations__)
def compare(
    model_p: object,
    model_q: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    weights: TableLike | None = None,
    measure: str = "auto",
    names: tuple[str, str] = ("p", "q"),
    alpha: float = 0.05,
    kernel_x: Kernel = MEDIAN_GAUSSIAN,
    kernel_y: Kernel = MEDIAN_GAUSSIAN,
    **how: Unpack[HowToRead],
) -> Comparison:
    """Test which of two models predicts better.

    Each row is scored with every proper score that both models offer: the log score of
    densities and probabilities, the CRPS of CDFs and draws (of draws the fair one, whatever
    their number; of several columns the energy score), the Brier score of classes, the
    pinball loss of quantiles, the Winkler score of intervals. H0: the mean difference is 0.
    The p-value is the larger of Student's t test of the paired differences and of one that
    takes their skewness out, so that the level holds for skewed and for heavy-tailed ones.
    The verdict is by the first measure, in this order, that is finite for both models.
    Where fewer than ten rows are expected to differ from their most probable class or
    count, the variance is at least that under the mixture of both models with equal
    expected scores: that an event did not come is no proof. There the test is conservative
    (at 0.05 it may reject less than 1% of equally good models), since one event more or
    less decides.
    Censored times, with ``event=``, have the log score of what was observed, the density of
    an event and P(Y > y|x) of a censored row, which is proper whatever the censoring
    (Rindt, Hu, Steinsaltz and Sejdinovic 2022); and the integrated Brier score up to the
    90% quantile of y, weighted by the Kaplan-Meier estimate of censoring (Graf et al.
    1999), which needs no density, but censoring that does not depend on x.
    Unnormalised models (`from_score`, …) are compared by their Stein discrepancies, the
    squared KCSD of `kcsd`.

    Do not use it to find out whether a model fits (both may be wrong), or when a model was
    fitted on this same sample.

    Parameters
    ----------
    model_p, model_q : law, model or anything `as_model` takes
        The models, functional or bound to rows, in any mixture. Beside quantiles or
        intervals, another law is asked for the same quantiles, or the central intervals of
        the same coverage.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates, in which slices are looked for; the models may be `columns` of a source
        from `scan`.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    event, entry : array_like of shape (n,), optional
        Of censored times, as in `check`.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, as in `check`: mean scores are weighted, and errors
        are those of weighted means. Slices are not looked for then. For rows in memory and
        proper scores.
    measure : {"auto", "log", "crps", "energy", "brier", "pinball", "winkler", "ibs", \
"stein"}
        The measure of the verdict; "auto" computes all that both models offer.
    names : pair of str
        What to call the models.
    alpha : float
        Level of the verdict in words, and of the slices.
    kernel_x, kernel_y : Kernel
        Of the Stein discrepancy.
    groups, dependence, missing, rng, engine, memory
        As in `check`; `rng` matters for the slices and the Stein discrepancy only.

    Returns
    -------
    Comparison

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
    """
    p, q = check_names(names, 2)
    check_alpha(alpha)
    options, seed = read_options(compare, how)
    scored = measured(
        models=_with_events({p: model_p, q: model_q}, x, y, event, entry),
        x=x,
        y=y,
        measure=measure,
        kernels=(kernel_x, kernel_y),
        options=options,
        seed=seed,
        weights=weights,
    )
    _check_kernels_used((kernel_x, kernel_y), scored.studies)
    scores = [Score.from_study(key, study) for key, study in scored.studies.items()]
    chosen = _first_finite(scores)
    details = dict(scored.details)
    slices: tuple[Slice, ...] = ()
    if scored.weights is None:
        slices = find_slices(scored, chosen, (p, q), alpha, seed, options.engine)
    else:
        details["notes"] = (*details["notes"], "slices are not looked for with weights")
    return Comparison(
        statistic=scored.studies[chosen.key].pairs[0, 1].z,
        pvalue=chosen.pvalue,
        method="compare",
        n=scored.n,
        seed=seed.value,
        details=details,
        names=(p, q),
        measure=chosen.key,
        measures=tuple(scores),
        slices=slices,
        alpha=alpha,
    )


def _with_events(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None,
    event: TableLike | None,
    entry: TableLike | None,
) -> dict[str, Any]:
    """Bind models, by name, to censored times; return them as they are without any."""
    return {
        name: censored_model(model, x, y, event, entry) for name, model in models.items()
    }


def _first_finite(scores: Sequence[Score]) -> Score:
    """Return the first measure that is finite for both models, else the first of all."""
    finite = [score for score in scores if math.isfinite(score.difference)]
    return finite[0] if finite else scores[0]


@spelled_out(*HowToRead.__annotations__)
def rank(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    weights: TableLike | None = None,
    measure: str = "auto",
    alpha: float = 0.05,
    n_boot: int = 9999,
    kernel_x: Kernel = MEDIAN_GAUSSIAN,
    kernel_y: Kernel = MEDIAN_GAUSSIAN,
    **how: Unpack[HowToRead],
) -> Ranking:
    """Order several models by a proper score, and say which of them may be the best.

    Every pair is compared as in `compare`, by the first measure that all models offer and
    that is finite for all. P-values are corrected for the number of pairs by the step-down
    max-T method (Romano and Wolf), with joint normal draws that have the pairs' own
    correlation: all statements "b predicts worse than a" at level alpha hold together with
    probability 1 − alpha, and the best model is among those that no other beats
    (`Ranking.best`) with at least that probability.

    Parameters
    ----------
    models : mapping of str to model
        Two models or more, by name; each a law, model or anything `as_model` takes.
    x, y, event, entry, weights, measure, alpha, groups, dependence, missing
        As in `compare`.
    kernel_x, kernel_y
        As in `compare`.
    engine, memory
        As in `compare`.
    n_boot : int
        Number of joint draws.
    rng : int, numpy.random.Generator or None
        Of these draws, and of what `compare` needs.

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
            f"rank takes a mapping of names to models, got {type(models).__name__}."
        )
    names = check_names(list(models))
    if len(names) < 2:
        raise InputError(f"rank needs two models or more, got {len(names)}.")
    check_alpha(alpha)
    draws = check_n_boot(n_boot)
    check_resolution(alpha, draws)
    options, seed = read_options(rank, how)
    scored = measured(
        models=_with_events(models, x, y, event, entry),
        x=x,
        y=y,
        measure=measure,
        kernels=(kernel_x, kernel_y),
        options=options,
        seed=seed,
        weights=weights,
    )
    _check_kernels_used((kernel_x, kernel_y), scored.studies)
    key = _first_without_infinite(scored.studies)
    study = scored.studies[key]
    order = sorted(range(len(names)), key=lambda a: -SCORES[key].sign * study.means[a])
    others = {
        SCORES[other].name: tuple(its.means[order].tolist())
        for other, its in scored.studies.items()
        if other != key
    }
    notes = (*_notes_on_infinite(scored, names, key), *scored.details["notes"])
    return Ranking(
        names=tuple(names[a] for a in order),
        means=tuple(study.means[order].tolist()),
        pairs=tuple(_ranked_pairs(study, names, SCORES[key].sign, draws, seed)),
        n=scored.n,
        measure=key,
        others=others,
        alpha=alpha,
        seed=seed.value,
        details={**scored.details, "notes": notes, "n_boot": draws},
    )


def _first_without_infinite(studies: Mapping[str, Contrasts]) -> str:
    """Return the first measure that is finite for all models, else the first of all."""
    finite = [key for key, study in studies.items() if not any(study.infinite)]
    return finite[0] if finite else next(iter(studies))


def _notes_on_infinite(scored: Measured, names: Sequence[str], key: str) -> list[str]:
    """Say which models have infinite scores, and which measure ranks them instead."""
    observed = scored.details.get("observed", "rows")
    notes = []
    for other, study in scored.studies.items():
        instead = "" if other == key else f"; models are ranked by {SCORES[key].name}"
        for name, count in zip(names, study.infinite, strict=True):
            if count:
                reason = SCORES[other].infinite_words(name, count, scored.n, observed)
                notes.append(reason + instead)
    return notes


def _ranked_pairs(
    study: Contrasts, names: Sequence[str], sign: float, draws: int, seed: Seed
) -> Iterable[Pair]:
    """Yield all pairs, the most significant first.

    `sign` is 1 where higher values of the measure are better, −1 where lower ones are.
    """
    for (a, b), pvalue in corrected_pvalues(study, draws, seed).items():
        pair = study.pairs[a, b]
        better, worse = (a, b) if sign * pair.value >= 0 else (b, a)
        yield Pair(
            better=names[better],
            worse=names[worse],
            difference=abs(pair.value),
            standard_error=pair.error,
            # A pair that does not differ at all keeps its p-value of 1.
            pvalue=1.0 if pair.pvalue == 1.0 else pvalue,
            single=pair.pvalue,
        )


def check_names(names: Any, count: int | None = None) -> tuple[str, ...]:
    """Check what models are to be called."""
    listed = isinstance(names, Sequence) and not isinstance(names, str)
    if not listed or not all(isinstance(name, str) and name for name in names):
        raise InputTypeError(
            f"Models must be named by strings that are not empty, got {names!r}."
        )
    if len(names) != (count or len(names)) or len(set(names)) < len(names):
        raise InputError(
            f"The {count or len(names)} models must have different names, got {names!r}."
        )
    return tuple(names)


def corrected_pvalues(study: Contrasts, m: int, seed: Seed) -> dict[tuple[int, int], float]:
    """Return p-values of all pairs by step-down max-T over m joint normal draws of |z|.

    The pairs are in the order of their own p-values, and no corrected p-value is smaller
    than the pair's own.
    """
    pairs = study.pairs
    order = sorted(pairs, key=lambda pair: pairs[pair].pvalue)
    single = np.array([pairs[pair].pvalue for pair in order])
    draws = _joint_draws(study.covariance, order, m, seed)
    # The largest |z| of the pairs that are left at each step, (m, pairs).
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    monotone = np.maximum.accumulate(np.maximum((1 + above) / (m + 1), single))
    corrected = np.minimum(monotone, 1.0)
    return dict(zip(order, corrected.tolist(), strict=True))


def _joint_draws(
    covariance: FloatArray, pairs: Sequence[tuple[int, int]], m: int, seed: Seed
) -> FloatArray:
    """Draw |z| of pairs (a, b) of models with this covariance (K, K), (m, pairs)."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in pairs])
    norms = np.linalg.norm(contrasts, axis=1, keepdims=True)
    directions = np.divide(contrasts, norms, out=np.zeros(contrasts.shape), where=norms > 0)
    normal = seed.stream(Use.BOOTSTRAP).standard_normal((m, len(root)))
    return np.asarray(np.abs(normal @ directions.T))
