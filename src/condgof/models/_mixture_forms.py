"""Closed forms of mixtures of Gaussians with diagonal covariances, as functions of their arrays.

Throughout, weights π has shape (n, C) and sums to 1 in every row, means and stds have shape (n, C, d_y),
and y has shape (n, d_y).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.models._base import log_tail_scores
from condgof.models._normal import LOG_2PI


class Parts(NamedTuple):
    """Weights (n, C), means and standard deviations (n, C, d_y) of one mixture a row."""

    weights: FloatArray
    means: FloatArray
    stds: FloatArray


def score(y: FloatArray, parts: Parts) -> FloatArray:
    """Return Σ_c r_c(y) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
    log_joint, z = _log_joint(y, parts)
    share = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    values: FloatArray = np.einsum("nc,ncd->nd", share, -z / parts.stds)
    return values


def log_prob(y: FloatArray, parts: Parts) -> FloatArray:
    """Return log Σ_c π_c N(y; mean_c, diag std_c²), (n,)."""
    log_joint, _ = _log_joint(y, parts)
    top = log_joint.max(axis=1)
    values: FloatArray = top + np.log(np.exp(log_joint - top[:, None]).sum(axis=1))
    return values


def cdf(y: FloatArray, parts: Parts) -> FloatArray:
    """Return P(Y ≤ y) for d_y = 1, (n,)."""
    return _tail(y, parts, 1.0)


def sf(y: FloatArray, parts: Parts) -> FloatArray:
    """Return P(Y > y) for d_y = 1, (n,), with all its digits in the upper tail."""
    return _tail(y, parts, -1.0)


def cdf_grid(values: AnyArray, parts: Parts) -> FloatArray:
    """Return P(Y ≤ v) of each row at each of m values, for d_y = 1, (n, m)."""
    from scipy.special import ndtr

    weights, means, stds = parts
    if means.shape[2] != 1:
        raise UnsupportedModelError("The cdf of a mixture is there for d_y = 1 only.")
    out = np.zeros((len(weights), len(values)))
    for c in range(weights.shape[1]):  # one component at a time, not (n, C, m) at once
        out += weights[:, [c]] * ndtr((np.ravel(values) - means[:, c]) / stds[:, c])
    return out


def normal_scores(y: FloatArray, parts: Parts) -> FloatArray:
    """Return Rosenblatt's sequence of normal scores, (n, d_y).

    Given the coordinates before it, a coordinate is again a mixture: its weights are multiplied by the
    components' densities of those coordinates.
    """
    from scipy.special import log_ndtr, logsumexp

    z, log_weights = _residuals(y, parts), _log(parts.weights)
    u = np.empty(y.shape)
    for k in range(y.shape[1]):
        lower = logsumexp(log_weights + log_ndtr(z[:, :, k]), axis=1)
        upper = logsumexp(log_weights + log_ndtr(-z[:, :, k]), axis=1)
        u[:, k] = log_tail_scores(lower, upper)
        log_weights = log_weights - 0.5 * z[:, :, k] ** 2 - np.log(parts.stds[:, :, k])
        log_weights -= logsumexp(log_weights, axis=1, keepdims=True)
    return u


def marginals(y: FloatArray, parts: Parts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""
    from scipy.special import log_ndtr, logsumexp

    z, log_weights = _residuals(y, parts), _log(parts.weights)[:, :, None]
    lower = logsumexp(log_weights + log_ndtr(z), axis=1)
    upper = logsumexp(log_weights + log_ndtr(-z), axis=1)
    u = log_tail_scores(lower, upper)
    log_joint = log_weights - 0.5 * (z * z + LOG_2PI) - np.log(parts.stds)
    log_density = logsumexp(log_joint, axis=1)
    share = np.exp(log_joint - log_density[:, None, :])
    slope = np.exp(log_density + 0.5 * (u * u + LOG_2PI))
    return u, slope, (share * (-z / parts.stds)).sum(axis=1)


def mean_std(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation, (n, d_y) each."""
    weights, means, stds = parts
    mean = np.einsum("nc,ncd->nd", weights, means)
    spread = stds**2 + (means - mean[:, None, :]) ** 2
    return mean, np.sqrt(np.einsum("nc,ncd->nd", weights, spread))


def mean_cov(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return mean (n, d_y) and covariance (n, d_y, d_y)."""
    weights, means, stds = parts
    mean = np.einsum("nc,ncd->nd", weights, means)
    apart = means - mean[:, None, :]
    cov = np.einsum("nc,nci,ncj->nij", weights, apart, apart)
    diagonal = np.arange(mean.shape[1])
    cov[:, diagonal, diagonal] += np.einsum("nc,nci->ni", weights, stds**2)
    return mean, cov


def location_scale(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return the mean, and standard deviations (d_y = 1) or Cholesky factors of the covariance."""
    if parts.means.shape[2] == 1:
        return mean_std(parts)
    mean, cov = mean_cov(parts)
    return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)


def sample(parts: Parts, uniform: FloatArray, normal: FloatArray) -> FloatArray:
    """Turn uniform (n, 1) and standard normal (n, d_y) numbers into one draw a row, (n, d_y)."""
    weights, means, stds = parts
    chosen = (uniform > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(len(weights))
    values: FloatArray = means[rows, chosen] + stds[rows, chosen] * normal
    return values


def _residuals(y: FloatArray, parts: Parts) -> FloatArray:
    return (y[:, None, :] - parts.means) / parts.stds


def _log(weights: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # a weight of 0 is a component that is not there
        values: FloatArray = np.log(weights)
    return values


def _log_joint(y: FloatArray, parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return log π_c N_c (n, C) and residuals z (n, C, d_y)."""
    z = _residuals(y, parts)
    log_density = -(0.5 * (z * z + LOG_2PI) + np.log(parts.stds)).sum(axis=2)
    return _log(parts.weights) + log_density, z


def _tail(y: FloatArray, parts: Parts, sign: float) -> FloatArray:
    from scipy.special import ndtr

    if y.shape[1] != 1:
        what = "cdf" if sign > 0 else "sf"
        raise UnsupportedModelError(f"The {what} of a mixture is there for d_y = 1 only.")
    values: FloatArray = (parts.weights * ndtr(sign * _residuals(y, parts)[:, :, 0])).sum(axis=1)
    return values
