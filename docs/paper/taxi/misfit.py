"""How wrong a mixture model of drop-offs is: tests, effects by zone, maps, and plain counts beside them.

Everything is on normal scores u of the drop-offs, (n, 2), which are independent standard
normals where the model is right (and whose score is −u); KCSD and the paper's map also in
degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtr

import condgof as cg
from trips import EAST, NORTH, SOUTH, WEST, Trips

#: Downtown is south of this latitude (about 39th Street), which had no power after
#: Hurricane Sandy.
DOWNTOWN = 40.75
#: Pick-ups by latitude.
ZONES = {
    "downtown, south of 40.75": (40.0, DOWNTOWN),
    "of these, 40.72 to 40.735": (40.72, 40.735),
    "midtown, 40.75 to 40.77": (DOWNTOWN, 40.77),
    "uptown, north of 40.77": (40.77, 41.0),
}
#: Kilometres of a degree of longitude and of latitude, in New York.
KILOMETRES = np.array([84.3, 111.0])
#: Kilometres within which a trip is "from nearby", and how many there must be to look at.
NEAR, FEWEST_NEAR = 0.4, 40
#: Bandwidth of local maps, in degrees: about a kilometre.
LOCAL = 0.01


@dataclass(frozen=True)
class Kernels:
    """Bandwidths of pick-ups, drop-offs (degrees) and normal scores, the same for all sets of trips."""

    x: float
    y: float
    u: float

    @classmethod
    def of(cls, model, trips, seed=0):
        """Choose them by the median heuristic, on 1,000 trips at most."""
        rng = np.random.default_rng(seed)

        def median(points):
            rows = np.sort(rng.choice(len(points), min(1000, len(points)), replace=False))
            return float(np.median(pdist(points[rows])))

        u = model(trips.pickup).normal_scores(trips.dropoff)
        return cls(median(trips.pickup), median(trips.dropoff), median(u))


@dataclass(frozen=True)
class Effect:
    """D̂ of KCSD on normal scores, which does not grow with n, and D̂ ± 1.96·σ̂/√n.

    σ̂ is twice the standard deviation of the row means: the normal limit of a wrong model.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, x, u, kernels):
        """Compute it from all pairs of rows of x and u, (n, 2)."""
        means = pair_sums(u, kernels.u, np.ones((len(u), 1)), (x, kernels.x))[:, 0] / (
            len(u) - 1
        )
        value, half = means.mean(), 1.96 * 2.0 * means.std(ddof=1) / np.sqrt(len(u))
        return cls(float(value), float(value - half), float(value + half))


@dataclass(frozen=True, eq=False)
class Occasion:
    """One set of trips against the model: KCSD in degrees (the paper's way) and on normal scores u."""

    name: str
    trips: Trips
    u: np.ndarray
    degrees: cg.GofResult
    normal: cg.GofResult
    effect: Effect

    @classmethod
    def of(cls, name, model, trips, kernels):
        """Test the model on some trips."""
        x, y = trips.pickup, trips.dropoff
        u, on_x = model(x).normal_scores(y), cg.Gaussian(kernels.x)
        degrees = cg.kcsd(
            model, x, y, kernel_x=on_x, kernel_y=cg.Gaussian(kernels.y), rng=0
        )
        on_u = cg.Gaussian(kernels.u)
        normal = cg.kcsd(cg.from_scores(-u), x, u, kernel_x=on_x, kernel_y=on_u, rng=0)
        return cls(name, trips, u, degrees, normal, Effect.of(x, u, kernels))

    def deviations(self):
        """Return both statistics in standard deviations of their null distributions."""
        return [
            float(r.statistic / r.null_distribution.std())
            for r in (self.degrees, self.normal)
        ]

    def zones(self, model, kernels):
        """Look at the zones one by one; those with fewer than 30 trips are left out.

        `shift` are the means of both normal scores (to the east, and to the north given the
        longitude); `south` the share of drop-offs south of 40.75, and `expected` the
        model's, from these pick-ups.
        """
        found = []
        for name, (low, high) in ZONES.items():
            rows = (self.trips.pickup[:, 1] >= low) & (self.trips.pickup[:, 1] < high)
            if rows.sum() < 30:
                continue
            trips, u = self.trips.take(rows), self.u[rows]
            south, expected = share_south(model, trips, DOWNTOWN)
            effect = vars(Effect.of(trips.pickup, u, kernels))
            found.append({
                "name": name, "n": len(trips), "effect": effect, "shift": u.mean(axis=0).tolist(),
                "south": south, "expected": expected,
            })  # fmt: skip
        return found


def pair_sums(u, bandwidth, weights, covariates=None, block=1000):
    """Return Σ_{j≠i} k(x_i, x_j) h(u_i, u_j) w_j for weights (n, m), (n, m).

    h is the Stein kernel of N(0, I) with a Gaussian kernel; k a Gaussian kernel of
    ``covariates`` (x (n, 2) and its bandwidth), or 1.
    """
    n, s2 = len(u), bandwidth**2
    sums = np.empty(weights.shape)
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        r, inner = cdist(u[rows], u, "sqeuclidean"), u[rows] @ u.T
        h = np.exp(-0.5 * r / s2) * (inner - r / s2 + u.shape[1] / s2 - r / s2**2)
        if covariates is not None:
            x, width = covariates
            h *= np.exp(-0.5 * cdist(x[rows], x, "sqeuclidean") / width**2)
        h[np.arange(len(h)), np.arange(n)[rows]] = 0.0
        sums[rows] = h @ weights
    return sums


def share_south(model, trips, latitude):
    """Return the share of drop-offs south of a latitude: observed, and expected, Σ_c π_c Φ(z_c)."""
    weights, means, stds = model.parts(trips.pickup)
    expected = (
        (weights * ndtr((latitude - means[:, :, 1]) / stds[:, :, 1])).sum(axis=1).mean()
    )
    return float((trips.dropoff[:, 1] < latitude).mean()), float(expected)


@dataclass(frozen=True, eq=False)
class Grid:
    """Lines of a grid of pick-up points, and where there are enough pick-ups around one, (r, c)."""

    longitudes: np.ndarray
    latitudes: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, trips, columns=60, radius=0.3, least=15):
        """Lay cells over points with at least so many trips within so many kilometres."""
        lines = lines_of_map(columns)
        points = np.stack(np.meshgrid(*lines), axis=-1) * KILOMETRES
        counts = cKDTree(trips.pickup * KILOMETRES).query_ball_point(
            points, radius, return_length=True
        )
        return cls(*lines, counts >= least)

    @property
    def points(self):
        """The points inside, (m, 2)."""
        return np.stack(np.meshgrid(self.longitudes, self.latitudes), axis=-1)[self.inside]


def paper_map(trips, model, at, kernels):
    """Return the power criterion at single locations (m, 2), in degrees, as in the paper."""
    on = {"kernel_x": cg.Gaussian(kernels.x), "kernel_y": cg.Gaussian(kernels.y)}
    return cg.power_criterion(model, trips.pickup, trips.dropoff, at=at, rng=0, **on)


def normal_map(occasion, at, kernels):
    """Return the local power criterion of normal scores at single locations (m, 2)."""
    on = {"kernel_x": cg.Gaussian(LOCAL), "kernel_y": cg.Gaussian(kernels.u)}
    u = occasion.u
    return cg.power_criterion(
        cg.from_scores(-u), occasion.trips.pickup, u, at=at, rng=0, **on
    )


def local_effects(occasion, at, kernels, most=7000):
    """Return D̂ of the trips around each location (m, 2): how wrong the model is there.

    Pairs of trips count with the product of their weights, k(x_i, v)k(x_j, v), and the sum
    is divided by that of the weights. So it does not grow with the number of trips around
    v, as the criterion does; where they are few, it is noisy. Of more than `most` trips, so
    many are drawn.
    """
    rows = np.random.default_rng(0).permutation(len(occasion.u))[:most]
    near = around(at, occasion.trips.pickup[rows]).T
    pairs = near.sum(axis=0) ** 2 - (near**2).sum(axis=0)
    return (near * pair_sums(occasion.u[rows], kernels.u, near)).sum(axis=0) / pairs


def local_means(occasion, at):
    """Return locally weighted means of normal scores at locations (m, 2): which way y is shifted."""
    weights = around(at, occasion.trips.pickup)
    return weights @ occasion.u / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Spot:
    """A pick-up point: the local criterion, drop-offs from nearby (m, 2), and what plain counts say.

    `residuals` are drop-offs in cells of the map less what the model expects, in standard
    errors; `misfit` is their mean square, about 1 where the model is right.
    """

    at: np.ndarray
    criterion: float
    dropoffs: np.ndarray
    residuals: np.ndarray
    misfit: float


def find_spots(occasion, model, kernels, candidates=300, seed=0):
    """Return pick-ups chosen at random, with enough trips from nearby, in order of the criterion."""
    trips, points = occasion.trips, occasion.trips.draw(candidates, seed).pickup
    apart = cdist(points * KILOMETRES, trips.pickup * KILOMETRES) < NEAR
    kept = apart.sum(axis=1) >= FEWEST_NEAR
    if not kept.any():
        return []
    counts = CellCounts(trips, model)
    values = normal_map(occasion, points[kept], kernels)
    spots = [
        Spot(at, float(value), trips.dropoff[near], *counts.residuals(at))
        for at, value, near in zip(points[kept], values, apart[kept], strict=True)
    ]
    return sorted(spots, key=lambda spot: spot.criterion)


class CellCounts:
    """Drop-offs in cells of about 600 metres, and what a mixture (diagonal covariances) expects."""

    def __init__(self, trips, model, columns=16):
        self.pickup = trips.pickup
        self.weights, means, stds = model.parts(trips.pickup)
        lines = lines_of_map(columns + 1)
        # Probabilities of columns and rows under each component, (n, C, columns) and (n, C,
        # rows).
        self.east, self.north = (
            np.diff(ndtr((line - means[:, :, i, None]) / stds[:, :, i, None]), axis=2)
            for i, line in enumerate(lines)
        )
        east, north = (
            np.clip(np.searchsorted(line, trips.dropoff[:, i]) - 1, 0, len(line) - 2)
            for i, line in enumerate(lines)
        )
        self.cells = north, east

    def residuals(self, at):
        """Return standardised residuals (rows, columns) around a point, and their mean square."""
        near = around(at[None, :], self.pickup)[0]
        expected, variance = self._sum(near), self._sum(near**2)
        observed, z = np.zeros(expected.shape), np.full(expected.shape, np.nan)
        np.add.at(observed, self.cells, near)
        some = expected > 2e-3 * near.sum()  # NaN where nothing is expected
        z[some] = (observed - expected)[some] / np.sqrt(variance[some])
        return z, float(np.nanmean(z**2))

    def _sum(self, near):
        """Σ_i near_i P_i(cell) with P_i = Σ_c π_c east_c north_c, (rows, columns)."""
        scaled = self.north * (near[:, None] * self.weights)[:, :, None]
        n, c, rows = scaled.shape
        return scaled.reshape(n * c, rows).T @ self.east.reshape(n * c, -1)


def lines_of_map(columns):
    """Longitudes and latitudes that cut the map into about square cells."""
    wide, high = np.array([EAST - WEST, NORTH - SOUTH]) * KILOMETRES
    rows = round((columns - 1) * high / wide) + 1
    return np.linspace(WEST, EAST, columns), np.linspace(SOUTH, NORTH, rows)


def around(at, pickup):
    """Weights exp(−‖v − x‖²/2w²) of pick-ups (n, 2) around points (m, 2), (m, n)."""
    return np.exp(-0.5 * cdist(at, pickup, "sqeuclidean") / LOCAL**2)
