"""The matrix of a kernel between the rows of a sample, never built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels._product import OnColumns
from condgof.kernels._profiles import Gaussian
from condgof.kernels._resolve import CovariateKernel


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix k(z_i, z_j) of a sample as a lazy operator: symmetric, with a constant diagonal.

    Parameters
    ----------
    joined : ndarray of shape (n, d)
        The columns of all Gaussian factors in bandwidths: their product is one exponential.
    points : ndarray of shape (n, ·)
        All columns.
    others : tuple of OnColumns
        The other factors.

    Examples
    --------
    >>> kernel = CovariateKernel((OnColumns(Gaussian(2.0), (0,)),))
    >>> Gram.of(kernel, np.array([[0.0], [2.0]])).block(slice(0, 1), slice(0, 2)).round(3)
    array([[1.   , 0.607]])
    """

    joined: FloatArray
    points: FloatArray
    others: tuple[OnColumns, ...]

    @classmethod
    def of(cls, kernel: CovariateKernel, points: FloatArray) -> Gram:
        """Prepare the rows `points` (n, d) for a kernel that is ready."""
        # Moved first, then divided: large coordinates (years, seconds) would lose digits.
        moved = points - np.median(points, axis=0)
        parts, others = [np.empty((len(points), 0))], []
        for factor in kernel.factors:
            if type(factor.kernel) is Gaussian:
                parts.append(moved[:, factor.indices()] / factor.kernel.sigma)
            else:
                others.append(factor)
        return cls(np.concatenate(parts, axis=1), points, tuple(others))

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.points)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the block of the matrix at some rows and columns, as a new array."""
        out = Gaussian(1.0)(self.joined[rows], self.joined[columns])
        for factor in self.others:
            out *= factor(self.points[rows], self.points[columns])
        return out
