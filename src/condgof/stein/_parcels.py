"""Sums of low-rank features over parcels of rows, for draws that give one sign to each parcel.

With Φ_u = Σ_{i in u} Φ_i for the parcels u, Σ_{u≠v} w_u w_v Φ_u·Φ_v takes no more than the Φ_u, however
many rows there are. All rows are used, and those of a parcel may depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.stein._features import settle
from condgof.stein._local import LocalKernel, LocalRows
from condgof.stein._pass import tiles_of
from condgof.stein._rows import Piece, Rows
from condgof.stein._scale_landmarks import ENTRIES, ScaleLandmarks
from condgof.stein._scale_sweep import ScaleSums
from condgof.stein._scales import ScaleRows
from condgof.stein._sum import Arrays, sum_over
from condgof.stein._sweep import Weights, check_overflow


class Parcels(Protocol):
    """A cut of the rows into parcels."""

    @property
    def count(self) -> int:
        """Number of parcels."""
        ...

    def of(self, start: int, stop: int) -> IntArray:
        """Return the parcels of the rows from `start` to `stop`, by global number."""
        ...


@dataclass(frozen=True, eq=False)
class ParcelSums:
    """Features summed over parcels.

    Parameters
    ----------
    features : list of ndarrays of shape (r_k, U)
        Φ_u, for each of K statistics.
    counts : ndarray of shape (U,)
        Number of rows in each parcel.
    """

    features: list[FloatArray]
    counts: FloatArray


def parcel_forms(sums: ParcelSums, weights: Weights) -> ScaleSums:
    """Sum Φ_u·Φ_v over different parcels, plainly and under m sets of weights ±1, for each statistic.

    Examples
    --------
    >>> from condgof.stein import ArrayWeights
    >>> sums = ParcelSums([np.array([[1.0, 2.0, 3.0]])], np.ones(3))
    >>> found = parcel_forms(sums, ArrayWeights(np.array([[1.0], [-1.0], [1.0]])))
    >>> float(found.totals[0]), float(found.forms[0, 0])
    (22.0, -10.0)
    """
    totals, forms, owns = [], [], []
    signs = weights.block(0, len(sums.counts))
    with single_threaded_blas():
        for features in sums.features:
            own = float(np.square(features).sum())
            whole = float(np.square(features.sum(axis=1)).sum())
            weighted = np.square(features @ signs).sum(axis=0)
            totals.append(float(settle(whole - own, whole + own)))
            forms.append(settle(weighted - own, weighted + own))
            owns.append(own)
    return ScaleSums(np.array(totals), np.array(forms), np.array(owns))


def scale_parcels(landmarks: ScaleLandmarks, rows: Rows, parcels: Parcels, engine: Engine) -> ParcelSums:
    """Sum the features of each scale over parcels of rows.

    Comparisons with the landmarks are summed, and made features at the end.
    """
    kernel, count = landmarks.kernel, len(landmarks.rows)

    def task(piece: Piece, rows: ScaleRows) -> Arrays:
        sums = np.zeros((len(kernel.scales), count, parcels.count))
        for index, own, first in _sorted(piece, parcels, max(16, ENTRIES // count)):
            on_x, on_y = kernel.factors(landmarks.rows, rows.take(index))
            each = (k * h for h in on_y for k in on_x)
            for total, product in zip(sums, each, strict=True):
                if piece.keep is not None:
                    product *= piece.keep[index]
                total[:, own[first]] += np.add.reduceat(product, first, axis=1)
        return sums, _counts(piece, parcels)

    sums, counts = sum_over(kernel, rows, engine, task)
    check_overflow(sums)
    with single_threaded_blas():
        features = [
            inverse @ one[index]
            for one, index, inverse in zip(sums, landmarks.chosen, landmarks.inverses, strict=True)
        ]
    return ParcelSums(features, counts)


def local_parcels(kernel: LocalKernel, rows: Rows, parcels: Parcels, engine: Engine) -> ParcelSums:
    """Sum the features of each bandwidth on y and each location over parcels of rows."""

    def task(piece: Piece, rows: LocalRows) -> Arrays:
        near = rows.near if piece.keep is None else rows.near * piece.keep
        sums = tuple(np.zeros((parcels.count, len(near), len(psi))) for psi in rows.features)
        index, own, first = next(_sorted(piece, parcels, len(piece.y)))
        for parcel, part in zip(own[first], np.split(index, first[1:]), strict=True):
            some = near[:, part]
            for total, psi in zip(sums, rows.features, strict=True):
                total[parcel] += some @ psi[:, part].T
        return (*sums, _counts(piece, parcels))

    *sums, counts = sum_over(kernel, rows, engine, task)
    check_overflow(*sums)
    # (U, L, r) for each bandwidth: all locations at the first, then at the next.
    features = [total[:, v, :].T for total in sums for v in range(total.shape[1])]
    return ParcelSums(features, counts)


def _sorted(piece: Piece, parcels: Parcels, size: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield rows of a piece in tiles, those of a parcel side by side.

    Yields
    ------
    index : ndarray of int, shape (b,)
        Rows, by their number in the piece.
    own : ndarray of int, shape (b,)
        Their parcels.
    first : ndarray of int
        Where in the tile a parcel starts.
    """
    every = parcels.of(piece.start, piece.stop)
    order = np.argsort(every, kind="stable")
    for part in tiles_of(len(order), size):
        own = every[order[part]]
        yield order[part], own, np.flatnonzero(np.diff(own, prepend=-1))


def _counts(piece: Piece, parcels: Parcels) -> FloatArray:
    every = parcels.of(piece.start, piece.stop)
    counted = every if piece.keep is None else every[piece.keep]
    return np.bincount(counted, minlength=parcels.count).astype(np.float64)
