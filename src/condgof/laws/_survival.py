"""Fitted survival models of lifelines and scikit-survival, by their survival functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws._law import Law, Model, as_rows, same_as
from condgof.laws._library import as_pandas, as_table, comes_from, predicting
from condgof.sample import take_rows

SUPPORTED = (
    "fitted regressions of lifelines (CoxPHFitter, WeibullAFTFitter, …) and estimators of "
    "scikit-survival (CoxPHSurvivalAnalysis, RandomSurvivalForest, …), by their survival functions"
)
STEPS = (
    "the model's survival function is made of steps (a Breslow or Nelson–Aalen estimate), which were "
    "taken as they are: −log of it at y"
)


@dataclass(frozen=True, eq=False)
class SurvivalCurves(Law):
    """What a fitted survival model says of times at n rows of x: P(Y > t | x).

    Location and scale are mean and standard deviation of min(Y, τ), with τ the last time that the model
    knows: most of these laws say nothing of what is later.
    """

    #: (x of some rows, times (m,)) → P(Y > t | x), (rows, m).
    curves: Any
    x: Any
    count: int
    #: The last time that the model knows.
    last: float
    name: str = "the survival model"
    notes: tuple[str, ...] = ()

    rows = same_as("count")

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        return np.array(0.0), np.array(np.inf)

    def take(self, rows: IntArray) -> SurvivalCurves:
        rows = np.arange(self.count)[rows]
        return replace(self, x=take_rows(self.x, rows), count=len(rows))

    def _at(self, times: FloatArray) -> FloatArray:
        """Return P(Y > t | x) at m times, (n, m)."""
        with predicting(self.name, self.count):
            found = np.asarray(self.curves(self.x, times), dtype=np.float64)
        if found.shape != (self.count, len(times)):
            raise InputError(f"{self.name} predicted a shape of {found.shape} for {self.count} rows.")
        return np.clip(found, 0.0, 1.0)

    def sf(self, y: AnyArray) -> FloatArray:
        y = as_rows(y)[:, 0]
        found = np.empty(self.count)
        step = max(1, 2**21 // max(self.count, 1))
        times, place = np.unique(y, return_inverse=True)
        for start in range(0, len(times), step):
            mine = np.flatnonzero((place >= start) & (place < start + step))
            part = self.take(mine)._at(times[start : start + step])
            found[mine] = part[np.arange(len(mine)), place[mine] - start]
        return found

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(1.0 - self.sf(y))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        times = np.linspace(0.0, self.last, 128)
        share, step = self._at(times), times[1]
        middle = 0.5 * (share[:, 1:] + share[:, :-1]) * step
        mean = middle.sum(axis=1, keepdims=True)
        square = 2.0 * (middle * (times[1:] - 0.5 * step)).sum(axis=1, keepdims=True)
        return mean, np.sqrt(np.maximum(square - mean**2, 1e-12 * self.last**2))


def adapt(obj: Any) -> Model | None:
    """Make a model of a fitted survival model, or return None for another object."""
    if comes_from(obj, "lifelines"):
        return _of_lifelines(obj)
    if comes_from(obj, "sksurv"):
        return _of_sksurv(obj)
    return None


def _of_lifelines(obj: Any) -> Model:
    name = type(obj).__name__
    if getattr(obj, "durations", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    if not hasattr(obj, "predict_survival_function"):
        raise UnsupportedModelError(
            f"{name} of lifelines predicts no survival given x. Pass a regression, such as CoxPHFitter."
        )
    stepped = getattr(obj, "baseline_estimation_method", "") == "breslow" or "Additive" in name
    return Model(partial(_law, _lifelines, obj, float(np.max(obj.durations)), stepped), name)


def _lifelines(obj: Any, x: Any, times: FloatArray) -> FloatArray:
    return np.asarray(obj.predict_survival_function(x, times=times)).T


def _of_sksurv(obj: Any) -> Model:
    name = type(obj).__name__
    last = obj[-1] if hasattr(obj, "steps") else obj
    if not hasattr(last, "predict_survival_function"):
        raise UnsupportedModelError(
            f"{name} of scikit-survival ranks risks and predicts no survival function. Pass one that "
            "does, such as CoxPHSurvivalAnalysis or RandomSurvivalForest."
        )
    try:
        times = np.asarray(last.unique_times_)
    except Exception as error:  # not fitted, or fitted without a baseline
        raise InputError(
            f"{name} has no survival function yet. Call its fit method first (of "
            "CoxnetSurvivalAnalysis with fit_baseline_model=True)."
        ) from error
    return Model(partial(_law, _sksurv, obj, float(times[-1]), True), name)


def _sksurv(obj: Any, x: Any, times: FloatArray) -> FloatArray:
    found = []
    for curve in obj.predict_survival_function(x):
        first, end = curve.domain
        found.append(np.where(times < first, 1.0, curve(np.clip(times, first, end))))
    return np.array(found).reshape(len(x), len(times))


def _law(ask: Any, obj: Any, last: float, stepped: bool, x: Any) -> SurvivalCurves:
    x = as_pandas(x) if ask is _lifelines else as_table(x)
    notes = (STEPS,) if stepped else ()
    return SurvivalCurves(partial(ask, obj), x, len(x), last, type(obj).__name__, notes)
