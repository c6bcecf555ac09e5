"""The replicates of a parametric bootstrap: draw, refit, evaluate; on this machine or a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Cluster, Crew, Processes, as_engine, can_send, with_progress
from condgof.errors import InputError, InputTypeError, MissingPackageError, NumericalError, RefitError
from condgof.laws import Fitter, Law, ModelLike, Probabilities, as_model, drawn
from condgof.sample import Sample, Seed, Use, fresh, refill

#: Called with (replicates that are done, replicates).
Progress: TypeAlias = Callable[[int, int], None]
Workers: TypeAlias = Crew | Processes | Cluster

#: Processes take about half a second to start: less work than this is done where we are.
WORTH_SECONDS = 3.0
#: One failed refit is not fatal; more than this share of them are.
MOST_FAILURES = 0.1
NOT_FRESH = (
    "Two draws of one replicate from the fitted model differ. Either fit works on one object and "
    "returns it again and again, so that a refit changed the fitted model (return a new one: for "
    "scikit-learn condgof.fits.sklearn(estimator), or sklearn.base.clone(estimator).fit(x, y)), or the "
    "model's sampler does not draw from the rng that it is given."
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a replicate gave: statistics (K,) or the message of what failed, and how long it took."""

    values: FloatArray | None
    error: str | None
    fit_seconds: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Replicates:
    """The task that travels to the workers: the number of a replicate → its outcome.

    The law is that of the model fitted on the sample, x and y are in the user's own containers, and
    replicate b has random streams of its own, whichever worker runs it.
    """

    fit: Fitter
    x: Any
    y: Any
    sample: Sample
    law: Law
    #: (model, y in the user's shape) → statistics (K,).
    statistic: Callable[[ModelLike, AnyArray], FloatArray]
    seed: Seed

    def __call__(self, number: int) -> Outcome:
        """Run a replicate; what goes wrong in it is its outcome."""
        start = time.perf_counter()
        try:
            y = draw_response(self.law, self.sample, self.seed, number)
            # A copy of x each time, so that a fit that writes into it changes nothing.
            rng = self.seed.stream(Use.REPLICATE, number, 1)
            model = self.fit(fresh(self.x), refill(self.y, y), rng)
            fitted = time.perf_counter()
            values = self.statistic(as_model(model), y.reshape(self.sample.y_given.shape))
            if not np.isfinite(values).all():
                raise NumericalError(f"The statistic is {values[~np.isfinite(values)][0]}.")
        except (MissingPackageError, MemoryError):
            raise  # the machine's fault, and not this replicate's
        except Exception as error:  # users' fits raise anything
            seconds = time.perf_counter() - start
            return Outcome(None, f"{type(error).__name__}: {error}", seconds, seconds)
        return Outcome(values, None, fitted - start, time.perf_counter() - start)


def draw_response(law: Law, sample: Sample, seed: Seed, number: int) -> AnyArray:
    """Draw the responses of a replicate from the fitted model as y has them, (n, d_y) or labels (n,)."""
    numbers = drawn(law, sample.d_y, seed.stream(Use.REPLICATE, number, 0))
    if sample.y_given.dtype.kind not in "OUS":
        return numbers
    assert isinstance(law, Probabilities)  # of labels that are text, models draw the positions
    labels: AnyArray = law.classes.labels[numbers.astype(np.int64)]
    return labels


def choose_workers(engine: Any, kind: str | None, task: Replicates, seconds: float) -> Workers:
    """Choose where replicates run, which would take so many seconds one after the other.

    Threads only where they are asked for: a user's fit may share an object between its calls.
    """
    chosen = as_engine(engine)
    if isinstance(chosen, Cluster):
        return chosen
    if kind == "threads" or chosen.count == 1:
        return Crew(chosen.count)
    if kind is None:
        return Processes(chosen.count) if seconds > WORTH_SECONDS and can_send(task) else Crew(1)
    if not can_send(task):
        raise InputTypeError(
            "fit, its model or the statistic cannot be sent to another process. Define fit at the "
            "top of a module, install cloudpickle, or pass workers='threads' (if fit can run in "
            "several threads at once) or engine=1."
        )
    return Processes(chosen.count)


def named(workers: Workers) -> str:
    """Say where replicates run."""
    if isinstance(workers, Cluster):
        return "Dask"
    if workers.count == 1:
        return "this process"
    return f"{workers.count} {'threads' if isinstance(workers, Crew) else 'processes'}"


def run(
    task: Replicates, n_boot: int, engine: Any, kind: str | None, progress: Progress | bool | None
) -> tuple[list[Outcome], str]:
    """Run all replicates, the first of them here; return them in order, and where they ran."""
    drawing: tuple[Any, ...] = (task.law, task.sample, task.seed, 1)
    before, first = draw_response(*drawing), task(1)
    if not np.array_equal(before, draw_response(*drawing)):
        raise InputError(NOT_FRESH)
    outcomes: dict[int, Outcome] = {}
    workers = choose_workers(engine, kind, task, n_boot * first.seconds)
    with closing(workers.completed(task, range(2, n_boot + 1))) as found:  # type: ignore[type-var]
        others: Iterable[tuple[int, Outcome]] = found
        if progress is None or progress is True:
            others = with_progress(found, n_boot - 1, "refits")
        for number, outcome in chain([(1, first)], others):
            outcomes[number] = outcome
            check_failures(outcomes, n_boot)
            if callable(progress):
                progress(len(outcomes), n_boot)
    return [outcomes[number] for number in sorted(outcomes)], named(workers)


def check_failures(outcomes: dict[int, Outcome], n_boot: int) -> None:
    """Stop when too many refits failed: those that did not are no fair sample of all."""
    failed = [o.error for _, o in sorted(outcomes.items()) if o.error is not None]
    if len(failed) > max(1, int(MOST_FAILURES * n_boot)):
        raise RefitError(
            f"{len(failed)} of {len(outcomes)} refits failed, more than {MOST_FAILURES:.0%} of the "
            f"{n_boot} that were asked for. The first: {failed[0]} The model was refitted on responses "
            "drawn from the fitted model itself: check that fit works on such data."
        )
