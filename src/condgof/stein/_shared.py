"""Features that several models share: the same test functions for all of them, linear in n.

The Stein matrix of a model is that of the features ξ_i = s_i K(z_i, ·) + ∇_y K(z_i, ·), one for each
coordinate of y, with K = k·l the kernel on z = (x, y). Only s_i depends on the model. So K is factored
once, from landmark rows S (randomly pivoted Cholesky, LLᵀ = K(S, S)), and

    ξ_i ≈ s_i ζ_i + ∇_y ζ_i,   ζ_i = L⁻¹ K(S, z_i):

every model is seen through the very same functions, the span of K(S, ·), and more models cost little.

Where y is discrete, K = k alone, s_i are the centred features of y (`CellKernel`), one for each of its
coordinates, and nothing is differentiated: ξ_i = s_i ζ_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.kernels import CellKernel, CovariateKernel, ResponseKernel
from condgof.stein._landmarks import choose_pivots


@dataclass(frozen=True, eq=False)
class PairKernel:
    """The matrix K_ij = k(x_i, x_j) l(y_i, y_j) of a (sub)sample, never built.

    A discrete y plays no part in it.
    """

    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    x: FloatArray
    y: FloatArray

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.y)

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        first = slice(0, 1)
        return np.full(self.n, float(self.block(first, first)[0, 0]))

    def block(self, rows: slice | IntArray, columns: slice | IntArray) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        values = self.kernel_x(self.x[rows], self.x[columns])
        if isinstance(self.kernel_y, CellKernel):
            return values
        return values * self.kernel_y(self.y[rows], self.y[columns])


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows as they are: a tile of them is compared at a time.

    Parameters
    ----------
    x, y : ndarrays of shape (b, d_x), (b, d_y)
        The rows.
    scores : ndarray of shape (b, K, d_y)
        Scores of K models; of a discrete y, its centred features (b, K, m).
    """

    x: FloatArray
    y: FloatArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: slice) -> RawRows:
        """Return some of the rows."""
        return RawRows(self.x[rows], self.y[rows], self.scores[rows])


@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """Landmarks of K = k·l with the factor that turns comparisons with them into features.

    Parameters
    ----------
    kernel_x, kernel_y : CovariateKernel, Radial or CellKernel
        k and l.
    x, y : ndarrays of shape (r, d_x), (r, d_y)
        The landmarks.
    inverse : ndarray of shape (r, r)
        L⁻¹, lower triangular.
    capped : bool
        Whether the rank stopped at its cap, above the tolerance.
    """

    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    x: FloatArray
    y: FloatArray
    inverse: FloatArray
    capped: bool

    @property
    def rank(self) -> int:
        """Number of landmarks."""
        return len(self.inverse)

    @property
    def coordinates(self) -> int:
        """Number of features ξ of a row for each landmark: d_y, or those that a discrete y has."""
        return self.kernel_y.size if isinstance(self.kernel_y, CellKernel) else int(self.y.shape[1])

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> RawRows:
        """Unpack rows with scores (or residuals) of K models side by side, (b, K·d_y)."""
        scores = np.asarray(scores)
        if isinstance(self.kernel_y, CellKernel):
            residuals = scores.reshape(-1, self.kernel_y.width)
            return RawRows(x, y, self.kernel_y.features(residuals).reshape(len(y), -1, self.coordinates))
        return RawRows(x, y, scores.reshape(len(y), -1, y.shape[1]))

    def compare(self, rows: RawRows) -> tuple[FloatArray, FloatArray | None]:
        """Return K(S, z) (r, b) and its derivatives by each coordinate of y, (d_y, r, b).

        Of a discrete y there are none: None.
        """
        near = self.kernel_x(self.x, rows.x)
        if isinstance(self.kernel_y, CellKernel):
            return near, None
        phi, slope, _ = self.kernel_y.profile(self.kernel_y.distances(self.y, rows.y))
        slope *= (2.0 / self.kernel_y.sigma**2) * near
        values = near * phi
        gradients = np.stack(
            [slope * (rows.y[:, c] - self.y[:, c, None]) for c in range(self.y.shape[1])]
        )
        return values, gradients

    def own(self, values: FloatArray, gradients: FloatArray | None, scores: FloatArray) -> FloatArray:
        """Return ‖ξ_i‖² of each row and model, (b, K), from `compare` and scores (b, K, d_y)."""
        zeta = self.inverse @ values
        squares = np.square(zeta).sum(axis=0)
        if gradients is None:
            return np.asarray(np.square(scores).sum(axis=2) * squares[:, None])
        out = np.zeros(scores.shape[:2])
        for c, gradient in enumerate(gradients):
            bent = self.inverse @ gradient
            crosses, curved = (zeta * bent).sum(axis=0), np.square(bent).sum(axis=0)
            s = scores[:, :, c]
            out += s * s * squares[:, None] + 2.0 * s * crosses[:, None] + curved[:, None]
        return out


def choose_shared(
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    x: FloatArray,
    y: FloatArray,
    rng: np.random.Generator,
    *,
    tolerance: float,
    cap: int,
) -> SharedFeatures:
    """Choose landmarks among the rows of a (sub)sample, x (n, d_x) and y (n, d_y)."""
    pivots = choose_pivots(PairKernel(kernel_x, kernel_y, x, y), rng, tolerance=tolerance, cap=cap)
    return SharedFeatures(
        kernel_x,
        kernel_y,
        np.array(x[pivots.index]),
        np.array(y[pivots.index]),
        np.tril(np.linalg.inv(pivots.triangle)),
        pivots.capped,
    )
