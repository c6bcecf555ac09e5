"""How wrong a mixture model of drop-offs is: tests, effects by zone, maps, plain counts.

Everything is on normal scores u of the drop-offs, (n, 2), which are independent standard
normals where the model is right (and whose score is −u); KCSD and the paper's map also in
degrees.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

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
#: A pick-up is nearby within this many kilometres.
NEARBY = 0.4
#: Pick-ups that must be nearby for the drop-offs from a place to be drawn.
MIN_NEARBY = 40
#: Trips that a zone must have to be reported.
MIN_ZONE = 30
#: Bandwidth of local maps, in degrees: about a kilometre.
LOCAL = 0.01
#: Cells where less than this share of the drop-offs is expected have no residual.
MIN_SHARE = 2e-3


@dataclass(frozen=True)
class Kernels:
    """Bandwidths of pick-ups and drop-offs (degrees), and of normal scores."""

    x: float
    y: float
    u: float

    @classmethod
    def from_medians(cls, model, trips, seed=0):
        """Choose bandwidths by the median heuristic, on 1,000 trips at most."""
        rng = np.random.default_rng(seed)

        def median(points):
            rows = np.sort(rng.choice(len(points), min(1000, len(points)), replace=False))
            return float(np.median(pdist(points[rows])))

        u = model(trips.pickup).normal_scores(trips.dropoff)
        return cls(x=median(trips.pickup), y=median(trips.dropoff), u=median(u))


@dataclass(frozen=True)
class Effect:
    """D̂ of KCSD on normal scores, which does not grow with n, and D̂ ± 1.96·σ̂/√n.

    σ̂ is twice the standard deviation of the row means: the normal limit of a wrong model.
    """

    value: float
    low: float
    high: float

    @classmethod
    def from_rows(cls, x, u, kernels):
        """Compute the effect from all pairs of rows of x and u, (n, 2)."""
        n = len(u)
        sums = pair_sums(u, kernels.u, np.ones((n, 1)), x=x, bandwidth_x=kernels.x)
        means = sums[:, 0] / (n - 1)
        value = means.mean()
        half = 1.96 * 2.0 * means.std(ddof=1) / np.sqrt(n)
        return cls(value=float(value), low=float(value - half), high=float(value + half))


@dataclass(frozen=True, eq=False)
class Occasion:
    """Trips against the model: KCSD in degrees (as in the paper), and on u (n, 2)."""

    name: str
    trips: Trips
    u: np.ndarray
    degrees: cg.GofResult
    normal: cg.GofResult
    effect: Effect

    @classmethod
    def from_trips(cls, name, model, trips, kernels):
        """Test the model on some trips."""
        x = trips.pickup
        y = trips.dropoff
        u = model(x).normal_scores(y)
        kernel_x = cg.Gaussian(kernels.x)
        degrees = cg.kcsd(
            model, x, y, kernel_x=kernel_x, kernel_y=cg.Gaussian(kernels.y), rng=0
        )
        normal = cg.kcsd(
            cg.from_scores(-u),
            x,
            u,
            kernel_x=kernel_x,
            kernel_y=cg.Gaussian(kernels.u),
            rng=0,
        )
        return cls(
            name=name,
            trips=trips,
            u=u,
            degrees=degrees,
            normal=normal,
            effect=Effect.from_rows(x, u, kernels),
        )

    def deviations(self):
        """Return both statistics in standard deviations of their null distributions."""
        return [
            float(r.statistic / r.null_distribution.std())
            for r in (self.degrees, self.normal)
        ]

    def zones(self, model, kernels):
        """Summarise the zones one by one, those with at least `MIN_ZONE` trips.

        `shift` are the means of both normal scores (to the east, and to the north given the
        longitude); `south` the share of drop-offs south of 40.75, and `expected` the
        model's, from these pick-ups.
        """
        latitudes = self.trips.pickup[:, 1]
        zones = []
        for name, (low, high) in ZONES.items():
            rows = (latitudes >= low) & (latitudes < high)
            if rows.sum() < MIN_ZONE:
                continue
            trips = self.trips.take(rows)
            u = self.u[rows]
            south, expected = share_south(model, trips, DOWNTOWN)
            zones.append(
                {
                    "name": name,
                    "n": len(trips),
                    "effect": asdict(Effect.from_rows(trips.pickup, u, kernels)),
                    "shift": u.mean(axis=0).tolist(),
                    "south": south,
                    "expected": expected,
                }
            )
        return zones


def pair_sums(u, bandwidth, weights, *, x=None, bandwidth_x=None, block=1000):
    """Return Σ_{j≠i} k(x_i, x_j) h(u_i, u_j) w_j for weights (n, m), (n, m).

    h is the Stein kernel of N(0, I) with a Gaussian kernel of this bandwidth; k a Gaussian
    kernel of x (n, 2), or 1 without an x. Pairs are computed `block` rows at a time.
    """
    n, d = u.shape
    s2 = bandwidth**2
    sums = np.empty(weights.shape)
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        r = cdist(u[rows], u, "sqeuclidean")
        inner = u[rows] @ u.T
        h = np.exp(-0.5 * r / s2) * (inner - r / s2 + d / s2 - r / s2**2)
        if x is not None:
            h *= np.exp(-0.5 * cdist(x[rows], x, "sqeuclidean") / bandwidth_x**2)
        h[np.arange(len(h)), np.arange(n)[rows]] = 0.0
        sums[rows] = h @ weights
    return sums


def share_south(model, trips, latitude):
    """Return the shares of drop-offs south of a latitude: observed, and predicted.

    Under the model a row's share is Σ_c π_c Φ((latitude − μ_c)/σ_c).
    """
    weights, means, stds = model.parts(trips.pickup)
    below = ndtr((latitude - means[:, :, 1]) / stds[:, :, 1])
    expected = (weights * below).sum(axis=1).mean()
    observed = (trips.dropoff[:, 1] < latitude).mean()
    return float(observed), float(expected)


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid of pick-up points, and which of them have enough pick-ups around."""

    longitudes: np.ndarray  # (columns,)
    latitudes: np.ndarray  # (rows,)
    inside: np.ndarray  # booleans, (rows, columns)

    @classmethod
    def from_trips(cls, trips, columns=60, radius=0.3, least=15):
        """Lay a grid; points inside have `least` pick-ups within `radius` kilometres."""
        longitudes, latitudes = lines_of_map(columns)
        points = np.stack(np.meshgrid(longitudes, latitudes), axis=-1) * KILOMETRES
        tree = cKDTree(trips.pickup * KILOMETRES)
        counts = tree.query_ball_point(points, radius, return_length=True)
        return cls(longitudes=longitudes, latitudes=latitudes, inside=counts >= least)

    @property
    def points(self):
        """The points inside, (m, 2)."""
        return np.stack(np.meshgrid(self.longitudes, self.latitudes), axis=-1)[self.inside]


def paper_map(trips, model, at, kernels):
    """Return the power criterion at locations (m, 2), in degrees, as in the paper."""
    return cg.power_criterion(
        model,
        trips.pickup,
        trips.dropoff,
        at=at,
        kernel_x=cg.Gaussian(kernels.x),
        kernel_y=cg.Gaussian(kernels.y),
        rng=0,
    )


def normal_map(occasion, at, kernels):
    """Return the local power criterion of normal scores at single locations (m, 2)."""
    return cg.power_criterion(
        cg.from_scores(-occasion.u),
        occasion.trips.pickup,
        occasion.u,
        at=at,
        kernel_x=cg.Gaussian(LOCAL),
        kernel_y=cg.Gaussian(kernels.u),
        rng=0,
    )


def local_effects(occasion, at, kernels, most=7000):
    """Return D̂ of the trips around each location (m, 2): how wrong the model is there.

    Pairs of trips count with the product of their weights, k(x_i, v)k(x_j, v), and the sum
    is divided by that of the weights. So the effect does not grow with the number of trips
    around v, as the criterion does; where trips are few, it is noisy. It is computed from
    `most` trips, chosen at random, where there are more.
    """
    rows = np.random.default_rng(0).permutation(len(occasion.u))[:most]
    weights = around(at, occasion.trips.pickup[rows]).T
    weight_of_pairs = weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0)
    sums = pair_sums(occasion.u[rows], kernels.u, weights)
    return (weights * sums).sum(axis=0) / weight_of_pairs


def local_means(occasion, at):
    """Return local means of normal scores at locations (m, 2): which way the bias is."""
    weights = around(at, occasion.trips.pickup)
    return weights @ occasion.u / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Spot:
    """A pick-up point: the local criterion, drop-offs from nearby (m, 2), and plain counts.

    `residuals` are drop-offs in cells of the map less what the model expects, in standard
    errors; `misfit` is their mean square, about 1 where the model is right.
    """

    at: np.ndarray
    criterion: float
    dropoffs: np.ndarray
    residuals: np.ndarray
    misfit: float


def find_spots(occasion, model, kernels, candidates=300, seed=0):
    """Return random pick-ups with enough trips from nearby, in order of the criterion."""
    trips = occasion.trips
    points = trips.draw(candidates, seed).pickup
    nearby = cdist(points * KILOMETRES, trips.pickup * KILOMETRES) < NEARBY
    kept = nearby.sum(axis=1) >= MIN_NEARBY
    if not kept.any():
        return []
    counts = CellCounts(trips, model)
    criteria = normal_map(occasion, points[kept], kernels)
    spots = []
    for at, criterion, rows in zip(points[kept], criteria, nearby[kept], strict=True):
        residuals = counts.residuals(at)
        spots.append(
            Spot(
                at=at,
                criterion=float(criterion),
                dropoffs=trips.dropoff[rows],
                residuals=residuals,
                misfit=float(np.nanmean(residuals**2)),
            )
        )
    return sorted(spots, key=lambda spot: spot.criterion)


class CellCounts:
    """Drop-offs in cells of about 600 metres, and those that a mixture expects there.

    A cell is a row and a column of the map. Covariances are diagonal, so that a component
    gives it the product of the probabilities of its row and of its column.
    """

    def __init__(self, trips, model, columns=16):
        longitudes, latitudes = lines_of_map(columns + 1)
        self.pickup = trips.pickup
        self.weights, means, stds = model.parts(trips.pickup)
        self.column_probabilities = _probabilities(  # (n, C, columns)
            longitudes, means[:, :, 0], stds[:, :, 0]
        )
        self.row_probabilities = _probabilities(  # (n, C, rows)
            latitudes, means[:, :, 1], stds[:, :, 1]
        )
        self.dropoff_cells = (
            _interval(latitudes, trips.dropoff[:, 1]),
            _interval(longitudes, trips.dropoff[:, 0]),
        )

    def residuals(self, at):
        """Return standardised residuals around a point, NaN where little is expected."""
        weights = around(at[None, :], self.pickup)[0]
        expected = self._sum(weights)
        variance = self._sum(weights**2)
        observed = np.zeros(expected.shape)
        np.add.at(observed, self.dropoff_cells, weights)
        residuals = np.full(expected.shape, np.nan)
        some = expected > MIN_SHARE * weights.sum()
        residuals[some] = (observed - expected)[some] / np.sqrt(variance[some])
        return residuals

    def _sum(self, weights):
        """Return Σ_i w_i P_i(cell) with P_i = Σ_c π_c row_c column_c, (rows, columns)."""
        scaled = self.row_probabilities * (weights[:, None] * self.weights)[:, :, None]
        n, components, rows = scaled.shape
        by_row = scaled.reshape(n * components, rows)
        return by_row.T @ self.column_probabilities.reshape(n * components, -1)


def _probabilities(lines, means, stds):
    """Return the probabilities of the intervals between lines, (n, C, len(lines) − 1)."""
    return np.diff(ndtr((lines - means[:, :, None]) / stds[:, :, None]), axis=2)


def _interval(lines, values):
    """Return the number of the interval between lines that each value lies in."""
    return np.clip(np.searchsorted(lines, values) - 1, 0, len(lines) - 2)


def lines_of_map(columns):
    """Longitudes and latitudes that cut the map into about square cells."""
    wide, high = np.array([EAST - WEST, NORTH - SOUTH]) * KILOMETRES
    rows = round((columns - 1) * high / wide) + 1
    return np.linspace(WEST, EAST, columns), np.linspace(SOUTH, NORTH, rows)


def around(at, pickup):
    """Weights exp(−‖v − x‖²/2w²) of pick-ups (n, 2) around points (m, 2), (m, n)."""
    return np.exp(-0.5 * cdist(at, pickup, "sqeuclidean") / LOCAL**2)
