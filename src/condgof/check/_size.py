"""How much: the size of a misfit, and the smallest that is found, on a scale that does not grow with n.

The discrepancy D = E[k(x,x')·ξ(y|x)·ξ(y'|x')] of evidence ξ, of mean 0 given x under the model, is held
against D(s) of a misfit that is the same at every x and has the size s, over the same pairs of rows.

Power: such a misfit moves the constant, G = Σ_i ξ_i, to n·E[ξ]. Sums under it are drawn and go through
the combination of the verdict; other families stay at their null draws, so that it is rather too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._record import Effect, Interval, Power, Tolerance
from condgof.engine import Engine, single_threaded_blas
from condgof.errors import check_number
from condgof.kernels import CovariateKernel, Gaussian, cell_scales, median_distance
from condgof.laws._discrete import Outcomes, normalised
from condgof.laws._known import CellsOfY
from condgof.laws._law import Law, ModelLike
from condgof.methods._adaptive import LOCAL_X, Adapted, Design, narrowed
from condgof.methods._scored import CENSORED, Scored
from condgof.methods._sources import score_rows
from condgof.null._combine import Combination, Family
from condgof.null._dependence import Dependence
from condgof.result import decimals, short, sized
from condgof.sample import Seed, Use
from condgof.stein._evidence import CensoredEvidence, Evidence, NormalEvidence, SteinEvidence
from condgof.stein._features import Features, nystrom

#: At most this many rows in memory, and of a stream, which has to be read once more.
MOST_ROWS, MOST_READ = 2**15, 2**12
#: Of a discrete y with many cells fewer: at most so many numbers in the probabilities of all rows.
MOST_NUMBERS = 2**23
#: Uses of random numbers; append only.
ROWS, SIZE, PAIRS, MISFITS = 0, 5, 6, 8
SD = "model standard deviations"
SHIFT = f"a constant shift of {{}} {SD}"
ON_SCORES, BY_SCORES = "on its normal-score scale", "as its scores suggest"
#: Landmarks: the residual to reach, how many at most in x and y, and rows that they are chosen from.
PRECISION, LANDMARKS_X, LANDMARKS_Y, LANDMARK_ROWS = 1e-3, 96, 48, 600
#: Rows of the matrix from which the noise of D̂ comes; at most so many parcels of dependent rows.
MATRIX, PARCELS = 512, 512
#: The bandwidth on y follows the data where, of so many rows, the median distance is this many times it.
FEW_ROWS, FAR = 200, 4.0
#: Classes by rank: the first, the next, all others. Halvings in the search for a bound.
RANKS, HALVINGS = 3, 40
#: The bandwidth on counts, in standard deviations; sizes at which D(s) is worked out, from so many rows.
SIGMA, SIZES, TILTED = 1.0, (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), 64
#: Halvings in the search for the tilt of a law of counts, and the largest; points of the law of moves.
TILTS, STEEPEST, POINTS = 14, 8.0, 6
#: What a size is, held against the largest that a user allows.
WORSE, ENOUGH, UNDECIDED = "worse than you allow", "good enough", "undecided"
#: The power, draws of the sum under a misfit; rows from which its mean and noise come, of counts fewer.
POWER, DRAWS, USED, USED_SLOW = 0.8, 240, 800, 128
#: The least and the largest shift and logarithm of a ratio; families of statistics of the constant.
LEAST, MOST, CONSTANT = 1e-5, 4.0, ("constant", "level")
HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."
UNKNOWN = "What size of misfit would have been found is not known"

#: From a size to the evidence of rows (N, q) under the misfit, the mean of the evidence (q,), and the
#: share of rows that are other than they would have been.
Misfit = Callable[[float], tuple[AnyArray, AnyArray, float]]
#: From some rows to E[(ξ_i·ξ_j)²] under the model, of pairs of them.
Squares = Callable[[IntArray], FloatArray]
#: From a misfit, and its largest size, to the smallest size that is found; infinite if it is larger.
Finder = Callable[[Misfit, float], float]


@dataclass(frozen=True, eq=False)
class Bench:
    law: Law
    rows: Scored
    #: Number of rows of the whole sample; k with the median bandwidth.
    n: int
    kernel: CovariateKernel
    dependence: Dependence
    seed: Seed
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: ModelLike,
        scored: Scored,
        design: Design,
        dependence: Dependence,
        seed: Seed,
        engine: Engine,
    ) -> Bench:
        """Take the rows; `model` is their law where they are in memory."""
        n, numbers, notes = scored.n, np.arange(scored.n), tuple[str, ...]()
        most = MOST_ROWS if scored.source is None else MOST_READ
        outcomes = scored.subsample.outcomes
        if outcomes is not None:  # fewer, where what the model says of each is large
            most = min(most, max(1024, MOST_NUMBERS // int(outcomes.probabilities.shape[1])))
        if n > most:
            if dependence.independent or dependence.codes is not None:
                numbers = np.sort(seed.stream(Use.CHECK, ROWS).choice(n, most, replace=False))
                dependence, how = dependence.take(numbers), "drawn at random"
            else:  # a series stays one
                numbers, length = np.arange(most) * n // most, dependence.length or 1
                dependence = replace(dependence, length=max(1, -(-length * most // n)))
                how = "at even steps"
            of = f"{most:,} of the {n:,} rows, {how}"
            notes = (f"the size of the misfit is of {of}; the verdict of all",)
        if scored.source is not None:
            rows, law = score_rows(scored, numbers, engine)
        else:
            assert isinstance(model, Law)
            rows, law = (scored.take(numbers), model.take(numbers)) if n > most else (scored, model)
        return cls(law, rows, n, design.kernel_x, dependence, seed, notes)

    def stream(self, use: int) -> np.random.Generator:
        return self.seed.stream(Use.CHECK, use)

    @cached_property
    def size(self) -> Size:
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.ranks:
                return _of_columns(self)
            if self.rows.by == CENSORED:
                return _of_hazard(self)
            if self.rows.cells is None:
                return _of_continuous(self)
            return _of_counts(self) if self.counts else _of_classes(self)

    @property
    def counts(self) -> bool:
        return self.rows.cells is not None and self.rows.cells.blocks[0].distances

    @property
    def ranks(self) -> bool:
        """Whether several columns of y are compared by their ranks among draws."""
        return self.rows.cells is not None and self.rows.cells.blocks[0].name.startswith("ranks,")

    @property
    def ranked_only(self) -> bool:
        """Whether normal scores are all that is known of y: of draws, PITs and bins."""
        return self.rows.by == "cdf" and not self.law.can("score")


@dataclass(frozen=True)
class PairSums:
    """What is known of D̂ = Σ_{i≠j} H_ij/(n(n − 1)), H_ij = k_ij·ξ_i·ξ_j, of rows or parcels of rows."""

    n: int
    #: D̂, and what a misfit of size 1 would add to it, or the part of that which depends on x.
    mean: float
    near: float
    #: Variance of the row means of H, less that by a constant misfit of the same size.
    between: float
    #: E[H²], E[H²] under the model if that is known, and E[HHH]/E[H²]^1.5, which is at most 1.
    square: float
    least: float
    lead: float

    @property
    def noise(self) -> float:
        """Standard deviation of D̂ where D is 0."""
        return math.sqrt(2.0 * max(self.square, self.least) / (self.n * (self.n - 1)))

    def quantile(self, d: float, p: float, wider: float = 1.0, seen: float = 1.0) -> float:
        """Return the p-quantile of D̂ where D is d, and ξ varies `wider` times as the model says.

        For the D that is seen it varies `seen` times as much. With features k ⊗ ξ of mean μ and
        covariance C, D = ‖μ‖², and D̂ has the variance 4μᵀCμ/n + 2tr(C²)/n² and the third cumulant
        24μᵀC²μ/n² + 8tr(C³)/n³, and about a shifted Gamma law. μᵀCμ is in proportion to D: by the
        jackknife where D̂ stands out from its noise, and else by the largest eigenvalue.
        """
        n, square = self.n, max(self.square, wider**2 * self.least)
        lead = self.lead * math.sqrt(square)
        slope = (wider / seen * self.between + lead * self.noise) / (max(self.mean, 0.0) + self.noise)
        variance = 4.0 * slope * d / n + 2.0 * square / (n * (n - 1))
        third = 24.0 * lead * slope * d / n**2 + 8.0 * lead * square / n**3
        shape = min(4.0 / max(third / variance / math.sqrt(variance), 1e-3) ** 2, 1e6)
        few = 1.0 if p == 0.5 else float(stdtrit(n - 1, p) / ndtri(p))
        return d + few * math.sqrt(variance / shape) * float(gammaincinv(shape, p) - shape)

    def ends(self, lower: float, upper: float, wider: Callable[[float], float]) -> tuple[float, float]:
        """Return the least and the largest D for which D̂ is not in the upper, or the lower, tail."""
        if self.noise == 0:
            return max(self.mean, 0.0), max(self.mean, 0.0)
        now, start = max(self.mean, self.quantile(0.0, upper)), max(self.mean, 0.0)
        base, low, high = wider(start), 0.0, start + self.noise

        def above(d: float, p: float) -> float:
            return self.quantile(d, p, wider(d), base) - now

        if above(0.0, 1.0 - lower) < 0:
            low = _root(lambda d: above(d, 1.0 - lower), 0.0, start)
        while above(high, upper) < 0:
            high *= 2.0
        return low, _root(lambda d: above(d, upper), start, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def pair_sums(
    f: AnyArray, xi: AnyArray, move: AnyArray | None, rows: Dependence, expected: Squares | None = None
) -> PairSums:
    """Sum pairs of rows with features f (n, r) of x, k = ffᵀ, and evidence ξ (n, q).

    `move` (n, q) is what a misfit of size 1 does to the mean of ξ, None where that does not depend on x.
    What is `expected` counts, where it is known: rare events may not have come.
    Rows that depend on each other are summed up in parcels, and pairs within one are left out.
    """
    n, unit, least = len(f), 1.0, 0.0
    some = np.arange(0, n, -(-n // MATRIX))
    move = np.ones((n, 1)) if move is None else move
    if expected is not None:
        least = _off_diagonal(np.square(f[some] @ f[some].T) * expected(some))
    parcels = parcels_of(rows, n)
    if parcels is not None:
        cuts = np.flatnonzero(np.diff(np.sort(parcels))) + 1
        parts = np.split(np.argsort(parcels, kind="stable"), cuts)
        xi, move = (np.stack([(f[p].T @ v[p]).ravel() for p in parts]) for v in (xi, move))
        # In units that make the mean over pairs of parcels that over pairs of their rows.
        count, within = len(parts), sum(float(len(p)) ** 2 for p in parts)
        unit = count * (count - 1) / (float(n) ** 2 - within)
        n, f, some = count, np.ones((count, 1)), np.arange(count)
    weights = np.square(f).sum(axis=1)
    # Means of each row of (ffᵀ)∘(ξξᵀ) without the diagonal.
    means, near = (
        unit * (((f @ (f.T @ v) * v).sum(axis=1) - weights * np.square(v).sum(axis=1)) / (n - 1))
        for v in (xi, move)
    )
    left = means - means.mean() / near.mean() * near
    matrix = unit * (f[some] @ f[some].T) * (xi[some] @ xi[some].T)
    np.fill_diagonal(matrix, 0.0)
    size, m = float(np.abs(matrix).max()) or 1.0, len(some)
    matrix = (matrix / size).astype(np.float32)
    square = _off_diagonal(np.square(matrix))
    cube = float(np.sum((matrix @ matrix) * matrix, dtype=np.float64)) / max(m * (m - 1) * (m - 2), 1)
    return PairSums(
        n=n,
        mean=float(means.mean()),
        near=max(float(near.mean()), 1e-300),
        between=max(float(left.var(ddof=1)) - size**2 * square / (2 * n), 0.0),
        square=size**2 * square,
        least=unit * least,
        lead=min(max(cube, 0.0) / max(square, 1e-30) ** 1.5, 1.0),
    )


def _off_diagonal(matrix: AnyArray) -> float:
    """Return the mean of a matrix without its diagonal."""
    m = len(matrix)
    return float(matrix.sum(dtype=np.float64) - np.trace(matrix, dtype=np.float64)) / (m * (m - 1))


def units_of(rows: Dependence, n: int) -> IntArray | None:
    """Return the parcel of each of n rows, where they depend on each other."""
    return None if rows.independent else np.asarray(rows.parcels(n, PARCELS).of(0, n), dtype=np.int64)


def parcels_of(rows: Dependence, n: int) -> IntArray | None:
    # Twice as long as stretches are: what depends across a cut is a small part of it.
    longer = None if rows.independent else min(2 * (rows.length or 1), max(n // 3, 1))
    return units_of(replace(rows, length=longer), n)


@dataclass(frozen=True, eq=False)
class Size:
    #: Of all columns of y together, or of each by itself: then the size is that of the worst.
    parts: tuple[PairSums, ...]
    #: From D over `PairSums.near` to the size.
    of: Callable[[float], float]
    #: In what; "a constant shift of {} …"; what is to be said of it.
    unit: str
    like: str
    note: str = ""
    #: From a size to the variance of ξ over that under the model.
    wider: Callable[[float], float] = lambda _: 1.0

    @property
    def estimate(self) -> float:
        return max(self.of(part.mean / part.near) for part in self.parts)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return one-sided confidence bounds of the size, each wrong with probability `tail`."""
        sizes = [[self.of(d / part.near) for d in self._ends(part, tail)] for part in self.parts]
        return max(low for low, _ in sizes), max(high for _, high in sizes)

    def _ends(self, part: PairSums, tail: float) -> tuple[float, float]:
        # Of several lower bounds the largest counts, and none may be wrong.
        lower = tail / len(self.parts)
        return part.ends(lower, tail, lambda d: self.wider(self.of(d / part.near)))

    def effect(self, rejected: bool, level: float = 0.95) -> Effect:
        """Return the size with its interval, which begins at 0 where the model is not rejected."""
        tail, worst = (1.0 - level) / 2.0, max(self.parts, key=lambda part: part.mean / part.near)
        ends = (self.bounds(tail), self._ends(worst, tail))
        size, d = (
            Interval(at, low if rejected else 0.0, max(high, at), level)
            for at, (low, high) in zip((self.estimate, worst.mean), ends, strict=True)
        )
        unit = f"{self.unit} ({self.note.partition(';')[0]})" if self.note else self.unit
        how, (seen, within) = "at most as large as", (short(size.high), "")
        if size.low != 0:
            how, (seen, within) = "as large as", sized(size.estimate, size.low, size.high)
        rest = "; ".join(part for part in (within, self.note) if part)
        return Effect(size, unit, f"{how} {self.like.format(seen)}{f' ({rest})' if rest else ''}", d)


def check_allowed(allowed: Any) -> float:
    wanted = "a positive number, the largest misfit that you allow"
    return check_number(allowed, "tolerance", wanted, lambda value: 0 < value < math.inf)


def tolerance_of(bench: Bench, effect: Effect, allowed: float, alpha: float) -> Tolerance:
    """Compare the bounds of the size, each one-sided at level 1 − alpha, with what is allowed."""
    low, high = bench.size.bounds(alpha)
    low = low if effect.interval.low > 0 else 0.0  # what may be no misfit at all is not worse
    of = f"and you allow {short(allowed)} ({effect.unit})"
    if low > allowed:
        verdict, words = WORSE, f"The misfit is worse than you allow: at least {short(low)}, {of}."
    elif high < allowed:
        verdict, words = ENOUGH, f"The model is good enough: its misfit is at most {short(high)}, {of}."
    else:
        between = f"at most {short(high)}" if low == 0 else f"between {short(low)} and {short(high)}"
        verdict, words = UNDECIDED, f"Undecided: the misfit is {between}, {of}. More rows would tell."
    return Tolerance(allowed, verdict, low, high, words)


def _on_x(k: CovariateKernel, bench: Bench) -> AnyArray:
    """Return features F of x with k ≈ FFᵀ, (n, r)."""
    x, rng = bench.rows.x, bench.stream(SIZE)
    some = np.sort(rng.choice(len(x), min(LANDMARK_ROWS, len(x)), replace=False))
    return Features((nystrom(k, x[some], rng, precision=PRECISION, cap=LANDMARKS_X),)).of(x)


def _on_y(u: FloatArray, s: FloatArray, sigma: float, bench: Bench) -> tuple[FloatArray, FloatArray]:
    """Return Stein functions of y, (n, q), and φ with l(u, u') ≈ φ(u)·φ(u'), (n, r)."""
    rng = bench.stream(SIZE)
    some = np.sort(rng.choice(len(u), min(LANDMARK_ROWS, len(u)), replace=False))
    few = ([Gaussian(sigma)], u[some], s[some], rng)
    made, _ = SteinEvidence.on(*few, precision=PRECISION, cap=LANDMARKS_Y)
    (part,) = made.parts
    return made.of(u, s), part.kernel(u, part.points) @ part.white


def _root_of(per_square: float, most: float = math.inf) -> Callable[[float], float]:
    return lambda d: min(math.sqrt(max(d, 0.0) / per_square), most)


def _of_continuous(bench: Bench) -> Size:
    """A shift by s standard deviations: D(s) = E[k]·s²·(1 + 2/σ²)^(−d_y/2) for a Gaussian model."""
    rows, dependence, f = bench.rows, bench.dependence, _on_x(bench.kernel, bench)
    if rows.by == "none":
        # Scores that are off by s/τ have D = s²·E[k·l], wherever y lies.
        tau = score_spread(rows)
        u, scores = rows.y / tau, rows.scores * tau
        sums = pair_sums(f, *_on_y(u, scores, _bandwidth(u, bench), bench), dependence)
        return Size((sums,), _root_of(1.0), SD, SHIFT, BY_SCORES)
    sigma = _bandwidth(rows.y, bench)
    sums = pair_sums(f, _on_y(rows.y, rows.scores, sigma, bench)[0], None, dependence)
    per = (1.0 + 2.0 / sigma**2) ** (-rows.y.shape[1] / 2)
    return Size((sums,), _root_of(per), SD, SHIFT, ON_SCORES if bench.ranked_only else "")


def _of_hazard(bench: Bench) -> Size:
    """Times with censoring: E[ξ|x] = s·E[∫f|x] where the hazard is 1 + s times the model's."""
    rows, evidence = bench.rows, CensoredEvidence.at((1.0,))
    first = evidence.blocks[0].columns
    xi = evidence.of(rows.y, rows.scores)[:, first].astype(np.float64)
    move = (evidence.expected(rows.scores[:, 2:]) - evidence.expected(rows.y))[:, first]
    sums = pair_sums(_on_x(bench.kernel, bench), xi, move.astype(np.float64), bench.dependence)
    like = "a hazard that is off by {} times itself at every x"
    return Size((sums,), _root_of(1.0), "relative error of the hazard", like)


def _of_columns(bench: Bench) -> Size:
    """Draws of several columns of y: a shift of each column by itself."""
    f, note = _on_x(bench.kernel, bench), f"{ON_SCORES}; how columns go together is not in that number"
    each = (_on_y(z, -z, 1.0, bench)[0] for z in bench.rows.y.T[:, :, None])
    parts = tuple(pair_sums(f, xi, None, bench.dependence) for xi in each)
    return Size(parts, _root_of(3.0**-0.5), SD, f"a constant shift of one column by {{}} {SD}", note)


def score_spread(rows: Scored) -> FloatArray:
    """Return τ (d_y,), τ² = −Cov(s, y)/Var(s), which a shift does not move; else the sd of y."""
    centred = rows.y - rows.y.mean(axis=0)
    second = -np.mean(rows.scores * centred, axis=0)
    square = rows.scores.var(axis=0)
    fine = (second > 0) & (square > 0)
    ratio = np.where(fine, second, 1.0) / np.where(fine, square, 1.0)
    return np.asarray(np.where(fine, np.sqrt(ratio), centred.std(axis=0)))


def _bandwidth(u: FloatArray, bench: Bench) -> float:
    """Return √d_y; where y is so far from what the model says that rows are alone, their distance."""
    usual = float(np.sqrt(u.shape[1]))
    few = u[:: max(1, len(u) // FEW_ROWS)]
    if np.ptp(few, axis=0).max() <= FAR * usual:
        return usual
    distance = median_distance(few, bench.stream(PAIRS), "y")
    return distance if distance > FAR * usual else usual


@dataclass(frozen=True, eq=False)
class Side:
    """Probability that is in the wrong place: of classes, or of cells by quantiles and intervals."""

    #: What a probability of 1 that moves adds to each cell, (K,) or (n, K); how much there is to move.
    move: FloatArray
    room: float
    #: The unit of a size; what a size is like, and what would have been found, with {} in its place.
    unit: str
    like: str
    found: str

    @classmethod
    def of(cls, law: Law, p: FloatArray | None = None) -> Side:
        """It goes from the first class to the next by p (n, K); of cells to the less likely side.

        That is of the middle quantile, or the widest interval; cells of a side keep their proportions.
        """
        if not isinstance(law, CellsOfY):
            assert p is not None
            like = "predicted probabilities that are off by {} at every x"
            return cls(first_to_next(p), 1.0, "probability on the wrong class", like, like)
        event, shares = law.events[-1], law.shares
        if event.kind == "quantile":
            event = min(law.events, key=lambda one: abs(one.level - 0.5))
        inside = event.happened(np.arange(len(shares)))
        rare = bool(shares[inside].sum() < 0.5)
        gains = inside if rare else ~inside
        room = float(shares[~gains].sum())
        move = np.where(gains, shares / (1.0 - room), -shares / room)
        if event.kind == "quantile":
            name, often = f"{event.level:g} quantile", "more" if rare else "fewer"
            unit = f"probability on the wrong side of the {name}"
            like = f"a probability of {{}} on the wrong side of the {name} at every x"
            found = f"a {name} that is exceeded by {{}} {often} of the rows than it says at every x"
        else:
            name, often = f"{100 * event.level:g}% interval", "more" if rare else "less"
            unit = f"in the coverage of the {name}"
            like = f"a coverage of the {name} that is off by {{}} at every x"
            found = f"a {name} that covers {{}} {often} than it says at every x"
        return cls(move, room, unit, like, found)


def first_to_next(p: FloatArray) -> FloatArray:
    """Return what takes probability from the most probable class and gives it to the next, (n, K)."""
    order, rows = np.argsort(-p, axis=1, kind="stable"), np.arange(len(p))
    direction = np.zeros(p.shape)
    direction[rows, order[:, 0]], direction[rows, order[:, 1]] = -1.0, 1.0
    return direction


def _of_classes(bench: Bench) -> Size:
    """Classes, and cells: k is narrow, so that misfits of opposite signs do not cancel."""
    outcomes, f = bench.rows.outcomes, _on_x(narrowed(bench.kernel, LOCAL_X), bench)
    assert outcomes is not None
    p, dependence, per = normalised(outcomes.probabilities), bench.dependence, 1.0
    residuals, side = -p, Side.of(bench.law, p)
    residuals[np.arange(len(p)), outcomes.observed] += 1.0
    if isinstance(bench.law, CellsOfY):  # the same in all rows
        same = np.eye(p.shape[1])
        sums = pair_sums(f, residuals, None, dependence, lambda some: squares_of(p[some], same))
        varied, per = p[:1], float(np.square(side.move).sum())
    else:
        xi, move = both(p, residuals), both(p, side.move)
        sums = pair_sums(f, xi, move, dependence, lambda some: squares_of_classes(p[some]))
        varied = p
    step = -(-len(varied) // MATRIX)
    q, moved = varied[::step], side.move[::step] if side.move.ndim > 1 else side.move

    def variance(q: FloatArray) -> float:
        return float(np.mean(1.0 - np.square(q).sum(axis=1)))

    def wider(s: float) -> float:
        return max(variance(np.clip(q + s * moved, 0.0, 1.0)) / max(variance(q), 1e-12), 1.0)

    return Size((sums,), _root_of(per, 1.0), side.unit, side.like, wider=wider)


def both(p: FloatArray, values: FloatArray) -> FloatArray:
    """Return values (n, K) of classes by label and then, for the confidence, by rank: (n, K + RANKS)."""
    ranked = np.take_along_axis(values, np.argsort(-p, axis=1, kind="stable"), axis=1)
    others = ranked[:, RANKS - 1 :].sum(axis=1, keepdims=True)
    return np.concatenate([values, ranked[:, : RANKS - 1], others], axis=1)


def squares_of(p: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return E[l(y_i,y_j)²], (m, m), y from p (m, K), l a kernel (K, K) on cells centred in both."""
    seen = p @ kernel
    once = np.square(seen) @ p.T
    return np.asarray(p @ np.square(kernel) @ p.T - once - once.T + np.square(seen @ p.T))


def squares_of_classes(p: FloatArray) -> FloatArray:
    """Return the same for l = 1{same label} + 1{same rank}."""
    ranks, place = both(p, p)[:, p.shape[1] :], np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1)
    joint = p[:, :, None] * (np.minimum(place, RANKS - 1)[:, :, None] == np.arange(RANKS))
    joint, apart = (v.reshape(len(p), -1) for v in (joint, p[:, :, None] * ranks[:, None, :]))
    seen = p @ p.T + ranks @ ranks.T
    once = np.square(p) @ p.T + np.square(ranks) @ ranks.T + 2.0 * apart @ joint.T
    return np.asarray(seen + 2.0 * joint @ joint.T - once - once.T + np.square(seen))


def _of_counts(bench: Bench) -> Size:
    """Counts: the law is tilted until its mean is off by s standard deviations."""
    rows, outcomes = bench.rows, bench.rows.outcomes
    assert rows.cells is not None
    (kernel,) = cell_scales(rows.cells, (SIGMA,))
    f, xi = _on_x(bench.kernel, bench), kernel.features(np.asarray(rows.scores))
    if outcomes is None:
        # The difference operator is close to that of a density, and so is what a shift does to it.
        sums, per = pair_sums(f, xi, None, bench.dependence), (1.0 + 2.0 / SIGMA**2) ** -0.5
        return Size((sums,), _root_of(per), SD, SHIFT, "as its ratios suggest")
    like = kernel.features(np.eye(kernel.width))

    def expected(some: IntArray) -> FloatArray:
        return squares_of(normalised(outcomes.take(some).probabilities), like @ like.T)

    sums = pair_sums(f, xi, None, bench.dependence, expected if outcomes.linear else None)
    some = np.arange(0, len(f), -(-len(f) // TILTED))
    few, near = outcomes.take(some), f[some] @ f[some].T
    p = normalised(few.probabilities)
    at = count_positions(bench, p)
    squares, spreads = [], []
    for size in SIZES:
        q = shifted_law(p, at, size) if size else p
        moved = kernel.features(mean_residuals(few, q - p))
        squares.append(_off_diagonal(near * (moved @ moved.T)) / _off_diagonal(near))
        spreads.append(float(np.mean(q @ np.square(at) - np.square(q @ at))))
    # √(D(s)/E[k]), and how much more the counts vary.
    roots = np.maximum.accumulate(np.sqrt(np.maximum(squares, 0.0)))
    wider = np.maximum(np.array(spreads) / max(spreads[0], 1e-12), 1.0)
    return Size(
        parts=(sums,),
        of=lambda d: float(np.interp(math.sqrt(max(d, 0.0)), roots, SIZES)),
        unit=SD,
        like=SHIFT,
        wider=lambda s: float(np.interp(s, SIZES, wider)),
    )


def count_positions(bench: Bench, p: FloatArray) -> FloatArray:
    """Return where the cells of counts lie, (K,), with probabilities p (n, K)."""
    cells, outcomes = bench.rows.cells, bench.rows.outcomes
    positions = cells.blocks[0].positions if cells and outcomes and outcomes.linear else None
    return np.arange(float(p.shape[1])) if positions is None else positions


def shifted_law(p: FloatArray, at: FloatArray, size: FloatArray | float) -> FloatArray:
    """Tilt p (n, K) of counts at (K,), q ∝ p·exp(θz), until the mean has moved by so many sds.

    Of a Poisson law that is another one. Where the counts end before it is as near as can be.
    """
    with np.errstate(divide="ignore"):
        z, logs = _standardised(p, at), np.log(p)
    theta, step = np.zeros(len(p)), STEEPEST / 2.0
    for _ in range(TILTS):
        q = logs + theta[:, None] * z
        q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q /= q.sum(axis=1, keepdims=True)
        theta += np.where((q * z).sum(axis=1) < size, step, -step)
        step *= 0.5
    return np.asarray(q)


def wider_law(p: FloatArray, at: FloatArray, grown: float) -> FloatArray:
    """Mix laws that are moved up and down, until the variance is larger by this share of its own.

    Moves are points of a Gamma law of the shape z₀²/grown, with z₀ standard deviations from the mean to
    where counts begin: a Poisson law becomes about a negative binomial one.
    """
    if not grown:
        return p
    down = np.maximum(-np.where(p > 1e-12, _standardised(p, at), np.inf).min(axis=1), 0.1)
    moves = gammaincinv((down**2 / grown)[:, None], (np.arange(POINTS) + 0.5) / POINTS)
    moves -= moves.mean(axis=1, keepdims=True)
    moves *= np.sqrt(grown) / np.maximum(moves.std(axis=1, keepdims=True), 1e-300)
    return np.asarray(sum(shifted_law(p, at, move) for move in moves.T) / POINTS)


def _standardised(p: FloatArray, at: FloatArray) -> FloatArray:
    away = at - (p @ at)[:, None]
    spread = np.sqrt(np.maximum((p * np.square(away)).sum(axis=1), 1e-300))
    return np.asarray(away / spread[:, None])


def mean_residuals(outcomes: Outcomes, moved: FloatArray) -> FloatArray:
    """Return Σ_c moved_c·r(c), what the mean of residuals moves by, (n, width)."""
    if outcomes.linear:
        return moved
    rows, ends = np.arange(len(moved)), [np.full(len(moved), k) for k in range(moved.shape[1])]
    if (np.count_nonzero(np.abs(moved) > 1e-12, axis=1) <= 2).all():  # from one cell to another
        ends = [np.argmax(part, axis=1) for part in (moved, -moved)]
    return np.asarray(sum(moved[rows, end][:, None] * np.asarray(outcomes.of(end)) for end in ends))


def power_of(adapted: Adapted, bench: Bench, alpha: float) -> Power:
    """Find the smallest misfit of each kind that the verdict finds with probability `POWER`."""
    rows, evidence, unknown = bench.rows, adapted.design.plan.evidence, ""
    plain = rows.cells is not None and len(rows.cells.blocks) == 1 and not bench.counts
    if bench.ranks:
        unknown = "for draws of several columns"
    elif rows.cells is not None and rows.outcomes is None:
        unknown = "where very many counts are known by ratios of their probabilities"
    elif plain and not isinstance(bench.law, CellsOfY):
        unknown = "where classes are compared by their labels alone"
    size, spread, found = math.inf, None, ""
    units = bench.n if bench.dependence.independent else bench.dependence.count or bench.n
    if 2.0 ** (1 - units) <= alpha / 2:
        if unknown:
            return Power(None, None, POWER, alpha, f"{UNKNOWN} {unknown}.")
        of = _power_continuous if rows.cells is None else _power_cells
        of = _power_hazard if isinstance(evidence, CensoredEvidence) else of
        size, spread, found = of(_finder(adapted, bench, alpha), evidence, bench)
    rest = f"{found[1:]} would have been found with probability {POWER:g}."
    return Power(size, spread, POWER, alpha, f"{found[0].upper()}{rest}" if found else HOPELESS)


def _finder(adapted: Adapted, bench: Bench, alpha: float) -> Finder:
    # The statistics of the constant are drawn under a misfit; of another family its value is enough.
    whole, evidence, n = adapted.combination, adapted.design.plan.evidence, bench.n
    parts = zip(whole.families, whole.parts, strict=True)
    of_x = [(family, part) for family, part in parts if family.name not in CONSTANT]
    constants, first = [f for f in whole.families if f.name in CONSTANT], len(of_x)
    constant = adapted.design.plan.which("constant")
    families = [Family(f.name, f.share, np.array([i])) for i, (f, _) in enumerate(of_x)]
    families += [Family(f.name, f.share, first + np.searchsorted(constant, f.which)) for f in constants]
    scaled = np.vstack([*(part for _, part in of_x), whole.scaled[constant]])
    centre = np.append(np.zeros(first), whole.centre[constant])
    spread = np.append(np.ones(first), whole.spread[constant])
    others = scaled[:first, np.arange(DRAWS) % (scaled.shape[1] - 1)]
    combination = Combination(tuple(families), scaled, centre, spread)
    threshold, rng = combination.threshold(alpha), bench.stream(MISFITS)
    starts = [block.columns.start for block in evidence.blocks]

    def second(xi: AnyArray) -> FloatArray:
        """Return the size of E[ξξᵀ] of each block, to which the spread under signs is in proportion."""
        blocks = (xi[:, block.columns] for block in evidence.blocks)
        return np.array([np.linalg.norm(block.T @ block) / len(block) for block in blocks])

    def smallest(misfit: Misfit, most: float) -> float:
        none = misfit(0.0)[0]
        signs = rng.integers(0, 2, (DRAWS, len(none))).astype(none.dtype) * 2 - 1
        # With signs, not draws from the law, a misfit widens its own null.
        before = None if "null" in adapted.ran.details else second(none)

        @np.errstate(over="ignore", invalid="ignore")
        def power(size: float) -> float:
            xi, mean, share = misfit(size)
            sums = n * mean + np.sqrt(n / len(xi)) * (signs @ (xi - xi.mean(axis=0)))
            expected = n * np.add.reduceat(np.square(xi).mean(axis=0), starts)
            moved = np.add.reduceat(np.square(sums), starts, axis=1) - expected
            if before is not None:
                moved /= np.maximum(second(xi), 1e-300) / np.maximum(before, 1e-300)
            values = combination.of_others(np.vstack([others, moved.T]))
            # Where nothing is different, nothing can be seen: rare events come one by one.
            limit = alpha - math.expm1(-n * share)
            return min(float(np.mean(values >= threshold)), limit)

        return crossing(power, min(3.0 / math.sqrt(n), most / 2), most)

    return smallest


def crossing(power_at: Callable[[float], float], guess: float, most: float) -> float:
    """Return the size at which a growing function reaches `POWER`, from a first guess on."""
    size, power = guess, power_at(guess)
    up = power < POWER
    while True:
        following = min(2.0 * size, most) if up else 0.5 * size
        reached = power_at(following)
        if (reached >= POWER) == up:
            break
        if following >= most or following < LEAST:
            return math.inf if up else following
        size, power = following, reached
    low, high = sorted([(size, power), (following, reached)])
    middle = math.sqrt(low[0] * high[0])
    power = power_at(middle)
    low, high = (low, (middle, power)) if power >= POWER else ((middle, power), high)
    share = (POWER - low[1]) / (high[1] - low[1]) if high[1] > low[1] else 0.5
    return float(low[0] + share * (high[0] - low[0]))


def _shift_or_spread(size: float, spread: float | None, of: str = "", scale: str = "") -> str:
    parts = []
    if math.isfinite(size):
        parts.append(f"a shift{of} {'by' if of else 'of'} {short(size)} {SD}{scale}")
    if spread is not None and math.isfinite(spread):
        parts.append(f"a spread{of} wrong by a factor of {spread:.{decimals(spread - 1.0) - 1}f}")
    return ", or ".join(parts) + "," * (len(parts) > 1)


def _power_continuous(find: Finder, evidence: Evidence, bench: Bench) -> tuple[float, float | None, str]:
    rows, unit, spread = bench.rows, 1.0, None
    if rows.by == "none":
        unit = float(np.exp(np.log(score_spread(rows)).mean())) or 1.0
    size = find(_moved(evidence, bench, lambda u, size: u + size * unit, unit), MOST)
    if rows.by != "none":
        wider = _moved(evidence, bench, lambda u, size: u * math.exp(size), unit)
        spread = math.exp(find(wider, MOST))
    of = " of one column" if rows.sample.d_y > 1 else ""
    scale = " (on its normal-score scale)" * bench.ranked_only
    return size, spread, _shift_or_spread(size, spread, of, scale)


def _moved(
    evidence: Evidence, bench: Bench, move: Callable[[FloatArray, float], FloatArray], unit: float
) -> Misfit:
    """Return what a move of the first column of y does, with the scores of a Gaussian of sd `unit`."""
    rng, rows = bench.stream(MISFITS), bench.rows
    if isinstance(evidence, NormalEvidence):
        # Evenly spread over the law in each column.
        places = [rng.permutation(USED) + 0.5 for _ in range(rows.sample.d_y)]
        u = np.asarray(ndtri(np.column_stack(places) / USED))
        scores = -u
    else:
        some = np.sort(rng.choice(rows.n, min(USED, rows.n), replace=False))
        u, scores = rows.y[some], rows.scores[some]
    before = evidence.of(u, scores)

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        other, moved_scores = u.copy(), scores.copy()
        other[:, 0] = move(u[:, 0], size)
        moved_scores[:, 0] -= (other[:, 0] - u[:, 0]) / unit**2  # s(y) = −(y − mean)/τ²
        xi = evidence.of(other, moved_scores)
        return xi, np.asarray((xi - before).mean(axis=0, dtype=np.float64)), math.inf

    return misfit


def _power_hazard(smallest: Finder, evidence: Evidence, bench: Bench) -> tuple[float, None, str]:
    """A row at risk at Λ is so with exp(−sΛ) times the probability where the hazard is 1 + s times it.

    E[ξ] = s·E[∫ f(Λ) exp(−sΛ) dΛ] over the time that rows are watched.
    """
    assert isinstance(evidence, CensoredEvidence)
    rows, tilted = bench.rows, evidence.tilted
    some = np.sort(bench.stream(MISFITS).choice(rows.n, min(USED, rows.n), replace=False))
    u, watched = rows.y[some], rows.scores[some]
    xi = evidence.of(u, watched)

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        moved = tilted(size, u) - tilted(size, watched[:, 2:])
        return xi, size * moved.mean(axis=0, dtype=np.float64), math.inf

    size = smallest(misfit, MOST)
    found = f"a hazard that is {short(1.0 + size)} times what the model says, at every x,"
    return size, None, found if math.isfinite(size) else ""


def _power_cells(smallest: Finder, evidence: Evidence, bench: Bench) -> tuple[float, float | None, str]:
    rows, outcomes, rng = bench.rows, bench.rows.outcomes, bench.stream(MISFITS)
    assert outcomes is not None
    most_rows = min(USED_SLOW if bench.counts else USED, rows.n)
    seen = outcomes.take(np.sort(rng.choice(rows.n, most_rows, replace=False)))
    p, rng = normalised(seen.probabilities), bench.stream(MISFITS)
    order = np.argsort(-p, axis=1, kind="stable")  # rare cells last
    # Rows are drawn at evenly spread places of their laws: rare events are as many as they should be.
    at = ((rng.permutation(len(p)) + rng.random()) / len(p))[:, None]

    def of(law: Callable[[float], FloatArray], most: float = MOST) -> float:
        def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
            q = normalised(np.maximum(law(size), 0.0))
            sums = np.cumsum(np.take_along_axis(q, order, axis=1), axis=1)
            places = np.minimum((at >= sums).sum(axis=1), p.shape[1] - 1)
            xi = evidence.of(p, np.asarray(seen.of(order[np.arange(len(p)), places])))
            mean = evidence.of(p, mean_residuals(seen, q - p)).mean(axis=0)
            return xi, mean, 0.5 * float(np.abs(q - p).sum(axis=1).mean())

        return smallest(misfit, most)

    if bench.counts:
        counts = count_positions(bench, p)
        shift = of(lambda size: shifted_law(p, counts, size))
        spread = math.sqrt(1.0 + of(lambda grown: wider_law(p, counts, grown)))
        return shift, spread, _shift_or_spread(shift, spread)
    side = Side.of(bench.law, p)
    size = of(lambda size: p + size * side.move, side.room)
    return size, None, side.found.format(short(size)) if math.isfinite(size) else ""
