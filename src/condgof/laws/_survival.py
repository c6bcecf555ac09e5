"""Censored and truncated times; survival models of lifelines and scikit-survival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    CensoringWarning,
    InputError,
    ShapeError,
    UnsupportedModelError,
    option,
    option_name,
    refuse_rows,
    users_code,
    warn,
)
from condgof.laws._about import draws_per_row
from condgof.laws._as_model import as_model
from condgof.laws._law import (
    TINY,
    Around,
    AtRows,
    Law,
    Model,
    ModelLike,
    as_rows,
    evaluate_cdf_grid,
    invert,
    same_as,
)
from condgof.laws._library import as_pandas
from condgof.sample import FrameOrigin, align_rows, as_numbers

#: The note of a law whose survival function is a step function.
STEPS = "the model's survival function is made of steps, taken as they are: −log of it at y"
#: Numbers of a table of survival probabilities that are computed at a time.
TABLE_SIZE = 2**21
#: Times at which a survival function is integrated for its location and scale.
GRID_TIMES = 128
#: Level of the quantile of observed times up to which the integrated Brier score goes: few
#: rows are left after it, and their weights are large.
IBS_LEVEL = 0.9
#: Times at which the integrand of the integrated Brier score is cut.
IBS_STEPS = 101
#: Least variance, relative to the square of the last time.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Censored(Around):
    """A model of times with rows that say whether the event came at y; see `censored`."""

    #: The law of y, or a model that is still to be called with x.
    law: Any
    #: 1 where the event came at y, 0 where y is censored, (n,).
    event: FloatArray
    #: The time from which on a row is observed, (n,); None for all from the beginning.
    entry: FloatArray | None = None

    is_censored = True
    quantile = same_as("law.quantile")
    normal_scores = same_as("law.normal_scores")

    @property
    def rows(self) -> int | None:
        return len(self.event)

    def noted(self, *notes: str) -> Censored:
        return replace(self, law=self.law.noted(*notes)) if notes else self

    def take(self, rows: IntArray) -> Censored:
        law = self.law if self.law.rows is None else self.law.take(rows)
        entry = None if self.entry is None else self.entry[rows]
        return Censored(law, self.event[rows], entry)

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Censored:
        super().__call__(x, n)
        law = self.law(x, len(self.event))
        if isinstance(law, SurvivalCurves):
            law = replace(law, knows_events=True)
        return replace(self, law=law)

    def facing(self, y: AnyArray) -> Censored:
        """Refuse a law that does not offer P(Y > y | x), and check entries against y."""
        law = self.law.facing(y)
        has_survival = law.can("normal_scores") or law.can("cdf") or law.can("sf")
        if law.discrete or draws_per_row(law) or not has_survival:
            raise UnsupportedModelError(
                f"{option('event')} needs P(Y > y | x) of a continuous y, which {law.name}"
                " does not say. Pass a closed form, or a model of survival."
            )
        times = self._columns(y)[:, 0]
        if self.entry is not None:
            refuse_rows(
                self.entry >= times,
                "entry is not before y",
                "A row is watched from entry until y.",
            )
        return replace(self, law=law)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), of censored rows log P(Y > y|x), given Y > entry, (n,)."""
        logs = np.asarray(self.law.log_prob(y), dtype=np.float64)
        z = self.normal_scores(y)[:, 0]
        return np.where(self.event > 0, logs, log_ndtr(-z)) + hazard(self.entry_scores())

    def ibs(self, y: AnyArray) -> FloatArray:
        """Return the integrated Brier score of Graf et al. (1999), (n,).

        With S(t) = P(Y > t | x, Y > entry), the event d, and G(t) = P(C > t | C > entry)
        of the censoring time, estimated by Kaplan and Meier from these rows, it is

            (1/τ) ∫ [ S(t)²·1{y ≤ t, d = 1}/G(y−) + (1 − S(t))²·1{y > t}/G(t) ] dt

        over t from the entry to τ, the 90% quantile of y. Its mean is that of complete
        data if censoring does not depend on x or on the time (Gerds and Schumacher 2006),
        and then it is proper for the law up to τ.
        """
        times = np.asarray(self._columns(y)[:, 0], dtype=np.float64)
        start = np.full(len(times), -np.inf) if self.entry is None else self.entry
        last = float(np.quantile(times, IBS_LEVEL))
        edges = np.unique(np.quantile(times[times <= last], np.linspace(0, 1, IBS_STEPS)))
        edges = np.concatenate([[min(0.0, edges[0])], edges[edges > 0.0]])
        t = 0.5 * (edges[1:] + edges[:-1])
        censoring = KaplanMeier.from_times(times, start, self.event == 0)
        survival = 1.0 - evaluate_cdf_grid(self.law, t)
        if self.entry is not None:
            at_entry = np.exp(-hazard(self.entry_scores()))
            survival = np.clip(survival / np.maximum(at_entry, TINY)[:, None], 0.0, 1.0)
        uncensored = np.maximum(censoring.before(times), TINY)[:, None]
        still_there = np.maximum(censoring.at(t), TINY)
        at_start = censoring.at(start)[:, None]
        has_come = (times[:, None] <= t) & (self.event[:, None] > 0)
        to_come = times[:, None] > t
        losses = at_start * (
            np.square(survival) * has_come / uncensored
            + np.square(1.0 - survival) * to_come / still_there
        )
        watched = t > start[:, None]
        return np.asarray((losses * watched) @ np.diff(edges) / last)

    def entry_scores(self) -> FloatArray:
        """Return Φ⁻¹(F) at the entry, −∞ for a row observed from the beginning, (n,)."""
        start = np.full(len(self.event), -np.inf)
        if self.entry is not None:
            inside = np.flatnonzero(self.entry[:, None] > np.atleast_2d(self.support[0]))
            if len(inside):
                start[inside] = self.take(inside).normal_scores(self.entry[inside])[:, 0]
        return start

    def watched(self, z: FloatArray) -> FloatArray:
        """Return residuals, events and entries, (n, 3), of normal scores z of y, (n, 1).

        The residual is d − Λ(y) + Λ(entry), where d is the event. The third column is
        Φ⁻¹(F) at the entry, −∞ for a row that is observed from the beginning.
        """
        start = self.entry_scores()
        residual = self.event - hazard(z[:, 0]) + hazard(start)
        return np.column_stack([residual, self.event, start])


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """The estimate of Kaplan and Meier of P(T > t), a step function."""

    times: FloatArray  #: Where it falls, in order, (k,).
    survival: FloatArray  #: Its values from there on, (k,).

    @classmethod
    def from_times(
        cls, times: FloatArray, start: FloatArray, came: AnyArray
    ) -> KaplanMeier:
        """Estimate it from times (n,), where T came or, else, had not come by then.

        Rows are watched from `start` (n,) on, and `came` (n,) is whether T is the time.
        Where T and the end of watching coincide, the latter came first: of censoring, that
        is the event that the row is watched for.
        """
        places = np.unique(times[came])
        fallen = np.searchsorted(np.sort(times[came]), places, side="right")
        fallen = np.diff(fallen, prepend=0)
        watched_until = np.sort(times)
        begun = np.searchsorted(np.sort(start), places, side="left")
        at_risk = begun - np.searchsorted(watched_until, places, side="left")
        others = np.sort(times[~came])
        tied = np.searchsorted(others, places, side="right")
        tied = tied - np.searchsorted(others, places, side="left")
        factors = 1.0 - fallen / np.maximum(at_risk - tied, 1)
        return cls(places, np.cumprod(factors))

    def at(self, t: FloatArray) -> FloatArray:
        """Return P(T > t), in the shape of t."""
        steps = np.concatenate([[1.0], self.survival])
        return np.asarray(steps[np.searchsorted(self.times, t, side="right")])

    def before(self, t: FloatArray) -> FloatArray:
        """Return P(T ≥ t), in the shape of t."""
        steps = np.concatenate([[1.0], self.survival])
        return np.asarray(steps[np.searchsorted(self.times, t, side="left")])


def hazard(z: AnyArray) -> FloatArray:
    """Return the cumulative hazard Λ = −log(1 − Φ(z)) of normal scores z, of any shape.

    It is exponential under the law.
    """
    return np.asarray(-log_ndtr(-np.asarray(z, dtype=np.float64)))


def censored(
    model: object, event: Any, entry: Any = None, x: Any = None, y: Any = None
) -> ModelLike:
    """Model of times that are right-censored, and perhaps left-truncated.

    The tests compare event − Λ(y) + Λ(entry) with 0, its mean given x if the model is true
    and censoring is independent of the time given x, where Λ(t) = −log P(Y > t | x). See
    ``event=`` of `check`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        A model of a continuous time that says P(Y > y | x).
    event, entry : array_like of shape (n,), or None
        1 where the event came at y, 0 where it had not come by y (None: the model as it
        is); the time from which on a row was watched: it is in the data because y is later.
    x, y : frames, optional
        If `event` and `entry` are pandas objects, they are put in the order of x, or of y
        where x has no index.

    Examples
    --------
    >>> from condgof.models import Exponential
    >>> law = censored(Exponential(scale=2.0), [True, False])(n=2)
    >>> law.watched(law.normal_scores(np.array([1.0, 3.0]))).round(3)
    array([[ 0.5,  1. , -inf],
           [-1.5,  0. , -inf]])
    """
    model = as_model(model)
    events = read_events(event, entry, x, y)
    return model if events is None else events.bind(model)


class Events(NamedTuple):
    """Which times are events, and from when on their rows were watched."""

    #: 1 where the event came at y, 0 where it had not come by y, (n,).
    event: FloatArray
    #: The time from which on a row was watched, (n,); None for all from the beginning.
    entry: FloatArray | None

    def bind(self, model: ModelLike) -> Censored:
        """Bind a model to these events; one that is bound must have the same."""
        if not isinstance(model, Censored):
            return Censored(model, self.event, self.entry)
        if model.entry is None or self.entry is None:
            same_entry = model.entry is self.entry
        else:
            same_entry = np.array_equal(model.entry, self.entry)
        if not (same_entry and np.array_equal(model.event, self.event)):
            raise InputError(
                f"{option('event')} and {option('entry')} differ from those that crossfit"
                " was given. Leave them out: the law that crossfit returns has them."
            )
        return model

    def take(self, rows: IntArray) -> Events:
        return Events(self.event[rows], None if self.entry is None else self.entry[rows])

    def arguments(self) -> dict[str, AnyArray]:
        """Return what a user's fit gets beside x and y: whole numbers, and times."""
        given: dict[str, AnyArray] = {"event": self.event.astype(np.int64)}
        if self.entry is not None:
            given["entry"] = self.entry.copy()
        return given


def read_events(event: Any, entry: Any, x: Any, y: Any) -> Events | None:
    """Read and check the events and entries of n rows; None where there are none.

    Parameters are those of `censored`.
    """
    if event is None:
        if entry is not None:
            raise InputError(
                f"{option('entry')} goes with {option('event')}: pass that, 1 for all rows"
                " if none is censored."
            )
        return None
    labels = FrameOrigin.from_sample(x, y).labels
    events = _read_column(event, "event", labels, y)
    entries = None if entry is None else _read_column(entry, "entry", labels, y)
    _check_events(events)
    if entries is not None and len(entries) != len(events):
        raise ShapeError(f"entry has {len(entries)} rows, and event {len(events)}.")
    return Events(events, entries)


def _check_events(events: FloatArray) -> None:
    """Refuse events (n,) that are not 0 or 1, or all 0."""
    wrong = (events != 0) & (events != 1)
    got = ", ".join(f"{value:g}" for value in np.unique(events[wrong])[:3])
    refuse_rows(
        wrong,
        f"{option_name('event')} must be 0 or 1 in each row (1: it came at y; 0: it had not"
        f" by y), and is {got}",
        "Correct those rows.",
    )
    if not events.any():
        raise InputError(
            f"{option_name('event')} is 0 in all rows: without a single event there is"
            " nothing to compare."
        )


def _read_column(values: Any, name: str, labels: Any, y: Any) -> FloatArray:
    """Return a complete column of numbers, (n,), in the order of the labels of rows.

    `y` is what has as many rows, or None where that is not known.
    """
    values = align_rows(values, labels, name)
    numbers = as_numbers(values, name).astype(np.float64)
    if y is not None and numbers.ndim and len(numbers) != len(y):
        raise ShapeError(
            f"{name} has {len(numbers):,} rows, and y has {len(y):,}. Pass one number for"
            " each row of y."
        )
    if not numbers.ndim or numbers.size != len(numbers):
        raise ShapeError(
            f"{name} must have shape (n,), one number for each row, got {numbers.shape}."
        )
    refuse_rows(
        np.isnan(numbers),
        f"{name} is missing",
        "Say of each row what it is, or drop the row.",
    )
    return numbers.ravel()


@dataclass(frozen=True, eq=False)
class SurvivalCurves(AtRows):
    """The survival functions that a fitted model predicts at rows of x.

    Most models predict none after the `last` time of their own data.
    """

    #: (x of some rows, times (m,)) → P(Y > t | x), (rows, m).
    curves: Callable[[Any, FloatArray], AnyArray]
    x: Any
    count: int
    last: float
    name: str = "the survival model"
    notes: tuple[str, ...] = ()
    ends: tuple[AnyArray, AnyArray] = (np.array(0.0), np.array(np.inf))
    #: Whether it is known of each row whether y is an event.
    knows_events: bool = False
    #: Whether the survival functions are step functions.
    has_steps: bool = False

    def facing(self, y: AnyArray) -> Law:
        """Warn where nothing says which rows are events."""
        if not self.knows_events:
            warn(
                f"{self.name} models times until an event, and {option('event')} was not"
                " passed: all y are taken as times at which it came. Pass"
                f" {option('event')}, 1 in all rows if that is so.",
                CensoringWarning,
            )
        return super().facing(y)

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        return np.asarray(1.0 - self._at(np.asarray(values, dtype=np.float64)))

    def _at(self, times: FloatArray) -> FloatArray:
        """Return P(Y > t | x) of every row at m times, (n, m)."""
        with users_code(self.name):
            survival = np.asarray(self.curves(self.x, times), dtype=np.float64)
        if survival.shape != (self.count, len(times)):
            raise InputError(
                f"{self.name} predicted a shape of {survival.shape} for {self.count} rows."
            )
        return np.clip(survival, 0.0, 1.0)

    def sf(self, y: AnyArray) -> FloatArray:
        """Return P(Y > y | x), (n,).

        A library predicts a table of all rows and times, which grows like n². So the times
        are taken in blocks, and each block is predicted for the rows that it belongs to.
        """
        survival = np.empty(self.count)
        times, time_of_row = np.unique(as_rows(y)[:, 0], return_inverse=True)
        block = max(1, TABLE_SIZE // max(self.count, 1))
        for start in range(0, len(times), block):
            stop = start + block
            rows = np.flatnonzero((time_of_row >= start) & (time_of_row < stop))
            table = self.take(rows)._at(times[start:stop])
            survival[rows] = table[np.arange(len(rows)), time_of_row[rows] - start]
        return survival

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(1.0 - self.sf(y))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of T = min(Y, last), (n, 1) each.

        They follow from E[T] = ∫ S(t) dt and E[T²] = 2 ∫ t S(t) dt over (0, last).
        """
        times = np.linspace(0.0, self.last, GRID_TIMES)
        step = times[1]
        survival = self._at(times)
        areas = 0.5 * (survival[:, 1:] + survival[:, :-1]) * step
        mean = areas.sum(axis=1, keepdims=True)
        square = 2.0 * (areas * (times[1:] - 0.5 * step)).sum(axis=1, keepdims=True)
        variance = np.maximum(square - mean**2, LEAST_VARIANCE * self.last**2)
        return mean, np.sqrt(variance)


def from_lifelines(obj: Any) -> Model:
    """Model from a fitted regression of lifelines."""
    name = type(obj).__name__
    if getattr(obj, "durations", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    if not hasattr(obj, "predict_survival_function"):
        raise UnsupportedModelError(
            f"{name} of lifelines predicts no survival given x. Pass a regression, such as"
            " CoxPHFitter."
        )
    has_breslow_baseline = getattr(obj, "baseline_estimation_method", "") == "breslow"
    has_steps = has_breslow_baseline or "Additive" in name
    last = float(np.max(obj.durations))
    curves = partial(_lifelines_curves, obj)
    make = partial(_survival_law, curves, name, last, has_steps)
    return Model(make, name, of_survival=True)


def from_sksurv(obj: Any) -> Model:
    """Model from a fitted estimator of scikit-survival, or a pipeline that has one."""
    name = type(obj).__name__
    estimator = obj[-1] if hasattr(obj, "steps") else obj
    if not hasattr(estimator, "predict_survival_function"):
        raise UnsupportedModelError(
            f"{name} ranks risks and predicts no survival function. Pass one that does,"
            " such as RandomSurvivalForest."
        )
    try:
        times = np.asarray(estimator.unique_times_)
    except Exception as error:  # not fitted, or fitted without a baseline
        raise InputError(
            f"{name} has no survival function yet. Call its fit method first (of"
            " CoxnetSurvivalAnalysis with fit_baseline_model=True)."
        ) from error
    curves = partial(_sksurv_curves, obj)
    make = partial(_survival_law, curves, name, float(times[-1]), True)
    return Model(make, name, of_survival=True)


def _survival_law(
    curves: Callable[[Any, FloatArray], AnyArray],
    name: str,
    last: float,
    has_steps: bool,
    x: Any,
) -> SurvivalCurves:
    """Return the law of a fitted model at the rows of x."""
    x = as_pandas(x)
    notes = (STEPS,) if has_steps else ()
    return SurvivalCurves(curves, x, len(x), last, name, notes, has_steps=has_steps)


@singledispatch
def times_at(law: Law, levels: FloatArray, places: FloatArray) -> FloatArray:
    """Return the times at which P(Y ≤ t | x) reaches levels, (n,).

    Parameters
    ----------
    law : Law
        n rows of a single y.
    levels : ndarray of shape (n,)
        From 0 to 1, one for each row.
    places : ndarray of shape (m,)
        Increasing times at which survival functions of a library are looked up. Between
        them the hazard is taken as constant, unless they are step functions; what is not
        reached at the last one is infinite.
    """

    def distribution(law: Law, y: FloatArray) -> AnyArray:
        return law.cdf(y) if law.can("cdf") else 1.0 - law.sf(y)

    return invert(law, distribution, levels[:, None])[:, 0]


@times_at.register
def _times_on_curves(
    law: SurvivalCurves, levels: FloatArray, places: FloatArray
) -> FloatArray:
    times = np.empty(law.count)
    parts = -(-law.count * len(places) // TABLE_SIZE)
    for rows in np.array_split(np.arange(law.count), parts):
        survival = law.take(rows)._at(places)
        reached = 1.0 - survival >= levels[rows, None]
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(places))
        times[rows] = np.append(places, np.inf)[first]
        if not law.has_steps:
            inside = np.flatnonzero(first < len(places))
            times[rows[inside]] = _between(
                survival[inside], 1.0 - levels[rows[inside]], places, first[inside]
            )
    return times


def _between(
    survival: FloatArray, target: FloatArray, places: FloatArray, first: IntArray
) -> FloatArray:
    """Return when survival (n, m) at m places falls to targets (n,), of constant hazards.

    `first` (n,) are the places at which it has fallen to them.
    """
    rows = np.arange(len(first))
    with np.errstate(divide="ignore"):
        cumulative = -np.log(np.maximum(survival, TINY))
        wanted = -np.log(np.maximum(target, TINY))
    end = cumulative[rows, first]
    is_first = first == 0
    start = np.where(is_first, 0.0, cumulative[rows, first - 1])
    left = np.where(is_first, min(0.0, places[0]), places[first - 1])
    share = (wanted - start) / np.maximum(end - start, TINY)
    return np.asarray(left + np.clip(share, 0.0, 1.0) * (places[first] - left))


def _lifelines_curves(obj: Any, x: TableLike, times: FloatArray) -> FloatArray:
    """Return P(Y > t | x) at m times, (rows, m)."""
    return np.asarray(obj.predict_survival_function(x, times=times)).T


def _sksurv_curves(obj: Any, x: Any, times: FloatArray) -> FloatArray:
    """Return P(Y > t | x) at m times, (rows, m): 1 before the first time that is known."""
    curves = []
    for curve in obj.predict_survival_function(x):
        first, last = curve.domain
        survival = curve(np.clip(times, first, last))
        curves.append(np.where(times < first, 1.0, survival))
    return np.array(curves).reshape(len(x), len(times))
