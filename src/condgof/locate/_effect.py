"""How much: a size of the misfit that does not grow with n.

The discrepancy D = E[k(x,x') h(u,u')] in standardised coordinates u, at one fixed scale. Where y is off
by δ standard deviations of a Gaussian model at every x, D = E[k]·‖δ‖²·(1 + 2/σ²)^(−d_y/2); the effect is
the δ that has the D of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian, ResponseKernel
from condgof.locate._bench import EFFECT, Bench
from condgof.locate._record import Effect, Interval
from condgof.locate._residuals import BY_SCORES, ON_SCORES, SD
from condgof.locate._words import measured
from condgof.methods import Scored
from condgof.sample import Use
from condgof.stein import ArrayRows, SteinOperator, choose_landmarks

LEVEL = 0.95
#: Up to this many rows sums over pairs are exact.
EXACT_ROWS = 2048
#: Beyond, they come from a low-rank factor of at most this rank.
RANK, TOLERANCE = 300, 1e-3
#: Rows from which landmarks are chosen, and rows compared with them at a time.
LANDMARK_ROWS, TILE = 4096, 4096
#: A time series is cut into at most this many parcels.
PARCELS = 512
#: Rows whose pairs tell the mean of k.
PAIR_ROWS = 1500


@dataclass(frozen=True)
class PairSums:
    """Sums over a Stein matrix without its diagonal.

    Parameters
    ----------
    n : int
        Number of rows, or of parcels of rows.
    mean : float
        D̂.
    spread : float
        Variance of the row means Σ_{j≠i} H_ij/(n − 1).
    square : float
        Mean of H_ij² over pairs.
    """

    n: int
    mean: float
    spread: float
    square: float

    def interval(self, level: float) -> Interval:
        """Return D̂ with the D ≥ 0 that it does not contradict: (D̂ − D)² ≤ z²·Var(D̂ given D).

        Var(D̂) = 4σ₁²/n + 2E[H²]/(n(n − 1)), and σ₁² grows in proportion to D: with features of mean μ
        and covariance C, D = ‖μ‖² and σ₁² = μᵀCμ. So the interval is right where the model is true
        (D = 0, the U-statistic degenerate), where it is far from true, and between. The proportion
        comes from the data where D̂ stands out from its noise, and from E[H²] where it does not.
        """
        from scipy.special import ndtri

        z, n = float(ndtri(0.5 + level / 2)), self.n
        degenerate = 2.0 * self.square / (n * (n - 1))
        noise = float(np.sqrt(degenerate))
        if noise == 0:
            return Interval(self.mean, max(self.mean, 0.0), max(self.mean, 0.0), level)
        # Row means vary by σ₁², and by the scatter of a row's own pairs, which is taken off.
        own = max(self.spread - self.square / n, 0.0)
        guess = 0.5 * float(np.sqrt(self.square))  # at most √E[H²] is the largest eigenvalue of C
        slope = z**2 * 4.0 * (own + guess * noise) / (n * (max(self.mean, 0.0) + noise))
        middle = self.mean + slope / 2.0
        reach = float(np.sqrt(max(slope * self.mean + slope**2 / 4.0 + z**2 * degenerate, 0.0)))
        return Interval(self.mean, max(middle - reach, 0.0), max(middle + reach, 0.0), level)


def pair_sums(rows: ArrayRows, k: CovariateKernel, kernel_y: ResponseKernel, bench: Bench) -> PairSums:
    """Sum the Stein matrix of rows.

    Rows that depend on each other are summed up in parcels (whole groups, stretches of time), which are
    then as n independent rows: pairs within a parcel are left out.
    """
    x, n = rows.x, len(rows.x)
    parcels = _parcels(bench, n)
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        operator = SteinOperator.of(x, rows.y, rows.scores, k, kernel_y)
        if n > EXACT_ROWS:
            sums, squares = _lowrank_sums(rows, k, kernel_y, bench, parcels)
        elif parcels is None:
            sums, squares = np.zeros(n), 0.0
            for start in range(0, n, 256):
                part = slice(start, min(start + 256, n))
                block = operator.block(part, slice(0, n))
                block[np.arange(part.stop - start), np.arange(start, part.stop)] = 0.0
                sums[part] = block.sum(axis=1)
                squares += float(np.square(block).sum())
        else:
            member = (parcels[:, None] == np.arange(parcels.max() + 1)).astype(np.float64)
            whole = member.T @ operator.block(slice(0, n), slice(0, n)) @ member
            np.fill_diagonal(whole, 0.0)
            sums, squares = whole.sum(axis=1), float(np.square(whole).sum())
    if parcels is None:
        means = sums / (n - 1)
        return PairSums(n, float(means.mean()), float(means.var(ddof=1)), squares / (n * (n - 1)))
    # As if parcels were rows: sums over pairs of them, in units that make their mean that over rows.
    count, sizes = len(sums), np.bincount(parcels)
    unit = count * (count - 1) / (float(n) ** 2 - float(np.square(sizes).sum()))
    means = unit * sums / (count - 1)
    square = unit**2 * squares / (count * (count - 1))
    return PairSums(count, float(means.mean()), float(means.var(ddof=1)), square)


def _parcels(bench: Bench, n: int) -> IntArray | None:
    """Return the parcel of each of n rows, where they depend on each other."""
    rows = bench.dependence
    if rows.independent:
        return None
    if rows.codes is not None:
        return rows.codes
    # Twice as long as stretches are: what depends across a cut is a small part of it.
    length = min(max(2 * (rows.length or 1), -(-n // PARCELS)), n // 3)
    return np.asarray(np.arange(n) // max(length, 1))


def _lowrank_sums(
    rows: ArrayRows,
    k: CovariateKernel,
    kernel_y: ResponseKernel,
    bench: Bench,
    parcels: IntArray | None,
) -> tuple[FloatArray, float]:
    """Row sums and the sum of squares off the diagonal, from landmark features Φ: H ≈ ΦΦᵀ."""
    rng, n = bench.stream(EFFECT), len(rows.x)
    some = np.sort(rng.choice(n, min(LANDMARK_ROWS, n), replace=False))
    part = SteinOperator.of(rows.x[some], rows.y[some], rows.scores[some], k, kernel_y)
    landmarks = choose_landmarks(part, rng, tolerance=TOLERANCE, cap=RANK)
    tiles = [slice(start, start + TILE) for start in range(0, n, TILE)]
    features = np.concatenate(
        [
            landmarks.whiten(
                landmarks.compare(landmarks.kernel.rows(rows.x[t], rows.y[t], rows.scores[t]))
            ).T
            for t in tiles
        ]
    )
    if parcels is not None:
        whole = np.zeros((int(parcels.max()) + 1, features.shape[1]))
        np.add.at(whole, parcels, features)
        features = whole
    own = np.square(features).sum(axis=1)
    sums: FloatArray = features @ features.sum(axis=0) - own
    gram = features.T @ features
    return sums, float(np.square(gram).sum() - np.square(own).sum())


def score_spread(rows: Scored) -> FloatArray:
    """Return the model's standard deviation (d_y,) as its scores suggest: exact for one Gaussian.

    τ² = E[−s(y − c)]/E[s²], for a model that offers scores alone; where that is not positive, the
    standard deviation of y.
    """
    centred = rows.y - rows.y.mean(axis=0)
    second = -np.mean(rows.scores * centred, axis=0)
    square = np.mean(np.square(rows.scores), axis=0)
    fine = (second > 0) & (square > 0)
    ratio = np.where(fine, second, 1.0) / np.where(fine, square, 1.0)
    values: FloatArray = np.where(fine, np.sqrt(ratio), centred.std(axis=0))
    return values


def y_bandwidth(d_y: int) -> float:
    """Return the bandwidth on y at which the effect is measured, in model standard deviations."""
    return float(np.sqrt(d_y))


def mean_k(bench: Bench, k: CovariateKernel) -> float:
    """Return the mean of k(x, x') over pairs."""
    x = bench.rows.x
    if len(x) > PAIR_ROWS:
        x = x[np.sort(bench.seed.stream(Use.CHECK, EFFECT, 1).choice(len(x), PAIR_ROWS, replace=False))]
    values = k(x, x)
    np.fill_diagonal(values, 0.0)
    return float(values.sum()) / (len(x) * (len(x) - 1))


def effect_of(bench: Bench) -> Effect:
    """Measure the size of the misfit of a model of a continuous y."""
    rows = bench.rows
    u, scores, unit = rows.y, rows.scores, ON_SCORES if ranked_only(bench) else SD
    if rows.by == "none":
        tau = score_spread(rows)
        u, scores, unit = u / tau, scores * tau, BY_SCORES
    d_y = u.shape[1]
    sigma = y_bandwidth(d_y)
    found = pair_sums(ArrayRows(rows.x, u, scores), bench.wide, Gaussian(sigma), bench).interval(LEVEL)
    per_square = mean_k(bench, bench.wide) * (1.0 + 2.0 / sigma**2) ** (-d_y / 2)
    return shift_effect(found, lambda d: float(np.sqrt(d / per_square)), unit)


def ranked_only(bench: Bench) -> bool:
    """Whether normal scores are all that is known of a continuous y: of draws, PITs and bins."""
    return bench.rows.by == "cdf" and not bench.law.can("score")


def effect_of_columns(bench: Bench) -> Effect:
    """Measure the size of the misfit of draws of several columns: the largest among the columns."""
    rows, names = bench.rows, [column.name for column in bench.rows.sample.y_columns]
    per_square, level = mean_k(bench, bench.wide) * 3.0**-0.5, 1.0 - (1.0 - LEVEL) / len(names)
    each = []
    for z in rows.y.T[:, :, None]:
        found = pair_sums(ArrayRows(rows.x, z, -z), bench.wide, Gaussian(1.0), bench)
        each.append(replace(found.interval(level), level=LEVEL))  # of all columns at once
    largest = int(np.argmax([found.estimate for found in each]))
    effect = shift_effect(each[largest], lambda d: float(np.sqrt(d / per_square)), ON_SCORES)
    size = measured(effect.interval, ON_SCORES)
    words = (
        f"in single columns at most as large as a constant shift of {names[largest]} by {size}; how "
        "columns go together is not in that number"
    )
    return replace(effect, words=words)


def shift_effect(found: Interval, shift: Callable[[float], float], unit: str) -> Effect:
    """Say a discrepancy as the constant shift that has it."""
    size = equivalent(found, shift)
    return Effect(size, unit, found, f"as large as a constant shift of {measured(size, unit)}")


def equivalent(found: Interval, size: Callable[[float], float]) -> Interval:
    """Turn the interval of a discrepancy into that of a size, which grows with it from 0 on."""
    ends = [size(max(value, 0.0)) for value in (found.estimate, found.low, found.high)]
    return Interval(ends[0], ends[1], ends[2], found.level)
