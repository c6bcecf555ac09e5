"""Passes over all rows with shared features: what a comparison of models needs, linear in n.

With S_a = Σ_i F_i ξ_a,i the row sums of model a are F_i (ξ_a,i · S_a − F_i ‖ξ_a,i‖²). All but the norms
works on comparisons with the landmarks as they are: L⁻¹ is applied to sums, once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.stein._features import settle
from condgof.stein._pass import tiles_of
from condgof.stein._rows import Piece, Rows
from condgof.stein._shared import RawRows, SharedFeatures
from condgof.stein._sum import Arrays, sum_over
from condgof.stein._sweep import check_overflow


def shared_sums(
    features: SharedFeatures,
    rows: Rows,
    weigh: Callable[[FloatArray], FloatArray],
    shape: tuple[int, int, int],
    engine: Engine,
) -> tuple[FloatArray, FloatArray]:
    """Sum the features of each model, weighted by functions of x.

    Parameters
    ----------
    features : SharedFeatures
        Those that the models share.
    rows : Rows
        The rows, with the scores of all models side by side.
    weigh : callable
        From x (b, d_x) to F (b, m).
    shape : tuple of int
        K, d_y (`SharedFeatures.coordinates`) and m.
    engine : Engine
        Where the work runs.

    Returns
    -------
    sums : ndarray of shape (K, d_y, r, m)
        Σ_i F_iv ξ_a,i.
    own : ndarray of shape (K, m)
        Σ_i F_iv² ‖ξ_a,i‖².
    """
    count, d_y, m = shape

    def task(piece: Piece, rows: RawRows) -> Arrays:
        sums, own = np.zeros((count, d_y, features.rank, m)), np.zeros((count, m))
        for part in tiles_of(len(rows)):
            tile = rows.take(part)
            values, gradients = features.compare(tile)
            f = weigh(tile.x)
            own += features.own(values, gradients, tile.scores).T @ np.square(f)
            if gradients is None:
                for a in range(count):
                    _add_weighted(sums[a], values, tile.scores[:, a], f)
                continue
            for c in range(d_y):
                bent = gradients[c] @ f
                for a in range(count):
                    sums[a, c] += values @ (tile.scores[:, a, c, None] * f) + bent
        return sums, own

    raw, own = sum_over(features, rows, engine, task)
    check_overflow(raw, own)
    return features.inverse @ raw, own


def _add_weighted(sums: FloatArray, values: FloatArray, scores: FloatArray, f: FloatArray) -> None:
    """Add Σ_i s_i v_i F_i to sums (d, r, m), from scores (b, d), values (r, b) and F (b, m)."""
    if len(values) > f.shape[1]:
        for v in range(f.shape[1]):
            sums[:, :, v] += ((values * f[:, v]) @ scores).T
    else:
        for r, value in enumerate(values):
            sums[:, r] += (scores * value[:, None]).T @ f


def totals_of(sums: FloatArray, own: FloatArray) -> FloatArray:
    """Return Σ_{i≠j} F_i F_j ξ_i·ξ_j of each model and weight, (K, m), from `shared_sums`."""
    whole = np.square(sums).sum(axis=(1, 2))
    return settle(whole - own, whole + own)


def shared_moments(
    features: SharedFeatures, rows: Rows, sums: FloatArray, means: FloatArray, engine: Engine
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum powers of row means, centred, and the forms that their skewness needs.

    Parameters
    ----------
    features, rows, engine
        As in `shared_sums`.
    sums : ndarray of shape (K, d_y, r)
        S_a, from `shared_sums` with one weight, 1.
    means : ndarray of shape (K,)
        Mean of the row means of each model.

    Returns
    -------
    products : ndarray of shape (K, K)
        Σ_i g_a,i g_b,i of the row means g_a,i = ξ_a,i·(S_a − ξ_a,i)/(n−1), less their means.
    powers : ndarray of shape (2, P)
        For each pair a < b, with g = g_a − g_b: Σ_i g_i² and Σ_i g_i³.
    forms : ndarray of shape (P,)
        Σ_{i≠j} g_i g_j (H^a − H^b)_ij.
    """
    count, n = len(sums), rows.total
    back = sums @ features.inverse  # ξ·S from comparisons as they are
    pairs = list(combinations(range(count), 2))

    def task(piece: Piece, rows: RawRows) -> Arrays:
        products, powers = np.zeros((count, count)), np.zeros((2, len(pairs)))
        weighted = np.zeros((len(pairs), 2, *sums.shape[1:]))
        own = np.zeros(len(pairs))
        for part in tiles_of(len(rows)):
            tile = rows.take(part)
            values, gradients = features.compare(tile)
            norms = features.own(values, gradients, tile.scores)
            g = _row_sums(values, gradients, tile.scores, back) - norms
            g = g / (n - 1) - means
            products += g.T @ g
            for k, (a, b) in enumerate(pairs):
                difference = g[:, a] - g[:, b]
                powers[:, k] += (difference**2).sum(), (difference**3).sum()
                own[k] += float(np.square(difference) @ (norms[:, a] - norms[:, b]))
                for side, model in enumerate((a, b)):
                    along = tile.scores[:, model] * difference[:, None]
                    weighted[k, side] += (values @ along).T
                    if gradients is not None:
                        weighted[k, side] += gradients @ difference
        return products, powers, weighted, own

    products, powers, weighted, own = sum_over(features, rows, engine, task)
    check_overflow(products, weighted)
    squares = np.square(weighted @ features.inverse.T).sum(axis=(2, 3))
    return products, powers, squares[:, 0] - squares[:, 1] - own


def _row_sums(
    values: FloatArray, gradients: FloatArray | None, scores: FloatArray, back: FloatArray
) -> FloatArray:
    """Return ξ_a,i · S_a for each row and model, (b, K)."""
    out = np.zeros(scores.shape[:2])
    for a in range(len(back)):
        out[:, a] = np.einsum("bc,bc->b", scores[:, a], values.T @ back[a].T)
        if gradients is not None:
            out[:, a] += sum(
                gradient.T @ part for gradient, part in zip(gradients, back[a], strict=True)
            )
    return out


def shared_spread(
    features: SharedFeatures,
    rows: Rows,
    weigh: Callable[[FloatArray], FloatArray],
    sums: FloatArray,
    centres: FloatArray,
    engine: Engine,
) -> FloatArray:
    """Sum squared deviations of the first model's row sums less the second's from their centres.

    Parameters
    ----------
    features, rows, weigh, engine
        As in `shared_sums`.
    sums : ndarray of shape (2, d_y, r, m)
        From `shared_sums`.
    centres : ndarray of shape (m,)
        Mean difference of the row sums.

    Returns
    -------
    ndarray of shape (m,)
    """
    back = features.inverse.T @ sums

    def task(piece: Piece, rows: RawRows) -> Arrays:
        total = np.zeros(len(centres))
        for part in tiles_of(len(rows)):
            tile = rows.take(part)
            values, gradients = features.compare(tile)
            norms = features.own(values, gradients, tile.scores)
            f = weigh(tile.x)
            difference = np.zeros(f.shape)
            for a, sign in enumerate((1.0, -1.0)):
                if gradients is None:
                    for r, value in enumerate(values):
                        difference += sign * ((tile.scores[:, a] * value[:, None]) @ back[a, :, r])
                    continue
                for c, gradient in enumerate(gradients):
                    along = tile.scores[:, a, c, None] * (values.T @ back[a, c])
                    difference += sign * (along + gradient.T @ back[a, c])
            difference -= (norms[:, 0] - norms[:, 1])[:, None] * f
            total += np.square(difference * f - centres).sum(axis=0)
        return (total,)

    (spread,) = sum_over(features, rows, engine, task)
    check_overflow(spread)
    return spread
