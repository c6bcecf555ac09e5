"""A family of models that is fitted on these very rows: every null is drawn with refits.

`composite` is a parametric bootstrap. It fits the model, draws responses from it, fits it
again on each of these samples, and computes the same statistics of the data and of every
replicate. What the statistics are, and what is made of them, is a `RefitStatistic`.
"""

from __future__ import annotations

import inspect
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof import engine as engines
from condgof import errors
from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.check._check import assemble_report
from condgof.check._findings import REACH, Reader
from condgof.check._look import compare_rows
from condgof.check._quantities import LARGEST, QUANTITIES
from condgof.check._record import Check, Finding, Power
from condgof.check._shrinkage import (
    PAIRS,
    Moved,
    Shrinkage,
    movable_moments,
    shrinkage_of,
)
from condgof.check._size import POWER, UNKNOWN, Bench
from condgof.check._staged_gains import StagedGains
from condgof.check.effects import (
    FEWEST_ROWS,
    Analysis,
    KnownNull,
    State,
    analyse_state,
    make_state,
)
from condgof.check.kinds import CheckedRows, Signals
from condgof.errors import (
    InputError,
    InputTypeError,
    RefitError,
    UnsupportedModelError,
    check_finite,
)
from condgof.laws import (
    Law,
    ModelLike,
    Moments,
    as_fit,
    as_model,
    class_names_of,
    class_probabilities,
    drawn,
    law_of,
    moments_of,
    read_signature,
)
from condgof.methods import (
    STAGED_GAINS,
    Design,
    Options,
    adaptive,
    combine_statistics,
    fscd,
    kcsd,
    make_design,
    mmd,
    needs_memory,
    zheng,
)
from condgof.null import (
    SINGLE_ROUNDING,
    Dependence,
    NullDraws,
    OwnDraws,
    check_n_boot,
    check_resolution,
    pvalue,
    settle,
)
from condgof.residuals import (
    OUTLIERS,
    ClassResiduals,
    NormalScoreResiduals,
    excess,
    top_surprises,
)
from condgof.result import GofResult, check_alpha
from condgof.sample import (
    CONTENT_SEED,
    RngLike,
    Sample,
    Seed,
    Use,
    fresh,
    hold,
    refill,
    take_rows,
)
from condgof.stein import PIECE_ROWS, LawAndRows, Plan, RowsInMemory, Units, design_rows

#: Called with (replicates that are done, replicates).
Progress: TypeAlias = Callable[[int, int], None]
Workers: TypeAlias = engines.Threads | engines.Processes | engines.Cluster

#: The tests of the library whose statistics can be refitted.
TESTS: dict[str, Callable[..., GofResult]] = {
    test.__name__: test for test in (kcsd, adaptive, fscd, mmd, zheng)
}
#: Options of these tests that `composite` decides itself, or that are of no use where the
#: rows of a replicate are independent.
OPTIONS_OF_COMPOSITE = (
    "rng",
    "engine",
    "n_boot",
    "null",
    "dependence",
    "groups",
    "missing",
)
#: What results call the null.
NULL = "parametric bootstrap"

#: Replicates that take fewer seconds than this in all are run in this process.
SECONDS_WORTH_PROCESSES = 3.0
#: More failed refits than this share are an error: the others are no fair sample. One
#: failure is always allowed.
MOST_FAILURES = 0.1
#: Bytes that each worker may spend on keeping the features of x.
FEATURE_BYTES = 2**26
#: Characters of a fitted model that a result shows.
MODEL_CHARACTERS = 160

#: A fit with more effective parameters than this share of the rows follows the noise.
FLEXIBLE = 0.25
#: All refits one after the other are slow if they take more seconds than this.
SLOW_SECONDS = 60.0
#: A number that varies over refits by less than this share of its interval is set by the
#: fit.
SET_BY_FIT = 0.05
#: The tail on either side of an interval from refits: each of six numbers gets a sixth of
#: 5%, so that all intervals hold together 95% of the time.
TAIL = 0.05 / 12.0

NOT_FRESH = (
    "Two draws of one replicate from the fitted model differ. Either fit works on one"
    " object and returns it again and again, so that a refit changed the fitted model"
    " (return a new one: for scikit-learn condgof.fits.sklearn(estimator), or"
    " sklearn.base.clone(estimator).fit(x, y)), or the model's sampler does not draw from"
    " the rng that it is given."
)
BETTER = (
    "`cg.check(cg.crossfit(fit, x, y), x, y)`, where every row meets a fit that has not"
    " seen it,"
)
OF_FITTED = (
    "numbers are of rows that the model was fitted on: they tell what its family misses,"
    " and the error of its estimates is not in them"
)
NO_POWER = f"{UNKNOWN}: a shift or a spread that is the same at every x is fitted away."


def composite(
    fit: object,
    x: TableLike,
    y: TableLike,
    *,
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
    fitter = as_fit(fit)
    alpha = check_alpha(alpha)
    check_statistic(statistic, options)
    if statistic == "check":
        check_resolution(alpha, n_boot)
    check_workers(workers)
    seed = Seed.of(rng)
    sample = Sample.from_data(x, y, missing=missing)
    x = hold(x)
    y = hold(y)
    if sample.kept is not None:
        x = take_rows(x, sample.kept)
        y = take_rows(y, sample.kept)
    # One BLAS thread, as in the workers: the observed statistic is the same function of the
    # data as theirs.
    with engines.single_threaded_blas():
        start = time.perf_counter()
        first = fit_sample(fitter, x, y, sample, seed)
        chosen = make_statistic(statistic, options, missing, first)
        observed = chosen.values(first.model, sample.y_given)
        check_finite(
            observed[None],
            "The statistic of the sample",
            "Check the model that fit returns.",
        )
        shrinkage = undo_shrinkage(fitter, x, y, first)
        moved = None if shrinkage is None else shrinkage.moved
        task = Replicates(fitter, x, y, sample, first.law, chosen.values, seed, moved)
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


# The first fit.


class FirstFit(NamedTuple):
    """The sample, and the model that was fitted on it."""

    sample: Sample
    model: ModelLike
    law: Law
    #: The fitted model in words.
    words: str
    seed: Seed


def fit_sample(
    fitter: Callable[..., Any], x: Any, y: Any, sample: Sample, seed: Seed
) -> FirstFit:
    """Fit the model on the sample; it must be one that can be sampled."""
    with errors.users_code("fit"):
        raw = fitter(fresh(x), fresh(y), seed.stream(Use.REPLICATE, 0, 1))
        words = model_words(raw)
        model = as_model(raw)
    law = law_of(model, sample)
    if not law.can("sample"):
        raise UnsupportedModelError(
            "composite draws new responses from the model that fit returns, and"
            f" {law.name} has no sampler. Those that have one: closed forms"
            " (condgof.models), tuples (mean, std), class probabilities, distributions"
            " and models of libraries; scores and log-densities do not."
        )
    return FirstFit(sample, model, law, words, seed)


def model_words(raw: object) -> str:
    """Return what a fitted model prints, on one line and not too long."""
    words = "a tuple (mean, std)" if isinstance(raw, tuple) else " ".join(repr(raw).split())
    # An address in memory is another one in each run.
    words = re.sub(r" at 0x[0-9a-fA-F]+", "", words)
    if len(words) <= MODEL_CHARACTERS:
        return words
    return words[: MODEL_CHARACTERS - 3] + "..."


def undo_shrinkage(
    fitter: Callable[..., Any], x: Any, y: Any, first: FirstFit
) -> Shrinkage | None:
    """Find the samples that refits agree with, where the fit shrinks.

    None where that is not known: y is discrete or bounded, or a refit failed.
    """
    if movable_moments(first.law) is None:
        return None

    def refit(response: FloatArray, number: int) -> Moments:
        rng = first.seed.stream(Use.REPLICATE, number, 3)
        model = as_model(fitter(fresh(x), refill(y, response), rng))
        refitted = moments_of(law_of(model, first.sample), "mean_std")
        if refitted is None:
            raise UnsupportedModelError("A refit has no mean and standard deviation.")
        return refitted

    draws = [
        draw_response(first.law, first.sample, first.seed, number)
        for number in range(1, PAIRS + 1)
    ]
    try:
        return shrinkage_of(first.law, draws, refit)
    except (errors.MissingPackageError, MemoryError):
        raise  # the machine's fault
    except Exception:  # users' fits raise anything; replicates count such failures
        return None


# Refits.


class RefitOutcome(NamedTuple):
    """What a replicate gave, and how long it took."""

    #: Statistics (K,), or None where the refit failed.
    values: FloatArray | None
    #: The message of what failed.
    error: str | None
    fit_seconds: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Replicates:
    """The task that travels to the workers: the number of a replicate → its outcome."""

    fit: Callable[..., Any]
    x: Any
    y: Any
    sample: Sample
    law: Law
    #: (model, y in the user's shape) → statistics (K,).
    statistic: Callable[[ModelLike, AnyArray], FloatArray]
    seed: Seed
    #: How responses of a fit that shrinks are moved; None where they are not.
    moved: Moved | None = None

    def __call__(self, number: int) -> RefitOutcome:
        start = time.perf_counter()
        try:
            y = self.response(number)
            # A copy of x each time, so that a fit that writes into it changes nothing.
            rng = self.seed.stream(Use.REPLICATE, number, 1)
            model = self.fit(fresh(self.x), refill(self.y, y), rng)
            fitted = time.perf_counter()
            values = self.statistic(as_model(model), y.reshape(self.sample.y_given.shape))
            if not np.isfinite(values).all():
                raise errors.NumericalError(
                    f"The statistic is {values[~np.isfinite(values)][0]}."
                )
        except (errors.MissingPackageError, MemoryError):
            raise  # the machine's fault, and not this replicate's
        except Exception as error:  # users' fits raise anything
            seconds = time.perf_counter() - start
            return RefitOutcome(None, f"{type(error).__name__}: {error}", seconds, seconds)
        return RefitOutcome(values, None, fitted - start, time.perf_counter() - start)

    def response(self, number: int) -> AnyArray:
        """Draw the responses of a replicate from the fitted model."""
        response = draw_response(self.law, self.sample, self.seed, number)
        return response if self.moved is None else self.moved.apply(response)


def draw_response(law: Law, sample: Sample, seed: Seed, number: int) -> AnyArray:
    """Draw responses as y has them, numbers (n, d_y) or labels (n,)."""
    numbers = drawn(law, sample.d_y, seed.stream(Use.REPLICATE, number, 0))
    if sample.y_given.dtype.kind not in "OUS":
        return numbers
    # Models draw the positions of labels that are text.
    return np.array(class_names_of(law))[numbers.astype(np.int64)]


class Refits(NamedTuple):
    """The outcomes of all replicates, in order, and where they ran."""

    outcomes: list[RefitOutcome]
    workers: str

    def draws(self) -> FloatArray:
        """Return the statistics of the refits that did not fail, (K, m)."""
        return np.column_stack([o.values for o in self.outcomes if o.values is not None])

    def errors(self) -> list[str]:
        return [o.error for o in self.outcomes if o.error is not None]

    def details(self) -> dict[str, Any]:
        """Return what the details of a result say of the refits."""
        failed = self.errors()
        return {
            "refits": len(self.outcomes),
            "failures": len(failed),
            "first_failure": failed[0] if failed else None,
            "seconds_per_refit": float(np.mean([o.fit_seconds for o in self.outcomes])),
            "seconds_per_replicate": float(np.mean([o.seconds for o in self.outcomes])),
        }

    def notes(self) -> list[str]:
        """Say how many refits failed, and why the first did."""
        failed = self.errors()
        if not failed:
            return []
        word = "refits failed and were" if len(failed) > 1 else "refit failed and was"
        reason = " ".join(failed[0].split())
        return [f"{len(failed)} of {len(self.outcomes)} {word} left out ({reason})"]


def run_replicates(
    task: Replicates,
    n_boot: int,
    engine: object,
    kind: str | None,
    progress: Progress | bool | None,
) -> Refits:
    """Run all replicates, the first of them in this process."""
    first = run_first(task)
    workers = choose_workers(engine, kind, task, n_boot * first.seconds)
    outcomes: dict[int, RefitOutcome] = {}
    with closing(workers.completed(task, range(2, n_boot + 1))) as completed:  # type: ignore[type-var]
        others: Iterable[tuple[int, RefitOutcome]] = completed
        if progress is None or progress is True:
            others = engines.with_progress(completed, n_boot - 1, "refits")
        for number, outcome in chain([(1, first)], others):
            outcomes[number] = outcome
            check_failures(outcomes, n_boot)
            if callable(progress):
                progress(len(outcomes), n_boot)
    in_order = [outcomes[number] for number in sorted(outcomes)]
    return Refits(in_order, worker_words(workers))


def check_remaining(count: int, alpha: float, n_boot: int) -> None:
    """Refuse a verdict at alpha where failed refits leave too few draws for it."""
    if 1.0 / (count + 1) > alpha:
        raise RefitError(
            f"{n_boot - count} of {n_boot} refits failed, and with the other {count} no"
            f" p-value is below {1.0 / (count + 1):.2g}: the check could not reject at"
            f" alpha = {alpha:g}. Pass a larger n_boot."
        )


def run_first(task: Replicates) -> RefitOutcome:
    """Run the first replicate, and check that refits leave the fitted model as it is."""
    before = task.response(1)
    outcome = task(1)
    if not np.array_equal(before, task.response(1)):
        raise InputError(NOT_FRESH)
    return outcome


def check_failures(outcomes: Mapping[int, RefitOutcome], n_boot: int) -> None:
    """Raise if so many refits failed that the others are no fair sample."""
    failed = [o.error for _, o in sorted(outcomes.items()) if o.error is not None]
    if len(failed) > max(1, int(MOST_FAILURES * n_boot)):
        raise RefitError(
            f"{len(failed)} of {len(outcomes)} refits failed, more than"
            f" {MOST_FAILURES:.0%} of the {n_boot} that were asked for. The first:"
            f" {failed[0]} The model was refitted on responses drawn from the"
            " fitted model itself: check that fit works on such data."
        )


def check_workers(workers: str | None) -> None:
    if workers not in (None, "processes", "threads"):
        raise InputError(
            f"workers must be None, 'processes' or 'threads', got {workers!r}."
        )


def choose_workers(
    engine: object, kind: str | None, task: Replicates, seconds: float
) -> Workers:
    """Choose where replicates run that take so many seconds one after the other."""
    chosen = engines.as_engine(engine)
    if isinstance(chosen, engines.Cluster):
        return chosen
    if kind == "threads" or chosen.count == 1:
        return engines.Threads(chosen.count)
    if (kind or seconds > SECONDS_WORTH_PROCESSES) and engines.can_send(task):
        return engines.Processes(chosen.count)
    if kind is None:
        return engines.Threads(1)
    raise InputTypeError(
        "fit, its model or the statistic cannot be sent to another process. Define fit at"
        " the top of a module, install cloudpickle, or pass workers='threads' (if fit can"
        " run in several threads at once) or engine=1."
    )


def worker_words(workers: Workers) -> str:
    if isinstance(workers, engines.Cluster):
        return "Dask"
    if workers.count == 1:
        return "this process"
    if isinstance(workers, engines.Threads):
        return f"{workers.count} threads"
    return f"{workers.count} processes"


def details_of(
    result: GofResult,
    first: FirstFit,
    refits: Refits,
    shrinkage: Shrinkage | None,
    seconds: float,
) -> dict[str, Any]:
    """Return the details of the result: those of the statistic, and those of the refits."""
    notes = result.details.get("notes", ())
    remarks = [remark for remark in first.sample.remarks if remark not in notes]
    details = {
        **result.details,
        "fitted": first.words,
        **refits.details(),
        "seconds": seconds,
        "workers": refits.workers,
    }
    shrunk = () if shrinkage is None else shrinkage.notes()
    all_notes = (*remarks, *notes, *refits.notes(), *shrunk)
    if shrinkage is not None:
        details["shrinkage"] = shrinkage.share
        details["noise_factor"] = 1.0 if shrinkage.moved is None else shrinkage.moved.factor
    if all_notes:
        details["notes"] = all_notes
    return details


# Statistics.


class RefitStatistic(ABC):
    """The same statistics of the sample and of each replicate, and what is made of them."""

    #: What results call it.
    name: str

    @abstractmethod
    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return the statistics (K,) of responses y and the model fitted on them."""

    @abstractmethod
    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        """Return the result of the observed statistics (K,) and those of refits (K, m)."""

    def answer(
        self, result: GofResult, draws: FloatArray, alpha: float
    ) -> Check | GofResult:
        """Return what the user gets, given the result with all its details."""
        return result


def name_of_test(statistic: object) -> str | None:
    """Return the name of a test of the library, or None for a user's own function."""
    names = [name for name, test in TESTS.items() if statistic in (name, test)]
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


def default_options(name: str) -> dict[str, Any]:
    """Return the options of a test that `composite` passes on, with their defaults."""
    return {
        p.name: p.default
        for p in inspect.signature(TESTS[name]).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in OPTIONS_OF_COMPOSITE
    }


def check_solver_options(options: Mapping[str, Any]) -> Options:
    """Check the options of the solver; "auto" is exact up to about 5,000 rows."""
    names = ("solver", "precision", "memory")
    asked = {name: options[name] for name in names if name in options}
    return Options(**asked).checked()


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
    if "solver" in all_options:
        call["solver"] = check_solver_options(all_options).chosen_solver(first.sample.n)
    return SingleStatistic.from_test(name, call, first)


@dataclass(frozen=True, eq=False)
class SingleStatistic(RefitStatistic):
    """One number: a test of the library with a single draw, or a user's function."""

    name: str
    test: Callable[..., Any]
    sample: Sample
    #: Options of every call. An rng is the same number in all, and with it splits of rows
    #: and random locations.
    options: Mapping[str, Any]
    #: The result of the observed sample, without a null.
    template: GofResult

    @classmethod
    def from_function(
        cls, function: Any, options: Mapping[str, Any], first: FirstFit
    ) -> SingleStatistic:
        """Take a user's function (model, x, y) → number, perhaps with an rng."""
        signature = read_signature(function)
        if signature is not None and "rng" in signature.parameters:
            options = {**options, "rng": first.seed.value}
        name = getattr(function, "__name__", type(function).__name__).strip("<>")
        template = GofResult(0.0, 1.0, name, first.sample.n)
        return cls(name, function, first.sample, options, template)

    @classmethod
    def from_test(
        cls, name: str, options: Mapping[str, Any], first: FirstFit
    ) -> SingleStatistic:
        """Take a test of the library."""
        sample = first.sample
        result = TESTS[name](first.model, sample.x_given, sample.y_given, **options)
        # The null of a single draw is of no use.
        details = {key: value for key, value in result.details.items() if key != "null"}
        return cls(name, TESTS[name], sample, options, replace(result, details=details))

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        answer = self.test(model, self.sample.x_given, y, **self.options)
        try:
            return np.array([float(getattr(answer, "statistic", answer))])
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"The statistic {self.name} must return a number or a GofResult, got"
                f" {type(answer).__name__}."
            ) from error

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        statistic = float(observed[0])
        null_distribution = np.array(draws[0])
        return replace(
            self.template,
            statistic=statistic,
            pvalue=pvalue(statistic, null_distribution),
            null_distribution=null_distribution,
        )


class PieceFeatures(NamedTuple):
    """Features F of a piece of rows, and their squared norms by block."""

    values: AnyArray
    sizes: AnyArray


@dataclass(frozen=True, eq=False)
class FeaturesOfX:
    """Features F of x (n, d_x), piece by piece; kept if they are small enough."""

    plan: Plan
    x: FloatArray

    def piece(self, start: int) -> PieceFeatures:
        """Return the features of the `PIECE_ROWS` rows from `start` on."""
        return self._kept[start // PIECE_ROWS] if self._kept else self._make(start)

    def _make(self, start: int) -> PieceFeatures:
        values = self.plan.features.evaluate(self.x[start : start + PIECE_ROWS])
        return PieceFeatures(values, self.plan.feature_squares(values))

    @cached_property
    def _kept(self) -> list[PieceFeatures]:
        n = len(self.x)
        if 8 * n * self.plan.features.width > FEATURE_BYTES:
            return []
        return [self._make(start) for start in range(0, n, PIECE_ROWS)]

    def __getstate__(self) -> dict[str, Any]:
        # Each worker makes the features again, which is faster than sending them.
        return {"plan": self.plan, "x": self.x}


class SquaredSums(NamedTuple):
    """For each statistic, (K,) each, the sum over all pairs of rows and over i = j."""

    #: ‖Fᵀξ‖².
    whole: FloatArray
    #: Σ_i ‖F_i‖²‖ξ_i‖².
    diagonal: FloatArray


@np.errstate(over="ignore", invalid="ignore")  # `composite` refuses what is not finite
def squared_sums(features: FeaturesOfX, rows: RowsInMemory) -> SquaredSums:
    """Sum features F of x times functions ξ of y over rows, for each statistic."""
    plan = features.plan
    totals = [np.zeros((cut.x_width, cut.y_width)) for cut in plan.cuts]
    diagonal = np.zeros(len(plan.statistics))
    for piece in rows.pieces():
        values, sizes = features.piece(piece.start)
        xi = plan.evaluate(piece)
        diagonal += plan.diagonal(sizes, plan.value_squares(xi))
        for total, cut in zip(totals, plan.cuts, strict=True):
            total += values[:, cut.x].T @ xi[:, cut.y]
    return SquaredSums(plan.squares([total[None] for total in totals])[0], diagonal)


@dataclass(frozen=True, eq=False)
class AdaptiveStatistics(RefitStatistic):
    """All statistics that `adaptive` combines, without those of the predictions.

    Predictions of a refit depend on the responses, and not on x alone.
    """

    #: The observed sample under the model fitted on it; all others have its x and its kind
    #: of y.
    first: RowsInMemory
    design: Design
    features: FeaturesOfX
    #: How other samples are scored; x is in its units already.
    units: Units
    seed: Seed
    #: The sum of the absolute terms of each statistic, (K,), for rounding.
    sizes: FloatArray
    name = "adaptive"

    @classmethod
    def from_fit(cls, options: Mapping[str, Any], first: FirstFit) -> AdaptiveStatistics:
        """Choose the statistics by x, and by responses drawn from the fitted model.

        Landmarks in y and its unit are then the same for the data and all replicates.
        """
        check_solver_options(options)
        sample = first.sample
        seed = first.seed
        units = Units(options["scale_x"], options["standardize"])
        some = design_rows(sample)
        rows = RowsInMemory.from_law(law_of(first.model, sample), sample, units, some)
        other = sample.with_y(draw_response(first.law, sample, CONTENT_SEED, 0))
        other_rows = RowsInMemory.from_law(law_of(first.model, other), other, units, some)
        design = make_design(other_rows.subsample)
        features = FeaturesOfX(design.plan, rows.x)
        return cls(
            first=rows,
            design=design,
            features=features,
            units=replace(units, scale_x="none"),
            seed=seed,
            sizes=squared_sums(features, other_rows).diagonal,
        )

    def compare(self, model: ModelLike, y: AnyArray) -> LawAndRows:
        """Compare responses with their own model, which must treat y as the first does."""
        # x is that of the first sample in its units, which need not be found again.
        sample = replace(self.first.sample, x=self.first.x).with_y(y)
        law = law_of(model, sample)
        rows = RowsInMemory.from_law(law, sample, self.units)
        first = self.first.residuals
        same_kind = type(rows.residuals) is type(first)
        if not same_kind or rows.residuals.row_width != first.row_width:
            raise UnsupportedModelError(
                f"{model.name} sees y in another way than the model that was fitted first:"
                " it is standardised by something else, or has other classes."
            )
        return LawAndRows(law, rows)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        return self.statistics(self.compare(model, y).rows)

    def statistics(self, rows: RowsInMemory) -> FloatArray:
        """Return Σ_{i≠j} of each statistic, and the excess of outliers where z is known."""
        whole, diagonal = squared_sums(self.features, rows)
        statistics = settle(whole - diagonal, whole + diagonal, SINGLE_ROUNDING)
        if not isinstance(rows.residuals, NormalScoreResiduals):
            return statistics
        z = rows.residuals.u.reshape(1, -1)
        return np.append(statistics, excess(top_surprises(z), z.size))

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        return self._combine(observed, draws, gains=None)

    def _combine(
        self, observed: FloatArray, draws: FloatArray, gains: OwnDraws | None
    ) -> GofResult:
        """Combine as `adaptive` does, with refits for draws, and perhaps one more family.

        `gains` are the statistics of that family. The family `level`, whether y is right on
        the whole, is left out: refits set its mean and spread.
        """
        count = len(self.sizes)
        has_outliers = len(observed) > count
        refits = NullDraws(
            statistics=observed,
            draws=draws,
            # The excess of outliers has no terms to add up.
            sizes=np.append(self.sizes, 0.0)[: len(observed)],
            additional={OUTLIERS: count} if has_outliers else {},
        )
        if gains is not None:
            refits = refits.beside(STAGED_GAINS, gains.observed, gains.draws)
        return combine_statistics(
            self.first,
            self.design,
            refits,
            label=NULL,
            solver="exact",
            dependence=Dependence(),
            seed=self.seed,
            left_out=("level",),
        )


# The whole check.


class CheckValues(NamedTuple):
    """The numbers of a check, side by side for the sample or for m refits.

    Each has a row for each number; refits add a last axis, (…, m).
    """

    #: The statistics of `adaptive`, (K,).
    statistics: FloatArray
    #: The staged gains of steps in single columns, or (0,) for few rows.
    gains: FloatArray
    #: What the best effect is worth, (1,), or (0,) where no effects are searched for.
    largest_effect: FloatArray
    #: The distance of each number of all rows from what its model predicts, (F,).
    distances: FloatArray
    #: Σ (m* − m)(y* − m)/v, (1,); its mean over refits is the effective number of
    #: parameters.
    followed: FloatArray

    def pack(self) -> FloatArray:
        return np.concatenate(self)

    @classmethod
    def unpack(
        cls, values: FloatArray, *, gains: int, effects: int, findings: int
    ) -> CheckValues:
        """Divide values (K, …) that were packed, with so many numbers of each kind."""
        statistics = len(values) - gains - effects - findings - 1
        sizes = (statistics, gains, effects, findings)
        return cls(*np.split(values, np.cumsum(sizes)))


def _state_of_effects(
    checked: CheckedRows, law: Law, rows: RowsInMemory, seed: Seed
) -> State | None:
    """Return rows in the cells of all effects; None where there are too few rows."""
    if checked.n < FEWEST_ROWS:
        return None
    return make_state(checked.axes, checked.tilt(law, rows, seed), None)


@dataclass(frozen=True, eq=False)
class CheckStatistics(AdaptiveStatistics):
    """What a check computes, as numbers: the same of the sample and of replicates."""

    #: The rows and their law, of the observed sample.
    checked: CheckedRows
    law: Law
    signals: Signals
    #: What makes staged gains; None where there are too few rows.
    staged: StagedGains | None
    #: The rows in the cells of all effects; None where there are too few rows.
    state: State | None
    #: What is reported of all rows.
    overall: tuple[Finding, ...]
    name = "check"

    @classmethod
    def from_fit(cls, options: Mapping[str, Any], first: FirstFit) -> CheckStatistics:
        base = AdaptiveStatistics.from_fit(options, first)
        rows = base.first
        checked = compare_rows(
            first.law, rows, numbers=_row_numbers(rows), whole=rows.n
        ).with_bands(first.law, first.seed)
        signals = checked.signals(first.law, rows, first.seed)
        return cls(
            first=base.first,
            design=base.design,
            features=base.features,
            units=base.units,
            seed=base.seed,
            sizes=base.sizes,
            checked=checked,
            law=first.law,
            # Replicates are the null of the search: nothing is resampled by it.
            signals=replace(signals, redraw=None),
            staged=StagedGains.from_signals(
                checked.axes, signals, rows.sample.content_keys, units=None
            ),
            state=_state_of_effects(checked, first.law, rows, first.seed),
            overall=Reader(checked, REACH).findings(),
        )

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        law, rows = self.compare(model, y)
        # x and its columns are those of the first sample, in the user's units.
        checked = self.checked.again(law, rows)
        signals = checked.signals(law, rows, self.seed)
        packed = CheckValues(
            statistics=self.statistics(rows),
            gains=np.empty(0) if self.staged is None else self.staged.of_rows(signals),
            largest_effect=self._largest_effect(checked, law, rows),
            distances=self._distances(checked),
            followed=np.array([followed_noise(self.law, law, rows)]),
        )
        return packed.pack()

    def _largest_effect(
        self, checked: CheckedRows, law: Law, rows: RowsInMemory
    ) -> FloatArray:
        """Return what the best of all effects is worth, (1,), or (0,) of few rows."""
        if self.state is None:
            return np.array([])
        state = replace(self.state, tilt=checked.tilt(law, rows, self.seed))
        return np.array([state.largest_worth])

    def _distances(self, checked: CheckedRows) -> FloatArray:
        """Return how far each number of all rows is from what the model predicts, (F,).

        A number that a replicate does not have is 0 away.
        """
        findings = Reader(checked, REACH).findings()
        distances = {f.about: f.estimate - f.expected for f in findings}
        return np.array([distances.get(f.about, 0.0) for f in self.overall])

    def _unpack(self, values: FloatArray) -> CheckValues:
        return CheckValues.unpack(
            values,
            gains=0 if self.staged is None else len(STAGED_GAINS),
            effects=0 if self.state is None else 1,
            findings=len(self.overall),
        )

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        refits = self._unpack(draws)
        own = self._unpack(observed)
        gains = None
        if self.staged is not None:
            gains = OwnDraws(observed=own.gains, draws=refits.gains)
        return self._combine(own.statistics, refits.statistics, gains)

    def _analysis(
        self, result: GofResult, largest: FloatArray, alpha: float
    ) -> Analysis | None:
        """Take the misfit apart; `largest` (1, m) are the worths of refits."""
        if self.state is None or result.pvalue > alpha:
            return None
        return analyse_state(
            self.checked.axes,
            self.state,
            KnownNull(largest.ravel()),
            keys=self.first.sample.content_keys,
            alpha=alpha,
        )

    def answer(self, result: GofResult, draws: FloatArray, alpha: float) -> Check:
        """Return the report of a check."""
        refits = self._unpack(draws)
        details = result.details
        bench = Bench.of(self.law, self.first, self.design, Dependence(), CONTENT_SEED)
        report = assemble_report(
            result=result,
            alpha=alpha,
            reader=Reader(self.checked, REACH),
            overall=with_refit_intervals(self.overall, refits.distances),
            analysis=self._analysis(result, refits.largest_effect, alpha),
            bench=bench,
            effect=bench.size.effect(result.pvalue <= alpha),
            power=Power(None, None, POWER, alpha, NO_POWER),
        )
        effective = None
        if pearson_moments(self.law) is not None:
            # Samples may have less noise than the fit: what refits follow is a share of it.
            noise_variance = details.get("noise_factor", 1.0) ** 2
            effective = float(refits.followed[0].mean()) / noise_variance
        advice = crossfit_advice(
            effective,
            self.checked.n,
            refits=details["refits"],
            seconds_per_refit=details["seconds_per_refit"],
        )
        return replace(
            report,
            words=report.words if report.rejected else no_evidence_words(result, report),
            details={
                **details,
                **report.details,
                "effective_parameters": effective,
                "notes": (*report.notes, OF_FITTED, *advice),
            },
        )


def _row_numbers(rows: RowsInMemory) -> IntArray:
    """Return the number of each row in the data."""
    kept = rows.sample.kept
    return np.arange(rows.n) if kept is None else kept


def no_evidence_words(result: GofResult, report: Check) -> str:
    """Say how many refits look at least as wrong as the data."""
    draws = result.null_distribution
    if draws is None:
        return report.words
    worse = int((draws >= result.statistic).sum())
    return (
        f"Nothing speaks against the family: of {len(draws):,} samples that were drawn from"
        f" the fitted model and fitted again, {worse:,} look at least as wrong."
    )


class PearsonMoments(NamedTuple):
    """Mean and variance of y, (n, d_y) each.

    Of classes both are probabilities (n, K), which makes Σ (y − mean)²/variance Pearson's
    statistic.
    """

    mean: FloatArray
    variance: FloatArray


def pearson_moments(law: Law) -> PearsonMoments | None:
    """Return mean and variance of y; None where a law has none that are finite."""
    values = class_probabilities(law)
    if values is not None:
        p = np.asarray(values, dtype=np.float64)
        return PearsonMoments(p, np.maximum(p, 1e-12))
    mean_std = moments_of(law, "mean_std")
    if mean_std is None:
        return None
    mean, std = mean_std
    return PearsonMoments(mean, np.square(std)) if (std > 0).all() else None


def followed_noise(first: Law, refit: Law, rows: RowsInMemory) -> float:
    """Return Σ (m* − m)(y* − m)/v: how far a refit follows the noise of its responses.

    m and v are the mean and variance of y under the first law, m* the mean under the refit.
    """
    before = pearson_moments(first)
    after = pearson_moments(refit)
    if before is None or after is None:
        return 0.0
    observed = rows.sample.y
    if class_probabilities(refit) is not None:
        assert isinstance(rows.residuals, ClassResiduals)
        observed = np.eye(before.mean.shape[1])[rows.residuals.observed]
    noise = observed - before.mean
    return float(((after.mean - before.mean) * noise / before.variance).sum())


def crossfit_advice(
    effective: float | None, n: int, *, refits: int, seconds_per_refit: float
) -> tuple[str, ...]:
    """Say when out-of-fold laws are the better question."""
    if effective is not None and effective > FLEXIBLE * n:
        return (
            f"the fit follows the noise: refits say that it has about {effective:,.0f}"
            f" effective parameters for {n:,} rows. {BETTER} is the better question",
        )
    if seconds_per_refit * refits > SLOW_SECONDS:
        return (
            f"{refits:,} refits took {seconds_per_refit:.2g} seconds each. {BETTER} takes 5"
            " fits, and is the better question where the model will be used as it is"
            " fitted",
        )
    return ()


# Intervals of the numbers of all rows.


def with_refit_intervals(
    overall: Sequence[Finding], distances: FloatArray
) -> tuple[Finding, ...]:
    """Give findings the intervals that refits tell.

    Parameters
    ----------
    overall
        F findings of all rows.
    distances
        Their distances from what the model predicts, in each refit, (F, m).
    """
    pairs = zip(overall, distances, strict=True)
    return tuple(_with_refit_interval(finding, d) for finding, d in pairs)


def _with_refit_interval(finding: Finding, distances: FloatArray) -> Finding:
    # The number of outliers goes in steps, and what the model predicts of it is a bound.
    if finding.kind == "wild" or finding.label == LARGEST:
        return finding
    sd = float(distances.std(ddof=min(1, len(distances) - 1)))
    low, high = finding.interval
    if REACH * sd > SET_BY_FIT * (high - low) / 2.0:
        return replace(finding, interval=_refit_interval(finding, distances, sd))
    # A fit makes some numbers what they are, such as the share of a class.
    ends = sorted([finding.estimate, finding.expected])
    return replace(finding, interval=(ends[0], ends[1]), set_by_fit=True)


def _refit_interval(
    finding: Finding, distances: FloatArray, sd: float
) -> tuple[float, float]:
    """Return estimate − distance at both tails, or a normal interval if that is wider."""
    mean = float(distances.mean())
    lower, upper = np.quantile(distances, [TAIL, 1.0 - TAIL]).tolist()
    low = finding.estimate - max(upper, mean + REACH * sd)
    high = finding.estimate - min(lower, mean - REACH * sd)
    if QUANTITIES[finding.kind].is_share:
        return max(low, 0.0), min(high, 1.0)
    if finding.kind == "spread":
        return max(low, 0.0), high
    return low, high
