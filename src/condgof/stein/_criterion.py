"""The power criterion of the finite-set tests and its gradient (paper, Section 4.2).

With F (n, J) the features of the locations and h the y-side of the Stein matrix without its
diagonal, row means are g_i = Σ_c F_ic (hF)_ic / (J d_y (n−1)); the criterion is their mean
over twice their sd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import check_overflow
from condgof.kernels import IMQ, CovariateKernel, Gaussian, Matern52, Radial, sqdist
from condgof.kernels._kernel import direct_sqdist

#: Rows of a block of pairs.
ROW_BLOCK = 128


def criterion_of_means(means: FloatArray) -> FloatArray:
    """Return T̂_V / σ̂_V from row means (n, m) of m sets; 0 where no data are near."""
    # In units of the largest mean: squares of very large or small ones would over- or
    # underflow.
    unit = np.abs(means).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    means = means / unit
    spread = 2.0 * means.std(axis=0, ddof=1)
    out = np.zeros(means.shape[1])
    return np.asarray(np.divide(means.mean(axis=0), spread, out=out, where=spread > 0))


def criterion_slopes(means: FloatArray) -> tuple[float, FloatArray]:
    """Return the criterion of one set and its derivative by each row mean, (n,)."""
    check_overflow(means)
    n, sigma = len(means), 2.0 * float(means.std(ddof=1))
    if sigma == 0:
        return 0.0, np.zeros(n)
    value = float(means.mean()) / sigma
    slopes = 1.0 / (n * sigma) - (value / sigma) * 4.0 * (means - means.mean()) / (
        (n - 1) * sigma
    )
    return value, slopes


@dataclass(frozen=True, eq=False)
class PairwiseTerms:
    """What h needs of all pairs of a (small) training sample, whatever the bandwidth of y."""

    #: s_i · s_j; of a discrete y, whose bandwidth never moves, h itself without its
    #: diagonal, (n, n).
    products: AnyArray
    #: ‖y_i − y_j‖², and (s_j − s_i)·(y_i − y_j) − d_y; None for a discrete y, (n, n).
    sqdists: AnyArray | None = None
    crosses: AnyArray | None = None
    unit: float = (
        1.0  #: The unit of y in which all of these are; h comes out in units of 1/unit².
    )

    @classmethod
    def of(
        cls, y: FloatArray, scores: FloatArray, *, unit: float = 1.0, single: bool = False
    ) -> PairwiseTerms:
        """Compute the terms of y and scores (n, d_y), in a unit of y, perhaps in single precision."""
        y, scores = (y - np.median(y, axis=0)) / unit, scores * unit
        own = (y * scores).sum(axis=1)
        crosses = y @ scores.T
        crosses = crosses + crosses.T
        crosses -= own[:, None]
        crosses -= own + y.shape[1]
        kind: Any = np.float32 if single else np.float64
        terms = [scores @ scores.T, direct_sqdist(y, y), crosses]
        products, sqdists, crosses = (one.astype(kind, copy=False) for one in terms)
        return cls(products, sqdists, crosses, unit)

    @classmethod
    def of_features(cls, features: FloatArray) -> PairwiseTerms:
        """Take h = ΦΦᵀ for the features Φ (n, q) of a discrete y."""
        products = features @ features.T
        np.fill_diagonal(products, 0.0)
        return cls(products)

    def block(
        self, kernel: Radial, rows: slice, columns: slice
    ) -> tuple[AnyArray, AnyArray]:
        """Return a block of h = φ·s·s' + (2/σ²)(φ'·c − 2tφ''), and of its derivative by log σ."""
        assert self.sqdists is not None
        assert self.crosses is not None
        precision = (self.unit / kernel.sigma) ** 2
        t = self.sqdists[rows, columns] * precision
        products, c = self.products[rows, columns], self.crosses[rows, columns]
        if type(kernel) is Gaussian:  # φ = exp(−t/2)
            phi, near = np.exp(-0.5 * t), c + t
            h = phi * (products - precision * near)
            near += t
            near *= phi
            near *= 2.0 * precision
            t *= h
            near += t
            return h, near
        phi, dphi, d2phi = kernel.profile(t)
        bend = t * d2phi
        slope = (-2.0 * t) * dphi * products - (4.0 * precision) * (dphi + bend) * c
        slope += (8.0 * precision) * (2.0 * bend + t * curvature_slope(kernel, t, d2phi))
        return phi * products + (2.0 * precision) * (dphi * c - 2.0 * bend), slope

    def h(self, kernel: Any, features: AnyArray, out: AnyArray) -> AnyArray:
        """Write h without its diagonal to `out`; return its derivative by log σ times features."""
        n, product = len(features), np.zeros(features.shape, dtype=features.dtype)
        if self.sqdists is None:
            out[:] = self.products
            return product
        for start in range(0, n, ROW_BLOCK):
            stop = min(start + ROW_BLOCK, n)
            rows, right = slice(start, stop), slice(start, n)
            h, slope = self.block(kernel, rows, right)
            np.fill_diagonal(h, 0.0)
            np.fill_diagonal(slope, 0.0)
            out[rows, right] = h
            out[stop:, rows] = h[:, stop - start :].T
            product[rows] += slope @ features[right]
            product[stop:] += slope[:, stop - start :].T @ features[rows]
        return product


def curvature_slope(kernel: Radial, t: AnyArray, d2phi: AnyArray) -> AnyArray:
    """Return t·φ'''(t), by differences for a kernel that is not ours."""
    if isinstance(kernel, IMQ):
        return -2.5 * t * d2phi / (1.0 + t)
    if isinstance(kernel, Matern52):  # φ''' alone is infinite at 0
        return -0.5 * np.sqrt(5.0 * t) * d2phi
    step, t = (
        1e-5,
        np.asarray(t, dtype=np.float64),
    )  # in single precision a difference is noise
    upper, lower = kernel.profile(t * (1 + step))[2], kernel.profile(t * (1 - step))[2]
    return (upper - lower) / (2 * step)


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for at the end
def criterion_gradient(
    x: FloatArray,
    terms: PairwiseTerms,
    d_y: int,
    locations: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: object,
    work: AnyArray | None = None,
) -> tuple[float, FloatArray, FloatArray, float]:
    """Evaluate the power criterion of locations (J, d_x), with its gradient."""
    features = kernel_x(x, locations)
    dtype = terms.products.dtype
    h = np.empty(terms.products.shape, dtype=dtype) if work is None else work
    thin = features.astype(dtype, copy=False)
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
        slopes[:, None] * smoothed + size * (h @ weighted.astype(dtype, copy=False))
    )
    by_log_y = share * size * float((weighted * slope_smoothed).sum())
    return value, *_chain_to_k(x, locations, kernel_x, by_features * features), by_log_y


def _chain_to_k(
    x: FloatArray, locations: FloatArray, kernel_x: CovariateKernel, relative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Chain rule through k, from the derivative by log F, (n, J).

    For a radial factor φ(t), t = ‖x − v‖²/σ²: ∂ log φ/∂v = (φ'/φ)·2(v − x)/σ², by log σ:
    −2t·φ'/φ.
    """
    by_v, by_x = np.zeros(locations.shape), np.zeros(len(kernel_x.factors))
    for number, factor in enumerate(kernel_x.factors):
        if not isinstance(factor.kernel, Radial):
            continue
        columns, sigma = factor.indices(), factor.kernel.sigma
        centre = np.median(x[:, columns], axis=0)  # products of raw coordinates lose digits
        a, v = x[:, columns] - centre, locations[:, columns] - centre
        t = factor.kernel.distances(a, v)
        phi, dphi, _ = factor.kernel.profile(t)
        # Where φ has underflowed F is 0 too, and so is every derivative.
        pull = relative * np.divide(dphi, phi, out=np.zeros(phi.shape), where=phi > 0)
        by_x[number] = -2.0 * float((pull * t).sum())
        by_v[:, columns] += (2.0 / sigma**2) * (pull.sum(axis=0)[:, None] * v - pull.T @ a)
    return by_v, by_x


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for at the end
def finite_set_gradient(
    y: FloatArray, scores: FloatArray, kernel: Radial, locations: FloatArray
) -> tuple[float, FloatArray, float]:
    """Return the power criterion of the test without x, its derivatives by locations and log-bandwidth.

    With τ_i the Stein functions of a row over √(d_y J), a = Σ_i τ_i: row means are τ_i·(a −
    τ_i)/(n−1).
    """
    (n, d_y), size = y.shape, np.sqrt(locations.size)
    precision, difference = kernel.sigma**-2, y[:, None, :] - locations
    t = sqdist(y, locations, kernel.sigma)
    phi, dphi, d2phi = kernel.profile(t)
    tau = (
        phi[:, :, None] * scores[:, None, :]
        + (2.0 * precision) * dphi[:, :, None] * difference
    )
    tau = tau.reshape(n, -1) / size
    total = tau.sum(axis=0)
    value, slopes = criterion_slopes((tau @ total - (tau * tau).sum(axis=1)) / (n - 1))
    by_tau = slopes[:, None] * (total - 2.0 * tau) + slopes @ tau
    by_tau = by_tau.reshape(n, -1, d_y) / ((n - 1) * size)
    on_score = np.einsum("njd,nd->nj", by_tau, scores)
    on_difference = np.einsum("njd,njd->nj", by_tau, difference)
    pull = (2.0 * precision) * dphi * on_score + (
        4.0 * precision**2
    ) * d2phi * on_difference
    by_locations = -np.einsum("nj,njd->jd", pull, difference)
    by_locations -= (2.0 * precision) * np.einsum("nj,njd->jd", dphi, by_tau)
    by_sigma = (
        -2.0 * t * dphi * on_score - (4.0 * precision) * (dphi + t * d2phi) * on_difference
    )
    return value, by_locations, float(by_sigma.sum())
