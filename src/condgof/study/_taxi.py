"""Where New York's taxis go: a model of the drop-off given the pick-up, against several sets of trips.

The model is a mixture density network (paper, Section 5 and appendix C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import as_engine
from condgof.kernels import Gaussian, median_distance
from condgof.laws import ModelLike, from_scores
from condgof.methods import Scored, kcsd
from condgof.result import GofResult
from condgof.sample import Sample, Seed
from condgof.stein import DEFAULT_MEMORY, matmul
from condgof.study._trips import Trips

#: Downtown is south of this latitude (about 39th Street), which had no power after Hurricane Sandy.
DOWNTOWN = 40.75
#: Pick-ups by latitude.
ZONES = {
    "downtown, south of 40.75": (40.0, DOWNTOWN),
    "of these, 40.72 to 40.735": (40.72, 40.735),
    "midtown, 40.75 to 40.77": (DOWNTOWN, 40.77),
    "uptown, north of 40.77": (40.77, 41.0),
}


@dataclass(frozen=True)
class Effect:
    """A discrepancy that does not grow with n, with its 95% interval.

    Parameters
    ----------
    value : float
        D̂ of the kernel conditional Stein discrepancy.
    low, high : float
        D̂ ± 1.96·σ̂/√n, with σ̂ twice the standard deviation of the row means (the normal limit of
        the U-statistic of a wrong model).
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Kernels:
    """Bandwidths, chosen once and kept for all sets of trips so that their effects can be compared.

    Parameters
    ----------
    x, y : float
        Of pick-ups and drop-offs, in degrees.
    u : float
        Of normal scores.
    """

    x: float
    y: float
    u: float


@dataclass(frozen=True, eq=False)
class Occasion:
    """One set of trips against the model.

    Parameters
    ----------
    name : str
        What it is.
    trips : Trips
        The trips.
    u : ndarray of shape (n, 2)
        Normal scores of the drop-offs: independent standard normals where the model is right.
    raw, normal : GofResult
        KCSD on degrees (the paper's way) and on normal scores.
    effect : Effect
        D̂ on normal scores.
    """

    name: str
    trips: Trips
    u: FloatArray
    raw: GofResult
    normal: GofResult
    effect: Effect


@dataclass(frozen=True)
class Zone:
    """The trips of an occasion that began in one zone.

    Parameters
    ----------
    name : str
        Which zone.
    n : int
        How many trips.
    effect : Effect
        D̂ on normal scores, of these trips alone.
    shift : tuple of float
        Means of both normal scores: to the east, and to the north given the longitude.
    south, expected : float
        Share of drop-offs south of 40.75: observed, and by the model from these very pick-ups.
    """

    name: str
    n: int
    effect: Effect
    shift: tuple[float, float]
    south: float
    expected: float


def choose_kernels(model: ModelLike, trips: Trips, seed: int = 0) -> Kernels:
    """Choose bandwidths by the median heuristic on ordinary trips."""
    rng = np.random.default_rng(seed)
    u = model(trips.pickup).normal_scores(trips.dropoff)
    return Kernels(*(median_distance(points, rng) for points in (trips.pickup, trips.dropoff, u)))


def examine_trips(
    name: str, model: ModelLike, trips: Trips, kernels: Kernels, seed: int = 0
) -> Occasion:
    """Test the model on some trips, in degrees and by normal scores."""
    x, y = trips.pickup, trips.dropoff
    u, on_x = model(x).normal_scores(y), Gaussian(kernels.x)
    raw = kcsd(model, x, y, kernel_x=on_x, kernel_y=Gaussian(kernels.y), rng=seed)
    # Normal scores of a true model are standard normal, whose score is −u.
    normal = kcsd(from_scores(-u), x, u, kernel_x=on_x, kernel_y=Gaussian(kernels.u), rng=seed)
    return Occasion(name, trips, u, raw, normal, effect_of(x, u, kernels))


def effect_of(x: FloatArray, u: FloatArray, kernels: Kernels) -> Effect:
    """Return D̂ of normal scores u (n, d), from all pairs, with its interval."""
    scored, n = Scored.of(from_scores(-u), Sample.of(x, u)), len(u)
    on_x, _ = scored.kernels(Gaussian(kernels.x), Gaussian(kernels.u), Seed.of(0))
    operator = scored.operator(on_x, Gaussian(kernels.u))
    sums = matmul(operator, np.ones((n, 1)), engine=as_engine(None), memory=DEFAULT_MEMORY)
    means = sums[:, 0] / (n - 1)
    value, half = float(means.mean()), float(1.96 * 2.0 * means.std(ddof=1) / np.sqrt(n))
    return Effect(value, value - half, value + half)


def null_deviations(result: GofResult) -> float:
    """Return the statistic in standard deviations of its null distribution."""
    assert result.null_distribution is not None
    return float(result.statistic / result.null_distribution.std())


def examine_zones(occasion: Occasion, model: Any, kernels: Kernels) -> list[Zone]:
    """Look at the zones of an occasion one by one; zones with fewer than 30 trips are left out."""
    zones = []
    for name, (low, high) in ZONES.items():
        latitude = occasion.trips.pickup[:, 1]
        rows = (latitude >= low) & (latitude < high)
        if rows.sum() < 30:
            continue
        trips, u = occasion.trips.take(rows), occasion.u[rows]
        effect = effect_of(trips.pickup, u, kernels)
        shift = (float(u[:, 0].mean()), float(u[:, 1].mean()))
        zones.append(Zone(name, len(trips), effect, shift, *share_south(model, trips, DOWNTOWN)))
    return zones


def share_south(model: Any, trips: Trips, latitude: float) -> tuple[float, float]:
    """Return the share of drop-offs south of a latitude: observed, and expected by the model.

    The model is a mixture with diagonal covariances, so that its share is Σ_c π_c Φ(z_c), averaged over
    these very pick-ups.
    """
    from scipy.special import ndtr

    weights, means, stds = model.parts(trips.pickup)
    z = (latitude - means[:, :, 1]) / stds[:, :, 1]
    expected = float((weights * ndtr(z)).sum(axis=1).mean())
    return float((trips.dropoff[:, 1] < latitude).mean()), expected


def match_hours(first: Trips, second: Trips, seed: int = 0) -> tuple[Trips, Trips]:
    """Draw from two sets of trips as many as possible with the same number in each hour of the week.

    Without this, trips of a night and of all hours would be compared, and the night itself be found.
    """
    rng = np.random.default_rng(seed)
    hours = first.hour_of_week(), second.hour_of_week()
    chosen: tuple[list[Any], list[Any]] = ([], [])
    for hour in range(7 * 24):
        rows = [rng.permutation(np.flatnonzero(h == hour)) for h in hours]
        size = min(len(rows[0]), len(rows[1]))
        for kept, some in zip(chosen, rows, strict=True):
            kept.append(some[:size])
    a, b = (np.sort(np.concatenate(kept)) for kept in chosen)
    return first.take(a), second.take(b)
