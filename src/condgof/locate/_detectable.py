"""What the test could have seen: a short power calculation, without any new sums over the sample.

With a misfit of a Gaussian model that is the same at every x, a statistic of the adaptive test is about

    n·D̂ = draw + 2√n·σ₁·Z + n·D,

its null draw, a normal number Z that is the same for all scales (they all see the one misfit), and the
discrepancy. D and σ₁ have closed forms in y, by quadrature in one dimension; in x they need the mean of
k and of its square. What comes out goes through the combination that the adaptive test uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.locate._bench import NORMAL, PAIRS
from condgof.locate._record import Detectable
from condgof.locate._words import decimals
from condgof.methods import LOCAL_X, LOCAL_Y, SCALES_SHARE, Adapted, Parts, Scored, narrowed
from condgof.sample import Seed, Use

POWER = 0.8
#: Rows of x from which means of k are taken.
ROWS_X = 1000
#: Share of draws from which the slope of the tail beyond the largest is taken, as in `Evidence`.
TAIL = 0.05
#: The least and the largest shift and logarithm of a ratio that are looked for, and steps of bisection.
LEAST, MOST, STEPS = 1e-4, 4.0, 12


HOPELESS = "With so few rows, or groups of them, hardly any misfit would have been found."


@dataclass(frozen=True, eq=False)
class InY:
    """One misfit in standardised y, at K bandwidths.

    Parameters
    ----------
    first, second : ndarrays of shape (K,)
        E[g] and E[g²] for g = A_p E_q[(s_p − s_q) l].
    growth : ndarray of shape (K,)
        How much wider the misfit makes the draws.
    """

    first: FloatArray
    second: FloatArray
    growth: FloatArray


def shifted(delta: float, sigma: FloatArray, d_y: int) -> InY:
    """One column of y is N(δ, 1) where the model says N(0, 1)."""
    u, weight = _normal_nodes()
    at = u[:, None] + delta
    # E_q[l(u', t)] is a Gaussian around δ; its derivative is −(t − δ)/(1 + σ²) times it.
    around = np.sqrt(sigma**2 / (1 + sigma**2)) * np.exp(-0.5 * u[:, None] ** 2 / (1 + sigma**2))
    g = delta * around * (at + u[:, None] / (1 + sigma**2))
    return _with_others(weight @ g, weight @ g**2, sigma, d_y, at[:, 0])


def widened(ratio: float, sigma: FloatArray, d_y: int) -> InY:
    """One column of y is N(0, r²) where the model says N(0, 1)."""
    u, weight = _normal_nodes()
    at, wide = ratio * u[:, None], ratio**2 + sigma**2
    size = (1.0 - ratio**2) / wide * np.sqrt(sigma**2 / wide)  # (1/r² − 1)·r²/(r² + σ²)·…
    g = size * np.exp(-0.5 * at**2 / wide) * (1.0 - at**2 - at**2 / wide)
    return _with_others(weight @ g, weight @ g**2, sigma, d_y, at[:, 0])


@cache
def _normal_nodes() -> tuple[FloatArray, FloatArray]:
    """Return points and weights for means over a standard normal, evenly spaced: exact to rounding."""
    nodes = np.linspace(-8.0, 8.0, 161)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def _with_others(
    first: FloatArray, second: FloatArray, sigma: FloatArray, d_y: int, at: FloatArray
) -> InY:
    """The columns without misfit multiply g by E[l(u', t)], which is a Gaussian of t."""
    others, wide = d_y - 1, 1 + sigma**2
    mean = (1 + 2 / sigma**2) ** -0.5
    square = sigma**2 / wide * (1 + 2 / wide) ** -0.5
    distinct, which = np.unique(sigma, return_inverse=True)
    ratio = [_mean_square(at, one) / _true_square(float(one)) for one in distinct]
    growth = np.sqrt(1.0 + (np.array(ratio)[which] - 1.0) / d_y)
    return InY(first * mean**others, second * square**others, growth)


@lru_cache(maxsize=64)
def _true_square(sigma: float) -> float:
    """Return E[h²] where the model is true."""
    return _mean_square(_normal_nodes()[0], sigma)


def _mean_square(at: FloatArray, sigma: float) -> float:
    """Return E[h²] of a standard normal model in one dimension, for data at quadrature nodes."""
    weight = _normal_nodes()[1]
    gap = at[:, None] - at
    l = np.exp(-0.5 * gap**2 / sigma**2)  # noqa: E741, the paper's letter
    h = l * (np.multiply.outer(at, at) + (1.0 - gap**2) / sigma**2 - gap**2 / sigma**4)
    return float(weight @ h**2 @ weight)


@dataclass(frozen=True, eq=False)
class Combination:
    """The statistics of the adaptive test as it combines them.

    Parameters
    ----------
    draws : ndarray of shape (K, m)
        Null draws, in units of their spread.
    spread : ndarray of shape (K,)
        That spread.
    groups : tuple of arrays of int
        Statistics that are combined first.
    shares : ndarray of shape (number of groups,)
        How much each group counts.
    nulls : tuple of ndarrays of shape (m,)
        Draws of each group, combined and sorted.
    """

    draws: FloatArray
    spread: FloatArray
    groups: tuple[AnyArray, ...]
    shares: FloatArray
    nulls: tuple[FloatArray, ...]

    @classmethod
    def of(cls, parts: Parts, x_count: int, dependent: bool) -> Combination:
        """Collect them; there are so many scales of x, and rows may depend on each other."""
        draws, shares = parts.scales.draws, np.full(x_count, 1.0 / x_count)
        groups = [np.arange(a, len(draws), x_count) for a in range(x_count)]
        if parts.local is not None:
            groups.append(len(draws) + np.arange(len(parts.local.draws)))
            draws = np.concatenate([draws, parts.local.draws])
            shares = np.append(SCALES_SHARE * shares, 1.0 - SCALES_SHARE)
        spread = draws.std(axis=1)
        if dependent:  # draws have a mean, which is no evidence
            draws = draws - draws.mean(axis=1, keepdims=True)
        alive = spread > 0
        scaled = np.divide(draws, spread[:, None], out=np.zeros(draws.shape), where=alive[:, None])
        nulls = tuple(np.sort(_log_mean_exp(scaled[group])) for group in groups)
        return cls(scaled, np.where(alive, spread, np.inf), tuple(groups), shares, nulls)

    def combined(self, z: FloatArray) -> FloatArray:
        """Combine statistics (K, m) as the adaptive test does, against the null draws."""
        logs = []
        for group, share, null in zip(self.groups, self.shares, self.nulls, strict=True):
            logs.append(_minus_log_tail(null, _log_mean_exp(z[group])) + np.log(share))
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def threshold(self, alpha: float) -> float:
        """Return what a combined statistic must reach to be significant."""
        return float(np.quantile(self.combined(self.draws), 1.0 - alpha, method="higher"))

    def moved(self, centre: FloatArray, deviation: FloatArray, normal: FloatArray) -> FloatArray:
        """Return the combined statistics of draws moved by a misfit (K,) and normal numbers (m,)."""
        moves = centre[:, None] + deviation[:, None] * normal
        return self.combined(self.draws + moves / self.spread[:, None])


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of the adaptive test, with what tells how they answer to a misfit.

    Parameters
    ----------
    combination : Combination
        How they are combined.
    sigma : ndarray of shape (K,)
        Bandwidths on y, in the model's standard deviations.
    mean, square : ndarrays of shape (K,)
        E[k], and E over x of (E[k(x, x')])²; at a location v, (E[k(x, v)])² and this times E[k(x, v)²].
    """

    combination: Combination
    sigma: FloatArray
    mean: FloatArray
    square: FloatArray

    @classmethod
    def of(cls, adapted: Adapted, rows: Scored, tau: float, seed: Seed, dependent: bool) -> Statistics:
        """Collect them; `tau` is the model's standard deviation in the coordinates of the test."""
        x = rows.x[some_rows(rows.n, ROWS_X, seed)]
        design, parts = adapted.design, adapted.parts
        kernel = design.scale_kernel(rows)
        means, squares = [], []
        for scale in kernel.x_scales:
            k = narrowed(design.kernel_x, scale)(x, x)
            np.fill_diagonal(k, 0.0)
            row_means = k.sum(axis=1) / (len(x) - 1)
            means.append(row_means.mean())
            squares.append(np.square(row_means).mean())
        count, y_count = len(means), len(kernel.y_scales)
        mean, square = np.tile(means, y_count), np.tile(squares, y_count)
        sigma = np.repeat(kernel.y_scales, count)
        if parts.local is not None:
            near = narrowed(design.kernel_x, LOCAL_X)(x, parts.locations)
            at = near.mean(axis=0)
            mean = np.append(mean, np.tile(at**2, len(LOCAL_Y)))
            square = np.append(square, np.tile(at**2 * np.square(near).mean(axis=0), len(LOCAL_Y)))
            sigma = np.append(sigma, np.repeat(design.y_unit * np.array(LOCAL_Y), len(at)))
        combination = Combination.of(parts, count, dependent)
        combination = replace(combination, spread=combination.spread * tau**2)
        return cls(combination, sigma / tau, mean, square)

    def power(self, misfit: InY, n: int, threshold: float, normal: FloatArray) -> float:
        """Return the probability of rejection, over the draws and as many normal numbers (m,)."""
        centre = n * self.mean * misfit.first
        variance = np.maximum(self.square * misfit.second - np.square(self.mean * misfit.first), 0.0)
        deviation = 2.0 * np.sqrt(n * variance)
        found = self.combination.moved(centre / misfit.growth, deviation / misfit.growth, normal)
        return float(np.mean(found >= threshold))


def some_rows(n: int, most: int, seed: Seed) -> AnyArray:
    """Return the numbers of some of n rows, or of all."""
    if n <= most:
        return np.arange(n)
    return np.sort(seed.stream(Use.CHECK, PAIRS).choice(n, most, replace=False))


def _log_mean_exp(z: FloatArray) -> FloatArray:
    top = z.max(axis=0)
    values: FloatArray = top + np.log(np.exp(z - top).mean(axis=0))
    return values


def _minus_log_tail(null: FloatArray, values: FloatArray) -> FloatArray:
    """Return −log of the tail probability among sorted draws; beyond the largest, exponential."""
    m = len(null)
    tails = (1 + m - np.searchsorted(null, values, side="left")) / (m + 1)
    top = null[-max(1, round(TAIL * m)) :]
    slope = float(np.mean(top - top[0])) or 1.0
    out: FloatArray = -np.log(tails) + np.maximum(values - null[-1], 0.0) / slope
    return out


def smallest(found: Callable[[float], float], most: float = MOST) -> float:
    """Return the smallest size that is found with probability `POWER`; infinite if none up to `most`."""
    low, high = np.log(LEAST), np.log(most)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found(float(np.exp(middle))) >= POWER else (middle, high)
    return float(np.exp(high)) if high < np.log(most) else math.inf


def hopeless(n: int, alpha: float) -> bool:
    """Whether there are so few signs that hardly any draw is below another."""
    return bool(2.0 ** (1 - n) > alpha / 2)


def detectable_of(
    adapted: Adapted,
    rows: Scored,
    n: int,
    alpha: float,
    tau: float | None,
    seed: Seed,
    dependent: bool = False,
    ranked: bool = False,
) -> Detectable:
    """Find the smallest constant shift and the smallest ratio of widths that the test finds.

    Parameters
    ----------
    adapted : Adapted
        The test.
    rows : Scored
        The rows that its bandwidths came from.
    n : int
        Number of rows tested.
    alpha : float
        Level.
    tau : float or None
        The model's standard deviation in the coordinates of the test; None where that is 1.
    seed : Seed
        The source of randomness.
    dependent : bool
        Whether rows depend on each other.
    ranked : bool
        Whether normal scores are all that is known of y.
    """
    if hopeless(n, alpha):
        return Detectable(math.inf, None if tau else math.inf, POWER, alpha, HOPELESS)
    found = Statistics.of(adapted, rows, tau or 1.0, seed, dependent)
    combination = found.combination
    normal = seed.stream(Use.CHECK, NORMAL).standard_normal((combination.draws.shape[1],))
    threshold = combination.threshold(alpha)
    d_y = rows.sample.d_y

    def power(misfit: InY) -> float:
        return found.power(misfit, n, threshold, normal)

    shift = smallest(lambda delta: power(shifted(delta, found.sigma, d_y)))
    width = None
    if tau is None:
        width = math.exp(smallest(lambda log: power(widened(math.exp(log), found.sigma, d_y))))
    return Detectable(shift, width, POWER, alpha, found_words(shift, width, d_y, ranked))


def found_words(shift: float, width: float | None, d_y: int, ranked: bool = False) -> str:
    """Say which shift and which spread would have been found."""
    of, by = (" of one column", "by") if d_y > 1 else ("", "of")
    parts = []
    if math.isfinite(shift):
        parts.append(f"a constant shift{of} {by} {shift:.{decimals(shift)}f} model standard deviations")
    if width is not None and math.isfinite(width):
        parts.append(f"a spread{of} wrong by a factor of {width:.{decimals(width - 1.0)}f}")
    if not parts:
        return HOPELESS
    said = "on the model's normal-score scale " * ranked + ", or ".join(parts) + "," * (len(parts) > 1)
    return f"{said[0].upper()}{said[1:]} would have been found with probability {POWER:g}."
