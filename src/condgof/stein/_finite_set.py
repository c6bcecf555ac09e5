"""The unconditional finite-set statistic: its features, its power criterion and the gradient."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import Radial, sqdist
from condgof.stein._criterion import criterion_slopes


def finite_set_features(
    y: FloatArray, scores: FloatArray, kernel: Radial, locations: FloatArray
) -> FloatArray:
    """Features of the unconditional finite-set statistic (paper, Section 2.2).

    τ(y) holds ξ(y, v_j) = s(y) l(y, v_j) + ∇_y l(y, v_j) for all j, over √(d_y J).

    Parameters
    ----------
    y, scores : ndarrays of shape (n, d_y)
        The sample and its scores.
    kernel : Radial
        l.
    locations : ndarray of shape (J, d_y)
        The v_j.

    Returns
    -------
    ndarray of shape (n, J · d_y)
    """
    phi, dphi, _ = kernel.profile(sqdist(y, locations, kernel.sigma))
    difference = (y[:, None, :] - locations) / kernel.sigma**2
    xi = phi[:, :, None] * scores[:, None, :] + 2.0 * dphi[:, :, None] * difference
    values: FloatArray = xi.reshape(len(y), -1) / np.sqrt(xi.shape[1] * xi.shape[2])
    return values


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for, and said
def finite_set_gradient(
    y: FloatArray,
    scores: FloatArray,
    kernel: Radial,
    locations: FloatArray,
    reg: float = 0.0,
) -> tuple[float, FloatArray, float]:
    """Power criterion of the unconditional finite-set test, with its gradient, in linear time.

    With a = Σ_i τ_i the row means are g_i = τ_i·(a − τ_i)/(n−1).

    Parameters
    ----------
    y, scores : ndarrays of shape (n, d_y)
        The training sample and its scores.
    kernel : Radial
        l.
    locations : ndarray of shape (J, d_y)
        The v_j.
    reg : float
        Added to σ̂_V.

    Returns
    -------
    value : float
        The criterion.
    by_locations : ndarray of shape (J, d_y)
        Its derivative by the locations.
    by_log_bandwidth : float
        Its derivative by the log-bandwidth.
    """
    n, d_y = y.shape
    tau = finite_set_features(y, scores, kernel, locations)
    total = tau.sum(axis=0)
    means = (tau @ total - (tau * tau).sum(axis=1)) / (n - 1)
    value, slopes = criterion_slopes(means, reg)
    by_tau = slopes[:, None] * (total - 2.0 * tau) + slopes @ tau
    by_tau = by_tau.reshape(n, -1, d_y) / ((n - 1) * np.sqrt(tau.shape[1]))

    precision = kernel.sigma**-2
    t = sqdist(y, locations, kernel.sigma)
    _, dphi, d2phi = kernel.profile(t)
    difference = y[:, None, :] - locations
    on_score = np.einsum("njd,nd->nj", by_tau, scores)
    on_difference = np.einsum("njd,njd->nj", by_tau, difference)
    pull = (2.0 * precision) * dphi * on_score + (4.0 * precision**2) * d2phi * on_difference
    by_locations = -np.einsum("nj,njd->jd", pull, difference)
    by_locations -= (2.0 * precision) * np.einsum("nj,njd->jd", dphi, by_tau)
    by_sigma = -2.0 * t * dphi * on_score - (4.0 * precision) * (dphi + t * d2phi) * on_difference
    return value, by_locations, float(by_sigma.sum())
