"""Censored and truncated times, and the survival models of lifelines and scikit-survival."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    ShapeError,
    UnsupportedModelError,
    refuse_rows,
    users_code,
)
from condgof.laws import _law as laws
from condgof.laws._as_model import as_model
from condgof.laws._law import Around, AtRows, Model, ModelLike, same_as
from condgof.laws._library import as_pandas
from condgof.sample import as_numbers

STEPS = "the model's survival function is made of steps, taken as they are: −log of it at y"


@dataclass(frozen=True, eq=False)
class Censored(Around):
    """A model of times, bound to rows that say of each y whether the event came then; see `censored`."""

    #: The law of y, or a model that is still to be called with x.
    law: Any
    event: FloatArray
    entry: FloatArray | None = None

    quantile, normal_scores = same_as("law.quantile"), same_as("law.normal_scores")

    @property
    def rows(self) -> int | None:
        return len(self.event)

    def noted(self, *notes: str) -> Censored:
        return replace(self, law=self.law.noted(*notes)) if notes else self

    def take(self, rows: IntArray) -> Censored:
        law = self.law if self.law.rows is None else self.law.take(rows)
        return Censored(
            law, self.event[rows], None if self.entry is None else self.entry[rows]
        )

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Censored:
        super().__call__(x, n)
        return replace(self, law=self.law(x, len(self.event)))

    def facing(self, y: AnyArray) -> Censored:
        """Refuse a law that does not say P(Y > y | x), and check entries against y."""
        law = self.law.facing(y)
        if (
            law.discrete
            or not law.of_x
            or not any(map(law.can, ("normal_scores", "cdf", "sf")))
        ):
            told = (
                f"event= needs P(Y > y | x) of a continuous y, which {law.name} does"
                " not say"
            )
            raise UnsupportedModelError(
                f"{told}. Pass a closed form, or a model of survival."
            )
        times = self._columns(y)[:, 0]
        if self.entry is not None:
            late = self.entry >= times
            refuse_rows(
                late, "entry is not before y", "A row is watched from entry until y."
            )
        return replace(self, law=law)

    def watched(self, z: FloatArray) -> FloatArray:
        """Return the residual d − Λ(y) + Λ(entry), the event d, and Φ⁻¹(F) at the entry, (n, 3)."""
        start = np.full(len(self.event), -np.inf)
        if self.entry is not None:
            inside = np.flatnonzero(self.entry[:, None] > np.atleast_2d(self.support[0]))
            if len(inside):
                start[inside] = self.take(inside).normal_scores(self.entry[inside])[:, 0]
        residual = self.event - hazard(z[:, 0]) + hazard(start)
        return np.column_stack([residual, self.event, start])


def hazard(z: AnyArray) -> FloatArray:
    """Return the cumulative hazard Λ = −log(1 − Φ(z)) of normal scores, exponential under the law."""
    return np.asarray(-log_ndtr(-np.asarray(z, dtype=np.float64)))


def censored(model: object, event: Any, entry: Any = None, x: Any = None) -> ModelLike:
    """Model of times that are right-censored, and perhaps left-truncated; see ``event=`` of `check`.

    The tests compare event − Λ(y) + Λ(entry) with 0, its mean given x if the model is true and censoring
    is independent of the time given x, where Λ(t) = −log P(Y > t | x).

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        A model of a continuous time that says P(Y > y | x).
    event, entry : array_like of shape (n,), or None
        1 where the event came at y, 0 where it had not come by y (None: the model as it
        is); the time from which on a row was watched: it is in the data because y is later.
    x : frame, optional
        If `event` and `entry` are pandas objects, their index must be that of x.

    Examples
    --------
    >>> from condgof.models import Exponential
    >>> law = censored(Exponential(scale=2.0), [True, False])(n=2)
    >>> law.watched(law.normal_scores(np.array([1.0, 3.0]))).round(3)
    array([[ 0.5,  1. , -inf],
           [-1.5,  0. , -inf]])
    """
    made = as_model(model)
    if event is None:
        if entry is not None:
            raise InputError(
                "entry= goes with event=: pass event, 1 for all rows if none is censored."
            )
        return made
    values, start = (
        _column(event, "event", x),
        None if entry is None else _column(entry, "entry", x),
    )
    wrong = (values != 0) & (values != 1)
    got = ", ".join(f"{v:g}" for v in np.unique(values[wrong])[:3])
    must = "event must be 0 or 1 in each row (1: it came at y; 0: it had not by y)"
    refuse_rows(wrong, f"{must}, and is {got}", "Correct those rows.")
    if not values.any():
        raise InputError(
            "event is 0 in all rows: without a single event there is nothing to compare."
        )
    if start is not None and len(start) != len(values):
        raise ShapeError(f"entry has {len(start)} rows, and event {len(values)}.")
    return Censored(made, values, start)


def _column(given: Any, name: str, x: Any) -> FloatArray:
    both = hasattr(given, "iloc") and hasattr(x, "iloc")
    if both and len(given) == len(x) and not given.index.equals(x.index):
        raise InputError(
            f"{name} and x have different indices. Align them, or pass arrays."
        )
    values = as_numbers(given, name).astype(np.float64)
    if not values.ndim or values.size != len(values):
        raise ShapeError(
            f"{name} must have shape (n,), one number for each row, got {values.shape}."
        )
    refuse_rows(
        np.isnan(values),
        f"{name} is missing",
        "Say of each row what it is, or drop the row.",
    )
    return values.ravel()


@dataclass(frozen=True, eq=False)
class SurvivalCurves(AtRows):
    """What a fitted survival model says of times at rows of x; most say nothing after the `last`."""

    #: (x of some rows, times (m,)) → P(Y > t | x), (rows, m).
    curves: Any
    x: Any
    count: int
    last: float
    name: str = "the survival model"
    notes: tuple[str, ...] = ()
    ends: tuple[AnyArray, AnyArray] = (np.array(0.0), np.array(np.inf))

    def _at(self, times: FloatArray) -> FloatArray:
        """Return P(Y > t | x) at m times, (n, m)."""
        with users_code(self.name):
            shares = np.asarray(self.curves(self.x, times), dtype=np.float64)
        if shares.shape != (self.count, len(times)):
            raise InputError(
                f"{self.name} predicted a shape of {shares.shape} for {self.count} rows."
            )
        return np.clip(shares, 0.0, 1.0)

    def sf(self, y: AnyArray) -> FloatArray:
        shares = np.empty(self.count)
        step = max(1, 2**21 // max(self.count, 1))
        times, place = np.unique(laws.as_rows(y)[:, 0], return_inverse=True)
        for start in range(0, len(times), step):
            mine = np.flatnonzero((place >= start) & (place < start + step))
            part = self.take(mine)._at(times[start : start + step])
            shares[mine] = part[np.arange(len(mine)), place[mine] - start]
        return shares

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(1.0 - self.sf(y))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of min(Y, last), (n, 1) each."""
        times = np.linspace(0.0, self.last, 128)
        share, step = self._at(times), times[1]
        middle = 0.5 * (share[:, 1:] + share[:, :-1]) * step
        mean = middle.sum(axis=1, keepdims=True)
        square = 2.0 * (middle * (times[1:] - 0.5 * step)).sum(axis=1, keepdims=True)
        return mean, np.sqrt(np.maximum(square - mean**2, 1e-12 * self.last**2))


def of_lifelines(obj: Any) -> Model:
    """Make a model of a fitted regression of lifelines."""
    name = type(obj).__name__
    if getattr(obj, "durations", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    if not hasattr(obj, "predict_survival_function"):
        told = f"{name} of lifelines predicts no survival given x"
        raise UnsupportedModelError(f"{told}. Pass a regression, such as CoxPHFitter.")
    stepped = (
        getattr(obj, "baseline_estimation_method", "") == "breslow" or "Additive" in name
    )
    return Model(
        partial(_law, _lifelines, obj, float(np.max(obj.durations)), stepped), name
    )


def of_sksurv(obj: Any) -> Model:
    """Make a model of a fitted estimator of scikit-survival."""
    name = type(obj).__name__
    last = obj[-1] if hasattr(obj, "steps") else obj
    if not hasattr(last, "predict_survival_function"):
        advice = "Pass one that does, such as RandomSurvivalForest."
        raise UnsupportedModelError(
            f"{name} ranks risks and predicts no survival function. {advice}"
        )
    try:
        times = np.asarray(last.unique_times_)
    except Exception as error:  # not fitted, or fitted without a baseline
        how = (
            "Call its fit method first (of CoxnetSurvivalAnalysis with"
            " fit_baseline_model=True)"
        )
        raise InputError(f"{name} has no survival function yet. {how}.") from error
    return Model(partial(_law, _sksurv, obj, float(times[-1]), True), name)


def _law(ask: Any, obj: Any, last: float, stepped: bool, x: Any) -> SurvivalCurves:
    x, notes = as_pandas(x), (STEPS,) if stepped else ()
    return SurvivalCurves(partial(ask, obj), x, len(x), last, type(obj).__name__, notes)


def _lifelines(obj: Any, x: TableLike, times: FloatArray) -> FloatArray:
    return np.asarray(obj.predict_survival_function(x, times=times)).T


def _sksurv(obj: Any, x: Any, times: FloatArray) -> FloatArray:
    curves = [
        np.where(times < curve.domain[0], 1.0, curve(np.clip(times, *curve.domain)))
        for curve in obj.predict_survival_function(x)
    ]
    return np.array(curves).reshape(len(x), len(times))
