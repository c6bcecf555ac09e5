"""The power criterion of the finite-set tests and its gradient (paper, Section 4.2).

With F (n, J) the features of the locations and h the y-side of the Stein matrix without its
diagonal, row means are g_i = Σ_c F_ic (hF)_ic / (J d_y (n−1)). The criterion is the mean of
the row means over twice their standard deviation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import check_overflow
from condgof.kernels import (
    IMQ,
    CovariateKernel,
    Gaussian,
    Matern52,
    Radial,
    ResponseKernel,
    direct_sqdist,
    sqdist,
)

#: Rows of a block of pairs.
ROW_BLOCK = 128
#: Relative step of the differences that stand for φ''' of a kernel without a formula here.
DIFFERENCE_STEP = 1e-5


def criterion_of_means(means: FloatArray) -> FloatArray:
    """Return T̂_V / σ̂_V from row means (n, m) of m sets; 0 where no data are near."""
    # In units of the largest mean, as squares of very large or small means would over- or
    # underflow.
    unit = np.abs(means).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    means = means / unit
    spread = 2.0 * means.std(axis=0, ddof=1)
    out = np.zeros(means.shape[1])
    return np.asarray(np.divide(means.mean(axis=0), spread, out=out, where=spread > 0))


class MeanSlopes(NamedTuple):
    """The criterion of one set of locations, and its derivative by the row means."""

    value: float
    by_means: FloatArray  #: (n,).


def criterion_slopes(means: FloatArray) -> MeanSlopes:
    """Return the criterion of row means (n,), and its derivative by each of them."""
    check_overflow(means)
    n = len(means)
    sigma = 2.0 * float(means.std(ddof=1))
    if sigma == 0:
        return MeanSlopes(0.0, np.zeros(n))
    value = float(means.mean()) / sigma
    from_sigma = (value / sigma) * 4.0 * (means - means.mean()) / ((n - 1) * sigma)
    return MeanSlopes(value, 1.0 / (n * sigma) - from_sigma)


class BlockOfH(NamedTuple):
    """Some rows and columns of h, and of its derivative by log σ."""

    h: AnyArray
    by_log_sigma: AnyArray


class PairwiseTerms(ABC):
    """The y-side h of all pairs of a (small) training sample."""

    @abstractmethod
    def workspace(self) -> AnyArray:
        """Return an empty array that h fits into, (n, n), in the precision of h."""

    @abstractmethod
    def h(
        self, kernel_y: ResponseKernel | None, features: AnyArray, out: AnyArray
    ) -> AnyArray:
        """Write h without its diagonal, (n, n), to `out`.

        Return the derivative of h by log σ, times the features (n, J): again (n, J).
        """


@dataclass(frozen=True, eq=False)
class SteinTerms(PairwiseTerms):
    """The terms of h that do not depend on the bandwidth of the kernel on y."""

    #: s_i · s_j, (n, n).
    products: AnyArray
    #: ‖y_i − y_j‖², (n, n).
    sqdists: AnyArray
    #: (s_j − s_i)·(y_i − y_j) − d_y, (n, n).
    crosses: AnyArray
    #: The unit of y in all of these terms; h comes out in units of 1/unit².
    unit: float

    @classmethod
    def from_scores(
        cls, y: FloatArray, scores: FloatArray, *, unit: float = 1.0, single: bool = False
    ) -> SteinTerms:
        """Compute the terms of y and Stein scores (n, d_y), in a unit of y.

        With `single` they are stored in single precision.
        """
        y = (y - np.median(y, axis=0)) / unit
        scores = scores * unit
        row_products = (y * scores).sum(axis=1)
        crosses = y @ scores.T
        crosses = crosses + crosses.T
        crosses -= row_products[:, None]
        crosses -= row_products + y.shape[1]
        dtype: Any = np.float32 if single else np.float64
        return cls(
            products=(scores @ scores.T).astype(dtype, copy=False),
            sqdists=direct_sqdist(y, y).astype(dtype, copy=False),
            crosses=crosses.astype(dtype, copy=False),
            unit=unit,
        )

    def workspace(self) -> AnyArray:
        return np.empty_like(self.products)

    def block(self, kernel: Radial, rows: slice, columns: slice) -> BlockOfH:
        """Return a block of φ·s·s' + (2/σ²)(φ'·c − 2tφ''), where c = (s' − s)·d − d_y."""
        precision = (self.unit / kernel.sigma) ** 2
        t = self.sqdists[rows, columns] * precision
        products = self.products[rows, columns]
        crosses = self.crosses[rows, columns]
        if type(kernel) is Gaussian:
            return _gaussian_block(t, products, crosses, precision)
        phi, dphi, d2phi = kernel.profile(t)
        bend = t * d2phi
        slope = (-2.0 * t) * dphi * products - (4.0 * precision) * (dphi + bend) * crosses
        slope += (8.0 * precision) * (2.0 * bend + t * curvature_slope(kernel, t, d2phi))
        h = phi * products + (2.0 * precision) * (dphi * crosses - 2.0 * bend)
        return BlockOfH(h, slope)

    def h(
        self, kernel_y: ResponseKernel | None, features: AnyArray, out: AnyArray
    ) -> AnyArray:
        assert isinstance(kernel_y, Radial)
        n = len(features)
        product = np.zeros(features.shape, dtype=features.dtype)
        for start in range(0, n, ROW_BLOCK):
            stop = min(start + ROW_BLOCK, n)
            rows = slice(start, stop)
            columns = slice(start, n)  # the upper half; the lower one is its mirror image
            h, slope = self.block(kernel_y, rows, columns)
            np.fill_diagonal(h, 0.0)
            np.fill_diagonal(slope, 0.0)
            out[rows, columns] = h
            out[stop:, rows] = h[:, stop - start :].T
            product[rows] += slope @ features[columns]
            product[stop:] += slope[:, stop - start :].T @ features[rows]
        return product


def _gaussian_block(
    t: AnyArray, products: AnyArray, crosses: AnyArray, precision: float
) -> BlockOfH:
    """Return h = φ·(s·s' − (c + t)/σ²) and its slope t·h + (2/σ²)·φ·(c + 2t); changes t.

    In place, as blocks are computed again in every step of the optimiser.
    """
    phi = np.exp(-0.5 * t)
    slope = crosses + t
    h = phi * (products - precision * slope)
    slope += t
    slope *= phi
    slope *= 2.0 * precision
    t *= h
    slope += t
    return BlockOfH(h, slope)


@dataclass(frozen=True, eq=False)
class CellTerms(PairwiseTerms):
    """The y-side of a discrete y, whose kernel has no bandwidth that could move."""

    #: h without its diagonal, (n, n).
    products: AnyArray

    @classmethod
    def from_features(cls, features: FloatArray) -> CellTerms:
        """Compute h = ΦΦᵀ from the features Φ (n, q) of a discrete y."""
        products = features @ features.T
        np.fill_diagonal(products, 0.0)
        return cls(products)

    def workspace(self) -> AnyArray:
        return np.empty_like(self.products)

    def h(
        self, kernel_y: ResponseKernel | None, features: AnyArray, out: AnyArray
    ) -> AnyArray:
        out[:] = self.products
        return np.zeros(features.shape, dtype=features.dtype)


def curvature_slope(kernel: Radial, t: AnyArray, d2phi: AnyArray) -> AnyArray:
    """Return t·φ'''(t), by differences for a kernel that a user wrote."""
    if isinstance(kernel, IMQ):
        return -2.5 * t * d2phi / (1.0 + t)
    if isinstance(kernel, Matern52):  # φ''' alone is infinite at 0
        return -0.5 * np.sqrt(5.0 * t) * d2phi
    t = np.asarray(t, dtype=np.float64)  # in single precision a difference is noise
    upper = kernel.profile(t * (1 + DIFFERENCE_STEP))[2]
    lower = kernel.profile(t * (1 - DIFFERENCE_STEP))[2]
    return (upper - lower) / (2 * DIFFERENCE_STEP)


class CriterionGradient(NamedTuple):
    """The power criterion of a set of J locations, and its gradient."""

    value: float
    by_locations: FloatArray  #: (J, d_x).
    by_log_sigma_x: FloatArray  #: By the log bandwidth of each factor of k, (factors,).
    by_log_sigma_y: float


@np.errstate(over="ignore", invalid="ignore")  # `criterion_slopes` checks for overflow
def criterion_gradient(
    x: FloatArray,
    terms: PairwiseTerms,
    d_y: int,
    locations: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel | None,
    work: AnyArray | None = None,
) -> CriterionGradient:
    """Evaluate the power criterion of locations (J, d_x) on rows x (n, d_x).

    `work` is an array of `terms.workspace()` that may be overwritten.
    """
    features = kernel_x(x, locations)
    h = terms.workspace() if work is None else work
    thin = features.astype(h.dtype, copy=False)
    slope_smoothed = terms.h(kernel_y, thin, h)
    share = 1.0 / (len(locations) * d_y * (len(x) - 1))
    smoothed = h @ thin
    means = share * (features * smoothed).sum(axis=1)
    value, slopes = criterion_slopes(means)
    # Slopes may be far from 1 in size: scaled, so that single precision neither over- nor
    # underflows.
    size = float(np.abs(slopes).max()) or 1.0
    weighted = (slopes / size)[:, None] * features
    by_features = share * (
        slopes[:, None] * smoothed + size * (h @ weighted.astype(h.dtype, copy=False))
    )
    by_log_sigma_y = share * size * float((weighted * slope_smoothed).sum())
    on_x = _chain_to_k(x, locations, kernel_x, by_features * features)
    return CriterionGradient(value, on_x.by_locations, on_x.by_log_sigma, by_log_sigma_y)


class CovariateGradient(NamedTuple):
    """Derivatives of the criterion through the kernel on x."""

    by_locations: FloatArray  #: (J, d_x).
    by_log_sigma: FloatArray  #: (factors,); 0 for a factor without a bandwidth.


def _chain_to_k(
    x: FloatArray, locations: FloatArray, kernel_x: CovariateKernel, by_log_k: FloatArray
) -> CovariateGradient:
    """Apply the chain rule through k, from the derivative by log F, (n, J).

    For a radial factor φ(t), t = ‖x − v‖²/σ²: ∂ log φ/∂v = (φ'/φ)·2(v − x)/σ², by log σ:
    −2t·φ'/φ.
    """
    by_locations = np.zeros(locations.shape)
    by_log_sigma = np.zeros(len(kernel_x.factors))
    for number, factor in enumerate(kernel_x.factors):
        if not isinstance(factor.kernel, Radial):
            continue
        columns = factor.indices()
        centre = np.median(x[:, columns], axis=0)  # products of raw coordinates lose digits
        a = x[:, columns] - centre
        v = locations[:, columns] - centre
        t = factor.kernel.distances(a, v)
        phi, dphi, _ = factor.kernel.profile(t)
        # Where φ has underflowed F is 0 too, and so is every derivative.
        pull = by_log_k * np.divide(dphi, phi, out=np.zeros(phi.shape), where=phi > 0)
        by_log_sigma[number] = -2.0 * float((pull * t).sum())
        by_locations[:, columns] += (2.0 / factor.kernel.sigma**2) * (
            pull.sum(axis=0)[:, None] * v - pull.T @ a
        )
    return CovariateGradient(by_locations, by_log_sigma)


class FiniteSetGradient(NamedTuple):
    """The power criterion of the test without x, and its gradient."""

    value: float
    by_locations: FloatArray  #: (J, d_y).
    by_log_sigma: float


@np.errstate(over="ignore", invalid="ignore")  # `criterion_slopes` checks for overflow
def finite_set_gradient(
    y: FloatArray, scores: FloatArray, kernel: Radial, locations: FloatArray
) -> FiniteSetGradient:
    """Evaluate the power criterion of the test without x at locations (J, d_y).

    With τ_i the Stein functions of a row over √(d_y J), and a = Σ_i τ_i, row means are
    τ_i·(a − τ_i)/(n−1).
    """
    n, d_y = y.shape
    size = np.sqrt(locations.size)
    precision = kernel.sigma**-2
    difference = y[:, None, :] - locations
    t = sqdist(y, locations, kernel.sigma)
    phi, dphi, d2phi = kernel.profile(t)
    tau = (
        phi[:, :, None] * scores[:, None, :]
        + (2.0 * precision) * dphi[:, :, None] * difference
    )
    tau = tau.reshape(n, -1) / size
    total = tau.sum(axis=0)
    means = (tau @ total - (tau * tau).sum(axis=1)) / (n - 1)
    value, slopes = criterion_slopes(means)
    by_tau = slopes[:, None] * (total - 2.0 * tau) + slopes @ tau
    by_tau = by_tau.reshape(n, -1, d_y) / ((n - 1) * size)
    on_score = np.einsum("njd,nd->nj", by_tau, scores)
    on_difference = np.einsum("njd,njd->nj", by_tau, difference)
    pull = (2.0 * precision) * dphi * on_score
    pull = pull + (4.0 * precision**2) * d2phi * on_difference
    by_locations = -np.einsum("nj,njd->jd", pull, difference)
    by_locations -= (2.0 * precision) * np.einsum("nj,njd->jd", dphi, by_tau)
    by_log_sigma = -2.0 * t * dphi * on_score
    by_log_sigma = by_log_sigma - (4.0 * precision) * (dphi + t * d2phi) * on_difference
    return FiniteSetGradient(value, by_locations, float(by_log_sigma.sum()))
