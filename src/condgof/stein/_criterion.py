"""The power criterion of FSCD and its gradient (paper, Section 4.2).

With F the features of the locations (n, J), h the y-side of the Stein matrix without its diagonal
and G = hF, the row means are g_i = Σ_c F_ic G_ic / (J d_y (n−1)); the criterion is their mean over
twice their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.kernels import CovariateKernel, Gaussian, Radial, direct_sqdist
from condgof.stein._sweep import check_overflow

ROW_BLOCK = 128


def criterion_of_means(means: FloatArray, reg: float = 0.0) -> FloatArray:
    """T̂_V / (σ̂_V + reg) from row means.

    Parameters
    ----------
    means : ndarray of shape (n, m)
        Row means (1/(n−1)) Σ_{j≠i} H̄_ij for each of m sets of locations.
    reg : float
        Added to σ̂_V.

    Returns
    -------
    ndarray of shape (m,)
        The criterion; 0 where σ̂_V + reg is 0 (locations without data near them).

    Examples
    --------
    >>> criterion_of_means(np.array([[1.0, 0.0], [3.0, 0.0]]))
    array([0.70710678, 0.        ])
    """
    # In units of the largest mean: squares of very large or small ones would over- or underflow.
    unit = np.abs(means).max(axis=0)
    means = means / np.where(unit > 0, unit, 1.0)
    spread = 2.0 * means.std(axis=0, ddof=1) + reg / np.where(unit > 0, unit, 1.0)
    out = np.zeros(means.shape[1])
    values: FloatArray = np.divide(means.mean(axis=0), spread, out=out, where=spread > 0)
    return values


def criterion_slopes(means: FloatArray, reg: float = 0.0) -> tuple[float, FloatArray]:
    """Return the criterion of one set and its derivative by each row mean, (n,)."""
    check_overflow(means)
    n = len(means)
    centre = means - means.mean()
    sigma = 2.0 * float(means.std(ddof=1))
    spread = sigma + reg
    if spread == 0:
        return 0.0, np.zeros(n)
    value = float(means.mean()) / spread
    slopes = np.full(n, 1.0 / (n * spread))
    if sigma > 0:  # a standard deviation of 0 has no derivative; there the mean alone counts
        slopes -= (value / spread) * 4.0 * centre / ((n - 1) * sigma)
    return value, slopes


@dataclass(frozen=True, eq=False)
class PairwiseTerms:
    """What h needs of all pairs of a (small) training sample, whatever the bandwidth of y.

    Parameters
    ----------
    sqdists : ndarray of shape (n, n)
        ‖y_i − y_j‖².
    products : ndarray of shape (n, n)
        s_i · s_j.
    crosses : ndarray of shape (n, n)
        (s_j − s_i)·(y_i − y_j) − d_y.
    unit : float
        The unit of y in which all of these are; h comes out in units of 1/unit².
    """

    sqdists: AnyArray
    products: AnyArray
    crosses: AnyArray
    unit: float = 1.0

    @classmethod
    def of(
        cls, y: FloatArray, scores: FloatArray, *, unit: float = 1.0, single: bool = False
    ) -> PairwiseTerms:
        """Compute the terms of a sample.

        Parameters
        ----------
        y, scores : ndarrays of shape (n, d_y)
            The sample and its scores.
        unit : float
            The unit of y to work in.
        single : bool
            Keep the terms, and so compute h, in single precision.
        """
        y, scores = (y - np.median(y, axis=0)) / unit, scores * unit
        own = (y * scores).sum(axis=1)
        crosses = y @ scores.T
        crosses = crosses + crosses.T
        crosses -= own[:, None]
        crosses -= own + y.shape[1]
        dtype = np.float32 if single else np.float64
        return cls(
            sqdists=direct_sqdist(y, y).astype(dtype, copy=False),
            products=(scores @ scores.T).astype(dtype, copy=False),
            crosses=crosses.astype(dtype, copy=False),
            unit=unit,
        )

    def block(self, kernel: Radial, rows: slice, columns: slice) -> tuple[AnyArray, AnyArray]:
        """Return a block of h and of its derivative by the log-bandwidth of the kernel."""
        precision = (self.unit / kernel.sigma) ** 2
        t = self.sqdists[rows, columns] * precision
        crosses, products = self.crosses[rows, columns], self.products[rows, columns]
        if type(kernel) is Gaussian:
            return _gaussian_h(t, crosses, products, precision)
        return _radial_h(kernel, t, crosses, products, precision)

    def h(self, kernel: Radial, features: AnyArray, out: AnyArray) -> AnyArray:
        """Write h without its diagonal to `out`; return its slope times features, (n, J).

        The slope is the derivative by the log-bandwidth. Only the upper half is computed, in row
        blocks small enough for the cache: whole matrices would spend their time on fresh memory.
        """
        n = len(features)
        product = np.zeros(features.shape, dtype=features.dtype)
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


@dataclass(frozen=True, eq=False)
class CentredTerms:
    """The same for a discrete y: ⟨c_i, c_j⟩ of all pairs, which no bandwidth of y moves.

    Parameters
    ----------
    products : ndarray of shape (n, n)
        ⟨c_i, c_j⟩, 0 on the diagonal.
    unit : float
        Always 1.
    """

    products: AnyArray
    unit: float = 1.0

    @classmethod
    def of(cls, features: FloatArray, *, single: bool = False) -> CentredTerms:
        """Compute the products of the features c (n, m)."""
        products = features @ features.T
        np.fill_diagonal(products, 0.0)
        return cls(products.astype(np.float32 if single else np.float64, copy=False))

    def h(self, kernel: object, features: AnyArray, out: AnyArray) -> AnyArray:
        """Write h without its diagonal to `out`; return its slope times features, which is 0."""
        out[:] = self.products
        return np.zeros(features.shape, dtype=features.dtype)


def _radial_h(
    kernel: Radial, t: AnyArray, crosses: AnyArray, products: AnyArray, precision: float
) -> tuple[AnyArray, AnyArray]:
    """Return h = φ·s·s' + (2/σ²)(φ'·c − 2tφ'') with c = (s'−s)·d − d_y, and its slope."""
    phi, dphi, d2phi = profile = kernel.profile(t)
    bend = t * d2phi
    h = phi * products + (2.0 * precision) * (dphi * crosses - 2.0 * bend)
    slope = (-2.0 * t) * dphi * products - (4.0 * precision) * (dphi + bend) * crosses
    slope += (8.0 * precision) * (2.0 * bend + t * kernel.curvature_slope(t, profile))
    return h, slope


def _gaussian_h(
    t: AnyArray, crosses: AnyArray, products: AnyArray, precision: float
) -> tuple[AnyArray, AnyArray]:
    """The same for φ = exp(−t/2): h = φ·(s·s' − (c + t)/σ²), slope = t·h + φ·(2c + 4t)/σ²."""
    phi = np.multiply(t, -0.5)
    np.exp(phi, out=phi)
    h = crosses + t
    slope = t + h
    h *= -precision
    h += products
    h *= phi
    phi *= 2.0 * precision
    slope *= phi
    t *= h
    slope += t
    return h, slope


@dataclass(frozen=True, eq=False)
class Gradient:
    """Value and derivatives of the criterion.

    Parameters
    ----------
    value : float
        The criterion.
    locations : ndarray of shape (J, d_x)
        Derivative by the locations; 0 in columns that no radial factor uses.
    log_bandwidths_x : ndarray of shape (number of factors,)
        Derivative by the log-bandwidth of each factor of k; 0 for those that have none.
    log_bandwidth_y : float
        Derivative by the log-bandwidth of l.
    """

    value: float
    locations: FloatArray
    log_bandwidths_x: FloatArray
    log_bandwidth_y: float


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked for, and said
def criterion_gradient(
    x: FloatArray,
    terms: PairwiseTerms | CentredTerms,
    d_y: int,
    locations: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: Any,
    reg: float = 0.0,
    work: AnyArray | None = None,
) -> Gradient:
    """Evaluate the power criterion of one set of locations, with its gradient.

    Parameters
    ----------
    x : ndarray of shape (n, d_x)
        Covariates of the training sample.
    terms : PairwiseTerms or CentredTerms
        Its y-side.
    d_y : int
        Number of columns of y.
    locations : ndarray of shape (J, d_x)
        V.
    kernel_x, kernel_y : CovariateKernel, Radial
        k and l.
    reg : float
        Added to σ̂_V.
    work : ndarray of shape (n, n), optional
        Scratch space, to be used again by the next call.
    """
    features = kernel_x(x, locations)
    dtype = terms.products.dtype
    h = np.empty(terms.products.shape, dtype=dtype) if work is None else work
    thin = features.astype(dtype, copy=False)
    slope_smoothed = terms.h(kernel_y, thin, h)
    share = 1.0 / (len(locations) * d_y * (len(x) - 1))
    smoothed = h @ thin
    means = share * (features * smoothed).sum(axis=1)
    value, slopes = criterion_slopes(means, reg * terms.unit**2)
    # Slopes may be far from 1 in size: scaled, so that single precision neither over- nor underflows.
    size = float(np.abs(slopes).max()) or 1.0
    weighted = (slopes / size)[:, None] * features
    by_features = share * (slopes[:, None] * smoothed + size * (h @ weighted.astype(dtype, copy=False)))
    by_y = share * size * float((weighted * slope_smoothed).sum())
    by_v, by_x = _chain_to_k(x, locations, kernel_x, by_features * features)
    return Gradient(value, by_v, by_x, by_y)


def _chain_to_k(
    x: FloatArray, locations: FloatArray, kernel_x: CovariateKernel, relative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Chain rule through k, from the derivative by log F, (n, J).

    For a radial factor φ(t), t = ‖x − v‖²/σ²: ∂ log φ/∂v = (φ'/φ)·2(v − x)/σ², by log σ: −2t·φ'/φ.
    """
    by_v = np.zeros(locations.shape)
    by_x = np.zeros(len(kernel_x.factors))
    for number, factor in enumerate(kernel_x.factors):
        if not isinstance(factor.kernel, Radial):
            continue
        columns, sigma = factor.indices(), factor.kernel.sigma
        a, v = x[:, columns], locations[:, columns]
        t = factor.kernel.distances(a, v)
        phi, dphi, _ = factor.kernel.profile(t)
        # Where φ has underflowed F is 0 too, and so is every derivative.
        pull = relative * np.divide(dphi, phi, out=np.zeros(phi.shape), where=phi > 0)
        by_x[number] = -2.0 * float((pull * t).sum())
        by_v[:, columns] += (2.0 / sigma**2) * (pull.sum(axis=0)[:, None] * v - pull.T @ a)
    return by_v, by_x
