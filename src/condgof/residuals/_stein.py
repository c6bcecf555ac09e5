"""Residuals that are coordinates u of y with their Stein scores ∇_u log p(u|x).

For any smooth invertible u = T_x(y) that is chosen without looking at y, testing p(y|x) and
testing the density that it induces on u are the same hypothesis. Scores carry over by the
chain rule,

    ∇_u log p(u|x) = (∂y/∂u)ᵀ ∇_y log p(y|x) + ∇_u log |det ∂y/∂u|.

The Stein operator makes test functions of any function l of u: s_c·l(u) + ∂_c l(u), for
each coordinate c, has mean 0 given x under the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from condgof import kernels
from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NumericalError, check_finite, check_overflow, refuse_rows
from condgof.kernels import (
    Gaussian,
    Kernel,
    Radial,
    ResponseKernel,
    choose_landmarks,
    sqdist,
    whitening,
)
from condgof.laws import Law, Line, check_shape
from condgof.residuals._residuals import (
    DependenceValues,
    Neighbours,
    Resampler,
    Residuals,
    SizedBlock,
    TestFunctionBlock,
    TestFunctions,
    side_by_side,
)
from condgof.sample import Sample, Seed, Use, as_numbers

#: Test functions are computed in double precision where a Stein score is above this. Single
#: precision ends at 3e38, and test functions are squared.
LARGEST_SINGLE_SCORE = 1e12
#: Bandwidths on y of the adaptive test, in units of the standardised y, widest first.
BANDWIDTHS = (4.0, 2.0, 1.0, 0.5)
#: The adaptive test chooses landmarks in y, for each of its bandwidths, until they leave
#: this share of the trace of the kernel.
LANDMARK_PRECISION = 1e-3
#: Most landmarks of the adaptive test in y, for each column of y.
LANDMARKS_PER_COLUMN = 24
#: Further columns of y add no landmarks: time grows with their number.
LANDMARK_COLUMNS = 3
#: Single columns of x meet the first two of these bandwidths alone: narrower ones add
#: noise.
FIRST_BANDWIDTHS = slice(0, 2)
#: Where the median distance of y is more than this many times the widest bandwidth, it is a
#: further bandwidth.
FAR_OFF = 2.0
#: The stream of random numbers within `Use.BANDWIDTH_Y` for that median distance. The
#: bandwidth "median" of a kernel on y has the stream without a number.
FAR_OFF_STREAM = 1
#: The stream of random numbers within `Use.LANDMARKS` that chooses landmarks in y. Those in
#: x have the stream without a number, and the subsample of rows has 1 (`condgof.stein`).
Y_LANDMARKS_STREAM = 2
#: `overconfidence` regresses y on x where there are this many rows for each coefficient;
#: with fewer rows, residuals are those of the mean.
ROWS_PER_COEFFICIENT = 3
#: A standard deviation of residuals below this share of the largest |u| is rounding error.
SMALLEST_RESIDUAL_SD = 1e-12
#: The remark on tests where y is compared by its Stein scores alone, which do not depend on
#: the weights of modes that lie far apart.
BLIND_TO_WEIGHTS = (
    "y was not standardised by a CDF of the model: modes of y that lie far apart are"
    " compared by shape and place but not by weight"
)


@dataclass(frozen=True, eq=False)
class LandmarkFunctions:
    """Functions l(·, v_j) of y, whitened: l ≈ (l(·, v) W)(l(·, v) W)ᵀ."""

    kernel: Radial  #: l, with its bandwidth σ.
    points: FloatArray  #: The landmarks v, (r, d_y).
    white: AnyArray  #: W, (r, r'), in the precision of all that is computed.

    def apply_operator(self, u: FloatArray, scores: FloatArray) -> AnyArray:
        """Return s_c l(u, v) + ∂_c l(u, v) for each coordinate c, whitened, (n, d_y·r').

        From coordinates u and Stein scores s, both (n, d_y).
        """
        sigma = self.kernel.sigma
        rank = self.white.shape[1]
        fits_single = float(np.abs(scores).max(initial=0.0)) < LARGEST_SINGLE_SCORE
        dtype = self.white.dtype if fits_single else np.float64
        is_gaussian = type(self.kernel) is Gaussian
        t = sqdist(u, self.points, sigma)  # ‖u − v‖²/σ², (n, r)
        # `value` is l and `slope` is −2·dl/dt, (n, r) both.
        if is_gaussian:  # l = exp(−t/2), and −2·dl/dt is the same
            value = np.multiply(t, -0.5, dtype=dtype, casting="same_kind")
            slope = np.exp(value, out=value)
        else:
            value, slope, _ = (part.astype(dtype) for part in self.kernel.profile(t))
            slope = -2.0 * slope
        # ∂_c l = −slope·(u_c − v_c)/σ². The part with v_c multiplies columns of `slope`, so
        # that one product with [W, v_1·W, …, v_d·W] has slope·W, for the part with u_c, and
        # slope·v_c·W for all coordinates c.
        centre = self.points.mean(axis=0)
        scaled_u = ((u - centre) / sigma**2).astype(dtype)
        scaled_v = ((self.points - centre) / sigma**2).astype(dtype)
        whites = [self.white, *(c[:, None] * self.white for c in scaled_v.T)]
        products = slope @ np.concatenate(whites, axis=1)
        slope_white = products[:, None, :rank]
        out = products[:, rank:].reshape(len(u), u.shape[1], rank)
        scores = scores.astype(dtype)
        if is_gaussian:
            out += (scores - scaled_u)[:, :, None] * slope_white
        else:
            values = scores[:, :, None] * (value @ self.white)[:, None]
            out += values - scaled_u[:, :, None] * slope_white
        return np.asarray(out.reshape(len(u), -1))


@dataclass(frozen=True, eq=False)
class SteinTestFunctions(TestFunctions):
    """The Stein operator on landmark functions, one block for each kernel on y."""

    d_y: int
    parts: tuple[LandmarkFunctions, ...]
    #: A rotation to the directions that matter, where there is one part, (q, q').
    rotation: FloatArray | None = None

    @classmethod
    def from_landmarks(
        cls,
        kernels_on_y: Sequence[Radial],
        u: FloatArray,
        scores: FloatArray,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool = False,
    ) -> SteinTestFunctions:
        """Choose landmarks among rows with coordinates u and scores (n, d_y).

        Parameters
        ----------
        kernels_on_y : sequence of Radial
            Each gets landmarks of its own, and a block of test functions.
        precision : float
            The share of the weighted trace of a kernel that its landmarks may leave.
        cap : int
            Most landmarks of a kernel.
        single : bool
            Whether functions are computed in single precision, without directions that are
            too weak for it.
        """
        squares = np.square(scores).sum(axis=1)  # ‖s_i‖², (n,)
        check_overflow(squares)
        median_square = float(np.median(squares)) or 1.0
        parts = []
        for kernel in kernels_on_y:
            # h(i, i) is ‖s_i‖² + d_y/σ² for a Gaussian l: what landmarks leave of l at a
            # row counts by what the Stein operator makes of it there.
            slope_square = u.shape[1] / (kernel.sigma**2 * median_square)
            weight = squares / median_square + slope_square
            chosen = choose_landmarks(
                kernel, u, rng, tolerance=precision, cap=cap, weight=weight
            )
            points = u[chosen.rows]
            white = whitening(kernel(points, points), single=single)
            parts.append(LandmarkFunctions(kernel=kernel, points=points, white=white))
        return cls(d_y=u.shape[1], parts=tuple(parts))

    @property
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        if self.rotation is not None:
            return side_by_side(
                [SizedBlock(TestFunctionBlock("all"), self.rotation.shape[1])]
            )
        sized = []
        for part in self.parts:
            sigma = part.kernel.sigma
            block = TestFunctionBlock(f"bandwidth {sigma:.3g}", bandwidth=sigma)
            sized.append(SizedBlock(block, self.d_y * part.white.shape[1]))
        return side_by_side(sized)

    @property
    def blocks_for_columns(self) -> slice:
        return FIRST_BANDWIDTHS

    def evaluate(self, residuals: SteinResiduals) -> FloatArray:
        return self.apply_operator(residuals.u, residuals.scores)

    def apply_operator(self, u: FloatArray, scores: FloatArray) -> FloatArray:
        """Return ξ (n, q) of coordinates and scores (n, d_y)."""
        each = [part.apply_operator(u, scores) for part in self.parts]
        values = np.concatenate(each, axis=1)
        return values if self.rotation is None else np.asarray(values @ self.rotation)

    def additional_values(self, x: FloatArray, residuals: SteinResiduals) -> FloatArray:
        return overconfidence(x, residuals.u, residuals.scores)

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return Gaussian(block.bandwidth or 1.0)


def overconfidence(x: FloatArray, u: FloatArray, scores: FloatArray) -> FloatArray:
    """Return −Σ_c (s_c·f_c + ∂_c f_c) for f = tanh(r/σ) and Stein scores s (n, d_y): (n,).

    The sum over rows is tested one-sidedly. r are the residuals of a least-squares
    regression of u (n, d_y) on x (n, d), and σ is their standard deviation; the mean is
    above 0 where a model is overconfident. The derivative is that of both r and σ, so that
    the mean under the model is exactly 0. A true model has it skewed to the right, like
    z² − 1: random signs then reject too often on the left, where nothing is tested.
    """
    from scipy.linalg import orth  # takes long to import

    n = len(u)
    ones = np.ones(n)
    regresses = ROWS_PER_COEFFICIENT * (x.shape[1] + 1) <= n
    basis = orth(np.column_stack([ones, x] if regresses else [ones]))
    leverage = np.square(basis).sum(axis=1, keepdims=True)
    degrees_of_freedom = n - basis.shape[1]
    r = u - basis @ (basis.T @ u)
    # Squares are of residuals in units of the largest one, so that they do not overflow.
    largest = np.abs(r).max(axis=0)
    squares = np.square(r / np.where(largest > 0, largest, 1.0)).sum(axis=0)
    scale = largest * np.sqrt(squares / degrees_of_freedom)
    more_than_rounding = scale > SMALLEST_RESIDUAL_SD * np.abs(u).max(axis=0)
    sigma = np.where(more_than_rounding, scale, np.inf)  # f is 0 where y is a function of x
    f = np.tanh(r / sigma)
    inner = (1.0 - leverage) - np.square(r / sigma) / degrees_of_freedom
    slope = (1.0 - np.square(f)) * inner / sigma
    return np.asarray(-(scores * f + slope).sum(axis=1))


@dataclass(frozen=True, eq=False)
class SteinResiduals(Residuals):
    """Coordinates u of a continuous y, with their Stein scores.

    A subclass says what the coordinates are. The test functions here come from scores, and
    nothing of them can be resampled: rows get random signs.
    """

    u: FloatArray  #: y, or what it was turned into, (n, d_y).
    #: ∇_u log p(u|x), (n, d_y); of K models side by side in `JointScoreResiduals`.
    scores: FloatArray
    #: Largest estimated error of scores that were differentiated numerically.
    score_error: float | None = None
    #: How y was brought from a bounded support to the whole line, in words.
    reparametrized: str | None = None

    @property
    def n(self) -> int:
        return len(self.u)

    @property
    def row_width(self) -> int:
        return int(self.u.shape[1] + self.scores.shape[1])

    def take(self, rows: slice | IntArray) -> Self:
        return replace(self, u=self.u[rows], scores=self.scores[rows])

    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        return kernels.resolve_y(kernel, self.u, seed)

    @property
    def landmark_scores(self) -> FloatArray:
        """The scores by which landmarks in y are chosen, (n, d_y)."""
        return self.scores

    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> SteinTestFunctions:
        assert isinstance(kernel, Radial)
        return SteinTestFunctions.from_landmarks(
            (kernel,),
            self.u,
            self.landmark_scores,
            rng,
            precision=precision,
            cap=cap,
            single=single,
        )

    def bandwidths(self, seed: Seed) -> list[float]:
        """Return the bandwidths on u that the adaptive test combines."""
        # Where y is far from the predictions, a bandwidth in the model's units separates
        # every row from every other.
        rng = seed.stream(Use.BANDWIDTH_Y, FAR_OFF_STREAM)
        distance = kernels.median_distance(self.u, rng, "y")
        far = distance > FAR_OFF * max(BANDWIDTHS)
        return [*BANDWIDTHS, distance] if far else [*BANDWIDTHS]

    def test_functions(self, seed: Seed) -> TestFunctions:
        gaussians = [Gaussian(bandwidth) for bandwidth in self.bandwidths(seed)]
        cap = LANDMARKS_PER_COLUMN * min(self.u.shape[1], LANDMARK_COLUMNS)
        return SteinTestFunctions.from_landmarks(
            gaussians,
            self.u,
            self.scores,
            seed.stream(Use.LANDMARKS, Y_LANDMARKS_STREAM),
            precision=LANDMARK_PRECISION,
            cap=cap,
        )

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        return None

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {}

    def dependence_values(self) -> DependenceValues:
        return DependenceValues(self.scores)

    def details(self) -> dict[str, Any]:
        details = super().details()
        if self.reparametrized is not None:
            details["reparametrized"] = self.reparametrized
        if self.score_error is not None:
            details["score_error"] = self.score_error
        return details


def line_of(law: Law, sample: Sample) -> Line | None:
    """Return the map of the law's support to the whole line; None where it is that line.

    y outside of the support is refused.
    """
    if type(law).support is Law.support:
        return None  # the support of most laws is the whole line
    line = Line.from_support(law.support, sample.n, sample.d_y)
    if line is not None:
        line.check(sample.y, law.name)
    return line


@dataclass(frozen=True, eq=False)
class RawScores:
    """Stein scores of y itself."""

    values: FloatArray  #: ∇_y log p(y|x), checked, (n, d_y).
    errors: AnyArray | None  #: Their errors, (n, d_y), where they are estimated.


def raw_scores(law: Law, sample: Sample) -> RawScores:
    """Return a law's Stein scores of y itself, checked."""
    if not law.can("score"):
        law.lacks("score")
    raw, errors = law.score_and_error(sample.y_given)
    values = check_shape(raw, sample.n, sample.d_y, "The scores")
    check_finite(
        values,
        "The array of scores ∇_y log p(y|x)",
        "Check that the model's density is positive and smooth at those rows; a model of a"
        " bounded y must declare its support.",
    )
    return RawScores(
        values=values, errors=None if errors is None else np.reshape(errors, values.shape)
    )


def check_coordinates(values: AnyArray, sample: Sample) -> FloatArray:
    """Check coordinates u that y was turned into, or scores with respect to them.

    They must be finite numbers of the shape of y, (n, d_y).
    """
    u = np.asarray(as_numbers(values, "What standardises y"), dtype=np.float64)
    if u.shape != sample.y.shape:
        raise NumericalError(
            f"Standardising y gave shape {u.shape} in place of {sample.y.shape}. Check the"
            " model."
        )
    refuse_rows(
        ~np.isfinite(u),
        "Standardising y by the model failed",
        "Check the model there, or, in Python, pass standardize='none'.",
        NumericalError,
    )
    return u


@dataclass(frozen=True, eq=False)
class OnTheLine:
    """y brought to the whole line, where the law's support is bounded, with its scores."""

    u: FloatArray  #: y on the whole line, (n, d_y).
    scores: FloatArray  #: ∇_u log p(u|x), (n, d_y).
    line: Line | None  #: The map from y to u; None where y is on the whole line already.
    score_error: float | None  #: As in `SteinResiduals`.
    reparametrized: str | None  #: As in `SteinResiduals`.


def on_the_line(law: Law, sample: Sample) -> OnTheLine:
    """Bring y from the law's support to the whole line; scores follow by the chain rule."""
    line = line_of(law, sample)
    raw = raw_scores(law, sample)
    errors = raw.errors
    if line is None:
        return OnTheLine(
            u=sample.y,
            scores=raw.values,
            line=None,
            score_error=None if errors is None else float(np.max(errors)),
            reparametrized=None,
        )
    u = check_coordinates(line.forward(sample.y), sample)
    scores = check_coordinates(line.scores(sample.y, raw.values), sample)
    errors = None if errors is None else errors * line.slope(sample.y)
    return OnTheLine(
        u=u,
        scores=scores,
        line=line,
        score_error=None if errors is None else float(np.max(errors)),
        reparametrized=line.words(),
    )
