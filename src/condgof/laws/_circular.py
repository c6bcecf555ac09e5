"""Angles: laws of a y on a circle, such as wind directions and times of day.

y is a number modulo a *period* (2π, 360 degrees, 24 hours); θ = 2πy/period is its angle.
Nothing here depends on where the circle is cut: angles are compared by the signed
difference δ = θ − μ to the mean direction μ of the law, which lies between −π and π, and by
the trigonometric moments of the law about that direction,

    m_k = E[exp(ikδ) | x],   k = 1, 2, …,

where |m_1| is the mean resultant length: 1 for a law at a single point, 0 for a uniform
one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy.special import ive, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    NumericalError,
    ShapeError,
    UnsupportedModelError,
    check_number,
    refuse_rows,
)
from condgof.laws._draws import RowDraws, common_precision
from condgof.laws._law import (
    Joined,
    Law,
    Model,
    ModelLike,
    as_rows,
    check_per_row,
    same_as,
)
from condgof.laws._parameters import CHECK, Parametric, family

TURN = 2.0 * math.pi
#: A row whose mean resultant length is below this has no mean direction (a uniform law, or
#: two opposite modes): its angles are then measured from 0.
LEAST_RESULTANT = 1e-8
#: Above this concentration the CDF of a von Mises law is that of a normal variable (Hill,
#: Communications of the ACM, 1977), with an error below 1e-12.
CONCENTRATED = 500.0
#: Nodes, evenly spaced, of the quadrature of a log-density over a period: at first,
FIRST_NODES = 128
#: and at most. Twice as many are taken until the moments do not change.
MOST_NODES = 4096
#: A density is resolved where its moments of the highest orders are below this, which is
#: above the rounding of single precision. Those of low orders are then exact.
RESOLVED = 1e-6
#: Rows whose candidates, or series, are evaluated together; it bounds memory.
BLOCK_ROWS = 1024
#: How much log p may differ from one turn to the next and still count as periodic.
PERIODIC = 1e-6


def check_period(period: object) -> float:
    """Return the period of y as a number, which must be positive and finite."""
    wanted = "a positive number, such as 2*numpy.pi, 360 or 24"
    return check_number(period, "period", wanted, lambda value: 0 < value < math.inf)


def reduce_to_period(y: AnyArray, period: float) -> FloatArray:
    """Return y modulo the period, of the same shape: at least 0 and below the period."""
    reduced = np.mod(np.asarray(y, dtype=np.float64), period)
    # The remainder of a tiny negative number rounds to the period itself.
    return np.where(reduced >= period, 0.0, reduced)


def to_angles(y: AnyArray, period: float) -> FloatArray:
    """Return y as angles in radians, from 0 to 2π, of the same shape."""
    return reduce_to_period(y, period) * (TURN / period)


def wrap(angle: AnyArray) -> FloatArray:
    """Return angles in radians modulo 2π, between −π and π, of the same shape."""
    return np.asarray(np.mod(np.asarray(angle) + math.pi, TURN) - math.pi)


def turns_of(angle: AnyArray, count: int) -> AnyArray:
    """Return exp(ik·angle) for k = 1, …, count, (…, count) of angles (…)."""
    first = np.exp(1j * np.asarray(angle))[..., None]
    return np.cumprod(np.broadcast_to(first, (*first.shape[:-1], count)), axis=-1)


class PredictedAngles(ABC):
    """What a law predicts of the angles of n rows, relative to a direction in each row."""

    direction: FloatArray  #: The mean direction of each row in radians, (n,).

    @property
    def n(self) -> int:
        return len(self.direction)

    @property
    @abstractmethod
    def row_width(self) -> int:
        """How many numbers a row has."""

    @abstractmethod
    def moments(self, count: int) -> AnyArray:
        """Return E[exp(ikδ)] for k = 1, …, count, complex, (n, count)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, m: int) -> FloatArray:
        """Draw δ of each row m times, (n, m)."""

    @abstractmethod
    def cdf(self, angle: FloatArray) -> FloatArray:
        """Return P(−π < δ ≤ angle) of one angle in each row, (n,)."""

    @abstractmethod
    def take(self, rows: slice | IntArray) -> Self:
        """Return some rows."""


@dataclass(frozen=True, eq=False)
class VonMisesAngles(PredictedAngles):
    """Von Mises laws, whose moments are I_k(κ)/I_0(κ)."""

    direction: FloatArray
    concentration: FloatArray  #: κ, (n,).
    row_width = 2

    def moments(self, count: int) -> AnyArray:
        kappa = self.concentration[:, None]
        return np.asarray(ive(np.arange(1, count + 1), kappa) / ive(0, kappa)) + 0j

    def draw(self, rng: np.random.Generator, m: int) -> FloatArray:
        return rng.vonmises(0.0, self.concentration[:, None], size=(self.n, m))

    def cdf(self, angle: FloatArray) -> FloatArray:
        kappa = self.concentration
        values = _cdf_of_concentrated(angle, np.maximum(kappa, CONCENTRATED))
        # Rows of similar concentration need a similar number of moments.
        order = np.argsort(kappa, kind="stable")
        order = order[: int(np.count_nonzero(kappa < CONCENTRATED))]
        for start in range(0, len(order), BLOCK_ROWS):
            rows = order[start : start + BLOCK_ROWS]
            largest = float(kappa[rows[-1]])
            # I_k(κ)/I_0(κ) falls at least as fast as exp(−k²/2κ) does for k < κ.
            count = 24 + int(8.5 * math.sqrt(largest) + 0.1 * largest)
            values[rows] = cdf_from_moments(self.take(rows).moments(count), angle[rows])
        return values

    def take(self, rows: slice | IntArray) -> Self:
        return replace(
            self, direction=self.direction[rows], concentration=self.concentration[rows]
        )


def _cdf_of_concentrated(angle: FloatArray, kappa: FloatArray) -> FloatArray:
    """Return the CDF of von Mises laws of a large κ, (n,): a normal approximation."""
    z = np.sqrt(2.0 / math.pi) / ive(0, kappa) * np.sin(0.5 * angle)
    square = z * z
    c = 24.0 * kappa
    inner = (c - 2.0 * square - 16.0) / 3.0
    inner -= (square * square + 1.75 * square + 83.5) / (c + 3.0 - square)
    return np.asarray(ndtr(z - z * square / np.square(inner)))


def cdf_from_moments(moments: AnyArray, angle: FloatArray) -> FloatArray:
    """Return P(−π < δ ≤ angle), (n,), from moments m_k (n, K) that have died out by K.

    It is (angle + π)/2π + (1/π) Re Σ_k (i/k)·m_k·(exp(−ik·angle) − (−1)^k).
    """
    k = np.arange(1, moments.shape[1] + 1)
    terms = (1j / k) * moments * (np.conj(turns_of(angle, len(k))) - (-1.0) ** k)
    series = terms.real.sum(axis=1) / math.pi
    return np.asarray(np.clip((angle + math.pi) / TURN + series, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class DensityAngles(PredictedAngles):
    """Laws with a density, by its moments up to an order from which on they are 0."""

    direction: FloatArray
    all_moments: AnyArray  #: E[exp(ikδ)] for k = 1, …, K, complex, (n, K).

    @classmethod
    def from_nodes(cls, probabilities: FloatArray) -> DensityAngles:
        """Take probabilities (n, M) of the angles 2πj/M, which resolve the density.

        The trapezoidal rule over a period is exact for a density whose moments are 0 from
        the order M/2 on.
        """
        about_zero = np.conj(np.fft.rfft(probabilities, axis=1))[:, 1:-1]
        direction = direction_of(about_zero[:, 0])
        turned_back = np.conj(turns_of(direction, about_zero.shape[1]))
        return cls(direction=direction, all_moments=about_zero * turned_back)

    @property
    def row_width(self) -> int:
        return 1 + int(self.all_moments.shape[1])

    def moments(self, count: int) -> AnyArray:
        known = self.all_moments[:, :count]
        return np.pad(known, ((0, 0), (0, count - known.shape[1])))

    def _nodes(self, count: int) -> FloatArray:
        """Return probabilities of δ = 2πj/count − π, j = 0, 1, …, (n, count).

        They are (1/count)·Σ_k m_k·exp(−ikδ), the density at the nodes.
        """
        orders = np.arange(1, self.all_moments.shape[1] + 1)
        from_opposite = np.conj(self.all_moments) * (-1.0) ** orders
        spectrum = np.concatenate([np.ones((self.n, 1)), from_opposite], axis=1)
        return np.maximum(np.fft.irfft(spectrum, count, axis=1), 0.0)

    def draw(self, rng: np.random.Generator, m: int) -> FloatArray:
        """Draw from evenly spaced angles, whose moments are exactly those of the law."""
        count = 2 * self.all_moments.shape[1] + 2
        chosen = _draw_columns(self._nodes(count), rng, m)
        return np.asarray(chosen * (TURN / count) - math.pi)

    def draw_once(self, rng: np.random.Generator) -> FloatArray:
        """Draw δ of each row once, at any angle, (n,).

        The density is taken as constant around each of `MOST_NODES` angles.
        """
        parts = []
        for start in range(0, self.n, BLOCK_ROWS):
            some = self.take(slice(start, start + BLOCK_ROWS))
            parts.append(_draw_columns(some._nodes(MOST_NODES), rng, 1)[:, 0])
        place = np.concatenate(parts) + rng.random(self.n) - 0.5
        return wrap(place * (TURN / MOST_NODES) - math.pi)

    def cdf(self, angle: FloatArray) -> FloatArray:
        return cdf_from_moments(self.all_moments, angle)

    def take(self, rows: slice | IntArray) -> Self:
        return replace(
            self, direction=self.direction[rows], all_moments=self.all_moments[rows]
        )


def _draw_columns(weights: FloatArray, rng: np.random.Generator, m: int) -> IntArray:
    """Draw columns with probabilities in proportion to weights (n, M), (n, m)."""
    n, count = weights.shape
    ends = np.cumsum(weights, axis=1)
    ends /= ends[:, -1:]
    # One sorted array for all rows: those of row i lie between i and i + 1.
    offsets = np.arange(n)[:, None]
    uniforms = rng.random((n, m)) + offsets
    places = np.searchsorted((ends + offsets).ravel(), uniforms, side="right")
    return np.asarray(np.clip(places - count * offsets, 0, count - 1))


@dataclass(frozen=True, eq=False)
class CandidateAngles(PredictedAngles):
    """y and its m draws, which are exchangeable under the law: m + 1 candidates a row.

    The direction is the mean direction of all candidates, so that it does not tell which of
    them is y.
    """

    direction: FloatArray
    candidates: FloatArray  #: δ of all candidates, y first, (n, m + 1).

    @classmethod
    def from_angles(cls, angles: FloatArray) -> CandidateAngles:
        """Measure angles (n, m + 1) from their own mean direction."""
        direction = direction_of(np.exp(1j * angles).mean(axis=1))
        return cls(direction=direction, candidates=wrap(angles - direction[:, None]))

    @property
    def row_width(self) -> int:
        return 1 + int(self.candidates.shape[1])

    def moments(self, count: int) -> AnyArray:
        parts = []
        for start in range(0, self.n, BLOCK_ROWS):
            some = self.candidates[start : start + BLOCK_ROWS]
            waves = np.exp(1j * some)
            powers = np.ones_like(waves)
            means = []
            for _ in range(count):
                powers = powers * waves
                means.append(powers.mean(axis=1))
            parts.append(np.stack(means, axis=1))
        return np.concatenate(parts)

    def draw(self, rng: np.random.Generator, m: int) -> FloatArray:
        n, count = self.candidates.shape
        chosen = rng.integers(count, size=(n, m))
        return np.take_along_axis(self.candidates, chosen, axis=1)

    def cdf(self, angle: FloatArray) -> FloatArray:
        """Return the share of candidates at or before an angle; ties count one half."""
        below = (self.candidates < angle[:, None]).mean(axis=1)
        equal = (self.candidates == angle[:, None]).mean(axis=1)
        return np.asarray(below + 0.5 * equal)

    def take(self, rows: slice | IntArray) -> Self:
        return replace(
            self, direction=self.direction[rows], candidates=self.candidates[rows]
        )


@dataclass(frozen=True, eq=False)
class JoinedAngles(PredictedAngles):
    """Rows that several laws predict, such as those of the folds of a cross-fit."""

    direction: FloatArray
    parts: tuple[PredictedAngles, ...]
    part: IntArray  #: Which of the parts each row belongs to, (n,).
    place: IntArray  #: Its row there, (n,).

    @property
    def row_width(self) -> int:
        return max(part.row_width for part in self.parts)

    def _gather(self, ask: Callable[[PredictedAngles, IntArray], AnyArray]) -> AnyArray:
        """Return ``ask(rows of a part, their numbers here)`` of all parts, by row."""
        whole: AnyArray | None = None
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(self.part == number)
            if len(rows):
                values = ask(part.take(self.place[rows]), rows)
                if whole is None:
                    whole = np.empty((self.n, *values.shape[1:]), dtype=values.dtype)
                whole[rows] = values
        assert whole is not None
        return whole

    def moments(self, count: int) -> AnyArray:
        return self._gather(lambda part, rows: part.moments(count))

    def draw(self, rng: np.random.Generator, m: int) -> FloatArray:
        return self._gather(lambda part, rows: part.draw(rng, m))

    def cdf(self, angle: FloatArray) -> FloatArray:
        return self._gather(lambda part, rows: part.cdf(angle[rows]))

    def take(self, rows: slice | IntArray) -> Self:
        return replace(
            self,
            direction=self.direction[rows],
            part=self.part[rows],
            place=self.place[rows],
        )


def direction_of(resultant: AnyArray) -> FloatArray:
    """Return the angle of mean resultants (n,), from 0 to 2π; 0 where there is none."""
    angle = np.where(np.abs(resultant) < LEAST_RESULTANT, 0.0, np.angle(resultant))
    return reduce_to_period(angle, TURN)


class ComparedAngles(NamedTuple):
    """Angles of y, and what is predicted of them."""

    angle: FloatArray  #: δ, the difference to the predicted direction, (n,).
    predicted: PredictedAngles


class Circular(Law):
    """The law of an angle: a y of one column that is a number modulo `period`.

    It has no CDF, mean or standard deviation, which depend on where the circle is cut, but
    a mean direction and trigonometric moments (`predicted_angles`).
    """

    WHY_NOT = "y is an angle, and has no smallest value"
    period: float  #: The length of a whole turn in the unit of y.

    def predicted_angles(self) -> PredictedAngles:
        """Return what is predicted of the angle in each row."""
        raise NotImplementedError

    def compare(self, y: AnyArray) -> ComparedAngles:
        """Compare y (n,) or (n, 1) with the mean direction of the law."""
        predicted = self.predicted_angles()
        angle = wrap(self.angles(y) - predicted.direction)
        return ComparedAngles(angle=angle, predicted=predicted)

    def angles(self, y: AnyArray) -> FloatArray:
        """Return y (n,) or (n, 1) as angles in radians, from 0 to 2π, (n,)."""
        return to_angles(self._columns(y)[:, 0], self.period)

    def lacks(self, ability: str) -> NoReturn:
        """Raise the error for a missing ability, with the tests that can take angles."""
        raise UnsupportedModelError(
            f"{self.name} has no {ability} ({self.WHY_NOT}). Tests that can take it:"
            " adaptive, fscd, kcsd, ksd, mmd."
        )

    def facing(self, y: AnyArray) -> Law:
        """Return the law itself: a density on the circle needs no CDF."""
        return self

    def embed(self, y: FloatArray) -> FloatArray:
        """Return points on a circle of circumference `period`, (m, 2), of y (m, 1)."""
        angle = to_angles(y[:, 0], self.period)
        radius = self.period / TURN
        return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def is_circular(law: Law) -> bool:
    """Whether y is an angle to a law, or to the parts that it is made of."""
    first = law.first if isinstance(law, Joined) else law
    return isinstance(first, Circular)


def angles_of(law: Law, y: AnyArray) -> FloatArray:
    """Return y (n,) or (n, 1) of a circular law as angles from 0 to 2π, (n,)."""
    first = law.first if isinstance(law, Joined) else law
    assert isinstance(first, Circular)
    return to_angles(as_rows(y)[:, 0], first.period)


def period_of(law: Law) -> float:
    """Return the period of a circular law, or of the parts that it is made of."""
    if isinstance(law, Circular):
        return law.period
    assert isinstance(law, Joined)
    periods = {period_of(part) for _, part in law.parts()}
    if len(periods) > 1:
        raise InputError(f"The laws of folds have different periods: {sorted(periods)}.")
    return periods.pop()


def compare_angles(law: Law, y: AnyArray) -> ComparedAngles:
    """Compare y (n,) or (n, 1) with a circular law, or one that is made of such."""
    y = as_rows(y)
    if isinstance(law, Circular):
        return law.compare(y)
    assert isinstance(law, Joined)
    angle = np.empty(len(y))
    direction = np.empty(len(y))
    part_of = np.empty(len(y), dtype=np.int64)
    place = np.empty(len(y), dtype=np.int64)
    parts: list[PredictedAngles] = []
    for rows, part in law.parts():
        compared = compare_angles(part, y[rows])
        angle[rows] = compared.angle
        direction[rows] = compared.predicted.direction
        part_of[rows] = len(parts)
        place[rows] = np.arange(compared.predicted.n)
        parts.append(compared.predicted)
    joined = JoinedAngles(
        direction=direction, parts=tuple(parts), part=part_of, place=place
    )
    return ComparedAngles(angle=angle, predicted=joined)


@family
class VonMises(Parametric, Circular):
    """Von Mises model of an angle, p(y|x) = exp(κ cos(θ − μ)) / (period·I_0(κ)).

    θ and μ are the angles 2πy/period and 2π·mean/period. It is the circular counterpart of
    a normal law; of a large concentration κ, θ has about the standard deviation κ^(−1/2).

    Parameters
    ----------
    mean : number, array (n,) or function of x
        The mean direction, in the unit of y; it counts modulo the period.
    concentration : number, array (n,) or function of x
        κ, at least 0: the uniform law on the circle has 0.
    period : float
        The length of a whole turn in the unit of y: 2π for radians, 360 for degrees, 24 for
        hours of the day.

    Examples
    --------
    >>> law = VonMises(mean=[350.0, 90.0], concentration=4.0, period=360)
    >>> law.score(np.array([10.0, 80.0]))[:, 0].round(4)
    array([-0.0239,  0.0121])
    >>> law.log_prob(np.array([10.0, 80.0])).round(4)
    array([-4.5523, -4.3718])
    >>> law.log_prob(np.array([370.0, -280.0])).round(4)
    array([-4.5523, -4.3718])
    """

    mean: Any
    concentration: Any
    period: float = field(default=TURN, kw_only=True)

    #: That of a line, which Parametric laws have, would depend on where the circle is cut.
    crps = Law.crps

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", check_period(self.period))
        self._read(mean=self.mean, concentration=self.concentration)

    def _parameters_at(self, n: int) -> VonMisesAngles:
        """Return the checked parameters at n rows, the mean direction as an angle."""
        mean = self.mean.values(n, (1,))[:, 0]
        kappa = np.array(self.concentration.values(n, (1,))[:, 0])
        refuse_rows(~(kappa >= 0), "concentration must not be negative, and is", CHECK)
        direction = to_angles(mean, self.period)
        return VonMisesAngles(direction=direction, concentration=kappa)

    def predicted_angles(self) -> PredictedAngles:
        return self._parameters_at(self._size())

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return κ(cos δ − 1) − log(e^(−κ)·I_0(κ)) − log period, (n,)."""
        at = self._parameters_at(self._size(y))
        kappa = at.concentration
        # 1 − cos δ = 2 sin²(δ/2) has all its digits where δ is small.
        half = np.sin(0.5 * (self.angles(y) - at.direction))
        log_scale = np.log(ive(0, kappa)) + math.log(self.period)
        return np.asarray(-2.0 * kappa * half * half - log_scale)

    def score(self, y: AnyArray) -> FloatArray:
        """Return −κ sin(θ − μ)·2π/period, (n, 1)."""
        at = self._parameters_at(self._size(y))
        by_angle = -at.concentration * np.sin(self.angles(y) - at.direction)
        return np.asarray(by_angle * (TURN / self.period))[:, None]

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw y of each row, at least 0 and below the period, (n, 1)."""
        at = self._parameters_at(self._size())
        angle = at.direction + at.draw(rng, 1)[:, 0]
        return reduce_to_period(angle * (self.period / TURN), self.period)[:, None]


@dataclass(frozen=True, eq=False)
class CircularDensity(Circular):
    """A log-density on a circle, integrated over a period; see `from_log_prob`."""

    law: Law  #: Has log_prob and score, and is not known to be normalised.
    period: float

    rows = same_as("law.rows")
    name = same_as("law.name")
    index = same_as("law.index")
    of_x = same_as("law.of_x")
    notes = same_as("law.notes")

    def take(self, rows: IntArray) -> CircularDensity:
        return replace(self, law=self.law.take(rows))

    def _reduced(self, y: AnyArray) -> FloatArray:
        """Return y modulo the period, in its own shape, after a check of its rows."""
        self._columns(y)
        return reduce_to_period(y, self.period)

    def score(self, y: AnyArray) -> AnyArray:
        scores, _ = self.score_and_error(y)
        return scores

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        reduced = self._reduced(y)
        self._check_periodic()
        return self.law.score_and_error(reduced)

    def _log_density(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x) up to a constant of each row, (n,), of y in [0, period)."""
        return check_per_row(self.law.log_prob(y), self.n, "log_prob")

    @cached_property
    def _integral(self) -> _Integral:
        """The density at evenly spaced angles, as many as resolve it in every row."""
        nodes = FIRST_NODES
        self._check_periodic()
        values = self._at_nodes(np.arange(nodes) / nodes)
        while True:
            integral = _Integral.from_log_density(values, self.period)
            if integral.is_resolved:
                return integral
            if nodes == MOST_NODES:
                raise NumericalError(
                    "The log-density cannot be integrated over a period in every row: it is"
                    f" too narrow, or not smooth, for {MOST_NODES} values of y. Test it by"
                    " its scores, with standardize='none'."
                )
            between = self._at_nodes((np.arange(nodes) + 0.5) / nodes)
            values = np.stack([values, between], axis=2).reshape(self.n, 2 * nodes)
            nodes *= 2

    def _at_nodes(self, shares: FloatArray) -> FloatArray:
        """Return log-densities at shares (m,) of a period, (n, m)."""
        columns = [
            self._log_density(np.full(self.n, share * self.period)) for share in shares
        ]
        values = np.stack(columns, axis=1)
        bad = np.isnan(values) | (values == np.inf)
        refuse_rows(bad, "log p(y|x) is not a number for some y", CHECK)
        return values

    def _check_periodic(self) -> None:
        """Refuse a log-density that is not the same one turn further."""
        at_start = self._log_density(np.zeros(self.n))
        after_a_turn = self._log_density(np.full(self.n, self.period))
        difference = np.abs(after_a_turn - at_start)
        refuse_rows(
            ~(difference <= PERIODIC * (1.0 + np.abs(at_start))),
            "The log-density is not periodic",
            f"It differs between y = 0 and y = {self.period:g}, which are the same angle:"
            " use y through cos and sin alone.",
        )

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log of the normalised density, (n,)."""
        return self._log_density(self._reduced(y)) - self._integral.log_total

    def predicted_angles(self) -> DensityAngles:
        return DensityAngles.from_nodes(self._integral.probabilities)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw y of each row, at least 0 and below the period, (n, 1)."""
        predicted = self.predicted_angles()
        angle = predicted.direction + predicted.draw_once(rng)
        return reduce_to_period(angle * (self.period / TURN), self.period)[:, None]


@dataclass(frozen=True, eq=False)
class _Integral:
    """A density over a period, by the trapezoidal rule."""

    probabilities: FloatArray  #: Of evenly spaced nodes, of sum 1, (n, M).
    log_total: FloatArray  #: log ∫ exp(log-density) dy, (n,).

    @classmethod
    def from_log_density(cls, values: FloatArray, period: float) -> _Integral:
        largest = values.max(axis=1, keepdims=True)
        weights = np.exp(values - largest)
        total = weights.sum(axis=1, keepdims=True)
        step = period / values.shape[1]
        log_total = np.log(total * step) + largest
        return cls(probabilities=weights / total, log_total=log_total[:, 0])

    @property
    def is_resolved(self) -> bool:
        """Whether the moments of the upper quarter of orders are 0 but for rounding."""
        moments = np.abs(np.fft.rfft(self.probabilities, axis=1))
        upper = moments[:, -(moments.shape[1] // 4) :]
        return bool((upper < RESOLVED).all())


def from_periodic_log_prob(model: ModelLike, period: object) -> Model:
    """Model of an angle, from a model that has its log-density; see `from_log_prob`."""
    make = partial(_density_at_rows, model, check_period(period))
    return Model(make, CircularDensity.__name__, conditional=False)


def _density_at_rows(
    model: ModelLike, period: float, x: TableLike | None, n: int
) -> CircularDensity:
    return CircularDensity(law=model(x, n), period=period)


@dataclass(frozen=True, eq=False)
class CircularDraws(RowDraws, Circular):
    """Draws of an angle, `values` of shape (n, m); see `from_draws`."""

    WHY_NOT = Circular.WHY_NOT
    period: float

    def predicted_angles(self) -> CandidateAngles:
        """Return what the draws alone predict."""
        return CandidateAngles.from_angles(to_angles(self.values, self.period))

    def compare(self, y: AnyArray) -> ComparedAngles:
        """Compare y with its draws: all m + 1 are exchangeable under the law."""
        values, at_y = common_precision(self.values, self._columns(y))
        candidates = np.concatenate([at_y, values], axis=1)
        predicted = CandidateAngles.from_angles(to_angles(candidates, self.period))
        return ComparedAngles(angle=predicted.candidates[:, 0], predicted=predicted)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return reduce_to_period(super().sample(rng), self.period)


def circular_draws(
    values: AnyArray, *, seed: int, ids: IntArray, period: object
) -> CircularDraws:
    """Law of draws (n, m) of an angle, with what other laws of draws have beside."""
    if values.ndim != 2:
        raise ShapeError(f"Draws of an angle have shape (n, m), got {values.shape}.")
    return CircularDraws(values=values, seed=seed, ids=ids, period=check_period(period))
