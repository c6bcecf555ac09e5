"""Power: the smallest misfit, the same at every x, that the verdict finds; misfits are those of `_size`.

Such a misfit moves the constant, G = Σ_i ξ_i, to n·E[ξ]. Sums under it are drawn and go through the
combination of the verdict; other families stay at their null draws, so that it is rather too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray
from condgof.check._record import Power
from condgof.check._size import (
    MISFITS,
    SD,
    Bench,
    Side,
    count_positions,
    mean_residuals,
    score_spread,
    shifted_law,
    wider_law,
)
from condgof.laws._discrete import normalised
from condgof.laws._known import CellsOfY
from condgof.methods._adaptive import Adapted
from condgof.null._combine import Combination, Family
from condgof.result import decimals, short
from condgof.stein._evidence import CensoredEvidence, Evidence, NormalEvidence

POWER = 0.8
#: Draws of the sum under a misfit; rows from which its mean and noise come, of counts fewer.
DRAWS, ROWS, ROWS_SLOW = 240, 800, 128
#: The least and the largest shift and logarithm of a ratio.
LEAST, MOST = 1e-5, 4.0
#: Families of statistics of the constant.
CONSTANT = ("constant", "level")
HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."
UNKNOWN = "What size of misfit would have been found is not known"

#: From a size to the evidence of rows (N, q) under the misfit, the mean of the evidence (q,), and the
#: share of rows that are other than they would have been.
Misfit = Callable[[float], tuple[AnyArray, AnyArray, float]]
#: From a misfit, and its largest size, to the smallest size that is found; infinite if it is larger.
Finder = Callable[[Misfit, float], float]


def power_of(adapted: Adapted, bench: Bench, alpha: float) -> Power:
    """Find the smallest misfit of each kind that the verdict finds with probability `POWER`."""
    units = bench.n if bench.dependence.independent else bench.dependence.count or bench.n
    size, spread, found = math.inf, None, ""
    if 2.0 ** (1 - units) <= alpha / 2:
        why = _unknown(bench)
        if why:
            return Power(None, None, POWER, alpha, f"{UNKNOWN} {why}.")
        evidence, smallest = adapted.design.plan.evidence, _finder(adapted, bench, alpha)
        of = _of_continuous if bench.rows.cells is None else _of_cells
        of = _of_hazard if isinstance(evidence, CensoredEvidence) else of
        size, spread, found = of(smallest, evidence, bench)
    rest = f"{found[1:]} would have been found with probability {POWER:g}."
    return Power(size, spread, POWER, alpha, f"{found[0].upper()}{rest}" if found else HOPELESS)


def _unknown(bench: Bench) -> str:
    """Say where no misfit can be followed to the verdict."""
    rows = bench.rows
    if bench.ranks:
        return "for draws of several columns"
    if rows.cells is not None and rows.outcomes is None:
        return "where very many counts are known by ratios of their probabilities"
    plain = rows.cells is not None and len(rows.cells.blocks) == 1 and not bench.counts
    if plain and not isinstance(bench.law, CellsOfY):
        return "where classes are compared by their labels alone"
    return ""


def _finder(adapted: Adapted, bench: Bench, alpha: float) -> Finder:
    """Return what asks the verdict about misfits."""
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
    """Name a shift, or a ratio of spreads, as far as they are finite."""
    parts = []
    if math.isfinite(size):
        parts.append(f"a shift{of} {'by' if of else 'of'} {short(size)} {SD}{scale}")
    if spread is not None and math.isfinite(spread):
        parts.append(f"a spread{of} wrong by a factor of {spread:.{decimals(spread - 1.0) - 1}f}")
    return ", or ".join(parts) + "," * (len(parts) > 1)


def _of_continuous(
    smallest: Finder, evidence: Evidence, bench: Bench
) -> tuple[float, float | None, str]:
    rows, unit, spread = bench.rows, 1.0, None
    if rows.by == "none":
        unit = float(np.exp(np.log(score_spread(rows)).mean())) or 1.0
    size = smallest(_moved(evidence, bench, lambda u, size: u + size * unit, unit), MOST)
    if rows.by != "none":
        wider = _moved(evidence, bench, lambda u, size: u * math.exp(size), unit)
        spread = math.exp(smallest(wider, MOST))
    of = " of one column" if rows.sample.d_y > 1 else ""
    scale = " (on its normal-score scale)" * bench.ranked_only
    return size, spread, _shift_or_spread(size, spread, of, scale)


def _moved(
    evidence: Evidence, bench: Bench, move: Callable[[FloatArray, float], FloatArray], unit: float
) -> Misfit:
    """Return what a move of the first column of y does, in the coordinates of the test.

    Scores there move as those of a Gaussian of that standard deviation do.
    """
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


def _of_hazard(smallest: Finder, evidence: Evidence, bench: Bench) -> tuple[float, None, str]:
    """A row at risk at Λ is so with exp(−sΛ) times the probability where the hazard is 1 + s times it.

    E[ξ] = s·E[∫ f(Λ) exp(−sΛ) dΛ] over the time that rows are watched.
    """
    assert isinstance(evidence, CensoredEvidence)
    rows, tilted = bench.rows, evidence.tilted
    some = np.sort(bench.stream(MISFITS).choice(rows.n, min(ROWS, rows.n), replace=False))
    u, watched = rows.y[some], rows.scores[some]
    xi = evidence.of(u, watched)

    def misfit(size: float) -> tuple[AnyArray, AnyArray, float]:
        moved = tilted(size, u) - tilted(size, watched[:, 2:])
        return xi, size * moved.mean(axis=0, dtype=np.float64), math.inf

    size = smallest(misfit, MOST)
    found = f"a hazard that is {short(1.0 + size)} times what the model says, at every x,"
    return size, None, found if math.isfinite(size) else ""


def _of_cells(smallest: Finder, evidence: Evidence, bench: Bench) -> tuple[float, float | None, str]:
    rows, outcomes, rng = bench.rows, bench.rows.outcomes, bench.stream(MISFITS)
    assert outcomes is not None
    most_rows = min(ROWS_SLOW if bench.counts else ROWS, rows.n)
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
