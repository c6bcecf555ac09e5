"""Angles: bias of the predicted direction, concentration, and coverage of central arcs.

Residuals δ are differences to the predicted mean direction, at most half a turn to either
side. Their mean direction and mean resultant length are the angle and the length of the
mean of exp(iδ): what mean and standard deviation are on a line. Neither depends on where
the circle is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import Residual, outliers
from condgof.check._quantities import Quantity, Signal, register_quantity
from condgof.check._record import Finding
from condgof.check._size import (
    BY_SCORES,
    Bench,
    Size,
    features_of_x,
    pair_sums,
    size_of,
)
from condgof.check._words import SET_BY_FIT, percent, register_sentence
from condgof.check.kinds._rows import CheckedRows, FrameColumn, RowTable, rows_class
from condgof.check.kinds._signals import Draw, OfResampled, Signals
from condgof.laws import TURN, Law, PredictedAngles, reduce_to_period, turns_of
from condgof.residuals import (
    CircularResiduals,
    CircularScoreResiduals,
    SteinWaves,
    TrigonometricFunctions,
)
from condgof.result import Record, binomial_quantile, rounded
from condgof.sample import Column, Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: Levels of the central arcs whose coverage is reported.
ARC_LEVELS = (0.5, 0.9)
#: Periods this near to 2π, 360 or 24, relative to them, are radians, degrees and hours.
SAME_PERIOD = 1e-6
#: A mean resultant length below this has no direction.
LEAST_RESULTANT = 1e-12
#: The least resultant length R of a row in the effect size, which is divided by R.
LEAST_MOVED = 1e-6
#: PITs are kept away from 0 and 1, where the normal score of an outlier is infinite.
LEAST_PIT = 1e-16
#: The most bars of the histogram of residuals, each of 15°.
MOST_BARS = 24
#: The fewest bars, each of 30°.
FEWEST_BARS = 12
#: How many rows there are for each bar, where their number is between these.
ROWS_OF_BAR = 30
#: Frequencies of the signals of the search: sin and cos of δ and of 2δ.
SIGNAL_FREQUENCIES = 2
#: The kind of the signals sin 2δ and cos 2δ: the shape of the law around the circle, for
#: which findings have no number of its own.
SHAPE = "shape"


@dataclass(frozen=True)
class AngularUnit:
    """In which unit differences of angles are reported."""

    kind: str  #: The kind of finding that a bias is, a key of `QUANTITIES`.
    name: str
    per_turn: float  #: A whole turn in this unit.
    effect_unit: str  #: What the effect size is measured in, in words.
    effect: str  #: A misfit that is the same at every x, in words; {} is its size.

    def from_radians(self, angle: AnyArray | float) -> FloatArray:
        return np.asarray(angle) * (self.per_turn / TURN)

    def text(self, value: float) -> str:
        """Write a difference in this unit: 12.3°, 1 h 20 min, or a plain number."""
        raise NotImplementedError


class Degrees(AngularUnit):
    """Directions, in degrees."""

    def text(self, value: float) -> str:
        text = f"{value:.{1 if abs(value) < 99.95 else 0}f}°"
        return "0.0°" if text == "-0.0°" else text.replace("-", "−")


class Hours(AngularUnit):
    """Times of day, in hours and minutes."""

    def text(self, value: float) -> str:
        minutes = round(abs(value) * 60)
        sign = "−" if value < 0 and minutes else ""
        if minutes < 60:
            return f"{sign}{minutes} min"
        return f"{sign}{minutes // 60} h {minutes % 60:02d} min"


class UnitOfY(AngularUnit):
    """Any other period, in the unit of y."""

    def text(self, value: float) -> str:
        return rounded(value).replace("-", "−")


DEGREES = Degrees(
    kind="direction",
    name="degrees",
    per_turn=360.0,
    effect_unit="degrees, by which every predicted direction is turned",
    effect="a turn of {}° of every predicted direction",
)
HOURS = Hours(
    kind="time",
    name="hours",
    per_turn=24.0,
    effect_unit="hours, by which every predicted time is shifted",
    effect="a shift of {} hours of every predicted time",
)


def unit_of(period: float) -> AngularUnit:
    """Return the unit in which sentences and pictures give angles of a period.

    Degrees for the periods 2π and 360, hours for 24, else the unit of y.
    """
    if math.isclose(period, TURN, rel_tol=SAME_PERIOD):
        return DEGREES
    if math.isclose(period, DEGREES.per_turn, rel_tol=SAME_PERIOD):
        return DEGREES
    if math.isclose(period, HOURS.per_turn, rel_tol=SAME_PERIOD):
        return HOURS
    return UnitOfY(
        kind="angle",
        name="unit of y",
        per_turn=period,
        effect_unit="in the unit of y, by which every prediction is shifted",
        effect="a shift of {} of every prediction, in the unit of y",
    )


class Resultant(NamedTuple):
    """The mean of exp(iδ) over some rows."""

    direction: float  #: Its angle, from −π to π.
    length: float  #: Between 0 and 1.

    @classmethod
    def from_angles(cls, angle: FloatArray) -> Resultant:
        mean = complex(np.exp(1j * angle).mean())
        length = min(abs(mean), 1.0)
        direction = math.atan2(mean.imag, mean.real) if length > LEAST_RESULTANT else 0.0
        return cls(direction=direction, length=length)


def circular_sd(length: float) -> float:
    """Return √(−2 log R) in radians, which is about the sd of concentrated angles."""
    return math.sqrt(-2.0 * math.log(max(length, LEAST_RESULTANT)))


@dataclass(frozen=True, eq=False)
class AngleHistogram(Record):
    """Residual angles in bars of equal width, beside what the model predicts."""

    edges: FloatArray  #: In `unit`, from −half a turn to half a turn, (B + 1,).
    rows: IntArray  #: Rows in each bar, (B,).
    expected: FloatArray  #: The number of rows that the model predicts there, (B,).
    #: All numbers of rows lie between `low` and `high`, (B,) each, with probability 0.95 if
    #: the model is right.
    low: FloatArray
    high: FloatArray
    unit: str  #: "degrees", "hours" or "unit of y".

    @property
    def side(self) -> IntArray:
        """1 where there are more rows than chance allows, −1 where there are fewer."""
        return np.where(self.rows > self.high, 1, np.where(self.rows < self.low, -1, 0))


@dataclass(frozen=True, eq=False)
class BiasProfile:
    """The bias in groups of rows, with intervals that hold together, (B,) each."""

    estimate: FloatArray  #: In the unit of `unit_of`, as the ends are.
    low: FloatArray
    high: FloatArray

    @property
    def side(self) -> IntArray:
        """1 where the observed angle is larger than predicted, −1 where it is smaller."""
        return np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))


@dataclass(frozen=True, eq=False)
class CircularRows(CheckedRows):
    """Rows with an angle as y, and what is predicted of it."""

    label = "angles"
    takes_weights = False
    angle: FloatArray  #: δ in radians, (n,).
    predicted: PredictedAngles
    period: float
    draws: int  #: How many draws of each row the law is known by; 0 where it is no draws.

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: CircularResiduals
    ) -> CircularRows:
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=None,
            angle=residuals.angle,
            predicted=residuals.predicted,
            period=residuals.period,
            draws=residuals.draws,
        )

    @property
    def unit(self) -> AngularUnit:
        return unit_of(self.period)

    @property
    def pit(self) -> FloatArray:
        """P(δ' ≤ δ) from the opposite of the mean direction on, (n,)."""
        return np.asarray(self.comparison["pit"])

    def resolves(self, tail: float) -> bool:
        """Whether the law can tell a tail of this probability: a few draws cannot."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    def resultant_lengths(self) -> FloatArray:
        """Return the mean resultant length that each row predicts, (n,)."""
        return np.abs(self.predicted.moments(1)[:, 0])

    def predicted_columns(self) -> Iterator[FrameColumn]:
        direction = self.predicted.direction * (self.period / TURN)
        yield FrameColumn(Column("predicted"), reduce_to_period(direction, self.period))
        yield FrameColumn(Column("predicted_resultant"), self.resultant_lengths())

    def searched_predictions(self) -> list[FrameColumn]:
        """Return the resultant length alone: intervals of directions depend on a cut."""
        return list(self.predicted_columns())[1:]

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        yield self._bias(reader, rows)
        yield self._concentration(reader, rows)
        yield from self._coverage(reader, rows)
        if overall and not self.draws:
            yield from outliers(reader, Residual(rows, self.far_scores[rows], self.y_name))

    @property
    def far_scores(self) -> FloatArray:
        """Normal scores by which rows are outliers, (n,); 0 where draws tell too little."""
        if self.draws:
            return np.zeros(self.n)
        return np.asarray(ndtri(np.clip(self.pit, LEAST_PIT, 1.0 - LEAST_PIT)))

    def _bias(self, reader: Reader, rows: IntArray) -> Finding:
        """Return the mean direction of residuals, with Fisher's interval.

        Its half-width is arcsin(h/R), h that of the mean of sin(δ − direction): half a turn
        where that is not below R.
        """
        angle = self.angle[rows]
        resultant = Resultant.from_angles(angle)
        across = reader.mean(rows, np.sin(angle - resultant.direction))
        half = 0.5 * (across.interval[1] - across.interval[0])
        reach = math.asin(half / resultant.length) if half < resultant.length else math.pi
        estimate, low, high = self.unit.from_radians(
            resultant.direction + np.array([0.0, -reach, reach])
        )
        return Finding(
            kind=self.unit.kind,
            column=self.y_name,
            estimate=float(estimate),
            interval=(float(low), float(high)),
            expected=0.0,
            quantity=self.unit.kind,
            numbers={"unit": self.unit},
        )

    def _concentration(self, reader: Reader, rows: IntArray) -> Finding:
        """Return the mean resultant length of residuals beside the predicted one."""
        angle = self.angle[rows]
        direction = Resultant.from_angles(angle).direction
        length = reader.mean(rows, np.cos(angle - direction))
        low, high = (float(np.clip(end, 0.0, 1.0)) for end in length.interval)
        expected = abs(complex(self.predicted.take(rows).moments(1).mean()))
        return Finding(
            kind="concentration",
            column=self.y_name,
            estimate=length.value,
            interval=(low, high),
            expected=expected,
            quantity="concentration",
            numbers={
                "unit": self.unit,
                "sd": float(self.unit.from_radians(circular_sd(length.value))),
                "expected_sd": float(self.unit.from_radians(circular_sd(expected))),
            },
        )

    def _coverage(self, reader: Reader, rows: IntArray) -> Iterator[Finding]:
        """Yield how many rows lie in the central arcs around the mean direction."""
        apart = np.abs(self.pit[rows] - 0.5)
        for level in ARC_LEVELS:
            if self.resolves(0.5 - 0.5 * level):
                about = Signal("coverage", self.y_name, f"{100 * level:g}%")
                finding = reader.share_finding(rows, apart <= 0.5 * level, level, about)
                yield replace(finding, quantity="arc coverage")

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        functions = TrigonometricFunctions.up_to(SIGNAL_FREQUENCIES)
        predicted = self.predicted

        def redraw(some: IntArray) -> Draw:
            resampler = functions.resampler(predicted.take(some))

            def draw(rng: np.random.Generator, m: int) -> AnyArray:
                return resampler.draw(rng, m).values

            return draw

        def of_resampled() -> OfResampled:
            mean, scale = functions.mean_and_scale(predicted)
            waves = functions.waves
            return lambda angle: (waves.evaluate(angle) - mean[:, None]) * scale[:, None]

        kinds = (self.unit.kind, "concentration", SHAPE, SHAPE)
        values = functions.evaluate_at(self.angle, predicted)
        return Signals(
            about=tuple(Signal(kind, self.y_name) for kind in kinds),
            values=values,
            variance=np.broadcast_to(1.0, values.shape),
            redraw=redraw,
            common=2,
            of_resampled=of_resampled,
        )

    def histogram(self, rows: IntArray) -> AngleHistogram:
        """Count residual angles of some rows in bars, and what is predicted of each bar."""
        count = int(np.clip(len(rows) // ROWS_OF_BAR, FEWEST_BARS, MOST_BARS))
        edges = np.linspace(-math.pi, math.pi, count + 1)
        observed, _ = np.histogram(self.angle[rows], edges)
        predicted = self.predicted.take(rows)
        below = [predicted.cdf(np.full(len(rows), edge)).sum() for edge in edges[1:-1]]
        at_edges = np.concatenate([[0.0], below, [float(len(rows))]])
        expected = np.diff(at_edges)
        share = np.clip(expected / len(rows), 0.0, 1.0)
        # The error of each bar with which all bars hold together 95% of the time (Šidák).
        error = 1.0 - 0.95 ** (1.0 / count)
        return AngleHistogram(
            edges=self.unit.from_radians(edges),
            rows=observed,
            expected=expected,
            low=binomial_quantile(0.5 * error, len(rows), share),
            high=binomial_quantile(1.0 - 0.5 * error, len(rows), share),
            unit=self.unit.name,
        )

    def bias_profile(self, groups: Sequence[IntArray]) -> BiasProfile:
        """Return the bias in B groups of rows, by the positions of their rows."""
        from condgof.check._findings import Reader

        # By Bonferroni, all B intervals hold together 95% of the time.
        reader = Reader(self, reach=-float(ndtri(0.025 / max(len(groups), 1))))
        findings = [self._bias(reader, rows) for rows in groups]
        return BiasProfile(
            estimate=np.array([one.estimate for one in findings]),
            low=np.array([one.interval[0] for one in findings]),
            high=np.array([one.interval[1] for one in findings]),
        )


@dataclass(frozen=True, eq=False)
class CircularScoreRows(CheckedRows):
    """Rows with angles and nothing but their Stein scores."""

    label = "scores of angles"
    takes_weights = False
    score: FloatArray  #: d log p/dθ, (n,).
    period: float

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: CircularScoreResiduals
    ) -> CircularScoreRows:
        return cls(
            table=table,
            comparison={},
            moments=None,
            score=residuals.score,
            period=residuals.period,
        )

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        """Yield the turn t by which data are off, from E[s(θ + t)] ≈ −t·E[s²].

        It is in the unit of `unit_of`.
        """
        unit = unit_of(self.period)
        information = float(np.square(self.score).mean()) or 1.0
        # The mean of standardised scores, so that its interval is that of `Reader.mean`.
        turn = reader.mean(rows, -self.score[rows] / math.sqrt(information))
        estimate, low, high = unit.from_radians(
            np.array([turn.value, *turn.interval]) / math.sqrt(information)
        )
        yield Finding(
            kind=unit.kind,
            column=self.y_name,
            estimate=float(estimate),
            interval=(float(low), float(high)),
            expected=0.0,
            quantity=f"{unit.kind} by scores",
            numbers={"unit": unit},
        )

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        return Signals(
            about=(Signal(unit_of(self.period).kind, self.y_name),),
            values=-self.score[:, None],
            variance=None,
            redraw=None,
            first=1,
        )


@rows_class.register
def _(residuals: CircularResiduals) -> type[CheckedRows]:
    return CircularRows


@rows_class.register
def _(residuals: CircularScoreResiduals) -> type[CheckedRows]:
    return CircularScoreRows


def angle_from_chord(unit: AngularUnit, square: float) -> float:
    """Return the turn t, in a unit, with |exp(it) − 1|² = 4 sin²(t/2) equal to a square."""
    return float(
        unit.from_radians(2.0 * math.asin(min(math.sqrt(max(square, 0.0)) / 2, 1)))
    )


@size_of.register
def _(residuals: CircularResiduals, bench: Bench) -> Size:
    """A turn of all directions by t moves E[exp(iδ)] by R·(exp(it) − 1).

    With ξ = (cos δ, sin δ) less its mean, D(t) = E[k·R·R']·4 sin²(t/2), R the resultant
    length of a row.
    """
    unit = unit_of(residuals.period)
    mean = residuals.predicted.moments(1)[:, 0]
    apart = turns_of(residuals.angle, 1)[:, 0] - mean
    xi = np.column_stack([apart.real, apart.imag])
    f = features_of_x(bench.kernel, bench)
    # No turn of a uniform law can be seen: any misfit is then as large as half a turn.
    lengths = np.maximum(np.abs(mean), LEAST_MOVED)[:, None]
    return Size(
        parts=(pair_sums(f, xi, lengths, bench.dependence),),
        of=lambda square: angle_from_chord(unit, square),
        unit=unit.effect_unit,
        like=unit.effect,
        most=0.5 * unit.per_turn,
    )


@size_of.register
def _(residuals: CircularScoreResiduals, bench: Bench) -> Size:
    """A turn by t moves scores by about −t·E[s²], and D(t) = t²·E[s²]²·E[k·l]."""
    unit = unit_of(residuals.period)
    functions = SteinWaves.up_to(1)
    xi = functions.evaluate(residuals)
    plain = turns_of(residuals.angle, 1)[:, 0]
    information = float(np.square(residuals.score).mean())
    moved = information * np.column_stack([np.ones(len(xi)), plain.real, plain.imag])
    f = features_of_x(bench.kernel, bench)
    half_turn = 0.5 * unit.per_turn

    def turn(square: float) -> float:
        return min(float(unit.from_radians(math.sqrt(max(square, 0.0)))), half_turn)

    return Size(
        parts=(pair_sums(f, xi, moved, bench.dependence),),
        of=turn,
        unit=unit.effect_unit,
        like=unit.effect,
        note=BY_SCORES,
        most=half_turn,
    )


register_quantity(
    "direction",
    Quantity(
        subject="The direction is wrong",
        if_larger="predicted direction too small",
        if_smaller="predicted direction too large",
        name="bias of the direction",
        unit="degrees",
    ),
)
register_quantity(
    "time",
    Quantity(
        subject="The time is wrong",
        if_larger="predicted time too early",
        if_smaller="predicted time too late",
        name="bias of the time",
        unit="hours",
    ),
)
register_quantity(
    "angle",
    Quantity(
        subject="The location on the circle is wrong",
        if_larger="prediction too small",
        if_smaller="prediction too large",
        name="bias",
        unit="unit of y",
    ),
)
register_quantity(
    "concentration",
    Quantity(
        subject="The concentration is wrong",
        if_larger="not concentrated enough",
        if_smaller="too concentrated",
        name="mean resultant length",
        more_is_less=True,
    ),
)


def _ends(finding: Finding) -> str:
    """Write the interval of a bias in its unit, or that it is any angle."""
    if finding.set_by_fit:
        return SET_BY_FIT
    unit: AngularUnit = finding.numbers["unit"]
    low, high = finding.interval
    if high - low >= unit.per_turn * (1.0 - SAME_PERIOD):
        return "(any angle)"
    return f"({unit.text(low)} to {unit.text(high)})"


def _bias_in_words(finding: Finding) -> str:
    unit: AngularUnit = finding.numbers["unit"]
    return unit.text(finding.estimate)


def _direction_sentence(finding: Finding) -> str:
    return (
        "the observed direction less the predicted one is on average"
        f" {_bias_in_words(finding)} {_ends(finding)}"
    )


def _angle_sentence(finding: Finding) -> str:
    return (
        "the observed value less the predicted one is on average"
        f" {_bias_in_words(finding)} {_ends(finding)}"
    )


def _time_sentence(finding: Finding) -> str:
    return (
        "the observed time less the predicted one is on average"
        f" {_bias_in_words(finding)} {_ends(finding)}"
    )


def _by_scores_sentence(finding: Finding) -> str:
    return f"the mean score is that of a bias of {_bias_in_words(finding)} {_ends(finding)}"


def _by_size(finding: Finding) -> str:
    unit: AngularUnit = finding.numbers["unit"]
    return f"by {unit.text(abs(finding.estimate))}"


def _concentration_sentence(finding: Finding) -> str:
    unit: AngularUnit = finding.numbers["unit"]
    low, high = finding.interval
    ends = SET_BY_FIT if finding.set_by_fit else f"({rounded(low)} to {rounded(high)})"
    return (
        f"the residuals have a mean resultant length of {rounded(finding.estimate)} {ends}"
        f" and the model predicts {rounded(finding.expected)}: a circular standard"
        f" deviation of {unit.text(finding.numbers['sd'])}, predicted"
        f" {unit.text(finding.numbers['expected_sd'])}"
    )


def _concentration_brief(finding: Finding) -> str:
    unit: AngularUnit = finding.numbers["unit"]
    return (
        f"circular standard deviation {unit.text(finding.numbers['sd'])}, predicted"
        f" {unit.text(finding.numbers['expected_sd'])}"
    )


def _arc_sentence(finding: Finding) -> str:
    low, high = finding.interval
    ends = SET_BY_FIT if finding.set_by_fit else f"({percent(low)} to {percent(high)})"
    return (
        f"the central {finding.label} arc around the predicted direction holds"
        f" {percent(finding.estimate)} of the rows {ends}"
    )


def _arc_brief(finding: Finding) -> str:
    return f"the central {finding.label} arc holds {percent(finding.estimate)}"


register_sentence("direction", _direction_sentence, _by_size)
register_sentence("time", _time_sentence, _by_size)
register_sentence("angle", _angle_sentence, _by_size)
for _kind in ("direction", "time", "angle"):
    register_sentence(f"{_kind} by scores", _by_scores_sentence, _by_size)
register_sentence("concentration", _concentration_sentence, _concentration_brief)
register_sentence("arc coverage", _arc_sentence, _arc_brief)
