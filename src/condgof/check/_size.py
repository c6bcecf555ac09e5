"""The effect size of a misfit, and the minimum detectable effect; neither grows with n.

Test functions ξ of y have mean 0 given x under the model. The discrepancy of the data,

    D = E[k(x, x')·ξ(y|x)·ξ(y'|x')],

is compared with D(s), that of a misfit of size s which is the same at every x, over the
same pairs of rows. The effect size is the s with D(s) = D.

The minimum detectable effect is the s whose estimate D̂ is, with probability 0.8, above what
D̂ stays below under the model. Both use the same approximate law of D̂ (`PairSums`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import SD
from condgof.check._record import EffectSize, Interval, Power, Tolerance
from condgof.check._sampled import some_rows
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian, median_distance
from condgof.laws import Law, Outcomes
from condgof.methods import Design
from condgof.null import (
    Dependence,
    effective_df,
    intraclass_correlation,
    weights_by_size,
)
from condgof.residuals import Residuals, SteinTestFunctions
from condgof.result import decimals, estimate_text, short
from condgof.sample import Seed, Use
from condgof.stein import Features, RowsInMemory, nystrom

#: Most rows that the effect size is computed from: its interval is narrow with these.
MOST_ROWS = 2**15
#: Most probabilities of a discrete y, over all these rows: 64 MB.
MOST_NUMBERS = 2**23
#: Fewest rows where a row has so many probabilities that these would allow fewer.
FEWEST_ROWS = 1024
# Uses of random numbers in a check (`Seed.stream`); a use never changes its number.
#: Which rows the effect size is computed from.
ROWS_STREAM = 0
#: Landmarks.
LANDMARKS_STREAM = 5
#: Pairs of rows whose median distance is computed.
PAIRS_STREAM = 6
#: What an effect size is like, in words.
SHIFT = f"a uniform bias of {{}} {SD}"
ON_SCORES = "on its normal-score scale"
BY_SCORES = "as its scores suggest"
#: Relative error of the kernel matrix at which landmarks are enough.
PRECISION = 1e-3
#: Most landmarks in x.
LANDMARKS_X = 96
#: Most landmarks in y.
LANDMARKS_Y = 48
#: Rows that landmarks are chosen from.
LANDMARK_ROWS = 600
#: Rows of the matrix H from which the noise of D̂ is estimated.
MATRIX_ROWS = 512
#: Most parcels of dependent rows.
MOST_PARCELS = 512
#: Rows whose median distance decides whether the bandwidth on y follows the data.
FEW_ROWS = 200
#: It does where that distance is more than this many times the usual bandwidth.
FAR = 4.0
#: Halvings in the search for a bound, which ends at 1e-12 of the range.
HALVINGS = 40
#: The least skewness of the Gamma law of D̂: below, it is normal in all its digits.
LEAST_SKEWNESS = 1e-3
#: The largest shape of that Gamma law, whose quantiles have enough digits.
LARGEST_SHAPE = 1e6
#: What takes the place of 0 in a denominator.
TINY = 1e-300
# Verdicts on an effect size, against the largest that a user allows.
WORSE = "worse than you allow"
ENOUGH = "good enough"
UNDECIDED = "undecided"
#: Power at which the minimum detectable effect is computed.
POWER = 0.8
#: The share of α at which D̂ is compared, to stand for the verdict: what the combination of
#: several statistics costs, those among them gain that are sharper than D̂ for a constant
#: misfit (docs/dev/effect-size.md).
SHARE_OF_ALPHA = 1.0
#: The same where rows come in groups: random signs of few groups, of which the larger of
#: two p-values may count (docs/dev/effect-size.md).
SHARE_OF_ALPHA_BY_GROUP = 1 / 8
#: The same where rows come in blocks of time, which are fewer than they seem: each draw has
#: blocks of random lengths.
SHARE_OF_ALPHA_BY_BLOCK = 1 / 16
#: The information of the verdict on log σ, over that of a shift. Fisher's is 2; its
#: statistics, which are for other misfits as well, use this much of it for a spread that
#: is too small.
INFORMATION_ON_SPREAD = 1.7
#: The same where rows come in blocks of time: squares of few blocks are skewed, and random
#: signs find a spread that is too large less often.
INFORMATION_ON_SPREAD_BY_BLOCK = 1.5
#: The largest minimum detectable effect that is reported, in standard deviations of y.
LARGEST_DETECTABLE = 4.0
#: The largest correlation of neighbouring rows that is reckoned with.
LARGEST_LAG_ONE = 0.99
HOPELESS = "With so few rows, or groups of them, hardly any misfit is detectable."
UNKNOWN = "The minimum detectable effect is not known"
TOO_FAR = f"{UNKNOWN}: the data lie too far from the predictions."

#: From some rows to E[(ξ_i·ξ_j)²] under the model, of pairs of them.
Squares = Callable[[IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Bench:
    """The rows that the effect size is computed from, and what it is computed with."""

    law: Law
    rows: RowsInMemory
    n: int  #: Number of rows of the whole sample.
    kernel: CovariateKernel  #: k, with the median bandwidth.
    dependence: Dependence  #: How these rows depend on each other.
    seed: Seed
    notes: tuple[str, ...] = ()  #: What a reader should know.

    @classmethod
    def from_rows(
        cls,
        law: Law,
        rows: RowsInMemory,
        design: Design,
        dependence: Dependence,
        seed: Seed,
        n: int | None = None,
    ) -> Bench:
        """Choose rows, all or some; the whole sample has n, if these are not all of it."""
        # Fewer rows where each has many probabilities.
        of_numbers = max(FEWEST_ROWS, MOST_NUMBERS // rows.residuals.cell_count)
        most = min(MOST_ROWS, of_numbers)
        whole = n or rows.n
        notes: tuple[str, ...] = ()
        if rows.n > most:
            note = (
                f"the size of the misfit is of {most:,} of the {whole:,} rows, drawn at"
                " random; the verdict of all"
            )
            notes = (note,)
            some = some_rows(rows.n, most, seed, ROWS_STREAM)
            law = law.take(some)
            dependence = thinned(dependence, some, rows.n)
            rows = rows.take(some)
        return cls(
            law=law,
            rows=rows,
            n=whole,
            kernel=design.kernel_x,
            dependence=dependence,
            seed=seed,
            notes=notes,
        )

    @cached_property
    def size(self) -> Size:
        """The effect size."""
        with (
            single_threaded_blas(),
            np.errstate(over="ignore", invalid="ignore", under="ignore"),
        ):
            return size_of(self.rows.residuals, self)


@singledispatch
def size_of(residuals: Residuals, bench: Bench) -> Size:
    """Return the size of a misfit; what it is for a kind of y is registered in `kinds`."""
    raise NotImplementedError(f"no size of a misfit for {type(residuals).__name__}")


@dataclass(frozen=True)
class PairSums:
    """D̂ = Σ_{i≠j} H_ij/(n(n − 1)), H_ij = k_ij·ξ_i·ξ_j, of n rows or parcels of rows."""

    n: int
    mean: float  #: D̂.
    #: What a misfit of size 1 would add to D̂, or the part of that which depends on x.
    near: float
    #: Variance of the row means of H, less that by a constant misfit of the same size.
    between: float
    square: float  #: E[H²].
    least: float  #: E[H²] under the model; 0 where that is not known.
    lead: float  #: E[H_ij·H_jk·H_ki]/E[H²]^1.5, at most 1.
    #: Effective degrees of freedom of what is estimated from the variation between parcels
    #: of unequal sizes; None for n − 1.
    df: float | None = None

    @property
    def noise(self) -> float:
        """Standard deviation of D̂ where D is 0."""
        return math.sqrt(2.0 * max(self.square, self.least) / (self.n * (self.n - 1)))

    def quantile(
        self, d: float, p: float, wider: float = 1.0, wider_observed: float = 1.0
    ) -> float:
        """Return the p-quantile of D̂ if D is d and ξ varies `wider` times as predicted.

        For the D that was observed it varies `wider_observed` times as much. With features
        k ⊗ ξ of mean μ and covariance C, D = ‖μ‖², and D̂ has the variance 4μᵀCμ/n +
        2tr(C²)/n² and the third cumulant 24μᵀC²μ/n² + 8tr(C³)/n³, and about a shifted Gamma
        law. μᵀCμ is in proportion to D: by the jackknife where D̂ stands out from its noise,
        and else by the largest eigenvalue.
        """
        n = self.n
        square = max(self.square, wider**2 * self.least)
        largest_eigenvalue = self.lead * math.sqrt(square)
        # μᵀCμ/D.
        above_noise = max(self.mean, 0.0) + self.noise
        by_jackknife = wider / wider_observed * self.between
        slope = (by_jackknife + largest_eigenvalue * self.noise) / above_noise
        variance = 4.0 * slope * d / n + 2.0 * square / (n * (n - 1))
        third = 24.0 * largest_eigenvalue * slope * d / n**2
        third += 8.0 * largest_eigenvalue * square / n**3
        skewness = max(third / variance / math.sqrt(variance), LEAST_SKEWNESS)
        shape = min(4.0 / skewness**2, LARGEST_SHAPE)
        # Few parcels estimate the variance badly: Student's quantile over the normal one.
        df = n - 1.0 if self.df is None else self.df
        longer = 1.0 if p == 0.5 else float(stdtrit(df, p) / ndtri(p))
        centred = float(gammaincinv(shape, p) - shape)  # of a Gamma law of variance `shape`
        return d + longer * math.sqrt(variance / shape) * centred

    def reaching(
        self, value: float, p: float, wider: Callable[[float], float], observed: float
    ) -> float:
        """Return the D, at least the `observed` one, whose p-quantile of D̂ is a value.

        `wider` says how many times as predicted ξ varies at a D.
        """
        wider_observed = wider(observed)

        def above(d: float) -> float:
            return self.quantile(d, p, wider(d), wider_observed) - value

        high = observed + self.noise
        while above(high) < 0:
            high *= 2.0
        return _root(above, observed, high)

    def ends(
        self, lower: float, upper: float, wider: Callable[[float], float]
    ) -> tuple[float, float]:
        """Return the least and the largest D for which D̂ is not in a tail.

        The tails have the probabilities `lower` and `upper`; `wider` as in `reaching`.
        """
        observed = max(self.mean, 0.0)
        if self.noise == 0:
            return observed, observed
        # A D̂ further below 0 than chance has it is taken to be as far below as that.
        value = max(self.mean, self.quantile(0.0, upper))
        wider_observed = wider(observed)

        def above(d: float) -> float:
            return self.quantile(d, 1.0 - lower, wider(d), wider_observed) - value

        low = _root(above, 0.0, observed) if above(0.0) < 0 else 0.0
        return low, self.reaching(value, upper, wider, observed)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function is 0, between two numbers, by halving."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


class Summands(NamedTuple):
    """What pairs are summed over: n rows, or n parcels of dependent rows."""

    f: AnyArray  #: Features of x with k = ffᵀ, (n, r); of parcels 1, (n, 1).
    xi: AnyArray  #: Test functions ξ, (n, q); of parcels Σ f⊗ξ over their rows.
    move: AnyArray  #: What a misfit of size 1 does to the mean of ξ, in the shape of ξ.
    #: What sums are multiplied by, so that the mean over pairs of parcels is the mean over
    #: pairs of their rows.
    unit: float = 1.0
    df: float | None = None  #: As in `PairSums`.

    @property
    def n(self) -> int:
        return len(self.f)


def pair_sums(
    f: AnyArray,
    xi: AnyArray,
    move: AnyArray | None,
    rows: Dependence,
    expected: Squares | None = None,
) -> PairSums:
    """Sum over pairs of rows; rows that depend on each other are summed up in parcels.

    Pairs within a parcel are left out.

    Parameters
    ----------
    f : ndarray of shape (n, r)
        Features of x, with k = ffᵀ.
    xi : ndarray of shape (n, q)
        Test functions ξ of y.
    move : ndarray of shape (n, q), optional
        What a misfit of size 1 does to the mean of ξ; None where that does not depend on x.
    rows : Dependence
        How rows depend on each other.
    expected : callable, optional
        Gives E[(ξ_i·ξ_j)²] under the model, where it is known: rare events may not have
        come.
    """
    n = len(f)
    some = np.arange(0, n, -(-n // MATRIX_ROWS))
    least = 0.0
    if expected is not None:
        least = off_diagonal_mean(np.square(f[some] @ f[some].T) * expected(some))
    summands = Summands(f=f, xi=xi, move=np.ones((n, 1)) if move is None else move)
    parcels = parcels_of(rows, n)
    if parcels is not None:
        summands = _sum_parcels(summands, parcels)
        some = np.arange(summands.n)
    means = _row_means(summands, summands.xi)
    near = _row_means(summands, summands.move)
    left = means - means.mean() / near.mean() * near
    scale, moments = _moments_of_pairs(summands, some)
    return PairSums(
        n=summands.n,
        mean=float(means.mean()),
        near=max(float(near.mean()), TINY),
        between=max(
            float(left.var(ddof=1)) - scale**2 * moments.square / (2 * summands.n), 0.0
        ),
        square=scale**2 * moments.square,
        least=summands.unit * least,
        lead=min(max(moments.cube, 0.0) / max(moments.square, 1e-30) ** 1.5, 1.0),
        df=summands.df,
    )


def _sum_parcels(rows: Summands, parcels: IntArray) -> Summands:
    """Sum rows up in parcels, by the parcel of each row (n,).

    Parcels have weights (`condgof.null.weights_by_size`), the same for ξ and for what a
    misfit adds, so that no large parcel decides alone.
    """
    cuts = np.flatnonzero(np.diff(np.sort(parcels))) + 1
    parts = np.split(np.argsort(parcels, kind="stable"), cuts)
    n_g = np.array([len(part) for part in parts], dtype=np.float64)
    f = rows.f
    squares = np.square(f).sum(axis=1) * np.square(rows.xi).sum(axis=1)
    xi = np.stack([(f[part].T @ rows.xi[part]).ravel() for part in parts])
    move = np.stack([(f[part].T @ rows.move[part]).ravel() for part in parts])
    by_group = weights_by_size(
        squares=np.square(xi).sum(axis=1, keepdims=True),
        diagonal=np.array([[squares[part].sum()] for part in parts]),
        n_g=n_g,
    )
    count = len(parts)
    rows_counted = by_group[:, 0] * n_g
    between_parcels = rows_counted.sum() ** 2 - np.square(rows_counted).sum()
    return Summands(
        f=np.ones((count, 1)),
        xi=by_group * xi,
        move=by_group * move,
        unit=count * (count - 1) / float(between_parcels),
        df=effective_df(rows_counted),
    )


def _row_means(summands: Summands, values: AnyArray) -> FloatArray:
    """Return means of each row of (ffᵀ)∘(vvᵀ), v (n, q), without the diagonal, (n,)."""
    f = summands.f
    whole = (f @ (f.T @ values) * values).sum(axis=1)
    diagonal = np.square(f).sum(axis=1) * np.square(values).sum(axis=1)
    return np.asarray(summands.unit * ((whole - diagonal) / (summands.n - 1)))


class PairMoments(NamedTuple):
    """Moments of H, over a scale."""

    square: float  #: E[H_ij²].
    cube: float  #: E[H_ij·H_jk·H_ki].


def _moments_of_pairs(summands: Summands, some: IntArray) -> tuple[float, PairMoments]:
    """Return the largest |H_ij| among some rows, and the moments of H in units of it."""
    f = summands.f[some]
    xi = summands.xi[some]
    matrix = summands.unit * (f @ f.T) * (xi @ xi.T)
    np.fill_diagonal(matrix, 0.0)
    scale = float(np.abs(matrix).max()) or 1.0
    matrix = (matrix / scale).astype(np.float32)
    m = len(some)
    triples = max(m * (m - 1) * (m - 2), 1)
    cube = float(np.sum((matrix @ matrix) * matrix, dtype=np.float64)) / triples
    return scale, PairMoments(square=off_diagonal_mean(np.square(matrix)), cube=cube)


def thinned(rows: Dependence, some: IntArray, n: int) -> Dependence:
    """Return how `some` of n rows depend on each other; blocks have fewer of them."""
    length = None if rows.length is None else -(-rows.length * len(some) // n)
    return replace(rows.take(some), length=length)


def units_of(rows: Dependence, n: int) -> IntArray | None:
    """Return the parcel of each of n rows; None where all rows are independent."""
    if rows.independent:
        return None
    return np.asarray(rows.parcels(n, MOST_PARCELS)(0, n), dtype=np.int64)


def parcels_of(rows: Dependence, n: int) -> IntArray | None:
    """Return the parcel of each of n rows, blocks of time twice as long as `units_of` has.

    What depends across a cut is then a small part of each.
    """
    longer = None if rows.independent else min(2 * (rows.length or 1), max(n // 3, 1))
    return units_of(replace(rows, length=longer), n)


@dataclass(frozen=True, eq=False)
class Size:
    """The effect size, with the law of the discrepancy that it is made from."""

    #: Of all columns of y together, or of each by itself: then the size is that of the
    #: worst.
    parts: tuple[PairSums, ...]
    #: From D over `PairSums.near` to the size.
    of: Callable[[float], float]
    unit: str  #: "SD of the predictive distribution".
    like: str  #: What a size is like: "a uniform bias of {} …".
    note: str = ""  #: What a reader should know of it.
    #: From a size to the variance of ξ over that under the model.
    wider: Callable[[float], float] = lambda _: 1.0
    #: Whether it is a shift of a single z, so that what is found tells which spread is
    #: found, too.
    single: bool = False
    #: The information of the verdict on log σ of a single z, over that on its mean.
    information_on_spread: float = INFORMATION_ON_SPREAD
    #: The largest size that is reported as detectable, in `unit`.
    most: float = LARGEST_DETECTABLE

    @property
    def estimate(self) -> float:
        """The size whose D is that of the data."""
        return max(self.of(part.mean / part.near) for part in self.parts)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return one-sided confidence bounds of the size, each at level 1 − `tail`."""
        # Of several lower bounds the largest counts, and none may be wrong.
        lower = tail / len(self.parts)
        lows = []
        highs = []
        for part in self.parts:
            low, high = part.ends(lower, tail, self._wider(part))
            lows.append(self.of(low / part.near))
            highs.append(self.of(high / part.near))
        return max(lows), max(highs)

    def _wider(self, part: PairSums) -> Callable[[float], float]:
        """Return how many times as predicted ξ varies, as a function of D."""
        return lambda d: self.wider(self.of(d / part.near))

    def power(self, alpha: float, n: int | None, share: float = SHARE_OF_ALPHA) -> Power:
        """Return the size whose D̂ is large enough in `POWER` of all samples of n rows.

        `n` is None where rows depend on each other: then samples have as many units.
        `share` is the part of α at which D̂ stands for the verdict.
        """
        sizes = [self._detectable(part, alpha, n, share) for part in self.parts]
        # A misfit of probabilities changes y of any of n rows with a probability of at most
        # 1 − exp(−n·size), and where it changes none, it is detected with probability α.
        one_event = -math.log(1.0 + alpha - POWER) / (n or math.inf)
        size = max(*sizes, one_event)
        most = min(self.of(math.inf), self.most)
        if not size < most:
            if self.estimate < most:
                return Power(math.inf, None, POWER, alpha, HOPELESS)
            return Power(None, None, POWER, alpha, TOO_FAR)
        words = self.like.format(short(size))
        spread = None
        if self.single:
            spread = math.exp(size / math.sqrt(self.information_on_spread))
            factor = f"{spread:.{decimals(spread - 1.0) - 1}f}"
            words = f"bias {short(size)} SD, spread ×{factor}"
        how = f" ({self._how})" if self.note else ""
        sentence = f"Minimum detectable (power {POWER:g}): {words}{how}."
        return Power(size, spread, POWER, alpha, sentence)

    def _detectable(
        self, part: PairSums, alpha: float, n: int | None, share: float
    ) -> float:
        """Return the size that one part detects, as `power` describes it."""
        # E[H²] as the model has it, if that is known.
        square = part.least if n and part.least else part.square
        under_model = replace(part, n=n or part.n, mean=0.0, between=0.0, square=square)
        d = 0.0
        if under_model.noise > 0:
            critical = under_model.quantile(0.0, 1.0 - share * alpha / len(self.parts))
            d = under_model.reaching(critical, 1.0 - POWER, self._wider(part), 0.0)
        return self.of(d / part.near)

    @property
    def _how(self) -> str:
        """The first part of the note: how the size is measured."""
        return self.note.partition(";")[0]

    def effect(self, rejected: bool, level: float = 0.95) -> EffectSize:
        """Return the size with its interval, from 0 where the model is not rejected."""
        low, high = self.bounds((1.0 - level) / 2.0)
        at = self.estimate
        size = Interval(at, low if rejected else 0.0, max(high, at), level)
        unit = f"{self.unit} ({self._how})" if self.note else self.unit
        how = "at most as detectable as"
        number = short(size.high)
        interval = ""
        if size.low != 0:
            how = "as detectable as"
            number, interval = estimate_text(size.estimate, size.low, size.high)
        rest = "; ".join(part for part in (interval, self.note) if part)
        beside = f" ({rest})" if rest else ""
        return EffectSize(size, unit, f"{how} {self.like.format(number)}{beside}")


def tolerance_of(
    bench: Bench, effect: EffectSize, allowed: float, alpha: float
) -> Tolerance:
    """Compare one-sided bounds of the size, at level 1 − alpha, with what is allowed."""
    low, high = bench.size.bounds(alpha)
    if effect.interval.low <= 0:
        low = 0.0  # what may be no misfit at all is not worse than anything
    of = f"and you allow {short(allowed)} ({effect.unit})"
    if low > allowed:
        verdict = WORSE
        words = f"The misfit is worse than you allow: at least {short(low)}, {of}."
    elif high < allowed:
        verdict = ENOUGH
        words = f"The model is good enough: its misfit is at most {short(high)}, {of}."
    else:
        verdict = UNDECIDED
        between = f"between {short(low)} and {short(high)}"
        if low == 0:
            between = f"at most {short(high)}"
        words = f"Undecided: the misfit is {between}, {of}. More rows would tell."
    return Tolerance(allowed, verdict, low, high, words, unit=effect.unit)


def features_of_x(k: CovariateKernel, bench: Bench) -> AnyArray:
    """Return features F of x with k ≈ FFᵀ, (n, r), multiplied by the weights of rows.

    Pairs are then weighted by w_i w_j: those of the data as those of a uniform misfit.
    """
    x = bench.rows.x
    rng = bench.seed.stream(Use.CHECK, LANDMARKS_STREAM)
    some = np.sort(rng.choice(len(x), min(LANDMARK_ROWS, len(x)), replace=False))
    landmarks = nystrom(k, x[some], rng, precision=PRECISION, cap=LANDMARKS_X)
    features = Features((landmarks,)).evaluate(x)
    weights = bench.rows.sample.weights
    return features if weights is None else features * weights[:, None]


class FunctionsOfY(NamedTuple):
    """Functions of y through landmarks."""

    stein: FloatArray  #: The Stein operator on them, (n, q).
    plain: FloatArray  #: φ with l(u, u') ≈ φ(u)·φ(u'), (n, r).


def functions_of_y(
    u: FloatArray, scores: FloatArray, sigma: float, bench: Bench
) -> FunctionsOfY:
    """Return functions of coordinates u with scores (n, d_y) at one bandwidth."""
    rng = bench.seed.stream(Use.CHECK, LANDMARKS_STREAM)
    some = np.sort(rng.choice(len(u), min(LANDMARK_ROWS, len(u)), replace=False))
    made = SteinTestFunctions.from_landmarks(
        [Gaussian(sigma)],
        u[some],
        scores[some],
        rng,
        precision=PRECISION,
        cap=LANDMARKS_Y,
    )
    (part,) = made.parts
    return FunctionsOfY(
        stein=made.apply_operator(u, scores),
        plain=part.kernel(u, part.points) @ part.white,
    )


def root_of(per_square: float, most: float = math.inf) -> Callable[[float], float]:
    """Return the size s from D = per_square·s², at most `most`."""
    return lambda d: min(math.sqrt(max(d, 0.0) / per_square), most)


def bandwidth_of(u: FloatArray, bench: Bench) -> float:
    """Return √d_y, or where y is so far off that rows are alone, their median distance."""
    usual = float(np.sqrt(u.shape[1]))
    few = u[:: max(1, len(u) // FEW_ROWS)]
    if np.ptp(few, axis=0).max() <= FAR * usual:
        return usual
    distance = median_distance(few, bench.seed.stream(Use.CHECK, PAIRS_STREAM), "y")
    return distance if distance > FAR * usual else usual


def shift_size(u: FloatArray, scores: FloatArray, bench: Bench, *, note: str = "") -> Size:
    """Return a shift by s standard deviations, of standardised u with scores (n, d_y).

    D(s) = E[k]·s²·(1 + 2/σ²)^(−d_y/2) for a Gaussian model.
    """
    d_y = u.shape[1]
    f = features_of_x(bench.kernel, bench)
    sigma = bandwidth_of(u, bench)
    xi = functions_of_y(u, scores, sigma, bench).stein
    return Size(
        parts=(pair_sums(f, xi, None, bench.dependence),),
        of=root_of((1.0 + 2.0 / sigma**2) ** (-d_y / 2)),
        unit=SD,
        like=SHIFT,
        note=note,
        single=d_y == 1,
        information_on_spread=information_on_spread(u[:, 0], bench.dependence),
    )


def squares_of(p: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return E[l(y_i, y_j)²], (m, m), of y from p (m, K).

    l is a kernel (K, K) on cells, centred in both.
    """
    mean = p @ kernel
    once = np.square(mean) @ p.T
    whole = p @ np.square(kernel) @ p.T
    return np.asarray(whole - once - once.T + np.square(mean @ p.T))


def off_diagonal_mean(matrix: AnyArray) -> float:
    """Return the mean of a matrix without its diagonal."""
    m = len(matrix)
    total = matrix.sum(dtype=np.float64) - np.trace(matrix, dtype=np.float64)
    return float(total) / (m * (m - 1))


def mean_residuals(outcomes: Outcomes, moved: FloatArray) -> FloatArray:
    """Return Σ_c moved_c·r(c), what the mean of residuals moves by, (n, width)."""
    if outcomes.linear:
        return moved
    total = np.zeros(1)
    for k, part in enumerate(moved.T):
        cell = np.asarray(outcomes.residuals(np.full(len(moved), k)))
        total = total + part[:, None] * cell
    return np.asarray(total)


def power_of(bench: Bench, alpha: float) -> Power:
    """Find the smallest misfit that the verdict finds with probability `POWER`."""
    alone = bench.dependence.independent
    groups = bench.dependence.count
    units = bench.n if alone else groups or bench.n
    if 2.0 ** (1 - units) > alpha / 2:
        return Power(math.inf, None, POWER, alpha, HOPELESS)
    if alone:
        return bench.size.power(alpha, bench.n, SHARE_OF_ALPHA)
    share = SHARE_OF_ALPHA_BY_GROUP if groups else SHARE_OF_ALPHA_BY_BLOCK
    return bench.size.power(alpha, None, share)


def information_on_spread(z: FloatArray, rows: Dependence) -> float:
    """Return the information of the verdict on log σ of z (n,), over that on its mean."""
    is_series = rows.codes is None and not rows.independent
    base = INFORMATION_ON_SPREAD_BY_BLOCK if is_series else INFORMATION_ON_SPREAD
    return base / spread_inflation(z, rows)


def spread_inflation(z: FloatArray, rows: Dependence) -> float:
    """Return by how much less dependence inflates Var(log σ̂) than that of the mean of z.

    Squares of normal numbers of correlation ρ have the correlation ρ². An AR(1) process of
    correlation ρ inflates the variance of a mean by (1 + ρ)/(1 − ρ). In groups of n_g rows
    with weights a_g the mean has the variance

        v(a, ρ) = Σ a_g² n_g(1 + (n_g − 1)ρ) / (Σ a_g n_g)².

    That of z has the best weights, 1/(1 + (n_g − 1)ρ). That of squares has those which the
    test estimates from them (`condgof.null.weights_by_size`): ρ² is small and badly known,
    so that a large group counts too much.

    Parameters
    ----------
    z : ndarray of shape (n,)
        Normal scores.
    rows : Dependence
        How rows depend on each other.
    """
    if rows.independent:
        return 1.0
    centred = z - z.mean()
    if rows.codes is None:
        squares = float(centred @ centred)
        rho = float(centred[1:] @ centred[:-1]) / (squares or 1.0)
        rho = min(max(rho, 0.0), LARGEST_LAG_ONE)
        return (1.0 + rho**2) / (1.0 + rho) ** 2
    n_g = np.bincount(rows.codes).astype(np.float64)
    rho = intraclass_correlation(centred[:, None], rows.codes)
    spread = np.square(centred)
    spread = spread / (spread.mean() or 1.0) - 1.0
    weights = weights_by_size(
        squares=np.square(np.bincount(rows.codes, spread))[:, None],
        diagonal=np.bincount(rows.codes, np.square(spread))[:, None].astype(np.float64),
        n_g=n_g,
    )[:, 0]

    def variance(a_g: FloatArray, correlation: float) -> float:
        by_group = np.square(a_g) * n_g * (1.0 + (n_g - 1.0) * correlation)
        return float(by_group.sum() / np.square(a_g @ n_g))

    best = 1.0 / (1.0 + (n_g - 1.0) * rho)
    return variance(weights, rho**2) / variance(best, rho)
