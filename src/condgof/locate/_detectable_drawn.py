"""What the test could have seen of a discrete y, by drawing misfits and testing them.

Where the null of the test is y drawn anew from the model, y can be drawn from a misfit of any size as
well, and the power at that size is a share of draws. That matters where a model is nearly certain: what
tells the misfit there are rare events, of which no calculation with means and variances knows enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.locate._bench import MISFITS
from condgof.locate._detectable import POWER, Combination
from condgof.methods import LOCAL_X, SCALES_SMALLEST, Adapted, Scored, narrowed, scale_features
from condgof.sample import Seed, Use
from condgof.stein import CentredScales, Redraw

#: Draws at each size; steps between sizes, how many of them, and how often the last is halved.
DRAWS, STEP, STEPS, HALVED = 200, 1.5, 6, 2
#: Halvings in the search for the tilt of a row, and the largest; points of the law of its moves.
HALVINGS, STEEPEST, POINTS = 25, 8.0, 8
#: It is done up to so many multiplications at each size.
WORK = 1.5e10
#: From the probabilities of a model and a size to those of a misfit of that size.
Misfit = Callable[[float], FloatArray]


@dataclass(frozen=True, eq=False)
class DrawnPower:
    """The power of the adaptive test against laws of a discrete y.

    Parameters
    ----------
    plan : Redraw
        The statistics of the test.
    combination : Combination
        How they are combined.
    threshold : float
        What the combined statistic must reach.
    seed : Seed
        The source of randomness: the same draws serve all sizes.
    engine : Engine
        Where draws are made.
    """

    plan: Redraw
    combination: Combination
    threshold: float
    seed: Seed
    engine: Engine

    @classmethod
    def of(
        cls,
        adapted: Adapted,
        rows: Scored,
        combination: Combination,
        threshold: float,
        seed: Seed,
        engine: Engine,
    ) -> DrawnPower | None:
        """Make it for a test whose null was drawn from the model; None where that is too much work."""
        design, parts = adapted.design, adapted.parts
        kernel = design.scale_kernel(rows)
        assert isinstance(kernel, CentredScales)
        assert rows.outcomes is not None
        narrow = tuple(narrowed(design.kernel_x, scale) for scale in kernel.x_scales)
        near = np.empty((rows.n, 0))
        if parts.local is not None:
            near = narrowed(design.kernel_x, LOCAL_X)(rows.x, parts.locations)
        blocks = scale_features(narrow, rows.x, seed)
        plan = Redraw(rows.outcomes, kernel.kernels, blocks, near, SCALES_SMALLEST)
        if plan.work * DRAWS > WORK:
            return None
        own = Seed(int(seed.stream(Use.CHECK, MISFITS).integers(2**63)))
        return cls(plan, combination, threshold, own, engine)

    def found(self, drawn: FloatArray) -> float:
        """Return how often the test rejects, where y has these probabilities (n, cells)."""
        scales, local = replace(self.plan, drawn=drawn).run(DRAWS, self.seed, self.engine)
        forms = np.concatenate([scales.forms, local.forms]) / (len(drawn) - 1)
        z = forms / self.combination.spread[:, None]
        return float(np.mean(self.combination.combined(z) >= self.threshold))

    def smallest(self, misfit: Misfit, start: float, most: float) -> float:
        """Return the size that is found with probability `POWER`, from a first guess on.

        Sizes grow, or shrink, until the power crosses; then the step is halved a few times, and between
        the last two sizes it is interpolated.
        """
        if not math.isfinite(start):
            return start
        size, power = start, self.found(misfit(start))
        up = power < POWER
        for _ in range(STEPS):
            following = size * STEP if up else size / STEP
            if following > most:
                return math.inf
            reached = self.found(misfit(following))
            if (reached >= POWER) == up:
                ends = sorted([(size, power), (following, reached)])
                return self._between(misfit, ends[0], ends[1])
            size, power = following, reached
        return math.inf if up else size

    def _between(self, misfit: Misfit, low: tuple[float, float], high: tuple[float, float]) -> float:
        """Return the size between two, each with its power, at which the power is `POWER`."""
        for _ in range(HALVED):
            middle = math.sqrt(low[0] * high[0])
            power = self.found(misfit(middle))
            low, high = (low, (middle, power)) if power >= POWER else ((middle, power), high)
        gain = high[1] - low[1]
        share = (POWER - low[1]) / gain if gain > 0 else 0.5
        return float(low[0] * (high[0] / low[0]) ** share)


def too_sure(p: FloatArray, size: float) -> FloatArray:
    """Take probability from the most probable class and give it to the next, as much as there is.

    Examples
    --------
    >>> too_sure(np.array([[0.7, 0.2, 0.1]]), 0.05).round(2)
    array([[0.65, 0.25, 0.1 ]])
    """
    order, rows = np.argsort(-p, axis=1, kind="stable"), np.arange(len(p))
    moved = np.minimum(size, p[rows, order[:, 0]])
    q = np.array(p)
    q[rows, order[:, 0]] -= moved
    q[rows, order[:, 1]] += moved
    return q


def shifted_law(p: FloatArray, at: FloatArray, size: FloatArray | float) -> FloatArray:
    """Tilt probabilities p (n, K) of counts at (K,) until the mean has moved by so many of their sds.

    q ∝ p·exp(θz) with z in standard deviations: of a Poisson law, another Poisson law. Where no law on
    these cells has such a mean (the counts end), it is as near as can be.

    Examples
    --------
    >>> p = np.array([[0.25, 0.5, 0.25]])
    >>> q = shifted_law(p, np.arange(3.0), 0.5)
    >>> round(float((q @ np.arange(3.0))[0] - 1.0), 3), round(float(np.sqrt(0.5) / 2), 3)
    (0.354, 0.354)
    """
    z = _standardised(p, at)
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    low, high = np.full((len(p), 1), -STEEPEST), np.full((len(p), 1), STEEPEST)
    for _ in range(HALVINGS):
        theta = 0.5 * (low + high)
        raised = logs + theta * z
        q = np.exp(raised - raised.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        below = ((q * z).sum(axis=1) < size)[:, None]
        low, high = np.where(below, theta, low), np.where(below, high, theta)
    return np.asarray(q)


def wider_law(p: FloatArray, at: FloatArray, ratio: float) -> FloatArray:
    """Mix laws that are moved up and down, until the standard deviation is larger by a factor.

    The mean stays. How far they are moved has a Gamma law, at some points of it, so that a Poisson law
    becomes about a negative binomial one: with z₀ standard deviations from the mean down to where counts
    begin, its shape is z₀²/(ratio² − 1).

    Examples
    --------
    >>> at = np.arange(60.0)
    >>> p = np.exp(at * np.log(4.0) - 4.0 - np.cumsum(np.log(np.maximum(at, 1))))[None]  # Poisson, 4
    >>> q = wider_law(p, at, 1.5)
    >>> round(float((q @ at)[0]), 1), round(float((q @ (at - 4) ** 2)[0]), 1)  # variance 4·1.5²
    (4.0, 9.0)
    """
    from scipy.special import gammaincinv

    z, grown = _standardised(p, at), ratio**2 - 1.0
    down = np.maximum(-np.where(p > 0, z, np.inf).min(axis=1), 0.1)
    moves = gammaincinv((down**2 / grown)[:, None], (np.arange(POINTS) + 0.5) / POINTS)
    moves -= moves.mean(axis=1, keepdims=True)
    moves *= np.sqrt(grown) / np.maximum(moves.std(axis=1, keepdims=True), 1e-300)
    return np.asarray(sum(shifted_law(p, at, move) for move in moves.T) / POINTS)


def _standardised(p: FloatArray, at: FloatArray) -> FloatArray:
    mean = p @ at
    spread = np.sqrt(np.maximum((p * np.square(at - mean[:, None])).sum(axis=1), 1e-300))
    return np.asarray((at - mean[:, None]) / spread[:, None])
