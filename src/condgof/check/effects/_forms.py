"""What a correction gains in log score, from sums over the rows of a cell.

A kind of error has one parameter θ in each cell, 0 where the law is right. The gain in log
score ℓ(θ) of the rows of a cell is a function of S, the sum of the test function ψ over
these rows, and of sums that do not depend on y (`Exposure`). So all candidate effects, of
the data and of resampled y, are compared by sums alone.

Arrays have any shape, mostly (cells, draws): S of all cells and draws at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from condgof._typing import AnyArray

#: The least number by which sums are divided.
TINY = 1e-12
#: A probability is kept this far from 0 and 1, so that its odds are finite.
LEAST_PROBABILITY = 1e-9
#: The smallest and the largest factor by which a standard deviation is corrected.
SMALLEST_SCALE = 0.05
LARGEST_SCALE = 20.0
#: The mean square of normal scores is taken as at least this. In the data it hardly ever is
#: less, but sums of z² − 1 with random signs can have any size.
LEAST_SQUARE = 0.1
#: The largest |θ| of odds that are e^θ times those predicted.
LARGEST_LOG_ODDS = 10.0
#: The least κ, the factor of θ where probabilities differ from row to row (`Odds`).
SMALLEST_RATE_OF_ODDS = 1e-3
#: The largest |θ| of a tilt 1 + θψ of the density. ψ is at most 3 (a Legendre polynomial of
#: the PIT), so that the tilted density is positive.
LARGEST_TILT = 0.3


class Exposure(NamedTuple):
    """Sums over the rows of each cell that do not depend on y."""

    rows: AnyArray  #: The number of rows.
    information: AnyArray  #: The sum of the variances of ψ under the law.
    expected: AnyArray  #: The sum of the expected events; 0 where ψ counts no events.

    def take(self, cells: AnyArray | slice) -> Exposure:
        """Return those of some cells."""
        return Exposure(*(values[cells] for values in self))

    def astype(self, dtype: DTypeLike) -> Exposure:
        """Return them in single or double precision."""
        return Exposure(*(values.astype(dtype, copy=False) for values in self))


class Form(ABC):
    """How the log score of a cell depends on θ."""

    #: Steps of Newton's method that reach the best θ: one, where ℓ is a parabola.
    newton_steps: ClassVar[int] = 3
    #: Whether gains of samples in single precision are computed in it, too: where they are
    #: no differences of large numbers.
    in_single_precision: ClassVar[bool] = False
    #: Whether `deviation` has the size of θ, not its sign alone: corrections of events, and
    #: of shapes, change other events and shapes, too.
    is_unit_of_theta: ClassVar[bool] = False

    @abstractmethod
    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        """Return the θ that gains most, with `shrinkage` rows as predicted mixed in."""

    @abstractmethod
    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        """Return ℓ(θ), in nats: what θ gains on these very rows."""

    def step_gain(
        self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray
    ) -> AnyArray:
        """Return ℓ at the θ that `fit` returns: what a step gains on these very rows."""
        return self.gain(self.fit(sums, exposure, shrinkage), sums, exposure)

    @abstractmethod
    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        """Return dℓ/dθ."""

    @abstractmethod
    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        """Return −d²ℓ/dθ², at least 0."""

    def step_curvature(
        self, theta: AnyArray, sums: AnyArray, exposure: Exposure
    ) -> AnyArray:
        """Return what Newton's steps divide the slope by: −d²ℓ/dθ², or more than that."""
        return self.curvature(theta, sums, exposure)

    def bounded(self, theta: AnyArray) -> AnyArray:
        """Return θ within what the form allows."""
        return theta

    def shown(self, theta: float) -> float:
        """Return θ in the unit that a reader has of it: a factor, where θ is its log."""
        return float(np.exp(theta))

    def deviation(self, estimate: float, expected: float) -> float:
        """Return how far a number of some rows is from the prediction, as θ would be."""
        ratio = max(estimate, LEAST_PROBABILITY) / max(expected, LEAST_PROBABILITY)
        return float(np.log(ratio))


class Location(Form):
    """Normal scores z with mean θ: ψ = z, ℓ = θS − ½Nθ²."""

    newton_steps = 1
    in_single_precision = True
    is_unit_of_theta = True

    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        return np.asarray(sums / np.maximum(exposure.rows + shrinkage, TINY))

    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(theta * sums - 0.5 * exposure.rows * theta**2)

    def step_gain(
        self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray
    ) -> AnyArray:
        # θ = S/(N + λ) gains S²(N/2 + λ)/(N + λ)².
        mixed = np.maximum(exposure.rows + shrinkage, TINY)
        weight = (0.5 * exposure.rows + shrinkage) / mixed**2
        return np.asarray(np.square(sums) * weight)

    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(sums - exposure.rows * theta)

    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.broadcast_to(exposure.rows, np.shape(sums))

    def shown(self, theta: float) -> float:
        return float(theta)

    def deviation(self, estimate: float, expected: float) -> float:
        return estimate - expected


class Scale(Form):
    """Normal scores z with standard deviation e^θ: ψ = z² − 1.

    ℓ = −Nθ − ½(e^(−2θ) − 1)·Σz², and Σz² = S + N.
    """

    in_single_precision = True
    is_unit_of_theta = True

    def _squares(self, sums: AnyArray, exposure: Exposure) -> AnyArray:
        """Return Σz²."""
        return np.asarray(np.maximum(sums + exposure.rows, LEAST_SQUARE * exposure.rows))

    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        squares = self._squares(sums, exposure) + shrinkage
        variance = squares / np.maximum(exposure.rows + shrinkage, TINY)
        return self.bounded(0.5 * np.log(np.maximum(variance, TINY)))

    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        squares = self._squares(sums, exposure)
        return np.asarray(-exposure.rows * theta - 0.5 * np.expm1(-2.0 * theta) * squares)

    def step_gain(
        self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray
    ) -> AnyArray:
        # The variance r = e^(2θ) gains −½N log r + ½(1 − 1/r)·Σz².
        squares = self._squares(sums, exposure)
        mixed = 1.0 / np.maximum(exposure.rows + shrinkage, TINY)
        variance = (squares + shrinkage) * mixed
        variance = np.clip(variance, SMALLEST_SCALE**2, LARGEST_SCALE**2)
        gained = (1.0 - 1.0 / variance) * squares
        return np.asarray(0.5 * (gained - exposure.rows * np.log(variance)))

    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        squares = self._squares(sums, exposure)
        return np.asarray(np.exp(-2.0 * theta) * squares - exposure.rows)

    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(2.0 * np.exp(-2.0 * theta) * self._squares(sums, exposure))

    def step_curvature(
        self, theta: AnyArray, sums: AnyArray, exposure: Exposure
    ) -> AnyArray:
        # 2N is the curvature at the best θ. Where Σz² is small, that at 0 is much less, and
        # steps would go far beyond the best θ, to where the gain is a loss.
        return np.maximum(self.curvature(theta, sums, exposure), 2.0 * exposure.rows)

    def bounded(self, theta: AnyArray) -> AnyArray:
        return np.clip(theta, np.log(SMALLEST_SCALE), np.log(LARGEST_SCALE))


class Tilting(Form):
    """The density times 1 + θψ, to second order: ℓ = θS − ½θ²V, V the information."""

    newton_steps = 1
    in_single_precision = True

    def __init__(self, largest: float = LARGEST_TILT) -> None:
        self.largest = largest

    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        per_row = exposure.information / np.maximum(exposure.rows, TINY)
        information = exposure.information + shrinkage * per_row
        return self.bounded(sums / np.maximum(information, TINY))

    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(theta * sums - 0.5 * theta**2 * exposure.information)

    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(sums - exposure.information * theta)

    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.broadcast_to(exposure.information, np.shape(sums))

    def shown(self, theta: float) -> float:
        return float(theta)

    def deviation(self, estimate: float, expected: float) -> float:
        return estimate - expected

    def bounded(self, theta: AnyArray) -> AnyArray:
        return np.clip(theta, -self.largest, self.largest)


class Odds(Form):
    """An event whose odds are e^θ times those predicted: ψ = 1{event} − p.

    Where p differs from row to row, as many events as among N rows with log odds
    logit p̄ + κθ are expected, κ = V/(N·p̄(1 − p̄)) ≤ 1, with the mean probability p̄ and the
    information V. It is exact where p is the same in all rows of a cell, of second order
    in θ elsewhere, and between 0 and N events at any θ, as it must be for large misfits.
    """

    def _rows(self, exposure: Exposure) -> tuple[AnyArray, AnyArray]:
        """Return p̄ and κ."""
        mean = exposure.expected / np.maximum(exposure.rows, TINY)
        mean = clipped(mean, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        information = np.maximum(exposure.information, TINY)
        rate = information / np.maximum(exposure.rows * mean * (1.0 - mean), TINY)
        return mean, clipped(rate, SMALLEST_RATE_OF_ODDS, 1.0)

    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        mean, rate = self._rows(exposure)
        share = mean + sums / np.maximum(exposure.rows + shrinkage, TINY)
        share = clipped(share, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        difference = np.log(share / (1.0 - share)) - np.log(mean / (1.0 - mean))
        return self.bounded(np.where(exposure.information > TINY, difference / rate, 0.0))

    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        mean, rate = self._rows(exposure)
        rows = exposure.rows
        events = clipped(rows * mean + sums, 0.0, rows)
        expected = rows * np.log1p(mean * np.expm1(rate * theta)) / rate
        return np.asarray(theta * events - expected)

    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        mean, rate = self._rows(exposure)
        rows = exposure.rows
        return np.asarray(rows * mean + sums - rows * _shifted(mean, rate * theta))

    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        mean, rate = self._rows(exposure)
        share = _shifted(mean, rate * theta)
        return np.asarray(exposure.rows * rate * share * (1.0 - share) + 0.0 * sums)

    def bounded(self, theta: AnyArray) -> AnyArray:
        return clipped(theta, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)

    def deviation(self, estimate: float, expected: float) -> float:
        bounds = LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY
        share, predicted = np.clip([estimate, expected], *bounds)
        ratio = share / (1.0 - share) * (1.0 - predicted) / predicted
        return float(self.bounded(np.log(ratio)))


def clipped(values: AnyArray, low: AnyArray | float, high: AnyArray | float) -> AnyArray:
    """Return values between `low` and `high`: `numpy.clip`, faster on few values."""
    return np.minimum(np.maximum(values, low), high)


def _shifted(probability: AnyArray, theta: AnyArray) -> AnyArray:
    """Return the probability whose odds are e^θ times those of `probability`."""
    odds = probability * np.exp(theta)
    return np.asarray(odds / (1.0 - probability + odds))


class Rate(Form):
    """A rate of events that is e^θ times that expected: ℓ = θ·O − (e^θ − 1)·E, S = O − E.

    O events are observed, and E expected.
    """

    def fit(self, sums: AnyArray, exposure: Exposure, shrinkage: AnyArray) -> AnyArray:
        expected = exposure.expected
        added = shrinkage * expected / np.maximum(exposure.rows, TINY)
        ratio = 1.0 + sums / np.maximum(expected + added, TINY)
        return self.bounded(np.log(np.maximum(ratio, LEAST_PROBABILITY)))

    def gain(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        events = np.maximum(sums + exposure.expected, 0.0)
        return np.asarray(theta * events - np.expm1(theta) * exposure.expected)

    def slope(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(sums - np.expm1(theta) * exposure.expected)

    def curvature(self, theta: AnyArray, sums: AnyArray, exposure: Exposure) -> AnyArray:
        return np.asarray(np.exp(theta) * exposure.expected + 0.0 * sums)

    def bounded(self, theta: AnyArray) -> AnyArray:
        return np.clip(theta, -5.0, 5.0)
