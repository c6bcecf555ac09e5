"""How much: the size of a misfit, and the smallest that is found, on a scale that does not grow with n.

The discrepancy D = E[k(x,x')·ξ(y|x)·ξ(y'|x')] of evidence ξ, of mean 0 given x under the
model, is held against D(s) of a misfit that is the same at every x and has the size s, over
the same pairs of rows.

Power: the size whose D̂ is above what it stays below under the model, by the same law of
D̂.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import some_rows
from condgof.check._record import Effect, Interval, Power, Tolerance
from condgof.engine import single_threaded_blas
from condgof.errors import check_number
from condgof.kernels import CovariateKernel, Gaussian, cell_scales, median_distance
from condgof.laws._discrete import Outcomes, normalised
from condgof.laws._known import CellsOfY
from condgof.laws._law import Law
from condgof.methods._adaptive import LOCAL_X, Design, narrowed
from condgof.methods._scored import CENSORED, Scored
from condgof.null._dependence import Dependence
from condgof.result import decimals, short, sized
from condgof.sample import Seed, Use
from condgof.stein._evidence import CensoredEvidence, SteinEvidence
from condgof.stein._features import Features, nystrom

#: At most this many rows; of a discrete y so many numbers in the probabilities of all rows.
MOST_ROWS, MOST_NUMBERS = 2**15, 2**23
#: Uses of random numbers; append only.
ROWS, SIZE, PAIRS = 0, 5, 6
SD = "model standard deviations"
SHIFT = f"a constant shift of {{}} {SD}"
ON_SCORES, BY_SCORES = "on its normal-score scale", "as its scores suggest"
#: Landmarks: the residual to reach, how many at most in x and y, and rows that they are
#: chosen from.
PRECISION, LANDMARKS_X, LANDMARKS_Y, LANDMARK_ROWS = 1e-3, 96, 48, 600
#: Rows of the matrix from which the noise of D̂ comes; at most so many parcels of dependent
#: rows.
MATRIX, PARCELS = 512, 512
#: The bandwidth on y follows the data where, of so many rows, the median distance is this
#: many times it.
FEW_ROWS, FAR = 200, 4.0
#: Classes by rank: the first, the next, all others. Halvings in the search for a bound.
RANKS, HALVINGS = 3, 40
#: The bandwidth on counts, in standard deviations; sizes at which D(s) is worked out, from
#: so many rows.
SIGMA, SIZES, TILTED = 1.0, (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), 64
#: Halvings in the search for the tilt of a law of counts, and the largest.
TILTS, STEEPEST = 14, 8.0
#: What a size is, held against the largest that a user allows.
WORSE, ENOUGH, UNDECIDED = "worse than you allow", "good enough", "undecided"
#: The power, and the largest size that is told of it.
POWER, MOST = 0.8, 4.0
HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."
UNKNOWN = "What size of misfit would have been found is not known"
TOO_FAR = f"{UNKNOWN}: the data lie too far from what the model says."

#: From some rows to E[(ξ_i·ξ_j)²] under the model, of pairs of them.
Squares = Callable[[IntArray], FloatArray]


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
        law: Law,
        rows: Scored,
        design: Design,
        rely: Dependence,
        seed: Seed,
        n: int | None = None,
    ) -> Bench:
        """Take rows of a sample of n, of very many some; `rely` is how they depend on each other."""
        most, notes = MOST_ROWS, tuple[str, ...]()
        if rows.outcomes is not None:  # fewer, where what the model says of each is large
            most = min(
                most, max(1024, MOST_NUMBERS // int(rows.outcomes.probabilities.shape[1]))
            )
        whole = n or rows.n
        if rows.n > most:
            notes = (
                (
                    f"the size of the misfit is of {most:,} of the {whole:,} rows, drawn at"
                    " random; the verdict of all"
                ),
            )
            some = some_rows(rows.n, most, seed, ROWS)
            law, rely, rows = law.take(some), thinned(rely, some, rows.n), rows.take(some)
        return cls(law, rows, whole, design.kernel_x, rely, seed, notes)

    @cached_property
    def size(self) -> Size:
        cells, of = self.rows.cells, _of_continuous
        if self.rows.by == CENSORED:
            of = _of_hazard
        elif cells is not None and cells.blocks[0].name.startswith("ranks,"):
            of = _of_columns
        elif cells is not None:
            of = _of_counts if cells.blocks[0].distances else _of_classes
        with (
            single_threaded_blas(),
            np.errstate(over="ignore", invalid="ignore", under="ignore"),
        ):
            return of(self)


@dataclass(frozen=True)
class PairSums:
    """What is known of D̂ = Σ_{i≠j} H_ij/(n(n − 1)), H_ij = k_ij·ξ_i·ξ_j, of rows or parcels of rows."""

    n: int
    #: D̂, and what a misfit of size 1 would add to it, or the part of that which depends on
    #: x.
    mean: float
    near: float
    #: Variance of the row means of H, less that by a constant misfit of the same size.
    between: float
    #: E[H²], E[H²] under the model if that is known, and E[HHH]/E[H²]^1.5, which is at most
    #: 1.
    square: float
    least: float
    lead: float

    @property
    def noise(self) -> float:
        """Standard deviation of D̂ where D is 0."""
        return math.sqrt(2.0 * max(self.square, self.least) / (self.n * (self.n - 1)))

    def quantile(self, d: float, p: float, wider: float = 1.0, seen: float = 1.0) -> float:
        """Return the p-quantile of D̂ where D is d, and ξ varies `wider` times as the model says.

        For the D that is seen it varies `seen` times as much. With features k ⊗ ξ of mean μ
        and covariance C, D = ‖μ‖², and D̂ has the variance 4μᵀCμ/n + 2tr(C²)/n² and the
        third cumulant 24μᵀC²μ/n² + 8tr(C³)/n³, and about a shifted Gamma law. μᵀCμ is in
        proportion to D: by the jackknife where D̂ stands out from its noise, and else by
        the largest eigenvalue.
        """
        n, square = self.n, max(self.square, wider**2 * self.least)
        lead = self.lead * math.sqrt(square)
        slope = (wider / seen * self.between + lead * self.noise) / (
            max(self.mean, 0.0) + self.noise
        )
        variance = 4.0 * slope * d / n + 2.0 * square / (n * (n - 1))
        third = 24.0 * lead * slope * d / n**2 + 8.0 * lead * square / n**3
        shape = min(4.0 / max(third / variance / math.sqrt(variance), 1e-3) ** 2, 1e6)
        few = 1.0 if p == 0.5 else float(stdtrit(n - 1, p) / ndtri(p))
        return d + few * math.sqrt(variance / shape) * float(gammaincinv(shape, p) - shape)

    def reaching(
        self, value: float, p: float, wider: Callable[[float], float], seen: float
    ) -> float:
        """Return the D from the `seen` one on whose p-quantile of D̂ is this value."""
        base, high = wider(seen), seen + self.noise

        def above(d: float) -> float:
            return self.quantile(d, p, wider(d), base) - value

        while above(high) < 0:
            high *= 2.0
        return _root(above, seen, high)

    def ends(
        self, lower: float, upper: float, wider: Callable[[float], float]
    ) -> tuple[float, float]:
        """Return the least and the largest D for which D̂ is not in the upper, or the lower, tail."""
        seen, low = max(self.mean, 0.0), 0.0
        if self.noise == 0:
            return seen, seen
        now, base = max(self.mean, self.quantile(0.0, upper)), wider(seen)
        if self.quantile(0.0, 1.0 - lower, wider(0.0), base) < now:
            low = _root(
                lambda d: self.quantile(d, 1.0 - lower, wider(d), base) - now, 0.0, seen
            )
        return low, self.reaching(now, upper, wider, seen)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def pair_sums(
    f: AnyArray,
    xi: AnyArray,
    move: AnyArray | None,
    rows: Dependence,
    expected: Squares | None = None,
) -> PairSums:
    """Sum pairs of rows with features f (n, r) of x, k = ffᵀ, and evidence ξ (n, q).

    `move` (n, q) is what a misfit of size 1 does to the mean of ξ, None where that does not
    depend on x. What is `expected` counts, where it is known: rare events may not have
    come. Rows that depend on each other are summed up in parcels, and pairs within one are
    left out.
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
        unit
        * (((f @ (f.T @ v) * v).sum(axis=1) - weights * np.square(v).sum(axis=1)) / (n - 1))
        for v in (xi, move)
    )
    left = means - means.mean() / near.mean() * near
    matrix = unit * (f[some] @ f[some].T) * (xi[some] @ xi[some].T)
    np.fill_diagonal(matrix, 0.0)
    size, m = float(np.abs(matrix).max()) or 1.0, len(some)
    matrix = (matrix / size).astype(np.float32)
    square = _off_diagonal(np.square(matrix))
    cube = float(np.sum((matrix @ matrix) * matrix, dtype=np.float64)) / max(
        m * (m - 1) * (m - 2), 1
    )
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
    return float(matrix.sum(dtype=np.float64) - np.trace(matrix, dtype=np.float64)) / (
        m * (m - 1)
    )


def thinned(rows: Dependence, some: IntArray, n: int) -> Dependence:
    """Return how some of n rows depend on each other: stretches of a series have fewer of them."""
    length = None if rows.length is None else -(-rows.length * len(some) // n)
    return replace(rows.take(some), length=length)


def units_of(rows: Dependence, n: int) -> IntArray | None:
    """Return the parcel of each of n rows, where they depend on each other."""
    return (
        None
        if rows.independent
        else np.asarray(rows.parcels(n, PARCELS)(0, n), dtype=np.int64)
    )


def parcels_of(rows: Dependence, n: int) -> IntArray | None:
    # Twice as long as stretches are: what depends across a cut is a small part of it.
    longer = None if rows.independent else min(2 * (rows.length or 1), max(n // 3, 1))
    return units_of(replace(rows, length=longer), n)


@dataclass(frozen=True, eq=False)
class Size:
    #: Of all columns of y together, or of each by itself: then the size is that of the
    #: worst.
    parts: tuple[PairSums, ...]
    #: From D over `PairSums.near` to the size.
    of: Callable[[float], float]
    #: In what; "a constant shift of {} …"; what is to be said of it.
    unit: str
    like: str
    note: str = ""
    #: From a size to the variance of ξ over that under the model.
    wider: Callable[[float], float] = lambda _: 1.0
    #: Whether it is a shift of a single z, so that what is found tells which spread is
    #: found, too.
    single: bool = False

    @property
    def estimate(self) -> float:
        return max(self.of(part.mean / part.near) for part in self.parts)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return one-sided confidence bounds of the size, each wrong with probability `tail`."""
        # Of several lower bounds the largest counts, and none may be wrong.
        lower = tail / len(self.parts)
        ends = [
            (part.ends(lower, tail, self._wider(part)), part.near) for part in self.parts
        ]
        low, high = (max(self.of(pair[i] / near) for pair, near in ends) for i in (0, 1))
        return low, high

    def _wider(self, part: PairSums) -> Callable[[float], float]:
        return lambda d: self.wider(self.of(d / part.near))

    def power(self, alpha: float, n: int | None) -> Power:
        """Return the size whose D̂ is large enough in `POWER` of all samples of n rows, or parcels.

        The verdict combines several statistics, which costs about what half the alpha does.
        """
        least, spread, sizes = -math.log(1.0 + alpha - POWER) / (n or math.inf), None, []
        for part in self.parts:
            square = (
                part.least if n and part.least else part.square
            )  # as the model says, if it is known
            true, d = (
                replace(part, n=n or part.n, mean=0.0, between=0.0, square=square),
                0.0,
            )
            if true.noise > 0:
                enough = true.quantile(0.0, 1.0 - alpha / (2 * len(self.parts)))
                d = true.reaching(enough, 1.0 - POWER, self._wider(part), 0.0)
            sizes.append(self.of(d / part.near))
        # Where nothing is different nothing can be seen: rare events come one by one.
        size, most = max(*sizes, least), min(self.of(math.inf), MOST)
        if not size < most:
            far = not self.estimate < most
            return Power(
                None if far else math.inf, None, POWER, alpha, TOO_FAR if far else HOPELESS
            )
        words = self.like.format(short(size)) + (f" ({self._how})" if self.note else "")
        if self.single:
            spread = math.exp(
                size / math.sqrt(2.0)
            )  # log σ has twice the Fisher information
            words += (
                ", or a spread wrong by a factor of"
                f" {spread:.{decimals(spread - 1.0) - 1}f},"
            )
        found = (
            f"{words[0].upper()}{words[1:]} would have been found with probability"
            f" {POWER:g}."
        )
        return Power(size, spread, POWER, alpha, found)

    @property
    def _how(self) -> str:
        return self.note.partition(";")[0]

    def effect(self, rejected: bool, level: float = 0.95) -> Effect:
        """Return the size with its interval, which begins at 0 where the model is not rejected."""
        low, high = self.bounds((1.0 - level) / 2.0)
        at = self.estimate
        size = Interval(at, low if rejected else 0.0, max(high, at), level)
        unit = f"{self.unit} ({self._how})" if self.note else self.unit
        how, (seen, within) = "at most as large as", (short(size.high), "")
        if size.low != 0:
            how, (seen, within) = "as large as", sized(size.estimate, size.low, size.high)
        rest = "; ".join(part for part in (within, self.note) if part)
        return Effect(
            size, unit, f"{how} {self.like.format(seen)}{f' ({rest})' if rest else ''}"
        )


def check_allowed(allowed: object) -> float:
    wanted = "a positive number, the largest misfit that you allow"
    return check_number(allowed, "tolerance", wanted, lambda value: 0 < value < math.inf)


def tolerance_of(bench: Bench, effect: Effect, allowed: float, alpha: float) -> Tolerance:
    """Compare the bounds of the size, each one-sided at level 1 − alpha, with what is allowed."""
    low, high = bench.size.bounds(alpha)
    low = (
        low if effect.interval.low > 0 else 0.0
    )  # what may be no misfit at all is not worse
    of = f"and you allow {short(allowed)} ({effect.unit})"
    if low > allowed:
        verdict, words = (
            WORSE,
            f"The misfit is worse than you allow: at least {short(low)}, {of}.",
        )
    elif high < allowed:
        verdict, words = (
            ENOUGH,
            f"The model is good enough: its misfit is at most {short(high)}, {of}.",
        )
    else:
        between = (
            f"at most {short(high)}"
            if low == 0
            else f"between {short(low)} and {short(high)}"
        )
        verdict, words = (
            UNDECIDED,
            f"Undecided: the misfit is {between}, {of}. More rows would tell.",
        )
    return Tolerance(allowed, verdict, low, high, words)


def _on_x(k: CovariateKernel, bench: Bench) -> AnyArray:
    """Return features F of x with k ≈ FFᵀ, (n, r)."""
    x, rng = bench.rows.x, bench.seed.stream(Use.CHECK, SIZE)
    some = np.sort(rng.choice(len(x), min(LANDMARK_ROWS, len(x)), replace=False))
    return Features((nystrom(k, x[some], rng, precision=PRECISION, cap=LANDMARKS_X),)).of(x)


def _on_y(
    u: FloatArray, s: FloatArray, sigma: float, bench: Bench
) -> tuple[FloatArray, FloatArray]:
    """Return Stein functions of y, (n, q), and φ with l(u, u') ≈ φ(u)·φ(u'), (n, r)."""
    rng = bench.seed.stream(Use.CHECK, SIZE)
    some = np.sort(rng.choice(len(u), min(LANDMARK_ROWS, len(u)), replace=False))
    few = ([Gaussian(sigma)], u[some], s[some], rng)
    made = SteinEvidence.on(*few, precision=PRECISION, cap=LANDMARKS_Y)
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
    # Normal scores are all that is known of draws, PITs and bins.
    note = ON_SCORES if rows.by == "cdf" and not bench.law.can("score") else ""
    per = _root_of((1.0 + 2.0 / sigma**2) ** (-rows.y.shape[1] / 2))
    return Size((sums,), per, SD, SHIFT, note, single=rows.y.shape[1] == 1)


def _of_hazard(bench: Bench) -> Size:
    """Times with censoring: E[ξ|x] = s·E[∫f|x] where the hazard is 1 + s times the model's."""
    rows, evidence = bench.rows, CensoredEvidence.at((1.0,))
    first = evidence.blocks[0].columns
    xi = evidence.of(rows.y, rows.scores)[:, first].astype(np.float64)
    move = (evidence.expected(rows.scores[:, 2:]) - evidence.expected(rows.y))[:, first]
    sums = pair_sums(
        _on_x(bench.kernel, bench), xi, move.astype(np.float64), bench.dependence
    )
    like = "a hazard that is off by {} times itself at every x"
    return Size((sums,), _root_of(1.0), "relative error of the hazard", like)


def _of_columns(bench: Bench) -> Size:
    """Draws of several columns of y: a shift of each column by itself."""
    f, note = (
        _on_x(bench.kernel, bench),
        f"{ON_SCORES}; how columns go together is not in that number",
    )
    each = (_on_y(z, -z, 1.0, bench)[0] for z in bench.rows.y.T[:, :, None])
    parts = tuple(pair_sums(f, xi, None, bench.dependence) for xi in each)
    return Size(
        parts, _root_of(3.0**-0.5), SD, f"a constant shift of one column by {{}} {SD}", note
    )


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
    distance = median_distance(few, bench.seed.stream(Use.CHECK, PAIRS), "y")
    return distance if distance > FAR * usual else usual


def misplaced(law: Law, p: FloatArray) -> tuple[FloatArray, str, str]:
    """Return what a misplaced probability of 1 adds to cells, (n, K), its unit, and what it is like.

    It goes from the first class to the next by p (n, K); of cells to the less likely side
    of the middle quantile, or of the widest interval, and cells of a side keep their
    proportions, (1, K).
    """
    if not isinstance(law, CellsOfY):
        like = "predicted probabilities that are off by {} at every x"
        return first_to_next(p), "probability on the wrong class", like
    event, shares = law.events[-1], law.shares
    if event.kind == "quantile":
        event = min(law.events, key=lambda one: abs(one.level - 0.5))
    inside = event.happened(np.arange(len(shares))) != (
        event.kind == "quantile"
    )  # or above it
    gains = inside if shares[inside].sum() < 0.5 else ~inside
    room = float(shares[~gains].sum())
    move = np.where(gains, shares / (1.0 - room), -shares / room)[None]
    if event.kind == "quantile":
        side = f"on the wrong side of the {event.level:g} quantile"
        return move, f"probability {side}", f"a probability of {{}} {side} at every x"
    coverage = f"coverage of the {100 * event.level:g}% interval"
    return move, f"in the {coverage}", f"a {coverage} that is off by {{}} at every x"


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
    residuals, (moved, unit, like) = -p, misplaced(bench.law, p)
    residuals[np.arange(len(p)), outcomes.observed] += 1.0
    if isinstance(bench.law, CellsOfY):  # the same in all rows
        same = np.eye(p.shape[1])
        sums = pair_sums(
            f, residuals, None, dependence, lambda some: squares_of(p[some], same)
        )
        per = float(np.square(moved).sum())
    else:
        xi, move = both(p, residuals), both(p, moved)
        sums = pair_sums(f, xi, move, dependence, lambda some: squares_of_classes(p[some]))
    step = -(-len(moved) // MATRIX)
    q, moved = p[: len(moved) : step], moved[::step]

    def variance(q: FloatArray) -> float:
        return float(np.mean(1.0 - np.square(q).sum(axis=1)))

    def wider(s: float) -> float:
        return max(
            variance(np.clip(q + s * moved, 0.0, 1.0)) / max(variance(q), 1e-12), 1.0
        )

    return Size((sums,), _root_of(per, 1.0), unit, like, wider=wider)


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
    ranks, place = (
        both(p, p)[:, p.shape[1] :],
        np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1),
    )
    joint = p[:, :, None] * (np.minimum(place, RANKS - 1)[:, :, None] == np.arange(RANKS))
    joint, apart = (
        v.reshape(len(p), -1) for v in (joint, p[:, :, None] * ranks[:, None, :])
    )
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
        # The difference operator is close to that of a density, and so is what a shift does
        # to it.
        sums, per = pair_sums(f, xi, None, bench.dependence), (1.0 + 2.0 / SIGMA**2) ** -0.5
        return Size((sums,), _root_of(per), SD, SHIFT, "as its ratios suggest")
    like = kernel.features(np.eye(kernel.width))

    def expected(some: IntArray) -> FloatArray:
        return squares_of(normalised(outcomes.take(some).probabilities), like @ like.T)

    sums = pair_sums(f, xi, None, bench.dependence, expected if outcomes.linear else None)
    some = np.arange(0, len(f), -(-len(f) // TILTED))
    few, near = outcomes.take(some), f[some] @ f[some].T
    p = normalised(few.probabilities)
    positions = rows.cells.blocks[0].positions if outcomes.linear else None
    at = np.arange(float(p.shape[1])) if positions is None else positions
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


def shifted_law(p: FloatArray, at: FloatArray, size: float) -> FloatArray:
    """Tilt p (n, K) of counts at (K,), q ∝ p·exp(θz), until the mean has moved by so many sds.

    Of a Poisson law that is another one. Where the counts end before it is as near as can
    be.
    """
    away = at - (p @ at)[:, None]
    z = away / np.sqrt(np.maximum((p * np.square(away)).sum(axis=1), 1e-300))[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    theta, step = np.zeros(len(p)), STEEPEST / 2.0
    for _ in range(TILTS):
        q = logs + theta[:, None] * z
        q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q /= q.sum(axis=1, keepdims=True)
        theta += np.where((q * z).sum(axis=1) < size, step, -step)
        step *= 0.5
    return np.asarray(q)


def mean_residuals(outcomes: Outcomes, moved: FloatArray) -> FloatArray:
    """Return Σ_c moved_c·r(c), what the mean of residuals moves by, (n, width)."""
    if outcomes.linear:
        return moved
    cells = (np.asarray(outcomes.of(np.full(len(moved), k))) for k in range(moved.shape[1]))
    return np.asarray(
        sum(part[:, None] * cell for part, cell in zip(moved.T, cells, strict=True))
    )


def power_of(bench: Bench, alpha: float) -> Power:
    """Find the smallest misfit that the verdict finds with probability `POWER`."""
    alone = bench.dependence.independent
    units = bench.n if alone else bench.dependence.count or bench.n
    if 2.0 ** (1 - units) > alpha / 2:
        return Power(math.inf, None, POWER, alpha, HOPELESS)
    return bench.size.power(alpha, bench.n if alone else None)
