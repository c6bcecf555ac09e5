"""Maps of the taxi model's misfit over pick-up points, and plain counts to hold them against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray
from condgof.engine import as_engine
from condgof.kernels import CovariateKernel, Gaussian
from condgof.laws import ModelLike, from_scores
from condgof.methods import Scored, power_criterion
from condgof.sample import Sample
from condgof.stein import DEFAULT_MEMORY, matmul
from condgof.study._taxi import Kernels, Occasion
from condgof.study._trips import EAST, NORTH, SOUTH, WEST, Trips

#: Kilometres of a degree of longitude and of latitude, in New York.
KILOMETRES = np.array([84.3, 111.0])
#: Kilometres within which a trip is "from nearby", and how many there must be to look at.
NEAR, FEWEST_NEAR = 0.4, 40
#: Bandwidth of local maps, in degrees: about a kilometre.
LOCAL = 0.01


@dataclass(frozen=True, eq=False)
class PickupGrid:
    """A grid of pick-up points.

    Parameters
    ----------
    longitudes, latitudes : ndarrays of shape (c,) and (r,)
        Its lines.
    inside : ndarray of shape (r, c)
        Whether there are enough pick-ups around a point.
    """

    longitudes: FloatArray
    latitudes: FloatArray
    inside: NDArray[np.bool_]

    @property
    def points(self) -> FloatArray:
        """The points inside, (m, 2)."""
        return np.stack(np.meshgrid(self.longitudes, self.latitudes), axis=-1)[self.inside]


@dataclass(frozen=True, eq=False)
class Spot:
    """A pick-up point.

    Parameters
    ----------
    at : ndarray of shape (2,)
        The point.
    criterion : float
        The local criterion of normal scores there.
    dropoffs : ndarray of shape (m, 2)
        Drop-offs of trips from nearby.
    residuals : ndarray of shape (r, c)
        Drop-offs in cells of the map, less what the model expects, in standard errors; NaN where
        nothing is expected.
    misfit : float
        Their mean square: about 1 where the model is right.
    """

    at: FloatArray
    criterion: float
    dropoffs: FloatArray
    residuals: FloatArray
    misfit: float


def paper_map(trips: Trips, model: ModelLike, at: FloatArray, kernels: Kernels) -> FloatArray:
    """Return the power criterion at single locations (m, 2), in degrees, as in the paper."""
    on_x, on_y = Gaussian(kernels.x), Gaussian(kernels.y)
    return power_criterion(
        model, trips.pickup, trips.dropoff, at=at, kernel_x=on_x, kernel_y=on_y, rng=0
    )


def normal_map(occasion: Occasion, at: FloatArray, kernels: Kernels) -> FloatArray:
    """Return the local power criterion of normal scores at single locations (m, 2)."""
    x, u = occasion.trips.pickup, occasion.u
    return power_criterion(
        from_scores(-u), x, u, at=at, kernel_x=Gaussian(LOCAL), kernel_y=Gaussian(kernels.u), rng=0
    )


def local_effects(occasion: Occasion, at: FloatArray, kernels: Kernels, most: int = 7000) -> FloatArray:
    """Return D̂ of the trips around each location (m, 2): how wrong the model is there.

    Pairs of trips count with the product of their weights, k(x_i, v)k(x_j, v), and the sum is divided
    by that of the weights. So it does not grow with the number of trips around v, as the criterion does;
    where they are few, it is noisy. Of more than `most` trips, so many are drawn.
    """
    rows = np.random.default_rng(0).permutation(len(occasion.u))[:most]
    x, u = occasion.trips.pickup[rows], occasion.u[rows]
    scored = Scored.of(from_scores(-u), Sample.of(x, u))
    near = np.ascontiguousarray(_near(at, x).T)
    operator = scored.operator(CovariateKernel(()), Gaussian(kernels.u))
    sums = matmul(operator, near, engine=as_engine(None), memory=DEFAULT_MEMORY)
    pairs = near.sum(axis=0) ** 2 - (near**2).sum(axis=0)
    values: FloatArray = (near * sums).sum(axis=0) / pairs
    return values


def local_means(occasion: Occasion, at: FloatArray) -> FloatArray:
    """Return locally weighted means of normal scores at locations (m, 2): which way y is shifted."""
    weights = _near(at, occasion.trips.pickup)
    return np.asarray(weights @ occasion.u / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def pickup_grid(trips: Trips, columns: int = 60, radius: float = 0.3, least: int = 15) -> PickupGrid:
    """Lay a grid of about square cells over the pick-ups.

    Parameters
    ----------
    trips : Trips
        The trips.
    columns : int
        Number of longitudes.
    radius, least : float and int
        A point counts where at least so many trips began within so many kilometres.
    """
    from scipy.spatial import cKDTree

    longitudes, latitudes = _lines(columns)
    points = np.stack(np.meshgrid(longitudes, latitudes), axis=-1) * KILOMETRES
    tree = cKDTree(trips.pickup * KILOMETRES)
    counts = tree.query_ball_point(points, radius, return_length=True)
    return PickupGrid(longitudes, latitudes, np.asarray(counts) >= least)


def find_spots(
    occasion: Occasion, model: Any, kernels: Kernels, *, candidates: int = 300, seed: int = 0
) -> list[Spot]:
    """Return candidate locations, pick-ups chosen at random, in order of the criterion.

    Only places with at least 40 trips within 0.4 kilometres are taken, since elsewhere there would be
    nothing to see.
    """
    trips = occasion.trips
    points = trips.draw(candidates, seed).pickup
    around = [_nearby(trips, point) for point in points]
    kept = [i for i, dropoffs in enumerate(around) if len(dropoffs) >= FEWEST_NEAR]
    if not kept:
        return []
    values = normal_map(occasion, points[kept], kernels)
    counts = CellCounts.of(trips, model)
    spots = [
        Spot(points[i], float(value), around[i], *counts.residuals(points[i]))
        for i, value in zip(kept, values, strict=True)
    ]
    return sorted(spots, key=lambda spot: spot.criterion)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Drop-offs in the cells of a map, and what a mixture model expects there.

    Parameters
    ----------
    pickup : ndarray of shape (n, 2)
        The pick-ups.
    cell : ndarray of shape (n, 2)
        Row and column of the cell of each drop-off.
    weights : ndarray of shape (n, C)
        Weights of the components.
    east, north : ndarrays of shape (n, C, columns) and (n, C, rows)
        Probabilities of the columns and rows of cells under each component.
    """

    pickup: FloatArray
    cell: NDArray[np.int64]
    weights: FloatArray
    east: FloatArray
    north: FloatArray

    @classmethod
    def of(cls, trips: Trips, model: Any, columns: int = 16) -> CellCounts:
        """Count trips in cells of about 600 metres."""
        from scipy.special import ndtr

        lines = _lines(columns + 1)
        weights, means, stds = model.parts(trips.pickup)
        shares = [
            np.diff(ndtr((line - means[:, :, i, None]) / stds[:, :, i, None]), axis=2)
            for i, line in enumerate(lines)
        ]
        cell = [
            np.clip(np.searchsorted(line, trips.dropoff[:, i]) - 1, 0, len(line) - 2)
            for i, line in enumerate(lines)
        ]
        return cls(trips.pickup, np.column_stack(cell[::-1]), weights, *shares)

    def residuals(self, at: FloatArray) -> tuple[FloatArray, float]:
        """Return standardised residuals (rows, columns) of trips around a point, and their mean square.

        Trips count with a weight that falls off with the distance of their pick-up from `at`.
        """
        near = _near(at[None, :], self.pickup)[0]
        expected, variance = (self._sum(near), self._sum(near**2))
        observed = np.zeros(expected.shape)
        np.add.at(observed, tuple(self.cell.T), near)
        z, some = np.full(expected.shape, np.nan), expected > 2e-3 * near.sum()
        z[some] = (observed - expected)[some] / np.sqrt(variance[some])
        return z, float(np.nanmean(z**2))

    def _sum(self, near: FloatArray) -> FloatArray:
        """Σ_i near_i P_i(cell) with P_i = Σ_c π_c east_c north_c, (rows, columns)."""
        n, c, rows = self.north.shape
        scaled = self.north * (near[:, None] * self.weights)[:, :, None]
        values: FloatArray = scaled.reshape(n * c, rows).T @ self.east.reshape(n * c, -1)
        return values


def _lines(columns: int) -> tuple[FloatArray, FloatArray]:
    """Longitudes and latitudes that cut the map into about square cells."""
    wide, high = np.array([EAST - WEST, NORTH - SOUTH]) * KILOMETRES
    rows = round((columns - 1) * high / wide) + 1
    return np.linspace(WEST, EAST, columns), np.linspace(SOUTH, NORTH, rows)


def _near(at: FloatArray, pickup: FloatArray) -> FloatArray:
    """Weights exp(−‖v − x‖²/2w²) of pick-ups (n, 2) around points (m, 2), (m, n)."""
    from scipy.spatial.distance import cdist

    values: FloatArray = np.exp(-0.5 * cdist(at, pickup, "sqeuclidean") / LOCAL**2)
    return values


def _nearby(trips: Trips, at: FloatArray) -> FloatArray:
    """Drop-offs of trips that began near a point (2,)."""
    apart = (trips.pickup - at) * KILOMETRES
    values: FloatArray = trips.dropoff[(apart**2).sum(axis=1) < NEAR**2]
    return values
