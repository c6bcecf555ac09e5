"""What the test could have seen: the power of the verdict against misfits that are the same at every x.

Such a misfit moves the constant, G = Σ_i ξ_i, to n·E[ξ], and no function of x whose mean over the rows
is 0: those of x, columns and pairs. Single locations and the largest surprises it does move, but their
statistics stay at their null draws here, so that the power is rather too small. All go through the
combination of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.laws import CellsOfY, Outcomes, normalised
from condgof.locate._bench import MISFITS, Bench, by_ranks
from condgof.locate._record import Detectable
from condgof.locate._sides import Side
from condgof.locate._words import class_words, misfit_words, short
from condgof.methods._adaptive import Adapted
from condgof.null import Combination, Family
from condgof.stein import Evidence, NormalEvidence

POWER = 0.8
#: Draws of the sum under a misfit; rows from which its mean and noise come, of ratios of counts fewer.
DRAWS, ROWS, ROWS_SLOW = 240, 800, 200
#: The least and the largest shift and logarithm of a ratio, and how often the last step is halved.
LEAST, MOST, HALVED = 1e-5, 4.0, 1
#: Halvings in the search for the tilt of a law of counts, and the largest; points of the law of moves.
HALVINGS, STEEPEST, POINTS = 14, 8.0, 6
HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."
UNKNOWN = "What size of misfit would have been found is not known"
UNKNOWN_RATIOS = (
    f"{UNKNOWN}: of this model there are ratios of probabilities only, for very many counts."
)
UNKNOWN_LABELS = f"{UNKNOWN} where classes are compared by their labels alone."
UNKNOWN_DRAWS = f"{UNKNOWN} for draws of several columns."

#: From a size to the evidence of rows (N, q) under the misfit, the mean of the evidence (q,), and the
#: share of rows that are other than they would have been.
Misfit = Callable[[float], tuple[AnyArray, AnyArray, float]]
#: From a size to probabilities of cells, (n, K).
Law = Callable[[float], FloatArray]


@dataclass(frozen=True, eq=False)
class Power:
    """The test, ready to be asked about misfits."""

    #: Of the statistics of the constant, and of one for each other family; null draws of the latter,
    #: (families − 1, DRAWS).
    combination: Combination
    others: FloatArray
    #: What y is seen through, number of rows, and level.
    evidence: Evidence
    n: int
    alpha: float
    #: Whether the null was drawn from the law; with signs, a misfit widens its own null.
    known: bool
    #: Draws signs.
    rng: np.random.Generator

    @classmethod
    def of(cls, adapted: Adapted, n: int, alpha: float, rng: np.random.Generator) -> Power:
        """Take the statistics of the constant from all others, of which the family's value is enough."""
        whole, plan = adapted.combination, adapted.design.plan
        both = list(zip(whole.families, whole.parts, strict=True))
        constant = next(family for family, _ in both if family.name == "constant")
        rest = [(family, part) for family, part in both if family is not constant]
        scaled = np.vstack([*(part for _, part in rest), whole.scaled[constant.which]])
        families = [Family(f.name, f.share, np.array([i])) for i, (f, _) in enumerate(rest)]
        families.append(Family("constant", constant.share, np.arange(len(rest), len(scaled))))
        centre = np.append(np.zeros(len(rest)), whole.centre[constant.which])
        spread = np.append(np.ones(len(rest)), whole.spread[constant.which])
        some = np.arange(DRAWS) % (scaled.shape[1] - 1)
        known = "null" in adapted.ran.details
        combination = Combination(tuple(families), scaled, centre, spread)
        return cls(combination, scaled[: len(rest), some], plan.evidence, n, alpha, known, rng)

    def smallest(self, misfit: Misfit, most: float = MOST) -> float:
        """Return the smallest size that is found with probability `POWER`, infinite if beyond `most`."""
        none = misfit(0.0)[0]
        signs = self.rng.integers(0, 2, (DRAWS, len(none))).astype(none.dtype) * 2 - 1
        starts = [block.columns.start for block in self.evidence.blocks]
        before = None if self.known else self._second(none)
        threshold = self.combination.threshold(self.alpha)

        @np.errstate(over="ignore", invalid="ignore")
        def power(size: float) -> float:
            xi, mean, share = misfit(size)
            centred = xi - xi.mean(axis=0)
            sums = self.n * mean + np.sqrt(self.n / len(xi)) * (signs @ centred)
            own = self.n * np.add.reduceat(np.square(xi).mean(axis=0), starts)
            moved = np.add.reduceat(np.square(sums), starts, axis=1) - own
            if before is not None:
                moved /= np.maximum(self._second(xi), 1e-300) / np.maximum(before, 1e-300)
            values = self.combination.of_others(np.vstack([self.others, moved.T]))
            # Where nothing is different, nothing can be seen: rare events come one by one.
            limit = self.alpha - math.expm1(-self.n * share)
            return min(float(np.mean(values >= threshold)), limit)

        return crossing(power, min(3.0 / math.sqrt(self.n), most / 2), most)

    def _second(self, xi: AnyArray) -> FloatArray:
        """Return the size of E[ξξᵀ] of each block, to which the spread under signs is in proportion."""
        parts = (xi[:, block.columns] for block in self.evidence.blocks)
        return np.array([np.linalg.norm(part.T @ part) / len(part) for part in parts])


def crossing(power_at: Callable[[float], float], guess: float, most: float) -> float:
    """Return the size at which a growing function reaches `POWER`, from a first guess on.

    Examples
    --------
    >>> round(crossing(lambda size: min(size, 1.0), 0.3, 4.0), 2)
    0.8
    """
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
    for _ in range(HALVED):
        middle = math.sqrt(low[0] * high[0])
        power = power_at(middle)
        low, high = (low, (middle, power)) if power >= POWER else ((middle, power), high)
    share = (POWER - low[1]) / (high[1] - low[1]) if high[1] > low[1] else 0.5
    return float(low[0] + share * (high[0] - low[0]))


def detectable_of(
    adapted: Adapted, bench: Bench, alpha: float, tau: float | None, ranked: bool
) -> Detectable:
    """Find the smallest misfit of each kind that the test finds."""
    rows, rng = bench.rows, bench.stream(MISFITS)
    counts = rows.cells is not None and rows.cells.blocks[0].distances
    units = bench.n if bench.dependence.independent else bench.dependence.count or bench.n
    if 2.0 ** (1 - units) > alpha / 2:
        shift = math.inf if rows.cells is None or counts else None
        width = math.inf if rows.cells is None and tau is None else None
        return Detectable(shift, width, POWER, alpha, HOPELESS)
    power = Power.of(adapted, bench.n, alpha, rng)
    if rows.cells is not None:
        return _of_cells(power, bench, counts)
    shift = power.smallest(_moved(power.evidence, bench, lambda u, size: u + size * (tau or 1.0), tau))
    width = None
    if tau is None:
        wider = power.smallest(_moved(power.evidence, bench, lambda u, size: u * math.exp(size), tau))
        width = math.exp(wider)
    said = found(misfit_words(shift, width, rows.sample.d_y, ranked))
    return Detectable(shift, width, POWER, alpha, said)


def found(what: str) -> str:
    """Say that a misfit would have been found."""
    return f"{what} would have been found with probability {POWER:g}." if what else HOPELESS


def _moved(
    evidence: Evidence, bench: Bench, move: Callable[[FloatArray, float], FloatArray], tau: float | None
) -> Misfit:
    """Return what a move of the first column of y does, in the coordinates of the test.

    Scores there move as those of a Gaussian of standard deviation τ do.
    """
    from scipy.special import ndtri

    rng, rows = bench.stream(MISFITS), bench.rows
    if isinstance(evidence, NormalEvidence):
        # Evenly spread over the law in each column.
        places = [rng.permutation(ROWS) + 0.5 for _ in range(rows.sample.d_y)]
        u = np.asarray(ndtri(np.column_stack(places) / ROWS))
        scores = -u
    else:
        some = np.sort(rng.choice(rows.n, min(ROWS, rows.n), replace=False))
        u, scores = rows.y[some], rows.scores[some]
    before = evidence.of(u, scores)

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        other, own = u.copy(), scores.copy()
        other[:, 0] = move(u[:, 0], size)
        own[:, 0] -= (other[:, 0] - u[:, 0]) / (tau or 1.0) ** 2  # s(y) = −(y − mean)/τ²
        xi = evidence.of(other, own)
        return xi, np.asarray((xi - before).mean(axis=0, dtype=np.float64)), math.inf

    return misfit


def _of_cells(power: Power, bench: Bench, counts: bool) -> Detectable:
    """Find the smallest misfit of a discrete y."""
    rows, alpha = bench.rows, power.alpha
    assert rows.cells is not None
    if by_ranks(rows):
        return Detectable(None, None, POWER, alpha, UNKNOWN_DRAWS)
    if rows.outcomes is None:
        return Detectable(None, None, POWER, alpha, UNKNOWN_RATIOS)
    most_rows = ROWS_SLOW if counts else ROWS
    some = np.sort(bench.stream(MISFITS).choice(rows.n, min(most_rows, rows.n), replace=False))
    seen = rows.outcomes.take(some)
    p = normalised(seen.probabilities)

    def smallest(law: Law, most: float) -> float:
        return power.smallest(_of_law(power.evidence, seen, p, law, bench.stream(MISFITS)), most)

    if isinstance(bench.law, CellsOfY):
        side = Side.of(bench.law)
        size = smallest(lambda a: p + a * side.move, side.room)
        said = found(side.found(short(size))) if math.isfinite(size) else HOPELESS
        return Detectable(None, None, POWER, alpha, said, size)
    if not counts:
        if len(rows.cells.blocks) == 1:
            return Detectable(None, None, POWER, alpha, UNKNOWN_LABELS)
        move = first_to_next(p)
        size = smallest(lambda a: p + a * move, 1.0)
        said = found(class_words(size)) if math.isfinite(size) else HOPELESS
        return Detectable(None, None, POWER, alpha, said, size)
    positions = rows.cells.blocks[0].positions if seen.linear else None
    at = np.arange(float(p.shape[1])) if positions is None else positions
    shift = smallest(lambda a: shifted_law(p, at, a), MOST)
    width = math.sqrt(1.0 + smallest(lambda v: wider_law(p, at, v), MOST))
    return Detectable(shift, width, POWER, alpha, found(misfit_words(shift, width, 1)))


def _of_law(
    evidence: Evidence, outcomes: Outcomes, p: FloatArray, law: Law, rng: np.random.Generator
) -> Misfit:
    """Return what probabilities other than p (n, cells) do to the evidence of a discrete y.

    Rows are drawn at evenly spread places of their laws: rare events are as many as they should be.
    """
    order = np.argsort(-p, axis=1, kind="stable")  # rare cells last
    at = ((rng.permutation(len(p)) + rng.random()) / len(p))[:, None]

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        q = normalised(np.maximum(law(size), 0.0))
        sums = np.cumsum(np.take_along_axis(q, order, axis=1), axis=1)
        places = np.minimum((at >= sums).sum(axis=1), p.shape[1] - 1)
        xi = evidence.of(p, np.asarray(outcomes.of(order[np.arange(len(p)), places])))
        mean = evidence.of(p, mean_residuals(outcomes, q - p)).mean(axis=0)
        return xi, mean, 0.5 * float(np.abs(q - p).sum(axis=1).mean())

    return misfit


def mean_residuals(outcomes: Outcomes, moved: FloatArray) -> FloatArray:
    """Return Σ_c moved_c·r(c), what the mean of residuals moves by, (n, width)."""
    if outcomes.linear:
        return moved
    if (np.count_nonzero(np.abs(moved) > 1e-12, axis=1) <= 2).all():  # from one cell to another
        ends = [np.argmax(part, axis=1) for part in (moved, -moved)]
    else:
        ends = [np.full(len(moved), k) for k in range(moved.shape[1])]
    rows = np.arange(len(moved))
    return np.asarray(sum(moved[rows, end][:, None] * np.asarray(outcomes.of(end)) for end in ends))


def first_to_next(p: FloatArray) -> FloatArray:
    """Return what takes probability from the most probable class and gives it to the next, (n, K).

    Examples
    --------
    >>> first_to_next(np.array([[0.5, 0.2, 0.3]]))
    array([[-1.,  0.,  1.]])
    """
    order, rows = np.argsort(-p, axis=1, kind="stable"), np.arange(len(p))
    direction = np.zeros(p.shape)
    direction[rows, order[:, 0]], direction[rows, order[:, 1]] = -1.0, 1.0
    return direction


def shifted_law(p: FloatArray, at: FloatArray, size: FloatArray | float) -> FloatArray:
    """Tilt probabilities p (n, K) of counts at (K,) until the mean has moved by so many of their sds.

    q ∝ p·exp(θz) with z in standard deviations: of a Poisson law, another Poisson law. Where no law on
    these cells has such a mean (the counts end), it is as near as can be.

    Examples
    --------
    >>> p = np.array([[0.25, 0.5, 0.25]])
    >>> q = shifted_law(p, np.arange(3.0), 0.5)
    >>> round(float((q @ np.arange(3.0))[0] - 1.0), 2), round(float(np.sqrt(0.5) / 2), 2)
    (0.35, 0.35)
    """
    z, logs = _standardised(p, at), np.log(np.maximum(p, 1e-300))
    theta, step = np.zeros((len(p), 1)), STEEPEST / 2.0
    for _ in range(HALVINGS):
        q = np.exp(logs + theta * z - (logs + theta * z).max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        theta = theta + np.where((q * z).sum(axis=1) < size, step, -step)[:, None]
        step *= 0.5
    return np.asarray(q)


def wider_law(p: FloatArray, at: FloatArray, grown: float) -> FloatArray:
    """Mix laws that are moved up and down, until the variance is larger by this share of its own.

    How far they are moved has a Gamma law, at some points of it, so that a Poisson law becomes about a
    negative binomial one: with z₀ standard deviations from the mean down to where counts begin, its
    shape is z₀²/grown.

    Examples
    --------
    >>> at = np.arange(60.0)
    >>> p = np.exp(at * np.log(4.0) - 4.0 - np.cumsum(np.log(np.maximum(at, 1))))[None]  # Poisson, 4
    >>> q = wider_law(p, at, 1.25)
    >>> round(float((q @ at)[0]), 1), round(float((q @ (at - 4) ** 2)[0]), 1)
    (4.0, 9.0)
    """
    from scipy.special import gammaincinv

    if not grown:
        return p
    down = np.maximum(-np.where(p > 1e-12, _standardised(p, at), np.inf).min(axis=1), 0.1)
    moves = gammaincinv((down**2 / grown)[:, None], (np.arange(POINTS) + 0.5) / POINTS)
    moves -= moves.mean(axis=1, keepdims=True)
    moves *= np.sqrt(grown) / np.maximum(moves.std(axis=1, keepdims=True), 1e-300)
    return np.asarray(sum(shifted_law(p, at, move) for move in moves.T) / POINTS)


def _standardised(p: FloatArray, at: FloatArray) -> FloatArray:
    mean = p @ at
    spread = np.sqrt(np.maximum((p * np.square(at - mean[:, None])).sum(axis=1), 1e-300))
    return np.asarray((at - mean[:, None]) / spread[:, None])
