"""Laws tilted by kinds of error: one class for each way in which a law can be corrected.

A tilt holds m samples of y at the same n rows of x (the data are m = 1 sample), compared
with a law that may have been corrected already. Each kind of error k has a test function
ψ_k of y with mean 0 given x under that law.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantiles import linear_quantiles
from condgof.check.effects._forms import Form, Location, Odds, Scale, Tilting

#: Normal scores are clipped to ± this for learning and for judging, so that no single row
#: decides: P(|Z| > 4) = 6e-5.
CLIP = 4.0
#: Where the middle half of the scores is more than this many times as wide as that of
#: N(0, 1), they are clipped at `CLIP` times as many standard deviations instead.
WIDE = 1.25
#: The width of the middle half of N(0, 1).
MIDDLE_HALF = 1.3489795003921634
#: PITs are kept this far from 0 and 1.
LEAST_PIT = 1e-16
#: Beyond this normal score the PIT has no digits left.
FAR_SCORE = 7.0
#: The smallest probability of a count whose log score is computed from the CDF.
LEAST_STEP = 1e-10


#: A correction of the odds of 0 is said to be a bias where moving the mean to the same
#: probability of 0 gains this share of it: of rare counts the two are the same event.
GAINS_ALIKE = 0.9


class Said(NamedTuple):
    """A correction as it is reported: the position of its kind, and θ of each row, (n,)."""

    kind: int
    theta: FloatArray


#: The kinds of findings that show a kind of error, where they are called otherwise.
FINDINGS = {"bias": "shift", "dispersion": "spread", "hazard": "events"}


class ErrorKind(NamedTuple):
    """A kind of error: what it is called, and how its correction gains log score."""

    name: str  #: "bias", "spread", …: `Effect.kind`.
    column: str  #: The column of y.
    label: str  #: The class, the statement or the period that it is of; else "".
    form: Form
    finding: str  #: The kind of the finding that shows it on some rows: `Finding.kind`.


@dataclass(frozen=True, eq=False)
class Tilt(ABC):
    """m samples of y at n rows beside a law, which may have been corrected."""

    kinds: tuple[ErrorKind, ...]
    #: What the corrections so far gained in log score in each row and sample, (n, m).
    log_ratio: AnyArray

    @property
    @abstractmethod
    def values(self) -> AnyArray:
        """The test functions of the samples under the law as it is now, (n, m, K)."""

    def values_of(self, kind: int) -> AnyArray:
        """Return the test function of one kind, (n, m): those of `values`."""
        return self.values[:, :, kind]

    @property
    @abstractmethod
    def information(self) -> AnyArray:
        """The variance of each test function under the law as it is now, (n, K)."""

    @property
    @abstractmethod
    def expected(self) -> AnyArray:
        """The expected number of events of each kind, (n, K); 0 of other kinds."""

    @property
    def expected_by_sample(self) -> AnyArray | None:
        """The expected events of each sample, (n, m, K), where they depend on y.

        None where they do not: `expected` is that of every sample.
        """
        return None

    @abstractmethod
    def corrected(self, kind: int, theta: FloatArray) -> Self:
        """Return the samples beside a law corrected by θ (n, m) of one kind of error."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        """Draw y of all rows m times from the law as it is now; None if it cannot be."""

    def signed(self, signs: AnyArray) -> SignalTilt:
        """Return m samples whose test functions are the data's with signs (n, m)."""
        values = self.values * signs[:, :, None]
        return SignalTilt(
            kinds=self.kinds,
            log_ratio=np.zeros(signs.shape, dtype=np.float32),
            psi=np.asarray(values, dtype=np.float32),
            variance=np.asarray(self.information),
            events=np.asarray(self.expected),
            redraw=None,
            rows=np.arange(self.n),
        )

    def said(self, kind: int, theta: FloatArray) -> Said:
        """Return the kind of error that a correction by θ (n,) of one kind is named by."""
        return Said(kind, theta)

    def shuffled(self, order: IntArray) -> Tilt | None:
        """Return m samples in which row i has the residual of row order[i, j], (n, m).

        None where the residual of one row means nothing at another: events have other
        probabilities there.
        """
        return None

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Return some rows."""

    @property
    def n(self) -> int:
        return len(self.log_ratio)

    @property
    def m(self) -> int:
        return int(self.log_ratio.shape[1])

    def noise(self, values: AnyArray, weights: FloatArray | None = None) -> FloatArray:
        """Return how much more the test functions vary than predicted, (m, K).

        1 under the law: the mean of ψ² over the mean of its variance. `values` (n, m, K)
        are those of these samples. Of rows with weights w (n,) means are weighted by w²: as
        the variance of Σ wψ is.
        """
        squares = _mean_by_squares(np.square(values), weights)
        predicted = np.maximum(_mean_by_squares(self.information, weights), 1e-300)
        return np.asarray(squares / predicted)

    def standardised(self, kind: int, shrink: FloatArray) -> Self:
        """Return residuals of unit variance again after θ of `kind` was fitted to them.

        `shrink` (n, m) is the variance that residuals have left, as θ was learned on these
        very rows.
        """
        return self


def by_kind(values: Sequence[AnyArray]) -> AnyArray:
    """Return test functions, (n, m) of each kind, as (n, m, K).

    Those of one kind are contiguous for each row, so that sums over rows and what is made
    of them are quick.
    """
    rows, m = values[0].shape
    joined = np.empty((rows, len(values), m), dtype=values[0].dtype)
    for k, one in enumerate(values):
        joined[:, k] = one
    return joined.swapaxes(1, 2)


# Normal scores.


def _shape_functions(u: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the Legendre polynomials of degree 3 and 4 of PITs (…), (…) each."""
    v = 2.0 * u - 1.0
    v2 = v * v
    third = math.sqrt(7.0) * 0.5 * (5.0 * v2 - 3.0) * v
    fourth = 3.0 * 0.125 * ((35.0 * v2 - 30.0) * v2 + 3.0)
    return third, fourth


def shape_integral(u: AnyArray, degree: int) -> AnyArray:
    """Return ∫₀ᵘ of the normalised Legendre polynomial of a degree, 3 or 4, at u (…)."""
    v = 2.0 * u - 1.0
    if degree == 3:
        return np.asarray(math.sqrt(7.0) / 16.0 * ((5.0 * v**2 - 6.0) * v**2 + 1.0))
    return np.asarray(3.0 / 16.0 * v * ((7.0 * v**2 - 10.0) * v**2 + 3.0))


#: The kinds of error of normal scores, in the order of their test functions.
NORMAL_KINDS = ("bias", "spread", "skew", "tails")
#: How the correction of each gains.
NORMAL_FORMS = (Location(), Scale(), Tilting(), Tilting())


@dataclass(frozen=True, eq=False)
class NormalTilt(Tilt):
    """Normal scores z of one column of y: N(0, 1) under the law.

    Bias θ moves them to z − θ, spread to z/e^θ; skew and tails multiply the density by
    1 + θψ(u), with ψ a Legendre polynomial of the PIT u = Φ(z).
    """

    z: AnyArray  #: (n, m).

    @classmethod
    def from_scores(cls, z: FloatArray, column: str) -> NormalTilt:
        """Make it of the normal scores of the data, (n,)."""
        kinds = tuple(
            ErrorKind(name, column, "", form, FINDINGS.get(name, name))
            for name, form in zip(NORMAL_KINDS, NORMAL_FORMS, strict=True)
        )
        return cls(kinds=kinds, log_ratio=np.zeros((len(z), 1)), z=z[:, None])

    @property
    def values(self) -> AnyArray:
        z = clipped(self.z)
        third, fourth = _shape_functions(ndtr(z))
        return by_kind([z, z * z - 1.0, third, fourth])

    def values_of(self, kind: int) -> AnyArray:
        z = clipped(self.z)
        if kind == 0:
            return z
        if kind == 1:
            return np.asarray(z**2 - 1.0)
        return _shape_functions(ndtr(z))[kind - 2]

    def noise(self, values: AnyArray, weights: FloatArray | None = None) -> FloatArray:
        return _with_noise_of_spread(super().noise(values, weights), values, weights)

    @property
    def information(self) -> AnyArray:
        return np.broadcast_to(np.array([1.0, 2.0, 1.0, 1.0]), (self.n, 4))

    @property
    def expected(self) -> AnyArray:
        return np.broadcast_to(0.0, (self.n, 4))

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        before = clipped(self.z)
        if kind == 0:
            gain = theta * before - 0.5 * theta**2
            z = self.z - theta
        elif kind == 1:
            gain = -theta - 0.5 * np.expm1(-2.0 * theta) * before**2
            z = self.z * np.exp(-theta)
        else:
            u = ndtr(self.z)
            shape = _shape_functions(ndtr(before))[kind - 2]
            gain = np.log1p(theta * shape)
            moved = u + theta * shape_integral(u, kind + 1)
            moved = np.clip(moved, LEAST_PIT, 1.0 - LEAST_PIT)
            # In the far tails Φ⁻¹ has no digits left, and the map moves next to nothing.
            z = np.where(np.abs(self.z) > FAR_SCORE, self.z, ndtri(moved))
        return replace(self, z=z, log_ratio=self.log_ratio + gain)

    def standardised(self, kind: int, shrink: FloatArray) -> Self:
        if kind != 0:
            return self
        return replace(self, z=self.z / np.sqrt(np.maximum(shrink, 0.25)))

    def draw(self, rng: np.random.Generator, m: int) -> Self | None:
        z = rng.standard_normal((self.n, m), dtype=np.float32)
        return replace(self, z=z, log_ratio=np.zeros((self.n, m), dtype=np.float32))

    def shuffled(self, order: IntArray) -> Self:
        z = self.z[:, 0].astype(np.float32)[order]
        return replace(self, z=z, log_ratio=np.zeros(z.shape, dtype=np.float32))

    def take(self, rows: IntArray) -> Self:
        return replace(self, z=self.z[rows], log_ratio=self.log_ratio[rows])


def _mean_by_squares(values: AnyArray, weights: FloatArray | None) -> FloatArray:
    """Return Σw²v/Σw² over the rows of values (n, …), (…)."""
    if weights is None:
        return np.asarray(np.mean(values, axis=0, dtype=np.float64))
    squares = np.square(weights)
    return np.asarray(np.tensordot(squares, values, (0, 0)) / squares.sum())


def _with_noise_of_spread(
    noise: FloatArray, values: AnyArray, weights: FloatArray | None
) -> FloatArray:
    """Return noise (m, K) with that of z² − 1, the second of values (n, m, K).

    It is that around the spread of all rows, (E[z⁴]/E[z²]² − 1)/2.
    """
    spread = values[:, :, 1]
    squares = np.maximum(1.0 + _mean_by_squares(spread, weights), 1e-12)
    fourth = _mean_by_squares(np.square(spread + 1.0), weights)
    noise[:, 1] = 0.5 * (fourth / squares**2 - 1.0)
    return noise


def clipped(z: AnyArray) -> AnyArray:
    """Return normal scores (n, m), those far out moved to the limit of their sample."""
    limit: AnyArray | float = CLIP
    # All samples come from one law: where the first is not wide, none is.
    if _middle_half(z[:, :1])[0] > WIDE:
        scale = _middle_half(z)
        limit = (CLIP * np.where(scale > WIDE, scale, 1.0)).astype(z.dtype)
    return np.clip(z, -limit, limit)


#: Levels between which the middle half of the scores lies.
QUARTILES = np.array([0.25, 0.75])


def _middle_half(z: AnyArray) -> AnyArray:
    """Return how wide the middle half of scores (n, m) is beside N(0, 1), (m,)."""
    low, high = linear_quantiles(z, QUARTILES)
    return np.asarray((high - low) / MIDDLE_HALF)


# Counts.

#: The kinds of error of counts.
COUNT_KINDS = ("bias", "dispersion", "zeros")


@dataclass(frozen=True, eq=False)
class CountTilt(Tilt):
    """Counts by the normal score z of their randomised PIT, and whether they are 0.

    Bias and dispersion move z as those of a continuous y; zeros multiply the odds of 0.
    """

    z: AnyArray  #: (n, m).
    is_zero: AnyArray  #: (n, m).
    p_zero: AnyArray  #: The probability of 0, (n, m) or (n, 1).
    #: The CDF below y and at y, (n, m); None of samples whose log score is not asked for.
    lower: FloatArray | None
    upper: FloatArray | None

    @classmethod
    def from_steps(
        cls,
        z: FloatArray,
        is_zero: AnyArray,
        p_zero: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        column: str,
    ) -> CountTilt:
        """Make it of the data, (n,) each; without zeros where none can be."""
        forms: tuple[Form, ...] = (Location(), Scale(), Odds())
        kinds = [
            ErrorKind(name, column, "", form, FINDINGS.get(name, name))
            for name, form in zip(COUNT_KINDS, forms, strict=True)
        ]
        if not (is_zero.any() or p_zero.sum() >= 1.0):
            kinds = kinds[:2]
        return cls(
            kinds=tuple(kinds),
            log_ratio=np.zeros((len(z), 1)),
            z=z[:, None],
            is_zero=is_zero[:, None],
            p_zero=p_zero[:, None],
            lower=lower[:, None],
            upper=upper[:, None],
        )

    @property
    def values(self) -> AnyArray:
        z = clipped(self.z)
        zeros = self.is_zero - self.p_zero
        each = (z, z * z - 1.0, zeros)
        return by_kind(each[: len(self.kinds)])

    def noise(self, values: AnyArray, weights: FloatArray | None = None) -> FloatArray:
        return _with_noise_of_spread(super().noise(values, weights), values, weights)

    @property
    def information(self) -> AnyArray:
        p = self.p_zero.mean(axis=1)
        each = np.column_stack([np.ones(self.n), np.full(self.n, 2.0), p * (1.0 - p)])
        return each[:, : len(self.kinds)]

    @property
    def expected(self) -> AnyArray:
        p = self.p_zero.mean(axis=1)
        each = np.column_stack([np.zeros((self.n, 2)), p])
        return each[:, : len(self.kinds)]

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        if kind == 2:
            return self._with_odds_of_zero(theta)
        move = theta if kind == 0 else 0.0
        scale = np.exp(-theta) if kind == 1 else 1.0

        def moved(u: FloatArray) -> FloatArray:
            return np.asarray(ndtr((ndtri(u) - move) * scale))

        before = clipped(self.z)
        if kind == 0:
            gain = theta * before - 0.5 * theta**2
        else:
            gain = -theta - 0.5 * np.expm1(-2.0 * theta) * before**2
        z = (self.z - move) * scale
        return self._with(z=z, p_zero=moved(self.p_zero), moved=moved, gain=gain)

    def said(self, kind: int, theta: FloatArray) -> Said:
        if kind != 2:
            return Said(kind, theta)
        of_zeros = self.corrected(2, theta[:, None])
        p = np.clip(self.p_zero[:, 0], LEAST_PIT, 1.0 - LEAST_PIT)
        p_new = np.clip(of_zeros.p_zero[:, 0], LEAST_PIT, 1.0 - LEAST_PIT)
        move = np.asarray(ndtri(p) - ndtri(p_new))
        gain_of_zeros = (of_zeros.log_ratio - self.log_ratio).sum()
        gain_of_mean = (self.corrected(0, move[:, None]).log_ratio - self.log_ratio).sum()
        alike = gain_of_mean >= GAINS_ALIKE * gain_of_zeros > 0.0
        return Said(0, move) if alike else Said(kind, theta)

    def _with_odds_of_zero(self, theta: FloatArray) -> Self:
        p = np.clip(self.p_zero, LEAST_PIT, 1.0 - LEAST_PIT)
        factor = 1.0 / (1.0 + p * np.expm1(theta))  # of all counts but 0
        p_new = p * np.exp(theta) * factor

        def moved(u: FloatArray) -> FloatArray:
            above = p_new + (u - p) * factor
            return np.asarray(np.where(u <= p, u * np.exp(theta) * factor, above))

        gain = theta * self.is_zero + np.log(factor)
        u = np.clip(moved(ndtr(self.z)), LEAST_PIT, 1.0 - LEAST_PIT)
        z = np.where(self.z > FAR_SCORE, self.z, ndtri(u))
        return self._with(z=z, p_zero=p_new, moved=moved, gain=gain)

    def _with(
        self,
        z: FloatArray,
        p_zero: FloatArray,
        moved: Callable[[FloatArray], FloatArray],
        gain: AnyArray,
    ) -> Self:
        """Return it after a map of the CDF, `moved`; `gain` is that of randomised PITs."""
        lower = self.lower
        upper = self.upper
        if lower is not None and upper is not None:
            # The log score of the count itself, not of its randomised PIT, but of rows so
            # far out that nothing is left of the difference of two probabilities.
            before = upper - lower
            place = (ndtr(self.z) - lower) / np.maximum(before, LEAST_STEP)
            lower = moved(lower)
            upper = moved(upper)
            step = upper - lower
            usual = (np.abs(self.z) < CLIP) & (before > LEAST_STEP) & (step > LEAST_STEP)
            exact = np.log(np.maximum(step, LEAST_STEP) / np.maximum(before, LEAST_STEP))
            gain = np.where(usual, exact, gain)
            # The randomised PIT keeps its place between the CDF below y and at y, so that
            # it is uniform under the corrected law: a map of it is not, within a step.
            u = np.clip(lower + place * step, LEAST_PIT, 1.0 - LEAST_PIT)
            z = np.where(usual, ndtri(u), z)
        return replace(
            self,
            z=z,
            p_zero=p_zero,
            lower=lower,
            upper=upper,
            log_ratio=self.log_ratio + gain,
        )

    def standardised(self, kind: int, shrink: FloatArray) -> Self:
        if kind != 0:
            return self
        return replace(self, z=self.z / np.sqrt(np.maximum(shrink, 0.25)))

    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        u = rng.random((self.n, m), dtype=np.float32)
        u = np.clip(u, 1e-7, 1.0 - 1e-7)
        return self._at(np.asarray(ndtri(u)), u)

    def shuffled(self, order: IntArray) -> Self:
        z = self.z[:, 0].astype(np.float32)[order]
        return self._at(z, np.asarray(ndtr(z)))

    def _at(self, z: AnyArray, u: AnyArray) -> Self:
        """Return m samples with randomised PITs u (n, m), of normal scores z (n, m)."""
        p = self.p_zero[:, :1].astype(np.float32)
        return replace(
            self,
            z=z,
            is_zero=u < p,
            p_zero=p,
            lower=None,
            upper=None,
            log_ratio=np.zeros(z.shape, dtype=np.float32),
        )

    def take(self, rows: IntArray) -> Self:
        return replace(
            self,
            z=self.z[rows],
            is_zero=self.is_zero[rows],
            p_zero=self.p_zero[rows],
            lower=None if self.lower is None else self.lower[rows],
            upper=None if self.upper is None else self.upper[rows],
            log_ratio=self.log_ratio[rows],
        )


# Events: classes, quantiles, intervals.


@dataclass(frozen=True, eq=False)
class EventTilt(Tilt):
    """A discrete y, which falls into one of C cells, by events that are sets of cells.

    Events are single classes, the most probable class, or what a quantile or an interval
    states. θ multiplies the odds of an event by e^θ; within it, and outside of it, the
    cells keep their proportions.
    """

    probabilities: FloatArray  #: Of the cells under the law as it is now, (n, m or 1, C).
    codes: IntArray  #: The cell of each sample, (n, m).
    members: AnyArray  #: Which cells make up each event, (n or 1, K, C) booleans.

    @property
    def _event_probabilities(self) -> FloatArray:
        """The probability of each event, (n, m or 1, K)."""
        if len(self.members) == 1:
            return np.asarray(self.probabilities @ self.members[0].T.astype(np.float64))
        return np.asarray(
            np.einsum("nmc,nkc->nmk", self.probabilities, self.members.astype(np.float64))
        )

    @property
    def _happened(self) -> AnyArray:
        """Whether each event happened, (n, m, K)."""
        if len(self.members) == 1:
            return np.asarray(self.members[0].T[self.codes])
        return np.swapaxes(
            np.take_along_axis(self.members, self.codes[:, None, :], axis=2), 1, 2
        )

    @property
    def values(self) -> AnyArray:
        p = self._event_probabilities
        # No odds make an event possible that has the probability 0.
        return np.where((p > 0.0) & (p < 1.0), self._happened - p, 0.0)

    @property
    def information(self) -> AnyArray:
        p = self._event_probabilities.mean(axis=1)
        return np.asarray(p * (1.0 - p))

    @property
    def expected(self) -> AnyArray:
        return np.asarray(self._event_probabilities.mean(axis=1))

    def _probability_of(self, kind: int) -> FloatArray:
        """Return the probability of one event, (n, m or 1)."""
        member = self.members[:, kind].astype(np.float64)
        if len(member) == 1:
            return np.asarray(self.probabilities @ member[0])
        return np.asarray(np.einsum("nmc,nc->nm", self.probabilities, member))

    def _happened_of(self, kind: int) -> AnyArray:
        """Return whether one event happened, (n, m)."""
        member = self.members[:, kind]
        if len(member) == 1:
            return np.asarray(member[0][self.codes])
        return np.take_along_axis(member, self.codes, axis=1)

    def values_of(self, kind: int) -> AnyArray:
        p = self._probability_of(kind)
        return np.where((p > 0.0) & (p < 1.0), self._happened_of(kind) - p, 0.0)

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        p = self._probability_of(kind)
        norm = 1.0 + p * np.expm1(theta)  # (n, m)
        inside = np.exp(theta) / norm
        outside = 1.0 / norm
        member = self.members[:, None, kind]  # (n or 1, 1, C)
        factor = np.where(member, inside[..., None], outside[..., None])
        gain = theta * self._happened_of(kind) - np.log(norm)
        gain = np.where((p > 0.0) & (p < 1.0), gain, 0.0)
        return replace(
            self,
            probabilities=self.probabilities * factor,
            log_ratio=self.log_ratio + gain,
        )

    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        p = self.probabilities[:, :1]
        sums = np.cumsum(p[:, 0], axis=1)
        sums /= sums[:, -1:]
        u = rng.random((self.n, m))
        codes = np.zeros((self.n, m), dtype=np.int64)
        for ends in sums[:, :-1].T:
            codes += u >= ends[:, None]
        return replace(
            self,
            probabilities=p,
            codes=codes,
            log_ratio=np.zeros((self.n, m), dtype=np.float32),
        )

    def take(self, rows: IntArray) -> Self:
        members = self.members if len(self.members) == 1 else self.members[rows]
        return replace(
            self,
            probabilities=self.probabilities[rows],
            codes=self.codes[rows],
            members=members,
            log_ratio=self.log_ratio[rows],
        )


# Censored times.


@dataclass(frozen=True, eq=False)
class HazardTilt(Tilt):
    """Events observed and expected in T periods; θ multiplies the hazard by e^θ.

    The first kind is the hazard at all times, the others are that of one period each.
    """

    observed: AnyArray  #: Whether the event came in each period, (n, m, T).
    exposure: FloatArray  #: Events expected while the row was watched, (n, m, T).
    #: The length of each period up to the time of censoring, in Λ, (n, T); None where
    #: times of censoring are not known, and y cannot be drawn.
    lengths: FloatArray | None

    @property
    def values(self) -> AnyArray:
        each = self.observed - self.exposure
        return np.concatenate([each.sum(axis=-1, keepdims=True), each], axis=-1)

    @property
    def information(self) -> AnyArray:
        return self.expected

    @property
    def expected(self) -> AnyArray:
        each = self.exposure.mean(axis=1)
        return np.concatenate([each.sum(axis=-1, keepdims=True), each], axis=-1)

    @property
    def expected_by_sample(self) -> AnyArray | None:
        # A row is watched until its event: how much is expected of it depends on y.
        each = self.exposure
        return np.concatenate([each.sum(axis=-1, keepdims=True), each], axis=-1)

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        periods = self.exposure.shape[2]
        chosen = np.ones(periods, dtype=bool) if kind == 0 else _one_of(periods, kind - 1)
        factor = np.where(chosen, np.exp(theta)[..., None], 1.0)
        each = theta[..., None] * self.observed - (factor - 1.0) * self.exposure
        lengths = self.lengths
        if lengths is not None:
            lengths = lengths * factor[:, 0]
        return replace(
            self,
            exposure=self.exposure * factor,
            lengths=lengths,
            log_ratio=self.log_ratio + (each * chosen).sum(axis=-1),
        )

    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        if self.lengths is None:
            return None
        times = rng.standard_exponential((self.n, m, 1))
        ends = np.cumsum(self.lengths, axis=1)[:, None]
        # The last period has no end where a row is never censored: ∞ − ∞ is no start.
        starts = np.concatenate([np.zeros((self.n, 1, 1)), ends[..., :-1]], axis=-1)
        return replace(
            self,
            observed=(times > starts) & (times <= ends),
            exposure=np.clip(times - starts, 0.0, ends - starts),
            log_ratio=np.zeros((self.n, m), dtype=np.float32),
        )

    def take(self, rows: IntArray) -> Self:
        return replace(
            self,
            observed=self.observed[rows],
            exposure=self.exposure[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
            log_ratio=self.log_ratio[rows],
        )


def _one_of(count: int, position: int) -> AnyArray:
    """Return booleans (count,) of which one is true."""
    return np.asarray(np.arange(count) == position)


# Several columns of y.


@dataclass(frozen=True, eq=False)
class SeveralTilt(Tilt):
    """Normal scores of d columns of y, and the correlations of pairs of them.

    Kinds are the bias of each column, the spread of each, and the correlation of each pair.
    """

    z: AnyArray  #: (n, m, d).
    pairs: tuple[tuple[int, int], ...]
    joint: bool  #: Whether columns are independent under the law, so that y can be drawn.

    @classmethod
    def from_scores(
        cls,
        z: FloatArray,
        columns: Sequence[str],
        pairs: Sequence[tuple[int, int]],
        *,
        joint: bool,
    ) -> SeveralTilt:
        """Make it of the normal scores of the data, (n, d)."""
        kinds = [ErrorKind("bias", name, "", Location(), "shift") for name in columns]
        kinds += [ErrorKind("spread", name, "", Scale(), "spread") for name in columns]
        for a, b in pairs:
            both = f"{columns[a]} and {columns[b]}"
            kinds.append(ErrorKind("correlation", both, "", Tilting(), "correlation"))
        return cls(
            kinds=tuple(kinds),
            log_ratio=np.zeros((len(z), 1)),
            z=z[:, None],
            pairs=tuple(pairs),
            joint=joint,
        )

    @property
    def _clipped(self) -> AnyArray:
        return np.stack([clipped(self.z[..., j]) for j in range(self.z.shape[2])], axis=-1)

    @property
    def values(self) -> AnyArray:
        z = self._clipped
        products = [z[..., a] * z[..., b] for a, b in self.pairs]
        columns = np.moveaxis(z, -1, 0)
        return by_kind([*columns, *columns**2 - 1.0, *products])

    @property
    def information(self) -> AnyArray:
        d = self.z.shape[2]
        one = np.concatenate([np.ones(d), np.full(d, 2.0), np.ones(len(self.pairs))])
        return np.broadcast_to(one, (self.n, len(one)))

    @property
    def expected(self) -> AnyArray:
        return np.broadcast_to(0.0, (self.n, len(self.kinds)))

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        d = self.z.shape[2]
        z = self.z.copy()
        before = self._clipped
        if kind < d:
            one = before[..., kind]
            gain = theta * one - 0.5 * theta**2
            z[..., kind] -= theta
        elif kind < 2 * d:
            one = before[..., kind - d]
            gain = -theta - 0.5 * np.expm1(-2.0 * theta) * one**2
            z[..., kind - d] *= np.exp(-theta)
        else:
            a, b = self.pairs[kind - 2 * d]
            left = 1.0 - theta**2
            squares = before[..., a] ** 2 + before[..., b] ** 2
            products = before[..., a] * before[..., b]
            gain = -0.5 * np.log(left)
            gain -= (theta**2 * squares - 2.0 * theta * products) / (2.0 * left)
            z[..., b] = (z[..., b] - theta * z[..., a]) / np.sqrt(left)
        return replace(self, z=z, log_ratio=self.log_ratio + gain)

    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        if not self.joint:
            return None
        z = rng.standard_normal((self.n, m, self.z.shape[2]), dtype=np.float32)
        return replace(self, z=z, log_ratio=np.zeros((self.n, m), dtype=np.float32))

    def shuffled(self, order: IntArray) -> Self:
        z = self.z[:, 0].astype(np.float32)[order]
        return replace(self, z=z, log_ratio=np.zeros(order.shape, dtype=np.float32))

    def take(self, rows: IntArray) -> Self:
        return replace(self, z=self.z[rows], log_ratio=self.log_ratio[rows])


# Everything else: test functions alone.

#: Draws the test functions of some rows (r,) m times: (rows, rng, m) → (r, m, K).
Redraw: TypeAlias = Callable[[IntArray, np.random.Generator, int], AnyArray]


@dataclass(frozen=True, eq=False)
class SignalTilt(Tilt):
    """Test functions alone; a correction moves their means, to first order."""

    psi: AnyArray  #: (n, m, K).
    variance: AnyArray  #: Under the law, (n, K).
    events: AnyArray  #: Expected events, (n, K); 0 of other kinds.
    redraw: Redraw | None  #: None where y cannot be drawn from the law.
    rows: IntArray  #: The position of each row for `redraw`, (n,).

    @property
    def values(self) -> AnyArray:
        return self.psi

    @property
    def information(self) -> AnyArray:
        return self.variance

    @property
    def expected(self) -> AnyArray:
        return self.events

    def corrected(self, kind: int, theta: FloatArray) -> Self:
        variance = self.variance[:, None, kind]
        gain = theta * self.psi[:, :, kind] - 0.5 * theta**2 * variance
        psi = np.array(self.psi)
        psi[:, :, kind] -= theta * variance
        return replace(self, psi=psi, log_ratio=self.log_ratio + gain)

    def draw(self, rng: np.random.Generator, m: int) -> Tilt | None:
        if self.redraw is None:
            return None
        return replace(
            self,
            psi=self.redraw(self.rows, rng, m),
            log_ratio=np.zeros((self.n, m), dtype=np.float32),
        )

    def take(self, rows: IntArray) -> Self:
        return replace(
            self,
            psi=self.psi[rows],
            variance=self.variance[rows],
            events=self.events[rows],
            rows=self.rows[rows],
            log_ratio=self.log_ratio[rows],
        )
