"""Maps over many locations from a low-rank factor of h: a few matrix products, linear in n.

With h ≈ ΦΦᵀ and features F_iv = k(x_i, v), all that the witness needs is A = ΦᵀF; the row means of the
power criterion are F ∘ (ΦA) less the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.stein._kernel import Prepared
from condgof.stein._landmarks import Landmarks
from condgof.stein._pass import tile_of, tiles_of
from condgof.stein._rows import Piece, Rows
from condgof.stein._sum import Arrays, sum_over


def map_sums(
    landmarks: Landmarks,
    rows: Rows,
    features: Callable[[FloatArray], FloatArray],
    m: int,
    engine: Engine,
) -> tuple[FloatArray, FloatArray]:
    """Sum features of locations against the low-rank features of h.

    Parameters
    ----------
    landmarks : Landmarks
        The factor of h.
    rows : Rows
        The rows.
    features : callable
        From x (b, d_x) to F (b, m).
    m : int
        Number of locations.
    engine : Engine
        Where the work runs.

    Returns
    -------
    products : ndarray of shape (r, m)
        A = ΦᵀF.
    own : ndarray of shape (m,)
        Σ_i F_iv² ‖φ_i‖², what the diagonal contributes to ‖A_v‖².
    """

    def task(piece: Piece, rows: Prepared) -> Arrays:
        product, diagonal = np.zeros((landmarks.rank, m)), np.zeros(m)
        for part in tiles_of(len(rows)):
            phi = landmarks.whiten(tile_of(landmarks, piece, rows, part))
            f = features(piece.x[part])
            product += phi @ f
            diagonal += np.square(phi).sum(axis=0) @ np.square(f)
        return product, diagonal

    products, own = sum_over(landmarks.kernel, rows, engine, task)
    return products, own


def map_spread(
    landmarks: Landmarks,
    rows: Rows,
    features: Callable[[FloatArray], FloatArray],
    products: FloatArray,
    centres: FloatArray,
    size: int,
    engine: Engine,
) -> FloatArray:
    """Sum squared deviations of row sums Σ_{j≠i} F_iv F_jv h_ij from their centres.

    Parameters
    ----------
    landmarks, rows, features, engine
        As in `map_sums`.
    products : ndarray of shape (r, m·size)
        A, from `map_sums`.
    centres : ndarray of shape (m,)
        Mean row sum of each set of locations.
    size : int
        Locations of a set; a row sum of a set is the sum over its locations.

    Returns
    -------
    ndarray of shape (m,)
    """

    def task(piece: Piece, rows: Prepared) -> Arrays:
        total = np.zeros(len(centres))
        for part in tiles_of(len(rows)):
            phi = landmarks.whiten(tile_of(landmarks, piece, rows, part))
            f = features(piece.x[part])
            sums = phi.T @ products
            sums -= np.square(phi).sum(axis=0)[:, None] * f
            sums *= f
            per_set = sums.reshape(len(sums), -1, size).sum(axis=2)
            total += np.square(per_set - centres).sum(axis=0)
        return (total,)

    (spread,) = sum_over(landmarks.kernel, rows, engine, task)
    return spread
