"""Mixtures: of Gaussians with diagonal covariances, and of any laws of the same rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError
from condgof.laws._crps import mean_distance
from condgof.laws._families import LOG_2PI
from condgof.laws._law import Law, as_rows, log_tail_scores
from condgof.laws._parameters import Continuous, check_positive, family


class Parts(NamedTuple):
    """Weights (n, C), means and standard deviations (n, C, d_y) of one mixture a row."""

    weights: FloatArray
    means: FloatArray
    stds: FloatArray


@family
class NormalMixture(Continuous):
    """Mixture of C Gaussians, p(y|x) = Σ_c π_c(x) N(y; mean_c(x), diag std_c(x)²).

    Parameters
    ----------
    weights : array (C,) or (n, C), or function of x
        Mixing weights, which sum to 1.
    means : array (C,), (n, C) or (n, C, d_y), or function of x
        Component means: (C,) for the same at all rows and one column of y.
    stds : number, or as `means`
        Component standard deviations.

    Examples
    --------
    >>> model = NormalMixture(weights=[0.5, 0.5], means=[-1.0, 1.0], stds=1.0)
    >>> model.score(np.array([0.0]))
    array([[0.]])
    """

    weights: Any
    means: Any
    stds: Any

    PLAIN: ClassVar = {"weights": 1, "means": 1, "stds": 1}

    def parts(self, n: int | None = None, d_y: int | None = None) -> Parts:
        n, d_y = self._size() if n is None else n, self._d_y if d_y is None else d_y
        components = self.weights.width
        if components is None:
            raise InputError("weights must have one number for each component.")
        weights = self.weights.values(n, (components,))
        sums = weights.sum(axis=1, keepdims=True)
        if (weights < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise InputError("weights must not be negative and must sum to 1 in every row.")
        means = self.means.values(n, (components, d_y))
        stds = check_positive(self.stds.values(n, (components, d_y)), "stds")
        return Parts(weights / sums, means, stds)

    @property
    def _d_y(self) -> int:
        shapes = (parameter.value.shape for parameter in (self.means, self.stds))
        return next((shape[-1] for shape in shapes if len(shape) == 3), 1)

    def _placed(self, y: AnyArray) -> tuple[FloatArray, Parts]:
        """Return residuals z of y (n, C, d_y) and the parts."""
        y = as_rows(y)
        parts = self.parts(self._size(y), y.shape[1])
        return (y[:, None, :] - parts.means) / parts.stds, parts

    def _log_joint(self, y: AnyArray) -> tuple[FloatArray, FloatArray, Parts]:
        """Return log π_c N_c (n, C), residuals z (n, C, d_y) and the parts."""
        z, parts = self._placed(y)
        log_density = -(0.5 * (z * z + LOG_2PI) + np.log(parts.stds)).sum(axis=2)
        return _log(parts.weights) + log_density, z, parts

    def score(self, y: AnyArray) -> FloatArray:
        """Return Σ_c r_c(y) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
        log_joint, z, parts = self._log_joint(y)
        share = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("nc,ncd->nd", share, -z / parts.stds))

    def log_prob(self, y: AnyArray) -> FloatArray:
        log_joint, _, _ = self._log_joint(y)
        top = log_joint.max(axis=1)
        return np.asarray(top + np.log(np.exp(log_joint - top[:, None]).sum(axis=1)))

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        z, parts = self._placed(y)
        self._one_column(z.shape[2], "sf" if upper else "cdf")
        return np.asarray((parts.weights * ndtr(-z[:, :, 0] if upper else z[:, :, 0])).sum(axis=1))

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        self._one_column(self._d_y, "cdf")
        weights, means, stds = self.parts()
        out = np.zeros((len(weights), len(values)))
        for c in range(weights.shape[1]):  # one component at a time, not (n, C, m) at once
            out += weights[:, [c]] * ndtr((np.ravel(values) - means[:, c]) / stds[:, c])
        return out

    def crps(self, y: AnyArray) -> FloatArray:
        """Return Σ_c w_c A(y − m_c, s_c) − ½ Σ_cd w_c w_d A(m_c − m_d, √(s_c² + s_d²)).

        A(m, s) is E|m + sZ|, Z standard normal.
        """
        z, (weights, means, stds) = self._placed(y)
        self._one_column(z.shape[2], "CRPS")
        m, s = means[:, :, 0], stds[:, :, 0]
        out = (weights * s * mean_distance(z[:, :, 0])).sum(axis=1)
        for c in range(weights.shape[1]):
            apart = np.hypot(s, s[:, [c]])
            pairs = weights * apart * mean_distance((m - m[:, [c]]) / apart)
            out -= 0.5 * weights[:, c] * pairs.sum(axis=1)
        return np.asarray(out)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        z, parts = self._placed(y)
        log_weights, u = _log(parts.weights), np.empty((len(z), z.shape[2]))
        # Given the coordinates before it, a coordinate is again a mixture: its weights are multiplied by
        # the components' densities of those coordinates.
        for k in range(z.shape[2]):
            u[:, k] = _scores(log_weights, z[:, :, k])
            log_weights = log_weights - 0.5 * z[:, :, k] ** 2 - np.log(parts.stds[:, :, k])
            log_weights -= logsumexp(log_weights, axis=1, keepdims=True)
        return u

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z, parts = self._placed(y)
        log_weights = _log(parts.weights)[:, :, None]
        u = _scores(log_weights, z)
        log_joint = log_weights - 0.5 * (z * z + LOG_2PI) - np.log(parts.stds)
        log_density = logsumexp(log_joint, axis=1)
        share = np.exp(log_joint - log_density[:, None, :])
        slope = np.exp(log_density + 0.5 * (u * u + LOG_2PI))
        return u, slope, (share * (-z / parts.stds)).sum(axis=1)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        weights, means, stds = self.parts()
        mean = np.einsum("nc,ncd->nd", weights, means)
        spread = stds**2 + (means - mean[:, None, :]) ** 2
        return mean, np.sqrt(np.einsum("nc,ncd->nd", weights, spread))

    def mean_cov(self) -> tuple[FloatArray, FloatArray]:
        """Return mean (n, d_y) and covariance (n, d_y, d_y)."""
        weights, means, stds = self.parts()
        mean = np.einsum("nc,ncd->nd", weights, means)
        apart, diagonal = means - mean[:, None, :], np.arange(mean.shape[1])
        cov = np.einsum("nc,nci,ncj->nij", weights, apart, apart)
        cov[:, diagonal, diagonal] += np.einsum("nc,nci->ni", weights, stds**2)
        return mean, cov

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        if self._d_y == 1:
            return self.mean_std()
        mean, cov = self.mean_cov()
        return mean, np.asarray(np.linalg.cholesky(cov), dtype=np.float64)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        n, d_y = self._size(), self._d_y
        return self.turned(rng.random((n, 1)), rng.standard_normal((n, d_y)))

    def turned(self, uniform: FloatArray, normal: FloatArray) -> FloatArray:
        """Turn uniform (n, 1) and standard normal (n, d_y) numbers into one draw a row, (n, d_y)."""
        weights, means, stds = self.parts()
        chosen = (uniform > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows = np.arange(len(weights))
        return np.asarray(means[rows, chosen] + stds[rows, chosen] * normal)


def _log(weights: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # a weight of 0 is a component that is not there
        return np.log(weights)


def _scores(log_weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return normal scores of mixtures, whose components are along the second axis."""
    tails = (logsumexp(log_weights + log_ndtr(part), axis=1) for part in (z, -z))
    return log_tail_scores(*tails)


@dataclass(frozen=True, eq=False)
class Mixture(Law):
    """Mixture p(y|x) = Σ_c w_c p_c(y|x) of laws of the same rows, for d_y = 1; see `NormalMixture`."""

    parts: tuple[Law, ...]
    #: One for each part, the same for all rows.
    weights: FloatArray

    @property
    def rows(self) -> int | None:
        return self.parts[0].rows

    @property
    def name(self) -> str:
        return f"the mixture with {self.parts[0].name}"

    def take(self, rows: IntArray) -> Mixture:
        return replace(self, parts=tuple(part.take(rows) for part in self.parts))

    def can(self, ability: str) -> bool:
        return super().can(ability) and all(part.can(ability) for part in self.parts)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        ends = [[np.broadcast_to(e, (self.n, 1)) for e in part.support] for part in self.parts]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)

    def log_prob(self, y: AnyArray) -> FloatArray:
        return np.asarray(np.logaddexp.reduce(self._log_joint(y), axis=0))

    def score(self, y: AnyArray) -> FloatArray:
        return self.score_and_error(y)[0]

    def score_and_error(self, y: AnyArray) -> tuple[FloatArray, FloatArray | None]:
        joint = self._log_joint(y)
        share = np.exp(joint - np.logaddexp.reduce(joint, axis=0))
        scores, errors, exact = np.zeros(len(y)), np.zeros(len(y)), True
        for part, weight in zip(self.parts, share, strict=True):
            score, error = part.score_and_error(y)
            # Outside its support a component has no score, and no share either.
            scores += np.where(weight > 0, weight * np.nan_to_num(np.ravel(score)), 0.0)
            if error is not None:
                exact, errors = False, errors + weight * np.ravel(error)
        return scores[:, None], None if exact else errors[:, None]

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.weights @ np.array([part.cdf(y) for part in self.parts]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.weights @ np.array([part.sf(y) for part in self.parts]))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        chosen = rng.choice(len(self.parts), size=self.n, p=self.weights)
        drawn = np.array([part.sample(rng)[:, 0] for part in self.parts])
        return drawn[chosen, np.arange(self.n)][:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        means, stds = np.array([part.mean_std() for part in self.parts]).transpose(1, 0, 2, 3)
        mean = np.einsum("c,cni->ni", self.weights, means)
        return mean, np.sqrt(np.einsum("c,cni->ni", self.weights, stds**2 + (means - mean) ** 2))

    def _log_joint(self, y: AnyArray) -> FloatArray:
        """Return log w_c p_c(y|x), (C, n)."""
        return np.asarray(_log(self.weights)[:, None] + [part.log_prob(y) for part in self.parts])
