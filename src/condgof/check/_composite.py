"""A family of models that is fitted on these very rows: every null is drawn with refits.

`composite` is a parametric bootstrap. It fits the model, draws responses from it, fits it
again on each of these samples, and computes the same statistics of the data and of every
replicate. What the statistics are, and what is made of them, is a `RefitStatistic`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from condgof import engine as engines
from condgof._typing import TableLike
from condgof.check._record import Check
from condgof.check._refit_check import CheckStatistics
from condgof.check._refit_statistics import (
    NULL,
    TESTS,
    AdaptiveStatistics,
    RefitStatistic,
    SingleStatistic,
    check_solver_options,
)
from condgof.check._refits import (
    FirstFit,
    Progress,
    Replicates,
    check_remaining,
    check_workers,
    details_of,
    fit_sample,
    run_replicates,
    undo_shrinkage,
)
from condgof.errors import InputError, InputTypeError, check_finite, option, shown
from condgof.laws import as_fit, read_events, takes_weights
from condgof.methods import needs_memory, zheng
from condgof.null import check_n_boot, check_resolution
from condgof.result import GofResult, check_alpha
from condgof.sample import RngLike, Sample, Seed, hold, take_rows

#: Options of tests that `composite` decides itself, or that are of no use where the
#: rows of a replicate are independent.
OPTIONS_OF_COMPOSITE = (
    "rng",
    "engine",
    "n_boot",
    "null",
    "event",
    "entry",
    "dependence",
    "groups",
    "missing",
    "weights",
)
#: What a reader should know where the fit did not get the weights of rows.
UNWEIGHTED_FIT = (
    "the fit has no parameter named weights: rows count alike in it, and by their weights"
    " in all else"
)


def composite(
    fit: object,
    x: TableLike,
    y: TableLike,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    weights: TableLike | None = None,
    statistic: object = "check",
    alpha: float = 0.05,
    n_boot: int = 199,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: object = None,
    workers: str | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Check | GofResult:
    """Check a family of models whose parameters are estimated on this very sample.

    H0: the true conditional density is *some* member of the family that `fit` chooses from.
    A fitted model follows the noise of its own sample, so that tests of a fixed model
    reject far too seldom. Here the null comes from a parametric bootstrap with refitting.
    With p̂ = fit(x, y) and T its statistic,

        y*_b ~ p̂(· | x),   p̂*_b = fit(x, y*_b),   T*_b = T(p̂*_b, x, y*_b),
        b = 1, …, n_boot,   p-value = (1 + #{T*_b ≥ T}) / (n_boot + 1).

    By default the answer is a `Check`. T is the combination of `adaptive` (which does not
    look at predictions here) and of the gains of steps in columns, with a null from refits,
    and the same function of the data in all replicates. Refits give the intervals of the
    numbers of all rows; those of a slice are those of `check`, rather too wide here,
    because a fit takes a part of the noise away.

    A fit that shrinks (ridge regression, smoothing, boosting) does not reproduce itself:
    refits of samples drawn from it are shrunk once more, and the data look worse than they
    are. Eight refits measure this. Where refits miss the fit, y is drawn around another
    mean and with less noise, such that refits reproduce the fit on average, and a note says
    so; of a discrete or bounded y nothing is measured.

    Do not use it when the model was fitted on other data (use `check`), when rows are
    dependent, or when `fit` is so flexible that it follows the noise. Then, and where fits
    take long, use ``cg.check(cg.crossfit(fit, x, y), x, y)``. A note says so where the
    refits take more than a minute, or the effective number of parameters is above n/4: the
    mean over refits of Σ_i (m*_i − m_i)(y*_i − m_i)/v_i, with m and v the mean and variance
    of y under p̂, m* that of p̂*.

    Parameters
    ----------
    fit : callable
        (x, y) → the fitted model, a new object each time, that `as_model` takes and that
        can be sampled. It gets x and y in the containers that you passed; a parameter named
        rng gets a `numpy.random.Generator`. `condgof.fits` has ``ols()``,
        ``heteroscedastic()``, ``glm(family)``, ``sklearn(estimator)``.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    event, entry : array_like of shape (n,), optional
        Censoring, as in `check`. The fit gets them as well: it is (x, y, event) → model, or
        (x, y, event, entry) → model, with event 1 or 0. Times of replicates are censored
        where the rows of the sample would have been: a censored row at its time, one with
        an event at a time drawn once by Kaplan and Meier's estimate for rows near in x. A
        time beyond the last that a survival function is known for is censored there.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, or the column of x that holds them, as in `check`:
        the statistic and all numbers are weighted. A fit with a parameter named weights
        gets them (`condgof.fits.ols()` and ``glm(family)`` have it), of mean 1 and without
        the rows of weight 0; any other is fitted on rows that count alike, and a note says
        so. The null is right either way: refits get the same weights.
    statistic : {"check", "adaptive", "kcsd", "fscd", "mmd", "zheng"} or callable
        "check" for the whole answer; else which statistic alone, or your own: (model, x, y)
        → a number (larger means a worse fit) or a result.
    alpha : float
        The level of the check; at least 1/(n_boot + 1), the smallest p-value.
    n_boot : int
        Number of refits. 199 serve for a test at 0.05; take 999 for 0.01.
    missing, engine
        As in `kcsd`; workers may also be a Dask cluster.
    rng : int, numpy.random.Generator or None
        The same rng gives the same result on any number of workers, if `fit` itself is
        deterministic or takes its random numbers from an rng.
    workers : {None, "processes", "threads"}
        What the workers on this machine are. None: processes where that pays and `fit` can
        be sent to them, and this very process otherwise.
    progress : callable or bool, optional
        Called with the number of refits done and of all; None or True show a bar on a
        terminal (where tqdm is installed), False shows nothing.
    **options
        Options of the statistic, such as ``standardize=`` of `kcsd`; of "check" those of
        `adaptive`.

    Returns
    -------
    Check, or with another statistic GofResult
        In ``details`` of the result: ``fitted`` (the model in words), ``failures`` and
        ``first_failure`` (refits that failed are left out; more than a tenth are an error),
        ``seconds_per_refit``, ``seconds_per_replicate``, ``workers``,
        ``effective_parameters``, ``shrinkage`` (the share by which predictions of refits
        vary less than those of the fit), ``noise_factor`` (what the noise of samples was
        multiplied by to undo it).

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 200)
    >>> y = x + 0.5 * x**2 + rng.standard_normal(200)
    >>> report = cg.composite(cg.fits.ols(), x, y, n_boot=99, rng=1)
    >>> report.reject(), report.slices[0].kind
    (True, 'shift')
    >>> parabola = np.column_stack([x, x**2])
    >>> cg.composite(cg.fits.ols(), parabola, y, n_boot=99, rng=1).reject()
    False
    """
    needs_memory("composite", x, y)
    n_boot = check_n_boot(n_boot)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise InputTypeError(
            "progress must be True, False or a function (done, total), got"
            f" {shown(progress)}."
        )
    events = read_events(event, entry, x, y)
    alpha = check_alpha(alpha)
    check_statistic(statistic, options)
    if events is not None:
        check_statistic_of_events(statistic)
    if weights is not None:
        check_statistic_of_weights(statistic)
    if statistic == "check":
        check_resolution(alpha, n_boot)
    check_workers(workers)
    seed = Seed.of(rng)
    sample = Sample.from_data(x, y, missing=missing, weights=weights)
    fit_weights = None
    if weights is not None and takes_weights(fit):
        fit_weights = np.ones(sample.n) if sample.weights is None else sample.weights
    elif sample.weights is not None:
        sample = replace(sample, remarks=(*sample.remarks, UNWEIGHTED_FIT))
    fitter = as_fit(fit, events, fit_weights)
    if fit_weights is not None:
        fitter = partial(fitter, weights=fit_weights)
    x = hold(x)
    y = hold(y)
    if sample.kept is not None:
        x = take_rows(x, sample.kept)
        y = take_rows(y, sample.kept)
        events = None if events is None else events.take(sample.kept)
    # One BLAS thread, as in the workers: the observed statistic is the same function of the
    # data as theirs.
    with engines.single_threaded_blas():
        start = time.perf_counter()
        first = fit_sample(fitter, x, y, sample, events, seed)
        chosen = make_statistic(statistic, options, missing, first)
        observed = chosen.values(first.model, sample.y_given)
        check_finite(
            observed[None],
            "The statistic of the sample",
            "Check the model that fit returns.",
        )
        shrinkage = undo_shrinkage(fitter, x, y, first)
        moved = None if shrinkage is None else shrinkage.moved
        task = Replicates(
            fit=fitter,
            x=x,
            y=y,
            sample=sample,
            statistic=chosen.values,
            drawing=first.drawing,
            seed=seed,
            moved=moved,
        )
        refits = run_replicates(task, n_boot, engine, workers, progress)
        draws = refits.draws()
        if statistic == "check":
            check_remaining(draws.shape[1], alpha, n_boot)
        result = chosen.result(observed, draws)
        seconds = time.perf_counter() - start
        result = replace(
            result,
            method=f"composite({chosen.name})",
            null=NULL,
            seed=seed.value,
            details=details_of(result, first, refits, shrinkage, seconds),
        )
        return chosen.answer(result, draws, alpha)


def name_of_test(statistic: object) -> str | None:
    """Return the name of a test of the library, or None for a user's own function."""
    names = [
        name
        for name, test in TESTS.items()
        if statistic is test or (isinstance(statistic, str) and statistic == name)
    ]
    return names[0] if names else None


def is_whole_check(statistic: object) -> bool:
    return isinstance(statistic, str) and statistic == "check"


def check_statistic(statistic: object, options: Mapping[str, Any]) -> None:
    """Refuse an unknown statistic, or an option that it does not have."""
    name = "adaptive" if is_whole_check(statistic) else name_of_test(statistic)
    if name is None:
        if callable(statistic):
            return
        raise InputError(
            f"statistic must be one of {', '.join(map(repr, TESTS))}, or a function "
            f"(model, x, y) → number, got {statistic!r}."
        )
    known = sorted(default_options(name))
    unknown = [option for option in options if option not in known]
    if unknown:
        raise InputTypeError(
            f"{name} has no option {unknown[0]!r}. Its options here: {', '.join(known)}."
        )


def check_statistic_of_events(statistic: object) -> None:
    """Refuse a test of the library that cannot take censored times."""
    name = "adaptive" if is_whole_check(statistic) else name_of_test(statistic)
    if name not in (None, "adaptive"):
        raise InputError(
            f"{name} cannot compare censored times. With event=, statistic must be 'check',"
            " 'adaptive' or a function (model, x, y) → number."
        )


def check_statistic_of_weights(statistic: object) -> None:
    """Refuse a test of the library whose sums cannot be weighted."""
    name = name_of_test(statistic)
    if name is not None and not has_weights(name):
        raise InputError(
            f"{name} takes no weights. With {option('weights')}, statistic must be 'check',"
            " 'adaptive', 'kcsd', 'fscd' or a function (model, x, y) → number."
        )


def has_weights(name: str) -> bool:
    """Whether a test of the library has an option for weights of rows."""
    return "weights" in inspect.signature(TESTS[name]).parameters


def default_options(name: str) -> dict[str, Any]:
    """Return the options of a test that `composite` passes on, with their defaults."""
    return {
        p.name: p.default
        for p in inspect.signature(TESTS[name]).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in OPTIONS_OF_COMPOSITE
    }


def make_statistic(
    statistic: object, options: Mapping[str, Any], missing: str, first: FirstFit
) -> RefitStatistic:
    """Make the statistic that was asked for ready, by the first fit."""
    if is_whole_check(statistic):
        return CheckStatistics.from_fit({**default_options("adaptive"), **options}, first)
    name = name_of_test(statistic)
    if name is None:
        return SingleStatistic.from_function(statistic, options, first)
    all_options = {**default_options(name), **options}
    if name == "adaptive":
        return AdaptiveStatistics.from_fit(all_options, first)
    call = {**options, "missing": missing, "rng": first.seed.value, "engine": 1}
    if TESTS[name] is not zheng:  # zheng has a normal limit, and draws nothing
        call["n_boot"] = 1
    if first.sample.weights is not None:
        call["weights"] = first.sample.weights
    if "solver" in all_options:
        call["solver"] = check_solver_options(all_options).chosen_solver(first.sample.n)
    return SingleStatistic.from_test(name, call, first)
