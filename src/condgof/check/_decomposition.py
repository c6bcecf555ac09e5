"""Mean scores taken apart: miscalibration, discrimination and uncertainty.

    mean score = miscalibration − discrimination + uncertainty

The prediction is recalibrated by the best increasing function of it (isotonic regression).
Miscalibration is what that improves, discrimination what the recalibrated prediction gains
on a constant, and uncertainty is the score of that constant: Dimitriadis, Gneiting and
Jordan (2021) for probabilities, Gneiting and Resin (2023) for quantiles, Arnold, Walz,
Ziegel and Gneiting (2024) for the CRPS. All three are at least 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from condgof._typing import AnyArray, FloatArray
from condgof.result import Record
from condgof.sample import weighted_mean

#: Slopes of a convex function below this are 0 but for rounding.
FLAT = 1e-12


@dataclass(frozen=True)
class Decomposition(Record):
    """The parts of a mean score, of which less is better."""

    #: What the best increasing function of the prediction would improve; 0 is best.
    miscalibration: float
    #: What the recalibrated prediction gains on a constant; more is better.
    discrimination: float
    #: The score of the best constant prediction, which is of y alone.
    uncertainty: float
    #: The class, the level or what else it is of; "" of the whole score.
    label: str = ""

    @property
    def mean(self) -> float:
        """The mean score, miscalibration − discrimination + uncertainty."""
        return self.miscalibration - self.discrimination + self.uncertainty

    @classmethod
    def from_means(
        cls, predicted: float, recalibrated: float, constant: float, label: str = ""
    ) -> Decomposition:
        """Return the parts from mean scores of three predictions."""
        return cls(
            miscalibration=predicted - recalibrated,
            discrimination=constant - recalibrated,
            uncertainty=constant,
            label=label,
        )

    @classmethod
    def total(cls, parts: list[Decomposition], factor: float = 1.0) -> Decomposition:
        """Return the sum of parts, times a factor."""
        return cls(
            miscalibration=factor * sum(part.miscalibration for part in parts),
            discrimination=factor * sum(part.discrimination for part in parts),
            uncertainty=factor * sum(part.uncertainty for part in parts),
        )


# Probabilities of one event.


def isotonic_means(
    prediction: FloatArray, outcome: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the increasing function of a prediction nearest to outcomes, (n,) each.

    Rows of one prediction have one value. It is optimal for every score that is consistent
    for the mean. Rows may have weights (n,).
    """
    from scipy.optimize import isotonic_regression  # slow to import

    _, codes, counts = np.unique(prediction, return_inverse=True, return_counts=True)
    codes = codes.ravel()
    counted = counts.astype(np.float64)
    if weights is not None:
        counted = np.bincount(codes, weights).astype(np.float64)
        outcome = outcome * weights
    means = np.asarray(np.bincount(codes, outcome) / counted)
    fitted = isotonic_regression(means, weights=counted).x
    return np.asarray(fitted[codes])


def squared_error(
    prediction: AnyArray, outcome: FloatArray, weights: FloatArray | None = None
) -> float:
    """Return the Brier score of an event, the mean of (p − outcome)²."""
    return weighted_mean(np.square(prediction - outcome), weights)


def log_loss(
    prediction: AnyArray, outcome: FloatArray, weights: FloatArray | None = None
) -> float:
    """Return the mean of −log of the probability of what happened."""
    losses = xlogy(outcome, prediction) + xlogy(1.0 - outcome, 1.0 - np.asarray(prediction))
    return -weighted_mean(losses, weights)


def decompose_probability(
    prediction: FloatArray,
    outcome: FloatArray,
    loss: Callable[[AnyArray, FloatArray, FloatArray | None], float] = squared_error,
    label: str = "",
    weights: FloatArray | None = None,
) -> Decomposition:
    """Take apart the mean loss of predicted probabilities (n,) of an event (n,), 0 or 1.

    Means are weighted where rows have weights (n,).
    """
    recalibrated = isotonic_means(prediction, outcome, weights)
    constant = np.full(len(outcome), weighted_mean(outcome, weights))
    return Decomposition.from_means(
        predicted=loss(prediction, outcome, weights),
        recalibrated=loss(recalibrated, outcome, weights),
        constant=loss(constant, outcome, weights),
        label=label,
    )


# Quantiles.


def pinball_loss(
    prediction: AnyArray, y: FloatArray, level: float, weights: FloatArray | None = None
) -> float:
    """Return the mean of (1{y < q} − level)·(q − y)."""
    above = np.asarray(prediction) - y
    return weighted_mean(((above > 0) - level) * above, weights)


def isotonic_quantiles(
    prediction: FloatArray, y: FloatArray, level: float, weights: FloatArray | None = None
) -> FloatArray:
    """Return the increasing function of a prediction with the least pinball loss, (n,).

    Rows are taken in the order of the prediction. f_k(v), the least loss of the first k
    rows if the last value is v, is convex and piecewise linear:

        f_k(v) = min_{u ≤ v} f_{k−1}(u) + Σ_{i in k} loss(y_i, v).

    A heap holds the places where its slope changes, up to its minimum. The values are then
    read backwards, each the least of its minimum and of the next value. The loss of a row
    counts as its weight (n,), if there are weights.
    """
    order = np.argsort(prediction, kind="stable")
    _, codes = np.unique(prediction, return_inverse=True)
    codes = codes.ravel()
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    groups = np.split(y[order], ends)
    own = np.ones(len(y)) if weights is None else weights[order] / weights.max()
    weights_of_groups = np.split(own, ends)
    heap: list[tuple[float, float]] = []  # (−place, change of the slope)
    minima = np.empty(len(groups))
    for k, (values, counted) in enumerate(zip(groups, weights_of_groups, strict=True)):
        for value, weight in zip(values.tolist(), counted.tolist(), strict=True):
            heapq.heappush(heap, (-value, weight))
        slope = (1.0 - level) * float(counted.sum())  # to the right of all places
        while slope > FLAT:
            place, change = heapq.heappop(heap)
            if change > slope:
                heapq.heappush(heap, (place, change - slope))
            slope -= min(change, slope)
        minima[k] = -heap[0][0]
    fitted = np.minimum.accumulate(minima[::-1])[::-1]
    return np.asarray(fitted[codes])


def decompose_quantile(
    prediction: FloatArray,
    y: FloatArray,
    level: float,
    label: str = "",
    weights: FloatArray | None = None,
) -> Decomposition:
    """Take apart the mean pinball loss of a predicted quantile (n,) of y (n,).

    Means are weighted where rows have weights (n,).
    """
    constant = np.quantile(y, level, method="inverted_cdf", weights=weights)
    recalibrated = isotonic_quantiles(prediction, y, level, weights)
    return Decomposition.from_means(
        predicted=pinball_loss(prediction, y, level, weights),
        recalibrated=pinball_loss(recalibrated, y, level, weights),
        constant=pinball_loss(np.full(len(y), constant), y, level, weights),
        label=label,
    )


# The CRPS.


def mean_absolute_difference(y: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the mean over all n² pairs of |y_i − y_j|, of y (n,).

    Where rows have weights (n,), pairs have the weights w_i·w_j.
    """
    if weights is not None:
        order = np.argsort(y, kind="stable")
        w = weights[order]
        total = float(w.sum())
        below_less_above = 2.0 * np.cumsum(w) - w - total
        return float(2.0 * ((w * below_less_above) @ y[order]) / total**2)
    n = len(y)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1.0
    return float(2.0 * (ranks @ np.sort(y)) / n**2)


def decompose_crps(
    mean: float,
    cdf: FloatArray,
    y: FloatArray,
    thresholds: FloatArray,
    widths: FloatArray,
    weights: FloatArray | None = None,
) -> Decomposition:
    """Take apart a mean CRPS, the integral over t of Brier scores of the event y ≤ t.

    Parameters
    ----------
    mean : float
        The mean CRPS.
    cdf : array, (n, T)
        P(Y ≤ t | x) at the thresholds.
    y : array, (n,)
    thresholds, widths : array, (T,)
        Where the miscalibration is evaluated, and the length that each stands for.
    weights : array, (n,), optional
        Weights of the rows, by which `mean` is weighted already.

    Notes
    -----
    The uncertainty is exact, half the mean distance between two y. The discrimination is
    what is left, so that the parts add up to `mean`.
    """
    miscalibration = 0.0
    for k, t in enumerate(thresholds.tolist()):
        outcome = (y <= t).astype(np.float64)
        part = decompose_probability(cdf[:, k], outcome, weights=weights)
        miscalibration += float(widths[k]) * part.miscalibration
    uncertainty = 0.5 * mean_absolute_difference(y, weights)
    return Decomposition(
        miscalibration=miscalibration,
        discrimination=miscalibration + uncertainty - mean,
        uncertainty=uncertainty,
    )
