"""The matrix k(x, x')·⟨c, c'⟩ of a discrete y, whose centred features c have mean 0 given x.

It takes the place of the Stein kernel, with the same two faces: one pair of kernels, and all scales of
the adaptive test at once. What the rest of the library calls scores are here the residuals e_y − p over
the cells of y, which kernels on y turn into features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    direct_sqdist,
    product_is_exact,
)
from condgof.stein._kernel import Rows
from condgof.stein._scales import ScaleKernel, ScaleRows


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of a sample, prepared for comparison by a `CentredKernel`.

    Parameters
    ----------
    x : ndarray of shape (n, d_x)
        Covariates; with finite locations, the features F of k(x_i, x_j) = F_i·F_j instead.
    features : ndarray of shape (n, m)
        c.
    """

    x: FloatArray
    features: FloatArray

    def take(self, rows: Rows) -> CentredRows:
        """Return some of the rows."""
        return CentredRows(*(getattr(self, f.name)[rows] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class CentredKernel:
    """How rows with a discrete y are compared.

    Parameters
    ----------
    kernel_x : CovariateKernel or FiniteLocations
        k.
    kernel_y : CellKernel
        From residuals to c.
    """

    kernel_x: CovariateKernel | FiniteLocations
    kernel_y: CellKernel

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> CentredRows:
        """Prepare rows x (n, d_x) with residuals `scores` (n, cells); y plays no part."""
        if isinstance(self.kernel_x, FiniteLocations):
            x = self.kernel_x.features(x)
        return CentredRows(x, self.kernel_y.features(np.asarray(scores)))

    def diag(self, a: CentredRows) -> FloatArray:
        """Return H(z, z) for each row, (n,)."""
        values: FloatArray = np.einsum("ij,ij->i", a.features, a.features)
        if isinstance(self.kernel_x, FiniteLocations):
            values *= np.einsum("ij,ij->i", a.x, a.x)
            return values
        values *= float(self.kernel_x(a.x[:1], a.x[:1])[0, 0])
        return values

    def block(self, a: CentredRows, b: CentredRows) -> FloatArray:
        """Return H between two sets of rows, (len(a), len(b))."""
        out = a.features @ b.features.T
        if isinstance(self.kernel_x, FiniteLocations):
            out *= a.x @ b.x.T
        elif self.kernel_x.factors:
            out *= self.kernel_x(a.x, b.x)
        return out


@dataclass(frozen=True, eq=False)
class CentredScales(ScaleKernel):
    """The same for all pairs of a bandwidth on x and a kernel on y; see `ScaleKernel`.

    `y_scales` holds the numbers of the kernels on y in place of bandwidths.

    Parameters
    ----------
    kernels : tuple of CellKernel
        The kernels on y.
    """

    kernels: tuple[CellKernel, ...] = ()

    @classmethod
    def of(
        cls,
        x: FloatArray,
        kernel_x: CovariateKernel,
        x_scales: tuple[float, ...],
        kernels: tuple[CellKernel, ...],
    ) -> CentredScales:
        """Make the kernels for a sample; without numeric columns of x there is one scale of x."""
        gaussian = [f for f in kernel_x.factors if type(f.kernel) is Gaussian]
        return cls(
            gaussian[0] if gaussian else None,
            tuple(f for f in kernel_x.factors if type(f.kernel) is not Gaussian),
            tuple(sorted(x_scales, reverse=True)) if gaussian else (1.0,),
            tuple(map(float, range(len(kernels)))),
            np.median(x, axis=0),
            np.zeros(0),
            kernels,
        )

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> ScaleRows:
        """Prepare rows x (n, d_x) with residuals `scores`: features of all kernels, side by side."""
        n, residuals = len(x), np.asarray(scores)
        z = np.empty((n, 0))
        if self.numeric is not None:
            columns = self.numeric.indices()
            bandwidth = self.numeric.kernel.sigma  # type: ignore[union-attr]
            z = (x - self.centre_x)[:, columns] / bandwidth
        features = np.concatenate([kernel.features(residuals) for kernel in self.kernels], axis=1)
        none = np.zeros(n)
        return ScaleRows(x, z, np.empty((n, 0)), features, (z * z).sum(axis=1), none, none)

    @property
    def _cuts(self) -> list[slice]:
        """Which columns of the features belong to which kernel."""
        ends = np.cumsum([0, *(kernel.size for kernel in self.kernels)])
        return [slice(a, b) for a, b in pairwise(ends)]

    def diag(self, a: ScaleRows) -> FloatArray:
        """Return H(z, z) at each scale, (K, n)."""
        rest = 1.0
        for factor in self.rest:
            rest *= float(factor(a.x[:1], a.x[:1])[0, 0])
        each = [np.square(a.scores[:, cut]).sum(axis=1) for cut in self._cuts]
        return rest * np.stack([own for own in each for _ in self.x_scales])

    def factors(self, a: ScaleRows, b: ScaleRows) -> tuple[list[FloatArray], Iterator[FloatArray]]:
        """Return k at each scale of x, and ⟨c, c'⟩ of each kernel on y, written over in each step."""
        least = min(self.x_scales)
        if product_is_exact(a.z_norms / least**2, b.z_norms / least**2):
            t_x = a.z @ (-2.0 * b.z.T)
            t_x += a.z_norms[:, None]
            t_x += b.z_norms
            np.maximum(t_x, 0.0, out=t_x)
        else:
            t_x = direct_sqdist(a.z, b.z)
        return self._on_x(a, b, t_x), self._products_on_y(a, b)

    def factors_y(self, a: ScaleRows, b: ScaleRows) -> Iterator[FloatArray]:
        """Return ⟨c, c'⟩ alone of each kernel on y, written over in each step."""
        return self._products_on_y(a, b)

    def _products_on_y(self, a: ScaleRows, b: ScaleRows) -> Iterator[FloatArray]:
        out = np.empty((len(a), len(b)))
        for cut in self._cuts:
            yield np.matmul(a.scores[:, cut], b.scores[:, cut].T, out=out)
