"""The Stein matrix H_ij = k(x_i, x_j) h_p(i, j), never built.

Paper, Proposition 2, for a radial l(y, y') = φ(t), t = ‖y − y'‖²/σ². With d = y − y' and the scores
s, s':

    h = φ·s·s' + (2φ'/σ²)·((s' − s)·d − d_y) − (4/σ²)·t·φ''

For a Gaussian l this is φ times the product of two thin matrices, and a Gaussian k joins φ in one
exponential; that is the fast way through a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    OnColumns,
    Radial,
    direct_sqdist,
    product_is_exact,
)

Rows: TypeAlias = slice | IntArray


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator.

    Build it with `SteinOperator.of`. The matrix is symmetric and positive semi-definite.

    Parameters
    ----------
    x : ndarray of shape (n, d_x)
        Covariates, centred.
    y : ndarray of shape (n, d_y)
        Responses in units of the bandwidth of y, centred.
    scores : ndarray of shape (n, d_y)
        ∇_y log p(y|x) times the bandwidth of y, so that h below is in units of 1/σ².
    kernel_y : Radial
        The kernel l.
    factors : tuple of OnColumns
        What remains of k once its Gaussian factors are in the exponential.
    features : ndarray of shape (n, J), optional
        F with k(x_i, x_j) = F_i · F_j, for finite locations.
    compared : ndarray of shape (n, d)
        The coordinates in the exponent, in bandwidths.
    exponent, bracket : pair of ndarrays
        The thin matrices whose products are the exponent and, for a Gaussian l, the other factor;
        for another l, (s' − s)·d.
    norms, y_norms : ndarrays of shape (n,)
        Squared norms of these and of y; they decide whether products are exact enough.
    """

    x: FloatArray
    y: FloatArray
    scores: FloatArray
    kernel_y: Radial
    factors: tuple[OnColumns, ...]
    features: FloatArray | None
    compared: FloatArray
    exponent: tuple[FloatArray, FloatArray]
    bracket: tuple[FloatArray, FloatArray]
    norms: FloatArray
    y_norms: FloatArray

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Prepare the thin matrices.

        Parameters
        ----------
        x, y, scores : ndarrays of shape (n, d_x), (n, d_y), (n, d_y)
            The sample and ∇_y log p(y|x).
        kernel_x : CovariateKernel or FiniteLocations
            k; its finite-location form gives the matrix of FSCD without the factor 1/d_y.
        kernel_y : Radial
            l.
        """
        sigma = kernel_y.sigma
        # Centred, because products of raw coordinates (longitudes, years) lose digits; by the
        # median, because a far outlier would pull the mean away from all other rows.
        y = (y - np.median(y, axis=0)) / sigma
        scores = scores * sigma
        features = None
        gaussians: list[OnColumns] = []
        rest: tuple[OnColumns, ...] = ()
        if isinstance(kernel_x, FiniteLocations):
            features = kernel_x.features(x)
        else:
            gaussians = [f for f in kernel_x.factors if type(f.kernel) is Gaussian]
            rest = tuple(f for f in kernel_x.factors if type(f.kernel) is not Gaussian)
        x = x - np.median(x, axis=0) if x.shape[1] else x
        compared = [x[:, f.indices()] / f.kernel.sigma for f in gaussians]  # type: ignore[union-attr]
        if type(kernel_y) is Gaussian:
            compared.append(y)
        z = np.concatenate(compared, axis=1) if compared else np.empty((len(y), 0))
        norms = (z * z).sum(axis=1)
        return cls(
            x=x,
            y=y,
            scores=scores,
            kernel_y=kernel_y,
            factors=rest,
            features=features,
            compared=z,
            exponent=_sum_form(z, -0.5 * norms),
            bracket=(_bracket(y, scores, sigma) if type(kernel_y) is Gaussian else _cross(y, scores)),
            norms=norms,
            y_norms=(y * y).sum(axis=1),
        )

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.y)

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        phi, dphi, _ = self.kernel_y.profile(np.zeros(1))
        h = phi * (self.scores * self.scores).sum(axis=1) - 2.0 * self.y.shape[1] * dphi
        h /= self.kernel_y.sigma**2
        if self.features is not None:
            h *= (self.features * self.features).sum(axis=1)
        for factor in self.factors:
            h *= float(factor(self.x[:1], self.x[:1])[0, 0])
        values: FloatArray = h
        return values

    def rows(self, index: IntArray) -> FloatArray:
        """Return whole rows of the matrix, (len(index), n)."""
        return self.block(index, slice(0, self.n))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        if not (
            product_is_exact(self.norms[rows], self.norms[columns])
            and product_is_exact(self.y_norms[rows], self.y_norms[columns])
        ):
            return self._careful_block(rows, columns)
        out = self.exponent[0][rows] @ self.exponent[1][columns].T
        np.exp(out, out=out)
        out *= self._h_but_exponential(rows, columns)
        return self._times_the_rest_of_k(out, rows, columns)

    def _h_but_exponential(self, rows: Rows, columns: Rows) -> FloatArray:
        product = self.bracket[0][rows] @ self.bracket[1][columns].T
        if type(self.kernel_y) is Gaussian:
            return product
        y, other = self.y[rows], self.y[columns]
        t = y @ (-2.0 * other.T)
        t += self.y_norms[rows][:, None]
        t += self.y_norms[columns]
        return self._h(np.maximum(t, 0.0, out=t), product, rows, columns)

    def _h(self, t: FloatArray, cross: FloatArray, rows: Rows, columns: Rows) -> FloatArray:
        """Put h together from t, (s' − s)·d and the profile."""
        phi, dphi, d2phi = self.kernel_y.profile(t)
        out = phi * (self.scores[rows] @ self.scores[columns].T)
        cross = cross - self.y.shape[1]
        out += np.multiply(cross, 2.0 * dphi, out=cross)
        out -= 4.0 * t * d2phi
        out /= self.kernel_y.sigma**2
        return out

    def _careful_block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Differences in place of products, for rows far from the centre in bandwidths."""
        out = np.exp(-0.5 * direct_sqdist(self.compared[rows], self.compared[columns]))
        y, other, s, s_other = (
            self.y[rows],
            self.y[columns],
            self.scores[rows],
            self.scores[columns],
        )
        cross = np.zeros(out.shape)
        for c in range(self.y.shape[1]):
            cross += (s_other[:, c] - s[:, c, None]) * (y[:, c, None] - other[:, c])
        if type(self.kernel_y) is Gaussian:
            t = direct_sqdist(y, other)
            h = (s @ s_other.T - cross + self.y.shape[1] - t) / self.kernel_y.sigma**2
        else:
            h = self._h(direct_sqdist(y, other), cross, rows, columns)
        out *= h
        return self._times_the_rest_of_k(out, rows, columns)

    def _times_the_rest_of_k(self, out: FloatArray, rows: Rows, columns: Rows) -> FloatArray:
        if self.features is not None:
            out *= self.features[rows] @ self.features[columns].T
        for factor in self.factors:
            out *= factor(self.x[rows], self.x[columns])
        return out


def _sum_form(z: FloatArray, added: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L, R with L_i · R_j = z_i·z_j + added_i + added_j."""
    one = np.ones(len(z))
    return np.column_stack([z, added, one]), np.column_stack([z, one, added])


def _bracket(y: FloatArray, scores: FloatArray, sigma: float) -> tuple[FloatArray, FloatArray]:
    """Thin matrices of h/φ for a Gaussian l, from y and scores in units of its bandwidth.

    s·s' − (s' − s)·d + d_y − ‖d‖² = (s − y)·(s' − y') + y·y' + c + c' with c = s·y − ‖y‖² + d_y/2.
    """
    added = (scores * y).sum(axis=1) - (y * y).sum(axis=1) + 0.5 * y.shape[1]
    left, right = _sum_form(np.column_stack([scores - y, y]), added)
    return left / sigma**2, right


def _cross(y: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thin matrices of (s' − s)·d = y·s' + s·y' − s·y − s'·y'."""
    added = -(scores * y).sum(axis=1)
    left, right = _sum_form(np.column_stack([y, scores]), added)
    right[:, : 2 * y.shape[1]] = np.column_stack([scores, y])
    return left, right
