"""How much: a size of the misfit that does not grow with n.

The discrepancy D = E[k(x,x') h(u,u')] in standardised coordinates u, at one fixed scale. Where y is off
by δ standard deviations of a Gaussian model at every x, D = E[k]·‖δ‖²·(1 + 2/σ²)^(−d_y/2); the effect is
the δ that has the D of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CellKernel, CovariateKernel, Gaussian, ResponseKernel, median_distance
from condgof.locate._bench import EFFECT, PAIRS, Bench
from condgof.locate._record import Effect, Interval
from condgof.locate._residuals import BY_SCORES, ON_SCORES, SD
from condgof.locate._words import measured
from condgof.methods._rows import Scored
from condgof.stein import ArrayRows, Nystrom, SteinEvidence, SteinOperator

LEVEL = 0.95
#: Up to this many rows sums over pairs are exact; beyond, the mean of squares comes from about so many.
EXACT_ROWS, SQUARED_ROWS = 512, 512
#: Beyond, both sides are seen through landmarks: the residual to reach, and how many at most in x and y.
PRECISION, LANDMARKS_X, LANDMARKS_Y = 1e-3, 96, 48
#: Rows from which landmarks are chosen.
LANDMARK_ROWS = 600
#: The bandwidth on y follows the data where, of so many rows, the median distance is this many times it.
FEW_ROWS, FAR = 200, 4.0
#: A time series is cut into at most this many parcels.
PARCELS = 512


@dataclass(frozen=True)
class PairSums:
    """Sums over a Stein matrix without its diagonal."""

    #: Number of rows, or of parcels of rows.
    n: int
    #: D̂.
    mean: float
    #: Variance of the row means Σ_{j≠i} H_ij/(n − 1).
    spread: float
    #: Mean of H_ij² over pairs.
    square: float
    #: Mean of k(x_i, x_j) over pairs of rows.
    near: float = 1.0

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
    n, parcels = len(rows.x), _parcels(bench, len(rows.x))
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if n <= EXACT_ROWS:
            near, matrix = k(rows.x, rows.x), _exact(rows, k, kernel_y)
            mean_k = (float(near.sum()) - float(np.trace(near))) / (n * (n - 1))
            if parcels is not None:
                member = (parcels[:, None] == np.arange(parcels.max() + 1)).astype(np.float64)
                matrix = member.T @ matrix @ member
            np.fill_diagonal(matrix, 0.0)
            count = len(matrix)
            sums, square = matrix.sum(axis=1), float(np.square(matrix).sum()) / (count * (count - 1))
        else:
            f, xi = _factors(rows, k, kernel_y, bench.stream(EFFECT))
            mean_k = float(np.square(f.sum(axis=0)).sum() - np.square(f).sum()) / (n * (n - 1))
            sums, square = _rows_of(f, xi) if parcels is None else _parcels_of(f, xi, parcels)
    count = len(sums)
    if parcels is not None:
        # As if parcels were rows: sums over pairs of them, in units that make their mean that over rows.
        unit = count * (count - 1) / (float(n) ** 2 - float(np.square(np.bincount(parcels)).sum()))
        sums, square = unit * sums, unit**2 * square
    means = sums / (count - 1)
    return PairSums(count, float(means.mean()), float(means.var(ddof=1)), square, mean_k)


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


def _exact(rows: ArrayRows, k: CovariateKernel, kernel_y: ResponseKernel) -> FloatArray:
    """Return the Stein matrix."""
    if isinstance(kernel_y, CellKernel):
        features = kernel_y.features(np.asarray(rows.scores))
        return np.asarray(k(rows.x, rows.x) * (features @ features.T))
    whole = slice(0, len(rows.x))
    return SteinOperator.of(rows.x, rows.y, rows.scores, k, kernel_y).block(whole, whole)


def _factors(
    rows: ArrayRows, k: CovariateKernel, kernel_y: ResponseKernel, rng: np.random.Generator
) -> tuple[AnyArray, AnyArray]:
    """Return features F of x and evidence ξ of y with H ≈ (FFᵀ)∘(ξξᵀ)."""
    some = np.sort(rng.choice(len(rows.x), min(LANDMARK_ROWS, len(rows.x)), replace=False))
    on_x = Nystrom.on(k, rows.x[some], rng, precision=PRECISION, cap=LANDMARKS_X)
    f = on_x.raw(rows.x) if not isinstance(on_x, Nystrom) else on_x.raw(rows.x) @ on_x.white
    if isinstance(kernel_y, CellKernel):
        return f, kernel_y.features(np.asarray(rows.scores))
    y, scores = rows.y[some], rows.scores[some]
    evidence, _ = SteinEvidence.on([kernel_y], y, scores, rng, precision=PRECISION, cap=LANDMARKS_Y)
    return f, evidence.of(rows.y, rows.scores)


def _rows_of(f: AnyArray, xi: AnyArray) -> tuple[FloatArray, float]:
    """Return the row sums of H without its diagonal, and from some rows the mean of its squares."""
    own = np.square(f).sum(axis=1) * np.square(xi).sum(axis=1)
    sums: FloatArray = (f @ (f.T @ xi) * xi).sum(axis=1) - own
    step = max(1, len(f) // SQUARED_ROWS)
    units = [float(np.abs(part).max()) or 1.0 for part in (f, xi)]  # single precision may overflow
    f, xi = ((part[::step] / unit).astype(np.float32) for part, unit in zip((f, xi), units, strict=True))
    unit = (units[0] * units[1]) ** 2
    squares = (
        np.square((f @ f.T) * (xi @ xi.T)).sum(dtype=np.float64) - np.square(own[::step] / unit).sum()
    )
    return sums, unit**2 * float(squares) / (len(f) * (len(f) - 1))


def _parcels_of(f: AnyArray, xi: AnyArray, parcels: IntArray) -> tuple[FloatArray, float]:
    """Return the same of sums over parcels."""
    order = np.argsort(parcels, kind="stable")
    starts = np.searchsorted(parcels[order], np.arange(int(parcels.max()) + 1))
    f, xi = f[order], xi[order]
    whole = np.concatenate([np.add.reduceat(f * column[:, None], starts) for column in xi.T], axis=1)
    return _rows_of(whole, np.ones((len(whole), 1)))


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


def y_bandwidth(bench: Bench) -> float:
    """Return the bandwidth on y at which the effect is measured, in model standard deviations.

    √d_y; but where y lies so far from what the model says that rows are alone, their median distance.
    """
    rows = bench.rows
    u = rows.y / (score_spread(rows) if rows.by == "none" else 1.0)
    usual = float(np.sqrt(u.shape[1]))
    few = u[:: max(1, len(u) // FEW_ROWS)]
    far = bool(np.ptp(few, axis=0).max() > FAR * usual)
    own = median_distance(few, bench.stream(PAIRS), "y") if far else usual
    return own if own > FAR * usual else usual


def effect_of(bench: Bench) -> Effect:
    """Measure the size of the misfit of a model of a continuous y."""
    rows = bench.rows
    u, scores, unit = rows.y, rows.scores, ON_SCORES if ranked_only(bench) else SD
    if rows.by == "none":
        tau = score_spread(rows)
        u, scores, unit = u / tau, scores * tau, BY_SCORES
    d_y, sigma = u.shape[1], y_bandwidth(bench)
    found = pair_sums(ArrayRows(rows.x, u, scores), bench.wide, Gaussian(sigma), bench)
    per_square = found.near * (1.0 + 2.0 / sigma**2) ** (-d_y / 2)
    return shift_effect(found.interval(LEVEL), lambda d: float(np.sqrt(d / per_square)), unit)


def ranked_only(bench: Bench) -> bool:
    """Whether normal scores are all that is known of a continuous y: of draws, PITs and bins."""
    return bench.rows.by == "cdf" and not bench.law.can("score")


def effect_of_columns(bench: Bench) -> Effect:
    """Measure the size of the misfit of draws of several columns: the largest among the columns."""
    rows, names = bench.rows, [column.name for column in bench.rows.sample.y_columns]
    level, each = 1.0 - (1.0 - LEVEL) / len(names), []
    for z in rows.y.T[:, :, None]:
        found = pair_sums(ArrayRows(rows.x, z, -z), bench.wide, Gaussian(1.0), bench)
        each.append(replace(found.interval(level), level=LEVEL))  # of all columns at once
    per_square = found.near * 3.0**-0.5
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
