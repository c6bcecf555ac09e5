"""Angles: differences δ to the predicted direction, and trigonometric functions of them.

- With a law that can be drawn from (a closed form, a log-density that is integrated over a
  period, draws), test functions are cos(kδ) and sin(kδ) less their means given x, and y is
  resampled: an exact null distribution (`CircularResiduals`).
- With Stein scores alone, the operator s·f + f' is applied to f = cos(kθ) and f = sin(kθ).
  A circle has no boundary, so that its mean is 0 for any of them; rows get random signs
  (`CircularScoreResiduals`).

Nothing depends on where the circle is cut: the first see δ alone, and turning all angles by
a constant only turns the two functions of a frequency into each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from condgof import kernels
from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.kernels import Kernel, Periodic, ResponseKernel
from condgof.laws import (
    TURN,
    Law,
    PredictedAngles,
    angles_of,
    compare_angles,
    draws_per_row,
    period_of,
    turns_of,
)
from condgof.residuals._residuals import (
    DependenceValues,
    Neighbours,
    Resampled,
    Resampler,
    Residuals,
    SizedBlock,
    TestFunctionBlock,
    TestFunctions,
    side_by_side,
)
from condgof.residuals._stein import BLIND_TO_WEIGHTS, raw_scores
from condgof.sample import Sample, Seed

#: The highest frequency of the test functions of the adaptive test. sin δ shows a wrong
#: direction, cos δ a wrong concentration, and higher frequencies the shape.
MOST_FREQUENCIES = 4
#: The blocks that meet single columns of x: those of direction and concentration.
FOR_COLUMNS = 2
#: A test function has at least this variance given x: that of a very concentrated law is
#: rounding, and must not be divided by.
LEAST_VARIANCE = 1e-15
#: y is resampled up to this many rows; beyond, random signs serve.
RESAMPLED_ROWS = 2**13
#: Names of blocks.
DIRECTION = "direction"
CONCENTRATION = "concentration"


#: Decimals, in radians, to which angles are rounded before they are hashed.
ANGLE_DIGITS = 9
#: Decimals of their scores, which may come from numerical derivatives.
SCORE_DIGITS = 5


class Waves(NamedTuple):
    """Functions weight·cos(kδ) and weight·sin(kδ), q of them."""

    frequencies: IntArray  #: k, at least 1, (q,).
    are_sines: AnyArray  #: (q,), booleans.
    weights: FloatArray  #: (q,).

    def evaluate(self, angle: FloatArray) -> FloatArray:
        """Return the functions, without weights, of angles (…), (…, q)."""
        turns = turns_of(angle, int(self.frequencies.max()))[..., self.frequencies - 1]
        return np.where(self.are_sines, turns.imag, turns.real)


def of_one_radian(period: float) -> Periodic:
    """Return the kernel of a bandwidth of one radian, about that of low frequencies."""
    return Periodic(period / TURN, period=period)


class MeanAndScale(NamedTuple):
    """What test functions are centred and divided by, (n, q) each."""

    mean: FloatArray
    scale: FloatArray


@dataclass(frozen=True, eq=False)
class TrigonometricFunctions(TestFunctions):
    """Trigonometric functions of δ, less their means given x under the law."""

    waves: Waves
    kernel: Kernel  #: What a result shows as the kernel on y.
    #: Whether each is divided by its standard deviation given x.
    standardized: bool = True
    blocks: tuple[TestFunctionBlock, ...] = ()
    resampled = True

    @classmethod
    def up_to(cls, count: int, period: float = TURN) -> TrigonometricFunctions:
        """Return sin δ, cos δ, and both functions of the frequencies 2, …, count."""
        sized = [
            SizedBlock(TestFunctionBlock(DIRECTION, is_named=True), 1),
            SizedBlock(TestFunctionBlock(CONCENTRATION, is_named=True), 1),
        ]
        for k in range(2, count + 1):
            block = TestFunctionBlock(f"frequency {k}", is_named=True)
            sized.append(SizedBlock(block, 2))
        frequencies = np.repeat(np.arange(1, count + 1), 2)
        waves = Waves(
            frequencies=frequencies,
            are_sines=np.arange(len(frequencies)) % 2 == 0,
            weights=np.ones(len(frequencies)),
        )
        return cls(waves=waves, kernel=of_one_radian(period), blocks=side_by_side(sized))

    @classmethod
    def from_kernel(cls, kernel: Periodic) -> TrigonometricFunctions:
        """Return ξ with ξ(δ)·ξ(δ') = l(δ, δ') less its means in both, l the kernel."""
        terms = kernel.fourier_terms()
        positive = terms.frequencies > 0  # the constant has no mean to differ from
        frequencies = np.repeat(terms.frequencies[positive], 2)
        waves = Waves(
            frequencies=frequencies,
            are_sines=np.arange(len(frequencies)) % 2 == 0,
            weights=np.repeat(np.sqrt(terms.weights[positive]), 2),
        )
        block = TestFunctionBlock("all", bandwidth=kernel.sigma)
        return cls(
            waves=waves,
            blocks=side_by_side([SizedBlock(block, len(frequencies))]),
            standardized=False,
            kernel=kernel,
        )

    @property
    def blocks_for_columns(self) -> slice:
        return slice(0, min(FOR_COLUMNS, len(self.blocks)))

    def evaluate(self, residuals: CircularResiduals) -> FloatArray:
        return self.evaluate_at(residuals.angle, residuals.predicted)

    def evaluate_at(self, angle: FloatArray, predicted: PredictedAngles) -> FloatArray:
        """Return ξ (n, q) of differences δ (n,) to what is predicted."""
        mean, scale = self.mean_and_scale(predicted)
        return (self.waves.evaluate(angle) - mean) * scale

    def resampler(self, predicted: PredictedAngles) -> AngleResampler:
        """Return what draws angles from the law again."""
        return AngleResampler(
            test_functions=self,
            predicted=predicted,
            centring=self.mean_and_scale(predicted),
        )

    def mean_and_scale(self, predicted: PredictedAngles) -> MeanAndScale:
        """Return E[cos kδ] and E[sin kδ] given x, and what they are multiplied by.

        With the moments m_k = E[exp(ikδ)], Var(cos kδ) = (1 + Re m_2k)/2 − (Re m_k)² and
        Var(sin kδ) = (1 − Re m_2k)/2 − (Im m_k)².
        """
        k = self.waves.frequencies
        moments = predicted.moments(2 * int(k.max()))
        first = moments[:, k - 1]
        mean = np.where(self.waves.are_sines, first.imag, first.real)
        scale = np.broadcast_to(self.waves.weights, mean.shape)
        if self.standardized:
            sign = np.where(self.waves.are_sines, -1.0, 1.0)
            variance = 0.5 * (1.0 + sign * moments[:, 2 * k - 1].real) - np.square(mean)
            scale = scale / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
        return MeanAndScale(mean=mean, scale=scale)

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return self.kernel


@dataclass(frozen=True, eq=False)
class AngleResampler:
    """Draws angles of n rows from the law again."""

    test_functions: TrigonometricFunctions
    predicted: PredictedAngles
    centring: MeanAndScale
    names = ()

    @property
    def observed(self) -> FloatArray:
        return np.empty(0)

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        angle = self.predicted.draw(rng, m)
        values = self.test_functions.waves.evaluate(angle)
        values -= self.centring.mean[:, None]
        values *= self.centring.scale[:, None]
        return Resampled(values=values, additional=np.empty((0, m)), drawn=angle)


@dataclass(frozen=True, eq=False)
class CircularResiduals(Residuals):
    """Angles, as differences δ to the mean direction of their law."""

    standardized_by = "differences to the model's mean directions"
    compared_as = "an angle"
    tests_locations = True
    angle: FloatArray  #: δ in radians, from −π to π, (n,).
    predicted: PredictedAngles
    period: float  #: A whole turn in the unit of y.
    draws: int = 0  #: How many draws of each row the law is known by; 0 for other laws.

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> CircularResiduals:
        refuse_several_columns(law, sample)
        compared = compare_angles(law, sample.y)
        return cls(
            angle=compared.angle,
            predicted=compared.predicted,
            period=period_of(law),
            draws=draws_per_row(law),
        )

    @property
    def n(self) -> int:
        return len(self.angle)

    @property
    def row_width(self) -> int:
        return 1 + self.predicted.row_width

    def take(self, rows: slice | IntArray) -> Self:
        return replace(self, angle=self.angle[rows], predicted=self.predicted.take(rows))

    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        return kernels.resolve_angles(kernel, self.angle, self.period, seed)

    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> TrigonometricFunctions:
        assert isinstance(kernel, Periodic)
        return TrigonometricFunctions.from_kernel(kernel)

    def test_functions(self, seed: Seed) -> TrigonometricFunctions:
        return TrigonometricFunctions.up_to(MOST_FREQUENCIES, self.period)

    @property
    def can_resample(self) -> bool:
        return self.n <= RESAMPLED_ROWS

    @property
    def can_resample_streams(self) -> bool:
        return False

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        assert isinstance(test_functions, TrigonometricFunctions)
        return test_functions.resampler(self.predicted)

    @property
    def pit(self) -> FloatArray:
        """P(δ' ≤ δ) from the opposite of the mean direction on, (n,): uniform under it."""
        return self.predicted.cdf(self.angle)

    def content_values(self, y: FloatArray) -> FloatArray:
        # Whole turns change nothing; rounding must not tell two equal angles apart.
        return np.asarray(np.round(self.angle % TURN, ANGLE_DIGITS))[:, None]

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {"residual": self.angle * (self.period / TURN), "pit": self.pit}

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(TrigonometricFunctions.up_to(1).evaluate(self))


@dataclass(frozen=True, eq=False)
class SteinWaves(TestFunctions):
    """The Stein operator of a circle on trigonometric functions of θ.

    Of f = cos kθ it is s·cos kθ − k·sin kθ, and of f = sin kθ it is s·sin kθ + k·cos kθ.
    """

    waves: Waves
    kernel: Kernel  #: What a result shows as the kernel on y.
    constant_weight: float = 1.0  #: Of f = 1, of which the operator is s: it comes first.
    blocks: tuple[TestFunctionBlock, ...] = ()

    @classmethod
    def up_to(cls, count: int, period: float = TURN) -> SteinWaves:
        """Return the score itself, and both functions of the frequencies 1, …, count."""
        sized = [SizedBlock(TestFunctionBlock("score", is_named=True), 1)]
        for k in range(1, count + 1):
            block = TestFunctionBlock(f"frequency {k}", is_named=True)
            sized.append(SizedBlock(block, 2))
        frequencies = np.repeat(np.arange(1, count + 1), 2)
        waves = Waves(
            frequencies=frequencies,
            are_sines=np.arange(len(frequencies)) % 2 == 1,
            weights=np.ones(len(frequencies)),
        )
        return cls(waves=waves, kernel=of_one_radian(period), blocks=side_by_side(sized))

    @classmethod
    def from_kernel(cls, kernel: Periodic) -> SteinWaves:
        """Return ξ with ξ_i·ξ_j = h(i, j), the Stein kernel of a kernel on angles."""
        terms = kernel.fourier_terms()
        positive = terms.frequencies > 0
        frequencies = np.repeat(terms.frequencies[positive], 2)
        waves = Waves(
            frequencies=frequencies,
            are_sines=np.arange(len(frequencies)) % 2 == 1,
            weights=np.repeat(np.sqrt(terms.weights[positive]), 2),
        )
        block = TestFunctionBlock("all", bandwidth=kernel.sigma)
        return cls(
            waves=waves,
            blocks=side_by_side([SizedBlock(block, 1 + len(frequencies))]),
            constant_weight=float(np.sqrt(terms.weights[0])),
            kernel=kernel,
        )

    @property
    def blocks_for_columns(self) -> slice:
        return slice(0, min(FOR_COLUMNS, len(self.blocks)))

    def evaluate(self, residuals: CircularScoreResiduals) -> FloatArray:
        score = residuals.score[:, None]
        k = self.waves.frequencies
        turns = turns_of(residuals.angle, int(k.max()))[:, k - 1]
        value = np.where(self.waves.are_sines, turns.imag, turns.real)
        slope = k * np.where(self.waves.are_sines, turns.real, -turns.imag)
        functions = self.waves.weights * (score * value + slope)
        return np.concatenate([self.constant_weight * score, functions], axis=1)

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return self.kernel


@dataclass(frozen=True, eq=False)
class CircularScoreResiduals(Residuals):
    """Angles θ with their Stein scores d log p/dθ."""

    compared_as = "an angle"
    remark = BLIND_TO_WEIGHTS
    angle: FloatArray  #: θ in radians, (n,).
    score: FloatArray  #: d log p/dθ, (n,).
    period: float  #: A whole turn in the unit of y.
    #: Largest estimated error of scores that were differentiated numerically.
    score_error: float | None = None

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> CircularScoreResiduals:
        refuse_several_columns(law, sample)
        period = period_of(law)
        raw = raw_scores(law, sample)
        per_angle = period / TURN
        error = None if raw.errors is None else float(np.max(raw.errors)) * per_angle
        return cls(
            angle=angles_of(law, sample.y),
            score=raw.values[:, 0] * per_angle,
            period=period,
            score_error=error,
        )

    @property
    def n(self) -> int:
        return len(self.angle)

    @property
    def row_width(self) -> int:
        return 2

    def take(self, rows: slice | IntArray) -> Self:
        return replace(self, angle=self.angle[rows], score=self.score[rows])

    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        return kernels.resolve_angles(kernel, self.angle, self.period, seed)

    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> SteinWaves:
        assert isinstance(kernel, Periodic)
        return SteinWaves.from_kernel(kernel)

    def test_functions(self, seed: Seed) -> SteinWaves:
        return SteinWaves.up_to(MOST_FREQUENCIES, self.period)

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        return None

    def content_values(self, y: FloatArray) -> FloatArray:
        # Scores, unlike angles, stay what they are when all angles are turned.
        return np.round(self.score, SCORE_DIGITS)[:, None]

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {}

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(self.score[:, None])

    def details(self) -> dict[str, Any]:
        details = super().details()
        if self.score_error is not None:
            details["score_error"] = self.score_error
        return details


def refuse_several_columns(law: Law, sample: Sample) -> None:
    """Refuse a y of several columns: a law of an angle is of one."""
    if sample.d_y != 1:
        raise UnsupportedModelError(
            f"{law.name} is a law of one angle, and y has {sample.d_y} columns. Test the"
            " columns of y one at a time."
        )
