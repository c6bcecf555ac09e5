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


def isotonic_means(prediction: FloatArray, outcome: FloatArray) -> FloatArray:
    """Return the increasing function of a prediction nearest to outcomes, (n,) each.

    Rows of one prediction have one value. It is optimal for every score that is consistent
    for the mean.
    """
    from scipy.optimize import isotonic_regression  # slow to import

    _, codes, counts = np.unique(prediction, return_inverse=True, return_counts=True)
    codes = codes.ravel()
    means = np.bincount(codes, outcome) / counts
    fitted = isotonic_regression(means, weights=counts.astype(np.float64)).x
    return np.asarray(fitted[codes])


def squared_error(prediction: AnyArray, outcome: FloatArray) -> float:
    """Return the Brier score of an event, the mean of (p − outcome)²."""
    return float(np.mean(np.square(prediction - outcome)))


def log_loss(prediction: AnyArray, outcome: FloatArray) -> float:
    """Return the mean of −log of the probability of what happened."""
    losses = xlogy(outcome, prediction) + xlogy(1.0 - outcome, 1.0 - np.asarray(prediction))
    return float(-np.mean(losses))


def decompose_probability(
    prediction: FloatArray,
    outcome: FloatArray,
    loss: Callable[[AnyArray, FloatArray], float] = squared_error,
    label: str = "",
) -> Decomposition:
    """Take apart the mean loss of predicted probabilities (n,) of an event (n,), 0 or 1."""
    return Decomposition.from_means(
        predicted=loss(prediction, outcome),
        recalibrated=loss(isotonic_means(prediction, outcome), outcome),
        constant=loss(np.full(len(outcome), outcome.mean()), outcome),
        label=label,
    )


# Quantiles.


def pinball_loss(prediction: AnyArray, y: FloatArray, level: float) -> float:
    """Return the mean of (1{y < q} − level)·(q − y)."""
    above = np.asarray(prediction) - y
    return float(np.mean(((above > 0) - level) * above))


def isotonic_quantiles(prediction: FloatArray, y: FloatArray, level: float) -> FloatArray:
    """Return the increasing function of a prediction with the least pinball loss, (n,).

    Rows are taken in the order of the prediction. f_k(v), the least loss of the first k
    rows if the last value is v, is convex and piecewise linear:

        f_k(v) = min_{u ≤ v} f_{k−1}(u) + Σ_{i in k} loss(y_i, v).

    A heap holds the places where its slope changes, up to its minimum. The values are then
    read backwards, each the least of its minimum and of the next value.
    """
    order = np.argsort(prediction, kind="stable")
    _, codes = np.unique(prediction, return_inverse=True)
    codes = codes.ravel()
    groups = np.split(y[order], np.flatnonzero(np.diff(codes[order])) + 1)
    heap: list[tuple[float, float]] = []  # (−place, change of the slope)
    minima = np.empty(len(groups))
    for k, values in enumerate(groups):
        for value in values.tolist():
            heapq.heappush(heap, (-value, 1.0))
        slope = (1.0 - level) * len(values)  # to the right of all places
        while slope > FLAT:
            place, change = heapq.heappop(heap)
            if change > slope:
                heapq.heappush(heap, (place, change - slope))
            slope -= min(change, slope)
        minima[k] = -heap[0][0]
    fitted = np.minimum.accumulate(minima[::-1])[::-1]
    return np.asarray(fitted[codes])


def decompose_quantile(
    prediction: FloatArray, y: FloatArray, level: float, label: str = ""
) -> Decomposition:
    """Take apart the mean pinball loss of a predicted quantile (n,) of y (n,)."""
    constant = np.quantile(y, level, method="inverted_cdf")
    return Decomposition.from_means(
        predicted=pinball_loss(prediction, y, level),
        recalibrated=pinball_loss(isotonic_quantiles(prediction, y, level), y, level),
        constant=pinball_loss(np.full(len(y), constant), y, level),
        label=label,
    )


# The CRPS.


def mean_absolute_difference(y: FloatArray) -> float:
    """Return the mean over all n² pairs of |y_i − y_j|, of y (n,)."""
    n = len(y)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1.0
    return float(2.0 * (ranks @ np.sort(y)) / n**2)


def decompose_crps(
    mean: float, cdf: FloatArray, y: FloatArray, thresholds: FloatArray, widths: FloatArray
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

    Notes
    -----
    The uncertainty is exact, half the mean distance between two y. The discrimination is
    what is left, so that the parts add up to `mean`.
    """
    miscalibration = 0.0
    for k, t in enumerate(thresholds.tolist()):
        outcome = (y <= t).astype(np.float64)
        part = decompose_probability(cdf[:, k], outcome)
        miscalibration += float(widths[k]) * part.miscalibration
    uncertainty = 0.5 * mean_absolute_difference(y)
    return Decomposition(
        miscalibration=miscalibration,
        discrimination=miscalibration + uncertainty - mean,
        uncertainty=uncertainty,
    )
