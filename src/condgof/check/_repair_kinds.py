"""What is learned of each kind of y: how rows are judged, and how a law is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import Looked
from condgof.check._repair_fit import Likelihood, OfClasses, OfCounts, OfScores, fit, fit_shape
from condgof.errors import UnsupportedModelError
from condgof.laws import Draws, Intervals, Law, Probabilities, Quantiles, normalised
from condgof.laws._counts import Counts
from condgof.laws._repaired import (
    PARAMETERS,
    Repaired,
    RepairedCounts,
    Warp,
    bend,
    count_scores,
    placed,
    values_at,
)
from condgof.sample import Sample

#: Shares of the overall frequencies that are mixed with probabilities, where 0 was given to what came.
FLOORS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
#: A probability below this counts as this where its logarithm is taken.
LEAST = 1e-12
#: Of more draws than this so many quantiles are looked at while learning.
KNOTS = 63
#: What of several columns of y, and of laws that are known by less, can be done.
REFUSALS = {
    "censored": "a correction of times of which some are censored is not offered",
    "several": "y has several columns. Repair each by itself: check the law of one column of y, then "
    "report.repair()",
    "scores": "a model that is known by its scores alone has no CDF that could be corrected",
    "moments": "a model that is known by its mean and standard deviation alone has no CDF that could be "
    "corrected; say which distribution it means, such as condgof.normal(mean, std)",
    "counts": "counts that are known by ratios of probabilities have no CDF that could be corrected",
}


class Learned(NamedTuple):
    """A repair: the numbers of a row are linear in functions of x."""

    #: (P, q).
    coefficients: FloatArray
    #: The density of the PIT that is common to all rows, at knots.
    shape: FloatArray | None = None
    #: Of classes: overall frequencies (K,), and the share of them that is mixed in.
    floor: tuple[float, FloatArray] | None = None

    def warp(self, features: FloatArray) -> Warp:
        """Return the map of each row."""
        return Warp(features @ self.coefficients[:, :PARAMETERS], self.shape)


@dataclass(frozen=True, eq=False)
class Continuous:
    """Normal scores z of one continuous y, (n,)."""

    z: FloatArray
    #: Whether a shape that is common to all rows is learned, too.
    shaped = True

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Continuous:
        assert looked.z is not None
        return cls(looked.z[:, 0])

    def take(self, rows: AnyArray) -> Any:
        return replace(self, z=self.z[rows])

    def likelihood(self) -> Likelihood:
        return OfScores(self.z)

    def learn(self, features: FloatArray, penalty: float) -> list[Learned]:
        """Learn from these rows; what comes first is simpler."""
        found = Learned(fit(self.likelihood(), features, penalty))
        if not self.shaped:
            return [found]
        return [found, found._replace(shape=fit_shape(bend(found.warp(features).eta, self.z).w))]

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        """Return by how much rows are predicted better, (n,)."""
        return learned.warp(features).log_ratio(self.z)

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        """Return the law repaired."""
        return Repaired(law, learned.warp(features))


@dataclass(frozen=True, eq=False)
class Knotted(Continuous):
    """Quantiles, intervals and draws: y among values (n, K) that have known normal scores `at` (K,)."""

    y: FloatArray
    values: FloatArray
    at: FloatArray
    shaped = False

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Knotted:
        y = sample.y[:, 0]
        if isinstance(law, Draws):
            count = min(law.values.shape[1], KNOTS)
            levels = (np.arange(count) + 0.5) / count
            values = np.asarray(law.values, dtype=np.float64)
            values = np.quantile(values, levels, axis=1, method="hazen").T
        else:
            levels, values = _levels(law)
        at = np.asarray(ndtri(levels))
        return cls(placed(values, at, y), y, values, at)

    def take(self, rows: AnyArray) -> Any:
        return Knotted(self.z[rows], self.y[rows], self.values[rows], self.at)

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        moved = _moved(self.values, self.at, learned.warp(features))
        return self._loss(self.values) - self._loss(moved)

    def _loss(self, values: FloatArray) -> FloatArray:
        """Return the pinball loss, twice its mean over the levels, (n,)."""
        over = self.y[:, None] - values
        return np.asarray(2.0 * np.maximum(ndtr(self.at) * over, -ndtr(-self.at) * over).mean(axis=1))

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        warp = learned.warp(features)
        if isinstance(law, Draws):
            count = law.values.shape[1]
            values = np.sort(np.asarray(law.values, dtype=np.float64), axis=1)
            moved = _moved(values, np.asarray(ndtri((np.arange(count) + 0.5) / count)), warp)
            return replace(law, values=np.rint(moved) if (values == np.rint(values)).all() else moved)
        levels, values = _levels(law)
        moved = _moved(values, np.asarray(ndtri(levels)), warp)
        if isinstance(law, Quantiles):
            return replace(law, values=moved)
        assert isinstance(law, Intervals)
        half = len(law.coverage)
        return replace(law, low=moved[:, half - 1 :: -1], high=moved[:, half:])


def _levels(law: Law) -> tuple[FloatArray, FloatArray]:
    """Return levels (K,) and values (n, K) of quantiles; ends of intervals are taken as such."""
    if isinstance(law, Quantiles):
        return law.levels, np.asarray(law.values, dtype=np.float64)
    assert isinstance(law, Intervals)
    values = np.concatenate([law.low[:, ::-1], law.high], axis=1).astype(np.float64)
    if not np.isfinite(values).all():
        raise UnsupportedModelError(
            "An interval without an end cannot be repaired: what lies beyond it has no measure. Pass "
            "its finite end as a quantile, condgof.from_quantiles(end, level)."
        )
    tails = 0.5 * (1.0 - law.coverage)
    return np.concatenate([tails[::-1], 1.0 - tails]), values


def _moved(values: FloatArray, at: FloatArray, warp: Warp) -> FloatArray:
    return values_at(values, at, warp.inverse(np.broadcast_to(at, (len(values), len(at)))))


@dataclass(frozen=True, eq=False)
class Counted(Continuous):
    """Normal scores of the CDF of counts before and at y, and at 0, (n, 3)."""

    shaped = False

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Counted:
        assert isinstance(law, Counts)
        y = sample.y[:, :1]
        return cls(count_scores(law, np.concatenate([y - 1.0, y, np.zeros_like(y)], axis=1)))

    def likelihood(self) -> Likelihood:
        return OfCounts(self.z)

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        given, eta = self.likelihood(), features @ learned.coefficients
        return given.at(eta)[0] - given.at(np.zeros_like(eta))[0]

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        assert isinstance(law, Counts)
        return RepairedCounts(
            law, learned.warp(features), features @ learned.coefficients[:, PARAMETERS]
        )


@dataclass(frozen=True, eq=False)
class Classed:
    """Probabilities (n, K) and observed classes (n,)."""

    p: FloatArray
    codes: IntArray

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Classed:
        assert isinstance(law, Probabilities)
        assert looked.codes is not None
        return cls(normalised(law.values), looked.codes)

    def take(self, rows: AnyArray) -> Classed:
        return Classed(self.p[rows], self.codes[rows])

    def learn(self, features: FloatArray, penalty: float) -> list[Learned]:
        given = self.p[np.arange(len(self.codes)), self.codes]
        floor = None
        if given.min() < LEAST:
            counts = np.bincount(self.codes, minlength=self.p.shape[1]) + 0.5
            shares: FloatArray = counts / counts.sum()
            mixed = [np.log((1.0 - f) * given + f * shares[self.codes]).mean() for f in FLOORS]
            floor = FLOORS[int(np.argmax(mixed))], shares
        likelihood = OfClasses(_logs(self.p, floor), self.codes)
        return [Learned(fit(likelihood, features, penalty), floor=floor)]

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        likelihood = OfClasses(_logs(self.p, learned.floor), self.codes)
        before = _logs(self.p, None)[np.arange(len(self.codes)), self.codes]
        return likelihood.at(features @ learned.coefficients)[0] - before

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        assert isinstance(law, Probabilities)
        logs = _logs(normalised(law.values), learned.floor)
        eta = features @ learned.coefficients
        changed = OfClasses(logs, np.zeros(len(logs), dtype=np.int64)).log_probabilities(eta)
        return replace(law, values=np.exp(changed))


def _logs(p: FloatArray, floor: tuple[float, FloatArray] | None) -> FloatArray:
    mixed = p if floor is None else (1.0 - floor[0]) * p + floor[0] * floor[1]
    return np.log(np.maximum(mixed, LEAST))


#: How a law can be repaired.
Kind = type[Continuous] | type[Classed]


def kind_of(law: Law, looked: Looked) -> Kind:
    """Return how a law can be repaired, or refuse and say why not."""
    if isinstance(law, (Draws, Quantiles, Intervals)):
        return Knotted
    if looked.kind == "continuous":
        return Continuous
    if looked.kind == "counts" and isinstance(law, Counts):
        return Counted
    if looked.kind == "classes" and isinstance(law, Probabilities):
        return Classed
    why = REFUSALS.get(looked.kind, f"{law.name} has nothing that could be corrected")
    raise UnsupportedModelError(f"This model cannot be repaired: {why}.")
