"""The Stein kernel H(z, z') = k(x, x') h_p(z, z') between sets of rows, and its matrix, never built.

Paper, Proposition 2, for a radial l(y, y') = φ(t), t = ‖y − y'‖²/σ². With d = y − y' and the scores
s, s':

    h = φ·s·s' + (2φ'/σ²)·((s' − s)·d − d_y) − (4/σ²)·t·φ''

For a Gaussian l this is φ times the product of two thin matrices, and a Gaussian k joins φ in one
exponential; that is the fast way through a block.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
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
class SteinRows:
    """Rows of a sample, prepared for comparison by a `SteinKernel`."""

    #: Covariates, (n, d_x).
    x: FloatArray
    #: Responses, centred, and scores, both in units of the bandwidth of y, (n, d_y).
    y: FloatArray
    scores: FloatArray
    #: F with k(x_i, x_j) = F_i · F_j, for finite locations; J = 0 otherwise, (n, J).
    features: FloatArray
    #: The coordinates in the exponent, in bandwidths, (n, d).
    compared: FloatArray
    #: Thin matrices; the left factors of the two products. The right factors are the same columns in
    #: another order, (n, ·).
    exponent: FloatArray
    bracket: FloatArray
    #: Squared norms of what is compared and of y; they decide whether products are exact enough, (n,).
    norms: FloatArray
    y_norms: FloatArray

    def take(self, rows: Rows) -> SteinRows:
        """Return some of the rows."""
        return SteinRows(*(getattr(self, f.name)[rows] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class SteinKernel:
    """How rows are compared: the kernels, and the centre that coordinates are taken from."""

    #: k; its finite-location form gives the matrix of FSCD without the factor 1/d_y.
    kernel_x: CovariateKernel | FiniteLocations
    #: l.
    kernel_y: Radial
    #: A point amid the data: products of raw coordinates (longitudes, years) lose digits, (d_x,),
    #: (d_y,).
    centre_x: FloatArray
    centre_y: FloatArray

    @classmethod
    def amid(
        cls,
        x: FloatArray,
        y: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinKernel:
        """Take the median of a sample as the centre: an outlier would pull the mean away."""
        centre_x = np.median(x, axis=0) if x.shape[1] else np.zeros(0)
        return cls(kernel_x, kernel_y, centre_x, np.median(y, axis=0))

    @property
    def _gaussian(self) -> bool:
        return type(self.kernel_y) is Gaussian

    def _split(self) -> tuple[list[OnColumns], list[OnColumns]]:
        """Return the Gaussian factors of k, which join the exponential, and the others."""
        if isinstance(self.kernel_x, FiniteLocations):
            return [], []
        factors = self.kernel_x.factors
        return (
            [f for f in factors if type(f.kernel) is Gaussian],
            [f for f in factors if type(f.kernel) is not Gaussian],
        )

    @np.errstate(over="ignore", invalid="ignore")  # `check_overflow` looks at what comes of them
    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> SteinRows:
        """Prepare rows x (n, d_x), y and scores (n, d_y) = ∇_y log p(y|x)."""
        sigma = self.kernel_y.sigma
        features = np.empty((len(y), 0))
        if isinstance(self.kernel_x, FiniteLocations):
            features = self.kernel_x.features(x)
        y, scores = (y - self.centre_y) / sigma, scores * sigma
        moved = x - self.centre_x
        compared = [moved[:, f.indices()] / f.kernel.sigma for f in self._split()[0]]  # type: ignore[union-attr]
        if self._gaussian:
            compared.append(y)
        z = np.concatenate(compared, axis=1) if compared else np.empty((len(y), 0))
        norms = (z * z).sum(axis=1)
        bracket = _gaussian_bracket(y, scores, sigma) if self._gaussian else _cross_terms(y, scores)
        return SteinRows(
            x=x,
            y=y,
            scores=scores,
            features=features,
            compared=z,
            exponent=_with_sums(z, -0.5 * norms),
            bracket=bracket,
            norms=norms,
            y_norms=(y * y).sum(axis=1),
        )

    def diag(self, a: SteinRows) -> FloatArray:
        """Return H(z, z) for each row, (n,)."""
        phi, dphi, _ = self.kernel_y.profile(np.zeros(1))
        h = phi * (a.scores * a.scores).sum(axis=1) - 2.0 * a.y.shape[1] * dphi
        h /= self.kernel_y.sigma**2
        if isinstance(self.kernel_x, FiniteLocations):
            h *= (a.features * a.features).sum(axis=1)
        for factor in self._split()[1]:
            h *= float(factor(a.x[:1], a.x[:1])[0, 0])
        values: FloatArray = h
        return values

    def block(self, a: SteinRows, b: SteinRows) -> FloatArray:
        """Return H between two sets of rows, (len(a), len(b))."""
        if not (product_is_exact(a.norms, b.norms) and product_is_exact(a.y_norms, b.y_norms)):
            return self._careful_block(a, b)
        out = a.exponent @ _swap_sums(b.exponent).T
        np.exp(out, out=out)
        if self._gaussian:
            out *= a.bracket @ _swap_sums(b.bracket).T
        else:
            t = a.y @ (-2.0 * b.y.T)
            t += a.y_norms[:, None]
            t += b.y_norms
            cross = a.bracket @ _swap_cross(b.bracket).T
            out *= self._radial_h(a, b, np.maximum(t, 0.0, out=t), cross)
        return self._times_the_rest_of_k(out, a, b)

    def _radial_h(self, a: SteinRows, b: SteinRows, t: FloatArray, cross: FloatArray) -> FloatArray:
        """Put h together from t, (s' − s)·d and the profile."""
        phi, dphi, d2phi = self.kernel_y.profile(t)
        out = phi * (a.scores @ b.scores.T)
        out += 2.0 * dphi * (cross - a.y.shape[1])
        out -= 4.0 * t * d2phi
        out /= self.kernel_y.sigma**2
        return out

    def _careful_block(self, a: SteinRows, b: SteinRows) -> FloatArray:
        """Differences in place of products, for rows far from the centre in bandwidths."""
        out = np.exp(-0.5 * direct_sqdist(a.compared, b.compared))
        cross, t = np.zeros(out.shape), direct_sqdist(a.y, b.y)
        for c in range(a.y.shape[1]):
            cross += (b.scores[:, c] - a.scores[:, c, None]) * (a.y[:, c, None] - b.y[:, c])
        if self._gaussian:  # φ is in the exponential already
            h = (a.scores @ b.scores.T - cross + a.y.shape[1] - t) / self.kernel_y.sigma**2
        else:
            h = self._radial_h(a, b, t, cross)
        out *= h
        return self._times_the_rest_of_k(out, a, b)

    def _times_the_rest_of_k(self, out: FloatArray, a: SteinRows, b: SteinRows) -> FloatArray:
        if isinstance(self.kernel_x, FiniteLocations):
            out *= a.features @ b.features.T
        for factor in self._split()[1]:
            out *= factor(a.x, b.x)
        return out


def _with_sums(z: FloatArray, added: FloatArray) -> FloatArray:
    """Return [z, added, 1], whose product with [z, 1, added] is z_i·z_j + added_i + added_j."""
    return np.column_stack([z, added, np.ones(len(z))])


def _swap_sums(left: FloatArray) -> FloatArray:
    d = left.shape[1]
    return left[:, [*range(d - 2), d - 1, d - 2]]


def _gaussian_bracket(y: FloatArray, scores: FloatArray, sigma: float) -> FloatArray:
    """Thin matrix of h/φ for a Gaussian l, from y and scores in units of its bandwidth.

    s·s' − (s' − s)·d + d_y − ‖d‖² = (s − y)·(s' − y') + y·y' + c + c' with c = s·y − ‖y‖² + d_y/2.
    """
    added = (scores * y).sum(axis=1) - (y * y).sum(axis=1) + 0.5 * y.shape[1]
    # 1/σ² is shared by both sides of a product, and the column of ones must carry it too.
    return _with_sums(np.column_stack([scores - y, y]), added) / sigma


def _cross_terms(y: FloatArray, scores: FloatArray) -> FloatArray:
    """Thin matrix of (s' − s)·d = y·s' + s·y' − s·y − s'·y'."""
    return _with_sums(np.column_stack([y, scores]), -(scores * y).sum(axis=1))


def _swap_cross(left: FloatArray) -> FloatArray:
    d = (left.shape[1] - 2) // 2
    return left[:, [*range(d, 2 * d), *range(d), 2 * d + 1, 2 * d]]


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator: symmetric and positive semi-definite."""

    #: How rows are compared.
    kernel: SteinKernel
    #: All rows, prepared.
    sample: SteinRows

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Prepare the rows x (n, d_x), y and scores (n, d_y) for kernels that are ready."""
        kernel = SteinKernel.amid(x, y, kernel_x, kernel_y)
        return cls(kernel, kernel.rows(x, y, scores))

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.sample)

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        return self.kernel.diag(self.sample)

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        return self.kernel.block(self.sample.take(rows), self.sample.take(columns))
