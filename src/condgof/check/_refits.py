"""Fits of `composite`: the first one, and refits on responses that are drawn from it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof import engine as engines
from condgof import errors
from condgof._typing import AnyArray, FloatArray
from condgof.check._drawing import Drawing, Response, draw_response, drawing_from
from condgof.check._shrinkage import PAIRS, Moved, Shrinkage, movable_moments, shrinkage_of
from condgof.errors import InputError, InputTypeError, RefitError, UnsupportedModelError
from condgof.laws import Events, Law, ModelLike, Moments, as_model, law_of, moments_of
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Use, fresh, refill

#: Called with (replicates that are done, replicates).
Progress: TypeAlias = Callable[[int, int], None]
Workers: TypeAlias = engines.Threads | engines.Processes | engines.Cluster

#: Replicates that take fewer seconds than this in all are run in this process.
SECONDS_WORTH_PROCESSES = 3.0
#: More failed refits than this share are an error: the others are no fair sample. One
#: failure is always allowed.
MOST_FAILURES = 0.1
#: Characters of a fitted model that a result shows.
MODEL_CHARACTERS = 160

NOT_FRESH = (
    "Two draws of one replicate from the fitted model differ. Either fit works on one"
    " object and returns it again and again, so that a refit changed the fitted model"
    " (return a new one: for scikit-learn condgof.fits.sklearn(estimator), or"
    " sklearn.base.clone(estimator).fit(x, y)), or the model's sampler does not draw from"
    " the rng that it is given."
)


# The first fit.


class FirstFit(NamedTuple):
    """The sample, and the model that was fitted on it."""

    sample: Sample
    #: The model, and the same bound to the events of the sample if times are censored.
    plain_model: ModelLike
    model: ModelLike
    law: Law
    #: The fitted model in words.
    words: str
    #: Draws responses from the fit.
    drawing: Drawing
    seed: Seed


def fit_sample(
    fitter: Callable[..., Any],
    x: Any,
    y: Any,
    sample: Sample,
    events: Events | None,
    seed: Seed,
) -> FirstFit:
    """Fit the model on the sample; it must be one that can be sampled."""
    observed = Response(sample.y_given, events)
    with errors.users_code("fit"):
        rng = seed.stream(Use.REPLICATE, 0, 1)
        raw = fitter(fresh(x), fresh(y), rng, **observed.arguments())
        words = model_words(raw)
        plain = as_model(raw)
    model = observed.bind(plain)
    law = law_of(model, sample)
    # What event= needs, P(Y > y|x), is enough to draw times from.
    if events is None and not law.can("sample"):
        raise UnsupportedModelError(
            "composite draws new responses from the model that fit returns, and"
            f" {law.name} has no sampler. Those that have one: closed forms"
            " (condgof.models), tuples (mean, std), class probabilities, distributions"
            " and models of libraries; scores and log-densities do not."
        )
    return FirstFit(
        sample=sample,
        plain_model=plain,
        model=model,
        law=law,
        words=words,
        drawing=drawing_from(law, sample, seed),
        seed=seed,
    )


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

    None where that is not known: y is discrete, bounded or censored, or a refit failed.
    """
    if first.law.is_censored or movable_moments(first.law) is None:
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
    #: (model, y in the user's shape) → statistics (K,).
    statistic: Callable[[ModelLike, AnyArray], FloatArray]
    drawing: Drawing
    seed: Seed
    #: How responses of a fit that shrinks are moved; None where they are not.
    moved: Moved | None = None

    def __call__(self, number: int) -> RefitOutcome:
        start = time.perf_counter()
        try:
            response = self.response(number)
            # A copy of x each time, so that a fit that writes into it changes nothing.
            rng = self.seed.stream(Use.REPLICATE, number, 1)
            y = refill(self.y, response.y)
            fitted_model = self.fit(fresh(self.x), y, rng, **response.arguments())
            fitted = time.perf_counter()
            model = response.bind(as_model(fitted_model))
            values = self.statistic(model, response.y.reshape(self.sample.y_given.shape))
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

    def response(self, number: int) -> Response:
        """Draw the responses of a replicate from the fitted model."""
        response = self.drawing(self.seed, number)
        if self.moved is None:
            return response
        return response._replace(y=self.moved.apply(response.y))


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
    if not np.array_equal(before.y, task.response(1).y):
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
