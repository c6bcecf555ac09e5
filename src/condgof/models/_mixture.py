"""Mixtures of Gaussians with diagonal covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.models._base import as_rows, log_tail_scores
from condgof.models._normal import LOG_2PI
from condgof.models._parameters import Parameter, check_positive
from condgof.models._parametric import Parametric


@dataclass(frozen=True, eq=False, init=False)
class NormalMixture(Parametric):
    """Mixture of C Gaussians, p(y|x) = Σ_c π_c(x) N(y; mean_c(x), diag std_c(x)²).

    Parameters
    ----------
    weights : (C,) array or callable
        Mixing weights, summing to 1, or a function x → (n, C).
    means : (C,) or (C, d_y) array, or callable
        Component means, or a function x → (n, C) or (n, C, d_y).
    stds : float, (C,) or (C, d_y) array, or callable
        Component standard deviations, as for `means`: (C,) when d_y = 1, a number for all.

    Examples
    --------
    >>> model = NormalMixture(weights=[0.5, 0.5], means=[-1.0, 1.0], stds=1.0)
    >>> model.score(np.array([0.0]), np.array([0.0]))
    array([[0.]])
    """

    weights: Parameter
    means: Parameter
    stds: Parameter

    def __init__(self, weights: Any, means: Any, stds: Any) -> None:
        self._read(weights=weights, means=means, stds=stds)

    def _parts(self, x: Any, n: int, d_y: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weights (n, C), means and stds (n, C, d_y)."""
        components = self.weights.width(x)
        if components is None:
            raise InputError("weights must have one number for each component.")
        weights = self.weights.at(x, n, (components,))
        sums = weights.sum(axis=1)
        if (weights < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise InputError("weights must not be negative and must sum to 1 in every row.")
        means = self.means.at(x, n, (components, d_y))
        stds = check_positive(self.stds.at(x, n, (components, d_y)), "stds")
        return weights / sums[:, None], means, stds

    def _log_joint(self, y: FloatArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log π_c N_c (n, C), residuals z and stds (n, C, d_y)."""
        weights, means, stds = self._parts(x, *y.shape)
        z = (y[:, None, :] - means) / stds
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights)
        return log_weights - (0.5 * (z * z + LOG_2PI) + np.log(stds)).sum(axis=2), z, stds

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Σ_c r_c(y, x) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
        log_joint, z, stds = self._log_joint(as_rows(y), x)
        share = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        values: FloatArray = np.einsum("nc,ncd->nd", share, -z / stds)
        return values

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        log_joint, _, _ = self._log_joint(as_rows(y), x)
        top = log_joint.max(axis=1)
        values: FloatArray = top + np.log(np.exp(log_joint - top[:, None]).sum(axis=1))
        return values

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        return self._tail(y, x, 1.0)

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        return self._tail(y, x, -1.0)

    def _tail(self, y: AnyArray, x: Any, sign: float) -> FloatArray:
        from scipy.special import ndtr

        y = as_rows(y)
        if y.shape[1] != 1:
            raise UnsupportedModelError("The cdf of a mixture is there for d_y = 1 only.")
        weights, means, stds = self._parts(x, *y.shape)
        z = (y - means[:, :, 0]) / stds[:, :, 0]
        values: FloatArray = (weights * ndtr(sign * z)).sum(axis=1)
        return values

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Rosenblatt's sequence of normal scores, (n, d_y).

        Given the coordinates before it, a coordinate is again a mixture: its weights are multiplied
        by the components' densities of those coordinates.
        """
        from scipy.special import log_ndtr, logsumexp

        y = as_rows(y)
        weights, means, stds = self._parts(x, *y.shape)
        z = (y[:, None, :] - means) / stds
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights)
        u = np.empty(y.shape)
        for k in range(y.shape[1]):
            lower = logsumexp(log_weights + log_ndtr(z[:, :, k]), axis=1)
            upper = logsumexp(log_weights + log_ndtr(-z[:, :, k]), axis=1)
            u[:, k] = log_tail_scores(lower, upper)
            log_weights = log_weights - 0.5 * z[:, :, k] ** 2 - np.log(stds[:, :, k])
            log_weights -= logsumexp(log_weights, axis=1, keepdims=True)
        return u

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""
        from scipy.special import log_ndtr, logsumexp

        y = as_rows(y)
        weights, means, stds = self._parts(x, *y.shape)
        z = (y[:, None, :] - means) / stds
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights)[:, :, None]
        lower = logsumexp(log_weights + log_ndtr(z), axis=1)
        upper = logsumexp(log_weights + log_ndtr(-z), axis=1)
        u = log_tail_scores(lower, upper)
        log_joint = log_weights - 0.5 * (z * z + LOG_2PI) - np.log(stds)
        log_density = logsumexp(log_joint, axis=1)
        share = np.exp(log_joint - log_density[:, None, :])
        slope = np.exp(log_density + 0.5 * (u * u + LOG_2PI))
        return u, slope, (share * (-z / stds)).sum(axis=1)

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the mean, and standard deviations or Cholesky factors of the covariance."""
        n = self._size(x, n)
        weights, means, stds = self._parts(x, n, self._d_y(x))
        mean, std = self.mean_std(x, n)
        if mean.shape[1] == 1:
            return mean, std
        apart = means - mean[:, None, :]
        cov = np.einsum("nc,nci,ncj->nij", weights, apart, apart)
        own = np.einsum("nc,nci->ni", weights, stds**2)
        diagonal = np.arange(mean.shape[1])
        cov[:, diagonal, diagonal] += own
        return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)

    def _d_y(self, x: Any) -> int:
        for parameter in (self.means, self.stds):
            value = parameter.value
            per_row = callable(value) or parameter.bound
            value = np.asarray(value(x)) if callable(value) else value
            if value.ndim == (3 if per_row else 2):
                return int(value.shape[-1])
        return 1

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        n = self._size(x, n)
        weights, means, stds = self._parts(x, n, self._d_y(x))
        chosen = (rng.random((n, 1)) > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
        z = rng.standard_normal((n, means.shape[2]))
        rows = np.arange(n)
        values: FloatArray = means[rows, chosen] + stds[rows, chosen] * z
        return values

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        n = self._size(x, n)
        weights, means, stds = self._parts(x, n, self._d_y(x))
        mean = np.einsum("nc,ncd->nd", weights, means)
        spread = stds**2 + (means - mean[:, None, :]) ** 2
        return mean, np.sqrt(np.einsum("nc,ncd->nd", weights, spread))
