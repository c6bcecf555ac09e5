"""Power: the smallest misfit, the same at every x, that the verdict finds.

Such a misfit moves the constant, G = Σ_i ξ_i, to n·E[ξ], and no function of x whose mean over the rows
is 0. Sums under it are drawn and go through the combination of the verdict. Single locations, the
largest surprises and slices see it, too, but stay at their null draws here: the power is rather too
small. The misfits, and so the unit, are those of `_size`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._record import Power
from condgof.check._size import (
    MISFITS,
    SD,
    Bench,
    Side,
    first_to_next,
    mean_residuals,
    score_spread,
    shifted_law,
    wider_law,
)
from condgof.laws._discrete import Outcomes, normalised
from condgof.laws._known import CellsOfY
from condgof.methods._adaptive import Adapted
from condgof.null._combine import Combination, Family
from condgof.result import decimals, short
from condgof.stein._evidence import CensoredEvidence, Evidence, NormalEvidence

POWER = 0.8
#: Draws of the sum under a misfit; rows from which its mean and noise come, of counts fewer.
DRAWS, ROWS, ROWS_SLOW = 240, 800, 128
#: The least and the largest shift and logarithm of a ratio, and how often the last step is halved.
LEAST, MOST, HALVED = 1e-5, 4.0, 1
#: Families of statistics of the constant.
CONSTANT = ("constant", "level")
HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."
UNKNOWN = "What size of misfit would have been found is not known"

#: From a size to the evidence of rows (N, q) under the misfit, the mean of the evidence (q,), and the
#: share of rows that are other than they would have been.
Misfit = Callable[[float], tuple[AnyArray, AnyArray, float]]
#: From a size to probabilities of cells, (n, K).
Law = Callable[[float], FloatArray]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The test, ready to be asked about misfits."""

    #: Of one statistic for each family that is not of the constant, and after them those of the
    #: constant; null draws of the former, (families, DRAWS).
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
    def of(cls, adapted: Adapted, n: int, alpha: float, rng: np.random.Generator) -> Verdict:
        """Keep the statistics of the constant; of another family its value is enough."""
        whole = adapted.combination
        of_x = [
            (f, p) for f, p in zip(whole.families, whole.parts, strict=True) if f.name not in CONSTANT
        ]
        constants = [f for f in whole.families if f.name in CONSTANT]
        constant, first = adapted.design.plan.which("constant"), len(of_x)
        families = [Family(f.name, f.share, np.array([i])) for i, (f, _) in enumerate(of_x)]
        families += [
            Family(f.name, f.share, first + np.searchsorted(constant, f.which)) for f in constants
        ]
        scaled = np.vstack([*(part for _, part in of_x), whole.scaled[constant]])
        centre = np.append(np.zeros(first), whole.centre[constant])
        spread = np.append(np.ones(first), whole.spread[constant])
        some = np.arange(DRAWS) % (scaled.shape[1] - 1)
        combination = Combination(tuple(families), scaled, centre, spread)
        known, evidence = "null" in adapted.ran.details, adapted.design.plan.evidence
        return cls(combination, scaled[:first, some], evidence, n, alpha, known, rng)

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
            expected = self.n * np.add.reduceat(np.square(xi).mean(axis=0), starts)
            moved = np.add.reduceat(np.square(sums), starts, axis=1) - expected
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


def power_of(adapted: Adapted, bench: Bench, alpha: float) -> Power:
    """Find the smallest misfit of each kind that the verdict finds."""
    rows = bench.rows
    units = bench.n if bench.dependence.independent else bench.dependence.count or bench.n
    if 2.0 ** (1 - units) > alpha / 2:
        return Power(math.inf, None, POWER, alpha, HOPELESS)
    verdict = Verdict.of(adapted, bench.n, alpha, bench.stream(MISFITS))
    if rows.cells is not None:
        return _of_cells(verdict, bench)
    if isinstance(verdict.evidence, CensoredEvidence):
        return _of_hazard(verdict, verdict.evidence, bench)
    tau = float(np.exp(np.log(score_spread(rows)).mean())) if rows.by == "none" else None
    unit, spread = tau or 1.0, None
    shift = verdict.smallest(_moved(verdict.evidence, bench, lambda u, size: u + size * unit, unit))
    if tau is None:
        wider = _moved(verdict.evidence, bench, lambda u, size: u * math.exp(size), unit)
        spread = math.exp(verdict.smallest(wider))
    return _told(shift, spread, alpha, rows.sample.d_y, bench.ranked_only)


def _told(size: float, spread: float | None, alpha: float, d_y: int = 1, ranked: bool = False) -> Power:
    """Say a shift, or a ratio of spreads, as far as they are finite."""
    of, by = (" of one column", "by") if d_y > 1 else ("", "of")
    parts = []
    if math.isfinite(size):
        scale = " (on its normal-score scale)" * ranked
        parts.append(f"a shift{of} {by} {short(size)} {SD}{scale}")
    if spread is not None and math.isfinite(spread):
        parts.append(f"a spread{of} wrong by a factor of {spread:.{decimals(spread - 1.0) - 1}f}")
    words = _found(", or ".join(parts) + "," * (len(parts) > 1))
    return Power(size, spread, POWER, alpha, words)


def _found(what: str) -> str:
    """Say that a misfit would have been found."""
    if not what:
        return HOPELESS
    return f"{what[0].upper()}{what[1:]} would have been found with probability {POWER:g}."


def _moved(
    evidence: Evidence, bench: Bench, move: Callable[[FloatArray, float], FloatArray], unit: float
) -> Misfit:
    """Return what a move of the first column of y does, in the coordinates of the test.

    Scores there move as those of a Gaussian of that standard deviation do.
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
        other, moved_scores = u.copy(), scores.copy()
        other[:, 0] = move(u[:, 0], size)
        moved_scores[:, 0] -= (other[:, 0] - u[:, 0]) / unit**2  # s(y) = −(y − mean)/τ²
        xi = evidence.of(other, moved_scores)
        return xi, np.asarray((xi - before).mean(axis=0, dtype=np.float64)), math.inf

    return misfit


def _of_hazard(verdict: Verdict, evidence: CensoredEvidence, bench: Bench) -> Power:
    """Find the smallest excess of the hazard, the same at every x and all the time.

    A row at risk at Λ is so with exp(−(r − 1)Λ) times the probability where the hazard is r times what
    the model says, and E[ξ] = (r − 1)·E[∫ f(Λ) exp(−(r − 1)Λ) dΛ] over the time that rows are watched.
    """
    rows, rng = bench.rows, bench.stream(MISFITS)
    some = np.sort(rng.choice(rows.n, min(ROWS, rows.n), replace=False))
    u, watched = rows.y[some], rows.scores[some]
    xi = evidence.of(u, watched)

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        moved = evidence.tilted(size, u) - evidence.tilted(size, watched[:, 2:])
        return xi, size * moved.mean(axis=0, dtype=np.float64), math.inf

    size = verdict.smallest(misfit)
    words = _found(
        f"a hazard that is {short(1.0 + size)} times what the model says, at every x,"
        if math.isfinite(size)
        else ""
    )
    return Power(size, None, POWER, verdict.alpha, words)


def _of_cells(verdict: Verdict, bench: Bench) -> Power:
    """Find the smallest misfit of a discrete y."""
    rows, alpha, rng = bench.rows, verdict.alpha, bench.stream(MISFITS)
    assert rows.cells is not None
    why = ""
    if bench.ranks:
        why = "for draws of several columns"
    elif rows.outcomes is None:
        why = "where very many counts are known by ratios of their probabilities"
    elif not bench.counts and not isinstance(bench.law, CellsOfY) and len(rows.cells.blocks) == 1:
        why = "where classes are compared by their labels alone"
    if why or rows.outcomes is None:
        return Power(None, None, POWER, alpha, f"{UNKNOWN} {why}.")
    some = np.sort(rng.choice(rows.n, min(ROWS_SLOW if bench.counts else ROWS, rows.n), replace=False))
    seen = rows.outcomes.take(some)
    p = normalised(seen.probabilities)

    def smallest(law: Law, most: float) -> float:
        return verdict.smallest(_of_law(verdict.evidence, seen, p, law, bench.stream(MISFITS)), most)

    if bench.counts:
        positions = rows.cells.blocks[0].positions if seen.linear else None
        at = np.arange(float(p.shape[1])) if positions is None else positions
        shift = smallest(lambda a: shifted_law(p, at, a), MOST)
        return _told(shift, math.sqrt(1.0 + smallest(lambda v: wider_law(p, at, v), MOST)), alpha)
    side = Side.of(bench.law) if isinstance(bench.law, CellsOfY) else None
    move, most = (first_to_next(p), 1.0) if side is None else (side.move, side.room)
    size = smallest(lambda a: p + a * move, most)
    words = f"predicted probabilities that are off by {short(size)} at every x"
    words = words if side is None else side.found.format(short(size))
    return Power(size, None, POWER, alpha, _found(words if math.isfinite(size) else ""))


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
